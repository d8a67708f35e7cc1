#include "tuning/tuner.h"

#include <poll.h>

#include <algorithm>
#include <cmath>

namespace moonloop::tuning {
namespace {

constexpr std::size_t kLeast =
    4;  // combinations on their way at the same time, as many as there are
constexpr std::size_t kCalibrated = 5;  // measured combinations from which on the model counts
constexpr int kPause = 100, kPauseElsewhere = 20;  // ms

std::string text_of(const KnobValues& values) {
  std::string out;
  for (const auto& [name, value] : values) out += name + "=" + to_lua(value) + "\n";
  return out;
}

/// The code in `it took more than 20 s [took-too-long]`.
std::string code_in(const std::string& reason) {
  const auto at = reason.rfind(" [");
  if (at == std::string::npos || !reason.ends_with("]")) return "script-error";
  return reason.substr(at + 2, reason.size() - at - 3);
}

}  // namespace

Tuner::Tuner(Trial base, const std::string& path, TunerOptions options)
    : base_(std::move(base)),
      options_(std::move(options)),
      database_(path, Database::Mode::Write),
      claims_(path),
      search_(options_.most, options_.seed, options_.looks) {
  refresh();
}

// ---- What is known ------------------------------------------------------------------------------

/// Reads what this process and others have recorded since the last call.
void Tuner::refresh() {
  Filter same;
  same.kernel = base_.kernel;
  same.script = base_.script;
  same.target = base_.target;
  for (Trial& t : database_.added_after(last_, same))
    if (t.sizes == base_.sizes) {
      by_values_[text_of(t.knobs)].push_back(trials_.size());
      trials_.push_back(std::move(t));
    }
}

std::vector<const Trial*> Tuner::known(const KnobValues& values, const std::string& device) const {
  std::vector<const Trial*> out;
  if (const auto it = by_values_.find(text_of(values)); it != by_values_.end())
    for (const std::size_t i : it->second)
      if (trials_[i].device == device) out.push_back(&trials_[i]);
  return out;
}

/// The first one on a device that takes part: a search that goes on takes the same way as before.
const Trial* Tuner::recorded(const KnobValues& values) const {
  const auto it = by_values_.find(text_of(values));
  if (it == by_values_.end()) return nullptr;
  for (const std::size_t i : it->second)
    if (defaults_.count(trials_[i].device) > 0) return &trials_[i];
  return nullptr;
}

/// What failed is tried again: all else depends on it.
const Trial* Tuner::known_default(const std::string& device) const {
  for (const Trial* t : known(values_of(of_defaults_->knobs), device))
    if (t->status == Status::Ok) return t;
  return nullptr;
}

/// Times of several devices are comparable only as multiples of what the defaults take on each.
double Tuner::relative(const Trial& t) const {
  const auto of_default = defaults_.find(t.device);
  if (t.status != Status::Ok || of_default == defaults_.end()) return INFINITY;
  return t.median() / of_default->second.median();
}

Trial Tuner::trial_of(const Candidate& c, const Place& place, const Answer& a) const {
  Trial t = base_;
  t.knobs = values_of(c.knobs);
  t.device = place.device;
  t.compiler = place.compiler;
  t.flags = place.flags;
  t.version = place.version;
  t.status = a.status;
  t.times = a.times;
  t.reason = a.reason.substr(0, a.reason.find('\n'));
  if (!a.code.empty()) t.reason += fmt::format(" [{}]", a.code);
  t.date = utc_date();
  return t;
}

// ---- The order of the search --------------------------------------------------------------------

void Tuner::search() {
  start_ = std::chrono::steady_clock::now();
  while (!stop()) {
    while (!full() && propose()) {}
    if (stop() || slots_.empty()) break;
    // Only now, also where it ended long since: see TunerOptions::ahead.
    if (slots_.front().done) {
      commit();
      continue;
    }
    assign();
    if (!slots_.front().done) wait();
  }
  for (Slot& s : slots_) give_back(s);
  for (Slot& s : baselines_) give_back(s);
  if (!slots_.empty() || !baselines_.empty())
    for (const auto& b : benches_) b->cancel();
  slots_.clear();
  baselines_.clear();
}

bool Tuner::full() const {
  if (defaults_.empty() && !slots_.empty()) return true;  // all else is compared with it
  std::size_t elsewhere = 0, open = 0;
  for (const Slot& s : slots_) {
    elsewhere += s.elsewhere;
    open += !s.elsewhere && !s.done;
  }
  // With too many at once, an evolutionary search would learn nothing.
  const std::size_t most =
      search_.guided() ? std::min(options_.ahead, kLeast + options_.most / 20) : options_.ahead;
  if (elsewhere == 0) return slots_.size() >= most;
  return open >= most || slots_.size() >= kMostSlots;
}

SharedCandidate Tuner::loaded(const KnobValues& values) {
  const auto it = looked_at_.find(text_of(values));
  if (it == looked_at_.end()) return options_.load(values);
  SharedCandidate out = std::move(it->second);
  looked_at_.erase(it);
  return out;
}

SharedCandidate Tuner::with_prediction(SharedCandidate c) const {
  if (!options_.predict || !c->made || c->predicted) return c;
  auto out = std::make_shared<Candidate>(*c);
  out->predicted = options_.predict(*c);
  return out;
}

/// False where there is nothing to propose, for now at least.
bool Tuner::propose() {
  const auto values = search_.next();
  if (!values || stop()) return false;
  SharedCandidate c = loaded(*values);
  if (stop()) return false;  // it may not be complete
  if (search_.looking()) {
    look_at(with_prediction(c));
    return true;
  }
  if (!search_.declared(c->knobs)) return true;
  if (search_.guided() || options_.predict_all) c = with_prediction(c);
  if (!of_defaults_) of_defaults_ = c;
  if (left_to_model(*c)) {
    search_.left_out();
    ++counts_.left;
    return true;
  }
  Slot slot{next_number_++, c};
  const Trial* before = c == of_defaults_ ? nullptr : recorded(values_of(c->knobs));
  if (before)
    end(slot, Trial(*before), true);
  else if (!c->made) {
    const Trial t = trial_of(*c, *home_, {0, c->status, {}, "", c->reason});
    record({t});
    end(slot, t, false);
  }
  slots_.push_back(std::move(slot));
  return true;
}

/// A look finds refusals, which cost nothing more; all else waits for its turn.
void Tuner::look_at(const SharedCandidate& c) {
  search_.looked(c->knobs, c->made ? c->predicted : std::nullopt);
  if (c->made && c->predicted) looked_at_[text_of(values_of(c->knobs))] = c;
  if (c->status != Status::Refused || !search_.declared(c->knobs)) return;
  Slot slot{next_number_++, c};
  const Trial* before = recorded(values_of(c->knobs));
  Trial t = before ? *before : trial_of(*c, *home_, {0, c->status, {}, "", c->reason});
  if (!before) record({t});
  end(slot, t, before != nullptr);
  search_.refused();
}

/// Predicted to be slower than the best one by more than `factor`. Predictions are corrected by the
/// median of what was measured, as a multiple of what was predicted. What counts is what search()
/// has committed, so that the answer does not depend on what ends first.
bool Tuner::left_to_model(const Candidate& c) const {
  if (!search_.guided() || options_.factor <= 0 || !c.predicted || ratios_.size() < kCalibrated)
    return false;
  return *c.predicted * ratios_[ratios_.size() / 2] > options_.factor * least_;
}

/// Tells the search what came of the first of `slots_`.
void Tuner::commit() {
  const Slot s = std::move(slots_.front());
  slots_.pop_front();
  if (s.done->status == Status::Refused) return search_.refused();
  const double cost = relative(*s.done);
  search_.measured(s.candidate->knobs, cost);
  if (!std::isfinite(cost)) return;
  least_ = std::min(least_, cost);
  if (!s.candidate->predicted || *s.candidate->predicted <= 0) return;
  const double ratio = cost / *s.candidate->predicted;
  ratios_.insert(std::upper_bound(ratios_.begin(), ratios_.end(), ratio), ratio);
}

// ---- Benches ------------------------------------------------------------------------------------

/// Gives what waits to benches that have room.
void Tuner::assign() {
  for (const auto& b : benches_) ready(*b);
  if (std::any_of(slots_.begin(), slots_.end(), [](const Slot& s) { return s.elsewhere; }))
    refresh();
  for (Slot& s : slots_) {
    if (s.done || s.bench) continue;
    if (s.candidate == of_defaults_) {
      if (!defaults_.empty()) end(s, Trial(defaults_.begin()->second), default_known_);
      continue;
    }
    if (const Trial* t = s.elsewhere ? recorded(values_of(s.candidate->knobs)) : nullptr) {
      end(s, Trial(*t), true);
      continue;
    }
    for (const auto& b : benches_)
      if (ready(*b) && b->room() > 0 && (begin(s, *b, false) || s.done)) break;
  }
}

/// Whether the times of the defaults are known on the bench's device; if not, they are measured.
bool Tuner::ready(Bench& b) {
  if (!b.place() || !of_defaults_) return false;
  if (!home_) home_ = *b.place();
  const std::string& device = b.place()->device;
  if (const auto it = defaults_.find(device); it != defaults_.end()) {
    if (!prepared_[&b]) {
      double timed = 0;
      for (const double seconds : it->second.times) timed += seconds;
      b.limit(options_.limit + 10 * timed);
      b.lead(leaders_.at(device), best_.at(device).median());
      prepared_[&b] = true;
    }
    return true;
  }
  for (const Slot& s : baselines_)
    if (s.bench->place()->device == device) return false;
  if (const Trial* t = known_default(device)) {
    default_known_ = default_known_ || defaults_.empty();
    set_default(*t);
    return ready(b);
  }
  Slot slot{next_number_++, of_defaults_};
  if (b.room() > 0 && begin(slot, b, true)) baselines_.push_back(std::move(slot));
  return false;
}

/// Gives `slot` to the bench, unless another process has it, or had it until now.
bool Tuner::begin(Slot& slot, Bench& b, bool as_default) {
  const KnobValues values = values_of(slot.candidate->knobs);
  std::string claim = base_.kernel + base_.script + base_.target + "\n" + b.place()->device + "\n";
  for (const auto& [name, n] : base_.sizes) claim += fmt::format("{}={}\n", name, n);
  claim += text_of(values);
  slot.elsewhere = !claims_.take(claim);
  if (slot.elsewhere) {
    refresh();
    return false;
  }
  slot.claim = claim;
  refresh();
  if (as_default && known_default(b.place()->device)) {
    give_back(slot);
    return false;
  }
  if (const Trial* t = as_default ? nullptr : recorded(values)) {
    end(slot, Trial(*t), true);
    return false;
  }
  slot.bench = &b;
  b.take({slot.number, slot.candidate});
  return true;
}

void Tuner::give_back(Slot& slot) {
  if (!slot.claim.empty()) claims_.give_back(slot.claim);
  slot.claim.clear();
  slot.bench = nullptr;
}

void Tuner::wait() {
  std::vector<pollfd> files;
  for (const auto& b : benches_)
    for (const int file : b->files()) files.push_back({file, POLLIN, 0});
  const bool elsewhere =
      std::any_of(slots_.begin(), slots_.end(), [](const Slot& s) { return s.elsewhere; });
  ::poll(files.data(), files.size(), elsewhere ? kPauseElsewhere : kPause);
  take_answers();
  options_.idle();
}

void Tuner::take_answers() {
  for (std::size_t i = 0; i < benches_.size();) {
    Bench& b = *benches_[i];
    for (const Answer& a : b.answers()) {
      // What ends the search may have ended the child that answers.
      if (a.status == Status::Ok || !stop()) take_answer(b, a);
      if (i >= benches_.size() || benches_[i].get() != &b) break;  // dropped
    }
    if (i >= benches_.size() || benches_[i].get() != &b) continue;
    const auto why = b.failed();
    if (why && stop()) return;  // an interrupt ends workers, too
    if (why)
      drop(b, *why);
    else
      ++i;
  }
}

void Tuner::take_answer(Bench& b, const Answer& a) {
  const auto has_number = [&](const Slot& s) { return s.number == a.number; };
  if (const auto it = std::find_if(baselines_.begin(), baselines_.end(), has_number);
      it != baselines_.end()) {
    const Trial t = trial_of(*it->candidate, *b.place(), a);
    if (t.status == Status::Ok || t.status == Status::Wrong) record({t});
    give_back(*it);
    baselines_.erase(it);
    return take_default(b, t, a);
  }
  const auto it = std::find_if(slots_.begin(), slots_.end(), has_number);
  if (it == slots_.end()) return;  // cancelled
  const Trial t = trial_of(*it->candidate, *b.place(), a);
  record({t});
  const std::string& device = t.device;
  if (t.status == Status::Ok && (a.better ? *a.better : t.median() < best_.at(device).median()))
    lead(it->candidate, t);
  end(*it, t, false);
}

void Tuner::take_default(Bench& b, const Trial& t, const Answer& a) {
  if (t.status == Status::Ok) return set_default(t);
  if (b.spare())
    return drop(b, fmt::format("it cannot measure the defaults of the knobs: {}", t.reason));
  if (t.status == Status::Wrong)
    throw WrongDefault(Diagnostic{
        "wrong-results",
        fmt::format("with the defaults of its knobs, kernel `{}` gives other results than "
                    "before its transforms: {}",
                    t.name, a.reason),
        {options_.at, {}},
        {},
        "`moonloop run --verify` tells more"});
  throw Error(Diagnostic{a.code, a.reason, {options_.at, {}}, {}, a.hint});
}

void Tuner::set_default(const Trial& t) {
  defaults_[t.device] = t;
  lead(of_defaults_, t);
}

void Tuner::lead(const SharedCandidate& c, const Trial& t) {
  best_[t.device] = t;
  leaders_[t.device] = c;
  for (const auto& b : benches_)
    if (b->place() && b->place()->device == t.device && prepared_[b.get()]) b->lead(c, t.median());
}

/// The search goes on without a bench.
void Tuner::drop(const Bench& bench, const std::string& why) {
  std::size_t others = 0;
  for (Slot& s : slots_)
    if (s.bench == &bench) {
      give_back(s);
      ++others;
    }
  for (Slot& s : baselines_)
    if (s.bench == &bench) give_back(s);
  std::erase_if(baselines_, [](const Slot& s) { return !s.bench; });
  options_.note(fmt::format("{}: {}{}", bench.name(), why,
                            others == 0 ? ""
                            : others == 1
                                ? "; its combination goes to another one"
                                : fmt::format("; its {} combinations go to others", others)));
  prepared_.erase(&bench);
  std::erase_if(benches_, [&](const auto& b) { return b.get() == &bench; });
  if (benches_.empty())
    throw Error(Diagnostic{"no-worker", "no worker is left to measure", {}, {}, {}});
}

// ---- Ends ---------------------------------------------------------------------------------------

void Tuner::end(Slot& slot, const Trial& t, bool known) {
  slot.done = t;
  slot.elsewhere = false;
  give_back(slot);
  if (known && t.status == Status::Ok &&
      t.median() < best_.at(t.device).median())  // of an earlier call or another process
    lead(slot.candidate, t);
  report(*slot.candidate, t, known);
}

void Tuner::report(const Candidate& c, const Trial& t, bool known) {
  switch (t.status) {
    case Status::Ok: ++counts_.ok; break;
    case Status::Failed:
      ++counts_.failed;
      ++counts_.failures[code_in(t.reason)];
      break;
    case Status::Refused: ++counts_.refused; break;
    case Status::Wrong: ++counts_.wrong; break;
  }
  if (known) ++counts_.known;
  const std::chrono::duration<double> at = std::chrono::steady_clock::now() - start_;
  history_.push_back({t, at.count(), known, c.predicted});
  options_.tried(history_.back());
}

std::optional<Trial> Tuner::timed(const Trial& t, const std::function<bool()>& stopped) {
  const auto b = std::find_if(benches_.begin(), benches_.end(), [&](const auto& each) {
    return each->place() && each->place()->device == t.device;
  });
  if (b == benches_.end() || stopped()) return std::nullopt;
  const SharedCandidate c = loaded(t.knobs);
  if (!c->made || stopped()) return std::nullopt;
  const std::size_t number = next_number_++;
  (*b)->take({number, c, false});
  while (!stopped() && !(*b)->failed()) {
    std::vector<pollfd> files;
    for (const int file : (*b)->files()) files.push_back({file, POLLIN, 0});
    ::poll(files.data(), files.size(), kPause);
    for (const Answer& a : (*b)->answers())
      if (a.number == number && !stopped()) {
        if (a.status != Status::Ok) return std::nullopt;
        Trial out = trial_of(*c, *(*b)->place(), a);
        out.knobs = t.knobs;
        return out;
      }
    options_.idle();
  }
  (*b)->cancel();
  return std::nullopt;
}

void Tuner::record(const std::vector<Trial>& all) {
  database_.add(all);
  refresh();
}

}  // namespace moonloop::tuning
