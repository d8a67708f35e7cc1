#pragma once
#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/order/order_reference.h"

/// Reuse of a proof of an order for the next one: most of a kernel stays the same from one step to
/// the next, and that part needs no second proof.
namespace moonloop {

/// A kernel whose order is known to keep that of its reference.
struct KeptOrder {
  std::shared_ptr<const Reference> reference;
  std::shared_ptr<const RunOrder> present;
  std::vector<int> now;  // reference statement -> present one, or -1
};

/// The statements that run as they ran in a kernel known to be in order: the same objects, in the
/// same loops with the same domains and tags, before and after the same others. Every pair of their
/// instances that had to keep its order has kept it. Where a statement computes something else in
/// the same place, this holds of the accesses that it still makes.
class Carried {
 public:
  Carried() = default;
  /// `next` is the kernel in question. Nothing is carried where claims or assumptions went, or
  /// where the statements that stayed changed places. Cost: linear, with no question to isl.
  Carried(const KeptOrder& known, const KeptOrder& next);

  bool has(int reference_statement) const {
    return !stayed_.empty() && stayed_[std::size_t(reference_statement)] == Stayed::Whole;
  }
  /// Whether all accesses to the variable are made by such statements, or stayed in such places,
  /// and there were no others.
  bool all(const std::string& variable, const std::vector<AccessAt>& accesses) const;
  /// Whether both accesses are made by statements that stayed, or stayed in their places, and made
  /// them before.
  bool both(const AccessAt& a, const AccessAt& b) const;

 private:
  /// How much of a statement stayed: nothing that counts, its place, or all of it.
  enum class Stayed : char { None, InPlace, Whole };
  Stayed stayed(int was, int is);
  bool same_loops(int was, int is, int a, int b);
  bool same_loop(const std::string& iname);
  /// Notes temporaries that only one of the two has, or that are stored elsewhere.
  void changed_storage(const Kernel& a, const Kernel& b);
  /// Inames whose domains differ between `a` and `b`.
  void changed_domains(const Kernel& a, const Kernel& b);
  /// Inames of loops whose bounds something computes in other loops than before.
  void changed_bounds(const Kernel& a, const Kernel& b);
  /// Scalar temporaries that statements write which only one of the two has: subscripts of them
  /// may be other numbers at other iterations now.
  void changed_scalars(const Kernel& a, const Kernel& b);
  bool in_the_same_order() const;
  bool was_there(const AccessAt& access) const;
  /// Whether a subscript reads one of `scalars_`.
  bool reads_changed(const AccessAt& access) const;

  const KeptOrder *known_ = nullptr, *next_ = nullptr;
  std::vector<Stayed> stayed_;                  // by statement of the next reference
  std::vector<int> was_;                        // the known reference's statement, or -1
  std::unordered_set<std::string> changed_;     // inames
  std::unordered_set<std::string_view> moved_;  // temporaries
  std::unordered_set<std::string> scalars_;     // that others write
  std::uint32_t scalar_bits_ = 0;               // of their names, see name_bit
  std::unordered_map<std::string, bool> loops_;
  std::array<const void*, 4> lists_{};  // of loops, of the latest answer of same_loops
  bool same_ = false;                   // that answer
  mutable std::size_t expected_ = 0;    // entry of the known accesses that the next variable has
};

/// The latest known order that may say something of `next`, kept by `remember`; null if there is
/// none.
std::shared_ptr<const KeptOrder> known_order(const KeptOrder& next);
void remember(KeptOrder proved);

}  // namespace moonloop
