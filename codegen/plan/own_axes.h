#pragma once
#include "core/order/tree.h"

namespace moonloop {

/// Leaves out the axes of private arrays along which each access has the element of its work-item,
/// `row[.., i]` with `i` along `l.0` (OwnCopies::own_axes): each work-item keeps its own part. Of a
/// nested kernel, before memories are chosen. Cost: a look at each statement if there is such an
/// array.
Nested drop_own_axes(Nested nested);

}  // namespace moonloop
