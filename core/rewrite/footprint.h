#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/model/kernel.h"

/// Where expressions are evaluated, and which index tuples they touch: the basis of transforms that
/// stage values in a temporary (precompute, add_prefetch, buffer_array).
namespace moonloop {

class LoopJoiner;

// ---- Places ------------------------------------------------------------------------------------

/// The place of one expression in an instruction.
struct Place {
  std::vector<std::string> inames;  // the instruction's, sorted, then those of enclosing reductions
  Exprs conditions;                 // hold there: predicates, branches of conditional expressions
  bool written = false;             // the expression is the name of an assignee
};

/// The instruction's own place: its inames and predicates.
Place place_of(const Instruction& insn);

/// Rewrites top-down: where `f` gives an expression it replaces the node, else the children are
/// visited. Unchanged nodes stay the same.
using PlaceRewrite = std::function<std::optional<Expr>(const Expr&, const Place&)>;
Expr rewrite_places(const Expr& e, const Place& at, const PlaceRewrite& f);
/// All expressions of an instruction, assignees first (`written` for the assignee itself, not for
/// its subscripts), then the right side, then the predicates.
InsnPtr rewrite_places(const InsnPtr& insn, const PlaceRewrite& f);

/// The instances that evaluate `at`: dimensions are its inames. Conditions that are not quasi-
/// affine are left out, and then `exact` is false.
struct Instances {
  Set set;
  bool exact = true;
};
Instances instances_at(const Kernel& k, const Place& at);

/// { instances at `at` -> elements }, over its inames, or over fewer where loops are joined there
/// that are not among `outer`: the elements are the same. Nothing when a subscript is not
/// quasi-affine.
std::optional<Map> elements_at(const Kernel& k, LoopJoiner& loops, const Place& at,
                               const Exprs& index, const std::vector<std::string>& outer);

// ---- Footprints -----------------------------------------------------------------------------

/// One axis of the box that holds a footprint: it starts at `base`, an expression over outer inames
/// and parameters, and is `extent` long for every value of the outer inames.
struct FootprintAxis {
  Expr base;
  Expr extent;                         // an integer, or an expression over kernel parameters
  std::optional<std::int64_t> length;  // the extent when it is an integer
  bool trivial() const { return length == 1; }
};

struct Footprint {
  std::vector<std::string> names;  // of the axes
  std::vector<std::string> outer;  // inames
  Set points;                      // { [names] }; outer inames and kernel parameters are parameters
  Set context;                     // parameter set: the outer inames' domain and the assumptions
  Set own;                         // the points without_context()
  std::vector<FootprintAxis> axes;
};

/// The set without constraints on its parameters that `context` implies; equal under the context.
Set without_context(const Set& points, const Set& context);

/// The union of the ranges of `accesses`, which are { [inames] -> [names] } restricted to their
/// instances. Inames in `outer` stay as parameters, all others are swept.
///
/// The base of an axis is the affine lower bound that gives the shortest constant extent; the exact
/// lower bound, a conditional expression, where no affine one gives a constant; an extent over
/// kernel parameters where there is no constant at all.
///
/// Refuses, at `at`, with `what` naming the thing whose footprint it is: `unbounded-footprint`,
/// `data-dependent-footprint` (it depends on a temporary), `empty-footprint`. Cost: one parametric
/// minimum and maximum per axis.
Footprint footprint(const Kernel& k, const std::vector<Map>& accesses,
                    const std::vector<std::string>& names, const std::vector<std::string>& outer,
                    const Span& at, const std::string& what);

/// `f.points` as one convex set (a set of one basic set) that holds the same integers under the
/// context; nothing when there is none.
std::optional<Set> convex_points(const Footprint& f);
/// The smallest box around the points, per value of the outer inames. Within the bounds of every
/// array that holds the points.
Set box_points(const Footprint& f);

/// `points` (`f.points`, or the result of the two functions above) counted from the bases, under
/// `names` (one per axis that is not trivial); trivial axes are dropped, and so are constraints
/// that the context implies.
Set zero_based(const Footprint& f, const Set& points, const std::vector<std::string>& names);

/// `index - base`, simplified when it is quasi-affine without cases.
Expr relative_index(const Expr& index, const Expr& base);
/// `e` with integer sums inside subscripts flattened and folded: `u[(j + 3) - 1]` is `u[j + 2]`.
Expr tidy_subscripts(const Expr& e);

}  // namespace moonloop
