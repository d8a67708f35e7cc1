#pragma once
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tuning/search.h"
#include "tuning/trial.h"

/// Where combinations are measured.
namespace moonloop::tuning {

/// What a script made: the business of those who run it and of the benches.
struct Made {
  virtual ~Made() = default;
};

/// A combination whose script has run.
struct Candidate {
  std::vector<Choice> knobs;   // as the script declared them; all until it ended
  Status status = Status::Ok;  // Refused, Failed: there is nothing to measure
  std::string reason = {};     // why, one line
  std::shared_ptr<const Made> made = {};
  std::optional<double> predicted = {};  // seconds, by the model
};
using SharedCandidate = std::shared_ptr<const Candidate>;

/// What times of a bench are times of.
struct Place {
  std::string device, compiler, flags, version;
};

struct Job {
  std::size_t number = 0;
  SharedCandidate candidate;
  bool verify = true;  // else it is timed alone
};

/// What came of a job.
struct Answer {
  std::size_t number = 0;
  Status status = Status::Ok;
  std::vector<double> times = {};                 // seconds, in order; at least one if it is Ok
  std::string code = {}, reason = {}, hint = {};  // why it is not Ok; the code of a diagnostic
  /// Whether it was faster than the leader, timed by turns with it; nothing where it was not.
  std::optional<bool> better = {};
};

/// Measures one combination at a time on one device, and prepares others meanwhile. No call waits.
class Bench {
 public:
  virtual ~Bench() = default;
  /// For messages.
  virtual std::string name() const = 0;
  /// Null until it is known.
  virtual const Place* place() const = 0;
  /// How many more jobs it takes.
  virtual std::size_t room() const = 0;
  virtual void take(const Job& job) = 0;
  /// Ends all jobs, without answers.
  virtual void cancel() = 0;
  /// The best so far, with which those that seem to be faster are timed by turns.
  virtual void lead(const SharedCandidate& best, double seconds) = 0;
  /// Seconds that a compilation or a run may take from now on.
  virtual void limit(double seconds) = 0;
  /// Files that have something to read when there may be news.
  virtual std::vector<int> files() const = 0;
  /// All answers since the last call. What is on its way goes on in this call.
  virtual std::vector<Answer> answers() = 0;
  /// Whether the search goes on without it where it fails.
  virtual bool spare() const { return false; }
  /// Why it takes and answers nothing any more; nothing while it does.
  virtual std::optional<std::string> failed() const { return std::nullopt; }
};

}  // namespace moonloop::tuning
