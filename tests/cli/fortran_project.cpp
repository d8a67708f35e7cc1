// Fortran files of a build: their compilers' options, and modules in other folders.
#include <vector>

#include "tests/cli/harness.h"

using namespace moonloop::test;

namespace {

constexpr const char* kGrid = R"(module grid
  implicit none
  integer, parameter :: halo = WIDTH
  character(len=*), parameter :: title = NAME
  real :: dx = 0.5
end module
)";
constexpr const char* kAdvec = R"(subroutine advec(n, u)
  use grid
  implicit none
  integer, intent(in) :: n
  real, intent(inout) :: u(1 - halo:n + halo)
  integer :: i
  do i = 1, n
    u(i) = u(i) + dx
  end do
end subroutine
)";
constexpr const char* kLists = R"(cmake_minimum_required(VERSION 3.20)
project(p Fortran)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_Fortran_FLAGS "-fdefault-real-8 -fdefault-double-8")
add_library(solver src/grid/grid.F90 src/solver.f90)
set_source_files_properties(src/grid/grid.F90 PROPERTIES COMPILE_OPTIONS "-DWIDTH=3;-DNAME='the grid'")
)";

/// A `compile_commands.json` with one entry for each file, and what compiles it.
std::string commands(const Folder& f, const std::vector<std::pair<std::string, std::string>>& all) {
  std::string out;
  for (const auto& [file, options] : all)
    out += (out.empty() ? "[" : ",") + std::string("{\"directory\": \"") + f.str() +
           "\", \"file\": \"" + file + "\", \"command\": \"f95 " + options + " -c " + file + "\"}";
  return out + "]";
}

void write_solver(const Folder& f) {
  std::filesystem::create_directories(f.str() + "/src/grid");
  f.write("src/grid/grid.F90", kGrid);
  f.write("src/solver.f90", kAdvec);
}

}  // namespace

TEST_CASE("project: CMake's file of commands says how each file is read, and where modules are") {
  const Folder f;
  write_solver(f);
  f.write("CMakeLists.txt", kLists);
  REQUIRE(shell("cmake -S . -B build -G Ninja", f.str()).status == 0);
  for (const char* where : {"build", "build/compile_commands.json"}) {
    CAPTURE(where);
    const Outcome code = tool(std::string("gen src/solver.f90 --project ") + where, f.str());
    REQUIRE_MESSAGE(code.status == 0, code.err);
    CHECK(code.err.empty());
    CHECK(has(code.out, "void advec(int32_t n, double *restrict u, double dx)"));
    CHECK(has(code.out, "u[i + 3] += dx;"));
  }
  const Outcome run = tool("run src/solver.f90 --project build -p n=7 --verify", f.str());
  CHECK(run.status == 0);
  CHECK(has(run.out, "verify: equal"));
  // Without it, the module is in no folder that is searched.
  CHECK(
      has(tool("gen src/solver.f90", f.str()).err, "the source of the module `grid` is not found"));
}

TEST_CASE("project: each file has its own options") {
  const Folder f;
  write_solver(f);
  f.write("src/wide.f", "      subroutine wide(n, x)\n      integer n\n      real x(n)\n" +
                            std::string(6, ' ') + "x(1) = 1.0" + std::string(60, ' ') +
                            "+ 2.0\n      end\n");
  f.write("compile_commands.json",
          commands(f, {{"src/grid/grid.F90", "-DWIDTH=5 -D NAME='\\\"x\\\"' -UWIDTH -DWIDTH=4"},
                       {"src/solver.f90", "-O3 -DWIDTH=9 -march=native"},
                       {"src/wide.f", "-ffixed-line-length-132"},
                       {"src/other.c", ""}}));
  const Outcome code = tool("gen src/solver.f90 --project .", f.str());
  CHECK(has(code.out, "void advec(int32_t n, float *restrict u, float dx)"));
  CHECK(has(code.out, "u[i + 4] += dx;"));
  CHECK(has(tool("gen src/wide.f --project .", f.str()).out, "x[0] = 3.0f;"));
  CHECK(has(tool("gen src/wide.f -ffixed-line-length-132", f.str()).out, "x[0] = 3.0f;"));
  CHECK(has(tool("gen src/wide.f", f.str()).out, "x[0] = 1.0f;"));

  f.write("compile_commands.json",
          commands(f, {{"src/grid/grid.F90", "-DWIDTH=4 -DNAME='\\\"x\\\"' -r8"},
                       {"src/solver.f90", ""}}));
  const Outcome differs = tool("gen src/solver.f90 --project .", f.str());
  CHECK(differs.status == 1);
  CHECK(has(differs.err,
            "is compiled with other default kinds (real 8, integer 4) than the file "
            "that uses it (real 4, integer 4)"));
  f.write("compile_commands.json",
          commands(f, {{"src/grid/grid.F90", "-DWIDTH=4 -DNAME='\\\"x\\\"'"},
                       {"src/solver.f90", "-fdefault-real-16"}}));
  const Outcome long_reals = tool("gen src/solver.f90 --project .", f.str());
  CHECK(long_reals.status == 1);
  CHECK(has(long_reals.err, "`-fdefault-real-16` makes `real` 16 bytes long"));
  CHECK(has(tool("gen src/solver.f90 --project nowhere.json", f.str()).err,
            "cannot read `nowhere.json`"));
  f.write("sovler.f90", kAdvec);
  const Outcome unknown = tool("gen sovler.f90 --project .", f.str());
  CHECK(unknown.status == 1);
  CHECK(has(unknown.err, "does not compile `sovler.f90`"));
  CHECK(has(unknown.err, "[not-in-project]"));
  for (const char* text :
       {"", "{}", "[1]", "[{}]", "[{\"file\": \"a.f90\"}]", "[]",
        "[{\"file\": \"a.f90\", \"directory\": \".\", \"arguments\": [1]}]",
        "[{\"file\": \"a.c\", \"directory\": \".\", \"command\": \"cc a.c\"}]"}) {
    CAPTURE(text);
    f.write("compile_commands.json", text);
    const Outcome bad = tool("gen src/solver.f90 --project .", f.str());
    CHECK(bad.status == 1);
    CHECK(has(bad.err, "compile_commands.json` "));
    CHECK(has(bad.err, "[bad-project]"));
  }
}

TEST_CASE("project: more files, folders and compilers' options on the command line") {
  const Folder f;
  write_solver(f);
  const std::string name = " -D \"NAME='g'\" -D WIDTH=2";
  for (const char* how : {"src/grid/grid.F90", "--module-path src/grid", "-I src/grid"}) {
    CAPTURE(how);
    const Outcome code = tool(std::string("gen src/solver.f90 ") + how + name, f.str());
    CHECK(code.status == 0);
    CHECK(has(code.out, "void advec(int32_t n, float *restrict u, float dx)"));
    const Outcome wide = tool(
        std::string("gen src/solver.f90 ") + how + name + " -fdefault-real-8 -fdefault-double-8",
        f.str());
    CHECK(has(wide.out, "void advec(int32_t n, double *restrict u, double dx)"));
  }
  // Alone, it makes `double precision` 16 bytes long, which some routines do not need.
  const Outcome alone =
      tool("gen src/solver.f90 src/grid/grid.F90 -fdefault-real-8" + name, f.str());
  CHECK(has(alone.out, "void advec(int32_t n, double *restrict u, double dx)"));
  f.write("both.f90",
          "subroutine one(x)\n  real :: x\n  x = 2*x\nend subroutine\n"
          "subroutine two(x)\n  double precision :: x\n  x = 2*x\nend subroutine\n");
  const Outcome both = tool("gen both.f90 -fdefault-real-8", f.str());
  CHECK(has(both.out, "void one(double *restrict x)"));
  CHECK(has(both.err, "`x` of type REAL(16) is not supported in Fortran kernels"));
  CHECK(has(tool("gen both.f90 --kernel two -fdefault-real-8 -fdefault-double-8", f.str()).out,
            "void two(double *restrict x)"));
  const Outcome missing = tool("gen src/solver.f90 src/gird.F90", f.str());
  CHECK(missing.status == 1);
  CHECK(has(missing.err, "cannot read `src/gird.F90`: No such file or directory [cannot-read]"));
  f.write("notes.txt", "module grid\n");
  const Outcome text = tool("gen src/solver.f90 notes.txt", f.str());
  CHECK(text.status == 2);
  CHECK(has(text.err, "MORE: `notes.txt` is not a Fortran file"));
  const Outcome other = tool("gen src/solver.f90 -funroll-loops", f.str());
  CHECK(other.status == 2);
  CHECK(has(other.err, "`-funroll-loops` says nothing about how a source is read"));
  f.write("k.loop", kDouble);
  const Outcome no_fortran = tool("gen k.loop src/solver.f90", f.str());
  CHECK(has(no_fortran.err, "`k.loop` is not Fortran"));
  CHECK(no_fortran.status == 2);
  CHECK(has(tool("gen k.loop --project .", f.str()).err,
            "--project: it goes with Fortran, not `k.loop`"));

  // Forms and backslashes.
  f.write("free.f", "subroutine one(x)\nreal x\nx = 1 & ! goes on\n+ 1\nend subroutine\n");
  CHECK(tool("gen free.f", f.str()).status == 1);
  CHECK(has(tool("gen free.f -ffree-form", f.str()).out, "x[0] = 2.0f;"));
  f.write("old.f95",
          "C     a comment\n      subroutine one(x)\n      real x\n      x = 1\n     & + 1\n"
          "      end subroutine\n");
  CHECK(tool("gen old.f95", f.str()).status == 1);
  CHECK(has(tool("gen old.f95 -ffixed-form", f.str()).out, "x[0] = 2.0f;"));
  f.write("slash.f90",
          "subroutine code(n)\n  integer, intent(out) :: n\n  n = len('a\\n')\n"
          "end subroutine\n");
  CHECK(has(tool("gen slash.f90", f.str()).out, "n[0] = 3;"));
  CHECK(has(tool("gen slash.f90 -fbackslash", f.str()).out, "n[0] = 2;"));
}

TEST_CASE("fc: the form of a file as the compiler's options have it") {
  const Folder f;
  f.write("old.f90",
          "C     a comment\n      subroutine one(n, x)\n      integer n, i\n      real x(n)\n"
          "      do i = 1, n\n        x(i) = x(i)\n     & + 1\n      end do\n"
          "      end subroutine\n");
  f.write("main.f90",
          "program main\n  real :: x(3)\n  x = 1\n  call one(3, x)\n  print *, x\nend\n");
  const Outcome made =
      tool("fc --kernel one -- gfortran -O1 -ffixed-form -c old.f90 -o old.o", f.str());
  REQUIRE_MESSAGE(made.status == 0, made.err);
  const Outcome run = shell("gfortran main.f90 old.o -o main && ./main", f.str());
  CHECK(run.status == 0);
  CHECK(has(run.out, "2.0"));
  CHECK(has(tool("fc --kernel one -- gfortran -fno-automatic -ffixed-form -c old.f90", f.str()).err,
            "`-fno-automatic` keeps local variables from call to call"));
}

TEST_CASE("fortran: a module `mpi` without a source has the names of the header mpif.h") {
  const Folder f;
  REQUIRE(shell("mkdir include library", f.str()).status == 0);
  f.write("include/mpif.h",
          R"(      integer MPI_COMM_WORLD, MPI_SUM, MPI_DOUBLE_PRECISION, MPI_SUCCESS
      integer MPI_STATUS_SIZE
      parameter (MPI_COMM_WORLD=0, MPI_SUM=3, MPI_DOUBLE_PRECISION=17, MPI_SUCCESS=0)
      parameter (MPI_STATUS_SIZE=6)
      include 'mpif-sizes.h'
)");
  f.write("include/mpif-sizes.h", R"(      interface mpi_sizeof
        subroutine mpi_sizeof_wide(x, size, ierror)
          use, intrinsic :: iso_fortran_env, only: real128
          real(real128) :: x
          integer, intent(out) :: size, ierror
        end subroutine
      end interface
)");
  f.write("library/mpi.f90", R"(module mpi
  include 'mpif.h'
end module
subroutine mpi_allreduce(from, to, count, type, op, comm, ierror)
  implicit none
  integer :: count, type, op, comm, ierror
  real(8) :: from(count), to(count)
  to = 2*from
  ierror = type + op + comm - 20
end subroutine
)");
  f.write("k.f90", R"(module sums
  use mpi
  implicit none
  integer :: failed = 0
contains
  subroutine normalize(n, u)
    integer, intent(in) :: n
    real(8), intent(inout) :: u(n)
    integer :: status(MPI_STATUS_SIZE), ierr, i
    real(8) :: own, all
    own = 0
    do i = 1, n
      own = own + u(i)
    end do
    call mpi_allreduce(own, all, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierr)
    if (ierr /= MPI_SUCCESS) then
      failed = ierr
      return
    end if
    status = 1
    do i = 1, n
      u(i) = u(i)/(all + sum(status))
    end do
  end subroutine
end module
)");
  f.write("main.f90", R"(program main
  use sums
  implicit none
  real(8) :: u(7) = 0.5d0
  call normalize(7, u)
  print *, u, failed
end program
)");
  CHECK(has(tool("gen k.f90", f.str()).err, "the source of the module `mpi` is not found"));
  const Outcome made =
      tool("gen k.f90 -I include --quiet -o k.c --fortran-interface i.f90", f.str());
  REQUIRE_MESSAGE(made.status == 0, made.err);
  const Outcome built = shell(
      "mkdir -p b a && gfortran -I include -J b -o before library/mpi.f90 k.f90 main.f90 && "
      "gcc -O1 -Wall -Werror -c k.c && "
      "gfortran -I include -J a -o after library/mpi.f90 i.f90 main.f90 k.o",
      f.str());
  REQUIRE_MESSAGE(built.status == 0, built.err);
  CHECK(shell("./before", f.str()).out == shell("./after", f.str()).out);
}
