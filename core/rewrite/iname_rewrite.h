#pragma once
#include <map>
#include <string>
#include <vector>

#include "core/model/domain.h"
#include "core/model/kernel.h"
#include "core/model/match.h"

/// Replacing inames by expressions of new inames, everywhere in a kernel: what split_iname,
/// join_inames, rename_iname, duplicate_inames and map_domain share.
namespace moonloop {

struct InameRewrite {
  std::vector<std::string> old;            // at home in one domain
  std::vector<std::string> fresh;          // what they become, outer to inner
  std::map<std::string, Expr> old_in_new;  // each old iname in terms of the fresh ones
  /// The replacement of each old iname in a reduction's iname list: `i` -> `i_outer`, `i_inner`;
  /// several that become one: the first -> the new one, the others -> nothing.
  std::map<std::string, std::vector<std::string>> bound;
  /// { [old..., fresh...] }: pairs of old and new points, one-to-one on the domain. Null when
  /// `existing`.
  Set relation;
  /// The domain of `old` after the rewrite, where the caller knows a simpler form than the one that
  /// `relation` gives; null otherwise.
  Set home;
  /// { [fresh...] }: constraints on the fresh inames wherever they run, so that bounds of other
  /// loops need no cases of `old_in_new` beyond them; null where there are no cases.
  Set range;
  /// The one fresh iname already exists: loops merge. The caller compares the domains.
  bool existing = false;
  bool slabs_pass_on = false;  // the caller gives the fresh iname those of the old one
};

/// Each iname, which all have their home in one domain, under a new name: (old, new).
InameRewrite renamed_inames(const std::vector<std::pair<std::string, std::string>>& names);

/// `k` with the inames replaced in the instructions that `within` selects (those that do not use an
/// old iname stay as they are): expressions, loops, reductions, rules, domains, child domains'
/// bounds, priorities, loop order, origins. When that leaves users of the old inames, the domain
/// holds both, and a rule that both use is copied. Tags of old inames are not passed on. Does not
/// check legality.
///
/// An instruction that uses some of `old` gets the `bound` of those. Callers whose fresh inames
/// need all of `old` check first that each instruction uses all or none, and so each reduction.
///
/// Fails  `no-match`     no selected instruction uses the inames, but others do
///        `shared-bound` instructions that are selected and others use an iname whose bounds
///                       depend on an old one
///        `lost-slabs`   an old iname has slabs, and the fresh ones are other loops
///        `swept-iname`  an old iname sweeps a sub-array `[i]: a[i]` and would become several
/// Cost   one walk per instruction and rule, isl for the old inames' domain and those below it.
Kernel rewrite_inames(const Kernel& k, const InameRewrite& rw, const Match& within);
/// The same for the instructions with `picked[n]` set. Picking none is not an error.
Kernel rewrite_inames(const Kernel& k, const InameRewrite& rw, const std::vector<bool>& picked);

/// Only the expression part.
Expr rewrite_inames(const Expr& e, const InameRewrite& rw);

/// Gives `k` a domain of its own, `points`, a set over `inames`, under fresh names with the same
/// tags; the result renames `inames` to them in expressions. Cost: one isl set of that size.
InameRewrite add_renamed_domain(Kernel& k, const std::vector<std::string>& inames, Set points,
                                const Span& at);

/// `s` with the old inames among its dimensions or parameters replaced.
Set rewrite_inames(const Set& s, const InameRewrite& rw);

/// `list` with the old inames taken out and the fresh ones in the place of the first of them;
/// unchanged when it has none.
std::vector<std::string> rewrite_inames(const std::vector<std::string>& list,
                                        const InameRewrite& rw);

/// Instructions that use `iname` as a loop or in a reduction, by index.
std::vector<std::size_t> users_of(const Kernel& k, const std::string& iname);

/// The same set without existential variables and disjuncts that it does not need. Parts that
/// equalities distinguish, such as the pieces of a loop, stay separate where merging does not leave
/// fewer: isl's result is not simpler.
Set tidy(Set s);

/// For each reduction in the instructions that `within` selects and in the rules: fails
/// `partial-reduction` when it binds some but not all of `inames`, `some-not-all` when an
/// instruction is inside some but not all of them; `doing` begins the message.
void require_all_or_none(const Kernel& k, const std::vector<std::string>& inames,
                         const Match& within, const std::string& doing);

}  // namespace moonloop
