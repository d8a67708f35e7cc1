// Allocatable variables and pointers without memory as optional arguments, which are not there
// then.
#include "tests/cli/fortran_program.h"

using namespace moonloop::test;

namespace {

constexpr const char* kOptionalAndNot = R"(module m
  implicit none
  type box
    real(8), allocatable :: a(:)
    real(8), pointer :: p(:) => null()
  end type
  real(8), allocatable :: u(:)
contains
  subroutine s(a, r, b)
    real(8), intent(inout), optional :: a(:)
    real(8), intent(inout) :: r
    real(8), intent(in), optional :: b(:)
    integer :: i
    if (present(a)) then
      do i = 1, size(a)
        a(i) = a(i) + i
      end do
      r = r + sum(a)
    else
      r = r - 1
    end if
    if (present(b)) r = r + 100*b(1)
  end subroutine
  subroutine apart(a, r)
    !$moonloop noinline
    real(8), intent(inout), optional :: a(:)
    real(8), intent(inout) :: r
    integer :: i
    r = 2*r
    if (present(a)) then
      do i = 1, size(a)
        r = r + a(i)
      end do
    end if
  end subroutine
  subroutine middle(z, r)
    real(8), allocatable, intent(inout) :: z(:)
    real(8), intent(inout) :: r
    call s(z, r)
  end subroutine
  subroutine arguments(z, p, w, r, o)
    real(8), allocatable, intent(inout) :: z(:)
    real(8), pointer, intent(in) :: p(:)
    type(box), intent(inout) :: w
    real(8), intent(inout) :: r(5)
    real(8), allocatable, optional, intent(inout) :: o(:)
    call s(z, r(1))
    call s(p, r(2), z)
    call s(w%a, r(3), w%p)
    call apart(z, r(4))
    call middle(z, r(4))
    call s(a=o, r=r(5))
    call s(r=r(5), b=u)
  end subroutine
  subroutine local(n, r)
    integer, intent(in) :: n
    real(8), intent(inout) :: r(3)
    real(8), allocatable :: z(:), y(:)
    real(8), pointer :: p(:)
    real(8), target :: t(4)
    integer :: i
    t = 2
    nullify (p)
    call s(z, r(1))
    if (n > 3) then
      allocate (z(n))
      z = 1
    end if
    call s(z, r(2))
    allocate (y(n))
    y = 3
    call s(y, r(3))
    deallocate (y)
    call s(y, r(3))
    call s(p, r(1))
    if (n > 2) p => t
    call s(p, r(2), t)
    do i = 1, 3
      block
        real(8), allocatable :: v(:)
        if (i == 2) allocate (v(2), source=1d0)
        call s(v, r(i))
      end block
    end do
  end subroutine
end module
)";

}  // namespace

TEST_CASE("fortran interface: what has no memory is no optional argument") {
  const Folder f;
  f.write("k.f90", kOptionalAndNot);
  f.write("main.f90", R"(program main
  use m
  implicit none
  real(8), allocatable :: z(:), o(:)
  real(8), target :: t(6)
  real(8), pointer :: p(:)
  type(box) :: w
  real(8) :: r(5), q(3)
  integer :: n
  r = 0
  nullify (p)
  call arguments(z, p, w, r)
  print *, r
  call arguments(z, p, w, r, o)
  print *, r
  allocate (z(0:2), o(3), u(-1:0))
  z = 1; o = 2; u = 3
  t = 1
  p => t(1:5:2)
  allocate (w%a(2))
  w%a = 0.5d0
  call arguments(z, p, w, r, o)
  print *, r, z, o, t, w%a
  w%p => t(2:)
  deallocate (z, u)
  nullify (p)
  call arguments(z, p, w, r)
  print *, r, o, t, w%a
  do n = 2, 5
    q = 0
    call local(n, q)
    print *, q
  end do
end program
)");
  same_program(f, {"arguments", "local"});
  same_program(f, {"arguments", "local", "middle", "s"});
}

TEST_CASE("fortran interface: nothing is asked of arrays without memory") {
  const Folder f;
  f.write("k.f90", R"(module m
  implicit none
  real(8), allocatable :: u(:, :)
contains
  subroutine add(n, z, p, r)
    integer, intent(in) :: n
    real(8), allocatable, intent(inout) :: z(:)
    real(8), pointer, intent(in) :: p(:)
    real(8), intent(inout) :: r
    integer :: i
    if (n > 0) then
      do i = lbound(z, 1), ubound(z, 1)
        r = r + z(i)*p(i)
      end do
      r = r + u(1, 1)
    end if
    r = r + 1
  end subroutine
end module
)");
  f.write("main.f90", R"(program main
  use m
  implicit none
  real(8), allocatable :: z(:)
  real(8), pointer :: p(:)
  real(8) :: r
  r = 0
  nullify (p)
  call add(0, z, p, r)
  allocate (z(-1:1), p(-1:1), u(2, 2))
  z = 2; p = 3; u = 4
  call add(1, z, p, r)
  deallocate (z)
  call add(0, z, p, r)
  deallocate (p)
  print *, r
end program
)");
  same_program(f);
  const Outcome made = tool("gen k.f90 --fortran-interface i.f90 -o k.c", f.str());
  REQUIRE(made.status == 0);
  const Outcome checked = shell(
      "gfortran -g -fcheck=all -fsanitize=undefined,address -fno-sanitize-recover i.f90 main.f90 "
      "k.c -o checked -lm && ./checked",
      f.str());
  CHECK_MESSAGE(checked.status == 0, checked.err);
}

TEST_CASE("fortran: optional arguments of functions are there without a test, or refused") {
  const Folder f;
  f.write("k.f90", R"(module m
contains
  function f(x, a)
    real(8), intent(in) :: x
    real(8), intent(in), optional :: a(:)
    real(8) :: f(2)
    f = merge(x, 0d0, present(a))
  end function
  subroutine ask(x, z)
    real(8), intent(inout) :: x
    real(8), allocatable, intent(in) :: z(:)
    x = sum(f(x, z))
  end subroutine
  subroutine part(x, z)
    real(8), intent(inout) :: x
    real(8), allocatable, intent(in) :: z(:)
    if (allocated(z)) x = sum(f(x, z(:)))
  end subroutine
end module
)");
  const Outcome out = tool("gen k.f90 --kernel ask", f.str());
  CHECK(out.status == 1);
  CHECK(
      has(out.err,
          "k.f90:12:5: error: an allocatable or a pointer for an optional argument of the "
          "function `f`, which is not there without memory, is not supported in Fortran kernels"));
}

TEST_CASE("fortran interface: optional pointers to records") {
  const Folder f;
  f.write("k.f90", R"(module m
  implicit none
  type s
    real(8) :: x
    integer :: n(2)
    real(8), allocatable :: a(:)
  end type
contains
  subroutine add(r, p, k)
    real(8), intent(inout) :: r
    type(s), optional, pointer :: p
    integer, intent(in), optional :: k
    if (present(k)) r = r + k
    if (present(p)) then
      r = r + p%x + sum(p%n)
      p%n(1) = p%n(1) + 1
      if (present(k)) then
        r = r + p%a(k)
        p%a(k) = r
      end if
    end if
  end subroutine
  subroutine twice(r, p)
    real(8), intent(inout) :: r
    type(s), pointer :: p
    call add(r)
    call add(r, p)
  end subroutine
end module
)");
  f.write("main.f90", R"(program main
  use m
  implicit none
  real(8) :: r
  type(s), pointer :: p
  r = 1
  call add(r)
  allocate (p)
  p%x = 5
  p%n = [6, 7]
  call add(r, p)
  print *, r, p%x, p%n
  allocate (p%a(3))
  p%a = 0.5d0
  call add(r, p, 2)
  call add(r, k=3)
  call twice(r, p)
  print *, r, p%x, p%n, p%a
end program
)");
  same_program(f, {"add", "twice"});
}

TEST_CASE("fortran interface: whether components of arguments have memory") {
  const Folder f;
  f.write("k.f90", R"(module im
  implicit none
  type cell
    real(8), allocatable :: a(:)
    real(8), pointer :: p(:) => null()
    integer :: n = 0
  end type
contains
  subroutine fill(c, v)
    type(cell), intent(inout) :: c
    real(8), intent(in) :: v
    integer :: i
    if (allocated(c%a)) then
      do i = 1, size(c%a)
        c%a(i) = v*i
      end do
      c%n = c%n + 1
    end if
    if (c%n > 99) print *, 'many'
    if (associated(c%p)) then
      c%p = c%p + v
      c%n = c%n + 10
    end if
  end subroutine
  subroutine by_fill(c, v)
    type(cell), intent(inout) :: c
    real(8), intent(in) :: v
    call fill(c, 2*v)
    if (.not. allocated(c%a)) c%n = c%n + 1000
  end subroutine
  subroutine init(c, n)
    type(cell), intent(inout) :: c
    integer, intent(in) :: n
    if (.not. allocated(c%a)) allocate(c%a(n))
    c%a = 1
    c%n = n
  end subroutine
end module
)");
  f.write("main.f90", R"(program main
  use im
  implicit none
  type(cell) :: c
  real(8), target :: t(3) = [1, 2, 3]
  call fill(c, 2d0)
  call by_fill(c, 2d0)
  print *, c%n
  call init(c, 4)
  call fill(c, 3d0)
  print *, c%n, c%a
  c%p => t
  call fill(c, 5d0)
  call by_fill(c, 1d0)
  print *, c%n, c%a, t
end program
)");
  same_program(f, {"fill"});
  same_program(f, {"fill", "by_fill"});
  same_program(f, {"by_fill"});
}
