#include "transforms/distribute_loops.h"

#include <algorithm>

#include "core/order/counterexample.h"
#include "core/order/distribution.h"
#include "loop_kit.h"
#include "same_values.h"

using namespace moonloop;

namespace {

Kernel distributed(const Kernel& k, const std::string& iname,
                   const std::vector<std::string>& groups = {}, const DistributeOptions& o = {}) {
  std::vector<Match> all;
  for (const std::string& g : groups) all.push_back(Match::parse(g));
  return distribute_loops(k, iname, all, o);
}
std::string said(const Kernel& k, const std::string& iname,
                 const std::vector<std::string>& groups = {}, const DistributeOptions& o = {}) {
  return message([&] { distributed(k, iname, groups, o); });
}

/// Three statements: the second uses the first, the third the second.
Kernel stages(const std::string& second = "b[i]") {
  return parsed(
      "kernel f(n: int32, a: float64[n], b: float64[n], c: float64[n], d: float64[n])\n"
      "domain {[i]: 1 <= i < n}\nb[i] = 2*a[i] {id=p}\nc[i] = " +
      second + " + 1 {id=q}\nd[i] = c[i] {id=r}\n");
}

}  // namespace

TEST_CASE("distribute_loops: groups, and what is left for the last loop") {
  const Kernel k = stages();
  const Kernel three = distributed(k, "i", {"id:p", "id:q", "id:r"});
  CHECK(tree(three) == "for i\n  p\nfor i_0\n  q\nfor i_1\n  r\n");
  CHECK(conserves(k, three));
  CHECK(same_values(k, three, {{"n", 6}}));
  CHECK(tree(distributed(k, "i", {"id:p or id:q"})) == "for i\n  p\n  q\nfor i_0\n  r\n");
  CHECK(tree(distributed(k, "i", {"id:p"})) == "for i\n  p\nfor i_0\n  q\n  r\n");
  CHECK(tree(distributed(k, "i", {"id:p", "writes:c"}, {.suffixes = {"_a", "_b", "_c"}})) ==
        "for i_a\n  p\nfor i_b\n  q\nfor i_c\n  r\n");
}

TEST_CASE("distribute_loops: the loops run in the order of the groups") {
  const Kernel k = parsed(
      "kernel f(n: int32, a: float64[n], b: float64[n], c: float64[n])\ndomain {[i]: 0 <= i < n}\n"
      "b[i] = a[i] {id=p}\nc[i] = a[i] {id=q}\na[i] = 1 {id=r}\n");
  const Kernel turned = distributed(k, "i", {"id:q", "id:p"});
  CHECK(tree(turned) == "for i\n  q\nfor i_0\n  p\nfor i_1\n  r\n");
  CHECK(same_values(k, turned, {{"n", 4}}));
  CHECK(said(k, "i", {"id:r"}) ==
        "with loops of their own in place of `i`, r[i=0] would run before p[i=0], but p[i=0] reads "
        "a[0] and r[i=0] writes a[0] (n=1)");
}

TEST_CASE("distribute_loops: a dependence that crosses backwards, with two instances") {
  const Kernel k = parsed(
      "kernel f(n: int32, b: float64[n], c: float64[n])\ndomain {[i]: 1 <= i < n}\n"
      "b[i] = c[i - 1] {id=p}\nc[i] = b[i] {id=q}\n");
  CHECK(
      said(k, "i", {"id:p", "id:q"}) ==
      "with loops of their own in place of `i`, p[i=2] would run before q[i=1], but q[i=1] writes "
      "c[1] and p[i=2] reads c[1] (n=3)");
  try {
    distributed(k, "i", {"id:p"});
    FAIL("not refused");
  } catch (const RefusedByCounterexample& e) {
    CHECK(e.diagnostic().code == "breaks-order");
    CHECK(e.counterexample()->first.does == "writes c[1]");
    CHECK(e.counterexample()->second.at == std::vector<std::int64_t>{2});
  }
  CHECK(tree(distributed(k, "i")) == tree(k));  // all of it stays together
  // A scalar is for one iteration at a time.
  const Kernel scalar = parsed(
      "kernel f(n: int32, a: float64[n], c: float64[n])\ndomain {[i]: 0 <= i < n}\n"
      "<> t = a[i] {id=p}\nc[i] = t*t {id=q}\n");
  CHECK(said(scalar, "i", {"id:p"}) ==
        "with loops of their own in place of `i`, p[i=1] would run before q[i=0], but q[i=0] reads "
        "t and p[i=1] writes t (n=2); `privatize_temporaries_with_inames(\"i\", \"t\")` gives it "
        "an axis");
  const Kernel axis = apply(scalar, "privatize_temporaries_with_inames", {text("i"), text("t")});
  CHECK(tree(distributed(axis, "i")) == "for i\n  p\nfor i_0\n  q\n");
  // Subscripts that are data.
  const Kernel data = parsed(
      "kernel f(n: int32, m: in int32[n], b: float64[n], c: float64[n])\n"
      "domain {[i]: 0 <= i < n}\nc[i] = b[m[i]] {id=p}\nb[i] = 1 {id=q}\n");
  CHECK(code_of([&] { distributed(data, "i", {"id:p"}); }) == "not-proved");
}

TEST_CASE("distribute_loops: as many loops as the dependences allow") {
  const Kernel k = parsed(
      "kernel f(n: int32, a: float64[n], b: float64[n], c: float64[n], d: float64[n])\n"
      "domain {[i]: 1 <= i < n}\na[i] = 1 {id=p}\nb[i] = c[i - 1] + a[i] {id=q}\n"
      "c[i] = b[i] {id=r}\nd[i] = c[i] {id=s}\n");
  using Groups = std::vector<std::vector<std::string>>;
  CHECK(finest_distribution(k, "i") == Groups{{"p"}, {"q", "r"}, {"s"}});
  const Kernel out = distributed(k, "i");
  CHECK(tree(out) == "for i\n  p\nfor i_0\n  q\n  r\nfor i_1\n  s\n");
  CHECK(same_values(k, out, {{"n", 7}}));
  // A statement in front that depends on one behind it in the iteration before.
  const Kernel turned = parsed(
      "kernel f(n: int32, a: float64[n], b: float64[n])\ndomain {[i]: 1 <= i < n}\n"
      "b[i] = a[i - 1] {id=p}\na[i] = 1 {id=q}\n");
  CHECK(finest_distribution(turned, "i") == Groups{{"q"}, {"p"}});
  const Kernel two = distributed(turned, "i");
  CHECK(tree(two) == "for i\n  q\nfor i_0\n  p\n");
  CHECK(same_values(turned, two, {{"n", 5}}));
}

TEST_CASE("distribute_loops: inner loops and loops of reductions go along, outer ones stay") {
  const Kernel k = parsed(
      "kernel f(n: int32, m: int32, a: float64[n, n], b: float64[n, n], c: float64[n])\n"
      "domain {[t]: 0 <= t < m}\ndomain {[i]: 0 <= i < n}\ndomain {[j]: 0 <= j <= i}\n"
      "domain {[k]: 0 <= k < n}\nfor t\n"
      "a[i, j] = a[i, j] + t {id=p}\nb[i, j] = a[i, j] {id=q}\nc[i] = sum(k, b[i, k]) "
      "{id=r}\nend\n");
  const Kernel out = distributed(k, "i");
  CHECK(tree(out) ==
        "for t\n  for i\n    for j\n      p\n  for i_0\n    for j_0\n      q\n  for i_1\n"
        "    r_init\n    for k\n      r_update\n    r\n");
  CHECK(conserves(k, out));
  CHECK(same_values(k, out, {{"n", 5}, {"m", 2}}));
  // A loop over time is not distributed: the sums of a step come before the next one.
  CHECK(tree(distributed(k, "t")) == tree(k));
  CHECK(said(k, "t", {"id:p"}) ==
        "with loops of their own in place of `t`, p[t=1, i=0, j=0] would run before "
        "q[t=0, i=0, j=0], but q[t=0, i=0, j=0] reads a[0, 0] and p[t=1, i=0, j=0] writes a[0, 0] "
        "(m=2, n=1)");
  const Kernel sums = parsed(
      "kernel f(n: int32, a: float64[n, n], b: float64[n], c: float64[n])\n"
      "domain {[i, k]: 0 <= i, k < n}\nb[i] = sum(k, a[i, k]) {id=p}\nc[i] = b[i] + sum(k, a[k, "
      "i]) "
      "{id=q}\n");
  const Kernel two = distributed(sums, "i");
  CHECK(two.find_insn("q")->inames.size() == 1);
  CHECK(same_values(sums, two, {{"n", 4}}));
}

TEST_CASE("distribute_loops: copies keep the tags, and a team's inames stay shared") {
  const Kernel k = apply(stages(), "tag_inames", {text("i:par")});
  const Kernel out = distributed(k, "i", {"id:p or id:q"});
  CHECK(out.tag("i")->text == "par");
  CHECK(out.tag("i_0")->text == "par");
  Kernel split =
      apply(stages(), "split_iname", {text("i"), number(4)}, {{"inner_tag", text("l.0")}});
  split = distributed(split, "i_outer");
  CHECK(split.inames().size() == 6);  // those of the team end where the loop does
  CHECK(same_values(stages(), split, {{"n", 11}}));
  const Kernel lines = parsed(
      "kernel f(n: int32, a: float64[n, 8], b: float64[n, 8])\n"
      "domain {[i, l]: 0 <= i < n and 0 <= l < 8}\na[i, l] = l {id=p}\nb[i, l] = a[i, l] {id=q}\n");
  const Kernel team = distributed(apply(lines, "tag_inames", {text("l:l.0")}), "i");
  CHECK(tree(team) == "for i\n  p  [l: l.0]\nfor i_0\n  q  [l: l.0]\n");
}

TEST_CASE("distribute_loops: conditions that a loop's statements share become its bounds") {
  const Kernel k = parsed(
      "kernel f(n: int32, m: int32, a: float64[n], b: float64[n], c: float64[n])\n"
      "domain {[i]: 0 <= i < n}\nfor i\n"
      "a[i] = 1 {id=p, if=i < m and 2 <= i}\nb[i] = a[i] + 1 {id=q, if=i < m}\n"
      "c[i] = 3 {id=r}\nend\n");
  const Kernel out = distribute_loops(k, "i", {}, {});
  for (const char* id : {"p", "q", "r"}) CHECK(out.find_insn(id)->predicates.empty());
  for (const int n : {0, 5, 8}) CHECK(same_values(k, out, {{"n", n}, {"m", 5}}));
  const Kernel two = distribute_loops(k, "i", {Match::parse("id:p or id:q", {})}, {});
  CHECK(two.find_insn("p")->predicates.size() == 1);  // not what one of them has alone
  CHECK(same_values(k, two, {{"n", 8}, {"m", 5}}));
}

TEST_CASE("distribute_loops: what it refuses") {
  const Kernel k = stages();
  CHECK(said(k, "z") == "no iname `z` in kernel `f`; it has `i`");
  CHECK(said(k, "i", {"id:x"}) == "group 1 selects no instruction in the loop over `i`");
  CHECK(said(k, "i", {"id:p", "id:p or id:q"}) == "`p` is in group 1 and in group 2");
  CHECK(said(k, "i", {"*"}) == "all instructions in the loop over `i` are in one group");
  CHECK(said(k, "i", {"id:p"}, {.suffixes = {"_a"}}) == "1 suffixes are given for 2 groups");
  CHECK(said(k, "i", {"id:p"}, {.suffixes = {"_a", "_a"}}) == "two new inames are named `i_a`");
  CHECK(code_of([&] { distributed(k, "i", {"id:p", "id:p"}); }) == "in-two-groups");
  CHECK(code_of([&] { distributed(k, "i", {"*"}); }) == "one-group");
  const Kernel team = apply(k, "tag_inames", {text("i:l.0")});
  CHECK(said(team, "i") == "`i` is no loop around an instruction of kernel `f`");
  CHECK(code_of([&] { distributed(team, "i"); }) == "not-a-loop");
}

TEST_CASE("distribute_loops: a thousand statements") {
  std::string args = "n: int32", body;
  for (int s = 0; s < 1000; ++s) {
    args += fmt::format(", a{}: float64[n]", s);
    body += fmt::format("a{0}[i] = {1} + 1 {{id=s{0}}}\n", s,
                        s ? fmt::format("a{}[i - 1]", s - 1) : "1");
  }
  const Kernel k = parsed("kernel f(" + args + ")\ndomain {[i]: 1 <= i < n}\n" + body);
  CHECK(finest_distribution(k, "i").size() == 1000);
  CHECK(distributed(k, "i", {"id:s?"}).inames().size() == 2);
}
