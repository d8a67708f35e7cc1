#include "tuning/tuner.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <random>
#include <set>
#include <thread>

#include "tests/tuning/kit.h"

/// The search with benches whose times are functions of the knobs, so that its ways can be
/// compared.

using namespace moonloop;          // NOLINT
using namespace moonloop::test;    // NOLINT
using namespace moonloop::tuning;  // NOLINT

namespace {

std::int64_t knob(const KnobValues& values, const std::string& name) {
  return *values.at(name).as<std::int64_t>();
}

std::string text(const KnobValues& values) {
  std::string out;
  for (const auto& [name, value] : values) out += name + "=" + knob_text(value) + " ";
  return out;
}

/// What a combination of the knobs a to d comes to: some fail, some give other results.
Answer outcome(const KnobValues& v) {
  Answer out;
  const std::int64_t a = knob(v, "a"), b = knob(v, "b"), c = knob(v, "c"), d = knob(v, "d");
  if ((a + b + c + d) % 11 == 7) {
    out.status = Status::Failed;
    out.code = "run-crashed";
    out.reason = "the run ended by signal 11";
    return out;
  }
  if ((a * b + c) % 13 == 12) {
    out.status = Status::Wrong;
    out.reason = "other results";
    return out;
  }
  const double far = std::abs(static_cast<double>(a) - 4) + std::abs(static_cast<double>(b) - 2) +
                     std::abs(static_cast<double>(c) - 5) + std::abs(static_cast<double>(d) - 3);
  out.times = {1e-3 * (1 + far)};
  return out;
}

/// The script: with some values a step is refused.
SharedCandidate script(const KnobValues& given, std::int64_t values) {
  auto c = std::make_shared<Candidate>();
  KnobValues chosen;
  for (const char* name : {"a", "b", "c", "d"}) {
    Choice k{name, {}, {std::int64_t{0}}};
    for (std::int64_t v = 0; v < values; ++v) k.values.push_back({v});
    if (const auto it = given.find(name); it != given.end()) k.chosen = it->second;
    chosen[name] = k.chosen;
    c->knobs.push_back(k);
  }
  if (knob(chosen, "a") == 1 && knob(chosen, "b") == 3) {
    c->status = Status::Refused;
    c->reason = "not legal";
  } else {
    c->made = std::make_shared<Made>();
  }
  return c;
}

/// Answers one job at a time; writes down what it measured.
class FakeBench : public Bench {
 public:
  FakeBench(const std::string& device, const std::string& log, int microseconds = 0)
      : place_{device, "cc", "-O3", "0.1.0"},
        pause_(microseconds),
        news_(::open("/dev/zero", O_RDONLY | O_CLOEXEC)),
        log_(::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666)) {}
  ~FakeBench() override {
    ::close(news_);
    ::close(log_);
  }
  std::string name() const override { return "bench " + place_.device; }
  const Place* place() const override { return &place_; }
  std::size_t room() const override { return jobs_.size() < 3 ? 3 - jobs_.size() : 0; }
  void take(const Job& job) override { jobs_.push_back(job); }
  void cancel() override { jobs_.clear(); }
  void lead(const SharedCandidate& best, double) override { leader = best; }
  void limit(double) override {}
  std::vector<int> files() const override { return {news_}; }
  bool spare() const override { return dies_after >= 0; }
  std::optional<std::string> failed() const override {
    if (dies_after != 0) return std::nullopt;
    return "it has ended";
  }
  std::vector<Answer> answers() override {
    if (jobs_.empty() || dies_after == 0) return {};
    if (dies_after > 0) --dies_after;
    std::this_thread::sleep_for(std::chrono::microseconds(pause_));
    const std::size_t last = backwards ? jobs_.size() - 1 : 0;
    const Job job = jobs_[last];
    jobs_.erase(jobs_.begin() + static_cast<std::ptrdiff_t>(last));
    const KnobValues values = values_of(job.candidate->knobs);
    const std::string line = text(values) + "\n";
    CHECK(::write(log_, line.data(), line.size()) == static_cast<ssize_t>(line.size()));
    Answer out = outcome(values);
    for (double& t : out.times) t *= speed;
    out.number = job.number;
    return {out};
  }

  SharedCandidate leader;
  int dies_after = -1;     // answers; -1: never
  bool backwards = false;  // the last job ends first
  double speed = 1;        // by which times are multiplied

 private:
  Place place_;
  int pause_, news_, log_;
  std::vector<Job> jobs_;
};

struct Plan {
  std::size_t most = 120;
  std::int64_t values = 7;  // of each knob
  std::size_t looks = 0;
  int microseconds = 0;
  bool backwards = false;
  double off = 1;  // by how much predictions of odd combinations are
};

TunerOptions options_of(const Plan& p) {
  TunerOptions o;
  o.most = p.most;
  o.looks = p.looks;
  o.load = [p](const KnobValues& given) { return script(given, p.values); };
  if (p.looks > 0)
    o.predict = [p](const Candidate& c) -> std::optional<double> {
      const KnobValues v = values_of(c.knobs);
      const Answer a = outcome(v);
      if (a.times.empty()) return std::nullopt;
      return a.times[0] * (knob(v, "a") % 2 == 1 ? p.off : 1) * 7;
    };
  return o;
}

/// A search from the beginning, or from what the database has.
Counts search(const TuningFolder& f, const std::string& name, const Plan& p) {
  Trial base = trial(0, 64, 1);
  base.knobs.clear();
  base.times.clear();
  Tuner t(base, f / name, options_of(p));
  auto bench = std::make_unique<FakeBench>("here", f / (name + ".log"), p.microseconds);
  bench->backwards = p.backwards;
  t.add(std::move(bench));
  t.search();
  return t.counts();
}

std::set<std::string> tried(const TuningFolder& f, const std::string& name) {
  std::set<std::string> out;
  for (const Trial& t : Database(f / name, Database::Mode::Read).list())
    out.insert(text(t.knobs) + to_string(t.status));
  return out;
}

std::string best(const TuningFolder& f, const std::string& name) {
  const auto t = Database(f / name, Database::Mode::Read).best(query(64));
  return t ? text(t->knobs) : "";
}

std::vector<std::string> measured(const TuningFolder& f, const std::string& name) {
  std::ifstream in(f / (name + ".log"));
  std::vector<std::string> out;
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

/// Runs a search in a process group of its own.
pid_t start(const TuningFolder& f, const std::string& name, const Plan& p) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::setpgid(0, 0);
    int status = 1;
    try {
      const Counts n = search(f, name, p);
      const std::string line =
          fmt::format("{} {} {}\n", n.all(), n.known, n.all() - n.known - n.refused);
      const int to =
          ::open((f / "counts").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
      status = ::write(to, line.data(), line.size()) == static_cast<ssize_t>(line.size()) ? 0 : 2;
    } catch (const std::exception& e) { std::fprintf(stderr, "child: %s\n", e.what()); }
    ::_exit(status);
  }
  ::setpgid(child, child);
  return child;
}

int ended(pid_t child) {
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

TEST_CASE("tuner: each combination once, and what came of it is counted and recorded") {
  const TuningFolder f;
  Plan few;
  few.most = 1000;
  few.values = 4;
  const Counts n = search(f, "t.db", few);
  CHECK(n.all() == 256);
  CHECK(n.refused == 16);
  CHECK(n.failed == n.failures.at("run-crashed"));
  CHECK(n.failed > 5);
  CHECK(n.wrong == 4);
  CHECK(n.known == 0);
  CHECK(tried(f, "t.db").size() == 256);
  const std::vector<std::string> all = measured(f, "t.db");
  CHECK(all.size() == 240);
  CHECK(std::set<std::string>(all.begin(), all.end()).size() == 240);
  const Counts again = search(f, "t.db", few);
  CHECK(again.known == 256);
  CHECK(again.failures == n.failures);
  CHECK(measured(f, "t.db").size() == 240);
}

TEST_CASE("tuner: the order in which benches end does not matter") {
  const TuningFolder f;
  for (const std::size_t looks : {0, 30}) {
    CAPTURE(looks);
    Plan p;
    p.looks = looks;
    const std::string name = fmt::format("{}.db", looks);
    search(f, name, p);
    p.backwards = true;
    search(f, "back" + name, p);
    CHECK(tried(f, name) == tried(f, "back" + name));
    CHECK(best(f, name) == best(f, "back" + name));
  }
}

TEST_CASE("tuner: killed fifty times, it tries and finds what it does undisturbed") {
  for (const std::size_t looks : {0, 30}) {
    CAPTURE(looks);
    const TuningFolder f;
    Plan p;
    p.looks = looks;
    p.off = 1.5;
    search(f, "whole.db", p);
    p.microseconds = 3000;
    std::mt19937 random(7);
    int killed = 0;
    std::size_t before = 0;
    for (int round = 0; round < 1000 && killed < 50; ++round) {
      const pid_t child = start(f, "cut.db", p);
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 12000));
      ::kill(-child, SIGKILL);
      const int status = ended(child);
      killed += status == 128 + SIGKILL;
      REQUIRE((status == 0 || status == 128 + SIGKILL));
      if (!std::filesystem::exists(f / "cut.db")) continue;
      const std::size_t now = tried(f, "cut.db").size();
      CHECK(now >= before);  // nothing is lost
      before = now;
      if (status == 0) break;  // it has tried all
    }
    CHECK(killed == 50);
    CHECK(ended(start(f, "cut.db", p)) == 0);
    CHECK(tried(f, "cut.db") == tried(f, "whole.db"));
    CHECK(best(f, "cut.db") == best(f, "whole.db"));
    // At most what was on its way when it was killed was measured twice.
    CHECK(measured(f, "cut.db").size() <= measured(f, "whole.db").size() + 50);
  }
}

TEST_CASE("tuner: eight processes share a database, and none measures what another one does") {
  const TuningFolder f;
  Plan p;
  p.most = 1000;
  p.values = 4;
  p.microseconds = 2000;
  std::vector<pid_t> children;
  for (int c = 0; c < 8; ++c) children.push_back(start(f, "t.db", p));
  for (const pid_t child : children) CHECK(ended(child) == 0);
  CHECK(tried(f, "t.db").size() == 256);
  const std::vector<std::string> all = measured(f, "t.db");
  CHECK(all.size() == 240);
  CHECK(std::set<std::string>(all.begin(), all.end()).size() == 240);
  std::ifstream in(f / "counts");
  std::size_t sum = 0, processes = 0, busy = 0, ended_all = 0, known = 0, run = 0;
  while (in >> ended_all >> known >> run) {
    CHECK(ended_all == 256);
    sum += run;
    busy += run > 5;
    ++processes;
  }
  CHECK(processes == 8);
  CHECK(busy >= 4);            // they share the work
  CHECK(sum <= 240 + 8 * 16);  // refusals, which several may find, are not measured
}

TEST_CASE("tuner: a claim ends with its process, and others wait for it") {
  const TuningFolder f;
  Claims mine(f / "t.db");
  CHECK(mine.take("a"));
  const pid_t child = ::fork();
  if (child == 0) {
    Claims other(f / "t.db");
    ::_exit((other.take("a") ? 1 : 0) + (other.take("b") ? 0 : 2));
  }
  CHECK(ended(child) == 0);
  CHECK(mine.take("b"));  // the other process has ended
  mine.give_back("a");
  const pid_t next = ::fork();
  if (next == 0) {
    Claims other(f / "t.db");
    ::_exit((other.take("a") ? 0 : 1) + (other.take("b") ? 2 : 0));
  }
  CHECK(ended(next) == 0);
  CHECK(code_of([&] { Claims(f / "no/such/folder/t.db"); }) == "database-failed");
}

TEST_CASE("tuner: the model begins, and what it rules out is counted and not measured") {
  const TuningFolder f;
  Plan p;
  p.most = 60;
  p.looks = 60;
  const Counts n = search(f, "model.db", p);
  CHECK(n.left > 0);
  CHECK(n.ok + n.failed + n.wrong == 60);
  // With a perfect model, all but the defaults and what cannot be predicted is near the best.
  double least = INFINITY;
  std::size_t slow = 0;
  const std::vector<Trial> all = Database(f / "model.db", Database::Mode::Read).list();
  for (const Trial& t : all) least = std::min(least, t.median());
  for (const Trial& t : all) slow += t.status == Status::Ok && t.median() > 8 * least;
  CHECK(least <= 3e-3);
  CHECK(slow < 20);
  p.looks = 0;
  CHECK(search(f, "none.db", p).left == 0);
}

TEST_CASE("tuner: benches that fail are said, and their combinations go to others") {
  const TuningFolder f;
  Trial base = trial(0, 64, 1);
  base.knobs.clear();
  base.times.clear();
  Plan p;
  p.most = 1000;
  p.values = 3;
  TunerOptions o = options_of(p);
  std::vector<std::string> notes;
  o.note = [&](const std::string& note) { notes.push_back(note); };
  {
    Tuner t(base, f / "t.db", o);
    auto dies = std::make_unique<FakeBench>("here", f / "log");
    dies->dies_after = 4;
    t.add(std::move(dies));
    auto other = std::make_unique<FakeBench>("there", f / "log");
    other->speed = 10;
    t.add(std::move(other));
    t.search();
    CHECK(t.tried_all());
    CHECK(t.counts().all() == 81);
    REQUIRE(notes.size() == 1);
    CHECK(notes[0].starts_with("bench here: it has ended; its "));
    // Each device has its own defaults and its own best.
    REQUIRE(t.defaults().size() == 2);
    CHECK(t.defaults().at("there").median() ==
          doctest::Approx(10 * t.defaults().at("here").median()));
    CHECK(t.best().at("there").device == "there");
  }
  for (const Trial& t : Database(f / "t.db", Database::Mode::Read).list()) {
    if (t.status == Status::Ok)
      CHECK(t.median() ==
            doctest::Approx(outcome(t.knobs).times[0] * (t.device == "there" ? 10 : 1)));
  }
  Tuner t(base, f / "none.db", o);
  auto dies = std::make_unique<FakeBench>("here", f / "log");
  dies->dies_after = 4;
  t.add(std::move(dies));
  CHECK(code_of([&] { t.search(); }) == "no-worker");
}

TEST_CASE("tuner: defaults that fail, or are wrong, end the search") {
  const TuningFolder f;
  Trial base = trial(0, 64, 1);
  base.knobs.clear();
  base.times.clear();
  const auto with_defaults = [&](std::int64_t a, std::int64_t b) {
    TunerOptions o = options_of({});
    o.load = [=](const KnobValues& given) {
      KnobValues values = given;
      values.insert({{"a", {a}}, {"b", {b}}});
      return script(values, 7);
    };
    return o;
  };
  Tuner failed(base, f / "f.db", with_defaults(1, 6));
  failed.add(std::make_unique<FakeBench>("here", f / "log"));
  CHECK(code_of([&] { failed.search(); }) == "run-crashed");
  CHECK(tried(f, "f.db").empty());
  Tuner wrong(base, f / "w.db", with_defaults(2, 6));
  wrong.add(std::make_unique<FakeBench>("here", f / "log"));
  CHECK_THROWS_AS(wrong.search(), WrongDefault);
  CHECK(tried(f, "w.db").size() == 1);
}
