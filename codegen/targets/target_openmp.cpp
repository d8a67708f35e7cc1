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
    join_teams(block, plan);
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

  // ---- One team for loops that follow each other, so that its threads start once.

  static constexpr const char *kParallelFor = "omp parallel for", *kFor = "omp for";

  static bool is_team_loop(const Loop& x) {
    return !x.pragmas.empty() && x.pragmas[0].starts_with(kParallelFor);
  }

  /// The number of team loops that the statement consists of, perhaps under conditions; 0 where
  /// there is anything else. Adds what its conditions and bounds read and what it writes.
  static int team_loops(const Stmt& s, const Plan& plan, std::set<std::string>& read,
                        std::set<std::string>& written) {
    if (const auto* x = std::get_if<Loop>(&s.op)) {
      if (!is_team_loop(*x) || x->only_while) return 0;
      for (const Expr* e : {&x->lower, &x->upper}) collect_vars(*e, read), collect_reads(*e, read);
      for (const auto* at = x; at->body.size() == 1;) {  // bounds of loops that run together
        at = std::get_if<Loop>(&at->body[0].op);
        if (!at) break;
        for (const Expr* e : {&at->lower, &at->upper})
          collect_vars(*e, read), collect_reads(*e, read);
      }
      collect_writes(x->body, plan, written);
      return 1;
    }
    const auto* i = std::get_if<If>(&s.op);
    if (!i) return 0;
    collect_vars(i->cond, read), collect_reads(i->cond, read);
    int all = 0;
    for (const Stmt& inner : i->body) {
      const int n = team_loops(inner, plan, read, written);
      if (n == 0) return 0;
      all += n;
    }
    return all;
  }

  static void collect_writes(const Block& block, const Plan& plan, std::set<std::string>& out) {
    for (const Stmt& s : block)
      std::visit(overload{[&](const Loop& x) { collect_writes(x.body, plan, out); },
                          [&](const If& x) { collect_writes(x.body, plan, out); },
                          [&](const Scope& x) { collect_writes(x.body, plan, out); },
                          [&](const Run& x) {
                            out.merge(writes(*plan.kernel.instructions[std::size_t(x.insn)]));
                          },
                          [](const auto&) {}},
                 s.op);
  }

  static void share_team(Block& block) {
    for (Stmt& s : block) {
      if (auto* x = std::get_if<Loop>(&s.op))
        x->pragmas[0] = kFor + x->pragmas[0].substr(std::string_view(kParallelFor).size());
      if (auto* i = std::get_if<If>(&s.op)) share_team(i->body);
    }
  }

  /// All threads ask the same conditions and bounds, which the loops must not change; each loop
  /// ends when all threads have done their part.
  static void join_teams(Block& block, const Plan& plan) {
    Block out;
    for (std::size_t n = 0; n < block.size();) {
      std::set<std::string> read, written;
      int loops = 0;
      std::size_t end = n;
      for (; end < block.size(); ++end) {
        std::set<std::string> own_read, own_written;
        const int own = team_loops(block[end], plan, own_read, own_written);
        if (own == 0) break;
        own_read.insert(read.begin(), read.end());
        own_written.insert(written.begin(), written.end());
        if (std::any_of(own_read.begin(), own_read.end(),
                        [&](const std::string& r) { return own_written.count(r) > 0; }))
          break;
        read = std::move(own_read), written = std::move(own_written), loops += own;
      }
      if (loops > 1) {
        Scope team;
        team.pragmas = {"omp parallel"};
        team.body.assign(std::make_move_iterator(block.begin() + std::ptrdiff_t(n)),
                         std::make_move_iterator(block.begin() + std::ptrdiff_t(end)));
        share_team(team.body);
        out.push_back({std::move(team)});
        n = end;
        continue;
      }
      Stmt s = std::move(block[n++]);
      if (auto* x = std::get_if<Loop>(&s.op); x && !is_team_loop(*x)) join_teams(x->body, plan);
      if (auto* i = std::get_if<If>(&s.op)) join_teams(i->body, plan);
      if (auto* c = std::get_if<Scope>(&s.op)) join_teams(c->body, plan);
      out.push_back(std::move(s));
    }
    block = std::move(out);
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
    return kParallelFor + nested + reductions(outer, names, plan, identifiers);
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
