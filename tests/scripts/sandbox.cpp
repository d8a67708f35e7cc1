#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/scripts/harness.h"

using namespace moonloop;        // NOLINT
using namespace moonloop::test;  // NOLINT

namespace {

/// A new folder that goes away again.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "moonloop-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name) << text;
  }
  std::string str() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace

TEST_CASE("sandbox: no programs, no writing, no bytecode, no end of the process") {
  for (const std::string call :
       {"os.execute('true')", "os.exit(0)", "os.remove('x')", "os.rename('x', 'y')", "os.tmpname()",
        "os.getenv('HOME')", "io.popen('true')", "io.tmpfile()", "io.output('x')",
        "package.loadlib('libc.so.6', '*')", "string.dump(print)"}) {
    CAPTURE(call);
    const Diagnostic d = failure(kDouble, call);
    CHECK(d.code == "sandbox");
    CHECK(d.text == call.substr(0, call.find('(')) + " needs --trust");
    CHECK(place(d) == "1:" + std::to_string(call.find('.') + 2));
  }
  CHECK(failure(kDouble, "io.open('x', 'w')").text == "io.open with mode `w` needs --trust");
  CHECK(failure(kDouble, "io.open('x', 'r+')").code == "sandbox");
  run_lua(kDouble, R"(
    assert(debug == nil)
    local f, why = load("\27Lua")
    assert(f == nil and why:find("binary"))
    assert(load("\27Lua", "x", "b") == nil)
    assert(load("return 1 + 1")() == 2)
    local e = {} load("x = 1", "c", "t", e)() assert(e.x == 1)
    assert(#package.searchers == 2 and package.cpath == nil)
    assert(not pcall(require, "posix"))
  )");
}

TEST_CASE("sandbox: --trust lifts it") {
  ScriptOptions o;
  o.trust = true;
  run_lua(kDouble, R"(
    assert(os.execute() and os.getenv("PATH") and debug.traceback())
    local f = load(string.dump(function() return 7 end))
    assert(f() == 7)
  )",
          o);
}

TEST_CASE("sandbox: an endless script ends, also one that catches errors") {
  ScriptOptions o;
  o.instructions = 1'000'000;
  for (const char* lua :
       {"while true do end", "while true do pcall(function() while true do end end) end",
        "coroutine.wrap(function() while true do end end)()",
        "local f = function() while true do end end  xpcall(f, f)",
        "while true do local k = lp.split_iname(twice, 'i', 2) end"}) {
    CAPTURE(lua);
    const Diagnostic d = failure(kDouble, lua, o);
    CHECK(d.code == "script-limit");
    CHECK(d.text == "the script ran more than 1000000 instructions");
    CHECK(d.hint == "--trust takes the limit away");
    CHECK(d.where.at.line == 1);
  }
}

TEST_CASE("sandbox: a script that eats memory ends") {
  ScriptOptions o;
  o.memory = 16 << 20;
  for (const char* lua :
       {"local t = {} while true do t[#t + 1] = {} end",
        "local s = 'x' while true do s = s .. s end", "string.rep('x', 1 << 30)"}) {
    CAPTURE(lua);
    const Diagnostic d = failure(kDouble, lua, o);
    CHECK(d.code == "script-memory");
    CHECK(d.text == "the script needs more than 16 MiB of memory");
    CHECK(d.where.at.line == 1);
  }
  const Diagnostic kernels =
      failure(kDouble, "local t = {} while true do t[#t + 1] = twice:split_iname('i', 2) end", o);
  CHECK(kernels.code == "script-memory");
  // kernels that nothing holds any more do not count
  run_lua(kDouble, "for i = 1, 3000 do local k = twice:tag_inames{i = 'unr'} end", o);
}

TEST_CASE("sandbox: recursion without end is an error of the script") {
  const Diagnostic d = failure(kDouble, "local function f() return 1 + f() end\nf()");
  CHECK(d.code == "script-error");
  CHECK(d.text.find("stack overflow") != std::string::npos);
}

TEST_CASE("scripts: require, dofile and load look next to the script") {
  const Folder folder;
  folder.write("tiles.lua",
               "local M = {}\nfunction M.tile(k) return k:split_iname('i', 8) end\n"
               "function M.bad(k)\n  return k:split_iname('q', 8)\nend\nreturn M\n");
  folder.write("sub/deep.lua", "return {name = ...}");
  folder.write("pack/init.lua", "return 'pack'");
  folder.write("broken.lua", "return\nreturn return");
  folder.write("k.loop", kDouble);
  ScriptOptions o;
  o.directory = folder.str();
  run_lua(kDouble, R"(
    local tiles = require "tiles"
    assert(tiles == require "tiles")
    assert(tiles.tile(twice).inames[2] == "i_inner")
    assert(require "sub.deep".name == "sub.deep" and require "pack" == "pack")
    assert(dofile("sub/deep.lua").name == nil)
    assert(loadfile("pack/init.lua")() == "pack")
    assert(lp.load("k.loop") == twice)
    assert(io.open((...) or "nothing", "r") == nil)
  )",
          o);
  const Diagnostic bad = failure(kDouble, "require('tiles').bad(twice)", o);
  REQUIRE(bad.where.at.source);
  CHECK(bad.where.at.source->name == folder.str() + "/tiles.lua");
  CHECK(bad.where.at.line == 4);
  CHECK(failure(kDouble, "require 'broken'", o).code != "internal-error");
  const Diagnostic none = failure(kDouble, "require 'nosuch'", o);
  CHECK(none.text.find("no file '" + folder.str() + "/nosuch.lua'") != std::string::npos);
  CHECK(failure(kDouble, "lp.load('none.loop')", o).code == "cannot-read");
}
