// Random routines: Moonloop's and gfortran's results are the same.
#include <random>

#include "codegen/codegen.h"
#include "tests/fortran/gfortran.h"

using namespace moonloop;

namespace {

/// Writes routines of one signature: nests with every kind of bound and step, sections, choices,
/// reductions, masks, ways out of loops, jumps, and calls of what they contain. All subscripts are
/// inside, all values stay small, and each jump back has a turn that is the last.
class Writer {
 public:
  explicit Writer(unsigned seed) : random_(seed) {}

  std::string routine(const std::string& name) {
    out_ = "subroutine " + name +
           "(n, m, a, x, k, s)\n"
           "  implicit none\n"
           "  integer, intent(in) :: n, m\n"
           "  real(8), intent(inout) :: a(n, n), x(n), s(4)\n"
           "  integer, intent(inout) :: k(n)\n"
           "  integer :: i, j, l, c, q, z(40)\n"
           "  real(8) :: t, u\n"
           "  logical :: f\n"
           "  if (n < 1) return\n"
           "  i = 1; j = 1; l = 1; c = 1\n"
           "  t = 0.25d0; u = 0.5d0; f = .false.\n";
    open_.clear();
    labels_ = 0;
    body(2 + pick(3), 1);
    line(1, "s(1) = s(1) + t - u + c");
    line(1, "s(2) = i + 10*j + 100*l");
    line(1, "if (f) s(3) = -s(3)");
    return out_ + kContained + "end subroutine\n";
  }

 private:
  static constexpr const char* kContained = R"(contains
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

  int pick(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  bool chance(int percent) { return pick(100) < percent; }
  std::string one_of(const std::vector<std::string>& all) {
    return all[static_cast<std::size_t>(pick(static_cast<int>(all.size())))];
  }
  void line(int depth, const std::string& text) {
    out_ += std::string(static_cast<std::size_t>(2 * depth), ' ') + text + "\n";
  }

  void body(int statements, int depth) {
    if (labels_ < 9 && depth < 4 && chance(12)) return ahead(depth);
    if (labels_ < 9 && depth < 4 && chance(8)) return back(depth);
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

  void assignment(int depth) {
    switch (pick(8)) {
      case 0: return line(depth, "t = " + real(2));
      case 6: return line(depth, "c = c + " + one_of({"1", "3", "m", "(-2)"}));
      case 1: return line(depth, "c = " + integer(2));
      case 2: return line(depth, "k(" + index() + ") = " + integer(2));
      case 3: return line(depth, "f = " + condition(2));
      case 4: return line(depth, "u = 0.5d0*u + " + real(1));
      case 5: return line(depth, "a(" + index() + ", " + index() + ") = " + real(2));
      default: return line(depth, "x(" + index() + ") = " + real(2));
    }
  }

  void masked(int depth) {
    const std::string i = index();
    switch (pick(6)) {
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
    switch (pick(9)) {
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
    switch (pick(8)) {
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
    switch (pick(6)) {
      case 0: return line(depth, "t = sum(x(" + i + ":))/n");
      case 1: return line(depth, "u = maxval(a(:, " + i + "))");
      case 2: return line(depth, "c = count(x > " + real(0) + ")");
      case 3: return line(depth, "s(4) = 0.5d0*s(4) + dot_product(x, a(" + i + ", :))/n");
      case 4: return line(depth, "f = any(k == " + integer(0) + ") .or. all(x > 0.5d0)");
      default: return line(depth, "c = mod(minval(k(:" + i + ")) + product(k(1:n:3)), 11)");
    }
  }

  std::string integer(int depth) {
    if (depth == 0) return one_of({"3", "c", "m", "k(" + index() + ")", "n"});
    switch (pick(6)) {
      case 0: return "mod(" + integer(depth - 1) + " + 7*" + integer(depth - 1) + ", 17)";
      case 1: return "min(" + integer(depth - 1) + ", 9)";
      case 2: return "abs(" + integer(depth - 1) + " - 5)";
      case 3: return "(" + integer(depth - 1) + " - 7)/3";
      case 4: return open_.empty() ? "2" : one_of(open_);
      default: return integer(depth - 1);
    }
  }

  std::string real(int depth) {
    if (depth == 0)
      return one_of(
          {"0.75d0", "t", "u", "x(" + index() + ")", "a(" + index() + ", " + index() + ")"});
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
      default: return real(depth - 1);
    }
  }

  std::string condition(int depth) {
    if (depth > 0 && chance(30))
      return condition(depth - 1) + one_of({" .and. ", " .or. "}) + "(" + condition(depth - 1) +
             ")";
    switch (pick(5)) {
      case 0: return real(0) + one_of({" > ", " <= "}) + real(0);
      case 1: return integer(0) + one_of({" == ", " /= ", " < "}) + integer(0);
      case 2: return "f";
      case 3: return "mod(" + integer(0) + ", 3) == 1";
      default:
        return open_.empty() ? "n > 4" : one_of(open_) + one_of({" > ", " == "}) + integer(0);
    }
  }

  std::mt19937 random_;
  std::string out_;
  int named_ = 0, labels_ = 0;
  std::vector<int> targets_;               // labels ahead, and negative ones of loops around
  std::vector<std::string> open_, names_;  // variables of the loops around, and the loops' names
};

/// The arguments of a call.
struct Data {
  std::int32_t n, m;
  std::vector<double> a, x, s;
  std::vector<std::int32_t> k;

  Data(std::int32_t size, std::int32_t by, unsigned seed) : n(size), m(by) {
    std::mt19937 random(seed);
    const auto fill = [&](std::vector<double>& v, std::size_t count) {
      for (std::size_t i = 0; i < count; ++i) v.push_back(double(random() % 1000) / 1000);
    };
    const auto all = static_cast<std::size_t>(n);
    fill(a, all * all), fill(x, all), fill(s, 4);
    for (std::size_t i = 0; i < all; ++i) k.push_back(static_cast<std::int32_t>(random() % 10));
  }

  /// Equal to rounding.
  static bool same(const std::vector<double>& a, const std::vector<double>& b) {
    for (std::size_t i = 0; i < a.size(); ++i)
      if (!(std::abs(a[i] - b[i]) <= 1e-12 * (1 + std::abs(a[i])))) return false;
    return true;
  }
  bool operator==(const Data& o) const {
    return same(a, o.a) && same(x, o.x) && same(s, o.s) && k == o.k;
  }
};

/// A library, open as long as the object lives.
struct Opened {
  explicit Opened(const std::string& path) : handle(dlopen(path.c_str(), RTLD_NOW)) {
    REQUIRE_MESSAGE(handle != nullptr, dlerror());
  }
  ~Opened() { dlclose(handle); }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;
  void* handle;
};

/// The kernels of `file`; where it is refused, which of its routines is.
test::Imported imported(const std::string& file, const std::vector<std::string>& routines) {
  try {
    return test::import(file);
  } catch (const Error&) {
    for (const std::string& text : routines) try {
        test::import(text);
      } catch (const Error& e) { FAIL(std::string(e.what()) << "\n" << text); }
    throw;
  }
}

void command(const std::vector<std::string>& words) {
  const ProcessResult r = run_process(words);
  INFO(r.output);
  REQUIRE(r.status == 0);
}

}  // namespace

TEST_CASE("fortran: random routines do what gfortran makes of them") {
  const test::Folder folder;
  const char* const given = std::getenv("MOONLOOP_SEED");
  const unsigned first = given ? static_cast<unsigned>(std::strtoul(given, nullptr, 10)) : 0;
  int compared = 0;
  for (unsigned batch = 0; batch < 6; ++batch) {
    std::vector<std::string> texts;
    std::string file;
    for (unsigned i = 0; i < 50; ++i) {
      texts.push_back(Writer(first + 1000 * batch + i).routine("r" + std::to_string(i)));
      file += texts.back() + "\n";
    }
    const std::string base = folder / "batch" + std::to_string(batch);
    test::spit(base + ".f90", file);
    command({find_program("gfortran"), "-O0", "-ffp-contract=off", "-ffree-line-length-none",
             "-fPIC", "-shared", "-o", base + "_gfortran.so", base + ".f90"});
    const test::Imported all = imported(file, texts);
    REQUIRE(all.original.size() == texts.size());
    std::vector<std::string> words{find_program("gcc"), "-O0", "-ffp-contract=off", "-fPIC",
                                   "-shared",           "-o",  base + "_ours.so"};
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const std::string name = base + "_" + std::to_string(i) + ".c";
      CAPTURE(texts[i]);
      REQUIRE_NOTHROW(test::spit(name, generate(all.original[i], Target::C).source));
      words.push_back(name);
    }
    words.emplace_back("-lm");
    command(words);
    const Opened theirs(base + "_gfortran.so"), ours(base + "_ours.so");
    for (std::size_t i = 0; i < texts.size(); ++i)
      for (const auto& sizes : {std::pair{1, 1}, {2, 1}, {7, 2}, {10, 3}}) {
        const int n = sizes.first, m = sizes.second;
        CAPTURE(texts[i]);
        CAPTURE(n);
        const std::string name = "r" + std::to_string(i);
        Data one(n, m, batch), two = one;
        using F = void (*)(void*, void*, void*, void*, void*, void*);
        using G = void (*)(std::int32_t, std::int32_t, void*, void*, void*, void*);
        reinterpret_cast<F>(dlsym(theirs.handle, (name + "_").c_str()))(
            &one.n, &one.m, one.a.data(), one.x.data(), one.k.data(), one.s.data());
        reinterpret_cast<G>(dlsym(ours.handle, name.c_str()))(
            two.n, two.m, two.a.data(), two.x.data(), two.k.data(), two.s.data());
        CHECK(one == two);
        compared += one == Data(n, m, batch) ? 0 : 1;
      }
  }
  CHECK(compared > 1000);  // of 1,200 calls those that did anything
}
