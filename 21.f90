subroutine choices(n, x, kinds, count)
  implicit none
  integer, intent(in) :: n
  real(4), intent(inout) :: x(n)
  integer, intent(inout) :: kinds(n), count
  integer :: i
  logical :: small, both
  count = 0
  if (n <= 0) return
  do i = 1, n
    small = x(i) < 0.5
    both = small .eqv. kinds(i) > 4
    if (small .and. .not. both) then
      x(i) = x(i)*2
    else if (x(i) > 0.9 .or. kinds(i) == 3) then
      x(i) = 0
      count = count + 1
    else
      x(i) = sqrt(x(i))
    end if
    select case (kinds(i))
    case (:1)
      kinds(i) = -1
    case default
      kinds(i) = kinds(i) + 10
    case (3, 5:7)
      kinds(i) = kinds(i)*kinds(i)
    end select
    if (both) count = count + 100
  end do
  if (count > 3) then
    x(1) = count
    return
  end if
  x(n) = -1
end subroutine
