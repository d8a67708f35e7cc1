// Reductions written out, in sequence and as scans.
#include "core/model/print.h"
#include "tests/transforms/loop_kit.h"
#include "tests/transforms/same_values.h"

using namespace moonloop;

namespace {

const char* const kSums = R"(
kernel sums(n: int32, x: float64[n], y: float64[n])
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j <= i}
y[i] = 2*sum(j, x[j]) + 1
)";

Kernel scanned(const Kernel& k, ValueDict options = {}) {
  options.emplace_back("force_scan", flag(true));
  return apply(k, "realize_reduction", {}, std::move(options));
}
/// The loop `i` over parts of that many work-items, with a scan that these share.
Kernel by_items(const std::string& source, std::int64_t items) {
  return scanned(apply(parsed(source), "split_iname", {text("i"), number(items)},
                       {{"inner_tag", text("l.0")}}));
}
std::string sums_over(const std::string& terms, const std::string& instances = "0 <= i < n") {
  return "kernel sums(n: int32, x: float64[3*n + 3], y: float64[n + 3])\ndomain {[i]: " +
         instances + "}\ndomain {[j]: " + terms + "}\ny[i] = sum(j, x[j])\n";
}

}  // namespace

TEST_CASE("realize_reduction: statements that accumulate") {
  const std::string source = R"(
kernel rows(n: int32, x: float64[n, n], y: float64[n], z: float64[n], b: bool[n])
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j <= i}
domain {[k]: 0 <= k < n}
domain {[l]: 0 <= l < n}
y[i] = 2*sum(j, x[i, j]) + max(k, x[k, i])  {id=first}
z[i] = product(j, sum(l, x[j, l]))          {id=second}
b[i] = any(k, x[i, k] > 0.9)                {id=third}
)";
  const Kernel k = apply(parsed(source), "realize_reduction");
  CHECK(line(k, "first") == "y[i] = 2*acc_j + acc_k");
  CHECK(line(k, "first_update") == "acc_j = acc_j + x[i, j]");
  CHECK(line(k, "first_init_0") == "acc_k = -inf");
  CHECK(line(k, "first_update_0") == "acc_k = max(acc_k, x[k, i])");
  CHECK(line(k, "second_update") == "acc_j_0 = acc_j_0*sum(l, x[j, l])");
  CHECK(same_values(parsed(source), k, {{"n", 6}}));
  const Kernel one = apply(parsed(source), "realize_reduction", {text("id:third")});
  CHECK(line(one, "first") == line(parsed(source), "first"));
  CHECK(line(one, "third") == "b[i] = acc_k");
}

TEST_CASE("realize_reduction: a scan in a sequential loop passes its terms on") {
  const Kernel k = scanned(parsed(kSums));
  CHECK(line(k, "insn") == "y[i] = 2*acc_j + 1");
  CHECK(same_set(instances(k, {"i", "j_0"}), "[n] -> { [i, j_0 = i] : 0 <= i < n }"));
  CHECK(!k.has_iname("j"));
  CHECK(tree(k) ==
        "insn_init\n"
        "for i\n"
        "  for j_0\n"
        "    insn_update\n"
        "  insn\n");
  CHECK(same_values(parsed(kSums), k, {{"n", 9}}));
  for (const std::string terms : {"0 <= j <= 3*i", "0 <= 2*j <= i", "2 <= j <= i + 2", "0 <= j < n",
                                  "n - i <= j <= n", "exists(e: j = 2*e) and 0 <= j <= i"}) {
    CAPTURE(terms);
    const std::string source = sums_over(terms);
    CHECK(same_values(parsed(source), apply(parsed(source), "realize_reduction"), {{"n", 7}}));
    if (terms != "0 <= j < n")
      CHECK(same_values(parsed(source), scanned(parsed(source)), {{"n", 7}}));
  }
  const std::string far = sums_over("1 <= j <= i", "4 <= i < n and exists(e: i = 2*e)");
  CHECK(same_values(parsed(far), scanned(parsed(far)), {{"n", 12}}));
}

TEST_CASE("realize_reduction: scans of each operation, by one loop and by work-items") {
  for (const char* statement :
       {"y[i] = sum(j, x[j])", "y[i] = product(j, x[j])", "y[i] = min(j, x[j])",
        "y[i] = max(j, x[j])", "y[i] = if(any(j, x[j] > 0.8), 1, 0)",
        "y[i] = if(all(j, x[j] > 0.1), 1, 0)", "y[i], q[i] = argmin(j, x[j], j)",
        "y[i], q[i] = argmax(j, x[j]*x[j], 2*j)",
        "y[i], f[i] = reduce(segmented(sum), j, x[j], x[j] > 0.7)",
        "y[i], f[i] = reduce(segmented(product), j, 1 + x[j], x[j] > 0.7)",
        "y[i], f[i] = reduce(segmented(min), j, x[j], x[j] > 0.7)",
        "q[i], f[i] = reduce(segmented(max), j, 5 - j*j, x[j] > 0.7)",
        "y[i] = sum(j, x[j]) + max(j, x[j])", "c[i] = sum(j, c0[j])"}) {
    CAPTURE(statement);
    const std::string source = std::string(R"(
kernel each(n: int32, x: float64[n], y: float64[n], q: int32[n], f: bool[n], c0: int16[n], c: int64[n])
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j <= i}
)") + statement + "\n";
    if (std::string(statement).find("+ max") != std::string::npos) {
      CHECK(code_of([&] { scanned(parsed(source)); }) == "reduction-not-simple");
      continue;
    }
    CHECK(same_values(parsed(source), scanned(parsed(source)), {{"n", 11}}));
    for (const std::int64_t items : {1, 2, 3, 4})
      CHECK(same_values(parsed(source), by_items(source, items), {{"n", 11}}));
  }
}

TEST_CASE("realize_reduction: work-items take twice the distance in each step") {
  const Kernel k = by_items(kSums, 4);
  CHECK(line(k, "insn_part") == "part_j[i_inner_0] = sum(j_0, x[j_0])");
  CHECK(line(k, "insn_step") == "part_j_0[i_inner_1] = part_j[i_inner_1 - 1] + part_j[i_inner_1]");
  CHECK(same_set(instances(k, {"i_outer", "i_inner_1"}),
                 "[n] -> { [i_outer, i_inner_1] : i_outer >= 0 and 1 <= i_inner_1 <= 3 and "
                 "i_inner_1 + 4*i_outer < n }"));
  CHECK(line(k, "insn_rest") == "part_j_0[i_inner_2] = part_j[i_inner_2]");
  CHECK(line(k, "insn_step_0") ==
        "part_j[i_inner_3] = part_j_0[i_inner_3 - 2] + part_j_0[i_inner_3]");
  CHECK(line(k, "insn") == "y[i_inner + 4*i_outer] = 2*(carry_j + part_j[i_inner]) + 1");
  CHECK(to_string(k.find_insn("insn_carry")->predicates[0]) == "n >= 4*i_outer + 4");
  for (const std::int64_t n : {1, 3, 4, 5, 13}) CHECK(same_values(parsed(kSums), k, {{"n", n}}));
  const std::string one = R"(
kernel one(x: float64[20], y: float64[20])
domain {[i]: 3 <= i < 20}
domain {[j]: 3 <= 2*j <= i}
tag i: l.1
y[i] = sum(j, x[j])
)";
  const Kernel whole = scanned(parsed(one));
  CHECK(whole.find_insn("insn_carry") == nullptr);
  CHECK(same_values(parsed(one), whole, {}));
}

TEST_CASE("realize_reduction: one loop of several, and several loops") {
  const std::string source = R"(
kernel planes(n: int32, x: float64[n, n], y: float64[n, n], z: float64[n, n])
domain {[i]: 0 <= i < n}
domain {[k]: 0 <= k < n}
domain {[j]: 0 <= j <= i}
domain {[p]: 0 <= p <= i + k*0 and p <= i}
y[k, i] = sum(j, x[k, j])
)";
  const Kernel k = scanned(parsed(source));
  CHECK(same_values(parsed(source), k, {{"n", 6}}));
  const std::string blocks = R"(
kernel blocks(n: int32, x: float64[12*n], y: float64[12*n])
domain {[a, b, i]: 0 <= a < n and 0 <= b < 3 and 0 <= i < 4}
domain {[j]: 0 <= j <= 12*a + 4*b + i}
y[12*a + 4*b + i] = sum(j, x[j])
)";
  CHECK(same_values(parsed(blocks), scanned(parsed(blocks)), {{"n", 2}}));
  const Kernel tagged = apply(parsed(blocks), "tag_inames", {text("i:l.0")});
  CHECK(same_values(parsed(blocks), scanned(tagged), {{"n", 2}}));
  const std::string corner = R"(
kernel corner(n: int32, x: float64[2*n], y: float64[n, n])
domain {[i, k]: 0 <= i, k < n}
domain {[j]: 0 <= j <= i + k}
y[i, k] = sum(j, x[j])
)";
  const Kernel inner = scanned(parsed(corner), {{"force_outer_iname_for_scan", text("k")}});
  CHECK(same_values(parsed(corner), inner, {{"n", 5}}));
  CHECK(message([&] { scanned(parsed(corner)); }) ==
        "the terms of a scan grow from one iteration to the next, but of `insn[i=0, k=2]` and "
        "`insn[i=1, k=0]` (n=3) the later one lacks a term of the earlier one");
}

TEST_CASE("realize_reduction: what it refuses") {
  CHECK(message([&] { scanned(parsed(sums_over("0 <= j < n"))); }) ==
        "no selected instruction has a reduction whose bounds depend on a loop around it");
  CHECK(message([&] { scanned(parsed(sums_over("i <= j < n"))); }) ==
        "the terms of a scan grow from one iteration to the next, but of `insn[i=0]` and "
        "`insn[i=1]` (n=2) the later one lacks a term of the earlier one");
  CHECK(code_of([&] { scanned(parsed(sums_over("i <= j <= 2*i"))); }) == "not-a-scan");
  const std::string mixed =
      "kernel f(n: int32, x: float64[n], y: float64[n])\ndomain {[i]: 0 <= i < n}\n"
      "domain {[j]: 0 <= j <= i}\n";
  CHECK(message([&] { scanned(parsed(mixed + "y[i] = sum(j, x[j]*i)\n")); }) ==
        "the terms of the reduction in `insn` depend on `i` themselves");
  // Differential test, seed 1307368: a term that is recomputed next to the loop.
  CHECK(
      message(
          [&] { scanned(parsed(mixed + "<> t = 2*x[i]\ny[i] = reduce(max, j, t)  {id=m}\n")); }) ==
      "the terms of the reduction in `m` depend on `t`, which each iteration of `i` computes anew");
  CHECK(code_of([&] {  // an element for each iteration
          scanned(parsed(mixed + "temp t: float64[n]\nt[i] = 2*x[i]\ny[i] = sum(j, t[j])\n"));
        }) == "legal");
  CHECK(message([&] { scanned(parsed(mixed + "y[i] = sum(j, x[j])  {if=i > 2}\n")); }) ==
        "`insn` runs under a condition, but its scan needs all terms");
  CHECK(message([&] { scanned(parsed(mixed + "tag i: g.0\ny[i] = sum(j, x[j])\n")); }) ==
        "the iterations of `i`, tagged `g.0`, cannot pass on the terms of a scan");
  CHECK(message([&] { scanned(parsed(mixed + "tag i: l.0\ny[i] = sum(j, x[j])\n")); }) ==
        "the number of work-items `i` of the scan has no constant bound");
  const std::string back = R"(
kernel back(n: int32, x: float64[2*n], y: float64[n], f: bool[n])
domain {[i]: 0 <= i < n}
domain {[j]: n - i <= j <= n}
y[i], f[i] = reduce(segmented(sum), j, x[j], x[j] > 0.5)
)";
  CHECK(message([&] { scanned(parsed(back)); }) ==
        "the order of a segmented reduction matters, but `insn[i=1]` (n=2) has new terms before "
        "old ones");
  const std::string holes = R"(
kernel holes(x: float64[20], y: float64[20])
domain {[i]: 0 <= i < 20 and exists(e: i = 2*e)}
domain {[j]: 0 <= j <= i}
tag i: l.0
y[i] = sum(j, x[j])
)";
  CHECK(message([&] { scanned(parsed(holes)); }) == "the values of the work-items `i` have gaps");
  const std::string ragged = R"(
kernel ragged(n: int32, x: float64[20*n], y: float64[n, 20])
domain {[r, i]: 0 <= r < n and 0 <= i < 4 + r and i < 20}
domain {[j]: 0 <= j <= 20*r + i}
tag i: l.0
y[r, i] = sum(j, x[j])
)";
  CHECK(message([&] { scanned(parsed(ragged)); }) ==
        "of `insn[r=0]` and `insn[r=1]` (n=2) the earlier one has not all work-items");
}

// Differential test, seed 240: the domain of `j` does not need `i`, which is not a name any more.
TEST_CASE("realize_reduction: the text of what follows can be read again") {
  Kernel k = parsed(
      "kernel f(n: int32, x: float64[n], y: float64[n])\ndomain {[i]: 0 <= i < n}\n"
      "domain [n, i] -> {[j]: 0 <= j < n}\ny[i] = max(j, x[j])\n");
  k = apply(apply(k, "realize_reduction"), "split_iname", {text("i"), number(3)});
  const Kernel again = parsed(print_kernel(k));
  CHECK(again.args.size() == 3);
  CHECK(print_kernel(again) == print_kernel(k));
  CHECK(values_of(again, {{"n", 7}}) == values_of(k, {{"n", 7}}));
}

TEST_CASE("realize_reduction: what accumulates stays under the condition of its instruction") {
  const Kernel k = parsed(
      "kernel f(n: int32, x: float64[n], y: float64[n])\ndomain {[i]: 0 <= i < n}\n"
      "domain {[j]: 0 <= j < n}\ny[i] = sum(j, x[j]*x[i - 1])  {id=s, if=i > 0}\n");
  const Kernel out = apply(k, "realize_reduction");
  for (const char* id : {"s_init", "s_update", "s"}) {
    REQUIRE(out.find_insn(id)->predicates.size() == 1);
    CHECK(to_string(out.find_insn(id)->predicates[0]) == "i > 0");
  }
  CHECK(values_of(out, {{"n", 7}}) == values_of(k, {{"n", 7}}));
}

// Differential test, seed 452 on a device: the fetch runs in the loop of the reduction.
TEST_CASE("realize_reduction: other statements stay in the loop of the reduction") {
  Kernel k = parsed(
      "kernel f(n: int32, x: float64[n, n], y: float64[n])\ndomain {[i]: 0 <= i < n}\n"
      "domain {[j]: 0 <= j < n}\ny[i] = sum(j, x[i, j])\n");
  const auto before = values_of(k, {{"n", 7}});
  k = apply(k, "add_prefetch", {text("x"), text("")}, {{"default_tag", flag(false)}});
  k = apply(k, "realize_reduction");
  CHECK(tree(k) == "for i\n  insn_init\n  for j\n    x_fetch_rule\n    insn_update\n  insn\n");
  CHECK(values_of(k, {{"n", 7}}) == before);
}

TEST_CASE("realize_reduction: in an arm, values are taken in where the arm is chosen") {
  const Kernel k = parsed(
      "kernel f(n: int32, p: float64[n], x: float64[n], y: float64[n])\n"
      "domain {[i]: 0 <= i < n}\ndomain {[j]: 0 <= j < n}\ndomain {[m]: 0 <= m <= i}\n"
      "y[i] = sum(j, x[j + i - 3]) if i == 3 else p[i]  {id=s}\n"
      "y[i] = y[i] if p[i] < 0.5 else sum(m, x[m])      {id=t}\n");
  const Kernel out = apply(k, "realize_reduction", {text("id:s")});
  CHECK(out.find_insn("s_init")->predicates.empty());
  REQUIRE(out.find_insn("s_update")->predicates.size() == 1);
  CHECK(to_string(out.find_insn("s_update")->predicates[0]) == "i == 3");
  CHECK(same_values(k, out, {{"n", 5}}));
  CHECK(message([&] { scanned(k); }) == "`t` runs under a condition, but its scan needs all terms");
}

TEST_CASE("realize_reduction: work-items beside those of a scan have parts of their own") {
  const Kernel k = parsed(R"(
kernel rows(x: float64[3, 8], y: float64[3, 8])
domain {[k]: 1 <= k <= 3}
domain {[i, j]: 0 <= i < 8 and 0 <= j <= i}
tag k: l.1, i: l.0
y[k - 1, i] = sum(j, x[k - 1, j])
)");
  const Kernel out = scanned(k);
  CHECK(line(out, "insn") == "y[k - 1, i] = part_j_0[k - 1, i]");
  CHECK(to_string(*out.find_temporary("part_j")->shape) == "3, 8");
  CHECK(same_values(k, out, {}));
}

TEST_CASE("realize_reduction: in a loop of one iteration a scan is the reduction itself") {
  const Kernel k = parsed(
      "kernel f(x: float64[1], y: float64[1])\ndomain {[i, j]: 0 <= i < 1 and 0 <= j <= i}\n"
      "y[i] = sum(j, x[j])\n");
  CHECK(same_values(k, scanned(k), {}));
}

TEST_CASE("realize_reduction: a scan whose terms change is none") {
  // Found by the differential test: iteration i + 1 adds up what iteration i has changed.
  const auto scan = [](const std::string& written, const std::string& read = "x[j]") {
    return "kernel f(n: int32, x: float64[3*n + 12], y: float64[n + 2])\ndomain {[i]: 0 <= i < n}\n"
           "domain {[j]: 0 <= j <= i}\ny[i] = sum(j, " +
           read + ")  {id=s}\n" + written + " = 2  {id=w, inames=i}\n";
  };
  for (const std::string written : {"x[n + 3]", "x[i + 1]", "x[2*n + i]", "y[i + 1]", "y[i]"}) {
    CAPTURE(written);
    const Kernel k = parsed(scan(written));
    CHECK(same_values(k, scanned(k), {{"n", 7}}));
  }
  for (const std::string written : {"x[n - i + 3]", "x[i]", "x[0]"})
    CHECK(code_of([&] { scanned(parsed(scan(written))); }) == "stale-value");
  CHECK(message([&] { scanned(parsed(scan("x[i]"))); }) ==
        "w[i=0] writes x[0], which s_update[i=0, j_0=0] reads; w[i=0] must run before "
        "s_update[i=0, j_0=0], and with `s_update` it does not (n=2)");
  // The result of the scan is read by later iterations: as it is, and not by work-items.
  const std::string own =
      "kernel f(n: int32, y: float64[n + 2])\ndomain {[i]: 0 <= i < n}\n"
      "domain {[j]: 0 <= j <= i}\ny[i + 1] = sum(j, y[j])  {id=s}\n";
  CHECK(same_values(parsed(own), scanned(parsed(own)), {{"n", 7}}));
  CHECK(code_of([&] { by_items(own, 4); }) != "legal");
  // Terms of an inner reduction count too.
  const std::string inner =
      "kernel f(n: int32, x: float64[n, n], y: float64[n])\ndomain {[i]: 0 <= i < n}\n"
      "domain {[j]: 0 <= j <= i}\ndomain {[l]: 0 <= l < n}\ny[i] = sum(j, sum(l, x[j, l]))  "
      "{id=s}\n";
  CHECK(same_values(parsed(inner), scanned(parsed(inner)), {{"n", 5}}));
  CHECK(code_of([&] { scanned(parsed(inner + "x[0, i] = 3  {id=w}\n")); }) == "stale-value");
}

TEST_CASE("realize_reduction: a scan that moves its loop inwards keeps the order of all else") {
  // Found by the differential test: the terms read nothing, but other statements are in the loop.
  const std::string source =
      "kernel f(n: int32, a: int64[n + 3], b: int64[n], p: int64[4, 2*n])\n"
      "domain {[i]: 0 <= i < 3}\ndomain {[k]: 0 <= k < n}\ndomain {[l]: 0 <= l <= i}\n"
      "a[i + k] = sum(l, k) + b[k]  {id=s, inames=i:k}\n";
  CHECK(tree(parsed(source)).starts_with("for i\n  for k\n"));
  CHECK(code_of([&] { scanned(parsed(source)); }) == "breaks-order");
  std::string other = source;
  other.replace(other.find("a[i + k]"), 8, "a[k]");
  CHECK(same_values(parsed(other), scanned(parsed(other)), {{"n", 5}}));
  const std::string beside = "p[i, k] = p[i, k] + p[i + 1, k + 1]  {id=t, inames=i:k}\n";
  CHECK(code_of([&] { scanned(parsed(other + beside)); }) == "legal");
  CHECK(code_of([&] {
          scanned(parsed(other + "p[i, k + 1] = p[i + 1, k]  {id=t, inames=i:k}\n"));
        }) == "breaks-order");
}

TEST_CASE("realize_reduction: literals in the terms adapt to what is assigned") {
  // Found by the differential test.
  const Kernel k = parsed(
      "kernel f(n: int32, m: out float64[n], o: in float32[n, n])\n"
      "domain {[i]: 0 <= i < n}\ndomain {[j]: 0 <= j < n}\n"
      "m[i] = 0.1*sum(j, 0.7*o[i, j])  {id=s}\n");
  const Kernel out = apply(k, "realize_reduction", {});
  CHECK(out.find_temporary("acc_j")->type == Type(Scalar::F64));
  CHECK(same_values(k, out, {{"n", 7}}));
}
