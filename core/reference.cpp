#include "core/reference.h"

#include <algorithm>

#include "core/address_spaces.h"
#include "core/external.h"
#include "core/memo.h"
#include "core/order_reference.h"

namespace moonloop {

Kernel keep_reference(const Kernel& before, Kernel after) {
  after.reference = reference_of(before);
  return after;
}

Kernel rebase(Kernel k) {
  k.reference = nullptr;
  for (InsnPtr& insn : k.instructions)
    if (!insn->origin.empty() || !insn->origin_id.empty())
      insn = edit(insn, [](Instruction& i) {
        i.origin.clear();
        i.origin_id.clear();
      });
  return k;
}

void compose_origin(Instruction& insn, const std::map<std::string, Expr>& old_in_new,
                    const std::set<std::string>& used) {
  for (auto& [name, e] : insn.origin) e = substitute(e, old_in_new);
  for (const std::string& name : used)
    if (const auto it = old_in_new.find(name); it != old_in_new.end())
      insn.origin.emplace(name, it->second);  // keeps an entry: then `name` is not the reference's
}

Expr origin_of(const Instruction& insn, const std::string& name) {
  const auto it = insn.origin.find(name);
  return it == insn.origin.end() ? var(name) : it->second;
}

// ---- The reference ------------------------------------------------------------------------------

Reference::Reference(Nested nested) : order(std::move(nested)), variables(order.kernel()) {
  const std::size_t n = std::size_t(order.size());
  accesses.resize(n);
  depends_on.resize(n);
  for (std::size_t s = 0; s < n; ++s) {
    accesses[s] = statement_accesses(order.insn(int(s)), variables);
    for (const std::string& d : order.insn(int(s)).depends_on)
      if (const int i = order.find(d); i >= 0) depends_on[s].push_back(i);
  }
  for (const int s : order.by_position())
    for (std::size_t a = 0; a < accesses[std::size_t(s)].size(); ++a)
      by_variable[accesses[std::size_t(s)][a].variable].push_back({s, int(a)});
}

std::shared_ptr<const Reference> reference_of(const Kernel& k) {
  return k.reference ? k.reference : std::make_shared<const Reference>(nest_in_sequence(k));
}

namespace {

/// Finds the iterations that keep a temporary to themselves.
class Privacy {
 public:
  Privacy(const Reference& r, const std::vector<AccessAt>& all) : r_(r), all_(all) {
    const std::string& name = r.at(all[0]).variable;
    const Temporary& t = *r.order.kernel().find_temporary(name);
    loops_ = r.order.loops(all[0].insn);
    items_ = r.order.items(all[0].insn);
    std::erase_if(items_, [&](const std::string& i) { return !r.own().has(name, i); });
    for (const AccessAt& a : all) {
      loops_.resize(std::min(loops_.size(), r.order.common_loops(all[0].insn, a.insn)));
      std::erase_if(items_, [&](const std::string& i) {
        const auto& has = r.order.items(a.insn);
        return !std::binary_search(has.begin(), has.end(), i);
      });
    }
    if (t.space == AddressSpace::Global || t.initializer) loops_.clear();
    if (t.initializer) items_.clear();
    const auto elsewhere = [&](const AccessAt& a) {
      return stands_for_elsewhere(r.order.kernel(), r.order.insn(a.insn), name);
    };
    if (!r.order.kernel().externals.empty() && std::any_of(all.begin(), all.end(), elsewhere))
      loops_.clear(), items_.clear();  // there is one of it
  }

  std::vector<std::string> find() {
    if (loops_.empty() && items_.empty()) return {};
    if (begins_with_write()) return both();
    for (;; loops_.pop_back()) {
      if (covered()) return both();
      if (loops_.empty()) return {};
    }
  }

 private:
  std::vector<std::string> both() const {
    std::vector<std::string> out = loops_;
    out.insert(out.end(), items_.begin(), items_.end());
    return out;
  }

  /// The first access writes the scalar in each of these iterations in which anything else happens.
  bool begins_with_write() const {
    const int first = all_[0].insn;
    const AccessAt* write = nullptr;
    for (const AccessAt& a : all_) {
      if (a.insn != first) break;
      if (!r_.at(a).write) return false;
      write = &a;
    }
    if (!write || !r_.at(*write).index.empty()) return false;
    const Temporary& t = *r_.order.kernel().find_temporary(r_.at(*write).variable);
    if (t.shape && !t.shape->empty()) return false;
    return r_.order.loops(first).size() == loops_.size() && r_.order.items(first) == items_ &&
           same_predicates(first);
  }

  /// All accesses stand under the predicates of `writer`, and nothing changes those in between.
  bool same_predicates(int writer) const {
    const Exprs& wanted = r_.order.insn(writer).predicates;
    if (wanted.empty()) return true;
    std::set<std::string> needed;
    for (const Expr& p : wanted) collect_reads(p, needed);
    int last = r_.order.position(writer);
    for (const AccessAt& a : all_) {
      const Exprs& has = r_.order.insn(a.insn).predicates;
      for (const Expr& p : wanted)
        if (std::none_of(has.begin(), has.end(), [&](const Expr& q) { return equal(p, q); }))
          return false;
      last = std::max(last, r_.order.position(a.insn));
    }
    for (int p = r_.order.position(writer); p <= last; ++p)
      for (const std::string& w : writes(r_.order.insn(r_.order.by_position()[std::size_t(p)])))
        if (needed.count(w)) return false;
    return true;
  }

  bool covered() const {
    for (const AccessAt& read : all_)
      if (!r_.at(read).write) {
        const std::string key = cover_key(read);
        const auto known = memo().covered.find(key);
        const bool covered = known != memo().covered.end() ? known->second : is_covered(read);
        memo().covered.emplace(key, covered);
        if (!covered) return false;
      }
    return true;
  }

  /// All that is_covered() depends on.
  std::string cover_key(const AccessAt& read) const {
    const RunOrder& o = r_.order;
    std::string key = fmt::format("{}|{}", fmt::join(loops_, ","), fmt::join(items_, ","));
    const auto add = [&](const AccessAt& a) {
      bool exact = true;
      std::set<std::string> names;
      for (const Expr& e : r_.at(a).index) collect_reads(e, names);
      key += fmt::format("|{} {} {}", memo().name(o.domain(a.insn, exact)), exact,
                         to_string(r_.at(a).index));
      for (const std::string& n : names)
        if (r_.variables.has(n)) key += " " + n;
      key += fmt::format(" {} {} {}", to_string(o.insn(a.insn).predicates),
                         o.common_loops(a.insn, read.insn), o.first(a.insn, read.insn));
    };
    add(read);
    for (const AccessAt& a : all_)
      if (r_.at(a).write) add(a);
    return key;
  }

  bool is_covered(const AccessAt& read) const {
    const RunOrder& o = r_.order;
    bool ignored = true;
    Set left = o.domain(read.insn, ignored);
    for (const AccessAt& w : all_) {
      if (!r_.at(w).write) continue;
      bool certain = true;
      Set from = o.domain(w.insn, certain);
      Map m = conflict_map(o.kernel(), r_.variables, r_.at(w), o.dims(w.insn), r_.at(read),
                           o.dims(read.insn), certain);
      if (!certain) continue;
      m = isl_map_intersect(m.take(), o.before(w.insn, read.insn, is_never_parallel).take());
      for (std::size_t i = 0; i < loops_.size(); ++i) m = equate(std::move(m), i, i);
      for (const std::string& i : items_) {
        const auto at = [&](int s) {
          const auto& d = o.dims(s);
          return std::size_t(std::find(d.begin(), d.end(), i) - d.begin());
        };
        m = equate(std::move(m), at(w.insn), at(read.insn));
      }
      m = isl_map_intersect_domain(m.take(), from.take());
      left = isl_set_subtract(left.take(), isl_map_range(m.take()));
      if (yes(isl_set_is_empty(left.get()))) return true;
    }
    return yes(isl_set_is_empty(left.get()));
  }

  const Reference& r_;
  const std::vector<AccessAt>& all_;
  std::vector<std::string> loops_, items_;
};

}  // namespace

const OwnCopies& Reference::own() const {
  if (!own_) own_.emplace(order.kernel());
  return *own_;
}

const std::vector<std::string>& Reference::private_to(const std::string& name) const {
  const auto known = private_.find(name);
  if (known != private_.end()) return known->second;
  const auto it = by_variable.find(name);
  std::vector<std::string> found;
  if (it != by_variable.end() && variables.is_temporary(name))
    found = Privacy(*this, it->second).find();
  return private_.emplace(name, std::move(found)).first->second;
}

}  // namespace moonloop
