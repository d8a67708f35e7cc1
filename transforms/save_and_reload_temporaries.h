#pragma once
#include "core/model/kernel.h"

namespace moonloop {

/// Keeps the values of temporaries that live across a global barrier in global memory, where the
/// next kernel finds them: each work-item's own get an axis for each `g.N` and `l.N` iname around
/// them, each group's own one for each `g.N`.
///
///     for i  [g.0]                       for i  [g.0]
///       <> t = 2*a[i]                      t[i] = 2*a[i]
///       ... gbarrier         is            ... gbarrier
///       b[i] = t                           b[i] = t[i]
///
/// Temporaries that are written and used on one side only stay as they are.
///
/// Refuses  not-inside    an instruction uses the temporary outside of such an iname
///          carries-value, no-extent, unsupported   as with_axes
Kernel save_and_reload_temporaries(const Kernel& k);

}  // namespace moonloop
