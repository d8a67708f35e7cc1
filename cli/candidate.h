#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/loaded.h"
#include "runtime/runner.h"
#include "tuning/search.h"
#include "tuning/trial.h"

/// One choice of knobs on its way: the script, then a child process that compiles, runs, checks and
/// times what it made.
namespace moonloop::cli {

struct Candidate {
  std::vector<tuning::Choice> knobs;  // as the script declared them; all until it ended
  std::unique_ptr<Loaded> loaded;     // null: the script ended with an error
  bool refused = false;               // the error is a refusal
  std::string reason;                 // the error, one line
};

/// Runs the scripts with these values; knobs of the command line are pinned. Never throws what a
/// script is to blame for.
Candidate load_candidate(const Common& common, const KnobValues& values);
/// The same with the defaults, where errors are errors. `used`: hashes and knobs.
Candidate load_default(const Common& common, UsedKnobs& used);

/// What came of a run. Where it was stopped because of `stop`, that is all that is known.
struct Attempt {
  bool stopped = false;
  tuning::Status status = tuning::Status::Ok;
  std::vector<double> times = {};                 // seconds, in order; at least one if it is Ok
  std::string code = {}, reason = {}, hint = {};  // why it is not Ok; the code of a diagnostic
};

struct AttemptOptions {
  RunRequest request;  // target, sizes, device
  bool verify = true;
  double limit = 0;  // seconds that it may take; 0: any
  std::function<bool()> stop;
};

/// Compiles and times `c`, whose script made a kernel, in a child process. With `verify`, the
/// interpreter executes the kernel before its transforms, at sizes where that takes a fraction of a
/// second (runtime/smaller_sizes.h), and the results are compared as `run --verify` does.
Attempt attempt(const Loaded& loaded, const AttemptOptions& o);

/// The name of the device, asked for in a child process: a driver that has begun to work in this
/// one would not in its children. Fails `no-device`.
std::string device_of(Target target, int number);

}  // namespace moonloop::cli
