#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/base/source.h"
#include "core/model/knob_value.h"

/// What tuning measures and keeps: one trial of a kernel with one choice of its script's knobs.
namespace moonloop::tuning {

/// Ok: it ran, and its results are right. Failed: a compiler, a device or the run gave up, or took
/// too long. Refused: a step of the script is not legal with these values. Wrong: results differ.
enum class Status { Ok, Failed, Refused, Wrong };
std::string to_string(Status s);

/// Sizes by parameter: the integer scalars that the kernel was called with.
using Sizes = std::map<std::string, std::int64_t>;

struct Trial {
  std::string kernel;  // its hash, see hashes.h
  std::string name;    // the kernel's, for people
  std::string script;  // the hash of what transforms it
  KnobValues knobs;
  std::string target, device;  // as `--target` and device_name() have it
  std::string compiler, flags;
  Sizes sizes;
  std::vector<double> times;  // seconds, of each repeat, in order; at least one if it is Ok
  Status status = Status::Ok;
  std::string reason;   // why it is not Ok, one line
  std::string version;  // of Moonloop
  std::string date;     // UTC, `2026-11-28T12:00:00Z`

  /// Of the times, in seconds; the mean of the middle two for an even number. None: infinite.
  double median() const;
};

/// The present time as `Trial::date` has it.
std::string utc_date();
/// Days before now, in the same form.
std::string utc_date_before(double days);

/// A trial as one line of JSON, members in alphabetical order, without the line's end. Equal trials
/// have equal lines.
std::string to_json_line(const Trial& t);

/// The trials of JSON lines; blank ones do not count. Fails `bad-trial`, with each mistake at its
/// line and column, at most kMostMistakes of them: JSON that is torn, members that are unknown,
/// missing, there twice or not of their kind.
std::vector<Trial> parse_trials(const Source* source);
constexpr std::size_t kMostMistakes = 20;

}  // namespace moonloop::tuning
