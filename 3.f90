      subroutine rotate(n, x, y, c, s)
      integer n, i
      real x(n), y(n), c, s, t
c$moonloop begin tagged: whole
      do i = 1, n
*$moonloop begin tagged: input
        t = c*x(i) + s*y(i)
c$moonloop end tagged: input
        y(i) = c*y(i) - s*x(i)
        x(i) = t
      end do
!$moonloop end tagged: whole
      n1 = n
      end
