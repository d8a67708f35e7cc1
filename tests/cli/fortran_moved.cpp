// Variables of modules that a routine gives memory and uses: what uses them stays Fortran.
#include <regex>

#include "tests/cli/fortran_program.h"

using namespace moonloop::test;

TEST_CASE(
    "fortran moved: variables of modules are given memory, asked for and used in one routine") {
  const Folder f;
  f.write("k.f90", R"(module state
  implicit none
  private
  public :: setup, grow, u, v, y, p, now, before, total
  real(8), allocatable :: u(:), v(:, :), y(:)
  integer, allocatable :: hidden(:)
  real(8), pointer :: now(:), before(:)
  type pair
    real(8), allocatable :: a(:), b(:)
    integer :: m = 4
  end type
  type(pair) :: p
  real(8) :: total = 0
contains
  subroutine setup(n, x, ierr)
    integer, intent(in) :: n
    real(8), intent(inout) :: x(n)
    integer, intent(out) :: ierr
    integer :: i, j
    allocate(u(0:n), v(n, 2), stat=ierr)
    if (ierr /= 0) return
    u = 1.5d0
    do j = 1, 2
      do i = 1, n
        if (i == 3) cycle
        v(i, j) = i + 10*j + x(i)
      end do
      v(3, j) = -1
    end do
    do i = 1, n
      x(i) = 2*x(i)
    end do
    nullify(now, before)
    allocate(now(n))
    now = x
    before => now
    before(2) = 77
    x(1) = x(1) + now(2) + size(v) + count(v > 3)
    allocate(hidden(n))
    hidden = 3
    where (x > 4)
      hidden = 5
    elsewhere
      hidden = 6
    end where
    where (hidden == 5) x = x + hidden
    j = size(u)
    y = [1d0, 2d0, x(2)]
    if (size(y) == 3) y = y*j
    total = total + sum(u) + twice(x(2))
  end subroutine
  real(8) function twice(y)
    real(8), intent(inout) :: y
    y = y + 1
    twice = 2*y
  end function
  subroutine grow(k, how, x)
    integer, intent(in) :: k
    integer, intent(inout) :: how
    real(8), intent(inout) :: x(:)
    integer :: i
    logical :: there
    there = allocated(p%a)
    if (.not. allocated(p%a)) then
      allocate(p%a(k))
      p%a = 1
      how = how + 1
      if (k > 100) return
    else if (size(p%a) < k) then
      deallocate(p%a)
      allocate(p%a(k))
      p%a(:) = 2
      how = how + 10
      if (k > 100) return
    else if (p%a(1) > 1.5d0) then
      how = how + 100
      if (k > 100) return
    else
      how = how + 1000
      if (k > 100) return
    end if
    if (there) how = -how
    if (allocated(p%b)) how = how + 10000
    do i = 1, size(p%a)
      if (i > size(x)) return
      x(i) = x(i) + p%a(i)*p%m
    end do
    if (size(p%a) > 5) p%a(5) = 9
    i = 0
    do while (i < size(p%a) .and. i < 3)
      i = i + 1
      if (x(i) < 0) exit
      x(i) = x(i)*2
      if (x(i) > 1000) return
    end do
    select case (size(p%a))
    case (3)
      x(1) = 33
    case default
      x(1) = x(1) + 1
    end select
    call swap(p%a, x)
    p%m = p%m + 1
  end subroutine
  subroutine swap(a, b)
    real(8), allocatable, intent(inout) :: a(:)
    real(8), intent(inout) :: b(:)
    real(8) :: t
    t = a(1)
    a(1) = b(1)
    b(1) = t
  end subroutine
end module
)");
  f.write("main.f90", R"(program main
  use state
  implicit none
  real(8) :: x(5), z(4)
  integer :: ierr, how, k
  x = [1, 2, 3, 4, 5]
  call setup(5, x, ierr)
  print *, x, ierr, total
  print *, lbound(u), u, v
  print *, y, now, before, associated(now, before)
  z = 0.5d0
  how = 0
  do k = 3, 6
    call grow(k, how, z)
    print *, k, how, z, p%a, p%m
  end do
  call grow(2, how, z)
  print *, k, how, z, p%a, p%m
end program
)");
  same_program(f, {"setup", "grow"});
}

TEST_CASE("fortran moved: calls get what elements of arrays have each for itself") {
  const Folder f;
  f.write("k.f90", R"(module chunks
  implicit none
  type field
    real(8), allocatable :: u(:, :)
    integer :: first = 1
  end type
  type tile
    type(field) :: f
    real(8), pointer :: edge(:)
    integer :: n = 0
  end type
  type chunk
    type(tile), allocatable :: tiles(:)
    integer :: halo = 2
  end type
  type(chunk) :: all
  integer :: count = 2
contains
  subroutine smooth(n, halo, u, edge, s)
    integer, intent(in) :: n, halo
    real(8), intent(inout) :: u(1 - halo:n + halo, 2), edge(n)
    real(8), intent(out) :: s
    integer :: i
    s = 0
    do i = 1, n
      u(i, 1) = 0.5d0*(u(i - 1, 2) + u(i + 1, 2))
      edge(i) = edge(i) + u(i, 1)
      s = s + u(i, 1)
    end do
  end subroutine
  subroutine sweep(total)
    real(8), intent(inout) :: total
    real(8) :: part
    integer :: t
    do t = 1, count
      call smooth(all%tiles(t)%n, all%halo, all%tiles(t)%f%u, all%tiles(t)%edge, part)
      total = total + part*t
    end do
    all%halo = all%halo - 1
  end subroutine
  subroutine both(total)
    real(8), intent(inout) :: total
    call sweep(total)
    total = total + all%halo
  end subroutine
end module
)");
  f.write("main.f90", R"(program main
  use chunks
  implicit none
  real(8) :: total
  integer :: t, i
  allocate(all%tiles(count))
  do t = 1, count
    all%tiles(t)%n = 3*t
    allocate(all%tiles(t)%f%u(-1:3*t + 2, 2), all%tiles(t)%edge(3*t))
    all%tiles(t)%f%u = reshape([(0.25d0*i*t, i = 1, 6*t + 8)], [3*t + 4, 2])
    all%tiles(t)%edge = t
  end do
  total = 1
  call sweep(total)
  print *, total, all%halo
  call both(total)
  print *, total, all%halo
  do t = 1, count
    print *, all%tiles(t)%f%u, all%tiles(t)%edge
  end do
end program
)");
  same_program(f, {"smooth", "sweep", "both"});
}

TEST_CASE("fortran moved: a component whose name begins with that of one with bounds") {
  const Folder f;
  f.write("k.f90", R"(module m
  implicit none
  type chunk
    real(8), allocatable :: a(:)
    real(8) :: a_b = 1
  end type
  type(chunk) :: p
contains
  subroutine inner(x)
    real(8), intent(inout) :: x
    x = x + p%a_b
  end subroutine
  subroutine around(x)
    real(8), intent(inout) :: x
    call inner(x)
    p%a_b = p%a_b + 1
  end subroutine
end module
)");
  f.write("main.f90", R"(program main
  use m
  implicit none
  real(8) :: x = 0.5d0
  call around(x)
  call inner(x)
  print *, x, p%a_b
end program
)");
  same_program(f, {"inner", "around"});
  CHECK(has(tool("show k.f90 --kernel inner", f.str()).out,
            "kernel inner(x: inout float64[] order=F, p_a_b: float64)"));
}

TEST_CASE("fortran moved: a called routine reads records of an array whose bounds vary") {
  const Folder f;
  f.write("k.f90", R"(module m
  implicit none
  type tile
    real(8), allocatable :: u(:)
    integer :: beside = 0
  end type
  type chunk
    type(tile), allocatable :: tiles(:)
  end type
  type(chunk) :: all
contains
  subroutine inner(x, count)
    real(8), intent(inout) :: x
    integer, intent(in) :: count
    integer :: t
    do t = 1, count
      if (all%tiles(t)%beside /= 0) x = x + all%tiles(t)%beside
    end do
  end subroutine
  subroutine around(x, count)
    real(8), intent(inout) :: x
    integer, intent(in) :: count
    call inner(x, count)
    x = 2*x
  end subroutine
end module
)");
  f.write("main.f90", R"(program main
  use m
  implicit none
  real(8) :: x = 0.5d0
  allocate(all%tiles(3))
  all%tiles(1)%beside = 4
  all%tiles(3)%beside = 7
  call around(x, 3)
  call inner(x, 2)
  print *, x
end program
)");
  same_program(f, {"inner", "around"});
  // Fortran has no name for the parts of all elements that are arrays themselves.
  f.write("array.f90",
          std::regex_replace(
              std::regex_replace(f.read("k.f90"), std::regex("beside = 0"), "beside(4) = 0"),
              std::regex("%beside"), "%beside(2)"));
  const Outcome nested =
      tool("gen array.f90 --kernel around --target c -o k.c --fortran-interface i.f90", f.str());
  CHECK(nested.status == 1);
  CHECK(has(nested.err, "`all%tiles%beside`, an array of each element of an array, has no "));
}

TEST_CASE("fortran moved: a choice that Fortran cannot make as a whole is made part by part") {
  const Folder f;
  f.write("k.f90", R"(module state
  implicit none
  real(8), allocatable :: u(:)
contains
  subroutine fill(n, x, e)
    integer, intent(in) :: n
    real(8), intent(inout) :: x(n)
    real(8), intent(in), optional :: e
    if (allocated(u)) deallocate(u)
    allocate(u(n))
    u = x(2)
    if (u(1) > 2) then
      x(1) = u(2)
      if (present(e)) x(2) = x(2) + e
    else if (size(u) > 3) then
      x(3) = u(1) - 1
    else
      x(:) = 3*x
    end if
  end subroutine
end module
)");
  f.write("main.f90", R"(program main
  use state
  implicit none
  real(8) :: x(4)
  integer :: i
  do i = 1, 3
    x = [1, i, 2, 4]
    call fill(4, x)
    print *, x
    call fill(3, x, 0.5d0)
    print *, x
    call fill(4, x, 1.5d0)
    print *, x
  end do
end program
)");
  same_program(f);
}

TEST_CASE(
    "fortran moved: what is not known may give any variable that a routine uses other memory") {
  const Folder f;
  f.write("k.f90", R"(module state
  implicit none
  type record
    integer :: n = 1
    real(8), allocatable :: part(:)
    real(8), pointer :: view(:) => null()
  end type
  real(8), allocatable :: u(:), passed(:)
  real(8), pointer :: p(:) => null()
  real(8), target :: pool(40) = 0.5d0
  type(record) :: r
  integer :: calls = 0
contains
  subroutine step(n, x)
    integer, intent(in) :: n
    real(8), intent(inout) :: x(n)
    integer :: i, q
    do i = 1, n
      u(i) = 0.5d0*u(i) + x(i)
    end do
    if (associated(p)) p(1) = 0.25d0
    r%part = 0.5d0*r%part
    call elsewhere(n)
    do i = 1, n
      x(i) = 0.5d0*x(i) + u(i)
    end do
    if (size(r%part) > 3 .and. associated(p, pool(5:8))) x(1) = x(1) + p(2) + r%view(1)
    r%n = r%n + size(u)
    calls = calls + 1
    do i = 1, 2
      forall (q = 1:n) x(q) = 0.5d0*x(q) + u(q)
    end do
    do q = 1, n
      x(q) = x(q) + 1
    end do
  end subroutine
  subroutine gives(n, x)
    integer, intent(in) :: n
    real(8), intent(inout) :: x(n)
    integer :: i
    do i = 1, n
      passed(i) = 0.5d0*passed(i) + x(i)
    end do
    call changes(n, passed)
    do i = 1, n
      x(i) = 0.5d0*x(i) + passed(i)
    end do
  end subroutine
  subroutine named(n, x)
    integer, intent(in) :: n
    real(8), intent(inout) :: x(n)
    associate (part => u(2:3))
      part(1) = part(2) + x(1)
    end associate
    call elsewhere(n)
  end subroutine
end module
)");
  f.write("other.f90", R"(subroutine elsewhere(n)
  use state
  implicit none
  integer, intent(in) :: n
  u = [u(1:4), real(n, 8)]
  p => pool(4 + n/5:8)
  r%part = [0.5d0, 0.25d0, 1d0, 2d0, 3d0]
  allocate (r%view(2), source=0.75d0)
  r%n = 3
end subroutine
subroutine changes(n, x)
  implicit none
  integer, intent(in) :: n
  real(8), intent(inout) :: x(n)
  x = x + n
end subroutine
program main
  use state
  implicit none
  real(8) :: x(5)
  x = 1
  u = [1d0, 2d0, 3d0, 4d0, 5d0]
  passed = u
  r%part = [1d0, 2d0]
  call step(5, x)
  call gives(5, x)
  print '(9f12.6)', x, u, pool(1:9), r%part, passed
  print *, r%n, calls
end program
)");
  same_program(f, {"step", "gives"});
  // What is given to the call of what is not known stays where it is.
  CHECK(has(f.read("k.c"), "passed[i - passed_lower1"));
  const Outcome shown = tool("show k.f90 --what imports", f.str());
  CHECK_MESSAGE(
      has(shown.out, "k.f90:55:5: the call of `elsewhere`, which may give `u` other memory"),
      shown.out);
}

TEST_CASE("fortran moved: `where` and names of `associate` leave variables their memory") {
  const Folder f;
  f.write("k.f90", R"(module state
  implicit none
  type record
    real(8), allocatable :: part(:), grid(:, :)
  end type
  real(8), allocatable :: u(:)
  type(record) :: r
contains
  subroutine step(n, x)
    integer, intent(in) :: n
    real(8), intent(inout) :: x(n)
    real(8), allocatable :: own(:)
    allocate (own(n))
    own(:) = 0.5d0
    where (x > 2) own = x/2
    where (u > x)
      u = x
    elsewhere (r%part > 1)
      r%part = 0.5d0*r%part
    end where
    associate (one => r%grid(2, 1), all => u, row => r%grid(:, 2))
      one = x(2)
      all = 0.5d0*u + own
      row(2:) = all(size(row):2:-1)
      x(1) = size(row) + size(r%grid) + lbound(r%part, 1) + ubound(r%grid, 2)
    end associate
  end subroutine
end module
)");
  f.write("main.f90", R"(program main
  use state
  implicit none
  real(8) :: x(4)
  x = [1, 2, 3, 4]
  u = [2d0, 1d0, 5d0, 3d0]
  allocate (r%part(0:3), r%grid(4, 2))
  r%part = [3d0, 0.5d0, 4d0, 2d0]
  r%grid = 0.25d0
  call step(4, x)
  print '(9f12.6)', x, u, r%part, r%grid
end program
)");
  same_program(f);
  const std::string code = f.read("k.c");
  CHECK_MESSAGE(!has(code, "_in_step_"), code);  // nothing stays Fortran
}
