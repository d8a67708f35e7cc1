#pragma once
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/diagnostic.h"
#include "core/base/fortran_role.h"
#include "core/base/name_map.h"
#include "core/base/shared.h"
#include "core/expr/expr.h"
#include "core/expr/type.h"
#include "core/model/iname_tag.h"
#include "core/model/trace.h"
#include "core/model/value.h"
#include "core/sets/isl.h"

/// The kernel model. A `Kernel` is a value: transforms are functions that take one and return
/// another. Its meaning is sequential (the reference order, core/order/tree.h): instructions that
/// share an iname share that loop, loops run ascending, statements run in list order.
namespace moonloop {

class Reference;  // core/order/reference.h

// ---- Data -----------------------------------------------------------------------------------

enum class Order { C, F };  // C: last axis contiguous; F: first axis contiguous
enum class Intent { Unknown, In, Out, InOut };

struct OriginalLayout;

/// An argument of the kernel: a scalar (`is_array == false`, read only) or an array.
struct Argument {
  std::string name;
  std::optional<Type> type;  // absent until inferred
  bool is_array = false;
  bool constant = false;       // Loo.py's ConstantArg: read only, constant memory on a GPU
  std::optional<Exprs> shape;  // in elements, per axis; absent until inferred. {} is a 0-d array
  Order order = Order::C;
  std::optional<Exprs> strides;     // in elements, per axis; absent: contiguous in `order`
  Expr offset;                      // in elements; null is 0
  Intent intent = Intent::Unknown;  // what the source declared; see `intents()` for what holds
  /// The positions of its elements in an argument of the kernel that the transforms began with;
  /// null: in the argument of the same name, at the same subscripts.
  std::shared_ptr<const OriginalLayout> original_layout;
  Span at;
  FortranArgument fortran;
};

enum class AddressSpace { Auto, Private, Local, Global };

struct Temporary {
  std::string name;
  std::optional<Type> type;    // absent until inferred
  std::optional<Exprs> shape;  // {} is a scalar; absent until inferred from the footprint
  AddressSpace space = AddressSpace::Auto;
  Order order = Order::C;
  std::optional<Exprs> strides;  // in elements, per axis; absent: contiguous in `order`
  bool read_only = false;
  std::shared_ptr<const std::vector<Expr>> initializer;  // literals in C order; null if none
  std::string base_storage;  // temporaries that name the same one may share memory
  Span at;
};

/// A substitution rule `name(params) := body`; expanded before code generation.
struct Rule {
  std::string name;
  std::vector<std::string> params;
  Expr body;
  Span at;
};
using Rules = SharedItems<Rule>;

// ---- Loops ----------------------------------------------------------------------------------

/// One node of the domain forest. The set's dimensions are the inames that it introduces (an iname
/// belongs to exactly one domain), named, in nesting order; its parameters are named kernel
/// parameters, inames of its ancestors, or scalar temporaries (data-dependent bounds).
struct Domain {
  Set set;
  Span at;
  std::vector<std::string> inames() const;
  std::vector<std::string> params() const;  // those that some constraint mentions
};

// ---- Instructions ---------------------------------------------------------------------------

enum class InsnKind { Assign, Call, Barrier, Nop };
enum class BarrierScope { Global, Local };
enum class Atomicity { None, Update, Init };

/// Set on the instructions that `realize_reductions` makes.
enum class ReductionRole { None, Init, Update };

struct Kernel;
struct KnownAccesses;   // core/order/order.cpp
struct KnownExpansion;  // core/model/kernel.cpp

struct NoSync {
  std::string id;             // glob
  std::string scope = "any";  // local, global, any
  bool operator==(const NoSync&) const = default;
};

struct Instruction {
  // The members that most walks use are together.
  std::string id;
  InsnKind kind = InsnKind::Assign;
  ReductionRole role = ReductionRole::None;
  ReduceOp reduce_op = ReduceOp::Sum;  // when role is not None
  Atomicity atomic = Atomicity::None;
  bool combined = false;  // an atomic update that one may make for all (core/order/combinable.h)
  Exprs lhs;              // Var, Load, or Field of those; several for `a, b = f(...)`
  Expr rhs;               // null for Barrier and Nop; the call for InsnKind::Call
  Exprs predicates;       // runs when all hold; evaluated where the instruction is
  std::set<std::string> inames;  // the loops around it, without those its reductions bind
  std::set<std::string> tags;
  std::vector<std::string> depends_on;  // ids, resolved; they run before it (shared inames equal)
  std::vector<NoSync> no_sync;
  int priority = 0;
  std::set<std::string> groups, conflicts;
  BarrierScope barrier = BarrierScope::Local;
  std::string mem_kind;  // barriers: local or global
  /// This instruction in the kernel's Reference: which statement it is, and each reference iname
  /// that is not unchanged here as an expression of the present inames. Reductions' inames count
  /// too. Empty id: same as `id`.
  std::string origin_id;
  std::map<std::string, Expr> origin;
  Span at;
  KeptWith<KnownAccesses> accesses;    // of statement_accesses
  KeptWith<KnownExpansion> expansion;  // of expand_all_rules

  const std::string& reference_id() const { return origin_id.empty() ? id : origin_id; }
};
using InsnPtr = std::shared_ptr<const Instruction>;

struct KnownEffects;  // core/order/called_effects.cpp

/// A kernel that another one calls (core/model/external.h).
struct CalledKernel {
  std::shared_ptr<const Kernel> meaning;  // complete, see core/order/check_kernel.h
  std::shared_ptr<const Kernel> code;     // after steps of its own; null: the same
  KeptWith<KnownEffects> effects = {};
};

struct Kernel {
  std::string name;
  Span at;
  Shared<std::vector<Argument>> args;      // declared order
  Shared<NameMap<Temporary>> temporaries;  // in the order of declaration
  Shared<Rules> rules;                     // in source order
  std::vector<Domain> domains;             // in source order; parents follow from parameters
  Set assumptions;                         // a parameter set; null means none
  std::vector<InsnPtr> instructions;       // list order is the preferred statement order
  Shared<std::map<std::string, InameTag>> iname_tags;
  Shared<std::vector<std::string>> loop_order;       // all inames; earlier is preferred outside
  std::vector<std::vector<std::string>> priorities;  // each chain: outer to inner, hard
  /// By outer iname of a split: how many iterations at its start and its end are generated
  /// separately, so that those between run without guards. No effect on the meaning.
  std::map<std::string, std::pair<int, int>> slabs;
  std::vector<Claim> claims;
  bool reciprocals = false;  // of divisions of its meaning, some are products with a reciprocal
  Trace trace;
  /// One object for a kernel and all that steps made of it.
  std::shared_ptr<const char> family;
  std::map<std::string, std::shared_ptr<const Record>> records;
  // Functions defined elsewhere (core/model/external.h), and the types of their results, if any.
  std::map<std::string, std::optional<Scalar>> externals;
  std::map<std::string, std::shared_ptr<const CalledKernel>> callees;  // externals all of them
  Scalar index_type = Scalar::I32;             // of inames and of parameters without a type
  std::shared_ptr<const Reference> reference;  // null: the kernel is its own reference

  // Look-ups; the pointers live as long as this kernel is not changed. Null when there is none.
  const Argument* find_arg(std::string_view n) const;
  const Temporary* find_temporary(std::string_view n) const;
  const Rule* find_rule(std::string_view n) const;
  const Instruction* find_insn(std::string_view id) const;  // linear
  const Domain* home_of(std::string_view iname) const;      // the domain that introduces it
  const InameTag* tag(std::string_view iname) const;
  bool has_iname(std::string_view n) const { return home_of(n) != nullptr; }

  std::vector<std::string> inames() const;  // domain order
  std::vector<std::string> instruction_ids() const;
  /// All names in use: inames, parameters, arguments, temporaries, rules; those that begin with
  /// `prefix`.
  std::set<std::string> all_names(std::string_view prefix = {}) const;
  /// Whether it is one of them. Cost: linear, without a set.
  bool has_name(std::string_view name) const;
  /// `base`, or `base_0`, `base_1`, … whichever is free.
  std::string fresh_name(const std::string& base) const;
  std::string fresh_id(const std::string& base) const;  // for instructions
};

/// A changed copy of an instruction: `edit(insn, [&](Instruction& i) { i.priority = 1; })`.
template <class F>
InsnPtr edit(const InsnPtr& insn, F change) {
  auto copy = std::make_shared<Instruction>(*insn);
  change(*copy);
  return copy;
}

/// The inames around `insn` and those its reductions bind, also through rules.
std::set<std::string> all_inames(const Kernel& k, const Instruction& insn);
/// False where `insn` surely has no reduction, also through rules; at constant cost.
bool may_reduce(const Kernel& k, const Instruction& insn);
/// Inames bound by reductions in `e`, rules looked through.
std::set<std::string> reduction_inames(const Kernel& k, const Expr& e);

/// Whether the code of `k`, or of a kernel that it calls, has Kernel::reciprocals.
bool divides_by_reciprocals(const Kernel& k);

/// The variable that an assignee writes: `a` of `a`, `a[i]`, `a[i].f`.
const std::string& written_name(const Expr& lhs);
/// Names written by `insn`, each once.
std::set<std::string> writes(const Instruction& insn);
/// Names that `insn` reads, also in subscripts of what it writes, in predicates and through rules.
std::set<std::string> reads(const Kernel& k, const Instruction& insn);
/// Calls `visit` with those names, with some more than once: without a set to build.
void for_each_read(const Kernel& k, const Instruction& insn,
                   const std::function<void(const std::string&)>& visit);

/// `e` with the rule calls in it replaced by the rules' bodies, to the end. Fails on recursion.
Expr expand_rules(const Kernel& k, const Expr& e);
/// The body of `rule` with `args` put in; reduction inames in the body stay.
Expr apply_rule(const Rule& rule, const Exprs& args);
/// `k` without rules: every call expanded.
Kernel expand_all_rules(const Kernel& k);

/// A kernel with its rules expanded; `k` itself when it has none. Lives no longer than `k`.
class WithoutRules {
 public:
  explicit WithoutRules(const Kernel& k) : k_(k) {
    if (!k.rules.empty()) own_ = expand_all_rules(k);
  }
  const Kernel& operator*() const { return own_ ? *own_ : k_; }

 private:
  const Kernel& k_;
  std::optional<Kernel> own_;
};

/// Applies `f` to every expression of every instruction (assignees, right sides, predicates).
/// Instructions that do not change stay the same objects.
Kernel map_expressions(const Kernel& k,
                       const std::function<Expr(const Instruction&, const Expr&)>& f,
                       bool rules_too = false);

}  // namespace moonloop
