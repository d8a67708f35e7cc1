#include "tuning/database.h"

#include <sqlite3.h>

#include "tests/tuning/kit.h"

using namespace moonloop;          // NOLINT
using namespace moonloop::test;    // NOLINT
using namespace moonloop::tuning;  // NOLINT
using Mode = Database::Mode;

namespace {

/// Runs SQL on a file, past Moonloop.
void change(const std::string& path, const std::string& sql) {
  sqlite3* db = nullptr;
  REQUIRE(sqlite3_open(path.c_str(), &db) == SQLITE_OK);
  REQUIRE(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK);
  sqlite3_close(db);
}

}  // namespace

TEST_CASE("database: a trial comes back as it was recorded") {
  const TuningFolder f;
  Trial t = trial(64, 1024, 0.1);
  t.times = {0.1, 1.0 / 3, 1e-300};
  t.knobs["way"] = {std::string("a \"b\"\n\xc3\xa9")};
  t.knobs["fast"] = {true};
  t.sizes["m"] = -1;
  t.status = Status::Wrong;
  t.reason = "out[3] is 0";
  {
    Database db(f / "deep/folder/t.db", Mode::Write);
    db.record(t);
    db.record(trial(16, 8, 0.5));
  }
  const Database db(f / "deep/folder/t.db", Mode::Read);
  const std::vector<Trial> all = db.list();
  REQUIRE(all.size() == 2);
  CHECK(to_json_line(all[0]) == to_json_line(t));
  CHECK(all[0].times == t.times);
  CHECK(all[0].status == Status::Wrong);
  CHECK(to_json_line(all[1]) == to_json_line(trial(16, 8, 0.5)));
  CHECK(db.best(query(8))->times == std::vector<double>{0.5});
}

TEST_CASE("database: an equal trial is there once; all of several are added, or none") {
  const TuningFolder f;
  Database db(f / "t.db", Mode::Write);
  CHECK(db.add({trial(1, 8, 0.5), trial(2, 8, 0.5), trial(1, 8, 0.5)}) == 2);
  CHECK(db.add({trial(2, 8, 0.5), trial(2, 8, 0.25)}) == 1);
  CHECK(db.list().size() == 3);
}

TEST_CASE("database: the best is the fastest at the nearest size, on this device alone") {
  const TuningFolder f;
  Database db(f / "t.db", Mode::Write);
  CHECK_FALSE(db.best(query(1024)));
  db.add({trial(16, 64, 0.25), trial(32, 64, 0.125), trial(64, 4096, 2.0), trial(8, 4096, 3.0),
          trial(128, 1024, 0.0001, "there")});
  CHECK(bi_of(db.best(query(64))) == 32);
  CHECK(bi_of(db.best(query(4096))) == 64);
  CHECK(bi_of(db.best(query(100))) == 32);  // of 64: 1.56 times; of 4096: 41 times
  CHECK(bi_of(db.best(query(500))) == 32);  // 7.8 and 8.2
  CHECK(bi_of(db.best(query(513))) == 64);  // 8.02 and 7.98
  CHECK(bi_of(db.best(query(512))) == 64);  // as near: the larger one
  CHECK(bi_of(db.best(query(-5))) == 32);   // numbers below 1 count as 1
  CHECK(bi_of(db.best(query(1024, "there"))) == 128);
  CHECK_FALSE(db.best(query(1024, "elsewhere")));
  CHECK_FALSE(db.best(query(1024, "")));
  CHECK(db.devices(query(1)) == std::vector<std::string>{"here", "there"});
  Query any = query(0);
  any.sizes.clear();
  CHECK(bi_of(db.best(any)) == 64);  // no size: the largest one
  Query given = query(4096);
  given.fixed = {{"bi", "8"}};
  CHECK(bi_of(db.best(given)) == 8);
  given.fixed = {{"bi", "16"}};
  CHECK(bi_of(db.best(given)) == 16);  // at another size
  given.fixed = {{"bj", "16"}};
  CHECK_FALSE(db.best(given));
  for (const auto& change :
       {+[](Query& q) { q.kernel = std::string(64, 'c'); },
        +[](Query& q) { q.script = std::string(64, 'c'); }, +[](Query& q) { q.target = "openmp"; },
        +[](Query& q) { q.name = "other"; }}) {
    Query other = query(64);
    change(other);
    CHECK_FALSE(db.best(other));
  }
}

TEST_CASE("database: the distance of sizes is that of their ratios, over all parameters") {
  CHECK(size_distance({{"n", 8}}, {{"n", 8}}) == 0);
  CHECK(size_distance({{"n", 8}}, {{"n", 16}}) == doctest::Approx(std::log(2)));
  CHECK(size_distance({{"n", 8}, {"m", 4}}, {{"n", 4}, {"m", 16}}) ==
        doctest::Approx(3 * std::log(2)));
  CHECK(size_distance({{"n", 8}, {"m", 4}}, {{"n", 8}}) == 0);  // of both
  CHECK(size_distance({{"n", INT64_MIN}}, {{"n", 0}}) == 0);
}

TEST_CASE("database: of trials of the same values and sizes, the last one counts") {
  const TuningFolder f;
  Database db(f / "t.db", Mode::Write);
  db.add({trial(1, 64, 0.1), trial(2, 64, 0.2), trial(1, 64, 0.3)});
  CHECK(bi_of(db.best(query(64))) == 2);
  db.add({trial(1, 64, 0.15), trial(1, 128, 9)});
  CHECK(bi_of(db.best(query(64))) == 1);
  CHECK(db.best(query(64))->median() == 0.15);
}

TEST_CASE("database: only trials that are ok are best, by the median of their times") {
  const TuningFolder f;
  Database db(f / "t.db", Mode::Write);
  Trial wrong = trial(1, 64, 0.001), steady = trial(2, 64, 0), lucky = trial(3, 64, 0);
  wrong.status = Status::Wrong;
  steady.times = {0.5, 0.5, 0.5};
  lucky.times = {0.1, 0.9, 0.9, 0.1, 0.9};
  db.add({wrong, lucky, steady});
  CHECK(bi_of(db.best(query(64))) == 2);
  steady.times = {1, 3};
  CHECK(steady.median() == 2);
}

TEST_CASE("database: filters of lists, and pruning") {
  const TuningFolder f;
  Database db(f / "t.db", Mode::Write);
  Trial old = trial(1, 64, 0.5), failed = trial(2, 64, 0.5), other = trial(3, 64, 0.5);
  old.date = "2025-01-01T00:00:00Z";
  failed.status = Status::Refused;
  failed.times.clear();
  other.version = "0.0.9";
  other.name = "thrice";
  db.add({old, failed, other});
  const auto count = [&](auto set) {
    Filter filter;
    set(filter);
    return db.list(filter).size();
  };
  CHECK(count([](Filter& x) { x.name = "thrice"; }) == 1);
  CHECK(count([](Filter& x) { x.kernel = "aaaa"; }) == 3);
  CHECK(count([](Filter& x) { x.kernel = "ab"; }) == 0);
  CHECK(count([](Filter& x) { x.script = std::string(64, 'b'); }) == 3);
  CHECK(count([](Filter& x) { x.target = "openmp"; }) == 0);
  CHECK(count([](Filter& x) { x.device = "here"; }) == 3);
  CHECK(count([](Filter& x) { x.status = Status::Refused; }) == 1);
  CHECK(count([](Filter& x) { x.only_failures = true; }) == 1);
  CHECK(count([](Filter& x) { x.version = "0.0.9"; }) == 1);
  CHECK(count([](Filter& x) { x.other_version = "0.0.9"; }) == 2);
  CHECK(count([](Filter& x) { x.before = "2026-01-01T00:00:00Z"; }) == 1);
  Filter filter;
  filter.other_version = "0.1.0";
  CHECK(db.prune(filter) == 1);
  filter = {};
  filter.only_failures = true;
  CHECK(db.prune(filter) == 1);
  REQUIRE(db.list().size() == 1);
  CHECK(db.list().front().date == old.date);
  CHECK(db.prune({}) == 1);
}

TEST_CASE("database: files that are none, or another Moonloop's") {
  const TuningFolder f;
  const auto open = [&](const std::string& name, Mode mode) {
    return code_of([&] { Database(f / name, mode).list(); });
  };
  CHECK(open("none.db", Mode::Read) == "no-database");
  std::ofstream(f / "text.db") << std::string(5000, 'x');
  CHECK(open("text.db", Mode::Read) == "not-a-database");
  CHECK(open("text.db", Mode::Write) == "not-a-database");
  change(f / "other.db", "CREATE TABLE trials(x)");
  CHECK(open("other.db", Mode::Write) == "not-a-database");
  std::ofstream(f / "empty.db") << "";  // a writer that ended before its first transaction did
  CHECK(open("empty.db", Mode::Read).empty());
  CHECK(open("empty.db", Mode::Write).empty());
  Database(f / "new.db", Mode::Write).record(trial(1, 2, 3));
  change(f / "new.db", "PRAGMA user_version = 2");
  const std::string text = [&] {
    try {
      Database(f / "new.db", Mode::Write);
    } catch (const Error& e) { return e.diagnostic().code + ": " + e.diagnostic().text; }
    return std::string();
  }();
  CHECK(text == "database-version: the database `" + (f / "new.db") +
                    "` has version 2 of its tables, and this Moonloop has 1; it is neither read "
                    "nor changed");
  CHECK(open("new.db", Mode::Read) == "database-version");
  change(f / "new.db", "PRAGMA user_version = 1");
  CHECK(open("new.db", Mode::Read).empty());
  change(f / "new.db", "UPDATE trials SET trial = '{'");
  CHECK(open("new.db", Mode::Read) == "not-a-database");
  std::filesystem::create_directory(f / "folder.db");
  CHECK(open("folder.db", Mode::Write) == "database-failed");
  CHECK(open("text.db/t.db", Mode::Write) == "database-failed");
}

TEST_CASE("database: one that is held by another process for too long") {
  const TuningFolder f;
  Database db(f / "t.db", Mode::Write, 0);
  db.record(trial(1, 2, 3));
  sqlite3* other = nullptr;
  REQUIRE(sqlite3_open((f / "t.db").c_str(), &other) == SQLITE_OK);
  REQUIRE(sqlite3_exec(other, "BEGIN EXCLUSIVE", nullptr, nullptr, nullptr) == SQLITE_OK);
  CHECK(code_of([&] { db.record(trial(2, 2, 3)); }) == "database-busy");
  CHECK(code_of([&] { db.list(); }) == "database-busy");
  sqlite3_close(other);
  db.record(trial(2, 2, 3));
  CHECK(db.list().size() == 2);
}

TEST_CASE("database: its standard place is in the cache's folder") {
  ::setenv("XDG_CACHE_HOME", "/var/caches", 1);
  CHECK(standard_database() == "/var/caches/moonloop/tuning/trials.db");
  ::unsetenv("XDG_CACHE_HOME");
}
