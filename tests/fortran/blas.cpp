// The reference BLAS, as it comes: imported, generated, and tested by its own programs.
#include <algorithm>
#include <filesystem>

#include "codegen/print/fortran_interface.h"
#include "tests/fortran/gfortran.h"

using namespace moonloop;
namespace fs = std::filesystem;

namespace {

/// The output of a command; it has to succeed.
std::string done(const std::string& folder, const std::vector<std::string>& command) {
  const ProcessResult r = run_process(command, folder);
  INFO(r.output);
  REQUIRE(r.status == 0);
  return r.output;
}
std::string shell(const std::string& folder, const std::string& command) {
  return done(folder, {"/bin/sh", "-c", command});
}

/// The folder of the BLAS; empty where it cannot be had.
std::string blas() {
  const ProcessResult r =
      run_process({fs::path(MOONLOOP_SOURCE_DIR) / "tests/fortran/lapack_source"});
  if (r.status == 0) return r.output.substr(0, r.output.find('\n'));
  MESSAGE("not tested: the source package `lapack` cannot be fetched here: " << r.output);
  return {};
}

/// Generates a routine's replacement into the folder; `end` follows its text.
void replace(const test::Folder& folder, const fs::path& file, Target target,
             const std::string& end = "") {
  const test::Imported k = test::import(test::slurp(file.string()) + end, file.filename().string());
  REQUIRE(k.transformed.size() == 1);
  const Program p = generate(k.transformed[0], target);
  const FortranInterface f = fortran_interface(p, k.transformed[0].name);
  const std::string name = folder / file.stem().string();
  test::spit(name + ".c", p.source + f.c);
  test::spit(name + "_interface.f90", f.module + f.routine + f.after);
}

int count(const std::string& text, const std::string& part) {
  int n = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++n;
  return n;
}

/// Builds a test program around the objects that are there, runs it, and returns its report.
std::string report(const test::Folder& folder, const std::string& blas, int level) {
  const std::string name = "dblat" + std::to_string(level), testing = blas + "/TESTING/";
  // The programs for levels 2 and 3 bring their own XERBLA.
  const std::string own = level == 1 ? " " + blas + "/SRC/xerbla.f" : "";
  shell(folder.path(), "gfortran -O1 -std=legacy -w " + testing + name + ".f" + own + " " + blas +
                           "/SRC/lsame.f *.o -fopenmp -o " + name);
  if (level == 1) return done(folder.path(), {folder / name});
  shell(folder.path(), "OMP_NUM_THREADS=2 ./" + name + " < " + testing + name + ".in");
  return test::slurp(folder / (name + ".out"));
}

const char* const kTiled = R"(
!$moonloop begin transform
! for _, j in ipairs{"j", "j_1", "j_2", "j_3", "j_4", "j_5"} do
!   dgemm = lp.split_iname(dgemm, j, 8, {outer_tag = "par"})
! end
! for _, t in ipairs{{"temp", "i_4", "l", "j_2"}, {"temp_2", "i_8", "l_2", "j_4"}} do
!   local temp, i, l, j = table.unpack(t)
!   dgemm = lp.assignment_to_subst(dgemm, temp)
!   dgemm = lp.duplicate_inames(dgemm, j .. "_inner", "iname:" .. i, {new_inames = "jj_" .. temp})
!   dgemm = lp.split_iname(dgemm, i, 64)
!   dgemm = lp.split_iname(dgemm, l, 32)
!   dgemm = lp.prioritize_loops(dgemm, {i .. "_outer", l .. "_outer", "jj_" .. temp, l .. "_inner",
!                                       i .. "_inner"})
! end
!$moonloop end transform
)";

}  // namespace

TEST_CASE("fortran: the reference BLAS passes its own tests, as imported and with dgemm tiled") {
  const std::string from = blas();
  if (from.empty()) return;
  const test::Folder folder;
  std::vector<std::string> replaced, left;
  for (const auto& entry : fs::directory_iterator(from + "/SRC")) {
    const std::string name = entry.path().stem().string();
    if (name[0] != 'd' && name != "idamax") continue;
    try {
      replace(folder, entry.path(), Target::C);
      replaced.push_back(name);
    } catch (const Error& e) {
      left.push_back(name + ": " + e.diagnostics()[0].text);
      shell(folder.path(), "gfortran -O1 -c " + entry.path().string());
    }
  }
  CHECK(replaced.size() == 38);
  CHECK(left == std::vector<std::string>{});
  shell(folder.path(), "gcc -O1 -c *.c && gfortran -O1 -c *_interface.f90");
  const std::string one = report(folder, from, 1);
  CHECK(count(one, "----- PASS -----") == 13);
  CHECK(count(one, "FAIL") == 0);
  for (const int level : {2, 3}) {
    const std::string text = report(folder, from, level);
    CAPTURE(text);
    CHECK(count(text, "PASSED THE COMPUTATIONAL TESTS") == (level == 2 ? 16 : 6));
    CHECK(count(text, "PASSED THE TESTS OF ERROR-EXITS") == (level == 2 ? 16 : 6));
    CHECK(count(text, "FAIL") == 0);
  }
  replace(folder, from + "/SRC/dgemm.f", Target::OpenMP, kTiled);
  const std::string dgemm = test::slurp(folder / "dgemm.c");
  CHECK(count(dgemm, "#pragma omp parallel for") + count(dgemm, "#pragma omp for") == 6);
  shell(folder.path(), "gcc -O1 -fopenmp -c dgemm.c");
  const std::string tiled = report(folder, from, 3);
  CHECK(count(tiled, "PASSED THE COMPUTATIONAL TESTS") == 6);
  CHECK(count(tiled, "FAIL") == 0);
}
