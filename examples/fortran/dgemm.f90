! A matrix product as it may stand in an old program, and how it shall run: by tiles, in parallel.
subroutine multiply(m, n, l, alpha, a, b, c)
  implicit none
  integer :: m, n, l, i, j, k
  real(8) :: alpha, a(m, l), b(l, n), c(m, n)
  !$omp parallel do private(k, i)
  do j = 1, n
    do k = 1, l
      do i = 1, m
        c(i, j) = c(i, j) + alpha*b(k, j)*a(i, k)
      end do
    end do
  end do
end subroutine

!$moonloop begin transform
! multiply = lp.split_iname(multiply, "i", 64)
! multiply = lp.split_iname(multiply, "j", 16, {outer_tag = "par", do_tagged_check = false})
! multiply = lp.prioritize_loops(multiply, "j_outer, i_outer, j_inner, k, i_inner")
!$moonloop end transform
