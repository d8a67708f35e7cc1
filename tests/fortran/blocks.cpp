// Transforms and tags in comments.
#include "codegen/codegen.h"
#include "tests/fortran/gfortran.h"

using namespace moonloop;
using test::import;
using test::same_as_gfortran;

namespace {

const char* const kProduct = R"(
subroutine dgemm(m, n, l, alpha, a, b, c)
  implicit none
  real*8 temp, a(m, l), b(l, n), c(m, n), alpha
  integer m, n, k, i, j, l
  do j = 1, n
    do k = 1, l
      do i = 1, m
        c(i, j) = c(i, j) + alpha*b(k, j)*a(i, k)
      end do
    end do
  end do
end subroutine
)";

}  // namespace

TEST_CASE("fortran: a block transforms the routines of its file") {
  const std::string text = R"(
subroutine fill(out, a, n)
  implicit none
  real*8 a, out(n)
  integer n, i
  do i = 1, n
    out(i) = a
  end do
  do i = 1, n
    out(i) = out(i)*2
  end do
end

!$loopy begin transform
! fill = lp.split_iname(fill, "i", 128, {outer_tag = "g.0", inner_tag = "l.0"})
! fill = lp.split_iname(fill, "i_1", 128, {outer_tag = "g.0", inner_tag = "l.0"})
!$loopy end transform
)";
  const Kernel k = import(text).transformed.at(0);
  CHECK(generate(k, Target::OpenCL).source.find("get_group_id(0)") != std::string::npos);
  same_as_gfortran(
      text, {{{"n", "0"}, {"a", "3"}}, {{"n", "128"}, {"a", "3"}}, {{"n", "200"}, {"a", "0.5"}}});
}

TEST_CASE("fortran: a product, with the blocks of the paper's section 3 and tags of inames") {
  same_as_gfortran(std::string(kProduct) + R"(
!$moonloop begin transform
! dgemm = lp.split_iname(dgemm, "i", 4)
! dgemm = lp.split_iname(dgemm, "j", 5, {outer_tag = "par"})
! dgemm = lp.prioritize_loops(dgemm, "j_outer, i_outer, k")
!$moonloop end transform
)",
                   {{{"m", "7"}, {"n", "12"}, {"l", "5"}, {"alpha", "0.5"}},
                    {{"m", "8"}, {"n", "10"}, {"l", "0"}, {"alpha", "2"}}});
}

TEST_CASE("fortran: tagged statements, nested, in fixed form") {
  const std::string text = R"(
      subroutine rotate(n, x, y, c, s)
      integer n, i
      real x(n), y(n), c, s, t
c$moonloop begin tagged: whole
      do i = 1, n
*$moonloop begin tagged: input
        t = c*x(i) + s*y(i)
c$moonloop end tagged: input
        y(i) = c*y(i) - s*x(i)
        x(i) = t
      end do
!$moonloop end tagged: whole
      n1 = n
      end
)";
  const Kernel k = import(text, "rotate.f").original.at(0);
  REQUIRE(k.instructions.size() == 4);
  CHECK(k.instructions[0]->tags == std::set<std::string>{"input", "whole"});
  CHECK(k.instructions[1]->tags == std::set<std::string>{"whole"});
  CHECK(k.instructions[3]->tags.empty());
}

TEST_CASE("fortran: an error in a block has its line and column in the file") {
  const std::string text = std::string(kProduct) + R"(
  !$moonloop begin transform
  ! local x = 1
  ! dgemm = lp.split_iname(dgemm, "nosuch", 4)
  !$moonloop end transform
)";
  try {
    import(text);
    FAIL("accepted");
  } catch (const Error& e) {
    const Diagnostic& d = e.diagnostic();
    CHECK(d.where.at.line == 17);
    CHECK(d.where.at.col == 16);
    CHECK(d.text.find("no iname 'nosuch'") != std::string::npos);
  }
}

TEST_CASE("fortran: an interchange against the order of the source is refused") {
  CHECK(test::error_of([] {
          import(R"(
subroutine sweep(n, a)
  integer n, i, j
  real a(0:n, 0:n)
  do i = 1, n
    do j = 1, n - 1
      a(i, j) = a(i - 1, j + 1) + 1
    end do
  end do
end
!$moonloop begin transform
! sweep = lp.prioritize_loops(sweep, "j, i")
!$moonloop end transform
)");
        }).find("before") != std::string::npos);
}

TEST_CASE("fortran: directives of OpenMP are tags") {
  const std::string text = R"(
subroutine shift(n, m, a, b, s)
  integer n, m, i, j
  real(8) a(n, m), b(n), s, t
  !$omp parallel do private(i, t) collapse(2)
  do j = 1, m
    do i = 1, n
      t = a(i, j)*2
      a(i, j) = t + 1
    end do
  end do
  s = 0
  !$omp simd reduction(+: s)
  do i = 1, n
    s = s + b(i)
  end do
end
)";
  const Kernel k = import(text).transformed.at(0);
  const std::string code = generate(k, Target::OpenMP).source;
  CHECK(code.find("#pragma omp parallel for collapse(2)") != std::string::npos);
  CHECK(code.find("#pragma omp simd reduction(+:") != std::string::npos);
  same_as_gfortran(text,
                   {{{"n", "0"}, {"m", "3"}}, {{"n", "9"}, {"m", "1"}}, {{"n", "33"}, {"m", "5"}}});
}

TEST_CASE("fortran: a directive that the dependences contradict is refused with two instances") {
  try {
    import(R"(
subroutine s(n, a)
  integer n, i
  real a(0:n)
  !$omp parallel do
  do i = 1, n
    a(i) = a(i - 1)*2
  end do
end
)");
    FAIL("accepted");
  } catch (const Error& e) {
    const Diagnostic& d = e.diagnostic();
    CHECK(d.code == "races");
    CHECK(d.text.find("insn[i=0] writes a[1] and insn[i=1] reads it") != std::string::npos);
    CHECK(d.where.at.line == 7);
    CHECK(d.notes.back().at.line == 5);
  }
}
