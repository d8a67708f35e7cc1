#include "transforms/duplicate_inames.h"

#include "core/model/print.h"
#include "core/rewrite/as_text.h"
#include "loop_kit.h"
#include "same_values.h"
#include "transforms/make_reduction_inames_unique.h"

using namespace moonloop;

namespace {
Kernel chain(const std::string& use) {
  return parsed("kernel two\ndomain {[i]: 0 <= i < n}\nb[i] = 2*a[i] {id=first}\n" + use +
                " {id=second, dep=first}\n");
}
}  // namespace

TEST_CASE("duplicate_inames: distributes a loop") {
  const Kernel before = chain("c[i] = b[i] + 1");
  const Kernel k = duplicate_inames(before, {"i"}, Match::parse("id:second"));
  CHECK(line(k, "first") == "b[i] = 2*a[i]");
  CHECK(line(k, "second") == "c[i_0] = b[i_0] + 1");
  CHECK(tree(k) == "for i\n  first\nfor i_0\n  second\n");
  CHECK(conserves(before, k));
}

TEST_CASE("duplicate_inames: names, suffix and tags") {
  const Kernel before = chain("c[i] = b[i] + 1");
  CHECK(duplicate_inames(before, {"i"}, Match::parse("id:second"), {.suffix = "_two"})
            .has_iname("i_two"));
  const Kernel k = duplicate_inames(before, {"i"}, Match::parse("id:second"),
                                    {.new_inames = {"p"}, .tags = {{"i", "par"}}});
  CHECK(k.tag("p")->text == "par");
  CHECK(k.tag("i") == nullptr);
}

TEST_CASE("duplicate_inames: inames of one triangular domain get one copy of it") {
  const Kernel before = parsed(
      "kernel f\ndomain {[i, j]: 0 <= i < n and 0 <= j <= i}\nb[i, j] = 1.0 {id=x}\nc[i, j] = 2.0 "
      "{id=y}\n");
  const Kernel k = duplicate_inames(before, {"j", "i"}, Match::parse("id:y"));
  REQUIRE(k.domains.size() == 2);
  CHECK(same_set(k.domains[1].set, "{[i_0, j_0]: 0 <= i_0 < n and 0 <= j_0 <= i_0}"));
  CHECK(conserves(before, k));
  CHECK(conserves(before, duplicate_inames(before, {"j"}, Match::parse("id:y"))));
}

TEST_CASE("duplicate_inames: parent and child domains, and the child's bounds alone") {
  const Kernel before = parsed(
      "kernel f\ndomain {[i]: 0 <= i < n}\ndomain {[j]: 0 <= j < i}\n"
      "b[i, j] = 1.0 {id=x}\nc[i, j] = 2.0 {id=y}\n");
  const Kernel k = duplicate_inames(before, {"i", "j"}, Match::parse("id:y"));
  CHECK(conserves(before, k));
  CHECK(tree(k) == "for i\n  for j\n    x\nfor i_0\n  for j_0\n    y\n");
  CHECK(
      message([&] { duplicate_inames(before, {"i"}, Match::parse("id:y")); }) ==
      "the bounds of `j` depend on `i`, and instruction `x`, which is not selected, uses `j` too; "
      "duplicate `j` first");
}

TEST_CASE("duplicate_inames: a reduction gets an iname of its own") {
  const Kernel before = parsed(
      "kernel f\ndomain {[i, k]: 0 <= i < n and 0 <= k < n}\n"
      "b[i] = sum(k, a[i, k]) {id=x}\nc[i] = sum(k, a[k, i]) {id=y}\n");
  const Kernel k = duplicate_inames(before, {"k"}, Match::parse("id:y"));
  CHECK(line(k, "y") == "c[i] = sum(k_0, a[k_0, i])");
  CHECK(conserves(before, k));
}

TEST_CASE("duplicate_inames: only some of the inames stand around an instruction") {
  const Kernel before = parsed(
      "kernel f\ndomain {[i, j]: 0 <= i < n and 0 <= j < n}\nb[i, j] = 1.0 {id=x}\nc[i] = 2.0 "
      "{id=y}\n");
  const Kernel k = duplicate_inames(before, {"i", "j"}, Match::parse("id:x or id:y"));
  CHECK(k.find_insn("y")->inames.size() == 1);
  CHECK(conserves(before, k));
}

TEST_CASE("duplicate_inames: distribution against a carried dependence is refused") {
  // Each iteration of `second` feeds the next one of `first`.
  const Kernel bad = parsed(
      "kernel f\ndomain {[i]: 1 <= i < n}\n"
      "b[i] = c[i-1] {id=first}\nc[i] = b[i] {id=second, dep=first}\n");
  CHECK(message([&] { duplicate_inames(bad, {"i"}, Match::parse("id:second")); }) != "legal");
  const Kernel good = parsed(
      "kernel f\ndomain {[i]: 1 <= i < n}\n"
      "b[i] = a[i] {id=first}\nc[i] = b[i-1] {id=second, dep=first}\n");
  CHECK(message([&] { duplicate_inames(good, {"i"}, Match::parse("id:second")); }) == "legal");
}

TEST_CASE("duplicate_inames: a scalar that the loop hands from one half to the other") {
  const Kernel k = parsed(
      "kernel f\ndomain {[i]: 0 <= i < n}\n<> t = a[i] {id=first}\n"
      "c[i] = 2*t {id=second, dep=first}\n");
  CHECK(message([&] { duplicate_inames(k, {"i"}, Match::parse("id:second")); }) != "legal");
}

TEST_CASE("duplicate_inames: what it refuses") {
  const Kernel k = chain("c[i] = b[i] + 1");
  const Match second = Match::parse("id:second");
  CHECK(message([&] { duplicate_inames(k, {"z"}, second); }) ==
        "no iname `z` in kernel `two`; it has `i`");
  CHECK(message([&] { duplicate_inames(k, {}, second); }) == "no iname is given to duplicate");
  CHECK(message([&] { duplicate_inames(k, {"i", "i"}, second); }) ==
        "`i` occurs twice in the list of inames");
  CHECK(message([&] { duplicate_inames(k, {"i"}, second, {.new_inames = {"p", "q"}}); }) ==
        "2 new inames are given for 1 to duplicate");
  CHECK(message([&] { duplicate_inames(k, {"i"}, second, {.new_inames = {"a"}}); }) ==
        "the name `a` is in use in kernel `two`");
  CHECK(message([&] { duplicate_inames(k, {"i"}, Match::parse("id:third")); }) ==
        "no instruction that `within` selects uses `i`");
  const Kernel other = parsed(
      "kernel f\ndomain {[i]: 0 <= i < n}\ndomain {[j]: 0 <= j < n}\n"
      "a[i] = 1.0 {id=x}\nb[j] = 1.0 {id=y}\n");
  CHECK(message([&] { duplicate_inames(other, {"i"}, Match(), {.tags = {{"j", "par"}}}); }) ==
        "a tag is given for `j`, which is not duplicated");
}

TEST_CASE("duplicate_inames: in a loop that never runs, loops keep their bounds") {
  // Differential test, seed 77230052: where nothing runs any set is a domain's gist.
  const Kernel k = parsed(R"(
kernel f(n: int32, a: in float64[2*n], q: inout float64[2*n])
domain {[w]: n <= w and w < n}
domain {[j]: 0 <= j <= w}
assume n >= 5
q[w] = min(j, a[j])  {id=s, inames=w}
)");
  Kernel out = apply(k, "realize_reduction", {}, {{"force_scan", Value{true}}});
  out =
      apply(out, "duplicate_inames", {text("j_0"), text("id:s_update")}, {{"suffix", text("_d")}});
  out = apply(out, "split_iname", {text("j_0_d"), number(3)});
  CHECK(same_values(k, out, {{"n", 9}}));
}

TEST_CASE("duplicate_inames: the text of distributed loops of a team keeps their order") {
  const auto distributed = [](const std::string& second, const std::string& tag) {
    const Kernel k = parsed(
        "kernel f(n: int32, a: float64[3*n, 3*n], b: float64[n], c: float64[n])\n"
        "domain {[i]: 1 <= i < n}\nassume n >= 5\n"
        "a[2*i, i + 3] = 0.25*a[i + 1, i + 2] {id=first}\n" +
        second);
    return duplicate_inames(
        apply(k, "split_iname", {text("i"), number(3)}, {{"inner_tag", text(tag)}}), {"i_outer"},
        Match::parse("id:first"), {.suffix = "_d"});
  };
  for (const char* tag : {"vec", "l.0"})
    for (const std::string& second :
         {std::string("b[i] = c[i] {id=second}\n"),
          std::string("<f64> e = c[i] {id=load, inames=i}\n"
                      "b[i] = e {id=second, inames=i, if=i%2 == 0, dep=load}\n")}) {
      CAPTURE(tag);
      CAPTURE(second);
      const Kernel k = distributed(second, tag);
      const auto read = [](const Kernel& kernel) { return parsed(print_kernel(kernel)); };
      CHECK(code_of([&] { check_legal(read(k)); }) == "breaks-order");  // one loop, outside of both
      const Kernel again = read(as_text(k));
      CHECK_NOTHROW(check_legal(again));
      CHECK(line(again, "second").find("i_inner_0") != std::string::npos);
      CHECK(line(again, "first").find("i_inner_0") == std::string::npos);
      CHECK(again.tag("i_inner_0")->text == tag);
    }
  // Where any order is right, inames have the names that scripts use.
  const Kernel k =
      apply(duplicate_inames(apply(chain("c[i] = b[i] + 1"), "split_iname", {text("i"), number(4)},
                                   {{"inner_tag", text("l.0")}}),
                             {"i_outer"}, Match::parse("id:second")),
            "tag_inames", {text("i_outer: g.0")});
  CHECK(print_kernel(as_text(k)) == print_kernel(k));
}

TEST_CASE("text: lanes that hand something on from loop to loop keep one iname") {
  const Kernel k = apply(
      apply(apply(apply(parsed("kernel f(n: int32, a: float64[3*n, 3*n], b: float64[3*n])\n"
                               "domain {[i]: 0 <= i < 5}\nassume n >= 5\n"
                               "a[i + 3, i + 3] = 0.25*(a[i + 3, i + 3] - b[2*i + 1]) {id=s}\n"),
                        "chunk_iname", {text("i"), number(3)}),
                  "add_prefetch", {text("a"), text("i_outer")}),
            "tag_inames", {text("i_inner: vec")}),
      "add_barrier", {text("id:a_fetch_rule"), text("id:s")}, {{"mem_kind", text("local")}});
  // A team alone can nest these loops: text says so by its tags.
  CHECK(print_kernel(as_text(k)) == print_kernel(k));
  CHECK_NOTHROW(check_legal(parsed(print_kernel(k))));
}

TEST_CASE("make_reduction_inames_unique: a loop for each reduction") {
  const Kernel k = parsed(
      "kernel f(n: int32, a: int64[n], b: int64[n], c: int64[n, n], x: int64[n, n])\n"
      "domain {[i, j, l]: 0 <= i < n and 0 <= j < n and 0 <= l < n}\n"
      "total(p) := sum(l, x[p, l])\n"
      "a[i] = sum(j, x[i, j]) {id=x}\nb[i] = max(j, x[j, i]) + total(i) {id=y}\n"
      "b[i] = b[i] + total(2*i // 2) {id=z}\nc[i, j] = 1 {id=w}\n");
  const Kernel all = make_reduction_inames_unique(k, {}, Match::parse(""));
  std::vector<std::string> used;
  for (const InsnPtr& i : all.instructions)
    for (const std::string& n : all_inames(all, *i))
      if (!i->inames.contains(n)) used.push_back(n);
  CHECK(used.size() == 4);
  CHECK(std::set<std::string>(used.begin(), used.end()).size() == 4);
  CHECK(same_values(k, all, {{"n", 4}}));
  const Kernel one = make_reduction_inames_unique(k, {"j"}, Match::parse("id:x"));
  CHECK(line(one, "x") == "a[i] = sum(j_0, x[i, j_0])");
  CHECK(line(one, "y") == line(k, "y"));
  // What nobody else has stays.
  CHECK(make_reduction_inames_unique(one, {"j_0"}, Match::parse("id:x")).inames() == one.inames());
  CHECK(code_of([&] { make_reduction_inames_unique(k, {"i"}, Match::parse("")); }) ==
        "not-reduced");
  CHECK(code_of([&] { make_reduction_inames_unique(k, {"q"}, Match::parse("")); }) ==
        "unknown-iname");
  CHECK(code_of([&] { make_reduction_inames_unique(k, {}, Match::parse("id:q")); }) == "no-match");
}
