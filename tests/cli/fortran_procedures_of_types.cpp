// Routines of types, as libraries with objects have them: arguments that Fortran keeps beside
// others of the same interface, in pure routines, and with components in bounds.
#include "tests/cli/fortran_program.h"

using namespace moonloop::test;

TEST_CASE("fortran of types: replaced routines still override others and are passed as arguments") {
  const Folder f;
  f.write("k.f90", R"(module solvers
  implicit none
  private
  type, public :: base
    real(8) :: a = 1
    procedure(fun), pass(me), pointer :: f => null()
  contains
    procedure :: step => step_of_base
  end type
  type, extends(base), public :: better
    real(8), allocatable :: seen(:)
  contains
    procedure :: step => step_of_better
  end type
  abstract interface
    function fun(me, x) result(y)
      import :: base
      class(base), intent(inout) :: me
      real(8), intent(in) :: x
      real(8) :: y
    end function
    subroutine change(n, s)
      import :: base
      integer, intent(in) :: n
      type(base), intent(inout) :: s(0:n)
    end subroutine
  end interface
  public :: square, twice, all_of, change
contains
  subroutine step_of_base(me, x)
    class(base), intent(inout) :: me
    real(8), intent(inout) :: x
    x = me%f(x) + me%a
  end subroutine
  subroutine step_of_better(me, x)
    class(better), intent(inout) :: me
    real(8), intent(inout) :: x
    integer :: i
    do i = 1, 3
      x = x + me%f(x*i)
    end do
    me%seen = [x, me%seen]
  end subroutine
  function square(me, x) result(y)
    class(base), intent(inout) :: me
    real(8), intent(in) :: x
    real(8) :: y
    me%a = me%a + 1
    y = x*x
    if (associated(me%f)) y = y + 0.5d0
  end function
  subroutine twice(n, s)
    integer, intent(in) :: n
    type(base), intent(inout) :: s(0:n)
    integer :: i
    do i = 0, ubound(s, 1)
      s(i)%a = 2*s(i)%a + i
      if (.not. associated(s(i)%f)) s(i)%f => square
    end do
  end subroutine
  subroutine all_of(s, how)
    type(base), intent(inout) :: s(:)
    procedure(change) :: how
    call how(size(s) - 1, s)
  end subroutine
end module
)");
  f.write("main.f90", R"(program main
  use solvers
  implicit none
  type(base) :: s, all(3)
  type(better) :: b
  class(base), allocatable :: any
  real(8) :: x
  s%f => square
  b%f => square
  b%seen = [1d0]
  x = 1.5d0
  call s%step(x)
  print *, x, s%a
  call b%step(x)
  print *, x, b%a, b%seen
  allocate (any, source=b)
  call any%step(x)
  print *, x, any%a
  call all_of(all, twice)
  print *, all%a, associated(all(2)%f)
end program
)");
  same_program(f, {"step_of_base", "step_of_better", "square", "twice"});
  f.write("k.f90", R"(subroutine go(me, n)
  use kinds, only: base
  implicit none
  class(base), intent(inout) :: me
  integer, intent(out) :: n
  n = 0
  if (allocated(me%x)) n = size(me%x)
  me%x = [me%x, 1d0]
end subroutine
)");
  f.write("kinds.f90", R"(module kinds
  type base
    real(8), allocatable :: x(:)
  end type
end module
)");
  f.write("main.f90", R"(program main
  use kinds
  implicit none
  interface
    subroutine go(me, n)
      import :: base
      class(base), intent(inout) :: me
      integer, intent(out) :: n
    end subroutine
  end interface
  type(base) :: s
  integer :: n
  s%x = [1d0, 2d0]
  call go(s, n)
  print *, n, s%x
end program
)");
  const Outcome o = shell(
      "gfortran -c kinds.f90 && cat k.f90 main.f90 > all.f90 && "
      "gfortran all.f90 kinds.o -o before && ./before > before.txt && cp main.f90 m2.f90",
      f.str());
  REQUIRE_MESSAGE(o.status == 0, o.err);
  const Outcome made = tool("gen k.f90 --quiet -o k.c --fortran-interface i.f90 -I .", f.str());
  REQUIRE_MESSAGE(made.status == 0, made.err);
  const Outcome after = shell(
      "gcc -c k.c && cat i.f90 main.f90 > all.f90 && gfortran all.f90 kinds.o k.o -o after && "
      "./after > after.txt && cmp before.txt after.txt",
      f.str());
  CHECK_MESSAGE(after.status == 0, after.err);
}

TEST_CASE("fortran of types: what pure functions give, and records that pure subroutines change") {
  const Folder f;
  f.write("k.f90", R"(module messages
  implicit none
  type pair
    integer :: n = 2
    real(8), allocatable :: x(:)
  end type
  abstract interface
    pure function real_function(x) result(y)
      real(8), intent(in) :: x
      real(8) :: y
    end function
  end interface
  interface
    pure module function first(x, n) result(result)
      real(8), intent(in) :: x(:)
      integer, intent(in) :: n
      real(8), allocatable :: result(:)
    end function
  end interface
contains
  pure function message(code) result(text)
    integer, intent(in) :: code
    character(:), allocatable :: text
    select case (code)
    case (0)
      text = 'fine'
    case (1:3)
      text = 'stopped early'
    case default
      text = 'unknown: ' // achar(iachar('0') + code)
    end select
  end function
  pure function scaled(n, f) result(p)
    integer, intent(in) :: n
    interface
      pure function f(x) result(y)
        real(8), intent(in) :: x
        real(8) :: y
      end function
    end interface
    type(pair) :: p
    p%n = n
    p%x = [f(1d0*n), f(2d0*n)]
  end function
  pure function by_name(n, f) result(p)
    integer, intent(in) :: n
    procedure(real_function), optional :: f
    type(pair) :: p
    p%n = n
    allocate (p%x(2))
    p%x = 1
    if (present(f)) p%x = [f(1d0*n), f(2d0*n)]
  end function
  elemental subroutine clear(p)
    type(pair), intent(inout) :: p
    p%n = p%n + 1
    if (allocated(p%x)) deallocate (p%x)
  end subroutine
  pure function held(p) result(n)
    class(pair), intent(in) :: p
    integer :: n
    n = 0
    if (allocated(p%x)) n = size(p%x)
  end function
  pure function root(x) result(y)
    real(8), intent(in) :: x
    real(8) :: y
    y = sqrt(x)
  end function
end module
submodule (messages) parts
contains
  pure module function first(x, n) result(result)
    real(8), intent(in) :: x(:)
    integer, intent(in) :: n
    real(8), allocatable :: result(:)
    integer :: i
    if (n <= size(x)) then
      result = x(:n)
    else
      result = [x, (0d0, i=1, n - size(x))]
    end if
  end function
end submodule
)");
  f.write("main.f90", R"(program main
  use messages
  implicit none
  type(pair) :: p, all(2)
  integer :: i
  do i = 0, 5
    print *, '(' // message(i) // ')'
  end do
  p = scaled(4, root)
  print *, p%n, p%x, held(p)
  p = by_name(9, root)
  print *, p%n, p%x
  p = by_name(8)
  print *, p%n, p%x
  all = p
  call clear(all)
  print *, all%n, allocated(all(2)%x), held(all(1))
  print *, first([1d0, 2d0, 3d0], 2), first([1d0], 3)
end program
)");
  same_program(f, {"message", "clear", "first", "held", "by_name"});
  const Outcome refused =
      tool("gen k.f90 --quiet --kernel scaled -o k.c --fortran-interface i.f90", f.str());
  CHECK(refused.status == 1);
  CHECK(has(refused.err, "the procedure `f`, an argument of a pure routine, has no counterpart"));
}

TEST_CASE("fortran of types: components of what Fortran keeps in bounds") {
  const Folder f;
  f.write("k.f90", R"(module objects
  implicit none
  type part
    integer :: width = 2
  end type
  type, public :: solver
    private
    integer :: n = 0
    type(part) :: of
    procedure(fun), pass(me), pointer :: f => null()
  contains
    procedure :: start, go, first
  end type
  abstract interface
    subroutine fun(me, x, y)
      import :: solver
      class(solver), intent(inout) :: me
      real(8), intent(in) :: x(:)
      real(8), intent(out) :: y(:)
    end subroutine
  end interface
contains
  subroutine start(me, n, f)
    class(solver), intent(inout) :: me
    integer, intent(in) :: n
    procedure(fun) :: f
    me%n = n
    me%f => f
  end subroutine
  subroutine go(me, x, t)
    class(solver), intent(inout) :: me
    real(8), intent(inout) :: x(me%n)
    real(8), intent(out) :: t
    real(8) :: k1(me%n), k2(0:me%n - 1, me%of%width)
    real(8), allocatable :: last(:)
    integer :: i
    call me%f(x, k1)
    do i = 1, size(k1)
      k2(i - 1, 1) = x(i) + 0.5d0*k1(i)
    end do
    me%n = me%n + 1
    allocate (last(me%n))
    last = me%n
    call me%f(k2(:, 1), k2(:, 2))
    do i = 1, size(x)
      x(i) = x(i) + k2(i - 1, 2)
    end do
    t = sum(last) + ubound(k2, 1) + size(last)
  end subroutine
  subroutine first(me, x, n, t)
    class(solver), intent(inout) :: me
    integer, intent(in) :: n
    real(8), intent(in) :: x(n, n, *)
    real(8), intent(out) :: t
    integer :: l
    l = int(x(1, 1, 1)) + 1
    t = x(2, 1, l)*me%n
  end subroutine
end module
)");
  f.write("main.f90", R"(module problems
  use objects
  implicit none
contains
  subroutine decay(me, x, y)
    class(solver), intent(inout) :: me
    real(8), intent(in) :: x(:)
    real(8), intent(out) :: y(:)
    y = -0.1d0*x
  end subroutine
end module
program main
  use problems
  implicit none
  type(solver) :: s
  real(8) :: x(5), t
  x = [1, 2, 3, 4, 5]
  call s%start(4, decay)
  call s%go(x, t)
  print *, x, t
  call s%first([1d0, 2d0, 3d0, 4d0, 5d0, 6d0, 7d0, 8d0], 2, t)
  print *, t
end program
)");
  same_program(f, {"go", "first"});
}

TEST_CASE("fortran of types: logical variables that only statements in Fortran set") {
  const Folder f;
  f.write("k.f90", R"(module m
  implicit none
  type solver
    integer :: n = 3
    procedure(fun), nopass, pointer :: f => null()
  end type
  abstract interface
    function fun(x) result(y)
      real(8), intent(in) :: x
      real(8) :: y
    end function
  end interface
contains
  subroutine go(s, x, t)
    class(solver), intent(inout) :: s
    real(8), intent(in) :: x
    real(8), intent(out) :: t
    integer :: i
    real(8) :: y
    logical :: ok, of_all(2)
    t = 0
    do i = 1, s%n
      y = s%f(x*i)
      ok = y > 1
      of_all = y > 2
      if (ok) t = t + y
      if (any(of_all)) t = t + 1
    end do
    if (ok) t = -t
  end subroutine
end module
)");
  f.write("main.f90", R"(program main
  use m
  implicit none
  type(solver) :: s
  real(8) :: t
  s%f => twice
  call go(s, 0.4d0, t)
  print *, t
contains
  function twice(x) result(y)
    real(8), intent(in) :: x
    real(8) :: y
    y = 2*x
  end function
end program
)");
  same_program(f);
}

TEST_CASE("fortran of types: components of any type are no reason to stop reading a file") {
  const Folder f;
  f.write("k.f90", R"(module any
  implicit none
  type inner
    integer :: n = 0
    class(*), allocatable :: what
  end type
  type node
    real(8) :: x = 0
    type(inner) :: part
    class(*), pointer :: p => null()
  end type
contains
  subroutine fine(x)
    real(8), intent(inout) :: x
    x = 2*x
  end subroutine
  subroutine copied(n, m)
    type(node), intent(inout) :: n, m
    m = n
  end subroutine
  subroutine passed(n, t)
    type(node), intent(inout) :: n(3)
    real(8), intent(out) :: t
    t = total(n(2))
  end subroutine
  function total(n) result(s)
    type(node), intent(in) :: n
    real(8) :: s
    s = n%x*n%part%n
  end function
  subroutine given(n, v)
    type(node), intent(inout) :: n
    class(*), intent(in) :: v
    n%part%what = v
    n%x = 1
  end subroutine
  subroutine taken(m, n)
    class(*), allocatable, intent(out) :: m
    type(node), intent(in) :: n
    m = n%part%what
  end subroutine
  subroutine many(w, n)
    type(node), intent(in) :: n
    type(node), intent(out) :: w(2)
    w = [n, n]
    w(1) = node(1d0, n%part)
  end subroutine
end module
)");
  const Outcome o = tool("show k.f90 --what imports", f.str());
  CHECK_MESSAGE(o.status == 0, o.err);
  CHECK(has(o.out, "fine    k.f90:13:14  imported\n"));
  CHECK(!has(o.err, "crashed"));
}

TEST_CASE(
    "fortran of types: constants, also of types and of implied shape, in statements in Fortran") {
  const Folder f;
  f.write("k.f90", R"(module methods
  implicit none
  type method
    integer :: id = 0
    character(8) :: name = ''
  end type
  type(method), parameter :: first = method(1, 'first'), second = method(2, 'second')
  type(method), parameter :: all_of(*) = [first, second]
  integer, parameter :: ids(*) = [3, 4], lower(0:*) = [5, 6, 7], a4 = 10
  character(3), parameter :: words(*) = ['one', 'two']
  real(8), allocatable :: kept(:)
  type, abstract :: shape
    integer :: sides = 3
  end type
  type, extends(shape) :: square
  end type
contains
  subroutine find(n, k)
    integer, intent(in) :: n
    integer, intent(out) :: k
    integer :: i
    k = 0
    do i = 1, size(all_of)
      if (all_of(i)%id == n) k = k + i + ids(i) + lower(i) + lower(i - 1)
      if (words(i)(1:1) == 't') k = k + 100
    end do
  end subroutine
  subroutine keep(n, x, m)
    integer, intent(in) :: n
    real(8), intent(in) :: x(n)
    integer, intent(in) :: m
    integer :: i
    do i = 1, n
      if (m == a4) exit
      if (.not. allocated(kept)) allocate (kept(n), source=0d0)
      kept(i) = x(i) + a4*m + name_of(second)
    end do
  end subroutine
  function name_of(m) result(n)
    type(method), intent(in) :: m
    integer :: n
    n = len_trim(m%name)
  end function
  subroutine count_sides(s, n)
    class(shape), intent(in) :: s
    integer, intent(out) :: n
    n = 2*s%sides
  end subroutine
end module
)");
  f.write("main.f90", R"(program main
  use methods
  implicit none
  type(square) :: s
  integer :: n
  call find(2, n)
  print *, n
  call keep(3, [1d0, 2d0, 3d0], 7)
  print *, kept
  s%sides = 4
  call count_sides(s, n)
  print *, n
end program
)");
  same_program(f, {"find", "keep", "count_sides"});
}

TEST_CASE("fortran of types: what remains is named") {
  const Folder f;
  f.write("k.f90", R"(module m
  use iso_c_binding
  implicit none
  type t
    integer :: n = 1
    procedure(), nopass, pointer :: p => null()
  end type
  type, abstract :: base
    integer :: unit = 6
    integer, allocatable :: n(:)
  end type
contains
  subroutine outer(s, x)
    class(t), intent(inout) :: s
    real(8), intent(inout) :: x(:)
    call inner()
    x(1) = x(1) + 1
  contains
    subroutine inner()
      call add(s%n, x)
    end subroutine
  end subroutine
  subroutine add(n, x)
    integer, intent(in) :: n
    real(8), intent(inout) :: x(n)
    x = x + n
  end subroutine
  subroutine address(n, p)
    integer, intent(in) :: n
    type(c_ptr), intent(inout) :: p
    if (n > 1) p = c_null_ptr
  end subroutine
end module
)");
  const Outcome o = tool("show k.f90 --what imports", f.str());
  CHECK(has(o.out, "`s_n`, an argument of `add` that is no variable here, is not supported"));
  CHECK_MESSAGE(has(o.out, "`p` of type `c_ptr` is not supported in Fortran kernels"), o.out);
}
