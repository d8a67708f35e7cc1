      subroutine constructors(n, x, y, k)
        implicit none
        integer, intent(in) :: n
        real(8), intent(inout) :: x(n), y(n)
        integer, intent(out) :: k(n)
        integer :: i
        real(8) :: w(3), square(2, 2), tail(5)
        integer, parameter :: odd(4) = [1, 3, 5, 7], ten(10) = [(i*i, i = 1, 10)]
      
        k = [(i*(n + 1 - i), i = 1, n)]
        w = [0.25d0, 0.5d0, 0.25d0]
        square = reshape([1, 2, 3, 4], [2, 2])
        if (n < 1) return
        tail = [x(1), w, y(n)]
        x = [x(2:n), x(1)]
        y = y + [(0.5d0*x(i), i = n, 1, -1)]
        x = [(sum(y(1:i))/i, i = 1, n)] + [(maxval([x(i), y(n + 1 - i)]), i = 1, n)]
        do i = 1, n
          k(i) = k(i) + odd(1 + mod(i, 4))*ten(1 + mod(i, 10))
          y(i) = y(i) + square(1 + mod(i, 2), 2)*tail(1 + mod(i, 5)) + dot_product([x(i), y(i)], w(1:2))
        end do
      end subroutine
