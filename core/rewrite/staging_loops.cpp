#include "core/rewrite/staging_loops.h"

#include <algorithm>

#include "core/model/domain.h"
#include "core/rewrite/staging.h"
#include "core/sets/bounded.h"
#include "core/sets/coalesce.h"
#include "core/sets/syntactic_gist.h"

namespace moonloop {

std::set<std::string> needed_inames(const Kernel& k, const Footprint& f,
                                    const std::set<std::string>& common,
                                    std::set<std::string> needed) {
  std::set<std::string> depends;
  for (const FootprintAxis& a : f.axes) collect_vars(a.base, depends);
  const std::vector<std::string> params = param_names(f.own);
  for (std::size_t p = 0; p < params.size(); ++p)
    if (yes(isl_set_involves_dims(f.own.get(), isl_dim_param, unsigned(p), 1)))
      depends.insert(params[p]);
  for (const std::string& i : depends)
    if (common.count(i)) needed.insert(i);
  std::vector<std::string> pending(needed.begin(), needed.end());
  while (!pending.empty()) {
    const Domain* home = k.home_of(pending.back());
    pending.pop_back();
    for (const std::string& p : home->params())
      if (common.count(p) && needed.insert(p).second) pending.push_back(p);
  }
  return needed;
}

AddressSpace staging_space(const Kernel& k, AddressSpace wanted, const std::vector<Place>& places,
                           const std::set<std::string>& needed, const std::set<std::string>& sweep,
                           bool own_copy, const Span& at) {
  std::set<std::string> items, swept_items;
  for (const Place& p : places) items.merge(work_items_of(k, p));
  bool shared = false, own = own_copy;  // some work-items get the same values, or others
  for (const std::string& i : items) {
    (needed.count(i) ? own : shared) = true;
    if (sweep.count(i)) swept_items.insert(i);
  }
  AddressSpace space = wanted;
  if (space == AddressSpace::Auto && !items.empty())
    space = shared && !(own && swept_items.empty()) ? AddressSpace::Local
            : shared && own_copy                    ? AddressSpace::Auto
                                                    : AddressSpace::Private;
  if (space == AddressSpace::Private && !swept_items.empty())
    refuse("private-sweep", at,
           "`{}` numbers work-items, and a private temporary is not shared by them; use `local`",
           *swept_items.begin());
  for (const std::string& i : sweep)
    if (const InameTag* t = k.tag(i);
        t && t->kind == TagKind::Group && space != AddressSpace::Global)
      refuse("swept-group", at,
             "`{}` is tagged `{}`: work-groups share global memory only; give "
             "temporary_address_space = \"global\"",
             i, t->text);
  return space;
}

AddressSpace settled_space(const Kernel& k, AddressSpace space, const std::vector<Place>& places,
                           const std::set<std::string>& nest) {
  std::set<std::string> items;
  for (const Place& p : places) items.merge(work_items_of(k, p));
  const bool all = std::includes(nest.begin(), nest.end(), items.begin(), items.end());
  return space == AddressSpace::Auto && !items.empty() && all ? AddressSpace::Private : space;
}

// ---- Points -----------------------------------------------------------------------------------

namespace {

/// How many constraints of a set of one basic set mention more than one of its dimensions.
int couplings(const Set& s) {
  int found = 0;
  for (const BasicSet& part : parts_of(s))
    for (const Constraint& c : constraints_of(part)) {
      int dims = 0;
      for (int d = 0; d < count(isl_constraint_dim(c.get(), isl_dim_set)); ++d)
        dims += yes(isl_constraint_involves_dims(c.get(), isl_dim_set, unsigned(d), 1));
      found += dims > 1;
    }
  return found;
}

/// The set without parameters that no constraint mentions.
Set without_idle_params(Set s) {
  for (int p = count(isl_set_dim(s.get(), isl_dim_param)); p-- > 0;)
    if (!yes(isl_set_involves_dims(s.get(), isl_dim_param, unsigned(p), 1)))
      s = isl_set_project_out(s.take(), isl_dim_param, unsigned(p), 1);
  return s;
}

/// { [names] : 0 <= name < extent }
Set extents_of(const Footprint& f, const std::vector<std::string>& names) {
  Exprs within;
  std::size_t next = 0;
  for (const FootprintAxis& a : f.axes) {
    if (a.trivial()) continue;
    const Expr x = var(names.at(next++));
    within.push_back(Expr(Compare{CompareOp::Ge, x, lit(0)}));
    within.push_back(Expr(Compare{CompareOp::Lt, x, a.extent}));
  }
  const std::optional<Set> box = to_condition(conjunction(within), names);
  ensure(box.has_value(), "the extents of a footprint are affine");
  return *box;
}

void add_guard(Exprs& guards, const Set& where) {
  if (!yes(isl_set_plain_is_universe(where.get()))) guards.push_back(from_set(where));
}

}  // namespace

StagedPoints staged_points(const Footprint& f, const std::vector<std::string>& names,
                           PointShape shape) {
  StagedPoints out;
  const std::optional<Set> convex = shape == PointShape::Box ? std::nullopt : convex_points(f);
  if (convex) out.points = zero_based(f, *convex, names);
  const bool box = shape == PointShape::Box ||
                   (shape == PointShape::Simple &&
                    (!convex || couplings(out.points) > static_cast<int>(names.size())));
  if (box) {
    out.points = zero_based(f, box_points(f), names);
  } else if (!convex) {
    // Parts of a union that bound a dimension by different slopes leave this without a bound.
    const Set hull = isl_set_from_basic_set(isl_set_simple_hull(f.own.copy()));
    out.points = zero_based(f, is_bounded(hull) ? hull : box_points(f), names);
    add_guard(out.guards, gist(zero_based(f, f.points, names), out.points));
  }
  if (!yes(isl_set_is_bounded(out.points.get())))
    out.points = isl_set_intersect(out.points.take(), extents_of(f, names).take());
  out.points = without_idle_params(std::move(out.points));
  if (names.empty()) {  // no loop whose bounds could hold the condition
    add_guard(out.guards, out.points);
    out.points = universe({});
  }
  return out;
}

void join_parts(StagedPoints& p, const Footprint& f, const std::vector<std::string>& names,
                const Exprs& index, const Exprs& shape) {
  constexpr int kMany = 8;
  const int parts = count(isl_set_n_basic_set(p.points.get()));
  if (parts < kMany || index.size() != shape.size()) return;
  Exprs inside;
  for (std::size_t d = 0; d < index.size(); ++d) {
    inside.push_back(Expr(Compare{CompareOp::Ge, index[d], lit(0)}));
    inside.push_back(Expr(Compare{CompareOp::Lt, index[d], shape[d]}));
  }
  const std::optional<Set> existing = to_condition(conjunction(inside), names);
  if (!existing) return;
  const Set box = extents_of(f, names);
  const Set needed = gist(*existing, Set(isl_set_intersect_params(box.copy(), f.context.copy())));
  Set joined = coalesce(isl_set_intersect(box.copy(), needed.copy()));
  if (count(isl_set_n_basic_set(joined.get())) >= parts) return;
  p = {without_idle_params(std::move(joined)), {}};
}

namespace {

/// Whether `c` is over parameters none of which is in `keep`.
bool is_idle(const Constraint& c, const std::vector<std::string>& params,
             const std::set<std::string>& keep) {
  for (int d = 0; d < count(isl_constraint_dim(c.get(), isl_dim_set)); ++d)
    if (yes(isl_constraint_involves_dims(c.get(), isl_dim_set, unsigned(d), 1))) return false;
  for (std::size_t p = 0; p < params.size(); ++p)
    if (keep.count(params[p]) &&
        yes(isl_constraint_involves_dims(c.get(), isl_dim_param, unsigned(p), 1)))
      return false;
  return true;
}

}  // namespace

void drop_idle_conditions(const Kernel& k, StagedPoints& p, const Footprint& f,
                          const std::string& array) {
  const Argument* arg = k.find_arg(array);
  if (!arg || !arg->shape || !p.guards.empty()) return;
  if (count(isl_set_n_basic_set(p.points.get())) != 1) return;
  std::set<std::string> keep;
  for (const Expr& e : *arg->shape) collect_vars(e, keep);
  for (const FootprintAxis& a : f.axes) {
    collect_vars(a.base, keep);
    collect_vars(a.extent, keep);
  }
  const std::vector<std::string> params = param_names(p.points);
  for (const std::string& n : params)
    if (k.has_iname(n)) keep.insert(n);
  const BasicSet only = isl_set_simple_hull(p.points.copy());
  if (count(isl_basic_set_dim(only.get(), isl_dim_div)) > 0) return;
  std::vector<Constraint> all = constraints_of(only);
  for (bool grew = true; grew;) {  // names in one constraint with a kept name are kept
    grew = false;
    for (const Constraint& c : all) {
      if (is_idle(c, params, keep)) continue;
      for (std::size_t n = 0; n < params.size(); ++n)
        if (yes(isl_constraint_involves_dims(c.get(), isl_dim_param, unsigned(n), 1)))
          grew = keep.insert(params[n]).second || grew;
    }
  }
  if (std::none_of(all.begin(), all.end(),
                   [&](const Constraint& c) { return is_idle(c, params, keep); }))
    return;
  Set kept = isl_set_universe(isl_set_get_space(p.points.get()));
  for (const Constraint& c : all) {
    if (is_idle(c, params, keep)) continue;
    kept = isl_set_add_constraint(kept.take(), c.copy());
  }
  p.points = without_idle_params(std::move(kept));
}

// ---- Domains ----------------------------------------------------------------------------------

void add_staging_domain(Kernel& k, StagedPoints& p, const std::vector<std::string>& fresh,
                        const Exprs& extents, const Span& at) {
  if (fresh.empty()) return;
  for (const std::string& i : fresh) k.loop_order.push_back(i);
  std::vector<std::string> existing;
  for (const std::string& d : dim_names(p.points))
    if (std::find(fresh.begin(), fresh.end(), d) == fresh.end()) existing.push_back(d);
  const Set own = dims_to_params(p.points, existing);
  k.domains.push_back({own, at});
  if (!domains_branch(k)) return;
  k.domains.pop_back();

  // Loops of unrelated domains bound it: a domain for each axis needs less.
  Set product;
  for (const std::string& i : fresh) {
    const Set axis = to_dims(own, {i});
    product = product ? join_by_name(product, axis) : axis;
  }
  if (yes(isl_set_is_equal(to_dims(std::move(product), fresh).get(), own.get()))) {
    for (const std::string& i : fresh)
      k.domains.push_back({without_idle_params(coalesce(to_dims(own, {i}).take())), at});
    if (!domains_branch(k)) return;
    k.domains.resize(k.domains.size() - fresh.size());
  }

  // Only the box, and the bounds as a condition.
  Exprs within;
  for (std::size_t n = 0; n < fresh.size(); ++n) {
    within.push_back(Expr(Compare{CompareOp::Ge, var(fresh[n]), lit(0)}));
    within.push_back(Expr(Compare{CompareOp::Lt, var(fresh[n]), extents[n]}));
  }
  const std::optional<Set> box = to_condition(conjunction(within), fresh);
  ensure(box.has_value(), "the extents of a footprint are affine");
  k.domains.push_back({*box, at});
  add_guard(p.guards, gist(p.points, to_dims(*box, dim_names(p.points))));
}

}  // namespace moonloop
