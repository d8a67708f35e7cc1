#include "tests/runtime/device_kit.h"

using namespace moonloop;
using test::count;
using test::device_target;
using test::error_of;
using test::run;
using test::run_everywhere;
using test::Shape;
using test::split;
using test::step;
using test::tagged;
using test::word;

namespace {

const char* const kShift = R"(
kernel shift(x: float64[16], y: float64[16])
domain {[l]: 0 <= l < 16}
domain {[m]: 0 <= m < 16}
temp s: float64[16] in local
s[l] = x[l]  {id=fill}
y[m] = s[%]  {id=use}
)";
std::string shift(const std::string& index) {
  std::string text = kShift;
  return text.replace(text.find('%'), 1, index);
}

}  // namespace

TEST_CASE("device: no barrier where work-items only meet their own data") {
  CHECK(run(shift("m"), {{"l", "l.0"}, {"m", "l.0"}}, {}) == Shape{1, 0});
  CHECK(run(R"(
kernel pairs(x: float64[32], y: float64[16])
domain {[l]: 0 <= l < 16}
domain {[m]: 0 <= m < 16}
temp s: float64[32] in local
s[2*l] = x[l]
s[2*l + 1] = 2*x[l + 16]
y[m] = s[2*m] + s[2*m + 1]
)",
            {{"l", "l.0"}, {"m", "l.0"}}, {}) == Shape{1, 0});
}

TEST_CASE("device: one barrier where work-items meet") {
  CHECK(run(shift("15 - m"), {{"l", "l.0"}, {"m", "l.0"}}, {}) == Shape{1, 1});
  CHECK(run(shift("(m + 1) % 16"), {{"l", "l.0"}, {"m", "l.0"}}, {}) == Shape{1, 1});
  // another axis: other work-items
  CHECK(run(shift("m"), {{"l", "l.0"}, {"m", "l.1"}}, {}) == Shape{1, 1});
}

TEST_CASE("device: a barrier for what a later iteration overwrites, once per trip") {
  const char* text = R"(
kernel steps(n: int32, x: float64[n, 16], y: float64[n, 16])
domain {[t]: 0 <= t < n}
domain {[l]: 0 <= l < 16}
domain {[m]: 0 <= m < 16}
temp s: float64[16] in local
s[l] = x[t, l]  {inames=t:l}
y[t, m] = s[15 - m]  {inames=t:m}
)";
  CHECK(run(text, {{"l", "l.0"}, {"m", "l.0"}}, {{"n", "5"}}) == Shape{1, 2});
  std::string own = text;
  own.replace(own.find("15 - m"), 6, "m");
  CHECK(run(own, {{"l", "l.0"}, {"m", "l.0"}}, {{"n", "5"}}) == Shape{1, 0});
}

TEST_CASE("device: memory of all groups also takes a barrier within the group") {
  CHECK(run(R"(
kernel turn(x: float64[16], y: float64[16], z: float64[16])
domain {[l]: 0 <= l < 16}
domain {[m]: 0 <= m < 16}
y[l] = 2*x[l]
z[m] = y[15 - m]
)",
            {{"l", "l.0"}, {"m", "l.0"}}, {}) == Shape{1, 1});
}

TEST_CASE("device: groups that meet run in kernels of their own") {
  const char* text = R"(
kernel turn(n: int32, x: float64[n], y: float64[n], z: float64[n])
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j < n}
y[i] = 2*x[i]
z[j] = y[%]
)";
  const auto reads = [&](const std::string& index) {
    std::string t = text;
    return t.replace(t.find('%'), 1, index);
  };
  CHECK(run(reads("n - 1 - j"), {{"i", "g.0"}, {"j", "g.0"}}, {{"n", "13"}}) == Shape{2, 0});
  CHECK(run(reads("j"), {{"i", "g.0"}, {"j", "g.0"}}, {{"n", "13"}}) == Shape{1, 0});
}

TEST_CASE("device: time steps are a loop of the host") {
  const char* text = R"(
kernel heat(n: int32, steps: int32, u: inout float64[n + 2], v: float64[n + 2])
domain {[t]: 0 <= t < steps}
domain {[i]: 1 <= i <= n}
domain {[j]: 1 <= j <= n}
assume n >= 1 and steps >= 1
for t
  v[i] = (u[i - 1] + u[i] + u[i + 1])/3
  u[j] = v[j]
end
)";
  const Kernel original = parsed(text);
  Kernel k = original;
  for (const char* i : {"i", "j"})
    k = run_op(
        *find_op("split_iname"), k, {Value{std::string(i)}, Value{std::int64_t{8}}},
        {{"outer_tag", Value{std::string("g.0")}}, {"inner_tag", Value{std::string("l.0")}}});
  CHECK(run(k, original, {{"n", "29"}, {"steps", "4"}}) == Shape{2, 0});
  const Program p = generate(k, Target::OpenCL);
  REQUIRE(p.device->steps.size() == 1);
  CHECK(std::get<HostLoop>(p.device->steps[0].op).iname == "t");
  CHECK(body_of(p.device->steps[0]).size() == 2);
}

TEST_CASE("device: a written barrier of all work-items cuts the program") {
  CHECK(run(R"(
kernel two(n: int32, x: float64[n], y: float64[n], z: float64[n])
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j < n}
y[i] = 2*x[i]  {id=first}
... gbarrier  {id=cut, dep=first}
z[j] = 3*x[j]  {dep=cut}
)",
            {{"i", "g.0"}, {"j", "g.0"}}, {{"n", "13"}}) == Shape{2, 0});
}

TEST_CASE("device: one value for all is kept between kernels, values of work-items are not") {
  const char* text = R"(
kernel scaled(n: int32, x: float64[n], y: float64[n], z: float64[n])
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j < n}
assume n >= 1
<> factor = x[0] + 1
y[i] = factor*x[i]
z[j] = factor*y[n - 1 - j]
)";
  CHECK(run(text, {{"i", "g.0"}, {"j", "g.0"}}, {{"n", "13"}}).kernels == 3);
}

TEST_CASE("device: what the first work-item alone writes, all others read after a barrier") {
  CHECK(run(R"(
kernel pick(x: float64[16], y: float64[16])
domain {[l]: 0 <= l < 16}
temp s: float64[1] in local
s[0] = x[3]
y[l] = s[0]*x[l]
)",
            {{"l", "l.0"}}, {}) == Shape{1, 1});
}

TEST_CASE("device: strided, triangular and shifted loops on the axes") {
  CHECK(run(R"(
kernel shapes(n: int32, a: float64[2*n + 8, 2*n + 8])
domain {[i, j]: 3 <= i < n + 3 and i <= j < n + 5 and j mod 2 = 1}
a[i, j] = i + 10*j
)",
            {{"i", "g.0"}, {"j", "g.1"}}, {{"n", "9"}}) == Shape{1, 0});
  CHECK(run(R"(
kernel uneven(n: int32, a: float64[n], b: float64[n, 5])
domain {[i]: 0 <= i < n}
domain {[j, k]: 2 <= j < n and 0 <= k < 5}
a[i] = i
b[j, k] = j*k
)",
            {{"i", "g.0"}, {"j", "g.0"}, {"k", "l.0"}}, {{"n", "9"}}) == Shape{1, 0});
}

TEST_CASE("device: no group at all where there is nothing to do") {
  CHECK(run("kernel none(n: int32, a: float64[n + 1])\ndomain {[i]: 0 <= i < n}\na[i] = 1\n",
            {{"i", "g.0"}}, {{"n", "0"}}) == Shape{1, 0});
}

TEST_CASE("device: integers, booleans and functions mean what they mean elsewhere") {
  CHECK(run(R"(
kernel mixed(n: int32, a: int8[n], b: uint16[n], c: int64[n], d: float32[n], e: bool[n], f: float64[n])
domain {[i]: 0 <= i < n}
a[i] = (i - 50) // 7
b[i] = (i - 50) % 9
c[i] = c[i]*(i - 1000000)*100000
d[i] = sqrt(d[i]) + min(d[i], 0.25)
e[i] = i % 3 == 1 or f[i] > 0.5
f[i] = exp(f[i]) + abs(f[i] - 0.5)**2
)",
            {{"i", "g.0"}}, {{"n", "101"}})
            .kernels == 1);
}

TEST_CASE("device: atomic updates, native and by compare-and-exchange") {
  CHECK(run(R"(
kernel tally(n: int32, x: float64[n], y: float32[n], s: inout float64[3], m: inout float32[3],
             z: inout int64[3], c: inout int32[3])
domain {[i]: 0 <= i < n}
s[i % 3] = s[i % 3] + x[i]        {atomic}
m[i % 3] = max(m[i % 3], y[i])    {atomic}
z[i % 3] = z[i % 3] + i           {atomic}
c[i % 3] = min(c[i % 3], i - 40)  {atomic}
)",
            {{"i", "g.0"}}, {{"n", "300"}}) == Shape{1, 0});
  // Less than a word, pairs, and updates without an operation of the hardware.
  CHECK(run(R"(
kernel narrow(n: int32, v: int16[n], s: inout int16[5], b: inout int8[7], u: inout uint8[3], f: inout bool[3],
              w: inout uint16[3], z: inout complex64[3], p: inout float32[2], d: inout complex128[3], q: inout complex64[2])
domain {[i]: 0 <= i < n}
s[i % 5] = s[i % 5] + v[i]            {atomic}
b[i % 7] = b[i % 7]*3 - 1             {atomic}
u[i % 3] = max(u[i % 3], i % 200)     {atomic}
f[i % 3] = f[i % 3] or v[i] > 90      {atomic}
w[i % 3] = w[i % 3] ^ (i*i)           {atomic}
z[i % 3] = z[i % 3] + (0.5 + i*1j)    {atomic}
p[i % 2] = p[i % 2]*1.001             {atomic}
d[i % 3] = d[i % 3] - (v[i] + i*1j)   {atomic}
q[i % 2] = q[i % 2]*1j                {atomic}
)",
            {{"i", "g.0"}}, {{"n", "300"}}) == Shape{1, 0});
}

TEST_CASE("device: atomic updates that no operation of the hardware does take turns") {
  const auto same = [](std::string text) {
    for (std::size_t at = 0; (at = text.find('@')) != std::string::npos;)
      text.replace(at, 1, "(32*g + l)");
    CHECK(run(text, {{"g", "g.0"}, {"l", "l.0"}}, {{"n", "3000"}}) == Shape{1, 0});
  };
  same(R"(
kernel turns(n: int32, s: inout complex128[3], z: inout complex128[1], w: inout complex64[2])
domain {[g, l]: 0 <= l < 32 and 0 <= @ < n}
s[@ % 3] = s[@ % 3]*1j          {atomic}
z[0] = z[0] + (1 + @*1j)        {atomic}
z[0] = @ + z[0] + 1             {atomic}
w[@ % 2] = w[@ % 2] + (1 + 2j)  {atomic}
)");
  same(R"(
record best(value: float64, at: int16)
kernel records(n: int32, x: in best[n], m: inout best[4], count: inout best[1])
domain {[g, l]: 0 <= l < 32 and 0 <= @ < n}
m[@ % 4] = x[@] if x[@].value > m[@ % 4].value or x[@].value == m[@ % 4].value and x[@].at < m[@ % 4].at else m[@ % 4] {atomic}
count[0].at = count[0].at + 1                               {atomic}
count[0].value = max(count[0].value, x[@].value)            {atomic}
)");
  same(R"(
kernel tuples(n: int32, x: in float32[n], s: inout float64[2], k: inout int32[2], all: inout int32[1])
domain {[g, l]: 0 <= l < 32 and 0 <= @ < n}
s[@ % 2], k[@ % 2] = make_tuple(if(x[@] > s[@ % 2] or x[@] == s[@ % 2] and @ < k[@ % 2], x[@], s[@ % 2]), if(x[@] > s[@ % 2] or x[@] == s[@ % 2] and @ < k[@ % 2], @, k[@ % 2])) {atomic}
k[1 - @ % 2], all[0] = make_tuple(k[1 - @ % 2], all[0] + 1) {atomic}
)");
}

TEST_CASE("device: records lie in memory as on the host") {
  run(R"(
record mixed(a: int8, z: complex64, b: int16, h: float16, yes: bool, w: complex128)
kernel fields(n: int32, x: in mixed[n], y: inout mixed[n], z: inout complex64[n])
domain {[i]: 0 <= i < n}
y[i].z = x[i].z*2j + x[i].a
y[i].w = x[i].w + y[i].z
y[i].h = x[i].h + x[i].b
y[i].yes = x[i].yes or x[i].a > 3
z[i] = y[i].z + x[i].h
)",
      {{"i", "g.0"}}, {{"n", "33"}});
}

TEST_CASE("device: refuses what the target cannot say, by name") {
  const auto refusal = [](const std::string& text, const std::map<std::string, std::string>& tags) {
    const Kernel k = tagged(text, tags);
    return error_of([&] { generate(k, Target::OpenCL); });
  };
  const std::string one =
      "kernel one(n: int32, a: float64[n])\ndomain {[i]: 0 <= i < n}\na[i] = 1\n";
  CHECK(refusal(one, {{"i", "par"}}) ==
        "iname `i` is tagged `par`, which target `opencl` does not have; `g.N` and `l.N` are "
        "parallel there, and lib.work_items makes them of `par` [unsupported]");
  CHECK(
      refusal("kernel far(a: float64[9])\ndomain {[i]: 0 <= i < 9}\na[i] = 1\n", {{"i", "l.3"}}) ==
      "iname `i` is tagged `l.3`, but target `opencl` has the axes 0, 1 and 2 only [unsupported]");
  CHECK(refusal("kernel rows(n: int32, len: in int32[n], a: float64[n, n])\n"
                "domain {[r]: 0 <= r < n}\ndomain {[i]: 0 <= i < m}\n<int32> m = len[r]\n"
                "a[r, i] = 1\n",
                {{"r", "g.0"}, {"i", "l.0"}}) ==
        "`i` is tagged `l.0`, but its bounds depend on `m`, which is computed on the device; "
        "split_iname(\"i\", 32) gives it an inner loop that can be tagged `l.0` [unsupported]");
}

TEST_CASE("device: work-items put their parts of a reduction together") {
  const std::string text = R"(
kernel total(n: int32, m: int32, a: float64[m, n], b: float64[m], v: float64[m], q: int32[m], w: float64[m],
             e: bool[m], s: float32[m])
domain {[r]: 0 <= r < m}
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j < n}
domain {[k, l]: 0 <= k < n and 0 <= l <= k}
assume n >= 1
b[r] = 2*sum(i, a[r, i])
v[r] = max(j, a[r, j]) - b[r]
w[r], q[r] = argmin(j, a[r, j], j)
e[r] = any(i, a[r, i] > 0.99)
s[r] = product(l, 1 + a[r, l]/100) + k
)";
  const Kernel original = parsed(text);
  const auto split = [](const Kernel& k, const char* iname, int length, const char* inner,
                        const char* outer) {
    ValueDict tags{{"inner_tag", Value{std::string(inner)}}};
    if (*outer) tags.emplace_back("outer_tag", Value{std::string(outer)});
    return run_op(*find_op("split_iname"), k,
                  {Value{std::string(iname)}, Value{std::int64_t{length}}}, tags);
  };
  for (const int length : {1, 2, 3, 8, 32, 48, 64}) {
    Kernel k = split(original, "i", length, "l.0", "");
    k = split(k, "j", 16, "l.0", "");
    k = split(k, "l", 7, "l.0", "");
    k = split(k, "r", 4, "l.1", "g.0");
    CAPTURE(length);
    CHECK(run(k, original, {{"n", "101"}, {"m", "10"}}).kernels == 1);
  }
  // one group for each part, then one group for all parts: its values start in the second kernel
  const std::string parts = R"(
kernel whole(n: int32, a: float64[n], s: float64[1])
domain {[g]: 0 <= g < 12}
domain {[k, l]: 0 <= l < 8 and 0 <= k and l + 8*(g + 12*k) < n}
domain {[p]: 0 <= p < 12}
temp part: float64[12] in global
part[g] = sum((k, l), a[l + 8*(g + 12*k)])
s[0] = sum(p, part[p])
)";
  CHECK(run(parts, {{"g", "g.0"}, {"l", "l.0"}, {"p", "l.0"}}, {{"n", "1003"}}).kernels == 2);
  const Kernel grid = split(original, "i", 8, "l.0", "");
  CHECK(error_of([&] {
          run_op(*find_op("tag_inames"), grid,
                 {Value{ValueDict{{"i_outer", Value{std::string("g.1")}}}}}, {});
        }).find("but both update the same sum") != std::string::npos);
}

TEST_CASE(
    "device: groups that would meet inside of a loop over groups are refused with instances") {
  const Kernel k = tagged(R"(
kernel inside(n: int32, x: float64[n], y: float64[n, n])
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j < n}
domain {[k]: 0 <= k < n}
temp s: float64[n] in global
s[j] = x[j] + i
y[i, k] = s[n - 1 - k]
)",
                          {{"j", "g.0"}, {"k", "g.0"}});
  // i runs on the host: two kernels for each of its iterations
  CHECK(generate(k, Target::OpenCL).device->kernels.size() == 2);
  const Kernel own = tagged(R"(
kernel inside(n: int32, x: float64[n], y: float64[n, n])
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j < n}
domain {[k]: 0 <= k < n}
temp s: float64[n]
s[j] = x[j] + i       {id=make}
y[i, k] = s[n - 1 - k]  {id=use}
)",
                            {{"i", "g.1"}, {"j", "g.0"}, {"k", "g.0"}});
  const std::string message = error_of([&] { generate(own, Target::OpenCL); });
  CHECK(message.find("groups of one kernel would meet in `s`: make[") == 0);
  CHECK(message.find("; they cannot wait for one another in a loop over groups; "
                     "privatize_temporaries_with_inames(\"i\", \"s\") gives each of them its own "
                     "[unsupported]") != std::string::npos);
  const Kernel apart = run_op(*find_op("privatize_temporaries_with_inames"), own,
                              {Value{std::string("i")}, Value{std::string("s")}}, {});
  CHECK(run(apart, own, {{"n", "5"}}) == Shape{2, 0});
}

TEST_CASE("device: a loop in which groups wait, up to what a group computes") {
  const char* const text = R"(
kernel waits(n: int32, cnt: in int32[n], s: inout float64[n, n], y: inout float64[n, n])
domain {[i]: 0 <= i < n}
domain {[t]: 0 <= t < m}
domain {[j]: 0 <= j < n}
domain {[k]: 0 <= k < n}
for i
  <int32> m = cnt[i] % 3
  for t
    s[i, j] = y[i, n - 1 - j] + 1  {id=make}
    y[i, k] = s[i, n - 1 - k]  {id=use}
  end
end
)";
  const Kernel k = tagged(text, {{"i", "g.1"}, {"j", "g.0"}, {"k", "g.0"}});
  CHECK(error_of([&] { generate(k, Target::OpenCL); }) ==
        "the loop over `t` runs on the host, because all groups wait in it, but its bounds need "
        "`m`, which is computed on the device; untag_inames(\"j, k\") lets each group wait for "
        "itself [unsupported]");
  Kernel one = k;
  for (const char* iname : {"j", "k"})
    one = run_op(*find_op("untag_inames"), one, {Value{std::string(iname)}}, {});
  CHECK(run(one, k, {{"n", "5"}}) == Shape{1, 0});
}

TEST_CASE("device: a barrier in divergent flow is refused") {
  const auto refusal = [](const std::string& text, const std::map<std::string, std::string>& tags) {
    const Kernel k = tagged(text, tags);
    return error_of([&] { generate(k, Target::Cuda); });
  };
  CHECK(refusal(R"(
kernel half(a: float64[16], b: float64[16])
domain {[i]: 0 <= i < 16}
domain {[j]: 0 <= j < 16}
b[i] = a[i]  {id=w}
... lbarrier {id=wait, if=a[j] > 0.5, dep=w, inames=j}
a[j] = 2     {dep=wait}
)",
                {{"i", "l.0"}, {"j", "l.0"}}) ==
        "the barrier `wait` is under the condition `a[j] > 0.5`: work-items for which it does "
        "not hold would never arrive; leave the condition to the statements that it separates "
        "[divergent-barrier]");
}

TEST_CASE("device: sums in a loop that one work-item runs more often than another") {
  const char* const text = R"(
kernel ragged(len: in int32[4], x: in float64[4, 9, 8], y: out float64[4, 9])
domain {[i]: 0 <= i < 4}
domain {[t]: 0 <= t < m and t < 9}
domain {[k]: 0 <= k < 8}
<int32> m = len[i]         {id=count, inames=i}
y[i, t] = sum(k, x[i, t, k])  {inames=i:t, dep=count}
)";
  // Two to put the end of the loop together, and five in each sum.
  CHECK(run(text, {{"i", "l.0"}, {"k", "l.1"}}, {}) == Shape{1, 5});
  run(text, {{"i", "l.1"}, {"k", "l.0"}}, {});
}

TEST_CASE("device: work-items share a scan") {
  const Kernel original = parsed(R"(
kernel rows(m: int32, n: int32, x: float64[m, n], y: float64[m, n], z: float64[m, n], q: int32[m, n])
domain {[k]: 0 <= k < m}
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j <= i}
domain {[h]: 0 <= 2*h <= i}
y[k, i] = sum(j, x[k, j])
z[k, i], q[k, i] = argmax(h, x[k, h], h)
)");
  for (const std::int64_t items : {1, 2, 3, 16, 17}) {
    Kernel k = run_op(*find_op("tag_inames"), original, {Value{std::string("k:g.0")}}, {});
    k = run_op(*find_op("split_iname"), k, {Value{std::string("i")}, Value{items}},
               {{"inner_tag", Value{std::string("l.0")}}});
    k = run_op(*find_op("realize_reduction"), k, {}, {{"force_scan", Value{true}}});
    CAPTURE(items);
    for (const char* n : {"1", "16", "50"}) run(k, original, {{"m", "3"}, {"n", n}});
  }
}

TEST_CASE("device: an axis without groups keeps one for statements that are not spread over it") {
  const Kernel beside = tagged(R"(
kernel beside(m: int32, n: int32, b: out float64[m], c: out float64[1], d: out float64[n])
domain {[i]: 0 <= i < m}
domain {[k]: 2 <= k < n + 2}
b[i] = 1
c[0] = 2
d[k - 2] = k
)",
                               {{"i", "g.1"}, {"k", "g.0"}});
  for (const char* m : {"0", "1", "3"})
    for (const char* n : {"0", "4"}) run(beside, beside, {{"m", m}, {"n", n}});
  // one that is never empty needs no guard
  const Kernel some = tagged(R"(
kernel some(m: int32, b: out float64[m], c: out float64[1])
domain {[i]: 0 <= i < m}
assume m >= 1
b[i] = 1
c[0] = 2
)",
                             {{"i", "g.0"}});
  CHECK(generate(some, Target::OpenCL).source.find("if (i < m)") == std::string::npos);
  run(some, some, {{"m", "3"}});
}

TEST_CASE("device: updates whose order is claimed not to matter hand out what they fetch") {
  const std::string text = R"(
kernel pick(n: int32, x: in float64[n], count: inout int32[1], seen: inout int32[2*n + 20])
domain {[i]: 0 <= i < n}
for i
  if x[i] > 0.5
    <int32> at, count[0] = make_tuple(count[0], count[0] + 1)   {id=take, atomic}
    seen[at] = 1                                                {id=mark, dep=take}
  end
end
)";
  const Kernel plain = parsed(text);
  const Kernel claimed =
      step(step(plain, "assume_commuting", {word("count")}), "assume_disjoint", {word("seen")});
  std::string hint;
  try {
    split(step(plain, "assume_disjoint", {word("seen")}), "i", 16, "g.0", "l.0");
  } catch (const Error& e) { hint = e.diagnostic().hint; }
  CHECK(hint.find("assume_commuting(\"count\")") != std::string::npos);
  run_everywhere(split(claimed, "i", 16, "g.0", "l.0"), plain, {{"n", "70"}});
}

namespace {

/// A device that runs nothing.
struct PlainDevice : Device {
  DeviceLimits has;
  std::string name() const override { return "plain"; }
  const DeviceLimits& limits() const override { return has; }
  std::unique_ptr<DeviceMemory> allocate(std::size_t) override { return nullptr; }
  std::unique_ptr<DeviceModule> compile(const Program&, const DeviceCompileOptions&) override {
    return nullptr;
  }
  void finish() override {}
  void start_clock() override {}
  double stop_clock() override { return 0; }
};

/// Groups turn rows of so many bytes round in local memory.
std::string row_turner(int bytes) {
  std::string text = R"(
kernel turn(n: int32, a: in float64[n, ROW], b: out float64[n, ROW])
domain {[i]: 0 <= i < n}
domain {[j, k]: 0 <= j, k < 64}
domain {[jo, ko]: 0 <= 64*jo < ROW and 0 <= 64*ko < ROW}
temp t: float64[ROW] in local
t[64*jo + j] = a[i, 64*jo + j]        {inames=i:jo:j, if=64*jo + j < ROW}
b[i, 64*ko + k] = t[ROW - 1 - 64*ko - k]  {inames=i:ko:k, if=64*ko + k < ROW}
)";
  for (std::size_t at = 0; (at = text.find("ROW")) != std::string::npos;)
    text.replace(at, 3, std::to_string(bytes / 8));
  return text;
}

}  // namespace

TEST_CASE("device: local memory that the device lacks is named") {
  const std::map<std::string, std::string> tags{{"i", "g.0"}, {"j", "l.0"}, {"k", "l.0"}};
  PlainDevice device;
  device.has.items_in_group = 64;
  device.has.items = {64, 64, 64};
  device.has.local_bytes = 96 << 10;  // as CUDA's of compute capability 7.0
  const auto refused = [&](int bytes, Target target) {
    const Program p = generate(tagged(row_turner(bytes), tags), target);
    device.has.extensions = "cl_khr_fp64";
    return error_of([&] { check_limits(p, device); });
  };
  CHECK(refused(98304, Target::Cuda).empty());
  CHECK(refused(98312, Target::Cuda) ==
        "kernel `turn_kernel` needs 98320 bytes of local memory; `plain` has 98304 "
        "[device-limit]");
  CHECK(refused(98304, Target::OpenCL).empty());
  CHECK(refused(98312, Target::OpenCL) ==
        "kernel `turn` needs 98312 bytes of local memory; `plain` has 98304 [device-limit]");
}

TEST_CASE("device: more local memory than CUDA's kernels declare") {
  const std::map<std::string, std::string> tags{{"i", "g.0"}, {"j", "l.0"}, {"k", "l.0"}};
  CHECK(run(row_turner(49152), tags, {{"n", "3"}}) == Shape{1, 1});
  CHECK(run(row_turner(49160), tags, {{"n", "3"}}) == Shape{1, 1});
  CHECK(run(row_turner(65536), tags, {{"n", "3"}}) == Shape{1, 1});
}

TEST_CASE("device: extensions that the program uses and the device lacks are named") {
  PlainDevice device;
  const auto lacks = [&](const std::string& type) {
    const Program p = generate(tagged("kernel k(n: int32, x: " + type + "[n], s: inout " + type +
                                          "[1])\ndomain {[i]: 0 <= i < n}\n"
                                          "s[0] = s[0] + x[i]  {atomic}\n",
                                      {{"i", "g.0"}}),
                               Target::OpenCL);
    return error_of([&] { check_limits(p, device); });
  };
  CHECK(lacks("int32").empty());
  CHECK(lacks("float32").empty());
  CHECK(lacks("float64") ==
        "`k` needs double precision, the extension `cl_khr_fp64`, which `plain` does not have "
        "[device-limit]");
  CHECK(lacks("int64") ==
        "`k` needs atomic updates of 64-bit integers, the extension `cl_khr_int64_base_atomics`, "
        "which `plain` does not have [device-limit]");
  device.has.extensions = "cl_khr_fp64 cl_khr_int64_base_atomics_2";
  CHECK(lacks("float64").find("`cl_khr_int64_base_atomics`") != std::string::npos);
  device.has.extensions = "cl_khr_int64_base_atomics cl_khr_fp64";
  CHECK(lacks("float64").empty());
}

TEST_CASE("device: limits of the device are checked before anything runs") {
  const Kernel k = tagged(R"(
kernel wide(a: float64[100000])
domain {[i]: 0 <= i < 100000}
a[i] = 1
)",
                          {{"i", "l.0"}});
  RunRequest r;
  r.target = device_target();
  const std::string message = error_of([&] { run_kernel(k, k, r); });
  CHECK(message.find("kernel `wide") == 0);  // CUDA's is `wide_kernel`
  CHECK(message.find("has groups of 100000 x 1 x 1 = 100000 work-items; `") != std::string::npos);
  CHECK(message.find("[device-limit]") != std::string::npos);
  r.device = 99;
  CHECK(error_of([&] { run_kernel(k, k, r); }).find("[no-device]") != std::string::npos);
}

TEST_CASE("device: a barrier that is known to be needed is not waived") {
  std::string text = shift("15 - m");
  text.replace(text.find("{id=use}"), 8, "{id=use, nosync=fill}");
  std::string why, code;
  try {
    generate(tagged(text, {{"l", "l.0"}, {"m", "l.0"}}), Target::OpenCL);
  } catch (const Error& e) { why = e.what(), code = e.diagnostic().code; }
  CHECK(code == "needed-barrier");
  CHECK(why.find("`fill` and `use` are said to need no barrier between them, but fill[l=") !=
        std::string::npos);
  CHECK(why.find("writes s[") != std::string::npos);
  std::string own = shift("m");
  own.replace(own.find("{id=use}"), 8, "{id=use, nosync=fill}");
  CHECK(run(own, {{"l", "l.0"}, {"m", "l.0"}}, {}) == Shape{1, 0});
}

TEST_CASE("device: of unknown subscripts the word of `nosync` is taken") {
  const std::string text = R"(
kernel look(x: float64[16], which: in int32[16], y: float64[16])
domain {[l]: 0 <= l < 16}
domain {[m]: 0 <= m < 16}
temp s: float64[16] in local
s[l] = x[l]          {id=fill}
y[m] = s[which[m]]   {id=use%}
)";
  const auto barriers = [&](const char* option) {
    std::string t = text;
    t.replace(t.find('%'), 1, option);
    return count(generate(tagged(t, {{"l", "l.0"}, {"m", "l.0"}}), Target::OpenCL).source,
                 "barrier(CLK");
  };
  CHECK(barriers("") == 1);
  CHECK(barriers(", nosync=fill@local") == 0);
  CHECK(barriers(", nosync=fill@global") == 1);
}

TEST_CASE("device: a barrier that a script puts between a transposition and what follows") {
  const Kernel original = parsed(R"(
kernel turn(n: int32, a: float64[n, n], b: float64[n, n])
domain {[i, j]: 0 <= i, j < n}
domain {[p, q]: 0 <= p, q < n}
b[j, i] = a[i, j]    {id=copy}
b[p, q] = 2*b[p, q]  {id=double}
)");
  const auto text_value = [](const char* s) { return Value{std::string(s)}; };
  Kernel k =
      run_op(*find_op("add_barrier"), original, {text_value("copy"), text_value("double")}, {});
  for (const auto& [iname, axis] :
       std::map<std::string, std::string>{{"i", "0"}, {"j", "1"}, {"p", "0"}, {"q", "1"}})
    k = run_op(*find_op("split_iname"), k, {Value{iname}, Value{std::int64_t{2}}},
               {{"outer_tag", Value{"g." + axis}}, {"inner_tag", Value{"l." + axis}}});
  CHECK(run(k, original, {{"n", "7"}}) == Shape{2, 0});
}

TEST_CASE("device: a barrier of all groups inside of their loop cuts it") {
  const std::string text = R"(
kernel halves(n: int32, a: float64[n + 1], c: float64[n], out: float64[n])
domain {[t]: 0 <= t < 3}
domain {[i]: 0 <= i < n}
for t
  for i
    c[i] = a[i + 1] + t  {id=first}
    ... gbarrier         {id=cut, dep=first}
    out[i] = c[i]        {dep=cut}
  end
end
)";
  const Kernel original = parsed(text);
  const auto spread = [](const Kernel& k) {
    return run_op(
        *find_op("split_iname"), k, {Value{std::string("i")}, Value{std::int64_t{16}}},
        {{"outer_tag", Value{std::string("g.0")}}, {"inner_tag", Value{std::string("l.0")}}});
  };
  CHECK(run(spread(original), original, {{"n", "37"}}) == Shape{2, 0});
  const Program p = generate(spread(original), Target::OpenCL);
  REQUIRE(p.device->steps.size() == 1);
  CHECK(std::get<HostLoop>(p.device->steps[0].op).iname ==
        "t");  // on the host, as it holds a barrier
}

TEST_CASE("device: values of work-items live across a barrier of all groups when saved") {
  const std::string text = R"(
kernel halves(n: int32, a: float64[n], out: float64[n])
domain {[i]: 0 <= i < n}
domain {[k]: 0 <= k < 4}
temp row: float64[4]
for i
  <> t = 2*a[i]        {id=first}
  row[k] = a[i] + k    {id=fill}
  ... gbarrier         {id=cut, dep=first:fill}
  out[i] = t + row[3]  {id=last, dep=cut}
end
)";
  const Kernel original = parsed(text);
  Kernel k =
      run_op(*find_op("split_iname"), original, {Value{std::string("i")}, Value{std::int64_t{16}}},
             {{"outer_tag", Value{std::string("g.0")}}, {"inner_tag", Value{std::string("l.0")}}});
  const std::string why = error_of([&] { generate(k, Target::OpenCL); });
  CHECK(why.find("`last` reads `") == 0);
  CHECK(why.find("in an earlier kernel") != std::string::npos);
  k = run_op(*find_op("save_and_reload_temporaries"), k, {}, {});
  CHECK(run(k, original, {{"n", "37"}}) == Shape{2, 0});
}

TEST_CASE("device: a number as the condition of a choice") {
  CHECK(run(R"(
kernel choice(v: float64[3], a: out float64[3])
domain {[i]: 0 <= i < 3}
a[i] = 7 if v[i] else 1.4
)",
            {{"i", "g.0"}}, {}) == Shape{1, 0});
}
