#include <map>
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

/// Each kernel of the folder is legal, gives the interpreter's results and prints as it is; their
/// names.
std::set<std::string> checked(const std::filesystem::path& folder) {
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
  return names;
}

}  // namespace

TEST_CASE("polybench: each kernel of the benchmark is legal and gives the interpreter's results") {
  CHECK(checked(kRoot / "bench" / "polybench").size() == 30);
}

TEST_CASE("bench: so is each kernel of APPy's that PolyBench has not") {
  CHECK(checked(kRoot / "bench" / "appy_kernels").size() == 5);
}

TEST_CASE("auto: on devices, kernels of benchmarks give the interpreter's results") {
  // Rows, sums of few results, loops in order in one group, sums of a copy, parts of a loop, waves.
  const std::map<std::string, std::string> with{
      {"durbin", "one group runs it all"},
      {"trisolv", "one group runs it all"},
      {"jacobi-1d", "one group runs it all"},
      {"mvt", "share the terms of each"},
      {"gesummv", "along the rows"},
      {"trmm", "as it was: of a copy"},
      {"floyd-warshall", "all other iterations are one launch"},
      {"nussinov", "same `d_wave`"}};
  const Folder f;
  for (const auto& [name, reason] : with) {
    CAPTURE(name);
    const std::string loop =
        "'" + (kRoot / "bench" / "polybench" / (name + ".loop")).string() + "'";
    const std::string text = read_file(kRoot / "bench" / "polybench" / (name + ".loop"));
    std::string large = small_values(text);  // sizes that the schedule is for
    large = std::regex_replace(large, std::regex("=[0-9]+"), "=700");
    CHECK(tool("auto " + loop + " --target opencl -o k.lua" + large, f.str()).status == 0);
    CHECK(contains(f.read("k.lua"), reason));
    const Outcome run =
        tool("run " + loop + " -t k.lua --target opencl --verify --quiet --no-db" +
                 std::regex_replace(small_values(text), std::regex("=1([0-9]) "), "=4$1 "),
             f.str());
    CHECK(contains(run.out, "verify: equal"));
    if (run.status != 0) MESSAGE(run.out << run.err);
  }
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
