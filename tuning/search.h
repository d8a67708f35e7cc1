#pragma once
#include <cstdint>
#include <deque>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "core/model/knob_value.h"

/// Which values of knobs to try next, from what is known so far. Starts no process and runs no
/// script: the caller does, and tells what came of it.
///
///     while (const auto values = search.next()) {
///       if (!search.declared(run_script(*values))) continue;  // as one before
///       search.measured(seconds);                             // or search.refused()
///     }
///
/// Several combinations may be on their way at once: then what came of each is told with its knobs.
/// What is proposed depends on nothing but the order of the calls.
namespace moonloop::tuning {

/// A knob that a script has declared. One whose value is pinned has this value alone.
struct Choice {
  std::string name;
  std::vector<Value> values;  // at least one
  Value chosen;               // one of them
};

/// Begins with the defaults. Which knobs there are may depend on the values of others, so the
/// combinations are found by running the script: each run shows the knobs of one combination in the
/// order of their declarations, and each other value of one of them, after the same values of those
/// before it, begins another one. First come those that differ from the defaults in one knob, then
/// in two, and so on.
///
/// While it cannot be seen that there are more than `most` combinations, all of them are tried.
/// Else, after one change of each knob, an evolutionary search goes on: each combination is one of
/// the best, changed in a knob or two or crossed with another one. With a model that predicts
/// costs, `looks` combinations are looked at instead before the evolutionary search: changes of one
/// knob, and random ones; those that are predicted to be the best begin, half of `most` if there
/// are so many. The same calls with the same `seed` propose the same values.
class Search {
 public:
  Search(std::size_t most, std::uint64_t seed, std::size_t looks = 0)
      : most_(most), looks_(looks), random_(seed) {}

  /// Values for the next run of the script; knobs without one have their defaults. Nothing when all
  /// combinations were tried, or `most` were measured, or will be by those on their way.
  std::optional<KnobValues> next();
  /// Whether what next() gave last is to be looked at only: looked() instead of declared().
  bool looking() const { return looking_; }
  /// What the model says of it; nothing where it cannot, or the script was refused.
  void looked(const std::vector<Choice>& knobs, std::optional<double> predicted);
  /// The knobs that the script asked for with these values, in order; all until it was refused.
  /// False where this combination was there before.
  bool declared(const std::vector<Choice>& knobs);
  /// What it costs; infinite where it does not work. Ends the turn of the combination, as refused()
  /// and left_out() do, which do not count as one of `most`.
  void measured(const std::vector<Choice>& knobs, double cost);
  void measured(double cost) { measured(std::vector<Choice>(current_), cost); }
  void refused() { --turns_; }
  void left_out() { --turns_; }

  std::size_t measured_so_far() const { return measured_; }
  /// How many will be measured, as far as it can be seen.
  std::size_t expected() const;
  /// Whether there is no combination left.
  bool tried_all() const { return begun_ && open_.empty() && turns_ == 0; }
  /// Whether there are more than `most`, so that a choice has to be made.
  bool guided() const { return guided_; }

 private:
  struct Branch {  // combinations that have these values
    KnobValues values;
    std::size_t fixed = 0;  // how many knobs have theirs, in the order of declarations
  };
  struct Known {
    std::vector<Choice> knobs;
    double cost = 0;
  };

  KnobValues from_branch();
  std::optional<KnobValues> to_look_at();
  std::optional<KnobValues> evolved();
  const Known& one_of_the_best();
  const Value& other_value(const Choice& knob);
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_() % n); }

  struct Looked {
    KnobValues values;
    double predicted = 0;
  };

  std::size_t most_, looks_, measured_ = 0;
  std::size_t turns_ = 0;  // of combinations that are on their way
  std::mt19937_64 random_;
  bool begun_ = false;
  bool guided_ = false;               // there are more than `most_`
  std::size_t first_changes_ = 0;     // of `open_`, that come before the evolutionary search
  int in_vain_ = 0;                   // proposals in a row that were there before
  std::deque<Branch> open_;           // no combination is in two of them
  std::optional<std::size_t> fixed_;  // of the branch that next() gave; none: not of a branch
  std::set<std::string> seen_;        // combinations
  std::vector<Choice> current_;
  bool looking_ = false;
  std::size_t looked_first_ = 0, looked_ = 0;  // changes of the defaults; all
  std::set<std::string> looked_at_;            // combinations
  std::vector<std::vector<Choice>> shapes_;  // of those that were looked at: which knobs there are
  std::deque<Looked> ranked_;                // the best first, when all looks are done
  std::size_t from_ranked_ = 0;
  std::vector<Known> best_;  // the least cost first
};

/// Values of knobs by name.
KnobValues values_of(const std::vector<Choice>& knobs);

}  // namespace moonloop::tuning
