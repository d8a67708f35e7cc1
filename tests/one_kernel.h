#pragma once
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "frontends/text/parse.h"

namespace moonloop {

/// The one kernel of a text.
inline Kernel parsed(const std::string& text) {
  std::vector<Kernel> all = parse_kernels(add_source("test.loop", text));
  REQUIRE(all.size() == 1);
  return std::move(all.front());
}

}  // namespace moonloop
