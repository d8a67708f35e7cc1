#include <llvm/Support/raw_ostream.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "core/diagnostic.h"
#include "frontends/fortran/flang.h"
#include "frontends/fortran/names.h"

// Files, and the routines in them.
namespace moonloop::fortran {
namespace {

// ---- Files.

class Units {
 public:
  Units(const Places& places, bool skip_output) : places_(places), skip_output_(skip_output) {}

  std::vector<Routine> read(const fp::Program& program) {
    for (const fp::ProgramUnit& u : program.v) {
      if (const auto* m = std::get_if<Fortran::common::Indirection<fp::Module>>(&u.u))
        module(m->value());
      else if (const auto* p = std::get_if<Fortran::common::Indirection<fp::MainProgram>>(&u.u))
        guard([&] {
          const auto& head = std::get<0>(p->value().t);
          unsupported(head ? places_.of(head->source) : Span{}, "a main program");
        });
      else
        subprogram(u.u, "");
    }
    if (!errors_.empty()) throw Error(errors_);
    return std::move(routines_);
  }

 private:
  template <typename F>
  void guard(F f) {
    try {
      f();
    } catch (const Error& e) {
      errors_.insert(errors_.end(), e.diagnostics().begin(), e.diagnostics().end());
    }
  }

  void module(const fp::Module& m) {
    const auto& part = std::get<std::optional<fp::ModuleSubprogramPart>>(m.t);
    if (!part) return;
    for (const fp::ModuleSubprogram& s : std::get<std::list<fp::ModuleSubprogram>>(part->t))
      subprogram(s.u, "");
  }

  template <typename Variant>
  void subprogram(const Variant& u, const std::string& host) {
    std::visit(Fortran::common::visitors{
                   [&](const Fortran::common::Indirection<fp::SubroutineSubprogram>& x) {
                     guard([&] { subroutine(x.value(), host); });
                   },
                   [&](const Fortran::common::Indirection<fp::FunctionSubprogram>& x) {
                     guard([&] { function(x.value(), host); });
                   },
                   [&](const auto&) {}},
               u);
  }

  void subroutine(const fp::SubroutineSubprogram& s, const std::string& host) {
    const auto& head = std::get<fp::Statement<fp::SubroutineStmt>>(s.t);
    routine(s, std::get<fp::Name>(head.statement.t), nullptr, host);
  }

  void function(const fp::FunctionSubprogram& s, const std::string& host) {
    const auto& head = std::get<fp::Statement<fp::FunctionStmt>>(s.t);
    const fp::Name& name = std::get<fp::Name>(head.statement.t);
    const auto& details = name.symbol->GetUltimate().get<sem::SubprogramDetails>();
    routine(s, name, &details.result(), host);
  }

  /// `result`: of a function. `host`: the routine that it stands in, if any.
  template <typename Subprogram>
  void routine(const Subprogram& s, const fp::Name& name, const sem::Symbol* result,
               const std::string& host) {
    const Span at = places_.of(name.source);
    Routine r;
    const std::string own = name.symbol->name().ToString();
    r.name = host.empty() ? own : host + "%" + own;
    r.host = host;
    r.at = at;
    const sem::Symbol& symbol = name.symbol->GetUltimate();
    const auto& details = symbol.get<sem::SubprogramDetails>();
    const sem::Scope& scope = DEREF(symbol.scope());
    r.body = read_body(std::get<fp::ExecutionPart>(s.t).v, at, places_, skip_output_);
    read_declarations(scope, places_, r);
    read_declarations_around(scope, places_, r);
    for (const sem::Symbol* dummy : details.dummyArgs()) {
      if (!dummy) unsupported(at, "an alternate return");
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
    routines_.push_back(std::move(r));
    if (const auto& inner = std::get<std::optional<fp::InternalSubprogramPart>>(s.t))
      for (const fp::InternalSubprogram& i : std::get<std::list<fp::InternalSubprogram>>(inner->t))
        subprogram(i.u, own);
  }

  /// Of a derived type one for each component.
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
  bool skip_output_;
  std::vector<Routine> routines_;
  std::vector<Diagnostic> errors_;
};

/// Flang's messages of errors; of warnings none.
void collect(fp::Messages& messages, const Places& places, const fp::AllCookedSources& cooked,
             std::vector<Diagnostic>& out) {
  for (const fp::Message& m : messages.messages())
    if (m.IsFatal())
      out.push_back(
          {"fortran", m.ToString(), {places.of(m.GetProvenanceRange(cooked)), {}}, {}, {}});
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

/// The file under its own name where that is what it holds, else a copy.
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

std::vector<Routine> read_routines(const Source* source, const FortranOptions& how) {
  const std::string& name = source->name;
  const bool fixed = is_fixed_form(source);
  const File file(source, fixed, name.ends_with(".F") || name.ends_with(".F90"));
  fp::Options options;
  options.isFixedForm = fixed;
  options.features.Enable(Fortran::common::LanguageFeature::OpenMP);
  options.features.Enable(Fortran::common::LanguageFeature::OpenACC);
  options.intrinsicModuleDirectories = {MOONLOOP_FLANG_MODULES};
  options.searchDirectories = how.include_folders;
  for (const auto& [key, value] : how.defines) options.predefinitions.emplace_back(key, value);

  fp::AllSources all;
  fp::AllCookedSources cooked{all};
  fp::Parsing parsing{cooked};
  const Places places(source, std::filesystem::path(file.path()).lexically_normal().string(),
                      cooked);
  std::vector<Diagnostic> errors;
  parsing.Prescan(file.path(), options);
  collect(parsing.messages(), places, cooked, errors);
  if (!errors.empty()) throw Error(errors);
  parsing.Parse(llvm::nulls());
  collect(parsing.messages(), places, cooked, errors);
  if (!errors.empty()) throw Error(errors);
  if (!parsing.parseTree() || !parsing.consumedWholeFile())
    fail("fortran", {}, "`{}` cannot be parsed to its end", name);

  const Fortran::common::IntrinsicTypeDefaultKinds kinds;
  Fortran::common::LangOptions language;
  language.OpenMPVersion = 52;
  sem::SemanticsContext context{kinds, options.features, language, cooked};
  const Folder modules;  // Flang writes a file for each module
  context.set_intrinsicModuleDirectories(options.intrinsicModuleDirectories)
      .set_searchDirectories(options.searchDirectories)
      .set_moduleDirectory(modules.path());
  sem::Semantics semantics{context, *parsing.parseTree()};
  semantics.Perform();
  collect(context.messages(), places, cooked, errors);
  if (!errors.empty()) throw Error(errors);
  return Units(places, how.skip_output).read(*parsing.parseTree());
}

}  // namespace moonloop::fortran
