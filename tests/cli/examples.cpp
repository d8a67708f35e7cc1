#include <map>
#include <set>
#include <vector>

#include "tests/cli/example_runs.h"
#include "tests/cli/harness.h"
#include "tests/nvcc.h"

using namespace moonloop::test;  // NOLINT

namespace {

/// Scripts with tags that only CPUs have.
bool for_cpus(const std::string& script) { return script.ends_with("/cpu.lua"); }

}  // namespace

TEST_CASE("examples: each script is legal, runs on all targets, and agrees with the interpreter") {
  std::set<std::string> cuda;
  const auto folder = kRoot / "examples";
  for (const auto& file : std::filesystem::recursive_directory_iterator(folder)) {
    if (file.path().extension() != ".lua") continue;
    const std::string script = std::filesystem::relative(file.path(), folder).string();
    CAPTURE(script);
    const auto [first, last] = kRuns.equal_range(script);
    REQUIRE_MESSAGE(first != last, "the example has no row in the table above");
    for (auto it = first; it != last; ++it) {
      const std::string arguments = it->second + " -t " + script;
      const Outcome check = tool("check " + arguments, folder.string());
      CHECK(check.status == 0);
      const bool claims = contains(check.out, ": legal, given what is claimed and not proved:\n");
      CHECK((claims || contains(check.out, ": legal\n")));
      CHECK(check.err == "");
      bool on_devices = true;
      if (for_cpus(script)) {  // its tags for CPUs alone are refused; `par` is one for devices too
        const Outcome code = tool("gen " + arguments + " --target opencl", folder.string());
        on_devices = code.status == 0;
        if (!on_devices) CHECK(contains(code.err, "which target `opencl` does not have"));
      } else {
        const Outcome code = tool("gen " + arguments + " --target cuda", folder.string());
        CHECK(code.status == 0);
        cuda.insert(code.out);
      }
      for (const std::string target : {"c", "openmp", "opencl"}) {
        if (target == "opencl" && !on_devices) continue;
        CAPTURE(target);
        const Outcome run =
            tool("run " + arguments + " --verify --target " + target, folder.string());
        CHECK(run.status == 0);
        CHECK(contains(run.out, "verify: equal"));
        if (run.status != 0) MESSAGE(run.out << run.err);
      }
      // the output of `show` is the same kernel
      const Outcome text = tool("show " + arguments, folder.string());
      CHECK(tool("show -", folder.string(), text.out).out == text.out);
    }
  }
  const auto complaint = nvcc_complaint(cuda);
  if (complaint)
    CHECK(*complaint == "");
  else
    MESSAGE("there is no nvcc: the CUDA code of the examples was not compiled");
}
