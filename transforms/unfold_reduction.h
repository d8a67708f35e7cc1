#pragma once
#include "core/model/kernel.h"
#include "core/model/match.h"

namespace moonloop {

struct UnfoldOptions {
  bool each_term = false;  ///< terms that are sums add each of theirs in loops of its own
};

/// Adds the terms of sums to the assignee one by one, in loops of their own: the inverse of
/// recognize_reduction.
///
///     A[i, j] = (A[i, j] - sum(k, L[i, k]*U[k, j]))/d      becomes
///
///     A[i, j] = A[i, j] - L[i, k]*U[k, j]      in the loop k too
///     A[i, j] = A[i, j]/d
///
/// What the sums are added to, where that is not the assignee, is assigned first. One sum or
/// difference with reductions in each instruction that `within` selects.
///
/// Refuses  no-match, no-reduction (no sum is a term of a sum or difference, or the whole right
///          side, that is always evaluated); reads-assignee (terms, conditions or what is left
///          may read the element that is assigned); unsupported (several assignees; an element of
///          another type than the sum's)
/// The sums are rounded after each term where they were rounded once: as for other reductions, the
/// order of additions is free. Cost: isl for each access to the assignee's array beside it.
Kernel unfold_reduction(const Kernel& k, const Match& within = {}, const UnfoldOptions& o = {});

}  // namespace moonloop
