#pragma once
#include <CLI/CLI.hpp>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/line_reader.h"
#include "cli/options.h"
#include "runtime/runner.h"
#include "scripts/session.h"

/// The interactive program around a Session: its commands, its messages after each step, and runs
/// that can be stopped.
namespace moonloop::cli {

class Repl;

/// A row of the table that `:help`, completion and the reference are made from.
struct ReplCommand {
  std::string name;       // with its colon
  std::string arguments;  // as `:help` shows them
  std::string help;
  Takes takes;  // what completion offers after it
  void (*run)(Repl&, const std::vector<std::string>& words);
  bool needs_kernel = true;  // fails `no-kernel` without a current one, and `:help` leaves it out
};
const std::vector<ReplCommand>& repl_commands();

/// The result of a run in a child process.
struct Ran {
  std::string text;               // for the user; empty when it failed
  std::string error;              // rendered; empty when it did not
  std::optional<double> seconds;  // median, when timed
};

class Repl {
 public:
  Repl(const CLI::App& app, const Common& common, Session& session, bool interactive, bool color);

  /// Reads and does until the input ends or `:quit`.
  void loop(LineReader& in);
  /// Runs a script before the first line; false when it fails, and says why.
  bool open_first(const std::string& path);
  Completion complete(const std::string& line, std::size_t cursor) const;

  // Used by the commands.

  /// The result of a command, on standard output.
  void show(const std::string& text) const;
  /// Further notes for the user, on standard error.
  void say(const std::string& text) const;
  /// An error, also under --quiet.
  void complain(const std::string& text) const;
  /// Reports what each step of `outcome` did, or why it failed.
  void tell(const Outcome& outcome);
  void explain(const Failure& failure);
  /// The exit status when not interactive: kError when some line failed, kCompiler when only
  /// compilers and devices did, else kDifference when a run differed from the interpreter.
  Status status() const { return interactive_ ? kDone : worst_; }
  Ran run(const Kernel& k, bool verify, bool time);
  /// Adds `n=64` to the values of scalars for this run and later ones. Fails `bad-command`,
  /// `unknown-parameter`, `bad-value`.
  void set_value(const std::string& command, const std::string& word);
  void remember_time(const KernelPtr& k, double seconds) { seconds_[k] = seconds; }
  void forget_times() { seconds_.clear(); }
  bool quiet() const { return common_.quiet; }
  void open(const std::string& path);
  std::string help(const std::string& name) const;
  void quit() { over_ = true; }

  Session& session;
  Target target = Target::C;
  int device = -1;
  double tolerance = kToleranceFactor;
  GivenValues values;  // of scalars
  bool timing = false;
  const bool color;

 private:
  void accept(const std::string& line);
  void require_value(const std::string& name, const std::string& value) const;
  void failed(Status how);
  void command(const std::string& line);
  std::string prompt() const;
  std::string step_line(int number, const std::vector<Change>& changes, bool measure);
  std::string effect(const Change& change);

  const CLI::App& app_;
  const Common& common_;
  const bool interactive_;
  bool over_ = false;
  Status worst_ = kDone;
  std::map<KernelPtr, double> seconds_;  // measured so far, with the present settings
};

}  // namespace moonloop::cli
