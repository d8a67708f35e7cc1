#pragma once
#include <complex>
#include <map>
#include <string>
#include <vector>

#include "core/kernel.h"

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

/// Runs the kernel once on `data` in place. Fails `out-of-bounds` (with the instance, always
/// checked), `missing-argument`, `division-by-zero` (integers), `size-overflow`,
/// `assumption-violated`. Cost: some ten nanoseconds per operation.
/// `k` is any kernel; it is completed (core/infer.h) first, and runs in the order of its own tree.
void interpret(const Kernel& k, Bindings& data);

}  // namespace moonloop
