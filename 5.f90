subroutine sweep(n, a)
  integer n, i, j
  real a(0:n, 0:n)
  do i = 1, n
    do j = 1, n - 1
      a(i, j) = a(i - 1, j + 1) + 1
    end do
  end do
end
!$moonloop begin transform
! sweep = lp.prioritize_loops(sweep, "j, i")
!$moonloop end transform
