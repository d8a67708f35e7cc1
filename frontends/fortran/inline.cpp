#include <algorithm>
#include <functional>

#include "core/base/diagnostic.h"
#include "core/model/external.h"
#include "frontends/fortran/binding.h"
#include "frontends/fortran/calls_in_fortran.h"
#include "frontends/fortran/effects.h"
#include "frontends/fortran/entry_values.h"
#include "frontends/fortran/in_turn.h"
#include "frontends/fortran/memory_flags.h"
#include "frontends/fortran/names.h"
#include "frontends/fortran/outside_calls.h"
#include "frontends/fortran/passes.h"
#include "frontends/fortran/presence.h"
#include "frontends/fortran/procedures.h"
#include "frontends/fortran/sections.h"
#include "frontends/fortran/set_before_use.h"
#include "frontends/fortran/stops.h"
#include "frontends/fortran/texts.h"
#include "frontends/fortran/unread.h"
#include "frontends/fortran/uses.h"

// Replaces calls within the input by the bodies of the routines that they call.
namespace moonloop::fortran {
namespace {

void keep_call(Routine& r, const std::string& callee, const Span& at, const Diagnostic& why,
               bool inlined = false) {
  const auto same = [&](const Routine::KeptCall& k) {
    return k.callee == callee && k.inlined == inlined;
  };
  if (std::none_of(r.kept_calls.begin(), r.kept_calls.end(), same))
    r.kept_calls.push_back({callee, at, why, inlined});
}

/// The calls in one routine; the called routines have none of their own.
class Calls {
 public:
  /// `outside`: routines that are called as those of other files are.
  Calls(Routine& r, const std::vector<Routine>& all, const AssignedNames& names,
        const std::set<std::string>& outside)
      : r_(r), all_(all), names_(names), outside_(outside) {}

  void run() {
    std::set<std::string> before;
    for (const auto& [name, v] : r_.variables) before.insert(name);
    r_.body = body(r_.body);
    give_values();
    drop_unread(results_, r_);
    fold_memory_flags(r_);
    if (given_up_) drop_unused(before);
  }

 private:
  /// A call in Fortran gets the values of its logical variables as numbers, also of one that only
  /// it sets.
  void give_values() {
    Body begin;
    for (const std::string& name : given_)
      if (!is_set_before_use(r_.body, name)) {
        const Span& at = r_.variables.at(name).at;
        begin.push_back({at, Assignment{var(name, at), Expr(BoolLit{false}, at)}});
      }
    r_.body.insert(r_.body.begin(), begin.begin(), begin.end());
  }

  Body body(const Body& b) {
    Body out;
    for (const Statement& s : b) {
      if (std::holds_alternative<Do>(s.what)) note(s);  // the iterations before
      std::visit(overload{[&](const SubroutineCall& c) { subroutine(c, s.at, out); },
                          [&](const Choice& c) { choice(c, s.at, out); },
                          [&](const auto&) { plain(s, out); }},
                 s.what);
      note(s);
    }
    return out;
  }

  void note(const Statement& s) { assigned_.merge(names_.of({s}, r_)); }

  void plain(Statement s, Body& out) {
    expressions(s, [&](Expr& e) { e = without_functions(e, s.at, out); });
    const auto* loop = std::get_if<Do>(&s.what);
    if (loop) around_.push_back(loop);
    for (std::shared_ptr<Body>* inner : bodies(s)) *inner = std::make_shared<Body>(body(**inner));
    if (loop) around_.pop_back();
    out.push_back(std::move(s));
  }

  void choice(const Choice& c, const Span& at, Body& out) {
    put_choice(
        c, 0, at, out,
        [&](const Expr& e, Body& before) { return without_functions(e, at, before); },
        [&](const Body& b) { return body(b); });
  }

  /// `e` with variables in the places of calls, which come before.
  Expr without_functions(const Expr& e, const Span& at, Body& out) {
    if (!e) return e;
    if (const Expr value = of_other_file(e, at, out)) return value;
    if (const auto* c = e.as<Call>(); c && c->name == kLetter) return letter(c->args[0], at, out);
    if (const Expr all = operands_in_turn(e, r_, at, out, [&](const Expr& x, Body& before) {
          return without_functions(x, at, before);
        }))
      return all;
    const Expr inner =
        map_children(e, [&](const Expr& x) { return without_functions(x, at, out); });
    const std::string name = called(inner, kFunction) + called(inner, kElemental);
    if (name.empty()) return inner;
    if (const Routine* f = find_routine(all_, name))
      return put_function(*f, inner.as<Call>()->args, at, out);
    fail("unsupported", e.at(), "the call of `{}` is not supported in Fortran kernels",
         bare_name(name));
  }

  /// The call of a routine that is a kernel of its own, or its body where that cannot be. Its
  /// value, where it is a function.
  Expr call_kernel(const Routine& f, Exprs arguments, const Span& at, Body& out) {
    check_reach(f, at);
    arguments = by_components(f, std::move(arguments));
    for (const std::string& name : f.adopted) {
      const bool number = r_.variables.at(name).procedure.empty();
      arguments.push_back(number ? var(name, at) : procedure_in(var(name, at), at));
    }
    const std::size_t before = out.size();
    try {
      return call_alone(f, arguments, at, out);
    } catch (const NotAlone& e) {
      keep_call(r_, f.name, at, e.diagnostics().front(), true);
      out.resize(before);
      given_up_ = true;
      return put(f, arguments, at, out);
    }
  }

  Expr call_alone(const Routine& f, const Exprs& arguments, const Span& at, Body& out) {
    const auto refuse = [&](const std::string& what) {
      throw NotAlone(Diagnostic{"unsupported", what, {at, {}}, {}, {}});
    };
    if (std::any_of(arguments.begin(), arguments.end(), is_procedure))
      refuse("a procedure is passed to it");
    if (may_stop(f.body)) refuse("it may end the program");
    if (has_fortran(f.body)) refuse("it has statements or calls that stay Fortran");
    if (f.function && result_of(f).array) refuse("its result is an array");
    for (const auto& [name, there] : given_to(f, arguments))
      if (!there) refuse("its optional `" + name + "` is not given");
    Body before, after;
    const Binding b(r_, f, arguments, all_, assigned_, around_, at, before, after);
    const Uses uses = uses_of(f);
    SubroutineCall x{f.name, {}};
    auto changes = std::make_shared<std::vector<bool>>();
    for (const std::string& name : f.arguments) {
      x.arguments.push_back(b.given(name));
      changes->push_back(uses.assigned.count(name) > 0);
    }
    x.changes = std::move(changes);
    assigned_.insert(b.changed().begin(), b.changed().end());
    append(std::move(before), out);
    out.push_back({at, std::move(x)});
    append(std::move(after), out);
    return f.function ? b.result() : Expr();
  }

  /// Its body, or its call where its arrays have other axes than the caller's.
  Expr put_function(const Routine& f, const Exprs& arguments, const Span& at, Body& out) {
    if (f.apart) return call_kernel(f, arguments, at, out);
    if (!f.by_address || !f.by_address->gives) return put(f, arguments, at, out);
    const std::size_t before = out.size();
    try {
      return put(f, arguments, at, out);
    } catch (const Error& e) {
      give_up(f, e, before, at, out);
      return value_outside(f.name, *f.by_address->gives, arguments, at, out);
    }
  }

  /// The result of a function of another file; null where `e` is not a call of one. Its type is
  /// known by the conversion around it.
  Expr of_other_file(const Expr& e, const Span& at, Body& out) {
    const auto* c = e.as<Cast>();
    if (!c) return Expr();
    const std::string name = called(c->arg, kFunction);
    if (name.empty() || (find_routine(all_, name) && !outside_.contains(name))) return Expr();
    Exprs arguments;
    for (const Expr& a : c->arg.as<Call>()->args)
      arguments.push_back(without_functions(a, at, out));
    return value_outside(name, c->type, std::move(arguments), at, out);
  }

  /// The letter that a function gives: one of the input, or of another file.
  Expr letter(const Expr& function, const Span& at, Body& out) {
    const std::string name = called(function, kFunction);
    if (find_routine(all_, name)) return without_functions(function, at, out);
    Exprs arguments;
    for (const Expr& a : function.as<Call>()->args)
      arguments.push_back(without_functions(a, at, out));
    SubroutineCall x{name, std::move(arguments)};
    x.result = new_scalar(r_, "letter", moonloop::Scalar::I8, at);
    const Expr result = x.result;
    r_.variables.at(result.as<Var>()->name).character = true;
    out.push_back({at, Assignment{result, code_of(' ')}});  // its address is passed
    outside(std::move(x), at, out);
    return result;
  }

  /// What a function gives that is called as one of another file.
  Expr value_outside(const std::string& name, const Type& type, Exprs arguments, const Span& at,
                     Body& out) {
    const bool logical = type == Type(moonloop::Scalar::Bool);
    std::string base = name == kThrough ? "function" : bare_name(name);
    if (base.starts_with(kIntrinsic)) base.erase(0, std::string_view(kIntrinsic).size());
    SubroutineCall x{name, std::move(arguments)};
    x.result = new_scalar(r_, base + "_value", logical ? Type(moonloop::Scalar::I32) : type, at);
    const Expr result = x.result;
    outside(std::move(x), at, out, type);
    return logical ? Expr(Compare{CompareOp::Ne, result, lit(0)}, at) : result;
  }

  /// Takes back what was put for `f`, whose call stays one.
  void give_up(const Routine& f, const Error& why, std::size_t before, const Span& at, Body& out) {
    keep_call(r_, f.name, at, why.diagnostics().front());
    out.resize(before);
    given_up_ = true;  // variables for it may be there already
  }

  /// Whether a call gives the optional arguments, as far as that does not depend on the caller's.
  std::map<std::string, bool> given_to(const Routine& f, const Exprs& arguments) const {
    std::map<std::string, bool> out;
    const std::vector<const Variable*> dummies = dummies_of(f);
    for (std::size_t i = 0; i < std::min(dummies.size(), arguments.size()); ++i) {
      if (!dummies[i]->optional) continue;
      const Expr& a = arguments[i];
      const Expr through =
          is_procedure(a) && !a.as<Call>()->args.empty() ? a.as<Call>()->args[0] : a;
      const Expr there = place_of(through, r_);
      if (!there || !r_.variables.at(written_name(there)).optional)
        out.emplace(dummies[i]->name, !is_absent(arguments[i]));
    }
    return out;
  }

  /// Fails where `f` has variables of a module that the caller does not know, or must not change.
  void check_reach(const Routine& f, const Span& at) const {
    const Routine* around = &r_;
    while (!around->host.empty()) around = find_routine(all_, around->host);
    std::optional<Uses> uses;
    for (const auto& [name, v] : f.variables) {
      if (!v.outer || around->home.is_in(v.outer->module)) continue;
      if (v.guarded && !uses) uses = uses_of(f);
      const std::string_view kind = f.home.submodules.count(v.outer->module) ? "submodule"
                                    : v.hidden || (v.guarded && uses->assigned.count(name))
                                        ? "module"
                                        : "";
      if (!kind.empty())
        fail("unsupported", at,
             "the call of `{}`, which has the {}variable `{}` of the {} `{}`, is not supported "
             "outside of that {}",
             bare_name(f.name),
             v.hidden    ? "private "
             : v.guarded ? "protected "
                         : "",
             v.outer->name, kind, v.outer->module, kind);
    }
  }

  /// Adds the body of `f`, and returns its result.
  Expr put(const Routine& f, const Exprs& given_arguments, const Span& at, Body& out) {
    const Exprs arguments = by_components(f, given_arguments);
    const auto [module, place] = module_of_fortran(f.body);
    const bool inside = module == kProgram ? r_.home.program : r_.home.is_in(module);
    check_reach(f, at);
    if (!module.empty() && r_.host.empty() && !inside)
      throw Error(Diagnostic{
          "unsupported",
          fmt::format("the call of `{}`, which has a statement with private names of the module "
                      "`{}`, is not supported outside of that module",
                      bare_name(f.name), module),
          {at, {}},
          {{place, "this statement"}},
          {}});
    for (const std::string& a : f.arguments)
      if (const auto& box = f.variables.at(a).box)
        throw Error(Diagnostic{
            "unsupported",
            fmt::format("the call of `{}`, {} Fortran keeps, is not supported "
                        "in Fortran kernels",
                        bare_name(f.name),
                        box->result ? "whose value" : "whose argument `" + box->name + "`"),
            {at, {}},
            {},
            {}});
    Routine callee = f;
    if (const auto given = given_to(f, arguments); !given.empty()) settle_presence(callee, given);
    const std::string stopped = may_stop(f.body) ? say_where_stopped(callee) : "";
    Body before, after;
    const Binding b(r_, callee, arguments, all_, assigned_, around_, at, before, after);
    assigned_.insert(b.changed().begin(), b.changed().end());
    append(std::move(before), out);
    append(b.body(callee.body), out);
    append(std::move(after), out);
    if (!stopped.empty()) {  // nothing runs after the program's end
      Body leave;
      leave.push_back({at, Leave{Leave::Kind::Return}});
      Choice c;
      c.arms.push_back({b.own(stopped), std::make_shared<Body>(std::move(leave))});
      out.push_back({at, std::move(c)});
    }
    return f.function && !result_of(f).array ? b.result() : Expr();
  }

  void subroutine(const SubroutineCall& c, const Span& at, Body& out) {
    const Routine* f = c.output ? nullptr : find_routine(all_, c.name);
    const bool inside = f && !outside_.contains(c.name);
    // C calls those by itself that linkers know by their names.
    const bool known_to_c = f && f->by_address && !f->by_address->in_module;
    const bool other_way = !c.otherwise.empty() && !known_to_c;
    const bool submodule = !f && !c.output && bare_name(c.name) != c.name;  // of another file
    if (c.gives_record && !inside)
      fail("unsupported", at,
           "the call of `{}`, which gives a derived type and stays a call, is not supported in "
           "Fortran kernels",
           bare_name(c.name));
    if ((submodule || (f && !inside)) && other_way) {
      SubroutineCall other = c.otherwise.front();
      settle_memory(other, r_);
      return subroutine(other, at, out);
    }
    if (c.gives_record) note_results(*f, c);
    SubroutineCall x{c.name, {}, {}, c.output, c.changes};
    x.effects = c.effects;
    for (const Expr& a : c.arguments) x.arguments.push_back(without_functions(a, at, out));
    if (inside && f->apart) {
      call_kernel(*f, x.arguments, at, out);
      return;
    }
    if (inside && (f->by_address || other_way) && !f->function) {
      if (put_where_it_fits(*f, x, at, out)) return;
      if (other_way) return subroutine(other_way_of(c, at, out), at, out);
    } else if (inside) {
      put(*f, x.arguments, at, out);
      return;
    }
    outside(std::move(x), at, out);
  }

  /// The caller's variables for the components that a function gives.
  void note_results(const Routine& f, const SubroutineCall& c) {
    std::size_t count = 0;
    for (const auto& [name, v] : f.variables)
      if (v.gives && !v.host)
        results_.insert(written_name(c.arguments.at(c.arguments.size() - ++count)));
  }

  /// The call in Fortran, which leaves scalars as they are that the callee does not change.
  SubroutineCall other_way_of(const SubroutineCall& c, const Span& at, Body& out) {
    SubroutineCall other = c.otherwise.front();
    settle_memory(other, r_);
    const std::set<std::string> changed = names_.of(Body{{at, c}}, r_);
    for (Expr& a : other.arguments)
      if (const auto* v = a.as<Var>();
          v && !changed.contains(v->name) && !r_.variables.at(v->name).array)
        a = copied(*v, at, out);
    return other;
  }

  /// Adds the body of `f`, unless that cannot take the call's place, as where its arrays have other
  /// axes than the caller's: then its call stays one.
  bool put_where_it_fits(const Routine& f, const SubroutineCall& x, const Span& at, Body& out) {
    const std::size_t before = out.size();
    try {
      put(f, x.arguments, at, out);
      return true;
    } catch (const Error& e) {
      give_up(f, e, before, at, out);
      return false;
    }
  }

  /// Leaves the variables out that are not among those `before` and that nothing uses.
  void drop_unused(const std::set<std::string>& before) {
    std::set<std::string> used;
    std::vector<Expr> queue;
    const std::function<void(const Body&)> visit = [&](const Body& b) {
      for (const Statement& s : b) {
        expressions(s, [&](const Expr& e) { queue.push_back(e); });
        if (const auto* d = std::get_if<Do>(&s.what)) used.insert(d->variable);
        for (const auto* inner : bodies(s)) visit(**inner);
      }
    };
    visit(r_.body);
    const auto bounds_of = [&](const std::string& name) {
      const auto it = r_.variables.find(name);
      if (it == r_.variables.end()) return;
      for (const Bounds& b : it->second.bounds) queue.push_back(b.lower), queue.push_back(b.upper);
    };
    for (const std::string& name : before) bounds_of(name);
    while (!queue.empty()) {
      std::set<std::string> names;
      if (const Expr e = std::exchange(queue.back(), Expr())) {
        collect_vars(e, names);
        collect_reads(e, names);
      }
      queue.pop_back();
      for (const std::string& n : names)
        if (used.insert(n).second) bounds_of(n);
    }
    const auto goes = [&](const std::string& name) {
      return !before.contains(name) && !used.contains(name);
    };
    std::erase_if(r_.variables, [&](const auto& v) { return goes(v.first); });
    std::erase_if(r_.arguments, goes);
  }

  /// An argument as a routine of another file gets it.
  Expr passed(const SubroutineCall& x, std::size_t n, const Span& at, Body& before, Body& after) {
    Expr a = x.arguments[n];
    const std::string& callee = x.name;
    const bool input = x.output && !may_change_argument(x, n);
    const auto refuse = [&](std::string_view what) {
      fail("unsupported", at, "{}, an argument of `{}`, {}, is not supported in Fortran kernels",
           what, callee,
           find_routine(all_, callee) ? "whose call stays one" : "which is in another file");
    };
    const auto* c = a.as<Compare>();
    if (c && (c->left.as<Var>() || c->left.as<Load>())) {  // a logical one, see program.h
      const auto it = r_.variables.find(written_name(c->left));
      if (it != r_.variables.end() && it->second.logical && (it->second.dummy || it->second.array))
        a = c->left;
    }
    const auto* v = a.as<Var>();
    Variable* whole = v || a.as<Load>() ? &r_.variables.at(written_name(a)) : nullptr;
    if (whole && whole->logical && whole->array) whole->kept = true;
    if (whole && (!whole->logical || whole->dummy || whole->array)) {
      const Expr first = first_in_memory(a, r_);
      if (!first && x.output && !whole->character)
        if (const Expr copy = gathered(a, !input, at, before, after)) return copy;
      if (!first) refuse(fmt::format("`{}`, which has gaps in memory", to_string(a)));
      return first;
    }
    if (!axes_of(a, r_).empty()) refuse("an expression of arrays");
    if (type_of(a, r_, all_) != Type(moonloop::Scalar::Bool)) return a;
    const Type type = whole ? whole->type : Type(moonloop::Scalar::I32);
    const Expr number = new_scalar(r_, whole ? whole->name : "flag", type, at);
    before.push_back({at, Assignment{number, Expr(Select{a, lit(1), lit(0)}, at)}});
    if (whole && !whole->constant && !input) {
      after.push_back({at, Assignment{a, Expr(Compare{CompareOp::Ne, number, lit(0)}, at)}});
      if (!whole->outer && !whole->saved && !whole->host) given_.insert(whole->name);
    }
    return number;
  }

  /// A section with gaps in memory, as one without, which goes back where it may be `changed`; null
  /// where its length is not known.
  Expr gathered(const Expr& section, bool changed, const Span& at, Body& before, Body& after) {
    const auto& l = *section.as<Load>();
    const Variable from = r_.variables.at(l.array);
    Variable copy = local_like(from, fresh_name(r_, l.array));
    copy.bounds.clear();
    Exprs there, here, lengths;
    std::size_t last = 0;
    for (std::size_t i = 0; i < l.index.size(); ++i) {
      const auto* s = l.index[i].as<Slice>();
      if (!s) {
        there.push_back(l.index[i]);
        continue;
      }
      const Expr step = s->step ? s->step : lit(1);
      const Expr start = s->start ? s->start : first_of(from.bounds[i]);
      const Expr stop = s->stop ? s->stop : from.bounds[i].upper;
      if (as_int(step) == 0 || !start || !stop) return Expr();
      here.push_back(new_scalar(r_, "axis", moonloop::Scalar::I32, at));
      there.push_back(index_add({start, index_mul(step, index_sub(here.back(), lit(1)))}));
      lengths.push_back(length(start, stop, step));
      copy.bounds.push_back({Expr(), lengths.back()});
      last = i;
    }
    // Where the section begins and ends along its last axis may be known only there.
    if (const Bounds& b = from.bounds[last]; b.upper)
      copy.bounds.back().upper = length(first_of(b), b.upper, 1);
    const auto move = [&](const Expr& to, const Expr& value, Body& out) {
      Statement s{at, Assignment{to, value}};
      for (std::size_t i = 0; i < here.size(); ++i) {  // the first axis innermost
        Do d;
        d.variable = written_name(here[i]);
        d.from = lit(1);
        d.to = lengths[i];
        d.body = std::make_shared<Body>(Body{std::move(s)});
        s = {at, std::move(d)};
      }
      out.push_back(std::move(s));
    };
    const Expr own = load(copy.name, here, at), place = load(l.array, there, at);
    move(own, place, before);
    if (changed) move(place, own, after);
    const std::string name = copy.name;
    r_.variables.emplace(name, std::move(copy));
    return var(name, at);
  }

  /// A scalar of the same value. Characters stay what they are.
  Expr copied(const Var& v, const Span& at, Body& out) {
    const Variable& from = r_.variables.at(v.name);
    if (from.character || from.logical || from.optional) return var(v.name, at);
    const Expr copy = new_scalar(r_, v.name, from.type, at);
    out.push_back({at, Assignment{copy, var(v.name, at)}});
    return copy;
  }

  /// A call of a routine in another file, or of one that is called like these.
  /// `gives`: the type of its value.
  void outside(SubroutineCall x, const Span& at, Body& out, const std::optional<Type>& gives = {}) {
    Body after;
    const Routine* known = find_routine(all_, x.name);
    if (known && !x.effects) x.effects = known->effects;
    const std::set<std::string> changed =
        known ? names_.of(Body{{at, x}}, r_) : std::set<std::string>{};
    const bool in_module = known ? known->by_address && known->by_address->in_module
                                 : bare_name(x.name) != x.name;  // in a submodule of another file
    const std::string callee = bare_name(x.name);
    if (in_module) {  // Fortran knows its name
      const bool is_private = known && known->by_address->is_private;
      x.arguments.insert(x.arguments.begin(), procedure_named(x.name, at, is_private));
      x.name = kThrough;
    }
    Exprs all;
    const bool letter = x.result && r_.variables.at(written_name(x.result)).character;
    const bool intrinsic = x.name.starts_with(kIntrinsic);
    const bool for_fortran =
        letter || intrinsic || std::any_of(x.arguments.begin(), x.arguments.end(), is_procedure);
    const auto declare = [&](const std::string& type) {
      if (for_fortran) x.declared.push_back(type);
    };
    for (std::size_t n = 0; n < x.arguments.size(); ++n) {
      Expr& a = x.arguments[n];
      const auto* v = a.as<Var>();
      if ((v || a.as<Load>()) && !r_.variables.count(written_name(a)))
        fail("unsupported", at,
             "`{}`, an argument of `{}` that is no variable here, is not supported in Fortran "
             "kernels",
             written_name(a), callee);
      if (known && v && !changed.contains(v->name) && !r_.variables.at(v->name).array)
        a = copied(*v, at, out);  // which the call does not seem to change then
      if (intrinsic && a.as<Load>() && !r_.variables.at(written_name(a)).character) {
        const Expr value = new_scalar(r_, "value", type_of(a, r_, all_), at);
        out.push_back({at, Assignment{value, a}});
        a = value;
      }
      const bool as_it_is = as_text(a) || as_letters(a) || is_procedure(a);
      const Expr before = a, given = as_it_is ? a : passed(x, n, at, out, after);
      if (for_fortran) declare(declared_type(before, given, r_, all_, at));
      all.push_back(given);
      if (!given.as<Var>() && !given.as<Load>()) continue;
      const Variable& passed_variable = r_.variables.at(written_name(given));
      if (passed_variable.character && passed_variable.array)
        all.push_back(text_length(letters_in(a, r_), at)), declare("");
    }
    if (x.result) declare(letter ? "character(1)" : type_in_fortran(*gives, at));
    x.arguments = std::move(all);
    out.push_back({at, std::move(x)});
    append(std::move(after), out);
  }

  Routine& r_;
  const std::vector<Routine>& all_;
  const AssignedNames& names_;
  const std::set<std::string>& outside_;
  bool given_up_ = false;           // a call stays that seemed to be one to replace
  std::set<std::string> assigned_;  // by earlier statements
  std::set<std::string> results_;   // for components that functions give
  std::set<std::string> given_;     // logical ones that calls in Fortran may change
  std::vector<const Do*> around_;   // the loops around the current statement
};

class Inlining {
 public:
  explicit Inlining(std::vector<Routine> all) : all_(std::move(all)) {}

  std::vector<Routine> run() {
    keep_entries();
    for (Routine& r : all_)
      if (!r.host.empty()) know_host(r);
    assigned_.emplace(all_);
    for (std::size_t i = 0; i < all_.size(); ++i) finish(i);
    std::erase_if(all_, [](const Routine& r) {
      return r.elsewhere || (!r.host.empty() && r.errors.empty() && !r.apart);
    });
    for (Routine& r : all_) {
      if (r.errors.empty()) try {
          call_procedures(r);
        } catch (const Error& e) { r.errors = e.diagnostics(); }
      r.name = r.apart ? kernel_name(r.name) : bare_name(r.name);
      if (r.apart && !r.host.empty()) r.home = {};  // no other file calls it
    }
    return std::move(all_);
  }

 private:
  enum class State { New, Open, Done };

  /// Before any expression takes the bounds of an array for its own. A routine within another one
  /// may assign that one's variables.
  void keep_entries() {
    const AssignedNames assigned(all_, true);
    for (Routine& r : all_)
      if (r.errors.empty()) keep_entry_values(r, assigned.of(r));
  }

  /// A routine within another one has that one's variables, and other names for its own.
  void know_host(Routine& r) const {
    const Routine* host = find_routine(all_, r.host);
    ensure(host != nullptr, "the routine around");
    if (!host->errors.empty()) r.errors = host->errors;
    if (!r.errors.empty()) return;
    std::map<std::string, std::string> names;
    for (const auto& [name, v] : host->variables) {
      if (!r.variables.count(name)) continue;
      if (v.outer && outer_key(v) == outer_key(r.variables.at(name))) continue;
      std::string own = name;
      for (int i = 1; r.variables.count(own) || host->variables.count(own); ++i)
        own = name + "_" + std::to_string(i);
      names[name] = own;
    }
    const auto now = [&](std::string& name) {
      if (const auto it = names.find(name); it != names.end()) name = it->second;
    };
    std::map<std::string, Variable> own;
    for (auto& [name, v] : r.variables) {
      now(v.name);
      now(v.entry_of);
      now(v.lower_of);
      now(v.present_of);
      now(v.memory_of);
      for (Bounds& b : v.bounds)
        for (Expr* e : {&b.lower, &b.upper})
          if (*e) *e = rename(*e, names);
      own.emplace(v.name, std::move(v));
    }
    r.variables = std::move(own);
    for (std::string& a : r.arguments) now(a);
    rename_in(r.body, names);
    for (auto [name, v] : host->variables) {
      v.host = true;
      r.variables.emplace(name, std::move(v));
    }
  }

  /// Inlines the routine's calls; failures are added to its errors.
  void finish(std::size_t i) {
    State& state = state_[i];
    if (state == State::Done) return;
    state = State::Open;
    Routine& r = all_[i];
    if (r.errors.empty()) try {
        const std::set<std::string> outside = finish_callees(r);
        keep_callers_apart(r);
        type_functions(r.body, outside, all_);
        expand_arrays(r, all_);
        Calls(r, all_, *assigned_, outside).run();
        remove_early_exits(r);
        if (r.apart && !r.host.empty()) adopt_host(r);
      } catch (const Error& e) { r.errors = e.diagnostics(); }
    state = State::Done;
  }

  /// A loop that calls what has statements for one thread at a time has these, too.
  void keep_callers_apart(Routine& r) const {
    std::set<std::string> apart;
    for (const auto& [name, at] : calls_of(r.body))
      if (const Routine* f = find_routine(all_, name); f && f->kept_apart) apart.insert(name);
    if (apart.empty()) return;
    r.kept_apart = true;
    keep_loops_apart(r.body, apart);
  }

  static void keep_loops_apart(Body& body, const std::set<std::string>& callees) {
    for (Statement& s : body) {
      for (auto* inner : bodies(s)) keep_loops_apart(**inner, callees);
      auto* d = std::get_if<Do>(&s.what);
      if (!d || !d->directive) continue;
      const auto all = calls_of(*d->body);
      if (std::none_of(all.begin(), all.end(),
                       [&](const auto& c) { return callees.count(c.first) > 0; }))
        continue;
      Directive own = *d->directive;
      own.kept_apart = true;
      d->directive = std::make_shared<const Directive>(std::move(own));
    }
  }

  /// Makes arguments of the variables of the routine around that a kernel of its own uses.
  static void adopt_host(Routine& r) {
    const Uses uses = uses_of(r);
    std::set<std::string> used = uses.assigned;
    used.insert(uses.read.begin(), uses.read.end());
    used.insert(uses.loops.begin(), uses.loops.end());
    for (const std::string& a : r.arguments) used.insert(a);
    for (bool more = true; more;) {  // bounds need others
      const std::size_t before = used.size();
      for (const auto& [name, v] : r.variables)
        for (const Bounds& b : v.bounds)
          for (const Expr& e : {b.lower, b.upper})
            if (e && used.count(name)) collect_vars(e, used);
      more = used.size() > before;
    }
    for (auto& [name, v] : r.variables) {
      if (!v.host || !used.count(name)) continue;
      v.host = false;
      if (v.constant && !v.dummy) continue;  // a table
      if (v.optional || (!v.outer && !v.dummy && (v.allocatable || v.pointer)))
        fail("unsupported", r.at,
             "`{}` of the routine around, which `{}` uses, is not supported for a function of its "
             "own",
             name, bare_name(r.name));
      v.dummy = true;
      v.intent = Intent::Unknown;
      if (!is_ours(v) && !v.outer) r.adopted.push_back(name);
      if (std::find(r.arguments.begin(), r.arguments.end(), name) == r.arguments.end())
        r.arguments.push_back(name);
    }
    std::erase_if(r.variables, [](const auto& v) { return v.second.host; });
  }

  /// Gives those that are called as routines of other files are: those that are being inlined
  /// already, as they call themselves, and those that are no kernels.
  std::set<std::string> finish_callees(Routine& r) {
    std::set<std::string> outside;
    for (const auto& [name, at] : calls_of(r.body)) {
      const Routine* f = find_routine(all_, name);
      if (!f) continue;
      const auto number = static_cast<std::size_t>(f - all_.data());
      if (state_[number] == State::Open) {
        const bool alone =
            !f->function && !f->gives_record && f->host.empty() && name == bare_name(name);
        if (!alone && !f->by_address && !has_other_way(r.body, name))
          fail(
              "unsupported", at,
              "`{}`, which calls itself and whose arguments or value are more than plain variables "
              "and arrays, is not supported in Fortran kernels",
              bare_name(name));
        outside.insert(name);
        continue;
      }
      finish(number);
      if (f->errors.empty()) continue;
      if (f->by_address || has_other_way(r.body, name)) {
        outside.insert(name);
        keep_call(r, name, at, f->errors.front());
        continue;
      }
      Diagnostic d{
          "unsupported",
          fmt::format("the call of `{}`, which is not a kernel, is not supported in Fortran "
                      "kernels",
                      bare_name(name)),
          {at, {}},
          {},
          {}};
      const Diagnostic& why = f->errors.front();
      d.notes.push_back({why.where.at, why.text});
      throw Error(std::move(d));
    }
    return outside;
  }

  std::vector<Routine> all_;
  std::optional<AssignedNames> assigned_;  // before anything is inlined
  std::map<std::size_t, State> state_;
};

}  // namespace

std::vector<Routine> inline_calls(std::vector<Routine> routines) {
  return Inlining(std::move(routines)).run();
}

}  // namespace moonloop::fortran
