#include "tuning/database.h"

#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <tuple>

#include "core/base/diagnostic.h"
#include "runtime/cache.h"
#include "runtime/sha256.h"

namespace moonloop::tuning {
namespace {

namespace fs = std::filesystem;

constexpr int kApplication = 0x4d4c5475;  // "MLTu", in the file's header

constexpr const char* kTables = R"(
CREATE TABLE trials(
  id INTEGER PRIMARY KEY,
  digest TEXT NOT NULL UNIQUE,  -- of the line of JSON
  kernel TEXT NOT NULL, name TEXT NOT NULL, script TEXT NOT NULL,
  target TEXT NOT NULL, device TEXT NOT NULL,
  status TEXT NOT NULL, version TEXT NOT NULL, date TEXT NOT NULL,
  trial TEXT NOT NULL           -- all of it, a line of JSON
) STRICT;
CREATE INDEX trials_by_kernel ON trials(kernel, script, target, device, status);
)";

/// An open file that is bigger than the limit of the process ends it by a signal, unless that is
/// ignored; then writing fails as on a full disk.
class IgnoreFileLimit {
 public:
  IgnoreFileLimit() {
    struct sigaction ignore {};
    ignore.sa_handler = SIG_IGN;
    ::sigaction(SIGXFSZ, &ignore, &before_);
  }
  ~IgnoreFileLimit() { ::sigaction(SIGXFSZ, &before_, nullptr); }
  IgnoreFileLimit(const IgnoreFileLimit&) = delete;
  IgnoreFileLimit& operator=(const IgnoreFileLimit&) = delete;

 private:
  struct sigaction before_ {};
};

}  // namespace

/// The connection, and SQLite's errors as ours.
struct Database::File {
  std::string path;
  sqlite3* db = nullptr;
  int wait = kWait;

  ~File() { sqlite3_close_v2(db); }

  /// The system's last error on the database or its journal; 0: none that is known.
  int system_error() const {
    if (!db) return 0;
    int on_file = 0, on_journal = 0;
    sqlite3_file_control(db, "main", SQLITE_FCNTL_LAST_ERRNO, &on_file);
    sqlite3_file* journal = nullptr;
    sqlite3_file_control(db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &journal);
    if (journal && journal->pMethods)
      journal->pMethods->xFileControl(journal, SQLITE_FCNTL_LAST_ERRNO, &on_journal);
    return on_file != 0 ? on_file : on_journal != 0 ? on_journal : sqlite3_system_errno(db);
  }

  [[noreturn]] void fail_with(int status) const {
    const int reason = status & 0xff;
    const int system = system_error();
    const std::string why = db ? sqlite3_errmsg(db) : sqlite3_errstr(status);
    if (reason == SQLITE_FULL ||
        (reason == SQLITE_IOERR && (system == ENOSPC || system == EDQUOT || system == EFBIG)))
      throw Error(Diagnostic{
          "database-full",
          fmt::format("no space to write to the database `{}`; nothing in it has changed", path),
          {},
          {},
          "`moonloop db prune` makes room in it"});
    if (reason == SQLITE_BUSY)
      throw Error(
          Diagnostic{"database-busy",
                     fmt::format("another process has had the database `{}` for {} s", path, wait),
                     {},
                     {},
                     {}});
    if (reason == SQLITE_NOTADB || reason == SQLITE_CORRUPT)
      throw Error(Diagnostic{"not-a-database",
                             fmt::format("`{}` is not a database of trials: {}", path, why),
                             {},
                             {},
                             {}});
    throw Error(Diagnostic{
        "database-failed",
        fmt::format("cannot use the database `{}`: {}{}", path, why,
                    system != 0 ? fmt::format(" ({})", std::strerror(system)) : std::string()),
        {},
        {},
        {}});
  }

  void check(int status) const {
    if (status != SQLITE_OK) fail_with(status);
  }
  void run(const char* sql) const { check(sqlite3_exec(db, sql, nullptr, nullptr, nullptr)); }
};

namespace {

/// A prepared statement.
class Statement {
 public:
  template <class File>
  Statement(const File& file, const std::string& sql) {
    const int status = sqlite3_prepare_v2(file.db, sql.c_str(), -1, &statement_, nullptr);
    if (status != SQLITE_OK) file.fail_with(status);
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  void bind(int index, std::string_view text) {
    sqlite3_bind_text(statement_, index, text.data(), static_cast<int>(text.size()),
                      SQLITE_TRANSIENT);
  }
  /// Whether there is one more row.
  template <class File>
  bool step(const File& file) {
    const int status = sqlite3_step(statement_);
    if (status != SQLITE_ROW && status != SQLITE_DONE) file.fail_with(status);
    return status == SQLITE_ROW;
  }
  void reset() { sqlite3_reset(statement_); }
  std::string text(int column) const {
    const void* bytes = sqlite3_column_blob(statement_, column);
    const int size = sqlite3_column_bytes(statement_, column);
    return bytes ? std::string(static_cast<const char*>(bytes), static_cast<std::size_t>(size))
                 : std::string();
  }
  int number(int column) const { return sqlite3_column_int(statement_, column); }

 private:
  sqlite3_stmt* statement_ = nullptr;
};

template <class File>
int number_of(const File& file, const std::string& sql) {
  Statement s(file, sql);
  return s.step(file) ? s.number(0) : 0;
}

/// A transaction for writing, from the start, so that no two wait for each other; undone unless it
/// was committed.
template <class File>
class Transaction {
 public:
  explicit Transaction(const File& file) : file_(file) { file_.run("BEGIN IMMEDIATE"); }
  ~Transaction() {
    if (!done_) sqlite3_exec(file_.db, "ROLLBACK", nullptr, nullptr, nullptr);
  }
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit() {
    file_.run("COMMIT");
    done_ = true;
  }

 private:
  const IgnoreFileLimit limit_;
  const File& file_;
  bool done_ = false;
};

/// What `f` says as a condition in SQL, with the texts that it compares with.
std::pair<std::string, std::vector<std::string>> condition_of(const Filter& f) {
  std::string sql = "1";
  std::vector<std::string> values;
  const auto where = [&](const char* condition, const std::string& value) {
    if (value.empty()) return;
    sql += fmt::format(" AND {}", condition);
    values.push_back(value);
  };
  where("name = ?", f.name);
  where("substr(kernel, 1, length(?)) = ?", f.kernel);
  if (!f.kernel.empty()) values.push_back(f.kernel);
  where("substr(script, 1, length(?)) = ?", f.script);
  if (!f.script.empty()) values.push_back(f.script);
  where("target = ?", f.target);
  where("device = ?", f.device);
  if (f.status) where("status = ?", to_string(*f.status));
  if (f.only_failures) where("status <> ?", to_string(Status::Ok));
  where("version = ?", f.version);
  where("version <> ?", f.other_version);
  where("date < ?", f.before);
  return {std::move(sql), std::move(values)};
}

/// Trials of the lines, which this class wrote.
std::vector<Trial> trials_of(const std::string& path, const std::string& lines) {
  const Source source{path, lines, [&] {
                        std::vector<std::size_t> starts{0};
                        for (std::size_t i = 0; i < lines.size(); ++i)
                          if (lines[i] == '\n') starts.push_back(i + 1);
                        return starts;
                      }()};
  try {
    return parse_trials(&source);
  } catch (const Error& e) {  // the place is in no file
    fail("not-a-database", {}, "`{}` has a trial that is damaged: {}", path, e.diagnostic().text);
  }
}

/// Makes the folder of the file; only its owner may write there.
void make_folder_of(const std::string& path) {
  const fs::path folder = fs::path(path).parent_path();
  std::error_code none;
  if (folder.empty() || fs::is_directory(folder, none)) return;
  if (fs::create_directories(folder, none)) fs::permissions(folder, fs::perms::owner_all, none);
}

double log_of(std::int64_t n) {
  return std::log(static_cast<double>(std::max<std::int64_t>(n, 1)));
}

}  // namespace

std::string standard_database() {
  const std::string folder = Cache::standard().folder();
  return folder.empty() ? folder : folder + "/tuning/trials.db";
}

double size_distance(const Sizes& a, const Sizes& b) {
  double sum = 0;
  for (const auto& [name, n] : a)
    if (const auto it = b.find(name); it != b.end())
      sum += std::abs(log_of(n) - log_of(it->second));
  return sum;
}

std::optional<Trial> best_of(const std::vector<Trial>& all, const Query& q) {
  const auto matches = [&](const Trial& t) {
    return t.kernel == q.kernel && t.script == q.script && t.target == q.target &&
           t.device == q.device && t.status == Status::Ok && (q.name.empty() || t.name == q.name) &&
           std::all_of(q.fixed.begin(), q.fixed.end(), [&](const auto& fixed) {
             const auto it = t.knobs.find(fixed.first);
             return it != t.knobs.end() && knob_text(it->second) == fixed.second;
           });
  };
  std::map<std::pair<Sizes, std::string>, const Trial*> last;
  const auto combination = [](const Trial& t) {
    std::string knobs;
    for (const auto& [name, value] : t.knobs) knobs += name + "=" + to_lua(value) + "\n";
    return std::pair(t.sizes, knobs);
  };
  for (const Trial& t : all)
    if (matches(t)) last[combination(t)] = &t;
  const Trial* best = nullptr;
  std::tuple<double, double, Sizes, double> best_rank;  // smaller is better
  for (const Trial& t : all) {
    if (!matches(t) || last[combination(t)] != &t) continue;
    double largeness = 0;
    for (const auto& [name, n] : t.sizes) largeness += log_of(n);
    std::tuple<double, double, Sizes, double> rank{size_distance(q.sizes, t.sizes), -largeness,
                                                   t.sizes, t.median()};
    if (best && !(rank < best_rank)) continue;
    best_rank = std::move(rank);
    best = &t;
  }
  return best ? std::optional(*best) : std::nullopt;
}

Database::Database(const std::string& path, Mode mode, int wait) : file_(std::make_unique<File>()) {
  file_->path = path;
  file_->wait = wait;
  const bool write = mode == Mode::Write;
  std::error_code none;
  if (!write && !fs::exists(path, none)) fail("no-database", {}, "there is no database `{}`", path);
  if (write) make_folder_of(path);
  const IgnoreFileLimit limit;
  const int flags = SQLITE_OPEN_READWRITE | (write ? SQLITE_OPEN_CREATE : 0);
  // A name that begins with a colon means memory to SQLite.
  file_->check(sqlite3_open_v2((path.starts_with(":") ? "./" + path : path).c_str(), &file_->db,
                               flags, nullptr));
  sqlite3_extended_result_codes(file_->db, 1);
  sqlite3_busy_timeout(file_->db, wait * 1000);
  // A commit is on the disk when it returns, the end of its journal included.
  file_->run("PRAGMA synchronous = EXTRA");
  const auto is_new = [&] {
    return number_of(*file_, "SELECT count(*) FROM sqlite_schema") == 0 &&
           number_of(*file_, "PRAGMA application_id") == 0 &&
           number_of(*file_, "PRAGMA user_version") == 0;
  };
  if (is_new()) {
    if (!write) return;
    Transaction t(*file_);
    if (is_new()) {  // still
      file_->run(kTables);
      file_->run(fmt::format("PRAGMA application_id = {}", kApplication).c_str());
      file_->run(fmt::format("PRAGMA user_version = {}", kSchema).c_str());
    }
    t.commit();
  }
  if (number_of(*file_, "PRAGMA application_id") != kApplication)
    fail("not-a-database", {}, "`{}` is a database of something else than trials", path);
  const int version = number_of(*file_, "PRAGMA user_version");
  if (version != kSchema)
    throw Error(Diagnostic{
        "database-version",
        fmt::format("the database `{}` has version {} of its tables, and this Moonloop has {}; it "
                    "is neither read nor changed",
                    path, version, kSchema),
        {},
        {},
        "export it with the Moonloop that made it, and import that into another file"});
}

Database::Database(Database&&) noexcept = default;
Database::~Database() = default;

std::size_t Database::add(const std::vector<Trial>& all) {
  Transaction t(*file_);
  std::size_t added = 0;
  {
    Statement insert(*file_,
                     "INSERT INTO trials(digest, kernel, name, script, target, device, status, "
                     "version, date, trial) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
                     "ON CONFLICT(digest) DO NOTHING");
    for (const Trial& trial : all) {
      const std::string line = to_json_line(trial);
      int column = 0;
      for (const std::string& text :
           {sha256(line), trial.kernel, trial.name, trial.script, trial.target, trial.device,
            to_string(trial.status), trial.version, trial.date, line})
        insert.bind(++column, text);
      insert.step(*file_);
      insert.reset();
      added += static_cast<std::size_t>(sqlite3_changes(file_->db));
    }
  }
  t.commit();
  return added;
}

std::optional<Trial> Database::best(const Query& q) const {
  Filter f;
  f.kernel = q.kernel;
  f.script = q.script;
  f.name = q.name;
  f.target = q.target;
  f.device = q.device;
  f.status = Status::Ok;
  return best_of(list(f), q);
}

std::vector<std::string> Database::devices(const Query& q) const {
  std::vector<std::string> out;
  if (number_of(*file_, "SELECT count(*) FROM sqlite_schema") == 0) return out;
  Statement s(*file_,
              "SELECT DISTINCT device FROM trials WHERE kernel = ? AND script = ? AND target = ? "
              "AND status = 'ok' ORDER BY device");
  s.bind(1, q.kernel);
  s.bind(2, q.script);
  s.bind(3, q.target);
  while (s.step(*file_)) out.push_back(s.text(0));
  return out;
}

std::vector<Trial> Database::list(const Filter& f) const {
  std::int64_t last = 0;
  return added_after(last, f);
}

std::vector<Trial> Database::added_after(std::int64_t& last, const Filter& f) const {
  if (number_of(*file_, "SELECT count(*) FROM sqlite_schema") == 0) return {};
  const auto [condition, values] = condition_of(f);
  Statement s(*file_, fmt::format("SELECT trial, id FROM trials WHERE id > {} AND {} ORDER BY id",
                                  last, condition));
  int index = 0;
  for (const std::string& v : values) s.bind(++index, v);
  std::string lines;
  while (s.step(*file_)) {
    lines += s.text(0) + "\n";
    last = std::stoll(s.text(1));
  }
  return trials_of(file_->path, lines);
}

std::size_t Database::prune(const Filter& f) {
  Transaction t(*file_);
  const auto [condition, values] = condition_of(f);
  {
    Statement s(*file_, "DELETE FROM trials WHERE " + condition);
    int index = 0;
    for (const std::string& v : values) s.bind(++index, v);
    s.step(*file_);
  }
  const auto removed = static_cast<std::size_t>(sqlite3_changes(file_->db));
  t.commit();
  return removed;
}

}  // namespace moonloop::tuning
