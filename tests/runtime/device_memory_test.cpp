// Data that work-items keep, share and look up: saved temporaries, needless barriers, tables.
#include "tests/runtime/device_kit.h"

using namespace moonloop;
using test::count;
using test::error_of;
using test::run;
using test::run_everywhere;
using test::Shape;
using test::split;
using test::step;
using test::word;

namespace {

/// With its temporaries saved; without, the device's code is refused.
Kernel saved(const Kernel& k) {
  CHECK(error_of([&] { generate(k, Target::OpenCL); }).find(" [needs-reload]") !=
        std::string::npos);
  return step(k, "save_and_reload_temporaries", {});
}

/// Text with each `%` replaced.
std::string with(std::string text, const std::string& part) {
  for (std::size_t at = 0; (at = text.find('%', at)) != std::string::npos; at += part.size())
    text.replace(at, 1, part);
  return text;
}

}  // namespace

TEST_CASE("device: arrays of a group live across a barrier of all groups when saved") {
  const char* const text = R"(
kernel halves(x: in float64[5, 8], out: out float64[5, 8])
domain {[i]: 0 <= i < 5}
domain {[j]: 0 <= j < 8}
domain {[k]: 0 <= k < 8}
domain {[l]: 0 <= l < 8}
temp t: float64[16] in local
tag i: g.0, j: l.0, k: l.0, l: l.0
for i
  t[2*j] = x[i, j]                   {id=even}
  %
  ... gbarrier                       {id=cut, dep=even:odd}
  out[i, k] = t[15 - 2*k] - 3*t[2*k]  {dep=cut}
end
)";
  const Kernel own = parsed(with(text, "t[2*l + 1] = 2*x[i, l]  {id=odd}"));
  CHECK(run(saved(own), own, {}) == Shape{2, 0});
  const Kernel others = parsed(with(text,
                                    "... lbarrier  {id=wait, dep=even}\n"
                                    "t[2*l + 1] = t[14 - 2*l]  {id=odd, dep=wait}"));
  CHECK(run(saved(others), others, {}) == Shape{2, 1});
}

TEST_CASE("device: an array of a group with two axes, saved in a loop of the host") {
  const Kernel k = parsed(R"(
kernel planes(x: in float64[3, 2, 2], out: out float64[3, 4])
domain {[i, k]: 0 <= i < 2 and 0 <= k < 3}
domain {[j]: 0 <= j < 2}
domain {[l]: 0 <= l < 2}
temp t: float64[3, 2] in local
tag i: g.0, j: l.0, l: l.0
for i, k
  t[k, j] = x[k, j, i]           {id=set}
  ... gbarrier                   {id=cut, dep=set}
  out[k, 2*i + l] = t[k, 1 - l]  {dep=cut}
end
)");
  const Kernel after = saved(k);
  CHECK(run(after, k, {}) == Shape{2, 0});
  const Program p = generate(after, Target::OpenCL);
  REQUIRE(p.device->steps.size() == 1);
  CHECK(std::get<HostLoop>(p.device->steps[0].op).iname == "k");
  CHECK(body_of(p.device->steps[0]).size() == 2);
}

TEST_CASE("device: temporaries of a sequential loop need not be saved, and may be") {
  const Kernel k = parsed(R"(
kernel steps(a: in int32[10], out: out int32[10])
domain {[i]: 0 <= i < 10}
domain {[j]: 0 <= j < 10}
domain {[k]: 0 <= k < 10}
temp row: int32[10]
for i
  <> t = 2*a[i]          {id=first}
  row[j] = a[j] + i      {id=fill}
  ... gbarrier           {id=cut, dep=first:fill}
  out[i] = t + sum(k, row[k])  {dep=cut}
end
)");
  CHECK(run(k, k, {}) == Shape{2, 0});
  CHECK(run(step(k, "save_and_reload_temporaries", {}), k, {}) == Shape{2, 0});
}

TEST_CASE("device: a barrier for a neighbour's even element, none for one's own odd one") {
  const char* const text = R"(
kernel pairs(x: float64[16], y: float64[16])
domain {[l]: 0 <= l < 16}
domain {[m]: 0 <= m < 16}
domain {[p]: 0 <= p < 16}
temp s: float64[34] in local
s[2*l] = x[l]
s[2*m + %] = 3*x[m]
y[p] = s[2*p]
)";
  const std::map<std::string, std::string> tags{{"l", "l.0"}, {"m", "l.0"}, {"p", "l.0"}};
  CHECK(run(with(text, "1"), tags, {}) == Shape{1, 0});
  CHECK(run(with(text, "2"), tags, {}) == Shape{1, 2});  // it is overwritten, then read
}

TEST_CASE("device: an axis that begins at one numbers its work-items from zero") {
  const char* const text = R"(
kernel begin(y: int32[16])
domain {[i]: 1 <= i <= 16}
domain {[j]: 0 <= j <= 15}
temp a: int32[17] in local
a[i] = i
y[j] = a[%]
)";
  const std::map<std::string, std::string> tags{{"i", "l.0"}, {"j", "l.0"}};
  CHECK(run(with(text, "j + 1"), tags, {}) == Shape{1, 0});
  CHECK(run(with(text, "j if j > 0 else 1"), tags, {}) == Shape{1, 1});
  CHECK(run(with(text, "16 - j"), tags, {}) == Shape{1, 1});
}

TEST_CASE("device: a table of constants stands once for all kernels") {
  const Kernel original = parsed(R"(
kernel twice(a: in float64[6], out: out float64[6])
domain {[i]: 0 <= i < 6}
domain {[j]: 0 <= j < 6}
temp table: float64[6] in global init=(1, 2.5, -3, 4, 0.125, 6) read_only
out[i] = a[i] + table[i]             {id=first}
out[j] = 2*out[j] + table[5 - j]     {id=second}
)");
  Kernel k = step(original, "add_barrier", {word("first"), word("second")});
  k = split(k, "i", 2, "g.0", "l.0");
  k = split(k, "j", 2, "g.0", "l.0");
  run_everywhere(k, original, {});
  CHECK(run(k, original, {}) == Shape{2, 0});
  for (const Target t : {Target::C, Target::OpenMP, Target::OpenCL, Target::Cuda}) {
    CAPTURE(to_string(t));
    CHECK(count(generate(k, t).source, "table[6] = {1.0, 2.5, -3.0, 4.0, 0.125, 6.0}") == 1);
  }
}

TEST_CASE("device: arrays that share memory of a group, with the barriers that this takes") {
  const std::string text = R"(
kernel twice(n: int32, a: in float64[n, 16], b: inout float64[n, 16], c: out float64[n, 16])
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j < 16}
domain {[k]: 0 <= k < 16}
domain {[p]: 0 <= p < 16}
domain {[q]: 0 <= q < 16}
temp s: float64[16] in local SHARED
temp t: float64[16] in local SHARED
s[j] = a[i, j]       {inames=i:j}
b[i, k] = s[15 - k]  {inames=i:k}
t[p] = a[i, p] + 1   {inames=i:p}
c[i, q] = t[15 - q]  {inames=i:q}
)";
  const auto with = [&](const std::string& base) {
    std::string out = text;
    for (std::size_t at = 0; (at = out.find("SHARED")) != std::string::npos;)
      out.replace(at, 6, base);
    return out;
  };
  const std::map<std::string, std::string> tags{
      {"i", "g.0"}, {"j", "l.0"}, {"k", "l.0"}, {"p", "l.0"}, {"q", "l.0"}};
  CHECK(run(with(""), tags, {{"n", "5"}}) == Shape{1, 2});
  CHECK(run(with("base=m"), tags, {{"n", "5"}}) == Shape{1, 3});
  // A step finds them.
  const Kernel found = step(test::tagged(with(""), tags), "share_local_memory", {});
  CHECK(run(found, parsed(with("")), {{"n", "5"}}) == Shape{1, 3});
  CHECK(generate(found, Target::Cuda).device->kernels[0].local_bytes == 128);
  const std::string code = generate(test::tagged(with("base=m"), tags), Target::Cuda).source;
  CHECK(code.find("__shared__ double m[16];") != std::string::npos);
  CHECK(code.find("__shared__ double t[16];") == std::string::npos);
}

TEST_CASE("device: arrays of one base, saved and reloaded") {
  const Kernel k = parsed(R"(
kernel halves(n: int32, x: in float64[n, 8], v: out float64[n, 8], w: out float64[n, 8])
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j < 8}
domain {[k]: 0 <= k < 8}
domain {[p]: 0 <= p < 8}
domain {[q]: 0 <= q < 8}
temp s: float64[8] in local base=m
temp t: float64[8] in local base=m
tag i: g.0, j: l.0, k: l.0, p: l.0, q: l.0
for i
  s[j] = x[i, j]       {id=set}
  ... gbarrier         {id=cut, dep=set}
  v[i, k] = s[7 - k]   {id=get, dep=cut}
  t[p] = 2*x[i, p]     {id=other, dep=get}
  w[i, q] = t[7 - q]   {dep=other}
end
)");
  const Kernel after = saved(k);
  CHECK(run(after, k, {{"n", "5"}}) == Shape{2, 1});
  CHECK(after.find_temporary("s")->base_storage.empty());  // it lives on in memory of the device
  CHECK(after.find_temporary("t")->base_storage == "m");
}

// TeaLeaf's block solver: blocks of rows, each with a recurrence through an array of its own.
TEST_CASE("device: an array counted from where its group begins is the group's own") {
  const char* const text = R"(
kernel blocks(n: int32, m: int32, r: in float64[n, m + 3], c: in float64[n, m + 3], z: inout float64[n, m + 3])
domain {[b]: 0 <= b < m and b mod 4 = 0}
domain {[j]: 0 <= j < n}
domain {[k]: b < k < b + 4}
domain {[l]: 0 <= l < 4}
temp d: float64[4]
for b
  for j
    d[0] = r[j, b]
    d[k - b] = r[j, k] - c[j, k]*d[k - b - 1]
    z[j, b + l] = d[3 - l]
  end
end
)";
  const Kernel original = parsed(text);
  for (const std::map<std::string, std::string>& tags :
       {std::map<std::string, std::string>{{"b", "g.0"}},
        {{"b", "g.0"}, {"j", "g.1"}},
        {{"b", "g.0"}, {"j", "l.0"}}}) {
    const Kernel k = test::tagged(text, tags);
    CHECK(generate(k, Target::OpenCL).source.find("double d[4];") != std::string::npos);
    run_everywhere(k, original, {{"n", "5"}, {"m", "17"}});
  }
  // Where the group's number tells elements apart, all groups' elements are in global memory.
  const char* const rows = R"(
kernel rows(n: int32, a: in float64[8, n], y: inout float64[n])
domain {[g]: 0 <= g < 8}
domain {[i]: 0 <= i < n}
domain {[h]: 0 <= h < 8}
assume n >= 1
temp t: float64[8]
t[7 - g] = sum(i, a[g, i])
y[0] = sum(h, t[h])
)";
  run_everywhere(test::tagged(rows, {{"g", "g.0"}}), parsed(rows), {{"n", "9"}});
}

TEST_CASE("device: blocks that begin where one value for all says do not meet") {
  const char* const once = R"(
kernel blocks(n: int32, c: in int32[n + 9], z: inout float64[n + 8])
domain {[b]: from <= b < n and (b - from) mod 4 = 0}
domain {[l]: 0 <= l < 4}
assume n >= 1
<int32> from = c[3] % 4  {inames=}
z[b + l] = z[b + l] + b  {inames=b:l}
)";
  const Kernel k = split(parsed(once), "b", 64, "", "g.0");
  run_everywhere(k, parsed(once), {{"n", "21"}});
}
