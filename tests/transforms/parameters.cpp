// assume, fix_parameters.
#include "core/model/print.h"
#include "tests/transforms/loop_kit.h"
#include "tests/transforms/same_values.h"
#include "transforms/assume.h"
#include "transforms/fix_parameters.h"

using namespace moonloop;

namespace {

const char* const kFill = R"(
kernel fill(n: int32, m: int32, x: float64, a: float64[n, m])
domain {[i, j]: 0 <= i < n and 0 <= j < m}
assume n >= 2
f(k) := k + n
a[i, m - 1 - j] = n*x + f(j)   {id=one}
)";

bool holds(const Kernel& k, const std::string& assumption) {
  return yes(isl_set_is_equal(context_of(k).get(), parse_assumption(assumption).get()));
}

}  // namespace

TEST_CASE("assume") {
  const Kernel k = parsed(kFill);
  const Kernel out = assume(k, "n mod 16 = 0 and m > 3");
  CHECK(holds(out, "n mod 16 = 0 and m > 3 and n >= 2"));
  CHECK(holds(assume(k, "exists zz: n = 16*zz"), "n mod 16 = 0 and n >= 2"));
  CHECK(holds(assume(k, "[m] -> { : m = 4 }"), "m = 4 and n >= 2"));
  CHECK(message([&] { assume(k, "q > 0"); }) ==
        "no parameter `q` in kernel `fill`; it has `m`, `n`, `x`");
  CHECK(message([&] { assume(k, "i > 0"); }) ==
        "no parameter `i` in kernel `fill` (`i` is an iname); it has `m`, `n`, `x`");
  CHECK(message([&] { assume(k, "a > 0"); }) ==
        "no parameter `a` in kernel `fill` (`a` is an array); it has `m`, `n`, `x`");
  CHECK(message([&] { assume(k, "n < 2"); }) ==
        "`n < 2` contradicts what kernel `fill` assumes, `n >= 2`");
  CHECK(code_of([&] { assume(k, "n <"); }) == "bad-domain");
  CHECK(code_of([&] { assume(k, "{[i]: i > 0}"); }) == "bad-domain");
}

TEST_CASE("assume: later proofs know it") {
  // a[2*i] and a[2*i + n]: distinct only when n is odd.
  const Kernel k = apply(parsed(R"(
kernel apart(n: int32, a: float64[3*n])
domain {[i]: 0 <= i < n}
assume n >= 1
a[2*i + n] = a[2*i] + 1
)"),
                         "split_iname", {text("i"), number(4)});
  CHECK(code_of([&] { apply(k, "tag_inames", {text("i_outer:par")}); }) != "legal");
  const Kernel odd = apply(k, "assume", {text("n mod 2 = 1")});
  CHECK(code_of([&] { apply(odd, "tag_inames", {text("i_outer:par")}); }) == "legal");
}

TEST_CASE("fix_parameters: everywhere") {
  const Kernel k = parsed(kFill);
  const Kernel out = fix_parameters(k, {{"n", 6}, {"m", 4}});
  CHECK(out.find_arg("n") == nullptr);
  CHECK(out.find_arg("m") == nullptr);
  CHECK(to_string(*out.find_arg("a")->shape) == "6, 4");
  CHECK(same_set(instances(out, {"i", "j"}), "{[i, j] : 0 <= i < 6 and 0 <= j < 4}"));
  CHECK(to_string(out.instructions[0]->lhs) == "a[i, 3 - j]");
  CHECK(to_string(out.rules[0].body) == "k + cast(int32, 6)");
  CHECK(same_values(k, out, {{"n", 6}, {"m", 4}}));
  CHECK(parsed(print_kernel(out)).args.size() == 2);
}

TEST_CASE("fix_parameters: after other steps, with its reference") {
  const Kernel k = parsed(kFill);
  const Kernel split = apply(k, "split_iname", {text("j"), number(4)});
  const Kernel fixed = apply(split, "fix_parameters", {Value{ValueDict{{"m", number(8)}}}});
  CHECK(conserves(fix_parameters(k, {{"m", 8}}), fixed));
  const Kernel tagged = apply(fixed, "tag_inames", {text("j_outer:par")});
  CHECK(same_values(k, tagged, {{"n", 6}, {"m", 8}}));
}

TEST_CASE("fix_parameters: within some instructions only") {
  const Kernel k = parsed(R"(
kernel two(n: int32, a: int32[n], b: int32[n])
domain {[i]: 0 <= i < n}
f(k) := k*n
a[i] = f(i) + n  {id=one}
b[i] = f(i) + n  {id=two}
)");
  const Kernel out = fix_parameters(k, {{"n", 5}}, Match::parse("two"));
  CHECK(line(out, "one") == "a[i] = f(i) + n");
  CHECK(line(out, "two") == "b[i] = f_0(i) + cast(int32, 5)");
  CHECK(out.find_arg("n") != nullptr);
  CHECK(holds(out, "n = 5"));
  CHECK(same_values(k, out, {{"n", 5}}));
}

TEST_CASE("fix_parameters: refusals") {
  const Kernel k = parsed(kFill);
  CHECK(message([&] {
          fix_parameters(k, {{"q", 1}});
        }) == "no parameter `q` in kernel `fill`; it has `m`, `n`, `x`");
  CHECK(message([&] {
          fix_parameters(k, {{"i", 1}});
        }) == "no parameter `i` in kernel `fill`; it has `m`, `n`, `x`");
  CHECK(message([&] {
          fix_parameters(k, {{"n", 1}});
        }) == "`n = 1` contradicts what kernel `fill` assumes, `n >= 2`");
  CHECK(message([&] {
          fix_parameters(k, {{"n", 3000000000}});
        }) == "3000000000 does not fit the int32 parameter `n`");
  CHECK(message([&] {
          fix_parameters(k, {{"n", 4}}, Match::parse("other"));
        }) == "`within` selects no instruction in kernel `fill`; it has `one`");
}
