! Routines, one for each of the forms that Fortran has beside loops, choices and assignments.

! `forall` with a mask, of one statement and of several, along one axis and two.
subroutine forall_masks(n, a, b, c, k)
  implicit none
  integer, intent(in) :: n, k(n)
  real(8), intent(inout) :: a(n), b(n), c(n, n)
  integer :: i, j

  forall (i = 1:n, k(i) > 4) a(i) = b(i) + 0.5d0
  forall (i = 1:n, mod(k(i), 3) /= 1)
    a(i) = 2*a(i) - b(n + 1 - i)
    b(i) = a(i)*k(i)
  end forall
  forall (i = 1:n, j = 1:n, i < j) c(i, j) = c(j, i) + a(i)*b(j)
  forall (i = 1:n:2) c(i, i) = i
end subroutine

! `forall` where the right side reads what the left side changes: all of it is computed first.
subroutine forall_overlap(n, a, c)
  implicit none
  integer, intent(in) :: n
  real(8), intent(inout) :: a(n), c(n, n)
  integer :: i, j

  forall (i = 2:n) a(i) = a(i - 1)
  if (n < 2) return  ! for gfortran 12, which allocates -2 elements for the mask over 2:-1
  forall (i = 2:n - 1, a(i) > 0.25d0) a(i) = 0.5d0*(a(i - 1) + a(i + 1))
  forall (i = 1:n) a(i) = a(n + 1 - i) + a(i)
  forall (i = 1:n, j = 1:n) c(i, j) = c(j, i)
  forall (i = 2:n - 1) c(i, :) = c(i - 1, :) + c(i + 1, :)
end subroutine

! `do concurrent` with masks, along one axis and two.
subroutine concurrent_masks(n, a, b, c, k)
  implicit none
  integer, intent(in) :: n, k(n)
  real(8), intent(inout) :: a(n), c(n, n)
  real(8), intent(in) :: b(n)
  integer :: i, j

  do concurrent (i = 1:n, k(i) > 3)
    a(i) = a(i) + b(i)
    if (a(i) > 1) a(i) = a(i) - 1
  end do
  do concurrent (i = 1:n, j = 1:n, i /= j)
    c(i, j) = c(i, j) + a(i)*b(j)
  end do
  do concurrent (i = n:1:-2)
    c(i, i) = -a(i)
  end do
end subroutine

! `do concurrent` whose iterations each have their own scalars and an inner loop.
subroutine concurrent_scalars(n, a, b, c)
  implicit none
  integer, intent(in) :: n
  real(8), intent(inout) :: a(n)
  real(8), intent(in) :: b(n), c(n, n)
  integer :: i, j
  real(8) :: total, largest

  do concurrent (i = 1:n)
    total = 0
    largest = b(i)
    do j = 1, n
      total = total + c(j, i)*b(j)
      largest = max(largest, c(j, i))
    end do
    a(i) = a(i) + total/n - largest
  end do
end subroutine

! `where` with several masks, as a statement and with shifted operands.
subroutine where_masks(n, a, b, k)
  implicit none
  integer, intent(in) :: n
  real(8), intent(inout) :: a(n), b(n)
  integer, intent(inout) :: k(n)

  where (k > 6)
    a = a + b
    b = 0
  elsewhere (k > 3)
    a = a - b
    k = k + 10
  elsewhere
    a = b
    k = -k
  end where
  where (a < 0) a = -a
  where (k > 0) b = sqrt(a)/k
  where (a(2:n) > a(1:n - 1)) b(2:n) = a(1:n - 1)
end subroutine

! `where` that changes what it reads, its mask among it: masks and right sides are computed first.
subroutine where_overlap(n, a, c)
  implicit none
  integer, intent(in) :: n
  real(8), intent(inout) :: a(n), c(n, n)

  where (a(1:n - 1) > 0.5d0) a(2:n) = a(1:n - 1) + 1
  where (a(n:1:-1) > 0.75d0)
    a = 0.5d0*a(n:1:-1)
  elsewhere
    a = a + 0.25d0
  end where
  where (c(:, 2:n) > c(:, 1:n - 1)) c(:, 1:n - 1) = c(:, 2:n)
  where (transpose(c) > c) c = -transpose(c)
end subroutine

! `where` inside of `where`.
subroutine where_nested(n, a, b, k)
  implicit none
  integer, intent(in) :: n
  real(8), intent(inout) :: a(n, n)
  real(8), intent(in) :: b(n, n)
  integer, intent(inout) :: k(n, n)

  where (k > 2)
    where (a > b)
      a = a - b
    elsewhere (k > 6)
      a = b
      k = 1
    elsewhere
      k = 0
    end where
    k = k + 1
  elsewhere
    where (b > 0.5d0) a = 0.5d0*a
    k = -1
  end where
end subroutine

! Matrix products and transposed matrices.
subroutine products(n, m, a, b, c, x, y)
  implicit none
  integer, intent(in) :: n, m
  real(8), intent(in) :: a(n, m), b(m, n), x(m)
  real(8), intent(inout) :: c(n, n), y(n)

  y = 0.5d0*y + matmul(a, x)
  y = y + matmul(x, b)
  c = matmul(a, b) + transpose(c)
  c = c - matmul(transpose(b), transpose(a))/2
  if (n > 1) c(1:2, 1:2) = matmul(c(1:2, 1:2), reshape([0.5d0, 0.25d0, 0.0d0, 1.0d0], [2, 2]))
end subroutine

! Reductions along an axis, and copies along a new one.
subroutine along_axes(n, m, a, x, y, k)
  implicit none
  integer, intent(in) :: n, m
  real(8), intent(inout) :: a(n, m)
  real(8), intent(out) :: x(n), y(m)
  integer, intent(out) :: k(m)

  x = sum(a, dim=2)
  y = max(0.0d0, maxval(a, dim=1))
  k = count(a > 0.5d0, dim=1)
  a = a + spread(x, dim=2, ncopies=m)*spread(y, 1, n)
  y = y - min(1.0d0, minval(a, dim=1))
  x = x + sum(a*spread(y, 1, n), dim=2, mask=a > 1)
  where (any(a > 2, dim=1)) k = -k
end subroutine

! `merge` of scalars, elements and arrays.
subroutine merges(n, a, b, k)
  implicit none
  integer, intent(in) :: n
  real(8), intent(inout) :: a(n), b(n)
  integer, intent(inout) :: k(n)
  integer :: i
  real(8) :: limit

  limit = merge(0.5d0, 0.25d0, n > 50)
  do i = 1, n
    k(i) = merge(k(i), 9 - k(i), a(i) < limit)
  end do
  a = merge(a, b, k > 4)
  b = merge(1.0d0, merge(a, -b, a > b), k == 7)
end subroutine

! What arrays say of themselves: sizes, bounds, shapes.
subroutine inquiries(n, m, a, b, k)
  implicit none
  integer, intent(in) :: n, m
  real(8), intent(inout) :: a(0:n, -1:m), b(-1:n - 2)
  integer, intent(out) :: k(9)
  real(8) :: w(size(b)), v(lbound(a, 2):ubound(a, 2))
  integer :: i, j

  k(1) = size(a)
  k(2) = size(a, 1) + 10*size(a, dim=2)
  k(3:4) = shape(a)
  k(5:6) = lbound(a)
  k(7) = ubound(a, 2)
  k(8) = lbound(b, 1)
  k(9) = ubound(b, 1)
  v = 0
  do j = lbound(a, 2), ubound(a, 2)
    do i = lbound(a, 1), ubound(a, 1)
      a(i, j) = a(i, j) + i + j
      v(j) = v(j) + a(i, j)
    end do
  end do
  a(ubound(a, 1), :) = v/size(a, 1)
  do i = 1, size(w)
    w(i) = b(lbound(b, 1) + i - 1)
  end do
  do i = lbound(b, 1), ubound(b, 1)
    b(i) = b(i) - w(size(w))
  end do
end subroutine

! `do while`: Newton's iteration for y**3 + y = x, at most 20 times.
subroutine newton(n, x, y, rounds)
  implicit none
  integer, intent(in) :: n
  real(8), intent(in) :: x(n)
  real(8), intent(out) :: y(n)
  integer, intent(out) :: rounds(n)
  integer :: i
  real(8) :: change

  do i = 1, n
    y(i) = 1
    rounds(i) = 0
    change = 1
    do while (abs(change) > 1.0d-7 .and. rounds(i) < 20)
      change = (y(i)**3 + y(i) - x(i))/(3*y(i)**2 + 1)
      y(i) = y(i) - change
      rounds(i) = rounds(i) + 1
    end do
  end do
end subroutine

! A derived type: a local variable of it, its components and a small array among them.
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

! An array of a derived type, its elements assigned as wholes, its components as arrays.
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

! `select case` of integers and of a truth value, one in the other.
subroutine selections(n, k, x, sums)
  implicit none
  integer, intent(in) :: n
  integer, intent(inout) :: k(n)
  real(8), intent(in) :: x(n)
  real(8), intent(out) :: sums(0:3)
  integer :: i, class

  sums = 0
  do i = 1, n
    select case (k(i))
    case (0)
      class = 0
    case (1:3, 8)
      select case (x(i) > 0.5d0)
      case (.true.)
        class = 1
      case (.false.)
        class = 2
      end select
    case (4, 5)
      class = mod(i, 4)
    case default
      class = 3
    end select
    sums(class) = sums(class) + x(i)
    k(i) = class
  end do
end subroutine

! Array constructors, with implied loops and with arrays inside.
subroutine constructors(n, x, y, k)
  implicit none
  integer, intent(in) :: n
  real(8), intent(inout) :: x(n), y(n)
  integer, intent(out) :: k(n)
  integer :: i
  real(8) :: w(3), square(2, 2), tail(5)
  integer, parameter :: odd(4) = [1, 3, 5, 7], ten(10) = [(i*i, i = 1, 10)]

  k = [(i*(n + 1 - i), i = 1, n)]
  w = [0.25d0, 0.5d0, 0.25d0]
  square = reshape([1, 2, 3, 4], [2, 2])
  if (n < 1) return
  tail = [x(1), w, y(n)]
  x = [x(2:n), x(1)]
  y = y + [(0.5d0*x(i), i = n, 1, -1)]
  x = [(sum(y(1:i))/i, i = 1, n)] + [(maxval([x(i), y(n + 1 - i)]), i = 1, n)]
  do i = 1, n
    k(i) = k(i) + odd(1 + mod(i, 4))*ten(1 + mod(i, 10))
    y(i) = y(i) + square(1 + mod(i, 2), 2)*tail(1 + mod(i, 5)) + dot_product([x(i), y(i)], w(1:2))
  end do
end subroutine

! Implied loops in one another, of values, and of arrays.
subroutine nested_constructors(n, m, a, x, y, z)
  implicit none
  integer, intent(in) :: n, m
  real(8), intent(in) :: a(n, m)
  real(8), intent(out) :: x(n*m), y(2*n*m + 1), z(3*n*m)
  integer :: i, j
  x = [((a(i, j)*j, i = 1, n), j = 1, m)]
  y = [0.5d0, ((a(i, j), dble(i - j), i = n, 1, -1), j = 1, m)]
  z = [(a(:, j), 2*a(n:1:-1, j), (a(i, j) + sum(a(:, j)), i = 1, n), j = m, 1, -1)]
  y = y + sum([((dble(i*j), i = 1, 2), dble(j), j = 1, n)])
end subroutine

! Blocks of four rows, the last one shorter, each solved by elimination.
subroutine solve_blocks(n, m, r, d, c, z)
  implicit none
  integer, intent(in) :: n, m
  real(8), intent(in) :: r(m, n), d(m, n), c(m, n)
  real(8), intent(inout) :: z(m, n)
  real(8) :: p(0:3), q(0:3)
  integer :: first, bottom, top, j, k
  !$omp parallel do private(p, q, bottom, top, j, k)
  do first = 1, n, 4
    bottom = min(first, n)
    top = min(first + 3, n)
    do j = 1, m
      k = bottom
      p(k - bottom) = r(j, k)/(2 + abs(d(j, k)))
      do k = bottom + 1, top
        p(k - bottom) = (r(j, k) - c(j, k)*p(k - bottom - 1))/(2 + abs(d(j, k)))
      end do
      k = top
      q(k - bottom) = p(k - bottom)
      do k = top - 1, bottom, -1
        q(k - bottom) = p(k - bottom) - c(j, k)*q(k - bottom + 1)/4
      end do
      do k = bottom, top
        z(j, k) = q(k - bottom) + k
      end do
    end do
  end do
end subroutine

! Tables by `data`.
subroutine tables(n, k, x)
  implicit none
  integer, intent(in) :: n
  integer, intent(inout) :: k(n)
  real(8), intent(inout) :: x(n)
  integer :: next(0:9), i
  real(8) :: weight(3), bent(2, 2), first
  data next /3, 1, 4, 2*5, 9, 2, 6, 0, 8/
  data weight /0.25d0, 0.5d0, 0.25d0/, first /1.5d0/
  data bent /1.0d0, -0.5d0, 0.5d0, 2.0d0/

  do i = 1, n
    k(i) = next(max(0, min(9, k(i))))
    x(i) = x(i)*bent(1 + mod(k(i), 2), 1 + mod(i, 2))
  end do
  do i = 2, n - 1
    x(i) = weight(1)*x(i - 1) + weight(2)*x(i) + weight(3)*x(i + 1)
  end do
  if (n > 0) x(1) = x(1) + first
end subroutine

! Logical arguments, scalars and an array. In memory they are 0 and 1 only.
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

! Complex arrays of both precisions.
subroutine complex_arrays(n, z, w, x, total)
  implicit none
  integer, intent(in) :: n
  complex(8), intent(inout) :: z(n)
  complex(4), intent(inout) :: w(n)
  real(8), intent(inout) :: x(n)
  complex(8), intent(out) :: total
  complex(8) :: turn
  integer :: i

  total = (0.0d0, 0.0d0)
  do i = 1, n
    turn = cmplx(cos(x(i)), sin(x(i)), kind=8)
    z(i) = z(i)*turn + conjg(z(i))/2
    total = total + z(i)/(turn + (2.0d0, 0.5d0))
    x(i) = abs(z(i)) + real(z(i)) - aimag(z(i))**2
    w(i) = w(i)*(0.0, 1.0) + cmplx(z(i), kind=4)
    if (real(w(i)) > 0.5 .and. aimag(w(i)) > 0.5) w(i) = -w(i)
  end do
  z = z + conjg(z(n:1:-1))
end subroutine

! Integers of one, two, four and eight bytes, and what they become together.
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
