#pragma once
#include "tests/differential/random_groups.h"

namespace moonloop::differential {

/// A random kernel of scans: sums, products, choices of the least or greatest, with a place or in
/// segments, whose terms grow along a loop; in rows, of the rows' lengths or of lengths that are
/// data; next to statements that make the scanned values and use the results, including scans of
/// scans. The steps spread rows and scanned loops over groups and work-items, and write the scans
/// out; each may be refused.
Opening random_scans(Random& random, const std::string& name);

}  // namespace moonloop::differential
