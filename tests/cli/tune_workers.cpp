#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/cli/harness.h"

/// `moonloop tune --launch` and `--worker`.

using namespace moonloop::test;  // NOLINT

namespace {

using WorkerJson = nlohmann::json;

std::string numbers(int from, int to) {
  std::string out;
  for (int i = from; i <= to; ++i) out += (i > from ? ", " : "") + std::to_string(i);
  return out;
}

/// A folder with a kernel and a script with a knob of `values` values.
class WorkerFolder {
 public:
  explicit WorkerFolder(int values = 24) {
    f.write("k.loop", kDouble);
    f.write("t.lua",
            "twice = twice:split_iname('i', lp.knob('bi', {" + numbers(1, values) + "}))\n");
  }
  Outcome tune(const std::string& arguments, const std::string& input = "k.loop -t t.lua") const {
    return tool("tune " + input + " --db t.db -p n=64 " + arguments, f.str());
  }
  WorkerJson trials() const {
    return WorkerJson::parse(tool("db list --json --db t.db", f.str()).out)["trials"];
  }
  std::set<int> tried() const {
    std::set<int> out;
    const WorkerJson all = trials();
    for (const WorkerJson& t : all) out.insert(t["knobs"]["bi"].get<int>());
    return out;
  }
  const Folder f;
};

std::string worker() {
  return "'" +
         std::filesystem::weakly_canonical(std::filesystem::absolute(MOONLOOP_BINARY)).string() +
         "' tune --worker";
}

std::string launch(const std::string& command) { return " --launch \"" + command + "\""; }

}  // namespace

TEST_CASE("tune: two workers share the combinations, and end with the search") {
  const WorkerFolder t;
  const Outcome o = t.tune("--quiet --json" + launch(worker() + " | tee one; touch end1") +
                           launch(worker() + " | tee two; touch end2"));
  CAPTURE(o.err);
  REQUIRE(o.status == 0);
  const WorkerJson result = WorkerJson::parse(o.out);
  CHECK(result["trials"]["ok"] == 24);
  CHECK(result["trials"]["run"] == 24);
  CHECK(result["all"] == true);
  CHECK(!result.contains("devices"));  // both have the same
  CHECK(t.tried().size() == 24);
  CHECK(t.f.has("end1"));
  CHECK(t.f.has("end2"));
  std::multiset<int> measured;
  std::size_t total = 0;
  for (const char* file : {"one", "two"}) {
    std::istringstream lines(t.f.read(file));
    std::string line;
    std::getline(lines, line);
    const WorkerJson ready = WorkerJson::parse(line);
    CHECK(ready["ready"] == result["device"]);
    CHECK(ready["room"] >= 3);
    std::size_t n = 0;
    for (; std::getline(lines, line); ++n) {
      const WorkerJson reply = WorkerJson::parse(line);
      CHECK(reply["status"] == "ok");
      measured.insert(reply["measured"].get<int>());
    }
    total += n;
  }
  CHECK(total >= 24);
  for (const int number : measured) CHECK(measured.count(number) == 1);
  // Where it is known, nothing is measured; this machine alone knows it as well.
  CHECK(WorkerJson::parse(t.tune("--quiet --json" + launch(worker())).out)["trials"]["run"] == 0);
  CHECK(WorkerJson::parse(t.tune("--quiet --json").out)["trials"]["run"] == 0);
}

TEST_CASE("tune: workers that die, write rubbish or cannot be started are said, and replaced") {
  const WorkerFolder t(40);
  const Outcome o = t.tune(launch("timeout -s KILL 1 " + worker()) + launch("/no/such/worker") +
                           launch(worker() + " | sed -u s/measured/rubbish/") +
                           launch("echo '{\\\"ready\\\": 1}'") + launch("sed -u 4q | " + worker()) +
                           launch("exec >&-; cat > /dev/null") + launch("sleep 0.5; " + worker()));
  CAPTURE(o.err);
  CHECK(o.status == 0);
  CHECK(has(o.out, "trials:   40 ok, 0 refused, 0 failed, 0 wrong; 40 run, 0 known; all"));
  CHECK(t.tried().size() == 40);
  CHECK(has(o.err, "note: worker 2, `/no/such/worker`: it ended with status 127 before it was "));
  CHECK(has(o.err, "` is not a message: it has an unknown member `rubbish`") !=
        has(o.err, "` is not a message: it has no member `measured`"));
  CHECK(has(o.err, "`: `{\"ready\": 1}` is not a message: `ready` is not a string\n"));
  CHECK(has(o.err, "note: worker 6, `exec >&-; cat > /dev/null`: it "));
}

TEST_CASE("tune: a worker that is killed leaves its combinations to another one") {
  const WorkerFolder t(40);
  // The first one lives until it has measured a few.
  const Outcome o =
      t.tune(launch("echo \\$\\$ > pid; exec " + worker()) +
             launch(worker() + " | while read line; do echo \\\"\\$line\\\"; "
                               "n=\\$((n + 1)); [ \\$n -ne 5 ] || kill -9 \\$(cat pid); done"));
  CAPTURE(o.err);
  CHECK(o.status == 0);
  CHECK(has(o.err, ": it ended by signal 9"));
  CHECK(has(o.out, "trials:   40 ok, 0 refused, 0 failed, 0 wrong; 40 run, 0 known; all"));
  CHECK(t.tried().size() == 40);
}

TEST_CASE("tune: without a worker that works, it ends with an error") {
  const WorkerFolder t;
  const Outcome none = t.tune(launch("false") + launch("CC=/bin/false " + worker()));
  CHECK(none.status == 4);
  CHECK(none.out.empty());
  CHECK(has(none.err, "`false`: it ended with status 1 before it was ready\n"));
  CHECK(has(none.err, ": it cannot measure the defaults of the knobs: `/bin/false "));
  CHECK(has(none.err, "error: no worker is left to measure [no-worker]\n"));
  CHECK(t.trials().empty());
}

TEST_CASE("tune: results of another device are stored under its name") {
  const WorkerFolder t(12);
  // The first worker ends after some orders, and the second one begins after it has measured.
  const Outcome o = t.tune(
      "--target openmp --json --quiet" +
      launch("sed -u 6q | OMP_NUM_THREADS=1 " + worker() + " | tee one") +
      launch("until grep -qs measured one; do sleep 0.05; done; OMP_NUM_THREADS=2 " + worker()));
  CAPTURE(o.err);
  REQUIRE(o.status == 0);
  const WorkerJson result = WorkerJson::parse(o.out);
  REQUIRE(result["devices"].size() == 2);
  CHECK(result["devices"][0]["device"].get<std::string>().ends_with(", 1 thread"));
  CHECK(result["devices"][1]["device"].get<std::string>().ends_with(", 2 threads"));
  std::set<std::string> devices;
  const WorkerJson all = t.trials();
  for (const WorkerJson& trial : all) devices.insert(trial["device"]);
  CHECK(devices.size() == 2);
  for (const WorkerJson& d : result["devices"]) {
    CHECK(d["default"]["knobs"] == WorkerJson{{"bi", 1}});
    CHECK(d["speed_up"] > 0);
  }
  const Outcome text = t.tune("--target openmp --quiet" + launch("OMP_NUM_THREADS=1 " + worker()));
  CHECK(has(text.out, "12 ok, "));
}

TEST_CASE("tune: workers get all that the scripts load, and Fortran as kernels") {
  const WorkerFolder t;
  t.f.write("f.f90",
            "subroutine twice(n, a)\n  integer :: n, i\n  real(8) :: a(n)\n  do i = 1, n\n"
            "    a(i) = 2*a(i)\n  end do\nend subroutine\n!$moonloop begin transform\n"
            "! twice = twice:split_iname('i', lp.knob('bi', {32, 64}))\n"
            "!$moonloop end transform\n");
  t.f.write("s.lua",
            "local n = lp.knob('bi', {16, 32})\nlocal k = lp.load('k.loop')\n"
            "if n == 32 then n = require('more.sizes').large end\nreturn k:split_iname('i', n)\n");
  std::filesystem::create_directory(t.f / "more");
  t.f.write("more/sizes.lua", "return {large = lp.args.large}\n");
  for (const char* input : {"f.f90", "s.lua --set large=32", "k.loop -t t.lua --knob bi=3",
                            "k.loop -t t.lua --trust --knob bi=3"}) {
    CAPTURE(input);
    const bool trust = std::string(input).find("--trust") != std::string::npos;
    const Outcome o =
        t.tune("--json --quiet" + launch(worker() + (trust ? " --trust" : "")), input);
    CAPTURE(o.err);
    REQUIRE(o.status == 0);
    CHECK(WorkerJson::parse(o.out)["trials"]["failed"] == 0);
    // Under the names by which this machine knows the kernel and the scripts.
    CHECK(WorkerJson::parse(t.tune("--json --quiet", input).out)["trials"]["run"] == 0);
  }
  const Outcome trust = t.tune("--trust" + launch(worker()));
  CHECK(trust.status == 4);
  CHECK(has(trust.err, "and the worker does not [needs-trust]"));
}

TEST_CASE("tune: what a worker is told by hand") {
  const WorkerFolder t;
  CHECK(t.tune("--quiet --knob bi=2" + launch("tee task | " + worker())).status == 0);
  const std::string all = t.f.read("task"), task = all.substr(0, all.find('\n') + 1);
  const auto replies = [&](const std::string& lines, int status) {
    const Outcome o = tool("tune --worker --quiet", t.f.str(), lines);
    CHECK(o.status == status);
    std::vector<WorkerJson> out;
    std::istringstream in(o.out);
    for (std::string line; std::getline(in, line);) out.push_back(WorkerJson::parse(line));
    return out;
  };
  const std::string measure = R"({"measure": 5, "knobs": {"bi": 2}, "verify": true})";
  const auto done = replies(task + "\n" + measure + "\n", 0);
  REQUIRE(done.size() == 2);
  CHECK(done[0].contains("ready"));
  CHECK(done[1]["measured"] == 5);
  CHECK(done[1]["status"] == "ok");
  CHECK(replies(task + measure + "\n{\"cancel\": true}\n", 0).size() == 1);
  const auto error = [&](const std::string& lines, int status = 1) {
    const auto o = replies(lines, status);
    CHECK(o.back()["code"] == "bad-message");
    return o.back()["error"].get<std::string>();
  };
  CHECK(error("rubbish\n") == "`rubbish` is not a message: it is not a JSON object");
  CHECK(error(task + "{\"measure\": 1}\n").ends_with("it has no member `knobs`"));
  CHECK(error(task + "{\"limit\": 1}\n{\"limit\"") == "the input ends within a line");
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string out = task;
    out.replace(out.find(from), from.size(), to);
    return out;
  };
  CHECK(error(with("2*a[i]", "3*a[i]")) == "the kernel of the task has another hash here");
  CHECK(error(with("split_iname('i'", "split_iname(\\\"i\\\"")) ==
        "the script of the task has another hash here");
  CHECK(has(error(with("\"version\":\"", "\"version\":\"9")), "the task is of version 9"));
  CHECK(error(with("\"target\":\"c\"", "\"target\":\"d\"")) == "`d` is not a target");
  CHECK(error(with("\"files\":[]}]", "\"files\":[[\"../x\",\"\"]]}]")) ==
        "the file `../x` of a script is not below its folder");
  CHECK(error(task + R"({"limit": 1, "files": [[7, "a", "b"]]})" + "\n") ==
        "the task has no script 7");
  CHECK(replies("", 0).empty());
  CHECK(tool("tune --worker k.loop", t.f.str()).status == 2);
  CHECK(has(tool("tune", t.f.str()).err, "INPUT is required"));
}
