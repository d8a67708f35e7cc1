#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/expr/expr_node.h"

/// Expressions: immutable trees shared by value.
///
/// Meaning, the same in the interpreter and on every target:
///  * The type in which an operation computes is given by core/infer/promotion.h; its operands are
///    converted to that type first. N-ary sums, products and bit operations are evaluated from left
///    to right, each step in the type of the terms so far: `a + b + c` is `(a + b) + c`.
///  * Integers are two's complement. Unsigned arithmetic wraps; an overflow of a signed type is
///    undefined and the tool may refuse it. `//` rounds towards minus infinity and `%` takes the
///    sign of the divisor (Python), of reals too. Division by zero is undefined for integers.
///    A shift by the width of the type or more shifts all bits out, one by less than 0 too.
///  * `/` of two integers is a division in float64. Reals follow IEEE 754, each operation rounded
///    to its type; nothing is reassociated unless a reduction says so. A target's compiler may
///    leave out the rounding between a product and a sum (a fused multiply-add). NaN compares
///    unequal to everything; `min`/`max` follow C's fmin.
///  * Integers compare as numbers, whatever their types. A conversion to an integer keeps the low
///    bits of an integer and drops the fraction of a real; out of range it is undefined. A
///    conversion to bool is "not zero".
///  * `and`, `or` and the conditional expression evaluate only what they need. All other operands
///    are evaluated in any order: expressions have no side effects.
///  * A comparison or a logical operation gives bool; where a number is wanted, bool is 0 or 1.
namespace moonloop {

// ---- Builders. The integer ones fold constants and drop neutral elements; they never touch reals.
Expr lit(std::int64_t value);
Expr var(std::string name, Span at = {});
Expr call(std::string name, Exprs args, Span at = {});
Expr load(std::string array, Exprs index, Span at = {});
/// Sum and product of index (integer) expressions, flattened and folded.
Expr index_add(const Exprs& terms);
Expr index_mul(const Expr& a, const Expr& b);
Expr index_sub(const Expr& a, const Expr& b);
/// A conjunction, flattened; `true` for none.
Expr conjunction(const Exprs& terms);
Expr negation(const Expr& e);
/// `a - b`.
Expr difference(const Expr& a, const Expr& b, const Span& at = {});
/// The expression that `e` negates, where it is a Neg or a Sub; null for others.
const Expr* negated(const Expr& e);

// ---- Walking.
/// Calls `visit` on each direct child, left to right.
void for_each_child(const Expr& e, const std::function<void(const Expr&)>& visit);
/// Calls `visit` on `e` and all below, parents first; a visit that returns false skips the
/// children.
void walk(const Expr& e, const std::function<bool(const Expr&)>& visit);
/// Calls `visit` with each T at and below `e`, parents first, as `(const T&, const Expr&)`: the
/// node and its handle. Parts that hold none are not walked.
template <class T, class F>
void for_each_of(const Expr& e, const F& visit) {
  if (!e.holds<T>()) return;
  if (const T* x = e.as<T>()) visit(*x, e);
  for_each_child(e, [&](const Expr& c) { for_each_of<T>(c, visit); });
}
/// `e` with each direct child replaced by `f(child)`; the same node when nothing changed. The new
/// node keeps the span.
Expr map_children(const Expr& e, const std::function<Expr(const Expr&)>& f);
/// Rewrites bottom-up: `f` sees each node with its children already rewritten.
Expr rewrite(const Expr& e, const std::function<Expr(const Expr&)>& f);

/// Replaces free variables (`Var` only, not array names; inames bound by a Reduce inside `e` are
/// replaced in its iname list only by another variable).
Expr substitute(const Expr& e, const std::map<std::string, Expr>& by);
/// Renames arrays, variables and reduction inames alike.
Expr rename(const Expr& e, const std::map<std::string, std::string>& names);

/// Names of all `Var`s and of the inames that reductions bind.
void collect_vars(const Expr& e, std::set<std::string>& out);
/// Names read as scalars or arrays: every Var and every Load's array, in index expressions too.
void collect_reads(const Expr& e, std::set<std::string>& out);
/// Inames bound by reductions anywhere in `e`, outermost first, each once.
std::vector<std::string> reduction_inames(const Expr& e);
bool contains_reduction(const Expr& e);

/// Same structure; spans are ignored, tags are not.
bool equal(const Expr& a, const Expr& b);
bool equal(const Exprs& a, const Exprs& b);
/// Whether they are the same objects, one by one; others may be equal too.
bool same_nodes(const Exprs& a, const Exprs& b);
std::size_t hash(const Expr& e);
std::optional<std::int64_t> as_int(const Expr& e);  // an IntLit, or a negated one

/// Kernel text that parses back to an equal expression, with no redundant parentheses.
std::string to_string(const Expr& e);
std::string to_string(const Exprs& es);  // comma separated

/// `sum`, `argmax`, `segmented(sum)`, …
std::string to_string(ReduceOp op);
std::optional<ReduceOp> parse_reduce_op(std::string_view name);
int arity(ReduceOp op);  // 1 or 2: number of arguments and of results
/// What a segmented reduction does within a segment; nothing for others, whose terms may be in any
/// order.
std::optional<ReduceOp> within_segments(ReduceOp op);

}  // namespace moonloop
