// lp.callee and lp.transform_callee: kernels that a kernel calls.
#include "core/model/print.h"
#include "harness.h"
#include "runtime/runner.h"
#include "transforms/callee_code.h"

using namespace moonloop;
using namespace moonloop::test;

namespace {

const char* const kScaledRows = R"(
kernel rows(n: int32, a: float64[n, n], b: float64[n, n])
domain {[j]: 0 <= j < n}
call scale(n, a[j, :], b[j, :])

kernel scale(n: int32, x: in float64[n], y: out float64[n])
domain {[i]: 0 <= i < n}
y[i] = 2*x[i]
)";

const char* const kScale = R"(
kernel scale(n: int32, x: in float64[n], y: out float64[n])
domain {[i]: 0 <= i < n}
y[i] = 2*x[i]
)";

}  // namespace

TEST_CASE("callees: steps by a function or a script, and their replay") {
  const Kernel k = transform(kScaledRows, R"lua(
assert(#lp.callee(rows, "scale").inames == 1)
rows = lp.transform_callee(rows, "scale", function(s) return lp.split_iname(s, "i", 4) end)
assert(#lp.callee(rows, "scale").inames == 2)
rows = lp.transform_callee(rows, "scale", "scale = lp.split_iname(scale, 'i_inner', 2)")
rows = lp.tag_inames(rows, {j = "par"})
)lua");
  CHECK(k.trace.size() == 3);
  CHECK(k.callees.at("scale")->code->inames().size() == 3);
  CHECK(k.callees.at("scale")->meaning->inames().size() == 1);
  const Kernel again = transform(kScaledRows, replay_script(k));
  CHECK(print_kernel(again) == print_kernel(k));
  RunRequest request;
  request.params = {{"n", "13"}};
  request.verify = true;
  CHECK(run_kernel(k, parse(kScaledRows)[0], request).verification->equal());
}

TEST_CASE("callees: kernels of a file are linked by their names") {
  const std::vector<Kernel> all =
      linked(transform_all(kScaledRows, "scale = lp.split_iname(scale, \"i\", 4)"));
  CHECK(all[0].callees.at("scale")->code->inames().size() == 2);
  CHECK(linked(transform_all(kScaledRows, ""))[0].callees.at("scale")->code == nullptr);
  // Steps that change a callee's arguments matter to who asks for the caller only.
  const auto fixed = transform_all(kScaledRows, "scale = lp.fix_parameters(scale, {n = 4})");
  CHECK(linked(fixed, [](const Kernel& k) { return k.name == "scale"; }).size() == 2);
  CHECK_THROWS_AS(linked(fixed), Refused);
  // Another kernel under the name is not it.
  const std::vector<Kernel> other =
      linked(transform_all(kScaledRows,
                           "scale = lp.split_iname(lp.parse([=[kernel scale(n: int32, x: in "
                           "float64[n], y: out float64[n])\ndomain {[i]: 0 <= i < n}\ny[i] = "
                           "3*x[i]]=]), \"i\", 4)"));
  CHECK(other[0].callees.at("scale")->code == nullptr);
}

TEST_CASE("callees: errors") {
  CHECK(failure(kScaledRows, "lp.callee(rows, \"scal\")").text ==
        "`rows` calls no kernel `scal`; it calls `scale`");
  CHECK(failure(kScaledRows, "lp.transform_callee(rows, \"scale\", function() return 1 end)")
            .text.find("it returns a number, no kernel") != std::string::npos);
  CHECK(failure(kScaledRows, "lp.transform_callee(rows, \"scale\", function() return rows end)")
            .code == "other-kernel");
  const Diagnostic d = failure(
      kScaledRows,
      "lp.transform_callee(rows, \"scale\", function(s) return lp.tag_inames(s, \"i:par\") end)\n"
      "lp.transform_callee(rows, \"scale\", [[scale = lp.split_iname(scale, \"k\", 4)]])");
  CHECK(d.text.find("k") != std::string::npos);
}

TEST_CASE("programs of a script: callees keep the loops that steps gave them") {
  const Kernel k = transform(kScaledRows, R"lua(
scale = lp.split_iname(scale, "i", 4, {inner_tag = "unr"})
rows = lp.program{name = "both", kernels = {scale}, args = "n: int32, a: inout float64[n]",
  assumptions = "n >= 1",
  body = {"domain {[t]: 0 <= t < 2}", "<> b = a", "for t", "call scale(n, b, a)",
          "if t == 0", "call scale(n, a, b)", "end", "end"}}
)lua");
  CHECK(k.name == "both");
  CHECK(k.callees.empty());
  CHECK(k.inames().size() == 6);
  for (const char* i : {"i_inner", "i_inner_0"}) CHECK(tag_text(*k.tag(i)) == "unr");
  RunRequest request;
  request.params = {{"n", "5"}};
  request.verify = true;
  CHECK(run_kernel(k, k, request).verification->equal());
}

TEST_CASE("programs of a script: errors") {
  const auto error = [](const std::string& options) {
    const Diagnostic d = failure(kScaledRows, "lp.program{" + options + "}");
    return d.code + ": " + d.text;
  };
  CHECK(error("args = \"n: int32\"") ==
        "bad-argument: bad argument #1 to 'program' (option 'body' is missing)");
  CHECK(error("body = 3") ==
        "bad-argument: bad argument #1 to 'program' (option 'body': string or array of strings "
        "expected, got number)");
  CHECK(error("body = \"call f(1)\"") == "unknown-kernel: no kernel `f` to call");
  CHECK(error("body = \"call scal(1)\", kernels = {scale}") ==
        "unknown-kernel: no kernel `scal` to call; did you mean `scale`?");
  CHECK(error("body = \"...nop\", kernels = {scale, scale}") ==
        "duplicate-kernel: two kernels are named `scale`");
  CHECK(error("body = \"...nop\", kernels = scale") ==
        "bad-argument: bad argument #1 to 'program' (option 'kernels': array of kernels expected)");
  CHECK(error("body = \"...nop\", kernel = {scale}")
            .starts_with("bad-argument: bad argument #1 to 'program' (unknown option 'kernel'"));
}

TEST_CASE("kernels of a formula, and copies from one layout to another") {
  const Kernel k = transform(kScaledRows, R"lua(
local k = lp.make_einsum("ij,jk->ik", {"a", "b"}, {name = "gemm", type = "float32"})
assert(tostring(k):find("out[i, k] = sum(j, a[i, j]*b[j, k])", 1, true))
assert(tostring(k):find("a: in float32[Ni, Nj]", 1, true))
assert(tostring(lp.make_einsum("i,i", {"x", "y"}, {out = "s"})):find("s = sum(i, x[i]*y[i])", 1, true))
assert(tostring(lp.make_einsum("ba", {"x"})):find("out[a, b] = x[b, a]", 1, true))
local three = lp.make_einsum("ij,jk,k->i", {"a", "b", "x"})
assert(#three.instructions == 2 and #three.temporaries == 1)
k = lp.make_copy_kernel("N0,N1", nil, {shape = {"n", 4}, type = "int32"})
assert(tostring(k):find("output: out int32[n, 4] order=F", 1, true))
rows = lp.make_copy_kernel("N0,N1", "N1,N0", {name = "turn"})
)lua");
  CHECK(k.name == "turn");
  RunRequest request;
  request.params = {{"n0", "5"}, {"n1", "3"}};
  request.verify = true;
  CHECK(run_kernel(k, k, request).verification->equal());
  const auto error = [](const std::string& call) {
    const Diagnostic d = failure(kScaledRows, "lp." + call);
    return d.code + ": " + d.text;
  };
  CHECK(error("make_einsum(\"ij,jk->ik\", {\"a\"})") ==
        "bad-einsum: \"ij,jk->ik\" is of 2 arrays, got 1");
  CHECK(error("make_einsum(\"ij->i\", {\"i\"})") ==
        "name-taken: `i` is a label of \"ij->i\" and the name of an array");
  CHECK(error("make_einsum(\"ij->i\", {{}})") ==
        "bad-argument: bad argument #2 to 'make_einsum' (element 1 is a table, not a string)");
  CHECK(error("make_einsum(\"ij->i\", {\"a\"}, {typ = 1})") ==
        "bad-argument: bad argument #3 to 'make_einsum' (unknown option 'typ'; it has name, out, "
        "type)");
  CHECK(error("make_einsum(\"ij->i\", {\"a\"}, {type = 1})") ==
        "bad-argument: bad argument #3 to 'make_einsum' (option 'type': string expected, got "
        "number)");
  CHECK(
      error("make_copy_kernel(\"N0,N1\", nil, {shape = {3}})") ==
      "bad-argument: bad argument #3 to 'make_copy_kernel' (option 'shape' has 1 extents, and the "
      "layout 2 axes)");
  CHECK(error("make_copy_kernel(\"foo\")").starts_with("bad-axis-tag: no array axis tag `foo`"));
}

TEST_CASE("to_batched: a kernel of many batches that steps go on from, and what it is given") {
  const Kernel k = transform(kScale, R"lua(
local many = lp.to_batched(scale, "m", {"x", "y"}, {axis = "inside", iname = "b", name = "many"})
assert(table.concat(many.inames, " ") == "b i")
scale = lp.split_iname(many, "b", 4, {inner_tag = "vec"})
)lua");
  CHECK(k.name == "many");
  CHECK(k.trace.size() == 1);
  RunRequest request;
  request.params = {{"n", "5"}, {"m", "11"}};
  request.verify = true;
  CHECK(run_kernel(k, k, request).verification->equal());
  const auto error = [](const std::string& arguments) {
    const Diagnostic d = failure(kScale, "lp.to_batched(" + arguments + ")");
    return d.code + ": " + d.text;
  };
  const std::string bad = "bad-argument: bad argument #";
  CHECK(error("3") == bad + "1 to 'to_batched' (kernel expected, got number)");
  CHECK(error("scale, 3, 4") == bad + "3 to 'to_batched' (array expected, got number)");
  CHECK(error("scale, 3, {'x', 'y'}, {axis = 'up'}") ==
        bad + "4 to 'to_batched' (option 'axis': \"up\" is neither \"outside\" nor \"inside\")");
  CHECK(error("scale, -1") == "bad-count: there are no -1 batches");
}
