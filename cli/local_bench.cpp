#include "cli/local_bench.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "codegen/language.h"
#include "core/base/diagnostic.h"
#include "runtime/cache.h"
#include "runtime/memory.h"
#include "runtime/sha256.h"

namespace moonloop::cli {
namespace {

using tuning::Answer;
using tuning::SharedCandidate;

constexpr std::size_t kAhead = 2;  // jobs besides those that are compiled: measured, and the next
constexpr double kTurnPatience = 60;  // seconds that another tuning may have its turn

double middle(std::vector<double> times) {
  tuning::Trial t;
  t.times = std::move(times);
  return t.median();
}

/// The file whose lock is the turn to measure on a device; -1: there is no folder for it.
int turn_file(const std::string& device) {
  const std::string folder = Cache::standard().folder();
  if (folder.empty()) return -1;
  std::error_code none;
  std::filesystem::create_directories(folder + "/tuning", none);
  const std::string path = folder + "/tuning/measuring-" + sha256(device).substr(0, 16);
  return ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
}

}  // namespace

std::size_t compiling_processes() {
  cpu_set_t usable;
  CPU_ZERO(&usable);
  const int n = ::sched_getaffinity(0, sizeof usable, &usable) == 0 ? CPU_COUNT(&usable) : 1;
  return static_cast<std::size_t>(std::max(n - 1, 1));
}

LocalBench::LocalBench(tuning::Place place, LocalBenchOptions options)
    : place_(std::move(place)), options_(std::move(options)) {
  const bool device = is_device(options_.request.target);
  turn_ = turn_file(device ? fmt::format("{} {}", place_.device, options_.request.device) : "host");
}

LocalBench::~LocalBench() {
  if (turn_ >= 0) ::close(turn_);
}

std::size_t LocalBench::room() const {
  const std::size_t all = options_.processes + kAhead, jobs = items_.size() + (measured_ ? 1 : 0);
  return all > jobs ? all - jobs : 0;
}

void LocalBench::take(const tuning::Job& job) {
  // Without a cache, what is compiled ahead is lost; what is timed once more has been compiled.
  items_.push_back({job, nullptr, !job.verify || Cache::standard().folder().empty()});
  start_compiling();
}

void LocalBench::cancel() {
  items_.clear();
  measured_.reset();
  give_turn();
}

void LocalBench::lead(const SharedCandidate& best, double seconds) {
  leader_ = best;
  leader_seconds_ = seconds;
}

std::vector<int> LocalBench::files() const {
  std::vector<int> out;
  for (const Item& i : items_)
    if (i.compiling) out.push_back(i.compiling->file());
  if (measured_ && measured_->child) out.push_back(measured_->child->file());
  return out;
}

std::vector<Answer> LocalBench::answers() {
  std::vector<Answer> out;
  look_at_compiled(out);
  start_compiling();
  while (measured_ || begin_measuring()) {
    if (!measured_->child->done()) break;
    const bool more = run_ended(answer_of(measured_->child->result(), time_limit()));
    if (more) continue;
    out.push_back(std::move(measured_->answer));
    measured_.reset();
    give_turn();
  }
  return out;
}

// ---- Compiling ----------------------------------------------------------------------------------

ChildLimits LocalBench::limits(bool gives_way) const {
  constexpr double share = 0.9;
  double memory = options_.memory;
  // A device's driver may take any part of the addresses.
  if (memory == 0 && !is_device(options_.request.target))
    memory = share * available_memory().value_or(0);
  return {time_limit(), memory, gives_way};
}

void LocalBench::start_compiling() {
  auto running = static_cast<std::size_t>(std::count_if(
      items_.begin(), items_.end(), [](const Item& i) { return i.compiling != nullptr; }));
  for (Item& i : items_) {
    if (running >= options_.processes) return;
    if (i.compiled || i.compiling) continue;
    const Loaded& loaded = loaded_of(*i.job.candidate);
    i.compiling = std::make_unique<ChildProcess>(
        [&] { return compile_apart_text(loaded, options_.request); }, limits(true));
    ++running;
  }
}

void LocalBench::look_at_compiled(std::vector<Answer>& out) {
  for (auto i = items_.begin(); i != items_.end();) {
    if (!i->compiling || !i->compiling->done()) {
      ++i;
      continue;
    }
    Answer a = answer_of(i->compiling->result(), time_limit());
    i->compiling.reset();
    i->compiled = true;
    if (a.status == tuning::Status::Ok) {
      ++i;
      continue;
    }
    if (a.code == "run-crashed") a.code = "compiler-crashed";
    a.number = i->job.number;
    out.push_back(std::move(a));
    i = items_.erase(i);
  }
}

// ---- Measuring ----------------------------------------------------------------------------------

/// Whether no other tuning measures on the device. One that has its turn for long, because it is
/// stopped for example, is not waited for.
bool LocalBench::has_turn() {
  if (turn_ < 0 || ::flock(turn_, LOCK_EX | LOCK_NB) == 0) {
    asked_ = {};
    return true;
  }
  const auto now = std::chrono::steady_clock::now();
  if (asked_.time_since_epoch().count() == 0) asked_ = now;
  return now - asked_ > std::chrono::duration<double>(kTurnPatience);
}

void LocalBench::give_turn() {
  if (turn_ >= 0) ::flock(turn_, LOCK_UN);
}

bool LocalBench::begin_measuring() {
  const auto next =
      std::find_if(items_.begin(), items_.end(), [](const Item& i) { return i.compiled; });
  if (next == items_.end() || !has_turn()) return false;
  measured_ = std::make_unique<Measured>();
  measured_->job = std::move(next->job);
  measured_->answer.number = measured_->job.number;
  items_.erase(next);
  begin_run(measured_->job.candidate, measured_->job.verify);
  return true;
}

void LocalBench::begin_run(const SharedCandidate& c, bool verify) {
  const Loaded& loaded = loaded_of(*c);
  measured_->now = c;
  measured_->child = std::make_unique<ChildProcess>(
      [&] { return measured_text(loaded, options_.request, verify); }, limits(false));
}

/// Takes what came of a run; whether another one follows. Where the leader does not run any more,
/// the comparison is left out.
bool LocalBench::run_ended(const Answer& a) {
  Measured& m = *measured_;
  const SharedCandidate own = m.job.candidate;
  const bool first = m.leader == nullptr, of_own = m.now == own;
  if (of_own) {
    m.answer.status = a.status;
    m.answer.code = a.code;
    m.answer.reason = a.reason;
    m.answer.hint = a.hint;
    m.answer.times.insert(m.answer.times.end(), a.times.begin(), a.times.end());
    if (a.status != tuning::Status::Ok) m.answer.times.clear();
  }
  if (a.status != tuning::Status::Ok) return false;
  if (first) {
    const bool seems_faster = leader_ && leader_ != own && middle(a.times) < leader_seconds_;
    if (!m.job.verify || !seems_faster) return false;
    m.leader = leader_;
    m.turns = {m.leader, own, m.leader, own};
  } else {
    std::vector<double>& times = of_own ? m.own : m.of_leader;
    times.insert(times.end(), a.times.begin(), a.times.end());
  }
  if (m.turns.empty()) {
    m.answer.better = middle(m.own) < middle(m.of_leader);
    return false;
  }
  const SharedCandidate next = m.turns.front();
  m.turns.pop_front();
  begin_run(next, false);
  return true;
}

}  // namespace moonloop::cli
