      subroutine tables(n, k, x)
        implicit none
        integer, intent(in) :: n
        integer, intent(inout) :: k(n)
        real(8), intent(inout) :: x(n)
        integer :: next(0:9), i
        real(8) :: weight(3), bent(2, 2), first
        data next /3, 1, 4, 2*5, 9, 2, 6, 0, 8/
        data weight /0.25d0, 0.5d0, 0.25d0/, first /1.5d0/
        data bent /1.0d0, -0.5d0, 0.5d0, 2.0d0/
      
        do i = 1, n
          k(i) = next(max(0, min(9, k(i))))
          x(i) = x(i)*bent(1 + mod(k(i), 2), 1 + mod(i, 2))
        end do
        do i = 2, n - 1
          x(i) = weight(1)*x(i - 1) + weight(2)*x(i) + weight(3)*x(i + 1)
        end do
        if (n > 0) x(1) = x(1) + first
      end subroutine
