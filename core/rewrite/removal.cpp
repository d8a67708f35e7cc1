#include "core/rewrite/removal.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "core/order/order_reference.h"

namespace moonloop {

Kernel without_instructions(const Kernel& k, const std::set<std::string>& ids) {
  std::map<std::string, const Instruction*> removed;
  for (const InsnPtr& i : k.instructions)
    if (ids.contains(i->id)) removed.emplace(i->id, i.get());
  // The remaining dependencies of a removed instruction; an entry before its walk ends cycles.
  std::map<std::string, std::vector<std::string>> kept;
  const std::function<const std::vector<std::string>&(const std::string&)> kept_of =
      [&](const std::string& id) -> const std::vector<std::string>& {
    const auto [it, fresh] = kept.try_emplace(id);
    if (!fresh) return it->second;
    std::vector<std::string> out;
    for (const std::string& d : removed.at(id)->depends_on) {
      if (!removed.contains(d)) {
        out.push_back(d);
      } else {
        const std::vector<std::string>& further = kept_of(d);
        out.insert(out.end(), further.begin(), further.end());
      }
    }
    std::set<std::string> seen;
    std::erase_if(out, [&](const std::string& d) { return !seen.insert(d).second; });
    return kept[id] = std::move(out);
  };

  Kernel out = k;
  std::erase_if(out.instructions, [&](const InsnPtr& i) { return removed.contains(i->id); });
  for (InsnPtr& insn : out.instructions) {
    if (std::none_of(insn->depends_on.begin(), insn->depends_on.end(),
                     [&](const std::string& d) { return removed.contains(d); }))
      continue;
    std::vector<std::string> deps;
    std::set<std::string> seen{insn->id};
    const auto add = [&](const std::string& d) {
      if (seen.insert(d).second) deps.push_back(d);
    };
    for (const std::string& d : insn->depends_on) {
      if (!removed.contains(d)) {
        add(d);
      } else {
        for (const std::string& further : kept_of(d)) add(further);
      }
    }
    insn = edit(insn, [&](Instruction& i) { i.depends_on = std::move(deps); });
  }
  return out;
}

namespace {

/// Whether a statement is the last part of an instruction, which has the instruction's id.
/// `owner`: the instruction of each statement.
std::vector<bool> ends_instruction(const std::vector<int>& owner) {
  std::vector<bool> out(owner.size());
  for (std::size_t s = 0; s < owner.size(); ++s)
    out[s] = s + 1 == owner.size() || owner[s + 1] != owner[s];
  return out;
}

/// Where each of `instructions` is in `order`, a list of the same ones that gives the order of
/// their parts again.
std::vector<int> places_in(const std::vector<InsnPtr>& order,
                           const std::vector<InsnPtr>& instructions) {
  std::vector<int> out(instructions.size());
  std::iota(out.begin(), out.end(), 0);
  if (order == instructions) return out;
  std::unordered_map<const Instruction*, int> place;
  for (std::size_t i = 0; i < order.size(); ++i) place.emplace(order[i].get(), static_cast<int>(i));
  std::transform(instructions.begin(), instructions.end(), out.begin(),
                 [&](const InsnPtr& i) { return place.at(i.get()); });
  return out;
}

/// Finds statements of an order by their ids, most of them in the order of its list.
class InList {
 public:
  explicit InList(const RunOrder& order) : order_(order) {}
  int find(const std::string& id) {
    constexpr int kNear = 3;
    for (int s = last_ + 1; s < std::min(order_.size(), last_ + 1 + kNear); ++s)
      if (order_.insn(s).id == id) return last_ = s;
    const int s = order_.find(id);
    if (s >= 0) last_ = s;
    return s;
  }

 private:
  const RunOrder& order_;
  int last_ = -1;
};

}  // namespace

Kernel in_order_of(const Kernel& before, Kernel after) {
  const std::shared_ptr<const Reference> before_order = ordered(before);
  const RunOrder& was = before_order->order;
  const std::vector<int> owner_before = owners(before, was);
  const std::vector<bool> whole_before = ends_instruction(owner_before);
  std::vector<bool> stays(whole_before.size());  // by statement before: its instruction is in both
  const std::vector<int> places = places_in(linearized(before, was), before.instructions);
  std::vector<std::pair<int, InsnPtr>> placed;  // where each was, or -1
  placed.reserve(after.instructions.size());
  InList statements(was);
  for (InsnPtr& i : after.instructions) {
    const int s = statements.find(i->id);
    const bool has_place = s >= 0 && whole_before[std::size_t(s)];
    if (has_place) stays[std::size_t(s)] = true;
    placed.emplace_back(has_place ? places[std::size_t(owner_before[std::size_t(s)])] : -1,
                        std::move(i));
  }
  bool sorted = true;
  int last = -1;
  for (const auto& [position, insn] : placed)
    if (position >= 0) sorted = sorted && position > std::exchange(last, position);
  if (!sorted)
    std::stable_sort(placed.begin(), placed.end(), [](const auto& a, const auto& b) {
      return a.first >= 0 && b.first >= 0 && a.first < b.first;
    });
  std::transform(placed.begin(), placed.end(), after.instructions.begin(),
                 [](auto& p) { return std::move(p.second); });
  const Kernel out = proved(rebase(std::move(after)));
  const std::shared_ptr<const Reference> after_order = ordered(out);
  const RunOrder& is = after_order->order;
  const std::vector<int> owner_after = owners(out, is);
  if (parts_stand_apart(was, owner_before) || parts_stand_apart(is, owner_after))
    check_kept_order(before, out);
  // The statements that end instructions which both have, in both orders. Most are the same
  // objects. Other parts of reductions may be gone, or new.
  const std::vector<bool> whole_after = ends_instruction(owner_after);
  const auto stayed = [&](int s) {
    const int earlier = whole_after[std::size_t(s)] ? statements.find(is.insn(s).id) : -1;
    return earlier >= 0 && stays[std::size_t(earlier)];
  };
  std::vector<int> a, b;
  auto x = was.by_position().begin(), y = is.by_position().begin();
  const auto x_end = was.by_position().end(), y_end = is.by_position().end();
  while (x != x_end || y != y_end) {
    if (x != x_end && y != y_end && &was.insn(*x) == &is.insn(*y)) {
      a.push_back(*x++), b.push_back(*y++);
      continue;
    }
    if (x != x_end && !stays[std::size_t(*x)]) {
      ++x;
    } else if (y != y_end && !stayed(*y)) {
      ++y;
    } else {
      if (x != x_end) a.push_back(*x++);
      if (y != y_end) b.push_back(*y++);
    }
  }
  ensure(a.size() == b.size(), "both orders hold the same instructions");
  const std::vector<std::string>*same_was = nullptr, *same_is = nullptr;  // equal lists of loops
  for (std::size_t n = 0; n < a.size(); ++n) {
    const Instruction &x = was.insn(a[n]), &y = is.insn(b[n]);
    if (x.id != y.id)
      refuse("changes-order", x.at, "`{}` would run before `{}`; it runs after it now", y.id, x.id);
    if (&was.loops(a[n]) == same_was && &is.loops(b[n]) == same_is) continue;
    if (was.loops(a[n]) != is.loops(b[n]))
      refuse("changes-order", x.at, "the loops {} around `{}` would become {}",
             quoted_list(was.loops(a[n])), x.id, quoted_list(is.loops(b[n])));
    same_was = &was.loops(a[n]), same_is = &is.loops(b[n]);
  }
  return out;
}

Kernel without_idle_domains(Kernel k, const std::set<std::string>& replaced) {
  std::set<std::string> used;
  for (const InsnPtr& i : k.instructions) used.merge(all_inames(k, *i));
  for (const Rule& r : k.rules) {
    collect_vars(r.body, used);
    used.merge(reduction_inames(k, r.body));
  }
  for (const Domain& d : k.domains)
    for (const std::string& p : d.params()) used.insert(p);
  std::set<std::string> gone;
  std::erase_if(k.domains, [&](const Domain& d) {
    const std::vector<std::string> own = d.inames();
    const bool idle = std::all_of(own.begin(), own.end(), [&](const std::string& i) {
      return replaced.count(i) && !used.count(i);
    });
    if (idle) gone.insert(own.begin(), own.end());
    return idle;
  });
  const auto lost = [&](const std::string& i) { return gone.count(i) > 0; };
  erase_if(k.loop_order, lost);
  for (std::vector<std::string>& chain : k.priorities) std::erase_if(chain, lost);
  for (const std::string& i : gone) {
    k.iname_tags.erase(i);
    k.slabs.erase(i);
  }
  return k;
}

}  // namespace moonloop
