#include "codegen/codegen.h"
#include "tests/scripts/harness.h"

using namespace moonloop;        // NOLINT
using namespace moonloop::test;  // NOLINT

namespace {

const char* const kHalf = R"(
kernel tri(n: int32, a: float64[n, n], b: float32[n, n])
domain {[i, j]: 0 <= j <= i < n}
assume n >= 1
a[i, j] = 2*b[i, j] + 1
)";
const char* const kProduct = R"(
kernel matmul(n: int32, m: int32, ell: int32, a: float32[n, m], b: float32[m, ell],
    c: float32[n, ell])
domain {[i, k, j]: 0 <= i < n and 0 <= k < m and 0 <= j < ell}
assume n >= 16 and m >= 16 and ell >= 16 and n mod 16 = 0 and m mod 16 = 0 and ell mod 16 = 0
c[i, j] = sum(k, a[i, k]*b[k, j])
)";

}  // namespace

TEST_CASE("counts: a number for given parameters, a formula without") {
  run_lua(kHalf, R"(
    assert(tri:op_counts():filter_by{dtype = "f4"}:sum():eval{n = 10} == 110)
    local c = tri:op_counts():filter_by{name = "mul"}:sum()
    assert(tostring(c) == "(n**2 + n)//2", tostring(c))
    assert(c.exact and #c.params == 1 and c.params[1] == "n")
    assert(math.type(c:eval{n = 10}) == "integer")
    assert((c + c):eval{n = 4} == 20 and (c*3):eval{n = 4} == 30 and (c*c):eval{n = 4} == 100)
    assert((1 + c):eval{n = 4} == 11)
    assert(tri:mem_counts():to_bytes():sum():eval{n = 10} == 55*12)
    assert(tri:footprints():filter_by{direction = "read"}:eval_and_sum{n = 10} == 55)
  )");
}

TEST_CASE("counts: maps filter, group, evaluate, and can be walked") {
  run_lua(kProduct, R"(
    local m = matmul:mem_counts()
    assert(#m == 3 and m.fields[1] == "mtype" and #m.fields == 9)
    assert(m[1].variable == "a" and m[1].direction == "load")
    assert(tostring(m[1].count) == "n*m*ell", tostring(m[1].count))
    assert(m[4] == nil)
    local total, seen = 0, {}
    for key, count in pairs(m) do
      seen[#seen + 1] = key.variable .. " " .. key.direction
      total = total + count:eval{n = 16, m = 16, ell = 32}
    end
    assert(table.concat(seen, ", ") == "a load, b load, c store", table.concat(seen, ", "))
    assert(total == m:eval_and_sum{n = 16, m = 16, ell = 32})
    local loads = m:filter_by{direction = "load", variable = {"a", "b"}}:group_by("direction")
    assert(#loads == 1 and loads[1].direction == "load" and loads[1].variable == nil)
    local at = m:group_by("dtype, direction"):eval{n = 16, m = 16, ell = 32}
    assert(tostring(at) ==
      "dtype    direction  count\n" ..
      "float32  load       16384\n" ..
      "float32  store      512\n", tostring(at))
  )");
}

TEST_CASE("counts: Loo.py's tiled product, every kind of count") {
  run_lua(kProduct, R"(
    local k = matmul:split_iname("i", 16, {outer_tag = "g.0", inner_tag = "l.1"})
      :split_iname("j", 16, {outer_tag = "g.1", inner_tag = "l.0"})
      :split_iname("k", 16)
      :add_prefetch("a", {"k_inner", "i_inner"}, {default_tag = "l.auto"})
      :add_prefetch("b", {"j_inner", "k_inner"}, {default_tag = "l.auto"})
    local p = {n = 64, m = 48, ell = 32}
    local ops = k:op_counts():filter_by{dtype = "float32"}
    assert(ops:filter_by{name = "mul"}:eval_and_sum(p) == 64*48*32)
    assert(ops:filter_by{name = "add"}:eval_and_sum(p) == 64*48*32)
    local loads = k:mem_counts():filter_by{mtype = "global", direction = "load"}
    assert(loads:filter_by{variable = "a"}:eval_and_sum(p) == 64*48*32//16)
    assert(loads:filter_by{variable = "b"}:eval_and_sum(p) == 64*48*32//16)
    assert(k:mem_counts():filter_by{mtype = "local", direction = "load"}:eval_and_sum(p)
      == 2*64*48*32)
    local prints = k:footprints()
    assert(prints:filter_by{variable = "a"}:eval_and_sum(p) == 64*48)
    assert(prints:filter_by{variable = "c"}:eval_and_sum(p) == 64*32)
    local sync = k:sync_counts()
    assert(sync:filter_by{kind = "kernel_launch"}:eval_and_sum(p) == 1)
    assert(sync:filter_by{kind = "barrier_local"}:eval_and_sum(p) == 48//16*2)
    assert(#k:sync_counts("c") == 1)
  )");
}

TEST_CASE("counts: barriers in loops, and those of a reduction over work-items") {
  run_lua(R"(
kernel passes(a: float32[50, 10, 128], c: float32[50, 10, 128], e: float32[50, 10, 128])
domain {[i, j, k, l]: 0 <= i < 50 and 1 <= k < 98 and 1 <= l < 97 and 0 <= j < 10}
tag k: l.0, l: l.0
c[i, j, k] = 2*a[i, j, k]
e[i, j, l] = c[i, j, l + 1] + c[i, j, l - 1]
)",
          R"(
    assert(passes:sync_counts():filter_by{kind = "barrier_local"}:eval_and_sum{} == 50*10)
  )");
  // Loo.py's reduction over work-items: the tree has a level for each bit of its width
  run_lua(R"(
kernel rows(n: int32, z: int32[n])
domain {[i, j]: 0 <= i < n and 0 <= j < 113}
assume n >= 1
tag j: l.0
z[i] = sum(j, i + j)
)",
          R"(
    assert(tostring(rows:op_counts():filter_by{name = "add"}:sum()) == "226*n",
           tostring(rows:op_counts()))
    local barriers = rows:sync_counts("opencl"):filter_by{kind = "barrier_local"}:sum()
    local _, printed = rows:code("opencl"):gsub("barrier%(", "")
    assert(printed > 0)
    assert(tostring(barriers) == "9*n", tostring(barriers))
  )");
}

TEST_CASE("counts: kernels on the host's loops, one after the other") {
  run_lua(R"(
kernel steps(n: int32, t: int32, a: float64[n + 2], b: float64[n + 2])
domain {[s, i, j]: 0 <= s < t and 1 <= i, j <= n}
assume n >= 1 and t >= 1
tag i: g.0, j: g.0
b[i] = a[i-1] + a[i+1]   {inames=s:i}
a[j] = b[j-1] + b[j+1]   {inames=s:j}
)",
          R"(
    local sync = steps:sync_counts("cuda")
    assert(tostring(sync:filter_by{kind = "kernel_launch"}:sum()) == "2*t", tostring(sync))
    assert(tostring(sync:filter_by{kind = "barrier_global"}:sum()) == "2*t - 1", tostring(sync))
  )");
}

TEST_CASE("counts: errors name what is wrong") {
  const auto fails = [](const std::string& lua) {
    const Diagnostic d = failure(kHalf, lua);
    return d.text + " [" + d.code + "] " + place(d);
  };
  CHECK(fails("tri:op_counts():filter_by{kind = 'add'}") ==
        "counts of operations have no field `kind`; they have `dtype`, `name`, `granularity`, "
        "`kernel` [unknown-field] 1:17");
  CHECK(fails("tri:op_counts():sum():eval{m = 10}") ==
        "the count depends on `n`, which has no value [missing-parameter] 1:23");
  CHECK(fails("tri:op_counts():sum():eval{n = 'many'}") ==
        "`n` is \"many\", which is not an integer [bad-argument] 1:23");
  CHECK(fails("tri:op_counts():filter_by{name = 3}") ==
        "`name` is 3, which is not a text [bad-argument] 1:17");
  CHECK(fails("tri:op_counts():group_by('name'):to_bytes()") ==
        "counts of operations by `name` have no size in bytes; take bytes before groups "
        "[no-bytes] 1:34");
  CHECK(fails("tri:op_counts{warp = 32}") ==
        "option `warp` is unknown; there is `subgroup_size` [unknown-option] 1:5");
  CHECK(fails("tri:op_counts{subgroup_size = 0}") ==
        "`subgroup_size` is 0, which is not a positive integer [bad-argument] 1:5");
  CHECK(fails("local c = tri:op_counts().total") ==
        "a map of counts has no field or method `total`; it has `fields`, `eval`, "
        "`eval_and_sum`, `filter_by`, `group_by`, `sum`, `to_bytes` [unknown-name] 1:27");
  CHECK(fails("local c = tri:op_counts():sum().total") ==
        "a count has no field or method `total`; it has `exact`, `params`, `eval` "
        "[unknown-name] 1:33");
  CHECK(fails("tri:sync_counts('pascal')")
            .starts_with("bad argument #1 to 'sync_counts' (unknown target 'pascal'; there is " +
                         target_list() + ")"));
}
