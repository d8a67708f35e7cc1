#include "core/model/print.h"
#include "loop_kit.h"
#include "same_values.h"

/// Scans whose terms are divided at the beginnings of blocks.

using namespace moonloop;

namespace {

/// Blocks of 4 iterations, with the terms `terms` of iteration `i = 4*b + t`.
std::string scan(const std::string& statement, const std::string& terms = "0 <= j <= 4*b + t",
                 const std::string& loops = "0 <= t < 4 and 0 <= 4*b + t < n") {
  return "kernel scan(n: int32, m: int32, x: in float64[n + 4, 3], c: in int32[n + 4], y: inout "
         "float64[n + 4, 3], q: inout int32[n + 4], f: inout bool[n + 4])\n"
         "domain {[b, t]: " +
         loops + "}\ndomain {[j]: " + terms + "}\ndomain {[r]: 0 <= r < 3}\nassume m >= 0\n" +
         statement + "  {id=add}\n";
}
const char* const kSegments =
    "y[4*b + t, 0], f[4*b + t] = reduce(segmented(sum), j, x[j, 0], c[j] % 3 == 0)";

Kernel divided(const Kernel& k, const char* first = "4*b", int size = 4, ValueDict options = {}) {
  return apply(k, "split_scan", {text("add"), text("b"), text("t"), text(first), number(size)},
               std::move(options));
}
std::string outcome(const std::string& source, const char* first = "4*b", int size = 4) {
  const auto run = [&] { divided(parsed(source), first, size); };
  return message(run) + " [" + code_of(run) + "]";
}

}  // namespace

TEST_CASE("split_scan: parts, what is before each block, and the terms of one") {
  const Kernel before = parsed(scan(kSegments));
  const Kernel k = divided(before);
  CHECK(tree(k) ==
        "for b_part\n"
        "  add_part_init\n"
        "  for j_item\n"
        "    add_part_update\n"
        "  add_part\n"
        "for b_start\n"
        "  add_start_init\n"
        "  for j_block\n"
        "    add_start_update\n"
        "  add_start\n"
        "for b\n"
        "  for t\n"
        "    add_own_init\n"
        "    for j_own\n"
        "      add_own_update\n"
        "    add_own\n"
        "    add\n");
  CHECK(line(k, "add_part") ==
        "add_parts[b_part], add_parts_0[b_part] = reduce(segmented(sum), j_item, x[4*b_part "
        "+ j_item, 0], c[4*b_part + j_item] % 3 == 0)");
  CHECK(line(k, "add_start") ==
        "add_starts[b_start], add_starts_0[b_start] = reduce(segmented(sum), j_block, "
        "add_parts[j_block], add_parts_0[j_block])");
  CHECK(line(k, "add_own") ==
        "add_own, add_own_0 = reduce(segmented(sum), j_own, x[j_own, 0], c[j_own] % 3 == 0)");
  CHECK(line(k, "add") ==
        "y[4*b + t, 0], f[4*b + t] = make_tuple(add_own if add_own_0 else add_starts[b] + add_own, "
        "add_starts_0[b] or add_own_0)");
  for (const std::int64_t n : {1, 4, 5, 14}) CHECK(same_values(before, k, {{"n", n}, {"m", 1}}));
  CHECK(print_kernel(parsed(print_kernel(k))) == print_kernel(k));
  const Kernel parallel =
      apply(k, "tag_inames", {Value{ValueDict{{"b", text("par")}, {"b_part", text("par")}}}});
  CHECK(same_values(before, parallel, {{"n", 14}, {"m", 1}}));
}

TEST_CASE("split_scan: each operation, more or less terms, and loops around") {
  for (const char* statement :
       {"y[4*b + t, 0], f[4*b + t] = reduce(segmented(max), j, x[j, 0], c[j] == 1)",
        "y[4*b + t, 0], <> seen = reduce(segmented(min), j, x[j, 0], c[j])",
        "y[4*b + t, 0], <> seen = reduce(segmented(product), j, 1 + x[j, 0], c[j] == 1)",
        "y[4*b + t, 0], q[4*b + t] = argmax(j, x[j, 0], j)", "y[4*b + t, 0] = sum(j, x[j, 0])",
        "y[4*b + t, 0] = 2*reduce(max, j, x[j, 0]) + 1", "q[4*b + t] = sum(j, c[j])"})
    for (const char* terms : {"0 <= j <= 4*b + t", "0 <= j < 4*b + t", "0 <= j <= 4*b + t + 2"}) {
      CAPTURE(std::string(statement));
      CAPTURE(std::string(terms));
      const Kernel before = parsed(scan(statement, terms));
      for (const std::int64_t n : {1, 5, 14})
        CHECK(same_values(before, divided(before), {{"n", n}, {"m", 1}}));
    }
  const Kernel rows = parsed(scan("y[4*b + t, r] = reduce(max, j, x[j, r])"));
  CHECK(same_values(rows, divided(rows), {{"n", 14}, {"m", 1}}));
  CHECK(divided(rows).find_insn("add_part")->inames == std::set<std::string>{"r", "b_part"});
  // Terms that begin elsewhere than the iterations.
  const Kernel later = parsed(scan("y[4*b + t, 0] = sum(j, x[j, 0])", "2 <= j <= 4*b + t + 2"));
  CHECK(same_values(later, divided(later, "4*b + 2"), {{"n", 14}, {"m", 1}}));
}

TEST_CASE("split_scan: blocks of blocks") {
  const Kernel before = parsed(scan(kSegments));
  Kernel k = divided(before);
  k = apply(k, "split_iname", {text("b_start"), number(3)},
            {{"outer_iname", text("bb")}, {"inner_iname", text("bt")}});
  k = apply(k, "split_scan", {text("add_start"), text("bb"), text("bt"), text("3*bb"), number(3)});
  k = apply(k, "split_iname", {text("t"), number(2)},
            {{"outer_iname", text("to")}, {"inner_iname", text("ti")}});
  k = apply(k, "split_scan",
            {text("add_own"), text("to"), text("ti"), text("4*b + 2*to"), number(2)},
            {{"temporary_address_space", text("local")}, {"part_iname", text("p")}});
  CHECK(k.find_insn("add_own_part")->inames == std::set<std::string>{"b", "p"});
  for (const std::int64_t n : {1, 14, 51}) CHECK(same_values(before, k, {{"n", n}, {"m", 1}}));
}

TEST_CASE("split_scan: what it refuses") {
  const std::string sum = "y[4*b + t, 0] = sum(j, x[j, 0])";
  CHECK(message([&] {
          apply(parsed(scan(sum)), "split_scan",
                {text("sub"), text("b"), text("t"), text("4*b"), number(4)});
        }) == "no instruction `sub` in kernel `scan`");
  CHECK(code_of([&] {
          apply(parsed(scan(sum)), "split_scan",
                {text("add"), text("r"), text("t"), text("4*b"), number(4)});
        }) == "not-a-reduction-loop");
  CHECK(outcome(scan("y[4*b + t, 0] = x[4*b + t, 0]")) ==
        "instruction `add` is not one that has one reduction, over one iname, and always runs "
        "[no-reduction]");
  CHECK(outcome(scan(sum + "  {if=c[b] > 0")).find("[") != std::string::npos);
  CHECK(outcome(scan(sum), "c[b]") ==
        "`c[b]`, the first term of a block, is not affine in loops and parameters [bad-place]");
  CHECK(outcome(scan(sum), "3*b") ==
        "blocks that begin at `3*b` have less than 4 terms [not-a-scan]");
  CHECK(outcome(scan(sum), "5*b") ==
        "a term of `add` is in no block: j=4, for b=1, t=0 [not-a-scan]");
  CHECK_NOTHROW(divided(parsed(scan(sum)), "4*b + 1"));  // the part of block -1 has one term
  CHECK(outcome(scan(sum, "0 <= j <= 3*b")).find("[not-a-scan]") != std::string::npos);
  CHECK(outcome(scan(sum, "0 <= j <= 4*b + t", "0 <= t < 4 and b = 0 and t < n")) ==
        "no term of `add` is before the block of an iteration [one-block]");
  // The sums read what earlier iterations have written.
  CHECK(
      outcome(scan("y[4*b + t, 0] = sum(j, y[j, 0])", "0 <= j < 4*b + t")).find("[stale-value]") !=
      std::string::npos);
}
