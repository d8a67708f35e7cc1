// Small elements of the language: values kept in blocks, packed arrays, components of records.
#include "tests/cli/fortran_program.h"

using namespace moonloop::test;

TEST_CASE("fortran: variables of a `block` keep their values") {
  const Folder f;
  f.write("k.f90", R"(module counting
  implicit none
contains
  subroutine count_calls(n, x)
    integer, intent(in) :: n
    integer, intent(inout) :: x(n)
    integer :: i
    integer, save :: calls = 100
    calls = calls + 1
    do i = 1, n
      block
        integer, save :: calls = 3
        integer :: other = 5
        real(8), save :: w(3) = [1d0, 2d0, 3d0]
        logical, save :: odd = .false.
        calls = calls + i
        other = other + 1
        w(1:2) = w(2:3) + w(1)
        odd = .not. odd
        x(i) = x(i) + calls*other + int(w(1)) + merge(1, 0, odd)
        block
          integer, save :: calls
          integer, save :: tables(2) = [7, 9]
          data calls /11/
          calls = 2*calls
          x(i) = x(i) - calls + tables(2)
        end block
      end block
    end do
    x(1) = x(1) + calls
  end subroutine
end module
)");
  f.write("main.f90", R"(program main
  use counting
  implicit none
  integer :: x(4) = [1, 2, 3, 4], i
  do i = 1, 3
    call count_calls(4 - i, x)
    print *, x
  end do
end program
)");
  same_program(f);
}

TEST_CASE("fortran: packed arrays whose size a count gives") {
  const Folder f;
  f.write("k.f90", R"(module packing
  implicit none
contains
  subroutine packs(n, x, a, y, k, s)
    integer, intent(in) :: n
    real(8), intent(in) :: x(n), a(2, n)
    real(8), intent(inout) :: y(2*n)
    integer, intent(out) :: k(8)
    real(8), intent(out) :: s(6)
    logical :: m(n)
    integer :: at(n), i
    real(8), allocatable :: z(:)
    m = x > 0.5d0
    k(1) = count(m)
    y(1:k(1)) = pack(x, m)
    s(1) = sum(pack(x, m)) + sum(y(1:k(1)))
    k(2) = size(pack(a, a > 0.3d0))
    s(2) = sum(pack(a, a > 0.3d0)*2)
    k(3) = count(a(1, :) > a(2, :))
    y(n + 1:n + k(3)) = pack(a(1, :), mask=a(1, :) > a(2, :))
    z = pack(x, .not. m)
    k(4) = size(z)
    s(3) = sum(z)
    at(:k(1)) = pack([(i, i=1, n)], m)
    k(5) = sum(at(:k(1)))
    y(2*n - 1:2*n) = pack(x, x > 2, vector=[7d0, 8d0])
    k(6) = size(pack(x, m, vector=a(1, :)))
    s(4) = sum(pack(x, m, vector=a(2, :)))
    s(5) = maxval(pack(x, x < 0.9d0))
    k(7) = size(pack(a, .true.))
    k(8) = count(pack(x, m) > 0.7d0)
    s(6) = dot_product(pack(x, m), pack(x, m))
  end subroutine
  integer function longest(n, x)
    integer, intent(in) :: n, x(n)
    integer :: left(n), k, was, round
    left = x
    k = n
    longest = 0
    do round = 1, n
      was = k
      k = count(left(1:k) > round)
      if (k == 0) exit
      left(1:k) = pack(left(1:was), left(1:was) > round)
      longest = longest + k
    end do
  end function
end module
)");
  f.write("main.f90", R"(program main
  use packing
  implicit none
  real(8) :: x(9), a(2, 9), y(18), s(6)
  integer :: k(8), n, i
  do n = 1, 9, 2
    do i = 1, n
      x(i) = mod(i*0.37d0, 1d0)
      a(:, i) = [mod(i*0.71d0, 1d0), mod(i*0.53d0, 1d0)]
    end do
    y = 0
    call packs(n, x(:n), a(:, :n), y(:2*n), k, s)
    print *, k, s
    print *, y
  end do
  print *, longest(6, [5, 3, 1, 4, 2, 6])
end program
)");
  same_program(f, {"packs", "longest"});
}

TEST_CASE("fortran: components of arguments are printed") {
  const Folder f;
  f.write("k.f90", R"(module records
  implicit none
  type part
    integer :: id
  end type
  type item
    real(8) :: x
    integer :: k
    character :: name
    type(part) :: of
  end type
  type many
    integer :: k(3)
    character(4) :: name
    real(8) :: x
    type(part) :: parts(2)
  end type
  type(item), private :: own(2)
contains
  subroutine show(n, p, q, w, line)
    integer, intent(in) :: n
    type(item), intent(inout) :: p(n)
    type(item), intent(in) :: w(0:, -1:)
    type(many), intent(in) :: q
    character(40), intent(out) :: line
    type(many) :: local(2)
    integer :: i, j
    do i = 1, n
      p(i)%x = 2*p(i)%x + 1
      p(i)%k = i + 2
    end do
    do i = 1, 2
      local(i)%x = 4*i
      local(i)%k = [i, 2*i, 3*i]
      local(i)%name = q%name(i:)
    end do
    print *, p(1)%x, q%k(2), q%k, q%k(3:2:-1)
    print *, p%x
    print *, (p(i)%x, p(i)%k, i=1, n)
    print *, p(2)%k, p(n:1:-1)%x, p(2:)%of%id
    write (*, *) p(:)%k, w(1, -1)%k, w(:, 0)%k
    write (*, '(6(f8.2))') (p(i)%x*q%x, (w(j, i - 2)%x + p(q%k(1))%x, j=0, 1), i=1, 2)
    print *, (p(i)%name, p(i)%name//'p%x', i=1, n), q%name, trim(q%name)//'q%name'
    print *, (q%parts(i)%id, i=1, 2), q%parts%id, p(q%k(1))%of%id
    print *, (local(i)%x, local(i)%k(i), i=1, 2), local%x, maxval(p%x), sum(p(:)%k), count(p%x > 4)
    print *, local(2)%k, local%k(1), local(1)%k(2:3), local(2)%name, (local(i)%name(2:3), i=1, 2)
    if (j > 5) own(1)%x = 4
    write (line, '(3i4)') q%k
    own(1)%x = 3
    own(2)%x = q%x
    print *, own%x, (own(i)%x, i=2, 1, -1)
  end subroutine
end module
)");
  f.write("main.f90", R"(program main
  use records
  implicit none
  type(item) :: p(3), w(2, 2)
  character(40) :: line
  integer :: i, j
  do i = 1, 3
    p(i) = item(i*0.5d0, i, char(96 + i), part(7*i))
  end do
  do j = 1, 2
    w(:, j) = p(j:j + 1)
  end do
  call show(3, p, many([1, 2, 3], 'name', 2.5d0, [part(5), part(6)]), w, line)
  print *, line
end program
)");
  same_program(f);
  f.write("p.f90", R"(subroutine p(q)
  type t
    real :: x(3)
  end type
  type(t), intent(in) :: q(2)
  integer :: i
  print *, (size(q(i)%x), q(i)%x(lbound(q(i)%x, 1):2), i=1, 2)
  print *, q
end subroutine
)");
  CHECK(has(tool("gen p.f90", f.str()).err, "in `print`"));
}

TEST_CASE("fortran: components begin with the values of their type") {
  const Folder f;
  f.write("k.f90", R"(module records
  implicit none
  type point
    real(8) :: x = 1.5d0
    integer :: k(2) = [3, 4]
    logical :: used = .true.
    character(3) :: name = 'ab'
    character :: letter = 'q'
    complex(8) :: z = (1d0, -2d0)
  end type
  type flat
    real(8) :: x = -1
    integer :: k = 9
    logical :: used = .true.
    character :: letter = 'r'
    real(8) :: free
  end type
  type pair
    type(point) :: first, both(2)
    integer :: n = 7
  end type
contains
  subroutine local(n, y)
    integer, intent(in) :: n
    real(8), intent(inout) :: y(n)
    type(point) :: p, many(2, 3)
    type(pair) :: two
    integer :: i
    do i = 1, n
      p%x = p%x + i
      many(2, 1)%k(2) = many(2, 1)%k(2) + many(1, 3)%k(1)
      two%both(2)%x = two%both(2)%x + two%n
      y(i) = y(i)*p%x + p%k(2) + many(2, 1)%k(2) + two%both(2)%x + aimag(two%first%z)
      if (p%used .and. many(1, 1)%letter == 'q' .and. p%name == 'ab') y(i) = y(i) + 1
      p%used = i < 2
    end do
  end subroutine
  subroutine clear(p)
    type(point), intent(out) :: p
    p%k(1) = 7
  end subroutine
  subroutine clear_all(p)
    type(flat), intent(out) :: p(:)
    p(2)%k = 8
    p%free = 1
  end subroutine
  subroutine clear_points(p)
    type(point), intent(out) :: p(:)
    p(2)%k(2) = 8
  end subroutine
  subroutine begin_again(n, p, y)
    integer, intent(in) :: n
    type(flat), intent(inout) :: p(n)
    real(8), intent(out) :: y(n)
    type(point) :: q(3)
    integer :: i
    q%x = 4
    q(2)%k = [5, 6]
    q(3)%name = 'z'
    do i = 1, n
      y(i) = p(i)%x
      if (p(i)%k > 3) call clear(q(i))
      if (i == 3) call clear_points(q(2:))
      y(i) = y(i) + q(i)%x + q(i)%k(1) + 10*q(2)%k(2)
      if (q(i)%used .and. q(i)%letter == 'q') y(i) = y(i) + 1000*aimag(q(i)%z)
      q(i)%used = i > 1
      if (q(i)%name == 'ab' .and. q(3)%name == 'ab') y(i) = y(i) + 100
      block
        type(point) :: r(2)
        r(1)%x = r(1)%x + r(2)%x + r(2)%k(2)
        y(i) = y(i)*r(1)%x
      end block
    end do
    if (n > 2) call clear_all(p(2:))
  end subroutine
end module
)");
  f.write("main.f90", R"(program main
  use records
  implicit none
  real(8) :: y(3)
  type(point) :: q
  type(flat) :: p(3)
  y = [1, 2, 3]
  call local(3, y)
  print *, y
  p%x = [4, 5, 6]
  p(2)%k = 2
  p%free = 2
  call begin_again(3, p, y)
  print *, y, p%x, p%k, p%free, p%used, p%letter
  q%x = 9
  q%name = 'q'
  call clear(q)
  print *, q%x, q%k, q%name, q%used, q%z, q%letter
  p%x = 3
  p%used = .false.
  call clear_all(p)
  print *, p%x, p%k, p%used, p%letter, p%free
end program
)");
  same_program(f, {"local", "clear", "clear_all", "begin_again"});
  const Outcome c = tool("gen k.f90 --kernel local", f.str());
  CHECK_MESSAGE(!has(c.out, "in_local"), "nothing stays Fortran");
  f.write("p.f90", R"(module m
  type t
    integer :: k = 1
  end type
contains
  subroutine s(x)
    integer, intent(inout) :: x
    type(t), save :: a
    a%k = a%k + 1
    x = a%k
  end subroutine
end module
)");
  CHECK(has(tool("gen p.f90", f.str()).err, "`a%k`"));
}

TEST_CASE("fortran: arrays of texts get memory like others") {
  const Folder f;
  f.write("k.f90", R"(module pools
  implicit none
contains
  subroutine starts(n, pool, k)
    integer, intent(in) :: n
    character(*), intent(in) :: pool(n)
    integer, intent(out) :: k(4)
    character(len(pool)), allocatable :: t(:), more(:)
    character(4), allocatable :: of_four(:)
    character(:), allocatable :: any_length(:), one
    integer :: i
    allocate (t, source=pool)
    allocate (more(0:n))
    k = 0
    do i = 1, n
      more(i) = t(n + 1 - i)
      if (t(i)(1:1) == 'a') k(1) = k(1) + i
    end do
    more(0) = 'zz'
    do i = lbound(more, 1), ubound(more, 1)
      k(2) = 3*k(2) + len_trim(more(i)) + ichar(more(i)(1:1))
    end do
    allocate (of_four(n))
    of_four = pool(:)(1:4)
    k(3) = ichar(of_four(2)(2:2)) + size(of_four)
    allocate (any_length, source=pool)
    allocate (one, source=trim(pool(1)))
    k(4) = len(any_length)*100 + size(any_length) + len(one)
    deallocate (t)
  end subroutine
end module
)");
  f.write("main.f90", R"(program main
  use pools
  implicit none
  integer :: k(4)
  call starts(4, ['abcde ', 'ba    ', 'axyz  ', 'ending'], k)
  print *, k
end program
)");
  same_program(f);
}

TEST_CASE("fortran: kernels that call each other count alike") {
  const Folder f;
  f.write("k.f90", R"(module widths
  implicit none
contains
  subroutine add(n, x)
    !$moonloop noinline
    integer, intent(in) :: n
    real(8), intent(inout) :: x(n)
    integer :: i
    do i = 1, n
      x(i) = x(i) + i
    end do
  end subroutine
  subroutine wide(n, m, a)
    integer(8), intent(in) :: n, m
    real(8), intent(inout) :: a(n, m)
    integer(8) :: j
    do j = 1, m
      call add(int(n), a(:, j))
    end do
  end subroutine
  subroutine narrow(n, m, a)
    integer, intent(in) :: n, m
    real(8), intent(inout) :: a(*)
    integer :: j
    do j = 1, m
      call add(n, a((j - 1)*n + 1))
    end do
    call add(2, a(n))
  end subroutine
end module
)");
  f.write("main.f90", R"(program main
  use widths
  implicit none
  real(8) :: a(3, 4)
  a = 1
  call wide(3_8, 4_8, a)
  call narrow(3, 4, a)
  print *, a
end program
)");
  same_program(f, {"wide", "narrow"});
}
