#include "core/order/legality.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "core/model/domain.h"
#include "core/model/memo.h"
#include "core/model/mixed_radix.h"
#include "core/order/address_spaces.h"
#include "core/sets/budget.h"

namespace moonloop {

void check_legal(const Kernel& k) {
  const IslBudget budget(kProofOperations, fmt::format("proving the order of kernel `{}`", k.name),
                         k.at);
  Legality(k).check();
}

static bool is_legal(const Kernel& k) {
  try {
    check_legal(k);
    return true;
  } catch (const Refused&) { return false; }
}

void check_kept_order(const Kernel& before, const Kernel& after) {
  Legality(before, after).check();
}

Kernel proved(Kernel k) {
  Legality legality(k);
  legality.check();
  if (!k.reference) return k;  // the list is the meaning
  k.instructions = linearized(k, legality.present());
  k.loop_order = loop_order_in_sequence(k, legality.present());
  return k;
}

Legality::Legality(const Kernel& k) : k_(k) {
  ref_ = reference_of(k);
  const bool same = !k.reference && ref_->order.kernel().iname_tags == k.iname_tags;
  if (same)
    present_ = std::shared_ptr<const RunOrder>(ref_, &ref_->order);
  else
    present_ = order_of(k);
  const auto& tags = k.iname_tags;
  trivial_ = same && std::none_of(tags.begin(), tags.end(),
                                  [](const auto& t) { return is_parallel(&t.second); });
  if (trivial_) {
    now_.resize(std::size_t(ref_->order.size()));
    std::iota(now_.begin(), now_.end(), 0);
    return;
  }
  place();
  for (int r = 0; r < ref_->order.size(); ++r)
    if (now(r) < 0)
      throw InternalError("statement `" + ref_->order.insn(r).id + "` of the reference is lost");
}

Legality::Legality(const Kernel& before, const Kernel& after)
    : k_(after), ref_(ordered(before)), present_(order_of(after)), compares_(true) {
  place();
  carry();
  keep_common();
}

namespace {

/// The common parts of statements in equal nests.
struct Nest {
  // The lists of loops and work-items, of the reference and present ones: equal lists of names are
  // one object in each of the two trees.
  std::array<const void*, 4> inames{};
  std::vector<std::pair<std::string, ExprKey>> origins;  // of those that are not themselves

  auto fields() const { return std::tie(inames, origins); }
  bool operator==(const Nest& o) const { return fields() == o.fields(); }
};

}  // namespace

/// Finds the present statement of each reference statement, and which are in equal nests.
void Legality::place() {
  const std::size_t n = std::size_t(ref_->order.size());
  now_.assign(n, -1);
  nests_.resize(n);
  std::unordered_map<Nest, int, KeyHash> nests;
  Nest key, latest;
  int latest_nest = -1;
  for (int s = 0; s < present_->size(); ++s) {
    const Instruction& insn = present_->insn(s);
    const int r = ref_->order.find(compares_ ? insn.id : insn.reference_id());
    if (compares_ && (r < 0 || insn.inames != ref_->order.insn(r).inames)) continue;  // a new one
    if (r < 0 || now_[std::size_t(r)] >= 0)
      throw InternalError("statement `" + insn.id + "` has no place of its own in the reference");
    now_[std::size_t(r)] = s;
    key.inames = {&ref_->order.loops(r), &ref_->order.items(r), &present_->loops(s),
                  &present_->items(s)};
    key.origins.clear();
    const auto& dims = ref_->order.dims(r);
    const auto value = [&](const std::string& d) {
      return compares_ ? var(d) : origin_of(insn, d);
    };
    if (!compares_ && !insn.origin.empty())
      for (const std::string& d : dims) {
        const auto it = insn.origin.find(d);
        if (it == insn.origin.end()) continue;
        const Expr& e = it->second;
        if (const Var* v = e.as<Var>(); !v || v->name != d) key.origins.emplace_back(d, ExprKey{e});
      }
    if (latest_nest >= 0 && key == latest) {
      nests_[std::size_t(r)] = latest_nest;
      continue;
    }
    const auto [it, fresh] = nests.try_emplace(key, int(nests.size()));
    nests_[std::size_t(r)] = latest_nest = it->second;
    latest = key;
    if (!fresh) continue;
    auto& origins = origins_.emplace_back();
    for (const std::string& d : dims) origins.emplace(d, value(d));
  }
}

/// Accesses that a statement makes in both kernels. Accesses that it no longer makes have
/// stand-ins; an accumulator keeps its place although its name may be new. An access whose
/// subscripts now read a copy, `h[d_fetch]` in place of `h[d[i]]`, is still the same one.
void Legality::keep_common() {
  const Variables variables(present_->kernel());
  std::vector<AccessList> still(now_.size());
  for (std::size_t r = 0; r < now_.size(); ++r)
    if (now_[r] >= 0 && !carried_.has(int(r)))
      still[r] = statement_accesses(present_->insn(now_[r]), variables);
  for (const auto& [name, all] : ref_->by_variable()) {
    std::vector<AccessAt> common;
    for (const AccessAt& a : all) {
      if (now(a.insn) < 0) continue;
      if (carried_.has(a.insn)) {
        common.push_back(a);
        continue;
      }
      const Access& x = ref_->at(a);
      const auto& has = still[std::size_t(a.insn)];
      const auto was = [&](const Access& y) {
        return std::any_of(all.begin(), all.end(), [&](const AccessAt& b) {
          const Access& z = ref_->at(b);
          return b.insn == a.insn && z.write == y.write && equal(z.index, y.index);
        });
      };
      const bool kept = std::any_of(has.begin(), has.end(), [&](const Access& y) {
        return x.write == y.write && x.variable == y.variable &&
               (equal(x.index, y.index) || !was(y));
      });
      if (kept || ref_->order.insn(a.insn).role != ReductionRole::None) common.push_back(a);
    }
    if (!common.empty()) common_.append(name, std::move(common));
  }
}

void Legality::check() {
  if (!compares_) require_distinct_axes(k_);
  if (trivial_) {
    remember({ref_, present_, now_});
    return;
  }
  if (!compares_) carry();
  check_all(compares_ ? common_ : ref_->by_variable());
  check_parts();
  if (compares_) return;
  check_copies();
  check_former_copies();
  remember(std::move(this_order_));
}

/// Reuses the last proof for this one. Of two compared kernels, the first is in order.
void Legality::carry() {
  this_order_ = {ref_, present_, now_};
  known_order_ = known_order(this_order_);
  if (compares_) {
    KeptOrder before{ref_, std::shared_ptr<const RunOrder>(ref_, &ref_->order), {}};
    before.now.resize(now_.size());
    std::iota(before.now.begin(), before.now.end(), 0);
    known_order_ = std::make_shared<const KeptOrder>(std::move(before));
  }
  if (known_order_) carried_ = Carried(*known_order_, this_order_);
}

/// Orders carried over from another proof are proved here as well.
template <class F>
void Legality::check_carried(const std::string& name, const F& check) const {
  try {
    check();
  } catch (const Refused& e) {
    // Of two kernels, the first is taken to be in order. One that was made without a proof may not
    // be; then its own races say nothing about what is between the two.
    if (compares_ && !is_legal(ref_->order.kernel())) return;
    throw InternalError("the order of `" + name +
                        "` was carried over, and is not kept: " + e.what());
  }
}

void Legality::check_all(const ByVariable& by_variable) {
  for (const auto& [name, all] : by_variable)
    if (!carried_.all(name, all))
      check_variable(name, all);
    else if (memo().compares)
      check_carried(name, [&] { check_variable(name, all); });
  for (int s = 0; s < ref_->order.size(); ++s)
    for (const std::string& id : ref_->order.insn(s).depends_on) {
      const int d = ref_->order.find(id);
      if (d < 0 || now(s) < 0 || now(d) < 0 || (carried_.has(s) && carried_.has(d))) continue;
      // It is one between the iterations of the loops that the two share, which may be more by now.
      if (present_->first(now(d), now(s))) continue;
      const std::size_t shared = ref_->order.common_loops(d, s);
      Pair p{d, s, nullptr, nullptr, {}, false};
      p.equal.assign(ref_->order.loops(s).begin(), ref_->order.loops(s).begin() + long(shared));
      for (const std::string& i : ref_->order.common_items(d, s)) p.equal.push_back(i);
      check_pair(p);
    }
}

// ---- Which pairs --------------------------------------------------------------------------------

void Legality::check_variable(const std::string& name, const std::vector<AccessAt>& all) {
  if (std::none_of(all.begin(), all.end(), [&](const AccessAt& a) { return ref_->at(a).write; }))
    return;
  // Where an axis has a constant in every access, only those with the same one meet.
  const std::size_t rank = ref_->at(all[0]).index.size();
  for (std::size_t axis = 0; axis < rank; ++axis) {
    std::map<std::int64_t, std::vector<AccessAt>> parts;
    const bool constant = std::all_of(all.begin(), all.end(), [&](const AccessAt& a) {
      const Exprs& index = ref_->at(a).index;
      const auto c = index.size() == rank ? as_int(index[axis]) : std::nullopt;
      if (c) parts[*c].push_back(a);
      return c.has_value();
    });
    if (!constant || parts.size() < 2) continue;
    for (const auto& [c, part] : parts) check_variable(name, part);
    return;
  }
  // Accesses under different top-level loops, before as well as now, keep their order when those
  // loops do; the rest is under one top-level loop.
  const auto root = [](const RunOrder& o, int s) {
    return o.tree().paths[std::size_t(s)].index(0);
  };
  bool kept = true;
  for (std::size_t i = 1; i < all.size() && kept; ++i) {
    const int was = root(ref_->order, all[i].insn) - root(ref_->order, all[i - 1].insn);
    const int is = root(*present_, now(all[i].insn)) - root(*present_, now(all[i - 1].insn));
    kept = was == 0 ? is == 0 : is > 0;
  }
  for (std::size_t begin = 0; begin < all.size();) {
    std::size_t end = kept ? begin + 1 : all.size();
    while (end < all.size() &&
           root(ref_->order, all[end].insn) == root(ref_->order, all[begin].insn))
      ++end;
    // Within: groups that touch the same element in the same iteration, in one nest.
    std::map<std::string, std::vector<AccessAt>> groups;
    for (std::size_t i = begin; i < end; ++i) {
      const Instruction& insn = ref_->order.insn(all[i].insn);
      const Access& x = ref_->at(all[i]);
      groups[fmt::format("{}|{}|{}|{}", nests_[std::size_t(all[i].insn)], to_string(x.index),
                         to_string(insn.predicates), x.when ? to_string(x.when) : "")]
          .push_back(all[i]);
    }
    for (const auto& [key, group] : groups) check_group(group);
    // What calls access of an axis is not known element by element; a refusal should show some.
    const auto has_part = [&](const std::vector<AccessAt>& group) {
      const Exprs& index = ref_->at(group.front()).index;
      return std::any_of(index.begin(), index.end(),
                         [](const Expr& i) { return i.as<Slice>() != nullptr; });
    };
    for (const bool parts : {false, true}) {
      if (parts && !ref_->variables.calls()) break;
      for (auto g = groups.begin(); g != groups.end(); ++g)
        for (auto h = std::next(g); h != groups.end(); ++h) {
          if (parts != (has_part(g->second) || has_part(h->second))) continue;
          for (const AccessAt& a : g->second)
            for (const AccessAt& b : h->second) check_accesses(a, b);
        }
    }
    begin = end;
  }
}

/// The accesses of a group touch one element in one iteration, but perhaps different fields of a
/// record. Those that touch the same innermost named field meet.
void Legality::check_group(const std::vector<AccessAt>& group) {
  std::set<std::string> fields;
  for (const AccessAt& a : group) fields.insert(ref_->at(a).field);
  if (fields.size() == 1) return check_chain(group);
  for (const std::string& field : fields) {
    const bool innermost = std::none_of(fields.begin(), fields.end(), [&](const std::string& f) {
      return f != field && covers_field(field, f);
    });
    if (!innermost) continue;
    std::vector<AccessAt> meeting;
    for (const AccessAt& a : group)
      if (covers_field(ref_->at(a).field, field)) meeting.push_back(a);
    check_chain(meeting);
  }
}

/// The accesses meet in one iteration. Those that have no order among each other, reads or updates
/// that commute, are one link of a chain: the pairs of each write's link with the links up to the
/// next one imply all others; once more around for later iterations.
void Legality::check_chain(const std::vector<AccessAt>& group) {
  struct Link {
    bool reads = false;
    std::vector<const AccessAt*> all;
  };
  const auto insn = [&](const AccessAt& a) -> const Instruction& {
    return ref_->order.insn(a.insn);
  };
  const auto updates = [&](const AccessAt& a) {
    return insn(a).atomic != Atomicity::None &&
           commuting().alike(insn(a), insn(a), ref_->at(a).variable);
  };
  const auto joins = [&](const AccessAt& a, const Link& l) {
    const AccessAt& first = *l.all[0];
    if (updates(a) && updates(first))
      return commuting().alike(insn(first), insn(a), ref_->at(a).variable);
    return l.reads && !ref_->at(a).write && !updates(a);
  };
  std::vector<Link> links;
  for (const AccessAt& a : group) {
    if (links.empty() || !joins(a, links.back()))
      links.push_back({!ref_->at(a).write && !updates(a), {}});
    links.back().all.push_back(&a);
  }
  // The last one may go on in the next iteration.
  if (links.size() > 1 && !links[0].reads && !links.back().reads &&
      joins(*links.back().all[0], links[0])) {
    for (const AccessAt* a : links.back().all) links[0].all.push_back(a);
    links.pop_back();
  }
  const Link* writes = nullptr;
  std::vector<const Link*> reads;
  const auto check = [&](const Link& l, const Link& m) {
    if (&l == &m && updates(*l.all[0])) return;
    for (const AccessAt* a : l.all)
      for (const AccessAt* b : m.all) check_accesses(*a, *b);
  };
  const auto visit = [&](const Link& l) {
    for (const Link* r : reads)
      if (!l.reads) check(*r, l);
    if (writes) check(*writes, l);
    if (l.reads) return reads.push_back(&l);
    writes = &l;
    reads.clear();
  };
  for (const Link& l : links) visit(l);
  if (!writes) return;
  for (const Link& l : links) {
    visit(l);
    if (!l.reads) break;
  }
}

namespace {

bool contains(const std::vector<std::string>& list, const std::string& name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

}  // namespace

/// The inames whose values the subscript determines.
const std::vector<std::string>& Legality::determined(const Expr& subscript) {
  const auto [it, fresh] = determined_.try_emplace(subscript.identity());
  if (!fresh) return it->second;
  const Kernel& k = ref_->order.kernel();
  auto found = plain_digits(k, subscript);
  if (!found && subscript.holds<Select>()) {
    std::set<std::string> used;
    collect_vars(subscript, used);
    std::vector<std::string> inames;
    for (const std::string& n : used)
      if (k.has_iname(n)) inames.push_back(n);
    found = piece_digits(k, subscript, domain_of(k, inames),
                         [&](const std::string& i) { return plain_range(k, i); });
  }
  it->second = std::move(found).value_or(std::vector<std::string>());
  return it->second;
}

void Legality::check_accesses(const AccessAt& a, const AccessAt& b) {
  const Access &x = ref_->at(a), &y = ref_->at(b);
  if (!x.write && !y.write) return;
  if (!covers_field(x.field, y.field) && !covers_field(y.field, x.field)) return;
  if (!is_carried(a, b)) return check_meeting(a, b);
  if (memo().compares) check_carried(x.variable, [&] { check_meeting(a, b); });
}

/// Whether the known order says that the two are in order. Which iterations have a temporary to
/// themselves, and which updates commute, depends on what others do with it.
bool Legality::is_carried(const AccessAt& a, const AccessAt& b) const {
  const auto plain = [&](const AccessAt& at) {
    return ref_->order.insn(at.insn).atomic == Atomicity::None;
  };
  return carried_.both(a, b) && plain(a) && plain(b) &&
         !ref_->variables.is_temporary(ref_->at(a).variable);
}

void Legality::check_meeting(const AccessAt& a, const AccessAt& b) {
  const Access &x = ref_->at(a), &y = ref_->at(b);
  const Instruction &f = ref_->order.insn(a.insn), &g = ref_->order.insn(b.insn);
  if (updates_commute(f, g, x.variable)) return;
  Pair p{a.insn, b.insn, &x, &y, {}, false};
  // Segments begin somewhere: their terms stay in order.
  p.commutes = a.insn == b.insn && combines_items(f) && f.lhs.size() >= 1 &&
               std::any_of(f.lhs.begin(), f.lhs.end(),
                           [&](const Expr& l) { return written_name(l) == x.variable; });
  if (x.index.size() == y.index.size())
    for (std::size_t i = 0; i < x.index.size(); ++i)
      if (equal(x.index[i], y.index[i]))
        for (const std::string& name : determined(x.index[i]))
          if (contains(ref_->order.dims(a.insn), name) &&
              contains(ref_->order.dims(b.insn), name) && !contains(p.equal, name))
            p.equal.push_back(name);
  if (ref_->variables.is_temporary(x.variable) && !is_settled(p)) confine(p);
  check_pair(p);
}

bool Legality::updates_commute(const Instruction& a, const Instruction& b,
                               const std::string& name) const {
  if (a.atomic == Atomicity::None || b.atomic == Atomicity::None) return false;
  return commuting().commute(a, b, name);
}

CommutingUpdates& Legality::commuting() const {
  if (!commuting_) commuting_ = std::make_unique<CommutingUpdates>(ref_->order.kernel(), k_);
  return *commuting_;
}

bool combines_items(const Instruction& update) {
  return update.role == ReductionRole::Update && !within_segments(update.reduce_op);
}

Legality::Pair Legality::turned(const Pair& p) { return {p.b, p.a, p.y, p.x, p.equal, p.commutes}; }

void Legality::check_pair(const Pair& p) {
  if (!loops_keep(p)) prove(p);
  if (p.x == p.y || p.commutes) return;  // null: only one direction
  const Pair back = turned(p);
  if (!loops_keep(back)) prove(back);
}

// ---- Temporaries that iterations have to themselves -------------------------------------------

void Legality::confine(Pair& p) {
  for (const std::string& i : confined_to(p).inames)
    if (!contains(p.equal, i)) p.equal.push_back(i);
}

bool Legality::in_one_iteration(const Pair& p) const {
  Exprs values;
  for (const std::string& i : p.equal) {
    const Expr& e = origin(p.a, i);
    if (equal(e, origin(p.b, i))) values.push_back(e);
  }
  const std::vector<std::string>& loops = present_->loops(now(p.a));
  const auto shared = long(present_->common_loops(now(p.a), now(p.b)));
  return determine(values, {loops.begin(), loops.begin() + shared}, {});
}

const Legality::Confined& Legality::confined_to(const Pair& p) {
  return confined_to(p.x->variable, ref_->web(p.x->variable).around(p.a, p.b));
}

const Legality::Confined& Legality::confined_to(const std::string& name, const Web& web) {
  const auto known = confined_.find(&web);
  if (known != confined_.end()) return known->second;
  return confined_.emplace(&web, find_confined(name, web)).first->second;
}

/// Work-items keep iterations apart where each has its own copy. Loops do where one iteration of
/// the outer ones, around all accesses, is exactly one of these: a loop outside of them or between
/// them would interleave them, and the next one would find what this one left.
Legality::Confined Legality::find_confined(const std::string& name, const Web& web) const {
  const std::vector<std::string>& wanted = web.own;
  if (wanted.empty()) return {};
  if (const Temporary* t = k_.find_temporary(name); t && t->space == AddressSpace::Global)
    return {};  // by now all share it
  std::vector<AccessAt> all = compares_ ? common_.at(name) : ref_->by_variable().at(name);
  const auto others = [&](const AccessAt& a) {
    return &ref_->web(name) != &web &&
           !std::binary_search(web.statements.begin(), web.statements.end(), a.insn);
  };
  std::erase_if(all, others);
  const int first = now(all[0].insn);
  std::size_t shared = present_->loops(first).size();
  std::vector<std::string> items = present_->items(first);
  if (!items.empty()) {
    // All have their own copy of an accumulator, which `k_` does not have yet.
    if (!own_) own_.emplace(k_);
    if (k_.find_temporary(name))
      std::erase_if(items, [&](const std::string& i) { return !own_->has(name, i); });
  }
  for (const AccessAt& a : all) {
    shared = std::min(shared, present_->common_loops(first, now(a.insn)));
    std::erase_if(items,
                  [&](const std::string& i) { return !contains(present_->items(now(a.insn)), i); });
  }
  std::vector<std::string> loops(present_->loops(first).begin(),
                                 present_->loops(first).begin() + long(shared));
  for (;; loops.pop_back()) {
    std::vector<std::string> out;
    Exprs values;
    for (const std::string& i : wanted) {
      const Expr& e = origin(all[0].insn, i);
      if (!std::all_of(all.begin(), all.end(),
                       [&](const AccessAt& a) { return equal(origin(a.insn, i), e); }))
        continue;
      std::set<std::string> pieces;
      collect_vars(e, pieces);
      if (!std::all_of(pieces.begin(), pieces.end(), [&](const std::string& v) {
            return !k_.has_iname(v) || contains(loops, v) || contains(items, v);
          }))
        continue;
      out.push_back(i);
      values.push_back(e);
    }
    if (determine(values, loops, items)) return {std::move(out), loops.size()};
  }
}

/// Whether `values` determine the iteration of `loops`.
bool Legality::determine(const Exprs& values, const std::vector<std::string>& loops,
                         const std::vector<std::string>& items) const {
  if (loops.empty()) return true;
  if (values.empty()) return false;
  std::set<std::string> told;
  const auto all_told = [&](const std::optional<std::vector<std::string>>& more) {
    if (more) told.insert(more->begin(), more->end());
    return std::all_of(loops.begin(), loops.end(),
                       [&](const std::string& i) { return told.count(i) > 0; });
  };
  const Kernel& k = present_->kernel();
  for (const Expr& e : values)
    if (all_told(plain_digits(k, e))) return true;
  const ValuesKey key{loops, keys_of(values)};
  const auto known = told_.find(key);
  if (known != told_.end()) return known->second;
  std::vector<std::string> dims = loops;
  dims.insert(dims.end(), items.begin(), items.end());
  const Set domain = without_computed(k, domain_of(k, dims)).all;
  for (const Expr& e : values)
    if (all_told(pieces_of(e, dims, domain))) return told_[key] = true;
  const std::optional<Map> value = to_map(values, dims);
  if (!value) return told_[key] = false;
  Map same = isl_map_intersect_domain(value->copy(), domain.copy());
  same = isl_map_apply_range(same.copy(), isl_map_reverse(same.copy()));
  for (std::size_t i = 0; i < loops.size(); ++i)
    if (!yes(isl_map_is_empty(order_lt(same, i, i).get()))) return told_[key] = false;
  return told_[key] = true;
}

}  // namespace moonloop
