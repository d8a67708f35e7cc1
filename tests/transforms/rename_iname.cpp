#include "transforms/rename_iname.h"

#include "core/model/print.h"
#include "core/rewrite/as_text.h"
#include "loop_kit.h"
#include "same_values.h"
#include "transforms/duplicate_inames.h"
#include "transforms/map_domain.h"
#include "transforms/prioritize_loops.h"
#include "transforms/split_iname.h"
#include "transforms/tag_inames.h"

using namespace moonloop;

namespace {

/// Two loops; `second` reads `first`'s result at `index`.
Kernel two_loops(const std::string& index, const std::string& i = "0 <= i < n",
                 const std::string& j = "0 <= j < n") {
  return parsed("kernel two\ndomain {[i]: " + i + "}\ndomain {[j]: " + j +
                "}\nb[i] = 2*a[i] {id=first}\n" + "c[j] = b[" + index +
                "] + 1 {id=second, dep=first}\n");
}

const RenameOptions kMerge{.existing_ok = true};

}  // namespace

TEST_CASE("rename_iname: words of the language are not names") {
  const Kernel k =
      parsed("kernel k(n: int32, a: float64[n])\ndomain {[i]: 0 <= i < n}\na[i] = 1\n");
  for (const char* word : {"mod", "exists", "not", "nan", "max", "if"})
    CHECK(code_of([&] { rename_iname(k, "i", word); }) == "bad-name");
}

TEST_CASE("rename_iname: a new name everywhere") {
  const Kernel before = parsed(
      "kernel f\ndomain {[i, k]: 0 <= i < n and 0 <= k <= i}\nc[i] = sum(k, a[i, k]) {id=w}\n");
  const Kernel k = rename_iname(rename_iname(before, "k", "m"), "i", "row");
  CHECK(line(k, "w") == "c[row] = sum(m, a[row, m])");
  CHECK(same_set(k.domains[0].set, "{[row, m]: 0 <= row < n and 0 <= m <= row}"));
  CHECK(k.loop_order == std::vector<std::string>{"row", "m"});
  CHECK(conserves(before, k));
}

TEST_CASE("rename_iname: tags and slabs pass on, unless they are not to") {
  const Kernel k = tag_inames(two_loops("j"), {{"i", "par"}});
  CHECK(rename_iname(k, "i", "p").tag("p")->text == "par");
  CHECK(rename_iname(k, "i", "p", {.preserve_tags = false}).tag("p") == nullptr);
  const Kernel cut = split_iname(two_loops("j"), "i", 4, {.slabs = {0, 1}});
  CHECK(rename_iname(cut, "i_outer", "p").slabs.at("p") == std::pair<int, int>{0, 1});
}

TEST_CASE("rename_iname: fuses loops where each iteration needs its own only") {
  const Kernel before = two_loops("j");
  const Kernel k = rename_iname(before, "j", "i", kMerge);
  CHECK(line(k, "second") == "c[i] = b[i] + 1");
  CHECK(k.domains.size() == 1);
  CHECK(tree(k) == "for i\n  first\n  second\n");
  CHECK(conserves(before, k));
}

// Differential test, seed 43940190: work-items outside of a barrier's condition never arrive.
TEST_CASE("rename_iname: a barrier gets no condition, which the statements around it get") {
  const Kernel before = parsed(
      "kernel f(n: int32, a: float64[n], b: float64[n])\ndomain {[i]: 0 <= i < n}\n"
      "domain {[j]: 0 <= j and 2*j < n}\n"
      "for j\n  a[j] = 1     {id=first}\n  ... gbarrier  {id=wait, dep=first}\n"
      "  b[j] = a[j]  {id=second, dep=wait}\nend\n");
  const Kernel k =
      rename_iname(before, "j", "i", {.existing_ok = true, .raise_on_domain_mismatch = false});
  for (const InsnPtr& i : k.instructions) CHECK(i->predicates.size() == (i->id == "wait" ? 0 : 1));
}

TEST_CASE("rename_iname: a fusion that reads an earlier iteration is fine, a later one is not") {
  CHECK(message([] {
          rename_iname(two_loops("j-1", "0 <= i < n", "1 <= j < n"), "j", "i",
                       {.existing_ok = true, .raise_on_domain_mismatch = false});
        }) == "legal");
  CHECK(message([] {
          rename_iname(two_loops("j+1", "0 <= i <= n", "0 <= j < n"), "j", "i",
                       {.existing_ok = true, .raise_on_domain_mismatch = false});
        }) ==
        "second[i=0] would run before first[i=1], but first[i=1] writes b[1] and second[i=0] reads "
        "it "
        "(n=1)");
}

TEST_CASE("rename_iname: a reversed read cannot be fused, also in one domain") {
  CHECK(message([] { rename_iname(two_loops("n-1-j"), "j", "i", kMerge); }) ==
        "second[i=0] would run before first[i=1], but first[i=1] writes b[1] and second[i=0] reads "
        "it "
        "(n=2)");
  const Kernel k = parsed(
      "kernel f\ndomain {[i, j]: 0 <= i < n and 0 <= j < n}\n"
      "b[i] = a[i] {id=x}\nc[j] = b[j] {id=y, dep=x}\n");
  const Kernel fused = rename_iname(k, "j", "i", kMerge);
  CHECK(fused.inames() == std::vector<std::string>{"i"});
  CHECK(conserves(k, fused));
}

TEST_CASE("rename_iname: loops over different values are refused with an instance") {
  CHECK(message([] {
          rename_iname(two_loops("j", "0 <= i < n", "0 <= j <= n"), "j", "i", kMerge);
        }) == "`j` and `i` run over different values: `second[j=0]` would be lost when n = 0");
  CHECK(
      message([] { rename_iname(two_loops("j", "0 <= i < n", "2 <= j < n"), "j", "i", kMerge); }) ==
      "`j` and `i` run over different values: `second[j=0]` would be new when n = 1; "
      "`raise_on_domain_mismatch = false` puts the instruction under a condition instead");
}

// Priorities say nothing of the parts of `k`, which are copies: in the text, `i2` is around them.
TEST_CASE("rename_iname: work-items that no one loop of the text could be have two there") {
  Kernel k = parsed(
      "kernel f(n: int32, x: int32[n, n], y: int32[n, n], u: int32[n, n])\n"
      "domain {[k]: 0 <= k < n}\ndomain {[i]: 2 <= i < n}\ndomain {[i2]: 0 <= i2 < n}\n"
      "domain {[j]: n - i <= j < n}\n"
      "y[k, i] = sum(j, x[k, j]) {id=s, inames=k:i}\n"
      "u[k, i2] = y[k, n - 1 - i2] {id=used, inames=k:i2}\n");
  k = apply(k, "split_iname", {text("k"), number(2)}, {{"inner_tag", text("ilp")}});
  k = apply(k, "split_iname", {text("i"), number(16)}, {{"inner_tag", text("l.0")}});
  k = prioritize_loops(k, {"i_outer", "k_inner", "j"});
  const Kernel one = rename_iname(k, "i_inner", "i2", kMerge);
  CHECK(one.find_insn("s")->inames.contains("i2"));
  CHECK(one.find_insn("used")->inames.contains("i2"));
  // In text, one loop over `i2` would be outside of both.
  CHECK(code_of([&] { check_legal(parsed(print_kernel(one))); }) == "breaks-order");
  const Kernel again = parsed(print_kernel(as_text(one)));
  CHECK_NOTHROW(check_legal(again));
  CHECK(again.find_insn("s")->inames != again.find_insn("used")->inames);
  CHECK(again.tag("i2_0")->text == "l.0");
}

// Differential test, seeds 37500809, 39801205 and 41900486.
TEST_CASE("text: what a team runs statement by statement stays so, whatever else has lanes") {
  Kernel k = parsed(
      "kernel f(n: int32, w: inout int32[n], b: inout int32[n])\n"
      "domain {[x]: 0 <= x < n}\ndomain {[z]: 0 <= z < n}\nassume n >= 5\n"
      "b[z] = b[z] + 1 {id=first, inames=z}\n"
      "w[x] = w[x] + b[n - 1 - x] {id=second, inames=x}\n");
  k = apply(k, "split_iname", {text("x"), number(3)}, {{"inner_tag", text("l.0")}});
  k = rename_iname(k, "x_inner", "z", kMerge);
  k = apply(k, "tag_inames", {text("x_outer: vec")});
  CHECK(code_of([&] { check_legal(parsed(print_kernel(k))); }) == "breaks-order");
  const Kernel again = parsed(print_kernel(as_text(k)));
  CHECK_NOTHROW(check_legal(again));
  CHECK(again.find_insn("first")->inames != again.find_insn("second")->inames);

  // A map whose lanes come first: in the text they are inside.
  Kernel skewed = parsed(
      "kernel f(n: int32, c: int32[3*n + 12])\n"
      "domain {[i]: 0 <= i < n and i mod 3 = 0}\ndomain {[j]: 0 <= j < n and j mod 3 = 0}\n"
      "c[i // 2 + 2] = 8*c[j + i + 2] {id=s, inames=i:j}\n");
  skewed = apply(skewed, "split_iname", {text("i"), number(2)}, {{"inner_tag", text("vec")}});
  skewed = map_domain(skewed, "{ [i_inner, i_outer] -> [i_inner, u] : u = i_outer - i_inner }");
  CHECK_NOTHROW(check_legal(parsed(print_kernel(as_text(skewed)))));
  CHECK(print_kernel(as_text(skewed)).find("loop_order u, j, i_inner") != std::string::npos);
}

// Differential test, seed 68400188: no text was found, so that the one printed had another order.
TEST_CASE("text: statements that hand a lane's value on share the copy of its iname") {
  Kernel k = parsed(
      "kernel f(n: int32, b: int32[n], c: int32[3*n], q: int32[n])\n"
      "domain {[i]: 0 <= i < n}\ndomain {[j]: 0 <= j < 5}\nassume n >= 5\n"
      "q[i] = b[i] - c[i + 3] {id=s0, inames=i}\n"
      "<int32> t = b[i] + c[2*i] {id=s1t, inames=i:j, if=j == 0}\n"
      "c[i + 1] = t {id=s1, inames=i}\n");
  k = apply(k, "split_iname", {text("i"), number(3)}, {{"inner_tag", text("ilp")}});
  k = apply(k, "duplicate_inames", {text("i_outer"), text("id:s0")});
  const Kernel again = parsed(print_kernel(as_text(k)));
  CHECK_NOTHROW(check_legal(again));
  CHECK(again.find_insn("s0")->inames.count("i_inner") == 1);
  for (const char* id : {"s1t", "s1"}) CHECK(again.find_insn(id)->inames.count("i_inner_0") == 1);
}

TEST_CASE("rename_iname: lanes that compute the bound of their own loop share it with no others") {
  Kernel k = parsed(
      "kernel f(n: int32, look: in int32[n], w: inout int64[n], q: inout int64[n, n])\n"
      "domain {[x]: 0 <= x < n}\ndomain {[k]: 0 <= k < m}\ndomain {[y]: 0 <= y < n}\n"
      "assume n >= 5\n"
      "<int32> m = look[x] % 5 {id=length, inames=x}\n"
      "q[x, k] = k {id=row, inames=x:k}\n"
      "w[y] = w[y] + q[3, y] {id=sum, inames=y}\n");
  k = apply(k, "split_iname", {text("y"), number(2)}, {{"inner_tag", text("l.0")}});
  CHECK(code_of([&] {
          rename_iname(k, "x", "y_inner", {.existing_ok = true, .raise_on_domain_mismatch = false});
        }) == "cannot-nest");
}

// The loop over `j` would read a length that another loop computes for itself, or that is computed
// later; where it is known by then, the loops become one.
TEST_CASE("rename_iname: one loop over the values of both needs what bounds them") {
  const auto merged = [](const char* before, const char* within) {
    return message([&] {
      rename_iname(
          parsed(std::string("kernel f(n: int32, cnt: int32[n], q: float64[n, n], c: float64[n])\n"
                             "domain {[r]: 0 <= r < n}\ndomain {[k]: 0 <= k < m}\n"
                             "domain {[j]: 0 <= j < 4}\nassume n >= 4\n") +
                 before + "for r\n  <int32> m = cnt[r] % 5 {id=len}\n" + within +
                 "  q[r, k] = 2*k {id=row}\nend\n"),
          "j", "k", {.existing_ok = true, .raise_on_domain_mismatch = false});
    });
  };
  CHECK(merged("c[j] = 2 {id=first}\n", "") ==
        "in `k`, `first` would read `m`, which bounds the loop, but `len` writes it later");
  CHECK(merged("", "  c[j] = c[j] + r {id=within}\n") == "legal");
  const Kernel after = parsed(
      "kernel f(n: int32, cnt: int32[n], q: float64[n, n], c: float64[n])\n"
      "domain {[r]: 0 <= r < n}\ndomain {[k]: 0 <= k < m}\ndomain {[j]: 0 <= j < 4}\n"
      "assume n >= 4\n"
      "for r\n  <int32> m = cnt[r] % 5 {id=len}\n  q[r, k] = 2*k {id=row}\nend\nc[j] = 2 "
      "{id=last}\n");
  CHECK(message([&] {
          rename_iname(after, "j", "k", {.existing_ok = true, .raise_on_domain_mismatch = false});
        }) ==
        "in `k`, `last` would read `m`, which bounds the loop, but each iteration of `r` has its "
        "own");
}

// Only the list of instructions prevents it: `x` writes even elements and `y`, which runs against
// it, reads odd ones, and the other way round.
TEST_CASE("rename_iname: refuses reductions whose parts no list of instructions could order") {
  Kernel k = parsed(
      "kernel f(n: int32, c: float64[2*n], d: float64[2*n])\ndomain {[i]: 0 <= i < n}\n"
      "domain {[l]: 0 <= l < n}\ndomain {[m]: 0 <= m < n}\n"
      "c[2*i] = sum(l, d[2*l + 1]) {id=x}\nd[2*i] = sum(m, c[2*m + 1]) {id=y}\n");
  k = duplicate_inames(k, {"i"}, Match::parse("id:y"), {.new_inames = {"r"}});
  k = rename_iname(map_domain(k, "{[r] -> [t]: t = n - 1 - r}"), "t", "i", kMerge);
  CHECK(message([&] { rename_iname(k, "m", "l", kMerge); }) ==
        "the parts of `x` and `y` would alternate, which no order of instructions says; "
        "realize_reduction makes instructions of the parts");
}

// Differential test, seed 35013056 (records): `keep` and `use` came before `most`, whose parts are
// around them, and `dep` then put only `keep` after `grow`.
TEST_CASE("rename_iname: the list of instructions keeps what dependences say") {
  const Kernel before = parsed(
      "kernel f(n: int32, h: float64[n], r: float64[n + 3], best: float64[1])\n"
      "domain {[i]: 0 <= i < n}\ndomain {[z]: 0 <= z < n}\n"
      "best[0] = reduce(max, i, reduce(max, z, r[z + 1])) {id=most}\nr[i + 3] = 2*r[i] {id=grow}\n"
      "<> kept = h[i] {id=keep, dep=grow}\nh[i] = 0.5*kept + 1.0 {id=use}\n");
  const Kernel k = rename_iname(before, "z", "q", {});
  CHECK(k.instruction_ids() == before.instruction_ids());
  CHECK(conserves(before, k));
}

TEST_CASE("rename_iname: a condition keeps the instances of a shorter loop") {
  const Kernel before = two_loops("j", "0 <= i < n", "2 <= j < n");
  const Kernel k =
      rename_iname(before, "j", "i", {.existing_ok = true, .raise_on_domain_mismatch = false});
  REQUIRE(k.find_insn("second")->predicates.size() == 1);
  CHECK(to_string(k.find_insn("second")->predicates[0]) == "i >= 2");
  CHECK(conserves(before, k));
}

TEST_CASE("rename_iname: triangular loops under one parent merge") {
  const Kernel before = parsed(
      "kernel f\ndomain {[i]: 0 <= i < n}\ndomain {[j]: 0 <= j < i}\ndomain {[k]: 0 <= k < i}\n"
      "b[i, j] = 1.0 {id=x}\nc[i, k] = 2.0 {id=y}\n");
  const Kernel k = rename_iname(before, "k", "j", kMerge);
  CHECK(conserves(before, k));
  CHECK(k.domains.size() == 2);
}

TEST_CASE("rename_iname: within merges one statement only") {
  const Kernel before = parsed(
      "kernel f\ndomain {[i]: 0 <= i < n}\ndomain {[j]: 0 <= j < n}\n"
      "a[i] = 1.0 {id=x}\nb[j] = 2.0 {id=y}\nc[j] = 3.0 {id=z}\n");
  const Kernel k =
      rename_iname(before, "j", "i", {.existing_ok = true, .within = Match::parse("id:z")});
  CHECK(k.find_insn("y")->inames == std::set<std::string>{"j"});
  CHECK(k.find_insn("z")->inames == std::set<std::string>{"i"});
  CHECK(conserves(before, k));
}

TEST_CASE("rename_iname: what it refuses") {
  const Kernel k = two_loops("j");
  CHECK(message([&] { rename_iname(k, "z", "y"); }) ==
        "no iname `z` in kernel `two`; it has `i`, `j`");
  CHECK(message([&] { rename_iname(k, "j", "i"); }) == "the name `i` is in use in kernel `two`");
  CHECK(message([&] { rename_iname(k, "j", "b", kMerge); }) ==
        "the name `b` is in use in kernel `two`");
  CHECK(message([&] { rename_iname(k, "j", "j"); }) == "`j` has this name already");
  const Kernel nested =
      parsed("kernel f\ndomain {[i, j]: 0 <= i < n and 0 <= j < n}\na[i, j] = 1.0 {id=x}\n");
  CHECK(message([&] { rename_iname(nested, "j", "i", kMerge); }) ==
        "`j` cannot become `i`: instruction `x` uses both");
  const Kernel tags = tag_inames(k, {{"i", "par"}, {"j", "unr"}});
  CHECK(message([&] { rename_iname(tags, "j", "i", kMerge); }) ==
        "`j` is tagged `unr` but `i` is tagged `par`; `preserve_tags = false` keeps the latter");
  CHECK(
      rename_iname(tags, "j", "i", {.existing_ok = true, .preserve_tags = false}).tag("i")->text ==
      "par");
}

TEST_CASE("rename_iname: bounds that then need two separate domains") {
  const Kernel k = parsed(
      "kernel f(n: int32, a: float64[2*n, n], b: float64[2])\n"
      "domain {[o, i]: 0 <= o < n and 0 <= i < 2}\ndomain {[j]: 0 <= j < n - o - i}\n"
      "domain {[s]: 0 <= s < 2}\na[2*o + i, j] = 1.0 {id=x}\nb[s] = 2.0 {id=y}\n");
  const Kernel merged = rename_iname(k, "i", "s", kMerge);
  CHECK(same_values(k, merged, {{"n", 4}}));
  CHECK(print_kernel(parsed(print_kernel(merged))) == print_kernel(merged));
  const Kernel beside = parsed(
      "kernel f(n: int32, a: float64[n], b: float64[2])\n"
      "domain {[o, i]: 0 <= o < n and 0 <= i < 2}\n"
      "domain {[s]: 0 <= s < 2}\na[o] = 1.0 {id=x, inames=o:i}\nb[s] = 2.0 {id=y}\n");
  CHECK(rename_iname(beside, "i", "s", kMerge).inames() == std::vector<std::string>{"o", "s"});
}

TEST_CASE("rename_iname: refuses a merge that leaves no value for another loop") {
  const Kernel k = parsed(
      "kernel f(n: int32, a: float64[n])\ndomain {[i]: 0 <= i < n}\n"
      "domain {[o, j]: 0 <= j < 3 and 0 <= o and 3*o + j < i}\na[i] = 1.0 {id=x}\n");
  CHECK(message([&] { rename_iname(k, "j", "i", kMerge); }) ==
        "`j` cannot become `i`: no value would be left for `o`");
}

TEST_CASE("rename_iname: refuses bounds that would depend on themselves") {
  // No instruction is in `j`, so only its own bounds prevent it.
  const Kernel k = parsed(
      "kernel f(n: int32, a: float64[n])\ndomain {[i]: 0 <= i < n}\ndomain {[j]: 0 <= j <= i}\n"
      "a[i] = 1.0 {id=s}\n");
  CHECK(code_of([&] {
          apply(k, "rename_iname", {text("i"), text("j")}, {{"existing_ok", flag(true)}});
        }) == "nested-inames");
}

TEST_CASE("rename_iname: one loop over the values of both, each statement under its condition") {
  const Kernel k = parsed(R"(
kernel jac(steps: int32, n: int32, A: inout float64[n], B: inout float64[n])
domain {[t, i, j]: 0 <= t < steps and 1 <= i < n - 1 and 1 <= j < n - 1}
assume n >= 3 and steps >= 1
for t
  B[i] = A[i - 1] + A[i + 1]   {id=b}
  A[j] = B[j - 1] + B[j + 1]   {id=a}
end
)");
  Kernel out = map_domain(k, "{ [t, i] -> [t, x] : x = 2*t + i }");
  out = map_domain(out, "{ [t, j] -> [t, y] : y = 2*t + 1 + j }");
  CHECK(code_of([&] { rename_iname(out, "y", "x", kMerge); }) == "other-values");
  const Kernel one =
      rename_iname(out, "y", "x", {.existing_ok = true, .raise_on_domain_mismatch = false});
  CHECK(tree(one) == "for t\n  for x\n    b\n    a\n");
  CHECK(one.find_insn("a")->predicates.size() == 1);
  CHECK(one.find_insn("b")->predicates.size() == 1);
  for (const int steps : {1, 4}) CHECK(same_values(k, one, {{"steps", steps}, {"n", 6}}));
  // Both on one time tile.
  Kernel tile = apply(apply(one, "split_iname", {text("t"), number(2)}), "split_iname",
                      {text("x"), number(3)});
  tile = apply(tile, "prioritize_loops", {text("t_outer, x_outer, t_inner, x_inner")});
  for (const int steps : {1, 4}) CHECK(same_values(k, tile, {{"steps", steps}, {"n", 6}}));
}

TEST_CASE("rename_iname: a reduction cannot be under a condition of its own") {
  const Kernel k = parsed(
      "kernel f(n: int32, a: float64[n + 2], c: float64[1])\ndomain {[i]: 0 <= i < n}\n"
      "domain {[j]: 0 <= j < n + 2}\nc[0] = sum(i, a[i]) {id=s}\na[j] = 2.0 {id=w}\n");
  CHECK(code_of([&] {
          rename_iname(k, "j", "i", {.existing_ok = true, .raise_on_domain_mismatch = false});
        }) == "other-values");
}

TEST_CASE("rename_iname: one loop over values that have no common bound") {
  // Found by the differential test.
  const Kernel k = parsed(
      "kernel f(n: int32, a: float64[n], c: float64[5])\ndomain {[i]: 0 <= i < 5}\n"
      "domain {[j]: 0 <= j < n}\nc[i] = 1.0 {id=c}\na[j] = 2.0 {id=a}\n");
  const Kernel out =
      rename_iname(k, "j", "i", {.existing_ok = true, .raise_on_domain_mismatch = false});
  for (const int n : {0, 3, 5, 9}) CHECK(same_values(k, out, {{"n", n}}));
}

TEST_CASE("rename_iname: a loop of two becomes one that stands inside its other one") {
  // Found by the differential test: a fetch's loop depends on the outer loop of a split.
  const Kernel k = parsed(
      "kernel f(n: int32, a: float64[n], b: float64[n])\ndomain {[i]: 1 <= i < n}\n"
      "a[i] = 2*b[i] {id=s}\n");
  const Kernel split = apply(k, "split_iname", {text("i"), number(2)});
  const Kernel staged = apply(split, "add_prefetch", {text("b"), text("i_inner")});
  for (const bool raise : {true, false}) {
    CAPTURE(raise);
    const Kernel out = rename_iname(staged, "i_inner", "b_dim_0",
                                    {.existing_ok = true, .raise_on_domain_mismatch = raise});
    CHECK(tree(out) == "for i_outer\n  for b_dim_0\n    b_fetch_rule\n    s\n");
    for (const int n : {0, 1, 2, 7}) CHECK(same_values(k, out, {{"n", n}}));
  }
}

TEST_CASE("rename_iname: into a loop whose bounds only name the loops of the other") {
  // Found by the differential test: such a name was taken for a bound.
  const Kernel k = parsed(
      "kernel f(n: int32, a: float64[n, 5], c: float64[n, 5])\n"
      "domain {[k, l]: 0 <= k < n and 0 <= l < 5}\ndomain [k] -> {[j]: 0 <= j < 5}\n"
      "a[k, l] = 1.0 {id=a}\nc[k, j] = a[k, j] {id=c}\n");
  const Kernel out =
      rename_iname(k, "l", "j", {.existing_ok = true, .raise_on_domain_mismatch = false});
  CHECK(same_values(k, out, {{"n", 4}}));
  Kernel scan = parsed(
      "kernel e(n: int32, x: int64[4, n], y: int64[4, n])\ndomain {[k]: 0 <= k < 3}\n"
      "domain {[i]: 0 <= i < n}\ndomain {[j]: 0 <= 2*j <= i}\n"
      "y[k, i] = sum(j, x[k, j])  {id=s, inames=k:i}\n");
  scan = apply(scan, "split_iname", {text("k"), number(4)}, {{"inner_tag", text("l.0")}});
  scan = apply(scan, "realize_reduction", {}, {{"force_scan", flag(true)}});
  scan = apply(scan, "split_iname", {text("k_outer"), number(2)}, {{"within", text("id:s_init")}});
  CHECK(code_of([&] {
          rename_iname(scan, "k_outer_inner", "j_0",
                       {.existing_ok = true, .raise_on_domain_mismatch = false});
        }) == "other-values");
}

TEST_CASE("rename_iname: conditions whose quotients have no names") {
  // Found by the differential test.
  const Kernel k = parsed(
      "kernel f(n: int32, a: int32[n + 2, n + 4], b: in int32[n + 4])\n"
      "domain {[i]: 0 <= i < n and i mod 2 = 0}\ndomain {[j]: 0 <= j and 2*j < n}\n"
      "assume n >= 5\na[i, i + 2] = b[i + 3]  {id=s, inames=i, if=i > 1}\na[j, 0] = 1  {id=t}\n");
  const Kernel chunks = apply(k, "chunk_iname", {text("i"), number(3)});
  const Kernel out = rename_iname(chunks, "j", "i_inner",
                                  {.existing_ok = true, .raise_on_domain_mismatch = false});
  for (const int n : {5, 8, 13}) CHECK(same_values(k, out, {{"n", n}}));
}

TEST_CASE("rename_iname: a joined loop runs where the loops around both of them run") {
  // Differential test, seed 31000253: the bounds of `j` name `t`, which is in the domain of `i`.
  const Kernel before = parsed(
      "kernel f(n: int32, a: float64[n + 8], b: float64[n + 8])\n"
      "domain {[t, i]: 0 <= i <= 3 and 0 <= 4*t + i < n}\n"
      "domain {[j]: 1 <= j <= 3 and j < n - 4*t}\n"
      "a[4*t + i] = 2*a[4*t + i]  {id=first}\n"
      "b[4*t + j] = a[4*t + j] + 1  {id=second, dep=first, inames=t:j}\n");
  const Kernel k =
      rename_iname(before, "j", "i", {.existing_ok = true, .raise_on_domain_mismatch = false});
  CHECK(same_set(to_dims(k.domains[0].set, {"t"}), "[n] -> {[t]: 0 <= t and 4*t < n}"));
  for (const int n : {1, 3, 9, 12}) CHECK(same_values(before, k, {{"n", n}}));
}

TEST_CASE("rename_iname: what does not run in the renamed loop keeps its values") {
  // Differential test, seed 32000679: `c` came to depend on `s`, and `last` runs in both.
  const Kernel k = parsed(
      "kernel f(n: int32, a: float64[3], b: float64[3, n], q: float64[3, n])\n"
      "domain {[o, c]: o = 0 and 0 <= c < 3}\ndomain {[s]: 0 <= s < n}\nassume n >= 2\n"
      "a[c + 3*o] = 2*a[c + 3*o]  {id=first}\n"
      "q[c, s] = b[c, s]  {id=last, inames=c:s}\n");
  CHECK(message([&] {
          rename_iname(k, "o", "s", kMerge);
        }).find("`last[c=0, s=1]` would be lost") != std::string::npos);
  CHECK(code_of([&] { rename_iname(k, "o", "s", kMerge); }) == "other-values");
  CHECK(code_of([&] {
          rename_iname(k, "o", "s", {.existing_ok = true, .raise_on_domain_mismatch = false});
        }) == "other-values");
}

TEST_CASE("rename_iname: a loop that no longer depends on another one may get its name") {
  // Differential test, seed 8300092: the parameter stayed in the domain, unused.
  const Kernel k = parsed(R"(
kernel f(n: int32, a: in float64[n], q: inout float64[n])
domain {[t]: 1 <= t < n}
domain {[r]: 0 <= r and 2*r < n}
domain {[u]: 0 <= u < n and r - 1 <= u <= r + 1}
domain {[g]: 0 <= g < t}
q[t] = sum(g, a[g])  {inames=t}
)");
  const ValueDict merged{{"existing_ok", Value{true}}, {"raise_on_domain_mismatch", Value{false}}};
  Kernel out = apply(k, "rename_iname", {text("t"), text("u")}, merged);
  out = apply(out, "rename_iname", {text("u"), text("r")}, merged);
  CHECK(same_values(k, out, {{"n", 9}}));
}

// Found by the differential test (5177602): the bounds of `p` came to depend on the reduction's
// `j`.
TEST_CASE("rename_iname: a reduction over the new iname keeps its values") {
  const Kernel k = parsed(
      "kernel f(n: int32, b: int32[4], q: int32[2, n], x: int32[2])\n"
      "domain {[p, r]: 0 <= p < 2 and r = p}\ndomain {[j]: 0 <= j < n}\nassume n >= 2\n"
      "b[p + r] = 1 {id=w}\nx[p] = max(j, q[p, j]) {id=s}\n");
  CHECK(message([&] { rename_iname(k, "r", "j", kMerge); }) ==
        "`r` and `j` run over different values: `s[j=0, p=1]` would be lost when n = 2");
}
