! Uses `multiply` as it ever did: nothing here knows which one is linked.
program main
  implicit none
  integer, parameter :: m = 130, n = 75, l = 40
  real(8) :: a(m, l), b(l, n), c(m, n)
  integer :: i, j
  do j = 1, l
    do i = 1, m
      a(i, j) = mod(i*j, 7) - 3
    end do
  end do
  do j = 1, n
    do i = 1, l
      b(i, j) = mod(i + 2*j, 5)
    end do
  end do
  c = 1
  call multiply(m, n, l, 0.5d0, a, b, c)
  print '(3f14.4)', sum(c), c(m, n), maxval(c)
end program
