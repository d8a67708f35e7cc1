#include "core/order/called_effects.h"

#include <algorithm>
#include <set>

#include "core/infer/infer.h"
#include "core/model/external.h"
#include "core/order/order.h"

namespace moonloop {

/// The accesses of a kernel to its array arguments: subscripts in terms of its scalar arguments, or
/// slices, of which no two of different accesses are equal: they need not be the same elements.
struct KnownEffects {
  struct Effect {
    std::string argument;
    bool write;
    Exprs index;
    std::string field;
  };
  std::vector<Effect> all;
  std::set<std::string> set_first;  // arguments without axes
};

namespace {

/// Whether `e` has one value in a call: no variable but scalar arguments.
bool is_given(const Expr& e, const std::set<std::string>& scalars) {
  bool given = true;
  walk(e, [&](const Expr& x) {
    if (const auto* v = x.as<Var>()) given = given && scalars.count(v->name) > 0;
    if (x.as<Load>() || x.as<Slice>() || x.as<Reduce>() || x.as<SubArray>()) given = false;
    return given;
  });
  return given;
}

/// Whether each run of the kernel sets the argument before it reads it.
bool is_set_first(const Kernel& k, const std::string& argument) {
  for (const InsnPtr& i : k.instructions) {
    const bool written = writes(*i).count(argument) > 0;
    if (!written && reads(k, *i).count(argument) == 0) continue;
    const bool again = i->lhs.size() == 1 && [&] {  // in its own value or condition
      Instruction rest = *i;
      rest.lhs.clear();
      return reads(k, rest).count(argument) > 0;
    }();
    if (called_kernel(k, *i)) return false;  // which may do it or not
    return written && i->predicates.empty() && i->inames.empty() && !again &&
           i->role == ReductionRole::None && i->lhs[0].as<Field>() == nullptr;
  }
  return false;
}

/// Adds one that is not there yet.
void add(std::vector<KnownEffects::Effect>& all, KnownEffects::Effect e) {
  const auto same = [&](const KnownEffects::Effect& o) {
    return o.argument == e.argument && o.write == e.write && o.field == e.field &&
           equal(o.index, e.index);
  };
  if (std::none_of(all.begin(), all.end(), same)) all.push_back(std::move(e));
}

const KnownEffects& effects_of(const CalledKernel& called) {
  if (const auto& known = called.effects.get()) return *known;
  const WithoutRules expanded(*called.meaning);
  const Kernel& k = *expanded;
  std::set<std::string> scalars;
  std::map<std::string, std::size_t> ranks;
  for (const Argument& a : k.args)
    if (a.is_array)
      ranks.emplace(a.name, a.shape.value().size());
    else
      scalars.insert(a.name);
  KnownEffects out;
  const Variables variables(k);
  for (const InsnPtr& i : k.instructions)
    for (const Access& a : statement_accesses(*i, variables)) {
      const auto rank = ranks.find(a.variable);
      if (rank == ranks.end() || rank->second == 0) continue;
      KnownEffects::Effect e{a.variable, a.write, Exprs(rank->second, Expr(Slice{})), a.field};
      if (a.index.size() == e.index.size())
        for (std::size_t n = 0; n < e.index.size(); ++n)
          if (is_given(a.index[n], scalars)) e.index[n] = a.index[n];
      // A call that may leave an element as it was hands its value on.
      const bool certain = i->predicates.empty() && i->inames.empty() && !called_kernel(k, *i);
      if (e.write && !certain) add(out.all, {e.argument, false, e.index, e.field});
      add(out.all, std::move(e));
    }
  // Known elements come first, and are what a refusal shows.
  std::stable_partition(out.all.begin(), out.all.end(), [](const KnownEffects::Effect& e) {
    return std::none_of(e.index.begin(), e.index.end(),
                        [](const Expr& i) { return i.as<Slice>() != nullptr; });
  });
  std::int64_t number = 0;
  for (KnownEffects::Effect& e : out.all)
    for (Expr& i : e.index)
      if (i.as<Slice>()) i = Expr(Slice{lit(number++), {}, {}});
  for (const Argument& a : k.args)
    if (a.is_array && a.shape->empty() && is_set_first(k, a.name)) out.set_first.insert(a.name);
  called.effects.set(std::make_shared<const KnownEffects>(std::move(out)));
  return *called.effects.get();
}

/// The element, or the part, of the caller's array that an effect is on.
Exprs place(const CallBinding& binding, const BoundArgument& b, const Exprs& index) {
  if (!b.axes) return {};
  Exprs out = b.base;
  for (std::size_t n = 0; n < index.size(); ++n) {
    Expr& at = out.at(static_cast<std::size_t>((*b.axes)[n]));
    at = index[n].as<Slice>() ? index[n] : index_add({at, substitute(index[n], binding.scalars)});
  }
  return out;
}

}  // namespace

bool sets_first(const CalledKernel& called, const std::string& argument) {
  return effects_of(called).set_first.count(argument) > 0;
}

std::shared_ptr<const CalledKernels> called_kernels(const Kernel& k) {
  if (k.callees.empty()) return nullptr;
  auto out = std::make_shared<CalledKernels>();
  out->all = k.callees;
  for (const InsnPtr& i : k.instructions) {
    if (!called_kernel(k, *i)) continue;
    for (const Expr& e : external_call(k, *i)->args)
      if (const Exprs* a = as_address(e)) {
        const std::string& name = a->front().as<Var>()->name;
        if (auto strides = strides_in(k, name)) out->strides.emplace(name, std::move(*strides));
      }
  }
  return out;
}

std::optional<std::vector<Access>> call_accesses(const Instruction& insn,
                                                 const CalledKernels& called) {
  const auto* c = insn.kind == InsnKind::Call && insn.rhs ? insn.rhs.as<Call>() : nullptr;
  const auto it = c ? called.all.find(c->name) : called.all.end();
  if (it == called.all.end()) return std::nullopt;
  const CallBinding binding = bind_call(*c, *it->second->meaning, [&](const std::string& array) {
    const auto known = called.strides.find(array);
    return known == called.strides.end() ? std::nullopt : std::optional(known->second);
  });
  std::vector<Access> reads, writes;
  for (const KnownEffects::Effect& e : effects_of(*it->second).all) {
    const auto b = std::find_if(binding.all.begin(), binding.all.end(),
                                [&](const auto& x) { return x.to->name == e.argument; });
    (e.write ? writes : reads)
        .push_back({b->array, e.write, place(binding, *b, e.index), insn.rhs.at(), e.field});
  }
  reads.insert(reads.end(), std::make_move_iterator(writes.begin()),
               std::make_move_iterator(writes.end()));
  return reads;
}

}  // namespace moonloop
