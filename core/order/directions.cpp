#include "core/order/directions.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <unordered_map>

#include "core/order/legality.h"
#include "core/sets/budget.h"

namespace moonloop {
namespace {

/// What a pair of accesses says of one of the loops that both statements share: instances with
/// equal iterations outside of it, and different ones of it.
struct CarriedAt {
  std::size_t level = 0;
  std::vector<LoopDistance> distance;
  bool exact = true;
};

std::optional<std::int64_t> if_finite(const Val& v) {
  if (!yes(isl_val_is_int(v.get()))) return {};
  return to_int(v);
}

/// Along the first `shared` dimensions on both sides, which agree up to `level`.
std::vector<LoopDistance> distances_along(const Map& relation, std::size_t shared,
                                          std::size_t level) {
  Map m = relation;
  for (const isl_dim_type side : {isl_dim_in, isl_dim_out}) {
    const int all = count(isl_map_dim(m.get(), side));
    m = isl_map_project_out(m.take(), side, unsigned(shared), unsigned(all) - unsigned(shared));
    m = isl_map_reset_tuple_id(m.take(), side);
  }
  const int parameters = count(isl_map_dim(m.get(), isl_dim_param));
  m = isl_map_project_out(m.take(), isl_dim_param, 0, unsigned(parameters));
  const Set apart = isl_map_deltas(m.take());
  std::vector<LoopDistance> out(level, LoopDistance{0, 0});
  for (std::size_t d = level; d < shared; ++d)
    out.push_back({if_finite(isl_set_dim_min_val(apart.copy(), int(d))),
                   if_finite(isl_set_dim_max_val(apart.copy(), int(d)))});
  return out;
}

class DirectionFinder : public Legality {
 public:
  DirectionFinder(const Kernel& k, const std::string& within) : Legality(k), within_(within) {}

  Directions found() {
    if (trivial_) place();
    trivial_ = false;
    check_all(ref_->by_variable());
    return std::move(out_);
  }

 private:
  bool is_settled(const Pair&) override { return true; }  // check_pair asks on its own

  void check_pair(const Pair& p) override {
    look(p);
    if (p.x != p.y && !p.commutes) look(turned(p));
  }

  /// Whether it is known what iterations have to themselves, to which it is confined.
  bool is_confined(Pair& p) {
    try {
      confine(p);
      return true;
    } catch (const IslQuota&) { return false; }
  }

  std::size_t shared_loops_of(const Pair& p) const {
    return present_->common_loops(now(p.a), now(p.b));
  }
  std::string loop(const Pair& p, std::size_t level) const {
    return present_->loops(now(p.a))[level];
  }

  /// The first of the shared loops that is looked at; their number where none is.
  std::size_t first_of(const Pair& p) const {
    if (within_.empty()) return 0;
    const std::vector<std::string>& loops = present_->loops(now(p.a));
    const auto end = loops.begin() + long(shared_loops_of(p));
    return std::size_t(std::find(loops.begin(), end, within_) - loops.begin());
  }

  void look(const Pair& p) {
    if (first_of(p) == shared_loops_of(p)) return;
    Pair own = p;
    const bool temporary = p.x && ref_->variables.is_temporary(p.x->variable);
    // Where that takes too long, all instances are compared, as if nothing were an iteration's own.
    const bool confined = temporary && is_confined(own);
    if (!confined) own = p;
    if (!in_one_iteration(own))
      for (const CarriedAt& c : carried(own)) {
        add(own, c);
        if (!p.commutes) fix(own, c);
      }
    // Where loops of a band are on both sides of the boundary of what iterations have to
    // themselves, the band would interleave these iterations.
    const std::size_t boundary = confined ? confined_to(p).loops : 0;
    if (boundary == 0 || boundary >= shared_loops_of(p) || p.commutes || in_one_iteration(p))
      return;
    for (const CarriedAt& c : carried(p)) fix_across(p, c, boundary);
  }

  const std::vector<CarriedAt>& carried(const Pair& p) {
    const auto [it, fresh] = known_relations_.try_emplace(proof_key(p));
    if (!fresh) return it->second;
    std::vector<CarriedAt> found;
    if (budget_.ask([&] { found = find_carried(p); })) return it->second = std::move(found);
    found.clear();
    for (std::size_t i = first_of(p); i < shared_loops_of(p); ++i) {  // all that the order allows
      found.push_back({i, std::vector<LoopDistance>(shared_loops_of(p)), false});
      for (std::size_t d = 0; d < i; ++d) found.back().distance[d] = {0, 0};
      found.back().distance[i].least = 1;
    }
    return it->second = std::move(found);
  }

  std::vector<CarriedAt> find_carried(const Pair& p) const {
    std::vector<CarriedAt> out;
    const ApproximateMap all = demanded(p);
    Map open = all.all;  // those that no loop has carried yet
    const std::size_t first = first_of(p);
    for (std::size_t i = 0; i < first; ++i) open = equate(std::move(open), i, i);
    for (std::size_t i = first; i < shared_loops_of(p) && !yes(isl_map_is_empty(open.get())); ++i) {
      Map here = order_lt(open, i, i);
      if (!all.exact && p.a == p.b && !yes(isl_map_is_empty(here.get())))
        here = with_known_scalars(p, std::move(here));
      if (!yes(isl_map_is_empty(here.get())))
        out.push_back({i, distances_along(here, shared_loops_of(p), i), all.exact});
      open = equate(std::move(open), i, i);
    }
    return out;
  }

  void add(const Pair& p, const CarriedAt& c) {
    const int a = now(p.a), b = now(p.b);
    if (p.commutes) {
      const Instruction& update = present_->insn(a);
      std::vector<LoopReduction>& all = out_.reductions[loop(p, c.level)];
      const auto is_it = [&](const LoopReduction& r) { return r.statement == update.id; };
      if (std::none_of(all.begin(), all.end(), is_it))
        all.push_back({update.id, to_string(update.reduce_op), {}});
      return;
    }
    CarriedDependence d;
    if (p.x) d.kind = !p.x->write ? DepKind::Anti : p.y->write ? DepKind::Output : DepKind::Flow;
    if (p.x) d.variable = p.x->variable;
    d.from = present_->insn(a).id;
    d.to = present_->insn(b).id;
    const std::vector<std::string>& loops = present_->loops(a);
    d.loops.assign(loops.begin(), loops.begin() + long(shared_loops_of(p)));
    d.distance = c.distance;
    d.level = c.level;
    d.exact = c.exact;
    const bool fresh =
        seen_.emplace(a, b, d.kind ? int(*d.kind) : -1, d.variable, c.level, d.vector(), c.exact)
            .second;
    if (fresh) out_.dependences.push_back(std::move(d));
  }

  /// Bands with a loop along which the dependence may be negative begin inside of the loop that
  /// carries it.
  void fix(const Pair& p, const CarriedAt& c) {
    for (std::size_t d = c.level + 1; d < c.distance.size(); ++d)
      if (is_negative(c.distance[d])) fix(loop(p, d), c.level + 1);
  }
  void fix_across(const Pair& p, const CarriedAt& c, std::size_t boundary) {
    for (std::size_t d = c.level + 1; d < c.distance.size(); ++d)
      if (is_negative(c.distance[d]))
        fix(loop(p, std::max(d, boundary)), std::min(c.level + 1, boundary));
  }
  void fix(const std::string& iname, std::size_t outside) {
    std::size_t& all = out_.fixed[iname];
    all = std::max(all, outside);
  }
  static bool is_negative(const LoopDistance& d) { return !d.least || *d.least < 0; }

  const std::string& within_;
  Directions out_;
  QuestionBudget budget_{kQuestionOperations, kProofOperations};
  std::unordered_map<ProofKey, std::vector<CarriedAt>, KeyHash> known_relations_;
  std::set<std::tuple<int, int, int, std::string, std::size_t, std::string, bool>> seen_;
};

}  // namespace

Directions directions(const Kernel& k, const std::string& within) {
  return DirectionFinder(k, within).found();
}

}  // namespace moonloop
