#include "transforms/privatize_temporaries_with_inames.h"

#include <algorithm>

#include "core/domain.h"
#include "core/infer.h"
#include "core/lookup.h"
#include "core/order_reference.h"
#include "core/reference.h"
#include "transforms/array_layout.h"
#include "transforms/registry.h"

namespace moonloop {
namespace {

struct Values {
  std::int64_t first, number;
};

Values values_of(const Kernel& k, const std::string& iname) {
  const Set s = domain_of(k, {iname});
  const Aff x =
      isl_aff_var_on_domain(isl_local_space_from_space(isl_set_get_space(s.get())), isl_dim_set, 0);
  const Val low = isl_set_min_val(s.get(), x.get()), high = isl_set_max_val(s.get(), x.get());
  if (!yes(isl_val_is_int(low.get())) || !yes(isl_val_is_int(high.get())))
    refuse("no-extent", k.at, "iname `{}` has no constant number of values", iname);
  return {to_int(low), to_int(high) - to_int(low) + 1};
}

/// The inames that each iteration must have a copy for, by temporary.
using Wanted = std::map<std::string, std::vector<std::string>>;

void require_private(const Kernel& k, const Reference& reference, const std::string& name,
                     const std::vector<std::string>& inames) {
  const Temporary& t = *k.find_temporary(name);
  if (t.initializer || t.strides)
    refuse("unsupported", t.at ? t.at : k.at, "`{}` has {}; it gets no further axes", name,
           t.initializer ? "initial values" : "strides");
  for (const InsnPtr& i : k.instructions) {
    if (!writes(*i).count(name) && !reads(k, *i).count(name)) continue;
    for (const std::string& iname : inames)
      if (!i->inames.count(iname))
        refuse("not-inside", i->at, "`{}` uses `{}` outside of iname `{}`", i->id, name, iname);
  }
  const std::vector<std::string>& own = reference.private_to(name);
  for (const std::string& iname : inames)
    if (std::find(own.begin(), own.end(), iname) == own.end())
      refuse("carries-value", t.at ? t.at : k.at,
             "an iteration of `{}` may read what another one wrote to `{}`", iname, name);
}

}  // namespace

Kernel privatize_temporaries_with_inames(const Kernel& k, const std::vector<std::string>& inames,
                                         const std::vector<std::string>& only) {
  std::map<std::string, Values> values;
  for (const std::string& i : inames) {
    require_iname(k, i);
    values.emplace(i, values_of(k, i));
  }
  Wanted wanted;
  for (const std::string& name : only) {
    std::vector<std::string> all;
    for (const auto& [n, t] : k.temporaries) all.push_back(n);
    if (!k.find_temporary(name))
      refuse("unknown-temporary", k.at, "no temporary `{}` in kernel `{}`{}", name, k.name,
             did_you_mean(name, all));
    wanted[name] = inames;
  }
  if (only.empty())
    for (const InsnPtr& insn : k.instructions)
      for (const std::string& w : writes(*insn))
        if (k.find_temporary(w))
          for (const std::string& i : inames)
            if (auto& has = wanted[w];
                insn->inames.count(i) && std::find(has.begin(), has.end(), i) == has.end())
              has.push_back(i);
  std::erase_if(wanted, [](const auto& w) { return w.second.empty(); });

  const Kernel typed = infer_shapes(infer_types(k));
  const Reference reference(nest(rebase(k)));
  for (const auto& [name, own] : wanted) require_private(k, reference, name, own);

  const auto own_copy = [&](const Instruction& insn, const Expr& e) {
    return rewrite(e, [&](const Expr& x) {
      const auto* v = x.as<Var>();
      const auto* l = x.as<Load>();
      const auto it = wanted.find(v ? v->name : l ? l->array : "");
      if (it == wanted.end()) return x;
      if (l && l->linear)
        refuse("unsupported", x.at() ? x.at() : insn.at,
               "instruction `{}` uses `{}` with a flat subscript", insn.id, it->first);
      Exprs index = l ? l->index : Exprs{};
      for (const std::string& i : it->second)
        index.push_back(index_sub(var(i), lit(values.at(i).first)));
      return load(it->first, std::move(index), x.at());
    });
  };
  std::set<std::string> names;
  for (const auto& [name, own] : wanted) names.insert(name);
  Kernel out = map_expressions(without_rules_on(k, names), own_copy);
  for (const auto& [name, own] : wanted) {
    Temporary& t = out.temporaries.at(name);
    t.shape = typed.find_temporary(name)->shape;
    for (const std::string& i : own) t.shape->push_back(lit(values.at(i).number));
  }
  return proved(rebase(std::move(out)));
}

extern const Op privatize_temporaries_with_inames_op;
const Op privatize_temporaries_with_inames_op{
    .name = "privatize_temporaries_with_inames",
    .doc =
        R"(Gives temporaries an axis for each of some inames, so that each iteration has its own copy.

Without `only_var_names`, all temporaries that are written inside of one of the inames get one. New axes
come last and are counted from the iname's least value.

Refuses a temporary that is used outside of the iname, or in which an iteration finds what another one
wrote; inames without a constant number of values; temporaries with initial values, strides or flat
subscripts.)",
    .params = {{.name = "privatizing_inames",
                .kind = Kind::Names,
                .help = "the inames",
                .required = true,
                .positional = true},
               {.name = "only_var_names",
                .kind = Kind::Names,
                .help = "the temporaries; all that are written inside if not told",
                .positional = true}},
    .example_kernel = R"(kernel scale(a: float32[64], b: float32[64])
domain {[i]: 0 <= i < 64}
<> t = 2*a[i]
b[i] = t + 1
)",
    .example = R"(knl = lp.privatize_temporaries_with_inames(knl, "i")
assert(tostring(knl):find("b[i] = t[i] + 1", 1, true)))",
    .run =
        [](const Kernel& k, const Args& a) {
          return privatize_temporaries_with_inames(k, a.names("privatizing_inames"),
                                                   a.names("only_var_names"));
        },
    .query = {},
};

}  // namespace moonloop
