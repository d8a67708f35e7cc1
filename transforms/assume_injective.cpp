#include "transforms/assume_injective.h"

#include <algorithm>

#include "core/model/lookup.h"
#include "transforms/registry.h"

namespace moonloop {
namespace {

/// Fails `unknown-array` unless `name` is an array of `k`.
void require_array(const Kernel& k, const std::string& name) {
  if (const Argument* a = k.find_arg(name); a && a->is_array) return;
  if (const Temporary* t = k.find_temporary(name); t && !(t->shape && t->shape->empty())) return;
  std::vector<std::string> arrays;
  for (const Argument& a : k.args)
    if (a.is_array) arrays.push_back(a.name);
  for (const auto& [n, t] : k.temporaries)
    if (!(t.shape && t.shape->empty())) arrays.push_back(n);
  fail_for(name, "unknown-array", k.at, "no array `{}` in kernel `{}`; it has {}", name, k.name,
           arrays.empty() ? "none" : quoted_list(arrays));
}

const std::optional<Type>& type_of(const Kernel& k, const std::string& name) {
  const Argument* a = k.find_arg(name);
  return a ? a->type : k.find_temporary(name)->type;
}
const std::optional<Exprs>& shape_of(const Kernel& k, const std::string& name) {
  const Argument* a = k.find_arg(name);
  return a ? a->shape : k.find_temporary(name)->shape;
}

/// `k` with the claim, once.
Kernel claiming(const Kernel& k, Claim::Kind kind, const char* step,
                const std::vector<std::string>& arrays) {
  Kernel out = k;
  std::string names;
  for (const std::string& a : arrays) names += (names.empty() ? "" : ", ") + a;
  Claim claim{kind, arrays, fmt::format("{}({})", step, to_lua(Value{names}))};
  const bool known = std::any_of(k.claims.begin(), k.claims.end(), [&](const Claim& c) {
    return c.kind == kind && c.step == claim.step;
  });
  if (!known) out.claims.push_back(std::move(claim));
  return out;
}

}  // namespace

Kernel assume_injective(const Kernel& k, const std::vector<std::string>& arrays) {
  if (arrays.empty()) refuse("no-arrays", k.at, "no array is given to assume anything of");
  for (const std::string& a : arrays) {
    require_array(k, a);
    if (const auto& t = type_of(k, a); t && (t->is_record() || !is_integer(t->scalar)))
      refuse("not-integer", k.at, "`{}` holds {}, not integers, and is not a map of subscripts", a,
             t->str());
    if (const auto& s = shape_of(k, a); s && s->size() != 1)
      refuse("bad-rank", k.at,
             "`{}` has {} axes; only a map with one axis can be assumed injective", a, s->size());
    for (const InsnPtr& i : k.instructions)
      if (writes(*i).contains(a))
        refuse("written-array", i->at,
               "instruction `{}` writes `{}`, so what it holds changes while the kernel runs",
               i->id, a);
  }
  return claiming(k, Claim::Kind::Injective, "assume_injective", arrays);
}

Kernel assume_disjoint(const Kernel& k, const std::vector<std::string>& arrays) {
  if (arrays.empty()) refuse("no-arrays", k.at, "no array is given to assume anything of");
  for (const std::string& a : arrays) require_array(k, a);
  return claiming(k, Claim::Kind::Disjoint, "assume_disjoint", arrays);
}

extern const Op assume_injective_op;
const Op assume_injective_op{
    .name = "assume_injective",
    .doc =
        R"(Vouches that the values in each of these maps differ: no two subscripts give the same one.

Then a[map[i]] touches another element of `a` in each iteration, and loops over i may run in any order.
The claim is not checked; `show --what trace` lists it.

Refuses names of no array, arrays that do not hold integers or have several axes, and arrays that the
kernel writes.)",
    .params = {{.name = "arrays",
                .kind = Kind::Names,
                .help = "the maps",
                .required = true,
                .positional = true}},
    .example_kernel = R"(kernel scatter(n: int32, map: int32[n], a: float64[n], b: float64[n])
domain {[i]: 0 <= i < n}
a[map[i]] = b[i]
)",
    .example = R"(knl = lp.assume_injective(knl, "map")
knl = lp.tag_inames(knl, "i:par"))",
    .run = [](const Kernel& k, const Args& a) { return assume_injective(k, a.names("arrays")); },
    .query = {},
};

}  // namespace moonloop
