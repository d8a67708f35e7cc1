#pragma once
#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cli/worker.h"
#include "tuning/bench.h"

namespace moonloop::cli {

/// A worker that a command starts, here or on another machine: `--launch`. It fails when the worker
/// ends, writes what is no reply, or is silent for long; the search goes on without it then.
class RemoteBench : public tuning::Bench {
 public:
  /// `command` is for the shell. Fails `cannot-start`, where there is no shell.
  RemoteBench(std::size_t number, std::string command, const tuning::WorkerTask& task);
  /// Ends the worker's input, and then the worker.
  ~RemoteBench() override;
  RemoteBench(const RemoteBench&) = delete;
  RemoteBench& operator=(const RemoteBench&) = delete;

  std::string name() const override;
  const tuning::Place* place() const override { return place_ ? &*place_ : nullptr; }
  std::size_t room() const override;
  void take(const tuning::Job& job) override;
  void cancel() override;
  void lead(const tuning::SharedCandidate& best, double seconds) override;
  void limit(double seconds) override;
  std::vector<int> files() const override;
  std::vector<tuning::Answer> answers() override;
  bool spare() const override { return true; }
  std::optional<std::string> failed() const override { return failure_; }

 private:
  using Clock = std::chrono::steady_clock;

  void say(tuning::WorkerOrder order, const tuning::Candidate* c);
  void flush();
  void read();
  void take_reply(const std::string& line, std::vector<tuning::Answer>& out);
  void look_at_silence();
  void fail_with(const std::string& why);
  std::string ending();

  const std::size_t number_;
  const std::string command_;
  double task_limit_ = 0, limit_ = 0;
  int child_ = -1, to_ = -1, from_ = -1;
  std::string to_write_, have_;
  bool ended_ = false;  // its output
  std::optional<tuning::Place> place_;
  std::size_t room_ = 0;
  std::set<std::size_t> open_;                          // jobs
  std::set<std::pair<std::size_t, std::string>> sent_;  // files, by script and path
  std::size_t first_script_ = 1;  // the number of the first one in the task: 0 is the input
  Clock::time_point heard_ = Clock::now();
  std::optional<std::string> failure_;
};

}  // namespace moonloop::cli
