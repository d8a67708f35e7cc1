#include <map>
#include <set>
#include <vector>

#include "tests/cli/harness.h"
#include "tests/nvcc.h"

using namespace moonloop::test;  // NOLINT

namespace {

/// How to run each script of examples/: its kernel, then the sizes. Scripts that assume a size get
/// one that fits, others sizes that no tile divides.
const std::multimap<std::string, std::string> kRuns{
    {"argmin/argmin.lua", "argmin/argmin.loop -p n=1001"},
    {"edit/cpu.lua", "edit/edit.loop -p n=101 -p m=67"},
    {"edit/diagonals.lua", "edit/edit.loop -p n=101 -p m=67"},
    {"gpu/gemm.lua", "gpu/gemm.loop --kernel sgemm -p n=128"},
    {"gpu/gemm.lua", "gpu/gemm.loop --kernel dgemm -p n=128"},
    {"histogram/histogram.lua", "histogram/histogram.loop -p n=1003"},
    {"host/stencil.lua", "host/stencil.loop -p n=35 -p m=70 -p w=0.8"},
    {"matmul/blocks.lua", "matmul/matmul.loop -p n=67"},
    {"matmul/cpu.lua", "matmul/matmul.loop -p n=67"},
    {"matmul/tiled.lua", "matmul/matmul.loop -p n=64"},
    {"paper/bsquare.lua", "paper/bsquare.loop -p n=101"},
    {"paper/dgemm.lua", "paper/dgemm.loop -p n=37 -p m=41 -p l=29"},
    {"paper/double.lua", "paper/double.loop -p n=1001"},
    {"paper/fdiff.lua", "paper/fdiff.loop -p n=64"},
    {"paper/gravity.lua", "paper/gravity.loop -p np=33"},
    {"paper/subst.lua", "paper/subst.loop -p n=101"},
    {"paper/targeting.lua", "paper/targeting.loop -p n=101"},
    {"paper/wildcards.lua", "paper/targeting.loop -p n=101"},
    {"scan/scan.lua", "scan/scan.loop -p n=101"},
    {"scan/by_items.lua", "scan/scan.loop -p n=333"},
    {"sum/two_stages.lua", "sum/sum.loop -p n=12345"},
    {"spmv/cpu.lua", "spmv/spmv.loop -p nrows=100 -p nnz=500 -p ncols=100"},
    {"spmv/spmv.lua", "spmv/spmv.loop -p nrows=100 -p nnz=500 -p ncols=100"},
    {"stencil/jacobi.lua", "stencil/jacobi.loop -p n=35 -p steps=4"},
    {"trsv/trsv.lua", "trsv/trsv.loop -p n=77"},
};

}  // namespace

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
      CHECK(contains(check.out, ": legal\n"));
      CHECK(check.err == "");
      if (for_cpus(script)) {
        const Outcome refused = tool("gen " + arguments + " --target opencl", folder.string());
        CHECK(refused.status == 1);
        CHECK(contains(refused.err, "which target `opencl` does not have"));
      } else {
        const Outcome code = tool("gen " + arguments + " --target cuda", folder.string());
        CHECK(code.status == 0);
        cuda.insert(code.out);
      }
      for (const std::string target : {"c", "openmp", "opencl"}) {
        if (target == "opencl" && for_cpus(script)) continue;
        CAPTURE(target);
        const Outcome run =
            tool("run " + arguments + " --verify --target " + target, folder.string());
        CHECK(run.status == 0);
        CHECK(contains(run.out, "verify: equal"));
        if (run.status != 0) MESSAGE(run.out << run.err);
      }
      // what `show` prints is the same kernel
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
