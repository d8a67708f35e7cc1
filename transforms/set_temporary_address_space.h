#pragma once
#include <string>
#include <vector>

#include "core/model/kernel.h"
#include "core/order/reordered.h"

namespace moonloop {

/// Moves temporaries to another memory: `private`, `local`, `global`, or `auto` for the choice that
/// their use suggests.
///
/// Refuses  unknown-temporary  no temporary has the name
///          bad-base           another one that shares its memory stays elsewhere
///          not-private        a work-item writes it at its own number, as memory that it shares
///          races, breaks-order   work-items would meet in memory that each had to itself
Kernel set_temporary_address_space(const Kernel& k, const std::vector<std::string>& names,
                                   AddressSpace space, Proof proof = Proof::Made);

}  // namespace moonloop
