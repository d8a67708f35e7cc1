#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/model/kernel.h"

namespace moonloop {

struct BatchOptions {
  std::string count = "nbatch";  // a new parameter, the kernel's parameter of that name, or a number
  std::optional<std::vector<std::string>> args = {};  // what differs by batch; absent: the arrays
  std::string iname = "ibatch";
  bool inside = false;    // the new axis is the fastest one in memory, else the slowest
  std::string name = {};  // of the result; empty: `k_batched`
};

/// A kernel that does `count` times what `k` does, each time with elements of its own of `args`: a
/// loop around everything, and an axis of these arguments. Scalars among them become arrays.
/// Temporaries stay as they are; each iteration sets them again.
///
///     for i: x[i] = 2*x[i]   becomes   for ibatch: for i: x[ibatch, i] = 2*x[ibatch, i]
///     a[n, m], inside:                 a[i, j, ibatch], of shape [n, m, nbatch]
///
/// Arrays of order F have the outer axis behind the others, and the inner one before them. The
/// result is a meaning of its own: scripts begin with it, its steps are proved against it.
///
/// Refuses  unknown-argument a name of `args` that is none
///          same-output      an array that the kernel writes, and that all batches would share
///          bounds-loops     a scalar of `args` that loops, shapes or assumptions depend on
///          initial-values   a temporary that has its first value only once
///          claimed-values   claims about the values of an array of `args`
///          bad-count        a number below 0
///          name-taken       `count` or `iname` means something else
///          unsupported      `indexof(a[i])` of an array of `args`
/// Cost     one walk over all expressions
/// Source   loopy `to_batched`
Kernel to_batched(const Kernel& k, const BatchOptions& o = {});

}  // namespace moonloop
