// Complex numbers on every target that runs here: devices have pairs for them.
#include "runtime/process.h"
#include "tests/runtime/device_kit.h"
#include "tests/runtime/support.h"

using namespace moonloop;
using test::run_everywhere;
using test::same_everywhere;
using test::tagged;

TEST_CASE("complex: literals are put together also by clang, whose C library may lack the macro") {
  const std::string clang = find_program("clang");
  if (clang.empty()) {
    MESSAGE("there is no clang");
    return;
  }
  const Kernel k = parsed(
      "kernel k(n: int32, z: out complex128[n], w: out complex64[n])\ndomain {[i]: 0 <= i < n}\n"
      "z[i] = 2j*i + 1\nw[i] = 3j\n");
  const test::Folder f;
  test::spit(f / "k.c", generate(k, Target::C).source);
  const ProcessResult r =
      run_process({clang, "-Wall", "-Werror", "-c", "-o", f / "k.o", f / "k.c"});
  CHECK_MESSAGE(r.status == 0, r.output);
}

TEST_CASE("complex: arithmetic with complex and with real numbers, in both precisions") {
  for (const std::string type : {"complex64", "complex128"}) {
    const std::string real = type == "complex64" ? "float32" : "float64";
    CAPTURE(type);
    same_everywhere("kernel arithmetic(n: int32, a: in " + type + "[n], b: in " + type +
                        "[n], x: in " + real + "[n], c: out " + type + "[n, 12], d: out " + real +
                        "[n, 3], e: out bool[n, 2])" + R"(
domain {[i]: 0 <= i < n}
c[i, 0] = a[i] + b[i] - x[i]
c[i, 1] = a[i]*b[i]*x[i]
c[i, 2] = x[i]*x[i]*a[i]*2
c[i, 3] = a[i]/(b[i] + 2)
c[i, 4] = a[i]/x[i] + 3/(a[i] + 5)
c[i, 5] = -a[i] + 2.5
c[i, 6] = a[i]**2 + (b[i] + 1.5j)**3
c[i, 7] = if(x[i] > 0.5, a[i], 1)
c[i, 8] = conj(a[i]) - real(b[i]) + imag(b[i])*x[i]
c[i, 9] = x[i]
c[i, 10] = x[i] + x[i] + 2j*a[i]
c[i, 11] = n
d[i, 0] = abs(a[i])
d[i, 1] = real(a[i]*b[i])
d[i, 2] = abs(x[i]) + imag(a[i])
e[i, 0] = a[i] == b[i]
e[i, 1] = a[i] != b[i]
)",
                    {{"i", "g.0"}});
  }
}

TEST_CASE("complex: functions") {
  std::string text = R"(
kernel functions(n: int32, a: in complex128[n], b: in complex64[n], c: out complex128[n, 17],
                 d: out complex64[n, 17])
domain {[i]: 0 <= i < n}
)";
  int at = 0;
  for (const std::string f : {"exp", "log", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh",
                              "asin", "acos", "atan", "asinh", "acosh", "atanh"}) {
    const std::string to = "[i, " + std::to_string(at++) + "] = " + f;
    text += "c" + to + "(2*a[i] - (1 + 0.5j))\nd" + to + "(2*b[i] - (1 + 0.5j))\n";
  }
  text += "c[i, 15] = pow(a[i] - 0.5, a[i] + 2j)\nd[i, 15] = pow(b[i], 1.5f)\n";
  text += "c[i, 16] = a[i]**2.5\nd[i, 16] = cast(complex64, a[i]) + b[i]\n";
  same_everywhere(text, {{"i", "g.0"}});
}

TEST_CASE("complex: reductions, by work-items too, scalars, tables and copies in local memory") {
  const std::string text = R"(
kernel sums(n: int32, z: complex128, a: in complex128[n, 40], b: out complex128[n], c: out complex128[n],
            d: out complex64[n, 40])
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j < 40}
domain {[k, l]: 0 <= k < 40 and 0 <= l < 5}
temp t: complex64[5] init=(1, 2j, 1 + 1j, -3, 0.5) read_only
b[i] = z*sum(j, a[i, j]*a[i, 39 - j])
c[i] = product(j, a[i, j] + 0.1)
d[i, k] = sum(l, t[l]*(k + l))
)";
  same_everywhere(text, {{"i", "g.0"}, {"j", "l.0"}, {"k", "l.0"}}, {{"n", "9"}, {"z", "2-0.5j"}});
  same_everywhere(text, {{"i", "g.0"}, {"k", "ilp"}}, {{"n", "9"}, {"z", "1j"}});
  const Kernel original = parsed(text);
  Kernel k = tagged(text, {{"i", "g.0"}, {"k", "l.0"}});
  k = test::step(k, "add_prefetch", {test::word("a"), test::word("j")},
                 {{"default_tag", test::word("l.auto")}});
  run_everywhere(k, original, {{"n", "9"}, {"z", "-1"}});
}
