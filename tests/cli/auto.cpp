#include "tests/cli/harness.h"

using namespace moonloop::test;  // NOLINT

namespace {

const char* const kProductText =
    "kernel product(n: int32, a: float64[n, n], b: float64[n, n], c: float64[n, n])\n"
    "domain {[i, j, k]: 0 <= i, j, k < n}\n"
    "c[i, j] = sum(k, a[i, k]*b[k, j])\n";

}  // namespace

TEST_CASE("auto: the script that it writes is legal and replays") {
  const Folder f;
  f.write("k.loop", kProductText);
  for (const char* target : {"c", "openmp"}) {
    CAPTURE(target);
    const std::string of = std::string(" --target ") + target;
    const Outcome o = tool("auto k.loop -o k.lua -p n=500" + of, f.str());
    CHECK(o.status == 0);
    CHECK(o.err.empty());
    CHECK(tool("auto k.loop -p n=500" + of, f.str()).out == f.read("k.lua"));
    CHECK(has(f.read("k.lua"), "lp.knob(\"j_lanes\", {8, 16, 32}, {default = 16})"));
    CHECK(has(f.read("k.lua"), "lp.tag_inames") == (std::string_view(target) == "openmp"));
    CHECK(tool("check k.loop -t k.lua", f.str()).status == 0);
    const Outcome run = tool("run k.loop -t k.lua -p n=37 --verify --quiet" + of, f.str());
    CHECK(has(run.out, "verify: equal"));
    f.write("auto.lua", std::string("product = lp.auto(product, {target = '") + target +
                            "', params = {n = 500}})\n");
    CHECK(tool("gen k.loop -t auto.lua" + of, f.str()).out ==
          tool("gen k.loop -t k.lua" + of, f.str()).out);
    // Its knobs are knobs of the script that calls it.
    CHECK(tool("gen k.loop -t auto.lua --knob j_lanes=8" + of, f.str()).out ==
          tool("gen k.loop -t k.lua --knob j_lanes=8" + of, f.str()).out);
  }
}

TEST_CASE("auto: several kernels have knobs of their own") {
  const Folder f;
  f.write("k.loop", std::string(kProductText) +
                        "kernel other(n: int32, a: float64[n, n], b: float64[n, n], "
                        "c: float64[n, n])\n"
                        "domain {[i, j, k]: 0 <= i, j, k < n}\n"
                        "c[i, j] = sum(k, a[i, k]*b[k, j])\n");
  CHECK(tool("auto k.loop -o k.lua", f.str()).status == 0);
  CHECK(has(f.read("k.lua"), "other_j_lanes"));
  CHECK(tool("check k.loop -t k.lua", f.str()).status == 0);
  CHECK(!has(tool("auto k.loop --kernel other", f.str()).out, "product"));
}

TEST_CASE("auto: what stays in order has its reason in the script") {
  const Folder f;
  f.write("k.loop",
          "kernel chain(n: int32, a: float64[n])\n"
          "domain {[i]: 1 <= i < n}\n"
          "a[i] = 0.5*a[i - 1]\n");
  const Outcome o = tool("auto k.loop", f.str());
  CHECK(o.status == 0);
  CHECK(has(o.out, "-- `i` stays in order: tagging `i` as `par` would run"));
}

TEST_CASE("auto: what is wrong with its arguments") {
  const Folder f;
  f.write("k.loop", kProductText);
  CHECK(has(tool("auto k.loop -p m=3", f.str()).err, "[unknown-parameter]"));
  const Outcome target = tool("auto k.loop --target ispc", f.str());
  CHECK(target.status == 1);
  CHECK(has(target.err, "no schedules for target 'ispc'"));
  f.write("t.lua", "product = lp.auto(product, {tile = 3})\n");
  CHECK(has(tool("check k.loop -t t.lua", f.str()).err, "unknown option 'tile'"));
  f.write("t.lua", "product = lp.auto(3)\n");
  CHECK(has(tool("check k.loop -t t.lua", f.str()).err, "kernel expected, got integer"));
}
