#include "cli/commands.h"
#include "cli/loaded.h"
#include "codegen/lower.h"
#include "core/infer/infer.h"
#include "core/model/print.h"
#include "core/order/check_kernel.h"
#include "core/rewrite/as_text.h"
#include "frontends/fortran/fortran.h"
#include "reports/diagram.h"
#include "reports/report.h"
#include "runtime/arguments.h"

namespace moonloop::cli {
namespace {

constexpr std::string_view kPass = "pass:";

/// The values of `--what`.
std::vector<std::string> reports() {
  std::vector<std::string> out{"ir",       "tree",  "deps",  "parallelism",
                               "schedule", "trace", "stats", "imports"};
  for (const std::string& name : pass_names()) out.push_back(std::string(kPass) + name);
  return out;
}

struct ShowOptions {
  std::string what = "ir", target = "c", format = "text", output = "-";
  bool has_target = false, has_format = false;
};

std::string stats_of(const Loaded& loaded, const Common& common, const ShowOptions& o) {
  StatsOptions stats;
  if (o.has_target) stats.target = target_option(o.target);
  stats.values =
      given_integers(complete(loaded.kernel), common.params, scalar_names(loaded.original));
  return report_stats(loaded.kernel, stats);
}

std::string picture_of(const Kernel& k, const ShowOptions& o) {
  if (o.what == "parallelism") return parallelism_as_json(k);
  const DiagramFormat format = o.format == "dot"    ? DiagramFormat::Dot
                               : o.format == "json" ? DiagramFormat::Json
                                                    : DiagramFormat::Svg;
  return o.what == "tree" ? draw_tree(k, format) : draw_dependences(k, format);
}

std::string text_of(const Kernel& k, const ShowOptions& o) {
  if (o.format != "text") return picture_of(k, o);
  if (o.what == "ir") return print_kernel(as_text(k));
  if (o.what == "tree") return report_tree(k);
  if (o.what == "deps") return report_dependences(k);
  if (o.what == "parallelism") return report_parallelism(k);
  if (o.what == "schedule") return report_schedule(k, target_option(o.target));
  if (o.what == "trace") return replay_script(k);
  if (o.what.starts_with(kPass))
    return show_pass(k, target_option(o.target), o.what.substr(kPass.size()));
  throw InternalError("unknown report");
}

/// The routines of a Fortran file, and all that is in the way of those that are not kernels.
std::string imports_of(const Common& c) {
  if (!is_fortran(c.input))
    throw CLI::ValidationError("--what", "`imports` is about Fortran files");
  const std::vector<FortranImport> all = load_imports(c);
  std::size_t width = 0, kernels = 0;
  for (const FortranImport& i : all) width = std::max(width, i.name.size());
  std::string out;
  for (const FortranImport& i : all) {
    kernels += i.why.empty() ? 1 : 0;
    out += fmt::format("{:<{}}  {}  {}\n", i.name, width, i.at.str(),
                       i.why.empty() ? "imported" : "left out");
    for (const Diagnostic& d : i.why) out += fmt::format("  {}: {}\n", d.where.at.str(), d.text);
  }
  return out + fmt::format("{} of {} imported\n", kernels, all.size());
}

int show(Common common, const ShowOptions& o) {
  const bool drawn = o.what == "deps" || o.what == "tree";
  if (o.has_format && !drawn && o.what != "parallelism")
    throw CLI::ValidationError(
        "--format", "`--what " + o.what + "` has one form; `deps` and `tree` have several");
  if (o.what == "parallelism" && o.format != "text" && o.format != "json")
    throw CLI::ValidationError("--format", "`parallelism` is shown as text or json");
  if (o.has_target) common.target = target_option(o.target);
  if (o.what == "imports") {
    write_output(o.output, imports_of(common));
    return 0;
  }
  write_output(o.output, o.what == "stats" ? stats_of(load_with_original(common, false), common, o)
                                           : text_of(load_kernel(common), o));
  return kDone;
}

}  // namespace

void add_show(CLI::App& app, Common& common, std::function<int()>& action) {
  auto o = std::make_shared<ShowOptions>();
  CLI::App* command = app.add_subcommand("show", "Show the transformed kernel");
  add_common_options(*command, common);
  command
      ->add_option(
          "--what", o->what,
          "ir: kernel text; tree: loops; deps: dependences; parallelism: which loops are "
          "parallel, what others carry, and which may change places; schedule: loops as code "
          "generation plans them; imports: the routines of a Fortran file, and why some are not "
          "kernels; trace: a script that replays the transforms; stats: what there "
          "is, and operations, accesses and footprints as functions of the parameters, "
          "with numbers for -p; pass:NAME: what code generation for --target has after that pass")
      ->type_name("WHAT")
      ->check(one_of(reports()))
      ->capture_default_str();
  CLI::Option* target = command->add_option(
      "--target", o->target,
      "of the schedule and the passes: " + target_list(" or ") +
          "; with stats, whose barriers and launches count too; for a device, the "
          "kernel as it is generated for that");
  target->type_name("TARGET")->check(one_of(target_names()))->capture_default_str();
  CLI::Option* format =
      command->add_option("--format", o->format,
                          "of tree and deps: text; dot, for Graphviz; svg, a picture; json, for "
                          "programs; of parallelism: text or json");
  format->type_name("FORMAT")->check(one_of({"text", "dot", "svg", "json"}))->capture_default_str();
  command->add_option("-o", o->output, "where to write; - is standard output")
      ->type_name("FILE")
      ->capture_default_str();
  command->callback([&common, &action, o, target, format] {
    o->has_target = target->count() > 0;
    o->has_format = format->count() > 0;
    action = [&common, o] { return show(common, *o); };
  });
}

}  // namespace moonloop::cli
