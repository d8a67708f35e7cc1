#pragma once
#include <complex>
#include <map>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/model/kernel.h"

/// The reference interpreter: runs a kernel straight from its reference order, with its own
/// evaluation of every operator and its own enumeration of domains. It shares no code with code
/// generation and is the oracle of `--verify` and of the tests.
namespace moonloop {

/// Raw storage of one array: elements in `type`, element (i0, i1, …) at offset + sum stride*i.
struct ArrayView {
  Type type;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;  // in elements
  void* data = nullptr;               // not owned
};
struct ScalarValue {
  std::int64_t i = 0;
  double re = 0, im = 0;  // used for real and complex types
};
struct Bindings {
  std::map<std::string, ArrayView> arrays;     // all array arguments
  std::map<std::string, ScalarValue> scalars;  // all scalar arguments
};

/// The work of one run, counted as it happened: operations by type and name, loads and stores by
/// variable, and which elements they were, all named as in core/count/op_counts.h and
/// core/count/mem_counts.h.
struct Tally {
  using Counts = std::map<std::pair<std::string, std::string>, std::int64_t>;
  Counts operations;  // ("float64", "add")
  Counts accesses;    // ("a", "load")
  // Elements by their distance from the first one in bytes: ("a", "read"), ("a", "write").
  std::map<std::pair<std::string, std::string>, std::unordered_set<std::ptrdiff_t>> touched;
};

/// Runs the kernel once on `data` in place. Fails `out-of-bounds` (with the instance, always
/// checked), `missing-argument`, `division-by-zero` (integers), `size-overflow`,
/// `assumption-violated`. Cost: some ten nanoseconds per operation.
/// `k` is any kernel; it is completed (core/infer/infer.h) first, and runs in the order of its own
/// tree. With `tally` the run adds to it, and takes longer.
void interpret(const Kernel& k, Bindings& data, Tally* tally = nullptr);

}  // namespace moonloop
