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

/// The text of the modules before a routine, and after it; and the preprocessor's directives
/// anywhere, which decide what is in these.
void add_modules(const FortranFile::Home& h, AroundRoutine& out) {
  const auto in = [](const FortranFile::Lines& l, int n) { return l.first <= n && n <= l.last; };
  const auto lines = static_cast<int>(h.source->line_starts.size());
  bool goes_on = false;  // of a directive on the line before
  for (int n = 1; n <= lines; ++n) {
    const std::string_view line = h.source->line(n);
    const bool kept =
        std::any_of(h.modules.begin(), h.modules.end(), [&](const auto& m) { return in(m, n); });
    const bool directive = preprocessed(h) && (goes_on || is_directive(line));
    goes_on = directive && line.ends_with('\\');
    if (directive || (kept && !in(h.routine, n)))
      (n <= h.routine.last ? out.before : out.after) += std::string(line) + "\n";
  }
}

/// The modules of the file that a routine of the input is in, for the interface in file `to`.
AroundRoutine around(const FortranFile& file, const Kernel& k, const Common& common,
                     const std::string& to) {
  const auto home = file.homes.find(k.name);
  if (home == file.homes.end()) return {};
  const FortranFile::Home& h = home->second;
  AroundRoutine out{h.module, "", "", h.pure, h.elemental, h.recursive, h.values};
  if (!h.source->name.ends_with("90")) {
    if (h.module.empty()) return out;
    fail("unsupported", k.at,
         "`{}` is in the module `{}` of a file in fixed form, which the interface in free form "
         "cannot have",
         k.name, h.module);
  }
  if (h.modules.empty()) return out;
  add_modules(h, out);
  const bool again = !common.defines.empty() || out.before.starts_with('#') ||
                     (out.before + "\n" + out.after).find("\n#") != std::string::npos;
  if (preprocessed(h) && again && !to.ends_with(".F90"))
    fail("unsupported", k.at,
         "`{}` is in a file with modules for the preprocessor, which the interface has too; name "
         "it `{}.F90`, and compile it with the same definitions",
         k.name, to.ends_with(".f90") ? to.substr(0, to.size() - 4) : to);
  return out;
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
  const Kernel kernel = pick_kernel(common, load_kernels(common, {}, nullptr, &file));
  warn_of_single_work_item(common, kernel, target);
  Program program = generate(kernel, target, {.host_arrays = !o.fortran.empty()});
  if (program.name != kernel.name && o.fortran.empty())  // callers use the kernel's name
    fmt::print(stderr, "note: the function of kernel `{}` is `{}`; the name is taken in {}\n",
               kernel.name, program.name, around_of(target));
  FortranInterface fortran;
  if (!o.fortran.empty()) {
    fortran = fortran_interface(program, kernel.name, around(file, kernel, common, o.fortran));
    program.source += fortran.c;
  }
  if (!o.header.empty()) write_output(o.header, program.header);
  if (!o.fortran.empty()) write_output(o.fortran, fortran.fortran);
  write_output(o.output, program.source);
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
