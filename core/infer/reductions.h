#pragma once
#include "core/model/kernel.h"

namespace moonloop {

/// Replaces every reduction by an accumulator: for an instruction `S` with `sum(k, e)` in it,
///
///     S: c[i] = 2*sum(k, a[i,k])      becomes      S_init:   acc_k = 0         (role Init)
///                                                  S_update: acc_k = acc_k + e (role Update, in k
///                                                  too) S:        c[i] = 2*acc_k
///
/// in this order in the list, in the place of `S`. Nested reductions nest their updates; two-valued
/// ones (`argmin`, segmented) use two accumulators, assigned together: the Init and the Update
/// instruction have two assignees, and the Update's right side is `Call("make_tuple", args)` of the
/// reduction's arguments. A one-valued Update's right side is the reduction's argument itself;
/// `reduce_op` says how it is combined. Init's right side is null: the neutral element of the
/// accumulator's type.
///
/// A reduction in an arm of `a if c else b`, or after a term of `and` or `or`, takes in values only
/// where its own is needed: the condition, or its negation, joins the predicates of the update.
///
/// The new instructions carry the predicates, tags, span and dependencies of `S` and its origin map
/// (extended to the reduction's inames); their reference ids are derived from that of `S` in the
/// same way, so that they correspond through transforms. Rules are expanded first. A kernel without
/// rules and reductions comes back unchanged.
///
/// Fails: `reduction-not-simple` an iname is bound by two reductions of one instruction, neither of
/// them nested in nor simultaneous with the other; `reduction-unbound` an iname that the kernel
/// does not have; `reduction-over-outer` an iname that is also a loop around the instruction.
Kernel realize_reductions(Kernel k);

}  // namespace moonloop
