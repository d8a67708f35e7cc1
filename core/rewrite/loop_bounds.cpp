#include "core/rewrite/loop_bounds.h"

#include <algorithm>
#include <vector>

#include "core/expr/expr.h"
#include "core/model/domain.h"
#include "core/model/lookup.h"

namespace moonloop {
namespace {

std::vector<std::size_t> statements_in(const Kernel& k, const std::string& iname) {
  std::vector<std::size_t> out;
  for (std::size_t n = 0; n < k.instructions.size(); ++n)
    if (k.instructions[n]->inames.contains(iname)) out.push_back(n);
  return out;
}

/// The conditions of the first statement that all others have too and that say something of the
/// loop by loops around it and parameters.
Exprs shared_conditions(const Kernel& k, const std::string& iname,
                        const std::vector<std::size_t>& in, const std::set<std::string>& own) {
  Exprs out;
  for (const Expr& c : k.instructions[in.front()]->predicates) {
    std::set<std::string> used;
    collect_vars(c, used);
    const bool everywhere = std::all_of(in.begin(), in.end(), [&](std::size_t n) {
      const Instruction& insn = *k.instructions[n];
      const bool has = std::any_of(insn.predicates.begin(), insn.predicates.end(),
                                   [&](const Expr& p) { return equal(p, c); });
      return has && std::all_of(used.begin(), used.end(), [&](const std::string& u) {
               return !k.has_iname(u) || insn.inames.contains(u);
             });
    });
    const bool of_outer = std::all_of(used.begin(), used.end(), [&](const std::string& u) {
      return u == iname || !own.contains(u);
    });
    if (everywhere && of_outer && used.contains(iname) && to_condition(k, c, {iname}))
      out.push_back(c);
  }
  return out;
}

}  // namespace

void detach_loop(Kernel& k, const std::string& iname, const std::set<std::string>& own) {
  const auto at = static_cast<std::size_t>(k.home_of(iname) - k.domains.data());
  const Domain home = k.domains[at];
  const std::vector<std::size_t> in = statements_in(k, iname);
  std::vector<std::string> inner, outer, around;
  for (const std::string& i : home.inames()) {
    const bool is_own = i == iname || own.contains(i);  // work-items' loops contain nothing
    (is_own ? inner : outer).push_back(i);
    const bool is_around = std::all_of(
        in.begin(), in.end(), [&](std::size_t n) { return k.instructions[n]->inames.contains(i); });
    if (!is_own && is_around) around.push_back(i);
  }
  if (outer.empty()) return;
  std::vector<std::string> needed = around;
  needed.insert(needed.end(), inner.begin(), inner.end());
  k.domains[at].set = to_dims(home.set, outer);
  k.domains.insert(
      k.domains.begin() + std::ptrdiff_t(at) + 1,
      Domain{to_dims(dims_to_params(to_dims(home.set, needed), around), inner), home.at});
}

void take_conditions_as_bounds(Kernel& k, const std::string& iname,
                               const std::set<std::string>& own) {
  const std::vector<std::size_t> in = statements_in(k, iname);
  if (in.empty() || k.instructions[in.front()]->predicates.empty()) return;
  const Exprs shared = shared_conditions(k, iname, in, own);
  if (shared.empty()) return;
  detach_loop(k, iname, own);
  const auto at = static_cast<std::size_t>(k.home_of(iname) - k.domains.data());
  const std::vector<std::string> dims = k.domains[at].inames();
  for (const Expr& c : shared)
    k.domains[at].set =
        isl_set_intersect(k.domains[at].set.copy(), to_condition(k, c, dims)->take());
  for (const std::size_t n : in)
    k.instructions[n] = edit(k.instructions[n], [&](Instruction& i) {
      std::erase_if(i.predicates, [&](const Expr& p) {
        return std::any_of(shared.begin(), shared.end(),
                           [&](const Expr& c) { return equal(p, c); });
      });
    });
}

}  // namespace moonloop
