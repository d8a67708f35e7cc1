#include "transforms/temporary_axes.h"

#include <algorithm>

#include "core/infer/infer.h"
#include "core/model/external.h"
#include "core/model/flat_subscripts.h"
#include "core/order/order_reference.h"
#include "core/order/reference.h"
#include "transforms/array_layout.h"
#include "transforms/iname_values.h"

namespace moonloop {
namespace {

void require_private(const Kernel& k, const Reference& reference, const std::string& name,
                     const std::vector<std::string>& inames, const std::string& way_out) {
  require_not_passed(k, name);
  require_no_flat_subscripts(k, name);
  const Temporary& t = *k.find_temporary(name);
  if (t.initializer || t.strides)
    refuse("unsupported", t.at ? t.at : k.at, "`{}` has {}; it gets no further axes", name,
           t.initializer ? "initial values" : "strides");
  for (const Domain& d : k.domains)
    for (const std::string& p : d.params())
      if (p == name)
        refuse("bounds-loop", d.at ? d.at : t.at,
               "`{}` is in the bounds of the loop{} over `{}`, where only scalars can be; {}", name,
               d.inames().size() == 1 ? "" : "s", fmt::join(d.inames(), "`, `"), way_out);
  for (const InsnPtr& i : k.instructions) {
    if (!writes(*i).count(name) && !reads(k, *i).count(name)) continue;
    for (const std::string& iname : inames)
      if (!i->inames.count(iname))
        refuse("not-inside", i->at, "`{}` uses `{}` outside of iname `{}`", i->id, name, iname);
  }
  const auto accesses = reference.by_variable().find(name);
  if (accesses == reference.by_variable().end()) return;
  const auto has_own = [&](const AccessAt& a, const std::string& iname) {
    const std::vector<std::string>& own = reference.private_to(name, a.insn, a.insn);
    return std::find(own.begin(), own.end(), iname) != own.end();
  };
  for (const std::string& iname : inames)
    if (!std::all_of(accesses->second.begin(), accesses->second.end(),
                     [&](const AccessAt& a) { return has_own(a, iname); }))
      refuse("carries-value", t.at ? t.at : k.at,
             "an iteration of `{}` may read what another one wrote to `{}`", iname, name);
}

}  // namespace

Kernel with_axes(const Kernel& k, const std::map<std::string, std::vector<std::string>>& wanted,
                 const std::string& way_out) {
  std::map<std::string, InameValues> values;
  for (const auto& [name, own] : wanted)
    for (const std::string& i : own)
      if (!values.count(i)) values.emplace(i, values_of(k, i));
  const Kernel typed = infer_shapes(infer_types(k));
  const Reference reference(nest(rebase(k)));
  for (const auto& [name, own] : wanted) require_private(k, reference, name, own, way_out);

  const auto own_copy = [&](const Instruction&, const Expr& e) {
    return rewrite(e, [&](const Expr& x) {
      const auto* v = x.as<Var>();
      const auto* l = x.as<Load>();
      const auto it = wanted.find(v ? v->name : l ? l->array : "");
      if (it == wanted.end()) return x;
      Exprs index = l ? l->index : Exprs{};
      for (const std::string& i : it->second)
        index.push_back(index_sub(var(i), values.at(i).first));
      return load(it->first, std::move(index), x.at());
    });
  };
  std::set<std::string> names;
  for (const auto& [name, own] : wanted) names.insert(name);
  Kernel out = map_expressions(without_rules_on(k, names), own_copy);
  for (const auto& [name, own] : wanted) {
    Temporary& t = out.temporaries.at(name);
    t.shape = typed.find_temporary(name)->shape;
    for (const std::string& i : own) t.shape->push_back(values.at(i).number);
  }
  return rebase(std::move(out));
}

void require_plain_elements(const Kernel& k, const Temporary& t, std::string_view so) {
  if (t.initializer || t.strides || !t.base_storage.empty())
    refuse("unsupported", t.at ? t.at : k.at, "`{}` has {}; {}", t.name,
           t.initializer ? "initial values"
           : t.strides   ? "strides"
                         : "memory that it shares",
           so);
}

}  // namespace moonloop
