#pragma once
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/model/proof_keys.h"
#include "core/order/commuting.h"
#include "core/order/counterexample.h"
#include "core/order/kept_order.h"
#include "core/order/order_reference.h"

/// The proof behind `check_legal`: the present order of a kernel keeps every dependence of its
/// reference. legality.cpp chooses the pairs of accesses; legality_nest.cpp answers from the loops
/// only, once per pair of nests; legality_exact.cpp queries isl about the instances.
namespace moonloop {

/// Whether work-items of a team combine what each accumulates in the reduction's update: the order
/// of its values does not matter.
bool combines_items(const Instruction& update);

/// Parts of a segmented reduction that work-items along one iname keep, and combine in the order of
/// that iname after all loops of the reduction.
struct OrderedParts {
  std::string iname;
  std::size_t outer = 0;  // loops around the whole reduction
};
/// Those of the reduction that statement `s` updates; nothing where it does not, or where no single
/// iname numbers its work-items.
std::optional<OrderedParts> ordered_parts(const RunOrder& order, int s);

/// For the drawing of a refusal: what statement `s` does at the point `at`.
CounterexampleInstance counterexample_instance(const RunOrder& order, int s,
                                               const std::map<std::string, std::int64_t>& at,
                                               std::string does);

class Legality {
 public:
  explicit Legality(const Kernel& k);
  virtual ~Legality() = default;
  /// `after` came from `before` by changing or adding some accesses: the question is whether all
  /// that both have keeps its order.
  Legality(const Kernel& before, const Kernel& after);
  void check();
  const RunOrder& present() const { return *present_; }

 protected:  // core/order/parallelism.cpp and directions.cpp ask about the same pairs
  /// Two accesses that must keep their order, by reference statement. `commutes`: in either order,
  /// but not at the same time.
  struct Pair {
    int a = 0, b = 0;
    const Access *x = nullptr, *y = nullptr;  // null: an explicit dependence of b on a
    std::vector<std::string> equal;           // reference inames that agree in both instances
    bool commutes = false;
  };
  // legality.cpp
  void place();
  void carry();
  void check_all(const ByVariable& by_variable);
  void keep_common();
  template <class F>
  void check_carried(const std::string& name, const F& check) const;
  void check_variable(const std::string& name, const std::vector<AccessAt>& all);
  void check_group(const std::vector<AccessAt>& group);
  void check_chain(const std::vector<AccessAt>& group);
  void check_accesses(const AccessAt& a, const AccessAt& b);
  bool is_carried(const AccessAt& a, const AccessAt& b) const;
  void check_meeting(const AccessAt& a, const AccessAt& b);
  const std::vector<std::string>& determined(const Expr& subscript);
  CommutingUpdates& commuting() const;
  bool updates_commute(const Instruction& a, const Instruction& b, const std::string& name) const;
  static Pair turned(const Pair& p);
  /// Called with each pair that needs a proof.
  virtual void check_pair(const Pair& p);
  /// Whether a pair of accesses to a temporary needs no look at which iterations have their own.
  virtual bool is_settled(const Pair& p) { return same_nest(p) && same_nest(turned(p)); }
  /// Of the iterations to which the reference keeps a temporary, those that the present loops keep
  /// apart.
  struct Confined {
    std::vector<std::string> inames;  // of the reference
    std::size_t loops = 0;            // how many outer ones of the present loops these determine
  };
  const Confined& confined_to(const std::string& name, const Web& web);
  const Confined& confined_to(const Pair& p);
  Confined find_confined(const std::string& name, const Web& web) const;
  /// Instances in different ones of those iterations do not meet.
  void confine(Pair& p);
  /// Whether the subscripts alone put the two into one iteration of all loops that they share now.
  bool in_one_iteration(const Pair& p) const;
  bool determine(const Exprs& values, const std::vector<std::string>& loops,
                 const std::vector<std::string>& items) const;

  // legality_nest.cpp
  bool loops_keep(const Pair& p);
  bool same_nest(const Pair& p) const;
  /// The present inames that number the pieces of `value`, outer to inner, if equal values mean
  /// equal inames; `domain` is that of `dims`, the loops and work-items around it.
  const std::optional<std::vector<std::string>>& pieces_of(const Expr& value,
                                                           const std::vector<std::string>& dims,
                                                           const Set& domain) const;
  bool pieces_keep(const Pair& p, const Exprs& values, const std::vector<std::string>& shared,
                   std::size_t loops, const std::vector<std::string>& dims,
                   std::size_t present_loops) const;
  NestKey nest_key(const Pair& p, const Exprs& values, const std::vector<std::string>& shared,
                   std::size_t shared_loops, const std::vector<std::string>& dims,
                   std::size_t present_loops) const;
  bool nest_keeps(const Pair& p) const;

  // legality_parts.cpp
  /// The parts whose order decides about a pair, of two updates of one segmented reduction, where
  /// statement `s` of `order` is that of the pair.
  static std::optional<OrderedParts> parts_of(const Pair& p, const RunOrder& order, int s);
  /// { earlier instance -> later one } of statement `s`, whose parts are combined.
  static Map parts_before(const RunOrder& order, int s, const OrderedParts& parts,
                          bool (*unordered)(const InameTag*));
  void check_parts() const;

  // legality_copies.cpp
  void check_copies();
  void check_copies(const std::string& name, const std::vector<AccessAt>& all, const Web& web);
  bool stay_in_copies(const std::string& name, const std::vector<AccessAt>& all, const Web& web,
                      const std::set<std::string>& numbers);
  void prove_copies(const AccessAt& write, const AccessAt& read,
                    const std::vector<AccessAt>& all) const;
  void check_former_copies();
  std::string way_out(const AccessAt& write, const AccessAt& read, const std::string& lost) const;
  void prove_apart(const AccessAt& write, const AccessAt& read, std::vector<std::string> equal,
                   const std::string& lost) const;
  [[noreturn]] void refuse_copies(const AccessAt& write, const AccessAt& read, const Witness& found,
                                  bool exact, const std::string& why,
                                  const std::string& hint) const;
  std::vector<std::string> numbers(const std::string& name, int reference) const;
  ApproximateMap flow(const AccessAt& write, const AccessAt& read, bool within) const;

  // legality_linear.cpp
  /// Whether the constraints of the pair, without isl, show that it keeps its order. False says
  /// nothing.
  bool plainly_kept(const Pair& p) const;
  /// Whether no two instances that must keep their order are in one iteration of the first `depth`
  /// of the present loops, which both are in; nothing where that is not seen without isl.
  std::optional<bool> plainly_none(const Pair& p, std::size_t depth) const;
  struct LinearPairs;
  std::optional<LinearPairs> linear_pairs(const Pair& p) const;
  /// The answer of nest_keeps where it is certain.
  std::optional<bool> nest_plainly_keeps(const Pair& p, const Exprs& values,
                                         const std::vector<std::string>& shared, std::size_t loops,
                                         const std::vector<std::string>& dims, const Set& domain,
                                         std::size_t present_loops) const;

  // legality_exact.cpp
  /// The points of the loops and work-items around statement `s` of `order`, either of the two.
  const Set& points(const RunOrder& order, int s) const;
  /// { instances of a -> instances of b that must run later }, present ones.
  ApproximateMap demanded(const Pair& p) const;
  /// Values of the reference's inames at a present instance of statement `s`.
  std::map<std::string, std::int64_t> reference_point(
      int s, const std::map<std::string, std::int64_t>& params,
      const std::map<std::string, std::int64_t>& present) const;
  void prove(const Pair& p) const;
  using Writers = std::vector<const Instruction*>;
  const Writers& writers(const RunOrder& order, const std::string& scalar) const;
  bool same_writers(const std::string& scalar) const;
  /// The scalar temporaries that decide about `p` without being in its sets.
  std::set<std::string> scalars_of(const Pair& p) const;
  bool see_one_value(const RunOrder& order, int s, const std::string& scalar,
                     const Map& pairs) const;
  Map with_known_scalars(const Pair& p, Map pairs) const;
  ProofKey proof_key(const Pair& p) const;
  std::string bounded_by(int s, const Access& access) const;
  [[noreturn]] void refuse_pair(const Pair& p, const Map& violated, bool exact) const;

  /// Whether iterations of the present loop `iname` may run at the same time without the user
  /// vouching for it; `shared`: those that combine parts of a reduction do not count.
  bool at_once(const std::string& iname, bool shared) const {
    if (present_->trusts(iname)) return false;
    return shared ? is_parallel_not_shared(k_.tag(iname)) : is_parallel(k_.tag(iname));
  }

  Runs runs(const std::string& iname) const;
  int now(int reference) const { return now_[std::size_t(reference)]; }
  const Expr& origin(int s, const std::string& name) const {
    return origins_[std::size_t(nests_[std::size_t(s)])].at(name);
  }

  const Kernel& k_;
  std::shared_ptr<const Reference> ref_;
  std::shared_ptr<const RunOrder> present_;
  ByVariable common_;      // accesses of both kernels; see the maker
  bool compares_ = false;  // made from two kernels
  bool trivial_ = false;   // its own order, all of it sequential: nothing to prove
  mutable std::unique_ptr<CommutingUpdates> commuting_;  // of the reference
  std::vector<int> now_;  // reference statement -> present one, or -1
  std::shared_ptr<const KeptOrder> known_order_;
  KeptOrder this_order_;
  Carried carried_;                                   // from the one to the other
  std::vector<std::map<std::string, Expr>> origins_;  // by nest, all its dims
  std::vector<int> nests_;  // by reference statement: equal for equal nests
  std::unordered_map<const Web*, Confined> confined_;
  mutable std::optional<OwnCopies> own_;                                  // of the present kernel
  std::unordered_map<const void*, std::vector<std::string>> determined_;  // by subscript
  mutable std::unordered_map<ValuesKey, std::optional<std::vector<std::string>>, KeyHash> pieces_;
  /// By variable: the statements that write it, of the reference and of the present kernel.
  mutable std::array<std::optional<std::unordered_map<std::string, Writers>>, 2> writers_;
  mutable std::array<std::unordered_map<const void*, Set>, 2> points_;  // by lists of dimensions
  mutable std::unordered_map<ValuesKey, bool, KeyHash> told_;           // answers of determine
  std::unordered_map<PairInLoopsKey, bool, KeyHash> known_;             // answers of loops_keep
};

}  // namespace moonloop
