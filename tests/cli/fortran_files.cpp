// Files of Fortran as they come: with routines that are not kernels, and with modules elsewhere.
#include "tests/cli/fortran_program.h"

using namespace moonloop::test;

namespace {

constexpr const char* kGood =
    "subroutine good(n, x)\n  integer, intent(in) :: n\n  real(8), intent(inout) :: x(n)\n"
    "  x = 2*x\nend subroutine\n";

}  // namespace

TEST_CASE("fortran: a routine outside of the subset leaves the others of its file") {
  const Folder f;
  f.write("two.f90",
          std::string("module m\ncontains\nsubroutine bad(n)\n  integer, optional, pointer :: n\n"
                      "  wait (n)\nend subroutine\n"
                      "subroutine caller(n)\n  integer, optional, pointer :: n\n  call bad(n)\n"
                      "end\nend module\n") +
              kGood);
  const Outcome good = tool("gen two.f90", f.str());
  CHECK(good.status == 0);
  CHECK(has(good.out, "void good("));
  CHECK(has(good.err,
            "two.f90:5:3: warning: `bad` is left out: the statement `wait` is "
            "not supported in Fortran "
            "kernels [unsupported]\n"));
  CHECK(has(good.err,
            "two.f90:9:3: warning: `caller` is left out: the call of `bad`, which is not a "
            "kernel, is not supported in Fortran kernels [unsupported]\n"));
  CHECK(tool("gen two.f90 --quiet", f.str()).err.empty());
  const Outcome bad = tool("gen two.f90 --kernel bad", f.str());
  CHECK(bad.status == 1);
  CHECK(bad.out.empty());
  CHECK(has(bad.err,
            "two.f90:5:3: error: the statement `wait` is not supported in "
            "Fortran kernels"));
}

TEST_CASE("fortran: the warnings are about the routines that are asked for") {
  const Folder f;
  f.write("two.f90", std::string("subroutine bad(n)\n  integer :: n\n  wait (n)\nend\n"
                                 "subroutine caller(n)\n  integer :: n\n  call bad(n)\nend\n") +
                         kGood);
  CHECK(tool("gen two.f90 --kernel good", f.str()).err.empty());
  const Outcome caller = tool("gen two.f90 --kernel caller", f.str());
  CHECK(caller.status == 0);
  CHECK(has(caller.out, "bad_(&n[0]);"));
  CHECK(has(caller.err,
            "two.f90:7:3: warning: the call of `bad` in `caller` stays a call of what the file has "
            "[kept-call]\n"));
  CHECK(has(caller.err,
            "two.f90:3:3: note: the statement `wait` is not supported in "
            "Fortran kernels"));
}

TEST_CASE("fortran: a file none of whose routines is a kernel has the errors that are causes") {
  const Folder f;
  f.write("none.f90",
          "module m\ncontains\nsubroutine bad(n)\n  integer, optional, pointer :: n\n  wait (n)\n"
          "end subroutine\n"
          "subroutine caller(n)\n  integer, optional, pointer :: n\n  call bad(n)\nend subroutine\n"
          "end module\n");
  const Outcome none = tool("gen none.f90", f.str());
  CHECK(none.status == 1);
  CHECK(has(none.err,
            "none.f90:5:3: error: the statement `wait` is not supported in "
            "Fortran kernels"));
  CHECK(!has(none.err, "caller"));
  const Outcome caller = tool("gen none.f90 --kernel caller", f.str());
  CHECK(caller.status == 1);
  CHECK(has(caller.err, "none.f90:9:3: error: the call of `bad`, which is not a kernel, is not "));
  CHECK(!has(caller.err, "none.f90:5:3: error: "));
}

TEST_CASE("fortran: a definition without a value is 1") {
  const Folder f;
  f.write("k.F90",
          "subroutine s(n)\n  integer, intent(out) :: n\n#ifdef TWICE\n  n = 2*TWICE\n#else\n"
          "  n = 7\n#endif\nend subroutine\n");
  CHECK(has(tool("gen k.F90 -D TWICE", f.str()).out, "n[0] = 2;"));
  CHECK(has(tool("gen k.F90", f.str()).out, "n[0] = 7;"));
  CHECK(tool("gen k.F90 -D =1", f.str()).status == 2);
}

TEST_CASE("fortran: a main program is not a kernel, and does not keep others from being one") {
  const Folder f;
  f.write("prog.f90", std::string("program main\n  print *, \"hi\"\nend program\n") + kGood);
  const Outcome found = tool("gen prog.f90", f.str());
  CHECK(found.status == 0);
  CHECK(has(found.err, "warning: `main` is left out: a main program is not supported"));
}

TEST_CASE("fortran: modules of files beside the input and in folders of -I") {
  const Folder f;
  f.write("kinds.f90",
          "module kinds\n  implicit none\n  integer, parameter :: wp = kind(1.0d0)\nend module\n");
  f.write("tools.f90",
          "module tools\n  use kinds, only: wp\n  implicit none\n"
          "  real(wp), parameter :: gravity = 9.5_wp\ncontains\n"
          "  pure real(wp) function fall(t)\n    real(wp), intent(in) :: t\n"
          "    fall = 0.5_wp*gravity*t*t\n  end function\n"
          "  subroutine report(n)\n    integer, intent(in) :: n\n    print *, n\n"
          "  end subroutine\nend module\n");
  f.write("k.f90",
          "module solver\n  use kinds, only: wp\n  use tools\ncontains\n"
          "  subroutine s(n, t, y)\n    integer, intent(in) :: n\n"
          "    real(wp), intent(in) :: t(n)\n    real(wp), intent(out) :: y(n)\n"
          "    integer :: i\n    do i = 1, n\n      y(i) = fall(t(i)) + gravity\n    end do\n"
          "  end subroutine\nend module\n");
  const Outcome run = tool("run k.f90 -p n=5 --verify", f.str());
  CHECK(run.status == 0);
  CHECK(run.err.empty());
  CHECK(has(run.out, "verify: equal"));
  const Outcome code = tool("gen k.f90", f.str());
  CHECK(has(code.out, "9.5"));
  CHECK(!has(code.out, "fall("));

  const Folder away;
  away.write("k.f90", f.read("k.f90"));
  const Outcome missing = tool("gen k.f90", away.str());
  CHECK(missing.status == 1);
  CHECK(has(missing.err, "k.f90:2:7: error: the source of the module `kinds` is not found"));
  CHECK(has(missing.err, "hint: name its folder with -I"));
  CHECK(tool("gen k.f90 -I " + f.str(), away.str()).out == code.out);
}

TEST_CASE("fortran: routines of the same name in two modules are told apart") {
  const Folder f;
  f.write("a.f90",
          "module a\ncontains\n  real(8) function value(x)\n    real(8), intent(in) :: x\n"
          "    value = x + 1\n  end function\nend module\n");
  f.write("b.f90",
          "module b\ncontains\n  real(8) function value(x)\n    real(8), intent(in) :: x\n"
          "    value = x*2\n  end function\nend module\n");
  f.write("k.f90",
          "subroutine s(y)\n  use a, only: one => value\n  use b, only: two => value\n"
          "  real(8), intent(inout) :: y\n  y = two(one(y))\nend subroutine\n");
  const Outcome code = tool("gen k.f90", f.str());
  CHECK(code.status == 0);
  CHECK(has(code.out, "2"));
  CHECK(has(code.out, "+ 1"));
}

TEST_CASE("fortran: elemental routines of other files, and elemental subroutines, of arrays") {
  const Folder f;
  f.write("k.f90", R"(subroutine mixed(n, x, y, k, total)
  implicit none
  interface
    elemental real(8) function scaled(v, by)
      real(8), intent(in) :: v, by
    end function
    elemental logical function is_large(v)
      real(8), intent(in) :: v
    end function
    elemental integer function rounded(v)
      real(8), intent(in) :: v
    end function
    elemental subroutine swap(a, b, by)
      real(8), intent(inout) :: a, b
      integer, intent(in) :: by
    end subroutine
  end interface
  integer, intent(in) :: n
  real(8), intent(inout) :: x(n), y(n, 2), total
  integer, intent(inout) :: k(n)
  integer :: i
  x(2:n) = scaled(x(1:n-1), 0.5d0)
  where (is_large(y(:, 1)))
    y(:, 2) = scaled(scaled(y(:, 1), x), y(:, 2))
  elsewhere
    y(:, 2) = -1
  end where
  k = rounded(x) + rounded(y(:, 2))*2
  total = sum(scaled(y, 2d0)) + count(is_large(x)) + scaled(total, 3d0)
  x = x(n:1:-1) + scaled(x, dble(k))
  call swap(x(2:n), y(1:n - 1, 1), 2)
  call swap(y(n:1:-2, 1), y(::2, 2), [(i, i = 1, (n + 1)/2)])
  call swap(x, y(:, 2), k + 1)
  call swap(x(1), x(2), 1)
  call twice(y)
  if (any(is_large(y))) x(1) = maxval(scaled(x, 1d0))
contains
  elemental subroutine twice(v)
    real(8), intent(inout) :: v
    v = 2*v
  end subroutine
end subroutine
)");
  f.write("other.f90", R"(elemental real(8) function scaled(v, by)
  implicit none
  real(8), intent(in) :: v, by
  scaled = v*by + 0.25d0
end function
elemental logical function is_large(v)
  implicit none
  real(8), intent(in) :: v
  is_large = v > 3
end function
elemental integer function rounded(v)
  implicit none
  real(8), intent(in) :: v
  rounded = nint(v)
end function
elemental subroutine swap(a, b, by)
  implicit none
  real(8), intent(inout) :: a, b
  integer, intent(in) :: by
  real(8) :: kept
  kept = a
  a = b*by
  b = kept
end subroutine
)");
  f.write("main.f90", R"(program p
  implicit none
  real(8) :: x(5), y(5, 2), total
  integer :: k(5), i
  x = [(1.5d0*i, i = 1, 5)]; y(:, 1) = [(8d0 - 1.75d0*i, i = 1, 5)]; y(:, 2) = 0.5d0
  k = 0; total = 1
  call mixed(5, x, y, k, total)
  print *, x; print *, y; print *, k, total
end program
)");
  same_program(f, {"mixed"});
}

TEST_CASE("fortran: a module that another compiler keeps") {
  const Folder f;
  f.write("kinds.mod", "\x1f\x8b\x08 and so on");
  f.write("k.f90", "subroutine s(a)\n  use kinds\n  real(wp) :: a\n  a = 1\nend subroutine\n");
  const Outcome refused = tool("gen k.f90", f.str());
  CHECK(refused.status == 1);
  CHECK(refused.err ==
        "k.f90:2:7: error: of module `kinds` there is only `kinds.mod`, which another compiler has "
        "written [fortran]\n  2 |   use kinds\n    |       ^^^^^\n"
        "k.f90:3:8: note: Must be a constant value\n  3 |   real(wp) :: a\n    |        ^^\n"
        "hint: name its folder with -I\n");
}

TEST_CASE("fortran: blocks in included files run where these are included") {
  const Folder f;
  f.write("inner.f90", std::string(kGood) +
                           "!$moonloop begin transform\n"
                           "! good = lp.rename_iname(good, good.inames[1], \"inner\")\n"
                           "!$moonloop end transform\n");
  f.write("wrong.f90", std::string(kGood) +
                           "!$moonloop begin transform\n! error(\"this block runs\")\n"
                           "!$moonloop end transform\n");
  f.write("a.F90", "#include \"inner.f90\"\n");
  f.write("b.f90", "      include 'inner.f90'\n");
  f.write("c.f90", "include \"wrong.f90\"\n");
  CHECK(has(tool("gen a.F90", f.str()).out, "int32_t inner = 0"));
  CHECK(has(tool("gen b.f90", f.str()).out, "int32_t inner = 0"));
  const Outcome wrong = tool("gen c.f90", f.str());
  CHECK(wrong.status == 1);
  CHECK(has(wrong.err, "wrong.f90:7:"));
  CHECK(has(wrong.err, "this block runs"));
}

TEST_CASE("fortran: directives for compilers are read; what has no effect is said") {
  const Folder f;
  f.write(
      "k.f90",
      "subroutine s(n, m, a)\n  integer, intent(in) :: n, m\n  real(8) :: a(n, m)\n"
      "  integer :: i, j\n!DIR$ IVDEP\n  do j = 1, m\n!DIR$ UNROLL\n!DIR$ IVDEP\n    do i = 1, n\n"
      "      a(i, j) = a(i, j)*2\n    end do\n  end do\nend subroutine\n");
  const Outcome code = tool("gen k.f90", f.str());
  CHECK(code.status == 0);
  CHECK(has(code.err,
            "k.f90:7:7: warning: this directive for compilers has no effect (1 more in "
            "`s`) [unused-directive]"));
  CHECK(has(tool("gen k.f90 --target openmp", f.str()).out, "#pragma omp simd\n    for"));
  const Outcome device = tool("gen k.f90 --target cuda", f.str());
  CHECK(device.status == 0);
  CHECK(has(device.out, "int const i_inner = threadIdx.x;"));
  CHECK(!has(device.err, "unused-tag"));
  f.write("groups.lua", "s = lp.tag_inames(s, {j = 'g.0'})\n");
  CHECK(has(tool("gen k.f90 --target cuda -t groups.lua", f.str()).err,
            "warning: `i` is tagged `simd`; cuda runs this loop in order [unused-tag]"));
}

TEST_CASE("fortran: clauses that say how, not what, are said to have no effect") {
  const Folder f;
  f.write("k.f90",
          "subroutine s(n, c, a)\n  integer, intent(in) :: n\n  real(8) :: a(n), c\n"
          "  integer :: i\n  !$omp parallel do schedule(dynamic, 4) num_threads(3) "
          "firstprivate(c)\n  do i = 1, n\n    a(i) = a(i)*c\n  end do\n"
          "  !$acc parallel loop async(1) wait(1)\n  do i = 1, n\n    a(i) = a(i) + 1\n"
          "  end do\n  !$acc wait\nend subroutine\n");
  const Outcome code = tool("gen k.f90 --target openmp", f.str());
  CHECK(code.status == 0);
  CHECK(has(code.out, "#pragma omp parallel\n  {\n    #pragma omp for\n"));
  CHECK(has(code.err,
            "k.f90:5:21: warning: the clause `schedule(dynamic, 4)` has no effect (2 more in `s`) "
            "[unused-directive]"));
  f.write("k.f90",
          "subroutine s(n, a)\n  integer, intent(in) :: n\n  real(8) :: a(n)\n"
          "  integer :: i\n  !$omp parallel do schedule(static)\n  do i = 1, n\n"
          "    a(i) = a(i)*2\n  end do\nend subroutine\n");
  CHECK(tool("gen k.f90", f.str()).err.empty());  // loops get equal parts anyway
}

TEST_CASE("fortran: kinds that a compiler's options give") {
  const Folder f;
  f.write("k.f",
          "      subroutine add2(a, b, n)\n      real a(1), b(1)\n      logical l\n"
          "      l = n .gt. 1\n      do i = 1, n\n         if (l) a(i) = a(i) + b(i)\n"
          "      enddo\n      end\n");
  CHECK(has(tool("gen k.f", f.str()).out,
            "void add2(float *restrict a, float const *restrict b, "
            "int32_t n)"));
  CHECK(has(tool("gen k.f --default-real 8", f.str()).out,
            "void add2(double *restrict a, double const *restrict b, int32_t n)"));
  CHECK(has(tool("gen k.f --default-real 8 --default-integer 8", f.str()).out, "int64_t n)"));
  CHECK(tool("gen k.f --default-real 3", f.str()).status == 2);
}
