      subroutine inquiries(n, m, a, b, k)
        implicit none
        integer, intent(in) :: n, m
        real(8), intent(inout) :: a(0:n, -1:m), b(-1:n - 2)
        integer, intent(out) :: k(9)
        real(8) :: w(size(b)), v(lbound(a, 2):ubound(a, 2))
        integer :: i, j
      
        k(1) = size(a)
        k(2) = size(a, 1) + 10*size(a, dim=2)
        k(3:4) = shape(a)
        k(5:6) = lbound(a)
        k(7) = ubound(a, 2)
        k(8) = lbound(b, 1)
        k(9) = ubound(b, 1)
        v = 0
        do j = lbound(a, 2), ubound(a, 2)
          do i = lbound(a, 1), ubound(a, 1)
            a(i, j) = a(i, j) + i + j
            v(j) = v(j) + a(i, j)
          end do
        end do
        a(ubound(a, 1), :) = v/size(a, 1)
        do i = 1, size(w)
          w(i) = b(lbound(b, 1) + i - 1)
        end do
        do i = lbound(b, 1), ubound(b, 1)
          b(i) = b(i) - w(size(w))
        end do
      end subroutine
