#include <nlohmann/json.hpp>

#include "tests/cli/harness.h"
#include "tuning/database.h"
#include "tuning/device_name.h"

/// Values of knobs that come from the database, and `moonloop db`.

using namespace moonloop::test;  // NOLINT
namespace tuning = moonloop::tuning;
using moonloop::Target;

namespace {

using Json = nlohmann::json;

const char* const kScript =
    "local bi = lp.knob('bi', {16, 32, 64}, {default = 32})\n"
    "if lp.knob('way', {'split', 'none'}) == 'split' then\n"
    "  twice = twice:split_iname('i', bi)\n"
    "end\n";

/// A folder with a kernel, a script, and a database that is in its cache folder.
class Tuned {
 public:
  explicit Tuned(const std::string& input = "k.loop -t t.lua") : input_(input) {
    f.write("k.loop", kDouble);
    f.write("t.lua", kScript);
    f.write("s.lua",
            "local n = lp.knob('bi', {16, 32, 64})\nreturn lp.make_kernel('{[i]: 0 <= i < "
            "n}', 'b[i] = 2*a[i]', {args = 'n: int32, a: float64[n], b: float64[n]', "
            "name = 'twice'}):split_iname('i', n)\n");
    f.write("f.f90",
            "subroutine twice(n, a)\n  integer :: n, i\n  real(8) :: a(n)\n  do i = 1, n\n"
            "    a(i) = 2*a(i)\n  end do\nend subroutine\n!$moonloop begin transform\n"
            "! twice = twice:split_iname('i', lp.knob('bi', {32, 64}))\n"
            "!$moonloop end transform\n");
    identify();
  }
  void identify() {
    const Json j =
        Json::parse(tool("show " + input_ + " --no-db --what knobs --format json", f.str()).out);
    kernel_ = j["kernel"];
    script_ = j["script"];
  }
  tuning::Trial trial(std::int64_t bi, std::int64_t n, double seconds,
                      Target target = Target::C) const {
    tuning::Trial t;
    t.kernel = kernel_;
    t.name = "twice";
    t.script = script_;
    t.knobs = {{"bi", {bi}}};
    t.target = to_string(target);
    t.device = tuning::device_name(Target::C, -1);
    t.sizes = {{"n", n}};
    t.times = {seconds};
    t.version = "0.1.0";
    t.date = "2026-11-28T12:00:00Z";
    return t;
  }
  void record(const tuning::Trial& t) const {
    tuning::Database(f / "cache/moonloop/tuning/trials.db", tuning::Database::Mode::Write)
        .record(t);
  }
  Outcome run(const std::string& arguments, const std::string& input = {}) const {
    const std::string binary =
        std::filesystem::weakly_canonical(std::filesystem::absolute(MOONLOOP_BINARY)).string();
    return shell("XDG_CACHE_HOME=\"$PWD/cache\" '" + binary + "' " + arguments, f.str(), input);
  }
  /// `bi=64 (database), way=split (default)`, as a command with these arguments chooses them.
  std::string chosen(const std::string& arguments = {}) const {
    const Outcome o = run("show " + input_ + " --quiet --what knobs --format json " + arguments);
    CHECK(o.err.empty());
    std::string out;
    const Json all = Json::parse(o.out);
    for (const Json& k : all["knobs"])
      out += (out.empty() ? "" : ", ") + k["name"].get<std::string>() + "=" +
             (k["chosen"].is_string() ? k["chosen"].get<std::string>() : k["chosen"].dump()) +
             " (" + k["from"].get<std::string>() + ")";
    return out;
  }

  const Folder f;

 private:
  std::string input_, kernel_, script_;
};

}  // namespace

TEST_CASE("tuned: commands take the values that were fastest, and tell it") {
  const Tuned t;
  const std::string device = tuning::device_name(Target::C, -1);
  CHECK(t.run("gen k.loop -t t.lua").err.empty());
  CHECK(!t.f.has("cache/moonloop/tuning/trials.db"));  // looking makes nothing
  t.record(t.trial(16, 1024, 0.5));
  t.record(t.trial(64, 1024, 0.25));
  const std::string note = "note: bi=64 is from the database, the fastest on " + device +
                           " for n = 1024; `--knob bi=64` keeps it, `--no-db` leaves the database "
                           "out\n";
  const Outcome gen = t.run("gen k.loop -t t.lua");
  CHECK(has(gen.out, "64*i_outer"));
  CHECK(gen.err == note);
  CHECK(t.run("gen k.loop -t t.lua --quiet").err.empty());
  const Outcome run = t.run("run k.loop -t t.lua -p n=100 --verify");
  CHECK(run.err == note);
  CHECK(has(run.out, "verify: equal"));
  const Outcome check = t.run("check k.loop -t t.lua");
  CHECK(has(check.out, "split_iname(\"i\", 64): ok"));
  CHECK(check.err == note);
  CHECK(has(t.run("show k.loop -t t.lua --what trace").out,
            "-- knob bi = 64 (of 16, 32, 64; database)\n"));
  for (const std::string pinned : {"--no-db", "--knob bi=32", "--knob bi=32 --no-db"})
    for (const std::string command : {"gen", "check", "show", "run -p n=100"}) {
      const Outcome o = t.run(command + " k.loop -t t.lua " + pinned);
      CHECK(o.err.empty());
      CHECK(o.out == t.run(command + " k.loop -t t.lua --knob bi=32 --no-db").out);
    }
  CHECK(t.run("view k.loop -t t.lua").err.empty());
  CHECK(t.run("gen k.loop").err.empty());  // no knobs, no database
}

TEST_CASE("tuned: the nearest size, on this device, for this target, kernel and script") {
  Tuned t;
  t.record(t.trial(16, 64, 0.1));
  t.record(t.trial(64, 4096, 0.9));
  CHECK(t.chosen("-p n=100") == "bi=16 (database), way=split (default)");
  CHECK(t.chosen("-p n=2000") == "bi=64 (database), way=split (default)");
  CHECK(t.chosen() == "bi=64 (database), way=split (default)");  // the largest size
  CHECK(t.chosen("--target openmp") == "bi=32 (default), way=split (default)");
  CHECK(t.chosen("--set x=1") == "bi=32 (default), way=split (default)");
  CHECK(t.chosen("--knob way=none") == "bi=32 (default), way=none (command line)");
  auto both = t.trial(64, 4096, 1.5);
  both.knobs["way"] = {std::string("none")};
  t.record(both);
  CHECK(t.chosen("--knob way=none") == "bi=64 (database), way=none (command line)");
  t.f.write("t.lua", std::string("-- a comment\n\n") + kScript);
  t.f.write("k.loop", "# doubles\n" + std::string(kDouble));
  CHECK(t.chosen() == "bi=64 (database), way=split (default)");
  t.f.write("t.lua", std::string(kScript) + "local unused\n");
  CHECK(t.chosen() == "bi=32 (default), way=split (default)");
  t.f.write("t.lua", kScript);
  std::string other = kDouble;
  t.f.write("k.loop", other.replace(other.find("2*a"), 3, "3*a"));
  CHECK(t.chosen() == "bi=32 (default), way=split (default)");
  t.f.write("k.loop", std::string(kDouble) + kRecurrence);
  CHECK(t.chosen() == "bi=32 (default), way=split (default)");  // two kernels
  CHECK(t.chosen("--kernel twice") == "bi=64 (database), way=split (default)");
}

TEST_CASE("tuned: sizes that follow from the shapes of files") {
  const Tuned t;
  t.record(t.trial(16, 64, 0.1));
  t.record(t.trial(64, 4096, 0.9));
  CHECK(t.run("run k.loop -t t.lua -p n=60 --out b=a.npy").status == 0);
  const Outcome o = t.run("run k.loop -t t.lua --in a=a.npy");
  CHECK(o.status == 0);
  CHECK(has(o.err, "note: bi=16 is from the database"));
}

TEST_CASE("tuned: never another device's values, unless they are asked for") {
  const Tuned t;
  auto there = t.trial(64, 1024, 0.1);
  there.device = "Abacus 3000";
  t.record(there);
  CHECK(t.chosen() == "bi=32 (default), way=split (default)");
  CHECK(t.run("gen k.loop -t t.lua").err ==
        "note: the knobs have values that were tuned for `Abacus 3000`, which are not taken: this "
        "is `" +
            tuning::device_name(Target::C, -1) + "`; `--tuned-for DEVICE` takes them\n");
  CHECK(t.chosen("--tuned-for 'Abacus 3000'") == "bi=64 (database), way=split (default)");
  t.record(t.trial(16, 1024, 0.5));
  CHECK(t.chosen() == "bi=16 (database), way=split (default)");
  auto cuda = t.trial(16, 1024, 0.5, Target::Cuda);
  cuda.device = "Abacus 3000";
  t.record(cuda);
  CHECK(t.chosen("--target cuda --tuned-for 'Abacus 3000'") ==
        "bi=16 (database), way=split (default)");
}

TEST_CASE("tuned: a value that the script no longer has is not used, and warned of") {
  const Tuned t;
  auto odd = t.trial(48, 1024, 0.1);
  odd.knobs["way"] = {std::string("none")};
  t.record(odd);
  const Outcome o = t.run("show k.loop -t t.lua --what knobs");
  CHECK(has(o.err,
            "t.lua:1:15: warning: the tuned value 48 of knob `bi` is not in its list; it has "
            "its default 32 [unlisted-tuned-value]"));
  CHECK(has(o.err, "note: way=none is from the database"));
}

TEST_CASE("tuned: scripts that make their own kernels, and blocks in Fortran") {
  Tuned t("s.lua");
  t.record(t.trial(64, 1024, 0.1));
  CHECK(t.chosen() == "bi=64 (database)");
  CHECK(t.chosen("--kernel twice") == "bi=64 (database)");
  // What is printed of a routine's kernel is a kernel with the same hash; blocks and scripts are
  // one.
  const Tuned fortran("f.f90");
  fortran.record(fortran.trial(64, 1024, 0.1));
  CHECK(fortran.chosen() == "bi=64 (database)");
  CHECK(has(fortran.run("gen f.f90").out, "64*i_outer"));
}

TEST_CASE("tuned: a database that cannot be used is an error, with a way on") {
  const Tuned t;
  t.f.write("text.db", "not a database, but a text that is long enough to look like one\n");
  const Outcome o = t.run("gen k.loop -t t.lua --db text.db");
  CHECK(o.status == 1);
  CHECK(o.out.empty());
  CHECK(has(o.err,
            "t.lua:1:15: error: `text.db` is not a database of trials: file is not a "
            "database [not-a-database]"));
  CHECK(has(o.err, "hint: `--no-db` leaves the database out"));
  CHECK(has(t.run("gen k.loop -t t.lua --db none.db").err, "there is no database `none.db`"));
  CHECK(t.run("gen k.loop --db none.db").status == 0);  // no knobs: nobody asks
  CHECK(t.run("gen k.loop -t t.lua --db text.db --no-db").status == 2);
  CHECK(t.run("gen k.loop -t t.lua --db text.db --knob bi=16 --knob way=none").status == 0);
}

TEST_CASE("db: list and best, as text and as JSON") {
  const Tuned t;
  const std::string head = "kernel  target  sizes  knobs  status  median  date  device\n";
  CHECK(t.run("db list").out == head);
  CHECK(t.run("db best --json").out == "{\n  \"trials\": []\n}\n");
  CHECK(has(t.run("db list --db none.db").err, "[no-database]"));
  auto slow = t.trial(16, 1024, 0.5), fast = t.trial(64, 1024, 0.25), small = t.trial(32, 8, 0.001);
  auto refused = t.trial(16, 2048, 0);
  slow.device = fast.device = small.device = refused.device = "Abacus 3000";
  refused.status = tuning::Status::Refused;
  refused.times.clear();
  refused.reason = "not legal";
  for (const auto& each : {slow, fast, small, refused}) t.record(each);
  CHECK(t.run("db list").out ==
        "kernel  target  sizes     knobs  status   median     date                  device\n"
        "twice   c       n = 1024  bi=16  ok       500.00 ms  2026-11-28T12:00:00Z  Abacus 3000\n"
        "twice   c       n = 1024  bi=64  ok       250.00 ms  2026-11-28T12:00:00Z  Abacus 3000\n"
        "twice   c       n = 8     bi=32  ok       1.00 ms    2026-11-28T12:00:00Z  Abacus 3000\n"
        "twice   c       n = 2048  bi=16  refused             2026-11-28T12:00:00Z  Abacus 3000\n");
  CHECK(t.run("db best").out ==
        "kernel  target  sizes     knobs  status  median     date                  device\n"
        "twice   c       n = 1024  bi=64  ok      250.00 ms  2026-11-28T12:00:00Z  Abacus 3000\n"
        "twice   c       n = 8     bi=32  ok      1.00 ms    2026-11-28T12:00:00Z  Abacus 3000\n");
  const auto count = [&](const std::string& arguments) {
    return Json::parse(t.run("db " + arguments + " --json").out)["trials"].size();
  };
  CHECK(count("list") == 4);
  CHECK(count("list --status refused") == 1);
  CHECK(count("list --failed") == 1);
  CHECK(count("list --target openmp") == 0);
  CHECK(count("list --kernel twice --tuned-for 'Abacus 3000'") == 4);
  CHECK(count("list --kernel thrice") == 0);
  CHECK(count("list --other-versions") == 0);
  CHECK(count("list --of-version 0.1.0") == 4);
  CHECK(count("best -p n=10") == 1);
  const Json best = Json::parse(t.run("db best -p n=10 --json").out)["trials"][0];
  CHECK(best["knobs"] == Json{{"bi", 32}});
  CHECK(best["median"] == 0.001);
  CHECK(best["times"] == Json{0.001});
  auto odd = t.trial(16, 1, 1);
  odd.device = "a\x1b[31m\nb";
  t.record(odd);
  CHECK(has(t.run("db list").out, "a?[31m?b\n"));
}

TEST_CASE("db: export, import and merge") {
  const Tuned t;
  t.record(t.trial(16, 1024, 0.5));
  t.record(t.trial(64, 1024, 0.25));
  const Outcome lines = t.run("db export");
  CHECK(std::count(lines.out.begin(), lines.out.end(), '\n') == 2);
  CHECK(t.run("db export -o all.jsonl").out.empty());
  CHECK(t.f.read("all.jsonl") == lines.out);
  CHECK(t.run("db import all.jsonl --db new/x.db").out == "2 added, 0 known\n");
  CHECK(t.run("db import - --db new/x.db --json", lines.out).out == "{\"added\":0,\"known\":2}\n");
  CHECK(t.run("db export --db new/x.db").out == lines.out);
  t.record(t.trial(32, 8, 1));
  CHECK(t.run("db merge cache/moonloop/tuning/trials.db --db new/x.db").out ==
        "1 added, 2 known\n");
  CHECK(has(t.run("db merge none.db").err, "[no-database]"));
  t.f.write("bad.jsonl", lines.out + "{\"kernel\": 3}\n{\"kernel\": \n");
  const Outcome bad = t.run("db import all.jsonl bad.jsonl --db bad.db");
  CHECK(bad.status == 1);
  CHECK(bad.out.empty());
  CHECK(has(bad.err, "bad.jsonl:3:2: error: `kernel` is not a string [bad-trial]\n"));
  CHECK(has(bad.err, "bad.jsonl:4:11: error: not JSON: "));
  CHECK(!t.f.has("bad.db"));
  CHECK(t.run("db import bad.jsonl").status == 1);
  CHECK(t.run("db list --json").out.find("\"bi\": 32") != std::string::npos);
}

TEST_CASE("db: prune by age, version and failure") {
  const Tuned t;
  auto old = t.trial(16, 8, 1), failed = t.trial(32, 8, 1), other = t.trial(64, 8, 1);
  old.date = "2020-01-01T00:00:00Z";
  failed.status = tuning::Status::Failed;
  failed.date = other.date = tuning::utc_date();
  other.version = "0.0.9";
  for (const auto& each : {old, failed, other, t.trial(64, 16, 1)}) t.record(each);
  CHECK(t.run("db prune").status == 2);
  CHECK(t.run("db prune --older-than 1000d --dry-run").out == "1 removed, 3 left\n");
  CHECK(t.run("db prune --older-than 1000d").out == "1 removed, 3 left\n");
  CHECK(t.run("db prune --failed --older-than 4w").out == "0 removed, 3 left\n");
  CHECK(t.run("db prune --failed").out == "1 removed, 2 left\n");
  CHECK(t.run("db prune --other-versions --json").out == "{\"removed\":1,\"left\":1}\n");
  for (const char* wrong : {"x", "-1", "5y", "nan", ""})
    CHECK(t.run("db prune --older-than '" + std::string(wrong) + "'").status == 2);
  CHECK(t.run("db prune --failed --db none.db").status == 1);
}

TEST_CASE("db: an option or a file that an action does not take is wrong usage") {
  const Tuned t;
  for (const char* wrong :
       {"", "lst", "list --dry-run", "list x.db", "import", "merge", "import x --target c",
        "export --json", "best --failed", "list -o x", "list -p n=3", "best -p n=x"}) {
    CAPTURE(wrong);
    CHECK(t.run("db " + std::string(wrong)).status == 2);
  }
  CHECK(has(t.run("db exprt").err, "did you mean `export`?"));
  CHECK(has(t.run("db list --dry-run").err, "--dry-run: `db list` does not take it"));
  const Outcome homeless =
      shell("env -u XDG_CACHE_HOME -u HOME '" +
            std::filesystem::weakly_canonical(std::filesystem::absolute(MOONLOOP_BINARY)).string() +
            "' db list");
  CHECK(homeless.status == 1);
  CHECK(has(homeless.err, "name a file with --db"));
}
