// Constructs around statements: `associate`, regions of OpenMP, and common assumptions of programs.
#include "codegen/codegen.h"
#include "core/infer/infer.h"
#include "core/model/print.h"
#include "core/order/check_kernel.h"
#include "tests/fortran/gfortran.h"

using namespace moonloop;
using test::error_of;
using test::import;
using test::same_as_gfortran;

namespace {

const std::vector<GivenValues> kSizes{
    {{"n", "0"}}, {{"n", "1"}}, {{"n", "2"}}, {{"n", "17"}}, {{"n", "64"}}};

}  // namespace

TEST_CASE("fortran: associate with variables, elements, sections, components and values") {
  same_as_gfortran(R"(
subroutine s(n, a, b, total)
  implicit none
  integer, intent(in) :: n
  real(8), intent(inout) :: a(0:n + 1, 3), b(n + 2)
  real(8), intent(out) :: total
  integer :: i, j
  total = 0
  j = 2
  associate (x => b, column => a(:, j), inner => a(1:n, 3), first => a(0, 1), back => b(n + 2:1:-1), &
             both => n*2, last => n + 2)
    do i = 1, n
      x(i) = 2*x(i) + column(i) + inner(i)
      column(i + 1) = x(i)
      inner(i) = back(i)
    end do
    first = first + both*2.5d0
    total = sum(column(1:last)) + ubound(x, 1) + sum(back(2:))
  end associate
  associate (whole => a)
    whole(0, 1) = whole(0, 1) + 1
  end associate
end subroutine
)",
                   kSizes);
}

TEST_CASE("fortran: associate where its subscripts or values change") {
  const auto refused = [](const std::string& selector, const std::string& inside) {
    return error_of([&] {
      import(
          "subroutine s(n, a)\ninteger :: n, i\nreal :: a(n), f\nexternal f\ni = 1\n"
          "associate (x => " +
          selector + ")\n" + inside + "\nend associate\nend subroutine\n");
    });
  };
  CHECK(refused("a(i)", "i = 2\nx = 1") ==
        "`x`, associated with `a[i]`, where the construct assigns `i`, is not supported in Fortran "
        "kernels [unsupported]");
  CHECK(refused("a + 1", "a = x") ==
        "`x`, associated with `a + 1.0f`, where the construct assigns `a`, is not supported in "
        "Fortran kernels [unsupported]");
}

TEST_CASE("fortran: associate with what a pointer points to, which moves") {
  CHECK(error_of([] {
          import(
              "subroutine s(n, a)\ninteger :: n\nreal, target :: a(n, 2)\n"
              "real, pointer :: p(:)\np => a(:, 1)\nassociate (x => p(2:))\n"
              "p => a(:, 2)\nx = 1\nend associate\nend subroutine\n");
        }).find("where the construct assigns `p`") != std::string::npos);
}

TEST_CASE("fortran: associate where a call may change its subscripts") {
  const auto refused = [](const std::string& change) {
    return error_of([&] {
      import(
          "subroutine s(n, a)\ninteger :: n, i\nreal :: a(n)\ni = 1\n"
          "associate (x => a(i))\ncall change()\nx = 1\nend associate\ncontains\n"
          "subroutine change()\n" +
          change + "\nend subroutine\nend subroutine\n");
    });
  };
  CHECK(refused("i = 2").find("where the construct assigns `i`") != std::string::npos);
  CHECK(refused("a(1) = 2").empty());
}

TEST_CASE("fortran: associate where its subscripts are passed, and stay") {
  const auto refused = [](const std::string& before, const std::string& inside,
                          const std::string& after) {
    return error_of([&] {
      import(
          "subroutine s(n, a)\ninteger :: n, i, j\nreal :: a(n)\ncharacter(len=8) :: line\n"
          "external :: change\n" +
          before + "\nassociate (x => a(i))\n" + inside + "\nx = 1\nend associate\n" + after +
          "\nend subroutine\n");
    });
  };
  const std::string changes = "where the construct assigns `i`";
  CHECK(refused("i = 1", "call change(i)", "").find(changes) != std::string::npos);
  CHECK(refused("do i = 1, n", "call change(i)", "end do") == "");
  CHECK(refused("i = 1", "do i = 1, n\ncall change(j)\nend do", "").find(changes) !=
        std::string::npos);
  CHECK(refused("i = 1", "read (line, *) i", "").find(changes) != std::string::npos);
  CHECK(refused("i = 1", "write (line, '(i8)', iostat=j) i", "") == "");
}

TEST_CASE("fortran: a number that a name of `associate` stands for stays as it was") {
  same_as_gfortran(R"(
subroutine s(n, a, x)
  integer, intent(in) :: n
  real(8), intent(inout) :: a(n, 2), x(n)
  integer :: i
  real(8) :: u
  u = 0.5d0
  do i = 1, n
    associate (half => 0.5d0*u, k => i/2 + 1)
      u = u + x(k)
      call change()
      x(i) = half + a(k, 1)
      associate (half => mean(x) + half)
        x = 0.5d0*x
        a(i, 2) = half
      end associate
      a(i, 1) = a(i, 1) + half
    end associate
  end do
contains
  subroutine change()
    u = u - 0.25d0
  end subroutine
  real(8) function mean(v)
    real(8), intent(in) :: v(:)
    mean = sum(v)/size(v)
  end function
end subroutine
)",
                   kSizes);
}

TEST_CASE("fortran: a parallel region shares its loops and runs the rest once") {
  const std::string text = R"(
subroutine s(n, m, a, b, total, most)
  integer, intent(in) :: n, m
  real(8), intent(inout) :: a(n, m), b(m)
  real(8), intent(out) :: total, most
  real(8) :: t
  integer :: i, j
  total = 0
  most = 0
  !$omp parallel private(i, t) reduction(+: total)
  !$omp do
  do j = 1, m
    t = b(j)
    !$omp simd
    do i = 1, n
      a(i, j) = 2*a(i, j) + t
    end do
  end do
  !$omp end do nowait
  !$omp single
  b(1) = 1
  !$omp end single
  !$omp barrier
  !$omp do reduction(max: most)
  do j = 1, m
    total = total + b(j)
    most = max(most, b(j))
  end do
  !$omp end do
  !$omp end parallel
end subroutine
)";
  const test::Imported k = import(text);
  const std::string ir = print_kernel(k.transformed.at(0));
  CHECK(ir.find("tag j: par") != std::string::npos);
  CHECK(ir.find("tag j_1: par") != std::string::npos);
  CHECK(ir.find("tag i: simd") != std::string::npos);
  same_as_gfortran(text, {{{"n", "5"}, {"m", "1"}}, {{"n", "9"}, {"m", "7"}}});
}

TEST_CASE("fortran: what the threads of a region would do differently") {
  const auto refused = [](const std::string& region) {
    return error_of([&] {
      import(
          "subroutine s(n, a)\ninteger :: n, i\nreal :: a(n), t\ninteger :: omp_get_thread_num\n"
          "t = 0\n" +
          region + "\na(1) = t\nend subroutine\n");
    });
  };
  CHECK(refused("!$omp parallel reduction(+: t)\nt = t + 1\n!$omp end parallel") ==
        "`t`, which `reduction` names, assigned outside of a loop that threads share is not "
        "supported in Fortran kernels [unsupported]");
  CHECK(refused("!$omp parallel\ni = omp_get_thread_num()\na(i + 1) = 1\n!$omp end parallel") ==
        "a question for the number of a thread is not supported in Fortran kernels [unsupported]");
  CHECK(refused("!$omp parallel\n!$omp do\ndo i = 1, n\na(i) = 1\nend do\n!$omp end parallel") ==
        "");
  CHECK(refused("!$omp parallel\n!$omp do\ndo i = 2, n\na(i) = a(i - 1)\nend do\n"
                "!$omp end parallel")
            .find("tagging `i` as `par` would run") == 0);
}

TEST_CASE("fortran: accesses are inside of their arrays") {
  same_as_gfortran(R"(
subroutine s(n, d, p)
  implicit none
  integer, intent(in) :: n
  real(8), intent(inout) :: d(*)
  real(8), intent(out) :: p
  p = d(n)
  d(n - 1) = p
end subroutine
)",
                   {{{"n", "2"}}, {{"n", "9"}}});
  same_as_gfortran(
      R"(
subroutine s(n, lo, a, r)
  implicit none
  integer, intent(in) :: n, lo
  real(8), intent(in) :: a(n)
  real(8), intent(inout) :: r(n)
  real(8) :: z(n)
  integer :: j
  do j = 1, n
    z(j) = 2*a(j)
  end do
  do j = lo, n
    r(j) = z(j)
  end do
end subroutine
)",
      {{{"n", "5"}, {"lo", "1"}}, {{"n", "5"}, {"lo", "3"}}, {{"n", "0"}, {"lo", "1"}}});
  CHECK(error_of([] {
          complete(import("subroutine s(n, r)\ninteger, intent(in) :: n\nreal(8) :: r(n), z(n)\n"
                          "integer :: j\ndo j = 2, n\nz(j) = 1\nend do\ndo j = 1, n\n"
                          "r(j) = z(j)\nend do\nend subroutine\n")
                       .original[0]);
        }).find("`insn_0` reads `z[0]` through `z[j_1]`, which nothing writes") == 0);
  // What only some values of arguments would leave without a value, callers do not pass.
  same_as_gfortran(
      R"(
subroutine s(n, way, first, last, a, r)
  implicit none
  integer, intent(in) :: n, way, first, last
  real(8), intent(in) :: a(n)
  real(8), intent(inout) :: r(n)
  real(8) :: z(n), w(n)
  integer :: j, k
  if (way == 1) then
    z(:) = 2*a
  else if (way == 2) then
    z = -a
  end if
  do k = 1, 2
    do j = first, last
      w(j) = z(j) + k
    end do
    do j = 1, n
      r(j) = r(j) + w(j)
    end do
  end do
end subroutine
)",
      {{{"n", "5"}, {"way", "1"}, {"first", "1"}, {"last", "5"}},
       {{"n", "4"}, {"way", "2"}, {"first", "1"}, {"last", "4"}}});
}

TEST_CASE(
    "fortran: jumps ahead and back, out of loops and into their middle, by numbers and signs") {
  same_as_gfortran(R"(
subroutine jumps(n, a, b, m)
  implicit none
  integer, intent(in) :: n
  integer, intent(inout) :: m
  real(8), intent(inout) :: a(n), b(n)
  integer :: i, j, turns
  i = 0
  j = 0
10 continue
  i = i + 1
  if (i > n) goto 20
  if (a(i) < 0.5d0) goto 10
  b(i) = b(i) + a(i)
  goto 10
20 continue
  turns = 0
  if (mod(n, 3) /= 0) goto 40
30 m = m + 100
  turns = turns + 1
40 m = m + 2
  if (turns < 4) goto 30
  do 60 i = 1, n
    do 50 j = i, n
      if (a(j) > 0.9d0) goto 60
      if (b(j) > 1.4d0) goto 70
      a(j) = 0.75d0*a(j) + 0.125d0
50  continue
    b(i) = 2*b(i)
60 continue
  m = m + i
70 m = m + 10*j
  go to (80, 90, 100), mod(n, 5)
  m = m + 7
80 m = m + 1
90 if (m - 150) 100, 110, 120
100 m = m + 1000
110 m = m + 2000
120 continue
  outer: if (n > 2) then
    if (a(1) > 0.5d0) exit outer
    m = -m
  end if outer
end subroutine
)",
                   {{{"n", "0"}}, {{"n", "1"}}, {{"n", "3"}}, {{"n", "17"}}, {{"n", "64"}}});
}

TEST_CASE("fortran: a jump into a construct is named") {
  CHECK(error_of([] {
          import(
              "subroutine s(n, a)\ninteger :: n, i\nreal :: a(n)\ngoto 10\n"
              "do i = 1, n\n10 a(i) = 1\nend do\nend\n");
        }) ==
        "`goto 10`, which goes into a construct, is not supported in Fortran kernels "
        "[unsupported]");
}

// As in LAPACK's dlaed7: the bounds of the loop are data, so that no extent is known.
TEST_CASE("fortran: an array of assumed size whose subscripts have no known end") {
  CHECK(error_of([] {
          const auto all = import(
              "subroutine s(n, p, g, z)\ninteger :: n, i, p(n), g(2, *)\nreal(8) :: z(*)\n"
              "do i = p(1), p(2)\nz(g(1, i)) = 2*z(g(2, i))\ng(2, i) = g(1, i)\nend do\nend\n");
          check_kernel(infer_shapes(infer_types(all.original.front())));
        }) == "");
}

TEST_CASE("fortran: private variables begin without a value, also where no clause names them") {
  const std::string text = R"(
subroutine devices(n, m, a, b)
  implicit none
  integer, intent(in) :: n, m
  real(8), intent(inout) :: a(n, m), b(n)
  integer :: i, j
  real(8) :: t
  logical :: large
  !$acc parallel loop gang
  do i = 1, n
    do j = 1, m
      t = a(i, j)*2
      a(i, j) = t + 1
      large = t > 3
    end do
    if (b(i) > 0) t = b(i)
    if (b(i) > 0) large = t > 1
    if (b(i) > 0 .and. large) b(i) = t
  end do
end subroutine
subroutine threads(n, a, b)
  implicit none
  integer, intent(in) :: n
  real(8), intent(inout) :: a(n), b(n)
  integer :: i, k
  real(8) :: t, w(4)
  !$omp parallel do private(t, w, k)
  do i = 1, n
    if (a(i) > 0) t = a(i)
    do k = 1, 4
      if (k > 2 .or. a(i) > 1) w(k) = k*b(i)
    end do
    if (a(i) > 0) b(i) = t + w(3)
  end do
end subroutine
)";
  const test::Imported k = import(text);  // with its tags
  REQUIRE(k.transformed.size() == 2);
  CHECK(k.transformed[0].tag("i") != nullptr);
  CHECK(k.transformed[1].tag("i") != nullptr);
  same_as_gfortran(text.substr(0, text.find("subroutine threads")),
                   {{{"n", "5"}, {"m", "3"}}, {{"n", "4"}, {"m", "1"}}});
  same_as_gfortran(text.substr(text.find("subroutine threads")), {{{"n", "6"}}});
  // What is used after the loop is no variable of its iterations alone.
  CHECK(error_of([] {
          import(
              "subroutine s(n, a)\ninteger, intent(in) :: n\nreal(8) :: a(n), t\ninteger :: i\n"
              "!$acc parallel loop\ndo i = 1, n\nif (a(i) > 0) t = a(i)\na(i) = t\nend do\n"
              "a(1) = t\nend subroutine\n");
        }).find("tagging `i` as `g.0` would run") == 0);
}

TEST_CASE("fortran: elements that only their own iteration meets need no array on the way") {
  const std::string text = R"(
subroutine columns(n, a, b)
  implicit none
  integer, intent(in) :: n
  real(8), intent(inout) :: a(n, n), b(0:n + 1, n)
  integer :: i, j
  do i = 1, n - 1
    a(:, i) = a(:, i) - a(:, n)*a(:, i + 1)
    b(1:n, i) = b(1:n, i)/(2 + b(1:n, n)**2)
  end do
  forall (i = 1:n) a(i, i) = a(i, 1) + 1
  forall (i = 1:n, j = 1:n) b(i, j) = b(i, j)/2
end subroutine
)";
  const std::string crossing = R"(
subroutine crossing(n, a, b)
  implicit none
  integer, intent(in) :: n
  real(8), intent(inout) :: a(n, n), b(0:n + 1, n)
  integer :: i, j
  a(:, 1) = a(:, n) + a(n:1:-1, 1)
  b(1:n, 1) = b(0:n - 1, 1) + b(2:n + 1, n)
  a(:, :) = a(:, :) + spread(a(:, 1), 2, n)
  forall (i = 1:n, j = 1:n) a(i, j) = a(i, j) + a(j, i)
  forall (i = 1:n, j = 1:n) b(i, j) = b(i, j) - b(i, n + 1 - j)
end subroutine
)";
  const std::vector<GivenValues> sizes = {{{"n", "1"}}, {{"n", "4"}}, {{"n", "9"}}};
  test::same_as_gfortran(text, sizes);
  test::same_as_gfortran(crossing, sizes);
  const auto code = [](const std::string& t) {
    return generate(import(t).original.at(0), Target::C).source;
  };
  CHECK(code(text).find("_new") == std::string::npos);
  CHECK(code(crossing).find("b_new") != std::string::npos);
}

TEST_CASE("fortran: what is spread is computed once") {
  const std::string text = R"(
subroutine rows(n, m, a, b)
  implicit none
  integer, intent(in) :: n, m
  real(8), intent(in) :: a(m, n)
  real(8), intent(out) :: b(m, n)
  b = a/spread(1 + sum(a, 2), 2, n)
end subroutine
)";
  test::same_as_gfortran(text, {{{"n", "1"}, {"m", "3"}}, {{"n", "7"}, {"m", "5"}}});
  const std::string code = generate(import(text).original.at(0), Target::C).source;
  std::size_t depth = 0, deepest = 0;  // of loops
  for (std::size_t at = 0; at < code.size(); at = code.find('\n', at) + 1) {
    const std::size_t word = code.find_first_not_of(' ', at);
    if (code.compare(word, 3, "for") == 0)
      depth = (word - at) / 2, deepest = std::max(depth, deepest);
    if (code.find('\n', at) == std::string::npos) break;
  }
  CHECK(deepest == 2);
}

TEST_CASE("fortran: a loop that looks for extremes compares in vectors") {
  const std::string text = R"(
subroutine scales(m, n, a, r, c, least)
  implicit none
  integer, intent(in) :: m, n
  real(8), intent(in) :: a(m, n), r(m)
  real(8), intent(inout) :: c(n), least
  integer :: i, j
  do j = 1, n
    do i = 1, m
      c(j) = max(c(j), abs(a(i, j))*r(i), 0.25d0)
    end do
  end do
  do j = 1, n
    least = min(c(j), least)
  end do
end subroutine
)";
  test::same_as_gfortran(text, {{{"m", "0"}, {"n", "4"}},
                                {{"m", "1"}, {"n", "1"}},
                                {{"m", "37"}, {"n", "5"}},
                                {{"m", "5"}, {"n", "0"}}});
  const std::string code = generate(import(text).original.at(0), Target::C).source;
  // An element that nothing is compared with is not touched.
  CHECK(code.find("    if (m > 0) {\n      double c_greatest = c[j];\n"
                  "      #pragma omp simd reduction(max: c_greatest)\n") != std::string::npos);
  CHECK(code.find("      c[j] = c_greatest;\n    }\n") != std::string::npos);
  CHECK(code.find("#pragma omp simd reduction(min: ") != std::string::npos);
}

TEST_CASE("fortran: a largest value that begins anew in each iteration is none of the loop") {
  const std::string text = R"(
subroutine larger(n, a, b, c)
  implicit none
  integer, intent(in) :: n
  real(8), intent(in) :: a(n), b(n)
  real(8), intent(inout) :: c(n)
  real(8) :: t
  integer :: i
  do i = 1, n
    t = a(i) + 1
    t = max(t, b(i))
    c(1) = max(c(1), t)
  end do
end subroutine
)";
  test::same_as_gfortran(text, {{{"n", "1"}}, {{"n", "37"}}});
  const std::string code = generate(import(text).original.at(0), Target::C).source;
  CHECK(code.find("omp simd") == std::string::npos);
}

TEST_CASE("fortran: a value that each iteration assigns is no condition of the loop") {
  test::same_as_gfortran(R"(
subroutine r(n, first, x, t)
  implicit none
  integer, intent(in) :: n, first
  real(8), intent(in) :: x(n)
  real(8), intent(inout) :: t
  integer :: j, l
  do j = 1, n/2
    if (j == first) return
  end do
  do l = 1, n
    t = sum(x - x)
  end do
end subroutine
)",
                         {{{"n", "5"}, {"first", "9"}}, {{"n", "5"}, {"first", "1"}}});
}

TEST_CASE("fortran: one record for all of an array, and how many elements components have") {
  same_as_gfortran(R"(
subroutine s(n, a)
  integer, intent(in) :: n
  real(8), intent(inout) :: a(n)
  type cell
    real(8) :: one, row(0:2)
    integer :: two
  end type
  type shelf
    type(cell) :: top, cells(2, 12)
  end type
  type(shelf) :: box
  type(cell) :: many(12), spare
  spare = cell(0.25d0, [0.5d0, 0.125d0, 0.75d0], 2)
  many = spare
  many(2:n:3) = cell(1d0, [1.5d0, 2.5d0, 3.5d0], n)
  box%top = spare
  box%cells = many(2)
  box%cells(1, :n) = spare
  a = a + many(:n)%one + many(:n)%row(2) + many(:n)%two
  a = a + box%cells(1, :n)%row(0) + box%cells(2, :n)%row(1) + box%top%two
  a(1) = size(many(3)%row) + lbound(box%top%row, 1) + ubound(many%row(1), 1) + size(box%cells, 2)
end subroutine
)",
                   {{{"n", "4"}}, {{"n", "12"}}});
  CHECK(error_of([] {
          import(R"(
subroutine s(n, k, a)
  integer, intent(in) :: n, k(n)
  real(8), intent(inout) :: a(n)
  type cell
    real(8) :: row(3)
  end type
  type(cell) :: many(9), spare
  spare%row = 2
  many%row(1) = 1
  many(k) = spare
  a(1) = many(2)%row(1)
end subroutine
)");
        }) ==
        "one record for records by an array of subscripts is not supported in Fortran kernels "
        "[unsupported]");
}
