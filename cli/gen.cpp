#include <algorithm>

#include "cli/commands.h"
#include "cli/warnings.h"
#include "codegen/language.h"
#include "codegen/print/fortran_interface.h"
#include "core/base/diagnostic.h"
#include "frontends/fortran/fortran.h"

namespace moonloop::cli {
namespace {

struct GenOptions {
  std::string target = "c", output = "-", header, fortran;
};

bool is_directive(std::string_view line) { return line.starts_with('#'); }

bool preprocessed(const FortranFile::Home& h) { return h.source->name.ends_with(".F90"); }

/// A routine that is replaced, and what by.
struct Replaced {
  const FortranFile::Home* home;  // null: it is in no file
  FortranInterface by;
};

/// The modules of the file that the routines are in, or all of it where they are in its main
/// program, with the replacements in their places; and the preprocessor's directives anywhere,
/// which decide what is in these.
std::string file_with(const std::vector<Replaced>& all, const Source* source) {
  const auto in = [](const FortranFile::Lines& l, int n) { return l.first <= n && n <= l.last; };
  std::string out;
  bool goes_on = false;  // of a directive on the line before
  for (int n = 1; n <= static_cast<int>(source->line_starts.size()); ++n) {
    const std::string_view line = source->line(n);
    bool kept = false, replaced = false, directive = false;
    std::string by;
    for (const Replaced& r : all) {
      if (!r.home || r.home->source != source) continue;
      directive = preprocessed(*r.home) && (goes_on || is_directive(line));
      replaced = replaced || in(r.home->routine, n);
      for (const FortranFile::Lines& m : r.home->modules) kept = kept || in(m, n);
      if (n == r.home->routine.last) by += r.by.routine;
    }
    goes_on = directive && line.ends_with('\\');
    if (directive || (kept && !replaced)) out += std::string(line) + "\n";
    out += by;
  }
  return out;
}

AroundRoutine around(const FortranFile::Home& h, const Kernel& k) {
  if (!h.source->name.ends_with("90") && (h.program || !h.module.empty()))
    fail("unsupported", k.at,
         "`{}` is in {} of a file in fixed form, which the interface in free form cannot have",
         k.name, h.program ? "the main program" : "the module `" + h.module + "`");
  AroundRoutine out;
  out.module = h.module;
  out.pure = h.pure;
  out.elemental = h.elemental;
  out.recursive = h.recursive;
  out.values = h.values;
  out.as_declared = true;
  out.outputs = h.outputs;
  for (const Argument& a : k.args) {
    if (a.intent == Intent::Unknown)
      out.undeclared.insert(a.fortran.component ? a.fortran.component->of : a.name);
    if (a.strides) out.assumed_size.insert(a.name);
  }
  return out;
}

/// The preprocessor's directives in the file of `h` need a name that asks for them.
void check_name(const std::string& text, const FortranFile::Home& h, const Kernel& k,
                const Common& common, const std::string& to) {
  const bool again = !h.modules.empty() && (!common.defines.empty() || text.starts_with('#') ||
                                            text.find("\n#") != std::string::npos);
  if (preprocessed(h) && again && !to.ends_with(".F90"))
    fail("unsupported", k.at,
         "`{}` is in a file with modules for the preprocessor, which the interface has too; name "
         "it `{}.F90`, and compile it with the same definitions",
         k.name, to.ends_with(".f90") ? to.substr(0, to.size() - 4) : to);
}

/// The interface of all kernels, for the file `to`.
std::string interface_file(const std::vector<Replaced>& all, const std::vector<Kernel>& kernels,
                           const Common& common, const std::string& to) {
  std::string out, middle, after;
  std::vector<const Source*> sources;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Replaced& r = all[i];
    out += r.by.module;
    after += r.by.after;
    if (!r.home || r.home->modules.empty() || !r.home->source->name.ends_with("90")) {
      middle += r.by.routine;
    } else if (std::find(sources.begin(), sources.end(), r.home->source) == sources.end()) {
      sources.push_back(r.home->source);
      middle += file_with(all, r.home->source);
    }
  }
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i].home) check_name(middle, *all[i].home, kernels[i], common, to);
  return out + middle + after;
}

/// Where a name may have a meaning of its own.
std::string around_of(Target t) {
  const Language l = language_of(t);
  return l == Language::C ? "C or its library" : language_name(l) + " or in the C library";
}

int gen(const Common& common, const GenOptions& o) {
  const Target target = target_option(o.target);
  const std::pair<const char*, const std::string*> files[] = {
      {"-o", &o.output}, {"--header", &o.header}, {"--fortran-interface", &o.fortran}};
  for (const auto& [option, file] : files)
    for (const auto& [other, same] : files)
      if (option != other && !file->empty() && *file != "-" && *file == *same)
        fail("repeated-parameter", {}, "`{}` is named by `{}` and by `{}`", *file, option, other);
  FortranFile file;
  const std::vector<Kernel> kernels =
      pick_kernels(common, load_kernels(common, {}, nullptr, &file));
  if (kernels.size() > 1 && !o.header.empty())
    fail("unsupported", {}, "--header is for one kernel, and --kernel names {}", kernels.size());
  std::vector<Pieces> pieces;
  std::vector<Replaced> replaced;
  std::string header;
  for (const Kernel& k : kernels) {
    warn_of_single_work_item(common, k, target);
    Program program = generate(k, target, {.host_arrays = !o.fortran.empty()});
    if (program.name != k.name && o.fortran.empty())  // callers use the kernel's name
      fmt::print(stderr, "note: the function of kernel `{}` is `{}`; the name is taken in {}\n",
                 k.name, program.name, around_of(target));
    if (!o.fortran.empty()) {
      const auto it = file.homes.find(k.name);
      const FortranFile::Home* home = it == file.homes.end() ? nullptr : &it->second;
      replaced.push_back({home, fortran_interface(program, k.name,
                                                  home ? around(*home, k) : AroundRoutine{})});
      program.pieces.functions += replaced.back().by.c;
    }
    header = std::move(program.header);
    pieces.push_back(std::move(program.pieces));
  }
  if (!o.header.empty()) write_output(o.header, header);
  if (!o.fortran.empty())
    write_output(o.fortran, interface_file(replaced, kernels, common, o.fortran));
  write_output(o.output, text_of(pieces));
  return kDone;
}

}  // namespace

void add_gen(CLI::App& app, Common& common, std::function<int()>& action) {
  auto o = std::make_shared<GenOptions>();
  CLI::App* command = app.add_subcommand("gen", "Print the generated code");
  add_common_options(*command, common);
  command->add_option("--target", o->target, target_list(" or "))
      ->type_name("TARGET")
      ->check(CLI::IsMember(target_names()))
      ->capture_default_str();
  command->add_option("-o", o->output, "where to write the code; - is standard output")
      ->type_name("FILE")
      ->capture_default_str();
  command->add_option("--header", o->header, "where to write a C header")->type_name("FILE");
  command
      ->add_option("--fortran-interface", o->fortran,
                   "where to write a subroutine in Fortran that calls the code; for c, openmp "
                   "and cuda")
      ->type_name("FILE.f90");
  command->callback([&common, &action, o] { action = [&common, o] { return gen(common, *o); }; });
}

}  // namespace moonloop::cli
