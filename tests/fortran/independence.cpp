// IVDEP and `safelen`: what a program claims of its loops.
#include <algorithm>

#include "codegen/codegen.h"
#include "tests/fortran/gfortran.h"

using namespace moonloop;

namespace {

std::string routine(const std::string& statements) {
  return "subroutine s(n, k, idx, x, y)\n  integer, intent(in) :: n, k, idx(n)\n"
         "  real(8), intent(in) :: x(n)\n  real(8), intent(inout) :: y(n + k)\n"
         "  integer :: i, j\n  real(8) :: t\n" +
         statements + "end subroutine\n";
}

/// The loops that the directives tag: `i: simd`.
std::string tags(const std::string& statements) {
  const test::Imported all = test::import(routine(statements));
  std::string out;
  for (const auto& [iname, tag] : all.transformed.at(0).iname_tags)
    out += (out.empty() ? "" : ", ") + iname + ": " + tag_text(tag);
  return out;
}

bool takes_on_trust(const Step& s) {
  return std::any_of(s.options.begin(), s.options.end(),
                     [](const NamedValue& v) { return v.first == "unsafe"; });
}

Diagnostic refusal(const std::string& statements) {
  try {
    tags(statements);
  } catch (const Error& e) { return e.diagnostic(); }
  FAIL("nothing was refused");
  return {};
}

}  // namespace

TEST_CASE("fortran: IVDEP claims that subscripts from data do not meet") {
  const char* const scatter = "!DIR$ IVDEP\ndo i = 1, n\n  y(idx(i)) = y(idx(i)) + x(i)\nend do\n";
  CHECK(tags(scatter) == "i: simd");
  const test::Imported all = test::import(routine(scatter));
  const Kernel& claims = all.transformed.at(0);
  REQUIRE(!claims.trace.empty());
  CHECK(takes_on_trust(claims.trace.back()));
  // What is proved is no claim.
  const test::Imported plain =
      test::import(routine("!DIR$ IVDEP\ndo i = 1, n\n  y(i) = 2*x(i)\nend do\n"));
  CHECK(!takes_on_trust(plain.transformed.at(0).trace.back()));
  CHECK(generate(plain.transformed.at(0), Target::OpenMP).source.find("#pragma omp simd") !=
        std::string::npos);
  // A distance that an argument gives is the program's to know.
  CHECK(tags("!DIR$ IVDEP\ndo i = 1, n\n  y(i) = y(i + k)\nend do\n") == "i: simd");
  // Behind statements, with a condition and a scalar of each iteration's own, and with another
  // directive.
  CHECK(tags("t = x(1)\n!DIR$ IVDEP\ndo i = 1, n\n  if (x(i) > 0) then\n    t = x(i)\n"
             "  else\n    t = 1\n  end if\n  y(idx(i)) = t\nend do\n") == "i: simd");
  CHECK(tags("!DIR$ IVDEP\n!$omp simd\ndo i = 1, n\n  y(idx(i)) = x(i)\nend do\n") == "i: simd");
}

TEST_CASE("fortran: IVDEP above a loop that cannot run in lanes has no effect") {
  for (const char* const loop :
       {"do i = 1, n\n  do j = 1, n\n    y(i) = y(i) + x(j)\n  end do\nend do\n",
        "do i = 1, n\n  if (x(i) < 0) exit\n  y(i) = x(i)\nend do\n",
        "do i = 1, n\n  y(1) = y(1) + x(i)\nend do\n", "y(1) = 2\n",
        "do i = 1, n\n  call other(y(i))\nend do\n"}) {
    CAPTURE(loop);
    const FortranFile file =
        parse_fortran(test::fortran_source(routine(std::string("!DIR$ IVDEP\n") + loop)));
    REQUIRE(file.kernels.size() == 1);
    CHECK(file.transforms.empty());
    REQUIRE(file.warnings.size() == 1);
    CHECK(file.warnings[0].what.code == "unused-directive");
    CHECK(file.warnings[0].what.where.at.line == 7);
  }
}

TEST_CASE("fortran: IVDEP that the dependences contradict is refused with two instances") {
  const Diagnostic d = refusal("!DIR$ IVDEP\ndo i = 5, n\n  y(i) = y(i - 4) + 1\nend do\n");
  CHECK(d.code == "races");
  CHECK(d.text ==
        "tagging `i` as `simd` would run insn[i=4] and insn[i=8] at the same time, but "
        "insn[i=4] writes y[4] and insn[i=8] reads it (n=9)");
  // Also beside a distance that an argument gives, which alone is taken on trust.
  const auto loop = [](const std::string& from) {
    return "!DIR$ IVDEP\ndo i = 5, n\n  y(2*i) = y(2*i + k) + y(" + from + ")\nend do\n";
  };
  CHECK(refusal(loop("2*i - 4")).code == "races");
  for (const char* from : {"2*i", "2*i - 3"}) {
    CAPTURE(from);
    CHECK(tags(loop(from)) == "i: simd");
  }
}

TEST_CASE("fortran: safelen is a claim where an argument gives the distance") {
  const std::string loop = "do i = 1 + k, n\n  y(i) = y(i - k) + 1\nend do\n";
  CHECK(tags("!$omp simd safelen(4)\n" + loop) == "i_lane: simd");
  CHECK(refusal("!$omp simd\n" + loop).code == "races");
  test::same_as_gfortran(routine("!$omp simd safelen(4)\n" + loop),
                         {{{"n", "21"}, {"k", "4"}}, {{"n", "9"}, {"k", "7"}}});
}

TEST_CASE("fortran: safelen is proved for as many iterations as it says") {
  const std::string loop = "do i = 5, n\n  y(i) = y(i - 4) + 1\nend do\n";
  CHECK(tags("!$omp simd safelen(4)\n" + loop) == "i_lane: simd");
  CHECK(tags("!$omp simd safelen(3)\n" + loop) == "i_lane: simd");
  CHECK(refusal("!$omp simd safelen(5)\n" + loop).code == "races");
  CHECK(tags("!$omp parallel do simd safelen(8)\ndo i = 1, n\n  y(i) = 2*x(i)\nend do\n") ==
        "i_lane: simd, i_part: par");
  CHECK(tags("!$omp simd safelen(4) collapse(2)\ndo j = 1, 2\n  do i = 1, n\n"
             "    y(i) = y(i)*j\n  end do\nend do\n") == "i_lane: simd");
  test::same_as_gfortran(routine("!$omp simd safelen(4)\n" + loop),
                         {{{"n", "3"}, {"k", "1"}}, {{"n", "21"}, {"k", "2"}}});
}

TEST_CASE("fortran: loops with claims compute what gfortran's do") {
  test::same_as_gfortran(
      routine("!DIR$ IVDEP\ndo i = 1, n\n  y(i) = y(i + k) + x(i)\nend do\n"
              "!DIR$ IVDEP\ndo i = 1, n\n  t = 2*y(i)\n  if (x(i) > t) y(i) = t\nend do\n"),
      {{{"n", "1"}, {"k", "1"}}, {{"n", "19"}, {"k", "20"}}});
}
