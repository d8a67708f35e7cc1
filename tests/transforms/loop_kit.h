#pragma once
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "core/model/domain.h"
#include "core/order/order_reference.h"
#include "core/order/reference.h"
#include "tests/one_kernel.h"
#include "transforms/registry.h"

/// Shared by the tests of loop transforms.
namespace moonloop {

/// The message of `f` when it fails, `legal` when it does not.
template <class F>
std::string message(F f) {
  try {
    f();
    return "legal";
  } catch (const Error& e) { return e.what(); }
}
template <class F>
std::string code_of(F f) {
  try {
    f();
    return "legal";
  } catch (const Error& e) { return e.diagnostic().code; }
}

inline Value text(std::string s) { return Value{std::move(s)}; }
inline Value number(std::int64_t n) { return Value{n}; }
inline Value flag(bool b) { return Value{b}; }

/// Runs a transform as a script does.
inline Kernel apply(const Kernel& k, const std::string& op, ValueList positional = {},
                    ValueDict options = {}, Proof proof = Proof::Made) {
  const Op* row = find_op(op);
  if (!row) throw InternalError("no transform " + op);
  return run_op(*row, k, std::move(positional), std::move(options), {}, proof);
}

/// `id: lhs = rhs`, without options.
inline std::string line(const Kernel& k, const std::string& id) {
  const Instruction* i = k.find_insn(id);
  REQUIRE(i != nullptr);
  return to_string(i->lhs) + " = " + to_string(i->rhs);
}

inline std::string tree(const Kernel& k) {
  const Nested n = nest(k);
  return print_tree(n.kernel, n.tree);
}

/// The set that the inames of one instruction run over.
inline Set instances(const Kernel& k, const std::vector<std::string>& inames) {
  return domain_of(k, inames);
}
inline bool same_set(const Set& a, const std::string& b) {
  return yes(isl_set_is_equal(a.get(), parse_set(b).get()));
}

/// Whether the instances of `after` are those of its reference `before`, each exactly once.
inline bool conserves(const Kernel& before, const Kernel& after) {
  for (const InsnPtr& i : after.instructions) {
    const Instruction* old = before.find_insn(i->reference_id());
    REQUIRE(old != nullptr);
    const std::set<std::string> now = all_inames(after, *i), was = all_inames(before, *old);
    const std::vector<std::string> dims(now.begin(), now.end()), names(was.begin(), was.end());
    Exprs origins;
    for (const std::string& n : names) origins.push_back(origin_of(*i, n));
    const std::optional<Map> m = to_map(origins, dims);
    REQUIRE(m.has_value());
    Set present = domain_of(after, dims);
    for (const Expr& p : i->predicates)
      if (const auto s = to_condition(p, dims))
        present = isl_set_intersect(present.take(), s->copy());
    Set reference = domain_of(before, names);
    for (const Expr& p : old->predicates)
      if (const auto s = to_condition(p, names))
        reference = isl_set_intersect(reference.take(), s->copy());
    const Map all = isl_map_intersect_domain(m->copy(), present.copy());
    if (!yes(isl_map_is_injective(all.get()))) return false;
    const Set range = isl_map_range(all.copy());
    const Set wanted = isl_set_reset_tuple_id(reference.take());
    const Set got = isl_set_intersect(
        isl_set_universe(isl_set_get_space(wanted.get())),
        to_dims(
            [&] {
              Set s = range;
              for (std::size_t d = 0; d < names.size(); ++d)
                s = isl_set_set_dim_name(s.take(), isl_dim_set, unsigned(d), names[d].c_str());
              return s;
            }(),
            names)
            .take());
    if (!yes(isl_set_is_equal(got.get(), wanted.get()))) return false;
  }
  return true;
}

/// A reduction whose loop runs before `late` and whose store runs after it: no other list of the
/// three instructions means the same.
inline Kernel parted_reduction() {
  return parsed(R"(
kernel f(n: int32, b: float64[n], c: float64[3*n + 12], p: float64[n + 9, n + 9])
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j < n}
domain {[l]: 0 <= l < 5}
p[i + 1, j] = 7                   {id=early, inames=i:j}
p[i + 1, i + 3] = sum(l, c[2*l])  {id=total, inames=i}
c[i + 3] = b[j]                   {id=late, inames=i:j}
)");
}

}  // namespace moonloop
