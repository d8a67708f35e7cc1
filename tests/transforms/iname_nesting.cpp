// has_schedulable_iname_nesting, get_iname_duplication_options, and duplicate_inames where loops
// cannot be nested.
#include "transforms/iname_nesting.h"

#include <random>

#include "core/order/check_kernel.h"
#include "tests/transforms/loop_kit.h"
#include "tests/transforms/same_values.h"
#include "transforms/duplicate_inames.h"

using namespace moonloop;

namespace {

std::string options_of(const Kernel& k) {
  std::string out;
  for (const Duplication& d : iname_duplications(k)) out += d.iname + " in " + d.within() + "\n";
  return out;
}

/// Takes the first option until the loops nest.
Kernel mended(Kernel k, int& steps) {
  for (steps = 0; !loops_nest(k); ++steps) {
    const std::vector<Duplication> options = iname_duplications(k);
    REQUIRE(!options.empty());
    REQUIRE(steps < 20);
    k = duplicate_inames(k, {options[0].iname}, Match::parse(options[0].within()));
  }
  return k;
}

/// Statements in some of the loops `i`, `j` and `l`, each with an array of its own.
std::string statements_of(const std::vector<std::string>& loops, bool apart) {
  std::string head = "kernel k(n: int32", body;
  for (const char* i : {"i", "j", "l"})
    if (!apart) body += fmt::format("domain {{[{0}]: 0 <= {0} < n}}\n", i);
  for (std::size_t s = 0; s < loops.size(); ++s) {
    std::string own = loops[s], subscripts;
    if (apart) {
      for (char& c : own) body += fmt::format("domain {{[{0}{1}]: 0 <= {0}{1} < n}}\n", c, s);
    }
    for (const char c : own)
      subscripts +=
          (subscripts.empty() ? "" : ", ") + std::string(1, c) + (apart ? std::to_string(s) : "");
    std::string shape;
    for (std::size_t a = 0; a < own.size(); ++a) shape += a ? ", n" : "n";
    head += fmt::format(", a{}: int32[{}]", s, shape);
    std::string value = std::to_string(s);
    for (const char c : own)
      value += fmt::format(" + {}*{}{}", int(c), c, apart ? std::to_string(s) : "");
    body += fmt::format("a{}[{}] = {}\n", s, subscripts, value);
  }
  return head + ")\n" + body;
}

}  // namespace

TEST_CASE("iname nesting: steps for three loops that cross pairwise") {
  const Kernel k = parsed(statements_of({"ij", "jl", "li"}, false));
  CHECK(!loops_nest(k));
  CHECK(options_of(k) ==
        "i in id:insn\ni in id:insn_1\nj in id:insn\nj in id:insn_0\nl in id:insn_1\nl in "
        "id:insn_0\n");
  int steps = 0;
  const Kernel out = mended(k, steps);
  CHECK(steps == 2);
  CHECK(same_values(parsed(statements_of({"ij", "jl", "li"}, true)), out, {{"n", 3}}));
  CHECK(out.trace.empty());
  CHECK(options_of(out).empty());
}

TEST_CASE("iname nesting: one step for two loops, with instructions of one kind together") {
  const Kernel k = parsed(R"(
kernel f(n: int32, a: float64[n, n], b: float64[n], c: float64[n], d: float64[n])
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j < n}
a[i, j] = 1   {id=both}
b[i] = 2      {id=row}
d[i] = 3      {id=row_too}
c[j] = 3      {id=column}
)");
  CHECK(options_of(k) == "i in id:row or id:row_too\ni in id:both\nj in id:both\nj in id:column\n");
  CHECK(tree(apply(k, "duplicate_inames", {text("i"), text("id:row or id:row_too")})) ==
        "for j\n  for i\n    both\n  column\nfor i_0\n  row\n  row_too\n");
}

TEST_CASE("iname nesting: kernels that nest need no step") {
  const Kernel k = parsed(
      "kernel f(n: int32, a: float64[n, n], b: float64[n])\n"
      "domain {[i, j]: 0 <= i < n and 0 <= j < n}\nb[i] = 1\na[i, j] = 2\nb[i] = sum(j, a[i, "
      "j])\n");
  CHECK(loops_nest(k));
  CHECK(options_of(k).empty());
}

TEST_CASE("iname nesting: the order begins with the step that mends it") {
  const Kernel k = parsed(statements_of({"ij", "i", "j"}, false));
  const Kernel out = apply(k, "duplicate_inames", {text("i"), text("id:insn_0")});
  CHECK(!out.reference);
  // From there on, steps are proved as ever.
  CHECK(tree(apply(out, "tag_inames", {text("i_0:par")})) ==
        "for j\n  for i\n    insn\n  insn_1\nfor i_0  [par]\n  insn_0\n");
  CHECK(code_of([&] { apply(k, "tag_inames", {text("i:par")}); }) == "cannot-nest");
  CHECK(code_of([&] { duplicate_inames(k, {"z"}, Match::parse("id:insn")); }) == "unknown-iname");
}

TEST_CASE("iname nesting: random statements in loops that cross") {
  std::mt19937 random(20);  // NOLINT: the same kernels each time
  const std::vector<std::string> kinds{"i", "j", "l", "ij", "jl", "li", "ijl"};
  int mended_ones = 0;
  for (int n = 0; n < 150; ++n) {
    std::vector<std::string> loops;
    for (std::size_t s = 2 + random() % 4; s > 0; --s)
      loops.push_back(kinds[random() % kinds.size()]);
    const std::string text = statements_of(loops, false);
    CAPTURE(text);
    const Kernel k = parsed(text);
    int steps = 0;
    const Kernel out = mended(k, steps);
    mended_ones += steps > 0;
    CHECK(options_of(out).empty());
    CHECK(same_values(parsed(statements_of(loops, true)), out, {{"n", 3}}));
  }
  CHECK(mended_ones > 40);
}
