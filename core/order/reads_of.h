#pragma once
#include "core/model/flat_subscripts.h"
#include "core/order/reference.h"

namespace moonloop {

/// Whether the expression itself is a read of that element; of any element where the access has no
/// subscripts.
inline bool is_read(const Expr& e, const Access& read) {
  if (const auto* v = e.as<Var>()) return v->name == read.variable;
  const auto* l = e.as<Load>();
  return l && l->array == read.variable &&
         (read.index.empty() || equal(subscripts_of(*l), read.index));
}

/// Whether there is one in it.
inline bool has_read(const Expr& e, const Access& read) {
  bool found = false;
  walk(e, [&](const Expr& x) { return !(found = found || is_read(x, read)); });
  return found;
}

}  // namespace moonloop
