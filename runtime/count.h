#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "core/expr/evaluate.h"
#include "core/model/kernel.h"

/// The work of a kernel, counted, not measured: the numerator of GFLOP/s and GB/s.
namespace moonloop {

struct Work {
  /// Operations on reals that assignments compute, as op_counts() has them: on complex numbers +
  /// and - count 2, * 6, / 11. A power with a small constant exponent counts its multiplications.
  /// Those in subscripts and in conditions of statements do not count.
  std::int64_t flops = 0;
  std::int64_t integer_ops = 0;  // the same on integers
  std::int64_t instances = 0;    // of instructions, each point of a reduction counting as one
  /// Distinct elements of array arguments that are read, in bytes, and those that are written. An
  /// array that is both counts on both sides.
  std::int64_t bytes_read = 0, bytes_written = 0;
  /// False where a number is only an upper bound: conditions and subscripts that depend on data.
  bool exact = true;
};

/// Counts at concrete parameters. `k` is completed. Nothing when bounds depend on data or numbers
/// are out of reach (see count_points()).
std::optional<Work> count_work(const Kernel& k, const Integers& values);

}  // namespace moonloop
