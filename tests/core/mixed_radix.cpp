#include "core/model/mixed_radix.h"

#include <doctest/doctest.h>

#include "core/expr/parse_expr.h"
#include "core/model/domain.h"
#include "tests/one_kernel.h"

using namespace moonloop;  // NOLINT

namespace {

/// The inames of `value`, outer to inner, as pieces and digits over the points of `domain`.
std::string pieces(const std::string& domain, const std::string& value) {
  const Kernel k = parsed(
      "kernel f(n: int32, c: float64[4*n + 99])\n"
      "domain {[o, i, j]: " +
      domain + "}\nc[" + value + "] = 1.0\n");
  const auto range = [&](const std::string& i) { return plain_range(k, i); };
  const auto found = piece_digits(k, k.instructions.at(0)->lhs.at(0).as<Load>()->index.at(0),
                                  domain_of(k, {"o", "i", "j"}), range);
  std::string out;
  if (found)
    for (const std::string& name : *found) out += name;
  return found ? out : "none";
}

const std::string box = "0 <= o < 3 and 0 <= i < n and 0 <= j < 4";

}  // namespace

TEST_CASE("pieces: each ends before the next begins") {
  CHECK(pieces(box, "(0 if o == 0 else n if o == 1 else 2*n) + i") == "oi");
  CHECK(pieces(box, "(0 if o == 0 else n + 1 if o == 1 else 2*n + 7) + i") == "oi");
  CHECK(pieces(box, "(0 if o == 0 else 4*n if o == 1 else 8*n) + 4*i + j") == "oij");
  CHECK(pieces("o = 0 and 0 <= i < n and 0 <= j < 4", "(0 if o == 0 else n) + i") == "oi");
  CHECK(
      pieces("0 <= o < 3 and 0 <= i and 3*i + o < n and 0 <= j < 4",
             "(0 if o == 0 else n // 3 + min(1, n % 3) if o == 1 else 2*(n // 3) + min(2, n % 3)) "
             "+ i") == "oi");
}

TEST_CASE("not pieces: they overlap, are out of order, or begin where an iname says") {
  CHECK(pieces(box, "(0 if o == 0 else n - 1 if o == 1 else 2*n) + i") == "none");
  CHECK(pieces(box, "(2*n if o == 0 else n if o == 1 else 0) + i") == "none");
  CHECK(pieces(box, "(0 if o == 0 else n if o == 1 else 2*n) + i - 1") == "none");
  CHECK(pieces(box, "(0 if o == 0 else n if o == 2 else 2*n) + i") == "none");
  CHECK(pieces(box, "(0 if o == 1 else n) + i") == "none");
  CHECK(pieces(box, "(0 if o == 0 else n) + i") == "none");
  CHECK(pieces(box, "(j if o == 0 else n + j if o == 1 else 2*n + j) + i") == "none");
  CHECK(pieces(box, "(0 if o == 0 else 3*n if o == 1 else 6*n) + 3*i + j") == "none");
  // An empty piece between two does not let them overlap.
  CHECK(pieces("0 <= o < 3 and o != 1 and 0 <= i < n and 0 <= j < 4",
               "(0 if o == 0 else n if o == 1 else n - 1) + i") == "none");
}

TEST_CASE("plain ranges: bounds are passed on from one iname to the next") {
  const auto range = [](const std::string& domain, const std::string& iname) {
    const Kernel k = parsed("kernel f(n: int32, c: float64[n])\ndomain {[o, i, j]: " + domain +
                            "}\nc[0] = o + i + j\n");
    return plain_range(k, iname).value_or(-1);
  };
  const std::string digits = "0 <= j < 8 and 0 <= 8*i + j < 16 and 0 <= 16*o + 8*i + j < n";
  CHECK(range(digits, "j") == 7);
  CHECK(range(digits, "i") == 1);
  CHECK(range(digits, "o") == -1);
  CHECK(range("0 <= j < 8 and 0 <= 8*i + j < 17 and o = i", "o") == 2);
  CHECK(range("0 <= j < 8 and 0 <= 7*i + j < 14 and o = i", "o") == 2);
  CHECK(range("-3 <= -2*j <= 8 and i = 1 - j and o = 0", "i") == 5);
  // Of cases: from the least to the largest.
  CHECK(range("(0 <= j < 8 or 20 <= j < 22) and i = 0 and o = 0", "j") == 21);
  CHECK(range("(0 <= j < 8 or j = n) and i = 0 and o = 0", "j") == -1);
  // No end of either.
  CHECK(range("i = 0 and o >= 0 and o <= j and j <= o + 3 and o < n", "j") == -1);
}
