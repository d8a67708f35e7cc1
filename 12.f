      subroutine derived_type(n, x, v, energy)
        implicit none
        integer, intent(in) :: n
        real(8), intent(inout) :: x(3, n), v(3, n)
        real(8), intent(out) :: energy
        type particle
          real(8) :: mass, place(3), speed(3)
          integer :: bounces
        end type
        type(particle) :: p
        integer :: i, d
      
        energy = 0
        do i = 1, n
          p%mass = 1 + mod(i, 3)
          p%place = x(:, i)
          p%speed = v(:, i) - 0.5d0
          p%bounces = 0
          do d = 1, 3
            p%place(d) = p%place(d) + p%speed(d)
            if (p%place(d) < 0 .or. p%place(d) > 1) then
              p%place(d) = p%place(d) - p%speed(d)
              p%speed(d) = -p%speed(d)
              p%bounces = p%bounces + 1
            end if
          end do
          x(:, i) = p%place
          v(:, i) = p%speed
          energy = energy + 0.5d0*p%mass*sum(p%speed**2) + p%bounces
        end do
      end subroutine
