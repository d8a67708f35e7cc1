#include "tests/differential/random_recurrences.h"

#include <fmt/format.h>

namespace moonloop::differential {
namespace {

class RecurrenceWriter {
 public:
  RecurrenceWriter(Random& random, std::string name) : r_(random), name_(std::move(name)) {}

  std::string write() {
    const std::string type = r_.chance(80) ? "float64" : "float32";
    if (r_.chance(20)) beside("v");
    switch (r_.below(5)) {
      case 0: factors(); break;
      case 1: window(); break;
      case 2: pieces(); break;
      default: substitution(); break;
    }
    if (r_.chance(20)) beside("w");
    std::string out = fmt::format(
        "kernel {0}(n: int32, a: inout {1}[n + 2, n + 2], b: in {1}[n + 2, n + 2], "
        "x: inout {1}[n + 2], y: inout {1}[n + 2, n + 2], z: inout {1}[n + 2])\n",
        name_, type);
    for (const std::string& d : domains_) out += "domain " + d + "\n";
    out += "assume n >= 5\n";
    for (const std::string& l : lines_) out += l + "\n";
    return out;
  }

 private:
  void domain(const std::string& inames, const std::string& bounds) {
    domains_.push_back(fmt::format("{{[{}]: {}}}", inames, bounds));
  }
  std::string last_of(const std::string& i) {
    return r_.chance(70) ? i : i + r_.pick({" - 1", " + 1"});
  }
  std::string divided(const std::string& value, const std::string& by) {
    return r_.chance(60) ? fmt::format("({})/(2 + {}**2)", value, by) : value;
  }

  void beside(const std::string& i) {
    domain(i, fmt::format("0 <= {} < n", i));
    lines_.push_back(r_.chance(50) ? fmt::format("z[{0}] = 0.5*z[{0}] + b[{0}, {0}]", i)
                                   : fmt::format("z[{0}] = z[{0}] + 0.25*x[{0}]", i));
  }

  /// x = (b - sum(l*x))/d, of vectors or of the columns of y.
  void substitution() {
    const bool columns = r_.chance(50), inside = r_.chance(30);
    const std::string first = r_.pick({"0", "1"});
    domain("i", first + " <= i < n");
    if (columns) domain("c", "0 <= c < n");
    domain("j", fmt::format("{} <= j < {}", first, last_of("i")));
    const auto at = [&](const std::string& i) {
      return columns ? fmt::format("y[{}, c]", i) : fmt::format("x[{}]", i);
    };
    const std::string start = r_.chance(50) ? at("i") : columns ? "b[i, c]" : "b[i, 0]";
    const std::string l = r_.chance(70) ? "b[i, j]" : "b[j, i]";
    const std::string terms = r_.chance(80)
                                  ? fmt::format("0.1*{}*{}", l, at("j"))
                                  : fmt::format("(0.1*{} if j % 3 != 1 else {})", at("j"), l);
    const std::string condition = r_.chance(20) ? "  {if=i % 2 == 0 or i > 3}" : "";
    if (inside) lines_.push_back("for i");
    const std::string op = r_.pick({"sum", "sum", "sum", "min", "max"});
    const std::string value =
        op == "sum"     ? fmt::format("{} {} sum(j, {})", start, r_.pick({"-", "+"}), terms)
        : r_.chance(50) ? fmt::format("{0}({1}, {0}(j, {2}))", op, start, terms)
                        : fmt::format("{0}({1}, b[i, 1], {0}(j, {2}))", op, start, terms);
    lines_.push_back(fmt::format("{} = {}{}", at("i"), divided(value, "b[i, i]"), condition));
    if (inside) {
      lines_.push_back(columns ? "z[i] = 0.5*z[i] + y[i, 1]" : "z[i] = 0.5*z[i] + x[i]");
      lines_.push_back("end");
    }
  }

  /// The best of all ways to cut pieces i..j of a line in two, those that begin later first.
  void pieces() {
    const bool down = r_.chance(60);
    const std::string i = down ? "n - 1 - d" : "d";
    const std::string first = down ? "n - d" : "d + 1";
    domain("d", "0 <= d < n");
    domain("j", first + " <= j < n");
    domain("k", fmt::format("{} <= k < {}", r_.chance(80) ? first : i, last_of("j")));
    const std::string op = r_.pick({"min", "max"}), to = fmt::format("y[{}, j]", i);
    std::string value = r_.chance(70) ? to : "b[j, 0]";
    if (r_.chance(40)) value += fmt::format(", y[{}, j - 1]", i);
    if (r_.chance(40)) value += fmt::format(", y[{} + 1, j - 1] + b[{}, j]", i, i);
    const std::string other = down ? "y[k + 1, j]" : "b[k + 1, j]";
    lines_.push_back(
        fmt::format("{} = {}({}, {}(k, y[{}, k] + 0.5*{}))", to, op, value, op, i, other));
  }

  /// The factors of a matrix, in place, row by row.
  void factors() {
    const bool symmetric = r_.chance(40);
    domain("i", "0 <= i < n");
    domain("j", "0 <= j < i");
    domain("k", "0 <= k < j");
    const std::string other = symmetric ? "a[j, k]" : "a[k, j]";
    lines_.push_back("for i");
    lines_.push_back("a[i, j] = " +
                     divided("a[i, j] - 0.1*sum(k, a[i, k]*" + other + ")", "a[j, j]"));
    if (symmetric) {
      domain("l", "0 <= l < i");
      lines_.push_back("a[i, i] = 1 + 0.25*a[i, i] - 0.01*sum(l, a[i, l]**2)");
    } else {
      domain("p", "i <= p < n");
      domain("q", "0 <= q < i");
      lines_.push_back("a[i, p] = a[i, p] - 0.1*sum(q, a[i, q]*a[q, p])");
    }
    if (r_.chance(20)) lines_.push_back("x[i] = a[i, i] + 0.5*x[i]");
    lines_.push_back("end");
  }

  /// Each result of some before it.
  void window() {
    domain("i", "3 <= i < n");
    domain("j", r_.chance(50) ? "i - 3 <= j < i" : "0 <= j < i - 2");
    lines_.push_back("x[i] = b[i, 1] + 0.1*sum(j, b[j, i]*x[j])");
  }

  Random& r_;
  std::string name_;
  std::vector<std::string> domains_, lines_;
};

}  // namespace

std::string random_recurrences(Random& random, const std::string& name) {
  return RecurrenceWriter(random, name).write();
}

}  // namespace moonloop::differential
