#include <algorithm>

#include "codegen/print/target.h"

namespace moonloop {
namespace {

bool mentions(const Expr& e, const std::set<std::string>& names) {
  std::set<std::string> vars;
  collect_vars(e, vars);
  return std::any_of(vars.begin(), vars.end(), [&](const auto& v) { return names.count(v) > 0; });
}

class OpenMPDialect : public Dialect {
 public:
  void decorate(Block& block, const Plan& plan, const CNames& names) const override {
    visit(block, plan, names, false);
  }
  std::string atomic_update(bool simple) const override {
    return simple ? "omp atomic" : "omp critical";
  }
  std::string atomic_write() const override { return "omp atomic write"; }

 private:
  static bool runs_in_lanes(const InameTag* tag) {
    return tag && (tag->kind == TagKind::Simd || tag->kind == TagKind::Vec);
  }

  static void visit(Block& block, const Plan& plan, const CNames& names, bool in_team) {
    for (Stmt& s : block) {
      if (auto* x = std::get_if<Loop>(&s.op)) {
        const bool starts_team = !in_team && is_spread(plan.kernel.tag(x->iname));
        if (starts_team) x->pragmas.push_back(parallel_for(*x, plan, names));
        mark(*x, plan, names);
        const bool lanes = runs_in_lanes(plan.kernel.tag(x->iname));  // no team starts in one
        visit(x->body, plan, names, in_team || starts_team || lanes);
      } else if (auto* i = std::get_if<If>(&s.op)) {
        visit(i->body, plan, names, in_team);
      } else if (auto* c = std::get_if<Scope>(&s.op)) {
        visit(c->body, plan, names, in_team);
      }
    }
  }

  /// Parallel loops that nest perfectly and whose bounds do not depend on one another run together.
  static std::string parallel_for(const Loop& outer, const Plan& plan, const CNames& identifiers) {
    const Kernel& k = plan.kernel;
    std::set<std::string> names{outer.iname};
    int depth = 1;
    for (const Loop* at = &outer; at->body.size() == 1;) {
      const Loop* inner = std::get_if<Loop>(&at->body[0].op);
      const bool joins = inner && is_spread(k.tag(inner->iname)) &&
                         !mentions(inner->lower, names) && !mentions(inner->upper, names);
      if (!joins) break;
      names.insert(inner->iname);
      ++depth;
      at = inner;
    }
    const std::string nested = depth == 1 ? "" : " collapse(" + std::to_string(depth) + ")";
    return "omp parallel for" + nested + reductions(outer, names, plan, identifiers);
  }

  static void mark(Loop& loop, const Plan& plan, const CNames& names) {
    const InameTag* tag = plan.kernel.tag(loop.iname);
    if (const std::string hint = unroll_hint(tag, "GCC unroll "); !hint.empty())
      loop.pragmas.push_back(hint);
    if (runs_in_lanes(tag))
      loop.pragmas.push_back("omp simd" + reductions(loop, {loop.iname}, plan, names));
  }

  // ---- Reductions that lanes or threads share.

  struct Found {
    std::set<std::string> declared;             // inside of the loop
    std::map<std::string, std::string> clause;  // operator by accumulator
  };

  /// For the loops `inames`, of which `loop` is the outermost.
  static std::string reductions(const Loop& loop, const std::set<std::string>& inames,
                                const Plan& plan, const CNames& identifiers) {
    Found found;
    search(loop.body, inames, plan, found);
    std::map<std::string, std::string> names;  // by operator
    for (const auto& [acc, op] : found.clause)
      if (!found.declared.count(acc))
        names[op] += (names[op].empty() ? "" : ", ") + identifiers.of(acc);
    std::string out;
    for (const auto& [op, list] : names) out += " reduction(" + op + ":" + list + ")";
    return out;
  }

  static void search(const Block& block, const std::set<std::string>& inames, const Plan& plan,
                     Found& out) {
    for (const Stmt& s : block)
      std::visit(overload{[&](const Loop& x) { search(x.body, inames, plan, out); },
                          [&](const If& x) { search(x.body, inames, plan, out); },
                          [&](const Scope& x) { search(x.body, inames, plan, out); },
                          [&](const Run& x) { update(x, inames, plan, out); },
                          [&](const Declare& x) { out.declared.insert(x.temporary); },
                          [](const Release&) {}, [](const Sync&) {}, [](const GroupCombine&) {},
                          [](const Launch&) {}},
                 s.op);
  }

  static void update(const Run& run, const std::set<std::string>& inames, const Plan& plan,
                     Found& out) {
    const Instruction& insn = *plan.kernel.instructions[static_cast<std::size_t>(run.insn)];
    for (const auto& [name, constant] : run.declares) out.declared.insert(name);
    if (insn.role != ReductionRole::Update) return;
    const auto over = std::find_if(inames.begin(), inames.end(), [&](const std::string& i) {
      return reduces_over(insn, i, plan);
    });
    if (over == inames.end()) return;
    const std::string& acc = written_name(insn.lhs[0]);
    if (insn.lhs.size() > 1)
      fail("unsupported", insn.at,
           "instruction `{}`: `{}` over `{}`, which is tagged `{}`, is not supported", insn.id,
           to_string(insn.reduce_op), *over, plan.kernel.tag(*over)->text);
    if (!is_small_array(acc, plan))
      fail("unsupported", insn.at,
           "instruction `{}`: `{}` over `{}`, which is tagged `{}`, of as many elements at once as "
           "{} has iterations, which is not a small constant, is not supported",
           insn.id, to_string(insn.reduce_op), *over, plan.kernel.tag(*over)->text,
           quoted_list(plan.expansions.at(acc).axes));
    out.clause[acc] = clause_of(insn.reduce_op);
  }

  /// Whether the copies of an accumulator, if it has some, are an array that a clause can name.
  static bool is_small_array(const std::string& acc, const Plan& plan) {
    constexpr std::int64_t kMost = 1024;  // elements, on the stack of each thread
    const auto it = plan.expansions.find(acc);
    if (it == plan.expansions.end()) return true;
    std::int64_t all = 1;
    for (const Expr& e : it->second.extent) {
      const auto n = as_int(e);
      if (!n || *n > kMost) return false;
      all *= *n;
      if (all > kMost) return false;
    }
    return true;
  }

  /// Whether the accumulator lives on from one iteration of `iname` to the next.
  static bool reduces_over(const Instruction& insn, const std::string& iname, const Plan& plan) {
    const std::string& acc = written_name(insn.lhs[0]);
    for (const InsnPtr& other : plan.kernel.instructions)
      if (other->role == ReductionRole::Init && writes(*other).count(acc))
        return !other->inames.count(iname);
    return false;
  }

  static std::string clause_of(ReduceOp op) {
    switch (op) {
      case ReduceOp::Sum: return "+";
      case ReduceOp::Product: return "*";
      case ReduceOp::Min: return "min";
      case ReduceOp::Max: return "max";
      case ReduceOp::Any: return "||";
      case ReduceOp::All: return "&&";
      case ReduceOp::ArgMin:
      case ReduceOp::ArgMax:
      case ReduceOp::SegmentedSum:
      case ReduceOp::SegmentedProduct: break;
    }
    throw InternalError("a reduction of two values in a clause");
  }
};

}  // namespace

std::unique_ptr<Dialect> make_openmp_dialect();  // codegen/targets.def
std::unique_ptr<Dialect> make_openmp_dialect() { return std::make_unique<OpenMPDialect>(); }

}  // namespace moonloop
