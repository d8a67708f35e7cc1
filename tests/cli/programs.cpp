#include <algorithm>
#include <set>
#include <vector>

#include "tests/cli/harness.h"
#include "tests/nvcc.h"

using namespace moonloop::test;  // NOLINT

namespace {

/// A program of examples/programs and sizes that no tile divides.
struct FieldProgram {
  std::string name, sizes;
};

const std::vector<FieldProgram> kFieldPrograms{
    {"adi", "-p n=14 -p m=17 -p steps=3 -p s=0.3"},
    {"advection", "-p n=10 -p m=13 -p steps=2 -p dt=0.3"},
    {"cg", "-p n=40 -p steps=3"},
    {"d2q9", "-p n=12 -p m=15 -p steps=3 -p omega=1.1"},
    {"kmeans", "-p n=50 -p d=3 -p k=4 -p steps=3"},
    {"lu", "-p systems=20 -p n=7"},
    {"mlp", "-p n=20 -p d=7 -p h=9 -p k=5 -p steps=3 -p rate=0.1"},
    {"multigrid", "-p m=5 -p cycles=2 -p h=0.1"},
    {"pagerank", "-p n=50 -p nnz=200 -p steps=3 -p d=0.85"},
    {"shallow", "-p n=20 -p m=30 -p steps=4 -p dt=0.1 -p g=1"},
};

const std::string kFieldFolder = (kRoot / "examples/programs").string();

/// The options of the schedule that `auto` writes for a target.
std::string field_schedule(const FieldProgram& p, const std::string& target, const Folder& f) {
  const std::string file = f / (p.name + ".lua");
  const Outcome o =
      tool("auto " + p.name + ".loop --quiet --target " + target + " -o " + file, kFieldFolder);
  CHECK(o.status == 0);
  if (o.status != 0) MESSAGE(o.err);
  return " " + p.name + ".loop --kernel " + p.name + " --target " + target + " -t " + file;
}

}  // namespace

TEST_CASE("programs: what auto makes of those of the field agrees with the interpreter") {
  const Folder f;
  for (const FieldProgram& p : kFieldPrograms)
    for (const std::string target : {"c", "openmp", "opencl"}) {
      CAPTURE(p.name);
      CAPTURE(target);
      const Outcome o =
          tool("run --verify " + p.sizes + field_schedule(p, target, f), kFieldFolder);
      CHECK(o.status == 0);
      CHECK(contains(o.out, "verify: equal"));
      if (o.status != 0) MESSAGE(o.out << o.err);
    }
}

TEST_CASE(
    "programs: nvcc takes what auto makes of those of the field, which all is on the device") {
  const Folder f;
  std::set<std::string> sources;
  for (const FieldProgram& p : kFieldPrograms) {
    CAPTURE(p.name);
    const Outcome o = tool("gen" + field_schedule(p, "cuda", f), kFieldFolder);
    CHECK(o.status == 0);
    CHECK(o.err == "");  // no work-item runs alone
    sources.insert(o.out);
  }
  const auto complaint = nvcc_complaint(sources);
  if (complaint)
    CHECK(*complaint == "");
  else
    MESSAGE("there is no nvcc: the CUDA code of the programs was not compiled");
}

TEST_CASE("programs: each is in at most 60 lines") {
  std::set<std::string> found, listed;
  for (const FieldProgram& p : kFieldPrograms) listed.insert(p.name + ".loop");
  for (const auto& file : std::filesystem::directory_iterator(kFieldFolder)) {
    const std::string text = read_file(file.path());
    CAPTURE(file.path().string());
    CHECK(std::count(text.begin(), text.end(), '\n') <= 60);
    if (file.path().extension() == ".loop") found.insert(file.path().filename().string());
  }
  CHECK(found == listed);
}
