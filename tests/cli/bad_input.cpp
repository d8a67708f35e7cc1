#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <iostream>

#include "tests/cli/harness.h"

using namespace moonloop::test;  // NOLINT

namespace {

/// Bad input: status 1, a diagnostic with `code` on standard error, nothing on standard output.
Outcome rejected(const Folder& f, const std::string& arguments, const std::string& code) {
  const Outcome o = tool(arguments, f.str());
  CAPTURE(arguments);
  CAPTURE(o.err);
  CHECK(o.status == 1);
  CHECK(o.out.empty());
  if (!code.empty()) CHECK(contains(o.err, "[" + code + "]"));
  CHECK(contains(o.err, "error: "));
  CHECK(!contains(o.err, "internal"));
  return o;
}

/// Bytes that `moonloop check k.loop -t script` had resident at most, in `folder`.
[[maybe_unused]] double resident(const Folder& folder, const std::string& script) {
  const std::string binary =
      std::filesystem::weakly_canonical(std::filesystem::absolute(MOONLOOP_BINARY)).string();
  std::fflush(stdout);
  std::cout.flush();
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    if (chdir(folder.str().c_str()) != 0 || !std::freopen("/dev/null", "w", stdout) ||
        !std::freopen("/dev/null", "w", stderr))
      _exit(127);
    execl(binary.c_str(), binary.c_str(), "check", "k.loop", "-t", script.c_str(), nullptr);
    _exit(127);
  }
  int status = 0;
  rusage used{};
  REQUIRE(wait4(child, &status, 0, &used) == child);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) <= 1);
  return 1024.0 * static_cast<double>(used.ru_maxrss);
}

}  // namespace

#ifndef __SANITIZE_ADDRESS__  // which takes more itself
TEST_CASE("cli: a script that takes all it may leaves the process below 1 GiB") {
  const Folder f;
  f.write("k.loop", kDouble);
  for (const std::string script :
       {"local s = ('x'):rep(1000000) local t = {} for i = 1, 100000 do t[i] = s end "
        "print(pcall(lp.prioritize_loops, twice, t))",  // one text in each of many arguments
        "local t = {'a', 'a', 'a', 'a', 'a', 'a', 'a', 'a', 'a', 'a'} for d = 1, 9 do local u = {} "
        "for i = 1, 10 do u[i] = t end t = u end print(pcall(lp.prioritize_loops, twice, t))",
        "local s = 'x' while true do s = s .. s end",
        "local t = {} while true do t[#t + 1] = {} end"}) {
    CAPTURE(script);
    f.write("t.lua", script);
    CHECK(resident(f, "t.lua") < double(1 << 30));
  }
}
#endif

TEST_CASE("cli: missing and unreadable files") {
  const Folder f;
  f.write("k.loop", kDouble);
  CHECK(rejected(f, "gen none.loop", "cannot-read").err ==
        "error: cannot read `none.loop`: No such file or directory [cannot-read]\n");
  rejected(f, "gen .", "cannot-read");
  rejected(f, "gen k.loop -t none.lua", "cannot-read");
  rejected(f, "gen none.lua", "cannot-read");
}

TEST_CASE("cli: bad Fortran is shown where it is bad") {
  const Folder f;
  f.write("k.f90", "subroutine s(a)\n  real :: a(3)\n  a(1) = 'x'\nend\n");
  const std::string err = rejected(f, "gen k.f90", "fortran").err;
  CHECK(err.find("k.f90:3:3: error: ") == 0);
  CHECK(err.find("  3 |   a(1) = 'x'\n") != std::string::npos);
  f.write("empty.f90", "! nothing\n");
  rejected(f, "gen empty.f90", "no-kernel");
}

TEST_CASE("cli: bad kernels are shown where they are bad") {
  const Folder f;
  f.write("empty.loop", "# nothing\n");
  rejected(f, "gen empty.loop", "no-kernel");
  f.write("syntax.loop",
          "kernel k(n: int32, a: float64[n])\ndomain {[i]: 0 <= i < n}\na[i] = = 1\n");
  CHECK(contains(rejected(f, "gen syntax.loop", "").err, "syntax.loop:3:"));
  f.write("domain.loop", "kernel k(n: int32, a: float64[n])\ndomain {[i]: 0 <= <= n}\na[i] = 1\n");
  CHECK(contains(rejected(f, "gen domain.loop", "").err, "domain.loop:2:"));
  f.write("unbounded.loop", "kernel k(n: int32, a: float64[n])\ndomain {[i]: 0 <= i}\na[i] = 1\n");
  CHECK(contains(rejected(f, "gen unbounded.loop", "").err, "`i`"));
  f.write("type.loop", "kernel k(n: int32, a: flat64[n])\ndomain {[i]: 0 <= i < n}\na[i] = 1\n");
  CHECK(contains(rejected(f, "gen type.loop", "").err, "flat64"));
  f.write("bounds.loop",
          "kernel k(n: int32, a: float64[n])\ndomain {[i]: 0 <= i < n}\na[i+1] = 1\n");
  rejected(f, "gen bounds.loop", "out-of-bounds");
}

TEST_CASE("cli: strange bytes, long lines and deep nesting do not crash") {
  const Folder f;
  const std::string head = "kernel k(n: int32, a: float64[n])\ndomain {[i]: 0 <= i < n}\n";
  f.write("latin.loop", head + "a[i] = 1 # caf\xe9\n");
  rejected(f, "gen latin.loop", "");
  f.write("nul.loop", head + std::string("a[i] \0= 1\n", 10));
  rejected(f, "gen nul.loop", "");
  f.write("deep.loop",
          head + "a[i] = " + std::string(100000, '(') + "1" + std::string(100000, ')') + "\n");
  rejected(f, "gen deep.loop", "");
  std::string line = "a[i] = 1";
  while (line.size() < 2'000'000) line += " + n*(i + 12345)";
  f.write("long.loop", head + line + "\n");
  const Outcome o = tool("gen long.loop", f.str());
  CHECK((o.status == 0 || o.status == 1));
  f.write("junk.loop", head + "a[i] = " + std::string(2'000'000, 'x') + "\n");
  const Outcome junk = tool("gen junk.loop", f.str());
  CHECK(junk.status == 1);
}

TEST_CASE("cli: bad scripts") {
  const Folder f;
  f.write("k.loop", kDouble);
  f.write("syntax.lua", "x = = 1\n");
  CHECK(rejected(f, "gen k.loop -t syntax.lua", "script-syntax").err ==
        "syntax.lua:1:1: error: unexpected symbol near '=' [script-syntax]\n"
        "  1 | x = = 1\n"
        "    | ^^^^^^^\n");
  f.write("iname.lua", "-- tile\ntwice = lp.split_iname(twice, 'k', 4)\n");
  CHECK(rejected(f, "gen k.loop -t iname.lua", "bad-argument").err ==
        "iname.lua:2:12: error: bad argument #2 to 'split_iname' (kernel 'twice' has no iname 'k'; "
        "it has i) [bad-argument]\n"
        "  2 | twice = lp.split_iname(twice, 'k', 4)\n"
        "    |            ^^^^^^^^^^^\n");
  f.write("shell.lua", "os.execute('touch made')\n");
  rejected(f, "gen k.loop -t shell.lua", "sandbox");
  CHECK(!f.has("made"));
  CHECK(tool("gen k.loop -t shell.lua --trust", f.str()).status == 0);
  CHECK(f.has("made"));
  f.write("memory.lua",
          "local t = {} while true do t[#t + 1] = string.rep('x', 1 << 24) .. #t end\n");
  rejected(f, "gen k.loop -t memory.lua", "script-memory");
  f.write("endless.lua", "while true do end\n");
  rejected(f, "gen k.loop -t endless.lua", "script-limit");
  f.write("bytes.lua", std::string("\x1bLua", 4));
  rejected(f, "gen k.loop -t bytes.lua", "");
  f.write("empty.lua", "");
  rejected(f, "gen empty.lua", "no-kernel");
}
