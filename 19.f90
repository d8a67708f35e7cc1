subroutine s(n, lo, a, r)
  implicit none
  integer, intent(in) :: n, lo
  real(8), intent(in) :: a(n)
  real(8), intent(inout) :: r(n)
  real(8) :: z(n)
  integer :: j
  do j = 1, n
    z(j) = 2*a(j)
  end do
  do j = lo, n
    r(j) = z(j)
  end do
end subroutine
