#include <unordered_map>

#include "frontends/fortran/names.h"
#include "frontends/fortran/passes.h"
#include "frontends/fortran/set_before_use.h"
#include "frontends/fortran/uses.h"

// One scalar that several loops use, each for values of its own, becomes one for each of them:
// their iterations do not wait for each other then.
namespace moonloop::fortran {
namespace {

/// Which statements of each body mention a name, themselves or within.
class Places {
 public:
  explicit Places(Body& b) { add(b); }
  const std::vector<std::size_t>& of(const Body& b, const std::string& name) const {
    static const std::vector<std::size_t> none;
    const auto& here = by_body_.at(&b);
    const auto it = here.find(name);
    return it == here.end() ? none : it->second;
  }

 private:
  std::set<std::string> add(Body& b) {
    std::set<std::string> all;
    for (std::size_t i = 0; i < b.size(); ++i) {
      std::set<std::string> names;
      expressions(b[i], [&](const Expr& e) {
        if (e) collect_vars(e, names), collect_reads(e, names);
      });
      if (const auto* d = std::get_if<Do>(&b[i].what)) names.insert(d->variable);
      for (auto* inner : bodies(b[i])) names.merge(add(**inner));
      for (const std::string& n : names) by_body_[&b][n].push_back(i);
      all.merge(names);
    }
    by_body_[&b];
    return all;
  }

  std::unordered_map<const Body*, std::unordered_map<std::string, std::vector<std::size_t>>>
      by_body_;
};

class LocalScalar {
 public:
  LocalScalar(Routine& r, std::string name, const Places& places)
      : r_(r), name_(std::move(name)), places_(places) {}

  void split() {
    if (!find_homes(r_.body)) return;
    for (std::size_t i = 1; i < homes_.size(); ++i) {
      const std::string own = fresh_name(r_, name_);
      Variable v = r_.variables.at(name_);
      v.name = own;
      r_.variables.emplace(own, std::move(v));
      give(*homes_[i], own);
    }
  }

 private:
  bool in(const Expr& e) const {
    std::set<std::string> names;
    if (e) collect_vars(e, names);
    return names.count(name_) != 0;
  }
  /// It is read here, except as the target of a whole-array assignment.
  bool reads(Statement& s) const {
    if (const auto* a = std::get_if<Assignment>(&s.what))
      return in(a->value) || (!a->to.as<Var>() && in(a->to));
    bool found = false;
    expressions(s, [&](const Expr& e) { found |= in(e); });
    return found;
  }

  /// Finds the loops whose iterations write the scalar before they read it, the outermost ones but
  /// where several within one do; false where it is read elsewhere too.
  bool find_homes(Body& b) {
    for (const std::size_t i : places_.of(b, name_)) {
      Statement& s = b[i];
      auto* d = std::get_if<Do>(&s.what);
      if (d && !reads(s) && is_set_before_use(*d->body, name_)) {
        // Several loops in this one may each have their own.
        LocalScalar inside(r_, name_, places_);
        if (inside.find_homes(*d->body) && inside.homes_.size() > 1)
          homes_.insert(homes_.end(), inside.homes_.begin(), inside.homes_.end());
        else
          homes_.push_back(d->body.get());
        continue;
      }
      if (reads(s)) return false;
      for (auto* inner : bodies(s))
        if (!find_homes(**inner)) return false;
    }
    return true;
  }

  void give(Body& b, const std::string& own) const {
    for (Statement& s : b) {
      expressions(s, [&](Expr& e) {
        if (e && in(e)) e = rename(e, {{name_, own}});
      });
      for (auto* inner : bodies(s)) give(**inner, own);
    }
  }

  Routine& r_;
  std::string name_;
  const Places& places_;
  std::vector<Body*> homes_;
};

}  // namespace

void split_scalars(Routine& routine) {
  const Uses uses = uses_of(routine);
  std::vector<std::string> names;
  for (const auto& [name, v] : routine.variables)
    if (!v.dummy && !v.array && v.initial.empty() && uses.assigned.count(name) &&
        !uses.loops.count(name))
      names.push_back(name);
  const Places places(routine.body);  // each scalar's own, whatever others become
  for (const std::string& name : names) LocalScalar(routine, name, places).split();
}

}  // namespace moonloop::fortran
