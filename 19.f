      subroutine integer_kinds(n, k1, k2, k4, k8, x)
        implicit none
        integer, intent(in) :: n
        integer(1), intent(inout) :: k1(n)
        integer(2), intent(inout) :: k2(n)
        integer(4), intent(inout) :: k4(n)
        integer(8), intent(inout) :: k8(n)
        real(8), intent(out) :: x(n)
        integer(8), parameter :: prime = 1000000007_8
        integer :: i
      
        do i = 1, n
          k8(i) = (k8(i) + 1)*prime + k4(i)
          k4(i) = int(mod(k8(i), 9973_8)) - 5000
          k2(i) = k2(i)*100_2 + int(k1(i), 2)
          k1(i) = int(ieor(iand(k4(i), 63), 21), 1) - k1(i)
          k4(i) = k4(i)/7 + k2(i) + k1(i)
          k8(i) = max(k8(i), int(k2(i), 8)*k4(i))
          x(i) = real(k8(i), 8)/prime + k4(i)*0.5d0 + real(k1(i), 8)/4
        end do
      end subroutine
