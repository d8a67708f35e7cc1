#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/kernel.h"

namespace moonloop {

/// Temporaries, by name, with further axes for inames, so that each of their iterations has its own
/// copy. New axes come last and count from the iname's least value. The result is its own
/// reference.
///
/// Refuses  not-inside     an instruction uses the temporary outside of the iname
///          carries-value  an iteration reads what another one wrote
///          no-extent      the iname's number of values is computed in the kernel
///          bounds-loop    bounds of a loop read it, which takes a scalar; the hint is `way_out`
///          unsupported    initial values, strides, flat subscripts
/// Cost     isl where a temporary's first access is not a plain write
Kernel with_axes(const Kernel& k, const std::map<std::string, std::vector<std::string>>& wanted,
                 const std::string& way_out);

/// Refuses (`unsupported`) a temporary whose elements have more than names: initial values, strides
/// or memory shared with others. `so` says what is not done with it.
void require_plain_elements(const Kernel& k, const Temporary& t, std::string_view so);

}  // namespace moonloop
