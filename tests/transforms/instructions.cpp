// tag_instructions, find_instructions, remove_instructions, add_dependency.
#include "tests/transforms/loop_kit.h"
#include "tests/transforms/same_values.h"
#include "transforms/add_dependency.h"
#include "transforms/find_instructions.h"
#include "transforms/remove_instructions.h"
#include "transforms/tag_instructions.h"

using namespace moonloop;

namespace {

const char* const kThree = R"(
kernel three(n: int32, a: float64[n], b: float64[n], c: float64[n])
domain {[i]: 0 <= i < n}
a[i] = 1             {id=first}
b[i] = 2*c[i]        {id=second, dep=first}
c[i] = a[i] + 1      {id=third, dep=second, tags=last}
)";

std::string ids(const std::vector<InsnPtr>& all) {
  std::vector<std::string> names;
  for (const InsnPtr& i : all) names.push_back(i->id);
  return fmt::format("{}", fmt::join(names, " "));
}
Match m(const char* text) { return Match::parse(text); }

}  // namespace

TEST_CASE("tag_instructions") {
  const Kernel k = tag_instructions(parsed(kThree), "early", m("first or second"));
  CHECK(ids(find_instructions(k, m("tag:early"))) == "first second");
  CHECK(ids(find_instructions(tag_instructions(k, "all"), m("tag:all"))) == "first second third");
  CHECK(message([&] { tag_instructions(k, "x", m("fourth")); }) ==
        "`within` selects no instruction in kernel `three`; it has `first`, `second`, `third`");
  CHECK(message([&] { tag_instructions(k, "a b"); }) ==
        "`a b` is not a tag: tags are letters, digits, `_` and `.`");
}

TEST_CASE("find_instructions") {
  const Kernel k = parsed(kThree);
  CHECK(ids(find_instructions(k, m("reads:a or tag:last"))) == "third");
  CHECK(ids(find_instructions(k, m("writes:z"))).empty());
  const Value v = run_query(*find_op("find_instructions"), k, {text("id:second")}, {});
  const auto& found = *v.as<ValueList>();
  REQUIRE(found.size() == 1);
  CHECK(to_lua(found[0]).find("rhs = \"2*c[i]\"") != std::string::npos);
  CHECK(to_lua(found[0]).find("depends_on = {\"first\"}") != std::string::npos);
}

TEST_CASE("remove_instructions: dependencies are bridged") {
  const Kernel k = parsed(kThree);
  const Kernel out = remove_instructions(k, {"second"});
  CHECK(ids(out.instructions) == "first third");
  CHECK(out.instructions[1]->depends_on == std::vector<std::string>{"first"});
  CHECK(same_values(remove_instructions(k, {"second"}), out, {{"n", 3}}));
  CHECK(ids(remove_instructions(k, {"first", "second", "third"}).instructions).empty());
  CHECK(ids(remove_instructions(k, {"second", "third"}).instructions) == "first");
}

TEST_CASE("remove_instructions: a write that comes after all reads passes nothing on") {
  const std::string begin =
      "kernel k(n: int32, B: inout float64[n], c: out float64[n])\ndomain {[i]: 0 <= i < n}\n"
      "domain {[j]: 0 <= j < n}\n";
  const std::string read = "c[i] = B[i]     {id=read}\n", write = "B[j] = 2*B[j]   {id=last}\n";
  CHECK(ids(remove_instructions(parsed(begin + read + write), {"last"}).instructions) == "read");
  CHECK(code_of([&] { remove_instructions(parsed(begin + write + read), {"last"}); }) ==
        "value-needed");
  // In a loop around both it comes before the next iteration's read.
  CHECK(code_of([&] {
          remove_instructions(
              parsed(begin + "domain {[t]: 0 <= t < 3}\nfor t\n" + read + write + "end\n"),
              {"last"});
        }) == "value-needed");
}

TEST_CASE("remove_instructions: refusals") {
  const Kernel k = parsed(kThree);
  CHECK(message([&] { remove_instructions(k, {"first"}); }) ==
        "`third` reads `a`, which `first` writes; remove the reader too, or pass `unsafe = true`");
  CHECK(code_of([&] { remove_instructions(k, {"first"}); }) == "value-needed");
  CHECK(message([&] { remove_instructions(k, {"fourth"}); }) ==
        "no instruction `fourth` in kernel `three`; it has `first`, `second`, `third`");
  const Kernel forced = apply(k, "remove_instructions", {text("first")}, {{"unsafe", flag(true)}});
  CHECK(ids(forced.instructions) == "second third");
  REQUIRE(forced.claims.size() == 1);
  CHECK(forced.claims[0].step == "remove_instructions(\"first\", {unsafe = true})");
  const Kernel rows = parsed(R"(
kernel rows(n: int32, len: int32[n], a: float64[n])
domain {[i]: 0 <= i < n}
domain [m] -> {[j]: 0 <= j < m}
<int32> m = len[i] {id=length}
a[i] = sum(j, 1.0)
)");
  CHECK(message([&] { remove_instructions(rows, {"length"}); }) ==
        "a loop bound reads `m`, which `length` writes; remove the reader too, or pass `unsafe = "
        "true`");
}

TEST_CASE("add_dependency: moves what may move, refuses the rest") {
  const Kernel k = parsed(R"(
kernel two(n: int32, a: float64[n], b: float64[n], c: float64[n])
domain {[i]: 0 <= i < n}
a[i] = 1        {id=one}
b[i] = 2        {id=two}
c[i] = a[i]     {id=three, dep=one}
)");
  const Kernel out = add_dependency(k, m("one"), m("two"));
  CHECK(tree(out) != tree(k));
  CHECK(ids(out.instructions).find("two one") != std::string::npos);
  CHECK(same_values(k, out, {{"n", 4}}));
  CHECK(ids(add_dependency(k, m("three"), m("*")).instructions) == "one two three");
  CHECK(message([&] { add_dependency(k, m("one"), m("three")); }).find("one") != std::string::npos);
  CHECK(code_of([&] { add_dependency(k, m("one"), m("three")); }) == "dependency-cycle");
  CHECK(code_of([&] { add_dependency(k, m("one"), m("one")); }) == "dependency-cycle");
  CHECK(message([&] { add_dependency(k, m("one"), m("one")); }) ==
        "`one` cannot run before itself");
  CHECK(message([&] { add_dependency(k, m("four"), m("one")); }) ==
        "`insn_match` selects no instruction in kernel `two`; it has `one`, `two`, `three`");
  CHECK(message([&] { add_dependency(k, m("one"), m("four")); }) ==
        "`depends_on` selects no instruction in kernel `two`; it has `one`, `two`, `three`");
  // Nothing declared, but the values demand the order of the text.
  const Kernel values = parsed(R"(
kernel values(n: int32, a: float64[n], c: float64[n])
domain {[i]: 0 <= i < n}
c[i] = a[i]     {id=reader}
a[i] = 1        {id=writer, dep=*}
)");
  CHECK(code_of([&] { add_dependency(values, m("reader"), m("writer")); }) != "legal");
}
