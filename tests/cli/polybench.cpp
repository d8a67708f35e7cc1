#include <regex>
#include <set>

#include "tests/cli/harness.h"

using namespace moonloop::test;  // NOLINT

namespace {

/// Options that give each scalar argument of a kernel a value: sizes that differ, so that axes that
/// are mixed up are noticed, and 1.5.
std::string small_values(const std::string& text) {
  const std::size_t begin = text.find("kernel ");
  const std::string head = text.substr(begin, text.find("\ndomain", begin) - begin);
  std::string out;
  int size = 11;
  const std::regex scalar(R"((\w+): (int32|float32|float64)(?=[,)]))");
  for (std::sregex_iterator m(head.begin(), head.end(), scalar), end; m != end; ++m) {
    const bool whole = (*m)[2] == "int32";
    out += " -p " + m->str(1) + "=" + (whole ? std::to_string(size) : "1.5");
    if (whole) size += 2;
  }
  return out;
}

}  // namespace

TEST_CASE("polybench: each kernel of the benchmark is legal and gives the interpreter's results") {
  const auto folder = kRoot / "bench" / "polybench";
  std::set<std::string> names;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    if (file.path().extension() != ".loop") continue;
    const std::string name = file.path().filename().string();
    CAPTURE(name);
    names.insert(name);
    const Outcome check = tool("check " + name, folder.string());
    CHECK(check.status == 0);
    CHECK(contains(check.out, ": legal\n"));
    CHECK(check.err == "");
    const std::string text = read_file(file.path());
    for (const std::string target : {"c", "openmp"}) {
      CAPTURE(target);
      const Outcome run = tool("run " + name + small_values(text) + " --verify --target " + target,
                               folder.string());
      CHECK(run.status == 0);
      CHECK(contains(run.out, "verify: equal"));
      if (run.status != 0) MESSAGE(run.out << run.err);
    }
    const Outcome shown = tool("show " + name, folder.string());
    CHECK(tool("show -", folder.string(), shown.out).out == shown.out);
  }
  CHECK(names.size() == 30);
}

TEST_CASE("polybench: the benchmark says what it needs") {
  const std::string script = "python3 '" + (kRoot / "bench" / "polybench.py").string() + "' ";
  const Outcome help = shell(script + "--help");
  if (help.status == 127) return;  // no Python
  CHECK(help.status == 0);
  const Folder empty;
  const Outcome o = shell(script + "--folder '" + empty.str() + "'");
  CHECK(o.status == 2);
  CHECK(contains(o.err, "is not a copy of PolyBench: it has no utilities/polybench.h"));
}
