// Transforms and tags in comments.
#include "codegen/codegen.h"
#include "tests/fortran/gfortran.h"

using namespace moonloop;
using test::import;
using test::same_as_gfortran;

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
  same_as_gfortran(std::string(test::kProduct) + R"(
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
  const std::string text = std::string(test::kProduct) + R"(
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

TEST_CASE("fortran: threads share reductions and update elements one at a time") {
  const std::string text = R"(
subroutine sums(n, a, k, h, s, most)
  integer, intent(in) :: n, k(n)
  integer, intent(out) :: h(0:9)
  real(8), intent(in) :: a(n, n)
  real(8), intent(out) :: s, most
  integer i, j
  s = 0.5d0
  !$omp parallel do collapse(2) reduction(+: s)
  do j = 1, n
    do i = 1, n
      s = s + a(i, j)
    end do
  end do
  most = 0
  !$omp parallel do reduction(max: most)
  do i = 1, n
    most = max(most, a(i, i))
  end do
  h = 0
  !$omp parallel do
  do i = 1, n
    !$omp atomic
    h(mod(k(i), 10)) = h(mod(k(i), 10)) + 1
  end do
end
)";
  const std::string code = generate(import(text).transformed.at(0), Target::OpenMP).source;
  CHECK(code.find("#pragma omp parallel for collapse(2) reduction(+:acc") != std::string::npos);
  CHECK(code.find("#pragma omp parallel for reduction(max:acc") != std::string::npos);
  CHECK(code.find("#pragma omp atomic\n") != std::string::npos);
  same_as_gfortran(text, {{{"n", "0"}}, {{"n", "1"}}, {{"n", "40"}}});
}

namespace {

/// The text of an iname's tag; empty without one.
std::string tag_of(const Kernel& k, const std::string& iname) {
  const InameTag* t = k.tag(iname);
  return t ? t->text : "";
}

}  // namespace

TEST_CASE("fortran: directives of OpenACC are groups, or threads that share a reduction") {
  const std::string text = R"(
subroutine heat(n, a, b, s)
  integer, intent(in) :: n
  real(8), intent(inout) :: a(n, n), b(n, n)
  real(8), intent(out) :: s
  integer i, j
  !$acc parallel loop collapse(2) copyin(a) copyout(b)
  do j = 2, n - 1
    do i = 2, n - 1
      b(i, j) = a(i, j) + 0.1d0*(a(i - 1, j) + a(i + 1, j) + a(i, j - 1) + a(i, j + 1))
    end do
  end do
  !$acc kernels loop gang
  do j = 2, n - 1
    !$acc loop seq
    do i = 2, n - 1
      a(i, j) = a(i - 1, j) + b(i, j)
    end do
  end do
  s = 0
  !$acc parallel loop reduction(+: s)
  do i = 1, n
    s = s + a(i, i)
  end do
end
)";
  const Kernel k = import(text).transformed.at(0);
  const auto tag = [&](const std::string& iname) { return tag_of(k, iname); };
  CHECK(tag("j") == "g.1");
  CHECK(tag("i") == "g.0");
  CHECK(tag("j_1") == "g.0");
  CHECK(tag("i_1").empty());
  CHECK(tag("i_2") == "par");
  same_as_gfortran(text, {{{"n", "0"}}, {{"n", "3"}}, {{"n", "20"}}});
}

TEST_CASE("fortran: regions and loops of a target are groups") {
  const std::string text = R"(
subroutine heat(n, a, b, s)
  integer, intent(in) :: n
  real(8), intent(inout) :: a(n, n), b(n, n)
  real(8), intent(out) :: s
  integer i, j
  !$omp target data map(tofrom: a, b)
  !$omp target teams distribute parallel do collapse(2) map(to: a) schedule(static)
  do j = 2, n - 1
    do i = 2, n - 1
      b(i, j) = a(i, j) + 0.1d0*(a(i - 1, j) + a(i + 1, j) + a(i, j - 1) + a(i, j + 1))
    end do
  end do
  !$omp end target teams distribute parallel do
  !$omp target parallel
  !$omp do firstprivate(n)
  do j = 2, n - 1
    a(j, j) = b(j, j)
  end do
  !$omp end target parallel
  s = 0
  !$omp target teams reduction(+: s)
  !$omp distribute parallel do
  do i = 1, n
    s = s + a(i, i)
  end do
  !$omp end target teams
  !$omp end target data
end
)";
  const Kernel k = import(text).transformed.at(0);
  const auto tag = [&](const std::string& iname) { return tag_of(k, iname); };
  CHECK(tag("j") == "g.1");
  CHECK(tag("i") == "g.0");
  CHECK(tag("j_1") == "par");
  CHECK(tag("i_1") == "par");
  same_as_gfortran(text, {{{"n", "0"}}, {{"n", "3"}}, {{"n", "20"}}});
}

TEST_CASE("fortran: loops inside of the one with the directive reduce too") {
  const std::string text = R"(
subroutine summary(n, m, a, vol, small, most)
  integer, intent(in) :: n, m
  real(8), intent(in) :: a(n, m)
  real(8), intent(inout) :: vol
  real(8), intent(out) :: small, most(3)
  integer i, j, l
  real(8) t
  small = 10
  most = 0
  !$omp parallel do private(t) reduction(+: vol) reduction(min: small) reduction(max: most)
  do j = 1, m
    do i = 1, n
      t = a(i, j)
      if (t > 0.5d0) t = 2*t
      vol = vol + t
      do l = 1, 2
        small = min(small, t + l)
      end do
      most(2) = max(most(2), t)
    end do
  end do
end
)";
  const Kernel k = import(text).transformed.at(0);
  std::vector<std::string> reductions;
  for (const InsnPtr& i : k.instructions)
    if (i->rhs && contains_reduction(i->rhs)) reductions.push_back(to_string(i->rhs));
  CHECK(fmt::format("{}", fmt::join(reductions, "; ")) ==
        "vol + sum((j, i), t); min(10.0d, min((j, i, l), t + cast(float64, l + 1))); "
        "max(most[1], max((j, i), t))");
  same_as_gfortran(text, {{{"n", "0"}, {"m", "2"}}, {{"n", "3"}, {"m", "5"}}});
}

// As CloverLeaf's field_summary and calc_dt.
TEST_CASE("fortran: lanes inside of a loop that reduces, without a clause of their own, reduce") {
  const auto text = [](const std::string& last) {
    return R"(
subroutine summary(n, m, a, vol, small)
  integer, intent(in) :: n, m
  real(8), intent(in) :: a(n, m)
  real(8), intent(inout) :: vol
  real(8), intent(out) :: small
  integer i, j
  real(8) t
  small = 10
  !$omp parallel do private(t) reduction(+: vol) reduction(min: small)
  do j = 1, m
    !$omp simd
    do i = 1, n
      t = a(i, j)
      if (t > 0.5d0) t = 2*t
      vol = vol + t
      )" + last +
           R"(
    end do
  end do
end
)";
  };
  const std::string both = text("small = min(small, t, 3*t)");
  const Kernel k = import(both).transformed.at(0);
  CHECK(k.iname_tags.at("i").text == "simd");
  CHECK(k.iname_tags.at("j").text == "par");
  const std::string code = generate(k, Target::OpenMP).source;
  CHECK(code.find("#pragma omp simd reduction(+:acc_i) reduction(min:acc_i_0)") !=
        std::string::npos);
  same_as_gfortran(both, {{{"n", "0"}, {"m", "2"}}, {{"n", "37"}, {"m", "5"}}});
  // What is used in another way too is not theirs to reduce.
  std::string refusal;
  try {
    import(text("if (t < small) small = t"));
  } catch (const Error& e) { refusal = e.diagnostics().at(0).code; }
  CHECK(refusal == "unsupported");
}

namespace {
/// Its directive is used, and the values are gfortran's, which leaves it out, where it says the
/// same.
void check_parallel(const std::string& text, bool in_order = true) {
  const Kernel k = import(text).transformed.at(0);
  CHECK(std::any_of(k.iname_tags.begin(), k.iname_tags.end(),
                    [](const auto& t) { return t.second.text == "par"; }));
  if (in_order) same_as_gfortran(text, {{{"n", "0"}}, {{"n", "5"}}, {{"n", "20"}}});
}
}  // namespace

TEST_CASE("fortran: firstprivate variables that are assigned, and directives of routines inside") {
  check_parallel(R"(
subroutine first(n, a, b, s)
  integer, intent(in) :: n
  real(8), intent(inout) :: a(n), b(n), s
  integer i
  s = 2
  !$omp parallel do firstprivate(s)
  do i = 1, n
    if (a(i) > 0.5d0) then
      s = a(i)
    else
      s = 3
    end if
    b(i) = s*s
  end do
end
)",
                 false);
  std::string refusal;
  try {
    import(R"(
subroutine carried(n, a, s)
  integer, intent(in) :: n
  real(8), intent(inout) :: a(n), s
  integer i
  !$omp parallel do firstprivate(s)
  do i = 1, n
    s = s + a(i)
    a(i) = s
  end do
end
)");
  } catch (const Error& e) { refusal = e.what(); }
  CHECK(refusal.find("`firstprivate` of `s`, which is assigned there,") == 0);
  check_parallel(R"(
subroutine caller(n, a, b, t)
  integer, intent(in) :: n
  real(8), intent(inout) :: a(n), b(n), t(2)
  call inner(n, a, t(1))
  t(2) = t(2) + 1
contains
  subroutine inner(n, x, s)
    integer, intent(in) :: n
    real(8), intent(inout) :: x(n), s
    real(8) t
    integer i
    !$omp parallel do private(t) reduction(+: s)
    do i = 1, n
      t = x(i)*2
      x(i) = t
      s = s + t
    end do
  end subroutine
end
)");
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

TEST_CASE(
    "fortran: directives share data: sums of deeper loops and of arrays, private, lastprivate") {
  test::same_as_gfortran(R"(
subroutine s(n, m, a, b, h, k, t, big, x, w)
  implicit none
  integer, intent(in) :: n, m
  real(8), intent(in) :: a(m, n)
  real(8), intent(inout) :: b(n), h(4), t, big, x, w(3)
  integer, intent(in) :: k(n)
  integer :: i, j
  !$omp parallel do reduction(+:t) reduction(max:big)
  do i = 1, n
    do j = 1, m
      t = t + a(j, i)
      big = max(big, a(j, i))
    end do
    b(i) = 2*b(i)
  end do
  !$omp parallel do reduction(+:h)
  do i = 1, n
    h(mod(k(i), 4) + 1) = h(mod(k(i), 4) + 1) + b(i)
  end do
  !$omp parallel do lastprivate(x)
  do i = 2, n, 3
    x = a(1, i)
    b(i) = b(i) + x
  end do
end subroutine
)",
                         {{{"n", "9"}, {"m", "3"}}, {{"n", "2"}, {"m", "1"}}});
}
