#include "tests/differential/random_groups.h"

#include <fmt/format.h>

#include <cstring>

#include "tests/differential/values.h"

namespace moonloop::differential {
namespace {

class GroupsWriter {
 public:
  GroupsWriter(Random& random, std::string name) : r_(random), name_(std::move(name)) {
    integers_ = r_.chance(70);
    type_ = integers_ ? r_.pick({"int32", "int64"}) : r_.pick({"float64", "float32"});
  }

  Opening write() {
    const bool time = r_.chance(35);
    if (time) add_domain("t", "0 <= t < 3");
    const int phases = r_.between(2, 4);
    if (r_.chance(35)) {  // some of them in one loop over groups
      shared_ = iname("n");
      tag(shared_);
      lines_.push_back("for " + shared_);
      phase();
      phase();
      lines_.push_back("end");
      shared_.clear();
    }
    if (r_.chance(20)) turns();
    for (int p = 0; p < phases; ++p) phase();
    Opening out;
    out.text = fmt::format(
        "kernel {}(n: int32, perm: in int32[n], look: in int32[n], {})\n", name_,
        fmt::format("a: inout {0}[n], b: inout {0}[n], c: inout {0}[n], w: inout {0}[n*n], "
                    "p: inout {0}[n, n], q: inout {0}[n, n]",
                    type_));
    for (const std::string& d : domains_) out.text += "domain " + d + "\n";
    out.text += "assume n >= 5\n";
    for (const std::string& t : temporaries_) out.text += t + "\n";
    if (time) out.text += "for t\n";
    for (const std::string& l : lines_) out.text += l + "\n";
    if (time) out.text += "end\n";
    if (r_.chance(85)) out.steps.push_back({"assume_injective", {text("perm")}, {}});
    if (disjoint_) out.steps.push_back({"assume_disjoint", {text("w")}, {}});
    out.steps.insert(out.steps.end(), steps_.begin(), steps_.end());
    return out;
  }

 private:
  void add_domain(const std::string& iname, const std::string& bounds) {
    domains_.push_back(fmt::format("{{[{}]: {}}}", iname, bounds));
  }
  std::string iname(const std::string& extent) {
    const std::string x = fmt::format("x{}", inames_++);
    add_domain(x, fmt::format("0 <= {} < {}", x, extent));
    return x;
  }
  /// Spreads a loop of `n` iterations.
  void tag(const std::string& x) {
    const std::string axis = r_.pick({"g.0", "g.0", "g.0", "g.1"});
    if (r_.chance(10)) return;
    if (r_.chance(30)) {
      steps_.push_back({"split_iname",
                        {text(x), Value{std::int64_t{r_.between(2, 4)}}},
                        {{"inner_tag", text(r_.pick({"l.0", "l.0", "l.1", "vec"}))},
                         {"outer_tag", text(axis)}}});
    } else {
      steps_.push_back({"tag_inames", {Value{ValueDict{{x, text(axis)}}}}, {}});
    }
  }
  /// By work-items: one of eight iterations, or of as many as a parameter says.
  std::string items(const std::string& extent = "8") {
    const std::string x = iname(extent);
    if (extent != "8" && r_.chance(25))
      steps_.push_back({"chunk_iname",
                        {text(x), Value{std::int64_t{r_.between(2, 3)}}},
                        {{"inner_tag", text("l.0")}}});
    else if (r_.chance(80))
      steps_.push_back({"tag_inames", {Value{ValueDict{{x, text("l.0")}}}}, {}});
    return x;
  }
  /// The loop over groups of a statement: the shared one, or its own.
  std::string group() {
    if (!shared_.empty() && r_.chance(75)) return shared_;
    const std::string x = iname("n");
    tag(x);
    return x;
  }

  std::string place(const std::string& x) {
    switch (r_.below(7)) {
      case 0: return fmt::format("n - 1 - {}", x);
      case 1: return fmt::format("look[{}] % n", x);
      case 2: return fmt::format("perm[{}]", x);
      default: return x;
    }
  }
  std::string read(const std::string& x) {
    switch (r_.below(8)) {
      case 0: return fmt::format("p[{}, {}]", place(x), r_.below(4));
      case 1: return fmt::format("q[{}, {}]", r_.below(4), place(x));
      default: return fmt::format("{}[{}]", r_.pick({"a", "b", "c"}), place(x));
    }
  }
  std::string small(const std::string& value) {
    return integers_ ? fmt::format("({}) % 1009", value) : fmt::format("0.25*({})", value);
  }
  std::string value(const std::string& x) {
    return small(r_.chance(50) ? read(x) : read(x) + " + " + read(x));
  }
  std::string declare(const std::string& shape, const std::string& space) {
    const std::string t = fmt::format("t{}", count_++);
    temporaries_.push_back(fmt::format("temp {}: {}[{}] in {}", t, type_, shape, space));
    return t;
  }
  void line(const std::string& l) { lines_.push_back("  " + l); }

  void phase() {
    const std::string array = r_.pick({"a", "b", "c"});
    switch (r_.below(16)) {
      default: {
        const std::string x = group();
        return line(
            fmt::format("{}[{}] = {}", array, r_.chance(50) ? x : "perm[" + x + "]", value(x)));
      }
      case 2: {
        const std::string x = group(), to = fmt::format("{}[perm[{}]]", array, x);
        return line(fmt::format("{} = {}", to, small(to + " + " + read(x))));
      }
      case 3: {  // each instance has an element of its own: the claim holds
        if (disjoint_ || !shared_.empty()) return;
        disjoint_ = true;
        const std::string x = group();
        return line(
            fmt::format("w[{0}*{0}] = {1}", x, small(fmt::format("w[{0}*{0}] + {1}", x, read(x)))));
      }
      case 4:
      case 5: return matrix();
      case 6: return triangle();
      case 7:
      case 8: return void(own_rows());
      case 9: {  // everybody's vector
        const std::string t = declare("n", "global"), x = iname("n"), y = group();
        tag(x);
        line(fmt::format("{}[{}] = {}", t, x, value(x)));
        return line(fmt::format("{}[{}] = {}", array, y,
                                small(fmt::format("{}[{}] + {}", t, place(y), read(y)))));
      }
      case 12: return whole_rows();
      case 13: return whole_rows();
      case 14: return ragged_rows();
      case 11: return decided_sums();
      case 10: {  // one number for all
        const std::string s = fmt::format("s{}", count_++), k = iname("n"), x = iname("n");
        if (!shared_.empty()) return;
        tag(x);
        line(fmt::format("<{}> {} = sum({}, {})", type_, s, k,
                         integers_ ? read(k) + " % 101" : "0.125*" + read(k)));
        return line(fmt::format("{}[{}] = {}", array, x, small(s + " + " + read(x))));
      }
    }
  }

  /// A grid of two axes, and the sums of its rows.
  void matrix() {
    const std::string x = group(), y = iname("n"), k = iname("n"), m = r_.pick({"p", "q"});
    tag(y);
    line(fmt::format("{}[{}, {}] = {}", m, x, y, small(read(x) + " + " + read(y))));
    const std::string row = r_.chance(50) ? x : group();
    line(fmt::format("{}[{}] = {}", r_.pick({"a", "b", "c"}), row,
                     small(fmt::format("sum({}, {}[{}, {}])", k, m, row,
                                       integers_ || r_.chance(50) ? k : "n - 1 - " + k))));
  }
  /// Each column from the part below the diagonal.
  void triangle() {
    const std::string x = iname("n"), y = group(), k = fmt::format("k{}", inames_++);
    add_domain(k, fmt::format("{} < {} < n", x, k));
    line(fmt::format("q[{0}, {1}] = {2}", x, y,
                     small(fmt::format("q[{0}, {1}] + sum({2}, p[{2}, {0}]{3}*q[{2}, {1}])", x, y,
                                       k, integers_ ? " % 7" : "*0.125"))));
  }
  /// Rows of a grid by work-items, as many as a row has elements, which read one another's.
  void whole_rows() {
    const std::string g = shared_.empty() ? iname("n") : shared_;
    if (shared_.empty()) tag(g);
    const std::string m = r_.pick({"p", "q"}), z = items("n"),
                      y = items(r_.pick({"n", "n - 1", "n - 3"}));
    if (shared_.empty()) line("for " + g);
    line(fmt::format("{}[{}, {}] = {}", m, g, z, small(fmt::format("{} + {}", read(g), z))));
    if (r_.chance(30)) line(fmt::format("{}[{}] = {}", r_.pick({"a", "b"}), g, value(g)));
    line(fmt::format(
        "{}[{}, {}] = {}", m == "p" ? "q" : "p", g, y,
        small(fmt::format("{}[{}, {}] + {}", m, g, r_.chance(50) ? "n - 1 - " + y : y, y))));
    if (shared_.empty()) line("end");
  }
  /// Rows whose lengths are data, several at once.
  void ragged_rows() {
    if (!shared_.empty()) return;
    const std::string x = iname("n"), length = fmt::format("m{}", count_++),
                      k = fmt::format("k{}", inames_++);
    add_domain(k, fmt::format("0 <= {} < {}", k, length));
    if (r_.chance(80))
      steps_.push_back(
          {"split_iname",
           {text(x), Value{std::int64_t{r_.between(2, 4)}}},
           {{"inner_tag", text(r_.pick({"ilp", "vec", "l.0"}))}, {"outer_tag", text("g.0")}}});
    const std::string to = fmt::format("{}[{}]", r_.pick({"a", "b", "c"}), x);
    line(fmt::format("<int32> {} = look[{}] % 5", length, x));
    if (r_.chance(50))
      return line(
          fmt::format("{} = {}", to,
                      small(fmt::format("{} + sum({}, {}*{})", to, k,
                                        integers_ ? read(k) + " % 101" : "0.125*" + read(k), k))));
    line(fmt::format("q[{}, {}] = {}", x, k, small(fmt::format("p[{}, {}] + {}", x, k, k))));
  }
  /// Values that work-items find in a row decide whether another sum is computed.
  void decided_sums() {
    const std::string x = group(), y = items("5"),
                      k = r_.chance(40) ? items("5") : iname(r_.pick({"n", "5"})),
                      m = r_.pick({"p", "q"}), to = r_.pick({"a", "b", "c"});
    const std::string test =
        integers_ ? fmt::format("sum({0}, {1}[{2}, {0}] % 7) % 3 > {3}", y, m, x, r_.below(2))
                  : fmt::format("max({0}, {1}[{2}, {0}]) > {3}", y, m, x, read(x));
    const std::string sum = fmt::format(
        "sum({0}, {1})", k,
        integers_ ? fmt::format("q[{}, {}] % 101", x, k) : fmt::format("0.125*q[{}, {}]", x, k));
    if (r_.chance(50))
      return line(fmt::format("{}[{}] = {}", to, x,
                              small(fmt::format("({} if {} else {})", sum, test, read(x)))));
    line(fmt::format("{}[{}] = {}  {{if={}}}", to, x, small(sum + " + " + read(x)), test));
  }
  /// Arrays that a group uses one after the other, or not quite.
  void turns() {
    shared_ = iname("n");
    tag(shared_);
    lines_.push_back("for " + shared_);
    const std::string first = own_rows(true) + "[0]";
    if (r_.chance(30)) phase();
    own_rows(true);
    if (r_.chance(40)) own_rows(true);
    if (r_.chance(25)) {  // it was needed longer
      const std::string y = items("5");
      line(fmt::format("q[{0}, {1}] = {2}", shared_, y,
                       small(fmt::format("{} + q[{}, {}]", first, shared_, y))));
    }
    lines_.push_back("end");
    shared_.clear();
    steps_.push_back({"share_local_memory", {}, {{"in_loops", Value{r_.chance(60)}}}});
  }
  /// Memory of a group's own, filled whole and then read by any index. \return its name
  std::string own_rows(bool local = false) {
    const bool global = !local && r_.chance(50);
    const std::string g = shared_.empty() ? iname("n") : shared_;
    if (shared_.empty()) tag(g);
    // Far apart, they take more local memory than CUDA's kernels declare.
    const bool large = !global && large_ < 3 && r_.chance(20);
    const int apart = !large ? 1 : type_ == "int32" || type_ == "float32" ? 1800 : 900;
    const std::string far = large ? fmt::format("{}*", apart) : "";
    if (large) ++large_;
    const std::string t =
        declare(global ? "n, 8" : std::to_string(8 * apart), global ? "global" : "local");
    const std::string row = global ? g + ", " : far, z = items(), y = items();
    if (shared_.empty()) line("for " + g);
    line(fmt::format("{}[{}{}] = {}", t, row, z, small(fmt::format("{} + {}", read(g), z))));
    const std::string at = r_.chance(50)   ? fmt::format("((look[{}] + {}) % 8)", g, y)
                           : r_.chance(50) ? "(7 - " + y + ")"
                                           : y;
    const std::string to = r_.chance(50) ? fmt::format("q[{}, {} % 5]", g, y)
                                         : fmt::format("{}[{}]", r_.pick({"a", "b"}), g);
    line(fmt::format("{} = {}  {{if={} < 5}}", to, small(fmt::format("{}[{}{}]", t, row, at)), y));
    if (shared_.empty()) line("end");
    return t;
  }

  Random& r_;
  std::string name_, type_, shared_;
  bool integers_ = false, disjoint_ = false;
  std::vector<std::string> domains_, temporaries_, lines_;
  std::vector<Call> steps_;
  int inames_ = 0, count_ = 0, large_ = 0;
};

}  // namespace

Opening random_groups(Random& random, const std::string& name) {
  return GroupsWriter(random, name).write();
}

void keep_promises(std::vector<Buffer>& arrays) {
  for (Buffer& b : arrays) {
    if (b.layout().name != "perm" || b.layout().shape.size() != 1) continue;
    const std::int64_t n = b.layout().shape[0];
    std::int64_t i = 0;
    for (Cursor at(b); at; at.next(), ++i) {
      const auto value = static_cast<std::int32_t>((2 * n - 2 - i) % n);
      std::memcpy(at.at(), &value, 4);
    }
  }
}

}  // namespace moonloop::differential
