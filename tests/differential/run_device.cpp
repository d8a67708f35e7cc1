#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "core/diagnostic.h"
#include "core/infer.h"
#include "runtime/compare.h"
#include "runtime/device_call.h"
#include "tests/differential/pairs.h"

namespace moonloop::differential {
namespace {

Target device_target() {
  const char* given = std::getenv("MOONLOOP_DEVICE_TARGET");
  const auto target = parse_target(given ? given : "opencl");
  if (!target) throw InternalError("MOONLOOP_DEVICE_TARGET names no target");
  return *target;
}

Device& device() {
  static const std::unique_ptr<Device> opened = open_device(device_target(), -1);
  return *opened;
}

int barriers_in(const std::string& source) {
  int n = 0;
  for (const char* word : {"barrier(", "__syncthreads("})
    for (std::size_t at = 0; (at = source.find(word, at)) != std::string::npos; ++at) ++n;
  return n;
}

/// Groups whose size follows from parameters. PoCL 3.1 gives other values for some of them by each
/// of its methods (seed 321 of 2026-11-23: wrong for 5 by `workitemrepl`, for 8 by `loopvec`); what
/// it does right is in tests/runtime/device_items_test.cpp, and CUDA runs them all.
bool parametric_items(const Program& program) {
  return std::any_of(program.device->kernels.begin(), program.device->kernels.end(),
                     [](const DeviceKernel& k) {
                       return std::any_of(k.items.begin(), k.items.end(),
                                          [](const Expr& e) { return !as_int(e); });
                     });
}

void run_one(const Pair& p, const Program& program, std::vector<Problem>& problems) {
  const Kernel original = complete(p.original), result = complete(p.result);
  check_limits(program, device());
  const std::unique_ptr<DeviceModule> module = device().compile(program, false);
  for (const std::string& n : run_sizes(result)) {
    const Expected expected(original, n, {.contract = false, .device = true});
    std::vector<Buffer> found = filled_buffers(original, result, integers_of(expected.scalars));
    DeviceCall call(device(), program, *module, expected.scalars, found);
    call.upload(found);
    call.run();
    call.download(found);
    const std::string what = difference(to_string(program.target), expected, result, found);
    if (what.empty()) continue;
    problems.push_back({p.seed, what, p.text, p.steps});
    return;
  }
}

}  // namespace

bool device_problem(const Problem& problem) {
  return problem.what.starts_with(to_string(device_target()));
}

void run_on_device(const std::vector<Pair>& pairs, Statistics& statistics,
                   std::vector<Problem>& problems) {
  const std::string name = to_string(device_target());
  for (const Pair& p : pairs) {
    const auto problem = [&](const std::string& what) {
      problems.push_back({p.seed, name + ": " + what, p.text, p.steps});
    };
    try {
      const Program program = generate(p.result, device_target());
      if (program.target == Target::OpenCL && parametric_items(program)) {
        ++statistics.no_code["parametric-items"];
        continue;
      }
      if (std::getenv("MOONLOOP_VERBOSE"))
        fmt::print("{}{}", Problem{p.seed, "to run", p.text, p.steps}.str(), program.source);
      statistics.barriers += barriers_in(program.source);
      statistics.launches += static_cast<int>(program.device->kernels.size());
      run_one(p, program, problems);
      statistics.cuda.insert(generate(p.result, Target::Cuda).source);
      ++statistics.run;
    } catch (const Error& e) {  // a limit of the target, with its reason
      const std::string& code = e.diagnostic().code;
      ++statistics.no_code[code];
      if (code != "unsupported" && code != "unroll-bound" && code != "needs-reload")
        problem(e.diagnostic().text);
    } catch (const std::exception& e) { problem(e.what()); }
  }
}

}  // namespace moonloop::differential
