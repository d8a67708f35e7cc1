#include "codegen/print/fortran_interface.h"
#include "tests/codegen/kit.h"

using namespace moonloop;

namespace {

const char* const kTiledProduct = R"(
kernel matmul(n: int32, a: float64[n, n], b: float64[n, n], c: float64[n, n])
domain {[i, j, io, jo]: 0 <= io and 0 <= i < 16 and i < n - 16*io and 0 <= jo and 0 <= j < 16 and j < n - 16*jo}
domain {[k]: 0 <= k < n}
c[i + 16*io, j + 16*jo] = sum(k, a[i + 16*io, k]*b[k, j + 16*jo])
)";
const Tags kTiles{{"io", "g.1"}, {"jo", "g.0"}, {"i", "l.1"}, {"j", "l.0"}};

const char* const kSteps = R"(
kernel heat(n: int32, steps: int32, u: inout float32[n + 2])
domain {[t]: 0 <= t < steps}
domain {[i]: 1 <= i <= n}
domain {[j]: 1 <= j <= n}
assume n >= 1 and steps >= 1
temp v: float32[n + 2] in global
for t
  v[i] = (u[i - 1] + u[i] + u[i + 1])/3
  u[j] = v[j]
end
)";

}  // namespace

TEST_CASE("devices: a product over a grid of work-items") {
  CHECK_GOLDEN("product.cl", code(kTiledProduct, Target::OpenCL, kTiles));
  CHECK_GOLDEN("product.cu", code(kTiledProduct, Target::Cuda, kTiles));
}

TEST_CASE("devices: groups have as many work-items as parameters say") {
  const char* const rows = R"(
kernel rows(n: int32, m: int32, a: inout float32[n, m], s: out int32[n])
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= 2*j < m}
domain {[k]: 0 <= k < m - 1}
for i
  a[i, 2*j] = 3*a[i, 2*j]
  s[i] = i
  a[i, k] = a[i, k] + 1
end
)";
  const Tags tags{{"i", "g.0"}, {"j", "l.0"}, {"k", "l.0"}};
  CHECK_GOLDEN("items.cu", code(rows, Target::Cuda, tags));
  const std::string header = generate(kernel(rows, tags), Target::OpenCL).header;
  CHECK(header.find("size_t const group_items[3] = {max_i32(") != std::string::npos);
}

TEST_CASE("devices: a loop that begins at 1 asks nothing but whether it is in its bounds") {
  const std::string from_one = code(R"(
kernel one(n: int32, u: in float64[n], v: out float64[n])
domain {[o, w]: 0 <= w < 64 and 1 <= w + 64*o < n - 1}
assume n >= 3
v[w + 64*o] = u[w + 64*o - 1] + u[w + 64*o + 1]
)",
                                    Target::Cuda, {{"o", "g.0"}, {"w", "l.0"}});
  CHECK_GOLDEN("from_one.cu", from_one);
  CHECK(from_one.find('?') == std::string::npos);
}

TEST_CASE("devices: each group waits once, whichever slab it has") {
  const char* const text = R"(
kernel smooth(n: int32, u: float64[n + 2], v: float64[n])
domain {[o]: 0 <= 16*o < n}
domain {[p]: 0 <= p < 18 and p < n + 2 - 16*o}
domain {[i]: 0 <= i < 16 and i < n - 16*o}
assume n >= 1
slabs o: 0, 1
<float64> s[p] = u[p + 16*o] {id=fetch}
v[i + 16*o] = s[i] + s[i + 1] + s[i + 2]
)";
  const Tags tags{{"o", "g.0"}, {"p", "l.0"}, {"i", "l.0"}};
  CHECK_GOLDEN("slabs_of_groups.cl", code(text, Target::OpenCL, tags));
  CHECK_GOLDEN("slabs_of_groups.cu", code(text, Target::Cuda, tags));
}

TEST_CASE("devices: time steps launch two kernels each, through memory of the device") {
  CHECK_GOLDEN("steps.cu", code(kSteps, Target::Cuda, {{"i", "g.0"}, {"j", "g.0"}}));
  const Program p = generate(kernel(kSteps, {{"i", "g.0"}, {"j", "g.0"}}), Target::Cuda);
  CHECK(p.header.find("int heat(int n, int steps, float *u);") != std::string::npos);
}

TEST_CASE(
    "devices: work-items wait in rows, each of which begins and ends where its own data say") {
  const char* const turned = R"(
kernel turned(n: int32, cnt: in int32[n], x: in float32[n, 99, 8], y: out float32[n, 99, 8])
domain {[i]: 0 <= i < n}
domain {[t]: low <= t < 2*low + 5 and t < 99}
domain {[k]: 0 <= k < 8}
domain {[l]: 0 <= l < 8}
temp w: float32[n, 8] in global
for i
  <int32> low = cnt[i]
  for t
    w[i, k] = 2*x[i, t, k]
    y[i, t, l] = w[i, 7 - l]
  end
end
)";
  const Tags tags{{"i", "l.1"}, {"k", "l.0"}, {"l", "l.0"}};
  CHECK_GOLDEN("own_rows.cl", code(turned, Target::OpenCL, tags));
  CHECK_GOLDEN("own_rows.cu", code(turned, Target::Cuda, tags));
  CHECK_GOLDEN("own_rows.c", code(turned, Target::C, tags));

  // With indices of 64 bits, so are the ends.
  const std::string wide = std::string(turned) + "index_type int64\n";
  const auto has = [&](Target t, const std::vector<std::string>& parts) {
    const std::string text = code(wide, t, tags);
    CAPTURE(text);
    for (const std::string& part : parts) CHECK(text.find(part) != std::string::npos);
  };
  has(Target::OpenCL,
      {"#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable", "__local long t_end;",
       "t_first = 9223372036854775807", "t_end = -9223372036854775807", "atom_min(&t_first, ",
       "atom_max(&t_end, ", "for (long t = t_first;"});
  has(Target::Cuda, {"__shared__ long long t_end;", "atomicMin(&t_first, ", "atomicMax(&t_end, ",
                     "for (long long t = t_first;"});
  has(Target::C, {"int64_t t_end = -9223372036854775807;", "t_end = max_i64(t_end, ",
                  "for (int64_t t = t_first;"});
}

TEST_CASE("devices: work-items that compute an offset alike meet nowhere") {
  const std::string rows = R"(
kernel rows(n: int32, m: int32, kind: int32, u: out float64[n + 2, m + 4], b: in float64[n, m])
domain {[i, j]: 0 <= i < n and 0 <= j < m}
<int32> s = 0  {if=kind == 0}
s = 1  {if=kind != 0}
for i
  <int32> e = s + 1
  for j
    u[i, j + e] = b[i, j]
  end
end
)";
  for (const Target t : {Target::OpenCL, Target::Cuda}) {
    const std::string text = code(rows, t, {{"i", "g.1"}, {"j", "g.0"}});
    CHECK(text.find(t == Target::Cuda ? "blockIdx.y" : "get_group_id(1)") != std::string::npos);
  }
  // An offset of each iteration may lead groups to one element.
  const std::string columns = R"(
kernel columns(n: int32, u: inout float64[2*n], b: in int32[n])
domain {[i]: 0 <= i < n}
for i
  <int32> e = b[i]
  u[e] = i  {id=store}
end
)";
  try {
    code(columns, Target::Cuda, {{"i", "g.0"}});
    FAIL("not refused");
  } catch (const Error& e) { CHECK(e.diagnostics().front().code == "not-proved"); }
}

TEST_CASE("devices: a reduction over work-items is a tree, through registers in CUDA's warps") {
  const auto norm = [](int items, int rows, Target target) {
    const std::string text = "kernel norm(m: int32, a: float32[m, " + std::to_string(items) +
                             "], b: float32[m])\ndomain {[r, q]: 0 <= q < " + std::to_string(rows) +
                             " and 0 <= r < m and q + " + std::to_string(rows) +
                             "*r < m}\ndomain {[i]: 0 <= i < " + std::to_string(items) +
                             "}\nb[q + " + std::to_string(rows) + "*r] = sqrt(sum(i, a[q + " +
                             std::to_string(rows) + "*r, i]**2))\n";
    return code(text, target, {{"r", "g.0"}, {"q", "l.1"}, {"i", "l.0"}});
  };
  CHECK_GOLDEN("tree.cl", norm(24, 2, Target::OpenCL));
  CHECK_GOLDEN("shuffles.cu", norm(128, 2, Target::Cuda));
  const auto count = [](const std::string& text, const std::string& word) {
    int n = 0;
    for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) ++n;
    return n;
  };
  const std::string part = norm(8, 4, Target::Cuda);  // of one warp: nothing to wait for
  CHECK(count(part, "__shfl_xor_sync(0xffffffffu, ") == 1);
  CHECK(count(part, "__syncthreads") == 0);
  CHECK(count(part, "__shared__") == 0);
  for (const auto& shape : {std::pair{48, 2}, {8, 3}, {24, 4}}) {  // no whole warps
    CAPTURE(shape.first);
    CHECK(count(norm(shape.first, shape.second, Target::Cuda), "__shfl") == 0);
  }
}

TEST_CASE("devices: an atomic update without an instruction of its own is tried until it holds") {
  CHECK_GOLDEN("exchange.cu", code(R"(
kernel peak(n: int32, x: float32[n], m: inout float32[1])
domain {[i]: 0 <= i < n}
m[0] = max(m[0], x[i])  {atomic}
)",
                                   Target::Cuda, {{"i", "g.0"}}));
}

TEST_CASE("devices: work-items of CUDA's warps that update one element do it together") {
  const char* const text = R"(
kernel meet(n: int32, d: in int32[n], x: in float32[n], h: inout int32[n], s: inout float32[n], m: inout float64[n])
domain {[i]: 0 <= i < n}
h[d[i]] = h[d[i]] - 2           {atomic=combined}
s[d[i]] = s[d[i]] + x[i]        {atomic=combined}
m[d[i]] = max(m[d[i]], x[i])    {atomic=combined}
)";
  CHECK_GOLDEN("meet.cu", code(text, Target::Cuda, {{"i", "l.0"}}));
  // Elsewhere, each by itself.
  CHECK(code(text, Target::OpenCL, {{"i", "l.0"}}).find("equal") == std::string::npos);
  CHECK(refusal(R"(
kernel half(n: int32, d: in int32[64], h: inout int32[n])
domain {[i]: 0 <= i < 64}
h[d[i]] = 3*h[d[i]] + 1  {atomic=combined}
)",
                Target::Cuda, {{"i", "l.0"}})
            .code == "unsupported");
}

TEST_CASE("devices: an atomic update of more than a word takes a lock") {
  const char* const turn = R"(
kernel turn(n: int32, s: inout complex128[3])
domain {[i]: 0 <= i < n}
s[i % 3] = s[i % 3]*1j  {atomic}
)";
  CHECK_GOLDEN("lock.cu", code(turn, Target::Cuda, {{"i", "g.0"}}));
  CHECK_GOLDEN("lock.cl", code(turn, Target::OpenCL, {{"i", "g.0"}}));
}

// CUDA's compiler reads both arrays through one address, from the cache for constant data where one
// of them is promised to be constant.
TEST_CASE("devices: what a choice reads beside a written array is not promised to stay") {
  const auto head = [](const std::string& rhs) {
    const std::string c = code(
        "kernel k(n: int32, a: float32[n], b: float32[n], c: float32[n])\n"
        "domain {[i]: 0 <= i < n}\na[i] = " +
            rhs + "\n",
        Target::Cuda);
    const std::size_t at = c.find("void k_kernel(");
    return c.substr(at, c.find(')', at) - at);
  };
  CHECK(head("(a[n - 1 - i] if i % 2 == 0 else b[i]) + c[i]") ==
        "void k_kernel(int const n, float *__restrict__ a, float const *b, "
        "float const *__restrict__ c");
  CHECK(head("(c[n - 1 - i] if i % 2 == 0 else b[i]) + a[i]") ==
        "void k_kernel(int const n, float *__restrict__ a, float const *__restrict__ b,\n"
        "              float const *__restrict__ c");
}

TEST_CASE("devices: a record and its fields are under one lock") {
  const std::string c = code(R"(
record best(value: float64, at: int32)
kernel both(n: int32, x: in best[n], m: inout best[4])
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j < n}
m[i % 4] = x[i] if x[i].value > m[i % 4].value or x[i].value == m[i % 4].value and x[i].at < m[i % 4].at else m[i % 4] {atomic}
m[j % 4].at = m[j % 4].at + 1 {atomic}
)",
                             Target::Cuda, {{"i", "g.0"}, {"j", "g.0"}});
  for (const char* i : {"i", "j"})
    CHECK(c.find(fmt::format("= (size_t)&m[{0} % 4]/sizeof m[{0} % 4] % 1024;", i)) !=
          std::string::npos);
  CHECK(c.find("atomicAdd") == std::string::npos);
}

TEST_CASE("devices: iterations side by side load and store vectors where all of them run") {
  const char* const scale = R"(
kernel scale(n: int32, a: float32[n], b: float32[n])
domain {[i, v]: 0 <= v < 4 and 0 <= i and 4*i + v < n}
b[4*i + v] = 2*a[4*i + v]
)";
  CHECK_GOLDEN("lanes.cl", code(scale, Target::OpenCL, {{"i", "g.0"}, {"v", "vec"}}));
  CHECK_GOLDEN("lanes.cu", code(scale, Target::Cuda, {{"i", "g.0"}, {"v", "vec"}}));
}

TEST_CASE("devices: work-items of a loop that begins behind 0 are counted from a constant") {
  const char* const text = R"(
kernel one(n: int32, u: float64[n], v: float64[n])
domain {[io, ii]: 0 <= ii < 64 and 1 <= 64*io + ii < n - 1}
assume n >= 3
v[64*io + ii] = u[64*io + ii - 1]
)";
  const std::string c = code(text, Target::Cuda, {{"io", "g.0"}, {"ii", "l.0"}});
  CAPTURE(c);
  CHECK(c.find("int const ii = threadIdx.x;") != std::string::npos);
  CHECK(c.find(" ? ") == std::string::npos);
}

TEST_CASE("names: a function of another name than the kernel's is told of, Fortran keeps it") {
  const Program p = generate(kernel("kernel gammaf(size: int32, gammaf_of_c: float64[size])\n"
                                    "domain {[i]: 0 <= i < size}\ngammaf_of_c[i] = 1\n"),
                             Target::C);
  CHECK(p.name == "gammaf_kernel");
  CHECK(p.header.find("/* The kernel `gammaf`, whose name is taken. */\nvoid gammaf_kernel(") !=
        std::string::npos);
  const FortranInterface f = fortran_interface(p, "gammaf");
  CHECK(f.routine.find("subroutine gammaf(size_value, gammaf_of_c)") != std::string::npos);
  CHECK(f.routine.find("call gammaf_kernel_of_c(size_value, gammaf_of_c)") != std::string::npos);
  CHECK(f.c.find("gammaf_kernel(a1, a2);") != std::string::npos);
  // A record next to a kernel of its name; fields have names that are words of C.
  const std::string c = code(
      "record pair(class: float64, index: float64)\n"
      "kernel pair(n: int32, a: pair[n])\ndomain {[i]: 0 <= i < n}\n"
      "a[i].class = a[i].index\n",
      Target::C);
  CHECK(c.find("void pair_kernel(") != std::string::npos);
  CHECK(c.find("a[i].class_ = a[i].index;") != std::string::npos);
}

TEST_CASE("devices: what an atomic update stores has the type of its element") {
  const std::string c = code(
      "kernel k(n: int32, h: uint32[n], p: int16[n])\ndomain {[m]: 0 <= m < n}\n"
      "h[0] = p[m] % 7 & h[0]  {atomic}\n",
      Target::OpenCL);
  CHECK(c.find("as_int((uint)(") != std::string::npos);
}

TEST_CASE("devices: extensions follow from what is printed, not from names") {
  const auto extensions = [](const std::string& text, const Tags& tags) {
    return generate(kernel(text, tags), Target::OpenCL).device->extensions;
  };
  const std::string copy = R"(
kernel doubled(n: int32, INFINITYx: float32[n], atom_maxima: float32[n])
domain {[i, j]: 0 <= i < n and 0 <= j < 8}
)";
  const Tags tags{{"i", "g.0"}, {"j", "l.0"}};
  using Names = std::vector<std::string>;
  CHECK(extensions(copy + "atom_maxima[i] = INFINITYx[i] {if=j == 0}\n", tags) == Names{});
  CHECK(extensions(copy + "atom_maxima[i] = cast(float64, INFINITYx[i])*0.1 {if=j == 0}\n", tags) ==
        Names{"cl_khr_fp64"});
  const auto atomic = [&](const std::string& type, const std::string& update) {
    return extensions("kernel work(n: int32, a: inout " + type + "[4], x: " + type +
                          "[n])\ndomain {[i]: 0 <= i < n}\n" + update + " {atomic}\n",
                      {{"i", "g.0"}});
  };
  CHECK(atomic("int64", "a[i % 4] = a[i % 4] + x[i]") == Names{"cl_khr_int64_base_atomics"});
  CHECK(atomic("int64", "a[i % 4] = max(a[i % 4], x[i])") ==
        Names{"cl_khr_int64_extended_atomics"});
  CHECK(atomic("float64", "a[i % 4] = a[i % 4] + x[i]") ==
        Names{"cl_khr_fp64", "cl_khr_int64_base_atomics"});
  CHECK(atomic("int32", "a[i % 4] = a[i % 4] + x[i]") == Names{});
  CHECK(code(copy + "atom_maxima[i] = INFINITYx[i] {if=j == 0}\n", Target::Cuda, tags)
            .find("#define INFINITY") == std::string::npos);
}

namespace {

/// Two nests over groups: one with long rows of work-items, one with square groups.
std::string two_nests(int row) {
  return fmt::format(R"(
kernel two(n: int32, x: inout float64[n], a: in float64[16*n, 16*n], b: out float64[16*n, 16*n])
domain {{[o, w]: 0 <= w < {} and 0 <= w + {}*o < n}}
domain {{[p, q, i, j]: 0 <= p, q < n and 0 <= i, j < 16}}
domain {{[r, s]: 0 <= r, s < 16}}
temp tile: float64[16, 16] in local
x[w + {}*o] = 2*x[w + {}*o]
for p, q
  tile[r, s] = a[16*p + r, 16*q + s]
  b[16*p + i, 16*q + j] = tile[j, i]
end
)",
                     row, row, row, row);
}
const Tags kTwoNests{{"o", "g.0"}, {"w", "l.0"}, {"p", "g.1"},    {"q", "g.0"},
                     {"i", "l.1"}, {"j", "l.0"}, {"r", "l.auto"}, {"s", "l.auto"}};

}  // namespace

TEST_CASE("devices: automatic axes are those of the nest, not of others beside it") {
  const std::string text = code(two_nests(512), Target::Cuda, kTwoNests);
  CHECK(text.find("int const s = threadIdx.x;") != std::string::npos);
  CHECK(text.find("int const r = threadIdx.y;") != std::string::npos);
  CHECK(text.find("__launch_bounds__(256)") != std::string::npos);
}

TEST_CASE("devices: nests whose groups have other shapes are kernels of their own") {
  const auto kernels = [](const std::string& text) {
    int out = 0;
    for (std::size_t at = 0; (at = text.find("__global__", at)) != std::string::npos; ++at) ++out;
    return out;
  };
  CHECK(kernels(code(two_nests(16), Target::Cuda, kTwoNests)) == 1);   // 16 in 16 by 16
  CHECK(kernels(code(two_nests(64), Target::Cuda, kTwoNests)) == 2);   // 64 by 16 would be idle
  CHECK(kernels(code(two_nests(128), Target::Cuda, kTwoNests)) == 2);  // 128 by 16 are too many
  const std::string reads_the_same = code(
      R"(
kernel sums(n: int32, a: in float64[n, n], rows: out float64[n], columns: out float64[n])
domain {[i, jo, ji]: 0 <= i < n and 0 <= ji < 128 and 0 <= ji + 128*jo < n}
domain {[ko, ki, lo, li]: 0 <= ki < 32 and 0 <= ki + 32*ko < n and 0 <= li < 8 and 0 <= li + 8*lo < n}
rows[i] = sum((jo, ji), a[i, ji + 128*jo])
columns[ki + 32*ko] = sum((lo, li), a[li + 8*lo, ki + 32*ko])
)",
      Target::Cuda, {{"i", "g.0"}, {"ji", "l.0"}, {"ko", "g.0"}, {"ki", "l.0"}, {"li", "l.1"}});
  CHECK(kernels(reads_the_same) == 2);
}

TEST_CASE("devices: an unrolled loop that is bounded only together with another one") {
  const std::string text = code(R"(
kernel parts(n: int32, a: inout float64[n])
domain {[g, w, p]: 0 <= w < 16 and 0 <= 16*p + w < 64 and 0 <= 64*g + 16*p + w < n and n mod 64 = 0}
a[64*g + 16*p + w] = 2*a[64*g + 16*p + w]
)",
                                Target::Cuda, {{"g", "g.0"}, {"w", "l.0"}, {"p", "unr"}});
  CHECK(text.find("+ 48") != std::string::npos);
}

TEST_CASE("devices: groups that an iteration of the host's loop does not need are left out") {
  const char* const elimination = R"(
kernel eliminate(n: int32, a: inout float64[n, n])
domain {[k, i, o, w]: 0 <= k < i < n and 0 <= w < 32 and k < w + 32*o < n}
a[i, w + 32*o] = a[i, w + 32*o] - a[i, k]*a[k, w + 32*o]
)";
  const Tags tags{{"i", "g.1"}, {"o", "g.0"}, {"w", "l.0"}};
  Kernel k = kernel(elimination, tags);
  k.priorities = {{"k", "i", "o", "w"}};
  CHECK_GOLDEN("idle_groups.cu", generate(k, Target::Cuda).source);

  SUBCASE("not where a statement runs in one group alone") {
    Kernel counted = kernel(R"(
kernel count(n: int32, a: inout float64[n], s: inout float64[n])
domain {[k]: 0 <= k < n}
domain {[o, w]: 0 <= w < 32 and k < w + 32*o < n}
for k
  s[k] = s[k] + 1
  a[w + 32*o] = a[w + 32*o] + 1
end
)",
                            {{"o", "g.0"}, {"w", "l.0"}});
    counted.priorities = {{"k", "o", "w"}};
    const std::string one = generate(counted, Target::Cuda).source;
    CHECK(one.find("int const o = blockIdx.x;") != std::string::npos);
    CHECK(one.find("if (blockIdx.x == 0 && threadIdx.x == 0)") != std::string::npos);
  }
}

TEST_CASE("devices: kernels are launched where what their statements ask of arguments holds") {
  const auto launched = [](const std::string& first, const std::string& second) {
    const std::string text = code(
        "kernel pick(n: int32, mode: int32, h: float64, x: float64[n], "
        "y: float64[n])\ntemp two: int32 read_only init=(2)\n"
        "domain {[i]: 0 <= i < n}\n"
        "y[i] = 2*x[i]  {" +
            first +
            "}\n"
            "y[i] = y[i] + 1  {" +
            second + "}\n",
        Target::Cuda, {{"i", "g.0"}});
    const std::size_t from = text.find("int status = 0;\n") + 16, to = text.find("<<<");
    std::string between = text.substr(from, to - from);
    return between.substr(0, between.rfind("\n", between.rfind("if (") - 1) + 1);
  };
  CHECK(launched("if=mode == 1", "if=mode == 1 and x[i] > 0") == "  if (mode == 1) {\n");
  CHECK(launched("if=mode == 1", "if=mode == two") == "  if (mode == 1 || mode == 2) {\n");
  CHECK(launched("if=n > 3 and mode == 1", "if=n > 3 and mode == 0") ==
        "  if (n > 3 && (mode == 1 || mode == 0)) {\n");
  CHECK(launched("if=mode == 1", "if=mode != 1") == "");  // one of both runs
  CHECK(launched("if=mode == 1", "id=always") == "");
  CHECK(launched("if=h > 0", "if=h > 0") == "");  // the device's own
}

TEST_CASE("devices: CUDA divides zeros without its slow path") {
  const auto quotient = [](const std::string& value, const std::string& type = "float64") {
    const std::string text = code("kernel divide(n: int32, x: " + type + "[n], y: " + type +
                                      "[n])\ndomain {[i]: 0 <= i < n}\ny[i] = " + value + "\n",
                                  Target::Cuda, {{"i", "g.0"}});
    const std::size_t from = text.find("y[i] = ") + 7;
    return text.substr(from, text.find(";", from) - from);
  };
  CHECK(quotient("n / y[i]") == "quotient_f64(n, y[i])");
  CHECK(quotient("y[i] / 3.0") == "quotient_f64(y[i], 3.0)");
  CHECK(quotient("1.0 / y[i]") == "1.0 / y[i]");
  CHECK(quotient("y[i] / 4.0") == "y[i] / 4.0");
  const auto in_loop = [](const std::string& term) {
    return code(
        "kernel divide(n: int32, x: float64[n], y: float64[n])\n"
        "domain {[i]: 0 <= i < n}\ndomain {[j]: 0 <= j < n}\ny[i] = sum(j, " +
            term + ")\n",
        Target::Cuda, {{"i", "g.0"}});
  };
  CHECK(in_loop("x[j] / 3.0").find("quotient_f64(x[j], 3.0)") != std::string::npos);
  CHECK(in_loop("x[j]*(x[i] / 3.0)").find("x[j]*(x[i] / 3.0)") != std::string::npos);
  CHECK(quotient("y[i] / x[i]", "float32") == "y[i] / x[i]");
}
