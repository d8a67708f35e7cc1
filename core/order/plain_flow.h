#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/order/order.h"
#include "core/order/two_instances.h"
#include "core/sets/linear_proof.h"

namespace moonloop {

/// { instances of a write -> instances of a read of the same element } as linear constraints, but
/// for those of the read's instances. Whatever is not linear is refused: no pair is there that
/// should not be.
class PlainPairs {
 public:
  PlainPairs(const Kernel& k, const Variables& variables) : k_(k), variables_(variables) {}

  /// `written`: the points at which the write runs, over the inames `writer`; `write` and `read`:
  /// subscripts. False where they are not known.
  bool add(const std::vector<std::string>& writer, const Set& written, const Exprs& write,
           const std::vector<std::string>& reader, const Exprs& read);
  /// Both are in the same iteration; false where one of them does not have the iname.
  bool equate(const std::string& iname);
  /// How much more the read has of an expression, if that is known.
  std::optional<LinearForm> later(const Expr& at_write, const Expr& at_read);
  /// The pairs, in which `more` is not negative.
  std::optional<LinearRows> rows(const std::optional<LinearForm>& more = {}) const;

 private:
  const Kernel& k_;
  const Variables& variables_;
  TwoInstances two_;
  std::vector<LinearForm> equal_;
};

/// { instances of the write -> later instances of the read of the same element }, in which the
/// inames `same` of both are equal, in parts: those in the same iteration of most loops first. Of
/// linear constraints, without isl; those of the read's instances are not among them. Nothing where
/// the relation is not known so, or the write may not run at all points of its domain.
std::optional<std::vector<LinearRows>> plain_flow(const RunOrder& o, const Variables& variables,
                                                  int writer, const Access& write, int reader,
                                                  const Access& read,
                                                  const std::vector<std::string>& same);

/// Whether some instance of the reader, which runs at all points of its domain, surely is in none
/// of these relations to it. True is certain.
bool plainly_misses(const RunOrder& o, int reader,
                    const std::vector<std::vector<LinearRows>>& flows);

}  // namespace moonloop
