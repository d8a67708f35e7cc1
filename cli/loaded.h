#pragma once
#include "cli/options.h"

namespace moonloop::cli {

/// A kernel, and what it was before any transform.
struct Loaded {
  Kernel kernel, original;
};

/// The kernel that the command line asks for. Where nobody knows what it was before, `needed` makes
/// that an error, `cannot-verify`; else it counts as its own original.
Loaded load_with_original(const Common& common, bool needed);

}  // namespace moonloop::cli
