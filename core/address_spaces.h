#pragma once
#include <set>
#include <string>

#include "core/kernel.h"

/// Who has a temporary to itself. Legality, the interpreter and code generation all ask here, so
/// that what is proved is what runs.
namespace moonloop {

/// Temporaries of which every work-item (`l.N`, `l.auto`) has its own: `private` and `auto` ones,
/// but for those that a statement writes at its work-item's number, which the team shares. One pass
/// over the statements.
std::set<std::string> own_per_work_item(const Kernel& k);

}  // namespace moonloop
