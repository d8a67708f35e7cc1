#include "core/count/count_set.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

#include "core/base/diagnostic.h"
#include "core/sets/budget.h"
#include "core/sets/coalesce.h"
#include "core/sets/linear_system.h"

namespace moonloop {
namespace {

struct Unbounded {};

constexpr int kSteps = 5000;
constexpr unsigned long kOperations = 15'000'000;

/// A sum of pieces: where rows over fixed columns hold, a quasi-polynomial in these.
using Pieces = std::map<std::vector<Row>, QuasiPolynomial>;

/// Sums 1 over the variables of one group.
class Summation {
 public:
  Summation(std::vector<std::size_t> variables, std::size_t columns, int& steps)
      : open_(std::move(variables)), columns_(columns), steps_(steps) {}

  Pieces run(std::vector<Row> rows) {
    sum({{}, std::move(rows)}, QuasiPolynomial(1));
    return std::move(pieces_);
  }

 private:
  void sum(const RowSystem& given, const QuasiPolynomial& p) {
    if (--steps_ < 0) throw TooHard{};
    if (p.is_zero()) return;
    const auto rows = without_redundant(given, columns_);
    if (!rows) return;
    if (open_.empty()) return emit(*rows, p);
    const std::size_t v = next(*rows, p);
    const std::int64_t period = p.period(v);
    if (period > 1)
      by_residues(*rows, p, v, period);
    else
      by_bounds(*rows, p, v);
  }

  void emit(const RowSystem& rows, const QuasiPolynomial& p) {
    std::vector<Row> all = rows.not_negative;
    for (const Row& r : rows.zero) {
      all.push_back(r);
      all.push_back(opposite(r));
    }
    std::sort(all.begin(), all.end());
    QuasiPolynomial& piece = pieces_[std::move(all)];
    piece = piece + p;
  }
  static Row opposite(Row r) {
    for (std::int64_t& c : r) c = -c;
    return r;
  }

  /// The variable that takes the fewest cases; among these, the one that leaves the fewest floors.
  std::size_t next(const RowSystem& rows, const QuasiPolynomial& p) const {
    std::size_t best = open_.front();
    double least = std::numeric_limits<double>::max();
    for (const std::size_t v : open_) {
      double low = 0, high = 0, factor = 1;
      const auto look = [&](const Row& r) {
        ++(r[v] > 0 ? low : high);
        for (const std::size_t w : open_)
          if (w != v && r[w] != 0) factor = std::max(factor, std::abs(double(r[v])));
      };
      for (const Row& r : rows.not_negative)
        if (r[v] != 0) look(r);
      for (const Row& r : rows.zero) {
        if (r[v] == 0) continue;
        look(r);
        low = high = 1;
        break;
      }
      const double cost = low * high * factor * double(p.period(v));
      if (cost < least) best = v, least = cost;
    }
    return best;
  }

  /// column = period*column + residue, for each residue: then it is in no floor any more.
  void by_residues(const RowSystem& rows, const QuasiPolynomial& p, std::size_t v,
                   std::int64_t period) {
    for (std::int64_t residue = 0; residue < period; ++residue) {
      Row by(columns_ + 1, 0);
      by[v] = period;
      by.back() = residue;
      RowSystem now = rows;
      for (std::vector<Row>* list : {&now.zero, &now.not_negative})
        for (Row& r : *list) {
          const std::int64_t factor = std::exchange(r[v], 0);
          if (factor != 0) r = combine(1, r, factor, by);
        }
      sum(now, p.substitute(v, by));
    }
  }

  /// A bound: factor*v + rest >= 0.
  struct Bound {
    std::int64_t factor;  // its absolute value
    Row rest;
  };
  void by_bounds(const RowSystem& rows, const QuasiPolynomial& p, std::size_t v) {
    std::vector<Bound> low, high;
    RowSystem others;
    const auto take = [&](const Row& r) {
      Bound b{std::abs(r[v]), r};
      b.rest[v] = 0;
      (r[v] > 0 ? low : high).push_back(std::move(b));
    };
    const auto equality =
        std::find_if(rows.zero.begin(), rows.zero.end(), [&](const Row& r) { return r[v] != 0; });
    if (equality != rows.zero.end()) {  // it is the tightest of all
      const Row r = (*equality)[v] > 0 ? *equality : opposite(*equality);
      take(r);
      take(opposite(r));
    }
    const auto split = [&](const std::vector<Row>& from, std::vector<Row>& to, bool zero) {
      for (const Row& r : from) {
        if (zero && equality != rows.zero.end() && &r == &*equality) continue;
        if (r[v] == 0)
          to.push_back(r);
        else if (zero || equality != rows.zero.end())
          to.push_back(at(r, v, low[0]));
        else
          take(r);
      }
    };
    split(rows.zero, others.zero, true);
    split(rows.not_negative, others.not_negative, false);
    if (low.empty() || high.empty()) throw Unbounded{};
    const std::vector<std::size_t> before = open_;
    std::erase(open_, v);
    for (std::size_t i = 0; i < low.size(); ++i)
      for (std::size_t j = 0; j < high.size(); ++j) {
        RowSystem now = others;
        tightest(low, i, now.not_negative);
        tightest(high, j, now.not_negative);
        // -low/a <= high/b
        now.not_negative.push_back(
            combine(high[j].factor, low[i].rest, low[i].factor, high[j].rest));
        const QuasiPolynomial from =  // ceil(-e/a) is -floor(e/a)
            QuasiPolynomial() - QuasiPolynomial(low[i].rest, low[i].factor);
        const QuasiPolynomial to(high[j].rest, high[j].factor);
        sum(now, sum_over(p, v, from, to));
      }
    open_ = before;
  }
  /// `r` with the value that the bound `b` reaches in place of `v`.
  static Row at(Row r, std::size_t v, const Bound& b) {
    const std::int64_t factor = std::exchange(r[v], 0);  // v is -rest/b.factor
    return combine(b.factor, r, -factor, b.rest);
  }
  /// Rows that say that bound `i` is the tightest, the first of equals.
  static void tightest(const std::vector<Bound>& all, std::size_t i, std::vector<Row>& out) {
    for (std::size_t k = 0; k < all.size(); ++k) {
      if (k == i) continue;
      // rest/factor is the least
      Row r = combine(all[i].factor, all[k].rest, -all[k].factor, all[i].rest);
      if (k < i) --r.back();
      out.push_back(std::move(r));
    }
  }

  std::vector<std::size_t> open_;  // variables that are not summed over yet
  std::size_t columns_;
  int& steps_;
  Pieces pieces_;
};

QPolynomial on_parameters(const LinearSystem& s, const QuasiPolynomial& p) {
  const Space space = isl_space_params(isl_set_get_space(s.context.get()));
  QPolynomial sum = isl_qpolynomial_zero_on_domain(space.copy());
  for (const auto& [monomial, coefficient] : p.terms()) {
    QPolynomial term = isl_qpolynomial_val_on_domain(space.copy(), coefficient.copy());
    for (const auto& [f, exponent] : monomial) {
      Aff a = on_parameters(s, f.numerator);
      if (f.denominator > 1) {
        a = isl_aff_scale_down_val(a.take(), isl_val_int_from_si(isl(), f.denominator));
        a = isl_aff_floor(a.take());
      }
      QPolynomial power = isl_qpolynomial_from_aff(a.take());
      power = isl_qpolynomial_pow(power.take(), static_cast<unsigned>(exponent));
      term = isl_qpolynomial_mul(term.take(), power.take());
    }
    sum = isl_qpolynomial_add(sum.take(), term.take());
  }
  return sum;
}

/// The groups of variables that rows tie together.
std::vector<std::vector<std::size_t>> groups(const LinearSystem& s) {
  std::map<std::size_t, std::size_t> leader;
  for (const std::size_t v : s.open) leader[v] = v;
  const auto find = [&](std::size_t v) {
    while (leader[v] != v) v = leader[v];
    return v;
  };
  for (const Row& r : s.not_negative) {
    std::optional<std::size_t> first;
    for (const std::size_t v : s.open) {
      if (r[v] == 0) continue;
      if (!first) first = v;
      leader[find(v)] = find(*first);
    }
  }
  std::map<std::size_t, std::vector<std::size_t>> by_leader;
  for (const std::size_t v : s.open) by_leader[find(v)].push_back(v);
  std::vector<std::vector<std::size_t>> out;
  for (auto& [first, members] : by_leader) out.push_back(std::move(members));
  return out;
}

class Counter {
 public:
  explicit Counter(const Set& set) : set_(set) {}

  PwQPolynomial count() {
    PwQPolynomial out = constant(0);
    Set s = isl_set_compute_divs(coalesce(set_).take());
    s = isl_set_compute_divs(isl_set_make_disjoint(s.take()));
    for (const BasicSet& b : parts_of(s)) out = isl_pw_qpolynomial_add(out.take(), part(b).take());
    return isl_pw_qpolynomial_coalesce(out.take());
  }

 private:
  PwQPolynomial constant(int value) const {
    const Space space = isl_space_params(isl_set_get_space(set_.get()));
    return isl_pw_qpolynomial_from_qpolynomial(
        isl_qpolynomial_val_on_domain(space.copy(), isl_val_int_from_si(isl(), value)));
  }

  /// The number of points of one part.
  PwQPolynomial part(const BasicSet& b) {
    const auto s = reduced(system_of(b));
    if (!s) return constant(0);
    RowSystem fixed;
    const auto tied = groups(*s);
    std::vector<std::vector<Row>> rows(tied.size());
    for (const Row& r : s->not_negative) {
      std::size_t g = 0;
      while (g < tied.size() &&
             std::none_of(tied[g].begin(), tied[g].end(), [&](std::size_t v) { return r[v] != 0; }))
        ++g;
      (g < tied.size() ? rows[g] : fixed.not_negative).push_back(r);
    }
    PwQPolynomial out = constant(1);
    for (std::size_t g = 0; g < tied.size(); ++g)
      out = isl_pw_qpolynomial_mul(out.take(), group(*s, rows[g], tied[g], fixed).take());
    const Set where = isl_set_intersect(parameters_where(*s, fixed).take(), s->context.copy());
    return isl_pw_qpolynomial_intersect_domain(out.take(), where.copy());
  }

  PwQPolynomial group(const LinearSystem& s, std::vector<Row> rows,
                      const std::vector<std::size_t>& members, const RowSystem& fixed) {
    // Knowledge of the fixed columns makes cases empty.
    rows.insert(rows.end(), fixed.not_negative.begin(), fixed.not_negative.end());
    const Pieces pieces = Summation(members, s.constant(), steps_).run(rows);
    PwQPolynomial out = constant(0);
    for (const auto& [where, p] : pieces) {
      Set domain = parameters_where(s, {{}, where});
      PwQPolynomial piece = isl_pw_qpolynomial_alloc(domain.take(), on_parameters(s, p).take());
      out = isl_pw_qpolynomial_add(out.take(), piece.take());
    }
    return out;
  }

  const Set& set_;
  int steps_ = kSteps;
};

}  // namespace

PwQPolynomial count_set(const Set& set, const std::string& what, const Span& at) {
  const auto too_hard = [&]() -> Diagnostic {
    Diagnostic d;
    d.code = "count-too-hard";
    d.text = fmt::format("counting {} takes too many steps", what);
    d.where = {at, {}};
    d.hint = "fix parameters, or join the loops of tiles whose bounds compete";
    return d;
  };
  try {
    const IslBudget budget(kOperations);
    return Counter(set).count();
  } catch (const IslQuota&) { throw Error(too_hard()); } catch (const TooHard&) {
    throw Error(too_hard());
  } catch (const Unbounded&) { fail("unbounded-count", at, "{} are infinitely many", what); }
}

}  // namespace moonloop
