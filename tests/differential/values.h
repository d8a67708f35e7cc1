#pragma once
#include <string>
#include <vector>

#include "core/model/kernel.h"

/// Arguments of random steps.
namespace moonloop::differential {

inline Value text(std::string s) { return Value{std::move(s)}; }
inline Value number(std::int64_t n) { return Value{n}; }
inline Value list(const std::vector<std::string>& all) {
  ValueList out;
  for (const std::string& s : all) out.push_back(text(s));
  return Value{out};
}

}  // namespace moonloop::differential
