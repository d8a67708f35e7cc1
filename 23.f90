subroutine wide(n, m, first, a, k, t, places)
  implicit none
  integer(8), intent(in) :: n, first
  integer, intent(in) :: m
  real(8), intent(inout) :: a(n, m)
  integer, intent(inout) :: k(n)
  integer(8), intent(inout) :: t(n), places(n)
  integer(8) :: i, from(2)
  integer :: j
  do i = 1, n
    t(i) = t(i) + i*i*100000 + mod(i, 7_8)
    k(i) = int(i*i) + 1
  end do
  do i = first, first + n - 1
    t(i - first + 1) = t(i - first + 1) + i/2
  end do
  do i = first + 2*n, first + 1, -2
    t((i - first)/2 + mod(n, 2_8)*0) = t((i - first)/2) - i
  end do
  from = [first, first + min(n, 3_8) - 1]
  do i = from(1), from(2), max(1_8, n/100)
    places(i - first + 1) = i
  end do
  do j = 1, m
    a(2:n, j) = a(1:n - 1, j) + j*j + first
    if (n > 0) a(1, j) = sum(a(:, j)) + maxval(t(1:n))
    do i = 1, n
      if (k(i) > j) k(i) = k(i) - j
    end do
  end do
end subroutine
