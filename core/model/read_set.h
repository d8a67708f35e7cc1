#pragma once
#include <string>

#include "core/sets/isl.h"

namespace moonloop {

/// As isl_set_read_from_str(). Sets that differ in their names alone are read once: kernels have
/// many loops of the same bounds, and reading one takes isl as long as a dozen questions about it.
Set read_set(const std::string& text);

}  // namespace moonloop
