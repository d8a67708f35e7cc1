#pragma once
#include <string>

#include "core/sets/isl.h"

namespace moonloop {

/// As isl_set_read_from_str(). Sets that differ only in their names are read once: kernels have
/// many loops of the same bounds, and reading one takes isl as long as a dozen queries about it.
Set read_set(const std::string& text);

}  // namespace moonloop
