#include "tests/differential/points.h"

#include <algorithm>
#include <limits>
#include <set>
#include <stdexcept>

namespace moonloop::differential {
namespace {

constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();

std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a / b - (a % b != 0 && a < 0); }

/// `constant + sum of factors[v] * variable v >= 0`; variables are parameters, then dimensions,
/// then the integers that exist.
struct Inequality {
  std::int64_t constant = 0;
  std::vector<std::int64_t> factors;
};

class Search {
 public:
  explicit Search(const BasicSet& set)
      : set_(isl_basic_set_lift(set.copy())),
        params_(size(set, isl_dim_param)),
        dims_(size(set, isl_dim_set)),
        variables_(params_ + size(set_, isl_dim_set)) {
    const auto add = [&](isl_mat* taken, bool equal) {
      for (int r = 0; r < count(isl_mat_rows(taken)); ++r) {
        Inequality q{entry(taken, r, 0), {}};
        for (std::size_t v = 0; v < variables_; ++v)
          q.factors.push_back(entry(taken, r, static_cast<int>(v) + 1));
        rows_.push_back(q);
        if (!equal) continue;
        q.constant = -q.constant;
        for (std::int64_t& f : q.factors) f = -f;
        rows_.push_back(q);
      }
      isl_mat_free(taken);
    };
    add(isl_basic_set_equalities_matrix(set.get(), isl_dim_cst, isl_dim_param, isl_dim_set,
                                        isl_dim_div),
        true);
    add(isl_basic_set_inequalities_matrix(set.get(), isl_dim_cst, isl_dim_param, isl_dim_set,
                                          isl_dim_div),
        false);
  }

  void run(const std::vector<std::int64_t>& params,
           const std::function<void(const std::vector<std::int64_t>&)>& each) {
    low_.assign(variables_, -kNone);
    high_.assign(variables_, kNone);
    for (std::size_t p = 0; p < params_; ++p) low_[p] = high_[p] = params.at(p);
    if (!propagate()) return;
    if (!bounded()) {  // a skewed one, where no single constraint bounds a dimension
      if (!ask_bounds() || !propagate()) return;
      if (!bounded())
        throw std::runtime_error("no bounded set: " +
                                 str(Set(isl_set_from_basic_set(set_.copy()))));
    }
    for (const Inequality& q : rows_) {  // on parameters alone
      const std::int64_t most = bound(q, variables_);
      if (most < 0) return;
    }
    search(params_, each);
  }

 private:
  static std::size_t size(const BasicSet& s, isl_dim_type t) {
    return static_cast<std::size_t>(count(isl_basic_set_dim(s.get(), t)));
  }
  static std::int64_t entry(isl_mat* m, int row, int column) {
    return to_int(Val(isl_mat_get_element_val(m, row, column)));
  }

  /// The most that the row's sum without variable `but` can be within the bounds.
  std::int64_t bound(const Inequality& q, std::size_t but) const {
    std::int64_t out = q.constant;
    for (std::size_t v = 0; v < variables_; ++v) {
      if (v == but || q.factors[v] == 0) continue;
      const std::int64_t at = q.factors[v] > 0 ? high_[v] : low_[v];
      if (at == kNone || at == -kNone) return kNone;
      out += q.factors[v] * at;
    }
    return out;
  }
  /// Propagates bounds from one variable to the next; false: there is no point.
  bool propagate() {
    for (std::size_t round = 0; round <= variables_; ++round)
      for (std::size_t v = params_; v < variables_; ++v)
        if (!tighten(v, low_[v], high_[v])) return false;
    return true;
  }
  bool bounded() const {
    for (std::size_t v = params_; v < variables_; ++v)
      if (low_[v] == -kNone || high_[v] == kNone) return false;
    return true;
  }
  bool ask_bounds() {  // false: there is no point
    BasicSet fixed = set_;
    for (std::size_t p = 0; p < params_; ++p)
      fixed = isl_basic_set_fix_si(fixed.take(), isl_dim_param, static_cast<unsigned>(p),
                                   static_cast<int>(low_[p]));
    const Set all = isl_set_from_basic_set(fixed.take());
    if (yes(isl_set_is_empty(all.get()))) return false;
    for (std::size_t d = 0; params_ + d < variables_; ++d) {
      if (!yes(isl_set_dim_is_bounded(all.get(), isl_dim_set, static_cast<unsigned>(d))))
        throw std::runtime_error("no bounded set");
      const std::size_t v = params_ + d;
      low_[v] =
          std::max(low_[v], to_int(Val(isl_set_dim_min_val(all.copy(), static_cast<int>(d)))));
      high_[v] =
          std::min(high_[v], to_int(Val(isl_set_dim_max_val(all.copy(), static_cast<int>(d)))));
    }
    return true;
  }
  /// Restricts `low..high` for `v` to the rows; false: nothing is left.
  bool tighten(std::size_t v, std::int64_t& low, std::int64_t& high) const {
    for (const Inequality& q : rows_) {
      const std::int64_t f = q.factors[v];
      if (f == 0) continue;
      const std::int64_t rest = bound(q, v);
      if (rest == kNone) continue;
      if (f > 0)
        low = std::max(low, -floor_div(rest, f));
      else
        high = std::min(high, floor_div(rest, -f));
    }
    return low <= high;
  }
  /// False once the integers that exist are found, which ends their search.
  bool search(std::size_t v, const std::function<void(const std::vector<std::int64_t>&)>& each) {
    if (v == variables_) {
      const auto from = low_.begin() + static_cast<std::ptrdiff_t>(params_);
      each({from, from + static_cast<std::ptrdiff_t>(dims_)});
      return false;
    }
    const std::int64_t was_low = low_[v], was_high = high_[v];
    std::int64_t low = was_low, high = was_high;
    bool more = true;
    if (tighten(v, low, high))
      for (std::int64_t at = low; at <= high && more; ++at) {
        low_[v] = high_[v] = at;
        more = search(v + 1, each) || v < params_ + dims_;
      }
    low_[v] = was_low, high_[v] = was_high;
    return more;
  }

  BasicSet set_;  // the integers that exist as dimensions, after the others
  std::size_t params_, dims_, variables_;
  std::vector<Inequality> rows_;
  std::vector<std::int64_t> low_, high_;  // of each variable, now
};

}  // namespace

void for_each_point(const Set& set, const std::vector<std::int64_t>& params,
                    const std::function<void(const std::vector<std::int64_t>&)>& each) {
  const std::vector<BasicSet> parts = parts_of(set);
  std::set<std::vector<std::int64_t>> seen;  // parts may meet
  for (const BasicSet& part : parts)
    Search(part).run(params, [&](const std::vector<std::int64_t>& at) {
      if (parts.size() == 1 || seen.insert(at).second) each(at);
    });
}

}  // namespace moonloop::differential
