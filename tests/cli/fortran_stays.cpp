// What stays Fortran: blocks whose arrays are as long as is known there, procedures as arguments of
// recursive and optional ones, optional allocatable records, arrays of records in arrays of
// records.
#include "tests/cli/fortran_program.h"

using namespace moonloop::test;

TEST_CASE("fortran interface: arrays of a block whose bounds were assigned before") {
  const Folder f;
  f.write("k.f90", R"(module m
  implicit none
contains
  subroutine s(n, x)
    integer, intent(in) :: n
    real(8), intent(inout) :: x(n)
    integer :: k, i
    k = n/2
    if (x(1) > 0) k = k + 1
    block
      real(8) :: t(k), u(0:k)
      do i = 1, k
        t(i) = x(i)*2
        u(i) = x(i) + 1
      end do
      u(0) = size(t)
      do i = 1, k
        x(i) = t(k + 1 - i) + u(i - 1)
      end do
      k = 1
      x(1) = x(1) + size(t) + size(u)
    end block
    do k = 1, n
      block
        real(8) :: t(k)
        t = k
        x(k) = x(k) + sum(t)
      end block
    end do
  end subroutine
end module
)");
  f.write("main.f90", R"(program p
  use m
  real(8) :: x(5)
  x = [1, 2, 3, 4, 5]
  call s(5, x)
  print *, x
end program
)");
  same_program(f, {"s"});
}

TEST_CASE("fortran interface: blocks whose arrays have other bounds at each turn") {
  const Folder f;
  f.write("k.f90", R"(module m
  implicit none
contains
  subroutine s(n, x)
    integer, intent(in) :: n
    real(8), intent(inout) :: x(n)
    integer :: k, i, l
    k = n/2
    block
      real(8) :: t(k)
      integer :: u(2*k, 0:k)
      t = x(1:k)
      u = 3
      u(1, 0) = size(t)
      x(1:k) = t(k:1:-1) + sum(u)
    end block
    l = 1
    do i = 1, n
      l = l + mod(i, 2)
      block
        real(8) :: w(l)
        integer :: j
        do j = 1, l
          w(j) = x(j)*j
        end do
        x(i) = sum(w) + size(w)
      end block
    end do
  end subroutine
end module
)");
  f.write("main.f90", R"(program p
  use m
  real(8) :: x(6)
  x = [1, 2, 3, 4, 5, 6]
  call s(6, x)
  print *, x
end program
)");
  same_program(f, {"s"});
}

TEST_CASE("fortran interface: optional allocatable records that get memory") {
  const Folder f;
  f.write("k.f90", R"(module m
  implicit none
  type cell
    integer :: k = 0
    real(8) :: w = 1
    real(8), allocatable :: v(:)
  end type
contains
  subroutine s(n, x, c, d)
    integer, intent(in) :: n
    real(8), intent(inout) :: x(n)
    type(cell), optional, allocatable, intent(inout) :: c
    type(cell), optional, allocatable, intent(inout) :: d(:)
    integer :: i
    do i = 1, n
      x(i) = x(i) + i
    end do
    if (present(c)) then
      if (.not. allocated(c)) then
        allocate(c)
        c%k = 3
      else
        c%k = c%k + 1
        c%w = c%w*2 + x(1)
      end if
      if (.not. allocated(c%v)) then
        allocate(c%v(n))
        c%v = x
      else
        c%v(1) = c%v(1) + 100
      end if
    end if
    if (present(d)) then
      if (allocated(d)) then
        do i = 1, size(d)
          d(i)%k = d(i)%k + i
          d(i)%w = d(i)%w + x(i)
        end do
      else
        allocate(d(2))
        d(1)%k = 7
        d(2)%k = 8
      end if
    end if
  end subroutine
end module
)");
  f.write("main.f90", R"(program p
  use m
  implicit none
  real(8) :: x(4)
  type(cell), allocatable :: c, d(:)
  x = 1
  call s(4, x)
  print *, x
  call s(4, x, c)
  print *, x, c%k, c%w, c%v
  call s(4, x, c)
  print *, x, c%k, c%w, c%v
  call s(4, x, d=d)
  print *, d%k, d%w
  call s(4, x, c, d)
  print *, d%k, d%w, c%k, c%w, c%v
end program
)");
  same_program(f, {"s"});
}

TEST_CASE("fortran interface: optional allocatable records") {
  const Folder f;
  f.write("k.f90", R"(module m
  implicit none
  type cell
    integer :: k = 0
    real(8) :: w = 1
  end type
contains
  subroutine s(n, x, c)
    integer, intent(in) :: n
    real(8), intent(inout) :: x(n)
    type(cell), optional, allocatable, intent(inout) :: c
    integer :: i
    do i = 1, n
      x(i) = x(i) + i
    end do
    if (present(c)) then
      if (allocated(c)) then
        c%k = c%k + 1
        c%w = c%w*2 + x(1)
      end if
    end if
  end subroutine
  subroutine r(n, x, c)
    integer, intent(in) :: n
    real(8), intent(inout) :: x(n)
    type(cell), optional, allocatable, intent(inout) :: c(:)
    integer :: i
    x(1) = -1
    if (present(c)) then
      x(1) = 2
      if (allocated(c)) then
        x(2) = size(c)
        do i = 1, size(c)
          c(i)%k = c(i)%k + 1
          c(i)%w = c(i)%w*2 + x(1)
        end do
      end if
    end if
  end subroutine
end module
)");
  f.write("main.f90", R"(program p
  use m
  implicit none
  real(8) :: x(4)
  type(cell), allocatable :: c, d(:)
  x = 1
  call s(4, x)
  print *, x
  call s(4, x, c)
  print *, x, allocated(c)
  allocate(c)
  call s(4, x, c)
  print *, x, c%k, c%w
  call r(4, x)
  print *, x
  call r(4, x, d)
  print *, x
  allocate(d(3))
  call r(4, x, d)
  print *, x, d%k, d%w
end program
)");
  same_program(f, {"s", "r"});
}

TEST_CASE("fortran interface: recursive functions of procedures") {
  const Folder f;
  f.write("k.f90", R"(module m
  implicit none
  interface
    real(8) function fun(x)
      real(8), intent(in) :: x
    end function
  end interface
contains
  recursive real(8) function simpson(f, a, b, eps, depth) result(r)
    procedure(fun) :: f
    real(8), intent(in) :: a, b, eps
    integer, intent(in) :: depth
    real(8) :: c, s1, s2
    c = (a + b)/2
    s1 = (b - a)/6*(f(a) + 4*f(c) + f(b))
    s2 = (b - a)/12*(f(a) + 4*f((a + c)/2) + 2*f(c) + 4*f((c + b)/2) + f(b))
    if (depth <= 0 .or. abs(s1 - s2) < eps) then
      r = s2
    else
      r = simpson(f, a, c, eps/2, depth - 1) + simpson(f, c, b, eps/2, depth - 1)
    end if
  end function
  subroutine apply(n, x, f, g)
    integer, intent(in) :: n
    real(8), intent(inout) :: x(n)
    procedure(fun) :: f
    procedure(fun), optional :: g
    integer :: i
    do i = 1, n
      x(i) = f(x(i))
      if (present(g)) x(i) = x(i) + g(x(i))
    end do
  end subroutine
  subroutine outer(n, x, g)
    integer, intent(in) :: n
    real(8), intent(inout) :: x(n)
    procedure(fun), optional :: g
    call apply(n, x, sq, g)
    if (present(g)) x(1) = x(1) + 1000
  end subroutine
  real(8) function sq(x)
    real(8), intent(in) :: x
    sq = x*x
  end function
  real(8) function pl(x)
    real(8), intent(in) :: x
    pl = exp(x/100)
  end function
end module
)");
  f.write("main.f90", R"(program p
  use m
  real(8) :: x(3)
  x = [1, 2, 3]
  print *, simpson(sq, 0d0, 1d0, 1d-8, 20), simpson(pl, 0d0, 3d0, 1d-12, 20)
  call apply(3, x, sq)
  print *, x
  call apply(3, x, sq, pl)
  print *, x
  call outer(3, x)
  print *, x
  call outer(3, x, pl)
  print *, x
end program
)");
  same_program(f, {"simpson", "apply", "outer"});
}

TEST_CASE("fortran interface: optional procedures, and procedures that are passed on") {
  const Folder f;
  f.write("k.f90", R"(module m
  implicit none
  abstract interface
    real(8) function fun(x)
      real(8), intent(in) :: x
    end function
    subroutine act(n, x)
      integer, intent(in) :: n
      real(8), intent(inout) :: x(n)
    end subroutine
  end interface
contains
  recursive subroutine walk(n, x, f, a)
    integer, intent(in) :: n
    real(8), intent(inout) :: x(n)
    procedure(fun) :: f
    procedure(act), optional :: a
    integer :: i
    do i = 1, n
      x(i) = f(x(i))
    end do
    if (present(a)) call a(n, x)
    if (n > 2) then
      if (present(a)) then
        call walk(n/2, x, f, a)
      else
        call walk(n/2, x, f)
      end if
    end if
  end subroutine
  recursive integer function tree(n, g, x) result(r)
    integer, intent(in) :: n
    procedure(fun) :: g
    real(8), intent(inout) :: x(*)
    x(1) = x(1) + g(x(1))
    if (n <= 1) then
      r = 1
    else
      r = tree(n - 1, g, x) + tree(n - 2, g, x)
    end if
  end function
  subroutine both(n, x, g, a)
    integer, intent(in) :: n
    real(8), intent(inout) :: x(n)
    procedure(fun), optional :: g
    procedure(act), optional :: a
    call one(n, x, g)
    if (present(a)) call a(n, x)
    call one(n, x)
  end subroutine
  subroutine one(n, x, g)
    integer, intent(in) :: n
    real(8), intent(inout) :: x(n)
    procedure(fun), optional :: g
    if (present(g)) then
      x(1) = g(x(1))
    else
      x(2) = x(2) + 1
    end if
  end subroutine
end module
module fs
contains
  real(8) function half(x)
    real(8), intent(in) :: x
    half = x/2 + 1
  end function
  subroutine neg(n, x)
    integer, intent(in) :: n
    real(8), intent(inout) :: x(n)
    x = -x
  end subroutine
end module
)");
  f.write("main.f90", R"(program p
  use m
  use fs
  real(8) :: x(6)
  x = [1, 2, 3, 4, 5, 6]
  call walk(6, x, half, neg)
  print *, x
  call walk(6, x, half)
  print *, x
  print *, tree(5, half, x)
  print *, x
  call both(6, x)
  print *, x
  call both(6, x, half, neg)
  print *, x
  call both(6, x, a=neg)
  print *, x
end program
)");
  same_program(f, {"walk", "tree", "both", "one"});
}

TEST_CASE("fortran interface: arrays of records in arrays of records in print") {
  const Folder f;
  f.write("k.f90", R"(module m
  implicit none
  type pt
    real(8) :: x = 0, y(2) = 0
  end type
  type tri
    integer :: id = 0
    type(pt) :: c(3)
  end type
contains
  subroutine s(n, a, r)
    integer, intent(in) :: n
    type(tri), intent(inout) :: a(n)
    real(8), intent(inout) :: r(n)
    type(tri) :: b(n)
    integer :: i
    do i = 1, n
      a(i)%c(2)%x = a(i)%c(1)%x + r(i)
      b(i)%c(1)%x = i
      b(i)%c(1)%y(2) = i*2
      b(i)%id = i
      b(i)%c(2)%x = i + 1
    end do
    print '(3f8.3)', a(1)%c
    print '(i4, 9f8.3)', b(2)%id, b(2)%c(1)%x, b(n)%c(1)%y
    write(*, '(3f8.2)') a(:)%c(2)%x
    print '(2f8.2)', b(1)%c%x
    do i = 1, n
      r(i) = r(i) + b(i)%c(2)%x
    end do
  end subroutine
end module
)");
  f.write("main.f90", R"(program p
  use m
  type(tri) :: a(2)
  real(8) :: r(2)
  r = [1, 2]
  call s(2, a, r)
  call s(2, a, r)
  print *, r, a(1)%c(2)%x
end program
)");
  same_program(f, {"s"});
}

TEST_CASE("fortran interface: private components in statements that stay Fortran") {
  const Folder f;
  f.write("k.f90", R"(module m
  implicit none
  type, public :: q
    private
    integer :: n = 0
    real(8), allocatable :: v(:)
  end type
contains
  subroutine grow(a, k, x)
    type(q), intent(inout) :: a
    integer, intent(in) :: k
    real(8), intent(inout) :: x(k)
    integer :: i
    if (.not. allocated(a%v)) allocate (a%v(k))
    a%v = k
    a%n = a%n + k
    do i = 1, k
      x(i) = x(i) + a%v(1)
    end do
    if (a%n > 5) x(1) = -1
  end subroutine
  integer function used(a)
    type(q), intent(in) :: a
    used = a%n + size(a%v)
  end function
end module
)");
  f.write("main.f90", R"(program p
  use m
  implicit none
  type(q) :: a
  real(8) :: x(3)
  x = 1
  call grow(a, 3, x)
  print *, x, used(a)
  call grow(a, 3, x)
  print *, x, used(a)
end program
)");
  same_program(f, {"grow"});
}

TEST_CASE("fortran: optional arguments that Fortran keeps, and blocks, where they are refused") {
  const Folder f;
  f.write("k.f90", R"(module m
  implicit none
  type t
    real(8) :: x
  end type
contains
  subroutine both(n, a, c)
    integer, intent(in) :: n
    real(8), intent(inout) :: a(n)
    type(t), allocatable, optional, intent(inout) :: c
    if (present(c)) allocate (c)
    if (present(c) .and. allocated(c)) a(1) = 1
  end subroutine
  subroutine later(n, a)
    integer, intent(in) :: n
    real(8), intent(inout) :: a(n)
    integer :: i
    do i = 1, n
      block
        real(8) :: w(i)
        w = i
        if (w(1) > 3) return
        a(i) = sum(w)
      end block
    end do
  end subroutine
end module
)");
  const Outcome out = tool("show k.f90 --what imports", f.str());
  const auto says = [&](const std::string& what) { CHECK_MESSAGE(has(out.out, what), out.out); };
  says("`present` beside `c`, which Fortran keeps, in `value` is not supported");
  says("a `block` that has `w`, whose bounds are known where it begins, and more than");
}
