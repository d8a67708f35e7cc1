#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/candidate.h"
#include "cli/commands.h"
#include "cli/run_output.h"
#include "cli/tuned.h"
#include "codegen/language.h"
#include "core/base/diagnostic.h"
#include "core/order/check_kernel.h"
#include "scripts/interrupt.h"
#include "tuning/database.h"

// `moonloop tune`: tries values of knobs, and keeps what they cost in the database.
namespace moonloop::cli {
namespace {

using tuning::Trial;
using TuneClock = std::chrono::steady_clock;

struct TuneOptions {
  std::string target = "c", time = "10m";
  std::size_t trials = 100;
  std::uint64_t seed = 1;
  bool json = false;
};

/// `90`, `90s`, `10m`, `2h`: seconds.
double seconds_of(const std::string& text) {
  std::string number = text;
  double unit = 1;
  if (!number.empty() && (number.back() == 's' || number.back() == 'm' || number.back() == 'h')) {
    unit = number.back() == 's' ? 1 : number.back() == 'm' ? 60 : 3600;
    number.pop_back();
  }
  double value = 0;
  if (!CLI::detail::lexical_cast(number, value) || !std::isfinite(value) || value <= 0)
    throw CLI::ValidationError("--time", "`" + text + "` is not a time, such as 90s, 10m or 2h");
  return value * unit;
}

std::string knob_options(const KnobValues& values) {
  std::vector<std::string> out;
  for (const auto& [name, value] : values) {
    const std::string text = knob_text(value);
    const bool plain = std::all_of(text.begin(), text.end(), [](unsigned char c) {
      return std::isalnum(c) || c == '_' || c == '-' || c == '.';
    });
    std::string quoted;
    for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    out.push_back(fmt::format("--knob {}={}", name, plain ? text : "'" + quoted + "'"));
  }
  return fmt::format("{}", fmt::join(out, " "));
}

struct Counts {
  std::size_t ok = 0, refused = 0, failed = 0, wrong = 0;
  std::size_t known = 0;  // of these, from the database

  void add(tuning::Status s) {
    switch (s) {
      case tuning::Status::Ok: ++ok; return;
      case tuning::Status::Failed: ++failed; return;
      case tuning::Status::Refused: ++refused; return;
      case tuning::Status::Wrong: ++wrong; return;
    }
  }
  std::size_t all() const { return ok + refused + failed + wrong; }
};

/// What all candidates are measured against gives wrong results.
class WrongDefault : public Error {
 public:
  using Error::Error;
};

class Tuning {
 public:
  Tuning(const Common& common, const TuneOptions& o);
  int run();

 private:
  enum class Ending { All, Trials, Time, Interrupt };

  bool stop() const { return interrupted() || TuneClock::now() >= deadline_; }
  std::string text_of(Ending e) const;
  std::vector<const Trial*> all_known(const KnobValues& values) const;
  const Trial* known(const KnobValues& values) const;
  Trial tried(Candidate& c);
  void note(const Trial& t);
  void progress();
  void search();
  bool time_with_default(const Trial& t);
  void compare();
  void print() const;

  Common common_;
  const TuneOptions& o_;
  const TuneClock::time_point start_ = TuneClock::now();
  const TuneClock::time_point deadline_;
  Trial base_;  // what all trials have in common
  std::vector<Trial> recorded_;
  AttemptOptions attempt_;
  std::unique_ptr<tuning::Database> database_;
  std::unique_ptr<tuning::Search> search_;
  Candidate default_;
  Span at_;  // of the kernel
  Counts counts_;
  Ending ending_ = Ending::All;
  std::optional<Trial> of_default_, best_;
  bool compared_ = false;  // the two in one run, by turns
  TuneClock::time_point told_{};
};

Tuning::Tuning(const Common& common, const TuneOptions& o)
    : common_(common),
      o_(o),
      deadline_(start_ + std::chrono::duration_cast<TuneClock::duration>(
                             std::chrono::duration<double>(seconds_of(o.time)))) {
  for (const std::string& path : common.transforms)
    if (path == "-") throw CLI::ValidationError("-t", "`tune` reads the scripts several times");
  if (common.input == "-")
    throw CLI::ValidationError("INPUT", "`tune` reads the input several times");
  const Target target = target_option(o.target);
  common_.target = target;
  UsedKnobs used;
  default_ = load_default(common_, used);
  const Kernel& k = default_.loaded->kernel;
  if (default_.knobs.empty())
    throw Error(Diagnostic{"no-knobs",
                           fmt::format("no script of kernel `{}` declares a knob", k.name),
                           {k.at, {}},
                           {},
                           "`lp.knob(\"size\", {16, 32, 64})` declares one"});
  at_ = k.at;
  const auto scalars =
      read_scalars(complete(k), common_.params, scalar_names(complete(default_.loaded->original)));
  base_.kernel = used.kernel;
  base_.script = used.script;
  base_.name = k.name;
  base_.target = to_string(target);
  base_.device = device_of(target, common_.device);
  base_.sizes = integers_of(scalars);
  base_.version = MOONLOOP_VERSION;
  if (!is_device(target)) {
    base_.compiler = (target == Target::Ispc ? find_ispc_compiler() : find_c_compiler()).version;
    base_.flags = fmt::format("{}", fmt::join(compile_flags(target, {}), " "));
  }
  attempt_.request.target = target;
  attempt_.request.params = common_.params;
  attempt_.request.device = common_.device;
  attempt_.stop = [this] { return stop(); };
  database_ =
      std::make_unique<tuning::Database>(database_path(common_), tuning::Database::Mode::Write);
  tuning::Filter same;
  same.kernel = base_.kernel;
  same.script = base_.script;
  same.target = base_.target;
  same.device = base_.device;
  for (Trial& t : database_->list(same))
    if (t.sizes == base_.sizes) recorded_.push_back(std::move(t));
  search_ = std::make_unique<tuning::Search>(o.trials, o.seed);
}

/// Trials of these values at these sizes, in order.
std::vector<const Trial*> Tuning::all_known(const KnobValues& values) const {
  std::vector<const Trial*> out;
  for (const Trial& t : recorded_)
    if (std::equal(t.knobs.begin(), t.knobs.end(), values.begin(), values.end(),
                   [](const auto& a, const auto& b) {
                     return a.first == b.first && same_knob_value(a.second, b.second);
                   }))
      out.push_back(&t);
  return out;
}

/// The first one: a search that goes on takes the same way as before.
const Trial* Tuning::known(const KnobValues& values) const {
  const std::vector<const Trial*> all = all_known(values);
  return all.empty() ? nullptr : all.front();
}

/// A trial of `c`, recorded, unless stop() held meanwhile. Fails where the defaults do.
Trial Tuning::tried(Candidate& c) {
  Trial t = base_;
  t.knobs = tuning::values_of(c.knobs);
  if (!c.loaded) {
    t.status = c.refused ? tuning::Status::Refused : tuning::Status::Failed;
    t.reason = c.reason;
  } else {
    const Attempt a = attempt(*c.loaded, attempt_);
    if (a.stopped) return t;
    t.status = a.status;
    t.times = a.times;
    t.reason = a.reason.substr(0, a.reason.find('\n'));
    if (!of_default_ && a.status == tuning::Status::Failed)
      throw Error(Diagnostic{a.code, a.reason, {at_, {}}, {}, a.hint});
  }
  t.date = tuning::utc_date();
  database_->record(t);
  recorded_.push_back(t);
  return t;
}

void Tuning::note(const Trial& t) {
  if (common_.quiet) return;
  const bool terminal = ::isatty(STDERR_FILENO) != 0;
  const char* const clear = terminal ? "\r\x1b[K" : "";
  if (t.status == tuning::Status::Failed || t.status == tuning::Status::Wrong)
    fmt::print(stderr, "{}note: {}: {}: {}\n", clear, knobs_text(t.knobs),
               tuning::to_string(t.status), t.reason);
  const bool better = t.status == tuning::Status::Ok && (!best_ || t.median() < best_->median());
  if (better && !terminal)
    fmt::print(stderr, "{} of {}: {}  {}\n", search_->measured_so_far(), search_->expected(),
               duration(t.median()), knobs_text(t.knobs));
}

/// One line that is written over, on terminals.
void Tuning::progress() {
  constexpr std::chrono::milliseconds often{200};
  const auto now = TuneClock::now();
  if (common_.quiet || ::isatty(STDERR_FILENO) == 0 || now - told_ < often) return;
  told_ = now;
  const std::chrono::duration<double> gone = now - start_, left = deadline_ - now;
  const auto done = static_cast<double>(search_->measured_so_far());
  const double rest = static_cast<double>(search_->expected()) - done;
  const double seconds = std::min(left.count(), done > 0 ? gone.count() / done * rest : INFINITY);
  fmt::print(stderr, "\r{} of {}: {}; {} refused, {} failed, {} wrong; at most {:.0f} s left\x1b[K",
             search_->measured_so_far(), search_->expected(),
             best_ ? "best " + duration(best_->median()) : "no best yet", counts_.refused,
             counts_.failed, counts_.wrong, seconds);
  std::fflush(stderr);
}

void Tuning::search() {
  ending_ = Ending::Trials;
  while (const auto values = search_->next()) {
    Candidate c = of_default_ ? load_candidate(common_, *values) : std::move(default_);
    if (stop()) break;
    if (!search_->declared(c.knobs)) continue;
    const Trial* before = known(tuning::values_of(c.knobs));
    if (before && !of_default_ && before->status != tuning::Status::Ok) before = nullptr;
    const Trial t = before ? *before : tried(c);
    if (!before && t.date.empty()) break;  // stopped
    if (before) ++counts_.known;
    counts_.add(t.status);
    t.status == tuning::Status::Refused ? search_->refused() : search_->measured(t.median());
    note(t);
    if (!of_default_) {
      of_default_ = t;
      if (t.status == tuning::Status::Wrong)
        throw WrongDefault(Diagnostic{
            "wrong-results",
            fmt::format("with the defaults of its knobs, kernel `{}` gives other results than "
                        "before its transforms: {}",
                        t.name, t.reason),
            {at_, {}},
            {},
            "`moonloop run --verify` tells more"});
      // What hangs is ended; what is slower, or takes longer to compile, has the time for it.
      double timed = 0;
      for (const double seconds : t.times) timed += seconds;
      attempt_.limit = 20 + 10 * timed;
    }
    if (t.status == tuning::Status::Ok && (!best_ || t.median() < best_->median())) best_ = t;
    progress();
  }
  if (stop())
    ending_ = interrupted() ? Ending::Interrupt : Ending::Time;
  else if (search_->tried_all())
    ending_ = Ending::All;
}

/// Times the defaults and `t` by turns, and records both. False where a run gave no time.
bool Tuning::time_with_default(const Trial& t) {
  constexpr int turns = 3;
  std::array<Trial, 2> both{*of_default_, t};
  std::array<Candidate, 2> candidates;
  for (std::size_t i = 0; i < 2; ++i) {
    candidates[i] = load_candidate(common_, both[i].knobs);
    if (!candidates[i].loaded) return false;  // an interrupt
    both[i].times.clear();
  }
  for (int turn = 0; turn < turns; ++turn)
    for (std::size_t i = 0; i < 2; ++i) {
      const Attempt a = attempt(*candidates[i].loaded, attempt_);
      if (a.stopped || a.status != tuning::Status::Ok) return false;
      both[i].times.insert(both[i].times.end(), a.times.begin(), a.times.end());
    }
  for (Trial& each : both) {
    each.date = tuning::utc_date();
    recorded_.push_back(each);
  }
  database_->add({both[0], both[1]});
  return true;
}

/// The best trial is one that was lucky, perhaps: it is timed once more, by turns with the
/// defaults, until the best is one for which that was done.
void Tuning::compare() {
  constexpr int most = 8;
  tuning::Query q{base_.kernel, base_.script, "", base_.target, base_.device, base_.sizes, {}};
  for (const auto& [name, value] : common_.knobs) q.fixed[name] = value;
  const bool ran = counts_.all() > counts_.known;
  attempt_.verify = false;
  attempt_.stop = interrupted;  // the time for the search may be over
  std::set<std::string> timed{knobs_text(of_default_->knobs)};
  for (int i = 0; i < most; ++i) {
    best_ = database_->best(q);  // that `run` will take
    if (interrupted() || timed.count(knobs_text(best_->knobs)) > 0) break;
    if (!ran && all_known(best_->knobs).size() > 1) break;  // by an earlier call
    if (!time_with_default(*best_)) break;
    timed.insert(knobs_text(best_->knobs));
  }
  compared_ = all_known(best_->knobs).size() > 1;
  of_default_ = *all_known(of_default_->knobs).back();
}

std::string Tuning::text_of(Ending e) const {
  switch (e) {
    case Ending::All: return "all combinations";
    case Ending::Trials: return "more combinations are left";
    case Ending::Time: return "the time is over";
    case Ending::Interrupt: return "interrupted";
  }
  throw InternalError("unknown ending of a tuning");
}

void Tuning::print() const {
  const Counts& n = counts_;
  if (o_.json) {
    using Json = nlohmann::ordered_json;
    Json out{{"kernel", base_.name}, {"target", base_.target}, {"device", base_.device}};
    out["sizes"] = base_.sizes;
    const auto knobs = [](const Trial& t) { return Json::parse(to_json_line(t))["knobs"]; };
    if (best_) {
      out["default"] = {{"median", of_default_->median()}, {"knobs", knobs(*of_default_)}};
      out["best"] = {{"median", best_->median()},
                     {"knobs", knobs(*best_)},
                     {"options", knob_options(best_->knobs)}};
      out["speed_up"] = of_default_->median() / best_->median();
      out["compared"] = compared_;
    }
    out["trials"] = {{"ok", n.ok},       {"refused", n.refused}, {"failed", n.failed},
                     {"wrong", n.wrong}, {"known", n.known},     {"run", n.all() - n.known}};
    out["all"] = ending_ == Ending::All;
    out["interrupted"] = ending_ == Ending::Interrupt;
    write_output("-", out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
    return;
  }
  std::string out = fmt::format("{} on {}, {}{}{}\n", base_.name, base_.target, base_.device,
                                base_.sizes.empty() ? "" : ", ", sizes_text(base_.sizes));
  if (best_) {
    out += fmt::format("default:  {}  {}\n", duration(of_default_->median()),
                       knobs_text(of_default_->knobs));
    out += fmt::format("best:     {}  {}\n", duration(best_->median()), knobs_text(best_->knobs));
    out += fmt::format("speed-up: {:.2f}\n", of_default_->median() / best_->median());
    out += fmt::format("knobs:    {}\n", knob_options(best_->knobs));
  }
  out +=
      fmt::format("trials:   {} ok, {} refused, {} failed, {} wrong; {} run, {} known; {}\n", n.ok,
                  n.refused, n.failed, n.wrong, n.all() - n.known, n.known, text_of(ending_));
  write_output("-", out);
}

int Tuning::run() {
  try {
    const CatchInterrupts catching;  // the second one ends the program
    search();
    if (best_) compare();
    if (interrupted()) ending_ = Ending::Interrupt;
  } catch (const WrongDefault& e) {
    report(e, common_.color);
    return kDifference;
  }
  if (!common_.quiet && ::isatty(STDERR_FILENO) != 0) fmt::print(stderr, "\r\x1b[K");
  print();
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
  command->add_option("--seed", o->seed, "of the search, where it does not try all combinations")
      ->type_name("N")
      ->capture_default_str();
  command->add_flag("--json", o->json, "print one JSON object");
  command->callback(
      [&common, &action, o] { action = [&common, o] { return Tuning(common, *o).run(); }; });
}

}  // namespace moonloop::cli
