#include "frontends/fortran/memory_flags.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "core/base/diagnostic.h"
#include "core/model/external.h"
#include "frontends/fortran/names.h"
#include "frontends/fortran/presence.h"
#include "frontends/fortran/sections.h"
#include "frontends/fortran/unread.h"
#include "frontends/fortran/uses.h"

namespace moonloop::fortran {
namespace {

/// In the names of variables that say whether others have memory.
constexpr const char* kFlagSuffix = "_allocated";

/// Rewrites all expressions of statements, and of those within them.
void rewrite_all(Body& body, const std::function<Expr(const Expr&)>& f) {
  for (Statement& s : body) {
    expressions(s, [&](Expr& e) {
      if (e) e = rewrite(e, f);
    });
    for (auto* inner : bodies(s)) {
      *inner = std::make_shared<Body>(**inner);
      rewrite_all(**inner, f);
    }
  }
}

/// The variable whose memory `e` asks for; empty for other expressions.
std::string asked_of(const Expr& e) {
  const auto* c = e.as<Compare>();
  const auto* v = c ? c->left.as<Var>() : nullptr;
  const std::string_view prefix = kMemory;
  return v && v->name.starts_with(prefix) ? v->name.substr(prefix.size()) : std::string();
}

/// The pointers that assignments make point elsewhere than at memory of their own.
std::set<std::string> moving_pointers(const Body& body) {
  std::set<std::string> out;
  for (const Statement& s : body) {
    if (const auto* a = std::get_if<PointerAssignment>(&s.what)) {
      const auto* to = a->target ? a->target.as<Var>() : nullptr;
      if (!to || to->name != a->pointer || !a->lower.empty()) out.insert(a->pointer);
    }
    for (const auto* inner : bodies(s)) out.merge(moving_pointers(**inner));
  }
  return out;
}

bool has_jumps(const Body& body) {
  bool found = false;
  for (const Statement& s : body) {
    found = found || std::holds_alternative<Jump>(s.what);
    for (const auto* inner : bodies(s)) found = found || has_jumps(**inner);
  }
  return found;
}

using IsFlag = std::function<bool(const std::string&)>;

/// The flag that a statement sets; null for others.
const Var* flag_set_by(const Statement& s, const IsFlag& is_flag) {
  const auto* a = std::get_if<Assignment>(&s.what);
  const auto* v = a ? a->to.as<Var>() : nullptr;
  return v && is_flag(v->name) ? v : nullptr;
}

void collect_flags_set(const Body& body, const IsFlag& is_flag, std::set<std::string>& out) {
  for (const Statement& s : body) {
    if (const Var* v = flag_set_by(s, is_flag)) out.insert(v->name);
    for (const auto* inner : bodies(s)) collect_flags_set(**inner, is_flag, out);
  }
}

/// What `e` is where these flags are known: a flag, or a comparison of the number made of one.
Expr with_flags(const Expr& e, const std::map<std::string, bool>& known) {
  const auto* test = e.as<Compare>();
  const auto* number = test && test->op == CompareOp::Gt ? test->left.as<Select>() : nullptr;
  const Expr& flag = number ? number->cond : e;
  if (const auto* b = number ? flag.as<BoolLit>() : nullptr) return Expr(*b, e.at());
  const auto* v = flag.as<Var>();
  const auto it = v ? known.find(v->name) : known.end();
  return it == known.end() ? e : Expr(BoolLit{it->second}, e.at());
}

/// Puts what flags are in their places, as far as the routine's statements in order say it.
void fold_flags(Routine& routine, const IsFlag& is_flag) {
  std::set<std::string> all;
  collect_flags_set(routine.body, is_flag, all);
  if (all.empty() || has_jumps(routine.body)) return;
  std::map<std::string, bool> known;
  for (const std::string& f : all) known[f] = false;
  for (Statement& s : routine.body) {
    if (const Var* v = flag_set_by(s, is_flag)) {
      known[v->name] = std::get<Assignment>(s.what).value.as<BoolLit>()->value;
      continue;
    }
    std::set<std::string> changed;
    for (const auto* inner : bodies(s)) collect_flags_set(**inner, is_flag, changed);
    for (const std::string& f : changed) known.erase(f);
    Body one{std::move(s)};
    rewrite_all(one, [&](const Expr& e) { return with_flags(e, known); });
    s = std::move(one.front());
  }
  routine.body = without_decided(routine.body);
}

/// The components of the routine's own records that calls get.
void collect_passed(const Routine& routine, std::map<std::string, Span>& out) {
  const auto add = [&](const Exprs& arguments, const Span& at) {
    for (const Expr& a : arguments) {
      const auto* v = a ? a.as<Var>() : nullptr;
      const auto it = v ? routine.variables.find(v->name) : routine.variables.end();
      if (it == routine.variables.end()) continue;
      const Variable& x = it->second;
      if (x.allocatable && !x.dummy && !x.written.empty()) out.emplace(v->name, at);
    }
  };
  each(routine.body, [&](const Statement& s) {
    if (const auto* c = std::get_if<SubroutineCall>(&s.what); c && !c->output)
      add(c->arguments, s.at);
    expressions(s, [&](const Expr& e) {
      if (!e) return;
      for_each_of<Call>(e, [&](const Call& c, const Expr& x) {
        if (!(called(x, kFunction) + called(x, kArrayFunction) + called(x, kElemental) +
              called(x, kRecord))
                 .empty())
          add(c.args, s.at);
      });
    });
  });
}

void settle_allocated(Routine& routine) {
  std::set<std::string> asked;
  std::vector<std::pair<std::string, Span>> all;
  each(routine.body, [&](const Statement& s) {
    const auto* a = std::get_if<Assignment>(&s.what);
    const Expr own = a && a->to.as<Var>() ? a->to : Expr();
    expressions(s, [&](const Expr& e) {
      if (!e || e.same_as(own)) return;
      for_each_of<Var>(e, [&](const Var& v, const Expr&) {
        if (v.name.starts_with(kAllocated) && asked.insert(v.name).second)
          all.emplace_back(v.name, s.at);
      });
    });
  });
  std::map<std::string, Span> passed;
  collect_passed(routine, passed);
  for (const auto& [name, at] : passed) {
    if (asked.insert(kAllocated + name).second) all.emplace_back(kAllocated + name, at);
    for (Bounds& b : routine.variables.at(name).bounds)
      if (!b.upper) b.upper = lit(0);  // it never gets memory
  }
  const std::function<void(Body&)> drop = [&](Body& body) {
    std::erase_if(body, [&](const Statement& s) {
      const auto* a = std::get_if<Assignment>(&s.what);
      const auto* v = a ? a->to.as<Var>() : nullptr;
      return v && v->name.starts_with(kAllocated) && !asked.contains(v->name);
    });
    for (Statement& s : body)
      for (auto* inner : bodies(s)) drop(**inner);
  };
  drop(routine.body);
  std::map<std::string, std::string> names;
  for (const auto& [flag, at] : all) {
    const std::string of = flag.substr(std::string_view(kAllocated).size());
    const auto it = routine.variables.find(of);
    if (it == routine.variables.end() || it->second.dummy)
      fail("unsupported", at,
           "`allocated` of `{}`, which is not the routine's own, is not supported in Fortran "
           "kernels",
           of);
    const Expr to = new_scalar(routine, of + kFlagSuffix, Scalar::Bool, at);
    names.emplace(flag, to.as<Var>()->name);
    if (!it->second.written.empty()) it->second.memory_flag = to.as<Var>()->name;
    routine.body.insert(routine.body.begin(), {at, Assignment{to, Expr(BoolLit{false})}});
  }
  if (!names.empty()) rename_in(routine.body, names);
}

}  // namespace

void settle_own_memory(Routine& routine) {
  const std::set<std::string> moving = moving_pointers(routine.body);
  rewrite_all(routine.body, [&](const Expr& e) -> Expr {
    const std::string of = asked_of(e);
    const auto it = of.empty() ? routine.variables.end() : routine.variables.find(of);
    if (it == routine.variables.end() || it->second.dummy) return e;
    if (it->second.pointer && moving.contains(of))
      return call(kAssociated, {var(of, e.at())}, e.at());
    return var(kAllocated + of, e.at());
  });
  fold_flags(routine, [](const std::string& name) { return name.starts_with(kAllocated); });
  settle_allocated(routine);
}

void fold_memory_flags(Routine& routine) {
  std::set<std::string> flags;
  for (auto& [name, v] : routine.variables)
    if (!v.memory_flag.empty()) flags.insert(std::exchange(v.memory_flag, {}));
  fold_flags(routine, [&](const std::string& name) { return flags.contains(name); });
  for (const auto& [name, v] : routine.variables)  // also of pointers, which are no variables now
    if (!v.dummy && !v.array && v.logical && name.find(kFlagSuffix) != std::string::npos)
      flags.insert(name);
  each(routine.body, [&](const Statement& s) {  // one of the program's may get other values
    const auto* a = std::get_if<Assignment>(&s.what);
    if (const auto* v = a ? a->to.as<Var>() : nullptr; v && !a->value.as<BoolLit>())
      flags.erase(v->name);
  });
  drop_unread(flags, routine);
}

std::string memory_argument(const std::string& variable, Routine& routine) {
  for (const auto& [name, v] : routine.variables)
    if (v.memory_of == variable) return name;
  const Variable& of = routine.variables.at(variable);
  Variable own;
  own.name = fresh_name(routine, fortran_name("", variable, "_memory"));
  own.at = of.at;
  own.type = Scalar::I32;
  own.dummy = own.value = own.logical = true;
  own.intent = Intent::In;
  own.memory_of = variable;
  own.outer = of.outer;
  own.component = of.outer ? of.component : nullptr;
  own.allocatable = of.allocatable;
  own.pointer_attributes = of.pointer_attributes;
  routine.variables.emplace(own.name, own);
  return own.name;
}

namespace {

/// With the routine's argument that says so, where `e` asks whether an argument has memory.
Expr asked_of_caller(const Expr& e, Routine& routine) {
  return rewrite(e, [&](const Expr& x) -> Expr {
    const std::string of = asked_of(x);
    if (of.empty()) return x;
    const auto it = routine.variables.find(of);
    if (it == routine.variables.end() || !it->second.dummy)
      fail("unsupported", x.at(),
           "an optional argument that is there where `{}`, which is not this routine's, has memory "
           "is not supported in Fortran kernels",
           of);
    return Expr(Compare{CompareOp::Gt, var(memory_argument(of, routine), x.at()), lit(0)}, x.at());
  });
}

void settle_memory(Body& body, Routine& routine) {
  for (Statement& s : body) {
    auto* c = std::get_if<SubroutineCall>(&s.what);
    auto later = c ? std::exchange(c->otherwise, {}) : std::vector<SubroutineCall>();
    expressions(s, [&](Expr& e) {
      if (e) e = asked_of_caller(e, routine);
    });
    if (c) c->otherwise = std::move(later);
    for (auto* inner : bodies(s)) {
      *inner = std::make_shared<Body>(**inner);
      settle_memory(**inner, routine);
    }
  }
}

}  // namespace

void settle_memory(Routine& routine) { settle_memory(routine.body, routine); }

void settle_memory(SubroutineCall& call, Routine& routine) {
  for (Expr& a : call.arguments)
    if (a) a = asked_of_caller(a, routine);
  for (const auto& [name, v] : routine.variables)
    if (!v.memory_of.empty() && std::find(routine.arguments.begin(), routine.arguments.end(),
                                          name) == routine.arguments.end())
      routine.arguments.push_back(name);
}

}  // namespace moonloop::fortran
