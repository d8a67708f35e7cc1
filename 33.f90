subroutine rotate_and_scale(out, n, a)
  implicit none
  integer, intent(in) :: n
  real*8, intent(inout) :: out(n), a(n)
  integer :: i
  real*8 :: t
  do i = 1, n
    !$loopy begin tagged: input
    t = a(i)
    a(i) = out(i)
    !$loopy end tagged: input
    out(i) = 2*t
  end do
end subroutine
!$loopy begin transform
! local found = lp.find_instructions(rotate_and_scale, "tag:input")
! assert(#found == 2)
! rotate_and_scale = lp.tag_instructions(rotate_and_scale, "seen", "tag:input")
!$loopy end transform
