subroutine top(n, a, b, k)
  implicit none
  integer, intent(in) :: n
  real(8), intent(inout) :: a(0:n-1, n), b(2*n)
  integer, intent(inout) :: k(n)
  integer :: i, m
  m = n
  do i = 1, n
    call scale(m, a(:, i), b(i) + 1, k(i))
    call count(k(i), k(i) + 1)
    call count(m, 0)
  end do
  call scale(n, b(2*n:2:-2), 0.5d0, k(max(1, n)))
  call scale(n, b(1:2*n:2), b(1), m)
  call shift(k(k(1)*0 + 1), n)
  call fill(n, a)
  if (m > 3) b(1) = m
end subroutine

subroutine scale(n, x, by, last)
  implicit none
  integer, intent(in) :: n
  real(8), intent(inout) :: x(0:n-1)
  real(8), intent(in) :: by
  integer, intent(out) :: last
  integer :: i
  last = 0
  if (n < 2) return
  do i = 0, n - 1
    x(i) = x(i)*by
    if (x(i) > 0.5d0) last = i
  end do
end subroutine

subroutine count(k, by)
  implicit none
  integer :: k, by
  k = k + by
end subroutine

! The dummy is what the loop runs with.
subroutine shift(k, n)
  implicit none
  integer :: k, n, s
  s = 0
  do k = 1, n
    s = s + k
  end do
  k = k + s
end subroutine

subroutine fill(n, a)
  implicit none
  integer :: n
  real(8) :: a(n, *)
  integer :: i
  do i = 1, n
    a(i, n) = a(i, 1) + i
  end do
end subroutine
