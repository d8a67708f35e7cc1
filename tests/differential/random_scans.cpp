#include "tests/differential/random_scans.h"

#include <fmt/format.h>

#include "tests/differential/values.h"

namespace moonloop::differential {
namespace {

class ScansWriter {
 public:
  ScansWriter(Random& random, std::string name) : r_(random), name_(std::move(name)) {
    integers_ = r_.chance(60);
    type_ = integers_ ? r_.pick({"int32", "int64"}) : r_.pick({"float64", "float32"});
  }

  Opening write() {
    rows_ = r_.chance(75);
    if (rows_) {
      domain("k", r_.chance(80) ? "0 <= k < n" : "0 <= k < 3");
      tag_rows();
    }
    if (r_.chance(25)) line("x", {"i1"}, "0 <= i1 < n", "made", term("x", "i1"));
    const int scans = r_.pick(std::vector<int>{1, 1, 1, 2, 2, 3});
    for (int s = 0; s < scans; ++s) scan(s);
    if (r_.chance(30))
      line("u", {"i2"}, "0 <= i2 < n", "used",
           small(fmt::format("{} + {}", at("y", "i2"), at("y", "n - 1 - i2"))));
    ValueDict options{{"force_scan", Value{true}}};
    if (r_.chance(15)) options.emplace_back("force_outer_iname_for_scan", text("i"));
    steps_.push_back({"realize_reduction", r_.chance(20) ? ValueList{text("id:s0")} : ValueList{},
                      std::move(options)});
    Opening out;
    out.text = fmt::format(
        "kernel {}(n: int32, cnt: in int32[n + 4], {})\n", name_,
        fmt::format("x: {0}[n + 4, 2*n + 8], y: {0}[n + 4, 2*n + 8], u: {0}[n + 4, 2*n + 8], "
                    "q: int32[n + 4, 2*n + 8]",
                    type_));
    for (const std::string& d : domains_) out.text += "domain " + d + "\n";
    out.text += "assume n >= 5\n";
    for (const std::string& l : lines_) out.text += l + "\n";
    out.steps = std::move(steps_);
    return out;
  }

 private:
  void domain(const std::string& iname, const std::string& bounds) {
    domains_.push_back(fmt::format("{{[{}]: {}}}", iname, bounds));
  }
  std::string at(const std::string& array, const std::string& i) const {
    return fmt::format("{}[{}, {}]", array, rows_ ? "k" : "1", i);
  }
  std::string inames(const std::string& i) const { return rows_ ? "k:" + i : i; }
  std::string small(const std::string& value) const {
    return integers_ ? fmt::format("({}) % 1009", value) : fmt::format("0.25*({})", value);
  }
  void line(const std::string& array, const std::vector<std::string>& loops,
            const std::string& bounds, const std::string& id, const std::string& value) {
    domain(loops[0], bounds);
    lines_.push_back(fmt::format("{} = {}  {{id={}, inames={}}}", at(array, loops[0]), value, id,
                                 inames(loops[0])));
    if (r_.chance(25)) tag(loops[0], r_.pick({"l.0", "par", "g.1", "ilp"}), 3);
  }
  /// A term of a sum: small, so that whole numbers stay in their types.
  std::string term(const std::string& array, const std::string& j) {
    const std::string e = at(array, j);
    if (integers_) switch (r_.below(4)) {
        case 0: return fmt::format("({}*{}) % 7", e, j);
        case 1: return fmt::format("({0} % 7 if {1} % 3 == 0 else 1)", e, j);
        default: return fmt::format("({}) % 7", e);
      }
    switch (r_.below(4)) {
      case 0: return fmt::format("{}*{}", e, at("x", j));
      case 1: return fmt::format("({0} if {1} % 3 == 0 else 0.5)", e, j);
      default: return e;
    }
  }

  void tag(const std::string& x, const std::string& tag, int parts) {
    if (r_.chance(40))
      steps_.push_back({"split_iname",
                        {text(x), Value{std::int64_t{r_.between(2, parts)}}},
                        {{"inner_tag", text(tag)}}});
    else
      steps_.push_back({"tag_inames", {Value{ValueDict{{x, text(tag)}}}}, {}});
  }
  void tag_rows() {
    switch (r_.below(8)) {
      case 0:
      case 1: return tag("k", "g.0", 4);
      case 2: return tag("k", r_.pick({"par", "l.1"}), 4);
      case 3: return tag("k", r_.pick({"ilp", "vec", "l.0"}), 4);
      default: return;
    }
  }

  void scan(int number) {
    const std::string id = fmt::format("s{}", number),
                      i = number == 0 ? "i" : fmt::format("i_{}", number),
                      j = number == 0 ? "j" : fmt::format("j_{}", number);
    bool constant = false, within_n = true;
    switch (r_.below(12)) {
      default: domain(i, fmt::format("0 <= {} < n", i)); break;
      case 5: domain(i, fmt::format("2 <= {} < n", i)); break;
      case 6:
      case 7:
        domain(i, fmt::format("0 <= {} < {}", i, r_.pick({"12", "7", "1"})));
        constant = true, within_n = false;
        break;
      case 8: domain(i, fmt::format("0 <= {0} < n and {0} mod 2 = 0", i)); break;
      case 9:
        domain(i, rows_ ? fmt::format("0 <= {} <= k", i) : fmt::format("0 <= {} <= n", i));
        break;
      case 10:
      case 11:
        if (!rows_) return domain(i, fmt::format("0 <= {} < n", i)), scan_over(id, i, j, true);
        lines_.push_back(fmt::format("<int32> m{} = cnt[k] % 7  {{id={}m, inames=k}}", number, id));
        domain(i, fmt::format("0 <= {} < m{}", i, number));
        within_n = false;
    }
    if (r_.chance(60)) {
      if (constant && r_.chance(60))
        steps_.push_back({"tag_inames", {Value{ValueDict{{i, text("l.0")}}}}, {}});
      else
        steps_.push_back({"split_iname",
                          {text(i), Value{std::int64_t{r_.pick(std::vector<int>{2, 3, 4, 16})}}},
                          {{"inner_tag", text("l.0")}}});
    }
    scan_over(id, i, j, within_n);
  }

  void scan_over(const std::string& id, const std::string& i, const std::string& j, bool within_n) {
    std::string bounds;
    switch (r_.below(12)) {
      default: bounds = fmt::format("0 <= {} <= {}", j, i); break;
      case 5: bounds = fmt::format("0 <= {} < {}", j, i); break;
      case 6: bounds = fmt::format("0 <= 2*{} <= {}", j, i); break;
      case 7: bounds = fmt::format("2 <= {} <= {} + 2", j, i); break;
      case 8:
        bounds = within_n ? fmt::format("n - {1} <= {0} <= n", j, i)
                          : fmt::format("0 <= {} <= {}", j, i);
        break;
      case 9: bounds = fmt::format("0 <= {0} <= {1} and {0} mod 2 = 0", j, i); break;
      case 10: bounds = fmt::format("{1} - 1 <= {0} <= {1} and 0 <= {0}", j, i); break;
      case 11: bounds = fmt::format("0 <= {} < n", j);
    }
    const std::string from = scanned_ && r_.chance(60) ? "y" : "x", to = scanned_ ? "u" : "y";
    scanned_ = true;
    const std::string e = r_.chance(20) ? sum_within(from, j, bounds)
                                        : (domain(j, bounds), term(from, j)),
                      y = at(to, i), q = at("q", i);
    const std::string options = fmt::format("{{id={}, inames={}}}", id, inames(i));
    const auto one = [&](const std::string& value) {
      lines_.push_back(fmt::format("{} = {}  {}", y, value, options));
    };
    const auto two = [&](const std::string& value) {
      lines_.push_back(fmt::format("{}, {} = {}  {}", y, q, value, options));
    };
    switch (r_.below(14)) {
      default: return one(fmt::format("sum({}, {})", j, e));
      case 5: return one(small(fmt::format("2*sum({}, {}) + {}", j, e, at("x", i))));
      case 6:
        return integers_ ? one(fmt::format("sum({}, {})", j, e))
                         : one(fmt::format("product({}, 0.5 + {})", j, e));
      case 7: return one(fmt::format("reduce({}, {}, {})", r_.pick({"max", "min"}), j, e));
      case 8:
      case 9: return two(fmt::format("{}({}, {}, {})", r_.pick({"argmin", "argmax"}), j, e, j));
      case 10:
      case 11:
        if (r_.chance(50)) share(j);
        return two(fmt::format("reduce(segmented({}), {}, {}, {} % 3 == 0)",
                               r_.pick({"sum", "sum", "max", "min"}), j, e, cnt(j)));
      case 12:
        return one(fmt::format("({} if any({}, {} > 3) else {})", integers_ ? "5" : "0.5", j,
                               integers_ ? at(from, j) : cnt(j), at("x", i)));
    }
  }
  /// A term that is a sum itself, over bounds that follow `j`, in one domain with it or not.
  std::string sum_within(const std::string& from, const std::string& j, const std::string& bounds) {
    const std::string h = "within_" + j, own = fmt::format("{0} <= {1} <= {0} + 2", j, h);
    if (r_.chance(50)) {
      domain(j, bounds);
      domain(h, own);
    } else {
      domain(j + ", " + h, bounds + " and " + own);
    }
    return fmt::format("sum({}, {})", h, term(from, h));
  }
  /// Neighbouring terms go to each work-item.
  void share(const std::string& j) {
    const std::string axis = r_.pick({"l.0", "l.0", "l.1", "l.2"});
    steps_.push_back({r_.chance(70) ? "chunk_iname" : "split_iname",
                      {text(j), Value{std::int64_t{r_.pick(std::vector<int>{2, 3, 4, 7})}}},
                      {{"outer_tag", text(axis)}}});
  }
  std::string cnt(const std::string& j) const { return fmt::format("cnt[{} % 5]", j); }

  Random& r_;
  std::string name_, type_;
  bool integers_ = false, rows_ = false, scanned_ = false;
  std::vector<std::string> domains_, lines_;
  std::vector<Call> steps_;
};

}  // namespace

Opening random_scans(Random& random, const std::string& name) {
  return ScansWriter(random, name).write();
}

}  // namespace moonloop::differential
