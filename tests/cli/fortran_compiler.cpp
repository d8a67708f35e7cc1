// `moonloop fc`, which stands in the place of a Fortran compiler.
#include "tests/cli/harness.h"

using namespace moonloop::test;

namespace {

constexpr const char* kSolver = R"(module solver
  implicit none
  real(8) :: weight = 0.5d0
contains
  subroutine relax(n, u)
    integer, intent(in) :: n
    real(8), intent(inout) :: u(n)
    integer :: i
    do i = 2, n
      u(i) = (1 - weight)*u(i) + weight*u(i - 1)
    end do
  end subroutine
  subroutine show(u)
    real(8), intent(in) :: u(:)
    print *, 'u', u
  end subroutine
end module
!$moonloop begin transform
! relax = lp.split_iname(relax, "i", 4)
!$moonloop end transform
subroutine outside(n, u)
  use solver
  integer, intent(in) :: n
  real(8), intent(inout) :: u(n)
  call relax(n, u)
end subroutine
)";
constexpr const char* kMain = R"(program main
  use solver
  implicit none
  real(8) :: u(11)
  u = 1
  u(1) = 3
  call outside(11, u)
  call show(u)
end program
)";

std::string symbols(const Folder& f, const std::string& object) {
  return shell("nm " + object, f.str()).out;
}

}  // namespace

TEST_CASE("fc: marked routines are compiled through C, the rest of the file as before") {
  const Folder f;
  f.write("solver.f90", kSolver);
  f.write("main.f90", kMain);
  REQUIRE(
      shell("gfortran -O1 -c solver.f90 main.f90 && gfortran -o before solver.o main.o", f.str())
          .status == 0);
  const Outcome made = tool("fc -- gfortran -O1 -g -c solver.f90", f.str());
  REQUIRE_MESSAGE(made.status == 0, made.err);
  CHECK(made.err == "moonloop: solver.f90: relax\n");
  CHECK(has(symbols(f, "solver.o"), "relax_of_c"));
  CHECK(!has(symbols(f, "solver.o"), "U relax"));
  REQUIRE(shell("gfortran -o after solver.o main.o", f.str()).status == 0);
  CHECK(shell("./after", f.str()).out == shell("./before", f.str()).out);

  const Outcome named =
      tool("fc --quiet --kernel show -- gfortran -O1 solver.f90 main.f90 -o named", f.str());
  REQUIRE_MESSAGE(named.status == 0, named.err);
  CHECK(named.err.empty());
  CHECK(shell("./named", f.str()).out == shell("./before", f.str()).out);

  REQUIRE(tool("fc -- gfortran -O1 -c main.f90 -o plain.o", f.str()).status == 0);
  CHECK(!has(symbols(f, "plain.o"), "of_c"));
  CHECK(tool("fc --kernel none -- gfortran -c nowhere.f90", f.str()).status == 1);  // its status
  const Outcome misspelt =
      tool("fc --kernel relaks --kernel 'a(' -- gfortran -c main.f90", f.str());
  CHECK(misspelt.status == 0);
  CHECK(misspelt.err ==
        "moonloop: main.f90: nothing is replaced; it has no routine `relaks` or `a(`\n");
}

TEST_CASE("fc: files in fixed form, definitions and folders of the command") {
  const Folder f;
  f.write("k.F",
          "      SUBROUTINE TWICE(N, A)\n      INTEGER N, I\n      REAL*8 A(N)\n"
          "      INCLUDE 'more.inc'\n      DO 10 I = 1, N\n        A(I) = FACTOR*A(I) + SHIFT\n"
          "   10 CONTINUE\n      END\n"
          "      SUBROUTINE OTHER(N, A)\n      INTEGER N\n      REAL*8 A(N)\n"
          "      CALL TWICE(N, A)\n      PRINT *, A\n      END\n");
  REQUIRE(shell("mkdir inc", f.str()).status == 0);
  f.write("inc/more.inc", "      REAL*8, PARAMETER :: SHIFT = 0.5D0\n");
  f.write("main.f90", "program p\n  real(8) :: a(3)\n  a = 1\n  call other(3, a)\nend program\n");
  const std::string flags = "gfortran -O1 -DFACTOR=3 -Iinc -c k.F -o ";
  REQUIRE(shell(flags + "b.o && gfortran -o before main.f90 b.o", f.str()).status == 0);
  const Outcome made = tool("fc --kernel twice -- " + flags + "a.o", f.str());
  REQUIRE_MESSAGE(made.status == 0, made.err);
  CHECK(has(symbols(f, "a.o"), "twice_of_c"));
  REQUIRE(shell("gfortran -o after main.f90 a.o", f.str()).status == 0);
  CHECK(shell("./after", f.str()).out == shell("./before", f.str()).out);
  // As Nek5000's builds say it, of a file whose name says something else.
  REQUIRE(shell("cp k.F free.f90", f.str()).status == 0);
  const Outcome told =
      tool("fc --kernel twice -- gfortran -O1 -DFACTOR=3 -Iinc -x f77-cpp-input -c free.f90 -o x.o",
           f.str());
  REQUIRE_MESSAGE(told.status == 0, told.err);
  CHECK(has(symbols(f, "x.o"), "twice_of_c"));
  REQUIRE(shell("gfortran -o after main.f90 x.o", f.str()).status == 0);
  CHECK(shell("./after", f.str()).out == shell("./before", f.str()).out);
}

// As BLAS, whose routines call XERBLA, and programs that pass parts of arrays.
TEST_CASE("fc: routines that call what is no kernel") {
  const Folder f;
  f.write("k.f", R"(      SUBROUTINE SWEEP(N, A, INFO)
      INTEGER N, INFO, J, M
      DOUBLE PRECISION A(N, N), NORM
      INFO = 0
      IF (N .GT. 3) THEN
        INFO = -N
        CALL COMPLAIN('SWEEP ', -INFO)
        RETURN
      END IF
      M = N*N
      CALL FILL(M, A, 2.0D0)
      DO J = 1, N
        A(J, J) = A(J, J) + NORM('F', M, A)
        CALL STEP(N, A(1, J), INFO)
      END DO
      END
      SUBROUTINE COMPLAIN(WHO, INFO)
      CHARACTER*(*) WHO
      INTEGER INFO
      WRITE (*, '(A, A, I3)') ' ** ', WHO, INFO
      END
      SUBROUTINE FILL(M, X, S)
      INTEGER M, I
      DOUBLE PRECISION X(M), S
      DO I = 1, M
        X(I) = S + I
      END DO
      END
      SUBROUTINE STEP(N, X, INFO)
      INTEGER N, INFO
      DOUBLE PRECISION X(N)
      CHARACTER*8 TEXT
      TEXT = 'done'
      X(1) = X(1)/2
      IF (TEXT .EQ. 'done') INFO = INFO + N
      END
      DOUBLE PRECISION FUNCTION NORM(KIND, M, X)
      CHARACTER KIND
      CHARACTER*3 OWN
      INTEGER M, I
      DOUBLE PRECISION X(M)
      OWN = KIND
      NORM = 0
      IF (OWN .NE. 'F') RETURN
      DO I = 1, M
        NORM = NORM + X(I)**2
      END DO
      NORM = SQRT(NORM)
      END
)");
  f.write("main.f90",
          "program p\n  real(8) :: a(3, 3)\n  integer :: info\n  a = 1\n"
          "  call sweep(3, a, info)\n  print *, a, info\n  call sweep(4, a, info)\n"
          "  print *, info\nend program\n");
  REQUIRE(shell("gfortran -O1 -c k.f -o b.o && gfortran -o before main.f90 b.o", f.str()).status ==
          0);
  const Outcome made = tool("fc --kernel sweep -- gfortran -O1 -c k.f -o a.o", f.str());
  REQUIRE_MESSAGE(made.status == 0, made.err);
  CHECK(has(symbols(f, "a.o"), "sweep_of_c"));
  REQUIRE(shell("gfortran -o after main.f90 a.o", f.str()).status == 0);
  const Outcome before = shell("./before", f.str());
  CHECK(has(before.out, " ** SWEEP   4"));
  CHECK(shell("./after", f.str()).out == before.out);
}

TEST_CASE("fc: what cannot be, and what compilers refuse") {
  const Folder f;
  f.write("solver.f90", kSolver);
  f.write("wrong.f90",
          std::string(kSolver) + "subroutine wrong(n)\n  integer :: n\n  n = 'a'\nend\n");
  CHECK(tool("fc -- gfortran -c wrong.f90", f.str()).status == 4);
  CHECK(!f.has("wrong.o"));
  for (const std::string name : {"opencl", "ispc"}) {
    const Outcome target = tool("fc --target " + name + " -- gfortran -c solver.f90", f.str());
    CHECK(target.status == 1);
    CHECK(has(target.err, "`fc` generates `c`, `openmp` or `cuda`, not `" + name + "`"));
  }
  const Outcome wide = tool("fc -- gfortran -freal-4-real-8 -c solver.f90", f.str());
  CHECK(wide.status == 1);
  CHECK(has(wide.err, "`-freal-4-real-8`"));
  CHECK(tool("fc --cc no-such-compiler -- gfortran -c solver.f90", f.str()).status == 4);
  CHECK(tool("fc -- no-such-compiler x.o", f.str()).status == 4);
  CHECK(tool("fc", f.str()).status == 2);
  f.write("stop.f90", "subroutine s(n)\n  wait (n)\nend\n");
  const Outcome left = tool("fc --kernel s -- gfortran -c stop.f90", f.str());
  CHECK(left.status == 1);
  CHECK(has(left.err, "the statement `wait` is not supported"));
}

TEST_CASE("fc --auto: schedules without a word in the source") {
  const Folder f;
  f.write("plain.f90", R"(subroutine scale(n, m, a)
  integer, intent(in) :: n, m
  real(8), intent(inout) :: a(n, m)
  integer i, j
  do j = 1, m
    do i = 1, n
      a(i, j) = 2*a(i, j) + i
    end do
  end do
end subroutine
subroutine running(n, a)
  integer, intent(in) :: n
  real(8), intent(inout) :: a(n)
  integer i
  do i = 2, n
    a(i) = a(i) + a(i - 1)*a(i)
  end do
end subroutine
subroutine stops(n)
  integer, intent(in) :: n
  wait (n)
end subroutine
)");
  f.write("main.f90",
          "program main\n  real(8) :: a(7, 5)\n  a = 1\n  call scale(7, 5, a)\n"
          "  call running(7, a)\n  print *, a\nend program\n");
  f.write("types.f90", "module types\n  integer, parameter :: width = 3\nend module\n");
  REQUIRE(shell("gfortran -O1 plain.f90 main.f90 -o before", f.str()).status == 0);
  const std::string fc = "XDG_CACHE_HOME=\"$PWD/cache\" " MOONLOOP_BINARY " fc --auto ";

  const Outcome made =
      shell(fc + "--target openmp --schedules why -- gfortran -O1 -fopenmp plain.f90 main.f90 "
                 "-o after",
            f.str());
  REQUIRE_MESSAGE(made.status == 0, made.err);
  CHECK(made.err == "moonloop: plain.f90: scale\n");  // the others have nothing to gain
  CHECK(has(symbols(f, "after"), "scale_of_c"));
  CHECK(!has(symbols(f, "after"), "running_of_c"));
  CHECK(shell("./after", f.str()).out == shell("./before", f.str()).out);
  CHECK(has(shell("cat why/scale.lua", f.str()).out, "-- threads share `j`\n"));
  CHECK(has(shell("cat why/running.lua", f.str()).out, "`i` stays in order: tagging `i` as `par`"));

  // What was found is kept, the failure to find something in time, too.
  const std::string kept = "sh -c 'ls cache/moonloop/*.schedule | wc -l'";
  CHECK(shell(kept, f.str()).out == "2\n");
  REQUIRE(shell(fc + "--target openmp -- gfortran -O1 -fopenmp -c plain.f90", f.str()).status == 0);
  CHECK(shell(kept, f.str()).out == "2\n");
  for (int turn = 0; turn < 2; ++turn) {
    const Outcome late = shell(
        fc + "--auto-limit 1e-7 --kernel scale -- gfortran -O1 -c plain.f90 -o late.o", f.str());
    CHECK(late.status == 0);
    CHECK(late.err ==
          "moonloop: plain.f90: `scale` keeps its order: its schedule takes more than 1e-07 s to "
          "find\nmoonloop: plain.f90: scale\n");
    CHECK(has(symbols(f, "late.o"), "scale_of_c"));  // named, so replaced
    CHECK(shell(kept, f.str()).out == "3\n");
  }

  // A file that nothing asks for by name may have nothing to replace, or not be understood.
  CHECK(shell(fc + "-- gfortran -c types.f90", f.str()).err.empty());
  f.write("away.f90", "subroutine s(n)\n  use types, only: wide\n  integer n\nend\n");
  const Outcome away = shell(fc + "-- gfortran -c away.f90", f.str());
  CHECK(away.status == 1);  // the compiler's
  CHECK(has(away.err, "moonloop: away.f90: nothing is replaced: "));
  CHECK(tool("fc --schedules x -- gfortran -c types.f90", f.str()).status == 2);

  const Outcome wide = tool("gen plain.f90 --auto --kernel scale --target openmp", f.str());
  CHECK(has(wide.out, "#pragma omp parallel for"));
  REQUIRE(tool("auto plain.f90 --kernel scale --target openmp -o s.lua", f.str()).status == 0);
  CHECK(wide.out == tool("gen plain.f90 --kernel scale --target openmp -t s.lua", f.str()).out);
  CHECK(tool("gen plain.f90 --auto --kernel scale --dispatch cuda", f.str()).status == 2);
}

TEST_CASE("fc: a build by CMake that names the target") {
  const Folder f;
  f.write("solver.f90", kSolver);
  f.write("main.f90", kMain);
  f.write("CMakeLists.txt",
          "cmake_minimum_required(VERSION 3.22)\nproject(p LANGUAGES C Fortran)\n"
          "add_executable(before solver.f90 main.f90)\nadd_executable(after solver.f90 main.f90)\n"
          "include(" MOONLOOP_SOURCE_DIR
          "/cmake/MoonloopFortran.cmake)\n"
          "moonloop_replace(after OPTIONS --quiet)\n");
  const Outcome built =
      shell("cmake -S . -B b -DMOONLOOP=" MOONLOOP_BINARY " && cmake --build b", f.str());
  REQUIRE_MESSAGE(built.status == 0, built.err << built.out);
  CHECK(has(symbols(f, "b/after"), "relax_of_c"));
  CHECK(!has(symbols(f, "b/before"), "relax_of_c"));
  CHECK(shell("b/after", f.str()).out == shell("b/before", f.str()).out);
}

TEST_CASE("fc: routines on a GPU, with arrays that stay there") {
  const Folder f;
  f.write("solver.f90", kSolver);
  const Outcome wrong = tool("fc --resident -- gfortran -c solver.f90", f.str());
  CHECK(wrong.status == 2);
  CHECK(wrong.err.find("--resident: it goes with --target cuda") != std::string::npos);
  CHECK(tool("gen solver.f90 --kernel relax --target cuda --resident", f.str()).status == 2);
  CHECK(tool("fc --target opencl -- gfortran -c solver.f90", f.str()).status == 1);
  if (shell("command -v nvcc", f.str()).status != 0) {
    MESSAGE("there is no nvcc");
    return;
  }
  const Outcome made = tool(
      "fc --target cuda --resident --kernel relax -- gfortran -O1 -g -fPIC -c solver.f90", f.str());
  REQUIRE_MESSAGE(made.status == 0, made.err);
  CHECK(has(symbols(f, "solver.o"), " relax_of_c"));
  CHECK(has(symbols(f, "solver.o"), "moonloop_update_"));
}

TEST_CASE("directives become work-items where the target is a device") {
  const Folder f;
  f.write("sweep.f90", R"(subroutine sweep(n, m, a, b, s)
  integer, intent(in) :: n, m
  real(8), intent(in) :: a(n, m)
  real(8), intent(out) :: b(n, m), s
  integer i, j
  s = 0
  !$omp parallel do reduction(+: s)
  do j = 1, m
    do i = 1, n
      b(i, j) = 2*a(i, j)
      s = s + b(i, j)
    end do
  end do
  !$acc parallel loop
  do j = 2, m
    do i = 1, n
      b(i, j) = b(i, j) + 1
    end do
  end do
end subroutine
)");
  const Outcome ran =
      tool("run sweep.f90 --target opencl -p n=300 -p m=70 --verify --quiet", f.str());
  CHECK_MESSAGE(ran.status == 0, ran.err);
  CHECK(has(ran.out, "verify: equal"));
  const Outcome code = tool("gen sweep.f90 --target opencl --quiet", f.str());
  CHECK(has(code.out, "get_local_id(0)"));
  CHECK(has(code.out, "get_group_id(1)"));
  const Outcome steps = tool("show sweep.f90 --what trace --target opencl --quiet", f.str());
  CHECK(has(steps.out, "sweep = lp.stage_reduction(sweep, {\"j_outer\", \"i_outer\"}"));
  CHECK(!has(tool("show sweep.f90 --what trace --quiet", f.str()).out, "stage_reduction"));
  // A script decides otherwise.
  f.write("own.lua", "sweep = lp.untag_inames(lp.untag_inames(sweep, 'j', 'par'), 'j_1', 'g.0')\n");
  CHECK(
      !has(tool("gen sweep.f90 --target opencl --quiet -t own.lua", f.str()).out, "get_group_id"));
}

TEST_CASE("fc: several files in one command use modules of each other, also by the same names") {
  const Folder f;
  f.write("kinds.f90", "module kinds\n  integer, parameter :: wp = 8\nend module\n");
  for (const std::string n : {"1", "2"}) {
    shell("mkdir -p d" + n, f.str());
    f.write("d" + n + "/step.f90",
            "subroutine step" + n +
                "(n, u)\n  use kinds\n  integer, intent(in) :: n\n"
                "  real(wp), intent(inout) :: u(n)\n  integer :: i\n  do i = 1, n\n"
                "    u(i) = 2*u(i) + SHIFT\n  end do\nend subroutine\n");
  }
  f.write("main.f90",
          "program main\n  real(8) :: u(3)\n  u = 1\n  call step1(3, u)\n  call step2(3, u)\n"
          "  print *, u\nend program\n");
  f.write("options", "-cpp '-DSHIFT=3' -O1\n");
  const std::string files = " @options kinds.f90 d1/step.f90 d2/step.f90 main.f90";
  REQUIRE(shell("gfortran" + files + " -o before", f.str()).status == 0);
  REQUIRE(shell("rm -f kinds.mod", f.str()).status == 0);
  const std::string fc = "fc --kernel step1 --kernel step2 -- gfortran";
  const Outcome linked = tool(fc + files + " -o after", f.str());
  REQUIRE_MESSAGE(linked.status == 0, linked.err);
  CHECK(has(linked.err, "moonloop: d2/step.f90: step2"));
  CHECK(shell("./after", f.str()).out == shell("./before", f.str()).out);
  const Outcome objects = tool(
      "fc --kernel step1 -- gfortran @options -flto -c kinds.f90 d1/step.f90 main.f90", f.str());
  REQUIRE_MESSAGE(objects.status == 0, objects.err);
  CHECK(has(symbols(f, "step.o"), "step1_of_c"));
  CHECK(f.has("main.o"));
  CHECK(tool(fc + " @options -fsyntax-only kinds.f90 d1/step.f90", f.str()).status == 0);
  const Outcome text = tool(fc + " @options -E d1/step.f90", f.str());
  CHECK(has(text.out, "2*u(i) + 3"));
}

TEST_CASE("fc: what directives do not do is said of the routines that are replaced") {
  const Folder f;
  f.write("k.f90", R"(subroutine k(n, a, m)
  integer, intent(in) :: n
  integer, intent(inout) :: a(n), m
  integer :: i
  !$omp parallel do schedule(dynamic)
  do i = 1, n
    a(i) = a(i) + 1
  end do
end subroutine
subroutine other(n, a, m)
  integer, intent(in) :: n
  integer, intent(inout) :: a(n), m
  integer :: i
  !$omp parallel do reduction(ieor: m)
  do i = 1, n
    m = ieor(m, a(i))
  end do
end subroutine
)");
  const Outcome one = tool("fc --kernel k -- gfortran -c k.f90", f.str());
  CHECK(has(one.err, "warning: the clause `schedule(dynamic)` has no effect"));
  CHECK(!has(one.err, "other"));
  const Outcome two = tool("fc --kernel other -- gfortran -c k.f90", f.str());
  CHECK(has(two.err, "warning: the clause `reduction(ieor: m)` keeps the loop in order"));
  CHECK(tool("fc --quiet --kernel k -- gfortran -c k.f90", f.str()).err.empty());
}
