subroutine sections(n, a, b, x, y, s, k)
  implicit none
  integer, intent(in) :: n
  real(8), intent(inout) :: a(n, n), b(0:n-1, n), x(n), y(-1:n-2)
  real(8), intent(out) :: s(9)
  integer, intent(inout) :: k(n)
  real(8) :: w(n)
  integer :: i
  s = 0
  w = 2*x + y
  a(:, 1) = w
  b = a + 1
  if (n > 1) a(2:n, :) = a(1:n-1, :)*0.5d0
  x(1:n:2) = x(n:1:-2) + 1
  x = x(n:1:-1)
  y(:) = sqrt(abs(y(:))) + merge(x, w, x > 0.5d0)
  k = k + int(10*x)
  s(1) = sum(a)
  s(2) = maxval(x(2:))
  s(3) = minval(k)
  s(4) = dot_product(x, w)
  s(5) = count(x > 0.5d0)
  if (any(k == 3)) s(6) = 1
  if (all(k >= 0)) s(7) = product(x(1:n:3))
  s(8) = maxval(k)
  do i = 1, n
    a(i, i:n) = a(i, i:n) - sum(b(:i-1, i))/n
  end do
  s(9) = sum(abs(a(:, n:n)))
end subroutine
