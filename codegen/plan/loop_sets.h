#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/sets/coalesce.h"
#include "core/sets/isl.h"

/// Sets for loops: whose last dimension is the iname of a loop.
namespace moonloop {

Set without_last(Set s);
Set drop_on_last(Set s);
/// A convex set around `s` that bounds the last dimension. The simple hull only keeps bounds that
/// its parts have in parallel; where that leaves none, the polyhedral hull is needed too.
Set hull(Set s);
/// A convex set without the constraints that do not bound the last dimension. With quotients in it,
/// nothing is dropped: a constraint on a quotient may be one on the dimension.
Set keep_on_last(Set convex);

/// The place of a parameter of `s`, which gets it if it has none of that name.
unsigned param_of(Set& s, const std::string& name);
/// `s` where the parameter `iname` is from 0 to `extent`, exclusive.
Set between(Set s, const std::string& iname, int extent);

/// Whether the constraints of `context` are, as they stand, those of `points` and more.
bool shows(const Set& context, const Set& points);

/// Whether there are integers in the set of which only bounds are known, as of loops inside.
bool has_unknown_quotients(const Set& s);
/// Without constraints on scalars that are only computed inside, the parameters `names`.
Set without_params(Set s, const std::set<std::string>& names);
/// The parts of `s` that have points in common with `other`.
Set parts_that_meet(const Set& s, const Set& other);
/// What `context` leaves open of points without quotients and equalities, in one part; nothing for
/// others. Most questions about it are answered by the constraints as they stand.
std::optional<BasicSet> plain_guard(const Set& points, const Set& context);

/// The iname of { [iname] }.
Aff iterator(const Set& range);
/// A lower bound of a loop and the largest distance of an iteration from it, plus one.
struct ConstantSpan {
  Aff lower;
  std::int64_t length;
};
/// The shortest one of { [iname] } for the parameters of `context`; none where no bound is known.
std::optional<ConstantSpan> constant_span(const Set& range, const Set& context);

/// `range`, a loop's iterations { [iname] }, with bounds that are numbers and a condition on what
/// is around, where within `context` all iterations run or none: `i < min(8, 8*(n // 8))` becomes
/// `i < 8` if `n >= 8`. Else as it is.
Set all_or_none(const Set& range, const Set& context);

/// The context of all iterations at once, where they all run, each with one known value of the
/// iname; else null.
Set common_context(const Set& range, const Set& context, const ConstantSpan& span);

/// Distinct sets of one space, united in the end.
class Union {
 public:
  void add(const Set& s) {
    const auto known = [&](const Set& t) {
      return t.get() == s.get() || yes(isl_set_plain_is_equal(t.get(), s.get()));
    };
    if (std::none_of(all_.begin(), all_.end(), known)) all_.push_back(s);
  }
  Set result() && {
    Set out = std::move(all_.at(0));
    for (std::size_t i = 1; i < all_.size(); ++i) out = isl_set_union(out.take(), all_[i].take());
    return all_.size() > 1 ? Set(coalesce(out.take())) : out;
  }

 private:
  std::vector<Set> all_;
};

}  // namespace moonloop
