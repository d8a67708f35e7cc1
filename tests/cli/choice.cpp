#include <set>

#include "tests/cli/harness.h"

/// The benchmark of choices between targets, and `run --time --transfers`, by which it measures.

using namespace moonloop::test;  // NOLINT

TEST_CASE(
    "choice: each kernel of the benchmark gives the interpreter's results with the steps of auto") {
  const auto folder = kRoot / "bench" / "choice";
  const Folder f;
  std::set<std::string> names;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    if (file.path().extension() != ".loop") continue;
    const std::string name = file.path().filename().string();
    CAPTURE(name);
    names.insert(name);
    for (const std::string target : {"openmp", "opencl"}) {
      CAPTURE(target);
      const std::string k = file.path().string(), script = f / (name + "." + target + ".lua");
      CHECK(tool("auto " + k + " --target " + target + " -o " + script).status == 0);
      const Outcome run =
          tool("run " + k + " -t " + script + " -p n=11 --verify --quiet --target " + target);
      CHECK(run.status == 0);
      CHECK(contains(run.out, "verify: equal"));
      if (run.status != 0) MESSAGE(run.out << run.err);
    }
    CHECK(tool("auto " + file.path().string() + " --target cuda -o /dev/null").status == 0);
  }
  CHECK(names.size() == 12);
}

TEST_CASE("choice: the benchmark measures, asks the model, and says what its choices cost") {
  const std::string script = "python3 '" + (kRoot / "bench" / "choice.py").string() + "' ";
  if (shell(script + "--help").status == 127) return;  // no Python
  const Folder f;
  const std::string binary = std::filesystem::weakly_canonical(MOONLOOP_BINARY).string();
  const Outcome done =
      shell(script + "--moonloop '" + binary +
                "' --targets c,opencl --kernels vadd --longest 1e-9 --no-measure --json all.json",
            f.str());
  CAPTURE(done.err);
  CHECK(done.status == 0);
  CHECK(contains(done.out, "| `vadd` | 2 | "));  // with copies, and without
  CHECK(contains(f.read("all.json"), "\"resident\": true"));
  const Outcome again = shell(
      script + "--moonloop '" + binary + "' --targets c,opencl --kernels vadd --asked all.json",
      f.str());
  CHECK(again.out == done.out);
}

TEST_CASE("run --transfers: times on a device have the copies") {
  const Folder f;
  f.write("k.loop", kDouble);
  f.write("k.lua",
          "twice = lp.split_iname(twice, 'i', 64, {outer_tag = 'g.0', inner_tag = 'l.0'})\n");
  const auto median = [&](const std::string& more) {
    const Outcome o = tool(
        "run k.loop -t k.lua --target opencl -p n=4000000 --time --json --quiet" + more, f.str());
    CHECK(o.status == 0);
    const std::size_t at = o.out.find("\"least\": ");
    REQUIRE(at != std::string::npos);
    return std::stod(o.out.substr(at + 9));
  };
  CHECK(median(" --transfers") > 1.2 * median(""));
  const Outcome wrong = tool("run k.loop -p n=4 --transfers", f.str());
  CHECK(wrong.status == 2);
  CHECK(contains(wrong.err, "it goes with --time"));
}
