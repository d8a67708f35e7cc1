      subroutine derived_array(n, x, m, total, last)
        implicit none
        integer, intent(in) :: n
        real(8), intent(inout) :: x(n)
        integer, intent(inout) :: m(n)
        real(8), intent(out) :: total, last(3)
        type body
          real(8) :: mass, place
          real(8) :: force(3)
          integer :: kind
        end type
        type(body) :: all(n), held
        integer :: i
      
        do i = 1, n
          all(i) = body(1.0d0 + m(i), x(i), [x(i), 0.5d0, -x(i)], m(i))
        end do
        do i = 1, n/2
          held = all(i)
          all(i) = all(n + 1 - i)
          all(n + 1 - i) = held
        end do
        do i = 2, n
          all(i)%force(2) = all(i - 1)%mass*(all(i)%place - all(i - 1)%place)
          all(i)%force(3) = all(i)%force(1) + 0.5d0*all(i)%force(2)
          if (all(i)%kind > 5) all(i)%kind = all(i - 1)%kind
        end do
        total = sum(all%mass)
        last = 0
        if (n > 0) last = all(n)%force
        x = all%place + all(:)%force(3)
        m = all%kind
      end subroutine
