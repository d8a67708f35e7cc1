#pragma once
#include "core/model/kernel.h"
#include "core/model/match.h"

namespace moonloop {

/// Puts the bodies of substitution rules in place of their calls.
///
///     g(x) := 12 + f(x)                              with "g$three < h$two" becomes
///     h(x) := 1 + g(x) + 20*g$three(x)               h_0(x) := 1 + g(x) + 20*(12 + f(x))
///     a[i] = h$one(i)*h$two(i)                       a[i] = h$one(i)*h_0$two(i)
///
/// A rule only some of whose calls hold an expanded one gets another version; rules that are no
/// longer called are dropped (core/rewrite/rule_rewrite.h).
/// \param within  the calls to expand, by their stacks; all if it is empty
/// Refuses        no-match  `within` matches no call
///                recursive-rule, wrong-arg-count
Kernel expand_subst(const Kernel& k, const Match& within = {});

}  // namespace moonloop
