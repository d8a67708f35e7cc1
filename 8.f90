subroutine heat(n, a, b, s)
  integer, intent(in) :: n
  real(8), intent(inout) :: a(n, n), b(n, n)
  real(8), intent(out) :: s
  integer i, j
  !$acc parallel loop collapse(2) copyin(a) copyout(b)
  do j = 2, n - 1
    do i = 2, n - 1
      b(i, j) = a(i, j) + 0.1d0*(a(i - 1, j) + a(i + 1, j) + a(i, j - 1) + a(i, j + 1))
    end do
  end do
  !$acc kernels loop gang
  do j = 2, n - 1
    !$acc loop seq
    do i = 2, n - 1
      a(i, j) = a(i - 1, j) + b(i, j)
    end do
  end do
  s = 0
  !$acc parallel loop reduction(+: s)
  do i = 1, n
    s = s + a(i, i)
  end do
end
