#pragma once
#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/options.h"
#include "tuning/trial.h"

/// The way from a command to the tuned values of its knobs.
namespace moonloop::cli {

/// Looks into the database when the first knob is declared that has no value on the command line,
/// so that commands without knobs do not open it.
///
/// The values are those of one trial: never of several, whose values were not measured together.
/// Where some knobs have values on the command line, it is a trial that had the same. A command
/// about several kernels has no tuned values.
class TunedValues {
 public:
  explicit TunedValues(const Common& common) : c_(common) {}

  /// What the lookup is about; before any script runs.
  void set_kernels(const std::vector<Kernel>& all);
  /// A script makes them, the first one of the scripts.
  void set_made() { made_ = c_.kernels.size() <= 1; }
  /// All scripts that make or transform them, in order.
  void set_scripts(std::vector<std::string> texts) { texts_ = std::move(texts); }

  /// Fails as Database and device_name(), with a hint at --no-db.
  std::optional<KnobValues> find();
  /// Tells on standard error which values are tuned ones, or why none are; after all scripts.
  void tell(const Knobs& knobs) const;

  /// Hashes, see tuning/hashes.h; the kernel's is empty where the command is about several.
  std::string kernel_hash() const;
  std::string script_hash() const;

 private:
  std::optional<KnobValues> look();
  tuning::Sizes sizes() const;

  const Common& c_;
  std::optional<Kernel> kernel_;  // the only one
  bool made_ = false;             // by a script
  std::vector<std::string> texts_;
  std::optional<tuning::Trial> trial_;
  std::string here_;                 // the device, where values are there for others alone
  std::vector<std::string> others_;  // these
};

/// --db, --no-db, --tuned-for.
void add_tuned_options(CLI::App& command, Common& common);
/// --db alone.
void add_database_option(CLI::App& command, Common& common);
/// --db, else the standard database. Fails `no-database` where there is no folder for that.
std::string database_path(const Common& common);

/// `n = 1024, m = 8`; `bi=64, way=rows`.
std::string sizes_text(const tuning::Sizes& sizes);
std::string knobs_text(const KnobValues& knobs);

}  // namespace moonloop::cli
