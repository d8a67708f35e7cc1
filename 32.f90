subroutine fill(out, a, n)
  implicit none
  real*8 a, out(n)
  integer n, i
  do i = 1, n
    out(i) = a*1.1d0 + 0.1
  end do
end
