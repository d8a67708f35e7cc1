#include <doctest/doctest.h>

#include "core/expr/parse_expr.h"
#include "core/model/domain.h"

using namespace moonloop;

namespace {

const std::vector<std::string> kDims{"i", "j"};

Expr e(const std::string& text) { return parse_expression(text); }

std::string round_trip(const std::string& text) {
  const auto a = to_affine(e(text), kDims);
  return a ? to_string(from_affine(*a)) : "none";
}

/// The value of the affine form at one point.
std::int64_t at(const std::string& text, std::int64_t i, std::int64_t j, std::int64_t n) {
  PwAff a = to_affine(e(text), kDims).value();
  if (const int p = isl_pw_aff_find_dim_by_name(a.get(), isl_dim_param, "n"); p >= 0) {
    Set only = isl_set_universe(isl_space_params(isl_pw_aff_get_domain_space(a.get())));
    only =
        isl_set_fix_si(only.take(), isl_dim_param, static_cast<unsigned>(p), static_cast<int>(n));
    a = isl_pw_aff_intersect_params(a.take(), only.take());
  }
  Set point = isl_pw_aff_domain(a.copy());
  point = isl_set_fix_si(point.take(), isl_dim_set, 0, static_cast<int>(i));
  point = isl_set_fix_si(point.take(), isl_dim_set, 1, static_cast<int>(j));
  a = isl_pw_aff_intersect_domain(a.take(), point.take());
  const Val low = isl_pw_aff_min_val(a.copy()), high = isl_pw_aff_max_val(a.copy());
  CHECK(to_int(low) == to_int(high));
  return to_int(low);
}

bool same_set(const Set& a, const std::string& text) {
  return yes(isl_set_is_equal(a.get(), parse_set(text).get()));
}
bool same_condition(const std::string& text, const std::string& set) {
  const auto s = to_condition(e(text), kDims);
  REQUIRE(s);
  return same_set(*s, set);
}

}  // namespace

TEST_CASE("to_affine and back: readable expressions") {
  CHECK(round_trip("i + 1") == "i + 1");
  CHECK(round_trip("0 + 1*i") == "i");
  CHECK(round_trip("16*i + j") == "16*i + j");
  CHECK(round_trip("(i*2 + j)*8 - 3*i") == "13*i + 8*j");
  CHECK(round_trip("n - i - 1") == "n - i - 1");
  CHECK(round_trip("n // 16") == "n // 16");
  CHECK(round_trip("-i") == "-i");
  CHECK(round_trip("0*i") == "0");
  CHECK(round_trip("7") == "7");
  CHECK(round_trip("i % 16") == "i % 16");
  CHECK(round_trip("16*(n // 16)") == "16*(n // 16)");
  CHECK(round_trip("(i + 3*j) % 4 + j") == "j + (i - j) % 4");
  CHECK(round_trip("i // 4 + 2*(i % 4)") == "2*i - 7*(i // 4)");
  CHECK(round_trip("(i // 4) // 8") == "i // 32");
  CHECK(round_trip("i << 3") == "8*i");
  CHECK(round_trip("i >> 2") == "i // 4");
  CHECK(round_trip("cast(int64, i) + 1") == "i + 1");
}

TEST_CASE("to_affine and back: min, max, cases") {
  CHECK(round_trip("min(i, n)") == "min(i, n)");
  CHECK(round_trip("max(i + 1, n, j)") == "max(max(i + 1, j), n)");
  CHECK(round_trip("i if i < n else n") == "min(i, n)");
  for (const std::string text : {"i + 5 if i < 3 else j", "i if i % 2 == 0 else -i", "abs(i - j)",
                                 "3*(i > j) + 1", "min(i, j) + max(i, 2*j) // 3", "(i - 7) % -3",
                                 "i // -2", "j if i > 3 and j > 2 or i < 0 else n"}) {
    CAPTURE(text);
    const std::string back = round_trip(text);
    CAPTURE(back);
    const Expr parsed = e(back);  // it is kernel text
    for (std::int64_t i = -5; i < 6; i += 2)
      for (std::int64_t j = -4; j < 6; j += 3)
        CHECK(at(text, i, j, 2) == at(to_string(parsed), i, j, 2));
  }
  CHECK(at("(i - 7) % -3", 0, 0, 0) == -1);
  CHECK(at("i // -2", 5, 0, 0) == -3);
  CHECK(at("abs(i - j)", 1, 4, 0) == 3);
  CHECK(at("2 if not i == 3 else 4", 3, 0, 0) == 4);
}

// Where the pieces of chunk_iname begin.
TEST_CASE("to_affine: the least of a constant and a remainder has no cases") {
  for (const int d : {1, 2, 3, 5, 8})
    for (int c = -1; c <= d; ++c) {
      const Expr least =
          call("min", {lit(c), Expr(Binary{BinaryOp::Mod, index_sub(var("n"), lit(3)), lit(d)})});
      CAPTURE(to_string(least));
      const PwAff a = to_affine(least, {"n"}).value();
      // Each further quotient makes later queries harder than a case does.
      CHECK((count(isl_pw_aff_n_piece(a.get())) == 1 || (d == 8 && c > 2 && c < 5)));
      for (int n = -9; n < 20; ++n) {
        const Set at = parse_set(fmt::format("{{[n]: n = {}}}", n));
        const Set value = isl_set_apply(at.copy(), isl_map_from_pw_aff(a.copy()));
        const int expected = std::min(c, (n - 3 + 10 * d) % d);
        CHECK(yes(isl_set_is_equal(value.get(),
                                   parse_set(fmt::format("{{[x]: x = {}}}", expected)).get())));
      }
    }
}

TEST_CASE("to_affine: what is not quasi-affine") {
  for (const char* text :
       {"i*j", "n*i", "a[i]", "i / 2", "1.5", "i // n", "i % j", "sqrt(i)", "i**2", "i // 0",
        "cast(int8, i)", "cast(float64, i)", "sum(k, k)", "i + a[j]", "min(i, a[j])", "i & 3"}) {
    CAPTURE(text);
    CHECK_FALSE(to_affine(e(text), kDims));
  }
  CHECK(to_affine(e("9223372036854775807*i"), kDims));
}

TEST_CASE("to_condition") {
  CHECK(same_condition("i < n", "[n] -> {[i, j] : i < n}"));
  CHECK(same_condition("0 <= i and i < n", "[n] -> {[i, j] : 0 <= i < n}"));
  CHECK(same_condition("not (i < n or j == 2)", "[n] -> {[i, j] : i >= n and j != 2}"));
  CHECK(same_condition("i != j", "{[i, j] : i != j}"));
  CHECK(same_condition("i % 2 == 1", "{[i, j] : exists e : i = 2e + 1}"));
  CHECK(same_condition("i - j", "{[i, j] : i != j}"));
  CHECK(same_condition("min(i, j) >= 0", "{[i, j] : i >= 0 and j >= 0}"));
  CHECK(
      same_condition("(i > 0) == (j > 0)", "{[i, j] : (i > 0 and j > 0) or (i <= 0 and j <= 0)}"));
  CHECK(same_condition("(j > 0) if i > 0 else (j < 0)",
                       "{[i, j] : (i > 0 and j > 0) or (i <= 0 and j < 0)}"));
  CHECK_FALSE(to_condition(e("a[i] > 0"), kDims));
  CHECK_FALSE(to_condition(e("i > 0 and x > 1.5"), kDims));
}

TEST_CASE("to_map") {
  const auto linear = to_map({e("i + n"), e("2*j")}, kDims);
  REQUIRE(linear);
  CHECK(str(*linear) == "[n] -> { [i, j] -> [n + i, 2j] }");
  const auto pieces = to_map({e("max(i, 0)"), e("j // 2")}, kDims);
  REQUIRE(pieces);
  const Map expected = isl_map_read_from_str(
      isl(), "{ [i, j] -> [a, b] : b = floor(j/2) and a >= i and a >= 0 and (a = i or a = 0) }");
  CHECK(yes(isl_map_is_equal(pieces->get(), expected.get())));
  CHECK_FALSE(to_map({e("i"), e("a[j]")}, kDims));
  CHECK(str(*to_map({}, kDims)) == "{ [i, j] -> [] }");
}

TEST_CASE("from_set: conditions that a reader knows") {
  const auto text = [](const std::string& s) { return to_string(from_set(parse_set(s))); };
  CHECK(text("[n] -> {[i] : i < n}") == "i < n");
  CHECK(text("[n] -> {[i] : i >= n}") == "i >= n");
  CHECK(text("[n] -> {[i] : i > n}") == "i > n");
  CHECK(text("{[i] : i >= 3}") == "i >= 3");
  CHECK(text("{[i] : i <= 5}") == "i <= 5");
  CHECK(text("[n] -> {[i] : 4i + 3 <= n}") == "4*i <= n - 3");
  CHECK(text("{[i] : i mod 4 = 0}") == "i % 4 == 0");
  CHECK(text("[n] -> {[i, j] : j = i + n}") == "j == i + n");
  CHECK(text("{[i] : }") == "True");
  CHECK(text("{[i] : false}") == "False");
  CHECK(to_string(from_set(parse_assumption("n mod 16 = 0"))) == "n % 16 == 0");
  for (const std::string s :
       {"{[i, j] : 0 <= i < 10 and i <= j or j > 20}", "{[i, j] : exists e : i = 3e + 1 and j > e}",
        "[n] -> {[i, j] : exists e : 2e <= i <= 3e and n = j + e}", "{[i, j] : i mod 3 = 1}"}) {
    const Expr c = from_set(parse_set(s));
    CAPTURE(to_string(c));
    const auto back = to_condition(c, kDims);
    REQUIRE(back);
    CHECK(same_set(*back, s));
  }
}
