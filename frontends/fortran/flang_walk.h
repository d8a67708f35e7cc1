#pragma once
#include "frontends/fortran/flang.h"

/// One walk over Flang's parse trees for all that look for something in them: a compiler takes
/// fifteen seconds for each class that Flang's own templates are to walk with.
namespace moonloop::fortran {

/// A node of any type.
class TreeNode {
 public:
  template <typename T>
  explicit TreeNode(const T& x) : kind_(&kKind<T>), at_(&x) {}

  /// Null where it has another type.
  template <typename T>
  const T* as() const {
    return kind_ == &kKind<T> ? static_cast<const T*>(at_) : nullptr;
  }
  /// Calls `f` on it if it has one of the types.
  template <typename... Types, typename F>
  void when(const F& f) const {
    const auto one = [&](const auto* x) {
      if (x) f(*x);
      return x != nullptr;
    };
    (one(as<Types>()) || ...);
  }

  // Of a statement with its place: where that is, and its label. Null for other nodes.
  const fp::CharBlock* source = nullptr;
  const std::optional<fp::Label>* label = nullptr;

 private:
  template <typename T>
  inline static char kKind = 0;  // its address is the type's

  const void* kind_;
  const void* at_;
};

class TreeVisitor {
 public:
  virtual ~TreeVisitor() = default;
  /// Ahead of the nodes inside; whether to visit these, and then to call `after`.
  virtual bool before(const TreeNode&) { return true; }
  virtual void after(const TreeNode&) {}
};

void walk(const fp::Program& tree, TreeVisitor& visitor);
void walk(const fp::SubroutineSubprogram& tree, TreeVisitor& visitor);
void walk(const fp::FunctionSubprogram& tree, TreeVisitor& visitor);
void walk(const fp::Block& tree, TreeVisitor& visitor);
void walk(const fp::ExecutableConstruct& tree, TreeVisitor& visitor);
void walk(const fp::DoConstruct& tree, TreeVisitor& visitor);
void walk(const fp::IfConstruct& tree, TreeVisitor& visitor);
void walk(const fp::WhereConstruct& tree, TreeVisitor& visitor);
void walk(const fp::BlockConstruct& tree, TreeVisitor& visitor);
void walk(const fp::ActionStmt& tree, TreeVisitor& visitor);
void walk(const fp::CallStmt& tree, TreeVisitor& visitor);
void walk(const fp::Expr& tree, TreeVisitor& visitor);
void walk(const fp::Variable& tree, TreeVisitor& visitor);

}  // namespace moonloop::fortran
