#include "scripts/knobs.h"

#include "tests/scripts/harness.h"

using namespace moonloop;        // NOLINT
using namespace moonloop::test;  // NOLINT

namespace {

ScriptOptions with(Knobs::Given given, Knobs::Tuned tuned = {}) {
  ScriptOptions o;
  o.knobs = std::make_shared<Knobs>(std::move(given), std::move(tuned));
  return o;
}

std::string code_of(const std::string& lua, const ScriptOptions& options = {}) {
  return failure(kDouble, lua, options).code;
}

}  // namespace

TEST_CASE("knobs: a value is the given one, else the tuned one, else the default") {
  const std::string lua = R"(
    local bi = lp.knob("bi", {16, 32, 64}, {default = 32})
    local way = lp.knob("way", {"rows", "columns"})
    local fast = lp.knob("fast", {true, false}, {default = false})
    print_values = {bi, way, fast}
    assert(math.type(bi) == "integer" and type(fast) == "boolean")
    twice = twice:split_iname("i", bi, {inner_tag = way == "rows" and "unr" or "simd"})
  )";
  const auto values = [&](const ScriptOptions& o) {
    transform(kDouble, lua, o);
    std::string out;
    for (const Knob& k : o.knobs->all())
      out += k.name + "=" + knob_text(k.chosen) + " (" + to_string(k.from) + ") ";
    return out;
  };
  CHECK(values(with({})) == "bi=32 (default) way=rows (default) fast=false (default) ");
  CHECK(values(with({{"fast", "true"}, {"bi", "64"}})) ==
        "bi=64 (command line) way=rows (default) fast=true (command line) ");
  int asked = 0;
  const Knobs::Tuned tuned = [&]() -> std::optional<KnobValues> {
    ++asked;
    return KnobValues{
        {"bi", {std::int64_t{16}}}, {"way", {std::string("columns")}}, {"fast", {true}}};
  };
  CHECK(values(with({{"bi", "64"}}, tuned)) ==
        "bi=64 (command line) way=columns (database) fast=true (database) ");
  CHECK(asked == 1);
  CHECK(values(with({{"bi", "64"}, {"way", "rows"}, {"fast", "true"}}, tuned)) ==
        "bi=64 (command line) way=rows (command line) fast=true (command line) ");
  CHECK(asked == 1);  // nothing was left to ask for
}

TEST_CASE("knobs: a tuned value that the list does not have is not used") {
  const auto tuned = []() -> std::optional<KnobValues> {
    return KnobValues{{"bi", {std::int64_t{128}}}, {"bj", {std::string("8")}}};
  };
  const ScriptOptions o = with({}, tuned);
  run_lua(kDouble, R"(
    assert(lp.knob("bi", {16, 32}) == 16)
    assert(lp.knob("bj", {4, 8}) == 4)
    assert(lp.knob("bk", {4, 8}) == 4)
  )",
          o);
  REQUIRE(o.knobs->unlisted().size() == 2);
  CHECK(knob_text(o.knobs->unlisted().at("bi")) == "128");
  CHECK(knob_type(o.knobs->unlisted().at("bj")) == "string");
}

TEST_CASE("knobs: wrong declarations are wrong arguments, at their line") {
  const auto text = [](const std::string& call) {
    const Diagnostic d = failure(kDouble, "\nlocal x = " + call);
    CHECK(d.code == "bad-argument");
    CHECK(place(d) == "2:1");
    return d.text;
  };
  CHECK(text("lp.knob('bi', {})") == "bad argument #2 to 'knob' (a knob has at least one value)");
  CHECK(text("lp.knob('bi', {1, 2, 1})") == "bad argument #2 to 'knob' (1 is there twice)");
  CHECK(text("lp.knob('bi', {1, 'a'})") ==
        "bad argument #2 to 'knob' (value 2 is of type string, and value 1 of type integer)");
  CHECK(text("lp.knob('bi', {1.5})") ==
        "bad argument #2 to 'knob' (value 1 is 1.5; integers, strings or booleans expected)");
  CHECK(text("lp.knob('bi', {2.0})") ==
        "bad argument #2 to 'knob' (value 1 is 2.0; integers, strings or booleans expected)");
  CHECK(text("lp.knob('bi', {{1}})") ==
        "bad argument #2 to 'knob' (value 1 is {1}; integers, strings or booleans expected)");
  CHECK(text("lp.knob('bi', {a = 1})") ==
        "bad argument #2 to 'knob' (the values are an array, such as {16, 32, 64})");
  CHECK(text("lp.knob('bi', 3)") == "bad argument #2 to 'knob' (table expected, got number)");
  CHECK(text("lp.knob('2i', {1})") ==
        "bad argument #1 to 'knob' (the name of a knob consists of letters, digits and _, no digit "
        "first)");
  CHECK(text("lp.knob('bi', {1, 2}, {default = 3})") ==
        "bad argument #3 to 'knob' (the default 3 is not one of the values)");
  CHECK(text("lp.knob('bi', {1, 2}, {default = '1'})") ==
        "bad argument #3 to 'knob' (the default \"1\" is not one of the values)");
  CHECK(text("lp.knob('bi', {1, 2}, {defualt = 1})") ==
        "bad argument #3 to 'knob' (unknown option 'defualt'; did you mean 'default'?)");
  CHECK(text("lp.knob('bi', {1, 2}, 2)") ==
        "bad argument #3 to 'knob' (table expected, got number)");
}

TEST_CASE("knobs: a given value has to be one of them, at the declaration") {
  const std::string lua = "local a = 1\nlocal way = lp.knob('way', {'rows', 'columns'})";
  const Diagnostic d = failure(kDouble, lua, with({{"way", "colums"}}));
  CHECK(d.code == "unlisted-value");
  CHECK(d.text ==
        "`colums` is not a value of knob `way`; it has `rows`, `columns`; did you mean `columns`?");
  CHECK(place(d) == "2:16");
  CHECK(failure(kDouble, "lp.knob('bi', {16, 32})", with({{"bi", "016"}})).text ==
        "`016` is not a value of knob `bi`; it has `16`, `32`");
  CHECK(code_of("lp.attempt(lp.knob, 'bi', {16, 32})", with({{"bi", "8"}})) == "unlisted-value");
}

TEST_CASE("knobs: one name has one list of values, in all scripts of a command") {
  run_lua(kDouble, "assert(lp.knob('b', {1, 2}) == lp.knob('b', {1, 2}, {default = 1}))");
  const Diagnostic d = failure(kDouble, "lp.knob('b', {1, 2})\n\nlp.knob('b', {1, 4})");
  CHECK(d.code == "knob-redeclared");
  CHECK(d.text ==
        "knob `b` has the values `1`, `4` with default 1 here, and `1`, `2` with default 1 where "
        "it was declared before");
  CHECK(place(d) == "3:4");
  REQUIRE(d.notes.size() == 1);
  CHECK(d.notes[0].at.line == 1);
  CHECK(code_of("lp.knob('b', {1, 2})\nlp.knob('b', {1, 2}, {default = 2})") == "knob-redeclared");
  CHECK(code_of("lp.knob('b', {1, 2})\nlp.knob('b', {'1', '2'})") == "knob-redeclared");
  const ScriptOptions shared = with({});
  transform(kDouble, "lp.knob('b', {1, 2})", shared);
  CHECK(code_of("lp.knob('b', {2, 1})", shared) == "knob-redeclared");
}

TEST_CASE("knobs: given ones that no script declares, and one that is given twice") {
  const auto error = [](const std::string& lua, Knobs::Given given) -> Diagnostic {
    try {
      const ScriptOptions o = with(std::move(given));
      transform(kDouble, lua, o);
      o.knobs->require_declared();
    } catch (const Error& e) { return e.diagnostic(); }
    return {};
  };
  CHECK(error("lp.knob('bi', {1})", {{"bi", "1"}}).code.empty());
  const Diagnostic unknown = error("lp.knob('tile', {1})", {{"tiel", "1"}});
  CHECK(unknown.code == "unknown-knob");
  CHECK(unknown.text ==
        "no script declares a knob `tiel`, which `--knob tiel=1` gives; they declare `tile`; did "
        "you mean `tile`?");
  CHECK(error("", {{"bi", "1"}}).text ==
        "no script declares a knob `bi`, which `--knob bi=1` gives; they declare none");
  CHECK(error("", {{"bi", "1"}, {"bi", "2"}}).code == "repeated-parameter");
}

TEST_CASE("knobs: the trace tells the values, and replays to the same kernel without them") {
  const ScriptOptions o = with({{"bi", "8"}});
  const std::string lua = R"(
    local bi = lp.knob("bi", {4, 8})
    local way = lp.knob("way", {"a\nb", "c"})
    twice = twice:split_iname("i", bi)
    trace = twice:trace()
    assert(trace:find('-- knob bi = 8 (of 4, 8; command line)\n', 1, true))
    assert(trace:find('-- knob way = "a\\nb" (of "a\\nb", "c"; default)\n', 1, true))
  )";
  const Kernel k = transform(kDouble, lua, o);
  const std::string replay = replay_script(k, 0, o.knobs.get());
  CHECK(replay ==
        "-- the transforms of kernel `twice`\n"
        "-- knob bi = 8 (of 4, 8; command line)\n"
        "-- knob way = \"a\\nb\" (of \"a\\nb\", \"c\"; default)\n"
        "twice = lp.split_iname(twice, \"i\", 8)\n");
  CHECK(replay_script(transform(kDouble, replay)) == replay_script(k));
}
