#pragma once
#include "core/order/tree.h"

namespace moonloop {

/// `B[i, j] = A[i, j]/sum(k, A[i, k])`: the sum is one for all `j`, so that it is computed before
/// the loop over `j` and not in each of its iterations.
///
/// A reduction leaves the innermost loops around it that it does not depend on: these have no tag
/// (or are `par`, whose iterations then share the value), nothing in them writes its inputs, and
/// they run wherever it will. Its value and its order stay. The kernel of `nested` has its
/// reductions realized; the result has forgotten its reference where something moved. Cost: linear,
/// and one query of isl for each reduction that moves.
Nested hoist_invariant_reductions(Nested nested);

}  // namespace moonloop
