#include "core/model/free_names.h"

#include <algorithm>
#include <deque>
#include <unordered_map>

namespace moonloop {

// ---- Names.

NameCollector::NameCollector(const Rules& rules) {
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
  e.visit(overload{[](const IntLit&) {}, [](const FloatLit&) {}, [](const ComplexLit&) {},
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
                   [&](const SubArray& x) { bind(x.inames); }});
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
      for (std::string& n : d.inames()) home_.push_back(&d), names_.push_back(std::move(n));
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
  struct Temp;
  using Inames = std::vector<int>;  // numbers, ascending

  struct Insn {
    Inames inames;
    Inames free;                 // that occur in it
    Inames bound;                // by its reductions
    Inames written_at;           // in its assignees' subscripts
    std::vector<Temp*> written;  // temporaries
    std::vector<Temp*> bounds;   // temporaries that bounds of its loops need
  };
  struct Temp {
    std::vector<int> writers, readers;  // instructions
    std::vector<int> bound_users;       // in a loop whose bounds need it
    std::map<int, int> in;              // by iname: how many writers it is around for all elements
  };

  static bool contains(const Inames& all, int iname) {
    return std::binary_search(all.begin(), all.end(), iname);
  }
  static bool insert(Inames& all, int iname) {
    const auto it = std::lower_bound(all.begin(), all.end(), iname);
    if (it != all.end() && *it == iname) return false;
    all.insert(it, iname);
    return true;
  }
  static bool insert(std::vector<Temp*>& all, Temp* t) {
    if (std::find(all.begin(), all.end(), t) != all.end()) return false;
    all.push_back(t);
    return true;
  }
  Insn& at(int insn) { return insns_[static_cast<std::size_t>(insn)]; }

  Inames numbers(const std::set<std::string>& names) const {
    Inames out;
    for (const std::string& n : names)
      if (const auto it = number_.find(n); it != number_.end()) out.push_back(it->second);
    std::sort(out.begin(), out.end());
    return out;
  }

  /// Null for what is not a temporary.
  Temp* temporary(const std::string& name) {
    const auto it = temps_.find(name);
    if (it != temps_.end()) return &it->second;
    return k_.temporaries.contains(name) ? &temps_[name] : nullptr;
  }

  void enter(NameCollector& collect, int n) {
    const Instruction& insn = *k_.instructions[static_cast<std::size_t>(n)];
    Insn& me = at(n);
    const Names names = collect.of(insn);
    me.free = numbers(names.vars);
    me.bound = numbers(names.bound);
    me.written_at = numbers(collect.of_subscripts(insn).vars);
    for (const Expr& l : insn.lhs)
      if (Temp* t = temporary(written_name(l)); t && insert(me.written, t)) t->writers.push_back(n);
    for (const std::set<std::string>* all : {&names.vars, &names.arrays})
      for (const std::string& r : *all)
        if (Temp* t = temporary(r); t && (t->readers.empty() || t->readers.back() != n))
          t->readers.push_back(n);
  }

  void seed(int n) {
    const std::size_t i = static_cast<std::size_t>(n);
    for (int iname : numbers(k_.instructions[i]->inames)) put(n, iname);
    if (exact_[i]) return;
    for (int iname : at(n).free) put(n, iname);
    for (int iname : at(n).bound) need_bounds(n, iname);
  }

  void put(int insn, int iname) {
    if (insert(at(insn).inames, iname)) queue_.emplace_back(insn, iname);
  }
  /// Adds an iname that something else requires.
  void add(int insn, int iname) {
    if (!exact_[static_cast<std::size_t>(insn)] && !contains(at(insn).bound, iname))
      put(insn, iname);
  }

  /// Puts around `insn` the inames that the bounds of the loop or reduction over `iname` need.
  void need_bounds(int insn, int iname) {
    const auto needs = needs_.find(home_[static_cast<std::size_t>(iname)]);
    if (needs == needs_.end()) return;
    for (const std::string& p : needs->second) {
      if (const auto it = number_.find(p); it != number_.end()) {
        add(insn, it->second);
      } else if (Temp* t = temporary(p); t && insert(at(insn).bounds, t)) {
        t->bound_users.push_back(insn);
        for (int w : t->writers)
          if (w != insn)
            for (int i : Inames(at(w).inames)) add(insn, i);
      }
    }
  }

  void spread(int insn, int iname) {
    if (!exact_[static_cast<std::size_t>(insn)]) need_bounds(insn, iname);
    const Insn& me = at(insn);
    for (Temp* t : me.written) {
      for (int user : t->bound_users) add(user, iname);
      if (contains(me.written_at, iname)) continue;
      if (++t->in[iname] == static_cast<int>(t->writers.size()))
        for (int r : t->readers) add(r, iname);
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
  std::vector<const Domain*> home_;  // by iname
  std::map<const Domain*, std::vector<std::string>> needs_;
  std::vector<Insn> insns_;
  std::unordered_map<std::string, Temp> temps_;
  std::deque<std::pair<int, int>> queue_;
};

}  // namespace

void infer_inames(Kernel& k, const std::vector<bool>& exact) { Inference(k, exact).run(); }

}  // namespace moonloop
