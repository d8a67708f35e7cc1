#include "codegen/declare.h"

#include <algorithm>
#include <unordered_map>

#include "core/reference.h"

namespace moonloop {
namespace {

class Settler {
 public:
  Settler(const Plan& plan, const CExpr& expr) : k_(plan.kernel), expr_(expr) {}

  void visit(Block& block) {
    settle(block);
    for (Stmt& s : block) {
      if (auto* l = std::get_if<Loop>(&s.op)) visit(l->body);
      if (auto* i = std::get_if<If>(&s.op)) visit(i->body);
      if (auto* c = std::get_if<Scope>(&s.op)) visit(c->body);
    }
  }

 private:
  struct Mentions {
    std::vector<std::size_t> at;  // statements that name the temporary
    int writes = 0;               // instructions in them that write it
    bool read_first = false;      // the first of the statements reads it
  };
  using Wanted = std::unordered_map<std::string, Mentions>;

  void settle(Block& block) {
    Wanted wanted;
    for (const Stmt& s : block)
      if (const auto* d = std::get_if<Declare>(&s.op)) wanted[d->temporary];
    if (wanted.empty()) return;
    for (std::size_t i = 0; i < block.size(); ++i) mention(block[i], i, wanted);

    std::map<std::size_t, Block> before;
    std::vector<std::string> release;
    for (Stmt& s : block) {
      const auto* d = std::get_if<Declare>(&s.op);
      if (!d) continue;
      const Temporary& t = *k_.find_temporary(d->temporary);
      const Mentions& mentions = wanted.at(t.name);
      const std::vector<std::size_t>& at = mentions.at;
      if (at.empty()) continue;
      if (If* only = std::get_if<If>(&block[at[0]].op); only && at.size() == 1) {
        only->body.insert(only->body.begin(), s);
        continue;
      }
      if (on_heap(expr_, t)) release.push_back(t.name);
      Run* first = std::get_if<Run>(&block[at[0]].op);
      if (first && !mentions.read_first && declares(*first, t)) {
        first->declares[t.name] = mentions.writes == 1;
      } else {
        before[at[0]].push_back(s);
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

  /// The statement can declare the scalar that it writes and does not read.
  bool declares(const Run& run, const Temporary& t) const {
    const Instruction& insn = *k_.instructions[static_cast<std::size_t>(run.insn)];
    const bool plain = insn.role != ReductionRole::Update && insn.atomic == Atomicity::None &&
                       (insn.lhs.size() == 1 || !insn.rhs || assigns_in_turn(insn.lhs, insn.rhs));
    if (!plain || !expr_.extents(t).empty()) return false;
    return std::any_of(insn.lhs.begin(), insn.lhs.end(), [&](const Expr& e) {
      const auto* v = e.as<Var>();
      return v && v->name == t.name;
    });
  }

  void mention(const Stmt& s, std::size_t at, Wanted& wanted) const {
    const auto note_in = [&](Mentions& m) {
      if (m.at.empty() || m.at.back() != at) m.at.push_back(at);
    };
    const auto note = [&](const std::string& name) {
      const auto it = wanted.find(name);
      if (it == wanted.end()) return;
      note_in(it->second);
      it->second.read_first |= it->second.at.front() == at;
    };
    const auto in = [&](const Expr& e) {
      if (!e) return;
      std::set<std::string> names;
      collect_reads(e, names);
      for (const std::string& n : names) note(n);
    };
    const auto run = [&](const Instruction& insn) {
      for_each_read(k_, insn, note);
      const Exprs& lhs = insn.lhs;
      for (auto l = lhs.begin(); l != lhs.end(); ++l) {
        const std::string& name = written_name(*l);
        const auto it = wanted.find(name);
        if (it == wanted.end()) continue;
        note_in(it->second);
        it->second.writes +=
            std::none_of(lhs.begin(), l, [&](const Expr& e) { return written_name(e) == name; });
      }
    };
    const auto below = [&](const Block& b) {
      for (const Stmt& x : b) mention(x, at, wanted);
    };
    std::visit(
        overload{[&](const Loop& x) { in(x.lower), in(x.upper), below(x.body); },
                 [&](const If& x) { in(x.cond), below(x.body); },
                 [&](const Scope& x) { in(x.value), below(x.body); },
                 [&](const Run& x) { run(*k_.instructions[static_cast<std::size_t>(x.insn)]); },
                 [](const Declare&) {}, [](const Release&) {}},
        s.op);
  }

  const Kernel& k_;
  const CExpr& expr_;
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
