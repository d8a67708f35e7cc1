#include "core/sets/coalesce.h"

#include <doctest/doctest.h>

using namespace moonloop;

// isl 0.25 by itself keeps the set until dim_min() simplifies it, and then loses two quotients.
// Differential test, seed 3002000.
TEST_CASE("coalesce: what inequalities leave as one value is still there after later questions") {
  const Set given(isl_set_read_from_str(isl(), R"([n, i] -> { [x] : 0 <= i <= 3 and i < n and
      ((exists (a, b: 2a = 1 + i and 4b = i + x and 2 + i <= x <= 1 + n)) or
       (exists (c = floor((-1 - i + 2x)/4), d = floor((1 + i)/2): 2d = 1 + i and
          2x >= -3 + i and -4 - i + 2x <= 4c <= -3 - i + 2x and 4c <= -5 + n - i))) })"));
  const Set same(isl_set_read_from_str(isl(), str(given).c_str()));
  const Set joined = coalesce(given);
  for (const bool last : {false, true})
    const PwAff asked =
        last ? isl_set_dim_max(joined.copy(), 0) : isl_set_dim_min(joined.copy(), 0);
  CHECK(isl_set_is_equal(joined.get(), same.get()) == isl_bool_true);
}
