#include "core/rewrite/webs.h"

#include <algorithm>

#include "core/order/address_spaces.h"
#include "core/order/order_reference.h"
#include "core/sets/budget.h"

namespace moonloop {
namespace {

/// For one query that has a cautious answer.
constexpr unsigned long kWebOperations = 500'000;
/// For whether a read finds what was written before, where code cannot do without the answer.
constexpr unsigned long kDemandedOperations = 2'000'000;

class Separation {
 public:
  explicit Separation(const Nested& nested) : k_(nested.kernel), reference_(nested) {}

  void separate(const std::string& name, bool optional) {
    if (bounds_loop(name)) return;  // all its uses are in one nest
    if (!is_written_in_parallel(name)) return;
    if (!optional)
      separate(name, reference_.web(name, kDemandedOperations));
    else
      try {
        const IslBudget budget(kWebOperations);
        separate(name, reference_.web(name));
      } catch (const IslQuota&) { return; }
    if (std::none_of(k_.instructions.begin(), k_.instructions.end(), [&](const InsnPtr& i) {
          return writes(*i).count(name) || reads(k_, *i).count(name);
        }))
      k_.temporaries.erase(name);
  }

  Kernel result() && { return std::move(k_); }

 private:
  static bool contains(const std::vector<std::string>& all, const std::string& one) {
    return std::find(all.begin(), all.end(), one) != all.end();
  }
  bool bounds_loop(const std::string& name) const {
    return std::any_of(k_.domains.begin(), k_.domains.end(),
                       [&](const Domain& d) { return contains(d.params(), name); });
  }
  /// Whether a parallel loop is around a write to it. Where none is, no iteration of one has a copy
  /// of its own: its reads there find what was written outside.
  bool is_written_in_parallel(const std::string& name) const {
    const std::vector<AccessAt>& all = reference_.by_variable().at(name);
    return std::any_of(all.begin(), all.end(), [&](const AccessAt& a) {
      const std::vector<std::string>& dims = reference_.order.dims(a.insn);
      return reference_.at(a).write &&
             std::any_of(dims.begin(), dims.end(),
                         [&](const std::string& i) { return is_parallel(k_.tag(i)); });
    });
  }
  /// `web` has the name `name`.
  void separate(const std::string& name, const Web& web) {
    for (const Web& w : web.inner) {
      const bool apart = std::any_of(w.own.begin(), w.own.end(), [&](const std::string& i) {
        return is_parallel(k_.tag(i)) && !contains(web.own, i);
      });
      separate(apart ? renamed(name, w) : name, w);
    }
  }

  /// The new name of the temporary for the web.
  std::string renamed(const std::string& name, const Web& web) {
    Temporary t = *k_.find_temporary(name);
    t.name = k_.fresh_name(name);
    const std::map<std::string, std::string> names{{name, t.name}};
    for (const int s : web.statements) {
      InsnPtr& insn = k_.instructions[std::size_t(s)];
      insn = edit(insn, [&](Instruction& i) {
        for (Expr& e : i.lhs) e = rename(e, names);
        for (Expr& e : i.predicates) e = rename(e, names);
        if (i.rhs) i.rhs = rename(i.rhs, names);
      });
    }
    for (Claim& c : k_.claims)
      if (contains(c.names, name)) c.names.push_back(t.name);
    const std::string out = t.name;
    k_.temporaries.emplace(out, std::move(t));
    return out;
  }

  Kernel k_;
  Reference reference_;
};

}  // namespace

TemporariesInParallel used_in_and_outside_parallel(const Kernel& k, bool threads) {
  std::set<std::string> parallel;
  for (const auto& [iname, tag] : k.iname_tags)
    if (is_parallel(&tag)) parallel.insert(iname);
  if (parallel.empty()) return {};
  const OwnCopies own_copies(k);
  const auto shares = [&](const std::string& name, const std::string& iname) {
    const InameTag* tag = k.tag(iname);
    return (is_work_item(tag) || is_lane(tag)) && !own_copies.has(name, iname);
  };
  std::map<std::string, std::pair<std::set<std::string>, std::set<std::string>>>
      inames;  // parallel ones that have copies, of some uses and of all
  std::map<std::string, std::set<std::string>> around_uses;
  const Variables variables(k);
  for (const InsnPtr& i : k.instructions) {
    std::set<std::string> around;
    for (const std::string& n : i->inames)
      if (parallel.count(n)) around.insert(n);
    for (const Access& a : statement_accesses(*i, variables)) {
      const Temporary* t = k.find_temporary(a.variable);
      const bool own = t && (t->space == AddressSpace::Auto || t->space == AddressSpace::Private ||
                             (threads && t->space == AddressSpace::Local));
      if (!own || t->initializer) continue;
      around_uses[a.variable].insert(around.begin(), around.end());
      std::set<std::string> mine = around;
      std::erase_if(mine, [&](const std::string& n) { return shares(a.variable, n); });
      const auto [it, fresh] = inames.try_emplace(a.variable, mine, mine);
      if (fresh) continue;
      auto& [some, all] = it->second;
      some.insert(mine.begin(), mine.end());
      std::erase_if(all, [&](const std::string& n) { return !mine.count(n); });
    }
  }
  TemporariesInParallel out;
  for (const auto& [name, of] : inames) {
    if (of.first == of.second) continue;
    for (const std::string& n : around_uses[name]) out[name].insert(run_of(k.tag(n)->kind));
  }
  return out;
}

Nested separate_webs(Nested nested, const std::set<std::string>& names,
                     const std::set<std::string>& optional) {
  if (names.empty()) return nested;
  Separation separation(nested);
  for (const std::string& name : names) separation.separate(name, optional.contains(name));
  nested.kernel = std::move(separation).result();
  return nested;
}

}  // namespace moonloop
