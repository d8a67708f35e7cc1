#pragma once
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "core/base/diagnostic.h"
#include "frontends/text/parse.h"
#include "runtime/file.h"
#include "tuning/database.h"

namespace moonloop::test {

/// A folder that is removed with the test.
class TuningFolder {
 public:
  TuningFolder() : folder_(std::filesystem::temp_directory_path().string(), "moonloop-tuning-") {}
  std::string operator/(const std::string& name) const { return folder_.path() + "/" + name; }

 private:
  TemporaryFolder folder_;
};

/// The first diagnostic's code, or nothing when `f` throws no Error.
template <class F>
std::string code_of(F f) {
  try {
    f();
  } catch (const Error& e) { return e.diagnostic().code; }
  return {};
}

/// A trial on device `device`, which took `seconds` at size `n`.
inline tuning::Trial trial(std::int64_t bi, std::int64_t n, double seconds,
                           const std::string& device = "here") {
  tuning::Trial t;
  t.kernel = std::string(64, 'a');
  t.name = "twice";
  t.script = std::string(64, 'b');
  t.knobs = {{"bi", {bi}}};
  t.target = "c";
  t.device = device;
  t.compiler = "cc 12";
  t.flags = "-O3";
  t.sizes = {{"n", n}};
  t.times = {seconds};
  t.version = "0.1.0";
  t.date = "2026-11-28T12:00:00Z";
  return t;
}

/// Asks for its best one.
inline tuning::Query query(std::int64_t n, const std::string& device = "here") {
  const tuning::Trial t = trial(0, n, 0, device);
  return {t.kernel, t.script, "", t.target, t.device, t.sizes, {}};
}

inline std::int64_t bi_of(const std::optional<tuning::Trial>& t) {
  return t ? *t->knobs.at("bi").as<std::int64_t>() : -1;
}

}  // namespace moonloop::test
