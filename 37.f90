subroutine both(nelts, n, f, d, result)
  integer, intent(in) :: nelts, n
  real*8, intent(in) :: f(n, n, nelts), d(n, n)
  real*8, intent(inout) :: result(n, n, nelts)
  call xderiv(nelts, n, f, d, result)
  call yderiv(nelts, n, f, d, result)
end subroutine
