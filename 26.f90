subroutine bounds(n, length, x, total)
  implicit none
  integer, intent(in) :: n, length(n)
  real(8), intent(in) :: x(0:n + 9)
  real(8), intent(out) :: total(n)
  integer :: i, j, m
  m = n
  do i = 1, m
    m = 0
    total(i) = m
    do j = i - 1, i + length(i) - 1
      total(i) = total(i) + x(j)
    end do
  end do
end subroutine
