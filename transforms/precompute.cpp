#include "transforms/precompute.h"

#include <algorithm>

#include "core/expr/parse_expr.h"
#include "core/infer/infer.h"
#include "core/model/domain.h"
#include "core/model/lookup.h"
#include "core/order/check_kernel.h"
#include "core/order/reference.h"
#include "core/rewrite/staging_loops.h"
#include "core/sets/syntactic_gist.h"
#include "transforms/precompute_plan.h"
#include "transforms/registry.h"

namespace moonloop {
namespace {

/// Builds the kernel with the computation in the loops `nest`.
class Build {
 public:
  Build(const PrecomputePlan& plan, const std::set<std::string>& nest)
      : plan_(plan),
        options_(plan.options),
        nest_(nest),
        before_(plan.kernel()),
        after_(before_),
        foot_(plan.footprint_in(nest)),
        versions_(before_) {}

  Kernel run() {
    choose_axes();
    add_temporary();
    points_ = staged_points(foot_, inames_,
                            options_.fetch_bounding_box ? PointShape::Box
                            : box_is_safe()             ? PointShape::Simple
                                                        : PointShape::Exact);
    if (box_is_safe()) {
      const Expr value = element();
      const auto* read = value.as<Load>();
      if (const auto& shape = before_.find_arg(read->array)->shape)
        join_parts(points_, foot_, inames_, read->index, *shape);
      drop_idle_conditions(before_, points_, foot_, read->array);
    }
    add_domain();
    add_computation();
    tag_inames();
    replace_uses();
    versions_.settle(after_);
    Kernel out = staged(before_, after_, stand_ins(), options_.proof);
    if (options_.fetch_bounding_box && !box_is_safe()) require_box_written(out);
    return out;
  }

 private:
  std::size_t axis_count() const { return plan_.axes.size(); }
  const Span& at() const { return options_.at ? options_.at : plan_.uses[0].call.at(); }

  void choose_axes() {
    for (std::size_t a = 0; a < axis_count(); ++a)
      if (!foot_.axes[a].trivial()) {
        kept_.push_back(a);
        inames_.push_back(plan_.axes[a].iname);
      }
  }

  /// A temporary need not be written in all of the box.
  void require_box_written(const Kernel& out) const {
    try {
      check_defined(complete(out));
    } catch (const Error& e) {
      if (e.diagnostic().code != "undefined-read") throw;
      Diagnostic d = e.diagnostic();
      d.where = {at(), {}};
      d.hint = "without fetch_bounding_box the copy takes only the elements that are read";
      throw Refused(std::move(d));
    }
  }

  // ---- The temporary.

  void add_temporary() {
    Exprs shape;
    for (const std::size_t a : kept_) shape.push_back(foot_.axes[a].extent);
    temporary_ = options_.temporary_name;
    if (const Temporary* old = after_.find_temporary(temporary_)) return reuse(*old, shape);
    if (temporary_.empty())
      temporary_ = after_.fresh_name(plan_.rule.name);
    else
      require_new_name(after_, temporary_);
    Temporary t;
    t.name = temporary_;
    t.type = options_.dtype ? options_.dtype : plan_.type_at_uses();
    t.shape = shape;
    t.space = settled_space(before_, plan_.space, plan_.places(), nest_);
    t.at = plan_.rule.at;
    after_.temporaries.emplace(temporary_, t);
  }

  /// The values go into a temporary that is there; it grows where it must.
  void reuse(const Temporary& old, const Exprs& shape) {
    const auto differs = [&](const std::string& what, const std::string& has,
                             const std::string& wanted) {
      refuse("bad-temporary", at(), "temporary `{}` has {} {}, but the buffer of `{}` has {}",
             old.name, what, has, plan_.subject(), wanted);
    };
    if (old.read_only || old.initializer)
      refuse("bad-temporary", at(), "temporary `{}` is a constant table", old.name);
    if (old.strides)
      refuse("bad-temporary", at(), "temporary `{}` has strides of its own", old.name);
    if (options_.dtype && old.type && !(*options_.dtype == *old.type))
      differs("type", old.type->str(), options_.dtype->str());
    if (!options_.dtype && old.type) {  // the stored type must be the computed one
      const std::optional<Type> at_uses = plan_.type_at_uses();
      const Kernel typed = infer_types(before_);
      const Type value =
          at_uses ? *at_uses
                  : type_of(typed, expand_rules(typed, apply_rule(plan_.rule, plan_.uses[0].args)));
      if (!(value == *old.type)) differs("type", old.type->str(), value.str());
    }
    if (plan_.space != AddressSpace::Auto && old.space != plan_.space)
      differs("address space", to_string(old.space), to_string(plan_.space));
    Temporary t = old;
    if (!t.shape) t.shape = infer_shapes(before_).find_temporary(old.name)->shape;
    if (!t.shape) {
      t.shape = shape;
    } else if (t.shape->size() != shape.size()) {
      differs("rank", std::to_string(t.shape->size()), std::to_string(shape.size()));
    } else {
      for (std::size_t d = 0; d < shape.size(); ++d) {
        const std::optional<Expr> longer = longer_of((*t.shape)[d], shape[d]);
        if (!longer)
          differs("shape", "(" + to_string(*t.shape) + ")", "(" + to_string(shape) + ")");
        (*t.shape)[d] = *longer;
      }
    }
    if (!t.type) t.type = options_.dtype;
    after_.temporaries[old.name] = t;
  }

  /// The greater of two lengths, if one is that for all parameters.
  std::optional<Expr> longer_of(const Expr& a, const Expr& b) const {
    if (equal(a, b)) return a;
    const std::optional<PwAff> one = to_affine(a, {}), other = to_affine(b, {});
    if (!one || !other) return {};
    const auto always = [&](const PwAff& more, const PwAff& less) {
      Set all = isl_pw_aff_ge_set(more.copy(), less.copy());
      all = all_to_params(all);
      const Set known =
          before_.assumptions ? all_to_params(before_.assumptions) : all_to_params(universe({}));
      return yes(isl_set_is_subset(known.get(), all.get()));
    };
    if (always(*one, *other)) return a;
    if (always(*other, *one)) return b;
    return {};
  }

  Expr slot(const Exprs& index) const {
    return index.empty() ? var(temporary_) : load(temporary_, index);
  }

  // ---- The computation.

  /// A plain element of an argument whose every subscript varies along one axis: the box around the
  /// footprint holds no subscript that is not in it, so that reading more does no harm. (Between
  /// the elements of a temporary that are read there may be some that nothing writes.)
  bool box_is_safe() {
    const Expr value = element();
    const auto* l = value.as<Load>();
    return l && !l->linear && before_.find_arg(l->array) &&
           std::all_of(l->index.begin(), l->index.end(), [&](const Expr& e) {
             std::set<std::string> names;
             collect_reads(e, names);
             return std::all_of(names.begin(), names.end(),
                                [&](const std::string& n) { return !before_.find_temporary(n); }) &&
                    std::count_if(inames_.begin(), inames_.end(),
                                  [&](const std::string& i) { return names.count(i) > 0; }) <= 1;
           });
  }

  /// The expression for storage axis `a` in the computation.
  Expr axis_value(std::size_t a) const {
    const FootprintAxis& axis = foot_.axes[a];
    if (axis.trivial()) return axis.base;
    return index_add({var(plan_.axes[a].iname), axis.base});
  }

  /// The computed value, without rules.
  Expr element() { return tidy_subscripts(expand_rules(before_, computed_value(nullptr))); }

  /// `versions`: of the rules that the rule calls; without those it has none of them.
  Expr computed_value(RuleVersions* versions) {
    Rule rule = plan_.rule;
    std::map<std::string, Expr> by;
    for (std::size_t a = 0; a < axis_count(); ++a)
      if (plan_.axes[a].param < 0) by[plan_.axes[a].source] = axis_value(a);
    Exprs args(rule.params.size());
    for (std::size_t a = 0; a < axis_count(); ++a)
      if (plan_.axes[a].param >= 0) args[std::size_t(plan_.axes[a].param)] = axis_value(a);
    for (const auto& [p, arg] : plan_.fixed) args[std::size_t(p)] = substitute(arg, by);
    if (!by.empty()) {
      if (!versions) rule.body = expand_rules(before_, rule.body);
      std::map<std::string, Expr> free = by;
      for (const std::string& p : rule.params) free.erase(p);
      rule.body = versions ? substitute_through_rules(before_, rule.body, free, *versions)
                           : substitute(rule.body, free);
    }
    return tidy_subscripts(apply_rule(rule, args));
  }

  void add_computation() {
    Instruction insn;
    insn.id = options_.compute_insn_id;
    if (insn.id.empty()) {
      insn.id = after_.fresh_id(plan_.rule.name);
    } else if (after_.find_insn(insn.id)) {
      refuse("name-taken", at(), "instruction `{}` exists in kernel `{}`", insn.id, after_.name);
    }
    Exprs index;
    for (const std::string& i : inames_) index.push_back(var(i));
    insn.lhs = {slot(index)};
    insn.rhs = computed_value(plan_.swept_bounds.empty() ? &versions_ : nullptr);
    if (!plan_.swept_bounds.empty()) {
      std::map<std::string, Expr> swept;
      for (const auto& [i, a] : plan_.swept_bounds) swept.emplace(i, axis_value(a));
      insn.rhs = with_own_reductions(after_, insn.rhs, swept, points_.points, plan_.rule.at);
    }
    insn.inames = nest_;
    insn.inames.insert(inames_.begin(), inames_.end());
    insn.predicates = points_.guards;
    insn.at = plan_.rule.at;
    std::set<std::string> barriers;  // those that the uses wait for
    std::size_t position = before_.instructions.size();
    for (const RuleUse& u : plan_.uses) {
      position = std::min(position, plan_.sites.ahead_of(u.insn, u.place, nest_));
      for (const std::string& d : before_.instructions[u.insn]->depends_on)
        if (const Instruction* i = before_.find_insn(d); i && i->kind == InsnKind::Barrier)
          barriers.insert(d);
    }
    insn.depends_on = {barriers.begin(), barriers.end()};
    computation_ = insn.id;
    after_.instructions.insert(after_.instructions.begin() + std::ptrdiff_t(position),
                               std::make_shared<const Instruction>(std::move(insn)));
  }

  // ---- Loops.

  void add_domain() {
    std::vector<std::string> existing, fresh;
    for (const std::size_t a : kept_)
      (plan_.axes[a].existing ? existing : fresh).push_back(plan_.axes[a].iname);
    if (!existing.empty()) check_existing(existing);
    Exprs extents;
    for (const std::size_t a : kept_)
      if (!plan_.axes[a].existing) extents.push_back(foot_.axes[a].extent);
    add_staging_domain(after_, points_, fresh, extents, plan_.rule.at);
  }

  /// Inames that were there must run over just the points of the footprint.
  void check_existing(const std::vector<std::string>& existing) {
    std::vector<std::string> dims(nest_.begin(), nest_.end());
    for (const std::string& i : existing) {
      if (nest_.count(i) || plan_.common.count(i) || plan_.sweep.count(i))
        refuse("bad-inames", at(),
               "iname `{}` is around uses of `{}`; it cannot compute ahead of them", i,
               plan_.rule.name);
      dims.push_back(i);
    }
    Set has = domain_of(before_, dims);
    has = dims_to_params(std::move(has), {nest_.begin(), nest_.end()});
    Set wants = to_dims(points_.points, existing);
    wants = isl_set_intersect_params(wants.take(), foot_.context.copy());
    has = isl_set_intersect_params(to_dims(std::move(has), existing).take(), foot_.context.copy());
    if (!yes(isl_set_is_equal(has.get(), wants.get())))
      refuse("domain-mismatch", at(),
             "iname{} {} run{} over `{}`, but the footprint of `{}` is `{}`",
             existing.size() == 1 ? "" : "s", quoted_list(existing),
             existing.size() == 1 ? "s" : "", str(gist_params(has, foot_.context)), plan_.subject(),
             str(gist_params(wants, foot_.context)));
  }

  void tag_inames() {
    std::set<std::string> used;
    bool items = false;
    for (const RuleUse& u : plan_.uses) items = items || !work_items_of(before_, u.place).empty();
    const bool shared = items && plan_.space == AddressSpace::Local;
    const bool own = items && plan_.space == AddressSpace::Private;
    for (std::size_t a = 0; a < axis_count(); ++a) {
      const StorageAxis& axis = plan_.axes[a];
      std::optional<std::string> text = shared_default(options_.default_tag, own);
      for (const std::string& name : {std::to_string(a), axis.source, axis.iname})
        if (const auto it = options_.storage_axis_to_tag.find(name);
            it != options_.storage_axis_to_tag.end()) {
          text = it->second;
          used.insert(name);
        }
      if (axis.existing || foot_.axes[a].trivial()) continue;
      if (const auto tag = staging_tag(text, shared, at())) after_.iname_tags[axis.iname] = *tag;
    }
    for (const auto& [name, tag] : options_.storage_axis_to_tag)
      if (!used.count(name))
        refuse("unknown-axis", at(), "`{}` is not a storage axis of `{}`", name, plan_.subject());
  }

  // ---- The uses and the proof.

  void replace_uses() {
    std::map<std::string, std::size_t> by_id;
    for (std::size_t n = 0; n < after_.instructions.size(); ++n)
      by_id.emplace(after_.instructions[n]->id, n);
    std::size_t previous = before_.instructions.size();
    for (const RuleUse& u : plan_.uses) {
      if (u.insn == previous) continue;
      previous = u.insn;
      const InsnPtr& old = before_.instructions[u.insn];
      after_.instructions[by_id.at(old->id)] = plan_.calls.rewrite(
          old,
          [&](const Expr& call, const Exprs& args, const Place& at) {
            return replacement(u.insn, call, args, at);
          },
          versions_);
    }
  }

  std::optional<Expr> replacement(std::size_t insn, const Expr& call, const Exprs& args,
                                  const Place& at) const {
    for (const RuleUse& u : plan_.uses) {
      if (u.insn != insn || at.written || !equal(u.args, args) || u.place.inames != at.inames ||
          !equal(u.place.conditions, at.conditions))
        continue;
      Exprs index;
      const Exprs& written = call.as<Call>()->args;  // as the rule around it says it
      for (const std::size_t a : kept_) {
        const int param = plan_.axes[a].param;
        index.push_back(relative_index(param < 0 ? u.index[a] : written[std::size_t(param)],
                                       foot_.axes[a].base));
      }
      if (index.empty()) return var(temporary_, call.at());
      return load(temporary_, index, call.at());
    }
    return {};
  }

  std::vector<StandIn> stand_ins() const {
    const Instruction& insn = *after_.find_insn(computation_);
    const std::vector<Access> accesses = accesses_to(after_, insn, false, {temporary_});
    const std::vector<std::string> shared(nest_.begin(), nest_.end());
    std::vector<StandIn> out;
    std::vector<std::vector<std::string>> dims;  // of what each one serves
    for (const RuleUse& u : plan_.uses) {
      std::vector<std::pair<Expr, Expr>> pairs;
      for (std::size_t a = 0; a < axis_count(); ++a) pairs.push_back({axis_value(a), u.index[a]});
      Map relation = stage_relation(after_, insn.inames, shared, u.place, pairs);
      const std::string& served = before_.instructions[u.insn]->id;
      std::size_t same = 0;
      while (same < out.size() && !(out[same].served == served && dims[same] == u.place.inames))
        ++same;
      if (same == out.size()) {
        out.push_back({insn.id, served, relation, accesses});
        dims.push_back(u.place.inames);
      } else if (out[same].relation.get() != relation.get()) {
        out[same].relation = isl_map_union(out[same].relation.take(), relation.take());
      }
    }
    return out;
  }

  const PrecomputePlan& plan_;
  const PrecomputeOptions& options_;
  const std::set<std::string>& nest_;
  const Kernel& before_;
  Kernel after_;
  Footprint foot_;
  std::vector<std::size_t> kept_;    // storage axes that are not trivial
  std::vector<std::string> inames_;  // that run along them
  std::string temporary_, computation_;
  StagedPoints points_;
  RuleVersions versions_;
};

}  // namespace

Kernel precompute(const Kernel& k, const std::string& rule, const PrecomputeOptions& o) {
  const PrecomputePlan plan(k, rule, o);
  std::exception_ptr wanted;  // why the best place is refused
  for (const std::set<std::string>& nest : plan.nests) try {
      return Build(plan, nest).run();
    } catch (const Refused&) {  // further in, it may be legal
      if (!wanted) wanted = std::current_exception();
    }
  std::rethrow_exception(wanted);
}

namespace {

/// `rule`, `rule$tag`, and footprints `rule(i, j)`.
struct Wanted {
  std::string rule, tag;
  std::vector<FootprintSubscript> footprints;
};

Wanted parse_uses(const Args& a) {
  const auto wrong = [&] {
    fail(
        "bad-argument", a.at(),
        "a use of a rule is `rule`, `rule$tag` or, with the footprint, `rule(i, j)`, or several of "
        "those of one rule");
  };
  Wanted out;
  for (const std::string& text : a.names("subst_use")) {
    const Expr e = parse_expression(text, a.at());
    const auto* name = e.as<Var>();
    const auto* call = e.as<Call>();
    if (!name && !call) wrong();
    const std::string& rule = name ? name->name : call->name;
    const std::string& tag = (name ? name->tag : call->tag).str();
    if (!out.rule.empty() && (rule != out.rule || tag != out.tag)) wrong();
    out.rule = rule;
    out.tag = tag;
    if (call)
      out.footprints.push_back({call->args, std::vector<std::optional<Expr>>(call->args.size())});
  }
  if (out.rule.empty()) wrong();
  return out;
}

Kernel run_precompute(const Kernel& k, const Args& a) {
  Wanted wanted = parse_uses(a);
  PrecomputeOptions o;
  o.tag = wanted.tag;
  o.footprints = std::move(wanted.footprints);
  o.sweep_inames = a.names("sweep_inames");
  o.within = Match::parse(a.str("within"), a.at());
  if (a.has("storage_axes") && !a.is_false("storage_axes"))
    o.storage_axes = a.names("storage_axes");
  o.precompute_inames = a.names("precompute_inames");
  if (a.has("precompute_outer_inames") && !a.is_false("precompute_outer_inames"))
    o.precompute_outer_inames = a.names("precompute_outer_inames");
  for (const auto& [axis, tag] : a.pairs("storage_axis_to_tag")) o.storage_axis_to_tag[axis] = tag;
  if (a.has("default_tag")) o.default_tag = a.str("default_tag");
  o.temporary_name = a.str("temporary_name");
  o.compute_insn_id = a.str("compute_insn_id");
  o.temporary_address_space = parse_address_space(a.str("temporary_address_space", "auto"), a.at());
  if (const std::string t = a.str("dtype"); !t.empty()) {
    const std::optional<Scalar> s = parse_scalar(t);
    if (!s) fail("unknown-type", a.at(), "`{}` is not a type", t);
    o.dtype = Type(*s);
  }
  o.fetch_bounding_box = a.boolean("fetch_bounding_box");
  o.at = a.at();
  o.proof = a.proof();
  return precompute(k, wanted.rule, o);
}

}  // namespace

extern const Op precompute_op;
const Op precompute_op{
    .name = "precompute",
    .doc =
        R"(Computes the values of a substitution rule ahead of its uses and keeps them in a temporary.

The temporary holds the footprint: the values that the rule's parameters (and inames that its body
names) take while the swept inames run and all other inames stay as they are. A new instruction fills
it, in new loops over the footprint; the uses read it. Axes of length 1 are dropped. Where the
footprint is not a convex set, the new instruction runs under a condition, or with fetch_bounding_box
computes the box around it. Without precompute_outer_inames, the instruction is in the loops that
the footprint depends on and in the parallel ones around every use, or further in where that is not
legal.

A use `rule(i, j)` with arguments gives the footprint itself; uses that are not proved to be inside
of it stay as they are.

Refuses arguments that are not affine, inames that the values depend on and that are neither swept nor
around every use, and values that would be stale: something between the computation and a use writes
what the rule reads.)",
    .params = {{.name = "subst_use",
                .kind = Kind::Names,
                .help = "`rule`, `rule$tag` or `rule(i, j)`, or a list of those",
                .required = true,
                .positional = true},
               {.name = "sweep_inames",
                .kind = Kind::Names,
                .help = "loops that are swept",
                .fallback = "{}",
                .positional = true},
               {.name = "within", .kind = Kind::Match, .help = "which uses", .positional = true},
               {.name = "storage_axes",
                .kind = Kind::Names,
                .help = "parameters of the rule (names or numbers from 0) and inames that the "
                        "temporary has an axis for",
                .fallback = "swept inames in the rule's body, then all parameters"},
               {.name = "temporary_name",
                .kind = Kind::Str,
                .help = "the temporary; one that is there is used and grows",
                .fallback = "<rule>_0"},
               {.name = "precompute_inames",
                .kind = Kind::Names,
                .help = "the loops over the footprint by storage axis, new or there already; an "
                        "empty name is chosen",
                .fallback = "the parameters' names"},
               {.name = "precompute_outer_inames",
                .kind = Kind::Names,
                .help = "loops around the computation",
                .fallback = "chosen"},
               {.name = "storage_axis_to_tag",
                .kind = Kind::Tags,
                .help = "tags of new loops, by storage axis or loop"},
               {.name = "default_tag",
                .kind = Kind::Str,
                .help = "tag of the other new loops; false for none, and so is `l.auto` where each "
                        "work-item has a copy",
                .fallback = "\"l.auto\" where work-items share the temporary"},
               {.name = "dtype",
                .kind = Kind::Str,
                .help = "type of the temporary",
                .fallback = "the one that the uses compute in"},
               {.name = "fetch_bounding_box",
                .kind = Kind::Bool,
                .help = "computes the box around the footprint",
                .fallback = "false"},
               {.name = "temporary_address_space",
                .kind = Kind::Str,
                .help = "`private`, `local`, `global` or `auto`",
                .fallback = "\"auto\""},
               {.name = "compute_insn_id",
                .kind = Kind::Str,
                .help = "id of the new instruction",
                .fallback = "the rule's name"},
               unsafe_option()},
    .example_kernel = R"(kernel fdiff(n: int32, u: float64[n+1], result: float64[n])
domain {[i]: 0 <= i < n}
u_acc(j) := u[j]
result[i] = u_acc(i+1) - u_acc(i)
)",
    .example = R"(knl = lp.split_iname(knl, "i", 16)
knl = lp.precompute(knl, "u_acc", "i_inner"))",
    .run = run_precompute,
    .query = {},
};

}  // namespace moonloop
