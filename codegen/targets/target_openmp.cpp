#include <algorithm>

#include "codegen/print/shared_accumulators.h"
#include "codegen/print/target.h"

namespace moonloop {
namespace {

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
        visit(i->otherwise, plan, names, in_team);
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
    for (const Block* branch : {&i->body, &i->otherwise})
      for (const Stmt& inner : *branch) {
        const int n = team_loops(inner, plan, read, written);
        if (n == 0) return 0;
        all += n;
      }
    return all;
  }

  static void collect_writes(const Block& block, const Plan& plan, std::set<std::string>& out) {
    for (const Stmt& s : block)
      std::visit(overload{[&](const Loop& x) { collect_writes(x.body, plan, out); },
                          [&](const If& x) {
                            collect_writes(x.body, plan, out);
                            collect_writes(x.otherwise, plan, out);
                          },
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
      if (auto* i = std::get_if<If>(&s.op)) share_team(i->body), share_team(i->otherwise);
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
      if (auto* i = std::get_if<If>(&s.op))
        join_teams(i->body, plan), join_teams(i->otherwise, plan);
      if (auto* c = std::get_if<Scope>(&s.op)) join_teams(c->body, plan);
      out.push_back(std::move(s));
    }
    block = std::move(out);
  }

  static std::string parallel_for(const Loop& outer, const Plan& plan, const CNames& identifiers) {
    const std::vector<const Loop*> together = spread_together(outer, plan);
    std::set<std::string> names;
    for (const Loop* l : together) names.insert(l->iname);
    const std::string nested =
        together.size() == 1 ? "" : " collapse(" + std::to_string(together.size()) + ")";
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

  /// For the loops `inames`, of which `loop` is the outermost.
  static std::string reductions(const Loop& loop, const std::set<std::string>& inames,
                                const Plan& plan, const CNames& identifiers) {
    std::map<std::string, std::string> names;  // by operator
    for (const SharedAccumulator& a : shared_accumulators(loop, inames, plan)) {
      const Instruction& insn = *a.update;
      if (!is_small_array(a.name, plan))
        fail("unsupported", insn.at,
             "instruction `{}`: `{}` over `{}`, which is tagged `{}`, of as many elements at once "
             "as "
             "{} has iterations, which is not a small constant, is not supported",
             insn.id, to_string(insn.reduce_op), a.over, plan.kernel.tag(a.over)->text,
             quoted_list(plan.expansions.at(a.name).axes));
      std::string& list = names[clause_of(insn.reduce_op)];
      list += (list.empty() ? "" : ", ") + identifiers.of(a.name);
    }
    std::string out;
    for (const auto& [op, list] : names) out += " reduction(" + op + ":" + list + ")";
    return out;
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
