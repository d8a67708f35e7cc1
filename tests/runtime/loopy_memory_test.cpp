// Barriers, values that live across them, atomic updates and targets' types among Loo.py's own
// tests, done by Moonloop: each on C, OpenMP and the device, against the interpreter and what can
// be computed by hand.
#include "tests/runtime/loopy_kit.h"

using namespace moonloop;
using namespace moonloop::test;

namespace {

Kernel saved(const Kernel& k) { return step(k, "save_and_reload_temporaries", {}); }
std::size_t at(int i) { return static_cast<std::size_t>(i); }

}  // namespace

TEST_CASE("as in Loo.py: an array of a group is saved, between barriers of both kinds") {
  const Kernel original = parsed(R"(
kernel saves(out: out int32[8, 8])
domain {[i, j, p, q]: 0 <= i, j, p, q < 8}
temp t: int32[16] in local
for i
  t[2*j] = j                                {id=even}
  ... lbarrier                              {id=wait, dep=even}
  t[2*p + 1] = t[2*((p + 1) % 8)] + 10*i    {id=odd, dep=wait}
  ... gbarrier                              {id=cut, dep=odd}
  out[i, q] = t[2*q + 1]                    {dep=cut}
end
)");
  const Kernel k = saved(tag(original, "i:g.0, j:l.0, p:l.0, q:l.0"));
  const auto out = values<std::int32_t>(run_everywhere(k, original, {}), "out");
  for (int n = 0; n < 64; ++n) CHECK(out[at(n)] == (n + 1) % 8 + 10 * (n / 8));
}

TEST_CASE("as in Loo.py: an array of a group with two axes is saved in a loop of the host") {
  const Kernel original = parsed(R"(
kernel planes(out: out int32[3, 4])
domain {[i, j, k]: 0 <= i < 2 and 0 <= k < 3 and 0 <= j < 2}
temp t: int32[3, 2] in local
for i, j, k
  ... gbarrier
  t[k, j] = 10*k + j + 100*i
  ... gbarrier
  out[k, 2*i + j] = t[k, j]
end
)");
  const Kernel k = saved(tag(original, "j:l.0, i:g.0"));
  const auto out = values<std::int32_t>(run_everywhere(k, original, {}), "out");
  for (int n = 0; n < 12; ++n) CHECK(out[at(n)] == 10 * (n / 4) + n % 2 + 100 * (n % 4 / 2));
}

TEST_CASE("as in Loo.py: private values of each work-item are saved, of one axis and of two") {
  const Kernel original = parsed(R"(
kernel rows(out: out int32[8, 8], sum: out int32[8])
domain {[i, j, k, l, m]: 0 <= i, j, k < 8 and 0 <= l, m < 3}
temp t: int32[8] in private
temp u: int32[3, 3] in private
for i
  for j
    t[j] = j + i
  end
  for l, m
    u[l, m] = i*l - m
  end
  ... gbarrier
  for k
    out[i, k] = t[7 - k]
  end
  sum[i] = u[2, 1] + u[1, 2]
end
)");
  for (const char* tags : {"i:g.0", "i:l.0"}) {
    const RunResult run = run_everywhere(saved(tag(original, tags)), original, {});
    const auto out = values<std::int32_t>(run, "out"), sum = values<std::int32_t>(run, "sum");
    for (int i = 0; i < 8; ++i) {
      for (int k = 0; k < 8; ++k) CHECK(out[at(8 * i + k)] == 7 - k + i);
      CHECK(sum[at(i)] == 3 * i - 3);
    }
  }
}

TEST_CASE("as in Loo.py: global temporaries of several bases, turned around after a barrier") {
  const Kernel turned = parsed(R"(
kernel turned(out: out int32[10])
domain {[i, j]: 0 <= i, j < 10}
temp tmp: int32[10] in global base=memory
tmp[i] = i
... gbarrier
out[j] = tmp[9 - j]
)");
  const auto out =
      values<std::int32_t>(run_everywhere(tag(turned, "i:g.0, j:g.0"), turned, {}), "out");
  for (int j = 0; j < 10; ++j) CHECK(out[at(j)] == 9 - j);
  const Kernel sums = parsed(R"(
kernel sums(out: out int32)
domain {[r, s]: 0 <= r, s < 10}
temp first: int32[1] in global base=one
temp second: int32[1] in global base=two
first[0] = sum(r, r**2)
... gbarrier
second[0] = sum(s, s**3)
... gbarrier
out = first[0] + second[0]
)");
  CHECK(values<std::int32_t>(run_everywhere(sums, sums, {}), "out")[0] == 285 + 2025);
  CHECK(values<std::int32_t>(run_everywhere(tag(sums, "r:l.0, s:l.0"), sums, {}), "out")[0] ==
        285 + 2025);
}

TEST_CASE("as in Loo.py: a copy of what two statements wrote before a barrier, for one reader") {
  const Kernel original = parsed(R"(
kernel within(f: inout float64[64], x: float64[20, 32], y: out float64[20, 32])
domain {[j]: 0 <= j < 64}
domain {[i, k]: 0 <= i < 20 and 0 <= k < 32}
f[j] = 3.14*j                {id=set}
f[j] = 2*f[j]                {id=update}
... gbarrier                 {id=all, dep=update}
y[i, k] = f[k]*x[i, k]       {id=use, dep=all}
)");
  Kernel k = split(split(original, "j", 8, "g.0", "l.0"), "i", 8, "g.0", "l.0");
  k = step(k, "add_prefetch", {word("f"), word("k"), word("fetched")},
           {{"prefetch_insn_id", word("fetch")},
            {"within", word("id:use")},
            {"default_tag", Value{false}},
            {"temporary_address_space", word("local")},
            {"temporary_name", word("part")},
            {"fetch_outer_inames", word("i_outer")}});
  k = step(k, "add_dependency", {word("id:fetch"), word("id:all")});
  k = split(k, "fetched", 8, "", "l.0");
  CHECK(to_string(*k.find_temporary("part")->shape) == "32");
  run_everywhere(k, original, {});
}

TEST_CASE("as in Loo.py: two sums under a condition, over the same loop") {
  const Kernel original = parsed(R"(
kernel both(n: int32, result: inout int32)
domain {[i]: 0 <= i < n}
<> flag = 1
if flag == 1
  result = result + simul_reduce(sum, i, i*i)
  result = result + simul_reduce(sum, i, 2*i*i)
end
)");
  for (const char* n : {"6", "0"}) {
    run_everywhere(original, original, {{"n", n}});
    run_everywhere(split(original, "i", 4, "", "l.0"), original, {{"n", n}});
    run_everywhere(split(original, "i", 4, "", "unr"), original, {{"n", n}});
  }
}

TEST_CASE("as in Loo.py: what depended on a removed statement waits for those before it") {
  const Kernel original = parsed(R"(
kernel four(a: int32[10], b: int32[10], c: int32[10], x: int32[10], y: int32[10])
domain {[i]: 0 <= i < 10}
y[i] = 0          {id=zero}
a[i] = 2*b[i]     {id=one, dep=zero}
c[i] = 2*b[i]     {id=two, dep=one}
y[i] = y[i] + x[i]  {id=add, dep=two}
)");
  const Kernel k = step(original, "remove_instructions", {word("one, two")});
  CHECK(k.find_insn("add")->depends_on == std::vector<std::string>{"zero"});
  const RunResult run = run_everywhere(k, k, {});
  CHECK(values<std::int32_t>(run, "x") == values<std::int32_t>(run, "y"));
}

TEST_CASE("as in Loo.py: barriers that are written, in and out of loops, and their memory") {
  const Kernel original = parsed(R"(
kernel barriers(a: int32[16], out: out int32[16], seen: out int32[16])
domain {[i, j, p]: 0 <= i, j, p < 16}
temp t: int32[16] in local
t[i] = a[i]
... lbarrier   {inames=i, mem_kind=local}
out[i] = t[i]
for j
  ... lbarrier {mem_kind=global}
  seen[j] = out[j]
end
)");
  const Kernel k = tag(original, "i:l.0, j:l.0, p:l.0");
  run_everywhere(k, original, {});
  const std::string code = generate(k, Target::OpenCL).source;
  CHECK(code.find("CLK_GLOBAL_MEM_FENCE") != std::string::npos);
  CHECK(code.find("CLK_LOCAL_MEM_FENCE") != std::string::npos);
}

TEST_CASE("as in Loo.py: vectors of three, and vectors where each lane chooses") {
  for (const int width : {2, 3, 4, 8}) {
    CAPTURE(width);
    const Kernel original = fix(parsed(R"(
kernel wide(n: int32, w: int32, a: float32[n, w], b: float32[n, w], out: out float32[n, w])
domain {[i, j]: 0 <= i < n and 0 <= j < w}
out[i, j] = 2*a[i, j] if a[i, j] > b[i, j] else b[i, j] - 1
)"),
                                {{"w", width}});
    Kernel k = step(original, "tag_array_axes", {word("a, b, out"), word("c, vec")});
    k = split(k, "i", 8, "g.0", "l.0");
    for (const char* lanes : {"unr", "vec"})
      run_everywhere(tag(k, std::string("j:") + lanes), original, {{"n", "19"}});
  }
}

TEST_CASE("as in Loo.py: powers of every pair of types, and choices between real and complex") {
  for (const auto& [base, exponent] : {std::pair("int32", "uint32"),
                                       {"int64", "uint64"},
                                       {"int32", "float64"},
                                       {"float64", "int32"},
                                       {"int64", "int32"},
                                       {"float32", "float64"},
                                       {"float64", "float32"}}) {
    CAPTURE(base);
    CAPTURE(exponent);
    const Kernel original =
        parsed(std::string("kernel powers(base: ") + base + "[10], power: " + exponent +
               "[10], res: out auto[10])\ndomain {[i]: 0 <= i < 10}\n"
               "res[i] = base[i]**(power[i] % 6)\n");
    run_everywhere(tag(original, "i:l.0"), original, {});
  }
  const Kernel mixed = parsed(R"(
kernel mixed(tmp: out complex128[10], size: out float64[10])
domain {[i]: 0 <= i < 10}
tmp[i] = 0 if i < 5 else 2j
size[i] = abs(tmp[i]) + real(tmp[i])
)");
  run_everywhere(tag(mixed, "i:l.0"), mixed, {});
}

TEST_CASE("as in Loo.py: reductions of all kinds over integers of all widths") {
  for (const auto& [type, op] : {std::pair("int8", "sum"),
                                 {"int16", "product"},
                                 {"int32", "min"},
                                 {"int64", "max"},
                                 {"uint8", "max"},
                                 {"uint32", "sum"},
                                 {"uint64", "min"}}) {
    CAPTURE(type);
    const Kernel original = parsed(std::string("kernel each(a: ") + type + "[70], out: out " +
                                   type + "[1])\ndomain {[i]: 0 <= i < 70}\nout[0] = reduce(" + op +
                                   ", i, 1 + a[i] // 9 if i < 40 else 1)\n");
    run_everywhere(original, original, {});
    run_everywhere(tag(original, "i:l.0"), original, {});
  }
}

TEST_CASE("as in Loo.py: pieces of a loop, each by work-items") {
  const Kernel original = parsed(R"(
kernel chunks(n: int32, a: float32[n], out: out float32[n])
domain {[i]: 0 <= i < n}
assume n >= 1
out[i] = 2*a[i]
)");
  const Kernel fixed = fix(original, {{"n", 130}});
  for (const int pieces : {3, 7}) {
    Kernel k = step(fixed, "chunk_iname", {word("i"), number(pieces)},
                    {{"outer_tag", word("g.0")}, {"inner_tag", word("l.0")}});
    run_everywhere(k, fixed, {});
  }
}

TEST_CASE("as in Loo.py: a size that the kernel would change is refused") {
  CHECK(error_of([] {
          generate(parsed("kernel f(n: int32, a: out int32)\ndomain {[i]: 0 <= i < n}\n"
                          "a = sum(i, i)\nn = 15\n"),
                   Target::C);
        }) != "");
}
