#include "core/model/joined_loops.h"

#include "core/expr/parse_expr.h"
#include "core/model/domain.h"
#include "core/model/mixed_radix.h"
#include "core/sets/budget.h"
#include "tests/core/semantics_kit.h"

using namespace kit;

namespace {

/// Where piece `outer` of `pieces` begins, of a loop with `n` iterations.
std::string start(int pieces, const std::string& outer, const std::string& n) {
  std::string out = "(0";
  for (int c = 1; c < pieces; ++c)
    out += fmt::format(" if {0} == {1} else {2}*({3} // {4}) + min({2}, {3} % {4})", outer, c - 1,
                       c, n, pieces);
  return out + ")";
}

/// Whether the values of the expressions are the same ones before and after.
bool same_values(const Kernel& k, const std::vector<std::string>& inames, const Exprs& exprs,
                 const Joined& joined) {
  const auto values = [](const Set& instances, const Exprs& e, const std::vector<std::string>& by) {
    return Set(isl_set_apply(instances.copy(), to_map(e, by)->take()));
  };
  const Set before = values(domain_of(k, inames), exprs, inames);
  const Set after = values(joined.instances, joined.exprs, joined.inames);
  bool same = true;
  for (int n = 5; n < 40; ++n) {
    const auto at = [n](const Set& s) {
      const int p = isl_set_find_dim_by_name(s.get(), isl_dim_param, "n");
      return p < 0 ? s : Set(isl_set_fix_si(s.copy(), isl_dim_param, unsigned(p), n));
    };
    same = same && yes(isl_set_is_equal(at(before).get(), at(after).get()));
  }
  return same;
}

Expr expr(const std::string& text) { return parse_expression(text); }

}  // namespace

TEST_CASE("joined loops: pieces of a loop are one loop where only their sum is named") {
  const Kernel k = parsed(
      "kernel f(n: int32, a: float64[n])\n"
      "domain {[o, i, j]: 0 <= o <= 4 and i >= 0 and 5*i + o < n and 0 <= j < n}\n"
      "a[j] = 0\n");
  const std::string begin = start(5, "o", "n");
  const std::vector<std::string> inames{"o", "i", "j"};
  const Exprs exprs{expr(begin + " + i + 2*j"), expr("3*j - 2*" + begin + " - 2*i"),
                    expr("(" + begin + " + i) // 3")};
  LoopJoiner joiner(k);
  const auto joined = joiner.join(inames, exprs);
  REQUIRE(joined);
  CHECK(joined->inames == std::vector<std::string>{"i'", "j"});
  CHECK(to_string(joined->exprs[1]) == "3*j - 2*i'");
  CHECK(isl_set_n_basic_set(joined->instances.get()) == 1);
  CHECK(same_values(k, inames, exprs, *joined));

  // A piece that is named besides its sum stays; the sum is one iname nevertheless.
  const Exprs with_piece{expr(begin + " + i"), expr("o + j")};
  const auto kept = joiner.join(inames, with_piece);
  REQUIRE(kept);
  CHECK(kept->inames == std::vector<std::string>{"o", "i'", "j"});
  CHECK(to_string(kept->exprs[0]) == "i'");
  CHECK(same_values(k, inames, with_piece, *kept));

  CHECK_FALSE(joiner.join(inames, {expr(begin + " + i"), expr("i + j")}));
  CHECK_FALSE(joiner.join(inames, {expr(begin + " + 2*i")}));
  CHECK_FALSE(joiner.join(inames, {expr("o + i")}));
}

TEST_CASE("joined loops: pieces of pieces, first values and strides") {
  const Kernel k = parsed(
      "kernel f(n: int32, a: float64[n])\n"
      "domain {[o, p, i]: 0 <= o <= 3 and 0 <= p <= 2 and i >= 0 and 3*i + p < floor((n + 3)/4) "
      "and ((p = 0 and 4*i + o < n) or (p = 1 and 4*floor((n + 11)/12) + 4*i + o < n) or "
      "(p = 2 and 4*floor((n + 11)/12) + 4*floor((n + 7)/12) + 4*i + o < n))}\n"
      "a[0] = 0\n");
  const std::vector<std::string> inames{"o", "p", "i"};
  const std::string begin = start(4, "o", "n") + " + " + start(3, "p", "((n + 3) // 4)");
  const Exprs exprs{expr("n + 1 - 3*(" + begin + " + i)")};
  const auto joined = LoopJoiner(k).join(inames, exprs);
  REQUIRE(joined);
  CHECK(joined->inames == std::vector<std::string>{"i''"});
  CHECK(isl_set_n_basic_set(joined->instances.get()) == 1);
  CHECK(same_values(k, inames, exprs, *joined));

  // From 2 on, every third one, as chunk_iname writes it.
  const std::string third =
      "(2 if p == 0 else 3*(n // 3) + 3*min(1, n % 3) + 2 if p == 1 else "
      "6*(n // 3) + 3*min(2, n % 3) + 2)";
  const Exprs strided{expr(third + " + 3*i")};
  const auto odd = LoopJoiner(k).join(inames, strided);
  REQUIRE(odd);
  CHECK(to_string(odd->exprs[0]) == "3*i' + 2");
  CHECK(same_values(k, inames, strided, *odd));
}

TEST_CASE("joined loops: pieces with gaps between them stay apart") {
  for (const char* bound :
       {"5*i + o + 1 < n", "5*i + o < n + 5", "5*i + o < n and 3*o + i <= 12"}) {
    CAPTURE(bound);
    const Kernel k =
        parsed(fmt::format("kernel f(n: int32, a: float64[n])\n"
                           "domain {{[o, i]: 0 <= o <= 4 and i >= 0 and {}}}\na[0] = 0\n",
                           bound));
    const std::vector<std::string> inames{"o", "i"};
    const Exprs exprs{expr(start(5, "o", "n") + " + i")};
    const auto joined = LoopJoiner(k).join(inames, exprs);
    REQUIRE(joined);
    CHECK(same_values(k, inames, exprs, *joined));
  }
}

TEST_CASE("joined loops: pieces of pieces number what they were made of in its order") {
  const auto domain = [](const char* more) {
    return parsed(fmt::format(
        "kernel f(n: int32, a: float64[n])\n"
        "domain {{[o, p, i]: 0 <= o <= 3 and 0 <= p <= 2 and i >= 0 and 3*i + p < floor((n + 3)/4) "
        "and ((p = 0 and 4*i + o < n) or (p = 1 and 4*floor((n + 11)/12) + 4*i + o < n) or "
        "(p = 2 and 4*floor((n + 11)/12) + 4*floor((n + 7)/12) + 4*i + o < n)) and {}}}\n"
        "a[0] = 0\n",
        more));
  };
  const std::string inner = start(3, "p", "((n + 3) // 4)") + " + i";
  const Expr value = expr("2*" + start(4, "o", "n") + " + 2*(" + inner + ") + 1");
  const Kernel k = domain("n >= 0");
  const auto numbers = LoopJoiner(k).numbers(value);
  REQUIRE(numbers);
  CHECK(to_string(numbers->value) == "2*i'' + 1");
  CHECK(numbers->inames.at("i''") == std::vector<std::string>{"o", "p", "i"});
  const auto range = [](const std::string&) { return std::nullopt; };
  CHECK(piece_digits(k, value, domain_of(k, {"o", "p", "i"}), range) ==
        std::vector<std::string>{"o", "p", "i"});

  // Pieces that begin before others end, and sums in another order.
  const Expr short_steps = expr(start(4, "o", "(n - 2)") + " + " + inner);
  CHECK_FALSE(piece_digits(k, short_steps, domain_of(k, {"o", "p", "i"}), range));
  CHECK_FALSE(LoopJoiner(k).numbers(expr("1 - " + start(4, "o", "n") + " + i")));
}

TEST_CASE("bounds: a choice of subscripts by the value of chunked loops is judged in one loop") {
  const std::string v = start(5, "o", "n") + " + i";
  const auto text = [&](int most) {
    return fmt::format(
        "kernel f(n: int32, a: float64[n + 4], c: float64[n + 4])\n"
        "domain {{[o, i]: 0 <= o <= 4 and i >= 0 and 5*i + o < n}}\ndomain {{[k]: 0 <= k < n}}\n"
        "assume n >= 5\n"
        "a[{0}] = c[{0} + {1} if {0} + 1 < k else k + 2 if {0} == k else k - ({0}) if {0} + 4 < k "
        "else n - ({0}) + 2] {{id=S}}\n",
        v, most);
  };
  {
    const IslBudget budget(40'000);
    CHECK(completing(text(3)) == "ok");
  }
  CHECK(completing(text(7)).find("[out-of-bounds]") != std::string::npos);
}

// Differential test, seed 4019244: the text of a kernel in pieces of pieces of pieces could not be
// checked.
TEST_CASE("bounds: choices of subscripts in pieces of pieces of pieces are judged in one loop") {
  const std::string third = start(2, "r", "((n + 11) // 12)"),
                    second = start(4, "p", "((n + 2) // 3)");
  const std::string v = start(3, "o", "n") + " + " + second + " + " + third + " + i";
  const std::string text = fmt::format(
      "kernel f(n: int32, a: float64[n + 4], c: float64[n + 4])\n"
      "domain {{[o, p, r, i]: 0 <= o <= 2 and 0 <= p <= 3 and 0 <= r <= 1 and i >= 0 and "
      "2*i + r < floor((n + 11)/12) and exists (y, x: ((r = 0 and y = i) or "
      "(r = 1 and y = i + floor((n + 23)/24))) and 4*y + p < floor((n + 2)/3) and "
      "((p = 0 and x = y) or (p = 1 and x = y + floor((n + 11)/12)) or "
      "(p = 2 and x = y + floor((n + 11)/12) + floor((n + 8)/12)) or "
      "(p = 3 and x = y + floor((n + 11)/12) + floor((n + 8)/12) + floor((n + 5)/12))) and "
      "3*x + o < n)}}\n"
      "domain {{[k]: 0 <= k < n}}\nassume n >= 5\n"
      "a[{0}] = c[{0} + 3 if {0} + 1 < k else k + 2 if {0} == k else n - ({0}) + 2] {{id=S}}\n",
      v);
  const IslBudget budget(1'000'000);
  CHECK(completing(text) == "ok");
}
