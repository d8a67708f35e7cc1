#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tuning/trial.h"

/// The trials of all tuning runs, in one SQLite file that processes share.
///
/// Input: trials. Output: the best one for a kernel, a target, a device and a size. Entry points:
/// Database::record(), Database::best().
///
/// A trial that record() or add() returned from is in the file: it survives the end of the process
/// at any time. A transaction that is cut off, by a signal or a full disk, leaves the file as it
/// was before. The file has a rollback journal and not a write-ahead log, so that folders on
/// network file systems, which have no shared memory, can hold it.
namespace moonloop::tuning {

/// `$XDG_CACHE_HOME/moonloop/tuning/trials.db`, next to the compile cache's entries; empty when
/// there is no folder (see Cache::standard()).
std::string standard_database();

struct Query {
  std::string kernel, script;  // hashes
  std::string name;            // of the kernel; empty: any
  std::string target, device;
  Sizes sizes;                               // empty: the largest ones that are there
  std::map<std::string, std::string> fixed;  // values of knobs that it has to have, as knob_text()
};

/// How far sizes are apart: the sum of |log(a / b)| over the parameters that both have, where
/// numbers below 1 count as 1.
double size_distance(const Sizes& a, const Sizes& b);

/// Of the trials that are Ok and match the query: those whose sizes are nearest, of these the
/// largest sizes, of these the least median of times, of these the first one. Never another
/// device's. Of several with the same knobs and sizes, the last one counts: what was measured again
/// may have been lucky before.
std::optional<Trial> best_of(const std::vector<Trial>& all, const Query& q);

/// Which trials `list` gives and `prune` removes: those that match all of what is told.
struct Filter {
  std::string name;                    // of the kernel
  std::string kernel, script;          // the hashes, or how they begin
  std::string target, device;          // equal
  std::optional<Status> status;        // this one
  bool only_failures = false;          // any but Ok
  std::string version, other_version;  // equal, not equal
  std::string before;                  // a date, see Trial::date
};

class Database {
 public:
  static constexpr int kWait = 60;  // seconds
  enum class Mode { Read, Write };  // Write makes the file and its folder when they are not there

  /// Fails `no-database` where there is no file to read, `not-a-database` for a file of something
  /// else or a damaged one, `database-version` for one of another Moonloop's schema,
  /// `database-failed` when the system does not let it.
  Database(const std::string& path, Mode mode, int wait = kWait);
  Database(Database&&) noexcept;
  ~Database();

  /// Adds a trial; one that is equal in all members is there once. Waits up to `wait` seconds for
  /// other writers. Fails `database-full`, `database-busy`, `database-failed`; then nothing
  /// changed.
  void record(const Trial& t) { add({t}); }
  /// Adds all of them or none; how many were not there yet. Fails as record().
  std::size_t add(const std::vector<Trial>& all);

  /// best_of() all trials. Cost: reads those of that kernel, script, target and device.
  std::optional<Trial> best(const Query& q) const;
  /// Devices that have trials which are Ok, of that kernel, script and target, by name.
  std::vector<std::string> devices(const Query& q) const;

  /// In the order in which they were added.
  std::vector<Trial> list(const Filter& f = {}) const;
  /// Those that were added after the trial number `last`, which becomes that of the last one; 0:
  /// all.
  std::vector<Trial> added_after(std::int64_t& last, const Filter& f = {}) const;
  /// Removes them in one transaction, and returns how many. Fails as record().
  std::size_t prune(const Filter& f);

  static constexpr int kSchema = 1;  // the version of the tables

 private:
  struct File;
  std::unique_ptr<File> file_;
};

}  // namespace moonloop::tuning
