      subroutine concurrent_masks(n, a, b, c, k)
        implicit none
        integer, intent(in) :: n, k(n)
        real(8), intent(inout) :: a(n), c(n, n)
        real(8), intent(in) :: b(n)
        integer :: i, j
      
        do concurrent (i = 1:n, k(i) > 3)
          a(i) = a(i) + b(i)
          if (a(i) > 1) a(i) = a(i) - 1
        end do
        do concurrent (i = 1:n, j = 1:n, i /= j)
          c(i, j) = c(i, j) + a(i)*b(j)
        end do
        do concurrent (i = n:1:-2)
          c(i, i) = -a(i)
        end do
      end subroutine
