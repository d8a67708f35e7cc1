! The heat of a mixture of gases: a module whose routines call one another.

module thermo
  implicit none
  private
  public :: mixture, normalise, enthalpy, polynomial, mean

  integer, parameter :: dp = kind(1.0d0)
  integer, parameter :: species = 3, terms = 4
  real(dp), parameter :: t_low = 300, t_span = 900, gas = 8.314_dp
  real(dp), parameter :: heat(terms, species) = reshape([ &
    3.53_dp, -0.12_dp, 0.50_dp, -0.06_dp, &
    3.78_dp, -0.29_dp, 0.98_dp, -0.37_dp, &
    2.36_dp, 0.89_dp, -0.71_dp, 0.24_dp], [terms, species])
  real(dp), parameter :: formation(species) = [0.0_dp, -1.05_dp, 2.5_dp]

contains

  ! The enthalpy `h` at `n` places and its parts `part`, one column for each of `m` gases, from
  ! temperatures `t` and amounts `x`, which are normalised; `s` gets three sums.
  subroutine mixture(n, m, t, x, h, part, s)
    integer, intent(in) :: n, m
    real(dp), intent(in) :: t(n)
    real(dp), intent(inout) :: x(n, m)
    real(dp), intent(out) :: h(n), part(n, m), s(3)
    real(dp) :: hot(n), limit
    integer :: i, j

    hot = t_low + t_span*t
    call normalise(n, m, x)
    h = 0
    s = 0
    do j = 1, m
      call enthalpy(hot, part(:, j), mod(j - 1, species) + 1)
      call collect(j)
    end do
    limit = mean(h)
    s(1) = limit
    s(2) = mean(hot/t_low)
    do i = 1, n
      if (h(i) > limit) s(3) = s(3) + polynomial(heat(:, 1), t(i))/n
    end do

  contains

    ! Adds a gas to the mixture.
    subroutine collect(column)
      integer, intent(in) :: column
      integer :: row

      do row = 1, n
        call add_product(h(row), x(row, column), part(row, column))
      end do
    end subroutine

  end subroutine

  ! Scales every row of `x` to the sum 1; its first column gets what is missing.
  subroutine normalise(n, m, x)
    integer, intent(in) :: n, m
    real(dp), intent(inout) :: x(n, m)
    real(dp) :: average
    integer :: i

    if (m < 1) return
    do i = 1, n
      average = mean(x(i, :))
      x(i, :) = x(i, :)/(m*(average + 1))
      x(i, 1) = x(i, 1) + 1/(average + 1)
    end do
  end subroutine

  ! The enthalpy of gas `which` at the temperatures `t`.
  subroutine enthalpy(t, h, which)
    real(dp), intent(in) :: t(:)
    real(dp), intent(out) :: h(:)
    integer, intent(in) :: which
    integer :: i

    do i = 1, size(t)
      h(i) = gas*(t(i)/t_low*polynomial(heat(:, which), (t(i) - t_low)/t_span) + formation(which))
    end do
  end subroutine

  ! total + a b
  pure subroutine add_product(total, a, b)
    real(dp), intent(inout) :: total
    real(dp), intent(in) :: a, b

    total = total + a*b
  end subroutine

  ! c(1) + c(2) x + c(3) x**2 + ...
  pure function polynomial(c, x) result(y)
    real(dp), intent(in) :: c(terms), x
    real(dp) :: y
    integer :: k

    y = c(terms)
    do k = terms - 1, 1, -1
      y = y*x + c(k)
    end do
  end function

  ! The mean, 0 of nothing.
  pure function mean(a) result(y)
    real(dp), intent(in) :: a(:)
    real(dp) :: y

    y = 0
    if (size(a) > 0) y = sum(a)/size(a)
  end function

end module
