#include <unistd.h>

#include "cli/commands.h"

namespace moonloop::cli {

void add_repl(CLI::App& app, Common& common, std::function<int()>& action) {
  CLI::App* command = app.add_subcommand("repl", "Interactive Lua with the kernels loaded");
  command->add_option("INPUT", common.input, "kernel text or a script that makes kernels")
      ->type_name("");
  add_common_options(*command, common, false);
  command->callback([&common, &action] {
    action = [&common] {
      if (common.input == "-")
        fail("bad-input", {}, "`repl` reads Lua from standard input; give the kernels in a file");
      std::vector<Kernel> kernels;
      if (!common.input.empty()) kernels = load_kernels(common);
      ScriptOptions options = script_options(common);
      options.print_to_stdout = true;
      run_repl(kernels, options, isatty(STDIN_FILENO) != 0,
               [&](const Error& e) { report(e, common.color); });
      return static_cast<int>(kDone);
    };
  });
}

}  // namespace moonloop::cli
