#include "tests/codegen/kit.h"

using namespace moonloop;

TEST_CASE("openmp: loops over teams run together, lanes reduce") {
  CHECK_GOLDEN("collapse.c",
               code(kProduct, Target::OpenMP, {{"i", "g.1"}, {"j", "g.0"}, {"k", "simd"}}));
}

TEST_CASE("openmp: on target c one thread runs all, and lanes are the compiler's") {
  const std::string c = code(kProduct, Target::C, {{"i", "g.1"}, {"j", "par"}, {"k", "simd"}});
  const std::size_t first = c.find("#pragma");
  REQUIRE(first != std::string::npos);
  CHECK(c.compare(first, 38, "#pragma omp simd reduction(+:acc_k)\n  ") == 0);
  CHECK(c.find("#pragma", first + 1) == std::string::npos);
}

TEST_CASE("openmp: on target c lanes that no clause puts together run in order") {
  const std::string text = R"(
kernel least(n: int32, a: float64[n], r: float64[1], p: int32[1])
domain {[i]: 0 <= i < n}
r[0], p[0] = argmin(i, a[i], i)
)";
  CHECK(code(text, Target::C, {{"i", "simd"}}).find("#pragma") == std::string::npos);
  CHECK_THROWS(code(text, Target::OpenMP, {{"i", "simd"}}));
}

TEST_CASE("openmp: on target c lanes whose updates meet run in order") {
  const std::string c = code(R"(
kernel signs(n: int32, h: int64[4])
domain {[i]: 0 <= i < n}
h[i % 4] = h[i % 4]*(1 - 2*(i % 2)) {atomic}
)",
                             Target::C, {{"i", "simd"}});
  CHECK(c.find("#pragma") == std::string::npos);
}

TEST_CASE("openmp: a triangle runs in parallel over its outer loop") {
  CHECK_GOLDEN("parallel_triangle.c", code(R"(
kernel triangle(n: int32, a: float64[n, n])
domain {[i, j]: 0 <= i < n and 0 <= j <= i}
a[i, j] = 0
)",
                                           Target::OpenMP, {{"i", "par"}, {"j", "par"}}));
}

TEST_CASE("openmp: threads take iterations of unequal length one by one") {
  const auto pragma_of = [](const std::string& domain) {
    const std::string c =
        code("kernel k(n: int32, a: float64[n, n])\n" + domain + "\na[p, q] = 0\n", Target::OpenMP,
             {{"p", "par"}});
    const std::size_t at = c.find("#pragma");
    return c.substr(at, c.find('\n', at) - at);
  };
  const std::string even = "#pragma omp parallel for", uneven = even + " schedule(dynamic)";
  CHECK(pragma_of("domain {[p, q]: 0 <= p < n and p <= q < n}") == uneven);
  CHECK(pragma_of("domain {[p, q]: 0 <= p < n and 0 <= q < n and q <= 2*p}") == uneven);
  CHECK(pragma_of("domain {[p, q]: 0 <= p, q < n}") == even);
  // A band, and its last piece.
  CHECK(pragma_of("domain {[p, q]: 0 <= p < n - 9 and p <= q < p + 9}") == even);
  CHECK(pragma_of("domain {[p, q]: 0 <= p < n and p <= q < p + 9 and q < n}") == even);
  // What threads add up is put together once for each of them.
  const std::string sum = code(R"(
kernel all(n: int32, a: float64[n, n], s: float64[1])
domain {[i, j]: 0 <= i < n and 0 <= j <= i}
s[0] = sum([i, j], a[i, j])
)",
                               Target::OpenMP, {{"i", "par"}});
  CHECK(sum.find("schedule") == std::string::npos);
}

TEST_CASE("openmp: a parallel loop within a sequential one") {
  CHECK_GOLDEN("parallel_inside.c", code(R"(
kernel steps(t: int32, n: int32, u: float64[n], v: float64[n])
domain {[s]: 0 <= s < t}
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j < n}
v[i] = 2*u[i] {inames=s:i}
u[j] = v[j] {inames=s:j}
)",
                                         Target::OpenMP, {{"i", "par"}, {"j", "par"}}));
}

TEST_CASE("openmp: iterations meet in a record, in different fields of it") {
  const auto code_of = [](const std::string& read) {
    return code(R"(
record pair(value: int32, x: int32)
kernel meet(n: int32, r: pair[n + 3], s: int32[n])
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j < n + 3}
temp t: pair[n + 3]
t[j] = r[j] {id=load}
t[i + 3].value = 2*i {id=set, inames=i}
s[i] = t[3].)" + read +
                    " {id=get, inames=i}\n",
                Target::OpenMP, {{"i", "par"}});
  };
  CHECK(code_of("x").find("omp parallel for\n  for (int32_t i = ") != std::string::npos);
  CHECK_THROWS(code_of("value"));
}

TEST_CASE("openmp: extrema and truth over lanes") {
  const std::string c = code(R"(
kernel extrema(n: int32, a: float64[n], r: float64[1], t: int32[1])
domain {[i, j]: 0 <= i, j < n}
r[0] = max(i, a[i])
t[0] = any(j, a[j] > 0)
)",
                             Target::OpenMP, {{"i", "simd"}, {"j", "simd"}});
  CHECK(c.find("#pragma omp simd reduction(max:acc_i)") != std::string::npos);
  CHECK(c.find("#pragma omp simd reduction(||:acc_j)") != std::string::npos);
}

TEST_CASE("openmp: threads share reductions, of all loops that run together") {
  const std::string c =
      code(R"(
kernel sums(n: int32, m: int32, a: float64[n, m], s: float64[1], r: float64[n], p: complex128[1])
domain {[i, j]: 0 <= i < n and 0 <= j < m}
domain {[k, l]: 0 <= k < n and 0 <= l < m}
domain {[q]: 0 <= q < n}
s[0] = sum((i, j), a[i, j])
r[k] = max(l, a[k, l])
p[0] = product(q, cast(complex128, r[q]))
)",
           Target::OpenMP, {{"i", "par"}, {"j", "par"}, {"k", "par"}, {"l", "par"}, {"q", "par"}});
  CHECK(c.find("#pragma omp parallel for collapse(2) reduction(+:acc_i_j)\n") != std::string::npos);
  CHECK(c.find("#pragma omp parallel for\n  for (int32_t k") != std::string::npos);
  CHECK(c.find("#pragma omp parallel for reduction(*:acc_q)\n") != std::string::npos);
}

TEST_CASE("openmp: refuses a reduction of two values over lanes") {
  const Diagnostic d = refusal(R"(
kernel where(n: int32, a: float64[n], r: float64[1], q: int32[1])
domain {[i]: 0 <= i < n}
r[0], q[0] = argmin(i, a[i], i) {id=best}
)",
                               Target::OpenMP, {{"i", "simd"}});
  CHECK(d.code == "unsupported");
  CHECK(d.text ==
        "instruction `best_update`: `argmin` over `i`, which is tagged `simd`, is not supported");
}

TEST_CASE("openmp: atomic updates") {
  CHECK_GOLDEN("atomic.c", code(R"(
kernel histogram(n: int32, m: int32, bin: int32[n], w: float64[n], h: float64[m])
domain {[i]: 0 <= i < n}
h[bin[i]] = h[bin[i]] + w[i] {atomic}
)",
                                Target::OpenMP, {{"i", "par"}}));
}

TEST_CASE("work-items: a fission where a barrier would be, storage per team") {
  CHECK_GOLDEN("team.c", code(R"(
kernel reverse(n: int32, a: float64[n], b: float64[n])
domain {[g, l, m]: 0 <= l, m < 16 and 0 <= 16*g < n}
assume n mod 16 = 0
<> t[l] = a[16*g + l]
b[16*g + m] = t[15 - m]
)",
                              Target::OpenMP, {{"g", "g.0"}, {"l", "l.0"}, {"m", "l.0"}}));
}

TEST_CASE("work-items: no fission where each one keeps to itself") {
  CHECK_GOLDEN("fused_items.c", code(R"(
kernel own(n: int32, a: float64[n], b: float64[n])
domain {[g, l]: 0 <= l < 16 and 0 <= 16*g + l < n}
assume n mod 16 = 0
<> t = 2*a[16*g + l]
a[16*g + l] = t
b[16*g + l] = t*a[16*g + l]
)",
                                     Target::OpenMP, {{"g", "g.0"}, {"l", "l.0"}}));
}

TEST_CASE("work-items: a private value that crosses a fission gets an axis") {
  CHECK_GOLDEN("expanded.c", code(R"(
kernel crossing(n: int32, a: float64[n], b: float64[n])
domain {[g, l]: 0 <= l < 16 and 0 <= 16*g + l < n}
assume n mod 16 = 0
<> own = sin(a[16*g + l])
<> t[l] = a[16*g + l] {id=share}
b[16*g + l] = own + t[l - 1] {dep=share, if=l >= 1}
)",
                                  Target::OpenMP, {{"g", "g.0"}, {"l", "l.0"}}));
}

TEST_CASE("work-items: tags of GPUs that have no meaning here are refused") {
  const Diagnostic d = refusal(kProduct, Target::C, {{"j", "vec"}});
  CHECK(d.code == "unsupported");
  CHECK(d.text ==
        "instruction `insn_init` is spread over the lanes of `j`, whose number has no constant "
        "bound");
}

TEST_CASE("work-items: copies have the axes of the statement that writes them") {
  CHECK_GOLDEN("fewer_axes.c", code(R"(
kernel scale(n: int32, s: float64[n], a: float64[n, n])
domain {[g, i, j]: 0 <= i, j < 8 and 0 <= 8*g + i < n and j < n}
assume n mod 8 = 0
<> f = 2*s[8*g + i] {inames=g:i}
a[8*g + i, j] = f*a[8*g + i, j]
)",
                                    Target::OpenMP, {{"g", "g.0"}, {"i", "l.1"}, {"j", "l.0"}}));
}

TEST_CASE("openmp: no team starts in a lane") {
  const std::string c = code(R"(
kernel lanes(n: int32, a: float64[n, n])
domain {[i, j]: 0 <= i, j < n}
a[i, j] = 2*a[i, j]
)",
                             Target::OpenMP, {{"i", "simd"}, {"j", "par"}});
  CHECK(c.find("#pragma omp simd") != std::string::npos);
  CHECK(c.find("parallel") == std::string::npos);
}

TEST_CASE("openmp: updates that no atomic operation does are critical, all of a variable") {
  const std::string c = code(R"(
kernel peaks(n: int32, m: int32, bin: int32[n], w: float64[n], h: float64[m])
domain {[i, j]: 0 <= i, j < n}
h[bin[i]] = max(h[bin[i]], w[i]) {atomic}
h[bin[j]] = h[bin[j]] + w[j] {atomic}
)",
                             Target::OpenMP, {{"i", "par"}, {"j", "par"}});
  CHECK(c.find("#pragma omp critical\n      h[bin[i]] = max_f64(h[bin[i]], w[i]);") !=
        std::string::npos);
  CHECK(c.find("#pragma omp critical\n      h[bin[j]] += w[j];") != std::string::npos);
}

TEST_CASE("openmp: an atomic update of several places is one critical statement") {
  const std::string c = code(R"(
kernel peak(n: int32, x: float64[n], m: inout float64[1], at: inout int32[1])
domain {[i]: 0 <= i < n}
m[0], at[0] = make_tuple(max(m[0], x[i]), at[0] + 1) {atomic}
at[0] = at[0] + 1                                    {atomic}
)",
                             Target::OpenMP, {{"i", "par"}});
  CHECK(c.find("#pragma omp critical\n    {\n") != std::string::npos);
  CHECK(c.find("#pragma omp critical\n  at[0] += 1;") != std::string::npos);
}

TEST_CASE("openmp: lanes take no part in critical statements, but in atomic ones") {
  const auto updates = [](const std::string& statement) {
    return code(
        "kernel k(n: int32, h: inout int64[9], x: in int64[n])\n"
        "domain {[i]: 0 <= i < n}\nfor i\n" +
            statement + "\nend\n",
        Target::OpenMP, {{"i", "simd"}});
  };
  const std::string turns = updates("h[0] = (h[0] + h[0]) % 61  {atomic}");
  CHECK(turns.find("#pragma omp simd") == std::string::npos);
  CHECK(turns.find("/* No lanes: its updates take turns. */\n  for (") != std::string::npos);
  CHECK(turns.find("#pragma omp critical") != std::string::npos);
  const std::string together = updates("h[0] = h[0] + x[i]  {atomic}");
  CHECK(together.find("#pragma omp simd") != std::string::npos);
  CHECK(together.find("#pragma omp atomic") != std::string::npos);
}

TEST_CASE("work-items: atomic updates that commute need no loops of their own") {
  const auto both = [](const std::string& second) {
    const std::string c = code(
        "kernel k(n: int32, d: in int32[n, 8], f: inout float64[n])\n"
        "domain {[i, j]: 0 <= i < n and 0 <= j < 8}\nfor i, j\n"
        "f[i] = f[i] + 1  {atomic}\n" +
            second + "\nend\n",
        Target::C, {{"i", "g.0"}, {"j", "l.0"}});
    int loops = 0;
    for (std::size_t at = c.find("for ("); at != c.npos; at = c.find("for (", at + 1)) ++loops;
    return loops;
  };
  CHECK(both("f[d[i, j]] = f[d[i, j]] - 2  {atomic}") == 2);
}

TEST_CASE("openmp: threads share what work-items have for themselves, not with those of others") {
  // Of the threads of one work-item there is one at most.
  const std::string evens = code(R"(
kernel evens(n: int32, a: float64[n], b: float64[n])
domain {[i]: 0 <= i < n}
domain {[j]: 2*j = i}
<> t = 1.0    {inames=i}
t = t + a[j]  {inames=i:j}
b[i] = t      {inames=i}
)",
                                 Target::OpenMP, {{"i", "l.0"}, {"j", "par"}});
  CHECK(evens.find("#pragma omp parallel for\n  for (int32_t j = 0;") != std::string::npos);
  CHECK(evens.find("t[i] += a[j];") != std::string::npos);
}

// Differential test, seeds 37401009, 37700519 and 39000120: threads shared `memory`.
TEST_CASE("openmp: groups have local memory of their own, also beside a loop in sequence") {
  const auto text = [](const std::string& second, const std::string& base) {
    return "kernel f(n: int32, p: in int32[n], a: inout int32[n])\n"
           "domain {[x]: 0 <= x < n}\ndomain {[i, j]: 0 <= i, j < 8}\n"
           "domain {[y]: 0 <= y < n}\ndomain {[k, l]: 0 <= k, l < 8}\n"
           "temp s: int32[8] in local" +
           base + (second == "u" ? "temp u: int32[8] in local" + base : "") +
           "for x\n  s[i] = p[x] + i\n  a[x] = s[7 - j] {if=j < 1}\nend\n"
           "for y\n  " +
           second + "[k] = a[y] + k\n  a[y] = " + second + "[7 - l] {if=l < 1}\nend\n";
  };
  for (const std::string& t : {text("s", "\n"), text("u", " base=memory\n")})
    for (const char* tag : {"g.0", "par"}) {
      CAPTURE(t);
      const std::string out = code(t, Target::OpenMP, {{"y", tag}});
      const std::size_t team = out.find("#pragma omp parallel for");
      REQUIRE(team != std::string::npos);
      CHECK(out.find("_0[8];", team) != std::string::npos);
      const std::string alone = code(t, Target::OpenMP);  // no team, one array
      CHECK(alone.find("_0[8];") == std::string::npos);
    }
}

TEST_CASE("openmp: loops that follow each other share a team, as far as they ask what stays") {
  const char* const text = R"(
kernel sweeps(n: int32, m: int32, on: int32[2], a: inout float64[n], b: inout float64[n], c: inout int32[2])
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j < n}
domain {[k]: 0 <= k < n}
a[i] = a[i] + 1   {if=on[0] > 0}
b[j] = a[n - 1 - j]   {if=on[1] > 0}
c[1] = 1
b[k] = b[k] + 1   {if=c[1] > 0}
)";
  const std::string c = code(text, Target::OpenMP, {{"i", "par"}, {"j", "par"}, {"k", "par"}});
  CHECK(c.find(R"(  #pragma omp parallel
  {
    if (0 < n) {
      if (on[0] > 0) {
        #pragma omp for
        for (int32_t i = 0; i < n; ++i)
          a[i] += 1.0;
      }
      if (on[1] > 0) {
        #pragma omp for nowait
        for (int32_t j = 0; j < n; ++j)
          b[j] = a[n - j - 1];
      }
    }
  }
  c[1] = 1;
  if (0 < n && c[1] > 0) {
    #pragma omp parallel for
    for (int32_t k = 0; k < n; ++k)
      b[k] += 1.0;
  }
)") != std::string::npos);
}

TEST_CASE("openmp: a loop of a team waits where one after it needs what other threads did") {
  const auto waits = [](const std::string& statements, const std::string& domains = "") {
    const std::string c = code(
        "kernel k(n: int32, on: int32[2], a: inout float64[2*n + 4], b: inout float64[2*n + 4], "
        "c: inout float64[2*n + 4])\n"
        "domain {[i]: 0 <= i < n}\ndomain {[j]: 0 <= j < n}\ndomain {[k]: 0 <= k < n}\n" +
            domains + statements,
        Target::OpenMP, {{"i", "par"}, {"j", "par"}, {"k", "par"}});
    std::string out;
    for (std::size_t at = 0; (at = c.find("#pragma omp for", at)) != std::string::npos; ++at)
      out += c.compare(at, 22, "#pragma omp for nowait") == 0 ? '-' : 'w';
    return out;
  };
  // The last loop ends with the team, whatever it says.
  CHECK(waits("a[i] = 1\nb[j] = 2\nc[k] = 3") == "--w");
  // One wait for all that is before it.
  CHECK(waits("a[i] = 1\nb[j] = 2\nc[k] = a[k + 1] + b[k]") == "-ww");
  CHECK(waits("a[i] = 1\nb[j] = a[j + 1]\nc[k] = a[k + 2] + b[k]") == "www");
  CHECK(waits("a[i] = b[i]\nb[j] = 2\nc[k] = 3") == "w-w");  // also of what reads
  // Other elements, other halves, other values of a loop around.
  CHECK(waits("a[i] = 1\nb[j] = a[j + n]\na[2*k + 1] = a[2*k]") == "-ww");
  CHECK(waits("a[i] = 1\nb[j] = a[2*n]\nc[k] = 3") == "--w");
  CHECK(waits("a[t] = a[t] + i {inames=t:i, atomic}\n"
              "b[j] = a[t + 1] {inames=t:j}\nc[k] = a[t] {inames=t:k}",
              "domain {[t]: 0 <= t < n}\n") == "-ww");
  // A wait under a condition holds where that does; branches do not meet.
  CHECK(waits("a[i] = 1\nb[j] = 2 {if=on[0] > 0}\nc[k] = a[k + 1]") == "w-w");
  CHECK(waits("a[i] = 1 {if=on[0] > 0}\nb[j] = 2 {if=on[1] > 0}\n"
              "c[k] = a[k + 1] {if=on[1] > 0}") == "-w-");
  CHECK(waits("a[i] = 1 {if=on[0] > 0}\na[j] = 2 {if=not on[0] > 0}\nc[k] = 3") == "--w");
  // What a loop's conditions need counts too.
  CHECK(waits("a[i] = 1\nb[j] = 2 {if=a[j + 1] > 0}\nc[k] = 3") == "w-w");
}

TEST_CASE("guards: elements are asked where the loop runs, behind what was asked before them") {
  const std::string c = code(R"(
kernel f(n: int32, m: int32, on: int32[m], a: inout float64[n, n], b: inout int32[m])
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j < i}
domain {[k]: 0 <= k < n}
assume m >= 1
a[i, j] = 1   {if=i < m and on[i] > 0:on[0] > 0}
b[0] = b[0] - 1   {inames=k, if=b[0] > 0}
)",
                             Target::C);
  CHECK(c.find(R"(  for (int32_t i = 1; i < n; ++i)
    if (0 < i && i < m && on[i] > 0 && on[0] > 0)
      for (int32_t j = 0; j < i; ++j)
        a[(int64_t)n*i + j] = 1.0;
  for (int32_t k = 0; k < n; ++k)
    if (b[0] > 0)
      b[0] -= 1;
)") != std::string::npos);
}

TEST_CASE("openmp: lanes are not ended early by a scalar that each of them has") {
  // Found by the differential test (7500802): the copy of `s` looks like a condition that is saved.
  const std::string made = code(
      "kernel k(a: in int32[4], b: int32[4])\ndomain {[v]: 0 <= v < 4}\ntemp s: int32\n"
      "temp t: int32\ns = a[v]  {id=s, inames=v}\nt = s  {id=t, inames=v}\nb[v] = t  {id=b}\n",
      Target::OpenMP, {{"v", "vec"}});
  CHECK(made.find("t[v] = s[v]") != std::string::npos);
  CHECK(made.find("&&") == std::string::npos);
}

TEST_CASE("openmp: GCC keeps sums in vectors inside of loops that threads share") {
  const char* const kRows = R"(
kernel rows(n: int32, a: float64[n, n], s: float64[n])
domain {[i, k]: 0 <= i, k < n}
s[i] = sum(k, a[i, k])
)";
  const std::string pragma = "#pragma GCC optimize(\"no-split-loops\")\n";
  const auto has = [&](const Tags& tags, Target t) {
    return code(kRows, t, tags).find(pragma) != std::string::npos;
  };
  CHECK(has({{"k", "simd"}, {"i", "par"}}, Target::OpenMP));
  CHECK(!has({{"k", "simd"}}, Target::OpenMP));
  CHECK(!has({{"i", "par"}}, Target::OpenMP));
  CHECK(!has({{"k", "simd"}, {"i", "par"}}, Target::C));
}

TEST_CASE(
    "openmp: loops of a team that never wait are a function, which knows that arrays are apart") {
  const auto text = [](const std::string& second, const std::string& tags = "") {
    return "kernel k(n: int32, m: int32, a: float64[n, m], b: inout float64[n, m], "
           "c: inout float64[n, m])\ndomain {[i, j]: 0 <= i < n and 0 <= j < m}\n"
           "domain {[k, l]: 0 <= k < n and 0 <= l < m}\ntag i: par\ntag k: par\n" +
           tags + "b[i, j] = a[i, j]\n" + second + "\n";
  };
  const std::string c = code(text("c[k, l] = a[k, l]"), Target::OpenMP);
  CHECK(
      c.find(
          R"(static void k_team(int32_t n, int32_t m, double const *restrict a, double *restrict b,
                   double *restrict c) {
  #pragma omp for nowait
  for (int32_t i = 0; i < n; ++i)
)") != std::string::npos);
  CHECK(c.find("  #pragma omp parallel\n  k_team(n, m, a, b, c);\n}\n") != std::string::npos);
  // A second function has none of the names that loops between the two used.
  const std::string second = code(
      text("c[k, l] = a[k, l]") +
          "assume m > 0\ndomain {[t]: 0 <= t < n}\ndomain {[u, v, x, y]: 0 <= u, x < n and 0 <= v, y < m}\n"
          "tag u: par\ntag x: par\n"
          "for t\n  b[t, 0] = b[t, 0] + c[t, 0]\nend\n"
          "b[u, v] = a[u, v]*2.0\nc[x, y] = a[x, y]*3.0\n",
      Target::OpenMP);
  CHECK(second.find("  #pragma omp parallel\n  k_team(n, m, a, b, c);\n") != std::string::npos);
  CHECK(second.find("  #pragma omp parallel\n  k_team_0(n, m, a, b, c);\n") != std::string::npos);
  // Threads that meet in an element, lanes, whose elements are apart, and sums: as it was.
  for (const std::string& other :
       {text("c[k, l] = b[n - 1 - k, l]"), text("c[k, l] = a[k, l]", "tag j: simd\ntag l: simd\n")})
    CHECK(code(other, Target::OpenMP).find("  #pragma omp parallel\n  {\n") != std::string::npos);
}

TEST_CASE("openmp: what a team's loop writes and reads again is not in a function of its own") {
  // The load lets the processor fetch `b` ahead; who knows that arrays are apart leaves it out.
  const auto text = [](const std::string& between, const std::string& last) {
    return "kernel k(n: int32, m: int32, a: float64[n, m], b: inout float64[n, m], "
           "c: inout float64[n, m], d: inout float64[n, m])\n"
           "domain {[i, j]: 0 <= i < n and 0 <= j < m}\n"
           "domain {[k, l]: 0 <= k < n and 0 <= l < m}\ntag i: par\ntag k: par\n"
           "b[i, j] = 2.0*a[i, j]  {id=w}\n" +
           between + last + "c[k, l] = a[k, l]  {id=copy}\n";
  };
  const std::string between = "d[i, j] = a[i, j]\n";
  const auto has_function = [&](const std::string& kernel) {
    return code(kernel, Target::OpenMP).find("static void k_team(") != std::string::npos;
  };
  CHECK(!has_function(text(between, "d[i, j] = d[i, j] + b[i, j]\n")));
  CHECK(has_function(text(between, "")));
  CHECK(has_function(text("", "d[i, j] = b[i, j]\n")));  // the value is kept anyway
}

TEST_CASE("openmp: a function of a team gets numbers that it does not change, but no table") {
  const std::string head =
      "kernel k(n: int32, m: int32, s: int32, a: float64[n, m], b: inout float64[n, m], "
      "c: inout float64[n, m])\ndomain {[t]: 0 <= t < s}\n"
      "domain {[i, j]: 0 <= i < n and 0 <= j < m}\ndomain {[k, l]: 0 <= k < n and 0 <= l < m}\n"
      "tag i: par\ntag k: par\nassume n > 0 and m > 0\n";
  const std::string scalar = code(head +
                                      "temp q: float64\nq = a[0, 0]\nb[i, j] = q*a[i, j]\n"
                                      "c[k, l] = q*a[k, l]\n",
                                  Target::OpenMP);
  CHECK(scalar.find("double q) {") != std::string::npos);
  CHECK(scalar.find("k_team(n, m, a, b, c, q);") != std::string::npos);
  const std::string table =
      code(head +
               "temp q: float64[2] init=(1.0, 2.0) read_only\nb[i, j] = q[1]*a[i, j]\n"
               "c[k, l] = q[0]*a[k, l]\n",
           Target::OpenMP);
  CHECK(table.find("k_team") == std::string::npos);
}

TEST_CASE(
    "simd: a loop as long as a number that no array is as long as is in lanes where it is long") {
  const auto clause = [](const std::string& domain, const std::string& statement) -> std::string {
    const std::string c = code(
        "kernel k(n: int32, m: int32, depth: int32, a: inout float64[n, m + 2*depth], "
        "d: inout float64[n, m])\nassume 0 <= 2*depth < m and n > 0\n" +
            domain + "\ntag j: simd\n" + statement + "\n",
        Target::C);
    const std::size_t at = c.find("#pragma omp simd");
    return at == std::string::npos ? "" : c.substr(at + 16, c.find('\n', at) - at - 16);
  };
  const std::string few = "domain {[i, j]: 0 <= i < n and 0 <= j < depth}";
  CHECK(clause(few, "d[i, j] = d[i, m - 1 - j]") == " if (depth >= 8)");
  CHECK(clause("domain {[i, j]: 0 <= i < n and 0 <= j <= depth}", "d[i, j] = 0.5") ==
        " if (depth + 1 >= 8)");
  CHECK(clause(few, "a[i, j] = a[i, j] + 1") == "");  // which has `depth` in its extent
  CHECK(clause("domain {[i, j]: 0 <= i < n and 0 <= j < m}", "d[i, j] = 0.5") == "");
  CHECK(clause("domain {[j]: 0 <= j < depth}", "d[0, j] = 0.5") == "");  // it runs once
}

TEST_CASE("loops: addresses under conditions stay those of arrays for gcc, where they are many") {
  const std::string head =
      "kernel k(n: int32, a: float64[n], b: inout float64[n, 4])\ndomain {[i]: 0 <= i < n}\n";
  const char* const pragma = "#pragma GCC optimize(\"wrapv-pointer\")";
  CHECK(code(head + "b[i, 0] = a[i]   {if=a[i] > 0}\n", Target::C).find(pragma) ==
        std::string::npos);
  CHECK(code(head + "b[i, 0] = a[i]   {if=a[i] > 0}\nb[i, 1] = -a[i]   {if=a[i] > 0}\n"
                    "b[i, 2] = a[i] + 1   {if=a[i] > 1}\nb[i, 3] = 2*a[i]   {if=a[i] > 1}\n",
             Target::C)
            .find(pragma) != std::string::npos);
}
