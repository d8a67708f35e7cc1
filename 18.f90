subroutine s(n, d, p)
  implicit none
  integer, intent(in) :: n
  real(8), intent(inout) :: d(*)
  real(8), intent(out) :: p
  p = d(n)
  d(n - 1) = p
end subroutine
