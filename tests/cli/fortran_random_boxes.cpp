// Random programs whose routines have variables of their own that only Fortran can have: characters
// of any length, allocatable arrays that change their shapes, records with such components; and
// routines that return to labels.
#include <random>

#include "tests/cli/fortran_program.h"
#include "tests/cli/random_choice.h"

using namespace moonloop::test;

namespace {

/// Every text has at least four letters, every array at least four elements.
constexpr const char* kHead = R"(module routines
  implicit none
  type record
    integer :: n = 2
    character(:), allocatable :: text
    real(8), allocatable :: part(:)
  contains
    procedure :: advance
  end type
  type, extends(record) :: wide
    integer :: width = 3
  contains
    procedure :: advance => advance_wide
  end type
  type, abstract :: nothing
  end type
  type, extends(nothing) :: something
    integer :: here = 3
  end type
  interface operator(+)
    module procedure joined
  end interface
  interface operator(.near.)
    module procedure near
  end interface
  interface operator(<=)
    module procedure shorter
  end interface
  interface assignment(=)
    module procedure from_number
  end interface
  integer :: calls = 0
  integer, parameter :: table(*) = [3, 5, 7, 9], a2 = 4
  abstract interface
    subroutine step(h, k)
      import :: record
      class(record), intent(inout) :: h
      integer, intent(inout) :: k
    end subroutine
  end interface
contains
  pure function twice(s)
    character(*), intent(in) :: s
    character(:), allocatable :: twice
    twice = s(:4) // s
  end function
  subroutine longer(s, n)
    character(:), allocatable, intent(inout) :: s
    integer, intent(in) :: n
    integer :: i
    do i = 1, n
      s = s // achar(iachar('a') + i)
      if (len(s) > 30) then
        s = s(1:5)
        return
      end if
    end do
    calls = calls + len(s)
  end subroutine
  subroutine more(v, n)
    integer, allocatable, intent(inout) :: v(:)
    integer, intent(in) :: n
    integer, allocatable :: w(:)
    allocate (w(size(v) + n))
    w = n
    w(:size(v)) = v
    if (size(w) > 20) return
    call move_alloc(w, v)
  end subroutine
  subroutine grow(h, k)
    class(record), intent(inout) :: h
    integer, intent(inout) :: k
    real(8) :: w(h%n)
    w = h%n
    h%part = [h%part(:3), 1d0*k, w(1)]
    h%n = mod(h%n + k, 9) + 2
    k = mod(k + size(h%part) + size(w), 50)
  end subroutine
  subroutine advance(h, k)
    class(record), intent(inout) :: h
    integer, intent(inout) :: k
    h%n = mod(h%n + k, 7) + 2
    k = mod(k + 1, 50)
  end subroutine
  subroutine advance_wide(h, k)
    class(wide), intent(inout) :: h
    integer, intent(inout) :: k
    h%width = mod(h%width + k, 11)
    k = mod(k + h%width, 50)
  end subroutine
  function joined(a, b)
    type(record), intent(in) :: a, b
    type(record) :: joined
    joined%n = mod(a%n + b%n, 40)
    joined%text = a%text(:4) // b%text(:2)
    joined%part = a%part(:4)
  end function
  logical function near(a, b)
    type(record), intent(in) :: a, b
    near = abs(a%n - b%n) < 3
  end function
  logical function shorter(a, b)
    type(record), intent(in) :: a, b
    shorter = len(a%text) <= len(b%text)
  end function
  subroutine from_number(a, b)
    type(record), intent(inout) :: a
    integer, intent(in) :: b
    a%n = mod(b, 30)
    a%text = a%text(:4)
  end subroutine
  subroutine apply(f, h, k)
    procedure(step) :: f
    class(record), intent(inout) :: h
    integer, intent(inout) :: k
    call f(h, k)
  end subroutine
)";

class BoxedRoutines : RandomChoice {
 public:
  explicit BoxedRoutines(unsigned seed) : RandomChoice(seed) {}

  std::string module(int routines) {
    std::string out = kHead;
    for (int i = 0; i < routines; ++i) out += routine(i);
    return out + "end module\n";
  }

 private:
  std::string text() { return pick({"s", "t", "g", "p%text"}); }
  std::string number() {
    return pick({"len(s)", "len(t)", "len_trim(g)", "index(s, 'b')", "size(v)", "v(2)", "p%n",
                 "iachar(s(2:2))", "int(p%part(1))", "len(twice(t))", "size(p%part)", "k", "n",
                 "h%n", "size(w)", "int(w(1))", "size(h%part)", "2*a2", "a2"});
  }
  std::string condition() {
    return pick({"len(s) > 6", "s == t", "t(1:1) == 'x'", "v(1) > 3", "any(v == 5)", "x(2) > 4",
                 "p%n > 4", "allocated(s)", "k > 5", "twice(t) == s", "p .near. q", "p + q .le. p",
                 "p <= q"});
  }

  std::string simple() {
    const std::string a = text(), b = text();
    switch (upto(21)) {
      case 0: return a + " = " + b + "(:4) // " + pick({"trim(g)", "'xyz'", "t(2:3)", "s"});
      case 1: return a + " = twice(" + b + "(1:3) // 'q')";
      case 2: return a + "(2:3) = " + b + "(1:2)";
      case 3:
        return "call longer(" + pick({"s", "t", "g", "p%text"}) + ", " +
               std::to_string(1 + upto(5)) + ")";
      case 4: return "v = [v(:4), " + std::to_string(upto(9)) + "]";
      case 5: return "call more(v, " + std::to_string(1 + upto(4)) + ")";
      case 6: return "k = mod(k + " + number() + ", 50)";
      case 7: return "x(" + std::to_string(1 + upto(4)) + ") = " + number();
      case 8: return "p%part = [p%part(:3), x(1:2)]";
      case 9: return "p%n = mod(p%n + " + number() + ", 40)";
      case 10: return "q = p";
      case 11: return "p = q";
      case 12: return "v(3) = mod(v(2) + k, 30)";
      case 13: return "h%n = mod(h%n + " + number() + ", 40) + 2";
      case 14: return "w(" + pick({"1", "2"}) + ") = " + number();
      case 15: return "ok = " + condition() + "\n    if (ok) k = mod(k + 1, 50)";
      case 16: return "call apply(grow, h, k)";
      case 17: return "p = " + pick({"p + q", "q + p", "q + q"});
      case 18: return pick({"p", "q"}) + " = " + number();
      case 19: return "call h%advance(k)";
      default:
        return "deallocate (" + pick({"s", "t"}) + ")\n    allocate (character(" +
               std::to_string(4 + upto(6)) + ") :: C)\n    C = 'fresh'";
    }
  }

  std::string fixed(std::string s) const {
    if (const std::size_t at = s.find("deallocate ("); at != std::string::npos) {
      const std::string name = s.substr(at + 12, 1);
      for (std::size_t c = 0; (c = s.find('C', c)) != std::string::npos;) s.replace(c, 1, name);
    }
    return s;
  }

  std::string statement(int depth, bool loop) {
    switch (depth > 2 ? 0 : upto(8)) {
      case 1: {
        std::string out = "if (" + condition() + ") then\n    " + statement(depth + 1, loop);
        if (upto(2) == 0) out += "    else\n    " + statement(depth + 1, loop);
        return out + "    end if\n";
      }
      case 2: {
        const std::string i = "i" + std::to_string(depth);
        return "do " + i + " = 1, " + pick({"3", "min(4, len(t))", "2"}) + "\n    " +
               statement(depth + 1, true) + statement(depth + 1, true) + "    end do\n";
      }
      case 3:
        return "do j = 1, n\n      x(j) = " +
               pick({"x(j) + j", "0.5d0*x(j) + k", "mod(x(j)*3, 50d0)"}) + "\n    end do\n";
      case 4:
        return "if (" + condition() + ") " +
               (loop ? pick({"exit", "cycle"}) : pick({"return", "return 1", "return 2"})) + "\n";
      default: return "    " + fixed(simple()) + "\n";
    }
  }

  /// With a text of the caller's, two labels to return to, and what it does to the rest.
  std::string routine(int number) {
    const std::string name = "r" + std::to_string(number);
    std::string out =
        "  subroutine " + name +
        "(n, x, g, *, k, h, *, e)\n    class(nothing), intent(in) :: e\n    integer, intent(in) :: "
        "n\n"
        "    class(record), intent(inout) :: h\n    real(8) :: w(h%n)\n"
        "    logical :: ok\n"
        "    real(8), intent(inout) :: x(n)\n"
        "    character(:), allocatable, intent(inout) :: g\n"
        "    integer, intent(inout) :: k\n"
        "    character(:), allocatable :: s, t\n    integer, allocatable :: v(:)\n"
        "    type(record) :: p, q\n    integer :: j, i0, i1, i2\n"
        "    s = 'abcd'\n    t = g\n    v = [1, 2, 3, 4, 5]\n"
        "    p%text = 'text'\n    p%part = [0.5d0, 1.5d0, 2.5d0, 3.5d0]\n    q = p\n    w = 2\n";
    for (int n = 3 + upto(6); n > 0; --n) out += "    " + statement(0, false);
    if (number > 0 && upto(2) == 0)
      out += "    call r" + std::to_string(upto(number)) +
             "(n, x, g, *10, k, h, *20, e)\n    k = k + 1\n    if (k > 3) return 1\n10  k = k + 2\n"
             "20  k = mod(k, 60)\n";
    out += "    do j = 1, n\n      x(j) = mod(x(j) + k, 90d0)\n    end do\n";
    out +=
        "    x(1) = mod(x(1) + len(s) + len(t) + sum(v) + p%n + sum(p%part) + "
        "iachar(s(3:3)) + q%n, 90d0)\n    g = g(:4) // t(1:2)\n";
    return out + "    if (k == 7) return 2\n  end subroutine\n";
  }
};

void same_boxes(unsigned seed) {
  constexpr int kRoutines = 6;
  const Folder f;
  f.write("k.f90", BoxedRoutines(seed).module(kRoutines));
  std::string calls;
  std::vector<std::string> kernels{"longer",  "more", "twice",       "grow",   "joined",
                                   "shorter", "near", "from_number", "advance"};
  for (int i = 0; i < kRoutines; ++i) {
    const std::string n = std::to_string(i);
    kernels.push_back("r" + n);
    calls += "    call r" + n + "(6, x, g, *1" + n + ", k, h, *2" + n +
             ", e)\n    print *, 'end'\n    goto 3" + n + "\n1" + n +
             "  print *, 'first'\n    goto 3" + n + "\n2" + n + "  print *, 'second'\n3" + n +
             "  print '(i0, 1x, i0, 1x, i0, 1x, a, 6f10.4)', " + n +
             ", k, calls, g, x\n    print *, h%n, h%width, h%part\n";
  }
  f.write(
      "main.f90",
      "program main\n  use routines\n  implicit none\n  real(8) :: x(6)\n  integer "
      ":: k, turn\n  character(:), allocatable :: g\n  type(wide) :: h\n  type(something) :: e\n"
      "  h%part = [1d0, 2d0, 3d0, 4d0]\n  x = [1, 2, 3, 4, 5, 6]\n"
      "  k = 1\n  g = 'given'\n  do turn = 1, 4\n" +
          calls + "  end do\nend program\n");
  INFO("seed " << seed << "\n" << f.read("k.f90"));
  same_program(f, kernels);
}

}  // namespace

TEST_CASE("fortran programs: random variables that Fortran keeps, and alternate returns") {
  const unsigned seed = first_seed();
  const int programs = seed ? 12 : 4;
  for (int i = 0; i < programs; ++i) same_boxes(seed + static_cast<unsigned>(i));
}
