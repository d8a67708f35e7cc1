#include "transforms/map_domain.h"

#include "loop_kit.h"
#include "same_values.h"
#include "transforms/prioritize_loops.h"

using namespace moonloop;

namespace {
Kernel square(const std::string& statement = "c[i, j] = 1.0") {
  return parsed("kernel f\ndomain {[i, j]: 1 <= i < n and 1 <= j < n}\n" + statement + " {id=w}\n");
}
Kernel row(const std::string& statement = "c[i] = 1.0", const std::string& domain = "0 <= i < n") {
  return parsed("kernel f\ndomain {[i]: " + domain + "}\n" + statement + " {id=w}\n");
}
}  // namespace

TEST_CASE("map_domain: a skewed nest with an iname that stays") {
  const Kernel before = square();
  const Kernel k = map_domain(before, "{ [i, j] -> [t, j] : t = i + j }");
  CHECK(line(k, "w") == "c[t - j, j] = 1.0");
  CHECK(k.inames() == std::vector<std::string>{"t", "j"});
  CHECK(same_set(k.domains[0].set, "{[t, j]: 1 <= t - j < n and 1 <= j < n}"));
  CHECK(conserves(before, k));
}

TEST_CASE("map_domain: reversal, shift, interchange, tiling, strides and parities") {
  const Kernel one = row();
  CHECK(line(map_domain(one, "[n] -> { [i] -> [r] : r = n - 1 - i }"), "w") ==
        "c[n - r - 1] = 1.0");
  for (const char* map :
       {"[n] -> { [i] -> [r] : r = n - 1 - i }", "{ [i] -> [p] : p = i + 7 }",
        "{ [i] -> [p] : p = 3i }", "{ [i] -> [t, u] : i = 32*t + u and 0 <= u < 32 }",
        "{ [i] -> [h, p] : h = floor(i/2) and p = i mod 2 }"}) {
    CAPTURE(map);
    CHECK(conserves(one, map_domain(one, map)));
  }
  const Kernel even = row("c[i] = 1.0", "0 <= i < n and i mod 2 = 0");
  const Kernel half = map_domain(even, "{ [i] -> [h] : i = 2h }");
  CHECK(same_set(half.domains[0].set, "{[h]: 0 <= 2h < n}"));
  CHECK(conserves(even, half));
  const Kernel two = square();
  const Kernel swapped = map_domain(two, "{ [i, j] -> [j, i] }");
  CHECK(swapped.loop_order == std::vector<std::string>{"j", "i"});
  CHECK(tree(swapped) == "for j\n  for i\n    w\n");
  CHECK(conserves(two, swapped));
}

TEST_CASE("map_domain: a part of a triangular domain, and a child's bounds") {
  const Kernel one =
      parsed("kernel f\ndomain {[i, j]: 0 <= i < n and 0 <= j <= i}\nc[i, j] = 1.0 {id=w}\n");
  CHECK(conserves(one, map_domain(one, "{ [j] -> [q] : q = -j }")));
  const Kernel two = parsed(
      "kernel f\ndomain {[i]: 0 <= i < n}\ndomain {[j]: 0 <= j <= i}\nc[i, j] = 1.0 {id=w}\n");
  CHECK(conserves(two, map_domain(two, "{ [i] -> [io, ii] : i = 4 io + ii and 0 <= ii < 4 }")));
}

TEST_CASE("map_domain: does as split_iname does") {
  const Kernel before = row();
  const Kernel k = map_domain(before, "{ [i] -> [t, u] : i = 32*t + u and 0 <= u < 32 }");
  CHECK(same_set(k.domains[0].set, "{[t, u]: 0 <= u < 32 and 0 <= 32*t + u < n}"));
  CHECK(line(k, "w") == "c[32*t + u] = 1.0");
}

TEST_CASE("map_domain: reductions over all of the inames") {
  const Kernel before = parsed(
      "kernel f\ndomain {[i]: 0 <= i < n}\ndomain {[j, k]: 0 <= j < n and 0 <= k < n}\n"
      "c[i] = sum((j, k), a[i, j, k]) {id=w}\n");
  const Kernel k = map_domain(before, "{ [j, k] -> [s, d] : s = j + k and d = k }");
  CHECK(line(k, "w") == "c[i] = sum((s, d), a[i, s - d, d])");
  CHECK(conserves(before, k));
}

TEST_CASE("map_domain: skewing makes an interchange legal") {
  const Kernel k = square("a[i, j] = a[i-1, j+1]");
  CHECK(code_of([&] { map_domain(k, "{ [i, j] -> [j, i] }"); }) == "breaks-order");
  const Kernel skewed = map_domain(k, "{ [i, j] -> [i, s] : s = i + j }");
  CHECK(code_of([&] { prioritize_loops(skewed, {"s", "i"}); }) == "legal");
}

TEST_CASE("map_domain: reversal of a recurrence is refused with two instances") {
  CHECK(
      message([] { map_domain(row("a[i] = a[i-1]", "1 <= i < n"), "{ [i] -> [r] : r = -i }"); }) ==
      "w[r=-2] would run before w[r=-1], but w[r=-1] writes a[1] and w[r=-2] reads it (n=3)");
  CHECK(code_of([] {
          map_domain(row("a[i] = a[i-1]", "1 <= i < n"), "{ [i] -> [r] : r = i - 1 }");
        }) == "legal");
}

TEST_CASE("map_domain: a map that loses instances") {
  CHECK(message([] { map_domain(row(), "{ [i] -> [p] : p = i and i >= 3 }"); }) ==
        "the map has no image of `w[i=0]` when n = 1, which would be lost");
  CHECK(message([] {
          map_domain(row("c[i] = 1.0", "3 <= i < n"), "{ [i] -> [p] : p = i and i >= 3 }");
        }) == "legal");
  CHECK(message([] { map_domain(row(), "{ [i] -> [h] : i = 2h }"); }) ==
        "the map has no image of `w[i=1]` when n = 2, which would be lost");
}

TEST_CASE("map_domain: a map that doubles instances, and one that merges them") {
  CHECK(message([] { map_domain(row(), "{ [i] -> [p] : i <= p <= i + 1 }"); }) ==
        "`w[i=0]` has two images when n = 1, `[p=0]` and `[p=1]`, and would run twice");
  CHECK(message([] { map_domain(row(), "{ [i] -> [p] : p = floor(i/2) }"); }) ==
        "`w[i=0]` and `w[i=1]` have the same image when n = 2, `[p=0]`");
  CHECK(message([] { map_domain(square(), "{ [i, j] -> [p] : p = i + j }"); }) != "legal");
}

TEST_CASE("map_domain: what else it refuses") {
  const Kernel k = square();
  CHECK(message([&] { map_domain(k, "i -> j"); }) ==
        "`i -> j` is not a map: it needs the form `{ [i] -> [j] : conditions }`");
  CHECK(code_of([&] { map_domain(k, "{ [i] -> [p : p = i }"); }) == "bad-map");
  CHECK(message([&] { map_domain(k, "[n] -> { [i] -> [n - i] }"); }) ==
        "output 1 of `[n] -> { [i] -> [n - i] }` has no name of its own");
  CHECK(message([&] { map_domain(k, "{ [z] -> [p] : p = z }"); }) ==
        "no iname `z` in kernel `f`; it has `i`, `j`");
  CHECK(message([&] { map_domain(k, "{ [i] -> [c] : c = i }"); }) ==
        "the name `c` is in use in kernel `f`");
  const Kernel apart =
      parsed("kernel f\ndomain {[i]: 0 <= i < n}\ndomain {[j]: 0 <= j < n}\nc[i, j] = 1.0\n");
  CHECK(message([&] { map_domain(apart, "{ [i, j] -> [t, j] : t = i + j }"); }) ==
        "the bounds of `i` and `j` are in different domains; only inames of one domain can be "
        "mapped together");
  CHECK(message([&] {
          map_domain(apply(k, "tag_inames", {text("i:par")}), "{ [i] -> [p] : p = i }");
        }) == "`i` is tagged `par`; map the domain first, then tag");
  const Kernel some = parsed(
      "kernel f\ndomain {[i, j]: 0 <= i < n and 0 <= j < 4}\n"
      "b[i] = 1.0 {id=x}\nc[i, j] = 2.0 {id=y}\n");
  CHECK(message([&] { map_domain(some, "{ [i, j] -> [t, j] : t = i + j }"); }) ==
        "mapping `i`, `j`: instruction `x` is inside the loop over `i` but not `j`; "
        "`duplicate_inames(\"i\", \"id:x\")` gives it loops of its own");
  const Kernel apart_now = apply(some, "duplicate_inames", {text("i"), text("id:x")});
  CHECK(code_of([&] { map_domain(apart_now, "{ [i, j] -> [t, j] : t = i + j }"); }) == "legal");
}

TEST_CASE("map_domain: loops that stay hold other statements too") {
  const Kernel k = parsed(R"(
kernel jac(steps: int32, n: int32, A: inout float64[n], B: inout float64[n])
domain {[t, i, j]: 0 <= t < steps and 1 <= i < n - 1 and 1 <= j < n - 1}
assume n >= 3 and steps >= 1
for t
  B[i] = A[i - 1] + A[i + 1]   {id=b}
  A[j] = B[j - 1] + B[j + 1]   {id=a}
end
)");
  const Kernel out = map_domain(k, "{ [t, i] -> [t, x] : x = 2*t + i }");
  CHECK(tree(out) == "for t\n  for x\n    b\n  for j\n    a\n");
  CHECK(line(out, "b") == "B[x - 2*t] = A[x - 2*t - 1] + A[x - 2*t + 1]");
  CHECK(conserves(k, out));
  for (const int steps : {1, 3}) CHECK(same_values(k, out, {{"steps", steps}, {"n", 6}}));
  // All loops that change have to be around it: `b` is in i, but not in j.
  CHECK(message([&] { map_domain(k, "{ [t, i, j] -> [t, x, j] : x = i + j }"); }) ==
        "mapping `t`, `i`, `j`: instruction `b` is inside the loop over `t`, `i` but not `j`; "
        "`duplicate_inames(\"t, i\", \"id:b\")` gives it loops of its own");
}

TEST_CASE("map_domain: a reduction's variable goes by a loop around it") {
  const Kernel k = parsed(R"(
kernel f(n: int32, a: float64[n, 2*n], c: float64[n], d: float64[n])
domain {[i, j]: 0 <= i, j < n}
c[i] = sum(j, a[i, i + j])  {id=c}
d[i] = 1  {id=d}
)");
  const Kernel out = map_domain(k, "{ [i, j] -> [i, s] : s = i + j }");
  CHECK(line(out, "c") == "c[i] = sum(s, a[i, s])");
  CHECK(same_values(k, out, {{"n", 4}}));
  const Kernel all = parsed(
      "kernel f(n: int32, a: float64[n, n], c: float64[1])\ndomain {[i, j]: 0 <= i, j < n}\n"
      "c[0] = sum(j, a[0, j]) {id=c, inames=}\na[i, i] = 1\n");
  CHECK(message([&] { map_domain(all, "{ [i, j] -> [i, s] : s = i + j }"); }) ==
        "mapping `i`, `j`: the reduction `sum(j, a[0, j])` is over `j` but not over `i`");
}

TEST_CASE("map_domain: the places of loops in the nest and in priorities are kept") {
  const Kernel k = parsed(R"(
kernel f(n: int32, a: float64[n, n, n])
domain {[t, i, j]: 0 <= t, i, j < n}
a[t, i, j] = 1  {id=a}
)");
  CHECK(tree(map_domain(k, "{ [t, j] -> [t, x] : x = t + j }")) ==
        "for t\n  for i\n    for x\n      a\n");
  CHECK(tree(map_domain(k, "{ [t, j] -> [x, t] : x = t + j }")) ==
        "for x\n  for i\n    for t\n      a\n");
  const Kernel nested = prioritize_loops(k, {"j", "i", "t"});
  const Kernel out = map_domain(nested, "{ [i, j] -> [j, x] : x = i + j }");
  CHECK(tree(out) == "for j\n  for x\n    for t\n      a\n");
  CHECK(out.priorities == std::vector<std::vector<std::string>>{{"j", "x", "t"}});
}

TEST_CASE("map_domain: diamond tiles of a wave equation") {
  const Kernel before = parsed(R"(
kernel wave(nx: int32, nt: int32, dx: float64, dt: float64, u: inout float64[nx, nt + 2])
domain {[it, ix]: 1 <= ix < nx - 1 and 0 <= it < nt}
assume nx >= 3 and nt >= 1
u[ix, it + 2] = (2*u[ix, it + 1] - u[ix, it]
                 + dt**2/dx**2*(u[ix + 1, it + 1] - 2*u[ix, it + 1] + u[ix - 1, it + 1]))  {id=wave}
)");
  const auto diamonds = [](const std::string& loops) {
    return "{ [ix, it] -> [" + loops +
           "] : 16*(tx - tt) + itx - itt = ix - it and 16*(tx + tt + parity) + itt + itx = ix + it "
           "and 0 <= parity < 2 and 0 <= itx - itt < 16 and 0 <= itt + itx < 16 }";
  };
  Kernel k = map_domain(before, diamonds("tt, parity, tx, itt, itx"));
  k = prioritize_loops(k, {"tt", "parity", "tx", "itt", "itx"});
  CHECK(tree(k) ==
        "for tt\n  for parity\n    for tx\n      for itt\n        for itx\n          wave\n");
  CHECK(conserves(before, k));
  for (const Params& p : {Params{{"nx", 3}, {"nt", 1}}, {{"nx", 40}, {"nt", 25}}})
    CHECK(same_values(before, k, p));
  // The tiles of a row may run at the same time, and the points of a tile at one time; no others.
  CHECK(code_of([&] { apply(k, "tag_inames", {text("tx:g.0")}); }) == "legal");
  CHECK(code_of([&] { apply(k, "tag_inames", {text("itx:l.0")}); }) == "legal");
  CHECK(code_of([&] { apply(k, "tag_inames", {text("parity:g.0")}); }) == "races");
  CHECK(code_of([&] { apply(k, "tag_inames", {text("itt:l.0")}); }) == "breaks-order");
  // New loops nest as they are listed: along a row of tiles first, values would not be there yet.
  CHECK(code_of([&] { map_domain(before, diamonds("tx, tt, parity, itt, itx")); }) ==
        "breaks-order");
}

// The pieces of a strided loop that depend on an outer one: as a set they take isl minutes.
TEST_CASE("map_domain: what is one to one everywhere is so on any points") {
  const auto mapped = [](const std::string& map) {
    Kernel k = parsed(R"(
kernel kk(n: int32, a: uint32[2*n + 16])
domain {[i]: 1 <= i < n}
domain {[j]: 0 <= j < n and (j + i) mod 2 = 0}
assume n >= 0
for i, j
  a[i + j] = 1  {id=s2}
end
)");
    k = apply(k, "chunk_iname", {text("j"), number(3)});
    return code_of([&] { apply(k, "map_domain", {text(map)}); });
  };
  CHECK(mapped("{ [j_outer] -> [t] : t = j_outer + 2 }") == "legal");
  // Where it is not, the points decide, or their number of cases is too large for a proof.
  const std::string code = mapped("{ [j_outer] -> [t] : t = 2*j_outer and j_outer < 2 }");
  CHECK((code == "drops-instance" || code == "too-complex"));
}

// The least int32 and the least int64 have different remainders: what the loop says keeps its type.
TEST_CASE("map_domain: a reduction over nothing has the neutral element of its type") {
  const Kernel k = parsed(
      "kernel f(n: int32, c: int64[n])\ndomain {[m]: 0 <= m < n}\ndomain {[i]: n <= i < n}\n"
      "c[m] = reduce(max, i, i % 101) % 1009 {id=w}\n");
  const Kernel mapped = map_domain(k, "{[i] -> [u]: u = i + 3}");
  CHECK(line(mapped, "w") == "c[m] = reduce(max, u, (u - 3) % 101) % 1009");
  CHECK(same_values(k, mapped, {{"n", 3}}));
}
