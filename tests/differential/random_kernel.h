#pragma once
#include <string>

#include "tests/differential/random.h"

namespace moonloop::differential {

/// The text of a random kernel `name(n, …)`: 1 to 4 statements over 1 to 4 inames; rectangular,
/// triangular, banded, strided and parametric domains, negative coefficients, guards, reductions,
/// temporaries, rules, recurrences. It works for every n >= 5; its arrays are large enough.
std::string random_kernel(Random& random, const std::string& name);

}  // namespace moonloop::differential
