      subroutine complex_arrays(n, z, w, x, total)
        implicit none
        integer, intent(in) :: n
        complex(8), intent(inout) :: z(n)
        complex(4), intent(inout) :: w(n)
        real(8), intent(inout) :: x(n)
        complex(8), intent(out) :: total
        complex(8) :: turn
        integer :: i
      
        total = (0.0d0, 0.0d0)
        do i = 1, n
          turn = cmplx(cos(x(i)), sin(x(i)), kind=8)
          z(i) = z(i)*turn + conjg(z(i))/2
          total = total + z(i)/(turn + (2.0d0, 0.5d0))
          x(i) = abs(z(i)) + real(z(i)) - aimag(z(i))**2
          w(i) = w(i)*(0.0, 1.0) + cmplx(z(i), kind=4)
          if (real(w(i)) > 0.5 .and. aimag(w(i)) > 0.5) w(i) = -w(i)
        end do
        z = z + conjg(z(n:1:-1))
      end subroutine
