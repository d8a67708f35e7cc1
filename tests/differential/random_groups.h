#pragma once
#include <string>
#include <vector>

#include "runtime/buffer.h"
#include "tests/differential/random_step.h"

namespace moonloop::differential {

/// A kernel with the steps that make one for devices of it; see random_groups().
struct Opening {
  std::string text;
  std::vector<Call> steps;
};

/// A random kernel for interactions of groups: 2 to 5 phases, each with a grid of its own or in a
/// loop over groups with others, some of them in a time loop; scatters through `perm`, a
/// permutation, under claims; reads through `look`, any numbers; temporaries in global memory, and
/// in the group's, that are filled whole and then read by index; sums of rows, of triangles and of
/// everything. The steps claim and tag; each may be refused.
Opening random_groups(Random& random, const std::string& name);

/// Gives the arrays of these kernels values that their claims promise.
void keep_promises(std::vector<Buffer>& arrays);

}  // namespace moonloop::differential
