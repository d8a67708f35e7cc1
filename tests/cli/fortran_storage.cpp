// Variables that share memory by `equivalence`.
#include "tests/cli/fortran_program.h"

using namespace moonloop::test;

TEST_CASE("fortran: variables in `equivalence` share their elements") {
  const Folder f;
  f.write("k.f90", R"(subroutine s(n, a, b, x)
  implicit none
  integer, intent(in) :: n
  real(8), intent(inout) :: a(n), b(n)
  real(8), intent(out) :: x(8)
  real(8) :: ci(2, 2), civ(4), p, q(3), r(0:5)
  integer :: i, j, k(4), m
  equivalence (ci(1, 1), civ(1)), (p, q(2)), (q(3), r(1)), (k(2), m)
  civ = 0; r = 0; p = 0; q = 0
  do i = 1, n
    do j = 1, 2
      ci(j, 1 + mod(i, 2)) = a(i) + j
    end do
    b(i) = b(i) + civ(3) - civ(2)
    q = a(i)
    p = p + 1
    r(1:) = r(1:) + 0.5d0
    r(0) = q(2) + size(ci, 2) + ubound(r, 1)
    a(i) = p + sum(q) + sum(r(2:3))
    k = i
    m = m + 3
    call outside(civ, 4, m)
    b(i) = b(i) + k(2) + ci(2, 2)
  end do
  x(:4) = civ
  x(5:) = r(:3)
end subroutine
)");
  f.write("other.f90", R"(subroutine outside(v, n, m)
  integer :: n, m
  real(8) :: v(n)
  v(4) = v(4) + m
  m = m + 1
end subroutine
)");
  f.write("main.f90", R"(program main
  implicit none
  real(8) :: a(5), b(5), x(8)
  integer :: i
  a = [(i, i = 1, 5)]; b = 2
  call s(5, a, b, x)
  print *, a, b, x
end program
)");
  same_program(f);
}

TEST_CASE("fortran: what cannot share memory is named") {
  const auto says = [](const std::string& declarations, const std::string& statement,
                       const std::string& what) {
    const Folder f;
    f.write("k.f90",
            "subroutine s(n, x)\n  integer :: n\n  real :: x(n)\n  real :: a(2, 2), b(4)\n" +
                declarations + statement + "end\n");
    const Outcome o = tool("gen k.f90", f.str());
    CHECK(o.status == 1);
    CHECK_MESSAGE(has(o.err, what + " is not supported in Fortran kernels [unsupported]"), o.err);
  };
  const std::string both = "  equivalence (a, b)\n";
  says("  integer :: i(2)\n  equivalence (a, i)\n", "  a(1, 1) = x(1)\n  x(1) = i(1)\n",
       "k.f90:4:11: error: `a` in `equivalence`");
  says("  real(8) :: d\n  equivalence (b(2), d)\n", "  b = x(1)\n  x(1) = b(1)\n",
       "k.f90:4:20: error: `b` in `equivalence`");
  says("  save b\n" + both, "  b = x(1)\n  x(1) = b(1)\n",
       "k.f90:4:20: error: `b` in `equivalence`");
  says("  common /c/ b\n" + both, "  a(1, 1) = x(1)\n", "k.f90:4:11: error: `a` in `equivalence`");
  says(both, "  a = x(1)\n  x(1) = b(1)\n",
       "k.f90:6:3: error: an array of several axes as a whole, `a`, which is in `equivalence`,");
  says(both, "  b = x(1)\n  x(1) = sum(a(:, 1))\n",
       "k.f90:7:3: error: a section of an array of several axes, `a`, which is in `equivalence`,");
  says("  equivalence (k, l)\n", "  do k = 1, n\n    x(k) = 1\n  end do\n",
       "k.f90:6:3: error: a loop's variable, `k`, which is in `equivalence`,");
}

TEST_CASE("fortran: allocate gives local arrays the shapes of variables") {
  const Folder f;
  f.write("k.f90", R"(module state
  implicit none
  real(8), allocatable :: u(:, :)
contains
  subroutine work(n, x, y, a, s)
    integer, intent(in) :: n
    real(8), intent(in) :: x(0:), y(n, -1:n)
    real(8), allocatable, intent(in) :: a(:)
    real(8), intent(out) :: s(8)
    real(8), allocatable :: v(:), w(:, :), z(:, :), t(:)
    integer :: ierr, i
    allocate(v, source=x, stat=ierr)
    allocate(w, z, mold=y)
    allocate(t, source=a)
    w = 2
    z(1, -1) = 7
    do i = lbound(t, 1), ubound(t, 1)
      t(i) = t(i)*i
    end do
    s(1) = sum(v) + ierr
    s(2) = lbound(v, 1)
    s(3) = lbound(w, 2)
    s(4) = sum(w)
    s(5) = sum(t)
    s(6) = z(1, -1) + ubound(t, 1)
    deallocate(v, w)
    call inner(s(7))
  contains
    subroutine inner(r)
      real(8), intent(out) :: r
      real(8), allocatable :: q(:, :)
      allocate(q, source=u)
      q(2, 3) = q(2, 3) + 1
      r = sum(q) + lbound(q, 2)
    end subroutine
  end subroutine
end module
)");
  f.write("main.f90", R"(program main
  use state
  implicit none
  real(8) :: x(5), s(8), y(3, 5)
  real(8), allocatable :: a(:)
  x = [1, 2, 3, 4, 5]
  y = 1
  allocate(a(-2:2), u(3, 2:5))
  a = 2
  u = 3
  s = 0
  call work(3, x, y, a, s)
  print *, s
end program
)");
  same_program(f, {"work"});
}
