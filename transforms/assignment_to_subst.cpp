#include "transforms/assignment_to_subst.h"

#include <algorithm>
#include <deque>

#include "core/infer/infer.h"
#include "core/infer/typing.h"
#include "core/model/adapting.h"
#include "core/model/external.h"
#include "core/model/lookup.h"
#include "core/order/reordered.h"
#include "core/rewrite/reaching.h"
#include "core/rewrite/removal.h"
#include "core/rewrite/rule_rewrite.h"
#include "transforms/registry.h"

namespace moonloop {
namespace {

class Change {
 public:
  Change(const Kernel& k, const std::string& name, const AssignmentToSubstOptions& o)
      : k_(k), name_(name), o_(o), reaching_(k, name), mentions_(k, name) {
    for (std::size_t i = 0; i < k.instructions.size(); ++i)
      if (mentions_.read_by(*k.instructions[i])) readers_.push_back(i);
  }

  Kernel run() {
    RuleRewrite rw;
    rw.about = &mentions_;
    rw.replace = [&](const Expr& e, const RulePlace& at) { return replaced(e, at); };
    rw.taken = &names_;
    Kernel out = rewrite_through_rules(k_, rw);
    if (rules_.empty())
      refuse("no-use", k_.at, "nothing reads `{}` in kernel `{}`{}", name_, k_.name,
             o_.within.everything() ? "" : " where `within` looks");
    for (Made& m : rules_) out.rules.push_back(std::move(m.rule));
    after_uses(out);
    out = remove_if_unread(std::move(out));
    return o_.proof == Proof::LeftOut ? rebase(std::move(out)) : in_order_of(k_, std::move(out));
  }

 private:
  struct Made {
    Definition definition;
    Rule rule;
  };

  std::optional<Expr> replaced(const Expr& e, const RulePlace& at) {
    const auto* v = e.as<Var>();
    const auto* l = e.as<Load>();
    if (!(v && v->name == name_) && !(l && l->array == name_)) return std::nullopt;
    if (const Rule* r = at.rule())
      if (std::find(r->params.begin(), r->params.end(), name_) != r->params.end())
        return std::nullopt;  // another variable of the same name
    if (!o_.within(k_, at.insn, at.stack)) return std::nullopt;
    const Made& m = made_for(at.insn);
    const Definition& d = m.definition;
    const Exprs index = l && !l->linear ? l->index : Exprs{};
    if (index.size() != d.inames.size() || (l && l->linear))
      refuse("not-proved", e.at(), "`{}` is not an element of `{}` that a rule can stand for",
             to_string(e), name_);
    Exprs args;
    for (std::size_t i = 0; i < index.size(); ++i) {
      const Expr part = at.inside(index[i]);
      args.push_back(d.shifts[i] == 0 ? part : index_sub(part, lit(d.shifts[i])));
    }
    require_same_bounds(d, args, at.insn, e);
    for (const std::string& extra : o_.extra_arguments) args.push_back(var(extra));
    return Expr(Call{m.rule.name, std::move(args), v ? v->tag : l->tag}, e.at());
  }

  /// A reduction in the definition runs to the same bounds where the variable is used: the inames
  /// that these depend on are around both, and the use reads the element of the same iteration.
  void require_same_bounds(const Definition& d, const Exprs& args, const Instruction& use,
                           const Expr& e) const {
    const Instruction& def = *k_.instructions[std::size_t(d.insn)];
    for (const std::string& i : inames_bounding(k_, reduction_inames(k_, def.rhs))) {
      const auto param = std::find(d.inames.begin(), d.inames.end(), i);
      const Expr* arg =
          param == d.inames.end() ? nullptr : &args[std::size_t(param - d.inames.begin())];
      const auto* v = arg ? arg->as<Var>() : nullptr;
      if (use.inames.count(i) && (!arg || (v && v->name == i))) continue;
      refuse("other-bounds", e.at() ? e.at() : use.at,
             "the bounds of a reduction in `{}` depend on `{}`, which `{}` does not have where it "
             "reads `{}`",
             def.id, i, use.id, to_string(e));
    }
  }

  /// The rule whose value the uses in `insn` read. Proved once for each instruction.
  const Made& made_for(const Instruction& insn) {
    const auto at = std::find_if(k_.instructions.begin(), k_.instructions.end(),
                                 [&](const InsnPtr& i) { return i.get() == &insn; });
    const int use = static_cast<int>(at - k_.instructions.begin());
    if (const auto it = rule_of_use_.find(use); it != rule_of_use_.end()) return rules_[it->second];
    const Definition d = reaching_definition(use);
    auto known = std::find_if(rules_.begin(), rules_.end(),
                              [&](const Made& m) { return m.definition.insn == d.insn; });
    if (known == rules_.end()) {
      rules_.push_back({d, make_rule(d)});
      known = rules_.end() - 1;
    }
    rule_of_use_[use] = static_cast<std::size_t>(known - rules_.begin());
    return *known;
  }

  /// The one assignment that serves the uses in an instruction. The candidates are tried in the
  /// order of `writers`; when none serves, the first one's obstacle is reported.
  Definition reaching_definition(int use) {
    const std::vector<int> writers = reaching_.writers(use);
    if (writers.empty())
      refuse("no-definition", k_.at, "nothing in kernel `{}` writes `{}`", k_.name, name_);
    std::optional<Diagnostic> first;
    for (const int w : writers) {
      if (w == use && writers.size() > 1) continue;
      const Definition d = definition_of(k_, w, name_, mentions_);
      if (o_.proof == Proof::LeftOut) return d;
      auto why = reaching_.obstacle(d, use);
      if (!why) return d;
      if (!first) first = std::move(why);
    }
    if (first->hint.empty() && first->code == "not-proved")
      first->hint = "`unsafe = true` leaves the proof out";
    throw Refused(std::move(*first));
  }

  Rule make_rule(const Definition& d) {
    const Instruction& insn = *k_.instructions[std::size_t(d.insn)];
    Rule r{free_name(), d.inames, converted(with_parameters(insn.rhs, d.inames)), insn.at};
    for (const std::string& extra : o_.extra_arguments) {
      if (std::find(r.params.begin(), r.params.end(), extra) != r.params.end())
        refuse("bad-argument-name", insn.at, "`{}` is an argument of the rule for `{}` already",
               extra, name_);
      if (!insn.inames.contains(extra) && !reads(k_, insn).contains(extra))
        refuse("bad-argument-name", insn.at, "extra argument `{}` does not occur in `{}`", extra,
               insn.id);
      r.params.push_back(extra);
    }
    return r;
  }

  /// `e`, in which inames become parameters: without the rules that read these by themselves, where
  /// they would not be the parameters.
  Expr with_parameters(const Expr& e, const std::vector<std::string>& inames) const {
    const bool read = std::any_of(inames.begin(), inames.end(),
                                  [&](const std::string& i) { return rules_read(e, i); });
    return read ? expand_rules(k_, e) : e;
  }
  bool rules_read(const Expr& e, const std::string& iname) const {
    bool found = false;
    walk(e, [&](const Expr& x) {
      const auto* c = x.as<Call>();
      const Rule* r = c ? k_.find_rule(c->name) : nullptr;
      if (!r || std::find(r->params.begin(), r->params.end(), iname) != r->params.end())
        return !found;
      std::set<std::string> vars;
      collect_vars(r->body, vars);
      found = found || vars.contains(iname) || rules_read(r->body, iname);
      return !found;
    });
    return found;
  }

  std::string free_name() {
    std::string name = name_ + "_subst";
    for (int n = 0; k_.has_name(name) || !names_.insert(name).second; ++n)
      name = name_ + "_subst_" + std::to_string(n);
    return name;
  }

  /// The value as the variable would have held it.
  Expr converted(const Expr& rhs) {
    // A temporary without a type, given its value once, has the type of that value.
    if (const Temporary* t = k_.find_temporary(name_);
        t && !t->type && reaching_.writers().size() == 1 && !may_adapt(k_, rhs))
      return rhs;
    if (!typed_) {
      try {
        typed_ = infer_types(k_);
      } catch (const Error&) {
        typed_ = k_;  // some argument has no type yet
      }
    }
    const Temporary* t = typed_->find_temporary(name_);
    const Argument* a = typed_->find_arg(name_);
    const std::optional<Type> held = t ? t->type : a ? a->type : std::nullopt;
    if (!held) return rhs;
    try {
      if (is_everywhere(expand_rules(*typed_, rhs), *held)) return rhs;
    } catch (const Error&) {  // its operands have no types yet
    }
    return Expr(Cast{*held, rhs}, rhs.at());
  }

  /// Whether `e` is of type `t` also in the context of wider and of narrower types, to which
  /// literals and functions of these adapt.
  bool is_everywhere(const Expr& e, const Type& t) const {
    const Typer typer(*typed_);
    const auto alone = typer.type(e);
    if (!alone || !(alone->type == t) || alone->weak != Typed::Weak::No) return false;
    const auto in_context = [&](Scalar s) {
      const auto within = typer.type(e, Type(s));
      return within && within->type == t;
    };
    return in_context(Scalar::F64) && in_context(Scalar::F32) && in_context(Scalar::F16);
  }

  /// A use depends on what its definition depended on.
  void after_uses(Kernel& out) const {
    for (const auto& [use, n] : rule_of_use_) {
      const Instruction& def = *k_.instructions[std::size_t(rules_[n].definition.insn)];
      InsnPtr& insn = out.instructions[std::size_t(use)];
      insn = edit(insn, [&](Instruction& i) {
        for (const std::string& d : def.depends_on)
          if (d != i.id &&
              std::find(i.depends_on.begin(), i.depends_on.end(), d) == i.depends_on.end())
            i.depends_on.push_back(d);
      });
    }
  }

  /// Without the variable and its assignments when nothing reads it any more.
  Kernel remove_if_unread(Kernel out) const {
    const bool argument = k_.find_arg(name_) != nullptr;
    if (argument && o_.force_retain_argument) return out;
    std::set<std::string> writers;
    const Kernel& now = out;        // with the same instructions, at the same places
    std::optional<Mentions> after;  // new rules are definitions, which do not read the variable
    if (mentions_.in_rules()) after.emplace(now, name_);
    const Mentions& mentions = after ? *after : mentions_;
    for (const std::size_t i : readers_)
      if (mentions.read_by(*now.instructions[i]) &&
          reads(now, *now.instructions[i]).contains(name_))
        return out;
    for (const int i : reaching_.writers()) {
      const Instruction& insn = *now.instructions[std::size_t(i)];
      if (writes(insn).size() > 1) return out;
      writers.insert(insn.id);
    }
    for (const Domain& d : out.domains)
      for (const std::string& p : d.params())
        if (p == name_) return out;
    out = without_instructions(out, writers);
    out.temporaries.erase(name_);
    erase_if(out.args, [&](const Argument& a) { return a.name == name_; });
    return out;
  }

  const Kernel& k_;
  const std::string& name_;
  const AssignmentToSubstOptions& o_;
  Reaching reaching_;
  const Mentions mentions_;
  std::vector<std::size_t> readers_;  // of the variable, also through rules, by index
  std::set<std::string> names_;       // of new rules and versions
  std::deque<Made> rules_;            // references into it stay valid
  std::map<int, std::size_t> rule_of_use_;
  std::optional<Kernel> typed_;
};

}  // namespace

Kernel assignment_to_subst(const Kernel& k, const std::string& lhs_name,
                           const AssignmentToSubstOptions& o) {
  const Argument* a = k.find_arg(lhs_name);
  if (!a && !k.find_temporary(lhs_name)) {
    std::vector<std::string> names;
    for (const Argument& x : k.args) names.push_back(x.name);
    for (const auto& [name, t] : k.temporaries) names.push_back(name);
    fail_for(lhs_name, "unknown-variable", k.at, "no variable `{}` in kernel `{}`; it has {}",
             lhs_name, k.name, quoted_list(names));
  }
  if (std::none_of(k.instructions.begin(), k.instructions.end(),
                   [&](const InsnPtr& i) { return writes_to(*i, lhs_name); }))
    refuse("no-definition", k.at, "nothing in kernel `{}` writes `{}`", k.name, lhs_name);
  require_not_passed(k, lhs_name);
  return Change(k, lhs_name, o).run();
}

extern const Op assignment_to_subst_op;
const Op assignment_to_subst_op{
    .name = "assignment_to_subst",
    .doc = R"(Turns the assignments to a variable into substitution rules, called where it was read.

Each assignment whose value is read gives a rule of its own: a_subst, a_subst_0 and so on, with the
subscripts' inames as arguments. When no use is left, the assignments and the variable go, also when it
is an argument.

Refuses a use that no assignment, or more than one, gives its value; an assignment that reads its own
variable, or whose subscripts are not different inames; and a use before which something that the
assignment read is overwritten.)",
    .params = {{.name = "lhs_name",
                .kind = Kind::Str,
                .help = "the variable",
                .required = true,
                .positional = true},
               {.name = "extra_arguments",
                .kind = Kind::Names,
                .help = "names in the assignment that become arguments of the rule as well",
                .fallback = "{}",
                .positional = true},
               {.name = "within",
                .kind = Kind::Match,
                .help = "the uses to replace; all if absent",
                .positional = true},
               {.name = "force_retain_argument",
                .kind = Kind::Bool,
                .help = "keeps an argument, and its assignments, that nothing reads any more",
                .fallback = "false",
                .positional = true},
               unsafe_option()},
    .example_kernel = R"(kernel twice(n: int32, inp: float64[n], out: float64[n])
domain {[i, j]: 0 <= i < n and 0 <= j < n}
<> a[i] = 6*inp[i]
out[j] = 5*a[j]
)",
    .example = R"(knl = lp.assignment_to_subst(knl, "a"))",
    .run =
        [](const Kernel& k, const Args& a) {
          return assignment_to_subst(k, a.str("lhs_name"),
                                     {.extra_arguments = a.names("extra_arguments"),
                                      .within = Match::parse(a.str("within"), a.at()),
                                      .force_retain_argument = a.boolean("force_retain_argument"),
                                      .proof = a.proof()});
        },
    .query = {},
};

}  // namespace moonloop
