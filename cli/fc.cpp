#include <fmt/ranges.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <map>
#include <set>

#include "cli/commands.h"
#include "cli/own_schedules.h"
#include "cli/predefined.h"
#include "cli/replacement.h"
#include "codegen/language.h"
#include "codegen/print/cuda_residency.h"
#include "core/base/diagnostic.h"
#include "frontends/fortran/comments.h"
#include "frontends/fortran/compiler_options.h"
#include "frontends/fortran/residency.h"
#include "runtime/file.h"
#include "runtime/process.h"

// A Fortran compiler that compiles marked routines through C.
namespace moonloop::cli {
namespace {

namespace fs = std::filesystem;

struct FcOptions {
  std::string target = "c", cc;
  bool resident = false, check_claims = false;
  std::vector<std::string> command;
};

/// A compiler's command as its words, and what they mean here.
struct Compilation {
  std::vector<std::string> words;
  std::vector<std::size_t> sources;  // which words are files in Fortran
  std::string output;                // of -o
  bool objects = false;              // -c: it does not link
  bool makes_code = true;            // not with -E and the like
  std::vector<std::string> for_c;    // options that a C compiler takes too, with the same meaning
  bool hides_macros = false;         // files need the compiler's own, which it does not say
};

/// The words of a command, with those of files in the place of `@FILE`, as compilers read them.
std::vector<std::string> with_files(const std::vector<std::string>& words, int depth = 0) {
  std::vector<std::string> out;
  for (const std::string& w : words) {
    std::string text;
    if (w.size() < 2 || w[0] != '@' || depth > 8 || !read_whole(w.substr(1), text)) {
      out.push_back(w);
      continue;
    }
    std::vector<std::string> inside;
    std::string word;
    bool open = false;
    char quote = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const char c = text[i];
      if (c == '\\' && i + 1 < text.size()) {
        word += text[++i], open = true;
      } else if (quote ? c == quote : c == '"' || c == '\'') {
        quote = quote ? 0 : c, open = true;
      } else if (!quote && std::isspace(static_cast<unsigned char>(c))) {
        if (open) inside.push_back(std::exchange(word, {}));
        open = false;
      } else {
        word += c, open = true;
      }
    }
    if (open) inside.push_back(word);
    const std::vector<std::string> all = with_files(inside, depth + 1);
    out.insert(out.end(), all.begin(), all.end());
  }
  return out;
}

/// Adds what the command says about how sources are read to `common`. Fails as CompilerOptions.
Compilation read_command(const std::vector<std::string>& words, Common& common) {
  Compilation out{words, {}, {}, false, true, {}};
  for (const std::string& w : words)
    if (!w.starts_with('-') && is_fortran(w) && has_preprocessor_lines(w)) {
      auto macros = predefined_macros(words);
      out.hides_macros = !macros;
      if (macros) {
        macros->insert(macros->end(), common.fortran.defines.begin(), common.fortran.defines.end());
        common.fortran.defines = std::move(*macros);
      }
      break;
    }
  CompilerOptions options(common.fortran);
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& w = words[i];
    if (const auto v = option_value(words, i, "-o"); v && !w.starts_with("-openmp")) {
      out.output = v->first;
      i += v->second - 1;
    } else if (const std::size_t taken = options.read(words, i)) {
      i += taken - 1;
    } else if (w == "-c") {
      out.objects = true;
    } else if (w == "-E" || w == "-S" || w == "-fsyntax-only" || w == "-M" || w == "-MM") {
      out.makes_code = false;
    } else if (!w.starts_with('-') && is_fortran(w)) {
      out.sources.push_back(i);
    }
    for (const char* same : {"-O", "-g", "-m", "-fopenmp", "-fPIC", "-fpic", "-ffast-math",
                             "-ffp-contract", "-fno-", "-pg", "-fsanitize"})
      if (w.starts_with(same)) {
        out.for_c.push_back(w);
        break;
      }
  }
  options.finish();
  common.fortran.openmp = common.fortran.openmp.value_or(false);
  return out;
}

/// Ends the process as the command does.
[[noreturn]] void become(const std::vector<std::string>& words) {
  std::vector<char*> argv;
  for (const std::string& w : words) argv.push_back(const_cast<char*>(w.c_str()));
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  fail("cannot-start", {}, "cannot start `{}`: {}", words[0], std::strerror(errno));
}

/// Runs a compiler, and shows what it says; whether it succeeded.
bool compile(std::vector<std::string> words) {
  const std::string program = find_program(words[0]);
  if (program.empty()) fail("cannot-start", {}, "there is no program `{}`", words[0]);
  words[0] = program;
  const ProcessResult r = run_process(words);
  fmt::print(stderr, "{}", r.output);
  return r.status == 0;
}

/// The files that stand for one source: in Fortran and in C.
struct Instead {
  std::vector<std::string> fortran;
  std::string c;
  bool calls = false;                     // intrinsic functions that the standard does not have
  std::vector<std::string> modules = {};  // of the interfaces, that nothing else uses
  std::vector<std::string> labels = {};   // see own_labels()
};

/// The modules that a text declares at the beginnings of lines.
void collect_modules(const std::string& text, std::vector<std::string>& out) {
  static constexpr std::string_view kWord = "module ";
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (text.compare(at, kWord.size(), kWord) == 0)
      out.push_back(text.substr(at + kWord.size(), end - at - kWord.size()));
    at = end + 1;
  }
}

/// A folder for the compiler's files about modules. Those of interfaces, which no other file uses,
/// stay in it: at the same time, another command may make one of the same name. The others go where
/// the compiler would have put them.
class ModuleFolder {
 public:
  ModuleFolder(std::string own, const std::vector<std::string>& interfaces,
               const std::string& compiler)
      : own_(std::move(own)), interfaces_(interfaces) {
    fs::create_directory(own_);
    std::error_code none;
    for (const std::string& m : interfaces_) shadowed_ |= fs::exists(m + ".mod", none);
    const std::string name = fs::path(compiler).filename().string();
    for (const char* other : {"ifort", "ifx", "nvfortran", "pgfortran"})
      if (name.find(other) != std::string::npos) option_ = "-module";
  }
  /// The compiler's options, with this folder in place of theirs.
  std::vector<std::string> instead(const std::vector<std::string>& words) {
    if (shadowed_) return words;
    std::vector<std::string> out;
    for (std::size_t i = 0; i < words.size(); ++i) {
      const std::string& w = words[i];
      if ((w == "-J" || w == "-module" || w == "-module-dir") && i + 1 < words.size()) {
        option_ = w;
        to_ = words[++i];
      } else if (w.starts_with("-J")) {
        to_ = w.substr(2);
      } else {
        out.push_back(w);
      }
    }
    out.insert(out.begin() + 1, "-I" + own_);  // ahead of all others
    out.insert(out.end(), {option_, own_, "-I" + to_});
    return out;
  }
  /// Those of the file's own modules.
  void move_on() const {
    for (const fs::directory_entry& e : fs::directory_iterator(own_)) {
      const std::string name = e.path().filename().string();
      if (std::find(interfaces_.begin(), interfaces_.end(), e.path().stem().string()) !=
          interfaces_.end())
        continue;
      const fs::path to = fs::path(to_) / name;
      const fs::path beside = to.string() + "." + std::to_string(getpid());
      fs::copy_file(e.path(), beside, fs::copy_options::overwrite_existing);
      fs::rename(beside, to);
    }
  }

 private:
  std::string own_, to_ = ".", option_ = "-J";
  bool shadowed_ = false;  // by a file where compilers look first, which they write again then
  std::vector<std::string> interfaces_;
};

class Compiler {
 public:
  Compiler(const Common& common, const FcOptions& o, const Compilation& c,
           const TemporaryFolder& folder)
      : common_(common), o_(o), c_(c), folder_(folder), target_(target_option(o.target)) {}

  /// Writes the replacement of `path`; nothing where none of its routines is marked.
  std::optional<Instead> replace(const std::string& path) {
    ++files_;  // two folders may have files of one name
    std::optional<Instead> out;
    if (asks(path)) try {
        out = replace_marked(path);
      } catch (const Error& e) {
        if (!of_any_file(path)) throw;
        note(path, fmt::format("nothing is replaced: {}", e.diagnostic().text));
      }
    return out ? out : with_calls(path);
  }

  /// The object of a file that stays as it is; empty after an error of the compiler.
  std::string object(const Compilation& c, std::size_t source, const std::string& to) const {
    std::vector<std::string> words = for_one_file(c);
    const std::string out = to.empty() ? fmt::format("{}/{}.o", folder_.path(), source) : to;
    words.insert(words.end(), {"-c", c.words[source], "-o", out});
    return compile(words) ? out : "";
  }

  /// The kernels that --kernel names and that no file has.
  std::vector<std::string> not_found() const {
    std::vector<std::string> out;
    for (const std::string& k : common_.kernels)
      if (!found_.count(k)) out.push_back(k);
    return out;
  }

  /// Objects of the files; empty after an error of a compiler, which has been shown.
  std::vector<std::string> objects(const Compilation& c, const std::string& source,
                                   const Instead& files) const {
    std::vector<std::string> out;
    ModuleFolder modules(fs::path(files.c).parent_path().string() + "/modules", files.modules,
                         c.words[0]);
    for (const std::string& f : files.fortran) {
      std::vector<std::string> words = modules.instead(for_one_file(c));
      // One object is made of several, which the linker's plug-in would take apart.
      std::erase_if(words, [](const std::string& w) { return w.starts_with("-flto"); });
      if (files.calls && std::any_of(words.begin(), words.end(),
                                     [](const std::string& w) { return w.starts_with("-std=f"); }))
        words.emplace_back("-fall-intrinsics");
      if (f.ends_with("_moonloop.f90") && common_.fortran.fixed_form)
        words.emplace_back("-ffree-form");  // which the interface is in
      const std::string beside = fs::path(source).parent_path().string();
      out.push_back(f + ".o");
      words.insert(words.end(),
                   {"-I" + (beside.empty() ? "." : beside), "-c", f, "-o", out.back()});
      if (!compile(words)) return {};
      modules.move_on();
    }
    const bool cuda = target_ == Target::Cuda;
    std::vector<std::string> words = split(!o_.cc.empty() ? o_.cc : cuda ? "nvcc" : "cc");
    if (!cuda) {
      words.emplace_back("-fno-math-errno");  // as Fortran's compilers have it
      words.emplace_back("-fopenmp-simd");
    }
    for (const std::string& w : c.for_c) {
      if (cuda && !w.starts_with("-O") && w != "-g") words.emplace_back("-Xcompiler");
      words.push_back(w);
    }
    out.push_back(files.c + ".o");
    words.insert(words.end(), {"-c", files.c, "-o", out.back()});
    if (!compile(words)) return {};
    return out;
  }

 private:
  /// The command without its files and what it makes of them.
  static std::vector<std::string> for_one_file(const Compilation& c) {
    std::vector<std::string> out{c.words[0]};
    for (std::size_t i = 1; i < c.words.size(); ++i) {
      const std::string& w = c.words[i];
      if (w == "-o")
        ++i;
      else if (w != "-c" && !w.starts_with("-o") && !is_source(c, i) && !w.ends_with(".o"))
        out.push_back(w);
    }
    return out;
  }

  /// The file of a source of which nothing is replaced, for what its lines `resident` and `update`
  /// do; nothing where there are none.
  std::optional<Instead> with_calls(const std::string& path) {
    std::string text;
    if (target_ != Target::Cuda || !read_whole(path, text)) return std::nullopt;
    const Source* source = add_source(path, std::move(text));
    const HostCalls calls = host_calls(source, common_.fortran);
    if (calls.empty()) return std::nullopt;
    const std::string folder = own_folder(), name = fs::path(path).filename().string();
    Instead out{{folder + "/" + name}, folder + "/" + name + "_moonloop.cu", true};
    write_file(out.fortran[0], {text_with(source, calls)});
    write_file(out.c, {kCudaResidency});
    return out;
  }
  std::string own_folder() const {
    std::string folder = folder_.path() + "/of_" + std::to_string(files_);
    fs::create_directory(folder);
    return folder;
  }

  std::optional<Instead> replace_marked(const std::string& path) {
    Common one = common_;
    one.input = path;
    one.quiet = true;  // what is not replaced stays as it is
    for (const std::size_t i : c_.sources)
      if (c_.words[i] != path) one.fortran.module_files.push_back(c_.words[i]);
    one.target = target_;
    one.all_knobs = std::make_shared<Knobs>(one.knobs);
    if (common_.own) one.own = std::make_shared<OwnSchedules>(*common_.own);
    FortranFile file;
    std::set<std::string> marked(one.kernels.begin(), one.kernels.end());
    std::vector<Kernel> all;
    try {
      all = load_kernels(one, {}, nullptr, &file, one.kernels.empty() ? &marked : nullptr);
    } catch (const Error&) {
      if (one.kernels.empty() || has_one_of(marked, one)) throw;
      return std::nullopt;
    }
    note_unknown_knobs(path, *one.all_knobs);
    if (one.own)
      for (const std::string& text : one.own->notes) note(path, text);
    std::vector<Kernel> kernels;
    for (const Kernel& k : all)
      if (marked.count(k.name) && file.homes.count(k.name)) kernels.push_back(k);
    if (kernels.empty()) return std::nullopt;
    if (of_any_file(path))
      std::erase_if(kernels, [&](const Kernel& k) { return !has_replacement(path, k, file); });
    if (kernels.empty()) return std::nullopt;
    const Replacement r = replaced(kernels, file);
    for (const Diagnostic& d : r.warnings) warn(common_, d);
    if (c_.hides_macros && has_preprocessor_lines(path)) warn(common_, unknown_macros(c_.words[0]));
    std::vector<std::string> names;
    for (const Kernel& k : kernels) names.push_back(k.name);
    for (const FortranFile::Warning& w : file.warnings)
      if (std::find(names.begin(), names.end(), w.routine) != names.end()) warn(common_, w.what);
    note(path, fmt::format("{}", fmt::join(names, ", ")));
    found_.insert(names.begin(), names.end());
    const std::string folder = own_folder(), base = folder + "/" + fs::path(path).stem().string();
    const Source* source = r.routines.front().home->source;
    const HostCalls calls =
        target_ == Target::Cuda ? host_calls(source, common_.fortran) : HostCalls{};
    Instead out{
        {}, base + (target_ == Target::Cuda ? "_moonloop.cu" : "_moonloop.c"), !calls.empty()};
    write_file(out.c, {r.code});
    for (const Replaced& x : r.routines) collect_modules(x.by.module, out.modules);
    out.labels = own_labels(r);
    if (!is_fixed_form(path, common_.fortran)) {
      out.fortran = {folder + "/" + fs::path(path).filename().string()};
      write_file(out.fortran[0], {file_of(r.routines, calls)});
    } else {
      out.fortran = {base + "_moonloop.f90", folder + "/" + fs::path(path).filename().string()};
      const auto [beside, own] = files_of_fixed(r.routines, common_.fortran.fixed_columns, calls);
      write_file(out.fortran[0], {beside});
      write_file(out.fortran[1], {own});
    }
    return out;
  }

  /// Whether the file has such a routine itself; an interface in it may have its name, too.
  static bool has_one_of(const std::set<std::string>& names, const Common& file) {
    const std::vector<FortranImport> all = load_imports(file);
    return std::any_of(all.begin(), all.end(),
                       [&](const FortranImport& i) { return names.count(i.name) > 0; });
  }
  /// Another file of the build may have them.
  void note_unknown_knobs(const std::string& path, const Knobs& knobs) const {
    try {
      knobs.require_declared();
    } catch (const Error& e) { note(path, e.diagnostic().text); }
  }
  void note(const std::string& path, const std::string& text) const {
    if (!common_.quiet) fmt::print(stderr, "moonloop: {}: {}\n", path, text);
  }
  /// Whether nothing but --auto asks for the file, which may have nothing to replace.
  bool of_any_file(const std::string& path) const {
    return common_.own && common_.kernels.empty() && common_.transforms.empty() &&
           !has_blocks(lower_text(path));
  }
  /// Empty where it cannot be read: the compiler says why.
  static std::string lower_text(const std::string& path) {
    std::string text;
    read_whole(path, text);
    for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return text;
  }
  /// Whether lines of comment are about routines of the text.
  static bool has_blocks(const std::string& text) {
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      const auto said =
          fortran::directive(std::string_view(text).substr(at, end - at), true);  // either form
      if (said && !fortran::is_residency(*said)) return true;
      at = end + 1;
    }
    return false;
  }
  Replacement replaced(const std::vector<Kernel>& kernels, const FortranFile& file) const {
    return replace_routines(kernels, file, target_, true,
                            {.resident = o_.resident               ? Residency::All
                                         : target_ == Target::Cuda ? Residency::Asked
                                                                   : Residency::None,
                             .check_claims = o_.check_claims});
  }
  /// Whether C has what the routine needs; a note where it has not.
  bool has_replacement(const std::string& path, const Kernel& k, const FortranFile& file) const {
    try {
      replaced({k}, file);
      return true;
    } catch (const Error& e) {
      note(path, fmt::format("`{}` is not replaced: {}", k.name, e.diagnostic().text));
      return false;
    }
  }
  static bool is_source(const Compilation& c, std::size_t i) {
    return std::find(c.sources.begin(), c.sources.end(), i) != c.sources.end();
  }
  /// Whether a text in lower case has a subroutine or function of the name.
  static bool declares(const std::string& text, const std::string& name) {
    const auto is_letter = [&](std::size_t at) {
      return at < text.size() &&
             (std::isalnum(static_cast<unsigned char>(text[at])) != 0 || text[at] == '_');
    };
    for (const std::string_view word : {"subroutine", "function", "procedure"})
      for (std::size_t at = text.find(word); at != std::string::npos;
           at = text.find(word, at + 1)) {
        const std::size_t begin = text.find_first_not_of(" \t", at + word.size());
        if (begin != std::string::npos && begin > at + word.size() &&
            text.compare(begin, name.size(), name) == 0 && !is_letter(begin + name.size()))
          return true;
      }
    return false;
  }
  /// Whether a file has a routine that --kernel names, or blocks, or there are scripts for it.
  bool asks(const std::string& path) const {
    const std::string text = lower_text(path);
    for (const std::string& k : common_.kernels)
      if (declares(text, k)) return true;
    if (!common_.kernels.empty()) return false;
    if (common_.own)
      return text.find("subroutine") != text.npos || text.find("function") != text.npos;
    return !common_.transforms.empty() || has_blocks(text);
  }
  static std::vector<std::string> split(const std::string& text) {
    std::vector<std::string> out;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find(' ', at), text.size());
      if (end > at) out.push_back(text.substr(at, end - at));
      at = end + 1;
    }
    return out;
  }

  const Common& common_;
  const FcOptions& o_;
  const Compilation& c_;
  const TemporaryFolder& folder_;
  Target target_;
  int files_ = 0;
  std::set<std::string> found_;  // kernels that files have
};

/// Makes one object of a routine's file and of what replaces routines of it, which has the same
/// names for the linker as the file's own; whether `ld` and `objcopy` succeeded.
bool one_object(const std::vector<std::string>& objects, const std::string& to,
                const std::vector<std::string>& labels) {
  std::vector<std::string> link{"ld", "-r", "-o", to};
  link.insert(link.end(), objects.begin(), objects.end());
  if (!compile(link)) return false;
  if (labels.empty()) return true;
  const std::string list = objects[0] + ".labels";
  write_file(list, {fmt::format("{}\n", fmt::join(labels, "\n"))});
  return compile({"objcopy", "--wildcard", "--localize-symbols=" + list, to});
}

/// Compiles the files in their order, as later ones may use modules of earlier ones, and links;
/// whether the compilers succeeded.
bool build(const Compiler& compiler, const Compilation& c,
           const std::map<std::size_t, Instead>& instead) {
  std::vector<std::string> words = c.words;
  for (const std::size_t i : c.sources) {
    const auto replaced = instead.find(i);
    const std::string own = fs::path(c.words[i]).stem().string() + ".o";
    if (replaced != instead.end()) {
      const std::vector<std::string> objects = compiler.objects(c, c.words[i], replaced->second);
      if (objects.empty()) return false;
      words[i] = c.objects ? c.output.empty() ? own : c.output : objects[0] + ".one.o";
      if (!one_object(objects, words[i], replaced->second.labels)) return false;
    } else {
      words[i] = compiler.object(c, i, c.objects ? own : "");
      if (words[i].empty()) return false;
    }
  }
  return c.objects || compile(words);
}

int fc(Common common, const FcOptions& o) {
  const Target target = target_option(o.target);
  if (!features_of(target).host_function || features_of(target).gangs)
    fail("unsupported", {}, "`fc` generates `c`, `openmp` or `cuda`, not `{}`", o.target);
  if (o.resident && target != Target::Cuda)
    throw CLI::ValidationError("--resident", "it goes with --target cuda");
  if (o.check_claims && language_of(target) != Language::C)
    throw CLI::ValidationError("--check-claims", "it goes with --target c or openmp");
  for (std::string& k : common.kernels)  // Fortran's names have no case
    for (char& letter : k)
      letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  const Compilation c = read_command(with_files(o.command), common);
  if (c.sources.empty() || !c.makes_code) become(o.command);
  const TemporaryFolder folder(fs::temp_directory_path().string(), "moonloop-fc-");
  if (folder.path().empty())
    fail("cannot-write", {}, "cannot make a folder in `{}`", fs::temp_directory_path().string());
  Compiler compiler(common, o, c, folder);
  std::map<std::size_t, Instead> instead;
  for (const std::size_t i : c.sources)
    if (auto files = compiler.replace(c.words[i])) instead.emplace(i, std::move(*files));
  if (instead.empty()) {
    if (!common.kernels.empty() && !common.quiet)  // perhaps in another file of the build
      for (const std::size_t i : c.sources)
        fmt::print(stderr, "moonloop: {}: nothing is replaced; it has no routine `{}`\n",
                   c.words[i], fmt::join(common.kernels, "` or `"));
    become(o.command);
  }
  if (c.objects && c.sources.size() > 1 && !c.output.empty()) become(o.command);  // which refuses
  if (const auto missing = compiler.not_found(); !c.objects && !missing.empty() && !common.quiet)
    fmt::print(stderr, "moonloop: no file of the command has the routine `{}`\n",
               fmt::join(missing, "` or `"));
  return build(compiler, c, instead) ? kDone : kCompiler;
}

}  // namespace

void add_fc(CLI::App& app, Common& common, std::function<int()>& action) {
  auto o = std::make_shared<FcOptions>();
  CLI::App* command = app.add_subcommand(
      "fc", "Compile Fortran by another compiler, and marked routines of it through C");
  add_common_options(*command, common, false);
  command->add_option("--target", o->target, "c, openmp or cuda")
      ->type_name("TARGET")
      ->capture_default_str();
  command
      ->add_option("--cc", o->cc,
                   "the C compiler, and options for it; cc, or nvcc for cuda, if not told")
      ->type_name("COMMAND");
  command->add_flag("--resident", o->resident,
                    "for cuda: large arrays stay on the device between calls, until the host "
                    "touches them");
  add_check_claims(*command, o->check_claims);
  add_own_schedules(*command, common.own);
  command
      ->add_option("COMMAND", o->command,
                   "after --: the compiler and its arguments, as in -- gfortran -O3 -c a.f90")
      ->type_name("")
      ->required();
  command->callback([&common, &action, o] { action = [&common, o] { return fc(common, *o); }; });
}

}  // namespace moonloop::cli
