// Random expressions of each kind of numbers: generated code against the interpreter.
#include <random>

#include "tests/runtime/device_kit.h"

using namespace moonloop;
using test::device_target;
using test::run_on;

namespace {

enum class Numbers { Integer, Unsigned, Real, Complex };

/// Expressions of the arrays x, y and z at `i`, whose elements are made up: integers below 10,
/// reals in [0, 1). No divisor is zero, and integers stay far below 2**31.
class Expressions {
 public:
  Expressions(Numbers kind, unsigned seed) : kind_(kind), random_(seed) {}

  std::string next(int depth) {
    if (depth == 0 || below(5) == 0) return leaf();
    const unsigned form = below(6);
    const std::string a = next(depth - 1);
    if (form == 0) return "(" + a + ")" + divided(depth - 1);
    if (form == 1) return power(a);
    const std::string b = next(depth - 1);
    if (form <= 3) return "(" + a + ")*(" + b + ")";
    if (form == 4 && kind_ != Numbers::Unsigned) return a + " - (" + b + ")";  // those would wrap
    return a + " + " + b;
  }

 private:
  unsigned below(unsigned n) { return static_cast<unsigned>(random_() % n); }
  std::string array() { return std::string(1, "xyz"[below(3)]) + "[i]"; }
  std::string leaf() {
    if (below(3) > 0) return array();
    const std::string digit = std::to_string(1 + below(9));
    if (kind_ == Numbers::Real) return digit + "." + std::to_string(below(10));
    if (kind_ == Numbers::Complex) return digit + (below(2) ? ".5" : "j");
    return digit;
  }
  std::string divided(int depth) {
    const std::string op = below(2) ? " // " : " % ", sign = below(2) ? "-" : "";
    switch (kind_) {
      case Numbers::Integer: return op + sign + "(" + array() + " + 3)";
      case Numbers::Unsigned: return op + "(" + next(depth) + " + 1)";
      case Numbers::Real: return "/(" + sign + "(abs(" + next(depth) + ") + 1))";
      case Numbers::Complex: return "/(" + sign + "(abs(" + next(depth) + ") + 1j))";
    }
    return {};
  }
  std::string power(const std::string& base) {
    if (kind_ == Numbers::Integer || kind_ == Numbers::Unsigned) return array() + "**2";
    // Floors jump where their operand is rounded in another way: it is an element that was read.
    if (kind_ == Numbers::Real && below(2)) {
      const std::string op = below(2) ? " // " : " % ", sign = below(2) ? "-" : "";
      return "(" + array() + op + sign + "0.3)";
    }
    std::string exponent = std::to_string(below(10));
    if (kind_ == Numbers::Real && below(3) == 0) exponent += ".0";
    if (kind_ == Numbers::Real && below(3) == 0) exponent = "(-" + exponent + ")";
    return "(" + base + ")**" + exponent;
  }

  Numbers kind_;
  std::mt19937 random_;
};

}  // namespace

TEST_CASE("expressions at random: as the interpreter evaluates them") {
  struct Case {
    Numbers kind;
    const char* type;
  };
  for (const Case& c : {Case{Numbers::Integer, "int32"}, Case{Numbers::Unsigned, "uint32"},
                        Case{Numbers::Real, "float64"}, Case{Numbers::Real, "float32"},
                        Case{Numbers::Complex, "complex128"}}) {
    CAPTURE(c.type);
    std::string args = "n: int32", body;
    for (const char* name : {"x", "y", "z"}) args += fmt::format(", {}: in {}[n]", name, c.type);
    for (unsigned seed = 1; seed <= 6; ++seed) {
      Expressions expressions(c.kind, seed);
      for (int e = 0; e < 10; ++e) {
        const std::string name = fmt::format("r{}_{}", seed, e);
        args += fmt::format(", {}: out {}[n]", name, c.type);
        body += fmt::format("{}[i] = {}\n", name, expressions.next(3));
      }
    }
    const Kernel k =
        parsed(fmt::format("kernel fuzz({})\ndomain {{[i]: 0 <= i < n}}\n{}", args, body));
    run_on(Target::C, k, k, {{"n", "23"}});
    test::run_on_ispc(k, k, {{"n", "23"}});
    if (c.kind != Numbers::Complex) run_on(device_target(), k, k, {{"n", "23"}});
  }
}
