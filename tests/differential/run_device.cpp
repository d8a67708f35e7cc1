#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <regex>
#include <set>

#include "core/base/diagnostic.h"
#include "core/infer/infer.h"
#include "core/order/check_kernel.h"
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

/// The extensions whose words the text has, where those of declarations are recorded; names of
/// kernels are never such words.
std::set<std::string> extensions_in(const std::string& source) {
  static const std::vector<std::pair<std::regex, std::string>> kWords{
      {std::regex("\\b(as_|convert_)?double[0-9]*\\b"), "cl_khr_fp64"},
      {std::regex("\\batom_(add|cmpxchg)\\b"), "cl_khr_int64_base_atomics"},
      {std::regex("\\batom_(min|max)\\b"), "cl_khr_int64_extended_atomics"}};
  std::set<std::string> out;
  for (const auto& [word, extension] : kWords)
    if (std::regex_search(source, word)) out.insert(extension);
  return out;
}

std::string wrong_extensions(const Program& program) {
  if (program.target != Target::OpenCL) return {};
  const auto& declared = program.device->extensions;
  const std::set<std::string> has(declared.begin(), declared.end());
  return has == extensions_in(program.source) ? "" : "declares other extensions than it uses";
}

/// How the device's run differs from the interpreter's; empty where it does not.
std::string difference_on_device(const Pair& p, const Program& program, bool optimize) {
  const Kernel original = complete(p.original), result = complete(p.result);
  check_limits(program, device());
  const std::unique_ptr<DeviceModule> module =
      device().compile(program, {.contract = false, .optimize = optimize});
  for (const std::string& n : run_sizes(result)) {
    const Expected expected(
        original, n,
        {.contract = false, .device = true, .reciprocals = divides_by_reciprocals(result)});
    std::vector<Buffer> found = filled_buffers(original, result, integers_of(expected.scalars));
    DeviceCall call(device(), program, *module, expected.scalars, found);
    call.upload(found);
    call.run();
    call.download(found);
    std::string what = difference(to_string(program.target), expected, result, found);
    if (!what.empty()) return what;
  }
  return {};
}

}  // namespace

bool device_problem(const Problem& problem) {
  return problem.what.starts_with(to_string(device_target()));
}

void run_on_device(const std::vector<Pair>& pairs, Statistics& statistics,
                   std::vector<Problem>& problems) {
  const std::string name = to_string(device_target());
  device();  // where there is none, that is not a limit of a program
  for (const Pair& p : pairs) {
    const auto problem = [&](const std::string& what) {
      problems.push_back({p.seed, name + ": " + what, p.text, p.steps});
    };
    const bool verbose = std::getenv("MOONLOOP_VERBOSE");
    if (verbose) fmt::print("{}", Problem{p.seed, "about to run", p.text, p.steps}.str());
    if (verbose) std::fflush(stdout);
    try {
      const Program program = generate(p.result, device_target());
      if (verbose) fmt::print("{}", program.source);
      if (const std::string wrong = wrong_extensions(program); !wrong.empty()) problem(wrong);
      statistics.barriers += barriers_in(program.source);
      statistics.launches += static_cast<int>(program.device->kernels.size());
      // PoCL 3.1's optimizer keeps wrong values over barriers now and then, or ends in a crash:
      // seeds 14, 321 and 9104 of 2026-11-23, by each of its methods.
      const bool optimize = program.target != Target::OpenCL;
      std::string what = difference_on_device(p, program, optimize);
      if (optimize && !what.empty() && difference_on_device(p, program, false).empty())
        what += "; without optimization it is equal";
      if (!what.empty()) problems.push_back({p.seed, what, p.text, p.steps});
      statistics.cuda.insert(generate(p.result, Target::Cuda).source);
      ++statistics.run;
    } catch (const Error& e) {  // a limit of the target, with its reason
      const std::string& code = e.diagnostic().code;
      ++statistics.no_code[code];
      if (code != "compiler-crashed" && has_code(p.result, device_target()) &&
          has_code(p.result, Target::Cuda))
        problem("has_code() knows better: " + e.diagnostic().text);
      // NVRTC 13.0's optimizer crashes on some programs, nvcc's too: seed 43020263 of 2026-11-24.
      if (code != "unsupported" && code != "unroll-bound" && code != "needs-reload" &&
          code != "compiler-crashed")
        problem(e.diagnostic().text);
    } catch (const std::exception& e) { problem(e.what()); }
  }
}

}  // namespace moonloop::differential
