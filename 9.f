      subroutine merges(n, a, b, k)
        implicit none
        integer, intent(in) :: n
        real(8), intent(inout) :: a(n), b(n)
        integer, intent(inout) :: k(n)
        integer :: i
        real(8) :: limit
      
        limit = merge(0.5d0, 0.25d0, n > 50)
        do i = 1, n
          k(i) = merge(k(i), 9 - k(i), a(i) < limit)
        end do
        a = merge(a, b, k > 4)
        b = merge(1.0d0, merge(a, -b, a > b), k == 7)
      end subroutine
