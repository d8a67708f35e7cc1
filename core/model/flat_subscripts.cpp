#include "core/model/flat_subscripts.h"

#include "core/model/layout.h"
#include "core/model/lookup.h"

namespace moonloop {

const Expr* as_indexof(const Expr& e) {
  const auto* c = e.as<Call>();
  return c && c->name == "indexof" && c->args.size() == 1 ? &c->args[0] : nullptr;
}

Expr map_indexof(const Expr& e, const std::function<Expr(const Expr&)>& f) {
  // The element itself, or a rule that stands for one.
  return map_children(e, [&](const Expr& element) { return map_children(element, f); });
}

namespace {
constexpr const char* kFlat = "flat";
}

Exprs subscripts_of(const Load& l) {
  return l.linear ? Exprs{Expr(Call{kFlat, l.index, {}})} : l.index;
}

const Expr* flat_of(const Exprs& subscripts) {
  const auto* c = subscripts.size() == 1 ? subscripts[0].as<Call>() : nullptr;
  return c && c->name == kFlat && c->args.size() == 1 ? &c->args[0] : nullptr;
}

std::optional<Expr> place_in_memory(const Kernel& k, const std::string& array,
                                    const Exprs& subscripts) {
  if (const Expr* flat = flat_of(subscripts)) return *flat;
  const Argument* a = k.find_arg(array);
  const Temporary* t = k.find_temporary(array);
  const std::optional<Exprs>* shape = a ? &a->shape : t ? &t->shape : nullptr;
  if (!shape || !*shape || (*shape)->size() != subscripts.size()) return std::nullopt;
  const Exprs strides =
      a ? strides_of(**shape, a->order, a->strides) : strides_of(**shape, t->order, t->strides);
  Exprs terms;
  for (std::size_t d = 0; d < subscripts.size(); ++d)
    terms.push_back(index_mul(strides[d], subscripts[d]));
  return terms.empty() ? lit(0) : index_add(terms);
}

void make_flat_subscripts_plain(Kernel& k) {
  const auto has_one_axis = [&](const std::string& name) {
    if (const Argument* a = k.find_arg(name))
      return a->is_array && a->shape && a->shape->size() == 1 && !a->strides && !a->offset;
    const Temporary* t = k.find_temporary(name);
    return t && t->shape && t->shape->size() == 1 && !t->strides;
  };
  const auto is_flat = [&](const Expr& e) {
    const auto* l = e.as<Load>();
    return l && l->linear && has_one_axis(l->array);
  };
  const std::function<Expr(const Expr&)> plain = [&](const Expr& e) {
    const Expr inside = map_children(e, plain);
    if (!is_flat(inside)) return inside;
    const Load& l = *inside.as<Load>();
    return Expr(Load{l.array, l.index, l.tag, false}, inside.at());
  };
  k = map_expressions(
      k,
      [&](const Instruction&, const Expr& e) {
        bool some = false;
        walk(e, [&](const Expr& x) {
          some = some || is_flat(x);
          return !some;
        });
        return some ? plain(e) : e;
      },
      true);
}

void require_no_flat_subscripts(const Kernel& k, const std::string& array) {
  const auto look = [&](const Instruction& insn, const Expr& e) {
    if (!e || !(k.rules.empty() ? e.names() & name_bit(array) : true)) return;
    walk(expand_rules(k, e), [&](const Expr& x) {
      const auto* l = x.as<Load>();
      const Expr* element = as_indexof(x);
      const auto* numbered = element ? element->as<Load>() : nullptr;
      if ((l && l->array == array && l->linear) || (numbered && numbered->array == array)) {
        const Span at = x.at() ? x.at() : insn.at;
        throw Refused({"flat-subscript",
                       fmt::format("`{}` in `{}` addresses an element of `{}` by its position in "
                                   "memory, which would change",
                                   to_string(x), insn.id, array),
                       {at, {}},
                       {},
                       numbered ? "write the number as a sum of its subscripts"
                                : fmt::format("write `{}` with a subscript for each axis", array)});
      }
      return true;
    });
  };
  for (const InsnPtr& i : k.instructions) {
    for (const Expr& e : i->lhs) look(*i, e);
    look(*i, i->rhs);
    for (const Expr& e : i->predicates) look(*i, e);
  }
}

}  // namespace moonloop
