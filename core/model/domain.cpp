#include "core/model/domain.h"

#include <algorithm>
#include <unordered_map>

#include "core/base/diagnostic.h"
#include "core/model/memo.h"

namespace moonloop {

Set domain_of(const Kernel& k, const std::vector<std::string>& inames) {
  std::vector<const Domain*> needed;
  const auto need = [&](const Domain* d) {
    if (d && std::find(needed.begin(), needed.end(), d) == needed.end()) needed.push_back(d);
  };
  for (const std::string& i : inames) {
    const Domain* d = k.home_of(i);
    if (!d) throw InternalError("domain_of: no iname `" + i + "`");
    need(d);
  }
  for (std::size_t i = 0; i < needed.size(); ++i)  // grows: ancestors of ancestors
    for (const std::string& p : param_names(needed[i]->set)) need(k.home_of(p));
  std::string key = "domain ";
  if (k.assumptions) key += memo().name(k.assumptions);
  for (const Domain* d : needed) key += memo().name(d->set);
  for (const std::string& i : inames) key += " " + i;
  return memo().made(std::move(key), [&] {
    Set s = needed.empty() ? universe({}) : needed.front()->set;
    for (std::size_t i = 1; i < needed.size(); ++i) s = join_by_name(std::move(s), needed[i]->set);
    if (k.assumptions) s = isl_set_intersect_params(s.take(), k.assumptions.copy());
    return to_dims(std::move(s), inames);
  });
}

bool bounds_depend_on(const Kernel& k, const std::string& iname,
                      const std::vector<std::string>& names) {
  std::vector<const Domain*> above{k.home_of(iname)};
  for (std::size_t d = 0; d < above.size(); ++d)
    for (const std::string& p : above[d]->params()) {
      if (std::find(names.begin(), names.end(), p) != names.end()) return true;
      const Domain* parent = k.home_of(p);
      if (parent && std::find(above.begin(), above.end(), parent) == above.end())
        above.push_back(parent);
    }
  return false;
}

namespace {

class Forest {
 public:
  explicit Forest(const Kernel& k) : k_(k), parent_(k.domains.size(), kUnknown) {
    for (std::size_t d = 0; d < k.domains.size(); ++d)
      for (std::string& i : k.domains[d].inames()) home_.emplace(std::move(i), static_cast<int>(d));
  }

  std::vector<int> parents() {
    for (std::size_t d = 0; d < parent_.size(); ++d) parent(static_cast<int>(d));
    return parent_;
  }
  bool branches() {
    parents();
    return branches_;
  }

 private:
  static constexpr int kUnknown = -2, kInProgress = -3;

  const std::map<std::string, std::set<std::string>>& writer_inames() {
    if (!writers_) {
      writers_.emplace();
      for (const InsnPtr& i : k_.instructions)
        for (const std::string& w : writes(*i))
          (*writers_)[w].insert(i->inames.begin(), i->inames.end());
    }
    return *writers_;
  }

  /// Domains that introduce the bounds of this one.
  std::vector<int> needs(int d) {
    std::vector<int> out;
    const auto add = [&](int domain) {
      if (std::find(out.begin(), out.end(), domain) == out.end()) out.push_back(domain);
    };
    for (const std::string& p : k_.domains[static_cast<std::size_t>(d)].params()) {
      if (const auto it = home_.find(p); it != home_.end()) {
        add(it->second);
      } else if (k_.find_temporary(p)) {
        const auto w = writer_inames().find(p);
        if (w == writer_inames().end()) continue;
        for (const std::string& i : w->second)
          if (const auto h = home_.find(i); h != home_.end()) add(h->second);
      }
    }
    return out;
  }

  int depth(int d) {
    int n = 0;
    for (int p = parent(d); p >= 0; p = parent_[static_cast<std::size_t>(p)]) ++n;
    return n;
  }
  bool is_ancestor(int a, int d) {
    for (; d >= 0; d = parent_[static_cast<std::size_t>(d)])
      if (d == a) return true;
    return false;
  }

  std::string shown(int d) const {
    return "`" + str(k_.domains[static_cast<std::size_t>(d)].set) + "`";
  }

  int parent(int d) {
    int& slot = parent_[static_cast<std::size_t>(d)];
    const Span& at = k_.domains[static_cast<std::size_t>(d)].at;
    if (slot == kInProgress)
      fail("cyclic-domains", at, "the bounds of domain {} depend on its own inames", shown(d));
    if (slot != kUnknown) return slot;
    slot = kInProgress;
    const std::vector<int> all = needs(d);
    int innermost = -1, deepest = -1;
    for (const int n : all)
      if (const int here = depth(n); here > deepest) deepest = here, innermost = n;
    for (const int n : all) branches_ = branches_ || !is_ancestor(n, innermost);
    return slot = innermost;
  }

  const Kernel& k_;
  std::vector<int> parent_;
  bool branches_ = false;  // some domain is nested in two that are not nested in one another
  std::unordered_map<std::string, int> home_;
  std::optional<std::map<std::string, std::set<std::string>>> writers_;
};

}  // namespace

std::vector<int> domain_parents(const Kernel& k) { return Forest(k).parents(); }
bool domains_branch(const Kernel& k) { return Forest(k).branches(); }

Set context_of(const Kernel& k) {
  if (k.assumptions) return k.assumptions;
  return isl_set_universe(isl_space_params_alloc(isl(), 0));
}

}  // namespace moonloop
