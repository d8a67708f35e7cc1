#pragma once
#include <string>
#include <vector>

#include "core/model/kernel.h"
#include "core/model/match.h"
#include "core/order/reordered.h"

namespace moonloop {

struct AssignmentToSubstOptions {
  std::vector<std::string> extra_arguments =
      {};                              // names of the definition that become arguments as well
  Match within = {};                   // the uses to replace; all if empty
  bool force_retain_argument = false;  // an argument that nothing reads any more is kept
  Proof proof = Proof::Made;
};

/// Turns the assignments to a variable into substitution rules, called where it was read.
///
///     a[i] = 6*inp[i]                          a_subst(i) := 6*inp[i]
///     out[j] = 5*a[j]               becomes    out[j] = 5*a_subst(j)
///
/// Each assignment whose value is read gives a rule of its own: `a_subst`, `a_subst_0`, ….
/// When no use is left, the assignments and the variable go, also when it is an argument, unless
/// `force_retain_argument`. Where the variable's type would round the value, the rule casts.
///
/// Proved for each use: every instance reads what one and the same assignment wrote, no instance
/// lacks one, and nothing that the assignment read is written between it and the use.
///
/// Refuses  unknown-variable; no-definition; no-use      there is nothing to do
///          bad-definition   an assignment's subscripts are not different inames (plus constants),
///                           it is not a plain assignment, or it reads the variable itself
///          free-iname       the assignment needs an iname that is not around the use
///          other-bounds     a reduction's bounds depend on an iname that the use does not have
///          uncovered-read   a use reads what no assignment wrote
///          no-reaching-definition, several-definitions   a use is not served by one assignment
///          stale-value      something that the assignment read is overwritten before the use
///          not-proved       subscripts or conditions that depend on data; `unsafe` goes on
/// Cost     isl for each triple of a use, what its definition reads, and a writer of that
Kernel assignment_to_subst(const Kernel& k, const std::string& lhs_name,
                           const AssignmentToSubstOptions& o = {});

}  // namespace moonloop
