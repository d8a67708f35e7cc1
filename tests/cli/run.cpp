#include "tests/cli/harness.h"

using namespace moonloop::test;  // NOLINT

namespace {

const char* const kTotal =
    "kernel total(n: int32, a: float64[n], out: float64[1])\n"
    "domain {[k]: 0 <= k < n}\n"
    "out[0] = sum(k, a[k])   {id=all}\n";

}  // namespace

TEST_CASE("cli: run prints checksums, the same each time") {
  const Folder f;
  f.write("k.loop", kDouble);
  const Outcome o = tool("run k.loop -p n=10", f.str());
  CHECK(o.status == 0);
  CHECK(contains(o.out, "twice on c, n = 10\n"));
  CHECK(contains(o.out, "b: float64[10]  sum "));
  CHECK(tool("run k.loop -p n=10", f.str()).out == o.out);
  CHECK(contains(tool("run k.loop -p n=10 --time", f.str()).out, "median"));
  CHECK(contains(tool("run k.loop -p n=10 --json", f.str()).out, "\"kernel\": \"twice\""));
}

TEST_CASE("cli: run --verify has status 0 when results agree and 3 when they differ") {
  const Folder f;
  f.write("total.loop", kTotal);
  f.write("t.lua", "total = total:split_iname('k', 8):split_reduction_outward('k_inner')\n");
  const Outcome fine = tool("run total.loop -t t.lua -p n=1000 --verify", f.str());
  CHECK(fine.status == 0);
  CHECK(contains(fine.out, "verify: equal"));
  // another order of a sum rounds differently
  const Outcome o = tool("run total.loop -t t.lua -p n=1000 --verify --tolerance 0", f.str());
  CHECK(o.status == 3);
  CHECK(contains(o.out, "verify: DIFFERENT"));
  CHECK(contains(o.out, "1 of 1 elements differ"));
}

TEST_CASE("cli: run has status 4 when the compiler fails or is not there") {
  const Folder f;
  f.write("k.loop", kDouble);
  const auto with_cc = [&](const std::string& cc) {
    setenv("CC", cc.c_str(), 1);
    setenv("XDG_CACHE_HOME", f.str().c_str(), 1);
    Outcome o = tool("run k.loop -p n=10", f.str());
    unsetenv("CC");
    unsetenv("XDG_CACHE_HOME");
    return o;
  };
  const Outcome failing = with_cc("/bin/false");
  CHECK(failing.status == 4);
  CHECK(contains(failing.err, "[compiler-failed]"));
  const Outcome missing = with_cc("/nonexistent/cc");
  CHECK(missing.status == 4);
  CHECK(contains(missing.err, "/nonexistent/cc"));
}

TEST_CASE("cli: a run that reaches an external function ends there") {
  const Folder f;
  f.write("k.loop",
          "kernel k(n: in int32, x: inout float64[n])\nexternal stop_it\ndomain {[i]: 0 <= i < n}\n"
          "temp seen: int32\nseen = stop_it(\"no\", n) {if=n < 5}\nx[i] = 1\n");
  CHECK(tool("run k.loop -p n=7 --verify", f.str()).status == 0);
  const Outcome ran = tool("run k.loop -p n=3", f.str());
  CHECK(ran.status == 4);
  CHECK(ran.err == "error: the kernel called `stop_it_`, which is external [external-call]\n");
  const Outcome verified = tool("run k.loop -p n=3 --verify", f.str());
  CHECK(verified.status != 0);
  CHECK(verified.err.find("which is external [external-call]") != std::string::npos);
}

TEST_CASE("cli: what a run lacks is an error of the request") {
  const Folder f;
  f.write("k.loop", kDouble);
  const Outcome missing = tool("run k.loop", f.str());
  CHECK(missing.status == 1);
  CHECK(contains(missing.err, "kernel `twice` needs a value of `n`; give `-p n=VALUE`"));
  CHECK(contains(tool("run k.loop -p n=10 -p m=3", f.str()).err, "`m`"));
  CHECK(tool("run k.loop -p n=10 -p m=3", f.str()).status == 1);
  const Outcome twice = tool("run k.loop -p n=10 -p n=11", f.str());
  CHECK(twice.status == 1);
  CHECK(contains(twice.err, "`n` is given twice, as 10 and 11 [repeated-parameter]"));
  const Outcome files = tool("run k.loop -p n=10 --in a=x.npy --in a=y.npy", f.str());
  CHECK(files.status == 2);
  CHECK(contains(files.err, "`a` is given twice"));
  CHECK(contains(tool("run k.loop -p n=10 --out a=x.npy --out b=x.npy", f.str()).err,
                 "`x.npy` is named for `a` and for `b`"));
  const Outcome same = tool("gen k.loop -o x.c --header x.c", f.str());
  CHECK(same.status == 1);
  CHECK(contains(same.err, "`x.c` is named by `-o` and by `--header` [repeated-parameter]"));
  CHECK(!f.has("x.c"));
  const Outcome text = tool("run k.loop -p n=ten", f.str());
  CHECK(text.status == 1);
  CHECK(contains(text.err, "`ten` is not a value of `n`, which is of type int32 [bad-value]"));
  CHECK(contains(missing.err, "[missing-parameter]"));
  CHECK(tool("run k.loop -p n=99999999999", f.str()).status == 1);
  CHECK(tool("run k.loop -p n=10 --in a=none.npy", f.str()).status == 1);
  CHECK(tool("run k.loop -p n=10 --in q=none.npy", f.str()).status == 1);
  CHECK(contains(tool("run k.loop -p n=10 --out q=x.npy", f.str()).err, "[unknown-array]"));
  f.write("data.loop",
          "kernel k(n: int32, m: int32[2], a: float64[m[0]], y: float64[n])\n"
          "domain {[i]: 0 <= i < n}\ny[i] = 1\n");
  CHECK(contains(tool("run data.loop -p n=3", f.str()).err,
                 "extent 0 of array `a` is `m[0]`, which is not known before the kernel runs "
                 "[data-dependent-size]"));
  const Outcome far = tool("run k.loop -p n=10 --target opencl --device 99", f.str());
  CHECK(far.status == 4);
  CHECK(contains(far.err, "there is no OpenCL device 99; there "));
  CHECK(contains(far.err, "[no-device]"));
  // A temporary in memory of the device, which the host never has.
  f.write("huge.loop",
          "kernel huge(n: int64, a: out float32[1])\ndomain {[i]: 0 <= i < n}\n"
          "domain {[j]: 0 <= j < n}\nindex_type int64\ntemp t: float64[n, 1024] in global\n"
          "tag i: g.0, j: g.0\nt[i, 0] = i\n... gbarrier\na[0] = t[j, 0]  {if=j == 5}\n");
  const Outcome huge = tool("run huge.loop -p n=1000000000 --target opencl", f.str());
  CHECK(huge.status == 4);
  CHECK(contains(huge.err, "[out-of-device-memory]"));
}

TEST_CASE("cli: arrays go out to .npy files and come in again") {
  const Folder f;
  f.write("k.loop", kDouble);
  const Outcome first = tool("run k.loop -p n=10 --out b=b.npy --quiet", f.str());
  CHECK(first.status == 0);
  CHECK(f.has("b.npy"));
  CHECK(tool("run k.loop --in a=b.npy --out b=c.npy --verify -p n=10", f.str()).status == 0);
  CHECK(f.read("c.npy").size() == f.read("b.npy").size());
  CHECK(f.read("c.npy") != f.read("b.npy"));
  f.write("bad.npy", "no array");
  const Outcome bad = tool("run k.loop -p n=10 --in a=bad.npy", f.str());
  CHECK(bad.status == 1);
  CHECK(contains(bad.err, "[bad-npy]"));
}

TEST_CASE("cli: devices lists the compilers, and devices with their limits") {
  const Outcome o = tool("devices");
  CHECK(o.status == 0);
  CHECK(contains(o.out, "openmp"));
  CHECK(contains(o.out, "opencl   0: "));
  CHECK(contains(o.out, " work-items in a group ("));
  CHECK(contains(o.out, "cuda     "));
}

TEST_CASE("cli: devices --measure keeps what a device reaches, and run --time compares with it") {
  const Folder f;
  const char* before = std::getenv("XDG_CACHE_HOME");
  const std::string old = before ? before : "";
  ::setenv("XDG_CACHE_HOME", f.str().c_str(), 1);
  f.write("k.loop", kDouble);
  const std::string run = "run k.loop -p n=1000 --target opencl --time";
  CHECK(!contains(tool(run, f.str()).out, "of what was measured"));
  CHECK(contains(tool("devices").out, "profile: none; `moonloop devices --measure` makes one"));
  const Outcome opencl = tool("devices --measure --target opencl");
  CHECK(contains(opencl.out, "measured: copies "));
  CHECK(contains(opencl.out, "profile: none; `moonloop devices --measure` makes one"));  // host
  CHECK(contains(tool("devices --measure --target openmp").out, "profile: kept in "));
  const std::string after = tool("devices").out;
  CHECK(contains(after, "measured: copies "));
  CHECK(!contains(after, "profile: none"));
  CHECK(contains(tool(run, f.str()).out, "of what was measured of the device: "));
  CHECK(contains(tool(run + " --json", f.str()).out, "\"of_copies\": "));
  before ? ::setenv("XDG_CACHE_HOME", old.c_str(), 1) : ::unsetenv("XDG_CACHE_HOME");
}

TEST_CASE("run: pieces of a loop as groups, their iterations as work-items") {
  const Folder f;
  f.write("scale.loop",
          "kernel scale(n: int32, a: float64[n], b: float64[n])\ndomain {[i]: 0 <= i < n}\n"
          "assume n <= 400\nb[i] = 2*a[i]\n");
  f.write("chunks.lua",
          "scale = lp.chunk_iname(scale, 'i', 3, {outer_tag = 'g.0', inner_tag = 'l.0'})\n");
  f.write("fixed.lua", "scale = lp.fix_parameters(scale, {n = 130})\n");
  for (const std::string target : {"openmp", "opencl"}) {
    for (const std::string n : {"0", "1", "129", "130", "400"})
      CHECK(tool("run scale.loop -t chunks.lua --verify -p n=" + n + " --target " + target, f.str())
                .status == 0);
    CHECK(tool("run scale.loop -t fixed.lua -t chunks.lua --verify --target " + target, f.str())
              .status == 0);
  }
}

TEST_CASE("cli: a run that crashes says so") {
  const Folder f;
  f.write("dz.loop",
          "kernel dz(n: int32, m: int32, a: out int32[n])\ndomain {[i]: 0 <= i < n}\n"
          "a[i] = (i + 5) // m\n");
  const Outcome crash = tool("run dz.loop -p n=3 -p m=0", f.str());
  CHECK(crash.status == 1);
  CHECK(contains(crash.err,
                 "dz.loop:1:8: error: the run of kernel `dz` ended by signal 8, as an integer "
                 "division by zero does [run-crashed]\n"));
  CHECK(
      contains(crash.err, "hint: `--verify` also runs it in the interpreter, which says where\n"));
  const Outcome told = tool("run dz.loop -p n=3 -p m=0 --verify", f.str());
  CHECK(told.status == 1);
  CHECK(contains(told.err, "an integer is divided by zero at insn[i=0] [division-by-zero]"));
  f.write("oob.loop",
          "kernel oob(n: int32, p: in int32[n], a: inout float64[n])\n"
          "domain {[i]: 0 <= i < n}\na[(p[i] + 1)*100000000] = i\n");
  const Outcome outside = tool("run oob.loop -p n=3 --target openmp", f.str());
  CHECK(outside.status == 1);
  CHECK(contains(outside.err, "ended by signal 11, as an access outside of all arrays does"));
}
