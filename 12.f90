subroutine top(n, x, i)
  implicit none
  integer, intent(in) :: n
  real(8), intent(inout) :: x(n)
  integer, intent(inout) :: i
  real(8) :: factor
  integer :: j
  factor = 2
  do j = 1, n
    call change(j)
    x(j) = x(j)*factor + inner(j)
  end do
contains
  subroutine change(i)
    integer, intent(in) :: i
    integer :: j
    j = i*2
    factor = factor + inner(j) + x(i)
  end subroutine
  real(8) function inner(k)
    integer, intent(in) :: k
    real(8) :: factor
    factor = 0.25d0
    i = i + 1
    inner = factor*k
  end function
end subroutine
