#pragma once
#include <memory>
#include <string>
#include <vector>

#include "core/model/kernel.h"
#include "core/order/tree.h"

/// The reference order and the order relation: the one place that knows which instances of a kernel
/// must run before which.
///
/// A kernel either is its own reference (`Kernel::reference` is null), or it was made from its
/// reference by steps that only reorder instances; then `Instruction::origin` maps each present
/// instance to one of the reference. Steps that change the computation (precompute, buffer_array,
/// ...) prove themselves and make the result its own reference.
namespace moonloop {

/// For a transform that only reorders: `after` with the reference that `before` has (or is).
/// Called with the instructions' origins composed already.
Kernel keep_reference(const Kernel& before, Kernel after);

/// For a transform that changes the accesses and has proved itself: forgets the reference and the
/// origins; the kernel's present order becomes its meaning (its tree is frozen into list order,
/// loop order and priorities stay). Of the origins, those of inames that are gone stay, for
/// footprints that name these; no reference has them.
Kernel rebase(Kernel k);

/// Proves that `k`'s loop tree and tags keep every dependence of its reference. Throws Refused
/// (`breaks-order`, `races`, `not-proved`, `cannot-nest`, …) with two concrete instances. Linear
/// where subscripts are equal and loops keep their order; isl where not.
void check_legal(const Kernel& k);
/// Refuses `undefined-read` where the reference of `k` certainly reads an element of a temporary
/// before it has written it: in loops that the two share, which check_kernel does not see. Called
/// by whoever runs a kernel, not by steps: they keep what is read. Cost: none once a reference has
/// passed; isl for a read that no write plainly precedes, once for all equal ones.
void check_defined(const Kernel& k);
/// An axis of the hardware counts one iname of an instruction, those of the rules that it calls
/// included; its reductions may use one after the other. Refuses `axis-taken`. check_legal calls it
/// too; cost: linear, and none where nothing is tagged `g.N` or `l.N`.
void require_distinct_axes(const Kernel& k);
/// `k`, checked, with its instructions listed in the order in which the tree runs them and its
/// loops in an order in which they nest without tags too, so that these say the order when the
/// reference is forgotten.
Kernel proved(Kernel k);

/// Replaces `iname` in the origins by an expression of new inames: what split_iname, join_inames,
/// rename_iname and map_domain do to them. Applies to the instructions that `applies` selects.
void compose_origin(Instruction& insn, const std::map<std::string, Expr>& old_in_new,
                    const std::set<std::string>& used);

/// Proves that the accesses that statements (by id) make both in `before` and in `after` keep their
/// order; `after` may have other statements and accesses as well. Throws as check_legal does.
void check_kept_order(const Kernel& before, const Kernel& after);

enum class DepKind { Flow, Anti, Output };
const char* to_string(DepKind kind);  // flow, anti, output
/// A dependence between instances of two instructions of a realized kernel.
struct Dependence {
  int from = 0, to = 0;  // indices into the realized kernel's instructions
  DepKind kind = DepKind::Flow;
  std::string variable;
  Map relation;       // { from's inames -> to's inames }, in present inames
  bool exact = true;  // false: over-approximated
};
/// All dependences of `k`'s present order; for `show --what deps`, fusion and tests. Cost: isl per
/// conflicting pair of accesses.
struct DependenceList {
  Kernel kernel;  // realized
  LoopTree tree;
  std::vector<Dependence> all;
};
/// `within`: only those between statements in that loop.
DependenceList dependences(const Kernel& k, const std::string& within = {});

struct Access;

/// `insn` of the new kernel makes `accesses` in place of instances of `served` of the old one: a
/// fetch for the reads it serves, an init and a store for the accesses they buffer, a use for the
/// definition that was put into it.
struct StandIn {
  std::string insn, served;
  /// { [insn's inames] -> [served's inames] }, named dimensions. A use inside a reduction counts
  /// the reduction's inames among those of its instruction. One instance may stand in for many.
  Map relation;
  std::vector<Access> accesses;  // in inames of `insn`
};
/// Proves that moving these accesses changes no value: each stand-in inherits the dependences of
/// what it serves, on the variables it accesses, with every other instruction that still accesses
/// them and with the other stand-ins, and `after`'s tree must keep them. A stand-in that writes a
/// temporary that `served` reads must run before it, within the loops that they share. Throws
/// Refused (`stale-value`) with two concrete instances. Accesses without a stand-in must keep their
/// order too, as check_kept_order says. Does not check `after`'s tags: check_legal does.
void check_stand_ins(const Kernel& before, const Kernel& after, const std::vector<StandIn>& all);

/// One array or scalar access of an instruction, for footprints.
struct Access {
  std::string variable;
  bool write = false;
  Exprs index;  // empty for scalars
  Span at;
  std::string field = {};  // of a record, as `.f.g`; empty: all of it
  Expr when = {};          // of a read in an arm of a conditional expression; null: in any case
};
/// Whether an access of `field` accesses all of `part` too.
bool covers_field(const std::string& field, const std::string& part);
/// Accesses of an instruction of a kernel with rules expanded; reads first. Reductions' arguments
/// included (their inames occur in the subscripts).
std::vector<Access> accesses_of(const Instruction& insn, const Kernel& k);

}  // namespace moonloop
