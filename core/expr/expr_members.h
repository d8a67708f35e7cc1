#pragma once
#include <functional>

#include "core/expr/expr_node.h"

/// What an expression's node holds, and access to it: the part of core/expr/expr_node.h after its
/// declarations, which includes this.
namespace moonloop {

/// Each node takes only the room of its kind, next to those made before it: kernels are large, and
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

/// The summary of a node's parts, and the names in the node itself.
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
