#include <algorithm>

#include "core/infer/infer.h"
#include "core/infer/typing.h"
#include "core/model/adapting.h"
#include "transforms/precompute_plan.h"

namespace moonloop {
namespace {

/// Calls `visit` with all that the statement's conditions and the values that it assigns are made
/// of, and with the contexts of that.
void for_each_part(const Typer& typer, const Instruction& insn, const Typer::VisitPart& visit) {
  for (const Expr& p : insn.predicates) typer.for_each_part(p, {}, visit);
  if (!insn.rhs) return;
  const auto target = [&](const Expr& lhs) -> std::optional<Type> {
    const auto t = typer.type(lhs);
    return t ? std::optional(t->type) : std::nullopt;
  };
  const auto* tuple = insn.rhs.as<Call>();
  if (insn.lhs.size() == 1)
    typer.for_each_part(insn.rhs, target(insn.lhs[0]), visit);
  else if (tuple && tuple->name == "make_tuple")
    for (std::size_t i = 0; i < tuple->args.size() && i < insn.lhs.size(); ++i)
      typer.for_each_part(tuple->args[i], target(insn.lhs[i]), visit);
}

}  // namespace

std::optional<Type> PrecomputePlan::type_at_uses() const {
  if (!may_adapt(kernel(), rule.body)) return {};
  try {
    const Kernel typed = infer_types(kernel());
    const Typer typer(typed);
    std::optional<Type> common;
    const Instruction* first = nullptr;
    for (std::size_t n = 0; n < typed.instructions.size(); ++n) {
      const bool used = std::any_of(uses.begin(), uses.end(), [&](const RuleUse& u) {
        return u.insn == n && u.staged && !u.place.written;
      });
      if (!used) continue;
      const Instruction& insn = *typed.instructions[n];
      for_each_part(typer, insn, [&](const Expr& e, const std::optional<Type>& wanted) {
        const auto* v = e.as<Var>();
        const auto* c = e.as<Call>();
        if (!(v && v->name == rule.name) && !(c && c->name == rule.name)) return true;
        if (!options.tag.empty() && (v ? v->tag : c->tag).str() != options.tag) return false;
        const auto here = typer.type(e, wanted);
        if (!here) return false;
        if (common && !(*common == here->type))
          refuse("two-types", options.at,
                 "`{}` is {} where `{}` uses it and {} in `{}`, as its literals adapt to what "
                 "is around them; `dtype` says in which type it is kept",
                 subject(), common->str(), first->id, here->type.str(), insn.id);
        common = here->type;
        if (!first) first = &insn;
        return false;
      });
    }
    if (!common) return {};
    const auto alone = typer.type(apply_rule(rule, uses[0].args));
    return alone && alone->type == *common ? std::nullopt : common;
  } catch (const Refused&) { throw; } catch (const Error&) {  // some argument has no type yet
    return {};
  }
}

}  // namespace moonloop
