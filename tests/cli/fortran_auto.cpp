// Routines whose schedules are chosen, `!$moonloop auto`.
#include "tests/cli/harness.h"

using namespace moonloop::test;

namespace {

std::string product(const std::string& mark, const std::string& after = "") {
  return "module products\n  implicit none\ncontains\n  subroutine product(n, a, b, c)\n" + mark +
         R"(    integer, intent(in) :: n
    real(8), intent(in) :: a(n, n), b(n, n)
    real(8), intent(out) :: c(n, n)
    integer :: i, j, k
    do j = 1, n
      do i = 1, n
        c(i, j) = 0
        do k = 1, n
          c(i, j) = c(i, j) + a(i, k)*b(k, j)
        end do
      end do
    end do
  end subroutine
end module
)" + after;
}

const char* const kMark = "    !$moonloop auto\n";

/// The message about a file, which has one.
std::string error_of(const std::string& text, const std::string& options = "") {
  const Folder f;
  f.write("k.f90", text);
  const Outcome o = tool("gen k.f90 " + options, f.str());
  CHECK(o.status == 1);
  return o.err;
}

}  // namespace

TEST_CASE("fortran: `auto` in a routine is the schedule that `moonloop auto` writes") {
  const Folder f;
  f.write("plain.f90", product(""));
  f.write("k.f90", product(kMark));
  f.write("sized.f90", product("    !$moonloop auto N=20\n"));
  for (const std::string target : {"c", "openmp", "opencl", "cuda"}) {
    CAPTURE(target);
    const std::string of = " --target " + target;
    for (const auto& [file, sizes] : {std::pair{"k.f90", ""}, std::pair{"sized.f90", " -p n=20"}}) {
      CAPTURE(file);
      CHECK(tool("auto plain.f90 -o k.lua" + of + sizes, f.str()).status == 0);
      const Outcome code = tool(std::string("gen ") + file + of, f.str());
      CHECK_MESSAGE(code.status == 0, code.err);
      CHECK(code.out == tool("gen plain.f90 -t k.lua" + of, f.str()).out);
      CHECK(code.out != tool("gen plain.f90" + of, f.str()).out);
    }
  }
  CHECK(has(tool("run k.f90 -p n=19 --verify --quiet --target openmp", f.str()).out,
            "verify: equal"));
  // Its knobs begin with the routine's name.
  CHECK(has(tool("gen k.f90 --knob product_i_items=128 --target cuda", f.str()).out,
            "__launch_bounds__(512)"));
  CHECK(tool("gen k.f90 --knob i_items=128 --target cuda", f.str()).status == 1);
}

TEST_CASE("fortran: the steps of `auto` are those of its line, and replay") {
  const Folder f;
  f.write("k.f90", product(kMark));
  const Outcome check = tool("check k.f90 --target openmp", f.str());
  CHECK(check.status == 0);
  CHECK(has(check.out, "k.f90:5: product: tag_inames({"));
  CHECK(!has(check.out, "refused"));
  CHECK(has(check.out, "product: legal"));
  CHECK(tool("show k.f90 --what trace --target openmp -o trace.lua", f.str()).status == 0);
  f.write("plain.f90", product(""));
  CHECK(tool("gen plain.f90 -t trace.lua --target openmp", f.str()).out ==
        tool("gen k.f90 --target openmp", f.str()).out);
}

TEST_CASE("fortran: `moonloop auto` begins where the line `auto` of the same target ends") {
  const Folder f;
  f.write("k.f90", R"(subroutine prefix(n, x, y)
  !$moonloop auto
  integer, intent(in) :: n
  real(8), intent(in) :: x(n)
  real(8), intent(out) :: y(n)
  integer :: i
  do i = 1, n
    y(i) = sum(x(1:i))
  end do
end subroutine
)");
  for (const std::string target : {"openmp", "opencl"}) {
    CAPTURE(target);
    const std::string of = " --target " + target;
    CHECK(has(tool("check k.f90" + of, f.str()).out, "split_reduction_at("));
    CHECK(tool("auto k.f90 -o k.lua" + of, f.str()).status == 0);
    CHECK(tool("check k.f90 -t k.lua" + of, f.str()).status == 0);
    CHECK(has(tool("run k.f90 -t k.lua -p n=2500 --verify --quiet" + of, f.str()).out,
              "verify: equal"));
  }
}

TEST_CASE("fortran: a block after `auto` sees the schedule, one before it comes first") {
  const Folder f;
  f.write("after.f90", product(kMark,
                               "!$moonloop begin transform\n"
                               "! assert(next(product.iname_tags))\n"
                               "! product = lp.rename_iname(product, 'k', 'deep')\n"
                               "!$moonloop end transform\n"));
  const Outcome after = tool("show after.f90", f.str());
  CHECK_MESSAGE(after.status == 0, after.err);
  CHECK(has(after.out, "deep"));
  f.write("before.f90",
          "!$moonloop begin transform\n"
          "! assert(not next(product.iname_tags))\n"
          "! product = lp.tag_inames(product, {j = 'par'})\n"
          "!$moonloop end transform\n" +
              product(kMark));
  const Outcome before = tool("show before.f90", f.str());
  CHECK_MESSAGE(before.status == 0, before.err);
  CHECK(has(before.out, "tag j: par"));
  CHECK(tool("run before.f90 --target openmp -p n=9 --verify --quiet", f.str()).status == 0);
}

TEST_CASE("fortran: `auto` begins with what the directives of its routine make") {
  const Folder f;
  const std::string text = R"(subroutine rows(n, m, a, s)
  implicit none
  !$moonloop auto
  integer, intent(in) :: n, m
  real(8), intent(inout) :: a(n, m)
  real(8), intent(out) :: s(m)
  integer :: i, j
  !$omp parallel do private(i)
  do j = 1, m
    s(j) = 0
    do i = 1, n
      s(j) = s(j) + a(i, j)
    end do
    do i = 1, n
      a(i, j) = 2*a(i, j)
    end do
  end do
end subroutine
)";
  f.write("k.f90", text);
  for (const char* how : {"check", "use", "ignore"}) {
    CAPTURE(how);
    const std::string of = std::string(" --directives ") + how;
    CHECK(tool("run k.f90 -p n=21 -p m=5 --target openmp --verify --quiet" + of, f.str()).status ==
          0);
    const Outcome steps = tool("check k.f90 --target openmp" + of, f.str());
    CHECK_MESSAGE(steps.status == 0, steps.out << steps.err);
    CHECK(has(steps.out, "k.f90:8: rows: tag_inames({j = \"par\"}") ==
          (std::string_view(how) != "ignore"));
    CHECK(has(steps.out, "k.f90:3: rows: "));
  }
}

TEST_CASE("fortran: `auto` for what is called and for what calls it") {
  const Folder f;
  f.write("k.f90", R"(module tree
  implicit none
contains
  subroutine smooth(n, x, y)
    !$moonloop noinline
    !$moonloop auto
    integer, intent(in) :: n
    real(8), intent(in) :: x(n)
    real(8), intent(out) :: y(n)
    integer :: i
    do i = 1, n
      y(i) = 2*x(i)
    end do
  end subroutine
  !$moonloop auto
  subroutine columns(n, m, a, b)
    integer, intent(in) :: n, m
    real(8), intent(inout) :: a(n, m), b(n, m)
    integer :: j
    do j = 1, m
      call smooth(n, a(:, j), b(:, j))
    end do
  end subroutine
end module
)");
  const Outcome code = tool("gen k.f90 --kernel columns --target openmp", f.str());
  CHECK_MESSAGE(code.status == 0, code.err);
  CHECK(has(code.out, "#pragma omp simd"));      // of the function
  CHECK(has(code.out, "#pragma omp parallel"));  // of the loop around its calls
  CHECK(code.out.find("#pragma omp parallel") > code.out.find("void columns("));
  CHECK(tool("run k.f90 --kernel columns --target openmp -p n=9 -p m=4 --verify --quiet", f.str())
            .status == 0);
  CHECK(tool("gen k.f90 --kernel columns --target cuda", f.str()).status == 0);
  CHECK(tool("run k.f90 --kernel columns --target opencl -p n=9 -p m=4 --verify --quiet", f.str())
            .status == 0);
}

TEST_CASE("fortran: `auto` that belongs to no routine, twice, or with other words") {
  CHECK(
      has(error_of("module m\n!$moonloop auto\n\n\ncontains\nsubroutine s(a)\nreal :: a\na = 1\n"
                   "end subroutine\nend module\n"),
          "k.f90:2:2: error: `auto` is neither in a routine nor on the line before one [syntax]"));
  const std::string twice = error_of(product(std::string(kMark) + kMark));
  CHECK(has(twice, "k.f90:6:6: error: `auto` stands twice in `product` [syntax]"));
  CHECK(has(twice, "k.f90:5:6: note: the first one is here"));
  for (const char* words : {"n", "n=", "n=-3", "n=3,", "=3", "n=3 m=4", "n=1.5"}) {
    CAPTURE(words);
    const std::string err = error_of(product(std::string("!$moonloop auto ") + words + "\n"));
    CHECK(has(err, "k.f90:5:2: error: `"));
    CHECK(has(err, "is not what a parameter is about [syntax]"));
  }
  CHECK(has(error_of(product("!$moonloop automatic\n")), "`automatic` begins and ends no block"));
  const std::string unknown = error_of(product("!$moonloop auto m=3\n"));
  CHECK(has(unknown, "k.f90:5"));
  CHECK(has(unknown, "kernel 'product' has no integer 'm'; it has n"));
  CHECK(has(error_of(R"(subroutine outer(n, x)
  integer :: n
  real :: x(n)
  call inner(x)
contains
  subroutine inner(y)
    !$moonloop auto
    real :: y(:)
    y = 2*y
  end subroutine
end subroutine
)"),
            "k.f90:7:6: error: `inner` has no schedule of its own: its body takes the place of its "
            "calls [syntax]"));
}

TEST_CASE("fortran: `fc` replaces routines with `auto`") {
  const Folder f;
  f.write("k.f90", product(kMark, R"(program main
  use products
  implicit none
  real(8) :: a(37, 37), b(37, 37), c(37, 37)
  integer :: i, j
  do j = 1, 37
    do i = 1, 37
      a(i, j) = mod(3*i + j, 7)
      b(i, j) = mod(i + 5*j, 11)
    end do
  end do
  call product(37, a, b, c)
  print *, nint(sum(c)), nint(c(5, 7)), nint(maxval(c))
end program
)"));
  CHECK(shell("gfortran -O1 k.f90 -o theirs", f.str()).status == 0);
  for (const char* target : {"c", "openmp"}) {
    CAPTURE(target);
    const Outcome made = tool(
        std::string("fc --target ") + target + " -- gfortran -O1 -fopenmp k.f90 -o ours", f.str());
    CHECK_MESSAGE(made.status == 0, made.err);
    CHECK(has(made.err, "moonloop: k.f90: product"));
    CHECK(shell("./ours", f.str()).out == shell("./theirs", f.str()).out);
  }
}

TEST_CASE("fortran: loops that directives make parallel become one, and sums are in lanes") {
  const Folder f;
  f.write("k.f90", R"(subroutine step(n, m, u, p, r, w, total)
  implicit none
  integer, intent(in) :: n, m
  real(8), intent(inout) :: u(n, m), p(n, m), r(n, m)
  real(8), intent(in) :: w(n, m)
  real(8), intent(out) :: total
  integer :: j, k
  total = 0
  !$omp parallel reduction(+: total)
  !$omp do
  do k = 1, m
    do j = 2, n
      p(j, k) = r(j, k) + 0.5d0*p(j - 1, k)
    end do
  end do
  !$omp do
  do k = 1, m
    do j = 1, n
      u(j, k) = u(j, k) + p(j, k)
      total = total + u(j, k)*w(j, k)
    end do
  end do
  !$omp do
  do j = 1, n
    do k = 1, 2
      r(j, k) = r(j, m + 1 - k)
    end do
  end do
  !$omp end parallel
end subroutine
program main
  implicit none
  real(8) :: u(23, 17), p(23, 17), r(23, 17), w(23, 17), total
  integer :: j, k
  do k = 1, 17
    do j = 1, 23
      u(j, k) = mod(3*j + k, 7)
      p(j, k) = mod(j + 5*k, 11)
      r(j, k) = mod(j*k, 5)
      w(j, k) = 2*mod(j + k, 3)
    end do
  end do
  call step(23, 17, u, p, r, w, total)
  print '(4f24.10)', total, sum(u), sum(p), sum(r)
end program
)");
  CHECK(shell("gfortran -O1 k.f90 -o theirs", f.str()).status == 0);
  const std::string gen = "gen k.f90 --kernel step --target ";
  for (const char* target : {"c", "openmp"}) {
    CAPTURE(target);
    const Outcome code = tool(gen + target, f.str());
    REQUIRE_MESSAGE(code.status == 0, code.err);
    const std::size_t rows = code.out.find("k < m");
    CHECK(rows != std::string::npos);
    CHECK(!has(code.out, "k_1 < m"));  // one loop of the two
    const bool c = std::string(target) == "c";
    CHECK(has(code.out, "#pragma omp simd reduction(+:") == !c);  // C keeps the order of sums
    CHECK(has(tool(gen + target + " --directives use", f.str()).out,
              "#pragma omp simd reduction(+:"));
    CHECK(has(code.out, "for (int32_t k_2 = 0; k_2 < 2; ++k_2) {\n    #pragma omp simd\n") == c);
    const Outcome made = tool(std::string("fc --kernel step --target ") + target +
                                  " -- gfortran -O1 -fopenmp k.f90 -o ours",
                              f.str());
    CHECK_MESSAGE(made.status == 0, made.err);
    CHECK(shell("./ours", f.str()).out == shell("./theirs", f.str()).out);
  }
  // A script keeps the loops that it names.
  f.write("keep.lua", "step = lp.untag_inames(step, 'k', 'par')\n");
  const Outcome kept = tool(gen + "openmp -t keep.lua", f.str());
  CHECK(has(kept.out, "k_1 < m"));
  CHECK(!has(kept.out, "#pragma omp simd"));
}

TEST_CASE("fortran: loops in lanes are work-items of devices, and a sum goes over both loops") {
  const Folder f;
  f.write("k.f90", R"(subroutine step(n, m, u, v, least)
  implicit none
  integer, intent(in) :: n, m
  real(8), intent(in) :: u(n, m)
  real(8), intent(out) :: v(n, m), least
  integer :: j, k
  least = 1d30
  !$omp parallel
  !$omp do
  do k = 1, m
    !$omp simd
    do j = 1, n
      v(j, k) = 2*u(j, k)
    end do
  end do
  !$omp do reduction(min: least)
  do k = 1, m
    !$omp simd reduction(min: least)
    do j = 1, n
      least = min(least, v(j, k))
    end do
  end do
  !$omp end parallel
end subroutine
)");
  for (const char* directives : {"check", "use"}) {
    const std::string how = std::string(" --quiet --directives ") + directives;
    const std::string tree = tool("show k.f90 --what tree --target opencl" + how, f.str()).out;
    CAPTURE(tree);
    CHECK(has(tree, "j_inner: l.0"));
    CHECK(has(tree, "j_1_inner: l.0"));
    CHECK(!has(tree, "least_part"));
    CHECK(has(tool("show k.f90 --what ir --target c" + how, f.str()).out, "least_part"));
    const Outcome run = tool("run k.f90 --target opencl -p n=300 -p m=70 --verify" + how, f.str());
    CHECK_MESSAGE(run.status == 0, run.err);
  }
}
