#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <vector>

#include "codegen/codegen.h"
#include "core/base/diagnostic.h"
#include "tests/cli/harness.h"

/// The interactive loop, through a pipe and at a pseudo-terminal.
namespace moonloop::test {
namespace {

using Clock = std::chrono::steady_clock;

/// `moonloop repl ARGUMENTS` at a terminal of 80 columns, in `folder`, with its history there.
class Terminal {
 public:
  Terminal(const Folder& folder, const std::string& arguments, const std::string& term = "xterm") {
    const std::string binary =
        std::filesystem::weakly_canonical(std::filesystem::absolute(MOONLOOP_BINARY)).string();
    const std::string command = "cd '" + folder.str() + "' && XDG_STATE_HOME='" +
                                (folder / "state") + "' EDITRC=/dev/null TERM=" + term + " exec '" +
                                binary + "' repl " + arguments;
    winsize size{};
    size.ws_row = 40, size.ws_col = 80;
    child_ = forkpty(&fd_, nullptr, nullptr, &size);
    REQUIRE(child_ >= 0);
    if (child_ == 0) {
      execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
      _exit(127);
    }
    fcntl(fd_, F_SETFD, FD_CLOEXEC);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal() {
    if (child_ > 0) {
      kill(child_, SIGKILL);
      waitpid(child_, nullptr, 0);
    }
    close(fd_);
  }

  void type(const std::string& text) const {
    REQUIRE(write(fd_, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  }
  /// Waits until `text` comes in the output after earlier waits, and returns the output up to it.
  std::string wait_for(const std::string& text) {
    const auto start = Clock::now();
    while (true) {
      if (const auto at = seen_.find(text, passed_); at != std::string::npos) {
        const std::string out = seen_.substr(passed_, at + text.size() - passed_);
        passed_ = at + text.size();
        return out;
      }
      CAPTURE(seen_.substr(passed_));
      REQUIRE_MESSAGE(Clock::now() - start < std::chrono::seconds(60), "waited for: " << text);
      if (!read_some()) FAIL("the program ended; waited for: " << text << "\n" << seen_);
    }
  }
  /// Types a line and waits for something that it makes the program print.
  std::string say(const std::string& line, const std::string& answer) {
    type(line + "\n");
    return wait_for(answer);
  }
  /// The exit status, once the program has ended. `typed` comes again and again until then: libedit
  /// shows its prompt before it takes over the terminal, and input in between goes to the terminal.
  int status(const std::string& typed = "") {
    const auto start = Clock::now();
    auto next = start;
    while (read_some()) {
      REQUIRE_MESSAGE(Clock::now() - start < std::chrono::seconds(60), "waited for its end");
      if (typed.empty() || Clock::now() < next) continue;
      next += std::chrono::seconds(2);
      if (write(fd_, typed.data(), typed.size()) < 0) break;
    }
    int status = 0;
    REQUIRE(waitpid(child_, &status, 0) == child_);
    child_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  bool read_some() {
    pollfd ready{fd_, POLLIN, 0};
    constexpr int kMilliseconds = 500;
    if (poll(&ready, 1, kMilliseconds) == 0) return true;
    std::array<char, 4096> chunk{};
    const ssize_t n = read(fd_, chunk.data(), chunk.size());
    if (n <= 0) return false;  // EIO: the other end is closed
    seen_.append(chunk.data(), static_cast<std::size_t>(n));
    return true;
  }

  int fd_ = -1;
  pid_t child_ = -1;
  std::string seen_;
  std::size_t passed_ = 0;
};

const std::string kMatmul = (kRoot / "examples/matmul/matmul.loop").string();

/// As a terminal shows it.
std::string on_terminal(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '\n' ? std::string("\r\n") : std::string(1, c);
  return out;
}

#ifdef MOONLOOP_LIBEDIT
constexpr bool kEditsLines = true;
#else
constexpr bool kEditsLines = false;
#endif

}  // namespace

TEST_CASE("repl: steps, undo, branches and what they print, through a pipe") {
  const Folder f;
  f.write("k.loop", kDouble);
  const Outcome o = tool("repl k.loop", f.str(),
                         "split_iname('i', 16)\n"
                         "twice = twice:tag_inames{i_inner = 'unr'}\n"
                         ":undo\n"
                         ":redo\n"
                         ":undo 2\n"
                         ":redo 2\n"
                         ":branch other\n"
                         ":undo\n"
                         "tag_inames{i_inner = 'simd'}\n"
                         ":switch main\n"
                         ":branch\n"
                         "twice\n"
                         ":tree\n");
  CHECK(o.status == 0);
  CHECK(o.out ==
        "* main\n"
        "  other\n"
        "kernel twice(n: int32, a: float64[n], b: float64[n])\n"
        "  loops i_outer, i_inner: unr\n"
        "  b[i_inner + 16*i_outer] = 2*a[i_inner + 16*i_outer]  {id=double}\n"
        "  2 transforms, 0 claims\n"
        "for i_outer\n"
        "  for i_inner  [unr]\n"
        "    double\n");
  CHECK(o.err ==
        "[1] twice: split_iname(\"i\", 16); i -> i_outer, i_inner; legal\n"
        "[2] twice: tag_inames({i_inner = \"unr\"}); i_inner: unr; legal\n"
        "[2] undone: twice = twice:tag_inames{i_inner = 'unr'}\n"
        "[2] done again: twice = twice:tag_inames{i_inner = 'unr'}\n"
        "[2] undone: twice = twice:tag_inames{i_inner = 'unr'}\n"
        "[1] undone: split_iname('i', 16)\n"
        "[1] done again: split_iname('i', 16)\n"
        "[2] done again: twice = twice:tag_inames{i_inner = 'unr'}\n"
        "on branch other, after 2 steps; kernel twice\n"
        "[2] undone: twice = twice:tag_inames{i_inner = 'unr'}\n"
        "[2] twice: tag_inames({i_inner = \"simd\"}); i_inner: simd; legal\n"
        "on branch main, after 2 steps; kernel twice\n");
  CHECK(tool("repl k.loop --quiet", f.str(), "split_iname('i', 16)\n").err.empty());
}

TEST_CASE("repl: commands show what the command line shows") {
  const Folder f;
  f.write("k.loop", kDouble);
  const auto answer = [&](const std::string& lines) {
    return tool("repl k.loop", f.str(), lines).out;
  };
  CHECK(answer(":ir\n") == tool("show k.loop", f.str()).out);
  CHECK(answer(":tree\n") == tool("show k.loop --what tree", f.str()).out);
  CHECK(answer(":deps\n") == tool("show k.loop --what deps", f.str()).out);
  CHECK(answer(":deps double double\n") == tool("show k.loop --what deps", f.str()).out);
  CHECK(answer(":stats\n") == tool("show k.loop --what stats", f.str()).out);
  CHECK(answer(":schedule opencl\n") ==
        tool("show k.loop --what schedule --target opencl", f.str()).out);
  CHECK(answer(":code\n") == tool("gen k.loop", f.str()).out);
  CHECK(answer(":code cuda\n") == tool("gen k.loop --target cuda", f.str()).out);
  CHECK(answer(":set target=openmp\n:code\n") ==
        "target=openmp tolerance=1\n" + tool("gen k.loop --target openmp", f.str()).out);
  CHECK(answer(":run n=5\n") == tool("run k.loop -p n=5 --verify --quiet", f.str()).out);
  CHECK(answer(":check\n") == "twice: legal\n");
  CHECK(answer("split_iname('i', 4)\n:trace\n") ==
        "-- the transforms of kernel `twice`\ntwice = lp.split_iname(twice, \"i\", 4)\n");
  CHECK(answer(":help split_iname\n") == tool("doc split_iname").out);
  CHECK(answer(":help tree\n") == tool("doc :tree").out);
  for (const char* command :
       {":tree",  ":code", ":ir",   ":deps",   ":schedule", ":stats", ":trace",
        ":diff",  ":undo", ":redo", ":branch", ":switch",   ":run",   ":time",
        ":check", ":save", ":open", ":help",   ":set",      ":quit"})
    CHECK(contains(answer(":help\n"), command));
  CHECK(answer(":quit\nprint('not any more')\n").empty());
}

TEST_CASE("repl: diff of the last step") {
  const Folder f;
  f.write("k.loop", kDouble);
  const std::string out =
      tool("repl k.loop", f.str(),
           "split_iname('i', 16)\n:diff\n:diff 5\ntag_inames{i_outer = 'ord'}\n:diff\n")
          .out;
  CHECK(contains(out,
                 "--- tree after step 0\n+++ tree after step 1\n@@ -1,2 +1,3 @@\n"
                 "-for i\n-  double\n+for i_outer\n+  for i_inner\n+    double\n"));
  CHECK(contains(out, "--- code after step 0\n+++ code after step 1\n"));
  CHECK(contains(out, "-    b[i] = 2*a[i];\n"));
  CHECK(contains(tool("repl k.loop --color always", f.str(), "split_iname('i', 16)\n:diff\n").out,
                 "\033[31m-for i\033[0m\n"));
}

TEST_CASE("repl: a refused step is explained with a picture") {
  const Folder f;
  f.write("k.loop", kRecurrence);
  const Outcome o = tool("repl k.loop", f.str(), "tag_inames{i = 'par'}\n:check\n");
  CHECK(contains(o.err,
                 "<repl>:1:1: note: in script at <repl>:1\n"
                 "  1 | tag_inames{i = 'par'}\n"));
  CHECK(contains(o.err,
                 "  step at n = 3\n"
                 "    i  1  2\n"
                 "       A  B\n"
                 "  A  step[i=1] writes a[1]\n"
                 "  B  step[i=2] reads a[1]\n"
                 "  A has to run before B\n"));
  CHECK(o.out == "recur: legal\n");
  f.write("map.loop",
          "kernel scatter(n: int32, m: int32[n], a: float64[n])\n"
          "domain {[i]: 0 <= i < n}\n"
          "a[m[i]] = i   {id=set}\n");
  const Outcome claimed =
      tool("repl map.loop", f.str(),
           "tag_inames{i = 'par'}\nassume_injective('m')\ntag_inames{i = 'par'}\n:check\n");
  CHECK(contains(claimed.err, "[not-proved]"));
  CHECK(contains(claimed.err, "[1] scatter: assume_injective(\"m\"); claimed, not proved: "));
  CHECK(contains(claimed.err,
                 "[2] scatter: tag_inames({i = \"par\"}); i: par; legal, given the claims\n"));
  CHECK(contains(claimed.out, "scatter: legal\n  claimed, not proved: assume_injective(\"m\")\n"));
}

TEST_CASE("repl: wrong commands say what is right, and where errors are") {
  const Folder f;
  f.write("k.loop", kDouble);
  const std::string err =
      tool("repl k.loop", f.str(),
           ":tre\n:undo\n:redo\n:undo x\n:tree 1\n:code fortran\n:switch x\n:branch main\n:set "
           "what=1\n"
           ":set target=x\n:set tolerance=-1\n:set device=x\n:save\n:run n\n:deps a\n:deps a "
           "b\n:open none.loop\n"
           ":open none.lua\n:help nothing_at_all\n:run n=2 m=3\n:run n=x\n\n\nerror('here')\n"
           "  :set n=abc\n:time off n=6\n:time m=6\n")
          .err;
  std::vector<std::string> targets;
  for (const Target t : all_targets()) targets.push_back(to_string(t));
  const std::string no_target = "error: no target `fortran`; there is " + quoted_list(targets);
  CHECK(contains(err, no_target + " [unknown-target]"));
  for (const char* text :
       {"error: no command `:tre`; did you mean `:tree`? [unknown-command]",
        "error: nothing is there to undo on branch `main`, not 1 [nothing-to-undo]",
        "error: nothing is there to redo on branch `main`, not 1 [nothing-to-redo]",
        "error: `:undo` takes `[n]` [bad-command]",
        "error: `:tree` takes no arguments [bad-command]",
        "error: no branch or kernel `x`; there is `main`, `twice` [unknown-branch]",
        "error: `main` is the name of a branch already [name-taken]",
        "error: no setting `what`; there is `target`, `device`, `tolerance`, and each scalar of "
        "the "
        "kernel [unknown-setting]",
        "error: no target `x`",
        "error: `tolerance` is a finite number, at least 0 [bad-command]",
        "error: `device` is a number",
        "error: `:save` takes `FILE` [bad-command]",
        "error: `:run` takes NAME=VALUE, not `n` [bad-command]",
        "error: `:deps` takes `[a b]` [bad-command]",
        "[unknown-instruction]",
        "error: cannot read `none.loop`",
        "error: cannot read `none.lua`",
        "[unknown-topic]",
        "[bad-value]",
        "<repl>:24:1: error: here [script-error]",
        "<repl>:1:1: error: no command `:tre`",
        "<repl>:25:3: error: `abc` is not a value of `n`, which is of type int32 [bad-value]",
        "<repl>:26:1: error: `:time` takes `[on|off] [k=v...]` [bad-command]",
        "error: kernel `twice` has no scalar `m`; it has `n` [unknown-parameter]"}) {
    CAPTURE(err);
    CHECK_MESSAGE(contains(err, text), text);
  }
  CHECK(contains(tool("repl", f.str(), ":tree\n").err, "there is no current kernel"));
  CHECK(contains(tool("repl k.loop -t -", f.str(), "").err, "[bad-input]"));
  CHECK(tool("repl k.loop -t none.lua", f.str(), "").status == 1);
}

TEST_CASE("repl: a file is loaded, a script is run, step by step") {
  const Folder f;
  f.write("k.loop", kDouble);
  f.write("r.loop", kRecurrence);
  f.write("t.lua", "twice = twice:split_iname('i', 16):tag_inames{i_inner = 'unr'}\n");
  f.write("bad.lua", "twice = twice:split_iname('i', 16)\ntwice:split_iname('nope', 2)\n");
  const Outcome o =
      tool("repl k.loop", f.str(),
           ":open t.lua\n:undo\n#twice.inames, next(twice.iname_tags)\n:open r.loop\n"
           "recur.name\n:switch twice\n:trace\n:undo 2\n:open bad.lua\n#twice.inames\n");
  CHECK(o.status == 1);  // a script that reads it wants to know
  CHECK(o.out ==
        "2\tnil\nrecur\n-- the transforms of kernel `twice`\n"
        "twice = lp.split_iname(twice, \"i\", 16)\n2\n");
  CHECK(contains(o.err, "[2] twice: tag_inames({i_inner = \"unr\"}); i_inner: unr; legal\n"));
  CHECK(contains(o.err, "[2] recur: a new kernel\n"));
  CHECK(contains(o.err, "bad.lua:2:"));
  const Outcome t = tool("repl k.loop -t t.lua", f.str(), ":undo\n:trace\n");
  CHECK(contains(t.out, "twice = lp.split_iname(twice, \"i\", 16)\n"));
  CHECK(!contains(t.out, "tag_inames"));
  f.write("s.lua",
          "return lp.make_kernel('{[i]: 0 <= i < n}', 'b[i] = 2*a[i]', {name = 'made', "
          "args = 'a: float64[n], b: float64[n], ...'}):split_iname('i', 4)\n");
  const Outcome made = tool("repl s.lua", f.str(), ":save again.lua\n:run n=6\n");
  CHECK(contains(made.out, "verify: equal\n"));
  CHECK(tool("gen again.lua", f.str()).out == tool("gen s.lua", f.str()).out);
}

TEST_CASE("repl: differences between branches, counts with values, errors under --quiet") {
  const Folder f;
  f.write("k.loop", kDouble);
  const Outcome o = tool("repl k.loop --quiet", f.str(),
                         ":branch other\nsplit_iname('i', 16)\n:diff main\n:diff zzz\n"
                         ":set n=64\n:stats\n:run n=x\n");
  CHECK(contains(o.out, "--- tree on branch main\n+++ tree on branch other\n"));
  CHECK(contains(o.out, "flops  64 = n"));
  CHECK(contains(o.err, "no branch `zzz`; there is `main`, `other` [unknown-branch]"));
  CHECK(contains(o.err, "[bad-value]"));
  CHECK(o.status == 1);
}

TEST_CASE("repl: a run that crashes ends alone") {
  const Folder f;
  f.write("k.loop", kDouble);
  f.write("trap.h", "__attribute__((constructor)) static void trap(void) { __builtin_trap(); }\n");
  const std::string binary =
      std::filesystem::weakly_canonical(std::filesystem::absolute(MOONLOOP_BINARY)).string();
  const Outcome o = shell("XDG_CACHE_HOME='" + (f / "cache") + "' MOONLOOP_CFLAGS='-include " +
                              (f / "trap.h") + "' '" + binary + "' repl k.loop",
                          f.str(), ":run n=4\n'still here'\n");
  CHECK(o.status == 1);
  CHECK(o.out == "still here\n");
  CHECK(contains(o.err, "error: the run of kernel `twice` ended by signal "));
  CHECK(contains(o.err, "[run-crashed]"));
}

TEST_CASE("repl: code and a page are written to files") {
  const Folder f;
  f.write("k.loop", kDouble);
  const Outcome o = tool("repl k.loop", f.str(),
                         "split_iname('i', 4)\n:set n=6\n:code k.c\n:code openmp ./omp.c\n:code -\n"
                         ":code cuda -\n:view page.html\n:trace\n:save t.lua\n");
  CHECK(o.status == 0);
  CHECK(contains(o.err, "k.c: the code of kernel twice for c\n"));
  CHECK(contains(o.err, "./omp.c: the code of kernel twice for openmp\n"));
  CHECK(contains(o.err, "page.html: the page of kernel twice\n"));
  const std::string gen = "gen k.loop -t t.lua --target ";
  CHECK(f.read("k.c") == tool(gen + "c", f.str()).out);
  CHECK(f.read("omp.c") == tool(gen + "openmp", f.str()).out);
  CHECK(contains(o.out, f.read("k.c") + tool(gen + "cuda", f.str()).out));
  CHECK(f.read("page.html") == tool("view k.loop -t t.lua -p n=6", f.str()).out);
  // Sizes that other kernels have are not this one's.
  f.write("m.loop", "kernel other(m: int32, c: float64[m])\ndomain {[j]: 0 <= j < m}\nc[j] = 1\n");
  const Outcome two = tool("repl k.loop --quiet", f.str(),
                           ":set n=6\n:open m.loop\n:switch other\n:view other.html\n");
  CHECK(two.status == 0);
  CHECK(two.err.empty());
  CHECK(f.read("other.html") == tool("view m.loop", f.str()).out);
  const auto refused = [&](const std::string& line) {
    const Outcome wrong = tool("repl k.loop", f.str(), line + "\n");
    CHECK(wrong.status == 1);
    return wrong.err;
  };
  CHECK(contains(refused(":view"), "error: `:view` takes `FILE.html` [bad-command]"));
  CHECK(contains(refused(":view /nowhere/x.html"), "[cannot-write]"));
  CHECK(contains(refused(":code /nowhere/x.c"), "[cannot-write]"));
  CHECK(
      contains(refused(":code c openmp"), "error: `:code` takes `[target] [FILE]` [bad-command]"));
  CHECK(contains(refused(":code opencll"), "[unknown-target]"));
  CHECK(contains(tool("repl", f.str(), ":view x.html\n").err, "[no-kernel]"));
}

TEST_CASE("repl: help lists what applies") {
  const Folder f;
  f.write("k.loop", kDouble);
  const std::string without = tool("repl", f.str(), ":help\n").out;
  const std::string with = tool("repl k.loop", f.str(), ":help\n").out;
  const std::string loaded = tool("repl", f.str(), ":open k.loop\n:help\n").out;
  CHECK(loaded == with);
  for (const std::string line : {":tree", ":code", ":view x.html", ":run", ":save x.lua", ":check",
                                 ":ir", ":deps", ":stats", ":trace", ":schedule", ":time"}) {
    CAPTURE(line);
    const std::string listed = "\n  " + line.substr(0, line.find(' ')) + " ";
    CHECK(contains(with, listed));
    CHECK(!contains(without, listed));
    CHECK(contains(tool("repl", f.str(), line + "\n").err, "[no-kernel]"));  // and does not work
  }
  for (const char* command :
       {"\n  :open ", "\n  :help ", "\n  :set ", "\n  :quit ", "\n  :undo "}) {
    CAPTURE(command);
    CHECK(contains(with, command));
    CHECK(contains(without, command));
  }
  CHECK(contains(without, "There is no kernel yet"));
}

TEST_CASE("repl: exit status through a pipe") {
  const Folder f;
  f.write("k.loop", kDouble);
  f.write("total.loop",
          "kernel total(n: int32, a: float64[n], s: float64[1])\n"
          "domain {[i]: 0 <= i < n}\ns[0] = sum(i, a[i])\n");
  const auto status = [&](const std::string& input, const std::string& lines,
                          const std::string& environment = "") {
    const std::string binary =
        std::filesystem::weakly_canonical(std::filesystem::absolute(MOONLOOP_BINARY)).string();
    return shell("env XDG_CACHE_HOME='" + (f / "cache") + "' " + environment + " '" + binary +
                     "' repl " + input,
                 f.str(), lines)
        .status;
  };
  CHECK(status("k.loop", "") == 0);
  CHECK(status("k.loop", "split_iname('i', 4)\n:undo\n:run n=5\n") == 0);
  f.write("r.loop", kRecurrence);
  CHECK(status("r.loop", "lp.attempt(lp.tag_inames, recur, {i = 'par'})\n") == 0);
  // A line that failed, even with lines after it.
  CHECK(status("k.loop", "error('no')\n:tree\n") == 1);
  CHECK(status("k.loop", "for\n") == 1);  // and at the end of the input
  CHECK(status("k.loop", ":tre\n") == 1);
  CHECK(status("k.loop", "split_iname('z', 4)\n:quit\n") == 1);
  CHECK(status("k.loop", ":run\n") == 1);
  CHECK(status("none.loop", "") == 1);
  CHECK(status("k.loop --nonsense", "") == 2);
  CHECK(status("k.loop", ":run n=5\n", "CC=/bin/false") == 4);
  CHECK(status("k.loop", "error('no')\n:run n=5\n", "CC=/bin/false") == 1);
  CHECK(tool_on_full_device("repl k.loop", f.str(), ":tree\n").status == 1);
  const std::string apart =
      ":set tolerance=0\nsplit_iname('i', 8)\nsplit_reduction_outward('i_inner')\n:run n=1000\n";
  CHECK(status("total.loop", apart) == 3);
  CHECK(status("total.loop", apart + "split_iname('z', 4)\n") == 1);
  CHECK(status("total.loop", apart + ":set tolerance=1\n:run\n") == 3);
}

TEST_CASE("repl: measured effects") {
  const Folder f;
  f.write("k.loop", kDouble);
  const Outcome o = tool("repl k.loop", f.str(),
                         ":time n=1000\nsplit_iname('i', 10)\n:time off\n"
                         "tag_inames{i_inner = 'unr'}\n");
  CHECK(contains(o.out, "time: "));
  CHECK(contains(o.err, "times are on"));
  CHECK(contains(o.err, "i -> i_outer, i_inner; legal; "));
  CHECK(contains(o.err, " times as fast\n"));
  CHECK(contains(o.err, "i_inner: unr; legal\n"));
}

TEST_CASE("repl: completion, history, undo, branch and save at a terminal") {
  if (!kEditsLines) return;
  const Folder f;
  std::string code;
  {
    Terminal t(f, "'" + kMatmul + "'");
    t.wait_for("matmul> ");
    t.type("matmul:split_in\t");  // completed as a transform
    t.type("(\"\t\t");
    t.wait_for("i  j  k");  // nothing in common: all are listed
    t.say("i\", 32, {outer_t\t\"par\"})", "i -> i_outer, i_inner; i_outer: par; legal");
    t.say("split_iname('j', 8)", "j -> j_outer, j_inner; legal");
    t.say(":un\t", "[2] undone: split_iname('j', 8)");
    t.say(":branch wide", "on branch wide, after 1 step");
    t.wait_for("matmul@wide> ");
    t.type("\033[A\033[A\033[A");  // three lines up: the split by 8
    t.say("", "j -> j_outer, j_inner; legal");
    t.say(":switch mai\t", "on branch main");
    t.say("split_iname('j', 64)", "j -> j_outer, j_inner; legal");
    t.say("prioritize_loops('i_outer, j_outer, i_inner, j_inner')", "nested as");
    t.say(":save tiled.lua", "tiled.lua: the 3 transforms of kernel matmul");
    t.wait_for("matmul@main> ");
    code = tool("gen '" + kMatmul + "' -t tiled.lua", f.str()).out;
    CHECK(contains(code, "j_outer"));
    t.say(":code", on_terminal(code));  // byte for byte
    t.wait_for("matmul@main> ");
    t.type(":quit\n");
    CHECK(t.status() == 0);
  }
  CHECK(f.read("tiled.lua") ==
        "-- the transforms of kernel `matmul`\n"
        "matmul = lp.split_iname(matmul, \"i\", 32, {outer_tag = \"par\"})\n"
        "matmul = lp.split_iname(matmul, \"j\", 64)\n"
        "matmul = lp.prioritize_loops(matmul, \"i_outer, j_outer, i_inner, j_inner\")\n");
  // The next session knows the lines of this one.
  CHECK(contains(f.read("state/moonloop/history"), "split_iname('j', 64)\n"));
  Terminal t(f, "'" + kMatmul + "'");
  t.wait_for("matmul> ");
  t.type("\033[A\033[A\033[A\033[A\033[A");  // :quit, :code, :save, prioritize_loops, split_iname
  t.say("", "j -> j_outer, j_inner; legal");
  t.wait_for("matmul> ");
  CHECK(t.status("\004") == 0);  // the end of the input
}

TEST_CASE("repl: Ctrl-C stops Lua, a run or a line, and the session goes on") {
  const Folder f;
  for (const char* term : {"xterm", "dumb"}) {  // with line editing, and without
    CAPTURE(term);
    Terminal t(f, "'" + kMatmul + "'", term);
    t.wait_for("matmul> ");
    t.say("split_iname('i', 32)", "legal");
    t.say("print('g' .. 'o') while true do end", "go\r\n");
    t.type("\003");
    t.wait_for("interrupted");
    t.wait_for("matmul> ");
    t.say(":run n=1000", "note: verifying");  // for minutes, in the interpreter
    t.type("\003");
    t.wait_for("interrupted");
    t.wait_for("matmul> ");
    t.type("this is not a line \003");
    t.wait_for("matmul> ");
    t.say("for i = 1, 2 do", ">> ");
    t.type("\003");
    t.wait_for("matmul> ");
    t.say("#matmul.inames .. ' loops'", "4 loops");  // the step is still there
    t.wait_for("matmul> ");
    CHECK(t.status("\004") == 0);
  }
}

TEST_CASE("repl: a history that cannot be written is told once") {
  if (!kEditsLines) return;
  const Folder f;
  f.write("state", "a file where the folder should be\n");
  Terminal t(f, "");
  t.wait_for("> ");
  t.say("'o' .. 'ne'", "warning: cannot write the history");
  t.wait_for("one");
  const std::string after = t.say("'tw' .. 'o'", "two");
  CHECK(!contains(after, "warning"));
  t.wait_for("> ");
  CHECK(t.status("\004") == 0);
}

TEST_CASE(
    "repl: the newcomer's path of the tutorial, ten lines at most, ends in a verified kernel") {
  // The lines typed in the tutorial's first session.
  const std::string page = read_file(kRoot / "docs/tutorial.md");
  const std::string opening = "```repl examples/matmul/matmul.loop\n";
  const auto from = page.find(opening);
  REQUIRE(from != std::string::npos);
  std::istringstream block(page.substr(from + opening.size(), page.find("\n```", from) - from));
  std::vector<std::string> lines;
  for (std::string line; std::getline(block, line) && line != "```";)
    if (line.starts_with("matmul> ")) lines.push_back(line.substr(8));
  REQUIRE(lines.size() >= 5);
  CHECK(lines.size() <= 10);

  const Folder f;
  const auto start = Clock::now();
  Terminal t(f, "'" + kMatmul + "'");
  for (const std::string& line : lines) {
    t.wait_for("matmul> ");
    t.type(line + "\n");
  }
  CHECK(t.status() == 0);
  CHECK(Clock::now() - start < std::chrono::seconds(60));
  REQUIRE(f.has("tiled.lua"));
  const std::string run =
      "run '" + kMatmul + "' -t tiled.lua --target openmp -p n=100 --verify --quiet";
  CHECK(contains(tool(run, f.str()).out, "verify: equal\n"));
  const std::string tree = tool("show '" + kMatmul + "' -t tiled.lua --what tree", f.str()).out;
  CHECK(contains(tree, "for i_outer  [par]\n  for j_outer\n    for i_inner\n      for j_inner\n"));
}

}  // namespace moonloop::test
