// Optional arguments of derived types, by value, allocatable, pointers, on devices and in
// recursion.
#include "runtime/process.h"
#include "tests/cli/fortran_program.h"

using namespace moonloop::test;

TEST_CASE("fortran interface: optional arguments of derived types, values, and with other memory") {
  const Folder f;
  f.write("k.f90", R"(module m
  implicit none
  type inner
    real(8) :: z
    integer :: k(2)
  end type
  type t
    real(8) :: x
    integer :: n
    real(8) :: v(3)
    logical :: flag
    type(inner) :: q
    real(8), allocatable :: a(:)
  end type
  type s
    real(8) :: x
    integer :: n
  end type
contains
  subroutine rec(n, y, p, ps, val, al, pt, lg)
    integer, intent(in) :: n
    real(8), intent(inout) :: y(n)
    type(t), optional :: p
    type(s), optional, intent(inout) :: ps(:)
    real(8), value, optional :: val
    real(8), allocatable, optional, intent(inout) :: al(:)
    real(8), pointer, optional :: pt(:)
    logical, value, optional :: lg
    integer :: i
    if (present(p)) then
      do i = 1, n
        y(i) = y(i) + p%x*p%n + p%v(2) + p%q%z + p%q%k(1)
      end do
      if (p%flag) y(1) = y(1) + 1
      p%v(1) = y(1)
      p%q%k(2) = p%n + 1
      p%flag = .not. p%flag
      y(2) = y(2) + p%a(2)
      p%a(1) = 5
    end if
    if (present(ps)) then
      do i = 1, size(ps)
        y(1) = y(1) + ps(i)%x
        ps(i)%n = ps(i)%n + i
      end do
    end if
    if (present(val)) then
      val = val*2
      y = y + val
    end if
    if (present(al)) then
      do i = lbound(al, 1), ubound(al, 1)
        y(1) = y(1) + al(i)
        al(i) = i
      end do
    end if
    if (present(pt)) then
      do i = 1, size(pt)
        pt(i) = pt(i) + y(1)
      end do
    end if
    if (present(lg)) then
      if (lg) y = y + 100
    end if
  end subroutine
end module
)");
  f.write("main.f90", R"(program main
  use m
  implicit none
  real(8) :: y(4)
  type(t) :: p
  type(s) :: ps(3)
  real(8), allocatable :: al(:)
  real(8), target :: w(10)
  real(8), pointer :: pt(:)
  y = [1, 2, 3, 4]
  p = t(1.5d0, 2, [1d0, 2d0, 3d0], .true., inner(7d0, [3, 4]), [1d0, 2d0])
  ps = s(2d0, 3)
  allocate (al(-1:2))
  al = 2
  w = 1
  pt => w(1:9:2)
  call rec(4, y)
  print *, y
  call rec(4, y, p)
  print *, y, p%x, p%n, p%v, p%flag, p%q%z, p%q%k, p%a
  call rec(4, y, p, ps(1:3:2))
  print *, y, ps
  call rec(4, y, val=3d0)
  print *, y
  call rec(4, y, al=al, pt=pt)
  print *, y, al, lbound(al), w
  call rec(4, y, p, ps, 1d0, al, pt, .true.)
  print *, y, p%v, ps, al, w
  call rec(4, y, lg=.false.)
  print *, y
end program
)");
  same_program(f, {"rec"});
}

TEST_CASE("fortran interface: optional arguments passed on, to bodies and functions of their own") {
  const Folder f;
  f.write("k.f90", R"(module m
  implicit none
  type s
    real(8) :: x
    integer :: n
    logical :: f
  end type
contains
  subroutine work(n, y, p, ps, v, al, pt, lg)
    integer, intent(in) :: n
    real(8), intent(inout) :: y(n)
    type(s), optional, intent(inout) :: p
    type(s), optional, intent(in) :: ps(:)
    real(8), value, optional :: v
    real(8), allocatable, optional, intent(inout) :: al(:)
    real(8), pointer, optional :: pt(:)
    logical, value, optional :: lg
    integer :: i
    if (present(p)) then
      y = y + p%x
      p%n = p%n + 1
      p%f = .not. p%f
    end if
    if (present(ps)) then
      do i = 1, size(ps)
        y(1) = y(1) + ps(i)%x*ps(i)%n
      end do
    end if
    if (present(v)) then
      v = v + 1
      y = y*v
    end if
    if (present(al)) then
      al(lbound(al, 1)) = y(1)
      y(2) = y(2) + sum(al)
    end if
    if (present(pt)) pt(1) = pt(2) + y(1)
    if (present(lg)) then
      if (lg) y = y - 1
    end if
  end subroutine
  subroutine apart(n, y, p, ps, v, al)
    !$moonloop noinline
    integer, intent(in) :: n
    real(8), intent(inout) :: y(n)
    type(s), optional, intent(inout) :: p
    type(s), optional, intent(in) :: ps(:)
    real(8), value, optional :: v
    real(8), allocatable, optional, intent(inout) :: al(:)
    integer :: i
    do i = 1, n
      if (present(p)) y(i) = y(i) + p%x
      if (present(ps)) y(i) = y(i) + ps(1)%x
      if (present(v)) y(i) = y(i)*v
      if (present(al)) y(i) = y(i) + al(i)
    end do
  end subroutine
  subroutine through(n, y, p, ps, v, al, pt, lg)
    integer, intent(in) :: n
    real(8), intent(inout) :: y(n)
    type(s), optional, intent(inout) :: p
    type(s), optional, intent(in) :: ps(:)
    real(8), value, optional :: v
    real(8), allocatable, optional, intent(inout) :: al(:)
    real(8), pointer, optional :: pt(:)
    logical, value, optional :: lg
    type(s) :: own(2)
    own = s(0.5d0, 2, .false.)
    call work(n, y)
    call work(n, y, p)
    call work(n, y, own(2), own, 1.5d0, lg=.true.)
    call work(n, y, p, ps, v, al, pt, lg)
    y(1) = y(1) + own(2)%n
    if (present(ps)) call work(n, y, ps=ps(2:))
    call apart(n, y, p, ps, v, al)
    call apart(n, y, ps=own, v=y(2))
  end subroutine
end module
)");
  f.write("main.f90", R"(program main
  use m
  implicit none
  real(8) :: y(4)
  type(s) :: p, ps(3)
  real(8), allocatable :: al(:)
  real(8), target :: w(6)
  real(8), pointer :: pt(:)
  y = [1, 2, 3, 4]
  p = s(2d0, 3, .true.)
  ps = s(0.25d0, 2, .false.)
  allocate (al(4))
  al = 2
  w = 1
  pt => w(2:6:2)
  call through(4, y)
  print *, y
  call through(4, y, p, v=0.5d0)
  print *, y, p%x, p%n, p%f
  call through(4, y, ps=ps, lg=.true.)
  print *, y
  call through(4, y, al=al, pt=pt)
  print *, y, al, w
  call through(4, y, p, ps(3:1:-1), 0.25d0, al, pt, .false.)
  print *, y, al, w, p%n, p%f
end program
)");
  same_program(f, {"through"});
  const Outcome made = tool("gen k.f90 --kernel through", f.str());
  CHECK(has(made.out, "static void apart("));  // with the caller's own, whatever is there
  CHECK(has(made.err, "its optional `al` is not given"));
}

TEST_CASE("fortran interface: recursion that passes optional arguments on") {
  const Folder f;
  f.write("k.f90", R"(module m
  implicit none
contains
  recursive subroutine down(n, y, x, k, g)
    integer, intent(in) :: n
    real(8), intent(inout) :: y(n)
    real(8), intent(in), optional :: x(n)
    integer, intent(inout), optional :: k
    real(8), intent(in), optional :: g
    integer :: i
    if (present(g)) y(1) = y(1) + g
    do i = 1, n
      y(i) = y(i) + i
      if (present(x)) y(i) = y(i) + x(i)
    end do
    if (present(k)) k = k + n
    if (n > 1) call down(n - 1, y, x, k, g)
  end subroutine
  subroutine leaf(n, y, x)
    !$moonloop noinline
    integer, intent(in) :: n
    real(8), intent(inout) :: y(n)
    real(8), intent(in), optional :: x(n)
    integer :: i
    do i = 1, n
      if (present(x)) y(i) = y(i) + x(i)
      y(i) = y(i)*2
    end do
  end subroutine
  subroutine top(n, y, x)
    integer, intent(in) :: n
    real(8), intent(inout) :: y(n)
    real(8), intent(in), optional :: x(n)
    call leaf(n, y, x)
    call leaf(n, y)
  end subroutine
end module
)");
  f.write("main.f90", R"(program main
  use m
  implicit none
  real(8) :: y(5), x(5)
  integer :: k
  y = 1
  x = [1, 2, 3, 4, 5]
  k = 0
  call down(5, y)
  print *, y
  call down(5, y, x)
  print *, y
  call down(5, y, k=k)
  print *, y, k
  call down(5, y, x, k, 0.5d0)
  print *, y, k
  call top(5, y)
  call top(5, y, x)
  print *, y
end program
)");
  same_program(f, {"down", "top"});
}

TEST_CASE("fortran interface: optional arguments that have no counterpart") {
  const Folder f;
  f.write("k.f90", R"(module m
  implicit none
  type s
    real :: x
  end type
contains
  subroutine passes(p)
    type(s), optional, allocatable :: p
    call gets(p)
  end subroutine
  subroutine more(p)
    type(s), optional, pointer :: p(:)
    if (present(p)) p%x = 1
  end subroutine
  pure subroutine points(x, y)
    real, intent(inout) :: x
    real, optional, pointer, intent(in) :: y
    if (present(y)) x = y
  end subroutine
  subroutine gets(p)
    type(s), optional, allocatable :: p
    if (present(p)) allocate (p)
  end subroutine
end module
)");
  const Outcome out = tool("show k.f90 --what imports", f.str());
  CHECK_MESSAGE(has(out.out, "k.f90:9:5: `p`, which may not be there here and in `gets`, is not"),
                out.out);
  CHECK(has(out.out, "k.f90:12:35: the optional argument `p` of this kind is not supported"));
  const Outcome made = tool("gen k.f90 --kernel points -o k.c --fortran-interface i.f90", f.str());
  CHECK(made.status == 1);
  CHECK(
      has(made.err, "`points`: the optional `y` of this kind has no counterpart in the interface"));
}

TEST_CASE("fortran interface: devices copy and touch no optional argument that is not there") {
  const Folder f;
  f.write("k.f90", R"(subroutine s(n, a, b, c)
  implicit none
  integer, intent(in) :: n
  real(8), intent(inout) :: a(n)
  real(8), intent(inout), optional :: b(n)
  real(8), intent(in), optional :: c
  integer :: i
  do i = 1, n
    if (present(b)) then
      a(i) = a(i) + b(i)
      b(i) = a(i)*2
    end if
    if (present(c)) a(i) = a(i)*c
  end do
end subroutine
!$moonloop begin transform
! s = lp.split_iname(s, "i", 64, {outer_tag="g.0", inner_tag="l.0"})
!$moonloop end transform
)");
  const Outcome made = tool("gen k.f90 --target cuda -o k.cu --fortran-interface i.f90", f.str());
  REQUIRE_MESSAGE(made.status == 0, made.err);
  CHECK(has(f.read("k.cu"), "  if (!b) b_bytes = 0;\n"));
  CHECK(has(f.read("k.cu"), "  if (!c) c_bytes = 0;\n"));
  CHECK(!has(f.read("k.cu"), "if (!a)"));
  if (!moonloop::find_program("nvcc").empty())
    CHECK(shell("nvcc -arch=sm_90 -c k.cu && gfortran -c i.f90", f.str()).status == 0);
  for (const char* there : {"0", "1"}) {
    const std::string given = std::string(" -p b_present=") + there + " -p c_present=" + there;
    const Outcome ran =
        tool("run k.f90 --target opencl -p n=100 --verify --quiet" + given, f.str());
    if (has(ran.err, "no-device")) return;
    CHECK_MESSAGE(has(ran.out, "verify: equal"), ran.err);
  }
}
