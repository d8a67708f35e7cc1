#pragma once
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "codegen/codegen.h"
#include "tests/one_kernel.h"

namespace moonloop {

using Tags = std::map<std::string, std::string>;

inline const char* const kProduct = R"(
kernel matmul(n: int32, a: float64[n, n], b: float64[n, n], c: float64[n, n])
domain {[i, j, k]: 0 <= i, j, k < n}
c[i, j] = sum(k, a[i, k]*b[k, j])
)";

inline Kernel kernel(const std::string& text, const Tags& tags = {}) {
  Kernel k = parsed(text);
  for (const auto& [iname, tag] : tags) k.iname_tags[iname] = parse_iname_tag(tag).value();
  return k;
}

inline std::string code(const std::string& text, Target t, const Tags& tags = {}) {
  return generate(kernel(text, tags), t).source;
}

/// From the function's name on: without includes and helper functions.
inline std::string function(const std::string& source) {
  return source.substr(source.rfind("\nvoid ") + 1);
}

/// The text of tests/codegen/golden/NAME. With MOONLOOP_UPDATE_GOLDEN=1 in the environment the file
/// is written first; never where CI is set.
inline std::string golden(const std::string& name, const std::string& actual) {
  const std::filesystem::path path =
      std::filesystem::path(MOONLOOP_SOURCE_DIR) / "tests/codegen/golden" / name;
  if (std::getenv("MOONLOOP_UPDATE_GOLDEN")) {
    REQUIRE_MESSAGE(!std::getenv("CI"), "golden files are never rewritten in CI");
    std::ofstream(path) << actual;
  }
  std::ifstream in(path);
  REQUIRE_MESSAGE(in.good(), "no golden file " << path.string());
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

/// The code equals its golden file.
#define CHECK_GOLDEN(name, ...)                    \
  do {                                             \
    const std::string& code_ = (__VA_ARGS__);      \
    CHECK(code_ == moonloop::golden(name, code_)); \
  } while (false)

/// The diagnostic that generating fails with.
inline Diagnostic refusal(const std::string& text, Target t, const Tags& tags = {}) {
  try {
    generate(kernel(text, tags), t);
  } catch (const Error& e) { return e.diagnostic(); }
  FAIL("nothing was refused");
  return {};
}

}  // namespace moonloop
