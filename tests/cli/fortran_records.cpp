// Functions that give derived types, and the values that components begin with.
#include "tests/cli/fortran_program.h"

using namespace moonloop::test;

TEST_CASE("fortran interface: functions that give derived types, inlined and replaced") {
  const Folder f;
  f.write("k.f90", R"(module vectors
  implicit none
  type vec
    real(8) :: x = 1, y = 2
    integer :: k(3) = 7
    logical :: f = .true.
    character :: c = 'q'
    character(4) :: name = 'none'
  end type
  type pair
    type(vec) :: a, b, d
    complex :: z
  end type
  integer :: calls = 0
contains
  function made(a, b) result(r)
    real(8), intent(in) :: a, b
    type(vec) :: r
    r%x = a
    if (b > 2) r%y = b
    r%f = a > b
    if (.not. r%f) r%name = 'made'
    r%k(2) = r%k(1) + 1
  end function
  pure function plus(p, q) result(r)
    type(vec), intent(in) :: p, q
    type(vec) :: r
    r%x = p%x + q%x
    r%y = p%y + q%y
    r%k = p%k + q%k
    r%f = p%f .and. q%f
    r%c = q%c
    r%name = p%name
  end function
  type(vec) function next(n)
    integer, intent(inout) :: n
    calls = calls + 1
    n = n + calls
    next%x = calls
    next%y = n
  end function
  function both(p, q, third) result(r)
    type(vec), intent(in) :: p, q
    type(vec), intent(in), optional :: third
    type(pair) :: r
    r%a = p
    r%b = q
    r%d = plus(p, q)
    if (present(third)) r%d = third
    r%z = cmplx(p%x, q%y)
  end function
  real(8) function norm(p)
    type(vec), intent(in) :: p
    norm = abs(p%x) + abs(p%y)
  end function
  function chain(n, a) result(r)
    integer, intent(in) :: n
    real(8), intent(in) :: a(n)
    type(vec) :: r
    integer :: i
    do i = 1, n
      r = plus(r, made(a(i), 2*a(i)))
    end do
  end function
  subroutine work(n, a, s, v, p)
    integer, intent(in) :: n
    real(8), intent(in) :: a(n)
    real(8), intent(inout) :: s(6)
    type(vec), intent(inout) :: v
    type(pair), intent(inout) :: p
    type(vec) :: t, w(n)
    integer :: i, m
    m = 1
    do i = 1, n
      t = made(a(i), 2*a(i))
      s(1) = s(1) + t%x + t%y + t%k(2)
      if (t%f) s(2) = s(2) + 1
      w(i) = plus(plus(v, t), made(t%y, a(1)))
      v = plus(v, w(i))
    end do
    t = next(m)
    t = plus(t, t)
    if (norm(next(m)) > 5) then
      s(3) = norm(plus(next(m), t))
    else if (norm(next(m)) > norm(made(1d0, 2d0))) then
      s(3) = -1
    end if
    s(4) = s(4) + m
    p = both(w(1), t)
    p%b = plus(p%a, p%b)
    p%d = made(s(1), s(2))
    s(5) = norm(made(norm(made(0.5d0, 3d0)), 0d0))
    do while (norm(next(m)) < 30)
      s(6) = s(6) + m
    end do
    t = chain(n, a)
    w(n) = t
    p = both(w(n), t, made(9d0, 9d0))
  end subroutine
end module
)");
  f.write("main.f90", R"(program main
  use vectors
  implicit none
  real(8) :: a(4) = [1, 2, 3, 4], s(6) = 0
  type(vec) :: v, t
  type(pair) :: p
  call work(4, a, s, v, p)
  print *, s, calls
  print *, v
  print *, p
  t = made(3d0, 4d0)
  print *, t, chain(4, a), plus(t, v)
  p = both(t, v)
  print *, p
  p = both(t, v, plus(v, v))
  print *, p
end program
)");
  same_program(f, {"work", "made", "plus", "chain", "both"});
  same_program(f, {"work"});
}

TEST_CASE("fortran interface: values of components that are records themselves") {
  const Folder f;
  f.write("k.f90", R"(module m
  implicit none
  type inner
    real(8) :: x = 1.5d0
    integer :: k(2) = [3, 4]
    logical :: l = .true.
  end type
  type deep
    type(inner) :: i = inner(l=.false.)
    integer :: n = 9
  end type
  type outer
    type(inner) :: c
    type(inner) :: d(2)
    type(inner) :: e = inner(2d0, [5, 6], .false.)
    type(inner) :: f(2) = inner(3d0, [7, 8])
    type(inner) :: g(2) = [inner(4d0, [1, 2]), inner(5d0, 11)]
    type(deep) :: h(2), o = deep(inner(k=[12, 13]), 14)
    character(3) :: t = 'abc'
  end type
contains
  subroutine sums(v, r)
    type(outer), intent(in) :: v
    real(8), intent(out) :: r(12)
    r = [v%c%x + sum(v%h%i%x) + v%o%i%x, v%d(2)%x, v%e%x, v%f(1)%x, v%g(2)%x, real(sum(v%c%k), 8), real(sum(v%d(1)%k), 8), &
         real(v%e%k(2), 8), real(sum(v%f(2)%k), 8), real(v%g(1)%k(2) + 100*v%g(2)%k(2), 8), &
         real(v%h(2)%n + v%h(1)%i%k(1), 8), real(v%o%n + v%o%i%k(2), 8)]
    if (v%c%l .and. v%d(2)%l .and. v%g(2)%l .and. v%f(1)%l .and. v%t == 'abc') r = r + 1
    if (v%e%l) r = r + 2
    if (v%h(2)%i%l) r = r + 4
    if (v%o%i%l) r = r + 8
  end subroutine
  subroutine begin(r, s)
    real(8), intent(out) :: r(12), s(12)
    type(outer) :: own, many(2)
    call sums(own, r)
    call sums(many(2), s)
    own%g(1)%k = 0
    many(1)%f(2)%k(1) = own%g(1)%k(1)
    r = r + many(1)%f(2)%k(1) + many(2)%f(2)%k(1)
    block
      type(outer) :: more
      integer :: i
      do i = 1, 3
        s(1) = s(1) + more%g(2)%x
        more%g(2)%x = 2
      end do
    end block
  end subroutine
end module
)");
  f.write("main.f90", R"(program main
  use m
  implicit none
  real(8) :: r(12), s(12)
  call begin(r, s)
  print *, r
  print *, s
end program
)");
  same_program(f, {"begin"});
}

TEST_CASE("fortran interface: elementwise functions of records, operators, and conditions") {
  const Folder f;
  f.write("k.f90", R"(module points
  implicit none
  type point
    real(8) :: x, y = 3
    logical :: up = .false.
  end type
  interface operator(+)
    module procedure plus
  end interface
contains
  elemental function plus(p, q) result(r)
    type(point), intent(in) :: p, q
    type(point) :: r
    r%x = p%x + q%x
    if (p%up) r%y = p%y - q%y
    r%up = .not. q%up
  end function
  elemental type(point) function scaled(a, p)
    real(8), intent(in) :: a
    type(point), intent(in) :: p
    scaled%x = a*p%x
    scaled%y = a*p%y
    scaled%up = a > 2
  end function
  subroutine work(n, m, a, p, q)
    integer, intent(in) :: n, m
    real(8), intent(in) :: a(n)
    type(point), intent(inout) :: p(n), q(n, m)
    type(point) :: own(0:3)
    integer :: j
    p = p + q(:, 1)
    p(2:) = p(1:n - 1) + scaled(2*a(2:), p(n:2:-1))
    q(:, m) = scaled(a, q(:, m)) + p
    own = q(1, 1) + p(1)
    do j = 1, 3
      own(j) = own(j - 1) + scaled(3d0, own(j))
    end do
    q(1:2, 1:2) = q(1:2, 1:2) + scaled(own(3)%x/100, q(n - 1:n, 1:2))
    select case (int(own(1)%x))
    case (1:9)
      p(1) = scaled(0.5d0, p(1)) + (own(1) + own(2))
    case default
      p(1) = p(1) + own(3)
    end select
  end subroutine
  type(point) function first(n, p)
    integer, intent(in) :: n
    type(point), intent(in) :: p(n)
    integer :: i
    first = p(1)
    do i = 2, n
      if (p(i)%up) then
        first = p(i) + first
        return
      end if
    end do
  end function
end module
)");
  f.write("main.f90", R"(program main
  use points
  implicit none
  real(8) :: a(4) = [1, 2, 3, 4]
  type(point) :: p(4), q(4, 2)
  integer :: i
  do i = 1, 4
    p(i)%x = i
    q(i, :)%x = 2*i
    q(i, 2)%up = mod(i, 2) == 0
  end do
  call work(4, 2, a, p, q)
  print *, p
  print *, q
  print *, first(4, p), first(1, p), plus(p, p(4:1:-1)), scaled(a, p(2))
end program
)");
  same_program(f, {"work", "plus", "scaled", "first"});
}

TEST_CASE("fortran: functions that give derived types in other ways") {
  const Folder f;
  f.write("k.f90", R"(module m
  implicit none
  type t
    real :: x, v(2)
  end type
  type p
    real, pointer :: x
  end type
  interface
    module type(t) function away(x)
      real, intent(in) :: x
    end function
    type(t) function other(x)
      import
      real, intent(in) :: x
    end function
  end interface
contains
  elemental type(t) function made(x)
    real, intent(in) :: x
    made%x = x
    made%v = 1
  end function
  function many(n) result(r)
    integer, intent(in) :: n
    type(t) :: r(n)
    r%x = 1
  end function
  function points(x) result(r)
    real, target :: x
    type(p) :: r
    r%x => x
  end function
  recursive type(t) function down(n) result(r)
    integer, intent(in) :: n
    r%x = 1
    if (n > 0) r = down(n - 1)
  end function
  subroutine s1(x)
    real, intent(inout) :: x(3)
    type(t) :: a(3)
    a = made(x)
    x = a%x
  end subroutine
  subroutine s2(x)
    real, intent(inout) :: x(3)
    type(t) :: a
    a = other(x(1))
    x(1) = a%x
  end subroutine
  subroutine s3(x)
    real, intent(inout) :: x(3)
    type(t) :: a(3)
    a%x = 0
    where (x > 0) a = made(1.0)
    x = a%x
  end subroutine
  subroutine s4(x)
    real, intent(inout) :: x(3)
    type(t) :: a
    a = away(x(1))
    x(1) = a%x
  end subroutine
end module
)");
  const Outcome out = tool("show k.f90 --what imports", f.str());
  const auto says = [&](const std::string& what) { CHECK_MESSAGE(has(out.out, what), out.out); };
  says("2 of 8 imported");  // `made` and `many`
  says("`x`, which is a pointer or allocatable and not a module's, in `assignment` is not");
  says("`down`, which calls itself and whose arguments or value are more than plain variables");
  says("the call of `away`, which gives a derived type and stays a call, is not supported");
  says("k.f90:42:5: the array of records, or records of arrays, that `m::made` gives is not");
  says("k.f90:48:5: the derived type that `other` gives is not supported");
  says("a function that gives a derived type, or gets an allocatable or a pointer for an optional");
}
