#include <fmt/ranges.h>

#include <array>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/loaded.h"
#include "cli/tuned.h"
#include "codegen/lower.h"
#include "core/infer/infer.h"
#include "core/model/print.h"
#include "core/order/check_kernel.h"
#include "core/rewrite/as_text.h"
#include "cost/predict.h"
#include "frontends/fortran/fortran.h"
#include "reports/cost_report.h"
#include "reports/diagram.h"
#include "reports/report.h"
#include "runtime/arguments.h"
#include "runtime/profiles.h"

namespace moonloop::cli {
namespace {

constexpr std::string_view kPass = "pass:";

/// The values of `--what`.
std::vector<std::string> reports() {
  std::vector<std::string> out{"ir",    "tree",  "deps", "parallelism", "schedule",
                               "trace", "stats", "cost", "imports",     "knobs"};
  for (const std::string& name : pass_names()) out.push_back(std::string(kPass) + name);
  return out;
}

struct ShowOptions {
  std::string what = "ir", target = "c", format = "text", output = "-";
  std::string profile;             // of cost: a machine's name, or a file
  std::vector<std::string> trips;  // of cost: NAME=NUMBER
  bool resident = false;
  bool has_target = false, has_format = false;
};

std::string stats_of(const Loaded& loaded, const Common& common, const ShowOptions& o) {
  StatsOptions stats;
  if (o.has_target) stats.target = target_option(o.target);
  stats.values =
      given_integers(complete(loaded.kernel), common.params, scalar_names(loaded.original));
  return report_stats(loaded.kernel, stats);
}

cost::PredictOptions predict_options(const ShowOptions& o) {
  cost::PredictOptions out;
  out.resident = o.resident;
  out.trips = trips_option(o.trips);
  return out;
}

std::string cost_of(const Loaded& loaded, const Common& common, const ShowOptions& o) {
  const Target target = target_option(o.target);
  CostReport r{loaded.kernel.name, target, {}, {}};
  r.params = given_integers(complete(loaded.kernel), common.params, scalar_names(loaded.original));
  r.prediction = cost::predict(loaded.kernel, target, r.params,
                               profile_for(target, common.device, o.profile), predict_options(o));
  return o.format == "json" ? cost_json(r) : cost_text(r);
}

std::string picture_of(const Kernel& k, const ShowOptions& o) {
  if (o.what == "parallelism") return parallelism_as_json(k);
  const DiagramFormat format = o.format == "dot"    ? DiagramFormat::Dot
                               : o.format == "json" ? DiagramFormat::Json
                                                    : DiagramFormat::Svg;
  return o.what == "tree" ? draw_tree(k, format) : draw_dependences(k, format);
}

std::string text_of(const Kernel& k, const ShowOptions& o, const Knobs& knobs) {
  if (o.format != "text") return picture_of(k, o);
  if (o.what == "ir") return print_kernel(as_text(k));
  if (o.what == "tree") return report_tree(k);
  if (o.what == "deps") return report_dependences(k);
  if (o.what == "parallelism") return report_parallelism(k);
  if (o.what == "schedule") return report_schedule(k, target_option(o.target));
  if (o.what == "trace") return replay_script(k, 0, &knobs);
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
    const bool imported = i.why.empty();
    kernels += imported ? 1 : 0;
    const RefusedImport refused = imported ? refused_of(i) : RefusedImport{};
    out += fmt::format("{:<{}}  {}  {}\n", i.name, width, i.at.str(),
                       !imported              ? "left out"
                       : refused.what.empty() ? "imported"
                                              : "imported, but not " + refused.what);
    for (const Diagnostic& d : imported ? refused.why : i.why)
      out += fmt::format("  {}: {}\n", d.where.at.str(), d.text);
  }
  return out + fmt::format("{} of {} imported\n", kernels, all.size());
}

/// A line for each knob, in columns.
std::string knobs_table(const Knobs& knobs) {
  std::vector<std::array<std::string, 5>> rows{{"knob", "values", "default", "chosen", "from"}};
  for (const Knob& k : knobs.all()) {
    std::vector<std::string> values;
    for (const Value& v : k.values) values.push_back(to_lua(v));
    rows.push_back({k.name, fmt::format("{}", fmt::join(values, ", ")), to_lua(k.fallback),
                    to_lua(k.chosen), to_string(k.from)});
  }
  if (rows.size() == 1) return "no script declares a knob\n";
  std::array<std::size_t, 4> widths{};
  for (const auto& row : rows)
    for (std::size_t i = 0; i < widths.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  std::string out;
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < widths.size(); ++i)
      out += fmt::format("{:<{}}  ", row[i], widths[i]);
    out += row.back() + "\n";
  }
  return out;
}

std::string knobs_json(const UsedKnobs& used) {
  using Json = nlohmann::ordered_json;
  const auto value = [](const Value& v) {
    if (const auto* n = v.as<std::int64_t>()) return Json(*n);
    if (const auto* b = v.as<bool>()) return Json(*b);
    return Json(knob_text(v));
  };
  Json all = Json::array();
  for (const Knob& k : used.knobs.all()) {
    Json values = Json::array();
    for (const Value& v : k.values) values.push_back(value(v));
    all.push_back({{"name", k.name},
                   {"type", knob_type(k.fallback)},
                   {"values", std::move(values)},
                   {"default", value(k.fallback)},
                   {"chosen", value(k.chosen)},
                   {"from", to_string(k.from)}});
    if (k.at) {
      all.back()["file"] = k.at.source->name;
      all.back()["line"] = k.at.line;
    }
  }
  Json out{{"knobs", std::move(all)}, {"script", used.script}};
  if (!used.kernel.empty()) out["kernel"] = used.kernel;
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

/// Which values of --format a report takes, besides text.
std::vector<std::string> formats_of(const std::string& what) {
  if (what == "deps" || what == "tree") return {"dot", "svg", "json"};
  if (what == "knobs" || what == "parallelism" || what == "cost") return {"json"};
  return {};
}

void require_format(const ShowOptions& o) {
  if (!o.has_format) return;
  const std::vector<std::string> formats = formats_of(o.what);
  if (formats.empty())
    throw CLI::ValidationError(
        "--format", "`--what " + o.what + "` has one form; `deps` and `tree` have several");
  if (o.format != "text" && std::find(formats.begin(), formats.end(), o.format) == formats.end())
    throw CLI::ValidationError("--format", fmt::format("`--what {}` is text or {}, not {}", o.what,
                                                       fmt::join(formats, ", "), o.format));
}

int show(Common common, const ShowOptions& o) {
  require_format(o);
  if (o.has_target) common.target = target_option(o.target);
  if (o.what == "imports") {
    write_output(o.output, imports_of(common));
    return 0;
  }
  common.tuned = target_option(o.target);
  UsedKnobs used{.with_hashes = o.what == "knobs" && o.format == "json"};
  if (o.what == "knobs") {  // of all kernels
    load_kernels(common, {}, nullptr, nullptr, nullptr, &used);
    write_output(o.output, o.format == "json" ? knobs_json(used) : knobs_table(used.knobs));
    return kDone;
  }
  if (o.what == "stats") {
    write_output(o.output, stats_of(load_with_original(common, false), common, o));
    return kDone;
  }
  if (o.what == "cost") {
    write_output(o.output, cost_of(load_with_original(common, false, &used), common, o));
    return kDone;
  }
  const Kernel k = load_kernel(common, &used);
  const bool as_kernel_text = o.what == "ir" && o.format == "text";
  const std::string head =
      common.is_program && as_kernel_text
          ? fmt::format("# the program of {}; --kernel names another kernel\n", common.input)
          : "";
  write_output(o.output, head + text_of(k, o, used.knobs));
  return kDone;
}

}  // namespace

void add_show(CLI::App& app, Common& common, std::function<int()>& action) {
  auto o = std::make_shared<ShowOptions>();
  CLI::App* command = app.add_subcommand("show", "Show the transformed kernel");
  add_common_options(*command, common);
  add_tuned_options(*command, common);
  command
      ->add_option(
          "--what", o->what,
          "ir: kernel text; tree: loops; deps: dependences; parallelism: which loops are "
          "parallel, what others carry, and which may change places; schedule: loops as code "
          "generation plans them; imports: the routines of a Fortran file, and why some are not "
          "kernels; knobs: those that the scripts declare, with the values that they have; "
          "trace: a script that replays the transforms; stats: what there "
          "is, and operations, accesses and footprints as functions of the parameters, "
          "with numbers for -p; cost: the predicted time on --target for -p, and what bounds it; "
          "pass:NAME: what code generation for --target has after that pass")
      ->type_name("WHAT")
      ->check(one_of(reports()))
      ->capture_default_str();
  CLI::Option* target = command->add_option(
      "--target", o->target,
      "of the schedule, the passes and the tuned values of knobs: " + target_list(" or ") +
          "; with stats, whose barriers and launches count too; for a device, the "
          "kernel as it is generated for that");
  target->type_name("TARGET")->check(one_of(target_names()))->capture_default_str();
  CLI::Option* format =
      command->add_option("--format", o->format,
                          "of tree and deps: text; dot, for Graphviz; svg, a picture; json, for "
                          "programs; of knobs, parallelism and cost: text or json");
  format->type_name("FORMAT")->check(one_of({"text", "dot", "svg", "json"}))->capture_default_str();
  command
      ->add_option("--profile", o->profile,
                   "with cost: the machine whose kept profile counts, by name, or the file of one")
      ->type_name("NAME|FILE");
  command
      ->add_option("--trips", o->trips,
                   "with cost: how many iterations a loop has whose bounds the kernel computes")
      ->type_name("INAME=NUMBER");
  command->add_flag("--resident", o->resident,
                    "with cost: arrays are on the device already, so that no copies count");
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
