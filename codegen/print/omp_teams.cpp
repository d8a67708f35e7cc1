#include "codegen/print/omp_teams.h"

#include <algorithm>
#include <optional>

#include "core/order/conflicts.h"
#include "core/sets/budget.h"

namespace moonloop {
namespace {

using Names = std::set<std::string>;

bool is_team_loop(const Loop& x) {
  return !x.pragmas.empty() && x.pragmas[0].starts_with(kParallelFor);
}

/// Which loops of a team have to wait for its other threads.
class Waits {
 public:
  explicit Waits(const Plan& plan) : plan_(plan), variables_(plan.kernel) {}

  /// Says so in the pragmas of the loops in `team`, which is inside of the loops `outer`. The last
  /// loop, where it always runs, ends with the team.
  void mark(Block& team, const std::vector<std::string>& outer) {
    loops_.clear(), outer_ = outer;
    std::vector<Branch> under;
    collect(team, under);
    for (std::size_t b = 1; b < loops_.size(); ++b)
      for (std::size_t a = b; a-- > 0;)
        if (!is_apart(a, b) && meet(loops_[a], loops_[b])) loops_[wait_between(a, b)].waits = true;
    if (std::get_if<Loop>(&team.back().op)) loops_.pop_back();
    for (const TeamLoop& l : loops_)
      if (!l.waits) l.loop->pragmas[0] += " nowait";
  }

 private:
  /// A condition, and whether what is under it runs where it holds or where it does not.
  using Branch = std::pair<const If*, bool>;

  struct TeamLoop {
    Loop* loop;
    std::vector<Branch> under;
    std::vector<StatementAccess> accesses;  // to what its iterations do not have to themselves
    bool waits = false;
  };

  void collect(Block& block, std::vector<Branch>& under) {
    for (Stmt& s : block) {
      if (auto* x = std::get_if<Loop>(&s.op)) loops_.push_back({x, under, accesses_of_loop(*x)});
      if (auto* i = std::get_if<If>(&s.op))
        for (const bool holds : {true, false}) {
          under.emplace_back(i, holds);
          collect(holds ? i->body : i->otherwise, under);
          under.pop_back();
        }
    }
  }

  std::vector<StatementAccess> accesses_of_loop(const Loop& loop) const {
    Names own;
    std::vector<StatementAccess> out;
    for_each_within(loop.body, [&](const Stmt& s) {
      if (const auto* d = std::get_if<Declare>(&s.op)) own.insert(d->temporary);
      const auto* run = std::get_if<Run>(&s.op);
      if (!run) return;
      for (const auto& [name, declared] : run->declares) own.insert(name);
      const Instruction& insn = *plan_.kernel.instructions[std::size_t(run->insn)];
      for (const Access& a : statement_accesses(insn, variables_)) out.push_back({a, run->insn});
    });
    std::erase_if(out, [&](const StatementAccess& a) { return own.contains(a.variable); });
    return out;
  }

  /// Whether a wait at the end of the one happens wherever the other runs.
  bool runs_with(const TeamLoop& one, const TeamLoop& other) const {
    return one.under.size() <= other.under.size() &&
           std::equal(one.under.begin(), one.under.end(), other.under.begin());
  }

  /// Whether threads wait between the two anyway, or only one of them runs.
  bool is_apart(std::size_t a, std::size_t b) const {
    const auto [x, y] = std::mismatch(loops_[a].under.begin(), loops_[a].under.end(),
                                      loops_[b].under.begin(), loops_[b].under.end());
    if (x != loops_[a].under.end() && y != loops_[b].under.end() && x->first == y->first)
      return true;
    for (std::size_t c = a; c < b; ++c)
      if (loops_[c].waits && is_between(a, c, b)) return true;
    return false;
  }
  bool is_between(std::size_t a, std::size_t c, std::size_t b) const {
    return runs_with(loops_[c], loops_[a]) || runs_with(loops_[c], loops_[b]);
  }
  /// The last loop whose wait keeps the two apart.
  std::size_t wait_between(std::size_t a, std::size_t b) const {
    std::size_t c = b - 1;
    while (!is_between(a, c, b)) --c;
    return c;
  }

  /// Whether iterations of the two may touch one element, one of them to write it.
  bool meet(const TeamLoop& a, const TeamLoop& b) {
    return std::any_of(a.accesses.begin(), a.accesses.end(), [&](const StatementAccess& x) {
      return std::any_of(b.accesses.begin(), b.accesses.end(),
                         [&](const StatementAccess& y) { return meet(x, y); });
    });
  }

  bool meet(const StatementAccess& x, const StatementAccess& y) {
    if (x.variable != y.variable || (!x.write && !y.write) || plainly_apart(x, y)) return false;
    if (x.index.empty() || y.index.empty()) return true;
    if (!conflicts_) conflicts_.emplace(plan_.kernel);
    if (const auto known = conflicts_->plainly_agree(x, y, outer_, {}, {}, nullptr)) return !*known;
    bool apart = false;
    questions_.ask([&] {
      const Map met = conflicts_->in_equal(conflicts_->pairs(x, y).all, x, y, outer_);
      apart = yes(isl_map_is_empty(met.get()));
    });
    return !apart;
  }

  const Plan& plan_;
  Variables variables_;
  std::optional<Conflicts> conflicts_;
  QuestionBudget questions_{kQuestionOperations, kPhaseOperations / 4};
  std::vector<TeamLoop> loops_;
  std::vector<std::string> outer_;
};

class Joiner {
 public:
  explicit Joiner(const Plan& plan) : plan_(plan), waits_(plan) {}

  void join(Block& block) {
    Block out;
    for (std::size_t n = 0; n < block.size();) {
      Names read, written;
      int loops = 0;
      std::size_t end = n;
      for (; end < block.size(); ++end) {
        Names own_read, own_written;
        const int own = team_loops(block[end], own_read, own_written);
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
        team.pragmas = {kParallel};
        team.body.assign(std::make_move_iterator(block.begin() + std::ptrdiff_t(n)),
                         std::make_move_iterator(block.begin() + std::ptrdiff_t(end)));
        share_team(team.body);
        if (plan_.kernel.externals.empty())  // what those do elsewhere is not known
          waits_.mark(team.body, around_);
        out.push_back({std::move(team)});
        n = end;
        continue;
      }
      Stmt s = std::move(block[n++]);
      if (auto* x = std::get_if<Loop>(&s.op); x && !is_team_loop(*x)) {
        around_.push_back(x->iname);
        join(x->body);
        around_.pop_back();
      }
      if (auto* i = std::get_if<If>(&s.op)) join(i->body), join(i->otherwise);
      if (auto* c = std::get_if<Scope>(&s.op)) join(c->body);
      out.push_back(std::move(s));
    }
    block = std::move(out);
  }

  /// See the function of this name.
  bool share_with_callers(Block& program) const {
    Block flat = without_teams(program);
    Names read, written, own;  // `own`: scalars of the function, of which each thread has one
    for (const Stmt& s : flat) {
      if (const auto* d = std::get_if<Declare>(&s.op)) {
        if (!is_number(d->temporary)) return false;
        own.insert(d->temporary);
        continue;
      }
      if (const auto* run = std::get_if<Run>(&s.op)) {
        const Instruction& insn = *plan_.kernel.instructions[std::size_t(run->insn)];
        for (const std::string& w : writes(insn)) {
          if (!is_number(w)) return false;
          own.insert(w);
        }
        for (const std::string& r : reads(plan_.kernel, insn))
          if (!own.contains(r)) read.insert(r);
        continue;
      }
      Names loop_written;
      if (team_loops(s, read, loop_written) == 0 || sums(s)) return false;
      written.merge(loop_written);
    }
    const auto is_in = [&](const Names& other) {
      return std::any_of(written.begin(), written.end(),
                         [&](const std::string& w) { return other.contains(w); });
    };
    // What one thread reads outside of loops, another one may already change.
    if (is_in(read) || is_in(own) || !plan_.kernel.externals.empty()) return false;
    for (const std::string& l : plan_.locals)
      if (!is_number(l)) return false;
    share_team(flat);
    program = std::move(flat);
    return true;
  }

 private:
  /// Whether it is a temporary without axes.
  bool is_number(const std::string& name) const {
    const Temporary* t = plan_.kernel.find_temporary(name);
    return t && t->shape && t->shape->empty();
  }

  /// The statements, those of teams that begin there by themselves.
  static Block without_teams(const Block& program) {
    Block out;
    for (const Stmt& s : program) {
      const auto* team = std::get_if<Scope>(&s.op);
      if (!team || team->pragmas != std::vector<std::string>{kParallel}) {
        out.push_back(s);
        continue;
      }
      for (Stmt inner : team->body) out.push_back(begin_teams(std::move(inner)));
    }
    return out;
  }
  static Stmt begin_teams(Stmt s) {
    if (auto* x = std::get_if<Loop>(&s.op)) {
      std::string& pragma = x->pragmas[0];
      pragma = kParallelFor + pragma.substr(std::string_view(kFor).size());
      if (const std::size_t at = pragma.find(" nowait"); at != std::string::npos)
        pragma.erase(at, std::string_view(" nowait").size());
    }
    if (auto* i = std::get_if<If>(&s.op))
      for (Block* branch : {&i->body, &i->otherwise})
        for (Stmt& inner : *branch) inner = begin_teams(std::move(inner));
    return s;
  }

  /// Whether threads put parts of a sum together.
  static bool sums(const Stmt& s) {
    if (const auto* x = std::get_if<Loop>(&s.op))
      return x->pragmas[0].find("reduction(") != std::string::npos;
    const auto* i = std::get_if<If>(&s.op);
    return i && (std::any_of(i->body.begin(), i->body.end(), sums) ||
                 std::any_of(i->otherwise.begin(), i->otherwise.end(), sums));
  }

  /// The number of team loops that the statement consists of, perhaps under conditions; 0 where
  /// there is anything else. Adds what its conditions and bounds read and what it writes.
  int team_loops(const Stmt& s, Names& read, Names& written) const {
    if (const auto* x = std::get_if<Loop>(&s.op)) {
      if (!is_team_loop(*x) || x->only_while) return 0;
      for (const Expr* e : {&x->lower, &x->upper}) collect_vars(*e, read), collect_reads(*e, read);
      for (const auto* at = x; at->body.size() == 1;) {  // bounds of loops that run together
        at = std::get_if<Loop>(&at->body[0].op);
        if (!at) break;
        for (const Expr* e : {&at->lower, &at->upper})
          collect_vars(*e, read), collect_reads(*e, read);
      }
      for_each_within(x->body, [&](const Stmt& inner) {
        if (const auto* run = std::get_if<Run>(&inner.op))
          written.merge(writes(*plan_.kernel.instructions[std::size_t(run->insn)]));
      });
      return 1;
    }
    const auto* i = std::get_if<If>(&s.op);
    if (!i) return 0;
    collect_vars(i->cond, read), collect_reads(i->cond, read);
    int all = 0;
    for (const Block* branch : {&i->body, &i->otherwise})
      for (const Stmt& inner : *branch) {
        const int n = team_loops(inner, read, written);
        if (n == 0) return 0;
        all += n;
      }
    return all;
  }

  static void share_team(Block& block) {
    for (Stmt& s : block) {
      if (auto* x = std::get_if<Loop>(&s.op))
        x->pragmas[0] = kFor + x->pragmas[0].substr(std::string_view(kParallelFor).size());
      if (auto* i = std::get_if<If>(&s.op)) share_team(i->body), share_team(i->otherwise);
    }
  }

  const Plan& plan_;
  Waits waits_;
  std::vector<std::string> around_;  // the loops around
};

}  // namespace

bool share_with_callers(Block& program, const Plan& plan) {
  return Joiner(plan).share_with_callers(program);
}

void join_teams(Block& program, const Plan& plan) { Joiner(plan).join(program); }

}  // namespace moonloop
