      subroutine along_axes(n, m, a, x, y, k)
        implicit none
        integer, intent(in) :: n, m
        real(8), intent(inout) :: a(n, m)
        real(8), intent(out) :: x(n), y(m)
        integer, intent(out) :: k(m)
      
        x = sum(a, dim=2)
        y = max(0.0d0, maxval(a, dim=1))
        k = count(a > 0.5d0, dim=1)
        a = a + spread(x, dim=2, ncopies=m)*spread(y, 1, n)
        y = y - min(1.0d0, minval(a, dim=1))
        x = x + sum(a*spread(y, 1, n), dim=2, mask=a > 1)
        where (any(a > 2, dim=1)) k = -k
      end subroutine
