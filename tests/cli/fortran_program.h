#pragma once
#include <cstdlib>
#include <vector>

#include "tests/cli/harness.h"

namespace moonloop::test {

/// The seed of random programs that MOONLOOP_SEED gives, or 0.
inline unsigned first_seed() {
  const char* const given = std::getenv("MOONLOOP_SEED");
  return given ? static_cast<unsigned>(std::strtoul(given, nullptr, 10)) : 0;
}

/// Builds the program of `k.f90` and, where they are there, `main.f90` and `other.f90` with
/// gfortran alone, and with the code generated for these kernels of `k.f90`, or for its only one,
/// and compares the outputs of the two.
inline void same_program(const Folder& f, const std::vector<std::string>& kernels = {},
                         const std::string& flags = "-O0") {
  std::string which, rest;
  for (const std::string& k : kernels) which += " --kernel " + k;
  for (const char* file : {"main.f90", "other.f90"})
    if (f.has(file)) rest += std::string(" ") + file;
  const Outcome made = tool("gen k.f90 --quiet -o k.c --fortran-interface i.f90" + which, f.str());
  REQUIRE_MESSAGE(made.status == 0, made.err);
  const Outcome built =
      shell("mkdir -p b a && gfortran " + flags + " -J b -o before k.f90" + rest +
                " && gcc -O1 -Wall -Werror -fopenmp-simd -c k.c && gfortran -O0 -J a -o after "
                "i.f90" +
                rest + " k.o -lm",
            f.str());
  REQUIRE_MESSAGE(built.status == 0, built.err);
  const Outcome before = shell("./before", f.str()), after = shell("./after", f.str());
  CHECK(before.status == 0);
  CHECK(!before.out.empty());
  CHECK(before.out == after.out);
}

}  // namespace moonloop::test
