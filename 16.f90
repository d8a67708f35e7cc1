subroutine s(n, a, b, total)
  implicit none
  integer, intent(in) :: n
  real(8), intent(inout) :: a(0:n + 1, 3), b(n + 2)
  real(8), intent(out) :: total
  integer :: i, j
  total = 0
  j = 2
  associate (x => b, column => a(:, j), inner => a(1:n, 3), first => a(0, 1), back => b(n + 2:1:-1), &
             both => n*2, last => n + 2)
    do i = 1, n
      x(i) = 2*x(i) + column(i) + inner(i)
      column(i + 1) = x(i)
      inner(i) = back(i)
    end do
    first = first + both*2.5d0
    total = sum(column(1:last)) + ubound(x, 1) + sum(back(2:))
  end associate
  associate (whole => a)
    whole(0, 1) = whole(0, 1) + 1
  end associate
end subroutine
