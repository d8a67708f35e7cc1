#pragma once
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/model/kernel.h"

namespace moonloop {

struct FuseOptions {
  std::string name = {};  // of the result; empty: `a_and_b`
  /// By kernel: the suffix for names of temporaries that another kernel has too. Empty: free names.
  std::vector<std::string> suffixes = {};
  /// A variable that one kernel writes and a later one reads or writes, both by number from 0.
  std::vector<std::tuple<std::string, std::int64_t, std::int64_t>> data_flow = {};
};

/// Kernels as one that runs the first, then the second, and so on.
struct Composition {
  Kernel kernel;
  /// Loops of later kernels, and the loop of an earlier one that had the same name.
  std::vector<std::pair<std::string, std::string>> shared;
};

/// Arguments of one name are one argument; loops stay separate, whatever their names. Fusing the
/// loops of `shared` is rename_iname's task, which proves it.
///
///     kernel a: for i: x[i] = i        becomes   for i:   x[i] = i
///     kernel b: for i: y[i] = x[i]               for i_0: y[i_0] = x[i_0]
///
/// Refuses  no-kernels      less than two
///          bad-suffixes    not one for each kernel
///          other-argument  arguments, records, integers or functions of one name that differ
///          no-data-flow    a variable that the one does not write, or the other does not access
///          bad-name        `name` is not an identifier
///          and all that check_legal refuses
/// Cost     one walk over all instructions
/// Source   loopy `fuse_kernels`
Composition fuse_kernels(const std::vector<Kernel>& kernels, const FuseOptions& o = {});

}  // namespace moonloop
