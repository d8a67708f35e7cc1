#pragma once
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/diagnostic.h"
#include "tuning/bench.h"
#include "tuning/claims.h"
#include "tuning/database.h"
#include "tuning/search.h"

/// The search for the best values of knobs: what to try (search.h), where (bench.h), and what is
/// known already (database.h), put together.
///
/// Input: functions that run scripts, benches. Output: trials, in the database when they are
/// reported. Entry points: Tuner::search(), Tuner::timed().
namespace moonloop::tuning {

/// Numbers of combinations, by what came of them.
struct Counts {
  std::size_t ok = 0, refused = 0, failed = 0, wrong = 0;
  std::size_t known = 0;                        // of these, from the database
  std::size_t left = 0;                         // besides these: left to the model
  std::map<std::string, std::size_t> failures;  // of those that failed, by code
  std::size_t all() const { return ok + refused + failed + wrong; }
};

/// A trial that ended, or that another process or an earlier call had recorded.
struct Tried {
  Trial trial;
  double at = 0;  // seconds since the search began
  bool known = false;
  std::optional<double> predicted = {};  // seconds, by the model
};

struct TunerOptions {
  std::size_t most = 100;  // combinations that are measured
  std::uint64_t seed = 1;
  /// Combinations on their way at the same time. What is proposed after n of them depends on what
  /// came of all but the last `ahead`, whichever ends first: a search that was cut off and goes on
  /// takes the same way.
  std::size_t ahead = 3;
  std::size_t looks = 0;  // combinations that the model ranks before the evolutionary search
  double factor = 3;      // see Tuner::left_to_model(); 0: none is left out
  double limit = 20;      // seconds that a run may take, besides ten times what the defaults took
  Span at = {};           // of the kernel, for messages
  /// Runs the script with these values.
  std::function<SharedCandidate(const KnobValues&)> load;
  /// Seconds that the model predicts; nothing where it cannot. Called where a choice has to be
  /// made, or for all with `predict_all`.
  std::function<std::optional<double>(const Candidate&)> predict;
  bool predict_all = false;
  std::function<bool()> stop = [] { return false; };
  std::function<void(const Tried&)> tried = [](const Tried&) {};  // called for each, at its end
  std::function<void()> idle = [] {};                             // called often
  std::function<void(const std::string&)> note = [](const std::string&) {};  // for the user
};

/// What all candidates are measured against gives wrong results.
class WrongDefault : public Error {
 public:
  using Error::Error;
};

class Tuner {
 public:
  /// `base`: what all trials have in common, without their places. `path`: of the database.
  Tuner(Trial base, const std::string& path, TunerOptions options);

  void add(std::unique_ptr<Bench> bench) { benches_.push_back(std::move(bench)); }

  /// Searches until nothing is left, `most` were measured, or stop() holds. Fails `no-worker` when
  /// no bench is left; with the bench's code where the only bench cannot measure the defaults;
  /// WrongDefault; as Database does.
  void search();

  /// Times a combination once more at the place of `t`, without comparing results; nothing where it
  /// does not work, or `stop` holds.
  std::optional<Trial> timed(const Trial& t, const std::function<bool()>& stop);
  /// Records trials of timed(), all of them or none.
  void record(const std::vector<Trial>& all);

  /// Whether all combinations were tried.
  bool tried_all() const { return search_.tried_all(); }
  const Search& state() const { return search_; }
  const Counts& counts() const { return counts_; }
  const std::vector<Tried>& history() const { return history_; }
  /// By device. The defaults' last trials, and the best ones.
  const std::map<std::string, Trial>& defaults() const { return defaults_; }
  const std::map<std::string, Trial>& best() const { return best_; }
  Database& database() { return database_; }
  /// Trials of these values on that device, at these sizes, in the order of the database.
  std::vector<const Trial*> known(const KnobValues& values, const std::string& device) const;

 private:
  /// A combination whose turn it is.
  struct Slot {
    std::size_t number = 0;
    SharedCandidate candidate;
    Bench* bench = nullptr;  // that measures it
    bool elsewhere = false;  // another process measures it
    std::string claim = {};  // that this process has
    std::optional<Trial> done = {};
  };
  static constexpr std::size_t kMostSlots = 64;  // where other processes have some of them

  bool stop() const { return options_.stop(); }
  bool propose();
  void look_at(const SharedCandidate& c);
  bool full() const;
  bool left_to_model(const Candidate& c) const;
  SharedCandidate loaded(const KnobValues& values);
  SharedCandidate with_prediction(SharedCandidate c) const;
  void commit();
  void assign();
  bool ready(Bench& bench);
  bool begin(Slot& slot, Bench& bench, bool as_default);
  void give_back(Slot& slot);
  void wait();
  void take_answers();
  void take_answer(Bench& bench, const Answer& a);
  void take_default(Bench& bench, const Trial& t, const Answer& a);
  void set_default(const Trial& t);
  void drop(const Bench& bench, const std::string& why);
  void refresh();
  void end(Slot& slot, const Trial& t, bool known);
  void report(const Candidate& c, const Trial& t, bool known);
  void lead(const SharedCandidate& c, const Trial& t);
  const Trial* known_default(const std::string& device) const;
  const Trial* recorded(const KnobValues& values) const;
  double relative(const Trial& t) const;
  Trial trial_of(const Candidate& c, const Place& place, const Answer& a) const;

  Trial base_;
  TunerOptions options_;
  Database database_;
  Claims claims_;
  Search search_;
  std::vector<std::unique_ptr<Bench>> benches_;
  std::vector<Trial> trials_;  // of the kernel, script, target and sizes, as the database has them
  std::int64_t last_ = 0;      // number of the last trial that was read
  std::map<std::string, std::vector<std::size_t>> by_values_;  // of `trials_`, in their order
  std::map<std::string, SharedCandidate> looked_at_;           // until their turn
  std::deque<Slot> slots_;                                     // in the order of proposals
  std::vector<Slot> baselines_;  // the defaults, on devices whose times of them are not known
  std::size_t next_number_ = 1;
  SharedCandidate of_defaults_;
  std::map<std::string, Trial> defaults_, best_;
  std::optional<Place> home_;                       // where what is refused is recorded
  std::map<const Bench*, bool> prepared_;           // know the leader
  std::map<std::string, SharedCandidate> leaders_;  // by device
  bool default_known_ = false;
  std::vector<double> ratios_;  // sorted: of relative costs to predictions, as they were committed
  double least_ = 1;            // relative cost of the best, as they were committed
  Counts counts_;
  std::vector<Tried> history_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace moonloop::tuning
