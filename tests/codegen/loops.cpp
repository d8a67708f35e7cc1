#include "core/sets/budget.h"
#include "tests/codegen/kit.h"
#include "transforms/chunk_iname.h"
#include "transforms/registry.h"
#include "transforms/split_iname.h"

using namespace moonloop;

namespace {

const char* const kAxpyTiles = R"(
kernel axpy(n: int32, a: float64, x: float64[n], y: float64[n])
domain {[io, ii]: 0 <= ii < 4 and 0 <= 4*io + ii < n}
y[4*io + ii] = y[4*io + ii] + a*x[4*io + ii]
)";

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("loops: bounds are those of the domain, with no guard for an empty loop") {
  CHECK_GOLDEN("matmul.c", code(kProduct, Target::C));
}

TEST_CASE("loops: a triangle's bounds, exact in both loops") {
  CHECK_GOLDEN("triangle.c", code(R"(
kernel transpose(n: int32, a: float64[n, n])
domain {[i, j]: 0 <= i < n and i < j < n}
a[i, j] = a[j, i]
)",
                                  Target::C));
}

TEST_CASE("loops: an indivisible tile ends at the minimum, not at a guard inside") {
  CHECK_GOLDEN("partial_tile.c", code(kAxpyTiles, Target::C));
}

TEST_CASE("loops: no leftover minimum and division where the tile divides the size") {
  const std::string text = std::string(kAxpyTiles) + "assume n mod 4 = 0\n";
  const std::string c = code(text, Target::C);
  CHECK_FALSE(has(c, "min"));
  CHECK_FALSE(has(c, "if"));
  CHECK_GOLDEN("whole_tile.c", c);
}

TEST_CASE("loops: slabs stand apart from the whole tiles") {
  Kernel k = kernel(kAxpyTiles);
  k.slabs["io"] = {1, 1};
  CHECK_GOLDEN("slabs.c", generate(k, Target::C).source);
  k.slabs["io"] = {0, 1};
  CHECK_GOLDEN("last_slab.c", generate(k, Target::C).source);
}

TEST_CASE("loops: threads share a loop with its slabs") {
  CHECK_GOLDEN("slabs_of_threads.c",
               code(std::string(kAxpyTiles) + "slabs io: 1, 1\n", Target::OpenMP, {{"io", "par"}}));
}

TEST_CASE("loops: a stride comes out as the loop's step") {
  CHECK_GOLDEN("stride.c", code(R"(
kernel even(n: int32, a: float64[n])
domain {[i]: 0 <= i < n and exists l: i = 2*l}
a[i] = a[i] + 1
)",
                                Target::C));
}

TEST_CASE("loops: an equality needs no loop") {
  CHECK_GOLDEN("equality.c", code(R"(
kernel diagonal(n: int32, a: float64[n, n])
domain {[i, j]: 0 <= i < n and j = n - 1 - i}
a[i, j] = 1
)",
                                  Target::C));
}

TEST_CASE("loops: a condition stands outside the loops that it does not depend on") {
  CHECK_GOLDEN("hoisted.c", code(R"(
kernel hoisted(n: int32, m: int32, a: float64[n], b: float64[n, n])
domain {[i, j]: 0 <= i, j < n}
if m > 7
  a[i] = 2*a[i]
  b[i, j] = 0
end
)",
                                 Target::C));
}

TEST_CASE("loops: neighbours share a guard") {
  CHECK_GOLDEN("shared_guard.c", code(R"(
kernel shared(n: int32, s: int32[n], a: float64[n], b: float64[n])
domain {[i]: 0 <= i < n}
if i > 3 and s[i] != 0
  a[i] = 2*a[i]
  b[i] = a[i]
end
)",
                                      Target::C));
}

TEST_CASE("loops: a guard that a guarded statement may change is tested again") {
  const std::string c = code(R"(
kernel again(n: int32, s: int32[n], a: float64[n])
domain {[i]: 0 <= i < n}
s[i] = s[i] - 1 {if=s[i] > 0}
a[i] = 1 {if=s[i] > 0}
)",
                             Target::C);
  CHECK(c.find("if (s[i] > 0)") != c.rfind("if (s[i] > 0)"));
}

TEST_CASE("loops: a condition on a scalar is tested outside the loops that keep it") {
  CHECK_GOLDEN("condition.c", code(R"(
kernel condition(n: int32, s: int32[n], a: float64[n, n])
domain {[i, j]: 0 <= i, j < n}
<> c = s[i] > 0 {inames=i}
a[i, j] = 1 {if=c}
)",
                                   Target::C));
}

TEST_CASE("loops: bounds that the data give") {
  CHECK_GOLDEN("csr.c", code(R"(
kernel csr(n: int32, m: int32, start: int32[n+1], col: int32[m], v: float64[m], x: float64[n], y: float64[n])
domain {[i]: 0 <= i < n}
domain [len] -> {[j]: 0 <= j < len}
<int32> len = start[i+1] - start[i]
y[i] = sum(j, v[start[i] + j]*x[col[start[i] + j]])
)",
                             Target::C));
}

TEST_CASE("loops: statements of different ranges in one loop are guarded each") {
  CHECK_GOLDEN("ranges.c", code(R"(
kernel ranges(n: int32, a: float64[n], b: float64[n])
domain {[i]: 0 <= i < n}
assume n >= 10
if i < 5
  a[i] = 1
end
if i >= 3
  b[i] = 2
end
)",
                                Target::C));
}

TEST_CASE("unr: loops in one another write out no more than a compiler takes") {
  const std::string text =
      "kernel big(a: inout float64[200])\ndomain {[i, j, k]: 0 <= i, j, k < 200}\n"
      "a[i] = a[i] + a[j]*k\n";
  CHECK(refusal(text, Target::C, {{"i", "unr"}, {"j", "unr"}, {"k", "unr"}}).text ==
        "iname `i` is tagged `unr`, and writes out more than 131072 statements with the loops in "
        "it");
}

// LAPACK's dlantr: as sets, letters that may be one of two made 36 parts of each loop's domain, of
// which the code said hulls such as `norm >= 73 && norm <= 105`.
TEST_CASE("loops: choices between parameters are written as they are") {
  const std::string text = code(R"(
kernel f(n: int32, norm: int32, uplo: int32, x: inout float64[n], y: inout float64[n])
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j < n}
x[i] = x[i] + 1  {inames=i, if=norm == 77 or norm == 109}
y[i] = x[i]*2  {inames=i, if=not (norm == 77 or norm == 109) and (uplo == 85 or uplo == 117)}
y[j] = y[j] + 3  {inames=j, if=norm == 73 or norm == 105 and uplo != 85}
)",
                                Target::C);
  CAPTURE(text);
  CHECK(text.find("if (norm == 77 || norm == 109)") != std::string::npos);
  CHECK(
      text.find(
          "if (norm == 73 || (norm == 105 && uplo != 85))\n    for (int32_t j = 0; j < n; ++j)") !=
      std::string::npos);
  for (const char* hull : {">= 73", "<= 105", ">= 77"}) CHECK(text.find(hull) == std::string::npos);
}

// Differential test, seed 67200019: a loop around ran further than the statements in it, and there
// a loop in it read a length that had not been computed.
TEST_CASE("loops: bounds from data are read where they are computed") {
  Kernel k = parsed(R"(
kernel f(n: int32, cnt: in int32[n], q: inout int32[n, n], b: inout int32[2*n])
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j < i}
domain {[k]: 0 <= k < 4}
domain {[m]: 0 <= m < len}
assume n >= 5
q[j, i] = cnt[j]  {inames=i:j}
<int32> len = cnt[i] % 5  {inames=i:j:k}
b[i + j] = b[i + j] + sum(m, cnt[k] + m)  {inames=i:j:k}
)");
  k = chunk_iname(split_iname(k, "m", 4, {.inner_tag = "unr"}), "i", 5);
  const std::string text = generate(k, Target::C).source;
  CAPTURE(text);
  CHECK(text.find("int32_t const len = ") != std::string::npos);
}

TEST_CASE("unr: copies with constant subscripts") {
  CHECK_GOLDEN("unrolled.c", code(kAxpyTiles, Target::C, {{"ii", "unr"}}));
  CHECK_GOLDEN("unrolled_whole.c",
               code(std::string(kAxpyTiles) + "assume n mod 4 = 0\n", Target::C, {{"ii", "unr"}}));
}

TEST_CASE("unr: the choices between pieces are made") {
  Kernel k = parsed(
      "kernel f(n: int32, a: float64[n], b: float64[n])\ndomain {[i]: 0 <= i < n}\n"
      "assume n >= 3\na[i] = 2*b[n - 1 - i]\n");
  k = chunk_iname(k, "i", 3, {.outer_tag = "unr"});
  const std::string all = generate(k, Target::C).source, text = all.substr(all.find("void f("));
  CHECK(text.find("? ") == std::string::npos);
  CHECK(text.find("== 1") == std::string::npos);
}

TEST_CASE("unr: iterations that differ in one value alone cost isl no more than one of them") {
  const auto operations = [](int n) {
    const IslBudget budget(kPhaseOperations);
    const std::string text =
        code(fmt::format("kernel k(n: int32, a: float64[n, {0}, {0}])\n"
                         "domain {{[i, j, l]: 0 <= i < n and 0 <= j < {0} and 0 <= l < {0}}}\n"
                         "a[i, j, l] = 2*a[i, j, l]\n",
                         n),
             Target::C, {{"j", "unr"}, {"l", "unr"}});
    int copies = 0;
    for (std::size_t at = 0; (at = text.find("*= 2.0;", at)) != std::string::npos; ++at) ++copies;
    CHECK(copies == n * n);
    return budget.used();
  };
  CHECK(operations(32) <= operations(2) + operations(2) / 10);
}

TEST_CASE("unr: refuses a loop without a constant bound") {
  const Diagnostic d = refusal(kProduct, Target::C, {{"j", "unr"}});
  CHECK(d.code == "unroll-bound");
  CHECK(d.text == "iname `j` is tagged `unr`, but its number of iterations has no constant bound");
}

TEST_CASE("unr_hint: asks the compiler") {
  const std::string c = code(kProduct, Target::C, {{"k", "unr_hint.8"}});
  CHECK(has(c, "      #pragma GCC unroll 8\n      for (int32_t k = 0; k < n; ++k)\n"));
}

TEST_CASE("loops: a declaration alone in a loop stands in braces") {
  // Found by the differential test: in the first slab `c` is never written.
  const std::string c = code(R"(
kernel f(n: int32, a: float64[n], c: float64[n])
domain {[o]: 0 <= 2*o < n}
domain {[i]: 0 <= i < 2 and 2*o + i < n}
domain {[k]: 0 <= k < 3}
slabs o: 1, 0
<> t = 2*a[2*o + i]   {id=make, inames=o:i:k}
c[2*o + i] = t        {id=use, inames=o:i:k, if=o > 0, dep=make}
)",
                             Target::C);
  CHECK(has(c,
            "      for (int32_t k = 0; k < 3; ++k) {\n"
            "        double const t = 2*a[i];\n"
            "      }\n"));
}

TEST_CASE("loops: the same input gives the same text") {
  CHECK(code(kProduct, Target::OpenMP) == code(kProduct, Target::OpenMP));
}

TEST_CASE("loops: strides in several loops that bound one another") {
  CHECK_GOLDEN("strides.c", code(R"(
kernel strides(n: int32, a: float64[2*n, n])
domain {[i, j]: 0 <= i < 2*n and exists e: i = 3*e and 0 <= j < n and j > i and exists f: j = 2*f}
a[i, j] = 2*a[i, j]
)",
                                 Target::C));
}

TEST_CASE("loops: a long head is broken between its parts") {
  CHECK_GOLDEN("long_head.c", code(R"(
kernel band(number_of_rows: int32, half_bandwidth: int32, matrix: float64[number_of_rows, number_of_rows])
domain {[row_index, column_index]: 0 <= row_index, column_index < number_of_rows and row_index - half_bandwidth <= column_index <= row_index + half_bandwidth}
assume half_bandwidth >= 0
matrix[row_index, column_index] = 0
)",
                                   Target::C));
}

TEST_CASE("loops: a skewed pair has its bounds in the inner loop, and no guard") {
  const std::string c = code(R"(
kernel skewed(out: int32[10])
domain {[i]: 0 <= i <= 5}
domain {[j]: 2*i - 2 < j <= 2*i and 0 <= j <= 9}
for i, j
  out[j] = j
end
)",
                             Target::C);
  CHECK(has(c,
            "  for (int32_t i = 0; i < 6; ++i)\n"
            "    for (int32_t j = max_i32(0, 2*i - 1); j < min_i32(10, 2*i + 1); ++j)\n"
            "      out[j] = j;\n"));
}

TEST_CASE("loops: one iteration needs no loop") {
  CHECK(
      function(code("kernel one(a: int32[1])\ndomain {[i]: 0 <= i < 1}\na[i] = 42\n", Target::C)) ==
      "void one(int32_t *restrict a) {\n"
      "  a[0] = 42;\n"
      "}\n");
}

TEST_CASE("loops: two loops stand inside of one that they share with a statement") {
  CHECK(has(code(R"(
kernel nests(n: int32, a: float64[n, n], b: float64[n, n], c: float64[n])
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j < n}
domain {[k]: 0 <= k < n}
prioritize i, j
prioritize i, k
c[i] = a[i, 0]
b[i, j] = c[i]
a[i, k] = b[i, k]
)",
                 Target::C),
            "  for (int32_t i = 0; i < n; ++i) {\n"
            "    c[i] = a[(int64_t)n*i];\n"
            "    for (int32_t j = 0; j < n; ++j)\n"
            "      b[(int64_t)n*i + j] = c[i];\n"
            "    for (int32_t k = 0; k < n; ++k)\n"
            "      a[(int64_t)n*i + k] = b[(int64_t)n*i + k];\n"
            "  }\n"));
}

TEST_CASE("loops: five hundred of their own follow one another as written") {
  std::string args, domains, statements, expected;
  for (int l = 0; l < 500; ++l) {
    args += fmt::format("{}a{}: int32[10]", l ? ", " : "", l);
    domains += fmt::format("domain {{[i{}]: 0 <= i{} < 10}}\n", l, l);
    statements += fmt::format("a{0}[i{0}] = i{0} + {0}\n", l);
    expected += fmt::format(
        "  for (int32_t i{0} = 0; i{0} < 10; ++i{0})\n    a{0}[i{0}] = i{0} + {0};\n", l);
  }
  const std::string text = "kernel many(" + args + ")\n" + domains + statements;
  for (const Target t : {Target::C, Target::OpenMP}) CHECK(has(code(text, t), expected));
  CHECK(generate(kernel(text), Target::OpenCL).device->kernels.size() == 1);
}

TEST_CASE("loops: a stride and one of two ends") {
  const std::string text = code(R"(kernel u(n: int32, m: int32, k: float64[4*n + 100])
domain {[l]: 0 <= l < n}
domain {[j]: j mod 3 = 0 and j >= 0 and ((2*m < n and j <= n - 2*m + l) or (2*m >= n and j <= l))}
assume n >= 1 and m >= 1
k[j] = k[j] + l
)",
                                Target::C);
  CHECK(has(text, "for (int32_t j = 0; j < n + l; j += 3)\n"));
  CHECK(has(text, "if ((2*m < n && n + l >= 2*m + j) || (2*m >= n && l >= j))\n"));
}

// Each condition doubles the cases.
TEST_CASE("loops: code for too many cases is an error, not a wait") {
  std::string text = "kernel kk(n: int32, x: float64[n])\ndomain {[i]: 0 <= i < n";
  for (const int p : {3, 5, 7, 11, 13, 17, 19, 23, 29, 31})
    text += fmt::format(" and i mod {} != 1", p);
  text += "}\nx[i] = x[i] + 1\n";
  try {
    code(text, Target::C);
    CHECK("an error" == nullptr);
  } catch (const Error& e) {
    CHECK(e.diagnostic().code == "too-complex");
    CHECK(e.diagnostic().text == "checking kernel `kk` takes too many operations on its domains");
  }
}

TEST_CASE("loops: all that generating code asks is within its budget") {
  const Kernel k = kernel(kAxpyTiles);
  for (const Target t : {Target::C, Target::OpenMP, Target::OpenCL, Target::Cuda}) {
    CAPTURE(to_string(t));
    std::set<std::string> ends;
    unsigned long operations = 50;
    for (bool done = false; !done; operations += operations / 8) {
      const IslBudget budget(operations);
      try {
        generate(k, t);
        done = true;
      } catch (const Error& e) {
        CHECK(e.diagnostic().code == "too-complex");
        ends.insert(e.diagnostic().text.substr(0, e.diagnostic().text.find(' ')));
      }
    }
    CHECK(ends == std::set<std::string>{"checking", "generating"});
    CHECK(operations < 1'000'000);
  }
}

// Differential test, seed 2310213: the cases of all pieces of pieces took the phase's budget.
TEST_CASE("loops: those that end by a flag end where another condition of all is not so") {
  const auto head = [](const std::string& first, const std::string& condition) {
    const std::string text = code(
        "kernel f(n: int32, k: int32[n], a: float64[n])\n"
        "domain {[t]: 0 <= t < 1000000000}\nassume n >= 3\ntemp goes: bool\ntemp which: int32\n"
        "goes = k[0] > 0\nwhich = k[1]\nfor t\n" +
            first + "if " + condition +
            "\n"
            " a[0] = 0.5*a[0]\n which = k[2]\n if a[0] < 1\n  goes = False\n end\nend\nend\n",
        Target::C);
    const std::size_t at = text.find("for (int32_t t");
    return text.substr(at, text.find('{', at) - at);
  };
  CHECK(head("", "goes and which == 0") ==
        "for (int32_t t = 0; t < 1000000000 && goes && which == 0; ++t) ");
  CHECK(head("", "which == 0") == "for (int32_t t = 0; t < 1000000000; ++t) ");
  CHECK(head("a[1] = 1\n", "goes and which == 0") == "for (int32_t t = 0; t < 1000000000; ++t) ");
}

TEST_CASE("loops: nothing is left of loops over what never runs") {
  const std::string text = code(
      "kernel f(n: int32, a: float64[n], b: float64[n])\n"
      "domain {[t]: 0 <= t < 1000000000}\ndomain {[i]: 0 <= i < n}\n"
      "for t\nfor i\nif a[i] > 0.5 and False\n <> x = 2*a[i]\n b[i] = x*x\nend\nend\nend\n",
      Target::C);
  CHECK(text.find("for (") == std::string::npos);
}

TEST_CASE("loops: a domain of which isl does not know what integers exist in it") {
  const std::string text = code(
      "kernel f(n: int32, a: float32[n + 60])\n"
      "domain {[j]: exists e: 5 + j <= 2e <= 6 + j and 3*floor((e)/4) <= -3 + e and "
      "28*floor((e)/4) > -n + 4j + e}\n"
      "assume n >= 5\na[j + 8] = 1\n",
      Target::C);
  CHECK(text.find("a[j + 8] = 1.0f;") != std::string::npos);
}

// Differential test, seeds 38800422, 39801067 and 41501223: an internal error.
TEST_CASE("loops: a condition that takes too long to simplify is asked as it is") {
  Kernel k = kernel(R"(
kernel f(n: int32, c: int64[3*n + 12], q: int64[3*n + 12])
domain {[i]: 0 <= i and 2*i < n}
q[i + 1] = c[i // 2]
)");
  k = chunk_iname(k, "i", 3, {});
  k = run_op(*find_op("add_prefetch"), k,
             {Value{std::string("c")}, Value{ValueList{Value{std::string("i_outer")}}}}, {});
  k = chunk_iname(k, "i_inner", 4, {});
  CHECK(generate(k, Target::C).source.find("c_fetch[") != std::string::npos);
}

TEST_CASE("loops: a condition on pieces of pieces is evaluated as it is written") {
  Kernel k = kernel(R"(
kernel f(n: int32, p: int32[n + 4])
domain {[k]: 0 <= k < n}
assume n >= 5
p[k] = p[k] + 1 {if=2*k > n}
)");
  std::string iname = "k";
  for (int level = 0; level < 3; ++level) {
    k = chunk_iname(k, iname, 3, {});
    iname += "_inner";
  }
  const IslBudget budget(1'000'000);
  const std::string source = generate(k, Target::C).source;
  CHECK(source.find("> n") != std::string::npos);
  CHECK(source.find("2*(k_outer*(n / 3) + min_i32(k_outer, n % 3)") != std::string::npos);
}

// Differential test, seed 4207663: a hull was found for each copy and each slab of the loops
// around.
TEST_CASE("loops: the iterations of a loop are found once, however often it is written out") {
  const Kernel k = kernel(R"(
kernel k(n: int32, b: int16[3*n + 12])
domain [n] -> { [io, ii] : io >= 0 and 0 <= ii <= 2 and 2ii < n - 6io }
domain [io, ii, n] -> { [jo, ji] : jo >= 0 and 0 <= ji < -3io - ii + n - 3jo and ji <= 2 }
domain [io, ii, jo, ji] -> { [k] :
  (2ji >= 3 + 3io + ii - 6jo and k >= 0 and 2k < -3io - ii + 6jo + 2ji) or
  (2ji <= 2 + 3io + ii - 6jo and k >= 0 and 2k <= 4 + 3io + ii - 6jo - 2ji) or
  (3io + ii - 6jo < 2ji <= 4 + 3io + ii - 6jo and
   3 + 3io + ii - 6jo - 2ji <= 2k <= 4 + 3io + ii - 6jo - 2ji) }
assume n >= 5
tag ii: unr
slabs io: 1, 1
slabs jo: 0, 1
for io, ii, jo, ji, k
  b[k] = b[k] + 1
end
)");
  const IslBudget budget(1'500'000);
  CHECK(generate(k, Target::C).source.size() > 1000);
}

// Found by the differential test (5138408): the lanes shared one scalar.
TEST_CASE("loops: a scalar that each lane or work-item has for itself is not the one outside") {
  const std::string text = R"(
kernel lanes(n: int32, r: float64[n + 8], g: float64[n, 8], h: float64[n])
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j < 8}
<> t = r[i + j]  {id=set, inames=i:j}
g[i, j] = t + 1  {id=use, inames=i:j, dep=set}
t = 2*r[i]       {id=again, inames=i, dep=use}
h[i] = t         {id=last, inames=i, dep=again}
)";
  CHECK(function(code(text + "tag j: vec\n", Target::C)) == R"(void lanes(int32_t n, double const *restrict r, double *restrict g, double *restrict h) {
  double t_0[8];
  for (int32_t i = 0; i < n; ++i) {
    for (int32_t j = 0; j < 8; j += lanes_f64)
      *(vector_f64 *)&t_0[j] = *(vector_f64 const *)&r[i + j];
    for (int32_t j = 0; j < 8; j += lanes_f64)
      *(vector_f64 *)&g[8*(int64_t)i + j] = (*(vector_f64 const *)&t_0[j]) + 1;
    double const t = 2*r[i];
    h[i] = t;
  }
}
)");
  const std::string items = code(text + "tag i: g.0\ntag j: l.0\n", Target::OpenCL);
  CHECK(items.find("double const t_0 = r[i + j];") != std::string::npos);
  CHECK(items.find("double const t = 2*r[i];") != std::string::npos);
}

TEST_CASE("loops: lanes do not share a scalar that bounds a loop of theirs and is used outside") {
  const auto lanes = [](const std::string& last) {
    return code(R"(
kernel g(n: int32, r: int32[n + 8], s: float64[n, 8], h: float64[n])
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j < 8}
domain [t] -> {[k]: 0 <= k < t}
<int32> t = r[i + j] % 4  {id=set, inames=i:j}
s[i, j] = sum(k, 1.0*k)   {id=use, inames=i:j, dep=set}
tag j: vec
)" + last,
                Target::C);
  };
  // Each lane runs the loop before the next one does.
  CHECK(lanes("").find("    for (int32_t j = 0; j < 8; ++j) {\n      int32_t const t = ") !=
        std::string::npos);
  try {
    lanes("t = 2*r[i] {id=again, inames=i, dep=use}\nh[i] = t {id=last, inames=i, dep=again}\n");
    FAIL("code for lanes that share a scalar");
  } catch (const Error& e) {
    CHECK(e.diagnostic().code == "unsupported");
    CHECK(e.diagnostic().text ==
          "each iteration of `j`, tagged `vec`, has a `t` of its own, which is used outside of the "
          "loop too; a temporary of another name there would do");
  }
}

// Found by the differential test (41381088): `d` had the axis of `x`, and only x = d ran.
TEST_CASE("loops: an automatic axis is one that no loop around any of its instructions has") {
  const std::string source = code(R"(
kernel f(a: float64[4], b: float64[4], p: float64[4, 4])
domain {[x]: 0 <= x < 4}
domain {[d]: 0 <= d < 4}
b[d] = a[d]           {id=fill, inames=d}
p[x, d] = a[x] + b[d] {id=use, inames=x:d, dep=fill}
tag x: l.0
tag d: l.auto
)",
                                  Target::OpenCL);
  CHECK(source.find("int const x = get_local_id(0);") != std::string::npos);
  CHECK(source.find("int const d = get_local_id(1);") != std::string::npos);
}
