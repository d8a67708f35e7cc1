#include "core/rewrite/split_loop.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "core/rewrite/iname_rewrite.h"

namespace moonloop {
namespace {

/// { [iname, outer, inner] : iname = length*outer + inner and 0 <= inner < length }
Set split_relation(const std::string& iname, const std::string& outer, const std::string& inner,
                   std::int64_t length) {
  Set s = universe({iname, outer, inner});
  Constraint c =
      isl_constraint_alloc_equality(isl_local_space_from_space(isl_set_get_space(s.get())));
  c = isl_constraint_set_coefficient_si(c.take(), isl_dim_set, 0, -1);
  c = isl_constraint_set_coefficient_val(c.take(), isl_dim_set, 1,
                                         isl_val_int_from_si(isl(), length));
  c = isl_constraint_set_coefficient_si(c.take(), isl_dim_set, 2, 1);
  s = isl_set_add_constraint(s.take(), c.take());
  s = isl_set_lower_bound_si(s.take(), isl_dim_set, 2, 0);
  return isl_set_upper_bound_val(s.take(), isl_dim_set, 2, isl_val_int_from_si(isl(), length - 1));
}

/// A dimension or a parameter of a set.
struct Position {
  isl_dim_type type;
  int at;
};
std::optional<Position> find(const Set& s, const std::string& name) {
  for (const isl_dim_type type : {isl_dim_set, isl_dim_param})
    if (const int at = isl_set_find_dim_by_name(s.get(), type, name.c_str()); at >= 0)
      return Position{type, at};
  return {};
}

/// `length*outer + inner >= length*q` is `outer >= q`, and the same above, because of
/// `0 <= inner < length`: a bound of one iname in place of one of two.
Constraint on_outer_alone(Constraint c, const Position& outer, const Position& inner,
                          std::int64_t length) {
  const auto coefficient = [&](isl_dim_type type, int at) {
    return Val(isl_constraint_get_coefficient_val(c.get(), type, at));
  };
  const Val whole = isl_val_int_from_si(isl(), length), own = coefficient(inner.type, inner.at);
  const bool lower = yes(isl_val_is_one(own.get()));
  const auto quotients = static_cast<unsigned>(count(isl_constraint_dim(c.get(), isl_dim_div)));
  if ((!lower && !yes(isl_val_is_negone(own.get()))) || yes(isl_constraint_is_equality(c.get())) ||
      yes(isl_constraint_involves_dims(c.get(), isl_dim_div, 0, quotients)))
    return c;
  const Val product = isl_val_mul(own.copy(), whole.copy());
  if (!yes(isl_val_eq(coefficient(outer.type, outer.at).get(), product.get()))) return c;
  for (const isl_dim_type type : {isl_dim_param, isl_dim_set})
    for (int i = 0; i < count(isl_constraint_dim(c.get(), type)); ++i)
      if (!(type == inner.type && i == inner.at) &&
          !yes(isl_val_is_divisible_by(coefficient(type, i).get(), whole.get())))
        return c;
  Val constant = isl_constraint_get_constant_val(c.get());
  if (!lower) constant = isl_val_sub(constant.take(), isl_val_sub_ui(whole.copy(), 1));
  if (!yes(isl_val_is_divisible_by(constant.get(), whole.get()))) return c;
  c = isl_constraint_set_coefficient_si(c.take(), inner.type, inner.at, 0);
  for (const isl_dim_type type : {isl_dim_param, isl_dim_set})
    for (int i = 0; i < count(isl_constraint_dim(c.get(), type)); ++i)
      c = isl_constraint_set_coefficient_val(
          c.copy(), type, i, isl_val_div(coefficient(type, i).take(), whole.copy()));
  return isl_constraint_set_constant_val(c.take(), isl_val_div(constant.take(), whole.copy()));
}

int quotients(const BasicSet& s) { return count(isl_basic_set_dim(s.get(), isl_dim_div)); }

/// Whether the set has integers of which only bounds are known: its constraints do not come apart.
bool has_unknown(const BasicSet& s) {
  return quotients(isl_basic_set_remove_unknown_divs(s.copy())) < quotients(s);
}

/// What a quotient is where `0 <= inner < length` decides its fraction: an equality of the quotient
/// at that place and an affine expression; nothing where it is open.
std::optional<Constraint> decided(const BasicSet& s, int quotient, const Position& inner,
                                  std::int64_t length) {
  const LocalSpace space = isl_basic_set_get_local_space(s.get());
  const Aff q = isl_local_space_get_div(space.get(), quotient);
  Constraint c = isl_constraint_alloc_equality(space.copy());
  c = isl_constraint_set_coefficient_si(c.take(), isl_dim_div, quotient, -1);
  Val least = isl_aff_get_constant_val(q.get());
  Val most = least;
  for (const isl_dim_type type : {isl_dim_param, isl_dim_set, isl_dim_div}) {
    const isl_dim_type own = type == isl_dim_set ? isl_dim_in : type;
    for (int i = 0; i < count(isl_aff_dim(q.get(), own)); ++i) {
      const Val factor = isl_aff_get_coefficient_val(q.get(), own, i);
      if (yes(isl_val_is_int(factor.get()))) {
        if (!yes(isl_val_is_zero(factor.get())))
          c = isl_constraint_set_coefficient_val(c.take(), type, i, factor.copy());
      } else if (type == inner.type && i == inner.at) {
        const Val last = isl_val_mul(factor.copy(), isl_val_int_from_si(isl(), length - 1));
        Val& end = yes(isl_val_is_neg(factor.get())) ? least : most;
        end = isl_val_add(end.take(), last.copy());
      } else {
        return {};
      }
    }
  }
  least = isl_val_floor(least.take());
  if (!yes(isl_val_eq(least.get(), Val(isl_val_floor(most.take())).get()))) return {};
  return Constraint(isl_constraint_set_constant_val(c.take(), least.take()));
}

/// `s` without the quotients that `0 <= inner < length` decides, as those of loops that were
/// rounded up to a multiple of `length`.
BasicSet without_decided(BasicSet s, const Position& inner, std::int64_t length) {
  for (int i = 0; i < quotients(s);) {
    std::optional<Constraint> is = decided(s, i, inner, length);
    const int before = quotients(s);
    if (is) s = isl_basic_set_add_constraint(s.take(), is->take());
    i = quotients(s) < before ? 0 : i + 1;
  }
  return s;
}

/// Whether the constraint says no more than `0 <= inner < length`.
bool follows_from_length(const Constraint& c, const Position& inner, std::int64_t length) {
  if (yes(isl_constraint_is_equality(c.get()))) return false;
  for (const isl_dim_type type : {isl_dim_param, isl_dim_set, isl_dim_div})
    for (int i = 0; i < count(isl_constraint_dim(c.get(), type)); ++i)
      if (!(type == inner.type && i == inner.at) &&
          yes(isl_constraint_involves_dims(c.get(), type, static_cast<unsigned>(i), 1)))
        return false;
  const Val factor = isl_constraint_get_coefficient_val(c.get(), inner.type, inner.at);
  Val least = isl_constraint_get_constant_val(c.get());
  if (yes(isl_val_is_neg(factor.get()))) {
    const Val last = isl_val_int_from_si(isl(), length - 1);
    least = isl_val_add(least.take(), isl_val_mul(factor.copy(), last.copy()));
  }
  return yes(isl_val_is_nonneg(least.get()));
}

/// Whether a constraint has a quotient together with one of the two inames.
bool bounds_by_quotients(const BasicSet& s, const Position& outer, const Position& inner) {
  const std::vector<Constraint> all = constraints_of(s);
  return std::any_of(all.begin(), all.end(), [&](const Constraint& c) {
    const auto quotients = static_cast<unsigned>(count(isl_constraint_dim(c.get(), isl_dim_div)));
    return yes(isl_constraint_involves_dims(c.get(), isl_dim_div, 0, quotients)) &&
           (yes(isl_constraint_involves_dims(c.get(), outer.type, unsigned(outer.at), 1)) ||
            yes(isl_constraint_involves_dims(c.get(), inner.type, unsigned(inner.at), 1)));
  });
}

/// `s` with the bounds of whole pieces only on the outer iname. A domain inside of the loop does
/// not say what the length of pieces says.
Set simplified(const Set& s, const std::string& outer, const std::string& inner,
               std::int64_t length) {
  const auto o = find(s, outer);
  const auto i = o ? find(s, inner) : std::nullopt;
  if (!i) return s;
  Set all = isl_set_empty(isl_set_get_space(s.get()));
  for (const BasicSet& whole : parts_of(s)) {
    const BasicSet part = has_unknown(whole) ? whole : without_decided(whole, *i, length);
    if (has_unknown(part) || bounds_by_quotients(part, *o, *i)) {
      all = isl_set_union(all.take(), isl_set_from_basic_set(part.copy()));
      continue;
    }
    const auto at = static_cast<unsigned>(i->at);
    Set points = isl_set_from_basic_set(
        isl_basic_set_drop_constraints_involving_dims(part.copy(), i->type, at, 1));
    for (const Constraint& c : constraints_of(part)) {
      if (!yes(isl_constraint_involves_dims(c.get(), i->type, at, 1)) ||
          (i->type == isl_dim_param && follows_from_length(c, *i, length)))
        continue;
      points = isl_set_add_constraint(points.take(), on_outer_alone(c, *o, *i, length).take());
    }
    all = isl_set_union(all.take(), points.take());
  }
  const auto at = static_cast<unsigned>(i->at);
  if (i->type == isl_dim_param && !yes(isl_set_involves_dims(all.get(), isl_dim_param, at, 1)))
    all = isl_set_project_out(all.take(), isl_dim_param, at, 1);
  return all;
}

}  // namespace

Kernel split_loop(const Kernel& k, const std::string& iname, const std::string& outer,
                  const std::string& inner, std::int64_t length, const Match& within) {
  InameRewrite rw;
  rw.old = {iname};
  rw.fresh = {outer, inner};
  rw.old_in_new[iname] = index_add({var(inner), index_mul(lit(length), var(outer))});
  rw.bound[iname] = rw.fresh;
  rw.relation = split_relation(iname, outer, inner, length);
  Kernel out = rewrite_inames(k, rw, within);
  for (Domain& d : out.domains) d.set = simplified(d.set, outer, inner, length);
  return out;
}

}  // namespace moonloop
