#include "transforms/buffer_array.h"

#include <algorithm>

#include "core/expr/parse_expr.h"
#include "core/infer/infer.h"
#include "core/model/domain.h"
#include "core/model/external.h"
#include "core/model/joined_loops.h"
#include "core/model/lookup.h"
#include "core/order/commuting.h"
#include "core/order/order.h"
#include "core/order/reordered.h"
#include "core/rewrite/rule_rewrite.h"
#include "core/rewrite/staging.h"
#include "core/rewrite/staging_loops.h"
#include "transforms/registry.h"

namespace moonloop {
namespace {

/// One access of the array in the instructions that use the buffer.
struct BufferedAccess {
  std::size_t insn = 0;
  Exprs index;
  Place place;
  Span at;
  bool exact = true;  // which instances make it is known
};

/// The subscripts of `e` if it is an element of `array` (or the scalar itself).
const Exprs* element_of(const Expr& e, const std::string& array) {
  static const Exprs kNone;
  if (const auto* v = e.as<Var>()) return v->name == array ? &kNone : nullptr;
  const auto* l = e.as<Load>();
  return l && l->array == array ? &l->index : nullptr;
}

/// Whether `e` reads `array` anywhere.
bool mentions(const Expr& e, const std::string& array) {
  std::set<std::string> names;
  collect_reads(e, names);
  return names.count(array) > 0;
}

/// False where no expression of `insn` has `name`; at constant cost.
bool may_name(const Instruction& insn, const std::string& name) {
  const auto may = [&](const Expr& e) { return (e.names() & name_bit(name)) != 0; };
  return may(insn.rhs) || std::any_of(insn.lhs.begin(), insn.lhs.end(), may) ||
         std::any_of(insn.predicates.begin(), insn.predicates.end(), may);
}

bool is_number(const Expr& e, std::int64_t value) {
  if (const auto* f = e.as<FloatLit>()) return f->value == static_cast<double>(value);
  return as_int(e) == value;
}

class BufferArray {
 public:
  BufferArray(const Kernel& k, const std::string& array, const BufferOptions& o)
      : array_(array),
        o_(o),
        sites_((require_array(k, array, o), expanded(k, array, o))),
        before_(sites_.kernel()),
        sweep_(o.buffer_inames.begin(), o.buffer_inames.end()) {
    for (const std::string& i : o.buffer_inames) require_iname(k, i);
    find_accesses();
    check_sweep();
    check_expressions();
    find_nests();
  }

  Kernel run() {
    std::exception_ptr wanted;
    for (const std::set<std::string>& nest : nests_) try {
        return build(nest);
      } catch (const Refused&) {  // further in, it may be legal
        if (!wanted) wanted = std::current_exception();
      }
    std::rethrow_exception(wanted);
  }

 private:
  static void require_array(const Kernel& k, const std::string& array, const BufferOptions& o) {
    if (k.find_arg(array) || k.find_temporary(array)) return require_not_passed(k, array);
    std::vector<std::string> names;
    for (const Argument& a : k.args) names.push_back(a.name);
    for (const auto& [name, t] : k.temporaries) names.push_back(name);
    fail_for(array, "unknown-array", o.at ? o.at : k.at, "no array `{}` in kernel `{}`; it has {}",
             array, k.name, names.empty() ? "none" : quoted_list(names));
  }

  /// Rules that read the array are put into the selected instructions; others stay rules.
  static Kernel expanded(const Kernel& k, const std::string& array, const BufferOptions& o) {
    std::set<std::string> reading;
    for (const Rule& r : k.rules)
      if (mentions(expand_rules(k, r.body), array)) reading.insert(r.name);
    if (reading.empty()) return k;
    RuleRewrite rw;
    rw.expand = [&](const RulePlace& at) {
      return reading.count(at.stack.front().name) > 0 && o.within(k, at.insn);
    };
    return rewrite_through_rules(k, rw);
  }

  const Span& at() const { return o_.at ? o_.at : all_.front().at; }

  // ---- Accesses.

  void find_accesses() {
    for (std::size_t n = 0; n < before_.instructions.size(); ++n) {
      const InsnPtr& insn = before_.instructions[n];
      if (!may_name(*insn, array_) || !o_.within(before_, *insn)) continue;
      rewrite_places(insn, [&](const Expr& e, const Place& p) { return visit(e, p, n); });
    }
    if (all_.empty())
      refuse("no-match", o_.at ? o_.at : before_.at,
             "no selected instruction of kernel `{}` accesses `{}`", before_.name, array_);
  }

  std::optional<Expr> visit(const Expr& e, const Place& p, std::size_t n) {
    if (!(e.names() & name_bit(array_))) return e;  // nor do those below
    if (const auto* s = e.as<SubArray>(); s && element_of(s->load, array_))
      refuse("sub-array", e.at(), "`{}` is a part of `{}`; only single elements can be buffered",
             to_string(e), array_);
    const Exprs* index = element_of(e, array_);
    if (!index) return {};
    if (const auto* l = e.as<Load>(); l && l->linear)
      refuse("linear-access", e.at(), "`{}` is one flat subscript; its axes are not known",
             to_string(e));
    const std::string& id = before_.instructions[n]->id;
    if (!all_.empty() && all_[0].index.size() != index->size())
      refuse("rank-mismatch", e.at(), "`{}` has {} subscript{} here and {} elsewhere", array_,
             index->size(), index->size() == 1 ? "" : "s", all_[0].index.size());
    if (!o_.whole_axes && !to_map(*index, p.inames))
      for (const Expr& i : *index)
        if (!to_map({i}, p.inames))
          refuse(
              "non-affine-argument", i.at() ? i.at() : e.at(),
              "subscript `{}` of `{}` in `{}` is not a sum of inames and parameters, so that its "
              "footprint is not known",
              to_string(i), array_, id);
    BufferedAccess a{n, *index, p, e.at(), instances_at(before_, p).exact};
    a.place.written = false;
    if (p.written) writes_.push_back(a);
    const bool updates = before_.instructions[n]->atomic == Atomicity::Update;
    if (!p.written || updates) reads_ = true;
    if (p.written) atomic_ = atomic_ || updates;
    all_.push_back(std::move(a));
    return {};
  }

  std::size_t rank() const { return all_[0].index.size(); }

  /// The inames that the place of an access in the buffer depends on.
  std::set<std::string> inames_in(const BufferedAccess& a) const {
    std::set<std::string> vars;
    for (std::size_t d = 0; d < rank(); ++d)
      if (!takes_axis(a, d)) collect_vars(a.index[d], vars);
    std::erase_if(vars, [&](const std::string& v) { return !before_.has_iname(v); });
    return vars;
  }

  /// Whether the subscript is data, so that it may be any of its axis.
  bool takes_axis(const BufferedAccess& a, std::size_t d) const {
    if (!o_.whole_axes) return false;
    std::set<std::string> vars;
    collect_vars(a.index[d], vars);
    return !to_map({a.index[d]}, a.place.inames) ||
           std::any_of(vars.begin(), vars.end(),
                       [&](const std::string& v) { return before_.find_temporary(v) != nullptr; });
  }

  void check_sweep() {
    std::set<std::string> around;
    for (const BufferedAccess& a : all_)
      around.insert(a.place.inames.begin(), a.place.inames.end());
    for (const std::string& i : o_.buffer_inames)
      if (!around.count(i))
        refuse("unused-sweep", at(), "no selected access of `{}` is in the loop `{}`", array_, i);
    common_ = {all_[0].place.inames.begin(), all_[0].place.inames.end()};
    for (const BufferedAccess& a : all_)
      std::erase_if(common_, [&](const std::string& i) {
        return std::find(a.place.inames.begin(), a.place.inames.end(), i) == a.place.inames.end();
      });
    for (const std::string& i : sweep_) common_.erase(i);
    for (const BufferedAccess& a : all_)
      for (const std::string& i : inames_in(a))
        if (!sweep_.count(i) && !common_.count(i))
          refuse(
              "not-swept", a.at,
              "`{}` depends on `{}`, which is not around every selected access; make it a buffer "
              "iname, or select the instructions with `within`",
              array_, i);
  }

  // ---- The meaning of the expressions.

  void check_expressions() const {
    if (o_.proof == Proof::LeftOut || o_.updates) return;
    if (!o_.store && !writes_.empty())
      refuse("lost-store", at(), "without a store, what `{}` writes to `{}` would be lost",
             before_.instructions[writes_[0].insn]->id, array_);
    const bool written_first = !reads_ && std::all_of(writes_.begin(), writes_.end(),
                                                      [](const auto& w) { return w.exact; });
    if (!o_.init && (!written_first || o_.fetch_bounding_box))
      refuse("undefined-buffer", at(),
             "without init_expression, elements of the buffer of `{}` would be {} before they are "
             "written",
             array_, reads_ ? "read" : "stored");
    const bool plain_init = !o_.init_expression || element_of(o_.init_expression, "base");
    const bool plain_store = !o_.store_expression || element_of(o_.store_expression, "buffer");
    if (plain_init && plain_store) return;
    if (plain_store && written_first)
      return;  // every element of the buffer is written before it is stored
    if (accumulates(NaryOp::Add, 0) || accumulates(NaryOp::Mul, 1)) return;
    refuse(
        "not-proved", at(),
        "it is not proved that `{}` ends up the same when its buffer starts as `{}` and is stored "
        "as `{}`; that is known for accumulations only (`0` and `base + buffer`, `1` and "
        "`base*buffer`)",
        array_, o_.init_expression ? to_string(o_.init_expression) : "base",
        o_.store_expression ? to_string(o_.store_expression) : "buffer");
  }

  /// The buffer starts as the neutral element, every access is part of `c[e] = c[e] op x`, and the
  /// store is `base op buffer`.
  bool accumulates(NaryOp op, std::int64_t neutral) const {
    if (!o_.init_expression || !is_number(o_.init_expression, neutral)) return false;
    const auto* store = o_.store_expression.as<Nary>();
    if (!store || store->op != op || store->terms.size() != 2) return false;
    const auto is = [&](std::size_t t, const char* name) {
      return element_of(store->terms[t], name) != nullptr;
    };
    if (!(is(0, "base") && is(1, "buffer")) && !(is(0, "buffer") && is(1, "base"))) return false;
    // Nor may it matter how often a value becomes one of the array's type.
    Kernel typed = expand_all_rules(before_);
    bool known = true;
    try {
      typed = infer_types(std::move(typed));
    } catch (const Error&) { known = false; }
    CommutingUpdates updates(typed);
    return std::all_of(all_.begin(), all_.end(), [&](const BufferedAccess& a) {
      const Instruction& insn = *before_.instructions[a.insn];
      if (known && !updates.in_any_order(*typed.instructions[a.insn], array_)) return false;
      const auto* value = insn.rhs.as<Nary>();
      if (insn.lhs.size() != 1 || !element_of(insn.lhs[0], array_) || !value || value->op != op)
        return false;
      int same = 0, other = 0;
      for (const Expr& t : value->terms) {
        if (equal(t, insn.lhs[0]))
          ++same;
        else
          other += mentions(t, array_);
      }
      for (const Expr& p : insn.predicates) other += mentions(p, array_);
      return same == 1 && other == 0;
    });
  }

  // ---- Where.

  Footprint footprint_of(const std::vector<BufferedAccess>& accesses,
                         const std::set<std::string>& nest) const {
    std::vector<Map> maps;
    LoopJoiner loops(before_);
    for (const BufferedAccess& a : accesses)
      maps.push_back(elements_of(a, loops, {nest.begin(), nest.end()}));
    std::vector<std::string> names;
    for (std::size_t d = 0; d < rank(); ++d) names.push_back(fmt::format("axis {}", d));
    return footprint(before_, maps, names, {nest.begin(), nest.end()}, at(), array_);
  }

  Map elements_of(const BufferedAccess& a, LoopJoiner& loops,
                  const std::vector<std::string>& outer) const {
    Exprs index = a.index, within;
    std::vector<std::string> axes;
    for (std::size_t d = 0; d < rank(); ++d) {
      axes.push_back(fmt::format("axis_{}", d));
      if (!takes_axis(a, d)) continue;
      index[d] = lit(0);
      within.push_back(Expr(Compare{CompareOp::Ge, var(axes[d]), lit(0)}));
      within.push_back(Expr(Compare{CompareOp::Lt, var(axes[d]), extent(d)}));
    }
    const bool anywhere =
        rank() > 0 && within.size() == 2 * rank();  // whatever instances there are
    Map out = anywhere ? universal_map(a.place.inames, axes)
                       : *elements_at(before_, loops, a.place, index, outer);
    if (within.empty()) return out;
    for (std::size_t d = 0; d < rank() && !anywhere; ++d) {
      if (!takes_axis(a, d)) continue;
      out = isl_map_project_out(out.take(), isl_dim_out, unsigned(d), 1);
      out = isl_map_insert_dims(out.take(), isl_dim_out, unsigned(d), 1);
    }
    return isl_map_intersect_range(out.take(), to_condition(conjunction(within), axes)->take());
  }

  /// The extent of an axis of the array, which has to be affine.
  Expr extent(std::size_t d) const {
    const std::optional<Exprs>* shape = nullptr;
    if (const Argument* a = before_.find_arg(array_)) shape = &a->shape;
    if (const Temporary* t = before_.find_temporary(array_)) shape = &t->shape;
    ensure(shape && *shape, "the shape of an array with whole axes in a buffer is known");
    const Expr& e = (**shape).at(d);
    if (!to_map({e}, {}))
      refuse("non-affine-argument", at(),
             "extent `{}` of `{}` is not a sum of parameters, so that the size of a copy is not "
             "known",
             to_string(e), array_);
    return e;
  }

  void find_nests() {
    const Footprint f = footprint_of(all_, common_);
    std::set<std::string> needed = needed_inames(before_, f, common_, {});
    std::vector<Place> places;
    for (const BufferedAccess& a : all_) places.push_back(a.place);
    const bool scalar = std::all_of(f.axes.begin(), f.axes.end(),
                                    [](const FootprintAxis& a) { return a.trivial(); });
    const bool untagged = o_.default_tag && !staging_tag(o_.default_tag, false, at());
    space_ = staging_space(before_, o_.temporary_scope, places, o_.updates ? common_ : needed,
                           sweep_, untagged || scalar, at());
    for (const Place& p : places) items_ = items_ || !work_items_of(before_, p).empty();
    for (const std::string& i : common_parallel(before_, places, own_copies(space_)))
      if (common_.count(i)) needed.insert(i);
    const auto nests = [&](const std::set<std::string>& inames) {
      return sites_.nests(all_[0].insn, all_[0].place, inames, sweep_, common_);
    };
    nests_ = nests(needed);
    if (!o_.updates) return;
    // Loops around that are to become parallel later have a copy in each iteration already, unless
    // they can only be inside of those over which it is kept.
    std::reverse(nests_.begin(), nests_.end());
    const auto all = nests(common_);
    nests_.insert(nests_.begin(), all.begin(), all.end());
  }

  // ---- Building.

  Kernel build(const std::set<std::string>& nest) {
    after_ = before_;
    Footprint f = footprint_of(all_, nest);
    std::set<std::string> taken = after_.all_names();
    const std::string buffer = add_temporary(f, taken, nest);
    std::size_t first = before_.instructions.size(), last = 0;
    for (const BufferedAccess& a : all_) {
      first = std::min(first, sites_.ahead_of(a.insn, a.place, nest));
      last = std::max(last, sites_.behind(a.insn, a.place, nest));
    }
    replace_accesses(f, buffer);

    std::vector<StandIn> stand_ins;
    InsnPtr load_insn;
    if (o_.init) {
      const Move init = add_loops(f, f.points, nest, "init", taken);
      const Expr from = element(array_, init.place);
      const Expr start =
          o_.init_expression ? substitute(o_.init_expression, {{"base", from}}) : from;
      load_insn = instruction(init, "init_" + array_, element(buffer, init.slot), start);
      add_stand_ins(stand_ins, *load_insn, nest, init, all_);
    }

    InsnPtr store_insn;
    if (o_.store && !writes_.empty()) {
      const Move store = add_loops(f, footprint_of(writes_, nest).points, nest, "store", taken);
      const Expr to = element(array_, store.place), value = element(buffer, store.slot);
      const Expr result = o_.store_expression
                              ? substitute(o_.store_expression, {{"base", to}, {"buffer", value}})
                              : value;
      store_insn = instruction(store, "store_" + array_, to, result);
      if (o_.updates)
        store_insn = edit(store_insn, [&](Instruction& i) {
          i.predicates.push_back(Expr(Compare{CompareOp::Ne, value, o_.init_expression}));
          if (atomic_ || !nest.empty()) i.atomic = Atomicity::Update;
        });
      add_stand_ins(stand_ins, *store_insn, nest, store, writes_);
    }
    auto& list = after_.instructions;
    if (store_insn) list.insert(list.begin() + std::ptrdiff_t(last), store_insn);
    if (load_insn) list.insert(list.begin() + std::ptrdiff_t(first), load_insn);
    return staged(before_, after_, stand_ins, o_.proof);
  }

  std::string add_temporary(const Footprint& f, std::set<std::string>& taken,
                            const std::set<std::string>& nest) {
    std::string name = o_.temporary_name;
    if (name.empty())
      name = take_name(taken, array_ + "_buf");
    else
      require_new_name(after_, name);
    taken.insert(name);
    Temporary t;
    t.name = name;
    if (const Argument* a = before_.find_arg(array_)) t.type = a->type;
    if (const Temporary* old = before_.find_temporary(array_)) t.type = old->type;
    Exprs shape;
    for (const FootprintAxis& a : f.axes)
      if (!a.trivial()) shape.push_back(a.extent);
    t.shape = shape;
    std::vector<Place> places;
    for (const BufferedAccess& a : all_) places.push_back(a.place);
    t.space = settled_space(before_, space_, places, nest);
    t.at = all_[0].at;
    after_.temporaries.emplace(name, t);
    claim_also(after_, Claim::Kind::Unsafe, array_, name);  // the updates are the same ones
    return name;
  }

  static Expr element(const std::string& name, const Exprs& index) {
    return index.empty() ? var(name) : load(name, index);
  }

  void replace_accesses(const Footprint& f, const std::string& buffer) {
    for (const BufferedAccess& a : all_) {
      InsnPtr& insn = after_.instructions[a.insn];
      insn = rewrite_places(insn, [&](const Expr& e, const Place&) -> std::optional<Expr> {
        const Exprs* index = element_of(e, array_);
        if (!index) return {};
        Exprs inside;
        for (std::size_t d = 0; d < index->size(); ++d)
          if (!f.axes[d].trivial()) inside.push_back(relative_index((*index)[d], f.axes[d].base));
        return inside.empty() ? var(buffer, e.at()) : load(buffer, inside, e.at());
      });
      if (o_.updates && space_ == AddressSpace::Local && insn->atomic == Atomicity::None)
        insn = edit(insn, [](Instruction& i) { i.atomic = Atomicity::Update; });
    }
  }

  /// The loops of one of the two instructions: where in the array, where in the buffer.
  struct Move {
    Exprs place, slot;
    std::set<std::string> inames;
    Exprs guards;
  };

  Move add_loops(const Footprint& f, const Set& points, const std::set<std::string>& nest,
                 const std::string& what, std::set<std::string>& taken) {
    Move m;
    m.inames = nest;
    std::vector<std::string> inames;
    Exprs extents;
    for (std::size_t d = 0; d < f.axes.size(); ++d) {
      if (f.axes[d].trivial()) {
        m.place.push_back(f.axes[d].base);
        continue;
      }
      inames.push_back(take_name(taken, fmt::format("{}_{}_{}", array_, what, d)));
      extents.push_back(f.axes[d].extent);
      m.slot.push_back(var(inames.back()));
      m.place.push_back(index_add({var(inames.back()), f.axes[d].base}));
    }
    Footprint part = f;
    part.points = points;
    part.own = without_context(points, part.context);
    StagedPoints p =
        staged_points(part, inames, o_.fetch_bounding_box ? PointShape::Box : PointShape::Exact);
    if (what == "init") drop_idle_conditions(before_, p, f, array_);
    add_staging_domain(after_, p, inames, extents, all_[0].at);
    const bool shared = items_ && space_ == AddressSpace::Local;
    const bool own = items_ && space_ == AddressSpace::Private;
    for (const std::string& i : inames)
      if (const auto tag = staging_tag(shared_default(o_.default_tag, own), shared, at()))
        after_.iname_tags[i] = *tag;
    m.inames.insert(inames.begin(), inames.end());
    m.guards = p.guards;
    return m;
  }

  InsnPtr instruction(const Move& m, const std::string& id, const Expr& to,
                      const Expr& value) const {
    Instruction insn;
    insn.id = after_.fresh_id(id);
    insn.lhs = {to};
    insn.rhs = tidy_subscripts(value);
    insn.inames = m.inames;
    insn.predicates = m.guards;
    insn.at = all_[0].at;
    std::set<std::string> barriers;
    if (id.starts_with("init_")) {  // after the barriers before all accesses
      const auto first = std::min_element(
          all_.begin(), all_.end(), [](const auto& a, const auto& b) { return a.insn < b.insn; });
      for (std::size_t n = 0; n < first->insn; ++n) {
        const Instruction& b = *before_.instructions[n];
        if (b.kind == InsnKind::Barrier &&
            std::any_of(all_.begin(), all_.end(), [&](const BufferedAccess& a) {
              const auto& after = before_.instructions[a.insn]->depends_on;
              return std::find(after.begin(), after.end(), b.id) != after.end();
            }))
          barriers.insert(b.id);
      }
    }
    insn.depends_on = {barriers.begin(), barriers.end()};
    return std::make_shared<const Instruction>(std::move(insn));
  }

  /// An instance serves the accesses of its element; with the box, which holds elements that
  /// nothing accesses, all accesses in its iteration of the nest.
  void add_stand_ins(std::vector<StandIn>& out, const Instruction& insn,
                     const std::set<std::string>& nest, const Move& m,
                     const std::vector<BufferedAccess>& served) const {
    std::vector<Access> accesses;
    for (const bool write : {false, true})
      for (Access& a : accesses_to(after_, insn, write, {}))
        if (a.variable == array_) accesses.push_back(std::move(a));
    const std::vector<std::string> shared(nest.begin(), nest.end());
    for (const BufferedAccess& a : served) {
      std::vector<std::pair<Expr, Expr>> pairs;
      for (std::size_t d = 0; d < rank() && !o_.fetch_bounding_box; ++d)
        pairs.push_back({m.place[d], a.index[d]});
      const Map relation = stage_relation(after_, insn.inames, shared, a.place, pairs);
      const std::string& id = before_.instructions[a.insn]->id;
      const auto same = std::find_if(out.begin(), out.end(), [&](const StandIn& s) {
        return s.insn == insn.id && s.served == id &&
               yes(isl_map_has_equal_space(s.relation.get(), relation.get()));
      });
      if (same == out.end())
        out.push_back({insn.id, id, relation, accesses});
      else if (same->relation.get() != relation.get())
        same->relation = isl_map_union(same->relation.take(), relation.copy());
    }
  }

  const std::string& array_;
  const BufferOptions& o_;
  Sites sites_;
  const Kernel& before_;
  std::set<std::string> sweep_, common_;
  std::vector<BufferedAccess> all_, writes_;
  bool reads_ = false, items_ = false, atomic_ = false;
  AddressSpace space_ = AddressSpace::Auto;
  std::vector<std::set<std::string>> nests_;
  Kernel after_;
};

}  // namespace

Kernel buffer_array(const Kernel& k, const std::string& array, const BufferOptions& o) {
  return BufferArray(k, array, o).run();
}

namespace {

/// The expression that option `name` gives as text or as a number.
Expr expression(const Args& a, const std::string& name, const std::set<std::string>& known) {
  const Value* v = a.raw(name);
  if (!v || a.is_false(name)) return {};
  std::string text;
  if (const auto* s = v->as<std::string>()) text = *s;
  if (v->as<std::int64_t>() || v->as<double>()) text = to_lua(*v);
  if (text.empty())
    fail("bad-argument", a.at(), "{}: an expression expected, got {}", name, to_lua(*v));
  const Expr e = parse_expression(text, a.at());
  std::set<std::string> names;
  collect_reads(e, names);
  for (const std::string& n : names)
    if (!known.count(n))
      fail("bad-argument", a.at(), "{} is over {}; it does not know `{}`", name,
           quoted_list({known.begin(), known.end()}), n);
  return e;
}

Kernel run_buffer_array(const Kernel& k, const Args& a) {
  BufferOptions o;
  o.buffer_inames = a.names("buffer_inames");
  o.init_expression = expression(a, "init_expression", {"base"});
  o.store_expression = expression(a, "store_expression", {"base", "buffer"});
  o.init = !a.is_false("init_expression");
  o.store = !a.is_false("store_expression");
  o.within = Match::parse(a.str("within"), a.at());
  if (a.has("default_tag")) o.default_tag = a.str("default_tag");
  o.temporary_name = a.str("temporary_name");
  o.temporary_scope = parse_address_space(a.str("temporary_scope", "auto"), a.at());
  o.fetch_bounding_box = a.boolean("fetch_bounding_box");
  o.at = a.at();
  o.proof = a.proof();
  return buffer_array(k, a.str("var_name"), o);
}

}  // namespace

extern const Op buffer_array_op;
const Op buffer_array_op{
    .name = "buffer_array",
    .doc = R"(Lets instructions work on a copy of part of an array.

The copy holds what the selected instructions access while the buffer inames run and all other inames
stay as they are. It is filled before them and, where they write, stored after them: exactly the
elements that are written. With init_expression = "0" and store_expression = "base + buffer" an
accumulation starts from nothing in the copy and is added to the array at the end; this says that
its terms may be added in another order.

Refuses subscripts that are not affine, expressions that are not proved to keep the array's values,
store_expression = false where something is written, and other instructions that meet the same elements
between filling and storing.)",
    .params = {{.name = "var_name",
                .kind = Kind::Str,
                .help = "the array",
                .required = true,
                .positional = true},
               {.name = "buffer_inames",
                .kind = Kind::Names,
                .help = "loops over which the copy is kept",
                .required = true,
                .positional = true},
               {.name = "init_expression",
                .kind = Kind::Any,
                .help =
                    "what the copy starts as, over `base`, the array's element; false: nothing, "
                    "where all that is stored is written before",
                .fallback = "\"base\"",
                .positional = true},
               {.name = "store_expression",
                .kind = Kind::Any,
                .help = "what is stored, over `base` and `buffer`; false: nothing",
                .fallback = "\"buffer\"",
                .positional = true},
               {.name = "within",
                .kind = Kind::Match,
                .help = "the instructions that use the copy",
                .positional = true},
               {.name = "default_tag",
                .kind = Kind::Str,
                .help = "tag of the new loops; false for none, and so is `l.auto` where each "
                        "work-item has a copy",
                .fallback = "\"l.auto\" where work-items share the copy"},
               {.name = "temporary_name",
                .kind = Kind::Str,
                .help = "the copy",
                .fallback = "<array>_buf"},
               {.name = "temporary_scope",
                .kind = Kind::Str,
                .help = "`private`, `local`, `global` or `auto`",
                .fallback = "\"auto\""},
               {.name = "fetch_bounding_box",
                .kind = Kind::Bool,
                .help = "copies the box around what is accessed",
                .fallback = "false"},
               unsafe_option()},
    .example_kernel = R"(kernel rowsums(n: int32, m: int32, a: float64[m, n], c: float64[n])
domain {[j, i]: 0 <= i < n and 0 <= j < m}
c[i] = c[i] + a[j, i]
)",
    .example = R"(knl = lp.split_iname(knl, "i", 16)
knl = lp.prioritize_loops(knl, "i_outer, j, i_inner")
knl = lp.buffer_array(knl, "c", "j, i_inner"))",
    .run = run_buffer_array,
    .query = {},
};

}  // namespace moonloop
