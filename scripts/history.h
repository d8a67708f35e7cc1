#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/model/kernel.h"

/// The history of a session: states, one after each step, as a tree, because a step after an undo
/// starts another line of states. A branch is a name for a position on one such line; the present
/// branch moves with each step, undo and redo.
namespace moonloop {

using KernelPtr = std::shared_ptr<const Kernel>;

/// The kernels of a session, by the globals that hold them, and the one that commands apply to.
struct Snapshot {
  std::map<std::string, KernelPtr> kernels;
  std::string current;  // a key of `kernels`; empty when there is none
  KernelPtr kernel() const;
};

class History {
 public:
  explicit History(Snapshot start);

  const Snapshot& now() const { return nodes_[at()].state; }
  /// The state `n` steps back, or the first one when there are fewer.
  const Snapshot& before(int n) const;
  /// Steps from the start to here.
  int steps() const;
  /// The lines that made them, oldest first.
  std::vector<std::string> lines() const;

  void add(Snapshot next, std::string line);
  /// Goes `n` steps back or forth, or none: fails `nothing-to-undo`, `nothing-to-redo`. A redo
  /// takes the way that was left last.
  void undo(int n);
  void redo(int n);

  const std::string& branch() const { return branch_; }
  std::vector<std::string> branches() const;  // by name
  bool has_branch(const std::string& name) const { return heads_.count(name) > 0; }
  /// The state where a branch is. Fails `unknown-branch`.
  const Snapshot& on_branch(const std::string& name) const;
  /// Names this state and goes on from it under that name. Fails `name-taken`.
  void make_branch(const std::string& name);
  /// Goes to where a branch is. Fails `unknown-branch`.
  void switch_to(const std::string& name);
  /// Makes another kernel of this state the current one; that is not a step.
  void touch(const std::string& kernel) { nodes_[at()].state.current = kernel; }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  struct Node {
    Snapshot state;
    std::string line;  // that made it
    std::size_t parent = kNone, next = kNone;
  };
  std::size_t at() const { return heads_.at(branch_); }

  std::vector<Node> nodes_;
  std::map<std::string, std::size_t> heads_;  // by branch
  std::string branch_;
};

}  // namespace moonloop
