// Pointers with other axes than their targets, sections with steps that vary, places along an axis,
// records of records, and functions whose optional arguments have no memory, as gfortran has them.
#include "tests/cli/fortran_program.h"

using namespace moonloop::test;

TEST_CASE("fortran interface: pointers with other axes than their targets") {
  const Folder f;
  f.write("k.f90", R"(module m
  implicit none
contains
  subroutine s(n, k, x)
    integer, intent(in) :: n, k
    real(8), intent(inout), target :: x(n*k)
    real(8), pointer :: a(:, :), b(:, :), c(:), d(:, :)
    integer :: i, j
    a(1:n, 1:k) => x
    do j = 1, k
      do i = 1, n
        a(i, j) = a(i, j) + 10*j + i
      end do
    end do
    b(0:n - 1, -1:k - 2) => x
    b(0, -1) = 99
    do j = lbound(b, 2), ubound(b, 2)
      b(lbound(b, 1), j) = b(lbound(b, 1), j)*2 + j
    end do
    c(0:n - 1) => x(2:)
    c(0) = c(0) + c(1)
    d(1:2, 1:k) => x(1:2*k)
    d(2, k) = size(d) + size(a, 1)
    c(1:n) => x(1:n)
    c(3) = -1
    c(0:) => x(2:n)
    c(0) = c(1) + ubound(c, 1)
  end subroutine
end module
)");
  f.write("main.f90", R"(program p
  use m
  real(8) :: x(12)
  x = [(i*1d0, i = 1, 12)]
  call s(4, 3, x)
  print '(6f10.3)', x
end program
)");
  same_program(f, {"s"});
}

TEST_CASE("fortran interface: whole pointers with other axes than their targets") {
  const Folder f;
  f.write("k.f90", R"(module m
  implicit none
contains
  subroutine s(n, k, x, y, r)
    integer, intent(in) :: n, k
    real(8), intent(inout), target :: x(*), y(2*n*k)
    real(8), intent(inout) :: r(3)
    real(8), pointer :: a(:, :), b(:, :), c(:, :, :), d(:, :)
    integer :: i, j
    a(1:n, 1:k) => x(1:n*k)
    b(0:n - 1, 2:k + 1) => y(1:2*n*k:2)
    a = a + 1
    b = 2*a + b
    a(:, 2) = a(:, 1) + b(:, 3)
    a(2, :) = a(1, :)*2
    a(2:n, 1:k - 1) = a(1:n - 1, 2:k)
    r(1) = sum(a) + maxval(b)
    r(2) = sum(a(:, 2)) + size(b, 2) + lbound(b, 2) + ubound(b, 1)
    c(1:2, 1:n, 1:k) => y
    c = c + 0.5d0
    c(2, :, :) = a
    do j = 1, k
      do i = 1, n
        c(1, i, j) = c(1, i, j) - a(i, j)
      end do
    end do
    d => a
    d = d*2
    call t(n, k, a)
    r(3) = f(n, k, a)
    if (r(1) > 0) then
      d(1:k, 1:n) => x(1:n*k)
    else
      d(1:n, 1:k) => y(1:n*k)
    end if
    d(1, 2) = -7
    d = d + 1
  end subroutine
  subroutine t(n, k, a)
    integer, intent(in) :: n, k
    real(8), intent(inout) :: a(n, k)
    a(n, :) = -a(n, :)
  end subroutine
  real(8) function f(n, k, a)
    integer, intent(in) :: n, k
    real(8), intent(in) :: a(n, k)
    f = a(1, k) + sum(a)
  end function
end module
)");
  f.write("main.f90", R"(program p
  use m
  real(8) :: x(12), y(24), r(3)
  x = [(i*1d0, i = 1, 12)]
  y = [(i*0.5d0, i = 1, 24)]
  call s(4, 3, x, y, r)
  print '(6f10.3)', x
  print '(6f10.3)', y
  print *, r
end program
)");
  same_program(f, {"s", "t", "f"});
}

TEST_CASE("fortran interface: optional arguments of functions that have no memory") {
  const Folder f;
  f.write("k.f90", R"(module m
  implicit none
contains
  real(8) function f(n, x, a)
    integer, intent(in) :: n
    real(8), intent(in) :: x(n)
    real(8), intent(in), optional :: a(n)
    integer :: i
    f = 0
    do i = 1, n
      f = f + x(i)
    end do
    if (present(a)) then
      do i = 1, n
        f = f + 10*a(i)
      end do
    end if
  end function
  subroutine s(n, x, w, r)
    integer, intent(in) :: n
    real(8), intent(in) :: x(n)
    real(8), intent(in), allocatable :: w(:)
    real(8), intent(out) :: r(2)
    real(8), allocatable :: t(:)
    r(1) = f(n, x, w)
    if (n > 2) allocate(t(n))
    if (allocated(t)) t = 2
    r(2) = 2*f(n, x, t) + 1
  end subroutine
end module
)");
  f.write("main.f90", R"(program p
  use m
  real(8) :: x(3), r(2)
  real(8), allocatable :: w(:)
  x = [1, 2, 3]
  call s(3, x, w, r)
  print *, r
  w = [5d0, 6d0, 7d0]
  call s(3, x, w, r)
  print *, r
  call s(2, x, w, r)
  print *, r
end program
)");
  same_program(f, {"s"});
}

TEST_CASE("fortran interface: optional arguments without memory in conditions and loops") {
  const Folder f;
  f.write("k.f90", R"(module m
  implicit none
  type rec
    real(8), allocatable :: q(:)
  end type
contains
  logical function has(n, a, b, c)
    integer, intent(in) :: n
    real(8), intent(in), optional :: a(:), b(n), c
    has = present(a) .and. .not. present(b)
    if (present(c)) has = has .neqv. c > 0
  end function
  integer function cnt(a, k)
    real(8), intent(in), optional :: a(:)
    integer, intent(inout) :: k
    k = k + 1
    cnt = 100
    if (present(a)) cnt = size(a) + int(a(1))
  end function
  subroutine s(n, x, w, z, g, r, k)
    integer, intent(in) :: n
    real(8), intent(in) :: x(n)
    real(8), intent(in), allocatable :: w(:)
    real(8), intent(in), pointer :: z
    type(rec), intent(in) :: g
    integer, intent(inout) :: r(6), k
    real(8), allocatable :: t(:)
    integer :: i
    if (has(n, w, x)) r(1) = r(1) + 1
    if (has(n, w)) r(2) = r(2) + 1
    if (n < 3) then
      r(3) = 5
    else if (has(n, w, c=z) .and. n > 1) then
      r(3) = 6
    end if
    do i = 1, min(cnt(w, k), 3)
      r(4) = r(4) + cnt(g%q, k)*i
    end do
    if (x(1) > 0) allocate(t(n))
    if (allocated(t)) t = x
    r(5) = cnt(t, k) + 1000*cnt(w, k)
    i = 0
    do while (cnt(t, i) < 200 .and. i < 3)
      r(6) = r(6) + i
    end do
    print *, cnt(w, k), has(n, t, c=z)
    select case (has(n, w))
    case (.true.)
      k = k + 100
    case (.false.)
      k = k + 200
    end select
  end subroutine
end module
)");
  f.write("main.f90", R"(program p
  use m
  real(8) :: x(3)
  real(8), allocatable :: w(:)
  real(8), pointer :: z
  type(rec) :: g
  integer :: r(6), k
  x = [1, 2, 3]
  r = 0
  k = 0
  z => null()
  call s(3, x, w, z, g, r, k)
  print *, r, k
  w = [5d0, 6d0, 7d0]
  g%q = [1d0]
  allocate(z)
  z = 1
  call s(3, x, w, z, g, r, k)
  print *, r, k
  x = -1
  call s(2, x, w, z, g, r, k)
  print *, r, k
end program
)");
  same_program(f, {"s"});
}

TEST_CASE("fortran interface: records of arrays of records, given one by one") {
  const Folder f;
  f.write("k.f90", R"(module m
  implicit none
  type pt
    real(8) :: x = 0, y = 0
  end type
  type tri
    integer :: id = 0
    type(pt) :: c(3)
  end type
  type mesh
    type(tri) :: t(2)
    real(8) :: w = 1
  end type
contains
  subroutine s(n, r)
    integer, intent(in) :: n
    real(8), intent(inout) :: r(n)
    type(tri) :: a, b(2)
    type(mesh) :: q
    integer :: i
    a = tri(4, [pt(1, 2), pt(r(1), r(2)), pt(5, 6)])
    b = [tri(1, a%c), tri(2, [(pt(i, 2*i), i = 1, 3)])]
    q = mesh(b, 2)
    do i = 1, 3
      r(i) = r(i) + a%c(i)%x + 10*a%c(i)%y + 100*b(2)%c(i)%y + 1000*b(1)%id + q%t(2)%c(i)%x + q%w
    end do
    q = mesh([a, tri(9, pt(1, 1))], r(3))
    r(4) = q%t(1)%c(2)%y + q%t(2)%c(3)%x + q%w + q%t(2)%id
  end subroutine
end module
)");
  f.write("main.f90", R"(program p
  use m
  real(8) :: r(4)
  r = [1, 2, 3, 4]
  call s(4, r)
  print *, r
end program
)");
  same_program(f, {"s"});
}

TEST_CASE("fortran interface: sections whose steps vary") {
  const Folder f;
  f.write("k.f90", R"(module m
  implicit none
contains
  subroutine s(n, x, y)
    integer, intent(in) :: n
    real(8), intent(inout) :: x(n), y(n)
    integer :: i
    do i = 1, 3
      x(i*i:n:i) = x(i*i:n:i) + y(i:n - i*i + i:i)
    end do
    do i = 1, 3
      y(i:n:i) = 2*i
      y(n:i:-i) = y(n:i:-i) + 1
      x(1) = x(1) + sum(x(i*i:n:i))
    end do
    call t(n, x)
  end subroutine
  subroutine t(n, s)
    integer, intent(in) :: n
    real(8), intent(inout) :: s(n)
    integer :: i
    do i = 2, int(sqrt(real(n)))
      if (s(i) > 0) s(i*i:n:i) = 0
    end do
  end subroutine
end module
)");
  f.write("main.f90", R"(program p
  use m
  real(8) :: x(12), y(12)
  x = [(i*1d0, i = 1, 12)]
  y = x*3
  call s(12, x, y)
  print '(6f10.3)', x, y
end program
)");
  same_program(f, {"s", "t"});
}

TEST_CASE("fortran interface: sections whose steps vary, in all positions") {
  const Folder f;
  f.write("k.f90", R"(module m
  implicit none
  type pt
    real(8) :: x = 0, y = 0
  end type
contains
  subroutine s(n, x, y, a, g, r)
    integer, intent(in) :: n
    real(8), intent(inout) :: x(n), y(n), a(n, n), r(n)
    type(pt), intent(inout) :: g(n)
    integer :: i, k, st
    st = 3
    do k = 1, st
      x(k:n:k) = y(k:n:k)*2 + x(n:k:-k)
      r(k) = r(k) + sum(x(1:n:k)) + maxval(y(n:1:-k))
      r(k) = r(k) + size(x(k:n:k))
      a(k:n:k, 1:n:st) = a(k:n:k, 1:n:st) + k
      a(:, k) = a(k, n:1:-1)
      if (any(a(1:n:k, k) > 5)) r(k) = r(k) + count(a(k, ::k) > 3)
      where (x(1:n:k) > 3) x(1:n:k) = -x(1:n:k)
      g(k:n:k)%x = x(k:n:k)
      g(1:n:k) = pt(k, 2)
      call t(size(y(1:n:k)), y(1:n:k))
      r(k) = r(k) + u(size(x(k:n:k)), x(k:n:k))
    end do
    st = -st
    y(n:1:st) = y(n:1:st) + 1
    y(1:n:st) = 77
  end subroutine
  subroutine t(n, v)
    integer, intent(in) :: n
    real(8), intent(inout) :: v(n)
    v(1) = v(1) + 1
    v(n) = v(n)*2
  end subroutine
  real(8) function u(n, v)
    integer, intent(in) :: n
    real(8), intent(in) :: v(n)
    u = v(1) + v(n)
  end function
end module
)");
  f.write("main.f90", R"(program p
  use m
  real(8) :: x(7), y(7), a(7, 7), r(7)
  type(pt) :: g(7)
  x = [(i*1d0, i = 1, 7)]
  y = x*3
  r = 0
  a = reshape([(mod(i*7, 11)*1d0, i = 1, 49)], [7, 7])
  call s(7, x, y, a, g, r)
  print '(7f10.3)', x, y, a, r, g%x, g%y
end program
)");
  same_program(f, {"s"});
}

TEST_CASE("fortran interface: places of extremes along an axis") {
  const Folder f;
  f.write("k.f90", R"(module m
  implicit none
contains
  subroutine s(n, k, l, a, b, q, r, iv, jv, t)
    integer, intent(in) :: n, k, l
    real(8), intent(in) :: a(n, k), b(n, k, l)
    logical, intent(in) :: q(n, k)
    real(8), intent(inout) :: r(k), t(n, l)
    integer, intent(inout) :: iv(k), jv(n)
    integer :: c(n, l), i, d(1), e
    iv = maxloc(a, dim=1)
    jv = minloc(a, 2)
    iv = iv + 10*maxloc(a, dim=1, mask=q)
    iv = iv + 100*maxloc(a, dim=1, back=.true.)
    iv = iv + 1000*findloc(a, 3d0, dim=1)
    jv = jv + 10*findloc(a, 3d0, dim=2, back=.true., mask=q)
    r = r + maxval(a, dim=1) + 2*minval(a, 1, q) + sum(a, dim=1, mask=q)
    r = r + product(a, dim=1) + count(q, dim=1)
    c = maxloc(b, dim=2)
    t = t + maxval(b, dim=2) + c
    c = minloc(b, dim=2, mask=b > 3)
    t = t + minval(b, dim=2, mask=b > 2)*1d-3*c
    do i = 1, k
      if (any(maxloc(a, dim=1) == i)) r(i) = r(i) + 1
      if (iv(i) > 5) r(i) = r(i) + sum(maxloc(a(:, 1:i), dim=1))
    end do
    print *, maxloc(a, dim=1), minval(a, dim=2)
    r(maxloc(a(1, :), dim=1)) = -1
    d = maxloc(r)
    e = maxloc(r, dim=1)
    jv(1) = jv(1) + d(1)*e
    t(:, 1) = t(:, 1) + merge(1d0, 0d0, all(q, dim=2))
  end subroutine
end module
)");
  f.write("main.f90", R"(program p
  use m
  real(8) :: a(4, 3), b(4, 3, 2), r(3), t(4, 2)
  logical :: q(4, 3)
  integer :: iv(3), jv(4)
  a = reshape([1d0, 3d0, 2d0, 3d0, 4d0, 0d0, 4d0, 1d0, 3d0, 3d0, 3d0, 1d0], [4, 3])
  b(:, :, 1) = a
  b(:, :, 2) = 5 - a
  q = a > 1.5
  r = 1
  t = 1
  call s(4, 3, 2, a, b, q, r, iv, jv, t)
  print *, r
  print *, iv, jv
  print *, t
end program
)");
  same_program(f, {"s"});
}

TEST_CASE("fortran interface: choices by a logical value") {
  const Folder f;
  f.write("k.f90", R"(module m
  implicit none
contains
  logical function big(x)
    real(8), intent(in) :: x
    big = x > 2
  end function
  subroutine s(n, x, name)
    integer, intent(in) :: n
    real(8), intent(inout) :: x(n)
    character(*), intent(in) :: name
    integer :: i
    do i = 1, n
      select case (big(x(i)))
      case (.true.)
        x(i) = 0
      case default
        x(i) = x(i) + 1
      end select
      select case (x(i) > 1 .and. i > 1)
      case (.false.)
        x(i) = x(i) + 10
      end select
    end do
    print *, name, x(1)
    call out(name // 'x', x(2))
  end subroutine
  subroutine out(t, v)
    character(*), intent(in) :: t
    real(8), intent(in) :: v
    print *, t, v
  end subroutine
end module
)");
  f.write("main.f90", R"(program p
  use m
  real(8) :: x(4)
  x = [1, 2, 3, 4]
  call s(4, x, 'abc')
  print *, x
end program
)");
  same_program(f, {"s"});
}

TEST_CASE("fortran interface: a loop of a routine around that is left by return") {
  const Folder f;
  f.write("k.f90", R"(module m
  implicit none
contains
  subroutine s(n, x, r)
    integer, intent(in) :: n, x(n)
    integer, intent(inout) :: r(n)
    integer :: i, k
    do k = 1, n
      call find
      if (i <= n) r(k) = i
    end do
  contains
    subroutine find
      do i = 1, n
        if (x(i) == k) return
      end do
    end subroutine
  end subroutine
end module
)");
  f.write("main.f90", R"(program p
  use m
  integer :: r(5)
  r = 0
  call s(5, [3, 1, 4, 1, 5], r)
  print *, r
end program
)");
  same_program(f, {"s"});
}

TEST_CASE("fortran: refusals of steps name components as the source does") {
  const Folder f;
  f.write("k.f90", R"(module m
  implicit none
  type t
    real(8) :: a(100)
  end type
contains
  subroutine s(n, w, x, g)
    integer, intent(in) :: n
    type(t), intent(inout) :: w, g(n)
    real(8), intent(in) :: x(n)
    integer :: i
    do i = 2, n
      w%a(i) = w%a(i - 1) + x(i)
      g(i)%a(1) = g(i - 1)%a(1)
    end do
  end subroutine
end module
)");
  f.write("one.lua", "s = lp.tag_inames(s, {i = \"par\"})\n");
  const Outcome par = tool("gen k.f90 -t one.lua", f.str());
  CHECK(par.status == 1);
  CHECK_MESSAGE(has(par.err, "writes g%a[0, 1] and insn_0[i=2] reads it"), par.err);
  f.write("one.lua", "s = lp.set_temporary_address_space(s, \"w_a\", \"global\")\n");
  const Outcome name = tool("gen k.f90 -t one.lua", f.str());
  CHECK(name.status == 1);
  CHECK_MESSAGE(has(name.err, "w_a"), name.err);  // as scripts have it
}

TEST_CASE("fortran interface: numbers that are none, and inputs that a called routine changes") {
  const Folder f;
  f.write("k.f90", R"(module m
  use, intrinsic :: ieee_arithmetic
  implicit none
contains
  subroutine s(n, x, y, g, k)
    integer, intent(in) :: n
    real(8), intent(inout) :: x(n)
    real(4), intent(inout) :: y(n)
    real(8), intent(in) :: g(n)
    integer, intent(out) :: k
    integer :: i
    k = 0
    do i = 1, n
      if (ieee_is_nan(x(i))) x(i) = -1
      if (any(ieee_is_nan(x))) k = k + 1
    end do
    call sub(n, g)
  end subroutine
  subroutine sub(n, g)
    integer :: n
    real(8) :: g(n)
    g(1) = g(1) + 1
  end subroutine
end module
)");
  f.write("main.f90", R"(program p
  use m
  real(8) :: x(4), g(4)
  real(4) :: y(4)
  integer :: k
  x = [1d0, 0d0, 3d0, 4d0]
  y = [1, 2, 0, 4]
  g = 1
  x(2) = ieee_value(x(2), ieee_quiet_nan)
  x(4) = ieee_value(x(2), ieee_positive_inf)
  y(3) = ieee_value(y(2), ieee_positive_inf)
  call s(4, x, y, g, k)
  print *, x, y, g, k
end program
)");
  same_program(f, {"s"});
}
