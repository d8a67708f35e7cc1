subroutine leaving(n, x, k, found)
  implicit none
  integer, intent(in) :: n
  real(8), intent(inout) :: x(n)
  integer, intent(inout) :: k(n)
  integer, intent(out) :: found(5)
  integer :: i, j
  found = 0
  do i = 1, n
    if (k(i) == 3) exit
    x(i) = x(i) + 1
  end do
  found(1) = i
  do i = 1, n
    if (x(i) < 0.3d0) cycle
    x(i) = x(i)*2
    if (k(i) > 7) cycle
    k(i) = k(i) + 1
  end do
  outer: do j = 1, n
    do i = 1, j
      if (k(i) == 5) cycle outer
      if (x(i) > 3.5d0) exit outer
      x(j) = x(j) + 0.25d0
    end do
    found(2) = j
  end do outer
  found(3) = i
  found(4) = j
  do i = n, 1, -2
    if (x(i) > 2.5d0) then
      x(i) = -x(i)
      if (k(i) < 4) return
    else if (k(i) == 2) then
      exit
    end if
    k(i) = -k(i)
  end do
  if (i > 3) then
    found(5) = i
    if (k(1) > 0) return
  else if (i > 1) then
    if (k(2) > 0) return
    found(5) = -1
  end if
  x(:) = x + found(5)
end subroutine
