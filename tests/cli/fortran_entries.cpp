// Entries of subprograms: what they compute, how they are replaced, and what is refused.
#include "tests/cli/fortran_program.h"

using namespace moonloop::test;

namespace {

constexpr const char* kSubroutine = R"(subroutine first(n, x)
  implicit none
  integer, intent(in) :: n
  real(8), intent(inout) :: x(n), y(n)
  real(8) :: c
  integer :: m, i
  c = 2
  do i = 1, n
    x(i) = c*x(i)
  end do
  return
entry later(n, x, y)
  c = 3
10 do i = 1, n
    y(i) = y(i) + c*x(i)
  end do
  return
entry last(n, y, m, x)
  c = m
  if (m > 3) goto 10
  y(1) = -1
end subroutine
)";

constexpr const char* kFunction = R"(real(8) function f(x)
  implicit none
  real(8) :: x, g, h, y, same
  entry same(x)
  f = x
  return
  entry g(x)
  f = 2*x
  return
  entry h(x, y)
  h = 3*x + y
end function
)";

}  // namespace

TEST_CASE("fortran entries: subroutines and functions, called from outside and from others") {
  const Folder f;
  f.write("k.f90", std::string(kSubroutine) + kFunction + R"(
subroutine user(n, x, y)
  implicit none
  integer :: n
  real(8) :: x(n), y(n), f, g, h, same
  call first(n, x)
  call later(n, x, y)
  call last(n, y, 5, x)
  x(1) = f(x(2)) + g(x(3)) + h(x(1), y(1)) + same(1d0)
end subroutine
)");
  f.write("main.f90", R"(program main
  implicit none
  real(8) :: x(6), y(6), f, g, h, same
  integer :: i
  x = [(i, i = 1, 6)]
  y = 1
  call first(6, x)
  print *, x
  call later(6, x, y)
  print *, y
  call last(6, y, 5, x)
  print *, y
  call last(6, y, 1, x)
  print *, y
  print *, f(2d0), g(2d0), h(2d0, 1d0), same(7d0)
  call user(6, x, y)
  print *, x, y
end program
)");
  same_program(f, {"first", "later", "last", "f", "same", "g", "h", "user"});
  const Outcome part = tool("gen k.f90 --kernel last -o k.c --fortran-interface i.f90", f.str());
  CHECK(part.status == 1);
  CHECK(has(part.err,
            "k.f90:18:7: error: `last` cannot be replaced without `first`, which is an entry of "
            "the same subprogram; choose both [unsupported]"));
}

TEST_CASE("fortran entries: of module procedures, of assumed shapes and derived types") {
  const Folder f;
  f.write("k.f90", R"(module m
  implicit none
  type pair
    real(8) :: a = 2
    integer :: n = 1
  end type
  real(8) :: weight = 0.5d0
contains
  subroutine fall(x, p)
    real(8), intent(inout) :: x(:), z(0:)
    type(pair), intent(inout) :: p, q
    logical, optional, intent(in) :: twice
    x(1) = x(1) + weight
    p%n = p%n + size(x)
  entry through(x, p)
    x(2) = 2*x(2) + p%a
    p%a = p%n
    return
  entry alone(z, q, twice)
    z(0) = z(0) + q%a
    if (present(twice)) then
      if (twice) z(0) = 2*z(0)
    end if
  end subroutine
end module
)");
  f.write("main.f90", R"(program main
  use m
  implicit none
  real(8) :: x(4)
  type(pair) :: p
  x = [1, 2, 3, 4]
  p = pair(0.25d0, 3)
  call fall(x, p)
  print *, x, p%a, p%n
  call through(x(2:), p)
  print *, x, p%a, p%n
  call alone(x, p)
  call alone(x, p, .true.)
  print *, x, p%a, p%n
end program
)");
  same_program(f, {"fall", "through", "alone"});
}

TEST_CASE("fortran entries: functions of their own") {
  const Folder f;
  f.write("k.f90", std::string(kSubroutine) + R"(
subroutine user(n, x, y)
  implicit none
  integer, intent(in) :: n
  real(8) :: x(n), y(n)
  call first(n, x)
  call last(n, y, 5, x)
end subroutine
)");
  const std::string text = f.read("k.f90");
  f.write("k.f90", "!$moonloop noinline\n" + text);
  const Outcome code = tool("gen k.f90 --kernel user", f.str());
  CHECK(code.err.empty());
  CHECK(has(code.out, "  first(n, &x[0]);\n"));
  CHECK(has(code.out, "  last(n, &y[0], 5, &x[0]);\n"));
}

TEST_CASE("fortran entries: what they cannot share is named") {
  const Folder f;
  f.write("k.f90", R"(subroutine a1(n, x)
  implicit none
  integer, intent(in) :: n
  real(8), intent(inout) :: x(n), y(n)
  x = 2*x
  entry b1(n, y)
  y = 2*y
end subroutine
subroutine a2(n, x)
  implicit none
  integer, intent(in) :: n
  real(8), intent(inout) :: x(n), y(n)
  real(8) :: c = 1
  x = c*x
  return
  entry b2(n, y)
  c = c + 1
  y = c*y
end subroutine
real function a3(x)
  integer b3
  a3 = x
  return
  entry b3(x)
  a3 = 2
  b3 = 3
end function
subroutine a4(n, x)
  integer :: n
  real :: x(n)
  x = 1
  entry b4(n, x)
  call inner
contains
  subroutine inner
    x = 2*x
  end subroutine
end subroutine
)");
  const Outcome out = tool("show k.f90 --what imports", f.str());
  const auto says = [&](const std::string& text) {
    CHECK_MESSAGE(has(out.out, text + " is not supported in "), out.out);
  };
  says("k.f90:4:35: `y`, which is not an argument of `a1` and which its statements may use,");
  says(
      "k.f90:13:14: `c`, which keeps its value from call to call and which the entries `a2` and "
      "`b2` use,");
  says(
      "k.f90:13:14: `c`, which keeps its value from call to call and which the entries `b2` and "
      "`a2` use,");
  says("k.f90:20:15: `a3`, the result of another entry and of another type,");
  says("k.f90:28:12: `entry` in a routine that contains others");
  CHECK(has(out.out, "2 of 9 imported"));
}
