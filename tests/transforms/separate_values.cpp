#include "loop_kit.h"
#include "same_values.h"

/// Values of one instruction in a temporary of their own.

using namespace moonloop;

namespace {

Kernel separate(const Kernel& k, const std::string& id, const std::string& name) {
  return apply(k, "separate_values", {text(id), text(name)});
}

/// Two half steps, `first` and `second`, that fill B and A by turns, then one that fills B again.
const char* const kTurns = R"(
kernel turns(n: int32, A: inout float64[n], B: inout float64[n])
domain {[i]: 1 <= i < n - 1}
domain {[j]: 1 <= j < n - 1}
domain {[k]: 1 <= k < n - 1}
B[i] = A[i - 1] + A[i + 1]  {id=first}
A[j] = B[j - 1] + B[j + 1]  {id=second, dep=first}
B[k] = A[k - 1] + A[k + 1]  {id=third, dep=second}
)";

}  // namespace

TEST_CASE("separate_values: elements that the instruction does not write stay where they are") {
  const Kernel k = parsed(kTurns);
  const Kernel out = separate(k, "first", "b");
  CHECK(line(out, "first") == "b[i] = A[i - 1] + A[i + 1]");
  CHECK(line(out, "second") == "A[j] = value_of_b(j - 1) + value_of_b(j + 1)");
  CHECK(line(out, "third") == "B[k] = A[k - 1] + A[k + 1]");
  REQUIRE(out.rules.size() == 1);
  CHECK(to_string(out.rules[0].body) == "b[x0] if x0 <= n - 2 and x0 >= 1 else B[x0]");
  for (const int n : {2, 3, 4, 9}) CHECK(values_of(out, {{"n", n}}) == values_of(k, {{"n", n}}));
}

TEST_CASE("separate_values: without a rule where all that is read is written") {
  const Kernel k = parsed(R"(
kernel f(n: int32, a: float64[n], b: inout float64[n], c: float64[n])
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j < n}
domain {[k]: 0 <= k < n}
b[i] = 2*a[i]  {id=first}
c[j] = b[n - 1 - j]  {id=second, dep=first}
b[k] = 0  {id=third, dep=second}
)");
  const Kernel out = separate(k, "first", "own");
  CHECK(line(out, "second") == "c[j] = own[n - 1 - j]");
  CHECK(out.rules.empty());
  CHECK(values_of(out, {{"n", 7}}) == values_of(k, {{"n", 7}}));
}

TEST_CASE("separate_values: iterations of a time loop, the last of which is overwritten") {
  const Kernel k = parsed(R"(
kernel steps(T: int32, n: int32, A: inout float64[n], B: inout float64[n])
domain {[t]: 0 <= t < T}
domain {[i]: 1 <= i < n - 1}
domain {[j]: 1 <= j < n - 1}
domain {[p]: 1 <= p < n - 1}
domain {[q]: 1 <= q < n - 1}
for t
  B[i] = A[i - 1] + A[i + 1]  {id=first}
  A[j] = B[j - 1] + B[j + 1]  {id=second, dep=first}
  B[p] = 2*A[p - 1]           {id=third, dep=second}
  A[q] = 3*B[q + 1]           {id=fourth, dep=third}
end
)");
  Kernel out = separate(separate(k, "first", "b"), "second", "a");
  for (const char* name : {"b", "a"}) out = apply(out, "assignment_to_subst", {text(name)});
  CHECK(out.find_insn("first") == nullptr);
  CHECK(out.find_insn("second") == nullptr);
  out = apply(out, "split_iname", {text("p"), number(4)});
  out = apply(out, "precompute", {text("value_of_a"), text("p_inner")},
              {{"fetch_bounding_box", flag(true)}, {"default_tag", flag(false)}});
  // A tile reads B only beside what all tiles write.
  out = apply(out, "tag_inames", {text("p_outer:g.0")});
  for (const int n : {2, 3, 4, 11})
    for (const int t : {0, 1, 3})
      CHECK(values_of(out, {{"n", n}, {"T", t}}) == values_of(k, {{"n", n}, {"T", t}}));
}

TEST_CASE("separate_values: refusals") {
  const Kernel k = parsed(kTurns);
  CHECK(message([&] { separate(k, "third", "b"); }) ==
        "third[k=1] writes B[1], which nothing overwrites: it is there when the kernel ends (n=3)");
  CHECK(
      message([&] { separate(k, "second", "a"); }) ==
      "second[j=1] writes A[1], which nothing overwrites: it is there when the kernel ends (n=3)");
  CHECK(code_of([&] { separate(k, "second", "a"); }) == "still-needed");
  CHECK(message([&] { separate(k, "fourth", "b"); }).find("no instruction 'fourth'") !=
        std::string::npos);
  CHECK(code_of([&] { separate(k, "first", "A"); }) == "name-taken");
  CHECK(message([] {
          separate(parsed(R"(
kernel f(n: int32, a: float64[n], b: inout float64[n])
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j < n}
b[i] = a[i]  {id=first}
b[j] = 0  {id=second, dep=first}
)"),
                   "first", "own");
        }) == "nothing reads what `first` writes to `b`");
  const char* const two = R"(
kernel f(n: int32, a: float64[n], b: inout float64[n], c: float64[n], d: float64[n])
domain {{[h]: 0 <= h < n}}
domain {{[i]: 0 <= i < n}}
domain {{[j]: 0 <= j < n}}
domain {{[k]: 0 <= k < n}}
{}[h] = b[h]  {{id=before}}
b[i] = a[i]  {{id=first, dep=before}}
d[j] = b[j]  {{id=second, dep=first}}
b[k] = 0  {{id=third, dep=second}}
)";
  CHECK(message([&] { separate(parsed(fmt::format(fmt::runtime(two), "c")), "first", "own"); }) ==
        "legal");
  CHECK(code_of([&] {
          separate(parsed(R"(
kernel f(n: int32, a: float64[n], b: inout float64[n], c: float64[2, n])
domain {[t]: 0 <= t < 2}
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j < n}
domain {[k]: 0 <= k < n}
for t
  c[t, j] = b[j]  {id=second}
  b[i] = a[i]  {id=first, dep=second}
end
b[k] = 0  {id=third, dep=first}
)"),
                   "first", "own");
        }) == "other-value");
  CHECK(code_of([&] {
          separate(parsed(R"(
kernel f(n: int32, at: int32[n], a: float64[n], b: inout float64[n], c: float64[n])
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j < n}
domain {[k]: 0 <= k < n}
b[i] = a[i]  {id=first}
c[j] = b[at[j]]  {id=second, dep=first}
b[k] = 0  {id=third, dep=second}
)"),
                   "first", "own");
        }) == "not-proved");
  CHECK(code_of([&] {
          separate(parsed("kernel f(n: int32, a: float64[n], b: float64[n])\n"
                          "domain {[i]: 0 <= i < n}\n<> s = a[i] {id=w}\nb[i] = s\n"),
                   "w", "own");
        }) == "no-definition");
}
