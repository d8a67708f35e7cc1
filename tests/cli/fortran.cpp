#include "runtime/process.h"
#include "tests/cli/harness.h"

using namespace moonloop::test;  // NOLINT

TEST_CASE("fortran: a program linked with generated code prints what it printed before") {
  const Folder folder;
  build_example("fortran", folder);
  const Outcome before = shell("build/before", folder.str()),
                after = shell("build/after", folder.str());
  CHECK(before.status == 0);
  CHECK(after.status == 0);
  CHECK(before.out.find('\n') > 20);
  CHECK(before.out == after.out);
}

TEST_CASE("fortran: an interface by the declared order, scalars by value where they stay") {
  const Folder f;
  f.write("k.f90",
          "subroutine scale(n, a, total)\n  integer :: n, i\n  real(8) :: a(n), total\n"
          "  do i = 1, n\n    total = total + a(i)\n  end do\nend\n");
  CHECK(tool("gen k.f90 -o k.c --fortran-interface k_interface.f90", f.str()).status == 0);
  CHECK(f.read("k_interface.f90") == R"(! Calls the function `scale` that Moonloop generated.
module scale_moonloop
  use, intrinsic :: iso_c_binding
  implicit none
  interface
    subroutine scale_of_c(n, a, total) bind(c, name="scale_of_c")
      import
      integer(c_int32_t), value :: n
      real(c_double), intent(in) :: a(*)
      real(c_double) :: total
    end subroutine
  end interface
end module

subroutine scale(n, a, total)
  use scale_moonloop
  implicit none
  integer(c_int32_t) :: n
  real(c_double) :: total
  real(c_double) :: a(n)
  call scale_of_c(n, a, total)
end subroutine
)");
  CHECK(f.read("k.c").find("void scale_of_c(int32_t a1, double const *a2, double *a3) {\n"
                           "  scale(a1, a2, a3);\n}\n") != std::string::npos);
  const Outcome refused =
      tool("gen k.f90 --quiet --target opencl --fortran-interface none.f90", f.str());
  CHECK(refused.status == 1);
  CHECK(refused.err.starts_with("error: target `opencl` has no interface to Fortran; `c`, "));
  CHECK(refused.err.ends_with(" have [unsupported]\n"));
  CHECK(!f.has("none.f90"));
  f.write("case.loop",
          "kernel twice(n: int32, a: float64[n], A: float64[n])\n"
          "domain {[i]: 0 <= i < n}\na[i] = 2*A[i]\n");
  CHECK(tool("gen case.loop -o c.c --fortran-interface c.f90", f.str()).status == 1);
  f.write("half.loop",
          "kernel twice(n: int32, a: float16[n])\n"
          "domain {[i]: 0 <= i < n}\na[i] = 2*a[i]\n");
  CHECK(tool("gen half.loop -o c.c --fortran-interface c.f90", f.str()).status == 1);
  CHECK(!f.has("c.f90"));
  CHECK(!f.has("c.c"));
}

TEST_CASE("fortran: a run needs to know how long its arrays are") {
  const Folder f;
  f.write(
      "s.f90",
      "subroutine s(n, a)\n  integer :: n, i, k\n  real :: a(*)\n  k = 1\n  do i = 1, n\n    a(k) "
      "= i\n    k = k + n\n  end do\nend\n");
  CHECK(tool("gen s.f90", f.str()).status == 0);
  const Outcome ran = tool("run s.f90 -p n=3", f.str());
  CHECK(ran.status == 1);
  CHECK(ran.err ==
        "s.f90:3:11: error: nothing says how far axis 0 of `a` reaches, so that no values can be "
        "made "
        "for it [unknown-shape]\n  3 |   real :: a(*)\n    |           ^\n"
        "hint: read it from a file, with `--in a=FILE.npy`\n");
  f.write("g.loop", "kernel g(a: out float32[7])\ndomain {[i]: 0 <= i < 7}\na[i] = 2*i\n");
  REQUIRE(tool("run g.loop --out a=a.npy", f.str()).status == 0);
  const Outcome read = tool("run s.f90 -p n=3 --in a=a.npy --verify", f.str());
  CHECK_MESSAGE(read.status == 0, read.err);
  CHECK(read.out.find("a: equal, 7 elements") != std::string::npos);
}

TEST_CASE("fortran: what stands in an included file is shown there") {
  const Folder f;
  f.write("s.f90",
          "subroutine s(n, a)\n  integer :: n, i\n  real :: a(n)\n  include 'part.inc'\nend\n");
  f.write("part.inc", "\n  do i = 1, n\n    if (a(i) < 0) wait (i)\n  end do\n");
  CHECK(tool("gen s.f90", f.str()).err ==
        "part.inc:3:19: error: the statement `wait` is not supported in Fortran "
        "kernels [unsupported]\n"
        "  3 |     if (a(i) < 0) wait (i)\n    |                   ^^^^^^^^\n");
}

TEST_CASE("fortran: print and write are left out on request") {
  const Folder f;
  f.write("s.f90",
          "subroutine s(n, a)\n  integer :: n, i\n  real :: a(n)\n  do i = 1, n\n    a(i) = i\n"
          "    if (a(i) > 3) print *, i\n    write (*, '(i4)', advance='no') i\n  end do\nend\n");
  const Outcome o = tool("gen s.f90 --skip-output", f.str());
  CHECK(
      o.out.ends_with("void s(int32_t n, float *restrict a) {\n  for (int32_t i = 0; i < n; ++i)\n"
                      "    a[i] = (float)(i + 1);\n}\n"));
}

TEST_CASE("fortran: stop ends the program, with what gfortran prints and its status") {
  const Folder f;
  f.write("s.f90", R"(
subroutine s(n, a)
  integer, intent(in) :: n
  real, intent(inout) :: a(n)
  integer :: i
  if (n > 4) stop 3
  do i = 1, n
    call checked(a(i))
    a(i) = a(i) + i
  end do
  if (n == 4) error stop "too many"
  if (n == 3) stop
contains
  subroutine checked(x)
    real, intent(inout) :: x
    if (x < 0) then
      x = 0
      stop "negative"
    end if
    x = sqrt(x)
  end subroutine
end subroutine
)");
  f.write("main.f90",
          "program main\n  integer :: n, m\n  real :: a(5)\n  character(2) :: c\n"
          "  call get_command_argument(1, c)\n  read (c, *) n\n  a = 4\n  if (n < 0) a(2) = n\n"
          "  m = abs(n)\n  call s(m, a(1:m))\n  print *, a(1:m)\nend program\n");
  REQUIRE(shell("gfortran -o before main.f90 s.f90", f.str()).status == 0);
  REQUIRE(tool("gen s.f90 -o k.c --fortran-interface i.f90", f.str()).status == 0);
  const Outcome built = shell("cc -c k.c && gfortran -o after main.f90 i.f90 k.o", f.str());
  REQUIRE_MESSAGE(built.status == 0, built.err);
  for (const std::string n : {"0", "1", "2", "3", "4", "5", "-1", "-2"}) {
    CAPTURE(n);
    const Outcome before = shell("./before " + n, f.str()), after = shell("./after " + n, f.str());
    CHECK(before.status == after.status);
    CHECK(before.out == after.out);
    CHECK(before.err.starts_with(after.err));  // gfortran adds where an error was
    CHECK(before.err.empty() == after.err.empty());
  }
  CHECK(tool("gen s.f90 --target cuda", f.str()).err.find("`stop_in_s`") != std::string::npos);
}

TEST_CASE("fortran: folders of included files, and no files left behind") {
  const Folder f;
  shell("mkdir inc", f.str());
  f.write("inc/part.inc", "  a(1) = 2\n");
  f.write("s.f90",
          "module m\n  integer, parameter :: k = 3\ncontains\n  subroutine s(a)\n"
          "    real :: a(k)\n    include 'part.inc'\n  end subroutine\nend module\n");
  CHECK(tool("gen s.f90 -I inc", f.str()).out.find("a[0] = 2.0f;") != std::string::npos);
  CHECK(tool("gen s.f90", f.str()).status == 1);
  CHECK(!f.has("m.mod"));
}

TEST_CASE("fortran: a program linked with CUDA code, which copies its arrays") {
  const Folder f;
  f.write("k.f90",
          "subroutine scale(n, m, a, b, total)\n  integer, intent(in) :: n, m\n"
          "  real(8), intent(in) :: a(n, 0:m)\n  real(8), intent(inout) :: b(:, :)\n"
          "  real(8), intent(inout) :: total\n  integer :: i, j\n"
          "  !$acc parallel loop collapse(2)\n  do j = 1, m\n    do i = 1, n\n"
          "      b(i, j) = b(i, j) + 2*a(i, j)\n    end do\n  end do\n"
          "  total = total + b(1, 1)\nend subroutine\n");
  f.write("main.f90",
          "program main\n  interface\n    subroutine scale(n, m, a, b, total)\n"
          "      integer, intent(in) :: n, m\n      real(8), intent(in) :: a(n, 0:m)\n"
          "      real(8), intent(inout) :: b(:, :), total\n    end subroutine\n  end interface\n"
          "  real(8) :: a(9, 8), b(9, 7), total\n  a = 1\n  b = 2\n  total = 3\n"
          "  call scale(9, 7, a, b, total)\n  print *, sum(b), total\nend program\n");
  const Outcome code =
      tool("gen k.f90 --target cuda -o k.cu --fortran-interface k_interface.f90", f.str());
  CHECK(code.err == "");
  const std::string text = f.read("k.cu");
  CHECK(text.find("extern \"C\" void scale_of_c(int n, int m, double const *a, double *b, "
                  "double *total, int b_size1,\n") != std::string::npos);
  CHECK(text.find("cudaMemcpy(b, b_there, b_bytes, cudaMemcpyDeviceToHost)") != std::string::npos);
  CHECK(text.find("cudaMemcpy(a, a_there") == std::string::npos);
  const std::string nvcc = moonloop::find_program("nvcc");
  if (nvcc.empty()) {
    MESSAGE("no nvcc: the code is not compiled");
    return;
  }
  const Outcome built = shell("gfortran -c main.f90 k_interface.f90 && " + nvcc +
                                  " -arch=sm_75 -o main k.cu main.o k_interface.o -lgfortran",
                              f.str());
  REQUIRE_MESSAGE(built.status == 0, built.err);
  const Outcome run = shell("./main", f.str());
  if (run.status == 0)
    CHECK(run.out == "   252.00000000000000        7.0000000000000000     \n");
  else  // no device here
    CHECK(run.err.starts_with("scale: "));
}

TEST_CASE("fortran: routines of another file get arrays, and give values") {
  const Folder f;
  f.write("k.f90", R"(
subroutine solve(n, m, a, x, y, norm)
  implicit none
  integer, intent(in) :: n, m
  real(8), intent(inout) :: a(n, m), y(n)
  real(8), intent(in) :: x(n)
  real(8), intent(out) :: norm
  real(8) :: w(n)
  real(8), external :: dot
  complex(8), external :: rotated
  logical, external :: large
  logical :: odd
  integer :: j
  norm = 0
  odd = .false.
  do j = 1, m
    call copied(n, a(1, j), w)
    call added(n - 1, 2d0*j, x(2), w)
    if (large(n, w)) then
      norm = norm + 2*dot(n, w, x)
    else if (j > 2 .and. large(1, y(j:))) then
      norm = norm - real(rotated(cmplx(norm, j, 8)))
    end if
    call halved(n, a(:, j))
    call inner(n, a(:, j))
    call copied(n, 2*w + 1, y)
    call toggled(odd, j > 2)
    if (odd) y(1) = y(1) + 1
    y(j) = y(j) + w(j)
  end do
contains
  subroutine inner(k, v)
    integer, intent(in) :: k
    real(8), intent(inout) :: v(k)
    call halved(k, v)
    call halved(k - 1, v(2))
    v = v + dot(k, x, v)
  end subroutine
end subroutine
)");
  f.write("other.f90", R"(
subroutine copied(n, x, y)
  integer :: n
  real(8) :: x(n), y(n)
  y = x
end subroutine
subroutine added(n, factor, x, y)
  integer :: n
  real(8) :: factor, x(n), y(n)
  y = y + factor*x
end subroutine
subroutine halved(n, x)
  integer :: n
  real(8) :: x(n)
  x = x/2
end subroutine
real(8) function dot(n, x, y)
  integer :: n
  real(8) :: x(n), y(n)
  dot = dot_product(x, y)
end function
complex(8) function rotated(z)
  complex(8) :: z
  rotated = z*(0d0, 1d0)
end function
subroutine toggled(odd, much)
  logical :: odd, much
  odd = .not. odd .or. much
end subroutine
logical function large(n, x)
  integer :: n
  real(8) :: x(n)
  large = sum(x) > 3
end function
)");
  f.write("main.f90",
          "program main\n  real(8) :: a(5, 7), x(5), y(5), norm\n  integer :: i\n"
          "  a = reshape([(i/35d0, i = 1, 35)], [5, 7])\n  x = [(1d0/i, i = 1, 5)]\n  y = x\n"
          "  call solve(5, 4, a, x, y, norm)\n  print '(f20.12)', norm, y, a\n"
          "  call solve(1, 1, a, x, y, norm)\n  print '(f20.12)', norm, y, a\n"
          "  call solve(5, 0, a, x, y, norm)\n  print '(f20.12)', norm, y, a\nend program\n");
  CHECK(tool("gen k.f90 -o k.c --target openmp --fortran-interface k_interface.f90", f.str())
            .status == 0);
  const Outcome built = shell(
      "gfortran -O0 -o before main.f90 k.f90 other.f90 && gcc -O1 -Wall -Werror -c k.c && "
      "gfortran -O0 -o after main.f90 k_interface.f90 other.f90 k.o -lgomp",
      f.str());
  REQUIRE_MESSAGE(built.status == 0, built.err);
  const Outcome before = shell("./before", f.str()), after = shell("./after", f.str());
  CHECK(before.status == 0);
  CHECK(before.out.size() > 1500);
  CHECK(before.out == after.out);
}

TEST_CASE("fortran: routines of another file get integers of the kind that they declare") {
  const Folder f;
  f.write("k.f90",
          "subroutine wide(n, m)\n  integer(8), intent(in) :: n\n  integer, intent(inout) :: m\n"
          "  integer(8) :: i\n  integer :: j\n  do j = 1, 3\n    do i = n, n + 1\n"
          "      call both(j, i)\n      call both(2*j + 1, i - j)\n      call both(m, i*j)\n"
          "    end do\n  end do\n  call both(m, i)\nend subroutine\n");
  f.write("other.f90",
          "subroutine both(j, i)\n  integer :: j\n  integer(8) :: i\n  print *, j, i\n"
          "  if (j > 10) j = j + 1\nend subroutine\n");
  f.write("main.f90",
          "program main\n  integer :: m\n  m = 20\n  call wide(4294967296_8, m)\n  print *, m\n"
          "end program\n");
  CHECK(tool("gen k.f90 -o k.c --fortran-interface k_interface.f90", f.str()).status == 0);
  const Outcome built = shell(
      "gfortran -O0 -o before main.f90 k.f90 other.f90 && gcc -O1 -Wall -Werror -c k.c && "
      "gfortran -O0 -o after main.f90 k_interface.f90 other.f90 k.o",
      f.str());
  REQUIRE_MESSAGE(built.status == 0, built.err);
  const Outcome before = shell("./before", f.str()), after = shell("./after", f.str());
  CHECK(before.out.size() > 400);
  CHECK(before.out == after.out);
}

TEST_CASE("fortran: assumed shapes, with a program that passes sections") {
  const Folder f;
  f.write("k.f90",
          "subroutine relax(a, b, total)\n  real(8), intent(inout) :: a(:, 0:)\n"
          "  real(8), intent(in) :: b(:)\n  real(8), intent(out) :: total\n  integer :: i, j\n"
          "  do j = lbound(a, 2), ubound(a, 2)\n    do i = 2, size(a, 1)\n"
          "      a(i, j) = a(i, j) + b(j + 1)*a(i - 1, j)\n    end do\n  end do\n"
          "  total = sum(a) + size(b, kind=8)\n  do i = lbound(b, 1), ubound(b, 1)\n"
          "    total = total + ubound(b, 1)*b(i)\n  end do\nend subroutine\n");
  f.write("main.f90",
          "program main\n  interface\n    subroutine relax(a, b, total)\n"
          "      real(8), intent(inout) :: a(:, 0:)\n      real(8), intent(in) :: b(:)\n"
          "      real(8), intent(out) :: total\n    end subroutine\n  end interface\n"
          "  real(8) :: x(8, 9), y(20), s\n  integer :: i\n  x = reshape([(i/72d0, i = 1, 72)], "
          "[8, 9])\n  y = [(1d0/i, i = 1, 20)]\n  call relax(x, y, s)\n  print *, s\n"
          "  call relax(x(2:8:3, 9:1:-2), y(3:), s)\n  print '(f12.6)', s, x\nend program\n");
  CHECK(tool("gen k.f90 -o k.c --fortran-interface k_interface.f90", f.str()).status == 0);
  CHECK(f.read("k_interface.f90")
            .find("call relax_of_c(a, b, total, relax_extent(size(a, 1, c_int64_t)), &\n") !=
        std::string::npos);
  CHECK(shell("gfortran -O0 -o before main.f90 k.f90 && gcc -O1 -c k.c && "
              "gfortran -O0 -o after main.f90 k_interface.f90 k.o",
              f.str())
            .status == 0);
  const Outcome before = shell("./before", f.str()), after = shell("./after", f.str());
  CHECK(before.status == 0);
  CHECK(before.out.size() > 700);
  CHECK(before.out == after.out);
}

TEST_CASE("fortran: an axis longer than the kernel counts ends the program") {
  const Folder f;
  f.write("k.f90",
          "subroutine zero(a)\n  integer(1), intent(inout) :: a(:)\n  a = 0\nend subroutine\n");
  f.write("main.f90",
          "program main\n  interface\n    subroutine zero(a)\n"
          "      integer(1), intent(inout) :: a(:)\n    end subroutine\n  end interface\n"
          "  integer(1), allocatable :: x(:)\n  allocate(x(2147483648_8))\n"
          "  call zero(x(2147483640_8:))\n  print *, x(2147483648_8)\n  call zero(x)\n"
          "end program\n");
  CHECK(tool("gen k.f90 -o k.c --fortran-interface k_interface.f90", f.str()).status == 0);
  CHECK(shell("gcc -O1 -c k.c && gfortran -O0 -o after main.f90 k_interface.f90 k.o", f.str())
            .status == 0);
  const Outcome after = shell("./after", f.str());
  CHECK(after.status == 1);
  CHECK(after.out.find(" 0\n") != std::string::npos);
  CHECK(after.err.find("zero: an axis has more than 2147483647 elements") != std::string::npos);
}

TEST_CASE("fortran: what a file has, and what is in the way of the rest") {
  const Folder f;
  f.write("k.f90",
          "subroutine good(n, a)\n  integer :: n, i\n  real :: a(n)\n  do i = 1, n\n"
          "    a(i) = 2*a(i)\n  end do\nend\n"
          "subroutine bad(n, a)\n  integer :: n\n  real :: a(n)\n  class(*), pointer :: p\n"
          "  wait (n)\n  wait (n)\nend\n");
  const Outcome o = tool("show k.f90 --what imports", f.str());
  CHECK(o.status == 0);
  CHECK(o.out ==
        "good  k.f90:1:12  imported\n"
        "bad   k.f90:8:12  left out\n"
        "  k.f90:11:24: `p` of any type is not supported in Fortran kernels\n"
        "  k.f90:12:3: the statement `wait` is not supported in Fortran kernels\n"
        "  k.f90:13:3: the statement `wait` is not supported in Fortran kernels\n"
        "1 of 2 imported\n");
  f.write("k.loop", "kernel k(n)\ndomain {[i]: 0 <= i < n}\na[i] = 1\n");
  const Outcome other = tool("show k.loop --what imports", f.str());
  CHECK(other.status == 2);
  CHECK(other.err.find("`imports` is about Fortran files") != std::string::npos);
}

TEST_CASE(
    "fortran: directives are proved, trusted or left out, those of the kernel that is meant") {
  const Folder f;
  f.write("k.f90",
          "subroutine shift(n, k, a)\n  integer :: n, i, k(n)\n  real :: a(n)\n"
          "  !$omp parallel do\n  do i = 1, n\n    a(k(i)) = a(i)\n  end do\nend\n"
          "subroutine twice(n, a)\n  integer :: n, i\n  real :: a(n)\n  !$omp parallel do\n"
          "  do i = 1, n\n    a(i) = 2*a(i)\n  end do\nend\n");
  const auto code = [&](const std::string& options) {
    return tool("gen k.f90 --target openmp " + options, f.str());
  };
  const Outcome refused = code("--kernel shift");
  CHECK(refused.status == 1);
  CHECK(refused.err.find("k.f90:4:") != std::string::npos);
  CHECK(refused.err.find("tagging `i` as `par` would run") != std::string::npos);
  const std::string pragma = "#pragma omp parallel for";
  CHECK(code("--kernel shift --directives use").out.find(pragma) != std::string::npos);
  const Outcome ignored = code("--kernel shift --directives ignore");
  CHECK(ignored.status == 0);
  CHECK(ignored.out.find("pragma") == std::string::npos);
  CHECK(code("--kernel twice").out.find(pragma) != std::string::npos);
  CHECK(code("--kernel twice --directives ignore").out.find(pragma) == std::string::npos);
  const Outcome wrong = code("--kernel twice --directives maybe");
  CHECK(wrong.status == 2);
}

TEST_CASE("cli: --check-claims ends a program where what Fortran promises does not hold") {
  const Folder f;
  f.write("k.f90", R"(subroutine part(n, m, x, y)
  implicit none
  integer, intent(in) :: n, m
  real(8), intent(in) :: x(n)
  real(8), intent(inout) :: y(n)
  real(8) :: t, w(n), z(4)
  integer :: i, k
  do i = 1, m
    w(i) = x(i)
  end do
  do i = 1, n
    do k = 1, m
      z(k) = w(k)*x(i)
      t = z(k)
    end do
    if (n > 4) z(4) = 1
    y(i) = t + merge(w(i), 0d0, i <= m) + z(min(4, n))
  end do
end subroutine
)");
  struct Case {
    const char *sizes, *error;
  };
  for (const auto& [sizes, error] :
       {Case{"-p n=5 -p m=4", ""}, Case{"-p n=4 -p m=4", ""},
        Case{"-p n=5 -p m=5",
             "k.f90:13:7: error: subscript 1 of `z` is 4, counted from 0, where its "
             "axis has 4 elements [out-of-bounds]\n"},
        Case{"-p n=3 -p m=4",
             "k.f90:9:5: error: subscript 1 of `w` is 3, counted from 0, where its "
             "axis has 3 elements [out-of-bounds]\n"},
        Case{"-p n=4 -p m=3",
             "k.f90:17:5: error: `z` is read where it has no value "
             "[undefined-read]\n"},
        Case{"-p n=4 -p m=0",
             "k.f90:17:5: error: `t` is read where it has no value "
             "[undefined-read]\n"}})
    for (const std::string target : {"c", "openmp"}) {
      CAPTURE(sizes);
      CAPTURE(target);
      const std::string line = std::string("run k.f90 --quiet --target ") + target + " " + sizes;
      const Outcome o = tool(line + " --check-claims", f.str());
      CHECK(o.err == error);
      CHECK(o.status == (*error ? 1 : 0));
    }
  CHECK(
      tool("gen k.f90 --check-claims --target cuda", f.str())
          .err.find("target `cuda` has no checks of claims; `c` and `openmp` have [unsupported]") !=
      std::string::npos);
  // Arguments that share memory, in a program of gfortran's.
  f.write("main.f90", R"(program p
  real(8) :: a(10)
  interface
    subroutine part(n, m, x, y)
      integer, intent(in) :: n, m
      real(8), intent(in) :: x(n)
      real(8), intent(inout) :: y(n)
    end subroutine
  end interface
  a = 1
  call part(5, 4, a(6:), a)
  print *, a(1)
  call part(5, 4, a(5:), a)
end program
)");
  const Outcome made = tool("fc --check-claims --kernel part -- gfortran -c k.f90", f.str());
  REQUIRE_MESSAGE(made.status == 0, made.err);
  REQUIRE(shell("gfortran main.f90 k.o -o program", f.str()).status == 0);
  const Outcome ran = shell("./program", f.str());
  CHECK(ran.status == 1);
  CHECK(ran.out.find("3.0") != std::string::npos);
  CHECK(ran.err ==
        "k.f90:4:26: error: `x` and `y` share memory, and the kernel writes to it "
        "[shared-memory]\n");
}
