#pragma once
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/diagnostic.h"
#include "core/model/knob_value.h"

/// Knobs: values that scripts leave open, `local bi = lp.knob("bi", {16, 32, 64}, {default = 32})`.
///
/// All scripts of a command share one `Knobs`, so that a name means one thing in all of them. Each
/// knob gets its value where it is declared: the one that the command line gives, else the tuned
/// one, else its default.
namespace moonloop {

enum class KnobOrigin { CommandLine, Database, Default };
/// "command line", "database", "default".
std::string to_string(KnobOrigin from);

struct Knob {
  std::string name;
  std::vector<Value> values;  // at least one, distinct, of one type
  Value fallback;             // one of them
  Value chosen = {};          // one of them
  KnobOrigin from = KnobOrigin::Default;
  Span at = {};
};

class Knobs {
 public:
  using Given = std::vector<std::pair<std::string, std::string>>;  // name, value as text
  using Tuned = std::function<std::optional<KnobValues>()>;

  Knobs() = default;
  /// `tuned` is called at most once, when the first knob is declared that `given` does not have.
  /// Fails `repeated-parameter` for a name that is given twice.
  explicit Knobs(Given given, Tuned tuned = {});

  /// Adds a knob, whose `chosen` and `from` do not count, and returns its value. Fails
  /// `unlisted-value` where the given one is none of its values, `knob-redeclared` where it was
  /// declared with other values or another default.
  Value declare(Knob k);
  /// From now on, declarations replace those before: another line of a session.
  void begin_again() { current_ = all_.size(); }

  /// In the order of their first declarations.
  const std::vector<Knob>& all() const { return all_; }
  const Given& given() const { return given_; }
  /// Tuned values that were not used: knobs whose lists do not have them.
  const KnobValues& unlisted() const { return unlisted_; }
  /// Fails `unknown-knob` for a given one that no script has declared.
  void require_declared() const;

 private:
  void choose(Knob& k);

  Given given_;
  Tuned tuned_;
  std::optional<std::optional<KnobValues>> tuned_values_;  // none: not asked for yet
  KnobValues unlisted_;
  std::vector<Knob> all_;
  std::size_t current_ = 0;  // knobs from here on are of the present run
};

/// Comments for a script that is made of the values: `-- knob bi = 64 (of 16, 32, 64; …)`.
std::string knob_comments(const Knobs& knobs);

}  // namespace moonloop
