#pragma once
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <vector>

#include "tests/fortran/writer_parts.h"

namespace moonloop::test {

/// Writes routines of one signature: nests with every kind of bound and step, sections, choices,
/// reductions, masks, ways out of loops, jumps, pointers that move, blocks, an optional argument,
/// loops with directives of OpenMP, texts, calls of what they contain, which has optional
/// arguments too, and of the entries of a subprogram after them. All subscripts are inside, all
/// values stay small, and each jump back has a turn that is the last.
///
/// With `state`, their variables are also in modules (some allocatable, some of a derived type), in
/// a common block, and kept from call to call, and they print, read, ask, allocate variables of the
/// module `state`, go to labels where they cannot read, ask namelists, and call `elsewhere(k)`, of
/// another file, themselves and where it is an argument, and `stir`, which are no kernels and
/// change variables of that module.
class Writer {
 public:
  explicit Writer(unsigned seed, bool state = false)
      : random_(seed),
        asking_(seed + 77),
        state_(state),
        calls_(state && seed % 2 == 1),
        directed_(seed % 3 == 0),
        texts_(seed % 4 == 2),
        apart_(!state && seed % 5 == 1),
        entries_(!directed_ && !state && seed % 7 == 2),
        wide_(!state && seed % 4 == 0),
        parts_(state ? seed % 3 != 1 : seed % 8 == 4 || seed % 8 == 5),
        jumps_(!directed_ || state || wide_),
        asks_(!directed_ && (seed % 8 == 0 || seed % 8 == 5 || seed % 8 == 7)) {}

  /// The module that the routines with state use, and the routine of another file.
  static std::string state() {
    std::string out = kState;
    return out.insert(out.find("contains"), parts::kStateTypes);
  }
  static constexpr const char* kState = R"(module state
  implicit none
  integer :: c
  real(8) :: u, v(0:40)
  real(8), allocatable :: w(:)
  logical :: f
  type pair
    real(8) :: one
    integer :: two
  end type
  type(pair) :: p
  real(8), allocatable :: block(:)
contains
  subroutine stir(y, e, l)  ! no kernel
    real(8), intent(inout) :: y(:)
    integer, intent(inout) :: e
    logical, intent(inout) :: l
    if (size(y) > 1000) stop e
    y(1) = 0.5d0*y(1) + u/8
    e = mod(e + p%two + 1, 7)
    l = l .neqv. e > 3
    v(3) = 0.5d0*v(3) + y(size(y))/8
    p%two = mod(p%two + 1, 6)
    tk%pairs(2)%two = mod(tk%pairs(3)%two + e, 9)
  end subroutine
  subroutine nudge(k)
    integer, intent(inout) :: k
    k = mod(k + c + 1, 5)
    v(2) = 0.5d0*v(2) + 0.25d0
  end subroutine
  real(8) function weigh(k, y)  ! no kernel
    integer, intent(in) :: k
    real(8), intent(inout) :: y
    if (k > 1000) stop k
    y = 0.5d0*y + 0.125d0
    weigh = y + mod(k, 3)
    c = mod(c + 1, 7)
  end function
end module
)";
  /// Of the module or the program that has the routines; its call stays one.
  static constexpr const char* kSpoken = R"(  recursive subroutine spoken(e, what)
    integer, intent(inout) :: e
    character(*), intent(in) :: what
    e = mod(e + len(what) + ichar(what(1:1)), 7)
    if (len(what) > 3) call spoken(e, what(2:3))
  end subroutine
)";
  static constexpr const char* kElsewhere = R"(subroutine elsewhere(k)
  use state
  implicit none
  integer, intent(inout) :: k
  k = mod(k + c + p%two, 7)
  c = mod(c + 3, 11)
  v(1:4) = 0.5d0*v(4:1:-1)
  u = 0.5d0*u + v(2)
  f = .not. f
  p%two = 5
  tk%pairs(:2)%one = 0.5d0*tk%pairs(4:3:-1)%one + tk%pairs(1)%one/8
  tk%pairs%two = mod(tk%pairs%two + 1, 5)
end subroutine
subroutine through(what, k)
  implicit none
  external :: what
  integer, intent(inout) :: k
  call what(k)
  k = mod(k + 1, 9)
end subroutine
)";

  std::string routine(const std::string& name) {
    name_ = name;
    out_ = "subroutine " + name + "(n, m, a, x, k, s, e)\n";
    if (state_) out_ += chance(50) ? "  use state, h => v\n" : "  use state, h => v, only_u => u\n";
    const bool own_u = state_ && out_.find("only_u") != std::string::npos;
    out_ +=
        "  implicit none\n"
        "  integer, intent(in) :: n, m\n"
        "  real(8), target, intent(inout) :: a(n, n), x(n)\n"
        "  real(8), intent(inout) :: s(4)\n"
        "  real(8), intent(inout), optional :: e(4)\n"
        "  real(8), pointer :: pa(:), pb(:), pc(:), pm(:, :)\n"
        "  integer, intent(inout) :: k(n)\n"
        "  integer :: i, j, l, q, o, z(40)\n"
        "  real(8) :: t\n";
    if (entries_) out_ += "  real(8), external :: " + name + "_half\n";
    if (texts_)
      out_ +=
          "  integer :: y\n  character(len=6) :: word, other, list(3)\n"
          "  character(len=3), parameter :: names(4) = ['a  ', 'b1 ', 'abc', '   ']\n";
    if (!state_) out_ += "  integer :: c\n  logical :: f\n";
    if (!state_ || own_u) out_ += "  real(8) :: u\n";
    if (directed_) out_ += "  real(8) :: grid(n, n)\n";
    if (asks_) out_ += "  real(8) :: answers\n";
    if (parts_ && !state_) out_ += parts::kTypes;
    if (directed_ && state_) out_ += "  real(8) :: dt, du\n";
    if (state_)
      out_ +=
          "  integer :: first\n  real(8) :: rest(3)\n  integer, save :: calls = 2\n"
          "  logical, save :: odd\n  real(8), allocatable :: own(:)\n  character(len=8) :: line\n"
          "  common /shared/ first, t, rest\n  character(len=24) :: form\n"
          "  external :: elsewhere, through\n  namelist /some/ first, c, odd\n";
    out_ +=
        "  if (n < 1) return\n"
        "  i = 1; j = 1; l = 1\n"
        "  pa => x\n  pb => a(:, 1)\n  pm(1:2, 1:n/2) => x\n";
    if (parts_ && !state_) out_ += parts::kStart;
    moved_ = 0;
    if (!state_) out_ += "  c = 1; t = 0.25d0; f = .false.\n";
    if (!state_ || own_u) out_ += "  u = 0.5d0\n";
    if (directed_) out_ += "  grid = 0.5d0\n";
    if (asks_) out_ += "  answers = 0.25d0\n";
    if (directed_ && state_) out_ += "  dt = 0.25d0; du = 0.5d0\n";
    if (texts_) out_ += "  word = 'alpha'; other = 'b'; list = 'x'; y = 1\n";
    if (state_)
      out_ +=
          "  if (calls == 2) odd = .true.\n  calls = calls + 1\n  odd = .not. odd\n"
          "  allocate (own(0:n))\n  own = dble(calls)/8\n  line = '5'\n";
    open_.clear();
    labels_ = 0;
    body(2 + pick(3), 1);
    if (directed_ && chance(50)) neighbours(1, state_ ? "dt" : "t", state_ ? "du" : "u");
    line(1, "s(1) = s(1) + t - u + c");
    line(1, "s(2) = i + 10*j + 100*l");
    line(1, "if (f) s(3) = -s(3)");
    if (directed_) line(1, "s(3) = s(3) + sum(grid)/(n*n)");
    if (asks_) line(1, "s(4) = s(4) + answers");
    if (directed_ && state_) line(1, "s(3) = s(3) + dt - du");
    if (state_)
      line(1, std::string("s(4) = s(4) + own(n) + ") + (calls_ ? "" : "sum(w) + ") +
                  "rest(2) + p%one + p%two + h(1)");
    if (texts_) line(1, "s(2) = s(2) + worth(word // list(2)) + 0.5d0*worth(other // list(1))");
    if (parts_ && !state_) line(1, parts::kEnd);
    if (state_) line(1, "deallocate (own)");
    std::string out = out_ + contained() + "end subroutine\n";
    if (entries_) out += with_entries();
    return out;
  }

  std::string contained() const {
    std::string out = kContained;
    if (parts_ && !state_) out += parts::kContained;
    if (!apart_) return out;
    for (const char* head : {"  subroutine mix", "  subroutine bump", "  subroutine spell",
                             "  pure integer function worth", "  pure real(8) function blend",
                             "  logical function asked"})
      out.insert(out.find(head), "  !$moonloop noinline\n");
    return out;
  }

  /// What each routine contains.
  static constexpr const char* kContained = R"(contains
  subroutine apply(what, k)
    external :: what
    integer, intent(inout) :: k
    k = k + 1
    call what(k)
  end subroutine
  subroutine mix(v, w)
    real(8), intent(inout) :: v(:)
    real(8), intent(in) :: w(:)
    integer :: e
    do e = 1, size(v)
      if (w(e) > 2) return
      if (v(e) < 0) cycle
      v(e) = blend(v(e), w(e)) - 0.125d0*m
    end do
  end subroutine
  subroutine bump(e)
    integer, intent(inout) :: e
    if (e > 9) then
      e = e - 7
      return
    end if
    e = e + m
  end subroutine
  subroutine touch(v, w, g, e)
    real(8), intent(inout) :: v(:)
    real(8), intent(in), optional :: w(:), g
    integer, intent(inout), optional :: e
    integer :: o
    if (present(e)) e = mod(e + 1, 7)
    do o = 1, size(v)
      if (present(w)) v(o) = 0.5d0*(v(o) + w(o))
      if (present(g)) then
        if (g > 0.5d0) return
        v(o) = v(o)*0.5d0
      else if (.not. present(w)) then
        v(o) = v(o) - 0.125d0
      end if
    end do
  end subroutine
  subroutine pass(v, w, g)
    real(8), intent(inout) :: v(:)
    real(8), intent(in), optional :: w(:), g
    call touch(v, w, g)
    call touch(v, g=g)
  end subroutine
  pure real(8) function bent(p, q)
    real(8), intent(in) :: p
    real(8), intent(in), optional :: q
    bent = 0.5d0*p
    if (present(q)) bent = bent + 0.25d0*q
  end function
  subroutine spell(v, w, e)
    character(len=*), intent(inout) :: v
    character(*), intent(in) :: w
    integer, intent(inout) :: e
    if (len(w) > 2 .and. v(1:1) /= w(1:1)) v(2:) = w
    e = mod(e + len_trim(w), 10)
    if (v < w) e = e + 1
    if (e > 6) return
    v(len(v):) = char(97 + e)
  end subroutine
  logical function asked(v, e)
    real(8), intent(inout) :: v
    integer, intent(in) :: e
    asked = v > 0.25d0
    if (e > 7) return
    v = 0.5d0*v + 0.125d0*mod(abs(e), 5)
  end function
  pure integer function worth(w)
    character(len=*), intent(in) :: w
    integer :: e
    worth = 0
    do e = 1, len(w)
      worth = mod(worth + e*ichar(w(e:e)), 101)
    end do
  end function
  pure real(8) function blend(p, q)
    real(8), intent(in) :: p, q
    blend = 0.75d0*p
    if (q < p) blend = blend + 0.25d0*q
  end function
  pure function turned(v) result(w)
    real(8), intent(in) :: v(:)
    real(8) :: w(size(v))
    w = v(size(v):1:-1)
    where (w < 0.25d0) w = 0.5d0 - w
  end function
)";

 private:
  int pick(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  bool chance(int percent) { return pick(100) < percent; }
  std::string one_of(const std::vector<std::string>& all) {
    return all[static_cast<std::size_t>(pick(static_cast<int>(all.size())))];
  }
  void line(int depth, const std::string& text) {
    out_ += std::string(static_cast<std::size_t>(2 * depth), ' ') + text + "\n";
  }

  void body(int statements, int depth) {
    if (asks_ && state_ && asking_() % 3 == 0)
      line(depth, std::string("call spoken(c, ") +
                      std::array{"'beta'", "line", "'a'", "line(2:5)"}[asking_() % 4] + ")");
    if (jumps_ && labels_ < 9 && depth < 4 && chance(12)) return ahead(depth);
    if (jumps_ && labels_ < 9 && depth < 4 && chance(8)) return back(depth);
    for (int i = 0; i < statements; ++i) statement(depth);
  }

  // ---- Jumps. Labels are those of the bodies around.

  int label() { return ++labels_; }
  std::string text_of(int label) { return std::to_string(10 * label); }
  void mark(int label, int depth) { line(depth, text_of(label) + " continue"); }
  std::string turns(int label) { return "z(" + std::to_string(label) + ")"; }

  void jump(int depth) {
    const int to = targets_[static_cast<std::size_t>(pick(static_cast<int>(targets_.size())))];
    if (to < 0)
      return line(depth,
                  "if (" + turns(-to) + " < 3 .and. (" + condition(1) + ")) goto " + text_of(-to));
    line(depth, "if (" + condition(1) + ") goto " + text_of(to));
  }

  /// To one or two labels below; scopes may overlap.
  void ahead(int depth) {
    const int one = label(), two = label();
    targets_.push_back(two);
    if (chance(60)) jump(depth);
    statement(depth);
    targets_.push_back(one);
    switch (pick(4)) {
      case 0:
        line(depth, "goto (" + text_of(one) + ", " + text_of(two) + "), " + integer(1));
        break;
      case 1:
        line(depth, "if (" + real(1) + " - 0.5d0) " + text_of(one) + ", " + text_of(two) + ", " +
                        text_of(one));
        mark(label(), depth);
        break;
      default: jump(depth);
    }
    statement(depth);
    targets_.pop_back();
    mark(one, depth);
    statement(depth);
    targets_.pop_back();
    mark(two, depth);
    statement(depth);
  }

  /// A loop, or two that overlap; sometimes one that is entered in its middle.
  void back(int depth) {
    const int one = label(), two = label(), middle = label();
    line(depth, turns(one) + " = 0; " + turns(two) + " = 0");
    const bool enters = chance(40);
    if (enters) line(depth, "if (" + condition(1) + ") goto " + text_of(middle));
    mark(one, depth);
    line(depth, turns(one) + " = " + turns(one) + " + 1");
    targets_.push_back(-one);
    statement(depth);
    mark(two, depth);
    line(depth, turns(two) + " = " + turns(two) + " + 1");
    if (chance(50)) statement(depth);
    if (enters) mark(middle, depth);
    if (chance(50)) statement(depth);
    const auto again = [&](int to) {
      line(depth, "if (" + turns(to) + " < 3 .and. (" + condition(1) + ")) goto " + text_of(to));
    };
    again(one);
    targets_.pop_back();
    if (!chance(50)) return;
    statement(depth);
    again(two);
  }

  void statement(int depth) {
    const int what = pick(100);
    if (depth < 5 && chance(4)) return block(depth);
    if ((wide_ || parts_) && depth < 5 && chance(8)) return associated(depth);
    if (parts_ && chance(18)) return part(depth);
    if (entries_ && chance(15)) return entry(depth);
    if (texts_ && chance(25)) return text(depth);
    if (directed_ && depth < 3 && chance(20)) return directed(depth);
    if (moved_ < 3 && chance(7)) return point(depth);
    if (what < 30 && open_.size() < 3) return loop(depth);
    if (what < 42 && depth < 5) return choice(depth);
    if (what < 48 && depth < 5) return select(depth);
    if (what < 58) return section(depth);
    if (what < 64) return reduction(depth);
    if (what < 70 && !open_.empty()) return leave(depth);
    if (what < 78) return masked(depth);
    if (what < 87) return call(depth);
    assignment(depth);
  }

  // ---- Texts.

  /// One that does not have the variable `without`; `y` is from 1 to 4.
  std::string text_value(int depth, const std::string& without = "") {
    std::vector<std::string> all{"word", "other", "list(2)", "list(1 + mod(abs(c), 3))"};
    std::erase_if(all,
                  [&](const std::string& v) { return v.starts_with(without) && !without.empty(); });
    const std::string v = one_of(all);
    if (depth == 0)
      return one_of({v, v + "(y:)", v + "(2:4)", v + "(y:y)", v + "(y:y + 1)", "'ab'", "'b'", "''",
                     "names(y)", "char(97 + mod(abs(k(" + index() + ")), 9))", "names(2)(:y)"});
    switch (pick(5)) {
      case 0: return text_value(depth - 1, without) + " // " + text_value(depth - 1, without);
      case 1: return "trim(" + text_value(depth - 1, without) + ")";
      case 2: return one_of({"adjustl(", "adjustr("}) + text_value(depth - 1, without) + ")";
      case 3: return "repeat('" + one_of({"x", "yz"}) + "', 3)";
      default: return text_value(depth - 1, without);
    }
  }

  std::string number_of_text(int depth) {
    const std::string a = text_value(depth), b = one_of({"'a'", "'ba'", "names(y)", "other"});
    switch (pick(7)) {
      case 0: return "len_trim(" + a + ")";
      case 1: return "index(" + a + ", " + b + one_of({"", ", .true."}) + ")";
      case 2: return "scan(" + a + ", 'xab')";
      case 3: return "verify(" + a + ", 'b l'" + one_of({"", ", .true."}) + ")";
      case 4: return "len(" + a + ")";
      case 5: return "mod(ichar(word(y:y)), 7)";
      default: return "mod(worth(" + a + "), 9)";
    }
  }

  void text(int depth) {
    const std::string i = index();
    switch (pick(11)) {
      case 0: return line(depth, "y = 1 + mod(abs(" + integer(1) + "), 3)");
      case 1: return line(depth, "list(1 + mod(y, 3)) = " + text_value(2));
      case 2: return line(depth, "list(:2) = " + text_value(1, "list"));
      case 3:
        return line(depth, one_of({"word", "other"}) + one_of({"(y:)", "(2:4)", "(y:y)", "(:y)"}) +
                               " = " + text_value(1));
      case 4: return line(depth, "k(" + i + ") = " + number_of_text(1));
      case 5:
        line(depth, "if (" + text_value(1) + one_of({" == ", " /= ", " < ", " >= "}) +
                        text_value(1) + ") then");
        body(1, depth + 1);
        return line(depth, "end if");
      case 6:
        line(depth, "select case (" + text_value(0) + ")");
        line(depth, "case ('ab', 'b')");
        body(1, depth + 1);
        line(depth, "case ('c':'x')");
        body(1, depth + 1);
        return line(depth, "end select");
      case 7: return line(depth, "call spell(word, " + text_value(1, "word") + ", k(" + i + "))");
      case 8: return line(depth, "call spell(other(2:), " + text_value(1) + " // '', c)");
      default: return line(depth, one_of({"word", "other"}) + " = " + text_value(2));
    }
  }

  // ---- Parts of derived types, and pointers of modules.

  /// One of the statements, of the values or of the names for parts.
  std::string filled(const parts::Lines& all) {
    std::string out = one_of(all);
    for (std::size_t at = 0; (at = out.find('@', at)) != std::string::npos;)
      out.replace(at, 2, out[at + 1] == 'i' ? index() : out[at + 1] == 'r' ? real(0) : integer(0));
    return out;
  }

  const parts::Lines& names_of_parts() const {
    if (!state_) return parts::kOwnNames;
    return calls_ ? parts::kStateNamesFixed : parts::kStateNames;
  }

  void part(int depth) {
    if (!state_) return line(depth, filled(parts::kOwn));
    if (!calls_ && chance(20)) return line(depth, filled(parts::kStateCalls));
    if (calls_ || chance(70)) return line(depth, filled(parts::kState));
    line(depth, filled(chance(60) ? parts::kStateMoved : parts::kState));
  }

  // ---- Entries.

  void entry(int depth) {
    const std::string i = index();
    switch (pick(4)) {
      case 0: return line(depth, "call " + name_ + "_first(n, x, k)");
      case 1: return line(depth, "call " + name_ + "_later(n, x, a(:, " + i + "))");
      case 2: return line(depth, "t = t + " + name_ + "_half(x(" + i + "))");
      default: return line(depth, "call " + name_ + "_last(u, n, a(:, " + i + "))");
    }
  }

  /// A subroutine, which goes on with the statements of others, jumps back or returns, and a
  /// function.
  std::string with_entries() {
    const auto limit = [&] { return one_of({"0.25d0", "0.5d0", "0.75d0"}); };
    const std::string f = name_ + "_double", g = name_ + "_half";
    return "subroutine " + name_ +
           "_first(n, v, k)\n  implicit none\n  integer, intent(in) :: n\n"
           "  real(8), intent(inout) :: v(n), w(n), u\n  integer, intent(inout) :: k(n)\n"
           "  integer :: i\n  real(8) :: c\n  c = 0.5d0\n"
           "  do i = 1, n\n    k(i) = mod(k(i) + 1, 7)\n    if (v(i) > " +
           limit() + ") v(i) = c*v(i)\n  end do\n" +
           one_of({"  return\n", "", "  if (v(1) > " + limit() + ") return\n", "  goto 20\n"}) +
           "entry " + name_ + "_last(u, n, v)\n" + one_of({"", "  c = 0.25d0\n"}) +
           "20 if (v(n) > " + limit() + ") v(n) = 0.5d0*v(n)\n" +
           one_of({"  c = 0.25d0\n  v = v - c*v\n", "  v(1) = 0.5d0*v(1)\n"}) + "  return\nentry " +
           name_ + "_later(n, v, w)\n  c = " + limit() +
           "\n  do i = 1, n\n    w(i) = 0.5d0*w(i) + c*v(i)\n" +
           one_of({"", "    if (w(i) > 2) goto 20\n"}) + "  end do\n" +
           one_of({"  v(n) = 0.5d0\n", "  if (w(1) > v(1)) goto 20\n"}) +
           "end subroutine\nreal(8) function " + f + "(x)\n  implicit none\n" +
           "  real(8), intent(in) :: x\n  real(8) :: " + g + "\n" + f + " = x\n" +
           one_of({"  return\n", ""}) + "entry " + g + "(x)\n  " + f + " = 0.5d0*x\n" +
           one_of({"", "  if (x > 0.5d0) " + g + " = 0.125d0\n"}) + "end function\n";
  }

  // ---- Pointers, which always have n elements, from 1.

  void point(int depth) {
    ++moved_;
    const std::string i = index(), where = chance(30) ? "if (" + condition(1) + ") " : "";
    const std::string p = one_of({"pa", "pb"});
    switch (pick(6)) {
      case 0: return line(depth, where + p + " => a(:, " + i + ")");
      case 1: return line(depth, where + p + " => a(" + i + ", :)");
      case 2: return line(depth, where + p + " => x(n:1:-1)");
      case 3: return line(depth, where + p + " => x");
      case 4: return line(depth, where + "pb => pa");
      default:
        ++moved_;
        if (!where.empty()) line(depth, where + "then");
        line(depth, "pc => pa; pa => pb; pb => pc");
        if (!where.empty()) line(depth, "end if");
    }
  }

  /// With variables of its own, which have the names of others. Some keep their values, and some
  /// begin with those of their type.
  void block(int depth) {
    const bool keeps = state_ && chance(50), defaults = parts_ && !state_ && chance(60);
    line(depth, "block");
    line(depth + 1, "real(8) :: t, ww(3)");
    line(depth + 1, "integer :: o");
    if (keeps) line(depth + 1, "integer, save :: seen = 2, last(2) = [5, 1]");
    if (defaults) line(depth + 1, "type(mark) :: one, pair(2)");
    const bool lacks = !state_ && !directed_ && chance(40);
    if (lacks) line(depth + 1, "real(8), allocatable :: zz(:)");
    line(depth + 1, "t = " + one_of({"0.75d0", "u", "0.5d0*x(" + index() + ")"}));
    line(depth + 1, "do o = 1, 3");
    line(depth + 2, "ww(o) = t + o/8d0");
    line(depth + 1, "end do");
    if (lacks) {
      line(depth + 1, "if (x(" + index() + ") > u) allocate (zz(3), source=0.375d0)");
      line(depth + 1, one_of({"call touch(ww, zz)", "call touch(ww, w=zz, g=t)"}));
    }
    if (keeps) line(depth + 1, "seen = mod(seen + last(2), 9); last = [last(2), seen]");
    if (defaults) {
      line(depth + 1, one_of({"one%x = 0.5d0*one%x + pair(2)%x", "call renew(one)",
                              "pair(1)%k = one%k + pair(2)%k(2)", "call renew(pair(2))",
                              "one = grown(pair(2), m)", "pair(2) = grown(grown(one, c), 2)"}));
      if (chance(50)) line(depth + 1, "if (x(" + index() + ") > u) call renew(one)");
    }
    body(1 + pick(2), depth + 1);
    if (keeps) line(depth + 1, "s(2) = s(2) + seen + last(1)");
    if (defaults) line(depth + 1, "s(4) = 0.5d0*s(4) + one%x + sum(pair(1)%k) + pair(2)%k(1)/8d0");
    line(depth + 1, "s(3) = 0.5d0*s(3) + t/8 + sum(ww)/64");
    line(depth, "end block");
  }

  /// Names for parts of variables, for an element and for a value, which stays.
  void associated(int depth) {
    const std::string i = index();
    const int moved = moved_;
    moved_ = 3;  // no pointer moves while names stand for what it points to
    if (parts_ && (!wide_ || chance(60))) {
      line(depth, "associate (" + filled(names_of_parts()) + ")");
      line(depth + 1, "row(1) = 0.5d0*row(1) + it%one/4");
      body(1 + pick(2), depth + 1);
      if (chance(50)) line(depth + 1, "it%two = mod(abs(it%two + c), 7)");
      line(depth + 1, "it%one = 0.5d0*one + half/8 - row(size(row))/8");
      if (chance(50)) line(depth + 1, "one = half");
      line(depth, "end associate");
      moved_ = moved;
      return;
    }
    const std::string part =
        one_of({"x(" + i + ":)", "pa", "a(:, " + i + ")", "a(" + i + ", n:1:-1)"});
    line(depth, "associate (part => " + part + ", one => a(" + i + ", " + index() + "), half => " +
                    real(1) + ")");
    line(depth + 1, "part(1) = 0.5d0*part(1) + one/4");
    body(1 + pick(2), depth + 1);
    line(depth + 1, "one = 0.5d0*one + half/8 - part(size(part))/8");
    if (chance(40)) line(depth + 1, "call touch(part, g=half)");
    line(depth, "end associate");
    moved_ = moved;
  }

  /// A parallel loop whose iterations call, also with sections and without optional arguments.
  void calls_in_parallel(int depth) {
    line(depth, "!$omp parallel do" + one_of({"", " schedule(static, 1)"}));
    line(depth, "do q = 1, n");
    for (int left = 1 + pick(2); left > 0; --left)
      line(depth + 1,
           one_of({"call touch(a(:, q), grid(:, q))", "call touch(grid(:, q), g=x(q))",
                   "call touch(grid(:q, q), e=k(q))", "call touch(a(q:, q))",
                   "call pass(grid(:, q), a(:, q), g=0.25d0*x(q))", "call pass(a(:, q))",
                   "call mix(grid(:, q), a(:, q))", "call bump(k(q))",
                   "x(q) = bent(x(q), grid(1, q))", "grid(:, q) = 0.5d0*turned(a(:, q)) + u/8",
                   "if (x(q) > u) call touch(grid(:, q), a(:, q), u)"}));
    line(depth, "end do");
  }

  /// A parallel loop, as its directive says.
  void directed(int depth) {
    if (wide_ && chance(40)) return calls_in_parallel(depth);
    if (parts_ && !calls_ && chance(30)) {
      const parts::Lines& all = state_ ? parts::kStateParallel : parts::kOwnParallel;
      line(depth, "!$omp parallel do");
      line(depth, "do q = 1, n");
      for (int left = 1 + pick(3); left > 0; --left) line(depth + 1, one_of(all));
      return line(depth, "end do");
    }
    const std::string i = index(), c = integer(0), r = one_of({"0.75d0", "x(q)", "k(q)/8d0"});
    const std::string t = state_ ? "dt" : "t",
                      u = state_ ? "du" : "u";  // those of others are apart
    const auto loop = [&](const std::string& directive, const std::vector<std::string>& body,
                          const std::string& end = "") {
      line(depth, "!$omp " + directive);
      line(depth, "do q = 1, n");
      for (const std::string& b : body) line(depth + 1, b);
      line(depth, "end do");
      if (!end.empty()) line(depth, "!$omp " + end);
    };
    const std::string store = "a(q, " + i + ") = " + t + " + 0.25d0*a(q, " + i + ")";
    switch (pick(14)) {
      case 0:
        loop("parallel do private(" + t + ") reduction(+: " + u + ")",
             {t + " = 0.5d0*x(q) + " + r, store, u + " = " + u + " + " + t + "/(8*n)"});
        return line(depth, t + " = 0.5d0");
      case 1:
        return loop("parallel do lastprivate(" + t + ") schedule(static, 2)",
                    {t + " = 0.5d0*x(q)", store});
      case 2: return loop("simd", {"x(q) = 0.5d0*x(q) + a(q, " + i + ")/8"});
      case 3:
        line(depth, "!$omp parallel private(" + t + ")");
        loop("do",
             {"if (k(q) > " + c + ") then", "  " + t + " = x(q)", "else", "  " + t + " = " + r,
              "end if", store},
             "end do nowait");
        loop("do reduction(max: " + u + ")", {u + " = max(" + u + ", x(q))"});
        line(depth, "!$omp end parallel");
        return line(depth, t + " = 0.25d0");
      case 4:
        line(depth, "!$omp parallel do collapse(2)");
        line(depth, "do o = 1, n");
        line(depth + 1, "do q = 1, n");
        line(depth + 2, "a(q, o) = 0.5d0*a(q, o) + x(q)*" + one_of({t, "0.125d0"}));
        line(depth + 1, "end do");
        return line(depth, "end do");
      case 5:
        return loop("parallel do",
                    {"!$omp atomic", "s(1 + mod(q, 4)) = s(1 + mod(q, 4)) + " + r + "/8"});
      case 6:
        return loop("parallel do",
                    {"!$omp critical", "s(4) = max(s(4), x(q))", "!$omp end critical"});
      case 7: {
        const std::string apart = std::to_string(1 + pick(4));
        line(depth, "!$omp simd safelen(" + apart + ")");
        line(depth, "do q = " + apart + " + 1, n");
        line(depth + 1, "x(q) = 0.5d0*x(q) + x(q - " + apart + ")/4");
        return line(depth, "end do");
      }
      case 8:
        line(depth, "!DIR$ IVDEP");
        line(depth, "do q = 1, n");
        line(depth + 1, t + " = 0.5d0*x(q)");
        line(depth + 1, "if (x(q) > " + r + ") " + store);
        line(depth, "end do");
        return line(depth, t + " = 0.5d0");
      case 9: return parts(depth);
      case 11:
      case 12:
      case 13: return neighbours(depth, t, u);
      default:
        return loop("parallel do firstprivate(" + t + ")", {"x(q) = 0.5d0*x(q) + " + t + "/8"});
    }
  }

  /// Parallel loops that follow each other, over rows of the same arrays.
  void neighbours(int depth, const std::string& t, const std::string& u) {
    const bool region = chance(25), choice = chance(15);
    if (region) line(depth, "!$omp parallel private(" + t + ")");
    for (int left = 2 + pick(3); left > 0; --left) {
      const bool some = choice && !region && chance(50);
      if (some) line(depth++, "if (" + condition(1) + ") then");
      const std::size_t before = out_.size();
      one_of_neighbours(depth, region, t, u);
      if (some) line(--depth, "end if");
      // A condition may ask for it, and it may have been private.
      if (choice && !region && out_.find(" private(" + t, before) != std::string::npos)
        line(depth, t + " = 0.25d0");
    }
    if (region) line(depth, "!$omp end parallel");
    line(depth, t + " = 0.25d0");  // it may have been private
  }

  void one_of_neighbours(int depth, bool region, const std::string& t, const std::string& u) {
    const std::string to = one_of({"a", "grid"}), from = to == "a" ? "grid" : "a";
    const std::string head = region ? "!$omp do" : "!$omp parallel do";
    const std::string range = one_of({"1, n", "1, n", "1, n", "2, n", "1, n - 1"});
    const std::string read = from + one_of({"(o, q)", "(o, q)", "(o, q)", "(o, n + 1 - q)",
                                            "(q, o)", "(o, max(1, q - 1))", "(max(1, o - 1), q)"});
    const std::string value = "0.5d0*" + to + "(o, q) + " + one_of({"0.25d0*", "0.125d0*"}) + read +
                              one_of({"", "", " + x(o)/16", " - k(q)/64d0"});
    const auto inner = [&](const std::vector<std::string>& statements) {
      line(depth, "do q = " + range);
      line(depth + 1, "do o = " + one_of({"1, n", "1, n", "2, n"}));
      for (const std::string& each : statements) line(depth + 2, each);
      line(depth + 1, "end do");
      line(depth, "end do");
    };
    switch (pick(7)) {
      case 0:
        line(depth, head + (region ? "" : " private(" + t + ")"));
        return inner({t + " = " + value, to + "(o, q) = " + t});
      case 1:
        line(depth, head + " reduction(max: " + u + ")");
        return inner({to + "(o, q) = " + value, u + " = max(" + u + ", " + to + "(o, q))"});
      case 2:
        line(depth, head + " reduction(+: " + u + ")");
        return inner({u + " = " + u + " + " + read + "/(8*n*n)"});
      case 3:
        line(depth, head + " collapse(2)");
        line(depth, "do q = " + range);
        line(depth + 1, "do o = 1, n");
        line(depth + 2, to + "(o, q) = " + value);
        line(depth + 1, "end do");
        return line(depth, "end do");
      case 4:
        line(depth, head);
        return inner(
            {"if (" + read + one_of({" > 0.5d0", " < x(q)"}) + ") " + to + "(o, q) = " + value});
      default: line(depth, head); return inner({to + "(o, q) = " + value});
    }
  }

  /// Parts of the axis, in parallel, whose ends scalars keep.
  void parts(int depth) {
    const std::string size = std::to_string(2 + pick(4));
    line(depth, "block");
    line(depth + 1, "integer :: low, high, b, d");
    line(depth + 1, "real(8) :: part(0:5)");
    line(depth + 1, "!$omp parallel do private(low, high, d, part)");
    line(depth + 1, "do b = 1, n, " + size);
    line(depth + 2, "low = " + one_of({"b", "min(b, n)", "max(b, 1)"}));
    line(depth + 2, "high = " + one_of({"min(b + " + size + " - 1, n)", "min(n, low + 1)",
                                        "max(low, min(b + " + size + " - 2, n))"}));
    line(depth + 2, "part(0) = x(low)");
    line(depth + 2, "do d = low + 1, high");
    line(depth + 3, "part(d - low) = 0.5d0*x(d) - part(d - low - 1)/4");
    line(depth + 2, "end do");
    line(depth + 2, "do d = " + one_of({"low, high", "high, low, -1"}));
    line(depth + 3, "x(d) = 0.5d0*x(d) + part(" + one_of({"d - low", "high - d"}) + ")/8");
    line(depth + 2, "end do");
    line(depth + 1, "end do");
    line(depth, "end block");
  }

  /// In 1 to n, for all values of the loops around.
  std::string index() {
    if (open_.empty() || chance(10)) return one_of({"1", "n", "(n + 1)/2"});
    const std::string v = one_of(open_);
    return chance(75) ? v : "n + 1 - " + v;
  }

  void loop(int depth) {
    const std::vector<std::string> all{"i", "j", "l"};
    std::vector<std::string> free;
    for (const std::string& v : all)
      if (std::find(open_.begin(), open_.end(), v) == open_.end()) free.push_back(v);
    const std::string v = one_of(free);
    const auto inside = [&](const std::vector<std::string>& more) {
      std::vector<std::string> ends = more;
      for (const std::string& o : open_) ends.push_back(o), ends.push_back("n + 1 - " + o);
      return one_of(ends);
    };
    const std::string least = inside({"1", "1", "2", "n/3 + 1", "max(1, k(1) - 2)"});
    const std::string most = inside({"n", "n", "n - 1", "n/2", "min(n, 2*m)", "min(n, k(n))"});
    const bool down = chance(25);
    const std::string name = chance(20) ? "loop_" + std::to_string(++named_) : "";
    std::string head = (name.empty() ? "" : name + ": ") + "do " + v + " = " +
                       (down ? most + ", " + least : least + ", " + most);
    const int step = pick(10);
    if (down) head += step < 6 ? ", -1" : step < 8 ? ", -2" : ", -m";
    if (!down && step > 5) head += step < 8 ? ", 2" : step < 9 ? ", 3" : ", m";
    line(depth, head);
    open_.push_back(v);
    names_.push_back(name);
    body(1 + pick(3), depth + 1);
    open_.pop_back();
    names_.pop_back();
    line(depth, "end do" + (name.empty() ? "" : " " + name));
  }

  void choice(int depth) {
    line(depth, "if (" + condition(2) + ") then");
    body(1 + pick(2), depth + 1);
    if (chance(40)) {
      line(depth, "else if (" + condition(1) + ") then");
      body(1, depth + 1);
    }
    if (chance(50)) {
      line(depth, "else");
      body(1 + pick(2), depth + 1);
    }
    line(depth, "end if");
  }

  void select(int depth) {
    line(depth, "select case (" + integer(1) + ")");
    line(depth, "case (:2)");
    body(1, depth + 1);
    if (chance(50)) {
      line(depth, "case default");
      body(1, depth + 1);
    }
    line(depth, "case (4, 6:9)");
    body(1, depth + 1);
    line(depth, "end select");
  }

  void leave(int depth) {
    if (!targets_.empty() && chance(50)) return jump(depth);
    std::string way = one_of({"exit", "cycle", "exit", "cycle", "return"});
    const std::string& name =
        names_[static_cast<std::size_t>(pick(static_cast<int>(names_.size())))];
    if (way != "return" && !name.empty() && chance(60)) way += " " + name;
    line(depth, "if (" + condition(1) + ") " + way);
  }

  /// Of variables that are elsewhere.
  void outer(int depth) {
    const std::string i = index();
    switch (chance(40) ? 15 + pick(calls_ ? 13 : 4) : pick(calls_ ? 28 : 19)) {
      case 15: return read_or_skip(depth);
      case 16:
        line(depth, "form = '&some " + one_of({"first=3 /'", "c=2, odd=T /'", "none=1 /'"}));
        return line(depth, "read (form, nml=some, iostat=q)");
      case 17: return line(depth, "write (*, some)");
      case 18:
        return line(depth, "k(" + i + ") = mod(abs(exponent(x(" + i + ")) + exponent(t)), 10)");
      case 11: return line(depth, "write (line, '(i8)', iostat=q) k(" + i + ") + 1");
      case 12: return line(depth, "read (line, *, iostat=q) c");
      case 13: return line(depth, "inquire (unit=77, opened=f, iostat=q)");
      case 14: return memory(depth, i);
      case 19: return line(depth, "call stir(x(" + i + ":), k(" + i + "), f)");
      case 20: return line(depth, "call stir(a(" + i + ", :), k(1), odd)");
      case 21: return line(depth, "call stir(own, c, f)");
      case 22: return line(depth, "call through(elsewhere, k(" + i + "))");
      case 23: return line(depth, "call apply(elsewhere, k(" + i + "))");
      case 24: return line(depth, "call through(nudge, k(" + i + "))");
      case 25: return line(depth, "t = 0.5d0*t + weigh(k(" + i + "), x(" + i + "))");
      case 26: return line(depth, "if (weigh(k(" + i + "), u) > 1.5d0) call apply(nudge, k(1))");
      case 0: return line(depth, "h(" + i + " - 1) = " + real(1));
      case 1: return line(depth, "p%one = 0.5d0*p%one + " + real(1));
      case 2: return line(depth, "p%two = " + integer(1));
      case 3: return line(depth, "first = mod(first + " + integer(1) + ", 9)");
      case 4: return line(depth, "rest(2) = 0.5d0*(rest(1) + " + real(0) + ")");
      case 5: return line(depth, "own(" + i + ") = own(" + i + " - 1) + 0.25d0");
      case 6: return line(depth, "if (odd) rest(1) = " + real(0));
      case 7: return line(depth, "h(1:" + i + ") = 0.5d0*h(0:" + i + " - 1)");
      case 8: return line(depth, "own(1:) = 0.5d0*own(:n-1) + x");
      case 9:
        return line(depth, "print *, 'at', " + i + ", c, f, p%two, -3_8, -2_1, " + wide(0) + ", " +
                               wide(1));
      case 10: return line(depth, "write (*, '(a, i6, 3l2)') \"it's\", k(1), f, odd, c > 3");
      default: return line(depth, "call elsewhere(k(" + i + "))");
    }
  }

  /// A variable of a module that gets memory here, and what uses it, which may be left in between.
  void memory(int depth, const std::string& i) {
    kept_ = true;  // and then no optional arguments
    line(depth, "if (allocated(block)) deallocate (block)");
    line(depth, "allocate (block(0:abs(k(" + i + "))), stat=q)");
    line(depth, one_of({"block = ", "block(:) = ", "block(0) = "}) + real(1));
    if (chance(50)) {
      line(depth, "do q = 0, size(block) - 1");
      line(depth + 1, "block(q) = 0.5d0*q + " + real(1));
      if (chance(30)) leave_loop(depth + 1);
      line(depth, "end do");
    }
    if (chance(30)) line(depth, "block = [t, x(" + i + "), u]");
    line(depth, "if (block(lbound(block, 1)) > " + real(0) + ") then");
    body(1, depth + 1);
    line(depth,
         one_of({"else if (size(block) > 3) then", "else if (.not. allocated(block)) then"}));
    line(depth + 1, "x(" + i + ") = 0.5d0*x(" + i + ") + 0.25d0*block(lbound(block, 1))");
    if (chance(50)) {
      line(depth, "else");
      body(1, depth + 1);
    }
    line(depth, "end if");
    line(depth, "if (allocated(block)) deallocate (block)");
    kept_ = false;
  }

  /// Of a loop without a name, whatever loops are around.
  void leave_loop(int depth) {
    line(depth, "if (" + condition(1) + ") " + one_of({"exit", "cycle", "return"}));
  }

  /// A statement of Fortran that goes to a label where it fails.
  void read_or_skip(int depth) {
    if (labels_ >= 9) return line(depth, "line = 'none'");
    const int failed = label();
    line(depth, "read (line, '(i8)', err=" + text_of(failed) + ") c");
    body(1, depth);
    mark(failed, depth);
  }

  void assignment(int depth) {
    if (state_ && chance(50)) return outer(depth);
    if (state_ && !calls_ && chance(10)) return line(depth, "w(" + index() + " - 3) = " + real(1));
    switch (pick(8)) {
      case 0: return line(depth, "t = " + real(2));
      case 6: return line(depth, "c = c + " + one_of({"1", "3", "m", "(-2)"}));
      case 1: return line(depth, "c = " + integer(2));
      case 2: return line(depth, "k(" + index() + ") = " + integer(2));
      case 3: return line(depth, "f = " + condition(2));
      case 4: return line(depth, "u = 0.5d0*u + " + real(1));
      case 5: return line(depth, "a(" + index() + ", " + index() + ") = " + real(2));
      default:
        return line(depth, one_of({"x", "x", "pa", "pb"}) + "(" + index() + ") = " + real(2));
    }
  }

  void masked(int depth) {
    const std::string i = index();
    switch (pick(8)) {
      case 6:
        line(depth, "c = count(x > t)");
        return line(depth, one_of({"x(1:c) = 0.5d0*pack(x, x > t)",
                                   "a(1:c, " + i + ") = pack(a(" + i + ", :), x > t)",
                                   "x(:c) = pack(x, x > t) + " + real(1)}));
      case 7:
        return line(depth, one_of({"t = sum(pack(x, k > 2))/n", "c = size(pack(k, x > t))",
                                   "x = 0.5d0*pack(x, x > u, vector=a(:, " + i + "))",
                                   "k = mod(pack(k, x > t, k), 9)"}));
      case 0: return line(depth, "where (x > " + real(0) + ") x = 0.5d0*x(n:1:-1)");
      case 1:
        line(depth, "where (a(:, " + i + ") > x)");
        line(depth + 1, "x = 0.5d0*(a(:, " + i + ") + " + real(0) + ")");
        line(depth, "elsewhere (k < " + integer(0) + ")");
        line(depth + 1, "a(:, " + i + ") = x");
        line(depth, "elsewhere");
        line(depth + 1, "k = mod(k + 1, 9)");
        return line(depth, "end where");
      case 2: return line(depth, "forall (q = 1:n, k(q) > 3) x(q) = 0.5d0*x(n + 1 - q)");
      case 3:
        line(depth, "forall (q = 1:n)");
        line(depth + 1, "where (a(:, q) > x) a(:, q) = 0.5d0*a(q, :)");
        line(depth + 1, "x(q) = a(q, " + i + ")");
        return line(depth, "end forall");
      case 4: return line(depth, "x = 0.5d0*x(1 + mod(abs(k), n)) + 0.25d0*a(" + i + ", :)");
      default:
        return line(depth, "c = " + one_of({"maxloc(x, 1)", "minloc(a(:, " + i + "), 1, x > t)",
                                            "sum(maxloc(a, a < u))"}));
    }
  }

  void call(int depth) {
    const std::string i = index();
    switch (pick(16)) {
      case 9: return line(depth, "call touch(x)");
      case 10: return line(depth, "call touch(" + one_of({"x", "pa"}) + ", (a(:, " + i + ")))");
      case 11: return line(depth, "call touch(a(" + i + ", :), g=0.5d0*t)");
      case 12: return line(depth, "call touch(" + one_of({"x", "pb"}) + ", e=c)");
      case 13: return line(depth, "call pass(x" + one_of({"", ", (pa)", ", g=0.75d0*u"}) + ")");
      case 14: return line(depth, "t = bent(t) + bent(u, " + real(0) + ")");
      case 15:
        return line(depth, kept_ ? "t = u" : "if (present(e)) e(2) = 0.5d0*e(2) + " + real(0));
      case 6: return line(depth, "call mix(x, (x(n:1:-1)))");  // in parentheses: as it was before
      case 7: return line(depth, "call mix(x(2:n), (x(1:n-1)))");
      case 0: return line(depth, "call mix(x, a(:, " + i + "))");
      case 1: return line(depth, "call mix(a(" + i + ", 1:n:2), x(n:1:-2))");
      case 2: return line(depth, "call bump(k(" + i + "))");
      case 3: return line(depth, "call bump(c)");
      case 4: return line(depth, "t = blend(t, " + real(1) + ")");
      case 5: return line(depth, "x = 0.5d0*turned(x) + 0.25d0*turned(a(" + i + ", :))");
      default: return line(depth, "if (blend(u, x(" + i + ")) > t) x = turned(a(:, " + i + "))");
    }
  }

  void section(int depth) {
    const std::string i = index();
    switch (pick(14)) {
      case 10:
        return line(depth, "x(" + i + ":n:" + i + ") = 0.5d0*x(" + i + ":n:" + i + ") + t/4");
      case 11: return line(depth, "x(1:n:" + i + ") = 0.5d0*x(n:1:-(" + i + "))");
      case 12: return line(depth, "pm = 0.5d0*pm + " + one_of({"t/8", "transpose(a(:n/2, :2))/8"}));
      case 13: return line(depth, "if (n > 1) pm(2, :) = 0.5d0*pm(1, n/2:1:-1) + pm(2, n/2)/4");
      case 8: return line(depth, "pa = 0.5d0*pb + " + one_of({"x/8", "pa/4", real(0)}));
      case 9: return line(depth, "pb(2:) = 0.5d0*(pa(:n-1) + x(2:n))");
      case 0: return line(depth, "x(2:n) = 0.5d0*x(1:n-1) + " + real(1));
      case 1: return line(depth, "x = x(n:1:-1) + 0.25d0*a(:, " + i + ")");
      case 2: return line(depth, "a(" + i + ", :) = 0.5d0*a(:, " + i + ") + x");
      case 3: return line(depth, "x(1:n:2) = 0.5d0*x(n:1:-2)");
      case 4: return line(depth, "k = mod(k + " + integer(1) + ", 13)");
      case 5:
        return line(depth, "a(:, " + i + ") = merge(x, a(:, " + i + "), x > " + real(0) + ")");
      case 6: return line(depth, "a(:" + i + ", :) = 0.5d0*abs(a(:" + i + ", :))");
      default: return line(depth, "x(" + i + ":) = " + real(1));
    }
  }

  void reduction(int depth) {
    const std::string i = index();
    switch (pick(11)) {
      case 8: return line(depth, "t = sum(pm)/(2*n) + sum(x(1:n:" + i + "))/n");
      case 9:
        return line(depth, "c = mod(" +
                               one_of({"sum(maxloc(a, 2))", "sum(findloc(a > u, .true., 1))",
                                       "maxval(minloc(a, 1, a > t, back=f))"}) +
                               ", 11)");
      case 10: return line(depth, "k = mod(k + maxloc(a, dim=2), 9)");
      case 6: return line(depth, "t = sum(pa)/(2*n) + maxval(pb)/4");
      case 7: return line(depth, kept_ ? "u = t" : "if (present(e)) u = 0.5d0*u + sum(e)/8");
      case 0: return line(depth, "t = sum(x(" + i + ":))/n");
      case 1: return line(depth, "u = maxval(a(:, " + i + "))");
      case 2: return line(depth, "c = count(x > " + real(0) + ")");
      case 3: return line(depth, "s(4) = 0.5d0*s(4) + dot_product(x, a(" + i + ", :))/n");
      case 4: return line(depth, "f = any(k == " + integer(0) + ") .or. all(x > 0.5d0)");
      default: return line(depth, "c = mod(minval(k(:" + i + ")) + product(k(1:n:3)), 11)");
    }
  }

  std::string integer(int depth) {
    if (depth == 0 && parts_ && chance(15))
      return filled(!state_  ? parts::kOwnInteger
                    : calls_ ? parts::kStateIntegerFixed
                             : parts::kStateInteger);
    if (depth == 0 && state_ && chance(20)) return one_of({"first", "p%two", "calls", "size(own)"});
    if (depth == 0) return one_of({"3", "c", "m", "k(" + index() + ")", "n"});
    switch (pick(7)) {
      case 6: return "int(mod(" + wide(depth - 1) + ", 17_8))";
      case 0: return "mod(" + integer(depth - 1) + " + 7*" + integer(depth - 1) + ", 17)";
      case 1: return "min(" + integer(depth - 1) + ", 9)";
      case 2: return "abs(" + integer(depth - 1) + " - 5)";
      case 3: return "(" + integer(depth - 1) + " - 7)/3";
      case 4: return open_.empty() ? "2" : one_of(open_);
      default: return integer(depth - 1);
    }
  }

  /// An integer of eight bytes, below 4e15.
  std::string wide(int depth) {
    if (depth <= 0) return one_of({"3000000019_8", "-7_8", "1_8", "int(" + integer(0) + ", 8)"});
    switch (pick(5)) {
      case 0: return "mod(" + wide(depth - 1) + ", 1000003_8)*" + wide(0);
      case 1: return "merge(" + wide(0) + ", " + wide(0) + ", " + condition(0) + ")";
      case 2: return "max(" + wide(depth - 1) + ", " + wide(0) + ")";
      case 3: return "ishft(" + one_of({"1_8", "5_8"}) + ", modulo(" + integer(0) + ", 40))";
      default: return "(popcnt(" + one_of({"-1_8", "7_8"}) + ") + " + wide(0) + ")";
    }
  }

  std::string real(int depth) {
    if (depth == 0 && parts_ && chance(25))
      return filled(!state_  ? parts::kOwnReal
                    : calls_ ? parts::kStateRealFixed
                             : parts::kStateReal);
    if (depth == 0 && state_ && chance(25))
      return one_of({"h(" + index() + ")", "p%one", "rest(3)", "own(" + index() + ")",
                     calls_ ? "u" : "w(" + index() + " - 3)"});
    if (depth == 0)
      return one_of({"0.75d0", "t", "u", "x(" + index() + ")",
                     "a(" + index() + ", " + index() + ")",
                     one_of({"pa", "pb"}) + "(" + index() + ")"});
    switch (pick(9)) {
      case 0: return "0.5d0*(" + real(depth - 1) + " + " + real(depth - 1) + ")";
      case 1: return "0.5d0*" + real(depth - 1) + " - 0.25d0*" + real(depth - 1);
      case 2: return "sqrt(abs(" + real(depth - 1) + "))";
      case 3: return "max(" + real(depth - 1) + ", " + real(depth - 1) + ")";
      case 4: return "dble(" + integer(1) + ")/16";
      case 5:
        return "merge(" + real(depth - 1) + ", " + real(depth - 1) + ", " + condition(0) + ")";
      case 6: return "mod(" + real(depth - 1) + ", 0.7d0)";
      case 7: return "sign(" + real(depth - 1) + ", " + real(depth - 1) + " - 0.4d0)";
      default:
        return "min(abs(" + real(depth - 1) + "), 1.25d0)**mod(abs(" + integer(1) + "), 7)";
    }
  }

  std::string condition(int depth) {
    const std::string plain = plain_condition(depth);
    if (depth == 0 || !asks_ || asking_() % 4 > 0) return plain;
    const char* const junction = asking_() % 2 > 0 ? ".and." : ".or.";
    const char* const about = std::array{"c", "n", "m", "l"}[asking_() % 4];
    return fmt::format("({}) {} {}asked(answers, {})", plain, junction,
                       asking_() % 3 > 0 ? "" : ".not. ", about);
  }

  std::string plain_condition(int depth) {
    if (depth > 0 && chance(30))
      return condition(depth - 1) + one_of({" .and. ", " .or. "}) + "(" + condition(depth - 1) +
             ")";
    switch (pick(6)) {
      case 5: return kept_ || chance(60) ? "u > t" : "present(e)";
      case 0: return real(0) + one_of({" > ", " <= "}) + real(0);
      case 1: return integer(0) + one_of({" == ", " /= ", " < "}) + integer(0);
      case 2: return "f";
      case 3: return "mod(" + integer(0) + ", 3) == 1";
      default:
        return open_.empty() ? "n > 4" : one_of(open_) + one_of({" > ", " == "}) + integer(0);
    }
  }

  std::mt19937 random_;
  std::mt19937 asking_;  // of its own, so that the rest of a routine is the same
  bool state_, calls_;
  bool directed_;  // with loops in parallel
  bool texts_;
  bool apart_;    // some of what they contain is to be functions of their own
  bool entries_;  // of a subprogram after them
  bool wide_;     // parallel loops call and are beside jumps; parts of variables have names
  bool parts_;    // variables of derived types, and pointers and more of a module
  bool kept_ = false;
  bool jumps_;  // which make proofs long
  bool asks_;   // conditions call what changes a variable
  std::string out_, name_;
  int named_ = 0, labels_ = 0, moved_ = 0;
  std::vector<int> targets_;               // labels ahead, and negative ones of loops around
  std::vector<std::string> open_, names_;  // variables of the loops around, and the loops' names
};

}  // namespace moonloop::test
