// What `moonloop fc` gives the linker, and calls of what only compilers know.
#include "tests/cli/fortran_program.h"

using namespace moonloop::test;

namespace {

/// A module whose routines have the same names as those of all others of this kind: statements
/// that stay Fortran, one that ends the program, texts, a record and an extent in the interface.
std::string module_of(const std::string& name, int factor) {
  std::string out = R"(module @
  implicit none
  private
  public :: init, record, spread, show
  type record
    real(8), allocatable :: part(:)
    integer :: n = 0
  end type
  integer :: calls = 0
contains
  subroutine init(n, x, r)
    integer, intent(in) :: n
    real(8), intent(inout) :: x(n)
    type(record), intent(inout) :: r
    x = #*x + 1
    calls = calls + 1
    if (n > 100) stop 'too many'
    write (*, *) '@', x(1), calls
    if (allocated(r%part)) deallocate (r%part)
    allocate (r%part(n))
    r%part = x
    r%n = n
    call show('@')
  end subroutine
  subroutine show(text)
    character(*), intent(in) :: text
    write (*, '(a, i3)') text // '!', calls
  end subroutine
  function spread(n, x) result(y)
    integer, intent(in) :: n
    real(8), intent(in) :: x(n)
    real(8) :: y(n + #)
    y = #
    y(:n) = x
  end function
end module
)";
  for (std::size_t at = out.find('@'); at != out.npos; at = out.find('@')) out.replace(at, 1, name);
  for (std::size_t at = out.find('#'); at != out.npos; at = out.find('#'))
    out.replace(at, 1, std::to_string(factor));
  return out;
}

constexpr const char* kMain = R"(program main
  use one, only: init, one_record => record, spread
  use two, only: init2 => init, two_record => record, spread2 => spread
  implicit none
  type(one_record) :: r
  type(two_record) :: s
  real(8) :: x(3) = 1
  call init(3, x, r)
  call init2(3, x, s)
  call init(3, x, r)
  print *, x, r%n, s%n, r%part, s%part
  print *, spread(3, x)
  print *, spread2(3, x)
end program
)";

/// The names that an object has for other ones.
std::string labels(const Folder& f, const std::string& object) {
  return shell("nm -g --defined-only " + object + " | cut -d' ' -f3 | sort", f.str()).out;
}

}  // namespace

TEST_CASE(
    "fortran linked: routines of one name in two modules, whose objects have gfortran's names") {
  const Folder f;
  f.write("one.f90", module_of("one", 2));
  f.write("two.f90", module_of("two", 3));
  f.write("main.f90", kMain);
  REQUIRE(
      shell("mkdir b && gfortran -O1 -J b -c one.f90 -o b/one.o && gfortran -O1 -J b -c two.f90 "
            "-o b/two.o && gfortran -J b main.f90 b/one.o b/two.o -o before",
            f.str())
          .status == 0);
  const std::string which =
      "fc --quiet --kernel init --kernel spread --kernel show -- gfortran -O1 ";
  for (const char* file : {"one", "two"}) {
    const Outcome made = tool(which + "-c " + file + ".f90", f.str());
    REQUIRE_MESSAGE(made.status == 0, made.err);
    CHECK(labels(f, file + std::string(".o")) == labels(f, "b/" + std::string(file) + ".o"));
  }
  const Outcome linked = shell("gfortran main.f90 one.o two.o -o after", f.str());
  REQUIRE_MESSAGE(linked.status == 0, linked.err);
  const std::string before = shell("./before", f.str()).out;
  CHECK(has(before, "two!"));
  CHECK(shell("./after", f.str()).out == before);
  const Outcome together = tool(which + "one.f90 two.f90 main.f90 -o together", f.str());
  REQUIRE_MESSAGE(together.status == 0, together.err);
  CHECK(shell("./together", f.str()).out == before);
}

TEST_CASE("fortran linked: long lines of C end in no text") {
  const Folder f;
  f.write("k.f90", R"(subroutine k(n, x)
  implicit none
  integer, intent(in) :: n
  real(8), intent(inout) :: x(n)
  integer :: i
  external :: told
  do i = 1, n
    x(i) = x(i) + 1
    if (x(i) > 2) then
      if (n > 1) call told(n, x(i), &
        '_k: a "text" = with, many + signs ( and : more * * **** of them; don''t', i)
    end if
  end do
  call told(n, x(1), '**** Start - of / a = major + iteration : number **** and <of> more', n)
end subroutine
)");
  f.write("main.f90", R"(program main
  implicit none
  real(8) :: x(3) = [1d0, 2d0, 3d0]
  call k(3, x)
  print *, x
end program
subroutine told(n, x, text, i)
  implicit none
  integer :: n, i
  real(8) :: x
  character(*) :: text
  print *, n, x, len(text), text, i
end subroutine
)");
  same_program(f);
}

TEST_CASE("fortran linked: functions and subroutines that gfortran has besides the standard's") {
  const Folder f;
  f.write("k.f90", R"(module m
  implicit none
contains
  subroutine k(n, x, s)
    integer, intent(in) :: n
    real(8), intent(inout) :: x(n)
    character(20), intent(inout) :: s
    integer :: i, when(3), iargc
    complex(8) :: zexp
    real(8) :: dbesj0
    do i = 1, n
      x(i) = 2*x(i) + dbesj0(x(i))
    end do
    call getarg(0, s)
    call itime(when)
    if (iargc() > 0) x(1) = 0
    if (all(when >= 0)) x(2) = x(2) + real(zexp((1d0, 2d0)))
    do i = 2, n
      x(i) = x(i) + x(i - 1)
    end do
  end subroutine
end module
)");
  f.write("main.f90", R"(program main
  use m
  implicit none
  real(8) :: x(4) = [1d0, 2d0, 3d0, 4d0]
  character(20) :: s = ''
  call k(4, x, s)
  print *, x, len_trim(s) > 2
end program
)");
  same_program(f);
  f.write("own.f90", R"(subroutine own(n, x)
  implicit none
  integer, intent(in) :: n
  real(8), intent(inout) :: x(n)
  external :: itime
  real(8), external :: zexp
  integer :: i
  call itime(n, x)
  do i = 1, n
    x(i) = zexp(x(i))
  end do
end subroutine
)");
  const Outcome own = tool("gen own.f90", f.str());
  CHECK(has(own.out, "itime_("));  // it is the program's own
  CHECK(has(own.out, "zexp_("));
}

TEST_CASE("fortran linked: modules in files whose form the options say") {
  const Folder f;
  f.write("c.F", R"(module constants
  implicit none
  integer, parameter :: wp = 8, &
                        most = 3
end module
)");
  f.write("k.F", R"(subroutine k(n, x)
  use constants
  implicit none
  integer, intent(in) :: n
  real(wp), intent(inout) :: x(n)
  x = most*x
end subroutine
)");
  CHECK(has(tool("gen k.F -ffree-form", f.str()).out, "double *restrict x"));
  f.write("d.f90", "module other\n  integer, parameter :: more = &\n    2\nend module\n");
  f.write("l.f", R"(      subroutine l(n, x)
      use other
      integer n
      real x(n)
      x = x +
     &    more
      end
)");
  CHECK(has(tool("gen l.f -ffixed-form", f.str()).out, "float *restrict x"));
}

TEST_CASE("fortran linked: what depends on a declaration with an error is left out") {
  const Folder f;
  f.write("k.f90", R"(module k
  use elsewhere
  implicit none
  type counts
    integer(kind=long) :: n
    real(8) :: x(3)
  end type
  type(counts) :: c
  integer(long) :: m = 3, &
                   m2 = 4
  real(8) :: y(4)
  real(wp), parameter :: half = 0.5, quarter = half*half
contains
  subroutine of_kind()
    m2 = m2 + 1
  end subroutine
  subroutine of_component()
    c%n = 0
  end subroutine
  subroutine of_others()
    c%x = 0
    y = 1
  end subroutine
  subroutine of_constant(x)
    real(8), intent(out) :: x
    x = quarter
  end subroutine
  subroutine own(x)
    integer(long), intent(out) :: x
    x = 3
  end subroutine
  subroutine of_procedure(n)
    integer, intent(out) :: n
    call own(n)
  end subroutine
end module
)");
  const std::string all = tool("show k.f90 --what imports", f.str()).out;
  INFO(all);
  CHECK(has(all, "1 of 6 imported"));
  const std::pair<const char*, const char*> wrong[] = {{"of_kind", "m2"},
                                                       {"of_component", "c%n"},
                                                       {"of_constant", "quarter"},
                                                       {"of_procedure", "own"}};
  for (const auto& [kernel, name] : wrong) {
    const Outcome refused = tool("gen k.f90 --kernel " + std::string(kernel), f.str());
    CHECK(has(refused.err, "the declaration of `" + std::string(name) + "` has an error"));
    CHECK(has(refused.err, "the source of the module `elsewhere` is not found"));
  }
  CHECK(tool("gen k.f90 --kernel of_others --quiet", f.str()).status == 0);
}

TEST_CASE("fortran linked: an error in a main program concerns what uses it") {
  const Folder f;
  f.write("k.f90", R"(subroutine k(n, x)
  implicit none
  integer, intent(in) :: n
  real(8), intent(inout) :: x(n)
  x = 2*x
end subroutine
program main
  implicit none
  real(8) :: x(3) = 1
  integer(unknown) :: i
!$ integer :: thread
!$omp parallel private(thread)
!$ thread = 1
!$omp end parallel
  call k(3, x)
  call inner()
  call other()
contains
  subroutine inner()
    i = i + 1
  end subroutine
  subroutine other()
    x = x + 1
  end subroutine
end program
)");
  const std::string all = tool("show k.f90 --what imports", f.str()).out;
  INFO(all);
  CHECK(has(all, "2 of 4 imported"));
  CHECK(has(all, "thread"));
  CHECK(has(all, "the declaration of `i` has an error"));
  CHECK(has(tool("gen k.f90 --kernel k", f.str()).out, "x[e] *= 2.0;"));
}

TEST_CASE(
    "fortran linked: operators and assignments of the program in statements that stay Fortran") {
  const Folder f;
  f.write("vectors.f90", R"(module vectors
  implicit none
  private
  public :: vector, operator(+), operator(.dot.), operator(==), operator(-), assignment(=)
  type vector
    real(8), allocatable :: x(:)
  end type
  interface operator(+)
    module procedure add
  end interface
  interface operator(-)
    module procedure minus
  end interface
  interface operator(.dot.)
    module procedure dot
  end interface
  interface operator(==)
    module procedure same
  end interface
  interface assignment(=)
    module procedure from_number
  end interface
contains
  function add(a, b) result(c)
    type(vector), intent(in) :: a, b
    type(vector) :: c
    c%x = a%x + b%x
  end function
  function minus(a) result(c)
    type(vector), intent(in) :: a
    type(vector) :: c
    c%x = -a%x
  end function
  function dot(a, b) result(c)
    type(vector), intent(in) :: a, b
    real(8) :: c
    c = dot_product(a%x, b%x)
  end function
  logical function same(a, b)
    type(vector), intent(in) :: a, b
    same = all(a%x == b%x)
  end function
  subroutine from_number(a, b)
    type(vector), intent(out) :: a
    real(8), intent(in) :: b
    allocate (a%x(3), source=b)
  end subroutine
end module
)");
  f.write("k.f90", R"(module user
  use vectors
  implicit none
contains
  subroutine k(n, y)
    integer, intent(in) :: n
    real(8), intent(inout) :: y(n)
    type(vector) :: a, b, c
    integer :: i
    a = 2d0
    allocate (b%x(3))
    b%x = y(:3)
    c = -a + b
    y(1) = c .dot. a
    do i = 2, n
      y(i) = y(i) + y(i - 1)
    end do
    if (a == b) y(2) = 0
    if (c .eq. a + b) y(3) = 1
    if (c .eq. -a + b) y(4) = y(4) + 1
  end subroutine
end module
)");
  f.write("main.f90", R"(program main
  use user
  implicit none
  real(8) :: y(5) = [1d0, 2d0, 3d0, 4d0, 5d0]
  call k(5, y)
  print *, y
end program
)");
  const Outcome before =
      shell("mkdir b && gfortran -J b vectors.f90 k.f90 main.f90 -o before && ./before", f.str());
  REQUIRE(before.status == 0);
  const Outcome made =
      tool("fc --quiet --kernel k -- gfortran vectors.f90 k.f90 main.f90 -o after", f.str());
  REQUIRE_MESSAGE(made.status == 0, made.err);
  CHECK(shell("./after", f.str()).out == before.out);
}

TEST_CASE("fortran linked: calls by the type of an argument, and types without components") {
  const Folder f;
  f.write("k.f90", R"(module solvers
  implicit none
  type, abstract :: solver
  contains
    procedure(value_of), deferred :: value
    procedure :: again
    procedure :: newton
  end type
  type, abstract, extends(solver) :: counting
    integer :: calls = 0
  end type
  abstract interface
    subroutine value_of(me, x, f, slope)
      import :: solver
      class(solver), intent(inout) :: me
      real(8), intent(in) :: x
      real(8), intent(out) :: f, slope
    end subroutine
  end interface
contains
  subroutine newton(me, n, x)
    class(solver), intent(inout) :: me
    integer, intent(in) :: n
    real(8), intent(inout) :: x(n)
    real(8) :: f, slope
    integer :: i, step
    do i = 1, n
      do step = 1, 5
        call me%value(x(i), f, slope)
        if (abs(f) < 1d-3) exit
        x(i) = x(i) - f/slope
      end do
    end do
    do i = 2, n
      x(i) = x(i) + 0.5d0*x(i - 1)
    end do
    if (n > 1) call me%again(n - 1, x)
  end subroutine
  subroutine again(me, n, x)
    class(solver), intent(inout) :: me
    integer, intent(in) :: n
    real(8), intent(inout) :: x(n)
    if (n > 2) call me%newton(n, x)
    x(1) = x(1) + n
  end subroutine
  subroutine unused(me, n, x, also)
    class(solver), intent(in) :: me
    integer, intent(in) :: n
    real(8), intent(inout) :: x(n)
    class(solver), intent(in), optional :: also
    x = 2*x
  end subroutine
  subroutine plain(me, n, x)
    class(solver), intent(in) :: me
    integer, intent(in) :: n
    real(8), intent(inout) :: x(n)
    x = 2*x + n
  end subroutine
end module
)");
  f.write("main.f90", R"(module roots
  use solvers
  implicit none
  type, extends(counting) :: root
    real(8) :: of
  contains
    procedure :: value
    procedure :: again => again_counting
  end type
contains
  subroutine value(me, x, f, slope)
    class(root), intent(inout) :: me
    real(8), intent(in) :: x
    real(8), intent(out) :: f, slope
    f = x*x - me%of
    slope = 2*x
    me%calls = me%calls + 1
  end subroutine
  subroutine again_counting(me, n, x)
    class(root), intent(inout) :: me
    integer, intent(in) :: n
    real(8), intent(inout) :: x(n)
    me%of = me%of + 1
    call me%counting%solver%again(n, x)
  end subroutine
end module
program main
  use roots
  implicit none
  type(root) :: r
  real(8) :: x(4) = [1d0, 2d0, 3d0, 4d0]
  r%of = 2
  call r%newton(4, x)
  print *, x, r%calls, r%of
  call plain(r, 4, x)
  print *, x
end program
)");
  std::string main = f.read("main.f90");
  const std::string parent = "    call me%counting%solver%again(n, x)\n";
  main.replace(main.find(parent), parent.size(), "    x(1) = x(1) + 2*n\n");
  f.write("main.f90", main);
  same_program(f, {"newton", "again", "plain"});
  const Outcome refused = tool("gen k.f90 --kernel unused", f.str());
  CHECK(has(refused.err, "`also` of a type without components"));
}

TEST_CASE("fortran linked: functions without `result` that give what Fortran keeps") {
  const Folder f;
  f.write("k.f90", R"(module k
  implicit none
  type, abstract :: item
  end type
  type, extends(item) :: number
    integer :: i = 0
  end type
contains
  function make(i)
    integer, intent(in) :: i
    type(number) :: make
    make%i = 2*i
  end function
  function text_of(n) result(text)
    integer, intent(in) :: n
    character(:), allocatable :: text
    text = line(n) // '!'
  end function
  function line(line_value)
    integer, intent(in) :: line_value
    character(:), allocatable :: line
    integer :: i
    line = ''
    do i = 1, line_value
      line = line // achar(64 + i)
    end do
  end function
end module
)");
  f.write("main.f90", R"(program main
  use k
  implicit none
  type(number) :: n
  n = make(4)
  print *, n%i, text_of(5), line(3)
end program
)");
  same_program(f, {"make", "text_of", "line"});
}

TEST_CASE("fortran linked: arguments of types that the main program around declares") {
  const Folder f;
  f.write("k.f90", R"(program main
  implicit none
  type particle
    real(8) :: x, v
    integer :: kind = 3
  end type
  type(particle) :: all(5)
  type(particle), allocatable :: more(:)
  integer :: i
  do i = 1, 5
    all(i) = particle(i, 0.5d0*i)
  end do
  allocate (more(3))
  call move(5, all, 0.25d0)
  call fill(more, all(2))
  print *, all%x, all%v, all%kind
  print *, more%x, more%v, more%kind
contains
  subroutine move(n, p, dt)
    integer, intent(in) :: n
    type(particle), intent(inout) :: p(n)
    real(8), intent(in) :: dt
    integer :: i
    do i = 1, n
      p(i)%x = p(i)%x + dt*p(i)%v
      p(i)%kind = p(i)%kind + i
    end do
  end subroutine
  subroutine fill(p, from)
    type(particle), intent(inout) :: p(:)
    type(particle), intent(in) :: from
    integer :: i
    do i = 1, size(p)
      p(i)%x = from%x*i
      p(i)%v = from%v
    end do
  end subroutine
end program
)");
  same_program(f, {"move", "fill"});
}

TEST_CASE("fortran linked: interfaces' modules are in no one's way") {
  const Folder f;
  f.write("a.f90", R"(module a
  integer, parameter :: k = 3
contains
  subroutine av(n, x)
    integer, intent(in) :: n
    real(8), intent(inout) :: x(n)
    x = 2*x
  end subroutine
end module
)");
  f.write("b.f", R"(      subroutine av(n, x)
      use a, only: k
      integer n
      real*8 x(n)
      x = k*x
      end
)");
  f.write("main.f90", R"(program main
  use a, only: first => av
  real(8) :: x(3) = 1
  call first(3, x)
  call av(3, x)
  print *, x
end program
)");
  REQUIRE(shell("mkdir own", f.str()).status == 0);
  for (const char* folder : {".", "own"}) {
    const std::string to = folder == std::string(".") ? "" : " -J own";
    for (const char* file : {"a.f90", "b.f"}) {
      const Outcome made =
          tool("fc --quiet --kernel av -- gfortran -c " + std::string(file) + to, f.str());
      REQUIRE_MESSAGE(made.status == 0, made.err);
    }
    CHECK(f.has(std::string(folder) + "/a.mod"));
    CHECK(!f.has(std::string(folder) + "/av_moonloop.mod"));
    const Outcome run = shell("gfortran main.f90 a.o b.o" + to + " -o run && ./run", f.str());
    CHECK(has(run.out, "6.0000"));
  }
}

TEST_CASE("fortran linked: arguments that have the names of functions that interfaces call") {
  const Folder f;
  f.write("k.f90", R"(subroutine k(string, pos, len, merge, present, transfer)
  implicit none
  character(*), intent(inout) :: string
  integer, intent(in) :: pos, len
  logical, intent(in) :: merge
  integer, intent(in), optional :: present(:)
  integer, intent(inout) :: transfer
  integer :: i
  do i = pos, len
    if (iachar(string(i:i)) >= 65) string(i:i) = achar(iachar(string(i:i)) + 1)
  end do
  if (merge) transfer = transfer + 1
end subroutine
)");
  f.write("main.f90", R"(program main
  implicit none
  interface
    subroutine k(string, pos, len, merge, present, transfer)
      character(*), intent(inout) :: string
      integer, intent(in) :: pos, len
      logical, intent(in) :: merge
      integer, intent(in), optional :: present(:)
      integer, intent(inout) :: transfer
    end subroutine
  end interface
  character(6) :: text = 'ABCDEF'
  integer :: n = 3
  call k(text, 2, 4, .true., transfer=n)
  print *, text, n
end program
)");
  f.write("main.f90", [&] {
    std::string text = f.read("main.f90");
    text.replace(text.find("transfer=n"), 10, "[1, 2], n");
    return text;
  }());
  same_program(f);
}
