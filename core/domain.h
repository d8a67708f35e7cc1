#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/kernel.h"

/// Sets over named inames, and the bridge between expressions and isl.
namespace moonloop {

/// Names of a set's dimensions and of its parameters. Every dimension has a name.
std::vector<std::string> dim_names(const Set& s);
std::vector<std::string> param_names(const Set& s);

/// `{ [names...] : }`, everything, with no parameters.
Set universe(const std::vector<std::string>& names);

/// The same set over dimensions `names`: a dimension not listed is projected out (existentially), a
/// name not present becomes an unconstrained dimension, and a parameter that is listed becomes a
/// dimension.
Set to_dims(Set s, const std::vector<std::string>& names);

/// Dimensions `names` become parameters.
Set dims_to_params(Set s, const std::vector<std::string>& names);
/// All dimensions of `s` as parameters: a parameter set.
Set all_to_params(Set s);
/// Without the parameters `names`, existentially.
Set drop_params(Set s, const std::vector<std::string>& names);
Set rename_dims(Set s, const std::map<std::string, std::string>& names);
/// Intersection of two sets by dimension name: the result has the dimensions of `a`, then those of
/// `b` that `a` lacks.
Set join_by_name(Set a, Set b);

/// Parses isl set syntax; undeclared names become parameters. Fails with a diagnostic at `at`
/// (`bad-domain`) that shows isl's complaint.
Set parse_set(const std::string& text, const Span& at = {});
/// A parameter set from bare constraints such as `n >= 1 and n mod 16 = 0`.
Set parse_assumption(const std::string& text, const Span& at = {});

/// Parses isl map syntax in the same way, fails `bad-map`. Every dimension on both sides has a
/// name; an output that repeats an input's name is equal to it, and it is so named.
Map parse_map(const std::string& text, const Span& at = {});

/// Whether the bounds of `iname` depend on one of `names`, also through inames between them.
bool bounds_depend_on(const Kernel& k, const std::string& iname,
                      const std::vector<std::string>& names);

/// The domain of an instruction's instances: dimensions are `inames` in the given order, ancestors'
/// domains and the kernel's assumptions included; data-dependent parameters stay parameters. Cost:
/// one intersection per domain that is needed.
Set domain_of(const Kernel& k, const std::vector<std::string>& inames);

/// Index of the parent of each domain, or -1: the innermost domain that introduces one of its
/// parameters or the inames around the writer of a temporary that is one of its parameters.
std::vector<int> domain_parents(const Kernel& k);

/// `e` as a piecewise quasi-affine function on the space of `dims`; names that are not dims become
/// parameters. Nothing when `e` is not quasi-affine (products of variables, loads, calls, reals).
std::optional<PwAff> to_affine(const Expr& e, const std::vector<std::string>& dims);
/// The points of `{ [dims] }` where the condition `e` holds; nothing when it is not quasi-affine.
std::optional<Set> to_condition(const Expr& e, const std::vector<std::string>& dims);
/// The same for a condition of `k`, which is one on instances alone: nothing when it depends on a
/// temporary, or on an argument that is not known to be an integer (isl would read `x > 0 and x <
/// 1` as never true).
std::optional<Set> to_condition(const Kernel& k, const Expr& e,
                                const std::vector<std::string>& dims);

/// `{ [dims] -> [exprs...] }`; nothing when some expression is not quasi-affine.
std::optional<Map> to_map(const Exprs& exprs, const std::vector<std::string>& dims);

/// An isl expression as ours; 0 where it is defined nowhere. A piecewise one becomes nested
/// conditionals over its pieces, the last piece taken as the rest; min and max where they fit.
Expr from_affine(const PwAff& a);
Expr from_aff(const Aff& a);
/// The condition that holds exactly on `s`, over dimension and parameter names.
Expr from_set(const Set& s);

/// The kernel's assumptions with what the domains demand of parameters added to be non-empty. Never
/// null.
Set context_of(const Kernel& k);

/// One concrete point of `s` (empty: nothing), small where possible: parameters are minimized
/// first, then the dimensions lexicographically.
struct Sample {
  std::map<std::string, std::int64_t> params, dims;
};
std::optional<Sample> sample(const Set& s);

}  // namespace moonloop
