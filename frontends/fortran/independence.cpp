#include <algorithm>

#include "core/expr/expr.h"
#include "frontends/fortran/passes.h"
#include "frontends/fortran/regions.h"
#include "frontends/fortran/set_before_use.h"
#include "frontends/fortran/uses.h"

namespace moonloop::fortran {
namespace {

bool comes_before(const Span& a, const Span& b) {
  return a.line < b.line || (a.line == b.line && a.col < b.col);
}

/// The first statement behind `place`, in the same file.
void find_next(Body& body, const Span& place, Statement*& found) {
  for (Statement& s : body) {
    const bool behind = s.at.source == place.source && comes_before(place, s.at);
    if (behind && (!found || comes_before(s.at, found->at))) found = &s;
    for (auto* inner : bodies(s)) find_next(**inner, place, found);
  }
}

/// What may be in a loop that runs in lanes: assignments, under conditions, of which none adds to
/// the same element in every iteration.
bool runs_in_lanes(const Do& loop) {
  if (loop.endless) return false;
  bool fine = true;
  each(*loop.body, [&](const Statement& s) {
    const auto* a = std::get_if<Assignment>(&s.what);
    if (!a && !std::holds_alternative<Choice>(s.what)) fine = false;
    if (a && !update_of(*a).empty() && !mentions(a->to, loop.variable)) fine = false;
  });
  return fine;
}

/// The subscripts that a loop writes and uses, by array.
struct Places {
  std::map<std::string, std::vector<Exprs>> written, used;

  explicit Places(const Do& loop) {
    each(*loop.body, [&](const Statement& s) {
      Statement own = s;
      expressions(own, [&](Expr& e) {
        if (!e) return;
        walk(e, [&](const Expr& x) {
          if (const auto* l = x.as<Load>()) used[l->array].push_back(l->index);
          return true;
        });
      });
      if (const auto* a = std::get_if<Assignment>(&s.what))
        if (const auto* l = a->to.as<Load>()) {
          written[l->array].push_back(l->index);
          used[l->array].push_back(l->index);
        }
    });
  }

  /// Whether `f` holds of what is written and what is used of the same array, for some pair.
  template <class F>
  bool any_pair(F f) const {
    for (const auto& [array, places] : written)
      for (const Exprs& to : places)
        for (const Exprs& from : used.at(array))
          if (to.size() == from.size() && f(to, from)) return true;
    return false;
  }
};

/// Whether something other than a number and the loop's variable `v` decides how far the two
/// elements are apart.
bool has_symbolic_distance(const Exprs& to, const Exprs& from, const std::string& v) {
  for (std::size_t i = 0; i < to.size(); ++i) {
    std::set<std::string> left;
    collect_vars(index_sub(to[i], from[i]), left);
    collect_reads(index_sub(to[i], from[i]), left);
    left.erase(v);
    if (!left.empty()) return true;
  }
  return false;
}

/// Whether two different iterations use the element, in each of them that has the other one.
bool has_constant_distance(const Exprs& to, const Exprs& from, const std::string& v) {
  const auto stride = [&](const Expr& e) {
    return as_int(index_sub(substitute(e, {{v, index_add({var(v), lit(1)})}}), e));
  };
  std::optional<std::int64_t> distance;  // nothing: any
  for (std::size_t i = 0; i < to.size(); ++i) {
    const auto apart = as_int(index_sub(to[i], from[i])), step = stride(from[i]);
    if (!apart || !step || stride(to[i]) != step) return false;
    if (*step == 0 ? *apart != 0 : *apart % *step != 0) return false;
    if (*step == 0) continue;
    if (distance && *distance != *apart / *step) return false;
    distance = *apart / *step;
  }
  return distance != 0;
}

class Settling {
 public:
  explicit Settling(Routine& r) : r_(r) {}

  void visit(Body& body, bool of_loop = false) {
    for (std::size_t at = 0; at < body.size(); ++at) {
      around_.push_back({&body, at, of_loop});
      auto* d = std::get_if<Do>(&body[at].what);
      if (d && d->directive && d->directive->claims) settle(*d);
      for (auto* inner : bodies(body[at])) {
        *inner = std::make_shared<Body>(**inner);  // other calls of the routine may have it too
        visit(**inner, d != nullptr);
      }
      around_.pop_back();
    }
  }

 private:
  void settle(Do& loop) {
    Directive own = *loop.directive;
    const bool promised = own.lanes > 0;  // OpenMP's: it has its own clauses
    if (!promised && (!runs_in_lanes(loop) || !share_scalars(loop, own))) {
      r_.without_effect.push_back({own.at, {}});
      loop.directive = nullptr;
      return;
    }
    const Places places(loop);
    const auto any = [&](const auto& has) {
      return places.any_pair(
          [&](const Exprs& a, const Exprs& b) { return has(a, b, loop.variable); });
    };
    own.symbolic = any(has_symbolic_distance) && !any(has_constant_distance);
    loop.directive = std::make_shared<const Directive>(std::move(own));
  }

  /// Scalars are each lane's own. Not where a lane needs what the one before left in it.
  bool share_scalars(const Do& loop, Directive& own) const {
    for (const std::string& name : changed_in(*loop.body)) {
      const auto v = r_.variables.find(name);
      if (v == r_.variables.end() || v->second.array) continue;
      if (!is_set_before_use(*loop.body, name)) return false;
      (is_used_behind(name, v->second) ? own.lastprivates : own.privates).push_back(name);
    }
    return true;
  }

  /// Whether what the current statement leaves in the variable may be read after it.
  bool is_used_behind(const std::string& name, const Variable& v) const {
    for (auto level = around_.rbegin(); level != around_.rend(); ++level) {
      const Body rest(level->body->begin() + static_cast<std::ptrdiff_t>(level->at) + 1,
                      level->body->end());
      const ScalarFlow flow = flow_of(rest, name, false);
      if (flow.used_unset) return true;
      if (flow.set) return false;
      if (level->of_loop && flow_of(*level->body, name, false).used_unset) return true;
    }
    return v.dummy || v.result || v.saved || v.host;
  }

  struct Level {
    const Body* body;
    std::size_t at;
    bool of_loop;
  };
  Routine& r_;
  std::vector<Level> around_;
};

}  // namespace

void attach_independence(Routine& routine) {
  for (const Span& at : routine.independent) {
    Statement* next = nullptr;
    find_next(routine.body, at, next);
    auto* loop = next ? std::get_if<Do>(&next->what) : nullptr;
    const bool free = loop && !loop->directive;
    if (free && runs_in_lanes(*loop)) {
      Directive d;
      d.at = at;
      d.tag = "simd";
      d.claims = true;
      loop->directive = std::make_shared<const Directive>(std::move(d));
    } else if (loop && loop->directive && loop->directive->tag == "simd") {
      Directive d = *loop->directive;
      d.claims = true;
      loop->directive = std::make_shared<const Directive>(std::move(d));
    } else {
      routine.without_effect.push_back({at, {}});
    }
  }
  routine.independent.clear();
}

void settle_independence(Routine& routine) { Settling(routine).visit(routine.body); }

}  // namespace moonloop::fortran
