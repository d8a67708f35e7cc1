#include "frontends/fortran/sizes.h"

#include <algorithm>

#include "frontends/fortran/names.h"
#include "frontends/fortran/output.h"
#include "frontends/fortran/program.h"
#include "frontends/fortran/regions.h"
#include "frontends/fortran/sections.h"
#include "frontends/fortran/uses.h"

// The bounds that `allocate` gives are those of that time, where a kernel has the values at entry.
namespace moonloop::fortran {
namespace {

/// The variable that a statement gives memory; empty for others.
std::string gets_memory(const Statement& s) {
  if (const auto* p = std::get_if<PointerAssignment>(&s.what)) {
    const auto* to = p->target ? p->target.as<Var>() : nullptr;
    return to && to->name == p->pointer ? p->pointer : "";
  }
  const auto* a = std::get_if<Assignment>(&s.what);
  const auto* flag = a ? a->to.as<Var>() : nullptr;
  const auto* given = a && a->value ? a->value.as<BoolLit>() : nullptr;
  return flag && given && given->value && flag->name.starts_with(kAllocated)
             ? flag->name.substr(std::string_view(kAllocated).size())
             : "";
}

/// Whether a statement itself, or one within it, calls something.
bool calls(const Statement& s) {
  bool out = !calls_of(Body{s}).empty();
  each(Body{s}, [&](const Statement& inner) {
    if (const auto* c = std::get_if<SubroutineCall>(&inner.what))
      out = out || !c->output || c->output->calls;
  });
  return out;
}

/// The scalars whose values are in a bound. Those of other arrays stay.
void scalars_in(const Expr& e, std::set<std::string>& out) {
  if (!e || !called(e, kBound).empty()) return;
  if (const auto* v = e.as<Var>()) out.insert(v->name);
  for_each_child(e, [&](const Expr& c) { scalars_in(c, out); });
}

/// An integer expression without its conversions; null where it has more than sums, products,
/// quotients and the like of variables.
Expr plain(const Expr& e) {
  const Expr x = without_casts(e);
  if (x.as<IntLit>() || x.as<Var>() || !called(x, kBound).empty()) return x;
  const auto* c = x.as<Call>();
  const auto* n = x.as<Nary>();
  const bool known = c && (c->name == "max" || c->name == "min" || c->name == "truncdiv");
  if (!known && !(n && (n->op == NaryOp::Add || n->op == NaryOp::Mul))) return Expr();
  Exprs parts;
  for (const Expr& part : known ? c->args : n->terms) {
    parts.push_back(plain(part));
    if (!parts.back()) return Expr();
  }
  return known ? call(c->name, std::move(parts), x.at())
               : Expr(Nary{n->op, std::move(parts)}, x.at());
}

class Sizes {
 public:
  Sizes(Routine& r, const std::function<bool(const std::string&)>& calls_change)
      : r_(r), calls_change_(calls_change), all_(changed_in(r.body)) {
    each(r.body, [&](const Statement& s) {
      jumps_ = jumps_ || std::holds_alternative<Jump>(s.what);
      called_anywhere_ = called_anywhere_ || calls(s);
    });
  }

  std::set<std::string> run() {
    if (jumps_) changed_ = all_, called_ = called_anywhere_;
    for (place_ = 0; place_ < r_.body.size(); ++place_) statement(r_.body[place_]);
    return std::move(later_);
  }

 private:
  void body(const Body& b) {
    for (const Statement& s : b) statement(s);
  }
  void statement(const Statement& s) {
    if (const std::string name = gets_memory(s); !name.empty()) check(name);
    if (const auto* d = std::get_if<Do>(&s.what)) {
      changed_.insert(d->variable);
      changed_.merge(changed_in(*d->body));
      called_ = called_ || calls(s);
    }
    for (const auto* inner : bodies(s)) body(**inner);
    changed_.merge(changed_in(Body{s}));
    called_ = called_ || calls(s);
  }

  void check(const std::string& name) {
    const auto it = r_.variables.find(name);
    if (it == r_.variables.end() || it->second.dummy) return;
    std::map<std::string, Expr> values;
    for (Bounds& b : it->second.bounds)
      for (Expr* e : {&b.lower, &b.upper}) {
        std::set<std::string> names;
        scalars_in(*e, names);
        for (const std::string& n : names) {
          if (stays(n, changed_, called_)) continue;
          const Expr value = settled(n, 4);
          if (!value) return void(later_.insert(name));
          values.emplace(n, value);
        }
      }
    if (values.empty()) return;
    for (Bounds& b : it->second.bounds)
      for (Expr* e : {&b.lower, &b.upper})
        if (*e) *e = substitute(*e, values);
  }

  /// Whether a variable has its value at entry where these have been changed, and calls been made.
  bool stays(const std::string& name, const std::set<std::string>& changed,
             bool after_calls) const {
    const auto it = r_.variables.find(name);
    if (it == r_.variables.end())  // of a scope around
      return !changed.contains(name) && !(after_calls && calls_change_(name));
    const Variable& v = it->second;
    if (v.array) return true;
    if (!v.dummy) return v.constant && !v.saved && !all_.contains(name);
    if (v.intent == Intent::In || is_ours(v)) return true;
    return !changed.contains(name) && !(after_calls && calls_change_(name));
  }

  /// The value of a variable of the routine's own that is assigned once, before, by what stays as
  /// it is; null for others. `depth`: of such variables in it.
  Expr settled(const std::string& name, int depth) const {
    const auto it = r_.variables.find(name);
    if (it == r_.variables.end() || it->second.dummy || it->second.saved || it->second.array ||
        !it->second.storage.empty() || !is_integer(it->second.type.scalar) || depth == 0 ||
        jumps_ || (called_anywhere_ && calls_change_(name)))
      return Expr();
    Expr value;
    int assigned = 0;
    for (std::size_t n = 0; n < r_.body.size(); ++n) {
      if (!changed_in(Body{r_.body[n]}).contains(name)) continue;
      const auto* a = std::get_if<Assignment>(&r_.body[n].what);
      if (a && a->to.as<Var>() && n < place_) value = plain(a->value);
      ++assigned;
    }
    if (!value || assigned != 1) return Expr();
    std::set<std::string> names;
    std::map<std::string, Expr> values;
    scalars_in(value, names);
    for (const std::string& n : names) {
      if (stays(n, all_, called_anywhere_)) continue;
      const Expr own = settled(n, depth - 1);
      if (!own) return Expr();
      values.emplace(n, own);
    }
    return substitute(value, values);
  }

  Routine& r_;
  const std::function<bool(const std::string&)>& calls_change_;
  const std::set<std::string> all_;
  std::size_t place_ = 0;
  bool jumps_ = false, called_anywhere_ = false, called_ = false;
  std::set<std::string> changed_, later_;  // so far
};

}  // namespace

std::set<std::string> settle_sizes(Routine& r,
                                   const std::function<bool(const std::string&)>& calls_change) {
  const bool some = std::any_of(r.variables.begin(), r.variables.end(), [](const auto& v) {
    return !v.second.dummy && (v.second.allocatable || v.second.pointer);
  });
  return some ? Sizes(r, calls_change).run() : std::set<std::string>();
}

}  // namespace moonloop::fortran
