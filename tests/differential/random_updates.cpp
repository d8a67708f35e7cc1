#include "tests/differential/random_updates.h"

#include <fmt/format.h>

#include "tests/differential/values.h"

namespace moonloop::differential {
namespace {

class UpdatesWriter {
 public:
  UpdatesWriter(Random& random, std::string name) : r_(random), name_(std::move(name)) {
    integers_ = r_.chance(60);
    type_ = integers_ ? r_.pick({"int32", "int64"}) : r_.pick({"float64", "float32"});
    operation_ = operation();
  }

  Opening write() {
    rows_ = r_.chance(40);
    if (rows_) domain("k", r_.chance(70) ? "0 <= k < n" : "0 <= k < 3");
    std::string bounds = r_.pick({"0 <= i < n", "0 <= i < n", "2 <= i < n", "0 <= i < 7"});
    if (rows_ && r_.chance(25)) bounds = "0 <= i <= k";
    if (rows_ && r_.chance(25)) {
      lines_.push_back("<int32> m = d[k] % 7  {id=length, inames=k}");
      bounds = "0 <= i < m";
    }
    domain("i", bounds);
    if (r_.chance(40)) in_own_loop("begin", "h[{}] = {}", "x[{}]");
    for (int n = r_.below(2); n >= 0; --n) update(fmt::format("u{}", n), "h");
    if (r_.chance(30)) update("v", "g");
    if (r_.chance(12))  // between the updates
      lines_.push_back(fmt::format("u[i + 1] = h[{}]  {{id=peek, inames={}}}", r_.below(4), all()));
    if (r_.chance(25)) {  // in other loops, and perhaps not as the others
      if (r_.chance(30)) operation_ = operation();
      domain("j", "0 <= j < n");
      lines_.push_back(fmt::format("h[d[j] % 6] = {}  {{id=also, atomic, tags=at_{}, inames=j}}",
                                   value("h[d[j] % 6]", "j"), operation_));
    }
    if (r_.chance(60)) in_own_loop("use", "u[{}] = {}", "h[{}]");
    steps();
    Opening out;
    out.text = fmt::format(
        "kernel {}(n: int32, d: in int32[n + 8], x: {type}[n + 8], u: {type}[2*n + 9], g: inout "
        "{type}[8], h: inout {type}[8])\n",
        name_, fmt::arg("type", type_));
    for (const std::string& each : domains_) out.text += "domain " + each + "\n";
    out.text += "assume n >= 5\n";
    for (const std::string& each : lines_) out.text += each + "\n";
    out.steps = std::move(steps_);
    return out;
  }

 private:
  void domain(const std::string& iname, const std::string& bounds) {
    domains_.push_back(fmt::format("{{[{}]: {}}}", iname, bounds));
  }
  std::string all() const { return rows_ ? "k:i" : "i"; }
  std::string operation() {
    const std::vector<std::string> real{"sum", "product", "min", "max"};
    const std::vector<std::string> whole{"sum",     "sum",     "min",      "max",
                                         "product", "bits_or", "bits_and", "bits_xor"};
    return r_.pick(integers_ ? whole : real);
  }
  /// Terms whose sums are exact.
  std::string term(const std::string& i) {
    return integers_ ? fmt::format("(d[{}] % 9)", i) : fmt::format("0.5*(d[{}] % 9)", i);
  }
  std::string value(const std::string& place, const std::string& i) {
    const std::string e = term(i);
    if (operation_ == "sum")
      return r_.chance(70) ? fmt::format("{} + {}", place, e) : fmt::format("{} - {}", place, e);
    if (operation_ == "product")
      return fmt::format("{}*{}", place,
                         integers_ ? fmt::format("(1 - 2*(d[{}] % 2))", i)
                                   : fmt::format("(1.0 if d[{}] % 2 == 0 else -1.0)", i));
    if (operation_ == "min" || operation_ == "max")
      return fmt::format("{}({}, {})", operation_, place,
                         integers_ ? fmt::format("d[{}] % 50", i) : fmt::format("x[{}]", i));
    const char* sign = operation_ == "bits_or" ? "|" : operation_ == "bits_and" ? "&" : "^";
    return fmt::format("{} {} {}", place, sign, e);
  }

  /// A statement on the elements of `h`, once each.
  void in_own_loop(const std::string& id, const char* statement, const char* value) {
    const std::string i = id + "_i";
    domain(i, fmt::format("0 <= {} < {}", i, r_.chance(70) ? 8 : 5));
    lines_.push_back(fmt::format(fmt::runtime(statement), i, fmt::format(fmt::runtime(value), i)) +
                     fmt::format("  {{id={}, inames={}}}", id, i));
    if (r_.chance(20)) steps_.push_back({"tag_inames", {Value{ValueDict{{i, text("l.0")}}}}, {}});
  }

  void update(const std::string& id, const std::string& array) {
    const std::string row = rows_ ? "k" : "1";
    std::string place;
    switch (r_.below(9)) {
      default: place = "d[i] % 5"; break;
      case 4: place = fmt::format("(i + d[{}]) % 6", row); break;
      case 5: place = "i % 4"; break;
      case 6: place = fmt::format("d[i] % 3 + {} % 2", row); break;
      case 7: place = fmt::format("{}", r_.below(3)); break;
      case 8: place = fmt::format("(d[i + 1] + d[{}]) % 8", row);
    }
    place = fmt::format("{}[{}]", array, place);
    const bool same = array == "h" || r_.chance(50);
    const std::string kept = operation_;
    if (!same) operation_ = operation();
    lines_.push_back(fmt::format("{} = {}  {{id={}{}{}, inames={}}}", place, value(place, "i"), id,
                                 r_.chance(85) ? ", atomic, tags=at_" + operation_ : "",
                                 r_.chance(15) ? ", if=d[i] > 3" : "",
                                 rows_ && r_.chance(90) ? "k:i" : all()));
    operation_ = kept;
  }

  void steps() {
    const bool cut = r_.chance(85);
    const int first = r_.below(3);  // when copies are made
    std::vector<std::string> over{cut ? "i_inner" : "i"};
    const std::string outer = cut ? "i_outer" : rows_ ? "k" : "";
    if (cut) steps_.push_back({"split_iname", {text("i"), number(r_.between(2, 5))}, {}});
    const auto tag = [&](const std::string& iname, const std::string& tag) {
      if (!iname.empty())
        steps_.push_back({"tag_inames", {Value{ValueDict{{iname, text(tag)}}}}, {}});
    };
    const auto privatize = [&](const char* array) {
      ValueDict options;
      if (r_.chance(20)) options.emplace_back("within", text("id:u0"));
      if (r_.chance(30))
        options.emplace_back("holds", text("last"));
      else if (r_.chance(40))
        options.emplace_back("temporary_scope", text(r_.pick({"private", "local", "local"})));
      if (rows_ && r_.chance(25)) over.push_back("k");
      steps_.push_back({"privatize_updates", {text(array), list(over)}, options});
    };
    const std::string group = r_.pick({"g.0", "g.0", "par", "l.1"}),
                      item = r_.pick({"l.0", "l.0", "l.0", "ilp", "vec"});
    if (first == 0) privatize("h");
    if (r_.chance(70)) tag(outer, group);
    if (first == 1) privatize("h");
    if (r_.chance(60)) tag(over[0], item);
    if (first == 2) privatize("h");
    if (r_.chance(30)) privatize("g");
    if (r_.chance(30)) steps_.push_back({"combine_updates", {text("h")}, {}});
  }

  Random& r_;
  std::string name_, type_, operation_;
  bool integers_ = false, rows_ = false;
  std::vector<std::string> domains_, lines_;
  std::vector<Call> steps_;
};

}  // namespace

Opening random_updates(Random& random, const std::string& name) {
  return UpdatesWriter(random, name).write();
}

}  // namespace moonloop::differential
