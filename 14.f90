subroutine s(n, a)
  integer, intent(in) :: n
  real(8), intent(inout) :: a(n)
  if (n < 3) return
  do
    if (a(1) > 3) exit
    a(1) = a(1) + 1
    do while (a(2) < a(1))
      a(2) = a(2) + 0.5d0
      if (a(2) > 2.25d0) return
    end do
  end do
  a(3) = -1
end subroutine
