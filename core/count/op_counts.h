#pragma once
#include <optional>

#include "core/count/count_map.h"
#include "core/count/evaluations.h"

namespace moonloop {

struct CountOptions {
  /// Absent: each work-item counts. Else, as the hardware runs them, that many work-items of a
  /// group together count once, for operations and for accesses that are the same in all of them.
  std::optional<std::int64_t> subgroup_size;
  /// One field more, `instruction`: its id in the kernel with reductions realized.
  bool by_instruction = false;
};

/// The operations of a kernel by `dtype`, `name`, `granularity` and `kernel`, Loo.py's
/// `get_op_map`.
///
/// Names: `add` (and subtraction; a sum of n terms is n-1, a negation none), `mul`, `div` (also
/// `//` and `%`), `pow`, `shift`, `bw` (bits), `maxmin`, `func:NAME`. A reduction counts one for
/// each value that it takes in. Subscripts and conditions count, comparisons do not. `dtype` is the
/// result's type. Fails as Evaluations does.
CountMap op_counts(const Kernel& k, const CountOptions& options = {});

/// The operation that an evaluation performs.
struct Operation {
  std::string name;
  Type type;
  std::int64_t times = 1;
};
std::optional<Operation> operation_of(const Typer& typer, const Evaluation& e);

/// Operations on reals that one operation is: on complex numbers 2 for `add`, 6 for `mul`, 11 for
/// `div`; none for other types.
std::int64_t flops_of(Scalar type, std::string_view name);
Count flops(const CountMap& op_counts);

}  // namespace moonloop
