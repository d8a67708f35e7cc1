#include <cstdio>
#include <iostream>
#include <new>

#include "cli/app.h"
#include "cli/commands.h"
#include "cli/options.h"

/// Everything that goes wrong ends here: one diagnostic on standard error and an exit status.
int main(int argc, char** argv) {
  using namespace moonloop;  // NOLINT: the program's own namespace
  CLI::App app;
  cli::Common common;
  std::function<int()> action;
  try {
    cli::build_app(app, common, action, argc > 1 ? argv[1] : "");
    app.parse(argc, argv);
    // `check` is about all kernels.
    const auto used = app.get_subcommands();
    if (used.empty() || used.front()->get_name() != "check") cli::choose_program(common);
    return action();
  } catch (const CLI::ParseError& e) {
    const bool asked = app.exit(e) == 0;  // for help or the version
    if (asked && !std::cout.flush()) {
      std::fputs("error: cannot write to standard output [cannot-write]\n", stderr);
      return cli::kError;
    }
    return asked ? cli::kDone : cli::kUsage;
  } catch (const Error& e) {
    cli::report(e, common.color);
    return cli::is_compiler_error(e.diagnostic().code) ? cli::kCompiler : cli::kError;
  } catch (const std::bad_alloc&) {
    std::fputs("error: not enough memory [out-of-memory]\n", stderr);
  } catch (const std::exception& e) {
    std::fprintf(stderr,
                 "error: internal error: %s [internal-error]\n"
                 "  please report this with the kernel and the script\n",
                 e.what());
  }
  return cli::kError;
}
