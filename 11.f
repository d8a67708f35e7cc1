      subroutine newton(n, x, y, rounds)
        implicit none
        integer, intent(in) :: n
        real(8), intent(in) :: x(n)
        real(8), intent(out) :: y(n)
        integer, intent(out) :: rounds(n)
        integer :: i
        real(8) :: change
      
        do i = 1, n
          y(i) = 1
          rounds(i) = 0
          change = 1
          do while (abs(change) > 1.0d-7 .and. rounds(i) < 20)
            change = (y(i)**3 + y(i) - x(i))/(3*y(i)**2 + 1)
            y(i) = y(i) - change
            rounds(i) = rounds(i) + 1
          end do
        end do
      end subroutine
