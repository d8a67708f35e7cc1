#include <fmt/ranges.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <memory>
#include <set>

#include "cli/commands.h"
#include "cli/local_bench.h"
#include "cli/remote_bench.h"
#include "cli/run_output.h"
#include "cli/tune_output.h"
#include "cli/tuned.h"
#include "cli/worker.h"
#include "codegen/language.h"
#include "core/base/diagnostic.h"
#include "core/order/check_kernel.h"
#include "cost/predict.h"
#include "scripts/interrupt.h"

// `moonloop tune`: tries values of knobs, and keeps what they cost in the database.
namespace moonloop::cli {
namespace {

using tuning::Trial;
using TuneClock = std::chrono::steady_clock;

constexpr std::size_t kAheadOfWorker = 4;  // combinations on their way for each worker
constexpr std::size_t kLeastForModel = 5;  // trials; fewer do not calibrate it
constexpr std::size_t kLooks = 64;         // combinations that the model ranks first, at most

struct TuneOptions {
  std::string target = "c", time = "10m", trial_time, trial_memory, report;
  double prune = 3;
  std::vector<std::string> launch;  // commands that start workers
  bool worker = false;
  std::size_t trials = 100;
  std::uint64_t seed = 1;
  bool json = false;
};

/// The number in `text` times the unit that follows it; nothing where it is not a positive one.
std::optional<double> with_unit(const std::string& text,
                                const std::map<std::string, double>& units) {
  const std::size_t end = text.find_first_not_of("0123456789.");
  const auto unit = units.find(end == std::string::npos ? "" : text.substr(end));
  double value = 0;
  if (unit == units.end() || !CLI::detail::lexical_cast(text.substr(0, end), value) ||
      !std::isfinite(value) || value <= 0)
    return std::nullopt;
  return value * unit->second;
}

/// `90`, `90s`, `10m`, `2h`: seconds.
double seconds_of(const std::string& option, const std::string& text) {
  const auto out = with_unit(text, {{"", 1}, {"s", 1}, {"m", 60}, {"h", 3600}});
  if (!out)
    throw CLI::ValidationError(option, "`" + text + "` is not a time, such as 90s, 10m or 2h");
  return *out;
}

/// `500M`, `4G`: bytes.
double bytes_of(const std::string& option, const std::string& text) {
  const auto out = with_unit(text, {{"", 1}, {"k", 1e3}, {"M", 1e6}, {"G", 1e9}});
  if (!out) throw CLI::ValidationError(option, "`" + text + "` is not a size, such as 500M or 4G");
  return *out;
}

class Tuning {
 public:
  Tuning(const Common& common, const TuneOptions& o);
  int run();

 private:
  bool stop() const { return interrupted() || TuneClock::now() >= deadline_; }
  tuning::SharedCandidate load(const KnobValues& values);
  std::optional<double> predicted(const tuning::Candidate& c);
  void tell(const tuning::Tried& t);
  void progress();
  void search();
  bool time_with_default(const Trial& of_default, const Trial& t);
  TunedDevice compared(const std::string& device);
  void write_report();

  Common common_;
  const TuneOptions& o_;
  const TuneClock::time_point start_ = TuneClock::now();
  const TuneClock::time_point deadline_;
  tuning::SharedCandidate default_;
  std::optional<cost::MachineProfile> profile_;
  bool cannot_predict_ = false;  // the user was told
  std::unique_ptr<tuning::Tuner> tuner_;
  TuneResult result_;
  double best_ = INFINITY;  // seconds, of those that were told
  TuneClock::time_point told_{};
};

Tuning::Tuning(const Common& common, const TuneOptions& o)
    : common_(common),
      o_(o),
      deadline_(start_ + std::chrono::duration_cast<TuneClock::duration>(
                             std::chrono::duration<double>(seconds_of("--time", o.time)))) {
  for (const std::string& path : common.transforms)
    if (path == "-") throw CLI::ValidationError("-t", "`tune` reads the scripts several times");
  if (common.input == "-")
    throw CLI::ValidationError("INPUT", "`tune` reads the input several times");
  LocalBenchOptions bench;
  bench.processes = compiling_processes();
  if (!o.trial_time.empty()) bench.limit = seconds_of("--trial-time", o.trial_time);
  if (!o.trial_memory.empty()) bench.memory = bytes_of("--trial-memory", o.trial_memory);
  const Target target = target_option(o.target);
  common_.target = target;
  UsedKnobs used;
  default_ = std::make_shared<tuning::Candidate>(load_default(common_, used));
  const Loaded& loaded = loaded_of(*default_);
  const Kernel& k = loaded.kernel;
  if (default_->knobs.empty())
    throw Error(Diagnostic{"no-knobs",
                           fmt::format("no script of kernel `{}` declares a knob", k.name),
                           {k.at, {}},
                           {},
                           "`lp.knob(\"size\", {16, 32, 64})` declares one"});
  const auto scalars =
      read_scalars(complete(k), common_.params, scalar_names(complete(loaded.original)));
  Trial& base = result_.base;
  base.kernel = used.kernel;
  base.script = used.script;
  base.name = k.name;
  base.target = to_string(target);
  base.sizes = integers_of(scalars);
  tuning::Place place;
  if (o.launch.empty()) place = place_here(target, common_.device);
  base.device = o.launch.empty() ? place.device : "no worker";
  bench.request.target = target;
  bench.request.params = common_.params;
  bench.request.device = common_.device;
  tuning::TunerOptions options;
  options.most = o.trials;
  options.seed = o.seed;
  options.ahead = o.launch.empty() ? bench.processes + 2 : kAheadOfWorker * o.launch.size();
  options.at = k.at;
  options.looks = o.prune > 0 && o.trials >= kLeastForModel ? std::min(o.trials, kLooks) : 0;
  options.factor = o.prune;
  options.predict_all = !o.report.empty();
  options.predict = [this](const tuning::Candidate& c) { return predicted(c); };
  options.load = [this](const KnobValues& values) { return load(values); };
  options.stop = [this] { return stop(); };
  options.tried = [this](const tuning::Tried& t) { tell(t); };
  options.idle = [this] { progress(); };
  options.note = [this](const std::string& text) {
    if (!common_.quiet)
      fmt::print(stderr, "{}note: {}\n", ::isatty(STDERR_FILENO) != 0 ? "\r\x1b[K" : "", text);
  };
  tuner_ = std::make_unique<tuning::Tuner>(base, database_path(common_), options);
  if (o.launch.empty()) {
    tuner_->add(std::make_unique<LocalBench>(place, bench));
    return;
  }
  tuning::WorkerTask task = task_of(common_, *default_, used);
  task.seconds = bench.limit;
  task.memory = bench.memory;
  for (std::size_t i = 0; i < o.launch.size(); ++i)
    tuner_->add(std::make_unique<RemoteBench>(i + 1, o.launch[i], task));
}

tuning::SharedCandidate Tuning::load(const KnobValues& values) {
  if (values.empty()) return default_;
  return std::make_shared<tuning::Candidate>(load_candidate(common_, values));
}

/// On devices times of runs are without copies.
std::optional<double> Tuning::predicted(const tuning::Candidate& c) {
  const Target target = *common_.target;
  if (!profile_) profile_ = profile_in_child(target, common_.device);
  try {
    return cost::predict(loaded_of(c).kernel, target, result_.base.sizes, *profile_,
                         {.trips = {}, .resident = true})
        .seconds;
  } catch (const Error& e) {
    if (!cannot_predict_ && !common_.quiet)
      fmt::print(stderr,
                 "note: {}: the model cannot predict this, and leaves it to measuring: {}\n",
                 knobs_text(tuning::values_of(c.knobs)), e.diagnostic().text);
    cannot_predict_ = true;
    return std::nullopt;
  }
}

void Tuning::tell(const tuning::Tried& tried) {
  const Trial& t = tried.trial;
  const bool terminal = ::isatty(STDERR_FILENO) != 0;
  const bool better = t.status == tuning::Status::Ok && t.median() < best_;
  if (better) best_ = t.median();
  if (common_.quiet) return;
  if (t.status == tuning::Status::Failed || t.status == tuning::Status::Wrong)
    fmt::print(stderr, "{}note: {}: {}: {}\n", terminal ? "\r\x1b[K" : "", knobs_text(t.knobs),
               tuning::to_string(t.status), t.reason);
  const tuning::Counts& n = tuner_->counts();
  if (better && !terminal)
    fmt::print(stderr, "{} of {}: {}  {}\n", n.all() - n.refused, tuner_->state().expected(),
               duration(t.median()), knobs_text(t.knobs));
}

/// One line that is written over, on terminals.
void Tuning::progress() {
  constexpr std::chrono::milliseconds often{200};
  const auto now = TuneClock::now();
  if (common_.quiet || ::isatty(STDERR_FILENO) == 0 || now - told_ < often) return;
  told_ = now;
  TuneProgress p;
  p.counts = tuner_->counts();
  p.expected = tuner_->state().expected();
  p.best = std::isfinite(best_) ? best_ : 0;
  p.gone = std::chrono::duration<double>(now - start_).count();
  p.left = std::chrono::duration<double>(deadline_ - now).count();
  fmt::print(stderr, "\r{}\x1b[K", progress_text(p));
  std::fflush(stderr);
}

void Tuning::search() {
  tuner_->search();
  result_.ending = interrupted()                   ? TuneEnding::Interrupt
                   : TuneClock::now() >= deadline_ ? TuneEnding::Time
                   : tuner_->tried_all()           ? TuneEnding::All
                                                   : TuneEnding::Trials;
}

/// Times the defaults and `t` by turns, and records both. False where a run gave no time.
bool Tuning::time_with_default(const Trial& of_default, const Trial& t) {
  constexpr int turns = 3;
  std::vector<Trial> both{of_default, t};
  for (Trial& each : both) each.times.clear();
  for (int turn = 0; turn < turns; ++turn)
    for (Trial& each : both) {
      // The time for the search may be over.
      const auto timed = tuner_->timed(each, interrupted);
      if (!timed) return false;
      std::vector<double> times = each.times;
      each = *timed;
      each.times.insert(each.times.begin(), times.begin(), times.end());
    }
  tuner_->record(both);
  return true;
}

/// The best trial is one that was lucky, perhaps: it is timed once more, by turns with the
/// defaults, until the best is one for which that was done.
TunedDevice Tuning::compared(const std::string& device) {
  constexpr int most = 8;
  const Trial& base = result_.base;
  TunedDevice out{tuner_->defaults().at(device), tuner_->best().at(device)};
  tuning::Query q{base.kernel, base.script, "", base.target, device, base.sizes, {}};
  for (const auto& [name, value] : common_.knobs) q.fixed[name] = value;
  const bool ran = tuner_->counts().all() > tuner_->counts().known;
  std::set<std::string> timed{knobs_text(out.of_default.knobs)};
  for (int i = 0; i < most; ++i) {
    out.best = *tuner_->database().best(q);  // that `run` will take
    if (interrupted() || timed.count(knobs_text(out.best.knobs)) > 0) break;
    if (!ran && tuner_->known(out.best.knobs, device).size() > 1) break;  // by an earlier call
    if (!time_with_default(out.of_default, out.best)) break;
    timed.insert(knobs_text(out.best.knobs));
  }
  out.compared = tuner_->known(out.best.knobs, device).size() > 1;
  out.of_default = *tuner_->known(out.of_default.knobs, device).back();
  return out;
}

void Tuning::write_report() {
  std::vector<std::pair<std::string, std::string>> scripts;
  if (common_.input.ends_with(".lua") || is_fortran(common_.input))
    scripts.emplace_back(common_.input, read_source(common_.input)->text);
  for (const std::string& path : common_.transforms)
    scripts.emplace_back(path, read_source(path)->text);
  for (TunedDevice& d : result_.devices) {
    const tuning::SharedCandidate c = load(d.best.knobs);
    if (c->made) d.script = script_of(*c);
  }
  write_output(o_.report, tune_report(result_, tuner_->history(), scripts));
}

int Tuning::run() {
  try {
    const CatchInterrupts catching;  // the second one ends the program
    search();
    for (const auto& [device, best] : tuner_->best()) result_.devices.push_back(compared(device));
    if (interrupted()) result_.ending = TuneEnding::Interrupt;
  } catch (const tuning::WrongDefault& e) {
    report(e, common_.color);
    return kDifference;
  }
  if (!common_.quiet && ::isatty(STDERR_FILENO) != 0) fmt::print(stderr, "\r\x1b[K");
  result_.counts = tuner_->counts();
  if (!o_.report.empty()) write_report();
  write_output("-", o_.json ? tune_json(result_) : tune_text(result_));
  return kDone;
}

}  // namespace

void add_tune(CLI::App& app, Common& common, std::function<int()>& action) {
  auto o = std::make_shared<TuneOptions>();
  CLI::App* command =
      app.add_subcommand("tune", "Find the fastest values of knobs, and keep them in the database");
  add_common_options(*command, common);
  add_database_option(*command, common);
  command->add_option("--target", o->target, target_list(" or "))
      ->type_name("TARGET")
      ->check(one_of(target_names()))
      ->capture_default_str();
  command
      ->add_option("--trials", o->trials,
                   "how many combinations to measure at most; all if there are not more")
      ->type_name("N")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  command->add_option("--time", o->time, "how long to search at most: 90s, 10m, 2h")
      ->type_name("TIME")
      ->capture_default_str();
  command
      ->add_option("--trial-time", o->trial_time,
                   "how long a compilation or a run of one combination may take; 20 s and ten "
                   "times what the defaults took if not told")
      ->type_name("TIME");
  command
      ->add_option("--trial-memory", o->trial_memory,
                   "how much memory it may take: 500M, 4G; nine tenths of what is available if not "
                   "told")
      ->type_name("SIZE");
  command->add_option("--seed", o->seed, "of the search, where it does not try all combinations")
      ->type_name("N")
      ->capture_default_str();
  command
      ->add_option("--prune", o->prune,
                   "where not all combinations are measured: leave out those that the model "
                   "predicts to be slower than the best by more than this factor; 0: none")
      ->type_name("FACTOR")
      ->check(CLI::Range(0.0, 1e9))
      ->capture_default_str();
  command
      ->add_option("--report", o->report,
                   "write a page, which needs nothing else: trials over time, predicted against "
                   "measured times, each knob's effect, the best script")
      ->type_name("FILE.html");
  command->add_flag("--json", o->json, "print one JSON object");
  command
      ->add_option("--launch", o->launch,
                   "measure by a worker that this command of the shell starts, such as `ssh host "
                   "moonloop tune --worker`, and not here; repeatable")
      ->type_name("COMMAND")
      ->allow_extra_args(false)
      ->expected(1)
      ->take_all();
  command->add_flag("--worker", o->worker,
                    "take combinations as JSON lines on standard input, measure them, and answer "
                    "on standard output; without INPUT");
  command->get_option("INPUT")->required(false);
  command->callback([&common, &action, o] {
    if (!o->worker && common.input.empty()) throw CLI::RequiredError("INPUT");
    if (o->worker && !common.input.empty())
      throw CLI::ValidationError("--worker", "a worker takes no INPUT");
    action = [&common, o] { return o->worker ? run_worker(common) : Tuning(common, *o).run(); };
  });
}

}  // namespace moonloop::cli
