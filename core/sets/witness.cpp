#include "core/sets/witness.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/expr/integers.h"
#include "core/sets/linear_proof.h"

namespace moonloop {
namespace {

constexpr int kMostTries = 12;            // of bounds, for one pair of parts
constexpr std::size_t kMostParts = 12;    // of the pairs
constexpr std::int64_t kLarge = 1 << 30;  // coefficients beyond are not tried

/// A sum: the constant, then the coefficients of all variables.
using Sum = std::vector<std::int64_t>;

class TooLarge {};

/// Looks for values of unknowns that meet constraints whatever the values of other variables, of
/// which facts are known.
class WitnessSearch {
 public:
  /// Constraints of what is known, whose variables are numbered, and its number of them.
  WitnessSearch(const LinearRows& known, std::size_t variables)
      : facts_(variables), kinds_(variables, Kind::Known), in_facts_(variables) {
    std::iota(in_facts_.begin(), in_facts_.end(), std::size_t{0});
    for (const LinearForm& f : known.zero) facts_.zero(f);
    for (const LinearForm& f : known.not_negative) facts_.not_negative(f);
  }

  bool nothing_is_known_to_be() { return facts_.impossible(); }
  std::size_t add_known() {
    kinds_.push_back(Kind::Known);
    in_facts_.push_back(facts_.add_variable());
    return kinds_.size() - 1;
  }
  std::size_t add_unknown() {
    kinds_.push_back(Kind::Unknown);
    in_facts_.push_back(0);
    return kinds_.size() - 1;
  }
  void wants(const LinearForm& f, bool equality) try {
    (equality ? zero_ : not_negative_).push_back(sum_of(f));
  } catch (const TooLarge&) { too_large_ = true; }

  /// Whether all is met for each value of what is known, or at least for those that meet one more
  /// condition on the first `own` variables, which it gives as a sum that is not negative.
  struct Found {
    std::optional<LinearForm> where;
  };
  std::optional<Found> find(std::size_t own) try {
    if (too_large_) return std::nullopt;
    derive_digits();
    for (const bool anywhere : {true, false}) {
      WitnessSearch now = *this;
      now.own_ = anywhere ? 0 : own;
      int tries = kMostTries;
      if (const auto found = now.search(tries)) return Found{found->where_};
    }
    return std::nullopt;
  } catch (const TooLarge&) { return std::nullopt; }

 private:
  enum class Kind : char { Known, Unknown };

  Sum sum_of(const LinearForm& f) const {
    Sum out(kinds_.size() + 1, 0);
    out[0] = f.constant;
    for (const auto& [v, c] : f.terms) out[v + 1] += c;
    for (const std::int64_t c : out) limit(c);
    return out;
  }
  static std::int64_t limit(std::int64_t c) {
    if (c > kLarge || c < -kLarge) throw TooLarge{};
    return c;
  }
  static std::int64_t at(const Sum& s, std::size_t v) { return v + 1 < s.size() ? s[v + 1] : 0; }
  bool is_unknown(std::size_t v) const { return kinds_[v] == Kind::Unknown; }

  std::vector<std::size_t> unknowns_of(const Sum& s) const {
    std::vector<std::size_t> out;
    for (std::size_t v = 0; v + 1 < s.size(); ++v)
      if (s[v + 1] != 0 && is_unknown(v)) out.push_back(v);
    return out;
  }

  LinearForm form_of(const Sum& s, std::int64_t factor) const {
    LinearForm out;
    out.constant = factor * s[0];
    for (std::size_t v = 0; v + 1 < s.size(); ++v)
      if (s[v + 1] != 0) out.terms.emplace_back(in_facts_[v], factor * s[v + 1]);
    return out;
  }

  /// Whether `factor * s` is never negative.
  bool shows(const Sum& s, std::int64_t factor) const {
    LinearForm less = form_of(s, -factor);
    --less.constant;  // -f - 1 >= 0
    if (less.terms.empty()) return less.constant < 0;
    LinearProof otherwise = facts_;
    otherwise.not_negative(less);
    return otherwise.impossible();
  }

  /// Whether it is never negative, or may become the condition.
  bool meets(const Sum& s) {
    if (shows(s, 1)) return true;
    for (std::size_t v = own_; v + 1 < s.size(); ++v)
      if (s[v + 1] != 0) return false;
    if (own_ == 0 || where_) return false;
    where_ = form_of(s, 1);
    facts_.not_negative(*where_);
    return !facts_.impossible();
  }

  /// Drops the constraints that have no unknowns; false: one of them is not seen to hold.
  bool settle() {
    bool holds = true;
    const auto settled = [&](bool equality) {
      return [this, equality, &holds](const Sum& s) {
        if (!holds || !unknowns_of(s).empty()) return false;
        holds = equality ? shows(s, 1) && shows(s, -1) : meets(s);
        return true;
      };
    };
    std::erase_if(zero_, settled(true));
    std::erase_if(not_negative_, settled(false));
    return holds;
  }

  /// The equation has a variable that is nowhere else: a quotient, of which only the remainder
  /// matters.
  std::optional<std::size_t> quotient_in(const Sum& equation) const {
    for (const std::size_t v : unknowns_of(equation)) {
      const auto has = [&](const Sum& s) { return at(s, v) != 0; };
      if (std::abs(at(equation, v)) > 1 && std::count_if(zero_.begin(), zero_.end(), has) == 1 &&
          std::none_of(not_negative_.begin(), not_negative_.end(), has))
        return v;
    }
    return std::nullopt;
  }

  /// A sum between 0 and m-1, whose remainder by m an equation tells, is that remainder.
  void derive_digits() {
    const std::size_t equations = zero_.size();
    for (std::size_t e = 0; e < equations; ++e) {
      const auto q = quotient_in(zero_[e]);
      if (!q) continue;
      const std::int64_t m = std::abs(at(zero_[e], *q));
      for (std::size_t f = 0; f < not_negative_.size(); ++f) {
        const Sum sum = not_negative_[f];
        Sum below = sum;
        for (std::int64_t& c : below) c = -c;
        below[0] += m - 1;
        if (std::find(not_negative_.begin(), not_negative_.end(), below) == not_negative_.end())
          continue;
        for (const std::int64_t sign : {-1, 1}) {
          Sum rest = sum;  // of the sum, of what is known
          for (std::size_t i = 0; i < rest.size(); ++i)
            rest[i] = floor_mod(rest[i] + sign * zero_[e][i], m);
          if (!unknowns_of(rest).empty()) continue;
          Sum equation = quotient(rest, m);
          equation.resize(std::max(equation.size(), sum.size()), 0);
          for (std::size_t i = 0; i < equation.size(); ++i)
            equation[i] = limit(m * equation[i] + (i < sum.size() ? sum[i] - rest[i] : 0));
          zero_.push_back(std::move(equation));
          break;
        }
      }
    }
  }

  void put(std::size_t unknown, const Sum& value) {
    for (std::vector<Sum>* all : {&zero_, &not_negative_})
      for (Sum& s : *all) {
        const std::int64_t factor = at(s, unknown);
        if (factor == 0) continue;
        s.resize(std::max(s.size(), value.size()), 0);
        s[unknown + 1] = 0;
        for (std::size_t i = 0; i < value.size(); ++i) s[i] = limit(s[i] + factor * value[i]);
      }
  }

  /// floor(s / by), of a sum without unknowns if `by` is not 1.
  Sum quotient(const Sum& s, std::int64_t by) {
    if (by == 1) return s;
    Sum whole(s.size(), 0), rest(s.size(), 0);
    bool is_constant = true;
    for (std::size_t i = 0; i < s.size(); ++i) {
      (s[i] % by == 0 ? whole : rest)[i] = s[i] % by == 0 ? s[i] / by : s[i];
      if (i > 0) is_constant = is_constant && rest[i] == 0;
    }
    if (is_constant) whole[0] += floor_div(rest[0], by);
    Sum most = rest;
    for (std::int64_t& c : most) c = -c;
    most[0] += by - 1;
    if (is_constant || (shows(rest, 1) && shows(most, 1))) return whole;
    const std::size_t q = add_known();  // rest = by*q + 0 ... by-1
    rest.resize(q + 2, 0), whole.resize(q + 2, 0);
    rest[q + 1] = -by;
    facts_.not_negative(form_of(rest, 1));
    LinearForm below = form_of(rest, -1);
    below.constant += by - 1;
    facts_.not_negative(below);
    whole[q + 1] = 1;
    return whole;
  }

  /// The value of the unknown of `s == 0`, where the other unknowns do not matter to it.
  Sum solved(const Sum& s, std::size_t unknown) {
    const std::int64_t c = at(s, unknown), sign = c > 0 ? -1 : 1;
    Sum others = s;
    for (std::int64_t& x : others) x *= sign;
    others[unknown + 1] = 0;
    if (std::abs(c) != 1)
      for (const std::size_t v : unknowns_of(others)) others[v + 1] = 0;  // digits that follow
    return quotient(others, std::abs(c));
  }

  /// Solves one equation for an unknown; false: none has any.
  bool solve_equation() {
    const Sum* best = nullptr;
    std::pair<bool, std::size_t> least;
    std::size_t unknown = 0;
    std::optional<std::size_t> remainder_of;
    for (const Sum& s : zero_) {
      const std::vector<std::size_t> all = unknowns_of(s);
      if (all.empty()) continue;
      const std::pair now(all.size() > 1 && quotient_in(s).has_value(), all.size());
      if (best && least <= now) continue;
      best = &s, least = now;
      const auto less = [&](std::size_t v, std::size_t w) {
        return std::abs(at(s, v)) < std::abs(at(s, w));
      };
      unknown = *std::max_element(all.begin(), all.end(), less);
      // One that has bounds and a remainder: those are bounds of the quotient.
      const std::size_t smallest = *std::min_element(all.begin(), all.end(), less);
      if (now == std::pair(true, std::size_t{2}) && std::abs(at(s, smallest)) == 1)
        remainder_of = std::exchange(unknown, smallest);
      else
        remainder_of.reset();
    }
    if (!best) return false;
    put(unknown, solved(*best, unknown));
    if (remainder_of) counts_.push_back(*remainder_of);
    return true;
  }

  /// Values of one unknown that has only bounds: the bounds, those with quotients first.
  std::optional<WitnessSearch> search_bounds(int& tries) {
    struct Bound {
      const Sum* sum;
      std::size_t unknown, others;
    };
    std::vector<Bound> bounds;
    for (const Sum& s : not_negative_) {
      const std::vector<std::size_t> all = unknowns_of(s);
      for (const std::size_t v : all)
        if (all.size() == 1 || std::abs(at(s, v)) == 1) bounds.push_back({&s, v, all.size() - 1});
    }
    if (bounds.empty()) {
      if (not_negative_.empty()) return *this;
      return std::nullopt;
    }
    const auto first = *std::min_element(bounds.begin(), bounds.end(), [](auto& x, auto& y) {
      return std::tuple(x.others, -std::abs(at(*x.sum, x.unknown))) <
             std::tuple(y.others, -std::abs(at(*y.sum, y.unknown)));
    });
    std::erase_if(bounds, [&](const Bound& b) {
      return b.unknown != first.unknown || b.others > first.others;
    });
    std::vector<Sum> tried;
    const auto attempt = [&](WitnessSearch then, const Sum& value) -> std::optional<WitnessSearch> {
      if (std::find(tried.begin(), tried.end(), value) != tried.end() || tries-- <= 0)
        return std::nullopt;
      tried.push_back(value);
      then.put(first.unknown, value);
      return then.search(tries);
    };
    for (const Bound& b : bounds) {
      WitnessSearch then = *this;
      // c*u + s >= 0: at least -s/c, rounded up; with a negative c, at most s/-c, rounded down.
      const std::int64_t c = at(*b.sum, b.unknown);
      Sum sum = *b.sum;
      if (c > 0) sum[0] -= c - 1;
      const Sum value = then.solved(sum, b.unknown);
      if (auto found = attempt(std::move(then), value)) return found;
    }
    if (std::find(counts_.begin(), counts_.end(), first.unknown) != counts_.end())
      for (const std::int64_t few : {0, 1, -1})  // what is nearest with that remainder
        if (auto found = attempt(*this, {few})) return found;
    return std::nullopt;
  }

  /// The end of a search that has found all values.
  std::optional<WitnessSearch> search(int& tries) {
    do {
      if (!settle()) return std::nullopt;
    } while (solve_equation());
    return search_bounds(tries);
  }

  LinearProof facts_;
  std::vector<Kind> kinds_;               // by variable
  std::vector<std::size_t> in_facts_;     // their numbers there, of those that are known
  std::vector<Sum> zero_, not_negative_;  // still to be met
  std::vector<std::size_t> counts_;       // of periods, in unknowns of which remainders are known
  bool too_large_ = false;                // some constraint has coefficients that are not tried
  std::size_t own_ = 0;                   // variables that a condition may have
  std::optional<LinearForm> where_;       // the condition
};

/// The points of `part` that surely are in `whole` for some values of its first dimensions.
std::optional<WitnessSearch::Found> reached(const LinearRows& part, const LinearRows& whole) {
  const std::size_t first = whole.dims - part.dims, own = part.dims + part.params.size();
  WitnessSearch search(part, own + part.quotients);
  if (search.nothing_is_known_to_be()) return WitnessSearch::Found{};
  std::vector<std::size_t> numbers;  // of the dimensions, parameters and quotients of `whole`
  for (std::size_t d = 0; d < whole.dims; ++d)
    numbers.push_back(d < first ? search.add_unknown() : d - first);
  for (const std::string& p : whole.params) {
    const auto it = std::find(part.params.begin(), part.params.end(), p);
    numbers.push_back(it == part.params.end() ? search.add_known()
                                              : part.dims + std::size_t(it - part.params.begin()));
  }
  for (std::size_t q = 0; q < whole.quotients; ++q) numbers.push_back(search.add_unknown());
  for (const bool equality : {true, false})
    for (LinearForm f : equality ? whole.zero : whole.not_negative) {
      for (auto& [v, c] : f.terms) v = numbers[v];
      search.wants(f, equality);
    }
  return search.find(own);
}

/// Those points of `b` where the form, over its dimensions and parameters, is negative.
BasicSet where_negative(const BasicSet& b, const LinearForm& f) {
  const int dims = count(isl_basic_set_dim(b.get(), isl_dim_set));
  Constraint c =
      isl_constraint_alloc_inequality(isl_local_space_from_space(isl_basic_set_get_space(b.get())));
  for (const auto& [v, factor] : f.terms) {
    const bool is_dim = v < std::size_t(dims);
    c = isl_constraint_set_coefficient_si(c.take(), is_dim ? isl_dim_set : isl_dim_param,
                                          int(is_dim ? v : v - std::size_t(dims)), int(-factor));
  }
  c = isl_constraint_set_constant_si(c.take(), int(-f.constant - 1));
  return isl_basic_set_add_constraint(b.copy(), c.take());
}

}  // namespace

Set without_reached(const Set& s, const Map& pairs) {
  const std::vector<BasicSet> by = parts_of(Set(isl_map_wrap(pairs.copy())));
  if (by.empty() || by.size() > kMostParts) return s;
  std::vector<LinearRows> rows;
  for (const BasicSet& b : by)
    if (auto r = linear_rows(b)) rows.push_back(std::move(*r));
  // Values in the same iteration of more loops are more likely to be the ones that are found.
  std::stable_sort(rows.begin(), rows.end(), [](const LinearRows& x, const LinearRows& y) {
    return x.zero.size() > y.zero.size();
  });
  return without_reached(s, rows);
}

Set without_reached(const Set& s, const std::vector<LinearRows>& rows) {
  Set out = isl_set_empty(isl_set_get_space(s.get()));
  for (BasicSet left : parts_of(s)) {
    bool all = false;
    for (const LinearRows& r : rows) {
      const std::optional<LinearRows> part = linear_rows(left);
      const auto found = part ? reached(*part, r) : std::nullopt;
      all = found && !found->where;
      if (all) break;
      if (found) left = where_negative(left, *found->where);
    }
    if (!all) out = isl_set_union(out.take(), isl_set_from_basic_set(left.take()));
  }
  return out;
}

}  // namespace moonloop
