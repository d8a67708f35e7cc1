#include "frontends/fortran/flang_walk.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wall"
#pragma GCC diagnostic ignored "-Wextra"
#pragma GCC diagnostic ignored "-Wpedantic"
#include <flang/Parser/parse-tree-visitor.h>
#pragma GCC diagnostic pop

// The one walk over Flang's parse trees.
namespace moonloop::fortran {
namespace {

struct AnyNode {
  template <typename T>
  bool Pre(const T& x) {
    return visitor.before(TreeNode(x));
  }
  template <typename T>
  bool Pre(const fp::Statement<T>& x) {
    TreeNode node(x);
    node.source = &x.source;
    node.label = &x.label;
    return visitor.before(node);
  }
  template <typename T>
  void Post(const T& x) {
    visitor.after(TreeNode(x));
  }

  TreeVisitor& visitor;
};

template <typename T>
void walk_any(const T& tree, TreeVisitor& visitor) {
  AnyNode any{visitor};
  fp::Walk(tree, any);
}

}  // namespace

void walk(const fp::Program& tree, TreeVisitor& v) { walk_any(tree, v); }
void walk(const fp::SubroutineSubprogram& tree, TreeVisitor& v) { walk_any(tree, v); }
void walk(const fp::FunctionSubprogram& tree, TreeVisitor& v) { walk_any(tree, v); }
void walk(const fp::Block& tree, TreeVisitor& v) { walk_any(tree, v); }
void walk(const fp::ExecutableConstruct& tree, TreeVisitor& v) { walk_any(tree, v); }
void walk(const fp::DoConstruct& tree, TreeVisitor& v) { walk_any(tree, v); }
void walk(const fp::IfConstruct& tree, TreeVisitor& v) { walk_any(tree, v); }
void walk(const fp::WhereConstruct& tree, TreeVisitor& v) { walk_any(tree, v); }
void walk(const fp::BlockConstruct& tree, TreeVisitor& v) { walk_any(tree, v); }
void walk(const fp::ActionStmt& tree, TreeVisitor& v) { walk_any(tree, v); }
void walk(const fp::CallStmt& tree, TreeVisitor& v) { walk_any(tree, v); }
void walk(const fp::Expr& tree, TreeVisitor& v) { walk_any(tree, v); }
void walk(const fp::Variable& tree, TreeVisitor& v) { walk_any(tree, v); }

}  // namespace moonloop::fortran
