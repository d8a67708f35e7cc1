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

#include "core/node_memory.h"
#include "core/source.h"
#include "core/tag.h"
#include "core/type.h"

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
/// it takes away is converted to the type of the sum first, where Neg negates in its own type.
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
  /// sub-arrays bind. Where it has none of the bits of some names (name_bit), none of these occurs.
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

/// Each node takes the room of its own kind, beside those made before it: kernels are large, and
/// walks over them are bound by memory.
struct Expr::Node {
  static void* operator new(std::size_t bytes) { return node_memory::take(bytes); }
  static void operator delete(void* p, std::size_t bytes) { node_memory::give(p, bytes); }
  [[no_unique_address]] Span at;
  std::uint32_t kind : 8;
  std::uint32_t kinds : 24;  // a bit for each kind here and below
  mutable std::uint32_t uses = 1;
  std::uint32_t names;
};
template <class T>
struct Expr::NodeOf : Node {
  static_assert(sizeof(T) <= 96 && alignof(T) <= 8, "for node_memory");
  T op;
};

namespace detail {
template <class... T>
struct Kinds {
  template <class U>
  static constexpr int index_of() {
    int at = 0;
    const bool found = ((std::is_same_v<T, U> || (++at, false)) || ...);
    return found ? at : -1;
  }
};
using ExprKinds = Kinds<IntLit, FloatLit, ComplexLit, BoolLit, Var, Load, Field, Unary, Binary,
                        Nary, Compare, Select, Call, Reduce, Cast, Slice, SubArray>;
}  // namespace detail

/// A set of one name as a word; some names share a bit.
inline std::uint32_t name_bit(std::string_view name) {
  return std::uint32_t{1} << (std::hash<std::string_view>{}(name) % 32);
}

/// What a node has below it and which names it says itself.
class Expr::Contents {
 public:
  explicit Contents(const IntLit&) {}
  explicit Contents(const FloatLit&) {}
  explicit Contents(const ComplexLit&) {}
  explicit Contents(const BoolLit&) {}
  explicit Contents(const Var& x) { add(x.name); }
  explicit Contents(const Load& x) { add(x.array), add(x.index); }
  explicit Contents(const Field& x) { add(x.base); }
  explicit Contents(const Unary& x) { add(x.arg); }
  explicit Contents(const Binary& x) { add(x.left), add(x.right); }
  explicit Contents(const Nary& x) { add(x.terms); }
  explicit Contents(const Compare& x) { add(x.left), add(x.right); }
  explicit Contents(const Select& x) { add(x.cond), add(x.yes), add(x.no); }
  explicit Contents(const Call& x) { add(x.name), add(x.args); }
  explicit Contents(const Reduce& x) { add(x.inames), add(x.args); }
  explicit Contents(const Cast& x) { add(x.arg); }
  explicit Contents(const Slice& x) { add(x.start), add(x.stop), add(x.step); }
  explicit Contents(const SubArray& x) { add(x.inames), add(x.load); }

  std::uint32_t kinds = 0, names = 0;

 private:
  void add(const std::string& name) { names |= name_bit(name); }
  void add(const Expr& e) {
    if (e.node_) kinds |= e.node_->kinds, names |= e.node_->names;
  }
  template <class T>
  void add(const std::vector<T>& all) {
    for (const T& x : all) add(x);
  }
};

template <class T>
Expr::Expr(T op, Span at) {
  constexpr int kind = detail::ExprKinds::index_of<T>();
  static_assert(kind >= 0 && kind < 24, "not a kind of expression");
  const Contents inside(op);
  node_ = new const NodeOf<T>{
      {at, kind, (inside.kinds | std::uint32_t{1} << kind) & 0xffffff, 1, inside.names},
      std::move(op)};
}
inline Expr::Expr(const Expr& e) : node_(e.node_) {
  if (node_) ++node_->uses;
}
inline Expr::~Expr() {
  if (node_ && --node_->uses == 0) destroy(node_);
}
inline const Span& Expr::at() const { return node_->at; }
inline int Expr::kind() const { return static_cast<int>(node_->kind); }
inline std::uint32_t Expr::names() const { return node_ ? node_->names : 0; }
template <class T>
bool Expr::holds() const {
  return node_ && (node_->kinds >> detail::ExprKinds::index_of<T>() & 1);
}
template <class T>
const T* Expr::as() const {
  return node_ && kind() == detail::ExprKinds::index_of<T>()
             ? &static_cast<const NodeOf<T>&>(*node_).op
             : nullptr;
}
template <class F>
decltype(auto) Expr::visit(F&& f) const {
  const auto go = [&]<class... T>(detail::Kinds<T...>) -> decltype(auto) {
    using R = std::invoke_result_t<F&, const IntLit&>;
    using Function = R (*)(F&, const Node&);
    static constexpr Function calls[] = {
        [](F& g, const Node& n) -> R { return g(static_cast<const NodeOf<T>&>(n).op); }...};
    return calls[node_->kind](f, *node_);
  };
  return go(detail::ExprKinds{});
}

}  // namespace moonloop
