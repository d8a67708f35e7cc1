! Routines of the shapes of the Livermore loops, in our own words.

! Hydrodynamics fragment: an independent update from two shifted reads.
subroutine hydro_fragment(n, x, y, z, q, r, t)
  implicit none
  integer, intent(in) :: n
  real(8), intent(out) :: x(n)
  real(8), intent(in) :: y(n), z(n + 11), q, r, t
  integer :: k

  do k = 1, n
    x(k) = q + y(k)*(r*z(k + 10) + t*z(k + 11))
  end do
end subroutine

! Incomplete Cholesky, conjugate gradient: every pass halves the system and appends its result.
subroutine cholesky_passes(n, x, v)
  implicit none
  integer, intent(in) :: n
  real(8), intent(inout) :: x(2*n)
  real(8), intent(in) :: v(2*n)
  integer :: level, width, first, last, i, k

  width = n
  last = 0
  do level = 1, 31
    if (width < 2) exit
    first = last
    last = last + width
    width = width/2
    i = last
    do k = first + 2, last, 2
      i = i + 1
      x(i) = x(k) - 0.25d0*(v(k)*x(k - 1) + v(k + 1)*x(k + 1))
    end do
  end do
end subroutine

! The same reduction in its place: a pass leaves the elements that the next one's stride meets.
subroutine cholesky_in_place(n, x, v)
  implicit none
  integer, intent(in) :: n
  real(8), intent(inout) :: x(0:n)
  real(8), intent(in) :: v(0:n)
  integer :: level, stride, half, i

  stride = 1
  do level = 1, 30
    half = stride
    stride = 2*stride
    if (stride > n) exit
    do i = stride, n - half, stride
      x(i) = x(i) - 0.25d0*(v(i - half)*x(i - half) + v(i + half)*x(i + half))
    end do
  end do
end subroutine

! Inner product.
subroutine inner_product(n, z, x, q)
  implicit none
  integer, intent(in) :: n
  real(8), intent(in) :: z(n), x(n)
  real(8), intent(out) :: q
  integer :: k

  q = 0
  do k = 1, n
    q = q + z(k)*x(k)
  end do
end subroutine

! Banded linear equations: three rows, each from every fifth element and a counter of its own.
subroutine banded_equations(n, x, y)
  implicit none
  integer, intent(in) :: n
  real(8), intent(inout) :: x(2*n)
  real(8), intent(in) :: y(n)
  integer :: row, step, j, low
  real(8) :: rest

  step = max(1, (n - 7)/2)
  do row = 7, n, step
    low = row - 6
    rest = x(row - 1)
    do j = 5, n, 5
      rest = rest - x(low)*y(j)
      low = low + 1
    end do
    x(row - 1) = y(5)*rest
  end do
end subroutine

! Tridiagonal elimination below the diagonal: a recurrence of first order.
subroutine tridiagonal_elimination(n, x, y, z)
  implicit none
  integer, intent(in) :: n
  real(8), intent(inout) :: x(n)
  real(8), intent(in) :: y(n), z(n)
  integer :: i

  do i = 2, n
    x(i) = z(i)*(y(i) - x(i - 1))
  end do
end subroutine

! General linear recurrence: every element from all that stand before it.
subroutine linear_recurrence(n, w, b)
  implicit none
  integer, intent(in) :: n
  real(8), intent(inout) :: w(n)
  real(8), intent(in) :: b(n, n)
  integer :: i, k

  do i = 2, n
    w(i) = 0.01d0
    do k = 1, i - 1
      w(i) = w(i) + b(i, k)*w(i - k)/n
    end do
  end do
end subroutine

! Equation of state: much arithmetic on few streams.
subroutine state_equation(n, x, y, z, u, q, r, t)
  implicit none
  integer, intent(in) :: n
  real(8), intent(out) :: x(n)
  real(8), intent(in) :: y(n), z(n), u(n + 6), q, r, t
  integer :: k

  do k = 1, n
    x(k) = u(k) + r*(z(k) + r*y(k)) &
      + t*(u(k + 3) + r*(u(k + 2) + r*u(k + 1)) + t*(u(k + 6) + q*(u(k + 5) + q*u(k + 4))))
  end do
end subroutine

! Alternating direction, implicit integration: the second time level from the first.
subroutine adi_step(n, u1, u2, u3, du1, du2, du3, a, sigma)
  implicit none
  integer, intent(in) :: n
  real(8), intent(inout) :: u1(4, n + 1, 2), u2(4, n + 1, 2), u3(4, n + 1, 2)
  real(8), intent(inout) :: du1(n), du2(n), du3(n)
  real(8), intent(in) :: a(3, 3), sigma
  integer, parameter :: old = 1, new = 2
  integer :: kx, ky

  do kx = 2, 3
    do ky = 2, n
      du1(ky) = u1(kx, ky + 1, old) - u1(kx, ky - 1, old)
      du2(ky) = u2(kx, ky + 1, old) - u2(kx, ky - 1, old)
      du3(ky) = u3(kx, ky + 1, old) - u3(kx, ky - 1, old)
      u1(kx, ky, new) = u1(kx, ky, old) + a(1, 1)*du1(ky) + a(1, 2)*du2(ky) + a(1, 3)*du3(ky) &
        + sigma*(u1(kx + 1, ky, old) - 2*u1(kx, ky, old) + u1(kx - 1, ky, old))
      u2(kx, ky, new) = u2(kx, ky, old) + a(2, 1)*du1(ky) + a(2, 2)*du2(ky) + a(2, 3)*du3(ky) &
        + sigma*(u2(kx + 1, ky, old) - 2*u2(kx, ky, old) + u2(kx - 1, ky, old))
      u3(kx, ky, new) = u3(kx, ky, old) + a(3, 1)*du1(ky) + a(3, 2)*du2(ky) + a(3, 3)*du3(ky) &
        + sigma*(u3(kx + 1, ky, old) - 2*u3(kx, ky, old) + u3(kx - 1, ky, old))
    end do
  end do
end subroutine

! Integrate predictors: a column's first row from its others.
subroutine integrate_predictors(n, px, d, c)
  implicit none
  integer, intent(in) :: n
  real(8), intent(inout) :: px(13, n)
  real(8), intent(in) :: d(22:28), c
  integer :: i

  do i = 1, n
    px(1, i) = d(28)*px(13, i) + d(27)*px(12, i) + d(26)*px(11, i) + d(25)*px(10, i) &
      + d(24)*px(9, i) + d(23)*px(8, i) + d(22)*px(7, i) + c*(px(5, i) + px(6, i)) + px(3, i)
  end do
end subroutine

! Difference predictors: a chain of differences, each kept in its row.
subroutine difference_predictors(n, px, cx)
  implicit none
  integer, intent(in) :: n
  real(8), intent(inout) :: px(14, n)
  real(8), intent(in) :: cx(5, n)
  integer :: i
  real(8) :: ar, br, cr

  do i = 1, n
    ar = cx(5, i)
    br = ar - px(5, i)
    px(5, i) = ar
    cr = br - px(6, i)
    px(6, i) = br
    ar = cr - px(7, i)
    px(7, i) = cr
    br = ar - px(8, i)
    px(8, i) = ar
    cr = br - px(9, i)
    px(9, i) = br
    ar = cr - px(10, i)
    px(10, i) = cr
    br = ar - px(11, i)
    px(11, i) = ar
    cr = br - px(12, i)
    px(12, i) = br
    px(14, i) = cr - px(13, i)
    px(13, i) = cr
  end do
end subroutine

! First sum: every prefix.
subroutine first_sum(n, x, y)
  implicit none
  integer, intent(in) :: n
  real(8), intent(out) :: x(n)
  real(8), intent(in) :: y(n)
  integer :: k

  if (n < 1) return
  x(1) = y(1)
  do k = 2, n
    x(k) = x(k - 1) + y(k)
  end do
end subroutine

! First difference.
subroutine first_difference(n, x, y)
  implicit none
  integer, intent(in) :: n
  real(8), intent(out) :: x(n)
  real(8), intent(in) :: y(n + 1)
  integer :: k

  do k = 1, n
    x(k) = y(k + 1) - y(k)
  end do
end subroutine

! Particles in cells, two dimensions: fields gathered at a particle's cell, then a count of cells.
subroutine particles_2d(n, m, p, b, c, y, z, e, f, h)
  implicit none
  integer, intent(in) :: n, m
  real(8), intent(inout) :: p(4, n), h(m, m)
  real(8), intent(in) :: b(m, m), c(m, m), y(m), z(m)
  integer, intent(in) :: e(m), f(m)
  integer :: ip, i1, j1, i2, j2

  if (m < 1) return
  do ip = 1, n
    i1 = 1 + modulo(int(m*p(1, ip)), m)
    j1 = 1 + modulo(int(m*p(2, ip)), m)
    p(3, ip) = p(3, ip) + b(i1, j1)
    p(4, ip) = p(4, ip) + c(i1, j1)
    p(1, ip) = p(1, ip) + p(3, ip)
    p(2, ip) = p(2, ip) + p(4, ip)
    i2 = 1 + modulo(int(m*p(1, ip)), m)
    j2 = 1 + modulo(int(m*p(2, ip)), m)
    p(1, ip) = p(1, ip) + y(i2)
    p(2, ip) = p(2, ip) + z(j2)
    i2 = max(1, min(m, i2 + e(i2) - 4))
    j2 = max(1, min(m, j2 + f(j2) - 4))
    h(i2, j2) = h(i2, j2) + 1
  end do
end subroutine

! Particles in cells, one dimension: gather, push, and a scatter that shares a charge by two cells.
subroutine particles_1d(n, m, x, v, field, slope, charge)
  implicit none
  integer, intent(in) :: n, m
  real(8), intent(inout) :: x(n), v(n), charge(m + 1)
  real(8), intent(in) :: field(m), slope(m)
  integer :: k, cell(n)
  real(8) :: offset(n), position

  if (m < 1) return
  do k = 1, n
    position = m*x(k)
    cell(k) = min(m, 1 + int(position))
    offset(k) = position - int(position)
  end do
  do k = 1, n
    v(k) = v(k) + field(cell(k)) + offset(k)*slope(cell(k))
    x(k) = m*x(k) + v(k)
    cell(k) = int(x(k))
    offset(k) = x(k) - cell(k)
    cell(k) = 1 + mod(cell(k), m)
    x(k) = cell(k) - 1 + offset(k)
  end do
  do k = 1, n
    charge(cell(k)) = charge(cell(k)) + 1 - offset(k)
    charge(cell(k) + 1) = charge(cell(k) + 1) + offset(k)
  end do
end subroutine

! Casual conditions: which neighbours a result is made of, the neighbours say.
subroutine casual_conditions(n, m, vy, vs, vh, vf, vg)
  implicit none
  integer, intent(in) :: n, m
  real(8), intent(inout) :: vy(n, m), vs(n, m)
  real(8), intent(in) :: vh(n, m), vf(n, m), vg(n, m)
  real(8), parameter :: upward = 0.053d0, downward = 0.073d0
  integer :: j, k
  real(8) :: r, s, t

  do j = 2, m
    do k = 2, n
      if (j == m) then
        vy(k, j) = 0
        cycle
      end if
      if (vh(k, j + 1) > vh(k, j)) then
        t = upward
      else
        t = downward
      end if
      if (vf(k, j) < vf(k - 1, j)) then
        r = max(vh(k - 1, j), vh(k - 1, j + 1))
        s = vf(k - 1, j)
      else
        r = max(vh(k, j), vh(k, j + 1))
        s = vf(k, j)
      end if
      vy(k, j) = sqrt(vg(k, j)**2 + r*r)*t/(1 + s)
      if (k == n) then
        vs(k, j) = 0
      else if (vf(k, j) < vf(k, j - 1)) then
        vs(k, j) = sqrt(vh(k, j)**2 + vg(k, j - 1)**2)*upward
      else
        vs(k, j) = sqrt(vh(k, j)**2 + vg(k, j)**2)*downward
      end if
    end do
  end do
end subroutine

! Implicit conditions: a value carried from the last element to the first, as it itself decides.
subroutine implicit_conditions(n, vsp, vstp, vxne, vxnd, vlr, vlin, last)
  implicit none
  integer, intent(in) :: n
  real(8), intent(in) :: vsp(n), vstp(n), vlr(n), vlin(n)
  real(8), intent(inout) :: vxne(n)
  real(8), intent(out) :: vxnd(n), last
  real(8), parameter :: scale = 5.0d0/3.0d0
  integer :: i
  real(8) :: carried, e3, e6

  carried = 1.0d0/3.0d0
  e6 = 1.03d0/3.07d0
  do i = n, 1, -1
    e3 = carried*vlr(i) + vlin(i)
    vxnd(i) = e6
    if (carried > scale*e3 .or. vxne(i) > scale*e3) then
      e6 = 0.5d0*(carried*vsp(i) + vstp(i))
      vxne(i) = e6
      carried = e6
    else
      vxne(i) = e3 + e3 - carried
      carried = 0.5d0*e3
    end if
  end do
  last = carried
end subroutine

! Discrete ordinates: a recurrence through a quotient that is kept within limits.
subroutine discrete_ordinates(n, x, xx, y, z, g, u, v, w)
  implicit none
  integer, intent(in) :: n
  real(8), intent(out) :: x(n)
  real(8), intent(inout) :: xx(n + 1)
  real(8), intent(in) :: y(n), z(n), g(n), u(n), v(n), w(n)
  real(8), parameter :: least = 0.125d0, most = 0.75d0
  integer :: k
  real(8) :: di, dn

  do k = 1, n
    di = y(k) - g(k)/(1 + abs(xx(k)))
    dn = 0.25d0
    if (di > 0.0625d0) dn = max(least, min(z(k)/di, most))
    x(k) = ((w(k) + v(k)*dn)*xx(k) + u(k))/(2 + v(k)*dn)
    xx(k + 1) = 0.5d0*(x(k) - xx(k))*dn + 0.5d0*xx(k)
  end do
end subroutine

! Matrix product, the result's columns innermost.
subroutine matrix_product(n, px, vy, cx)
  implicit none
  integer, intent(in) :: n
  real(8), intent(inout) :: px(25, n)
  real(8), intent(in) :: vy(25, 25), cx(25, n)
  integer :: i, j, k

  do k = 1, 25
    do i = 1, 25
      do j = 1, n
        px(i, j) = px(i, j) + vy(i, k)*cx(k, j)
      end do
    end do
  end do
end subroutine

! Planckian distribution: a bounded exponent, kept for later, and a quotient.
subroutine planckian(n, x, y, u, v, w)
  implicit none
  integer, intent(in) :: n
  real(8), intent(in) :: x(n), u(n), v(n)
  real(8), intent(out) :: y(n), w(n)
  real(8), parameter :: most = 1.75d0
  integer :: k

  do k = 1, n
    y(k) = most
    if (1 + u(k) < most*(1 + v(k))) y(k) = (1 + u(k))/(1 + v(k))
    w(k) = x(k)/(exp(y(k)) - 1)
  end do
end subroutine

! Two-dimensional implicit hydrodynamics: relaxation in its place, from old and new neighbours.
subroutine implicit_hydro_2d(n, m, za, zb, zr, zu, zv, zz)
  implicit none
  integer, intent(in) :: n, m
  real(8), intent(inout) :: za(n, m)
  real(8), intent(in) :: zb(n, m), zr(n, m), zu(n, m), zv(n, m), zz(n, m)
  integer :: j, k
  real(8) :: qa

  do j = 2, m - 1
    do k = 2, n - 1
      qa = za(k, j + 1)*zr(k, j) + za(k, j - 1)*zb(k, j) + za(k + 1, j)*zu(k, j) &
        + za(k - 1, j)*zv(k, j) + zz(k, j)
      za(k, j) = za(k, j) + 0.175d0*(qa - za(k, j))
    end do
  end do
end subroutine

! Where the first least element stands, 0 if there is none, and what it is.
subroutine first_minimum(n, x, place, least)
  implicit none
  integer, intent(in) :: n
  real(8), intent(in) :: x(n)
  integer, intent(out) :: place
  real(8), intent(out) :: least
  integer :: k

  place = 0
  least = 0
  if (n < 1) return
  place = 1
  do k = 2, n
    if (x(k) < x(place)) place = k
  end do
  least = x(place)
end subroutine
