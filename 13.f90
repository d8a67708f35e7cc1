module m
  implicit none
  type t
    real(8) :: x(3)
    integer :: k
  end type
  interface twice
    module procedure twice_r, twice_i
  end interface
contains
  subroutine s(n, q, k)
    integer, intent(in) :: n
    real(8), intent(inout) :: q(n)
    integer, intent(inout) :: k(n)
    type(t) :: p(n)
    integer :: i
    do i = 1, n
      p(i) = t([q(i), 1.0d0, -q(i)], k(i))
      call twice(p(i)%k)
      call twice(a=q(i))
      call one(p(i))
    end do
    call all_of(p)
    k = p%k
    q = q + p%x(1)
  end subroutine
  subroutine twice_r(a)
    real(8), intent(inout) :: a
    a = 2*a
  end subroutine
  subroutine twice_i(a)
    integer, intent(inout) :: a
    a = 2*a
  end subroutine
  subroutine one(v)
    type(t), intent(inout) :: v
    v%x = v%x + v%k
  end subroutine
  subroutine all_of(v)
    type(t), intent(inout) :: v(:)
    where (v%k < 9) v%k = size(v)
  end subroutine
end module
