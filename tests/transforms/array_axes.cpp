// add_padding, concatenate_arrays, tag_array_axes, split_array_axis,
// privatize_temporaries_with_inames.
#include "core/model/print.h"
#include "tests/transforms/loop_kit.h"
#include "tests/transforms/same_values.h"
#include "transforms/add_padding.h"
#include "transforms/concatenate_arrays.h"
#include "transforms/privatize_temporaries_with_inames.h"
#include "transforms/split_array_axis.h"
#include "transforms/tag_array_axes.h"

using namespace moonloop;

namespace {

const char* const kTurn = R"(
kernel turn(n, a: float32[n, 32], b: float32[n, 32])
domain [n] -> {[i]: 0 <= i < n}
domain {[j]: 0 <= j < 32}
domain {[q]: 0 <= q < 32}
temp t: float32[32]
t[j] = a[i, j]      {id=fetch}
b[i, q] = t[31 - q] {id=use}
)";
const char* const kTile = R"(
kernel tile(a: float32[16, 32], b: float32[32, 16])
domain {[i, j]: 0 <= i < 16 and 0 <= j < 32}
domain {[p, q]: 0 <= p < 32 and 0 <= q < 16}
temp t: float32[16, 32]
t[i, j] = a[i, j]
b[p, q] = t[q, p]
)";

std::string strides(const Kernel& k, const std::string& name) {
  const Temporary* t = k.find_temporary(name);
  const auto& s = t ? t->strides : k.find_arg(name)->strides;
  return s ? to_string(*s) : "none";
}
Order order(const Kernel& k, const std::string& name) {
  const Temporary* t = k.find_temporary(name);
  return t ? t->order : k.find_arg(name)->order;
}
Kernel pad(const char* source, const std::string& name, std::int64_t axis, std::int64_t bytes) {
  return apply(parsed(source), "add_padding", {text(name), Value{axis}, Value{bytes}});
}
Kernel tag_axes(const char* source, const std::string& name, const std::string& tags) {
  return apply(parsed(source), "tag_array_axes", {text(name), text(tags)});
}
Kernel split(const char* source, const std::string& name, std::int64_t axis, std::int64_t count,
             const std::string& order = "C") {
  return apply(parsed(source), "split_array_axis",
               {text(name), Value{axis}, Value{count}, text(order)});
}
Kernel privatize(const char* source, const std::string& inames, const std::string& only = "") {
  return apply(parsed(source), "privatize_temporaries_with_inames", {text(inames), text(only)});
}

void check_same(const Kernel& before, const Kernel& after, const Params& params) {
  CHECK(same_values(before, after, params));
}
void check_prints_back(const Kernel& k) {
  const std::string text = print_kernel(k);
  CHECK(print_kernel(parsed(text)) == text);
}

}  // namespace

TEST_CASE("add_padding: spreads an axis and those outside of it") {
  CHECK(strides(pad(kTile, "t", 0, 33 * 4), "t") == "33, 1");
  CHECK(strides(pad(kTurn, "b", 0, 40 * 4), "b") == "40, 1");
  const char* const deep = R"(
kernel deep(n, m, a: float64[n, m, 7])
domain [n, m] -> {[i, j, k]: 0 <= i < n and 0 <= j < m and 0 <= k < 7}
a[i, j, k] = i
)";
  CHECK(strides(pad(deep, "a", 1, 64), "a") == "8*m, 8, 1");
  check_prints_back(pad(kTile, "t", 0, 33 * 4));
  check_same(parsed(kTile), pad(kTile, "t", 0, 33 * 4), {});
  check_same(parsed(kTurn), pad(kTurn, "b", 0, 160), {{"n", 5}});
}

TEST_CASE("add_padding: refuses what it cannot align") {
  CHECK(code_of([] { pad(kTile, "t", 2, 132); }) == "bad-axis");
  CHECK(code_of([] { pad(kTile, "t", -1, 132); }) == "bad-axis");
  CHECK(message([] { pad(kTile, "t", 0, 130); }) ==
        "130 bytes are not a multiple of the 4 bytes of an element of `t`");
  CHECK(code_of([] { pad(kTile, "t", 0, 0); }) == "bad-padding");
  CHECK(code_of([] { add_padding(parsed(kTile), "tt", 0, 4); }) == "unknown-array");
}

TEST_CASE("tag_array_axes: nests axes") {
  CHECK(order(tag_axes(kTile, "t", "N0,N1"), "t") == Order::F);
  CHECK(strides(tag_axes(kTile, "t", "N0,N1"), "t") == "none");
  CHECK(order(tag_axes(kTile, "a", "f"), "a") == Order::F);
  CHECK(strides(tag_axes(kTile, "t", "c,c(pad=33)"), "t") == "33, 1");
  CHECK(strides(tag_axes(kTile, "t", "N0(pad=17),N1"), "t") == "1, 17");
  CHECK(strides(tag_axes(kTurn, "a", "stride:40,stride:1"), "a") == "40, 1");
  CHECK(strides(tag_axes(kTurn, "a", "f(pad=4),f"), "a") == "1, 4*((n + 3) // 4)");
  for (const char* tags : {"N0,N1", "c,c(pad=33)", "N0(pad=17),N1", "stride:1,stride:16"}) {
    check_prints_back(tag_axes(kTile, "t", tags));
    check_same(parsed(kTile), tag_axes(kTile, "t", tags), {});
  }
  check_same(parsed(kTurn), tag_axes(kTurn, "a", "f(pad=4),f"), {{"n", 6}});
}

TEST_CASE("tag_array_axes: refuses tags that give no layout") {
  CHECK(code_of([] { tag_axes(kTile, "t", "N0"); }) == "bad-axis-tag");
  CHECK(code_of([] { tag_axes(kTile, "t", "N0,N0"); }) == "bad-axis-tag");
  CHECK(message([] { tag_axes(kTile, "t", "N0,N2"); }) == "no axis of `t` has nesting level 1");
  CHECK(message([] { tag_axes(kTile, "t", "c,N0"); }) ==
        "the tags of `t` mix `c`, `f` and nesting levels");
  CHECK(code_of([] { tag_axes(kTile, "t", "c,x"); }) == "bad-axis-tag");
  CHECK(message([] { tag_axes(kTile, "t", "stride:16,stride:1"); }) ==
        "strides (16, 1) put `t[0, 16]` and `t[1, 0]` of shape (16, 32) in one place");
  CHECK(code_of([] { tag_axes(kTile, "t", "stride:16,stride:1"); }) == "bad-strides");
  const char* of_n =
      "kernel k(n: int32, a: float64[n])\ndomain {[i, j]: 0 <= i, j < n}\n"
      "<> t[i, j] = a[i] + a[j]\n";
  CHECK_THROWS_AS(tag_axes(of_n, "t", "N1,N0(pad=17)"), Refused);
  CHECK(message([&] { tag_axes(of_n, "t", "N1,N0(pad=17)"); }) ==
        "temporary `t` of shape (n, n) would have strides (17*((n + 16) // 17), 1); those of a "
        "temporary are constants");
  for (const char* array : {"a", "t"})  // an argument's elements are distinct too
    CHECK(code_of([&] { tag_axes(kTile, array, "stride:0,stride:1"); }) == "bad-strides");
  CHECK(code_of([] { tag_axes(kTile, "a", "stride:16,stride:1"); }) == "bad-strides");
  CHECK(code_of([] { tag_axes(kTile, "t", "stride:-32,stride:1"); }) == "bad-strides");
  CHECK(code_of([] { tag_axes(kTurn, "a", "stride:n,stride:0"); }) == "bad-strides");
  CHECK(message([] { tag_axes(kTurn, "a", "stride:q,stride:1"); }) ==
        "`stride:q` names `q`, which is not a scalar argument of kernel `turn`");
  CHECK(message([] { tag_axes(kTile, "t", "c,vec"); }) ==
        "axis 1 of `t` has length 32; vectors have 2, 3, 4, 8 or 16 elements");
  CHECK(message([] { tag_axes(kTurn, "a", "vec,vec"); }).find("has length") != std::string::npos);
  CHECK(code_of([] { tag_array_axes(parsed(kTile), {"nothing"}, {"c"}); }) == "unknown-array");
}

TEST_CASE("tag_array_axes: the elements of vectors stand innermost") {
  const char* const points = R"(
kernel points(n: int32, x: float32[3, n], w: float32[n, 2], y: float32[n])
domain {[i, c]: 0 <= i < n and 0 <= c < 3}
domain {[j, d]: 0 <= j < n and 0 <= d < 3}
temp t: float32[3, 8]
assume n = 8
t[c, i] = 2*x[c, i]
y[j] = sum(d, t[d, j])
)";
  const Kernel k = tag_axes(points, "t", "vec,N0");
  CHECK(strides(k, "t") == "1, 4");  // three take the room of four
  check_prints_back(k);
  check_same(parsed(points), k, {{"n", 8}});
  CHECK(strides(tag_axes(points, "x", "vec,c"), "x") == "1, 4");
  CHECK(strides(tag_axes(points, "w", "N0,vec"), "w") == "none");  // as C has it
}

TEST_CASE("split_array_axis: quotients and remainders") {
  for (const char* order : {"C", "F"}) {
    const Kernel k = split(kTile, "t", 1, 5, order);
    CHECK(to_string(*k.find_temporary("t")->shape) == (order[0] == 'C' ? "16, 7, 5" : "16, 5, 7"));
    check_prints_back(k);
    check_same(parsed(kTile), k, {});
  }
  const char* const rows = R"(
kernel rows(a: float32[64], b: float32[64])
domain {[p, q]: 0 <= p < 4 and 0 <= q < 16}
domain {[r]: 0 <= r < 64}
f(x) := t[x] + 1
temp t: float32[64]
t[16*p + q] = a[16*p + q]
b[r] = f(63 - r)
)";
  const Kernel k = split(rows, "t", 0, 16);
  CHECK(to_string(k.instructions[0]->lhs[0]) == "t[p, q]");
  CHECK(k.rules.empty());  // it used the array
  check_same(parsed(rows), k, {});
}

TEST_CASE("split_array_axis: what is known of looked-up subscripts stays known") {
  const auto look = parsed(R"(
kernel look(n: int32, look: in int32[n], q: out int32[n, 8])
domain {[x]: 0 <= x < n}
domain {[z]: 0 <= z < 8}
domain {[y]: 0 <= y < 8}
temp t: int32[8] in local
for x
  t[z] = x + z                           {id=fill}
  q[x, y] = t[(look[x] + y) % 8]         {id=use}
end
)");
  // Element [2, 2] is padding that nothing fills, and that `use` does not read either.
  const Kernel parts = split_array_axis(look, {"t"}, 0, 3, Order::C);
  CHECK(line(parts, "use") == "q[x, y] = t[(look[x] + y) % 8 // 3, (look[x] + y) % 8 % 3]");
  CHECK(code_of([&] {
          apply(parts, "split_iname", {text("x"), number(2)}, {{"inner_tag", text("simd")}});
        }) == "legal");
  const Kernel lanes =
      apply(look, "split_iname", {text("x"), number(2)}, {{"inner_tag", text("simd")}});
  CHECK(code_of([&] { check_legal(split_array_axis(lanes, {"t"}, 0, 3, Order::C)); }) == "legal");
  // Here it is read: another lane's value would be found in it.
  const Kernel wide = parsed(R"(
kernel look(n: int32, look: in int32[n], q: out int32[n, 8])
domain {[x]: 0 <= x < n}
domain {[z]: 0 <= z < 8}
domain {[y]: 0 <= y < 8}
temp t: int32[9] in local
for x
  t[z] = x + z
  q[x, y] = t[(look[x] + y) % 9]
end
)");
  for (const bool split : {false, true})
    CHECK(code_of([&] {
            apply(split ? split_array_axis(wide, {"t"}, 0, 3, Order::C) : wide, "split_iname",
                  {text("x"), number(2)}, {{"inner_tag", text("simd")}});
          }) == "races");
}

TEST_CASE("split_array_axis: claims about subscripts hold for their quotients and remainders") {
  Kernel k = parsed(R"(
kernel scatter(map: in int32[12], b: in int64[12], a: inout int64[12])
domain {[i]: 0 <= i < 12}
a[map[i]] = b[i]   {id=put}
)");
  k = apply(apply(k, "assume_injective", {text("map")}), "tag_inames", {text("i:par")});
  k = split_array_axis(split_array_axis(k, {"a"}, 0, 3, Order::C), {"a"}, 0, 2, Order::C);
  CHECK(line(k, "put") == "a[map[i] // 3 // 2, map[i] // 3 % 2, map[i] % 3] = b[i]");
  check_legal(k);
}

TEST_CASE("split_array_axis: an argument's, whose caller passes another array then") {
  const Kernel k = split(kTile, "a", 1, 5);  // 32 columns in 7 parts of 5
  CHECK(to_string(*k.find_arg("a")->shape) == "16, 7, 5");
  CHECK(to_string(k.instructions[0]->rhs) == "a[i, j // 5, j % 5]");
  CHECK(to_string(*split(kTile, "a", 0, 4, "F").find_arg("a")->shape) == "4, 4, 32");
  check_prints_back(k);
}

TEST_CASE("split_array_axis: refuses strides and axes that are not there") {
  CHECK(message([] {
          split_array_axis(tag_axes(kTile, "a", "N1(pad=640),N0(pad=40)"), {"a"}, 1, 4, Order::C);
        }) == "`a` has strides; split its axes before they are set");
  CHECK(code_of([] { split(kTile, "t", 2, 4); }) == "bad-axis");
  CHECK(code_of([] { split(kTile, "t", 0, 0); }) == "bad-count");
  CHECK(code_of([] { split(kTile, "t", 0, 4, "D"); }) == "bad-order");
  const char* const flat = R"(
kernel flat(a: float32[4, 4])
domain {[i, j]: 0 <= i, j < 4}
domain {[p, q]: 0 <= p, q < 4}
temp t: float32[4, 4]
t[i, j] = a[i, j]
a[p, q] = 2*t[[4*p + q]]
)";
  CHECK(code_of([&] { split(flat, "t", 0, 2); }) == "flat-subscript");
}

// Differential test, seed 90365.
TEST_CASE("privatize_temporaries_with_inames: instructions keep their order in the text") {
  const Kernel k = parted_reduction();
  CHECK(print_kernel(privatize_temporaries_with_inames(k, {"j"}, {})) == print_kernel(k));
}

TEST_CASE("privatize_temporaries_with_inames: a copy for each iteration") {
  const char* const scale = R"(
kernel scale(n, a: float32[n, 8], b: float32[n, 8])
domain [n] -> {[i]: 0 <= i < n}
domain {[j]: 3 <= j < 11}
<> t = 2*a[i, j - 3]
b[i, j - 3] = t + 1
)";
  const Kernel k = privatize(scale, "j");
  CHECK(to_string(k.instructions[0]->lhs[0]) == "t[j - 3]");
  CHECK(to_string(*k.find_temporary("t")->shape) == "8");
  check_same(parsed(scale), k, {{"n", 3}});
  check_prints_back(k);
  CHECK(to_string(*privatize(scale, "i").find_temporary("t")->shape) == "n");
  CHECK(code_of([&] { privatize_temporaries_with_inames(parsed(scale), {"j"}, {"s"}); }) ==
        "unknown-temporary");
}

TEST_CASE("privatize_temporaries_with_inames: refuses what passes from iteration to iteration") {
  const char* const sums = R"(
kernel sums(a: float32[8], b: float32[8], c: float32[1])
domain {[j]: 0 <= j < 8}
<> t = 0 {id=start}
t = t + a[j]  {id=add}
b[j] = t
c[0] = t
)";
  CHECK(message([&] { privatize(sums, "j"); }) == "`start` uses `t` outside of iname `j`");
  CHECK(code_of([&] { privatize(sums, "j"); }) == "not-inside");
  const char* const late = R"(
kernel late(a: float32[8], b: float32[8])
domain {[j]: 0 <= j < 8}
temp t: float32
if j == 0
  t = 1
end
b[j] = t
t = a[j]
)";
  CHECK(message([&] { privatize(late, "j"); }) ==
        "an iteration of `j` may read what another one wrote to `t`");
  CHECK(code_of([&] { privatize(late, "j"); }) == "carries-value");
}

TEST_CASE("privatize_temporaries_with_inames: as many copies as the parameters say, not the data") {
  const char* const rows = R"(
kernel rows(n: int32, first: in int32[n + 1], a: float32[100*n], b: float32[100*n])
domain {[r]: 0 <= r < n}
domain [from, to] -> {[e]: from <= e < to}
<int32> from = first[r]  {inames=r}
<int32> to = first[r + 1]  {inames=r}
<> t = 2*a[e]  {inames=r:e}
b[e] = t + 1   {inames=r:e}
)";
  CHECK(code_of([&] { privatize(rows, "e", "t"); }) == "no-extent");
  CHECK(to_string(*privatize(rows, "r", "t").find_temporary("t")->shape) == "n");
}

TEST_CASE("save_and_reload_temporaries: what both sides of a barrier use") {
  const Kernel k = parsed(R"(
kernel halves(n: int32, a: float32[n], b: float32[n], c: float32[n])
domain {[i]: 0 <= i < n}
<> t = 2*a[i]
<> u = a[i] + 1
c[i] = u
... gbarrier  {inames=i}
b[i] = t + 1
)");
  Kernel split = apply(k, "split_iname", {text("i"), number(8)},
                       {{"outer_tag", text("g.0")}, {"inner_tag", text("l.0")}});
  split = apply(split, "save_and_reload_temporaries");
  const Temporary& t = *split.find_temporary("t");
  CHECK(t.space == AddressSpace::Global);
  CHECK(t.shape->size() == 2);
  CHECK(to_string(split.instructions.back()->rhs) == "t[i_outer, i_inner] + 1");
  CHECK(split.find_temporary("u")->space == AddressSpace::Auto);
  check_same(k, split, {{"n", 21}});
}

// Differential test, seed 3304698: where i is 0 the reduction has no term, but c[0] is written.
TEST_CASE("split_array_axis: outside of a reduction its domain says nothing") {
  const Kernel k = parsed(R"(
kernel k(b: in float64[3], c: float64[3])
domain {[i]: 0 <= i < 3 and i mod 2 = 0}
domain {[l]: 0 <= l < i}
c[i] = sum(l, b[l])  {id=s, inames=i}
)");
  const Kernel cut = apply(k, "split_array_axis", {text("c"), number(0), number(3)});
  CHECK(line(cut, "s").find("c[0, i]") == 0);
}

TEST_CASE("array axes: elements told by where they stand keep the layout") {
  const std::string head =
      "kernel k(n: int32, a: inout float64[n, 8], b: out float64[8*n], d: out int32[n, 8])\n"
      "domain {[i, j]: 0 <= i < n and 0 <= j < 8}\ndomain {[k]: 0 <= k < 8*n}\n"
      "domain {[p, q]: 0 <= p < n and 0 <= q < 8}\na[i, j] = j\n";
  for (const std::string use : {"b[k] = a[[k]]\n", "d[p, q] = indexof(a[p, q])\n",
                                "f(x, y) := a[x, y]\nd[p, q] = indexof(f(p, q))\n"}) {
    CAPTURE(use);
    const Kernel k = parsed(head + use);
    CHECK(code_of([&] { tag_array_axes(k, {"a"}, {"f"}); }) == "flat-subscript");
    CHECK(code_of([&] { add_padding(k, "a", 0, 72); }) == "flat-subscript");
    CHECK(code_of([&] { split_array_axis(k, {"a"}, 1, 4, Order::C); }) == "flat-subscript");
    CHECK(code_of([&] { tag_array_axes(k, {"a"}, {"c"}); }) == "legal");  // as it is
  }
}

TEST_CASE("concatenate_arrays: temporaries one behind the other") {
  const Kernel k = parsed(R"(
kernel s(n: int32, m: int32, a: int64[n, m], b: int64[n])
domain {[i, j]: 0 <= i < n and 0 <= j < m}
domain {[p, q]: 0 <= p < n and 0 <= q < 2}
domain {[l]: 0 <= l < n}
assume n >= 2 and m >= 2
temp t: int64[n, m]
temp u: int64[n, 2]
temp v: int64[n, m]
t[i, j] = a[i, j]
v[i, j] = 2*t[i, j]
u[p, q] = v[n - p - 1, q]
b[l] = t[l, 0] + u[l, 1]*v[l, m - 1]
)");
  const Kernel two = concatenate_arrays(k, {"t", "u"}, "tu", 1);
  CHECK(to_string(*two.find_temporary("tu")->shape) == "n, m + 2");
  CHECK(line(two, "insn_1") == "tu[p, q + m] = v[n - p - 1, q]");
  CHECK(same_values(k, two, {{"n", 4}, {"m", 3}}));
  const Kernel all = concatenate_arrays(k, {"v", "t", "u"}, "v", 1);
  CHECK(all.temporaries.size() == 1);
  CHECK(same_values(k, all, {{"n", 3}, {"m", 2}}));
  CHECK(same_values(k, concatenate_arrays(k, {"t", "v"}, "x", 0), {{"n", 3}, {"m", 4}}));
  const auto refused = [&](const std::vector<std::string>& names, const char* name, int axis) {
    const auto f = [&] { concatenate_arrays(k, names, name, axis); };
    return code_of(f) + ": " + message(f);
  };
  CHECK(refused({"t", "u"}, "x", 0) == "other-shape: `t` and `u` differ in axis 1: `m` and `2`");
  CHECK(refused({"t", "v"}, "x", 2) == "bad-axis: `t` has no axis 2; it has 2, counted from 0");
  CHECK(refused({"t", "t"}, "x", 0) == "twice: `t` occurs twice");
  CHECK(refused({"t"}, "x", 0) == "no-match: two temporaries or more are put together");
  CHECK(refused({"t", "v"}, "u", 0) == "name-taken: `u` is the name of something else");
  CHECK(refused({"t", "z"}, "x", 0).starts_with("unknown-temporary: "));
  const Kernel table = parsed(
      "kernel s(b: int64[2])\ndomain {[i]: 0 <= i < 2}\n"
      "temp t: int64[2] read_only init=(1, 2)\ntemp u: int64[2]\nu[i] = 3\nb[i] = t[i] + u[i]\n");
  CHECK(message([&] { concatenate_arrays(table, {"t", "u"}, "x", 0); }) ==
        "`t` has initial values; it is not put together with others");
}
