#pragma once
#include <map>
#include <string>

#include "codegen/plan/plan.h"

/// In which memory of a device the temporaries are, and who may use them there.
namespace moonloop {

/// The memory of each temporary. For those where the user left the choice: to each work-item its
/// own, else to the group, or to all where the groups' numbers choose the element or the first
/// group alone writes it. Fails `unsupported` for private ones that work-items share.
std::map<std::string, AddressSpace> spaces_of(const Kernel& k);

/// What a work-item or a group keeps to itself is of use only to statements that run in the same
/// ones. Fails `unsupported` with the statement, and the step that lets it.
void require_same_items(const Plan& plan);

}  // namespace moonloop
