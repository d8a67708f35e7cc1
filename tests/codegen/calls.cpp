// Kernels that call kernels: functions of their own.
#include "core/model/external.h"
#include "core/model/print.h"
#include "tests/codegen/kit.h"

using namespace moonloop;

namespace {

const char* const kRows = R"(
kernel rows(n: int32, m: int32, a: float64[m, n], b: float64[m, n], t: float64[m])
assume n >= 1
domain {[j]: 0 <= j < m}
call smooth(n, 0.25, a[j, :], y=b[j, :])
call total(n, b[j, :], 2*j, t[j])

kernel smooth(n: int32, w: float64, x: in float64[n], y: out float64[n])
assume n >= 1
domain {[i]: 1 <= i < n - 1}
y[0] = x[0]
y[n-1] = x[n-1]
y[i] = w*x[i] + 0.5*(1-w)*(x[i-1] + x[i+1])

kernel total(n: int32, x: float64[n], first: in float64[], s: float64[])
domain {[i]: 0 <= i < n}
s = first + sum(i, x[i])
)";

std::vector<Kernel> all_of(const std::string& text) {
  return parse_kernels(add_source("calls.loop", text));
}

}  // namespace

TEST_CASE("calls of kernels: functions of C, those that they call first") {
  const Kernel rows = all_of(kRows)[0];
  CHECK_GOLDEN("calls.c", generate(rows, Target::C).source);
  Kernel parallel = rows;
  parallel.iname_tags["j"] = parse_iname_tag("par").value();
  CHECK_GOLDEN("calls_openmp.c", generate(parallel, Target::OpenMP).source);
  CHECK(generate(rows, Target::C).externals.empty());
}

TEST_CASE("calls of kernels: one function where the kernel is there for itself") {
  const std::vector<Kernel> all = all_of(kRows);
  const Program rows = generate(all[0], Target::C), smooth = generate(all[1], Target::C);
  const std::string text = text_of({rows.pieces, smooth.pieces});
  CHECK(text.find("\nvoid smooth(") != std::string::npos);
  CHECK(text.find("static void smooth(") == std::string::npos);
  CHECK(text.find("static void total(") != std::string::npos);
  CHECK(text.find("\nvoid smooth(") < text.find("\nvoid rows("));
  // Two functions of one name are an error.
  Kernel other = all[1];
  other.iname_tags["i"] = parse_iname_tag("unr_hint").value();
  try {
    text_of({rows.pieces, generate(other, Target::C).pieces});
    FAIL("there are two functions `smooth`");
  } catch (const Error& e) { CHECK(e.diagnostic().code == "name-taken"); }
}

TEST_CASE("calls of kernels: functions for work-items") {
  Kernel rows = all_of(kRows)[0];
  rows.iname_tags["j"] = parse_iname_tag("g.0").value();
  CHECK_GOLDEN("calls.cl", generate(rows, Target::OpenCL).source);
  CHECK_GOLDEN("calls.cu", generate(rows, Target::Cuda).source);
}

TEST_CASE("calls of kernels: what work-items cannot call is named") {
  const auto refused = [](const std::string& callee, Target t) {
    const Kernel k = all_of(
        "kernel f(n: int32, a: float64[n, 4])\ndomain {[j]: 0 <= j < n}\n"
        "tag j: g.0\ncall g(n, a[j, :])\n" +
        callee)[0];
    try {
      generate(k, t);
    } catch (const Error& e) {
      CHECK(e.diagnostic().code == "unsupported");
      return e.diagnostic().text;
    }
    return std::string("no error");
  };
  const std::string head = "kernel g(n: int32, x: float64[4])\ndomain {[i]: 0 <= i < 4}\n";
  CHECK(refused(head + "x[i] = n", Target::OpenCL) == "no error");
  CHECK(refused(head + "tag i: l.0\nx[i] = n", Target::OpenCL) ==
        "instruction `insn`: work-items of target `opencl` cannot call `g`, whose loop `i` is "
        "tagged `l.0`");
  CHECK(
      refused(head + "x[0] = x[0] + i {atomic}", Target::Cuda) ==
      "instruction `insn`: work-items of target `cuda` cannot call `g`, which has atomic updates");
  CHECK(refused(head + "external h\nx = h(address(x))\n", Target::OpenCL) ==
        "instruction `insn`: work-items of target `opencl` cannot call `g`, which calls the "
        "external `h`");
  CHECK(refused(head + "temp t: float64[2] init=(1, 2) read_only\nx[i] = t[i // 2]",
                Target::OpenCL) ==
        "`t` of `g`, which target `opencl` would call, has initial values");
  CHECK(refused(head + "x[i] = n", Target::Ispc) ==
        "instruction `insn` calls `g`, which target `ispc` cannot");
}

TEST_CASE("calls of kernels: a variable that one may leave as it was lives outside of the loop") {
  const Kernel k = all_of(R"(
kernel prog(n: int32, a: float64[n])
domain {[i]: 0 <= i < n}
<float64> t = 0
call maybe(i, t)
a[i] = t
kernel maybe(i: int32, t: float64[])
t = 2.5 {if=i == 0}
)")[0];
  const std::string code = generate(k, Target::C).source;
  CHECK_MESSAGE(code.rfind("double t") < code.rfind("for (int32_t i"), code);
}

TEST_CASE("calls of kernels: memory without elements can be passed") {
  // Seed 98002050 of 2026-11-28: CUDA's compiler refuses `t[0]`.
  Kernel k = all_of(R"(
kernel prog(a: float64[4])
domain {[i]: 0 <= i < 4}
temp t: float64[0]
a[i] = 1
call none(0, t)
kernel none(n: int32, t: float64[n])
domain {[j]: 0 <= j < n}
t[j] = 2
)")[0];
  CHECK(generate(k, Target::Cuda).source.find("t[1];") != std::string::npos);
  CHECK(generate(k, Target::C).source.find("t[1];") != std::string::npos);
}
