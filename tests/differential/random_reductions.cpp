#include "tests/differential/random_reductions.h"

#include <fmt/format.h>

#include <vector>

namespace moonloop::differential {
namespace {

class ReductionsWriter {
 public:
  explicit ReductionsWriter(Random& random) : r_(random) {
    integers_ = r_.chance(60);
    type_ =
        integers_ ? r_.pick({"int32", "int64", "int16", "uint8"}) : r_.pick({"float64", "float32"});
    rows_ = r_.chance(50);
  }

  std::string write(const std::string& name) {
    if (rows_) domain("k", "0 <= k < n");
    const int statements = r_.pick(std::vector<int>{1, 1, 2, 3});
    for (int s = 0; s < statements; ++s) statement(s);
    std::string out = fmt::format(
        "kernel {}(n: int32, x: in {type}[n + 4, 2*n + 8], w: in {type}[n + 4, 2*n + 8]", name,
        fmt::arg("type", type_));
    for (const std::string& a : arguments_) out += ", " + a;
    out += ")\n";
    for (const std::string& d : domains_) out += "domain " + d + "\n";
    out += "assume n >= 5\n";
    for (const std::string& l : lines_) out += l + "\n";
    return out;
  }

 private:
  void domain(const std::string& inames, const std::string& bounds) {
    domains_.push_back(fmt::format("{{[{}]: {}}}", inames, bounds));
  }
  std::string row() const { return rows_ ? "k" : "1"; }
  std::string term(const std::string& j) {
    const std::string e = fmt::format("x[{}, {}]", row(), j);
    if (integers_) switch (r_.below(3)) {
        case 0: return fmt::format("({}*{}) % 7", e, j);
        case 1: return fmt::format("({0} % 5 if {1} % 3 == 0 else 1)", e, j);
        default: return fmt::format("{} % 11", e);
      }
    switch (r_.below(3)) {
      case 0: return fmt::format("{}*w[{}, {}]", e, row(), j);
      case 1: return fmt::format("({} if {} % 3 == 0 else 0.5)", e, j);
      default: return e;
    }
  }

  void statement(int number) {
    const std::string i = fmt::format("i{}", number), j = fmt::format("j{}", number),
                      l = fmt::format("l{}", number), y = fmt::format("y{}", number),
                      q = fmt::format("q{}", number), id = fmt::format("s{}", number);
    const bool single = !rows_ && r_.chance(15);  // one value alone
    if (!single)
      domain(i, r_.chance(80) ? fmt::format("0 <= {} < n", i) : fmt::format("1 <= {} < n - 1", i));
    const std::string n = single ? "n - 1" : i;
    domain(j, r_.pick(std::vector<std::string>{
                  fmt::format("0 <= {} < n", j), fmt::format("0 <= {} <= {}", j, n),
                  fmt::format("0 <= {} < {}", j, n), fmt::format("{} <= {} < n", n, j),
                  fmt::format("0 <= {} < 3", j), fmt::format("0 <= {} <= {}", j, n),
                  fmt::format("0 <= {0} <= {1} and {0} mod 2 = 0", j, n)}));
    const std::string at =
        single ? fmt::format("[{}, 0]", row()) : fmt::format("[{}, {}]", row(), i);
    std::string inames = rows_ ? "k" : "";
    if (!single) inames += (rows_ ? ":" : "") + i;
    std::string options = "id=" + id + (inames.empty() ? "" : ", inames=" + inames);
    const auto output = [&](const std::string& name, const std::string& type) {
      arguments_.push_back(fmt::format("{}: {}[n + 4, 2*n + 8]", name, type));
      return name + at;
    };
    if (r_.chance(15) && !single) options += fmt::format(", if={} % 2 == {}", i, r_.below(2));
    const std::string wide = integers_ ? "int64" : type_, e = term(j);
    switch (r_.below(14)) {
      case 0:
      case 1:
      case 2: return line(output(y, wide), fmt::format("sum({}, {})", j, e), options);
      case 3:
        return line(output(y, wide),
                    integers_ ? fmt::format("sum({}, {}) % 1009", j, e)
                              : fmt::format("product({}, 0.5 + {})", j, e),
                    options);
      case 4:
        return line(output(y, type_), fmt::format("{}({}, {})", r_.pick({"max", "min"}), j, e),
                    options);
      case 5:
        return line(output(y, "bool"),
                    fmt::format("{}({}, {} {} 1)", r_.pick({"any", "all"}), j, e,
                                r_.pick({"<", ">", "=="})),
                    options);
      case 6:
      case 7: {
        const std::string to = output(y, type_) + ", " + output(q, "int32");
        return line(to, fmt::format("{}({}, {}, {})", r_.pick({"argmin", "argmax"}), j, e, j),
                    options);
      }
      case 8: {
        const std::string to = output(y, wide) + ", " + output(q, "bool");
        return line(to,
                    fmt::format("reduce(segmented({}), {}, {}, {} % 3 == 1)",
                                r_.pick({"sum", "sum", "max", "min"}), j, e, j),
                    options);
      }
      case 9:
        domain(l, fmt::format("0 <= {} < 4", l));
        return line(output(y, wide), fmt::format("sum(({}, {}), {}*{})", j, l, e, l), options);
      case 10:
        domain(l, fmt::format("0 <= {} <= {}", l, j));
        return line(output(y, wide), fmt::format("sum({}, {} + max({}, {}))", j, e, l, term(l)),
                    options);
      case 11:
        return line(output(y, wide),
                    fmt::format("({} if {} > 2 else sum({}, {}))", integers_ ? "3" : "0.5",
                                single ? "n" : i, j, e),
                    options);
      default: {  // an accumulation that is written out
        const std::string to = output(y, wide);
        const std::string around = inames.empty() ? "" : inames + ":";
        lines_.push_back(fmt::format("{} = 0  {{id={}_0{}}}", to, id,
                                     inames.empty() ? "" : ", inames=" + inames));
        return line(to,
                    r_.chance(60) ? fmt::format("{} + {}", to, e)
                                  : fmt::format("{}({}, {})", r_.pick({"min", "max"}), to, e),
                    fmt::format("id={}, inames={}{}, dep={}_0", id, around, j, id));
      }
    }
  }
  void line(const std::string& to, const std::string& value, const std::string& options) {
    lines_.push_back(fmt::format("{} = {}  {{{}}}", to, value, options));
  }

  Random& r_;
  bool integers_ = false, rows_ = false;
  std::string type_;
  std::vector<std::string> domains_, arguments_, lines_;
};

}  // namespace

std::string random_reductions(Random& random, const std::string& name) {
  return ReductionsWriter(random).write(name);
}

}  // namespace moonloop::differential
