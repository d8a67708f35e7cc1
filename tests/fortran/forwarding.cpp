// Subscripts kept in scalars.
#include "core/model/print.h"
#include "tests/fortran/gfortran.h"

using namespace moonloop;
using test::import;

namespace {

std::string text(const std::string& statements) {
  const test::Imported k = import(
      "subroutine s(n, d, off, b, f)\ninteger :: n, d, off, i, j, k, l, m\n"
      "real(8) :: b(*), f(d, n)\n" +
      statements + "end\n");
  return print_kernel(k.original.at(0));
}

}  // namespace

TEST_CASE("fortran: a subscript that a scalar keeps is seen as what it is") {
  const std::string packed = text(
      "!$omp parallel do private(l)\ndo k = 1, n\ndo j = 1, d\nl = off + j + (k + d - 1)*d\n"
      "b(l) = f(j, k)\nend do\nend do\n");
  CHECK(packed.find("temp l") == std::string::npos);
  CHECK(packed.find("b[off + j + (k + d)*d] = f[j, k]") != std::string::npos);
  const std::string chain = text(
      "do k = 1, n\nl = k + off\nm = 2*l\ndo j = 1, d\nif (m > j) b(m + j) = f(j, k)\nend do\nend "
      "do\n");
  CHECK(chain.find("temp") == std::string::npos);
}

TEST_CASE("fortran: a scalar that may have another value stays") {
  // Read in the next iteration, or after the loop.
  CHECK(text("l = 1\ndo k = 1, n\nb(l) = f(1, k)\nl = k + off\nend do\n").find("temp l") !=
        std::string::npos);
  CHECK(text("do k = 1, n\nl = k + off\nb(l) = f(1, k)\nend do\nb(l + 1) = 2\n").find("temp l") !=
        std::string::npos);
  // Set on one path only, or changed by a loop between.
  CHECK(text("do k = 1, n\nl = k\nif (f(1, k) > 0) l = k + off\nb(l) = f(1, k)\nend do\n")
            .find("temp l") != std::string::npos);
  CHECK(text("do k = 1, n\nl = k\ndo j = 1, d\nb(l) = f(j, k)\nl = l + j\nend do\nend do\n")
            .find("temp l") != std::string::npos);
  // Of a variable that changes, or an argument that does.
  CHECK(
      text("i = off\ndo k = 1, n\nl = k + i\ni = i + l\nb(l) = f(1, k)\nend do\n").find("temp l") !=
      std::string::npos);
  CHECK(text("do k = 1, n\nl = k + off\noff = off + 2*k*k\nb(l) = f(1, k)\nend do\n")
            .find("temp l") != std::string::npos);
}
