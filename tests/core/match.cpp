#include "core/model/match.h"

#include <doctest/doctest.h>

using namespace moonloop;

namespace {

Kernel kernel() {
  Kernel k;
  k.name = "knl";
  const auto add = [&](const std::string& id, std::set<std::string> tags, const std::string& to,
                       const std::string& from) {
    Instruction i;
    i.id = id;
    i.tags = std::move(tags);
    i.inames = {"i"};
    i.lhs = {load(to, {var("i")})};
    i.rhs = load(from, {var("i")});
    k.instructions.push_back(std::make_shared<Instruction>(i));
  };
  add("init", {"input"}, "a", "b");
  add("init_c", {"input", "late"}, "c", "b");
  add("update", {}, "c", "a");
  return k;
}

std::string selected(const std::string& text) {
  const Kernel k = kernel();
  const Match m = Match::parse(text);
  std::string out;
  for (const InsnPtr& i : k.instructions)
    if (m(k, *i)) out += (out.empty() ? "" : " ") + i->id;
  return out;
}

/// `levels`: innermost first, `name` or `name$tag`; the last is an instruction.
bool place(const std::string& text, const std::vector<std::string>& levels) {
  const Kernel k = kernel();
  Stack stack;
  for (const std::string& l : levels) {
    const auto d = l.find('$');
    stack.push_back({l.substr(0, d), {}});
    if (d != std::string::npos) stack.back().tags.insert(l.substr(d + 1));
  }
  const Instruction* insn = k.find_insn(stack.back().name);
  REQUIRE(insn);
  stack.back().tags = insn->tags;
  return Match::parse(text)(k, *insn, stack);
}

}  // namespace

TEST_CASE("glob_match") {
  CHECK(glob_match("a*c", "abbc"));
  CHECK(glob_match("*", ""));
  CHECK(glob_match("a?c", "abc"));
  CHECK(glob_match("*a*a*", "banana"));
  CHECK(glob_match("[a-c]x", "bx"));
  CHECK(glob_match("[!a-c]x", "dx"));
  CHECK(glob_match("[]]", "]"));
  CHECK_FALSE(glob_match("a?c", "ac"));
  CHECK_FALSE(glob_match("[!a-c]x", "bx"));
  CHECK_FALSE(glob_match("ab", "abc"));
  CHECK_FALSE(glob_match("A", "a"));
}

TEST_CASE("match: queries on instructions") {
  CHECK(selected("") == "init init_c update");
  CHECK(selected("init") == "init");
  CHECK(selected("init*") == "init init_c");
  CHECK(selected("id:up*") == "update");
  CHECK(selected("id: update") == "update");
  CHECK(selected("tag:input") == "init init_c");
  CHECK(selected("*$input") == "init init_c");
  CHECK(selected("*$*") == "init init_c");
  CHECK(selected("*") == "init init_c update");
  CHECK(selected("writes:c") == "init_c update");
  CHECK(selected("reads:b and not tag:late") == "init");
  CHECK(selected("tag:late or (writes:c and reads:a)") == "init_c update");
  CHECK(selected("not tag:input or id:init and reads:b") == "init update");
  CHECK(selected("not (writes:a or writes:c)") == "");
  CHECK(selected("iname:i") == "init init_c update");
  CHECK(selected("iname:j") == "");
  CHECK(selected("in_kernel:k*") == "init init_c update");
  CHECK(selected("...") == "init init_c update");
  CHECK(Match::parse(" ... ").everything());
  CHECK(Match::parse("  ").everything());
  CHECK_FALSE(Match::parse("*").everything());
}

TEST_CASE("match: stacks, innermost first") {
  CHECK(place("g$three < h$two", {"g$three", "h$two", "init"}));
  CHECK_FALSE(place("g$three < h$two", {"g$three", "h$one", "init"}));
  CHECK_FALSE(place("g$three < h$two", {"g", "h$two", "init"}));
  CHECK_FALSE(place("g$three < h$two", {"f", "g$three", "h$two", "init"}));
  CHECK(place("f < ... < init", {"f", "init"}));
  CHECK(place("f < ... < init", {"f", "g", "h", "init"}));
  CHECK_FALSE(place("f < init", {"f", "g", "init"}));
  CHECK(place("f < *$input", {"f", "init"}));
  CHECK_FALSE(place("f < *$input", {"f", "update"}));
  CHECK(place("[fg] < h", {"g", "h", "init"}));
  CHECK(place("... < h", {"f", "g", "h", "init"}));
  CHECK(place("f < (id:g and not tag:x)", {"f", "g", "init"}));
  CHECK_FALSE(place("f < (id:g and not tag:x)", {"f", "g$x", "init"}));
}

TEST_CASE("match: stacks, outermost first") {
  CHECK(place("init > h > g", {"g", "h", "init"}));
  CHECK(place("init > h", {"g", "h", "init"}));
  CHECK_FALSE(place("init > h $", {"g", "h", "init"}));
  CHECK(place("init > h$", {"h", "init"}));
  CHECK_FALSE(place("h > g", {"g", "h", "init"}));
  CHECK(place("... > h > g", {"g", "h", "init"}));
  CHECK(place("... > id:h and tag:two > id:g and tag:two", {"g$two", "h$two", "init"}));
  CHECK_FALSE(place("... > id:h and tag:two > id:g and tag:two", {"g$two", "h$one", "init"}));
  CHECK(place("init > ... > f", {"f", "g", "h", "init"}));
}

TEST_CASE("match: one query may name the call or its instruction") {
  CHECK(place("g$three", {"g$three", "h", "init"}));
  CHECK(place("init", {"g", "h", "init"}));
  CHECK_FALSE(place("update", {"g", "h", "init"}));
  CHECK_FALSE(place("h", {"g", "h", "init"}));
  CHECK(place("writes:a", {"g", "init"}));
}

TEST_CASE("match: malformed texts") {
  const auto says = [](const char* text, const char* message) {
    CAPTURE(text);
    CHECK_THROWS_WITH_AS(Match::parse(text), message, Error);
  };
  says("id:(a", "in the match `id:(a`: `id:` is followed by one name");
  says("(a or b", "in the match `(a or b`: `(` is never closed");
  says("a or", "in the match `a or`: a name or a query is missing at its end");
  says("a b", "in the match `a b`: `b` is not expected here");
  says("a < b > c", "in the match `a < b > c`: `<` and `>` do not mix");
  says("a < b $", "in the match `a < b $`: a `$` alone ends a pattern `outer > inner $`");
  says("$x", "in the match `$x`: a tag is written `name$tag`, for any name `*$tag`");
  says("[ab", "in the match `[ab`: `[` is never closed");
  says("a, b", "in the match `a, b`: `,` is not expected here");
  says("h:two",
       "in the match `h:two`: there is no query `h:`; there are `id:`, `tag:`, `reads:`, "
       "`writes:`, `iname:` and `in_kernel:`, and a tag is also written `h$two`");
  try {
    Match::parse("init or (tag:x");
    FAIL("accepted");
  } catch (const Error& e) {
    CHECK(e.diagnostic().code == "bad-match");
    CHECK(e.diagnostic().where.at.col == 9);
  }
  CHECK_THROWS_AS(Match::parse(std::string(100000, '(')), Error);
}
