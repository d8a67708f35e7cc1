#include "core/model/memo.h"
#include "core/model/print.h"
#include "core/order/check_kernel.h"
#include "loop_kit.h"
#include "same_values.h"

/// Values of rules computed ahead of their uses: the buffer, the loops, the proof.

using namespace moonloop;

namespace {

/// The message of `f`, with the code.
template <class F>
std::string refusal(F f) {
  return message(f) + " [" + code_of(f) + "]";
}

Value names(std::vector<std::string> list) {
  ValueList out;
  for (std::string& n : list) out.push_back(text(std::move(n)));
  return Value{out};
}

std::string shape(const Kernel& k, const std::string& temporary) {
  const Temporary* t = k.find_temporary(temporary);
  REQUIRE(t != nullptr);
  return to_string(*t->shape);
}

std::string rules(const Kernel& k) {
  std::string out;
  for (const Rule& r : k.rules)
    out += fmt::format("{}({}) := {}\n", r.name, fmt::join(r.params, ", "), to_string(r.body));
  return out;
}

/// Same values for each size, and more than one of them is run.
void check_same(const Kernel& before, const Kernel& after, const std::vector<Params>& sizes) {
  for (const Params& p : sizes) {
    std::string sizes;
    for (const auto& [name, value] : p) sizes += name + "=" + std::to_string(value) + " ";
    CAPTURE(sizes);
    CHECK(same_values(before, after, p));
  }
}

const char* kDifference = R"(kernel fdiff(n: int32, u: float64[n+1], result: float64[n])
domain {[i]: 0 <= i < n}
u_acc(j) := u[j]
result[i] = u_acc(i+1) - u_acc(i)  {id=diff}
)";

Kernel difference() { return apply(parsed(kDifference), "split_iname", {text("i"), number(16)}); }

}  // namespace

TEST_CASE("precompute: forward differences read a buffer of 17") {
  const Kernel k = difference();
  const Kernel out = apply(k, "precompute", {text("u_acc"), text("i_inner")});
  CHECK(shape(out, "u_acc_0") == "17");
  CHECK(line(out, "u_acc") == "u_acc_0[j] = u[j + 16*i_outer]");
  CHECK(line(out, "diff") ==
        "result[i_inner + 16*i_outer] = u_acc_0[i_inner + 1] - u_acc_0[i_inner]");
  CHECK(tree(out) == "for i_outer\n  for j\n    u_acc\n  for i_inner\n    diff\n");
  CHECK(out.rules.empty());
  CHECK(out.tag("j") == nullptr);
  check_same(k, out, {{{"n", 1}}, {{"n", 16}}, {{"n", 37}}});
}

TEST_CASE("precompute: the last tile reads no further than its uses") {
  const Kernel out = apply(difference(), "precompute", {text("u_acc"), text("i_inner")});
  CHECK(same_set(instances(out, {"i_outer", "j"}),
                 "[n] -> { [i_outer, j] : 0 <= j <= 16 and 0 <= i_outer and "
                 "16*i_outer < n and j <= n - 16*i_outer }"));
}

TEST_CASE("precompute: what is known of one nest serves another one like it") {
  Kernel k = parsed(R"(kernel alike(n: int32, u: float64[n + 2], r: float64[n], s: float64[n])
domain {[i, j]: 0 <= i < n and i <= j < n}
domain {[p, q]: 0 <= p < n and p <= q < n}
f(x) := 2*u[x]
g(x) := 2*u[x]
r[i] = sum(j, f(j) + f(j + 2))
s[p] = sum(q, g(q) + g(q + 2))
)");
  k = apply(k, "split_iname", {text("i"), number(16)});
  k = apply(k, "split_iname", {text("p"), number(16)});
  const auto staged = [](const Kernel& of, const char* rule, const char* sweep) {
    return apply(of, "precompute", {text(rule), text(sweep)});
  };
  const Kernel first = staged(k, "f", "j");
  const Kernel known = staged(first, "g", "q");
  memo() = Memo();
  CHECK(print_kernel(known) == print_kernel(staged(first, "g", "q")));
  check_same(k, known, {{{"n", 5}}, {{"n", 33}}});
}

TEST_CASE("precompute: a rule without swept inames becomes a scalar") {
  const Kernel k =
      parsed(R"(kernel s(n: int32, m: int32, a: float64[n], b: float64[m], c: float64[n, m])
domain {[i, j]: 0 <= i < n and 0 <= j < m}
f(x) := a[x]*a[x] + 1
c[i, j] = f(i)*b[j]  {id=c}
)");
  const Kernel out = apply(k, "precompute", {text("f")});
  CHECK(shape(out, "f_0") == "");
  CHECK(line(out, "f") == "f_0 = a[i]*a[i] + 1");
  CHECK(line(out, "c") == "c[i, j] = f_0*b[j]");
  CHECK(tree(out) == "for i\n  f\n  for j\n    c\n");
  check_same(k, out, {{{"n", 3}, {"m", 4}}});
}

TEST_CASE("precompute: a footprint whose length is a parameter") {
  const Kernel k = parsed(R"(kernel p(n: int32, m: int32, x: float64[m], c: float64[n, m])
domain {[i, j]: 0 <= i < n and 0 <= j < m}
f(t) := 2*x[t]
c[i, j] = f(j) + i  {id=c}
)");
  const Kernel out = apply(k, "precompute", {text("f"), text("j")});
  CHECK(shape(out, "f_0") == "m");
  CHECK(tree(out) == "for t\n  f\nfor i\n  for j\n    c\n");
  check_same(k, out, {{{"n", 3}, {"m", 4}}, {{"n", 1}, {"m", 1}}});
}

TEST_CASE("precompute: a triangle is computed as a triangle, or as its box on request") {
  const Kernel k = parsed(R"(kernel t(n: int32, a: float64[n, n], c: float64[n, n])
domain {[i, j]: 0 <= j <= i < n}
f(x, y) := a[x, y] + 1
c[i, j] = f(i, j)*2  {id=c}
)");
  const Kernel tile =
      apply(apply(k, "split_iname", {text("i"), number(4)}), "split_iname", {text("j"), number(4)});
  const Kernel exact = apply(tile, "precompute", {text("f"), text("i_inner, j_inner")});
  CHECK(shape(exact, "f_0") == "4, 4");
  CHECK(same_set(instances(exact, {"i_outer", "j_outer", "x", "y"}),
                 "[n] -> { [i_outer, j_outer, x, y] : 0 <= x,y <= 3 and 0 <= j_outer and "
                 "4*j_outer + y <= 4*i_outer + x < n }"));
  check_same(k, exact, {{{"n", 1}}, {{"n", 7}}, {{"n", 8}}});
  const Kernel box = apply(tile, "precompute", {text("f"), text("i_inner, j_inner")},
                           {{"fetch_bounding_box", flag(true)}});
  check_same(k, box, {{{"n", 1}}, {{"n", 7}}, {{"n", 8}}});
}

TEST_CASE("precompute: accesses far apart are computed under a condition") {
  const Kernel k = parsed(R"(kernel far(n: int32, a: float64[n + 40], c: float64[n])
domain {[i]: 0 <= i < n}
f(x) := a[x]/2
c[i] = f(i) + f(i + 40)  {id=c}
)");
  const Kernel tile = apply(k, "split_iname", {text("i"), number(8)});
  const Kernel out = apply(tile, "precompute", {text("f"), text("i_inner")});
  CHECK(shape(out, "f_0") == "48");
  CHECK_FALSE(out.find_insn("f")->predicates.empty());
  check_same(k, out, {{{"n", 1}}, {{"n", 8}}, {{"n", 19}}});
  const Kernel box =
      apply(tile, "precompute", {text("f"), text("i_inner")}, {{"fetch_bounding_box", flag(true)}});
  CHECK(box.find_insn("f")->predicates.empty());
  check_same(k, box, {{{"n", 1}}, {{"n", 8}}, {{"n", 19}}});
}

TEST_CASE("precompute: strides keep their holes in the buffer") {
  const Kernel k = parsed(R"(kernel s(n: int32, a: float64[3*n], c: float64[n])
domain {[i]: 0 <= i < n}
f(x) := a[x]
c[i] = f(3*i)  {id=c}
)");
  const Kernel tile = apply(k, "split_iname", {text("i"), number(4)});
  const Kernel out = apply(tile, "precompute", {text("f"), text("i_inner")});
  CHECK(shape(out, "f_0") == "10");
  CHECK(line(out, "c") == "c[i_inner + 4*i_outer] = f_0[3*i_inner]");
  check_same(k, out, {{{"n", 1}}, {{"n", 4}}, {{"n", 11}}});
}

TEST_CASE("precompute: descending subscripts and several instructions share one buffer") {
  const Kernel k = parsed(R"(kernel s(n: int32, a: float64[n + 2], c: float64[n], d: float64[n])
domain {[i]: 0 <= i < n}
f(x) := a[x]*a[x]
c[i] = f(n + 1 - i)  {id=c}
d[i] = f(n - i) + f(n - i - 1)  {id=d}
)");
  const Kernel tile = apply(k, "split_iname", {text("i"), number(4)});
  const Kernel out = apply(tile, "precompute", {text("f"), text("i_inner")});
  CHECK(shape(out, "f_0") == "6");
  CHECK(tree(out) == "for i_outer\n  for x\n    f\n  for i_inner\n    c\n    d\n");
  check_same(k, out, {{{"n", 1}}, {{"n", 4}}, {{"n", 11}}});
}

TEST_CASE("precompute: inames in the rule's body are axes when swept") {
  const Kernel k = parsed(R"(kernel s(n: int32, m: int32, a: float64[n, m], c: float64[n, m])
domain {[i, j]: 0 <= i < n and 0 <= j < m}
f(x) := a[i, x]
c[i, j] = f(j)  {id=c}
)");
  const Kernel out = apply(k, "precompute", {text("f"), text("i, j")},
                           {{"temporary_address_space", text("global")}});
  CHECK(shape(out, "f_0") == "n, m");
  CHECK(line(out, "f") == "f_0[f_i, x] = a[f_i, x]");
  CHECK(line(out, "c") == "c[i, j] = f_0[i, j]");
  CHECK(tree(out) == "for f_i\n  for x\n    f\nfor i\n  for j\n    c\n");
  check_same(k, out, {{{"n", 2}, {"m", 3}}});
}

TEST_CASE("precompute: a use inside of a reduction is fetched inside of its loop") {
  const Kernel k =
      parsed(R"(kernel mv(n: int32, m: int32, a: float64[n, m], x: float64[m], y: float64[n])
domain {[i, j]: 0 <= i < n and 0 <= j < m}
f(t) := 3*x[t]
y[i] = sum(j, a[i, j]*f(j))  {id=y}
)");
  const Kernel tile = apply(k, "split_iname", {text("j"), number(4)});
  const Kernel out = apply(tile, "precompute", {text("f"), text("j_inner")});
  CHECK(shape(out, "f_0") == "4");
  check_same(k, out, {{{"n", 3}, {"m", 9}}, {{"n", 1}, {"m", 1}}});
}

TEST_CASE("precompute: the paper's gravity, one rule with two kinds of arguments") {
  const Kernel k =
      parsed(R"(kernel gravity(np: int32, x: float64[np, 3], mass: float64[np], force: float64[np])
domain {[i, j, n]: 0 <= i, j < np and 0 <= n < 3}
pos(p, d) := x[p, d]
force[i] = mass[i]*pos(i, 0) + sum(j, mass[j]*sum(n, pos(i, n) - pos(j, n)))  {id=force}
)");
  const Kernel tile = apply(k, "split_iname", {text("j"), number(4)});
  // `pos(i, 0)` is outside of the sums, so only one footprint for all of j serves every use.
  const Kernel out = apply(tile, "precompute", {text("pos"), text("i, j_outer, j_inner, n")});
  CHECK(shape(out, "pos_0") == "np, 3");
  check_same(k, out, {{{"np", 1}}, {{"np", 6}}});
  CHECK(
      refusal([&] { apply(tile, "precompute", {text("pos"), text("j_inner, n")}); }) ==
      "`pos` depends on `j_outer`, which is not around every selected use; sweep it, or select the "
      "uses with `within` [not-swept]");
}

TEST_CASE("precompute: calls through other rules, and only those that a tag names") {
  const Kernel k = parsed(R"(kernel s(n: int32, a: float64[n + 1], c: float64[n])
domain {[i]: 0 <= i < n}
f(x) := a[x]
g(x) := f$near(x) + f$far(x + 1)
c[i] = g(i)*2  {id=c}
)");
  const Kernel tile = apply(k, "split_iname", {text("i"), number(4)});
  const Kernel both = apply(tile, "precompute", {text("f"), text("i_inner")});
  CHECK(line(both, "c") == "c[i_inner + 4*i_outer] = g(i_inner + 4*i_outer)*2");
  CHECK(rules(both) == "g(x) := f_0[x - 4*i_outer] + f_0[x - 4*i_outer + 1]\n");
  const Kernel one = apply(tile, "precompute", {text("f$far"), text("i_inner")});
  CHECK(line(one, "c") == "c[i_inner + 4*i_outer] = g(i_inner + 4*i_outer)*2");
  CHECK(rules(one) == "f(x) := a[x]\ng(x) := f$near(x) + f_0[x - 4*i_outer]\n");
  CHECK(shape(one, "f_0") == "4");
  check_same(k, both, {{{"n", 9}}});
  check_same(k, one, {{{"n", 9}}});
  const Kernel within =
      apply(tile, "precompute", {text("f"), text("i_inner"), text("f$near < g < c")});
  CHECK(rules(within) == "f(x) := a[x]\ng(x) := f_0[x - 4*i_outer] + f$far(x + 1)\n");
}

TEST_CASE("precompute: a rule of which only some calls change gets a version") {
  const Kernel k = parsed(R"(kernel s(n: int32, a: float64[n], c: float64[n], d: float64[n])
domain {[i]: 0 <= i < n}
f(x) := a[x]
g(x) := 2*f(x)
h(i) := g(i) + g(i)
c[i] = h(i)  {id=c}
d[i] = g(i)  {id=d}
)");
  const Kernel tile = apply(k, "split_iname", {text("i"), number(4)});
  const Kernel out = apply(tile, "precompute", {text("f"), text("i_inner"), text("f < g < h < c")});
  CHECK(rules(out) ==
        "f(x) := a[x]\n"
        "g(x) := 2*f(x)\n"
        "g_0(x) := 2*f_0[x - 4*i_outer]\n"
        "h(i) := g_0(i) + g_0(i)\n");
  CHECK(line(out, "d") == "d[i_inner + 4*i_outer] = g(i_inner + 4*i_outer)");
  check_same(k, out, {{{"n", 9}}});
}

TEST_CASE("precompute: what is put into a rule is not its parameter of that name") {
  const Kernel k = parsed(R"(kernel s(n: int32, a: float64[4*n], c: float64[4*n])
domain {[o, i]: 0 <= o < n and 0 <= i < 4}
f(x) := a[x]
g(o, f_0) := f(o) + f_0
c[i + 4*o] = g(i + 4*o, 2)  {id=c}
)");
  const Kernel out = apply(k, "precompute", {text("f"), text("i")});
  CHECK(rules(out) == "g(o_0, f_0) := f_1[o_0 - 4*o] + f_0\n");
  check_same(k, out, {{{"n", 3}}});
}

TEST_CASE("precompute: the rules that a staged rule calls stay rules") {
  const Kernel k = parsed(R"(kernel s(n: int32, a: float64[n], b: float64[n, n])
domain {[i, j]: 0 <= i, j < n}
f(x) := a[x]
g(x) := f(x)*i
h(x) := g(x) + f(x)
b[i, j] = h(j)  {id=b}
)");
  const Kernel out = apply(k, "precompute", {text("h"), text("i, j")});
  CHECK(line(out, "h") == "h_0[h_i, x] = g(x) + f(x)");
  CHECK(rules(out) == "f(x) := a[x]\ng(x) := f(x)*h_i\n");
  check_same(k, out, {{{"n", 3}}});
  const Kernel both = apply(out, "precompute", {text("g"), text("h_i, x")});
  CHECK(rules(both) == "f(x) := a[x]\n");
  check_same(k, both, {{{"n", 3}}});
}

TEST_CASE("precompute: names and tags that the caller chooses") {
  const Kernel k = difference();
  const Kernel out = apply(k, "precompute", {text("u_acc"), text("i_inner")},
                           {{"compute_insn_id", text("fetch")},
                            {"default_tag", text("unr")},
                            {"dtype", text("float32")},
                            {"precompute_inames", text("f")},
                            {"temporary_address_space", text("private")},
                            {"temporary_name", text("buffer")}});
  CHECK(line(out, "fetch") == "buffer[f] = u[f + 16*i_outer]");
  REQUIRE(out.tag("f") != nullptr);
  CHECK(out.tag("f")->text == "unr");
  CHECK(out.find_temporary("buffer")->space == AddressSpace::Private);
  CHECK(out.find_temporary("buffer")->type->str() == "float32");
  const Kernel other = apply(k, "precompute", {text("u_acc"), text("i_inner")},
                             {{"default_tag", text("unr")},
                              {"storage_axis_to_tag", Value{ValueDict{{"j", text("for")}}}}});
  CHECK(other.tag("j") == nullptr);
}

TEST_CASE("precompute: loops that are there already serve a second rule") {
  const Kernel k = parsed(R"(kernel s(n: int32, a: float64[n], b: float64[n], c: float64[n])
domain {[i]: 0 <= i < n}
f(x) := a[x]
g(x) := b[x]
c[i] = f(i) + g(i)  {id=c}
)");
  const Kernel tile = apply(k, "split_iname", {text("i"), number(4)});
  const Kernel first =
      apply(tile, "precompute", {text("f"), text("i_inner")}, {{"precompute_inames", text("ii")}});
  const Kernel out =
      apply(first, "precompute", {text("g"), text("i_inner")}, {{"precompute_inames", text("ii")}});
  CHECK(tree(out) == "for i_outer\n  for ii\n    f\n    g\n  for i_inner\n    c\n");
  check_same(k, out, {{{"n", 1}}, {{"n", 4}}, {{"n", 11}}});
}

TEST_CASE("precompute: a temporary that is there grows") {
  const Kernel k = parsed(R"(kernel s(n: int32, a: float64[n + 3], c: float64[n], d: float64[n])
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j < n}
f(x) := a[x]
g(x) := a[x] + 1
c[i] = f(i)  {id=c}
d[j] = g(j) + g(j + 3)  {id=d}
)");
  Kernel tile = apply(k, "split_iname", {text("i"), number(4)});
  tile = apply(tile, "split_iname", {text("j"), number(4)});
  const Kernel first =
      apply(tile, "precompute", {text("f"), text("i_inner")}, {{"temporary_name", text("t")}});
  CHECK(shape(first, "t") == "4");
  const Kernel out =
      apply(first, "precompute", {text("g"), text("j_inner")}, {{"temporary_name", text("t")}});
  CHECK(shape(out, "t") == "7");
  check_same(k, out, {{{"n", 1}}, {{"n", 4}}, {{"n", 11}}});
}

TEST_CASE("precompute: a temporary whose shape is not declared is as long as its uses say") {
  const auto into_t = [](const std::string& length, const std::string& assume = "") {
    const Kernel k =
        parsed("kernel s(n: int32, a: float64[n], c: float64[n])\n" + assume +
               "domain {[i]: 0 <= i < n}\n"
               "domain {[j]: 0 <= j < " +
               length +
               "}\n"
               "domain {[k]: 0 <= k < n}\n"
               "f(x) := 2*c[x]\n"
               "for i\n  for j\n    <float64> t[j] = i + j\n  end\n  a[i] = t[0]\nend\n"
               "for k\n  a[k] = f(k)\nend\n");
    const Kernel out =
        apply(k, "precompute", {text("f"), text("k")}, {{"temporary_name", text("t")}});
    check_same(k, out, {{{"n", 5}}});
    return shape(out, "t");
  };
  CHECK(refusal([&] { into_t("4"); }) ==
        "temporary `t` has shape (4), but the buffer of `f` has (n) [bad-temporary]");
  CHECK(into_t("n", "assume n >= 1\n") == "n");
  CHECK(into_t("n + 2") == "n + 2");  // longer than the kept part
  CHECK(into_t("4", "assume n >= 4\n") == "n");
  const Kernel flat = parsed(R"(kernel s(n: int32, a: float64[n], c: float64[n])
domain {[i, k]: 0 <= i, k < n}
f(x) := 2*c[x]
<float64> t = 3  {id=t, inames=i}
a[i] = t
c[k] = f(k)
)");
  CHECK(refusal([&] {
          apply(flat, "precompute", {text("f"), text("k")}, {{"temporary_name", text("t")}});
        }) == "temporary `t` has rank 0, but the buffer of `f` has 1 [bad-temporary]");
}

TEST_CASE("precompute: a footprint that is given leaves other uses alone") {
  const Kernel k = difference();
  const Kernel out = apply(k, "precompute", {text("u_acc(16*i_outer + i_inner)"), text("i_inner")});
  CHECK(shape(out, "u_acc_0") == "16");
  CHECK(line(out, "diff") ==
        "result[i_inner + 16*i_outer] = u_acc(i_inner + 16*i_outer + 1) - u_acc_0[i_inner]");
  CHECK(out.find_rule("u_acc") != nullptr);
  check_same(k, out, {{{"n", 1}}, {{"n", 16}}, {{"n", 37}}});
}

TEST_CASE("precompute: storage axes are chosen, other parameters stay") {
  const Kernel k =
      parsed(R"(kernel s(n: int32, m: int32, w: float64[n], a: float64[m], c: float64[n, m])
domain {[i, j]: 0 <= i < n and 0 <= j < m}
f(p, x) := p*a[x]
c[i, j] = f(w[i], j)  {id=c}
)");
  const Kernel out = apply(k, "precompute", {text("f"), text("j")});
  CHECK(line(out, "f") == "f_0[x] = w[i]*a[x]");
  CHECK(line(out, "c") == "c[i, j] = f_0[j]");
  CHECK(tree(out) == "for i\n  for x\n    f\n  for j\n    c\n");
  check_same(k, out, {{{"n", 2}, {"m", 3}}});
  const Kernel both =
      apply(k, "precompute", {text("f"), text("i, j")}, {{"storage_axes", names({"i", "x"})}});
  CHECK(line(both, "f") == "f_0[f_i, x] = w[f_i]*a[x]");
  CHECK(line(both, "c") == "c[i, j] = f_0[i, j]");
  check_same(k, both, {{{"n", 2}, {"m", 3}}});
}

TEST_CASE("precompute: outer loops on request and further in where that alone is legal") {
  const Kernel k = parsed(R"(kernel s(n: int32, t: int32, a: float64[n], c: float64[t, n])
domain {[s, i, j]: 0 <= s < t and 0 <= i, j < n}
f(x) := a[x]*2
c[s, i] = f(i)  {id=use}
a[j] = c[s, j] + 1  {id=next}
)");
  // `a` changes with s, so that the values cannot be computed once for all of it.
  const Kernel out = apply(k, "precompute", {text("f"), text("i")});
  CHECK(tree(out) == "for s\n  for x\n    f\n  for i\n    use\n  for j\n    next\n");
  check_same(k, out, {{{"n", 3}, {"t", 4}}});
  CHECK(refusal([&] {
          apply(k, "precompute", {text("f"), text("i")}, {{"precompute_outer_inames", names({})}});
        }) ==
        "next[s=0, j=0] writes a[0], which f[x=0] reads; next[s=0, j=0] must run before "
        "f[x=0], and with `f` it does not (n=1, t=2) [stale-value]");
}

// Differential test, seed 90787.
TEST_CASE("precompute: values that would be stale, read by a rule within the rule") {
  const Kernel k = parsed(R"(
kernel g(n: int32, p: int64[3*n + 12, 3*n + 12], q: int64[3*n + 12])
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j < 2}
assume n >= 5
p_in(x, y) := p[x, y]
p_at(x, y) := p_in(x, y)
p[i, n - i + 2] = p_at(j, j + 1) + 1   {id=s0, inames=i:j}
q[i] = p_at(i // 2 + 3, i + 3)         {id=s1, inames=i}
)");
  const auto why = refusal([&] { apply(k, "precompute", {text("p_at"), names({"j"})}); });
  CHECK(why.find("s0[i=5, j=0] writes p[5, 8], which p_at[") != std::string::npos);
  CHECK(why.find("[stale-value]") != std::string::npos);
}

TEST_CASE("precompute: values that would be stale") {
  const Kernel k = parsed(R"(kernel s(n: int32, a: float64[n + 1], c: float64[n])
domain {[i]: 0 <= i < n}
f(x) := a[x]
a[i + 1] = f(i) + 1  {id=step}
)");
  CHECK(refusal([&] { apply(k, "precompute", {text("f"), text("i")}); }) ==
        "step[i=0] writes a[1], which f[x=1] reads; step[i=0] must run before f[x=1], and with "
        "`f` it does not (n=2) [stale-value]");
  const Kernel two = parsed(R"(kernel s(n: int32, a: float64[n + 1], c: float64[n])
domain {[i]: 0 <= i < n}
f(x) := a[x]
a[i] = 2  {id=make}
c[i] = f(i) + 1  {id=use}
)");
  CHECK(refusal([&] { apply(two, "precompute", {text("f"), text("i")}); }) ==
        "make[i=0] writes a[0], which f[x=0] reads; make[i=0] must run before f[x=0], and with "
        "`f` it does not (n=1) [stale-value]");
  // With the proof left out, the caller has said so.
  const Kernel forced = apply(two, "precompute", {text("f"), text("i")}, {{"unsafe", flag(true)}});
  CHECK(forced.claims.size() == 1);
}

TEST_CASE("precompute: a value that is final before the loop may be taken early") {
  const Kernel k = parsed(R"(kernel s(n: int32, a: float64[n], c: float64[n])
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j < n}
f(x) := a[x]
a[i] = i*0.5  {id=make}
c[j] = f(n - 1 - j) + 1  {id=use}
)");
  const Kernel out = apply(k, "precompute", {text("f"), text("j")});
  CHECK(tree(out) == "for i\n  make\nfor x\n  f\nfor j\n  use\n");
  check_same(k, out, {{{"n", 1}}, {{"n", 5}}});
}

TEST_CASE("precompute: what it refuses") {
  const Kernel k =
      parsed(R"(kernel s(n: int32, m: int32, a: float64[n], map: int32[n], c: float64[n])
domain {[i, j]: 0 <= i < n and 0 <= j < n}
domain {[q]: 0 <= q < 4}
f(x) := a[x]
g(x) := a[x]
c[i] = f(i) + f(map[i]) {id=c}
c[j] = c[j] + g(j) {id=d}
c[0] = g(q) {id=e}
)");
  const auto say = [&](ValueList args, ValueDict options = {}) {
    return refusal([&] { apply(k, "precompute", args, options); });
  };
  CHECK(say({text("h"), text("i")}) ==
        "bad argument #2 to 'precompute' (no rule 'h' in kernel 's'; it has 'f', 'g') "
        "[bad-argument]");
  CHECK(say({text("f"), text("z")}) ==
        "bad argument #3 to 'precompute' (kernel 's' has no iname 'z'; it has i, j, q) "
        "[bad-argument]");
  CHECK(say({text("f"), text("i")}) ==
        "argument `map[i]` of `f` is not a sum of inames and parameters, so that its footprint is "
        "not "
        "known [non-affine-argument]");
  CHECK(say({text("g"), text("j")}) ==
        "`g` depends on `q`, which is not around every selected use; sweep it, or select the "
        "uses with `within` [not-swept]");
  CHECK(say({text("g"), text("i, j, q")}) ==
        "no selected use of `g` depends on `i`; there is nothing to sweep [unused-sweep]");
  CHECK(say({text("g$x"), text("j")}) == "no use of `g` is selected [no-match]");
  CHECK(say({text("g"), text("j"), text("id:d")}, {{"storage_axes", text("y")}}) ==
        "`y` is neither a parameter of `g` nor an iname [unknown-axis]");
  CHECK(say({text("g"), text("j"), text("id:d")}, {{"storage_axes", text("x, x")}}) ==
        "`x` is named twice as a storage axis [unknown-axis]");
  CHECK(say({text("g"), text("j, q")}, {{"storage_axes", names({})}}) ==
        "parameter `x` of `g` is `j` in one use and `q` in another; it must be a storage axis "
        "[missing-axis]");
  CHECK(say({text("g"), text("j"), text("id:d")}, {{"precompute_inames", text("x, y")}}) ==
        "2 inames are given for 1 storage axis of `g` [bad-inames]");
  CHECK(say({text("g"), text("j"), text("id:d")}, {{"precompute_inames", text("q")}}) ==
        "iname `q` runs over `{ [q] : 0 <= q <= 3 }`, but the footprint of `g` is `[n] -> { "
        "[q] : 0 <= q < n }` [domain-mismatch]");
  CHECK(say({text("g"), text("j"), text("id:d")}, {{"precompute_inames", text("a")}}) ==
        "the name `a` is in use in kernel `s` [name-taken]");
  CHECK(say({text("g"), text("j"), text("id:d")}, {{"precompute_outer_inames", text("j")}}) ==
        "`j` cannot be around the computation of `g`: it is swept [bad-outer-inames]");
  CHECK(say({text("g"), text(""), text("id:d")}, {{"precompute_outer_inames", text("")}}) ==
        "the values of `g` depend on `j`, which must be among the outer inames or swept "
        "[bad-outer-inames]");
  CHECK(say({text("g"), text("j"), text("id:d")}, {{"temporary_name", text("a")}}) ==
        "the name `a` is in use in kernel `s` [name-taken]");
  CHECK(say({text("g"), text("j"), text("id:d")}, {{"compute_insn_id", text("c")}}) ==
        "instruction `c` exists in kernel `s` [name-taken]");
  CHECK(say({text("g"), text("j"), text("id:d")}, {{"default_tag", text("x.1")}}) ==
        "bad argument #5 to 'precompute' ('x.1' is not a tag of an iname) [bad-argument]");
  CHECK(say({text("g"), text("j"), text("id:d")}, {{"dtype", text("float77")}}) ==
        "`float77` is not a type [unknown-type]");
  CHECK(say({text("g"), text("j"), text("id:d")}, {{"temporary_address_space", text("near")}}) ==
        "`near` is not an address space; there are `auto`, `private`, `local`, `global` "
        "[bad-address-space]");
  CHECK(say({text("g"), text("j"), text("id:d")},
            {{"storage_axis_to_tag", Value{ValueDict{{"y", text("unr")}}}}}) ==
        "`y` is not a storage axis of `g` [unknown-axis]");
  CHECK(say({text("g + 1"), text("j")}) ==
        "a use of a rule is `rule`, `rule$tag` or, with the footprint, `rule(i, j)`, or "
        "several of those of one rule [bad-argument]");
  CHECK(say({text("g(j, j)"), text("j")}) ==
        "a footprint of 2 subscripts is given for 1 storage axis [bad-footprint]");
}

TEST_CASE("precompute: work-items share a local buffer; private ones are each their own") {
  const Kernel k =
      parsed(R"(kernel mv(n: int32, m: int32, a: float64[n, m], x: float64[m], y: float64[n])
domain {[i, j]: 0 <= i < n and 0 <= j < m}
f(t) := x[t]
y[i] = sum(j, a[i, j]*f(j))  {id=y}
)");
  Kernel tile = apply(k, "split_iname", {text("i"), number(8)},
                      {{"inner_tag", text("l.0")}, {"outer_tag", text("g.0")}});
  tile = apply(tile, "split_iname", {text("j"), number(4)});
  const Kernel shared = apply(tile, "precompute", {text("f"), text("j_inner")});
  CHECK(shared.find_temporary("f_0")->space == AddressSpace::Local);
  CHECK(shared.tag("t")->text == "l.auto");
  CHECK(shared.find_insn("f")->inames == std::set<std::string>{"i_outer", "j_outer", "t"});
  const Kernel own =
      apply(tile, "precompute", {text("f"), text("j_inner")}, {{"default_tag", flag(false)}});
  CHECK(own.find_temporary("f_0")->space == AddressSpace::Private);
  CHECK(own.tag("t") == nullptr);
  CHECK(own.find_insn("f")->inames == std::set<std::string>{"i_inner", "i_outer", "j_outer", "t"});
  const auto say = [&](ValueList args, ValueDict options = {}) {
    return refusal([&] { apply(tile, "precompute", args, options); });
  };
  const Kernel out = apply(parsed(R"(kernel c(n: int32, x: float64[n + 1], y: float64[n])
domain {[i]: 0 <= i < n}
f(t) := x[t]
y[i] = f(i) + f(i + 1)  {id=y}
)"),
                           "split_iname", {text("i"), number(8)},
                           {{"inner_tag", text("l.0")}, {"outer_tag", text("g.0")}});
  CHECK(refusal([&] {
          apply(out, "precompute", {text("f"), text("i_inner")},
                {{"temporary_address_space", text("private")}});
        }) ==
        "`i_inner` numbers work-items, and a private temporary is not shared by them; "
        "use `local` [private-sweep]");
  CHECK(refusal([&] { apply(out, "precompute", {text("f"), text("i_outer, i_inner")}); }) ==
        "`i_outer` is tagged `g.0`: work-groups share global memory only; give "
        "temporary_address_space = \"global\" [swept-group]");
  CHECK(say({text("f"), text("i_inner")}) ==
        "no selected use of `f` depends on `i_inner`; there is nothing to sweep [unused-sweep]");
}

TEST_CASE("precompute: temporaries that do not fit") {
  const Kernel k = parsed(R"(kernel s(n: int32, a: float64[n], c: float64[n], d: float64[n])
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j < n}
temp table: float64[4] read_only init=(1.0, 2.0, 3.0, 4.0)
temp two: float64[n, n]
temp four: float32[n] in private
f(x) := a[x]
c[i] = f(i) + table[0]  {id=c}
)");
  const auto say = [&](const std::string& name, ValueDict options = {}) {
    options.insert(options.begin(), {"temporary_name", text(name)});
    std::sort(options.begin(), options.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    return refusal([&] { apply(k, "precompute", {text("f"), text("i")}, options); });
  };
  CHECK(say("table") == "temporary `table` is a constant table [bad-temporary]");
  CHECK(say("two") == "temporary `two` has rank 2, but the buffer of `f` has 1 [bad-temporary]");
  CHECK(say("four") ==
        "temporary `four` has type float32, but the buffer of `f` has float64 [bad-temporary]");
  CHECK(say("four", {{"dtype", text("float64")}}) ==
        "temporary `four` has type float32, but the buffer of `f` has float64 [bad-temporary]");
  CHECK(say("four", {{"dtype", text("float32")}, {"temporary_address_space", text("local")}}) ==
        "temporary `four` has address space private, but the buffer of `f` has local "
        "[bad-temporary]");
  CHECK(refusal([&] { apply(k, "precompute", {text("f(i, i)"), text("i")}); }) ==
        "a footprint of 2 subscripts is given for 1 storage axis [bad-footprint]");
}

TEST_CASE("precompute: literals adapt to what stands around the uses, and are kept so") {
  const auto made = [](const std::string& uses, const std::string& body = "0.1*b[x]",
                       ValueDict options = {}) {
    const Kernel k = parsed(
        "kernel w(n: int32, m: uint32, a: float64[n], s: float32[n], b: float32[n], "
        "u: uint32[n])\ndomain {[i]: 0 <= i < n}\nf(x) := " +
        body + "\ng(y) := f(y) + 1\n" + uses);
    const Kernel out = apply(k, "precompute", {text("f"), text("i")}, options);
    CHECK(same_values(k, out, {{"n", 5}, {"m", 3}}));
    return complete(out).find_temporary("f_0")->type->str();
  };
  CHECK(made("a[i] = f(i)\n") == "float64");
  CHECK(made("a[i] = 2*g(i)\n") == "float64");
  CHECK(made("s[i] = f(i)\n") == "float32");  // alone it would be float64
  CHECK(made("s[i] = f(i) + g(i)\n") == "float32");
  CHECK(made("a[i] = f(i) if f(i) < 0.05 else 0\n", "b[x]/2") == "float32");
  CHECK(made("u[i] = m - f(i)\n", "4") == "uint32");
  const std::string both = "a[i] = f(i)   {id=p}\ns[i] = f(i)   {id=q}\n";
  CHECK(refusal([&] { made(both); }) ==
        "`f` is float64 where `p` uses it and float32 in `q`, as its literals adapt to what is "
        "around them; `dtype` says in which type it is kept [two-types]");
  CHECK(made(both, "0.5d*b[x]") == "float64");
}

TEST_CASE("precompute: work-items among the outer loops compute the values by themselves") {
  const Kernel k = parsed(R"(kernel own(n: int32, a: float64[5], b: float64[n, 5])
domain {[i, j]: 0 <= i < n and 0 <= j < 5}
f(x) := 2*a[x]
b[i, j] = f(j)
)");
  const Kernel by_items =
      apply(k, "split_iname", {text("i"), number(4)}, {{"inner_tag", text("l.0")}});
  const Kernel own = apply(by_items, "precompute", {text("f"), text("j")},
                           {{"precompute_outer_inames", text("i_outer, i_inner")}});
  CHECK(own.find_temporary("f_0")->space == AddressSpace::Private);
  check_same(k, own, {{{"n", 6}}});
  const Kernel shared = apply(by_items, "precompute", {text("f"), text("j")});
  CHECK(shared.find_temporary("f_0")->space == AddressSpace::Local);
}

TEST_CASE("precompute: sweeps a loop on which only the condition around a use depends") {
  // Row `i` reads what is behind it: all rows together read one tile.
  const Kernel k = parsed(R"(kernel behind(n: int32, x: float64[n], y: float64[8, n])
domain {[b, i, c]: 0 <= i < 8 and 0 <= c < 8 and 0 <= 8*b + c < n}
f(p) := 2*x[p]
y[i, 8*b + c] = (f(8*b + c) if c > i else 0.0)
)");
  const Kernel out = apply(k, "precompute", {text("f"), text("i, c")});
  check_same(k, out, {{{"n", 1}}, {{"n", 6}}, {{"n", 8}}, {{"n", 19}}});
  const Kernel anywhere = parsed(R"(kernel all(n: int32, x: float64[n], y: float64[8, n])
domain {[b, i, c]: 0 <= i < 8 and 0 <= c < 8 and 0 <= 8*b + c < n}
f(p) := 2*x[p]
y[i, 8*b + c] = f(8*b + c)
)");
  CHECK(refusal([&] { apply(anywhere, "precompute", {text("f"), text("i, c")}); }) ==
        "no selected use of `f` depends on `i`; there is nothing to sweep [unused-sweep]");
}

TEST_CASE("precompute: sweeps a loop that bounds those which the rule depends on") {
  // The last block is shorter, so that which blocks there are depends on the place in a block.
  const Kernel k = parsed(R"(kernel blocks(n: int32, x: float64[n], y: float64[n])
domain {[b, p]: 0 <= b and 0 <= p < 4 and 4*b + p < n}
domain {[t]: 0 <= t < 3}
f(c) := 2*x[c]
y[4*b + p] = y[4*b + p] + f(b)  {inames=t:b:p}
)");
  const Kernel out =
      apply(k, "precompute", {text("f"), text("b, p")}, {{"precompute_inames", text("c")}});
  CHECK(same_set(instances(out, {"c"}), "[n] -> { [c] : 0 <= 4c < n }"));
  check_same(k, out, {{{"n", 1}}, {{"n", 6}}, {{"n", 8}}});
  CHECK(refusal([&] { apply(k, "precompute", {text("f"), text("b, t")}); }) ==
        "no selected use of `f` depends on `t`; there is nothing to sweep [unused-sweep]");
}
