// add_inames_to_insn, remove_inames_from_insn, remove_predicates_from_insn.
#include "tests/transforms/loop_kit.h"
#include "tests/transforms/same_values.h"
#include "transforms/add_inames_for_unused_hw_axes.h"
#include "transforms/add_inames_to_insn.h"
#include "transforms/remove_inames_from_insn.h"
#include "transforms/remove_predicates_from_insn.h"

using namespace moonloop;

namespace {

Match which(const char* text) { return Match::parse(text); }
std::string loops(const Kernel& k, const std::string& id) {
  return fmt::format("{}", fmt::join(k.find_insn(id)->inames, " "));
}

const char* const kFactor = R"(
kernel s(n: int32, a: float64[n], b: float64[n])
domain {[i]: 0 <= i < n}
assume n >= 1
<>t = 2*a[0]   {id=factor}
b[i] = t*a[i]  {id=use}
)";
const char* const kRows = R"(
kernel s(n: int32, m: int32, a: float64[n], b: float64[n], c: float64[n, m])
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j < m}
domain {[r]: 0 <= r < n}
for i, j
  b[i] = sum(r, a[r]) + a[i]  {id=row}
  c[i, j] = b[i]              {id=use}
end
)";

}  // namespace

TEST_CASE("add_inames_to_insn: a value is computed again in each iteration, and once again") {
  const Kernel k = parsed(kFactor);
  const Kernel in = add_inames_to_insn(k, {"i"}, which("id:factor"));
  CHECK(loops(in, "factor") == "i");
  CHECK(tree(in) == "for i\n  factor\n  use\n");
  CHECK(same_values(k, in, {{"n", 5}}));
  const Kernel out = remove_inames_from_insn(in, {"i"}, which("id:factor"));
  CHECK(tree(out) == "factor\nfor i\n  use\n");
  CHECK(same_values(k, out, {{"n", 5}}));
}

TEST_CASE("add_inames_to_insn: the first of the repetitions is before what reads it") {
  const Kernel k = parsed(R"(
kernel s(n: int32, a: float64[n], b: float64[n], c: float64[n, n])
domain {[i, j]: 0 <= j <= i < n}
a[i] = 2*b[i]    {id=row}
c[i, j] = a[i]   {id=use}
)");
  const Kernel in = add_inames_to_insn(k, {"j"}, which("id:row"));
  CHECK(same_values(k, in, {{"n", 6}}));
  CHECK(loops(in, "row") == "i j");
}

TEST_CASE("add_inames_to_insn: refusals") {
  const Kernel k = parsed(kFactor);
  Kernel any = k;
  any.assumptions = {};
  CHECK(
      message([&] { add_inames_to_insn(any, {"i"}, which("id:factor")); }) ==
      "`factor` would be lost: `i` has no iteration for it (n=0); `assume` may tell that there is "
      "one");
  CHECK(code_of([&] { add_inames_to_insn(k, {"z"}, which("id:factor")); }) == "unknown-iname");
  CHECK(code_of([&] { add_inames_to_insn(k, {"i"}, which("id:none")); }) == "no-match");
  // Two instances: an iteration would find what a later one of the loop left.
  CHECK(message([&] {
          add_inames_to_insn(parsed(R"(
kernel s(n: int32, a: float64[n])
domain {[i]: 0 <= i < n}
assume n >= 1
<>t = 2*a[0]   {id=factor}
a[i] = t*a[i]  {id=use}
)"),
                             {"i"}, which("id:factor"));
        }) ==
        "factor[i=1] reads a[0], which use[i=0] writes; factor[i=1] must run before use[i=0], "
        "and with `factor` it does not (n=2)");
  const char* const accumulate = R"(
kernel s(n: int32, a: float64[n], b: float64[n], c: float64[n, n])
domain {[i, j]: 0 <= i, j < n}
b[i] = b[i] + a[i]        {id=acc}
c[i, j] = b[i]            {id=use}
)";
  CHECK(message([&] { add_inames_to_insn(parsed(accumulate), {"j"}, which("id:acc")); }) ==
        "`acc[i=0]` reads `b[0]`, which it writes: in one iteration of `j` it would read what it "
        "wrote in another one (n=1)");
  CHECK(code_of([&] { add_inames_to_insn(parsed(accumulate), {"j"}, which("id:acc")); }) ==
        "repeats-update");
  CHECK(code_of([&] { add_inames_to_insn(parsed(kRows), {"r"}, which("id:row")); }) ==
        "both-inames");
  const char* const nested = R"(
kernel s(n: int32, a: float64[n, n], b: float64[n])
domain {[i]: 0 <= i < n}
domain [i] -> {[j]: 0 <= j <= i}
a[i, j] = 1     {id=one}
b[0] = 2        {id=two}
)";
  CHECK(message([&] { add_inames_to_insn(parsed(nested), {"j"}, which("id:two")); }) ==
        "the bounds of `j` depend on `i`, which is not a loop around `two`; add it too");
  CHECK(code_of([&] { add_inames_to_insn(parsed(nested), {"j"}, which("id:two")); }) ==
        "missing-loop");
  CHECK(code_of([&] {
          add_inames_to_insn(parsed(R"(
kernel s(n: int32, a: float64[n], b: inout float64[1])
external draw: float64
domain {[i]: 0 <= i < n}
assume n >= 1
b[0] = draw()   {id=one}
a[i] = b[0]     {id=two}
)"),
                             {"i"}, which("id:one"));
        }) == "foreign-effects");
}

TEST_CASE("add_inames_to_insn: unsafe") {
  const Kernel out =
      apply(parsed(R"(
kernel s(n: int32, b: float64[n])
domain {[i]: 0 <= i < n}
b[0] = b[0] + 1  {id=acc}
b[i] = 1         {id=fill}
)"),
            "add_inames_to_insn", {text("i"), text("id:acc")}, {{"unsafe", flag(true)}});
  CHECK(loops(out, "acc") == "i");
  CHECK(out.claims.size() == 1);
}

TEST_CASE("remove_inames_from_insn: a row is computed once, under a condition where need be") {
  const Kernel k = parsed(kRows);
  CHECK(message([&] { remove_inames_from_insn(k, {"j"}, which("id:row")); }) ==
        "`row[i=0]` would be new: `j` has no iteration for it (m=0, n=1); `assume` may tell that "
        "there is one, and `guard = true` makes it a condition");
  const Kernel out = remove_inames_from_insn(k, {"j"}, which("id:row"), true);
  CHECK(loops(out, "row") == "i");
  CHECK(to_string(out.find_insn("row")->predicates) == "m >= 1");
  for (const std::int64_t columns : {0, 3}) {
    CAPTURE(columns);
    CHECK(same_values(k, out, {{"n", 4}, {"m", columns}}));
  }
}

TEST_CASE("remove_inames_from_insn: refusals") {
  const Kernel k = parsed(kRows);
  CHECK(message([&] { remove_inames_from_insn(k, {"i"}, which("id:row"), true); }) ==
        "`row` uses `i`: it does something else in each iteration");
  CHECK(message([&] {
          remove_inames_from_insn(parsed(R"(
kernel s(n: int32, b: float64[n])
domain {[i]: 0 <= i < n}
domain [i] -> {[j]: 0 <= j <= i}
b[0] = 1   {id=one, inames=i:j}
)"),
                                  {"i"}, which("id:one"), true);
        }) == "the bounds of `j`, a loop of `one`, depend on `i`");
  // What it reads changes between two iterations.
  CHECK(message([&] {
          remove_inames_from_insn(parsed(R"(
kernel s(n: int32, a: float64[n], b: float64[n])
domain {[i]: 0 <= i < n}
for i
  <>t = 2*a[0]   {id=factor}
  a[i] = t       {id=use}
end
)"),
                                  {"i"}, which("id:factor"), true);
        }) ==
        "use[i=0] writes a[0], which factor reads; use[i=0] must run before factor, and with "
        "`factor` it does not (n=2)");
  // Something else overwrites it between two iterations.
  const char* const twice = R"(
kernel s(n: int32, a: float64[n], b: float64[n], c: float64[n])
domain {[i]: 0 <= i < n}
for i
  a[0] = 2       {id=one}
  b[i] = a[0]    {id=two}
  a[0] = 3       {id=three}
  c[i] = a[0]    {id=four}
end
)";
  CHECK(message([&] { remove_inames_from_insn(parsed(twice), {"i"}, which("id:one"), true); }) ==
        "one[i=0] and one[i=1] write a[0], and `three` writes it between them (n=2)");
  CHECK(code_of([&] { remove_inames_from_insn(k, {"z"}, which("id:row")); }) == "unknown-iname");
  CHECK(code_of([&] { remove_inames_from_insn(k, {"i"}, which("id:none")); }) == "no-match");
  CHECK(code_of([&] { remove_inames_from_insn(k, {"i"}, which("id:row")); }) == "loop-needed");
}

// Differential test of parallel loops, seed 336745062.
TEST_CASE("remove_inames_from_insn: a first iteration that data says is not known") {
  const auto k = [](const char* low) {
    return parsed(fmt::format(R"(
kernel s(n: int32, a: int32[n], b: int32[n], cnt: in int32[n])
domain {{[k]: 0 <= k < n}}
domain {{[l]: {} <= l < len}}
for k
  <int32> low = cnt[k] % 3
  <int32> len = low + cnt[k] % 4
  for l
    <int32> t = b[k]  {{id=value}}
    a[k] = t + l + low
  end
end
)",
                              low));
  };
  const auto removed = [&](const char* low) {
    return message([&] { remove_inames_from_insn(k(low), {"l"}, which("id:value"), true); });
  };
  CHECK(removed("low") == "the first iteration of `l` around `value` depends on data");
  CHECK(removed("0") == "legal");
}

TEST_CASE("remove_predicates_from_insn: what follows from bounds and other conditions") {
  const Kernel k = parsed(R"(
kernel s(n: int32, a: float64[n], m: int32[n])
domain {[i]: 0 <= i < n}
a[i] = 1   {id=one, if=i < n:i > 2:i > 1}
a[i] = 2   {id=two, if=m[i] > 0}
)");
  const Kernel out = remove_predicates_from_insn(k, which("id:one"), {"i < n", "i > 1"});
  CHECK(to_string(out.find_insn("one")->predicates) == "i > 2");
  CHECK(same_values(k, out, {{"n", 6}}));
  CHECK(message([&] { remove_predicates_from_insn(k, which("id:one")); }) ==
        "`one[i=0]` would be new: `i > 2` does not hold there (n=1)");
  CHECK(message([&] { remove_predicates_from_insn(k, which("id:two")); }) ==
        "whether `m[i] > 0` always holds for `two` is not known: it is not affine");
  CHECK(message([&] { remove_predicates_from_insn(k, which("id:one"), {"i > 7"}); }) ==
        "no instruction that `insn_match` selects has the condition `i > 7`");
  const Kernel forced =
      apply(k, "remove_predicates_from_insn", {text("id:two")}, {{"unsafe", flag(true)}});
  CHECK(forced.find_insn("two")->predicates.empty());
}

TEST_CASE("add_inames_for_unused_hw_axes: each instruction is in the loops of all axes") {
  const Kernel k = parsed(R"(
kernel s(n: int32, a: float64[n], b: float64[n, 16], c: float64[n])
domain {[i, j]: 0 <= i < n and 0 <= j < 16}
tag i: g.0, j: l.0
assume n >= 1
<> t = 2*a[i]    {id=factor, inames=i}
b[i, j] = t*j    {id=use}
<> u = 3         {id=early}
c[i] = u         {id=other, inames=i}
)");
  const Kernel out = add_inames_for_unused_hw_axes(k, which("writes:t"));
  CHECK(loops(out, "factor") == "i j");
  CHECK(loops(out, "other") == "i");
  CHECK(same_values(k, out, {{"n", 5}}));
  // Nothing is left to do.
  CHECK(add_inames_for_unused_hw_axes(out, which("id:factor")).instructions == out.instructions);
  // Two instances: work-items would write what one of them reads for all.
  CHECK(message([&] { add_inames_for_unused_hw_axes(k, which("writes:u")); }) ==
        "tagging `j` as `l.0` would run early[i=0, j=0] and early[i=0, j=1] at the same time, but "
        "early[i=0, j=0] writes u and early[i=0, j=1] writes it too (n=1)");
}

TEST_CASE("add_inames_for_unused_hw_axes: refusals") {
  const auto refused = [&](const char* tags, const char* within) {
    const auto f = [&] {
      const Kernel k = apply(parsed(R"(
kernel s(n: int32, a: float64[n], b: float64[n, 16], c: float64[n])
domain {[i, j, l]: 0 <= i < n and 0 <= j < 16 and 0 <= l < 16}
domain {[m]: 0 <= m < i}
c[i] = 2*a[i]       {id=row, inames=i}
b[i, j] = c[i]*j    {id=use}
b[i, l] = b[i, l]+1 {id=again}
b[i, m] = 3         {id=part}
<> t = 2            {id=alone}
)"),
                             "tag_inames", {text(tags)});
      add_inames_for_unused_hw_axes(k, which(within));
    };
    return code_of(f) + ": " + message(f);
  };
  // Two instances: a work-item would overwrite what another one has changed.
  CHECK(refused("i:g.0, j:l.0", "id:row") ==
        "breaks-order: row[i=0, j=1] would run before use[i=0, j=0], but use[i=0, j=0] reads c[0] "
        "and row[i=0, j=1] writes it (n=1)");
  CHECK(refused("i:g.0, j:l.0, l:l.0", "id:row") ==
        "several-inames: `row` does not use the axis `l.0`, on which `j`, `l` are; "
        "add_inames_to_insn adds one of "
        "them");
  CHECK(refused("j:l.auto", "id:row") ==
        "open-axis: `j` is tagged `l.auto`: its axis is not known yet");
  CHECK(refused("m:l.0", "id:alone") ==
        "missing-loop: the bounds of `m` depend on `i`, which is not a loop around `alone`");
  const Kernel k = parsed(kFactor);
  CHECK(code_of([&] { add_inames_for_unused_hw_axes(k, which("id:none")); }) == "no-match");
}
