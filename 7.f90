subroutine sums(n, a, k, h, s, most)
  integer, intent(in) :: n, k(n)
  integer, intent(out) :: h(0:9)
  real(8), intent(in) :: a(n, n)
  real(8), intent(out) :: s, most
  integer i, j
  s = 0.5d0
  !$omp parallel do collapse(2) reduction(+: s)
  do j = 1, n
    do i = 1, n
      s = s + a(i, j)
    end do
  end do
  most = 0
  !$omp parallel do reduction(max: most)
  do i = 1, n
    most = max(most, a(i, i))
  end do
  h = 0
  !$omp parallel do
  do i = 1, n
    !$omp atomic
    h(mod(k(i), 10)) = h(mod(k(i), 10)) + 1
  end do
end
