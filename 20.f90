subroutine loops(n, x, y, last)
  implicit none
  integer, intent(in) :: n
  real(8), intent(inout) :: x(0:n + 3), y(n)
  integer, intent(out) :: last(6)
  integer :: i, j
  do i = 1, n
    y(i) = x(i - 1) + 2*x(i)
  end do
  last(1) = i
  do i = n, 1, -1
    x(i) = x(i) + x(i + 1)
  end do
  last(2) = i
  do i = 2, n, 3
    y(i) = y(i) - 1
  end do
  last(3) = i
  do i = n, 2, -2
    y(i) = y(i)/y(i - 1)
  end do
  last(4) = i
  do i = 1, n/2
    do j = i, n - i + 1
      y(j) = y(j) + x(i)
    end do
  end do
  last(5) = i
  do i = -n/3 + 2, (n + 5)/4
    if (i >= 0) x(i) = x(i)*0.5d0
  end do
  last(6) = i
end subroutine
