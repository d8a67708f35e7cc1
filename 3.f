      subroutine concurrent_scalars(n, a, b, c)
        implicit none
        integer, intent(in) :: n
        real(8), intent(inout) :: a(n)
        real(8), intent(in) :: b(n), c(n, n)
        integer :: i, j
        real(8) :: total, largest
      
        do concurrent (i = 1:n)
          total = 0
          largest = b(i)
          do j = 1, n
            total = total + c(j, i)*b(j)
            largest = max(largest, c(j, i))
          end do
          a(i) = a(i) + total/n - largest
        end do
      end subroutine
