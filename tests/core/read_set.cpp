#include "core/model/read_set.h"

#include <doctest/doctest.h>

using namespace moonloop;

namespace {

/// The set that isl itself reads.
Set by_isl(const char* text) { return isl_set_read_from_str(isl(), text); }

}  // namespace

TEST_CASE(
    "read_set: sets that differ in their names alone have the same constraints, each its names") {
  for (const char* text :
       {"[n] -> { [i] : 0 <= i < n }", "[m] -> { [k] : 0 <= k < m }", "[i] -> { [n] : 0 <= n < i }",
        "[n] -> { [n] : 0 <= n < n }", "[n, m] -> { [i, j] : 0 <= i < n and 0 <= j < m }",
        "[m, n] -> { [j, i] : 0 <= j < m and 0 <= i < n }",
        "[n, m] -> { [i, j] : 0 <= i < m and 0 <= j < n }",
        "[n] -> { [i, j] : 0 <= i < n and 2i <= 3j < 4n and exists e : j = 2e + i }",
        "[n] -> { [a, b] : 0 <= a < n and 2a <= 3b < 4n and exists q : b = 2q + a }",
        "[n] -> { [i] : 0 <= i < n AND i mod 3 = floor(n/4) or i = max(n, 7) }",
        "[q] -> { [min_i] : 0 <= min_i < q AND min_i mod 3 = floor(q/4) or min_i = max(q, 7) }",
        "[n] -> { : n >= 1 }", "[k] -> { : k >= 1 }", "[n] -> { S[i] : 0 <= i < n }",
        "[n] -> { T[k] : 0 <= k < n }", "{ [i, 3] : 0 <= i < 4 }", "{ [k, 3] : 0 <= k < 4 }",
        "[n] -> { [i'] : 0 <= i' < n }"}) {
    CAPTURE(text);
    for (int again = 0; again < 2; ++again) {
      const Set read = read_set(text), expected = by_isl(text);
      CHECK(yes(isl_set_plain_is_equal(read.get(), expected.get())));
      CHECK(str(read) == str(expected));
    }
  }
  CHECK_THROWS_AS(read_set("[n] -> { [i] : 0 <= j < n }"), IslError);
}
