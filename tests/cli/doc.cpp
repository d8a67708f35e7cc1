#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "codegen/codegen.h"
#include "scripts/library.h"
#include "tests/cli/harness.h"
#include "transforms/registry.h"

/// The output of `moonloop doc` for people and for other tools.

using namespace moonloop;        // NOLINT
using namespace moonloop::test;  // NOLINT

namespace {

using Json = nlohmann::json;

std::vector<std::string> target_names() {
  std::vector<std::string> out;
  for (const Target t : all_targets()) out.push_back(to_string(t));
  return out;
}
/// As bash's completion offers them.
std::string offered_targets() {
  std::vector<std::string> all = target_names();
  std::sort(all.begin(), all.end());
  return fmt::format("{}", fmt::join(all, "|"));
}

bool installed(const std::string& program) { return shell("command -v " + program).status == 0; }

/// The words that bash's completion offers at the end of `line`, in a folder with some files. Words
/// are cut as readline does: at blanks and around `=`.
std::string bash_offers(const std::vector<std::string>& words) {
  const Folder f;
  f.write("moonloop.bash", tool("doc --completion bash").out);
  for (const char* name : {"a.loop", "b c.lua", "d.f90", "e.npy", "other.txt"}) f.write(name, "");
  std::filesystem::create_directory(f / "sub");
  std::string script = "source ./moonloop.bash\nCOMP_WORDS=(";
  for (const std::string& w : words) script += "'" + w + "' ";
  script += ")\nCOMP_CWORD=" + std::to_string(words.size() - 1) +
            "\n_moonloop\n((${#COMPREPLY[@]} == 0)) || printf '%s\\n' \"${COMPREPLY[@]}\"\n";
  f.write("ask.bash", script);
  const Outcome o = shell("bash ask.bash", f.str());
  CHECK(o.err.empty());
  std::istringstream in(o.out);
  std::set<std::string> all;
  for (std::string line; std::getline(in, line);) all.insert(line);
  std::string out;
  for (const std::string& one : all) out += (out.empty() ? "" : "|") + one;
  return out;
}

}  // namespace

TEST_CASE("doc: functions of the library by each of their names") {
  const Outcome o = tool("doc tile");
  CHECK(o.status == 0);
  CHECK(o.out.starts_with("lib.tile(knl, sizes, {order, outer_tags, inner_tags})\n\nCuts loops"));
  CHECK(contains(o.out, "  sizes (integers by name, required): how long"));
  CHECK(contains(o.out, "Example:\n  kernel turn("));
  CHECK(tool("doc lib.tile").out == o.out);
  CHECK(tool("doc lp.tile").status == 1);
  CHECK(tool("doc lib.split_iname").status == 1);
  CHECK(contains(tool("doc wavefront").out, "Results:\n  kernel (kernel): "));
  // `attempt` is of the library and of `lp`.
  CHECK(contains(tool("doc attempt").out, "lib.attempt(knl, step)"));
  CHECK(contains(tool("doc attempt").out, "lp.attempt\n\n"));
  CHECK(contains(tool("doc").out, "  lib.tile                 Cuts loops"));
  CHECK(contains(tool("doc CC").out, "cc"));
}

TEST_CASE("doc: one form at a time, and names where they mean something") {
  CHECK(tool("doc --json --man").status == 2);
  CHECK(tool("doc --json tile").status == 2);
  CHECK(tool("doc --completion tcsh").status == 2);
  const Outcome stubs = tool("doc --lua-stubs moonloop.tile");
  CHECK(stubs.status == 1);
  CHECK(stubs.err ==
        "error: no declarations of `moonloop.tile`; there are those of `moonloop`, `moonloop.lib` "
        "[unknown-topic]\n");
  const Outcome page = tool("doc --man tile");
  CHECK(page.status == 1);
  CHECK(page.err ==
        "error: no manual page of `tile`; there are those of `gen`, `run`, `check`, `show`, "
        "`view`, `repl`, "
        "`doc`, `devices`, `fc`, `db`, `tune`, `auto` [unknown-topic]\n");
}

TEST_CASE("doc: the JSON has all of the registry, the library and the command line") {
  const Outcome o = tool("doc --json");
  REQUIRE(o.status == 0);
  const Json d = Json::parse(o.out);
  REQUIRE(d["transforms"].size() == all_ops().size());
  for (std::size_t i = 0; i < all_ops().size(); ++i) {
    const Op& op = *all_ops()[i];
    const Op& row = op.params.empty() && !op.alias_of.empty() ? *find_op(op.alias_of) : op;
    const Json& f = d["transforms"][i];
    CAPTURE(op.name);
    CHECK(f["name"] == op.name);
    CHECK(f["doc"] == (op.doc.empty() ? row.doc : op.doc));
    CHECK(f.value("alias_of", "") == op.alias_of);
    REQUIRE(f["parameters"].size() == row.params.size());
    for (std::size_t p = 0; p < row.params.size(); ++p) {
      const Json& j = f["parameters"][p];
      CHECK(j["name"] == row.params[p].name);
      CHECK(j["help"] == row.params[p].help);
      CHECK(j["required"] == row.params[p].required);
      CHECK(j["positional"] == row.params[p].positional);
      CHECK(j.value("default", "") == row.params[p].fallback);
    }
  }
  REQUIRE(d["library"].size() == library().size());
  for (std::size_t i = 0; i < library().size(); ++i) {
    CHECK(d["library"][i]["name"] == library()[i].name);
    CHECK(d["library"][i]["parameters"].size() == library()[i].params.size());
    CHECK(d["library"][i]["results"].size() == library()[i].results.size());
  }
  // Each flag of each command's help is there, and nothing else.
  for (const Json& c : d["commands"]) {
    const std::string name = c["name"], help = tool(name + " --help").out;
    CAPTURE(name);
    std::size_t flags = 0;
    for (const Json& option : c["options"]) {
      if (!option.contains("flags")) continue;
      std::string list;
      for (const std::string flag : option["flags"]) list += (list.empty() ? "" : ",") + flag;
      CHECK_MESSAGE(contains(help, "\n  " + list + " "), list);
      ++flags;
    }
    std::istringstream in(help);
    for (std::string line; std::getline(in, line);) flags -= line.starts_with("  -");
    CHECK(flags == 0);
  }
  const Json& run = d["commands"][1];
  for (const Json& option : run["options"]) {
    if (!option.contains("flags")) continue;
    if (option["flags"] == Json{"--target"}) {
      CHECK(option["choices"] == Json(target_names()));
      CHECK(option["default"] == "c");
      CHECK(option["value"] == "TARGET");
    }
    if (option["flags"] == Json{"-t", "--transform"}) CHECK(option["repeatable"] == true);
    if (option["flags"] == Json{"--verify"}) CHECK(!option.contains("value"));
  }
}

TEST_CASE("doc: completions of bash, at the places of a command line") {
  CHECK(bash_offers({"moonloop", "sh"}) == "show");
  CHECK(bash_offers({"moonloop", "re"}) == "repl");
  CHECK(bash_offers({"moonloop", ""}) ==
        "--help|--version|-h|auto|check|db|devices|doc|fc|gen|repl|run|show|tune|view");
  CHECK(bash_offers({"moonloop", "db", ""}) == "best|export|import|list|merge|prune");
  CHECK(bash_offers({"moonloop", "db", "ex"}) == "export");
  CHECK(bash_offers({"moonloop", "--v"}) == "--version");
  CHECK(bash_offers({"moonloop", "gen", "a.loop", "--target", ""}) == offered_targets());
  CHECK(bash_offers({"moonloop", "gen", "a.loop", "--target", "op"}) == "opencl|openmp");
  CHECK(bash_offers({"moonloop", "gen", "--target", "=", "op"}) == "opencl|openmp");
  CHECK(bash_offers({"moonloop", "gen", "--target", "="}) == offered_targets());
  CHECK(bash_offers({"moonloop", "show", "a.loop", "--what", "s"}) == "schedule|stats");
  CHECK(bash_offers({"moonloop", "show", "--wh"}) == "--what");
  CHECK(bash_offers({"moonloop", "check", "--wh"}).empty());
  CHECK(bash_offers({"moonloop", "gen", ""}) == "a.loop|b c.lua|d.f90|sub");
  CHECK(bash_offers({"moonloop", "gen", "a.loop", "-t", ""}) == "b c.lua|sub");
  CHECK(bash_offers({"moonloop", "gen", "-o", "o"}) == "other.txt");
  CHECK(bash_offers({"moonloop", "gen", "-I", ""}) == "sub");
  CHECK(bash_offers({"moonloop", "gen", "-p", ""}).empty());
  CHECK(bash_offers({"moonloop", "run", "a.loop", "--in", "x", "="}) == "e.npy|sub");
  CHECK(bash_offers({"moonloop", "run", "a.loop", "--in", "x", "=", "e"}) == "e.npy");
  CHECK(bash_offers({"moonloop", "run", "a.loop", "--in", "x"}).empty());
  CHECK(bash_offers({"moonloop", "doc", "split_i"}) == "split_iname");
  CHECK(bash_offers({"moonloop", "doc", "wave"}) == "wavefront");
  CHECK(bash_offers({"moonloop", "doc", "--completion", ""}) == "bash|fish|zsh");
  CHECK(bash_offers({"moonloop", "devices", ""}).empty());
}

TEST_CASE("doc: completions of zsh name what each command takes") {
  const Folder f;
  f.write("_moonloop", tool("doc --completion zsh").out);
  if (!installed("zsh")) return;
  CHECK(shell("zsh -n _moonloop", f.str()).status == 0);
  const auto ask = [&](const std::string& words, int current) {
    const Outcome o = shell(
        "zsh -fc 'compdef() {}; _describe() { print -rl -- $commands }\n"
        "_arguments() { print -rl -- \"$@\" }\n"
        "source ./_moonloop; words=(" +
            words + "); CURRENT=" + std::to_string(current) + "; _moonloop'",
        f.str());
    CHECK(o.err.empty());
    return o.out;
  };
  const std::string first = ask("moonloop sh", 2);
  CHECK(contains(first, "show:Show the transformed kernel\n"));
  CHECK(contains(first, "--version[print the version]\n"));
  const std::string run = ask("moonloop run a.loop", 3);
  CHECK(contains(run, fmt::format("--target[{}]:TARGET:({})\n", target_list(" or "),
                                  fmt::join(target_names(), " "))));
  CHECK(contains(run,
                 "*-t[script that transforms the kernels; repeatable]:FILE.lua:_files -g "
                 "\"*.(lua)\"\n"));
  CHECK(contains(run, ":INPUT:_files -g \"*.(loop|"));
  CHECK(contains(run, "--verify[compare with"));
  CHECK(contains(ask("moonloop check a.loop", 3), "--target"));
  CHECK(!contains(ask("moonloop check a.loop", 3), "--header"));
}

TEST_CASE("doc: completions of fish, asked for") {
  const Folder f;
  f.write("moonloop.fish", tool("doc --completion fish").out);
  if (!installed("fish")) return;
  CHECK(shell("fish -n moonloop.fish", f.str()).status == 0);
  f.write("a.loop", "");
  f.write("b.lua", "");
  f.write("c.txt", "");
  const auto ask = [&](const std::string& line) {
    const Outcome o = shell(
        "{ HOME=$PWD XDG_CONFIG_HOME=$PWD fish --no-config -c "
        "'source moonloop.fish; complete -C \"" +
            line + "\"' | cut -f1; }",
        f.str());
    CHECK(o.err.empty());
    return o.out;
  };
  CHECK(ask("moonloop sh") == "show\n");
  CHECK(ask("moonloop gen a.loop --target op") == "opencl\nopenmp\n");
  CHECK(ask("moonloop show --wh") == "--what\n");
  CHECK(ask("moonloop doc wave") == "wavefront\n");
  const std::string scripts = ask("moonloop gen a.loop -t ");
  CHECK(contains(scripts, "b.lua\n"));
  CHECK(ask("moonloop gen a").starts_with("a.loop\n"));
}

TEST_CASE("doc: manual pages that the formatter takes without a warning") {
  const Folder f;
  for (const std::string page : {"", "gen", "run", "check", "show", "repl", "doc", "devices"}) {
    CAPTURE(page);
    const Outcome o = tool("doc --man " + page);
    REQUIRE(o.status == 0);
    CHECK(o.out.starts_with(".TH MOONLOOP" +
                            (page.empty() ? ""
                                          : "\\-" +
                                                [&] {
                                                  std::string upper = page;
                                                  std::transform(upper.begin(), upper.end(),
                                                                 upper.begin(), ::toupper);
                                                  return upper;
                                                }()) +
                            " 1 "));
    for (const char* section : {"NAME", "SYNOPSIS", "OPTIONS", "EXIT STATUS", "ENVIRONMENT"})
      CHECK(contains(o.out, std::string(".SH ") + section + "\n"));
    CHECK(std::all_of(o.out.begin(), o.out.end(), [](char c) { return c > 0; }));
    f.write("page.1", o.out);
    if (!installed("groff")) continue;
    const Outcome formatted = shell("groff -man -Tascii -ww -P-c -P-b -P-u page.1", f.str());
    CHECK(formatted.err.empty());
    CHECK(contains(formatted.out, "moonloop"));
    if (page == "run") CHECK(contains(formatted.out, "--tolerance FACTOR"));
    if (page.empty()) CHECK(contains(formatted.out, "moonloop show [options] INPUT"));
  }
}
