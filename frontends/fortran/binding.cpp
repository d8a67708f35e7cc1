#include "frontends/fortran/binding.h"

#include <algorithm>

#include "core/base/diagnostic.h"
#include "core/model/domain.h"
#include "core/model/external.h"
#include "frontends/fortran/entry_values.h"
#include "frontends/fortran/extremes.h"
#include "frontends/fortran/memory_flags.h"
#include "frontends/fortran/names.h"
#include "frontends/fortran/procedures.h"
#include "frontends/fortran/regions.h"
#include "frontends/fortran/sections.h"
#include "frontends/fortran/uses.h"

namespace moonloop::fortran {
namespace {

/// `a > b` for no values.
bool never_more(const Expr& a, const Expr& b) {
  if (equal(a, b)) return true;
  const auto more = to_condition(Expr(Compare{CompareOp::Gt, a, b}), {});
  return more && yes(isl_set_is_empty(more->get()));
}

bool same_size(const Expr& a, const Expr& b) { return never_more(a, b) && never_more(b, a); }

/// A value that costs nothing to compute again.
bool is_simple(const Expr& e) {
  if (e.as<Var>() || e.as<IntLit>() || e.as<FloatLit>() || e.as<ComplexLit>() || e.as<BoolLit>())
    return true;
  if (is_procedure(e)) return true;
  const auto all = [](const Exprs& es) { return std::all_of(es.begin(), es.end(), is_simple); };
  if (const auto* l = e.as<Load>()) return all(l->index);
  if (const Expr* x = negated(e)) return is_simple(*x);
  const auto* n = e.as<Nary>();
  return n && (n->op == NaryOp::Add || n->op == NaryOp::Mul) && all(n->terms);
}

/// Whether statements of the body stay Fortran, which may ask what is there.
bool asks_fortran(const Body& b) {
  bool found = false;
  each(b, [&](const Statement& s) {
    const auto* c = std::get_if<SubroutineCall>(&s.what);
    found = found || (c && c->output);
  });
  return found;
}

bool has_slices(const Load& l) {
  return std::any_of(l.index.begin(), l.index.end(), [](const Expr& i) { return i.as<Slice>(); });
}

}  // namespace

Binding::Binding(Routine& caller, const Routine& callee, Exprs arguments,
                 const std::vector<Routine>& all, const std::set<std::string>& assigned,
                 const std::vector<const Do*>& around, const Span& at, Body& before, Body& after)
    : caller_(caller),
      callee_(callee),
      all_(all),
      before_call_(assigned),
      around_(around),
      at_(at),
      before_(before),
      after_(after) {
  const Uses uses = uses_of(callee);
  assigned_ = uses.assigned;
  assigned_.insert(uses.loops.begin(), uses.loops.end());
  for (Expr& a : arguments)
    if (const auto text = as_text(a))  // of which the first letter counts
      a = lit(static_cast<signed char>(text->empty() ? ' ' : text->front()));
    else if (const Exprs* codes = as_letters(a))
      a = codes->front();
  std::vector<const Variable*> dummies = dummies_of(callee);
  if (dummies.size() != arguments.size())
    fail("unsupported", at, "`{}` has {} arguments, not {}", bare_name(callee.name), dummies.size(),
         arguments.size());
  without_absent(dummies, arguments, uses);
  for (std::size_t i = 0; i < dummies.size(); ++i) {
    const Expr there = place_of(arguments[i], caller_);
    if (assigned_.count(dummies[i]->name) && there && !dummies[i]->value)
      changed_.insert(written_name(there));
  }
  adopt_outer();
  memory_of_arguments(dummies, arguments);
  for (const auto& [name, v] : callee.variables) {
    if (v.host && assigned_.count(name)) changed_.insert(name);
    if (v.outer && !v.host && names_.count(name) && assigned_.count(name))
      changed_.insert(names_.at(name));
  }
  for (std::size_t i = 0; i < dummies.size(); ++i)
    if (!dummies[i]->array) scalar(*dummies[i], arguments[i]);
  for (const auto& [name, v] : callee.variables) {
    if (v.outer && !v.host && !v.entry_of.empty()) entry_value(v, var(names_.at(v.entry_of), at));
    for (std::size_t i = 0; i < dummies.size() && !v.host; ++i)
      if (v.entry_of == dummies[i]->name) entry_value(v, arguments[i]);
  }
  for (std::size_t i = 0; i < dummies.size(); ++i)
    if (dummies[i]->array) extents(*dummies[i], arguments[i]);
  for (std::size_t i = 0; i < dummies.size(); ++i)
    if (dummies[i]->array) array(*dummies[i], arguments[i]);
  for (const auto& [name, v] : callee.variables)
    if (!v.host &&
        ((v.result && !v.array) || (!v.dummy && (assigned_.count(name) || uses.read.count(name)))))
      adopt(name);
}

/// Leaves the optional arguments out that are not given, and says so of all of them.
void Binding::without_absent(std::vector<const Variable*>& dummies, Exprs& arguments,
                             const Uses& uses) {
  for (std::size_t i = dummies.size(); i-- > 0;) {
    const Variable& dummy = *dummies[i];
    const bool absent = is_absent(arguments[i]);
    const Variable* own = absent ? nullptr : optional_of_caller(arguments[i]);
    if (dummy.optional)
      scalars_[presence_of(dummy.name, callee_)] =
          own ? var(presence_of(own->name, caller_), at_) : lit(absent ? 0 : 1);
    if (!absent) continue;
    if (dummy.pointer && (uses.assigned.count(dummy.name) || uses.read.count(dummy.name)))
      fail(
          "unsupported", at_,
          "`{}` uses its argument `{}`, a pointer that points nowhere here, which is not supported "
          "in Fortran kernels",
          bare_name(callee_.name), dummy.written.empty() ? dummy.name : dummy.written);
    if (!dummy.pointer &&
        (!dummy.optional || uses.assigned.count(dummy.name) || uses.read.count(dummy.name)))
      fail("unsupported", at_,
           "`{}` uses its optional argument `{}`, which is not given here, without asking whether "
           "it is",
           bare_name(callee_.name), dummy.name);
    for (const Bounds& b : dummy.bounds)
      if (const std::string n = extent_of(b, callee_); !n.empty()) scalars_[n] = lit(0);
    dummies.erase(dummies.begin() + static_cast<std::ptrdiff_t>(i));
    arguments.erase(arguments.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

/// Whether allocatable and pointer arguments have memory, where the called routine asks that.
void Binding::memory_of_arguments(const std::vector<const Variable*>& dummies,
                                  const Exprs& arguments) {
  for (const auto& [name, v] : callee_.variables) {
    if (v.memory_of.empty() || v.outer || v.host) continue;
    scalars_[name] = lit(0);  // not given
    for (std::size_t i = 0; i < dummies.size(); ++i) {
      if (dummies[i]->name != v.memory_of) continue;
      const Expr there = place_of(arguments[i], caller_);
      const std::string of = written_name(there);
      const Variable& x = caller_.variables.at(of);
      if (x.dummy && (x.allocatable || !x.pointer_attributes.empty())) {
        const std::string own = memory_argument(of, caller_);
        if (std::find(caller_.arguments.begin(), caller_.arguments.end(), own) ==
            caller_.arguments.end())
          caller_.arguments.push_back(own);
        scalars_[name] = var(own, at_);
      } else if (!x.memory_flag.empty()) {
        scalars_[name] = Expr(Select{var(x.memory_flag, at_), lit(1), lit(0)}, at_);
      } else if (x.allocatable) {
        fail("unsupported", at_,
             "`{}` asks whether its argument `{}` has memory, which is not known of `{}` here",
             bare_name(callee_.name), v.memory_of, of);
      } else {
        scalars_[name] = lit(1);
      }
    }
  }
}

/// The optional argument of the caller that is passed on; null for others.
const Variable* Binding::optional_of_caller(const Expr& argument) const {
  const bool procedure = is_procedure(argument) && !argument.as<Call>()->args.empty();
  const Expr there = procedure ? argument.as<Call>()->args[0] : place_of(argument, caller_);
  if (!there || (procedure && !there.as<Var>())) return nullptr;
  const auto it = caller_.variables.find(written_name(there));
  return it != caller_.variables.end() && it->second.optional ? &it->second : nullptr;
}

bool Binding::changes(const Expr& e) const {
  std::set<std::string> reads;
  collect_reads(e, reads);
  return std::any_of(reads.begin(), reads.end(),
                     [&](const std::string& n) { return changed_.count(n) != 0; });
}

void Binding::check_type(const Variable& dummy, const Expr& argument) const {
  const Expr there = place_of(argument, caller_);
  if (!there) {
    if (!dummy.array) return;
    fail("unsupported", at_, "the argument `{}` of `{}` is an array, and what is passed is none",
         dummy.name, bare_name(callee_.name));
  }
  const Variable& v = caller_.variables.at(written_name(there));
  if (v.type == dummy.type && v.logical == dummy.logical && v.character == dummy.character) return;
  fail("unsupported", at_, "the argument `{}` of `{}` is of type {}, and `{}` of type {}",
       dummy.name, bare_name(callee_.name), dummy.type.str(), v.name, v.type.str());
}

Expr Binding::copy(const Variable& dummy, const Expr& value) {
  const Variable* may_be = optional_of_caller(value);
  if (may_be && asks_fortran(callee_.body))
    fail("unsupported", at_,
         "a copy of the optional argument `{}`, which may not be there, is not supported in "
         "Fortran kernels",
         written_name(place_of(value, caller_)));
  const Type type = dummy.logical ? Type(moonloop::Scalar::Bool) : dummy.type;
  const Expr own = new_scalar(caller_, dummy.name, type, at_);
  Statement set{at_, Assignment{own, value}};
  if (may_be) {
    const Expr none = dummy.logical ? Expr(BoolLit{false}, at_) : Expr(Cast{type, lit(0)}, at_);
    before_.push_back({at_, Assignment{own, none}});
    Choice there;
    const Expr says = var(presence_of(may_be->name, caller_), at_);
    there.arms.push_back({Expr(Compare{CompareOp::Gt, says, lit(0)}, at_),
                          std::make_shared<Body>(Body{std::move(set)})});
    set = {at_, std::move(there)};
  }
  before_.push_back(std::move(set));
  return own;
}

/// A place whose subscripts stay as they are now.
Expr Binding::settled(const Expr& place) {
  return map_children(place, [&](const Expr& i) {
    if (i.as<Slice>()) return settled(i);
    if (!changes(i)) return i;
    const Expr own = new_scalar(caller_, "at", type_of(i, caller_, all_), at_);
    before_.push_back({at_, Assignment{own, i}});
    return own;
  });
}

void Binding::scalar(const Variable& dummy, const Expr& argument) {
  const Expr there = place_of(argument, caller_);
  const auto it = there ? caller_.variables.find(written_name(there)) : caller_.variables.end();
  if (there && it == caller_.variables.end())
    fail("unsupported", at_,
         "the argument `{}` of `{}`, which is `{}`, no variable of its own, is "
         "not supported in Fortran kernels",
         dummy.name, bare_name(callee_.name), written_name(there));
  const bool is_array = there && it->second.array;
  const auto* l = there ? there.as<Load>() : nullptr;
  if (is_array && (!l || has_slices(*l)))
    fail("unsupported", at_, "the argument `{}` of `{}` is one value, and an array is passed",
         dummy.name, bare_name(callee_.name));
  if (dummy.procedure.empty() == is_procedure(argument))
    fail("unsupported", at_, "what is passed for the argument `{}` of `{}` is {} procedure",
         dummy.name, bare_name(callee_.name), dummy.procedure.empty() ? "a" : "no");
  check_type(dummy, argument);
  const bool assigned = assigned_.count(dummy.name) != 0;
  if (!assigned && is_simple(argument) && !changes(argument)) {
    scalars_[dummy.name] = argument;
  } else if (!assigned && there && !changes(there)) {
    scalars_[dummy.name] = there;
  } else if (!assigned || dummy.value) {
    scalars_[dummy.name] = copy(dummy, argument);
  } else if (!there) {
    fail("unsupported", at_, "`{}` assigns its argument `{}`, and what is passed is not a variable",
         bare_name(callee_.name), dummy.name);
  } else if (there.as<Var>()) {
    scalars_[dummy.name] = there;
  } else {
    const Expr still = settled(there);
    const Uses uses = uses_of(callee_);
    if (uses.loops.count(dummy.name)) {  // a loop's variable is a variable
      scalars_[dummy.name] = copy(dummy, argument);
      after_.push_back({at_, Assignment{still, scalars_[dummy.name]}});
    } else {
      scalars_[dummy.name] = still;
    }
  }
}

/// The initial value of the called routine's argument.
void Binding::entry_value(const Variable& entry, const Expr& argument) {
  const Expr first = argument.as<Var>() ? as_at_entry(argument) : argument;
  if (equal(first, argument))
    scalar(entry, argument);
  else
    scalars_[entry.name] = first;  // the caller's argument at its start
}

/// `e` at the call, over the caller's arguments at its start, where nothing assigned these before.
Expr Binding::as_at_entry(const Expr& e) const {
  if (!e) return e;
  std::set<std::string> names;
  collect_vars(e, names);
  std::map<std::string, Expr> values;
  for (const std::string& n : names) {
    const auto it = caller_.variables.find(n);
    if (it == caller_.variables.end()) continue;
    const Variable& v = it->second;
    if (v.dummy && !v.host && !v.array && !is_ours(v) && is_integer(v.type.scalar) &&
        !before_call_.count(n))
      values.emplace(n, value_at_entry(caller_, n));
  }
  return values.empty() ? e : substitute(e, values);
}

/// The outer variables that the called routine uses, which the caller then uses too.
void Binding::adopt_outer() {
  std::vector<const Variable*> added;
  for (const auto& [name, v] : callee_.variables) {
    if (!v.outer || v.host || !v.entry_of.empty()) continue;
    if (v.outer->kind == FortranOuter::Kind::Saved)
      fail("unsupported", at_,
           "`{}` of `{}` keeps its value from call to call, which is not supported in Fortran "
           "kernels for a routine that is called in them",
           name, bare_name(callee_.name));
    for (const auto& [own, x] : caller_.variables)
      if (x.outer && x.outer->kind == FortranOuter::Kind::Common &&
          v.outer->kind == FortranOuter::Kind::Common && x.outer->module == v.outer->module &&
          x.outer->declarations != v.outer->declarations)
        fail("unsupported", at_,
             "the call of `{}`, which has other variables in the common block `{}`, is not "
             "supported in Fortran kernels",
             bare_name(callee_.name), v.outer->module);
    const Variable* known = find_outer(caller_, outer_key(v));
    names_[name] = known ? known->name : fresh_name(caller_, name);
    if (known) continue;
    caller_.variables.emplace(names_[name], v);
    added.push_back(&v);
  }
  for (const Variable* v : added) {
    Variable& own = caller_.variables.at(names_.at(v->name));
    own.name = names_.at(v->name);
    // An array of records is no variable itself: its bounds are those of the module's.
    for (std::string* about : {&own.lower_of, &own.memory_of})
      if (const auto of = names_.find(*about); of != names_.end()) *about = of->second;
    for (Bounds& b : own.bounds) b.lower = expr(b.lower), b.upper = expr(b.upper);
    caller_.arguments.push_back(own.name);
  }
}

/// With which subscript an axis of an allocatable argument begins: as the caller's array does.
void Binding::first_subscript(const Variable& dummy, const Expr& argument, std::size_t axis) {
  const Expr& lower = dummy.bounds[axis].lower;
  const auto* own = lower ? lower.as<Var>() : nullptr;
  if (!own || callee_.variables.at(own->name).lower_of != dummy.name) return;
  const Expr there = place_of(argument, caller_);
  if (dummy.pointer && there.as<Load>()) {  // a pointer to a section
    scalars_[own->name] = lit(1);
    return;
  }
  if (!there.as<Var>())
    fail("unsupported", at_, "what is passed for the allocatable `{}` of `{}` is no whole array",
         dummy.name, bare_name(callee_.name));
  scalars_[own->name] = first_of(caller_.variables.at(written_name(there)).bounds.at(axis));
}

/// How long the axes of an assumed shape are.
void Binding::extents(const Variable& dummy, const Expr& argument) {
  check_type(dummy, argument);
  for (std::size_t i = 0; i < dummy.bounds.size(); ++i) {
    first_subscript(dummy, argument, i);
    const std::string name = extent_of(dummy.bounds[i], callee_);
    if (name.empty() || scalars_.count(name)) continue;
    const View v = view(dummy, argument);
    std::size_t axis = 0;
    for (const Axis& a : v.axes) {
      if (a.fixed || axis++ != i) continue;
      if (!a.last)
        fail("unsupported", at_, "how long `{}` is, which `{}` asks for, is not known", v.array,
             bare_name(callee_.name));
      const Expr n = length(a.first, a.last, a.step);
      scalars_[name] = changes(n) ? copy(callee_.variables.at(name), n) : n;
    }
  }
}

/// The part of an array that an argument is, before it is matched with the dummy's shape.
Binding::View Binding::view(const Variable& dummy, const Expr& argument) const {
  const Expr there = place_of(argument, caller_);
  View v;
  v.array = written_name(there);
  const Variable& x = caller_.variables.at(v.array);
  const auto* l = there.as<Load>();
  if (!x.array)
    fail("unsupported", at_, "the argument `{}` of `{}` is an array, and `{}` is none", dummy.name,
         bare_name(callee_.name), v.array);
  const bool element = l && !has_slices(*l);
  for (std::size_t i = 0; i < x.bounds.size(); ++i) {
    Axis a{Expr(), first_of(x.bounds[i]), x.bounds[i].upper, lit(1)};
    if (l && !l->index[i].as<Slice>()) {
      if (element && i < dummy.bounds.size())
        a.first = l->index[i];
      else
        a.fixed = l->index[i];
    } else if (l) {
      const auto& s = *l->index[i].as<Slice>();
      if (s.step) a.step = s.step;
      const Expr least = a.first, most = a.last;
      a.first = s.start ? s.start : least;  // backwards too
      a.last = s.stop ? s.stop : most;
      if (!a.first)
        fail("unsupported", at_, "where a section of `{}` begins is not known", v.array);
    }
    v.axes.push_back(std::move(a));
  }
  v.whole = !l;
  return v;
}

/// Finds the dummy's axes in the view; the storage that the standard defines has to fit axis by
/// axis.
void Binding::match(const Variable& dummy, View& v, bool from_element) const {
  const auto refuse = [&](std::string_view why) {
    throw NotByAxes(
        Diagnostic{"unsupported",
                   fmt::format("the argument `{}` of `{}` is not part of `{}` axis by axis: {}",
                               dummy.name, bare_name(callee_.name), v.array, why),
                   {at_, {}},
                   {},
                   "pass a section with the argument's shape, such as a(i:, j)"});
  };
  std::vector<Axis*> running;
  for (Axis& a : v.axes)
    if (!a.fixed) running.push_back(&a);
  if (running.size() != dummy.bounds.size())
    refuse(fmt::format("it has {} axes, the argument {}", running.size(), dummy.bounds.size()));
  const Variable& x = caller_.variables.at(v.array);
  for (std::size_t i = 0; i < running.size(); ++i) {
    const Bounds& b = dummy.bounds[i];
    const Expr lower = expr(first_of(b)), upper = b.upper ? expr(b.upper) : Expr();
    v.lower.push_back(lower);
    Axis& a = *running[i];
    if (!extent_of(b, callee_).empty()) continue;
    const bool last = i + 1 == running.size();
    const Expr extent = upper ? length(lower, upper, 1) : Expr();
    const Expr room = a.last ? length(a.first, a.last, a.step) : Expr();
    if (!last && (!extent || !room || !same_size(extent, room)))
      refuse(fmt::format("its axis {} has another length", i + 1));
    if (last && from_element && running.size() < x.bounds.size() &&
        (!extent || !room || !never_more(extent, room)))
      refuse(fmt::format("it may reach over the end of axis {}", i + 1));
    if (last && extent) {
      v.whole = v.whole && room && same_size(extent, room);
      a.last = index_add({a.first, index_mul(a.step, index_sub(extent, lit(1)))});
    }
  }
}

void Binding::array(const Variable& dummy, const Expr& argument) {
  const Expr there = settled(place_of(argument, caller_));
  View v = view(dummy, there);
  const auto* l = there.as<Load>();
  match(dummy, v, l && !has_slices(*l));
  arrays_.emplace(dummy.name, std::move(v));
}

/// Fails where a bound is a value that the caller computes: arrays get their memory at its start.
void Binding::check_bound(const Expr& e, const Variable& v) const {
  std::set<std::string> names;
  if (e) collect_reads(e, names);
  for (const std::string& n : names)
    if (const auto it = caller_.variables.find(n); it != caller_.variables.end() &&
                                                   !it->second.dummy && !it->second.constant &&
                                                   !it->second.host)
      fail("unsupported", v.at,
           "the bounds of `{}` depend on `{}`, which is not an argument that stays as it is",
           v.name, n);
}

/// The bounds of the last axis may vary with the loops around the call, within known ones.
void Binding::check_bounds(Variable& v) const {
  for (const Bounds& b : v.bounds) {
    const bool last = &b == &v.bounds.back(), varies = last && v.room;
    try {
      for (const Expr& e : varies ? Exprs{v.room} : Exprs{b.lower, b.upper}) check_bound(e, v);
    } catch (const Error&) {
      const auto stays = [&](const std::string& name) {
        const auto it = caller_.variables.find(name);
        if (it == caller_.variables.end() || before_call_.count(name)) return false;
        const Variable& x = it->second;
        return x.constant || !x.entry_of.empty() || (x.dummy && !x.array);
      };
      const Expr count = varies ? v.room : index_add({index_sub(b.upper, first_of(b)), lit(1)});
      v.room = last ? most(count, around_, stays) : Expr();
      if (!v.room) throw;
    }
  }
}

/// A variable of the called routine's own.
void Binding::adopt(const std::string& name) {
  Variable v = callee_.variables.at(name);
  v.name = fresh_name(caller_, name);
  v.dummy = v.value = v.result = false;
  v.intent = Intent::Unknown;
  for (Bounds& b : v.bounds) {
    b.lower = as_at_entry(expr(b.lower));
    b.upper = as_at_entry(expr(b.upper));
  }
  if (v.room) v.room = as_at_entry(expr(v.room));
  check_bounds(v);
  names_[name] = v.name;
  const std::string own = v.name;
  caller_.variables.emplace(own, std::move(v));
}

Expr Binding::own(const std::string& name) const { return var(names_.at(name), at_); }

Expr Binding::result() const { return own(result_of(callee_).name); }

// ---- The called routine in the caller's names.

Expr Binding::element(const View& v, const Exprs& index, const Span& at) const {
  Exprs out;
  std::size_t next = 0;
  for (const Axis& a : v.axes) {
    if (a.fixed) {
      out.push_back(a.fixed);
      continue;
    }
    const Expr& lower = v.lower.at(next);
    const auto there = [&](const Expr& i) {
      return index_add({a.first, index_mul(a.step, index_sub(i, lower))});
    };
    const Expr& i = index.at(next++);
    const auto* s = i.as<Slice>();
    if (!s) {
      out.push_back(there(i));
      continue;
    }
    const Expr step = s->step ? s->step : lit(1);
    const Expr start = s->start ? there(s->start) : a.first;
    const Expr stop = s->stop ? there(s->stop) : a.last;
    out.push_back(Expr(Slice{start, stop, index_mul(step, a.step)}, at));
  }
  return load(v.array, out, at);
}

Expr Binding::whole(const View& v, const Span& at) const {
  if (v.whole) return var(v.array, at);
  return element(v, Exprs(v.lower.size(), Expr(Slice{Expr(), Expr(), lit(1)}, at)), at);
}

Expr Binding::given(const std::string& name) const {
  const auto refuse = [&](std::string_view what) {
    throw NotAlone(Diagnostic{
        "unsupported", fmt::format("what is passed for `{}` {}", name, what), {at_, {}}, {}, {}});
  };
  if (const auto it = arrays_.find(name); it != arrays_.end()) {
    const Expr first = first_in_memory(whole(it->second, at_), caller_);
    if (!first) refuse("has gaps in memory");
    return first;
  }
  if (callee_.variables.at(name).logical && assigned_.count(name))
    refuse("is a logical variable that is assigned there");
  if (const auto it = scalars_.find(name); it != scalars_.end()) return it->second;
  const auto it = names_.find(name);
  ensure(it != names_.end(), "an argument has a value");
  return var(it->second, at_);
}

/// A logical variable, or the argument passed for it, as a condition.
Expr Binding::truth(const Expr& place) const {
  if (!place.as<Var>() && !place.as<Load>()) return place;
  const auto it = caller_.variables.find(written_name(place));
  if (it == caller_.variables.end() || !it->second.dummy) return place;
  return Expr(Compare{CompareOp::Ne, place, lit(0)}, place.at());
}

/// The number that says where a procedure is, as a statement that stays Fortran gets it.
Expr Binding::address(const Expr& procedure) const {
  if (called(procedure, kProcedure) != kThrough)
    fail("unsupported", at_, "`{}` passed to `{}`, which needs its address,",
         called(procedure, kProcedure), bare_name(callee_.name));
  return procedure.as<Call>()->args.at(0);
}

Expr Binding::expr(const Expr& e) const {
  if (!e) return e;
  if (const auto* v = e.as<Var>()) {
    if (const auto it = scalars_.find(v->name); it != scalars_.end())
      return is_procedure(it->second) ? address(it->second) : it->second;
    if (const auto it = arrays_.find(v->name); it != arrays_.end())
      return whole(it->second, e.at());
    const auto it = names_.find(v->name);
    return it == names_.end() ? e : var(it->second, e.at());
  }
  if (const auto* l = e.as<Load>()) {
    Exprs index;
    for (const Expr& i : l->index) index.push_back(expr(i));
    if (const auto it = arrays_.find(l->array); it != arrays_.end())
      return element(it->second, index, e.at());
    const auto it = names_.find(l->array);
    return load(it == names_.end() ? l->array : it->second, index, e.at());
  }
  if (called(e, kProcedure) == kThrough) {
    const Expr& own = e.as<Call>()->args.at(0);
    const auto it = own.as<Var>() ? scalars_.find(own.as<Var>()->name) : scalars_.end();
    return procedure_in(it == scalars_.end() ? expr(own) : it->second, e.at());
  }
  const auto* c = e.as<Compare>();
  if (c && c->op == CompareOp::Ne && as_int(c->right) == 0 &&
      (c->left.as<Var>() || c->left.as<Load>())) {
    const auto it = callee_.variables.find(written_name(c->left));
    if (it != callee_.variables.end() && it->second.logical && it->second.dummy &&
        !it->second.host) {
      const Expr there = expr(c->left);
      return there.as<Compare>() ? there : truth(there);
    }
  }
  return map_children(e, [&](const Expr& x) { return expr(x); });
}

/// An array, or its elements from one on, as a routine of another file gets it.
Expr Binding::passed(const Expr& e, const std::string& callee, const Span& at) const {
  if (!e.as<Var>() && !e.as<Load>()) return expr(e);
  const Variable& own = callee_.variables.at(written_name(e));
  if (own.logical && own.dummy && !own.host) {  // an integer there, perhaps not here
    const Expr here = own.array ? Expr() : expr(e);
    const bool place = here && (here.as<Var>() || here.as<Load>());
    const Variable* v = place ? &caller_.variables.at(written_name(here)) : nullptr;
    if (!own.array && !(v && v->logical && v->dummy))
      fail("unsupported", at,
           "what is passed for the logical `{}`, which `{}`, in another file, gets, is not an "
           "argument "
           "of `{}` and so not supported in Fortran kernels",
           own.name, bare_name(callee), bare_name(caller_.name));
  }
  const auto it = arrays_.find(written_name(e));
  const Expr there =
      it == arrays_.end() ? expr(e) : first_in_memory(whole(it->second, at), caller_);
  if (!there)
    fail("unsupported", at,
         "`{}`, which `{}` gets and which is in another file, has gaps in memory here", it->first,
         callee);
  return e.as<Load>() ? expr(e) : there;
}

/// What a routine that is a kernel of its own gets for `dummy`.
Expr Binding::passed_to_kernel(const Expr& e, const Variable& dummy, const Span& at) const {
  const bool place = e.as<Var>() || e.as<Load>();
  const auto it = place ? arrays_.find(written_name(e)) : arrays_.end();
  if (!dummy.array || it == arrays_.end()) return expr(e);
  const Expr first = first_in_memory(whole(it->second, at), caller_);
  if (!first)
    fail("unsupported", at,
         "`{}`, which a function of its own gets as `{}`, has gaps in memory here", it->first,
         dummy.name);
  return e.as<Load>() ? expr(e) : first;
}

Body Binding::body(const Body& b) const {
  Body out = b;
  for (Statement& s : out) {
    if (auto* c = std::get_if<SubroutineCall>(&s.what)) {
      const Routine* kernel = c->changes ? find_routine(all_, c->name) : nullptr;
      for (std::size_t n = 0; n < c->arguments.size(); ++n) {
        Expr& a = c->arguments[n];
        a = kernel ? passed_to_kernel(a, kernel->variables.at(kernel->arguments[n]), s.at)
                   : passed(a, c->name, s.at);
      }
      if (c->result) c->result = expr(c->result);
    } else {
      expressions(s, [&](Expr& e) { e = expr(e); });
    }
    if (auto* d = std::get_if<Do>(&s.what)) {
      d->variable = written_name(expr(var(d->variable)));
      if (d->directive)
        d->directive = renamed(*d->directive, [&](const std::string& name) {
          if (const auto it = arrays_.find(name); it != arrays_.end()) return it->second.array;
          const Expr now = expr(var(name));  // a value is one that no iteration changes
          return now.as<Var>() || now.as<Load>() ? written_name(now) : std::string();
        });
    }
    for (std::shared_ptr<Body>* inner : bodies(s)) *inner = std::make_shared<Body>(body(**inner));
  }
  return out;
}

}  // namespace moonloop::fortran
