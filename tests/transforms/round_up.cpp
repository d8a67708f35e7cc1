#include "transforms/round_up.h"

#include <cmath>
#include <limits>

#include "loop_kit.h"
#include "same_values.h"

using namespace moonloop;

namespace {

using Multiples = std::map<std::string, std::int64_t>;

std::string code_of(const Kernel& k, const Multiples& multiples) {
  try {
    round_up(k, multiples);
  } catch (const Error& e) { return e.diagnostic().code; }
  return "";
}
/// The rules and statements of a kernel as text, without its first lines.
std::string rounded_text(const Kernel& k) {
  std::string out;
  for (const Rule& r : k.rules)
    out += fmt::format("{}({}) := {}\n", r.name, fmt::join(r.params, ", "), to_string(r.body));
  for (const InsnPtr& i : k.instructions)
    out += fmt::format("{} = {}{}\n", to_string(i->lhs), to_string(i->rhs),
                       i->predicates.empty() ? "" : " if " + to_string(conjunction(i->predicates)));
  return out;
}
void check_same(const Kernel& k, const Multiples& multiples) {
  const Kernel out = round_up(k, multiples);
  for (const int n : {0, 1, 3, 4, 7, 8, 13}) {
    CAPTURE(n);
    CHECK(same_values(k, out, {{"n", n}, {"m", 5}}));
  }
}

Kernel matrix_product(const std::string& type = "float32") {
  return parsed(
      fmt::format("kernel f(n: int32, a: {0}[n, n], b: {0}[n, n], c: {0}[n, n])\n"
                  "domain {{[i, j, k]: 0 <= i, j, k < n}}\n"
                  "c[i, j] = c[i, j] + sum(k, a[i, k]*b[k, j])\n",
                  type));
}

}  // namespace

TEST_CASE("round_up: a product's arrays are read under guards, and its sum has none") {
  const Kernel k = matrix_product();
  const Kernel out = round_up(k, {{"i", 4}, {"j", 8}, {"k", 2}});
  CHECK(rounded_text(out) ==
        "a_read(i, k) := a[i, k] if i < n and k < n else 0\n"
        "b_read(k, j) := b[k, j] if k < n and j < n else 0\n"
        "c_sum = sum(k, a_read(i, k)*b_read(k, j))\n"
        "c[i, j] = c[i, j] + c_sum if i < n and j < n\n");
  check_same(k, {{"i", 4}, {"j", 8}, {"k", 2}});
  check_same(matrix_product("int16"), {{"i", 4}, {"k", 3}});
  // Blocks without guards: the loops within them are whole.
  Kernel tiles = apply(out, "split_iname", {text("i"), number(4)});
  tiles = apply(tiles, "split_iname", {text("k"), number(2)});
  const Set block = domain_of(tiles, {"i_inner", "k_inner"});
  const Set whole = parse_set("{ [i_inner, k_inner] : 0 <= i_inner < 4 and 0 <= k_inner < 2 }");
  const Set within = isl_set_intersect(block.copy(), whole.copy());
  CHECK(yes(isl_set_is_equal(block.get(), within.get())));
  CHECK(same_values(k, tiles, {{"n", 9}}));
}

TEST_CASE("round_up: sums that are added first have one temporary") {
  const Kernel k = parsed(
      "kernel f(n: int32, m: int32, a: float64[n, n], x: float64[n], y: float64[n])\n"
      "domain {[i]: 0 <= i < n}\ndomain {[k]: 0 <= k < i}\ndomain {[l, p]: 0 <= l, p < n}\n"
      "y[i] = 2*(sum(k, a[i, k]) + sum(l, x[l]) + x[i]) + sum(p, a[p, i])\n");
  CHECK(rounded_text(round_up(k, {{"i", 4}})) ==
        "a_read(i, k) := a[i, k] if i < n else 0\n"
        "a_read_0(p, i) := a[p, i] if i < n else 0\n"
        "y_sum = sum(k, a_read(i, k)) + sum(l, x[l])\n"
        "y_sum_0 = sum(p, a_read_0(p, i))\n"
        "y[i] = 2*(y_sum + x[i]) + y_sum_0 if i < n\n");
  check_same(k, {{"i", 4}});
  check_same(k, {{"i", 4}, {"k", 2}, {"l", 3}});
}

TEST_CASE("round_up: only a loop of the sum, only loops around it") {
  const Kernel inner = round_up(matrix_product(), {{"k", 4}});
  CHECK(rounded_text(inner) ==
        "a_read(i, k) := a[i, k] if k < n else 0\n"
        "b_read(k, j) := b[k, j] if k < n else 0\n"
        "c[i, j] = c[i, j] + sum(k, a_read(i, k)*b_read(k, j))\n");
  check_same(matrix_product(), {{"k", 4}});
  const Kernel outer = round_up(matrix_product(), {{"i", 4}});
  CHECK(rounded_text(outer) ==
        "a_read(i, k) := a[i, k] if i < n else 0\n"
        "c_sum = sum(k, a_read(i, k)*b[k, j])\n"
        "c[i, j] = c[i, j] + c_sum if i < n\n");
  check_same(matrix_product(), {{"i", 4}});
}

TEST_CASE("round_up: a term with another factor, which may be infinite, is under a condition") {
  const Kernel k = parsed(
      "kernel f(n: int32, s: float64, a: float64[n, n], x: float64[n], y: float64[n])\n"
      "domain {[i, k]: 0 <= i, k < n}\n"
      "y[i] = sum(k, a[i, k]*x[k]*s)\n");
  const Kernel out = round_up(k, {{"k", 4}});
  CHECK(rounded_text(out) ==
        "a_read(i, k) := a[i, k] if k < n else 0\n"
        "x_read(k) := x[k] if k < n else 0\n"
        "y[i] = sum(k, a_read(i, k)*x_read(k)*s if k < n else 0)\n");
  check_same(k, {{"i", 4}, {"k", 4}});
  // A factor that does not depend on the loop of the sum either.
  const Kernel row = parsed(
      "kernel f(n: int32, a: float64[n, n], x: float64[n], y: float64[n])\n"
      "domain {[i, k]: 0 <= i, k < n}\ny[i] = sum(k, x[i]*a[k, i])\n");
  CHECK(rounded_text(round_up(row, {{"k", 4}})) ==
        "a_read(k, i) := a[k, i] if k < n else 0\n"
        "y[i] = sum(k, x[i]*a_read(k, i) if k < n else 0)\n");
  check_same(row, {{"k", 4}, {"i", 3}});
}

TEST_CASE("round_up: what depends on the same loops is read at once") {
  const Kernel k = parsed(
      "kernel f(n: int32, s: float64, a: float64[n, n], mean: float64[n], c: float64[n, n])\n"
      "domain {[i, j, k]: 0 <= i <= j and j < n and 0 <= k < n}\n"
      "c[i, j] = sum(k, (a[k, i] - mean[i])*s*(a[k, j] - mean[j]))\n");
  const Kernel out = round_up(k, {{"i", 4}, {"j", 4}, {"k", 4}});
  CHECK(rounded_text(out) ==
        "a_read(k, i) := (a[k, i] - mean[i])*s if k < n and i < n else 0\n"
        "a_read_0(k, j) := a[k, j] - mean[j] if k < n and j < n else 0\n"
        "c_sum = sum(k, a_read(k, i)*a_read_0(k, j))\n"
        "c[i, j] = c_sum if j >= i and j < n\n");
  check_same(k, {{"i", 4}, {"j", 4}, {"k", 4}});
  check_same(k, {{"i", 3}, {"j", 5}});
}

TEST_CASE("round_up: other reductions, strides, conditions, statements without a reduction") {
  for (const char* op : {"min", "max", "product", "sum"}) {
    CAPTURE(op);
    check_same(
        parsed(fmt::format("kernel f(n: int32, a: float64[2*n, n], y: float64[2*n])\n"
                           "domain {{[i]: 1 <= i < 2*n and i mod 2 = 1}}\n"
                           "domain {{[k]: i <= 2*k < 2*n}}\n"
                           "y[i] = 2*{}(k, a[i, k]) {{id=s, if=i != 3}}\ny[i - 1] = i {{id=t}}\n",
                           op)),
        {{"i", 4}, {"k", 3}});
  }
  check_same(parsed("kernel f(n: int32, a: bool[n], y: bool[n])\n"
                    "domain {[i, k, l]: 0 <= k, l <= i and i < n}\n"
                    "y[i] = any(k, a[k]) and not all(l, a[l])\n"),
             {{"i", 4}, {"k", 4}});
  // A reduction that is needed under a condition only, and two in one statement.
  check_same(parsed("kernel f(n: int32, m: int32, a: int32[n, m], y: int32[n])\n"
                    "domain {[i, k, q, l]: 0 <= i < n and 0 <= k, q < m and q <= l < m}\n"
                    "y[i] = sum(k, a[i, k]) if a[i, 0] > 1 else sum(q, sum(l, a[i, l])*2)\n"),
             {{"i", 4}, {"k", 2}, {"l", 2}});
}

TEST_CASE("round_up: terms that may not be evaluated elsewhere stay under one condition") {
  const Kernel divided = parsed(
      "kernel f(n: int32, a: int32[n], b: int32[n], y: int32[n])\n"
      "domain {[i, k]: 0 <= i, k < n}\ny[i] = sum(k, a[k] // (b[k] + 1))\n");
  CHECK(rounded_text(round_up(divided, {{"k", 4}})) ==
        "y[i] = sum(k, a[k] // (b[k] + 1) if k < n else 0)\n");
  check_same(divided, {{"k", 4}, {"i", 3}});
  // What the kernel itself writes: only the loops' own iterations read it.
  const Kernel own = parsed(
      "kernel f(n: int32, a: float64[n, n], x: float64[n])\n"
      "domain {[i]: 0 <= i < n}\ndomain {[k]: 0 <= k < i}\n"
      "x[i] = x[i] - sum(k, a[i, k]*x[k])\n");
  check_same(own, {{"i", 4}, {"k", 4}});
}

TEST_CASE("round_up: a scalar that is computed in the loop, and a loop that carries") {
  check_same(parsed("kernel f(n: int32, a: float64[n], x: float64[n])\n"
                    "temp t: float64\n"
                    "domain {[i]: 1 <= i < n}\ndomain {[k]: 0 <= k < n}\n"
                    "for i\nt = 2*x[i - 1] {id=one}\nx[i] = t + sum(k, a[k]*t) {id=two}\nend\n"),
             {{"i", 4}, {"k", 4}});
}

TEST_CASE("round_up: what is refused") {
  CHECK(code_of(matrix_product(), {{"u", 4}}) == "unknown-iname");
  CHECK(code_of(matrix_product(), {{"i", 0}}) == "bad-multiple");
  Kernel tagged = matrix_product();
  tagged.iname_tags["j"] = *parse_iname_tag("g.0");
  CHECK(code_of(tagged, {{"j", 4}}) == "tagged-iname");
  CHECK(code_of(parsed("kernel f(n: int32, a: float64[n], p: int32[n])\n"
                       "domain {[i, k]: 0 <= i, k < n}\n"
                       "temp v: float64\nv, p[i] = argmin(k, a[k], k)\n"),
                {{"k", 4}}) == "unsupported");
  CHECK(code_of(parsed("kernel f(n: int32, a: float64[n])\ndomain {[i]: 0 <= i < n}\n"
                       "for i\na[i] = 1 {id=p}\n... lbarrier\nend\n"),
                {{"i", 4}}) == "unsupported");
}

TEST_CASE("round_up: what other loops write is read by parts") {
  const Kernel k = parsed(
      "kernel f(n: int32, a: float64[n, n], t: float64[n, n], c: float64[n, n])\n"
      "domain {[i, j, k]: 0 <= i, j, k < n}\ndomain {[p, q, r]: 0 <= p, q, r < n}\n"
      "t[i, j] = sum(k, a[i, k]*a[k, j])\nc[p, q] = c[p, q] + sum(r, t[p, r]*a[r, q])\n");
  const Kernel out = round_up(k, {{"p", 4}, {"q", 4}, {"r", 4}});
  CHECK(rounded_text(out) ==
        "t_read(p, r) := t[p, r] if p < n and r < n else 0\n"
        "a_read(r, q) := a[r, q] if r < n and q < n else 0\n"
        "t[i, j] = sum(k, a[i, k]*a[k, j])\n"
        "c_sum = sum(r, t_read(p, r)*a_read(r, q))\n"
        "c[p, q] = c[p, q] + c_sum if p < n and q < n\n");
  check_same(k, {{"p", 4}, {"q", 4}, {"r", 4}});
}

TEST_CASE("round_up: elements that the same iteration does not write are read by parts") {
  const auto update = [](const std::string& bound) {
    return parsed(
        "kernel f(n: int32, m: int32, a: float64[n, n])\ndomain {[b]: 0 <= b and 4*b < n}\n"
        "domain [b] -> {[i, j]: 4*b <= i < n and 4*b <= j < 4*b + 4 and j <= i}\n"
        "domain [b] -> {[k]: 0 <= k < " +
        bound +
        "}\n"
        "for b\na[i, j] = a[i, j] - sum(k, a[i, k]*a[j, k]) {id=p}\nend\n");
  };
  const Kernel before = update("4*b");  // columns of blocks before
  CHECK(rounded_text(round_up(before, {{"i", 8}, {"j", 4}, {"k", 4}})) ==
        "a_read(i, k, b) := a[i, k] if i < n and 4*b <= i else 0\n"
        "a_read_0(j, k) := a[j, k] if j < n else 0\n"
        "a_sum = sum(k, a_read(i, k, b)*a_read_0(j, k))\n"
        "a[i, j] = a[i, j] - a_sum if i < n and j <= i\n");
  check_same(before, {{"i", 8}, {"j", 4}, {"k", 4}});
  check_same(before, {{"i", 3}, {"j", 5}, {"k", 3}});
}

TEST_CASE("round_up: what a statement before the rounded loops writes is read by parts") {
  const Kernel k = parsed(
      "kernel f(n: int32, a: float64[n, n])\ndomain {[b]: 0 <= b and 4*b < n}\n"
      "domain [b] -> {[p, q]: 4*b + 4 <= p < n and 4*b <= q < 4*b + 4}\n"
      "domain [b] -> {[i, j]: 4*b + 4 <= i < n and 4*b + 4 <= j < i}\n"
      "domain [b] -> {[k]: 4*b <= k < 4*b + 4}\n"
      "for b\na[p, q] = 0.5*a[p, q]\na[i, j] = a[i, j] - sum(k, a[i, k]*a[j, k]) {id=s}\nend\n");
  const Kernel out = round_up(k, {{"i", 8}, {"j", 4}, {"k", 4}});
  CHECK(out.rules.size() == 2);
  check_same(k, {{"i", 8}, {"j", 4}, {"k", 4}});
  check_same(k, {{"i", 3}, {"j", 5}, {"k", 3}});
}

TEST_CASE("round_up: a loop with computed bounds has a condition of its own") {
  const Kernel k = parsed(
      "kernel f(n: int32, c: int32[n], y: int32[n, n])\n"
      "domain {[i]: 0 <= i < n}\ndomain {[l]: 0 <= l < many and l < n}\n"
      "temp many: int32\nfor i\nmany = c[i] {id=m}\ny[i, l] = i + l {id=s}\nend\n");
  const Kernel out = round_up(k, {{"i", 4}, {"l", 4}});
  REQUIRE(out.find_insn("s")->predicates.size() == 2);
  CHECK(to_string(out.find_insn("s")->predicates[0]) == "i < n");
  for (const int n : {0, 1, 3, 4, 7}) CHECK(same_values(k, out, {{"n", n}}));
}

TEST_CASE("round_up: a loop that never runs keeps the bounds of loops in it") {
  // Found by the differential test.
  const Kernel k = parsed(
      "kernel f(n: int32, a: float64[n + 9])\n"
      "domain {[i]: n <= i and i < n}\ndomain {[k]: 0 <= k < n - i}\n"
      "a[i + k] = 1 {inames=i:k}\n");
  const Kernel out = apply(round_up(k, {{"i", 1}}), "split_iname", {text("k"), number(2)});
  CHECK(same_values(k, out, {{"n", 5}}));
}

TEST_CASE("round_up: reductions in conditions and subscripts add nothing either") {
  // In the first iteration of `i` the least of no elements is infinite.
  const Kernel asks = parsed(
      "kernel asks(n: int32, m: int32, a: float32[n + 1], p: float32[n + 1], at: int32[n + 1],\n"
      "            q: inout float32[n + 1, n + 1])\n"
      "domain {[i, j]: 0 <= i, j < n}\ndomain {[l]: 0 <= l < i}\ndomain {[k]: 0 <= k < j}\n"
      "q[i, j] = q[i, j] + 1  {if=reduce(min, l, a[j]) < p[i] + 1, id=least}\n");
  check_same(asks, {{"i", 5}, {"l", 5}});
  check_same(asks, {{"l", 3}, {"j", 2}});
  const Kernel stores = parsed(
      "kernel stores(n: int32, m: int32, at: int32[n + 1], q: inout int32[n + 1, n*n + n + 1])\n"
      "domain {[i, j]: 0 <= i, j < n}\ndomain {[l]: 0 <= l < i}\n"
      "q[i, j + sum(l, n)] = i + j  {id=put}\n");
  check_same(stores, {{"i", 5}, {"l", 4}});
}
