#include "transforms/split_at.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/expr/parse_expr.h"
#include "core/model/domain.h"
#include "core/order/order_reference.h"
#include "core/order/reference.h"
#include "core/rewrite/loop_body.h"
#include "core/rewrite/loop_bounds.h"
#include "core/rewrite/own_loops.h"
#include "core/rewrite/removal.h"
#include "transforms/new_inames.h"
#include "transforms/registry.h"

namespace moonloop {
namespace {

class Cut {
 public:
  Cut(const Kernel& k, const std::string& iname, const std::string& at, const Span& span)
      : iname_(iname), text_(at), span_(span) {
    require_iname(k, iname);
    if (const InameTag* tag = k.tag(iname))
      refuse("tagged-iname", k.at, "`{}` is tagged `{}`; split first, then tag", iname, tag->text);
    k_ = rebase(proved(k));
    k_.instructions = linearized(k_, *order_of(k_));
    at_ = parse_expression(at, span);
  }

  Kernel apply(const SplitAtNames& wanted) {
    const LoopBody body(k_, iname_);
    if (body.members().empty())
      refuse("not-a-loop", k_.at, "`{}` is no loop around an instruction of kernel `{}`", iname_,
             k_.name);
    for (const std::size_t n : body.members()) check_member(*k_.instructions[n]);
    check_value(*k_.instructions[body.members().front()]);

    const std::set<std::string> own = body.own();
    detach_loop(k_, iname_, own);
    NewInames names(k_);
    const bool renamed = !wanted.before.empty() && wanted.before != iname_;
    const std::string before = renamed ? names.take(wanted.before, "") : iname_;
    const std::string from = names.take(wanted.from, iname_ + "_from");
    InameCopies first, second;
    for (const std::string& i : own) {
      if (i != iname_) second.emplace_back(i, names.take("", i + "_from"));
    }
    first.emplace_back(iname_, before);
    second.emplace_back(iname_, from);

    Kernel out = with_copies(body.members());
    out = with_own_loops(out, second, picked(out, true));
    if (renamed) out = with_own_loops(out, first, picked(out, false));
    for (const auto& [old, copy] : second)
      if (const InameTag* tag = k_.tag(old)) out.iname_tags[copy] = *tag;
    restrict(out, before, "<");
    restrict(out, from, ">=");
    check_nest(out, before, from);
    return without_idle(without_idle(std::move(out), before), from);
  }

 private:
  void check_member(const Instruction& insn) const {
    if (!insn.inames.contains(iname_))
      refuse("reduction-loop", insn.at,
             "`{}` is a loop of a reduction in instruction `{}`; it is split as part of the "
             "reduction (split_iname, split_reduction_outward)",
             iname_, insn.id);
    if (insn.kind == InsnKind::Barrier)
      refuse("unsupported", insn.at, "`{}` is a barrier, which cannot be in two loops", insn.id);
  }

  /// All that the value depends on has to be known when the loop begins.
  void check_value(const Instruction& insn) const {
    const std::shared_ptr<const RunOrder> order = order_of(k_);
    std::set<std::string> around;
    for (int s = 0; s < order->size(); ++s) {
      const std::vector<std::string>& loops = order->loops(s);
      const auto at = std::find(loops.begin(), loops.end(), iname_);
      if (at != loops.end()) around.insert(loops.begin(), at);
    }
    std::set<std::string> used;
    collect_vars(at_, used);
    for (const std::string& name : used) {
      const Argument* a = k_.find_arg(name);
      const bool is_parameter =
          (a && !a->is_array) ||
          (!k_.has_iname(name) && !k_.find_temporary(name) &&
           std::any_of(k_.domains.begin(), k_.domains.end(), [&](const Domain& d) {
             const std::vector<std::string> params = d.params();
             return std::find(params.begin(), params.end(), name) != params.end();
           }));
      if (!around.contains(name) && !is_parameter)
        refuse("bad-place", insn.at,
               "`{}`, at which `{}` is split, has `{}`, which is neither a loop around it nor a "
               "parameter of kernel `{}`",
               text_, iname_, name, k_.name);
    }
    if (!condition("x", "<"))
      refuse("bad-place", insn.at, "`{}`, at which `{}` is split, is not affine", text_, iname_);
  }

  std::optional<Set> condition(const std::string& iname, const char* relation) const {
    std::set<std::string> used;
    collect_vars(at_, used);
    std::vector<std::string> dims{iname};
    for (const std::string& name : used)
      if (k_.has_iname(name)) dims.push_back(name);
    return to_condition(
        parse_expression(fmt::format("{} {} {}", iname, relation, to_string(at_)), span_), dims);
  }

  /// The instructions of the loop twice, the copies behind them.
  Kernel with_copies(const std::vector<std::size_t>& members) {
    Kernel out = k_;
    std::map<std::string, std::string> copy;  // by id
    for (const std::size_t n : members) {
      const std::string& id = k_.instructions[n]->id;
      std::string fresh = k_.fresh_id(id + "_from");
      for (int i = 0; copies_.contains(fresh); ++i)
        fresh = k_.fresh_id(id + "_from_" + std::to_string(i));
      copies_.insert(fresh);
      copy.emplace(id, fresh);
    }
    std::vector<InsnPtr> list;
    const std::size_t last = members.back();
    for (std::size_t n = 0; n < k_.instructions.size(); ++n) {
      const bool member = std::binary_search(members.begin(), members.end(), n);
      if (member) originals_.insert(k_.instructions[n]->id);
      list.push_back(member ? k_.instructions[n] : after_both(k_.instructions[n], copy));
      if (n != last) continue;
      for (const std::size_t m : members)
        list.push_back(edit(k_.instructions[m], [&](Instruction& i) {
          i.id = copy.at(i.id);
          for (std::string& d : i.depends_on)
            if (const auto it = copy.find(d); it != copy.end()) d = it->second;
        }));
    }
    out.instructions = std::move(list);
    return out;
  }
  static InsnPtr after_both(const InsnPtr& insn, const std::map<std::string, std::string>& copy) {
    std::vector<std::string> more;
    for (const std::string& d : insn->depends_on)
      if (const auto it = copy.find(d); it != copy.end()) more.push_back(it->second);
    if (more.empty()) return insn;
    return edit(insn, [&](Instruction& i) {
      i.depends_on.insert(i.depends_on.end(), more.begin(), more.end());
    });
  }
  std::vector<bool> picked(const Kernel& k, bool copies) const {
    std::vector<bool> out;
    for (const InsnPtr& i : k.instructions)
      out.push_back((copies ? copies_ : originals_).contains(i->id));
    return out;
  }

  void restrict(Kernel& k, const std::string& iname, const char* relation) const {
    for (Domain& d : k.domains) {
      const std::vector<std::string> dims = d.inames();
      if (std::find(dims.begin(), dims.end(), iname) == dims.end()) continue;
      Set where = *condition(iname, relation);
      std::vector<std::string> outer;
      for (const std::string& n : dim_names(where))
        if (std::find(dims.begin(), dims.end(), n) == dims.end()) outer.push_back(n);
      d.set = isl_set_intersect(d.set.copy(), to_dims(dims_to_params(where, outer), dims).take());
    }
  }

  /// A part without the statements that never run in it, unless none of them does.
  Kernel without_idle(Kernel k, const std::string& part) const {
    std::set<std::string> idle;
    bool any = false;
    for (const InsnPtr& i : k.instructions) {
      if (!i->inames.contains(part)) continue;
      const std::vector<std::string> inames(i->inames.begin(), i->inames.end());
      Set runs = domain_of(k, inames);
      for (const Expr& p : i->predicates)
        if (const auto where = to_condition(k, p, inames))
          runs = isl_set_intersect(runs.take(), where->copy());
      if (yes(isl_set_is_empty(runs.get())))
        idle.insert(i->id);
      else
        any = true;
    }
    if (!any || idle.empty()) return k;
    std::set<std::string> loops;
    for (const InsnPtr& i : k.instructions)
      if (idle.contains(i->id)) loops.merge(all_inames(k, *i));
    return without_idle_domains(without_instructions(k, idle), loops);
  }

  /// The loops around each instruction are those that it had, and the copies come next.
  void check_nest(const Kernel& out, const std::string& before, const std::string& from) const {
    const auto kinds = [&](const Kernel& k) {
      std::vector<std::size_t> depth;
      const std::shared_ptr<const RunOrder> order = order_of(k);
      for (const int s : order->by_position())
        for (const std::string& i : order->loops(s))
          if (i == iname_ || i == before || i == from) depth.push_back(order->loops(s).size());
      return depth;
    };
    std::vector<std::size_t> was = kinds(k_), both = was;
    both.insert(both.end(), was.begin(), was.end());
    std::vector<std::size_t> is = kinds(out);
    std::sort(both.begin(), both.end());
    std::sort(is.begin(), is.end());
    if (is != both)
      refuse("cannot-nest", k_.at, "the parts of `{}` do not nest as that loop does", iname_);
  }

  const std::string& iname_;
  const std::string& text_;
  const Span& span_;
  Kernel k_;
  Expr at_;
  std::set<std::string> originals_, copies_;  // ids
};

}  // namespace

Kernel split_at(const Kernel& k, const std::string& iname, const std::string& at,
                const SplitAtNames& names, const Span& span, Proof proof) {
  Kernel out = Cut(k, iname, at, span).apply(names);
  return proof == Proof::LeftOut ? out : proved(std::move(out));
}

extern const Op split_at_op;
const Op split_at_op{
    .name = "split_at",
    .doc = R"(Cuts a loop at a value: one loop over what is less, then one over the rest.

    for k: for j: s(k, j)    at "k" becomes    for k: for j of those < k: s(k, j);
                                                      for j of those >= k: s(k, j)

The order stays; but a part may be parallel where the whole loop is not, since some iteration alone
depends on the others. The instructions of the loop are copied for the second one; those that never
run in a part are left out of it, unless this is all that the part has.

Refuses loops that have tags, loops of reductions, and a value that is not affine in loops around and
parameters.)",
    .params = {{.name = "iname",
                .kind = Kind::Str,
                .help = "the loop",
                .required = true,
                .positional = true},
               {.name = "at",
                .kind = Kind::Str,
                .help = "the first value of the second loop, such as \"k\" or \"n - 1\"",
                .required = true,
                .positional = true},
               {.name = "before_iname",
                .kind = Kind::Str,
                .help = "name of the first loop",
                .fallback = "<iname>"},
               {.name = "from_iname",
                .kind = Kind::Str,
                .help = "name of the second loop",
                .fallback = "<iname>_from"}},
    .example_kernel = R"(kernel paths(n: int32, d: inout int32[n, n])
domain {[k, i, j]: 0 <= k, i, j < n}
d[i, j] = min(d[i, j], d[i, k] + d[k, j])
)",
    .example = R"(knl = lp.split_at(knl, "j", "k", {from_iname = "j_rest"}))",
    .run =
        [](const Kernel& k, const Args& a) {
          return split_at(k, a.str("iname"), a.str("at"),
                          {a.str("before_iname"), a.str("from_iname")}, a.at());
        },
    .query = {},
};

}  // namespace moonloop
