#pragma once
#include <functional>
#include <optional>
#include <string>

#include "core/model/kernel.h"

/// Elements addressed by their position in memory: `a[[i]]`, the i-th one from the array's start,
/// and `indexof(a[i, j])`, the number of one there. Both change their meaning with the layout of
/// `a`.
namespace moonloop {

/// The element whose number `e` is, in `indexof(a[i, j])`; null for other expressions. It is not
/// read, so that nothing else can stand for it.
const Expr* as_indexof(const Expr& e);

/// `e`, an indexof(), with `f` of its element's subscripts.
Expr map_indexof(const Expr& e, const std::function<Expr(const Expr&)>& f);

/// The subscripts of an access: one for each axis, or the flat one as `flat(i)`, which is not an
/// expression of any kernel.
Exprs subscripts_of(const Load& l);
/// The flat subscript among these; null if there is none.
const Expr* flat_of(const Exprs& subscripts);
/// The position of the element with these subscripts in the array's memory, from its start, in
/// elements; nothing where the layout is not known yet.
std::optional<Expr> place_in_memory(const Kernel& k, const std::string& array,
                                    const Exprs& subscripts);

/// Where an array of one axis is contiguous, its flat subscripts equal its subscripts and are
/// replaced by these. Linear.
void make_flat_subscripts_plain(Kernel& k);

/// Refuses `flat-subscript` where `array` is used in one of the two ways, also through rules: a
/// step that gives it another layout would change the meaning. Linear.
void require_no_flat_subscripts(const Kernel& k, const std::string& array);

}  // namespace moonloop
