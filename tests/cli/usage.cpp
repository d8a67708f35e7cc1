#include "tests/cli/harness.h"

using namespace moonloop::test;  // NOLINT

TEST_CASE("cli: help and version everywhere") {
  const Outcome version = tool("--version");
  CHECK(version.status == 0);
  CHECK(version.out.rfind("moonloop ", 0) == 0);
  CHECK(version.err.empty());
  const Outcome help = tool("--help");
  CHECK(help.status == 0);
  for (const char* command : {"gen", "run", "check", "show", "repl", "doc", "devices"}) {
    CAPTURE(command);
    CHECK(contains(help.out, command));
    const Outcome o = tool(std::string(command) + " --help");
    CHECK(o.status == 0);
    CHECK(contains(o.out, "--help"));
    CHECK(contains(o.out, "--trust"));
    CHECK(o.err.empty());
    CHECK(tool(std::string(command) + " --version").out == version.out);
  }
}

TEST_CASE("cli: wrong usage has status 2 and writes to standard error alone") {
  const Folder f;
  f.write("k.loop", kDouble);
  for (const char* arguments :
       {"", "nonsense", "gen", "gen k.loop --nosuch", "gen k.loop --target fortran",
        "gen k.loop -p n", "gen k.loop -p =3", "gen k.loop --set x", "show k.loop --what nothing",
        "gen k.loop extra", "gen k.loop --color sometimes", "gen k.loop --device -1",
        "gen k.loop -o", "gen k.loop -t", "run k.loop --in a", "check k.loop -D =X",
        "gen - -t -"}) {
    CAPTURE(arguments);
    const Outcome o = tool(arguments, f.str(), kDouble);
    CHECK(o.status == 2);
    CHECK(o.out.empty());
    CHECK(!o.err.empty());
  }
}

TEST_CASE("cli: what is misspelt is named with what is near") {
  const Folder f;
  f.write("k.loop", kDouble);
  CHECK(contains(tool("gen k.loop --targt c", f.str()).err, "`--targt`; did you mean `--target`?"));
  CHECK(contains(tool("gem k.loop", f.str()).err, "`gem`; did you mean `gen`?"));
  CHECK(contains(tool("--kernel k gen k.loop", f.str()).err,
                 "`--kernel` is an option of `gen` and goes after it\n"));
}

TEST_CASE("cli: options common to all are taken by all") {
  const Folder f;
  f.write("k.loop", kDouble);
  f.write("t.lua", "assert(lp.args.tile == 8)\ntwice = twice:split_iname('i', lp.args.tile)\n");
  const std::string common =
      " k.loop -t t.lua -p n=16 --kernel twice -D X=1 --set tile=8 --device 0 --quiet "
      "--color never --trust";
  for (const char* command : {"gen", "run", "check", "show"}) {
    CAPTURE(command);
    const Outcome o = tool(command + common, f.str());
    CHECK(o.status == 0);
    CHECK(o.err.empty());
    CHECK(!o.out.empty());
  }
}

TEST_CASE("cli: colours only when they are asked for") {
  const Folder f;
  CHECK(!contains(tool("gen none.loop", f.str()).err, "\x1b["));
  CHECK(!contains(tool("gen none.loop --color auto", f.str()).err, "\x1b["));
  CHECK(contains(tool("gen none.loop --color always", f.str()).err, "\x1b["));
}

TEST_CASE("cli: a word that an option does not know, with the nearest one") {
  const Folder f;
  f.write("k.loop", "kernel k(n: int32, a: float64[n])\ndomain {[i]: 0 <= i < n}\na[i] = 1.0\n");
  const Outcome target = tool("gen k.loop --target cudaa", f.str());
  CHECK(target.status == 2);
  CHECK(target.err.find("cudaa not in {c,openmp,") != std::string::npos);
  CHECK(target.err.find("; did you mean `cuda`?") != std::string::npos);
  const Outcome pass = tool("show k.loop --what pass:plann", f.str());
  CHECK(pass.status == 2);
  CHECK(pass.err.find("; did you mean `pass:plan`?") != std::string::npos);
  CHECK(tool("gen k.loop --target vax", f.str()).err.find("did you mean") == std::string::npos);
}
