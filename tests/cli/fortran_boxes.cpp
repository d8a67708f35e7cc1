// Variables of a routine's own that only Fortran can have, arguments and results of this kind, and
// alternate returns.
#include "tests/cli/fortran_program.h"

using namespace moonloop::test;

TEST_CASE(
    "fortran boxes: characters of any length, arrays of changing shapes, records with these") {
  const Folder f;
  f.write("k.f90", R"(
module names
  implicit none
  type pair
    integer :: n = 3
    character(:), allocatable :: text
    real(8), allocatable :: x(:)
  end type
  integer :: calls = 0
contains
  subroutine label(n, x, out)
    integer, intent(in) :: n
    real(8), intent(inout) :: x(n)
    character(*), intent(out) :: out
    character(:), allocatable :: s
    character(8) :: number
    integer :: i, m
    s = 'x'
    do i = 1, n
      x(i) = 2*x(i) + 1
    end do
    do i = 1, 3
      write (number, '(i0)') i
      s = s // trim(number) // '-'
      if (len(s) > 6) exit
    end do
    m = len_trim(s) + index(s, '-')
    if (s(1:1) == 'x') m = m + 100
    if (m > 1000) return
    do i = 1, n
      x(i) = x(i) + m
    end do
    out = s
    deallocate (s)
    allocate (character(n) :: s)
    s = repeat('ab', 2) // s(5:)
    write (*, '(a, i4, 1x, a)') 'label ', len(s), s(1:4)
  end subroutine
  subroutine extend(s, k)
    character(:), allocatable, intent(inout) :: s
    integer, intent(in) :: k
    integer :: i
    do i = 1, k
      if (.not. allocated(s)) s = ''
      s = s // achar(iachar('a') + i)
    end do
    calls = calls + len(s)
  end subroutine
  integer function length_of(s) result(n)
    character(:), allocatable, intent(in) :: s
    n = 0
    if (allocated(s)) n = len(s)
  end function
  function upper(s) result(t)
    character(*), intent(in) :: s
    character(:), allocatable :: t
    integer :: i
    t = trim(s)
    do i = 1, len(t)
      if (t(i:i) >= 'a' .and. t(i:i) <= 'z') t(i:i) = achar(iachar(t(i:i)) - 32)
    end do
  end function
  subroutine grow(a, n)
    real(8), allocatable, intent(inout) :: a(:)
    integer, intent(in) :: n
    real(8), allocatable :: b(:)
    if (.not. allocated(a)) then
      allocate (a(n))
      a = 1
      return
    end if
    allocate (b(size(a) + n))
    b(:size(a)) = a
    b(size(a) + 1:) = n
    call move_alloc(b, a)
  end subroutine
  subroutine primes(n, x)
    integer, intent(in) :: n
    integer, intent(inout) :: x(n)
    integer, allocatable :: found(:)
    integer :: i
    found = [2]
    do i = 3, 30
      if (all(mod(i, found) /= 0)) found = [found, i]
    end do
    do i = 1, n
      x(i) = x(i)*2
    end do
    x(1:min(n, size(found))) = x(1:min(n, size(found))) + found(1:min(n, size(found)))
    x(n) = size(found)
  end subroutine
  subroutine records(n, y)
    integer, intent(in) :: n
    real(8), intent(inout) :: y(n)
    type(pair) :: p, q
    integer :: i
    p%x = y(1:3)
    p%text = 'records'
    q = p
    q%n = q%n + len(p%text)
    do i = 1, n
      y(i) = y(i)*3
    end do
    y(1) = y(1) + sum(q%x) + q%n + len(upper(q%text))
  end subroutine
end module
)");
  f.write("main.f90", R"(
program main
  use names
  implicit none
  real(8) :: x(12), y(5)
  real(8), allocatable :: a(:)
  integer :: i, k(20)
  character(20) :: o
  character(:), allocatable :: s
  x = [(i/4d0, i=1, 12)]
  call label(12, x, o)
  print *, x, o
  call extend(s, 3); print *, s, calls, length_of(s)
  call extend(s, 2); print *, s, calls, length_of(s)
  deallocate(s); print *, length_of(s)
  print *, upper('hello World  '), '|', len(upper('a b '))
  call grow(a, 2); print *, a
  call grow(a, 3); print *, a
  k = [(i, i=1,20)]
  call primes(20, k); print *, k
  y = [1,2,3,4,5]
  call records(5, y); print *, y
end program
)");
  same_program(f, {"label", "extend", "length_of", "upper", "grow", "primes", "records"});
}

TEST_CASE("fortran boxes: alternate returns are jumps of the caller") {
  const Folder f;
  f.write("k.f90", R"(subroutine classify(x, *, limit, *)
  implicit none
  real(8), intent(in) :: limit
  real(8), intent(inout) :: x
  x = x + 1
  if (x > limit) return 1
  if (x < -limit) return 2
  x = 2*x
  if (x == 8) return 7
end subroutine
subroutine all_of(n, x, counts)
  implicit none
  integer, intent(in) :: n
  real(8), intent(inout) :: x(n)
  integer, intent(inout) :: counts(3)
  integer :: i
  do i = 1, n
    call classify(x(i), *10, 3d0, *20)
    counts(1) = counts(1) + 1
    cycle
10  counts(2) = counts(2) + i
    if (i > 1) call classify(x(i - 1), *30, 2d0, *30)
    cycle
20  counts(3) = counts(3) + i
30  x(i) = x(i)/2
  end do
end subroutine
subroutine far(k, n)
  implicit none
  integer, intent(in) :: n
  integer, intent(inout) :: k
  external :: elsewhere
  call elsewhere(n, *5, *6, *5)
  k = k + 1
  return
5 k = k + 10
  return
6 k = k + 100
end subroutine
)");
  f.write("main.f90", R"(program main
  implicit none
  real(8) :: x(9)
  integer :: counts(3), i, k
  x = [(mod(i*7, 11) - 5.5d0, i = 1, 9)]
  counts = 0
  call all_of(9, x, counts)
  print *, x, counts
  do i = 1, 9
    call classify(x(i), *1, 2d0, *2)
    print *, i, x(i)
    cycle
1   print *, 'large', i, x(i)
    cycle
2   print *, 'small', i, x(i)
  end do
  k = 0
  do i = 0, 4
    call far(k, i)
  end do
  print *, k
end program
)");
  f.write("other.f90", R"(subroutine elsewhere(n, *, *, *)
  integer, intent(in) :: n
  return n
end subroutine
)");
  same_program(f, {"classify", "all_of", "far"});
  const Outcome made = tool("show k.f90 --kernel all_of", f.str());
  CHECK_MESSAGE(!has(made.out, "classify"), made.out);  // its body takes the place
}

TEST_CASE("fortran boxes: arguments that a routine only reads may be one variable") {
  const Folder f;
  f.write("k.f90", R"(module m
  implicit none
contains
  subroutine compare(a, b, n, x)
    character(:), allocatable :: a, b
    integer, intent(inout) :: n
    integer, intent(inout) :: x(:)
    integer :: i
    if (a == b) n = n + len(a)
    do i = 1, size(x)
      x(i) = x(i) + n
    end do
  end subroutine
  integer function counted(s, n)
    character(:), allocatable, intent(inout) :: s
    integer, intent(inout) :: n
    n = n + 1
    s = s // 'c'
    counted = len(s)
  end function
  subroutine nested(n, k)
    integer, intent(inout) :: n, k
    character(:), allocatable :: s
    s = 'ab'
    call add(k, counted(s, n))
    call add(k, len(s) + n)
  end subroutine
  subroutine add(k, n)
    integer, intent(inout) :: k
    integer, intent(in) :: n
    k = k + n
  end subroutine
end module
)");
  f.write("main.f90", R"(program main
  use m
  implicit none
  character(:), allocatable :: s
  integer :: n, k, x(3)
  s = 'one'
  n = 4
  x = 1
  call compare(s, s, n, x)
  print *, s, n, x
  k = 0
  call nested(n, k)
  print *, n, k
end program
)");
  same_program(f, {"compare", "counted", "nested"});
}

TEST_CASE("fortran boxes: what remains is named") {
  const Folder f;
  const auto error = [&](const std::string& text) {
    f.write("k.f90", text);
    const Outcome o = tool("gen k.f90 --target c", f.str());
    CHECK(o.status != 0);
    return o.err;
  };
  std::string e = error(R"(subroutine f(n, x)
  integer, intent(in) :: n
  integer, intent(inout) :: x(n)
  character(:), allocatable :: s
  s = 'abc'
  associate (t => s(1:2))
    x(1) = iachar(t(1:1))
  end associate
end subroutine
)");
  CHECK_MESSAGE(has(e, "the allocatable `s` is not supported"), e);
  e = error(R"(subroutine f(n, x)
  integer, intent(in) :: n
  integer, intent(inout) :: x(n)
  character(:), allocatable :: s
  s = 'abc'
  call inside()
contains
  subroutine inside()
    x(1) = len(s)
  end subroutine
end subroutine
)");
  CHECK_MESSAGE(has(e, "`s`, which Fortran keeps, in a routine inside"), e);
  e = error(R"(subroutine f(n, x)
  integer, intent(in) :: n
  integer, intent(inout) :: x(n)
  character(:), allocatable :: s
  integer :: i
  !$omp parallel do private(s)
  do i = 1, n
    s = 'abc'
    x(i) = len(s)
  end do
end subroutine
)");
  CHECK_MESSAGE(has(e, "`s`, which Fortran keeps, in `private`"), e);
  e = error(R"(subroutine f(n, k)
  integer, intent(in) :: n
  integer, intent(inout) :: k
  character(:), allocatable :: s
  s = 'abc'
  k = k + len(s)
  return
  entry g(k)
  s = 'ab'
  k = k + 2*len(s)
end subroutine
)");
  CHECK_MESSAGE(has(e, "`s`, which Fortran keeps, in a routine with `entry`"), e);
  f.write("k.f90", R"(module m
  implicit none
  type t
    integer :: n = 1
    procedure(), nopass, pointer :: p => null()
  end type
contains
  pure function f(s) result(n)
    class(t), intent(in) :: s
    integer :: n
    n = s%n
  end function
end module
)");
  const Outcome o = tool("gen k.f90 --kernel f", f.str());
  CHECK_MESSAGE(has(o.err, "the component `p` is not supported in Fortran kernels"), o.err);
}
