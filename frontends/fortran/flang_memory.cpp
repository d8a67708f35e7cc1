#include <algorithm>

#include "core/base/diagnostic.h"
#include "frontends/fortran/flang_effects.h"
#include "frontends/fortran/flang_parts.h"
#include "frontends/fortran/memory_flags.h"
#include "frontends/fortran/names.h"
#include "frontends/fortran/regions.h"
#include "frontends/fortran/sections.h"
#include "frontends/fortran/sizes.h"
#include "frontends/fortran/uses.h"

// Memory that statements give to variables, and pointers.
namespace moonloop::fortran {
namespace {

/// The typed form of an expression, or of a variable.
template <typename T>
const SomeExpr& typed(const T& e) {
  const SomeExpr* out = sem::GetExpr(nullptr, e);
  if (!out) throw InternalError("Flang gives an expression no type");
  return *out;
}

/// The routine's own variable, or component of one, that is allocated; null for others.
const Variable* own_object(const fp::AllocateObject& o, const Routine& routine) {
  const auto* name = std::get_if<fp::Name>(&o.u);
  std::string own;
  if (name && name->symbol) {
    own = variable_name(*name->symbol);
  } else if (const SomeExpr* part = name ? nullptr : sem::GetExpr(nullptr, o)) {
    const auto symbols = ev::GetSymbolVector(*part);
    if (symbols.empty() || std::any_of(symbols.begin(), symbols.end() - 1,
                                       [](const sem::Symbol& s) { return s.Rank() > 0; }))
      return nullptr;
    own = variable_name(symbols.front());
    for (std::size_t i = 1; i < symbols.size(); ++i) own += "_" + symbols[i]->name().ToString();
  }
  const auto it = routine.variables.find(own);
  if (it == routine.variables.end() || it->second.dummy) return nullptr;
  return it->second.allocatable || it->second.pointer ? &it->second : nullptr;
}

/// Gives `v` the bounds of the whole variable `of`, where it is one.
void bounds_like(Variable& v, const SomeExpr& of, const Span& at) {
  const std::size_t letters = v.text ? 1 : 0;
  if (!ev::UnwrapWholeSymbolDataRef(of) ||
      static_cast<std::size_t>(of.Rank()) + letters != v.bounds.size() ||
      is_text(of.GetType()) != v.text)
    return;
  const Expr whole = to_expr(of, at);
  for (std::size_t axis = letters; axis < v.bounds.size(); ++axis) {
    const auto bound = [&](const char* end) {
      return call(std::string(kBound) + end, {whole, lit(static_cast<std::int64_t>(axis) + 1)}, at);
    };
    v.bounds[axis].lower = bound("lbound");
    v.bounds[axis].upper = bound("ubound");
  }
}

/// `stat = 0`: where there is no memory, the program ends.
void succeeds(const fp::StatOrErrmsg& s, const Span& at, Body& out) {
  if (const auto* stat = std::get_if<fp::StatVariable>(&s.u))
    out.push_back({at, Assignment{to_expr(typed(stat->v), at), lit(0)}});
}

/// A pointer of the routine's own.
const std::string& own_pointer(const Expr& e, const Routine& routine, const Span& at) {
  const auto* v = e.as<Var>();
  const auto it = v ? routine.variables.find(v->name) : routine.variables.end();
  if (it == routine.variables.end() || it->second.dummy || !it->second.pointer)
    unsupported(at, "an assignment to a pointer that is not the routine's own variable");
  return v->name;
}

}  // namespace

bool is_of_own(const fp::AllocateStmt& s, const Routine& routine) {
  const auto& all = std::get<std::list<fp::Allocation>>(s.t);
  return std::all_of(all.begin(), all.end(), [&](const fp::Allocation& a) {
    return own_object(std::get<fp::AllocateObject>(a.t), routine);
  });
}

bool is_of_own(const fp::DeallocateStmt& s, const Routine& routine) {
  const auto& all = std::get<std::list<fp::AllocateObject>>(s.t);
  return std::all_of(all.begin(), all.end(),
                     [&](const fp::AllocateObject& o) { return own_object(o, routine); });
}

void read_allocation(const fp::AllocateStmt& s, const Span& at, Routine& routine, Body& out) {
  const auto& [type, allocations, options] = s.t;
  if (type) unsupported(at, "`allocate` with a type");
  const fp::Expr *source = nullptr, *like = nullptr;
  for (const fp::AllocOpt& o : options)
    std::visit(Fortran::common::visitors{
                   [&](const fp::AllocOpt::Source& x) { source = like = &x.v.value(); },
                   [&](const fp::AllocOpt::Mold& x) { like = &x.v.value(); },
                   [&](const fp::StatOrErrmsg& x) { succeeds(x, at, out); },
                   [&](const auto&) { unsupported(at, "`allocate` with these options"); }},
               o.u);
  for (const fp::Allocation& a : allocations) {
    const auto& [object, shape, coarray] = a.t;
    const Variable* own = own_object(object, routine);
    if (!own || coarray) unsupported(at, "`allocate` of other variables than the routine's own");
    Variable& v = routine.variables.at(own->name);
    std::size_t axis = v.text ? 1 : 0;  // behind the letters
    if (v.bounds.size() <= axis || v.bounds[axis].upper)
      unsupported(at, fmt::format("another `allocate` of `{}`", shown(v)));
    if (shape.empty() && like) bounds_like(v, typed(*like), at);
    if (shape.size() + axis != v.bounds.size() && !v.bounds[axis].upper)
      unsupported(at, fmt::format("`allocate` of `{}` without a shape", shown(v)));
    for (const fp::AllocateShapeSpec& spec : shape) {
      const auto& [lower, upper] = spec.t;
      const auto bound = [&](const fp::BoundExpr& e) {
        return without_casts(to_expr(typed(e), at));
      };
      v.bounds[axis].lower = lower ? bound(*lower) : Expr();
      v.bounds[axis++].upper = bound(upper);
    }
    if (v.pointer) out.push_back({at, PointerAssignment{v.name, var(v.name, at), {}}});
    out.push_back({at, Assignment{var(kAllocated + v.name, at), Expr(BoolLit{true})}});
    if (source) out.push_back({at, Assignment{var(v.name, at), to_expr(typed(*source), at)}});
  }
}

void check_memory_of(const ev::Assignment& a, bool masked, const Span& at) {
  if (const auto symbols = ev::GetSymbolVector(a.lhs);
      !symbols.empty() && sem::IsProcedure(symbols.front()->GetUltimate()))
    unsupported(at, fmt::format("an assignment to what `{}` points at",
                                symbols.front()->name().ToString()));
  if (const sem::Symbol* whole = whole_allocatable(a.lhs);
      whole && !masked && a.rhs.Rank() > 0 && !keeps_shape(a.lhs, a.rhs))
    unsupported(at,
                fmt::format("an array for all of the allocatable `{}`, which may get another "
                            "shape,",
                            whole->name().ToString()),
                "name a section, as in `a(:) = b`");
  const sem::Symbol* part = moved_part(a.lhs);
  if (!part) return;
  const std::string why = sem::IsAllocatable(*part) ? "which may get another shape"
                          : sem::IsPointer(*part)   ? "which then points elsewhere"
                                                    : "for which a procedure does it";
  unsupported(
      at, fmt::format("the assignment of a record with `{}`, {},", part->name().ToString(), why),
      "assign the components that are needed");
}

void read_deallocation(const fp::DeallocateStmt& s, const Span& at, const Routine& routine,
                       Body& out) {
  const auto& [objects, options] = s.t;
  for (const fp::AllocateObject& o : objects) {
    const Variable* own = own_object(o, routine);
    if (!own) unsupported(at, "`deallocate` of other variables than the routine's own");
    out.push_back({at, Assignment{var(kAllocated + own->name, at), Expr(BoolLit{false})}});
  }
  for (const fp::StatOrErrmsg& o : options) succeeds(o, at, out);
}

namespace {

/// Whether the variable, or component of one, has memory, see memory_flags.h; null for others than
/// allocatable ones and pointers as a whole.
Expr has_memory(const SomeExpr& of, const Span& at) {
  const sem::Symbol* last = ev::UnwrapWholeSymbolOrComponentDataRef(of);
  if (!last || !sem::IsAllocatableOrPointer(last->GetUltimate()) || as_derived(of)) return Expr();
  Expr place = to_arguments(of, at).at(0);
  if (const auto* test = place.as<Compare>()) place = test->left;  // a logical one
  const auto* v = place.as<Var>();
  if (!v) return Expr();
  return Expr(Compare{CompareOp::Gt, var(kMemory + v->name, at), lit(0)}, at);
}

}  // namespace

namespace {

/// A variable of the routine's own that begins anew with each call.
bool is_own(const sem::Symbol& s) {
  const auto kind = s.owner().kind();
  return (kind == sem::Scope::Kind::Subprogram || kind == sem::Scope::Kind::BlockConstruct) &&
         !sem::IsDummy(s) && !sem::IsFunctionResult(s) && !sem::IsSaved(s);
}

}  // namespace

Expr component_has_memory(const SomeExpr& of, const Span& at) {
  const sem::Symbol* base = ev::GetFirstSymbol(of);
  if (!base || ev::UnwrapWholeSymbolDataRef(of)) return Expr();
  const bool own = is_own(base->GetUltimate()) && ev::GetLastSymbol(of) &&
                   sem::IsAllocatable(ev::GetLastSymbol(of)->GetUltimate());
  return own || sem::IsDummy(base->GetUltimate()) ? has_memory(of, at) : Expr();
}

Expr whether_present(const std::string& name, const ev::ActualArguments& arguments,
                     const Span& at) {
  const SomeExpr* of = arguments[0] ? arguments[0]->UnwrapExpr() : nullptr;
  const sem::Symbol* symbol = of ? ev::UnwrapWholeSymbolDataRef(*of) : nullptr;
  if (of && !symbol) symbol = as_address(*of);
  if (name == kAssociated) {
    const bool alone = arguments.size() < 2 || !arguments[1];
    if (const sem::Symbol* s = of && alone ? as_address(*of) : nullptr)
      return Expr(Compare{CompareOp::Ne, var(s->name().ToString(), at), lit(0)}, at);
    const SomeExpr* target = alone ? nullptr : arguments[1]->UnwrapExpr();
    if (!of || (!alone && !target)) unsupported(at, "this form of `associated`");
    if (const Expr e = alone ? component_has_memory(*of, at) : Expr()) return e;
    Exprs asked{to_arguments(*of, at).at(0)};
    if (target) asked.push_back(to_arguments(*target, at).at(0));
    return call(kAssociated, std::move(asked), at);
  }
  if (!symbol) unsupported(at, "this form of `present`");
  const Expr there = var(present_name(symbol->name().ToString()), at);
  return Expr(Compare{CompareOp::Gt, there, lit(0)}, at);
}

Expr whether_allocated(const ev::ActualArguments& arguments, const Span& at) {
  const SomeExpr* of = !arguments.empty() && arguments[0] ? arguments[0]->UnwrapExpr() : nullptr;
  const sem::Symbol* symbol = of ? ev::UnwrapWholeSymbolDataRef(*of) : nullptr;
  if (!symbol) return of ? component_has_memory(*of, at) : Expr();
  if (!is_own(symbol->GetUltimate())) return Expr();
  return var(kAllocated + variable_name(*symbol), at);
}

Expr whether_there(const SomeExpr& argument, const sem::Symbol* callee, std::size_t number,
                   const Span& at) {
  const auto* d = callee ? callee->GetUltimate().detailsIf<sem::SubprogramDetails>() : nullptr;
  const sem::Symbol* dummy = d && number < d->dummyArgs().size() ? d->dummyArgs()[number] : nullptr;
  if (!dummy || !dummy->attrs().test(sem::Attr::OPTIONAL) || sem::IsAllocatableOrPointer(*dummy))
    return Expr();
  return has_memory(argument, at);
}

void check_there(const ev::ActualArguments& arguments, const sem::Symbol* function,
                 const Span& at) {
  for (std::size_t n = 0; n < arguments.size(); ++n)
    if (const SomeExpr* value = arguments[n] ? arguments[n]->UnwrapExpr() : nullptr)
      if (whether_there(*value, function, n, at))
        unsupported(at,
                    fmt::format("an allocatable or a pointer for an optional argument of the "
                                "function `{}`, which is not there without memory,",
                                function->name().ToString()),
                    "pass a section, as in `a(:)`, where it has some");
}

void read_statements(const fp::Block& block, const sem::Scope& scope, const Places& places,
                     bool skip_output, const ProcedureEffects& procedures, bool inner, Routine& r) {
  const auto known = procedures.of(own_effects(block));
  const auto calls_change = [&](const std::string& name) {
    const sem::Symbol* symbol = scope.FindSymbol(fp::CharBlock{name});
    for (std::size_t n = name.rfind('_'); !symbol && n != std::string::npos && n > 0;
         n = name.rfind('_', n - 1))  // a component
      symbol = scope.FindSymbol(fp::CharBlock{name.data(), n});
    if (!symbol) return true;
    const sem::Symbol& s = symbol->GetUltimate();
    if (&s.owner() == &scope && !sem::FindCommonBlockContaining(s)) return inner;
    if (!s.owner().IsModule() || !known || !known->effects) return true;
    const std::string path = holder_of(s) + "::" + s.name().ToString();
    const auto& changes = known->effects->changes;
    return std::any_of(changes.begin(), changes.end(), [&](const std::string& c) {
      return c == path || c.starts_with(path + "%");
    });
  };
  const Routine unread = r;
  for (std::set<std::string> kept;;) {
    r.body = read_body(block, r.at, scope, places, skip_output, procedures, r);
    const std::set<std::string> more = settle_sizes(r, calls_change);
    if (more.empty()) return;
    for (const std::string& name : more)
      if (!kept.insert(name).second)
        unsupported(r.variables.at(name).at,
                    fmt::format("`{}`, whose bounds are known when it gets memory,",
                                shown(r.variables.at(name))));
    r = unread;
    r.sized_later = kept;
  }
}

bool copies_procedure(const fp::PointerAssignmentStmt& s, const Span& at, Body& out) {
  const sem::Symbol* pointer = procedure_pointer_of(s);
  const ev::Assignment* a = sem::GetAssignment(s);
  if (!pointer || !a) throw InternalError("no pointer to procedures");
  const Expr to = var(pointer->name().ToString(), at);
  if (ev::IsNullPointer(&a->rhs)) {
    out.push_back({at, Assignment{to, lit(0)}});
    return true;
  }
  const sem::Symbol* from = as_address(a->rhs);
  if (!from) return false;
  out.push_back({at, Assignment{to, var(from->name().ToString(), at)}});
  return true;
}

namespace {

/// The part of `target` along its only axis that has as many elements as `length`.
Expr first_elements(const Expr& target, const Expr& count, const Span& at) {
  const auto lower = [&](const Expr& array, std::size_t axis) {
    const Expr number = lit(static_cast<std::int64_t>(axis) + 1);
    return call(kBound + std::string("lbound"), {array, number}, at);
  };
  const auto section = [&](const Expr& first, const Expr& step) {
    const Expr last = index_add({first, index_mul(step, index_sub(count, lit(1)))});
    return Expr(Slice{first, last, step}, at);
  };
  if (const auto* v = target.as<Var>())
    return load(v->name, {section(lower(target, 0), lit(1))}, at);
  const auto* l = target.as<Load>();
  if (!l) unsupported(at, "an assignment to a pointer of this target");
  Exprs index = l->index;
  for (std::size_t n = 0; n < index.size(); ++n)
    if (const auto* s = index[n].as<Slice>())
      index[n] =
          section(s->start ? s->start : lower(var(l->array, at), n), s->step ? s->step : lit(1));
  return load(l->array, std::move(index), at);
}

}  // namespace

void read_pointer_assignment(const fp::PointerAssignmentStmt& s, const Span& at,
                             const Routine& routine, Body& out) {
  const ev::Assignment* a = sem::GetAssignment(s);
  if (!a) fail("fortran", at, "Flang gives this assignment no type");
  Exprs lower, upper;
  Expr count;  // of elements, where both bounds are written
  if (const auto* bounds = std::get_if<ev::Assignment::BoundsSpec>(&a->u)) {
    for (const auto& b : *bounds) lower.push_back(to_index(b, at));
  } else {
    const auto* both = std::get_if<ev::Assignment::BoundsRemapping>(&a->u);
    if (!both || a->rhs.Rank() != 1 ||
        (both->size() > 1 && (as_derived(a->lhs) || is_text(a->lhs.GetType()))))
      unsupported(at, "an assignment to a pointer that gives it other axes");
    for (const auto& [first, last] : *both) {
      lower.push_back(to_index(first, at));
      upper.push_back(to_index(last, at));
    }
    if (both->size() == 1) {
      count = index_add({index_sub(upper[0], lower[0]), lit(1)});
      upper.clear();
    }
  }
  const Exprs pointers = to_arguments(a->lhs, at);
  const bool nothing = ev::IsNullPointer(&a->rhs);
  Exprs targets = nothing ? Exprs(pointers.size()) : to_arguments(a->rhs, at);
  if (count)
    for (Expr& t : targets) t = t ? first_elements(t, count, at) : t;
  for (std::size_t i = 0; i < pointers.size(); ++i) {
    const Expr& target = targets.at(i);
    if (target && !target.as<Var>() && !target.as<Load>())
      unsupported(at, "an assignment to a pointer of this target");
    const std::string& pointer = own_pointer(pointers[i], routine, at);
    const auto* same = target ? target.as<Var>() : nullptr;
    if (same && same->name == pointer && lower.empty()) continue;  // `p => p`
    out.push_back({at, PointerAssignment{pointer, target, lower, upper}});
  }
}

void read_nullify(const fp::NullifyStmt& s, const Span& at, const Routine& routine, Body& out) {
  for (const fp::PointerObject& o : s.v) {
    const auto* name = std::get_if<fp::Name>(&o.u);
    if (name && name->symbol && is_address(*name->symbol)) {  // of a procedure
      out.push_back({at, Assignment{var(name->ToString(), at), lit(0)}});
      continue;
    }
    for (const Expr& p : to_arguments(typed(o), at))
      out.push_back({at, PointerAssignment{own_pointer(p, routine, at), Expr(), {}}});
  }
}

namespace {

/// Whether the statements may change the variable, or where it points to.
bool may_change(const std::string& name, const Body& body, const Routine& routine,
                const sem::Scope& scope) {
  const auto it = routine.variables.find(name);
  if (it != routine.variables.end() && it->second.intent == Intent::In) return false;
  const bool pointer = it != routine.variables.end() && it->second.pointer;
  if (!pointer && changed_in(body).count(name)) return true;
  bool calls = false, moves = false;
  each(body, [&](const Statement& s) {
    const auto* p = std::get_if<PointerAssignment>(&s.what);
    moves = moves || (p && p->pointer == name);
    calls = calls || std::holds_alternative<SubroutineCall>(s.what);
  });
  if (moves || !calls) return moves;
  // Of a module and the like, or that a procedure in this routine has too.
  const std::function<bool(const sem::Scope&)> has = [&](const sem::Scope& around) {
    return std::any_of(around.children().begin(), around.children().end(), [&](const auto& inner) {
      const auto own = inner.find(fp::CharBlock{name});
      return (own != inner.end() && own->second->template has<sem::HostAssocDetails>() &&
              inner.kind() == sem::Scope::Kind::Subprogram) ||
             has(inner);
    });
  };
  return (it != routine.variables.end() && (it->second.outer || it->second.host)) || has(scope);
}

/// The names whose values are read. Bounds are other values, which stay the same but for arrays
/// that get memory, and pointers.
void collect_values(const Expr& e, const Routine& routine, std::set<std::string>& out) {
  if (!called(e, kBound).empty()) {
    const auto* of = e.as<Call>()->args.at(0).as<Var>();
    const auto it = of ? routine.variables.find(of->name) : routine.variables.end();
    if (it != routine.variables.end() && !it->second.allocatable && !it->second.pointer) return;
  }
  if (const auto* v = e.as<Var>()) out.insert(v->name);
  if (const auto* l = e.as<Load>()) out.insert(l->array);
  for_each_child(e, [&](const Expr& c) { collect_values(c, routine, out); });
}

}  // namespace

void check_association(const sem::Symbol& symbol, const Span& at, const Body& inside,
                       const std::set<std::string>& loops, const Routine& routine,
                       const sem::Scope& scope) {
  const auto& selector = symbol.get<sem::AssocEntityDetails>().expr();
  if (!selector) throw InternalError("Flang gives a selector no type");
  if (associated_value(symbol)) return;
  const bool is_place = ev::ExtractDataRef(*selector, true).has_value();
  Expr stands_for = to_expr(*selector, at);
  if (const auto* test = stands_for.as<Compare>(); test && is_place)
    stands_for = test->left;  // a logical one, as it is kept
  std::set<std::string> fixed;
  if (const auto* l = stands_for.as<Load>(); l && is_place)
    for (const Expr& e : l->index) collect_values(e, routine, fixed);
  else if (!is_place)
    collect_values(stands_for, routine, fixed);
  if (is_place && (stands_for.as<Var>() || stands_for.as<Load>())) {
    const auto it = routine.variables.find(written_name(stands_for));
    if (it != routine.variables.end() && it->second.pointer && !it->second.dummy)
      fixed.insert(it->first);
  }
  for (const std::string& n : fixed)
    if (!loops.contains(n) && may_change(n, inside, routine, scope))
      unsupported(at, fmt::format("`{}`, associated with `{}`, where the construct assigns `{}`,",
                                  symbol.name().ToString(), to_string(stands_for), n));
  if (has_call(stands_for))
    unsupported(at,
                fmt::format("`{}`, associated with a function's value,", symbol.name().ToString()));
}

}  // namespace moonloop::fortran
