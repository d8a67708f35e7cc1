#include "codegen/plan/atomics.h"

#include "core/infer/typing.h"
#include "core/order/reference.h"

namespace moonloop {
namespace {

bool mentions(const Expr& e, const Expr& place) {
  bool found = false;
  walk(e, [&](const Expr& x) {
    found |= equal(x, place);
    return !found;
  });
  return found;
}

constexpr std::int64_t kLocks = 1024;

}  // namespace

std::optional<SimpleUpdate> simple_update(const Expr& lhs, const Expr& rhs) {
  const auto split = [&](const Exprs& terms, const char* op) -> std::optional<SimpleUpdate> {
    if (terms.size() != 2) return std::nullopt;
    for (const std::size_t i : {0, 1})
      if (equal(terms[i], lhs) && !mentions(terms[1 - i], lhs))
        return SimpleUpdate{op, terms[1 - i]};
    return std::nullopt;
  };
  if (const auto* n = rhs.as<Nary>(); n && n->op == NaryOp::Add) return split(n->terms, "add");
  if (const auto* c = rhs.as<Call>(); c && (c->name == "min" || c->name == "max"))
    return split(c->args, c->name.c_str());
  return std::nullopt;
}

void find_locks(Plan& plan) {
  Kernel& k = plan.kernel;
  const Typer typer(k);
  std::set<std::string> others;  // complex variables with updates that are not sums
  const auto updates = [&](const auto& visit) {
    for (const InsnPtr& insn : k.instructions)
      if (insn->atomic == Atomicity::Update && insn->rhs)
        for (const Expr& l : insn->lhs)
          if (!plan.lies_in(written_name(l), AddressSpace::Private)) visit(*insn, l);
  };
  updates([&](const Instruction& insn, const Expr& l) {
    const std::string& name = written_name(l);
    const auto typed = typer.type(l);
    if (!typed) throw InternalError("an assignee without a type");
    const Type& t = typed->type;
    const auto simple = simple_update(l, insn.rhs);
    const bool complex = !t.is_record() && is_complex(t.scalar);
    if (complex && !(simple && simple->op == "add")) others.insert(name);
    if (complex) plan.sums.insert(name);
    if (insn.lhs.size() > 1)
      plan.locked[name] = false;
    else if (t.is_record() || (others.count(name) && (size_of(t.scalar) > 8 || l.as<Field>())))
      plan.locked.emplace(name, true);
  });
  for (const std::string& name : others) plan.sums.erase(name);
  if (plan.locked.empty()) return;
  Temporary t;
  t.name = k.fresh_name("locks");
  t.at = k.at;
  t.type = Type(Scalar::I32);
  t.shape = Exprs{lit(kLocks)};
  t.space = AddressSpace::Global;
  plan.locks = t.name;
  plan.spaces[t.name] = AddressSpace::Global;
  k.temporaries.emplace(t.name, std::move(t));
}

}  // namespace moonloop
