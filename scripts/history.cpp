#include "scripts/history.h"

#include <algorithm>

namespace moonloop {

KernelPtr Snapshot::kernel() const {
  const auto it = kernels.find(current);
  return it == kernels.end() ? nullptr : it->second;
}

History::History(Snapshot start) : branch_("main") {
  for (int i = 0; start.kernels.count(branch_); ++i) branch_ = fmt::format("main_{}", i);
  nodes_.push_back({std::move(start), {}});
  heads_[branch_] = 0;
}

const Snapshot& History::before(int n) const {
  std::size_t node = at();
  for (; n > 0 && nodes_[node].parent != kNone; --n) node = nodes_[node].parent;
  return nodes_[node].state;
}

int History::steps() const { return static_cast<int>(lines().size()); }

std::vector<std::string> History::lines() const {
  std::vector<std::string> out;
  for (std::size_t node = at(); nodes_[node].parent != kNone; node = nodes_[node].parent)
    out.push_back(nodes_[node].line);
  std::reverse(out.begin(), out.end());
  return out;
}

void History::add(Snapshot next, std::string line) {
  nodes_.push_back({std::move(next), std::move(line), at()});
  nodes_[at()].next = nodes_.size() - 1;
  heads_[branch_] = nodes_.size() - 1;
}

void History::undo(int n) {
  std::size_t node = at();
  const int there = steps();
  if (n > there)
    fail("nothing-to-undo", {}, "{} to undo on branch `{}`, not {}",
         there == 0 ? "nothing is there" : fmt::format("{} steps are there", there), branch_, n);
  for (; n > 0; --n) {
    nodes_[nodes_[node].parent].next = node;
    node = nodes_[node].parent;
  }
  heads_[branch_] = node;
}

void History::redo(int n) {
  std::size_t node = at();
  for (int i = 0; i < n; ++i) {
    if (nodes_[node].next == kNone)
      fail("nothing-to-redo", {}, "{} to redo on branch `{}`, not {}",
           i == 0 ? "nothing is there" : fmt::format("{} steps are there", i), branch_, n);
    node = nodes_[node].next;
  }
  heads_[branch_] = node;
}

std::vector<std::string> History::branches() const {
  std::vector<std::string> out;
  for (const auto& [name, node] : heads_) out.push_back(name);
  return out;
}

void History::make_branch(const std::string& name) {
  if (heads_.count(name) || now().kernels.count(name))
    fail("name-taken", {}, "`{}` is the name of a {} already", name,
         heads_.count(name) ? "branch" : "kernel");
  heads_[name] = at();
  branch_ = name;
}

const Snapshot& History::on_branch(const std::string& name) const {
  const auto it = heads_.find(name);
  if (it == heads_.end())
    fail("unknown-branch", {}, "no branch `{}`; there is {}{}", name, quoted_list(branches()),
         did_you_mean(name, branches()));
  return nodes_[it->second].state;
}

void History::switch_to(const std::string& name) {
  on_branch(name);
  branch_ = name;
}

}  // namespace moonloop
