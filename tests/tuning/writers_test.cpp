#include <fcntl.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <random>
#include <set>
#include <thread>

#include "tests/tuning/kit.h"

/// What other processes do to the file: write it at once, end in the middle, find no space.

using namespace moonloop;          // NOLINT
using namespace moonloop::test;    // NOLINT
using namespace moonloop::tuning;  // NOLINT
using Mode = Database::Mode;

namespace {

/// Runs `f` in a child process, whose exit status is its result.
template <class F>
pid_t in_process(F f) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    int status = 1;
    try {
      status = f();
    } catch (const std::exception& e) { std::fprintf(stderr, "child: %s\n", e.what()); }
    ::_exit(status);
  }
  return child;
}

int status_of(pid_t child) {
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// Those of all trials, in a file that is whole.
std::set<std::int64_t> knobs_in(const std::string& path) {
  std::set<std::int64_t> out;
  sqlite3* db = nullptr;
  sqlite3_stmt* check = nullptr;
  REQUIRE(sqlite3_open(path.c_str(), &db) == SQLITE_OK);
  REQUIRE(sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &check, nullptr) == SQLITE_OK);
  REQUIRE(sqlite3_step(check) == SQLITE_ROW);
  CHECK(std::string(reinterpret_cast<const char*>(sqlite3_column_text(check, 0))) == "ok");
  sqlite3_finalize(check);
  sqlite3_close(db);
  for (const Trial& t : Database(path, Mode::Read).list()) out.insert(bi_of(t));
  return out;
}

}  // namespace

TEST_CASE("writers: eight processes at once, each with a connection of its own or many") {
  const TuningFolder f;
  constexpr int kProcesses = 8, kTrials = 25;
  std::vector<pid_t> children;
  for (int c = 0; c < kProcesses; ++c)
    children.push_back(in_process([&] {
      std::optional<Database> kept;  // half of them open the file anew for each trial
      for (int i = 0; i < kTrials; ++i) {
        if (c % 2 == 1 || !kept) kept.emplace(f / "new/t.db", Mode::Write);
        kept->record(trial(c * kTrials + i, 64, 1));
        if (!kept->best(query(64))) return 1;  // a reader between the writers
      }
      return 0;
    }));
  for (const pid_t child : children) CHECK(status_of(child) == 0);
  CHECK(knobs_in(f / "new/t.db").size() == kProcesses * kTrials);
}

TEST_CASE("writers: what was reported is there after kill -9 at any moment") {
  const TuningFolder f;
  std::mt19937 random(1);
  std::set<std::int64_t> reported;
  std::int64_t next = 0;
  int killed = 0;
  for (int round = 0; round < 60; ++round) {
    int pipe[2];
    REQUIRE(::pipe(pipe) == 0);
    const pid_t child = in_process([&] {
      for (std::int64_t i = next;; ++i) {
        Database(f / "t.db", Mode::Write).record(trial(i, 64, 1));
        if (::write(pipe[1], &i, sizeof i) != sizeof i) return 1;
      }
    });
    ::close(pipe[1]);
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 100000));
    ::kill(child, SIGKILL);
    killed += status_of(child) == 128 + SIGKILL;
    for (std::int64_t i = 0; ::read(pipe[0], &i, sizeof i) == sizeof i;) {
      reported.insert(i);
      next = i + 1;
    }
    ++next;  // this one may be there without a report
    ::close(pipe[0]);
    if (!std::filesystem::exists(f / "t.db")) continue;
    const std::set<std::int64_t> there = knobs_in(f / "t.db");
    bool all = true;
    for (const std::int64_t i : reported) all = all && there.count(i) > 0;
    CHECK(all);
    CHECK(there.size() <= reported.size() + static_cast<std::size_t>(round) + 1);
  }
  CHECK(killed == 60);
  CHECK(reported.size() > 20);
}

TEST_CASE("writers: a limit on the file's size is an error, and nothing is torn") {
  const TuningFolder f;
  int pipe[2];
  REQUIRE(::pipe(pipe) == 0);
  const pid_t child = in_process([&] {
    Database db(f / "t.db", Mode::Write);
    const rlimit limit{128 << 10, 128 << 10};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    for (std::int64_t i = 0; i < 100000; ++i) {
      const std::string code = code_of([&] { db.record(trial(i, 64, 1)); });
      if (code == "database-full") {
        if (db.list().size() != static_cast<std::size_t>(i)) return 3;  // it goes on
        return 0;
      }
      if (!code.empty()) return 2;
      if (::write(pipe[1], &i, sizeof i) != sizeof i) return 4;
    }
    return 5;
  });
  ::close(pipe[1]);
  std::set<std::int64_t> reported;
  for (std::int64_t i = 0; ::read(pipe[0], &i, sizeof i) == sizeof i;) reported.insert(i);
  ::close(pipe[0]);
  CHECK(status_of(child) == 0);
  CHECK(reported.size() > 20);
  CHECK(knobs_in(f / "t.db") == reported);
  Database(f / "t.db", Mode::Write).record(trial(-1, 64, 1));  // without the limit
  CHECK(knobs_in(f / "t.db").size() == reported.size() + 1);
}

TEST_CASE("writers: many trials that do not fit are not added in part") {
  const TuningFolder f;
  Database(f / "t.db", Mode::Write).record(trial(-1, 64, 1));
  const pid_t child = in_process([&] {
    Database db(f / "t.db", Mode::Write);
    const rlimit limit{64 << 10, 64 << 10};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    std::vector<Trial> all;
    for (std::int64_t i = 0; i < 10000; ++i) all.push_back(trial(i, 64, 1));
    return code_of([&] { db.add(all); }) == "database-full" ? 0 : 1;
  });
  CHECK(status_of(child) == 0);
  CHECK(knobs_in(f / "t.db") == std::set<std::int64_t>{-1});
}

TEST_CASE("writers: a full disk is an error, and nothing is torn") {
  const TuningFolder f;
  const std::string disk = f / "disk";
  std::filesystem::create_directory(disk);
  if (::mount("none", disk.c_str(), "tmpfs", 0, "size=256k") != 0) {
    MESSAGE("no small disk: mounting is not allowed here");
    return;
  }
  std::set<std::int64_t> recorded;
  std::string code;
  for (std::int64_t i = 0; i < 100000 && code.empty(); ++i) {
    code = code_of([&] { Database(disk + "/t.db", Mode::Write).record(trial(i, 64, 1)); });
    if (code.empty()) recorded.insert(i);
  }
  CHECK(code == "database-full");
  CHECK(recorded.size() > 20);
  CHECK(knobs_in(disk + "/t.db") == recorded);
  CHECK(::umount(disk.c_str()) == 0);
}
