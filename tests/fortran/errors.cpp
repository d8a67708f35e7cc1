// Text that is not standard-conforming Fortran, and Fortran that is not a kernel.
#include <ctime>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

#include "tests/fortran/gfortran.h"

using namespace moonloop;
using test::error_of;
using test::import;

namespace {

/// A routine around declarations and statements; its errors.
std::vector<Diagnostic> errors(const std::string& declarations, const std::string& statements) {
  try {
    import("subroutine s(n, a, b)\n" + declarations + "\n" + statements + "\nend subroutine\n");
  } catch (const Error& e) { return e.diagnostics(); }
  return {};
}

void refused(const std::string& statement, const std::string& what) {
  const auto all = errors("integer :: n, i, j, c(1)\nreal :: a(n), b(n)", statement);
  CAPTURE(statement);
  REQUIRE(all.size() == 1);
  CHECK(all[0].code == "unsupported");
  CHECK(all[0].text == what + " is not supported in Fortran kernels");
  CHECK(all[0].where.at.line == 4);
}

}  // namespace

TEST_CASE("fortran: Flang's errors, every one of them at its line") {
  const auto all = errors("implicit none\ninteger :: n\nreal :: a(n), b(n)",
                          "a(j) = 1\nb(1) = \"x\"\na(1, 2) = 3");
  REQUIRE(all.size() == 3);
  for (std::size_t i = 0; i < all.size(); ++i) {
    CHECK(all[i].code == "fortran");
    CHECK(all[i].where.at.line == static_cast<int>(i) + 5);
  }
  const auto syntax = errors("integer :: n\nreal :: a(n), b(n)", "a(1 = 2");
  REQUIRE(!syntax.empty());
  CHECK(syntax[0].code == "fortran");
  CHECK(syntax[0].where.at.line == 4);
}

TEST_CASE("fortran: an axis along which there is nothing to spread") {
  for (const char* spread : {"spread(b, 0, n)", "spread(b, 3, n)"}) {
    const auto all =
        errors("integer :: n\nreal :: a(n), b(n)", std::string("a(1) = sum(") + spread + ")");
    REQUIRE(all.size() == 1);
    CHECK(all[0].code == "bad-axis");
    CHECK(all[0].where.at.line == 4);
  }
}

TEST_CASE("fortran: what no kernel can say is named at its line") {
  for (const char* kept : {"print *, a(1:2)*other(n)",
                           "print *, (a(i), n, (b(n), n = 1, 3), i = 1, 2)"})  // in Fortran
    CHECK(errors("integer :: n, i, j, c(1)\nreal :: a(n), b(n)", kept).empty());
  refused("call other(a(1:n:2))",
          "`a[1:n:2]`, which has gaps in memory, an argument of `other`, which is in another "
          "file,");
  refused("a = sum(cshift(spread(b, 2, n), [(i, i = 1, n)]), 2)",
          "a shift by other numbers for other elements");
  refused("a(1) = sum([((b(j), j = 1, i), i = 1, n)])",
          "an implied `do` whose turns have different numbers of values");
  refused("a(1) = maxloc(b, n)", "this form of `maxloc`");
  refused("a = reshape(b, c)", "this form of `reshape`");
  refused("do concurrent (i = 1:n) local_init(a)\nb(i) = a(i)\nend do", "an array in `local_init`");
  refused("forall (i = 1:n) a(i) = sum([b(i), 2.0])",
          "an array that each iteration of `forall` makes");
  refused("!$omp task\nn = 1\n!$omp end task", "this directive of OpenMP");
  refused("!$acc host_data use_device(a)\nn = 1\n!$acc end host_data", "`host_data` of OpenACC");
  refused("wait (n)", "the statement `wait`");
  refused("assign 7 to n\n7 continue", "the statement `assign`");
}

TEST_CASE("fortran: the reason of a routine and of what it contains is said once") {
  const auto all =
      errors("integer :: n\nreal :: a(n), b(n)",
             "call u(a, sacle=2.0)\ncontains\nsubroutine u(x, scale)\nreal :: x(:)\n"
             "real, optional :: scale\nif (present(scale)) x = scale*x\nend subroutine");
  REQUIRE(all.size() == 1);
  CHECK(all[0].text.find("sacle=") != std::string::npos);
}

TEST_CASE("fortran: what addresses cannot say to routines of other files") {
  const auto why = [](const std::string& declaration, const std::string& attributes = "") {
    const auto all = errors("integer :: n\nreal :: a(n), b(n)\ninterface\nreal function f(x)" +
                                attributes + "\n" + declaration + "\nend function\nend interface",
                            "a(1) = f(b)");
    return all.empty() ? "" : all[0].code + ": " + all[0].text;
  };
  CHECK(why("real :: x(*)") == "");
  CHECK(why("real :: x(:)") ==
        "unsupported: the argument `x`, which is not a plain variable or array, of `f`, which is "
        "in another file, is not supported in Fortran kernels");
  CHECK(why("real :: x(4)\noptional :: x").find("the argument `x`, which is not a plain") !=
        std::string::npos);
  CHECK(why("real :: x(*)", " bind(c)").find("`bind(c)` of `f`") != std::string::npos);
  const auto kind =
      errors("integer :: n\nreal :: a(n), b(n)\nlogical(8), external :: f", "if (f(b)) a = 1");
  REQUIRE(kind.size() == 1);
  CHECK(kind[0].text == "the call of `f` is not supported in Fortran kernels");
  const auto within = [](const std::string& what) {
    const auto all = errors("integer :: n\nreal :: a(n), b(n)\nlogical :: l",
                            "l = n > 1\ncall inner(" + what +
                                ", l)\ncontains\n"
                                "subroutine inner(v, x)\nreal :: v(n)\nlogical :: x\n"
                                "call other(v)\ncall another(x)\nend subroutine");
    std::string out;
    for (const Diagnostic& d : all) out += d.text + "\n";
    return out;
  };
  CHECK(within("a").find("what is passed for the logical `x`, which `another`, in another file, "
                         "gets, is not an argument of `s`") != std::string::npos);
  CHECK(within("a(n:1:-1)")
            .find("`v`, which `other` gets and which is in another file, has "
                  "gaps in memory here") != std::string::npos);
}

TEST_CASE("fortran: declarations outside of the subset") {
  const auto declared = [](const std::string& line, const std::string& use = "a(1) = 1") {
    const auto all = errors("integer :: n\nreal :: a(n), b(n)\n" + line, use);
    CAPTURE(line);
    REQUIRE(!all.empty());
    std::string texts;
    for (const Diagnostic& d : all) {
      CHECK(d.code == "unsupported");
      CHECK(d.where.at.line == 4);
      texts += d.text + "\n";
    }
    return texts;
  };
  CHECK(declared("logical, pointer, save :: p(:)", "if (p(1)) a(1) = 1").find("the pointer `p`") ==
        0);
  CHECK(declared("real, allocatable, save :: p", "a(1) = p").find("the allocatable `p`") == 0);
  CHECK(error_of([] {
          import("subroutine s(x, n)\nclass(*) :: x\ninteger :: n\nn = 1\nend subroutine\n");
        }).find("`x` of any type is not supported") == 0);
  const std::string both = declared("real :: p; real(8) :: q\nequivalence (p, q)", "a(1) = p + q");
  CHECK(both.find("`p` in `equivalence`") == 0);
  CHECK(both.find("\n`q` in `equivalence`") != std::string::npos);
  CHECK(error_of([] { import("program p\nend program\n"); }).find("a main program") == 0);
  CHECK(errors("integer :: n\nreal :: a(n)\ncharacter(:), allocatable, save :: c", "c = 'abcd'")
            .at(0)
            .text.starts_with("the allocatable `c`"));
  CHECK(errors("integer :: n, i\nreal :: a(n)\ncharacter(3) :: w(4)",
               "forall (i = 1:4) w(i) = 'abc'\na(1) = ichar(w(2)(1:1))")
            .at(0)
            .text.starts_with("a text in `forall`"));
  CHECK(declared("type t; real, allocatable :: x; end type; type(t) :: p")
            .find("the allocatable `p%x`") == 0);
}

TEST_CASE("fortran: variables that keep their values from call to call") {
  const auto saved = [](const std::string& declaration) {
    const test::Imported k =
        import("subroutine s(a)\nreal :: a\n" + declaration + "\nlast = last + a\na = last\nend\n");
    const Argument& last = k.original.at(0).args.at(1);
    CHECK(last.name == "last");
    REQUIRE(last.fortran.outer);
    CHECK(last.fortran.outer->kind == FortranOuter::Kind::Saved);
    return last.fortran.outer->declarations;
  };
  CHECK(saved("real, save :: last") == "real(4), save :: moonloop_last\n");
  CHECK(saved("real :: last\nsave") == "real(4), save :: moonloop_last\n");
  CHECK(saved("real :: last = 0") == "real(4), save :: moonloop_last = 0._4\n");
  CHECK(saved("real :: last\nsave last\ndata last /1.0/") ==
        "real(4), save :: moonloop_last = 1._4\n");
  CHECK(test::why_kept(
            "module m\ncontains\nsubroutine s(a)\nreal :: a\ncall t(a)\nend subroutine\n"
            "subroutine t(a)\nreal :: a\nreal, save :: last\nif (a > 0) last = a\na = last\n"
            "end subroutine\nend module\n")
            .find("keeps its value from call to call") != std::string::npos);
}

TEST_CASE("fortran: blocks that do not fit") {
  const auto block = [](const std::string& lines) {
    return error_of([&] { import("subroutine s(n)\ninteger n\nend\n" + lines); });
  };
  CHECK(block("!$moonloop begin transform\n") == "this block has no end [syntax]");
  CHECK(block("!$moonloop end transform\n") == "this block never began [syntax]");
  CHECK(block("!$moonloop begin tagged: x\n") == "this block has no end [syntax]");
  CHECK(block("!$moonloop end tagged: x\n") == "no block tagged `x` is open here [syntax]");
  CHECK(block("!$moonloop parallel\n") == "`parallel` begins and ends no block [syntax]");
  CHECK(block("!$moonloop begin tiling\n") ==
        "`begin tiling` is not a block; there are `transform` and `tagged: NAME` [syntax]");
  CHECK(block("!$moonloop begin transform\nsubroutine t\nend\n!$moonloop end transform\n") ==
        "a line of a transform block is not a comment [syntax]");
}

namespace {

double seconds_of(const std::string& text, std::vector<Diagnostic>& all) {
  const auto start = std::clock();
  try {
    import(text);
  } catch (const Error& e) { all = e.diagnostics(); }
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

std::string times(int n, const std::string& text) {
  std::string out;
  for (int i = 0; i < n; ++i) out += text;
  return out;
}

}  // namespace

TEST_CASE("fortran: blocks that are not closed end soon, however many there are") {
  const std::string head = "subroutine s(n, a)\ninteger n, i\nreal a(n)\n",
                    foot = "end subroutine\n";
  for (const std::string open :
       {"do i = 1, n\n", "do while (n > 1)\n", "do concurrent (i = 1:n)\n", "if (n > 1) then\n",
        "select case (n)\ncase (1)\n", "associate (k => i)\n", "block\n", "critical\n",
        "where (a > 0)\n", "name: do i = 1, n\n", "!$omp parallel do\ndo i = 1, n\n",
        "!$acc parallel loop\ndo i = 1, n\n"})
    for (const std::string& end : {std::string(), foot})
      for (const int n : {1, 3, 9, 24, 400}) {
        CAPTURE(open);
        CAPTURE(n);
        std::vector<Diagnostic> all;
        CHECK(seconds_of(head + times(n, open) + end, all) < 2);
        REQUIRE(!all.empty());
        CHECK(all[0].code == "fortran");
        CHECK(all[0].where.at.line > 3);
        if (n < 24) continue;
        REQUIRE(all.size() == 1);
        CHECK(all[0].text.find("` is not closed before ") != all[0].text.npos);
        if (end.empty()) CHECK(all[0].text.ends_with("the end of the file"));
        CHECK(all[0].notes.size() == (end.empty() ? 0 : 1));
      }
  // A statement that ends the blocks around it, and closed blocks around an error.
  for (const std::string middle :
       {"else\n", "case (1)\n", "contains\n", "end if\n", "end do i\n"}) {
    CAPTURE(middle);
    std::vector<Diagnostic> all;
    CHECK(seconds_of(head + times(24, "do i = 1, n\n") + middle + times(24, "end do\n") + foot,
                     all) < 2);
    REQUIRE(all.size() == 1);
    CHECK(all[0].code == "fortran");
    CHECK(all[0].where.at.line == 27);
    CHECK(all[0].notes.front().at.line == 28);
  }
  std::vector<Diagnostic> all;
  CHECK(seconds_of(head + times(9, "do i = 1, n\n") + "a(i) = = 3\n" + times(9, "end do\n") + foot,
                   all) < 2);
  REQUIRE(!all.empty());
  CHECK(all[0].where.at.line == 13);
}

TEST_CASE(
    "fortran: blocks within blocks, names of keywords and loops up to labels are not errors") {
  const std::string text =
      "subroutine s(n, a)\ninteger n, i, j, do, end, endif, else(3)\nreal a(n)\n" +
      times(12, "if (n > 1) then\n") +
      "do = 1; end = 2; endif = 3; else(1) = 4\n"
      "outer: do i = 1, n; if (a(i) > 1) cycle outer; do 10 j = 1, n\n"
      "a(i) = a(i) + 1\n"
      "10 end do\n"
      "select case (do)\ncase (1); a(i) = 2\ncase default; a(i) = 3\nend select\n"
      "end do outer\n" +
      times(12, "else if (n > 2) then\na(1) = 1\nelse\na(1) = 2\nend if\n") + "end\n";
  CHECK(import(text).original.size() == 1);
}

TEST_CASE("fortran: nesting of expressions that would take Flang for ever") {
  const auto refused_as = [](const std::string& value, const std::string& what) {
    std::vector<Diagnostic> all;
    CHECK(seconds_of(
              "subroutine s(n, x, k)\ninteger n, k(n)\nreal x\nx = " + value + "\nend subroutine\n",
              all) < 2);
    REQUIRE(all.size() == 1);
    CHECK(all[0].code == "unsupported");
    CHECK(all[0].text == what + " as here is not supported in Fortran kernels");
    CHECK(all[0].where.at.line == 4);
    CHECK(all[0].hint ==
          "give a part of the statement a name, as a variable that is assigned before");
  };
  const std::string deep = "nesting of calls, subscripts and array constructors as deep";
  const auto nest = [](int n, const std::string& a, const std::string& b) {
    return times(n, a) + "1" + times(n, b);
  };
  refused_as(nest(2000, "&\n(", ")"), "nesting of brackets as deep");
  refused_as(nest(30, "&\n[", "]"), deep);
  refused_as(nest(30, "&\n(/", "/)"), deep);
  refused_as(nest(30, "&\nsin(", ")"), deep);
  refused_as(nest(30, "&\nk(1:", ")"), deep);
  refused_as(nest(12, "&\na%b(", ")"), deep);
  refused_as(nest(2000, "&\nx + ", ""), "a number of operators in a statement as large");
  CHECK(import("subroutine s(x)\nreal x\nx = " + nest(190, "&\n(", ")") +
               "\nx = " + nest(10, "abs(", ")") + "\nx = " + nest(100, "&\nx*2 + ", "") + "\nend\n")
            .original.size() == 1);
}

TEST_CASE("fortran: what Flang crashes on is an error, and the next file is read") {
#ifdef __SANITIZE_ADDRESS__
  // A crash is left by a jump, so what was made to read the file is never given back.
  const __lsan::ScopedDisabler kept;
#endif
  const std::string good = "subroutine s(n, a)\ninteger n\nreal a(n)\na(1) = 2\nend subroutine\n";
  for (const std::string bad :
       {"subroutine s(n, a, b)\nreal(8) :: a(n, n), b(n, n)\nequivalence (a, b)\na(1, 1) = "
        "2\nend\n",
        "subroutine s(n, m)\ndo j = 1, m\n!$omp simd\ndo$i = 1, n\nend do\nend do\nend\n",
        "subroutine s(n, a)\n!$acc parallel loop collapse(2)\ndo i = 1, n\nend do\nend\n"}) {
    CAPTURE(bad);
    std::vector<Diagnostic> all;
    seconds_of(bad, all);
    REQUIRE(!all.empty());
    CHECK(all[0].code == "fortran");
    CHECK(all[0].where.at.line >= 1);
    CHECK(import(good).original.size() == 1);
  }
}

TEST_CASE("fortran: an inner routine that assigns the variable of a loop around its call") {
  for (const std::string inner : {"subroutine change(i)\ni = i*2\nend subroutine\n",
                                  "subroutine change(i)\nj = i*2\nend subroutine\n"}) {
    CAPTURE(inner);
    std::vector<Diagnostic> all;
    seconds_of(
        "subroutine top(n, x)\nreal x(n)\ndo j = 1, n\nx(j) = 1\ncall change(j)\nend do\n"
        "contains\n" +
            inner + "end subroutine\n",
        all);
    REQUIRE(!all.empty());
    CHECK(all[0].code == "unsupported");
    CHECK(all[0].text ==
          "`j` is the variable of a loop around this; its assignment is not supported in Fortran "
          "kernels");
    CHECK(all[0].where.at.line == 9);
  }
}
