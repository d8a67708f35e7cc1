// lp.fuse_kernels: kernels one after another, their loops fused where that keeps the order.
#include "core/model/print.h"
#include "core/order/tree.h"
#include "harness.h"
#include "reports/report.h"
#include "runtime/runner.h"

using namespace moonloop;
using namespace moonloop::test;

namespace {

const char* const kTwo = R"(
kernel first(n: int32, out: float64[n], a: float64[n])
domain {[i]: 0 <= i < n}
<> t = 2*a[i]
out[i] = t + i   {id=fill}
kernel second(n: int32, out: float64[n], b: float64[n])
domain {[i]: 0 <= i < n}
<> t = out[i] + 100
b[i] = t*t   {id=fill}
)";

/// A kernel that writes `x` at each point and one that reads it as `read`, over `i` up to `last`.
std::string pair(const std::string& read, const std::string& last = "n") {
  return "kernel f(n: int32, x: float64[n + 2], y: float64[n + 2])\ndomain {[i]: 1 <= i < n}\n"
         "x[i] = y[i] + 1 {id=w}\n"
         "kernel g(n: int32, x: float64[n + 2], z: float64[n + 2])\ndomain {[i]: 1 <= i < " +
         last + "}\nz[i] = " + read + " {id=r}\n";
}

std::string fused(const std::string& kernels, const std::string& options = "") {
  return report_tree(transform(kernels, "f = lp.fuse_kernels({f, g}" + options + ")"));
}

}  // namespace

TEST_CASE("fuse_kernels: one loop, each kernel's own temporaries, arguments in common") {
  const Kernel k = transform(
      kTwo, "first = lp.fuse_kernels({first, second}, {\"\", \"_b\"}, {{\"out\", 0, 1}})");
  CHECK(k.name == "first_and_second");
  CHECK(k.inames() == std::vector<std::string>{"i"});
  CHECK(k.args.size() == 4);
  CHECK(k.find_temporary("t") != nullptr);
  CHECK(k.find_temporary("t_b") != nullptr);
  CHECK(k.instruction_ids().size() == 4);
  CHECK(k.find_insn("fill_0") != nullptr);
  CHECK(k.trace.size() == 1);  // the fusion is a step that was proved
  CHECK(print_kernel(k).find("b[i] = t_b*t_b") != std::string::npos);
  RunRequest request;
  request.params = {{"n", "17"}};
  request.inputs = {};
  request.verify = true;
  const Kernel both = transform(kTwo, "first = lp.fuse_kernels({first, second}, {\"_a\", \"_b\"})");
  CHECK(both.find_temporary("t_a") != nullptr);
  CHECK(both.find_temporary("t_b") != nullptr);
  CHECK(both.find_temporary("t") == nullptr);
  const Kernel apart = transform(kTwo, "first = lp.fuse_kernels({first, second}, {inames = {}})");
  CHECK(apart.inames() == std::vector<std::string>{"i", "i_0"});
  CHECK(run_kernel(k, apart, request).verification->equal());
}

TEST_CASE("fuse_kernels: an element that was written before may be read, a later one not") {
  CHECK(fused(pair("x[i]")).find("for i\n") != std::string::npos);
  CHECK(fused(pair("x[i - 1]")).find("for i_0") == std::string::npos);
  const Diagnostic d = failure(pair("x[i + 1]"), "f = lp.fuse_kernels({f, g})");
  CHECK(d.code == "breaks-order");
  CHECK(d.text.find("w[i=2]") != std::string::npos);
  CHECK(d.text.find("r[i=1]") != std::string::npos);
  CHECK(d.where.at.source->name == "test.loop");
  CHECK(d.notes.size() == 2);  // the other instance, and the script's line
  CHECK(fused(pair("x[i + 1]"), ", {inames = {}}").find("for i_0") != std::string::npos);
}

TEST_CASE("fuse_kernels: loops over other values stay apart or are refused") {
  CHECK(failure(pair("x[i]", "n - 1"), "f = lp.fuse_kernels({f, g})").code == "other-values");
  CHECK(fused(pair("x[i]", "n - 1"), ", {inames = \"\"}").find("for i_0") != std::string::npos);
}

TEST_CASE("fuse_kernels: nests, reductions, rules, predicates and three kernels") {
  const std::string text = R"(
kernel f(n: int32, a: float64[n, n], s: float64[n])
domain {[i, j]: 0 <= i, j < n}
double(x) := 2*x
a[i, j] = double(a[i, j])  {id=scale, if=i <= j}
kernel g(n: int32, a: float64[n, n], s: float64[n])
domain {[i, j]: 0 <= i, j < n}
double(x) := 2*x + 1
s[i] = double(sum(j, a[i, j]))  {id=total}
kernel h(n: int32, s: float64[n])
domain {[i]: 0 <= i < n}
s[i] = s[i]/n  {id=mean}
)";
  const Kernel k = transform(text, "f = lp.fuse_kernels({f, g, h}, {name = \"all\"})");
  CHECK(k.name == "all");
  const std::string tree = report_tree(k);
  CHECK(k.trace.size() == 2);  // `j` of g is its reduction's own
  CHECK(k.find_rule("double_0") != nullptr);
  RunRequest request;
  request.params = {{"n", "9"}};
  request.verify = true;
  const Kernel apart = transform(text, "f = lp.fuse_kernels({f, g, h}, {inames = {}})");
  CHECK(run_kernel(k, apart, request).verification->equal());
}

TEST_CASE("fuse_kernels: what cannot be one kernel") {
  CHECK(failure(kTwo, "lp.fuse_kernels({first})").code == "no-kernels");
  CHECK(failure(kTwo, "lp.fuse_kernels({first, secnd})").hint.find("is nil") != std::string::npos);
  CHECK(failure(kTwo, "lp.fuse_kernels({first, second}, {\"a\"})").code == "bad-suffixes");
  CHECK(failure(kTwo, "lp.fuse_kernels({first, second}, {data_flow = {{\"a\", 0, 1}}})").text ==
        "`first` does not write `a`, which is to flow to `second`");
  CHECK(failure(kTwo, "lp.fuse_kernels({first, second}, {data_flow = {{\"out\", 1, 0}}})").code ==
        "no-data-flow");
  const std::string writers =
      "kernel f(x: float64[4])\ndomain {[i]: 0 <= i < 4}\nx[i] = 1\n"
      "kernel g(x: float64[4], y: float64[4])\ndomain {[i]: 0 <= i < 4}\nx[i] = 2\n";
  CHECK(transform(writers, "f = lp.fuse_kernels({f, g}, {data_flow = {{\"x\", 0, 1}}})")
            .instructions.size() == 2);
  CHECK(failure("kernel f(x: float64[4])\ndomain {[i]: 0 <= i < 4}\nx[i] = 1\n"
                "kernel g(x: float64[5])\ndomain {[i]: 0 <= i < 4}\nx[i] = 1\n",
                "lp.fuse_kernels({f, g})")
            .code == "other-argument");
  CHECK(failure(kTwo, "lp.fuse_kernels({first, second}, {name = \"one two\"})").code == "bad-name");
  CHECK(failure(kTwo, "lp.fuse_kernels({first, 3})").text.find("is a number, no kernel") !=
        std::string::npos);
  CHECK(failure(kTwo, "lp.fuse_kernels({first, second}, {inames = \"k\"})")
            .text.find("share no loop 'k'") != std::string::npos);
  CHECK(failure(kTwo, "lp.fuse_kernels({first, second}, {sufixes = {}})")
            .text.find("unknown option 'sufixes'") != std::string::npos);
}
