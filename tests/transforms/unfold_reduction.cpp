#include "transforms/unfold_reduction.h"

#include "loop_kit.h"
#include "same_values.h"

using namespace moonloop;

namespace {

Kernel unfolded(const std::string& text) { return unfold_reduction(parsed(text)); }
std::string refusal_of(const std::string& text) {
  try {
    unfolded(text);
  } catch (const Error& e) { return e.diagnostic().code; }
  return "";
}
std::string statements(const Kernel& k) {
  std::string out;
  for (const InsnPtr& i : k.instructions)
    out += fmt::format("{}: {} = {}{}\n", i->id, to_string(i->lhs), to_string(i->rhs),
                       i->predicates.empty() ? "" : " if " + to_string(conjunction(i->predicates)));
  return out;
}
void check_unfolded(const std::string& text) {
  const Kernel k = parsed(text), out = unfold_reduction(k);
  for (const int n : {0, 1, 2, 5, 8}) {
    CAPTURE(n);
    CHECK(same_values(k, out, {{"n", n}}));
  }
}

const std::string kHead =
    "kernel f(n: int32, A: float64[n, n], B: float64[n, n], x: float64[n], y: float64[n])\n";

}  // namespace

TEST_CASE("unfold_reduction: terms are added to the element, and the rest follows") {
  const std::string text = kHead +
                           "domain {[i, j, k]: 0 <= k < j < i < n}\n"
                           "A[i, j] = (A[i, j] - sum(k, A[i, k]*B[k, j]))*2 {id=s}\n";
  const Kernel out = unfolded(text);
  CHECK(statements(out) ==
        "s_update: A[i, j] = A[i, j] - A[i, k]*B[k, j]\n"
        "s: A[i, j] = A[i, j]*2\n");
  CHECK(tree(out) == "for i\n  for j\n    for k\n      s_update\n    s\n");
  check_unfolded(text);
}

TEST_CASE("unfold_reduction: an update alone, what is added to, several sums, a condition") {
  CHECK(statements(unfolded(kHead + "domain {[i, k]: 0 <= i, k < n}\n"
                                    "x[i] = x[i] + sum(k, A[i, k]*y[k]) {id=s}\n")) ==
        "s: x[i] = x[i] + A[i, k]*y[k]\n");
  CHECK(
      statements(unfolded(kHead + "domain {[i, k]: 0 <= i < n and 0 <= k < i}\n"
                                  "x[i] = (y[i] - sum(k, A[i, k]*x[k]))/2 {id=s, if=i != 3}\n")) ==
      "s_base: x[i] = y[i] if i != 3\n"
      "s_update: x[i] = x[i] - A[i, k]*x[k] if i != 3\n"
      "s: x[i] = x[i] / 2 if i != 3\n");
  for (const char* rhs : {"sum(k, A[i, k])", "x[i]*3 + sum(k, A[i, k]) - sum(l, B[l, i])",
                          "-y[i] - sum(k, sum(l, A[k, l]))", "2*(sum(k, A[i, k]) + y[i])",
                          "sum((k, l), A[k, l]*B[i, l]) + x[i]", "abs(y[i] - sum(k, y[k]))"}) {
    CAPTURE(rhs);
    check_unfolded(kHead + "domain {[i]: 0 <= i < n}\ndomain {[k, l]: 0 <= k, l <= i}\nx[i] = " +
                   rhs + " {id=s}\n");
  }
  // The loop of the sum is in use elsewhere.
  check_unfolded(kHead +
                 "domain {[i, k]: 0 <= i, k < n}\n"
                 "x[i] = x[i] + sum(k, A[i, k]) {id=s}\nB[i, k] = 2*A[i, k] {id=t}\n");
}

TEST_CASE("unfold_reduction: the least and largest of terms, and of something else") {
  const std::string loops = "domain {[i, k]: 0 <= i < n and 0 <= k < i}\n";
  // What else there is waits for the terms: it may need what needs them.
  CHECK(statements(unfolded(kHead + loops +
                            "x[i] = max(x[i], x[i - 1], max(k, A[i, k])) {id=s, if=i > 0}\n")) ==
        "s_update: x[i] = max(x[i], A[i, k]) if i > 0\n"
        "s: x[i] = max(x[i], x[i - 1]) if i > 0\n");
  CHECK(statements(unfolded(kHead + loops + "x[i] = min(min(k, A[i, k] + y[k]), x[i]) {id=s}\n")) ==
        "s: x[i] = min(x[i], A[i, k] + y[k])\n");
  CHECK(statements(unfolded(kHead + loops + "x[i] = 2*max(y[i], max(k, A[i, k]), 1.0) {id=s}\n")) ==
        "s_base: x[i] = max(y[i], 1.0)\n"
        "s_update: x[i] = max(x[i], A[i, k])\n"
        "s: x[i] = 2*x[i]\n");
  for (const char* rhs :
       {"max(y[i], max(k, A[i, k]))", "min(x[i], y[i], min(k, A[i, k]), min(l, B[l, i]))",
        "abs(max(x[i], max((k, l), A[k, l])))", "max(x[i], min(k, A[i, k]), max(l, B[i, l]))"}) {
    CAPTURE(rhs);
    const std::string text =
        kHead + "domain {[i]: 0 <= i < n}\ndomain {[k, l]: 0 <= k, l <= i}\nx[i] = " + rhs +
        " {id=s}\n";
    check_unfolded(text);
  }
  CHECK(refusal_of(kHead + loops + "x[i] = max(k, A[i, k])\n") == "no-reduction");
  CHECK(refusal_of(kHead + loops + "x[i] = max(y[i], min(k, A[i, k]))\n") == "no-reduction");
  CHECK(refusal_of(kHead + loops + "x[i] = max(x[i], max(k, x[k + 1]))\n") == "reads-assignee");
  CHECK(refusal_of(kHead + loops + "x[i] = max(x[i], sum(k, A[i, k]))\n") == "reads-assignee");
  CHECK(refusal_of(kHead + loops + "x[i] = max(x[i], x[i % 3], max(k, A[i, k]))\n") ==
        "reads-assignee");
  CHECK(refusal_of("kernel f(n: int32, a: float64[n], x: float32[n])\n" + loops +
                   "x[i] = max(x[i], max(k, a[k]))\n") == "unsupported");
}

TEST_CASE("unfold_reduction: the best ways to cut pieces, by a wave for each end of a part") {
  const Kernel k = parsed(
      "kernel pieces(n: int32, t: float64[n, n])\ndomain {[d]: 0 <= d < n}\n"
      "domain {[j]: n - d <= j < n}\ndomain {[k]: n - d <= k < j}\ni := n - 1 - d\n"
      "t[i, j] = max(t[i, j], t[i, j - 1], max(k, t[i, k] + t[k + 1, j])) {id=s}\n");
  Kernel out = apply(k, "unfold_reduction", {});
  out = apply(
      out, "skewed_tiles",
      {text("j"),
       Value{ValueDict{{"s", Value{std::string("j")}}, {"s_update", Value{std::string("k")}}}},
       number(1)},
      {{"tile_iname", text("w")}});
  out = apply(out, "distribute_loops", {text("j")});
  out = apply(out, "tag_inames", {text("j_0:par")});
  for (const int n : {1, 2, 3, 6}) CHECK(same_values(k, out, {{"n", n}}));
}

TEST_CASE("unfold_reduction: each term of terms that are sums, in loops of its own") {
  const Kernel k =
      parsed(kHead +
             "domain {[i, j, k]: 0 <= k < j < i < n}\ndomain {[l]: 0 <= l < n}\n"
             "A[i, j] = A[i, j] - sum(k, B[i, k]*x[k] + y[k]) + sum(l, x[l]) {id=s}\n");
  const Kernel out = unfold_reduction(k, {}, {.each_term = true});
  CHECK(statements(out) ==
        "s_update: A[i, j] = A[i, j] - B[i, k]*x[k]\n"
        "s_update_0: A[i, j] = A[i, j] - y[k_0]\n"
        "s: A[i, j] = A[i, j] + x[l]\n");
  for (const int n : {0, 1, 2, 5, 8}) CHECK(same_values(k, out, {{"n", n}}));
  // Rules stay where they hide no sum.
  const Kernel rules = parsed(kHead +
                              "domain {[i, k]: 0 <= i, k < n}\n"
                              "r(p) := x[p] if p > 2 else 0\n"
                              "y[i] = sum(k, r(k)*B[k, i]) {id=s}\n");
  CHECK(statements(unfold_reduction(rules)) ==
        "s_base: y[i] = 0\n"
        "s: y[i] = y[i] + r(k)*B[k, i]\n");
}

TEST_CASE("unfold_reduction: sums with factors, added to what reads the assignee") {
  const std::string loops = "domain {[i]: 0 <= i < n}\ndomain {[k, l]: 0 <= k, l < i}\n";
  CHECK(statements(unfolded(kHead + loops + "x[i] = 3*x[i] + 2*sum(k, A[i, k]) {id=s}\n")) ==
        "s_base: x[i] = 3*x[i]\n"
        "s: x[i] = x[i] + 2*A[i, k]\n");
  for (const char* rhs : {"x[i] + y[i]*sum(k, A[i, k])", "y[i]*sum(k, A[i, k]) - x[i]",
                          "y[i]*x[i] - 2*sum(k, A[i, k])*y[i] + 3*sum(l, B[i, l]) + 1",
                          "(x[i] - y[i]*sum((k, l), A[k, l]))/2"}) {
    CAPTURE(rhs);
    check_unfolded(kHead + loops + "x[i] = " + rhs + " {id=s}\n");
  }
  // Without the assignee, the sum comes first, and then the factor once.
  CHECK(statements(unfolded(kHead + loops + "x[i] = y[i] + 2*sum(k, A[i, k]) {id=s}\n")) ==
        "s_base: x[i] = 0\n"
        "s_update: x[i] = x[i] + A[i, k]\n"
        "s: x[i] = y[i] + 2*x[i]\n");
  CHECK(refusal_of(kHead + loops + "x[i] = x[i] + x[i]*sum(k, A[i, k])\n") == "reads-assignee");
  CHECK(refusal_of(kHead + loops + "x[i] = x[i] + 2*sum(k, A[i, k]*x[k + 1])\n") ==
        "reads-assignee");
  CHECK(refusal_of(kHead + loops + "x[i] = x[i] + sum(k, A[i, k])*sum(l, B[i, l])\n") ==
        "reads-assignee");
  CHECK(refusal_of(kHead + loops + "x[i] = x[i] + sum(k, A[i, k])/2\n") == "reads-assignee");
}

TEST_CASE("unfold_reduction: what would read an element between its terms is refused") {
  const std::string loops = "domain {[i, k]: 0 <= i, k < n}\n";
  CHECK(refusal_of(kHead + loops + "x[i] = x[i] + sum(k, A[i, k]*x[k])\n") == "reads-assignee");
  CHECK(refusal_of(kHead + loops + "x[i] = x[i]*(x[i] - sum(k, A[i, k]))\n") == "reads-assignee");
  CHECK(refusal_of(kHead + loops + "x[i] = x[i] - sum(k, A[i, k]) {if=x[i] > 1}\n") ==
        "reads-assignee");
  CHECK(refusal_of(kHead + loops + "x[i] = x[i] - sum(k, x[(i + k + 1) % n])\n") ==
        "reads-assignee");
  CHECK(refusal_of(kHead + loops + "x[i] = y[i]\n") == "no-reduction");
  CHECK(refusal_of(kHead + loops + "x[i] = sum(k, A[i, k]) if y[i] > 1 else 0\n") ==
        "no-reduction");
  CHECK(refusal_of(kHead + loops + "x[i] = max(k, A[i, k])\n") == "no-reduction");
  CHECK(refusal_of("kernel f(n: int32, a: float64[n], x: float32[n])\n" + loops +
                   "x[i] = sum(k, a[k])\n") == "unsupported");
  CHECK_THROWS(unfold_reduction(parsed(kHead + loops + "x[i] = sum(k, A[i, k])\n"),
                                Match::parse("id:nothing", {})));
}

TEST_CASE("unfold_reduction: the factors of a matrix by columns, two loops at once") {
  const Kernel k = parsed(
      "kernel lu(n: int32, A: float64[n, n])\ndomain {[i]: 0 <= i < n}\n"
      "domain {[j]: 0 <= j < i}\ndomain {[k]: 0 <= k < j}\ndomain {[p]: i <= p < n}\n"
      "domain {[q]: 0 <= q < i}\n"
      "A[i, j] = (A[i, j] - sum(k, A[i, k]*A[k, j]))/A[j, j] {id=s}\n"
      "A[i, p] = A[i, p] - sum(q, A[i, q]*A[q, p]) {id=t}\n");
  Kernel out = apply(k, "unfold_reduction", {});
  out = apply(out, "skewed_tiles",
              {text("i"),
               Value{ValueDict{{"s", Value{std::string("j")}},
                               {"s_update", Value{std::string("k")}},
                               {"t", Value{std::string("q")}}}},
               number(1)},
              {{"tile_iname", text("w")}});
  out = apply(out, "prioritize_loops", {text("w, i")});
  // Each element is divided before others of its row read it, which is no order of the source's
  // loops: only within one wave it is.
  out = apply(out, "distribute_loops", {text("i")});
  out = apply(out, "tag_inames", {text("i:par, i_0:par, i_1:par")});
  CHECK(out.instructions.front()->id == "s");
  for (const int n : {1, 2, 3, 6}) {
    const auto was = values_of(k, {{"n", n}}), is = values_of(out, {{"n", n}});
    const auto* a = reinterpret_cast<const double*>(was.at("A").data());
    const auto* b = reinterpret_cast<const double*>(is.at("A").data());
    for (int e = 0; e < n * n; ++e)
      if (std::isfinite(a[e])) CHECK(b[e] == doctest::Approx(a[e]).epsilon(1e-9));
  }
}

TEST_CASE("unfold_reduction: terms that another statement makes in the sum's loop stay there") {
  const Kernel k = parsed(
      "kernel f(n: int32, x: float64[n], y: float64[n])\ndomain {[i, j]: 0 <= i, j < n}\n"
      "y[i] = sum(j, 2*x[j]) {id=s}\n");
  const Kernel fetched = apply(k, "add_prefetch", {text("x"), Value{ValueList{}}},
                               {{"default_tag", flag(false)}, {"within", text("id:s")}});
  CHECK(code_of([&] { apply(fetched, "unfold_reduction", {text("id:s")}); }) == "shared-loop");
}
