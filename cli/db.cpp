#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "cli/commands.h"
#include "cli/run_output.h"
#include "cli/tuned.h"
#include "tuning/database.h"

// The database of tuned values: what is in it, in and out of it.
namespace moonloop::cli {
namespace {

using tuning::Database;
using tuning::Trial;

struct DbOptions {
  std::string action, output = "-", target, status, version, older_than;
  std::vector<std::string> files;
  bool json = false, failed = false, other_versions = false, dry_run = false;
};

/// Which options an action has, besides --db.
struct Action {
  std::string name;
  std::set<std::string> options;
};
const std::vector<Action>& actions() {
  static const std::vector<Action> kActions{
      {"list", {"filter", "--json"}},
      {"best", {"--target", "--tuned-for", "--kernel", "-p", "--json"}},
      {"export", {"filter", "-o"}},
      {"import", {"FILE", "--json"}},
      {"merge", {"FILE", "--json"}},
      {"prune", {"filter", "--dry-run", "--json"}}};
  return kActions;
}

/// What other people's databases hold must not steer the terminal.
std::string on_one_line(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  return text;
}

std::string trials_table(const std::vector<Trial>& all) {
  using Row = std::array<std::string, 8>;
  std::vector<Row> rows{
      {"kernel", "target", "sizes", "knobs", "status", "median", "date", "device"}};
  for (const Trial& t : all)
    rows.push_back({t.name, t.target, sizes_text(t.sizes), knobs_text(t.knobs),
                    tuning::to_string(t.status), t.times.empty() ? "" : duration(t.median()),
                    t.date, t.device});
  std::array<std::size_t, 7> widths{};
  for (Row& row : rows) {
    for (std::string& cell : row) cell = on_one_line(cell);
    for (std::size_t i = 0; i < widths.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string out;
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < widths.size(); ++i)
      out += fmt::format("{:<{}}  ", row[i], widths[i]);
    out += row.back() + "\n";
  }
  return out;
}

std::string trials_json(const std::vector<Trial>& all) {
  using Json = nlohmann::json;
  Json trials = Json::array();
  for (const Trial& t : all) {
    trials.push_back(Json::parse(to_json_line(t)));
    if (!t.times.empty()) trials.back()["median"] = t.median();
  }
  return Json{{"trials", std::move(trials)}}.dump(2) + "\n";
}

/// `30`, `30d`, `12h`, `2w`: days.
double days_of(const std::string& text) {
  std::string number = text;
  double unit = 1;
  if (!number.empty() && (number.back() == 'd' || number.back() == 'h' || number.back() == 'w')) {
    unit = number.back() == 'h' ? 1.0 / 24 : number.back() == 'w' ? 7 : 1;
    number.pop_back();
  }
  double value = 0;
  if (!CLI::detail::lexical_cast(number, value) || !std::isfinite(value) || value < 0 ||
      value * unit > 36500)
    throw CLI::ValidationError("--older-than",
                               "`" + text + "` is not an age, such as 12h, 30d or 4w");
  return value * unit;
}

tuning::Filter filter_of(const Common& c, const DbOptions& o) {
  tuning::Filter f;
  if (c.kernels.size() > 1) throw CLI::ValidationError("--kernel", "this command takes one kernel");
  if (!c.kernels.empty()) f.name = c.kernels.front();
  f.target = o.target;
  f.device = c.tuned_for;
  if (!o.status.empty())
    for (const auto s : {tuning::Status::Ok, tuning::Status::Failed, tuning::Status::Refused,
                         tuning::Status::Wrong})
      if (tuning::to_string(s) == o.status) f.status = s;
  f.only_failures = o.failed;
  f.version = o.version;
  if (o.other_versions) f.other_version = MOONLOOP_VERSION;
  if (!o.older_than.empty()) f.before = tuning::utc_date_before(days_of(o.older_than));
  return f;
}

/// The sizes of -p.
tuning::Sizes wanted_sizes(const Common& c) {
  tuning::Sizes out;
  for (const auto& [name, text] : c.params) try {
      std::size_t end = 0;
      out[name] = std::stoll(text, &end);
      if (end != text.size()) throw std::invalid_argument(text);
    } catch (const std::logic_error&) {
      throw CLI::ValidationError("-p", "`" + text + "` is not an integer");
    }
  return out;
}

/// The best trial for each kernel, script, target and device: of each size that was tuned, or of
/// the one that is nearest to -p.
std::vector<Trial> best_trials(const std::vector<Trial>& all, const tuning::Sizes& wanted) {
  std::set<std::tuple<std::string, std::string, std::string, std::string, tuning::Sizes>> seen;
  std::vector<Trial> out;
  for (const Trial& t : all) {
    if (t.status != tuning::Status::Ok) continue;
    const tuning::Sizes sizes = wanted.empty() ? t.sizes : wanted;
    if (!seen.emplace(t.kernel, t.script, t.target, t.device, sizes).second) continue;
    if (auto best =
            tuning::best_of(all, {t.kernel, t.script, t.name, t.target, t.device, sizes, {}}))
      out.push_back(std::move(*best));
  }
  return out;
}

std::vector<Trial> read_trials(const std::vector<std::string>& files) {
  std::vector<Trial> out;
  for (const std::string& path : files) {
    const std::vector<Trial> some = tuning::parse_trials(read_source(path));
    out.insert(out.end(), some.begin(), some.end());
  }
  return out;
}

int say_counts(const DbOptions& o, const char* done, std::size_t changed, const char* rest,
               std::size_t unchanged) {
  if (o.json)
    write_output("-", nlohmann::ordered_json{{done, changed}, {rest, unchanged}}.dump() + "\n");
  else
    write_output("-", fmt::format("{} {}, {} {}\n", changed, done, unchanged, rest));
  return kDone;
}

/// What is given has to go with the action.
void require_options(const CLI::App& command, const DbOptions& o) {
  const auto it = std::find_if(actions().begin(), actions().end(),
                               [&](const Action& a) { return a.name == o.action; });
  const auto allowed = [&](const std::string& option) {
    static const std::set<std::string> kFilters{"--target",     "--tuned-for",     "--kernel",
                                                "--status",     "--failed",        "--of-version",
                                                "--older-than", "--other-versions"};
    return it->options.count(option) > 0 ||
           (it->options.count("filter") > 0 && kFilters.count(option) > 0);
  };
  for (const char* option :
       {"--target", "--tuned-for", "--kernel", "--status", "--failed", "--of-version",
        "--other-versions", "--older-than", "-p", "--json", "-o", "--dry-run"})
    if (command.get_option(option)->count() > 0 && !allowed(option))
      throw CLI::ValidationError(option, "`db " + o.action + "` does not take it");
  if (o.files.empty() == allowed("FILE"))
    throw CLI::ValidationError("FILE", o.files.empty() ? "`db " + o.action + "` needs a file"
                                                       : "`db " + o.action + "` takes no files");
}

int db(const CLI::App& command, const Common& common, const DbOptions& o) {
  require_options(command, o);
  const std::string path = database_path(common);
  const bool adds = o.action == "import" || o.action == "merge";
  std::vector<Trial> more;
  if (o.action == "import") more = read_trials(o.files);
  if (o.action == "merge")
    for (const std::string& file : o.files)
      for (Trial& t : Database(file, Database::Mode::Read).list()) more.push_back(std::move(t));
  if (adds) {
    const std::size_t added = Database(path, Database::Mode::Write).add(more);
    return say_counts(o, "added", added, "known", more.size() - added);
  }
  const tuning::Filter filter = filter_of(common, o);
  const tuning::Sizes wanted = wanted_sizes(common);
  if (o.action == "prune" && filter.name.empty() && filter.target.empty() &&
      filter.device.empty() && !filter.status && !filter.only_failures && filter.version.empty() &&
      filter.other_version.empty() && filter.before.empty())
    throw CLI::ValidationError("db prune",
                               "say which trials: --older-than, --failed, "
                               "--other-versions or others");
  // Nobody has tuned yet: that is no error unless a file is named.
  if (common.database.empty() && ::access(path.c_str(), F_OK) != 0) {
    if (o.action == "prune") return say_counts(o, "removed", 0, "left", 0);
    write_output(o.output, o.action == "export" ? "" : o.json ? trials_json({}) : trials_table({}));
    return kDone;
  }
  Database database(path, Database::Mode::Read);
  if (o.action == "prune") {
    const std::size_t all = database.list().size();
    const std::size_t removed = o.dry_run ? database.list(filter).size() : database.prune(filter);
    return say_counts(o, "removed", removed, "left", all - removed);
  }
  if (o.action == "export") {
    std::string lines;
    for (const Trial& t : database.list(filter)) lines += to_json_line(t) + "\n";
    write_output(o.output, lines);
    return kDone;
  }
  std::vector<Trial> found = database.list(filter);
  if (o.action == "best") found = best_trials(found, wanted);
  write_output("-", o.json ? trials_json(found) : trials_table(found));
  return kDone;
}

}  // namespace

void add_db(CLI::App& app, Common& common, std::function<int()>& action) {
  auto o = std::make_shared<DbOptions>();
  CLI::App* command = app.add_subcommand("db", "The database of tuned values of knobs");
  std::vector<std::string> names;
  for (const Action& a : actions()) names.push_back(a.name);
  command
      ->add_option("ACTION", o->action,
                   "list: all trials; best: the fastest of each kernel, target, device and size, "
                   "or nearest to the sizes of -p; export: trials as JSON lines; import: adds "
                   "those of JSON lines; merge: adds those of other databases; prune: removes some")
      ->type_name("")
      ->check(one_of(names))
      ->required();
  command->add_option("FILE", o->files, "of import, - for standard input, and of merge")
      ->type_name("");
  add_common_options(*command, common, false);
  add_database_option(*command, common);
  command->add_option("--target", o->target, "trials for this target alone")
      ->type_name("TARGET")
      ->check(one_of(target_names()));
  command->add_option("--tuned-for", common.tuned_for, "trials on this device alone")
      ->type_name("DEVICE");
  command->add_option("--status", o->status, "trials of this status alone")
      ->type_name("STATUS")
      ->check(one_of({"ok", "failed", "refused", "wrong"}));
  command->add_flag("--failed", o->failed, "all trials but those that are ok");
  command->add_option("--of-version", o->version, "trials of this version of Moonloop alone")
      ->type_name("VERSION");
  command->add_flag("--other-versions", o->other_versions,
                    "trials of other versions of Moonloop than this one");
  command->add_option("--older-than", o->older_than, "trials of before that: 12h, 30d, 4w")
      ->type_name("AGE");
  command->add_flag("--json", o->json, "print one JSON object");
  command->add_flag("--dry-run", o->dry_run, "of prune: count, and remove nothing");
  command->add_option("-o", o->output, "of export: where to write; - is standard output")
      ->type_name("FILE")
      ->capture_default_str();
  command->callback([&common, &action, command, o] {
    action = [&common, command, o] { return db(*command, common, *o); };
  });
}

}  // namespace moonloop::cli
