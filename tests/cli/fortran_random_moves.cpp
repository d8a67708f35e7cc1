// Random programs whose routines call procedures that give variables of modules other memory, in
// all ways that Fortran has for this, between loops over these variables.
#include <algorithm>
#include <random>

#include "tests/cli/fortran_program.h"
#include "tests/cli/random_choice.h"

using namespace moonloop::test;

namespace {

// Whatever happens, each of these has at least four elements, from 1, with numbers below 1000.
constexpr const char* kStore = R"(module store
  implicit none
  type part
    integer :: n = 0
    real(8), allocatable :: a(:)
  end type
  type whole
    integer :: turns = 0
    type(part) :: inner
  end type
  type view
    integer :: turns = 0
    real(8), pointer :: q(:) => null()
  end type
  type list
    real(8), allocatable :: x(:)
  contains
    procedure :: renew
    procedure :: copy
    generic :: assignment(=) => copy
  end type
  type holder
    integer :: turns = 0
    type(list) :: l
  end type
  integer, private :: hidden = 3
  integer, protected :: guarded = 2
  interface assignment(=)
    module procedure from_number
  end interface
  interface operator(.of.)
    module procedure number_of
  end interface
  integer :: calls = 0, level = 1, small(4), same(4)
  equivalence (small, same)
  real(8), allocatable :: u(:)
  real(8), allocatable, target :: w(:)
  real(8), target :: pool(40) = 0.5d0
  real(8), pointer :: p(:)
  type(part), target :: s, o
  type(whole) :: b
  type(view) :: v, z
  type(holder) :: h
  type(part), pointer :: chosen
contains
  subroutine touch(k)
    integer, intent(in) :: k
    hidden = mod(hidden + k, 50)
  end subroutine
  subroutine turn_guard()
    guarded = mod(guarded + 1, 7)
  end subroutine
  integer function seen(k)
    integer, intent(in) :: k
    seen = k + hidden + guarded
  end function
  integer function guard(k)
    integer, intent(in) :: k
    guard = k + guarded
  end function
  subroutine through(f, x)
    interface
      subroutine f(n, x)
        integer, intent(in) :: n
        real(8), intent(inout) :: x(n)
      end subroutine
    end interface
    real(8), intent(inout) :: x(4)
    call f(4, x)
  end subroutine
  subroutine renew(self)
    class(list), intent(inout) :: self
    self%x = [self%x(:4), 0.125d0]
  end subroutine
  elemental subroutine copy(to, from)
    class(list), intent(inout) :: to
    type(list), intent(in) :: from
    to%x = [from%x(4:1:-1), 0.5d0, 0.25d0]
  end subroutine
  subroutine from_number(to, from)
    type(part), intent(out) :: to
    real(8), intent(in) :: from
    to%n = 5
    allocate (to%a(5), source=from)
  end subroutine
  real(8) function number_of(k)
    integer, intent(in) :: k
    deallocate (u)
    allocate (u(5), source=0.75d0)
    number_of = k
  end function
  subroutine put(to, from)
    type(part), intent(inout) :: to
    type(part), intent(in) :: from
    to = from
  end subroutine
  subroutine put_in(to, from)
    type(whole), intent(inout) :: to
    type(part), intent(in) :: from
    to%inner = from
  end subroutine
  subroutine fresh(to)
    type(part), intent(out) :: to
    to%a = [1.5d0, 2.5d0, 3.5d0, 4.5d0, 5.5d0, 6.5d0]
  end subroutine
  subroutine longer(x)
    real(8), allocatable, intent(inout) :: x(:)
    x = [x(:4), 0.25d0, 0.75d0]
  end subroutine
  subroutine towards(x, to)
    real(8), pointer, intent(inout) :: x(:)
    real(8), target, intent(in) :: to(:)
    x => to
  end subroutine
  subroutine plus_one(x)
    real(8), intent(inout) :: x(4)
    x = x + 1
  end subroutine
  subroutine with(f)
    external :: f
    call f()
  end subroutine
end module
)";

constexpr const char* kMain = R"(program main
  use store
  implicit none
  integer :: turn
  real(8) :: x(4)
  do turn = 1, 3
    CALLS
  end do
contains
  subroutine fill()
    integer :: e
    calls = turn; level = 1; small = 1
    u = [(mod(7*e + turn, 11)/11d0, e = 1, 5)]
    w = [(mod(5*e + turn, 13)/13d0, e = 1, 5)]
    pool = [(mod(3*e + turn, 17)/17d0, e = 1, 40)]
    p => pool(2:6)
    s%n = 5
    s%a = [(mod(5*e + turn, 7)/7d0, e = 1, 5)]
    o = s
    o%a(5) = 0.25d0
    b%turns = 2
    b%inner = s
    v%q => pool(12:16)
    z%q => pool(22:26)
    h%l%x = [(mod(9*e + turn, 19)/19d0, e = 1, 5)]
    chosen => s
    x = 0.5d0
  end subroutine
  subroutine show(which)
    integer, intent(in) :: which
    print '(99i4)', which, turn, calls, level, small, s%n, b%turns, v%turns
    print '(9es15.6)', x, sum(u), sum(w), sum(p(:4)), sum(s%a), sum(o%a)
    print '(9es15.6)', sum(b%inner%a), sum(v%q(:4)), sum(z%q(:4)), sum(h%l%x), sum(pool)
  end subroutine
end program
subroutine elsewhere()  ! in no module
  use store
  deallocate (u)
  allocate (u(6))
  u = 0.375d0
end subroutine
)";

/// Writes a module of routines, half of which are no kernels and do something to what is in
/// `store`; the other half call these between loops.
class Moves : RandomChoice {
 public:
  /// `inside`: of a main program that has the variables.
  explicit Moves(unsigned seed, bool inside = false) : RandomChoice(seed), inside_(inside) {}

  std::string module(int movers, int routines) {
    return "module routines\n  use, intrinsic :: iso_c_binding, only: c_f_pointer, c_loc\n  use "
           "store\n  implicit none\ncontains\n" +
           all(movers, routines) + "end module\n";
  }
  std::string all(int movers, int routines) {
    std::string out;
    for (int i = 0; i < movers; ++i) out += mover(i, movers);
    for (int i = 0; i < routines; ++i) out += routine(i, movers);
    return out;
  }

 private:
  std::string action(int number, int movers) {
    const std::string next = std::to_string(upto(movers));
    const std::string one = pick({
        "allocate (more(6))\n    more = 0.5d0\n    more(:4) = u(:4)\n    call move_alloc(more, u)",
        "deallocate (u)\n    allocate (u(5), source=0.25d0)",
        "u = [u(:4), 0.5d0, 0.75d0]",
        "call longer(u)",
        "call longer(s%a)",
        "call longer(b%inner%a)",
        "s = o",
        "o = s",
        "b%inner = o",
        "call put(s, o)",
        "call put(b%inner, o)",
        "call put_in(b, o)",
        "call fresh(s)",
        "call fresh(b%inner)",
        "s = 1.5d0",
        "call c_f_pointer(c_loc(pool(7)), p, [5])",
        "call c_f_pointer(c_loc(pool(17)), v%q, [5])",
        "p => pool(21:25)",
        "p(1:) => w",
        "v = z",
        "call towards(p, pool(26:30))",
        "call towards(v%q, pool(26:30))",
        "associate (it => s)\n      it%a = [it%a(:4), 0.5d0]\n    end associate",
        "associate (it => b%inner)\n      it = o\n    end associate",
        "one => s\n    one = o",
        "one => s\n    one%a = [one%a(:4), 0.5d0]",
        "chosen = o",
        "call fresh(chosen)",
        "chosen => o\n    call put(chosen, part(4, [0.25d0, 0.5d0, 0.75d0, 1d0]))",
        "h = holder(3, list([1d0, 2d0, 3d0, 4d0]))",
        "call h%l%renew()",
        "w(1) = w(1) + (.of. 2)",
        "call touch(k)",
        "call turn_guard()",
        "call elsewhere()",
        "call with(elsewhere)",
        "same(2) = same(2) + 1",
        "call plus_one(u)",
        "call plus_one(s%a)",
        "call plus_one(w)",
        "calls = mod(calls + 3, 10)",
        "pool(3) = pool(3) + 0.5d0",
        "level = level + 1\n    if (level < 4) call m" + next + "(k)",
        "level = level + 1\n    if (level < 4) call m" + std::to_string(number) + "(k + 1)",
        "u(2) = u(2) + w(2)",
    });
    // These are in modules and files of their own, which do not know a program's variables.
    const bool apart = has(one, "elsewhere") || has(one, ".of.");
    return inside_ && apart ? "u = [u(:4), 0.125d0]" : one;
  }

  /// No kernel: it may wait for a unit.
  std::string mover(int number, int movers) {
    const std::string name = "m" + std::to_string(number);
    const bool inner = upto(4) == 0 && !inside_;
    std::string body = action(number, movers);
    if (upto(3) == 0) body += "\n    " + action(number, movers);
    std::string out = "  recursive subroutine " + name + "(k)\n    integer, intent(in) :: k\n";
    if (has(body, "more")) out += "    real(8), allocatable :: more(:)\n";
    if (has(body, "one")) out += "    type(part), pointer :: one\n";
    if (has(body, "elsewhere")) out += "    external :: elsewhere\n";
    out += "    if (k > 99) wait (k)\n    ";
    if (!inner) return out + body + "\n  end subroutine\n";
    return out + "call inside()\n  contains\n    subroutine inside()\n    " + body +
           "\n    end subroutine\n  end subroutine\n";
  }

  /// Reads or changes one of the variables.
  std::string loop(const std::string& of) {
    std::string body = pick({"A(i) = A(i) + 0.5d0", "A(i) = A(i) + x(i)", "x(i) = x(i) + A(i)",
                             "x(i) = 0.5d0*x(i) + A(i)"});
    for (std::size_t at = 0; (at = body.find('A', at)) != std::string::npos; at += of.size())
      body.replace(at, 1, of);
    return "    do i = 1, 4\n      " + body + "\n    end do\n";
  }

  std::string routine(int number, int movers) {
    std::string out = "  subroutine r" + std::to_string(number) +
                      "(n, x)\n    integer, intent(in) :: n\n    real(8), intent(inout) :: x(n)\n"
                      "    integer :: i\n";
    std::vector<std::string> of;
    // No two of which a pointer may make one.
    of.push_back(pick({"w", "p", "v%q", "pool"}));
    for (int i = upto(2); i < 2; ++i)
      of.push_back(pick({"u", "s%a", "o%a", "b%inner%a", "h%l%x", "small"}));
    for (int parts = 1 + upto(2); parts > 0; --parts) {
      for (int loops = 1 + upto(2); loops > 0; --loops) out += loop(pick(of));
      const int way = upto(14);
      if (way == 0)
        out += "    " +
               pick({"s = o", "b%inner = o", "v = z", "call longer(u)", "call put(s, o)",
                     "call fresh(s)", "u = [u(:4), 0.5d0]", "p => pool(21:25)",
                     "call towards(p, pool(26:30))", "h%turns = h%turns + 1"}) +
               "\n";
      else if (way > 11)
        out += "    " +
               pick({"call touch(n)", "call turn_guard()", "x(2) = 0.5d0*x(2) + seen(n)",
                     "x(3) = 0.5d0*x(3) + guard(n)"}) +
               "\n";
      else if (way == 1 && number > 0)
        out += "    call r" + std::to_string(upto(number)) + "(n, x)\n";
      else
        out += "    call m" + std::to_string(upto(movers)) + "(n)\n";
    }
    for (const std::string& one : of) out += loop(one);
    return out + "  end subroutine\n";
  }
  bool inside_;
};

void cut(std::string& text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  text.erase(at, text.find(to, at) - at);
}

/// The program of one file, which has the variables and, among its own, these routines; `store`
/// loses them.
std::string program_with(const std::string& routines, std::string main, std::string& store) {
  const std::size_t first = store.find("  integer :: calls"),
                    last = store.find("contains\n", first);
  const std::string variables = store.substr(first, last - first);
  store.erase(first, last - first);
  cut(store, "  interface operator(.of.)", "contains\n");
  cut(store, "  real(8) function number_of(k)", "  subroutine put(to, from)");
  main.insert(main.find("  use store"),
              "  use, intrinsic :: iso_c_binding, only: c_f_pointer, c_loc\n");
  main.insert(main.find("  integer :: turn"), variables);
  main.insert(main.find("  subroutine fill()"), routines);
  main.erase(main.find("subroutine elsewhere()"));
  return main;
}

/// The routines of which `show --what imports` says that they are kernels.
std::vector<std::string> imported(const Folder& f, int routines) {
  const Outcome shown = tool("show k.f90 --what imports", f.str());
  REQUIRE_MESSAGE(shown.err.empty(), shown.err);  // the status is 1 where there is none
  const std::string all = "\n" + shown.out;
  std::vector<std::string> out;
  for (int i = 0; i < routines; ++i) {
    const std::string name = "r" + std::to_string(i);
    const std::size_t at = all.find("\n" + name + " ");
    REQUIRE_MESSAGE(at != std::string::npos, all);
    const std::string line = all.substr(at + 1, all.find('\n', at + 1) - at - 1);
    if (has(line, "imported")) out.push_back(name);
  }
  return out;
}

/// The number of the routine after which the outputs, of three lines each, differ.
std::ptrdiff_t first_difference(const std::string& one, const std::string& other, int routines) {
  const auto at = std::mismatch(one.begin(), one.end(), other.begin(), other.end()).first;
  return std::count(one.begin(), at, '\n') / 3 % routines;
}

/// Returns how many routines are kernels.
std::size_t same_programs(unsigned seed, bool inside = false) {
  constexpr int kRoutines = 16, kMovers = 12;
  const Folder f;
  std::string store = kStore;
  std::string calls;
  for (int i = 0; i < kRoutines; ++i)
    calls += "call fill()\n    call " +
             (i % 2 ? "through(r" + std::to_string(i) : "r" + std::to_string(i) + "(4") +
             ", x)\n    call show(" + std::to_string(i) + ")\n    ";
  std::string main = kMain;
  main.replace(main.find("CALLS"), 5, calls);
  Moves moves(seed, inside);
  if (inside) {
    f.write("k.f90", program_with(moves.all(kMovers, kRoutines), main, store));
  } else {
    f.write("k.f90", moves.module(kMovers, kRoutines));
    main.replace(main.find("  use store"), 11, "  use routines");
    f.write("main.f90", main);
  }
  f.write("store.f90", store);
  INFO("seed " << seed << "\n" << f.read("k.f90"));
  const std::vector<std::string> kernels = imported(f, kRoutines);
  std::string which;
  for (const std::string& k : kernels) which += " --kernel " + k;
  if (kernels.empty()) return 0;
  const Outcome made = tool("gen k.f90 --quiet -o k.c --fortran-interface i.f90" + which, f.str());
  REQUIRE_MESSAGE(made.status == 0, made.err);
  const std::string rest = inside ? "" : " main.f90";
  const std::string fortran = "gfortran -O0 -ffree-line-length-none -std=gnu -w store.f90 ";
  const Outcome built =
      shell("mkdir -p b a && " + fortran + "-J b -o before k.f90" + rest +
                " && gcc -O1 -c k.c && " + fortran + "-J a -o after i.f90" + rest + " k.o -lm",
            f.str());
  REQUIRE_MESSAGE(built.status == 0, built.err << built.out);
  // Memory that is given back has other contents.
  const Outcome before = shell("MALLOC_PERTURB_=165 ./before", f.str()),
                after = shell("MALLOC_PERTURB_=165 ./after", f.str());
  REQUIRE_MESSAGE(before.status == 0, before.err);
  CHECK(before.out.size() > 1000);
  CHECK_MESSAGE(before.out == after.out, "r" << first_difference(before.out, after.out, kRoutines));
  return kernels.size();
}

}  // namespace

TEST_CASE("fortran programs: random calls that give variables of modules other memory") {
  std::size_t kernels = 0;
  for (unsigned batch = 0; batch < 4; ++batch)
    kernels += same_programs(first_seed() + 1000 * batch);
  CHECK(kernels >= 8);
}

TEST_CASE("fortran programs: random calls that give a main program's variables other memory") {
  std::size_t kernels = 0;
  for (unsigned batch = 0; batch < 4; ++batch)
    kernels += same_programs(first_seed() + 1000 * batch, true);
  CHECK(kernels >= 8);
}
