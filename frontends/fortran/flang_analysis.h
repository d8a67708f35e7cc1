#pragma once
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <list>
#include <set>
#include <string_view>

#include "frontends/fortran/flang.h"
#include "frontends/fortran/nesting.h"
#include "frontends/fortran/project.h"

namespace moonloop::fortran {

/// Flang's messages of errors, each once, those with a place first; no warnings.
inline void collect(fp::Messages& messages, const Places& places, const fp::AllCookedSources& cooked,
             std::vector<Diagnostic>& out) {
  std::set<std::pair<std::string, std::string>> said;
  for (const fp::Message& m : messages.messages()) {
    if (!m.IsFatal()) continue;
    const Span at = places.of(m.GetProvenanceRange(cooked));
    if (said.emplace(at.str(), m.ToString()).second)
      out.push_back({"fortran", m.ToString(), {at, {}}, {}, {}});
  }
  // At the end of a file some are nowhere.
  std::stable_partition(out.begin(), out.end(),
                        [](const Diagnostic& d) { return bool(d.where.at); });
}

/// Files that Flang has read, each with the modules of those before it.
class Analysis {
 public:
  /// `path` has the text of `source`. Flang writes a file for each module into `modules`.
  Analysis(const Source* source, const std::string& path, const FortranOptions& how,
           const std::string& modules)
      : options_(options_of(how)),
        kinds_(kinds_of(how)),
        language_(language()),
        places_(source, std::filesystem::path(path).lexically_normal().string(), cooked_),
        context_(kinds_, options_.features, language_, cooked_) {
    context_.set_intrinsicModuleDirectories(options_.intrinsicModuleDirectories)
        .set_searchDirectories(options_.searchDirectories)
        .set_moduleDirectory(modules);
  }

  struct File {
    const fp::Program& program;
    std::vector<Diagnostic> errors;
  };

  /// Throws errors where Flang cannot resolve the file's names for them.
  File add(const std::string& path, const FortranOptions& how) {
    require_kinds(path, how);
    fp::Parsing& parsing = parsings_.emplace_back(cooked_);
    fp::Options options = options_of(how);
    options.isFixedForm = is_fixed_form(path, how);
    parsing.Prescan(path, options);
    throw_errors(parsing.messages());
    check_nesting(parsing.cooked().AsCharBlock());
    parsing.Parse(llvm::nulls());
    throw_errors(parsing.messages());
    if (!parsing.parseTree() || !parsing.consumedWholeFile())
      fail("fortran", {}, "`{}` cannot be parsed to its end", path);
    const fp::CharBlock text = parsing.cooked().AsCharBlock();
    if (std::string_view(text.begin(), text.size()).find("real128") != std::string_view::npos)
      know_real128();
    sem::Semantics semantics{context_, *parsing.parseTree()};
    semantics.Perform();
    std::vector<Diagnostic> errors;
    collect(context_.messages(), places_, cooked_, errors);
    context_.messages().clear();
    // Flang writes a file for each module that it did not read from one, each time: with errors in
    // a module, it crashes then. Here modules stay in memory.
    keep_in_memory(context_.globalScope());
    if (!errors.empty() && !is_resolved(*parsing.parseTree())) throw Error(std::move(errors));
    std::erase_if(errors, [](const Diagnostic& d) {
      return d.text.find(" module file for module ") != std::string::npos;
    });
    return {*parsing.parseTree(), std::move(errors)};
  }

  const Places& places() const { return places_; }

  /// Nothing uses the modules of the last file any more: Flang crashes on names that are wrong.
  void forget_modules() {
    if (parsings_.empty() || !parsings_.back().parseTree()) return;
    for (const fp::ProgramUnit& u : parsings_.back().parseTree()->v)
      if (const auto* m = std::get_if<Fortran::common::Indirection<fp::Module>>(&u.u))
        context_.globalScope().erase(
            std::get<fp::Statement<fp::ModuleStmt>>(m->value().t).statement.v.source);
  }

 private:
  /// Flang's module has -1 for this kind where Flang's runtime is without it, which makes errors of
  /// constants that routines here may never use. Others' have 16.
  void know_real128() {
    sem::Scope* kinds = context_.GetBuiltinModule("iso_fortran_env_impl");
    if (!kinds) return;
    const auto it = kinds->find(fp::CharBlock{"real128", 7});
    if (it == kinds->end()) return;
    if (auto* o = it->second->detailsIf<sem::ObjectEntityDetails>())
      o->set_init(ev::AsGenericExpr(ev::Constant<ev::Type<TypeCategory::Integer, 4>>{16}));
  }

  static void keep_in_memory(sem::Scope& around) {
    for (sem::Scope& scope : around.children()) {
      if (scope.kind() != sem::Scope::Kind::Module || !scope.symbol()) continue;
      scope.symbol()->set(sem::Symbol::Flag::ModFile);
      keep_in_memory(scope);  // its submodules
    }
  }

  static fp::Options options_of(const FortranOptions& how) {
    fp::Options o;
    o.features.Enable(Fortran::common::LanguageFeature::OpenMP);
    o.features.Enable(Fortran::common::LanguageFeature::OpenACC);
    o.intrinsicModuleDirectories = {MOONLOOP_FLANG_MODULES};
    o.searchDirectories = how.include_folders;
    for (const auto& [key, value] : how.defines) o.predefinitions.emplace_back(key, value);
    o.fixedFormColumns = how.fixed_columns;
    if (how.backslash) o.features.Enable(Fortran::common::LanguageFeature::BackslashEscapes);
    return o;
  }

  /// Kinds without a number are the same ones for all files.
  void require_kinds(const std::string& path, const FortranOptions& how) const {
    const auto bytes = [&](TypeCategory c) { return kinds_.GetDefaultKind(c); };
    if (how.default_real == bytes(TypeCategory::Real) &&
        how.default_integer == bytes(TypeCategory::Integer) &&
        how.default_double == kinds_.doublePrecisionKind())
      return;
    fail("unsupported", {},
         "`{}` is compiled with other default kinds (real {}, integer {}) than the file that uses "
         "it (real {}, integer {})",
         path, how.default_real, how.default_integer, bytes(TypeCategory::Real),
         bytes(TypeCategory::Integer));
  }

  static Fortran::common::IntrinsicTypeDefaultKinds kinds_of(const FortranOptions& how) {
    Fortran::common::IntrinsicTypeDefaultKinds kinds;
    kinds.set_defaultRealKind(how.default_real).set_doublePrecisionKind(how.default_double);
    kinds.set_defaultIntegerKind(how.default_integer).set_defaultLogicalKind(how.default_integer);
    return kinds;
  }

  static Fortran::common::LangOptions language() {
    Fortran::common::LangOptions out;
    out.OpenMPVersion = 52;
    return out;
  }

  void check_nesting(fp::CharBlock text) const {
    const auto found = too_deep({text.begin(), text.size()});
    if (!found) return;
    const auto place = [&](const TooDeep::Part& p) {
      return places_.of(fp::CharBlock{text.begin() + p.at, p.size});
    };
    if (!found->is_wrong) unsupported(place(found->where), found->what, found->hint);
    std::vector<Label> notes;
    if (found->other.size) notes.push_back({place(found->other), found->of_other});
    throw Error(Diagnostic{"fortran", found->what, {place(found->where), {}}, notes, found->hint});
  }

  void throw_errors(fp::Messages& messages) const {
    std::vector<Diagnostic> errors;
    collect(messages, places_, cooked_, errors);
    if (!errors.empty()) throw Error(std::move(errors));
  }

  /// Whether Flang got as far as names: labels come first.
  static bool is_resolved(const fp::Program& program) {
    for (const fp::ProgramUnit& u : program.v) {
      const fp::Name* name = nullptr;
      if (const auto* m = std::get_if<Fortran::common::Indirection<fp::Module>>(&u.u))
        name = &std::get<fp::Statement<fp::ModuleStmt>>(m->value().t).statement.v;
      if (const auto* x = std::get_if<Fortran::common::Indirection<fp::Submodule>>(&u.u))
        name = &std::get<fp::Name>(
            std::get<fp::Statement<fp::SubmoduleStmt>>(x->value().t).statement.t);
      if (const auto* x = std::get_if<Fortran::common::Indirection<fp::SubroutineSubprogram>>(&u.u))
        name = &std::get<fp::Name>(
            std::get<fp::Statement<fp::SubroutineStmt>>(x->value().t).statement.t);
      if (const auto* x = std::get_if<Fortran::common::Indirection<fp::FunctionSubprogram>>(&u.u))
        name = &std::get<fp::Name>(
            std::get<fp::Statement<fp::FunctionStmt>>(x->value().t).statement.t);
      if (const auto* x = std::get_if<Fortran::common::Indirection<fp::MainProgram>>(&u.u))
        if (const auto& head = std::get<0>(x->value().t)) name = &head->statement.v;
      if (name) return name->symbol != nullptr;
    }
    return false;
  }

  fp::AllSources sources_;
  fp::AllCookedSources cooked_{sources_};
  fp::Options options_;
  Fortran::common::IntrinsicTypeDefaultKinds kinds_;
  Fortran::common::LangOptions language_;
  Places places_;
  sem::SemanticsContext context_;
  std::list<fp::Parsing> parsings_;
};

}  // namespace moonloop::fortran
