! Upwind advection in one and two dimensions, periodic, with winds of both signs.

! One dimension; the neighbours around the circle by `mod`.
subroutine advect_mod(n, steps, u, v)
  implicit none
  integer, intent(in) :: n, steps
  real(8), intent(inout) :: u(n)
  real(8), intent(in) :: v(n)
  real(8) :: next(n), wind
  integer :: i, left, right, step

  do step = 1, steps
    do i = 1, n
      left = 1 + mod(i + n - 2, n)
      right = 1 + mod(i, n)
      wind = v(i) - 0.5d0
      if (wind >= 0) then
        next(i) = u(i) - wind*(u(i) - u(left))
      else
        next(i) = u(i) - wind*(u(right) - u(i))
      end if
    end do
    do i = 1, n
      u(i) = next(i)
    end do
  end do
end subroutine

! One dimension; cells at both ends that repeat the other end's, and statements on sections.
subroutine advect_sections(n, steps, u, courant)
  implicit none
  integer, intent(in) :: n, steps
  real(8), intent(inout) :: u(n)
  real(8), intent(in) :: courant
  real(8) :: wide(0:n + 1), wind
  integer :: step

  if (n < 1) return
  wind = 2*courant - 1
  do step = 1, steps
    wide(1:n) = u
    wide(0) = u(n)
    wide(n + 1) = u(1)
    if (wind > 0) then
      u = u - wind*(wide(1:n) - wide(0:n - 1))
    else
      u = u - wind*(wide(2:n + 1) - wide(1:n))
    end if
  end do
end subroutine

! One dimension, second order, the slopes limited so that no new extremes appear.
subroutine advect_limited(n, steps, u, courant)
  implicit none
  integer, intent(in) :: n, steps
  real(8), intent(inout) :: u(n)
  real(8), intent(in) :: courant
  real(8) :: left(n), right(n), slope(n), flux(0:n)
  integer :: step

  if (n < 1) return
  do step = 1, steps
    left(2:n) = u(2:n) - u(1:n - 1)
    left(1) = u(1) - u(n)
    right(1:n - 1) = left(2:n)
    right(n) = left(1)
    slope = 0
    where (left*right > 0)
      where (left > 0)
        slope = min(left, right)
      elsewhere
        slope = max(left, right)
      end where
    end where
    flux(1:n) = courant*(u + 0.5d0*(1 - courant)*slope)
    flux(0) = flux(n)
    u = u - (flux(1:n) - flux(0:n - 1))
  end do
end subroutine

! Two dimensions, in flux form: fluxes at the edges between cells, then what they leave behind.
subroutine advect_2d(n, steps, u, vx, vy)
  implicit none
  integer, intent(in) :: n, steps
  real(8), intent(inout) :: u(n, n)
  real(8), intent(in) :: vx(n, n), vy(n, n)
  real(8) :: fx(n, n), fy(n, n)
  integer :: i, j, ip, jp, step

  do step = 1, steps
    do j = 1, n
      jp = mod(j, n) + 1
      do i = 1, n
        ip = mod(i, n) + 1
        fx(i, j) = 0.25d0*(max(vx(i, j) - 0.5d0, 0.0d0)*u(i, j) &
          + min(vx(i, j) - 0.5d0, 0.0d0)*u(ip, j))
        fy(i, j) = 0.25d0*(max(vy(i, j) - 0.5d0, 0.0d0)*u(i, j) &
          + min(vy(i, j) - 0.5d0, 0.0d0)*u(i, jp))
      end do
    end do
    do j = 1, n
      do i = 1, n
        u(i, j) = u(i, j) - (fx(i, j) - fx(mod(i + n - 2, n) + 1, j)) &
          - (fy(i, j) - fy(i, mod(j + n - 2, n) + 1))
      end do
    end do
  end do
end subroutine

! Two dimensions, one direction after the other, whole arrays at a time.
subroutine advect_split(n, steps, u, vx, vy)
  implicit none
  integer, intent(in) :: n, steps
  real(8), intent(inout) :: u(n, n)
  real(8), intent(in) :: vx(n, n), vy(n, n)
  real(8) :: wide(0:n + 1, 0:n + 1), flux(0:n, 0:n)
  integer :: step

  if (n < 1) return
  do step = 1, steps
    wide(1:n, 1:n) = u
    wide(0, 1:n) = u(n, :)
    wide(n + 1, 1:n) = u(1, :)
    where (vx > 0.5d0)
      flux(1:n, 1:n) = (vx - 0.5d0)*wide(1:n, 1:n)
    elsewhere
      flux(1:n, 1:n) = (vx - 0.5d0)*wide(2:n + 1, 1:n)
    end where
    where (abs(flux(1:n, 1:n)) > 0.4d0) flux(1:n, 1:n) = sign(0.4d0, flux(1:n, 1:n))
    flux(0, 1:n) = flux(n, 1:n)
    u = u - 0.5d0*(flux(1:n, 1:n) - flux(0:n - 1, 1:n))

    wide(1:n, 1:n) = u
    wide(1:n, 0) = u(:, n)
    wide(1:n, n + 1) = u(:, 1)
    where (vy > 0.5d0)
      flux(1:n, 1:n) = (vy - 0.5d0)*wide(1:n, 1:n)
    elsewhere
      flux(1:n, 1:n) = (vy - 0.5d0)*wide(1:n, 2:n + 1)
    end where
    where (abs(flux(1:n, 1:n)) > 0.4d0) flux(1:n, 1:n) = sign(0.4d0, flux(1:n, 1:n))
    flux(1:n, 0) = flux(1:n, n)
    u = u - 0.5d0*(flux(1:n, 1:n) - flux(1:n, 0:n - 1))
  end do
end subroutine
