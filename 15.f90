subroutine top(n, a)
  integer, intent(in) :: n
  real(8), intent(inout) :: a(n, n)
  integer :: j
  do j = 1, n
    call sweep(n, a(:, j))
  end do
end subroutine
subroutine sweep(n, x)
  integer, intent(in) :: n
  real(8), intent(inout) :: x(n)
  integer :: i
  do i = 2, n
    x(i) = x(i) + x(i - 1)
  end do
end subroutine
