! Hydrodynamics on a grid: three sweeps, each over what the one before it made.
subroutine hydro(n, m, zp, zq, zm, zr, zz, zu, zv)
  implicit none
  integer, intent(in) :: n, m
  real(8), intent(in) :: zp(n, m), zq(n, m), zm(n, m)
  real(8), intent(inout) :: zr(n, m), zz(n, m), zu(n, m), zv(n, m)
  real(8), parameter :: s = 0.0041d0, t = 0.0037d0
  real(8) :: za(n, m), zb(n, m)
  integer :: j, k

  za = 0
  zb = 0
  !$omp parallel do private(j)
  do k = 2, m - 1
    do j = 2, n
      za(j, k) = (zp(j - 1, k + 1) + zq(j - 1, k + 1) - zp(j - 1, k) - zq(j - 1, k)) &
        *(zr(j, k) + zr(j - 1, k))/(1 + zm(j - 1, k) + zm(j - 1, k + 1))
      zb(j, k) = (zp(j - 1, k) + zq(j - 1, k) - zp(j, k) - zq(j, k)) &
        *(zr(j, k) + zr(j, k - 1))/(1 + zm(j, k) + zm(j - 1, k))
    end do
  end do
  !$omp parallel do private(j)
  do k = 2, m - 1
    do j = 2, n - 1
      zu(j, k) = zu(j, k) + s*(za(j, k)*(zz(j, k) - zz(j + 1, k)) &
        - za(j - 1, k)*(zz(j, k) - zz(j - 1, k)) - zb(j, k)*(zz(j, k) - zz(j, k - 1)) &
        + zb(j, k + 1)*(zz(j, k) - zz(j, k + 1)))
      zv(j, k) = zv(j, k) + s*(za(j, k)*(zr(j, k) - zr(j + 1, k)) &
        - za(j - 1, k)*(zr(j, k) - zr(j - 1, k)) - zb(j, k)*(zr(j, k) - zr(j, k - 1)) &
        + zb(j, k + 1)*(zr(j, k) - zr(j, k + 1)))
    end do
  end do
  !$omp parallel do private(j)
  do k = 2, m - 1
    do j = 2, n - 1
      zr(j, k) = zr(j, k) + t*zu(j, k)
      zz(j, k) = zz(j, k) + t*zv(j, k)
    end do
  end do
end subroutine
