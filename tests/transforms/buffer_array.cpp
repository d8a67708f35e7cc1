#include "core/model/print.h"
#include "loop_kit.h"
#include "same_values.h"

/// Copies of parts of arrays that instructions work on.

using namespace moonloop;

namespace {

template <class F>
std::string refusal(F f) {
  return message(f) + " [" + code_of(f) + "]";
}

std::string shape(const Kernel& k, const std::string& temporary) {
  const Temporary* t = k.find_temporary(temporary);
  REQUIRE(t != nullptr);
  return to_string(*t->shape);
}

/// c[i] += a[j, i], by tiles of i.
Kernel sums() {
  Kernel k = parsed(R"(kernel sums(n: int32, m: int32, a: float64[m, n], c: float64[n])
domain {[j, i]: 0 <= i < n and 0 <= j < m}
c[i] = c[i] + a[j, i]  {id=add}
)");
  k = apply(k, "split_iname", {text("i"), number(4)});
  return apply(k, "prioritize_loops", {text("i_outer, j, i_inner")});
}

const std::vector<Params> kSizes{{{"n", 1}, {"m", 1}}, {{"n", 4}, {"m", 2}}, {{"n", 11}, {"m", 3}}};

}  // namespace

TEST_CASE("buffer_array: an accumulation works on a copy of its tile") {
  const Kernel before = sums();
  const Kernel k = apply(before, "buffer_array", {text("c"), text("j, i_inner")});
  CHECK(shape(k, "c_buf") == "4");
  CHECK(line(k, "init_c") == "c_buf[c_init_0] = c[c_init_0 + 4*i_outer]");
  CHECK(line(k, "add") == "c_buf[i_inner] = c_buf[i_inner] + a[j, i_inner + 4*i_outer]");
  CHECK(line(k, "store_c") == "c[c_store_0 + 4*i_outer] = c_buf[c_store_0]");
  CHECK(tree(k) ==
        "for i_outer\n"
        "  for c_init_0\n"
        "    init_c\n"
        "  for j\n"
        "    for i_inner\n"
        "      add\n"
        "  for c_store_0\n"
        "    store_c\n");
  for (const Params& p : kSizes) CHECK(same_values(before, k, p));
}

TEST_CASE("buffer_array: an accumulation may start from nothing and be added at the end") {
  const Kernel before = sums();
  const Kernel k = apply(before, "buffer_array",
                         {text("c"), text("j, i_inner"), number(0), text("base + buffer")});
  CHECK(line(k, "init_c") == "c_buf[c_init_0] = 0");
  CHECK(line(k, "store_c") ==
        "c[c_store_0 + 4*i_outer] = c[c_store_0 + 4*i_outer] + c_buf[c_store_0]");
  for (const Params& p : kSizes) CHECK(same_values(before, k, p));  // sums of halves are exact
}

TEST_CASE("buffer_array: a scalar copy of one element") {
  const Kernel before = parsed(R"(kernel rows(n: int32, m: int32, a: float64[n, m], c: float64[n])
domain {[i, j]: 0 <= i < n and 0 <= j < m}
c[i] = c[i] + a[i, j]  {id=add}
)");
  const Kernel k = apply(before, "buffer_array", {text("c"), text("j")});
  CHECK(shape(k, "c_buf") == "");
  CHECK(line(k, "add") == "c_buf = c_buf + a[i, j]");
  CHECK(tree(k) == "for i\n  init_c\n  for j\n    add\n  store_c\n");
  for (const Params& p : kSizes) CHECK(same_values(before, k, p));
}

TEST_CASE("buffer_array: what is only read is not stored, what is written alone is") {
  const Kernel reads = parsed(R"(kernel s(n: int32, m: int32, a: float64[m + 1], c: float64[n, m])
domain {[i, j]: 0 <= i < n and 0 <= j < m}
c[i, j] = a[j] + a[j + 1]  {id=use}
)");
  const Kernel k = apply(reads, "buffer_array", {text("a"), text("i, j")});
  CHECK(shape(k, "a_buf") == "m + 1");
  CHECK(k.find_insn("store_a") == nullptr);
  for (const Params& p : kSizes) CHECK(same_values(reads, k, p));

  const Kernel both = parsed(R"(kernel s(n: int32, m: int32, c: float64[n, m + 2])
domain {[i, j]: 0 <= i < n and 1 <= j <= m}
c[i, j] = c[i, j + 1]*2 + c[i, j - 1]  {id=sweep}
)");
  const Kernel row = apply(both, "buffer_array", {text("c"), text("j")});
  CHECK(shape(row, "c_buf") == "m + 2");
  CHECK(same_set(instances(row, {"i", "c_store_1"}),
                 "[n, m] -> { [i, c_store_1] : 0 <= i < n and 1 <= c_store_1 <= m }"));
  for (const Params& p : kSizes) CHECK(same_values(both, row, p));
}

TEST_CASE("buffer_array: several instructions, one of them under a condition") {
  const Kernel before = parsed(R"(kernel s(n: int32, m: int32, q: int32[m, n], c: float64[n])
domain {[i, j]: 0 <= i < n and 0 <= j < m}
domain {[k]: 0 <= k < m}
c[i] = 2*c[i]  {id=twice, inames=i}
c[i] = c[i] + j  {id=some, if=q[j, i] > 1}
c[i] = c[i] - k  {id=minus, inames=i:k}
)");
  const Kernel k = apply(before, "buffer_array", {text("c"), text("j, k")});
  CHECK(tree(k) == "for i\n  init_c\n  twice\n  for j\n    some\n  for k\n    minus\n  store_c\n");
  for (const Params& p : kSizes) CHECK(same_values(before, k, p));
}

TEST_CASE("buffer_array: reads through rules go to the copy") {
  const Kernel before = parsed(R"(kernel s(n: int32, m: int32, c: float64[n])
domain {[i, j]: 0 <= i < n and 0 <= j < m}
get(x) := c[x] + 1
c[i] = get(i)*2 - j  {id=step}
)");
  const Kernel k = apply(before, "buffer_array", {text("c"), text("j")});
  CHECK(line(k, "step") == "c_buf = (c_buf + 1)*2 - j");
  CHECK(k.rules.empty());
  for (const Params& p : kSizes) CHECK(same_values(before, k, p));
}

TEST_CASE("buffer_array: rules that do not read the array stay") {
  const Kernel before = parsed(R"(kernel s(n: int32, m: int32, c: float64[n], b: float64[n])
domain {[i, j]: 0 <= i < n and 0 <= j < m}
other(x) := 2*b[x] + 1
get(x) := c[x] + other(x)
c[i] = get(i)*2 - other(i)*j  {id=step}
)");
  const Kernel k = apply(before, "buffer_array", {text("c"), text("j")});
  CHECK(line(k, "step") == "c_buf = (c_buf + other(i))*2 - other(i)*j");
  REQUIRE(k.rules.size() == 1);
  CHECK(k.rules[0].name == "other");
  for (const Params& p : kSizes) CHECK(same_values(before, k, p));
}

TEST_CASE("buffer_array: instructions that are left out may not meet the array between") {
  const Kernel before = parsed(R"(kernel s(n: int32, m: int32, c: float64[n], d: float64[n])
domain {[i, j]: 0 <= i < n and 0 <= j < m}
c[i] = c[i] + j  {id=add}
d[i] = c[i]*j  {id=peek}
)");
  CHECK(refusal([&] {
          apply(before, "buffer_array", {text("c"), text("j")}, {{"within", text("id:add")}});
        }) ==
        "store_c[i=0] writes c[0], which peek[i=0, j=0] reads; store_c[i=0] must run "
        "before peek[i=0, j=0], and with `store_c` it does not (m=1, n=1) [stale-value]");
  const Kernel k = apply(before, "buffer_array", {text("c"), text("j")});
  CHECK(line(k, "peek") == "d[i] = c_buf*j");
  for (const Params& p : kSizes) CHECK(same_values(before, k, p));

  // Before and after is fine.
  const Kernel apart = parsed(R"(kernel s(n: int32, m: int32, c: float64[n], d: float64[n])
domain {[i, j]: 0 <= i < n and 0 <= j < m}
c[i] = 3*c[i]  {id=before, inames=i}
c[i] = c[i] + j  {id=add}
d[i] = c[i] + 0.5  {id=after, inames=i}
)");
  const Kernel some =
      apply(apart, "buffer_array", {text("c"), text("j")}, {{"within", text("id:add")}});
  CHECK(tree(some) == "for i\n  before\n  init_c\n  for j\n    add\n  store_c\n  after\n");
  for (const Params& p : kSizes) CHECK(same_values(apart, some, p));
}

TEST_CASE("buffer_array: a neighbour's element that an outer iteration changes") {
  // All of c in one copy is right; one element at a time, the copy would hide the last write.
  const Kernel before = parsed(R"(kernel s(n: int32, m: int32, c: float64[n + 1])
domain {[i, j]: 0 <= i < n and 0 <= j < m}
c[i + 1] = c[i] + c[i + 1]*j  {id=step}
)");
  const Kernel k = apply(before, "buffer_array", {text("c"), text("i, j")});
  CHECK(shape(k, "c_buf") == "n + 1");
  for (const Params& p : kSizes) CHECK(same_values(before, k, p));
  const Kernel pair = apply(before, "buffer_array", {text("c"), text("j")});
  CHECK(shape(pair, "c_buf") == "2");
  CHECK(tree(pair) ==
        "for i\n  for c_init_0\n    init_c\n  for j\n    step\n  for c_store_0\n    store_c\n");
  for (const Params& p : kSizes) CHECK(same_values(before, pair, p));
}

TEST_CASE("buffer_array: expressions that are proved, and those that are not") {
  const Kernel add = sums();
  const auto say = [&](const Kernel& k, Value init, Value store, ValueDict options = {}) {
    return refusal([&] {
      apply(k, "buffer_array", {text("c"), text("j, i_inner"), init, store}, options);
    });
  };
  CHECK(say(add, number(1), text("base + buffer")) ==
        "it is not proved that `c` ends up the same when its buffer starts as `1` and is "
        "stored as `base + buffer`; that is known for accumulations only (`0` and `base + "
        "buffer`, `1` and `base*buffer`) [not-proved]");
  CHECK(say(add, number(0), text("base*buffer")) ==
        "it is not proved that `c` ends up the same when its buffer starts as `0` and is "
        "stored as `base*buffer`; that is known for accumulations only (`0` and `base + "
        "buffer`, `1` and `base*buffer`) [not-proved]");
  CHECK(say(add, number(0), text("buffer")) ==
        "it is not proved that `c` ends up the same when its buffer starts as `0` and is "
        "stored as `buffer`; that is known for accumulations only (`0` and `base + buffer`, "
        "`1` and `base*buffer`) [not-proved]");
  CHECK(say(add, text("base"), text("2*buffer")) ==
        "it is not proved that `c` ends up the same when its buffer starts as `base` and is "
        "stored as `2*buffer`; that is known for accumulations only (`0` and `base + buffer`, "
        "`1` and `base*buffer`) [not-proved]");
  CHECK(say(add, text("base"), flag(false)) ==
        "without a store, what `add` writes to `c` would be lost [lost-store]");
  CHECK(say(add, text("a"), text("buffer")) ==
        "init_expression is over `base`; it does not know `a` [bad-argument]");
  CHECK(say(add, text("base"), text("other")) ==
        "store_expression is over `base`, `buffer`; it does not know `other` [bad-argument]");
  // On the caller's word.
  const Kernel forced = apply(add, "buffer_array", {text("c"), text("j, i_inner"), number(0)},
                              {{"unsafe", flag(true)}});
  CHECK(forced.claims.size() == 1);

  const Kernel fill = parsed(R"(kernel s(n: int32, m: int32, c: float64[n, m])
domain {[i, j]: 0 <= i < n and 0 <= j < m}
c[i, j] = i + j  {id=fill}
)");
  const Kernel k = apply(fill, "buffer_array", {text("c"), text("j"), number(0)});
  CHECK(line(k, "init_c") == "c_buf[c_init_1] = 0");
  for (const Params& p : kSizes) CHECK(same_values(fill, k, p));
}

TEST_CASE("buffer_array: work-items keep copies of their own, or share one") {
  Kernel k = parsed(R"(kernel mm(n: int32, a: float64[n, n], b: float64[n, n], c: float64[n, n])
domain {[i, j, k]: 0 <= i, j, k < n}
c[i, j] = c[i, j] + a[i, k]*b[k, j]  {id=upd}
)");
  k = apply(k, "split_iname", {text("i"), number(4)},
            {{"outer_tag", text("g.0")}, {"inner_tag", text("l.0")}});
  k = apply(k, "split_iname", {text("j"), number(2)});
  k = apply(k, "prioritize_loops", {text("j_outer, k, j_inner")});
  const Kernel own = apply(k, "buffer_array", {text("c"), text("k, j_inner")});
  CHECK(shape(own, "c_buf") == "2");
  CHECK(own.find_temporary("c_buf")->space == AddressSpace::Private);
  CHECK(own.find_insn("init_c")->inames ==
        std::set<std::string>{"c_init_1", "i_inner", "i_outer", "j_outer"});
  CHECK(own.tag("c_init_1") == nullptr);
  CHECK(same_values(k, own, {{"n", 5}}));
  const Kernel shared = apply(k, "buffer_array", {text("c"), text("k, j_inner, i_inner")});
  CHECK(shape(shared, "c_buf") == "4, 2");
  CHECK(shared.find_temporary("c_buf")->space == AddressSpace::Local);
  CHECK(shared.tag("c_init_0")->text == "l.auto");
  CHECK(shared.tag("c_store_1")->text == "l.auto");
  CHECK(same_values(k, shared, {{"n", 5}}));
}

TEST_CASE("buffer_array: names, tags and the box") {
  const Kernel before = sums();
  const Kernel k = apply(before, "buffer_array", {text("c"), text("j, i_inner")},
                         {{"default_tag", text("unr")},
                          {"fetch_bounding_box", flag(true)},
                          {"temporary_name", text("tile")},
                          {"temporary_scope", text("private")}});
  CHECK(k.tag("c_init_0")->text == "unr");
  CHECK(k.tag("c_store_0")->text == "unr");
  CHECK(k.find_temporary("tile")->space == AddressSpace::Private);
  for (const Params& p : kSizes) CHECK(same_values(before, k, p));
}

TEST_CASE("buffer_array: what it refuses") {
  const Kernel k =
      parsed(R"(kernel s(n: int32, q: int32[n], c: float64[n], d: float64[n, n], e: float64[n])
domain {[i, j]: 0 <= i, j < n}
c[q[i]] = 1  {id=indirect}
d[[i + n*j]] = 2 {id=flat}
e[i] = e[j] + 1  {id=cross}
)");
  const auto say = [&](ValueList args, ValueDict options = {}) {
    return refusal([&] { apply(k, "buffer_array", args, options); });
  };
  CHECK(say({text("z"), text("i")}) ==
        "bad argument #2 to 'buffer_array' (no array 'z' in kernel 's'; it has 'n', 'q', 'c', "
        "'d', 'e') [bad-argument]");
  CHECK(say({text("e"), text("z")}) ==
        "bad argument #3 to 'buffer_array' (kernel 's' has no iname 'z'; it has i, j) "
        "[bad-argument]");
  CHECK(say({text("c"), text("i")}) ==
        "subscript `q[i]` of `c` in `indirect` is not a sum of inames and parameters, so that its "
        "footprint is not known [non-affine-argument]");
  CHECK(say({text("d"), text("i")}) ==
        "`d[[i + n*j]]` is one flat subscript; its axes are not known [linear-access]");
  CHECK(say({text("c"), text("j")}, {{"within", text("id:cross")}}) ==
        "no selected instruction of kernel `s` accesses `c` [no-match]");
  CHECK(say({text("e"), text("i, j"), flag(true)}) ==
        "init_expression: an expression expected, got true [bad-argument]");
  CHECK(say({text("e"), text("i, j")}, {{"temporary_name", text("q")}}) ==
        "the name `q` is in use in kernel `s` [name-taken]");
  CHECK(say({text("e"), text("i, j")}, {{"default_tag", text("z.9")}}) ==
        "bad argument #4 to 'buffer_array' ('z.9' is not a tag of an iname) [bad-argument]");
  CHECK(say({text("e"), text("i, j")}, {{"temporary_scope", text("moon")}}) ==
        "`moon` is not an address space; there are `auto`, `private`, `local`, `global` "
        "[bad-address-space]");
  const Kernel apart = parsed(R"(kernel s(n: int32, e: float64[n])
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j < n}
e[i] = e[i] + 1  {id=one}
e[j] = e[j] + 2  {id=two}
)");
  CHECK(refusal([&] {
          apply(apart, "buffer_array", {text("e"), text("i")});
        }) ==
        "`e` depends on `j`, which is not around every selected access; make it a buffer "
        "iname, or select the instructions with `within` [not-swept]");
  CHECK(refusal([&] {
          apply(apart, "buffer_array", {text("e"), text("j")}, {{"within", text("id:one")}});
        }) == "no selected access of `e` is in the loop `j` [unused-sweep]");
}

TEST_CASE("buffer_array: a buffer that begins as nothing") {
  const auto made = [](const std::string& statement, const ValueDict& options = {}) {
    const Kernel k = parsed(
        "kernel f(n: int32, m: int32, a: float64[n, m], c: inout float64[n, m])\n"
        "domain {[i, j]: 0 <= i < n and 0 <= j < m}\n" +
        statement + "  {id=put}\n");
    return std::pair(
        k, apply(k, "buffer_array", {text("c"), text("j"), Value{false}, text("buffer")}, options));
  };
  const auto [before, k] = made("c[i, j] = 2*a[i, j]");
  CHECK(tree(k) == "for i\n  for j\n    put\n  for c_store_1\n    store_c\n");
  for (const Params& p : kSizes) CHECK(same_values(before, k, p));
  CHECK(refusal([&] { made("c[i, j] = c[i, j] + 1"); }) ==
        "without init_expression, elements of the buffer of `c` would be read before they are "
        "written [undefined-buffer]");
  const std::string stored =
      "without init_expression, elements of the buffer of `c` would be stored before they are "
      "written [undefined-buffer]";
  const Kernel some =
      parsed(R"(kernel f(n: int32, m: int32, a: float64[n, m], c: inout float64[n, m])
domain {[i, j]: 0 <= i < n and 0 <= j < m}
c[i, j] = 1  {id=put, if=a[i, j] > 1}
)");
  CHECK(refusal([&] {
          apply(some, "buffer_array", {text("c"), text("j"), Value{false}, text("buffer")});
        }) == stored);
  CHECK(refusal([&] { made("c[i, j] = 1", {{"fetch_bounding_box", flag(true)}}); }) == stored);
}

TEST_CASE("buffer_array: parts of arrays and accesses of another rank") {
  const Kernel rank = parsed(R"(kernel s(n: int32, a: float64[n, n], c: float64[n])
domain {[i]: 0 <= i < n}
c[i] = a[i, i] + a[i]  {id=c}
)");
  CHECK(refusal([&] {
          apply(rank, "buffer_array", {text("a"), text("i")});
        }) == "`a` has 1 subscript here and 2 elsewhere [rank-mismatch]");
  const Kernel part = parsed(R"(kernel s(n: int32, a: float64[n, 3], c: float64[n])
domain {[i, j]: 0 <= i < n and 0 <= j < 3}
c[i] = g([j]: a[i, j])  {id=c}
)");
  CHECK(refusal([&] {
          apply(part, "buffer_array", {text("a"), text("i")});
        }) == "`[j]: a[i, j]` is a part of `a`; only single elements can be buffered [sub-array]");
}

TEST_CASE("buffer_array: what is stored is there before a barrier of all groups") {
  const Kernel before = parsed(R"(
kernel two(a: in float64[100], x: in float64[10], first: out float64[100], second: out float64[100])
domain {[i, j]: 0 <= i < 100 and 0 <= j < 10}
domain {[p]: 0 <= p < 100}
first[i] = sum(j, a[i]*x[j])    {id=work}
... gbarrier                    {id=cut, dep=work}
second[p] = 2*first[99 - p]     {id=use, dep=cut}
)");
  Kernel k = apply(before, "split_iname", {text("j"), number(2)});
  k = apply(k, "split_iname", {text("i"), number(2)}, {{"outer_tag", text("g.0")}});
  k = apply(k, "buffer_array", {text("first"), text("i_inner"), number(0)},
            {{"within", text("id:work")}});
  CHECK(tree(k) ==
        "for i_outer  [g.0]\n"
        "  for first_init_0\n"
        "    init_first\n"
        "  for i_inner\n"
        "    work_init\n"
        "    for j_outer\n"
        "      for j_inner\n"
        "        work_update\n"
        "    work\n"
        "  for first_store_0\n"
        "    store_first\n"
        "cut\n"
        "for p\n"
        "  use\n");
  CHECK(same_values(before, k, {}));
}

// Differential test, seed 6110180: the reduction's last part is after an instruction that its first
// one has to run before.
TEST_CASE("buffer_array: a reduction reads the copy before a later statement changes it") {
  const Kernel before = parsed(R"(
kernel f(n: int32, a: int64[2*n + 8], b: int64[2*n + 8], p: int64[2*n + 8, 2*n + 8])
domain {[i]: 0 <= i < 5}
domain {[j]: 0 <= j < n}
domain {[k]: 0 <= k < n}
domain {[m]: 0 <= m < 5}
assume n >= 5
b[k] = b[k + 1] + a[i]              {id=s1, inames=i:j:k}
p[j, i] = max(m, a[i + 1] + m)      {id=s2, inames=i:j}
a[j] = 2*a[j + 1] + 1               {id=s3, inames=i:j:k}
)");
  const Kernel k = apply(before, "buffer_array", {text("a"), text("k, m")});
  CHECK(same_values(before, k, {{"n", 5}}));
  CHECK(same_values(before, k, {{"n", 7}}));
}

TEST_CASE("buffer_array: updates of the copy commute where those of the array are claimed to") {
  const Kernel k = parsed(R"(
kernel k(n: int32, m: int32, d: in int32[n], h: inout int32[m])
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j < m}
h[j] = (h[j] + d[i]) % 7  {id=add, inames=j:i, atomic}
)");
  const auto tagged = [&](const Kernel& x) {
    return apply(apply(x, "buffer_array", {text("h"), text("i")}), "tag_inames", {text("i:simd")});
  };
  CHECK(code_of([&] { tagged(k); }) == "races");
  const Kernel claimed = tagged(apply(k, "assume_commuting", {text("h")}));
  CHECK(line(claimed, "add") == "h_buf = (h_buf + d[i]) % 7");
  // An update that takes its old value from a copy is not covered by the claim.
  const Kernel copied =
      apply(apply(claimed, "untag_inames", {text("i")}), "add_prefetch", {text("h_buf")},
            {{"fetch_outer_inames", text("j, i")}, {"within", text("id:add")}});
  CHECK(line(copied, "add") == "h_buf = (h_buf_fetch + d[i]) % 7");
  CHECK(code_of([&] { apply(copied, "tag_inames", {text("i:simd")}); }) == "races");
}

TEST_CASE("buffer_array: what is loaded comes before all accesses, also those before a barrier") {
  // Differential test on a GPU, seed 43411110: it came after the barrier, over s0's result.
  const Kernel k = parsed(R"(
kernel f(n: int32, q: in int32[n], r: int32[n + 3], s: in int32[n])
domain {[i]: 0 <= i < n}
domain {[z]: 0 <= z < n}
r[i] = q[i]      {id=s0, inames=i}
r[i + 3] = s[z]  {id=s1, inames=i:z}
)");
  const Kernel cut = apply(k, "add_barrier", {text("id:s0"), text("id:s1")},
                           {{"synchronization_kind", text("local")}});
  const Kernel out =
      apply(cut, "buffer_array", {text("r"), text("z")}, {{"default_tag", Value{false}}});
  CHECK(same_values(k, out, {{"n", 7}}));
  CHECK(same_values(k, parsed(print_kernel(out)), {{"n", 7}}));
}

TEST_CASE("buffer_array: what the array's type does to sums in each step") {
  const auto of = [](const std::string& types) {
    const Kernel k = apply(parsed("kernel k(n: int32, h: inout " + types +
                                  "[n])\ndomain {[i, j]: 0 <= i < n and 0 <= j < 4}\n"
                                  "h[j] = h[j] + x[i]\n"),
                           "prioritize_loops", {text("j, i")});
    return code_of([&] {
      apply(k, "buffer_array", {text("h"), text("i"), text("0"), text("base + buffer")});
    });
  };
  CHECK(of("int32[4], x: in float64") == "not-proved");
  CHECK(of("float64[4], x: in float64") == "legal");
  CHECK(of("int8[4], x: in int32") == "legal");
}

TEST_CASE("buffer_array: the number of an element is not an access of it") {
  const Kernel k = parsed(
      "kernel k(n: int32, a: inout float64[n, 8])\ndomain {[i, j]: 0 <= i < n and 0 <= j < 8}\n"
      "a[i, j] = a[i, j] + indexof(a[i, j]) {id=s}\n");
  const Kernel after = apply(k, "buffer_array", {text("a"), text("j")});
  CHECK(line(after, "s") == "a_buf[j] = a_buf[j] + indexof(a[i, j])");
  CHECK(same_values(k, after, {{"n", 5}}));
}
