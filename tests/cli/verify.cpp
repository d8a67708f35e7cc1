#include "tests/cli/harness.h"

/// The arrays that `run --verify` compares, with which others, and how closely.

using namespace moonloop::test;  // NOLINT

namespace {

const char* const kGrow =
    "kernel grow(n: int32, A: inout float64[n])\n"
    "domain {[i]: 0 <= i < n}\nA[i] = A[i] + 1\n";
const char* const kPair =
    "kernel a(n: int32, x: in float64[n], d: out float64[n])\n"
    "domain {[i]: 0 <= i < n}\nd[i] = 2*x[i]\n"
    "kernel b(n: int32, d: in float64[n], y: out float64[n])\n"
    "domain {[i]: 0 <= i < n}\ny[i] = d[i] + 1\n";

}  // namespace

TEST_CASE("cli: a tolerance is a finite number, at least 0") {
  const Folder f;
  f.write("k.loop", kGrow);
  for (const char* wrong : {"nan", "-1", "inf", "x", "1x", "-nan"}) {
    CAPTURE(wrong);
    const Outcome o = tool("run k.loop -p n=4 --verify --tolerance=" + std::string(wrong), f.str());
    CHECK(o.status == 2);
    CHECK(contains(o.err,
                   "--tolerance: `" + std::string(wrong) + "` is not a finite number, at least 0"));
  }
  for (const char* right : {"0", "1", "2.5", "1e3"})
    CHECK(tool("run k.loop -p n=4 --verify --tolerance " + std::string(right), f.str()).status ==
          0);
}

TEST_CASE("cli: verification says which elements rounding may turn") {
  const Folder f;
  f.write("k.loop",
          "kernel k(n: int32, x: in float64[n], y: out float64[n])\n"
          "domain {[i, j]: 0 <= i, j < n}\n"
          "y[i] = 1.0 if sum(j, 0*x[j] + 0.1) < 0.1*n else 3.0\n");
  const Outcome o = tool("run k.loop -p n=10 --verify --json", f.str());
  CHECK(o.status == 0);
  CHECK(contains(o.out, "\"rounded\": 10"));
  f.write("open.loop",
          "kernel hit(x: in float64[10], y: out float64[4])\n"
          "domain {[j]: 0 <= j < 10}\n"
          "<> s = sum(j, 0*x[j] + 0.1)\ny[cast(int32, 2*s)] = 1.0\n");
  const Outcome open = tool("run open.loop --verify", f.str());
  CHECK(contains(open.out, "3 undecided, because rounding may turn what decides them"));
}

TEST_CASE("cli: arrays that a fused kernel has lost are left out of the comparison, and named") {
  const Folder f;
  f.write("k.loop", kPair);
  f.write("s.lua",
          "local a, b = lp.load('k.loop')\nab = lp.fuse_kernels({a, b}, {name = 'ab'})\n"
          "ab = lp.assignment_to_subst(ab, 'd')\n");
  const Outcome o = tool("run s.lua -p n=6 --verify", f.str());
  CHECK(o.status == 0);
  CHECK(contains(o.out, "verify: equal\n  y: equal"));
  CHECK(contains(o.out, "  d: not compared: it is an argument only before the transforms\n"));
}

TEST_CASE("cli: a kernel that a script puts in the place of the file's is its own original") {
  const Folder f;
  f.write("k.loop", kGrow);
  f.write("fused.lua", "grow = lp.fuse_kernels({grow, grow}, {name = 'grow'})\n");
  f.write("split.lua",
          "grow = lp.fuse_kernels({grow, grow}, {name = 'grow'}):split_iname('i', 4)\n");
  for (const char* script : {"fused.lua", "split.lua"}) {
    CAPTURE(script);
    const Outcome o = tool("run k.loop -t " + std::string(script) + " -p n=7 --verify", f.str());
    CHECK(o.status == 0);
    CHECK(contains(o.out, "verify: equal\n  A: equal"));
  }
  f.write("plain.lua", "grow = grow:split_iname('i', 4)\n");  // of the file's own
  CHECK(tool("run k.loop -t plain.lua -p n=7 --verify", f.str()).status == 0);
}

TEST_CASE("cli: a run that the machine has no memory for is an error before it starts") {
  const Folder f;
  f.write("k.loop",
          "kernel nine(n: int32, m: int32, u: inout float64[n, m])\n"
          "domain {[i, j]: 0 <= i < n and 0 <= j < m}\ntemp v: float64[n, m]\n"
          "v[i, j] = u[i, j]\nu[i, j] = 2*v[i, j]\n");
  const Outcome o = tool("run k.loop -p n=1000000 -p m=1000000", f.str());
  CHECK(o.status == 1);
  CHECK(contains(o.err,
                 "a run of kernel `nine` at these sizes takes 16000.00 GB of memory, and the "
                 "machine has "));
  CHECK(contains(o.err, "; the largest array, `u`, has 8000.00 GB [out-of-memory]"));
  CHECK(contains(o.err, "hint: give smaller sizes\n"));
  CHECK(contains(tool("run k.loop -p n=1000000 -p m=1000000 --verify", f.str()).err,
                 "hint: give smaller sizes, or leave out `--verify`\n"));
  CHECK(tool("run k.loop -p n=10 -p m=10 --verify", f.str()).status == 0);
}

TEST_CASE("cli: sizes follow from the shapes of files that are read") {
  const Folder f;
  f.write("k.loop",
          "kernel k(n: int32, m: int32, starts: int32[n + 1], x: float64[m], y: out float64[n])\n"
          "domain {[i]: 0 <= i < n}\ny[i] = x[starts[i] % m]\n");
  f.write("make.loop",
          "kernel make(a: out int32[6], b: out float64[4])\n"
          "domain {[i]: 0 <= i < 6}\ndomain {[j]: 0 <= j < 4}\na[i] = i\nb[j] = 0.5*j\n");
  REQUIRE(tool("run make.loop --out a=a.npy --out b=b.npy", f.str()).status == 0);
  const Outcome o = tool("run k.loop --in starts=a.npy --in x=b.npy --verify", f.str());
  CHECK(o.status == 0);
  CHECK(contains(o.out, "k on c, n = 5, m = 4\n"));
  CHECK(contains(tool("run k.loop --in starts=a.npy", f.str()).err,
                 "kernel `k` needs a value of `m`; give `-p m=VALUE`"));
  const Outcome other = tool("run k.loop --in starts=a.npy -p n=3 -p m=4", f.str());
  CHECK(contains(other.err, "`a.npy` has shape (6,), but array `starts` has shape (4,)"));
}

TEST_CASE("cli: verification knows steps that add the terms of sums one by one") {
  const Folder f;
  f.write("k.loop",
          "kernel f(n: int32, b: in float32[n], x: out float32[1])\n"
          "domain {[j]: 0 <= j < n}\n"
          "x[0] = 100000000.0  {id=first}\n"
          "x[0] = x[0] - sum(j, b[j])  {id=s, dep=first}\n");
  f.write("k.lua", "f = lp.unfold_reduction(f, \"id:s\")\n");
  // No term changes the number from which it is taken alone.
  const Outcome run = tool("run k.loop -t k.lua -p n=1000 --verify", f.str());
  CAPTURE(run.out);
  CHECK(run.status == 0);
  CHECK(has(run.out, "verify: equal"));
  CHECK(has(run.out, "100000000"));
}
