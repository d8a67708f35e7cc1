subroutine fill(out, out2, inp, n)
  integer, intent(in) :: n
  real*8, intent(inout) :: out(n), out2(n)
  real*8, intent(in) :: inp(n)
