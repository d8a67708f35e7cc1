#pragma once
#include <map>
#include <string>

#include "codegen/plan/plan.h"

/// The memory of a device that each temporary is in, and which statements may use it there.
namespace moonloop {

/// Whether only the caller knows how many elements it has.
bool has_any_size(const Temporary& t);

/// The memory of each temporary. For those where the user left the choice: to each work-item its
/// own, else to the group, or to all where the groups' numbers choose the element or only the first
/// group writes it. Fails `unsupported` for private ones that work-items share.
std::map<std::string, AddressSpace> spaces_of(const Kernel& k);

/// Values private to a work-item or a group may be used only by statements that run in the same
/// ones. Fails `unsupported` with the statement, and the step that allows it.
void require_same_items(const Plan& plan);

}  // namespace moonloop
