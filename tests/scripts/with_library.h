#pragma once
#include <string>
#include <vector>

#include "core/model/print.h"
#include "runtime/runner.h"
#include "tests/scripts/harness.h"

/// Shared by the tests of the bundled Lua library.
namespace moonloop::test {

/// `kernel` after `lua`, which finds the library as `lib`.
inline Kernel with_library(const std::string& kernel, const std::string& lua,
                           const ScriptOptions& options = {}) {
  return transform(kernel, "local lib = require 'moonloop.lib'\n" + lua, options);
}

/// The kernel computes what `before` does, through the compiler, and its trace makes the same
/// kernel.
inline void verify(const std::string& before, const Kernel& k,
                   const std::vector<GivenValues>& sizes,
                   const std::vector<Target>& targets = {Target::C, Target::OpenMP}) {
  const Kernel original = parse(before).front();
  for (const GivenValues& params : sizes)
    for (const Target target : targets) {
      RunRequest request;
      request.target = target;
      request.params = params;
      request.verify = true;
      CAPTURE(params.front().second);
      CHECK(run_kernel(k, original, request).verification->equal());
    }
  const auto again =
      run_transform_script(add_source("replay.lua", replay_script(k)), {original}, {});
  CHECK(print_kernel(again.front()) == print_kernel(k));
}

/// The error of `step` on the second line of a script; the place has to be that line.
inline Diagnostic refusal(const std::string& kernel, const std::string& step) {
  const Diagnostic d = failure(kernel, "local lib = require 'moonloop.lib'\n" + step);
  bool told = d.where.at.source && d.where.at.source->name == "test.lua" && d.where.at.line == 2;
  for (const Label& note : d.notes) {
    told = told || note.text == "in script at test.lua:2";
    CHECK((!note.at || note.at.source->name != "test.lua" || note.at.line == 2));
  }
  CHECK(told);
  return d;
}
}  // namespace moonloop::test
