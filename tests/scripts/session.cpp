#include "scripts/session.h"

#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "core/model/print.h"
#include "runtime/in_child.h"
#include "scripts/interrupt.h"
#include "tests/scripts/harness.h"

namespace moonloop::test {
namespace {

constexpr const char* kTwo = R"(
kernel twice(n: int32, a: float64[n], b: float64[n])
domain {[i]: 0 <= i < n}
b[i] = 2*a[i]   {id=double}
kernel thrice(n: int32, a: float64[n], b: float64[n])
domain {[i]: 0 <= i < n}
b[i] = 3*a[i]   {id=triple}
)";

/// Feeds one line that must be complete and right.
Outcome fed(Session& s, const std::string& line) {
  Outcome out = s.feed(line);
  CHECK(!out.unfinished);
  if (out.failure) FAIL(line << ": " << out.failure->all.front().text);
  return out;
}

/// The error of a line.
Diagnostic failed(Session& s, const std::string& line) {
  const Outcome out = s.feed(line);
  REQUIRE(out.failure);
  return out.failure->all.front();
}

template <class F>
std::string code_of(F f) {
  try {
    f();
  } catch (const Error& e) { return e.diagnostic().code; }
  return "none";
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("session: a line that changes a kernel is a step, any other is none") {
  const std::vector<Kernel> kernels = parse(kTwo);
  Session s(kernels, kernels, {});
  CHECK(s.now().current == "twice");
  CHECK(s.history().steps() == 0);
  fed(s, "x = 1");
  CHECK(s.history().steps() == 0);
  const Outcome out = fed(s, "twice = twice:split_iname('i', 16)");
  REQUIRE(out.changes.size() == 1);
  REQUIRE(out.changes[0].size() == 1);
  CHECK(out.changes[0][0].global == "twice");
  CHECK(derives_from(*out.changes[0][0].after, *out.changes[0][0].before));
  CHECK(s.history().steps() == 1);
  CHECK(s.kernel().inames() == Names{"i_outer", "i_inner"});
  fed(s, "twice = twice");
  fed(s, "twice = lp.split_iname(lp.parse(twice:text()), 'i_inner', 2) and twice");
  CHECK(s.history().steps() == 1);
}

TEST_CASE("session: three ways to a step") {
  const std::vector<Kernel> kernels = parse(kTwo);
  Session s(kernels, kernels, {});
  fed(s, "twice:split_iname('i', 16)");  // an expression derived from the kernel
  fed(s, "split_iname('i_inner', 4)");   // a bare name
  fed(s, "twice = lp.tag_inames(twice, {i_outer = 'par'})");  // an assignment
  CHECK(s.history().steps() == 3);
  CHECK(s.kernel().trace.size() == 3);
  fed(s,
      "for _, f in ipairs{2, 2} do split_iname('i_inner_outer', f, {outer_iname = 'o' .. "
      "#twice.inames}) "
      "rename_iname('i_inner_outer_inner', 'i_inner_outer') end");
  CHECK(s.history().steps() == 4);  // one line, one step
  CHECK(s.kernel().trace.size() == 7);
  CHECK(s.history().lines().at(1) == "split_iname('i_inner', 4)");
}

TEST_CASE("session: a kernel that a global holds already is looked at, not adopted") {
  const std::vector<Kernel> kernels = parse(kTwo);
  Session s(kernels, kernels, {});
  fed(s, "split = twice:split_iname('i', 16)");
  CHECK(s.now().current == "split");
  CHECK(s.history().steps() == 1);
  fed(s, "print = function() end");  // the output does not matter here
  fed(s, "split");
  fed(s, "twice");
  CHECK(s.history().steps() == 1);
  CHECK(s.now().kernels.at("twice")->trace.empty());
}

TEST_CASE("session: undo and redo restore the globals") {
  const std::vector<Kernel> kernels = parse(kTwo);
  Session s(kernels, kernels, {});
  fed(s, "split_iname('i', 16)");
  fed(s, "other = thrice:split_iname('i', 8)");
  CHECK(s.now().current == "other");
  s.undo();
  CHECK(s.now().current == "twice");
  CHECK(s.now().kernels.count("other") == 0);
  fed(s, "_ = assert(other == nil and #twice.inames == 2)");
  s.undo();
  fed(s, "_ = assert(#twice.inames == 1)");
  CHECK(code_of([&] { s.undo(); }) == "nothing-to-undo");
  s.redo(2);
  fed(s, "_ = assert(#other.inames == 2 and #twice.inames == 2)");
  CHECK(code_of([&] { s.redo(); }) == "nothing-to-redo");
  s.undo();
  fed(s, "split_iname('i_inner', 2)");  // another line of states
  CHECK(code_of([&] { s.redo(); }) == "nothing-to-redo");
  CHECK(s.history().steps() == 2);
}

TEST_CASE("session: branches") {
  const std::vector<Kernel> kernels = parse(kTwo);
  Session s(kernels, kernels, {});
  fed(s, "split_iname('i', 16)");
  s.make_branch("wide");
  CHECK(s.history().branches() == Names{"main", "wide"});
  fed(s, "tag_inames{i_inner = 'simd'}");
  CHECK(s.history().steps() == 2);
  s.switch_to("main");
  CHECK(s.history().steps() == 1);
  fed(s, "_ = assert(not twice.iname_tags.i_inner)");
  fed(s, "tag_inames{i_inner = 'unr'}");
  s.switch_to("wide");
  fed(s, "_ = assert(twice.iname_tags.i_inner == 'simd')");
  s.switch_to("thrice");  // a kernel
  CHECK(s.now().current == "thrice");
  CHECK(s.history().branch() == "wide");
  CHECK(code_of([&] { s.make_branch("main"); }) == "name-taken");
  CHECK(code_of([&] { s.make_branch("twice"); }) == "name-taken");
  CHECK(code_of([&] { s.switch_to("wyde"); }) == "unknown-branch");
}

TEST_CASE("session: lines that continue, and where errors are") {
  const std::vector<Kernel> kernels = parse(kTwo);
  Session s(kernels, kernels, {});
  CHECK(s.feed("for i = 1, 2 do").unfinished);
  CHECK(s.wants_more());
  fed(s, "x = i end");
  CHECK(!s.wants_more());
  s.skip_line(":tree");
  CHECK(s.feed("function f()").unfinished);
  CHECK(s.feed("  error('oops')").unfinished);
  fed(s, "end");
  const Diagnostic d = failed(s, "f()");
  CHECK(d.text == "oops");
  CHECK(d.where.at.str() == "<repl>:5:3");
  CHECK(failed(s, "x = = 1").code == "script-syntax");
  CHECK(s.feed("if").unfinished);
  s.drop_pending();
  CHECK(!s.wants_more());
  CHECK(s.feed("while true do").unfinished);
  const Outcome end = s.finish();
  REQUIRE(end.failure);
  CHECK(end.failure->all.front().code == "script-syntax");
}

TEST_CASE("session: what a line did before it failed is a step") {
  const std::vector<Kernel> kernels = parse(kTwo);
  Session s(kernels, kernels, {});
  const Outcome out = s.feed("split_iname('i', 16); error('late')");
  CHECK(out.failure);
  CHECK(out.changes.size() == 1);
  CHECK(s.history().steps() == 1);
  fed(s, "_ = assert(#twice.inames == 2)");
}

TEST_CASE("session: bare names need a kernel, and globals win over them") {
  Session empty({}, {}, {});
  CHECK(failed(empty, "split_iname('i', 4)").code == "no-kernel");
  CHECK(code_of([&] { empty.kernel(); }) == "no-kernel");
  fed(empty, "assume = 5; _ = assert(assume == 5)");
  fed(empty, "k = lp.make_kernel('{[i]: 0 <= i < n}', 'b[i] = 2*a[i]', {name = 'made'})");
  CHECK(empty.now().current == "k");
  fed(empty, "split_iname('i', 4)");
  CHECK(empty.kernel().trace.size() == 1);
  CHECK(
      failed(empty, "split_iname('j', 4)").text ==
      "bad argument #1 to 'split_iname' (kernel 'made' has no iname 'j'; it has i_outer, i_inner)");
}

TEST_CASE("session: a script's transforms are steps of their own") {
  const std::string path =
      (std::filesystem::temp_directory_path() / fmt::format("session-{}.lua", ::getpid())).string();
  std::ofstream(path)
      << "local function tile(k) return k:split_iname('i', 16):split_iname('i_inner', "
         "4) end\n"
         "twice = tile(twice)\n"
         "function helper() return 7 end\n";
  const std::vector<Kernel> kernels = parse(kTwo);
  Session s(kernels, kernels, {});
  const Outcome out = s.open_script(path);
  CHECK(!out.failure);
  CHECK(out.changes.size() == 2);
  CHECK(s.history().steps() == 2);
  fed(s, "_ = assert(helper() == 7)");
  s.undo();
  CHECK(s.kernel().trace.size() == 1);
  std::filesystem::remove(path);
  CHECK(code_of([&] { s.open_script(path); }) == "cannot-read");
}

TEST_CASE("session: the saved script replays the kernel, undone steps left out") {
  const std::vector<Kernel> kernels = parse(kTwo);
  Session s(kernels, kernels, {});
  fed(s, "split_iname('i', 16)");
  fed(s, "tag_inames{i_inner = 'unr'}");
  s.undo();
  fed(s, "tag_inames{i_inner = 'simd'}");
  const std::string script = s.script_for(s.kernel());
  CHECK(script ==
        "-- the transforms of kernel `twice`\n"
        "twice = lp.split_iname(twice, \"i\", 16)\n"
        "twice = lp.tag_inames(twice, {i_inner = \"simd\"})\n");
  CHECK(print_kernel(transform_all(kTwo, script).front()) == print_kernel(s.kernel()));
  CHECK(print_kernel(s.original_of(s.kernel())) == print_kernel(kernels.front()));
}

TEST_CASE("session: kernels that it made come with their text") {
  Session s({}, {}, {});
  std::string text = kDouble;
  std::replace(text.begin(), text.end(), '\n', '~');
  fed(s, "k = lp.parse((([[" + text + "]]):gsub('~', '\\n')))");
  fed(s, "print = function() end");
  const std::string plain = s.script_for(s.kernel());
  CHECK(print_kernel(run_kernel_script(add_source("saved.lua", plain), {}).front()) ==
        print_kernel(s.kernel()));
  fed(s, "split_iname('i', 16)");
  const std::string script = s.script_for(s.kernel());
  const std::vector<Kernel> again = run_kernel_script(add_source("saved.lua", script), {});
  REQUIRE(again.size() == 1);
  CHECK(print_kernel(again.front()) == print_kernel(s.kernel()));
  CHECK(s.original_of(s.kernel()).trace.empty());
  // Of very many kernels the first are forgotten.
  fed(s,
      "all = {}; for i = 1, 300 do all[i] = lp.make_kernel('{[i]: 0 <= i < n}', 'b[i] = ' .. i, "
      "{name = 'k' .. i}):split_iname('i', 2) end");
  fed(s, "k = all[1]");
  CHECK(code_of([&] { s.script_for(s.kernel()); }) == "cannot-replay");
  fed(s, "k = all[300]");
  CHECK(s.script_for(s.kernel()).find("lp.split_iname(k300, \"i\", 2)") != std::string::npos);
}

TEST_CASE("session: an interrupt stops Lua, whatever the script catches") {
  const CatchInterrupts catching;
  ScriptOptions options;
  options.interrupted = interrupted;
  for (const bool trust : {false, true}) {
    CAPTURE(trust);
    options.trust = trust;
    const std::vector<Kernel> kernels = parse(kTwo);
    Session s(kernels, kernels, options);
    for (const char* line :
         {"while true do end", "while true do pcall(function() while true do end end) end",
          "coroutine.wrap(function() while true do end end)()",
          "while true do twice:split_iname('i', 4) end"}) {
      CAPTURE(line);
      forget_interrupt();
      // The signal comes after a while, from outside of this thread's control.
      const itimerval soon{{0, 0}, {0, 50'000}};
      struct sigaction old {
      }, raise_interrupt{};
      raise_interrupt.sa_handler = [](int) { ::raise(SIGINT); };
      sigaction(SIGALRM, &raise_interrupt, &old);
      setitimer(ITIMER_REAL, &soon, nullptr);
      CHECK(failed(s, line).code == "interrupted");
      sigaction(SIGALRM, &old, nullptr);
    }
    forget_interrupt();
    fed(s, "split_iname('i', 16)");  // isl works again
    CHECK(s.history().steps() == 1);
  }
}

TEST_CASE("session: each line has all of the instructions that a script may run") {
  ScriptOptions options;
  options.instructions = 1'000'000;
  Session s({}, {}, options);
  for (int i = 0; i < 3; ++i) fed(s, "for i = 1, 300000 do end");
  CHECK(failed(s, "while true do end").code == "script-limit");
  fed(s, "for i = 1, 300000 do end");
}

TEST_CASE("session: a refusal carries its two instances") {
  const std::vector<Kernel> kernels = parse(kRecurrence);
  Session s(kernels, kernels, {});
  const Outcome out = s.feed("tag_inames{i = 'par'}");
  REQUIRE(out.failure);
  CHECK(out.failure->all.front().code == "races");
  REQUIRE(out.failure->counterexample);
  const Counterexample& c = *out.failure->counterexample;
  CHECK(c.first.id == "step");
  CHECK(c.first.inames == Names{"i"});
  CHECK(c.first.at == std::vector<std::int64_t>{1});
  CHECK(c.second.at == std::vector<std::int64_t>{2});
  CHECK(c.first.does == "writes a[1]");
  CHECK(c.second.does == "reads a[1]");
  CHECK(c.params.at("n") == 3);
}

TEST_CASE("child: a result comes back whole; a stop and a crash are told") {
  const std::string large(300'000, 'x');
  CHECK(run_in_child([&] { return large; }).text == large);
  CHECK(run_in_child([] { return std::string(); }).text.empty());
  const ChildResult crash = run_in_child([]() -> std::string {
    ::raise(SIGKILL);
    return "no";
  });
  CHECK(crash.signal == SIGKILL);
  const ChildResult stopped = run_in_child(
      []() -> std::string {
        for (;;) ::pause();
      },
      [] { return true; });
  CHECK(stopped.stopped);
}

}  // namespace moonloop::test
