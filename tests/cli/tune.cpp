#include <signal.h>

#include <nlohmann/json.hpp>
#include <set>

#include "tests/cli/harness.h"

/// `moonloop tune`.

using namespace moonloop::test;  // NOLINT

namespace {

using TuneJson = nlohmann::json;

/// A folder with a kernel and a script; trials are in `t.db`.
class TuneFolder {
 public:
  explicit TuneFolder(const std::string& script, const std::string& kernel = kDouble) {
    f.write("k.loop", kernel);
    f.write("t.lua", script);
  }
  Outcome tune(const std::string& arguments = "-p n=64") const {
    return tool("tune k.loop -t t.lua --db t.db " + arguments, f.str());
  }
  TuneJson json(const std::string& arguments = "-p n=64") const {
    const Outcome o = tune("--quiet --json " + arguments);
    CHECK(o.status == 0);
    CHECK(o.err.empty());
    return TuneJson::parse(o.out);
  }
  TuneJson trials() const {
    return TuneJson::parse(tool("db list --json --db t.db", f.str()).out)["trials"];
  }
  const Folder f;
};

std::string binary() {
  return std::filesystem::weakly_canonical(std::filesystem::absolute(MOONLOOP_BINARY)).string();
}

const char* const kThree = "twice = twice:split_iname('i', lp.knob('bi', {4, 8, 16}))\n";

}  // namespace

TEST_CASE("tune: tries all, records them, and runs nothing twice") {
  const TuneFolder t(kThree);
  const Outcome first = t.tune();
  CHECK(first.status == 0);
  CHECK(has(first.out, "twice on c, "));
  CHECK(has(first.out, "\ndefault:  "));
  CHECK(has(first.out, "\nspeed-up: "));
  CHECK(has(first.out, "\nknobs:    --knob bi="));
  CHECK(has(first.out,
            "\ntrials:   3 ok, 0 refused, 0 failed, 0 wrong; 3 run, 0 known; all combinations\n"));
  CHECK(has(first.err, "  bi=4\n"));
  const std::size_t recorded = t.trials().size();  // the best one, if not bi=4, more than once
  CHECK(recorded >= 3);
  const TuneJson again = t.json();
  CHECK(again["trials"] ==
        TuneJson{{"ok", 3}, {"refused", 0}, {"failed", 0}, {"wrong", 0}, {"known", 3}, {"run", 0}});
  CHECK(again["default"]["knobs"] == TuneJson{{"bi", 4}});
  CHECK(again["sizes"] == TuneJson{{"n", 64}});
  CHECK(again["all"] == true);
  CHECK(t.trials().size() == recorded);
  // What it found is what other commands take.
  const std::string best = again["best"]["knobs"]["bi"].dump();
  CHECK(again["best"]["options"] == "--knob bi=" + best);
  CHECK(has(tool("gen k.loop -t t.lua --db t.db", t.f.str()).err, "note: bi=" + best + " is from"));
  CHECK(t.json("-p n=65")["trials"]["run"] == 3);  // another size
  CHECK(t.json("-p n=66 --knob bi=8")["trials"]["run"] == 1);
  CHECK(t.json("-p n=66 --trials 2")["trials"]["run"] == 1);
}

TEST_CASE("tune: what is refused, failed or wrong is recorded with its reason, and not taken") {
  const TuneFolder t(
      "local way = lp.knob('way', {'plain', 'turned', 'claimed', 'stopped'})\n"
      "if way == 'turned' then up = up:prioritize_loops('j, i') end\n"
      "if way == 'claimed' then up = up:prioritize_loops('j, i', {unsafe = true}) end\n"
      "if way == 'stopped' then error('no such way') end\n",
      "kernel up(n: int32, a: float64[n, n])\n"
      "domain {[i, j]: 1 <= i < n and 0 <= j < n - 1}\n"
      "a[i, j] = a[i-1, j+1] + 1\n");
  const Outcome o = t.tune("-p n=100");
  CHECK(o.status == 0);
  CHECK(has(o.out, "speed-up: 1.00\nknobs:    --knob way=plain\n"));
  CHECK(has(o.out, "1 ok, 1 refused, 1 failed, 1 wrong; 4 run, 0 known"));
  CHECK(has(o.err, "note: way=claimed: wrong: a: "));
  CHECK(has(o.err, "note: way=stopped: failed: "));
  for (const TuneJson& trial : t.trials()) {
    CAPTURE(trial.dump());
    const std::string way = trial["knobs"]["way"];
    CHECK(trial["status"] == (way == "plain"     ? "ok"
                              : way == "turned"  ? "refused"
                              : way == "claimed" ? "wrong"
                                                 : "failed"));
    CHECK(trial.contains("reason") == (way != "plain"));
  }
  CHECK(t.json("-p n=100")["trials"]["run"] == 0);
  const Outcome wrong = t.tune("-p n=101 --knob way=claimed");
  CHECK(wrong.status == 3);
  CHECK(wrong.out.empty());
  CHECK(has(wrong.err, "[wrong-results]"));
}

TEST_CASE("tune: what never ends, crashes, takes too much or is wrong is counted by its name") {
  const TuneFolder t("");
  t.f.write("s.lua", R"(
local way = lp.knob('way', {'plain', 'endless', 'crash', 'leaves', 'large', 'wrong', 'sound'})
local k = lp.parse(([[
kernel late(n: int32, a: float64[n])
temp t: float64[%d]
domain {[i]: 1 <= i < n}
for i
  t[i %% 8] = a[i - 1] {id=in}
  a[i] = t[i %% 8] + 1 {id=out, dep=in}
end
]]):format(way == 'large' and 100000000 or 8))
if way == 'wrong' then
  k = k:split_iname('i', 4, {inner_tag = 'unr'})
  k = k:prioritize_loops('i_inner, i_outer', {unsafe = true})
elseif way ~= 'plain' then
  k = k:rename_iname('i', 'is_' .. way)
end
return k
)");
  // A compiler by which some of the code does what code should not.
  t.f.write("cc", R"(#!/bin/sh
calls() { ! grep -q "is_$1" kernel.c || sed -i "s/^  moonloop_kernel(/  $2 &/" kernel.c; }
if [ -f kernel.c ]; then
  calls endless 'for (;;) {}'
  calls crash '__builtin_trap();'
  calls leaves 'extern void _exit(int); _exit(0);'
fi
exec cc "$@"
)");
  CHECK(shell("chmod +x cc", t.f.str()).status == 0);
  const std::string command = "CC=\"$PWD/cc\" '" + binary() + "' tune s.lua --db t.db -p n=64 ";
  const Outcome o = shell(command + "--trial-time 4s --trial-memory 300M", t.f.str());
  CAPTURE(o.err);
  CHECK(o.status == 0);
  CHECK(has(o.out, "trials:   2 ok, 0 refused, 4 failed, 1 wrong; 7 run, 0 known; all"));
  CHECK(has(o.out, "\nfailed:   1 out-of-memory, 2 run-crashed, 1 took-too-long\n"));
  CHECK(has(o.err, "note: way=endless: failed: it took more than 4 s [took-too-long]\n"));
  CHECK(has(o.err, "note: way=crash: failed: the run ended by signal "));
  CHECK(has(o.err, "note: way=leaves: failed: the run ended its process before it was done"));
  CHECK(has(o.err,
            "note: way=large: failed: a run of kernel `late` at these sizes takes 2.40 GB of "));
  CHECK(has(o.err, "note: way=wrong: wrong: a: "));
  // They are known from now on, by the same names.
  const Outcome again = shell(command + "--json --quiet", t.f.str());
  CHECK(again.err.empty());
  const TuneJson known = TuneJson::parse(again.out);
  CHECK(known["trials"]["run"] == 0);
  CHECK(known["failures"] ==
        TuneJson{{"out-of-memory", 1}, {"run-crashed", 2}, {"took-too-long", 1}});
  // The defaults have no others to be compared with.
  const Outcome none = shell(command + "--knob way=endless --trial-time 1s", t.f.str());
  CHECK(none.status == 1);
  CHECK(has(none.err, "it took more than 1 s [took-too-long]"));
}

TEST_CASE("tune: an interrupt keeps what is known, and the next call goes on") {
  std::string values = "1";
  for (int i = 2; i <= 400; ++i) values += ", " + std::to_string(i);
  const TuneFolder t("twice = twice:split_iname('i', lp.knob('bi', {" + values + "}))\n");
  const std::string binary =
      std::filesystem::weakly_canonical(std::filesystem::absolute(MOONLOOP_BINARY)).string();
  const Outcome o = shell("('" + binary +
                              "' tune k.loop -t t.lua --db t.db -p n=64 --trials 400 --json & "
                              "p=$!; until '" +
                              binary +
                              "' db list --db t.db 2>&1 | grep -q bi=3; do sleep 0.05; done; "
                              "kill -INT $p; wait $p)",
                          t.f.str());
  CHECK(o.status == 0);
  const TuneJson cut = TuneJson::parse(o.out);
  CHECK(cut["interrupted"] == true);
  CHECK(!has(o.err, "error"));
  const std::size_t kept = t.trials().size();
  CHECK(kept == cut["trials"]["run"]);
  CHECK(kept >= 3);
  CHECK(kept < 400);
  const TuneJson next = t.json("-p n=64 --trials 400 --time 1s");
  CHECK(next["trials"]["known"] == kept);
  CHECK(next["trials"]["run"] > 0);
  CHECK(next["interrupted"] == false);
  CHECK(t.json("-p n=64 --time 0.001s")["interrupted"] == false);
}

TEST_CASE(
    "tune: killed fifty times with all that it has started, it has tried them all in the end") {
  std::string values = "1";
  for (int i = 2; i <= 60; ++i) values += ", " + std::to_string(i);
  const TuneFolder t("twice = twice:split_iname('i', lp.knob('bi', {" + values + "}))\n");
  t.f.write("kill.sh",
            "for i in $(seq 50); do\n"
            "  setsid '" +
                binary() +
                "' tune k.loop -t t.lua --db t.db -p n=64 --quiet "
                ">/dev/null & p=$!\n"
                "  sleep 0.$((i % 4))$((i % 7 + 1)); kill -9 -- -$p; wait $p\n"
                "done 2>/dev/null\n"
                "'" +
                binary() + "' db list --json --db t.db\n");
  const Outcome o = shell("bash kill.sh", t.f.str());
  const std::size_t before = TuneJson::parse(o.out)["trials"].size();
  const TuneJson last = t.json();
  CHECK(last["trials"]["ok"] == 60);
  CHECK(last["trials"]["known"] >= 1);
  CHECK(last["all"] == true);
  const TuneJson all = t.trials();
  CHECK(all.size() >= before);
  std::set<int> tried;
  for (const TuneJson& trial : all) tried.insert(trial["knobs"]["bi"].get<int>());
  CHECK(tried.size() == 60);
}

TEST_CASE("tune: of many combinations, the model leaves out what is far too slow") {
  const TuneFolder t(R"(
local order = lp.knob('order', {'rows', 'columns'})
local bi = lp.knob('bi', {1, 2, 4, 8, 16, 32, 64, 128})
local bj = lp.knob('bj', {1, 2, 4, 8, 16, 32, 64, 128})
scale = scale:split_iname('i', bi):split_iname('j', bj)
scale = scale:prioritize_loops(order == 'rows' and 'i_outer, i_inner, j_outer, j_inner'
                               or 'j_outer, j_inner, i_outer, i_inner')
)",
                     "kernel scale(n: int32, a: float64[n, n], b: float64[n, n])\n"
                     "domain {[i, j]: 0 <= i, j < n}\n"
                     "b[i, j] = 2*a[i, j]\n");
  const TuneJson o = t.json("-p n=1200 --trials 12");
  CHECK(o["trials"]["ok"] == 12);
  CHECK(o["left_to_model"] > 0);
  CHECK(o["best"]["knobs"]["order"] == "rows");
  // The model begins: it takes the best orders first, not changes of the defaults.
  std::size_t columns = 0;
  for (const TuneJson& trial : t.trials()) columns += trial["knobs"]["order"] == "columns";
  CHECK(columns <= 3);
  const Outcome again = t.tune("-p n=1200 --trials 12");
  CHECK(
      has(again.out, " 0 wrong, " + o["left_to_model"].dump() + " left to the model; 0 run, 12 "));
  CHECK(!t.json("-p n=60 --trials 8 --prune 0").contains("left_to_model"));
  CHECK(t.tune("-p n=60 --prune -1").status == 2);
}

TEST_CASE("tune: what the model cannot predict is measured all the same, and said") {
  const TuneFolder t("sum = sum:split_iname('i', lp.knob('bi', {1, 2, 4, 8, 16, 32}))\n",
                     "kernel sum(n: int32, m: int32[n], a: float64[n])\n"
                     "domain {[i]: 0 <= i < n}\n"
                     "domain {[j]: 0 <= j < l}\n"
                     "for i\n"
                     "  <> l = m[i] {id=len}\n"
                     "  for j\n    a[i] = a[i] + 1 {dep=len}\n  end\n"
                     "end\n");
  const Outcome o = t.tune("-p n=40 --trials 5");
  CAPTURE(o.err);
  CHECK(o.status == 0);
  CHECK(has(o.out, "trials:   5 ok, 0 refused, 0 failed, 0 wrong; 5 run"));
  CHECK(has(o.err, "note: bi=1: the model cannot predict this, and leaves it to measuring: "));
}

TEST_CASE("tune: at a terminal a line has the best so far, the rate and the time that is left") {
  const TuneFolder t("twice = twice:split_iname('i', lp.knob('bi', {1, 2, 3, 4, 5, 6, 7, 8}))\n");
  const auto shown = [&](const std::string& more) {
    return shell("script -qec \"'" + binary() + "' tune k.loop -t t.lua --db t.db " + more +
                     "\" /dev/null",
                 t.f.str())
        .out;
  };
  const std::string out = shown("-p n=64 --time 90s");
  CHECK(has(out, " of 8: "));
  CHECK(has(out, "; 0 refused, 0 failed, 0 wrong; "));
  CHECK(has(out, " a second; at most "));
  CHECK(has(out, " s left\x1b[K"));
  CHECK(!has(shown("-p n=65 --quiet"), " a second"));
}

TEST_CASE("tune: what it cannot do") {
  const TuneFolder t(kThree);
  const Outcome missing = t.tune("");
  CHECK(missing.status == 1);
  CHECK(has(missing.err, "[missing-parameter]"));
  const Outcome none = tool("tune k.loop -p n=4 --db t.db", t.f.str());
  CHECK(none.status == 1);
  CHECK(has(none.err, "k.loop:1:8: error: no script of kernel `twice` declares a knob [no-knobs]"));
  t.f.write("two.loop", std::string(kDouble) + kRecurrence);
  CHECK(has(tool("tune two.loop -t t.lua -p n=4 --db t.db", t.f.str()).err, "[which-kernel]"));
  CHECK(tool("tune - -t t.lua -p n=4 --db t.db", t.f.str(), kDouble).status == 2);
  CHECK(tool("tune k.loop -t - -p n=4 --db t.db", t.f.str(), kThree).status == 2);
  for (const char* wrong : {"--time x", "--time -1s", "--time 0", "--trial-time x",
                            "--trial-memory 0M", "--trial-memory 1T", "--trials 0", "--target d"})
    CHECK(t.tune("-p n=4 " + std::string(wrong)).status == 2);
  CHECK(has(t.tune("-p n=4 --knob bj=1").err, "[unknown-knob]"));
  CHECK(!t.f.has("t.db"));
  const Outcome compiler = shell(
      "CC=/bin/false '" +
          std::filesystem::weakly_canonical(std::filesystem::absolute(MOONLOOP_BINARY)).string() +
          "' tune k.loop -t t.lua -p n=4 --db t.db",
      t.f.str());
  CHECK(compiler.status == 4);
  CHECK(t.trials().empty());  // not the candidate's fault
}
