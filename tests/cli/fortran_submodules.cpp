// Procedures of submodules, as chosen routines and as what these call.
#include "tests/cli/fortran_program.h"

using namespace moonloop::test;

namespace {

constexpr const char* kModule = R"(module m
  implicit none
  real(8) :: weight = 0.25d0
  real(8), private :: hidden = 2
  type t
    real(8) :: x, y
  end type
  interface
    module subroutine smooth(n, u, p)
      integer, intent(in) :: n
      real(8), intent(inout) :: u(n)
      type(t), intent(inout), optional :: p
    end subroutine
    module function total(n, u) result(sum_of)
      integer, intent(in) :: n
      real(8), intent(in) :: u(:)
      real(8) :: sum_of
    end function
    pure module function twice(x)
      real(8), intent(in) :: x
      real(8) :: twice
    end function
    module subroutine deep(n, u)
      integer, intent(in) :: n
      real(8), intent(inout) :: u(n)
    end subroutine
    module subroutine show(u)
      real(8), intent(in) :: u(:)
    end subroutine
  end interface
contains
  subroutine outer(n, u)
    integer, intent(in) :: n
    real(8), intent(inout) :: u(n)
    integer :: i
    do i = 1, n
      u(i) = twice(u(i))
    end do
    call smooth(n, u)
  end subroutine
end module
)";
constexpr const char* kSubmodule = R"(submodule (m) s
  implicit none
  real(8) :: own = 0.5d0
  integer :: calls = 0
contains
  module procedure smooth
    integer :: i
    calls = calls + 1
    do i = 2, n
      u(i) = weight*u(i-1) + own*u(i) + hidden
    end do
    if (present(p)) then
      p%x = p%y + u(1) + calls
    end if
    call helper(n, u)
  end procedure
  module function total(n, u) result(r)
    integer, intent(in) :: n
    real(8), intent(in) :: u(:)
    real(8) :: r
    integer :: i
    r = own
    do i = 1, n
      r = r + u(i)
    end do
  end function
  module procedure twice
    twice = 2*x
  end procedure
  module subroutine show(u)
    real(8), intent(in) :: u(:)
    print '(a,9f9.4)', 'u', u, own
  end subroutine
  subroutine helper(n, u)
    integer, intent(in) :: n
    real(8), intent(inout) :: u(n)
    u(n) = u(n) + own*calls
  end subroutine
end submodule
)";
constexpr const char* kInner = R"(submodule (m:s) d
contains
  module procedure deep
    integer :: i
    do i = 1, n
      u(i) = u(i)*own + weight
    end do
    call helper(n, u)
    call smooth(n, u)
    u(1) = u(1) + total(n, u)
  end procedure
end submodule
)";
constexpr const char* kUse = R"(program main
  use m
  implicit none
  real(8) :: u(6)
  type(t) :: p
  integer :: i
  u = [(i, i = 1, 6)]
  p = t(1, 2)
  call smooth(6, u)
  call smooth(6, u, p)
  call show(u)
  print *, p%x, total(6, u), twice(3d0)
  call deep(6, u)
  call show(u)
  call outer(6, u)
  call show(u)
end program
)";

/// The output of the program with the routines of these files replaced, and without.
void same_with_replaced(const Folder& f, const std::vector<std::pair<std::string, std::string>>& by,
                        const std::string& rest) {
  std::string all, objects;
  for (const auto& [file, kernels] : by) {
    all += file + " ";
    objects += "after_" + file + ".o ";
  }
  REQUIRE(shell("gfortran -o before " + all + rest, f.str()).status == 0);
  for (const auto& [file, kernels] : by) {
    const Outcome made =
        tool("fc" + kernels + " -- gfortran -c " + file + " -o after_" + file + ".o", f.str());
    REQUIRE_MESSAGE(made.status == 0, made.err);
    CHECK(has(made.err, "moonloop: " + file + ": "));
  }
  REQUIRE(shell("gfortran -o after " + objects + rest, f.str()).status == 0);
  CHECK(!shell("./before", f.str()).out.empty());
  CHECK(shell("./before", f.str()).out == shell("./after", f.str()).out);
}

}  // namespace

TEST_CASE("fortran: procedures of submodules in the file of their module") {
  const Folder f;
  f.write("k.f90", std::string(kModule) + kSubmodule + kInner);
  f.write("main.f90", kUse);
  same_program(f, {"smooth", "total", "twice", "deep", "outer"});
  same_with_replaced(f,
                     {{"k.f90",
                       " --kernel smooth --kernel total --kernel twice --kernel deep --kernel "
                       "outer"}},
                     "main.f90");
  const Outcome made = tool("gen k.f90 --kernel outer", f.str());
  CHECK(has(made.err,
            "the call of `smooth`, which has the variable `calls` of the submodule `s`, "
            "is not supported outside of that submodule"));
}

TEST_CASE("fortran: procedures of submodules in files of their own") {
  const Folder f;
  f.write("m.f90", kModule);
  f.write("s.f90", kSubmodule);
  f.write("d.f90", kInner);
  f.write("main.f90", kUse);
  same_with_replaced(f,
                     {{"m.f90", " --kernel outer"},
                      {"s.f90", " --kernel smooth --kernel total --kernel twice"},
                      {"d.f90", " --kernel deep"}},
                     "main.f90");
  // The body of a callee is found in the submodule's file.
  f.write("user.f90", R"(subroutine user(n, u)
  use m
  implicit none
  integer, intent(in) :: n
  real(8), intent(inout) :: u(n)
  integer :: i
  do i = 1, n
    u(i) = twice(u(i))
  end do
end subroutine
)");
  CHECK(has(tool("gen user.f90", f.str()).out, "= 2.0*u[i];"));
}

TEST_CASE("fortran: calls of procedures whose submodule is in another file") {
  const Folder f;
  f.write("k.f90", R"(module m
  implicit none
  real(8) :: w = 2
  interface
    module subroutine away(n, u)
      integer, intent(in) :: n
      real(8), intent(inout) :: u(n)
    end subroutine
    module function half(x)
      real(8), intent(in) :: x
      real(8) :: half
    end function
  end interface
contains
  subroutine top(n, u)
    integer, intent(in) :: n
    real(8), intent(inout) :: u(n)
    integer :: i
    do i = 1, n
      u(i) = u(i) + w
    end do
    call away(n, u)
    u(1) = u(1) + half(u(2))
  end subroutine
end module
)");
  f.write("other.f90", R"(submodule (m) s
contains
  module procedure away
    u = u*w
    w = w + 1
  end procedure
  module procedure half
    half = x/2
  end procedure
end submodule
program main
  use m
  implicit none
  real(8) :: u(4)
  u = [1, 2, 3, 4]
  call top(4, u)
  print *, u, w
end program
)");
  same_with_replaced(f, {{"k.f90", " --kernel top"}}, "other.f90");
}

TEST_CASE("fortran interface: an argument in a submodule that has a name of the interface") {
  const Folder f;
  f.write("k.f90", R"(module m
  interface
    module subroutine work(c_int32_t)
      real, intent(inout) :: c_int32_t
    end subroutine
  end interface
end module
submodule (m) of_m
contains
  module procedure work
    c_int32_t = 2*c_int32_t
  end procedure
end submodule
)");
  CHECK(has(tool("gen k.f90 -o k.c --fortran-interface i.f90", f.str()).err,
            "`work`: the interface in a submodule has a name `c_int32_t` of its own, which is an "
            "argument"));
}
