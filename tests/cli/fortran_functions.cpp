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

TEST_CASE("fortran: functions that give arrays and letters, long names, rows for a function") {
  const Folder f;
  f.write("k.f90", R"(module values
  implicit none
  type pair
    real(8) :: a_component_with_a_long_name(2)
  end type
  type(pair) :: a_variable_of_a_module_whose_name_is_as_long_as_that
contains
  function products(a, b) result(c)
    real(8), intent(in) :: a(:), b(:)
    real(8) :: c(size(a), size(b))
    integer :: i, j
    do j = 1, size(b)
      do i = 1, size(a)
        c(i, j) = a(i)*b(j)
      end do
    end do
  end function
  character function letter(n)
    integer, intent(in) :: n
    letter = achar(64 + n)
  end function
  !$moonloop noinline
  subroutine twice(x)
    real(8), intent(inout) :: x(:)
    x = 2*x
  end subroutine
  !$moonloop noinline
  logical function within(c, s)
    character, intent(in) :: c
    character(*), intent(in) :: s
    within = index(s, c) > 0
  end function
  !$moonloop noinline
  subroutine add(n, x, k)
    integer, intent(in) :: n
    real(8), intent(inout) :: x(n)
    integer(8), intent(inout) :: k
    integer(8) :: i
    do i = 1, n
      x(i) = x(i) + i
    end do
    k = k + n
  end subroutine
  subroutine rows(n, m, a, k, found)
    integer, intent(in) :: n, m
    real(8), intent(inout) :: a(n, m)
    integer(8), intent(inout) :: k
    logical, intent(out) :: found(2)
    integer :: i
    do i = 1, n
      call twice(a(i, :))
    end do
    do i = 1, m
      call add(n, a(:, i), k)
    end do
    a(1, 1) = a(1, 1) + a_variable_of_a_module_whose_name_is_as_long_as_that% &
              a_component_with_a_long_name(2)
    found(1) = within('b', 'abc')
    found(2) = within('x', 'abc')
  end subroutine
  subroutine columns(n, m, a)
    integer, intent(in) :: n, m
    real(8), intent(inout) :: a(n, m)
    integer :: i
    do i = 1, m
      call twice(a(:, i))
    end do
  end subroutine
end module
)");
  f.write("main.f90", R"(program main
  use values
  real(8) :: a(2, 3)
  integer(8) :: k
  logical :: found(2)
  a = 1
  k = 0
  a_variable_of_a_module_whose_name_is_as_long_as_that%a_component_with_a_long_name = 5
  call rows(2, 3, a, k, found)
  call columns(2, 3, a)
  print *, a, k, found, letter(1), letter(26), products([1d0, 2d0], [3d0, 4d0, 5d0])
end program
)");
  same_program(f, {"products", "letter", "rows", "columns"});
}

TEST_CASE("fortran: entries of which some have alternate returns") {
  const Folder f;
  f.write("k.f90", R"(subroutine first(n, x, *)
  integer n, i
  real x(n)
  if (n < 0) return 1
  do i = 1, n
    x(i) = x(i)*2
  end do
  return
  entry further(n, x)
  do i = 1, n
    x(i) = x(i) + 1
  end do
end
)");
  f.write("main.f90", R"(program main
  real x(3)
  x = 1
  call first(3, x, *9)
  call further(2, x)
  print *, x
  call first(-1, x, *9)
  stop
9 print *, 'the other one'
end program
)");
  same_program(f, {"first", "further"});
}

TEST_CASE("fortran: clauses and constructs of directives that run in order") {
  const Folder f;
  f.write("k.f90", R"(subroutine clauses(n, x, h, s, e, v, last)
  implicit none
  integer, intent(in) :: n, x(n)
  integer, intent(inout) :: h(4), e, v
  real(8), intent(inout) :: s, last(2)
  integer :: i, j, k, l(4)
  real(8) :: part, t(2)
  k = 3
  !$omp parallel private(part, l) firstprivate(k)
  k = k + 1
  part = 0
  l = 0
  !$omp do
  do i = 1, n
    part = part + x(i)*k
    l(x(i)) = l(x(i)) + 1
  end do
  !$omp end do
  !$omp flush
  !$omp critical
  s = s + part
  h = h + l
  !$omp end critical
  !$omp end parallel
  t = 0
  !$omp parallel do lastprivate(t)
  do i = 1, n
    t(1) = x(i)
    t(2) = i
  end do
  last = t
  !$omp parallel do reduction(ieor: e) reduction(+: s)
  do i = 1, n
    e = ieor(e, x(i))
    s = s - x(i)
  end do
  !$omp sections lastprivate(j) reduction(+: v)
  j = 1
  !$omp section
  v = v + 2
  j = 7
  !$omp end sections
  do i = 1, n
    !$omp atomic capture
    v = v + 1
    j = v
    !$omp end atomic
    !$acc atomic update
    h(x(i)) = h(x(i)) + j
  end do
  !$omp atomic write
  last(2) = j
  !$acc parallel reduction(+: s)
  !$acc loop
  do i = 1, n
    s = s + x(i)
  end do
  !$acc end parallel
  !$acc serial loop
  do i = 2, n
    last(1) = last(1)*0.5d0 + x(i)
  end do
  !$acc parallel loop tile(2, 2) if(n > 2)
  do j = 1, 2
    do i = 1, 2
      h(2*(j - 1) + i) = h(2*(j - 1) + i)*2
    end do
  end do
  !$omp target teams distribute reduction(+: s)
  do j = 1, 2
    !$omp parallel do reduction(+: s)
    do i = 1, n
      s = s + j*x(i)
    end do
  end do
end subroutine
)");
  f.write("main.f90", R"(program main
  integer :: h(4), e, v
  real(8) :: s, last(2)
  h = 0; e = 0; v = 0; s = 0; last = 0
  call clauses(6, [1, 2, 2, 4, 4, 4], h, s, e, v, last)
  print *, h, s, e, v, last
end program
)");
  same_program(f);
  const Outcome code = tool("gen k.f90 --target openmp --quiet", f.str());
  REQUIRE_MESSAGE(code.status == 0, code.err);
  CHECK(has(code.out, "reduction(+:acc_i)"));
}

TEST_CASE("fortran: what runs for one thread at a time is not taken on trust") {
  const Folder f;
  f.write("k.f90", R"(subroutine largest(n, x, most, place)
  integer, intent(in) :: n
  real(8), intent(in) :: x(n)
  real(8), intent(inout) :: most
  integer, intent(inout) :: place
  integer :: i
  !$omp parallel do
  do i = 1, n
    !$omp critical
    if (x(i) > most) then
      most = x(i)
      place = i
    end if
    !$omp end critical
  end do
end subroutine
)");
  const Outcome made = tool("gen k.f90 --directives use --target openmp", f.str());
  CHECK(made.status == 1);
  CHECK(has(made.err, "[not-proved]"));
  CHECK(has(made.err, "insn[i=0] may write most and insn[i=1] may write it too"));
}

TEST_CASE("fortran functions: those of ieee_arithmetic") {
  const Folder f;
  f.write("k.f90", R"(subroutine count_bad(n, x, k)
  use, intrinsic :: ieee_arithmetic
  integer, intent(in) :: n
  real(8), intent(inout) :: x(n)
  integer, intent(out) :: k(4)
  integer :: i
  k = 0
  do i = 1, n
    if (ieee_is_nan(x(i))) k(1) = k(1) + 1
    if (.not. ieee_is_finite(x(i))) k(2) = k(2) + 1
    if (ieee_is_negative(x(i))) k(3) = k(3) + 1
    if (ieee_is_normal(x(i))) k(4) = k(4) + 1
  end do
  if (any(ieee_is_nan(x)) .and. .not. all(ieee_is_finite(x))) k = k + 100
end subroutine
subroutine spoil(x, y)
  use, intrinsic :: ieee_arithmetic, only: ieee_value, nothing => ieee_quiet_nan, &
    ieee_positive_inf, ieee_negative_inf, ieee_negative_zero
  real(8), intent(out) :: x(4)
  real, intent(inout) :: y
  x(1) = ieee_value(x(1), nothing)
  x(2) = ieee_value(1.0d0, ieee_positive_inf)
  x(3) = ieee_value(x(1), ieee_negative_inf)
  x(4) = ieee_value(x(1), ieee_negative_zero)
  y = y - ieee_value(y, ieee_positive_inf)
end subroutine
subroutine report(x)
  use, intrinsic :: ieee_arithmetic, only: bad => ieee_is_nan
  real(8), intent(in) :: x
  if (bad(x)) print *, 'not a number'
  if (.not. bad(x)) print *, 'a number', x
end subroutine
)");
  f.write("main.f90", R"(program p
  real(8) :: x(4), y(3) = [1d0, -2d0, 0d0]
  real :: z = 3
  integer :: k(4)
  call spoil(x, z)
  print *, x, z
  call count_bad(4, x, k)
  print *, k
  call count_bad(3, y, k)
  print *, k
  call report(x(1))
  call report(y(1))
end program
)");
  same_program(f, {"count_bad", "spoil", "report"});

  f.write("c.f90", R"(subroutine s(x, k)
  use, intrinsic :: ieee_arithmetic
  real(8), intent(in) :: x
  integer, intent(out) :: k
  k = 0
  if (ieee_class(x) == ieee_quiet_nan) k = 1
end subroutine
)");
  const Outcome refused = tool("gen c.f90", f.str());
  CHECK(refused.status == 1);
  CHECK(refused.err.find("`ieee_class`") != std::string::npos);
}

TEST_CASE("fortran functions: beside `.and.` and `.or.` they are called in turn") {
  const Folder f;
  f.write("k.f90", R"(module asking
  implicit none
  integer :: calls = 0
  type answer
    logical :: yes
    integer :: since
  end type
contains
  logical function big(x)
    real(8), intent(in) :: x
    calls = calls + 1
    big = x > 2
  end function
  recursive integer function depth(n) result(d)
    integer, intent(in) :: n
    calls = calls + 100
    d = 0
    if (n > 0) d = depth(n - 1) + 1
  end function
  function twice(a) result(b)
    real(8), intent(in) :: a(:)
    real(8) :: b(size(a))
    calls = calls + 10000
    b = 2*a
  end function
  type(answer) function known(n)
    integer, intent(in) :: n
    calls = calls + 1000000
    known = answer(n > 2, calls)
  end function
  subroutine ask(n, a, k, o)
    integer, intent(in) :: n
    real(8), intent(in) :: a(n)
    integer, intent(out) :: k(8)
    real(8), intent(in), optional :: o
    type(answer) :: last
    logical :: l
    integer :: i
    k = 0
    do i = 1, n + 3
      if (i <= n .and. big(a(i))) k(1) = k(1) + 1
      if (i > n .or. a(min(i, n)) > 3 .or. big(a(i))) k(2) = k(2) + 1
      l = .not. (i > 3 .and. depth(i) > 4)
      if (l) k(3) = k(3) + 1
    end do
    if (present(o) .and. big(o) .or. big(5d0)) k(4) = 1
    if (n > 300 .and. any(twice(a) > 3)) k(5) = 1
    do while (k(6) < 5 .and. depth(k(6)) < 4)
      k(6) = k(6) + 1
    end do
    if (n < 0) then
      k(7) = 1
    else if (k(6) > 2 .and. big(a(2)) .and. big(a(3))) then
      k(7) = 2
    else if (big(a(3)) .or. big(a(4)) .or. k(2) > 0) then
      k(7) = 3
    end if
    last = known(n)
    if (k(7) > 8 .and. is(known(n)) .or. last%yes) k(7) = k(7) + 10
    k(8) = calls + last%since
  end subroutine
  logical function is(a)
    type(answer), intent(in) :: a
    is = a%yes
  end function
end module
)");
  f.write("main.f90", R"(program p
  use asking
  real(8) :: a(7)
  integer :: k(8), i
  a = [(mod(i*5, 7)*0.9d0, i = 1, 7)]
  call ask(7, a, k)
  print *, k
  call ask(7, a, k, 3d0)
  print *, k
end program
)");
  // Without optimization, gfortran calls them all.
  same_program(f, {"ask"}, "-O1");
}
