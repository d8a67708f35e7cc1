#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "core/source.h"
#include "core/type.h"

/// Expressions: immutable trees shared by value.
///
/// Meaning, the same in the interpreter and on every target:
///  * Integers are two's complement; an overflow of a signed type is undefined and the tool may
///    refuse it. `//` rounds towards minus infinity and `%` takes the sign of the divisor (Python).
///    Division by zero is undefined.
///  * `/` of two integers is a division in float64. Reals follow IEEE 754, each operation rounded
///    to its type, n-ary sums and products evaluated from left to right; nothing is reassociated
///    unless a reduction says so. A target's compiler may leave out the rounding between a product
///    and a sum (a fused multiply-add). NaN compares unequal to everything; `min`/`max` follow C's
///    fmin.
///  * `and`, `or` and the conditional expression evaluate only what they need. All other operands
///    are evaluated in any order: expressions have no side effects.
///  * A comparison or a logical operation gives bool; where a number is wanted, bool is 0 or 1.
namespace moonloop {

/// The value `c ? a : b`-style visitors are built from.
template <class... F>
struct overload : F... {
  using F::operator()...;
};
template <class... F>
overload(F...) -> overload<F...>;

class Expr;
using Exprs = std::vector<Expr>;

enum class UnaryOp { Neg, Not, BitNot };
enum class BinaryOp { Div, FloorDiv, Mod, Pow, Shl, Shr };
enum class NaryOp { Add, Mul, BitAnd, BitOr, BitXor, And, Or };
enum class CompareOp { Eq, Ne, Lt, Le, Gt, Ge };
enum class ReduceOp {
  Sum,
  Product,
  Min,
  Max,
  ArgMin,
  ArgMax,
  Any,
  All,
  SegmentedSum,
  SegmentedProduct
};

/// An integer; `type` only where the source sized it (a folded cast, a fixed parameter).
struct IntLit {
  std::int64_t value;
  std::optional<Scalar> type;
};
/// `2.5` adapts to its context; `2.5f` and `2.5d` are sized.
struct FloatLit {
  double value;
  std::optional<Scalar> type;
};
/// An imaginary literal `5j`, `5jf` has re == 0.
struct ComplexLit {
  double re, im;
  std::optional<Scalar> type;
};
struct BoolLit {
  bool value;
};
/// An iname, a parameter or a scalar. `tag` is the `x` of `name$x`, for targeting; it has no
/// meaning.
struct Var {
  std::string name;
  std::string tag;
};
/// `array[index...]`; one index per axis, or with `linear` one flat index (`a[[i]]`). An index may
/// be a Slice only inside an argument of a call.
struct Load {
  std::string array;
  Exprs index;
  std::string tag;
  bool linear = false;
};
struct Field;
struct Unary;
struct Binary;
struct Nary;  // n-ary: long sums stay shallow; terms.size() >= 2
struct Compare;
struct Select;  // yes if cond else no
/// A function, or a substitution rule when the kernel has a rule of that name (also with no args).
struct Call {
  std::string name;
  Exprs args;
  std::string tag;
};
/// `op(inames, args)`: one argument, or (value, index) for ArgMin/ArgMax, (value, flag) for the
/// segmented forms. `simultaneous` allows an iname to be reduced over in several reductions at
/// once.
struct Reduce {
  ReduceOp op;
  std::vector<std::string> inames;
  Exprs args;
  bool simultaneous = false;
};
struct Cast;
/// `start:stop:step`; each part may be absent.
struct Slice;
/// `[i, j]: a[i, j, k]`, a part of an array as the argument of a call.
struct SubArray;

class Expr {
 public:
  using Op = std::variant<IntLit, FloatLit, ComplexLit, BoolLit, Var, Load, Field, Unary, Binary,
                          Nary, Compare, Select, Call, Reduce, Cast, Slice, SubArray>;
  template <class T>
  explicit Expr(T op, Span at = {});
  Expr() = default;  // null; only as a placeholder for "absent"

  explicit operator bool() const { return node_ != nullptr; }
  const Op& op() const;
  const Span& at() const;                                         // where the source wrote it
  bool same_as(const Expr& e) const { return node_ == e.node_; }  // identity, not equality

  /// The node as a T, or null if it is another kind of node.
  template <class T>
  const T* as() const;

 private:
  struct Node;
  std::shared_ptr<const Node> node_;
};

struct Field {
  Expr base;
  std::string name;
};
struct Unary {
  UnaryOp op;
  Expr arg;
};
struct Binary {
  BinaryOp op;
  Expr left, right;
};
struct Nary {
  NaryOp op;
  Exprs terms;
};
struct Compare {
  CompareOp op;
  Expr left, right;
};
struct Select {
  Expr cond, yes, no;
};
struct Cast {
  Type type;
  Expr arg;
};
struct Slice {
  Expr start, stop, step;
};
struct SubArray {
  std::vector<std::string> inames;
  Expr load;
};

struct Expr::Node {
  Op op;
  Span at;
};
template <class T>
Expr::Expr(T op, Span at) : node_(std::make_shared<const Node>(Node{Op(std::move(op)), at})) {}
inline const Expr::Op& Expr::op() const { return node_->op; }
inline const Span& Expr::at() const { return node_->at; }
template <class T>
const T* Expr::as() const {
  return node_ ? std::get_if<T>(&node_->op) : nullptr;
}

// ---- Builders. The integer ones fold constants and drop neutral elements; they never touch reals.
Expr lit(std::int64_t value);
Expr var(std::string name, Span at = {});
Expr call(std::string name, Exprs args, Span at = {});
Expr load(std::string array, Exprs index, Span at = {});
/// Sum and product of index (integer) expressions, flattened and folded.
Expr index_add(Exprs terms);
Expr index_mul(Expr a, Expr b);
Expr index_sub(Expr a, Expr b);
/// A conjunction, flattened; `true` for none.
Expr conjunction(Exprs terms);
Expr negation(Expr e);

// ---- Walking.
/// Calls `visit` on each direct child, left to right.
void for_each_child(const Expr& e, const std::function<void(const Expr&)>& visit);
/// Calls `visit` on `e` and all below, parents first; a visit that returns false skips the
/// children.
void walk(const Expr& e, const std::function<bool(const Expr&)>& visit);
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
std::size_t hash(const Expr& e);
std::optional<std::int64_t> as_int(const Expr& e);  // an IntLit, or a negated one

/// Kernel text that parses back to an equal expression, with no redundant parentheses.
std::string to_string(const Expr& e);
std::string to_string(const Exprs& es);  // comma separated

/// `sum`, `argmax`, `segmented(sum)`, …
std::string to_string(ReduceOp op);
std::optional<ReduceOp> parse_reduce_op(std::string_view name);
int arity(ReduceOp op);  // 1 or 2: number of arguments and of results

}  // namespace moonloop
