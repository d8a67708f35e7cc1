#pragma once
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "frontends/text/parse.h"
#include "scripts/script.h"

/// Kernels and scripts as texts.
namespace moonloop::test {

/// `b[i] = 2*a[i]` for 0 <= i < n.
inline const char* const kDouble = R"(
kernel twice(n: int32, a: float64[n], b: float64[n])
domain {[i]: 0 <= i < n}
b[i] = 2*a[i]   {id=double, tags=first}
)";

/// A recurrence: no two iterations may run at the same time.
inline const char* const kRecurrence = R"(
kernel recur(n: int32, a: float64[n])
domain {[i]: 1 <= i < n}
a[i] = a[i-1] + 1   {id=step}
)";

inline std::vector<Kernel> parse(const std::string& text) {
  return parse_kernels(add_source("test.loop", text));
}

/// The kernels of `kernels` after `lua`, a script named `test.lua`.
inline std::vector<Kernel> transform_all(const std::string& kernels, const std::string& lua,
                                         const ScriptOptions& options = {}) {
  return run_transform_script(add_source("test.lua", lua), parse(kernels), options);
}
inline Kernel transform(const std::string& kernel, const std::string& lua,
                        const ScriptOptions& options = {}) {
  return transform_all(kernel, lua, options).front();
}

/// The error of `lua`.
inline Diagnostic failure(const std::string& kernel, const std::string& lua,
                          const ScriptOptions& options = {}) {
  try {
    transform_all(kernel, lua, options);
  } catch (const Error& e) { return e.diagnostic(); }
  FAIL("no error from: " << lua);
  return {};
}

/// `3:1` for an error of the script, the empty string for one elsewhere.
inline std::string place(const Diagnostic& d) {
  if (!d.where.at || d.where.at.source->name != "test.lua") return {};
  return std::to_string(d.where.at.line) + ":" + std::to_string(d.where.at.col);
}

/// Runs `lua`, whose assertions are Lua's `assert`.
inline void run_lua(const std::string& kernel, const std::string& lua,
                    const ScriptOptions& options = {}) {
  try {
    transform_all(kernel, lua, options);
  } catch (const Error& e) { FAIL(render(e.diagnostic())); }
}

}  // namespace moonloop::test
