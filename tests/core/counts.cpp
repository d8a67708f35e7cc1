#include <doctest/doctest.h>

#include "core/base/diagnostic.h"
#include "core/count/mem_counts.h"
#include "core/count/op_counts.h"
#include "core/count/strides.h"
#include "tests/one_kernel.h"

using namespace moonloop;  // NOLINT

namespace {

using Values = std::map<std::string, std::int64_t>;

/// The lines of a map's table after the first, with single spaces.
std::string table(const CountMap& m) {
  std::string out;
  const std::string text = m.str();
  for (std::size_t i = text.find('\n') + 1; i < text.size(); ++i)
    if (text[i] != ' ' || (i > 0 && text[i - 1] != ' ')) out += text[i];
  return out;
}
std::string operations(const std::string& text) {
  return table(op_counts(parsed(text)).group({"dtype", "name"}));
}
std::string accesses(const std::string& text) {
  return table(mem_counts(parsed(text)).group({"variable", "direction"}));
}
template <class F>
std::string error_of(F f) {
  try {
    f();
  } catch (const Error& e) { return e.diagnostic().code + ": " + e.diagnostic().text; }
  return "none";
}

/// Loo.py's first example of statistics.
const char* const kBasic = R"(kernel basic(n: int32, m: int32, ell: int32,
    a: float32[n, ell, m], b: float32[n, ell, m], c: float32[n, ell, m],
    g: float64[n, m], h: float64[n, m + 1], e: float64[n, m + 1])
domain {[i, k, j]: 0 <= i < n and 0 <= k < m and 0 <= j < ell}
assume n >= 1 and m >= 1 and ell >= 1
c[i, j, k] = a[i, j, k]*b[i, j, k]/3.0 + a[i, j, k]
e[i, k + 1] = -g[i, k]*h[i, k + 1]
)";

}  // namespace

TEST_CASE("op_counts: by type and name") {
  CHECK(operations(kBasic) ==
        "float32 add n*m*ell\n"
        "float32 div n*m*ell\n"
        "float32 mul n*m*ell\n"
        "float64 mul n*m\n"
        "int32 add 2*n*m\n");
}

TEST_CASE("op_counts: a reduction counts one for each value") {
  CHECK(operations(R"(kernel k(n: int32, m: int32, ell: int32, a: float32[n, m], b: float32[m, ell],
    c: float32[n, ell])
domain {[i, k, j]: 0 <= i < n and 0 <= k < m and 0 <= j < ell}
assume n >= 1 and m >= 1 and ell >= 1
c[i, j] = sum(k, a[i, k]*b[k, j])
)") == "float32 add n*m*ell\nfloat32 mul n*m*ell\n");
  CHECK(operations(R"(kernel k(n: int32, a: float64[n], best: float64[2], at: int32[1])
domain {[i, j, l]: 0 <= i, j, l < n}
assume n >= 1
best[0], at[0] = argmax(i, a[i], i)
best[1] = product(j, min(a[j], 2.0, 3*a[j])) + max(l, abs(a[l]))
)") == "float64 add 1\n"
       "float64 func:abs n\n"
       "float64 maxmin 4*n\n"
       "float64 mul 2*n\n");
}

TEST_CASE("op_counts: powers, functions, bits, shifts") {
  CHECK(operations(R"(kernel k(n: int32, g: float64[n], h: float64[n], e: float64[n], p: int32[n],
    q: int32[n])
domain {[i]: 0 <= i < n}
assume n >= 1
e[i] = (1 + g[i])**(1 + h[i]) + rsqrt(g[i])*sin(g[i])
p[i] = (q[i] ^ i)*~q[i] + (q[i] << (p[i] >> 1)) + (q[i] | 1) + (q[i] & 7 & p[i])
)") == "float64 add 3*n\n"
       "float64 func:rsqrt n\n"
       "float64 func:sin n\n"
       "float64 mul n\n"
       "float64 pow n\n"
       "int32 add 3*n\n"
       "int32 bw 5*n\n"
       "int32 mul n\n"
       "int32 shift 2*n\n");
}

TEST_CASE("op_counts: a triangle is exact") {
  const CountMap m = op_counts(parsed(R"(kernel k(n: int32, a: float64[n, n], b: float64[n, n])
domain {[i, j]: 0 <= i, j < n and i < j}
a[i, j] = b[i, j]*2
)"));
  CHECK(m.sum().str() == "(n**2 - n)//2 if n >= 2 else 0");
  CHECK(m.sum().number_at({{"n", 13}}) == 78);
  CHECK(m.sum().exact());
}

TEST_CASE("op_counts: conditions on instances are exact, those on data give bounds") {
  CHECK(operations(R"(kernel k(n: int32, g: float64[n], h: float64[n])
domain {[i]: 0 <= i < n}
assume n >= 10
h[i] = g[i]*2 if i < 4 else g[i]/3 + 1
h[i] = h[i]*g[i] - 1   {if=i % 2 == 0}
)") == "float64 add -(n // 2) + 2*n - 4\n"
       "float64 div n - 4\n"
       "float64 mul -(n // 2) + n + 4\n"
       "int32 div n\n");
  const CountMap bound = op_counts(parsed(R"(kernel k(n: int32, g: float64[n], h: float64[n])
domain {[i]: 0 <= i < n}
assume n >= 1
h[i] = g[i]*2 if g[i]*g[i] < 4 else g[i]/3
)"));
  CHECK(table(bound.group({"name"})) == "div at most n\nmul at most 2*n\n");
}

TEST_CASE("op_counts: what depends on data has no count") {
  const Kernel rows =
      parsed(R"(kernel rows(n: int32, s: int32[n+1], a: float64[1000], y: float64[n])
domain {[i]: 0 <= i < n}
domain [len] -> {[j]: 0 <= j < len}
<int32> len = s[i + 1] - s[i]   {id=length}
y[i] = sum(j, a[j])   {id=row}
)");
  const char* const expected =
      "data-dependent-count: how often `row_update` runs depends on `len`, which the kernel "
      "computes";
  CHECK(error_of([&] { op_counts(rows); }) == expected);
  CHECK(error_of([&] { mem_counts(rows); }) == expected);
  CHECK(error_of([&] { footprints(rows); }) == expected);
}

TEST_CASE("mem_counts: by variable and direction; bytes") {
  CHECK(accesses(kBasic) ==
        "a load 2*n*m*ell\n"
        "b load n*m*ell\n"
        "c store n*m*ell\n"
        "e store n*m\n"
        "g load n*m\n"
        "h load n*m\n");
  const CountMap m = mem_counts(parsed(kBasic));
  CHECK(table(m.filter("variable", {"a", "g"}).to_bytes().group({"dtype"})) ==
        "float32 8*n*m*ell\nfloat64 8*n*m\n");
  CHECK(m.to_bytes().sum().str() == "16*n*m*ell + 24*n*m");
}

TEST_CASE("mem_counts: strides along the axes of work-items and groups") {
  const CountMap m = mem_counts(parsed(R"(kernel k(n: int32, a: float32[n, n], b: float32[n, n],
    map: int32[n], c: float32[n, n])
domain {[io, ii, jo, ji]: 0 <= ii, ji < 16 and 0 <= 16*io + ii < n and 0 <= 16*jo + ji < n}
assume n >= 1
tag io: g.1, ii: l.1, jo: g.0, ji: l.0
c[16*io + ii, 16*jo + ji] = a[16*jo + ji, 16*io + ii]*b$part[16*io + ii, 0] + a[map[16*jo + ji], 0]
)"));
  CHECK(table(m.group({"variable", "lid_strides", "gid_strides", "variable_tags"})) ==
        "a {0: ?} {0: ?} n**2\n"
        "a {0: n, 1: 1} {0: 16*n, 1: 16} n**2\n"
        "b {1: n} {1: 16*n} part n**2\n"
        "c {0: 1, 1: n} {0: 16, 1: 16*n} n**2\n"
        "map {0: 1} {0: 16} n**2\n");
}

TEST_CASE("mem_counts: memory that a group shares") {
  CHECK(table(mem_counts(parsed(R"(kernel k(a: float32[64], b: float32[64])
domain {[g, l, m]: 0 <= g < 4 and 0 <= l, m < 16}
temp t: float32[16]
tag g: g.0, l: l.0, m: l.0
t[l] = a[16*g + l]
b[16*g + m] = t[15 - m]
)"))
                  .group({"mtype", "direction", "variable", "lid_strides"})) ==
        "global load a {0: 1} 64\n"
        "global store b {0: 1} 64\n"
        "local load t {0: -1} 64\n"
        "local store t {0: 1} 64\n");
}

TEST_CASE("counts by subgroups: operations, and what is the same in all work-items") {
  const Kernel k = parsed(R"(kernel k(n: int32, a: float32[64*n], b: float32[n], c: float32[64*n])
domain {[g, l]: 0 <= g < n and 0 <= l < 48}
assume n >= 1
tag g: g.0, l: l.0
c[48*g + l] = a[48*g + l]*b[g]
)");
  const CountOptions warps{32};
  CHECK(table(op_counts(k, warps).filter("dtype", {"float32"}).group({"name", "granularity"})) ==
        "mul subgroup 2*n\n");
  CHECK(table(mem_counts(k, warps).group({"variable", "granularity"})) ==
        "a workitem 48*n\n"
        "b subgroup 2*n\n"
        "c workitem 48*n\n");
}

TEST_CASE("footprints: each element once, exact also with strides and overlaps") {
  CHECK(table(footprints(
            parsed(R"(kernel k(n: int32, u: float64[n+2], v: float64[3*n], w: float32[n, n],
    r: float64[n])
domain {[i, j]: 0 <= i < n and 0 <= j <= i}
assume n >= 1
r[i] = u[i] + u[i+1] + u[i+2] + v[3*i] + w[i, i]   {inames=i}
w[i, j] = v[3*j]
)"))) == "r write float64 n\n"
         "u read float64 n + 2\n"
         "v read float64 n\n"
         "w read float32 n\n"
         "w write float32 (n**2 + n)//2\n");
  CHECK(table(footprints(
                  parsed(
                      R"(kernel k(n: int32, m: int32, x: float64[m, 2], at: int32[n], y: float64[n])
domain {[i]: 0 <= i < n}
assume n >= 1 and m >= 1
y[i] = x[at[i], 0]
y[i] = 1 {if=at[i] > 3}
)"))
                  .to_bytes()) ==
        "at read int32 4*n\n"
        "x read float64 at most 16*m\n"
        "y write float64 8*n\n");
}

TEST_CASE("count maps: filters, groups and their errors") {
  const CountMap m = mem_counts(parsed(kBasic));
  CHECK(m.filter("direction", {"load"}).sum().str() == "3*n*m*ell + 2*n*m");
  CHECK(m.group({}).entries().size() == 1);
  CHECK(table(m.group({"direction"}).eval({{"n", 2}, {"m", 3}, {"ell", 4}})) ==
        "load 84\nstore 30\n");
  CHECK(error_of([&] { m.filter("variabel", {"a"}); }) ==
        "unknown-field: counts of accesses have no field `variabel`; they have `mtype`, `dtype`, "
        "`lid_strides`, `gid_strides`, `direction`, `variable`, `variable_tags`, `granularity`, "
        "`kernel`; did you mean `variable`?");
  CHECK(error_of([&] { m.group({"name"}); }).starts_with("unknown-field: "));
  CHECK(error_of([&] { m.group({"direction"}).to_bytes(); }) ==
        "no-bytes: counts of accesses by `direction` have no size in bytes; take bytes before "
        "groups");
  CHECK(error_of([&] { m.eval({{"n", 2}}); }).starts_with("missing-parameter: "));
}

TEST_CASE("flops: complex operations by what they take") {
  const CountMap m = op_counts(parsed(R"(kernel k(n: int32, z: complex64[n], x: float32[n])
domain {[i]: 0 <= i < n}
assume n >= 1
z[i] = z[i]*z[i] + z[i]/z[i]
x[i] = 2*x[i]
)"));
  CHECK(flops(m).str() == "20*n");
}

TEST_CASE("counts by instruction: statements of reductions apart, together the same") {
  const Kernel k = parsed(R"(kernel rows(n: int32, a: float64[n, n], y: float64[n])
domain {[i, j]: 0 <= i, j < n}
assume n >= 1
y[i] = 2*sum(j, a[i, j]*y[j])   {id=row}
a[i, i] = y[i]   {id=back}
)");
  const CountOptions each{.subgroup_size = {}, .by_instruction = true};
  const CountMap operations = op_counts(k, each), accesses = mem_counts(k, each);
  CHECK(table(operations.group({"instruction", "name"})) ==
        "row mul n\nrow_update add n**2\nrow_update mul n**2\n");
  CHECK(table(accesses.to_bytes().group({"instruction"})) ==
        "back 16*n\nrow 8*n\nrow_update 16*n**2\n");
  CHECK(operations.sum().str() == op_counts(k).sum().str());
  CHECK(accesses.sum().str() == mem_counts(k).sum().str());
  CHECK(op_counts(k).fields().size() + 1 == operations.fields().size());
}

TEST_CASE("strides: accesses are listed where one is out of bounds, too") {
  const Kernel k = parsed(R"(
kernel k(n: int32, a: float64[n], b: float64[n])
domain {[i]: 0 <= i < n}
b[i] = a[i + 1]
)");
  const std::vector<StridedAccess> all = strided_accesses(k);
  REQUIRE(all.size() == 2);
  CHECK(all[0].variable == "a");
  CHECK(as_int(all[0].strides.at(0).second) == 1);
}

TEST_CASE("strides: along one loop beside a quotient of another one") {
  const Kernel k = parsed(R"(
kernel k(n: int32, a: float64[8*n], b: float64[n, n])
domain {[i, j]: 0 <= i, j < n}
b[i, j] = a[4*(i // 4) + i % 2 - 3*j + 3*n]
)");
  const std::vector<StridedAccess> all = strided_accesses(k);
  REQUIRE(all.size() == 2);
  REQUIRE(all[0].variable == "a");
  REQUIRE(all[0].strides.size() == 2);
  CHECK(all[0].strides[0].first == "i");
  CHECK(!all[0].strides[0].second);
  CHECK(all[0].strides[1].first == "j");
  CHECK(as_int(all[0].strides[1].second) == -3);
}

TEST_CASE("strides: accesses of the instructions in one loop") {
  const Kernel k = parsed(R"(
kernel k(n: int32, a: float64[n], b: float64[n], c: float64[n, n], d: float64[n])
domain {[i, j]: 0 <= i, j < n}
domain {[m]: 0 <= m < n}
b[i] = a[i]
d[m] = sum(j, c[m, j])
)");
  const auto variables = [&](const std::string& within) {
    std::string out;
    for (const StridedAccess& a : strided_accesses(k, within)) out += a.variable;
    return out;
  };
  CHECK(variables("") == "abcd");
  CHECK(variables("i") == "ab");
  CHECK(variables("j") == "cd");
  CHECK(variables("m") == "cd");
}
