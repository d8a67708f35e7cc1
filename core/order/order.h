#pragma once
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/name_index.h"
#include "core/model/domain.h"
#include "core/order/reference.h"
#include "core/order/tree.h"
#include "core/sets/approximation.h"

/// The order in which a nested kernel runs its instances, as isl maps; the basis of queries of the
/// order relation (legality, dependences, stand-ins).
namespace moonloop {

/// Inames whose parallel iterations the user takes on trust (the option `unsafe`).
std::set<std::string> trusted_inames(const Kernel& k);
/// The same, each with the loops inside of it whose iterations do not matter, see Claim::inside.
std::map<std::string, std::set<std::string>> trusted_loops(const Kernel& k);

/// A nested kernel ready for queries. Statements are the realized kernel's instructions.
class RunOrder {
 public:
  explicit RunOrder(Nested nested);

  const Kernel& kernel() const { return nested_.kernel; }
  const LoopTree& tree() const { return nested_.tree; }
  const Instruction& insn(int s) const { return *nested_.kernel.instructions[std::size_t(s)]; }
  int size() const { return static_cast<int>(nested_.kernel.instructions.size()); }

  /// Loops around statement `s`, outer to inner, and its inames in teams, sorted.
  const std::vector<std::string>& loops(int s) const {
    return tree().paths[std::size_t(s)].loops();
  }
  const std::vector<std::string>& items(int s) const {
    return tree().paths[std::size_t(s)].items();
  }
  /// Both, in this order: the dimensions of the statement's instances.
  const std::vector<std::string>& dims(int s) const { return tree().paths[std::size_t(s)].dims(); }
  /// Position in the order of execution, loops read as one iteration.
  int position(int s) const { return position_[std::size_t(s)]; }
  const std::vector<int>& by_position() const { return sequence_; }
  /// Statement with this id, or -1.
  int find(const std::string& id) const { return by_id_.find(id); }

  /// How many loops `a` and `b` share; the same loops of the tree, from the outermost on.
  std::size_t common_loops(int a, int b) const;
  /// Work-item inames that both have, sorted.
  std::vector<std::string> common_items(int a, int b) const;
  /// Whether `a` runs before `b` where all loops that they share agree; false for `a == b`.
  bool first(int a, int b) const { return a != b && position(a) < position(b); }

  /// The instances of `s` over `dims(s)`, affine predicates included; not exact where predicates or
  /// bounds that depend on computed values were left out.
  ApproximateSet domain(int s) const;

  /// { instances of a -> instances of b that run later }, over dims. Loops whose tag `unordered`
  /// accepts order nothing; nor do work-item inames: their instances of one statement run at the
  /// same time, and all of them before the next statement. Iterations of a trusted loop count as
  /// ordered, those of trusted work-items in either direction, also in different iterations of
  /// loops inside of which somebody vouches for them.
  Map before(int a, int b, bool (*unordered)(const InameTag*)) const;

  /// Whether the user vouches for the iterations of `iname` that run at the same time.
  bool trusts(const std::string& iname) const { return trusted_.count(iname) > 0; }
  /// Whether it does so whatever iterations of `loop` they are in.
  bool trusts_in(const std::string& iname, const std::string& loop) const {
    const auto it = trusted_.find(iname);
    return it != trusted_.end() && it->second.contains(loop);
  }

 private:
  Nested nested_;
  std::vector<int> position_, sequence_;
  NameIndex by_id_;                                          // ids of the kernel's instructions
  std::map<std::string, std::set<std::string>> trusted_;     // see trusted_loops()
  mutable std::unordered_map<int, ApproximateSet> domains_;  // by statement, those asked for
};

/// { in -> out } with the dimensions named; everything.
Map universal_map(const std::vector<std::string>& in, const std::vector<std::string>& out);
Map equate(Map m, std::size_t in, std::size_t out);    // in[i] == out[j]
Map order_lt(Map m, std::size_t in, std::size_t out);  // in[i] < out[j]

/// Parameters of `s` that are temporaries.
std::vector<std::string> computed_params(const Kernel& k, const Set& s);
/// Parameters of `s` that are temporaries are projected out, but for those that `stays` accepts;
/// not exact where there are any.
ApproximateSet without_computed(const Kernel& k, Set s,
                                const std::function<bool(const std::string&)>& stays = {});

struct CalledKernels;  // core/order/called_effects.h

/// Names of the array arguments and temporaries of a kernel, and the temporaries that bounds of
/// loops read, for many look-ups. Cost: a look at the parameters of all domains, none where there
/// are no temporaries; the arguments are numbered once for all kernels that share them.
class Variables {
 public:
  explicit Variables(const Kernel& k);
  bool has(std::string_view name) const { return is_temporary(name) || is_array(name); }
  bool is_temporary(std::string_view name) const {
    return temporaries_.contains(name) && !is_array(name);
  }
  /// Whether some loop has bounds that are computed in the kernel.
  bool any_bounds() const { return !bounds_.empty(); }
  /// The variables read by the bounds of the loop over `iname`.
  const std::vector<Access>& bounds_of(const std::string& iname) const;
  /// Null where no kernel is called.
  const CalledKernels* calls() const { return calls_.get(); }

 private:
  struct Arrays;
  static std::shared_ptr<const Arrays> arrays_of(const Kernel& k);
  bool is_array(std::string_view name) const;

  std::shared_ptr<const Arrays> arrays_;  // among the arguments
  Shared<NameMap<Temporary>> temporaries_;
  std::unordered_map<std::string, std::vector<Access>> bounds_;
  std::shared_ptr<const CalledKernels> calls_;
};
/// A list of accesses shared by its users.
class AccessList {
 public:
  AccessList() = default;
  explicit AccessList(std::vector<Access> all);
  auto begin() const { return list().begin(); }
  auto end() const { return list().end(); }
  std::size_t size() const { return list().size(); }
  bool empty() const { return list().empty(); }
  const Access& operator[](std::size_t i) const { return list()[i]; }

  /// NameIndex::hash_of the variable of the i-th one.
  std::size_t hash(std::size_t i) const { return all_->hashes[i]; }
  /// One access of each variable that is read, or written, in the order of their names.
  const std::vector<std::size_t>& reads() const;
  const std::vector<std::size_t>& writes() const;

 private:
  struct Data {
    std::vector<Access> all;
    std::vector<std::size_t> hashes, reads, writes;
  };
  const std::vector<Access>& list() const {
    static const std::vector<Access> none;
    return all_ ? all_->all : none;
  }
  std::shared_ptr<const Data> all_;  // null: none
};

/// Accesses of a statement, reads first, each (variable, direction, subscripts) once. An Update
/// reads the variables that it writes. Each instance also reads what decides whether it runs: its
/// predicates, and the inputs to the bounds of the loops around it. Remembered with the
/// instruction: asking again costs a look-up for each variable without subscripts.
AccessList statement_accesses(const Instruction& insn, const Variables& variables);

/// Calls `visit` with the names that a statement reads, those that bounds of its loops need too;
/// with some more than once.
void for_each_name_read(const Kernel& k, const Variables& variables, const Instruction& insn,
                        const std::function<void(const std::string&)>& visit);

/// Whether the value of `e` at an instance is determined only by the instance.
bool is_fixed(const Expr& e, const Variables& variables);
/// { dims -> [element] } of one access, over the axes whose subscripts are affine in `dims` and
/// parameters; `axes` says which. A subscript that needs a computed value is left out.
struct ElementMap {
  Map map;
  std::vector<int> axes;
};
ElementMap element_map(const Kernel& k, const Access& a, const std::vector<std::string>& dims,
                       const Variables& variables);

/// { x -> y : both touch one element }; not exact where some subscript does not restrict although
/// it might. The dimensions are inames of `k`; the claims are those of `claims`.
ApproximateMap conflict_map(const Kernel& k, const Kernel& claims, const Variables& variables,
                            const Access& a, const std::vector<std::string>& a_dims,
                            const Access& b, const std::vector<std::string>& b_dims);
inline ApproximateMap conflict_map(const Kernel& k, const Variables& variables, const Access& a,
                                   const std::vector<std::string>& a_dims, const Access& b,
                                   const std::vector<std::string>& b_dims) {
  return conflict_map(k, k, variables, a, a_dims, b, b_dims);
}

/// The points of { [dims] } where a read is made, if it is in an arm of a conditional expression
/// that instances alone choose: it is not made elsewhere. Nothing where that is not known.
std::optional<Set> where_made(const Kernel& k, const Access& a,
                              const std::vector<std::string>& dims);
/// As conflict_map, of instances that make both accesses, see where_made().
ApproximateMap meetings(const Kernel& k, const Kernel& claims, const Variables& variables,
                        const Access& a, const std::vector<std::string>& a_dims, const Access& b,
                        const std::vector<std::string>& b_dims);

/// A pair of instances and the parameters for which they exist; a small one of `m`, not empty, or
/// zeros where nobody asks for reasons (core/order/counterexample.h).
struct Witness {
  std::map<std::string, std::int64_t> params, a, b;
};
Witness witness(const Map& m, const std::vector<std::string>& a_dims,
                const std::vector<std::string>& b_dims);
/// ` (n=5)`, or nothing.
std::string parameters_text(const std::map<std::string, std::int64_t>& params);

/// The value of an integer expression, where that is known.
std::optional<std::int64_t> evaluate(const Expr& e, const std::map<std::string, std::int64_t>& at);

/// `update[i=3, j=0]`.
std::string instance_text(const std::string& id, const std::vector<std::string>& dims,
                          const std::map<std::string, std::int64_t>& at);
/// `a[4, 0]`; subscripts that cannot be evaluated stay text.
std::string element_text(const Access& a, const std::map<std::string, std::int64_t>& at);

}  // namespace moonloop
