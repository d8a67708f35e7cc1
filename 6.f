      subroutine where_nested(n, a, b, k)
        implicit none
        integer, intent(in) :: n
        real(8), intent(inout) :: a(n, n)
        real(8), intent(in) :: b(n, n)
        integer, intent(inout) :: k(n, n)
      
        where (k > 2)
          where (a > b)
            a = a - b
          elsewhere (k > 6)
            a = b
            k = 1
          elsewhere
            k = 0
          end where
          k = k + 1
        elsewhere
          where (b > 0.5d0) a = 0.5d0*a
          k = -1
        end where
      end subroutine
