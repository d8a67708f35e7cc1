#pragma once
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "core/base/diagnostic.h"
#include "core/infer/infer.h"
#include "runtime/file.h"
#include "runtime/runner.h"
#include "tests/one_kernel.h"

namespace moonloop::test {

/// A folder that is removed with the test.
class Folder {
 public:
  Folder() : folder_(std::filesystem::temp_directory_path().string(), "moonloop-test-") {}
  std::string operator/(const std::string& name) const { return folder_.path() + "/" + name; }
  const std::string& path() const { return folder_.path(); }

 private:
  TemporaryFolder folder_;
};

inline std::string slurp(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
inline void spit(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

/// The first diagnostic's `text [code]`, or nothing when `f` throws no Error.
template <class F>
std::string error_of(F f) {
  try {
    f();
  } catch (const Error& e) { return e.diagnostic().text + " [" + e.diagnostic().code + "]"; }
  return {};
}

/// Sets an environment variable for a scope.
class Setting {
 public:
  Setting(const char* name, const std::string& value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    ::setenv(name, value.c_str(), 1);
  }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;
  ~Setting() {
    if (old_)
      ::setenv(name_, old_->c_str(), 1);
    else
      ::unsetenv(name_);
  }

 private:
  const char* name_;
  std::optional<std::string> old_;
};

}  // namespace moonloop::test
