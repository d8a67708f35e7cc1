// Calls within the input: their meaning, and unsupported ones.
#include "codegen/codegen.h"
#include "core/model/print.h"
#include "tests/fortran/gfortran.h"

using namespace moonloop;
using test::error_of;
using test::import;

namespace {

/// The first routine of a text as a kernel, compared with gfortran's.
void same(const std::string& text, const std::vector<GivenValues>& sizes) {
  const test::Imported k = import(text);
  const test::Library library(text, "t.f90");
  test::same_as_gfortran(k.original.at(0), k.transformed.at(0), library,
                         {"t.f90", k.original[0].name, ""}, sizes, {Target::C, Target::OpenMP});
}

/// Why `call f(arguments)` stays a call, where f has this body; nothing where it does not.
std::string calling(const std::string& arguments, const std::string& callee) {
  const FortranFile file = parse_fortran(test::fortran_source(
      "subroutine s(n, a, b, k)\ninteger :: n, i, k(n)\nreal :: a(n, n), b(n)\n"
      "logical :: l\ncall f(" +
      arguments + ")\nend subroutine\n" + callee + "\nend subroutine\n"));
  CHECK(file.kernels.at(0).externals.count("f") == file.warnings.size());
  return file.warnings.empty() ? "" : file.warnings[0].what.notes.at(0).text;
}

}  // namespace

TEST_CASE("fortran: bounds are what they were when the routine was called") {
  SUBCASE("of a routine that is called, with an argument that it assigns") {
    same(R"(
subroutine s(n, x, k)
  implicit none
  integer, intent(in) :: n
  integer, intent(inout) :: k
  real, intent(inout) :: x(n)
  integer :: m
  k = k + 1
  m = n
  call inner(m, x)
  x(1) = x(1) + m
contains
  subroutine inner(m, x)
    integer, intent(inout) :: m
    real, intent(inout) :: x(m)
    m = 1
    x = x + 1
    x(size(x)) = 3
  end subroutine
end subroutine
)",
         {{{"n", "5"}}, {{"n", "1"}}});
  }
  SUBCASE("of one with an array of its own, by what the caller has assigned") {
    const std::string said = error_of([] {
      import(R"(
subroutine s(n, x)
  implicit none
  integer, intent(inout) :: n
  real, intent(inout) :: x(9)
  n = n + 1
  call inner(n, x)
end subroutine
subroutine inner(m, x)
  implicit none
  integer, intent(in) :: m
  real, intent(inout) :: x(*)
  real :: t(m)
  t = 5
  x(1:m) = x(1:m) + t
end subroutine
)");
    });
    CHECK_MESSAGE(
        said.find("the bounds of `t` depend on `n`, which is not an argument that stays as "
                  "it is") != std::string::npos,
        said);
  }
}

TEST_CASE("fortran: arguments are variables, elements, sections and values") {
  same(R"(
subroutine top(n, a, b, k)
  implicit none
  integer, intent(in) :: n
  real(8), intent(inout) :: a(0:n-1, n), b(2*n)
  integer, intent(inout) :: k(n)
  integer :: i, m
  m = n
  do i = 1, n
    call scale(m, a(:, i), b(i) + 1, k(i))
    call count(k(i), k(i) + 1)
    call count(m, 0)
  end do
  call scale(n, b(2*n:2:-2), 0.5d0, k(max(1, n)))
  call scale(n, b(1:2*n:2), b(1), m)
  call shift(k(k(1)*0 + 1), n)
  call fill(n, a)
  if (m > 3) b(1) = m
end subroutine

subroutine scale(n, x, by, last)
  implicit none
  integer, intent(in) :: n
  real(8), intent(inout) :: x(0:n-1)
  real(8), intent(in) :: by
  integer, intent(out) :: last
  integer :: i
  last = 0
  if (n < 2) return
  do i = 0, n - 1
    x(i) = x(i)*by
    if (x(i) > 0.5d0) last = i
  end do
end subroutine

subroutine count(k, by)
  implicit none
  integer :: k, by
  k = k + by
end subroutine

! The dummy is what the loop runs with.
subroutine shift(k, n)
  implicit none
  integer :: k, n, s
  s = 0
  do k = 1, n
    s = s + k
  end do
  k = k + s
end subroutine

subroutine fill(n, a)
  implicit none
  integer :: n
  real(8) :: a(n, *)
  integer :: i
  do i = 1, n
    a(i, n) = a(i, 1) + i
  end do
end subroutine
)",
       {{{"n", "1"}}, {{"n", "2"}}, {{"n", "7"}}, {{"n", "40"}}});
}

TEST_CASE("fortran: what stands in parentheses is passed as a value") {
  same(R"(
subroutine top(n, a, k)
  implicit none
  integer, intent(in) :: n
  real(8), intent(inout) :: a(n)
  integer, intent(inout) :: k(n)
  call running(n, (a), a)
  call running(n, +a, a)
  call running(n, (a(1:n)), a)
  call add((k(1)), k(1))
  call add(k(1) + 1, k(1))
contains
  subroutine running(m, p, q)
    integer, intent(in) :: m
    real(8), intent(in) :: p(m)
    real(8), intent(inout) :: q(m)
    integer :: i
    do i = 2, m
      q(i) = q(i) + p(i - 1)
    end do
  end subroutine
  subroutine add(by, to)
    integer, intent(in) :: by
    integer, intent(inout) :: to
    to = to + by
    to = to + by
  end subroutine
end subroutine
)",
       {{{"n", "1"}}, {{"n", "7"}}});
}

TEST_CASE("fortran: logical arrays are given whole, in parts, and as what they compute") {
  same(R"(
subroutine outer(n, a, b)
  implicit none
  integer, intent(in) :: n
  logical, intent(inout) :: a(n), b(n)
  logical :: own(n)
  integer :: i
  do i = 1, n
    a(i) = mod(i, 3) == 0
    b(i) = mod(i, 2) == 0
  end do
  own = a
  call turn(n, a)
  if (a(1)) call turn(n/2, a(1:n:2))
  call turn(n, own)
  call both(n, b, a .and. own)
  do i = 1, n
    if (own(i)) a(i) = b(i)
  end do
contains
  subroutine turn(m, x)
    integer, intent(in) :: m
    logical, intent(inout) :: x(m)
    integer :: j
    do j = 1, m
      x(j) = .not. x(j)
    end do
  end subroutine
  subroutine both(m, x, y)
    integer, intent(in) :: m
    logical, intent(inout) :: x(m)
    logical, intent(in) :: y(m)
    x = x .or. y
  end subroutine
end subroutine
)",
       {{{"n", "1"}}, {{"n", "2"}}, {{"n", "9"}}});
}

TEST_CASE("fortran: functions in conditions, bounds, expressions and in one another") {
  same(R"(
subroutine top(n, x, y)
  implicit none
  integer, intent(in) :: n
  real(8), intent(inout) :: x(n), y(n)
  real(8), external :: mean
  integer, external :: half
  logical, external :: small
  integer :: i
  if (n < 1) return
  x = x/mean(n, x)
  do i = half(n) + 1, n
    if (small(x(i))) then
      y(i) = mean(half(n) + 1, y)
    else if (small(y(i)*mean(half(half(n)) + 1, x)) .or. i == n) then
      y(i) = -1
    end if
  end do
end subroutine

real(8) function mean(n, x)
  implicit none
  integer, intent(in) :: n
  real(8), intent(in) :: x(n)
  integer :: i
  mean = 0
  do i = 1, n
    mean = mean + x(i)
  end do
  mean = mean/n
end function

integer function half(n)
  implicit none
  integer, intent(in) :: n
  half = n/2
end function

logical function small(x)
  implicit none
  real(8), intent(in) :: x
  small = .true.
  if (x < 0.5d0) return
  small = .false.
end function
)",
       {{{"n", "0"}}, {{"n", "1"}}, {{"n", "2"}}, {{"n", "9"}}, {{"n", "33"}}});
}

TEST_CASE("fortran: a routine within another one uses that one's variables") {
  same(R"(
subroutine top(n, x, i)
  implicit none
  integer, intent(in) :: n
  real(8), intent(inout) :: x(n)
  integer, intent(inout) :: i
  real(8) :: factor
  integer :: j
  factor = 2
  do j = 1, n
    call change(j)
    x(j) = x(j)*factor + inner(j)
  end do
contains
  subroutine change(i)
    integer, intent(in) :: i
    integer :: j
    j = i*2
    factor = factor + inner(j) + x(i)
  end subroutine
  real(8) function inner(k)
    integer, intent(in) :: k
    real(8) :: factor
    factor = 0.25d0
    i = i + 1
    inner = factor*k
  end function
end subroutine
)",
       {{{"n", "0"}}, {{"n", "1"}}, {{"n", "12"}}});
}

TEST_CASE("fortran: derived types as arguments, by generic names and keywords, of assumed shape") {
  const std::string text = R"(
module m
  implicit none
  type t
    real(8) :: x(3)
    integer :: k
  end type
  interface twice
    module procedure twice_r, twice_i
  end interface
contains
  subroutine s(n, q, k)
    integer, intent(in) :: n
    real(8), intent(inout) :: q(n)
    integer, intent(inout) :: k(n)
    type(t) :: p(n)
    integer :: i
    do i = 1, n
      p(i) = t([q(i), 1.0d0, -q(i)], k(i))
      call twice(p(i)%k)
      call twice(a=q(i))
      call one(p(i))
    end do
    call all_of(p)
    k = p%k
    q = q + p%x(1)
  end subroutine
  subroutine twice_r(a)
    real(8), intent(inout) :: a
    a = 2*a
  end subroutine
  subroutine twice_i(a)
    integer, intent(inout) :: a
    a = 2*a
  end subroutine
  subroutine one(v)
    type(t), intent(inout) :: v
    v%x = v%x + v%k
  end subroutine
  subroutine all_of(v)
    type(t), intent(inout) :: v(:)
    where (v%k < 9) v%k = size(v)
  end subroutine
end module
)";
  const test::Imported k = import(text);
  const test::Library library(text, "t.f90");
  test::same_as_gfortran(k.original.at(0), k.transformed.at(0), library, {"t.f90", "s", "m"},
                         {{{"n", "0"}}, {{"n", "1"}}, {{"n", "20"}}}, {Target::C});
  CHECK(print_kernel(k.original.back()).find("v_size1: in int32") != std::string::npos);
}

TEST_CASE("fortran: a return from loops within loops ends all of them") {
  const std::string text = R"(
subroutine s(n, a)
  integer, intent(in) :: n
  real(8), intent(inout) :: a(n)
  if (n < 3) return
  do
    if (a(1) > 3) exit
    a(1) = a(1) + 1
    do while (a(2) < a(1))
      a(2) = a(2) + 0.5d0
      if (a(2) > 2.25d0) return
    end do
  end do
  a(3) = -1
end subroutine
)";
  const std::string code = generate(import(text).original.at(0), Target::C).source;
  CHECK(code.find("turn < 2147483647 && goes_on; ++turn") != std::string::npos);
  CHECK(
      code.find("if (a[1] > 2.25) {\n          goes_on = false;\n          break;\n        }\n") !=
      std::string::npos);
  same(text, {{{"n", "2"}}, {{"n", "3"}}});
}

TEST_CASE("fortran: a loop over a call is parallel when the call's elements are") {
  const std::string text = R"(
subroutine top(n, a)
  integer, intent(in) :: n
  real(8), intent(inout) :: a(n, n)
  integer :: j
  do j = 1, n
    call sweep(n, a(:, j))
  end do
end subroutine
subroutine sweep(n, x)
  integer, intent(in) :: n
  real(8), intent(inout) :: x(n)
  integer :: i
  do i = 2, n
    x(i) = x(i) + x(i - 1)
  end do
end subroutine
)";
  const auto tagged = [&](const std::string& iname) {
    return error_of([&] {
      import(text + "!$moonloop begin transform\n! top = lp.tag_inames(top, {" + iname +
             " = \"par\"})\n!$moonloop end transform\n");
    });
  };
  CHECK(tagged("j") == "");
  CHECK(tagged("i").find("insn[j=0, i=1] writes a[1, 0] and insn[j=0, i=2] reads it") !=
        std::string::npos);
}

TEST_CASE("fortran: calls that no kernel can say") {
  CHECK(error_of([] {
          import(
              "module m\ncontains\nrecursive integer function s(n) result(k)\n"
              "integer, optional :: n\nk = 0\nif (n > 0) k = t(n - 1)\nend\n"
              "recursive integer function t(n) result(k)\ninteger :: n\nk = s(n)\nend\nend\n");
        }) ==
        "`s`, which calls itself and whose arguments or value are more than plain variables and "
        "arrays, is not supported in Fortran kernels [unsupported]");
  CHECK(calling("b(2)", "subroutine f(x)\nreal :: x\nx = 1") == "");
  CHECK(calling("n, a(1, 3)", "subroutine f(n, x)\ninteger n\nreal :: x(n)\nx(1) = 1") == "");
  CHECK(calling("k(1) + 1", "subroutine f(i)\ninteger i\ni = 1") ==
        "`f` assigns its argument `i`, and what is passed is not a variable");
  CHECK(calling("k", "subroutine f(i)\ninteger i\ni = 1") ==
        "the argument `i` of `f` is one value, and an array is passed");
  CHECK(calling("n", "subroutine f(x)\ninteger x(3)\nx(1) = 1") ==
        "the argument `x` of `f` is an array, and `n` is none");
  CHECK(calling("b(1)", "subroutine f(i)\ninteger i\ni = 1") ==
        "the argument `i` of `f` is of type int32, and `b` of type float32");
}

TEST_CASE("fortran: variables that are none of kernels do no harm where they are not used") {
  const std::string head =
      "subroutine s(n, x)\ninteger :: n\nreal :: x(n)\ncharacter(:), allocatable :: text\n"
      "common /grid/ mask(4), weight\ninteger :: flags(4)\nequivalence (flags, mask)\n";
  const test::Imported k = import(head + "x(1) = weight\nend\n");
  const Argument& weight = k.original.at(0).args.at(2);
  REQUIRE(weight.fortran.outer);
  CHECK(weight.fortran.outer->declarations ==
        "integer(4) :: moonloop_grid_1(1:4)\nreal(4) :: moonloop_grid_2\n"
        "common /grid/ moonloop_grid_1, moonloop_grid_2\n");
  CHECK(error_of([&] { import(head + "x(1) = mask(2)\nend\n"); }) ==
        "`mask` in `equivalence` is not supported in Fortran kernels [unsupported]");
  CHECK(error_of([&] { import(head + "flags(1) = 3\nend\n"); }) ==
        "`flags` in `equivalence` is not supported in Fortran kernels [unsupported]");
  CHECK(import(head + "text = 'a'\nend\n").original.size() == 1);  // which Fortran keeps
  CHECK(error_of([&] {
          import(head + "call t\ncontains\nsubroutine t\nx(1) = 1\nend\nend\n");
        }).find("`flags` in `equivalence`") != std::string::npos);
}

TEST_CASE("fortran: calls of what is no kernel, or has other axes, stay calls") {
  // In the same module, as a statement in Fortran, and outside of modules.
  const auto kept = [](const std::string& arguments, const std::string& callee,
                       bool in_module = false) {
    const FortranFile file = parse_fortran(test::fortran_source(
        std::string(in_module ? "module m\ncontains\n" : "") +
        "subroutine s(n, a)\ninteger :: n\nreal :: a(n, n)\ncall f(" + arguments + ")\nend\n" +
        callee + "\nend\n" + (in_module ? "end\n" : "")));
    std::string out;
    for (const auto& [routine, d] : file.warnings)
      if (d.code == "kept-call") out += d.text + ": " + d.notes.at(0).text;
    CHECK(file.kernels.at(0).externals.count(in_module ? "call_in_s_1" : "f") ==
          (out.empty() ? 0 : 1));
    return out;
  };
  const std::string stays = "the call of `f` in `s` stays a call of what the file has: ";
  for (const auto& [arguments, callee, why] : std::vector<std::array<std::string, 3>>{
           {"a(2, 3)", "subroutine f(x)\nreal :: x(*)\nx(1) = 1",
            "the argument `x` of `f` is not part of `a` axis by axis: it may reach over the end of "
            "axis 1"},
           {"n, a", "subroutine f(n, x)\ninteger n\nreal :: x(n)\nx(1) = 1",
            "the argument `x` of `f` is not part of `a` axis by axis: it has 2 axes, the argument "
            "1"},
           {"n, a", "subroutine f(n, x)\ninteger n\nreal :: x(2*n, n)\nx(1, 1) = 1",
            "the argument `x` of `f` is not part of `a` axis by axis: its axis 1 has another "
            "length"}}) {
    CHECK(kept(arguments, callee) == stays + why);
    CHECK(kept(arguments, callee, true) ==
          "the call of `m::f` in `s` stays a call of what the file has: " + why);
  }
  CHECK(kept("n, a(1, 3)", "subroutine f(n, x)\ninteger n\nreal :: x(n)\nx(1) = 1") == "");
  // A body that is no kernel.
  CHECK(kept("'row', n", "subroutine f(c, n)\ncharacter(*) c\ninteger n\nwait (n)")
            .starts_with(stays + "the statement `wait`"));
  // Variables from elsewhere that only the called routine has.
  CHECK(kept("n, a", "subroutine f(n, x)\ninteger n, m\nreal :: x(n)\ncommon /c/ m\nx(1) = m")
            .starts_with(stays));
  // One that has to be called through its interface.
  const std::string by_interface = error_of([] {
    import(
        "subroutine s(n, a)\ninteger :: n\nreal :: a(n)\ninterface\nsubroutine f(x)\n"
        "real :: x(:)\nend subroutine\nend interface\ncall f(a)\nend\n"
        "subroutine f(x)\nreal :: x(:)\ncharacter(7) c\nc = 'a'\nx = 1\nend\n");
  });
  CHECK(by_interface ==
        "the argument `x`, which is not a plain variable or array, of `f`, which is in another "
        "file, is not supported in Fortran kernels [unsupported]");
}

TEST_CASE("fortran: modules give constants and variables") {
  const std::string module =
      "module m\ninteger, parameter :: two = 2\nreal(8), parameter :: w(3) = [1, 2, 3]\n"
      "real(8) :: state\nend module\n";
  const test::Imported reader =
      import(module + "subroutine s(x)\nuse m, only: own => state\nreal(8) :: x\nx = own\nend\n");
  const Argument& own = reader.original.at(0).args.at(1);
  CHECK(own.name == "own");
  CHECK(!own.is_array);
  REQUIRE(own.fortran.outer);
  CHECK(own.fortran.outer->module == "m");
  CHECK(own.fortran.outer->name == "state");
  const test::Imported k =
      import(module +
             "subroutine s(n, x)\nuse m, weight => w\ninteger, intent(in) :: n\nreal(8) :: x(n)\n"
             "integer :: i\ndo i = 1, n\nx(i) = weight(1 + mod(i, two))\nend do\nend\n");
  CHECK(print_kernel(k.original.at(0)).find("temp weight: float64[3] order=F read_only") !=
        std::string::npos);
}

TEST_CASE("fortran: parts of complex numbers, and subscripts from constructors, are assigned") {
  same(R"(
subroutine parts(n, z, w, a)
  implicit none
  integer, intent(in) :: n
  complex(8), intent(inout) :: z(n)
  complex, intent(inout) :: w(n)
  integer, intent(inout) :: a(n)
  integer :: j, k, i
  do i = 1, n
    z(i)%re = 1
    z(i)%im = 2*z(i)%im + i
    a(i) = i*i
  end do
  w%im = real(n)
  w%re = w%re + w%im
  j = 1
  k = n
  a([j, k]) = a([k, j])
  a([k]) = a([k]) + 5
end subroutine
)",
       {{{"n", "1"}}, {{"n", "6"}}});
}

TEST_CASE("fortran: an array whose last axis has no bound is passed as a whole") {
  const FortranFile file = parse_fortran(
      test::fortran_source("subroutine scaled(n, d, b, ldb)\ninteger, intent(in) :: n, ldb\n"
                           "real(8), intent(in) :: d(*)\nreal(8), intent(inout) :: b(ldb, *)\n"
                           "call dscal(n, 1/d(1), b, ldb)\nend subroutine\n"));
  REQUIRE(file.kernels.size() == 1);
  CHECK(file.kernels[0].externals.count("dscal") == 1);
}

TEST_CASE(
    "fortran: elements of arrays whose last axis begins elsewhere and has no end are passed on") {
  const FortranFile file = parse_fortran(
      test::fortran_source("subroutine norms(n, a, b, s)\ninteger, intent(in) :: n\n"
                           "real(8), intent(in) :: a(0:*), b(2:n, -1:*)\n"
                           "real(8), intent(inout) :: s\nreal(8) :: scale\ninteger :: j\n"
                           "scale = lbound(b, 2)\ndo j = 0, n - 3\n"
                           "call dlassq(n - j - 2, a(j + 1), 1, scale, s)\n"
                           "call dlassq(n - 1, b(2, j), 1, scale, s)\nend do\n"
                           "call dlassq(n - 1, b, 1, scale, s)\nend subroutine\n"));
  REQUIRE(file.kernels.size() == 1);
  CHECK(file.kernels[0].externals.count("dlassq") == 1);
}
