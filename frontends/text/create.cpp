#include "frontends/text/create.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "core/base/diagnostic.h"
#include "core/infer/explicit_wraps.h"
#include "core/model/domain.h"
#include "core/model/flat_subscripts.h"
#include "core/model/free_names.h"
#include "core/sets/budget.h"
#include "frontends/text/array_statements.h"

namespace moonloop::text {
namespace {

bool is_condition(const Expr& e) {
  if (e.as<Compare>() || e.as<BoolLit>()) return true;
  if (const auto* n = e.as<Nary>()) return n->op == NaryOp::And || n->op == NaryOp::Or;
  const auto* u = e.as<Unary>();
  return u && u->op == UnaryOp::Not;
}

/// The options of the blocks around a statement, outer to inner, and then its own options.
struct Setting {
  std::set<std::string> inames;
  std::vector<Word> iname_places;
  bool exact = false;
  std::vector<Word> deps, dep_queries;
  bool deps_final = false;
  Exprs predicates;
  std::set<std::string> tags, groups, conflicts;

  void add(const Options& o) {
    if (o.inames_exact) inames.clear(), exact = true;
    for (const Word& w : o.inames) inames.insert(w.text), iname_places.push_back(w);
    deps.insert(deps.end(), o.deps.begin(), o.deps.end());
    deps_final |= o.deps_final;
    dep_queries.insert(dep_queries.end(), o.dep_queries.begin(), o.dep_queries.end());
    predicates.insert(predicates.end(), o.predicates.begin(), o.predicates.end());
    tags.insert(o.tags.begin(), o.tags.end());
    groups.insert(o.groups.begin(), o.groups.end());
    conflicts.insert(o.conflicts.begin(), o.conflicts.end());
  }
};

class Creation {
 public:
  Creation(KernelText text, const Callees& callees, Errors& errors)
      : t_(std::move(text)), callees_(callees), errors_(errors) {}

  Kernel run() {
    k_.name = t_.name;
    k_.family = std::make_shared<const char>();
    k_.at = t_.at;
    k_.index_type = t_.index_type;
    k_.records = t_.records;
    k_.externals = t_.externals;
    k_.assumptions = t_.assumptions;
    k_.args = std::move(t_.args);
    k_.temporaries = std::move(t_.temporaries);
    k_.rules = std::move(t_.rules);
    domains();
    declared_temporaries();
    names();
    check_assumptions();
    if (!errors_.guard([&] { check_rules(k_.rules); })) return std::move(k_);
    resolve();
    calls();
    if (errors_.count() > 0) return std::move(k_);
    conditions();
    instructions();
    if (errors_.count() > 0) return std::move(k_);
    guess_arguments(k_, t_.guess, t_.default_order, errors_);
    make_flat_subscripts_plain(k_);
    make_wraps_explicit(k_);
    settings();
    infer_inames(k_, exact_);
    duplicates();
    if (errors_.count() == 0) separate_reductions(k_);
    resolve_dependencies(k_, wanted_, errors_);
    if (t_.sequential) in_sequence();
    if (errors_.count() == 0) errors_.guard([&] { domain_parents(k_); });
    return std::move(k_);
  }

 private:
  // ---- Names.

  void domains() {
    std::unordered_map<std::string, Span> places;
    for (DomainText& d : t_.domains) {
      Domain domain{std::move(d.set), d.text.at};
      for (const std::string& i : domain.inames()) {
        const Span at = place_of(i, d.text);
        const auto [it, fresh] = places.emplace(i, at);
        if (!fresh)
          throw_later({"duplicate-iname",
                       fmt::format("the iname `{}` is in two domains", i),
                       {at, {}},
                       {{it->second, "the first one"}},
                       {}});
        inames_.insert(i);
        k_.loop_order.push_back(i);
      }
      k_.domains.push_back(std::move(domain));
    }
    iname_places_ = std::move(places);
  }

  /// Assumptions are about values that a caller passes.
  void check_assumptions() {
    if (!k_.assumptions) return;
    for (const std::string& p : param_names(k_.assumptions)) {
      const bool iname = inames_.count(p) > 0;
      if (!iname && !k_.find_temporary(p)) continue;
      Span at = t_.at;
      for (const Word& w : t_.assumed)
        if (const Span here = place_of(p, w); here.len == static_cast<int>(p.size())) at = here;
      throw_later({"unknown-parameter",
                   fmt::format("`{}` in an assumption is {}; assumptions are about parameters", p,
                               iname ? "an iname" : "computed"),
                   {at, {}},
                   {},
                   iname ? "conditions on inames belong in their domain" : ""});
    }
  }

  /// The place of a name in the text of a set.
  static Span place_of(const std::string& name, const Word& w) {
    const auto name_char = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
    };
    for (std::size_t i = w.text.find(name); i != std::string::npos; i = w.text.find(name, i + 1)) {
      const std::size_t end = i + name.size();
      if ((i > 0 && name_char(w.text[i - 1])) || (end < w.text.size() && name_char(w.text[end])))
        continue;
      return span_at(w.at.source, offset_of(w.at) + i, name.size());
    }
    return w.at;
  }

  void throw_later(Diagnostic d) { errors_.add(std::move(d)); }

  void declared_temporaries() {
    for (const Statement& s : t_.statements)
      for (const Assignee& a : s.lhs) {
        if (!a.declares) continue;
        const std::string& name = written_name(a.e);
        const auto [it, fresh] = k_.temporaries.try_emplace(name);
        Temporary& t = it->second;
        if (fresh) {
          t.name = name;
          t.at = a.at;
          if (a.e.as<Var>()) t.shape.emplace();
        }
        if (a.type && t.type && !(*a.type == *t.type))
          throw_later({"type-conflict",
                       fmt::format("the temporary `{}` is declared as {} and as {}", name,
                                   t.type->str(), a.type->str()),
                       {a.at, {}},
                       {{t.at, "the first declaration"}},
                       {}});
        if (!t.type) t.type = a.type;
      }
  }

  void names() {
    struct Use {
      const char* what;
      Span at;
    };
    std::unordered_map<std::string, Use> seen;
    const auto claim = [&](const std::string& name, const char* what, const Span& at) {
      const auto [it, fresh] = seen.emplace(name, Use{what, at});
      if (fresh) return;
      const bool same = std::string_view(it->second.what) == what;
      throw_later({same ? "duplicate-argument" : "name-taken",
                   same ? fmt::format("{} `{}` is declared twice", what, name)
                        : fmt::format("`{}` is {} and {}", name, it->second.what, what),
                   {at, {}},
                   {{it->second.at, "the other declaration"}},
                   {}});
    };
    for (const auto& [name, at] : iname_places_) seen.emplace(name, Use{"an iname", at});
    for (const Argument& a : k_.args) claim(a.name, "the argument", a.at);
    for (const auto& [name, t] : k_.temporaries) claim(name, "a temporary", t.at);
    for (const Rule& r : k_.rules) claim(r.name, "a rule", r.at);
    for (const auto& [name, use] : seen) taken_.insert(name);
  }

  // ---- Expressions.

  void require_iname(const Word& w) {
    if (inames_.contains(w.text)) return;
    std::vector<std::string> all(inames_.begin(), inames_.end());
    if (all.size() > 1000) all.clear();
    throw_later({"unknown-iname",
                 fmt::format("no iname `{}`{}", w.text, did_you_mean(w.text, all)),
                 {w.at, {}},
                 {},
                 {}});
  }

  void resolve() {
    for (const Block& b : t_.blocks)
      for (const Word& w : b.inames) require_iname(w);
    const Resolver resolver(k_.rules, inames_);
    const auto all = [&](Exprs& es, const std::set<std::string>& around) {
      for (Expr& e : es) errors_.guard([&] { e = resolver.resolve(e, around); });
    };
    for (Rule& r : k_.rules)
      errors_.guard([&] { r.body = resolver.resolve(r.body, {r.params.begin(), r.params.end()}); });
    // Loops that blocks say.
    std::vector<std::set<std::string>> of_blocks;
    for (const Block& b : t_.blocks) {
      std::set<std::string> around;
      if (b.parent >= 0) around = of_blocks[static_cast<std::size_t>(b.parent)];
      for (const Word& w : b.inames) around.insert(w.text);
      for (const Word& w : b.options.inames) around.insert(w.text);
      of_blocks.push_back(std::move(around));
    }
    const auto around_block = [&](int b) {
      return b < 0 ? std::set<std::string>() : of_blocks[static_cast<std::size_t>(b)];
    };
    for (Block& b : t_.blocks) {
      all(b.options.predicates, around_block(b.parent));
      check_reductions(b.options.predicates);
    }
    for (Chain& c : t_.chains) {
      all(c.conditions, around_block(c.block));
      check_reductions(c.conditions);
    }
    for (Statement& s : t_.statements) {
      std::set<std::string> around = around_block(s.block);
      for (const Word& w : s.options().inames) around.insert(w.text);
      for (const Assignee& a : s.lhs) {
        Names names;
        NameCollector({}).add(a.e, names);
        around.insert(names.vars.begin(), names.vars.end());
      }
      for (Assignee& a : s.lhs)
        errors_.guard([&] {
          if (a.e.as<Var>()) {
            if (k_.find_rule(written_name(a.e)))
              fail("bad-assignee", a.at, "`{}` is a rule and cannot be assigned to",
                   to_string(a.e));
            return;
          }
          a.e = s.kind == InsnKind::Call ? resolver.resolve_part(a.e, around)
                                         : resolver.resolve(a.e, around);
        });
      if (s.rhs) errors_.guard([&] { s.rhs = resolver.resolve(s.rhs, around); });
      if (s.written_options) all(s.written_options->predicates, around);
      check_written(s);
      for (const Assignee& a : s.lhs) check_reductions(a.e, {});
      if (s.rhs) check_reductions(s.rhs, {});
      if (s.written_options) check_reductions(s.written_options->predicates);
    }
  }

  void calls() {
    for (Statement& s : t_.statements) {
      if (!s.calls_kernel) continue;
      const std::string name = s.rhs.as<Call>()->name;  // the call becomes another one
      errors_.guard([&] {
        const auto it = callees_.find(name);
        if (it == callees_.end())
          throw Error(Diagnostic{"unknown-kernel",
                                 fmt::format("no kernel `{}` to call", name),
                                 {s.at, {}},
                                 {},
                                 "kernels of one text may call one another"});
        bind_call(s, *it->second->meaning,
                  [&](const std::string& array) { return strides_in(k_, array); });
        k_.callees.insert(*it);
        k_.externals.emplace(name, std::nullopt);
        check_written(s);
      });
    }
  }

  void check_written(const Statement& s) {
    for (const Assignee& a : s.lhs)
      if (const std::string& name = written_name(a.e); inames_.contains(name))
        throw_later({"writes-iname",
                     fmt::format("`{}` is an iname and cannot be assigned to", name),
                     {a.at, {}},
                     {},
                     {}});
    if (s.kind == InsnKind::Call && !s.calls_kernel && s.lhs.size() != 1)
      if (const auto* c = s.rhs.as<Call>(); c && k_.find_rule(c->name))
        throw_later(
            {"wrong-result-count",
             fmt::format("the rule `{}` gives 1 result, found {} assignees", c->name, s.lhs.size()),
             {s.at, {}},
             {},
             {}});
  }

  void check_reductions(const Exprs& all) {
    for (const Expr& e : all) check_reductions(e, {});
  }
  /// Each name that a reduction in `e` runs over has to be an iname, also in rules that are called
  /// there; returns which of the `params` of a rule have to be inames.
  std::set<std::size_t> check_reductions(const Expr& e, const std::vector<std::string>& params) {
    std::set<std::size_t> out;
    const auto use = [&](const std::string& name, const Span& at) {
      const auto param = std::find(params.begin(), params.end(), name);
      if (param == params.end())
        require_iname({name, at});
      else
        out.insert(static_cast<std::size_t>(param - params.begin()));
    };
    walk(e, [&](const Expr& x) {
      if (const auto* r = x.as<Reduce>())
        for (const std::string& i : r->inames) use(i, x.at());
      const auto* c = x.as<Call>();
      const Rule* rule = c ? k_.find_rule(c->name) : nullptr;
      if (!rule) return true;
      for (const std::size_t p : reduced_params(*rule))
        if (const auto* v = p < c->args.size() ? c->args[p].as<Var>() : nullptr)
          use(v->name, c->args[p].at());
      return true;
    });
    return out;
  }
  /// The positions of the parameters that the rule reduces over.
  std::set<std::size_t> reduced_params(const Rule& r) {
    const auto [known, fresh] = reduced_params_.try_emplace(r.name);
    if (!fresh) return known->second;
    std::set<std::size_t> out = check_reductions(r.body, r.params);
    return reduced_params_[r.name] = std::move(out);
  }

  // ---- Blocks.

  /// Conditions whose value a statement under them may change are saved ahead.
  void conditions() {
    // The names of each statement's assignees, so that a chain looks at each statement once.
    std::vector<std::vector<std::string>> written(t_.statements.size());
    for (std::size_t n = 0; n < t_.statements.size(); ++n)
      for (const Assignee& a : t_.statements[n].lhs) written[n].push_back(written_name(a.e));
    NameCollector collect(k_.rules);
    saved_.resize(t_.chains.size());
    for (std::size_t c = 0; c < t_.chains.size(); ++c) {
      const Chain& chain = t_.chains[c];
      saved_[c].resize(chain.conditions.size());
      std::vector<Names> names(chain.conditions.size());
      for (std::size_t i = 0; i < names.size(); ++i) collect.add(chain.conditions[i], names[i]);
      std::unordered_set<std::string> changed;
      for (std::size_t n = chain.first; n < chain.last; ++n)
        changed.insert(written[n].begin(), written[n].end());
      const auto changes = [&](const std::set<std::string>& all) {
        return std::any_of(all.begin(), all.end(),
                           [&](const auto& n) { return changed.contains(n); });
      };
      for (std::size_t i = 0; i < names.size(); ++i)
        if (!chain.lasting && (changes(names[i].vars) || changes(names[i].arrays))) {
          saved_[c][i] = fresh_name("cond");
          Temporary t;
          t.name = saved_[c][i];
          t.type = Type(Scalar::Bool);
          t.shape.emplace();
          t.at = chain.conditions[i].at();
          k_.temporaries.emplace(t.name, std::move(t));
          saved_before_[chain.first].emplace_back(c, i);
        }
    }
    // The conditions of each arm, as instructions have them.
    arms_.resize(t_.chains.size());
    for (std::size_t c = 0; c < t_.chains.size(); ++c) {
      const Chain& chain = t_.chains[c];
      Exprs not_before;
      for (std::size_t i = 0; i <= chain.conditions.size(); ++i) {
        Exprs arm = not_before;
        if (i < chain.conditions.size()) {
          const Expr& condition = chain.conditions[i];
          const bool saved = !saved_[c][i].empty();
          const Expr holds = saved ? var(saved_[c][i], condition.at()) : condition;
          if (saved)
            arm = {holds};  // its value includes that the earlier ones do not hold
          else
            arm.push_back(holds);
          not_before.push_back(negation(holds));
        }
        arms_[c].push_back(std::move(arm));
      }
    }
  }

  std::string fresh_name(const std::string& base) {
    if (all_names_.empty()) {
      all_names_ = taken_;
      const auto add = [&](const Expr& e) {
        if (!e) return;
        walk(e, [&](const Expr& x) {
          if (const auto* v = x.as<Var>()) all_names_.insert(v->name);
          if (const auto* l = x.as<Load>()) all_names_.insert(l->array);
          return true;
        });
      };
      for (const Statement& s : t_.statements) {
        add(s.rhs);
        for (const Assignee& a : s.lhs) add(a.e);
      }
      for (const Rule& r : k_.rules)
        add(r.body), all_names_.insert(r.params.begin(), r.params.end());
      for (const Chain& c : t_.chains)
        for (const Expr& e : c.conditions) add(e);
      for (const Domain& d : k_.domains)
        for (std::string& p : param_names(d.set)) all_names_.insert(std::move(p));
    }
    std::string name = base;
    for (int i = 0; !all_names_.insert(name).second; ++i) name = base + "_" + std::to_string(i);
    return name;
  }

  /// The options of the blocks from the outermost to `block`.
  const Setting& setting_of(int block) {
    static const Setting kNone;
    if (block < 0) return kNone;
    const std::size_t n = static_cast<std::size_t>(block);
    while (settings_.size() <= n) {  // parents come before their children
      const Block& b = t_.blocks[settings_.size()];
      Setting s = b.parent < 0 ? Setting() : settings_[static_cast<std::size_t>(b.parent)];
      switch (b.kind) {
        case Block::Kind::For:
          for (const Word& w : b.inames) s.inames.insert(w.text);
          break;
        case Block::Kind::With: s.add(b.options); break;
        case Block::Kind::Arm: {
          const Exprs& arm =
              arms_[static_cast<std::size_t>(b.chain)][static_cast<std::size_t>(b.arm)];
          s.predicates.insert(s.predicates.end(), arm.begin(), arm.end());
          break;
        }
      }
      settings_.push_back(std::move(s));
    }
    return settings_[n];
  }

  // ---- Instructions.

  void instructions() {
    std::unordered_map<std::string, Span> ids;
    for (const Statement& s : t_.statements) {
      const Word& id = s.options().id;
      if (id.text.empty()) continue;
      const auto [it, fresh] = ids.emplace(id.text, id.at);
      if (!fresh)
        throw_later({"duplicate-id",
                     fmt::format("two instructions have the id `{}`", id.text),
                     {id.at, {}},
                     {{it->second, "the first one"}},
                     {}});
    }
    const auto fresh_id = [&](const std::string& prefix, const Span& at) {
      if (ids.emplace(prefix, at).second) return prefix;
      for (int& next = next_id_[prefix];; ++next) {
        std::string id = prefix + "_" + std::to_string(next);
        if (ids.emplace(id, at).second) return id;
      }
    };
    for (std::size_t n = 0; n < t_.statements.size(); ++n) {
      if (const auto it = saved_before_.find(n); it != saved_before_.end())
        for (const auto& [c, i] : it->second)
          save_condition(c, i, fresh_id("cond", t_.chains[c].at));
      const Statement& s = t_.statements[n];
      std::string id = s.options().id.text;
      if (id.empty()) id = fresh_id(id_prefix(s), s.at);
      add_instruction(s, std::move(id));
    }
  }

  /// The prefix for the id of a statement without one: its own option, or that of the innermost
  /// block.
  std::string id_prefix(const Statement& s) const {
    const std::string* prefix = &s.options().id_prefix.text;
    for (int b = s.block; prefix->empty() && b >= 0;) {
      const Block& block = t_.blocks[static_cast<std::size_t>(b)];
      prefix = &block.options.id_prefix.text;
      b = block.parent;
    }
    return prefix->empty() ? "insn" : *prefix;
  }

  void save_condition(std::size_t c, std::size_t i, std::string id) {
    const Chain& chain = t_.chains[c];
    Exprs all;  // the earlier ones do not hold, and it holds
    const Exprs& before = arms_[c].back();
    for (std::size_t j = 0; j < i; ++j) all.push_back(before[j]);
    const Expr& e = chain.conditions[i];
    all.push_back(is_condition(e) ? e : Expr(Compare{CompareOp::Ne, e, lit(0)}, e.at()));
    Statement s;
    s.lhs.push_back({var(saved_[c][i], e.at()), true, Type(Scalar::Bool), e.at()});
    s.rhs = conjunction(all);
    s.block = chain.block;
    s.at = e.at();
    if (chain.inames) {
      s.written_options = std::make_unique<Options>();
      s.written_options->inames_exact = true;
      s.written_options->inames = *chain.inames;
    }
    add_instruction(s, std::move(id));
  }

  void add_instruction(const Statement& s, std::string id) {
    Setting around = setting_of(s.block);
    around.add(s.options());
    for (const Word& w : around.iname_places) require_iname(w);
    auto insn = std::make_shared<Instruction>();
    insn->id = std::move(id);
    insn->kind = s.kind;
    for (const Assignee& a : s.lhs) insn->lhs.push_back(a.e);
    insn->rhs = s.rhs;
    insn->inames = std::move(around.inames);
    insn->predicates = std::move(around.predicates);
    insn->tags = std::move(around.tags);
    insn->groups = std::move(around.groups);
    insn->conflicts = std::move(around.conflicts);
    insn->no_sync = s.options().no_sync;
    insn->priority = s.options().priority;
    insn->atomic = s.options().atomic;
    insn->combined = s.options().combined;
    insn->barrier = s.barrier;
    insn->at = s.at;
    if (s.kind == InsnKind::Barrier) {
      insn->mem_kind = s.options().mem_kind.text;
      if (insn->mem_kind.empty())
        insn->mem_kind = s.barrier == BarrierScope::Global ? "global" : "local";
    }
    if (insn->atomic != Atomicity::None && insn->lhs.empty())
      throw_later({"bad-option", "`atomic` needs an assignee", {s.at, {}}, {}, {}});
    k_.instructions.push_back(std::move(insn));
    exact_.push_back(around.exact);
    wanted_.push_back({std::move(around.deps), std::move(around.dep_queries),
                       s.options().no_sync_queries, around.deps_final});
    duplicates_.push_back(&s.options().duplicates);
    if (s.options().duplicates.empty()) duplicates_.back() = nullptr;
  }

  void duplicates() {
    for (std::size_t n = 0; n < k_.instructions.size(); ++n)
      if (duplicates_[n]) errors_.guard([&] { duplicate_inames(k_, n, *duplicates_[n]); });
  }

  void in_sequence() {
    for (std::size_t n = 1; n < k_.instructions.size(); ++n) {
      const std::string& before = k_.instructions[n - 1]->id;
      const std::vector<std::string>& known = k_.instructions[n]->depends_on;
      if (std::find(known.begin(), known.end(), before) != known.end()) continue;
      k_.instructions[n] =
          edit(k_.instructions[n], [&](Instruction& i) { i.depends_on.push_back(before); });
    }
  }

  // ---- Lines about the loops.

  void settings() {
    for (const auto& [name, tag] : t_.tags) {
      require_iname(name);
      const auto [it, fresh] = k_.iname_tags.emplace(name.text, tag);
      if (!fresh)
        throw_later({"duplicate-tag",
                     fmt::format("the iname `{}` is tagged twice", name.text),
                     {name.at, {}},
                     {{it->second.at, "the first tag"}},
                     {}});
    }
    for (const std::vector<Word>& chain : t_.priorities) {
      std::vector<std::string> names;
      for (const Word& w : chain) require_iname(w), names.push_back(w.text);
      k_.priorities.push_back(std::move(names));
    }
    std::vector<std::string> order;
    std::unordered_set<std::string> listed;
    for (const Word& w : t_.loop_order) {
      require_iname(w);
      if (!listed.insert(w.text).second)
        throw_later(
            {"duplicate-iname", fmt::format("`{}` is listed twice", w.text), {w.at, {}}, {}, {}});
      order.push_back(w.text);
    }
    for (std::string& i : k_.loop_order)
      if (!listed.contains(i)) order.push_back(std::move(i));
    k_.loop_order = std::move(order);
    for (const auto& [name, head, tail] : t_.slabs) {
      require_iname(name);
      k_.slabs[name.text] = {head, tail};
    }
  }

  KernelText t_;
  const Callees& callees_;
  Errors& errors_;
  Kernel k_;
  std::set<std::string> inames_;
  std::unordered_map<std::string, Span> iname_places_;
  std::set<std::string> taken_, all_names_;
  std::map<std::string, std::set<std::size_t>> reduced_params_;  // by rule
  std::vector<std::vector<std::string>> saved_;  // by chain and condition: the temporary, or empty
  std::vector<std::vector<Exprs>> arms_;         // by chain and arm: the predicates
  std::map<std::size_t, std::vector<std::pair<std::size_t, std::size_t>>> saved_before_;
  std::vector<Setting> settings_;
  std::unordered_map<std::string, int> next_id_;
  std::vector<bool> exact_;
  std::vector<Wanted> wanted_;
  std::vector<const std::vector<Options::Duplicate>*> duplicates_;
};

}  // namespace

Kernel create(KernelText text, const Callees& callees, Errors& errors) {
  const IslBudget budget(kPhaseOperations, fmt::format("reading kernel `{}`", text.name), text.at);
  const std::size_t before = errors.count();
  expand_array_statements(text, errors);
  if (errors.count() > before) return {};
  return Creation(std::move(text), callees, errors).run();
}

}  // namespace moonloop::text
