#pragma once
#include "core/count/count_map.h"
#include "core/count/op_counts.h"

namespace moonloop {

/// The accesses of a kernel to global and local memory, Loo.py's `get_mem_access_map`: by `mtype`
/// (`global`, `local`), `dtype`, `lid_strides`, `gid_strides`, `direction` (`load`, `store`),
/// `variable`, `variable_tags`, `granularity` and `kernel`.
///
/// `lid_strides` gives the distance in elements between the accesses of neighbours along each
/// `l.N`, as `{0: 1, 1: n}`, for the axes that the subscripts have; `?` where a subscript is not
/// affine. `gid_strides` is the same for groups. Private temporaries and scalar arguments do not
/// count as memory; arrays that work-items share without saying where count as local.
CountMap mem_counts(const Kernel& k, const CountOptions& options = {});

/// How many different elements of each argument and of each global temporary are read and written,
/// by `variable`, `direction` (`read`, `write`) and `dtype`: Loo.py's `gather_access_footprints`,
/// counted. Where a subscript depends on data, all elements count, as a bound.
CountMap footprints(const Kernel& k);

/// The elements of a variable in global memory that are read, or written.
struct Touched {
  std::string variable;
  bool write = false;
  Set elements;       // null: maybe all
  bool exact = true;  // false: an upper bound
};
/// By variable and direction. More than `most_accesses` different ones count as all elements. With
/// `computed` loop bounds that the kernel computes are taken; without, they fail as footprints()
/// does.
std::vector<Touched> touched_elements(Evaluations& all, int most_accesses, bool computed);

}  // namespace moonloop
