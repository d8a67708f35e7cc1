#pragma once
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/warning.h"
#include "core/model/kernel.h"
#include "scripts/knobs.h"

/// Lua scripts: they transform kernels and make them.
///
/// Input: a script's text and kernels. Output: kernels. Entry points: the two functions below. An
/// error of the script, also one that a transform raises, is thrown as Error with the script's file
/// and line; where to start reading: state.h, then module.cpp.
namespace moonloop {

namespace lua {
class Account;
}

/// One transform that a script called. `refusal` is null when it was done.
struct StepReport {
  const Kernel& before;
  const Step& step;
  const Diagnostic* refusal = nullptr;
};

struct ScriptOptions {
  bool trust = false;                                              // neither sandbox nor limits
  std::vector<std::pair<std::string, std::string>> settings = {};  // lp.args
  // Limits for all work of the script together, in nested scripts too. Bytes are Lua's and those of
  // operator new in this thread, see core/base/memory.h.
  std::size_t memory = std::size_t{896} << 20;  // the process then stays below 1 GiB
  std::int64_t instructions = 2'000'000'000;    // of the virtual machine
  double seconds = 15;                          // of processor time, without that of transforms
  std::string directory = {};    // of `lp.load` and `require`; empty: the script's own
  std::string target = "c";      // that lp.auto schedules for where it is not told
  bool print_to_stdout = false;  // else `print` and `io.write` go to standard error
  std::function<void(const StepReport&)> on_step = {};
  std::function<bool()> interrupted = {};  // called often: whether the user wants the script to
                                           // stop
  std::function<void(const std::string&)> on_setting = {};  // called for each name read in lp.args
  /// Called for each file that the script loads: its path from `directory` on, and its text.
  std::function<void(const std::string&, const std::string&)> on_file = {};
  WarningSink warn = {};
  std::shared_ptr<Knobs> knobs = {};  // of all scripts of a command; none: each script has its own
  std::shared_ptr<lua::Account> account = {};  // of the script that runs this one; else a new one
};

/// Runs `script` with each kernel as a global under its own name; what these globals hold at the
/// end is the result, in the same order. `code`, when given, is run in place of the source's text:
/// a part of a file (a comment block) with its lines where they are in the file. Fails
/// `not-a-kernel`, `script-syntax`, `script-error`, `script-memory`, `script-limit`, and as
/// transforms do. Warns `dropped-result` of a kernel that it transforms without a trace in the
/// result, and of one that it makes in vain.
std::vector<Kernel> run_transform_script(const Source* script, const std::vector<Kernel>& kernels,
                                         const ScriptOptions& options, const char* code = nullptr);

/// Runs a script that makes its own kernels: those that it returns (a kernel, or a table of them:
/// the array part, then by name), else those that globals hold at the end, in the order of the
/// globals' names, each kernel once. Fails `no-kernel` when there are none.
std::vector<Kernel> run_kernel_script(const Source* script, const ScriptOptions& options);

/// The Lua script that replays the transforms of `k`, claims and the values of knobs, where given,
/// listed as comments; without the first `done` of them.
std::string replay_script(const Kernel& k, std::size_t done = 0, const Knobs* knobs = nullptr);

/// The global variable of this name as Lua text: `name`, or `_G["name"]` when that is not a Lua
/// name.
std::string lua_global(const std::string& name);

}  // namespace moonloop
