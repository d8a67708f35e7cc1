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

TEST_CASE("fortran interface: records that bundle pointers to arrays") {
  const Folder f;
  f.write("k.f90", R"(module bundles
  implicit none
  type inner
    real(8), pointer :: w(:) => null()
  end type
  type bundle
    integer :: n
    real(8), pointer :: p(:) => null()
    real(8), pointer :: s
    integer, pointer :: k(:, :)
    type(inner) :: i
  end type
contains
  subroutine work(q)
    type(bundle), intent(inout) :: q
    integer :: i
    do i = lbound(q%p, 1), ubound(q%p, 1)
      q%p(i) = q%p(i) + q%s*i
    end do
    q%k(1, 2) = q%k(1, 2) + size(q%p) + q%n
  end subroutine
  subroutine top(n, x, k, s)
    integer, intent(in) :: n
    real(8), intent(inout), target :: x(0:n), s
    integer, intent(inout), target :: k(3, 4)
    type(bundle) :: q, r
    q%n = n
    q%p => x
    q%s => s
    q%k => k(:, 2:4)
    call work(q)
    r%n = q%n
    r%s => q%s
    r%k => q%k
    r%p => x(1::2)
    r%i%w => q%p
    r%i%w(2) = 5
    if (n > 4) r%s => x(0)
    call work(r)
  end subroutine
  subroutine columns(n, m, x)
    integer, intent(in) :: n, m
    real(8), intent(inout), target :: x(n, m)
    real(8), target :: s
    integer, target :: k(3, 4)
    type(bundle) :: q
    integer :: j
    k = 0
    s = 2
    q%s => s
    q%k => k
    q%n = n
    do j = 1, m
      q%p => x(:, j)
      call work(q)
    end do
    x(1, 1) = x(1, 1) + k(1, 2)
  end subroutine
  subroutine parts(w, r)
    type(bundle), intent(inout), target :: w
    real(8), intent(inout) :: r
    real(8), pointer :: a(:), b
    a => w%p
    b => w%s
    r = r + sum(a) + b
    a(1) = 5
  end subroutine
  subroutine bounds(n, x)
    integer, intent(in) :: n
    real(8), intent(inout), target :: x(n)
    type(bundle) :: q
    q%p(0:) => x
    call work(q)
  end subroutine
  subroutine nothing(n, x)
    integer, intent(in) :: n
    real(8), intent(inout), target :: x(n)
    type(bundle) :: q
    q%p => x
    call work(q)
  end subroutine
end module
)");
  f.write("main.f90", R"(program main
  use bundles
  implicit none
  real(8), target :: x(0:5), y(4, 3), s
  integer, target :: k(3, 4)
  real(8) :: r
  type(bundle) :: w
  x = [1, 2, 3, 4, 5, 6]
  s = 0.5d0
  k = 1
  call top(5, x, k, s)
  print *, x, s, k
  call top(3, x, k, s)
  print *, x, s, k
  y = 1
  call columns(4, 3, y)
  print *, y
  w%p => x(2:4)
  w%s => s
  r = 1
  call parts(w, r)
  print *, r, x
end program
)");
  same_program(f, {"top", "columns", "parts"});
  const Outcome out = tool("show k.f90 --what imports", f.str());
  CHECK(has(out.out, "whose first subscripts are others than its target's, is not supported"));
  CHECK(has(out.out, "a pointer that points nowhere here, which is not supported"));
}

TEST_CASE("fortran: a function may not get a pointer whose first subscripts are of its own") {
  const Folder f;
  const auto says = [&](const std::string& statement) {
    f.write("k.f90", R"(module m
  implicit none
contains
  real(8) function total(p)
    real(8), pointer, intent(in) :: p(:)
    total = lbound(p, 1)*1000 + sum(p)
  end function
  subroutine work(n, x, r)
    integer, intent(in) :: n
    real(8), target, intent(in) :: x(n)
    real(8), intent(out) :: r
    real(8), pointer :: q(:)
    )" + statement + R"(
    r = total(q)
  end subroutine
end module
)");
    return tool("gen k.f90 --kernel work --target c", f.str());
  };
  const Outcome refused = says("q(5:) => x");
  CHECK(refused.status == 1);
  CHECK(has(refused.err, "k.f90:14:5: error: `q`, whose first subscripts are others than its "));
  CHECK(says("q => x").status == 0);
  CHECK(says("q => x(2:n)").status == 0);
}
