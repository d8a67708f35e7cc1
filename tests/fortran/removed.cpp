// The contents of the tests of Loo.py's Fortran front end when it was removed (reference/loopy.md,
// item 71 of its section 6), and the pieces of the paper's sections 3 and 5.2.
#include "codegen/codegen.h"
#include "core/model/print.h"
#include "tests/fortran/gfortran.h"

using namespace moonloop;
using test::import;
using test::same_as_gfortran;

namespace {

std::string block(const std::string& lua) {
  return "!$moonloop begin transform\n" + lua + "!$moonloop end transform\n";
}

std::string c_code(const Kernel& k) { return generate(k, Target::C).source; }

/// Subroutines that fill `out` and `out2`, of `n` elements like `inp`.
std::string fill(const std::string& rest) {
  return R"(
subroutine fill(out, out2, inp, n)
  integer, intent(in) :: n
  real*8, intent(inout) :: out(n), out2(n)
  real*8, intent(in) :: inp(n)
)" + rest +
         "end subroutine\n";
}

const std::string kThreeSteps = fill(R"(  real*8 :: a
  integer :: i
  do i = 1, n
    a = 6*inp(i)
    out(i) = 5*a
    out2(i) = a + 1
  end do
)");

}  // namespace

TEST_CASE("removed: double literals stay double") {
  const test::Imported k = import(R"(
subroutine fill(out, a, n)
  implicit none
  real*8 a, out(n)
  integer n, i
  do i = 1, n
    out(i) = a*1.1d0 + 0.1
  end do
end
)");
  CHECK(c_code(k.original.at(0)).find("out[i] = a*1.1 + 0.10000000149011612;") !=
        std::string::npos);
}

TEST_CASE("removed: a scalar assignment becomes a rule, where it is used once and more often") {
  const std::string text = kThreeSteps + block(
                                             "! fill = lp.assignment_to_subst(fill, \"a\")\n"
                                             "! fill = lp.split_iname(fill, \"i\", 128)\n");
  const Kernel k = import(text).transformed.at(0);
  CHECK(k.find_temporary("a") == nullptr);
  CHECK(k.instructions.size() == 2);
  same_as_gfortran(text, {{{"n", "0"}}, {{"n", "1"}}, {{"n", "300"}}});
}

TEST_CASE("removed: a scalar with two definitions becomes two rules, by where it is used") {
  const std::string two = fill(R"(  real*8 :: a
  integer :: i
  do i = 1, n
    a = 6*inp(i)
    out(i) = a
    a = 5*inp(i)
    out2(i) = 2*a
  end do
)");
  const std::string text = two + block("! fill = lp.assignment_to_subst(fill, \"a\")\n");
  const Kernel k = import(text).transformed.at(0);
  CHECK(k.instructions.size() == 2);
  CHECK(k.find_temporary("a") == nullptr);
  same_as_gfortran(text, {{{"n", "17"}}});
}

TEST_CASE("removed: an array of values by index becomes a rule") {
  const std::string text = fill(R"(  real*8 :: a(n)
  integer :: i
  do i = 1, n
    a(i) = 6*inp(i)
  end do
  do i = 1, n
    out(i) = 5*a(i)
    out2(i) = a(n + 1 - i)
  end do
)") + block("! fill = lp.assignment_to_subst(fill, \"a\")\n");
  const Kernel k = import(text).transformed.at(0);
  CHECK(k.instructions.size() == 2);
  same_as_gfortran(text, {{{"n", "0"}}, {{"n", "9"}}});
}

TEST_CASE("removed: a choice is a condition of its statements") {
  const std::string text = fill(R"(  real*8 :: a, b
  integer :: i
  do i = 1, n
    a = inp(i)
    if (a .ge. 0.5d0) then
      b = 2*a
      do j = 1, 3
        b = 3*b
      end do
      out(i) = 5*b
    else
      out(i) = 4*a
    endif
    out2(i) = a
  end do
)");
  same_as_gfortran(text, {{{"n", "0"}}, {{"n", "1"}}, {{"n", "100"}}});
  const std::string code = c_code(import(text).original.at(0));
  CHECK(code.find("if (") != std::string::npos);
  CHECK(code.find("for (int32_t j = 0; j < 3; ++j)\n") != std::string::npos);
}

TEST_CASE("removed: tagged statements are found by their tag") {
  const test::Imported k = import(R"(
subroutine rotate_and_scale(out, n, a)
  implicit none
  integer, intent(in) :: n
  real*8, intent(inout) :: out(n), a(n)
  integer :: i
  real*8 :: t
  do i = 1, n
    !$loopy begin tagged: input
    t = a(i)
    a(i) = out(i)
    !$loopy end tagged: input
    out(i) = 2*t
  end do
end subroutine
!$loopy begin transform
! local found = lp.find_instructions(rotate_and_scale, "tag:input")
! assert(#found == 2)
! rotate_and_scale = lp.tag_instructions(rotate_and_scale, "seen", "tag:input")
!$loopy end transform
)");
  CHECK(k.transformed.at(0).instructions[0]->tags == std::set<std::string>{"input", "seen"});
  CHECK(k.transformed[0].instructions[2]->tags.empty());
}

TEST_CASE("removed: a tiled product with staged operands, on every target that runs here") {
  const std::string staged =
      test::kProduct +
      block(
          "! dgemm = lp.recognize_reduction(dgemm, \"k\")\n"
          "! dgemm = lp.split_iname(dgemm, \"i\", 16, {outer_tag = \"g.0\", inner_tag = \"l.0\"})\n"
          "! dgemm = lp.split_iname(dgemm, \"j\", 8, {outer_tag = \"g.1\", inner_tag = \"l.1\"})\n"
          "! dgemm = lp.split_iname(dgemm, \"k\", 16)\n"
          "! dgemm = lp.extract_subst(dgemm, \"a_part\", \"a[i0, i1]\", {parameters = \"i0, "
          "i1\"})\n"
          "! dgemm = lp.extract_subst(dgemm, \"b_part\", \"b[i0, i1]\", {parameters = \"i0, "
          "i1\"})\n"
          "! dgemm = lp.precompute(dgemm, \"a_part\", \"i_inner, k_inner\", {default_tag = "
          "\"l.auto\"})\n"
          "! dgemm = lp.precompute(dgemm, \"b_part\", \"j_inner, k_inner\", {default_tag = "
          "\"l.auto\"})\n");
  const test::Imported k = import(staged);
  const test::Library library(test::kProduct, "t.f90");
  test::same_as_gfortran(k.original.at(0), k.transformed.at(0), library, {"t.f90", "dgemm", ""},
                         {{{"m", "16"}, {"n", "8"}, {"l", "16"}, {"alpha", "0.5"}},
                          {{"m", "37"}, {"n", "19"}, {"l", "23"}, {"alpha", "0.5"}}},
                         {Target::C, Target::OpenMP, Target::OpenCL});
  const std::string cuda = generate(k.transformed[0], Target::Cuda).source;
  CHECK(cuda.find("__shared__ double") != std::string::npos);
  CHECK(cuda.find("__syncthreads();") != std::string::npos);
}

TEST_CASE("removed: a buffer for what a loop accumulates") {
  const std::string text = R"(
subroutine rows(m, l, a, c)
  implicit none
  integer, intent(in) :: m, l
  real*8, intent(in) :: a(m, l)
  real*8, intent(inout) :: c(m)
  integer :: i, k
  do i = 1, m
    do k = 1, l
      c(i) = c(i) + a(i, k)
    end do
  end do
end subroutine
)" + block("! rows = lp.split_iname(rows, \"i\", 8)\n"
           "! rows = lp.buffer_array(rows, \"c\", \"i_inner\", {init_expression = \"base\", "
           "store_expression = \"buffer\"})\n");
  CHECK(c_code(import(text).transformed.at(0)).find("c_buf[") != std::string::npos);
  same_as_gfortran(text, {{{"m", "8"}, {"l", "3"}}, {{"m", "21"}, {"l", "1"}}});
}

TEST_CASE("removed: calls with sections, and nests that are not perfect") {
  const test::Imported k = import(R"(
subroutine twice(n, a)
  implicit none
  integer, intent(in) :: n
  real*8, intent(inout) :: a(n)
  integer :: i
  do i = 1, n
    a(i) = a(i)*2
  end do
end subroutine

subroutine top(n, a)
  implicit none
  integer, intent(in) :: n
  real*8, intent(inout) :: a(n, n)
  integer :: i, j
  do i = 1, n
    call twice(n, a(i, 1:n))
    do j = 1, i
      a(j, i) = a(j, i) + 1
    end do
  end do
end subroutine
)");
  REQUIRE(k.original.size() == 2);
  CHECK(k.original[1].domains.size() == 3);
  CHECK(c_code(k.original[1]).find("a[(int64_t)n*i_1 + i] *= 2.0;") != std::string::npos);
}

TEST_CASE("removed: extents that are quotients of arguments") {
  same_as_gfortran(R"(
subroutine halves(m, b)
  implicit none
  integer, intent(in) :: m
  real*8, intent(inout) :: b(m)
  real*8 :: a(m/2, m/2)
  integer :: i, j
  do j = 1, m/2
    do i = 1, m/2
      a(i, j) = b(i)*j
    end do
  end do
  do i = 1, m/2
    b(i) = a(i, m/2)
  end do
end subroutine
)",
                   {{{"m", "0"}}, {{"m", "1"}}, {{"m", "9"}}, {{"m", "40"}}});
}

TEST_CASE("removed: two routines become one, their loops fused") {
  const auto derivative = [](const std::string& name, const std::string& sum) {
    return "subroutine " + name + R"((nelts, n, f, d, result)
  implicit none
  integer, intent(in) :: nelts, n
  real*8, intent(in) :: f(n, n, nelts), d(n, n)
  real*8, intent(inout) :: result(n, n, nelts)
  integer :: e, i, j, k
  do e = 1, nelts
    do i = 1, n
      do j = 1, n
        do k = 1, n
          result(i, j, e) = result(i, j, e) + )" +
           sum + "\n        end do\n      end do\n    end do\n  end do\nend subroutine\n\n";
  };
  const std::string text =
      derivative("xderiv", "d(i, k)*f(k, j, e)") + derivative("yderiv", "d(j, k)*f(i, k, e)");
  const test::Imported k = import(
      text + block("! xderiv = lp.recognize_reduction(xderiv, \"k\")\n"
                   "! yderiv = lp.recognize_reduction(yderiv, \"k\")\n"
                   "! xderiv = lp.fuse_kernels({xderiv, yderiv}, {data_flow = {{\"result\", 0, "
                   "1}}, name = \"both\"})\n"
                   "! xderiv = lp.tag_inames(xderiv, {e = \"par\"})\n"));
  const Kernel& both = k.transformed.at(0);
  CHECK(both.name == "both");
  CHECK(both.inames() == std::vector<std::string>{"e", "i", "j", "k", "k_0"});
  const std::string one_after_the_other = R"(
subroutine both(nelts, n, f, d, result)
  integer, intent(in) :: nelts, n
  real*8, intent(in) :: f(n, n, nelts), d(n, n)
  real*8, intent(inout) :: result(n, n, nelts)
  call xderiv(nelts, n, f, d, result)
  call yderiv(nelts, n, f, d, result)
end subroutine
)";
  const test::Library library(text + one_after_the_other, "t.f90");
  const Kernel apart = import(text + one_after_the_other).original.at(2);
  test::same_as_gfortran(apart, both, library, {"t.f90", "both", ""},
                         {{{"nelts", "0"}, {"n", "3"}}, {{"nelts", "7"}, {"n", "5"}}},
                         {Target::C, Target::OpenMP});
}
