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

// As block preconditioners have it: a part of the axis, whose last one may be shorter.
TEST_CASE("fortran: the ends of blocks are seen as what they are") {
  const std::string blocks =
      "t(0:3)\n"
      "!$omp parallel do private(t, l, m, k, j)\n"
      "do i = 1, n, 4\nl = min(i, n)\nm = min(i + 3, n)\n"
      "do j = 1, d\nt(0) = f(j, l)\ndo k = l + 1, m\nt(k - l) = f(j, k) - t(k - l - 1)\nend do\n"
      "do k = l, m\nf(j, k) = t(k - l)\nend do\nend do\nend do\n";
  const test::Imported all =
      import("subroutine s(n, d, f)\ninteger :: n, d, i, j, k, l, m\nreal(8) :: f(d, n), " +
             blocks + "end\n");
  const std::string k = print_kernel(all.original.at(0));
  CHECK(k.find("temp l") == std::string::npos);
  CHECK(k.find("temp m") == std::string::npos);
  const InameTag* tag = all.transformed.at(0).tag("i");  // proved
  REQUIRE(tag != nullptr);
  CHECK(tag->text == "par");
}

TEST_CASE("fortran: scalars that are made of one another do not grow without end") {
  std::string chain = "do k = 1, n\ni = k\n";
  for (int step = 0; step < 40; ++step) chain += "j = min(i, i + d)\ni = max(j, j - off)\n";
  CHECK(text(chain + "b(i) = f(1, k)\nend do\n").size() < 20000);
}
