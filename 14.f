      subroutine selections(n, k, x, sums)
        implicit none
        integer, intent(in) :: n
        integer, intent(inout) :: k(n)
        real(8), intent(in) :: x(n)
        real(8), intent(out) :: sums(0:3)
        integer :: i, class
      
        sums = 0
        do i = 1, n
          select case (k(i))
          case (0)
            class = 0
          case (1:3, 8)
            select case (x(i) > 0.5d0)
            case (.true.)
              class = 1
            case (.false.)
              class = 2
            end select
          case (4, 5)
            class = mod(i, 4)
          case default
            class = 3
          end select
          sums(class) = sums(class) + x(i)
          k(i) = class
        end do
      end subroutine
