#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "cli/commands.h"
#include "cli/crash_report.h"
#include "cli/loaded.h"
#include "cli/run_output.h"
#include "cli/tuned.h"
#include "cli/warnings.h"
#include "runtime/npy.h"

namespace moonloop::cli {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

struct RunOptions {
  std::string target = "c";
  bool verify = false, time = false, transfers = false, json = false, check_claims = false;
  double tolerance = kToleranceFactor;
  Pairs in, out;  // array -> path
};

int run(Common common, const RunOptions& o) {
  if (o.transfers && !o.time) throw CLI::ValidationError("--transfers", "it goes with --time");
  RunRequest request;
  request.target = target_option(o.target);
  common.target = common.tuned = request.target;
  request.params = common.params;
  request.inputs = common.inputs = {o.in.begin(), o.in.end()};
  request.verify = o.verify;
  request.time = o.time;
  request.transfers = o.transfers;
  request.check_claims = o.check_claims;
  request.device = common.device;
  request.tolerance = o.tolerance;
  const bool shares_output =
      std::any_of(o.out.begin(), o.out.end(), [](const auto& p) { return p.second == "-"; });
  if (!common.quiet)
    request.note = [](const std::string& text) { fmt::print(stderr, "note: {}\n", text); };

  const Loaded loaded = load_with_original(common, o.verify);
  warn_of_single_work_item(common, loaded.kernel, request.target);
  warn_of_unused_tags(common, loaded.kernel, request.target);
  for (const auto& [name, path] : o.out) {
    const Argument* a = loaded.kernel.find_arg(name);
    if (a && a->is_array) continue;
    std::vector<std::string> names;
    for (const Argument& arg : loaded.kernel.args)
      if (arg.is_array) names.push_back(arg.name);
    fail("unknown-array", loaded.kernel.at, "kernel `{}` has no array `{}`; it has {}{}",
         loaded.kernel.name, name, names.empty() ? "none" : quoted_list(names),
         did_you_mean(name, names));
  }
  std::optional<CrashReport> crashes;
  request.runs_generated = [&](bool runs) {
    if (runs)
      crashes.emplace(loaded.kernel, o.verify, common.color);
    else
      crashes.reset();
  };
  const RunResult result = run_kernel(loaded.kernel, loaded.original, request);
  for (const auto& [name, path] : o.out)
    write_npy(path == "-" ? "/dev/stdout" : path, result.array(name));
  const std::string text = o.json ? run_json(loaded.kernel, request.target, result)
                                  : run_text(loaded.kernel, request.target, result);
  if (!shares_output)
    write_output("-", text);
  else if (!common.quiet)
    fmt::print(stderr, "{}", text);
  return result.verification && !result.verification->equal() ? kDifference : kDone;
}

void add_files(CLI::App& command, const std::string& flag, Pairs& all, const std::string& help) {
  command
      .add_option_function<std::vector<std::string>>(
          flag,
          [&all, flag](const std::vector<std::string>& given) {
            for (const std::string& text : given) {
              const auto equals = text.find('=');
              if (equals == 0 || equals == std::string::npos || equals + 1 == text.size())
                throw CLI::ValidationError(flag, "`" + text + "` is not ARRAY=FILE");
              const std::string name = text.substr(0, equals), file = text.substr(equals + 1);
              for (const auto& [other, path] : all)
                if (other == name)
                  throw CLI::ValidationError(flag, "`" + name + "` is given twice");
                else if (flag == "--out" && path == file && file != "-")
                  throw CLI::ValidationError(
                      flag, "`" + file + "` is named for `" + other + "` and for `" + name + "`");
              all.emplace_back(name, file);
            }
          },
          help)
      ->type_name("ARRAY=FILE")
      ->allow_extra_args(false)
      ->expected(1)
      ->take_all();
}

}  // namespace

void add_run(CLI::App& app, Common& common, std::function<int()>& action) {
  auto o = std::make_shared<RunOptions>();
  CLI::App* command = app.add_subcommand("run", "Generate, compile and run");
  add_common_options(*command, common);
  add_tuned_options(*command, common);
  command->add_option("--target", o->target, target_list(" or "))
      ->type_name("TARGET")
      ->check(one_of(target_names()))
      ->capture_default_str();
  add_check_claims(*command, o->check_claims);
  command->add_flag("--verify", o->verify,
                    "compare with the kernel before its transforms, run by the interpreter");
  command
      ->add_option(
          "--tolerance", o->tolerance,
          "by what the bound of each number's rounding errors is multiplied; 0: bit for bit")
      ->type_name("FACTOR")
      ->check(CLI::Validator(
          [](std::string& text) {
            double factor = 0;
            const bool number = CLI::detail::lexical_cast(text, factor);
            return number && std::isfinite(factor) && factor >= 0
                       ? std::string()
                       : "`" + text + "` is not a finite number, at least 0";
          },
          "NONNEGATIVE"))
      ->capture_default_str();
  command->add_flag("--time", o->time, "repeat, and print times and rates");
  command->add_flag("--transfers", o->transfers,
                    "with --time: times on a device include copies of the arrays to it and back");
  command->add_flag("--json", o->json, "print one JSON object");
  add_files(*command, "--in", o->in, "read an array from a .npy file; repeatable");
  add_files(*command, "--out", o->out, "write an array to a .npy file; repeatable");
  command->callback([&common, &action, o] { action = [&common, o] { return run(common, *o); }; });
}

}  // namespace moonloop::cli
