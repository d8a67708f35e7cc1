#include "core/rewrite/rule_rewrite.h"

#include <algorithm>
#include <unordered_map>

#include "core/model/closed_rules.h"
#include "core/model/flat_subscripts.h"

namespace moonloop {
namespace {

/// Applies `f` to the reads of an assignee or a sub-array: the subscripts of the name.
Expr map_subscripts(const Expr& e, const std::function<Expr(const Expr&)>& f) {
  if (e.as<Load>()) return map_children(e, f);
  return map_children(e, [&](const Expr& c) { return map_subscripts(c, f); });
}

class RulesRewriter {
 public:
  RulesRewriter(const Kernel& k, const RuleRewrite& rw)
      : k_(k), rw_(rw), versions_(k, rw.taken), rules_(ClosedRules::of(k)), mentions_(rw.about) {}

  Kernel run() {
    Kernel out = k_;
    for (InsnPtr& insn : out.instructions) rewrite_insn(insn);
    if (versions_.empty() && !expanded_) return out;
    versions_.settle(out);
    return out;
  }

 private:
  void rewrite_insn(InsnPtr& insn) {
    if (mentions_ && !mentions_->read_by(*insn)) return;
    insn_ = insn.get();
    const Stack stack{{insn->id, insn->tags}};
    bool changed = false;
    const auto note = [&](const Expr& before, Expr after) {
      changed |= !after.same_as(before);
      return after;
    };
    const auto here = [&](const Expr& e) { return go(e, stack); };
    Exprs lhs, predicates;
    for (const Expr& l : insn->lhs) lhs.push_back(note(l, map_subscripts(l, here)));
    Expr rhs = insn->rhs ? note(insn->rhs, here(insn->rhs)) : insn->rhs;
    for (const Expr& p : insn->predicates) predicates.push_back(note(p, here(p)));
    if (!changed) return;
    insn = edit(insn, [&](Instruction& i) {
      i.lhs = std::move(lhs);
      i.rhs = std::move(rhs);
      i.predicates = std::move(predicates);
    });
  }

  Expr go(const Expr& e, const Stack& stack) {
    if (mentions_ && !mentions_->may_be_in(e)) return e;
    const std::function<Expr(const Expr&)> inside = [&](const Expr& part) {
      return go(part, stack);
    };
    if (rw_.replace)
      if (auto r = rw_.replace(e, {k_, *insn_, stack, inside})) return *r;
    if (as_indexof(e)) return map_indexof(e, inside);
    if (const auto* s = e.as<SubArray>())
      return map_children(e, [&](const Expr&) { return map_subscripts(s->load, inside); });
    const auto* c = e.as<Call>();
    const Rule* rule = c ? rules_->find(c->name) : nullptr;
    if (!rule || (mentions_ && !mentions_->in_rule(c->name))) return map_children(e, inside);
    return rule_call(e, *rule, stack, inside);
  }

  Expr rule_call(const Expr& e, const Rule& rule, const Stack& stack,
                 const std::function<Expr(const Expr&)>& inside) {
    const Expr with_args = map_children(e, inside);
    const auto* c = with_args.as<Call>();
    for (std::size_t i = 0; i + 1 < stack.size(); ++i)
      if (stack[i].name == rule.name)
        fail("recursive-rule", rule.at, "rule `{}` calls itself", rule.name);
    Stack below{{rule.name, {}}};
    if (!c->tag.empty()) below.front().tags.insert(c->tag.str());
    below.insert(below.end(), stack.begin(), stack.end());
    const Expr body = body_of(rule, below);
    if (rw_.expand && rw_.expand({k_, *insn_, below, inside})) {
      expanded_ = true;
      Rule changed = rule;
      changed.body = body;
      return apply_rule(changed, c->args);
    }
    const std::string name = versions_.name_of(rule, body);
    if (name == rule.name) return with_args;
    return Expr(Call{name, c->args, c->tag}, e.at());
  }

  Expr body_of(const Rule& rule, const Stack& stack) {
    if (!rw_.same_everywhere) return go(rule.body, stack);
    if (const auto it = bodies_.find(rule.name); it != bodies_.end()) return it->second;
    Expr body = go(rule.body, stack);
    bodies_.emplace(rule.name, body);
    return body;
  }

  const Kernel& k_;
  const RuleRewrite& rw_;
  RuleVersions versions_;
  const std::shared_ptr<ClosedRules> rules_;
  std::unordered_map<std::string, Expr> bodies_;  // when the place does not matter
  const Mentions* const mentions_;
  const Instruction* insn_ = nullptr;
  bool expanded_ = false;
};

/// All that `e` names, also functions and the inames of reductions.
void collect_names(const Expr& e, std::set<std::string>& out) {
  collect_vars(e, out);
  walk(e, [&](const Expr& x) {
    if (const auto* l = x.as<Load>()) out.insert(l->array);
    if (const auto* c = x.as<Call>()) out.insert(c->name);
    if (const auto* r = x.as<Reduce>()) out.insert(r->inames.begin(), r->inames.end());
    if (const auto* s = x.as<SubArray>()) out.insert(s->inames.begin(), s->inames.end());
    return true;
  });
}

}  // namespace

// ---- Mentions.

namespace {

/// Whether some node below `e`, or `e` itself, is one that `found` looks for; each of these has one
/// of the names whose bits are in `names`.
template <class F>
bool any_node(const Expr& e, std::uint32_t names, const F& found) {
  if (!(e.names() & names)) return false;
  bool yes = false;
  walk(e, [&](const Expr& x) {
    yes = yes || ((x.names() & names) && found(x));
    return !yes && (x.names() & names);
  });
  return yes;
}

}  // namespace

Mentions::Mentions(const Kernel& k, std::string name)
    : name_(std::move(name)), names_(name_bit(name_)) {
  std::vector<const std::string*> queue;
  for (const Rule& r : k.rules)
    if (in(r.body)) queue.push_back(&r.name);
  if (queue.empty()) return;
  // Callers of a rule that names it do so too.
  std::unordered_map<std::string, std::vector<const std::string*>> callers;
  for (const Rule& r : k.rules)
    for_each_of<Call>(r.body,
                      [&](const Call& c, const Expr&) { callers[c.name].push_back(&r.name); });
  while (!queue.empty()) {
    const std::string& rule = *queue.back();
    queue.pop_back();
    if (!rules_.insert(rule).second) continue;
    names_ |= name_bit(rule);
    if (const auto it = callers.find(rule); it != callers.end())
      queue.insert(queue.end(), it->second.begin(), it->second.end());
  }
}

bool Mentions::in(const Expr& e) const {
  return any_node(e, names_, [&](const Expr& x) {
    if (const auto* v = x.as<Var>()) return v->name == name_;
    if (const auto* l = x.as<Load>()) return l->array == name_;
    if (const auto* c = x.as<Call>()) return rules_.count(c->name) > 0;
    return false;
  });
}

bool Mentions::read_by(const Instruction& insn) const {
  const auto here = [&](const Expr& e) { return in(e); };
  const auto subscripts = [&](const Expr& target) {
    bool yes = false;
    if (!(target.names() & names_)) return yes;
    for_each_child(target, [&](const Expr& c) { yes = yes || in(c); });
    return yes;
  };
  return std::any_of(insn.lhs.begin(), insn.lhs.end(), subscripts) || (insn.rhs && in(insn.rhs)) ||
         std::any_of(insn.predicates.begin(), insn.predicates.end(), here);
}

// ---- Versions.

RuleVersions::RuleVersions(const Kernel& k, std::set<std::string>* taken)
    : k_(k), taken_(taken ? taken : &own_) {}

std::string RuleVersions::add(Rule version, const std::string& of) {
  std::vector<Rule>& all = versions_[of];
  for (const Rule& v : all)
    if (v.params == version.params && equal(v.body, version.body)) return v.name;
  for (int n = 0;; ++n) {
    version.name = of + "_" + std::to_string(n);
    if (!k_.has_name(version.name) && taken_->insert(version.name).second) break;
  }
  all.push_back(std::move(version));
  return all.back().name;
}

std::string RuleVersions::name_of(const Rule& rule, const Expr& body) {
  if (equal(body, rule.body)) return rule.name;
  Rule version = rule;
  version.body = body;
  return add(std::move(version), rule.name);
}

std::string RuleVersions::name_of(const Rule& rule, const Expr& body, std::size_t first) {
  Rule version = rule;
  std::set<std::string> names;
  collect_names(body, names);
  std::map<std::string, std::string> params;
  for (std::size_t i = 0; i < rule.params.size(); ++i) {
    std::string& param = version.params[i];
    for (int n = 0; names.contains(param); ++n) param = fmt::format("{}_{}", rule.params[i], n);
    names.insert(param);
    params.emplace(fmt::format("${}", first + i), param);
  }
  version.body = rename(body, params);
  if (version.params == rule.params && equal(version.body, rule.body)) return rule.name;
  return add(std::move(version), rule.name);
}

namespace {

/// Which rules instructions call, directly or not, by their places in the list.
std::vector<bool> find_called(const Kernel& k) {
  std::vector<bool> out(k.rules.size());
  if (out.empty()) return out;
  std::unordered_map<std::string_view, std::size_t> rules;
  std::vector<Expr> bodies;
  std::uint32_t names = 0;
  for (const Rule& r : k.rules) {
    rules.emplace(r.name, bodies.size());
    bodies.push_back(r.body);
    names |= name_bit(r.name);
  }
  std::vector<std::size_t> queue;
  const auto look = [&](const Expr& e) {
    if (!(e.names() & names)) return;
    for_each_of<Call>(e, [&](const Call& c, const Expr&) {
      const auto r = rules.find(c.name);
      if (r == rules.end() || out[r->second]) return;
      out[r->second] = true;
      queue.push_back(r->second);
    });
  };
  for (const InsnPtr& insn : k.instructions) {
    for (const Expr& l : insn->lhs) look(l);
    look(insn->rhs);
    for (const Expr& p : insn->predicates) look(p);
  }
  while (!queue.empty()) {
    const Expr body = bodies[queue.back()];
    queue.pop_back();
    look(body);
  }
  return out;
}

}  // namespace

void RuleVersions::settle(Kernel& out) const {
  if (!versions_.empty()) {
    Rules rules;
    const Shared<Rules>& before = out.rules;
    for (auto r = before.begin(); r != before.end(); ++r) {
      rules.push_back(r);
      if (const auto v = versions_.find(r->name); v != versions_.end())
        for (const Rule& version : v->second) rules.push_back(version);
    }
    out.rules = std::move(rules);
  }
  const std::vector<bool> called = find_called(out);
  std::set<std::string> uncalled;
  std::size_t at = 0;
  for (const Rule& r : out.rules)
    if (!called[at++]) uncalled.insert(r.name);
  std::map<std::string, std::string> names;
  for (const auto& [name, all] : versions_) {
    if (!uncalled.contains(name) && out.find_rule(name)) continue;
    const auto first = std::find_if(all.begin(), all.end(),
                                    [&](const Rule& v) { return !uncalled.contains(v.name); });
    if (first != all.end()) names.emplace(first->name, name);
  }
  if (!uncalled.empty()) {  // rules that nothing called before stay
    const std::vector<bool> were_called = find_called(k_);
    at = 0;
    for (const Rule& r : k_.rules)
      if (!were_called[at++]) uncalled.erase(r.name);
  }
  erase_if(out.rules, [&](const Rule& r) { return uncalled.contains(r.name); });
  if (names.empty()) return;
  for (Rule& r : out.rules)
    if (const auto it = names.find(r.name); it != names.end()) r.name = it->second;
  const auto rename_call = [&](const Expr& x) {
    const auto* c = x.as<Call>();
    const auto it = c ? names.find(c->name) : names.end();
    return it == names.end() ? x : Expr(Call{it->second, c->args, c->tag}, x.at());
  };
  out = map_expressions(
      out, [&](const Instruction&, const Expr& e) { return rewrite(e, rename_call); }, true);
}

Exprs placeholders(const Rule& rule, std::size_t first) {
  Exprs out;
  for (std::size_t i = 0; i < rule.params.size(); ++i)
    out.push_back(var(fmt::format("${}", first + i)));
  return out;
}

Expr substitute_through_rules(const Kernel& k, const Expr& e, const std::map<std::string, Expr>& by,
                              RuleVersions& versions) {
  if (by.empty()) return e;
  const auto in_call = [&](const Expr& x) -> Expr {
    const auto* c = x.as<Call>();
    const Rule* rule = c ? k.find_rule(c->name) : nullptr;
    if (!rule) return x;
    std::map<std::string, Expr> free = by;
    for (const std::string& p : rule->params) free.erase(p);
    const Expr body = apply_rule(*rule, placeholders(*rule, 0));
    const Expr changed = substitute_through_rules(k, body, free, versions);
    if (changed.same_as(body)) return x;
    return Expr(Call{versions.name_of(*rule, changed, 0), c->args, c->tag}, x.at());
  };
  return substitute(rewrite(e, in_call), by);
}

std::set<std::string> called_rules(const Kernel& k) {
  const std::vector<bool> called = find_called(k);
  std::set<std::string> out;
  std::size_t at = 0;
  for (const Rule& r : k.rules)
    if (called[at++]) out.insert(r.name);
  return out;
}

Kernel rewrite_through_rules(const Kernel& k, const RuleRewrite& rw) {
  return RulesRewriter(k, rw).run();
}

}  // namespace moonloop
