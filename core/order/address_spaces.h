#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/model/kernel.h"

/// Which members of a team have a temporary to themselves. Legality, the interpreter and code
/// generation all use this, so that what is proved is what runs.
namespace moonloop {

/// Temporaries of which every member of a team has its own copy: `private` and `auto` ones, except
/// those that a statement writes at a number of the team (for `private` ones: not one by which the
/// subscript is read from an array), which the team shares, or writes outside
/// of the work-items together with a place that these share. All work-items (`l.N`, `l.auto`) have
/// their own or share, but for what own_axes() says; for `ilp` and `vec` inames each decides for
/// itself. One pass over the statements.
class OwnCopies {
 public:
  explicit OwnCopies(const Kernel& k);
  bool per_item(const std::string& temporary) const { return items_.count(temporary) > 0; }
  /// Each value of `iname`, which is in a team, has its own.
  bool has(const std::string& temporary, const std::string& iname) const;
  /// By axis of a `private` array, whether each access has the element at the number of its
  /// work-item, as `row[.., i]` with `i` along `l.0`: its work-items share it along these axes
  /// alone, and each may keep its part. Empty where an access along some axis of the group is
  /// another one.
  std::vector<bool> own_axes(const std::string& temporary) const;

 private:
  void share_by_pairs(const Kernel& k);
  void find_own_axes(const Kernel& k);

  struct OwnAxes {
    std::vector<bool> axes;  // of the array
    std::set<int> of_items;  // axes of the group that these are along
  };
  std::map<std::string, OwnAxes> own_axes_;
  std::map<std::string, int> item_axis_;  // of inames tagged `l.N`
  std::set<std::string> private_, items_;
  std::set<std::string> lanes_;                          // inames
  std::map<std::string, std::set<std::string>> shared_;  // temporaries, by lane
};

}  // namespace moonloop
