// Routines that stay functions of their own, `!$moonloop noinline`: programs with the generated
// code print what gfortran's print.
#include "tests/cli/fortran_program.h"

using namespace moonloop::test;

namespace {

const char* const kWork = R"(module work
  implicit none
  real(8) :: weight = 0.25d0
  integer :: calls = 0
contains
  !$moonloop noinline
  subroutine smooth(n, x, y)
    integer, intent(in) :: n
    real(8), intent(in) :: x(:)
    real(8), intent(out) :: y(n)
    integer :: i
    y(1) = x(1)
    y(n) = x(n)
    do i = 2, n - 1
      y(i) = weight*(x(i-1) + x(i+1)) + (1 - 2*weight)*x(i)
    end do
  end subroutine
  real(8) function total(n, x)
    !$moonloop noinline
    integer, intent(in) :: n
    real(8), intent(in) :: x(*)
    integer :: i
    total = 0
    do i = 1, n
      total = total + x(i)
    end do
  end function
  subroutine report(j, t)
    !$moonloop noinline
    integer, intent(in) :: j
    real(8), intent(in) :: t
    calls = calls + 1
    if (t > 3) print *, 'big', j
  end subroutine
  subroutine rows(n, m, a, b, t)
    integer, intent(in) :: n, m
    real(8), intent(inout) :: a(n, m), b(0:n-1, m), t(m)
    integer :: i, j
    do j = 1, m
      call smooth(n, a(:, j), b(:, j))
      t(j) = 2*total(n, b(:, j)) + bias(j)
    end do
    do i = 1, m
      call report(i, t(i))
    end do
    do j = 1, m
      call smooth(2, a(1:n:3, j), t(1:2))
    end do
  contains
    real(8) function bias(j)
      !$moonloop noinline
      integer, intent(in) :: j
      bias = 0.5d0*j/m
    end function
  end subroutine
end module
)";
const char* const kWorkProgram = R"(program main
  use work
  implicit none
  real(8) :: a(9, 4), b(9, 4), t(4)
  integer :: i
  a = reshape([(mod(i*7, 5)*0.125d0, i = 1, 36)], [9, 4])
  call rows(9, 4, a, b, t)
  print '(4f12.6, i4)', t, calls
  print '(9f9.5)', b
end program
)";

}  // namespace

TEST_CASE(
    "fortran: functions of their own are called with sections, module variables and results") {
  const Folder f;
  f.write("k.f90", kWork);
  f.write("main.f90", kWorkProgram);
  const Outcome code = tool("gen k.f90 --kernel rows", f.str());
  CHECK(code.status == 0);
  for (const char* function :
       {"static void smooth(int32_t n, double const *restrict x", "static void total(",
        "static void report(", "static void rows_bias("})
    CHECK_MESSAGE(code.out.find(function) != std::string::npos, code.out);
  CHECK(code.err.find("the call of `work::smooth` in `rows` is replaced by its body") !=
        std::string::npos);
  CHECK(code.err.find("has gaps in memory") != std::string::npos);
  CHECK(code.err.find("[inlined-call]") != std::string::npos);
  same_program(f, {"rows"});
  same_program(f, {"rows", "smooth"});
}

TEST_CASE("fortran: a routine is no function of its own where its calls change what others use") {
  const Folder f;
  f.write("k.f90", R"(module m
  implicit none
  real(8) :: v(10)
contains
  subroutine inner(n, x)
    !$moonloop noinline
    integer, intent(in) :: n
    real(8), intent(inout) :: x(n)
    x = 2*x
    call elsewhere(n)
  end subroutine
  subroutine outer(n, x)
    integer, intent(in) :: n
    real(8), intent(inout) :: x(n)
    v(:n) = v(:n) + 1
    call inner(n, x)
    v(:n) = v(:n)*2
  end subroutine
end module
)");
  const Outcome code = tool("show k.f90 --kernel outer", f.str());
  CHECK_MESSAGE(has(code.err, "the call of `m::inner` in `outer` is replaced by its body"),
                code.err);
  CHECK_MESSAGE(has(code.err, "it has statements or calls that stay Fortran"), code.err);
  CHECK_MESSAGE(has(code.out, "elsewhere(n, knows(v))"), code.out);
}

TEST_CASE("fortran: a script transforms a function of its own, and fc replaces what calls it") {
  const Folder f;
  f.write("k.f90", std::string(kWork) + kWorkProgram + R"(!$moonloop begin transform
! smooth = lp.split_iname(smooth, "i", 4)
!$moonloop end transform
)");
  const Outcome made = tool("fc -- gfortran -O1 k.f90 -o ours", f.str());
  CHECK_MESSAGE(made.status == 0, made.err);
  CHECK(made.err.find("moonloop: k.f90: smooth, rows") != std::string::npos);
  CHECK(shell("gfortran -O1 k.f90 -o theirs", f.str()).status == 0);
  CHECK(shell("./ours", f.str()).out == shell("./theirs", f.str()).out);
  const Outcome code = tool("gen k.f90 --kernel rows --quiet", f.str());
  CHECK(code.out.find("i_inner") != std::string::npos);
}

TEST_CASE("fortran: `noinline` belongs to a routine") {
  const Folder f;
  f.write("k.f90",
          "module m\n!$moonloop noinline\n\n\ncontains\nsubroutine s(a)\nreal :: a\na = 1\n"
          "end subroutine\nend module\n");
  const Outcome run = tool("gen k.f90", f.str());
  CHECK(run.status != 0);
  CHECK(run.err.find("k.f90:2:") != std::string::npos);
  CHECK(run.err.find("`noinline` is neither in a routine nor on the line before one") !=
        std::string::npos);
}
