#pragma once
#include "tests/differential/random_groups.h"

namespace moonloop::differential {

/// A random kernel of scans: sums, products, choices of the least or greatest, with a place or in
/// segments, whose terms grow along a loop; in rows, of the rows' lengths or of lengths that are
/// data; beside statements that make what is scanned and use what came of it, a scan of a scan
/// among them. The steps spread rows and scanned loops over groups and work-items, and write the
/// scans out; each may be refused.
Opening random_scans(Random& random, const std::string& name);

}  // namespace moonloop::differential
