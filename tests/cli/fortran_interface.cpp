// Generated code in the Fortran program that it goes back into.
#include "tests/cli/fortran_program.h"

using namespace moonloop::test;

TEST_CASE("fortran interface: a routine of a module is replaced within it") {
  const Folder f;
  f.write("k.f90",
          "module m\n  implicit none\n  private\n  public :: scale, doubled, limit\n"
          "  real(8), parameter :: limit = 20\ncontains\n"
          "  subroutine scale(x, f)\n    real(8), intent(inout) :: x(:)\n"
          "    real(8), intent(in) :: f\n    integer :: i\n    do i = 1, size(x)\n"
          "      x(i) = min(limit, f*x(i))\n    end do\n  end subroutine\n"
          "  real(8) function doubled(a)\n    real(8), intent(in) :: a\n    doubled = 2*a\n"
          "  end function\nend module\n");
  f.write("main.f90",
          "program p\n  use m, only: scale, doubled, limit\n  implicit none\n  real(8) :: x(10)\n"
          "  integer :: i\n  x = [(doubled(i*1d0), i = 1, 10)]\n  call scale(x(1:10:3), 3d0)\n"
          "  print '(f8.3)', x, limit\nend program\n");
  SUBCASE("a subroutine") { same_program(f, {"scale"}); }
  SUBCASE("a function") { same_program(f, {"doubled"}); }
}

TEST_CASE("fortran interface: the modules of a preprocessed file keep what decides about them") {
  const Folder f;
  f.write("scaled.h", "real(KIND) :: scaled, of\nscaled(of) = 3*of\n");
  f.write("k.F90", R"(#define LIMIT 20
#ifdef WIDE
#define KIND 8
#else
#define KIND 4
#endif
module m
  implicit none
#ifdef OTHER
  this is not Fortran
#endif
#if LIMIT > 10 && \
    LIMIT < 30
  real(KIND), parameter :: limit = LIMIT
#endif
contains
#ifdef WIDE
  subroutine scale(x)
    real(KIND), intent(inout) :: x(:)
    integer :: i
#include "scaled.h"
    do i = 1, size(x)
      x(i) = min(limit, scaled(x(i)))
    end do
  end subroutine
#endif
end module
)");
  f.write("main.f90",
          "program p\n  use m, only: scale\n  implicit none\n  real(8) :: x(10)\n  integer :: i\n"
          "  x = [(i*1d0, i = 1, 10)]\n  call scale(x)\n  print '(f8.3)', x\nend program\n");
  const Outcome refused = tool("gen k.F90 -D WIDE=1 -o k.c --fortran-interface i.f90", f.str());
  CHECK(refused.status == 1);
  CHECK_MESSAGE(refused.err.find("name it `i.F90`, and compile it with the same definitions "
                                 "[unsupported]") != std::string::npos,
                refused.err);
  CHECK(!f.has("k.c"));
  const Outcome made = tool("gen k.F90 -D WIDE=1 -o k.c --fortran-interface i.F90", f.str());
  REQUIRE_MESSAGE(made.status == 0, made.err);
  const Outcome built = shell(
      "mkdir -p b a && gfortran -DWIDE=1 -J b -o before k.F90 main.f90 && gcc -c k.c && gfortran "
      "-DWIDE=1 -J a -o after i.F90 main.f90 k.o",
      f.str());
  REQUIRE_MESSAGE(built.status == 0, built.err);
  const Outcome before = shell("./before", f.str()), after = shell("./after", f.str());
  CHECK(!before.out.empty());
  CHECK(before.out == after.out);
}

TEST_CASE("fortran interface: bounds are what they were when the routine was called") {
  const Folder f;
  SUBCASE("of arguments and of arrays of its own") {
    f.write("k.f90", R"(
subroutine s(n, m, x, y, z)
  implicit none
  integer, intent(in) :: n
  integer, intent(inout) :: m
  real, intent(inout) :: x(m), y(n, m)
  real, intent(out) :: z(n)
  real :: t(m, 2)
  m = m - n + 2
  t(:, 1) = 2*x
  t(:, 2) = -1
  x = t(:, 1) + 1
  x(2:) = x(2:) + size(x)
  y(:, ::2) = 3
  y = y*2
  z(1) = sum(t) + sum(x(:))
  m = 1
  z(2:) = ubound(y, 2)
end subroutine
)");
    f.write("main.f90", R"(program p
  implicit none
  integer :: m
  real :: x(10) = 1, y(4, 7) = 2, z(4)
  m = 7
  call s(4, m, x, y, z)
  print *, m, x, y, z
end program
)");
  }
  SUBCASE("of an array of a routine that is called before the argument is assigned") {
    f.write("k.f90", R"(
subroutine s(n, x)
  implicit none
  integer, intent(inout) :: n
  real, intent(inout) :: x(9)
  call inner(n, x)
  n = 2
  x(1) = x(1) + n
contains
  subroutine inner(m, x)
    integer, intent(inout) :: m
    real, intent(inout) :: x(*)
    real :: t(m)
    m = m - 1
    t = 5
    x(1:m+1) = x(1:m+1) + t(m+1:1:-1)
  end subroutine
end subroutine
)");
    f.write("main.f90", R"(program p
  implicit none
  integer :: n
  real :: x(9) = 1
  n = 6
  call s(n, x)
  print *, n, x
end program
)");
  }
  same_program(f);
}

TEST_CASE("fortran interface: routines of modules and main programs in fixed form") {
  const Folder f;
  const std::string text = R"(      module m
      implicit none
      real*8 w
      data w /0.5d0/
c a comment
      contains
C     another one
      subroutine s(n, a, b,
     &             c)
      integer n, i
      real*8 a(n), b(n)
      real*8, optional :: c(n)
* and one
      do 10 i = 1, n
         a(i) = w*a(i) + b(i)                                           ignored
         if (present(c)) a(i) =
     1     a(i) + c(i)
10    continue
      if (n .gt. 5) print *, 'a long text that is longer than one line o
     &f seventy-two columns', n
      end subroutine
      real*8 function f(x)
      real*8 x
      f = x*w
      end function
      end module
      subroutine alone(n, a)
      integer n
      real*8 a(n)
      a = a*2
      end
      program main
      use m
      implicit none
      real*8 a(6), b(6)
      a = 1
      b = 2
      call s(6, a, b)
      call s(5, a, b, a(2:6)*2)
      call alone(6, a)
      call inner(a)
      print *, a, f(2d0)
      contains
      subroutine inner(x)
      real*8 x(6)
      x = x + b
      end subroutine
      end
)";
  f.write("k.f", text);
  const std::string kernels = " --kernel s --kernel f --kernel alone --kernel inner";
  const Outcome refused =
      tool("gen k.f --quiet -o k.c --fortran-interface i.f90" + kernels, f.str());
  CHECK(refused.status == 1);
  CHECK(has(refused.err,
            "`s` is in the module `m` of a file in fixed form, which the interface has "
            "too; name it `i.f` [unsupported]"));
  CHECK(!f.has("k.c"));
  const Outcome made = tool("gen k.f --quiet -o k.c --fortran-interface i.f" + kernels, f.str());
  REQUIRE_MESSAGE(made.status == 0, made.err);
  REQUIRE(
      shell("gfortran -o before k.f && gcc -c k.c && gfortran -o after i.f k.o", f.str()).status ==
      0);
  const std::string before = shell("./before", f.str()).out;
  CHECK(has(before, "one line of seventy-two columns"));
  CHECK(shell("./after", f.str()).out == before);
  for (const char* columns : {"72", "132"}) {
    const std::string command = std::string("gfortran -ffixed-line-length-") + columns + " k.f -o ";
    std::string wide = text;
    f.write("k.f", wide.replace(wide.find("ignored"), 7, ""));
    const Outcome replaced = tool("fc" + kernels + " -- " + command + "after", f.str());
    REQUIRE_MESSAGE(replaced.status == 0, replaced.err);
    CHECK(has(replaced.err, "k.f: s, f, alone, inner"));
    REQUIRE(shell(command + "before", f.str()).status == 0);
    CHECK(shell("./after", f.str()).out == shell("./before", f.str()).out);
  }
}

TEST_CASE("fortran interface: logical arguments of every kind, arrays, and results") {
  const Folder f;
  f.write("k.f90",
          "module m\ncontains\nlogical function flip(flag, short, n, l, a)\n"
          "  logical, intent(in) :: flag\n  logical(1), intent(inout) :: short\n"
          "  integer, intent(in) :: n\n  logical(8), intent(inout) :: l(n)\n"
          "  real(8), intent(inout) :: a(n)\n  integer :: i\n  do i = 1, n\n"
          "    if (flag .neqv. l(i)) a(i) = 2*a(i)\n    l(i) = .not. l(i)\n  end do\n"
          "  short = .not. short\n  flip = a(1) > 2\nend function\nend module\n");
  f.write("main.f90",
          "program p\n  use m\n  real(8) :: a(3) = 1.5d0\n  logical(8) :: l(3)\n"
          "  logical(1) :: s = .true.\n  l = [.true., .false., .true.]\n"
          "  print *, flip(.true., s, 3, l, a), flip(.false., s, 3, l, a), s, l, a\n"
          "end program\n");
  same_program(f);
}

namespace {

constexpr char kTypes[] = R"(module types
  implicit none
  type :: grid
    integer :: n
    logical :: twice
    real(8) :: dx
  end type
  type :: run
    type(grid) :: g
    real(4) :: w(3)
    integer :: steps
  end type
  type :: point
    real(8) :: x, y
    integer :: hits
  end type
end module
)";
constexpr char kDerivedMain[] = R"(program main
  use types
  use advance
  implicit none
  type(run) :: r
  type(point) :: p(5), q(2, 4)
  real(8) :: a(5)
  integer :: i
  r = run(grid(5, .true., 0.25d0), [1.0, 2.0, 3.0], 7)
  p = [(point(i, 2*i, 0), i = 1, 5)]
  q = reshape([(point(3*i, i, i), i = 1, 8)], [2, 4])
  a = [(i*0.5d0, i = 1, 5)]
  call step(r, a, p, q(:, 1:4:2))
  print *, r, a
  print *, p
  print *, q
end program
)";

}  // namespace

TEST_CASE("fortran interface: arguments of derived types go by their components") {
  const Folder f;
  f.write("main.f90", kDerivedMain);
  const std::string step = R"(subroutine step(r, a, p, q)
    use types, only: run, point
    type(run), intent(inout) :: r
    real(8), intent(inout) :: a(r%g%n)
    type(point), intent(inout) :: p(0:r%g%n - 1)
    type(point), intent(in) :: q(:, :)
    integer :: i, j
    do i = 1, r%g%n
      if (r%g%twice) a(i) = 2*a(i) + r%g%dx*r%w(2)
      p(i - 1)%x = p(i - 1)%y + a(i)
      p(i - 1)%hits = p(i - 1)%hits + 1
    end do
    do j = 1, size(q, 2)
      do i = 1, size(q, 1)
        p(i)%y = p(i)%y + q(i, j)%x*q(i, j)%hits
      end do
    end do
    r%w(3) = r%w(1) + r%steps
    r%g%twice = .false.
    r%steps = r%steps + 1
  end subroutine
)";
  SUBCASE("of a module beside that of the types") {
    f.write("k.f90", kTypes + ("module advance\ncontains\n  " + step) + "end module\n");
    same_program(f, {"step"});
  }
  SUBCASE("of no module") {
    f.write("k.f90", kTypes + ("module advance\n interface\n" + std::string(R"(
  subroutine step(r, a, p, q)
    use types
    type(run), intent(inout) :: r
    real(8), intent(inout) :: a(*)
    type(point), intent(inout) :: p(*)
    type(point), intent(in) :: q(:, :)
  end subroutine
  end interface
end module
)")) + step);
    same_program(f, {"step"});
  }
}

TEST_CASE("fortran interface: types that no caller has, and copies of arrays of arrays") {
  const Folder f;
  f.write("k.f90", kTypes + std::string(R"(subroutine s(r, n)
  use types
  integer, intent(in) :: n
  type(run), intent(inout) :: r(n)
  r(1)%w(2) = r(2)%steps
end subroutine
)"));
  const Outcome nested = tool("gen k.f90 -o k.c --fortran-interface i.f90", f.str());
  CHECK_MESSAGE(nested.status == 0, nested.err);
  CHECK_MESSAGE(f.read("i.f90").find("forall (moonloop_i1 = 1:size(r, 1)) r_w_if_there(:, "
                                     "moonloop_i1) = r(") != std::string::npos,
                f.read("i.f90"));
  f.write("k.f90", R"(subroutine s(p)
  type :: own
    sequence
    integer :: n
  end type
  type(own) :: p
  p%n = p%n + 1
end subroutine
)");
  const Outcome own = tool("gen k.f90 -o k.c --fortran-interface i.f90", f.str());
  CHECK(own.status == 1);
  CHECK_MESSAGE(
      own.err.find("`p` is of a type that the routine itself declares") != std::string::npos,
      own.err);
}

TEST_CASE("fortran interface: pure, elemental and recursive routines, arguments by value") {
  const Folder f;
  const std::string module = R"(module m
  implicit none
  type :: pair
    integer :: n
    real(8) :: x
  end type
contains
  pure real(8) function area(r, w)
    real(8), intent(in) :: r, w(:)
    area = 3*r*r + sum(w)
  end function
  pure real(8) function volume(r, h)
    real(8), intent(in) :: r, h
    volume = area(r, [h, r])*h
  end function
  elemental subroutine twice(x, by)
    real(8), intent(inout) :: x
    integer, value :: by
    x = by*x
    by = 0
  end subroutine
  recursive integer function counted(k, p)
    integer, value :: k
    type(pair), value :: p
    counted = p%n
    do while (k > 0)
      k = k - 1
      counted = counted + k
    end do
    p%n = 0
  end function
end module
)";
  f.write("k.f90", module);
  f.write("main.f90", R"(program main
  use m
  implicit none
  real(8) :: a(4) = [1, 2, 3, 4]
  integer :: n = 3
  type(pair) :: p = pair(7, 0)
  call twice(a, n)
  print *, a, n, volume(2d0, 3d0), counted(n, p), counted(4, p), n, p
end program
)");
  for (const std::string kernel : {"area", "twice", "counted"}) {
    CAPTURE(kernel);
    same_program(f, {kernel});
  }
}

TEST_CASE("fortran interface: a number that is passed by value to a routine of no module") {
  const Folder f;
  f.write("k.f90",
          "subroutine count_down(n, a, k)\n  integer, intent(in) :: n\n"
          "  integer, intent(inout) :: a(n)\n  integer, value :: k\n  integer :: i\n"
          "  do i = 1, n\n    a(i) = k\n    k = k - 1\n  end do\nend subroutine\n");
  f.write("main.f90",
          "program main\n  interface\n    subroutine count_down(n, a, k)\n"
          "      integer, intent(in) :: n\n      integer, intent(inout) :: a(n)\n"
          "      integer, value :: k\n    end subroutine\n  end interface\n  integer :: a(4)\n"
          "  call count_down(4, a, 9)\n  print *, a\nend program\n");
  same_program(f);
}

TEST_CASE("fortran interface: lines that Fortran takes") {
  const Folder f;
  std::string names;
  for (int i = 10; i < 40; ++i) names += ", &\n    argument_" + std::to_string(i);
  f.write("k.f90", "subroutine initialise_all_that_there_is_of_it(n" + names +
                       ")\n  integer, intent(in) :: n\n  real(8), intent(inout) :: argument_10(n)\n"
                       "  argument_10 = argument_11\nend subroutine\n");
  const Outcome made = tool("gen k.f90 -o k.c --fortran-interface i.f90", f.str());
  REQUIRE_MESSAGE(made.status == 0, made.err);
  std::istringstream lines(f.read("i.f90"));
  for (std::string line; std::getline(lines, line);) CHECK_MESSAGE(line.size() <= 132, line);
  const Outcome built = shell("gfortran -Werror -c i.f90", f.str());
  CHECK_MESSAGE(built.status == 0, built.err);

  // Bounds of arrays are expressions of any length.
  f.write("b.f90",
          R"(subroutine bounds_of_many_names(first_of_rows, last_of_rows, depth_of_halo, values)
  integer, intent(in) :: first_of_rows, last_of_rows, depth_of_halo
  real(8), intent(inout) :: values(first_of_rows - depth_of_halo:last_of_rows + depth_of_halo, &
    first_of_rows - 2*depth_of_halo:last_of_rows + 2*depth_of_halo)
  values(first_of_rows, first_of_rows) = 1
end subroutine
)");
  const Outcome bounds = tool("gen b.f90 -o b.c --fortran-interface ib.f90", f.str());
  REQUIRE_MESSAGE(bounds.status == 0, bounds.err);
  std::istringstream all(f.read("ib.f90"));
  for (std::string line; std::getline(all, line);) CHECK_MESSAGE(line.size() <= 132, line);
  const Outcome compiled = shell("gfortran -Werror -c ib.f90", f.str());
  CHECK_MESSAGE(compiled.status == 0, compiled.err);
}

TEST_CASE("fortran interface: bounds that a call may change keep the value that they had") {
  const Folder f;
  f.write("k.f90",
          "subroutine s(n, lda, a)\n  integer :: n, lda\n  double precision :: a(lda, n)\n"
          "  integer :: i\n  call grow(n, a, lda)\n  do i = 1, min(n, 3)\n"
          "    a(i, i) = a(i, i)*lda\n  end do\nend subroutine\n");
  f.write("other.f90",
          "subroutine grow(n, a, lda)\n  integer :: n, lda\n  double precision :: a(*)\n"
          "  a(1) = a(1) + 1\n  n = n - 1\n  lda = lda + 2\nend subroutine\n");
  f.write("main.f90",
          "program p\n  double precision :: a(5, 4)\n  integer :: i, n, lda\n"
          "  a = reshape([(i*1d0, i = 1, 20)], [5, 4])\n  n = 4\n  lda = 5\n"
          "  call s(n, lda, a)\n  print *, n, lda, a\nend program\n");
  same_program(f);
}

TEST_CASE("fortran interface: functions of other files get texts and constants") {
  const Folder f;
  f.write("k.f90",
          "subroutine s(n, a, r)\n  integer, intent(in) :: n\n  integer :: a(n), textlen\n"
          "  double precision :: r(n), eps, level\n  external textlen, level\n  integer :: i\n"
          "  interface\n    subroutine dsub(x, n)\n      integer, intent(in) :: n\n"
          "      double precision :: x(n)\n    end subroutine\n  end interface\n"
          "  eps = level('Epsilon')\n  do i = 1, n\n    a(i) = textlen(a(i), 'E') + "
          "textlen(1, 'it''s')\n    r(i) = eps*level('') + level('E')\n  end do\n"
          "  call dsub(r, n)\nend subroutine\n");
  f.write("other.f90",
          "integer function textlen(m, c)\n  integer :: m\n  character(len=*) :: c\n"
          "  textlen = 1000*len(c) + ichar(c(1:1)) + m\nend function\n"
          "double precision function level(c)\n  character(len=*) :: c\n  level = 1 + len(c)\n"
          "end function\nsubroutine dsub(x, n)\n  integer, intent(in) :: n\n"
          "  double precision :: x(n)\n  x = 2*x\nend subroutine\n");
  f.write("main.f90",
          "program p\n  integer :: a(3) = 7\n  double precision :: r(3) = 0\n"
          "  call s(3, a, r)\n  print *, a, r\nend program\n");
  same_program(f);
}

TEST_CASE("fortran interface: what a call gives needs no value before it") {
  const Folder f;
  f.write("k.f90",
          "subroutine s(a, r)\n  real(8), intent(in) :: a\n  real(8), intent(out) :: r\n"
          "  real(8) :: low, high\n  call both(a, low, high)\n  r = low + 10*high\n"
          "end subroutine\n");
  f.write("other.f90",
          "subroutine both(a, low, high)\n  real(8) :: a, low, high\n  low = a - 1\n"
          "  high = a + 1\nend subroutine\n");
  f.write("main.f90", "program p\n  real(8) :: r\n  call s(3d0, r)\n  print *, r\nend program\n");
  same_program(f);
}

TEST_CASE("fortran interface: a routine named as its arguments are in C") {
  for (const char* name : {"a1", "b1"}) {
    const Folder f;
    f.write("k.f90", std::string("subroutine ") + name +
                         "(n, x)\n  implicit none\n  integer, intent(in) :: n\n"
                         "  real(8), intent(inout) :: x(n)\n  x = x + 1\nend subroutine\n");
    f.write("main.f90", std::string("program p\n  real(8) :: x(3)\n  x = [1, 2, 3]\n  call ") +
                            name + "(3, x)\n  print *, x\nend program\n");
    same_program(f);
  }
}

// As LAPACK has them: letters that are passed on, changed and put together, jumps, recursion, and
// logical arrays of the routine's own.
TEST_CASE("fortran interface: letters, jumps, recursion and logical arrays, in fixed form") {
  const Folder f;
  f.write("k.f90", R"(
recursive subroutine halves(uplo, mode, n, x, info)
  implicit none
  character, intent(in) :: uplo
  character :: mode, kept
  integer :: n, info, i, tries, chosen
  real(8) :: x(n)
  logical :: small(3)
  logical, external :: lsame, any_small
  integer, external :: width
  external :: mark, note
  info = 0
  kept = 'N'
  if (lsame(uplo, 'U')) kept = uplo
  if (.not. lsame('Lower', uplo) .and. kept == 'N') info = -1
  if (info /= 0) then
    call note('HALVES', -info)
    return
  end if
  if (n <= 2) goto 90
  tries = 0
  i = 1
10 continue
  tries = tries + 1
  x(i) = 0.5d0*x(i)
  if (abs(x(i)) > 1d0 .and. tries < 50) goto 10
  i = i + 1
  if (i <= n) then
    tries = 0
    goto 10
  end if
  call mark(mode, n, small, 3)
  chosen = width(1, 'HALVES', uplo // 'x' // mode, n)
  goto (20, 30, 40), chosen
  info = chosen
  goto 50
20 x(1) = x(1) + 100
30 x(1) = x(1) + 20
40 x(1) = x(1) + 3
50 if (any_small(small, 3)) x(n) = -x(n)
  call halves(uplo, mode, n/2, x, info)
90 continue
  if (mode == 'Q') x(1) = x(1) + 1000
end subroutine
)");
  f.write("other.f90", R"(
logical function lsame(a, b)
  character :: a, b
  character(52), parameter :: letters = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ'
  lsame = mod(index(letters, a) - 1, 26) == mod(index(letters, b) - 1, 26)
end function
logical function any_small(l, n)
  integer :: n
  logical :: l(n)
  any_small = any(l)
end function
integer function width(i, name, options, n)
  integer :: i, n
  character(*) :: name, options
  width = mod(i + len(name) + n + merge(1, 0, options == 'Lxb') + len(options), 5)
end function
subroutine mark(mode, n, l, m)
  character(*) :: mode
  integer :: n, m
  logical :: l(m)
  l = .false.
  l(m) = mod(n, 3) == 0
  mode = merge('Q', char(ichar(mode) + 1), n == 5)
end subroutine
subroutine note(name, i)
  character(*) :: name
  integer :: i
  print *, name, i
end subroutine
)");
  f.write("main.f90", R"(
program p
  implicit none
  real(8) :: x(40)
  integer :: n, i, info
  character :: mode
  do n = 0, 40
    x = [(1d0*i*i, i = 1, 40)]
    mode = 'a'
    call halves(merge('u', 'L', mod(n, 2) == 0), mode, n, x, info)
    print *, n, mode, info, x(:3), sum(x)
  end do
  call halves('X', mode, n, x, info)
  print *, info
end program
)");
  same_program(f, {"halves"});
}

TEST_CASE("fortran interface: generic names and pointers to procedures see ranks and intents") {
  const Folder f;
  f.write("k.f90", R"(module m
  implicit none
  interface fill
    module procedure fill_line, fill_plane
  end interface
  abstract interface
    subroutine change(n, first, a)
      integer :: n, first
      real(8) :: a(first - 1:n, 2*n)
    end subroutine
  end interface
contains
  subroutine fill_line(n, a)
    integer, intent(in) :: n
    real(8), intent(out) :: a(*)
    integer :: i
    do i = 1, n
      a(i) = i
    end do
  end subroutine
  subroutine fill_plane(n, a)
    integer, intent(in) :: n
    real(8), intent(out) :: a(n, *)
    integer :: i
    do i = 1, n
      a(i, 2) = 10*i
    end do
  end subroutine
  subroutine twice(n, first, a)
    integer :: n, first, i
    real(8) :: a(first - 1:n, 2*n)
    do i = first, n
      a(i, 2) = 2*a(i, 2) + first
    end do
  end subroutine
end module
)");
  f.write("main.f90", R"(program p
  use m
  implicit none
  real(8) :: line(6), plane(3, 4)
  procedure(change), pointer :: q
  line = 0; plane = 0
  call fill(6, line)
  call fill(3, plane)
  q => twice
  call q(2, 1, plane)
  print *, line, plane
end program
)");
  for (const char* kernel : {"fill_line", "fill_plane", "twice"}) same_program(f, {kernel});
}

TEST_CASE("cli: C finds a routine that is bound to a name of C where the interface replaces it") {
  const Folder f;
  f.write("k.f90", R"(subroutine axpy(n, a, x, y) bind(c, name="Axpy_of")
  use iso_c_binding
  integer(c_int), value :: n
  real(c_double), value :: a
  real(c_double), intent(in) :: x(n)
  real(c_double), intent(inout) :: y(n)
  integer :: i
  do i = 1, n
    y(i) = y(i) + a*x(i)
  end do
end subroutine
real(c_double) function total(n, x) bind(c)
  use iso_c_binding
  integer(c_int), value :: n
  real(c_double), intent(in) :: x(n)
  integer :: i
  total = 0
  do i = 1, n
    total = total + x(i)
  end do
end function
)");
  f.write("main.c", R"(#include <stdio.h>
void Axpy_of(int n, double a, const double *x, double *y);
double total(int n, const double *x);
int main(void) {
  double x[3] = {1, 2, 3}, y[3] = {1, 1, 1};
  Axpy_of(3, 2, x, y);
  printf("%g %g %g\n", y[1], y[2], total(3, y));
}
)");
  for (const std::string target : {"c", "openmp"}) {
    CAPTURE(target);
    const Outcome made = tool(
        "gen k.f90 --kernel axpy --kernel total -o k.c --fortran-interface "
        "i.f90 --target " +
            target,
        f.str());
    REQUIRE_MESSAGE(made.status == 0, made.err);
    const Outcome ran = shell(
        "gcc -fopenmp -c k.c && gfortran -c i.f90 && gcc -c main.c && "
        "gfortran -fopenmp main.o i.o k.o -o program && ./program",
        f.str());
    REQUIRE_MESSAGE(ran.status == 0, ran.err);
    CHECK(ran.out == "5 7 15\n");
  }
}

TEST_CASE("fortran interface: names of 63 characters, the most that Fortran has") {
  const Folder f;
  const std::string routine = "routine" + std::string(55, 'r') + "1",
                    x = "array" + std::string(57, 'a') + "x",
                    y = "array" + std::string(57, 'a') + "y";
  f.write("k.f90", "module m\ncontains\nsubroutine " + routine + "(&\n  " + x + ", &\n  " + y +
                       ")\n  real(8), intent(inout) :: " + x + "(:)\n  real(8), intent(in) :: " +
                       y + "(:)\n  integer :: i\n  do i = 1, size(" + x + ")\n    " + x +
                       "(i) = &\n      2*" + y + "(i)\n  end do\n  print *, " + x +
                       "(2)\n  if (size(" + y + ") < 1) stop 3\nend subroutine\nend module\n");
  f.write("main.f90", "program p\n  use m\n  real(8) :: x(4), y(4) = 3\n  call " + routine +
                          "(x(::2), y(:3))\n  print *, x(1), x(3)\n  call " + routine +
                          "(x(:2), y(:2))\nend program\n");
  same_program(f, {routine});
}
