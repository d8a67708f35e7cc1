// Problems that users of the tool met: values, by targets, and messages of a run of a wrong kernel.
#include <doctest/doctest.h>

#include "core/order/check_kernel.h"
#include "tests/runtime/device_kit.h"

using namespace moonloop;
using namespace moonloop::test;

TEST_CASE("in use: the number of an element counts from its array's first one") {
  const Kernel k = parsed(R"(
kernel k(n: int32, a: in float64[n] offset=3, b: out int32[n], c: out float64[n], d: out int32[4, 5], e: out float64[4, 5])
domain {[i]: 0 <= i < n}
domain {[j, l]: 0 <= j < 4 and 0 <= l < 5}
domain {[p, q]: 0 <= p < 4 and 0 <= q < 5}
temp t: float64[4, 5]
b[i] = indexof(a[i])
c[i] = a[[i]] - a[i]
t[j, l] = j + l
d[j, l] = indexof(t[j, l])
e[p, q] = t[p, q]
)");
  run_everywhere(k, k, {{"n", "5"}});
}

TEST_CASE("in use: an argmin whose index is -1, or the largest of an unsigned type") {
  const Kernel k = parsed(R"(
kernel k(n: int32, v: out int32[1], at: out int32[1], w: out int32[1], u: out uint8[1])
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j < n}
v[0], at[0] = argmin(i, abs(i - 5), i - 6)
w[0], u[0] = argmin(j, abs(j - 5), cast(uint8, j + 250))
)");
  run_everywhere(k, k, {{"n", "17"}});
  run_everywhere(split(split(k, "i", 4, "", "l.0"), "j", 4, "", "l.0"), k, {{"n", "17"}});
  const Kernel scan = parsed(
      "kernel k(n: int32, y: out float64[n], at: out int32[n])\ndomain {[i]: 0 <= i < n}\n"
      "domain {[j]: 0 <= j <= i}\ny[i], at[i] = argmax(j, -j, j - 1)\n");
  run_everywhere(step(scan, "realize_reduction", {}, {{"force_scan", Value{true}}}), scan,
                 {{"n", "9"}});
  const Kernel none = parsed(
      "kernel k(n: int32, v: out float64[n], w: out uint64[n])\ndomain {[i]: 0 <= i < n}\n"
      "domain {[j]: 0 <= j <= i}\n"
      "v[i], w[i] = argmin(j, nan if j % 3 == 0 else 1.0*(j % 4), -1)\n");
  run_everywhere(step(none, "realize_reduction", {}, {{"force_scan", Value{true}}}), none,
                 {{"n", "9"}});
}

TEST_CASE("in use: temporaries that start with values and are written") {
  const Kernel k = parsed(R"(
kernel k(n: int32, o: out float64[n, 4], s: out float64[n], z: out float64[n, 4])
domain {[r]: 0 <= r < n}
domain {[i, j]: 0 <= i, j < 4}
domain {[p, q]: 0 <= p < n and 0 <= q < 4}
temp t: float64[4] init=(1, 2.5, -3, 4)
temp f: float64[2, 2] order=F init=(1, 2, 3, 4)
temp x: float64 init=(3)
temp c: float64[4] init=(5, 6, 7, 8)
for r
  t[i] = t[i]*2 + r
  x = x*2 + r
  f[1, 0] = f[1, 0] + f[0, 1]
  o[r, j] = t[3 - j] + f[1, 0]
  s[r] = x
end
z[p, q] = c[q]
)");
  run_everywhere(k, k, {{"n", "3"}});
  const Kernel endless = parsed(
      "kernel k(o: out float64[4], z: out complex64[2], f: out float32[2])\n"
      "domain {[i]: 0 <= i < 4}\ndomain {[j]: 0 <= j < 2}\n"
      "temp t: float64[4] init=(inf, -inf, nan, 1e308)\ntemp u: complex64[2] init=(2j, inf)\n"
      "temp v: float32[2] read_only init=(-inf, 3)\n"
      "t[i] = 2*t[i]\no[i] = t[i]\nz[j] = u[j]\nf[j] = v[j]\n");
  run_everywhere(endless, endless, {});
  const Kernel local = parsed(
      "kernel k(o: out float64[4])\ndomain {[i]: 0 <= i < 4}\ndomain {[j]: 0 <= j < 4}\n"
      "temp t: float64[4] in local init=(1, 2, 3, 4)\nt[i] = 2*t[i]\no[j] = t[j]\n");
  run_on(Target::OpenMP, local, local, {});
  CHECK(error_of([&] { generate(local, Target::OpenCL); }) ==
        "`t`, of which each group would have one, starts with values and is written [unsupported]");
}

TEST_CASE("in use: a last iteration that is one of several is apart where slabs say so") {
  const Kernel k = parsed(
      "kernel k(n: int32, a: inout float64[n])\ndomain {[i]: 0 <= i < n}\na[i] = 2*a[i] + i\n");
  const Kernel tiled =
      step(split(k, "i", 32, "", ""), "split_iname", {word("i_inner"), Value{std::int64_t{4}}},
           {{"slabs", Value{ValueList{Value{std::int64_t{0}}, Value{std::int64_t{1}}}}}});
  const std::string code = generate(tiled, Target::C).source;
  CHECK(code.find("for (int32_t i_inner_inner = 0; i_inner_inner < 4; ++i_inner_inner)") !=
        std::string::npos);
  for (const char* n : {"1", "3", "4", "31", "32", "33", "70"})
    run_everywhere(tiled, k, {{"n", n}});
  const Kernel both =
      step(split(k, "i", 12, "", ""), "split_iname", {word("i_inner"), Value{std::int64_t{3}}},
           {{"slabs", Value{ValueList{Value{std::int64_t{1}}, Value{std::int64_t{2}}}}}});
  for (const char* n : {"1", "2", "5", "13", "40"}) run_everywhere(both, k, {{"n", n}});
}

TEST_CASE("in use: slabs of several iterations at both ends") {
  for (const std::string assume : {"", "assume n mod 4 = 0 and n >= 32\n"}) {
    const Kernel k = parsed("kernel k(n: int32, a: inout float64[n])\ndomain {[i]: 0 <= i < n}\n" +
                            assume + "a[i] = 2*a[i] + i\n");
    for (const auto& [low, high] :
         std::vector<std::pair<int, int>>{{2, 0}, {1, 2}, {2, 1}, {3, 3}}) {
      CAPTURE(low);
      CAPTURE(high);
      const Kernel cut =
          step(k, "split_iname", {word("i"), Value{std::int64_t{4}}},
               {{"slabs", Value{ValueList{Value{std::int64_t{low}}, Value{std::int64_t{high}}}}}});
      const std::vector<const char*> sizes =
          assume.empty() ? std::vector<const char*>{"1", "7", "8", "9", "17", "40"}
                         : std::vector<const char*>{"32", "64"};
      for (const char* n : sizes) run_on(Target::OpenMP, cut, k, {{"n", n}});
      run_everywhere(cut, k, {{"n", "40"}});
    }
  }
}

TEST_CASE("in use: slabs of strided loops, whose ends have an expression for each remainder") {
  for (const int stride : {2, 3, 5})
    for (const int length : {2, 3, 4, 6})
      for (const auto& [low, high] : std::vector<std::pair<int, int>>{{0, 1}, {0, 2}, {2, 2}}) {
        CAPTURE(stride);
        CAPTURE(length);
        CAPTURE(high);
        const Kernel k =
            parsed("kernel k(n: int32, a: inout float64[n])\ndomain {[t]: exists j: t = " +
                   std::to_string(stride) + "*j + 1 and 0 <= t < n}\na[t] = a[t] + t\n");
        const Kernel cut = step(
            k, "split_iname", {word("t"), Value{std::int64_t{length}}},
            {{"slabs", Value{ValueList{Value{std::int64_t{low}}, Value{std::int64_t{high}}}}}});
        for (const char* n : {"1", "2", "9", "31", "32"})
          run_on(Target::OpenMP, cut, k, {{"n", n}});
      }
}

TEST_CASE("in use: flat subscripts of one axis are its subscripts") {
  const Kernel k = parsed(
      "kernel k(n: int32, a: float64[n], c: out float64[n])\ndomain {[i]: 0 <= i < n}\n"
      "temp t: float64[2*n]\nt[[2*i]] = a[[n - 1 - i]]\nc[[i]] = t[[2*i]] + a[i]\n");
  const Kernel out = step(split(k, "i", 4, "par", ""), "split_array_axis",
                          {word("c"), Value{std::int64_t{0}}, Value{std::int64_t{4}}}, {});
  run_on(Target::OpenMP, out, k, {{"n", "13"}});
}

TEST_CASE("in use: a copy that is read in an arm of a choice alone is its group's own") {
  const Kernel k = parsed(
      "kernel k(n: int32, m: int32, a: in float64[n], b: in int32[n], w: in float64[3], o: out "
      "float64[n])\n"
      "domain {[i]: 0 <= i < n}\ndomain {[t]: 0 <= t < 3}\n"
      "o[i] = sum(t, w[t]*(a[i + t - 1] if i + t >= 1 and i + t <= n else 0)) + (a[i] if b[i] > 0 "
      "else 1)\n");
  const Kernel cut = split(k, "i", 4, "g.0", "l.0");
  for (const bool box : {false, true}) {
    CAPTURE(box);
    const Kernel staged =
        step(cut, "add_prefetch", {word("a"), word("i_inner,t")},
             {{"fetch_bounding_box", Value{box}}, {"default_tag", word("l.auto")}});
    for (const char* n : {"1", "4", "13"}) run_everywhere(staged, k, {{"n", n}, {"m", "3"}});
  }
  const Kernel threads = step(split(k, "i", 4, "par", ""), "add_prefetch",
                              {word("a"), word("i_inner,t")}, {{"default_tag", word("for")}});
  run_on(Target::OpenMP, threads, k, {{"n", "13"}, {"m", "3"}});
}

TEST_CASE("in use: reductions that threads or lanes share, for several elements at once") {
  for (const std::string op : {"sum", "max", "product"}) {
    const Kernel k = parsed(
        "kernel s(n: int32, a: float64[n, 8], o: out float64[n])\ndomain {[i]: 0 <= i < n}\n"
        "domain {[j]: 0 <= j < 8}\no[i] = " +
        op + "(j, a[i, j])\n");
    for (const std::string inner : {"ilp", "ilp.seq", "vec"})
      for (const std::string outer : {"simd", "par", "vec"}) {
        if (inner == outer) continue;
        CAPTURE(inner);
        CAPTURE(outer);
        const Kernel cut =
            step(split(k, "i", 2, "", inner.c_str()), "tag_inames", {word("j:" + outer)});
        for (const char* n : {"1", "5", "8"}) run_on(Target::OpenMP, cut, k, {{"n", n}});
      }
    const Kernel many = step(k, "tag_inames", {word("i:l.0, j:par")});
    CHECK(error_of([&] { generate(many, Target::OpenMP); })
              .find("which is tagged `par`, of as many elements at once as `l.0` has iterations, "
                    "which is not a small constant, is not supported") != std::string::npos);
  }
}

TEST_CASE("in use: fields of a record are places of their own") {
  const std::string text =
      "record P(x: float32, v: float32)\n"
      "kernel k(n: int32, a: inout P[n])\ndomain {[i]: 0 <= i < n}\n";
  const Kernel apart = parsed(text + "a[i].x = a[n - 1 - i].v\n");
  const Kernel threads = step(apart, "tag_inames", {word("i:par")});
  run_on(Target::OpenMP, threads, apart, {{"n", "13"}});
  run_everywhere(split(apart, "i", 4, "g.0", "l.0"), apart, {{"n", "13"}});
  const Kernel one = parsed(text + "a[i].x = a[n - 1 - i].x\n");
  CHECK(error_of([&] { step(one, "tag_inames", {word("i:par")}); }).find("[races]") !=
        std::string::npos);
}

TEST_CASE("in use: a tuple's sums have the rounding of sums") {
  const Kernel k = parsed(
      "kernel u(n: int32, x: in float64[n], a: inout float64[4], b: out float64[n])\n"
      "domain {[i]: 0 <= i < n}\n"
      "b[i], a[i % 4] = make_tuple(x[i], a[i % 4] + x[i]) {atomic}\n");
  run_on(Target::OpenMP, step(k, "tag_inames", {word("i:par")}), k, {{"n", "1000"}});
}

TEST_CASE("in use: unsigned numbers taken from real sums") {
  for (const char* type : {"bool", "uint8", "uint16", "uint32", "uint64", "int8"}) {
    CAPTURE(type);
    const Kernel k = parsed(
        fmt::format("kernel k(n: int32, a: in {0}[n], s: inout float64[1], h: inout float32[1])\n"
                    "domain {{[i]: 0 <= i < n}}\ns[0] = s[0] - a[i]\nh[0] = a[i] - h[0]\n",
                    type));
    run_everywhere(k, k, {{"n", "37"}});
    const Kernel one = parsed(fmt::format(
        "kernel k(n: int32, a: in {0}[n], s: inout float64[1])\ndomain {{[i]: 0 <= i < n}}\n"
        "s[0] = s[0] - a[i]\n",
        type));
    run_on(Target::OpenMP, step(one, "recognize_reduction", {word("i")}), one, {{"n", "37"}});
  }
}

TEST_CASE("in use: sums in double precision that are kept in single precision") {
  for (const char* types : {"float32 float64", "complex64 float64", "float32 int64"}) {
    CAPTURE(types);
    const std::string all = types;
    const auto gap = all.find(' ');
    const Kernel k = parsed(
        fmt::format("kernel k(n: int32, a: in {}[n], s: inout {}[1])\ndomain {{[i]: 0 <= i < n}}\n"
                    "s[0] = s[0] - a[i]\n",
                    all.substr(gap + 1), all.substr(0, gap)));
    run_everywhere(k, k, {{"n", "37"}});
    run_on(Target::OpenMP, step(k, "recognize_reduction", {word("i")}), k, {{"n", "37"}});
  }
}

TEST_CASE("in use: sizes at which a tile's bound leaves the index type") {
  const Kernel k = parsed(
      "kernel k(n: int32, a: out int32[8])\ndomain {[i]: n - 7 <= i <= n}\na[i - n + 7] = i\n");
  RunRequest at_end;
  at_end.params = {{"n", "2147483646"}};
  CHECK_NOTHROW(run_kernel(k, k, at_end));
  CHECK(error_of([&] { run_kernel(split(k, "i", 3, "", ""), k, at_end); }) ==
        "a bound of `i_outer`, `i_inner` adds up to 2147483649 with n = 2147483646: it leaves the "
        "index type int32 [size-overflow]");
}

TEST_CASE("in use: strides that put two elements in one place") {
  const std::string head = "kernel k(n: int32, l: int32, a: inout float64[n, n] strides=(";
  const std::string body = "))\ndomain {[i, j]: 0 <= i, j < n}\na[i, j] = a[i, j]*0.5 + i\n";
  const auto of = [&](const std::string& strides) {
    return error_of([&] { complete(parsed(head + strides + body)); });
  };
  CHECK(of("1, 1") ==
        "strides (1, 1) put `a[0, 1]` and `a[1, 0]` in one place, and kernel `k` writes `a` "
        "[bad-strides]");
  CHECK(of("0, n") ==
        "strides (0, n) put `a[0, 0]` and `a[1, 0]` in one place, and kernel `k` writes `a` "
        "[bad-strides]");
  CHECK(of("l, 1").empty());
  const Kernel k = parsed(head + "l, 1" + body);
  RunRequest r;
  r.params = {{"n", "5"}, {"l", "5"}};
  CHECK_NOTHROW(run_kernel(k, k, r));
  r.params = {{"n", "5"}, {"l", "4"}};
  CHECK(error_of([&] { run_kernel(k, k, r); }) ==
        "strides [4, 1] put `a[0, 4]` and `a[1, 0]` of shape [5, 5] in one place, and kernel `k` "
        "writes `a` [bad-strides]");
  // An array that is only read may be the same for all.
  const Kernel broadcast = parsed(
      "kernel k(n: int32, a: in float64[n, n] strides=(0, 1), b: out float64[n, n])\n"
      "domain {[i, j]: 0 <= i, j < n}\nb[i, j] = a[i, j]\n");
  r.params = {{"n", "5"}};
  CHECK_NOTHROW(run_kernel(broadcast, broadcast, r));
  // Distinct although no stride exceeds the span of the other one.
  const Kernel woven = parsed(
      "kernel k(a: inout float64[3, 2] strides=(2, 3))\ndomain {[i, j]: 0 <= i < 3 and 0 <= j < "
      "2}\n"
      "a[i, j] = i + 3*j\n");
  r.params = {};
  CHECK_NOTHROW(run_kernel(woven, woven, r));
}

TEST_CASE("in use: unsigned numbers wrap in conditions and subscripts, and bound no loops") {
  const Kernel k = parsed(
      "kernel k(n: uint32, s: inout int32[1])\nassume n <= 2\ndomain {[i]: 0 <= i < 100}\n"
      "if i < n - 3\n  s[0] = s[0]*3 + i\nend\n");
  RunRequest r;
  r.params = {{"n", "1"}};
  r.verify = true;
  CHECK(run_kernel(k, k, r).verification->equal());
  CHECK(error_of([&] { step(k, "tag_inames", {word("i:par")}); }).find("[not-proved]") !=
        std::string::npos);
  const auto bounded = [](const std::string& head, const std::string& body) {
    return error_of([&] { complete(parsed("kernel k(" + head + ")\n" + body)); });
  };
  CHECK(bounded("n: uint32, a: inout int32[8]",
                "domain {[i]: 0 <= i < 8 and i <= n - 3}\na[i] = i\n") ==
        "`n` of type uint32 is in the bounds of `i`, which are computed with signed numbers "
        "[unsigned-bound]");
  CHECK(bounded("n: int32, l: in uint8[n], y: inout float64[n]",
                "domain {[i]: 0 <= i < n}\ndomain {[j]: 0 <= j < c}\nfor i\n<> c = l[i]\n"
                "y[i] = sum(j, j)\nend\n") ==
        "`c` of type uint8 is in the bounds of `j`, which are computed with signed numbers "
        "[unsigned-bound]");
}

TEST_CASE("in use: what a run says where generated code leaves an array") {
  const Kernel k = parsed(
      "kernel k(n: int32, p: in int32[n], a: inout float64[n])\ndomain {[i]: 0 <= i < n}\n"
      "a[n + p[i]*0] = i\n");
  RunRequest r;
  r.params = {{"n", "3"}};
  CHECK(error_of([&] { run_kernel(k, k, r); }) ==
        "kernel `k` wrote outside of array `a` [out-of-bounds]");
  r.verify = true;
  CHECK(error_of([&] { run_kernel(k, k, r); }) ==
        "`a[n + p[i]*0]` reaches index 3 of axis 0, whose extent is 3, at insn[i=0] "
        "[out-of-bounds]");
}

TEST_CASE("in use: literals beside unsigned numbers wrap, whatever the whole becomes") {
  // The whole is float64, as int64 and uint64 have no common type; the sum before it is uint64.
  const Kernel k = parsed(
      "kernel k(n: int32, q: in uint64[n], r: in int64[n], p: out float64[n], s: out float32[n])\n"
      "domain {[i]: 0 <= i < n}\np[i] = 0 + q[i] + (~8*4) - r[i]\n"
      "s[i] = (q[i]*(3 - 5) + 2*r[i]) % 101\n");
  CHECK(generate(k, Target::C).source.find("(double)(0ull + q[i] + ~8ull*4ull) - r[i]") !=
        std::string::npos);
  run_everywhere(k, k, {{"n", "9"}});
}

TEST_CASE("in use: sums within the terms of a scan follow the scan's own inames") {
  for (const char* const domains : {"domain {[j, k]: 0 <= j <= i and j <= k < n}\n",
                                    "domain {[j]: 0 <= j <= i}\ndomain {[k]: j <= k < n}\n"}) {
    const Kernel k =
        parsed(std::string("kernel k(n: int32, x: float64[n, n], y: float64[n])\nassume n <= 64\n"
                           "domain {[i]: 0 <= i < n}\n") +
               domains + "y[i] = sum(j, sum(k, x[j, k]))\n");
    const Kernel scan = step(k, "realize_reduction", {}, {{"force_scan", Value{true}}});
    for (const char* n : {"1", "2", "7"}) run_everywhere(scan, k, {{"n", n}});
  }
}

TEST_CASE("in use: sums that work-items share decide whether others are computed") {
  const std::string head =
      "kernel k(n: int32, a: int32[n, 16], b: int32[n, 40], o: inout int32[n])\n"
      "domain {[i]: 0 <= i < n}\ndomain {[p]: 0 <= p < 16}\ndomain {[q]: 0 <= q < 40}\n"
      "domain {[r]: 0 <= r < 16}\n";
  const std::vector<std::string> bodies{
      "o[i] = o[i] + sum(q, b[i, q]) {if=max(p, a[i, p]) > sum(r, b[i, r])}\n",
      "o[i] = sum(q, b[i, q]) if sum(p, a[i, p]) > 0 else 3\n",
      "o[i] = sum(q, b[i, q] + o[i]) if sum(p, a[i, p]) > 0 and sum(r, a[i, r]*b[i, r]) < 9 "
      "else 3\n",
      "if sum(p, a[i, p]) > 0 or sum(r, b[i, r]) > 2\n  o[i] = o[i] + sum(q, b[i, q])\nend\n",
      "o[i] = max(q, sum(r, b[i, q]*a[i, r])) if min(p, a[i, p]) < 0 else 1\n"};
  for (const std::string& body : bodies)
    for (const std::map<std::string, std::string>& tags :
         std::vector<std::map<std::string, std::string>>{
             {{"i", "g.0"}, {"p", "l.0"}},
             {{"i", "g.0"}, {"p", "l.0"}, {"r", "l.0"}},
             {{"i", "g.0"}, {"p", "l.0"}, {"q", "l.0"}}}) {
      CAPTURE(body);
      same_everywhere(head + body, tags, {{"n", "33"}});
    }
}

TEST_CASE("in use: first writes that store the same everywhere may meet") {
  const std::string text =
      "kernel k(n: int32, c: int32, x: in int32[n], h: out int32[20])\n"
      "domain {[i]: 0 <= i < n}\ndomain {[j]: 0 <= j < n}\n"
      "h[i % 20] = c + 1 {atomic=init}\nh[j % 20] = h[j % 20] + x[j] {atomic}\n";
  run_on(Target::OpenMP, tagged(text, {{"i", "par"}, {"j", "par"}}), parsed(text),
         {{"n", "70"}, {"c", "3"}});
  same_everywhere(text, {{"i", "g.0"}, {"j", "g.0"}}, {{"n", "70"}, {"c", "3"}});
  for (const std::string value : {"x[i]", "i", "h[i % 20] + 1"})
    CHECK(error_of([&] {
            tagged(
                "kernel k(n: int32, x: in int32[n], h: out int32[20])\n"
                "domain {[i]: 0 <= i < n}\nh[i % 20] = " +
                    value + " {atomic=init, id=s}\n",
                {{"i", "par"}});
          }).find("[races]") != std::string::npos);
}

TEST_CASE("in use: the solution of a triangular system is a sum of its own earlier elements") {
  const std::string head = "kernel k(n: int32, x: float64[n], l: float64[n, n])\n";
  const Kernel k = parsed(head +
                          "domain {[i, j]: 0 <= i < n and 0 <= j < i}\n"
                          "x[i] = x[i] - 0.125*l[i, j]*x[j]\n");
  const Kernel sum = step(k, "recognize_reduction", {word("j")});
  CHECK(to_string(sum.instructions.at(0)->rhs).find("sum(j, ") != std::string::npos);
  for (const char* n : {"1", "9"}) run_everywhere(sum, k, {{"n", n}});
  const Kernel all = parsed(head +
                            "domain {[i, j]: 0 <= i, j < n}\n"
                            "x[i] = x[i] + l[i, j]*x[j] {id=s}\n");
  CHECK(error_of([&] {
          step(all, "recognize_reduction", {word("j")});
        }).find("s[i=1] writes x[1], which s_update[i=1, j=1] reads") == 0);
}

TEST_CASE("in use: the greatest of sums, with its place, computes each sum once") {
  const Kernel k = parsed(
      "kernel k(n: int32, x: float64[n, n], y: out float64[n], at: out int32[n])\n"
      "domain {[i]: 0 <= i < n}\ndomain {[j]: 0 <= j <= i}\ndomain {[k]: 0 <= k < n}\n"
      "y[i], at[i] = argmax(j, sum(k, x[j, k]), j)\n");
  const Kernel plain = step(k, "realize_reduction", {});
  const Kernel scan = step(k, "realize_reduction", {}, {{"force_scan", Value{true}}});
  for (const Kernel* made : {&plain, &scan}) {
    int sums = 0;
    for (const InsnPtr& i : made->instructions) sums += count(to_string(i->rhs), "sum(");
    CHECK(sums == 1);
    for (const char* n : {"1", "8"}) run_everywhere(*made, k, {{"n", n}});
  }
}

TEST_CASE("in use: a private temporary that two kernels in one loop use, each for itself") {
  const std::string head =
      "kernel k(n: int32, a: float64[n], s: float64[n])\ndomain {[z]: 0 <= z < n}\n"
      "temp w: float64\n";
  for (const char* const read : {"", " + w"}) {
    const Kernel k = parsed(head + "w = a[z]  {id=r0, inames=z}\ns[z] = a[z]" + read +
                            "  {id=r1, inames=z}\nw = 2*a[z]  {id=r2, inames=z}\n"
                            "s[z] = s[z] + 1" +
                            read + "  {id=r3, inames=z}\n");
    const Kernel two = step(k, "add_barrier", {word("id:r1"), word("id:r2")});
    CHECK(run(two, k, {{"n", "9"}}).kernels == 2);
  }
}

TEST_CASE(
    "in use: a sum that is the same in all runs of a kernel outlives the one that computes it") {
  const Kernel k = parsed(
      "kernel k(n: int32, a: float64[2*n], g: float64[n], s: float64[n], w: float64[n])\n"
      "domain {[i]: 0 <= i < n}\ndomain {[j]: 0 <= j < n}\ndomain {[z]: 0 <= z < n}\n"
      "assume n >= 1\na[i + 1] = sum(j, g[j])  {id=s0, inames=i}\n"
      "w[z] = a[i]  {id=r1, inames=i:z}\ns[z] = w[z]  {id=r2, inames=i:z}\n");
  const Kernel cut = step(k, "add_barrier", {word("id:r1"), word("id:r2")});
  CHECK(run(cut, k, {{"n", "5"}}).kernels == 4);
}

TEST_CASE("in use: a temporary that several loops use, one after the other") {
  const std::string text = R"(
kernel k(n: int32, a: in float64[n, n], b: out float64[n, n], c: out float64[n, n], d: out float64[n])
domain {[r, i]: 0 <= r < n and 0 <= i < n}
domain {[j]: 0 <= j < n}
domain {[p]: 0 <= p < n}
domain {[q]: 0 <= q < m}
temp t: float64
temp u: float64[3]
temp m: int32
for r
  t = a[r, i]*2          {id=w}
  u[i % 3] = t + 1       {id=x, dep=w}
  b[r, i] = t*u[i % 3]   {id=y, dep=x}
  t = b[r, j] - 3        {id=v, dep=y}
  u[1] = t               {id=z, dep=v, inames=r:j}
  c[r, j] = u[1] + t     {id=l, dep=z}
end
m = p % 4                {id=bound, dep=l}
t = sum(q, a[p, q])      {id=s, dep=bound}
d[p] = t + m             {id=e, dep=s}
)";
  const Kernel k = parsed(text);
  using Tags = std::map<std::string, std::string>;
  for (const Tags& tags : {Tags{},
                           {{"i", "par"}, {"j", "par"}, {"p", "par"}},
                           {{"r", "par"}},
                           {{"p", "par"}},
                           {{"j", "simd"}}})
    for (const Target t : {Target::C, Target::OpenMP})
      run_on(t, tags.empty() ? k : tagged(text, tags), k, {{"n", "13"}});
  const std::string code =
      generate(tagged(text, {{"r", "par"}, {"p", "par"}}), Target::OpenMP).source;
  CHECK(count(code, "#pragma omp for") == 2);
  same_everywhere(text, {{"r", "g.0"}, {"p", "g.0"}}, {{"n", "13"}});
  same_everywhere(text, {{"r", "g.0"}, {"j", "l.0"}}, {{"n", "13"}});
}

TEST_CASE("in use: a work-item's bounds that another one has computed, whatever their names are") {
  for (const auto& [row, place] : {std::pair("z", "a"), {"a", "z"}}) {
    const std::string text = fmt::format(R"(
kernel k(n: int32, cnt: in int32[n], u: inout int32[n, 12])
domain {{[{0}]: 0 <= {0} < n}}
domain {{[{1}, i]: 0 <= {1} and 0 <= i < 4 and 4*{1} + i < m}}
domain {{[j]: 0 <= j <= 4*{1} + i}}
<int32> m = cnt[{0}] % 7              {{id=bound, inames={0}}}
u[{0}, 4*{1} + i] = sum(j, j + 1)     {{id=set, inames={0}:{1}:i}}
)",
                                         row, place);
    const Kernel k = tagged(text, {{row, "l.1"}, {place, "l.0"}});
    for (const Target t : {Target::C, Target::OpenMP}) {
      run_on(t, k, parsed(text), {{"n", "5"}});
      run_on(t, k, k, {{"n", "5"}});
    }
  }
}
