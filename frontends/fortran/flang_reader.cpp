#include <llvm/Support/raw_ostream.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <list>
#include <set>

#include "core/base/diagnostic.h"
#include "frontends/fortran/crash.h"
#include "frontends/fortran/flang.h"
#include "frontends/fortran/modules.h"
#include "frontends/fortran/names.h"
#include "frontends/fortran/nesting.h"

// Files, and the routines in them.
namespace moonloop::fortran {
namespace {

// ---- Files.

class Units {
 public:
  /// `elsewhere`: see Routine.
  Units(const Places& places, bool skip_output, bool elsewhere)
      : places_(places), skip_output_(skip_output), elsewhere_(elsewhere) {}

  std::vector<Routine> read(const fp::Program& program) {
    for (const fp::ProgramUnit& u : program.v) {
      if (const auto* m = std::get_if<Fortran::common::Indirection<fp::Module>>(&u.u))
        module(m->value());
      else if (const auto* p = std::get_if<Fortran::common::Indirection<fp::MainProgram>>(&u.u))
        main_program(p->value());
      else
        subprogram(u.u, "");
    }
    for (Routine& r : routines_) r.home.modules = modules_;
    return std::move(routines_);
  }

 private:
  void main_program(const fp::MainProgram& p) {
    if (elsewhere_) return;
    const auto& head = std::get<0>(p.t);
    Routine r;
    r.name = head ? fp::ToLowerCaseLetters(head->statement.v.ToString()) : "the main program";
    if (head) r.at = places_.of(head->source);
    guard(r, [&] { unsupported(r.at, "a main program"); });
    routines_.push_back(std::move(r));
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
    modules_.push_back(lines);
    const auto& part = std::get<std::optional<fp::ModuleSubprogramPart>>(m.t);
    if (!part) return;
    home_.module = head.statement.v.ToString();
    home_.around = lines;
    for (const fp::ModuleSubprogram& s : std::get<std::list<fp::ModuleSubprogram>>(part->t))
      subprogram(s.u, "");
    home_ = {};
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
                   [&](const auto&) {}},
               u);
  }

  void subroutine(const fp::SubroutineSubprogram& s, const std::string& host) {
    const auto& head = std::get<fp::Statement<fp::SubroutineStmt>>(s.t);
    between(head.source, std::get<fp::Statement<fp::EndSubroutineStmt>>(s.t).source);
    routine(s, std::get<fp::Name>(head.statement.t), nullptr, host);
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
    const fp::Name& name = std::get<fp::Name>(head.statement.t);
    const auto& details = name.symbol->GetUltimate().get<sem::SubprogramDetails>();
    routine(s, name, &details.result(), host);
  }

  /// `result`: of a function. `host`: the routine that it is in, if any.
  template <typename Subprogram>
  void routine(const Subprogram& s, const fp::Name& name, const sem::Symbol* result,
               const std::string& host) {
    Routine r;
    r.name = routine_name(*name.symbol);
    r.host = host;
    r.at = places_.of(name.source);
    r.elsewhere = elsewhere_;
    if (host.empty()) r.home = home_;
    guard(r, [&] { contents(s, name, result, r); });
    const std::string own = r.name;
    routines_.push_back(std::move(r));
    if (const auto& inner = std::get<std::optional<fp::InternalSubprogramPart>>(s.t))
      for (const fp::InternalSubprogram& i : std::get<std::list<fp::InternalSubprogram>>(inner->t))
        subprogram(i.u, own);
  }

  /// The routine itself, into `r`.
  template <typename Subprogram>
  void contents(const Subprogram& s, const fp::Name& name, const sem::Symbol* result, Routine& r) {
    const Span at = r.at;
    const sem::Symbol& symbol = name.symbol->GetUltimate();
    const auto& details = symbol.get<sem::SubprogramDetails>();
    const sem::Scope& scope = DEREF(symbol.scope());
    r.home.pure = sem::IsPureProcedure(symbol);
    r.home.elemental = symbol.attrs().test(sem::Attr::ELEMENTAL);
    r.home.recursive = symbol.attrs().test(sem::Attr::RECURSIVE);
    read_hints(std::get<fp::SpecificationPart>(s.t), places_, r.without_effect);
    std::vector<Diagnostic> errors;
    const auto attempt = [&](const auto& f) {
      try {
        f();
      } catch (const Error& e) {
        errors.insert(errors.end(), e.diagnostics().begin(), e.diagnostics().end());
      }
    };
    attempt([&] { read_declarations(scope, places_, r); });
    attempt([&] {
      r.body = read_body(std::get<fp::ExecutionPart>(s.t).v, at, scope, places_, skip_output_, r);
    });
    if (!errors.empty()) throw Error(std::move(errors));
    read_declarations_around(scope, places_, r);
    structure_jumps(r);
    for (const sem::Symbol* dummy : details.dummyArgs()) {
      if (!dummy) unsupported(at, "an alternate return");
      if (dummy->attrs().test(sem::Attr::VALUE)) r.home.values.insert(dummy->name().ToString());
      argument(dummy->name().ToString(), *dummy, r);
    }
    if (result) {
      r.function = true;
      argument(result->name().ToString(), *result, r);
    }
    for (const std::string& a : std::vector<std::string>(r.arguments))
      for (const Bounds& b : r.variables.at(a).bounds)
        if (const std::string extent = extent_of(b, r);
            !extent.empty() &&
            std::find(r.arguments.begin(), r.arguments.end(), extent) == r.arguments.end())
          r.arguments.push_back(extent);
  }

  /// For a derived type, one for each component.
  void argument(const std::string& name, const sem::Symbol& symbol, Routine& r) {
    const auto type = ev::DynamicType::From(symbol.GetUltimate());
    if (type && type->category() == TypeCategory::Derived) {
      for (const sem::Symbol* c : components_of(type->GetDerivedTypeSpec(), r.at))
        argument(name + "_" + c->name().ToString(), *c, r);
      return;
    }
    if (!r.variables.count(name)) unsupported(r.at, fmt::format("the dummy procedure `{}`", name));
    r.arguments.push_back(name);
  }

  const Places& places_;
  bool skip_output_, elsewhere_;
  FortranFile::Home home_;  // of the current routine
  std::vector<FortranFile::Lines> modules_;
  std::vector<Routine> routines_;
};

/// Flang's messages of errors, each once, those with a place first; no warnings.
void collect(fp::Messages& messages, const Places& places, const fp::AllCookedSources& cooked,
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

std::string temporary_name(const std::string& end) {
  const char* temporary = std::getenv("TMPDIR");
  return std::string(temporary && *temporary ? temporary : "/tmp") + "/moonloop-XXXXXX" + end;
}

/// A folder that goes with the object.
class Folder {
 public:
  Folder() : path_(temporary_name("")) {
    if (!mkdtemp(path_.data())) fail("cannot-write", {}, "cannot make a folder as `{}`", path_);
  }
  ~Folder() {
    std::error_code none;
    std::filesystem::remove_all(path_, none);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// The source's own file where that has the source's text, else a copy.
class File {
 public:
  explicit File(const Source* source, bool fixed, bool preprocessed) {
    namespace fs = std::filesystem;
    std::error_code none;
    if (fs::is_regular_file(source->name, none)) {
      std::ifstream in(source->name, std::ios::binary);
      if (std::string(std::istreambuf_iterator<char>(in), {}) == source->text) {
        path_ = source->name;
        return;
      }
    }
    const std::string end = fixed ? (preprocessed ? ".F" : ".f") : preprocessed ? ".F90" : ".f90";
    std::string pattern = temporary_name(end);
    const int file = mkstemps(pattern.data(), static_cast<int>(end.size()));
    if (file < 0) fail("cannot-write", {}, "cannot make a file as `{}`", pattern);
    close(file);
    std::ofstream out(pattern, std::ios::binary);
    out << source->text;
    out.close();
    if (!out) {
      std::remove(pattern.c_str());
      fail("cannot-write", {}, "cannot write `{}`", pattern);
    }
    path_ = pattern;
    copied_ = true;
  }
  ~File() {
    if (copied_) std::remove(path_.c_str());
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  bool copied_ = false;
};

}  // namespace

void unsupported(const Span& at, std::string_view what, std::string_view hint) {
  throw Error(Diagnostic{"unsupported",
                         fmt::format("{} is not supported in Fortran kernels", what),
                         {at, {}},
                         {},
                         std::string(hint)});
}

Span Places::of(fp::CharBlock block) const {
  const auto range = cooked_.GetProvenanceRange(block);
  return range ? of(range) : Span{};
}

Span Places::of(const std::optional<fp::ProvenanceRange>& range) const {
  if (!range) return {};
  const auto& all = cooked_.allSources();
  const auto position = all.GetSourcePosition(all.GetReplacedProvenance(range->start()));
  if (!position) return {};
  const fp::SourceFile& file = *position->sourceFile;
  const std::string path = std::filesystem::path(file.path()).lexically_normal().string();
  const auto [it, included] = sources_.try_emplace(path);
  if (included) it->second = add_source(path, {file.content().data(), file.content().size()});
  Span at;
  at.source = it->second;
  at.line = position->trueLineNumber;
  at.col = position->column;
  const auto line = at.source->line(at.line);
  const auto left = static_cast<std::size_t>(at.col) <= line.size()
                        ? static_cast<int>(line.size()) - at.col + 1
                        : 1;
  at.len = std::max(1, std::min(static_cast<int>(range->size()), left));
  return at;
}

namespace {

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

  const fp::Program& add(const std::string& path, bool fixed) {
    options_.isFixedForm = fixed;
    fp::Parsing& parsing = parsings_.emplace_back(cooked_);
    parsing.Prescan(path, options_);
    throw_errors(parsing.messages());
    check_nesting(parsing.cooked().AsCharBlock());
    parsing.Parse(llvm::nulls());
    throw_errors(parsing.messages());
    if (!parsing.parseTree() || !parsing.consumedWholeFile())
      fail("fortran", {}, "`{}` cannot be parsed to its end", path);
    sem::Semantics semantics{context_, *parsing.parseTree()};
    semantics.Perform();
    throw_errors(context_.messages());
    return *parsing.parseTree();
  }

  const Places& places() const { return places_; }

 private:
  static fp::Options options_of(const FortranOptions& how) {
    fp::Options o;
    o.features.Enable(Fortran::common::LanguageFeature::OpenMP);
    o.features.Enable(Fortran::common::LanguageFeature::OpenACC);
    o.intrinsicModuleDirectories = {MOONLOOP_FLANG_MODULES};
    o.searchDirectories = how.include_folders;
    for (const auto& [key, value] : how.defines) o.predefinitions.emplace_back(key, value);
    return o;
  }

  static Fortran::common::IntrinsicTypeDefaultKinds kinds_of(const FortranOptions& how) {
    Fortran::common::IntrinsicTypeDefaultKinds kinds;
    kinds.set_defaultRealKind(how.default_real);
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

  /// Errors that follow from a missing module are not informative.
  void throw_errors(fp::Messages& messages) const {
    std::vector<Diagnostic> errors;
    collect(messages, places_, cooked_, errors);
    if (errors.empty()) return;
    const auto is_cause = [](const Diagnostic& d) {
      return d.text.find(" module file for module ") != std::string::npos;
    };
    if (std::any_of(errors.begin(), errors.end(), is_cause))
      std::erase_if(errors, [&](const Diagnostic& d) { return !is_cause(d); });
    throw Error(errors);
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

}  // namespace

std::vector<Routine> read_routines(const Source* source, const FortranOptions& how) {
  const std::string& name = source->name;
  const bool fixed = is_fixed_form(name);
  // Made here, so that they go also when Flang crashes.
  const File file(source, fixed, name.ends_with(".F") || name.ends_with(".F90"));
  const Folder modules;
  const std::vector<std::string> others = files_of_modules(source, how);
  std::vector<Routine> out, used;
  std::string at_hand;
  const int signal = crash_of([&] {
    Analysis analysis(source, file.path(), how, modules.path());
    for (const std::string& path : others) {
      at_hand = path;
      const fp::Program& program = analysis.add(path, is_fixed_form(path));
      for (Routine& r : Units(analysis.places(), how.skip_output, true).read(program))
        used.push_back(std::move(r));
    }
    at_hand = name;
    const fp::Program& program = analysis.add(file.path(), fixed);
    out = Units(analysis.places(), how.skip_output, false).read(program);
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
