#pragma once
#include <string>

#include "core/order/counterexample.h"

namespace moonloop {

/// The iteration space around two instances that clash, at most 80 columns wide: points of the
/// domain as dots, the instances as A and B, and below what each does.
///
///     step at n = 3
///         i  1  2
///            A  B
///     A  step[i=1] writes a[1]
///     B  step[i=2] reads a[1]
///     A has to run before B
///
/// For more than two loops, the slice with both instances. Where there is none, or when the
/// instances are of statements with different loops, only the lines below. `color` adds ANSI
/// escapes.
std::string draw_counterexample(const Counterexample& counterexample, bool color);

}  // namespace moonloop
