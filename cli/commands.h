#pragma once
#include <CLI/CLI.hpp>
#include <functional>

#include "cli/options.h"
#include "runtime/arguments.h"

/// The commands: one function and one file each. A function adds its subcommand to `app`; when the
/// command line asks for it, the subcommand's callback stores what to do in `action`, whose result
/// is the exit status. Options of only that command live in a shared_ptr that the callback keeps.
///
///     void add_gen(CLI::App& app, Common& common, std::function<int()>& action) {
///       auto o = std::make_shared<GenOptions>();
///       CLI::App* command = app.add_subcommand("gen", "Print generated code");
///       add_common_options(*command, common);
///       command->add_option("-o", o->output, "…");
///       command->callback([&common, &action, o] {
///         action = [&common, o] { return gen(common, *o); };
///       });
///     }
///
/// main() renders what an action throws: Error and Refused end with kError, or with kCompiler when
/// the first diagnostic's code is one that is_compiler_error() knows.
namespace moonloop::cli {

/// One of these words; for any other one, the error names the nearest.
CLI::Validator one_of(std::vector<std::string> words);
/// `--check-claims`, see GenerateOptions.
void add_check_claims(CLI::App& command, bool& value);
/// INPUT, -t, -p, --kernel, -D, --set, --knob, --device, --quiet, --color, --trust.
void add_common_options(CLI::App& command, Common& common, bool takes_input = true);

/// Writes each diagnostic of `e` to standard error.
void report(const Error& e, bool color);
/// All topics of that name, as `moonloop doc NAME` prints them: `assume` is a transform and a line
/// of kernel text. Fails `unknown-topic`.
std::string help_on(const CLI::App& app, const std::string& name);
/// The page of `moonloop view`: of `k`, which transforms made from `original`, drawn at the sizes
/// of `values` and small ones. Progress goes to standard error, unless `quiet`. Fails as
/// view_page() and given_integers().
std::string page_of(const Kernel& original, const Kernel& k, const GivenValues& values, bool quiet);
/// A compiler or a device failed: exit status kCompiler.
bool is_compiler_error(const std::string& code);

void add_auto(CLI::App& app, Common& common, std::function<int()>& action);
void add_check(CLI::App& app, Common& common, std::function<int()>& action);
void add_db(CLI::App& app, Common& common, std::function<int()>& action);
void add_devices(CLI::App& app, Common& common, std::function<int()>& action);
void add_doc(CLI::App& app, Common& common, std::function<int()>& action);
void add_fc(CLI::App& app, Common& common, std::function<int()>& action);
void add_gen(CLI::App& app, Common& common, std::function<int()>& action);
void add_repl(CLI::App& app, Common& common, std::function<int()>& action);
void add_run(CLI::App& app, Common& common, std::function<int()>& action);
void add_show(CLI::App& app, Common& common, std::function<int()>& action);
void add_tune(CLI::App& app, Common& common, std::function<int()>& action);
void add_view(CLI::App& app, Common& common, std::function<int()>& action);

}  // namespace moonloop::cli
