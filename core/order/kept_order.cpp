#include "core/order/kept_order.h"

#include <algorithm>

#include "core/model/memo.h"

namespace moonloop {
namespace {

bool same_tag(const Kernel& a, const Kernel& b, const std::string& iname) {
  const InameTag *x = a.tag(iname), *y = b.tag(iname);
  return x ? y && *x == *y : !y;
}

/// More claims require less; `few` are the first ones of `many`.
bool begins_with(const std::vector<Claim>& many, const std::vector<Claim>& few) {
  return many.size() >= few.size() &&
         std::equal(few.begin(), few.end(), many.begin(), [](const Claim& a, const Claim& b) {
           return a.kind == b.kind && a.names == b.names;
         });
}

/// Whether the two are plain assignments whose instances are the same ones, and each of their
/// accesses is made by all instances: reads in an arm of a choice are not, and updates have an
/// order of their own.
bool same_place(const Instruction& a, const Instruction& b) {
  const auto plain = [](const Instruction& i) {
    return i.kind == InsnKind::Assign && i.atomic == Atomicity::None &&
           i.role == ReductionRole::None && i.rhs && !i.rhs.holds<Select>() && !i.rhs.holds<Call>();
  };
  const auto same_origin = [&] {
    return a.reference_id() == b.reference_id() && a.origin.size() == b.origin.size() &&
           std::equal(a.origin.begin(), a.origin.end(), b.origin.begin(),
                      [](const auto& x, const auto& y) {
                        return x.first == y.first && equal(x.second, y.second);
                      });
  };
  return &a == &b || (plain(a) && plain(b) && same_nodes(a.predicates, b.predicates) &&
                      a.inames == b.inames && a.depends_on == b.depends_on && same_origin());
}

/// Whether the user vouches for its iterations, and whatever iterations of which loops these are
/// in.
bool same_trust(const Kernel& a, const Kernel& b, const std::string& iname) {
  if (a.claims.empty() && b.claims.empty()) return true;
  const auto in = [&](const Kernel& k) -> std::optional<std::set<std::string>> {
    const auto all = trusted_loops(k);
    const auto it = all.find(iname);
    return it == all.end() ? std::nullopt : std::optional(it->second);
  };
  return in(a) == in(b);
}

}  // namespace

Carried::Carried(const KeptOrder& known, const KeptOrder& next) : known_(&known), next_(&next) {
  const Kernel &a = known.present->kernel(), &b = next.present->kernel();
  if (a.assumptions.get() != b.assumptions.get() || !begins_with(b.claims, a.claims)) return;
  const RunOrder &was = known.reference->order, &is = next.reference->order;
  changed_domains(a, b);
  changed_bounds(a, b);
  changed_storage(a, b);
  changed_scalars(a, b);
  if (known.reference != next.reference) {
    changed_domains(was.kernel(), is.kernel());
    changed_scalars(was.kernel(), is.kernel());
  }
  stayed_.resize(std::size_t(is.size()), Stayed::None);
  was_.resize(stayed_.size(), -1);
  for (int r = 0; r < is.size(); ++r) {
    const int w = known.reference == next.reference ? r : was.find(is.insn(r).id);
    if (w < 0 || known.now[std::size_t(w)] < 0 || next.now[std::size_t(r)] < 0) continue;
    was_[std::size_t(r)] = w;
    stayed_[std::size_t(r)] = stayed(w, r);
  }
  if (!in_the_same_order()) stayed_.clear();
}

Carried::Stayed Carried::stayed(int was, int is) {
  const RunOrder &r = known_->reference->order, &s = next_->reference->order;
  const RunOrder &p = *known_->present, &q = *next_->present;
  const int a = known_->now[std::size_t(was)], b = next_->now[std::size_t(is)];
  const bool whole = &r.insn(was) == &s.insn(is) && &p.insn(a) == &q.insn(b);
  if (!whole && !(same_place(r.insn(was), s.insn(is)) && same_place(p.insn(a), q.insn(b))))
    return Stayed::None;
  if (!same_loops(was, is, a, b)) return Stayed::None;
  return whole ? Stayed::Whole : Stayed::InPlace;
}

/// Of two statements of the references and their present ones.
bool Carried::same_loops(int was, int is, int a, int b) {
  const RunOrder &r = known_->reference->order, &s = next_->reference->order;
  const RunOrder &p = *known_->present, &q = *next_->present;
  if (p.loops(a).size() != q.loops(b).size()) return false;
  const auto &old_before = r.dims(was), &before = s.dims(is), &old_now = p.dims(a),
             &now = q.dims(b);
  const std::array<const void*, 4> lists{&old_before, &before, &old_now, &now};
  if (lists == lists_) return same_;
  lists_ = lists;
  const auto same = [&](const std::string& i) { return same_loop(i); };
  return same_ = old_before == before && old_now == now &&
                 std::all_of(now.begin(), now.end(), same) &&
                 (known_->reference == next_->reference ||
                  std::all_of(before.begin(), before.end(), same));
}

bool Carried::same_loop(const std::string& iname) {
  const auto [it, fresh] = loops_.try_emplace(iname);
  if (!fresh) return it->second;
  const Kernel &a = known_->present->kernel(), &b = next_->present->kernel();
  const Kernel &r = known_->reference->order.kernel(), &s = next_->reference->order.kernel();
  return it->second = !changed_.count(iname) && same_tag(a, b, iname) && same_trust(a, b, iname) &&
                      (&r == &s || same_tag(r, s, iname));
}

void Carried::changed_domains(const Kernel& a, const Kernel& b) {
  std::unordered_set<const isl_set*> had;  // one object as long as no step changes it
  for (const Domain& d : a.domains) had.insert(d.set.get());
  for (const Domain& d : b.domains)
    if (!had.count(d.set.get()))
      for (std::string& i : d.inames()) changed_.insert(std::move(i));
}

void Carried::changed_bounds(const Kernel& a, const Kernel& b) {
  const auto loops_of_writers = [](const Kernel& k, const std::string& name) {
    std::set<std::string> out;
    for (const InsnPtr& i : k.instructions)
      for (const Expr& to : i->lhs)
        if (written_name(to) == name) out.insert(i->inames.begin(), i->inames.end());
    return out;
  };
  std::map<std::string, bool> differs;
  for (const Domain& d : b.domains)
    for (const std::string& n : computed_params(b, d.set)) {
      const auto [it, first] = differs.try_emplace(n);
      if (first) it->second = loops_of_writers(a, n) != loops_of_writers(b, n);
      if (!it->second) continue;
      for (std::string& i : d.inames()) changed_.insert(std::move(i));
    }
}

void Carried::changed_storage(const Kernel& a, const Kernel& b) {
  const auto alike = [](const auto& x, const auto& y) {
    return x.first == y.first && x.second.space == y.second.space &&
           x.second.base_storage == y.second.base_storage;
  };
  const NameMap<Temporary>&had = a.temporaries, &has = b.temporaries;
  auto x = had.begin();
  auto y = has.begin();
  for (; x != had.end() && y != has.end() && alike(*x, *y); ++x) ++y;  // most are
  for (auto rest = x; rest != had.end(); ++rest) {
    const auto now = has.find(rest->first);
    if (now == has.end() || !alike(*rest, *now)) moved_.insert(rest->first);
  }
  for (; y != has.end(); ++y)
    if (!had.contains(y->first)) moved_.insert(y->first);
}

void Carried::changed_scalars(const Kernel& a, const Kernel& b) {
  const auto [x, y] = std::mismatch(a.instructions.begin(), a.instructions.end(),
                                    b.instructions.begin(), b.instructions.end());
  std::unordered_set<const Instruction*> had, has;
  for (auto i = x; i != a.instructions.end(); ++i) had.insert(i->get());
  for (auto i = y; i != b.instructions.end(); ++i) has.insert(i->get());
  const auto note = [&](const Instruction* i, const auto& others) {
    if (others.contains(i)) return;
    for (const std::string& n : writes(*i))
      for (const Kernel* k : {&a, &b})
        if (const Temporary* t = k->find_temporary(n); t && (!t->shape || t->shape->empty()))
          if (scalars_.insert(n).second) scalar_bits_ |= name_bit(n);
  };
  for (const Instruction* i : had) note(i, has);
  for (const Instruction* i : has) note(i, had);
}

bool Carried::in_the_same_order() const {
  const RunOrder &r = known_->reference->order, &s = next_->reference->order;
  const RunOrder &p = *known_->present, &q = *next_->present;
  std::vector<int> of_present(std::size_t(q.size()), -1);
  int last = -1;
  for (const int x : s.by_position()) {
    if (stayed_[std::size_t(x)] == Stayed::None) continue;
    const int w = was_[std::size_t(x)];
    of_present[std::size_t(next_->now[std::size_t(x)])] = p.position(known_->now[std::size_t(w)]);
    if (r.position(w) <= last) return false;
    last = r.position(w);
  }
  last = -1;
  for (const int x : q.by_position()) {
    const int was = of_present[std::size_t(x)];
    if (was < 0) continue;
    if (was <= last) return false;
    last = was;
  }
  return true;
}

bool Carried::reads_changed(const AccessAt& access) const {
  if (scalars_.empty()) return false;
  for (const Expr& e : next_->reference->at(access).index) {
    if ((e.names() & scalar_bits_) == 0) continue;
    std::set<std::string> read;
    collect_reads(e, read);
    if (std::any_of(read.begin(), read.end(),
                    [&](const std::string& n) { return scalars_.contains(n); }))
      return true;
  }
  return false;
}

bool Carried::was_there(const AccessAt& access) const {
  const auto r = std::size_t(access.insn);
  if (stayed_[r] != Stayed::InPlace) return stayed_[r] == Stayed::Whole;
  const Access& is = next_->reference->at(access);
  const AccessList& had = known_->reference->accesses[std::size_t(was_[r])];
  return std::any_of(had.begin(), had.end(), [&](const Access& was) {
    return was.variable == is.variable && was.write == is.write && was.field == is.field &&
           equal(was.index, is.index);
  });
}

bool Carried::both(const AccessAt& a, const AccessAt& b) const {
  if (stayed_.empty()) return false;
  for (const AccessAt* each : {&a, &b})
    if (!was_there(*each) || reads_changed(*each)) return false;
  return true;
}

bool Carried::all(const std::string& variable, const std::vector<AccessAt>& accesses) const {
  if (stayed_.empty()) return false;
  if (std::any_of(accesses.begin(), accesses.end(),
                  [&](const AccessAt& a) { return stayed_[std::size_t(a.insn)] == Stayed::None; }))
    return false;
  if (moved_.contains(variable)) return false;
  if (std::any_of(accesses.begin(), accesses.end(),
                  [&](const AccessAt& a) { return reads_changed(a); }))
    return false;
  const ByVariable& before = known_->reference->by_variable();
  auto it = before.begin() + std::ptrdiff_t(std::min(expected_, before.size()));
  if (it == before.end() || it->first != variable) it = before.find(variable);
  if (it == before.end()) return false;
  expected_ = std::size_t(it - before.begin()) + 1;
  if (it->second.size() != accesses.size()) return false;
  for (std::size_t i = 0; i < accesses.size(); ++i) {
    if (stayed_[std::size_t(accesses[i].insn)] == Stayed::Whole) continue;
    const Access &was = known_->reference->at(it->second[i]),
                 &is = next_->reference->at(accesses[i]);
    if (was_[std::size_t(accesses[i].insn)] != it->second[i].insn || was.write != is.write ||
        was.field != is.field || !equal(was.index, is.index))
      return false;
  }
  return true;
}

std::shared_ptr<const KeptOrder> known_order(const KeptOrder& next) {
  const auto& all = memo().kept;
  const auto at = [&](auto test) {
    const auto it = std::find_if(all.begin(), all.end(), test);
    return it == all.end() ? nullptr : *it;
  };
  auto found = at([&](const auto& k) { return k->reference == next.reference; });
  const std::string& name = next.present->kernel().name;
  return found ? found : at([&](const auto& k) { return k->present->kernel().name == name; });
}

void remember(KeptOrder proved) {
  constexpr std::size_t kMost = 4;
  auto& all = memo().kept;
  all.push_front(std::make_shared<const KeptOrder>(std::move(proved)));
  if (all.size() > kMost) all.pop_back();
}

}  // namespace moonloop
