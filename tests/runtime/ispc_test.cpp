// Target ispc: its text, and, where the compiler is found, runs.
#include <map>

#include "codegen/reserved.h"
#include "tests/runtime/device_kit.h"

using namespace moonloop;
using test::error_of;
using test::step;
using test::tagged;
using test::word;

namespace {

std::string code(const Kernel& k) { return generate(k, Target::Ispc).source; }

/// Whether the text is there; without the compiler the runs are left out, and that is said.
bool runs() {
  if (has_ispc_compiler()) return true;
  MESSAGE("there is no ispc: its code was not compiled");
  return false;
}

/// The kernel runs with these tags as without.
void same(const std::string& text, const std::map<std::string, std::string>& tags,
          const GivenValues& params = {{"n", "37"}}) {
  CAPTURE(text);
  test::run_on(Target::Ispc, tagged(text, tags), parsed(text), params);
}

const std::string kSum = R"(kernel sums(n: int32, x: in int64[n], total: out int64)
domain {[i]: 0 <= i < n}
total = sum(i, x[i])
)";

std::string reduced(const std::string& type, const std::string& value) {
  return "kernel r(n: int32, x: in " + type + "[n], y: out " + type +
         ")\ndomain {[i]: 0 <= i < n}\nassume n >= 1\ny = " + value + "\n";
}

}  // namespace

TEST_CASE("ispc: groups are tasks, the axis 0 of work-items is a gang") {
  Kernel k = parsed(R"(kernel scaled(n: int32, x: in float64[n], y: out float64[n])
domain {[i]: 0 <= i < n}
assume n mod 32 = 0
y[i] = 2*x[i]
)");
  k = test::split(k, "i", 32, "g.0", "l.0");
  CHECK(code(k) ==
        R"(task void scaled_task0(const uniform double * uniform x, uniform double * uniform y) {
  uniform int32 const i_outer = taskIndex0;
  foreach (i_inner = 0 ... 32)
    y[i_inner + 32*i_outer] = 2*x[i_inner + 32*i_outer];
}

export void scaled(uniform int32 n, const uniform double * uniform x, uniform double * uniform y) {
  if (0 < n / 32) {
    launch[n / 32] scaled_task0(x, y);
    sync;
  }
}
)");
  if (runs()) test::run_on(Target::Ispc, k, k, {{"n", "96"}});
}

TEST_CASE("ispc: the header is one of C") {
  const Program p = generate(parsed(kSum), Target::Ispc);
  CHECK(p.header.find("void sums(int32_t n, int64_t const *MOONLOOP_RESTRICT x, "
                      "int64_t *MOONLOOP_RESTRICT total);") != std::string::npos);
  CHECK(p.source.find("export void sums(") != std::string::npos);
}

TEST_CASE("ispc: each lane and each task has a part of a reduction") {
  const std::string lanes = code(tagged(kSum, {{"i", "simd"}}));
  CHECK(lanes.find("varying int64 acc_i_part = 0;") != std::string::npos);
  CHECK(lanes.find("acc_i += reduce_add(acc_i_part);") != std::string::npos);
  const std::string tasks = code(tagged(kSum, {{"i", "par"}}));
  CHECK(tasks.find("acc_i_parts[taskIndex] = acc_i_part;") != std::string::npos);
  if (!runs()) return;
  for (const char* tag : {"simd", "par"}) {
    CAPTURE(tag);
    for (const char* n : {"1", "7", "64"}) {
      same(kSum, {{"i", tag}}, {{"n", n}});
      for (const char* type : {"int32", "int64", "float32", "float64", "uint8"}) {
        same(reduced(type, "reduce(min, i, x[i])"), {{"i", tag}}, {{"n", n}});
        same(reduced(type, "reduce(max, i, x[i])"), {{"i", tag}}, {{"n", n}});
      }
      same(reduced("float64", "reduce(product, i, x[i] + 0.5)"), {{"i", tag}}, {{"n", n}});
      same(
          "kernel r(n: int32, x: in int32[n], y: out bool, z: out bool)\ndomain {[i]: 0 <= i < n}\n"
          "domain {[j]: 0 <= j < n}\ny = reduce(any, i, x[i] == 3)\n"
          "z = reduce(all, j, x[j] >= 0)\n",
          {{"i", tag}, {"j", tag}}, {{"n", n}});
    }
  }
}

TEST_CASE("ispc: loops of any kind in the lanes of a gang") {
  if (!runs()) return;
  // Triangular, with a stride, over 64 bits, empty, in reversed order.
  const std::string triangle = R"(kernel t(n: int32, a: inout float32[n, n])
domain {[i, j]: 0 <= i < n and i <= j < n}
a[i, j] = 2*a[i, j] + i
)";
  for (const char* n : {"0", "1", "19"}) {
    same(triangle, {{"i", "simd"}}, {{"n", n}});
    same(triangle, {{"j", "simd"}, {"i", "par"}}, {{"n", n}});
    same(triangle, {{"i", "l.0"}, {"j", "g.0"}}, {{"n", n}});
  }
  same(R"(kernel s(n: int32, a: inout int16[n])
domain {[i]: 1 <= i < n and i mod 3 = 1}
a[i] = a[i]*a[i] - 1
)",
       {{"i", "simd"}});
  same(R"(kernel w(n: int64, a: inout float64[n])
domain {[i]: 0 <= i < n}
a[n - 1 - i] = a[n - 1 - i]/(i + 1)
)",
       {{"i", "simd"}});
  same(R"(kernel l(n: int32, len: in int32[n], a: in float64[n, 8], s: out float64[n])
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j < m}
<int32> m = len[i] % 8  {id=m, inames=i}
s[i] = sum(j, a[i, j])  {inames=i}
)",
       {{"i", "simd"}});
}

TEST_CASE("ispc: temporaries of lanes, of tasks and of the function") {
  if (!runs()) return;
  const std::string own = R"(kernel p(n: int32, x: in float64[n, 4], y: out float64[n])
domain {[i, k, l]: 0 <= i < n and 0 <= k, l < 4}
temp t: float64[4]
t[k] = x[i, k]*(i + 1)  {id=t, inames=i:k}
y[i] = sum(l, t[3 - l])  {inames=i}
)";
  for (const char* tag : {"simd", "par", "g.0"}) same(own, {{"i", tag}});
  Kernel k = parsed(
      R"(kernel m(n: int32, a: in float64[n, n], b: in float64[n, n], c: out float64[n, n])
domain {[i, j, k]: 0 <= i, j, k < n}
c[i, j] = sum(k, a[i, k]*b[k, j])
)");
  const Kernel original = k;
  k = test::split(k, "i", 4, "g.1", "l.1");
  k = test::split(k, "j", 8, "g.0", "l.0");
  k = test::split(k, "k", 8, "", "");
  k = step(k, "add_prefetch", {word("a"), Value{ValueList{word("i_inner"), word("k_inner")}}},
           {{"default_tag", word("l.auto")}});
  test::run_on(Target::Ispc, k, original, {{"n", "21"}});
  // A scalar that one iteration of many writes.
  same(R"(kernel one(n: int32, x: in int32[n], last: out int32)
domain {[i]: 0 <= i < n}
last = x[i]  {if=i == n - 1}
)",
       {{"i", "simd"}});
}

TEST_CASE("ispc: atomic updates by lanes and by tasks") {
  if (!runs()) return;
  for (const char* type : {"int32", "uint32", "int64", "float32", "float64"})
    for (const char* tag : {"simd", "par"})
      for (const char* update : {"h[x[i] % 4] + 2", "min(h[x[i] % 4], i)", "h[x[i] % 4]*2"}) {
        if (std::string(type) == "uint32" && update[0] == 'm') continue;  // of a signed number
        same(fmt::format("kernel h(n: int32, x: in int32[n], h: inout {}[4])\n"
                         "domain {{[i]: 0 <= i < n}}\nh[x[i] % 4] = {}  {{atomic}}\n",
                         type, update),
             {{"i", tag}}, {{"n", "25"}});
      }
}

TEST_CASE("ispc: types in memory are those of C") {
  if (!runs()) return;
  same(R"(kernel b(n: int32, x: in int32[n], f: out bool[n], h: inout float16[n], u: inout uint8[n])
domain {[i]: 0 <= i < n}
f[i] = x[i] > 4 or u[i] == 1
h[i] = h[i]*0.5 + x[i]
u[i] = u[i]*200 + x[i]
)",
       {{"i", "simd"}});
  same(R"(record point(x: float64, n: int32)
kernel r(n: int32, p: inout point[n], s: out float64[n])
domain {[i]: 0 <= i < n}
s[i] = p[i].x + p[n - 1 - i].n  {id=s}
p[i].n = i  {dep=s}
)",
       {}, {{"n", "9"}});
}

TEST_CASE("ispc: variables called like anything that the language has are variables") {
  if (!runs()) return;
  const std::vector<std::string> names = reserved_names(Surroundings::Ispc, NameUse::Global);
  CHECK(std::find(names.begin(), names.end(), "foreach") != names.end());
  CHECK(std::find(names.begin(), names.end(), "reduce_add") != names.end());
  for (const char* name : {"foreach", "programIndex", "uniform", "task", "reduce_add", "clock",
                           "sync", "int8", "insert", "min", "taskCount"})
    same(fmt::format("kernel {0}(n: int32, {0}_x: in float64[n], {0}: out float64[n])\n"
                     "domain {{[i]: 0 <= i < n}}\n{0}[i] = {0}_x[i] + 1\n",
                     name),
         {{"i", "simd"}});
}

TEST_CASE("ispc: what the language has not is refused by its name") {
  const auto error = [](const std::string& text, const std::map<std::string, std::string>& tags) {
    return error_of([&] { code(tagged(text, tags)); });
  };
  CHECK(error("kernel c(n: int32, z: inout complex64[n])\ndomain {[i]: 0 <= i < n}\n"
              "z[i] = z[i]*2\n",
              {}) == "`z` has complex numbers, which target `ispc` does not have [unsupported]");
  CHECK(error("kernel j(n: int32, x: inout float64[n])\ndomain {[i]: 0 <= i < n}\n"
              "x[i] = bessel_jn(0, x[i])\n",
              {}) == "the function `bessel_jn` does not exist on target `ispc` [unsupported]");
  CHECK(error("kernel h(n: int32, x: in int32[n], h: inout int8[4])\ndomain {[i]: 0 <= i < n}\n"
              "h[x[i] % 4] = h[x[i] % 4] + 1  {atomic}\n",
              {{"i", "simd"}}) ==
        "atomic updates of int8 are not supported by target `ispc` [unsupported]");
  CHECK(error("kernel a(n: int32, x: in float64[n], v: out float64, p: out int32)\n"
              "domain {[i]: 0 <= i < n}\nassume n >= 1\nv, p = argmax(i, x[i], i)\n",
              {{"i", "par"}})
            .find("`argmax` over `i`, which is tagged `par`, is not supported") !=
        std::string::npos);
}
