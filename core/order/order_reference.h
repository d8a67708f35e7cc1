#pragma once
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/model/proof_keys.h"
#include "core/order/address_spaces.h"
#include "core/order/order.h"

/// The standard for a kernel's instances: its reference order with the accesses.
namespace moonloop {

struct AccessAt {
  int insn = 0;
  int access = 0;  // index into Reference::accesses[insn]
};

/// Accesses by their variables, in the order of the variables' names.
class ByVariable {
 public:
  using Entry = std::pair<std::string, std::vector<AccessAt>>;

  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }
  std::size_t size() const { return entries_.size(); }
  /// Cost: logarithmic.
  std::vector<Entry>::const_iterator find(std::string_view variable) const;
  const std::vector<AccessAt>& at(std::string_view variable) const;
  void reserve(std::size_t size) { entries_.reserve(size); }
  /// `variable`, and nothing yet, comes after all others.
  void append(std::string variable, std::vector<AccessAt> all) {
    entries_.emplace_back(std::move(variable), std::move(all));
  }

 private:
  std::vector<Entry> entries_;
};

/// Accesses of a temporary that pass its values only among themselves: no read of them finds what
/// others wrote, and no other read finds what they wrote.
struct Web {
  std::vector<int> statements;  // that make them, ascending
  /// Inames (outermost loops of the tree, then work-item inames) whose every iteration could have a
  /// copy of its own for them: all are inside of these, and each read finds what was written in the
  /// same iteration.
  std::vector<std::string> own;
  /// Webs that follow each other in one iteration of the loops around all, as for a `t` that is
  /// used in two loops, one after the other, and written in each before it is read. Else none.
  std::vector<Web> inner;

  /// The innermost web with accesses of both statements.
  const Web& around(int a, int b) const;
};

/// The most that it may cost a proof to find whether a read finds what was written in the same
/// iteration. isl's operations are large ones here: systems of hundreds of unknowns where loops are
/// in pieces.
inline constexpr unsigned long kCoverOperations = 600'000;

/// A realized kernel in its own order, and its accesses. Immutable; shared by all kernels that
/// reordering transforms make from it.
class Reference {
 public:
  explicit Reference(Nested nested);

  RunOrder order;
  Variables variables;
  std::vector<AccessList> accesses;  // by statement

  const Access& at(const AccessAt& a) const {
    return accesses[std::size_t(a.insn)][std::size_t(a.access)];
  }

  /// All accesses by their variables, each list in order of execution. Found once, on demand.
  const ByVariable& by_variable() const;

  /// All accesses of temporary `name` as one web, and its parts. Computed once; cost: isl where the
  /// first access of a web is not a plain write to the whole variable, up to `operations` for each
  /// read.
  const Web& web(const std::string& name, unsigned long operations = kCoverOperations) const;

  /// The inames of the reference whose every iteration has its own copy of temporary `name`, for
  /// all accesses, or for those that pass values to accesses of the statements `a` and `b`.
  const std::vector<std::string>& private_to(const std::string& name) const {
    return web(name).own;
  }
  const std::vector<std::string>& private_to(const std::string& name, int a, int b) const {
    return web(name).around(a, b).own;
  }

  /// Of the reference's kernel, found once.
  const OwnCopies& own() const;

  mutable bool reads_are_defined = false;  // check_defined has said so
  /// Whether an instance of the first access, by statement and number, runs before one of the
  /// second that touches the same element, with those claims: what was asked so far
  /// (core/order/nest.cpp).
  mutable std::map<std::pair<std::array<int, 4>, ClaimsKey>, bool> depends;
  /// The same in one iteration of the loops that two present statements share, all but those of
  /// teams: by the statements, their instances, which have these addresses as long as the answer
  /// has them, and the shared inames of teams.
  struct AskedWithin {
    std::array<int, 4> accesses;
    const Instruction *x, *y;
    const isl_set *at_x, *at_y;
    std::vector<std::string> teams;
    ClaimsKey claims;
    auto operator<=>(const AskedWithin&) const = default;
  };
  struct AnswerWithin {
    InsnPtr x, y;
    Set at_x, at_y;
    bool depends = false;
  };
  mutable std::map<AskedWithin, AnswerWithin> depends_within;

 private:
  ByVariable find_by_variable() const;

  mutable std::optional<ByVariable> by_variable_;
  mutable std::map<std::string, Web> webs_;
  mutable std::optional<OwnCopies> own_;
};

/// Whether the tag spreads iterations over work-items, lanes or groups: a text's order is that
/// without it.
bool spreads(const InameTag* tag);

/// `k` nested, with its accesses. The last few are kept: steps need the kernel that they start
/// from, which the step before made and proved. Cost where it is kept: a comparison of addresses,
/// linear in the kernel.
std::shared_ptr<const Reference> ordered(const Kernel& k);
/// The order alone, for kernels that will not be used again.
std::shared_ptr<const RunOrder> order_of(const Kernel& k);

/// The reference of `k`: the one that it has, or the one that it is.
std::shared_ptr<const Reference> reference_of(const Kernel& k);

/// Pairs of instructions, by index, that access one variable, not both only reading, and follow
/// each other closely enough that all such pairs follow by transitivity. `sequence` is the order to
/// use.
std::vector<std::pair<int, int>> conflict_chain(const Kernel& k, const std::vector<int>& sequence);

/// `k`'s instructions in a list whose meaning is `order`, the order of `k` itself: by their last
/// parts, except where a reduction's other parts must run before what is between them. Refuses
/// `parts-alternate` where no list expresses it. Cost: linear, and a conflict chain where parts are
/// apart.
std::vector<InsnPtr> linearized(const Kernel& k, const RunOrder& order);

/// The instruction of `k`, by index, that each statement of `order`, its order, belongs to. Parts
/// of an instruction come one after the other; the last one has its id.
std::vector<int> owners(const Kernel& k, const RunOrder& order);

/// Whether another instruction runs between the parts of some instruction; `owner` as above.
bool parts_stand_apart(const RunOrder& order, const std::vector<int>& owner);

/// Reference iname `name` of the statement `insn` in terms of its present inames.
Expr origin_of(const Instruction& insn, const std::string& name);

}  // namespace moonloop
