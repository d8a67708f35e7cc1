#include "transforms/outline.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "core/infer/infer.h"
#include "core/model/domain.h"
#include "core/model/external.h"
#include "core/model/lookup.h"
#include "core/order/check_kernel.h"
#include "core/order/first_write.h"
#include "core/order/inline_calls.h"
#include "core/order/order.h"
#include "core/order/order_reference.h"
#include "core/sets/named_sets.h"
#include "transforms/registry.h"

namespace moonloop {
namespace {

using NameSet = std::set<std::string>;

/// One set of statements on its way out of a kernel.
class Outlining {
 public:
  Outlining(Kernel k, const std::vector<std::size_t>& selected, std::string name)
      : k_(std::move(k)), selected_(selected), name_(std::move(name)) {
    for (const std::size_t i : selected_) inside_.insert(k_.instructions[i]->id);
  }

  Kernel run() {
    loops();
    names();
    Kernel callee = body();
    auto called = std::make_shared<CalledKernel>();
    called->meaning = std::make_shared<const Kernel>(complete(std::move(callee)));
    check_legal(*called->meaning);  // what was an iteration's own may be an argument now
    Kernel out = caller(std::move(called));
    check_kept_order(k_, inline_calls(out, [&](const Instruction& i) {
                       return external_call(out, i) && external_call(out, i)->name == name_;
                     }));
    return out;
  }

 private:
  bool is_inside(const Instruction& i) const { return inside_.count(i.id) > 0; }

  /// The loops that stay, and those that go along.
  void loops() {
    NameSet elsewhere;
    for (const InsnPtr& i : k_.instructions)
      if (!is_inside(*i)) elsewhere.merge(all_inames(k_, *i));
    const Instruction& first = *k_.instructions[selected_.front()];
    for (const std::string& i : first.inames)
      if (elsewhere.count(i)) outer_.insert(i);
    for (const std::size_t n : selected_) {
      const Instruction& insn = *k_.instructions[n];
      NameSet around;
      for (const std::string& i : insn.inames)
        if (elsewhere.count(i)) around.insert(i);
      if (around != outer_)
        refuse("other-loops", insn.at,
               "`{}` and `{}` are in different loops that other statements need: ({}) and ({})",
               first.id, insn.id, fmt::join(outer_, ", "), fmt::join(around, ", "));
      for (const std::string& i : all_inames(k_, insn)) {
        if (outer_.count(i)) continue;
        inner_.insert(i);
        if (elsewhere.count(i))
          refuse("other-loops", insn.at,
                 "`{}` reduces over `{}`, the loop of which other statements share", insn.id, i);
      }
    }
    // A loop stays where the bounds of one that stays need it.
    for (const Domain& d : k_.domains) {
      const std::vector<std::string> own = d.inames();
      const bool stays = std::any_of(own.begin(), own.end(),
                                     [&](const std::string& i) { return !inner_.count(i); });
      for (const std::string& p : d.params())
        if (stays && inner_.count(p) > 0)
          refuse("other-loops", d.at, "the bounds of `{}`, which stays, need `{}`, which does not",
                 fmt::join(own, ", "), p);
    }
  }

  /// What the statements access, and what others need of that.
  void names() {
    NameSet written_elsewhere;
    for (const InsnPtr& i : k_.instructions) {
      NameSet& accessed = is_inside(*i) ? used_ : elsewhere_;
      NameSet changed = writes(*i);
      accessed.merge(reads(k_, *i));
      accessed.insert(changed.begin(), changed.end());
      (is_inside(*i) ? written_ : written_elsewhere).merge(changed);
    }
    for (const Domain& d : k_.domains) {
      const std::vector<std::string> own = d.inames();
      const auto goes = [&](const std::string& i) { return inner_.count(i) > 0; };
      const std::vector<std::string> params = d.params();
      if (!std::all_of(own.begin(), own.end(),
                       [&](const std::string& i) { return inner_.count(i) > 0; }))
        elsewhere_.insert(params.begin(), params.end());
      if (!std::any_of(own.begin(), own.end(), goes)) continue;
      Domain part = going_part(d);
      const std::vector<std::string> needed = part.params();
      used_.insert(needed.begin(), needed.end());
      bounds_.insert(needed.begin(), needed.end());
      domains_.push_back(std::move(part));
    }
    for (const std::string& i : inner_) used_.erase(i);
    for (const std::string& name : NameSet(used_)) {
      const Argument* a = k_.find_arg(name);
      const Temporary* t = k_.find_temporary(name);
      const auto sizes = [&](const std::optional<Exprs>& shape) {
        if (shape)
          for (const Expr& e : *shape) collect_vars(e, used_);
      };
      if (a) sizes(a->shape), sizes(a->strides);
      if (t) sizes(t->shape), sizes(t->strides);
    }
    for (const std::string& name : used_)
      if (const Temporary* t = k_.find_temporary(name); t && is_own(*t)) own_.insert(name);
    for (const std::string& name : bounds_)
      if (written_.count(name) && !own_.count(name) && k_.find_temporary(name))
        refuse("unsupported", k_.instructions[selected_.front()]->at,
               "`{}`, which bounds a loop of `{}`, is set in it and needed elsewhere", name, name_);
  }

  /// The domain of the loops that go along: those around the call are parameters.
  Domain going_part(const Domain& d) const {
    std::vector<std::string> all, around;
    for (const std::string& i : d.inames()) {
      if (inner_.count(i) || outer_.count(i)) all.push_back(i);
      if (outer_.count(i)) around.push_back(i);
    }
    Set set = all.size() == d.inames().size() ? d.set : to_dims(d.set, all);
    const std::vector<std::string> params = param_names(set);
    if (std::any_of(params.begin(), params.end(), [&](const std::string& p) {
          return k_.has_iname(p) && !inner_.count(p) && !outer_.count(p);
        })) {  // a loop that is not around the statements: some iteration of it there is
      std::vector<std::string> known = all;
      for (const std::string& p : params)
        if (inner_.count(p) || outer_.count(p)) known.push_back(p), around.push_back(p);
      set = domain_of(k_, known);
    }
    if (!around.empty()) set = dims_to_params(std::move(set), around);
    return {isl_set_drop_unused_params(set.take()), d.at};
  }

  /// Whether the new kernel alone needs the temporary, and sets it before it reads it.
  bool is_own(const Temporary& t) const {
    if (elsewhere_.count(t.name)) return false;
    if (t.initializer) return written_.count(t.name) == 0;
    if (!t.shape || !t.shape->empty()) return false;
    const std::shared_ptr<const RunOrder> order = order_of(k_);
    const Variables variables(order->kernel());
    std::vector<int> uses;
    for (const int s : order->by_position())
      for (const Access& a : statement_accesses(order->insn(s), variables))
        if (a.variable == t.name) {
          uses.push_back(s);
          break;
        }
    if (uses.empty()) return false;
    const std::vector<std::string>& loops = order->loops(uses.front());
    if (!std::all_of(uses.begin(), uses.end(),
                     [&](int s) { return order->common_loops(uses.front(), s) == loops.size(); }))
      return false;
    return order->insn(uses.front()).predicates.empty() &&
           begins_with_write(order->kernel(), t, variables, uses,
                             [] { return std::span<const int>(); });
  }

  /// The callee. Its arguments have the names that they stand for.
  Kernel body() {
    Kernel out;
    out.name = name_;
    out.family = std::make_shared<const char>();
    out.at = k_.instructions[selected_.front()]->at;
    out.index_type = k_.index_type;
    out.records = k_.records;
    out.externals = k_.externals;
    out.callees = k_.callees;
    arguments(out);
    for (const std::string& name : own_) out.temporaries.emplace(name, *k_.find_temporary(name));
    out.domains = domains_;
    context(out);
    const auto goes = [&](const std::string& i) { return inner_.count(i) > 0; };
    for (const std::string& i : k_.loop_order)
      if (goes(i)) out.loop_order.push_back(i);
    for (const auto& [i, tag] : k_.iname_tags)
      if (goes(i)) out.iname_tags.emplace(i, tag);
    for (const auto& [i, slabs] : k_.slabs)
      if (goes(i)) out.slabs.emplace(i, slabs);
    for (const auto& chain : k_.priorities) {
      std::vector<std::string> own;
      std::copy_if(chain.begin(), chain.end(), std::back_inserter(own), goes);
      if (own.size() > 1) out.priorities.push_back(std::move(own));
    }
    for (const Claim& c : k_.claims) {
      Claim own = c;
      std::erase_if(own.names, [&](const std::string& n) { return !used_.count(n) && !goes(n); });
      if (!own.names.empty()) out.claims.push_back(std::move(own));
    }
    for (const std::size_t n : selected_)
      out.instructions.push_back(edit(k_.instructions[n], [&](Instruction& i) {
        for (const std::string& o : outer_) i.inames.erase(o);
        std::erase_if(i.depends_on, [&](const std::string& d) { return !inside_.count(d); });
        std::erase_if(i.no_sync, [&](const NoSync& s) { return !inside_.count(s.id); });
        i.origin.clear();
        i.origin_id.clear();
      }));
    drop_unused_externals(out);
    return out;
  }

  /// Scalars first: the shapes of arrays need them.
  void arguments(Kernel& out) {
    Exprs& given = given_;
    const auto scalar = [&](const std::string& name, const Type& type, const Span& at) {
      Argument a;
      a.name = name;
      a.type = type;
      a.at = at;
      out.args.push_back(std::move(a));
      given.push_back(var(name));
    };
    for (const Argument& a : k_.args)
      if (!a.is_array && used_.count(a.name))
        scalar(a.name, a.type.value_or(Type(k_.index_type)), a.at);
    for (const std::string& i : k_.inames())
      if (outer_.count(i) && used_.count(i)) scalar(i, Type(k_.index_type), out.at);
    for (const auto& [name, t] : k_.temporaries)
      if (used_.count(name) && !own_.count(name) && t.shape->empty() && !written_.count(name))
        scalar(name, *t.type, t.at);
    for (const Argument& a : k_.args) {
      if (!a.is_array || !used_.count(a.name)) continue;
      Argument own = a;
      own.intent = Intent::Unknown;
      own.original_layout = nullptr;
      own.fortran = {};
      array(out, std::move(own));
    }
    for (const auto& [name, t] : k_.temporaries) {
      if (!used_.count(name) || own_.count(name)) continue;
      if (t.shape->empty() && !written_.count(name)) continue;
      Argument a;
      a.name = name;
      a.type = t.type;
      a.is_array = true;
      a.shape = t.shape;
      a.order = t.order;
      a.strides = t.strides;
      a.at = t.at;
      array(out, std::move(a));
    }
  }

  void array(Kernel& out, Argument a) {
    given_.push_back(a.shape->empty() ? var(a.name) : address(a.name));
    if (written_.count(a.name)) written_arguments_.push_back(var(a.name));
    out.args.push_back(std::move(a));
  }

  /// What is known of the arguments: the kernel's assumptions, and the bounds of outer loops.
  void context(Kernel& out) const {
    const std::vector<std::string> outer(outer_.begin(), outer_.end());
    Set known = all_to_params(domain_of(k_, outer));
    std::vector<std::string> gone;
    for (const std::string& p : param_names(known)) {
      const Argument* a = out.find_arg(p);
      if (!a || a->is_array) gone.push_back(p);
    }
    known = drop_params(std::move(known), gone);
    known = isl_set_coalesce(known.take());
    if (!yes(isl_set_plain_is_universe(known.get()))) out.assumptions = std::move(known);
  }

  Kernel caller(std::shared_ptr<const CalledKernel> called) {
    Kernel out = rebase(k_);
    auto call_insn = std::make_shared<Instruction>();
    call_insn->kind = InsnKind::Call;
    call_insn->id = k_.fresh_id(name_);
    call_insn->at = k_.instructions[selected_.front()]->at;
    call_insn->lhs = written_arguments_;
    call_insn->rhs = call(name_, given_, call_insn->at);
    call_insn->inames = outer_;
    call_insn->tags = k_.instructions[selected_.front()]->tags;
    NameSet before;
    for (const std::size_t n : selected_) {
      const Instruction& i = *k_.instructions[n];
      std::erase_if(call_insn->tags, [&](const std::string& t) { return !i.tags.count(t); });
      for (const std::string& d : i.depends_on)
        if (!inside_.count(d)) before.insert(d);
    }
    call_insn->depends_on = {before.begin(), before.end()};
    std::vector<InsnPtr> all;
    for (const InsnPtr& i : out.instructions) {
      if (i->id == k_.instructions[selected_.front()]->id) all.push_back(call_insn);
      if (is_inside(*i)) continue;
      all.push_back(edit(i, [&](Instruction& x) {
        bool waits = false;
        std::erase_if(x.depends_on, [&](const std::string& d) {
          const bool gone = inside_.count(d) > 0;
          waits = waits || gone;
          return gone;
        });
        if (waits) x.depends_on.push_back(call_insn->id);
        std::erase_if(x.no_sync, [&](const NoSync& s) { return inside_.count(s.id) > 0; });
      }));
    }
    out.instructions = std::move(all);
    out.externals.emplace(name_, std::nullopt);
    out.callees.emplace(name_, std::move(called));
    for (const std::string& t : own_) out.temporaries.erase(t);
    std::vector<Domain> domains;
    for (const Domain& d : out.domains) {
      std::vector<std::string> staying;
      for (const std::string& i : d.inames())
        if (!inner_.count(i)) staying.push_back(i);
      if (staying.size() == d.inames().size())
        domains.push_back(d);
      else if (!staying.empty())
        domains.push_back({to_dims(d.set, staying), d.at});
    }
    out.domains = std::move(domains);
    const auto gone = [&](const std::string& i) { return inner_.count(i) > 0; };
    erase_from(out.loop_order, gone);
    for (auto& chain : out.priorities) std::erase_if(chain, gone);
    std::erase_if(out.slabs, [&](const auto& s) { return gone(s.first); });
    erase_if(out.iname_tags, [&](const auto& t) { return gone(t.first); });
    drop_unused_externals(out);
    return out;
  }

  template <class List, class Test>
  static void erase_from(List& list, const Test& test) {
    std::vector<std::string> kept;
    std::copy_if(list.begin(), list.end(), std::back_inserter(kept),
                 [&](const std::string& i) { return !test(i); });
    list = std::move(kept);
  }

  Kernel k_;  // complete, without rules
  const std::vector<std::size_t>& selected_;
  std::string name_;
  NameSet inside_;                      // ids of the statements
  NameSet outer_, inner_;               // loops that stay, and those that go along
  NameSet used_, elsewhere_, written_;  // names that the statements need, others need, they set
  NameSet bounds_;                      // parameters of the loops that go along
  std::vector<Domain> domains_;         // those
  NameSet own_;                         // temporaries that go along
  Exprs given_;                         // for the callee's arguments
  Exprs written_arguments_;
};

}  // namespace

Kernel outline(const Kernel& k, const Match& within, const std::string& name) {
  require_new_name(k, name);
  const std::vector<std::size_t> selected =
      some_matching(k, within, "`within` selects no instruction");
  if (k.externals.count(name))
    refuse_for(name, "name-taken", k.at, "`{}` calls a function `{}` already", k.name, name);
  for (const std::size_t i : selected)
    if (k.instructions[i]->kind == InsnKind::Barrier)
      refuse("unsupported", k.instructions[i]->at, "`{}` is a barrier, which stays in `{}`",
             k.instructions[i]->id, k.name);
  return proved(Outlining(expand_all_rules(complete(k)), selected, name).run());
}

extern const Op outline_op;
const Op outline_op{
    .name = "outline",
    .doc = R"(Makes a kernel of statements, and a call of it in their place.

Loops that no other statement needs go along, the others stay around the call. What the statements
access becomes the new kernel's arguments; scalars that they alone need become its own. Its steps are
done by `lp.transform_callee`.

Refuses statements between which others have to run, and statements in different loops that stay.)",
    .params = {{.name = "within",
                .kind = Kind::Match,
                .help = "the instructions",
                .required = true,
                .positional = true},
               {.name = "name",
                .kind = Kind::Str,
                .help = "the new kernel's name",
                .required = true,
                .positional = true}},
    .example_kernel = R"(kernel two(n: int32, a: float64[n, n], c: float64[n])
domain {[i, j, k]: 0 <= i, j, k < n}
a[i, j] = 1   {id=fill}
c[i] = sum(k, a[i, k])   {id=total}
)",
    .example = R"(knl = lp.outline(knl, "id:fill", "fill_row"))",
    .run =
        [](const Kernel& k, const Args& a) {
          return outline(k, Match::parse(a.str("within"), a.at()), a.str("name"));
        },
    .query = {},
};

}  // namespace moonloop
