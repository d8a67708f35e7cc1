#include "cli/candidate.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "cli/run_output.h"
#include "runtime/in_child.h"
#include "runtime/smaller_sizes.h"
#include "scripts/interrupt.h"
#include "tuning/device_name.h"

namespace moonloop::cli {
namespace {

using Json = nlohmann::json;

constexpr double kCheckedOperations = 2e6;  // that the interpreter executes
constexpr double kTimedSeconds = 0.2;
constexpr int kTimedRuns = 100;

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

std::vector<tuning::Choice> choices_of(const Knobs& knobs) {
  std::vector<tuning::Choice> out;
  for (const Knob& k : knobs.all()) {
    const bool pinned = std::any_of(knobs.given().begin(), knobs.given().end(),
                                    [&](const auto& g) { return g.first == k.name; });
    out.push_back({k.name, pinned ? std::vector<Value>{k.chosen} : k.values, k.chosen});
  }
  return out;
}

/// `common` with knobs that the caller can look at, also after an error. They take `values` as
/// those of the database.
Common with_values(Common common, const KnobValues& values) {
  common.all_knobs =
      std::make_shared<Knobs>(common.knobs, [values] { return std::optional<KnobValues>(values); });
  return common;
}

Json failure(const std::string& code, const std::string& text, const std::string& hint = {}) {
  return {{"status", "failed"}, {"code", code}, {"reason", text}, {"hint", hint}};
}

Json run_and_check(const Loaded& loaded, const AttemptOptions& o) {
  RunRequest timed = o.request;
  timed.time = true;
  timed.least_time = kTimedSeconds;
  timed.most_runs = kTimedRuns;
  std::optional<Verification> checked;
  if (o.verify) {
    RunRequest check = o.request;
    check.params = smaller_sizes(loaded.kernel, loaded.original, check.params, kCheckedOperations);
    check.verify = true;
    checked = run_kernel(loaded.kernel, loaded.original, check).verification;
  }
  if (checked && !checked->equal())
    for (const Comparison& c : checked->arrays)
      if (!c.equal()) return {{"status", "wrong"}, {"reason", comparison_text(c)}};
  const RunResult result = run_kernel(loaded.kernel, loaded.original, timed);
  return {{"status", "ok"}, {"times", result.timing->all}};
}

/// What `work` returns, or what it throws as a failure.
std::string as_text(const std::function<Json()>& work) {
  Json out;
  try {
    out = work();
  } catch (const Error& e) {
    const Diagnostic& d = e.diagnostic();
    out = failure(d.code, d.text, d.hint);
  } catch (const std::bad_alloc&) {
    out = failure("out-of-memory", "not enough memory");
  } catch (const std::exception& e) {
    out = failure("internal-error", std::string("internal error: ") + e.what());
  }
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

Candidate load_candidate(const Common& given, const KnobValues& values) {
  Common common = with_values(given, values);
  common.quiet = true;  // the defaults' run warned
  Candidate out;
  try {
    out.loaded = std::make_unique<Loaded>(load_with_original(common, true));
  } catch (const Error& e) {
    out.refused = dynamic_cast<const Refused*>(&e) != nullptr;
    out.reason = first_line(e.diagnostic().text);
  } catch (const std::exception&) {
    if (!interrupted()) throw;  // an interrupt makes isl fail
  }
  out.knobs = choices_of(*common.all_knobs);
  return out;
}

Candidate load_default(const Common& given, UsedKnobs& used) {
  const Common common = with_values(given, {});
  Candidate out;
  used.with_hashes = true;
  out.loaded = std::make_unique<Loaded>(load_with_original(common, true, &used));
  common.all_knobs->require_declared();
  out.knobs = choices_of(*common.all_knobs);
  return out;
}

Attempt attempt(const Loaded& loaded, const AttemptOptions& o) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  bool late = false;
  const ChildResult child =
      run_in_child([&] { return as_text([&] { return run_and_check(loaded, o); }); },
                   [&] {
                     const std::chrono::duration<double> took = Clock::now() - start;
                     late = o.limit > 0 && took.count() > o.limit;
                     return late || o.stop();
                   });
  if (o.stop()) return {.stopped = true};
  Attempt out;
  if (child.stopped || child.signal != 0) {
    out.status = tuning::Status::Failed;
    out.code = late ? "took-too-long" : "run-crashed";
    out.reason = late ? fmt::format("it took more than {:.0f} s", o.limit)
                      : fmt::format("the run ended by signal {}", child.signal);
    return out;
  }
  const Json answer = Json::parse(child.text);
  if (answer["status"] == "ok") {
    out.times = answer["times"].get<std::vector<double>>();
    return out;
  }
  out.status = answer["status"] == "wrong" ? tuning::Status::Wrong : tuning::Status::Failed;
  out.code = answer.value("code", "");
  out.reason = answer["reason"];
  out.hint = answer.value("hint", "");
  return out;
}

std::string device_of(Target target, int number) {
  const ChildResult child = run_in_child([&] {
    return as_text([&] {
      return Json{{"status", "ok"}, {"name", tuning::device_name(target, number)}};
    });
  });
  if (child.signal != 0)
    fail("no-device", {}, "the driver's process ended by signal {}", child.signal);
  const Json answer = Json::parse(child.text);
  if (answer["status"] != "ok")
    throw Error(Diagnostic{answer["code"], answer["reason"], {}, {}, answer["hint"]});
  return answer["name"];
}

}  // namespace moonloop::cli
