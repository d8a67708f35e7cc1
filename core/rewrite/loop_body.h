#pragma once
#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "core/model/kernel.h"

namespace moonloop {

/// The instructions of a loop of the tree, and the loops in it. Cost: the tree.
class LoopBody {
 public:
  /// `k` has to outlive this.
  LoopBody(const Kernel& k, const std::string& iname);

  /// Ascending; none where no instruction is in the loop.
  const std::vector<std::size_t>& members() const { return members_; }
  /// What a copy of the loop copies for the instruction: the loop and those in it, of reductions
  /// too, and inames of a team whose bounds depend on them, with those that share a domain with one
  /// of these.
  std::set<std::string> own(std::size_t n) const;
  /// The same for all of its instructions together.
  std::set<std::string> own() const;

 private:
  const Kernel& k_;
  std::vector<std::size_t> members_;
  std::vector<std::set<std::string>> inside_;  // by instruction: the loop and those within it
};

}  // namespace moonloop
