subroutine rows(m, l, a, c)
  implicit none
  integer, intent(in) :: m, l
  real*8, intent(in) :: a(m, l)
  real*8, intent(inout) :: c(m)
  integer :: i, k
  do i = 1, m
    do k = 1, l
      c(i) = c(i) + a(i, k)
    end do
  end do
end subroutine
