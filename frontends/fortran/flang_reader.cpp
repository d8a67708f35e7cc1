#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "core/base/diagnostic.h"
#include "frontends/fortran/crash.h"
#include "frontends/fortran/directive_text.h"
#include "frontends/fortran/entries.h"
#include "frontends/fortran/flang_analysis.h"
#include "frontends/fortran/flang_boxes.h"
#include "frontends/fortran/flang_effects.h"
#include "frontends/fortran/flang_records.h"
#include "frontends/fortran/flang_wrong.h"
#include "frontends/fortran/memory_flags.h"
#include "frontends/fortran/modules.h"
#include "frontends/fortran/names.h"
#include "frontends/fortran/passes.h"
#include "frontends/fortran/pointers.h"
#include "frontends/fortran/project.h"
#include "frontends/fortran/regions.h"
#include "frontends/fortran/temporary_files.h"
#include "frontends/fortran/unknown_modules.h"
#include "frontends/fortran/uses.h"

// Files, and the routines in them.
namespace moonloop::fortran {
namespace {

// ---- Files.

class Units {
 public:
  using Unknown = std::map<std::string, UnknownModules>;  // that a module uses, by its name

  /// `unreadable`: errors of files with modules. `errors`: Flang's, of all units. `unknown`: of the
  /// modules read so far. `elsewhere`: see Routine.
  Units(const Places& places, const ModuleFiles& files, const std::vector<Diagnostic>& unreadable,
        std::vector<Diagnostic> errors, Unknown& unknown, const ProcedureEffects& procedures,
        bool skip_output, bool elsewhere)
      : places_(places),
        files_(files),
        unreadable_(unreadable),
        errors_(std::move(errors)),
        unknown_(unknown),
        procedures_(procedures),
        skip_output_(skip_output),
        elsewhere_(elsewhere) {}

  /// Throws the errors that are in no routine and do not follow from an unknown module.
  std::vector<Routine> read(const fp::Program& program) {
    if (!errors_.empty() && !elsewhere_)
      wrong_ = std::make_shared<const WrongDeclarations>(program, places_, errors_);
    for (const fp::ProgramUnit& u : program.v) {
      if (const auto* m = std::get_if<Fortran::common::Indirection<fp::Module>>(&u.u))
        module(m->value());
      else if (const auto* p = std::get_if<Fortran::common::Indirection<fp::MainProgram>>(&u.u))
        main_program(p->value());
      else if (const auto* s = std::get_if<Fortran::common::Indirection<fp::Submodule>>(&u.u))
        submodule(s->value());
      else
        subprogram(u.u, "");
    }
    leave_out_interfaces(program);
    if (!errors_.empty() && (elsewhere_ || !some_unknown_)) throw Error(std::move(errors_));
    for (Routine& r : routines_)
      r.home.modules = r.home.program ? std::vector{all_of(*r.home.source)} : modules_;
    return std::move(routines_);
  }

 private:
  void main_program(const fp::MainProgram& p) {
    if (elsewhere_) return;
    const auto& head = std::get<0>(p.t);
    Routine r;
    r.name = head ? fp::ToLowerCaseLetters(head->statement.v.ToString()) : "the main program";
    if (head) r.at = places_.of(head->source);
    const Span end = places_.of(std::get<fp::Statement<fp::EndProgramStmt>>(p.t).source);
    r.home.source = end.source;
    r.home.routine = {head ? r.at.line : 1, end.line};
    r.is_program = true;
    guard(r, [&] { unsupported(r.at, "a main program"); });
    const std::size_t at = routines_.size();
    routines_.push_back(std::move(r));
    const UnknownModules around = std::exchange(around_, used_by(std::get<1>(p.t)));
    const bool known = around_.uses.empty();  // others have errors because of that
    home_.program = true;
    inner(std::get<std::optional<fp::InternalSubprogramPart>>(p.t), "");
    home_ = {};
    around_ = around;
    const std::vector<Diagnostic> own = errors_in(end.source, routines_[at].home.routine);
    if (known) routines_[at].errors.insert(routines_[at].errors.end(), own.begin(), own.end());
  }

  /// Its procedures are those of the module, whose names they know.
  void submodule(const fp::Submodule& m) {
    const auto& head = std::get<fp::Statement<fp::SubmoduleStmt>>(m.t);
    FortranFile::Home home;
    home.module = std::get<0>(std::get<fp::ParentIdentifier>(head.statement.t).t).ToString();
    const sem::Symbol* own = std::get<fp::Name>(head.statement.t).symbol;
    for (const sem::Scope* s = own ? own->scope() : nullptr; s && s->IsSubmodule();
         s = &s->parent())
      home.submodules.insert(DEREF(s->symbol()).name().ToString());
    if (const auto it = unknown_.find(home.module); it != unknown_.end()) around_ = it->second;
    around_ = used_by(std::get<fp::SpecificationPart>(m.t));
    home.around = {places_.of(head.source).line,
                   places_.of(std::get<fp::Statement<fp::EndSubmoduleStmt>>(m.t).source).line};
    procedures(std::get<std::optional<fp::ModuleSubprogramPart>>(m.t), home,
               places_.of(head.source).source);
  }

  /// Of a module or submodule.
  void procedures(const std::optional<fp::ModuleSubprogramPart>& part,
                  const FortranFile::Home& home, const Source* source) {
    modules_.push_back(home.around);
    home_ = home;
    if (part)
      for (const fp::ModuleSubprogram& s : std::get<std::list<fp::ModuleSubprogram>>(part->t))
        subprogram(s.u, "");
    home_ = {};
    if (!around_.uses.empty() && !elsewhere_)
      errors_in(source, home.around);  // of names that are not known
    around_ = {};
  }

  void inner(const std::optional<fp::InternalSubprogramPart>& part, const std::string& host) {
    if (!part) return;
    for (const fp::InternalSubprogram& i : std::get<std::list<fp::InternalSubprogram>>(part->t))
      subprogram(i.u, host);
  }

  /// Interfaces of modules, in other files or included, may have types that Flang does not have,
  /// such as reals of 16 bytes: these are in no other name's way.
  void leave_out_interfaces(const fp::Program& program) {
    for (const fp::ProgramUnit& u : program.v) {
      const auto* m = std::get_if<Fortran::common::Indirection<fp::Module>>(&u.u);
      if (!m) continue;
      const auto& part = std::get<fp::SpecificationPart>(m->value().t);
      const Span own = places_.of(std::get<fp::Statement<fp::ModuleStmt>>(m->value().t).source);
      for (const fp::DeclarationConstruct& d :
           std::get<std::list<fp::DeclarationConstruct>>(part.t)) {
        const auto* s = std::get_if<fp::SpecificationConstruct>(&d.u);
        const auto* i =
            s ? std::get_if<Fortran::common::Indirection<fp::InterfaceBlock>>(&s->u) : nullptr;
        if (!i) continue;
        const Span first =
            places_.of(std::get<fp::Statement<fp::InterfaceStmt>>(i->value().t).source);
        const Span last =
            places_.of(std::get<fp::Statement<fp::EndInterfaceStmt>>(i->value().t).source);
        if (elsewhere_ || first.source != own.source)
          errors_in(first.source, {first.line, last.line});
      }
    }
  }

  static FortranFile::Lines all_of(const Source& s) {
    return {1, static_cast<int>(s.line_starts.size())};
  }

  /// The unknown modules that a scope uses, by way of others too.
  UnknownModules used_by(const fp::SpecificationPart& part) {
    UnknownModules out = around_;
    using Use = fp::Statement<Fortran::common::Indirection<fp::UseStmt>>;
    for (const Use& s : std::get<std::list<Use>>(part.t)) {
      const fp::UseStmt& use = s.statement.value();
      const std::string name = use.moduleName.ToString();
      UnknownModules here;
      if (!use.moduleName.symbol) {
        here.uses[name].at = places_.of(use.moduleName.source);
        some_unknown_ = true;
      } else if (const auto it = unknown_.find(name); it != unknown_.end()) {
        here = it->second;
      }
      if (const auto* only = std::get_if<std::list<fp::Only>>(&use.u))
        for (auto& [module, own] : here.uses) own.only = names_of(*only);
      out.add(here);
    }
    some_unknown_ = some_unknown_ || !out.uses.empty();
    return out;
  }

  /// Errors of Flang's as what they follow from: names that an unknown module may have.
  void blame_unknown(const UnknownModules& u, std::vector<Diagnostic>& errors) const {
    const auto follows = [](const Diagnostic& d) { return d.code == "fortran"; };
    const auto first = std::find_if(errors.begin(), errors.end(), follows);
    if (first == errors.end()) return;
    const auto& [module, use] = *u.uses.begin();
    Diagnostic d{"fortran",
                 fmt::format("the source of the module `{}` is not found", module),
                 {use.at, {}},
                 {{first->where.at, first->text}},
                 "name its folder with -I"};
    if (const auto it = files_.compiled.find(module); it != files_.compiled.end())
      d.text = fmt::format("of module `{}` there is only `{}`, which another compiler has written",
                           module, it->second);
    if (const auto it = files_.homes.find(module); it != files_.homes.end()) {
      d.text = fmt::format("`{}`, which has the module `{}`, cannot be read", it->second, module);
      d.hint.clear();
    }
    for (const Diagnostic& wrong : unreadable_) d.notes.push_back({wrong.where.at, wrong.text});
    std::erase_if(errors, follows);
    errors.insert(errors.begin(), std::move(d));
  }

  static std::set<std::string> names_of(const std::list<fp::Only>& only) {
    std::set<std::string> out;
    for (const fp::Only& o : only) {
      if (const auto* n = std::get_if<fp::Name>(&o.u)) out.insert(n->ToString());
      const auto* generic = std::get_if<Fortran::common::Indirection<fp::GenericSpec>>(&o.u);
      if (const auto* n = generic ? std::get_if<fp::Name>(&generic->value().u) : nullptr)
        out.insert(n->ToString());
      const auto* rename = std::get_if<fp::Rename>(&o.u);
      if (const auto* n = rename ? std::get_if<fp::Rename::Names>(&rename->u) : nullptr)
        out.insert(std::get<0>(n->t).ToString());
    }
    return out;
  }

  /// Takes the errors out that are on these lines.
  std::vector<Diagnostic> errors_in(const Source* source, const FortranFile::Lines& lines) {
    std::vector<Diagnostic> out;
    std::erase_if(errors_, [&](Diagnostic& d) {
      const Span& at = d.where.at;
      if (at.source != source || at.line < lines.first || at.line > lines.last) return false;
      out.push_back(std::move(d));
      return true;
    });
    return out;
  }

  /// An error in `f` is the reason why `r` is not a kernel.
  template <typename F>
  static void guard(Routine& r, F f) {
    try {
      f();
    } catch (const Error& e) { r.errors = e.diagnostics(); }
  }

  void module(const fp::Module& m) {
    const auto& head = std::get<fp::Statement<fp::ModuleStmt>>(m.t);
    const FortranFile::Lines lines{
        places_.of(head.source).line,
        places_.of(std::get<fp::Statement<fp::EndModuleStmt>>(m.t).source).line};
    around_ = used_by(std::get<fp::SpecificationPart>(m.t));
    FortranFile::Home home;
    home.module = head.statement.v.ToString();
    home.around = lines;
    if (!around_.uses.empty()) unknown_[home.module] = around_;
    procedures(std::get<std::optional<fp::ModuleSubprogramPart>>(m.t), home,
               places_.of(head.source).source);
  }

  template <typename Variant>
  void subprogram(const Variant& u, const std::string& host) {
    std::visit(Fortran::common::visitors{
                   [&](const Fortran::common::Indirection<fp::SubroutineSubprogram>& x) {
                     subroutine(x.value(), host);
                   },
                   [&](const Fortran::common::Indirection<fp::FunctionSubprogram>& x) {
                     function(x.value(), host);
                   },
                   [&](const Fortran::common::Indirection<fp::SeparateModuleSubprogram>& x) {
                     separate(x.value());
                   },
                   [&](const auto&) {}},
               u);
  }

  void separate(const fp::SeparateModuleSubprogram& s) {
    const auto& head = std::get<fp::Statement<fp::MpSubprogramStmt>>(s.t);
    if (!head.statement.v.symbol) return;  // Flang says why
    between(head.source, std::get<fp::Statement<fp::EndMpSubprogramStmt>>(s.t).source);
    routine(s, head.statement.v, "");
  }

  void subroutine(const fp::SubroutineSubprogram& s, const std::string& host) {
    const auto& head = std::get<fp::Statement<fp::SubroutineStmt>>(s.t);
    between(head.source, std::get<fp::Statement<fp::EndSubroutineStmt>>(s.t).source);
    routine(s, std::get<fp::Name>(head.statement.t), host);
  }

  /// The first and the last line of the current routine.
  void between(fp::CharBlock first, fp::CharBlock last) {
    const Span from = places_.of(first);
    home_.source = from.source;
    home_.routine = {from.line, places_.of(last).line};
  }

  void function(const fp::FunctionSubprogram& s, const std::string& host) {
    const auto& head = std::get<fp::Statement<fp::FunctionStmt>>(s.t);
    between(head.source, std::get<fp::Statement<fp::EndFunctionStmt>>(s.t).source);
    routine(s, std::get<fp::Name>(head.statement.t), host);
  }

  /// `host`: the routine that it is in, if any.
  template <typename Subprogram>
  void routine(const Subprogram& s, const fp::Name& name, const std::string& host) {
    const UnknownModules around =
        std::exchange(around_, used_by(std::get<fp::SpecificationPart>(s.t)));
    const auto& part = std::get<std::optional<fp::InternalSubprogramPart>>(s.t);
    FortranFile::Lines lines = home_.routine;
    if (part)
      lines.last = places_.of(std::get<fp::Statement<fp::ContainsStmt>>(part->t).source).line;
    std::vector<Diagnostic> errors = errors_in(home_.source, lines);
    if (wrong_ && errors.empty()) errors = wrong_->used_in(home_.source, lines);
    std::vector<EntryPoint> points;
    const std::vector<const fp::Name*> names = names_of_entries(s, name, points);
    for (std::size_t n = 0; n < names.size(); ++n) {
      Routine r;
      r.name = routine_name(*names[n]->symbol);
      r.host = host;
      r.at = places_.of(names[n]->source);
      r.elsewhere = elsewhere_;
      r.wrong = wrong_;
      r.by_address = by_address(*names[n]->symbol);
      if (const auto* known = procedures_.of(*names[n]->symbol)) r.effects = known->effects;
      if (host.empty())
        r.home = home_;
      else
        r.home.routine = home_.routine;
      if (names.size() > 1)
        for (const EntryPoint& p : points) r.home.entries.push_back(p.name);
      if (!around_.uses.empty()) r.unknown = std::make_shared<const UnknownModules>(around_);
      r.errors = errors;
      if (r.errors.empty()) guard(r, [&] { contents(s, *names[n]->symbol, points, n, r); });
      if (r.unknown) blame_unknown(*r.unknown, r.errors);
      routines_.push_back(std::move(r));
    }
    inner(part, routine_name(*name.symbol));
    around_ = around;
  }

  /// Where a subprogram may be called, itself first.
  template <typename Subprogram>
  static std::vector<const fp::Name*> names_of_entries(const Subprogram& s, const fp::Name& name,
                                                       std::vector<EntryPoint>& points) {
    using Entry = fp::Statement<Fortran::common::Indirection<fp::EntryStmt>>;
    std::vector<const fp::Name*> out;
    const auto add = [&](const fp::Name& n, const std::optional<std::uint64_t>& label) {
      const auto* d =
          n.symbol ? n.symbol->GetUltimate().detailsIf<sem::SubprogramDetails>() : nullptr;
      if (!d && !out.empty()) return;  // Flang has found errors
      EntryPoint p{n.ToString(), label, {}, {}, false};
      for (const sem::Symbol* a : d ? d->dummyArgs() : std::vector<sem::Symbol*>{})
        if (a)
          p.arguments.insert(a->name().ToString());
        else
          p.has_alternates = true;
      if (d && d->isFunction()) p.result = d->result().name().ToString();
      points.push_back(std::move(p));
      out.push_back(&n);
    };
    add(name, std::nullopt);
    const auto& part = std::get<fp::SpecificationPart>(s.t);
    for (const fp::ImplicitPartStmt& i : std::get<fp::ImplicitPart>(part.t).v)
      if (const auto* e = std::get_if<Entry>(&i.u))
        add(std::get<fp::Name>(e->statement.value().t), std::nullopt);
    for (const auto& d : std::get<std::list<fp::DeclarationConstruct>>(part.t))
      if (const auto* e = std::get_if<Entry>(&d.u))
        add(std::get<fp::Name>(e->statement.value().t), std::nullopt);
    std::size_t number = 0;
    for (const auto& c : std::get<fp::ExecutionPart>(s.t).v)
      if (const auto* e = std::get_if<Entry>(&c.u))
        add(std::get<fp::Name>(e->statement.value().t), label_of_entry(number++));
    return out;
  }

  /// The routine at `points[own]`, of this name, into `r`.
  template <typename Subprogram>
  void contents(const Subprogram& s, const sem::Symbol& name, const std::vector<EntryPoint>& points,
                std::size_t own, Routine& r) {
    const Span at = r.at;
    const sem::Symbol& symbol = name.GetUltimate();
    const auto& details = symbol.get<sem::SubprogramDetails>();
    const sem::Symbol* result = details.isFunction() ? &details.result() : nullptr;
    const sem::Scope& scope = DEREF(details.entryScope() ? details.entryScope() : symbol.scope());
    r.home.pure = sem::IsPureProcedure(symbol);
    r.home.elemental = symbol.attrs().test(sem::Attr::ELEMENTAL);
    r.home.recursive = symbol.attrs().test(sem::Attr::RECURSIVE);
    if (symbol.attrs().test(sem::Attr::MODULE)) {
      const sem::Symbol* declared = details.moduleInterface();
      const auto& own = declared ? declared->get<sem::SubprogramDetails>() : details;
      r.home.separate = own.isFunction() ? own.result().name().ToString() : "";
    }
    if (symbol.attrs().test(sem::Attr::BIND_C))
      r.home.bound = symbol.GetBindName() ? *symbol.GetBindName() : "";
    read_hints(std::get<fp::SpecificationPart>(s.t), places_, r);
    std::vector<Diagnostic> errors;
    const auto attempt = [&](const auto& f) {
      try {
        f();
      } catch (const Error& e) {
        errors.insert(errors.end(), e.diagnostics().begin(), e.diagnostics().end());
      }
    };
    const bool has_inner = std::get<std::optional<fp::InternalSubprogramPart>>(s.t).has_value();
    attempt([&] { read_declarations(scope, places_, r); });
    if (points.size() > 1 && !r.defaults.empty())
      attempt([&] {
        unsupported(r.defaults.front().at, "the initial value of a component beside `entry`");
      });
    const std::string way = alternate_return(details, scope, points, r);
    const std::string alternate = points[own].has_alternates ? way : "";
    attempt([&] {
      read_statements(std::get<fp::ExecutionPart>(s.t).v, scope, places_, skip_output_, procedures_,
                      has_inner, r);
      settle_own_memory(r);
      set_defaults(r, 0, has_inner, r.body);
    });
    if (points.size() > 1)
      attempt([&] {
        for (const std::string& name : r.boxed)
          unsupported(at,
                      fmt::format("`{}`, which Fortran keeps, in a routine with `entry`", name));
        if (has_inner) unsupported(at, "`entry` in a routine that contains others");
        if (errors.empty()) begin_at(r, points, own, way);
      });
    if (!way.empty() && alternate.empty()) r.variables.erase(way);
    if (!alternate.empty())
      r.body.insert(r.body.begin(), {at, Assignment{var(alternate, at), lit(0)}});
    attempt([&] { share_storage(r); });
    // Routines inside may use all variables; so may what could not be read.
    const bool all = !errors.empty() || has_inner;
    const std::set<std::string> used = names_in(r);
    std::vector<Diagnostic> declared;
    for (const auto& [own, why] : r.unreadable)
      if ((all && !r.boxed.contains(own)) || used.contains(own))
        declared.insert(declared.end(), why.begin(), why.end());
    errors.insert(errors.begin(), declared.begin(), declared.end());
    if (!errors.empty()) throw Error(std::move(errors));
    check_boxes_around(used, r);
    attach_independence(r);
    check_calls(scope, r);
    read_declarations_around(scope, places_, r);
    settle_memory(r);
    put_record_calls(std::get<fp::ExecutionPart>(s.t).v, places_, r);
    structure_jumps(r);
    resolve_pointers(r);
    note_per_thread(r);
    for (const sem::Symbol* dummy : details.dummyArgs()) {
      if (!dummy) continue;
      if (dummy->attrs().test(sem::Attr::VALUE)) r.home.values.insert(dummy->name().ToString());
      note_intent(*dummy, r);
      argument(dummy->name().ToString(), *dummy, r);
    }
    if (!alternate.empty()) {
      r.arguments.push_back(alternate);
      r.home.alternate = alternate;
      r.home.alternates = r.variables.at(alternate).alternates;
    }
    if (result) {
      const auto type = ev::DynamicType::From(result->GetUltimate());
      r.gives_record = type && type->category() == TypeCategory::Derived &&
                       !r.boxed.contains(result->name().ToString());
      r.function = !r.gives_record;
      if (r.gives_record && points.size() > 1)
        unsupported(at, "a function with `entry` that gives a derived type");
      argument(result->name().ToString(), *result, r);
    }
    for (const std::string& a : std::vector<std::string>(r.arguments))
      for (const Bounds& b : r.variables.at(a).bounds)
        if (const std::string extent = extent_of(b, r);
            !extent.empty() &&
            std::find(r.arguments.begin(), r.arguments.end(), extent) == r.arguments.end())
          r.arguments.push_back(extent);
    for (const auto& [own, v] : r.variables)
      if (v.outer || (is_ours(v) && !v.extent && v.entry_of.empty()))
        if (std::find(r.arguments.begin(), r.arguments.end(), own) == r.arguments.end())
          r.arguments.push_back(own);
  }

  /// Fortran's statements for a routine inside of another one do not get that one's boxes.
  void check_boxes_around(const std::set<std::string>& used, const Routine& r) const {
    for (const Routine* host = find_routine(routines_, r.host); host;
         host = find_routine(routines_, host->host))
      for (const std::string& name : host->boxed)
        if (used.contains(name) && !r.variables.count(name))
          unsupported(r.at, fmt::format("`{}`, which Fortran keeps, in a routine inside", name));
  }

  /// A procedure that nothing declares may be an unknown module's, and then has another name for
  /// the linker. Flang gives such a one the place of its first call.
  void check_calls(const sem::Scope& scope, const Routine& r) const {
    if (!r.unknown) return;
    for (const auto& [name, at] : calls_of(r.body)) {
      const std::string module = r.unknown->of(name);
      const sem::Symbol* s = module.empty() ? nullptr : scope.FindSymbol(fp::CharBlock{name});
      if (s && !s->has<sem::SubprogramDetails>() && places_.of(s->name()).line == at.line)
        fail("fortran", at, "`{}`, which is called here, may be in the module `{}`", name, module);
    }
  }

  /// The argument that says which of the caller's labels is next; empty where there are none.
  /// Other entries' `return` may need one where this one has none.
  static std::string alternate_return(const sem::SubprogramDetails& details,
                                      const sem::Scope& scope,
                                      const std::vector<EntryPoint>& points, Routine& r) {
    Variable v;
    int before = 0;
    for (const sem::Symbol* dummy : details.dummyArgs())
      if (dummy)
        ++before;
      else
        v.alternates.push_back(before);
    if (std::none_of(points.begin(), points.end(), [](const auto& p) { return p.has_alternates; }))
      return {};
    if (v.alternates.empty()) v.alternates.push_back(-1);
    v.name = "alternate";
    while (r.variables.count(v.name) || scope.FindSymbol(fp::CharBlock{v.name})) v.name += "_";
    v.at = r.at;
    v.type = moonloop::Scalar::I32;
    v.dummy = true;
    v.intent = Intent::Out;
    return r.variables.emplace(v.name, std::move(v)).first->first;
  }

  static void note_intent(const sem::Symbol& dummy, Routine& r) {
    for (const auto& [intent, word] :
         {std::pair(sem::Attr::INTENT_IN, "in"), std::pair(sem::Attr::INTENT_OUT, "out"),
          std::pair(sem::Attr::INTENT_INOUT, "inout")})
      if (dummy.attrs().test(intent)) r.home.intents.emplace(dummy.name().ToString(), word);
  }

  /// For a derived type, one for each component.
  void argument(const std::string& name, const sem::Symbol& symbol, Routine& r) {
    if (r.boxed.contains(name)) {
      const std::string address = address_of_box(name, r);
      r.home.boxes.emplace(address, *r.variables.at(address).box);
      return r.arguments.push_back(address);
    }
    const auto type = ev::DynamicType::From(symbol.GetUltimate());
    if (type && type->category() == TypeCategory::Derived) {
      const std::size_t before = r.arguments.size();
      for (const sem::Symbol* c : components_of(type_of_record(*type, r.at), r.at))
        if (!leads_back(*c)) argument(name + "_" + c->name().ToString(), *c, r);
      if (r.arguments.size() == before && sem::IsDummy(symbol.GetUltimate()))
        unsupported(r.at, fmt::format("`{}` of a type without components", name));
      return;
    }
    if (!r.variables.count(name)) unsupported(r.at, fmt::format("the dummy procedure `{}`", name));
    r.arguments.push_back(name);
  }

  const Places& places_;
  const ModuleFiles& files_;
  const std::vector<Diagnostic>& unreadable_;
  std::vector<Diagnostic> errors_;  // in no routine so far
  Unknown& unknown_;
  const ProcedureEffects& procedures_;
  UnknownModules around_;  // of the current scope
  std::shared_ptr<const WrongDeclarations> wrong_;
  bool some_unknown_ = false;
  bool skip_output_, elsewhere_;
  FortranFile::Home home_;  // of the current routine
  std::vector<FortranFile::Lines> modules_;
  std::vector<Routine> routines_;
};

}  // namespace

std::vector<Routine> read_routines(const Source* source, const FortranOptions& how) {
  const std::string& name = source->name;
  const bool fixed = is_fixed_form(name, how);
  // Made here, so that they go also when Flang crashes.
  const DirectiveText readable = readable_directives(*source, fixed, how.openmp.value_or(false));
  require_no_conditional_includes(source, fixed, how);
  const File file(source, readable.text, fixed, is_preprocessed(name));
  const Folder modules;
  const ModuleFiles others = files_of_modules(source, how);
  const auto copies = readable_copies(others.paths, name, how);
  std::vector<Routine> out, used;
  std::string at_hand;
  const int signal = crash_of([&] {
    FortranOptions around = how;  // what is included from the source's own folder
    if (file.path() != name)
      around.include_folders.push_back((std::filesystem::path(name).parent_path() / ".").string());
    Analysis analysis(source, file.path(), around, modules.path());
    Units::Unknown unknown;
    ProcedureEffects procedures;
    std::vector<Diagnostic> unreadable;
    const auto read = [&](const std::string& path, const FortranOptions& own, bool elsewhere) {
      at_hand = elsewhere ? path : name;
      const auto copy = elsewhere ? copies.find(path) : copies.end();
      if (copy != copies.end())
        analysis.places().know(copy->second.file->path(), copy->second.source);
      auto [program, errors] =
          analysis.add(copy != copies.end() ? copy->second.file->path() : path, own);
      procedures.add(program, analysis.places(), errors);
      return Units(analysis.places(), others, unreadable, std::move(errors), unknown, procedures,
                   how.skip_output, elsewhere)
          .read(program);
    };
    std::vector<std::string> paths = others.paths;
    if (others.header_of_mpi) {
      paths.insert(paths.begin(), modules.path() + "/mpi.f90");
      std::ofstream(paths.front()) << "module mpi\n  include 'mpif.h'\nend module\n";
    }
    for (const std::string& path : paths) try {
        for (Routine& r : read(path, options_elsewhere(path, name, how), true))
          used.push_back(std::move(r));
      } catch (const Error& e) {  // what uses its modules says so
        unreadable.insert(unreadable.end(), e.diagnostics().begin(), e.diagnostics().end());
        analysis.forget_modules();
      }
    FortranOptions own = around;
    own.fixed_form = fixed;
    out = naming_unknown_clauses(*source, fixed, [&] { return read(file.path(), own, false); });
    note_dropped(readable, how, out);
  });
  if (signal != 0)
    throw Error(Diagnostic{
        "fortran",
        fmt::format("Flang, which reads Fortran, crashed on `{}` (signal {})", at_hand, signal),
        {Span{source, 1, 1, 1}, {}},
        {},
        "it has a statement that Flang cannot take; leave routines out to find it"});
  std::move(used.begin(), used.end(), std::back_inserter(out));
  return out;
}

}  // namespace moonloop::fortran
