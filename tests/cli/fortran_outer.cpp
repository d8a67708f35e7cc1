// Variables that are not a routine's own, and modules whose source is not known.
#include "tests/cli/fortran_program.h"

using namespace moonloop::test;

TEST_CASE("fortran outer: variables of modules, of derived types, allocatable ones, and output") {
  const Folder f;
  f.write("k.f90", R"(module grid
  implicit none
  integer :: nx, ny
  real(8) :: dx = 0.5d0
  real(8), allocatable :: u(:,:), v(:)
  logical :: periodic = .false.
  type box
    integer :: lo, hi
    real(8), allocatable :: w(:)
    character(8) :: name
  end type
  type(box) :: b
  integer, parameter :: big = 7
  private :: dx
contains
  subroutine init(n)
    integer, intent(in) :: n
    nx = n; ny = n
    allocate(u(0:nx+1, -1:ny), v(n))
    u = 1; v = 2; b%lo = 2; b%hi = n-1
    allocate(b%w(n)); b%w = 3
  end subroutine
  subroutine step(f)
    real(8), intent(in) :: f
    integer :: i, j
    logical, save :: first = .true.
    integer, save :: calls
    character :: letter
    if (first) then
      calls = 0
      first = .false.
    end if
    calls = calls + 1
    do j = 0, ny
      do i = b%lo, b%hi
        u(i, j) = u(i, j) + f*dx*v(i) + b%w(i) + calls + big
      end do
    end do
    periodic = .not. periodic
    dx = dx*2
    letter = 'y'
    print *, 'step', calls, f, dx, periodic, nx, letter, v, .true., 2*calls, "a rather long text &
      &that needs a line of its own, since no line of Fortran is longer than 132 characters"
    write (*, '(a,i5,f8.3)', advance='no') "it's", calls, u(2, 0)
    write (*, 100) v(1), size(u, 2), lbound(u, 2)
100 format (1x, 'v', f6.2, 2i4)
  end subroutine
  real(8) function total()
    total = sum(u) + sum(v)*dx
  end function
end module
program p
  use grid
  implicit none
  real(8) :: acc
  integer :: k
  call init(6)
  acc = 0
  do k = 1, 3
    call step(0.25d0*k)
    call add(2)
  end do
  print *, total(), acc, u
contains
  subroutine add(k)
    integer, intent(in) :: k
    integer :: i
    do i = 1, k
      acc = acc + v(i)*turn()
    end do
  end subroutine
  integer function turn()
    turn = k
  end function
end program
)");
  same_program(f, {"step", "total", "add"});
  const std::string interface = f.read("i.f90");
  CHECK(interface.find("subroutine add(k_value)") != std::string::npos);  // hides the program's k
}

TEST_CASE("fortran outer: common blocks, each routine with its own names") {
  const Folder f;
  f.write("k.f90", R"(subroutine fill(n)
  implicit none
  integer, intent(in) :: n
  integer :: count, i
  real(8) :: x(4), y
  logical :: done
  common /data/ count, x, y
  common done
  do i = 1, min(n, 4)
    x(i) = i*y
  end do
  count = count + n
  done = count > 4
end subroutine
subroutine twice(n, s)
  implicit none
  integer, intent(in) :: n
  real(8), intent(out) :: s
  integer :: c
  real(8) :: values(4), scale
  common /data/ c, values, scale
  call fill(n)
  call fill(n)
  s = sum(values) + c
end subroutine
)");
  f.write("main.f90", R"(program p
  implicit none
  integer :: c
  real(8) :: v(4), y, s
  logical :: done
  common /data/ c, v, y
  common done
  c = 1; v = 0; y = 1.5d0
  call fill(2)
  print *, c, v, done
  call twice(3, s)
  print *, c, v, done, s
end program
)");
  same_program(f, {"fill", "twice"});
  f.write("k.f90", R"(subroutine one(n)
  integer :: n, i
  common /data/ i
  i = n
end subroutine
subroutine two(n)
  integer :: n
  real :: i
  common /data/ i
  call one(n)
  n = int(i)
end subroutine
)");
  const Outcome o = tool("gen k.f90 --kernel two", f.str());
  CHECK(o.status == 0);
  CHECK(has(o.err,
            "k.f90:10:3: note: the call of `one`, which has other variables in the common block "
            "`data`, is not supported"));
}

TEST_CASE("fortran outer: routines of other files change what they know") {
  const Folder f;
  f.write("state.f90", R"(module state
  implicit none
  integer :: n = 2
  real(8) :: a(10) = 1
end module
)");
  f.write("change.f90", R"(subroutine change(x)
  use state
  implicit none
  real(8), intent(inout) :: x
  n = n + 2
  a = a*x
  x = x + 1
end subroutine
)");
  f.write("k.f90", R"(subroutine s(m, b)
  use state, only: n, values => a
  implicit none
  integer, intent(in) :: m
  real(8), intent(inout) :: b(n, m)
  integer :: i, j
  real(8) :: factor
  factor = 2
  do j = 1, m
    do i = 1, n
      if (i > size(b, 1)) cycle
      b(i, j) = b(i, j) + values(i) + n
    end do
    values(1) = values(1) + 0.5d0
    call change(factor)
  end do
  n = 1
end subroutine
)");
  f.write("main.f90", R"(program p
  use state
  implicit none
  real(8) :: b(2, 3)
  b = 0
  call s(3, b)
  print *, b, n, a
end program
)");
  const Outcome made = tool("gen k.f90 --quiet -o k.c --fortran-interface i.f90", f.str());
  REQUIRE_MESSAGE(made.status == 0, made.err);
  CHECK(f.read("k.c").find("double *values") != std::string::npos);  // not restrict
  const Outcome built = shell(
      "gfortran -O0 -o before state.f90 change.f90 k.f90 main.f90 && gcc -O2 -c k.c && "
      "gfortran -O0 -o after state.f90 change.f90 i.f90 main.f90 k.o",
      f.str());
  REQUIRE_MESSAGE(built.status == 0, built.err);
  CHECK(shell("./before", f.str()).out == shell("./after", f.str()).out);
  const Outcome text = tool("show k.f90", f.str());  // is kernel text
  CHECK(has(text.out, "knows(values)"));
  f.write("k.loop", text.out);
  CHECK(tool("check k.loop", f.str()).status == 0);
}

TEST_CASE("fortran outer: a module without source harms only what needs it") {
  const Folder f;
  f.write("k.f90", R"(module m
  use mpi
  implicit none
  integer, parameter :: kind_of = MPI_REAL8
contains
  subroutine good(n, a)
    integer, intent(in) :: n
    real(8), intent(inout) :: a(n)
    a = 2*a
  end subroutine
  subroutine named(n)
    integer, intent(inout) :: n
    n = MPI_SUM
  end subroutine
  subroutine derived(n)
    integer, intent(inout) :: n
    n = kind_of
  end subroutine
  subroutine called(n)
    integer, intent(inout) :: n
    call mpi_barrier(n)
  end subroutine
  subroutine wrong(n)
    integer, intent(inout) :: n
    n = 'a'
  end subroutine
end module
subroutine implicitly(n)
  use netcdf, only: nf, other => more
  n = nf + 1
end subroutine
subroutine unharmed(n)
  use netcdf, only: nf, other => more
  k = 3
  n = k
end subroutine
)");
  const Outcome o = tool("show k.f90 --what imports", f.str());
  CHECK(o.out ==
        "good        k.f90:6:14  imported\n"
        "named       k.f90:11:14  left out\n"
        "  k.f90:2:7: the source of the module `mpi` is not found\n"
        "derived     k.f90:15:14  left out\n"
        "  k.f90:2:7: the source of the module `mpi` is not found\n"
        "called      k.f90:19:14  left out\n"
        "  k.f90:2:7: the source of the module `mpi` is not found\n"
        "wrong       k.f90:23:14  left out\n"
        "  k.f90:2:7: the source of the module `mpi` is not found\n"
        "implicitly  k.f90:28:12  left out\n"
        "  k.f90:29:7: the source of the module `netcdf` is not found\n"
        "unharmed    k.f90:32:12  imported\n"
        "2 of 7 imported\n");
  const Outcome named = tool("gen k.f90 --kernel called", f.str());
  CHECK(named.status == 1);
  CHECK(has(named.err,
            "k.f90:21:5: note: `mpi_barrier`, which is called here, may be in the module "
            "`mpi`"));
  CHECK(tool("gen k.f90 --kernel good", f.str()).status == 0);
}

TEST_CASE("fortran outer: modules of other files that use a module without source") {
  const Folder f;
  f.write("low.f90",
          "module low\n  use hdf5\n  implicit none\n  integer(hid_t) :: file\n"
          "  integer, parameter :: kind_of = h5_kind\n  type :: handle\n    integer(hid_t) :: id\n"
          "  end type\n  type(handle) :: opened\n  integer :: count = 3\nend module\n");
  f.write("middle.f90",
          "module middle\n  use low\n  implicit none\n  type(handle) :: other\n"
          "  integer :: scale = 2\ncontains\n  subroutine read_it(x)\n    real(kind_of) :: x\n"
          "    x = opened%id\n  end subroutine\nend module\n");
  f.write("good.f90",
          "module good\n  use hdf5, only: unused\n  implicit none\n  integer :: count = 3\nend "
          "module\n");
  f.write(
      "k.f90",
      "subroutine s(n, a)\n  use good\n  implicit none\n  integer, intent(in) :: n\n"
      "  real, intent(inout) :: a(n)\n  a(1:count) = 2*a(1:count)\nend subroutine\n"
      "subroutine t(x)\n  use low\n  implicit none\n  real :: x\n  x = opened%id\nend subroutine\n"
      "subroutine u(x)\n  use middle, only: scale\n  implicit none\n  real :: x\n  x = scale\n"
      "end subroutine\n");
  const Outcome o = tool("show k.f90 --what imports", f.str());
  CHECK(o.out ==
        "s  k.f90:1:12  imported\n"
        "t  k.f90:8:12  left out\n"
        "  k.f90:9:7: `low.f90`, which has the module `low`, cannot be read\n"
        "u  k.f90:14:12  left out\n"
        "  k.f90:15:7: `middle.f90`, which has the module `middle`, cannot be read\n"
        "1 of 3 imported\n");
  CHECK(has(tool("gen k.f90 --kernel t", f.str()).err, "low.f90:4:"));
}

TEST_CASE("fortran outer: errors in one routine leave the others") {
  const Folder f;
  f.write("k.f90",
          "subroutine good(n, a)\n  integer :: n\n  real :: a(n)\n  a = 2*a\nend subroutine\n"
          "subroutine bad(n)\n  implicit none\n  integer :: n\n  n = m + 1\nend subroutine\n");
  const Outcome o = tool("gen k.f90", f.str());
  CHECK(o.status == 0);
  CHECK(has(o.out, "void good("));
  CHECK(has(o.err, "k.f90:9:7: warning: `bad` is left out: No explicit type declared for 'm'"));
  const Outcome named = tool("gen k.f90 --kernel bad", f.str());
  CHECK(named.status == 1);
  CHECK(has(named.err, "k.f90:9:7: error: No explicit type declared for 'm' [fortran]"));
  f.write("broken.f90", "module broken\n  integer :: = 3\nend module\n");
  f.write("user.f90", "subroutine s(n)\n  use broken\n  integer :: n\n  n = k\nend subroutine\n");
  const Outcome broken = tool("gen user.f90", f.str());
  CHECK(broken.status == 1);
  CHECK(has(broken.err, "user.f90:2:7: error: `broken.f90`, which has the module `broken`, cannot be read"));
  CHECK(has(broken.err, "broken.f90:2:"));
}

TEST_CASE("fortran outer: local arrays that are allocated, and what may not be") {
  const Folder f;
  const auto why = [&](const std::string& lines) {
    f.write("k.f90",
            "subroutine s(n, a)\n  implicit none\n  integer, intent(in) :: n\n"
            "  real(8), intent(inout) :: a(n)\n  real(8), allocatable :: b(:)\n  integer :: i\n" +
                lines + "end subroutine\n");
    const Outcome o = tool("gen k.f90", f.str());
    return o.err.substr(0, o.err.find('\n'));
  };
  CHECK(why("  allocate (b(0:n))\n  b = 1\n  do i = 1, n\n    a(i) = a(i) + b(i - 1)\n  end do\n"
            "  deallocate (b)\n") == "");
  CHECK(why("  allocate (b(n))\n  b = a\n") == "");  // which Fortran keeps
  CHECK(why("  allocate (b(n))\n  deallocate (b)\n  allocate (b(2*n))\n  b = 1\n") == "");
  CHECK(why("  b(1) = 1\n").find("the extents of `b` are not known") != std::string::npos);
  CHECK(why("  i = n\n  i = i + 1\n  allocate (b(i))\n  b = 1\n  a(1) = b(1)\n") ==
        "");  // the same
  CHECK(why("  allocate (b(n), source=a, stat=i)\n  a(1) = b(1) + i\n") == "");
  CHECK(why("  allocate (b, source=a)\n  a(1) = b(n)\n") == "");
  CHECK(why("  allocate (b, source=2*a)\n").find("`allocate` of `b` without a shape") !=
        std::string::npos);
}

TEST_CASE("fortran outer: several kernels in one file") {
  const Folder f;
  f.write("k.loop",
          "kernel one(n, a: out float64[n])\ndomain {[i]: 0 <= i < n}\na[i] = i // 3 + 1\n\n"
          "kernel two(n, b: out float64[n])\ndomain {[i]: 0 <= i < n}\nb[i] = i // 3 - 1\n");
  const Outcome both = tool("gen k.loop --kernel two --kernel one", f.str());
  REQUIRE_MESSAGE(both.status == 0, both.err);
  CHECK(both.out.find("void two(") < both.out.find("void one("));
  f.write("k.c", both.out);
  CHECK(shell("gcc -Wall -Werror -c k.c", f.str()).status == 0);
  CHECK(tool("run k.loop --kernel two --kernel one", f.str()).status == 1);
  CHECK(tool("gen k.loop --kernel two --kernel two", f.str()).err ==
        "error: --kernel names `two` twice [repeated-parameter]\n");
  CHECK(tool("check k.loop --kernel two --kernel one", f.str()).out == "one: legal\ntwo: legal\n");
  CHECK(has(tool("gen k.loop --kernel two --kernel three", f.str()).err,
            "`k.loop` has no kernel `three`; it has `one`, `two`"));
}

TEST_CASE("fortran outer: parts of records are the same for what accesses them by their names") {
  const Folder f;
  f.write("k.f90", R"(module state
  implicit none
  type part
    integer :: two = 2
    logical :: on = .false.
  end type
  type cell
    real(8) :: one
    type(part) :: inner
  end type
  type box
    integer :: n = 0
    type(cell) :: cells(-1:2, 2)
  end type
  type(box) :: all
  type(cell), private :: own(3) = cell(0.5d0, part())
contains
  subroutine stay(n, x)
    integer, intent(in) :: n
    real(8), intent(inout) :: x(n)
    integer :: i, j
    do j = 1, 2
      do i = -1, 2
        all%cells(i, j)%one = i + 4*j + x(1)
        all%cells(i, j)%inner%two = mod(i + j + 2, 3)
        all%cells(i, j)%inner%on = i > j
      end do
    end do
    write (*, *, iostat=j) all
    own%one = 2*own(3)%one + n
    write (*, *, iostat=j) own, sum(own%one)
    read (*, *) all%cells(0, 1), own(2)
    do i = 1, n
      x(i) = all%cells(0, 1)%one + own(2)%one + all%cells(0, 1)%inner%two
      if (all%cells(0, 1)%inner%on .and. .not. all%cells(0, 2)%inner%on) x(i) = x(i)/2
    end do
  end subroutine
end module
subroutine calls(n, x)
  use state
  implicit none
  integer, intent(in) :: n
  real(8), intent(inout) :: x(n)
  integer :: i
  external :: other
  do i = 1, n
    all%cells(2, 1)%one = x(i)
    all%cells(:, 2)%inner%two = all%cells(:, 1)%inner%two + i
    call other(x(i))
    x(i) = x(i) + all%cells(-1, 1)%one + all%cells(1, 2)%inner%two
  end do
end subroutine
)");
  f.write("other.f90", R"(subroutine other(t)
  use state
  implicit none
  real(8), intent(inout) :: t
  t = t/2 + all%cells(2, 1)%one + sum(all%cells%inner%two)
  all%cells(-1, 1)%one = all%cells(-1, 1)%one + t/4
  all%cells%inner%two = all%cells%inner%two + 1
end subroutine
)");
  f.write("main.f90", R"(program main
  use state
  implicit none
  real(8) :: x(3) = [0.25d0, 1d0, 2d0]
  open (5, file='data.txt')
  write (5, *) 1.5d0, 7, .true., 2.5d0, 9, .false.
  rewind (5)
  call stay(3, x)
  print *, x, all
  call calls(3, x)
  print *, x, all
end program
)");
  f.write("data.txt", "");
  same_program(f, {"stay", "calls"});
  CHECK(has(f.read("i.f90"), "all%cells%one = reshape(moonloop_copy(:size(all%cells%one)), "));
}

TEST_CASE("fortran outer: parts of a main program's records, and letters") {
  const Folder f;
  f.write("k.f90", R"(program main
  implicit none
  type cell
    integer(8) :: a
    real :: b
    character(3) :: name
  end type
  type(cell) :: cells(4)
  integer :: i
  cells = [(cell(i, i/4.0, 'abc'), i = 1, 4)]
  call work()
  print *, cells
contains
  subroutine work()
    integer :: j
    do j = 1, 4
      cells(j)%a = 2*cells(j)%a + 1
      cells(j)%b = cells(5 - j)%b + j
    end do
    write (*, *, iostat=j) cells
    read (cells(2)%name, '(a1)', iostat=j) cells(3)%name
    print *, cells(j + 1)%a
  end subroutine
  subroutine spell()
    integer :: j
    cells(2)%name(1:1) = 'x'
    write (*, *, iostat=j) cells
    cells(3)%name(2:2) = 'y'
  end subroutine
end program
)");
  same_program(f, {"work"});
  const Outcome refused = tool("gen k.f90 --kernel spell -o k.c", f.str());
  CHECK(refused.status == 1);
  CHECK_MESSAGE(has(refused.err, "`cells_name`, letters in elements of an array"), refused.err);
}
