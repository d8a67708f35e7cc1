// Loops that become one among Loo.py's own tests, done by Moonloop: where the order allows it,
// each on C, OpenMP and the device, and where it does not, with the refusal.
#include "tests/runtime/loopy_kit.h"

using namespace moonloop;
using namespace moonloop::test;

namespace {

Kernel fused(const Kernel& k, const char* loop, const char* into) {
  return step(k, "rename_iname", {word(loop), word(into)}, {{"existing_ok", Value{true}}});
}
std::string refusal(const Kernel& k, const char* loop, const char* into) {
  const std::string text = error_of([&] { fused(k, loop, into); });
  return text.substr(std::min(text.rfind('['), text.size()));
}

}  // namespace

TEST_CASE(
    "as in Loo.py: loops over the same elements become one, with what only one of them needs") {
  const Kernel original = parsed(R"(
kernel chain(n: int32, a: out float64[n], b: out float64[n], c: float64[n], d: out float64[n])
domain {[i, j, k]: 0 <= i, j, k < n}
a[i] = 2*c[i]
b[j] = a[j] + 1
d[k] = b[k]*a[k] + c[n - 1 - k]
)");
  const Kernel k = fused(fused(original, "j", "i"), "k", "i");
  CHECK(k.inames() == std::vector<std::string>{"i"});
  run_everywhere(split(k, "i", 8, "g.0", "l.0"), original, {{"n", "21"}});
}

TEST_CASE(
    "as in Loo.py: a value of an earlier iteration lets loops fuse, one of a later does not") {
  const auto shifted = [](const std::string& read) {
    return parsed(
        "kernel shift(n: int32, a: inout float64[n + 2], b: out float64[n + 2])\n"
        "domain {[i, j]: 1 <= i, j <= n}\na[i] = i*1.5\nb[j] = " +
        read + "\n");
  };
  const Kernel earlier = shifted("a[j - 1] + a[j]");
  run_everywhere(fused(earlier, "j", "i"), earlier, {{"n", "21"}});
  CHECK(refusal(shifted("a[j + 1]"), "j", "i") == "[breaks-order]");
  // Together they run in order only, separately each at once.
  CHECK(error_of([&] { tag(fused(earlier, "j", "i"), "i:g.0"); }).ends_with("[races]"));
  const Kernel apart = split(split(earlier, "i", 8, "g.0", "l.0"), "j", 8, "g.0", "l.0");
  run_everywhere(apart, earlier, {{"n", "21"}});
}

TEST_CASE("as in Loo.py: a subscript from data keeps loops apart, unless it is the same") {
  const Kernel other = parsed(R"(
kernel other(n: int32, at: int32[n], a: inout float64[10], b: out float64[n])
domain {[i, j]: 0 <= i, j < n}
a[at[i]] = i*1.0
b[j] = a[at[j]]
)");
  CHECK(refusal(other, "j", "i") == "[not-proved]");
  const Kernel read = parsed(R"(
kernel read(n: int32, at: int32[n], a: float64[10], b: out float64[n], c: out float64[n])
domain {[i, j]: 0 <= i, j < n}
b[i] = a[at[i]]
c[j] = a[at[j]] - b[j]
)");
  const Kernel k = split(fused(read, "j", "i"), "i", 8, "g.0", "l.0");
  const auto c = values<double>(run_everywhere(k, read, {{"n", "21"}}), "c");
  CHECK(c == std::vector<double>(21, 0));
}

TEST_CASE("as in Loo.py: a loop between two others keeps these from becoming one") {
  const Kernel original = parsed(R"(
kernel between(n: int32, a: out float64[n], b: out float64[n], c: out float64[n])
domain {[i, j, k]: 0 <= i, j, k < n}
a[i] = 2.0*i
b[j] = a[n - 1 - j]
c[k] = b[n - 1 - k] + a[k]
)");
  CHECK(refusal(original, "k", "i") != "");
  CHECK(refusal(original, "j", "i") == "[breaks-order]");
  const auto c = values<double>(run_everywhere(original, original, {{"n", "9"}}), "c");
  for (int k = 0; k < 9; ++k) CHECK(c[static_cast<std::size_t>(k)] == 4.0 * k);
  Kernel k = split(split(original, "i", 4, "g.0", "l.0"), "j", 4, "g.0", "l.0");
  run_everywhere(split(k, "k", 4, "g.0", "l.0"), original, {{"n", "9"}});
}

TEST_CASE("as in Loo.py: reductions of several statements run in one loop") {
  const Kernel original = parsed(R"(
kernel rows(n: int32, a: float64[n, n], b: float64[n, n], s: out float64[n], t: out float64[n],
            q: out float64)
domain {[i, i1, i2, j, j1, j2]: 0 <= i, i1, i2, j, j1, j2 < n}
s[i] = sum(j, a[i, j]) - max(j1, b[i, j1])
t[i1] = sum(j2, b[i1, j2])*s[i1]
q = sum(i2, t[i2])
)");
  Kernel k = fused(original, "i1", "i");
  k = fused(k, "j2", "j");
  SUBCASE("of two loops") { k = split(split(k, "i", 4, "g.0", ""), "j", 4, "", "l.0"); }
  SUBCASE("with a loop of rows on work-items") { k = split(k, "i", 4, "g.0", "l.0"); }
  SUBCASE("in sequence") {}
  for (const char* n : {"1", "9"}) run_everywhere(k, original, {{"n", n}});
}
