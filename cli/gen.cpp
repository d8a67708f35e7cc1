#include "cli/commands.h"
#include "cli/dispatch.h"
#include "cli/own_schedules.h"
#include "cli/replacement.h"
#include "cli/tuned.h"
#include "cli/warnings.h"
#include "codegen/language.h"
#include "core/base/diagnostic.h"
#include "frontends/fortran/fortran.h"

namespace moonloop::cli {
namespace {

struct GenOptions {
  std::string target = "c", output = "-", header, fortran;
  bool resident = false, check_claims = false;
  DispatchOptions dispatch;
};

/// Where a name may have a meaning of its own.
std::string around_of(Target t) {
  const Language l = language_of(t);
  return l == Language::C ? "C or its library" : language_name(l) + " or in the C library";
}

int gen_dispatch(const Common& common, const GenOptions& o) {
  if (!o.fortran.empty())
    throw CLI::ValidationError("--fortran-interface", "it does not go with --dispatch");
  if (o.check_claims)
    throw CLI::ValidationError("--check-claims", "it does not go with --dispatch");
  if (common.own) throw CLI::ValidationError("--auto", "it does not go with --dispatch");
  DispatchOptions dispatch = o.dispatch;
  dispatch.resident = o.resident;
  if (common.kernels.size() > 1 && !o.header.empty())
    fail("unsupported", {}, "--header is for one kernel, and --kernel names {}",
         common.kernels.size());
  const Dispatched all = dispatch_kernels(common, target_option(o.target), dispatch);
  if (!o.header.empty()) write_output(o.header, all.header);
  write_output(o.output, all.code);
  return kDone;
}

void require_different_files(const GenOptions& o) {
  const std::pair<const char*, const std::string*> files[] = {
      {"-o", &o.output}, {"--header", &o.header}, {"--fortran-interface", &o.fortran}};
  for (const auto& [option, file] : files)
    for (const auto& [other, same] : files)
      if (option != other && !file->empty() && *file != "-" && *file == *same)
        fail("repeated-parameter", {}, "`{}` is named by `{}` and by `{}`", *file, option, other);
}

int gen(Common common, const GenOptions& o) {
  require_different_files(o);
  if (!o.dispatch.device.empty()) return gen_dispatch(common, o);
  if (!o.dispatch.profiles.empty() || !o.dispatch.trips.empty())
    throw CLI::ValidationError(o.dispatch.profiles.empty() ? "--trips" : "--profile",
                               "it goes with --dispatch");
  const Target target = target_option(o.target);
  common.target = common.tuned = target;
  if (o.resident && (o.fortran.empty() || target != Target::Cuda))
    throw CLI::ValidationError("--resident",
                               "it goes with --target cuda and --fortran-interface, or with "
                               "--dispatch cuda");
  FortranFile file;
  const std::vector<Kernel> kernels =
      pick_kernels(common, load_kernels(common, {}, nullptr, &file));
  if (kernels.size() > 1 && !o.header.empty())
    fail("unsupported", {}, "--header is for one kernel, and --kernel names {}", kernels.size());
  Replacement all = replace_routines(
      kernels, file, target, !o.fortran.empty(),
      {.resident = o.resident ? Residency::All : Residency::None, .check_claims = o.check_claims});
  for (const Diagnostic& d : all.warnings) warn(common, d);
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    warn_of_single_work_item(common, kernels[i], target);
    warn_of_unused_tags(common, kernels[i], target);
    if (all.names[i] != kernels[i].name && o.fortran.empty())  // callers use the kernel's name
      fmt::print(stderr, "note: the function of kernel `{}` is `{}`; the name is taken in {}\n",
                 kernels[i].name, all.names[i], around_of(target));
  }
  if (common.own)
    for (const std::string& note : common.own->notes)
      if (!common.quiet) fmt::print(stderr, "note: {}\n", note);
  if (!o.header.empty()) write_output(o.header, all.header);
  if (!o.fortran.empty())
    write_output(o.fortran, interface_file(all.routines, kernels, common, o.fortran));
  write_output(o.output, all.code);
  return kDone;
}

}  // namespace

void add_gen(CLI::App& app, Common& common, std::function<int()>& action) {
  auto o = std::make_shared<GenOptions>();
  CLI::App* command = app.add_subcommand("gen", "Print the generated code");
  add_common_options(*command, common);
  add_tuned_options(*command, common);
  command->add_option("--target", o->target, target_list(" or "))
      ->type_name("TARGET")
      ->check(one_of(target_names()))
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
  command->add_flag(
      "--resident", o->resident,
      "with --fortran-interface or --dispatch, for cuda: large arrays stay on the device between "
      "calls, until the host touches them");
  add_check_claims(*command, o->check_claims);
  add_own_schedules(*command, common.own);
  add_dispatch_options(*command, o->dispatch);
  command->callback([&common, &action, o] { action = [&common, o] { return gen(common, *o); }; });
}

}  // namespace moonloop::cli
