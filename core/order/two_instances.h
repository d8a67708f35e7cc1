#pragma once
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/model/flat_subscripts.h"
#include "core/model/memo.h"
#include "core/order/order.h"
#include "core/sets/linear_proof.h"

namespace moonloop {

/// Constraints on two instances of statements, and on the parameters, which they share, for proofs
/// without isl; there may be others that these are related to. Whatever is not linear is left out:
/// then less is shown.
class TwoInstances {
 public:
  static constexpr int kInstances = 4;
  LinearProof proof;
  bool exact = true;  // false: something was left out, so pairs that are found need not be there

  /// A new instance over `dims`, anywhere.
  void add(int side, const std::vector<std::string>& dims) {
    places_[side].clear();
    for (const std::string& d : dims) {
      places_[side].push_back(add_variable());
      values_[side][d] = {{{places_[side].back(), 1}}, 0};
    }
  }
  /// A new instance over `dims`, in the set; false: its constraints are not linear.
  bool add(int side, const std::vector<std::string>& dims, const Set& points) {
    const std::shared_ptr<const LinearRows> rows = memo().rows_of(points);
    if (!rows) return false;
    add(side, dims);
    constrain(*rows, places_[side]);
    return true;
  }
  /// The variables of an instance, in the order of its dimensions.
  const std::vector<std::size_t>& places(int side) const { return places_[side]; }
  /// The constraints hold for these variables, which are the set's dimensions.
  void constrain(const LinearRows& rows, std::vector<std::size_t> at) {
    for (const std::string& p : rows.params) at.push_back(parameter(p));
    for (std::size_t q = 0; q < rows.quotients; ++q) at.push_back(add_variable());
    const auto placed = [&](LinearForm f) {
      for (auto& [v, c] : f.terms) v = at[v];
      return f;
    };
    for (const LinearForm& f : rows.zero) later_.push_back({true, placed(f)});
    for (const LinearForm& f : rows.not_negative) later_.push_back({false, placed(f)});
  }
  /// Whether these variables, which are the set's dimensions, meet its constraints wherever those
  /// taken in so far hold; false says nothing.
  bool implies(const LinearRows& rows, std::vector<std::size_t> at) {
    if (rows.quotients > 0) return false;
    for (const std::string& p : rows.params) at.push_back(parameter(p));
    const auto holds = [&](LinearForm f, std::int64_t sign) {  // sign*f >= 0
      for (auto& [v, c] : f.terms) v = at[v], c *= -sign;
      f.constant = -sign * f.constant - 1;
      LinearProof not_so = proof;
      not_so.not_negative(f);
      return not_so.impossible();
    };
    return std::all_of(rows.zero.begin(), rows.zero.end(),
                       [&](const LinearForm& f) { return holds(f, 1) && holds(f, -1); }) &&
           std::all_of(rows.not_negative.begin(), rows.not_negative.end(),
                       [&](const LinearForm& f) { return holds(f, 1); });
  }
  /// Takes in the constraints of the instances, after the equalities that leave fewer variables.
  void take_in() {
    for (const bool equalities : {true, false})
      for (const auto& [equality, f] : later_) {
        if (equality != equalities) continue;
        if (equality)
          proof.zero(f);
        else
          proof.not_negative(f);
      }
  }

  /// The value of an expression of the names that `names` gives values, and of parameters; nothing
  /// where it is not linear or not `fixed`.
  using Names = std::map<std::string, LinearForm>;
  template <class Fixed>
  std::optional<LinearForm> value(const Expr& e, const Names& names, const Fixed& fixed) {
    if (const auto n = as_int(e)) return LinearForm{{}, *n};
    if (const auto* v = e.as<Var>()) {
      const auto it = names.find(v->name);
      if (it != names.end()) return it->second;
      if (!fixed(v->name)) return std::nullopt;
      return LinearForm{{{parameter(v->name), 1}}, 0};
    }
    if (const auto* u = e.as<Unary>(); u && (u->op == UnaryOp::Neg || u->op == UnaryOp::Sub)) {
      const auto f = value(u->arg, names, fixed);
      return f ? weighted_sum(-1, *f, 0, {}) : std::nullopt;
    }
    if (const auto* n = e.as<Nary>(); n && n->op == NaryOp::Add) {
      std::optional<LinearForm> all = LinearForm();
      for (const Expr& t : n->terms) {
        const auto f = value(t, names, fixed);
        if (!f || !(all = weighted_sum(1, *all, 1, *f))) return std::nullopt;
      }
      return all;
    }
    if (const auto* n = e.as<Nary>(); n && n->op == NaryOp::Mul && n->terms.size() == 2)
      for (const std::size_t i : {std::size_t{0}, std::size_t{1}})
        if (const auto factor = as_int(n->terms[i])) {
          const auto f = value(n->terms[1 - i], names, fixed);
          return f ? weighted_sum(*factor, *f, 0, {}) : std::nullopt;
        }
    if (const auto* b = e.as<Binary>();
        b && (b->op == BinaryOp::FloorDiv || b->op == BinaryOp::Mod)) {
      const auto by = as_int(b->right);
      const auto f = by && *by > 0 ? value(b->left, names, fixed) : std::nullopt;
      if (!f) return std::nullopt;
      const LinearForm quotient{{{quotient_of(b->left, names, *f, *by), 1}}, 0};
      return b->op == BinaryOp::FloorDiv ? quotient : weighted_sum(1, *f, -*by, quotient);
    }
    return std::nullopt;
  }
  const Names& values(int side) const { return values_[side]; }
  /// Any integer, another one each time.
  LinearForm unknown() { return {{{add_variable(), 1}}, 0}; }
  const std::map<std::string, std::size_t>& parameters() const { return parameters_; }
  /// The instance is at one of these points, if they are known; false: they are not linear.
  bool at(int side, const std::optional<Set>& points) {
    const auto rows = points ? memo().rows_of(*points) : nullptr;
    if (rows) constrain(*rows, places_[side]);
    return rows != nullptr;
  }
  /// Both access the same element, where the inames of the accesses have these values.
  template <class Fixed>
  void meet(const Access& x, const Names& at_x, const Access& y, const Names& at_y,
            const Variables& variables, const Fixed& fixed) {
    if (x.when || y.when) exact = false;
    if (flat_of(x.index) || flat_of(y.index) || x.index.size() != y.index.size()) {
      exact = false;
      return;
    }
    for (std::size_t axis = 0; axis < x.index.size(); ++axis) {
      std::optional<LinearForm> apart;
      if (is_fixed(x.index[axis], variables) && is_fixed(y.index[axis], variables)) {
        const auto f = value(x.index[axis], at_x, fixed), g = value(y.index[axis], at_y, fixed);
        if (f && g) apart = weighted_sum(1, *g, -1, *f);
      }
      if (apart)
        proof.zero(*apart);
      else
        exact = false;
    }
  }
  /// The place of each variable among those of rows whose dimensions are those of two instances;
  /// what is neither one of these nor a parameter is a quotient.
  std::vector<std::size_t> numbers(int first, int second) const {
    constexpr std::size_t kNone = SIZE_MAX;
    std::vector<std::size_t> out(variables_, kNone);
    std::size_t next = 0;
    for (const int side : {first, second})
      for (const std::size_t v : places_[side]) out[v] = next++;
    for (const auto& [name, v] : parameters_) out[v] = next++;
    for (std::size_t& n : out)
      if (n == kNone) n = next++;
    return out;
  }
  /// The constraints so far as such rows.
  LinearRows rows(int first, int second) const {
    const std::vector<std::size_t> at = numbers(first, second);
    LinearRows out;
    out.dims = places_[first].size() + places_[second].size();
    for (const auto& [name, v] : parameters_) out.params.push_back(name);
    out.quotients = variables_ - out.dims - out.params.size();
    for (auto [equality, f] : later_) {
      for (auto& [v, c] : f.terms) v = at[v];
      (equality ? out.zero : out.not_negative).push_back(std::move(f));
    }
    return out;
  }

 private:
  std::size_t add_variable() {
    ++variables_;
    return proof.add_variable();
  }
  std::size_t parameter(const std::string& name) {
    const auto [it, fresh] = parameters_.try_emplace(name, 0);
    if (fresh) it->second = add_variable();
    return it->second;
  }
  /// The variable that is `f` divided by `by`, rounded down; one for equal expressions.
  std::size_t quotient_of(const Expr& e, const Names& names, const LinearForm& f, std::int64_t by) {
    const auto [it, fresh] =
        quotients_.try_emplace({&names, fmt::format("{} by {}", to_string(e), by)}, 0);
    if (!fresh) return it->second;
    it->second = add_variable();
    const LinearForm quotient{{{it->second, 1}}, 0};
    auto rest = weighted_sum(1, f, -by, quotient);  // 0 … by-1
    auto least = rest ? weighted_sum(-1, *rest, 0, {}) : std::nullopt;
    if (!least) {
      exact = false;
      return it->second;
    }
    least->constant += by - 1;
    later_.push_back({false, std::move(*rest)});
    later_.push_back({false, std::move(*least)});
    return it->second;
  }

  Names values_[kInstances];
  std::vector<std::size_t> places_[kInstances];
  std::map<std::string, std::size_t> parameters_;
  std::map<std::pair<const void*, std::string>, std::size_t> quotients_;
  std::vector<std::pair<bool, LinearForm>> later_;  // constraints; true: equalities
  std::size_t variables_ = 0;
};

}  // namespace moonloop
