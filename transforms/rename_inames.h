#pragma once
#include <string>
#include <vector>

#include "transforms/rename_iname.h"

namespace moonloop {

/// Gives several loops one name: they become one loop. As rename_iname for each, the first one
/// first; only the order of the result is proved.
Kernel rename_inames(const Kernel& k, const std::vector<std::string>& old_inames,
                     const std::string& new_iname, const RenameOptions& o = {});

}  // namespace moonloop
