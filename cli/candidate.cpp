#include "cli/candidate.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/run_output.h"
#include "runtime/profiles.h"
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

Json run_and_check(const Loaded& loaded, const RunRequest& request, bool verify) {
  RunRequest timed = request;
  timed.time = true;
  timed.least_time = kTimedSeconds;
  timed.most_runs = kTimedRuns;
  std::optional<Verification> checked;
  if (verify) {
    RunRequest check = request;
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

static const LoadedCandidate& made_of(const tuning::Candidate& c) {
  const auto* made = dynamic_cast<const LoadedCandidate*>(c.made.get());
  ensure(made != nullptr, "a candidate has a kernel");
  return *made;
}

const Loaded& loaded_of(const tuning::Candidate& c) { return made_of(c).loaded; }

const std::vector<UsedScript>& scripts_of(const tuning::Candidate& c) { return made_of(c).scripts; }

std::string script_of(const tuning::Candidate& c) {
  return replay_script(made_of(c).loaded.kernel, 0, made_of(c).knobs.get());
}

tuning::Candidate load_candidate(const Common& given, const KnobValues& values) {
  Common common = with_values(given, values);
  common.quiet = true;  // the defaults' run warned
  tuning::Candidate out;
  try {
    UsedKnobs used;
    Loaded loaded = load_with_original(common, true, &used);
    out.made = std::make_shared<LoadedCandidate>(std::move(loaded), common.all_knobs,
                                                 std::move(used.scripts));
  } catch (const Error& e) {
    out.status = dynamic_cast<const Refused*>(&e) != nullptr ? tuning::Status::Refused
                                                             : tuning::Status::Failed;
    out.reason = first_line(e.diagnostic().text);
  } catch (const std::exception&) {
    if (!interrupted()) throw;  // an interrupt makes isl fail
  }
  out.knobs = choices_of(*common.all_knobs);
  return out;
}

tuning::Candidate load_default(const Common& given, UsedKnobs& used) {
  const Common common = with_values(given, {});
  tuning::Candidate out;
  used.with_hashes = true;
  Loaded loaded = load_with_original(common, true, &used);
  out.made = std::make_shared<LoadedCandidate>(std::move(loaded), common.all_knobs, used.scripts);
  common.all_knobs->require_declared();
  out.knobs = choices_of(*common.all_knobs);
  return out;
}

std::string compile_apart_text(const Loaded& loaded, const RunRequest& request) {
  return as_text([&] {
    compile_kernel(loaded.kernel, request);
    return Json{{"status", "ok"}, {"times", Json::array()}};
  });
}

std::string measured_text(const Loaded& loaded, const RunRequest& request, bool verify) {
  return as_text([&] { return run_and_check(loaded, request, verify); });
}

tuning::Answer answer_of(const ChildResult& child, double limit) {
  tuning::Answer out;
  if (child.stopped || child.ended || child.signal != 0) {
    out.status = tuning::Status::Failed;
    out.code = child.late ? "took-too-long" : "run-crashed";
    out.reason = child.late    ? fmt::format("it took more than {:.3g} s", limit)
                 : child.ended ? "the run ended its process before it was done"
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

namespace {

/// What `work` gives in a child process in which a driver may start.
std::string from_driver(const std::function<std::string()>& work) {
  const ChildResult child = run_in_child([&] {
    return as_text([&] { return Json{{"status", "ok"}, {"text", work()}}; });
  });
  if (child.signal != 0)
    fail("no-device", {}, "the driver's process ended by signal {}", child.signal);
  const Json answer = Json::parse(child.text);
  if (answer["status"] != "ok")
    throw Error(Diagnostic{answer["code"], answer["reason"], {}, {}, answer["hint"]});
  return answer["text"];
}

}  // namespace

std::string device_of(Target target, int number) {
  return from_driver([&] { return tuning::device_name(target, number); });
}

cost::MachineProfile profile_in_child(Target target, int number) {
  const std::string text = from_driver([&] { return cost::to_json(profile_for(target, number)); });
  return cost::parse_profile(text, "the profile of this machine");
}

}  // namespace moonloop::cli
