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
