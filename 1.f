      subroutine forall_overlap(n, a, c)
        implicit none
        integer, intent(in) :: n
        real(8), intent(inout) :: a(n), c(n, n)
        integer :: i, j
      
        forall (i = 2:n) a(i) = a(i - 1)
        if (n < 2) return  ! for gfortran 12, which allocates -2 elements for the mask over 2:-1
        forall (i = 2:n - 1, a(i) > 0.25d0) a(i) = 0.5d0*(a(i - 1) + a(i + 1))
        forall (i = 1:n) a(i) = a(n + 1 - i) + a(i)
        forall (i = 1:n, j = 1:n) c(i, j) = c(j, i)
        forall (i = 2:n - 1) c(i, :) = c(i - 1, :) + c(i + 1, :)
      end subroutine
