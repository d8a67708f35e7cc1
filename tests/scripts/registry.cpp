#include "transforms/registry.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "core/model/print.h"
#include "tests/scripts/harness.h"

using namespace moonloop;        // NOLINT
using namespace moonloop::test;  // NOLINT

namespace {

std::string read(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("registry: alphabetical, each name once") {
  std::vector<std::string> names;
  for (const Op* op : all_ops()) names.push_back(op->name);
  REQUIRE(!names.empty());
  CHECK(std::is_sorted(names.begin(), names.end()));
  CHECK(std::adjacent_find(names.begin(), names.end()) == names.end());
}

TEST_CASE("registry: the table has a row for each transform in transforms/") {
  const std::filesystem::path folder = std::string(MOONLOOP_SOURCE_DIR) + "/transforms";
  std::vector<std::string> in_files, in_table;
  const std::regex defined("const Op ([a-z_]+)_op\\b");
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    if (file.path().extension() != ".cpp" || file.path().filename() == "registry.cpp") continue;
    const std::string text = read(file.path());
    for (std::sregex_iterator it(text.begin(), text.end(), defined), end; it != end; ++it)
      in_files.push_back((*it)[1]);
  }
  const std::string table = read(folder / "table.def");
  const std::regex row("OP\\(([a-z_]+)\\)");
  for (std::sregex_iterator it(table.begin(), table.end(), row), end; it != end; ++it)
    if ((*it)[1] != "name") in_table.push_back((*it)[1]);
  std::sort(in_files.begin(), in_files.end());
  in_files.erase(std::unique(in_files.begin(), in_files.end()), in_files.end());
  CHECK(in_files.size() == in_table.size());
  for (const std::string& name : in_files) {
    CAPTURE(name);
    CHECK(std::find(in_table.begin(), in_table.end(), name) != in_table.end());
  }
  for (const Op* op : all_ops()) {
    CAPTURE(op->name);
    CHECK(std::find(in_table.begin(), in_table.end(), op->name) != in_table.end());
  }
}

TEST_CASE("registry: each row is documented, and its parameters too") {
  for (const Op* op : all_ops()) {
    CAPTURE(op->name);
    if (!op->alias_of.empty()) {
      CHECK(find_op(op->alias_of) != nullptr);
      continue;
    }
    CHECK((op->run != nullptr) != (op->query != nullptr));
    CHECK(op->doc.size() > 20);
    CHECK(!op->example.empty());
    std::vector<std::string> names;
    for (const Param& p : op->params) {
      CAPTURE(p.name);
      CHECK(!p.help.empty());
      names.push_back(p.name);
    }
    std::sort(names.begin(), names.end());
    CHECK(std::adjacent_find(names.begin(), names.end()) == names.end());
  }
}

TEST_CASE("registry: each example runs, uses its transform, and replays to the same kernel") {
  for (const Op* op : all_ops()) {
    if (op->example.empty()) continue;
    CAPTURE(op->name);
    const Kernel before = parse(op->example_kernel).front();
    int used = 0;
    ScriptOptions o;
    o.on_step = [&](const StepReport& r) { used += r.step.name == op->name && !r.refusal; };
    const std::string script =
        "knl = lp.parse([==[" + op->example_kernel + "]==])\n" + op->example + "\n";
    std::vector<Kernel> out;
    try {
      out = run_kernel_script(add_source("example.lua", script), o);
    } catch (const Error& e) {
      FAIL_CHECK(render(e.diagnostic()));
      continue;
    }
    REQUIRE(!out.empty());
    if (op->query) continue;
    CHECK(used > 0);
    const Kernel& after = out.front();
    if (after.name != before.name || after.trace.empty()) continue;
    const auto replayed =
        run_transform_script(add_source("replay.lua", replay_script(after)), {before}, {});
    CHECK(print_kernel(replayed.front()) == print_kernel(after));
  }
}
