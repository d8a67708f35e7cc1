// Pointers of a routine's own, optional arguments, blocks, and directives that hold more than one
// routine or loop.
#include "core/model/print.h"
#include "tests/fortran/gfortran.h"

using namespace moonloop;
using test::error_of;
using test::import;
using test::same_as_gfortran;

namespace {

std::string why(const std::string& declarations, const std::string& body) {
  return error_of([&] {
    import("subroutine s(n, a, b)\ninteger, intent(in) :: n\nreal, target :: a(n), b(n)\n" +
           declarations + "\n" + body + "\nend subroutine\n");
  });
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

}  // namespace

TEST_CASE("fortran: pointers that swap, within loops that are left early") {
  same_as_gfortran(R"(
subroutine swap(n, a, b, steps)
  implicit none
  integer, intent(in) :: n
  real(8), target, intent(inout) :: a(n), b(n)
  integer, intent(out) :: steps
  real(8), pointer :: p(:), q(:), t(:)
  integer :: i, k
  p => a
  q => b
  steps = 0
  do k = 1, 7
    if (k == 5) then
      if (p(1) < q(1)) cycle
      q => p(n:1:-1)
    end if
    do i = 2, n - 1
      q(i) = 0.5d0*(p(i-1) + p(i+1))
    end do
    if (q(n) > p(1) .and. k > 5) exit
    t => p
    p => q
    q => t
    steps = steps + 1
  end do
  p(1) = p(1) + 10
end subroutine
)",
                   {{{"n", "1"}}, {{"n", "2"}}, {{"n", "9"}}, {{"n", "30"}}});
}

TEST_CASE("fortran: what a pointer points to is fixed when it is set") {
  same_as_gfortran(R"(
subroutine columns(n, a, s)
  implicit none
  integer, intent(in) :: n
  real(8), target, intent(inout) :: a(n, n)
  real(8), intent(out) :: s(3)
  real(8), pointer :: p(:), q(:), x
  integer :: i, k
  k = n
  p(0:) => a(:, k)
  k = 1
  p(0) = p(0) + 5
  x => a(k, 1)
  x = x + 0.5d0
  q => a(1, :)
  do i = 1, n
    if (a(i, i) > q(1)) q => a(:, i)
    k = k + 1
  end do
  s(1) = sum(q) + q(n)
  s(2) = lbound(p, 1) + 10*ubound(p, 1) + size(p)
  s(3) = x
end subroutine
)",
                   {{{"n", "1"}}, {{"n", "2"}}, {{"n", "9"}}});
}

// A program does not use a pointer that points nowhere: where it does, the pointer was set.
TEST_CASE("fortran: pointers that are set on some ways, and asked whether they are") {
  same_as_gfortran(R"(
subroutine some(n, a, b, s)
  implicit none
  integer, intent(in) :: n
  real(8), target, intent(inout) :: a(n), b(n)
  real(8), intent(out) :: s(3)
  real(8), pointer :: p(:), q(:), last
  integer :: i
  s = 0
  nullify(p, q)
  if (n > 3) p => b
  if (associated(p)) then
    p(1) = p(1) + 1
    q => p(2:)
    s(1) = sum(q)
  end if
  if (.not. associated(q)) q => a
  q(1) = 5
  do i = 1, n
    last => a(i)
    last = last + i
    if (i == 1) p => a
    s(2) = s(2) + p(i)
  end do
  if (n > 0) s(3) = last
  if (.not. associated(p)) return
  p(n) = 7
end subroutine
)",
                   {{{"n", "1"}}, {{"n", "2"}}, {{"n", "4"}}, {{"n", "9"}}});
}

TEST_CASE(
    "fortran: pointers to themselves, backwards, and in loops that the program does not get to") {
  same_as_gfortran(R"(
subroutine s(n, a, b, c)
  implicit none
  integer, intent(in) :: n
  real(8), target, intent(inout) :: a(n), b(n)
  real(8), intent(inout) :: c(n)
  real(8), pointer :: p(:), q(:)
  integer :: i
  p => a(2:)
  c(1:n-1) = p(n-1:1:-1)
  c(1) = c(1) + sum(p(::-1)) + size(p(2::-1)) + size(a(::-1))
  p(0:) => p
  c(1) = c(1) + p(0)*lbound(p, 1)
  p => p
  p(0) = 4
  associate (y => b(2:n))
    c(2:n) = c(2:n) + y(n-1:1:-1)
    c(n) = c(n) + sum(y(::-1))
  end associate
  nullify(q)
  if (associated(q)) then
    do i = 1, n
      q(1) = 3
      p => b
      if (i == 2) exit
    end do
  end if
  do i = 1, n
    if (i == 3) p => b
    p(1) = p(1) + 1
    if (i == 5) exit
  end do
end subroutine
)",
                   {{{"n", "3"}}, {{"n", "4"}}, {{"n", "9"}}});
}

TEST_CASE("fortran: statements that do not use the pointers that vary are there once") {
  const std::string text = print_kernel(import(R"(
subroutine s(n, a, b, c)
  integer, intent(in) :: n
  real, target :: a(n), b(n)
  real :: c(n)
  real, pointer :: p(:)
  integer :: i
  p => a
  if (n > 9) p => b
  do i = 1, n
    c(i) = c(i) + 1
  end do
  do i = 1, n
    p(i) = c(i)*2
  end do
end subroutine
)")
                                            .original.at(0));
  CHECK(count(text, " + 1") == 1);
  CHECK(count(text, "*2") == 2);
  CHECK(count(text, "points") > 2);
}

TEST_CASE("fortran: pointers that are refused, with their names") {
  CHECK(why("real, pointer :: p(:)", "p = 1").find("the pointer `p`, which points nowhere yet") ==
        0);
  CHECK(why("real, pointer :: p(:)", "p => a\nnullify(p)\np = 1")
            .find("the pointer `p`, which points to nothing here") == 0);
  CHECK(why("real, pointer :: p(:)", "if (n > 3) p = 1\np => a")
            .find("the pointer `p`, which points nowhere yet") == 0);
  CHECK(why("real, pointer :: p(:)", "p => b(n:1:n)\nif (size(p) > 3) a = 1").empty());
  CHECK(why("real, pointer :: p(:, :)\nreal, target :: z(3, 4)", "p(1:4, 1:3) => z")
            .find("an assignment to a pointer that gives it other axes") == 0);
  const std::string wide = "real, pointer :: p(:, :)";
  CHECK(why(wide, "p(1:n, 1:1) => a\nif (any(p > 0)) a = 1")
            .find("a section along several axes of a pointer with other axes") == 0);
  CHECK(why(wide, "p(1:n, 1:1) => a\np = reshape([1.0], [n, 1])")
            .find("an array that is made here beside a pointer with other axes") == 0);
  CHECK(why(wide, "p(1:n/2, 1:2) => a(1:n:2)\ncall other(p)")
            .find("a pointer whose target has gaps and other axes, as an argument,") == 0);
  CHECK(why("interface\nfunction f()\nreal, pointer :: f(:)\nend function\nend interface\n"
            "real, pointer :: p(:)",
            "p => f()")
            .find("an assignment to a pointer of this target") == 0);
}

TEST_CASE("fortran: a call without an optional argument that the routine uses") {
  CHECK(test::why_kept("module m\ncontains\nsubroutine s(a)\nreal :: a\ncall t(a)\nend subroutine\n"
                       "subroutine t(a, f)\nreal :: a\nreal, optional :: f\na = a + f\n"
                       "end subroutine\nend module\n")
            .find("`t` uses its optional argument `f`, which is not given here, without asking "
                  "whether it is") == 0);
}

TEST_CASE("fortran: nested loops of OpenACC take an axis of groups each") {
  const std::string text = print_kernel(import(R"(
subroutine s(n, m, a)
  integer, intent(in) :: n, m
  real(8), intent(inout) :: a(n, m)
  integer :: i, j
  !$acc parallel
  !$acc loop gang
  do j = 1, m
    !$acc loop vector
    do i = 1, n
      a(i, j) = 2*a(i, j)
    end do
  end do
  !$acc end parallel
end subroutine
)")
                                            .transformed.at(0));
  CHECK(text.find("tag j: g.1") != std::string::npos);
  CHECK(text.find("tag i: g.0") != std::string::npos);
}

// Each thread has an array of its own there, and iterations share it where they are shared out.
TEST_CASE("fortran: an array of a routine that threads call is not taken on trust") {
  const Source* source = test::fortran_source(R"(
subroutine outer(n, r, z)
  integer, intent(in) :: n
  real(8), intent(in) :: r(n)
  real(8), intent(inout) :: z(n)
  !$omp parallel
  call solve(n, r, z)
  !$omp end parallel
contains
  subroutine solve(n, r, z)
    integer, intent(in) :: n
    real(8), intent(in) :: r(n)
    real(8), intent(inout) :: z(n)
    real(8) :: d(0:3)
    integer :: k
    d = 0
    !$omp do
    do k = 1, n
      d(1) = r(k)
      z(k) = d(1) + d(0)
    end do
  end subroutine
end subroutine
)");
  FortranOptions trusting;
  trusting.directives = FortranDirectives::Use;
  const FortranFile file = parse_fortran(source, trusting);
  REQUIRE(file.transforms.size() == 1);
  const FortranFile::Transform& t = file.transforms[0];
  CHECK(t.code.find("par") != std::string::npos);
  CHECK(t.code.find("unsafe") == std::string::npos);
  CHECK(error_of([&] {
          run_transform_script(t.source, file.kernels, {}, t.code.c_str());
        }).find("tagging `k` as `par` would run") == 0);
}

TEST_CASE("fortran: variables of loops inside of a parallel one have no value behind it") {
  const test::Imported all = test::import(R"(
subroutine s(n, a, b)
  integer, intent(in) :: n
  real(8), intent(inout) :: a(n, n), b(n)
  integer :: i, j
  !$omp parallel do collapse(2)
  do j = 1, n
    do i = 1, n
      a(i, j) = 0.5d0*a(i, j)
    end do
  end do
  do i = 1, n
    b(i) = 2*b(i)
  end do
  b(1) = i + b(1)
end subroutine
)");
  const std::string code = generate(all.transformed.at(0), Target::OpenMP).source;
  CHECK(code.find("#pragma omp parallel for collapse(2)") != std::string::npos);
}

TEST_CASE("fortran: a private variable of a region that inner loops set is one of each loop") {
  const test::Imported all = test::import(R"(
subroutine s(n, a, b)
  integer, intent(in) :: n
  real(8), intent(inout) :: a(n, n), b(n)
  real(8) :: t
  integer :: i, j, turn
  t = 1
  do turn = 1, 3
    !$omp parallel private(t)
    !$omp do
    do j = 1, n
      do i = 1, n - 1
        t = 0.5d0*a(i, j)
        a(i, j) = t + b(j)
      end do
    end do
    !$omp end parallel
    b(1) = b(1) + t
    t = 0.25d0
  end do
end subroutine
)");
  CHECK(generate(all.transformed.at(0), Target::OpenMP).source.find("#pragma omp parallel for") !=
        std::string::npos);
}

TEST_CASE("fortran: a private variable of a region is one of each loop that sets it first") {
  const std::string text = print_kernel(import(R"(
subroutine s(n, a, k)
  integer, intent(in) :: n, k(n)
  real(8), intent(inout) :: a(n)
  real(8) :: t
  integer :: i, turn
  do turn = 1, 3
    !$omp parallel private(t)
    !$omp do
    do i = 1, n
      if (k(i) > 3) then
        t = a(i)
      else
        t = 2
      end if
      a(i) = a(i) + t
    end do
    !$omp end parallel
    t = 1
    a(1) = t
  end do
end subroutine
)")
                                            .transformed.at(0));
  CHECK(text.find("tag i: par") != std::string::npos);
}
