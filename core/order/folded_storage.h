#pragma once
#include <cstdint>
#include <string>

#include "core/model/kernel.h"

namespace moonloop {

/// Proves that elements of the temporary `name` whose subscripts along `axis` are a multiple of
/// `count` apart may share memory, in the present order: none of them is written while the value of
/// another one is still needed. Types and shapes are known.
///
/// Fails `shares-memory`, with the two instances
/// Cost   isl for each write, read and other write: over the loops that the subscripts have, and
///        over all only where these do not tell
void check_folded(const Kernel& k, const std::string& name, std::size_t axis, std::int64_t count);

}  // namespace moonloop
