#include <nlohmann/json.hpp>

#include "tests/cli/harness.h"

using namespace moonloop::test;  // NOLINT

namespace {

const char* const kScript =
    "local bi = lp.knob('bi', {16, 32, 64}, {default = 32})\n"
    "twice = twice:split_iname('i', bi)\n"
    "if lp.knob('simd', {true, false}, {default = false}) then\n"
    "  twice = twice:tag_inames{i_inner = 'simd'}\n"
    "end\n";

}  // namespace

TEST_CASE("knobs: all commands that take scripts take their values") {
  const Folder f;
  f.write("k.loop", kDouble);
  f.write("t.lua", kScript);
  const Outcome by_default = tool("gen k.loop -t t.lua", f.str());
  CHECK(by_default.status == 0);
  CHECK(has(by_default.out, "32*i_outer"));
  const Outcome given =
      tool("gen k.loop -t t.lua --knob bi=64 --knob simd=true --target openmp", f.str());
  CHECK(given.err.empty());
  CHECK(has(given.out, "64*i_outer"));
  CHECK(has(given.out, "omp simd"));
  const Outcome checked = tool("check k.loop -t t.lua --knob bi=16", f.str());
  CHECK(has(checked.out, "split_iname(\"i\", 16): ok"));
  CHECK(
      has(tool("run k.loop -t t.lua --knob bi=16 -p n=40 --verify", f.str()).out, "verify: equal"));
  CHECK(has(tool("show k.loop -t t.lua --knob bi=16", f.str()).out, "16*i_outer"));
  CHECK(has(tool("view k.loop -t t.lua --knob bi=16", f.str()).out, "split_iname"));
  const Outcome session = tool("repl k.loop -t t.lua --knob bi=16", f.str(),
                               ":trace\nprint(lp.knob('u', {1, 2}))\nprint(lp.knob('u', {3}))\n");
  CHECK(session.status == 0);
  CHECK(has(session.out, "-- knob bi = 16 (of 16, 32, 64; command line)\n"));
  CHECK(has(session.out, "1\n3\n"));  // a line may declare it anew
}

TEST_CASE("knobs: what is wrong with --knob") {
  const Folder f;
  f.write("k.loop", kDouble);
  f.write("t.lua", kScript);
  for (const char* command : {"gen", "run -p n=40", "check", "show", "view"}) {
    CAPTURE(command);
    const auto error = [&](const std::string& knobs) {
      const Outcome o = tool(std::string(command) + " k.loop -t t.lua " + knobs, f.str());
      CHECK(o.status == 1);
      return o.err;
    };
    CHECK(error("--knob bi=48") ==
          "t.lua:1:15: error: `48` is not a value of knob `bi`; it has `16`, `32`, `64` "
          "[unlisted-value]\n"
          "  1 | local bi = lp.knob('bi', {16, 32, 64}, {default = 32})\n"
          "    |               ^^^^\n");
    CHECK(error("--knob smid=true") ==
          "error: no script declares a knob `smid`, which `--knob smid=true` gives; they declare "
          "`bi`, `simd`; did you mean `simd`? [unknown-knob]\n");
    CHECK(has(error("--knob bi=16 --knob bi=32"),
              "knob `bi` is given twice, as 16 and 32 [repeated-parameter]"));
    CHECK(tool(std::string(command) + " k.loop -t t.lua --knob bi", f.str()).status == 2);
  }
  const Outcome session = tool("repl k.loop --knob bi=16", f.str(), "1\n");
  CHECK(session.status == 1);
  CHECK(has(session.err, "no script declares a knob `bi`"));
  f.write("u.lua", "lp.knob('bi', {1})\n");
  const Outcome twice = tool("check k.loop -t t.lua -t u.lua", f.str());
  CHECK(twice.status == 1);
  CHECK(has(twice.err, "u.lua:1:4: error: knob `bi` has the values `1` with default 1 here"));
  CHECK(has(twice.err, "t.lua:1:15: note: it was declared here"));
}

TEST_CASE("knobs: show --what knobs, as text and as JSON") {
  const Folder f;
  f.write("k.loop", std::string(kDouble) + kRecurrence);
  f.write("t.lua", std::string(kScript) + "lp.knob('way', {'rows', 'columns'})\n");
  CHECK(tool("show k.loop -t t.lua --knob way=columns --what knobs", f.str()).out ==
        "knob  values             default  chosen     from\n"
        "bi    16, 32, 64         32       32         default\n"
        "simd  true, false        false    false      default\n"
        "way   \"rows\", \"columns\"  \"rows\"   \"columns\"  command line\n");
  const auto json = nlohmann::json::parse(
      tool("show k.loop -t t.lua --knob bi=64 --what knobs --format json", f.str()).out);
  REQUIRE(json["knobs"].size() == 3);
  CHECK(json["knobs"][0] == nlohmann::json{{"name", "bi"},
                                           {"type", "integer"},
                                           {"values", {16, 32, 64}},
                                           {"default", 32},
                                           {"chosen", 64},
                                           {"from", "command line"},
                                           {"file", "t.lua"},
                                           {"line", 1}});
  CHECK(json["knobs"][1]["chosen"] == false);
  CHECK(json["knobs"][2]["type"] == "string");
  CHECK(tool("show k.loop --what knobs", f.str()).out == "no script declares a knob\n");
  const Outcome wrong = tool("show k.loop --what knobs --format svg", f.str());
  CHECK(wrong.status == 2);
  CHECK(has(wrong.err, "--format: `--what knobs` is text or json, not svg"));
}

TEST_CASE("knobs: the trace replays to the same code") {
  const Folder f;
  f.write("k.loop", kDouble);
  f.write("t.lua", kScript);
  const Outcome trace =
      tool("show k.loop -t t.lua --knob bi=64 --knob simd=true --what trace", f.str());
  CHECK(has(trace.out, "-- knob bi = 64 (of 16, 32, 64; command line)\n"));
  CHECK(has(trace.out, "-- knob simd = true (of true, false; command line)\n"));
  f.write("replay.lua", trace.out);
  CHECK(tool("gen k.loop -t replay.lua", f.str()).out ==
        tool("gen k.loop -t t.lua --knob bi=64 --knob simd=true", f.str()).out);
}

TEST_CASE("knobs: scripts that make their own kernels, and strategies within strategies") {
  const Folder f;
  f.write("s.lua",
          "local n = lp.knob('unroll', {1, 4})\n"
          "local knl = lp.make_kernel('{[i]: 0 <= i < 16}', 'a[i] = 1', {name = 'ones'})\n"
          "if n > 1 then\n"
          "  knl = knl:split_iname('i', n, {inner_tag = lp.knob('how', {'unr', 'simd'})})\n"
          "end\n"
          "return knl\n");
  CHECK(!has(tool("gen s.lua", f.str()).out, "i_outer"));
  CHECK(has(tool("gen s.lua --target openmp --knob unroll=4 --knob how=simd", f.str()).out,
            "omp simd"));
  const Outcome off = tool("gen s.lua --knob how=simd", f.str());
  CHECK(off.status == 1);  // with `unroll` 1, nothing asks for it
  CHECK(has(off.err, "they declare `unroll` [unknown-knob]"));
}
