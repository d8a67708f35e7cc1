#include "tests/differential/random_claims.h"

#include <fmt/format.h>

#include "tests/differential/values.h"

namespace moonloop::differential {
namespace {

class ClaimsWriter {
 public:
  ClaimsWriter(Random& random, std::string name) : r_(random), name_(std::move(name)) {
    integers_ = r_.chance(60);
    type_ = integers_ ? r_.pick({"int32", "int64"}) : r_.pick({"float64", "float32"});
  }

  Opening write() {
    for (const char* x : {"x", "z"}) domains_.push_back(fmt::format("{{[{0}]: 0 <= {0} < n}}", x));
    if (r_.chance(40))
      claim("assume", r_.pick({"n mod 4 = 0", "n mod 2 = 1", "n >= 8", "n <= 40", "n mod 3 = 2"}));
    const int updates = r_.below(6);
    for (int s = r_.between(1, 4); s > 0; --s) statement(updates);
    if (ticket_) claim("assume_commuting", "count"), claim("assume_disjoint", "list");
    if (update_) claim("assume_commuting", "h");
    if (injective_) claim("assume_injective", "perm");
    if (disjoint_) claim("assume_disjoint", "w");
    for (const char* x : {"x", "z"}) tag(x);
    Opening out;
    out.text = fmt::format(
        "kernel {}(n: int32, perm: in int32[n], d: in int32[3*n + 12], count: inout int32[2], "
        "{})\n",
        name_,
        fmt::format("list: inout {0}[3*n + 12], h: inout int64[3*n + 12], w: inout {0}[n*n], "
                    "a: inout {0}[n], b: inout {0}[n], p: inout {0}[n, n]",
                    type_));
    for (const std::string& d : domains_) out.text += "domain " + d + "\n";
    out.text += "assume n >= 5\n";
    for (const std::string& l : lines_) out.text += l + "\n";
    out.steps = std::move(steps_);
    return out;
  }

 private:
  void claim(const char* step, const std::string& what) {
    steps_.push_back({step, {text(what)}, {}});
  }
  void tag(const std::string& x) {
    if (r_.chance(40)) return;
    const std::string tag = r_.pick({"par", "g.0", "g.0", "g.1", "simd", "ilp"});
    if (tag == "ilp" || r_.chance(40))
      steps_.push_back({"split_iname",
                        {text(x), Value{std::int64_t{r_.between(2, 4)}}},
                        {{"inner_tag", text(r_.pick({"l.0", "l.0", "vec", "ilp", "unr"}))},
                         {"outer_tag", text(r_.pick({"g.0", "g.0", "par"}))}}});
    else
      steps_.push_back({"tag_inames", {Value{ValueDict{{x, text(tag)}}}}, {}});
  }
  void line(const std::string& to, const std::string& value, const std::string& inames,
            const std::string& more = "") {
    lines_.push_back(
        fmt::format("{} = {}  {{id=c{}, inames={}{}}}", to, value, count_++, inames, more));
  }
  /// A loop of one statement only.
  std::string another() {
    const std::string y = fmt::format("y{}", domains_.size());
    domains_.push_back(fmt::format("{{[{0}]: 0 <= {0} < n}}", y));
    return y;
  }
  std::string small(const std::string& value) const {
    return integers_ ? fmt::format("({}) % 1009", value) : fmt::format("0.25*({})", value);
  }
  std::string read(const std::string& x) {
    switch (r_.below(4)) {
      case 0: return fmt::format("a[{}]", x);
      case 1: return fmt::format("b[perm[{}]]", x);
      case 2: return fmt::format("p[{}, {}]", x, r_.below(4));
      default: return fmt::format("b[{}]", x);
    }
  }

  void statement(int updates) {
    const std::string x = r_.pick({"x", "x", "z"});
    switch (r_.below(10)) {
      case 0:
      case 1: return ticket(x);
      case 2:
      case 3:
      case 4: return update(updates, x);
      case 5:
      case 6: {
        injective_ = true;
        const std::string to = r_.chance(70) ? fmt::format("a[perm[{}]]", x)
                                             : fmt::format("p[perm[{}], {}]", x, r_.below(3));
        return line(to, small(r_.chance(50) ? to + " + " + read(x) : "b[" + x + "]"), x);
      }
      case 7: {
        injective_ = true;
        const std::string y = another();
        return line(fmt::format("p[{}, perm[{}]]", y, x), small(read(x) + " + " + read(y)),
                    r_.chance(50) ? y + ":" + x : x + ":" + y);
      }
      case 8: {
        if (!disjoint_)
          place_ = r_.pick({"w[x*x]", "w[perm[x]]", "w[x*x + 2*x]", "w[n*perm[x] + x]"});
        disjoint_ = true;  // of one loop, and one subscript: others would meet
        return line(place_, small(place_ + " + " + read("x")), "x");
      }
      default: return line("b[" + x + "]", small(read(x) + " + " + read(x)), x);
    }
  }

  /// Places of a list, all of which have the same value in the end: whoever comes first gets the
  /// first place.
  void ticket(const std::string& x) {
    if (tickets_++ == 2) return;
    ticket_ = true;
    const std::string at = fmt::format("at{}", tickets_),
                      some = r_.chance(60) ? fmt::format(", if=d[{}] % 3 > 0", x) : "";
    const int taken = count_;
    line(fmt::format("<int32> {}, count[0]", at), "make_tuple(count[0], count[0] + 1)", x,
         ", atomic, tags=at_claimed" + some);
    if (r_.chance(40))
      line(fmt::format("list[{}]", at), integers_ ? "9" : "0.5", x,
           fmt::format(", dep=c{}{}", taken, some));
    line(fmt::format("list[{}]", at), integers_ ? "7" : "0.75", x,
         fmt::format(", dep=c{}{}", taken, some));
  }

  /// Whole numbers that are updated in one way, which commutes by arithmetic.
  void update(int kind, const std::string& x) {
    update_ = true;
    const std::string y = r_.chance(30) && kind < 4 ? another() : "",
                      h = r_.chance(50) ? fmt::format("h[d[{}] % 7]", x)
                                        : fmt::format("h[{}]", r_.below(3)),
                      v = fmt::format("d[{}{}] % 5", x, y.empty() ? y : " + " + y),
                      inames = y.empty() ? x : x + ":" + y;
    const auto to = [&](const std::string& value) {
      line(h, value, inames, ", atomic, tags=at_claimed");
    };
    switch (kind) {
      case 0: return to(fmt::format("({} + {}) % 1009", h, v));
      case 1: return to(fmt::format("({}*({} + 1)) % 101", h, v));
      case 2: return to(fmt::format("({0} + {1} if {1} > 2 else {0})", h, v));
      case 3: return to(fmt::format("({} - {}) % 97", h, v));
      case 4:  // a flag, set by all alike
        return line("h[4]", "d[3]", x, ", atomic, tags=at_claimed");
      default:  // the fetched value is used, without effect
        return line(fmt::format("p[{}, 4], {}", x, h),
                    fmt::format("make_tuple({}*0, {} + {})", h, h, v), x,
                    ", atomic, tags=at_claimed");
    }
  }

  Random& r_;
  std::string name_, type_, place_;
  bool integers_ = false, ticket_ = false, update_ = false, injective_ = false, disjoint_ = false;
  int count_ = 0, tickets_ = 0;
  std::vector<std::string> domains_, lines_;
  std::vector<Call> steps_;
};

}  // namespace

Opening random_claims(Random& random, const std::string& name) {
  return ClaimsWriter(random, name).write();
}

}  // namespace moonloop::differential
