#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "codegen/codegen.h"
#include "runtime/arguments.h"
#include "runtime/c_compiler.h"
#include "runtime/compare.h"
#include "runtime/count.h"

/// Runs a kernel: `moonloop run` without its command line.
///
/// Input: a kernel, parameters, .npy files. Output: the arrays that it wrote, and other requested
/// results. Entry point: run_kernel().
namespace moonloop {

struct RunRequest {
  Target target = Target::C;
  GivenValues params;
  std::map<std::string, std::string> inputs;  // array -> path of a .npy file
  bool verify = false;
  double tolerance = kToleranceFactor;  // see compare()
  bool time = false;
  bool transfers = false;     // of a device: times have the copies of arrays to it and back, too
  double least_time = 1;      // seconds of runs that are timed, unless they take long
  int most_runs = 1000;       // that are timed
  bool check_claims = false;  // see GenerateOptions
  CompileOptions compile;
  int device = -1;                                    // of OpenCL or CUDA; see open_device()
  std::function<void(const std::string&)> note = {};  // progress messages for the user
  std::function<void(bool)> runs_generated = {};      // whether generated code runs from now on
};

/// Seconds per run; on a device by its own clock, without copies, or with RunRequest::transfers by
/// the host's, with them. The first run does not count.
struct Timing {
  int runs = 0;
  double median = 0, least = 0, most = 0, lower_quartile = 0, upper_quartile = 0;
  std::vector<double> all;  // in order
};

struct Verification {
  std::vector<Comparison> arrays;  // every array that both kernels have and one of them writes
  // Arrays that one of them writes and the other does not have, and why they cannot be compared.
  std::vector<std::pair<std::string, std::string>> left_out;
  double seconds = 0;  // that the interpreter took
  bool equal() const;
};

struct RunResult {
  std::vector<ScalarArgument> scalars;
  std::vector<Buffer> arrays;        // all of them, in declared order
  std::vector<std::string> written;  // names of those that the kernel writes
  std::optional<Verification> verification;
  std::optional<Timing> timing;
  std::optional<Work> work;  // of `original`; counted when verifying or timing
  double compile_seconds = 0;
  std::string device;  // its name; empty on the host

  const Buffer& array(const std::string& name) const;
};

/// Generates, compiles and runs `k`. `original` is the kernel before it was transformed:
/// verification executes it in the interpreter, and its operations count. Arrays start as equal
/// copies in both.
///
/// Fails as complete(), generate(), read_scalars(), read_npy(), compile() and Device do;
/// `unknown-array` for an input that is not an array of `k`, `cannot-verify` when the two kernels'
/// arrays differ in type or shape, or they write none that both have.
RunResult run_kernel(const Kernel& k, const Kernel& original, const RunRequest& request);

/// Generates and compiles what run_kernel() would, so that it finds it in the cache. Fails as that
/// does until then.
void compile_kernel(const Kernel& k, const RunRequest& request);

}  // namespace moonloop
