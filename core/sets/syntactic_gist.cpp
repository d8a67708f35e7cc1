#include "core/sets/syntactic_gist.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "core/sets/affine_constraints.h"
#include "core/sets/linear_proof.h"

namespace moonloop {
namespace {

bool is_dimension(const std::string& name) { return name[0] == '['; }

class Known {
 public:
  explicit Known(AffineConstraints context) : context_(std::move(context)) {}

  /// Whether `row` holds wherever the context and the rows `beside` hold.
  bool implies(const AffineConstraint& row,
               const std::vector<const AffineConstraint*>& beside) const {
    if (row.equality) return is_there(row);
    if (context_.show(row)) return true;
    std::vector<const AffineConstraint*> rows = related(row, beside);
    std::map<std::string, int> at;
    for (const AffineConstraint* r : rows)
      for (const auto& [name, a] : r->coefficients) at.emplace(name, int(at.size()));
    for (const auto& [name, a] : row.coefficients) at.emplace(name, int(at.size()));
    AffineConstraint opposite = row;  // -sum - constant - 1 >= 0
    for (auto& [name, a] : opposite.coefficients) a = -a;
    opposite.constant = -row.constant - 1;
    rows.push_back(&opposite);
    return is_empty(rows, at);
  }

 private:
  /// Whether no point is in all rows.
  static bool is_empty(const std::vector<const AffineConstraint*>& rows,
                       const std::map<std::string, int>& at) {
    LinearProof proof(at.size());
    for (const bool equality : {true, false})
      for (const AffineConstraint* r : rows) {
        if (r->equality != equality) continue;
        LinearForm f;
        f.constant = r->constant;
        for (const auto& [name, a] : r->coefficients)
          f.terms.emplace_back(std::size_t(at.at(name)), a);
        equality ? proof.zero(f) : proof.not_negative(f);
      }
    if (proof.impossible()) return true;
    if (proof.possible() || has_near_point(rows)) return false;
    BasicSet s = isl_basic_set_universe(isl_space_set_alloc(isl(), 0, unsigned(at.size())));
    const LocalSpace space = isl_local_space_from_space(isl_basic_set_get_space(s.get()));
    for (const AffineConstraint* r : rows) {
      Constraint c = r->equality ? isl_constraint_alloc_equality(space.copy())
                                 : isl_constraint_alloc_inequality(space.copy());
      c = isl_constraint_set_constant_val(c.take(), isl_val_int_from_si(isl(), r->constant));
      for (const auto& [name, a] : r->coefficients)
        c = isl_constraint_set_coefficient_val(c.take(), isl_dim_set, at.at(name),
                                               isl_val_int_from_si(isl(), a));
      s = isl_basic_set_add_constraint(s.take(), c.take());
    }
    // Most contradictions are between rationals. Integers of an unbounded set are dear to look for.
    s = isl_basic_set_remove_redundancies(s.take());
    return yes(isl_basic_set_is_empty(s.get()));
  }

  bool is_there(const AffineConstraint& row) const {
    return std::any_of(
        context_.all().begin(), context_.all().end(), [&](const AffineConstraint& r) {
          return r.equality && r.coefficients == row.coefficients && r.constant == row.constant;
        });
  }

  /// The rows of the context, and `beside`, that share a name with `row`, directly or through one
  /// another.
  std::vector<const AffineConstraint*> related(
      const AffineConstraint& row, const std::vector<const AffineConstraint*>& beside) const {
    std::vector<const AffineConstraint*> out = beside, left;
    std::set<std::string> names;
    const auto add = [&](const AffineConstraint& r) {
      for (const auto& [name, a] : r.coefficients) names.insert(name);
    };
    add(row);
    for (const AffineConstraint* r : beside) add(*r);
    for (const AffineConstraint& r : context_.all()) left.push_back(&r);
    for (bool grew = true; grew;) {
      grew = false;
      for (const AffineConstraint*& r : left) {
        if (!r || std::none_of(r->coefficients.begin(), r->coefficients.end(),
                               [&](const auto& c) { return names.count(c.first); }))
          continue;
        add(*r);
        out.push_back(r);
        r = nullptr;
        grew = true;
      }
    }
    return out;
  }

  AffineConstraints context_;
};

}  // namespace

namespace {

/// Some dimension would lose its last bound on one side with row `i`, so that the row follows from
/// no others.
bool is_needed(std::size_t i, const std::vector<AffineConstraint>& rows,
               const std::vector<bool>& kept) {
  if (rows[i].equality) return false;
  return std::any_of(rows[i].coefficients.begin(), rows[i].coefficients.end(),
                     [&](const auto& own) {
                       if (!is_dimension(own.first)) return false;
                       for (std::size_t j = 0; j < rows.size(); ++j) {
                         const std::int64_t other = rows[j].of(own.first);
                         if (j != i && kept[j] && other != 0 &&
                             (rows[j].equality || (other > 0) == (own.second > 0)))
                           return false;
                       }
                       return true;
                     });
}

}  // namespace

std::optional<BasicSet> syntactic_gist(const Set& s, const Set& context) {
  Set unnamed = s;
  for (int d = 0; d < count(isl_set_dim(s.get(), isl_dim_set)); ++d)
    unnamed = isl_set_set_dim_name(unnamed.take(), isl_dim_set, unsigned(d), nullptr);
  const std::optional<AffineConstraints> own = AffineConstraints::of(unnamed);
  std::optional<AffineConstraints> around = AffineConstraints::of(context);
  if (!own || !around) return {};
  const Known known(std::move(*around));
  const BasicSet points = parts_of(s)[0];
  const std::vector<Constraint> all = constraints_of(points);
  const std::vector<AffineConstraint>& rows = own->all();
  std::vector<bool> kept(all.size(), true);
  const auto on_dimensions = [&](const AffineConstraint& r) {
    return std::any_of(r.coefficients.begin(), r.coefficients.end(),
                       [](const auto& c) { return is_dimension(c.first); });
  };
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (!on_dimensions(rows[i])) kept[i] = !known.implies(rows[i], {});
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!kept[i] || is_needed(i, rows, kept)) continue;
    std::vector<const AffineConstraint*> beside;
    for (std::size_t j = 0; j < rows.size(); ++j)
      if (j != i && kept[j]) beside.push_back(&rows[j]);
    kept[i] = !known.implies(rows[i], beside);
  }
  BasicSet out = isl_basic_set_universe(isl_basic_set_get_space(points.get()));
  for (std::size_t i = 0; i < all.size(); ++i)
    if (kept[i]) out = isl_basic_set_add_constraint(out.take(), all[i].copy());
  return out;
}

Set gist(const Set& s, const Set& context) {
  const auto has_equality = [](const BasicSet& part) {
    const std::vector<Constraint> all = constraints_of(part);
    return std::any_of(all.begin(), all.end(), [](const Constraint& c) {
      return yes(isl_constraint_is_equality(c.get()));
    });
  };
  const std::vector<BasicSet> parts = parts_of(s);
  std::vector<Set> meeting;
  for (const BasicSet& part : parts) {
    Set own = isl_set_from_basic_set(part.copy());
    if (!has_equality(part) || !yes(isl_set_is_disjoint(own.get(), context.get())))
      meeting.push_back(std::move(own));
  }
  if (meeting.size() == parts.size()) return isl_set_gist(s.copy(), context.copy());
  if (meeting.empty()) return s;
  Set rest = isl_set_empty(isl_set_get_space(s.get()));
  for (Set& own : meeting) rest = isl_set_union(rest.take(), own.take());
  return isl_set_gist(rest.take(), context.copy());
}

Set gist_params(const Set& s, const Set& context) {
  Set known = isl_set_universe(isl_set_get_space(s.get()));
  known = isl_set_intersect_params(known.take(), context.copy());
  return gist(s, known);
}

Set gist_of_loops(const Set& s, const Set& context) {
  if (is_empty(context)) return s;
  return gist_params(s, context);
}

}  // namespace moonloop
