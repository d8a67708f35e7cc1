// `call f(...)`: kernels that call kernels.
#include "helpers.h"

using namespace moonloop;
using namespace moonloop::testing;

namespace {

const std::string kScale =
    "kernel scale(n: int32, x: in float64[n], y: out float64[n], s: float64[])\n"
    "domain {[i]: 0 <= i < n}\ny[i] = s*x[i]\n";

std::string after_scale(const std::string& body) {
  return errors(kScale +
                "kernel f(n: int32, a: float64[n, n], b: float64[n, n], c: float64[n])\n"
                "domain {[j]: 0 <= j < n}\n" +
                body);
}

}  // namespace

TEST_CASE("calls: by order, by name, and before the kernel that they call; the text parses back") {
  const std::vector<Kernel> all = parse_all(
      "kernel f(n: int32, a: float64[n, n], b: float64[n, n])\ndomain {[j]: 0 <= j < n}\n"
      "call scale(n, s=2.5, y=b[j, :], x=a[j, :])\n" +
      kScale);
  REQUIRE(all.size() == 2);
  CHECK(all[0].name == "f");
  CHECK(all[0].callees.size() == 1);
  const std::string text = print_kernel(all[0]);
  CHECK(text.find("call scale(n, address(a[j, 0]), address(b[j, 0]), 2.5)") != std::string::npos);
  CHECK(print_kernel(parse_all(text)[0]) == text);
}

TEST_CASE("calls: errors") {
  CHECK(after_scale("call scale(n, a[j, :], b[j, :], 2.0)") == "no error");
  CHECK(after_scale("call scal(n, a[j, :], b[j, :], 2.0)") ==
        "6:1 unknown-kernel: no kernel `scal` to call; did you mean `scale`?");
  CHECK(after_scale("call scale n, a[j, :]") ==
        "6:12 syntax: found `n`, expected `(` in the call of a kernel");
  CHECK(after_scale("call scale(n, a[j, :], b[j, :])") ==
        "6:1 missing-argument: the call of `scale` gives no `s`");
  CHECK(after_scale("call scale(n, a[j, :], b[j, :], 2.0, 3)") ==
        "6:1 wrong-arg-count: `scale` takes 4 arguments, got 5");
  CHECK(after_scale("call scale(n, a[j, :], b[j, :], t=2.0)") ==
        "6:33 unknown-argument: `scale` has no argument `t`");
  CHECK(after_scale("call scale(n, a[j, :], x=b[j, :], s=2.0)") ==
        "6:26 duplicate-argument: the argument `x` of `scale` is given twice");
  CHECK(after_scale("call scale(n, x=a[j, :], b[j, :], 2.0)") ==
        "6:26 syntax: an argument without a name is after one with a name");
  CHECK(after_scale("call scale(n, a[j, 0], b[j, :], 2.0)") ==
        "6:15 bad-section: `a[j, 0]`, which `scale` gets as `x`, has 0 of the 1 axis that it "
        "needs; pass an array, or a part of one with a slice for each axis, as in `a[i, :]`");
  CHECK(after_scale("call scale(n, a[:, j], b[j, :], 2.0)") ==
        "6:15 bad-section: `a[:, j]`, which `scale` gets as `x`, steps by n where `x` steps by 1; "
        "declare `x` with such strides, or pass a copy");
  CHECK(after_scale("call scale(n, a[j, 0:n], b[j, :], 2.0)") ==
        "6:20 bad-section: the slice `0:n` says where it ends; leave that out: `scale` says how "
        "much of it it needs");
  CHECK(after_scale("call scale(n, a[j, :], d, 2.0)") ==
        "6:24 unknown-shape: `scale` gets `d`, for which no shape is declared");
  CHECK(errors("kernel f(n: int32, x: float64[n])\ncall g(n, x)\n"
               "kernel g(n: int32, x: float64[n])\ncall f(n, x)\n") ==
        "4:1 recursive-call: the kernel `f` calls itself (f -> g -> f)");
  CHECK(errors("kernel total(n: int32, x: float64[n], s: float64[])\ndomain {[i]: 0 <= i < n}\n"
               "s = sum(i, x[i])\nkernel f(n: int32, x: float64[n])\ncall total(n, x, 2.0)\n") ==
        "5:18 bad-operand: `total` writes its argument `s`, and `2.0` is not a variable");
}

TEST_CASE("calls: a column of an array whose first axis is contiguous") {
  CHECK(errors(kScale + "kernel f(n: int32, a: float64[n, n] order=F, b: float64[n, n] order=F)\n"
                        "domain {[j]: 0 <= j < n}\ncall scale(n, a[:, j], b[:, j], 2.0)") ==
        "no error");
}

TEST_CASE("calls: what the kernel writes is on the left, as Loo.py has it") {
  const std::string total =
      "kernel total(n: int32, x: float64[n], s: float64[])\n"
      "domain {[i]: 0 <= i < n}\ns = s + sum(i, x[i])\n";
  const auto after = [&](const std::string& body) {
    return errors(kScale + total +
                  "kernel f(n: int32, a: float64[n, n], b: float64[n, n], c: float64[n])\n"
                  "domain {[j]: 0 <= j < n}\n" +
                  body);
  };
  CHECK(after("b[j, :] = scale(n, a[j, :], 2.0)\nc[j] = total(n, b[j, :], c[j])") == "no error");
  const Kernel k = parse_all(kScale +
                             "kernel f(n: int32, a: float64[n, n], b: float64[n, n])\n"
                             "domain {[j]: 0 <= j < n}\nb[j, :] = scale(n, a[j, :], 2.0)")[1];
  CHECK(print_kernel(k).find("call scale(n, address(a[j, 0]), address(b[j, 0]), 2.0)") !=
        std::string::npos);
  CHECK(after("b[j, :] = scale(n, a[j, :])") ==
        "9:1 wrong-arg-count: `scale` reads 3 of its arguments, got 2");
  CHECK(after("scale(n, a[j, :], 2.0)") ==
        "9:1 wrong-result-count: `scale` writes 1 of its arguments, found 0 assignees");
  CHECK(after("c[j] = total(n, b[j, :], c[0])") ==
        "9:26 bad-operand: `total` changes its argument `s`: `c[0]` is on the right, and `c[j]` on "
        "the left");
  CHECK(after("[i]: b[j, i] = scale(n, a[j, :], 2.0)\n").find("no error") == std::string::npos);
}

TEST_CASE("programs: what is called becomes a part, and programs call programs") {
  const auto all = parse_all(kScale +
                             "program twice(n: int32, x: inout float64[n], y: inout float64[n])\n"
                             "call scale(n, x, y, 2.0)\ncall scale(n, y, x, 3.0)\n"
                             "program often(n: int32, t: int32, a: inout float64[n, n])\n"
                             "domain {[s]: 0 <= s < t}\n<> w = 2*a[0]\nfor s\n"
                             "  if s > 1\n    call twice(n, a[0, :], w)\n  end\nend\n");
  REQUIRE(all.size() == 3);
  CHECK(all[1].callees.empty());
  const Kernel& k = all[2];
  CHECK(k.callees.empty());
  CHECK(k.externals.empty());
  check_round_trip(k);
  CHECK(to_string(*k.find_temporary("w")->shape) == "n");
  std::string found;
  for (const InsnPtr& i : k.instructions)
    found += text_of(*i) + " | " + joined(i->inames) + " | " + predicates(*i) + "\n";
  CHECK(found ==
        "w[i0] = 2*a[0, i0] | i0 | \n"
        "w[i] = 2.0d*a[0, i] | i s | s > 1\n"
        "a[0, i_0] = 3.0d*w[i_0] | i_0 s | s > 1\n");
}

TEST_CASE("programs: errors are in their places") {
  CHECK(errors(kScale + "program f(n: int32, x: float64[n])\ncall scale(n, x, x, 2.0)\n")
            .find("aliased-arguments") != std::string::npos);
  CHECK(
      errors("kernel flat(n: int32, q: int32[n], x: float64[n, n])\nassume n >= 1\nx[[q[0]]] = 1\n"
             "program f(n: int32, q: int32[n], x: float64[n, n])\nassume n >= 1\ncall flat(n, q, "
             "x)\n") ==
      "6:1 unsupported: `flat` has flat subscripts of its argument `x`: such a call cannot be "
      "inlined");
  CHECK(errors("program f(n: int32)\ncall g(n)\n") == "2:1 unknown-kernel: no kernel `g` to call");
  CHECK(errors("program = 3\n").starts_with("1:1 no-kernel"));
}
