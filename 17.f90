subroutine s(n, m, a, b, total, most)
  integer, intent(in) :: n, m
  real(8), intent(inout) :: a(n, m), b(m)
  real(8), intent(out) :: total, most
  real(8) :: t
  integer :: i, j
  total = 0
  most = 0
  !$omp parallel private(i, t) reduction(+: total)
  !$omp do
  do j = 1, m
    t = b(j)
    !$omp simd
    do i = 1, n
      a(i, j) = 2*a(i, j) + t
    end do
  end do
  !$omp end do nowait
  !$omp single
  b(1) = 1
  !$omp end single
  !$omp barrier
  !$omp do reduction(max: most)
  do j = 1, m
    total = total + b(j)
    most = max(most, b(j))
  end do
  !$omp end do
  !$omp end parallel
end subroutine
