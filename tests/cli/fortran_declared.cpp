// What others know of a replaced routine: its declared intents, and the variables of modules that
// only procedures there may name or change.
#include <fmt/format.h>

#include "tests/cli/fortran_program.h"

using namespace moonloop::test;

TEST_CASE(
    "fortran programs: replaced procedures keep their intents, which procedures that get "
    "them, and assignments, check") {
  const Folder f;
  f.write("k.f90", R"(module m
  implicit none
  type date
    integer :: y = 1970, d = 1
  end type
  interface assignment(=)
    module procedure from_number
  end interface
  abstract interface
    subroutine slope(t, y, dy, seen)
      real(8), intent(in) :: t, y(:)
      real(8), intent(out) :: dy(:)
      integer, intent(inout) :: seen
    end subroutine
  end interface
contains
  subroutine from_number(a, n)
    type(date), intent(out) :: a
    integer, intent(in) :: n
    a%y = n/1000
    if (mod(n, 1000) > 0) a%d = mod(n, 1000)
  end subroutine
  subroutine decay(t, y, dy, seen)
    real(8), intent(in) :: t, y(:)
    real(8), intent(out) :: dy(:)
    integer, intent(inout) :: seen
    dy = -y*t
    dy(1) = dy(1) + seen
  end subroutine
  subroutine euler(f, y, n)
    procedure(slope) :: f
    real(8), intent(inout) :: y(:)
    integer, intent(in) :: n
    real(8) :: dy(size(y))
    integer :: k, seen
    seen = 2
    do k = 1, n
      call f(0.5d0*k, y, dy, seen)
      y = y + 0.1d0*dy
    end do
  end subroutine
end module
)");
  f.write("main.f90", R"(program main
  use m
  implicit none
  type(date) :: a
  real(8) :: y(3)
  a = 2024060
  print *, a%y, a%d
  a = 1999000
  print *, a%y, a%d
  y = [1, 2, 3]
  call euler(decay, y, 4)
  print '(3f12.8)', y
end program
)");
  same_program(f, {"from_number", "decay"});
  same_program(f, {"euler"});
}

TEST_CASE(
    "fortran programs: a procedure with private variables, or one that changes protected "
    "ones, stays a call outside of its module") {
  const Folder f;
  f.write("k.f90", R"(module clock
  implicit none
  real(8), protected :: now = 0
  integer, protected :: limit = 3
  integer, private :: ticks = 0
contains
  subroutine tick(dt)
    real(8), intent(in) :: dt
    now = now + dt
  end subroutine
  integer function count_of(k)
    integer, intent(in) :: k
    ticks = ticks + k
    count_of = ticks
  end function
  logical function is_late(x)
    real(8), intent(in) :: x
    is_late = x > limit
  end function
end module
module driver
  use clock
  implicit none
contains
  subroutine run(n, x)
    integer, intent(in) :: n
    real(8), intent(inout) :: x(n)
    integer :: i
    do i = 1, n
      call tick(0.25d0)
      x(i) = x(i) + now
      if (is_late(x(i))) x(i) = x(i) - 3 + count_of(i)
    end do
  end subroutine
end module
)");
  f.write("main.f90", R"(program main
  use driver
  implicit none
  real(8) :: x(6)
  integer :: k
  x = [(k - 1, k = 1, 6)]
  call run(6, x)
  call run(3, x)
  print '(6f9.3, i4)', x, count_of(0)
end program
)");
  const Outcome made = tool("gen k.f90 --kernel run -o k.c --fortran-interface i.f90", f.str());
  CHECK(made.status == 0);
  CHECK(made.err.find("the call of `tick`, which has the protected variable `now` of the module "
                      "`clock`, is not supported outside of that module") != std::string::npos);
  CHECK(made.err.find("the call of `count_of`, which has the private variable `ticks` of the "
                      "module `clock`, is not supported outside of that module") !=
        std::string::npos);
  CHECK(made.err.find("`clock::is_late`") == std::string::npos);
  same_program(f, {"run"});
  same_program(f, {"run", "tick", "count_of"});
}

TEST_CASE("fortran programs: constants of derived types are tables, one for each component") {
  const Folder f;
  f.write("k.f90", R"(module m
  implicit none
  type site
    real(8) :: at(2) = 0
  end type
  type species
    integer :: kind = 3, to(2) = 0
    character(4) :: name = '?'
    logical :: heavy = .false.
    type(site) :: place
  end type
  type(species), parameter :: table(0:2) = [species(1, [2, 3], 'O3', .true., site([1d0, 2d0])), &
    species(name='NO2', place=site([5d0, 6d0])), species(7, [0, 4], 'HNO3', .false., site(3d0))]
  type(species), parameter :: one = species(4, [5, 6], 'one', .true., site([0.5d0, 0.25d0]))
contains
  subroutine look_up(n, which, x, total, names)
    integer, intent(in) :: n, which(n)
    real(8), intent(inout) :: x(n)
    integer, intent(out) :: total
    character(4), intent(out) :: names(n)
    integer :: i, k
    total = sum(table%kind)
    do i = 1, n
      k = which(i)
      names(i) = table(k)%name
      x(i) = x(i)*table(k)%kind + table(k)%to(1 + mod(i, 2)) + table(k)%place%at(2)
      if (table(k)%heavy) x(i) = -x(i) + one%to(1 + mod(k, 2)) + one%kind
    end do
  end subroutine
  subroutine whole(k, total)
    integer, intent(in) :: k
    real(8), intent(out) :: total
    type(species) :: s
    s = table(k)
    total = s%kind + sum(s%to) + sum(s%place%at)
    if (s%name == 'NO2' .or. s%heavy) total = total + 100
  end subroutine
end module
)");
  f.write("main.f90", R"(program main
  use m
  implicit none
  real(8) :: x(4) = [1, 2, 3, 4], t
  integer :: total, k
  character(4) :: names(4)
  call look_up(4, [2, 0, 1, 0], x, total, names)
  print *, x, total, names
  do k = 0, 2
    call whole(k, t)
    print *, t
  end do
end program
)");
  same_program(f, {"look_up", "whole"});
}

TEST_CASE("fortran programs: codes of `stop` that are computed, also in called routines") {
  const Folder f;
  f.write("k.f90", R"(module m
  implicit none
contains
  subroutine check(n, x)
    integer, intent(in) :: n
    real, intent(inout) :: x(n)
    integer :: i
    character(8) :: why
    do i = 1, n
      x(i) = 2*x(i)
      if (x(i) > 50) stop n + i
      if (x(i) < -50) then
        write (why, '(a, i2)') 'low', i
        error stop why
      end if
      call limits(i, x(i))
    end do
    print *, 'checked'
  end subroutine
  subroutine limits(i, v)
    integer, intent(in) :: i
    real, intent(in) :: v
    if (v > 40) stop i, quiet=v > 45
    if (v < -40) error stop i*2
  end subroutine
end module
)");
  f.write("main.f90", R"(program main
  use m
  implicit none
  real :: x(3)
  character(5) :: given
  call get_command_argument(1, given)
  x = [1, 2, 3]
  read (given, *) x(3)
  call check(3, x)
  print '(3f6.1)', x
end program
)");
  const Outcome made =
      tool("gen k.f90 --kernel check --quiet -o k.c --fortran-interface i.f90", f.str());
  REQUIRE_MESSAGE(made.status == 0, made.err);
  const Outcome built = shell(
      "mkdir -p b a && gfortran -g0 -J b -o before k.f90 main.f90 && gcc -O1 "
      "-c k.c && gfortran -g0 -J a -o after i.f90 main.f90 k.o -lm",
      f.str());
  REQUIRE_MESSAGE(built.status == 0, built.err);
  const auto first_line = [](const std::string& s) { return s.substr(0, s.find('\n')); };
  for (const char* given : {"5", "30", "-30", "21", "24", "-22"}) {
    CAPTURE(given);
    const Outcome before = shell(std::string("./before ") + given, f.str());
    const Outcome after = shell(std::string("./after ") + given, f.str());
    CHECK(before.status == after.status);
    CHECK(before.out == after.out);
    CHECK(first_line(before.err) == first_line(after.err));
  }
}

TEST_CASE("fortran programs: sets of letters whose number an argument has") {
  const Folder f;
  f.write("k.f90", R"(module m
  implicit none
contains
  subroutine split(line, separators, first, last, n)
    character(*), intent(in) :: line, separators
    integer, intent(out) :: first(:), last(:), n
    integer :: i
    logical :: inside
    n = 0
    inside = .false.
    do i = 1, len(line)
      if (scan(line(i:i), separators) > 0) then
        inside = .false.
      else
        if (.not. inside) n = n + 1
        if (.not. inside) first(n) = i
        inside = .true.
        last(n) = i
      end if
    end do
    n = n + 100*verify(line, separators // 'ab') + 10000*scan(line, separators, .true.) + &
      1000000*verify(line, separators, back=.true.)
  end subroutine
end module
)");
  f.write("main.f90", R"(program main
  use m
  implicit none
  integer :: a(9), b(9), n
  a = 0
  b = 0
  call split('ab, cd;;e f,', ' ,;', a, b, n)
  print *, a, b, n
  call split('ab, cd;;e f,', '', a, b, n)
  print *, a, b, n
end program
)");
  same_program(f, {"split"});
}

TEST_CASE("fortran programs: pointers with both bounds written") {
  const Folder f;
  f.write("k.f90", R"(module m
  implicit none
contains
  subroutine shift(n, x, y, total)
    integer, intent(in) :: n
    real(8), intent(inout), target :: x(2:n + 1), y(n, n)
    real(8), intent(out) :: total
    real(8), pointer :: p(:), q(:), row(:)
    integer :: i, k
    p(0:n - 1) => x
    do i = 1, n - 1
      p(i) = p(i) + 0.5d0*p(i - 1)
    end do
    q(-1:n - 4) => p(1:)
    q(-1) = q(-1) + 100
    total = sum(q) + lbound(q, 1) + ubound(p, 1)
    k = n - 1
    row(10:10 + k/2) => y(2, ::2)
    k = 0
    row = row + x(4)
    row(11) = -row(11)
    total = total + size(row)
  end subroutine
end module
)");
  f.write("main.f90", R"(program main
  use m
  implicit none
  real(8) :: x(6), y(6, 6), t
  integer :: i
  x = [(i, i = 1, 6)]
  y = reshape([(mod(i*i, 13), i = 1, 36)], [6, 6])
  call shift(6, x, y, t)
  print '(6f9.3)', x, y, t
end program
)");
  same_program(f, {"shift"});
}

TEST_CASE("fortran programs: arrays of a called routine whose sizes vary with the caller's loops") {
  const Folder f;
  f.write("k.f90", R"(module m
  implicit none
contains
  subroutine rotations(n, a)
    integer, intent(in) :: n
    real(8), intent(inout) :: a(n, n)
    real(8) :: s
    integer :: p, q
    s = 0.5d0
    do p = 1, n - 1
      do q = p + 1, n
        s = 0.1d0*a(p, q)
        call rotate(a(1:p - 1, p), a(1:p - 1, q))
        call rotate(a(p, p + 1:q - 1), a(p + 1:q - 1, q))
        call rotate(a(p, q + 1:n), a(q, q + 1:n))
      end do
    end do
    do q = n, 2, -2
      call reverse(a(2:q, q))
      call reverse(a(max(q - 3, 1):n - 1, 1))
    end do
  contains
    subroutine rotate(x, y)
      real(8), intent(inout) :: x(:), y(:)
      real(8), dimension(size(x)) :: w
      w = x
      x = x - s*(y + x)
      y = y + s*(w - y)
    end subroutine
    subroutine reverse(x)
      real(8), intent(inout) :: x(:)
      real(8) :: w(2, 0:size(x))
      integer :: i, k
      k = size(x)
      w(:, 0) = s
      do i = 1, k
        w(1, i) = x(i)
        w(2, i) = w(1, i - 1)
      end do
      do i = 1, k
        x(i) = w(1, k + 1 - i) + w(2, i)
      end do
    end subroutine
  end subroutine
end module
)");
  f.write("main.f90", R"(program main
  use m
  implicit none
  real(8) :: a(7, 7)
  integer :: i
  a = reshape([(mod(i*i, 11)*0.25d0, i = 1, 49)], [7, 7])
  call rotations(7, a)
  print '(7f10.5)', a
  call rotations(1, a)
  call rotations(0, a)
end program
)");
  same_program(f, {"rotations"});
}

TEST_CASE("fortran: arrays of a called routine whose sizes have no known bound are refused") {
  const Folder f;
  f.write("k.f90", R"(subroutine s(n, a, k)
  integer, intent(in) :: n, k(n)
  real, intent(inout) :: a(n, n)
  integer :: i
  do i = 1, n
    call t(a(1:k(i), i))
  end do
contains
  subroutine t(x)
    real, intent(inout) :: x(:)
    real :: w(size(x))
    w = x
    x = w(size(x):1:-1)
  end subroutine
end subroutine
)");
  const Outcome o = tool("gen k.f90 --kernel s", f.str());
  CHECK(o.status == 1);
  CHECK(o.err.find("the bounds of `w` depend on `") != std::string::npos);
}

TEST_CASE("fortran programs: functions that are arguments, and whose interfaces have `x(:)`") {
  const Folder f;
  f.write("k.f90", R"(module m
  implicit none
  real(8) :: weight = 2
  integer :: calls = 0
contains
  subroutine search(f, x, best, n)
    interface
      function f(x) result(v)
        real(8), intent(in) :: x(:)
        real(8) :: v
      end function
    end interface
    real(8), intent(inout) :: x(:)
    real(8), intent(out) :: best
    integer, intent(in) :: n
    real(8) :: y(size(x)), new
    integer :: i, k
    best = f(x)
    do k = 1, n
      weight = weight + 0.5d0
      do i = 1, size(x)
        y = x
        y(i) = y(i) + 0.25d0/k
        new = f(y) + calls
        if (f(x) + weight < new) cycle
        x = y
        best = new
      end do
    end do
    if (f(x(1:2)) > 0) calls = -calls
    print '(f9.4)', f(2*x) + weight
  end subroutine
  subroutine pointed(x, y)
    real(8), intent(in) :: x
    real(8), intent(out) :: y
    procedure(half), pointer :: p
    p => half
    if (x > 3) nullify (p)
    y = -1
    if (associated(p)) y = x
  end subroutine
  real(8) function half(x)
    real(8), intent(in) :: x
    half = x/2
  end function
end module
)");
  f.write("main.f90", R"(program main
  use m
  implicit none
  real(8) :: x(3), b, y
  x = [1, -2, 0]
  call search(bowl, x, b, 4)
  print '(4f9.4, i5)', x, b, calls
  call pointed(2d0, y)
  print *, y
  call pointed(4d0, y)
  print *, y
contains
  function bowl(x) result(v)
    real(8), intent(in) :: x(:)
    real(8) :: v
    calls = calls + 1
    v = weight*sum((x - 0.5d0)**2)
  end function
end program
)");
  same_program(f, {"search", "pointed"});
}

TEST_CASE("fortran programs: kernels for a device have tables of their own in one file") {
  const Folder f;
  std::string text;
  for (const char* name : {"first", "second"})
    text += fmt::format(R"(subroutine {0}(n, x)
  integer, intent(in) :: n
  real, intent(inout) :: x(n)
  real, parameter :: w(3) = [1.0, 2.0, {1}]
  integer :: i
  do i = 1, n
    x(i) = x(i) + w(1 + mod(i, 3))
  end do
end subroutine
)",
                        name, name[0] == 'f' ? "3.0" : "4.0");
  f.write("k.f90", text);
  const Outcome o = tool(
      "gen k.f90 --target cuda --kernel first --kernel second "
      "--fortran-interface i.f90 -o k.cu",
      f.str());
  REQUIRE_MESSAGE(o.status == 0, o.err);
  const Outcome made = shell("cat k.cu", f.str());
  CHECK(made.out.find("float const first_w[3] = {1.0f, 2.0f, 3.0f};") != std::string::npos);
  CHECK(made.out.find("float const second_w[3] = {1.0f, 2.0f, 4.0f};") != std::string::npos);
  CHECK(made.out.find(" w[") == std::string::npos);
}
