#include "tests/differential/random_kernel.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "tests/differential/random_atomics.h"
#include "tests/differential/random_data.h"
#include "tests/differential/random_types.h"

namespace moonloop::differential {
namespace {

/// An iname that runs within 0 … n (inclusive).
struct Iname {
  std::string name;
  bool constant = false;  // its extent is
  bool from_0 = false;    // it has the value 0 wherever it has any
};

class KernelWriter {
 public:
  KernelWriter(Random& random, std::string name)
      : r_(random), name_(std::move(name)), integers_(r_.chance(50)), types_(r_, integers_) {
    std::uint64_t seed = 0;
    for (const char c : name_) seed = 31 * seed + static_cast<unsigned char>(c);
    rare_ = Random(seed);
  }

  std::string write() {
    const int shared = r_.between(1, 3);
    for (int i = 0; i < shared; ++i) add_domain(outer_);
    const int statements = r_.pick(std::vector<int>{1, 1, 2, 2, 2, 3, 4});
    if (r_.chance(30)) add_rule();
    for (int s = 0; s < statements; ++s) add_statement();
    std::string args = "n: int32";
    for (const char* a : {"a", "b", "c"})
      args += fmt::format(", {}: {}[3*n + 12]", a, types_.next());
    if (has_atomics_)
      args +=
          fmt::format(", g: {0}[3*n + 12], h: {0}[3*n + 12], d: in int32[3*n + 12]", atomic_type_);
    for (const char* a : {"p", "q"})
      args += fmt::format(", {}: {}[3*n + 12, 3*n + 12]", a, types_.next());
    if (needs_counts_) args += ", cnt: in int32[3*n + 12]";
    std::string out = fmt::format("kernel {}({})\n", name_, args);
    for (const std::string& d : domains_) out += "domain " + d + "\n";
    for (const std::string& t : temporaries_) out += t + "\n";
    out += "assume n >= 5\n";
    for (const std::string& l : lines_) out += l + "\n";
    return out;
  }

 private:
  std::string new_name() {  // not `n`
    const int i = next_iname_++;
    return i < 5 ? std::string(1, static_cast<char>('i' + i)) : fmt::format("i{}", i);
  }
  /// Adds a domain of one iname, nested in the earlier ones in `chain`, and the iname to `chain`.
  void add_domain(std::vector<Iname>& chain) {
    const std::string name = new_name();
    const bool has_outer = !chain.empty();
    const std::string o = has_outer ? r_.pick(chain).name : "";
    std::string bounds;
    bool constant = false, from_0 = false;
    switch (r_.below(has_outer ? 12 : 7)) {
      default:
        bounds = fmt::format("0 <= {} < n", name);
        from_0 = true;
        break;
      case 3: bounds = fmt::format("1 <= {} < n", name); break;
      case 4:
        bounds = fmt::format("0 <= {} < {}", name, r_.between(2, 5));
        constant = from_0 = true;
        break;
      case 5:
        bounds = fmt::format("0 <= {0} < n and {0} mod {1} = 0", name, r_.between(2, 3));
        break;
      case 6: bounds = fmt::format("0 <= {0} and 2*{0} < n", name); break;
      case 7: bounds = fmt::format("0 <= {} <= {}", name, o); break;
      case 8: bounds = fmt::format("{} <= {} < n", o, name); break;
      case 9: bounds = fmt::format("0 <= {} < n - {}", name, o); break;
      case 10: bounds = fmt::format("0 <= {0} < n and {1} - 1 <= {0} <= {1} + 1", name, o); break;
      case 11: bounds = fmt::format("0 <= {} < {}", name, o); break;
    }
    if (chain.size() > 1 && r_.chance(8)) {  // two domains around it that are not nested
      bounds = fmt::format("0 <= {0} < n and {0} <= {1} + {2}", name, o, r_.pick(chain).name);
      constant = from_0 = false;
    }
    if (rare_.chance(2)) {  // never runs, or where one around it is late
      bounds = has_outer && rare_.chance(50) ? fmt::format("n <= {} <= {}", name, o)
                                             : fmt::format("{0} <= {1} and {1} < {0}", "n", name);
      constant = from_0 = false;
    }
    domains_.push_back(fmt::format("{{[{}]: {}}}", name, bounds));
    chain.push_back({name, constant, from_0});
  }

  /// Within 0 … 2n + 6 for inames within 0 … n.
  std::string subscript(const std::vector<Iname>& inames) {
    if (inames.empty() || r_.chance(4)) return fmt::format("{}", r_.below(4));
    const std::string x = r_.pick(inames).name, y = r_.pick(inames).name;
    const int c = r_.between(0, 3);
    const std::string plus = c ? fmt::format(" + {}", c) : "";
    switch (r_.below(14)) {
      default: return x + plus;
      case 7: return x + " + 1";
      case 8: return fmt::format("n - {}{}", x, plus);
      case 9: return fmt::format("2*{}{}", x, plus);
      case 10: return x == y ? x + plus : fmt::format("{} + {}{}", x, y, plus);
      case 11: return x == y ? x : fmt::format("{} - {} + n{}", x, y, plus);
      case 12: return fmt::format("{} // 2{}", x, plus);
      case 13: return fmt::format("{} + 2", x);
    }
  }

  std::string element(const std::vector<Iname>& inames) {
    if (r_.chance(60) || inames.empty())
      return fmt::format("{}[{}]", r_.pick({"a", "b", "c"}), subscript(inames));
    return fmt::format("{}[{}, {}]", r_.pick({"p", "q"}), subscript(inames), subscript(inames));
  }

  /// A different element of the array of `of`, near it: recurrences and stencils.
  std::string neighbour(const std::string& of) {
    const auto open = of.find('[');
    return fmt::format("{}[{} + 1{}", of.substr(0, open),
                       of.substr(open + 1, of.find_first_of(",]") - open - 1),
                       of.substr(of.find_first_of(",]")));
  }

  std::string literal() {
    return integers_ ? fmt::format("{}", r_.between(1, 9)) : r_.pick({"0.5", "0.25", "1.5", "2.0"});
  }

  std::string term(const std::vector<Iname>& inames) {
    const int what = r_.below(20);
    if (what == 0) return literal();
    if (what == 1 && integers_ && !inames.empty()) return r_.pick(inames).name;
    if (what == 2 && has_rule_) return fmt::format("f({})", subscript(inames));
    if (what == 3 && has_rule_ && !inames.empty())
      return fmt::format("f({})", r_.pick(inames).name);
    if (what == 4)
      return fmt::format("{}({}, {})", r_.pick({"min", "max"}), element(inames), element(inames));
    if (what == 5 && !inames.empty())
      return fmt::format("({} if {} else {})", element(inames), condition(inames), literal());
    if (what == 6 && !integers_)
      return fmt::format("({} / (2.0 + abs({})))", element(inames), element(inames));
    return element(inames);
  }

  std::string value(const std::vector<Iname>& inames, const std::string& written) {
    std::string out = r_.chance(25) && !written.empty()
                          ? (r_.chance(50) ? written : neighbour(written))
                          : term(inames);
    for (int t = r_.below(3); t > 0; --t) {
      const std::string next = types_.dressed(
          r_.chance(30) ? fmt::format("{}*{}", literal(), term(inames)) : term(inames));
      out += r_.pick({" + ", " - ", " + "}) + next;
    }
    // Values stay small, whatever recurrences do.
    return types_.small(out);
  }

  /// A value that is small, but not as small as the smallest type.
  std::string fitting(const std::string& value) const {
    return integers_ && types_.mixed() ? types_.small(value) : value;
  }
  std::string product(const std::vector<Iname>& inames) {
    const std::string a = element(inames);
    return types_.product(a, element(inames));
  }

  std::string condition(const std::vector<Iname>& inames) {
    const std::string x = r_.pick(inames).name, y = r_.pick(inames).name;
    switch (r_.below(5)) {
      case 0: return fmt::format("{} > 1", x);
      case 1: return fmt::format("{} < n - 1", x);
      case 2: return x == y ? fmt::format("{} % 2 == 0", x) : fmt::format("{} <= {}", x, y);
      case 3: return fmt::format("{} + {} < n", x, y);
      default: return fmt::format("{} % 2 == 1", x);
    }
  }

  /// A condition on inames, or on the greatest or least of some elements, which rounds nothing.
  std::string decision(const std::vector<Iname>& inames) {
    if (!rare_.chance(25) || next_iname_ >= 6) return condition(inames);
    std::vector<Iname> inner = inames;
    add_domain(inner);
    const std::string extreme =
        fmt::format("{}({}, {})", r_.pick({"max", "min"}), inner.back().name, element(inner));
    return fmt::format("{} {} {}", extreme, r_.pick({"<", ">="}), element(inames));
  }

  void add_rule() {
    has_rule_ = true;
    const std::string array = r_.pick({"a", "b", "c"});
    lines_.push_back(r_.chance(50) ? fmt::format("f(x) := {}[x] + {}", array, literal())
                                   : fmt::format("f(x) := {0}[x + 1] - {1}{0}[x]", array,
                                                 integers_ && types_.mixed() ? "0 - " : ""));
  }

  void add_statement() {
    // Its loops: some of the shared ones from outside in, sometimes one of its own.
    std::vector<Iname> inames(outer_.begin(),
                              outer_.begin() + r_.between(1, static_cast<int>(outer_.size())));
    if (r_.chance(20)) inames.clear();
    if ((inames.empty() || r_.chance(25)) && next_iname_ < 6) add_domain(inames);
    if (inames.empty()) inames = outer_;
    const std::string id = fmt::format("s{}", count_++);
    std::string options = "id=" + id;
    options += fmt::format(", inames={}", fmt::join(names(inames), ":"));
    if (r_.chance(20)) options += fmt::format(", if={}", decision(inames));

    if (r_.chance(12) && next_iname_ < 5 && types_.adds()) return add_data(inames, id);
    if (r_.chance(12) && types_.adds())
      return add_atomic(inames, id, options.substr(options.find(',')));
    if (r_.chance(10) && inames.size() > 1) return add_carried(inames, id);
    if (r_.chance(20)) {  // a temporary and its use, perhaps again
      const bool again = !reused_.empty() && rare_.chance(40);
      const std::string t = again ? rare_.pick(reused_) : fmt::format("t{}", count_);
      const std::string type = again ? "" : types_.next();
      if (!again) reused_.push_back(t);
      if (!again && rare_.chance(25)) {  // a small array, of which each iteration takes one element
        arrays_.insert(t);
        temporaries_.push_back(fmt::format("temp {}: {}[3]", t, type));
      }
      const bool array = arrays_.count(t) > 0;
      const std::string held = array ? fmt::format("{}[{} % 3]", t, inames.back().name) : t;
      const std::string after = again ? fmt::format(", dep={}", latest_use_.at(t)) : "";
      latest_use_[t] = id;
      const std::string declared = type.empty() || array ? "" : "<" + type + "> ";
      lines_.push_back(fmt::format("{}{} = {}  {{id={}t, inames={}{}}}", declared, held,
                                   value(inames, ""), id, fmt::join(names(inames), ":"), after));
      const std::string to = element(inames);
      lines_.push_back(fmt::format("{} = {}  {{{}, dep={}t}}", to,
                                   fitting(held + " + " + value(inames, to)), options, id));
      return;
    }
    const std::string to = element(inames);
    if (r_.chance(10) && next_iname_ < 6) {  // an accumulation
      std::vector<Iname> inner = inames;
      add_domain(inner);
      const std::string small = types_.addend(term(inner));
      if (r_.chance(20)) {  // the least or the greatest, by a choice
        lines_.push_back(fmt::format("{0} = {1}  {{id={2}, inames={3}, if={1} {4} {0}}}", to, small,
                                     id, fmt::join(names(inner), ":"), r_.pick({"<", ">", "<="})));
        return;
      }
      // Of another type than the accumulator, which makes it its own in each step.
      const bool other = integers_ && rare_.chance(50);
      const std::string whole = fmt::format("({}) % 101", small);
      // Sums in float16 round too much to be compared.
      const std::string rhs =
          r_.chance(50) && types_.adds()
              ? fmt::format("{} + {}", to, other ? "cast(int64, " + whole + ")" : small)
              : fmt::format("{}({}, {})", r_.pick({"min", "max"}), to,
                            other ? "0.5*(" + whole + ")" : small);
      lines_.push_back(
          fmt::format("{} = {}  {{id={}, inames={}}}", to, rhs, id, fmt::join(names(inner), ":")));
      return;
    }
    if (r_.chance(25) && next_iname_ < 6) {  // a reduction
      std::vector<Iname> inner = inames;
      add_domain(inner);
      const std::string op = r_.pick({"sum", "sum", "max", "min"});
      std::string body = op == "sum" && r_.chance(40) ? product(inner) : term(inner);
      if (integers_) body = fmt::format("({}) % 101", body);
      if (r_.chance(15) && next_iname_ < 6) {  // one reduction in another
        add_domain(inner);
        body = fmt::format("{}({}, {})", r_.pick({"max", "min"}), inner.back().name, term(inner));
        if (integers_) body = fmt::format("({}) % 101", body);
        inner.pop_back();
      }
      std::string rhs = fmt::format("{}({}, {})", op, inner.back().name, body);
      if (r_.chance(30) && op == "sum") rhs += " + " + term(inames);
      if (r_.chance(20))  // in an arm of a choice
        rhs = r_.chance(50)
                  ? fmt::format("({} if {} else {})", rhs, decision(inames), term(inames))
                  : fmt::format("({} if {} else {})", term(inames), decision(inames), rhs);
      lines_.push_back(fmt::format("{} = {}  {{{}}}", to,
                                   integers_ ? types_.small(rhs) : "0.125*(" + rhs + ")", options));
      return;
    }
    lines_.push_back(fmt::format("{} = {}  {{{}}}", to, value(inames, to), options));
  }

  void add_atomic(const std::vector<Iname>& inames, const std::string& id,
                  const std::string& options) {
    if (!has_atomics_) {
      atomic_type_ = types_.next();
      if (rare_.chance(60)) atomic_operation_ = rare_.below(18);
    }
    has_atomics_ = true;
    const AtomicParts parts{atomic_type_,
                            integers_,
                            false,
                            types_.mixed(),
                            atomic_operation_,
                            r_.pick(inames).name,
                            [&] { return element(inames); },
                            [&] { return subscript(inames); },
                            [&](const std::string& term) { return types_.addend(term); }};
    for (int more = r_.below(2); more >= 0; --more)
      lines_.push_back(random_atomic(r_, parts, fmt::format("id={}_{}{}", id, more, options)));
    if (rare_.chance(40)) return add_reset(parts, inames, id, options);
    if (r_.chance(20)) {  // its result
      const std::string after = fmt::format("h[{}]", subscript(inames));
      lines_.push_back(
          fmt::format("{} = {}  {{id={}_after{}}}", element(inames), fitting(after), id, options));
    }
  }

  /// Updates of one place that commute, its result, and a reset.
  void add_reset(const AtomicParts& parts, const std::vector<Iname>& inames, const std::string& id,
                 const std::string& options) {
    const std::string place = rare_.chance(50) ? fmt::format("h[{}]", rare_.below(3))
                                               : fmt::format("h[{} % 4]", parts.iname);
    const std::string kind = rare_.pick({"max", "min"});
    for (int n = 0; n < 2; ++n)
      lines_.push_back(fmt::format("{0} = {1}({0}, {2})  {{id={3}_up{4}{5}, atomic, tags=at_{1}}}",
                                   place, kind, parts.addend(parts.term()), id, n, options));
    lines_.push_back(
        fmt::format("{} = {}  {{id={}_then{}}}", element(inames), fitting(place), id, options));
    lines_.push_back(
        fmt::format("{} = {}  {{id={}_new{}}}", place, parts.addend(parts.term()), id, options));
  }

  /// A temporary that iterations of the innermost loop pass on, begun before the loop or by its
  /// first iteration, and used after each step of it or after it.
  void add_carried(const std::vector<Iname>& inames, const std::string& id) {
    const std::vector<Iname> outer(inames.begin(), inames.end() - 1);
    const std::string t = fmt::format("t{}", count_),
                      inside = fmt::format("{}", fmt::join(names(inames), ":")),
                      outside = fmt::format("{}", fmt::join(names(outer), ":"));
    if (inames.back().from_0 && r_.chance(50))
      lines_.push_back(fmt::format("<{}> {} = {}  {{id={}t, inames={}, if={} == 0}}", types_.next(),
                                   t, value(outer, ""), id, inside, inames.back().name));
    else
      lines_.push_back(fmt::format("<{}> {} = {}  {{id={}t, inames={}}}", types_.next(), t,
                                   value(outer, ""), id, outside));
    const std::string next = fmt::format("{} + {}", t, term(inames));
    if (r_.chance(70))
      lines_.push_back(
          fmt::format("{} = {}  {{id={}u, inames={}}}", t, types_.small(next), id, inside));
    const bool behind = r_.chance(30);
    lines_.push_back(fmt::format("{} = {}  {{id={}, inames={}}}", element(behind ? outer : inames),
                                 t, id, behind ? outside : inside));
  }

  /// One whose loops or conditions depend on an array's values.
  void add_data(const std::vector<Iname>& inames, const std::string& id) {
    needs_counts_ = true;
    const std::string row = new_name(), item = new_name();
    const auto around = [&](bool in_row) {
      std::vector<Iname> all = inames;
      if (in_row) all.push_back({row, true, false});
      return all;
    };
    const DataStatement made =
        data_statement(r_, {types_.next(), id, names(inames), row, item,
                            [&](bool in) { return element(around(in)); },
                            [&](bool in) { return value(around(in), ""); },
                            [&](bool in) { return subscript(around(in)); },
                            [&](const std::string& sum) { return types_.small(sum); }});
    domains_.insert(domains_.end(), made.domains.begin(), made.domains.end());
    lines_.insert(lines_.end(), made.lines.begin(), made.lines.end());
  }

  static std::vector<std::string> names(const std::vector<Iname>& all) {
    std::vector<std::string> out;
    for (const Iname& i : all) out.push_back(i.name);
    return out;
  }

  Random& r_;
  std::string name_;
  bool integers_ = false, has_rule_ = false, needs_counts_ = false, has_atomics_ = false;
  RandomTypes types_;
  std::string atomic_type_;
  int atomic_operation_ = -1;  // of all updates
  std::vector<Iname> outer_;
  Random rare_{0};  // for later additions, so that kernels without them do not change
  std::vector<std::string> domains_, temporaries_, lines_;
  std::vector<std::string> reused_;                // temporaries
  std::set<std::string> arrays_;                   // among them
  std::map<std::string, std::string> latest_use_;  // of each, by id
  int next_iname_ = 0, count_ = 0;
};

}  // namespace

std::string random_kernel(Random& random, const std::string& name) {
  return KernelWriter(random, name).write();
}

}  // namespace moonloop::differential
