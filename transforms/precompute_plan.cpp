#include "transforms/precompute_plan.h"

#include <algorithm>

#include "core/model/domain.h"
#include "core/model/joined_loops.h"
#include "core/model/lookup.h"
#include "core/order/order.h"
#include "core/rewrite/staging_loops.h"
#include "transforms/former_inames.h"

namespace moonloop {
namespace {

const Rule& find_required(const Kernel& k, const std::string& name) {
  if (const Rule* r = k.find_rule(name)) return *r;
  std::vector<std::string> names;
  for (const Rule& r : k.rules) names.push_back(r.name);
  fail_for(name, "unknown-rule", k.at, "no rule `{}` in kernel `{}`; it has {}", name, k.name,
           names.empty() ? "none" : quoted_list(names));
}

PrecomputeOptions with_present_inames(const Kernel& k, PrecomputeOptions o) {
  for (FootprintSubscript& f : o.footprints)
    for (Expr& e : f.index)
      if (e) e = moonloop::with_present_inames(k, e, o.at);
  return o;
}

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::vector<std::string> list(const std::set<std::string>& names) {
  return {names.begin(), names.end()};
}

}  // namespace

PrecomputePlan::PrecomputePlan(const Kernel& k, const std::string& name, const PrecomputeOptions& o)
    : options(with_present_inames(k, o)),
      sites((find_required(k, name), k)),
      rule(find_required(sites.kernel(), name)),
      calls(sites.kernel(), name, o.tag, o.within),
      sweep(o.sweep_inames.begin(), o.sweep_inames.end()) {
  for (const std::string& i : o.sweep_inames) require_iname(k, i);
  find_uses();
  find_fixed_and_axes();
  find_swept_bounds();
  name_axes();
  index_uses();
  if (!options.footprints.empty()) select_inside();
  check_sweep();
  find_needed();
  choose_space();
  choose_nests();
}

const std::string& PrecomputePlan::subject() const {
  return options.subject.empty() ? rule.name : options.subject;
}

std::set<std::string> PrecomputePlan::inames_in(const Expr& e) const {
  std::set<std::string> vars, out;
  collect_vars(expand_rules(kernel(), e), vars);
  const std::set<std::string> bound = reduction_inames(kernel(), e);
  for (const std::string& v : vars)
    if (!bound.count(v) && kernel().has_iname(v)) out.insert(v);
  return out;
}

std::vector<Place> PrecomputePlan::places() const {
  std::vector<Place> out;
  for (const RuleUse& u : uses)
    if (u.staged) out.push_back(u.place);
  return out;
}

std::vector<std::string> PrecomputePlan::axis_inames() const {
  std::vector<std::string> out;
  for (const StorageAxis& a : axes) out.push_back(a.iname);
  return out;
}

// ---- Uses and axes ----------------------------------------------------------------------------

void PrecomputePlan::find_uses() {
  const auto& insns = kernel().instructions;
  for (std::size_t n = 0; n < insns.size(); ++n)
    calls.visit(
        insns[n], [&](const Expr& call, const Exprs& args, const Place& at) -> std::optional<Expr> {
          if (args.size() != rule.params.size())
            fail("wrong-arg-count", call.at(), "rule `{}` takes {} argument{}, got {}", rule.name,
                 rule.params.size(), rule.params.size() == 1 ? "" : "s", args.size());
          if (!at.written) uses.push_back({n, call, args, at, {}, true});
          return {};
        });
  if (uses.empty())
    refuse("no-match", options.at ? options.at : rule.at, "no use of `{}` is selected", subject());

  std::set<std::string> names;
  collect_vars(expand_rules(kernel(), rule.body), names);
  const std::set<std::string> bound = reduction_inames(kernel(), rule.body);
  for (const std::string& v : names)
    if (kernel().has_iname(v) && !has(rule.params, v) && !bound.count(v)) body_inames_.insert(v);
  bounding_inames_ = inames_bounding(kernel(), bound);
}

/// `param` is not an axis: every use must give it the same value.
void PrecomputePlan::find_fixed(int param, bool required) {
  const Expr& first = uses[0].args[std::size_t(param)];
  const auto refuse_looked_up = [&](const Expr& arg, const RuleUse& u) {
    refuse(
        "non-affine-argument", arg.at() ? arg.at() : u.call.at(),
        "argument `{}` of `{}` is not a sum of inames and parameters, so that its footprint is not "
        "known",
        to_string(arg), subject());
  };
  const std::string& name = rule.params[std::size_t(param)];
  for (const RuleUse& u : uses) {
    const Expr& arg = u.args[std::size_t(param)];
    if (equal(arg, first)) continue;
    if (required)
      refuse("missing-axis", arg.at() ? arg.at() : u.call.at(),
             "parameter `{}` of `{}` is `{}` in one use and `{}` in another; it must be a storage "
             "axis",
             name, subject(), to_string(first), to_string(arg));
    refuse_looked_up(to_map({arg}, u.place.inames) ? first : arg, u);
  }
  if (!required)
    for (const std::string& i : inames_in(first))
      if (sweep.count(i)) refuse_looked_up(first, uses[0]);
  fixed[param] = first;
}

/// Whether the uses by themselves determine the one value of a parameter that is computed, so that
/// no footprint is needed for it.
bool PrecomputePlan::is_one_value(int param) const {
  const auto p = static_cast<std::size_t>(param);
  if (!options.footprints.empty() || !options.precompute_inames.empty() ||
      options.storage_axis_to_tag.count(rule.params[p]))
    return false;
  const Expr& first = uses[0].args[p];
  for (const RuleUse& u : uses)
    if (!equal(u.args[p], first)) return false;
  for (const std::string& i : inames_in(first))
    if (sweep.count(i)) return false;
  return true;
}

void PrecomputePlan::find_fixed_and_axes() {
  const auto param_number = [&](const std::string& n) {
    const auto it = std::find(rule.params.begin(), rule.params.end(), n);
    return it == rule.params.end() ? -1 : static_cast<int>(it - rule.params.begin());
  };
  if (options.storage_axes) {
    for (const std::string& n : *options.storage_axes) {
      int param = param_number(n);
      if (param < 0 && !n.empty() && n.find_first_not_of("0123456789") == std::string::npos &&
          n.size() < 6 && std::stoul(n) < rule.params.size())
        param = std::stoi(n);
      if (param < 0 && !kernel().has_iname(n))
        refuse("unknown-axis", options.at, "`{}` is neither a parameter of `{}` nor an iname", n,
               subject());
      const std::string& source = param < 0 ? n : rule.params[std::size_t(param)];
      for (const StorageAxis& a : axes)
        if (a.source == source)
          refuse("unknown-axis", options.at, "`{}` is named twice as a storage axis", source);
      axes.push_back({param, source, {}, false});
    }
    for (int p = 0; p < static_cast<int>(rule.params.size()); ++p)
      if (std::none_of(axes.begin(), axes.end(), [&](const auto& a) { return a.param == p; }))
        find_fixed(p, true);
    return;
  }
  for (const std::string& i : options.sweep_inames)
    if (body_inames_.count(i) || (bounding_inames_.count(i) && param_that_is(i) < 0))
      axes.push_back({-1, i, {}, false});
  for (int p = 0; p < static_cast<int>(rule.params.size()); ++p) {
    if (is_one_value(p)) {
      find_fixed(p, false);
      continue;
    }
    const bool affine =
        !options.footprints.empty() || std::all_of(uses.begin(), uses.end(), [&](const RuleUse& u) {
          return to_map({u.args[std::size_t(p)]}, u.place.inames).has_value();
        });
    if (affine)
      axes.push_back({p, rule.params[std::size_t(p)], {}, false});
    else
      find_fixed(p, false);
  }
}

/// The parameter to which every use gives the iname as it is, or -1.
int PrecomputePlan::param_that_is(const std::string& iname) const {
  for (std::size_t p = 0; p < rule.params.size(); ++p)
    if (std::all_of(uses.begin(), uses.end(),
                    [&](const RuleUse& u) { return equal(u.args[p], var(iname)); }))
      return static_cast<int>(p);
  return -1;
}

/// A reduction whose bounds a swept loop sets has other terms for each value of it, which must be
/// known from the place in the buffer.
void PrecomputePlan::find_swept_bounds() {
  for (const std::string& i : bounding_inames_) {
    if (!sweep.count(i)) continue;
    const int param = param_that_is(i);
    const auto axis = std::find_if(axes.begin(), axes.end(), [&](const StorageAxis& a) {
      return a.param >= 0 ? a.param == param : a.source == i;
    });
    if (axis == axes.end())
      refuse("missing-axis", rule.at,
             "a reduction in `{}` has bounds that depend on the swept iname `{}`; name `{}` among "
             "the storage axes",
             subject(), i, i);
    swept_bounds.emplace(i, static_cast<std::size_t>(axis - axes.begin()));
  }
}

void PrecomputePlan::name_axes() {
  const std::vector<std::string>& given = options.precompute_inames;
  if (given.size() > axes.size())
    refuse("bad-inames", options.at, "{} inames are given for {} storage ax{} of `{}`",
           given.size(), axes.size(), axes.size() == 1 ? "is" : "es", subject());
  Kernel named = kernel();  // rules' parameters are names inside of the rules only
  named.rules.clear();
  for (const Rule& r : kernel().rules) named.rules.push_back(Rule{r.name, {}, {}, r.at});
  std::set<std::string> taken;  // by axes
  const auto take_name = [&](const std::string& base) {
    if (!named.has_name(base) && taken.insert(base).second) return base;
    const std::set<std::string> in_use = named.all_names(base + "_");
    std::string name;
    int n = 0;
    do name = fmt::format("{}_{}", base, n++);
    while (in_use.contains(name) || !taken.insert(name).second);
    return name;
  };
  for (std::size_t a = 0; a < axes.size(); ++a) {
    StorageAxis& axis = axes[a];
    if (a < given.size() && !given[a].empty()) {
      axis.iname = given[a];
      axis.existing = kernel().has_iname(given[a]);
      if (!axis.existing) require_new_name(named, given[a]);
      taken.insert(given[a]);
      if (std::count(given.begin(), given.end(), given[a]) > 1)
        refuse("bad-inames", options.at, "iname `{}` is given twice", given[a]);
    }
  }
  for (StorageAxis& axis : axes)
    if (axis.iname.empty())
      axis.iname = take_name(axis.param >= 0 ? axis.source : rule.name + "_" + axis.source);
}

void PrecomputePlan::index_uses() {
  for (RuleUse& u : uses)
    for (const StorageAxis& a : axes) {
      if (a.param < 0 && !has(u.place.inames, a.source))
        refuse("unknown-axis", u.call.at(),
               "`{}` is a storage axis, but this use of `{}` is not in it", a.source, subject());
      u.index.push_back(a.param >= 0 ? u.args[std::size_t(a.param)] : var(a.source));
    }
}

// ---- Footprints -------------------------------------------------------------------------------

/// { [inames] -> [axes] } of the subscripts that were given.
std::vector<Map> PrecomputePlan::given_footprints() const {
  std::vector<Map> out;
  for (const FootprintSubscript& f : options.footprints) {
    if (f.index.size() != axes.size())
      refuse("bad-footprint", options.at,
             "a footprint of {} subscripts is given for {} storage ax{}", f.index.size(),
             axes.size(), axes.size() == 1 ? "is" : "es");
    std::set<std::string> inames;
    for (const Expr& e : f.index)
      if (e) inames.merge(inames_in(e));
    std::vector<std::string> dims = list(inames);
    Set instances = domain_of(kernel(), dims);
    Exprs index = f.index;
    std::set<std::string> taken = kernel().all_names();
    for (std::size_t d = 0; d < index.size(); ++d) {
      if (index[d]) continue;
      const std::string any = take_name(taken, "any");
      dims.push_back(any);
      instances = to_dims(std::move(instances), dims);
      const Expr inside = conjunction({Expr(Compare{CompareOp::Ge, var(any), lit(0)}),
                                       Expr(Compare{CompareOp::Lt, var(any), *f.length[d]})});
      const std::optional<Set> range = to_condition(inside, dims);
      if (!range)
        refuse("bad-footprint", options.at, "the length `{}` of a whole axis is not affine",
               to_string(*f.length[d]));
      instances = isl_set_intersect(instances.take(), range->copy());
      index[d] = var(any);
    }
    const std::optional<Map> map = to_map(index, dims);
    if (!map)
      refuse("bad-footprint", options.at, "the footprint `{}` is not affine", to_string(index));
    out.push_back(isl_map_intersect_domain(map->copy(), instances.take()));
  }
  return out;
}

Footprint PrecomputePlan::footprint_in(const std::set<std::string>& nest) const {
  if (nest == common) return all_;
  // It depends on none of the inames that are left out. So it is the same, unless those have
  // iterations at some places only.
  std::vector<std::string> left_out;
  for (const std::string& i : common)
    if (!nest.count(i)) left_out.push_back(i);
  Footprint out = all_;
  out.context = all_to_params(domain_of(kernel(), list(nest)));
  const Set somewhere = drop_params(all_.context, left_out);
  if (!std::includes(common.begin(), common.end(), nest.begin(), nest.end()) ||
      !yes(isl_set_is_subset(out.context.get(), somewhere.get())))
    return computed_footprint(nest);
  out.own = drop_params(std::move(out.own), left_out);
  out.points = isl_set_intersect_params(out.own.copy(), out.context.copy());
  return out;
}

Footprint PrecomputePlan::computed_footprint(const std::set<std::string>& nest) const {
  std::vector<Map> accesses;
  if (options.footprints.empty()) {
    LoopJoiner loops(kernel());
    for (const RuleUse& u : uses) {
      const std::optional<Map> m = elements_at(kernel(), loops, u.place, u.index, list(nest));
      for (std::size_t a = 0; !m && a < axes.size(); ++a)
        if (!to_map({u.index[a]}, u.place.inames))
          refuse("non-affine-argument", u.index[a].at() ? u.index[a].at() : u.call.at(),
                 "argument `{}` of `{}` is not a sum of inames and parameters, so that its "
                 "footprint is "
                 "not known",
                 to_string(u.index[a]), subject());
      accesses.push_back(*m);
    }
  } else {
    accesses = given_footprints();
  }
  return footprint(kernel(), accesses, axis_inames(), list(nest),
                   options.at ? options.at : uses[0].call.at(), subject());
}

/// Uses that the given footprints do not hold stay as they are.
void PrecomputePlan::select_inside() {
  const std::vector<Map> given = given_footprints();
  std::set<std::string> outer = {};
  for (const FootprintSubscript& f : options.footprints)
    for (const Expr& e : f.index)
      if (e)
        for (const std::string& i : inames_in(e))
          if (!sweep.count(i)) outer.insert(i);
  const Footprint f = footprint(kernel(), given, axis_inames(), list(outer), options.at, subject());
  for (RuleUse& u : uses) {
    u.staged = std::all_of(outer.begin(), outer.end(),
                           [&](const std::string& i) { return has(u.place.inames, i); });
    // An axis that is staged as a whole holds every subscript of an access within the array.
    Exprs index = u.index;
    std::vector<std::string> names = axis_inames();
    Set points = f.points;
    for (std::size_t a = axes.size(); a-- > 0;)
      if (!options.footprints[0].index[a]) {
        index.erase(index.begin() + std::ptrdiff_t(a));
        names.erase(names.begin() + std::ptrdiff_t(a));
      }
    points = to_dims(std::move(points), names);
    const std::optional<Map> m = u.staged ? to_map(index, u.place.inames) : std::nullopt;
    u.staged = u.staged && m;
    if (!u.staged) continue;
    Map access = isl_map_intersect_domain(m->copy(), instances_at(kernel(), u.place).set.take());
    for (const std::string& o : outer) {
      const int at = isl_map_find_dim_by_name(access.get(), isl_dim_in, o.c_str());
      const int params = count(isl_map_dim(access.get(), isl_dim_param));
      access = isl_map_move_dims(access.take(), isl_dim_param, unsigned(params), isl_dim_in,
                                 unsigned(at), 1);
    }
    Set reached = isl_map_range(access.take());
    for (std::size_t i = 0; i < names.size(); ++i)
      reached = isl_set_set_dim_name(reached.take(), isl_dim_set, unsigned(i), names[i].c_str());
    u.staged = yes(isl_set_is_subset(reached.get(), points.get()));
  }
  std::erase_if(uses, [](const RuleUse& u) { return !u.staged; });
  if (uses.empty())
    refuse("no-match", options.at ? options.at : rule.at,
           "no use of `{}` is within the given footprint", subject());
}

// ---- Loops ------------------------------------------------------------------------------------

/// Whether the loop `i` and swept ones of `touched` bound one another, as the parts of a split loop
/// do whose length is no multiple: the values of these loops are then fewer in some iterations of
/// `i`.
static bool bounds_each_other(const Kernel& k, const std::string& i,
                              const std::vector<std::string>& swept,
                              const std::set<std::string>& touched) {
  const Domain& home = *k.home_of(i);
  const std::vector<std::string> dims = home.inames();
  std::vector<std::string> others;
  for (const std::string& d : dims)
    if (d != i && touched.count(d) && std::find(swept.begin(), swept.end(), d) != swept.end())
      others.push_back(d);
  if (others.empty()) return false;
  std::vector<std::string> all = others;
  all.push_back(i);
  const Set joint = to_dims(home.set, all),
            apart = join_by_name(to_dims(home.set, others), to_dims(home.set, {i}));
  return !yes(isl_set_is_equal(joint.get(), to_dims(apart, all).get()));
}

void PrecomputePlan::check_sweep() const {
  std::set<std::string> touched = body_inames_;
  touched.insert(bounding_inames_.begin(), bounding_inames_.end());
  for (const RuleUse& u : uses) {
    for (const Expr& arg : u.args) touched.merge(inames_in(arg));
    for (const Expr& c : u.place.conditions) touched.merge(inames_in(c));
  }
  for (const FootprintSubscript& f : options.footprints)
    for (const Expr& e : f.index)
      if (e) touched.merge(inames_in(e));
  std::vector<std::string> pending = list(touched);  // and what their bounds depend on
  while (!pending.empty()) {
    const Domain* home = kernel().home_of(pending.back());
    pending.pop_back();
    for (const std::string& p : home->params())
      if (kernel().has_iname(p) && touched.insert(p).second) pending.push_back(p);
  }
  for (const std::string& i : options.sweep_inames)
    if (!touched.count(i) && !bounds_each_other(kernel(), i, options.sweep_inames, touched))
      refuse("unused-sweep", options.at,
             "no selected use of `{}` depends on `{}`; there is nothing "
             "to sweep",
             subject(), i);
}

void PrecomputePlan::find_needed() {
  common = {uses[0].place.inames.begin(), uses[0].place.inames.end()};
  for (const RuleUse& u : uses)
    std::erase_if(common, [&](const std::string& i) { return !has(u.place.inames, i); });
  for (const std::string& i : sweep) common.erase(i);

  const auto need = [&](const std::string& i, const Span& at) {
    if (sweep.count(i)) return;
    if (!common.count(i))
      refuse(
          "not-swept", at,
          "`{}` depends on `{}`, which is not around every selected use; sweep it, or select the "
          "uses with `within`",
          subject(), i);
    needed.insert(i);
  };
  std::set<std::string> as_axes;  // swept inames that a fixed argument may name
  for (const StorageAxis& a : axes)
    if (a.param < 0) as_axes.insert(a.source);
  const auto need_fixed = [&](const std::string& i, const Expr& where) {
    if (as_axes.count(i)) return;
    if (sweep.count(i))
      refuse("missing-axis", where.at() ? where.at() : rule.at,
             "`{}` of `{}` changes with the swept iname `{}`; name `{}` among the storage axes",
             to_string(where), subject(), i, i);
    need(i, where.at() ? where.at() : rule.at);
  };
  for (const auto& [p, arg] : fixed)
    for (const std::string& i : inames_in(arg)) need_fixed(i, arg);
  for (const std::string& i : body_inames_) need_fixed(i, rule.body);
  for (const std::string& i : bounding_inames_) need(i, rule.at);
  for (const RuleUse& u : uses)
    for (std::size_t a = 0; a < axes.size() && options.footprints.empty(); ++a)
      for (const std::string& i : inames_in(u.index[a]))
        if (!sweep.count(i) && !common.count(i)) need(i, u.call.at());

  all_ = computed_footprint(common);
  needed = needed_inames(kernel(), all_, common, std::move(needed));
}

void PrecomputePlan::choose_space() {
  const bool untagged = options.default_tag && options.storage_axis_to_tag.empty() &&
                        !staging_tag(options.default_tag, false, options.at);
  std::set<std::string> around = needed;  // work-items that compute it by themselves
  if (const auto& outer = options.precompute_outer_inames)
    around.insert(outer->begin(), outer->end());
  space = staging_space(kernel(), options.temporary_address_space, places(), around, sweep,
                        untagged || axes.empty(), options.at);
}

void PrecomputePlan::choose_nests() {
  if (options.precompute_outer_inames) {
    std::set<std::string> nest;
    for (const std::string& i : *options.precompute_outer_inames) {
      require_iname(kernel(), i);
      if (!common.count(i))
        refuse("bad-outer-inames", options.at,
               "`{}` cannot be around the computation of `{}`: it is {}", i, subject(),
               sweep.count(i) ? "swept" : "not around every selected use");
      nest.insert(i);
    }
    for (const std::string& i : needed)
      if (!nest.count(i))
        refuse("bad-outer-inames", options.at,
               "the values of `{}` depend on `{}`, which must be among the outer inames or swept",
               subject(), i);
    nests.push_back(nest);
    return;
  }
  std::set<std::string> best = needed;
  for (const std::string& i : common_parallel(kernel(), places(), own_copies(space)))
    if (common.count(i)) best.insert(i);
  nests = sites.nests(uses[0].insn, uses[0].place, best, sweep, common);
}

}  // namespace moonloop
