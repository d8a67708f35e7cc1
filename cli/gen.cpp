#include "cli/commands.h"
#include "codegen/fortran_interface.h"

namespace moonloop::cli {
namespace {

struct GenOptions {
  std::string target = "c", output = "-", header, fortran;
};

int gen(const Common& common, const GenOptions& o) {
  const Target target = target_option(o.target);
  Program program = generate(load_kernel(common), target, {.host_arrays = !o.fortran.empty()});
  FortranInterface fortran;
  if (!o.fortran.empty()) {
    fortran = fortran_interface(program);
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
  command->add_option("--target", o->target, "c, openmp, opencl or cuda")
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
