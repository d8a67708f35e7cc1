#pragma once
#include <string>
#include <vector>

#include "core/model/kernel.h"

namespace moonloop {

/// Whether two temporaries name the same `base`.
bool shares_storage(const Kernel& k);

/// Arrays in local memory, of one type each list, that the same groups use one after the other: the
/// values of one are not needed any more when the next is written. With `in_loops` also those that
/// take turns in each iteration of a loop. Larger ones come first and choose first. `k` is
/// complete. Finds them by the order of statements alone; whether they may share memory,
/// merge_shared_storage proves. Cost: linear for each two of them.
std::vector<std::vector<std::string>> used_by_turns(const Kernel& k, bool in_loops);

/// `k` with one array in the place of all temporaries that name the same `base`; `k` itself when no
/// two do. Shapes and types are known. Proves that this changes no value, in the present order and
/// with the present tags; the result is its own reference.
///
/// Fails `bad-base`      temporaries of one base differ in type or memory, or one of them is a
///                       scalar, has initial values or a size that is not constant
///        `shares-memory` one is written before the value of another was read for the last time
///        and as check_legal does, where instances that run at the same time would meet in the
///        memory they share.
/// Cost   isl for the accesses to such temporaries.
Kernel merge_shared_storage(const Kernel& k);

}  // namespace moonloop
