subroutine steps(n, by, x, y, last)
  implicit none
  integer, intent(in) :: n, by
  real(8), intent(inout) :: x(n), y(n)
  integer, intent(out) :: last(3)
  integer :: i, ix, width
  do i = 1, n, by
    x(i) = x(i) + i
  end do
  last(1) = i
  do i = n, 1, -by
    y(i) = y(i) - x(i)
  end do
  last(2) = i
  width = by + 1
  ix = 1
  do i = 2, n, width
    y(i) = y(i)*x(ix)
    ix = ix + by
  end do
  last(3) = ix
end subroutine
