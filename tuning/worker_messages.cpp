#include "tuning/worker_messages.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/base/diagnostic.h"

namespace moonloop::tuning {
namespace {

using Message = nlohmann::ordered_json;

constexpr std::size_t kShown = 60;  // of a line that is no message

[[noreturn]] void no_message(const std::string& line, const std::string& why) {
  std::string shown = line.substr(0, kShown);
  if (line.size() > kShown) shown += "...";
  fail("bad-message", {}, "`{}` is not a message: {}", shown, why);
}

/// A line that is read, member by member; done() finds those that nobody asked for.
class Members {
 public:
  explicit Members(const std::string& line) : line_(line) {
    json_ = Message::parse(line, nullptr, false);
    if (!json_.is_object()) no_message(line, "it is not a JSON object");
  }
  Members(const std::string& line, Message json) : line_(line), json_(std::move(json)) {
    if (!json_.is_object()) no_message(line, "a part of it is not a JSON object");
  }

  bool has(const char* name) const { return json_.contains(name); }
  std::string text(const char* name) { return of_kind(name, "a string", &Message::is_string); }
  bool truth(const char* name) { return of_kind(name, "true or false", &Message::is_boolean); }
  double number(const char* name) {
    const double out = of_kind(name, "a number", &Message::is_number);
    if (!std::isfinite(out) || out < 0)
      no_message(line_, fmt::format("`{}` is negative or too large", name));
    return out;
  }
  std::size_t count(const char* name) {
    return of_kind(name, "a number from 0 on", &Message::is_number_unsigned);
  }
  Message array(const char* name) { return of_kind(name, "an array", &Message::is_array); }
  Message object(const char* name) { return of_kind(name, "an object", &Message::is_object); }

  KnobValues knobs(const char* name) {
    KnobValues out;
    const Message given = object(name);
    for (const auto& [knob, value] : given.items()) {
      if (!is_knob_name(knob)) no_message(line_, fmt::format("`{}` names no knob", knob));
      const bool too_large =
          value.is_number_unsigned() &&
          value.get<std::uint64_t>() >
              static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
      if (value.is_number_integer() && !too_large)
        out[knob] = {value.get<std::int64_t>()};
      else if (value.is_boolean())
        out[knob] = {value.get<bool>()};
      else if (value.is_string())
        out[knob] = {value.get<std::string>()};
      else
        no_message(line_, fmt::format("knob `{}` has no value that knobs have", knob));
    }
    return out;
  }
  NamedTexts texts(const char* name) {
    NamedTexts out;
    for (const Message& pair : array(name)) {
      if (!pair.is_array() || pair.size() != 2 || !pair[0].is_string() || !pair[1].is_string())
        no_message(line_, fmt::format("`{}` does not have pairs of strings", name));
      out.emplace_back(pair[0], pair[1]);
    }
    return out;
  }
  TaskFile file(const Message& json) {
    Members m(line_, json);
    TaskFile out{m.text("name"), m.text("text"), m.texts("files")};
    m.done();
    return out;
  }

  void done() const {
    for (const auto& [name, value] : json_.items())
      if (std::find(asked_.begin(), asked_.end(), name) == asked_.end())
        no_message(line_, fmt::format("it has an unknown member `{}`", name));
  }

 private:
  Message of_kind(const char* name, const char* kind, bool (Message::*is)() const noexcept) {
    asked_.emplace_back(name);
    if (!json_.contains(name)) no_message(line_, fmt::format("it has no member `{}`", name));
    if (!(json_[name].*is)()) no_message(line_, fmt::format("`{}` is not {}", name, kind));
    return json_[name];
  }

  const std::string& line_;
  Message json_;
  std::vector<std::string> asked_;
};

Message knobs_message(const KnobValues& values) {
  Message out = Message::object();
  for (const auto& [name, v] : values) {
    if (const auto* n = v.as<std::int64_t>())
      out[name] = *n;
    else if (const auto* b = v.as<bool>())
      out[name] = *b;
    else
      out[name] = knob_text(v);
  }
  return out;
}

Message texts_message(const NamedTexts& all) {
  Message out = Message::array();
  for (const auto& [name, text] : all) out.push_back(Message::array({name, text}));
  return out;
}

Message file_message(const TaskFile& f) {
  return {{"name", f.name}, {"text", f.text}, {"files", texts_message(f.files)}};
}

std::string line_of(const Message& m) {
  return m.dump(-1, ' ', false, Message::error_handler_t::replace);
}

constexpr Status kAnswers[]{Status::Ok, Status::Failed, Status::Wrong};

}  // namespace

std::string to_line(const WorkerTask& t) {
  Message scripts = Message::array();
  for (const TaskFile& s : t.scripts) scripts.push_back(file_message(s));
  return line_of({{"task", t.kernel},
                  {"version", t.version},
                  {"kernel_hash", t.kernel_hash},
                  {"script_hash", t.script_hash},
                  {"target", t.target},
                  {"params", texts_message(t.params)},
                  {"settings", texts_message(t.settings)},
                  {"knobs", texts_message(t.knobs)},
                  {"trust", t.trust},
                  {"seconds", t.seconds},
                  {"memory", t.memory},
                  {"input", file_message(t.input)},
                  {"scripts", scripts}});
}

WorkerTask parse_task(const std::string& line) {
  Members m(line);
  WorkerTask t;
  t.kernel = m.text("task");
  t.version = m.text("version");
  t.kernel_hash = m.text("kernel_hash");
  t.script_hash = m.text("script_hash");
  t.target = m.text("target");
  t.params = m.texts("params");
  t.settings = m.texts("settings");
  t.knobs = m.texts("knobs");
  t.trust = m.truth("trust");
  t.seconds = m.number("seconds");
  t.memory = m.number("memory");
  t.input = m.file(m.object("input"));
  for (const Message& s : m.array("scripts")) t.scripts.push_back(m.file(s));
  m.done();
  return t;
}

std::string to_line(const WorkerOrder& o) {
  Message out;
  switch (o.kind) {
    case OrderKind::Measure:
      out = {{"measure", o.number}, {"knobs", knobs_message(o.knobs)}, {"verify", o.verify}};
      break;
    case OrderKind::Lead: out = {{"lead", knobs_message(o.knobs)}, {"seconds", o.seconds}}; break;
    case OrderKind::Limit: out = {{"limit", o.seconds}}; break;
    case OrderKind::Cancel: out = {{"cancel", true}}; break;
  }
  for (const auto& [script, file] : o.files)
    out["files"].push_back(Message::array({script, file.first, file.second}));
  return line_of(out);
}

WorkerOrder parse_order(const std::string& line) {
  Members m(line);
  WorkerOrder o;
  if (m.has("measure")) {
    o.number = m.count("measure");
    o.knobs = m.knobs("knobs");
    o.verify = m.truth("verify");
  } else if (m.has("lead")) {
    o.kind = OrderKind::Lead;
    o.knobs = m.knobs("lead");
    o.seconds = m.number("seconds");
  } else if (m.has("limit")) {
    o.kind = OrderKind::Limit;
    o.seconds = m.number("limit");
  } else {
    o.kind = OrderKind::Cancel;
    m.truth("cancel");
  }
  if (m.has("files"))
    for (const Message& f : m.array("files")) {
      if (!f.is_array() || f.size() != 3 || !f[0].is_number_unsigned() || !f[1].is_string() ||
          !f[2].is_string())
        no_message(line, "`files` does not have a number, a name and a text each");
      o.files.push_back({f[0], {f[1], f[2]}});
    }
  m.done();
  return o;
}

std::string to_line(const WorkerReply& r) {
  if (!r.error.empty()) return line_of({{"error", r.error}, {"code", r.code}});
  if (r.ready)
    return line_of({{"ready", r.ready->device},
                    {"compiler", r.ready->compiler},
                    {"flags", r.ready->flags},
                    {"version", r.ready->version},
                    {"room", r.room}});
  const Answer& a = *r.answer;
  Message out{{"measured", a.number}, {"status", to_string(a.status)}, {"times", a.times}};
  if (!a.code.empty()) out["code"] = a.code;
  if (!a.reason.empty()) out["reason"] = a.reason;
  if (!a.hint.empty()) out["hint"] = a.hint;
  if (a.better) out["better"] = *a.better;
  return line_of(out);
}

WorkerReply parse_reply(const std::string& line) {
  Members m(line);
  WorkerReply r;
  if (m.has("error")) {
    r.error = m.text("error");
    r.code = m.text("code");
  } else if (m.has("ready")) {
    r.ready = Place{m.text("ready"), m.text("compiler"), m.text("flags"), m.text("version")};
    r.room = m.count("room");
  } else {
    Answer a;
    a.number = m.count("measured");
    const std::string status = m.text("status");
    const auto* known = std::find_if(std::begin(kAnswers), std::end(kAnswers),
                                     [&](Status s) { return to_string(s) == status; });
    if (known == std::end(kAnswers)) no_message(line, "`status` is not ok, failed or wrong");
    a.status = *known;
    for (const Message& t : m.array("times")) {
      if (!t.is_number() || !std::isfinite(t.get<double>()) || t.get<double>() < 0)
        no_message(line, "a time is not a number of seconds, at least 0");
      a.times.push_back(t);
    }
    if (a.times.empty() == (a.status == Status::Ok))
      no_message(line, "times do not go with the status");
    if (m.has("code")) a.code = m.text("code");
    if (m.has("reason")) a.reason = m.text("reason");
    if (m.has("hint")) a.hint = m.text("hint");
    if (m.has("better")) a.better = m.truth("better");
    r.answer = std::move(a);
  }
  m.done();
  return r;
}

}  // namespace moonloop::tuning
