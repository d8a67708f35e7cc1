#include "loop_kit.h"
#include "transforms/assume_commuting.h"
#include "transforms/assume_injective.h"
#include "transforms/duplicate_inames.h"
#include "transforms/fix_parameters.h"
#include "transforms/rename_iname.h"
#include "transforms/tag_inames.h"

using namespace moonloop;

namespace {
Kernel scatter() {
  return parsed(
      "kernel scatter(n: int32, map: int32[n], a: float64[n], b: float64[n], x: float64)\n"
      "domain {[i]: 0 <= i < n}\na[map[i]] = b[i] {id=w}\n");
}
}  // namespace

TEST_CASE("assume_injective: unlocks a loop over a map's subscripts") {
  const Kernel k = scatter();
  CHECK(message([&] {
          tag_inames(k, {{"i", "par"}});
        }) ==
        "tagging `i` as `par` would run w[i=0] and w[i=1] at the same time, but w[i=0] may write "
        "a[map[i]] "
        "and w[i=1] may write it too (n=2); where a subscript is read from an array, "
        "assume_injective or "
        "assume_disjoint says what cannot be seen here; the option unsafe=true takes it on trust");
  const Kernel sure = assume_injective(k, {"map"});
  CHECK(message([&] { tag_inames(sure, {{"i", "par"}}); }) == "legal");
  REQUIRE(sure.claims.size() == 1);
  CHECK(sure.claims[0].step == "assume_injective(\"map\")");
  CHECK(assume_injective(sure, {"map"}).claims.size() == 1);
}

TEST_CASE("assume_injective: a claim of one map says nothing about another") {
  const Kernel k = parsed(
      "kernel f(n: int32, p: int32[n], q: int32[n])\ndomain {[i]: 0 <= i < n}\n"
      "a[p[i]] = a[q[i]] {id=w}\n");
  CHECK(code_of([&] {
          tag_inames(assume_injective(k, {"p", "q"}), {{"i", "par"}});
        }) == "not-proved");
  CHECK(code_of([&] { tag_inames(assume_disjoint(k, {"a"}), {{"i", "par"}}); }) == "legal");
}

TEST_CASE("assume_disjoint: unlocks subscripts that are not affine") {
  const Kernel k = parsed("kernel f\ndomain {[i]: 0 <= i < n}\na[i*i] = b[i] {id=w}\n");
  CHECK(code_of([&] { tag_inames(k, {{"i", "par"}}); }) == "not-proved");
  const Kernel sure = assume_disjoint(k, {"a"});
  CHECK(code_of([&] { tag_inames(sure, {{"i", "par"}}); }) == "legal");
  CHECK(sure.claims[0].step == "assume_disjoint(\"a\")");
}

TEST_CASE("assume_injective, assume_disjoint: what they refuse") {
  const Kernel k = scatter();
  CHECK(message([&] { assume_injective(k, {"mpa"}); }) ==
        "no array `mpa` in kernel `scatter`; it has `map`, `a`, `b`");
  CHECK(message([&] { assume_disjoint(k, {"x"}); }) ==
        "no array `x` in kernel `scatter`; it has `map`, `a`, `b`");
  CHECK(message([&] { assume_disjoint(k, {}); }) == "no array is given to assume anything of");
  CHECK(message([&] { assume_injective(k, {"b"}); }) ==
        "`b` holds float64, not integers, and is not a map of subscripts");
  const Kernel changing = parsed(
      "kernel f(n: int32, m: int32[n], t: int32[n, n])\ndomain {[i]: 0 <= i < n}\n"
      "m[i] = i {id=w}\na[m[i]] = t[i, 0] {id=u, dep=w}\n");
  CHECK(message([&] { assume_injective(changing, {"m"}); }) ==
        "instruction `w` writes `m`, so what it holds changes while the kernel runs");
  CHECK(message([&] { assume_injective(changing, {"t"}); }) ==
        "`t` has 2 axes; only a map with one axis can be assumed injective");
}

TEST_CASE("assume_commuting: unlocks atomic updates that use what they fetch") {
  const Kernel k = parsed(R"(
kernel pick(n: int32, x: float64[n], count: inout int32[1], list: inout int32[n])
domain {[i]: 0 <= i < n}
for i
  <int32> at, count[0] = make_tuple(count[0], count[0] + 1)   {id=take, atomic}
  list[at] = i   {id=put}
end
)");
  const auto in_parallel = [](const Kernel& kernel) {
    return message([&] { tag_inames(kernel, {{"i", "par"}}); });
  };
  const Kernel apart = assume_disjoint(k, {"list"});
  CHECK(in_parallel(apart) ==
        "tagging `i` as `par` would run take[i=0] and take[i=1] at the same time, but take[i=0] "
        "reads count[0] and take[i=1] writes it (n=2); atomic updates may run in any order where "
        "each is `count = count op e` of one operation and `e` does not read `count`; else the "
        "loops that order them stay as they are, unless assume_commuting(\"count\") says that any "
        "order is as good");
  const Kernel sure = assume_commuting(apart, {"count"});
  CHECK(in_parallel(sure) == "legal");
  REQUIRE(sure.claims.size() == 2);
  CHECK(sure.claims[1].step == "assume_commuting(\"count\")");
  CHECK(assume_commuting(sure, {"count"}).claims.size() == 2);
  // The claim is about atomic updates, not about other accesses.
  const Kernel read = parsed(R"(
kernel pick(n: int32, count: inout int32[1], list: inout int32[n])
domain {[i]: 0 <= i < n}
for i
  <int32> at, count[0] = make_tuple(count[0], count[0] + 1)   {id=take, atomic}
  list[i] = count[0] + at
end
)");
  CHECK(code_of([&] { tag_inames(assume_commuting(read, {"count"}), {{"i", "par"}}); }) == "races");
}

TEST_CASE("assume_commuting: what it refuses") {
  const Kernel k = scatter();
  CHECK(message([&] { assume_commuting(k, {"q"}); }) ==
        "no variable `q` in kernel `scatter`; it has `n`, `map`, `a`, `b`, `x`");
  CHECK(message([&] { assume_commuting(k, {"a"}); }) ==
        "no instruction of kernel `scatter` updates `a` atomically; `{atomic}` after it says that "
        "one does");
  CHECK(message([&] { assume_commuting(k, {}); }) == "no variable is given to assume anything of");
}

// Differential test, seed 6320119: squares differ from one another, not from one time to the next.
TEST_CASE("assume_disjoint: loops that the subscript does not have come to the same element") {
  const Kernel k = assume_disjoint(parsed(R"(
kernel steps(n: int32, w: float64[n*n], c: float64[n])
domain {[t, i, j]: 0 <= t < 3 and 0 <= i < n and 0 <= j < n}
for t
  w[i*i] = 0.5*w[i*i] + c[i]  {id=set}
  c[j] = w[j*j]               {id=get}
end
)"),
                                   {"w"});
  CHECK_NOTHROW(tag_inames(k, {{"i", "par"}, {"j", "par"}}));
  CHECK(code_of([&] { tag_inames(k, {{"t", "par"}}); }) == "races");
  // One statement may read another's result under another name of the loop.
  CHECK_NOTHROW(rename_iname(k, "j", "i", {.existing_ok = true}));
  CHECK(code_of([&] { duplicate_inames(k, {"t"}, Match::parse("id:get")); }) == "breaks-order");
}

TEST_CASE("assume_commuting: an update that takes the old value from a copy is none any more") {
  // Found by the differential test: lanes fetched the value before any of them had stored.
  const Kernel k = assume_commuting(parsed(R"(
kernel count(n: int32, d: in int32[n], h: inout int64[n])
domain {[x]: 0 <= x < n}
h[0] = (h[0] + d[x]) % 1009   {id=c, atomic}
)"),
                                    {"h"});
  CHECK(message([&] { tag_inames(k, {{"x", "par"}}); }) == "legal");
  const Kernel copied = apply(k, "add_prefetch", {text("h")}, {{"default_tag", flag(false)}});
  CHECK(copied.find_insn("c")->atomic == Atomicity::None);
  CHECK(code_of([&] { tag_inames(copied, {{"x", "par"}}); }) == "races");
  // Other inputs than the variable may be copied.
  const Kernel other = apply(k, "add_prefetch", {text("d"), text("x")});
  CHECK(other.find_insn("c")->atomic == Atomicity::Update);
  CHECK(message([&] { tag_inames(other, {{"x", "par"}}); }) == "legal");
}

TEST_CASE("assume_disjoint: one subscript that steps have rewritten in one of the statements") {
  const auto code = [](const std::string& body, const std::function<Kernel(const Kernel&)>& steps) {
    const Kernel k = assume_disjoint(
        parsed("kernel f(n: int32, d: in int32[n], e: in int32[n], count: inout int32[1], "
               "w: inout float64[n*n + n])\ndomain {[x]: 0 <= x < n}\ndomain {[z]: 0 <= z < n}\n"
               "temp at: int32\n" +
               body),
        {"w"});
    return code_of([&] { steps(k); });
  };
  const auto turned = [](const Kernel& k) {
    return apply(k, "add_barrier", {text("two"), text("one")});
  };
  for (const std::string at : {"x*x", "d[x]", "3*x*x + 2*x", "d[x] + x*n", "d[d[x]]", "2*d[x]*x"}) {
    CAPTURE(at);
    const std::string both = "w[" + at + "] = 1 {id=one}\nw[" + at + "] = 2 {id=two}\n";
    CHECK(code(both, turned) == "breaks-order");
    CHECK(code(both, [](const Kernel& k) { return tag_inames(k, {{"x", "par"}}); }) == "legal");
    // The kernel that add_barrier makes of it is its own reference.
    const auto split = [](const Kernel& k) {
      const Kernel own = duplicate_inames(k, {"x"}, Match::parse("id:one"));
      return apply(apply(own, "split_iname", {text("x_0"), number(4)}), "add_barrier",
                   {text("one"), text("two")});
    };
    CHECK(code(both, [&](const Kernel& k) { return turned(split(k)); }) == "dependency-cycle");
    CHECK(code(both, [&](const Kernel& k) {
            return tag_inames(split(k), {{"x", "par"}, {"x_0_outer", "par"}});
          }) == "legal");
  }
  // A factor that is a number in one of them.
  const std::string scaled = "w[n*d[x] + x] = 1 {id=one}\nw[n*d[x] + x] = 2 {id=two}\n";
  const auto fixed = [](const Kernel& k) {
    return fix_parameters(k, {{"n", 5}}, Match::parse("id:one"));
  };
  CHECK(code(scaled, [&](const Kernel& k) {
          return tag_inames(fixed(k), {{"x", "par"}});
        }) == "legal");
  CHECK(code(scaled, [&](const Kernel& k) { return turned(fixed(k)); }) == "breaks-order");
  // A copy of its input.
  const std::string both = "w[d[x]] = 1 {id=one}\nw[d[x]] = 2 {id=two}\n";
  const auto copied = [](const Kernel& k) {
    return apply(apply(k, "split_iname", {text("x"), number(4)}), "add_prefetch",
                 {text("d"), text("x_inner")}, {{"default_tag", flag(false)}});
  };
  CHECK(code(both, [&](const Kernel& k) { return turned(copied(k)); }) == "breaks-order");
  // A value that each iteration takes for itself.
  const std::string taken =
      "at, count[0] = make_tuple(count[0], count[0] + 1) {id=take, inames=x, atomic}\n"
      "w[at] = 1 {id=one, inames=x, dep=take}\nw[at] = 2 {id=two, inames=x, dep=take}\n";
  CHECK(code(taken, turned) == "breaks-order");
  CHECK(code(taken, [](const Kernel& k) {
          return tag_inames(assume_commuting(k, {"count"}), {{"x", "par"}});
        }) == "legal");
  // Two subscripts.
  CHECK(code("w[d[x]] = 1 {id=one}\nw[e[x]] = 2 {id=two}\n", turned) == "legal");
  CHECK(code("w[d[x]] = 1 {id=one}\nw[d[x] + 1] = 2 {id=two}\n", turned) == "legal");
}
