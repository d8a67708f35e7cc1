      subroutine where_overlap(n, a, c)
        implicit none
        integer, intent(in) :: n
        real(8), intent(inout) :: a(n), c(n, n)
      
        where (a(1:n - 1) > 0.5d0) a(2:n) = a(1:n - 1) + 1
        where (a(n:1:-1) > 0.75d0)
          a = 0.5d0*a(n:1:-1)
        elsewhere
          a = a + 0.25d0
        end where
        where (c(:, 2:n) > c(:, 1:n - 1)) c(:, 1:n - 1) = c(:, 2:n)
        where (transpose(c) > c) c = -transpose(c)
      end subroutine
