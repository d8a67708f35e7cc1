#pragma once
#include <string>

#include "tests/differential/random.h"

namespace moonloop::differential {

/// A text of random_kernel() in which arrays of one shape are fields of one array of records, with
/// statements that copy whole records, fill temporaries of them field by field, and update records
/// and fields of theirs at once.
std::string with_records(Random& random, const std::string& text);

}  // namespace moonloop::differential
