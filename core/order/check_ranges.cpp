#include "core/order/check_ranges.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "core/model/domain.h"

namespace moonloop {
namespace {

using Integers = std::map<std::string, std::int64_t>;
using Homes = std::unordered_map<std::string, const Domain*>;  // by iname

struct Range {
  Val low, high;
};

struct Term {
  double factor;
  std::string name;
};
struct Inequality {
  std::vector<Term> terms;
  double constant = 0;
  bool equality = false;
};

/// One part of a domain: constraints over names with a value or a range, and over its quotients,
/// which have names of their own.
struct Part {
  std::vector<Inequality> inequalities;
  std::vector<std::string> quotients;
};
struct Parts {
  std::vector<Part> all;
  bool left_out = false;  // some bound, for want of a value
};
using PartsOf = std::map<const Domain*, Parts>;

/// One domain with what its bounds mention: its own inames and those of the domains around it.
class Ranges {
 public:
  /// `parts`: found so far, for the same values.
  Ranges(const Kernel& k, const Domain& d, const Homes& homes, const Integers& values,
         PartsOf& parts)
      : k_(k),
        d_(d),
        homes_(homes),
        values_(values),
        parts_(parts),
        limit_(bits_of(k.index_type)) {}

  void check() {
    std::vector<std::string> names;
    collect_inames(d_, names);
    if (is_small(names)) return;

    const Set points = fixed(domain_of(k_, names));
    if (yes(isl_set_is_empty(points.get()))) return;
    for (std::size_t i = 0; i < names.size(); ++i)
      ranges_.emplace(names[i], Range{isl_set_dim_min_val(points.copy(), static_cast<int>(i)),
                                      isl_set_dim_max_val(points.copy(), static_cast<int>(i))});
    for (const std::string& i : d_.inames()) {
      const auto& [low, high] = ranges_.at(i);
      const Val past = isl_val_add(high.copy(), isl_val_one(isl()));  // where the loop ends
      if (!fits(low, limit_) || !fits(past, limit_))
        refuse(fmt::format("iname `{}` reaches {}", i, text(fits(low, limit_) ? high : low)),
               "a loop over it leaves");
    }
    for (const BasicSet& part : parts_of(d_.set))
      for (const Constraint& c : constraints_of(part)) check_sums(c);
    check_quotients();
  }

 private:
  /// A loop that takes steps of several, as tiles do, ends at a quotient: `(n + 1023) / 1024`.
  void check_quotients() {
    const int dims = count(isl_set_dim(d_.set.get(), isl_dim_set));
    for (int i = 0; i < dims; ++i) {
      const Set outer =
          isl_set_project_out(d_.set.copy(), isl_dim_set, unsigned(i + 1), unsigned(dims - i - 1));
      for (const BasicSet& part : parts_of(outer))
        for (const Constraint& c : constraints_of(part)) {
          const Val a = isl_val_abs(isl_constraint_get_coefficient_val(c.get(), isl_dim_set, i));
          if (isl_val_cmp_si(a.get(), 1) > 0) check_sums(c, a);
        }
    }
  }

  static int bits_of(Scalar type) { return 8 * size_of(type) - !is_unsigned(type); }

  /// The domain's inames and those that its bounds depend on, each once.
  void collect_inames(const Domain& d, std::vector<std::string>& out) const {
    for (std::string& i : d.inames())
      if (std::find(out.begin(), out.end(), i) == out.end()) out.push_back(std::move(i));
    for (const std::string& p : d.params())
      if (const auto home = homes_.find(p); home != homes_.end())
        if (std::find(out.begin(), out.end(), p) == out.end()) collect_inames(*home->second, out);
  }

  /// Bounds of names by intervals: what follows from each constraint alone, in a few passes.
  /// Infinite where nothing is known. Wider than the values that the name really has.
  struct Interval {
    double low = -INFINITY, high = INFINITY;
  };
  using Intervals = std::map<std::string, Interval>;

  const Parts& parts_in(const Domain& d) const {
    const auto [it, fresh] = parts_.try_emplace(&d);
    if (fresh) it->second = parts_in(d.set);
    return it->second;
  }

  /// The parts of `s`. Constraints over other names are left out: these have no greatest value yet.
  Parts parts_in(const Set& s) const {
    Parts out;
    for (const BasicSet& b : parts_of(Set(isl_set_compute_divs(s.copy())))) {
      Part part;
      const LocalSpace local = isl_basic_set_get_local_space(b.get());
      std::set<std::string> open;  // quotients of names without a value
      const auto quotient = [&, part_number = out.all.size()](int i) {
        return fmt::format("quotient {} of part {} of {}", i, part_number, fmt::ptr(&s));
      };
      // Adds `factor` times a coefficient of `n`; whether it has a value or a range.
      const auto add = [&](Inequality& row, double factor, isl_dim_type type,
                           const std::string& n) {
        if (const auto v = value(n)) {
          row.constant += factor * static_cast<double>(*v);
          return true;
        }
        row.terms.push_back({factor, n});
        return type == isl_dim_div ? !open.count(n) : type != isl_dim_param || homes_.count(n) > 0;
      };
      const int divs = count(isl_local_space_dim(local.get(), isl_dim_div));
      for (int d = 0; d < divs; ++d) {
        const Aff aff = isl_local_space_get_div(local.get(), d);
        const double by = isl_val_get_d(Val(isl_aff_get_denominator_val(aff.get())).get());
        Inequality low, high;  // 0 <= numerator - by*quotient < by
        bool known = true;
        low.constant = by * isl_val_get_d(Val(isl_aff_get_constant_val(aff.get())).get());
        for (const isl_dim_type type : {isl_dim_param, isl_dim_in, isl_dim_div})
          for (int i = 0; i < (type == isl_dim_div ? d : count(isl_aff_dim(aff.get(), type)));
               ++i) {
            const double x =
                isl_val_get_d(Val(isl_aff_get_coefficient_val(aff.get(), type, i)).get());
            if (x == 0) continue;
            const std::string n = type == isl_dim_div
                                      ? quotient(i)
                                      : isl_aff_get_dim_name(aff.get(), type, unsigned(i));
            known = add(low, by * x, type == isl_dim_in ? isl_dim_set : type, n) && known;
          }
        part.quotients.push_back(quotient(d));
        if (!known) {
          open.insert(part.quotients.back());
          continue;
        }
        low.terms.push_back({-by, part.quotients.back()});
        high.constant = by - 1 - low.constant;
        for (const Term& t : low.terms) high.terms.push_back({-t.factor, t.name});
        part.inequalities.push_back(std::move(low));
        part.inequalities.push_back(std::move(high));
      }
      for (const Constraint& c : constraints_of(b)) {
        Inequality row;
        bool known = true;
        row.constant = isl_val_get_d(Val(isl_constraint_get_constant_val(c.get())).get());
        row.equality = yes(isl_constraint_is_equality(c.get()));
        for (const isl_dim_type type : {isl_dim_param, isl_dim_set, isl_dim_div})
          for (int i = 0; i < count(isl_constraint_dim(c.get(), type)); ++i) {
            const double x =
                isl_val_get_d(Val(isl_constraint_get_coefficient_val(c.get(), type, i)).get());
            if (x == 0) continue;
            known =
                add(row, x, type, type == isl_dim_div ? quotient(i) : name(c, type, i)) && known;
          }
        out.left_out = out.left_out || !known;
        if (known && !row.terms.empty()) part.inequalities.push_back(std::move(row));
      }
      out.all.push_back(std::move(part));
    }
    return out;
  }

  static void tighten(Intervals& known, const Inequality& row, double sign) {
    for (const Term& x : row.terms) {  // x.factor*x >= -(all the others at their greatest)
      double others = sign * row.constant;
      for (const Term& t : row.terms) {
        if (&t == &x) continue;
        const double a = sign * t.factor;
        others += a > 0 ? a * known[t.name].high : a * known[t.name].low;
      }
      if (std::isinf(others) || std::isnan(others)) continue;
      Interval& i = known[x.name];
      const double a = sign * x.factor;
      if (a > 0)
        i.low = std::max(i.low, -others / a);
      else
        i.high = std::min(i.high, -others / a);
    }
  }

  /// What holds in all parts given `before`; for a part's quotients, what holds in that part.
  static Intervals around(const std::vector<Part>& parts, const Intervals& before) {
    Intervals out;
    std::set<std::string> quotients;
    for (const Part& p : parts) quotients.insert(p.quotients.begin(), p.quotients.end());
    for (std::size_t p = 0; p < parts.size(); ++p) {
      Intervals in = before;
      for (const Inequality& row : parts[p].inequalities) {
        tighten(in, row, 1);
        if (row.equality) tighten(in, row, -1);
      }
      if (p == 0) {
        out = std::move(in);
        continue;
      }
      for (auto& [name, i] : out)
        if (!quotients.count(name)) {
          const Interval& other = in[name];
          i = {std::min(i.low, other.low), std::max(i.high, other.high)};
        }
      for (const std::string& q : parts[p].quotients) out[q] = in[q];
    }
    return out;
  }

  /// Far from an overflow, as intervals show; half the way leaves room for their rounding.
  bool is_small(const std::vector<std::string>& names) const {
    Intervals known;
    std::set<const Domain*> domains = {&d_};
    for (const std::string& n : names) domains.insert(homes_.at(n));
    constexpr int kMostParts = 100;  // more parts are left to isl, within its budget
    for (const Domain* d : domains)
      if (count(isl_set_n_basic_set(d->set.get())) > kMostParts) return false;
    std::vector<const Parts*> all;
    bool left_out = false;
    for (const Domain* d : domains) {
      all.push_back(&parts_in(*d));
      left_out = left_out || all.back()->left_out;
    }
    for (std::size_t pass = 0; pass <= names.size(); ++pass)
      for (const Parts* parts : all) known = around(parts->all, known);
    const double most = std::ldexp(1.0, limit_ - 1);
    bool all_known = true;
    for (const std::string& n : names) {
      const Interval& i = known[n];
      all_known = all_known && std::isfinite(i.low) && std::isfinite(i.high);
      for (const double bound : {i.low, i.high})
        if (std::isfinite(bound) && std::fabs(bound) >= most) return false;
    }
    if (!all_known && !left_out) return false;  // intervals do not show it
    for (const Parts* parts : all)
      for (const Part& part : parts->all)
        for (const Inequality& row : part.inequalities) {
          double sum = std::fabs(row.constant);
          for (const Term& t : row.terms) {
            const Interval& i = known[t.name];
            sum += std::fabs(t.factor) * std::max(std::fabs(i.low), std::fabs(i.high));
          }
          if (std::isfinite(sum) && sum >= most) return false;
        }
    return true;
  }

  static std::string name(const Constraint& c, isl_dim_type type, int i) {
    return isl_constraint_get_dim_name(c.get(), type, static_cast<unsigned>(i));
  }
  std::optional<std::int64_t> value(const std::string& parameter) const {
    const auto it = values_.find(parameter);
    return it == values_.end() ? std::nullopt : std::optional(it->second);
  }

  Set fixed(Set s) const {
    for (const std::string& p : param_names(s))
      if (const auto v = value(p)) {
        const int n = isl_set_find_dim_by_name(s.get(), isl_dim_param, p.c_str());
        s = isl_set_fix_val(s.take(), isl_dim_param, static_cast<unsigned>(n),
                            isl_val_int_from_si(isl(), *v));
      }
    return s;
  }

  /// Infinite: it depends on a parameter without a value.
  static bool fits(const Val& v, int bits) {
    if (!yes(isl_val_is_int(v.get()))) return true;
    const Val end = isl_val_2exp(isl_val_int_from_si(isl(), bits));
    return yes(isl_val_lt(v.get(), end.get())) &&
           yes(isl_val_ge(v.get(), Val(isl_val_neg(end.copy())).get()));
  }

  /// The sums of a bound's positive and of its negative terms, each at its greatest. The bound is
  /// for the innermost iname; `step` is its factor, which is added before the division by it.
  void check_sums(const Constraint& c, const Val& step = isl_val_zero(isl())) {
    Val sums[2] = {step, isl_val_neg(step.copy())};
    int bounded = count(isl_constraint_dim(c.get(), isl_dim_set)) - 1;
    while (bounded > 0 &&
           !yes(isl_constraint_involves_dims(c.get(), isl_dim_set, unsigned(bounded), 1)))
      --bounded;
    const Val own = isl_constraint_get_coefficient_val(c.get(), isl_dim_set, bounded);
    const bool is_lower = yes(isl_val_is_pos(own.get()));  // the other terms change sides
    const auto add = [&](Val v) {
      if (is_lower) v = isl_val_neg(v.take());
      Val& to = sums[yes(isl_val_is_neg(v.get()))];
      to = isl_val_add(to.take(), v.copy());
    };
    add(isl_constraint_get_constant_val(c.get()));
    int bits = limit_;  // C computes in the widest type
    for (const isl_dim_type type : {isl_dim_param, isl_dim_set})
      for (int i = 0; i < count(isl_constraint_dim(c.get(), type)); ++i) {
        const Val a = isl_constraint_get_coefficient_val(c.get(), type, i);
        if (yes(isl_val_is_zero(a.get())) || (type == isl_dim_set && i == bounded)) continue;
        const std::string n = name(c, type, i);
        if (const auto v = value(n)) {
          if (const Argument* arg = k_.find_arg(n); arg && arg->type && !arg->type->is_record())
            bits = std::max(bits, bits_of(arg->type->scalar));
          add(isl_val_mul(a.copy(), isl_val_int_from_si(isl(), *v)));
        } else if (const auto it = ranges_.find(n); it != ranges_.end() &&
                                                    yes(isl_val_is_int(it->second.low.get())) &&
                                                    yes(isl_val_is_int(it->second.high.get()))) {
          const Val low = isl_val_mul(a.copy(), it->second.low.copy());
          const Val high = isl_val_mul(a.copy(), it->second.high.copy());
          add(is_lower ? isl_val_min(low.copy(), high.copy())
                       : isl_val_max(low.copy(), high.copy()));
        } else {
          return;
        }
      }
    for (const Val& v : sums)
      if (!fits(v, bits))
        refuse(
            fmt::format("a bound of `{}` adds up to {}", fmt::join(d_.inames(), "`, `"), text(v)),
            "it leaves");
  }

  static std::string text(const Val& v) {
    char* s = isl_val_to_str(v.get());
    std::string out = s;
    std::free(s);
    return out;
  }

  [[noreturn]] void refuse(const std::string& what, const char* how) const {
    std::string given;
    for (const std::string& p : d_.params())
      if (const auto v = value(p))
        given += fmt::format("{}{} = {}", given.empty() ? " with " : ", ", p, *v);
    Diagnostic d;
    d.code = "size-overflow";
    d.text = fmt::format("{}{}: {} the index type {}", what, given, how, Type(k_.index_type).str());
    d.where = {d_.at ? d_.at : k_.at, {}};
    if (limit_ < 63) d.hint = "declare `index_type int64`";
    throw Error(std::move(d));
  }

  const Kernel& k_;
  const Domain& d_;
  const Homes& homes_;
  const Integers& values_;
  PartsOf& parts_;
  const int limit_;  // bits of a positive value
  std::map<std::string, Range> ranges_;
};

}  // namespace

void check_ranges(const Kernel& k, const Integers& values) {
  Homes homes;
  for (const Domain& d : k.domains)
    for (const std::string& i : d.inames()) homes.emplace(i, &d);
  PartsOf parts;
  for (const Domain& d : k.domains) Ranges(k, d, homes, values, parts).check();
}

}  // namespace moonloop
