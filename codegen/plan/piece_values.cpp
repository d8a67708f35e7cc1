#include "codegen/plan/piece_values.h"

#include <algorithm>

#include "core/sets/affine_constraints.h"

namespace moonloop {
namespace {

/// `e`, given that `n`, where it is divided, and its dividend if it is a quotient are positive.
Expr with_positive(const Expr& e, const Expr& n) {
  const auto quotient_of = [](const Expr& x, BinaryOp op) {
    const auto* b = x.as<Binary>();
    return b && b->op == op && as_int(b->right).value_or(0) > 0;
  };
  const Expr whole = quotient_of(n, BinaryOp::FloorDiv)
                         ? call(kTruncDiv, {n.as<Binary>()->left, n.as<Binary>()->right})
                         : n;
  return rewrite(e, [&](const Expr& x) {
    for (const auto& [op, name] :
         {std::pair(BinaryOp::FloorDiv, kTruncDiv), std::pair(BinaryOp::Mod, kTruncMod)})
      if (quotient_of(x, op) && equal(x.as<Binary>()->left, n))
        return call(name, {whole, x.as<Binary>()->right});
    return x;
  });
}

/// The value where there is an iteration.
Expr expression_of(const LoopJoiner::Value& v) {
  return index_add({with_positive(v.start, v.iterations), var(v.inner)});
}

}  // namespace

PieceValues::PieceValues(const Kernel& k, Domains& domains) : k_(k), domains_(domains), joiner_(k) {
  std::set<std::string> seen;
  const auto collect = [&](const Expr& e) {
    if (!e.holds<Select>()) return;
    walk(e, [&](const Expr& x) {
      const auto* n = x.as<Nary>();
      const bool chooses = n && n->op == NaryOp::Add &&
                           std::any_of(n->terms.begin(), n->terms.end(),
                                       [](const Expr& t) { return t.holds<Select>(); });
      if (chooses && seen.insert(to_string(x)).second) sums_.push_back(x);
      return !chooses;
    });
  };
  for (const InsnPtr& i : k.instructions) {
    for (const Expr& e : i->lhs) collect(e);
    for (const Expr& e : i->predicates) collect(e);
    if (i->rhs) collect(i->rhs);
  }
}

/// Those of `loops` that are around the statements that write a scalar, and the members of teams
/// that each have their own.
void PieceValues::add_loops_of(const std::string& scalar, const std::vector<std::string>& loops,
                               std::set<std::string>& out) const {
  for (const InsnPtr& i : k_.instructions)
    if (writes(*i).contains(scalar))
      for (const std::string& iname : i->inames)
        if (in_team(k_.tag(iname)) || std::find(loops.begin(), loops.end(), iname) != loops.end())
          out.insert(iname);
}

bool PieceValues::Value::is_known(const std::vector<std::string>& loops) const {
  return std::all_of(inames.begin(), inames.end(), [&](const std::string& i) {
    return std::find(loops.begin(), loops.end(), i) != loops.end();
  });
}

bool PieceValues::Value::is_known_from(const std::vector<std::string>& loops) const {
  return !loops.empty() && inames.count(loops.back()) > 0 && is_known(loops);
}

const Set& PieceValues::of(const std::vector<std::string>& loops) {
  const Set& plain = domains_.of(loops);
  if (sums_.empty() || count(isl_set_n_basic_set(plain.get())) < 2) return plain;
  const auto [it, fresh] = made_.try_emplace(loops, plain);
  if (!fresh) return it->second;
  Exprs exprs = sums_;
  for (const std::string& i : loops) exprs.push_back(var(i));
  std::optional<LoopJoiner::InValues> found = joiner_.in_values(loops, exprs);
  if (!found) return it->second;
  std::map<std::string, Expr> whole;
  for (LoopJoiner::Value& v : found->values) {
    const Expr value = substitute(expression_of(v), whole);
    whole.emplace(v.name, value);
    Value known{v.name, value, {}, all_to_params(v.range), v.pieces};
    std::set<std::string> names;
    collect_vars(value, names);
    for (const std::string& n : names)
      if (k_.has_iname(n)) {
        known.inames.insert(n);
      } else if (k_.find_temporary(n)) {
        known.from_data = true;
        add_loops_of(n, loops, known.inames);
      }
    const auto same = std::find_if(values_.begin(), values_.end(),
                                   [&](const Value& other) { return other.name == v.name; });
    if (same == values_.end())
      values_.push_back(std::move(known));
    else if (!equal(same->value, value))
      return it->second;  // another one of that name
  }
  return it->second = std::move(found->instances);
}

Set PieceValues::without_unknown(Set s, const std::vector<std::string>& loops) const {
  std::vector<std::string> unknown;
  for (const Value& v : values_)
    if (!v.is_known(loops)) unknown.push_back(v.name);
  return drop_params(std::move(s), unknown);
}

std::vector<const PieceValues::Value*> PieceValues::completed_by(
    const std::vector<std::string>& loops) const {
  std::vector<const Value*> out;
  for (const Value& v : values_)
    if (v.is_known_from(loops)) out.push_back(&v);
  return out;
}

Set PieceValues::Value::known_in(const Set& context) const {
  const Set others = isl_set_subtract(context.copy(), pieces.copy());
  if (is_empty(others)) return intersect(context, range);
  const Set known = intersect(intersect(context, pieces), range);
  return isl_set_union(known.copy(), others.copy());
}

void PieceValues::put_in(Block& block, const std::vector<std::string>& loops) const {
  for (const Value* v : completed_by(loops)) put_in_bounds(block, v->name, v->value);
}

}  // namespace moonloop
