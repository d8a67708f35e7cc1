! The operator of a spectral element solver, as Nekbone's `ax`: gradient, geometry, its transpose.

! w = A u on `nelt` elements of nx*nx*nx points; `g` holds the geometry's symmetric 3*3 matrices.
subroutine ax(nx, nelt, w, u, g, dx, dxt)
  implicit none
  integer, intent(in) :: nx, nelt
  real(8), intent(out) :: w(nx, nx, nx, nelt)
  real(8), intent(in) :: u(nx, nx, nx, nelt), g(6, nx, nx, nx, nelt), dx(nx, nx), dxt(nx, nx)
  real(8) :: ur(nx, nx, nx), us(nx, nx, nx), ut(nx, nx, nx), wr, ws, wt
  integer :: e, i, j, k

  !$omp parallel do private(ur, us, ut, wr, ws, wt, i, j, k)
  do e = 1, nelt
    call local_grad3(nx, ur, us, ut, u(:, :, :, e), dx, dxt)
    do k = 1, nx
      do j = 1, nx
        do i = 1, nx
          wr = g(1, i, j, k, e)*ur(i, j, k) + g(2, i, j, k, e)*us(i, j, k) &
            + g(3, i, j, k, e)*ut(i, j, k)
          ws = g(2, i, j, k, e)*ur(i, j, k) + g(4, i, j, k, e)*us(i, j, k) &
            + g(5, i, j, k, e)*ut(i, j, k)
          wt = g(3, i, j, k, e)*ur(i, j, k) + g(5, i, j, k, e)*us(i, j, k) &
            + g(6, i, j, k, e)*ut(i, j, k)
          ur(i, j, k) = wr
          us(i, j, k) = ws
          ut(i, j, k) = wt
        end do
      end do
    end do
    call local_grad3_t(nx, w(:, :, :, e), ur, us, ut, dx, dxt)
    call add_scaled(nx, w(:, :, :, e), u(:, :, :, e), 0.1d0)
  end do
end subroutine

! The derivatives of an element along its three directions.
subroutine local_grad3(nx, ur, us, ut, u, dx, dxt)
  implicit none
  integer, intent(in) :: nx
  real(8), intent(out) :: ur(nx, nx, nx), us(nx, nx, nx), ut(nx, nx, nx)
  real(8), intent(in) :: u(nx, nx, nx), dx(nx, nx), dxt(nx, nx)
  integer :: j, k

  do k = 1, nx
    call mxm(dx, nx, u(:, :, k), nx, ur(:, :, k), nx)
    call mxm(u(:, :, k), nx, dxt, nx, us(:, :, k), nx)
  end do
  do j = 1, nx
    call mxm(u(:, j, :), nx, dxt, nx, ut(:, j, :), nx)
  end do
end subroutine

! The transpose of `local_grad3`: the three directions add up.
subroutine local_grad3_t(nx, u, ur, us, ut, dx, dxt)
  implicit none
  integer, intent(in) :: nx
  real(8), intent(out) :: u(nx, nx, nx)
  real(8), intent(in) :: ur(nx, nx, nx), us(nx, nx, nx), ut(nx, nx, nx), dx(nx, nx), dxt(nx, nx)
  real(8) :: part(nx, nx)
  integer :: j, k

  do k = 1, nx
    call mxm(dxt, nx, ur(:, :, k), nx, u(:, :, k), nx)
    call mxm(us(:, :, k), nx, dx, nx, part, nx)
    u(:, :, k) = u(:, :, k) + part
  end do
  do j = 1, nx
    call mxm(ut(:, j, :), nx, dx, nx, part, nx)
    u(:, j, :) = u(:, j, :) + part
  end do
end subroutine

! c = a b, of n1*n2 and n2*n3 elements.
subroutine mxm(a, n1, b, n2, c, n3)
  implicit none
  integer, intent(in) :: n1, n2, n3
  real(8), intent(in) :: a(n1, n2), b(n2, n3)
  real(8), intent(out) :: c(n1, n3)
  integer :: i, j, l

  do j = 1, n3
    do i = 1, n1
      c(i, j) = 0
    end do
    do l = 1, n2
      do i = 1, n1
        c(i, j) = c(i, j) + a(i, l)*b(l, j)
      end do
    end do
  end do
end subroutine

! w = w + c u on an element.
subroutine add_scaled(nx, w, u, c)
  implicit none
  integer, intent(in) :: nx
  real(8), intent(inout) :: w(nx, nx, nx)
  real(8), intent(in) :: u(nx, nx, nx), c
  integer :: i, j, k

  do k = 1, nx
    do j = 1, nx
      do i = 1, nx
        w(i, j, k) = w(i, j, k) + c*u(i, j, k)
      end do
    end do
  end do
end subroutine
