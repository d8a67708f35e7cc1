#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "codegen/codegen.h"
#include "core/interpreter/error_bounds.h"
#include "core/model/kernel.h"
#include "runtime/arguments.h"
#include "tests/differential/random_step.h"

namespace moonloop::differential {

/// The outcomes of the steps tried, by transform.
struct Tally {
  int accepted = 0;
  int refused = 0;       // with a reason of the order: some instance would change places
  int inapplicable = 0;  // does not fit the kernel
  int confirmed = 0;     // of the accepted and the refused: enumeration says the same
  int cautious = 0;  // refused, although only a temporary's cell would be reused in another order,
                     // or read in an arm that is not taken, or loops could run the other way round
};

/// Something that must not be.
struct Problem {
  std::uint64_t seed = 0;
  std::string what;
  std::string kernel;       // text
  std::vector<Call> steps;  // the previous ones and the one at fault
  std::string str() const;
};

/// A kernel with the result of a chain of steps.
struct Pair {
  std::uint64_t seed = 0;
  std::string text;
  std::vector<Call> steps;    // the accepted ones
  std::vector<Kernel> parts;  // that the original was made of, where the text has several
  Kernel original, result;
};

struct Statistics {
  std::map<std::string, Tally> by_transform;
  std::map<std::string, int> codes;    // of refusals
  std::map<std::string, int> no_code;  // accepted results that a target cannot express, by reason
  int compiler_faults = 0;     // internal errors of the C compiler, which took the code without -O1
  int run = 0;                 // results that ran, on C and on OpenMP, or on a device
  int barriers = 0;            // in programs for a device
  int launches = 0;            // kernels of theirs
  std::set<std::string> cuda;  // those programs, for CUDA
  int invalid = 0;             // random kernels that are invalid
  std::map<std::string, int> made;  // kernels by what is special about them
  std::string str() const;
};

/// Makes a random kernel and tries a chain of 1 to 8 steps on it; checks acceptance and refusal
/// against enumeration in the flavour for hosts. Nothing when the seed gives no valid kernel.
std::optional<Pair> make_pair(std::uint64_t seed, Flavour flavour, Statistics& statistics,
                              std::vector<Problem>& problems);

/// The same for a given kernel and given steps; refused ones are skipped.
std::optional<Pair> replay(std::uint64_t seed, const std::string& text,
                           const std::vector<Call>& steps, Statistics& statistics,
                           std::vector<Problem>& problems);

/// The smallest case found that still has a problem of this kind: without statements and steps that
/// it does not need.
Problem shrink(const Problem& problem);

/// Compiles the results of all pairs for C and OpenMP, and for ISPC where its compiler is found,
/// runs them, and compares them with the interpreter's run of the originals.
void run_pairs(const std::vector<Pair>& pairs, Statistics& statistics,
               std::vector<Problem>& problems);

/// The same on the device that MOONLOOP_DEVICE_TARGET names (`opencl` unless set).
void run_on_device(const std::vector<Pair>& pairs, Statistics& statistics,
                   std::vector<Problem>& problems);
bool device_problem(const Problem& problem);

// ---- For both -----------------------------------------------------------------------------------

/// The first `wanted` of the values of `n` that the kernel's assumptions allow.
std::vector<std::int64_t> sizes_of(const Kernel& k, const std::vector<std::int64_t>& all,
                                   std::size_t wanted);
/// Those that results run at.
std::vector<std::string> run_sizes(const Kernel& k);

/// The arrays of a kernel with values that satisfy its claims; arrays that are parts of those of
/// `original` have these parts.
std::vector<Buffer> filled_buffers(const Kernel& original, const Kernel& k, const Integers& values);
/// A run of the original in the interpreter, with the bounds that results are measured by.
struct Expected {
  std::vector<ScalarArgument> scalars;
  std::vector<Buffer> buffers;
  ErrorBounds bounds;
  Expected(const Kernel& original, const std::string& n, const Accuracy& accuracy);
};
/// How `found`, the arrays of `k`, from `where`, differ from the expected ones; nothing where they
/// do not.
std::string difference(const std::string& where, const Expected& expected, const Kernel& k,
                       const std::vector<Buffer>& found);

}  // namespace moonloop::differential
