#include "transforms/skewed_tiles.h"

#include "loop_kit.h"
#include "same_values.h"

using namespace moonloop;

namespace {

Kernel tiled(const Kernel& k, const std::string& iname, const AlongByInstruction& along,
             std::int64_t size = 3) {
  return skewed_tiles(k, iname, along, size, "", {});
}
std::string said(const Kernel& k, const std::string& iname, const AlongByInstruction& along,
                 std::int64_t size = 3) {
  return message([&] { tiled(k, iname, along, size); });
}
std::string code_of(const Kernel& k, const std::string& iname, const AlongByInstruction& along,
                    std::int64_t size = 3) {
  try {
    tiled(k, iname, along, size);
  } catch (const Error& e) { return e.diagnostic().code; }
  return "";
}

/// Two sweeps, one into the other array, in each step.
Kernel sweeps() {
  return parsed(
      "kernel f(n: int32, m: int32, a: float64[n], b: float64[n])\n"
      "domain {[t]: 0 <= t < m}\ndomain {[i]: 1 <= i < n - 1}\ndomain {[j]: 1 <= j < n - 1}\n"
      "for t\nb[i] = a[i - 1] + a[i + 1] {id=p}\na[j] = b[j - 1] + b[j + 1] {id=q}\nend\n");
}

/// In place, in one domain with the loop over time.
Kernel in_place() {
  return parsed(
      "kernel f(n: int32, m: int32, a: float64[n])\n"
      "domain {[t, i]: 0 <= t < m and 1 <= i < n - 1}\n"
      "a[i] = a[i - 1] + a[i] + a[i + 1] {id=p, inames=t:i}\n");
}

}  // namespace

TEST_CASE("skewed_tiles: sweeps of several steps run tile by tile") {
  const Kernel k = sweeps();
  const Kernel out = tiled(k, "t", {{"p", "i + 2*t"}, {"q", "j + 2*t + 1"}});
  CHECK(tree(out) == "for t_tile\n  for t\n    for i\n      p\n    for j\n      q\n");
  CHECK(conserves(k, out));
  CHECK(out.find_insn("p")->predicates.empty());  // bounds of the loops say it
  for (const int n : {2, 3, 7, 11})
    for (const int m : {0, 1, 5}) CHECK(same_values(k, out, {{"n", n}, {"m", m}}));
}

TEST_CASE("skewed_tiles: a loop in one domain with the loop over time") {
  const Kernel k = in_place();
  const Kernel out = tiled(k, "t", {{"p", "i + t"}}, 4);
  CHECK(tree(out) == "for t_tile\n  for t\n    for i\n      p\n");
  CHECK(conserves(k, out));
  CHECK(out.find_insn("p")->predicates.empty());
  CHECK(same_values(k, out, {{"n", 9}, {"m", 4}}));
}

TEST_CASE("skewed_tiles: a loop in one domain with loops of other statements") {
  const Kernel k = parsed(
      "kernel f(n: int32, a: float64[n, n], b: float64[n])\n"
      "domain {[t, i]: 0 <= i < n and i <= t < n}\na[t, i] = 1 {id=p}\n"
      "b[i] = 2 {id=q, inames=i}\n");
  const Kernel out = tiled(k, "t", {{"p", "i + t"}});
  CHECK(conserves(k, out));
  CHECK(out.find_insn("q")->inames == std::set<std::string>{"i"});
  for (const int n : {0, 1, 5, 8}) CHECK(same_values(k, out, {{"n", n}}));
}

TEST_CASE("skewed_tiles: in a second direction as well") {
  const Kernel k = parsed(
      "kernel f(n: int32, m: int32, a: float64[n, n])\n"
      "domain {[t, i, j]: 0 <= t < m and 1 <= i, j < n - 1}\n"
      "a[i, j] = a[i - 1, j] + a[i, j - 1] + a[i + 1, j] + a[i, j + 1] "
      "{id=p, inames=t:i:j}\n");
  Kernel out = tiled(k, "t", {{"p", "i + t"}});
  out = skewed_tiles(out, "t", {{"p", "j + t"}}, 2, "other", {});
  CHECK(tree(out) ==
        "for t_tile\n  for other\n    for t\n      for i\n        for j\n"
        "          p\n");
  CHECK(conserves(k, out));
  CHECK(same_values(k, out, {{"n", 7}, {"m", 3}}));
}

TEST_CASE("skewed_tiles: along a loop on which the bounds of the tiled one depend") {
  const Kernel k = parsed(
      "kernel f(n: int32, a: float64[n], b: float64[n, n])\n"
      "domain {[j]: 0 <= j < n}\ndomain {[k]: 0 <= k < n and k <= 2*j}\n"
      "a[j] = a[j] + b[j, k] {id=p, inames=j:k}\n");
  const Kernel out = tiled(k, "k", {{"p", "k + j"}}, 2);
  CHECK(conserves(k, out));
  CHECK(out.find_insn("p")->predicates.empty());
  for (const int n : {1, 2, 7}) CHECK(same_values(k, out, {{"n", n}}));
}

TEST_CASE("skewed_tiles: statements that share loops, or have none, run under conditions") {
  const Kernel k = parsed(
      "kernel f(n: int32, m: int32, a: float64[n], b: float64[n], c: float64[1])\n"
      "domain {[t]: 0 <= t < m}\ndomain {[i]: 0 <= i < n}\n"
      "for t\nc[0] = t {id=z}\nfor i\na[i] = t {id=p}\nb[i] = 2*a[i] {id=q}\nend\nend\n");
  const Kernel out = tiled(k, "t", {{"z", "t"}, {"p", "i + t"}, {"q", "i + t + 1"}});
  CHECK(conserves(k, out));
  CHECK(out.find_insn("z")->predicates.size() == 1);
  CHECK(out.find_insn("p")->predicates.size() == 1);
  for (const int n : {0, 1, 8}) CHECK(same_values(k, out, {{"n", n}, {"m", 4}}));
}

TEST_CASE("skewed_tiles: a direction along which a dependence leads back, with two instances") {
  CHECK(said(sweeps(), "t", {{"p", "i + t"}, {"q", "j + t"}}) ==
        "q[t_tile=0, t=1, j=1] would run before p[t_tile=1, t=1, i=2], but p[t_tile=1, t=1, i=2] "
        "reads a[1] and q[t_tile=0, t=1, j=1] writes it (m=2, n=4)");
  CHECK(code_of(in_place(), "t", {{"p", "i"}}) == "breaks-order");
  CHECK(said(in_place(), "t", {{"p", "i"}}) ==
        "p[t_tile=0, t=1, i=2] would run before p[t_tile=1, t=0, i=3], but p[t_tile=1, t=0, i=3] "
        "writes a[3] and p[t_tile=0, t=1, i=2] reads it (m=2, n=5)");
}

TEST_CASE("skewed_tiles: what else is refused") {
  CHECK(code_of(sweeps(), "t", {{"p", "i + 2*t"}}) == "some-not-all");
  CHECK(code_of(sweeps(), "i", {{"p", "i"}, {"q", "j"}}) == "not-nested");
  CHECK(code_of(sweeps(), "u", {{"p", "i"}}) == "unknown-iname");
  CHECK(code_of(sweeps(), "t", {{"r", "i"}}) == "unknown-instruction");
  CHECK(code_of(in_place(), "t", {{"p", "i + t"}}, 0) == "bad-length");
  CHECK(code_of(in_place(), "t", {{"p", "i*t"}}) == "bad-direction");
  CHECK(code_of(in_place(), "t", {{"p", "a[i]"}}) == "bad-direction");
  CHECK(code_of(sweeps(), "t", {{"p", "j"}, {"q", "j"}}) == "bad-direction");
  const Kernel sum = parsed(
      "kernel f(n: int32, a: float64[n], s: float64[1])\ndomain {[i]: 0 <= i < n}\n"
      "domain {[u]: 0 <= u < n}\ns[0] = sum(i, a[i]) {id=p}\n");
  CHECK(code_of(sum, "i", {}) == "some-not-all");
  CHECK(code_of(sum, "u", {}) == "not-nested");
  Kernel tagged = in_place();
  tagged.iname_tags["t"] = *parse_iname_tag("unr");
  CHECK(code_of(tagged, "t", {{"p", "i + t"}}) == "tagged-iname");
  CHECK_THROWS(skewed_tiles(in_place(), "t", {{"p", "i + t"}}, 3, "i", {}));
}
