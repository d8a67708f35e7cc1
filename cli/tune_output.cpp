#include "cli/tune_output.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "cli/run_output.h"
#include "cli/tuned.h"
#include "reports/page.h"

namespace moonloop::cli {
namespace {

using tuning::Trial;
using TunedJson = nlohmann::ordered_json;

std::string text_of(TuneEnding e) {
  switch (e) {
    case TuneEnding::All: return "all combinations";
    case TuneEnding::Trials: return "more combinations are left";
    case TuneEnding::Time: return "the time is over";
    case TuneEnding::Interrupt: return "interrupted";
  }
  throw InternalError("unknown ending of a tuning");
}

std::string counts_text(const tuning::Counts& n, TuneEnding ending) {
  return fmt::format("{} ok, {} refused, {} failed, {} wrong{}; {} run, {} known; {}", n.ok,
                     n.refused, n.failed, n.wrong,
                     n.left > 0 ? fmt::format(", {} left to the model", n.left) : "",
                     n.all() - n.known, n.known, text_of(ending));
}

TunedJson knobs_json(const Trial& t) { return TunedJson::parse(to_json_line(t))["knobs"]; }

void add_device(TunedJson& out, const TunedDevice& d) {
  out["default"] = {{"median", d.of_default.median()}, {"knobs", knobs_json(d.of_default)}};
  out["best"] = {{"median", d.best.median()},
                 {"knobs", knobs_json(d.best)},
                 {"options", knob_options(d.best.knobs)}};
  out["speed_up"] = d.speed_up();
  out["compared"] = d.compared;
}

}  // namespace

std::string knob_options(const KnobValues& values) {
  std::vector<std::string> out;
  for (const auto& [name, value] : values) {
    const std::string text = knob_text(value);
    const bool plain = std::all_of(text.begin(), text.end(), [](unsigned char c) {
      return std::isalnum(c) || c == '_' || c == '-' || c == '.';
    });
    std::string quoted;
    for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    out.push_back(fmt::format("--knob {}={}", name, plain ? text : "'" + quoted + "'"));
  }
  return fmt::format("{}", fmt::join(out, " "));
}

std::string tune_text(const TuneResult& r) {
  const tuning::Counts& n = r.counts;
  const auto head = [&](const std::string& device) {
    return fmt::format("{} on {}, {}{}{}\n", r.base.name, r.base.target, device,
                       r.base.sizes.empty() ? "" : ", ", sizes_text(r.base.sizes));
  };
  std::string out;
  if (r.devices.empty()) out += head(r.base.device);
  for (const TunedDevice& d : r.devices) {
    out += head(d.best.device);
    out += fmt::format("default:  {}  {}\n", duration(d.of_default.median()),
                       knobs_text(d.of_default.knobs));
    out += fmt::format("best:     {}  {}\n", duration(d.best.median()), knobs_text(d.best.knobs));
    out += fmt::format("speed-up: {:.2f}\n", d.speed_up());
    out += fmt::format("knobs:    {}\n", knob_options(d.best.knobs));
  }
  out += fmt::format("trials:   {}\n", counts_text(n, r.ending));
  std::vector<std::string> failures;
  for (const auto& [code, count] : n.failures)
    failures.push_back(fmt::format("{} {}", count, code));
  if (!failures.empty()) out += fmt::format("failed:   {}\n", fmt::join(failures, ", "));
  return out;
}

std::string tune_json(const TuneResult& r) {
  const tuning::Counts& n = r.counts;
  TunedJson out{{"kernel", r.base.name}, {"target", r.base.target}};
  out["device"] = r.devices.empty() ? r.base.device : r.devices.front().best.device;
  out["sizes"] = r.base.sizes;
  if (!r.devices.empty()) add_device(out, r.devices.front());
  if (r.devices.size() > 1)
    for (const TunedDevice& d : r.devices) {
      TunedJson one{{"device", d.best.device}};
      add_device(one, d);
      out["devices"].push_back(std::move(one));
    }
  out["trials"] = {{"ok", n.ok},       {"refused", n.refused}, {"failed", n.failed},
                   {"wrong", n.wrong}, {"known", n.known},     {"run", n.all() - n.known}};
  if (n.left > 0) out["left_to_model"] = n.left;
  if (!n.failures.empty()) out["failures"] = n.failures;
  out["all"] = r.ending == TuneEnding::All;
  out["interrupted"] = r.ending == TuneEnding::Interrupt;
  return out.dump(2, ' ', false, TunedJson::error_handler_t::replace) + "\n";
}

std::string tune_report(const TuneResult& r, const std::vector<tuning::Tried>& history,
                        const std::vector<std::pair<std::string, std::string>>& scripts) {
  const tuning::Counts& n = r.counts;
  TunedJson out{{"kernel", r.base.name}, {"target", r.base.target}};
  out["sizes"] = r.base.sizes;
  out["ending"] = counts_text(n, r.ending);
  out["devices"] = TunedJson::array();
  for (const TunedDevice& d : r.devices)
    out["devices"].push_back({{"device", d.best.device},
                              {"default", d.of_default.median()},
                              {"best", d.best.median()},
                              {"speed_up", d.speed_up()},
                              {"options", knob_options(d.best.knobs)},
                              {"knobs", knobs_json(d.best)},
                              {"script", d.script}});
  out["scripts"] = TunedJson::array();
  for (const auto& [name, text] : scripts)
    out["scripts"].push_back({{"name", name}, {"text", text}});
  out["trials"] = TunedJson::array();
  for (const tuning::Tried& t : history) {
    TunedJson one{{"at", t.at},
                  {"device", t.trial.device},
                  {"seconds", nullptr},
                  {"status", tuning::to_string(t.trial.status)},
                  {"reason", t.trial.reason},
                  {"knobs", knobs_json(t.trial)},
                  {"known", t.known},
                  {"predicted", nullptr}};
    if (t.trial.status == tuning::Status::Ok) one["seconds"] = t.trial.median();
    if (t.predicted) one["predicted"] = *t.predicted;
    out["trials"].push_back(std::move(one));
  }
  return tune_page(out.dump(-1, ' ', false, TunedJson::error_handler_t::replace));
}

std::string progress_text(const TuneProgress& p) {
  const std::size_t done = p.counts.all() - p.counts.refused;
  const auto run = static_cast<double>(p.counts.all() - p.counts.known);
  const double rate = p.gone > 0 ? run / p.gone : 0;
  const double rest = p.expected > done ? static_cast<double>(p.expected - done) : 0;
  const double seconds = rate > 0 ? std::min(p.left, rest / rate) : p.left;
  return fmt::format(
      "{} of {}: {}; {} refused, {} failed, {} wrong; {:.2g} a second; at most "
      "{:.0f} s left",
      done, p.expected, p.best > 0 ? "best " + duration(p.best) : "no best yet", p.counts.refused,
      p.counts.failed, p.counts.wrong, rate, std::max(seconds, 0.0));
}

}  // namespace moonloop::cli
