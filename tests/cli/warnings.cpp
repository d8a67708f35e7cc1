#include "tests/cli/harness.h"

/// Warnings: possible mistakes, reported on standard error, with the exit status unchanged.

using namespace moonloop::test;  // NOLINT

namespace {

/// Status 0, this warning, and nothing with --quiet.
void warns(const std::string& arguments, const Folder& f, const std::string& text) {
  CAPTURE(arguments);
  const Outcome o = tool(arguments, f.str());
  CHECK(o.status == 0);
  CHECK(o.err == text);
  CHECK(tool(arguments + " --quiet", f.str()).err.empty());
  CHECK(tool(arguments + " --quiet", f.str()).out == o.out);
}

}  // namespace

TEST_CASE("cli: check says what was claimed") {
  const Folder f;
  f.write("k.loop",
          "kernel spread(n: int32, map: int32[n], a: inout float64[n], b: float64[n])\n"
          "domain {[i]: 0 <= i < n}\na[map[i]] = a[map[i]] + b[i]   {id=add}\n");
  f.write("t.lua", "spread = spread:assume_injective('map'):tag_inames{i = 'par'}\n");
  const Outcome o = tool("check k.loop -t t.lua", f.str());
  CHECK(o.status == 0);
  CHECK(contains(o.out,
                 "spread: legal, given what is claimed and not proved:\n  "
                 "assume_injective(\"map\")\n"));
  CHECK(tool("check k.loop", f.str()).out == "spread: legal\n");
}

TEST_CASE("cli: check checks all kernels of its input") {
  const Folder f;
  f.write("k.loop", std::string(kDouble) + kRecurrence);
  const Outcome o = tool("check k.loop", f.str());
  CHECK(o.status == 0);
  CHECK(o.out == "twice: legal\nrecur: legal\n");
  CHECK(tool("check k.loop --kernel recur", f.str()).out == "recur: legal\n");
  CHECK(contains(tool("check k.loop --kernel no", f.str()).err, "[unknown-kernel]"));
}

TEST_CASE("cli: a transformed kernel that is dropped is told") {
  const Folder f;
  f.write("k.loop", kDouble);
  f.write("forget.lua", "\ntwice:split_iname('i', 8)\n");
  warns(
      "check k.loop -t forget.lua", f,
      "forget.lua:2:7: warning: what this makes of kernel `twice` is dropped; global `twice` is as "
      "before [dropped-result]\n  2 | twice:split_iname('i', 8)\n    |       ^^^^^^^^^^^\n"
      "hint: assign it: `twice = lp.split_iname(twice, …)`\n");
  f.write("typo.lua", "twise = twice:split_iname('i', 8)\n");
  CHECK(contains(
      tool("gen k.loop -t typo.lua", f.str()).err,
      "what this makes of kernel `twice` is in global `twise`, which nothing reads; global "
      "`twice` is as before [dropped-result]"));
  f.write("fused.lua", "both = lp.fuse_kernels({twice, twice}, {name = 'both'})\n");
  CHECK(contains(
      tool("check k.loop -t fused.lua", f.str()).err,
      "kernel `both` in global `both` is not a result; those of the script are what `twice` "
      "holds, as before [dropped-result]"));
  // Not these: an alternative that is not taken, a helper on the way.
  f.write("tries.lua",
          "local other = twice:split_iname('i', 4)\ntwice = twice:split_iname('i', 8)\n");
  CHECK(tool("check k.loop -t tries.lua", f.str()).err.empty());
  f.write("helper.lua",
          "half = twice:split_iname('i', 8)\ntwice = half:tag_inames('i_outer:par')\n");
  CHECK(tool("check k.loop -t helper.lua", f.str()).err.empty());
  f.write("nothing.lua", "print(#twice.inames)\n");
  CHECK(tool("check k.loop -t nothing.lua", f.str()).err == "1\n");
}

TEST_CASE("cli: a loop that no instruction runs in is told") {
  const Folder f;
  f.write("k.loop",
          "kernel k(n: int32, steps: int32, a: float64[n])\n"
          "domain {[t]: 0 <= t < steps}\ndomain {[i]: 0 <= i < n}\na[i] = a[i] + 1\n");
  const Outcome o = tool("gen k.loop", f.str());
  CHECK(o.status == 0);
  CHECK(contains(o.err,
                 "k.loop:2:8: warning: no instruction of kernel `k` runs in loop `t`, which is "
                 "left out [unused-iname]\n"));
  CHECK(contains(o.err,
                 "hint: write the instructions between `for t` and `end`, or take `t` out of "
                 "the domain\n"));
  CHECK(tool("gen k.loop --quiet", f.str()).err.empty());
  f.write("used.loop",
          "kernel k(n: int32, m: int32, a: float64[n], b: float64[n, m])\n"
          "domain {[i]: 0 <= i < n}\ndomain {[j]: 0 <= j < m}\na[i] = sum(j, b[i, j])\n");
  CHECK(tool("gen used.loop", f.str()).err.empty());
}

TEST_CASE("cli: a kernel without instructions is told") {
  const Folder f;
  f.write("k.loop", "kernel k(n: int32)\n");
  CHECK(contains(tool("gen k.loop", f.str()).err,
                 "k.loop:1:8: warning: kernel `k` has no instructions; it does nothing "
                 "[no-instructions]\n"));
}

TEST_CASE("cli: a loop that never runs is told") {
  const Folder f;
  f.write("k.loop",
          "kernel k(n: int32, a: float64[n], s: float64[n])\n"
          "domain {[i]: 5 <= i < 3}\ndomain {[j]: 0 <= j < n}\na[i] = 2.0\n"
          "s[j] = sum(i, a[i]) + a[j]\n");
  const Outcome o = tool("run k.loop -p n=3 --verify", f.str());
  CHECK(o.status == 0);
  CHECK(contains(o.err,
                 "k.loop:2:8: warning: the loop `i` of kernel `k` never runs: its domain is empty "
                 "[empty-loop]\n"));
  CHECK(contains(o.out, "verify: equal"));
  f.write("small.loop",
          "kernel k(n: int32, a: float64[n])\n"
          "domain {[i, j]: 0 <= i, j < n and i >= 10}\nassume n <= 5\na[i] = j\n");
  CHECK(contains(tool("gen small.loop", f.str()).err,
                 "the loops `i`, `j` of kernel `k` never run: their domain is empty under the "
                 "assumptions and the domains around it [empty-loop]\n"));
}

TEST_CASE("cli: a setting that no script reads is told") {
  const Folder f;
  f.write("k.loop", kDouble);
  f.write("t.lua", "twice = twice:split_iname('i', lp.args.width or 8)\n");
  warns("check k.loop -t t.lua --set widht=4", f,
        "warning: no script reads `lp.args.widht`, which `--set widht=4` gives; they read `width`; "
        "did you mean `width`? [unread-setting]\n");
  CHECK(tool("check k.loop -t t.lua --set width=4", f.str()).err.empty());
  f.write("w.lua", "twice = twice:split_iname('i', lp.args.w or 8)\n");
  CHECK(contains(tool("check k.loop -t w.lua --set W=4", f.str()).err,
                 "they read `w`; did you mean `w`? [unread-setting]"));
  CHECK(contains(tool("check k.loop --set w=4", f.str()).err,
                 "no script reads `lp.args.w`, which `--set w=4` gives [unread-setting]"));
  f.write("all.lua", "for name, v in pairs(lp.args) do print(name, v) end\n");
  CHECK(tool("check k.loop -t all.lua --set w=4", f.str()).err == "w\t4\n");
}

TEST_CASE("cli: a literal that makes a temporary float64 is told") {
  const Folder f;
  const auto kernel = [&](const std::string& statements) {
    f.write("k.loop",
            "kernel k(n: int32, a: out float32[n], b: float32[n], w: float64[n])\n"
            "domain {[i]: 0 <= i < n}\n" +
                statements);
    return tool("check k.loop", f.str()).err;
  };
  CHECK(kernel("<> t = 0.1*b[i]\na[i] = t\n") ==
        "k.loop:3:8: warning: `0.1` makes the temporary `t` float64: float32 would not hold it "
        "exactly [widening-literal]\n  3 | <> t = 0.1*b[i]\n    |        ^^^\n"
        "hint: say which is meant: `0.1f` or `0.1d`, or the type of `t`, as in "
        "`<float32> t = …`\n");
  CHECK(contains(kernel("tenth(x) := 0.1*x\n<> t = tenth(b[i])\na[i] = t\n"),
                 "k.loop:3:13: warning: `0.1` makes the temporary `t` float64"));
  // Consequences are not reported again; nor are explicit, exact or double literals.
  CHECK(!contains(kernel("<> t = 0.1*b[i]\n<> u = 2*t\na[i] = u\n"), "`u`"));
  for (const char* quiet : {"<> t = 0.1f*b[i]\na[i] = t\n", "<> t = 0.1d*b[i]\na[i] = t\n",
                            "<float32> t = 0.1*b[i]\na[i] = t\n", "<> t = 0.5*b[i]\na[i] = t\n",
                            "<> t = 0.1*w[i]\na[i] = t\n", "<> t = 0.1*i\na[i] = t\n",
                            "a[i] = 0.1*b[i]\n", "<> t = 0.1*b[i] + w[i]\na[i] = t\n"}) {
    CAPTURE(quiet);
    CHECK(kernel(quiet).empty());
  }
}

TEST_CASE("cli: a device's kernel that runs in one work-item is told") {
  const Folder f;
  f.write("k.loop", kDouble);
  const Outcome o = tool("gen k.loop --target opencl", f.str());
  CHECK(o.status == 0);
  CHECK(contains(o.err,
                 "warning: no loop of kernel `twice` is tagged `g.N` or `l.N`, so that one "
                 "work-item runs all of it on opencl [single-work-item]\n"));
  CHECK(tool("gen k.loop --target opencl --quiet", f.str()).err.empty());
  CHECK(tool("gen k.loop --target openmp", f.str()).err.empty());
  f.write("t.lua", "twice = twice:split_iname('i', 64, {outer_tag = 'g.0', inner_tag = 'l.0'})\n");
  CHECK(tool("gen k.loop -t t.lua --target opencl", f.str()).err.empty());
}

TEST_CASE("cli: the loop that a hint says to tag may be tagged") {
  const Folder f;
  f.write("k.loop",
          "kernel k(n: int32, a: inout float64[n], b: inout float64[n, n])\n"
          "domain {[i]: 1 <= i < n}\ndomain {[j]: 0 <= j < n}\nb[i, j] = b[i - 1, j]\n"
          "a[i] = a[i - 1]\n");
  const Outcome o = tool("gen k.loop --target opencl", f.str());
  CHECK(contains(o.err, "`k = lp.split_iname(k, \"j\", 128"));
  f.write("none.loop",
          "kernel k(n: int32, a: inout float64[n])\ndomain {[i]: 1 <= i < n}\na[i] = a[i - 1]\n");
  CHECK(contains(tool("gen none.loop --target opencl", f.str()).err,
                 "hint: tag a loop whose iterations may run at the same time\n"));
}

TEST_CASE("cli: a session says how values are given in it") {
  const Folder f;
  f.write("k.loop", kDouble);
  const Outcome o = tool("repl k.loop", f.str(), ":run\n");
  CHECK(contains(o.out + o.err, "kernel `twice` needs a value of `n`; give `:run n=VALUE`"));
}
