#include "core/model/print.h"
#include "loop_kit.h"
#include "same_values.h"

/// Copies of arrays that updates work on, each of which is added to the array once.

using namespace moonloop;

namespace {

std::string outcome(const Kernel& k, const char* arrays, const char* inames,
                    const ValueDict& options = {}) {
  const auto run = [&] { apply(k, "privatize_updates", {text(arrays), text(inames)}, options); };
  return message(run) + " [" + code_of(run) + "]";
}

/// An array of 8 elements, updated by `statements`; `d` holds numbers in [0, 4).
Kernel updates(const std::string& statements, const std::string& type = "float64") {
  return parsed("kernel h(n: int32, m: int32, d: in int32[n + 1], x: in float64[n + 1],\n" +
                ("h: inout " + type) +
                "[8], p: inout float64[m + 8])\n"
                "domain {[i]: 0 <= i < n}\ndomain {[k]: 0 <= k < 8}\nassume m >= 0\n" +
                statements);
}

/// The same with its loop over `i` cut into parts.
Kernel in_parts(const std::string& statements, const std::string& type = "float64") {
  return apply(updates(statements, type), "split_iname", {text("i"), number(3)});
}

const std::vector<Params> kSizes{{{"n", 1}, {"m", 1}}, {{"n", 6}, {"m", 2}}, {{"n", 14}, {"m", 9}}};

}  // namespace

TEST_CASE("privatize_updates: a copy for each iteration of the loops around") {
  const Kernel before = in_parts("h[d[i]] = h[d[i]] + x[i]  {id=add, atomic}\n");
  const Kernel k = apply(before, "privatize_updates", {text("h"), text("i_inner")});
  CHECK(to_string(*k.find_temporary("h_own")->shape) == "8");
  CHECK(line(k, "init_h") == "h_own[h_init_0] = 0");
  CHECK(line(k, "add") ==
        "h_own[d[i_inner + 3*i_outer]] = h_own[d[i_inner + 3*i_outer]] + x[i_inner + 3*i_outer]");
  CHECK(line(k, "store_h") == "h[h_store_0] = h[h_store_0] + h_own[h_store_0]");
  CHECK(to_string(k.find_insn("store_h")->predicates) == "h_own[h_store_0] != 0");
  CHECK(k.find_insn("store_h")->atomic == Atomicity::Update);
  CHECK(tree(k) ==
        "for i_outer\n"
        "  for h_init_0\n"
        "    init_h\n"
        "  for i_inner\n"
        "    add\n"
        "  for h_store_0\n"
        "    store_h\n");
  for (const Params& p : kSizes) CHECK(same_values(before, k, p));

  // Groups, their work-items and elements; then threads, which the copies do not keep from running.
  Kernel groups =
      apply(before, "split_iname", {text("i_inner"), number(2)}, {{"inner_tag", text("l.0")}});
  groups = apply(groups, "tag_inames", {Value{ValueDict{{"i_outer", text("g.0")}}}});
  groups = apply(groups, "privatize_updates", {text("h"), text("i_inner_outer, i_inner_inner")});
  CHECK(groups.find_temporary("h_own")->space == AddressSpace::Local);
  CHECK(groups.iname_tags.at("h_init_0").text == "l.auto");
  CHECK(groups.iname_tags.at("h_store_0").text == "l.auto");
  for (const Params& p : kSizes) CHECK(same_values(before, groups, p));
  CHECK_NOTHROW(apply(k, "tag_inames", {Value{ValueDict{{"i_outer", text("par")}}}}));
}

TEST_CASE("privatize_updates: without a loop around, one addition that is not atomic") {
  const Kernel before = updates("h[d[i]] = x[i] + h[d[i]] - 1  {id=add}\n");
  const Kernel k = apply(before, "privatize_updates", {text("h"), text("i")});
  CHECK(tree(k) == "for h_init_0\n  init_h\nfor i\n  add\nfor h_store_0\n  store_h\n");
  CHECK(k.find_insn("store_h")->atomic == Atomicity::None);
  for (const Params& p : kSizes) CHECK(same_values(before, k, p));
}

TEST_CASE("privatize_updates: updates of a copy that work-items will share become atomic") {
  const Kernel before = in_parts("h[d[i]] = h[d[i]] + x[i]  {id=add}\n");
  const auto made = [&](const char* scope) {
    return apply(before, "privatize_updates", {text("h"), text("i_inner")},
                 {{"temporary_scope", text(scope)}});
  };
  CHECK(made("local").find_insn("add")->atomic == Atomicity::Update);
  CHECK(made("private").find_insn("add")->atomic == Atomicity::None);
  const ValueList items{Value{ValueDict{{"i_inner", text("l.0")}}}};
  CHECK_NOTHROW(apply(made("local"), "tag_inames", items));
  CHECK(code_of([&] { apply(made("private"), "tag_inames", items); }) == "not-proved");
}

TEST_CASE("privatize_updates: the operations, from their neutral elements") {
  struct Row {
    const char *type, *value, *neutral, *added;
  };
  const std::string h = "h[h_store_0]", own = "h_own[h_store_0]";
  for (const auto& [type, value, neutral, added] : std::vector<Row>{
           {"float64", "h[d[i]]*x[i]/3", "1", "h[h_store_0]*h_own[h_store_0]"},
           {"int32", "h[d[i]] - d[i]", "0", "h[h_store_0] + h_own[h_store_0]"},
           {"float64", "min(h[d[i]], x[i])", "inf", "min(h[h_store_0], h_own[h_store_0])"},
           {"float32", "max(x[i], h[d[i]])", "-inf", "max(h[h_store_0], h_own[h_store_0])"},
           {"int32", "max(h[d[i]], d[i])", "-2147483648", "max(h[h_store_0], h_own[h_store_0])"},
           {"int64", "max(h[d[i]], d[i])", "-9223372036854775807 - 1",
            "max(h[h_store_0], h_own[h_store_0])"},
           {"int64", "min(h[d[i]], d[i])", "9223372036854775807",
            "min(h[h_store_0], h_own[h_store_0])"},
           {"float64", "x[i] if x[i] > h[d[i]] else h[d[i]]", "-inf",
            "h_own[h_store_0] if h_own[h_store_0] > h[h_store_0] else h[h_store_0]"},
           {"bool", "h[d[i]] and x[i] > 2", "True", "h[h_store_0] and h_own[h_store_0]"},
           {"bool", "h[d[i]] or x[i] > 2", "False", "h[h_store_0] or h_own[h_store_0]"},
           {"int32", "h[d[i]] & d[i]", "-1", "h[h_store_0] & h_own[h_store_0]"},
           {"int32", "h[d[i]] | d[i]", "0", "h[h_store_0] | h_own[h_store_0]"},
           {"int32", "h[d[i]] ^ d[i]", "0", "h[h_store_0] ^ h_own[h_store_0]"}}) {
    CAPTURE(value);
    const Kernel before =
        in_parts("h[d[i]] = " + std::string(value) + "  {id=add, atomic}\n", type);
    const Kernel k = apply(before, "privatize_updates", {text("h"), text("i_inner")});
    CHECK(line(k, "init_h") == "h_own[h_init_0] = " + std::string(neutral));
    CHECK(line(k, "store_h") == "h[h_store_0] = " + std::string(added));
    CHECK(print_kernel(parsed(print_kernel(k))) == print_kernel(k));
    if (std::string(value).find('/') != std::string::npos) continue;  // the quotients round
    for (const Params& p : kSizes) CHECK(same_values(before, k, p));
  }
}

TEST_CASE("privatize_updates: the box that is updated, several statements and arrays") {
  const Kernel before = parsed(R"(
kernel means(n: int32, m: int32, label: in int32[n], x: in float64[n, 3],
             c: inout float64[4, 3], count: inout int32[4], low: inout float64[m + n])
domain {[i]: 0 <= i < n}
domain {[k]: 0 <= k < 3}
domain {[j]: 0 <= j < m}
c[label[i], k] = c[label[i], k] + x[i, k]  {id=add, atomic, inames=i:k}
c[3, 0] = c[3, 0] - 1                      {id=less, atomic, inames=i}
count[label[i]] = count[label[i]] + 1      {id=count, atomic, inames=i}
low[i + j] = low[i + j] + x[i, 2]          {id=sum, atomic, inames=i:j}
)");
  const Kernel parts = apply(before, "split_iname", {text("i"), number(4)});
  Kernel k = apply(parts, "privatize_updates", {text("c, count"), text("i_inner, k")});
  CHECK(to_string(*k.find_temporary("c_own")->shape) == "4, 3");
  CHECK(to_string(*k.find_temporary("count_own")->shape) == "4");
  k = apply(k, "privatize_updates", {text("low"), text("i_inner, j")});
  CHECK(line(k, "store_low") ==
        "low[low_store_0 + 4*i_outer] = low[low_store_0 + 4*i_outer] + low_own[low_store_0]");
  CHECK(to_string(*k.find_temporary("low_own")->shape) == "min(n + m - 1, m + 3)");
  for (const Params& p : kSizes) CHECK(same_values(before, k, p));

  // A loop that can only be inside of those over which the copy is kept.
  const Kernel inner = in_parts(
      "h[d[i]] = h[d[i]] + k    {id=add, atomic, inames=i:k}\n"
      "p[d[i]] = p[d[i]] + x[i]  {id=other, inames=i}\n");
  const Kernel kept = apply(inner, "privatize_updates", {text("h"), text("i_inner")});
  CHECK(kept.find_insn("init_h")->inames == std::set<std::string>{"i_outer", "h_init_0"});
  for (const Params& p : kSizes) CHECK(same_values(inner, kept, p));

  // A subscript that is computed before.
  const Kernel computed = in_parts(
      "<int32> at = d[i] + 1      {id=place}\n"
      "h[at] = h[at] + x[i]       {id=add, atomic}\n");
  const Kernel by_place = apply(computed, "privatize_updates", {text("h"), text("i_inner")});
  CHECK(to_string(*by_place.find_temporary("h_own")->shape) == "8");
  for (const Params& p : kSizes) CHECK(same_values(computed, by_place, p));

  // Loops whose bounds are data.
  const Kernel rows = parsed(R"(
kernel rows(n: int32, m: int32, start: in int32[n + 1], d: in int32[4], h: inout int32[8])
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j < length}
<> length = start[i]
h[d[j % 4]] = h[d[j % 4]] + i  {id=add, atomic, inames=i:j}
)");
  const Kernel own = apply(rows, "privatize_updates", {text("h"), text("j")});
  CHECK(own.find_insn("init_h")->inames == std::set<std::string>{"i", "h_init_0"});
  for (const Params& p : kSizes) CHECK(same_values(rows, own, p));

  // Of a size that is a parameter, and of a temporary.
  const Kernel sized = updates(
      "domain {[l]: 0 <= l < 8}\n"
      "temp t: int32[8]\n"
      "t[l] = 0                       {id=zero}\n"
      "p[d[i]] = p[d[i]] + x[i]       {id=add, atomic}\n"
      "t[d[i]] = t[d[i]] + 1          {id=count, atomic}\n"
      "h[k] = t[k]                    {id=use}\n");
  const Kernel both = apply(sized, "privatize_updates", {text("p, t"), text("i")});
  CHECK(to_string(*both.find_temporary("p_own")->shape) == "m + 8");
  CHECK(to_string(*both.find_temporary("t_own")->shape) == "8");
  for (const Params& p : kSizes) CHECK(same_values(sized, both, p));
}

TEST_CASE("privatize_updates: subscripts by rules do not make work-items share a private copy") {
  const Kernel before = in_parts("h[d[i]] = h[d[i]] + x[i]  {id=add, atomic}\n");
  Kernel k = apply(before, "tag_inames", {Value{ValueDict{{"i_outer", text("l.0")}}}});
  k = apply(k, "privatize_updates", {text("h"), text("i_inner")});
  CHECK(k.find_temporary("h_own")->space == AddressSpace::Private);
  k = apply(k, "extract_subst", {text("at"), text("d[p]")}, {{"parameters", text("p")}});
  CHECK_NOTHROW(check_legal(parsed(print_kernel(k))));
  for (const Params& p : kSizes) CHECK(same_values(before, k, p));
  // At its own number, it would be memory that they share.
  const Kernel numbered = in_parts("h[(d[i] + i) % 8] = h[(d[i] + i) % 8] + 1  {id=add, atomic}\n");
  const Kernel items = apply(numbered, "tag_inames", {Value{ValueDict{{"i_outer", text("l.0")}}}});
  CHECK(outcome(items, "h", "i_inner") ==
        "init_h[h_init_0=0, i_outer=0] writes h_own[0], which init_h[h_init_0=0, i_outer=1] "
        "writes; init_h[h_init_0=0, i_outer=0] must run before init_h[h_init_0=0, i_outer=1], and "
        "with `init_h` it may not (m=0, n=4) [not-proved]");
}

TEST_CASE("privatize_updates: what it refuses") {
  const std::string add = "h[d[i]] = h[d[i]] + x[i]  {id=add, atomic}\n";
  CHECK(outcome(updates(add), "z", "i") ==
        "bad argument #2 to 'privatize_updates' (no array 'z' in kernel 'h'; it has 'n', 'm', 'd', "
        "'x', 'h', 'p') [bad-argument]");
  CHECK(outcome(updates(add), "h", "z") ==
        "bad argument #3 to 'privatize_updates' (kernel 'h' has no iname 'z'; it has i, k) "
        "[bad-argument]");
  CHECK(outcome(updates(add), "h, p", "i", {{"temporary_name", text("t")}}) ==
        "temporary_name is the name of one copy, and there are 2 arrays [bad-argument]");
  CHECK(outcome(updates("h[k] = h[k] + x[0]  {id=add}\n"), "h", "i") ==
        "no selected instruction of kernel `h` accesses `h` [no-match]");
  CHECK(outcome(updates(add), "h", "i, k") ==
        "no selected access of `h` is in the loop `k` [unused-sweep]");
  CHECK(outcome(updates("h[d[i]] = x[i]  {id=put, atomic}\n"), "h", "i") ==
        "`put` accesses `h`, but is not an update of it that commutes with itself, such as "
        "`h[…] = h[…] + x`; select the updates with `within` [not-an-update]");
  const std::string none =
      " has no neutral element that a copy could begin with; sums, products, `min`, `max`, `and`, "
      "`or` of truth values and `&`, `|`, `^` of integers have one [no-neutral-element]";
  CHECK(outcome(updates("h[d[i]] = 3*h[d[i]] + 1  {id=same, atomic}\n"), "h", "i") ==
        "the operation that updates `h` in `same`" + none);
  CHECK(outcome(updates("h[d[i]] = h[d[i]] or x[i] > 0  {id=either, atomic}\n", "int32"), "h",
                "i") == "the operation that updates `h` in `either`" + none);
  CHECK(outcome(updates(add + "h[d[i]] = max(h[d[i]], x[i])  {id=most, atomic}\n"), "h", "i") ==
        "`most` updates `h` by another operation than `add`; one copy holds the results of one "
        "operation [mixed-updates]");
  CHECK(outcome(parsed("kernel h(n: int32, d: in int32[n], h: inout float64[n*n])\n"
                       "domain {[i]: 0 <= i < n}\nh[d[i]] = h[d[i]] + 1  {atomic}\n"),
                "h", "i") ==
        "extent `n*n` of `h` is not a sum of parameters, so that the size of a copy is not known "
        "[non-affine-argument]");
}

TEST_CASE("privatize_updates: other instructions find all of their elements") {
  const std::string add = "h[d[i]] = h[d[i]] + x[i]  {id=add, atomic}\n";
  // In each iteration, `peek` reads what the updates so far have left.
  const Kernel peeked = in_parts(add + "p[k] = p[k] + h[3]*i  {id=peek, inames=+i:k}\n");
  CHECK(outcome(peeked, "h", "i_inner", {{"within", text("id:add")}}) ==
        "store_h[i_outer=0, h_store_0=3] writes h[3], which peek[i_outer=0, i_inner=0, k=0] reads; "
        "store_h[i_outer=0, h_store_0=3] must run before peek[i_outer=0, i_inner=0, k=0], and with "
        "`store_h` it does not (m=0, n=1) [stale-value]");
  // Other updates of the operation go to the array at the same time, and what is read later is
  // complete.
  const Kernel both = in_parts(add +
                               "h[i % 8] = h[i % 8] + 2    {id=also, atomic}\n"
                               "p[k] = h[k]                {id=use}\n");
  Kernel k = apply(both, "privatize_updates", {text("h"), text("i_inner"), text("id:add")});
  CHECK(line(k, "also").starts_with("h["));
  k = apply(k, "tag_inames", {Value{ValueDict{{"i_outer", text("par")}}}});
  for (const Params& p : kSizes) CHECK(same_values(both, k, p));
  // One that does not commute with them keeps its place.
  const Kernel twice = in_parts(add + "h[i % 8] = 2*h[i % 8]  {id=twice, atomic}\n");
  CHECK(code_of([&] {
          apply(twice, "privatize_updates", {text("h"), text("i_inner"), text("id:add")});
        }) == "stale-value");
}

TEST_CASE("privatize_updates: a copy that holds the element that was updated last") {
  const ValueDict last{{"holds", text("last")}};
  const Kernel before = in_parts("h[d[i]] = h[d[i]] + x[i]  {id=add, atomic}\n");
  const Kernel k = apply(before, "privatize_updates", {text("h"), text("i_inner")}, last);
  CHECK(tree(k) ==
        "for i_outer\n"
        "  init_h_at\n"
        "  init_h\n"
        "  for i_inner\n"
        "    add_next\n"
        "    add_store\n"
        "    add_begin\n"
        "    add_at\n"
        "    add\n"
        "  store_h\n");
  CHECK(line(k, "add_next") == "h_next = d[i_inner + 3*i_outer]");
  CHECK(line(k, "add_store") == "h[h_at] = h[h_at] + h_own");
  CHECK(to_string(k.find_insn("add_store")->predicates) == "h_at != h_next, h_own != 0");
  CHECK(k.find_insn("add_store")->atomic == Atomicity::Update);
  CHECK(line(k, "add_begin") == "h_own = 0");
  CHECK(line(k, "add_at") == "h_at = h_next");
  CHECK(line(k, "add") == "h_own = h_own + x[i_inner + 3*i_outer]");
  CHECK(k.find_insn("add")->atomic == Atomicity::None);
  CHECK(line(k, "store_h") == "h[h_at] = h[h_at] + h_own");
  CHECK(print_kernel(parsed(print_kernel(k))) == print_kernel(k));
  for (const Params& p : kSizes) CHECK(same_values(before, k, p));
  for (const char* tag : {"par", "g.0", "l.0"}) {
    const Kernel tagged = apply(k, "tag_inames", {Value{ValueDict{{"i_outer", text(tag)}}}});
    for (const Params& p : kSizes) CHECK(same_values(before, tagged, p));
  }

  // Of any size, by each operation.
  for (const char* statement :
       {"p[d[i] + m] = p[d[i] + m] - x[i]", "p[d[i]] = max(p[d[i]], x[i])",
        "p[d[i]] = x[i] if x[i] < p[d[i]] else p[d[i]]", "p[d[i]] = p[d[i]]*2"}) {
    CAPTURE(statement);
    const Kernel any = in_parts(std::string(statement) + "  {id=add, atomic}\n");
    for (const char* over : {"i_inner", "i_outer, i_inner"}) {
      const Kernel own = apply(any, "privatize_updates", {text("p"), text(over)}, last);
      for (const Params& p : kSizes) CHECK(same_values(any, own, p));
    }
  }
}

TEST_CASE("privatize_updates: the last element by several subscripts, of several updates") {
  const ValueDict last{{"holds", text("last")}};
  const Kernel before = parsed(R"(
kernel means(n: int32, m: int32, label: in int32[n], x: in float64[n, 3], c: inout float64[4, 4, 3])
domain {[r]: 0 <= r < 3}
domain {[i]: 0 <= i < n}
domain {[k]: 0 <= k < 3}
assume m >= 0
c[r, label[i], k] = c[r, label[i], k] + x[i, k]  {id=add, atomic, inames=r:i:k}
c[r, 3, 0] = c[r, 3, 0] - 1                      {id=less, atomic, inames=r:i, if=x[i, 0] > 1}
)");
  const Kernel k = apply(before, "privatize_updates", {text("c"), text("i, k")}, last);
  CHECK(line(k, "store_c") == "c[r, c_at_1, c_at_2] = c[r, c_at_1, c_at_2] + c_own");
  CHECK(to_string(k.find_insn("less_store")->predicates) ==
        "x[i, 0] > 1, c_at_1 != c_next_1 or c_at_2 != c_next_2, c_own != 0");
  for (const Params& p : kSizes) CHECK(same_values(before, k, p));
  // One place needs none of it.
  const Kernel one = updates("h[3] = h[3] + x[i]  {id=add}\n");
  const Kernel sum = apply(one, "privatize_updates", {text("h"), text("i")}, last);
  CHECK(tree(sum) == "init_h\nfor i\n  add\nstore_h\n");
  for (const Params& p : kSizes) CHECK(same_values(one, sum, p));
}

TEST_CASE("privatize_updates: what a copy of the last element refuses") {
  const ValueDict last{{"holds", text("last")}};
  const std::string add = "h[d[i]] = h[d[i]] + x[i]  {id=add, atomic}\n";
  CHECK(outcome(updates(add), "h", "i", {{"holds", text("first")}}) ==
        "holds is `first`; it can be `all` or `last` [bad-argument]");
  CHECK(outcome(updates(add), "h", "i",
                {{"holds", text("last")}, {"temporary_scope", text("local")}}) ==
        "a copy of the last element is private, not `local` [bad-argument]");
  // The loops inside of which it lives take turns, before and after the step.
  const Kernel items =
      apply(in_parts(add), "tag_inames", {Value{ValueDict{{"i_inner", text("l.0")}}}});
  CHECK(code_of([&] {
          apply(items, "privatize_updates", {text("h"), text("i_inner")}, last);
        }) != "legal");
  const Kernel k = apply(in_parts(add), "privatize_updates", {text("h"), text("i_inner")}, last);
  for (const char* tag : {"l.0", "par", "g.0"})
    CHECK(code_of([&] {
            apply(k, "tag_inames", {Value{ValueDict{{"i_inner", text(tag)}}}});
          }) != "legal");
  // In each iteration, `peek` reads what the updates so far have left.
  const Kernel peeked = in_parts(add + "p[k] = p[k] + h[3]*i  {id=peek, inames=+i:k}\n");
  CHECK(code_of([&] {
          apply(peeked, "privatize_updates", {text("h"), text("i_inner")},
                {{"holds", text("last")}, {"within", text("id:add")}});
        }) == "stale-value");
}
