// Random routines with variables of modules and common blocks, in a program whose own routines the
// generated code replaces.
#include <cmath>
#include <iterator>
#include <sstream>

#include "tests/cli/fortran_program.h"
#include "tests/fortran/writer.h"

using namespace moonloop::test;

namespace {

/// The words of a text, without white space.
std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

/// Whether two words are the same or numbers with fractions that are equal to rounding: a sum by
/// `reduction` is one of any order.
bool same_words(const std::string& one, const std::string& other) {
  if (one == other) return true;
  if (!has(one, ".") || !has(other, ".")) return false;
  char *end_one, *end_other;
  const double a = std::strtod(one.c_str(), &end_one), b = std::strtod(other.c_str(), &end_other);
  return *end_one == 0 && *end_other == 0 && std::abs(a - b) <= 1e-12 * (1 + std::abs(a));
}

/// The first lines that differ in more than rounding; empty where the texts are the same.
std::string difference(const std::string& one, const std::string& other) {
  std::istringstream a(one), b(other);
  std::string x, y;
  for (int line = 1;; ++line) {
    const bool more = static_cast<bool>(std::getline(a, x)),
               too = static_cast<bool>(std::getline(b, y));
    if (!more && !too) return "";
    const std::vector<std::string> xs = words_of(more ? x : ""), ys = words_of(too ? y : "");
    if (more != too || !std::equal(xs.begin(), xs.end(), ys.begin(), ys.end(), same_words))
      return "line " + std::to_string(line) + "\n" + x + "\n" + y;
    x.clear(), y.clear();
  }
}

/// Calls each routine twice at four sizes, and prints what it changed.
/// `twins`: those of another module with the same names, too, as `t0` and so on.
std::string main_program(int routines, bool inside, const std::string& bodies, bool twins = false) {
  std::string renamed;
  for (int i = 0; twins && i < routines; ++i)
    renamed += "  use twins, only: t" + std::to_string(i) + " => r" + std::to_string(i) + "\n";
  std::string out = "program main\n  use state\n" + std::string(inside ? "" : "  use routines\n") +
                    renamed +
                    "  implicit none\n  integer :: n, m, e, g, turn, k(10)\n"
                    "  integer, parameter :: sizes(4) = [1, 2, 7, 10]\n"
                    "  real(8), target :: a(10, 10), x(10)\n  real(8) :: s(4), e4(4), t, rest(3)\n"
                    "  integer :: first\n"
                    "  common /shared/ first, t, rest\n  do turn = 1, 4\n    n = sizes(turn)\n"
                    "    m = 1 + turn/3\n    allocate (w(-2:n-3))\n";
  for (int i = 0; i < routines * (twins ? 2 : 1); ++i) {
    const std::string name = (i < routines ? "r" : "t") + std::to_string(i % routines);
    out += "    do g = 1, 2\n      call fill()\n      call " + name +
           "(n, m, a(:n, :n), x, k, s)\n      if (g == 2) call " + name +
           "(n, m, a(:n, :n), x, k, s, e4)\n      call show(" + std::to_string(i) +
           ")\n    end do\n";
  }
  out += "    deallocate (w)\n  end do\ncontains\n";
  out += R"(  subroutine fill()
    c = 1; u = 0.5d0; f = .false.; first = 2; t = 0.25d0
    rest = [0.125d0, 0.5d0, 0.75d0]
    v = [(mod(7*e, 11)/11d0, e = 0, 40)]
    w = [(mod(5*e, 13)/13d0, e = 1, n)]
    p = pair(0.375d0, 4)
    a = reshape([(mod(31*e + g, 101)/101d0, e = 1, 100)], [10, 10])
    x = [(mod(17*e + turn, 53)/53d0, e = 1, 10)]
    k = [(mod(3*e, 10), e = 1, 10)]
    s = 0.5d0
    e4 = [0.125d0, 0.75d0, 0.25d0, 0.5d0]
@FILL@  end subroutine
  subroutine show(which)
    integer, intent(in) :: which
    write (*, '(3i5, 99i4)') which, turn, g, k(:n), c, first, p%two
    write (*, '(9es24.15)') sum(a(:n, :n)), x(:n), s, e4, t, u, rest, sum(v), sum(w), p%one
    print *, f
@SHOW@  end subroutine
)";
  out.replace(out.find("@FILL@"), 6, parts::kStateFill);
  out.replace(out.find("@SHOW@"), 6, parts::kStateShow);
  return out + (inside ? bodies : "") + "end program\n";
}

void same_programs(unsigned seed, bool inside, bool threads, bool claims = false) {
  constexpr int kRoutines = 25;
  const Folder f;
  std::string bodies, kernels;
  for (unsigned i = 0; i < kRoutines; ++i) {
    std::string text = Writer(seed + i, true).routine("r" + std::to_string(i));
    if (inside)  // what a routine of a program contains has to be elsewhere
      text = text.substr(0, text.find("contains\n")) + "end subroutine\n";
    bodies += text;
    kernels += " --kernel r" + std::to_string(i);
  }
  const std::string own = Writer::kContained;  // after `contains`
  const std::string main =
      main_program(kRoutines, inside, bodies + own.substr(own.find('\n') + 1) + Writer::kSpoken);
  const std::string routines = inside ? ""
                                      : "module routines\n  private :: spoken\ncontains\n" +
                                            bodies + Writer::kSpoken + "end module\n";
  f.write("state.f90", Writer::state());
  f.write("elsewhere.f90", Writer::kElsewhere);
  f.write("k.f90", inside ? main : routines);
  if (!inside) f.write("main.f90", main);
  const Outcome made =
      tool("gen k.f90 --quiet -o k.c --fortran-interface i.f90 --target " +
               std::string(threads ? "openmp" : "c") + kernels + (claims ? " --check-claims" : ""),
           f.str());
  REQUIRE_MESSAGE(made.status == 0, made.err << f.read("k.f90"));
  const std::string fortran =
      "gfortran -O0 -ffrontend-optimize -ffp-contract=off -ffree-line-length-none -std=gnu -w "
      "state.f90 elsewhere.f90 ";
  const std::string rest = inside ? "" : " main.f90";
  const char* const given = std::getenv("MOONLOOP_SANITIZE");
  const std::string checks =
      given ? " -fsanitize=" + std::string(given) + " -fno-sanitize-recover=all" : "";
  const Outcome built =
      shell("mkdir -p b a && " + fortran + "-J b -o before k.f90" + rest +
                " && gcc -O1 -ffp-contract=off" + checks + (threads ? " -fopenmp" : "") +
                " -c k.c && " + fortran + "-J a -o after i.f90" + rest + " k.o -lm" + checks +
                (threads ? " -fopenmp" : ""),
            f.str());
  REQUIRE_MESSAGE(built.status == 0, built.err << built.out);
  const Outcome before = shell("./before", f.str()), after = shell("./after", f.str());
  CHECK(before.status == 0);
  CHECK(before.out.size() > 1000);
  CHECK_MESSAGE(after.status == 0, after.err);
  INFO(f.read("k.f90"));
  CHECK(difference(before.out, after.out) == "");
}

/// Two modules whose routines have the same names, each through `moonloop fc`.
void same_twins(unsigned seed) {
  constexpr int kRoutines = 8;
  const Folder f;
  std::string kernels;
  for (const char* module : {"routines", "twins"}) {
    std::string bodies;
    for (unsigned i = 0; i < kRoutines; ++i)
      bodies += Writer(seed + i + (module[0] == 't' ? kRoutines : 0), true)
                    .routine("r" + std::to_string(i));
    f.write(std::string(module) + ".f90", "module " + std::string(module) +
                                              "\n  private :: spoken\ncontains\n" + bodies +
                                              Writer::kSpoken + "end module\n");
  }
  for (int i = 0; i < kRoutines; ++i) kernels += " --kernel r" + std::to_string(i);
  f.write("state.f90", Writer::state());
  f.write("elsewhere.f90", Writer::kElsewhere);
  const std::string own = Writer::kContained;
  f.write("main.f90",
          main_program(kRoutines, false, own.substr(own.find('\n') + 1) + Writer::kSpoken, true));
  const std::string fortran =
      "gfortran -O0 -ffrontend-optimize -ffp-contract=off -ffree-line-length-none -std=gnu -w ";
  const Outcome built = shell("mkdir b && " + fortran +
                                  "-J b -o before state.f90 elsewhere.f90 routines.f90 twins.f90 "
                                  "main.f90 && " +
                                  fortran + "-c state.f90 elsewhere.f90",
                              f.str());
  REQUIRE_MESSAGE(built.status == 0, built.err << built.out);
  for (const char* module : {"routines", "twins"}) {
    const Outcome made =
        tool("fc --quiet" + kernels + " -- " + fortran + "-c " + module + ".f90", f.str());
    REQUIRE_MESSAGE(made.status == 0, made.err << f.read(std::string(module) + ".f90"));
  }
  const Outcome linked =
      shell(fortran + "-o after main.f90 state.o elsewhere.o routines.o twins.o -lm", f.str());
  REQUIRE_MESSAGE(linked.status == 0, linked.err);
  const Outcome before = shell("./before", f.str()), after = shell("./after", f.str());
  CHECK(before.out.size() > 1000);
  CHECK(difference(before.out, after.out) == "");
}

}  // namespace

TEST_CASE("fortran programs: random routines of the same names in two modules") {
  for (unsigned batch = 0; batch < 2; ++batch) same_twins(first_seed() + 3000 + 1000 * batch);
}

TEST_CASE("fortran programs: random routines of a module with state elsewhere") {
  for (unsigned batch = 0; batch < 4; ++batch)
    same_programs(first_seed() + 1000 * batch, false, batch % 2 == 1);
}

TEST_CASE("fortran programs: random routines within a main program") {
  for (unsigned batch = 0; batch < 2; ++batch)
    same_programs(first_seed() + 100000 * batch, true, batch % 2 == 1);
}

TEST_CASE("fortran programs: random routines that keep what Fortran promises") {
  for (unsigned batch = 0; batch < 2; ++batch)
    same_programs(first_seed() + 500 + 1000 * batch, batch == 1, batch == 1, true);
}

TEST_CASE("fortran: sections, expressions of arrays and implied loops that are printed") {
  const Folder f;
  f.write("k.f90", R"(subroutine show(n, m, u, a, k)
  implicit none
  integer, intent(in) :: n, m
  real(8), intent(in) :: u(0:n, m)
  integer, intent(in) :: a(*)
  integer, intent(inout) :: k
  integer :: i, j
  logical :: big(n)
  do i = 1, n
    big(i) = u(i, 1) > 2
  end do
  print *, u(1:n:2, m)
  print '(10f8.2)', (u(i, 2), i = 0, n)
  write (*, '(5(i4, f8.3))') ((j, 2*u(i, j), i = 0, n, 2), j = m, 1, -1)
  print *, 'end', i, j
  write (*, 100) sum(u(:, 1)), maxval(u, 1), count(big), big(2:)
100 format (f9.3, 3f9.3, i4, 4l2)
  print *, (a(i), i = 1, n), k + n, [k, n]
  k = i
  print *, u(:, 1) + u(:, m)
end subroutine
)");
  f.write("main.f90", R"(program main
  implicit none
  real(8) :: u(0:4, 3)
  integer :: a(6), i, j, k
  do j = 1, 3
    do i = 0, 4
      u(i, j) = i + 10*j/3.0d0
    end do
  end do
  a = [(i*i, i = 1, 6)]
  k = 7
  call show(4, 3, u, a, k)
  print *, k
end program
)");
  same_program(f);
}
