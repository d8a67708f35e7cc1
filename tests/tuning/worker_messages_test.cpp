#include "tuning/worker_messages.h"

#include "tests/tuning/kit.h"

/// What searches and workers write to each other.

using namespace moonloop;          // NOLINT
using namespace moonloop::test;    // NOLINT
using namespace moonloop::tuning;  // NOLINT

namespace {

template <class F>
std::string message_of(F f) {
  try {
    f();
  } catch (const Error& e) {
    CHECK(e.diagnostic().code == "bad-message");
    return e.diagnostic().text;
  }
  return "none";
}

std::string of_reply(const std::string& line) {
  return message_of([&] { parse_reply(line); });
}
std::string of_order(const std::string& line) {
  return message_of([&] { parse_order(line); });
}

}  // namespace

TEST_CASE("messages: a task is what it was") {
  WorkerTask t;
  t.version = "0.1.0";
  t.kernel = "up";
  t.kernel_hash = "a";
  t.script_hash = "b";
  t.input = {"k.loop", "kernel up\n\"quoted\" \t", {}};
  t.scripts = {{"s.lua", "-- 1\n", {{"lib/m.lua", "return 1"}}}, {"t.lua", "", {}}};
  t.target = "openmp";
  t.params = {{"n", "64"}, {"x", "1.5"}};
  t.settings = {{"key", "v"}};
  t.knobs = {{"bi", "4"}};
  t.trust = true;
  t.seconds = 2.5;
  t.memory = 3e8;
  const std::string line = to_line(t);
  CHECK(line.find('\n') == std::string::npos);
  const WorkerTask back = parse_task(line);
  CHECK(to_line(back) == line);
  CHECK(back.scripts[0].files == t.scripts[0].files);
  CHECK(back.params == t.params);
  CHECK(back.trust);
  CHECK(back.seconds == 2.5);
  CHECK(message_of([&] { parse_task("{\"task\": \"up\"}"); }) ==
        "`{\"task\": \"up\"}` is not a message: it has no member `version`");
  std::string wrong = line;
  wrong.replace(wrong.find("\"trust\":true"), 12, "\"trust\":\"no\"");
  CHECK(message_of([&] { parse_task(wrong); }).ends_with("`trust` is not true or false"));
  wrong = line;
  wrong.replace(wrong.find("[\"n\",\"64\"]"), 10, "[\"n\",64]");
  CHECK(
      message_of([&] { parse_task(wrong); }).ends_with("`params` does not have pairs of strings"));
}

TEST_CASE("messages: orders are what they were") {
  WorkerOrder measure;
  measure.number = 7;
  measure.knobs = {{"bi", {std::int64_t{64}}}, {"way", {std::string("rows")}}, {"x", {true}}};
  measure.verify = false;
  measure.files = {{1, {"m.lua", "return 1"}}};
  CHECK(to_line(measure) ==
        R"({"measure":7,"knobs":{"bi":64,"way":"rows","x":true},"verify":false,)"
        R"("files":[[1,"m.lua","return 1"]]})");
  WorkerOrder lead;
  lead.kind = OrderKind::Lead;
  lead.knobs = {{"bi", {std::int64_t{-1}}}};
  lead.seconds = 0.25;
  WorkerOrder limit;
  limit.kind = OrderKind::Limit;
  limit.seconds = 21;
  WorkerOrder cancel;
  cancel.kind = OrderKind::Cancel;
  for (const WorkerOrder& o : {measure, lead, limit, cancel}) {
    CAPTURE(to_line(o));
    CHECK(to_line(parse_order(to_line(o))) == to_line(o));
  }
  CHECK(of_order("rubbish") == "`rubbish` is not a message: it is not a JSON object");
  CHECK(of_order("[1]").ends_with("it is not a JSON object"));
  CHECK(of_order("{}").ends_with("it has no member `cancel`"));
  CHECK(of_order(R"({"measure":-1})").ends_with("`measure` is not a number from 0 on"));
  CHECK(of_order(R"({"limit":1e999})") != "none");
  CHECK(of_order(R"({"limit":-1})").ends_with("`limit` is negative or too large"));
  CHECK(of_order(R"({"limit":1,"more":1})").ends_with("it has an unknown member `more`"));
  CHECK(of_order(R"({"lead":{"1":2},"seconds":1})").ends_with("`1` names no knob"));
  CHECK(of_order(R"({"lead":{"a":1.5},"seconds":1})")
            .ends_with("knob `a` has no value that knobs have"));
  CHECK(of_order(R"({"lead":{"a":9223372036854775808},"seconds":1})") != "none");
  CHECK(of_order(R"({"cancel":true,"files":[[0,"a"]]})")
            .ends_with("`files` does not have a number, a name and a text each"));
  const std::string shown = of_order(std::string(100, 'x'));
  CHECK(shown == "`" + std::string(60, 'x') + "...` is not a message: it is not a JSON object");
}

TEST_CASE("messages: replies are what they were") {
  WorkerReply ready;
  ready.ready = Place{"EPYC, 2 threads", "cc 12", "-O3", "0.1.0"};
  ready.room = 3;
  WorkerReply answer;
  answer.answer = Answer{4, Status::Ok, {1e-3, 0.1 + 0.2}, "", "", "", true};
  WorkerReply failed;
  failed.answer = Answer{5, Status::Failed, {}, "run-crashed", "it ended", "a hint", {}};
  WorkerReply error;
  error.code = "no-knobs";
  error.error = "no script declares one";
  for (const WorkerReply& r : {ready, answer, failed, error}) {
    CAPTURE(to_line(r));
    CHECK(to_line(parse_reply(to_line(r))) == to_line(r));
  }
  CHECK(parse_reply(to_line(answer)).answer->times[1] == 0.1 + 0.2);
  CHECK(of_reply(R"({"measured":1,"status":"refused","times":[]})")
            .ends_with("`status` is not ok, failed or wrong"));
  CHECK(of_reply(R"({"measured":1,"status":"ok","times":[]})")
            .ends_with("times do not go with the status"));
  CHECK(of_reply(R"({"measured":1,"status":"ok","times":[-1]})")
            .ends_with("a time is not a number of seconds, at least 0"));
  CHECK(of_reply(R"({"measured":1,"status":"failed","times":[1]})")
            .ends_with("times do not go with the status"));
}
