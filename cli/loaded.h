#pragma once
#include "cli/options.h"

namespace moonloop::cli {

/// A kernel, and its state before any transform.
struct Loaded {
  Kernel kernel, original;
};

/// The kernel that the command line asks for. Where its original is not known, that is an error,
/// `cannot-verify`, if `needed`; else it counts as its own original.
/// `used` as in load_kernels().
Loaded load_with_original(const Common& common, bool needed, UsedKnobs* used = nullptr);

}  // namespace moonloop::cli
