// rename_inames, rename_inames_in_batch, replace_instruction_ids, set_argument_order,
// remove_unused_inames, remove_unused_arguments, rename_argument, find_unused_axis_tag,
// find_padding_multiple, set_instruction_priority, and real numbers in fix_parameters.
#include "core/model/original_layout.h"
#include "tests/transforms/loop_kit.h"
#include "tests/transforms/same_values.h"
#include "transforms/remove_unused_arguments.h"
#include "transforms/remove_unused_inames.h"
#include "transforms/rename_argument.h"
#include "transforms/rename_inames.h"
#include "transforms/rename_inames_in_batch.h"
#include "transforms/replace_instruction_ids.h"
#include "transforms/set_argument_order.h"
#include "transforms/set_instruction_priority.h"

using namespace moonloop;

namespace {

const char* const kLoops = R"(
kernel s(n: int32, a: float64[n], b: float64[n + 1], c: float64[n], d: float64[n])
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j < n}
domain {[l]: 0 <= l < n}
b[i] = 2*a[i]       {id=one}
c[j] = b[j]         {id=two}
d[l] = b[l + 1]     {id=three}
)";
std::string argument_names(const Kernel& k) {
  std::vector<std::string> out;
  for (const Argument& a : k.args) out.push_back(a.name);
  return fmt::format("{}", fmt::join(out, " "));
}

}  // namespace

TEST_CASE("rename_inames: several loops become one") {
  const Kernel k = parsed(kLoops);
  const Kernel out = rename_inames(k, {"i", "j"}, "x");
  CHECK(tree(out) == "for x\n  one\n  two\nfor l\n  three\n");
  CHECK(same_values(k, out, {{"n", 5}}));
  CHECK(tree(rename_inames(k, {"j", "i"}, "i", {.existing_ok = true})) ==
        "for i\n  one\n  two\nfor l\n  three\n");
  CHECK(message([&] { rename_inames(k, {"i", "j", "l"}, "x"); }) ==
        "three[x=0] would run before one[x=1], but one[x=1] writes b[1] and three[x=0] reads it "
        "(n=2)");
  CHECK(code_of([&] { rename_inames(k, {"i", "j"}, "i"); }) == "name-taken");
  CHECK(code_of([&] { rename_inames(k, {"i"}, "i", {.existing_ok = true}); }) == "name-taken");
  CHECK(code_of([&] { rename_inames(k, {"i", "z"}, "x"); }) == "unknown-iname");
}

TEST_CASE("rename_inames_in_batch: names change places, tags stay with their loops") {
  const Kernel k = parsed(R"(
kernel s(n: int32, a: float64[n, n], b: float64[n, n])
domain {[i, j]: 0 <= i <= j < n}
tag i: par
b[i, j] = a[j, i]   {id=copy}
)");
  const Kernel out = rename_inames_in_batch(k, {{"i", "j"}, {"j", "i"}});
  CHECK(line(out, "copy") == "b[j, i] = a[i, j]");
  CHECK(out.tag("j")->text == "par");
  CHECK(out.tag("i") == nullptr);
  CHECK(same_values(k, out, {{"n", 4}}));
  CHECK(line(rename_inames_in_batch(k, {{"i", "i"}, {"j", "col"}}), "copy") ==
        "b[i, col] = a[col, i]");
  CHECK(message([&] { rename_inames_in_batch(k, {{"i", "x"}, {"j", "x"}}); }) ==
        "`i` and `j` would both be `x`; `rename_inames` makes them one");
  CHECK(code_of([&] { rename_inames_in_batch(k, {{"i", "j"}}); }) == "name-taken");
  CHECK(code_of([&] { rename_inames_in_batch(k, {{"i", "2x"}}); }) == "bad-name");
  CHECK(code_of([&] { rename_inames_in_batch(k, {{"z", "x"}}); }) == "unknown-iname");
}

TEST_CASE("replace_instruction_ids: also where others depend on them") {
  const Kernel k = parsed(R"(
kernel s(n: int32, a: float64[n], b: float64[n])
domain {[i, j]: 0 <= i, j < n}
a[i] = 1                {id=first}
b[i] = sum(j, a[j])     {id=second, dep=first}
)");
  const Kernel out = replace_instruction_ids(k, {{"first", "second"}, {"second", "first"}});
  CHECK(line(out, "second") == "a[i] = 1");
  CHECK(out.find_insn("first")->depends_on == std::vector<std::string>{"second"});
  CHECK(same_values(k, out, {{"n", 4}}));
  const Kernel later = apply(apply(k, "split_iname", {text("i"), number(2)}),
                             "replace_instruction_ids", {text("second:total")});
  CHECK(same_values(k, apply(later, "tag_inames", {text("i_inner:unr")}), {{"n", 5}}));
  CHECK(message([&] { replace_instruction_ids(k, {{"first", "second"}}); }) ==
        "`first` and `second` would both have the id `second`");
  CHECK(code_of([&] { replace_instruction_ids(k, {{"third", "x"}}); }) == "unknown-instruction");
  CHECK(code_of([&] { replace_instruction_ids(k, {{"first", "a b"}}); }) == "bad-name");
}

TEST_CASE("set_argument_order") {
  const Kernel k = parsed(kLoops);
  const Kernel out = set_argument_order(k, {"d", "c", "b", "a", "n"});
  CHECK(argument_names(out) == "d c b a n");
  CHECK(same_values(k, out, {{"n", 3}}));
  CHECK(message([&] { set_argument_order(k, {"d", "c", "b", "a"}); }) ==
        "the argument `n` is missing");
  CHECK(message([&] { set_argument_order(k, {"d", "d"}); }) == "the argument `d` is there twice");
  CHECK(code_of([&] { set_argument_order(k, {"d", "d"}); }) == "bad-order");
  CHECK(code_of([&] { set_argument_order(k, {"x"}); }) == "unknown-argument");
}

TEST_CASE("remove_unused_inames: bounds of the others stay") {
  const Kernel k = parsed(R"(
kernel s(n: int32, a: float64[n], b: float64[n])
domain {[i, j]: 0 <= i and i + 2 <= j < n}
domain {[o]: 0 <= o < n}
domain [o] -> {[p]: 0 <= p < o}
tag j: unr
a[i] = 1         {id=one}
b[p] = 2         {id=two, inames=o:p}
)");
  const Kernel out = remove_unused_inames(k);
  CHECK(fmt::format("{}", fmt::join(out.inames(), " ")) == "i o p");
  CHECK(out.tag("j") == nullptr);
  CHECK(same_set(instances(out, {"i"}), "[n] -> {[i]: 0 <= i <= n - 3}"));
  CHECK(same_values(k, out, {{"n", 5}}));
  CHECK(message([&] { remove_unused_inames(k, {"i"}); }) == "`i` is in use: `one` needs it");
  CHECK(code_of([&] { remove_unused_inames(k, {"o"}); }) == "iname-used");
  CHECK(code_of([&] { remove_unused_inames(k, {"z"}); }) == "unknown-iname");
  const Kernel idle = parsed(R"(
kernel s(n: int32, a: float64[n])
domain {[o]: 0 <= o < n}
domain [o] -> {[p]: 0 <= p < o}
a[0] = 1
)");
  CHECK(remove_unused_inames(idle).inames().empty());
  CHECK(message([&] { remove_unused_inames(idle, {"o"}); }) ==
        "`o` is in use: the domain of `p` needs it");
}

TEST_CASE("remove_unused_arguments: what only they need goes too") {
  const Kernel k = parsed(R"(
kernel s(n: int32, m: int32, l: int32, a: float64[n, l], b: float64[m])
domain {[i]: 0 <= i < n}
assume m >= 3 and n >= 1 and l >= 1
a[i, 0] = 1
)");
  const Kernel out = remove_unused_arguments(k);
  CHECK(argument_names(out) == "n l a");
  CHECK(to_string(from_set(out.assumptions)) == "n >= 1 and l >= 1");
  CHECK(same_values(k, out, {{"n", 3}, {"l", 2}, {"m", 4}}));
  CHECK(argument_names(remove_unused_arguments(parsed(kLoops))) == "n a b c d");
}

TEST_CASE("find_unused_axis_tag") {
  const Kernel k = parsed(R"(
kernel s(n: int32, a: float64[n, n], b: float64[n])
domain {[i, j]: 0 <= i, j < n}
tag i: g.0, j: g.1
a[i, j] = 1   {id=one}
b[i] = 2      {id=two}
)");
  const auto tag = [&](ValueList args) {
    return to_lua(run_query(*find_op("find_unused_axis_tag"), k, args, {}));
  };
  CHECK(tag({text("g")}) == "\"g.2\"");
  CHECK(tag({text("group"), text("id:two")}) == "\"g.1\"");
  CHECK(tag({text("local")}) == "\"l.0\"");
  CHECK(message([&] { tag({text("x")}); }) ==
        "`x` is not a kind of axis: `g` or `group`, `l` or `local`");
  CHECK(code_of([&] { tag({text("g"), text("id:none")}); }) == "no-match");
}

TEST_CASE("rename_argument: in bounds, shapes, assumptions, claims and what is compared") {
  const Kernel k = parsed(R"(
kernel s(n: int32, a: float64[n], b: float64[2*n], m: int32[n])
domain {[i]: 0 <= i < n}
assume n >= 2
f(x) := a[x] + n
b[m[i] + i] = f(i)   {id=one, if=n > 1}
)");
  Kernel out = apply(k, "assume_injective", {text("m")});
  out = rename_argument(rename_argument(out, "n", "length"), "m", "place");
  CHECK(argument_names(out) == "length a b place");
  CHECK(line(out, "one") == "b[place[i] + i] = f(i)");
  CHECK(to_string(*out.find_arg("b")->shape) == "2*length");
  CHECK(to_string(from_set(out.assumptions)) == "length >= 2");
  CHECK(out.claims.at(0).names == std::vector<std::string>{"place"});
  CHECK(to_string(out.find_rule("f")->body) == "a[x] + length");
  const Kernel split = apply(k, "split_iname", {text("i"), number(2)});
  const Kernel renamed = rename_argument(rename_argument(split, "b", "x1"), "n", "x2");
  CHECK(renamed.find_arg("x1")->original_layout->of == "b");
  CHECK(tree(apply(renamed, "split_iname", {text("i_outer"), number(2)})) ==
        "for i_outer_outer\n  for i_outer_inner\n    for i_inner\n      one\n");
  CHECK(message([&] { rename_argument(k, "a", "b"); }) == "the name `b` is in use in kernel `s`");
  CHECK(code_of([&] { rename_argument(k, "a", "x"); }) == "name-taken");
  CHECK(code_of([&] { rename_argument(k, "i", "x3"); }) == "unknown-argument");
}

TEST_CASE("find_padding_multiple") {
  const Kernel k = parsed(R"(
kernel s(n: int32, a: float64[n, 20], b: float64[n, n])
domain {[i]: 0 <= i < n}
a[i, 0] = b[i, i]
)");
  const auto multiple = [&](ValueList args) {
    return *run_query(*find_op("find_padding_multiple"), k, args, {}).as<std::int64_t>();
  };
  // 160 bytes a row: 4 rows are 640, five times 128; with a tenth of waste, 7 rows (1120 of 1152).
  CHECK(multiple({text("a"), number(0), number(128), number(0)}) == 4);
  CHECK(multiple({text("a"), number(0), number(128)}) == 3);
  CHECK(multiple({text("a"), number(0), number(128), number(1)}) == 1);
  CHECK(message([&] { multiple({text("b"), number(0), number(128)}); }) ==
        "the stride of axis 0 of `b` is `n`, not a positive number");
  CHECK(code_of([&] { multiple({text("b"), number(0), number(128)}); }) == "bad-strides");
  CHECK(code_of([&] { multiple({text("a"), number(2), number(128)}); }) == "bad-axis");
  CHECK(code_of([&] { multiple({text("a"), number(0), number(0)}); }) == "bad-padding");
  CHECK(code_of([&] { multiple({text("a"), number(0), number(8), Value{-0.5}}); }) ==
        "bad-padding");
}

TEST_CASE("fix_parameters: real numbers") {
  const Kernel k = parsed(R"(
kernel s(n: int32, alpha: float32, a: float32[n], b: float32[n])
domain {[i]: 0 <= i < n}
b[i] = alpha*a[i]   {id=one}
)");
  const auto fixed = [&](ValueDict values, ValueDict options = {}) {
    return apply(k, "fix_parameters", {Value{std::move(values)}}, std::move(options));
  };
  CHECK(line(fixed({{"alpha", Value{0.5}}}), "one") == "b[i] = 0.5f*a[i]");
  CHECK(argument_names(fixed({{"alpha", Value{0.5}}, {"n", number(4)}})) == "a b");
  CHECK(same_values(fixed({{"alpha", Value{1.5}}}), k, {{"n", 3}}));
  CHECK(message([&] { fixed({{"n", Value{1.5}}}); }) == "1.5 does not fit the int32 parameter `n`");
  CHECK(
      message([&] { fixed({{"alpha", Value{0.5}}}, {{"within", text("id:one")}}); }) ==
      "`within` leaves the parameter `alpha`, and that it is 0.5 cannot be assumed: it is float32");
  CHECK(code_of([&] { fixed({{"beta", Value{0.5}}}); }) == "unknown-parameter");
}

TEST_CASE("set_instruction_priority: first what may be first") {
  const Kernel k = parsed(R"(
kernel s(n: int32, a: float64[n], b: float64[n], c: float64[n])
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j < n}
a[i] = 1       {id=one}
b[i] = 2*a[i]  {id=two}
c[j] = 3       {id=three}
c[j] = c[j]+1  {id=four}
)");
  const auto first = [&](const char* ids, int priority) {
    return set_instruction_priority(k, Match::parse(ids), priority);
  };
  CHECK(tree(first("id:three", 1)) == "for j\n  three\n  four\nfor i\n  one\n  two\n");
  CHECK(tree(first("id:two", 1)) == "for i\n  one\n  two\nfor j\n  three\n  four\n");
  CHECK(tree(first("id:one or id:two", -1)) == "for j\n  three\n  four\nfor i\n  one\n  two\n");
  CHECK(first("id:three", 7).find_insn("three")->priority == 7);
  CHECK(same_values(k, first("id:four", 2), {{"n", 4}}));
  // What is written behind a statement, and has to run before it, stays there.
  const Kernel late = parsed(R"(
kernel s(n: int32, a: float64[n], b: float64[n])
domain {[i]: 0 <= i < n}
b[i] = 2      {id=one, dep=two}
a[i] = 1      {id=two}
)");
  CHECK(tree(set_instruction_priority(late, Match::parse("id:one"), 1)) == tree(late));
  CHECK(code_of([&] { first("id:none", 1); }) == "no-match");
  CHECK(code_of([&] {
          apply(k, "set_instruction_priority", {text("id:one"), number(1LL << 40)});
        }) == "bad-argument");
}
