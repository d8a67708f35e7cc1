#pragma once
#include <optional>

#include "core/sets/isl.h"

namespace moonloop {

/// The first or the last value of the one dimension of `points`, where one affine expression of the
/// parameters gives it. Cost: a parametric minimum.
std::optional<Aff> affine_extreme(const Set& points, bool last);

}  // namespace moonloop
