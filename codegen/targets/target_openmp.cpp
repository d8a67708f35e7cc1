#include <algorithm>

#include "codegen/print/reduction_clauses.h"
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
    const std::string clauses = reductions(outer, names, plan, identifiers);
    // Threads that add up put their parts together at the end: the fewer, the better.
    const bool in_turn = clauses.empty() && is_uneven(together.back()->body, names);
    return kParallelFor + nested + (in_turn ? " schedule(dynamic)" : "") + clauses;
  }

  // ---- Iterations that take unequal times: the next thread that is free takes the next one.

  /// Whether a loop in the block has more or fewer iterations from one value of `names`, inames of
  /// loops around, to another, other than at an end.
  static bool is_uneven(const Block& block, std::set<std::string> names) {
    bool out = false;
    for (const Stmt& s : block) {
      if (const auto* x = std::get_if<Loop>(&s.op)) {
        std::set<std::string> inside = names;
        if (has_some(x->lower, names)) inside.insert(x->iname);
        out = has_uneven_length(*x, names) || is_uneven(x->body, inside);
      } else if (const auto* i = std::get_if<If>(&s.op)) {
        out = is_uneven(i->body, names) || is_uneven(i->otherwise, names);
      } else if (const auto* c = std::get_if<Scope>(&s.op)) {
        std::set<std::string> inside = names;
        if (!c->iname.empty() && has_some(c->value, names)) inside.insert(c->iname);
        out = is_uneven(c->body, inside);
      }
      if (out) return true;
    }
    return false;
  }

  /// A length that is a number may be cut off at the ends, as that of the last tile is.
  static bool has_uneven_length(const Loop& x, const std::set<std::string>& names) {
    if (!has_some(x.lower, names) && !has_some(x.upper, names)) return false;
    for (const Expr& upper : arguments_of("min", x.upper))
      for (const Expr& lower : arguments_of("max", x.lower)) {
        const Expr length = index_sub(upper, lower);
        if (!has_some(length, names) && (length.as<IntLit>() || has_some(lower, names)))
          return false;
      }
    return true;
  }

  static bool has_some(const Expr& e, const std::set<std::string>& names) {
    std::set<std::string> used;
    collect_vars(e, used);
    return std::any_of(used.begin(), used.end(),
                       [&](const std::string& u) { return names.contains(u); });
  }

  static Exprs arguments_of(std::string_view function, const Expr& e) {
    const Call* c = e.as<Call>();
    if (!c || c->name != function) return {e};
    Exprs out;
    for (const Expr& a : c->args)
      for (const Expr& each : arguments_of(function, a)) out.push_back(each);
    return out;
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
    std::optional<NoClause> none;
    std::string out = reduction_clauses(loop, inames, plan, identifiers, none);
    if (!none) return out;
    const auto& [name, update, over] = none->accumulator;
    fail("unsupported", update->at, "instruction `{}`: `{}` over `{}`, which is tagged `{}`, {}",
         update->id, to_string(update->reduce_op), over, plan.kernel.tag(over)->text, none->why);
  }
};

}  // namespace

std::unique_ptr<Dialect> make_openmp_dialect();  // codegen/targets.def
std::unique_ptr<Dialect> make_openmp_dialect() { return std::make_unique<OpenMPDialect>(); }

}  // namespace moonloop
