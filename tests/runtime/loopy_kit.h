#pragma once
#include <string>
#include <vector>

#include "tests/runtime/device_kit.h"

/// Shared by the tests after Loo.py's own: short names for steps and their arguments.
namespace moonloop::test {

inline Value number(std::int64_t n) { return Value{n}; }
inline Value names(const std::vector<std::string>& all) {
  ValueList out;
  for (const std::string& n : all) out.push_back(word(n));
  return Value{out};
}
inline Value pair_of(std::int64_t a, std::int64_t b) {
  return Value{ValueList{number(a), number(b)}};
}
inline Value named(const std::vector<std::pair<std::string, std::int64_t>>& all) {
  ValueDict out;
  for (const auto& [name, n] : all) out.emplace_back(name, number(n));
  return Value{out};
}

inline const ValueDict kSequential{{"default_tag", word("for")}};
inline const ValueDict kShared{{"default_tag", word("l.auto")}};

/// `options` and one more.
inline ValueDict with(ValueDict options, const std::string& name, Value value) {
  options.emplace_back(name, std::move(value));
  return options;
}

inline Kernel tag(const Kernel& k, const std::string& tags) {
  return step(k, "tag_inames", {word(tags)});
}
inline Kernel prioritize(const Kernel& k, const std::string& inames) {
  return step(k, "prioritize_loops", {word(inames)});
}
inline Kernel fix(const Kernel& k,
                  const std::vector<std::pair<std::string, std::int64_t>>& values) {
  return step(k, "fix_parameters", {named(values)});
}
inline Kernel prefetch(const Kernel& k, const std::string& array, const std::string& sweep,
                       ValueDict options = {}) {
  if (sweep.empty()) return step(k, "add_prefetch", {word(array)}, std::move(options));
  return step(k, "add_prefetch", {word(array), word(sweep)}, std::move(options));
}
inline Kernel precompute(const Kernel& k, const std::string& rule, const std::string& sweep,
                         ValueDict options = {}) {
  if (sweep.empty()) return step(k, "precompute", {word(rule)}, std::move(options));
  return step(k, "precompute", {word(rule), word(sweep)}, std::move(options));
}

/// All elements of an array that a run left behind, in C order.
template <class T>
std::vector<T> values(const RunResult& run, const std::string& array) {
  std::vector<T> out;
  for (Cursor c(run.array(array)); c; c.next()) out.push_back(*reinterpret_cast<const T*>(c.at()));
  return out;
}

}  // namespace moonloop::test
