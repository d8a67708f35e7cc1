#include "core/sets/budget.h"
#include "tests/runtime/device_kit.h"

/// Groups whose number of work-items depends on parameters.
using namespace moonloop;
using test::error_of;
using test::run_everywhere;
using test::run_on;
using test::split;
using test::step;
using test::tagged;
using test::word;

namespace {

const char* const kRow = R"(
kernel row(n: int32, m: int32, a: in float64[n, m], t: inout float64[n, m], b: out float64[n, m + 2],
           s: out int32[n])
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j < m}
domain {[k]: 0 <= k < m + 2}
assume m >= 1
for i
  t[i, j] = 2*a[i, j]                    {id=fill}
  s[i] = i                               {id=once}
  b[i, k] = t[i, (m + 1 - k) % m] + k    {id=use}
end
)";

/// The work-items of a group of the program's first kernel, as text.
std::string items(const Kernel& k) {
  const Program p = generate(k, Target::OpenCL);
  std::string out;
  for (const Expr& e : p.device->kernels[0].items) out += (out.empty() ? "" : " ") + to_string(e);
  return out;
}

}  // namespace

TEST_CASE("device: pieces of a loop are shared out to work-items, however long they are") {
  const Kernel plain = parsed(
      "kernel scale(n: int32, a: in float64[n], c: out float64[n])\ndomain {[i]: 0 <= i < n}\n"
      "c[i] = 2*a[i]\n");
  const Kernel k = step(plain, "chunk_iname", {word("i"), Value{std::int64_t{8}}},
                        {{"outer_tag", word("g.0")}, {"inner_tag", word("l.0")}});
  CHECK(items(k) == "(n + 7) // 8 1 1");
  for (const char* n : {"0", "1", "7", "8", "9", "100"}) {
    CAPTURE(n);
    run_everywhere(k, plain, {{"n", n}});
  }
}

TEST_CASE("device: work-items wait for one another in groups of any size") {
  const Kernel plain = parsed(kRow), k = tagged(kRow, {{"i", "g.0"}, {"j", "l.0"}, {"k", "l.0"}});
  CHECK(items(k) == "m + 2 1 1");  // never less than `j` has
  for (const char* m : {"1", "5", "64"}) {
    CAPTURE(m);
    run_everywhere(k, plain, {{"n", "6"}, {"m", m}});
  }
  const Program p = generate(k, Target::OpenCL);
  CHECK(p.source.find("reqd_work_group_size") == std::string::npos);
  CHECK(generate(k, Target::Cuda).source.find("__launch_bounds__") == std::string::npos);
}

TEST_CASE("device: statements that are not spread over work-items run also where these are none") {
  const std::string text = R"(
kernel none(n: int32, m: int32, a: inout float64[n, m], s: out int32[n])
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j < m}
for i
  a[i, j] = a[i, j] + 1
  s[i] = i
end
)";
  const Kernel plain = parsed(text), k = tagged(text, {{"i", "g.0"}, {"j", "l.0"}});
  CHECK(items(k) == "max(m, 1) 1 1");
  for (const char* m : {"0", "3"}) run_everywhere(k, plain, {{"n", "4"}, {"m", m}});
  const std::string host = generate(k, Target::Cuda).source;
  CHECK(host.find("if (n > 0)\n") != std::string::npos);  // there is always a work-item
  CHECK(host.find("<<<dim3(n, 1, 1), dim3(max_i32(m, 1), 1, 1)>>>") != std::string::npos);
}

TEST_CASE("device: several axes, one of a constant length") {
  const std::string text = R"(
kernel turn(n: int32, m: int32, a: in float32[n, m], b: out float32[m, n])
domain {[i, ii]: 0 <= ii < 4 and 0 <= 4*i + ii < n}
domain {[j]: 2 <= j < m}
temp t: float32[n, m] in global
t[4*i + ii, j] = 3*a[4*i + ii, j]
b[j, 4*i + ii] = t[4*i + ii, j] + 1
)";
  const Kernel plain = parsed(text), k = tagged(text, {{"i", "g.0"}, {"ii", "l.1"}, {"j", "l.0"}});
  CHECK(items(k) == "m - 2 4 1");
  for (const char* m : {"2", "3", "40"}) run_everywhere(k, plain, {{"n", "9"}, {"m", m}});
}

TEST_CASE("device: memory of a group has the size that assumptions bound") {
  const std::string text = R"(
kernel local(n: int32, m: int32, a: in float64[n, m], b: out float64[n, m], s: out float64[n])
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j < m}
domain {[k]: 0 <= k < m}
ASSUME
temp t: float64[m] in local
for i
  t[j] = 2*a[i, j]
  b[i, k] = t[m - 1 - k]
  s[i] = sum(l, a[i, l])
end
domain {[l]: 0 <= l < m}
)";
  const auto with = [&](const std::string& assumption) {
    std::string out = text;
    return out.replace(out.find("ASSUME"), 6, assumption);
  };
  const std::map<std::string, std::string> tags{{"i", "g.0"}, {"j", "l.0"}, {"k", "l.0"}};
  const Kernel open = tagged(with("assume m >= 1"), tags);
  CHECK(
      error_of([&] { generate(open, Target::OpenCL); }) ==
      "`t` is in local memory, whose size has to be constant, but no assumption bounds its extent "
      "`m`; assume(\"m <= 256\"), with a number that holds, does [unsupported]");
  // For cases no assumption can be written, but for their parameters, which is enough.
  std::string cases = with("assume m >= 1");
  cases.replace(cases.find("float64[m] in local"), 10, "float64[7 if m == 7 else m]");
  CHECK(error_of([&] {
          generate(tagged(cases, tags), Target::OpenCL);
        }).find("assume(\"m <= 256\"), with a number that holds, does") != std::string::npos);
  cases.replace(cases.find("m >= 1"), 6, "m >= 1 and m <= 256");
  CHECK_NOTHROW(generate(tagged(cases, tags), Target::OpenCL));
  const std::string row =
      "kernel p(n: int32, m: int32, a: float64[n, m], b: out float64[n, m])\n"
      "domain {[i]: 0 <= i < n}\ndomain {[j, k]: 0 <= j, k < m}\nassume n <= 64 and m >= 1\n"
      "temp t: float64[n*m]\nfor i\n  t[j] = a[i, j]\n  b[i, k] = t[m - 1 - k]\nend\n";
  const Kernel product = tagged(row, {{"i", "l.0"}});
  CHECK(error_of([&] { generate(product, Target::OpenCL); }) ==
        "each work-item has its own `t`, which takes a constant size of at most 65536 bytes, but "
        "no assumption bounds its extent `n*m`; fix_parameters({m = 16, n = 16}), with a value "
        "that holds, does [unsupported]");
  CHECK(
      generate(
          step(product, "fix_parameters",
               {Value{ValueDict{{"m", Value{std::int64_t{16}}}, {"n", Value{std::int64_t{16}}}}}}),
          Target::OpenCL)
          .source.find("double t[256];") != std::string::npos);
  // The only one has it in the device's memory.
  const Kernel alone = parsed(row);
  CHECK(generate(alone, Target::OpenCL).source.find("__global double *restrict t") != std::string::npos);
  for (const char* m : {"1", "7"}) run_everywhere(alone, alone, {{"n", "3"}, {"m", m}});
  const Kernel bounded = tagged(with("assume m <= 48"), tags);
  CHECK(generate(bounded, Target::OpenCL).source.find("__local double t[48];") !=
        std::string::npos);
  const Kernel plain = parsed(with("assume m <= 48"));
  for (const char* m : {"1", "17", "48"}) run_everywhere(bounded, plain, {{"n", "3"}, {"m", m}});

  // Work-items' parts are combined in such memory too.
  const std::map<std::string, std::string> spread{{"i", "g.0"}, {"l", "l.0"}};
  const std::string sums =
      "kernel sums(n: int32, m: int32, a: in float64[n, m], s: out float64[n])\n"
      "domain {[i]: 0 <= i < n}\ndomain {[l]: 0 <= l < m}\nassume m >= 1\n"
      "s[i] = sum(l, a[i, l])\n";
  CHECK(error_of([&] { generate(tagged(sums, spread), Target::OpenCL); }) ==
        "instruction `insn_update`: work-items put together in local memory what each of them has; "
        "its size has to be constant, but along `l.0` there are `m` of them; assume gives that "
        "number a bound, split_iname an inner loop of fixed length to tag instead [unsupported]");
  auto all = tags;
  all.emplace("l", "l.0");
  run_everywhere(tagged(with("assume m <= 48"), all), plain, {{"n", "3"}, {"m", "17"}});
}

TEST_CASE("device: fetches are shared out to groups of any size") {
  const std::string text = R"(
kernel near(n: int32, m: int32, a: in float64[n, m], b: out float64[n, m])
domain {[i]: 0 <= i < n}
domain {[j]: 1 <= j < m - 1}
assume 3 <= m <= 60
b[i, j] = a[i, j - 1] + a[i, j] + a[i, j + 1]
)";
  const Kernel plain = parsed(text);
  const Kernel k = step(tagged(text, {{"i", "g.0"}, {"j", "l.0"}}), "add_prefetch",
                        {word("a"), word("j")}, {{"default_tag", word("l.auto")}});
  run_everywhere(k, plain, {{"n", "5"}, {"m", "33"}});

  // Without a bound an automatic loop finds room only where it is no longer than the axis.
  const std::string shift = R"(
kernel shift(n: int32, m: int32, a: in float64[n, m], b: out float64[n, m])
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j < m}
domain {[k]: 0 <= k < m}
domain {[q]: 0 <= q < m + 1}
assume m >= 1
temp t: float64[n, m + 1] in global
t[i, q] = q
t[i, j] = t[i, j] + a[i, j]
b[i, k] = t[i, m - 1 - k]
)";
  const Kernel automatic =
      tagged(shift, {{"i", "g.0"}, {"j", "l.auto"}, {"k", "l.0"}, {"q", "l.auto"}});
  CHECK(items(automatic) == "m 1 1");
  run_everywhere(automatic, parsed(shift), {{"n", "3"}, {"m", "20"}});
}

TEST_CASE("device: groups that are too large for the device are told when they are launched") {
  const std::string text =
      "kernel wide(n: int32, a: float64[n])\ndomain {[i]: 0 <= i < n}\na[i] = 1\n";
  const Kernel k = tagged(text, {{"i", "l.0"}});
  run_on(test::device_target(), k, parsed(text), {{"n", "128"}});
  RunRequest r;
  r.target = test::device_target();
  r.params = {{"n", "100000"}};
  const std::string message = error_of([&] { run_kernel(k, k, r); });
  CHECK(message.find("kernel `wide") == 0);
  CHECK(message.find("has groups of 100000 x 1 x 1 = 100000 work-items; `") != std::string::npos);
  CHECK(message.find(", and parameters decide how many there are; split_iname makes an inner loop "
                     "of fixed length [device-limit]") != std::string::npos);
}

TEST_CASE("device: work-items keep their own across barriers, however many they are") {
  const std::string text = R"(
kernel keep(n: int32, m: int32, a: in float64[n, m], t: inout float64[n, m], b: out float64[n, m])
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j < m}
for i, j
  <> x = 3*a[i, j]
  t[i, j] = x
  b[i, j] = x + t[i, j // 2]
end
)";
  const Kernel plain = parsed(text), k = tagged(text, {{"i", "g.0"}, {"j", "l.0"}});
  for (const char* m : {"0", "1", "11"}) run_everywhere(k, plain, {{"n", "3"}, {"m", m}});
  // On the host each of them has an element of an array.
  CHECK(generate(k, Target::C).source.find("x[j]") != std::string::npos);
}

TEST_CASE("device: memory of a group needs no axis that numbers groups") {
  const std::string text = R"(
kernel boxes(n: int32, m: int32, x: in float64[2, m], cnt: in int32[n], y: out float64[n])
domain {[b]: 0 <= b < n}
domain {[s]: 0 <= s < hi}
domain {[i]: 0 <= i < 2}
temp d: float64[2] in SPACE
assume m >= 16
for b
  <int32> hi = (cnt[b] + b) % 12
  for s
    d[i] = x[i, s]*2 {dup=i}
    <> p = d[0]*d[1]
  end
  y[b] = simul_reduce(sum, s, p)
end
)";
  for (const char* space : {"private", "local"}) {
    CAPTURE(space);
    std::string in = text;
    in.replace(in.find("SPACE"), 5, space);
    const Kernel plain = parsed(in);
    const Kernel k = step(step(plain, "privatize_temporaries_with_inames", {word("b"), word("d")}),
                          "tag_inames", {word("b:g.0")});
    const std::string source = generate(k, Target::OpenCL).source;
    CHECK(source.find("double d[2];") != std::string::npos);
    run_everywhere(k, plain, {{"n", "7"}, {"m", "20"}});
  }
}

// Differential test, seed 35006136 (fused): of two updates of one element, which do not commute
// with each other, one stood for both.
TEST_CASE("device: work-items wait between updates of different kinds") {
  const Kernel plain = parsed(R"(
kernel turns(n: int32, a: in int32[n], h: inout int32[4])
domain {[i]: 0 <= i < n}
h[i % 4] = (3*h[i % 4] + 1) % 1009  {id=grow, inames=i, atomic}
h[i % 4] = h[i % 4] ^ a[i] % 7      {id=flip, inames=i, atomic}
)");
  const Kernel k =
      step(plain, "split_iname", {word("i"), Value{std::int64_t{3}}}, {{"inner_tag", word("l.0")}});
  CHECK(generate(k, Target::OpenCL).source.find("barrier(CLK") != std::string::npos);
  for (const char* n : {"4", "14"}) run_everywhere(k, plain, {{"n", n}});
}

// Differential test, seed 9310135: how many groups there are exactly took isl thousands of times as
// long as to say how many are enough.
TEST_CASE("device: groups for what lies in any of several pieces") {
  const Kernel original = parsed(R"(
kernel f(n: int32, a: float64[n + 1], c: float64[n + 4])
domain {[i]: 0 <= i < n and i mod 3 = 0}
domain {[m]: 0 <= m <= i}
assume n >= 5
a[m + 1] = c[n - m + 3]
)");
  const Kernel pieces = step(original, "chunk_iname", {word("i"), Value{std::int64_t{4}}}, {});
  const Kernel k = split(pieces, "m", 2, "g.0", "l.0");
  {
    const IslBudget budget(300'000);
    CHECK(generate(k, Target::OpenCL).source.size() < 3000);
  }
  for (const char* n : {"5", "24"}) run_everywhere(k, original, {{"n", n}});
}

// Where a loop holds nothing but a barrier, all wait in each of its iterations.
TEST_CASE("work-items: a loop that holds a barrier alone") {
  for (const char* barrier : {"gbarrier", "lbarrier"}) {
    CAPTURE(barrier);
    const std::string text =
        "kernel wait(n: int32, a: float32[n], b: float32[n])\ndomain {[i]: 0 <= i < n}\n"
        "domain {[j]: 0 <= j < 3}\ndomain {[k]: 0 <= k < n}\nassume 1 <= n <= 64\n"
        "a[i] = 2*b[i] {id=x, inames=i}\n... " +
        std::string(barrier) + " {id=w, inames=j, dep=x}\nb[k] = a[k] {id=y, inames=k, dep=w}\n";
    run_everywhere(tagged(text, {{"i", "l.0"}, {"k", "l.0"}}), parsed(text), {{"n", "10"}});
  }
}
