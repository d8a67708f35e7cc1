// Random routines that share the work of a team which begins in their caller: the program prints
// the same with gfortran alone and with all of them replaced.
#include <fmt/format.h>

#include "tests/cli/fortran_program.h"
#include "tests/cli/random_choice.h"

using namespace moonloop::test;

namespace {

constexpr int kRoutines = 4;

class TeamWriter : RandomChoice {
 public:
  using RandomChoice::RandomChoice;

  std::string module() {
    std::string out = R"(module team
  integer :: total = 0
contains
)";
    for (int r = 0; r < kRoutines; ++r) out += routine(r);
    return out + "end module\n";
  }

 private:
  std::string routine(int number) {
    body_.clear();
    line("t = 2*n + s");
    if (upto(3) == 0) {
      line("do i = 1, 3");
      line("  t = t + i");
      line("end do");
    }
    for (int n = 1 + upto(4); n > 0; --n) construct();
    if (number > 0 && upto(3) == 0) {
      line("!$omp barrier");
      line(fmt::format("call r{}(n, x, y, s, g)", upto(number)));
      line("!$omp barrier");
      line("t = t + g");
    }
    line("f = mod(t, 1009)");
    return fmt::format(R"(  subroutine r{0}(n, x, y, s, f)
    integer, intent(in) :: n
    integer, intent(inout) :: x(n), y(n), s
    integer, intent(out) :: f
    integer :: i, j, t, w, g
{1}  end subroutine
)",
                       number, body_);
  }

  void construct() {
    switch (upto(8)) {
      case 0:
        line("!$omp barrier");
        line("!$omp single");
        line("s = mod(s*3 + x(1), 101)");
        line("!$omp end single");
        return line("t = t + s");
      case 1:
        line("!$omp barrier");
        line("!$omp single");
        line("total = 0");
        line("!$omp end single");
        line("!$omp do reduction(+: total)" + private_list({"i"}));
        line("do i = 1, n");
        line("  total = total + " + value("i"));
        line("end do");
        line("t = t + mod(total, 97)");
        return line("!$omp barrier");
      case 2:
        line("!$omp sections");
        line("!$omp section");
        line("x(1) = mod(x(1)*2, 1009)");
        line("!$omp section");
        line("y(n) = mod(y(n)*3, 1009)");
        return line("!$omp end sections");
      case 3:
        line("!$omp workshare");
        line("y = mod(y + 5, 1009)");
        return line("!$omp end workshare");
      case 4:
        line("!$omp do" + private_list({"i", "j", "w"}));
        line("do i = 1, n");
        line("  w = " + value("i"));
        line("  do j = 1, 3");
        line("    w = mod(w + j*t, 1009)");
        line("  end do");
        line("  y(i) = w");
        return line("end do");
      case 5:
        line("!$omp do" + private_list({"i"}));
        line("do i = 1, n");
        line("  call mix(x(i), y(n + 1 - i), t)");
        return line("end do");
      default:
        line("!$omp do" + private_list({"i"}));
        line("do i = 1, n");
        line("  x(i) = mod(x(i)*7 + y(n + 1 - i) + t, 1009)");
        return line("end do");
    }
  }

  std::string value(const std::string& i) {
    return pick({"x(" + i + ")", "y(" + i + ")*3", "x(" + i + ") + 2*y(" + i + ")"});
  }
  /// Some of the variables that are private anyway; `w` and `j` always.
  std::string private_list(const std::vector<std::string>& names) {
    std::string out;
    for (const std::string& n : names)
      if (n != "i" || upto(2)) out += (out.empty() ? "" : ", ") + n;
    return out.empty() ? "" : " private(" + out + ")";
  }
  void line(const std::string& text) { body_ += "    " + text + "\n"; }

  std::string body_;
};

std::string main_program() {
  std::string calls, alone;
  for (int r = 0; r < kRoutines; ++r) {
    calls += fmt::format(R"(    call r{0}(n, x, y, s, f)
    !$omp critical
    fs({1}) = fs({1}) + f
    !$omp end critical
    !$omp barrier
)",
                         r, r + 1);
    alone += fmt::format("  call r{0}(n, x, y, s, f)\n  print *, f\n", r);
  }
  return fmt::format(R"(subroutine mix(a, b, t)
  integer, intent(inout) :: a
  integer, intent(in) :: b, t
  a = mod(a + 3*b + t, 1009)
end subroutine
program p
  use team
  integer, parameter :: n = 203
  integer :: x(n), y(n), s, f, i, fs({0}) = 0
  x = [(mod(i*i, 1009), i = 1, n)]
  y = [(mod(i*37, 1009), i = 1, n)]
  s = 5
  !$omp parallel private(i, f) num_threads(3)
  do i = 1, 2
{1}  end do
  !$omp end parallel
  print *, x
  print *, y
  print *, s, total, fs
{2}  print *, x, s
end program
)",
                     kRoutines, calls, alone);
}

}  // namespace

TEST_CASE("fortran programs: random routines whose work a team of their caller shares") {
  for (unsigned batch = 0; batch < 4; ++batch) {
    const unsigned seed = first_seed() + batch;
    const Folder f;
    f.write("k.f90", TeamWriter(seed).module());
    f.write("main.f90", main_program());
    INFO("seed " << seed << "\n" << f.read("k.f90"));
    const Outcome built = shell(
        "mkdir -p b && gfortran -O0 -fopenmp -J b -o before k.f90 main.f90 && ./before", f.str());
    REQUIRE_MESSAGE(built.status == 0, built.err);
    CHECK(built.out.size() > 1000);
    std::string kernels;
    for (int r = 0; r < kRoutines; ++r) kernels += fmt::format(" --kernel r{}", r);
    for (const char* target : {"c", "openmp"}) {
      CAPTURE(target);
      const Outcome made = tool(std::string("fc --quiet --directives use --target ") + target +
                                    kernels + " -- gfortran -O1 -fopenmp k.f90 main.f90 -o after",
                                f.str());
      REQUIRE_MESSAGE(made.status == 0, made.err);
      const Outcome after = shell("timeout 60 ./after", f.str());
      CHECK(after.status == 0);
      CHECK(built.out == after.out);
    }
  }
}
