#pragma once
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/model/kernel.h"
#include "core/model/match.h"
#include "core/order/reference.h"
#include "core/order/reordered.h"
#include "core/rewrite/footprint.h"
#include "core/rewrite/rule_rewrite.h"

/// Staging values in a temporary: what precompute, add_prefetch and buffer_array share besides
/// footprints. A staging instruction runs ahead of (or after) the instructions it serves and is
/// proved by its stand-ins (core/order/reference.h).
namespace moonloop {

/// The calls of one substitution rule that a transform acts on, wherever they are: in assignees,
/// right sides, predicates, and inside other rules that those call.
class RuleCalls {
 public:
  /// `tag`: only calls with it; empty for all. `within` may name the levels around a call, or begin
  /// with the call itself.
  RuleCalls(const Kernel& k, std::string rule, std::string tag, Match within);
  /// Gives each selected call to `f`, with its arguments in terms of the instruction, and replaces
  /// it by the result. Inside of another rule `call` uses `$0` and so on for that rule's
  /// parameters, and so should the result: the rule stays one, in a version of `versions` where its
  /// calls change differently.
  using Visit =
      std::function<std::optional<Expr>(const Expr& call, const Exprs& args, const Place&)>;
  InsnPtr rewrite(const InsnPtr& insn, const Visit& f, RuleVersions& versions) const;
  /// The same for an `f` that replaces nothing.
  void visit(const InsnPtr& insn, const Visit& f) const;

 private:
  struct Walk;
  std::optional<Expr> at_node(Walk& walk, const Expr& e, const Place& at) const;
  bool selected(const Walk& walk, const Call& call) const;
  bool may_be_in(const Instruction& insn) const;
  const Kernel& k_;
  std::string rule_, tag_;
  Match within_;
  std::set<std::string> reaching_;  // rules that call it, directly or not
  std::uint32_t names_;             // bits of its name and of theirs
};

/// `base`, or `base_0`, … whichever is not in `taken`; adds it to `taken`.
std::string take_name(std::set<std::string>& taken, const std::string& base);

/// Loops tagged `g.N` or `par` (and `l.N` when `local_too`) that are around every place: each of
/// their iterations stages its own copy.
std::set<std::string> common_parallel(const Kernel& k, const std::vector<Place>& places,
                                      bool local_too);
/// The work-items' inames (`l.N`, `l.auto`) around a place.
std::set<std::string> work_items_of(const Kernel& k, const Place& at);

/// A default tag without `l.auto` where each work-item has its `own` copy, whose loops have no one
/// to share them.
std::optional<std::string> shared_default(const std::optional<std::string>& given, bool own);
/// The tag of new staging inames: `given` (`for` and the empty text mean none), else `l.auto` where
/// work-items share the loop, else none. Fails `bad-tag`.
std::optional<InameTag> staging_tag(const std::optional<std::string>& given, bool shared,
                                    const Span& at);
/// `private`, `local`, `global`, `auto`; fails `bad-address-space`.
AddressSpace parse_address_space(const std::string& text, const Span& at);
std::string to_string(AddressSpace s);

/// { [stage's inames] -> [place's inames] }: instance `y` of a staging instruction with the inames
/// `stage` is related to the instance `x` of `at` where the inames `shared` agree and, for each
/// pair, the first expression (over `stage`) at `y` equals the second (over the place's inames) at
/// `x`. Pairs that are not quasi-affine do not restrict. `k` holds all inames.
Map stage_relation(const Kernel& k, const std::set<std::string>& stage,
                   const std::vector<std::string>& shared, const Place& at,
                   const std::vector<std::pair<Expr, Expr>>& equal);

/// The reads of `insn` (`write`: its writes), rules expanded, without the variables `skip`.
std::vector<Access> accesses_to(const Kernel& k, const Instruction& insn, bool write,
                                const std::set<std::string>& skip);

/// Proves `after` by its stand-ins, makes it its own reference and checks it; without a proof, only
/// that it can be nested.
Kernel staged(const Kernel& before, Kernel after, const std::vector<StandIn>& all,
              Proof proof = Proof::Made);

/// Where staging instructions may be placed in a kernel.
class Sites {
 public:
  explicit Sites(const Kernel& k);

  /// The kernel with its instructions listed in the order in which its tree runs them; indices
  /// below count in this list.
  const Kernel& kernel() const { return kernel_; }

  /// Sets of loops that a staging instruction may be placed in, the best first: `needed` and those
  /// that cannot go inside of them; all loops around the place down to the innermost needed one;
  /// all loops outside those in `sweep` as well. Loops that are swept or not in `common` are left
  /// out.
  std::vector<std::set<std::string>> nests(std::size_t use, const Place& at,
                                           const std::set<std::string>& needed,
                                           const std::set<std::string>& sweep,
                                           const std::set<std::string>& common) const;

  /// Where an instruction in the loops `nest` is put into the list: ahead of (after) all that runs
  /// in loops outside of `nest` with the use.
  std::size_t ahead_of(std::size_t use, const Place& at, const std::set<std::string>& nest) const;
  std::size_t behind(std::size_t use, const Place& at, const std::set<std::string>& nest) const;

 private:
  void derive();
  std::set<std::string> enclosed(const std::set<std::string>& needed,
                                 const std::vector<std::string>& loops) const;
  const TreePath& path_of(std::size_t use, const Place& at) const;
  std::pair<std::size_t, std::size_t> span_of(std::size_t use, const Place& at,
                                              const std::set<std::string>& nest) const;
  const LoopTree& tree() const;
  Kernel kernel_;
  std::shared_ptr<const Reference> order_;  // of `kernel_`
  std::vector<int> owner_;  // by statement of `order_`: the instruction it is part of
  std::vector<std::vector<int>> statements_;  // by instruction
};

}  // namespace moonloop
