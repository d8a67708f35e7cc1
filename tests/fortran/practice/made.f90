! Arrays that functions make, places of extremes, other shapes, subscripts from arrays, counters.

module made
  implicit none
contains

  pure function smoothed(n, x) result(y)
    integer, intent(in) :: n
    real(8), intent(in) :: x(n)
    real(8) :: y(0:n - 1)
    integer :: i
    do i = 1, n
      y(i - 1) = 0.5d0*(x(max(i - 1, 1)) + x(min(i + 1, n)))
    end do
  end function

  pure function outer(x, y)
    real(8), intent(in) :: x(:), y(:)
    real(8) :: outer(size(x), size(y))
    integer :: i
    do i = 1, size(y)
      outer(:, i) = x*y(i)
    end do
  end function

  pure function turned(a) result(b)
    real(8), intent(in) :: a(:, :)
    real(8) :: b(size(a, 2), size(a, 1))
    b = transpose(a(size(a, 1):1:-1, :))
  end function

  pure function positive(x) result(is)
    real(8), intent(in) :: x(:)
    logical :: is(size(x))
    is = x > 0.5d0
  end function

  ! Functions that give arrays: in sums, of one another, of sections, as masks and as arguments.
  subroutine array_functions(n, a, b, c, s)
    integer, intent(in) :: n
    real(8), intent(inout) :: a(n), b(n), c(n, n), s
    a = a + smoothed(n, b)
    b = smoothed(n, smoothed(n, a))*2
    c = c + outer(a, b) - outer(b, a(n:1:-1))
    c = turned(c)
    if (n > 1) c(1:2, :) = turned(c(:, 1:2))
    where (positive(b)) a = -a
    s = sum(smoothed(n, a)) + dot_product(smoothed(n, b), a)
    if (s > 1) then
      s = 1
    else if (sum(outer(a, a)) > 0) then
      s = -1
    end if
    call add(smoothed(n, b), a)
  end subroutine

  subroutine add(x, y)
    real(8), intent(in) :: x(:)
    real(8), intent(inout) :: y(:)
    y = y + x
  end subroutine

  ! Where the greatest and the least stand, with masks, of sections and of expressions.
  subroutine extremes(n, a, c, k, p, q)
    integer, intent(in) :: n
    real(8), intent(in) :: a(n), c(n, n)
    integer, intent(inout) :: k(n), p, q(8)
    q(1:1) = maxloc(a)
    q(2:3) = minloc(c)
    q(4:5) = maxloc(-abs(c - 0.5d0), mask=c < 0.75d0)
    q(6) = minloc(k, 1)
    q(7) = maxloc(a(n:1:-2), dim=1, mask=.true.)
    p = sum(maxloc(c)) + minloc(a*c(:, 1), dim=1, mask=a > 2)
    q(8) = maxloc(smoothed(n, a), 1)
    k = k + p
  end subroutine

  ! One axis as two, two as one, three as two.
  subroutine reshapes(n, m, a, c, d)
    integer, intent(in) :: n, m
    real(8), intent(inout) :: a(n*m), c(n, m), d(m, n)
    real(8) :: cube(2, 3, 2)
    integer :: i
    c = c + reshape(a, [n, m])
    a = reshape(d, [n*m])
    d = reshape(c, [m, n]) - d
    d = d + reshape(a + 1, shape(d))
    cube = reshape([(0.5d0*i, i = 1, 12)], [2, 3, 2])
    if (n > 5 .and. m > 1) c(1:6, 1:2) = reshape(cube, [6, 2])
  end subroutine

  ! Subscripts from arrays: to read, to write, in expressions, of one axis of two.
  subroutine subscripts(n, a, b, c, s)
    integer, intent(in) :: n
    real(8), intent(inout) :: a(n), b(n), c(n, n), s
    integer :: back(n), i
    back = [(n + 1 - i, i = 1, n)]
    a = a + b(back)
    a(back) = a
    b(back(1:n:2)) = b(1:n:2) + 1
    c(back, :) = c
    c(:, back) = c(back, :) + 1
    a(back) = c(back, 1) - a(back(back))
    s = sum(b(back)*a) + dot_product(a(back), b)
    where (a(back) > 0) b = a(back)
    call add(a(back), b)
    back = back(back)
    a = a*back
  end subroutine

  ! `where` in `forall`.
  subroutine masks_of_rows(n, a, c, d)
    integer, intent(in) :: n
    real(8), intent(inout) :: a(n), c(n, n), d(n, n)
    integer :: i
    forall (i = 1:n, a(i) > 0.1d0)
      where (c(:, i) > a(i)) c(:, i) = d(i, :)
    end forall
    forall (i = 1:n)
      where (d(:, i) > 0.5d0)
        d(:, i) = d(:, i) - c(i, :)
        c(:, i) = -d(:, i)
      elsewhere (c(i, :) > 0)
        d(:, i) = 2
      elsewhere
        d(:, i) = d(:, i)/2
      end where
      a(i) = c(i, i)
    end forall
  end subroutine

  ! Counters beside loops: of known and unknown beginnings, in nests, up and down.
  subroutine counters(n, m, a, b, x, last)
    integer, intent(in) :: n, m
    real(8), intent(inout) :: a(n*m), b(n, m), x(2*n + 1)
    integer, intent(inout) :: last
    integer :: i, j, k, l
    k = 0
    do j = 1, m
      do i = 1, n
        k = k + 1
        a(k) = a(k) + b(i, j)
      end do
    end do
    k = 1
    l = 2*n + 1
    do i = 1, n
      x(k) = x(k + 1) + 1
      k = k + 2
      l = l - 1
      x(l) = x(l) + k
    end do
    last = last + k
    do j = 1, m
      k = mod(j, 2)
      do i = n, 1, -1
        k = 1 + k
        b(i, j) = k
      end do
      last = last + k
    end do
    do i = 1, 2*n, 2
      l = l + 4
      x(i) = x(i) + l
    end do
    last = last + l
  end subroutine
end module
