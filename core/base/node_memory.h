#pragma once
#include <cstddef>

/// Memory for small objects of a few sizes that are made in the order in which they are walked:
/// what is taken lies behind what was taken before, without gaps, and what is given back is taken
/// again first by an object of its size. For one thread. Never returned to the system; under
/// AddressSanitizer the usual operators, so that it sees each object.
namespace moonloop::node_memory {

/// `bytes`: at most 128.
void* take(std::size_t bytes);
void give(void* p, std::size_t bytes);

}  // namespace moonloop::node_memory
