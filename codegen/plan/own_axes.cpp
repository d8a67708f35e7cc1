#include "codegen/plan/own_axes.h"

#include "core/order/address_spaces.h"

namespace moonloop {
namespace {

/// Without the entries of those axes; whether there were any.
bool drop(const std::vector<bool>& axes, Exprs& of) {
  Exprs out;
  for (std::size_t d = 0; d < of.size(); ++d)
    if (!axes[d]) out.push_back(of[d]);
  const bool any = out.size() < of.size();
  of = std::move(out);
  return any;
}

}  // namespace

Nested drop_own_axes(Nested nested) {
  const Kernel& k = nested.kernel;
  const OwnCopies own(k);
  std::map<std::string, std::vector<bool>> by_array;
  for (const auto& [name, t] : k.temporaries)
    if (std::vector<bool> axes = own.own_axes(name); !axes.empty())
      by_array.emplace(name, std::move(axes));
  if (by_array.empty()) return nested;
  Kernel out = k;
  for (const auto& [name, axes] : by_array) {
    Temporary& t = out.temporaries[name];
    drop(axes, *t.shape);
    if (t.strides) drop(axes, *t.strides);
  }
  nested.kernel = map_expressions(out, [&](const Instruction&, const Expr& e) {
    return rewrite(e, [&](const Expr& x) {
      const auto* l = x.as<Load>();
      const auto of = l ? by_array.find(l->array) : by_array.end();
      if (of == by_array.end()) return x;
      Load part = *l;
      if (!drop(of->second, part.index)) return x;
      return part.index.empty() ? Expr(Var{part.array, part.tag}) : Expr(std::move(part));
    });
  });
  return nested;
}

}  // namespace moonloop
