// Lines `resident` and `update`: arrays that stay on a device.
#include "tests/cli/harness.h"

using namespace moonloop::test;

namespace {

constexpr const char* kFields = R"(module fields
  implicit none
  !$moonloop resident: v, g%t
  real(8), allocatable :: u(:, :), v(:, :)
  type grid
    real(8), allocatable :: t(:, :), s(:, :)
  end type
  type(grid) :: g
end module
)";
constexpr const char* kRelax = R"(subroutine relax(n, a, b)
  use fields, only: u, w => v, g
  implicit none
  integer, intent(in) :: n
  real(8), intent(in) :: a(n, n)
  real(8), intent(inout) :: b(n, n)
  !$moonloop resident: A, w
  integer :: i, j
  !$acc parallel loop
  do j = 1, n
    do i = 1, n
      w(i, j) = u(i, j) + a(i, j)
      b(i, j) = g%t(i, j) + g%s(i, j)
    end do
  end do
end subroutine
)";

/// What the code does with an array before the launch.
bool enters(const std::string& code, const std::string& array) {
  return has(code, "moonloop_resident::enter(" + array + ",");
}
bool copies(const std::string& code, const std::string& array) {
  return has(code, "cudaMemcpy(" + array + "_there, " + array + ",");
}

/// In the place of nvcc: the functions that the host's code calls, which say so.
constexpr const char* kStand = R"(#include <stdio.h>
void moonloop_resident_(long long *at, long long *bytes, int *line) {
  printf("line %d: %lld bytes, %g\n", *line, *bytes, **(double **)at);
  fflush(stdout);
}
void moonloop_update_array_(long long *at, long long *bytes) {
  printf("update of %lld, %g\n", *bytes, **(double **)at);
  fflush(stdout);
}
void moonloop_update_(void) {
  printf("update of all\n");
  fflush(stdout);
}
)";
constexpr const char* kCompiler =
    "while [ $# -gt 0 ]; do [ \"$1\" = -o ] && out=$2; shift; done\n"
    "exec cc -c stand.c -o \"$out\"\n";

void write_compiler(const Folder& f) {
  f.write("stand.c", kStand);
  f.write("nvcc.sh", kCompiler);
}

}  // namespace

TEST_CASE(
    "resident: the arrays that a routine, or a module of any file, names stay on the device") {
  const Folder f;
  f.write("fields.f90", kFields);
  f.write("relax.f90", kRelax);
  const Outcome made = tool("gen relax.f90 --target cuda --fortran-interface relax_i.f90", f.str());
  REQUIRE_MESSAGE(made.status == 0, made.err);
  CHECK(enters(made.out, "a"));
  CHECK(enters(made.out, "g_t"));
  CHECK((enters(made.out, "v") || enters(made.out, "w")));
  CHECK(copies(made.out, "b"));
  CHECK(copies(made.out, "u"));
  CHECK(copies(made.out, "g_s"));
  CHECK(has(made.out, "moonloop_resident::send()"));

  // Nothing moves on the host.
  const Outcome c = tool("gen relax.f90 --target c", f.str());
  std::string without = kRelax;
  without.replace(without.find("$moonloop"), 9, "         ");
  f.write("relax.f90", without);
  CHECK(tool("gen relax.f90 --target c", f.str()).out == c.out);
  CHECK(!enters(tool("gen relax.f90 --target cuda --fortran-interface x.f90", f.str()).out, "a"));
}

TEST_CASE("resident: what names no array is refused at its place") {
  const Folder f;
  const auto says = [&](const std::string& line, const std::string& text) {
    std::string all = kRelax;
    const std::string mark = "!$moonloop resident: A, w";
    f.write("relax.f90", all.replace(all.find(mark), mark.size(), line));
    const Outcome o = tool("gen relax.f90 --target cuda --fortran-interface x.f90", f.str());
    CHECK(o.status == 1);
    CHECK_MESSAGE(has(o.err, text), o.err);
  };
  f.write("fields.f90", kFields);
  says("!$moonloop resident: a, bb",
       "relax.f90:7:27: error: `relax` has no argument and "
       "uses no variable around it that is an array `bb`; did you mean `b`?");
  says("!$moonloop resident: n", "no argument and uses no variable around it that is an array `n`");
  says("!$moonloop resident", "`resident` names no array");
  says("!$moonloop resident a", "`a` is not what may stand here");
  says("!$moonloop resident: a, 2", "`2` is not an array's name");
  says("!$moonloop resident: a,", "relax.f90:7:4: error: an array's name is missing");
  says("!$moonloop resident: a,, w", "an array's name is missing");
  f.write("relax.f90", std::string("!$moonloop resident: a\n\n") + kRelax);
  CHECK(has(tool("gen relax.f90 --target cuda", f.str()).err,
            "`resident` is neither in a routine nor among a module's declarations"));
  f.write("relax.f90", kRelax);
  std::string fields = kFields;
  f.write("fields.f90", fields.replace(fields.find(" v, g"), 5, " vv, g"));
  CHECK(has(tool("gen relax.f90 --target cuda", f.str()).err,
            "fields.f90:3:24: error: the module `fields` declares no `vv`"));
  f.write("v.inc", "!$moonloop resident: u, vv\n");
  f.write("fields.f90", std::string(kFields).insert(14, "include 'v.inc'\n"));
  CHECK(has(tool("gen relax.f90 --target cuda", f.str()).err,
            "v.inc:1:25: error: the module `fields` declares no `vv`"));
  fields.replace(fields.find("resident: vv, g%t"), 17, "update");
  f.write("fields.f90", fields);
  CHECK(has(tool("gen relax.f90 --target cuda", f.str()).err, "where nothing is done"));
}

TEST_CASE("resident: the host's code says so where an array has its memory, and when to update") {
  const Folder f;
  write_compiler(f);
  f.write("main.f90", R"(program main
  implicit none
  real(8), allocatable :: u(:)
  real(4) :: w(3)
  allocate(u(10))
  u = 5; w = 0
  !$moonloop resident: u, W
  u(1) = 6
  !$moonloop update: u
  if (u(1) > 5) then
    !$MOONLOOP UPDATE
    print '(f5.1)', u(1)
  end if
end program
)");
  f.write("old.f", R"(      program old
      real*8 u(100)
      common /fields/ u
      u(1) = 7
c$moonloop resident: u
      u(1) = 8
!$moonloop update: u
      end
)");
  // Lines of a file that another one includes, which includes more.
  f.write("inner.inc", "!$moonloop update: u\n");
  f.write("outer.inc", "  !$moonloop resident: u, w\n  u(1) = 6\n  include 'inner.inc'\n");
  f.write("fields.inc", "!$moonloop resident: v\nreal(8), save :: v(5)\n");
  f.write("parts.F90", R"(module fields
  include 'fields.inc'
end module
program parts
  use fields
  implicit none
  real(8) :: u(10)
  real(4) :: w(3)
  u = 5; w = 0; v = 1
#include "outer.inc"
  print '(f5.1)', u(1)
end program
)");
  const std::string expected =
      "line 7: 80 bytes, 5\nline 7: 12 bytes, 0\nupdate of 80, 6\nupdate of all\n  6.0\n";
  const auto built = [&](const std::string& command) {
    const Outcome o = tool("fc --target cuda --cc \"sh nvcc.sh\" -- " + command, f.str());
    CHECK_MESSAGE(o.status == 0, o.err);
    return shell("./p", f.str()).out;
  };
  CHECK(built("gfortran -g main.f90 -o p") == expected);
  CHECK(built("gfortran -std=f2018 -Wall -Werror main.f90 -o p") == expected);
  CHECK(built("gfortran old.f -o p") == "line 5: 800 bytes, 7\nupdate of 800, 8\n");
  CHECK(built("gfortran parts.F90 -o p") ==
        "line 1: 80 bytes, 5\nline 1: 12 bytes, 0\nupdate of 80, 6\n  6.0\n");
  REQUIRE(tool("fc --target cuda --cc \"sh nvcc.sh\" -- gfortran -c main.f90", f.str()).status ==
          0);
  CHECK(has(shell("nm main.o", f.str()).out, "T moonloop_update_"));

  // Where nothing is on a device they are comments.
  REQUIRE(tool("fc -- gfortran main.f90 -o p", f.str()).status == 0);
  CHECK(shell("./p", f.str()).out == "  6.0\n");
}

TEST_CASE("resident: functions of `fc` ask whether another file names an array") {
  const Folder f;
  write_compiler(f);
  std::string all = kRelax;
  all.replace(all.find("!$moonloop resident"), 19, "! no line");
  f.write("fields.f90", kFields);
  f.write("all.f90", all + R"(
subroutine driver(n, steps, a, b)
  implicit none
  integer, intent(in) :: n, steps
  real(8), intent(inout) :: a(n, n), b(n, n)
  integer :: i
  !$moonloop resident: a
  do i = 1, steps
    call relax(n, a, b)
  end do
  !$moonloop update: a
  print *, a(1, 1)
end subroutine
)");
  const Outcome made =
      tool("gen all.f90 --kernel relax --target cuda --fortran-interface x.f90", f.str());
  REQUIRE_MESSAGE(made.status == 0, made.err);
  CHECK(has(made.out, "moonloop_copy_to_device(a, a_bytes, false, (void **)&a_there, &a_stays)"));
  CHECK(has(made.out, "if (!a_stays) cudaFree(a_there);"));
  CHECK(enters(made.out, "g_t"));
  CHECK(has(made.out, "void moonloop_resident_(long long const *address"));
  if (shell("command -v nvcc || command -v /usr/local/cuda/bin/nvcc", f.str()).status != 0) {
    MESSAGE("there is no nvcc");
    return;
  }
  REQUIRE(shell("gfortran -c fields.f90", f.str()).status == 0);
  const Outcome object =
      tool("fc --target cuda --kernel relax -- gfortran -O1 -c all.f90", f.str());
  REQUIRE_MESSAGE(object.status == 0, object.err);
  const std::string names = shell("nm all.o", f.str()).out;
  CHECK(has(names, "W moonloop_resident_enter"));
  CHECK(has(names, "W moonloop_update_array_"));
  CHECK(has(names, "t relax_of_c"));  // the object has the names of the original
}
