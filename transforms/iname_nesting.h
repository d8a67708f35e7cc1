#pragma once
#include <string>
#include <vector>

#include "core/model/kernel.h"

namespace moonloop {

/// Whether the loops of `k` nest: whether some tree has all that its text demands.
bool loops_nest(const Kernel& k);

/// A step `duplicate_inames(iname, within)`.
struct Duplication {
  std::string iname;
  std::vector<std::string> ids;  // of the instructions that get a loop of their own
  std::string within() const;    // as a match
};
/// Steps each of which makes fewer pairs of loops cross, where loops do not nest: two cross where
/// some instructions are in both, and others in each of them alone. Those that make the kernel nest
/// come first, then those that leave fewer crossings. Cost: cubic in the number of inames.
std::vector<Duplication> iname_duplications(const Kernel& k);

}  // namespace moonloop
