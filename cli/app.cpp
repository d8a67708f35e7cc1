#include "cli/app.h"

#include <algorithm>
#include <iterator>

#include "cli/commands.h"
#include "core/base/diagnostic.h"

namespace moonloop::cli {
namespace {

/// CLI11's message, and for each argument that was not expected the option or command that was
/// perhaps meant.
std::string usage_error(const CLI::App* app, const CLI::Error& e) {
  std::string out = CLI::FailureMessage::simple(app, e);
  const std::vector<CLI::App*> given = app->get_subcommands();
  std::vector<std::string> known;
  if (given.empty())
    for (const CLI::App* command : app->get_subcommands({})) known.push_back(command->get_name());
  for (const CLI::Option* option : (given.empty() ? app : given.front())->get_options())
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  for (const std::string& argument : app->remaining(true)) {
    const std::string name = argument.substr(0, argument.find('='));
    if (!given.empty() && std::find(known.begin(), known.end(), name) != known.end()) {
      out +=
          "`" + name + "` is an option of `" + given.front()->get_name() + "` and goes after it\n";
      continue;
    }
    const std::string hint = did_you_mean(name, known);
    if (!hint.empty()) out += "`" + argument + "`" + hint + "\n";
  }
  return out;
}

struct Command {
  std::string_view name;
  void (*add)(CLI::App&, Common&, std::function<int()>&);
  bool reads_all = false;  // helps with the other commands, too
};
constexpr Command kCommands[]{
    {"gen", add_gen},   {"run", add_run},         {"check", add_check},   {"show", add_show},
    {"view", add_view}, {"repl", add_repl, true}, {"doc", add_doc, true}, {"devices", add_devices},
    {"fc", add_fc},     {"db", add_db},           {"tune", add_tune},     {"auto", add_auto}};

}  // namespace

void build_app(CLI::App& app, Common& common, std::function<int()>& action,
               std::string_view first) {
  app.description(
      "Transforms loops by scripts, proves each step legal, and generates C, OpenMP, "
      "OpenCL or CUDA.");
  app.name("moonloop");
  app.set_version_flag("--version", "moonloop " MOONLOOP_VERSION, "print the version");
  app.require_subcommand(1);
  app.failure_message(usage_error);
  app.footer(
      "Exit status: 0 done; 1 error in the kernel, script or request; 2 usage;\n"
      "3 `run --verify` found a difference; 4 a compiler or device failed.");
  const Command* const only =
      std::find_if(std::begin(kCommands), std::end(kCommands),
                   [&](const Command& c) { return c.name == first && !c.reads_all; });
  for (const Command& c : kCommands)
    if (only == std::end(kCommands) || only == &c) c.add(app, common, action);
  for (CLI::App* command : app.get_subcommands({}))
    command->set_version_flag("--version", "moonloop " MOONLOOP_VERSION, "print the version");
}

}  // namespace moonloop::cli
