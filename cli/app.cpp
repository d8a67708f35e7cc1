#include "cli/app.h"

#include "cli/commands.h"

namespace moonloop::cli {

void build_app(CLI::App& app, Common& common, std::function<int()>& action) {
  app.description(
      "Transforms loops by scripts, proves each step legal, and generates C, OpenMP, "
      "OpenCL or CUDA.");
  app.name("moonloop");
  app.set_version_flag("--version", "moonloop " MOONLOOP_VERSION, "print the version");
  app.require_subcommand(1);
  app.footer(
      "Exit status: 0 done; 1 error in the kernel, script or request; 2 usage;\n"
      "3 `run --verify` found a difference; 4 a compiler or device failed.");
  add_gen(app, common, action);
  add_run(app, common, action);
  add_check(app, common, action);
  add_show(app, common, action);
  add_repl(app, common, action);
  add_doc(app, common, action);
  add_devices(app, common, action);
  for (CLI::App* command : app.get_subcommands({}))
    command->set_version_flag("--version", "moonloop " MOONLOOP_VERSION, "print the version");
}

}  // namespace moonloop::cli
