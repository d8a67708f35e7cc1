#include "cli/options.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <optional>
#include <set>

#include "cli/commands.h"
#include "cli/own_schedules.h"
#include "cli/predefined.h"
#include "cli/tuned.h"
#include "cli/warnings.h"
#include "codegen/language.h"
#include "codegen/plan/spaces.h"
#include "core/base/warning.h"
#include "core/order/check_kernel.h"
#include "core/order/reference.h"
#include "frontends/fortran/compiler_options.h"
#include "frontends/fortran/project.h"
#include "frontends/text/parse.h"
#include "runtime/file.h"
#include "transforms/callee_code.h"

namespace moonloop::cli {
namespace {

using Pair = std::pair<std::string, std::string>;

/// An option NAME=VALUE that may be repeated. `alone`: the value where there is only a name; empty:
/// that is an error.
void add_pairs(CLI::App& command, const std::string& flags, std::vector<Pair>& all,
               const std::string& help, const std::string& alone = {}) {
  command
      .add_option_function<std::vector<std::string>>(
          flags,
          [&all, flags, alone](const std::vector<std::string>& given) {
            for (const std::string& text : given) {
              const auto equals = text.find('=');
              const bool no_value = equals == std::string::npos;
              if (equals == 0 || text.empty() || (no_value && alone.empty()))
                throw CLI::ValidationError(flags, "`" + text + "` is not NAME=VALUE");
              all.emplace_back(text.substr(0, equals), no_value ? alone : text.substr(equals + 1));
            }
          },
          help)
      ->type_name(alone.empty() ? "NAME=VALUE" : "NAME[=VALUE]")
      ->allow_extra_args(false)
      ->expected(1)
      ->take_all();
}

/// Compilers' options, without their `-f`.
void read_compiler_options(const std::vector<std::string>& all, Common& c) {
  CompilerOptions options(c.fortran);
  try {
    for (const std::string& text : all) {
      if (options.read({"-f" + text}, 0) == 0)
        throw CLI::ValidationError("-f",
                                   "`-f" + text + "` says nothing about how a source is read");
    }
    options.finish();
  } catch (const Error& e) { throw CLI::ValidationError("-f", e.diagnostic().text); }
}

std::string read_stream(std::FILE* f, const std::string& name) {
  std::string text;
  char block[65536];
  std::size_t n = 0;
  while ((n = std::fread(block, 1, sizeof block, f)) > 0) text.append(block, n);
  if (std::ferror(f)) fail("cannot-read", {}, "cannot read `{}`: {}", name, std::strerror(errno));
  return text;
}

std::vector<std::string> names_of(const std::vector<Kernel>& all) {
  std::vector<std::string> names;
  for (const Kernel& k : all) names.push_back(k.name);
  return names;
}

}  // namespace

const Source* read_source(const std::string& path) {
  if (path == "-") {
    static const Source* const all = add_source("<stdin>", read_stream(stdin, "<stdin>"));
    return all;
  }
  std::FILE* f = std::fopen(path.c_str(), "rb");
  if (!f) fail("cannot-read", {}, "cannot read `{}`: {}", path, std::strerror(errno));
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> close(f, std::fclose);
  return add_source(path, read_stream(f, path));
}

CLI::Validator one_of(std::vector<std::string> words) {
  const std::string all = fmt::format("{{{}}}", fmt::join(words, ","));
  return {[words = std::move(words), all](std::string& given) {
            if (std::find(words.begin(), words.end(), given) != words.end()) return std::string();
            return fmt::format("{} not in {}{}", given, all, did_you_mean(given, words));
          },
          all};
}

void add_check_claims(CLI::App& command, bool& value) {
  command.add_flag("--check-claims", value,
                   "for c and openmp: the code ends the program with a message where a subscript "
                   "is outside of its array, or arguments share memory that is written");
}

void add_common_options(CLI::App& command, Common& c, bool takes_input) {
  if (takes_input)
    command
        .add_option("INPUT", c.input,
                    "kernel text (K.loop), Fortran (K.f90), a script that makes its own kernels "
                    "(S.lua), or - for "
                    "kernel text from standard input")
        ->type_name("")
        ->required();
  if (takes_input)
    command
        .add_option("MORE", c.fortran.module_files,
                    "with Fortran: files that are searched for modules first")
        ->type_name("");
  command
      .add_option("-t,--transform", c.transforms, "script that transforms the kernels; repeatable")
      ->type_name("FILE.lua")
      ->allow_extra_args(false)
      ->expected(1)
      ->take_all();
  add_pairs(command, "-p,--param", c.params, "value of a scalar argument; repeatable");
  command
      .add_option("--kernel", c.kernels,
                  "the kernel of the input that is meant; needed if there are several and the last "
                  "one is not the only program; repeatable for check, fc and gen")
      ->type_name("NAME")
      ->allow_extra_args(false)
      ->expected(1)
      ->take_all();
  add_pairs(command, "-D", c.fortran.defines,
            "preprocessor definition for Fortran, 1 without a value; repeatable", "1");
  command
      .add_option("-I,--module-path", c.fortran.include_folders,
                  "folder of files that Fortran includes, and of modules; repeatable")
      ->type_name("FOLDER")
      ->allow_extra_args(false)
      ->expected(1)
      ->take_all();
  command
      .add_option("--project", c.project,
                  "the compile_commands.json of a build, or its folder: how Fortran is compiled, "
                  "and where its modules are")
      ->type_name("BUILD");
  command
      .add_option_function<std::vector<std::string>>(
          "-f", [&c](const std::vector<std::string>& all) { read_compiler_options(all, c); },
          "an option of Fortran compilers that says how a source is read, as in "
          "-ffixed-line-length-132; repeatable")
      ->type_name("OPTION")
      ->allow_extra_args(false)
      ->expected(1)
      ->take_all();
  command.add_flag("--skip-output", c.fortran.skip_output,
                   "leave out the print and write statements of Fortran");
  command
      .add_option_function<std::string>(
          "--directives",
          [&c](const std::string& how) {
            c.fortran.directives = how == "use"      ? FortranDirectives::Use
                                   : how == "ignore" ? FortranDirectives::Ignore
                                                     : FortranDirectives::Check;
          },
          "what becomes of OpenMP's and OpenACC's directives in Fortran: they are proved, trusted, "
          "or left out")
      ->type_name("HOW")
      ->check(one_of({"check", "use", "ignore"}));
  const auto kind = [&](const char* name, int& bytes, const char* help) {
    command.add_option(name, bytes, help)->type_name("BYTES")->check(CLI::IsMember({4, 8}));
  };
  kind("--default-real", c.fortran.default_real,
       "what `real` of Fortran is without a kind: 4 or 8 bytes");
  kind("--default-integer", c.fortran.default_integer,
       "what `integer` and `logical` of Fortran are without a kind: 4 or 8 bytes");
  add_pairs(command, "--set", c.settings, "what scripts read as lp.args.NAME; repeatable");
  add_pairs(command, "--knob", c.knobs,
            "value of a knob, which a script declares by lp.knob; repeatable");
  command
      .add_option("--device", c.device, "number of the device, as `moonloop devices` lists them")
      ->type_name("N")
      ->check(CLI::Range(0, 1000, "NONNEGATIVE"));
  command.add_flag("--quiet", c.quiet, "nothing on standard error but errors");
  command
      .add_option_function<std::string>(
          "--color",
          [&c](const std::string& when) {
            c.color = when == "always" || (when == "auto" && isatty(STDERR_FILENO) != 0);
          },
          "colours in messages")
      ->type_name("WHEN")
      ->check(one_of({"auto", "always", "never"}))
      ->default_str("auto");
  command.add_flag("--trust", c.trust, "run scripts without sandbox and limits");
}

void warn(const Common& c, const Diagnostic& d) {
  if (!c.quiet) fmt::print(stderr, "{}", render_warning(d, c.color));
}

ScriptOptions script_options(const Common& c) {
  ScriptOptions o;
  o.trust = c.trust;
  o.settings = c.settings;
  if (const auto t = c.target ? c.target : c.schedules) o.target = to_string(*t);
  o.knobs = c.all_knobs ? c.all_knobs : std::make_shared<Knobs>(c.knobs);
  return o;
}

/// A scalar that no kernel has, before or after the scripts, is misspelt, even if the command does
/// not use its value.
static void require_scalars(const Common& c, const std::vector<Kernel>& before,
                            const std::vector<Kernel>& after) {
  std::set<std::string> known;
  for (const auto* all : {&before, &after})
    for (const Kernel& k : *all)
      for (const Argument& a : k.args) known.insert(a.name);
  for (const auto& [name, value] : c.params) {
    if (known.count(name)) continue;
    if (after.size() == 1) given_scalars(after.front(), c.params, {known.begin(), known.end()});
    fail("unknown-parameter", {}, "no kernel of `{}` has a scalar `{}`{}", c.input, name,
         did_you_mean(name, {known.begin(), known.end()}));
  }
}

/// The project, with what its compilers define where its files are preprocessed.
static std::shared_ptr<const FortranProject> project_with_macros(const Common& c) {
  auto out = std::make_shared<FortranProject>(*read_project(c.project));
  std::map<std::vector<std::string>, std::optional<Macros>> known;  // by the commands' options
  std::set<std::string> silent;
  for (FortranProject::File& f : out->files) {
    if (f.words.empty() || !has_preprocessor_lines(f.path)) continue;
    std::vector<std::string> options{f.words[0]};
    for (const std::string& w : f.words)
      if (w.starts_with('-')) options.push_back(w);
    auto it = known.find(options);
    if (it == known.end()) it = known.emplace(options, predefined_macros(options)).first;
    if (it->second)
      f.predefined = *it->second;
    else if (silent.insert(f.words[0]).second)
      warn(c, unknown_macros(f.words[0]));
  }
  return out;
}

/// How the input is read, which is Fortran.
static FortranOptions fortran_options(const Common& c) {
  for (const std::string& more : c.fortran.module_files) {
    if (!is_fortran(more))
      throw CLI::ValidationError("MORE", "`" + more + "` is not a Fortran file");
    read_source(more);  // fails where it cannot be read
  }
  FortranOptions own = c.fortran;
  own.lanes = !c.target || !is_device(*c.target);
  own.wanted.insert(c.kernels.begin(), c.kernels.end());
  if (c.project.empty()) return own;
  return options_in_project(project_with_macros(c), c.input, own);
}

/// What only Fortran has is a usage error.
static void require_no_fortran(const Common& c) {
  if (!c.fortran.module_files.empty())
    throw CLI::ValidationError("MORE", fmt::format("`{}` is not Fortran, and `{}` is another file",
                                                   c.input, c.fortran.module_files.front()));
  if (!c.project.empty())
    throw CLI::ValidationError("--project", "it goes with Fortran, not `" + c.input + "`");
}

namespace {

/// Gives loops that are tagged `par`, or `simd` in a kernel that has no groups or work-items, after
/// all scripts to work-items; those that a directive gave to groups, too, in the kernels `plain`,
/// which no script has changed.
std::vector<Kernel> with_work_items(const Common& c, std::vector<Kernel> kernels,
                                    const std::set<std::string>& plain,
                                    const ScriptOptions& options) {
  std::string code;
  for (const Kernel& k : kernels) {
    const auto has = [&](TagKind kind) {
      return std::any_of(k.iname_tags.begin(), k.iname_tags.end(),
                         [&](const auto& t) { return t.second.kind == kind; });
    };
    const bool groups = has(TagKind::Group) && !has(TagKind::Local) && plain.count(k.name) > 0;
    const bool lanes = has(TagKind::Simd) && !has(TagKind::Group) && !has(TagKind::Local);
    if (c.means(k.name) && (has(TagKind::Par) || lanes || groups))
      code += fmt::format("{0} = require(\"moonloop.lib\").work_items({0})\n", lua_global(k.name));
  }
  if (code.empty()) return kernels;
  return run_transform_script(add_source("work-items", code), kernels, options);
}

/// Whether the kernel, or one that it calls, has an array of its own whose size is an argument.
bool has_array_of_any_size(const Kernel& k) {
  for (const auto& [name, t] : k.temporaries)
    if (has_any_size(t)) return true;
  return std::any_of(k.callees.begin(), k.callees.end(), [](const auto& callee) {
    const CalledKernel& called = *callee.second;
    return has_array_of_any_size(called.code ? *called.code : *called.meaning);
  });
}

/// Kernels that a work-item cannot call, as it has no memory for their arrays, become parts of
/// their callers.
std::vector<Kernel> with_arrays_of_callees(const Common& c, std::vector<Kernel> kernels,
                                           const ScriptOptions& options) {
  for (;;) {
    std::string code;
    for (const Kernel& k : kernels) {
      if (!c.means(k.name)) continue;
      std::vector<std::string> names;
      for (const auto& [name, called] : k.callees)
        if (has_array_of_any_size(called->code ? *called->code : *called->meaning)) {
          names.push_back(fmt::format("\"{}\"", name));
          warn(c, {"inlined-call",
                   fmt::format("the call of `{}` in `{}` is replaced by its body, as a work-item "
                               "has no memory of the size of its arrays",
                               name, k.name),
                   {k.at, {}},
                   {},
                   {}});
        }
      if (!names.empty())
        code += fmt::format("{0} = lp.inline({0}, {{{1}}})\n", lua_global(k.name),
                            fmt::join(names, ", "));
    }
    if (code.empty()) return kernels;
    kernels = run_transform_script(add_source("arrays of callees", code), kernels, options);
  }
}

/// Fits loops that directives made parallel to processors, in the kernels `plain`, which no script
/// has changed.
std::vector<Kernel> with_parallel_rows(const Common& c, std::vector<Kernel> kernels,
                                       const std::set<std::string>& plain,
                                       const ScriptOptions& options) {
  const bool threads = *c.target == Target::OpenMP;
  const bool any_order = threads || c.fortran.directives == FortranDirectives::Use;
  std::string code;
  for (const Kernel& k : kernels)
    if (c.means(k.name) && plain.contains(k.name) &&
        std::any_of(k.iname_tags.begin(), k.iname_tags.end(), [](const auto& t) {
          return t.second.kind == TagKind::Par || t.second.kind == TagKind::Simd;
        }))
      code += fmt::format(
          "{} = require(\"moonloop.lib\").parallel_rows({}, {{sums = {}, threads = {}}})\n",
          lua_global(k.name), lua_global(k.name), any_order, threads);
  if (code.empty()) return kernels;
  return run_transform_script(add_source("parallel rows", code), kernels, options);
}

}  // namespace

/// The kernels that those call that the command is about, and so on.
static std::set<std::string> called_by_meant(const Common& c, const std::vector<Kernel>& kernels) {
  std::set<std::string> out;
  for (std::size_t size = 0;; size = out.size()) {
    for (const Kernel& k : kernels)
      if (c.means(k.name) || out.contains(k.name))
        for (const auto& [name, called] : k.callees) out.insert(name);
    if (out.size() == size) return out;
  }
}

std::vector<Kernel> load_kernels(const Common& c,
                                 const std::function<void(const StepReport&)>& on_step,
                                 std::vector<Kernel>* before, FortranFile* file,
                                 std::set<std::string>* marked, UsedKnobs* used) {
  const auto from_stdin = std::count(c.transforms.begin(), c.transforms.end(), "-");
  if (from_stdin + (c.input == "-" ? 1 : 0) > 1)
    throw CLI::ValidationError("INPUT",
                               "standard input is read once; only one of INPUT and -t is -");
  ScriptOptions options = script_options(c);
  options.on_step = on_step;
  options.warn = [&c](const Diagnostic& d) { warn(c, d); };
  std::set<std::string> read;
  if (!c.settings.empty())
    options.on_setting = [&read](const std::string& name) { read.insert(name); };
  const Source* source = read_source(c.input);
  std::vector<const Source*> scripts;
  for (const std::string& script : c.transforms) scripts.push_back(read_source(script));
  const auto tuned = std::make_shared<TunedValues>(c);
  if (!c.all_knobs)
    options.knobs = std::make_shared<Knobs>(c.knobs, [tuned] { return tuned->find(); });
  const auto tune_for = [&](const std::vector<FortranFile::Transform>& blocks) {
    std::vector<std::string> texts;
    if (c.input.ends_with(".lua")) texts.push_back(source->text);
    for (const FortranFile::Transform& t : blocks)
      if (t.kernel.empty() || c.means(t.kernel)) texts.push_back(t.code);
    for (const Source* script : scripts) texts.push_back(script->text);
    tuned->set_scripts(std::move(texts));
  };
  if (c.input.ends_with(".lua")) {
    tuned->set_made();
    tune_for({});
  }
  FortranFile fortran;
  std::vector<UsedScript> ran;
  options.on_file = [&ran](const std::string& path, const std::string& text) {
    if (!ran.empty()) ran.back().files.emplace_back(path, text);
  };
  if (c.input.ends_with(".lua")) ran.push_back({source->name, source->text});
  if (is_fortran(c.input))
    fortran = parse_fortran(source, fortran_options(c));
  else
    require_no_fortran(c);
  std::vector<Kernel> kernels = is_fortran(c.input)         ? fortran.kernels
                                : c.input.ends_with(".lua") ? run_kernel_script(source, options)
                                                            : parse_kernels(source);
  if (kernels.empty()) fail("no-kernel", {}, "`{}` has no kernel", source->name);
  for (const FortranFile::LeftOut& l : fortran.left_out)
    if (!c.kernels.empty() && c.means(l.name)) throw Error(l.why);
  for (const FortranFile::Warning& w : fortran.warnings)
    if (c.means(w.routine)) warn(c, w.what);
  const std::vector<Kernel> read_kernels = kernels;
  if (before) *before = kernels;
  for (const Kernel& k : kernels)
    if (c.means(k.name)) {
      warn_of_no_instructions(c, k);
      warn_of_unused_inames(c, k);
      warn_of_empty_loops(c, k);
      warn_of_widening_literals(c, k);
    }
  std::map<std::string, std::size_t> steps;
  const auto count = [&] {
    for (const Kernel& k : kernels) steps[k.name] = k.trace.size();
  };
  if (!c.input.ends_with(".lua")) {
    tuned->set_kernels(kernels);
    tune_for(fortran.transforms);
  }
  std::set<std::string> plain;
  for (const Kernel& k : kernels) plain.insert(k.name);
  const auto note_changed = [&] {
    for (const Kernel& k : kernels)
      if (k.trace.size() != steps[k.name]) {
        if (marked) marked->insert(k.name);
        plain.erase(k.name);
      }
    count();
  };
  count();
  const std::set<std::string> called = called_by_meant(c, kernels);
  for (const FortranFile::Transform& t : fortran.transforms) {
    if (!t.kernel.empty() && !c.means(t.kernel) && !(t.automatic && called.contains(t.kernel)))
      continue;
    ran.push_back({"block", t.code});
    kernels = run_transform_script(t.source, kernels, options, t.code.c_str());
    t.kernel.empty() || t.automatic ? note_changed() : count();
    if (t.automatic && marked) marked->insert(t.kernel);
  }
  if (file) *file = std::move(fortran);
  for (const Source* script : scripts) {
    ran.push_back({script->name, script->text});
    kernels = run_transform_script(script, kernels, options);
  }
  note_changed();
  if (c.own) {
    std::set<std::string> chosen;  // what no script has changed
    for (const std::string& name : plain)
      if (c.means(name) || called.contains(name)) chosen.insert(name);
    kernels = with_own_schedules(c, std::move(kernels), chosen, options);
    note_changed();
  }
  if (c.target && is_device(*c.target)) {
    kernels = with_arrays_of_callees(c, std::move(kernels), options);
    kernels = with_work_items(c, std::move(kernels), plain, options);
  }
  if (c.target && is_fortran(c.input) && (*c.target == Target::C || *c.target == Target::OpenMP))
    kernels = with_parallel_rows(c, std::move(kernels), plain, options);
  kernels = linked(std::move(kernels), [&c](const Kernel& k) { return c.means(k.name); });
  if (marked)  // a kernel changes with what it calls
    for (const Kernel& k : kernels)
      if (std::any_of(k.callees.begin(), k.callees.end(),
                      [](const auto& c) { return c.second->code != nullptr; }))
        marked->insert(k.name);
  tuned->tell(*options.knobs);
  if (!c.all_knobs) options.knobs->require_declared();
  if (used) used->knobs = *options.knobs;
  if (used) used->scripts = std::move(ran);
  if (used && !c.input.ends_with(".lua")) used->before = read_kernels;
  if (used && used->with_hashes) {
    used->kernel = tuned->kernel_hash();
    used->script = tuned->script_hash();
  }
  warn_of_unread_settings(c, {read.begin(), read.end()});
  require_scalars(c, read_kernels, kernels);
  return kernels;
}

std::vector<FortranImport> load_imports(const Common& c) {
  return fortran_imports(read_source(c.input), fortran_options(c));
}

RefusedImport refused_of(const FortranImport& i) {
  const char* what = "what it reads";
  try {
    check_defined(complete(*i.kernel));
    what = "its directives";
    std::vector<Kernel> kernels{*i.kernel};
    for (const FortranFile::Transform& t : i.directives)
      kernels = run_transform_script(t.source, kernels, {}, t.code.c_str());
    return {};
  } catch (const Error& e) { return {what, e.diagnostics()}; }
}

void choose_program(Common& c) {
  if (!c.kernels.empty() || c.input.empty() || is_fortran(c.input) || c.input.ends_with(".lua"))
    return;
  try {
    if (const auto name = program_of(read_source(c.input))) {
      c.kernels = {*name};
      c.is_program = true;
    }
  } catch (const Error&) {}  // whoever reads it next reports that
}

std::vector<Kernel> pick_kernels(const Common& c, const std::vector<Kernel>& all) {
  if (c.kernels.empty()) {
    if (all.size() == 1) return all;
    throw Error(Diagnostic{
        "which-kernel",
        fmt::format("`{}` has {} kernels: {}", c.input, all.size(), quoted_list(names_of(all))),
        {},
        {},
        "name one with --kernel"});
  }
  std::vector<Kernel> out;
  for (const std::string& name : c.kernels) {
    if (std::any_of(out.begin(), out.end(), [&](const Kernel& k) { return k.name == name; }))
      fail("repeated-parameter", {}, "--kernel names `{}` twice", name);
    const auto it =
        std::find_if(all.begin(), all.end(), [&](const Kernel& k) { return k.name == name; });
    if (it == all.end())
      fail("unknown-kernel", {}, "`{}` has no kernel `{}`; it has {}", c.input, name,
           quoted_list(names_of(all)));
    out.push_back(*it);
  }
  return out;
}

Kernel pick_kernel(const Common& c, const std::vector<Kernel>& all) {
  if (c.kernels.size() > 1)
    fail("repeated-parameter", {}, "this command takes one kernel, and --kernel names {}",
         quoted_list(c.kernels));
  return pick_kernels(c, all).front();
}

Kernel load_kernel(const Common& c, UsedKnobs* used) {
  return pick_kernel(c, load_kernels(c, {}, nullptr, nullptr, nullptr, used));
}

void write_output(const std::string& path, const std::string& text) {
  if (path != "-") return write_file(path, {text});
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    fail("cannot-write", {}, "cannot write to standard output: {}", std::strerror(errno));
}

const std::vector<std::string>& target_names() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    for (const Target t : all_targets()) names.push_back(to_string(t));
    return names;
  }();
  return kNames;
}

std::map<std::string, double> trips_option(const std::vector<std::string>& given) {
  std::map<std::string, double> out;
  for (const std::string& text : given) {
    const auto equals = text.find('=');
    char* end = nullptr;
    const double n = equals == std::string::npos ? 0 : std::strtod(&text[equals + 1], &end);
    if (equals == 0 || !end || *end || n <= 0)
      throw CLI::ValidationError("--trips", fmt::format("`{}` is not NAME=NUMBER", text));
    out[text.substr(0, equals)] = n;
  }
  return out;
}

Target target_option(const std::string& name) {
  const auto target = parse_target(name);
  if (!target) throw CLI::ValidationError("--target", "`" + name + "` is not a target");
  return *target;
}

void report(const Error& e, bool color) {
  std::string text;
  for (const Diagnostic& d : e.diagnostics()) text += render(d, color);
  std::fflush(stdout);
  std::fwrite(text.data(), 1, text.size(), stderr);
}

bool is_compiler_error(const std::string& code) {
  return code == "no-compiler" || code == "compiler-failed" || code == "compiler-crashed" ||
         code == "cannot-load" || code == "cannot-start" || code == "no-device" ||
         code == "device-failed" || code == "device-limit" || code == "out-of-device-memory" ||
         code == "no-worker";
}

}  // namespace moonloop::cli
