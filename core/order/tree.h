#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/model/kernel.h"

/// The loop tree: which loops there are, how they nest, and in which order statements run.
namespace moonloop {

/// A loop over `iname` with a body, or one instruction.
struct TreeNode {
  std::string iname;               // empty: a leaf
  int insn = -1;                   // leaf: index into Kernel::instructions
  std::vector<TreeNode> children;  // in order of execution
  bool is_loop() const { return !iname.empty(); }
};

/// A list of names that never changes, one object for all that have it.
class SharedNames {
 public:
  SharedNames() = default;
  explicit SharedNames(std::vector<std::string> names)
      : names_(std::make_shared<const std::vector<std::string>>(std::move(names))) {}

  const std::vector<std::string>& get() const {
    static const std::vector<std::string> none;
    return names_ ? *names_ : none;
  }
  operator const std::vector<std::string>&() const { return get(); }  // NOLINT: a list is one
  auto begin() const { return get().begin(); }
  auto end() const { return get().end(); }
  std::size_t size() const { return get().size(); }
  const std::string& operator[](std::size_t i) const { return get()[i]; }

 private:
  std::shared_ptr<const std::vector<std::string>> names_;  // null: empty
};

/// The surroundings of an instruction. Lists that are equal in one tree are one object.
struct LoopNest {
  SharedNames loops;  // outer to inner
  SharedNames items;  // inames in teams, sorted
  SharedNames dims;   // the loops, then the items
};

/// The position of one instruction: what surrounds it, and at each level (the top first) the index
/// of the child that leads to it. Instructions beside one another have all but the last index in
/// common.
struct TreePath {
  std::shared_ptr<const LoopNest> nest;
  std::shared_ptr<const std::vector<int>> outer;  // indices, one for each loop
  int last = 0;                                   // index in the innermost loop

  const std::vector<std::string>& loops() const { return nest->loops; }
  const std::vector<std::string>& items() const { return nest->items; }
  const std::vector<std::string>& dims() const { return nest->dims; }
  int index(std::size_t level) const { return level < outer->size() ? (*outer)[level] : last; }
};

/// Inames tagged `l.N` or `l.auto` are not loops here: they number the work-items of a team that
/// run each statement together, and every target places them itself. All other inames, also those
/// tagged `g.N` or `par`, are loops.
struct LoopTree {
  std::vector<TreeNode> roots;
  std::vector<TreePath> paths;  // by instruction index
};

/// Derives the tree of a kernel without reductions, deterministically and without search.
///
/// Hard: instructions that share an iname share that loop, so a loop whose instructions are a
/// proper subset of another's is inside it; `priorities`; an iname whose bounds need a temporary is
/// inside the loops of that temporary's writer; `g.N` loops are outermost; `depends_on`; an order
/// that `before` demands (pairs of instruction indices: first runs before second wherever they
/// share no further loop). Preference: `loop_order` among loops, list order among statements.
///
/// Refuses `cannot-nest` with the constraints that clash. Cost: near-linear in instructions, plus
/// the pairs of inames that meet in one instruction.
LoopTree derive_tree(const Kernel& k, const std::vector<std::pair<int, int>>& before);
/// The same for pairs that all have the textual order, of a kernel that is its own reference. They
/// are computed only where they may matter: where instructions of different loops alternate in the
/// list, or `depends_on` asks for another order than the list.
LoopTree derive_tree(const Kernel& k,
                     const std::function<std::vector<std::pair<int, int>>()>& before);

/// The loops around each instruction in that tree, outer to inner. Cost: as above, without the
/// order of statements.
std::vector<SharedNames> derive_loops(const Kernel& k);

/// The tree with all that the kernel's own order relation demands; the one to generate code from.
/// Takes any kernel; returns it with reductions realized (whose instructions the tree refers to).
struct Nested {
  Kernel kernel;
  LoopTree tree;
};
Nested nest(Kernel k);
class RunOrder;
/// `k` with loops in place of the work-items that put parts of a segmented reduction together in
/// order: they run one after the other. `order` is that of `k`.
Kernel without_ordered_parts(Kernel k, const RunOrder& order);
/// Without the tags of work-items, lanes and groups, which do not determine the order.
Kernel in_sequence(const Kernel& k);
/// The tree of the kernel in_sequence(): its meaning. Where only a team can nest the loops, the
/// tags stay, except those that without_ordered_parts() removes, and each statement runs for the
/// whole team.
Nested nest_in_sequence(const Kernel& k);
/// The loop order with which the loops of `k` nest without those tags as they do with them,
/// `order`: a kernel read from text has no reference to say so. The loop order of `k` where that
/// does. Cost: linear.
std::vector<std::string> loop_order_in_sequence(const Kernel& k, const RunOrder& order);

/// The tree as text, one loop or instruction a line, indented.
std::string print_tree(const Kernel& realized, const LoopTree& tree);

}  // namespace moonloop
