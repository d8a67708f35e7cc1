#include "codegen/print/declare.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "core/model/external.h"
#include "core/order/reference.h"

namespace moonloop {
namespace {

class Settler {
 public:
  Settler(const Plan& plan, const CExpr& expr)
      : plan_(plan), k_(plan.kernel), expr_(expr), runs_(plan.kernel.instructions.size()) {}

  void visit(Block& block) {
    settle(block);
    for (Stmt& s : block) {
      if (auto* l = std::get_if<Loop>(&s.op)) visit(l->body);
      if (auto* i = std::get_if<If>(&s.op)) visit(i->body);
      if (auto* c = std::get_if<Scope>(&s.op)) visit(c->body);
      if (auto* c = std::get_if<Launch>(&s.op)) visit(c->body);
    }
  }

 private:
  /// Where the statements of the current block use a temporary.
  struct Mentions {
    std::size_t first = kNowhere, last = 0;
    int writes = 0;           // by instructions, each as often as it occurs
    bool read_first = false;  // the first of the statements reads it
    bool combined = false;    // by all work-items of the group

    void at(std::size_t statement) {
      first = std::min(first, statement);
      last = std::max(last, statement);
    }
    bool none() const { return first == kNowhere; }
  };
  using Wanted = std::unordered_map<std::string, Mentions>;
  static constexpr std::size_t kNowhere = std::numeric_limits<std::size_t>::max();

  void settle(Block& block) {
    Wanted wanted;
    for (const Stmt& s : block)
      if (const auto* d = std::get_if<Declare>(&s.op)) wanted[d->temporary];
    if (wanted.empty()) return;
    ++round_;
    for (std::size_t i = 0; i < block.size(); ++i) mention(block[i], i, wanted);
    for (auto& [name, m] : wanted) add_uses(name, m);

    std::map<std::size_t, Block> before;
    std::vector<std::string> release;
    for (Stmt& s : block) {
      const auto* d = std::get_if<Declare>(&s.op);
      if (!d) continue;
      const Temporary& t = *k_.find_temporary(d->temporary);
      const Mentions& m = wanted.at(t.name);
      if (m.none()) continue;
      Stmt& start = block[m.first];
      If* only = std::get_if<If>(&start.op);
      if (only && m.first == m.last && !reads(only->cond, t.name)) {
        only->body.insert(only->body.begin(), s);
        continue;
      }
      if (on_heap(expr_, t)) release.push_back(t.name);
      Run* first = std::get_if<Run>(&start.op);
      if (first && !m.read_first && declares(*first, t)) {
        first->declares[t.name] = m.writes == 1;
      } else {
        before[m.first].push_back(Stmt{Declare{t.name, m.combined && has_condition(start)}});
      }
    }
    Block out;
    out.reserve(block.size() + release.size());
    for (std::size_t i = 0; i < block.size(); ++i) {
      if (const auto it = before.find(i); it != before.end())
        std::move(it->second.begin(), it->second.end(), std::back_inserter(out));
      if (!std::holds_alternative<Declare>(block[i].op)) out.push_back(std::move(block[i]));
    }
    std::reverse(release.begin(), release.end());
    for (const std::string& r : release) out.push_back(Stmt{Release{r}});
    block = std::move(out);
  }

  static bool reads(const Expr& e, const std::string& name) {
    std::set<std::string> names;
    collect_reads(e, names);
    return names.count(name) > 0;
  }

  static bool has_condition(const Stmt& s) {
    const auto in = [](const Block& b) { return std::any_of(b.begin(), b.end(), has_condition); };
    if (const auto* l = std::get_if<Loop>(&s.op)) return in(l->body);
    if (const auto* c = std::get_if<Scope>(&s.op)) return in(c->body);
    return std::holds_alternative<If>(s.op);
  }

  /// The statement can declare the scalar that it writes and does not read.
  bool declares(const Run& run, const Temporary& t) const {
    const Instruction& insn = *k_.instructions[static_cast<std::size_t>(run.insn)];
    const bool plain = insn.role != ReductionRole::Update && insn.atomic == Atomicity::None &&
                       !external_call(k_, insn) &&  // printed in a block of its own
                       (insn.lhs.size() == 1 || !insn.rhs || assigns_in_turn(insn.lhs, insn.rhs));
    if (!plain || !expr_.extents(t).empty()) return false;
    return std::any_of(insn.lhs.begin(), insn.lhs.end(), [&](const Expr& e) {
      const auto* v = e.as<Var>();
      return v && v->name == t.name;
    });
  }

  /// Notes which instructions are in the statement, and the temporaries that its loops and guards
  /// read.
  void mention(const Stmt& s, std::size_t at, Wanted& wanted) {
    const auto in = [&](const Expr& e) {
      if (!e) return;
      std::set<std::string> names;
      collect_reads(e, names);
      for (const std::string& n : names)
        if (const auto it = wanted.find(n); it != wanted.end()) it->second.at(at);
    };
    const auto below = [&](const Block& b) {
      for (const Stmt& x : b) mention(x, at, wanted);
    };
    std::visit(overload{[&](const Loop& x) { in(x.lower), in(x.upper), below(x.body); },
                        [&](const If& x) { in(x.cond), below(x.body), below(x.otherwise); },
                        [](const Leave&) {}, [&](const Scope& x) { in(x.value), below(x.body); },
                        [&](const Run& x) {
                          Runs& runs = runs_[static_cast<std::size_t>(x.insn)];
                          if (runs.round != round_) runs = {round_, 0, at, at};
                          ++runs.count;
                          runs.last = at;
                        },
                        [&](const Launch& x) { below(x.body); }, [](const Declare&) {},
                        [](const Release&) {}, [](const Sync&) {},
                        [&](const GroupCombine& x) {
                          const auto r = static_cast<std::size_t>(x.index);
                          const auto i = static_cast<std::size_t>(plan_.reductions[r].update);
                          for (const Expr& e : k_.instructions[i]->lhs) {
                            in(e);
                            const auto it = wanted.find(written_name(e));
                            if (it != wanted.end()) ++it->second.writes, it->second.combined = true;
                          }
                          if (x.cond) in(x.cond);
                        }},
               s.op);
  }

  void add_uses(const std::string& name, Mentions& m) const {
    const std::vector<TemporaryUse>& uses = plan_.uses.at(name);
    const auto runs = [&](const TemporaryUse& u) -> const Runs& {
      return runs_[static_cast<std::size_t>(u.insn)];
    };
    for (const TemporaryUse& u : uses) {
      const Runs& r = runs(u);
      if (r.round != round_) continue;
      m.at(r.first), m.at(r.last);
      if (u.writes) m.writes += r.count;
    }
    m.read_first = std::any_of(uses.begin(), uses.end(), [&](const TemporaryUse& u) {
      return u.reads && runs(u).round == round_ && runs(u).first == m.first;
    });
  }

  /// The place of an instruction in the current block.
  struct Runs {
    int round = 0;  // valid in this round only
    int count = 0;
    std::size_t first = 0, last = 0;  // statements
  };

  const Plan& plan_;
  const Kernel& k_;
  const CExpr& expr_;
  std::vector<Runs> runs_;  // by instruction
  int round_ = 0;
};

}  // namespace

bool assigns_in_turn(const Exprs& lhs, const Expr& rhs) {
  const auto* c = rhs.as<Call>();
  if (!c || c->name != "make_tuple" || c->args.size() != lhs.size()) return false;
  std::set<std::string> written;
  for (std::size_t i = 0; i < lhs.size(); ++i) {
    std::set<std::string> names;
    collect_reads(c->args[i], names);
    if (const auto* l = lhs[i].as<Load>())
      for (const Expr& e : l->index) collect_reads(e, names);
    for (const std::string& n : names)
      if (written.count(n)) return false;
    written.insert(written_name(lhs[i]));
  }
  return true;
}

bool on_heap(const CExpr& expr, const Temporary& t) {
  if (expr.extents(t).empty() || t.initializer) return false;
  const auto n = expr.elements(t);
  return !n || *n * expr.type_of_name(t.name).size() > kMaxStack;
}

void settle_declarations(Block& block, const Plan& plan, const CExpr& expr) {
  Settler(plan, expr).visit(block);
}

}  // namespace moonloop
