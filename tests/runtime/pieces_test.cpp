// Loops in pieces, with bounds that depend on them, on hosts and devices.
#include <doctest/doctest.h>

#include "tests/runtime/device_kit.h"

using namespace moonloop;
using namespace moonloop::test;

namespace {

/// Cut once, cut again within each piece, and with its pieces cut in tiles.
std::vector<Kernel> cut(const Kernel& k, const char* outer, const char* inner) {
  const auto chunk = [](const Kernel& of, const char* iname, std::int64_t pieces,
                        ValueDict options) {
    return step(of, "chunk_iname", {word(iname), Value{pieces}}, std::move(options));
  };
  const ValueDict tags{{"outer_tag", word(outer)}, {"inner_tag", word(inner)}};
  return {chunk(k, "i", 5, tags), chunk(chunk(k, "i", 4, {}), "i_inner", 3, tags),
          split(chunk(k, "i", 6, {{"inner_tag", word(inner)}}), "i_outer", 4, outer, "")};
}

void same_in_pieces(const std::string& text, const char* outer, const char* inner) {
  const Kernel original = parsed(text);
  const std::vector<Kernel> all = cut(original, outer, inner);
  for (const Kernel& k : all)
    for (const char* n : {"1", "2", "7", "30"}) run_on(Target::OpenMP, k, original, {{"n", n}});
  run_everywhere(all[1], original, {{"n", "30"}});
}

}  // namespace

TEST_CASE("pieces: triangles") {
  same_in_pieces(R"(
kernel lower(n: int32, a: float64[n, n], c: float64[n])
domain {[i, j]: 0 <= j < i < n}
c[i] = c[i] + 2*a[i, j]
)",
                 "g.0", "l.0");
  same_in_pieces(R"(
kernel upper(n: int32, a: float64[n + 2, n])
domain {[i]: 2 <= i < n}
domain {[j]: i <= j < n}
a[i, j] = a[i, j] + i*j
)",
                 "ord", "g.0");
}

TEST_CASE("pieces: quotients and bands") {
  same_in_pieces(R"(
kernel odd(n: int32, a: float64[n, 2], b: float64[n + 1])
domain {[i]: 0 <= i and 2*i < n}
domain {[d]: 0 <= d <= i mod 2}
a[i, d] = a[i, d] + b[i + d]
)",
                 "unr", "g.1");
  same_in_pieces(R"(
kernel band(n: int32, a: float64[n, n])
domain {[i]: 0 <= i < n and i mod 3 = 1}
domain {[j]: 0 <= j < n and i - 1 <= j <= i + 2}
a[i, j] = a[i, j] + 3 {if=(i + j) % 2 == 1}
)",
                 "l.0", "ord");
}

TEST_CASE("pieces: several statements, one of which needs no inner loop") {
  same_in_pieces(R"(
kernel sums(n: int32, a: float64[n, n], c: float64[n], d: float64[n])
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j < i}
domain {[k]: i < k < n}
<> s = 0 {id=start, inames=i}
s = s + a[i, j] {id=more, dep=start}
c[i] = s {id=end, dep=start:more}
d[i] = d[i] + sum(k, a[i, k]) {if=i % 3 == 1}
)",
                 "g.0", "l.0");
}

TEST_CASE("pieces: loops run more iterations than the statement in pieces has") {
  // Found by the differential test (6500364): with n = 5 the loops run i = 6, which is not in the
  // domain; what is known of a piece's beginning there is nothing.
  const Kernel original = parsed(R"(
kernel k(n: int32, p: int32[3*n + 12, 3*n + 12], q: int32[3*n + 12, 3*n + 12])
domain {[i]: 0 <= i < n}
domain {[j]: i <= j < n}
domain {[k]: 0 <= k < n - j}
assume n >= 5
p[j + i + 2, i + 1] = max(k, q[i + 2, k + 2])  {id=s0, inames=i:j, if=j % 2 == 0}
)");
  Kernel k = split(original, "i", 4, "", "");
  k = step(k, "chunk_iname", {word("j"), Value{std::int64_t{4}}}, {});
  k = step(k, "fix_parameters", {Value{ValueDict{{"n", Value{std::int64_t{5}}}}}}, {});
  run_everywhere(k, original, {{"n", "5"}});
}

// Differential test, seed 94900128: isl gives a loop of one iteration, over a range in pieces, as a
// loop over the points of its schedule's only value, which had another name.
TEST_CASE("pieces: a loop of one iteration that begins where one of two cases says") {
  const Kernel original = parsed(R"(
kernel k(n: int32, a: float32[3*n + 12], b: float32[3*n + 12], q: float32[3*n + 12, 3*n + 12])
domain {[m]: 0 <= m < n}
assume n >= 5
b[n - m] = 0.25*(q[m + 2, m + 2] + q[2*m + 2, m // 2] - a[m]) {id=s1, if=m % 2 == 1}
)");
  const auto number = [](std::int64_t n) { return Value{n}; };
  const auto one = [](const char* name) { return Value{ValueList{word(name)}}; };
  Kernel k = step(original, "add_prefetch", {word("q"), one("m")}, {});
  k = step(k, "split_iname", {word("q_dim_1"), number(3)}, {});
  k = step(k, "chunk_iname", {word("q_dim_1_inner"), number(2)}, {});
  k = step(k, "map_domain",
           {word("{ [q_dim_1_inner_inner, q_dim_0] -> [u, q_dim_0] : "
                 "u = q_dim_1_inner_inner - 2*q_dim_0 }")},
           {});
  k = step(k, "rename_iname", {word("q_dim_1_inner_outer"), word("m")},
           {{"existing_ok", Value{true}}});
  k = step(k, "set_temporary_address_space", {one("q_fetch"), word("global")}, {});
  for (const Target t : {Target::C, Target::OpenMP})
    for (const char* n : {"5", "6", "13"}) run_on(t, k, original, {{"n", n}});
}
