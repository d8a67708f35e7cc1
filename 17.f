      subroutine logicals(n, up, strict, x, y, flags, found)
        implicit none
        integer, intent(in) :: n
        logical, intent(in) :: up, strict
        real(8), intent(inout) :: x(n)
        real(8), intent(in) :: y(n)
        logical, intent(out) :: flags(n), found
        integer :: i
        logical :: larger
      
        found = .false.
        do i = 1, n
          larger = x(i) > y(i)
          if (strict) larger = larger .and. x(i) > 0.25d0
          flags(i) = larger .eqv. up
          if (flags(i)) x(i) = y(i)
          found = found .or. (flags(i) .neqv. y(i) > 0.5d0)
        end do
        if (.not. found .and. all(flags)) x = 0
      end subroutine
