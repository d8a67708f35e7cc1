subroutine s(n, a)
  integer n, i
  real a(0:n)
  !$omp parallel do
  do i = 1, n
    a(i) = a(i - 1)*2
  end do
end
