// Arguments that are procedures, and other calls that Fortran has to make.
#include "tests/cli/fortran_program.h"

using namespace moonloop::test;

TEST_CASE("fortran procedures: arguments that are called and passed on") {
  const Folder f;
  f.write("k.f90", R"(module work
  implicit none
  integer :: count = 0
  abstract interface
    subroutine step(n, x)
      integer, intent(in) :: n
      real(8), intent(inout) :: x(n)
    end subroutine
    logical function test(x)
      real(8), intent(in) :: x
    end function
  end interface
contains
  subroutine drive(n, x, f, g, keep, s, l)
    integer, intent(in) :: n
    real(8), intent(inout) :: x(n, 3)
    procedure(step) :: f
    interface
      real(8) function g(x, k, word)
        real(8) :: x
        integer :: k
        character(*) :: word
      end function
    end interface
    procedure(test) :: keep
    real(8), intent(out) :: s
    logical, intent(inout) :: l
    integer :: i, k
    external :: outer, other
    do i = 1, 3
      call f(n, x(1, i))
    end do
    s = 0
    k = 2
    do i = 1, n
      if (keep(x(i, 2))) s = s + g(x(i, 1), k, 'ab')*i
    end do
    call twice(n, x, f)
    call other(f, n, x(1, 3), keep, l)
    call other(outer, n, x(1, 3), keep, l)
    s = s + k + count
    l = l .and. keep(s)
  contains
    subroutine twice(n, x, f)
      integer, intent(in) :: n
      real(8) :: x(n, 3)
      procedure(step) :: f
      call f(n, x)
      call once(n, x(:, 2), f)
    end subroutine
    subroutine once(n, x, h)
      integer, intent(in) :: n
      real(8) :: x(n)
      external :: h
      integer :: m
      call h(n, x)
      m = n
      x(1) = x(1) + g(x(2), m, 'q')
    end subroutine
  end subroutine
end module
subroutine plain(n, x, f, which)
  implicit none
  integer, intent(in) :: n
  real :: x(n), y
  complex :: f
  external :: f, outer
  logical :: l
  character(1) :: which, letter_of
  character(4) :: word
  integer :: i
  do i = 1, n
    x(i) = x(i) + real(f(x(i), which)) + aimag(f(2.0, 'z'))
  end do
  l = .true.
  which = letter_of(n)
  word = letter_of(3) // 'bc'
  if (letter_of(1) == 'a') x(2) = x(2) + ichar(word(1:1))
  call apply(f, x, l)
  if (l) x(1) = -x(1)
end subroutine
)");
  f.write("main.f90", R"(subroutine outer(n, x)
  integer :: n
  real(8) :: x(n)
  x = 3*x
end subroutine
subroutine other(f, n, x, keep, l)
  external :: f
  integer :: n
  real(8) :: x(n)
  logical, external :: keep
  logical :: l
  call f(n, x)
  l = keep(x(1))
end subroutine
subroutine apply(f, x, l)
  complex, external :: f
  real :: x(*)
  logical :: l
  x(3) = real(f(x(1), 'q'))
  l = .not. l
end subroutine
character(1) function letter_of(n)
  integer :: n
  letter_of = char(96 + n)
end function
module mine
  implicit none
  integer :: calls = 0
contains
  subroutine add(n, x)
    integer, intent(in) :: n
    real(8), intent(inout) :: x(n)
    calls = calls + 1
    x = x + calls
  end subroutine
  real(8) function g(x, k, word)
    use work, only: count
    real(8) :: x
    integer :: k
    character(*) :: word
    k = k + len(word)
    count = count + 1
    g = x*k
  end function
  logical function keep(x)
    real(8), intent(in) :: x
    keep = x > 2
  end function
  complex function f(x, l)
    real :: x
    character(*) :: l
    f = cmplx(x, ichar(l(1:1)) + len(l))
  end function
end module
program main
  use work
  use mine
  implicit none
  real(8) :: x(4, 3), s
  real :: y(4)
  character :: c
  logical :: l
  integer :: i
  x = reshape([(real(i, 8)/3, i = 1, 12)], [4, 3])
  call drive(4, x, add, g, keep, s, l)
  print *, x, s, l, count, calls
  y = [1, 2, 3, 4]
  c = 'p'
  call plain(4, y, f, c)
  print *, y, c
end program
)");
  same_program(f, {"drive", "plain"});
  CHECK(has(f.read("i.f90"), "  complex(4), external :: f\n"));
  const Outcome code = tool("gen k.f90 --kernel drive", f.str());
  CHECK(has(code.out, "int64_t f, int64_t g, int64_t keep"));
}

TEST_CASE("fortran procedures: functions of Fortran that C does not have") {
  const Folder f;
  f.write("k.f90", R"(subroutine parts(n, x, k, y)
  implicit none
  integer, intent(in) :: n
  real(8), intent(in) :: x(n)
  integer, intent(out) :: k(n)
  real(4), intent(out) :: y(n)
  integer :: i
  do i = 1, n
    k(i) = exponent(x(i)) + exponent(2.0*i)
    y(i) = real(fraction(x(i)) + scale(x(i), 2) + set_exponent(x(i), k(i)))
    if (nearest(x(i), 1.0) > 1 + spacing(1.0d0)) y(i) = -y(i)*2.0**exponent(x(i))
  end do
end subroutine
)");
  f.write("main.f90", R"(program main
  implicit none
  integer :: k(5)
  real(4) :: y(5)
  call parts(5, [0.0d0, 1.0d0, 0.7d0, 1d30, -3d-5], k, y)
  print *, k, y
end program
)");
  same_program(f);
}

TEST_CASE("fortran procedures: what cannot be one is named") {
  const Folder f;
  f.write("k.f90", R"(module work
  implicit none
  type pair
    sequence
    integer :: i
    real :: x
  end type
  abstract interface
    subroutine open_shape(x)
      real, intent(inout) :: x(:)
    end subroutine
  end interface
contains
  subroutine shaped(x, f)
    real, intent(inout) :: x(:)
    procedure(open_shape) :: f
    call f(x)
  end subroutine
  subroutine maybe(x, f)
    real, intent(inout) :: x(:)
    optional :: f
    external :: f
    x(1) = 1
  end subroutine
  subroutine arrays(x, f)
    real, intent(inout) :: x(4)
    interface
      function f(n)
        integer, intent(in) :: n
        real :: f(4)
      end function
    end interface
    x = f(3)
  end subroutine
  subroutine records(p, f)
    type(pair), intent(inout) :: p
    interface
      subroutine f(q)
        import pair
        type(pair), intent(inout) :: q
      end subroutine
    end interface
    call f(p)
  end subroutine
  subroutine untold(p)
    type(pair), intent(inout) :: p
    external :: g
    call g(p)
  end subroutine
end module
)");
  const Outcome out = tool("show k.f90 --what imports", f.str());
  const auto says = [&](const std::string& text) { CHECK_MESSAGE(has(out.out, text), out.out); };
  says("shaped   k.f90:14:14  imported");  // Fortran makes the call
  says("maybe    k.f90:19:14  imported");
  says("k.f90:33:5: the array that `f` gives is not supported");
  says("k.f90:43:5: the argument `q`, which is not a plain variable or array, of `f`");
  says("untold   k.f90:45:14  imported");  // by Fortran, with a record of its own
}

TEST_CASE("fortran procedures: in functions of their own, and in pure routines") {
  const Folder f;
  f.write("k.f90", R"(subroutine outer(n, x, f)
  implicit none
  integer, intent(in) :: n
  real(8), intent(inout) :: x(n)
  external :: f
  call inner(x)
contains
  subroutine inner(y)
    !$moonloop noinline
    real(8), intent(inout) :: y(n)
    integer :: i
    do i = 1, n
      call f(i, y(i))
    end do
  end subroutine
end subroutine
)");
  f.write("main.f90", R"(program main
  implicit none
  real(8) :: x(3)
  external :: add
  x = 0.5d0
  call outer(3, x, add)
  print *, x
end program
subroutine add(i, y)
  integer :: i
  real(8) :: y
  y = y + i
end subroutine
)");
  same_program(f, {"outer"});
  f.write("p.f90", R"(pure subroutine p(x, f)
  implicit none
  real, intent(inout) :: x
  interface
    pure subroutine f(y)
      real, intent(inout) :: y
    end subroutine
  end interface
  call f(x)
end subroutine
)");
  CHECK(tool("gen p.f90 --quiet", f.str()).status == 0);
  CHECK(has(tool("gen p.f90 -o p.c --fortran-interface i.f90", f.str()).err,
            "`p`: the procedure `f`, an argument of a pure routine, has no counterpart in the "
            "interface [unsupported]"));
}

TEST_CASE("fortran procedures: those of modules are passed, within the module and from others") {
  const Folder f;
  f.write("k.f90", R"(module shapes
  implicit none
  private
  public :: solve, area
  integer :: calls = 0
contains
  real(8) function area(x) result(a)
    real(8), intent(in) :: x
    calls = calls + 1
    a = x*x + calls
  end function
  logical function big(x)
    real(8), intent(in) :: x
    big = x > 2
  end function
  subroutine move(n, x)
    integer, intent(in) :: n
    real(8), intent(inout) :: x(n)
    x = x + 0.25d0
  end subroutine
  real(8) function total(f, n, x)
    real(8), external :: f
    integer, intent(in) :: n
    real(8), intent(in) :: x(n)
    integer :: i
    total = 0
    do i = 1, n
      total = total + f(x(i))*i
    end do
  end function
  subroutine solve(n, x, s)
    integer, intent(in) :: n
    real(8), intent(inout) :: x(n)
    real(8), intent(out) :: s
    external :: apply
    s = total(area, n, x) + calls
    call apply(move, big, n, x)
    call twice(move)
  contains
    subroutine twice(g)
      interface
        subroutine g(n, x)
          integer, intent(in) :: n
          real(8), intent(inout) :: x(n)
        end subroutine
      end interface
      call g(n, x)
      call g(n - 1, x(2))
    end subroutine
  end subroutine
end module
subroutine uses(n, x, s)
  use shapes, only: f => area
  implicit none
  integer, intent(in) :: n
  real(8), intent(inout) :: x(n)
  real(8), intent(out) :: s
  real(8), external :: largest
  integer :: i
  do i = 1, n
    x(i) = x(i) + 1
  end do
  s = largest(f, n, x)
end subroutine
)");
  f.write("main.f90", R"(program main
  use shapes
  implicit none
  real(8) :: x(4), s
  x = [1, 2, 3, 4]
  call solve(4, x, s)
  print *, x, s
  call uses(4, x, s)
  print *, x, s
end program
subroutine apply(move, big, n, x)
  external :: move
  logical, external :: big
  integer :: n
  real(8) :: x(n)
  if (big(x(3))) call move(2, x(3))
  if (big(x(1))) call move(4, x)
end subroutine
real(8) function largest(f, n, x)
  real(8), external :: f
  integer :: n, i
  real(8) :: x(n)
  largest = 0
  do i = 1, n
    largest = max(largest, f(x(i)))
  end do
end function
)");
  same_program(f, {"solve", "uses"});
  f.write("k.f90", R"(module shapes
  implicit none
contains
  subroutine open_shape(x)
    real(8), intent(inout) :: x(:)
    x = 1
  end subroutine
  subroutine passes()
    external :: apply
    call apply(open_shape)
  end subroutine
end module
)");
  f.write("main.f90", R"(program main
  use shapes
  implicit none
  call passes()
end program
subroutine apply(f)
  implicit none
  interface
    subroutine f(x)
      real(8), intent(inout) :: x(:)
    end subroutine
  end interface
  real(8) :: y(6)
  y = 2
  call f(y(::2))
  print *, y
end subroutine
)");
  same_program(f, {"passes"});  // Fortran passes it as it is
}

TEST_CASE("fortran procedures: functions of modules that are no kernels give values") {
  const Folder f;
  f.write("k.f90", R"(module clock
  implicit none
  private
  public :: run, asked
  integer :: asked = 0
contains
  real(8) function time_now(y)
    real(8), intent(inout) :: y
    integer :: e = 3
    if (y > 1000) wait (e)
    asked = asked + 1
    y = y + 1
    time_now = 0.5d0*asked
  end function
  logical function late(n)
    integer, intent(in) :: n
    if (n > 1000) wait (n)
    late = n + asked > 6
  end function
  subroutine run(n, x, t)
    integer, intent(in) :: n
    real(8), intent(inout) :: x(n), t
    integer :: i
    t = time_now(x(1))
    do i = 1, n
      if (time_now(t) > 2 .and. .not. late(i)) x(i) = x(i)*2 + asked
    end do
    t = time_now(t) - t
  end subroutine
end module
)");
  f.write("main.f90", R"(program main
  use clock
  implicit none
  real(8) :: x(4), t
  x = [1, 2, 3, 4]
  call run(4, x, t)
  print *, x, t, asked
end program
)");
  same_program(f, {"run"});
}

TEST_CASE("fortran procedures: pointers to procedures, and interfaces with more than addresses") {
  const Folder f;
  f.write("k.f90", R"(module actions
  implicit none
  type operations
    integer :: n = 0
    procedure(act), pointer, nopass :: f => null()
  end type
  type(operations) :: o
  real(8), allocatable :: w(:)
  procedure(act), pointer :: now => null()
  abstract interface
    subroutine act(k, v)
      integer, intent(in) :: k
      real(8), intent(inout) :: v(:)
    end subroutine
  end interface
contains
  subroutine one(k, v)
    integer, intent(in) :: k
    real(8), intent(inout) :: v(:)
    v = v + k
    if (allocated(w)) w = [w, 0.5d0]
  end subroutine
  subroutine two(k, v)
    integer, intent(in) :: k
    real(8), intent(inout) :: v(:)
    v = v*k
  end subroutine
  subroutine own(n, x)
    integer, intent(in) :: n
    real(8), intent(inout) :: x(n)
    procedure(act), pointer :: p, q
    integer :: i
    p => null()
    if (.not. associated(p)) x(1) = x(1) + 1
    if (n > 4) then
      p => one
    else
      p => two
    end if
    do i = 1, n
      x(i) = 2*x(i)
    end do
    q => p
    if (associated(q)) call q(3, x(2:))
    call passed(n, x, p)
  end subroutine
  subroutine kept(n, x)  ! as in TeaLeaf
    integer, intent(in) :: n
    real(8), intent(inout) :: x(n)
    interface
      subroutine any_action(k, v)
        implicit none
        integer, intent(in) :: k
        real(8), intent(inout) :: v(:)
      end subroutine
    end interface
    procedure(any_action), pointer :: p => null()
    if (associated(p)) then
      call p(n, x)
      p => two
    else
      p => one
    end if
    x(n) = x(n) + 1
  end subroutine
  subroutine everywhere(n, x)
    integer, intent(in) :: n
    real(8), intent(inout) :: x(n)
    integer :: i
    do i = 1, n
      x(i) = 0.5d0*x(i) + w(i)
    end do
    call now(2, x)
    call o%f(3, x(2:))
    do i = 1, n
      w(i) = 0.5d0*w(i) + x(i)
    end do
    now => one
  end subroutine
  subroutine passed(n, x, h)
    integer, intent(in) :: n
    real(8), intent(inout) :: x(n)
    procedure(act) :: h
    x = 0.5d0*x
    call h(2, x)
    now => h
    w(1) = w(1) + x(1)
  end subroutine
  subroutine declared(n, x, h)
    integer, intent(in) :: n
    real(8), intent(inout) :: x(n)
    interface
      subroutine h(k, v)
        integer, intent(in) :: k
        real(8), intent(inout) :: v(:)
      end subroutine
    end interface
    x = 0.25d0*x
    call h(2, x)
  end subroutine
  subroutine pointed(x, g)
    real(8), intent(inout) :: x(:)
    procedure(act), pointer, intent(in) :: g
    call g(2, x)
  end subroutine
  subroutine component(x, q)
    real(8), intent(inout) :: x(:)
    type(operations), intent(in) :: q
    call q%f(2, x)
  end subroutine
  subroutine begins(x)
    real(8), intent(inout) :: x(:)
    procedure(act), pointer :: p => one
    call p(2, x)
    p => two
  end subroutine
end module
)");
  f.write("main.f90", R"(program main
  use actions
  implicit none
  real(8) :: x(5)
  integer :: turn
  x = [1, 2, 3, 4, 5]
  w = 2*x
  now => two
  o%f => one
  do turn = 1, 3
    call own(5, x)
    call own(3, x)
    call kept(5, x)
    call everywhere(5, x)
    call passed(5, x, two)
    call declared(5, x, one)
    print '(9f14.5)', x, w(:4)
    print *, size(w), associated(now, one)
  end do
end program
)");
  same_program(f, {"own", "kept", "everywhere", "passed", "declared"});
  const Outcome out = tool("show k.f90 --what imports", f.str());
  const auto says = [&](const std::string& text) { CHECK_MESSAGE(has(out.out, text), out.out); };
  says("k.f90:104:5: the call of `g` is not supported");
  says("component   k.f90:106:14  imported");  // the argument stays Fortran's
  says("k.f90:113:32: the initial value of `p` is not supported");
}

TEST_CASE("fortran procedures: private ones of a module that stay calls get texts") {
  const Folder f;
  f.write("k.f90", R"(module filing
  implicit none
  private
  public :: file_all
  character(6) :: prefix = 'no. '
contains
  recursive subroutine note(n, what, names, k)
    integer, intent(in) :: n
    character(*), intent(in) :: what
    character(*), intent(inout) :: names(n)
    integer, intent(out) :: k
    integer :: i
    logical :: there
    inquire (file=what, exist=there)
    if (there) print *, 'there'
    k = len(what) + 100*len(names)
    if (n > 2) call note(n - 1, what, names, k)
    do i = 1, n
      names(i) = trim(what) // names(i)
    end do
  end subroutine
  subroutine file_all(n, names, k, last)
    integer, intent(in) :: n
    character(5), intent(inout) :: names(n)
    integer, intent(out) :: k(n)
    character(*), intent(out) :: last
    integer :: i
    do i = 1, n
      k(i) = i*n
      call note(n, 'a' // achar(96 + i), names, k(i))
      print *, prefix, names(i), k(i)
    end do
    last = names(n)
    call note(1, last, names, k(1))
    write (last, '(a, i3)') prefix, k(1)
  end subroutine
end module
)");
  f.write("main.f90", R"(program main
  use filing
  character(5) :: names(3) = ['x', 'y', 'z']
  character(9) :: last
  integer :: k(3)
  call file_all(3, names, k, last)
  print *, names, k, last
end program
)");
  same_program(f, {"file_all"});
}
