#pragma once
#include <cstddef>

/// Memory for small objects of a few sizes that are made in the order in which they are walked:
/// each block directly follows the one taken before, and a block given back is reused first for an
/// object of its size. For one thread. Never returned to the system; under AddressSanitizer the
/// usual operators are used, so that it sees each object.
namespace moonloop::node_memory {

/// `bytes`: at most 128.
void* take(std::size_t bytes);
void give(void* p, std::size_t bytes);

}  // namespace moonloop::node_memory
