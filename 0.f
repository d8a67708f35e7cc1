      subroutine forall_masks(n, a, b, c, k)
        implicit none
        integer, intent(in) :: n, k(n)
        real(8), intent(inout) :: a(n), b(n), c(n, n)
        integer :: i, j
      
        forall (i = 1:n, k(i) > 4) a(i) = b(i) + 0.5d0
        forall (i = 1:n, mod(k(i), 3) /= 1)
          a(i) = 2*a(i) - b(n + 1 - i)
          b(i) = a(i)*k(i)
        end forall
        forall (i = 1:n, j = 1:n, i < j) c(i, j) = c(j, i) + a(i)*b(j)
        forall (i = 1:n:2) c(i, i) = i
      end subroutine
