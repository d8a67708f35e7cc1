#include "core/rewrite/reaching.h"

#include <algorithm>

#include "core/model/external.h"
#include "core/order/two_instances.h"
#include "core/rewrite/rule_rewrite.h"

namespace moonloop {

bool writes_to(const Instruction& insn, const std::string& name) {
  return std::any_of(insn.lhs.begin(), insn.lhs.end(),
                     [&](const Expr& l) { return written_name(l) == name; });
}

// ---- Definitions.

Definition definition_of(const Kernel& k, int index, const std::string& name,
                         const Mentions& mentions) {
  const Instruction& insn = *k.instructions[std::size_t(index)];
  const auto bad = [&](const std::string& why) {
    refuse("bad-definition", insn.at, "`{}` cannot become a rule for `{}`: {}", insn.id, name, why);
  };
  if (insn.kind != InsnKind::Assign || insn.lhs.size() != 1)
    bad("it is not an assignment to one variable");
  if (insn.atomic != Atomicity::None) bad("it is atomic");
  if (insn.role != ReductionRole::None) bad("it is part of a reduction");
  if (mentions.read_by(insn) && reads(k, insn).contains(name)) bad("it reads what it writes");
  Definition d;
  d.insn = index;
  const Expr& lhs = insn.lhs[0];
  if (lhs.as<Var>()) return d;
  const auto* l = lhs.as<Load>();
  if (!l || l->linear) {
    bad(fmt::format("`{}` is not an element of an array", to_string(lhs)));
    return d;
  }
  for (const Expr& i : l->index) {
    std::set<std::string> names;
    collect_vars(i, names);
    const std::string iname = names.size() == 1 ? *names.begin() : "";
    const auto shift = iname.empty() ? std::nullopt : as_int(index_sub(i, var(iname)));
    if (!shift || !insn.inames.contains(iname))
      bad(fmt::format("the subscript `{}` is not an iname plus a constant", to_string(i)));
    if (std::find(d.inames.begin(), d.inames.end(), iname) != d.inames.end())
      bad(fmt::format("`{}` occurs in two of its subscripts", iname));
    d.inames.push_back(iname);
    d.shifts.push_back(*shift);
  }
  return d;
}

// ---- Uses.

struct Reaching::Use {
  int insn;  // index into the kernel's instructions
  int statement;
  const Access* access;
  Map served;  // { use's dims -> definition's dims }: the instance whose value it reads
  bool exact;  // the subscripts are affine
};

Reaching::Reaching(const Kernel& k, std::string name)
    : k_(k), name_(std::move(name)), order_(ordered(k)), r_(*order_) {
  for (std::size_t i = 0; i < k.instructions.size(); ++i)
    if (writes_to(*k.instructions[i], name_)) writers_.push_back(static_cast<int>(i));
  const std::vector<int> owner = owners(k, r_.order);
  ends_.resize(k.instructions.size());
  for (std::size_t s = 0; s < owner.size(); ++s)
    ends_[std::size_t(owner[s])] = static_cast<int>(s) + 1;
}

std::vector<int> Reaching::writers(int use) const {
  std::vector<int> out = writers_;
  const auto position = [&](int i) { return r_.order.position(last_part(i)); };
  const int here = position(use);
  std::stable_sort(out.begin(), out.end(), [&](int a, int b) {
    const bool early_a = position(a) < here, early_b = position(b) < here;
    return early_a != early_b ? early_a : position(a) > position(b);
  });
  return out;
}

namespace {

Diagnostic problem(std::string code, std::string text, const Span& at, const Instruction& other,
                   const std::string& note) {
  Diagnostic d{std::move(code), std::move(text), {at, {}}, {}, {}};
  if (other.at) d.notes.push_back({other.at, note});
  return d;
}

/// Values of parameters and inames, for texts.
std::map<std::string, std::int64_t> merged(const std::map<std::string, std::int64_t>& a,
                                           const std::map<std::string, std::int64_t>& b) {
  std::map<std::string, std::int64_t> out = a;
  out.insert(b.begin(), b.end());
  return out;
}

}  // namespace

/// A part of the definition at the use: its subscripts' inames become those of the use.
Expr Reaching::at_use(const Definition& d, const Use& u, const Expr& e) const {
  std::map<std::string, Expr> by;
  for (std::size_t a = 0; a < d.inames.size(); ++a)
    by[d.inames[a]] = index_sub(u.access->index[a], lit(d.shifts[a]));
  return substitute(e, by);
}

std::optional<Diagnostic> Reaching::obstacle(const Definition& d, int use) const {
  const Instruction& def = *k_.instructions[std::size_t(d.insn)];
  const Instruction& user = *k_.instructions[std::size_t(use)];
  if (const Call* c = external_call(k_, user); c && writes_to(user, name_))
    return Diagnostic{"passed-array",
                      fmt::format("`{}` gets `{}` itself, and may change it", c->name, name_),
                      {user.at, {}},
                      {},
                      {}};
  const int ds = last_part(d.insn);
  const std::vector<std::string>& to = r_.order.dims(ds);
  for (int s = first_part(use); s <= last_part(use); ++s)
    for (const Access& a : r_.accesses[std::size_t(s)]) {
      if (a.write || a.variable != name_) continue;
      if (a.index.size() != d.inames.size())
        return problem(
            "not-proved",
            fmt::format("`{}` reads all of `{}` or by a flat index, which no rule of `{}` "
                        "can stand for",
                        user.id, name_, def.id),
            user.at, def, "the assignment is here");
      if (follows_plainly(d, a, s)) continue;
      const std::vector<std::string>& from = r_.order.dims(s);
      const ElementMap elements = element_map(r_.order.kernel(), a, from, r_.variables);
      Use u{use, s, &a, universal_map(from, to), elements.axes.size() == a.index.size()};
      for (std::size_t i = 0; i < to.size(); ++i) {
        const auto axis = std::find(d.inames.begin(), d.inames.end(), to[i]);
        if (axis != d.inames.end()) {
          const auto n = static_cast<std::size_t>(axis - d.inames.begin());
          if (std::find(elements.axes.begin(), elements.axes.end(), int(n)) == elements.axes.end())
            continue;
          const Map value = *to_map({index_sub(a.index[n], lit(d.shifts[n]))}, from);
          const Map iname = *to_map({var(to[i])}, to);
          u.served = isl_map_intersect(
              u.served.take(), isl_map_apply_range(value.copy(), isl_map_reverse(iname.copy())));
          continue;
        }
        const auto same = std::find(from.begin(), from.end(), to[i]);
        if (same == from.end())
          return problem("free-iname",
                         fmt::format("`{}` runs in the loop over `{}`, which is not around `{}`",
                                     def.id, to[i], user.id),
                         user.at, def, "the assignment is here");
        u.served = equate(std::move(u.served), std::size_t(same - from.begin()), i);
      }
      u.served = isl_map_intersect_domain(u.served.take(), instances(s, a).all.take());
      if (auto why = one(d, u)) return why;
    }
  return std::nullopt;
}

/// Those of a statement that make an access.
ApproximateSet Reaching::instances(int s, const Access& a) const {
  ApproximateSet out = r_.order.domain(s);
  if (auto made = where_made(r_.order.kernel(), a, r_.order.dims(s)))
    out.all = isl_set_intersect(out.all.take(), made->take());
  return out;
}

bool Reaching::follows_plainly(const Definition& d, const Access& use, int s) const {
  const RunOrder& o = r_.order;
  const int ds = last_part(d.insn);
  if (ds != first_part(d.insn) || !o.insn(ds).predicates.empty() || r_.variables.any_bounds())
    return false;
  const std::size_t loops = o.loops(ds).size();
  if (o.dims(ds).size() != loops || o.dims(s).size() != loops || o.common_loops(ds, s) != loops ||
      o.position(ds) >= o.position(s))
    return false;
  for (std::size_t i = 0; i < use.index.size(); ++i)
    if (!equal(index_sub(use.index[i], lit(d.shifts[i])), var(d.inames[i]))) return false;
  // The reads of the use are among the accesses of the definition.
  const AccessList& all = r_.accesses[std::size_t(ds)];
  const std::vector<int>& sequence = o.by_position();
  return std::none_of(
      sequence.begin() + o.position(ds) + 1, sequence.begin() + o.position(s), [&](int between) {
        const AccessList& other = r_.accesses[std::size_t(between)];
        return std::any_of(other.begin(), other.end(), [&](const Access& w) {
          return w.write && std::any_of(all.begin(), all.end(),
                                        [&](const Access& a) { return a.variable == w.variable; });
        });
      });
}

std::optional<Diagnostic> Reaching::one(const Definition& d, const Use& u) const {
  if (auto why = unserved(d, u)) return why;
  if (auto why = overwritten(d, u)) return why;
  return stale(d, u);
}

/// Each instance of the use reads what some earlier instance of the definition wrote.
std::optional<Diagnostic> Reaching::unserved(const Definition& d, const Use& u) const {
  const RunOrder& o = r_.order;
  const int ds = last_part(d.insn);
  const Instruction& def = *k_.instructions[std::size_t(d.insn)];
  const Instruction& user = *k_.instructions[std::size_t(u.insn)];
  const auto say = [&](bool proved, const char* code, const Map& bad, bool earlier) {
    const std::vector<std::string> none;
    const Witness w = witness(bad, o.dims(u.statement), earlier ? o.dims(ds) : none);
    const std::string element = element_text(*u.access, merged(w.params, w.a));
    const std::string use = instance_text(user.id, o.dims(u.statement), w.a);
    const std::string text =
        earlier ? fmt::format("{} reads {} before {} writes it{}", use, element,
                              instance_text(def.id, o.dims(ds), w.b), parameters_text(w.params))
                : fmt::format("{} reads {}, which `{}` {} write{}", use, element, def.id,
                              proved ? "does not" : "may not", parameters_text(w.params));
    return problem(proved ? code : "not-proved", text, user.at, def, "the assignment is here");
  };

  const ApproximateSet defined = o.domain(ds);
  // Where only one assignment writes, unconditionally and each element once, no other value is
  // defined to be read.
  const bool undefined_else =
      def.predicates.empty() && r_.variables.is_temporary(u.access->variable) &&
      d.inames.size() == o.dims(ds).size() && !k_.find_temporary(u.access->variable)->initializer &&
      writers_.size() == 1;
  if (!conditions_hold(d, u))
    return problem("not-proved",
                   fmt::format("`{}` writes `{}` under conditions that may not hold at `{}`",
                               def.id, u.access->variable, user.id),
                   user.at, def, "the assignment is here");
  const ApproximateSet uses = instances(u.statement, *u.access);
  const Map served = isl_map_intersect_range(u.served.copy(), defined.all.copy());
  const Set left = isl_set_subtract(uses.all.copy(), isl_map_domain(served.copy()));
  const bool bounds_known = defined.exact || [&] {  // the same loops, so the same bounds
    const auto &x = o.dims(ds), &y = o.dims(u.statement);
    return d.inames.empty() && std::all_of(x.begin(), x.end(), [&](const std::string& i) {
             return std::find(y.begin(), y.end(), i) != y.end();
           });
  }();
  if (!yes(isl_set_is_empty(left.get()))) {
    const Map bad = isl_map_from_domain(left.copy());
    return say(uses.exact && u.exact, "uncovered-read", bad, false);
  }
  if ((!u.exact || !bounds_known) && !undefined_else)
    return problem("not-proved",
                   fmt::format("whether `{}` wrote what `{}` reads of `{}` depends on data", def.id,
                               user.id, u.access->variable),
                   user.at, def, "the assignment is here");
  const Map before = isl_map_reverse(o.before(ds, u.statement, is_never_parallel).take());
  const Map late = isl_map_subtract(served.copy(), before.copy());
  if (!yes(isl_map_is_empty(late.get())))
    return say(u.exact && defined.exact, "no-reaching-definition", late, true);
  return std::nullopt;
}

/// The conditions of the definition that isl does not see hold at the use as well.
bool Reaching::conditions_hold(const Definition& d, const Use& u) const {
  const int ds = last_part(d.insn);
  const Exprs& has = r_.order.insn(u.statement).predicates;
  for (const Expr& p : r_.order.insn(ds).predicates) {
    if (to_condition(r_.order.kernel(), p, r_.order.dims(ds))) continue;  // it has accumulators
    const Expr there = at_use(d, u, p);
    if (std::none_of(has.begin(), has.end(), [&](const Expr& q) { return equal(q, there); }))
      return false;
  }
  return true;
}

/// Cheap: whether some instance of `w` can run after one of `from` and before one of `to`.
bool Reaching::may_run_between(int w, int from, int to) const {
  const auto root = [&](int s) { return r_.order.tree().paths[std::size_t(s)].index(0); };
  return root(from) <= root(w) && root(w) <= root(to);
}

/// Nothing else writes the element between the definition and the use.
std::optional<Diagnostic> Reaching::overwritten(const Definition& d, const Use& u) const {
  const RunOrder& o = r_.order;
  const int ds = last_part(d.insn), s = u.statement;
  const Access& written =
      *std::find_if(r_.accesses[std::size_t(ds)].begin(), r_.accesses[std::size_t(ds)].end(),
                    [&](const Access& a) { return a.write && a.variable == u.access->variable; });
  for (const AccessAt& at : r_.by_variable().at(u.access->variable)) {
    const Access& w = r_.at(at);
    if (!w.write || !may_run_between(at.insn, ds, s)) continue;
    ApproximateMap late =
        conflict_map(o.kernel(), r_.variables, w, o.dims(at.insn), *u.access, o.dims(s));
    late.all = isl_map_intersect(late.all.take(), o.before(at.insn, s, is_never_parallel).take());
    auto [after, after_exact] =
        conflict_map(o.kernel(), r_.variables, written, o.dims(ds), w, o.dims(at.insn));
    after = isl_map_intersect(after.take(), o.before(ds, at.insn, is_never_parallel).take());
    after =
        isl_map_apply_range(u.served.copy(), after.take());  // { use -> w after its definition }
    late.all = isl_map_intersect(late.all.take(), isl_map_reverse(after.take()));
    late.intersect_domain(o.domain(at.insn));
    if (yes(isl_map_is_empty(late.all.get()))) continue;
    const bool exact = u.exact && late.exact && after_exact;
    const Witness x = witness(late.all, o.dims(at.insn), o.dims(s));
    const Instruction &def = o.insn(ds), &user = *k_.instructions[std::size_t(u.insn)];
    return problem(
        exact ? "several-definitions" : "not-proved",
        fmt::format("{} {} {} between `{}` and {}, which reads it{}",
                    instance_text(o.insn(at.insn).id, o.dims(at.insn), x.a),
                    exact ? "writes" : "may write", element_text(*u.access, merged(x.params, x.b)),
                    def.id, instance_text(user.id, o.dims(s), x.b), parameters_text(x.params)),
        user.at, o.insn(at.insn), "this writes it as well");
  }
  return std::nullopt;
}

/// { use's dims -> dims of `part` }: the instances of a part of the definition that make the value.
Map Reaching::pick(const Map& served, int def, int part) const {
  const auto &x = r_.order.dims(def), &y = r_.order.dims(part);
  Map same = universal_map(x, y);
  for (std::size_t i = 0; i < x.size(); ++i)
    if (const auto it = std::find(y.begin(), y.end(), x[i]); it != y.end())
      same = equate(std::move(same), i, std::size_t(it - y.begin()));
  return isl_map_apply_range(served.copy(), same.take());
}

/// Whether the linear constraints show, without isl, that what this part of a definition reads is
/// not written there between it and the use. `served`: { use's dims -> part's dims }, in parts.
/// False says nothing.
bool Reaching::stays_plainly(const std::vector<LinearRows>& served, int use, int part,
                             const Access& read, const AccessAt& at) const {
  const RunOrder& o = r_.order;
  enum { kUse, kPart, kWrite };
  const auto fixed = [&](const std::string& name) {
    return !r_.variables.has(name) && !o.kernel().find_temporary(name) &&
           !o.kernel().has_iname(name);
  };
  std::vector<LinearRows> made;  // where the read is, in parts
  if (const auto where = where_made(o.kernel(), read, o.dims(part)))
    for (const BasicSet& b : parts_of(*where)) {
      const auto rows = linear_rows(b);
      if (!rows) return false;
      made.push_back(*rows);
    }
  else
    made.emplace_back();
  const auto all_fixed = [&](const LinearRows& rows) {
    return std::all_of(rows.params.begin(), rows.params.end(), fixed);
  };
  for (const LinearRows& here : served)
    for (const LinearRows& where : made) {
      if (!all_fixed(here) || !all_fixed(where)) return false;
      TwoInstances two;
      two.add(kUse, o.dims(use));
      two.add(kPart, o.dims(part));
      if (!two.add(kWrite, o.dims(at.insn), o.domain(at.insn).all)) return false;
      std::vector<std::size_t> both = two.places(kUse);
      both.insert(both.end(), two.places(kPart).begin(), two.places(kPart).end());
      two.constrain(here, std::move(both));
      two.constrain(where, two.places(kPart));
      two.meet(read, two.values(kPart), r_.at(at), two.values(kWrite), r_.variables, fixed);
      const auto lags = [&](int from, int s, int to, int t) {
        std::optional<std::vector<LinearForm>> out(std::in_place);
        for (std::size_t i = 0; out && i < o.common_loops(s, t); ++i) {
          const std::string& name = o.loops(s)[i];
          auto later = weighted_sum(1, two.values(to).at(name), -1, two.values(from).at(name));
          if (later)
            out->push_back(std::move(*later));
          else
            out.reset();
        }
        return out;
      };
      const auto until = lags(kPart, part, kWrite, at.insn),
                 after = lags(kWrite, at.insn, kUse, use);
      if (!until || !after) return false;
      two.take_in();
      const auto before_it = [&](LinearProof proof) {  // no write after the part
        return keeps_order(std::move(proof), *until, o.first(part, at.insn), {}, false) == true;
      };
      for (const LinearForm& later : *after) {
        LinearProof in_later = two.proof;
        LinearForm from_one = later;
        --from_one.constant;
        in_later.not_negative(from_one);
        if (!before_it(std::move(in_later))) return false;
        two.proof.zero(later);
      }
      if (o.first(at.insn, use) && !before_it(std::move(two.proof))) return false;
    }
  return true;
}

/// Nothing that the definition reads is written between it and the use.
std::optional<Diagnostic> Reaching::stale(const Definition& d, const Use& u) const {
  const RunOrder& o = r_.order;
  const int ds = last_part(d.insn), s = u.statement;
  for (int part = first_part(d.insn); part <= ds; ++part) {
    Map instances = pick(u.served, ds, part);
    instances = isl_map_intersect_range(instances.take(), o.domain(part).all.take());
    std::optional<std::vector<LinearRows>> rows(std::in_place);
    for (const BasicSet& b : parts_of(isl_map_wrap(instances.copy())))
      if (auto some = linear_rows(b); some && rows)
        rows->push_back(std::move(*some));
      else
        rows.reset();
    for (const Access& read : r_.accesses[std::size_t(part)]) {
      if (read.write || !(k_.find_temporary(read.variable) || k_.find_arg(read.variable))) continue;
      for (const AccessAt& at : r_.by_variable().at(read.variable)) {
        const Access& w = r_.at(at);
        if (!w.write || !may_run_between(at.insn, part, s)) continue;
        const bool stays = rows && stays_plainly(*rows, s, part, read, at);
        if (stays && !memo().compares) continue;
        ApproximateMap found =
            meetings(o.kernel(), o.kernel(), r_.variables, read, o.dims(part), w, o.dims(at.insn));
        Map& bad = found.all;
        bad = isl_map_intersect(bad.take(), o.before(part, at.insn, is_never_parallel).take());
        bad = isl_map_reverse(isl_map_apply_range(instances.copy(), bad.take()));
        bad = isl_map_intersect(bad.take(), o.before(at.insn, s, is_never_parallel).take());
        found.intersect_domain(o.domain(at.insn));
        if (yes(isl_map_is_empty(bad.get()))) continue;
        ensure(!stays, "a value that is shown without isl to stay does");
        const bool exact = found.exact && u.exact;
        const Witness x = witness(bad, o.dims(at.insn), o.dims(s));
        const Instruction& def = o.insn(ds);
        return problem(
            exact ? "stale-value" : "not-proved",
            fmt::format("{} {} {}, which `{}` has read for {}{}",
                        instance_text(o.insn(at.insn).id, o.dims(at.insn), x.a),
                        exact ? "writes" : "may write", element_text(w, merged(x.params, x.a)),
                        def.id,
                        instance_text(k_.instructions[std::size_t(u.insn)]->id, o.dims(s), x.b),
                        parameters_text(x.params)),
            o.insn(at.insn).at, def, "the assignment is here");
      }
    }
  }
  return std::nullopt;
}

}  // namespace moonloop
