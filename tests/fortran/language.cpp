// The subset means the same as in gfortran.
#include "core/model/print.h"
#include "tests/fortran/gfortran.h"

using namespace moonloop;
using test::error_of;
using test::import;
using test::same_as_gfortran;

namespace {

const std::vector<GivenValues> kSizes{
    {{"n", "0"}}, {{"n", "1"}}, {{"n", "2"}}, {{"n", "17"}}, {{"n", "64"}}};

}  // namespace

TEST_CASE("fortran: loops up and down, in steps, one variable in several loops and behind them") {
  same_as_gfortran(R"(
subroutine loops(n, x, y, last)
  implicit none
  integer, intent(in) :: n
  real(8), intent(inout) :: x(0:n + 3), y(n)
  integer, intent(out) :: last(6)
  integer :: i, j
  do i = 1, n
    y(i) = x(i - 1) + 2*x(i)
  end do
  last(1) = i
  do i = n, 1, -1
    x(i) = x(i) + x(i + 1)
  end do
  last(2) = i
  do i = 2, n, 3
    y(i) = y(i) - 1
  end do
  last(3) = i
  do i = n, 2, -2
    y(i) = y(i)/y(i - 1)
  end do
  last(4) = i
  do i = 1, n/2
    do j = i, n - i + 1
      y(j) = y(j) + x(i)
    end do
  end do
  last(5) = i
  do i = -n/3 + 2, (n + 5)/4
    if (i >= 0) x(i) = x(i)*0.5d0
  end do
  last(6) = i
end subroutine
)",
                   kSizes);
}

TEST_CASE("fortran: a condition on what another loop computed is no part of that loop") {
  same_as_gfortran(R"(
subroutine s(n, x)
  integer, intent(in) :: n
  real(8), intent(inout) :: x(n)
  real(8) :: t
  integer :: j, l
  do j = 1, n
    t = x(j)
    x(j) = 2*t
  end do
  do l = 1, n
    if (x(l) > t) then
      x(l) = 1
    else
      x(l) = x(l) + 2
    end if
  end do
end subroutine
)",
                   kSizes);
}

TEST_CASE("fortran: choices, early returns and select case") {
  same_as_gfortran(R"(
subroutine choices(n, x, kinds, count)
  implicit none
  integer, intent(in) :: n
  real(4), intent(inout) :: x(n)
  integer, intent(inout) :: kinds(n), count
  integer :: i
  logical :: small, both
  count = 0
  if (n <= 0) return
  do i = 1, n
    small = x(i) < 0.5
    both = small .eqv. kinds(i) > 4
    if (small .and. .not. both) then
      x(i) = x(i)*2
    else if (x(i) > 0.9 .or. kinds(i) == 3) then
      x(i) = 0
      count = count + 1
    else
      x(i) = sqrt(x(i))
    end if
    select case (kinds(i))
    case (:1)
      kinds(i) = -1
    case default
      kinds(i) = kinds(i) + 10
    case (3, 5:7)
      kinds(i) = kinds(i)*kinds(i)
    end select
    if (both) count = count + 100
  end do
  if (count > 3) then
    x(1) = count
    return
  end if
  x(n) = -1
end subroutine
)",
                   kSizes);
}

TEST_CASE("fortran: arithmetic of every kind, divisions towards zero, intrinsics") {
  same_as_gfortran(R"(
subroutine arithmetic(n, a, b, s, z, i8, i2, out, k)
  implicit none
  integer, intent(in) :: n
  integer, intent(in) :: a(n), b(n)
  real, intent(in) :: s(n)
  complex(8), intent(inout) :: z(n)
  integer(8), intent(inout) :: i8(n)
  integer(2), intent(inout) :: i2(n)
  real(8), intent(out) :: out(12, n)
  integer, intent(out) :: k(8, n)
  integer :: i
  real(8), parameter :: w(3) = (/ 0.25d0, 0.5d0, 0.25d0 /)
  do i = 1, n
    k(1, i) = (a(i) - 5)/(b(i) + 1)
    k(2, i) = mod(a(i) - 5, b(i) + 1) + 10*modulo(a(i) - 5, b(i) + 1)
    k(3, i) = sign(a(i), b(i) - 4) + dim(a(i), b(i)) + abs(a(i) - 7)
    k(4, i) = int(s(i)*10 - 5) + merge(1, 2, a(i) > b(i))
    k(5, i) = iand(a(i), b(i)) + 16*ior(a(i), b(i)) + 256*ieor(a(i), b(i))
    k(6, i) = max(a(i), b(i), 4) - min(a(i), b(i))
    k(7, i) = (a(i) - 4)**3
    k(8, i) = i8(i) + i2(i)
    i8(i) = i8(i)*3000000000_8 + a(i)
    i2(i) = i2(i) + int(a(i), 2)
    out(1, i) = s(i)/3 + 1.5d0*a(i)
    out(2, i) = a(i)/2 + dble(s(i))**2 + 2.0d0**b(i)
    out(3, i) = sin(s(i)) + exp(dble(s(i))) - log(s(i) + 1)
    out(4, i) = mod(dble(s(i)) - 0.5d0, 0.2d0) + modulo(dble(s(i)) - 0.5d0, 0.2d0)
    out(5, i) = sign(2.0d0, s(i) - 0.5d0) + aint(10*s(i)) + anint(10*s(i))
    out(6, i) = atan2(dble(s(i)), 0.5d0) + atan(s(i)) + hypot(3.0d0, 4.0d0)
    out(7, i) = abs(z(i)) + real(z(i)) - aimag(z(i))
    out(8, i) = w(1 + mod(i, 3))
    out(9, i) = max(s(i), 0.5) + min(dble(s(i)), 0.25d0)
    out(10, i) = -s(i) + (s(i) - (s(i) - 1))
    out(11, i) = 1/3 + 1.0/3 + 7/2*0.5
    out(12, i) = gamma(1 + dble(s(i))) + erf(s(i)) + tanh(s(i))
    z(i) = conjg(z(i))*cmplx(s(i), 1.0, 8) + (0.5d0, -1)
  end do
end subroutine
)",
                   kSizes);
}

TEST_CASE("fortran: loops of kind 8 count in 64 bits, others beside them keep their values") {
  const std::string text = R"(
subroutine wide(n, m, first, a, k, t, places)
  implicit none
  integer(8), intent(in) :: n, first
  integer, intent(in) :: m
  real(8), intent(inout) :: a(n, m)
  integer, intent(inout) :: k(n)
  integer(8), intent(inout) :: t(n), places(n)
  integer(8) :: i, from(2)
  integer :: j
  do i = 1, n
    t(i) = t(i) + i*i*100000 + mod(i, 7_8)
    k(i) = int(i*i) + 1
  end do
  do i = first, first + n - 1
    t(i - first + 1) = t(i - first + 1) + i/2
  end do
  do i = first + 2*n, first + 1, -2
    t((i - first)/2 + mod(n, 2_8)*0) = t((i - first)/2) - i
  end do
  from = [first, first + min(n, 3_8) - 1]
  do i = from(1), from(2), max(1_8, n/100)
    places(i - first + 1) = i
  end do
  do j = 1, m
    a(2:n, j) = a(1:n - 1, j) + j*j + first
    if (n > 0) a(1, j) = sum(a(:, j)) + maxval(t(1:n))
    do i = 1, n
      if (k(i) > j) k(i) = k(i) - j
    end do
  end do
end subroutine
)";
  same_as_gfortran(text, {{{"n", "0"}, {"m", "2"}, {"first", "3"}},
                          {{"n", "1"}, {"m", "1"}, {"first", "2147483646"}},
                          {{"n", "9"}, {"m", "3"}, {"first", "2147483640"}},
                          {{"n", "300"}, {"m", "2"}, {"first", "3000000000000"}}});
  CHECK(import("subroutine s(n, x)\n  integer(8) :: n\n  real :: x(n)\n  x = 0\nend subroutine\n")
            .original.at(0)
            .index_type == Scalar::I64);
  CHECK(import("subroutine s(n, m, x)\n  integer(8) :: m\n  integer :: n, i\n  real :: x(n)\n"
               "  do i = 1, n\n    x(i) = m\n  end do\nend subroutine\n")
            .original.at(0)
            .index_type == Scalar::I32);
}

TEST_CASE("fortran: fixed form, labels, implicit types, assumed sizes") {
  same_as_gfortran(
      R"(
      SUBROUTINE SCALE(N, LDA, A, X, S)
C     what the old ones look like
      INTEGER N, LDA
      DOUBLE PRECISION A(LDA, *), X(*), S, TEMP
      PARAMETER (ZERO = 0.0D0)
      S = ZERO
      DO 20 J = 1, N
         TEMP = X(J)
         DO 10, I = 1, N
            A(I, J) = A(I, J)*TEMP
     $                + 1
            S = S + A(I, J)
   10    CONTINUE
   20 CONTINUE
      RETURN
      END
)",
      {{{"n", "1"}, {"lda", "1"}}, {{"n", "9"}, {"lda", "9"}}, {{"n", "5"}, {"lda", "8"}}},
      "scale.f");
}

TEST_CASE("fortran: statement functions") {
  same_as_gfortran(
      R"(
      SUBROUTINE SMOOTH(N, M, U, K)
      IMPLICIT REAL*8 (A-H, O-Z)
      DIMENSION U(N, M), K(N, M)
      F(X, Y) = 0.5D0*(X + Y)
      NEAR(X) = 3.5D0*X + N
      G(X, I) = F(X, U(I, 1))**2 + NEAR(X)
      DO 10 J = 2, M
      DO 10 I = 2, N
         X = U(I, J)
         U(I, J) = F(U(I - 1, J), X) + F(X, U(I, J - 1)) + G(X + 1, I)
   10 K(I, J) = NEAR(U(I, J)) + K(I, J)
      END
)",
      {{{"n", "1"}, {"m", "1"}}, {{"n", "9"}, {"m", "4"}}}, "smooth.f");
}

TEST_CASE("fortran: bounds that data gives, and that the loop changes") {
  same_as_gfortran(R"(
subroutine bounds(n, length, x, total)
  implicit none
  integer, intent(in) :: n, length(n)
  real(8), intent(in) :: x(0:n + 9)
  real(8), intent(out) :: total(n)
  integer :: i, j, m
  m = n
  do i = 1, m
    m = 0
    total(i) = m
    do j = i - 1, i + length(i) - 1
      total(i) = total(i) + x(j)
    end do
  end do
end subroutine
)",
                   kSizes);
}

TEST_CASE("fortran: whole arrays and sections, as if the right side were computed first") {
  same_as_gfortran(R"(
subroutine sections(n, a, b, x, y, s, k)
  implicit none
  integer, intent(in) :: n
  real(8), intent(inout) :: a(n, n), b(0:n-1, n), x(n), y(-1:n-2)
  real(8), intent(out) :: s(9)
  integer, intent(inout) :: k(n)
  real(8) :: w(n)
  integer :: i
  s = 0
  w = 2*x + y
  a(:, 1) = w
  b = a + 1
  if (n > 1) a(2:n, :) = a(1:n-1, :)*0.5d0
  x(1:n:2) = x(n:1:-2) + 1
  x = x(n:1:-1)
  y(:) = sqrt(abs(y(:))) + merge(x, w, x > 0.5d0)
  k = k + int(10*x)
  s(1) = sum(a)
  s(2) = maxval(x(2:))
  s(3) = minval(k)
  s(4) = dot_product(x, w)
  s(5) = count(x > 0.5d0)
  if (any(k == 3)) s(6) = 1
  if (all(k >= 0)) s(7) = product(x(1:n:3))
  s(8) = maxval(k)
  do i = 1, n
    a(i, i:n) = a(i, i:n) - sum(b(:i-1, i))/n
  end do
  s(9) = sum(abs(a(:, n:n)))
end subroutine
)",
                   kSizes);
}

TEST_CASE("fortran: exit, cycle and return anywhere, and what the variables are behind") {
  same_as_gfortran(R"(
subroutine leaving(n, x, k, found)
  implicit none
  integer, intent(in) :: n
  real(8), intent(inout) :: x(n)
  integer, intent(inout) :: k(n)
  integer, intent(out) :: found(5)
  integer :: i, j
  found = 0
  do i = 1, n
    if (k(i) == 3) exit
    x(i) = x(i) + 1
  end do
  found(1) = i
  do i = 1, n
    if (x(i) < 0.3d0) cycle
    x(i) = x(i)*2
    if (k(i) > 7) cycle
    k(i) = k(i) + 1
  end do
  outer: do j = 1, n
    do i = 1, j
      if (k(i) == 5) cycle outer
      if (x(i) > 3.5d0) exit outer
      x(j) = x(j) + 0.25d0
    end do
    found(2) = j
  end do outer
  found(3) = i
  found(4) = j
  do i = n, 1, -2
    if (x(i) > 2.5d0) then
      x(i) = -x(i)
      if (k(i) < 4) return
    else if (k(i) == 2) then
      exit
    end if
    k(i) = -k(i)
  end do
  if (i > 3) then
    found(5) = i
    if (k(1) > 0) return
  else if (i > 1) then
    if (k(2) > 0) return
    found(5) = -1
  end if
  x(:) = x + found(5)
end subroutine
)",
                   kSizes);
}

TEST_CASE("fortran: nothing guards what does nothing at the end of a loop") {
  const char* const text = R"(
subroutine ends(n, x, k)
  integer, intent(in) :: n
  real(8), intent(inout) :: x(n)
  integer, intent(in) :: k(n)
  integer :: i
  do i = 1, n
    if (k(i) > 2) then
      if (x(i) > 0.5d0) cycle
      x(i) = 2*x(i)
    else if (k(i) == 1) then
      x(i) = 0.25d0
    end if
    if (x(i) > 0.75d0) cycle
  end do
  if (n > 2) then
    if (x(1) > x(2)) return
    x(1) = 3
  end if
  if (k(1) > 3) then
    if (x(1) > 2) return
  end if
end subroutine
)";
  same_as_gfortran(text, kSizes);
  const std::string code = generate(import(text).original.at(0), Target::C).source;
  CHECK(code.find("goes_on") == std::string::npos);
}

TEST_CASE("fortran: steps that a variable gives, counters beside the loop's") {
  const auto sizes = [](const char* n, const char* by) {
    return GivenValues{{"n", n}, {"by", by}};
  };
  same_as_gfortran(R"(
subroutine steps(n, by, x, y, last)
  implicit none
  integer, intent(in) :: n, by
  real(8), intent(inout) :: x(n), y(n)
  integer, intent(out) :: last(3)
  integer :: i, ix, width
  do i = 1, n, by
    x(i) = x(i) + i
  end do
  last(1) = i
  do i = n, 1, -by
    y(i) = y(i) - x(i)
  end do
  last(2) = i
  width = by + 1
  ix = 1
  do i = 2, n, width
    y(i) = y(i)*x(ix)
    ix = ix + by
  end do
  last(3) = ix
end subroutine
)",
                   {sizes("0", "1"), sizes("1", "2"), sizes("7", "1"), sizes("17", "3"),
                    sizes("64", "2"), sizes("20", "30")});
}

TEST_CASE("fortran: characters choose") {
  std::vector<GivenValues> sizes;
  for (const char letter : {'U', 'l', 'x'})
    sizes.push_back({{"n", "9"}, {"uplo", std::to_string(letter)}, {"keep", "75"}});
  same_as_gfortran(R"(
subroutine triangle(uplo, keep, n, a)
  implicit none
  character, intent(in) :: uplo
  character(1) :: keep
  integer, intent(in) :: n
  real(8), intent(inout) :: a(n, n)
  integer :: i, j
  if (uplo /= 'U' .and. uplo /= 'l') return
  do j = 1, n
    do i = 1, n
      if (uplo == 'U' .and. i > j) a(i, j) = 0
      if (uplo == 'l' .and. i < j) then
        if (keep >= 'K') a(i, j) = -a(i, j)
      end if
    end do
  end do
end subroutine
)",
                   sizes);
}

TEST_CASE("fortran: subscripts of an array of one axis are computed in 32 bits, as in the source") {
  const auto code = [](const std::string& declared) {
    const test::Imported k =
        import("subroutine s(n, x, incx, a)\ninteger n, incx, ix, i\n" + declared +
               "\nreal(8) a(n, n)\nix = 1\ndo i = 1, n\nx(ix) = 2*x(ix) + a(i, i)\n"
               "ix = ix + incx\nend do\nend\n");
    return generate(k.original.at(0), Target::C).source;
  };
  CHECK(code("real(8) x(*)").find("x[incx*i]") != std::string::npos);
  CHECK(code("real(8) x(*)").find("a[(int64_t)n*i + i]") != std::string::npos);
  CHECK(code("integer(8) x(*)").find("x[incx*i]") != std::string::npos);
}

TEST_CASE("fortran: counters are expressions of the loop's variable, where they gain the same") {
  const auto kernel = [](const std::string& body, const std::string& lua = "") {
    return import(
               "subroutine s(n, inc, a, b)\n  integer, intent(in) :: n, inc\n"
               "  real, intent(inout) :: a(*), b(n)\n  integer :: i, j, k\n" +
               body + "end subroutine\n" +
               (lua.empty()
                    ? ""
                    : "!$moonloop begin transform\n! " + lua + "\n!$moonloop end transform\n"))
        .transformed.at(0);
  };
  const std::string by_two = "k = 1\ndo i = n, 1, -1\n  a(k) = b(i)\n  k = k + 2\nend do\n";
  const Kernel two = kernel(by_two, "s = lp.tag_inames(s, {i = \"par\"})");
  CHECK(two.find_temporary("k") == nullptr);
  CHECK(print_kernel(two).find("a[2*i] = b[n - i - 1]") != std::string::npos);
  const std::string by_argument = "k = 1\ndo i = 1, n\n  a(k) = b(i)\n  k = k + inc\nend do\n";
  CHECK(print_kernel(kernel(by_argument)).find("a[inc*i] = b[i]") != std::string::npos);
  const std::string parallel = "s = lp.tag_inames(s, {i = \"par\"})";
  CHECK(error_of([&] { kernel(by_argument, parallel); }).find("not-proved") != std::string::npos);
  CHECK(kernel(by_argument, "s = lp.fix_parameters(s, {inc = -3}) " + parallel).tag("i"));
  // A choice, another loop's variable and a call prevent it: the counter stays as it is.
  for (const char* stays :
       {"k = 0\ndo i = 1, n\n  if (b(i) > 0) k = k + 1\n  a(k + 1) = 0\nend do\n",
        "k = 0\ndo i = 1, n\n  k = k + i\n  a(k) = 0\nend do\n",
        "k = 0\ndo i = 1, n\n  k = k + 1\n  a(k) = 0\n  k = k + 1\nend do\n"}) {
    CAPTURE(stays);
    CHECK(kernel(stays).find_temporary("k") != nullptr);
  }
}

TEST_CASE("fortran: iterations that begin with a value from outside") {
  const Kernel k = import(
                       "subroutine s(n, a, x)\n  integer, intent(in) :: n\n"
                       "  real, intent(inout) :: a(n), x\n  integer :: i\n"
                       "  do concurrent (i = 1:n) local_init(x)\n    x = x + a(i)\n    a(i) = x\n"
                       "  end do\nend subroutine\n"
                       "!$moonloop begin transform\n! s = lp.tag_inames(s, {i = \"par\"})\n"
                       "!$moonloop end transform\n")
                       .transformed.at(0);
  CHECK(print_kernel(k).find("  x_1 = x  {id=insn}\n") != std::string::npos);
}

TEST_CASE("fortran: what iterations of `do concurrent` reduce is what a loop does") {
  const auto sums = [](const std::string& loop) {
    return import(
               "subroutine s(n, a, x, m)\n  integer, intent(in) :: n\n"
               "  real, intent(in) :: a(n)\n  real, intent(inout) :: x, m\n  integer :: i\n  " +
               loop + "\n    x = x + a(i)\n    m = max(m, a(i))\n  end do\nend subroutine\n")
        .original.at(0);
  };
  const Kernel plain = sums("do i = 1, n");
  CHECK(plain.instructions.size() == 2);
  CHECK(print_kernel(sums("do concurrent (i = 1:n) reduce(+:x) reduce(max:m)")) ==
        print_kernel(plain));
}
