#include "core/rewrite/staging.h"

#include <algorithm>
#include <unordered_set>

#include "core/model/domain.h"
#include "core/model/lookup.h"
#include "core/model/memo.h"
#include "core/order/commuting.h"
#include "core/order/order_reference.h"
#include "core/sets/budget.h"

namespace moonloop {

// ---- Rule calls -------------------------------------------------------------------------------

namespace {

/// Names of the rules that `e` calls itself.
void collect_rules(const Kernel& k, const Expr& e, std::set<std::string>& out) {
  for_each_of<Call>(e, [&](const Call& c, const Expr&) {
    if (k.find_rule(c.name)) out.insert(c.name);
  });
}

std::map<std::string, std::set<std::string>> rule_callees(const Kernel& k) {
  std::map<std::string, std::set<std::string>> out;
  for (const Rule& r : k.rules) collect_rules(k, r.body, out[r.name]);
  return out;
}

}  // namespace

struct RuleCalls::Walk {
  const Instruction& insn;
  const Visit& visit;
  RuleVersions* versions;
  Stack stack;  // levels around the expression, innermost first
  /// The arguments for the parameters of the rules that were entered. The arguments themselves are
  /// walked where they are written, so they must not be visited again inside of the body.
  std::map<std::string, Expr> params = {};

  Expr resolved(const Expr& e) const { return params.empty() ? e : substitute(e, params); }
};

RuleCalls::RuleCalls(const Kernel& k, std::string rule, std::string tag, Match within)
    : k_(k), rule_(std::move(rule)), tag_(std::move(tag)), within_(std::move(within)) {
  const auto callees = rule_callees(k);
  for (bool grew = true; grew;) {
    grew = false;
    for (const auto& [caller, called] : callees) {
      if (reaching_.count(caller)) continue;
      if (std::any_of(called.begin(), called.end(),
                      [&](const std::string& c) { return c == rule_ || reaching_.count(c); })) {
        reaching_.insert(caller);
        grew = true;
      }
    }
  }
  names_ = name_bit(rule_);
  for (const std::string& caller : reaching_) names_ |= name_bit(caller);
}

bool RuleCalls::selected(const Walk& walk, const Call& call) const {
  if (call.name != rule_ || (!tag_.empty() && call.tag.str() != tag_)) return false;
  if (within_.everything() || within_(k_, walk.insn, walk.stack)) return true;
  Stack with_call = walk.stack;
  StackLevel own{call.name, {}};
  if (!call.tag.empty()) own.tags.insert(call.tag.str());
  with_call.insert(with_call.begin(), own);
  return within_(k_, walk.insn, with_call);
}

namespace {

/// An argument that can only be a name: an array, or an iname that a reduction in the rule
/// binds.
bool only_a_name(const Kernel& k, const Expr& arg, const Place& at) {
  const auto* v = arg.as<Var>();
  if (!v) return false;
  if (const Argument* a = k.find_arg(v->name)) return a->is_array;
  if (const Temporary* t = k.find_temporary(v->name)) return !t->shape || !t->shape->empty();
  return k.has_iname(v->name) &&
         std::find(at.inames.begin(), at.inames.end(), v->name) == at.inames.end();
}

}  // namespace

std::optional<Expr> RuleCalls::at_node(Walk& walk, const Expr& e, const Place& at) const {
  if (!(e.names() & names_)) return e;  // nor do those below
  const auto* call = e.as<Call>();
  if (!call) return {};
  if (selected(walk, *call)) {
    Exprs args;
    for (const Expr& arg : call->args) args.push_back(walk.resolved(arg));
    Place place = at;
    for (Expr& c : place.conditions) c = walk.resolved(c);
    return walk.visit(e, args, place);
  }
  if (!reaching_.count(call->name)) return {};

  const auto descend = [&](const Expr& part, const Place& place) {
    return rewrite_places(part, place,
                          [&](const Expr& x, const Place& p) { return at_node(walk, x, p); });
  };
  Place inside = at;
  inside.written = false;
  Call outer = *call;
  bool changed = false;
  for (Expr& arg : outer.args) {
    const Expr done = descend(arg, inside);
    changed = changed || !done.same_as(arg);
    arg = done;
  }
  const Rule& rule = *k_.find_rule(call->name);
  ensure(rule.params.size() == outer.args.size(), "a rule call has as many arguments as the rule");
  const std::size_t first = walk.params.size();
  Exprs names = placeholders(rule, first);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Expr value = walk.resolved(outer.args[i]);
    walk.params.emplace(fmt::format("${}", first + i), value);
    if (only_a_name(k_, value, at)) names[i] = value;
  }
  StackLevel level{call->name, {}};
  if (!call->tag.empty()) level.tags.insert(call->tag.str());
  walk.stack.insert(walk.stack.begin(), level);
  const Expr body = apply_rule(rule, names);
  const Expr out = descend(body, at);
  walk.stack.erase(walk.stack.begin());
  for (std::size_t i = 0; i < names.size(); ++i) walk.params.erase(fmt::format("${}", first + i));
  if (!out.same_as(body)) {
    ensure(walk.versions != nullptr, "a rule whose body changes gets a version");
    outer.name = walk.versions->name_of(rule, out, first);
    changed = true;
  }
  return changed ? Expr(outer, e.at()) : e;
}

/// Whether some expression may have a call; false only where it surely has none.
bool RuleCalls::may_be_in(const Instruction& insn) const {
  const auto here = [&](const Expr& e) { return (e.names() & names_) != 0; };
  return std::any_of(insn.lhs.begin(), insn.lhs.end(), here) || here(insn.rhs) ||
         std::any_of(insn.predicates.begin(), insn.predicates.end(), here);
}

InsnPtr RuleCalls::rewrite(const InsnPtr& insn, const Visit& f, RuleVersions& versions) const {
  if (!may_be_in(*insn)) return insn;
  Walk walk{*insn, f, &versions, {StackLevel{insn->id, insn->tags}}};
  return rewrite_places(insn, [&](const Expr& e, const Place& at) { return at_node(walk, e, at); });
}

void RuleCalls::visit(const InsnPtr& insn, const Visit& f) const {
  if (!may_be_in(*insn)) return;
  Walk walk{*insn, f, nullptr, {StackLevel{insn->id, insn->tags}}};
  rewrite_places(insn, [&](const Expr& e, const Place& at) { return at_node(walk, e, at); });
}

// ---- Names, tags, address spaces --------------------------------------------------------------

std::string take_name(std::set<std::string>& taken, const std::string& base) {
  std::string name = base;
  for (int n = 0; !taken.insert(name).second; ++n) name = fmt::format("{}_{}", base, n);
  return name;
}

std::set<std::string> common_parallel(const Kernel& k, const std::vector<Place>& places,
                                      bool local_too) {
  std::set<std::string> out;
  const auto counts = [&](const InameTag* t) {
    return is_spread(t) || (local_too && is_work_item(t));
  };
  for (const std::string& i : places.at(0).inames)
    if (counts(k.tag(i))) out.insert(i);
  for (const Place& p : places)
    std::erase_if(out, [&](const std::string& i) {
      return std::find(p.inames.begin(), p.inames.end(), i) == p.inames.end();
    });
  return out;
}

std::set<std::string> work_items_of(const Kernel& k, const Place& at) {
  std::set<std::string> out;
  for (const std::string& i : at.inames)
    if (is_work_item(k.tag(i))) out.insert(i);
  return out;
}

std::optional<std::string> shared_default(const std::optional<std::string>& given, bool own) {
  return own && given == "l.auto" ? std::nullopt : given;
}

std::optional<InameTag> staging_tag(const std::optional<std::string>& given, bool shared,
                                    const Span& at) {
  if (!given) return shared ? parse_iname_tag("l.auto") : std::nullopt;
  if (given->empty() || *given == "for") return {};
  std::optional<InameTag> tag = parse_iname_tag(*given);
  if (!tag) fail_for(*given, "bad-tag", at, "`{}` is not a tag of an iname", *given);
  tag->at = at;
  return tag;
}

AddressSpace parse_address_space(const std::string& text, const Span& at) {
  if (text == "auto") return AddressSpace::Auto;
  if (text == "private") return AddressSpace::Private;
  if (text == "local") return AddressSpace::Local;
  if (text == "global") return AddressSpace::Global;
  fail("bad-address-space", at,
       "`{}` is not an address space; there are `auto`, `private`, `local`, `global`", text);
}

std::string to_string(AddressSpace s) {
  switch (s) {
    case AddressSpace::Auto: return "auto";
    case AddressSpace::Private: return "private";
    case AddressSpace::Local: return "local";
    case AddressSpace::Global: return "global";
  }
  throw InternalError("an address space without a name");
}

// ---- The proof --------------------------------------------------------------------------------

Map stage_relation(const Kernel& k, const std::set<std::string>& stage,
                   const std::vector<std::string>& shared, const Place& at,
                   const std::vector<std::pair<Expr, Expr>>& equal) {
  const std::vector<std::string> in(stage.begin(), stage.end());
  const Set staging = domain_of(k, in);
  Set instances = instances_at(k, at).set;
  const auto make = [&] {
    Map out = universal_map(in, at.inames);
    const auto restrict_to = [&](const Expr& staged, const Expr& served) {
      const std::optional<Map> a = to_map({staged}, in), b = to_map({served}, at.inames);
      if (!a || !b) return;
      out =
          isl_map_intersect(out.take(), isl_map_apply_range(a->copy(), isl_map_reverse(b->copy())));
    };
    for (const std::string& i : shared) restrict_to(var(i), var(i));
    for (const auto& [staged, served] : equal) restrict_to(staged, served);
    out = isl_map_intersect_domain(out.take(), staging.copy());
    return Map(isl_map_intersect_range(out.take(), instances.take()));
  };
  if (!at.conditions.empty()) return make();
  std::string key = fmt::format("stage {};{};{}", fmt::join(in, ","), fmt::join(at.inames, ","),
                                fmt::join(shared, ","));
  for (const auto& [staged, served] : equal)
    key += ";" + to_string(staged) + "=" + to_string(served);
  return memo().made(std::move(key) + memo().name(staging) + memo().name(instances), make);
}

std::vector<Access> accesses_to(const Kernel& k, const Instruction& insn, bool write,
                                const std::set<std::string>& skip) {
  std::vector<Access> out;
  Instruction plain = insn;
  if (!k.rules.empty()) {
    for (Expr& e : plain.lhs) e = expand_rules(k, e);
    if (plain.rhs) plain.rhs = expand_rules(k, plain.rhs);
    for (Expr& e : plain.predicates) e = expand_rules(k, e);
  }
  for (Access& a : accesses_of(plain, k))
    if (a.write == write && !skip.count(a.variable)) out.push_back(std::move(a));
  return out;
}

namespace {

/// How often an instruction reads `name`, with its rules expanded.
int times_read(const Kernel& k, const Instruction& insn, const std::string& name) {
  int n = 0;
  const auto look = [&](const Expr& e) {
    if (e)
      walk(expand_rules(k, e), [&](const Expr& x) {
        const auto* l = x.as<Load>();
        const auto* v = x.as<Var>();
        n += (l && l->array == name) || (v && v->name == name);
        return true;
      });
  };
  look(insn.rhs);
  for (const Expr& p : insn.predicates) look(p);
  return n;
}

/// A claim about atomic updates no longer holds for one that takes the old value from a copy: it
/// stores by the copy's value, whatever others did in between.
void withdraw_claimed_updates(const Kernel& before, Kernel& after) {
  const std::set<std::string> claimed = claimed_commuting(before);
  if (claimed.empty()) return;
  for (InsnPtr& insn : after.instructions) {
    if (insn->atomic != Atomicity::Update) continue;
    const auto* was = before.find_insn(insn->id);
    if (!was) continue;
    for (const std::string& name : writes(*insn))
      if (claimed.count(name) && times_read(after, *insn, name) < times_read(before, *was, name)) {
        insn = edit(insn, [](Instruction& i) { i.atomic = Atomicity::None; });
        break;
      }
  }
}

}  // namespace

Kernel staged(const Kernel& before, Kernel after, const std::vector<StandIn>& all, Proof proof) {
  withdraw_claimed_updates(before, after);
  after = rebase(std::move(after));
  if (proof == Proof::LeftOut) {
    nest(after);  // it must be possible at least
    return after;
  }
  within_budget(before.at, "staging keeps every value", [&] {
    check_stand_ins(before, after, all);
    check_legal(after);
  });
  return after;
}

// ---- Sites ------------------------------------------------------------------------------------

namespace {

void number_leaves(const TreeNode& node, std::vector<int>& sequence) {
  if (!node.is_loop()) return sequence.push_back(node.insn);
  for (const TreeNode& n : node.children) number_leaves(n, sequence);
}

}  // namespace

Sites::Sites(const Kernel& k) : kernel_(k) {
  derive();
  std::vector<InsnPtr> in_order = linearized(k, order_->order);
  if (in_order == k.instructions) return;
  kernel_.instructions = std::move(in_order);
  derive();
}

void Sites::derive() {
  order_ = ordered(kernel_);
  owner_ = owners(kernel_, order_->order);
  statements_.assign(kernel_.instructions.size(), {});
  for (std::size_t s = 0; s < owner_.size(); ++s)
    statements_[std::size_t(owner_[s])].push_back(static_cast<int>(s));
}

const LoopTree& Sites::tree() const { return order_->order.tree(); }

const TreePath& Sites::path_of(std::size_t use, const Place& at) const {
  const auto around = [&](int s) {
    const std::vector<std::string>& loops = tree().paths[std::size_t(s)].loops();
    return std::count_if(loops.begin(), loops.end(), [&](const std::string& l) {
      return std::find(at.inames.begin(), at.inames.end(), l) != at.inames.end();
    });
  };
  int best = statements_.at(use).back();
  for (const int s : statements_[use])
    if (around(s) > around(best)) best = s;
  return tree().paths[std::size_t(best)];
}

/// `needed` with those of `loops` that must be outside of some of them: a statement is in the outer
/// loop and not in the inner one, so that the two cannot change places.
std::set<std::string> Sites::enclosed(const std::set<std::string>& needed,
                                      const std::vector<std::string>& loops) const {
  std::map<std::string, std::set<std::string>> all_in;  // by loop: those around all its statements
  std::unordered_set<const void*> seen;                 // equal lists are one object
  for (const TreePath& path : tree().paths) {
    const std::vector<std::string>& nest = path.loops();
    if (!seen.insert(&nest).second) continue;
    for (const std::string& l : loops) {
      const auto has = [&](const std::string& o) {
        return std::find(nest.begin(), nest.end(), o) != nest.end();
      };
      if (!has(l)) continue;
      const auto [it, first] = all_in.try_emplace(l);
      if (first) it->second.insert(nest.begin(), nest.end());
      std::erase_if(it->second, [&](const std::string& o) { return !has(o); });
    }
  }
  std::set<std::string> out = needed;
  for (bool grew = true; grew;) {
    grew = false;
    for (const std::string& l : loops) {
      if (out.count(l)) continue;
      const bool inside = std::all_of(loops.begin(), loops.end(), [&](const std::string& o) {
        return !out.count(o) || all_in.at(l).count(o);
      });
      if (!inside) grew = out.insert(l).second;
    }
  }
  return out;
}

std::vector<std::set<std::string>> Sites::nests(std::size_t use, const Place& at,
                                                const std::set<std::string>& needed,
                                                const std::set<std::string>& sweep,
                                                const std::set<std::string>& common) const {
  const std::vector<std::string>& loops = path_of(use, at).loops();
  const auto up_to = [&](std::size_t end) {
    std::set<std::string> nest = needed;
    for (std::size_t i = 0; i < end; ++i)
      if (!sweep.count(loops[i]) && common.count(loops[i])) nest.insert(loops[i]);
    return nest;
  };
  std::size_t innermost = 0, swept = 0;
  for (std::size_t i = 0; i < loops.size(); ++i)
    if (needed.count(loops[i])) innermost = i + 1;
  while (swept < loops.size() && !sweep.count(loops[swept])) ++swept;

  std::vector<std::set<std::string>> out{needed};
  const std::set<std::string> closed = enclosed(needed, loops);
  if (std::none_of(closed.begin(), closed.end(), [&](const std::string& l) {
        return !needed.count(l) && (sweep.count(l) || !common.count(l));
      }))
    out = {closed};
  for (std::set<std::string> nest : {up_to(innermost), up_to(std::max(innermost, swept))})
    if (std::find(out.begin(), out.end(), nest) == out.end()) out.push_back(std::move(nest));
  return out;
}

std::pair<std::size_t, std::size_t> Sites::span_of(std::size_t use, const Place& at,
                                                   const std::set<std::string>& nest) const {
  const TreePath& path = path_of(use, at);
  std::size_t level = 0;
  while (level < path.loops().size() && nest.count(path.loops()[level])) ++level;
  const std::vector<TreeNode>* siblings = &tree().roots;
  for (std::size_t l = 0; l < level; ++l)
    siblings = &(*siblings)[std::size_t(path.index(l))].children;
  std::vector<int> leaves;
  number_leaves((*siblings)[std::size_t(path.index(level))], leaves);
  std::size_t first = use, last = use;
  for (const int s : leaves) {
    const auto owner = std::size_t(owner_[std::size_t(s)]);
    first = std::min(first, owner);
    last = std::max(last, owner);
  }
  return {first, last + 1};
}

std::size_t Sites::ahead_of(std::size_t use, const Place& at,
                            const std::set<std::string>& nest) const {
  return span_of(use, at, nest).first;
}

std::size_t Sites::behind(std::size_t use, const Place& at,
                          const std::set<std::string>& nest) const {
  return span_of(use, at, nest).second;
}

}  // namespace moonloop
