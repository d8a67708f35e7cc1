#include <algorithm>
#include <array>

#include "core/model/flat_subscripts.h"
#include "core/model/memo.h"
#include "core/order/counterexample.h"
#include "core/order/legality.h"
#include "core/sets/budget.h"

/// Asks isl whether two accesses keep their order, instance by instance, and words the refusal.
namespace moonloop {
namespace {

/// The instances of present statement `now` and the reference instances that they are.
ApproximateMap origin_map(const RunOrder& present, int now, const RunOrder& was, int reference) {
  Exprs values;
  for (const std::string& d : was.dims(reference))
    values.push_back(origin_of(present.insn(now), d));
  const std::optional<Map> m = to_map(values, present.dims(now));
  if (!m) throw InternalError("an origin is not affine");
  ApproximateMap out{*m};
  out.intersect_domain(present.domain(now));
  return out;
}

}  // namespace

CounterexampleInstance counterexample_instance(const RunOrder& order, int s,
                                               const std::map<std::string, std::int64_t>& at,
                                               std::string does) {
  const std::vector<std::string>& dims = order.dims(s);
  return {order.insn(s).id, dims, values_at(dims, at), std::move(does), order.domain(s).all};
}

/// Inames count by their positions; variables by their names where claims name them.
const Set& Legality::points(const RunOrder& order, int s) const {
  const std::vector<std::string>& dims =
      order.dims(s);  // one object for all equal ones of an order
  auto& all = points_[&order == present_.get()];
  const auto known = all.find(&dims);
  return known != all.end() ? known->second
                            : all.emplace(&dims, domain_of(order.kernel(), dims)).first->second;
}

ProofKey Legality::proof_key(const Pair& p) const {
  const RunOrder &was = ref_->order, &is = *present_;
  const std::array<std::pair<const RunOrder*, int>, 4> statements{
      {{&was, p.a}, {&was, p.b}, {&is, now(p.a)}, {&is, now(p.b)}}};
  std::array<Set, 4> domains;
  std::vector<std::string> inames;  // by number
  const auto find = [&](const std::string& i) {
    return std::find(inames.begin(), inames.end(), i);
  };
  bool plain = true;  // instances are determined by their dimensions alone
  for (const auto& [o, s] : statements) {
    for (const std::string& i : o->dims(s))
      if (find(i) == inames.end()) inames.push_back(i);
    plain = plain && o->insn(s).predicates.empty();
  }
  for (std::size_t i = 0; i < statements.size(); ++i) {
    const auto& [o, s] = statements[i];
    const bool same = i % 2 == 1 && p.a == p.b;
    domains[i] = same ? domains[i - 1] : points(*o, s);
    for (const std::string& n : param_names(domains[i]))
      plain = plain && find(n) == inames.end() && !o->kernel().find_temporary(n);
  }
  std::map<std::string, std::string> numbers;  // names that say nothing but numbers
  if (plain)
    for (const std::string& i : inames) numbers.emplace(i, fmt::format("#{}", numbers.size()));
  const std::size_t numbered = plain ? inames.size() : 0;
  const auto number = [&](const std::string& i) {
    const auto at = find(i) - inames.begin();
    if (at == std::ssize(inames)) inames.push_back(i);
    return static_cast<int>(at);
  };
  const auto expression = [&](const Expr& e) { return ExprKey{plain ? rename(e, numbers) : e}; };
  const auto claims_name = [&](const std::string& variable) {
    return std::any_of(k_.claims.begin(), k_.claims.end(), [&](const Claim& c) {
      return std::find(c.names.begin(), c.names.end(), variable) != c.names.end();
    });
  };

  ProofKey key;
  key.one_statement = p.a == p.b;
  key.commutes = p.commutes;
  key.combines = p.commutes && combines_items(is.insn(now(p.a)));
  key.first_was = was.first(p.a, p.b);
  key.first_is = is.first(now(p.a), now(p.b));
  key.common_was = was.common_loops(p.a, p.b);
  key.common_is = is.common_loops(now(p.a), now(p.b));
  if (const auto parts = parts_of(p, was, p.a)) key.parts[0] = {number(parts->iname), parts->outer};
  if (const auto parts = parts_of(p, is, now(p.a)))
    key.parts[1] = {number(parts->iname), parts->outer};
  std::set<std::string> names;
  const bool flat = p.x && (flat_of(p.x->index) || flat_of(p.y->index));
  for (const Access* x : {p.x, p.y}) {
    if (!x) continue;
    ProofKey::Place& place = key.places.emplace_back();
    if (!plain || claims_name(x->variable)) place.variable = x->variable;
    for (const Expr& e : x->index) {
      place.index.push_back(expression(e));
      collect_reads(e, names);
    }
    if (x->when) {
      place.when = expression(x->when);
      collect_reads(x->when, names);
    }
    if (flat)
      if (const auto at = place_in_memory(was.kernel(), x->variable, x->index))
        place.in_memory = expression(*at);
  }
  for (const std::string& n : names)
    if (ref_->variables.has(n)) key.read.push_back(n);
  for (std::size_t i = 0; i < statements.size(); ++i) {
    const auto& [o, s] = statements[i];
    ProofKey::Statement& statement = key.statements[i];
    if (plain)
      statement.shape = memo().shape(domains[i]);
    else
      statement.domain = memo().hold(domains[i]);
    statement.loops = o->loops(s).size();
    for (const std::string& d : o->dims(s)) statement.dims.push_back(number(d));
    statement.predicates = keys_of(o->insn(s).predicates);
    statement.computed = computed_params(o->kernel(), domains[i]);
  }
  for (std::size_t i = 0; i < 2; ++i) {
    const int s = i == 0 ? p.a : p.b;
    for (const std::string& d : was.dims(s)) key.origins[i].push_back(expression(origin(s, d)));
    for (const std::string& d : is.items(now(s))) {
      if (!is.trusts(d)) continue;
      std::vector<int>& trusted = key.trusted[i].emplace_back();
      trusted.push_back(number(d));
      for (const std::string& l : is.loops(now(s)))
        if (is.trusts_in(d, l)) trusted.push_back(number(l));
    }
  }
  if (p.a == p.b)  // see with_known_scalars
    for (const std::string& n : scalars_of(p))
      for (const RunOrder* o : {&is, &was}) {
        auto& loops = key.computed_in.emplace_back();
        if (writers(*o, n).empty() || !same_writers(n)) continue;
        loops.emplace();
        for (const Instruction* writer : writers(*o, n))
          for (const std::string& i : writer->inames) loops->push_back(number(i));
      }
  for (const std::string& i : is.loops(now(p.a))) key.runs.push_back(runs(i));
  for (const std::string& i : p.equal) key.equal.push_back(number(i));
  for (const Claim& c : k_.claims) key.claims.emplace_back(c.kind, c.names);
  key.names.assign(inames.begin() + std::ptrdiff_t(numbered), inames.end());
  return key;
}

ApproximateMap Legality::demanded(const Pair& p) const {
  const RunOrder &was = ref_->order, &is = *present_;
  const auto &da = was.dims(p.a), &db = was.dims(p.b);
  ApproximateMap out = p.x ? meetings(was.kernel(), k_, ref_->variables, *p.x, da, *p.y, db)
                           : ApproximateMap{universal_map(da, db)};
  Map& pairs = out.all;
  for (const std::string& i : p.equal)
    pairs = equate(std::move(pairs), std::size_t(std::find(da.begin(), da.end(), i) - da.begin()),
                   std::size_t(std::find(db.begin(), db.end(), i) - db.begin()));
  if (p.commutes) {
    Map same = universal_map(da, db);
    for (std::size_t i = 0; i < da.size(); ++i) same = equate(std::move(same), i, i);
    pairs = isl_map_subtract(pairs.take(), same.take());
  } else if (const auto parts = parts_of(p, was, p.a)) {
    const Map order = parts_before(was, p.a, *parts, is_never_parallel);
    pairs = isl_map_intersect(pairs.take(), order.copy());
  } else {
    Map order = was.before(p.a, p.b, is_never_parallel);
    if (p.a == p.b && !was.items(p.a).empty()) {
      Map items = universal_map(da, db);
      const std::size_t loops = was.loops(p.a).size();
      for (std::size_t i = 0; i < loops; ++i) items = equate(std::move(items), i, i);
      for (std::size_t i = loops; i < da.size(); ++i) {
        order = isl_map_union(order.take(), order_lt(items, i, i).take());
        items = equate(std::move(items), i, i);
      }
    }
    pairs = isl_map_intersect(pairs.take(), order.take());
  }
  out.intersect_domain(was.domain(p.a));
  out.intersect_range(was.domain(p.b));
  ApproximateMap a = origin_map(is, now(p.a), was, p.a), b = origin_map(is, now(p.b), was, p.b);
  pairs = isl_map_apply_domain(pairs.take(), isl_map_reverse(a.all.take()));
  pairs = isl_map_apply_range(pairs.take(), isl_map_reverse(b.all.take()));
  out.exact = out.exact && a.exact && b.exact;
  return out;
}

/// The statements of a kernel, either of the two, that write a scalar.
const Legality::Writers& Legality::writers(const RunOrder& order, const std::string& scalar) const {
  auto& known = writers_[&order == present_.get()];
  if (!known) {
    known.emplace();
    for (const InsnPtr& i : order.kernel().instructions)
      for (const std::string& name : writes(*i)) (*known)[name].push_back(i.get());
  }
  static const Writers kNone;
  const auto it = known->find(scalar);
  return it == known->end() ? kNone : it->second;
}

/// Whether the statements that write the scalar now are those that wrote it.
bool Legality::same_writers(const std::string& scalar) const {
  std::set<std::string> before, today;
  for (const Instruction* i : writers(ref_->order, scalar)) before.insert(i->id);
  for (const Instruction* i : writers(*present_, scalar)) today.insert(i->reference_id());
  return before == today;
}

std::set<std::string> Legality::scalars_of(const Pair& p) const {
  const RunOrder& is = *present_;
  std::set<std::string> read, out;
  if (is.kernel().temporaries.empty()) return out;
  for (std::string& n : param_names(points(is, now(p.a)))) read.insert(std::move(n));
  for (const Access* x : {p.x, p.y})
    if (x)
      for (const Expr& e : x->index) collect_reads(e, read);
  for (const std::string& n : read)
    if (const Temporary* t = is.kernel().find_temporary(n); t && (!t->shape || t->shape->empty()))
      out.insert(n);
  return out;
}

/// Whether all `pairs` of instances of a statement see the same value of a scalar: they agree on
/// the loops in which it is computed, so that it is not computed in between.
bool Legality::see_one_value(const RunOrder& order, int s, const std::string& scalar,
                             const Map& pairs) const {
  if (writers(order, scalar).empty()) return false;
  const std::vector<std::string>& dims = order.dims(s);
  Map agree = universal_map(dims, dims);
  for (const Instruction* writer : writers(order, scalar))
    for (const std::string& i : writer->inames) {
      const auto at = std::size_t(std::find(dims.begin(), dims.end(), i) - dims.begin());
      if (at == dims.size()) return false;
      agree = equate(std::move(agree), at, at);
    }
  return yes(isl_map_is_subset(pairs.get(), agree.get()));
}

/// Of pairs of instances of one statement those that are within its bounds and that meet, also
/// where bounds are computed, or subscripts read what bounds are, and both instances see the same
/// value.
Map Legality::with_known_scalars(const Pair& p, Map pairs) const {
  const RunOrder &was = ref_->order, &is = *present_;
  const int s = now(p.a);
  Set points = domain_of(is.kernel(), is.dims(s));
  std::map<std::string, std::string> known;  // by name: under one that no variable has
  std::vector<std::string> other;
  for (const std::string& n : scalars_of(p)) {
    if (see_one_value(is, s, n, pairs))
      known.emplace(n, n + "'");
    else
      other.push_back(n);
  }
  points = drop_params(std::move(points), other);
  pairs = isl_map_intersect_domain(pairs.take(), points.copy());
  pairs = isl_map_intersect_range(pairs.take(), points.take());
  if (!p.x || known.empty()) return pairs;

  const ApproximateMap origin = origin_map(is, s, was, p.a);
  Map before = isl_map_apply_domain(pairs.copy(), origin.all.copy());
  before = isl_map_apply_range(before.take(), origin.all.copy());
  std::erase_if(known, [&](const auto& name) {
    return !same_writers(name.first) || !see_one_value(was, p.a, name.first, before);
  });
  Access x = *p.x, y = *p.y;
  for (Access* access : {&x, &y})
    for (Expr& e : access->index) e = rename(e, known);
  Pair q = p;
  q.x = &x, q.y = &y;
  Map meeting = demanded(q).all;
  for (const auto& [name, own] : known) {
    const Set same = *to_condition(Expr(Compare{CompareOp::Eq, var(name), var(own)}), {});
    meeting = isl_map_intersect_params(meeting.take(), isl_set_params(same.copy()));
  }
  pairs = isl_map_intersect(pairs.take(), meeting.take());
  for (const auto& [name, own] : known) {
    const int at = isl_map_find_dim_by_name(pairs.get(), isl_dim_param, own.c_str());
    if (at >= 0) pairs = isl_map_project_out(pairs.take(), isl_dim_param, unsigned(at), 1);
  }
  return pairs;
}

void Legality::prove(const Pair& p) const {
  // Among many statements, most pairs are like one that is known. Among few, the constraints show
  // the order in less time than it takes to make the key.
  constexpr int kMany = 64;
  const bool many = present_->size() > kMany;
  if (!many && !memo().compares && plainly_kept(p)) return;
  ProofKey key = proof_key(p);
  const bool known = memo().proofs.count(key) > 0;
  if (known && !memo().compares) return;
  const bool plain = (many || memo().compares) && plainly_kept(p);
  if (plain && !memo().compares) {
    memo().proofs.insert(std::move(key));
    return;
  }
  const IslBudget budget(kQuestionOperations);
  const RunOrder& is = *present_;
  const int a = now(p.a), b = now(p.b);
  ApproximateMap pairs = demanded(p);
  const auto unordered = p.commutes ? is_parallel_not_shared : is_parallel;
  const std::optional<OrderedParts> parts = parts_of(p, is, a);
  Map kept = parts ? parts_before(is, a, *parts, unordered) : is.before(a, b, unordered);
  if (p.commutes)
    kept = isl_map_union(kept.take(), isl_map_reverse(is.before(b, a, unordered).take()));
  if (p.commutes && combines_items(is.insn(a))) {
    const auto& dims = is.dims(a);
    Map items = universal_map(dims, dims);
    for (std::size_t i = 0; i < is.loops(a).size(); ++i) items = equate(std::move(items), i, i);
    kept = isl_map_union(kept.take(), items.take());
  }
  if (!yes(isl_map_is_subset(pairs.all.get(), kept.get()))) {
    Map violated = isl_map_subtract(pairs.all.take(), kept.take());
    if (!pairs.exact && p.a == p.b) violated = with_known_scalars(p, std::move(violated));
    if (!yes(isl_map_is_empty(violated.get()))) {
      ensure(!known, "a proof that is remembered holds");
      ensure(!plain, "a proof without isl holds");
      refuse_pair(p, violated, pairs.exact);
    }
  }
  memo().proofs.insert(std::move(key));
}

std::map<std::string, std::int64_t> Legality::reference_point(
    int s, const std::map<std::string, std::int64_t>& params,
    const std::map<std::string, std::int64_t>& present) const {
  std::map<std::string, std::int64_t> at = params, out = params;
  at.insert(present.begin(), present.end());
  for (const auto& [name, e] : origins_[std::size_t(nests_[std::size_t(s)])])
    if (const auto v = evaluate(e, at)) out[name] = *v;
  return out;
}

/// The loop around statement `s` whose bounds make this access; empty if none does.
std::string Legality::bounded_by(int s, const Access& access) const {
  if (access.write || !access.index.empty()) return "";
  for (const std::string& i : ref_->order.dims(s))
    for (const Access& a : ref_->variables.bounds_of(i))
      if (a.variable == access.variable) return i;
  return "";
}

void Legality::refuse_pair(const Pair& p, const Map& violated, bool exact) const {
  const RunOrder& is = *present_;
  const int a = now(p.a), b = now(p.b);
  const Map backwards =
      isl_map_intersect(violated.copy(), isl_map_reverse(is.before(b, a, is_parallel).take()));
  const bool reversed = !p.commutes && !yes(isl_map_is_empty(backwards.get()));
  const Witness w = witness(reversed ? backwards : violated, is.dims(a), is.dims(b));
  const std::string x = instance_text(is.insn(a).id, is.dims(a), w.a);
  const std::string y = instance_text(is.insn(b).id, is.dims(b), w.b);

  // Updates of one reduction whose order counts.
  const Instruction& update = ref_->order.insn(p.a);
  const bool segments = p.x && p.a == p.b && update.role == ReductionRole::Update &&
                        !combines_items(update) && p.x->variable == p.y->variable &&
                        writes(update).count(p.x->variable) > 0;

  std::string what, x_does, y_does;
  if (!p.x) {
    what = fmt::format("{} depends on {}", y, x);
    y_does = fmt::format("depends on {}", x);
  } else if (p.commutes || segments) {
    what = fmt::format("both update the same {}", to_string(is.insn(a).reduce_op));
    x_does = y_does = fmt::format("updates the {}", to_string(is.insn(a).reduce_op));
  } else {
    const std::string element = element_text(*p.x, reference_point(p.a, w.params, w.a));
    const char* may = exact ? "" : "may ";
    const auto verb = [&](const Access& access) {
      const char* stem = access.write ? "write" : "read";
      return exact ? fmt::format("{}s", stem) : fmt::format("{}{}", may, stem);
    };
    what = fmt::format("{} {} {} and {} {} it{}", x, verb(*p.x), element, y, verb(*p.y),
                       p.x->write && p.y->write ? " too" : "");
    x_does = fmt::format("{} {}", verb(*p.x), element);
    y_does = fmt::format("{} {}", verb(*p.y), element);
  }

  Diagnostic d;
  if (reversed) {
    d.code = "breaks-order";
    d.text = fmt::format("{} would run before {}, but {}", y, x, what);
  } else {
    std::string loop;
    for (std::size_t i = 0; i < is.common_loops(a, b) && loop.empty(); ++i) {
      const std::string& name = is.loops(a)[i];
      if (w.a.at(name) != w.b.at(name) && is_parallel(k_.tag(name))) loop = name;
    }
    for (const std::string& name : is.common_items(a, b))
      if (loop.empty() && w.a.at(name) != w.b.at(name)) loop = name;
    d.code = "races";
    d.text = loop.empty()
                 ? fmt::format("{} and {} would run at the same time, but {}", x, y, what)
                 : fmt::format("tagging `{}` as `{}` would run {} and {} at the same time, but {}",
                               loop, k_.tag(loop)->text, x, y, what);
    if (p.commutes)
      d.hint =
          "work-items (`l.N`), lanes (`simd`) and threads (`par`) can share a reduction; "
          "split_reduction_outward or a loop inside it can be parallel";
  }
  if (segments)
    d.hint =
        "the order of a segmented reduction matters, so that one after the other has to add to it: "
        "work-items of one axis (`l.N`) can have neighbouring terms each, as the outer loop of a "
        "split_iname "
        "or "
        "chunk_iname gives them; loops around it can be parallel";
  const Instruction &f = is.insn(a), &g = is.insn(b);
  if (p.x && f.atomic == Atomicity::Update && g.atomic == Atomicity::Update)
    d.hint = fmt::format(
        "atomic updates may run in any order where each is `{0} = {0} op e` of one operation and "
        "`e` does not read `{0}`; else the loops that order them stay as they are, unless "
        "assume_commuting(\"{0}\") says that any order is as good",
        p.x->variable);
  d.text += parameters_text(w.params);
  if (!exact) {
    d.code = "not-proved";
    d.hint =
        "where a subscript is read from an array, assume_injective or assume_disjoint says what "
        "cannot be seen here; the option unsafe=true takes it on trust" +
        (p.commutes || d.hint.empty() ? "" : "; " + d.hint);
    const auto of_call = [](const Access* x) {
      return x && std::any_of(x->index.begin(), x->index.end(),
                              [](const Expr& i) { return i.as<Slice>() != nullptr; });
    };
    if (of_call(p.x) || of_call(p.y))
      d.hint =
          "what a call accesses is known axis by axis, `:` for all of one; lp.inline puts the "
          "statements in its place, whose elements are known";
    for (const auto& [s, x] : {std::pair(p.a, p.x), std::pair(p.b, p.y)})
      if (const std::string loop = x ? bounded_by(s, *x) : ""; !loop.empty())
        d.hint = fmt::format(
            "the bounds of the loop over `{}` read `{}`, so that what moves one of the two has to "
            "move the other along",
            loop, x->variable);
  }
  d.where = {p.x && p.x->at ? p.x->at : is.insn(a).at, {}};
  if (p.y && p.y->at) d.notes.push_back({p.y->at, fmt::format("`{}` is here", is.insn(b).id)});
  throw RefusedByCounterexample(
      d, {counterexample_instance(is, a, w.a, x_does), counterexample_instance(is, b, w.b, y_does),
          w.params, p.commutes ? CounterexampleKind::Together : CounterexampleKind::Order});
}

}  // namespace moonloop
