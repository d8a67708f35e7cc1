#include "core/order/distribution.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <unordered_map>

#include "core/base/graph.h"
#include "core/model/memo.h"
#include "core/order/legality.h"
#include "core/sets/budget.h"

namespace moonloop {
namespace {

/// Looks at the pairs of accesses of statements in the loop that run in different instructions,
/// with equal iterations of the loops around it.
class InLoop : public Legality {
 public:
  InLoop(const Kernel& k, const std::string& iname) : Legality(k), iname_(iname) {
    if (trivial_) place();
    trivial_ = false;
    owner_ = owners(k_, *present_);
  }

  /// Whether a statement is in the loop.
  bool has(int s) const {
    const std::vector<std::string>& loops = present_->loops(s);
    return std::find(loops.begin(), loops.end(), iname_) != loops.end();
  }
  const std::string& id(int s) const {
    return k_.instructions[std::size_t(owner_[std::size_t(s)])]->id;
  }

 protected:
  virtual void look(const Pair& p) = 0;
  void check_all_pairs() { check_all(ref_->by_variable()); }

  /// { instances of a -> those of b that have to run later }, the loops around being equal.
  ApproximateMap open_pairs(Pair p) const {
    ApproximateMap out = demanded(p);
    for (std::size_t i = 0; i < depth(now(p.a)); ++i) out.all = equate(std::move(out.all), i, i);
    if (!out.exact && p.a == p.b) out.all = with_known_scalars(p, std::move(out.all));
    return out;
  }

  /// How many loops are around the loop at statement `s`.
  std::size_t depth(int s) const {
    const std::vector<std::string>& loops = present_->loops(s);
    return std::size_t(std::find(loops.begin(), loops.end(), iname_) - loops.begin());
  }

 private:
  bool is_settled(const Pair&) override { return true; }

  void check_pair(const Pair& p) override {
    const int a = now(p.a), b = now(p.b);
    if (p.commutes || !has(a) || !has(b) || id(a) == id(b)) return;
    Pair open = p;
    if (p.x && ref_->variables.is_temporary(p.x->variable)) {
      // What each iteration of the loop has to itself it has to share with later loops.
      confine(open);
      const std::vector<std::string>& loops = present_->loops(a);
      const std::set<std::string> inside(loops.begin() + long(depth(a)), loops.end());
      std::erase_if(open.equal, [&](const std::string& i) {
        if (std::find(p.equal.begin(), p.equal.end(), i) != p.equal.end()) return false;
        std::set<std::string> parts;
        collect_vars(origin(p.a, i), parts);
        return std::any_of(parts.begin(), parts.end(),
                           [&](const std::string& part) { return inside.contains(part); });
      });
    }
    look(open);
    if (p.x != p.y) look(turned(open));
  }

  std::string iname_;
  std::vector<int> owner_;  // by present statement
};

/// Strongly connected components, by Tarjan's algorithm without recursion: their numbers by node.
std::vector<int> components(const Edges& after) {
  const std::size_t n = after.size();
  std::vector<int> out(n, -1), index(n, -1), low(n), stack;
  std::vector<std::pair<int, std::set<int>::const_iterator>> path;
  int next = 0, count = 0;
  const auto enter = [&](int v) {
    index[std::size_t(v)] = low[std::size_t(v)] = next++;
    stack.push_back(v);
    path.emplace_back(v, after[std::size_t(v)].begin());
  };
  for (int root = 0; root < int(n); ++root) {
    if (index[std::size_t(root)] >= 0) continue;
    enter(root);
    while (!path.empty()) {
      auto& [v, edge] = path.back();
      int& lowest = low[std::size_t(v)];
      if (edge != after[std::size_t(v)].end()) {
        const int w = *edge++;
        if (index[std::size_t(w)] < 0)
          enter(w);
        else if (out[std::size_t(w)] < 0)
          lowest = std::min(lowest, index[std::size_t(w)]);
        continue;
      }
      if (lowest == index[std::size_t(v)]) {
        int w;
        do {
          w = stack.back();
          stack.pop_back();
          out[std::size_t(w)] = count;
        } while (w != v);
        ++count;
      }
      const int done = v;
      path.pop_back();
      if (!path.empty()) {
        int& above = low[std::size_t(path.back().first)];
        above = std::min(above, low[std::size_t(done)]);
      }
    }
  }
  return out;
}

class FinestDistribution : public InLoop {
 public:
  using InLoop::InLoop;

  std::vector<std::vector<std::string>> find() {
    for (int s = 0; s < present_->size(); ++s)
      if (has(s)) member(s);
    after_.resize(ids_.size());
    for (int s = 0; s < present_->size(); ++s)
      if (has(s))
        for (const std::string& d : present_->insn(s).depends_on)
          if (const int t = present_->find(d); t >= 0 && has(t) && id(t) != id(s))
            after_[std::size_t(member(t))].insert(member(s));
    check_all_pairs();
    const std::vector<int> part = components(after_);
    const std::size_t n =
        part.empty() ? 0 : std::size_t(*std::max_element(part.begin(), part.end())) + 1;
    Edges order(n);
    std::vector<int> rank(n, int(part.size()));
    for (std::size_t v = 0; v < part.size(); ++v) {
      rank[std::size_t(part[v])] = std::min(rank[std::size_t(part[v])], int(v));
      for (const int w : after_[v])
        if (part[v] != part[std::size_t(w)])
          order[std::size_t(part[v])].insert(part[std::size_t(w)]);
    }
    std::vector<std::vector<std::string>> out;
    std::vector<std::size_t> place(n);
    for (const int c : sort_topologically(order, rank)) {
      place[std::size_t(c)] = out.size();
      out.emplace_back();
    }
    for (std::size_t v = 0; v < part.size(); ++v)
      out[place[std::size_t(part[v])]].push_back(ids_[v]);
    return out;
  }

 private:
  /// The number of the instruction of a statement, in the order of the list.
  int member(int s) {
    const auto [it, fresh] = number_.try_emplace(id(s), int(ids_.size()));
    if (fresh) ids_.push_back(id(s));
    return it->second;
  }

  void look(const Pair& p) override {
    const int a = now(p.a), b = now(p.b), from = member(a), to = member(b);
    if (after_[std::size_t(from)].contains(to)) return;
    if (in_one_iteration(p)) {
      if (present_->first(a, b)) after_[std::size_t(from)].insert(to);
      return;
    }
    const auto [it, fresh] = known_edges_.try_emplace(proof_key(p), true);
    if (fresh) it->second = is_open(p);
    if (it->second) after_[std::size_t(from)].insert(to);
  }

  /// Whether some instances have to keep their order, or that is not known.
  bool is_open(const Pair& p) {
    const std::optional<bool> none = plainly_none(p, depth(now(p.a)));
    if (none && !memo().compares) return !*none;
    bool open = true;
    budget_.ask([&] { open = !yes(isl_map_is_empty(open_pairs(p).all.get())); });
    ensure(!none || *none == !open, "what is seen of dependences without isl holds");
    return open;
  }

  std::map<std::string, int> number_;
  std::vector<std::string> ids_;
  Edges after_;
  QuestionBudget budget_{kQuestionOperations, kProofOperations};
  std::unordered_map<ProofKey, bool, KeyHash> known_edges_;
};

class DistributionCheck : public InLoop {
 public:
  DistributionCheck(const Kernel& k, const std::string& iname,
                    const std::map<std::string, int>& group)
      : InLoop(k, iname), iname_(iname), group_(group) {}
  void check() { check_all_pairs(); }

 private:
  void look(const Pair& p) override {
    const int a = now(p.a), b = now(p.b);
    if (group_.at(id(a)) <= group_.at(id(b))) return;
    if (!present_->first(a, b) && in_one_iteration(p)) return;
    const IslBudget budget(kQuestionOperations);
    const auto [pairs, exact] = open_pairs(p);
    if (!yes(isl_map_is_empty(pairs.get()))) refuse_backward(p, pairs, exact);
  }

  [[noreturn]] void refuse_backward(const Pair& p, const Map& pairs, bool exact) const {
    const RunOrder& is = *present_;
    const int a = now(p.a), b = now(p.b);
    const Witness w = witness(pairs, is.dims(a), is.dims(b));
    const std::string x = instance_text(is.insn(a).id, is.dims(a), w.a);
    const std::string y = instance_text(is.insn(b).id, is.dims(b), w.b);
    const auto does = [&](const Access& access, int reference, const auto& at) {
      return fmt::format("{}{} {}", exact ? "" : "may ",
                         std::string(access.write ? "write" : "read") + (exact ? "s" : ""),
                         element_text(access, reference_point(reference, w.params, at)));
    };
    const std::string x_does = p.x ? does(*p.x, p.a, w.a) : "";
    const std::string y_does = p.x ? does(*p.y, p.b, w.b) : "depends on " + x;
    Diagnostic d;
    d.code = exact ? "breaks-order" : "not-proved";
    d.text = fmt::format(
                 "with loops of their own in place of `{}`, {} would run before {}, but {} "
                 "{} and {} {}",
                 iname_, y, x, x, x_does, y, y_does) +
             parameters_text(w.params);
    if (!exact)
      d.hint =
          "where a subscript is read from an array, assume_injective or assume_disjoint says what "
          "cannot be seen here; the option unsafe=true takes it on trust";
    else if (p.x && k_.find_temporary(p.x->variable))
      d.hint = fmt::format("`privatize_temporaries_with_inames(\"{}\", \"{}\")` gives it an axis",
                           iname_, p.x->variable);
    d.where = {p.x && p.x->at ? p.x->at : is.insn(a).at, {}};
    if (p.y && p.y->at) d.notes.push_back({p.y->at, fmt::format("`{}` is here", is.insn(b).id)});
    throw RefusedByCounterexample(
        d, {counterexample_instance(is, a, w.a, x_does),
            counterexample_instance(is, b, w.b, y_does), w.params, CounterexampleKind::Order});
  }

  std::string iname_;
  const std::map<std::string, int>& group_;
};

}  // namespace

std::vector<std::vector<std::string>> finest_distribution(const Kernel& k,
                                                          const std::string& iname) {
  return FinestDistribution(k, iname).find();
}

void check_distribution(const Kernel& k, const std::string& iname,
                        const std::map<std::string, int>& group) {
  DistributionCheck(k, iname, group).check();
}

}  // namespace moonloop
