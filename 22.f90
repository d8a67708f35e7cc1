subroutine arithmetic(n, a, b, s, z, i8, i2, out, k)
  implicit none
  integer, intent(in) :: n
  integer, intent(in) :: a(n), b(n)
  real, intent(in) :: s(n)
  complex(8), intent(inout) :: z(n)
  integer(8), intent(inout) :: i8(n)
  integer(2), intent(inout) :: i2(n)
  real(8), intent(out) :: out(12, n)
  integer, intent(out) :: k(8, n)
  integer :: i
  real(8), parameter :: w(3) = (/ 0.25d0, 0.5d0, 0.25d0 /)
  do i = 1, n
    k(1, i) = (a(i) - 5)/(b(i) + 1)
    k(2, i) = mod(a(i) - 5, b(i) + 1) + 10*modulo(a(i) - 5, b(i) + 1)
    k(3, i) = sign(a(i), b(i) - 4) + dim(a(i), b(i)) + abs(a(i) - 7)
    k(4, i) = int(s(i)*10 - 5) + merge(1, 2, a(i) > b(i))
    k(5, i) = iand(a(i), b(i)) + 16*ior(a(i), b(i)) + 256*ieor(a(i), b(i))
    k(6, i) = max(a(i), b(i), 4) - min(a(i), b(i))
    k(7, i) = (a(i) - 4)**3
    k(8, i) = i8(i) + i2(i)
    i8(i) = i8(i)*3000000000_8 + a(i)
    i2(i) = i2(i) + int(a(i), 2)
    out(1, i) = s(i)/3 + 1.5d0*a(i)
    out(2, i) = a(i)/2 + dble(s(i))**2 + 2.0d0**b(i)
    out(3, i) = sin(s(i)) + exp(dble(s(i))) - log(s(i) + 1)
    out(4, i) = mod(dble(s(i)) - 0.5d0, 0.2d0) + modulo(dble(s(i)) - 0.5d0, 0.2d0)
    out(5, i) = sign(2.0d0, s(i) - 0.5d0) + aint(10*s(i)) + anint(10*s(i))
    out(6, i) = atan2(dble(s(i)), 0.5d0) + atan(s(i)) + hypot(3.0d0, 4.0d0)
    out(7, i) = abs(z(i)) + real(z(i)) - aimag(z(i))
    out(8, i) = w(1 + mod(i, 3))
    out(9, i) = max(s(i), 0.5) + min(dble(s(i)), 0.25d0)
    out(10, i) = -s(i) + (s(i) - (s(i) - 1))
    out(11, i) = 1/3 + 1.0/3 + 7/2*0.5
    out(12, i) = gamma(1 + dble(s(i))) + erf(s(i)) + tanh(s(i))
    z(i) = conjg(z(i))*cmplx(s(i), 1.0, 8) + (0.5d0, -1)
  end do
end subroutine
