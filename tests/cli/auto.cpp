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

TEST_CASE(
    "auto: there are threads where the cost model does not predict that they only cost time") {
  const Folder f;
  // Few chunks for many threads, which start in each iteration over `i`.
  f.write("k.loop",
          "kernel solve(m: int32, n: int32, A: in float64[m, m], B: inout float64[m, n])\n"
          "domain {[i, j]: 0 <= i < m and 0 <= j < n}\ndomain {[k]: i < k < m}\n"
          "B[i, j] = B[i, j] + sum(k, A[k, i]*B[k, j])\n");
  const auto machine = [&](const std::string& name, const std::string& launch) {
    f.write(name, R"({"version": 1, "device": "Example", "gpu": false, "measured": true, "units": 4,
  "clock": 3e9, "vector_bytes": 32, "registers": 16, "issue": 4, "latency": 4,
  "f32": 9.6e10, "f64": 4.8e10, "i32": 4.8e10, "launch": )" +
                      launch + R"(, "barrier": 0,
  "transfer_start": 0, "transfer": 0, "operations": {"division": 8, "function": 30, "power": 60},
  "levels": [
    {"name": "L1", "bytes": 49152, "line": 64, "shared": false, "one": 1.9e11, "all": 7.6e11, "scattered": 1e11},
    {"name": "memory", "bytes": 0, "line": 64, "shared": true, "one": 1e10, "all": 4e10, "scattered": 3e9}
  ]})");
  };
  machine("quick.json", "1e-6");
  machine("slow.json", "1e-2");
  const auto script = [&](const std::string& options) {
    f.write("ask.lua",
            "local knl, text = lp.auto(solve, {target = 'openmp', params = {n = 8000, m "
            "= 1000}" +
                options + "})\nio.stderr:write(text)\nsolve = knl\n");
    const Outcome o = tool("show k.loop --trust -t ask.lua", f.str());
    CHECK(o.status == 0);
    return o.err;
  };
  const std::string quick = script(", device = 'quick.json'"),
                    slow = script(", device = 'slow.json'");
  CHECK(has(quick, "\"par\""));
  CHECK(!has(quick, "-- one thread"));
  CHECK(!has(slow, "\"par\""));
  CHECK(has(slow, "-- one thread: with more, it is predicted to take "));
  CHECK(script(", device = 'slow.json'") == slow);
  f.write("slow.lua", slow);
  const Outcome run =
      tool("run k.loop -t slow.lua --target openmp -p n=40 -p m=21 --verify --quiet", f.str());
  CHECK(has(run.out, "verify: equal"));
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
