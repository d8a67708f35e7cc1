#include <algorithm>
#include <optional>

#include "cli/commands.h"
#include "core/base/diagnostic.h"
#include "core/order/check_kernel.h"
#include "scripts/automatic.h"

// `moonloop auto`: writes the script of a schedule.
namespace moonloop::cli {
namespace {

struct AutoOptions {
  std::string target = "c", output = "-";
};

/// `text` as lines of comment.
std::string as_comment(const std::string& text) {
  constexpr std::size_t kWidth = 100;
  std::string out, line = "--";
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find_first_of(" \n", at), text.size());
    if (line.size() + 1 + end - at > kWidth && line != "--") {
      out += line + "\n";
      line = "--";
    }
    if (end > at) line += " " + text.substr(at, end - at);
    at = end + 1;
  }
  return out + line + "\n";
}

bool is_called(const Kernel& k, const std::vector<Kernel>& by) {
  return std::any_of(by.begin(), by.end(),
                     [&](const Kernel& other) { return other.callees.contains(k.name); });
}

int write_schedules(Common common, const AutoOptions& o) {
  const Target target = target_option(o.target);
  common.schedules = target;
  FortranFile file;
  const std::vector<Kernel> all = load_kernels(common, {}, nullptr, &file);
  const std::vector<Kernel> kernels = common.kernels.empty() ? all : pick_kernels(common, all);
  const bool several = kernels.size() > 1;
  std::vector<std::string> elsewhere;  // with several kernels, each has some of the parameters
  if (several)
    for (const auto& [name, value] : common.params) elsewhere.push_back(name);
  std::string text;
  for (const Kernel& k : kernels) {
    if (!text.empty()) text += "\n";
    std::optional<Error> stays;
    std::optional<Kernel> full;
    try {
      full = complete(k);
    } catch (const Error& e) { stays = e; }
    AutomaticOptions how{.prefix = several ? k.name + "_" : "", .called = is_called(k, kernels)};
    if (full) how.params = given_integers(*full, common.params, elsewhere);
    if (full) try {
        text += automatic(k, target, how, script_options(common)).script;
      } catch (const Error& e) { stays = e; }
    if (!stays) continue;
    if (!several) throw Error(stays->diagnostics());
    Diagnostic why = stays->diagnostic();  // the others have their schedules
    text += as_comment(fmt::format("`moonloop auto` for `{}` on {}: it stays as it is: {}", k.name,
                                   o.target, why.text));
    why.text = fmt::format("`{}` stays as it is: {} [{}]", k.name, why.text, why.code);
    why.code = "no-schedule";
    warn(common, why);
  }
  for (const FortranFile::LeftOut& l : file.left_out)
    if (common.kernels.empty())
      text += as_comment(fmt::format("`{}` is no kernel: {}", l.name, l.why.front().text));
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
