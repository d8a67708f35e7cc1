#include "frontends/fortran/names.h"

#include <algorithm>
#include <cctype>

#include "core/base/diagnostic.h"
#include "core/infer/typing.h"
#include "core/model/external.h"
#include "frontends/fortran/effects.h"
#include "frontends/fortran/output.h"
#include "frontends/fortran/procedures.h"
#include "frontends/fortran/sections.h"
#include "frontends/fortran/texts.h"

namespace moonloop::fortran {

std::string stem_of(const std::string& name) {
  const auto end = name.find_last_not_of("0123456789");
  return end != std::string::npos && end > 0 && end + 1 < name.size() && name[end] == '_'
             ? name.substr(0, end)
             : name;
}

std::string bare_name(const std::string& routine) {
  const auto module = routine.find("::");
  return module == std::string::npos ? routine : routine.substr(module + 2);
}

std::string kernel_name(const std::string& routine) {
  std::string out = bare_name(routine);
  std::replace(out.begin(), out.end(), '%', '_');
  return out;
}

std::string fresh_name(const Routine& routine, const std::string& base) {
  if (!routine.variables.count(base)) return base;
  const std::string stem = stem_of(base);
  for (int& i = routine.numbered.try_emplace(stem, 1).first->second;; ++i)
    if (std::string name = stem + "_" + std::to_string(i); !routine.variables.count(name))
      return name;
}

Variable local_like(const Variable& v, const std::string& name) {
  Variable out;
  out.name = name;
  out.at = v.at;
  out.type = v.type;
  out.logical = v.logical;
  out.kept = v.kept;
  out.character = v.character;
  out.text = v.text;
  out.array = v.array;
  out.bounds = v.bounds;
  return out;
}

Expr new_scalar(Routine& routine, const std::string& base, const Type& type, const Span& at) {
  Variable v;
  v.name = fresh_name(routine, base);
  v.at = at;
  v.logical = type.scalar == moonloop::Scalar::Bool;
  v.type = v.logical ? Type(moonloop::Scalar::I32) : type;
  const Expr out = var(v.name, at);
  routine.variables.emplace(v.name, std::move(v));
  return out;
}

const Routine* find_routine(const std::vector<Routine>& all, const std::string& name) {
  const auto it =
      std::find_if(all.begin(), all.end(), [&](const Routine& r) { return r.name == name; });
  return it == all.end() ? nullptr : &*it;
}

std::string extent_name(const std::string& array, int axis) {
  return fortran_name("", array, fmt::format("_size{}", axis + 1));
}

std::string present_name(const std::string& argument) { return argument + "_present"; }

const std::string& presence_of(const std::string& argument, const Routine& routine) {
  const Variable& own = routine.variables.at(argument);
  const std::string& asked = own.component ? own.component->of : argument;
  const auto it = std::find_if(
      routine.variables.begin(), routine.variables.end(),
      [&](const auto& v) { return v.second.present_of == asked && v.second.host == own.host; });
  ensure(it != routine.variables.end(), "the argument that says whether another one is there");
  return it->first;
}

bool is_ours(const Variable& v) {
  return v.extent || !v.lower_of.empty() || !v.entry_of.empty() || !v.present_of.empty() ||
         !v.memory_of.empty();
}

std::string lower_name(const std::string& array, int axis) {
  return fortran_name("", array, fmt::format("_lower{}", axis + 1));
}

std::vector<const Variable*> dummies_of(const Routine& routine) {
  std::vector<const Variable*> out;
  for (const std::string& a : routine.arguments) {
    const Variable& v = routine.variables.at(a);
    if (!is_ours(v) && !v.outer && (!v.result || v.array)) out.push_back(&v);
  }
  return out;
}

Exprs by_components(const Routine& f, Exprs arguments) {
  const std::vector<const Variable*> dummies = dummies_of(f);
  for (std::size_t i = 0; i < arguments.size() && arguments.size() < dummies.size(); ++i)
    if (is_absent(arguments[i]) && dummies[i]->component)
      while (i + 1 < dummies.size() && dummies[i + 1]->component &&
             dummies[i + 1]->component->of == dummies[i]->component->of) {
        const auto next = arguments.begin() + static_cast<std::ptrdiff_t>(++i);
        arguments.insert(next, arguments[i - 1]);
      }
  return arguments;
}

std::string outer_key(const Variable& v) {
  if (!v.outer) return {};
  const FortranOuter& o = *v.outer;
  return fmt::format("{}|{}|{}{}{}", static_cast<int>(o.kind), o.module, o.name,
                     v.component ? v.component->path : "",
                     v.extent               ? fmt::format("|size {}", v.axis)
                     : !v.lower_of.empty()  ? fmt::format("|lower {}", v.axis)
                     : !v.entry_of.empty()  ? "|entry"
                     : !v.memory_of.empty() ? "|memory"
                                            : "");
}

const Variable* find_outer(const Routine& routine, const std::string& key) {
  for (const auto& [name, v] : routine.variables)
    if (v.outer && outer_key(v) == key) return &v;
  return nullptr;
}

bool may_change(const SubroutineCall& call, const Variable& outer) {
  if (call.changes || !outer.outer || outer.constant || is_ours(outer)) return false;
  if (call.output && overlaps(call.output->accesses, outer_path(outer))) return true;
  if (call.output && !call.output->calls) return false;
  if (call.effects) return may_change(*call.effects, outer);
  return call.output || outer.array || !call.name.starts_with("mpi_");
}

std::string extent_of(const Bounds& axis, const Routine& routine) {
  std::set<std::string> names;
  if (axis.upper) collect_vars(axis.upper, names);
  for (const std::string& n : names)
    if (const auto it = routine.variables.find(n);
        it != routine.variables.end() && it->second.extent)
      return n;
  return {};
}

const Variable& result_of(const Routine& function) {
  const auto it =
      std::find_if(function.arguments.begin(), function.arguments.end(),
                   [&](const std::string& a) { return function.variables.at(a).result; });
  ensure(it != function.arguments.end(), "the result of a function");
  return function.variables.at(*it);
}

Expr without_casts(const Expr& e) {
  const auto* c = e ? e.as<Cast>() : nullptr;
  return c && is_integer(c->type.scalar) ? without_casts(c->arg) : e;
}

namespace {

Type type_of_variable(const Variable& v) {
  return v.logical && !v.dummy && !v.kept ? Type(moonloop::Scalar::Bool) : v.type;
}

/// `e` with a value of the same type in the place of each call that the language does not have.
Expr in_the_language(const Expr& e, const std::vector<Routine>& all) {
  return rewrite(e, [&](const Expr& x) -> Expr {
    const auto* c = x.as<Call>();
    if (!c) return x;
    if (c->name == kValues) return c->args.at(0);
    if (c->name == kImplied) return c->args.at(4);
    if (c->name == kTable) return c->args.back();
    if (!called(x, kBound).empty()) return lit(1);
    if (is_procedure(x)) return Expr(Cast{moonloop::Scalar::I64, lit(0)});
    if (c->name == kLetter) return Expr(Cast{moonloop::Scalar::I8, lit(0)});
    if (const std::string name = called(x, kOfTexts); !name.empty())
      return std::isdigit(static_cast<unsigned char>(name[0])) ? Expr(BoolLit{true}) : lit(1);
    if (const std::string name = called(x, kMade); !name.empty())
      return name.ends_with("loc") ? lit(1) : c->args[0];
    for (const char* prefix : {kOfArray, kArrays}) {
      const std::string name = called(x, prefix);
      if (name.empty()) continue;
      if (name == "any" || name == "all") return Expr(BoolLit{true});
      if (name == "count") return lit(1);
      if (name == "matmul" || name == "dot_product")
        return Expr(Nary{NaryOp::Mul, {c->args[0], c->args[1]}});
      return c->args[0];
    }
    for (const char* prefix : {kFunction, kElemental, kArrayFunction}) {
      const std::string name = called(x, prefix);
      if (name.empty()) continue;
      const Routine* f = find_routine(all, name);
      // Of another file, or no kernel: the conversion around it has the type.
      if (!f || !f->errors.empty()) return lit(0);
      if (!f->function)
        fail("unsupported", x.at(), "the call of `{}` is not supported in Fortran kernels", name);
      const Variable& v = result_of(*f);
      if (v.logical) return Expr(BoolLit{true});
      return Expr(Cast{v.type, lit(0)});
    }
    return x;
  });
}

}  // namespace

Type type_of(const Expr& e, const Routine& routine, const std::vector<Routine>& all) {
  VariableTypes types;
  for (const auto& [name, v] : routine.variables) types.emplace(name, type_of_variable(v));
  const Kernel none;
  const auto typed = Typer(none, types).type(in_the_language(e, all));
  ensure(typed.has_value(), "an expression whose type is known");
  return typed->type;
}

}  // namespace moonloop::fortran
