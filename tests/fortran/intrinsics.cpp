// Each intrinsic that docs/fortran.md names, against gfortran's.
#include <fmt/core.h>

#include <set>
#include <sstream>

#include "tests/fortran/gfortran.h"

using namespace moonloop;

namespace {

/// A use of an intrinsic; `x`, `y` in 0..1 and a little more, `r`, `s` the same in single
/// precision, `i`, `j`, `k` from 0 up, k of kind 8, `z` complex, `v` and `w` arrays of n elements,
/// `m` n by n.
struct Sample {
  std::string name, use;
};

const std::vector<Sample> kReals{
    {"abs", "abs(x - 0.5d0) + abs(z)"},
    {"acos", "acos(x/3)"},
    {"acosh", "acosh(x + 1)"},
    {"aimag", "aimag(z)"},
    {"aint", "aint(9*x - 4)"},
    {"anint", "anint(9*x - 4) + anint(2.5d0 + 0*x) + anint(-0.5d0 - 0*x)"},
    {"asin", "asin(x/3)"},
    {"asinh", "asinh(x)"},
    {"atan", "atan(x) + atan(x, y)"},
    {"atan2", "atan2(x - 0.5d0, y)"},
    {"atanh", "atanh(x/3)"},
    {"bessel_j0", "bessel_j0(x)"},
    {"bessel_j1", "bessel_j1(x)"},
    {"bessel_jn", "bessel_jn(3, x)"},
    {"bessel_y0", "bessel_y0(x + 1)"},
    {"bessel_y1", "bessel_y1(x + 1)"},
    {"bessel_yn", "bessel_yn(2, x + 1)"},
    {"cos", "cos(x) + real(cos(z))"},
    {"cosh", "cosh(x)"},
    {"dble", "dble(r) + dble(i)"},
    {"dim", "dim(x, y)"},
    {"dot_product", "dot_product(v, w)"},
    {"erf", "erf(x)"},
    {"erfc", "erfc(x)"},
    {"exp", "exp(x) + abs(exp(z))"},
    {"gamma", "gamma(x + 1)"},
    {"hypot", "hypot(x, y)"},
    {"log", "log(x + 1) + aimag(log(z + 1))"},
    {"log10", "log10(x + 1)"},
    {"log_gamma", "log_gamma(x + 1)"},
    {"matmul", "sum(matmul(m, v)) + sum(matmul(m, m))"},
    {"max", "max(x, y, 0.5d0)"},
    {"maxval", "maxval(v) + maxval(v, mask=v < 0.8d0)"},
    {"merge", "merge(x, y, i > j)"},
    {"min", "min(x, y) + min(r, s)"},
    {"minval", "minval(v) + sum(minval(m, dim=1))"},
    {"mod", "mod(x - 0.5d0, 0.2d0)"},
    {"modulo", "modulo(x - 0.5d0, 0.2d0)"},
    {"norm2", "norm2(v) + norm2([x, y])"},
    {"product", "product(v) + product([x, y, 2d0])"},
    {"real", "real(z) + real(i, 8) + real(x)"},
    {"reshape", "sum(matmul(reshape([x, y, 1d0, 2d0], [2, 2]), [x, 3d0]))"},
    {"sign", "sign(x, y - 0.5d0)"},
    {"sin", "sin(x) + aimag(sin(z))"},
    {"sinh", "sinh(x)"},
    {"spread", "sum(spread(v, 2, 3))"},
    {"sqrt", "sqrt(x) + real(sqrt(z))"},
    {"sum", "sum(v) + sum(v, mask=v > 0.5d0)"},
    {"tan", "tan(x)"},
    {"tanh", "tanh(x)"},
    {"transpose", "sum(matmul(transpose(m), v))"}};

const std::vector<Sample> kIntegers{
    {"all", "merge(1, 0, all(v >= 0))"},
    {"any", "merge(1, 0, any(v > 0.9d0))"},
    {"btest", "merge(1, 0, btest(i, 1)) + merge(1, 0, btest(-i, j)) + merge(1, 0, btest(k, 2))"},
    {"ceiling", "ceiling(9*x - 4) + ceiling(r) + int(ceiling(y, 8))"},
    {"count", "count(v > 0.4d0)"},
    {"floor", "floor(9*x - 4) + floor(-r) + int(floor(y, 8))"},
    {"iand", "iand(i, 6) + int(iand(k, 3_8))"},
    {"ibclr", "ibclr(i, 1) + ibclr(-1, j)"},
    {"ibits", "ibits(i, 1, 2) + ibits(-i, j, 3) + ibits(-5, 0, 32)"},
    {"ibset", "ibset(i, 1) + ibset(0, 30) + int(ibset(k, j))"},
    {"ieor", "ieor(i, j)"},
    {"int", "int(9*x - 4) + int(k)"},
    {"ior", "ior(i, 8)"},
    {"ishft", "ishft(i, 2) + ishft(-7, -1) + ishft(i - 3, 2 - j) + int(ishft(k - 2, -60))"},
    {"ishftc",
     "ishftc(-7 - i, -j) + ishftc(i - 9, 2, 5) + ishftc(99, -j, i + 6) + ishftc(13, 7, 7)"},
    {"isnan", "merge(1, 2, isnan(x))"},
    {"lbound", "lbound(v, 1)"},
    {"maxloc", "maxloc(v, dim=1) + sum(maxloc(m))"},
    {"merge_bits", "merge_bits(i, j, 5)"},
    {"minloc", "minloc(v, dim=1)"},
    {"mod", "mod(i - 4, j + 1)"},
    {"modulo", "modulo(i - 4, j + 1) + int(modulo(k - 9, 4_8))"},
    {"nint", "nint(9*x - 4) + nint(2.5d0 + 0*x) + nint(-3.5) + int(nint(y, 8))"},
    {"findloc", "findloc(c, i, 1) + 10*findloc(c, c(n), dim=1, back=.true.)"},
    {"iall", "iall(c, mask=c > j)"},
    {"iany", "iany(c) + iany(2*c, mask=v > 0.5d0)"},
    {"iparity", "iparity(c)"},
    {"parity", "merge(1, 0, parity(v > 0.5d0))"},
    {"not", "not(i)"},
    {"shape", "sum(shape(m))"},
    {"shifta", "shifta(-9 - i, 2) + shifta(-9 - i, j) + shifta(-1, 32)"},
    {"shiftl", "shiftl(i, 3) + shiftl(i, 30 + j) + shiftl(i, 32)"},
    {"shiftr", "shiftr(-9 - i, 2) + shiftr(-i, 26 + j) + shiftr(i - 7, 32)"},
    {"size", "size(v) + size(m, 2)"},
    {"sign", "sign(i, j - 3) + dim(i, j) + abs(i - 4)"},
    {"ubound", "ubound(m, 2) + sum(ubound(m))"}};

// Of arrays that statements make, one element of which is read.
const std::vector<Sample> kMoved{{"cshift", "sum(cshift(v, j)*w)"},
                                 {"eoshift", "sum(eoshift(v, -j, 0.5d0)*w) + sum(eoshift(w, 1)*v)"},
                                 {"pack", "sum(pack(v, v > 0.5d0)) + size(pack(w, v < x))"}};

const std::vector<Sample> kComplex{{"cmplx", "cmplx(x, y, 8) + cmplx(i, j)"},
                                   {"conjg", "conjg(z)"}};

/// A routine that has all of them, for each of the elements.
std::string routine() {
  std::string out = fmt::format(
      "subroutine uses(n, a, b, c, d, v, m, reals, integers, complexes)\n  implicit none\n"
      "  integer, intent(in) :: n, c(n), d(n)\n  real(8), intent(in) :: a(n), v(n), m(n, n)\n"
      "  real, intent(in) :: b(n)\n  real(8), intent(out) :: reals({}, n)\n"
      "  integer, intent(out) :: integers({}, n)\n  complex(8), intent(out) :: complexes({}, n)\n"
      "  real(8) :: x, y, w(n)\n  real :: r, s\n  integer :: i, j, e\n  integer(8) :: k\n"
      "  complex(8) :: z\n  w = 2*v + 1\n  do e = 1, n\n    x = a(e)\n    y = v(e)\n    r = b(e)\n"
      "    s = b(n + 1 - e)\n    i = c(e)\n    j = mod(d(e), 5)\n    k = i + 3000000000_8*j\n"
      "    z = cmplx(x, y, 8)\n",
      kReals.size() + kMoved.size(), kIntegers.size(), kComplex.size());
  const auto add = [&](const char* array, const std::vector<Sample>& all, std::size_t from = 0) {
    for (std::size_t n = 0; n < all.size(); ++n)
      out += fmt::format("    {}({}, e) = {}\n", array, from + n + 1, all[n].use);
  };
  add("reals", kMoved, kReals.size());
  add("reals", kReals), add("integers", kIntegers), add("complexes", kComplex);
  return out + "  end do\nend subroutine\n";
}

/// The names in the rows of the documentation's table that begin so.
std::set<std::string> documented() {
  std::istringstream text(test::slurp(std::string(MOONLOOP_SOURCE_DIR) + "/docs/fortran.md"));
  std::set<std::string> out;
  for (std::string line; std::getline(text, line);)
    for (const char* row : {"| elemental intrinsics", "| scalars of arrays", "| arrays of arrays",
                            "| places and shapes", "| inquiries"}) {
      if (!line.starts_with(row)) continue;
      // Names are in code, one or several; `dim`, `mask`, `back` and such are arguments too.
      std::istringstream code;
      for (std::size_t at = line.find('`'); at != std::string::npos;) {
        const std::size_t end = line.find('`', at + 1);
        REQUIRE(end != std::string::npos);
        code = std::istringstream(line.substr(at + 1, end - at - 1));
        const bool first = out.empty() || line.find('`') == at;
        for (std::string name; code >> name;)
          if (first || (name != "dim" && name != "mask" && name != "pad" && name != "order" &&
                        name != "back"))
            out.insert(name);
        at = line.find('`', end + 1);
      }
    }
  return out;
}

}  // namespace

TEST_CASE("fortran: each intrinsic that the documentation names gives what gfortran's gives") {
  test::same_as_gfortran(routine(), {{{"n", "1"}}, {{"n", "3"}}, {{"n", "40"}}});
  std::set<std::string> used;
  for (const std::vector<Sample>* all : {&kReals, &kIntegers, &kMoved, &kComplex})
    for (const Sample& s : *all) used.insert(s.name);
  CHECK(documented() == used);
}

TEST_CASE("fortran: arrays that are shifted, packed, searched and put in order") {
  test::same_as_gfortran(R"(
subroutine s(n, m, a, x, k, b)
  implicit none
  integer, intent(in) :: n, m
  real(8), intent(inout) :: a(n, n), x(n), b(3, 4)
  integer, intent(inout) :: k(9)
  integer :: c
  b = reshape(x, [3, 4], pad=[1d0, 2d0, 3d0])
  b = b + reshape(a(:, 1), [3, 4], pad=[0.5d0], order=[2, 1])
  x = cshift(x, 1) + 0.5d0*cshift(x, -m)
  a = cshift(a, k(1), 2) + cshift(2*a, n + 1)
  x = eoshift(x, -1) + eoshift(x, m, boundary=3d0)
  a = a + eoshift(a, k(2), 0.25d0, dim=2)
  c = count(x > 0.5d0)
  x(1:c) = pack(x, x > 0.5d0)
  if (n > 0) x(n) = sum(pack(a, a < 0.75d0)) + size(pack(x, .true.))
  x = pack(x, x > 0.25d0, vector=a(:, n))
  k(3) = findloc(k, 4, dim=1)
  k(4) = findloc(k, k(9), dim=1, back=.true.)
  k(5:6) = findloc(a, b(1, 1))
  k(7) = findloc(k, k(1), dim=1, mask=k < 5)
end subroutine
)",
                         {{{"n", "1"}, {"m", "0"}},
                          {{"n", "2"}, {"m", "5"}},
                          {{"n", "5"}, {"m", "2"}},
                          {{"n", "9"}, {"m", "-3"}}});
}
