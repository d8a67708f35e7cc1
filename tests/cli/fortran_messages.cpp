// Directives in unusual forms, and what is said of mistakes.
#include "tests/cli/fortran_program.h"

using namespace moonloop::test;

TEST_CASE("fortran: of directives of OpenMP and OpenACC above one loop, OpenMP's count") {
  const Folder f;
  f.write("k.f90", R"(subroutine both(n, x, y, s)
  implicit none
  integer, intent(in) :: n
  real(8), intent(inout) :: x(n), y(n)
  real(8), intent(inout) :: s
  integer :: i
  !$omp parallel do
  !$acc parallel loop gang &
  !$acc   vector
  do i = 1, n
    x(i) = x(i) + 1
  end do
  !$omp end parallel do
  !$acc end parallel loop
  !$acc kernels loop reduction(+: s)

  ! in parts
  !$OMP PARALLEL DO REDUCTION(+: s)
  do i = 1, n
    s = s + x(i)
  end do
  !$acc end kernels loop
  !$acc parallel loop
  do i = 1, n
    y(i) = 2*x(i)
  end do
  !$acc end parallel loop
end subroutine
)");
  f.write("main.f90", R"(program main
  implicit none
  real(8) :: x(5) = [1, 2, 3, 4, 5], y(5), s = 0
  call both(5, x, y, s)
  print *, x, y, s
end program
)");
  same_program(f);
  const Outcome c = tool("gen k.f90 --target openmp", f.str());
  REQUIRE_MESSAGE(c.status == 0, c.err);
  CHECK(has(c.out, "reduction(+:acc_i_1)"));
  CHECK(has(c.err,
            "k.f90:8:3: warning: this directive for compilers has no effect (1 more in "
            "`both`) [unused-directive]"));
  f.write("k.f",
          "      subroutine s(n, x)\n      integer n, i\n      real x(n)\n"
          "c$omp parallel do\nc$acc parallel loop\nc$acc+ gang\n      do i = 1, n\n"
          "        x(i) = 2*x(i)\n      end do\n*$acc end parallel loop\n      end\n");
  const Outcome fixed = tool("gen k.f --target openmp --quiet", f.str());
  CHECK_MESSAGE(has(fixed.out, "#pragma omp parallel for"), fixed.err);
}

TEST_CASE("fortran: directives of both kinds in a file that is read for its module") {
  const Folder f;
  f.write("sums.f90", R"(module sums
  implicit none
contains
  subroutine add(n, x, s)
    integer, intent(in) :: n
    real(8), intent(in) :: x(n)
    real(8), intent(inout) :: s
    integer :: i
    !$omp parallel do reduction(-: s)
    !$acc parallel loop reduction(+: s)
    do i = 1, n
      s = s + x(i)
    end do
  end subroutine
end module
)");
  f.write("k.f90", R"(subroutine k(n, x, s)
  use sums
  implicit none
  integer, intent(in) :: n
  real(8), intent(in) :: x(n)
  real(8), intent(inout) :: s
  call add(n, x, s)
end subroutine
)");
  const Outcome c = tool("gen k.f90 --target openmp", f.str());
  REQUIRE_MESSAGE(c.status == 0, c.err);
  CHECK(has(c.out, "reduction(+:acc_i)"));
  f.write("sums.f90", f.read("sums.f90") + "subroutine more(\n");
  const Outcome wrong = tool("gen k.f90", f.str());
  CHECK(wrong.status == 1);
  CHECK_MESSAGE(has(wrong.err, "sums.f90:16:"), wrong.err);  // no name of a copy
}

TEST_CASE("fortran: what `reduction(-: s)` puts together is added up") {
  const Folder f;
  f.write("k.f90", R"(subroutine less(n, x, s, t)
  implicit none
  integer, intent(in) :: n
  real(8), intent(in) :: x(n)
  real(8), intent(inout) :: s, t
  integer :: i
  !$omp parallel do reduction(-:s)
  do i = 1, n
    s = s - x(i)
  end do
  !$omp parallel do schedule(static) & ! -
  !$omp& reduction ( &
  !$omp  - : t)
  do i = 1, n
    t = t - 2*x(i)
  end do
end subroutine
)");
  f.write("main.f90", R"(program main
  implicit none
  real(8) :: x(5) = [1, 2, 3, 4, 5], s = 0.5, t = 1
  call less(5, x, s, t)
  print *, s, t
end program
)");
  same_program(f);
  const Outcome c = tool("gen k.f90 --target openmp", f.str());
  CHECK_MESSAGE(has(c.out, "reduction(+:"), c.err);
  CHECK(c.err.empty());
}

TEST_CASE("fortran: a clause that there is not is named") {
  const Folder f;
  f.write("k.f90", R"(subroutine twice(n, x)
  integer, intent(in) :: n
  real, intent(inout) :: x(n)
  integer :: i
  !$omp parallel do private(i) &
  !$omp   shedule(static)
  do i = 1, n
    x(i) = 2*x(i)
  end do
end subroutine
)");
  CHECK(tool("gen k.f90", f.str()).err ==
        "k.f90:6:11: error: `shedule` is no directive and no clause of OpenMP; did you mean "
        "`schedule`? [fortran]\n  6 |   !$omp   shedule(static)\n    |           ^^^^^^^\n");
  f.write("k.f90",
          "subroutine s(n, x)\n  integer :: n, i\n  real :: x(n)\n"
          "  !$acc paralel loop\n  do i = 1, n\n    x(i) = 2*x(i)\n  end do\n"
          "end subroutine\n");
  CHECK(has(tool("gen k.f90", f.str()).err,
            "k.f90:4:9: error: `paralel` is no directive and no clause of OpenACC; did you mean "
            "`parallel`? [fortran]"));
}

TEST_CASE("fortran: a module whose file has errors is not called missing") {
  const Folder f;
  f.write("parts.f90", "module parts\n  integer :: n = 'x' + 1\nend module\n");
  f.write("k.f90", R"(subroutine use_parts(x)
  use parts
  implicit none
  real, intent(inout) :: x
  x = x + n
end subroutine
)");
  const Outcome o = tool("gen k.f90", f.str());
  CHECK_MESSAGE(has(o.err, "`parts.f90`, which has the module `parts`, cannot be read"), o.err);
  CHECK(has(o.err, "parts.f90:2:"));
  CHECK(!has(o.err, "-I"));
}

TEST_CASE("fortran: messages name components as the source does") {
  const Folder f;
  f.write("k.f90", R"(module m
  type t
    class(*), allocatable :: any
  end type
contains
  subroutine s(x, p)
    real, intent(inout) :: x
    type(t), intent(in), optional :: p(3)
    x = 1
  end subroutine
end module
)");
  const Outcome o = tool("gen k.f90", f.str());
  CHECK_MESSAGE(has(o.err, "`p%any`"), o.err);
}

TEST_CASE("show: imports tells of unset variables that `gen` refuses") {
  const Folder f;
  f.write("k.f90", R"(subroutine unset(n, x)
  integer, intent(in) :: n
  real, intent(inout) :: x(n)
  real :: ry
  x = x + ry
end subroutine
subroutine fine(n, x)
  integer, intent(in) :: n
  real, intent(inout) :: x(n)
  x = x + 1
end subroutine
)");
  const Outcome o = tool("show k.f90 --what imports", f.str());
  CHECK_MESSAGE(has(o.out, "unset  k.f90:1:12  imported, but not what it reads\n  k.f90:5:3: `insn` "),
                o.out);
  CHECK(has(o.out, "reads the temporary `ry`, which nothing writes"));
  CHECK(has(o.out, "fine   k.f90:7:12  imported\n2 of 2 imported\n"));
  CHECK(tool("gen k.f90 --kernel unset --target c", f.str()).status == 1);
}

TEST_CASE("show: imports tells of directives that `gen` refuses") {
  const Folder f;
  f.write("k.f90", R"(subroutine run_on(n, x)
  integer, intent(in) :: n
  real, intent(inout) :: x(n)
  integer :: i
  !$omp parallel do
  do i = 2, n
    x(i) = x(i - 1)
  end do
end subroutine
subroutine fine(n, x)
  integer, intent(in) :: n
  real, intent(inout) :: x(n)
  integer :: i
  !$omp parallel do
  do i = 2, n
    x(i) = x(i) + 1
  end do
end subroutine
)");
  const Outcome o = tool("show k.f90 --what imports", f.str());
  CHECK(has(o.out, "run_on  k.f90:1:12  imported, but not its directives\n  "));
  CHECK(has(o.out, "fine    k.f90:10:12  imported\n2 of 2 imported\n"));
  CHECK(has(o.out, "insn[i=1] writes x[1] and insn[i=2] reads it"));
  const Outcome ignored = tool("show k.f90 --what imports --directives ignore", f.str());
  CHECK(!has(ignored.out, "but not its directives"));
}

TEST_CASE("fortran: what a called routine does for one thread at a time is not trusted") {
  const Folder f;
  f.write("k.f90", R"(module m
  implicit none
contains
  subroutine keep_largest(x, most, place, i)
    real(8), intent(in) :: x
    real(8), intent(inout) :: most
    integer, intent(inout) :: place
    integer, intent(in) :: i
    !$omp critical
    if (x > most) then
      most = x
      place = i
    end if
    !$omp end critical
  end subroutine
  subroutine by_way(x, most, place, i)
    real(8), intent(in) :: x
    real(8), intent(inout) :: most
    integer, intent(inout) :: place
    integer, intent(in) :: i
    call keep_largest(x, most, place, i)
  end subroutine
  subroutine largest(n, x, most, place)
    integer, intent(in) :: n
    real(8), intent(in) :: x(n)
    real(8), intent(inout) :: most
    integer, intent(inout) :: place
    integer :: i
    !$omp parallel do
    do i = 1, n
      if (x(i) > 0) call by_way(x(i), most, place, i)
    end do
  end subroutine
end module
)");
  const Outcome made = tool("gen k.f90 --kernel largest --directives use --target openmp", f.str());
  CHECK(made.status == 1);
  CHECK_MESSAGE(has(made.err, "[not-proved]"), made.err);
}

TEST_CASE("fc: the interface's module leaves no file") {
  const Folder f;
  f.write("k.f90", R"(module solver
contains
  subroutine twice(n, x)
    !$moonloop auto
    integer, intent(in) :: n
    real(8), intent(inout) :: x(n)
    integer :: i
    do i = 1, n
      x(i) = 2*x(i)
    end do
  end subroutine
end module
)");
  const auto fc = [&](const std::string& options) {
    const Outcome o = tool("fc -- gfortran -O1 -c k.f90 " + options, f.str());
    CHECK_MESSAGE(o.status == 0, o.err);
    return shell("ls . modules", f.str()).out;
  };
  shell("mkdir modules", f.str());
  CHECK(fc("-J modules") == ".:\nk.f90\nk.o\nmodules\n\nmodules:\nsolver.mod\n");
  CHECK(fc("-Jmodules") == ".:\nk.f90\nk.o\nmodules\n\nmodules:\nsolver.mod\n");
  f.write("twice_moonloop.mod", "the user's");
  const std::string after = fc("");
  CHECK(has(after, "solver.mod\ntwice_moonloop.mod\n"));
}

TEST_CASE("fortran: nested reductions are one on devices") {
  const Folder f;
  f.write("k.f90", R"(subroutine total(n, m, a, s, most)
  integer, intent(in) :: n, m
  real(8), intent(in) :: a(n, m)
  real(8), intent(inout) :: s, most
  integer :: i, j
  !$omp target teams distribute reduction(+: s)
  do j = 1, m
    !$omp parallel do reduction(+: s)
    do i = 1, n
      s = s + a(i, j)
    end do
  end do
  !$omp target teams distribute reduction(max: most)
  do j = 1, m
    most = max(most, a(1, j))
    !$omp parallel do reduction(max: most)
    do i = 2, n
      most = max(most, a(i, j))
    end do
  end do
end subroutine
)");
  f.write("main.f90", R"(program main
  implicit none
  real(8) :: a(3, 4), s = 1, most = -1
  integer :: i
  a = reshape([(mod(i*7, 12)*0.5d0, i=1, 12)], [3, 4])
  call total(3, 4, a, s, most)
  print *, s, most
end program
)");
  same_program(f);
  for (const char* target : {"cuda", "opencl"}) {
    const Outcome o = tool(std::string("gen k.f90 --target ") + target, f.str());
    CHECK_MESSAGE(o.status == 0, o.err);
  }
  CHECK(has(tool("run k.f90 --target opencl -p n=100 -p m=30 --verify", f.str()).out, "equal"));
}

TEST_CASE("fortran: arrays of a size that only the caller knows, on devices") {
  const Folder f;
  f.write("k.f90", R"(module m
  implicit none
contains
  subroutine turn(n, x)
    !$moonloop noinline
    integer, intent(in) :: n
    real(8), intent(inout) :: x(n)
    real(8) :: t(n)
    integer :: i
    do i = 1, n
      t(i) = x(n + 1 - i)
    end do
    do i = 1, n
      x(i) = t(i) + 1
    end do
  end subroutine
  subroutine columns(n, m, a)
    integer, intent(in) :: n, m
    real(8), intent(inout) :: a(n, m)
    integer :: j
    !$omp parallel do
    do j = 1, m
      call turn(n, a(:, j))
    end do
  end subroutine
  subroutine own(n, m, a)
    integer, intent(in) :: n, m
    real(8), intent(inout) :: a(n, m)
    real(8) :: t(n)
    integer :: i, j
    !$omp parallel do private(t)
    do j = 1, m
      do i = 1, n
        t(i) = a(n + 1 - i, j)
      end do
      do i = 2, n
        a(i, j) = t(i) + a(i - 1, j)
      end do
    end do
  end subroutine
  subroutine alone(n, a)
    integer, intent(in) :: n
    real(8), intent(inout) :: a(n)
    real(8) :: t(n)
    integer :: i
    t(1) = 1
    do i = 2, n
      t(i) = a(i - 1) + a(i)
      a(i) = t(i)*t(i - 1) - a(1)
    end do
  end subroutine
end module
)");
  for (const char* kernel : {"columns", "own", "alone"})
    for (const char* target : {"opencl", "cuda"}) {
      const std::string which = std::string("k.f90 --kernel ") + kernel + " --target " + target;
      const Outcome o = tool("gen " + which, f.str());
      CHECK_MESSAGE(o.status == 0, o.err);
      if (std::string(kernel) == "columns")
        CHECK(has(o.err,
                  "the call of `turn` in `columns` is replaced by its body, as a work-item "
                  "has no memory of the size of its arrays [inlined-call]"));
      if (std::string(target) == "cuda") continue;
      const Outcome run =
          tool("run " + which + " -p n=50" + (std::string(kernel) == "alone" ? "" : " -p m=30") +
                   " --verify --quiet",
               f.str());
      CHECK_MESSAGE(has(run.out, "equal"), run.err);
    }
}
