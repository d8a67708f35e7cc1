#include "cli/commands.h"
#include "cli/tuned.h"
#include "core/infer/infer.h"
#include "core/order/check_kernel.h"
#include "core/order/reference.h"
#include "core/order/shared_storage.h"

namespace moonloop::cli {
namespace {

std::string call_text(const Step& s) {
  std::string out = s.name + "(";
  const char* comma = "";
  for (const Value& v : s.positional) out += comma + to_lua(v), comma = ", ";
  if (!s.options.empty()) out += comma + to_lua(Value{s.options});
  return out + ")";
}

/// `script.lua:3: fdiff: split_iname("i", 16): ok`
std::string step_text(const StepReport& r) {
  std::string out;
  if (r.step.at) out = fmt::format("{}:{}: ", r.step.at.source->name, r.step.at.line);
  out += fmt::format("{}: {}: ", r.before.name, call_text(r.step));
  if (!r.refusal) return out + "ok\n";
  out += fmt::format("refused: {} [{}]\n", r.refusal->text, r.refusal->code);
  return out;
}

/// `fdiff: legal`, with the claims taken on trust.
std::string legal_text(const Kernel& k) {
  if (k.claims.empty()) return k.name + ": legal\n";
  std::string out = fmt::format("{}: legal, given what is claimed and not proved:\n", k.name);
  for (const Claim& c : k.claims) out += fmt::format("  {}\n", c.step);
  return out;
}

int check(Common common, const std::string& target) {
  common.tuned = target_option(target.empty() ? "c" : target);
  if (!target.empty()) common.target = common.tuned;
  const std::vector<Kernel> all =
      load_kernels(common, [](const StepReport& r) { write_output("-", step_text(r)); });
  if (!common.kernels.empty()) pick_kernels(common, all);
  bool legal = true;
  for (const Kernel& k : all) {
    if (!common.means(k.name)) continue;
    try {
      check_legal(k);
      const Kernel full = complete(k);
      check_defined(full);
      merge_shared_storage(full);
      write_output("-", legal_text(k));
    } catch (const Error& e) {  // the others count too
      if (all.size() == 1) throw;
      report(e, common.color);
      legal = false;
    }
  }
  return legal ? kDone : kError;
}

}  // namespace

void add_check(CLI::App& app, Common& common, std::function<int()>& action) {
  CLI::App* command =
      app.add_subcommand("check", "Apply the scripts and check that each step is legal");
  add_common_options(*command, common);
  add_tuned_options(*command, common);
  auto target = std::make_shared<std::string>();
  command
      ->add_option("--target", *target,
                   "check the kernel as it is generated for it, with the knobs tuned for it: " +
                       target_list(" or ") + "; c's values if not told")
      ->type_name("TARGET")
      ->check(one_of(target_names()));
  command->callback([&common, &action, target] {
    action = [&common, target] { return check(common, *target); };
  });
}

}  // namespace moonloop::cli
