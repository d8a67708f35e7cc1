#include "core/rewrite/footprint.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "core/model/conditions.h"
#include "core/model/domain.h"
#include "core/model/flat_subscripts.h"
#include "core/model/joined_loops.h"
#include "core/model/memo.h"
#include "core/sets/bounded.h"
#include "core/sets/budget.h"
#include "core/sets/coalesce.h"
#include "core/sets/syntactic_gist.h"

namespace moonloop {
namespace {

Place inside(const Place& at) {
  Place p = at;
  p.written = false;
  return p;
}

Place under(const Place& at, const Expr& condition) {
  Place p = inside(at);
  p.conditions.push_back(condition);
  return p;
}

Place within_inames(const Place& at, const std::vector<std::string>& inames) {
  Place p = inside(at);
  for (const std::string& i : inames)
    if (std::find(p.inames.begin(), p.inames.end(), i) == p.inames.end()) p.inames.push_back(i);
  return p;
}

/// The children of `a and b and c`: each is evaluated where the previous ones hold (for `or`:
/// fail).
Expr rewrite_short_circuit(const Expr& e, const Nary& nary, const Place& at,
                           const PlaceRewrite& f) {
  Place here = inside(at);
  std::size_t next = 0;
  return map_children(e, [&](const Expr& child) {
    const Expr out = rewrite_places(child, here, f);
    const Expr& original = nary.terms[next++];
    here.conditions.push_back(nary.op == NaryOp::And ? original : negation(original));
    return out;
  });
}

}  // namespace

Place place_of(const Instruction& insn) {
  return Place{{insn.inames.begin(), insn.inames.end()}, insn.predicates, false};
}

Expr rewrite_places(const Expr& e, const Place& at, const PlaceRewrite& f) {
  if (std::optional<Expr> replaced = f(e, at)) return *replaced;
  if (as_indexof(e))
    return map_indexof(e, [&](const Expr& c) { return rewrite_places(c, inside(at), f); });
  if (const auto* s = e.as<Select>()) {
    const Expr cond = rewrite_places(s->cond, inside(at), f);
    const Expr yes_part = rewrite_places(s->yes, under(at, s->cond), f);
    const Expr no_part = rewrite_places(s->no, under(at, negation(s->cond)), f);
    if (cond.same_as(s->cond) && yes_part.same_as(s->yes) && no_part.same_as(s->no)) return e;
    return Expr(Select{cond, yes_part, no_part}, e.at());
  }
  if (const auto* n = e.as<Nary>(); n && (n->op == NaryOp::And || n->op == NaryOp::Or))
    return rewrite_short_circuit(e, *n, at, f);
  Place here = inside(at);
  if (e.as<Field>()) here.written = at.written;
  if (const auto* r = e.as<Reduce>()) here = within_inames(at, r->inames);
  if (const auto* s = e.as<SubArray>()) here = within_inames(at, s->inames);
  return map_children(e, [&](const Expr& child) { return rewrite_places(child, here, f); });
}

InsnPtr rewrite_places(const InsnPtr& insn, const PlaceRewrite& f) {
  const Place at = place_of(*insn);
  Place assignee = at;
  assignee.written = true;

  bool changed = false;
  const auto mapped = [&](const Expr& e, const Place& p) {
    if (!e) return e;
    Expr out = rewrite_places(e, p, f);
    changed = changed || !out.same_as(e);
    return out;
  };
  Exprs lhs, predicates;
  for (const Expr& e : insn->lhs) lhs.push_back(mapped(e, assignee));
  const Expr rhs = mapped(insn->rhs, at);
  Place so_far = at;  // each predicate is evaluated where those before it hold
  so_far.conditions.clear();
  for (const Expr& e : insn->predicates) {
    predicates.push_back(mapped(e, so_far));
    so_far.conditions.push_back(e);
  }
  if (!changed) return insn;
  return edit(insn, [&](Instruction& i) {
    i.lhs = lhs;
    i.rhs = rhs;
    i.predicates = predicates;
  });
}

Instances instances_at(const Kernel& k, const Place& at) {
  Instances out{domain_of(k, at.inames), true};
  for (const Expr& c : at.conditions) {
    const std::optional<Set> holds = to_condition(k, expand_rules(k, c), at.inames);
    if (!holds) {
      out.exact = false;
      continue;
    }
    out.set = isl_set_intersect(out.set.take(), holds->copy());
  }
  return out;
}

/// { [inames] -> [index] } at those instances; nothing where a subscript is not a sum of inames and
/// parameters.
static std::optional<Map> accesses_at(const Kernel& k, const Exprs& index, const Place& at) {
  const std::optional<Map> all = to_map(index, at.inames);
  if (!all) return {};
  Set instances = instances_at(k, at).set;
  const auto made = [&] { return Map(isl_map_intersect_domain(all->copy(), instances.take())); };
  if (!at.conditions.empty()) return made();
  return memo().made("at " + memo().name(*all) + memo().name(instances), made);
}

std::optional<Map> elements_at(const Kernel& k, LoopJoiner& loops, const Place& at,
                               const Exprs& index, const std::vector<std::string>& outer) {
  const auto is_static = [&](const Expr& e) { return is_of_instances(k, e); };
  if (std::all_of(index.begin(), index.end(), is_static)) {
    Exprs exprs = index;
    for (const Expr& c : at.conditions)
      if (Expr e = expand_rules(k, c); is_static(e)) exprs.push_back(std::move(e));
    const std::size_t end = exprs.size();
    for (const std::string& o : outer)
      if (std::find(at.inames.begin(), at.inames.end(), o) != at.inames.end())
        exprs.push_back(var(o));
    if (const auto joined = loops.join(at.inames, exprs)) {
      const auto first = joined->exprs.begin();
      const auto map = to_map({first, first + long(index.size())}, joined->inames);
      if (!map) return std::nullopt;
      Set instances = joined->instances;
      for (std::size_t c = index.size(); c < end; ++c)
        if (const auto holds = to_condition(joined->exprs[c], joined->inames))
          instances = isl_set_intersect(instances.take(), holds->copy());
      return Map(isl_map_intersect_domain(map->copy(), instances.take()));
    }
  }
  return accesses_at(k, index, at);
}

// ---- Footprints -----------------------------------------------------------------------------
namespace {

/// The range of `access` with its `outer` dimensions as parameters.
Set range_over(Map access, const std::vector<std::string>& names,
               const std::vector<std::string>& outer) {
  for (const std::string& o : outer) {
    const int at = isl_map_find_dim_by_name(access.get(), isl_dim_in, o.c_str());
    if (at < 0) continue;
    const int params = count(isl_map_dim(access.get(), isl_dim_param));
    access = isl_map_move_dims(access.take(), isl_dim_param, params, isl_dim_in, at, 1);
  }
  Set range = isl_map_range(access.take());
  for (std::size_t i = 0; i < names.size(); ++i)
    range =
        isl_set_set_dim_name(range.take(), isl_dim_set, static_cast<unsigned>(i), names[i].c_str());
  return range;
}

/// `points` projected onto axis `axis`.
Set onto_axis(Set points, int axis) {
  const int n = count(isl_set_dim(points.get(), isl_dim_set));
  points = isl_set_project_out(points.take(), isl_dim_set, axis + 1, n - axis - 1);
  return isl_set_project_out(points.take(), isl_dim_set, 0, axis);
}

/// How many parameters `a` depends on.
int params_of(const Aff& a) {
  int out = 0;
  for (int i = 0; i < count(isl_aff_dim(a.get(), isl_dim_param)); ++i)
    out += yes(isl_aff_involves_dims(a.get(), isl_dim_param, unsigned(i), 1));
  return out;
}

struct Piece {
  Aff value;
  int params = 0;  // how many it depends on
};

std::vector<Piece> pieces_of(const PwAff& a) {
  std::vector<Piece> out;
  const auto add = [](isl_set* domain, isl_aff* aff, void* user) {
    isl_set_free(domain);
    auto& pieces = *static_cast<std::vector<Piece>*>(user);
    Piece p{Aff(aff), 0};
    p.params = params_of(p.value);
    pieces.push_back(std::move(p));
    return isl_stat_ok;
  };
  check(isl_pw_aff_foreach_piece(a.get(), add, &out));
  return out;
}

/// `high - low + 1`.
PwAff length_between(const PwAff& low, const PwAff& high) {
  PwAff length = isl_pw_aff_sub(high.copy(), low.copy());
  Val one = isl_val_one(isl());
  return isl_pw_aff_add_constant_val(length.take(), one.take());
}

Set values_of(const PwAff& a) {
  // As a set: isl's own extremes of an expression take none with integer divisions.
  Set values = isl_set_from_pw_aff(a.copy());
  const auto n = static_cast<unsigned>(param_names(values).size());
  return isl_set_project_out(values.take(), isl_dim_param, 0, n);
}
std::optional<std::int64_t> constant_maximum(const PwAff& a) {
  Val v = isl_set_dim_max_val(values_of(a).take(), 0);
  if (!yes(isl_val_is_int(v.get()))) return {};
  return to_int(v);
}

/// The maximum of `a` over the outer inames, over kernel parameters; nothing when it has none.
std::optional<Expr> parametric_maximum(const PwAff& a, const std::vector<std::string>& outer) {
  Set values = isl_set_from_pw_aff(a.copy());
  values = drop_params(values, outer);
  if (!has_upper_bound(values, 0)) return {};
  Set when = isl_set_params(values.copy());
  PwAff maximum = isl_set_dim_max(values.take(), 0);
  maximum = isl_pw_aff_coalesce(isl_pw_aff_gist_params(maximum.take(), when.take()));
  return from_affine(maximum);
}

/// The box along axis `axis` where plain bounds of `own` give it a constant length that some point
/// of `points` reaches: what axis_box() finds, without a parametric optimum.
std::optional<FootprintAxis> plain_axis(const Set& points, const Set& own, int axis) {
  if (count(isl_set_n_basic_set(own.get())) != 1) return {};
  const BasicSet line = isl_set_simple_hull(onto_axis(own, axis).take());
  if (count(isl_basic_set_dim(line.get(), isl_dim_div)) > 0) return {};
  std::vector<Aff> lows, highs;
  for (const Constraint& c : constraints_of(line)) {
    if (!yes(isl_constraint_involves_dims(c.get(), isl_dim_set, 0, 1))) continue;
    const Val a = isl_constraint_get_coefficient_val(c.get(), isl_dim_set, 0);
    if (!yes(isl_val_is_one(a.get())) && !yes(isl_val_is_negone(a.get()))) return {};
    const Aff bound =
        isl_aff_project_domain_on_params(isl_constraint_get_bound(c.get(), isl_dim_set, 0));
    const bool equality = yes(isl_constraint_is_equality(c.get()));
    if (equality || yes(isl_val_is_one(a.get()))) lows.push_back(bound);
    if (equality || yes(isl_val_is_negone(a.get()))) highs.push_back(bound);
  }
  std::optional<FootprintAxis> best;
  int best_params = 0;
  for (const Aff& low : lows) {
    std::optional<std::int64_t> last;  // the greatest distance from `low`
    for (const Aff& high : highs) {
      const Aff length = isl_aff_sub(high.copy(), low.copy());
      if (!yes(isl_aff_is_cst(length.get()))) continue;
      const std::int64_t n = to_int(isl_aff_get_constant_val(length.get()));
      last = std::min(last.value_or(n), n);
    }
    if (!last) return {};
    const int params = params_of(low);
    if (best && std::pair(*best->length, best_params) <= std::pair(*last + 1, params)) continue;
    Set end = isl_set_from_pw_aff(isl_pw_aff_from_aff(
        isl_aff_add_constant_val(low.copy(), isl_val_int_from_si(isl(), *last))));
    const int dims = count(isl_set_dim(points.get(), isl_dim_set));
    end = isl_set_insert_dims(end.take(), isl_dim_set, 1, unsigned(dims - axis - 1));
    end = isl_set_insert_dims(end.take(), isl_dim_set, 0, unsigned(axis));
    if (yes(isl_set_is_empty(Set(isl_set_intersect(end.take(), points.copy())).get()))) return {};
    best = FootprintAxis{from_aff(low), lit(*last + 1), *last + 1};
    best_params = params;
  }
  return best;
}

FootprintAxis axis_box(const Set& axis, const std::vector<std::string>& outer) {
  const PwAff low = isl_pw_aff_coalesce(isl_set_dim_min(axis.copy(), 0));
  const PwAff high = isl_set_dim_max(axis.copy(), 0);

  struct Candidate {
    Expr base;
    PwAff value;
    int params = 0;
  };
  std::vector<Candidate> candidates;
  for (const Piece& p : pieces_of(low)) {
    PwAff value = isl_pw_aff_from_aff(p.value.copy());
    Val slack = isl_set_dim_min_val(values_of(isl_pw_aff_sub(low.copy(), value.copy())).take(), 0);
    if (yes(isl_val_is_nonneg(slack.get())))
      candidates.push_back({from_aff(p.value), value, p.params});
  }

  std::optional<FootprintAxis> best;
  int best_params = 0;
  for (const Candidate& c : candidates) {
    const auto length = constant_maximum(length_between(c.value, high));
    if (!length) continue;
    if (!best || *length < *best->length || (*length == *best->length && c.params < best_params)) {
      best = FootprintAxis{c.base, lit(*length), length};
      best_params = c.params;
    }
  }
  if (best) return *best;
  const auto exact = [&] {
    return from_affine(isl_pw_aff_gist_params(low.copy(), isl_set_params(axis.copy())));
  };
  if (const auto length = constant_maximum(length_between(low, high)))
    return {exact(), lit(*length), length};
  for (const Candidate& c : candidates)
    if (const auto extent = parametric_maximum(length_between(c.value, high), outer))
      return {c.base, *extent, as_int(*extent)};
  if (const auto extent = parametric_maximum(length_between(low, high), outer))
    return {exact(), *extent, as_int(*extent)};
  return {exact(), Expr(), {}};
}

[[noreturn]] void refuse_data(const Span& at, const std::string& what,
                              const std::string& temporary) {
  refuse("data-dependent-footprint", at,
         "the footprint of `{}` depends on the temporary `{}`; its size is not known before the "
         "kernel runs",
         what, temporary);
}

void refuse_temporaries(const Kernel& k, const Set& points, const Span& at,
                        const std::string& what) {
  const std::vector<std::string> params = param_names(points);
  for (std::size_t i = 0; i < params.size(); ++i)
    if (k.find_temporary(params[i]) &&
        yes(isl_set_involves_dims(points.get(), isl_dim_param, static_cast<unsigned>(i), 1)))
      refuse_data(at, what, params[i]);
}

}  // namespace

Set without_context(const Set& points, const Set& context) {
  const auto made = [&]() -> Set {
    if (std::optional<BasicSet> own = syntactic_gist(points, context))
      return isl_set_from_basic_set(own->take());
    return coalesce(gist_of_loops(points, context));
  };
  if (!memo().holds(points) || !memo().holds(context)) return made();
  return memo().made("without " + memo().name(points) + memo().name(context), made);
}

namespace {

Footprint find_footprint(const Kernel& k, const std::vector<Map>& accesses,
                         const std::vector<std::string>& names,
                         const std::vector<std::string>& outer, const Span& at,
                         const std::string& what) {
  Footprint f;
  f.names = names;
  f.outer = outer;
  f.context = all_to_params(domain_of(k, outer));
  for (const Map& access : accesses) {
    Set range = range_over(access, names, outer);
    f.points = f.points ? Set(isl_set_union(f.points.take(), range.take())) : range;
  }
  f.points = coalesce(isl_set_intersect_params(f.points.take(), f.context.copy()));
  if (yes(isl_set_is_empty(f.points.get())))
    refuse("empty-footprint", at, "the footprint of `{}` is empty: no instance uses it", what);
  f.own = without_context(f.points, f.context);
  refuse_temporaries(k, f.own, at, what);
  for (std::size_t d = 0; d < names.size(); ++d) {
    if (const auto plain = plain_axis(f.points, f.own, static_cast<int>(d))) {
      f.axes.push_back(*plain);
      continue;
    }
    const Set axis = onto_axis(f.points, static_cast<int>(d));
    if (!yes(isl_set_is_bounded(axis.get())))
      refuse("unbounded-footprint", at, "the footprint of `{}` has no bound along `{}`", what,
             names[d]);
    f.axes.push_back(axis_box(axis, outer));
    if (!f.axes.back().extent)
      refuse("unbounded-footprint", at,
             "the footprint of `{}` has no bound along `{}` that holds for every value of {}", what,
             names[d], quoted_list(outer));
  }
  return f;
}

/// The most that one may cost. Operations on the many quotients of pieces of pieces are slow ones.
constexpr unsigned long kFootprintOperations = kStepOperations / 5;

/// What decides about a footprint but for the names of axes and outer inames, as a text; nothing
/// where such a name is a parameter.
std::optional<std::string> shape_of(const std::vector<Map>& accesses, const Set& domain,
                                    const std::vector<std::string>& outer) {
  const auto place = [&](const char* name) {
    return std::find(outer.begin(), outer.end(), name) - outer.begin();
  };
  std::string out = fmt::format("shapes {}", memo().shape(domain));
  for (const Map& m : accesses) {
    out += fmt::format(";{}", memo().shape(m));
    for (int i = 0; i < count(isl_map_dim(m.get(), isl_dim_in)); ++i)
      out += fmt::format(",{}", place(isl_map_get_dim_name(m.get(), isl_dim_in, unsigned(i))));
    for (int p = 0; p < count(isl_map_dim(m.get(), isl_dim_param)); ++p)
      if (place(isl_map_get_dim_name(m.get(), isl_dim_param, unsigned(p))) < std::ssize(outer))
        return std::nullopt;
  }
  for (const std::string& p : param_names(domain))
    if (place(p.c_str()) < std::ssize(outer)) return std::nullopt;
  return out;
}

/// The same with other names.
Footprint renamed(Footprint f, const std::vector<std::string>& names,
                  const std::vector<std::string>& outer) {
  std::map<std::string, std::string> now;
  for (std::size_t i = 0; i < outer.size(); ++i)
    if (outer[i] != f.outer[i]) now.emplace(f.outer[i], outer[i]);
  for (Set* s : {&f.points, &f.own, &f.context}) {
    const std::vector<std::string> params = param_names(*s);
    for (std::size_t p = 0; p < params.size(); ++p)
      if (const auto it = now.find(params[p]); it != now.end())
        *s = isl_set_set_dim_name(s->take(), isl_dim_param, unsigned(p), it->second.c_str());
  }
  for (Set* s : {&f.points, &f.own})
    for (std::size_t d = 0; d < names.size(); ++d)
      *s = isl_set_set_dim_name(s->take(), isl_dim_set, unsigned(d), names[d].c_str());
  for (FootprintAxis& axis : f.axes) {
    axis.base = rename(axis.base, now);
    if (axis.extent) axis.extent = rename(axis.extent, now);
  }
  f.names = names;
  f.outer = outer;
  return f;
}

/// find_footprint(), once for the same relations under the same loops, whatever the names of axes
/// and of outer inames.
Footprint known_footprint(const Kernel& k, const std::vector<Map>& accesses,
                          const std::vector<std::string>& names,
                          const std::vector<std::string>& outer, const Span& at,
                          const std::string& what) {
  Memo& all = memo();
  const Set domain = domain_of(k, outer);
  std::string own_key;
  if (std::all_of(accesses.begin(), accesses.end(), [&](const Map& m) { return all.holds(m); })) {
    own_key =
        fmt::format("{};{};", fmt::join(names, ","), fmt::join(outer, ",")) + all.name(domain);
    for (const Map& m : accesses) own_key += all.name(m);
    if (const auto it = all.footprints.find(own_key); it != all.footprints.end())
      return *it->second;
  }
  const std::optional<std::string> shape = shape_of(accesses, domain, outer);
  Footprint f;
  if (const auto it = shape ? all.footprints.find(*shape) : all.footprints.end();
      it != all.footprints.end()) {
    f = renamed(*it->second, names, outer);
  } else {
    f = find_footprint(k, accesses, names, outer, at, what);
    if (shape) all.footprints.emplace(*shape, std::make_shared<const Footprint>(f));
  }
  if (own_key.empty()) return f;
  for (const Set* s : {&f.points, &f.context, &f.own}) all.name(*s);
  all.footprints.emplace(own_key, std::make_shared<const Footprint>(f));
  return f;
}

}  // namespace

Footprint footprint(const Kernel& k, const std::vector<Map>& accesses,
                    const std::vector<std::string>& names, const std::vector<std::string>& outer,
                    const Span& at, const std::string& what) {
  ensure(!accesses.empty(), "a footprint of no accesses");
  const IslBudget budget(kFootprintOperations);
  Footprint f = known_footprint(k, accesses, names, outer, at, what);
  refuse_temporaries(k, f.own, at, what);     // which are another kernel's where it was known
  for (const FootprintAxis& axis : f.axes) {  // the largest one over loops with computed bounds
    std::set<std::string> read;
    if (axis.extent) collect_vars(axis.extent, read);
    for (const std::string& n : read)
      if (k.find_temporary(n)) refuse_data(at, what, n);
  }
  return f;
}

/// A set as one convex set without quotients, where within the context it is one.
static Set as_convex(Set all, const Set& context) {
  Set hull = isl_set_remove_divs(all.copy());
  hull = isl_set_from_basic_set(isl_set_simple_hull(hull.take()));
  const Set reached = isl_set_intersect_params(hull.copy(), context.copy());
  return yes(isl_set_is_subset(reached.get(), all.get())) ? hull : all;
}

std::optional<Set> convex_points(const Footprint& f) {
  if (count(isl_set_n_basic_set(f.own.get())) == 1) return f.own;
  Set hull = isl_set_from_basic_set(isl_set_simple_hull(f.own.copy()));
  const Set reached = isl_set_intersect_params(hull.copy(), f.context.copy());
  if (yes(isl_set_is_subset(reached.get(), f.points.get()))) return hull;
  return {};
}

Set box_points(const Footprint& f) {
  const int n = static_cast<int>(f.names.size());
  Set box;
  const auto read = [](const char* text) {
    return memo().made(text, [&]() -> Map { return isl_map_read_from_str(isl(), text); });
  };
  const Map up = read("{ [y] -> [x] : x >= y }"), down = read("{ [y] -> [x] : x <= y }");
  for (int d = 0; d < n; ++d) {
    const Set axis = onto_axis(f.points, d);
    // Each side by itself: most of the parts that some access begins or ends are in another one's.
    const auto beyond = [&](const Map& side) {
      const Set all = coalesce(isl_set_apply(axis.copy(), side.copy()));
      return coalesce(gist_of_loops(as_convex(all, f.context), f.context));
    };
    Set slab = isl_set_intersect(beyond(up).take(), beyond(down).take());
    slab = isl_set_insert_dims(slab.take(), isl_dim_set, 1, n - d - 1);
    slab = isl_set_insert_dims(slab.take(), isl_dim_set, 0, d);
    box = box ? Set(isl_set_intersect(box.take(), slab.take())) : slab;
  }
  if (!box) box = f.own;
  for (int d = 0; d < n; ++d)
    box = isl_set_set_dim_name(box.take(), isl_dim_set, d, f.names[d].c_str());
  return coalesce(box.take());
}

Set zero_based(const Footprint& f, const Set& points, const std::vector<std::string>& names) {
  Exprs shifted;
  std::size_t next = 0;
  for (const FootprintAxis& axis : f.axes)
    shifted.push_back(axis.trivial() ? axis.base : index_add({axis.base, var(names.at(next++))}));
  const std::optional<Map> shift = to_map(shifted, names);
  ensure(shift.has_value(), "the base of a footprint is quasi-affine");
  Set out =
      f.names.empty() ? points : Set(isl_set_apply(points.copy(), isl_map_reverse(shift->copy())));
  out = isl_set_remove_redundancies(coalesce(without_context(out, f.context)).take());
  for (std::size_t i = 0; i < names.size(); ++i)
    out = isl_set_set_dim_name(out.take(), isl_dim_set, static_cast<unsigned>(i), names[i].c_str());
  return out;
}

Expr relative_index(const Expr& index, const Expr& base) {
  if (as_int(base) == 0) return index;
  const Expr difference = index_sub(index, base);
  bool linear = true;
  walk(difference, [&](const Expr& e) {
    linear = linear && (e.as<Var>() || e.as<IntLit>() || e.as<Nary>() || e.as<Unary>());
    return linear;
  });
  if (linear) return difference;
  const std::optional<PwAff> affine = to_affine(difference, {});
  if (!affine) return difference;
  const PwAff simple = isl_pw_aff_coalesce(affine->copy());
  if (count(isl_pw_aff_n_piece(simple.get())) != 1) return difference;
  return from_affine(simple);
}

Expr tidy_subscripts(const Expr& e) {
  const auto flatten = [](const Expr& part) {
    const auto* sum = part.as<Nary>();
    return sum && sum->op == NaryOp::Add ? index_add(sum->terms) : part;
  };
  return rewrite(e, [&](const Expr& node) {
    const auto* l = node.as<Load>();
    if (!l) return node;
    Load out = *l;
    bool changed = false;
    for (Expr& index : out.index) {
      const Expr flat = rewrite(index, flatten);
      changed = changed || !flat.same_as(index);
      index = flat;
    }
    return changed ? Expr(out, node.at()) : node;
  });
}

}  // namespace moonloop
