subroutine top(n, x, y)
  implicit none
  integer, intent(in) :: n
  real(8), intent(inout) :: x(n), y(n)
  real(8), external :: mean
  integer, external :: half
  logical, external :: small
  integer :: i
  if (n < 1) return
  x = x/mean(n, x)
  do i = half(n) + 1, n
    if (small(x(i))) then
      y(i) = mean(half(n) + 1, y)
    else if (small(y(i)*mean(half(half(n)) + 1, x)) .or. i == n) then
      y(i) = -1
    end if
  end do
end subroutine

real(8) function mean(n, x)
  implicit none
  integer, intent(in) :: n
  real(8), intent(in) :: x(n)
  integer :: i
  mean = 0
  do i = 1, n
    mean = mean + x(i)
  end do
  mean = mean/n
end function

integer function half(n)
  implicit none
  integer, intent(in) :: n
  half = n/2
end function

logical function small(x)
  implicit none
  real(8), intent(in) :: x
  small = .true.
  if (x < 0.5d0) return
  small = .false.
end function
