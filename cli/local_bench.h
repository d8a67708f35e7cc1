#pragma once
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "cli/candidate.h"
#include "tuning/bench.h"

namespace moonloop::cli {

struct LocalBenchOptions {
  RunRequest request;         // target, sizes, device
  std::size_t processes = 1;  // that compile at the same time
  double limit = 0;           // seconds that each may take; 0: what limit() says
  double memory = 0;  // bytes that each may take; 0: nine tenths of what is available, any on
                      // devices
};

/// As many processes as the machine has processors less one, at least one.
std::size_t compiling_processes();

/// This machine. Candidates are compiled in processes beside the one in which one at a time is
/// measured; all of them have limits. A candidate that seems to be faster than the leader is timed
/// twice more, by turns with it. Tunings on one machine measure by turns, too.
class LocalBench : public tuning::Bench {
 public:
  LocalBench(tuning::Place place, LocalBenchOptions options);
  ~LocalBench() override;

  std::string name() const override { return "this machine"; }
  const tuning::Place* place() const override { return &place_; }
  std::size_t room() const override;
  void take(const tuning::Job& job) override;
  void cancel() override;
  void lead(const tuning::SharedCandidate& best, double seconds) override;
  void limit(double seconds) override { limit_ = seconds; }
  std::vector<int> files() const override;
  std::vector<tuning::Answer> answers() override;

 private:
  using Child = std::unique_ptr<ChildProcess>;
  struct Item {
    tuning::Job job;
    Child compiling = nullptr;
    bool compiled = false;
  };
  /// The one that is measured.
  struct Measured {
    tuning::Job job;
    tuning::Answer answer;
    std::deque<tuning::SharedCandidate> turns;  // to come
    tuning::SharedCandidate now;
    Child child;
    std::vector<double> own, of_leader;  // of the turns after the first
    tuning::SharedCandidate leader;
  };

  double time_limit() const { return options_.limit > 0 ? options_.limit : limit_; }
  ChildLimits limits(bool gives_way) const;
  void start_compiling();
  void look_at_compiled(std::vector<tuning::Answer>& out);
  bool has_turn();
  void give_turn();
  bool begin_measuring();
  void begin_run(const tuning::SharedCandidate& c, bool verify);
  bool run_ended(const tuning::Answer& a);

  const tuning::Place place_;
  const LocalBenchOptions options_;
  double limit_ = 0;
  std::deque<Item> items_;
  std::unique_ptr<Measured> measured_;
  tuning::SharedCandidate leader_;
  double leader_seconds_ = 0;
  int turn_ = -1;  // a file that is locked while something is measured
  std::chrono::steady_clock::time_point asked_{};  // since when the turn is another tuning's
};

}  // namespace moonloop::cli
