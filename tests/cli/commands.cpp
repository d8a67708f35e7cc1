#include "tests/cli/harness.h"

using namespace moonloop::test;  // NOLINT

TEST_CASE("cli: gen writes code to standard output or to files") {
  const Folder f;
  f.write("k.loop", kDouble);
  const Outcome c = tool("gen k.loop", f.str());
  CHECK(c.status == 0);
  CHECK(c.err.empty());
  CHECK(contains(c.out, "void twice("));
  CHECK(tool("gen k.loop --target c", f.str()).out == c.out);
  CHECK(tool("gen - ", f.str(), kDouble).out == c.out);
  const Outcome files = tool("gen k.loop -o k.c --header k.h", f.str());
  CHECK(files.status == 0);
  CHECK(files.out.empty());
  CHECK(f.read("k.c") == c.out);
  CHECK(contains(f.read("k.h"), "void twice("));
  CHECK(f.count() == 3);
}

TEST_CASE("cli: output files appear whole or not at all") {
  const Folder f;
  f.write("k.loop", kDouble);
  f.write("bad.loop", "kernel x(n: int32)\nthis is not a kernel\n");
  f.write("old.c", "old");
  CHECK(tool("gen bad.loop -o old.c", f.str()).status == 1);
  CHECK(f.read("old.c") == "old");
  const Outcome o = tool("gen k.loop -o none/k.c", f.str());
  CHECK(o.status == 1);
  CHECK(contains(o.err, "[cannot-write]"));
  CHECK(tool("gen k.loop -o .", f.str()).status == 1);
  CHECK(f.count() == 3);
  const Outcome full = tool("gen k.loop -o /dev/full", f.str());
  CHECK(full.status == 1);
  CHECK(contains(full.err, "[cannot-write]"));
  for (const char* asked : {"--help", "--version", "gen --help"})
    CHECK(tool_on_full_device(asked, f.str()).status == 1);
}

TEST_CASE("cli: a value of a scalar that no kernel has") {
  const Folder f;
  f.write("one.loop", kDouble);
  f.write("two.loop", std::string(kDouble) + kRecurrence);
  f.write("fix.lua", "twice = lp.fix_parameters(twice, {n = 4})\n");
  for (const char* command : {"check", "gen", "show", "run"}) {
    CAPTURE(command);
    const Outcome one = tool(std::string(command) + " one.loop -p n=3 -p m=4", f.str());
    CHECK(one.status == 1);
    CHECK(contains(one.err, "kernel `twice` has no scalar `m`; it has `n` [unknown-parameter]"));
    const Outcome two =
        tool(std::string(command) + " two.loop --kernel twice -p n=3 -p m=4", f.str());
    CHECK(two.status == 1);
    CHECK(contains(two.err, "no kernel of `two.loop` has a scalar `m`"));
    CHECK(tool(std::string(command) + " one.loop -t fix.lua -p n=4", f.str()).status == 0);
  }
}

TEST_CASE("cli: the program of a file is meant where --kernel names none") {
  const Folder f;
  const std::string both = std::string(kDouble) +
                           "program all(n: int32, a: inout float64[n])\n<> b = a\n"
                           "call twice(n, a, b)\na = b\n";
  f.write("p.loop", both);
  f.write("two.loop", both +
                          "program again(n: int32, a: inout float64[n])\n<> b = a\n"
                          "call twice(n, b, a)\n");
  f.write("late.loop", both + kRecurrence);
  f.write("t.lua", "all = lp.tag_inames(all, {i = \"par\"})\n");
  const Outcome shown = tool("show p.loop -t t.lua", f.str());
  CHECK(shown.status == 0);
  CHECK(shown.out.starts_with(
      "# the program of p.loop; --kernel names another kernel\nkernel all(n: int32"));
  CHECK(tool("show p.loop --kernel all", f.str()).out.starts_with("kernel all("));
  const Outcome run = tool("run p.loop -t t.lua -p n=4 --verify", f.str());
  CHECK(run.status == 0);
  CHECK(contains(run.out, "verify: equal"));
  CHECK(contains(tool("gen p.loop", f.str()).out, "void all("));
  CHECK(contains(tool("auto p.loop -p n=100 --target openmp", f.str()).out, "for `all` on"));
  // `check` is about all kernels.
  CHECK(tool("check p.loop", f.str()).out == "twice: legal\nall: legal\n");
  for (const char* file : {"two.loop", "late.loop"})
    CHECK(contains(tool(std::string("show ") + file, f.str()).err, "[which-kernel]"));
}

TEST_CASE("cli: kernels whose loops do not nest begin with the step that mends them") {
  const Folder f;
  f.write("n.loop",
          "kernel f(n: int32, a: out float64[n, n], b: out float64[n], c: out float64[n])\n"
          "domain {[i]: 0 <= i < n}\ndomain {[j]: 0 <= j < n}\n"
          "a[i, j] = 1\nb[i] = 2*i\nc[j] = j\n");
  f.write("n.lua",
          "while not lp.has_schedulable_iname_nesting(f) do\n"
          "  local step = lp.get_iname_duplication_options(f)[1]\n"
          "  f = lp.duplicate_inames(f, step.inames, step.within)\nend\n"
          "f = lp.tag_inames(f, {i = \"par\"})\n");
  CHECK(contains(tool("check n.loop", f.str()).err, "[cannot-nest]"));
  const Outcome run = tool("run n.loop -t n.lua -p n=3 --target openmp --verify", f.str());
  CHECK(run.status == 0);
  CHECK(contains(run.out, "verify: equal"));
}

TEST_CASE("cli: several kernels need --kernel, which lists them") {
  const Folder f;
  f.write("two.loop", std::string(kDouble) + kRecurrence);
  for (const char* command : {"gen", "show", "run"}) {
    CAPTURE(command);
    const Outcome o = tool(std::string(command) + " two.loop", f.str());
    CHECK(o.status == 1);
    CHECK(o.err ==
          "error: `two.loop` has 2 kernels: `twice`, `recur` [which-kernel]\n"
          "hint: name one with --kernel\n");
  }
  CHECK(tool("gen two.loop --kernel recur", f.str()).status == 0);
  const Outcome o = tool("gen two.loop --kernel other", f.str());
  CHECK(o.status == 1);
  CHECK(o.err ==
        "error: `two.loop` has no kernel `other`; it has `twice`, `recur` [unknown-kernel]\n");
}

TEST_CASE("cli: show gives text that parses back, the tree, dependences, trace and more") {
  const Folder f;
  f.write("k.loop", kRecurrence);
  f.write("t.lua", "recur = recur:split_iname('i', 4)\n");
  const auto show = [&](const std::string& arguments) {
    const Outcome o = tool("show k.loop " + arguments, f.str());
    CHECK(o.status == 0);
    CHECK(o.err.empty());
    return o.out;
  };
  const std::string ir = show("-t t.lua");
  CHECK(ir == show("-t t.lua --what ir"));
  CHECK(tool("show -", f.str(), ir).out == ir);
  CHECK(contains(show("--what tree -t t.lua"), "i_outer"));
  CHECK(contains(show("--what deps"), "flow a: step -> step:"));
  CHECK(show("--what trace -t t.lua") ==
        "-- the transforms of kernel `recur`\nrecur = lp.split_iname(recur, \"i\", 4)\n");
  f.write("replay.lua", show("--what trace -t t.lua"));
  CHECK(show("-t replay.lua") == ir);
  CHECK(show("--what schedule") == "i\n  step\n");
  CHECK(contains(show("--what stats"), "instructions  1"));
}

TEST_CASE("cli: the schedule explains each barrier by the instances that it orders") {
  const Folder f;
  f.write("k.loop",
          "kernel k(a: float64[64], b: float64[64])\ndomain {[i]: 0 <= i < 64}\n"
          "domain {[j]: 0 <= j < 64}\ntemp t: float64[64] in local\n"
          "t[i] = a[i] {id=w}\nb[j] = t[63 - j] {id=r}\n");
  f.write("t.lua", "k = k:tag_inames{i = 'l.0', j = 'l.0'}\n");
  const Outcome o = tool("show k.loop -t t.lua --what schedule --target opencl", f.str());
  CHECK(o.err.empty());
  CHECK(o.out ==
        "kernel 0\n  i\n    w\n  barrier: w[i=0] writes t[0], r[j=63] reads it\n  j\n    r\n");
}

TEST_CASE("cli: show --what pass:NAME prints what code generation has after each pass") {
  const Folder f;
  f.write("k.loop",
          "kernel k(n: int32, a: float64[n], b: float64[n])\ndomain {[i]: 0 <= i < n}\n"
          "domain {[j]: 0 <= j < 4}\nb[i] = sum(j, a[i]*j) {id=s}\n");
  f.write("t.lua", "k = k:split_iname('i', 8, {outer_tag = 'g.0', inner_tag = 'l.0'})\n");
  const auto after = [&](const std::string& pass, const std::string& target) {
    return tool("show k.loop -t t.lua --what pass:" + pass + " --target " + target, f.str());
  };
  CHECK(contains(after("complete", "c").out, "b[i_inner + 8*i_outer] = sum(j, a["));
  CHECK(after("nest", "opencl").out ==
        "for i_outer  [g.0]\n  s_init  [i_inner: l.0]\n  for j\n    s_update  [i_inner: l.0]\n"
        "  s  [i_inner: l.0]\n");
  CHECK(contains(after("launches", "opencl").out, "kernel 0\n"));
  CHECK(after("work-items", "opencl").out != after("launches", "opencl").out);
  CHECK(after("locks", "opencl").out ==
        tool("show k.loop -t t.lua --what schedule --target opencl", f.str()).out);
  const Outcome none = after("barriers", "c");
  CHECK(none.status == 1);
  CHECK(contains(none.err, "code generation for target `c` has no pass `barriers`; it has "));
  CHECK(contains(none.err, "[no-pass]"));
  CHECK(after("none", "c").status == 2);
}

TEST_CASE("cli: check prints each step and the reason of a refusal") {
  const Folder f;
  f.write("k.loop", kRecurrence);
  f.write("good.lua", "recur = recur:split_iname('i', 4)\n");
  f.write("bad.lua",
          "recur = recur:split_iname('i', 4)\n\nrecur = recur:tag_inames{i_inner='par'}\n");
  f.write("try.lua", "lp.attempt(lp.tag_inames, recur, {i = 'par'})\n");
  const Outcome good = tool("check k.loop -t good.lua", f.str());
  CHECK(good.status == 0);
  CHECK(good.out == "good.lua:1: recur: split_iname(\"i\", 4): ok\nrecur: legal\n");
  const Outcome bad = tool("check k.loop -t bad.lua", f.str());
  CHECK(bad.status == 1);
  CHECK(contains(bad.out, "bad.lua:1: recur: split_iname(\"i\", 4): ok\n"));
  CHECK(contains(bad.out, "bad.lua:3: recur: tag_inames({i_inner = \"par\"}): refused: "));
  CHECK(!contains(bad.out, "legal\n"));
  CHECK(contains(bad.err, "bad.lua:3"));
  CHECK(contains(bad.err, "error: "));
  const Outcome tried = tool("check k.loop -t try.lua", f.str());
  CHECK(tried.status == 0);
  CHECK(contains(tried.out, "refused: "));
}

TEST_CASE("cli: scripts make kernels, and several scripts run in order") {
  const Folder f;
  f.write("s.lua",
          "print('to the user')\n"
          "return lp.make_kernel('{[i]: 0 <= i < n}', 'b[i] = 2*a[i]',\n"
          "  {args = 'a: float64[n], b: float64[n], ...', name = 'made'})\n");
  f.write("one.lua", "made = made:split_iname('i', 8)\n");
  f.write("two.lua", "made = made:tag_inames{i_inner = 'unr'}\n");
  const Outcome o = tool("show s.lua -t one.lua -t two.lua --what trace", f.str());
  CHECK(o.status == 0);
  CHECK(o.err == "to the user\n");
  CHECK(o.out ==
        "-- the transforms of kernel `made`\n"
        "made = lp.split_iname(made, \"i\", 8)\n"
        "made = lp.tag_inames(made, {i_inner = \"unr\"})\n");
  f.write("k.loop", kDouble);
  CHECK(contains(
      tool("show k.loop -t - --what trace", f.str(), "twice = twice:split_iname('i', 2)\n").out,
      "lp.split_iname(twice, \"i\", 2)"));
}

TEST_CASE("cli: the interactive loop evaluates, continues lines and survives errors") {
  const Folder f;
  f.write("k.loop", kDouble);
  const Outcome o = tool("repl k.loop", f.str(),
                         "1 + 1\n"
                         "x = twice:split_iname('i', 4)\n"
                         "for i = 1, 2 do\n"
                         "print(i)\n"
                         "end\n"
                         "x.inames[1]\n"
                         "error('oops')\n"
                         "x = = 1\n"
                         "lp.nothing\n"
                         "'still here'\n");
  CHECK(o.status == 1);
  CHECK(o.out == "2\n1\n2\ni_outer\nstill here\n");
  CHECK(contains(o.err, "oops"));
  CHECK(contains(o.err, "[script-syntax]"));
  CHECK(contains(o.err, "`lp` has no `nothing`"));
  CHECK(tool("repl", f.str(), "6*7\n").out == "42\n");
  const Outcome input = tool("repl -", f.str(), "6*7\n");
  CHECK(input.status == 1);
  CHECK(contains(input.err, "[bad-input]"));
}

TEST_CASE("cli: doc tells about transforms, commands, tags and syntax") {
  const Outcome all = tool("doc");
  CHECK(all.status == 0);
  const Outcome op = tool("doc split_iname");
  CHECK(op.status == 0);
  CHECK(contains(op.out, "lp.split_iname(knl, "));
  CHECK(contains(op.out, "Example:"));
  CHECK(tool("doc lp.split_iname").out == op.out);
  CHECK(contains(tool("doc gen").out, "--header"));
  CHECK(contains(tool("doc g.0").out, "work-groups"));
  CHECK(contains(tool("doc reduction").out, "argmin"));
  CHECK(contains(tool("doc make_kernel").out, "seq_dependencies"));
  const Outcome none = tool("doc split_inames");
  CHECK(none.status == 1);
  CHECK(none.err ==
        "error: no help on `split_inames`; did you mean `split_iname`?; `moonloop doc` lists all "
        "topics [unknown-topic]\n");
  for (const std::string tag :
       {"unr", "par", "simd", "ilp", "vec", "mma", "mma.tf32", "g.N", "l.N"}) {
    CAPTURE(tag);
    CHECK(tool("doc " + tag).out.starts_with(tag + "\n\n"));
  }
}
