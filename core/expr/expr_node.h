#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/base/node_memory.h"
#include "core/base/source.h"
#include "core/expr/tag.h"
#include "core/expr/type.h"

/// The nodes of expressions, each kind as a struct, and the handle that shares them.
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

/// `a - b` is the sum of `a` and Sub(b). A Sub is always such a term and never the first one: what
/// it subtracts is converted to the type of the sum first, where Neg negates in its own type.
enum class UnaryOp { Neg, Not, BitNot, Sub };
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
  SegmentedProduct,
  SegmentedMin,
  SegmentedMax
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
/// An iname, a parameter or a scalar.
struct Var {
  std::string name;
  Tag tag;
};
/// `array[index...]`; one index per axis, or with `linear` one flat index (`a[[i]]`). An index may
/// be a Slice only inside an argument of a call.
struct Load {
  std::string array;
  Exprs index;
  Tag tag;
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
  Tag tag;
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

/// The handle counts the uses of its node, without a lock: expressions belong to one thread.
class Expr {
 public:
  template <class T>
  explicit Expr(T op, Span at = {});
  Expr() = default;  // null; only as a placeholder for "absent"
  Expr(const Expr& e);
  Expr(Expr&& e) noexcept : node_(std::exchange(e.node_, nullptr)) {}
  Expr& operator=(Expr e) noexcept {
    std::swap(node_, e.node_);
    return *this;
  }
  ~Expr();

  explicit operator bool() const { return node_ != nullptr; }
  const Span& at() const;                                         // where the source wrote it
  bool same_as(const Expr& e) const { return node_ == e.node_; }  // identity, not equality
  const void* identity() const { return node_; }                  // a key while the node lives
  int kind() const;                                               // the same for nodes of one type

  /// Whether some node, this one or one below it, is a T; false for none.
  template <class T>
  bool holds() const;
  /// The names here and below: of variables, arrays and functions, and those that reductions and
  /// sub-arrays bind. If it has none of the bits (name_bit) of some names, none of these occurs.
  std::uint32_t names() const;

  /// The node as a T, or null if it is another kind of node.
  template <class T>
  const T* as() const;

  /// Calls `f`, an overload set over all kinds of nodes, with the node.
  template <class F>
  decltype(auto) visit(F&& f) const;

 private:
  struct Node;
  template <class T>
  struct NodeOf;
  class Contents;
  static void destroy(const Node* node);
  const Node* node_ = nullptr;
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

}  // namespace moonloop

#include "core/expr/expr_members.h"  // IWYU pragma: keep
