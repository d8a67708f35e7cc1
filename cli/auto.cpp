#include "cli/commands.h"
#include "core/order/check_kernel.h"
#include "scripts/automatic.h"

// `moonloop auto`: writes the script of a schedule.
namespace moonloop::cli {
namespace {

struct AutoOptions {
  std::string target = "c", output = "-";
};

int write_schedules(const Common& common, const AutoOptions& o) {
  const Target target = target_option(o.target);
  const std::vector<Kernel> all = load_kernels(common);
  const std::vector<Kernel> kernels = common.kernels.empty() ? all : pick_kernels(common, all);
  std::string text;
  for (const Kernel& k : kernels) {
    std::vector<std::string> elsewhere;  // with several kernels, each has some of the parameters
    if (kernels.size() > 1)
      for (const auto& [name, value] : common.params) elsewhere.push_back(name);
    const Integers given = given_integers(complete(k), common.params, elsewhere);
    const std::string prefix = kernels.size() > 1 ? k.name + "_" : "";
    if (!text.empty()) text += "\n";
    text += automatic(k, target, given, prefix, script_options(common)).script;
  }
  write_output(o.output, text);
  return kDone;
}

}  // namespace

void add_auto(CLI::App& app, Common& common, std::function<int()>& action) {
  auto o = std::make_shared<AutoOptions>();
  CLI::App* command = app.add_subcommand(
      "auto", "Write a script that schedules the kernels, each step with its reason");
  add_common_options(*command, common);
  command->add_option("--target", o->target, "what the schedule is for: " + target_list(" or "))
      ->type_name("TARGET")
      ->check(one_of(target_names()))
      ->capture_default_str();
  command->add_option("-o", o->output, "where to write the script; - is standard output")
      ->type_name("FILE.lua")
      ->capture_default_str();
  command->callback(
      [&common, &action, o] { action = [&common, o] { return write_schedules(common, *o); }; });
}

}  // namespace moonloop::cli
