#include "core/order/inline_calls.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "core/infer/infer.h"
#include "core/model/affine.h"
#include "core/model/call_binding.h"
#include "core/model/conditions.h"
#include "core/model/domain.h"
#include "core/model/external.h"
#include "core/model/flat_subscripts.h"
#include "core/order/check_kernel.h"
#include "core/order/reference.h"
#include "core/sets/named_sets.h"

namespace moonloop {
namespace {

using NewNames = std::map<std::string, std::string>;

/// Puts the bodies of callees into one kernel.
class Inliner {
 public:
  Inliner(Kernel k, bool with_steps) : k_(std::move(k)), with_steps_(with_steps) {
    for (std::string n : k_.all_names()) taken_.insert(std::move(n));
    for (const InsnPtr& i : k_.instructions) ids_.insert(i->id);
  }

  Kernel run(const std::function<bool(const Instruction&)>& which) {
    const std::vector<InsnPtr> before = std::move(k_.instructions);
    k_.instructions.clear();
    for (const InsnPtr& i : before) {
      if (called_kernel(k_, *i) && which(*i))
        call(*i);
      else
        k_.instructions.push_back(i);
    }
    for (InsnPtr& i : k_.instructions) replace_dependences(i);
    drop_unused_externals(k_);
    return std::move(k_);
  }

 private:
  // ---- NewNames.

  static std::string fresh(const std::string& base, std::unordered_set<std::string>& taken,
                           std::unordered_map<std::string, int>& next) {
    if (taken.insert(base).second) return base;
    for (int& n = next[base];; ++n)
      if (std::string name = base + "_" + std::to_string(n); taken.insert(name).second) return name;
  }
  std::string fresh(const std::string& base) { return fresh(base, taken_, next_); }
  std::string fresh_id(const std::string& base) { return fresh(base, ids_, next_id_); }

  // ---- One call.

  struct Site {
    const Instruction* insn;
    const Kernel* callee;  // without rules
    CallBinding binding;
    NewNames names;                      // inames and temporaries
    std::map<std::string, Expr> bounds;  // scalar arguments, in bounds and shapes
    std::map<std::string, Expr> values;  // and in values
    std::map<std::string, const BoundArgument*> arrays;
    std::vector<std::string> ahead;  // ids of statements before the body
    Exprs predicates;
  };

  void call(const Instruction& insn) {
    const Call& c = *external_call(k_, insn);
    const WithoutRules expanded(body_of(c.name));
    Site s;
    s.insn = &insn;
    s.callee = &*expanded;
    s.binding = bind_call(k_, c, *s.callee);
    if (s.callee->index_type != k_.index_type)
      fail("unsupported", insn.at, "`{}` counts by {}, and `{}`, which it calls, by {}", k_.name,
           Type(k_.index_type).str(), s.callee->name, Type(s.callee->index_type).str());
    for (const auto& [f, gives] : s.callee->externals) k_.externals.emplace(f, gives);
    for (const auto& [f, called] : s.callee->callees) k_.callees.emplace(f, called);
    for (const auto& [name, record] : s.callee->records) k_.records.emplace(name, record);
    conditions(s);
    arguments(s);
    loops(s);
    temporaries(s);
    statements(s);
  }

  /// The kernel that is put in; it lives as long as this.
  const Kernel& body_of(const std::string& name) {
    const CalledKernel& called = *k_.callees.at(name);
    if (!with_steps_ || !called.code) return *called.meaning;
    const auto [it, fresh] = bodies_.try_emplace(called.code.get());
    if (fresh) it->second = complete(rebase(proved(*called.code)));
    return it->second;
  }

  /// Conditions of the call that the callee may change are saved ahead.
  void conditions(Site& s) {
    s.predicates = s.insn->predicates;
    const std::set<std::string> written = writes(*s.insn);
    const bool changes = std::any_of(s.predicates.begin(), s.predicates.end(), [&](const Expr& p) {
      std::set<std::string> names;
      collect_reads(p, names);
      return std::any_of(names.begin(), names.end(),
                         [&](const auto& n) { return written.count(n) > 0; });
    });
    if (!changes) return;
    const std::string name = scalar("cond", Type(Scalar::Bool), s.insn->at);
    ahead(s, name, conjunction(s.predicates), {});
    s.predicates = {var(name, s.insn->at)};
  }

  std::string scalar(const std::string& base, const Type& type, const Span& at) {
    Temporary t;
    t.name = fresh(base);
    t.type = type;
    t.shape.emplace();
    t.at = at;
    const std::string name = t.name;
    k_.temporaries.emplace(name, std::move(t));
    return name;
  }

  void ahead(Site& s, const std::string& name, const Expr& value, const Exprs& predicates) {
    auto i = std::make_shared<Instruction>();
    i->id = fresh_id(s.insn->id + "_" + name);
    i->lhs = {var(name, s.insn->at)};
    i->rhs = value;
    i->predicates = predicates;
    i->inames = s.insn->inames;
    i->tags = s.insn->tags;
    i->depends_on = s.insn->depends_on;
    i->depends_on.insert(i->depends_on.end(), s.ahead.begin(), s.ahead.end());
    i->at = s.insn->at;
    s.ahead.push_back(i->id);
    k_.instructions.push_back(std::move(i));
  }

  void arguments(Site& s) {
    const std::set<std::string> written = writes(*s.insn);
    std::set<std::string> bounding;  // names of the callee that bounds and sizes need
    for (const Domain& d : s.callee->domains) bounding.merge(set_of(d.params()));
    for (const auto& [name, t] : s.callee->temporaries)
      if (t.shape)
        for (const Expr& e : *t.shape) collect_vars(e, bounding);
    for (const BoundArgument& b : s.binding.all) {
      if (!b.value) {
        ensure(b.axes.has_value(), "an argument steps as the caller's array does");
        s.arrays.emplace(b.to->name, &b);
        continue;
      }
      const Type type = b.to->type.value();
      if (b.to->is_array && (b.value.as<Var>() || b.value.as<Load>())) {  // without axes
        s.values.emplace(b.to->name, b.value);
        continue;
      }
      const bool bounds = bounding.count(b.to->name) > 0;
      if (as_int(b.value) && !type.is_record() && is_integer(type.scalar)) {
        s.bounds.emplace(b.to->name, b.value);
        s.values.emplace(b.to->name, Expr(IntLit{*as_int(b.value), type.scalar}, b.value.at()));
        continue;
      }
      if (const auto* real = b.value.as<FloatLit>();
          real && !real->type && !type.is_record() &&
          (type == Type(Scalar::F64) || type == Type(Scalar::F32))) {
        s.bounds.emplace(b.to->name, b.value);
        s.values.emplace(b.to->name, Expr(FloatLit{real->value, type.scalar}, b.value.at()));
        continue;
      }
      const bool same = type_of(k_, b.value, type) == type;
      // What is known of loops is known of the value, whatever it takes to compute it.
      const bool of_loops = is_bound(b.value) && is_of_instances(k_, b.value);
      if ((of_loops || stays(b.value, written)) && (!bounds || (same && is_bound(b.value)))) {
        s.bounds.emplace(b.to->name, b.value);
        s.values.emplace(b.to->name, same && !is_literal(b.value)
                                         ? b.value
                                         : Expr(Cast{type, b.value}, b.value.at()));
        continue;
      }
      const std::string name = scalar(b.to->name, type, s.insn->at);
      ahead(s, name, b.value, s.predicates);
      s.bounds.emplace(b.to->name, var(name));
      s.values.emplace(b.to->name, var(name));
    }
  }

  static std::set<std::string> set_of(const std::vector<std::string>& all) {
    return {all.begin(), all.end()};
  }
  static bool is_literal(const Expr& e) {
    return e.as<IntLit>() || e.as<FloatLit>() || e.as<ComplexLit>() || e.as<BoolLit>() ||
           (e.as<Unary>() && is_literal(e.as<Unary>()->arg));
  }

  /// Whether the value is the same at each statement of the callee, and costs nothing.
  bool stays(const Expr& e, const std::set<std::string>& written) const {
    bool out = true;
    std::size_t nodes = 0;
    walk(e, [&](const Expr& x) {
      ++nodes;
      if (const auto* v = x.as<Var>()) out = out && written.count(v->name) == 0;
      if (x.as<Load>() || x.as<Call>() || x.as<Reduce>()) out = false;
      return out;
    });
    constexpr std::size_t kFew = 16;
    return out && nodes <= kFew;
  }
  /// Whether the value may be a parameter of bounds.
  bool is_bound(const Expr& e) const {
    std::set<std::string> names;
    collect_vars(e, names);
    return to_affine(e, {}).has_value() &&
           std::none_of(names.begin(), names.end(), [&](const std::string& n) {
             const Argument* a = k_.find_arg(n);
             return a && a->is_array;
           });
  }

  // ---- Loops.

  void loops(Site& s) {
    for (const std::string& i : s.callee->inames()) s.names.emplace(i, fresh(i));
    for (const auto& [name, t] : s.callee->temporaries) s.names.emplace(name, fresh(name));
    for (const Domain& d : s.callee->domains)
      k_.domains.push_back({bounded(s, d.set), d.at ? d.at : s.insn->at});
    const auto now = [&](const std::string& n) { return s.names.at(n); };
    for (const std::string& i : s.callee->loop_order) k_.loop_order.push_back(now(i));
    for (const auto& [iname, tag] : s.callee->iname_tags) k_.iname_tags.emplace(now(iname), tag);
    for (const auto& [iname, slabs] : s.callee->slabs) k_.slabs.emplace(now(iname), slabs);
    for (const auto& chain : s.callee->priorities) {
      k_.priorities.emplace_back();
      for (const std::string& i : chain) k_.priorities.back().push_back(now(i));
    }
  }

  /// The callee's set with the caller's names.
  static Set bounded(const Site& s, Set set) {
    // Each name by way of one that no kernel has, since the two may use one name for two things.
    const auto between = [](const std::string& n) { return n + "'"; };
    std::map<std::string, std::string> away, home;
    Exprs equal_to;
    std::vector<std::string> gone;
    for (const std::string& n : dim_names(set)) {
      away[n] = between(n);
      home[between(n)] = s.names.at(n);
    }
    for (const std::string& n : param_names(set)) {
      away[n] = between(n);
      if (const auto own = s.names.find(n); own != s.names.end()) {
        home[between(n)] = own->second;
      } else if (const auto value = s.bounds.find(n); value != s.bounds.end()) {
        equal_to.emplace_back(Compare{CompareOp::Eq, var(between(n)), value->second});
        gone.push_back(between(n));
      } else {
        const auto place = s.values.find(n);
        ensure(place != s.values.end() && place->second.as<Var>(), "a bound of a called kernel");
        home[between(n)] = place->second.as<Var>()->name;
      }
    }
    set = rename_dims(std::move(set), away);
    if (!gone.empty()) {
      const auto holds = to_condition(conjunction(equal_to), {});
      ensure(holds.has_value(), "a bound that is affine");
      set = isl_set_intersect_params(set.take(), isl_set_params(holds->copy()));
      set = drop_params(std::move(set), gone);
    }
    return rename_dims(std::move(set), home);
  }

  // ---- Temporaries.

  void temporaries(Site& s) {
    const auto changed = [&](const std::string& name) {
      return std::any_of(s.callee->instructions.begin(), s.callee->instructions.end(),
                         [&](const InsnPtr& i) { return writes(*i).count(name) > 0; });
    };
    NewNames storage;
    for (auto [name, t] : s.callee->temporaries) {
      if (t.initializer && changed(name))
        fail("unsupported", s.insn->at,
             "`{}` of `{}` has initial values in each call, and the kernel changes them", name,
             s.callee->name);
      t.name = s.names.at(name);
      if (t.shape)
        for (Expr& e : *t.shape) e = size(s, e, name);
      if (!t.base_storage.empty()) {
        const auto [it, first] = storage.emplace(t.base_storage, "");
        if (first) it->second = fresh(t.base_storage);
        t.base_storage = it->second;
      }
      const std::string own = t.name;
      k_.temporaries.emplace(own, std::move(t));
    }
  }

  /// An extent of a temporary in the caller: the largest one of all iterations of its loops.
  Expr size(const Site& s, const Expr& extent, const std::string& name) const {
    const Expr e = index_add({substitute(extent, s.bounds)});
    std::set<std::string> names;
    collect_reads(e, names);
    const auto computed = [&](const std::string& n) { return k_.find_temporary(n) != nullptr; };
    if (std::any_of(names.begin(), names.end(), computed))
      fail("unsupported", s.insn->at,
           "the size of `{}` of `{}`, `{}`, is computed in `{}`: such a call cannot be inlined",
           name, s.callee->name, to_string(e), k_.name);
    const std::vector<std::string> loops(s.insn->inames.begin(), s.insn->inames.end());
    if (std::none_of(loops.begin(), loops.end(),
                     [&](const std::string& i) { return names.count(i) > 0; }))
      return e;
    const auto value = to_map({e}, loops);
    if (!value)
      fail("unsupported", s.insn->at, "the size of `{}` of `{}`, `{}`, is not affine", name,
           s.callee->name, to_string(e));
    Set all = isl_set_apply(domain_of(k_, loops).take(), value->copy());
    return from_affine(PwAff(isl_set_dim_max(all.take(), 0)));
  }

  // ---- Statements.

  void statements(Site& s) {
    NewNames ids;
    for (const InsnPtr& i : s.callee->instructions) ids.emplace(i->id, fresh_id(i->id));
    std::set<std::string> last;
    for (const auto& [id, now] : ids) last.insert(now);
    for (const InsnPtr& i : s.callee->instructions) {
      InsnPtr own = edit(i, [&](Instruction& x) {
        x.id = ids.at(x.id);
        for (Expr& e : x.lhs) e = put(s, e);
        if (x.rhs) x.rhs = put(s, x.rhs);
        Exprs predicates = s.predicates;
        for (const Expr& e : x.predicates) predicates.push_back(put(s, e));
        x.predicates = std::move(predicates);
        std::set<std::string> inames = s.insn->inames;
        for (const std::string& n : x.inames) inames.insert(s.names.at(n));
        x.inames = std::move(inames);
        x.tags.insert(s.insn->tags.begin(), s.insn->tags.end());
        for (std::string& d : x.depends_on) last.erase(d = ids.at(d));
        x.depends_on.insert(x.depends_on.end(), s.insn->depends_on.begin(),
                            s.insn->depends_on.end());
        x.depends_on.insert(x.depends_on.end(), s.ahead.begin(), s.ahead.end());
        for (NoSync& n : x.no_sync)
          if (const auto it = ids.find(n.id); it != ids.end()) n.id = it->second;
        x.no_sync.insert(x.no_sync.end(), s.insn->no_sync.begin(), s.insn->no_sync.end());
        x.origin.clear();
        x.origin_id.clear();
      });
      k_.instructions.push_back(std::move(own));
    }
    ends_[s.insn->id] = {last.begin(), last.end()};
    for (Claim c : s.callee->claims) {
      for (std::string& n : c.names) {
        if (const auto own = s.names.find(n); own != s.names.end()) n = own->second;
        if (const auto array = s.arrays.find(n); array != s.arrays.end()) n = array->second->array;
      }
      k_.claims.push_back(std::move(c));
    }
  }

  /// What depended on a call depends on the last statements of its body.
  void replace_dependences(InsnPtr& i) const {
    if (std::none_of(i->depends_on.begin(), i->depends_on.end(),
                     [&](const std::string& d) { return ends_.count(d) > 0; }))
      return;
    i = edit(i, [&](Instruction& x) {
      std::vector<std::string> all;
      for (const std::string& d : x.depends_on) {
        const auto it = ends_.find(d);
        if (it == ends_.end())
          all.push_back(d);
        else
          all.insert(all.end(), it->second.begin(), it->second.end());
      }
      x.depends_on = std::move(all);
    });
  }

  /// An expression of the callee in the caller.
  Expr put(const Site& s, const Expr& e) const {
    if (const auto* v = e.as<Var>()) {
      if (const auto own = s.names.find(v->name); own != s.names.end())
        return var(own->second, e.at());
      const auto value = s.values.find(v->name);
      return value == s.values.end() ? e : value->second;
    }
    const auto below = [&] { return map_children(e, [&](const Expr& c) { return put(s, c); }); };
    if (const auto* l = e.as<Load>()) {
      const auto array = s.arrays.find(l->array);
      if (array == s.arrays.end()) {
        Load own = *below().as<Load>();
        if (const auto name = s.names.find(own.array); name != s.names.end())
          own.array = name->second;
        return Expr(std::move(own), e.at());
      }
      if (l->linear)
        fail("unsupported", s.insn->at,
             "`{}` has flat subscripts of its argument `{}`: such a call cannot be inlined",
             s.callee->name, l->array);
      return load(array->second->array, element(s, *array->second, l->index), e.at());
    }
    if (const Exprs* a = as_address(e)) return put_address(s, e, *a);
    if (e.as<Reduce>()) {
      Reduce own = *below().as<Reduce>();
      for (std::string& n : own.inames)
        if (const auto it = s.names.find(n); it != s.names.end()) n = it->second;
      return Expr(std::move(own), e.at());
    }
    if (as_indexof(e)) {
      for (const auto& [name, b] : s.arrays)
        for_each_of<Load>(e, [&](const Load& l, const Expr&) {
          if (l.array == name)
            fail("unsupported", s.insn->at,
                 "`{}` asks for the place of an element of its argument `{}`: such a call cannot "
                 "be inlined",
                 s.callee->name, name);
        });
    }
    return below();
  }

  Exprs element(const Site& s, const BoundArgument& b, const Exprs& index) const {
    Exprs out = b.base;
    for (std::size_t n = 0; n < index.size(); ++n) {
      Expr& at = out.at(static_cast<std::size_t>((*b.axes)[n]));
      at = index_add({at, put(s, index[n])});
    }
    return out;
  }

  /// An address that the callee passes on.
  Expr put_address(const Site& s, const Expr& e, const Exprs& a) const {
    const std::string& name = a[0].as<Var>()->name;
    Exprs index(a.begin() + 1, a.end());
    const auto array = s.arrays.find(name);
    if (array == s.arrays.end()) {
      for (Expr& i : index) i = put(s, i);
      const auto own = s.names.find(name);
      const std::string& now = own == s.names.end() ? name : own->second;
      return is_known(e) ? knows(now, e.at()) : address(now, index, e.at());
    }
    const BoundArgument& b = *array->second;
    if (is_known(e)) return knows(b.array, e.at());
    if (index.empty()) index.assign(b.axes->size(), lit(0));
    return address(b.array, element(s, b, index), e.at());
  }

  Kernel k_;
  bool with_steps_;
  std::map<const Kernel*, Kernel> bodies_;  // of callees with their steps
  std::unordered_set<std::string> taken_, ids_;
  std::unordered_map<std::string, int> next_, next_id_;
  std::unordered_map<std::string, std::vector<std::string>> ends_;  // by call
};

}  // namespace

Kernel inline_calls(const Kernel& k, const std::function<bool(const Instruction&)>& which,
                    bool with_steps) {
  return Inliner(rebase(k), with_steps).run(which);
}

Kernel inline_all_calls(Kernel k) {
  while (!k.callees.empty()) k = inline_calls(k, [](const Instruction&) { return true; });
  return k;
}

}  // namespace moonloop
