// Routines within a main program whose statements stay Fortran: that has the variables.
#include "tests/cli/fortran_program.h"

using namespace moonloop::test;

TEST_CASE("fortran: routines of a main program give its variables memory, and ask about them") {
  const Folder f;
  f.write("k.f90", R"(program main
  implicit none
  type grid
    integer :: n = 0
    real(8), allocatable :: cells(:)
  end type
  integer, parameter :: width = 5
  real(8), allocatable :: u(:), flux(:)
  real(8), pointer :: view(:)
  real(8), target :: pool(20)
  type(grid) :: g
  integer :: steps = 0, unit = -1
  call init(12)
  call advance(3)
  print '(6f10.4)', u
  call regrid()
  call advance(2)
  print '(6f10.4)', u, view
  print '(6f10.4)', g%cells, flux
  call finalize()
  print *, allocated(u), allocated(flux), allocated(g%cells), steps
contains
  subroutine init(n)
    integer, intent(in) :: n
    integer :: i
    allocate (u(n), flux(0:n))
    pool = 0.25d0
    view => pool(3:3 + width)
    do i = 1, n
      u(i) = i*0.5d0
      flux(i - 1) = 0
    end do
    flux(n) = 0
    g%n = width
    g%cells = [(0.125d0*i, i = 1, width)]
  end subroutine
  subroutine advance(count)
    integer, intent(in) :: count
    integer :: i, t
    do t = 1, count
      do i = 2, size(u)
        flux(i) = 0.5d0*(u(i) - u(i - 1))
      end do
      do i = 2, size(u)
        u(i) = u(i) - 0.25d0*flux(i)
      end do
      steps = steps + 1
      call note(t)
    end do
  end subroutine
  subroutine note(t)  ! no kernel
    integer, intent(in) :: t
    if (t > 1000) wait (t)
    flux(0) = flux(0) + t
    g%cells(1) = g%cells(1) + u(2)
  end subroutine
  subroutine regrid()
    real(8), allocatable :: wide(:)
    integer :: i
    if (.not. allocated(u)) return
    allocate (wide(size(u) + 2))
    wide = 0.75d0
    wide(2:size(u) + 1) = u
    call move_alloc(wide, u)
    deallocate (flux)
    allocate (flux(0:size(u)))
    do i = 0, size(u)
      flux(i) = i
    end do
    view => pool(1:4)
    view(2) = 8
  end subroutine
  subroutine finalize()
    if (unit > 0) close (unit)
    deallocate (u)
    deallocate (flux)
    if (allocated(g%cells)) deallocate (g%cells)
  end subroutine
end program
)");
  same_program(f, {"init", "advance", "regrid", "finalize"});
  const std::string interface = f.read("i.f90");
  CHECK(has(interface, "procedure(), pointer :: deallocate_in_finalize_2_there => null()"));
  CHECK(has(interface, "deallocate_in_finalize_2_there => deallocate_in_finalize_2_inside"));
}

TEST_CASE("fortran: a routine of a main program is called by Fortran where it is no kernel") {
  const Folder f;
  f.write("k.f90", R"(program main
  implicit none
  integer, parameter :: hs = 2
  integer :: nx = 6
  real(8), allocatable :: state(:, :)
  integer :: j
  allocate (state(1 - hs:nx + hs, 3))
  do j = 1, 3
    state(:, j) = j
  end do
  state(3, :) = 9
  call step(state)
  call step(state)
  print '(10f8.3)', state
contains
  subroutine step(s)
    real(8), intent(inout) :: s(1 - hs:, :)
    integer :: i, k
    call halo(s)
    do k = 1, 3
      do i = 1, nx
        s(i, k) = 0.5d0*s(i, k) + 0.25d0*s(i - 1, k)
      end do
    end do
  end subroutine
  subroutine halo(s)
    real(8), intent(inout) :: s(1 - hs:nx + hs, 3)
    s(1 - hs:0, :) = s(nx - hs + 1:nx, :)
    s(nx + 1:, :) = s(1:hs, :)
  end subroutine
end program
)");
  same_program(f, {"step"});
}

TEST_CASE("fortran: records whose parts get memory stay where they are") {
  const Folder f;
  f.write("k.f90", R"(module store
  implicit none
  type field
    integer :: n = 0
    real(8), allocatable :: u(:)
  end type
  type tile
    integer :: cells = 0, low = 1
    type(field) :: f
  end type
  type chunk_type
    integer :: halo = 2
    type(tile), allocatable :: tiles(:)
  end type
  type(chunk_type) :: chunk
contains
  subroutine build(x)
    real(8), intent(inout) :: x(:)
    integer :: t, i
    do t = 1, size(chunk%tiles)
      chunk%tiles(t)%low = 1
      chunk%tiles(t)%f%n = chunk%tiles(t)%cells + chunk%halo
      allocate (chunk%tiles(t)%f%u(chunk%tiles(t)%low:chunk%tiles(t)%f%n))
      chunk%tiles(t)%f%u = t
      chunk%tiles(t)%cells = chunk%tiles(t)%cells + 1
    end do
    do i = 1, size(x)
      x(i) = x(i) + 1
    end do
  end subroutine
end module
)");
  f.write("main.f90", R"(program main
  use store
  implicit none
  real(8) :: x(4) = 0.5d0
  integer :: t
  allocate (chunk%tiles(3))
  do t = 1, 3
    chunk%tiles(t)%cells = t + 2
  end do
  call build(x)
  print '(9f8.3)', x
  do t = 1, 3
    print '(2i4, 9f8.3)', chunk%tiles(t)%cells, chunk%tiles(t)%f%n, chunk%tiles(t)%f%u
  end do
end program
)");
  same_program(f, {"build"});
}

TEST_CASE("fortran: bounds that depend on variables of modules, beside calls that stay") {
  const Folder f;
  f.write("k.f90", R"(module sizes
  implicit none
  integer :: n = 4, m = 3
contains
  subroutine fill(count, x)  ! no kernel
    integer :: count
    real(8), intent(inout) :: x(:)
    if (count > 1000) wait (count)
    x = x + count
  end subroutine
  subroutine grow(x)
    real(8), intent(inout) :: x(n, m)
    real(8) :: w(n)
    integer :: i
    w = 0.25d0
    call fill(n, x(:, 1))
    call fill(n, w)
    do i = 1, m
      x(:, i) = x(:, i) + w
    end do
  end subroutine
end module
)");
  f.write("main.f90", R"(program main
  use sizes
  implicit none
  real(8) :: x(4, 3) = 0.5d0
  call grow(x)
  print '(12f8.3)', x
end program
)");
  same_program(f, {"grow"});
}

TEST_CASE(
    "fortran programs: a `block` in a routine of a main program uses the program's "
    "variables") {
  const Folder f;
  f.write("k.f90", R"(program p
  implicit none
  real(8) :: grid(0:9, 5), mean(5)
  integer :: i, j
  do j = 1, 5
    grid(:, j) = [(mod(i*j, 7), i = 0, 9)]
  end do
  mean = -1
  call average(2)
  print '(5f8.3)', mean, grid(3, :)
contains
  subroutine average(k)
    integer, intent(in) :: k
    integer :: i
    i = k
    block
      real(8) :: mean(5)
      integer :: i
      mean = sum(grid(1:8, :), dim=1)/8
      do i = 1, 5
        grid(3, i) = mean(i) + grid(k, i)
      end do
    end block
    block
      real(8) :: grid(2)
      grid = mean(1:2)
      mean(4:5) = grid + i
    end block
  end subroutine
end program
)");
  same_program(f, {"average"});
}
