#include "core/model/print.h"
#include "core/order/check_kernel.h"
#include "core/sets/bounded.h"
#include "loop_kit.h"
#include "same_values.h"

/// Copies of the elements that are read from arrays.

using namespace moonloop;

namespace {

template <class F>
std::string refusal(F f) {
  return message(f) + " [" + code_of(f) + "]";
}

std::string shape(const Kernel& k, const std::string& temporary) {
  const Temporary* t = k.find_temporary(temporary);
  REQUIRE(t != nullptr);
  return to_string(*t->shape);
}

Kernel tiled(const std::string& source, const std::vector<std::pair<std::string, int>>& lengths) {
  Kernel k = parsed(source);
  for (const auto& [iname, length] : lengths)
    k = apply(k, "split_iname", {text(iname), number(length)});
  return k;
}

const char* kProduct =
    R"(kernel mm(n: int32, m: int32, l: int32, a: float64[n, l], b: float64[l, m], c: float64[n, m])
domain {[i, j, k]: 0 <= i < n and 0 <= j < m and 0 <= k < l}
c[i, j] = c[i, j] + a[i, k]*b[k, j]  {id=upd}
)";

const char* kStar = R"(kernel star(n: int32, u: float64[n+2, n+2], v: float64[n, n])
domain {[i, j]: 0 <= i, j < n}
v[i, j] = 4*u[i+1, j+1] - u[i, j+1] - u[i+2, j+1] - u[i+1, j] - u[i+1, j+2]  {id=v}
)";

}  // namespace

TEST_CASE("add_prefetch: tiles of a matrix product at sizes that no tile divides") {
  Kernel k = tiled(kProduct, {{"i", 4}, {"j", 3}, {"k", 5}});
  const Kernel before = k;
  k = apply(k, "add_prefetch", {text("a"), text("i_inner, k_inner")});
  k = apply(k, "add_prefetch", {text("b"), text("k_inner, j_inner")});
  CHECK(shape(k, "a_fetch") == "4, 5");
  CHECK(shape(k, "b_fetch") == "5, 3");
  CHECK(line(k, "a_fetch_rule") ==
        "a_fetch[a_dim_0, a_dim_1] = a[a_dim_0 + 4*i_outer, a_dim_1 + 5*k_outer]");
  CHECK(
      line(k, "upd") ==
      "c[i_inner + 4*i_outer, j_inner + 3*j_outer] = c[i_inner + 4*i_outer, j_inner + 3*j_outer] + "
      "a_fetch[i_inner, k_inner]*b_fetch[k_inner, j_inner]");
  CHECK(tree(k) ==
        "for i_outer\n"
        "  for k_outer\n"
        "    for a_dim_0\n"
        "      for a_dim_1\n"
        "        a_fetch_rule\n"
        "    for j_outer\n"
        "      for b_dim_0\n"
        "        for b_dim_1\n"
        "          b_fetch_rule\n"
        "      for i_inner\n"
        "        for j_inner\n"
        "          for k_inner\n"
        "            upd\n");
  CHECK(k.rules.empty());
  for (const Params& p : {Params{{"n", 1}, {"m", 1}, {"l", 1}},
                          {{"n", 4}, {"m", 3}, {"l", 5}},
                          {{"n", 7}, {"m", 8}, {"l", 9}},
                          {{"n", 8}, {"m", 2}, {"l", 11}}})
    CHECK(same_values(before, k, p));
}

TEST_CASE("add_prefetch: the paper's tiles on work-items") {
  Kernel k = parsed(kProduct);
  k = apply(k, "split_iname", {text("i"), number(4)},
            {{"inner_tag", text("l.1")}, {"outer_tag", text("g.0")}});
  k = apply(k, "split_iname", {text("j"), number(2)},
            {{"inner_tag", text("l.0")}, {"outer_tag", text("g.1")}});
  k = apply(k, "split_iname", {text("k"), number(3)});
  const Kernel before = k;
  k = apply(k, "add_prefetch", {text("a"), text("k_inner, i_inner")});
  k = apply(k, "add_prefetch", {text("b"), text("j_inner, k_inner")});
  for (const std::string name : {"a", "b"}) {
    CHECK(k.find_temporary(name + "_fetch")->space == AddressSpace::Local);
    CHECK(k.tag(name + "_dim_0")->text == "l.auto");
    CHECK(k.tag(name + "_dim_1")->text == "l.auto");
    CHECK(k.find_insn(name + "_fetch_rule")->inames ==
          std::set<std::string>{"i_outer", "j_outer", "k_outer", name + "_dim_0", name + "_dim_1"});
  }
  CHECK(same_values(before, k, {{"n", 5}, {"m", 3}, {"l", 4}}));
}

TEST_CASE("add_prefetch: a star is copied with its box, a triangle exactly") {
  const Kernel before = tiled(kStar, {{"i", 4}, {"j", 4}});
  const Kernel k = apply(before, "add_prefetch", {text("u"), text("i_inner, j_inner")});
  CHECK(shape(k, "u_fetch") == "6, 6");
  CHECK(same_set(instances(k, {"i_outer", "j_outer", "u_dim_0", "u_dim_1"}),
                 "[n] -> { [i_outer, j_outer, u_dim_0, u_dim_1] : 0 <= 4*i_outer < n and "
                 "0 <= 4*j_outer < n and 0 <= u_dim_0,u_dim_1 <= 5 and u_dim_0 + 4*i_outer < n + 2 "
                 "and u_dim_1 + 4*j_outer < n + 2 }"));
  for (const int n : {1, 4, 9}) CHECK(same_values(before, k, {{"n", n}}));

  const Kernel lower = tiled(R"(kernel low(n: int32, a: float64[n, n], c: float64[n, n])
domain {[i, j]: 0 <= j <= i < n}
c[i, j] = a[i, j] + a[i, j]*2
)",
                             {{"i", 4}});
  const Kernel fetched = apply(lower, "add_prefetch", {text("a"), text("i_inner, j")});
  CHECK(shape(fetched, "a_fetch") == "4, n");
  CHECK(same_set(instances(fetched, {"i_outer", "a_dim_0", "a_dim_1"}),
                 "[n] -> { [i_outer, a_dim_0, a_dim_1] : 0 <= i_outer and 0 <= a_dim_0 <= 3 and "
                 "4*i_outer + a_dim_0 < n and 0 <= a_dim_1 <= 4*i_outer + a_dim_0 }"));
  for (const int n : {1, 4, 9}) CHECK(same_values(lower, fetched, {{"n", n}}));
}

TEST_CASE("add_prefetch: reads that are not selected stay") {
  const Kernel before = tiled(R"(kernel s(n: int32, a: float64[n + 1], c: float64[n], d: float64[n])
domain {[i]: 0 <= i < n}
c[i] = a$x[i] + a[i + 1]  {id=c}
d[i] = a[i]  {id=d}
)",
                              {{"i", 4}});
  const Kernel tagged = apply(before, "add_prefetch", {text("a$x"), text("i_inner")});
  CHECK(line(tagged, "c") ==
        "c[i_inner + 4*i_outer] = a_fetch[i_inner] + a[i_inner + 4*i_outer + 1]");
  CHECK(line(tagged, "d") == "d[i_inner + 4*i_outer] = a[i_inner + 4*i_outer]");
  const Kernel within =
      apply(before, "add_prefetch", {text("a"), text("i_inner")}, {{"within", text("id:d")}});
  CHECK(line(within, "c") ==
        "c[i_inner + 4*i_outer] = a[i_inner + 4*i_outer] + a[i_inner + 4*i_outer + 1]");
  CHECK(line(within, "d") == "d[i_inner + 4*i_outer] = a_fetch[i_inner]");
  CHECK(within.rules.empty());
  for (const int n : {1, 4, 9}) {
    CHECK(same_values(before, tagged, {{"n", n}}));
    CHECK(same_values(before, within, {{"n", n}}));
  }
}

TEST_CASE("add_prefetch: a whole axis, also under subscripts that are looked up") {
  const Kernel before =
      parsed(R"(kernel s(n: int32, m: int32, a: float64[n, 4], q: int32[n, m], c: float64[n, m])
domain {[i, j]: 0 <= i < n and 0 <= j < m}
c[i, j] = a[i, q[i, j]]  {id=c}
)");
  CHECK(refusal([&] {
          apply(before, "add_prefetch", {text("a"), text("j")});
        }) ==
        "argument `q[i, j]` of `a` is not a sum of inames and parameters, so that its footprint "
        "is not known [non-affine-argument]");
  const Kernel k = apply(before, "add_prefetch", {text("a[i, :]")});
  CHECK(shape(k, "a_fetch") == "4");
  CHECK(line(k, "a_fetch_rule") == "a_fetch[a_dim_1] = a[i, a_dim_1]");
  CHECK(line(k, "c") == "c[i, j] = a_fetch[q[i, j]]");
  CHECK(tree(k) == "for i\n  for a_dim_1\n    a_fetch_rule\n  for j\n    c\n");
  CHECK(same_values(before, k, {{"n", 3}, {"m", 5}}));
  const Kernel all =
      apply(before, "add_prefetch", {text("a")}, {{"footprint_subscripts", text(":, :")}});
  CHECK(shape(all, "a_fetch") == "n, 4");
  CHECK(same_values(before, all, {{"n", 3}, {"m", 5}}));
}

TEST_CASE("add_prefetch: what a prefetch made is prefetched again") {
  const Kernel before = tiled(kStar, {{"i", 8}, {"j", 8}});
  const Kernel twice = apply(before, "split_iname", {text("i_inner"), number(2)},
                             {{"inner_iname", text("ii")}, {"outer_iname", text("io")}});
  Kernel k = apply(twice, "add_prefetch", {text("u"), text("io, ii, j_inner")});
  k = apply(k, "add_prefetch", {text("u_fetch"), text("ii")});
  CHECK(shape(k, "u_fetch") == "10, 10");
  CHECK(shape(k, "u_fetch_fetch") == "4, 3");
  for (const int n : {1, 8, 13}) CHECK(same_values(before, k, {{"n", n}}));
}

TEST_CASE("add_prefetch: scalars, predicates and subscripts of what is written") {
  const Kernel before = parsed(R"(kernel s(n: int32, s: float64, q: int32[n], c: float64[n, 4])
domain {[i, j]: 0 <= i < n and 0 <= j < 4}
c[i, j] = s*j  {id=c, if=q[i] > 0}
)");
  const Kernel scalar = apply(before, "add_prefetch", {text("s"), text("")});
  CHECK(line(scalar, "s_fetch_rule") == "s_fetch = s");
  CHECK(line(scalar, "c") == "c[i, j] = s_fetch*j");
  const Kernel predicate = apply(before, "add_prefetch", {text("q"), text("i")});
  CHECK(to_string(predicate.find_insn("c")->predicates) == "q_fetch[i] > 0");
  CHECK(same_values(before, scalar, {{"n", 5}}));
  CHECK(same_values(before, predicate, {{"n", 5}}));
}

TEST_CASE("add_prefetch: names, tags and places that the caller chooses") {
  const Kernel before = tiled(kProduct, {{"i", 4}, {"k", 5}});
  const Kernel k =
      apply(before, "add_prefetch", {text("a"), text("i_inner, k_inner"), text("x, y")},
            {{"default_tag", text("unr")},
             {"fetch_outer_inames", text("i_outer, k_outer, j")},
             {"prefetch_insn_id", text("get")},
             {"rule_name", text("tile")},
             {"temporary_address_space", text("private")},
             {"temporary_name", text("at")}});
  CHECK(line(k, "get") == "at[x, y] = a[x + 4*i_outer, y + 5*k_outer]");
  CHECK(k.find_insn("get")->inames == std::set<std::string>{"i_outer", "j", "k_outer", "x", "y"});
  CHECK(k.tag("x")->text == "unr");
  CHECK(k.find_temporary("at")->space == AddressSpace::Private);
  CHECK(same_values(before, k, {{"n", 5}, {"m", 2}, {"l", 6}}));
}

TEST_CASE("add_prefetch: an array that is written between the copy and a read") {
  const Kernel k = parsed(R"(kernel s(n: int32, m: int32, a: float64[n + 1], c: float64[n])
domain {[t, i]: 0 <= t < m and 0 <= i < n}
a[i + 1] = a[i] + t  {id=step}
)");
  CHECK(refusal([&] {
          apply(k, "add_prefetch", {text("a"), text("i")});
        }) ==
        "step[t=0, i=0] writes a[1], which a_fetch_rule[a_dim_0=1] reads; step[t=0, i=0] must "
        "run before a_fetch_rule[a_dim_0=1], and with `a_fetch_rule` it does not (m=1, n=2) "
        "[stale-value]");
  const Kernel swept = parsed(R"(kernel s(n: int32, m: int32, a: float64[n], b: float64[n])
domain {[t, i, j]: 0 <= t < m and 0 <= i, j < n}
b[i] = a[i] + t  {id=read}
a[j] = b[j]*t  {id=write}
)");
  // Once per t is right, once for all t is not.
  const Kernel out = apply(swept, "add_prefetch", {text("a"), text("i")});
  CHECK(tree(out) ==
        "for t\n  for a_dim_0\n    a_fetch_rule\n  for i\n    read\n  for j\n    write\n");
  CHECK(same_values(swept, out, {{"n", 3}, {"m", 3}}));
  CHECK(refusal([&] {
          apply(swept, "add_prefetch", {text("a"), text("t, i")});
        }) == "no selected use of `a` depends on `t`; there is nothing to sweep [unused-sweep]");
}

TEST_CASE("add_prefetch: what it refuses") {
  const Kernel k = parsed(R"(kernel s(n: int32, a: float64[n, n], q: int32[n], c: float64[n])
domain {[i, j]: 0 <= i, j < n}
c[i] = a[i, 0] + a[i, q[i]] {id=c}
c[j] = c[j] + a[j, j]  {id=d}
)");
  const auto say = [&](ValueList args, ValueDict options = {}) {
    return refusal([&] { apply(k, "add_prefetch", args, options); });
  };
  CHECK(say({text("z"), text("i")}) ==
        "bad argument #2 to 'add_prefetch' (no array 'z' in kernel 's'; it has 'n', 'a', 'q', "
        "'c') [bad-argument]");
  CHECK(say({text("n + 1"), text("i")}) ==
        "`n + 1` is not an array `a`, `a$tag` or `a[i, :]` [bad-argument]");
  CHECK(say({text("a"), text("j"), text("x, y, z")}, {{"within", text("id:d")}}) ==
        "3 names are given for the 2 axes of `a` [bad-inames]");
  CHECK(say({text("a"), text("z")}) ==
        "bad argument #3 to 'add_prefetch' (kernel 's' has no iname 'z'; it has i, j) "
        "[bad-argument]");
  CHECK(say({text("a"), text("i")}, {{"within", text("id:c")}}) ==
        "argument `q[i]` of `a` is not a sum of inames and parameters, so that its footprint is "
        "not known [non-affine-argument]");
  CHECK(say({text("a[i]"), text("i")}) == "`a` has 2 axes, but a footprint has 1 [bad-footprint]");
  CHECK(say({text("a[i, 1:3]"), text("i")}) ==
        "`1:3` is part of an axis; only `:` is a footprint [bad-footprint]");
  CHECK(say({text("a[q[i], :]"), text("i")}) ==
        "the footprint `q[i], any` is not affine [bad-footprint]");
  CHECK(say({text("a[0, :]")}, {{"within", text("id:d")}}) ==
        "no use of `a` is within the given footprint [no-match]");
  CHECK(say({text("a"), text("j")}, {{"footprint_subscripts", number(3)}}) ==
        "a footprint is written as its subscripts, `\"i, :\"` [bad-argument]");
  CHECK(say({text("a"), text("j")}, {{"rule_name", text("c")}}) ==
        "the name `c` is in use in kernel `s` [name-taken]");
  CHECK(say({text("a"), text("j")}, {{"within", text("id:nothing")}}) ==
        "no use of `a` is selected [no-match]");
  CHECK(message([&] {
          apply(parsed("kernel s(n: int32, a: float64[n])\ndomain {[i]: 0 <= i < n}\na[i] = 1\n"),
                "add_prefetch", {text("a"), text("i")});
        }) == "no instruction of kernel `s` reads `a`");
}

TEST_CASE("add_prefetch: reads inside rules, which stay rules") {
  const Kernel k = parsed(R"(kernel k(n: int32, x: in float64[n + 2], y: out float64[n])
domain {[i]: 0 <= i < n}
d(p) := x[p + 2] - x[p]
y[i] = d(i)  {id=y}
)");
  const Kernel tile = apply(k, "split_iname", {text("i"), number(4)});
  const Kernel out = apply(tile, "add_prefetch", {text("x"), text("i_inner")});
  CHECK(shape(out, "x_fetch") == "6");
  REQUIRE(out.rules.size() == 1);
  CHECK(to_string(out.rules[0].body) == "x_fetch[p - 4*i_outer + 2] - x_fetch[p - 4*i_outer]");
  CHECK(line(out, "y") == "y[i_inner + 4*i_outer] = d(i_inner + 4*i_outer)");
  for (const int n : {1, 4, 11}) CHECK(same_values(k, out, {{"n", n}}));
  // Its text says the same.
  const Kernel again = parsed(print_kernel(out));
  CHECK(print_kernel(again) == print_kernel(out));
  for (const int n : {1, 4, 11}) CHECK(same_values(k, again, {{"n", n}}));
}

TEST_CASE("add_prefetch: rules that call one another stay, whichever array comes first") {
  const Kernel k = parsed(R"(
kernel tim(K: int32, u: float64[K, 4, 4], D: float64[4, 4], lap: float64[K, 4, 4])
domain {[i, j, e, m, o]: 0 <= i, j, m, o < 4 and 0 <= e < K}
ur(a, b) := simul_reduce(sum, o, D[a, o]*u[e, o, b])
lap[e, i, j] = simul_reduce(sum, m, D[m, i]*ur(m, j))  {id=lap}
)");
  const Kernel d = apply(k, "add_prefetch", {text("D[:,:]")}, {{"default_tag", text("for")}});
  REQUIRE(d.find_rule("ur") != nullptr);
  CHECK(to_string(d.find_rule("ur")->body) == "simul_reduce(sum, o, D_fetch[a, o]*u[e, o, b])");
  const Kernel both = apply(d, "precompute", {text("ur"), text("m, j")});
  CHECK(both.rules.empty());
  const Kernel other = apply(apply(k, "precompute", {text("ur"), text("m, j")}), "add_prefetch",
                             {text("D[:,:]")}, {{"default_tag", text("for")}});
  for (const Kernel* out : {&d, &both, &other}) CHECK(same_values(k, *out, {{"K", 3}}));
}

TEST_CASE("add_prefetch: tags that the loops of a copy get later decide who shares it") {
  const Kernel k = parsed(R"(kernel k(n: int32, a: float64[n, 16], b: float64[n, 16])
domain {[i, j, m]: 0 <= i < n and 0 <= j, m < 16}
b[i, j] = sum(m, a[i, m]*m)
)");
  Kernel out = apply(k, "tag_inames", {text("i:g.0, j:l.0")});
  out = apply(out, "add_prefetch", {text("a"), text("m"), text("f0, f1")},
              {{"fetch_outer_inames", text("i")}, {"default_tag", flag(false)}});
  CHECK(out.find_temporary("a_fetch")->space == AddressSpace::Auto);
  out = apply(out, "tag_inames", {text("f1:l.0")});
  CHECK(same_values(k, out, {{"n", 3}}));
}

TEST_CASE("add_prefetch: a footprint may say what an iname was before it was split or renamed") {
  const Kernel k = parsed(R"(kernel k(n: int32, a: float64[n, 8], c: float64[n, 8], b: float64[n])
domain {[i, j]: 0 <= i < n and 0 <= j < 8}
b[i] = sum(j, a[i, j] + c[i, j])  {id=b}
)");
  Kernel out = apply(k, "split_iname", {text("i"), number(16)});
  out = apply(out, "split_iname", {text("i_inner"), number(4)}, {{"outer_iname", text("p")}});
  out = apply(out, "rename_iname", {text("p"), text("q")});
  out = apply(out, "add_prefetch", {text("a[i, :]"), text("i_inner_inner")});
  out = apply(out, "add_prefetch", {text("c[i, :]"), text("i_inner_inner, q")});
  CHECK(shape(out, "a_fetch") == "4, 8");
  CHECK(shape(out, "c_fetch") == "16, 8");
  for (const int n : {1, 16, 37}) CHECK(same_values(k, out, {{"n", n}}));
  CHECK(message([&] {
          apply(k, "add_prefetch", {text("a[h, :]"), text("j")});
        }).find("`h` is not an iname of kernel `k`; it has `i`, `j`") != std::string::npos);
}

TEST_CASE("add_prefetch: a footprint may name inames that were joined, mapped or cut in pieces") {
  const Kernel k =
      parsed(R"(kernel k(n: int32, a: float64[n, 8], c: float64[n, 8], b: float64[n, 8])
domain {[i, j]: 0 <= i < n and 0 <= j < 8}
domain {[q]: 0 <= q < 8}
b[i, j] = sum(q, a[i, q] + c[i, q])  {id=b}
)");
  const auto with_copies = [](Kernel out) {  // the second one finds the names after the first
    out = apply(out, "add_prefetch", {text("a[i, :]"), text("")});
    return apply(out, "add_prefetch", {text("c[i, :]"), text("")});
  };
  const Kernel joined = with_copies(apply(k, "join_inames", {text("i, j")}));
  CHECK(shape(joined, "c_fetch") == "8");
  const Kernel turned =
      with_copies(apply(k, "map_domain", {text("{[i, j] -> [x, y]: x = i + j and y = j}")}));
  CHECK(shape(turned, "c_fetch") == "8");
  const Kernel cut = with_copies(apply(k, "chunk_iname", {text("i"), number(4)}));
  CHECK(shape(cut, "c_fetch") == "8");
  Kernel chain = apply(k, "split_iname", {text("i"), number(4)});
  chain = apply(chain, "join_inames", {text("i_inner, j")}, {{"new_iname", text("ij")}});
  chain = with_copies(apply(chain, "rename_iname", {text("ij"), text("w")}));
  CHECK(shape(chain, "c_fetch") == "8");
  for (const Kernel& out : {joined, turned, cut, chain})
    for (const int n : {1, 5, 16}) CHECK(same_values(k, out, {{"n", n}}));
  // A name that is taken again means the iname that has it.
  Kernel again = apply(k, "join_inames", {text("i, j")}, {{"new_iname", text("ij")}});
  again = apply(again, "add_prefetch", {text("a[i, :]"), text("")});
  again = apply(again, "split_iname", {text("ij"), number(8)},
                {{"outer_iname", text("j")}, {"inner_iname", text("i")}});
  again = apply(again, "tag_inames", {text("j:g.0")});
  again = apply(again, "split_iname", {text("i"), number(2)});
  for (const int n : {1, 5}) CHECK(same_values(k, again, {{"n", n}}));
}

TEST_CASE("add_prefetch: elements of a temporary that nothing writes are not copied") {
  // Found by the differential test.
  const Kernel k = parsed(R"(kernel k(n: int32, a: float64[n + 3], b: float64[n])
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j <= 1}
<float64> t[3*j] = a[i + 3*j]  {id=w, inames=i:j}
b[i] = t[0] + t[3]  {id=b}
)");
  const Kernel out = apply(k, "add_prefetch", {text("t")});
  for (const int n : {1, 5}) CHECK(same_values(k, out, {{"n", n}}));
  CHECK(code_of([&] { complete(out); }) == "legal");
}

TEST_CASE("add_prefetch: a subscript that reads the copy is still the same access") {
  const Kernel k = parsed(R"(
kernel k(n: int32, f: int32[n], h: int32[n + 7], d: in int32[n], p: in int32[n, n])
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j < n}
domain {[l]: 0 <= l < n and j - 1 <= l <= j + 1}
h[i] = h[i] - p[i, j]  {id=sum, inames=i:j:l, atomic}
f[l] = h[d[l] % 7]     {id=use, inames=i:j:l}
)");
  // The copy of d[l] is in the loop over l only, which comes outside of the others then.
  CHECK(refusal([&] {
          apply(k, "add_prefetch", {text("d"), text("j")}, {{"default_tag", flag(false)}});
        }).find("sum[l=0, i=0, j=1] would run before use[l=1, i=0, j=0]") == 0);
  const Kernel whole =
      apply(k, "add_prefetch", {text("d"), text("j,l")}, {{"default_tag", flag(false)}});
  CHECK(same_values(k, whole, {{"n", 5}}));
}

TEST_CASE("add_prefetch: a box of a temporary that is not written in all of it") {
  const Kernel k = parsed(R"(
kernel k(n: int32, a: float64[n])
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j < n}
<> t[2*i] = a[i]  {id=first, inames=i}
a[j] = t[2*j]     {id=second, inames=j}
)");
  const std::string why = refusal([&] {
    apply(k, "add_prefetch", {text("t"), text("j")},
          {{"default_tag", flag(false)}, {"fetch_bounding_box", flag(true)}});
  });
  CHECK(why.find("[undefined-read]") != std::string::npos);
  CHECK(why.find("without fetch_bounding_box the copy takes only the elements that are read") !=
        std::string::npos);
  const Kernel read =
      apply(k, "add_prefetch", {text("t"), text("j")}, {{"default_tag", flag(false)}});
  CHECK(same_values(k, read, {{"n", 5}}));
}

// Found by the differential test (5126659).
TEST_CASE("add_prefetch: a box of a buffer that holds less, in a loop that both share") {
  const Kernel k = parsed(R"(
kernel k(n: int32, a: float64[3*n + 12], b: float64[n], c: float64[3*n + 12])
domain {[i]: 0 <= i and 2*i < n}
domain {[j]: 0 <= j < n - i}
temp t: float64
assume n >= 5
t = a[j + 1] + b[i]        {id=set, inames=i:j}
c[n - i + 2] = t + a[2*i + 2]  {id=use, inames=i:j, dep=set}
)");
  const Kernel buffered = apply(k, "buffer_array", {text("a"), text("i")});
  const auto fetch = [&](bool box) {
    return apply(
        buffered, "add_prefetch", {text("a_buf"), text("i")},
        {{"fetch_bounding_box", flag(box)}, {"fetch_outer_inames", Value{ValueList{text("j")}}}});
  };
  const std::string why = refusal([&] { fetch(true); });
  CHECK(why.find("[undefined-read]") != std::string::npos);
  CHECK(why.find("without fetch_bounding_box the copy takes only the elements that are read") !=
        std::string::npos);
  CHECK(same_values(k, fetch(false), {{"n", 6}}));
}

TEST_CASE("add_prefetch: the largest footprint over a loop whose bounds are computed") {
  const Kernel k = parsed(R"(
kernel k(n: int32, b: float32[n + 12], q: float32[n + 12, n + 12], cnt: in int32[n])
domain {[i]: 0 <= i < n}
domain {[m]: 0 <= m < len}
<int32> len = cnt[i] % 5                            {id=length, inames=i}
b[m + 2] = 0.25*(max(q[m + 2, m], q[m + 3, 1]))     {id=use, inames=i:m}
)");
  CHECK(refusal([&] {
          apply(k, "add_prefetch", {text("q"), text("")}, {{"default_tag", flag(false)}});
        }) ==
        "the footprint of `q` depends on the temporary `len`; its size is not known before the "
        "kernel runs [data-dependent-footprint]");
}

TEST_CASE("add_prefetch: a condition is read where those before it hold") {
  const Kernel k = parsed(R"(
kernel k(n: int32, d: in int32[n], a: int32[n])
domain {[i]: 0 <= i < n + 4}
assume n >= 1
if i >= 2
  if i < n + 2
    a[i - 2] = i  {id=use, if=d[i - 2] % 3 > 0}
  end
end
)");
  const Kernel read =
      apply(k, "add_prefetch", {text("d"), text("i")}, {{"default_tag", flag(false)}});
  CHECK(shape(read, "d_fetch") == "n");
  CHECK(line(read, "d_fetch_rule") == "d_fetch[d_dim_0] = d[d_dim_0]");
  CHECK(same_values(k, read, {{"n", 5}}));
}

// Differential test, seed 3002000: x[i // 2] at i = 4*o + 1 and 4*o + 3 is every other element.
TEST_CASE("add_prefetch: between the elements that are read, and not before the first of them") {
  const Kernel k = parsed(R"(
kernel k(n: int32, x: in float64[3*n + 12], q: float64[3*n + 12])
domain {[o, i]: 0 <= i < 4 and 0 <= o and i + 4*o < n}
assume n >= 5
q[i + 4*o] = x[i + 4*o + 2] - x[(i + 4*o) // 2]  {if=(i + 4*o) % 2 == 1}
)");
  const Kernel read =
      apply(k, "add_prefetch", {text("x"), text("o")}, {{"default_tag", flag(false)}});
  CHECK(same_values(k, read, {{"n", 5}}));
  CHECK(same_values(k, read, {{"n", 14}}));
}

// Differential test, seed 22500729: chunks of chunks left too many parts to generate code for.
TEST_CASE("add_prefetch: elements in many parts are copied with those between them") {
  const Kernel k = parsed(R"(
kernel k(n: int32, a: float32[3*n + 12], p: float32[3*n + 12, 3*n + 12])
domain {[j]: 0 <= j < n}
assume n >= 5
a[j + 2] = 0.25*p[j, j + 3]  {if=j % 2 == 1}
)");
  const Kernel chunks = apply(k, "chunk_iname", {text("j"), number(3)});
  const Kernel read =
      apply(chunks, "add_prefetch", {text("p"), text("j_outer")}, {{"default_tag", flag(false)}});
  CHECK(read.find_insn("p_fetch_rule")->predicates.empty());
  const Kernel again = apply(read, "chunk_iname", {text("j_inner"), number(4)});
  for (const int n : {5, 6, 13, 26}) {
    CHECK(same_values(k, read, {{"n", n}}));  // the interpreter checks that reads are inside
    CHECK(same_values(k, again, {{"n", n}}));
  }
}

// Differential test, seed 27200930: one of the parts had no bounds.
TEST_CASE("add_prefetch: loops over elements in many parts are bounded") {
  const Kernel k = parsed(R"(
kernel k(n: int32, c: int32[3*n + 12], q: int32[3*n + 12, 3*n + 12])
domain {[i]: 0 <= i < n and i mod 2 = 0}
domain {[j]: 0 <= j < n - i}
assume n = 12
c[j + 1] = q[n - j + 3, j // 2 + 2] - q[j + 2, 2*i] + q[j + 1, j // 2]  {inames=i:j}
)");
  const Kernel read = apply(k, "add_prefetch", {text("q"), text("")},
                            {{"default_tag", flag(false)}, {"fetch_bounding_box", flag(true)}});
  for (const Domain& d : read.domains) CHECK(is_bounded(d.set));
  CHECK(same_values(k, read, {{"n", 12}}));
}
