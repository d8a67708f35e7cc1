subroutine triangle(uplo, keep, n, a)
  implicit none
  character, intent(in) :: uplo
  character(1) :: keep
  integer, intent(in) :: n
  real(8), intent(inout) :: a(n, n)
  integer :: i, j
  if (uplo /= 'U' .and. uplo /= 'l') return
  do j = 1, n
    do i = 1, n
      if (uplo == 'U' .and. i > j) a(i, j) = 0
      if (uplo == 'l' .and. i < j) then
        if (keep >= 'K') a(i, j) = -a(i, j)
      end if
    end do
  end do
end subroutine
