#include "core/infer/reductions.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "core/infer/typing.h"

namespace moonloop {

namespace {

/// The statements that an instruction with reductions was taken apart into.
struct Realized {
  InsnPtr source;  // its address stands for it as long as this is here
  std::vector<InsnPtr> statements;
};
/// The latest ones by instruction; all are forgotten when they are many.
class KnownStatements {
 public:
  Realized& of(const InsnPtr& source) { return by_source_[source.get()]; }
  void limit() {
    constexpr std::size_t kMost = 20'000;
    if (by_source_.size() > kMost) by_source_.clear();
  }

 private:
  std::unordered_map<const Instruction*, Realized> by_source_;
};
KnownStatements& known_statements() {
  thread_local KnownStatements all;
  return all;
}

/// Whether two statements that one instruction was taken apart into are the same: all that depends
/// on the kernel is names, and what the origin says.
bool same_statement(const Instruction& a, const Instruction& b) {
  return a.id == b.id && a.origin_id == b.origin_id && a.role == b.role && a.kind == b.kind &&
         a.inames == b.inames && a.depends_on == b.depends_on && equal(a.lhs, b.lhs) &&
         equal(a.predicates, b.predicates) && equal(a.rhs, b.rhs) &&
         std::equal(a.origin.begin(), a.origin.end(), b.origin.begin(), b.origin.end(),
                    [](const auto& x, const auto& y) {
                      return x.first == y.first && x.second.same_as(y.second);
                    });
}

/// Names that are free, each given once. `base`, then `base_0`, `base_1`, …; amortized constant
/// time.
class Names {
 public:
  void take(const std::string& name) { taken_.insert(name); }
  std::string fresh(const std::string& base) {
    if (taken_.insert(base).second) return base;
    for (int& i = next_[base];; ++i) {
      std::string name = base + "_" + std::to_string(i);
      if (taken_.insert(name).second) return name;
    }
  }

 private:
  std::unordered_set<std::string> taken_;
  std::unordered_map<std::string, int> next_;
};

bool has_reduction(const Instruction& insn) {
  const auto any = [](const Exprs& es) {
    return std::any_of(es.begin(), es.end(), contains_reduction);
  };
  return (insn.rhs && contains_reduction(insn.rhs)) || any(insn.lhs) || any(insn.predicates);
}

std::string acc_base(const Reduce& r) {
  std::string out = "acc";
  for (const std::string& i : r.inames) out += "_" + i;
  return out;
}

/// The ids of one reduction's two instructions.
struct Pair {
  std::string init, update;
};

class Realizer {
 public:
  explicit Realizer(const Kernel& k) : k_(k), out_(k) {
    out_.instructions.clear();
    out_.instructions.reserve(k.instructions.size());
    for (const InsnPtr& i : k.instructions) {
      ids_.take(i->id);
      reference_ids_.take(i->reference_id());
    }
    for (const std::string& n : k.all_names()) names_.take(n);
    for (const std::string& n : k.inames()) inames_.insert(n);
  }

  Kernel run() {
    known_statements().limit();
    for (const InsnPtr& insn : k_.instructions) {
      if (has_reduction(*insn)) {
        const std::size_t first = out_.instructions.size();
        realize(*insn);
        take_known(insn, first);
      } else {
        out_.instructions.push_back(insn);
      }
    }
    return std::move(out_);
  }

 private:
  /// Where a reduction is evaluated.
  struct Where {
    std::set<std::string> inames;  // of the statement that uses the value
    Exprs conditions = {};         // under which it is used; realized
    std::size_t predicates = 0;    // how many of them are the instruction's

    Where under(Expr condition) const {
      Where w = *this;
      w.conditions.push_back(std::move(condition));
      return w;
    }
  };

  void realize(const Instruction& insn) {
    insn_ = &insn;
    ordinal_ = 0;
    bound_.clear();
    Instruction last = insn;
    Where here{insn.inames};
    for (const Expr& p : insn.predicates) here = here.under(replace(p, here, last.depends_on));
    last.predicates = here.conditions;
    here.predicates = here.conditions.size();
    for (Expr& l : last.lhs) l = replace(l, here, last.depends_on);
    if (const auto* r = insn.rhs ? insn.rhs.as<Reduce>() : nullptr; r && arity(r->op) == 2) {
      if (insn.lhs.size() != 2)
        fail("wrong-value-count", insn.rhs.at(), "`{}` gives two values, but `{}` assigns {}",
             to_string(r->op), insn.id, insn.lhs.size());
      last.rhs = reduction(insn.rhs, *r, here, last.depends_on);
      last.kind = InsnKind::Call;
    } else if (insn.rhs) {
      last.rhs = replace(insn.rhs, here, last.depends_on);
    }
    last.origin = origin_within(insn.inames);
    out_.instructions.push_back(std::make_shared<const Instruction>(std::move(last)));
  }

  /// Statements are the same objects as the last time, where they are the same: then the next proof
  /// knows that they stayed.
  void take_known(const InsnPtr& source, std::size_t first) {
    const auto made = out_.instructions.begin() + std::ptrdiff_t(first);
    Realized& known = known_statements().of(source);
    const bool same =
        std::equal(made, out_.instructions.end(), known.statements.begin(), known.statements.end(),
                   [](const auto& a, const auto& b) { return same_statement(*a, *b); });
    if (same)
      std::copy(known.statements.begin(), known.statements.end(), made);
    else
      known = {source, {made, out_.instructions.end()}};
  }

  Expr replace(const Expr& e, const Where& where, std::vector<std::string>& after) {
    if (const auto* r = e.as<Reduce>()) {
      if (arity(r->op) == 2)
        fail("wrong-value-count", e.at(),
             "`{}` gives two values and so must be the whole right side of an assignment to two",
             to_string(r->op));
      return reduction(e, *r, where, after);
    }
    if (!contains_reduction(e)) return e;
    if (const auto* s = e.as<Select>()) {
      const Expr cond = replace(s->cond, where, after);
      return Expr(Select{cond, replace(s->yes, where.under(cond), after),
                         replace(s->no, where.under(negation(cond)), after)},
                  e.at());
    }
    if (const auto* n = e.as<Nary>(); n && (n->op == NaryOp::And || n->op == NaryOp::Or)) {
      Where rest = where;  // each term is looked at only when those before did not decide
      Exprs terms;
      for (const Expr& t : n->terms) {
        terms.push_back(replace(t, rest, after));
        rest = rest.under(n->op == NaryOp::And ? terms.back() : negation(terms.back()));
      }
      return Expr(Nary{n->op, std::move(terms)}, e.at());
    }
    return map_children(e, [&](const Expr& c) { return replace(c, where, after); });
  }

  /// Emits what computes `r` and returns the value. `after` takes the id that must run before.
  Expr reduction(const Expr& e, const Reduce& r, const Where& where,
                 std::vector<std::string>& after) {
    const std::size_t values = static_cast<std::size_t>(arity(r.op));
    if (r.args.size() != values)
      fail("wrong-arg-count", e.at(), "`{}` takes {} argument{} after its inames, got {}",
           to_string(r.op), values, values == 1 ? "" : "s", r.args.size());
    if (r.inames.empty()) {
      Exprs args;
      for (const Expr& a : r.args) args.push_back(replace(a, where, after));
      return values == 1 ? args[0] : call("make_tuple", std::move(args), e.at());
    }
    check_inames(e, r, where);
    Where inside = where;
    inside.inames.insert(r.inames.begin(), r.inames.end());

    const Pair ids = next_ids();
    const Pair reference = reference_ids();
    Exprs accumulators;
    for (std::size_t i = 0; i < values; ++i) {
      Temporary t;
      t.name = names_.fresh(acc_base(r));
      t.type = known_type(e, r, i);
      t.shape = Exprs{};
      t.space = AddressSpace::Private;
      t.at = e.at();
      accumulators.push_back(var(t.name, e.at()));
      out_.temporaries.emplace(t.name, std::move(t));
    }
    Instruction init = base_of(ids.init, reference.init, where, ReductionRole::Init, r.op);
    init.lhs = accumulators;
    out_.instructions.push_back(std::make_shared<const Instruction>(std::move(init)));

    Instruction update = base_of(ids.update, reference.update, inside, ReductionRole::Update, r.op);
    update.lhs = accumulators;
    update.depends_on.push_back(ids.init);
    Exprs args;
    for (const Expr& a : r.args) args.push_back(replace(a, inside, update.depends_on));
    Expr value = values == 1 ? accumulators[0] : call("make_tuple", accumulators, e.at());
    update.rhs = values == 1 ? args[0] : call("make_tuple", std::move(args), e.at());
    out_.instructions.push_back(std::make_shared<const Instruction>(std::move(update)));
    after.push_back(ids.update);
    return value;
  }

  void check_inames(const Expr& e, const Reduce& r, const Where& where) {
    std::set<std::string> mine;
    for (const std::string& i : r.inames) {
      if (!inames_.count(i)) {
        const std::vector<std::string> known(inames_.begin(), inames_.end());
        fail("reduction-unbound", e.at(), "`{}` reduces over `{}`, which no domain has{}",
             to_string(r.op), i, did_you_mean(i, known));
      }
      if (!mine.insert(i).second)
        fail("reduction-not-simple", e.at(), "`{}` names the iname `{}` twice", to_string(r.op), i);
      if (where.inames.count(i))
        fail(
            "reduction-over-outer", e.at(),
            "`{}` reduces over `{}`, which is also a loop around it in `{}`; rename one of the two",
            to_string(r.op), i, insn_->id);
      const auto [seen, first] = bound_.emplace(i, r.simultaneous);
      if (!first && !(seen->second && r.simultaneous))
        fail(
            "reduction-not-simple", e.at(),
            "`{}` is reduced over twice in `{}`; give the second reduction an iname of its own, or "
            "write `simul_reduce`",
            i, insn_->id);
    }
  }

  Instruction base_of(const std::string& id, const std::string& reference, const Where& where,
                      ReductionRole role, ReduceOp op) const {
    Instruction i;
    i.id = id;
    i.inames = where.inames;
    // Every instance that may use the value has one of its own: the accumulator is private.
    const std::size_t n = role == ReductionRole::Init ? where.predicates : where.conditions.size();
    i.predicates.assign(where.conditions.begin(), where.conditions.begin() + std::ptrdiff_t(n));
    i.tags = insn_->tags;
    i.depends_on = insn_->depends_on;
    i.no_sync = insn_->no_sync;
    i.priority = insn_->priority;
    i.groups = insn_->groups;
    i.conflicts = insn_->conflicts;
    i.role = role;
    i.reduce_op = op;
    if (reference != id) i.origin_id = reference;
    i.origin = origin_within(where.inames);
    i.at = insn_->at;
    return i;
  }

  /// The part of the origin that a statement with these inames can express.
  std::map<std::string, Expr> origin_within(const std::set<std::string>& inames) const {
    std::map<std::string, Expr> out;
    for (const auto& [name, value] : insn_->origin) {
      std::set<std::string> used;
      collect_vars(value, used);
      const bool outside = std::any_of(used.begin(), used.end(), [&](const std::string& n) {
        return inames_.count(n) && !inames.count(n);
      });
      if (!outside) out.emplace(name, value);
    }
    return out;
  }

  Pair next_ids() { return {ids_.fresh(insn_->id + "_init"), ids_.fresh(insn_->id + "_update")}; }

  /// The n-th reduction of a statement has the same reference ids in every kernel made from the
  /// reference, because they depend only on reference ids.
  Pair reference_ids() {
    std::vector<Pair>& known = by_reference_[insn_->reference_id()];
    const std::size_t n = ordinal_++;
    while (known.size() <= n) {
      const std::string& base = insn_->reference_id();
      known.push_back(
          {reference_ids_.fresh(base + "_init"), reference_ids_.fresh(base + "_update")});
    }
    return known[n];
  }

  /// The accumulator's type where the kernel's types are known already.
  std::optional<Type> known_type(const Expr& e, const Reduce& r, std::size_t i) const {
    const Typer typer(k_);
    if (values_of(r) == 1) {
      std::optional<Type> wanted;
      if (insn_->rhs && insn_->lhs.size() == 1)
        if (const auto t = typer.type(insn_->lhs[0])) wanted = t->type;
      const auto t = typer.type(e, wanted);
      return t ? std::optional<Type>(t->type) : std::nullopt;
    }
    std::optional<Type> wanted;
    if (i < insn_->lhs.size())
      if (const auto t = typer.type(insn_->lhs[i])) wanted = t->type;
    const auto t = typer.type(r.args[i], wanted);
    return t ? std::optional<Type>(reduced_type(r.op, i, t->type)) : std::nullopt;
  }
  static std::size_t values_of(const Reduce& r) { return static_cast<std::size_t>(arity(r.op)); }

  const Kernel& k_;
  Kernel out_;
  Names ids_, reference_ids_, names_;
  std::set<std::string> inames_;
  std::unordered_map<std::string, std::vector<Pair>> by_reference_;

  // Of the current instruction.
  const Instruction* insn_ = nullptr;
  std::size_t ordinal_ = 0;
  std::map<std::string, bool> bound_;  // by iname: simultaneous?
};

}  // namespace

Kernel realize_reductions(Kernel k) {
  if (!k.rules.empty()) return realize_reductions(expand_all_rules(k));
  const bool any = std::any_of(k.instructions.begin(), k.instructions.end(),
                               [](const InsnPtr& i) { return has_reduction(*i); });
  if (any) return Realizer(k).run();
  return k;
}

}  // namespace moonloop
