subroutine shift(n, m, a, b, s)
  integer n, m, i, j
  real(8) a(n, m), b(n), s, t
  !$omp parallel do private(i, t) collapse(2)
  do j = 1, m
    do i = 1, n
      t = a(i, j)*2
      a(i, j) = t + 1
    end do
  end do
  s = 0
  !$omp simd reduction(+: s)
  do i = 1, n
    s = s + b(i)
  end do
end
