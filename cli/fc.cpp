#include <fmt/ranges.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <set>

#include "cli/commands.h"
#include "cli/own_schedules.h"
#include "cli/replacement.h"
#include "codegen/language.h"
#include "core/base/diagnostic.h"
#include "frontends/fortran/compiler_options.h"
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
  std::vector<std::string> for_c;    // options that a C compiler takes too, with the same meaning
};

/// Adds what the command says about how sources are read to `common`. Fails as CompilerOptions.
Compilation read_command(const std::vector<std::string>& words, Common& common) {
  Compilation out{words, {}, {}, false, {}};
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

/// The text of a file in fixed form without the routines.
std::string without(const std::vector<Replaced>& all) {
  const Source* source = all.front().home->source;
  std::string out;
  for (int n = 1; n <= static_cast<int>(source->line_starts.size()); ++n) {
    bool replaced = false;
    for (const Replaced& r : all)
      replaced = replaced || (r.home->routine.first <= n && n <= r.home->routine.last);
    out += replaced ? "\n" : std::string(source->line(n)) + "\n";
  }
  return out;
}

/// The files that stand for one source: in Fortran and in C.
struct Instead {
  std::vector<std::string> fortran;
  std::string c;
};

class Compiler {
 public:
  Compiler(const Common& common, const FcOptions& o, const TemporaryFolder& folder)
      : common_(common), o_(o), folder_(folder), target_(target_option(o.target)) {}

  /// Writes the replacement of `path`; nothing where none of its routines is marked.
  std::optional<Instead> replace(const std::string& path) {
    if (!asks(path)) return std::nullopt;
    if (!of_any_file(path)) return replace_marked(path);
    try {
      return replace_marked(path);
    } catch (const Error& e) {
      note(path, fmt::format("nothing is replaced: {}", e.diagnostic().text));
      return std::nullopt;
    }
  }

  /// The object of a source that stays as it is; empty after an error of the compiler.
  std::string object(const Compilation& c, const std::string& source) {
    std::vector<std::string> words = options_of(c);
    const std::string out = new_file(source) + ".o";
    words.insert(words.end(), {"-c", source, "-o", out});
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
    for (const std::string& f : files.fortran) {
      std::vector<std::string> words = options_of(c);
      if (f.ends_with("_moonloop.f90") && common_.fortran.fixed_form)
        words.emplace_back("-ffree-form");  // which the interface is in
      const std::string beside = fs::path(source).parent_path().string();
      out.push_back(f + ".o");
      words.insert(words.end(),
                   {"-I" + (beside.empty() ? "." : beside), "-c", f, "-o", out.back()});
      if (!compile(words)) return {};
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
  /// The command's words but for what it compiles, and for where to.
  static std::vector<std::string> options_of(const Compilation& c) {
    std::vector<std::string> words{c.words[0]};
    for (std::size_t i = 1; i < c.words.size(); ++i) {
      if (c.words[i] == "-o") {
        ++i;
      } else if (c.words[i] != "-c" && !c.words[i].starts_with("-o") && !is_source(c, i) &&
                 !c.words[i].ends_with(".o")) {
        words.push_back(c.words[i]);
      }
    }
    return words;
  }

  /// A path in the folder with the name of `path`, which another file of the command may have too.
  std::string new_file(const std::string& path) {
    const std::string name = fs::path(path).filename().string();
    const std::string stem = fs::path(path).stem().string();
    if (stems_.insert(stem).second) return folder_.path() + "/" + name;
    const std::string inside = folder_.path() + "/" + std::to_string(stems_.size());
    for (int n = 1;; ++n)
      if (const std::string own = inside + "_" + std::to_string(n); fs::create_directory(own))
        return own + "/" + name;
  }

  std::optional<Instead> replace_marked(const std::string& path) {
    Common one = common_;
    one.input = path;
    one.quiet = true;  // what is not replaced stays as it is
    one.target = target_;
    one.all_knobs = std::make_shared<Knobs>(one.knobs);
    if (common_.own) one.own = std::make_shared<OwnSchedules>(*common_.own);
    FortranFile file;
    std::set<std::string> marked(one.kernels.begin(), one.kernels.end());
    const std::vector<Kernel> all =
        load_kernels(one, {}, nullptr, &file, one.kernels.empty() ? &marked : nullptr);
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
    std::vector<std::string> names;
    for (const Kernel& k : kernels) names.push_back(k.name);
    note(path, fmt::format("{}", fmt::join(names, ", ")));
    found_.insert(names.begin(), names.end());
    const std::string own = new_file(path);
    const std::string base = fs::path(own).replace_extension().string();
    Instead out{{}, base + (target_ == Target::Cuda ? "_moonloop.cu" : "_moonloop.c")};
    write_file(out.c, {r.code});
    if (!is_fixed_form(path, common_.fortran)) {
      out.fortran = {own};
      write_file(out.fortran[0], {file_of(r.routines)});
    } else {
      out.fortran = {base + "_moonloop.f90", own};
      write_file(out.fortran[0], {interface_file(r.routines, kernels, one, out.fortran[0])});
      write_file(out.fortran[1], {without(r.routines)});
    }
    return out;
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
  static bool has_blocks(const std::string& text) {
    return text.find("$moonloop") != std::string::npos || text.find("$loopy") != std::string::npos;
  }
  Replacement replaced(const std::vector<Kernel>& kernels, const FortranFile& file) const {
    return replace_routines(kernels, file, target_, true,
                            {.resident = o_.resident, .check_claims = o_.check_claims});
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
    for (const std::string_view word : {"subroutine", "function"})
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
  const TemporaryFolder& folder_;
  Target target_;
  std::set<std::string> stems_, found_;  // of files in the folder; kernels
};

int fc(Common common, const FcOptions& o) {
  const Target target = target_option(o.target);
  if (!features_of(target).host_function || features_of(target).gangs)
    fail("unsupported", {}, "`fc` generates `c`, `openmp` or `cuda`, not `{}`", o.target);
  if (o.resident && target != Target::Cuda)
    throw CLI::ValidationError("--resident", "it goes with --target cuda");
  if (o.check_claims && language_of(target) != Language::C)
    throw CLI::ValidationError("--check-claims", "it goes with --target c or openmp");
  const Compilation c = read_command(o.command, common);
  if (c.sources.empty()) become(c.words);
  const TemporaryFolder folder(fs::temp_directory_path().string(), "moonloop-fc-");
  if (folder.path().empty())
    fail("cannot-write", {}, "cannot make a folder in `{}`", fs::temp_directory_path().string());
  Compiler compiler(common, o, folder);
  std::map<std::size_t, Instead> instead;
  for (const std::size_t i : c.sources)
    if (auto files = compiler.replace(c.words[i])) instead.emplace(i, std::move(*files));
  if (instead.empty()) {
    if (!common.kernels.empty() && !common.quiet)  // perhaps in another file of the build
      for (const std::size_t i : c.sources)
        fmt::print(stderr, "moonloop: {}: nothing is replaced; it has no routine `{}`\n",
                   c.words[i], fmt::join(common.kernels, "` or `"));
    become(c.words);
  }
  if (c.objects && c.sources.size() > 1)
    fail("unsupported", {}, "`fc` compiles one file at a time to an object, not {}",
         c.sources.size());
  if (const auto missing = compiler.not_found(); !c.objects && !missing.empty() && !common.quiet)
    fmt::print(stderr, "moonloop: no file of the command has the routine `{}`\n",
               fmt::join(missing, "` or `"));
  std::vector<std::string> words = c.words;
  for (const std::size_t i : c.sources) {  // in order: a file has modules for those behind it
    const auto it = instead.find(i);
    if (it == instead.end() && i > instead.rbegin()->first) break;
    if (it == instead.end()) {
      words[i] = compiler.object(c, c.words[i]);
      if (words[i].empty()) return kCompiler;
      continue;
    }
    const Instead& files = it->second;
    const std::vector<std::string> objects = compiler.objects(c, c.words[i], files);
    if (objects.empty()) return kCompiler;
    if (c.objects) {  // one object of all
      const std::string to =
          c.output.empty() ? fs::path(c.words[i]).stem().string() + ".o" : c.output;
      std::vector<std::string> link{"ld", "-r", "-o", to};
      link.insert(link.end(), objects.begin(), objects.end());
      return compile(link) ? kDone : kCompiler;
    }
    words[i] = objects[0];
    words.insert(words.end(), objects.begin() + 1, objects.end());
  }
  return compile(words) ? kDone : kCompiler;
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
