#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/loaded.h"
#include "cost/machine_profile.h"
#include "runtime/in_child.h"
#include "runtime/runner.h"
#include "tuning/bench.h"

/// One choice of knobs on its way: the script, then child processes that compile what it made, and
/// run, check and time it.
namespace moonloop::cli {

struct LoadedCandidate : tuning::Made {
  LoadedCandidate(Loaded l, std::shared_ptr<const Knobs> k, std::vector<UsedScript> s)
      : loaded(std::move(l)), knobs(std::move(k)), scripts(std::move(s)) {}
  Loaded loaded;
  std::shared_ptr<const Knobs> knobs;
  std::vector<UsedScript> scripts;
};
/// The scripts of a candidate that made a kernel, and the files that they loaded.
const std::vector<UsedScript>& scripts_of(const tuning::Candidate& c);
/// What the script of a candidate made, which must be there.
const Loaded& loaded_of(const tuning::Candidate& c);
/// Its steps with the values in them, as `show --what trace` prints them.
std::string script_of(const tuning::Candidate& c);

/// Runs the scripts with these values; knobs of the command line are pinned. Never throws what a
/// script is to blame for.
tuning::Candidate load_candidate(const Common& common, const KnobValues& values);
/// The same with the defaults, where errors are errors. `used`: hashes and knobs.
tuning::Candidate load_default(const Common& common, UsedKnobs& used);

/// Compiles it, so that the next run finds it in the cache. The texts of this and of the next are
/// for answer_of().
std::string compile_apart_text(const Loaded& loaded, const RunRequest& request);
/// Times it. With `verify`, the interpreter executes the kernel before its transforms first, at
/// sizes where that takes a fraction of a second (runtime/smaller_sizes.h), and the results are
/// compared as `run --verify` does.
std::string measured_text(const Loaded& loaded, const RunRequest& request, bool verify);
/// What came of a child process that returned such a text, or did not.
tuning::Answer answer_of(const ChildResult& child, double limit);

/// The name of the device, asked for in a child process: a driver that has begun to work in this
/// one would not in its children. Fails `no-device`.
std::string device_of(Target target, int number);
/// The profile to predict with, see profile_for(), in the same way.
cost::MachineProfile profile_in_child(Target target, int number);

}  // namespace moonloop::cli
