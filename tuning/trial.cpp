#include "tuning/trial.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "codegen/codegen.h"
#include "core/base/diagnostic.h"

namespace moonloop::tuning {
namespace {

using TrialJson = nlohmann::json;

constexpr Status kStatuses[]{Status::Ok, Status::Failed, Status::Refused, Status::Wrong};

std::string utc_text(std::time_t when) {
  std::tm t{};
  ::gmtime_r(&when, &t);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", t.tm_year + 1900, t.tm_mon + 1,
                     t.tm_mday, t.tm_hour, t.tm_min, t.tm_sec);
}

TrialJson knob_json(const Value& v) {
  if (const auto* n = v.as<std::int64_t>()) return *n;
  if (const auto* b = v.as<bool>()) return *b;
  return knob_text(v);
}

// ---- Reading ------------------------------------------------------------------------------------

/// A mistake in the line that is read: its code is that of the whole.
struct Mistake {
  std::string member;  // that it is about; empty: the line
  std::string text;
};

bool is_hash(const std::string& s) {
  return s.size() == 64 && s.find_first_not_of("0123456789abcdef") == std::string::npos;
}

bool is_date(const std::string& s) {
  const std::string form = "dddd-dd-ddTdd:dd:ddZ";
  if (s.size() != form.size()) return false;
  for (std::size_t i = 0; i < s.size(); ++i)
    if (form[i] == 'd' ? s[i] < '0' || s[i] > '9' : s[i] != form[i]) return false;
  const auto two = [&](std::size_t at) { return 10 * (s[at] - '0') + (s[at + 1] - '0'); };
  return two(5) >= 1 && two(5) <= 12 && two(8) >= 1 && two(8) <= 31 && two(11) <= 23 &&
         two(14) <= 59 && two(17) <= 60;
}

std::string text_member(const TrialJson& json, const std::string& member) {
  if (!json.contains(member)) throw Mistake{"", fmt::format("no member `{}`", member)};
  if (!json[member].is_string()) throw Mistake{member, fmt::format("`{}` is not a string", member)};
  return json[member].get<std::string>();
}

std::string hash_member(const TrialJson& json, const std::string& member) {
  std::string out = text_member(json, member);
  if (!is_hash(out))
    throw Mistake{member, fmt::format("`{}` is not a hash of 64 hex digits", member)};
  return out;
}

const TrialJson& object_member(const TrialJson& json, const std::string& member) {
  if (!json.contains(member)) throw Mistake{"", fmt::format("no member `{}`", member)};
  if (!json[member].is_object())
    throw Mistake{member, fmt::format("`{}` is not an object", member)};
  return json[member];
}

bool is_int64(const TrialJson& json) {
  return json.is_number_integer() &&
         (!json.is_number_unsigned() ||
          json.get<std::uint64_t>() <=
              static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()));
}

KnobValues knobs_member(const TrialJson& json) {
  KnobValues out;
  for (const auto& [name, value] : object_member(json, "knobs").items()) {
    if (!is_knob_name(name)) throw Mistake{"knobs", fmt::format("`{}` names no knob", name)};
    if (is_int64(value))
      out[name] = {value.get<std::int64_t>()};
    else if (value.is_boolean())
      out[name] = {value.get<bool>()};
    else if (value.is_string())
      out[name] = {value.get<std::string>()};
    else
      throw Mistake{name, fmt::format("knob `{}` is not an integer, a string or a boolean", name)};
  }
  return out;
}

Sizes sizes_member(const TrialJson& json) {
  Sizes out;
  for (const auto& [name, value] : object_member(json, "sizes").items()) {
    if (!is_int64(value)) throw Mistake{name, fmt::format("size `{}` is not an integer", name)};
    out[name] = value.get<std::int64_t>();
  }
  return out;
}

std::vector<double> times_member(const TrialJson& json) {
  if (!json.contains("times")) throw Mistake{"", "no member `times`"};
  if (!json["times"].is_array()) throw Mistake{"times", "`times` is not an array"};
  std::vector<double> out;
  for (const TrialJson& t : json["times"]) {
    if (!t.is_number() || !std::isfinite(t.get<double>()) || t.get<double>() < 0)
      throw Mistake{"times", "a time is not a number of seconds, at least 0"};
    out.push_back(t.get<double>());
  }
  return out;
}

Trial trial_of(const TrialJson& json) {
  static const std::vector<std::string> kMembers{"compiler", "date",   "device", "flags",  "kernel",
                                                 "knobs",    "name",   "reason", "script", "sizes",
                                                 "status",   "target", "times",  "version"};
  if (!json.is_object()) throw Mistake{"", "the line is not a JSON object"};
  for (const auto& [name, value] : json.items())
    if (std::find(kMembers.begin(), kMembers.end(), name) == kMembers.end())
      throw Mistake{
          name, fmt::format("a trial has no member `{}`{}", name, did_you_mean(name, kMembers))};
  Trial t;
  t.kernel = hash_member(json, "kernel");
  t.name = text_member(json, "name");
  t.script = hash_member(json, "script");
  t.knobs = knobs_member(json);
  t.target = text_member(json, "target");
  if (!parse_target(t.target))
    throw Mistake{"target", fmt::format("`{}` is not a target", t.target)};
  t.device = text_member(json, "device");
  t.compiler = text_member(json, "compiler");
  t.flags = text_member(json, "flags");
  t.sizes = sizes_member(json);
  t.times = times_member(json);
  const std::string status = text_member(json, "status");
  const auto* known = std::find_if(std::begin(kStatuses), std::end(kStatuses),
                                   [&](Status s) { return to_string(s) == status; });
  if (known == std::end(kStatuses))
    throw Mistake{"status", fmt::format("`{}` is not ok, failed, refused or wrong", status)};
  t.status = *known;
  if (t.status == Status::Ok && t.times.empty())
    throw Mistake{"times", "a trial that is ok has times"};
  if (json.contains("reason")) t.reason = text_member(json, "reason");
  t.version = text_member(json, "version");
  t.date = text_member(json, "date");
  if (!is_date(t.date))
    throw Mistake{"date", fmt::format("`{}` is not of the form 2026-11-28T12:00:00Z", t.date)};
  return t;
}

/// The JSON value of the line. A member that an object has twice is a mistake: one would be lost.
TrialJson json_of(std::string_view line) {
  std::vector<std::set<std::string>> open;
  std::optional<std::string> twice;
  const TrialJson::parser_callback_t look = [&](int, TrialJson::parse_event_t event,
                                                TrialJson& parsed) {
    if (event == TrialJson::parse_event_t::object_start)
      open.emplace_back();
    else if (event == TrialJson::parse_event_t::object_end)
      open.pop_back();
    else if (event == TrialJson::parse_event_t::key &&
             !open.back().insert(parsed.get<std::string>()).second && !twice)
      twice = parsed.get<std::string>();
    return true;
  };
  TrialJson out = TrialJson::parse(line, look);
  if (twice) throw Mistake{*twice, fmt::format("member `{}` is there twice", *twice)};
  return out;
}

/// Where the line has the member's name, as the last of its occurrences before a colon.
std::size_t place_of(std::string_view line, const std::string& member) {
  const std::string quoted =
      TrialJson(member).dump(-1, ' ', false, TrialJson::error_handler_t::replace);
  std::size_t found = std::string_view::npos;
  for (std::size_t at = line.find(quoted); at != std::string_view::npos;
       at = line.find(quoted, at + 1)) {
    const std::size_t next = line.find_first_not_of(" \t", at + quoted.size());
    if (next != std::string_view::npos && line[next] == ':') found = at;
  }
  return found;
}

}  // namespace

std::string to_string(Status s) {
  switch (s) {
    case Status::Ok: return "ok";
    case Status::Failed: return "failed";
    case Status::Refused: return "refused";
    case Status::Wrong: return "wrong";
  }
  throw InternalError("unknown status of a trial");
}

double Trial::median() const {
  if (times.empty()) return std::numeric_limits<double>::infinity();
  std::vector<double> sorted = times;
  std::sort(sorted.begin(), sorted.end());
  const std::size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

std::string utc_date() { return utc_text(std::time(nullptr)); }

std::string utc_date_before(double days) {
  return utc_text(std::time(nullptr) - static_cast<std::time_t>(days * 86400));
}

std::string to_json_line(const Trial& t) {
  TrialJson knobs = TrialJson::object(), sizes = TrialJson::object();
  for (const auto& [name, value] : t.knobs) knobs[name] = knob_json(value);
  for (const auto& [name, value] : t.sizes) sizes[name] = value;
  TrialJson out{{"kernel", t.kernel},
                {"name", t.name},
                {"script", t.script},
                {"knobs", knobs},
                {"target", t.target},
                {"device", t.device},
                {"compiler", t.compiler},
                {"flags", t.flags},
                {"sizes", sizes},
                {"times", t.times},
                {"version", t.version},
                {"date", t.date},
                {"status", to_string(t.status)}};
  if (!t.reason.empty()) out["reason"] = t.reason;
  return out.dump(-1, ' ', false, TrialJson::error_handler_t::replace);
}

std::vector<Trial> parse_trials(const Source* source) {
  std::vector<Trial> out;
  std::vector<Diagnostic> mistakes;
  for (int number = 1; number <= static_cast<int>(source->line_starts.size()); ++number) {
    const std::string_view line = source->line(number);
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    if (mistakes.size() == kMostMistakes) break;
    const int length = static_cast<int>(line.size());
    try {
      out.push_back(trial_of(json_of(line)));
    } catch (const TrialJson::parse_error& e) {
      std::string why = e.what();  // `[json.exception.parse_error.101] parse error at …: why`
      if (const auto colon = why.find(": "); colon != std::string::npos)
        why = why.substr(colon + 2);
      const int column = std::clamp(static_cast<int>(e.byte), 1, length);
      mistakes.push_back({"bad-trial",
                          fmt::format("not JSON: {}", why),
                          {{source, number, column, 1}, {}},
                          {},
                          {}});
    } catch (const TrialJson::exception& e) {  // a number that no type holds
      std::string why = e.what();
      if (const auto bracket = why.find("] "); bracket != std::string::npos)
        why = why.substr(bracket + 2);
      mistakes.push_back({"bad-trial", why, {{source, number, 1, length}, {}}, {}, {}});
    } catch (const Mistake& m) {
      const std::size_t at = m.member.empty() ? std::string_view::npos : place_of(line, m.member);
      const bool found = at != std::string_view::npos;
      mistakes.push_back({"bad-trial",
                          m.text,
                          {{source, number, found ? static_cast<int>(at) + 1 : 1,
                            found ? static_cast<int>(m.member.size()) + 2 : 1},
                           {}},
                          {},
                          {}});
    }
  }
  if (!mistakes.empty()) throw Error(std::move(mistakes));
  return out;
}

}  // namespace moonloop::tuning
