#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/expr/evaluate.h"
#include "core/model/kernel.h"
#include "core/order/reference.h"

namespace moonloop::differential {

/// The verdict of enumerating all instances at concrete parameters about a reordered kernel.
struct Verdict {
  enum class Kind {
    Legal,
    Illegal,       // `why` names two instances
    Conservative,  // no value changes, but a temporary's cell is reused in another order, or
                   // fields of one record are accessed in another order
    Unknown,       // not enumerable: subscripts that depend on data, too many instances
  } kind = Kind::Unknown;
  std::string why;
};

/// Compares the order of kernels with that of a base, their own reference, from which they were
/// made by steps that only reorder. By enumeration: no isl relations, nothing of
/// core/order/legality.
///
///  * Every instance of the base runs exactly once.
///  * Accesses of one element of an array argument, one of them a write, keep their order, and are
///    not left to two iterations of a parallel loop, or two work-items of one statement.
///  * Every read of a temporary gets the value that the same write gave it in the base; a temporary
///    that is only accessed inside a parallel loop is private to its iterations.
///  * The text by itself gives that order too: where the loops of a team or of groups nest as
///    loops, they are read so.
///  * The updates of one reduction may be exchanged, and run at the same time in lanes and in
///    work-items, but not in iterations of a parallel loop.
class BruteForce {
 public:
  explicit BruteForce(const Kernel& base);
  ~BruteForce();
  Verdict compare(const Kernel& after, const Integers& values);

 private:
  struct Base;
  const Base& base_at(const Integers& values);  // enumerated once

  Kernel kernel_;
  std::vector<std::unique_ptr<Base>> bases_;  // by the values of parameters
};

/// Two instances that touch one element of an array argument, one of them a write, in different
/// iterations of a loop that they share. Updates that commute are none.
struct Conflict {
  std::string from, to;  // ids of statements, the earlier instance first
  DepKind kind = DepKind::Flow;
  std::string variable;
  std::vector<std::string> loops;      // that both share
  std::vector<std::int64_t> distance;  // by loop
  std::size_t level = 0;               // of the outermost one whose iterations differ
};
/// All of a kernel without teams in its own order, each once; nothing where it cannot be
/// enumerated.
std::optional<std::vector<Conflict>> conflicts(const Kernel& k, const Integers& values);

}  // namespace moonloop::differential
