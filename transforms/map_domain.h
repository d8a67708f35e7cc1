#pragma once
#include <string>

#include "core/model/kernel.h"
#include "core/order/reordered.h"

namespace moonloop {

/// Changes the variables of a loop nest: each instance runs at its image.
///
///     for i: for j: …   with   { [i, j] -> [t, j] : t = i + j }   becomes   for t: for j: …
///
/// \param map  isl map text. Its inputs are inames of one domain; its outputs are new names, or
///             inputs that stay as they are. The new nest is in the order of the outputs: a map
///             that only permutes is an interchange
/// Refuses  bad-map; unknown-iname; no-common-domain; name-taken, bad-name;
///          tagged-iname (an input that goes has a tag)
///          some-not-all, partial-reduction   not in all loops of the map, but in one that goes
///          drops-instance, doubles-instance, merges-instances   the map is not one-to-one and
///          total on the domain; names the instances
///          and all that check_legal refuses
/// Cost     one walk over the instructions, a few isl operations on the map
Kernel map_domain(const Kernel& k, const std::string& map, const Span& at = {},
                  Proof proof = Proof::Made);

}  // namespace moonloop
