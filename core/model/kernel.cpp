#include "core/model/kernel.h"

#include <algorithm>
#include <charconv>

#include "core/model/closed_rules.h"
#include "core/model/domain.h"
#include "core/model/memo.h"

namespace moonloop {

// ---- Loops.

std::vector<std::string> Domain::inames() const { return dim_names(set); }

std::vector<std::string> Domain::params() const {
  std::vector<std::string> out;
  const std::vector<std::string> names = param_names(set);
  for (std::size_t i = 0; i < names.size(); ++i)
    if (yes(isl_set_involves_dims(set.get(), isl_dim_param, static_cast<unsigned>(i), 1)))
      out.push_back(names[i]);
  return out;
}

// ---- Look-ups.

namespace {

template <class List>
auto find_named(const List& list, std::string_view name) -> decltype(&*list.begin()) {
  for (const auto& x : list)
    if (x.name == name) return &x;
  return nullptr;
}

}  // namespace

const Argument* Kernel::find_arg(std::string_view n) const { return find_named(args, n); }
const Rule* Kernel::find_rule(std::string_view n) const { return find_named(rules, n); }

const Temporary* Kernel::find_temporary(std::string_view n) const {
  const auto it = temporaries.find(n);
  return it == temporaries.end() ? nullptr : &it->second;
}

const Instruction* Kernel::find_insn(std::string_view id) const {
  for (const InsnPtr& i : instructions)
    if (i->id == id) return i.get();
  return nullptr;
}

namespace {

const Memo::Homes& homes_of(const std::vector<Domain>& domains) {
  constexpr std::size_t kMost = 4;  // a step asks about what was and what is
  auto& known = memo().homes;
  for (const Memo::Homes& h : known)
    if (std::equal(h.domains.begin(), h.domains.end(), domains.begin(), domains.end(),
                   [](const Set& s, const Domain& d) { return s.get() == d.set.get(); }))
      return h;
  Memo::Homes out;
  for (std::size_t n = 0; n < domains.size(); ++n) {
    const Set& s = out.domains.emplace_back(domains[n].set);
    for (unsigned i = 0; i < unsigned(count(isl_set_dim(s.get(), isl_dim_set))); ++i)
      if (const char* name = isl_set_get_dim_name(s.get(), isl_dim_set, i))
        out.inames.add(name, static_cast<int>(n));
  }
  if (known.size() == kMost) known.pop_back();
  known.push_front(std::move(out));
  return known.front();
}

}  // namespace

const Domain* Kernel::home_of(std::string_view iname) const {
  const int at = homes_of(domains).inames.find(iname);
  return at == NameIndex::kNone ? nullptr : &domains[std::size_t(at)];
}

const InameTag* Kernel::tag(std::string_view iname) const {
  const auto it = iname_tags.find(std::string(iname));
  return it == iname_tags.end() ? nullptr : &it->second;
}

std::vector<std::string> Kernel::inames() const {
  std::vector<std::string> out;
  for (const Domain& d : domains)
    for (std::string& n : d.inames()) out.push_back(std::move(n));
  return out;
}

std::vector<std::string> Kernel::instruction_ids() const {
  std::vector<std::string> out;
  out.reserve(instructions.size());
  for (const InsnPtr& i : instructions) out.push_back(i->id);
  return out;
}

std::set<std::string> Kernel::all_names(std::string_view prefix) const {
  std::set<std::string> out;
  const auto add = [&](std::string_view name) {
    if (name.starts_with(prefix)) out.emplace(name);
  };
  const auto add_set = [&](const Set& s) {
    for (const std::string& n : dim_names(s)) add(n);
    for (const std::string& n : param_names(s)) add(n);
  };
  for (const Domain& d : domains) add_set(d.set);
  if (assumptions) add_set(assumptions);
  for (const Argument& a : args) add(a.name);
  for (const auto& [name, t] : temporaries) {
    add(name);
    if (!t.base_storage.empty()) add(t.base_storage);
  }
  for (const Rule& r : rules) {  // a parameter hides an outer name inside its rule
    add(r.name);
    for (const std::string& p : r.params) add(p);
  }
  return out;
}

bool Kernel::has_name(std::string_view n) const {
  const Id id = isl_id_alloc(isl(), std::string(n).c_str(), nullptr);  // one for each name
  const auto in_set = [&](const Set& s) {
    return isl_set_find_dim_by_id(s.get(), isl_dim_param, id.get()) >= 0 ||
           (!yes(isl_set_is_params(s.get())) &&
            isl_set_find_dim_by_id(s.get(), isl_dim_set, id.get()) >= 0);
  };
  const auto in_rule = [&](const Rule& r) {
    return r.name == n || std::find(r.params.begin(), r.params.end(), n) != r.params.end();
  };
  return find_arg(n) || temporaries.contains(n) || (assumptions && in_set(assumptions)) ||
         std::any_of(domains.begin(), domains.end(),
                     [&](const Domain& d) { return in_set(d.set); }) ||
         std::any_of(rules.begin(), rules.end(), in_rule) ||
         std::any_of(temporaries.begin(), temporaries.end(),
                     [&](const auto& t) { return t.second.base_storage == n; });
}

namespace {

/// `base`, or `base_0`, `base_1`, … whichever `taken` does not hold for.
template <class Taken>
std::string fresh(const std::string& base, const Taken& taken) {
  if (!taken(base)) return base;
  for (int i = 0;; ++i) {
    std::string name = base + "_" + std::to_string(i);
    if (!taken(name)) return name;
  }
}

}  // namespace

std::string Kernel::fresh_name(const std::string& base) const {
  return fresh(base, [&](const std::string& n) { return has_name(n); });
}

std::string Kernel::fresh_id(const std::string& base) const {
  return fresh(base, [&](const std::string& n) { return find_insn(n) != nullptr; });
}

// ---- Reads and writes.

namespace {

/// Collects names from an expression and from the rules that it calls, at any depth. A rule's
/// parameters do not count.
class RuleWalk {
 public:
  explicit RuleWalk(const Kernel& k) : k_(k) {}

  void reads(const Expr& e, const std::vector<std::string>& hidden,
             const std::function<void(const std::string&)>& visit) {
    const auto read = [&](const std::string& n) {
      if (std::find(hidden.begin(), hidden.end(), n) == hidden.end()) visit(n);
    };
    walk(e, [&](const Expr& x) {
      if (const auto* v = x.as<Var>()) read(v->name);
      if (const auto* l = x.as<Load>()) read(l->array);
      return true;
    });
    for_each_rule(e, [&](const Rule& r, const Call&) {
      if (seen_.insert(r.name).second) reads(r.body, r.params, visit);
    });
  }

  /// `names`: the parameters of the rule that `e` is the body of, with the variables they stand
  /// for; the empty name where an argument is not a variable.
  void bound(const Expr& e, const std::map<std::string, std::string>& names,
             std::set<std::string>& out) {
    const auto outside = [&](const std::string& n) {
      const auto it = names.find(n);
      return it == names.end() ? n : it->second;
    };
    for (const std::string& n : moonloop::reduction_inames(e))
      if (std::string o = outside(n); !o.empty()) out.insert(std::move(o));
    for_each_rule(e, [&](const Rule& r, const Call& c) {
      if (std::find(stack_.begin(), stack_.end(), r.name) != stack_.end())
        fail("recursive-rule", r.at, "rule `{}` calls itself", r.name);
      std::map<std::string, std::string> inner;
      for (std::size_t i = 0; i < r.params.size(); ++i) {
        const Var* v = i < c.args.size() ? c.args[i].as<Var>() : nullptr;
        inner[r.params[i]] = v ? outside(v->name) : "";
      }
      stack_.push_back(r.name);
      bound(r.body, inner, out);
      stack_.pop_back();
    });
  }

 private:
  template <class F>
  void for_each_rule(const Expr& e, F f) {
    if (k_.rules.empty()) return;
    for_each_of<Call>(e, [&](const Call& c, const Expr&) {
      if (const Rule* r = k_.find_rule(c.name)) f(*r, c);
    });
  }

  const Kernel& k_;
  std::set<std::string> seen_;
  std::vector<std::string> stack_;
};

}  // namespace

std::set<std::string> reduction_inames(const Kernel& k, const Expr& e) {
  std::set<std::string> out;
  if (!e.holds<Reduce>() && std::none_of(k.rules.begin(), k.rules.end(),
                                         [](const Rule& r) { return r.body.holds<Reduce>(); }))
    return out;
  RuleWalk(k).bound(e, {}, out);
  return out;
}

bool may_reduce(const Kernel& k, const Instruction& insn) {
  const auto may = [&](const Expr& e) {
    return e.holds<Reduce>() || (e.holds<Call>() && !k.rules.empty());
  };
  return may(insn.rhs) || std::any_of(insn.lhs.begin(), insn.lhs.end(), may) ||
         std::any_of(insn.predicates.begin(), insn.predicates.end(), may);
}

std::set<std::string> all_inames(const Kernel& k, const Instruction& insn) {
  std::set<std::string> out = insn.inames;
  if (!may_reduce(k, insn)) return out;
  const auto add = [&](const Expr& e) {
    if (!e) return;
    for (const std::string& n : reduction_inames(k, e)) out.insert(n);
  };
  add(insn.rhs);
  for (const Expr& l : insn.lhs) add(l);
  for (const Expr& p : insn.predicates) add(p);
  return out;
}

bool divides_by_reciprocals(const Kernel& k) {
  return k.reciprocals || std::any_of(k.callees.begin(), k.callees.end(), [](const auto& c) {
           return divides_by_reciprocals(c.second->code ? *c.second->code : *c.second->meaning);
         });
}

const std::string& written_name(const Expr& lhs) {
  if (const auto* v = lhs.as<Var>()) return v->name;
  if (const auto* l = lhs.as<Load>()) return l->array;
  if (const auto* f = lhs.as<Field>()) return written_name(f->base);
  if (const auto* s = lhs.as<SubArray>()) return written_name(s->load);
  throw InternalError("not an assignee: " + to_string(lhs));
}

std::set<std::string> writes(const Instruction& insn) {
  std::set<std::string> out;
  for (const Expr& l : insn.lhs) out.insert(written_name(l));
  return out;
}

namespace {

template <class F>
void for_each_subscript(const Expr& lhs, F f) {
  if (const auto* l = lhs.as<Load>())
    for (const Expr& i : l->index) f(i);
  if (const auto* x = lhs.as<Field>()) for_each_subscript(x->base, f);
  if (const auto* s = lhs.as<SubArray>()) for_each_subscript(s->load, f);
}

}  // namespace

void for_each_read(const Kernel& k, const Instruction& insn,
                   const std::function<void(const std::string&)>& visit) {
  RuleWalk walk(k);
  const auto in = [&](const Expr& e) { walk.reads(e, {}, visit); };
  for (const Expr& l : insn.lhs) for_each_subscript(l, in);
  if (insn.rhs) in(insn.rhs);
  for (const Expr& p : insn.predicates) in(p);
}

std::set<std::string> reads(const Kernel& k, const Instruction& insn) {
  std::set<std::string> out;
  for_each_read(k, insn, [&](const std::string& n) { out.insert(n); });
  return out;
}

// ---- Rules.

Expr apply_rule(const Rule& rule, const Exprs& args) {
  if (args.size() != rule.params.size())
    fail("wrong-arg-count", rule.at, "rule `{}` takes {} argument{}, got {}", rule.name,
         rule.params.size(), rule.params.size() == 1 ? "" : "s", args.size());
  if (args.empty()) return rule.body;
  std::map<std::string, Expr> by;
  for (std::size_t i = 0; i < args.size(); ++i) by.emplace(rule.params[i], args[i]);
  // Parameters that occur where only a name can: as an array, or bound by a reduction.
  std::map<std::string, std::string> arrays;
  walk(rule.body, [&](const Expr& x) {
    std::vector<std::string> names;
    if (const auto* l = x.as<Load>()) names = {l->array};
    if (const auto* r = x.as<Reduce>()) names = r->inames;
    if (const auto* s = x.as<SubArray>()) names = s->inames;
    for (const std::string& n : names) {
      const auto it = by.find(n);
      if (it == by.end()) continue;
      const auto* v = it->second.as<Var>();
      if (!v)
        fail("bad-rule-argument", it->second.at(),
             "rule `{}` uses its parameter `{}` as a name, so that `{}` cannot stand for it",
             rule.name, n, to_string(it->second));
      if (x.as<Load>()) arrays[n] = v->name;
    }
    return true;
  });
  if (arrays.empty()) return substitute(rule.body, by);
  const Expr named = rewrite(rule.body, [&](const Expr& x) {
    const auto* l = x.as<Load>();
    const auto it = l ? arrays.find(l->array) : arrays.end();
    if (it == arrays.end()) return x;
    Load copy = *l;
    copy.array = it->second;
    return Expr(std::move(copy), x.at());
  });
  return substitute(named, by);
}

/// An instruction without calls of rules, for kernels in which the names that it calls have the
/// same meaning.
struct KnownExpansion {
  ClosedRule::Callees callees;
  InsnPtr expanded;  // null: the instruction itself
};

namespace {

/// Puts rules' bodies in the places of calls, in one walk over the result. A rule whose parameters
/// are called by their own names, as in `f(i, j)` of `f(i, j) := …`, is expanded once for all
/// kernels in which it means the same.
class Expansion {
 public:
  explicit Expansion(const Kernel& k) : rules_(ClosedRules::of(k)) {}
  Expr operator()(const Expr& e) { return go(e, nullptr); }

  /// The same object when it calls no rule, and as long as the rules that it calls stay.
  InsnPtr operator()(const InsnPtr& insn) {
    if (!calls_some(*insn)) return insn;
    if (const auto& known = insn->expansion.get(); known && rules_->hold(known->callees))
      return known->expanded ? known->expanded : insn;
    KnownExpansion now;
    bool changed = false;
    const auto expand = [&](const Expr& e) {
      Expr y = go(e, nullptr);
      changed |= !y.same_as(e);
      return y;
    };
    Exprs lhs, predicates;
    for (const Expr& l : insn->lhs) lhs.push_back(expand(l));
    Expr rhs = expand(insn->rhs);
    for (const Expr& p : insn->predicates) predicates.push_back(expand(p));
    if (changed)
      now.expanded = edit(insn, [&](Instruction& i) {
        i.lhs = std::move(lhs);
        i.rhs = std::move(rhs);
        i.predicates = std::move(predicates);
      });
    const auto note = [&](const Expr& e) { rules_->collect_callees(e, now.callees); };
    std::for_each(insn->lhs.begin(), insn->lhs.end(), note);
    note(insn->rhs);
    std::for_each(insn->predicates.begin(), insn->predicates.end(), note);
    InsnPtr out = changed ? now.expanded : insn;
    insn->expansion.set(std::make_shared<const KnownExpansion>(std::move(now)));
    return out;
  }

 private:
  /// The call whose body is being walked.
  struct Frame {
    const Rule& rule;
    const Exprs& args;
    std::uint32_t names;  // bits of the parameters

    const Expr* find(const std::string& name) const {
      for (std::size_t i = 0; i < rule.params.size(); ++i)
        if (rule.params[i] == name) return &args[i];
      return nullptr;
    }
  };

  static bool calls_some(const Instruction& insn) {
    const auto calls = [](const Expr& e) { return e.holds<Call>(); };
    return calls(insn.rhs) || std::any_of(insn.lhs.begin(), insn.lhs.end(), calls) ||
           std::any_of(insn.predicates.begin(), insn.predicates.end(), calls);
  }

  Expr go(const Expr& e, const Frame* in) {
    if (!e.holds<Call>() && !(in && (e.names() & in->names))) return e;
    if (const auto* v = e.as<Var>(); v && in)
      if (const Expr* value = in->find(v->name)) return *value;
    const Expr inner = map_children(e, [&](const Expr& c) { return go(c, in); });
    if (const auto* c = inner.as<Call>()) {
      const Rule* r = rules_->find(c->name);
      return r ? body(*r, *c, e.at()) : inner;
    }
    return in ? renamed(inner, *in) : inner;
  }

  Expr body(const Rule& r, const Call& call, const Span& at) {
    const std::shared_ptr<const ClosedRule> own = rules_->closed(r);
    if (call.args.size() != r.params.size())
      fail("wrong-arg-count", at, "rule `{}` takes {} argument{}, got {}", r.name, r.params.size(),
           r.params.size() == 1 ? "" : "s", call.args.size());
    bool same_names = true;
    for (std::size_t i = 0; i < r.params.size() && same_names; ++i) {
      const auto* v = call.args[i].as<Var>();
      same_names = v && v->name == r.params[i];
    }
    if (same_names) {
      if (!own->expanded) own->expanded = go(r.body, nullptr);
      return own->expanded;
    }
    Frame frame{r, call.args, 0};
    for (const std::string& p : r.params) frame.names |= name_bit(p);
    return go(r.body, &frame);
  }

  /// Parameters that occur where only a name can: as an array, or bound by a reduction.
  static Expr renamed(const Expr& e, const Frame& in) {
    const auto name = [&](const std::string& n) -> const std::string* {
      const Expr* value = in.find(n);
      if (!value) return nullptr;
      if (const auto* v = value->as<Var>()) return &v->name;
      fail("bad-rule-argument", value->at(),
           "rule `{}` uses its parameter `{}` as a name, so that `{}` cannot stand for it",
           in.rule.name, n, to_string(*value));
    };
    const auto all = [&](std::vector<std::string>& list) {
      bool changed = false;
      for (std::string& n : list)
        if (const std::string* to = name(n); to && *to != n) n = *to, changed = true;
      return changed;
    };
    if (const auto* l = e.as<Load>()) {
      const std::string* to = name(l->array);
      return to ? Expr(Load{*to, l->index, l->tag, l->linear}, e.at()) : e;
    }
    if (const auto* r = e.as<Reduce>()) {
      Reduce copy = *r;
      if (all(copy.inames)) return Expr(std::move(copy), e.at());
    }
    if (const auto* s = e.as<SubArray>()) {
      SubArray copy = *s;
      if (all(copy.inames)) return Expr(std::move(copy), e.at());
    }
    return e;
  }

  const std::shared_ptr<ClosedRules> rules_;
};

}  // namespace

Expr expand_rules(const Kernel& k, const Expr& e) {
  if (k.rules.empty()) return e;
  return Expansion(k)(e);
}

Kernel expand_all_rules(const Kernel& k) {
  if (k.rules.empty()) return k;
  Expansion expand(k);
  Kernel out = k;
  for (InsnPtr& insn : out.instructions) insn = expand(insn);
  out.rules.clear();
  return out;
}

Kernel map_expressions(const Kernel& k,
                       const std::function<Expr(const Instruction&, const Expr&)>& f,
                       bool rules_too) {
  Kernel out = k;
  for (InsnPtr& insn : out.instructions) {
    bool changed = false;
    const auto map = [&](const Expr& e) {
      if (!e) return e;
      Expr y = f(*insn, e);
      changed |= !y.same_as(e);
      return y;
    };
    Exprs lhs, predicates;
    for (const Expr& l : insn->lhs) lhs.push_back(map(l));
    Expr rhs = map(insn->rhs);
    for (const Expr& p : insn->predicates) predicates.push_back(map(p));
    if (!changed) continue;
    insn = edit(insn, [&](Instruction& i) {
      i.lhs = std::move(lhs);
      i.rhs = std::move(rhs);
      i.predicates = std::move(predicates);
    });
  }
  if (rules_too)
    for (Rule& r : out.rules) r.body = f(Instruction{}, r.body);
  return out;
}

}  // namespace moonloop
