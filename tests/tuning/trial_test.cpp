#include "tuning/trial.h"

#include "tests/tuning/kit.h"

using namespace moonloop;          // NOLINT
using namespace moonloop::test;    // NOLINT
using namespace moonloop::tuning;  // NOLINT

namespace {

/// The mistakes in `text` as `line:column: text`, one a line.
std::string mistakes(const std::string& text) {
  try {
    parse_trials(add_source("t.jsonl", text));
  } catch (const Error& e) {
    std::string out;
    for (const Diagnostic& d : e.diagnostics()) {
      CHECK(d.code == "bad-trial");
      out += fmt::format("{}:{}: {}\n", d.where.at.line, d.where.at.col, d.text);
    }
    return out;
  }
  return {};
}

/// A line with a part of it replaced.
std::string changed(const std::string& part, const std::string& by) {
  std::string line = to_json_line(trial(16, 64, 0.5));
  const auto at = line.find(part);
  REQUIRE(at != std::string::npos);
  return line.replace(at, part.size(), by);
}

}  // namespace

TEST_CASE("trial: lines of JSON") {
  CHECK(to_json_line(trial(16, 64, 0.5)) ==
        R"({"compiler":"cc 12","date":"2026-11-28T12:00:00Z","device":"here","flags":"-O3",)"
        R"("kernel":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",)"
        R"("knobs":{"bi":16},"name":"twice",)"
        R"("script":"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",)"
        R"("sizes":{"n":64},"status":"ok","target":"c","times":[0.5],"version":"0.1.0"})");
  const std::string two =
      to_json_line(trial(16, 64, 0.5)) + "\n\n  \r\n" + to_json_line(trial(1, 2, 3)) + "\r\n";
  const std::vector<Trial> all = parse_trials(add_source("t.jsonl", two));
  REQUIRE(all.size() == 2);
  CHECK(bi_of(all[1]) == 1);
  CHECK(parse_trials(add_source("t.jsonl", "")).empty());
}

TEST_CASE("trial: each mistake has its line and column") {
  CHECK(mistakes("{").starts_with("1:1: not JSON: "));
  CHECK(mistakes("\n" + to_json_line(trial(1, 2, 3)) + "\n{\"kernel\": nope}")
            .starts_with("3:13: not JSON: "));
  CHECK(mistakes("[1]") == "1:1: the line is not a JSON object\n");
  CHECK(mistakes("{}") == "1:1: no member `kernel`\n");
  CHECK(mistakes(changed("\"c\"", "\"cee\"")) == "1:297: `cee` is not a target\n");
  CHECK(mistakes(changed("\"kernel\":\"a", "\"kernel\":\"A")) ==
        "1:81: `kernel` is not a hash of 64 hex digits\n");
  CHECK(mistakes(changed("\"flags\"", "\"flag\"")) ==
        "1:67: a trial has no member `flag`; did you mean `flags`?\n");
  CHECK(mistakes(changed("\"bi\":16", "\"bi\":16.5")) ==
        "1:166: knob `bi` is not an integer, a string or a boolean\n");
  CHECK(mistakes(changed("\"bi\":16", "\"b-i\":16")) == "1:157: `b-i` names no knob\n");
  CHECK(mistakes(changed("\"n\":64", "\"n\":9223372036854775808")) ==
        "1:275: size `n` is not an integer\n");
  CHECK(mistakes(changed("\"n\":64", "\"n\":1,\"n\":2")) == "1:281: member `n` is there twice\n");
  CHECK(mistakes(changed("[0.5]", "[]")) == "1:310: a trial that is ok has times\n");
  CHECK(mistakes(changed("[0.5]", "[-1]")) ==
        "1:310: a time is not a number of seconds, at least 0\n");
  CHECK(mistakes(changed("[0.5]", "[1e999]")).starts_with("1:1: number overflow"));
  CHECK(mistakes(changed("\"ok\"", "\"fine\"")) ==
        "1:283: `fine` is not ok, failed, refused or wrong\n");
  CHECK(mistakes(changed("2026-11", "2026-13")) ==
        "1:21: `2026-13-28T12:00:00Z` is not of the form 2026-11-28T12:00:00Z\n");
  CHECK(mistakes(changed("cc 12", "cc \xff")).starts_with("1:17: not JSON: "));
  std::string many;
  for (int i = 0; i < 50; ++i) many += "{}\n";
  const std::string all = mistakes(many);
  CHECK(std::count(all.begin(), all.end(), '\n') == kMostMistakes);
}

TEST_CASE("trial: dates") {
  CHECK(utc_date().size() == 20);
  CHECK(utc_date_before(1) < utc_date());
  CHECK(utc_date_before(0) <= utc_date());
}
