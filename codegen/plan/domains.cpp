#include "codegen/plan/domains.h"

#include <algorithm>

#include "core/sets/budget.h"

namespace moonloop {

namespace {

/// The most that the points of one predicate may cost. One that takes more, such as a comparison
/// with the beginnings of pieces of pieces, is evaluated as it is written.
constexpr unsigned long kPredicateOperations = 50'000;

std::optional<Set> points_of(const Expr& predicate, const std::vector<std::string>& loops) {
  try {
    const IslBudget budget(kPredicateOperations);
    return to_condition(predicate, loops);
  } catch (const IslQuota&) { return std::nullopt; }
}

}  // namespace

Domains::Domains(const Kernel& k) : k_(k) {
  for (std::size_t d = 0; d < k.domains.size(); ++d) {
    for (std::string& i : k.domains[d].inames()) home_.emplace(std::move(i), d);
    params_.push_back(k.domains[d].params());
    for (const std::string& p : params_.back())
      if (k.find_temporary(p)) data_.insert(p);
  }
}

const Set& Domains::of(const std::vector<std::string>& loops) {
  const auto [it, fresh] = made_.try_emplace(loops);
  if (!fresh) return it->second;
  std::vector<std::size_t> needed;
  const auto need = [&](const std::string& iname) {
    const auto h = home_.find(iname);
    if (h != home_.end() && std::find(needed.begin(), needed.end(), h->second) == needed.end())
      needed.push_back(h->second);
  };
  for (const std::string& i : loops) need(i);
  for (std::size_t n = 0; n < needed.size(); ++n)  // grows: ancestors of ancestors
    for (const std::string& p : params_[needed[n]]) need(p);
  Set s = needed.empty() ? universe({}) : k_.domains[needed[0]].set;
  for (std::size_t n = 1; n < needed.size(); ++n)
    s = join_by_name(std::move(s), k_.domains[needed[n]].set);
  if (k_.assumptions) s = isl_set_intersect_params(s.take(), k_.assumptions.copy());
  return it->second = to_dims(std::move(s), loops);
}

bool Domains::is_exact_integer(const std::string& name) const {
  if (home_.count(name)) return true;
  const Argument* a = k_.find_arg(name);
  if (!a) return !k_.find_temporary(name);  // a parameter
  return !a->is_array && a->type && !a->type->is_record() && is_integer(a->type->scalar) &&
         !is_unsigned(a->type->scalar);
}

Domains::Predicates Domains::predicates(const Instruction& insn,
                                        const std::vector<std::string>& loops) {
  Predicates out;
  for (const Expr& p : insn.predicates) {
    std::set<std::string> names;
    collect_reads(p, names);
    const bool exact = std::all_of(names.begin(), names.end(),
                                   [&](const std::string& n) { return is_exact_integer(n); });
    std::optional<Set> points;
    if (exact) points = points_of(p, loops);
    // Choices between parameters, such as letters, bound no loop: as sets they only multiply parts.
    const bool of_loops = std::any_of(names.begin(), names.end(),
                                      [&](const std::string& n) { return home_.count(n) > 0; });
    if (points && !of_loops && count(isl_set_n_basic_set(points->get())) > 1) points.reset();
    if (!points) {
      out.rest.push_back(p);
    } else if (out.points) {
      out.points = isl_set_intersect(out.points.take(), points->take());
    } else {
      out.points = std::move(*points);
    }
  }
  return out;
}

std::vector<std::string> Domains::data_of(const std::string& iname) const {
  std::vector<std::string> out;
  const auto h = home_.find(iname);
  if (h == home_.end()) return out;
  for (const std::string& p : params_[h->second])
    if (data_.count(p)) out.push_back(p);
  return out;
}

}  // namespace moonloop
