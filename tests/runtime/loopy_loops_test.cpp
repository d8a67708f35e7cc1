// Loops, domains, tags, conditions and barriers among Loo.py's own tests, done by Moonloop: each
// on C, OpenMP and the device, against the interpreter and what can be computed by hand.
#include <sstream>

#include "core/order/check_kernel.h"
#include "tests/runtime/loopy_kit.h"

using namespace moonloop;
using namespace moonloop::test;

TEST_CASE("as in Loo.py: conditions in loops that are unrolled, hinted or side by side") {
  const Kernel original = parsed(R"(
kernel cold(T: float32[203], cp: inout float32[203])
domain {[k]: 0 <= k < 203}
for k
  <> cold = T[k] < 0.5
  if cold
    cp[k] = 2*T[k] + cold
  end
end
)");
  for (const char* inner : {"unr", "unr_hint.2", "ilp", "ilp.seq", "vec"}) {
    CAPTURE(inner);
    run_everywhere(split(original, "k", 4, "g.0", inner), original, {});
    run_everywhere(split(original, "k", 4, "", inner, {{"slabs", pair_of(0, 1)}}), original, {});
  }
}

TEST_CASE("as in Loo.py: lanes have values of their own, also of what only some of them wrote") {
  const Kernel original = parsed(R"(
kernel some(out: out float32[10, 4])
domain {[i, j]: 0 <= i < 10 and 0 <= j < 4}
for i, j
  <float32> tmp[j] = 3
  if j
    tmp[j] = 1
  end
  out[i, j] = 2*tmp[j]
end
)");
  for (const char* lanes : {"ilp", "vec", "unr"}) {
    Kernel k = tag(original, std::string("j:") + lanes);
    if (std::string(lanes) == "vec") k = step(k, "tag_array_axes", {word("tmp"), word("vec")});
    const auto out = values<float>(run_everywhere(k, original, {}), "out");
    for (int i = 0; i < 40; ++i) CHECK(out[static_cast<std::size_t>(i)] == (i % 4 ? 2 : 6));
  }
}

TEST_CASE("as in Loo.py: lanes that are left for a loop and entered again") {
  const Kernel original = parsed(R"(
kernel again(out: out int32[4])
domain {[i, j]: 0 <= i, j < 4}
for i
  <> one[i] = 1
  for j
    <> two[i] = 2*one[i]
  end
  <> three[i] = 3
  out[i] = one[i] + two[i] + three[i]
end
)");
  Kernel k = tag(original, "i:vec");
  k = step(k, "tag_array_axes", {word("one, two, three"), word("vec")});
  run_everywhere(k, original, {});
  k = step(k, "duplicate_inames", {word("i"), word("writes:two")},
           {{"tags", Value{ValueDict{{"i", word("vec")}}}}});
  CHECK(values<std::int32_t>(run_everywhere(k, original, {}), "out") ==
        std::vector<std::int32_t>(4, 6));
}

TEST_CASE("as in Loo.py: tiles apart at an end run nothing twice, unrolled and by groups") {
  const Kernel original = parsed(R"(
kernel twice(n: int32, a: inout float32[n])
domain {[i]: 0 <= i < n}
assume n >= 1
a[i] = 2*a[i]
)");
  const ValueDict last{{"slabs", pair_of(0, 1)}};
  for (const char* n : {"20", "1", "23"}) {
    for (const char* outer : {"", "g.0"})
      run_everywhere(split(original, "i", 4, outer, "unr", last), original, {{"n", n}});
    for (const Target t : {Target::C, Target::OpenMP})
      run_on(t, split(original, "i", 4, "par", "unr", last), original, {{"n", n}});
  }
}

TEST_CASE("as in Loo.py: a neighbour's value around the end, in the memory of a group") {
  const Kernel top = parsed(R"(
kernel top(out: out int32[10, 10])
domain {[i, j]: 0 <= i, j < 10}
temp a: int32[10] in local
temp b: int32[10, 10] in local
for i
  a[i] = i        {id=first}
end
domain {[k]: 0 <= k < 10}
for k
  for j
    <> t = a[(k + 1) % 10]
    b[k, j] = a[k] + t
    b[k, j] = b[k, j] + 1
    out[k, j] = b[k, j]
  end
end
)");
  Kernel k = tag(top, "i:l.0, k:l.0");
  const auto out = values<std::int32_t>(run_everywhere(k, top, {}), "out");
  for (int i = 0; i < 10; ++i) CHECK(out[static_cast<std::size_t>(10 * i)] == i + (i + 1) % 10 + 1);

  const Kernel turns = parsed(R"(
kernel turns(jmax: int32, out: out int32[10])
domain {[i]: 0 <= i < 10}
domain {[j]: 0 <= j < jmax}
domain {[p, q, r]: 0 <= p, q, r < 10}
temp a: int32[10] in local
temp b: int32[10] in local
a[i] = i
for j
  b[p] = a[(p + 1) % 10] + j
  a[q] = b[(q + 2) % 10] + 1
end
out[r] = a[9 - r]
)");
  run_everywhere(tag(turns, "i:l.0, p:l.0, q:l.0, r:l.0"), turns, {{"jmax", "3"}});
  run_everywhere(tag(turns, "i:l.0, p:l.0, q:l.0, r:l.0"), turns, {{"jmax", "0"}});
}

TEST_CASE("as in Loo.py: a counter in the memory of a group, between barriers that are written") {
  for (const char* type : {"int32", "int64", "float32", "float64"}) {
    CAPTURE(type);
    const Kernel original = parsed(std::string("kernel counted(out: out ") + type + R"([10])
domain {[p, q, r]: 0 <= p, q, r < 10}
temp seen: )" + type + R"( in local
seen = 0                {id=init, inames=}
seen = seen + 1 + q - q {id=add, atomic}
out[r] = seen
)");
    run_everywhere(tag(original, "q:l.0, r:l.0"), original, {});
  }
}

TEST_CASE("as in Loo.py: sums into twenty places, by groups and unrolled steps") {
  for (const char* type : {"int32", "int64", "float32", "float64"}) {
    CAPTURE(type);
    const Kernel original = parsed(std::string("kernel places(n: int32, a: ") + type +
                                   "[n], out: inout " + type + R"([20])
domain {[i]: 0 <= i < n}
assume n >= 1
out[i % 20] = out[i % 20] + 2*a[i]  {atomic}
)");
    Kernel k = split(original, "i", 32, "", "");
    k = split(k, "i_inner", 8, "unr", "g.0");
    run_everywhere(k, original, {{"n", "500"}});
  }
}

TEST_CASE("as in Loo.py: the program is cut at each barrier of a loop around them") {
  const Kernel original = parsed(R"(
kernel cut(n: int32, a: float32[3, n + 1], c: inout float32[3, n], out: out float32[3, n])
domain {[k, i]: 0 <= i < n and 0 <= k < 3}
for k, i
  ... gbarrier
  c[k, i] = a[k, i + 1]
  ... gbarrier
  out[k, i] = c[k, i]
end
)");
  const Kernel k = split(original, "i", 16, "g.0", "l.0");
  run_everywhere(k, original, {{"n", "5"}});
  run_everywhere(k, original, {{"n", "40"}});
  const Kernel held = parsed(R"(
kernel held(n: int32, a: float32[n + 1], out: out float32[n])
domain {[i]: 0 <= i < n}
temp c: float32[n] in global
for i
  c[i] = a[i + 1]
  ... gbarrier
  out[i] = c[i]
end
)");
  run_everywhere(split(held, "i", 16, "g.0", "l.0"), held, {{"n", "40"}});
}

TEST_CASE("as in Loo.py: values of a triangle's inner loops, with barriers in both") {
  const Kernel original = parsed(R"(
kernel both(x: out int32[10, 10], y: out int32[10, 10])
domain {[i]: 0 < i < 10}
domain {[k]: 0 < k < i}
domain {[j]: 0 < j < 10}
for i
  for k
    <> one = k
    x[i, k] = one
  end
  for j
    <> two = i
    y[i, j] = two + x[i, j] if j < i else 0
  end
end
)");
  run_everywhere(original, original, {});
  run_everywhere(tag(original, "i:g.0"), original, {});
  run_everywhere(tag(original, "i:l.0"), original, {});
}

TEST_CASE("as in Loo.py: a statement that waits for two others, in a loop in time") {
  const Kernel original = parsed(R"(
kernel waits(trips: int32, z: inout float64[16], v: out float64[15])
domain {[trip, i]: 0 <= i < 15 and 0 <= trip < trips}
for trip, i
  z[i] = z[i + 1] + z[i]            {id=z}
  v[i] = 11                         {id=v}
  ... nop                           {id=wait, dep=z:v}
  z[i] = z[i] - z[i + 1]/2 + v[i]   {dep=wait}
end
)");
  run_everywhere(original, original, {{"trips", "5"}});
  run_everywhere(tag(original, "i:unr"), original, {{"trips", "5"}});
}

TEST_CASE("as in Loo.py: accesses under conditions of inames, sizes and data") {
  const Kernel original = parsed(R"(
kernel guarded(size: int64, offset: int64, tmp: inout int64[size, 8], far: inout int64[size, 8],
               x: float64[10], y: float64[10], z: out float64[20])
domain {[i]: 0 <= i < 10}
domain {[j]: 0 <= j < size + 2}
domain {[k]: 0 <= k < 20}
assume size >= 1 and offset >= 0
if i < 8 and j < size
  tmp[j, i] = tmp[j, i] + 1
end
if i < 8 and (j + offset) < size
  far[j + offset, i] = 2*far[j + offset, i]
end
z[k] = x[k] if k < 10 else y[k - 10]
)");
  for (const char* offset : {"0", "3", "11"})
    run_everywhere(original, original, {{"size", "10"}, {"offset", offset}});
  Kernel k = split(tag(original, "i:l.1"), "j", 4, "g.0", "l.0");
  k = split(k, "k", 4, "g.0", "l.0");
  run_everywhere(k, original, {{"size", "10"}, {"offset", "3"}});
}

TEST_CASE("as in Loo.py: an array for each of eleven rows") {
  const Kernel original = parsed(R"(
kernel rows(m: int32, x: out float64[11, m])
domain {[k, i]: 0 <= k < 11 and 0 <= i < m}
x[k, i] = 100*k + i
)");
  Kernel k = step(original, "tag_array_axes", {word("x"), word("sep, c")});
  k = tag(k, "k:unr");
  const RunResult run = run_everywhere(k, original, {{"m", "3"}});
  for (int row = 0; row < 11; ++row)
    CHECK(values<double>(run, "x_s" + std::to_string(row)) ==
          std::vector<double>{100.0 * row, 100.0 * row + 1, 100.0 * row + 2});
}

TEST_CASE("as in Loo.py: subscripts by absolute values, quotients and remainders of data") {
  const Kernel original = parsed(R"(
kernel places(map: uint64[10], c: uint32[10], a: float64[6], b: out float64[10],
              d: inout float64[10, 35], e: out uint32[10])
domain {[i]: 0 <= i < 10}
domain {[k]: 0 <= k < 10}
b[i] = a[abs(5 - i)]
d[map[i] // 2, map[i] % 35] = i
<> divisor = c[k] + 1
e[k] = k % divisor
)");
  run_everywhere(original, original, {});
  run_everywhere(tag(original, "k:l.0"), original, {});
  const auto shapes = complete(parsed(R"(
kernel found(a: float64[...], b: float64[...])
domain {[i]: 0 <= i < 10}
b[i] = a[abs(5 - i)]
)"));
  run_everywhere(shapes, shapes, {});
}

TEST_CASE("as in Loo.py: a length that is computed first, and rows whose lengths are data") {
  const Kernel bare = parsed(R"(
kernel bare(n: int32, a: out float32[n])
domain {[i]: 0 <= i < m}
<> m = n
a[i] = 1
)");
  CHECK(values<float>(run_everywhere(bare, bare, {{"n", "50"}}), "a") == std::vector<float>(50, 1));

  const Kernel rows = parsed(R"(
kernel rows(n: int32, lengths: int32[n], a: inout float32[n, 10])
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j < length}
<> length = lengths[i]
a[i, j] = 1
)");
  run_everywhere(split(rows, "i", 8, "g.0", "l.0"), rows, {{"n", "19"}});
  CHECK_FALSE(
      error_of([&] { generate(split(rows, "j", 8, "g.1", "l.1"), Target::OpenCL); }).empty());

  const Kernel chain = parsed(R"(
kernel chain(t: out int32[10, 3])
domain {[a]: 0 <= a < 10}
domain {[b]: b_start <= b < b_end}
domain {[c]: c_start <= c < c_end}
domain {[d, e]: 0 <= d, e < 3}
for a
  <> b_start = a % 2
  <> b_end = 2
  for d
    t[a, d] = 0  {id=zero}
  end
  for b
    <> c_start = 1
    <> c_end = 2 + b
    for c
      for e
        t[a, e] = t[a, e] + 10*b + c
      end
    end
  end
end
)");
  for (const Kernel& k : {chain, tag(chain, "a:g.0"), tag(chain, "a:l.0")}) {
    const auto t = values<std::int32_t>(run_everywhere(k, chain, {}), "t");
    for (int a = 0; a < 10; ++a)
      for (int d = 0; d < 3; ++d)
        CHECK(t[static_cast<std::size_t>(3 * a + d)] == (a % 2 ? 23 : 24));
  }
}

TEST_CASE("as in Loo.py: every other element, by a variable that only the domain has") {
  const Kernel original = parsed(R"(
kernel others(n: int32, a: inout float32[n], b: inout float32[n], c: inout float32[n, n])
domain {[i]: 0 <= i < n}
domain {[k]: k = i and exists l: k = 2*l}
domain {[p]: 0 <= p < n and exists l: p = 2*l}
domain {[r, s]: 0 <= r, s < n and r <= s}
assume n >= 1
a[i] = 5
b[k] = 6
a[p] = a[p] + 1
c[r, s] = 17
)");
  run_everywhere(original, original, {{"n", "11"}});
  Kernel k = split(split(original, "i", 4, "g.0", "l.0"), "p", 4, "g.0", "l.0");
  k = split(k, "r", 4, "g.0", "l.0");
  run_everywhere(k, original, {{"n", "11"}});
  k = split(split(original, "r", 4, "g.0", "l.0"), "s", 4, "g.1", "l.1");
  k = step(k, "add_barrier", {word("writes:b"), word("writes:c")});
  run_everywhere(k, original, {{"n", "11"}});
}

TEST_CASE("as in Loo.py: loops of several statements have one copy together") {
  const Kernel original = parsed(R"(
kernel rows(A: float32[10, 10], x: float32[10, 10], y: out float32[10])
domain {[i, j]: 0 <= i, j < 10}
for i
  <> acc = 0                       {tags=row}
  for j
    acc = acc + A[i, j]*x[i, j]    {tags=row}
  end
  y[i] = acc                       {tags=row}
end
)");
  Kernel k = step(original, "duplicate_inames", {word("i"), word("tag:row"), word("row")});
  CHECK(k.has_iname("row"));
  run_everywhere(k, original, {});
  run_everywhere(tag(k, "row:l.0"), original, {});
}

TEST_CASE("as in Loo.py: three loops become one, that was there already") {
  const Kernel original = parsed(R"(
kernel three(y1: out int32[10], y2: out int32[10], y3: out int32[10])
domain {[i1, i2, i3]: 0 <= i1, i2, i3 < 10}
y1[i1] = 2
y2[i2] = 3
y3[i3] = 4
)");
  Kernel k = original;
  for (const char* i : {"i1", "i2"})
    k = step(k, "rename_iname", {word(i), word("i3")}, {{"existing_ok", Value{true}}});
  CHECK_FALSE(k.has_iname("i1"));
  run_everywhere(tag(k, "i3:l.0"), original, {});
}

TEST_CASE("as in Loo.py: private copies of a temporary of a loop that begins at ten") {
  const Kernel original = parsed(R"(
kernel ten(out: inout int32[14])
domain {[j]: 10 <= j < 14}
for j
  <> tmp = j
  out[j] = tmp
end
)");
  const Kernel k = step(original, "privatize_temporaries_with_inames", {word("j")});
  CHECK(k.find_temporary("tmp")->shape->size() == 1);
  for (const char* tags : {"j:unr", "j:l.0", "j:ilp"}) {
    const auto out = values<std::int32_t>(run_everywhere(tag(k, tags), original, {}), "out");
    for (std::size_t j = 10; j < 14; ++j) CHECK(out[j] == static_cast<std::int32_t>(j));
  }
}

TEST_CASE("as in Loo.py: a subscript whose quotient says nothing") {
  const Kernel original = parsed(R"(
kernel simple(X: int32[10], Y: out int32[10], Z: int32[1])
domain {[j]: 0 <= j < 10}
<> b = Z[0]
Y[j] = X[10*(j // 10 + b) + j - 10*b]
)");
  const RunResult run = run_everywhere(original, original, {});
  CHECK(values<std::int32_t>(run, "X") == values<std::int32_t>(run, "Y"));
  run_everywhere(tag(original, "j:l.0"), original, {});
}

TEST_CASE("as in Loo.py: sums along the diagonals of a product, after a change of loops") {
  const Kernel original = parsed(R"(
kernel skewed(E: int32, N: int32, D: float64[N, N], x: float64[N, N], rhs: inout float64[E, 2*N, N])
domain {[e, i, j, n]: 0 <= e < E and 0 <= i, j, n < N}
rhs[e, n + i, j] = rhs[e, n + i, j] - D[i, n]*x[i, j]
)");
  const auto skewed = [&](const char* n0) {
    return step(original, "map_domain",
                {word(std::string("{ [i, n] -> [i0, n0] : i0 = n + i and n0 = ") + n0 + " }")});
  };
  // Terms of one element are added in the order of `i`, along which `n` falls.
  CHECK(error_of([&] { skewed("n"); }).ends_with("[breaks-order]"));
  const Kernel k = skewed("-n");
  run_everywhere(k, original, {{"E", "2"}, {"N", "5"}});
  run_everywhere(tag(k, "e:g.0"), original, {{"E", "2"}, {"N", "5"}});
  for (const Target t : {Target::C, Target::OpenMP})
    run_on(t, tag(k, "i0:par"), original, {{"E", "2"}, {"N", "5"}});
}

TEST_CASE("as in Loo.py: a map does as a split, and both give the same loops") {
  const Kernel original = parsed(R"(
kernel waves(nx: int32, nt: int32, ni: int32, b: float32[nx, nt], d: float32[nx, nt],
             f: float32[ni],
             a: out float32[nx, nt], c: out float32[nx, nt], e: out float32[ni])
domain {[x, t]: 0 <= x < nx and 0 <= t < nt}
domain {[i]: 0 <= i < ni}
a[x, t] = b[x, t]
c[x, t] = d[x, t]
e[i] = f[i]
)");
  const std::string order = "x, t_outer, t_inner";
  const Kernel mapped =
      prioritize(step(original, "map_domain",
                      {word("[nt] -> { [t] -> [t_outer, t_inner] : 0 <= t_inner < 16 and "
                            "16*t_outer + t_inner = t and 0 <= 16*t_outer + t_inner < nt }")}),
                 order);
  const Kernel parts = prioritize(split(original, "t", 16, "", ""), order);
  const auto loops = [](const Kernel& k) {
    std::istringstream code(generate(k, Target::C).source);
    std::string out;
    for (std::string line; std::getline(code, line);)
      if (line.find("for (") != std::string::npos) out += line + "\n";
    return out;
  };
  CHECK(loops(mapped) == loops(parts));
  run_everywhere(mapped, original, {{"nx", "9"}, {"nt", "37"}, {"ni", "5"}});
}

TEST_CASE("as in Loo.py: diamonds of a wave equation, a row of them at a time on groups") {
  const Kernel original = parsed(R"(
kernel wave(nx: int32, nt: int32, dx: float64, dt: float64, u: inout float64[nx, nt + 2])
domain {[it, ix]: 1 <= ix < nx - 1 and 0 <= it < nt}
assume nx >= 3 and nt >= 1
u[ix, it + 2] = (2*u[ix, it + 1] - u[ix, it]
                 + dt**2/dx**2*(u[ix + 1, it + 1] - 2*u[ix, it + 1] + u[ix - 1, it + 1]))
)");
  Kernel k =
      step(original, "map_domain",
           {word("{ [ix, it] -> [tt, parity, tx, itt, itx] : 8*(tx - tt) + itx - itt = ix - it and "
                 "8*(tx + tt + parity) + itt + itx = ix + it and 0 <= parity < 2 and "
                 "0 <= itx - itt < 8 and 0 <= itt + itx < 8 }")});
  k = prioritize(k, "tt, parity, tx, itt, itx");
  const GivenValues sizes{{"nx", "20"}, {"nt", "15"}, {"dx", "1"}, {"dt", "1"}};
  SUBCASE("in sequence") {}
  SUBCASE("diamonds in groups") { k = tag(k, "tx:g.0"); }
  SUBCASE("diamonds in groups, points on work-items") { k = tag(k, "tx:g.0, itx:l.0"); }
  run_everywhere(k, original, sizes);
}

TEST_CASE("as in Loo.py: axes in another order, and orders that are none") {
  const Kernel original = parsed(R"(
kernel cube(n: int32, out: out float64[n, n, n])
domain {[i, j, k]: 0 <= i, j, k < n}
out[i, j, k] = 100*i + 10*j + k
)");
  CHECK_FALSE(error_of([&] {
                step(original, "tag_array_axes", {word("out"), word("N1,N0,N5")});
              }).empty());
  CHECK_FALSE(error_of([&] {
                step(original, "tag_array_axes", {word("out"), word("N1,N0,c")});
              }).empty());
  Kernel k = step(original, "tag_array_axes", {word("out"), word("N1,N0,N2")});
  k = tag(k, "j:g.0, i:g.1");
  run_everywhere(k, original, {{"n", "7"}});
  const Kernel seven = fix(original, {{"n", 7}});
  k = step(seven, "tag_array_axes", {word("out"), word("N1,N0,N2")});
  run_everywhere(tag(k, "j:g.0, i:l.auto, k:l.auto"), seven, {});
}

TEST_CASE("as in Loo.py: parts of larger arrays, with offsets and strides from arguments") {
  const Kernel original = parsed(R"(
kernel parts(n: int32, m: int32, row: int32, at: int32,
             a: float64[n, m] strides=(row, 1) offset=at,
             b: out float64[n, m] strides=(row, 1) offset=2*at)
domain {[i, j]: 0 <= i < n and 0 <= j < m}
assume n >= 1 and m >= 1 and row >= m and at >= 0
b[i, j] = 2*a[i, j]
)");
  const GivenValues sizes{{"n", "7"}, {"m", "5"}, {"row", "20"}, {"at", "65"}};
  run_everywhere(original, original, sizes);
  run_everywhere(split(split(original, "i", 4, "g.0", "l.1"), "j", 4, "g.1", "l.0"), original,
                 sizes);
}

TEST_CASE("as in Loo.py: shapes are what all accesses reach, also along a diagonal") {
  const Kernel original = parsed(R"(
kernel guessed(n: int32, a: out float64, b: out auto[...], c: inout auto[...], d: out float64)
domain {[i, j]: 0 <= i, j < n}
assume n >= 1
b[i, j] = i*j
c[i + j, j] = b[j, i]
c[0, 0] = 13.0
a = 1.5 + simul_reduce(sum, (i, j), i*j)
d = 1.5 + simul_reduce(sum, [i, j], b[i, j])
)");
  const RunResult run = run_everywhere(original, original, {{"n", "6"}});
  CHECK(run.array("c").layout().shape == std::vector<std::int64_t>{11, 6});
  CHECK(values<double>(run, "a")[0] == 226.5);
  CHECK(values<double>(run, "d")[0] == 226.5);
}
