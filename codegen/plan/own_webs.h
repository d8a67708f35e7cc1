#pragma once
#include "codegen/language.h"
#include "core/order/tree.h"

namespace moonloop {

/// `t` that two loops use, one after the other, each of which writes it before it reads it: where
/// iterations of such a loop run at the same time they need copies of their own, as in legality
/// (core/order/order_reference.h, Web). Each web of accesses gets a temporary of its own, so that
/// later passes may use names.
///
/// The kernel of `nested` has its reductions realized. Fails `not-proved` where threads would share
/// a temporary, with different values, since the webs of the present loops are not found. Where
/// iterations of all loops around it may share it, it stays one where they are not found at once.
/// Cost: linear; where there is such a temporary, the order of the kernel and the cost of the webs.
Nested separate_webs(Nested nested, Target target);

}  // namespace moonloop
