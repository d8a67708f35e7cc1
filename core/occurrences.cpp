#include "core/occurrences.h"

#include <algorithm>
#include <deque>
#include <unordered_map>

namespace moonloop {

// ---- Names.

NameCollector::NameCollector(const std::vector<Rule>& rules) {
  for (const Rule& r : rules) rules_.emplace(r.name, &r);
}

const NameCollector::Summary& NameCollector::summary(const Rule& r) {
  const auto [it, fresh] = summaries_.try_emplace(r.name);
  Summary& s = it->second;
  if (!fresh) return s;  // also of a rule that calls itself, while it is being read
  Names all;
  std::vector<std::string> scope;
  walk(r.body, scope, all);
  for (std::size_t i = 0; i < r.params.size(); ++i) {
    all.vars.erase(r.params[i]);
    all.arrays.erase(r.params[i]);
    if (all.bound.erase(r.params[i])) s.bound.insert(i);
  }
  s.names = std::move(all);
  return s;
}

void NameCollector::walk(const Expr& e, std::vector<std::string>& scope, Names& out) {
  const auto is_free = [&](const std::string& n) {
    return std::find(scope.begin(), scope.end(), n) == scope.end();
  };
  const auto below = [&] { for_each_child(e, [&](const Expr& c) { walk(c, scope, out); }); };
  const auto bind = [&](const std::vector<std::string>& inames) {
    scope.insert(scope.end(), inames.begin(), inames.end());
    below();
    scope.resize(scope.size() - inames.size());
  };
  std::visit(overload{[](const IntLit&) {}, [](const FloatLit&) {}, [](const ComplexLit&) {},
                      [](const BoolLit&) {},
                      [&](const Var& x) {
                        if (is_free(x.name)) out.vars.insert(x.name);
                      },
                      [&](const Load& x) { out.arrays.insert(x.array), below(); },
                      [&](const Field&) { below(); }, [&](const Unary&) { below(); },
                      [&](const Binary&) { below(); }, [&](const Nary&) { below(); },
                      [&](const Compare&) { below(); }, [&](const Select&) { below(); },
                      [&](const Call& x) {
                        const auto rule = rules_.find(x.name);
                        if (rule == rules_.end()) return below();
                        const Summary& s = summary(*rule->second);
                        for (const std::string& n : s.names.vars)
                          if (is_free(n)) out.vars.insert(n);
                        out.arrays.insert(s.names.arrays.begin(), s.names.arrays.end());
                        out.bound.insert(s.names.bound.begin(), s.names.bound.end());
                        for (std::size_t i = 0; i < x.args.size(); ++i) {
                          const auto* v = x.args[i].as<Var>();
                          if (v && s.bound.contains(i))
                            out.bound.insert(v->name);
                          else
                            walk(x.args[i], scope, out);
                        }
                      },
                      [&](const Reduce& x) {
                        out.bound.insert(x.inames.begin(), x.inames.end());
                        bind(x.inames);
                      },
                      [&](const Cast&) { below(); }, [&](const Slice&) { below(); },
                      [&](const SubArray& x) { bind(x.inames); }},
             e.op());
}

void NameCollector::add(const Expr& e, Names& out) {
  if (!e) return;
  std::vector<std::string> scope;
  walk(e, scope, out);
}

Names NameCollector::of_subscripts(const Instruction& insn) {
  Names out;
  std::vector<std::string> scope;
  for (Expr l : insn.lhs) {
    std::size_t bound = 0;
    if (const auto* s = l.as<SubArray>()) {
      scope.insert(scope.end(), s->inames.begin(), s->inames.end());
      bound = s->inames.size();
      l = s->load;
    }
    while (const auto* f = l.as<Field>()) l = Expr(f->base);
    if (const auto* load = l.as<Load>())
      for (const Expr& i : load->index) walk(i, scope, out);
    scope.resize(scope.size() - bound);
  }
  return out;
}

Names NameCollector::of(const Instruction& insn) {
  Names out = of_subscripts(insn);
  add(insn.rhs, out);
  for (const Expr& p : insn.predicates) add(p, out);
  return out;
}

// ---- Loops.

namespace {

class Inference {
 public:
  Inference(Kernel& k, const std::vector<bool>& exact) : k_(k), exact_(exact) {}

  void run() {
    for (const Domain& d : k_.domains)
      for (std::string& n : d.inames()) home_.emplace(n, &d), names_.push_back(std::move(n));
    for (std::size_t i = 0; i < names_.size(); ++i) number_.emplace(names_[i], static_cast<int>(i));
    for (const Domain& d : k_.domains)
      for (std::string& p : d.params()) needs_[&d].push_back(std::move(p));
    NameCollector collect(k_.rules);
    insns_.resize(k_.instructions.size());
    for (std::size_t n = 0; n < insns_.size(); ++n) enter(collect, static_cast<int>(n));
    for (std::size_t n = 0; n < insns_.size(); ++n) seed(static_cast<int>(n));
    while (!queue_.empty()) {
      const auto [insn, iname] = queue_.front();
      queue_.pop_front();
      spread(insn, iname);
    }
    for (std::size_t n = 0; n < insns_.size(); ++n) finish(n);
  }

 private:
  struct Insn {
    std::set<int> inames;
    std::set<int> bound;               // by its reductions
    std::set<int> written_at;          // inames in its assignees' subscripts
    std::vector<std::string> written;  // temporaries
    std::set<std::string> bounds;      // temporaries that bounds of its loops need
    Names names;
  };
  struct Temp {
    std::vector<int> writers, readers;  // instructions
    std::vector<int> bound_users;       // in a loop whose bounds need it
    std::map<int, int> in;              // by iname: how many writers it is around for all elements
  };

  std::set<int> numbers(const std::set<std::string>& names) const {
    std::set<int> out;
    for (const std::string& n : names)
      if (const auto it = number_.find(n); it != number_.end()) out.insert(it->second);
    return out;
  }

  void enter(NameCollector& collect, int n) {
    const Instruction& insn = *k_.instructions[static_cast<std::size_t>(n)];
    Insn& me = insns_[static_cast<std::size_t>(n)];
    me.names = collect.of(insn);
    me.bound = numbers(me.names.bound);
    me.written_at = numbers(collect.of_subscripts(insn).vars);
    for (const std::string& w : writes(insn))
      if (k_.temporaries.contains(w)) {
        me.written.push_back(w);
        temps_[w].writers.push_back(n);
      }
    for (const std::set<std::string>* names : {&me.names.vars, &me.names.arrays})
      for (const std::string& r : *names)
        if (k_.temporaries.contains(r)) {
          std::vector<int>& readers = temps_[r].readers;
          if (readers.empty() || readers.back() != n) readers.push_back(n);
        }
  }

  void seed(int n) {
    const std::size_t i = static_cast<std::size_t>(n);
    for (int iname : numbers(k_.instructions[i]->inames)) put(n, iname);
    if (exact_[i]) return;
    for (int iname : numbers(insns_[i].names.vars)) put(n, iname);
    for (int iname : insns_[i].bound) need_bounds(n, iname);
  }

  void put(int insn, int iname) {
    if (insns_[static_cast<std::size_t>(insn)].inames.insert(iname).second)
      queue_.emplace_back(insn, iname);
  }
  /// Adds an iname that something else asks for.
  void add(int insn, int iname) {
    const std::size_t i = static_cast<std::size_t>(insn);
    if (!exact_[i] && !insns_[i].bound.contains(iname)) put(insn, iname);
  }

  /// What the bounds of the loop or reduction over `iname` need stands around `insn`.
  void need_bounds(int insn, int iname) {
    for (const std::string& p : needs_[home_.at(names_[static_cast<std::size_t>(iname)])]) {
      if (const auto it = number_.find(p); it != number_.end()) {
        add(insn, it->second);
      } else if (k_.temporaries.contains(p) &&
                 insns_[static_cast<std::size_t>(insn)].bounds.insert(p).second) {
        Temp& t = temps_[p];
        t.bound_users.push_back(insn);
        for (int w : t.writers)
          if (w != insn)
            for (int i : std::set<int>(insns_[static_cast<std::size_t>(w)].inames)) add(insn, i);
      }
    }
  }

  void spread(int insn, int iname) {
    const Insn& me = insns_[static_cast<std::size_t>(insn)];
    if (!exact_[static_cast<std::size_t>(insn)]) need_bounds(insn, iname);
    for (const std::string& w : me.written) {
      Temp& t = temps_[w];
      for (int user : t.bound_users) add(user, iname);
      if (me.written_at.contains(iname)) continue;
      if (++t.in[iname] == static_cast<int>(t.writers.size()))
        for (int r : t.readers) add(r, iname);
    }
  }

  void finish(std::size_t n) {
    std::set<std::string> all;
    for (int i : insns_[n].inames) all.insert(names_[static_cast<std::size_t>(i)]);
    InsnPtr& insn = k_.instructions[n];
    if (all == insn->inames) return;
    insn = edit(insn, [&](Instruction& i) { i.inames = std::move(all); });
  }

  Kernel& k_;
  const std::vector<bool>& exact_;
  std::vector<std::string> names_;
  std::unordered_map<std::string, int> number_;
  std::unordered_map<std::string, const Domain*> home_;
  std::map<const Domain*, std::vector<std::string>> needs_;
  std::vector<Insn> insns_;
  std::map<std::string, Temp> temps_;
  std::deque<std::pair<int, int>> queue_;
};

}  // namespace

void infer_inames(Kernel& k, const std::vector<bool>& exact) { Inference(k, exact).run(); }

}  // namespace moonloop
