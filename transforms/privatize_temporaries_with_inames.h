#pragma once
#include <string>
#include <vector>

#include "core/model/kernel.h"

namespace moonloop {

/// Gives temporaries an axis for each of some inames, so that each iteration has its own copy.
///
///     <> t = a[i]         with iname i is     t[i] = a[i]
///     b[i] = 2*t                              b[i] = 2*t[i]
///
/// Without `only`: all temporaries that are written inside of one of the inames. New axes come
/// last, counted from the iname's least value.
///
/// Refuses  unknown-iname; unknown-temporary
///          not-inside    an instruction uses the temporary outside of the iname
///          carries-value an iteration reads what another one wrote
///          no-extent     the iname's number of values is computed in the kernel
///          unsupported   initial values, strides, flat subscripts
/// Cost     isl where a temporary's first access is not a plain write
Kernel privatize_temporaries_with_inames(const Kernel& k, const std::vector<std::string>& inames,
                                         const std::vector<std::string>& only = {});

}  // namespace moonloop
