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
        "`i -> j` is no map: it needs the form `{ [i] -> [j] : conditions }`");
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
        "the bounds of `i` and `j` stand in different domains; only inames of one domain can be "
        "mapped together");
  CHECK(message([&] {
          map_domain(prioritize_loops(k, {"i", "j"}), "{ [i] -> [p] : p = i }");
        }) == "the priority `i`, `j` names `i`; map the domain first, then prioritize");
  CHECK(message([&] {
          map_domain(apply(k, "tag_inames", {text("i:par")}), "{ [i] -> [p] : p = i }");
        }) == "`i` is tagged `par`; map the domain first, then tag");
  const Kernel some = parsed(
      "kernel f\ndomain {[i, j]: 0 <= i < n and 0 <= j < 4}\n"
      "b[i] = 1.0 {id=x}\nc[i, j] = 2.0 {id=y}\n");
  CHECK(message([&] { map_domain(some, "{ [i, j] -> [t, j] : t = i + j }"); }) ==
        "mapping `i`, `j`: instruction `x` is inside the loop over `i` but not `j`");
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
