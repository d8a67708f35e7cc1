subroutine twice(n, a)
  implicit none
  integer, intent(in) :: n
  real*8, intent(inout) :: a(n)
  integer :: i
  do i = 1, n
    a(i) = a(i)*2
  end do
end subroutine

subroutine top(n, a)
  implicit none
  integer, intent(in) :: n
  real*8, intent(inout) :: a(n, n)
  integer :: i, j
  do i = 1, n
    call twice(n, a(i, 1:n))
    do j = 1, i
      a(j, i) = a(j, i) + 1
    end do
  end do
end subroutine
