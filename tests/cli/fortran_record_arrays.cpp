// Arrays of records, records that lead back to their own type, and functions that only the program
// finds.
#include "tests/cli/fortran_program.h"

using namespace moonloop::test;

TEST_CASE("fortran: the bounds of arrays of records") {
  const Folder f;
  f.write("k.f90", R"(module cells
  implicit none
  type inner
    real(8) :: w
    integer :: name
  end type
  type cell
    type(inner) :: i
    real(8) :: x, y
  end type
  type grid
    integer :: lo
    type(cell), allocatable :: c(:, :)
    type(inner), allocatable :: names(:)
  end type
  type(cell), allocatable :: store(:)
  type(grid), target :: own
contains
  subroutine of_argument(g, t)
    type(grid), intent(inout) :: g
    real(8), intent(out) :: t(6)
    integer :: i, j
    t = 0
    do j = lbound(g%c, 2), ubound(g%c, 2)
      do i = lbound(g%c, 1), ubound(g%c, 1)
        associate (c => g%c(i, j), left => g%c(max(i - 1, lbound(g%c, 1)), j))
          c%y = c%y + left%x
          t(1) = t(1) + c%y*(i + 10*j)
        end associate
      end do
    end do
    t(2) = size(g%c) + 100*size(g%c, 2) + 1000*size(g%names)
    t(3) = sum(g%c(g%lo, :)%y) + lbound(g%names, 1)
    t(4) = ubound(g%names, 1)
    t(5:6) = shape(g%c)
  end subroutine
  subroutine of_module(t)
    real(8), intent(out) :: t
    integer :: i
    t = size(store)
    do i = lbound(store, 1), ubound(store, 1)
      t = t*2 + store(i)%i%w
    end do
    associate (d => own)
      do i = lbound(d%names, 1), ubound(d%names, 1)
        t = t + d%names(i)%w
      end do
      t = t + d%lo
    end associate
  end subroutine
  subroutine of_others(n, a, q, t)
    integer, intent(in) :: n
    type(cell), intent(in) :: a(0:)
    type(cell), intent(inout) :: q(-n:n)
    real(8), intent(out) :: t
    type row
      character(3) :: text
      real(8) :: w(2)
    end type
    type(row) :: v(2:n + 1)
    integer :: i
    t = 0
    do i = lbound(a, 1), ubound(a, 1)
      t = t + i*a(i)%y
    end do
    do i = lbound(q, 1), ubound(q, 1)
      q(i)%i%name = i
      t = t + i*q(i)%x
    end do
    do i = lbound(v, 1), ubound(v, 1)
      v(i)%w = i
    end do
    t = t + size(v) + 10*size(q) + 100*size(a) + sum(v%w(2))
  end subroutine
end module
)");
  f.write("main.f90", R"(program main
  use cells
  implicit none
  real(8) :: t(6)
  type(cell) :: q(-2:2)
  integer :: i
  own%lo = -1
  allocate (own%c(-1:2, 0:2), own%names(5:7), store(3:5))
  do i = -1, 2
    own%c(i, :)%y = i
    own%c(i, :)%x = 0.5d0*i + 1
  end do
  own%names%w = [1d0, 2d0, 4d0]
  store%i%w = [1d0, 3d0, 5d0]
  do i = -2, 2
    q(i)%x = i
    q(i)%y = i*i
  end do
  call of_argument(own, t)
  print *, t
  call of_module(t(1))
  print *, t(1)
  call of_others(2, store, q, t(1))
  call of_others(2, q(::2), q, t(2))
  print *, t(2), q%i%name
end program
)");
  same_program(f, {"of_argument", "of_module", "of_others"});
}

TEST_CASE("fortran: records that lead back to their own type") {
  const Folder f;
  f.write("k.f90", R"(module trees
  implicit none
  type node
    integer :: v = 0
    real(8) :: u(4) = 0
    type(node), pointer :: next => null(), parent => null()
    type(branch), pointer :: other => null()
  end type
  type branch
    type(node), pointer :: n => null()
    integer :: k = 1
  end type
  type(node), pointer :: first => null()
contains
  subroutine relax(n, w)
    type(node), intent(inout) :: n
    real(8), intent(in) :: w
    integer :: i
    do i = 2, 3
      n%u(i) = n%u(i) + w*(n%u(i - 1) + n%u(i + 1)) + n%v
    end do
  end subroutine
  subroutine add_up(head, total, largest)
    type(node), pointer, intent(in) :: head
    integer, intent(out) :: total
    real(8), intent(out) :: largest
    type(node), pointer :: c
    total = 0
    largest = 0
    c => head
    do while (associated(c))
      total = total + c%v
      largest = max(largest, c%u(2))
      c => c%next
    end do
  end subroutine
  subroutine push(head, v)
    type(node), pointer, intent(inout) :: head
    integer, intent(in) :: v
    type(node), pointer :: c
    allocate (c)
    c%v = v
    c%u = v*[1, 2, 3, 4]
    c%next => head
    head => c
  end subroutine
  integer function longest() result(n)
    type(node), pointer :: c
    c => first
    n = 0
    do
      if (.not. associated(c)) return
      n = n + c%v
      c => c%next
    end do
  end function
end module
)");
  f.write("main.f90", R"(program main
  use trees
  implicit none
  integer :: i, t
  real(8) :: l
  do i = 1, 4
    call push(first, i*i)
  end do
  call add_up(first, t, l)
  print *, t, l, longest()
  call relax(first, 0.5d0)
  call relax(first%next, 0.25d0)
  call add_up(first%next, t, l)
  print *, t, l, first%u
end program
)");
  same_program(f, {"relax", "add_up", "push", "longest"});
  f.write("bad.f90", R"(subroutine follow(n)
  type node
    integer :: v
    type(node), pointer :: next
  end type
  type(node), intent(inout) :: n
  n%v = n%next%v
end subroutine
subroutine copy(a, b)
  type node
    sequence
    integer :: v
    type(node), pointer :: next
  end type
  type(node), intent(inout) :: a, b
  a = b
end subroutine
)");
  const Outcome follow = tool("gen bad.f90 --kernel follow", f.str());
  CHECK(follow.status == 1);
  CHECK_MESSAGE(follow.err.starts_with("bad.f90:7:3: error: `next`, a component whose type leads "
                                       "back to it, is not supported in Fortran kernels "
                                       "[unsupported]\n"),
                follow.err);
  CHECK(tool("gen bad.f90 --kernel copy", f.str()).status == 1);
}

TEST_CASE("fortran: functions that pointers and types name stay Fortran") {
  const Folder f;
  f.write("k.f90", R"(module laws
  implicit none
  abstract interface
    real(8) function law(x)
      real(8), intent(in) :: x
    end function
  end interface
  type shape
    real(8) :: w = 2
  contains
    procedure :: area => area_of_shape
  end type
  type, extends(shape) :: cube
  contains
    procedure :: area => area_of_cube
  end type
  procedure(law), pointer :: current => null()
  real(8) :: k = 2
  integer :: calls = 0
  class(shape), allocatable :: body
contains
  real(8) function linear(x)
    real(8), intent(in) :: x
    calls = calls + 1
    linear = k*x
  end function
  real(8) function square(x)
    real(8), intent(in) :: x
    calls = calls + 1
    square = k*x*x
  end function
  real(8) function area_of_shape(self)
    class(shape), intent(in) :: self
    area_of_shape = self%w
  end function
  real(8) function area_of_cube(self)
    class(cube), intent(in) :: self
    area_of_cube = 6*self%w**2
  end function
  subroutine integrate(a, n, s)
    real(8), intent(in) :: a
    integer, intent(in) :: n
    real(8), intent(out) :: s
    integer :: i
    s = 0
    if (.not. associated(current)) return
    do i = 1, n
      s = s + 0.1d0*current(a + i*0.1d0)
    end do
    if (current(s) > 1) s = s + calls
  end subroutine
  subroutine of_local(n, x, y)
    integer, intent(in) :: n
    real(8), intent(in) :: x(n)
    real(8), intent(out) :: y(n)
    procedure(law), pointer :: p
    integer :: i
    p => linear
    if (x(1) > 1) p => square
    do i = 1, n
      y(i) = p(x(i)) + p(1d0)
    end do
  end subroutine
  subroutine of_type(n, t)
    integer, intent(in) :: n
    real(8), intent(out) :: t
    t = n*body%area()
  end subroutine
  subroutine of_argument(s, t)
    class(shape), intent(in) :: s
    real(8), intent(out) :: t
    t = 2*s%area()
  end subroutine
end module
)");
  f.write("main.f90", R"(program main
  use laws
  implicit none
  real(8) :: s, y(3)
  call integrate(0d0, 10, s)
  print *, s
  current => linear
  call integrate(0d0, 10, s)
  print *, s, calls
  current => square
  call integrate(1d0, 10, s)
  print *, s, calls
  call of_local(3, [1d0, 2d0, 3d0], y)
  print *, y
  call of_local(3, [2d0, 2d0, 3d0], y)
  print *, y, calls
  allocate (cube :: body)
  call of_type(3, s)
  print *, s
  call of_argument(body, s)
  print *, s
end program
)");
  same_program(f, {"integrate", "of_local", "of_type", "of_argument"});
}

TEST_CASE("fortran: a whole allocatable array made of itself keeps its memory") {
  const Folder f;
  f.write("k.f90", R"(module fields
  implicit none
  type solver
    integer :: n
    real(8), allocatable :: x(:), b(:)
  end type
  real(8), allocatable :: u(:, :), v(:, :)
  logical, allocatable :: on(:)
contains
  subroutine step(dt, steps)
    real(8), intent(in) :: dt
    integer, intent(in) :: steps
    integer :: k
    do k = 1, steps
      v = max(v, 0.5d0) + dt*u
      u = u + dt*(v - sqrt(abs(u)))
      on = .not. on
    end do
  end subroutine
  subroutine improve(s, w)
    type(solver), intent(inout) :: s
    real(8), intent(in) :: w(:)
    real(8), allocatable :: own(:)
    allocate (own(s%n))
    own(:) = w
    own = -own + s%b
    s%x = (s%x) + own/4
    s%x = s%x(:)*2 + s%x
  end subroutine
end module
)");
  f.write("main.f90", R"(program main
  use fields
  implicit none
  type(solver) :: s
  integer :: i
  allocate (u(0:2, -1:2), v(3, 4), on(3), s%x(2:5), s%b(4))
  u = reshape([(0.1d0*i, i = 1, 12)], [3, 4])
  v = 1 - u
  on = [.true., .false., .true.]
  call step(0.1d0, 5)
  print *, u, v, on, lbound(u), lbound(v)
  s%n = 4
  s%x = [1d0, 2d0, 3d0, 4d0]
  s%b = [4d0, 3d0, 2d0, 1d0]
  call improve(s, [1d0, 1d0, 2d0, 2d0])
  print *, s%x, lbound(s%x)
end program
)");
  same_program(f, {"step", "improve"});
  const Outcome r = tool("gen k.f90 --quiet --kernel step", f.str());
  CHECK_MESSAGE(r.out.find("assignment_in") == std::string::npos, r.out);
  f.write("bad.f90", R"(subroutine grow(n, a, b)
  integer, intent(in) :: n
  type solver
    real, allocatable :: x(:)
  end type
  type(solver), intent(inout) :: a, b
  a%x = b%x + sum(a%x) + size(a%x)
end subroutine
)");
  CHECK(tool("gen bad.f90", f.str()).status == 1);
}

TEST_CASE("fortran: texts of assumed length and size, and results as long as an argument") {
  const Folder f;
  f.write("k.f90", R"(subroutine set_keys(keys, n, k, at)
  implicit none
  character(*) :: keys(*), k
  integer :: n, at, i
  at = 0
  do i = 1, n
    if (keys(i) == k) at = i
    keys(i)(2:) = '-' // keys(i)(1:len(keys) - 2)
  end do
end subroutine
module text_results
contains
  function padded(pre, n) result(r)
    integer, intent(in) :: n
    character(*), intent(in) :: pre
    character(len(pre) + n) :: r
    r = pre // repeat('*', n)
  end function
end module
)");
  f.write("main.f90", R"(program main
  use text_results
  implicit none
  character(6) :: k(3) = ['ab    ', 'cdefgh', 'x y z ']
  integer :: at
  call set_keys(k, 3, 'cdefgh', at)
  print *, at, k, padded('abc', 4), '|', padded(k(2), 0), '|'
end program
)");
  same_program(f, {"set_keys", "padded"});
}

TEST_CASE("fortran: allocatable variables as long as numbers that the routine computes") {
  const Folder f;
  f.write("k.f90", R"(module sizes
  implicit none
  integer :: m = 3, calls = 0
contains
  subroutine of_argument(x, n, t)
    real(8), intent(in) :: x(:)
    integer, intent(inout) :: n
    real(8), intent(out) :: t
    real(8), allocatable :: keep(:)
    integer :: i
    n = count(x > 0)
    allocate (keep(n))
    n = 0
    do i = 1, size(x)
      if (x(i) > 0) then
        n = n + 1
        keep(n) = x(i)
      end if
    end do
    t = sum(keep) + 100*size(keep)
  end subroutine
  subroutine of_module(x, t)
    real(8), intent(in) :: x(:)
    real(8), intent(out) :: t
    real(8), allocatable :: keep(:), same(:)
    m = count(x > 0)
    allocate (keep(m + 1), same(size(x)))
    keep = 2
    same = x
    t = sum(keep) + sum(same)
  end subroutine
  subroutine after_call(n, t)
    integer, intent(inout) :: n
    real(8), intent(out) :: t
    real(8), allocatable :: keep(:), more(:)
    call change
    allocate (keep(m))
    keep = 1
    call enlarge(n)
    allocate (more(0:n))
    more = 3
    t = sum(keep) + sum(more)
  end subroutine
  subroutine change
    m = m + 2
    calls = calls + 1
  end subroutine
  subroutine enlarge(n)
    integer, intent(inout) :: n
    n = 2*n
  end subroutine
  subroutine of_own(x, n, t)
    real(8), intent(in) :: x(:)
    integer, intent(in) :: n
    real(8), intent(out) :: t(5)
    real(8), allocatable :: a(:), b(:, :), c(:), d(:)
    integer :: k, l, p, i
    k = size(x)
    l = 2*k + max(n, 1)
    allocate (a(k), b(0:l, k - 1))
    a = x
    b = 1
    t(1) = sum(a)
    t(2) = sum(b)
    p = n
    if (mod(p, 2) == 1) p = p + 1
    allocate (c(p))
    c = 0.5d0
    t(3) = sum(c)
    t(4:5) = 0
    do i = 1, 3
      allocate (d(i))
      d = i
      t(4) = t(4) + sum(d)
      deallocate (d)
    end do
    k = 0
    t(5) = size(a)
  end subroutine
  subroutine at_entry(n, t)
    integer, intent(inout) :: n
    real(8), intent(out) :: t
    real(8), allocatable :: keep(:)
    allocate (keep(n))
    n = n + 5
    keep = 1
    t = sum(keep)
  end subroutine
end module
)");
  f.write("main.f90", R"(program main
  use sizes
  implicit none
  real(8) :: t(5), x(5) = [1d0, -2d0, 3d0, 4d0, 0d0]
  integer :: n
  n = 100
  call of_argument(x, n, t(1))
  print *, n, t(1)
  call of_module(x, t(1))
  print *, m, t(1)
  n = 2
  call after_call(n, t(1))
  print *, m, n, t(1)
  call of_own(x, 7, t)
  print *, t
  call of_own(x(:2), 2, t)
  print *, t
  n = 4
  call at_entry(n, t(1))
  print *, n, t(1)
end program
)");
  same_program(f, {"of_argument", "of_module", "after_call", "of_own", "at_entry"});
  // What stays as it is, and is assigned once, is in C.
  f.write("c.f90", R"(subroutine twice(n, x, t)
  integer, intent(in) :: n
  real(8), intent(in) :: x(n)
  real(8), intent(out) :: t
  real(8), allocatable :: a(:)
  integer :: k
  k = n + 1
  allocate (a(2*k))
  a = 1
  a(:n) = x
  t = sum(a)
end subroutine
)");
  const Outcome r = tool("gen c.f90", f.str());
  CHECK_MESSAGE(r.status == 0, r.err);
  CHECK_MESSAGE(r.out.find("box_of") == std::string::npos, r.out);
}

TEST_CASE("fortran: elemental routines of records whose components are arrays") {
  const Folder f;
  f.write("k.f90", R"(module m
  implicit none
  type inner
    real(8) :: w(2, 2)
  end type
  type s
    real(8) :: x
    real(8) :: w(3)
    type(inner) :: i(2)
    integer :: k
  end type
contains
  elemental subroutine step(a, b, f)
    type(s), intent(inout) :: a
    type(s), intent(in) :: b
    real(8), intent(in) :: f
    a%w = a%w + f*b%w
    a%x = a%w(1) + b%w(3)
    a%i(2)%w(1, 2) = a%i(1)%w(2, 1) + f
    a%k = a%k + 1
  end subroutine
  subroutine steps(n, x, f, r)
    integer, intent(in) :: n
    real(8), intent(in) :: x(n), f(n)
    real(8), intent(out) :: r(12, n)
    type(s) :: a(n), b(n)
    integer :: i
    do i = 1, n
      a(i)%x = x(i); a(i)%w = [x(i), 2d0, 3*x(i)]; a(i)%k = i
      a(i)%i(1)%w = x(i); a(i)%i(2)%w = 2
      b(i)%x = 2*x(i); b(i)%w = [2d0, 1d0*i, 4d0]; b(i)%k = -i
      b(i)%i(1)%w = 3; b(i)%i(2)%w = 4*x(i)
    end do
    call step(a, b, f)
    call step(a(1:n:2), b(1), 2d0)
    call step(a(2), b(n), f(1))
    do i = 1, n
      r(:, i) = [a(i)%x, a(i)%w, a(i)%i(1)%w(:, 2), a(i)%i(2)%w(1, :), a(i)%i(2)%w(2, :), &
                 1d0*a(i)%k, sum(b(i)%w)]
    end do
  end subroutine
  subroutine plane(n, x, r)
    integer, intent(in) :: n
    real(8), intent(in) :: x(n)
    real(8), intent(out) :: r(4, n, 2)
    type(s) :: a(n, 2), b(n)
    integer :: i, j
    do j = 1, 2
      do i = 1, n
        a(i, j)%x = x(i); a(i, j)%w = [1d0*i, 1d0*j, x(i)]; a(i, j)%k = i + j
        a(i, j)%i(1)%w = x(i); a(i, j)%i(2)%w = 2*j
        b(i)%x = 2*x(i); b(i)%w = [2d0, 1d0*i, 4d0]; b(i)%k = -i
        b(i)%i(1)%w = 3; b(i)%i(2)%w = 4*x(i)
      end do
    end do
    call step(a(:, 2), b, 3d0)
    call step(a, b(2), 1d0)
    do j = 1, 2
      do i = 1, n
        r(:, i, j) = [a(i, j)%x, a(i, j)%w(3), a(i, j)%i(2)%w(1, 2), 1d0*a(i, j)%k]
      end do
    end do
  end subroutine
end module
)");
  f.write("main.f90", R"(program main
  use m
  implicit none
  real(8) :: x(5) = [1, 2, 3, 4, 5], r(12, 5), t(4, 5, 2)
  call steps(5, x, [1d0, 2d0, 3d0, 4d0, 5d0], r)
  print *, r
  call plane(5, x, t)
  print *, t
end program
)");
  same_program(f, {"steps", "plane"});
}

TEST_CASE("fortran: a record of a list is passed on, without what leads to the next one") {
  const Folder f;
  f.write("k.f90", R"(module lists
  implicit none
  type node
    real(8) :: x
    real(8) :: w(2)
    type(node), pointer :: next => null()
  end type
contains
  subroutine scale(a, f)
    type(node), intent(inout) :: a
    real(8), intent(in) :: f
    a%x = a%x*f
    a%w = a%w + f
  end subroutine
  real(8) function norm(a)
    type(node), intent(in) :: a
    norm = a%x + sum(a%w)
  end function
  elemental subroutine shift(a, f)
    type(node), intent(inout) :: a
    real(8), intent(in) :: f
    a%x = a%x + f
  end subroutine
  subroutine work(a, f, r)
    type(node), intent(inout) :: a
    real(8), intent(in) :: f
    real(8), intent(out) :: r
    call scale(a, f)
    call shift(a, 0.5d0)
    a%x = a%x + 1
    r = norm(a)
  end subroutine
end module
)");
  f.write("main.f90", R"(program main
  use lists
  implicit none
  type(node) :: a
  real(8) :: r
  a%x = 2; a%w = 3
  call work(a, 2d0, r)
  print *, a%x, a%w, r, associated(a%next)
end program
)");
  same_program(f, {"work"});
  same_program(f, {"scale", "norm", "work"});
}
