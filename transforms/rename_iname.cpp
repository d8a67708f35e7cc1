#include "transforms/rename_iname.h"

#include <algorithm>
#include <iterator>
#include <unordered_set>

#include "core/model/domain.h"
#include "core/order/commuting.h"
#include "core/order/counterexample.h"
#include "core/order/legality.h"
#include "core/order/order.h"
#include "core/order/reordered.h"
#include "core/order/tree.h"
#include "core/rewrite/as_text.h"
#include "core/rewrite/iname_rewrite.h"
#include "core/sets/bounded.h"
#include "core/sets/coalesce.h"
#include "core/sets/syntactic_gist.h"
#include "transforms/new_inames.h"
#include "transforms/registry.h"
#include "transforms/tag_inames.h"

namespace moonloop {
namespace {

/// One family of instances that the old iname numbers: an instruction's own, or a reduction's.
struct Family {
  std::vector<std::string> inames;  // sorted
  bool reduction = false;
  bool operator<(const Family& o) const {
    return std::tie(inames, reduction) < std::tie(o.inames, o.reduction);
  }
};

/// Calls `visit` with the inames around each reduction in `e`, its own among them.
template <class F>
void for_each_reduction(const Expr& e, const std::set<std::string>& around, F visit) {
  if (!e) return;
  walk(e, [&](const Expr& x) {
    const Reduce* r = x.as<Reduce>();
    if (!r) return true;
    std::set<std::string> inside = around;
    inside.insert(r->inames.begin(), r->inames.end());
    visit(inside);
    for (const Expr& a : r->args) for_each_reduction(a, inside, visit);
    return false;
  });
}

/// The domains of `after` that `before` does not have.
std::vector<const Domain*> changed_domains(const Kernel& before, const Kernel& after) {
  const auto same = [](const Domain& x, const Domain& y) { return x.set.get() == y.set.get(); };
  const auto &b = before.domains, &a = after.domains;
  const auto [from_b, from_a] = std::mismatch(b.begin(), b.end(), a.begin(), a.end(), same);
  // Most stay at their places, from the front or from the back.
  const auto [to_b, to_a] = std::mismatch(b.rbegin(), std::make_reverse_iterator(from_b),
                                          a.rbegin(), std::make_reverse_iterator(from_a), same);
  std::unordered_set<const void*> was;
  for (auto d = from_b; d != to_b.base(); ++d) was.insert(d->set.get());
  std::vector<const Domain*> out;
  for (auto d = from_a; d != to_a.base(); ++d)
    if (!was.contains(d->set.get())) out.push_back(&*d);
  return out;
}

/// Whether the bounds of `d` depend on a name that `accepts` does.
template <class F>
bool depends_on(const Domain& d, F accepts) {
  for (unsigned p = 0; p < unsigned(isl_set_dim(d.set.get(), isl_dim_param)); ++p)
    if (accepts(std::string_view(isl_set_get_dim_name(d.set.get(), isl_dim_param, p)))) return true;
  return false;
}

/// The proof that merging keeps every instance: the old loop's domain and the new one's agree
/// wherever an instruction moves over, or conditions make them agree.
class Merge {
 public:
  Merge(const Kernel& before, Kernel& after, const std::string& old_iname,
        const std::string& new_iname, bool guard, bool widened)
      : before_(before),
        after_(after),
        old_(old_iname),
        new_(new_iname),
        guard_(guard),
        widened_(widened) {
    for (const Domain* d : changed_domains(before, after))
      for (const std::string& i : d->inames()) changed_.insert(i);
  }

  void check() {
    for (std::size_t n = 0; n < before_.instructions.size(); ++n) {
      const InsnPtr& insn = before_.instructions[n];
      if (insn == after_.instructions[n] && !widened_ && !runs_in_changed(*insn)) continue;
      guard(n, condition(*insn, insn->inames, false));
      // Bounds of a loop around may have come to depend on a reduction's own iname, too.
      const auto look = [&](const Expr& e) {
        if (!e) return;
        for_each_reduction(expand_rules(before_, e), insn->inames, [&](const auto& inames) {
          if (inames.contains(old_) ||
              std::any_of(inames.begin(), inames.end(),
                          [&](const auto& i) { return changed_.contains(i); }))
            condition(*insn, inames, true);
        });
      };
      for (const Expr& e : insn->lhs) look(e);
      look(insn->rhs);
      for (const Expr& e : insn->predicates) look(e);
    }
  }

 private:
  /// Loops of a domain that came to depend on the new iname are others for all that run in both.
  bool runs_in_changed(const Instruction& insn) const {
    const auto changed = [&](const std::string& i) { return changed_.count(i) > 0; };
    const auto reduces = [&](const Expr& e) {
      const std::set<std::string> bound = reduction_inames(before_, e);
      return std::any_of(bound.begin(), bound.end(), changed);
    };
    if (std::any_of(insn.inames.begin(), insn.inames.end(), changed)) return true;
    return may_reduce(before_, insn) &&
           ((insn.rhs && reduces(insn.rhs)) ||
            std::any_of(insn.lhs.begin(), insn.lhs.end(), reduces) ||
            std::any_of(insn.predicates.begin(), insn.predicates.end(), reduces));
  }

  /// A barrier stays without: all have to arrive at it.
  void guard(std::size_t n, const Expr& when) {
    if (!when || after_.instructions[n]->kind == InsnKind::Barrier) return;
    after_.instructions[n] = edit(after_.instructions[n], [&](Instruction& i) {
      i.predicates.insert(i.predicates.begin(), when);
    });
  }

  /// Null when the families agree.
  Expr condition(const Instruction& insn, const std::set<std::string>& inames, bool reduction) {
    const Family f{{inames.begin(), inames.end()}, reduction};
    const auto known = known_.find(f);
    if (known != known_.end()) return known->second;
    std::vector<std::string> moved = f.inames;
    std::replace(moved.begin(), moved.end(), old_, new_);
    const Set was = rename_dims(domain_of(before_, f.inames), {{old_, new_}});
    const Set is = domain_of(after_, moved);
    const Set lost = isl_set_subtract(was.copy(), is.copy());
    if (const auto at = sample(lost)) refuse_instance(insn, f, *at, "would be lost", "");
    const Set added = isl_set_subtract(is.copy(), was.copy());
    const auto at = sample(added);
    Expr when;
    if (at && (!guard_ || reduction))
      refuse_instance(insn, f, *at, "would be new",
                      reduction
                          ? ""
                          : "; `raise_on_domain_mismatch = false` puts the instruction under a "
                            "condition instead");
    if (at) when = from_set(gist(was, is));
    return known_.emplace(f, when).first->second;
  }

  [[noreturn]] void refuse_instance(const Instruction& insn, const Family& f, const Sample& at,
                                    const char* what, const char* hint) const {
    std::map<std::string, std::int64_t> values;
    for (const std::string& i : f.inames) values[i] = at.dims.at(i == old_ ? new_ : i);
    std::string where;
    for (const auto& [name, v] : at.params)
      where += fmt::format("{}{} = {}", where.empty() ? "" : ", ", name, v);
    refuse("other-values", insn.at, "`{}` and `{}` run over different values: `{}` {}{}{}", old_,
           new_, instance_text(insn.id, f.inames, values), what,
           where.empty() ? "" : " when " + where, hint);
  }

  const Kernel& before_;
  Kernel& after_;
  const std::string& old_;
  const std::string& new_;
  bool guard_;
  bool widened_;                   // the new loop has values that it did not have
  std::set<std::string> changed_;  // inames of domains that are other ones now
  std::map<Family, Expr> known_;
};

/// `k` with the loop over `iname` running over the values of `other` too; nothing where it does
/// already. Merge finds the previous instances and puts them under conditions.
std::optional<Kernel> widened(const Kernel& k, const std::string& other, const std::string& iname) {
  if (bounds_depend_on(k, iname, {other}) || bounds_depend_on(k, other, {iname}))
    return std::nullopt;
  const Domain *home = k.home_of(iname), *from = k.home_of(other);
  std::vector<std::string> dims = dim_names(home->set), own = dim_names(from->set);
  if (home == from) std::erase(dims, other);
  std::erase(own, iname);
  const Set was = to_dims(home->set, dims);
  Set moved = rename_dims(to_dims(from->set, own), {{other, iname}});
  std::vector<std::string> around;  // loops of the other's domain that are around this one
  for (const std::string& p : home->params())
    if (std::find(own.begin(), own.end(), p) != own.end()) around.push_back(p);
  Set more = to_dims(dims_to_params(std::move(moved), around), dims);
  // Other inames of the domain, on which bounds of `other` may depend, run as they did, also where
  // `iname` had no value.
  std::vector<std::string> rest;
  for (const std::string& d : dims)
    if (d != iname && std::find(own.begin(), own.end(), d) == own.end()) rest.push_back(d);
  if (!rest.empty()) {
    Set ran = to_dims(was, rest);
    if (yes(isl_set_is_empty(ran.get())))
      refuse("empty-domain", home->at, "`{}` cannot become `{}`: there is no value for {}", other,
             iname, quoted_list(rest));
    Set runs = isl_set_params(ran.copy());
    ran = isl_set_gist_params(ran.take(), runs.take());
    more = isl_set_intersect(more.take(), to_dims(std::move(ran), dims).take());
  }
  std::vector<std::string> outer;  // loops on which the bounds depend: they have bounds, too
  for (const std::string& p : home->params())
    if (k.has_iname(p)) outer.push_back(p);
  const Set runs = dims_to_params(domain_of(k, outer), outer);
  const Set reached = isl_set_intersect_params(more.copy(), isl_set_params(runs.copy()));
  if (yes(isl_set_is_subset(reached.get(), was.get()))) return std::nullopt;
  Set both = isl_set_union(was.copy(), more.copy());
  if (k.assumptions) both = isl_set_intersect_params(both.take(), k.assumptions.copy());
  both = coalesce(both.take());
  // One convex loop where that is one, else the values themselves: `n` and 4 have no common bound.
  Set hull = isl_set_from_basic_set(isl_set_simple_hull(both.copy()));
  for (std::size_t d = 0; d < dims.size(); ++d)
    if (!has_upper_bound(hull, unsigned(d)) || !has_lower_bound(hull, unsigned(d))) {
      hull = both;
      break;
    }
  if (home == from)
    hull = to_dims(join_by_name(std::move(hull), to_dims(from->set, own)), dim_names(home->set));
  Kernel out = k;
  out.domains[std::size_t(home - k.domains.data())].set = tidy(std::move(hull));
  return out;
}

/// The tag of the one iname after the rename.
void pass_tag(const Kernel& k, const std::string& old_iname, const std::string& new_iname,
              Kernel& out) {
  const InameTag *mine = k.tag(old_iname), *theirs = k.tag(new_iname);
  if (!mine) return;
  if (theirs && !(*mine == *theirs))
    refuse("two-tags", k.at,
           "`{}` is tagged `{}` but `{}` is tagged `{}`; `preserve_tags = false` keeps the latter",
           old_iname, mine->text, new_iname, theirs->text);
  out.iname_tags[new_iname] = *mine;
  claim_also(out, Claim::Kind::Unsafe, old_iname, new_iname);
}

/// The text puts all statements in one iname into one loop, and is read so where its loops nest
/// that way (`nest_in_sequence`). Statements that a team runs one after the other, each for all of
/// the team, must keep their order there, or in the text that has an iname for each of their loops.
void require_one_loop(const Kernel& k, const Kernel& after, const std::string& old_iname,
                      const std::string& new_iname) {
  const InameTag* tag = after.tag(new_iname);
  if (!in_team(tag)) return;
  const std::string name = tag->text;
  const Kernel ordered = keep_reference(k, after);
  try {
    check_legal(in_sequence(ordered));
  } catch (const RefusedByCounterexample& e) {
    if (text_with_copies(ordered)) return;  // there the text has two loops
    Diagnostic d = e.diagnostic();
    d.code = "cannot-nest";
    d.text = fmt::format("`{}` and `{}` would be no one loop of the text: {}", old_iname, new_iname,
                         d.text);
    d.hint = fmt::format("`{}` may be tagged `{}` under its own name", old_iname, name);
    throw RefusedByCounterexample(d, *e.counterexample());
  } catch (const Refused& e) {
    if (e.diagnostic().code != "cannot-nest") throw;  // else it is read in the order of the teams
  }
}

/// The one loop runs over the values of both: where data bounds one of them, statements of the
/// other read it too. It has to be written by then, in a loop that they are in.
void require_bounds_known(const Kernel& k, const Kernel& after, const std::string& iname) {
  const Variables was(k), is(after);
  if (!is.any_bounds()) return;
  std::shared_ptr<const Reference> order;
  for (std::size_t n = 0; n < k.instructions.size(); ++n) {
    const Instruction& insn = *k.instructions[n];
    if (!after.instructions[n]->inames.contains(iname)) continue;
    std::set<std::string> known, read;
    for_each_name_read(k, was, insn, [&](const std::string& v) { known.insert(v); });
    for_each_name_read(after, is, *after.instructions[n], [&](const std::string& v) {
      if (!known.contains(v) && is.is_temporary(v)) read.insert(v);
    });
    for (const std::string& v : read) {
      if (!order) order = ordered(k);
      const auto later =
          std::find_if(k.instructions.begin() + std::ptrdiff_t(n), k.instructions.end(),
                       [&](const InsnPtr& i) { return writes(*i).contains(v); });
      std::string why;
      for (const AccessAt& a : order->by_variable().at(v))
        for (const std::string& own : order->private_to(v, a.insn, a.insn))
          if (!insn.inames.contains(own))
            why = fmt::format("each iteration of `{}` has its own", own);
      if (later != k.instructions.end()) why = fmt::format("`{}` writes it later", (*later)->id);
      if (!why.empty())
        refuse("other-values", insn.at,
               "in `{}`, `{}` would read `{}`, which bounds the loop, but {}", iname, insn.id, v,
               why);
    }
  }
}

}  // namespace

Kernel rename_iname(const Kernel& k, const std::string& old_iname, const std::string& new_iname,
                    const RenameOptions& o) {
  require_iname(k, old_iname);
  if (old_iname == new_iname) refuse("name-taken", k.at, "`{}` has this name already", old_iname);
  const bool merge = o.existing_ok && k.has_iname(new_iname);
  if (!merge) require_new_name(k, new_iname);

  InameRewrite rw;
  rw.old = {old_iname};
  rw.fresh = {new_iname};
  rw.old_in_new[old_iname] = var(new_iname);
  rw.bound[old_iname] = rw.fresh;
  rw.existing = merge;
  rw.slabs_pass_on = !merge;
  if (merge) {
    for (const InsnPtr& insn : k.instructions) {
      if (!o.within.everything() && !o.within(k, *insn)) continue;
      if (!insn->inames.contains(old_iname) && !may_reduce(k, *insn)) continue;
      const std::set<std::string> used = all_inames(k, *insn);
      if (used.contains(old_iname) && used.contains(new_iname))
        refuse("both-inames", insn->at, "`{}` cannot become `{}`: instruction `{}` uses both",
               old_iname, new_iname, insn->id);
    }
  } else {
    rw.relation =
        isl_set_equate(universe({old_iname, new_iname}).take(), isl_dim_set, 0, isl_dim_set, 1);
  }
  const std::optional<Kernel> wide =
      merge && !o.raise_on_domain_mismatch ? widened(k, old_iname, new_iname) : std::nullopt;
  Kernel out = rewrite_inames(wide ? *wide : k, rw, o.within);
  if (merge && bounds_depend_on(out, new_iname, {new_iname}))
    refuse("nested-inames", k.at,
           "`{}` cannot become `{}`, whose bounds would then depend on itself", old_iname,
           new_iname);
  if (merge) {
    for (const Domain* d : changed_domains(k, out))
      if (yes(isl_set_is_empty(d->set.get())))
        refuse("empty-domain", d->at, "`{}` cannot become `{}`: no value would be left for {}",
               old_iname, new_iname, quoted_list(d->inames()));
    // The bounds of other loops may need two separate ones now, also by values computed in these.
    const Kernel& now = out;
    const bool bounds = std::any_of(now.domains.begin(), now.domains.end(), [&](const Domain& d) {
      return depends_on(
          d, [&](std::string_view p) { return p == new_iname || now.find_temporary(p); });
    });
    if (bounds) domain_parents(out);
  }
  if (merge)
    Merge(k, out, old_iname, new_iname, !o.raise_on_domain_mismatch, wide.has_value()).check();
  if (o.preserve_tags) pass_tag(k, old_iname, new_iname, out);
  if (!merge && !out.has_iname(old_iname))
    if (const auto it = k.slabs.find(old_iname); it != k.slabs.end())
      out.slabs[new_iname] = it->second;
  if (wide) require_bounds_known(k, out, new_iname);
  if (merge && o.proof == Proof::Made) require_one_loop(k, out, old_iname, new_iname);
  return reordered(k, std::move(out), o.proof);
}

extern const Op rename_iname_op;
const Op rename_iname_op{
    .name = "rename_iname",
    .doc = R"(Renames a loop, or makes two loops one.

With `existing_ok` the new name may be that of another iname: the instructions move into its loop.
Both must run over the same values. With `raise_on_domain_mismatch = false` the one loop runs over the
values of both, and instructions get conditions where they did not run over all of them.

Refuses a name in use without `existing_ok`, instructions that are in both loops, loops over
different values (with an instance that would be lost or new), and a fusion against a dependence, with
two instances that would change places. So it does for work-items and lanes, whose statements run one
after the other: the text of the result says one loop.)",
    .params = {{.name = "old_iname",
                .kind = Kind::Str,
                .help = "the iname to rename",
                .required = true,
                .positional = true},
               {.name = "new_iname",
                .kind = Kind::Str,
                .help = "its new name",
                .required = true,
                .positional = true},
               {.name = "existing_ok",
                .kind = Kind::Bool,
                .help = "the new name may be an iname: the loops become one",
                .fallback = "false",
                .positional = true},
               {.name = "within",
                .kind = Kind::Match,
                .help = "renames for these instructions only",
                .positional = true},
               {.name = "preserve_tags",
                .kind = Kind::Bool,
                .help = "passes the old iname's tag on",
                .fallback = "true",
                .positional = true},
               {.name = "raise_on_domain_mismatch",
                .kind = Kind::Bool,
                .help = "refuses to merge loops over different values",
                .fallback = "true",
                .positional = true},
               unsafe_option()},
    .example_kernel = R"(kernel two(n: int32, a: float64[n], b: float64[n], c: float64[n])
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j < n}
b[i] = 2*a[i]  {id=first}
c[j] = b[j] + 1  {id=second, dep=first}
)",
    .example = R"(knl = lp.rename_iname(knl, "j", "i", {existing_ok = true}))",
    .run =
        [](const Kernel& k, const Args& a) {
          return rename_iname(
              k, a.str("old_iname"), a.str("new_iname"),
              {.existing_ok = a.boolean("existing_ok"),
               .preserve_tags = a.boolean("preserve_tags", true),
               .raise_on_domain_mismatch = a.boolean("raise_on_domain_mismatch", true),
               .within = Match::parse(a.str("within"), a.at()),
               .proof = a.proof()});
        },
    .query = {},
};

}  // namespace moonloop
