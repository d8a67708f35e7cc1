#pragma once
#include <set>
#include <string>
#include <vector>

#include "cli/options.h"

namespace moonloop::cli {

/// The options of `--auto`, and what came of it.
struct OwnSchedules {
  double seconds = 10;                  // after which a kernel keeps its order
  std::string folder = {};              // for the scripts with their reasons; empty: not asked for
  std::vector<std::string> notes = {};  // of kernels that keep their order for that limit
};

/// --auto, --auto-limit and --schedules. `wanted` is null unless --auto is given.
void add_own_schedules(CLI::App& command, std::shared_ptr<OwnSchedules>& wanted);

/// The script by which `k` has the schedule of `moonloop auto` for the target of `c`; empty where
/// it keeps its order. Its reasons go to `c.own->folder` where that is asked for. The answer is
/// kept by what it is made from (runtime/cache.h): the kernel, its steps, the target, parameters
/// and the limit. Where nothing is kept, it is searched for in a child process, for `seconds` at
/// most. Fails as given_integers() and `cannot-write`.
std::string own_schedule(const Common& c, const Kernel& k, bool called);

/// The same as own_schedule() for all that is in `chosen`, in their order, run on `kernels`.
std::vector<Kernel> with_own_schedules(const Common& c, std::vector<Kernel> kernels,
                                       const std::set<std::string>& chosen,
                                       const ScriptOptions& options);

}  // namespace moonloop::cli
