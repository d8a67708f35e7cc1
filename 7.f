      subroutine products(n, m, a, b, c, x, y)
        implicit none
        integer, intent(in) :: n, m
        real(8), intent(in) :: a(n, m), b(m, n), x(m)
        real(8), intent(inout) :: c(n, n), y(n)
      
        y = 0.5d0*y + matmul(a, x)
        y = y + matmul(x, b)
        c = matmul(a, b) + transpose(c)
        c = c - matmul(transpose(b), transpose(a))/2
        if (n > 1) c(1:2, 1:2) = matmul(c(1:2, 1:2), reshape([0.5d0, 0.25d0, 0.0d0, 1.0d0], [2, 2]))
      end subroutine
