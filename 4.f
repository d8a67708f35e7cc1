      subroutine where_masks(n, a, b, k)
        implicit none
        integer, intent(in) :: n
        real(8), intent(inout) :: a(n), b(n)
        integer, intent(inout) :: k(n)
      
        where (k > 6)
          a = a + b
          b = 0
        elsewhere (k > 3)
          a = a - b
          k = k + 10
        elsewhere
          a = b
          k = -k
        end where
        where (a < 0) a = -a
        where (k > 0) b = sqrt(a)/k
        where (a(2:n) > a(1:n - 1)) b(2:n) = a(1:n - 1)
      end subroutine
