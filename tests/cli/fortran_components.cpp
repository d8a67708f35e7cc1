// Records with components that get memory: a routine's own, arguments, and results.
#include "tests/cli/fortran_program.h"

using namespace moonloop::test;

TEST_CASE("fortran components: a record's allocatable arrays are arrays of the kernel") {
  const Folder f;
  f.write("k.f90", R"(module m
  implicit none
  type work
    integer :: n = 0
    real(8), allocatable :: a(:), b(:, :)
    integer, allocatable :: k(:)
    real(8) :: s = 1.5d0
  end type
contains
  subroutine scale(w, f)
    type(work), intent(inout) :: w
    real(8), intent(in) :: f
    integer :: i
    do i = 1, size(w%a)
      w%a(i) = f*w%a(i) + w%s
    end do
    w%n = w%n + 1
  end subroutine
  subroutine solve(n, x)
    integer, intent(in) :: n
    real(8), intent(inout) :: x(n)
    type(work) :: w
    integer :: i, j
    allocate (w%a(n), w%b(0:n, 2))
    allocate (w%k(n))
    do i = 1, n
      w%a(i) = 2*x(i)
      w%k(i) = i
      w%b(i, 1) = x(i); w%b(i, 2) = -x(i)
    end do
    w%b(0, :) = 7
    call scale(w, 3d0)
    do j = 1, 2
      do i = 1, n
        x(i) = w%a(w%k(i)) + w%b(i - 1, j) + w%s + w%n
      end do
    end do
    if (allocated(w%k)) x(1) = x(1) + ubound(w%k, 1)
    deallocate (w%k)
    if (allocated(w%k)) x(1) = -1
  end subroutine
end module
)");
  f.write("main.f90", R"(program main
  use m
  real(8) :: x(9)
  integer :: i
  x = [(i*0.5d0, i=1, 9)]
  call solve(9, x)
  print '(f12.4)', x
end program
)");
  const Outcome o = tool("gen k.f90 --kernel solve", f.str());
  CHECK_MESSAGE(o.out.find("_in_solve") == std::string::npos, o.out);  // nothing stays Fortran
  same_program(f, {"solve", "scale"});
}

TEST_CASE("fortran components: of a type that the routine declares") {
  const Folder f;
  f.write("k.f90", R"(subroutine solve(n, x)
  implicit none
  type inner
    real, allocatable :: q(:)
  end type
  type work
    integer :: n = 0
    real, allocatable :: a(:)
    type(inner) :: in
  end type
  integer, intent(in) :: n
  real, intent(inout) :: x(n)
  type(work) :: w
  integer :: i
  allocate (w%a(n))
  allocate (w%in%q(n), source=x)
  w%a = 0
  do i = 2, n
    w%a(i) = x(i) - x(i - 1) + w%in%q(1)
  end do
  x = w%a + w%in%q
end subroutine
)");
  f.write("main.f90", R"(program main
  real :: x(9)
  integer :: i
  x = [(i*0.5, i=1, 9)]
  call solve(9, x)
  print '(f12.4)', x
end program
)");
  same_program(f, {"solve"});
}

TEST_CASE("fortran components: memory, questions for it, pointers and blocks") {
  const Folder f;
  f.write("k.f90", R"(module mm
  implicit none
  type inner
    real(8), allocatable :: q(:)
    logical :: f = .false.
  end type
  type work
    integer :: n = 0
    real(8), allocatable :: a(:), b(:)
    type(inner) :: in
    logical, allocatable :: mask(:)
    complex, allocatable :: z(:, :)
    integer, pointer :: ip(:) => null()
  end type
contains
  real(8) function total(w)
    type(work), intent(in) :: w
    total = w%n
    if (allocated(w%a)) total = total + sum(w%a)
    if (allocated(w%b)) total = total + sum(w%b)
    if (allocated(w%in%q)) total = total + size(w%in%q)
    if (associated(w%ip)) total = total + w%ip(1)
  end function
  subroutine work_on(n, x, t, k)
    integer, intent(in) :: n
    real(8), intent(inout) :: x(n)
    integer, intent(inout), target :: t(n)
    integer, intent(out) :: k
    type(work) :: w
    integer :: i, s
    allocate (w%a(2:n), stat=s)
    if (n > 3) then
      allocate (w%in%q(n))
      w%in%q = 2
      w%in%f = .true.
    end if
    allocate (w%mask(n), w%z(2, n))
    w%mask(:) = x > 2
    w%z = (1, 2)
    w%ip => t
    do i = 2, n
      w%a(i) = x(i)*2
      if (w%mask(i)) w%a(i) = w%a(i) + real(w%z(2, i))
      w%ip(i) = w%ip(i) + i
    end do
    x(2) = total(w)
    if (w%in%f) x(3) = w%in%q(2) + lbound(w%a, 1) + size(w%a)
    k = 0
    k = s + 1
    associate (v => w%a)
      v(2) = -5
      x(4) = v(2)
    end associate
    deallocate (w%a)
    x(5) = total(w)
  end subroutine
  subroutine loop_alloc(n, x)
    integer, intent(in) :: n
    real(8), intent(inout) :: x(n)
    integer :: j
    type(work) :: w
    do j = 1, 3
      allocate (w%b(n), source=x)
      x = x + w%b(n:1:-1)
      deallocate (w%b)
    end do
    if (allocated(w%b)) x = 0
  end subroutine
  subroutine twice(n, x)
    integer, intent(in) :: n
    real(8), intent(inout) :: x(n)
    type(work) :: w, v
    integer :: m
    allocate (w%a(n))
    w%a = x
    v = w
    deallocate (w%a)
    m = n
    if (x(1) > 1) m = m + 1
    allocate (w%a(m))
    w%a = 1
    x = x + v%a + w%a(:n)
    call move_alloc(w%a, w%b)
    if (allocated(w%a)) x = 0
    x(1) = size(w%b) + total(w)
  end subroutine
  subroutine blocky(n, x)
    integer, intent(in) :: n
    real(8), intent(inout) :: x(n)
    integer :: k
    do k = 1, 2
      block
        type(inner) :: w
        allocate (w%q(n))
        w%q(:) = x*k
        x = x + w%q(1)
      end block
    end do
  end subroutine
  subroutine computed(n, x)
    integer, intent(in) :: n
    real(8), intent(inout) :: x(n)
    type(work) :: w
    integer :: m, i
    m = 0
    do i = 1, n
      if (x(i) > 1) m = m + 1
    end do
    allocate (w%a(m))
    w%a = 1.5d0
    do i = 1, m
      x(i) = x(i) + w%a(i)
    end do
  end subroutine
end module
)");
  f.write("main.f90", R"(program main
  use mm
  real(8) :: x(9)
  integer, target :: t(9)
  integer :: i, k
  x = [(i*0.5d0, i=1, 9)]
  t = 3
  call work_on(9, x, t, k)
  print '(f12.4)', x; print *, t, k
  call loop_alloc(9, x)
  print '(f12.4)', x
  x = [(i*0.5d0, i=1, 9)]
  call twice(9, x)
  print '(f12.4)', x
  call blocky(9, x)
  print '(f12.4)', x
  call computed(9, x)
  print '(f12.4)', x
end program
)");
  same_program(f, {"total", "work_on", "loop_alloc", "twice", "blocky", "computed"});
}

TEST_CASE("fortran components: arguments get and lose memory") {
  const Folder f;
  f.write("k.f90", R"(module m
  implicit none
  type work
    integer :: n = 0
    real(8), allocatable :: a(:), b(:)
    character(8) :: name = 'w'
  end type
contains
  subroutine setup(w, n)
    type(work), intent(out) :: w
    integer, intent(in) :: n
    integer :: i
    allocate (w%a(n))
    w%a = 0
    w%n = n
    do i = 1, n
      w%a(i) = i*2
    end do
  end subroutine
  subroutine grow(w, n)
    type(work), intent(inout) :: w
    integer, intent(in) :: n
    if (.not. allocated(w%b)) then
      allocate (w%b(n))
      w%b = 3
    end if
    if (allocated(w%a)) deallocate (w%a)
    allocate (w%a(n))
    w%a = w%b*2
  end subroutine
  subroutine use_it(n, x)
    integer, intent(in) :: n
    real(8), intent(inout) :: x(n)
    type(work) :: w
    integer :: i
    call setup(w, n)
    do i = 1, n
      x(i) = x(i) + w%a(i)
    end do
    call grow(w, n)
    x = x + w%b + w%a
  end subroutine
end module
)");
  f.write("main.f90", R"(program main
  use m
  real(8) :: x(9)
  type(work) :: w
  integer :: i
  x = [(i*0.5d0, i=1, 9)]
  call use_it(9, x)
  print '(f12.4)', x
  call setup(w, 4)
  print *, w%n, w%a, allocated(w%b), w%name
  call grow(w, 3)
  print *, w%n, w%a, w%b
  call setup(w, 2)
  print *, w%n, w%a, allocated(w%b)
end program
)");
  same_program(f, {"setup", "grow", "use_it"});
}

TEST_CASE("fortran components: of an object, of arrays of records, moved and swapped") {
  const Folder f;
  f.write("k.f90", R"(module mm
  implicit none
  type inner
    real(8), allocatable :: q(:)
  end type
  type work
    integer :: n = 3
    real(8), allocatable :: a(:), b(:)
    type(inner) :: in(2)
  end type
  type, public :: counter
    integer :: n = 0
    real(8), allocatable :: h(:)
  contains
    procedure :: init => counter_init
    procedure :: add => counter_add
    procedure :: total
    procedure :: done
  end type
contains
  subroutine counter_init(self, n)
    class(counter), intent(inout) :: self
    integer, intent(in) :: n
    if (allocated(self%h)) deallocate (self%h)
    allocate (self%h(0:n))
    self%h = 0
    self%n = n
  end subroutine
  subroutine counter_add(self, i, v)
    class(counter), intent(inout) :: self
    integer, intent(in) :: i
    real(8), intent(in) :: v
    self%h(i) = self%h(i) + v
  end subroutine
  real(8) function total(self)
    class(counter), intent(in) :: self
    integer :: i
    total = 0
    do i = 0, self%n
      total = total + self%h(i)
    end do
  end function
  subroutine done(self)
    class(counter), intent(inout) :: self
    deallocate (self%h)
  end subroutine
  subroutine count(n, x, t)
    integer, intent(in) :: n
    real(8), intent(in) :: x(n)
    real(8), intent(out) :: t
    type(counter) :: c
    integer :: i
    call c%init(4)
    do i = 1, n
      call c%add(mod(i, 5), x(i))
    end do
    t = c%total() + lbound(c%h, 1)
    call c%done()
  end subroutine
  subroutine tiles(w, n)
    type(work), intent(inout) :: w(:)
    integer, intent(in) :: n
    integer :: i
    do i = 1, size(w)
      if (.not. allocated(w(i)%a)) allocate (w(i)%a(n))
      w(i)%a = i
      w(i)%n = n + i
    end do
  end subroutine
  subroutine sum_tiles(w, t)
    type(work), intent(in) :: w(:)
    real(8), intent(out) :: t
    integer :: i
    t = 0
    do i = 1, size(w)
      t = t + sum(w(i)%a) + w(i)%n
    end do
  end subroutine
  subroutine swap(w, v)
    type(work), intent(inout) :: w, v
    type(work) :: t
    t = w
    w = v
    v = t
  end subroutine
  subroutine resize(w, n)
    type(work), intent(inout) :: w
    integer, intent(in) :: n
    real(8), allocatable :: new(:)
    integer :: k
    allocate (new(n))
    new = 0
    k = min(n, size(w%a))
    new(:k) = w%a(:k)
    call move_alloc(new, w%a)
    w%n = n
  end subroutine
  subroutine nested(w, n)
    type(work), intent(out) :: w
    integer, intent(in) :: n
    integer :: i
    do i = 1, 2
      allocate (w%in(i)%q(n))
      w%in(i)%q = i
    end do
    w%n = w%n + n
  end subroutine
end module
)");
  f.write("main.f90", R"(program main
  use mm
  type(work) :: w(3), v
  real(8) :: x(9), t
  integer :: i
  x = [(i*0.5d0, i=1, 9)]
  call count(9, x, t)
  print *, t
  call tiles(w, 4)
  call sum_tiles(w, t)
  print *, t, w%n
  call swap(w(1), w(2))
  print *, w(1)%a, w(2)%n
  call resize(w(1), 6)
  print *, w(1)%a, w(1)%n
  call nested(v, 2)
  print *, v%in(1)%q, v%in(2)%q, v%n
end program
)");
  same_program(f, {"counter_init", "counter_add", "total", "done", "count", "tiles", "sum_tiles",
                   "swap", "resize", "nested"});
}

TEST_CASE("fortran components: whole arrays of the same shape are assigned in C") {
  const Folder f;
  f.write("k.f90", R"(module mm
  implicit none
  type solver
    real(8), allocatable :: r(:), q(:), s(:)
    integer, allocatable :: piv(:)
    logical, allocatable :: mask(:)
    real(8), allocatable :: a(:, :)
  end type
contains
  subroutine cg(n, a, b, x, k)
    integer, intent(in) :: n
    real(8), intent(in) :: a(n, n), b(n)
    real(8), intent(inout) :: x(n)
    integer, intent(out) :: k
    type(solver) :: w
    real(8) :: rho, old, alpha
    integer :: i, j
    allocate (w%r(n), w%q(n), w%s(n), w%mask(n))
    w%r = b
    do j = 1, n
      do i = 1, n
        w%r(i) = w%r(i) - a(i, j)*x(j)
      end do
    end do
    w%s = w%r
    w%mask = b > 0
    rho = dot_product(w%r, w%r)
    do k = 1, 20
      w%q = matmul(a, w%s)
      alpha = rho/dot_product(w%s, w%q)
      x = x + alpha*w%s
      w%r = w%r - alpha*w%q
      old = rho
      rho = dot_product(w%r, w%r)
      if (rho < 1d-20) exit
      w%s = w%r + rho/old*w%s
    end do
    if (w%mask(1)) k = k + 100
    if (allocated(w%s)) k = k + size(w%s)
  end subroutine
  subroutine shapes(n, m, x, y)
    integer, intent(in) :: n, m
    real(8), intent(inout) :: x(:), y(n, m)
    real(8), allocatable :: u(:), v(:, :), z(:), t(:)
    allocate (u(size(x)), v(n, m), z(1:n))
    u = 2*x
    v = y + 1
    z = y(1:n, 2)
    allocate (t(n))
    t = z
    x = u + t(:size(x))
    y = v*2
    if (x(1) > 1) deallocate (u)
    u = x
    if (allocated(u)) y(1, 1) = size(u) + lbound(u, 1)
  end subroutine
end module
)");
  f.write("main.f90", R"(program main
  use mm
  real(8) :: a(4, 4), b(4), x(4), y(4, 3)
  integer :: i, k
  a = 0.1d0
  do i = 1, 4
    a(i, i) = 2 + i
  end do
  b = [1, 2, 3, 4]
  x = 0
  call cg(4, a, b, x, k)
  print *, k, x
  y = 0.5d0
  call shapes(4, 3, x, y)
  print *, x, y
end program
)");
  const Outcome o = tool("gen k.f90 --quiet", f.str());
  CHECK_MESSAGE(o.out.find("_in_") == std::string::npos, o.out);
  same_program(f, {"cg", "shapes"});
}

TEST_CASE("fortran components: functions that give arrays of records, arrays of pointers") {
  const Folder f;
  f.write("k.f90", R"(module m
  implicit none
  type vec
    real(8) :: x = 0, y = 0
  end type
  type work
    real(8), allocatable :: a(:)
    integer :: n = 0
  end type
  type box
    real(8), pointer :: p(:)
  end type
contains
  function ring(n, r) result(v)
    integer, intent(in) :: n
    real(8), intent(in) :: r
    type(vec) :: v(n)
    integer :: i
    do i = 1, n
      v(i)%x = r*i
      v(i)%y = r - i
    end do
  end function
  function made(n) result(w)
    integer, intent(in) :: n
    type(work) :: w
    allocate (w%a(n))
    w%a = n
    w%n = n
  end function
  subroutine use_ring(n, x)
    integer, intent(in) :: n
    real(8), intent(inout) :: x(n)
    type(vec) :: p(n)
    integer :: i
    p = ring(n, 2d0)
    do i = 1, n
      x(i) = x(i) + p(i)%x*p(i)%y
    end do
  end subroutine
  subroutine use_made(n, x)
    integer, intent(in) :: n
    real(8), intent(inout) :: x(n)
    type(work) :: w
    integer :: i
    w = made(n)
    do i = 1, n
      x(i) = x(i) + w%a(i) + w%n
    end do
  end subroutine
  subroutine rows(k, b)
    integer, intent(in) :: k
    type(box), intent(inout) :: b(k)
    integer :: i, j
    do i = 1, k
      do j = 1, size(b(i)%p)
        b(i)%p(j) = 2*b(i)%p(j) + i
      end do
    end do
  end subroutine
end module
)");
  f.write("main.f90", R"(program main
  use m
  real(8) :: x(5)
  real(8), target :: t(4, 2)
  type(box) :: b(2)
  x = 1
  t = 3
  call use_ring(5, x); print *, x
  call use_made(5, x); print *, x
  b(1)%p => t(:, 1)
  b(2)%p => t(1:3, 2)
  call rows(2, b); print *, t
end program
)");
  same_program(f, {"ring", "made", "use_ring", "use_made", "rows"});
}

TEST_CASE("fortran components: records in statements and calls that stay Fortran") {
  const Folder f;
  f.write("k.f90", R"(module m
  implicit none
  type grid
    integer :: n = 0
    real(8) :: a(4) = 0
    character(8) :: name = 'g'
    real(8), pointer :: p(:) => null()
    real(8), allocatable :: q(:)
    logical :: f = .true.
  end type
  interface
    subroutine outside(g)
      import grid
      type(grid), intent(inout) :: g
    end subroutine
  end interface
contains
  subroutine load(u, g)
    integer, intent(in) :: u
    type(grid), intent(inout) :: g
    integer :: i
    read (u, *) g%n
    read (u, *) g%a, g%f
    do i = 1, 4
      g%a(i) = g%a(i) + g%n
    end do
  end subroutine
  subroutine show(g)
    type(grid), intent(in) :: g
    write (*, *) g%name, g%a
    write (*, '(a, i4, l2)') trim(g%name), g%n, g%f
    write (*, *) g%q
  end subroutine
  subroutine give(g)
    type(grid), intent(inout) :: g
    g%n = g%n + 1
    call outside(g)
    g%a(1) = g%a(1) + g%n
  end subroutine
end module
)");
  f.write("main.f90", R"(program main
  use m
  type(grid) :: g
  open (11, status='scratch')
  write (11, *) 5
  write (11, *) 1., 2., 3., 4., .false.
  rewind (11)
  allocate (g%q(2), source=4d0)
  call load(11, g)
  call show(g)
  call give(g)
  call show(g)
end program
subroutine outside(g)
  use m, only: grid
  type(grid), intent(inout) :: g
  g%n = g%n*2
  g%a = g%a + 1
  g%name = 'outside'
end subroutine
)");
  same_program(f, {"load", "show", "give"});
}

TEST_CASE("fortran components: the interface copies arrays in elements of arrays") {
  const Folder f;
  f.write("k.f90", R"(module m
  implicit none
  type particle
    real(8) :: x(3), v(3)
    integer :: id
    real(8) :: t(2, 2)
  end type
contains
  subroutine move(n, p, dt)
    integer, intent(in) :: n
    type(particle), intent(inout) :: p(n)
    real(8), intent(in) :: dt
    integer :: i
    do i = 1, n
      p(i)%x = p(i)%x + dt*p(i)%v
      p(i)%t(1, 2) = p(i)%id
    end do
  end subroutine
  subroutine moves(p, dt)
    type(particle), intent(inout) :: p(:)
    real(8), intent(in) :: dt
    integer :: i, k
    do i = 1, size(p)
      do k = 1, 3
        p(i)%v(k) = p(i)%v(k)*dt + p(i)%x(k)
      end do
    end do
  end subroutine
end module
)");
  f.write("main.f90", R"(program main
  use m
  type(particle) :: p(4)
  integer :: i
  do i = 1, 4
    p(i)%x = i; p(i)%v = [1, 2, 3]; p(i)%id = i; p(i)%t = 0
  end do
  call move(4, p, 0.5d0)
  call moves(p(1:3:2), 0.5d0)
  do i = 1, 4
    print *, p(i)%x, p(i)%v, p(i)%id, p(i)%t
  end do
end program
)");
  same_program(f, {"move", "moves"});
}

TEST_CASE("fortran components: of several axes, types and records around") {
  const Folder f;
  f.write("k.f90", R"(module mm
  implicit none
  type inner
    real(8) :: y(2) = 0
    character(3) :: t(2) = 'abc'
  end type
  type cell
    character(4) :: name = 'none'
    logical :: l(2) = .true.
    type(inner) :: in(2)
    real(8) :: m(2, 2) = 1
    complex :: z(2) = (1, 2)
    integer(1) :: k(3) = 3_1
  end type
  type holder
    type(cell) :: c(3)
    real(8), pointer :: p(:) => null()
    integer :: n = 0
  end type
contains
  subroutine all_of(n, p, o)
    integer, intent(in) :: n
    type(cell), intent(inout) :: p(0:n)
    type(cell), intent(in), optional :: o(:)
    integer :: i
    do i = 0, n
      p(i)%in(2)%y(1) = i + p(i)%in(1)%y(2)
      p(i)%m(:, 2) = p(i)%m(2, :)*2
      p(i)%l(1) = p(i)%m(1, 1) > 1
      p(i)%in(1)%t(2)(2:2) = 'x'
      p(i)%z(1) = p(i)%z(2)*2
      p(i)%k(3) = p(i)%k(1) + 1_1
      p(i)%name(1:1) = 'q'
      if (present(o)) p(i)%m(1, 1) = o(1)%m(1, 2)
    end do
  end subroutine
  pure subroutine two(p, t)
    type(cell), intent(in) :: p(:, :)
    real(8), intent(out) :: t
    integer :: i, j
    t = 0
    do j = 1, size(p, 2)
      do i = 1, size(p, 1)
        t = t + p(i, j)%m(2, 1) + p(i, j)%in(2)%y(1)
      end do
    end do
  end subroutine
  subroutine held(h, v)
    type(holder), intent(inout) :: h
    type(holder), intent(out) :: v(2)
    integer :: i
    do i = 1, 3
      h%c(i)%m(1, :) = h%c(i)%m(2, :) + i
      h%c(i)%in(1)%y = 5
    end do
    h%n = h%n + 1
    v(2)%c(1)%m(2, 2) = h%n
  end subroutine
  subroutine show(u, h, p)
    integer, intent(in) :: u
    type(holder), intent(inout) :: h
    type(cell), intent(inout) :: p(:)
    character(40) :: line
    line = ' '
    write (line, '(3f6.2)') p(2)%m(1, 1), 1.5, 2.5
    read (line, *) h%c(2)%m(:, 1), p(1)%m(2, 2)
    write (u, *) h%c(1)%name, p(1)%in(2)%t
    write (u, *, iostat=h%n) p%name, p(2)%l
    h%p(1) = h%p(1) + 1
  end subroutine
end module
)");
  f.write("main.f90", R"(program main
  use mm
  type(cell) :: p(0:3), g(2, 2)
  type(holder) :: h, v(2)
  real(8), target :: x(3)
  real(8) :: t
  x = 2
  h%p => x
  call all_of(3, p)
  call all_of(2, p, p(2:))
  call pp(p)
  call two(reshape(p, [2, 2]), t)
  print *, t
  call held(h, v)
  call pp(h%c)
  call pp(v(2)%c)
  call show(6, h, p)
  call pp(h%c); call pp(p)
  print *, x, h%n
contains
  subroutine pp(p)
    type(cell), intent(in) :: p(:)
    integer :: i
    do i = 1, size(p)
      print *, p(i)%name, p(i)%l, p(i)%m, p(i)%z, p(i)%k, p(i)%in(1)%y, p(i)%in(2)%y, p(i)%in(1)%t, p(i)%in(2)%t
    end do
  end subroutine
end program
)");
  same_program(f, {"all_of", "two", "held", "show"});
}

TEST_CASE("fortran components: what is refused") {
  const Folder f;
  f.write("k.f90", R"(module parts
  implicit none
  type inner
    real :: y = 1
  end type
  type cell
    real :: x = 0
    type(inner) :: in(2)
  end type
  type work
    real, allocatable :: a(:)
    real, pointer :: p(:) => null()
  end type
  interface
    subroutine outside(p)
      import cell
      type(cell), intent(inout) :: p(:)
    end subroutine
  end interface
contains
  function ring(n) result(c)
    integer, intent(in) :: n
    type(cell) :: c(n)
    c%x = n
  end function
  real function total(c)
    type(cell), intent(in) :: c(:)
    total = sum(c%x)
  end function
  subroutine s1(n, t)
    integer, intent(in) :: n
    real, intent(out) :: t
    t = total(ring(n))
  end subroutine
  subroutine s2(p)
    type(cell), intent(inout) :: p(:)
    call outside(p)
  end subroutine
  subroutine s3(n, w)
    integer, intent(in) :: n
    type(work), intent(inout), optional :: w
    if (present(w)) allocate (w%a(n))
  end subroutine
  subroutine s4(n, x)
    integer, intent(in) :: n
    real, intent(inout), target :: x(n)
    type(work) :: w
    w%a = [x, 1.0]
    w%p => x
  end subroutine
end module
)");
  const Outcome out = tool("show k.f90 --what imports", f.str());
  const auto says = [&](const std::string& what) { CHECK_MESSAGE(has(out.out, what), out.out); };
  says("k.f90:33:5: the array of records that `ring` gives, other than for a variable, is not");
  says("s2     k.f90:35:14  imported");
  says("k.f90:42:21: `allocate` of other variables than the routine's own is not supported");
  says("k.f90:49:5: `x`, which is a pointer or allocatable and not a module's, in `assignment`");
}
