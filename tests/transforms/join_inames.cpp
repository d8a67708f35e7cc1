#include "transforms/join_inames.h"

#include "loop_kit.h"
#include "transforms/split_iname.h"

using namespace moonloop;

namespace {
Kernel nest2(const std::string& domain, const std::string& rhs = "1.0") {
  return parsed("kernel f\ndomain {[i, j]: " + domain + "}\nc[i, j] = " + rhs + " {id=w}\n");
}
}  // namespace

TEST_CASE("join_inames: the last is the fastest, the slowest may be parametric") {
  const Kernel before = nest2("0 <= i < n and 0 <= j < 8");
  const Kernel k = join_inames(before, {"i", "j"});
  CHECK(line(k, "w") == "c[i_and_j // 8, i_and_j % 8] = 1.0");
  CHECK(same_set(k.domains[0].set, "{[i_and_j]: 0 <= i_and_j < 8*n}"));
  CHECK(conserves(before, k));
  CHECK(line(join_inames(nest2("0 <= i < 4 and 0 <= j < n"), {"j", "i"}, {.new_iname = "t"}),
             "w") == "c[t % 4, t // 4] = 1.0");
}

TEST_CASE("join_inames: lower bounds, three inames, gaps, bands and triangles") {
  for (const char* d :
       {"3 <= i < n and -2 <= j < 8", "p <= i < n and p <= j < p + 6",
        "0 <= i < n and 0 <= j < 8 and j mod 2 = 0", "0 <= i < n and i <= j < i + 4",
        "0 <= i < 10 and 0 <= j <= i", "0 <= i < 4 and 5 <= j < 6"}) {
    CAPTURE(d);
    const Kernel before = nest2(d);
    CHECK(conserves(before, join_inames(before, {"i", "j"})));
  }
  const Kernel before = parsed(
      "kernel f\ndomain {[i, j, k]: 0 <= i < n and 1 <= j < 5 and 0 <= k < 3}\n"
      "c[i, j, k] = 1.0 {id=w}\n");
  const Kernel k = join_inames(before, {"i", "j", "k"}, {.new_iname = "t", .tag = "par"});
  CHECK(line(k, "w") == "c[t // 12, t // 3 % 4 + 1, t % 3] = 1.0");
  CHECK(k.tag("t")->text == "par");
  CHECK(conserves(before, k));
}

TEST_CASE("join_inames: undoes split_iname") {
  const Kernel before = parsed("kernel f\ndomain {[i]: 0 <= i < n}\nc[i] = 1.0 {id=w}\n");
  const Kernel k =
      join_inames(split_iname(before, "i", 16), {"i_outer", "i_inner"}, {.new_iname = "t"});
  CHECK(same_set(k.domains[0].set, "{[t]: 0 <= t < n}"));
  CHECK(conserves(before, k));
}

TEST_CASE("join_inames: reductions over all of the inames") {
  const Kernel before = parsed(
      "kernel f\ndomain {[i]: 0 <= i < n}\ndomain {[j, k]: 0 <= j < n and 0 <= k < 4}\n"
      "c[i] = sum((j, k), a[i, j, k]) {id=w}\n");
  const Kernel k = join_inames(before, {"j", "k"}, {.new_iname = "t"});
  CHECK(line(k, "w") == "c[i] = sum(t, a[i, t // 4, t % 4])");
  CHECK(conserves(before, k));
  const Kernel part = parsed(
      "kernel f\ndomain {[i]: 0 <= i < n}\ndomain {[j, k]: 0 <= j < n and 0 <= k < 4}\n"
      "c[i] = sum(j, sum(k, a[i, j, k])) {id=w}\n");
  CHECK(
      message([&] {
        join_inames(part, {"j", "k"});
      }) ==
      "joining `j`, `k`: the reduction `sum(j, sum(k, a[i, j, k]))` is over `j` but not over `k`");
}

TEST_CASE("join_inames: within leaves the loops to the others") {
  const Kernel before = parsed(
      "kernel f\ndomain {[i, j]: 0 <= i < n and 0 <= j < 8}\n"
      "b[i, j] = 1.0 {id=x}\nc[i, j] = 2.0 {id=y}\n");
  const Kernel k = join_inames(before, {"i", "j"}, {.within = Match::parse("id:y")});
  CHECK(k.find_insn("x")->inames == std::set<std::string>{"i", "j"});
  CHECK(k.find_insn("y")->inames == std::set<std::string>{"i_and_j"});
  CHECK(conserves(before, k));
}

TEST_CASE("join_inames: a new order that a dependence forbids") {
  const Kernel k = parsed(
      "kernel f\ndomain {[i, j]: 1 <= i < 9 and 1 <= j < 8}\na[i, j] = a[i-1, j+1] {id=w}\n");
  CHECK(message([&] { join_inames(k, {"i", "j"}); }) == "legal");
  CHECK(code_of([&] { join_inames(k, {"j", "i"}); }) == "breaks-order");
}

TEST_CASE("join_inames: what it refuses") {
  const Kernel k = nest2("0 <= i < n and 0 <= j < m");
  CHECK(message([&] {
          join_inames(k, {"i", "z"});
        }) == "no iname `z` in kernel `f`; it has `i`, `j`");
  CHECK(message([&] { join_inames(k, {"i"}); }) == "a join needs two inames or more, got 1");
  CHECK(message([&] { join_inames(k, {"i", "i"}); }) == "`i` occurs twice in the list of inames");
  CHECK(message([&] {
          join_inames(k, {"i", "j"});
        }) ==
        "`j` has no constant number of values, which all but the first of `i`, `j` need; give the "
        "slowest "
        "one first, fix the parameters of its bounds, or split it by a constant");
  CHECK(message([&] {
          join_inames(nest2("0 <= i < n and 0 <= j <= i"), {"i", "j"});
        }) ==
        "`j` has no constant number of values, which all but the first of `i`, `j` need; give the "
        "slowest "
        "one first, fix the parameters of its bounds, or split it by a constant");
  const Kernel apart =
      parsed("kernel f\ndomain {[i]: 0 <= i < n}\ndomain {[j]: 0 <= j < 4}\nc[i, j] = 1.0\n");
  CHECK(message([&] {
          join_inames(apart, {"i", "j"});
        }) ==
        "the bounds of `i` and `j` are in different domains; only inames of one domain can be "
        "joined");
  const Kernel some = parsed(
      "kernel f\ndomain {[i, j]: 0 <= i < n and 0 <= j < 4}\n"
      "b[i] = 1.0 {id=x}\nc[i, j] = 2.0 {id=y}\n");
  CHECK(message([&] {
          join_inames(some, {"i", "j"});
        }) == "joining `i`, `j`: instruction `x` is inside the loop over `i` but not `j`");
  CHECK(message([&] {
          join_inames(some, {"i", "j"}, {.within = Match::parse("id:y")});
        }) == "legal");
  const Kernel tagged = apply(nest2("0 <= i < n and 0 <= j < 4"), "tag_inames", {text("i:par")});
  CHECK(message([&] {
          join_inames(tagged, {"i", "j"});
        }) == "`i` is tagged `par`; join the loops first, then tag the new one");
  CHECK(message([&] {
          join_inames(nest2("0 <= i < 70000 and 0 <= j < 4000000000"), {"i", "j"});
        }) == "the joined loop over `i`, `j` has more iterations than int32 counts");
}
