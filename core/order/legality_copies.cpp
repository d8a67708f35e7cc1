#include <algorithm>

#include "core/model/mixed_radix.h"
#include "core/order/legality.h"

/// Temporaries of which each work-item or lane has its own: no value may pass from one to another.
/// The order of instances does not ensure that, because all of a team run one statement before any
/// runs the next.
namespace moonloop {

void Legality::check_copies() {
  const auto& tags = k_.iname_tags;
  if (std::none_of(tags.begin(), tags.end(), [](const auto& t) { return in_team(&t.second); }))
    return;
  if (!own_) own_.emplace(k_);
  for (const auto& [name, all] : ref_->by_variable()) {
    if (!k_.find_temporary(name) || carried_.all(name, all)) continue;
    check_copies(name, all, ref_->web(name));
  }
}

/// `all`: the accesses of the web. No read in one of the webs within it finds what another one
/// wrote.
void Legality::check_copies(const std::string& name, const std::vector<AccessAt>& all,
                            const Web& web) {
  std::set<std::string> used;
  for (const AccessAt& a : all)
    if (ref_->at(a).write)
      for (std::string& i : numbers(name, a.insn)) used.insert(std::move(i));
  if (used.empty() || stay_in_copies(name, all, web, used)) return;
  for (const Web& inner : web.inner) {
    std::vector<AccessAt> those;
    for (const AccessAt& a : all)
      if (std::binary_search(inner.statements.begin(), inner.statements.end(), a.insn))
        those.push_back(a);
    check_copies(name, those, inner);
  }
  if (!web.inner.empty()) return;
  for (const AccessAt& w : all)
    for (const AccessAt& r : all)
      if (ref_->at(w).write && !ref_->at(r).write) prove_copies(w, r, all);
}

/// The inames of a statement whose values number the copies of `name` that it accesses.
std::vector<std::string> Legality::numbers(const std::string& name, int reference) const {
  std::vector<std::string> out = present_->items(now(reference));
  std::erase_if(out,
                [&](const std::string& i) { return !own_->has(name, i) || present_->trusts(i); });
  return out;
}

/// The common case: each read finds what was written in the same iteration, which determines the
/// numbers.
bool Legality::stay_in_copies(const std::string& name, const std::vector<AccessAt>& all,
                              const Web& web, const std::set<std::string>& numbers) {
  std::set<std::string> told;
  for (const std::string& i : confined_to(name, web).inames)
    if (const auto found = plain_digits(present_->kernel(), origin(all[0].insn, i)))
      told.insert(found->begin(), found->end());
  return std::includes(told.begin(), told.end(), numbers.begin(), numbers.end());
}

/// { write -> later reads of the same element }; `within`: only those by the same copy.
ApproximateMap Legality::flow(const AccessAt& write, const AccessAt& read, bool within) const {
  const Access &x = ref_->at(write), &y = ref_->at(read);
  const Pair p{write.insn, read.insn, &x, &y, ref_->private_to(x.variable, write.insn, read.insn),
               false};
  ApproximateMap out = demanded(p);
  const auto &dx = present_->dims(now(write.insn)), &dy = present_->dims(now(read.insn));
  Map same = isl_map_universe(isl_map_get_space(out.all.get()));
  for (const std::string& i : numbers(x.variable, write.insn)) {
    const auto at_x = std::find(dx.begin(), dx.end(), i), at_y = std::find(dy.begin(), dy.end(), i);
    same = at_y == dy.end() ? Map(isl_map_empty(isl_map_get_space(out.all.get())))
                            : equate(std::move(same), std::size_t(at_x - dx.begin()),
                                     std::size_t(at_y - dy.begin()));
  }
  // From few constraints: isl subtracts them one by one.
  out.all = within ? isl_map_intersect(out.all.take(), same.take())
                   : isl_map_subtract(out.all.take(), same.take());
  return out;
}

void Legality::prove_copies(const AccessAt& write, const AccessAt& read,
                            const std::vector<AccessAt>& all) const {
  const int w = now(write.insn), r = now(read.insn);
  if (combines_items(present_->insn(w))) return;  // the team combines what each has
  // The part of a record that the read gets from the write.
  const std::string &written = ref_->at(write).field, &wanted = ref_->at(read).field;
  if (!covers_field(written, wanted) && !covers_field(wanted, written)) return;
  const std::string& part = written.size() > wanted.size() ? written : wanted;
  auto [crossing, exact] = flow(write, read, false);
  for (const AccessAt& other : all) {
    if (yes(isl_map_is_empty(crossing.get()))) return;
    if (!ref_->at(other).write || !covers_field(ref_->at(other).field, part)) continue;
    const ApproximateMap last = flow(other, read, true);
    const ApproximateMap before = demanded({write.insn, other.insn, nullptr, nullptr, {}, false});
    if (!last.exact || !before.exact) continue;
    crossing =
        isl_map_subtract(crossing.take(), isl_map_apply_range(before.all.copy(), last.all.copy()));
  }
  if (yes(isl_map_is_empty(crossing.get()))) return;

  const Access& x = ref_->at(write);
  const Witness found = witness(crossing, present_->dims(w), present_->dims(r));
  std::string number;
  const std::vector<std::string> all_numbers = numbers(x.variable, write.insn);
  for (const std::string& i : all_numbers)
    if (const auto at = found.b.find(i);
        number.empty() && (at == found.b.end() || at->second != found.a.at(i)))
      number = i;
  if (number.empty()) number = all_numbers.front();  // where nobody is told the instances
  refuse_copies(write, read, found, exact,
                fmt::format("each iteration of `{}`, tagged `{}`, has its own `{}`", number,
                            k_.tag(number)->text, x.variable),
                "a team shares temporaries whose address space is `local`");
}

/// Copies that the reference's teams had: where the present ones are fewer, a read could find what
/// was written for another. The order of instances does not exclude that.
void Legality::check_former_copies() {
  const Kernel& before = ref_->order.kernel();
  const auto& tags = before.iname_tags;
  if (std::none_of(tags.begin(), tags.end(), [](const auto& t) { return in_team(&t.second); }))
    return;
  for (const auto& [name, all] : ref_->by_variable()) {
    if (!ref_->variables.is_temporary(name) || carried_.all(name, all)) continue;
    for (const AccessAt& w : all)
      for (const AccessAt& r : all) {
        if (!ref_->at(w).write || ref_->at(r).write) continue;
        const Web& web = ref_->web(name).around(w.insn, r.insn);
        const std::vector<std::string>& kept = confined_to(name, web).inames;
        std::vector<std::string> lost, equal = kept;
        for (const std::string& i : web.own)
          if (std::find(kept.begin(), kept.end(), i) == kept.end())
            (in_team(before.tag(i)) && ref_->own().has(name, i) ? lost : equal).push_back(i);
        for (const std::string& i : lost) prove_apart(w, r, equal, i);
      }
  }
}

std::string Legality::way_out(const AccessAt& write, const AccessAt& read,
                              const std::string& lost) const {
  const Instruction &w = ref_->order.insn(write.insn), &r = ref_->order.insn(read.insn);
  if (r.role != ReductionRole::None || w.role != ReductionRole::None)
    return fmt::format("what is staged before `{}` is tagged has an axis for it", lost);
  return fmt::format("`privatize_temporaries_with_inames(\"{}\", \"{}\")` gives it an axis", lost,
                     ref_->at(write).variable);
}

/// No iteration of `lost`, each of which had its own copy in the reference, reads what another one
/// writes; `equal`: those that it still has to itself.
void Legality::prove_apart(const AccessAt& write, const AccessAt& read,
                           std::vector<std::string> equal, const std::string& lost) const {
  const Access &x = ref_->at(write), &y = ref_->at(read);
  if (!covers_field(x.field, y.field) && !covers_field(y.field, x.field)) return;
  Pair p{write.insn, read.insn, &x, &y, std::move(equal), false};
  const ApproximateMap all = demanded(p);
  p.equal.push_back(lost);
  const ApproximateMap own = demanded(p);
  const Map crossing = isl_map_subtract(all.all.copy(), own.all.copy());
  if (yes(isl_map_is_empty(crossing.get()))) return;
  const auto found =
      witness(crossing, present_->dims(now(write.insn)), present_->dims(now(read.insn)));
  refuse_copies(write, read, found, all.exact && own.exact,
                fmt::format("`{}` has one value for each iteration of `{}`, tagged `{}`",
                            x.variable, lost, ref_->order.kernel().tag(lost)->text),
                way_out(write, read, lost));
}

void Legality::refuse_copies(const AccessAt& write, const AccessAt& read, const Witness& found,
                             bool exact, const std::string& why, const std::string& hint) const {
  const int w = now(write.insn), r = now(read.insn);
  const Access& x = ref_->at(write);
  const std::string from = instance_text(present_->insn(w).id, present_->dims(w), found.a);
  const std::string to = instance_text(present_->insn(r).id, present_->dims(r), found.b);
  const std::string element = element_text(x, reference_point(write.insn, found.params, found.a));
  Diagnostic d;
  d.code = exact ? "own-copies" : "not-proved";
  d.text = fmt::format("{} {} {} from {}, but {}", to, exact ? "reads" : "may read", element, from,
                       why) +
           parameters_text(found.params);
  d.hint = hint;
  d.where = {ref_->at(read).at ? ref_->at(read).at : present_->insn(r).at, {}};
  if (x.at) d.notes.push_back({x.at, fmt::format("`{}` is here", present_->insn(w).id)});
  throw RefusedByCounterexample(
      d, {counterexample_instance(*present_, w, found.a, "writes " + element),
          counterexample_instance(*present_, r, found.b, "reads " + element), found.params,
          CounterexampleKind::Copies});
}

}  // namespace moonloop
