#pragma once
#include <map>
#include <set>
#include <string>

#include "core/model/iname_tag.h"
#include "core/order/tree.h"

namespace moonloop {

/// Temporaries, each with how the parallel loops, work-items and lanes around its uses run.
using TemporariesInParallel = std::map<std::string, std::set<TagRun>>;

/// Temporaries that are used within a parallel loop, and in work-items and lanes that could have
/// copies of their own, and outside of these. One pass over the statements. Where groups share the
/// memory `in local` unless it is told apart (`threads`), as on hosts, such temporaries too.
TemporariesInParallel used_in_and_outside_parallel(const Kernel& k, bool threads);

/// Gives the uses of such temporaries, `names`, that hand nothing on to others (its webs) a
/// temporary of their own where they have parallel loops or a team around them of which each
/// iteration has its own value. Those of `names` that are to be separated where that is easily
/// found out, and else may stay together, are `optional`. Cost: linear, and questions about the
/// order for such temporaries.
Nested separate_webs(Nested nested, const std::set<std::string>& names,
                     const std::set<std::string>& optional);

}  // namespace moonloop
