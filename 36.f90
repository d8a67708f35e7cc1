subroutine halves(m, b)
  implicit none
  integer, intent(in) :: m
  real*8, intent(inout) :: b(m)
  real*8 :: a(m/2, m/2)
  integer :: i, j
  do j = 1, m/2
    do i = 1, m/2
      a(i, j) = b(i)*j
    end do
  end do
  do i = 1, m/2
    b(i) = a(i, m/2)
  end do
end subroutine
