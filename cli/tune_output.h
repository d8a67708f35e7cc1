#pragma once
#include <string>
#include <vector>

#include "tuning/tuner.h"

/// What `moonloop tune` says.
namespace moonloop::cli {

enum class TuneEnding { All, Trials, Time, Interrupt };

/// The best and the defaults on one device.
struct TunedDevice {
  tuning::Trial of_default, best;
  bool compared = false;    // the two in one run, by turns
  std::string script = {};  // the best one's, for the report
  double speed_up() const { return of_default.median() / best.median(); }
};

struct TuneResult {
  tuning::Trial base;  // kernel, target, sizes; device where nothing was measured
  tuning::Counts counts;
  TuneEnding ending = TuneEnding::All;
  std::vector<TunedDevice> devices;  // by name
};

std::string tune_text(const TuneResult& r);
/// The page of --report. `scripts`: names and texts of what declares the knobs.
std::string tune_report(const TuneResult& r, const std::vector<tuning::Tried>& history,
                        const std::vector<std::pair<std::string, std::string>>& scripts);
std::string tune_json(const TuneResult& r);

struct TuneProgress {
  tuning::Counts counts;
  std::size_t expected = 0;
  double best = 0;            // seconds; 0: none yet
  double gone = 0, left = 0;  // seconds, until the end of the time
};
/// One line: the best so far, the rate, the time that is left.
std::string progress_text(const TuneProgress& p);

/// `--knob bi=64 --knob way=rows`, quoted for the shell.
std::string knob_options(const KnobValues& values);

}  // namespace moonloop::cli
