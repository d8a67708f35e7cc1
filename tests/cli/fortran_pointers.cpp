// Pointers, optional arguments, blocks and polymorphic arguments, in a program whose routines are
// replaced.
#include "tests/cli/fortran_program.h"

using namespace moonloop::test;

TEST_CASE("fortran interface: pointers, optional arguments, blocks and polymorphic arguments") {
  const Folder f;
  f.write("k.f90", R"(module m
  implicit none
  type cell
    real(8), pointer :: x(:)
    real(8), allocatable :: y(:)
    integer :: n
  end type
  real(8), pointer :: shared(:,:)
  type scaling
    real(8) :: by
  contains
    procedure :: apply
  end type
  type, extends(scaling) :: shifting
    real(8) :: to
  end type
contains
subroutine apply(this, n, a)
  class(scaling), intent(inout) :: this
  integer, intent(in) :: n
  real(8), intent(inout) :: a(n)
  integer :: i
  do i = 1, n
    a(i) = a(i)*this%by
  end do
  this%by = this%by + 1
end subroutine
subroutine swap(n, m, a, b)
  integer, intent(in) :: n, m
  real(8), target, intent(inout) :: a(n), b(n)
  real(8), pointer :: p(:), q(:), t(:)
  integer :: i, k
  p => a
  q => b
  do k = 1, m
    do i = 2, n-1
      q(i) = 0.5d0*(p(i-1) + p(i+1))
    end do
    if (p(3) > 100) exit
    t => p
    p => q
    q => t
  end do
  p(1) = p(1) + 10
end subroutine
subroutine pick(n, a, b, mode)
  integer, intent(in) :: n, mode
  real(8), target, intent(inout) :: a(n,n), b(0:n-1)
  real(8), pointer :: p(:), w(:)
  integer :: i
  nullify(p)
  allocate(w(n))
  w = 2
  select case (mode)
  case (1); p => a(:,2)
  case (2); p => a(2,:)
  case (3); p => b
  case (4); p(3:) => a(n:1:-1,1)
  case default; p => w
  end select
  if (.not. associated(p)) return
  do i = lbound(p,1), ubound(p,1)
    p(i) = p(i) + i
  end do
  b(0) = b(0) + sum(p) + size(p)
  deallocate(w)
end subroutine
subroutine last(n, a, s)
  integer, intent(in) :: n
  real(8), target, intent(inout) :: a(n,n)
  real(8), intent(out) :: s
  real(8), pointer :: p(:), q(:)
  integer :: i, j
  q => a(:,1)
  do i = 1, n
    p => a(:,i)
    if (p(1) > q(1)) q => p
    do j = 1, n
      p(j) = p(j)*1.5d0
    end do
  end do
  s = sum(q) + q(2)
end subroutine
subroutine comp(c, b)
  type(cell), intent(inout) :: c
  real(8), intent(in) :: b(:)
  integer :: i
  do i = 1, c%n
    c%x(i) = c%y(i) + b(i)
    shared(i, 1) = shared(i, 1) + c%x(i)
  end do
end subroutine
subroutine opt(n, a, b, c, total, ok, k)
  integer, intent(in) :: n
  real(8), intent(inout) :: a(n)
  real(8), intent(in), optional :: b(:)
  real(8), intent(in), optional :: c
  real(8), intent(out), optional :: total
  logical, intent(inout), optional :: ok
  integer, intent(in), optional :: k
  integer :: i, last
  real(8) :: t
  last = n
  if (present(k)) last = k
  t = 0
  do i = 1, last
    if (present(b)) then
      a(i) = a(i) + b(i)
    else
      a(i) = a(i)*2
    end if
    if (present(c)) a(i) = a(i)*c
    t = t + a(i)
  end do
  if (present(total)) total = t
  if (present(ok)) ok = ok .and. t > 0
end subroutine
subroutine use_opt(n, a, b, c, total)
  integer, intent(in) :: n
  real(8), intent(inout) :: a(n)
  real(8), intent(in), optional :: b(n), c
  real(8), intent(inout), optional :: total
  logical :: flag
  call opt(n, a)
  flag = .true.
  call opt(n, a, c=3d0, ok=flag)
  call opt(n, a, b, total=total)
  call opt(k=2, n=n, a=a, c=c)
  if (flag) a(1) = a(1) + f(2d0) + f(3d0, 1d0)
contains
  real(8) function f(x, y)
    real(8), intent(in) :: x
    real(8), intent(in), optional :: y
    f = x
    if (present(y)) f = f + y
  end function
end subroutine
subroutine blocks(n, a, s)
  integer, intent(in) :: n
  real(8), intent(inout) :: a(n)
  real(8), intent(out) :: s
  integer :: i
  real(8) :: t
  t = 1
  do i = 1, n
    block
      real(8) :: t, w(3)
      t = a(i)*2
      w = t
      a(i) = sum(w) + 1
    end block
    outer: block
      real(8) :: t
      integer :: j
      t = 0
      do j = 1, i
        t = t + 1
        if (t > 3) exit outer
      end do
      a(i) = a(i) + t
    end block outer
  end do
  s = t
end subroutine
subroutine crit(n, a, t, u)
  integer, intent(in) :: n
  real(8), intent(in) :: a(n)
  real(8), intent(inout) :: t, u
  integer :: i
  !$omp parallel do
  do i = 1, n
    !$omp critical
    t = t + a(i)
    u = max(u, a(i))
    !$omp end critical
  end do
end subroutine
end module
)");
  f.write("main.f90", R"(program main
  use m
  implicit none
  integer, parameter :: n = 7
  real(8), target :: a(n), b(n), c(n,n), s, t
  type(cell) :: z
  type(shifting) :: both
  integer :: i, mode
  do mode = 0, 3
  do i = 1, n; a(i) = i*i; b(i) = 2*i; end do
  call swap(n, mode, a, b)
  print '(7f10.4)', a, b
  end do
  do mode = 0, 4
    do i = 1, n; b(i) = 2*i; c(:,i) = i + b; end do
    call pick(n, c, b, mode)
    print '(7f10.4)', c, b
  end do
  call last(n, c, s)
  print '(7f12.4)', c, s
  allocate(z%x(n), z%y(n), shared(n,2))
  z%n = 5; z%x = 1; z%y = 3; shared = 2
  call comp(z, b)
  print '(7f12.4)', z%x, z%y, shared
  deallocate(z%x)
  z%x => c(2,:)
  call comp(z, b)
  print '(7f12.4)', c, shared
  s = 4
  call use_opt(n, a)
  print '(7f12.4)', a
  call use_opt(n, a, b)
  print '(7f12.4)', a
  call use_opt(n, a, b, 2d0, t)
  print '(7f12.4)', a, t
  call use_opt(n, a, total=t, c=s)
  print '(7f12.4)', a, t
  call opt(n, a, c(2,:), s, t, k=4)
  print '(7f12.4)', a, t
  call blocks(n, a, s)
  print '(7f16.4)', a, s
  t = 0; s = 0
  call crit(n, a, t, s)
  print '(7f16.2)', t, s
  both = shifting(3d0, 4d0)
  call both%apply(n, a)
  print '(7f16.4)', a, both%by, both%to
end program
)");
  same_program(f, {"apply", "swap", "pick", "last", "comp", "opt", "use_opt", "blocks", "crit"});
}
