#include "core/interpreter/interpreter.h"

#include <cmath>
#include <complex>
#include <numeric>
#include <random>

#include "tests/core/semantics_kit.h"

using namespace kit;

namespace {

std::vector<double> iota(int n, double from = 0) {
  std::vector<double> v(static_cast<std::size_t>(n));
  std::iota(v.begin(), v.end(), from);
  return v;
}

/// The value of `e` with `i` = 0, arguments `x` (float64), `k` (int32), `u` (uint8).
double evaluated(const std::string& e, double x = 0, std::int32_t k = 0, std::uint8_t u = 0) {
  std::vector<double> xs{x}, out{0};
  std::vector<std::int32_t> ks{k};
  std::vector<std::uint8_t> us{u};
  Data()
      .array("x", Scalar::F64, xs)
      .array("k", Scalar::I32, ks)
      .array("u", Scalar::U8, us)
      .array("out", Scalar::F64, out)
      .run(
          "kernel f(x: float64[1], k: int32[1], u: uint8[1], out: float64[1])\n"
          "domain {[i]: 0 <= i < 1}\nout[i] = " +
          e + "\n");
  return out[0];
}

}  // namespace

TEST_CASE("interpreter: a matrix product with a reduction") {
  std::vector<double> a = iota(12), b = iota(20, 1), c(15, -1);
  Data()
      .scalar("n", 3)
      .scalar("m", 5)
      .scalar("l", 4)
      .array("a", Scalar::F64, a, {3, 4})
      .array("b", Scalar::F64, b, {4, 5})
      .array("c", Scalar::F64, c, {3, 5})
      .run(R"(
kernel mm(n: int32, m: int32, l: int32, a: float64[n,l], b: float64[l,m], c: float64[n,m])
domain {[i,j,k]: 0 <= i < n and 0 <= j < m and 0 <= k < l}
c[i,j] = sum(k, a[i,k]*b[k,j])
)");
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 5; ++j) {
      double s = 0;
      for (int k = 0; k < 4; ++k) s += a[i * 4 + k] * b[k * 5 + j];
      CHECK(c[i * 5 + j] == s);
    }
}

TEST_CASE("interpreter: loops ascend and share their statements") {
  // A recurrence, and a statement that reads what the previous one wrote in the same iteration.
  std::vector<double> a{1, 0, 0, 0, 0}, b(5, 0);
  Data().scalar("n", 5).array("a", Scalar::F64, a).array("b", Scalar::F64, b).run(R"(
kernel f(n: int32, a: float64[n], b: float64[n])
domain {[i]: 1 <= i < n}
a[i] = 2*a[i-1] {id=A}
b[i] = a[i] + 1 {id=B, dep=A}
)");
  CHECK(a == std::vector<double>{1, 2, 4, 8, 16});
  CHECK(b == std::vector<double>{0, 3, 5, 9, 17});
}

TEST_CASE("interpreter: triangles, strides, unions and guards enumerate each point once") {
  const auto points = [](const std::string& domain, const std::string& guard) {
    std::vector<std::int32_t> hit(100, 0);
    Data()
        .scalar("n", 10)
        .array("hit", Scalar::I32, hit, {10, 10})
        .run("kernel f(n: int32, hit: int32[n,n])\ndomain {[i,j]: " + domain +
             "}\nassume n >= 3\n" + guard + "hit[i,j] = hit[i,j] + 1\n" +
             (guard.empty() ? "" : "end\n"));
    return hit;
  };
  const auto expect = [](auto in) {
    std::vector<std::int32_t> hit(100, 0);
    for (int i = 0; i < 10; ++i)
      for (int j = 0; j < 10; ++j) hit[i * 10 + j] = in(i, j);
    return hit;
  };
  CHECK(points("0 <= j <= i < n", "") == expect([](int i, int j) { return j <= i; }));
  CHECK(points("0 <= i < n and 0 <= j < n and (i + j) mod 3 = 1", "") ==
        expect([](int i, int j) { return (i + j) % 3 == 1; }));
  CHECK(points("0 <= i < n and (0 <= j < 3 or i <= j < n)", "") ==
        expect([](int i, int j) { return j < 3 || j >= i; }));
  CHECK(points("0 <= i < n and 0 <= j < n and 2*i + 3*j <= 20 and i >= 2", "") ==
        expect([](int i, int j) { return 2 * i + 3 * j <= 20 && i >= 2; }));
  CHECK(points("0 <= i < n and 0 <= j < n and exists e: i = 2*e and j = 3*e", "") ==
        expect([](int i, int j) { return i % 2 == 0 && j % 3 == 0 && i / 2 == j / 3; }));
  CHECK(points("0 <= i,j < n", "if i > j and (i % 2 == 0 or j == 3)\n") ==
        expect([](int i, int j) { return i > j && (i % 2 == 0 || j == 3); }));
}

TEST_CASE("interpreter: data-dependent bounds and indirect subscripts") {
  std::vector<std::int32_t> start{0, 2, 2, 5}, col{0, 2, 0, 1, 2};
  std::vector<double> val{1, 2, 3, 4, 5}, x{10, 20, 30}, y(3, -1);
  Data()
      .scalar("n", 3)
      .scalar("nnz", 5)
      .array("start", Scalar::I32, start)
      .array("col", Scalar::I32, col)
      .array("val", Scalar::F64, val)
      .array("x", Scalar::F64, x)
      .array("y", Scalar::F64, y)
      .run(R"(
kernel spmv(n: int32, nnz: int32, start: int32[n+1], col: int32[nnz], val: float64[nnz], x: float64[n], y: float64[n])
domain {[i]: 0 <= i < n}
domain {[j]: lo <= j < hi}
<>lo = start[i]
<>hi = start[i+1]
y[i] = sum(j, val[j]*x[col[j]])
)");
  CHECK(y == std::vector<double>{70, 0, 260});
}

TEST_CASE("interpreter: integer division and remainder round as Python's") {
  for (const int a : {-7, -6, -1, 0, 1, 6, 7})
    for (const int b : {-3, -1, 1, 2, 3}) {
      const std::string divisor = "(" + std::to_string(b) + ")";
      const int q = static_cast<int>(std::floor(static_cast<double>(a) / b));
      CHECK(evaluated("k[i] // " + divisor, 0, a) == q);
      CHECK(evaluated("k[i] % " + divisor, 0, a) == a - b * q);
    }
  CHECK(evaluated("x[i] // 2", -7.5) == -4);
  CHECK(evaluated("x[i] % 2", -7.5) == 0.5);
  CHECK(evaluated("k[i] / 4", 0, 7) == 1.75);
}

TEST_CASE("interpreter: integers wrap in their type, literals do not widen") {
  CHECK(evaluated("k[i] + 1", 0, 2147483647) == -2147483648.0);
  CHECK(evaluated("u[i] + u[i]", 0, 0, 200) == 144);
  CHECK(evaluated("u[i] + 100", 0, 0, 200) == 300);
  CHECK(evaluated("cast(uint8, k[i])", 0, 300) == 44);
  CHECK(evaluated("cast(int8, k[i])", 0, 200) == -56);
  CHECK(evaluated("cast(int32, x[i])", -2.9) == -2);
  CHECK(evaluated("cast(float32, x[i])", 0.1) == static_cast<double>(0.1f));
  CHECK(evaluated("~k[i]", 0, 5) == -6);
  CHECK(evaluated("k[i] << 3 | 1", 0, 5) == 41);
  CHECK(evaluated("k[i] >> 1", 0, -5) == -3);
  CHECK(evaluated("k[i] ^ 3", 0, 5) == 6);
  CHECK(evaluated("k[i]**3", 0, -4) == -64);
}

TEST_CASE("interpreter: functions, comparisons and conditions") {
  CHECK(evaluated("sqrt(x[i])", 2) == std::sqrt(2.0));
  CHECK(evaluated("max(x[i], 3, k[i])", 2, 5) == 5);
  CHECK(evaluated("min(x[i], 3)", std::nan("")) == 3);
  CHECK(evaluated("abs(k[i]) + abs(x[i])", -1.5, -2) == 3.5);
  CHECK(evaluated("x[i]**0.5", 9) == 3);
  CHECK(evaluated("1 if x[i] != x[i] else 0", std::nan("")) == 1);
  CHECK(evaluated("if(k[i] > 2 and x[i] < 1, 7, 8)", 0, 3) == 7);
  CHECK(evaluated("(k[i] > 2) + (x[i] < 1)", 0, 3) == 2);
  CHECK(evaluated("not k[i]", 0, 0) == 1);
  CHECK(evaluated("clamp(x[i], 0, 1)", 1.5) == 1);
  CHECK(evaluated("atan2(x[i], 2)", 1) == std::atan2(1.0, 2.0));
  CHECK(evaluated("floor(x[i]) + ceil(x[i]) + trunc(x[i])", -1.5) == -4);
  CHECK(evaluated("isnan(x[i])", 1) == 0);
  // Only what is needed is evaluated.
  CHECK(evaluated("1 if k[i] == 0 or 1 // k[i] > 0 else 2", 0, 0) == 1);
}

TEST_CASE("interpreter: single precision rounds every operation") {
  std::vector<float> s{0.1f, 3.0f, 1e-8f}, out(3);
  Data().array("s", Scalar::F32, s).array("out", Scalar::F32, out).run(R"(
kernel f(s: float32[3], out: float32[3])
domain {[i]: 0 <= i < 3}
out[i] = s[i]*s[i] + 1.0/s[i] - 0.7
)");
  for (int i = 0; i < 3; ++i) {
    const volatile float square = s[i] * s[i], inverse = 1.0f / s[i], sum = square + inverse;
    CHECK(out[i] == sum - 0.7f);
  }
}

TEST_CASE("interpreter: complex numbers") {
  using C = std::complex<double>;
  std::vector<C> z{{1, 2}, {-3, 0.5}}, out(2);
  std::vector<double> r(2);
  Data()
      .array("z", Scalar::C128, z)
      .array("out", Scalar::C128, out)
      .array("r", Scalar::F64, r)
      .run(R"(
kernel f(z: complex128[2], out: complex128[2], r: float64[2])
domain {[i]: 0 <= i < 2}
out[i] = z[i]*z[i] + 2j*conj(z[i]) - exp(z[i])/3
r[i] = abs(z[i]) + real(z[i])*imag(z[i])
)");
  for (int i = 0; i < 2; ++i) {
    CHECK(std::abs(out[i] - (z[i] * z[i] + C(0, 2) * std::conj(z[i]) - std::exp(z[i]) / 3.0)) <
          1e-14);
    CHECK(r[i] == std::abs(z[i]) + z[i].real() * z[i].imag());
  }
}

TEST_CASE("interpreter: all reductions") {
  std::vector<double> x{3, -2, 5, -2, 5}, out(5, 0), v(2);
  std::vector<std::int32_t> at(2), truth(2);
  Data()
      .array("x", Scalar::F64, x)
      .array("out", Scalar::F64, out)
      .array("v", Scalar::F64, v)
      .array("at", Scalar::I32, at)
      .array("truth", Scalar::I32, truth)
      .run(R"(
kernel f(x: float64[5], out: float64[5], v: float64[2], at: int32[2], truth: int32[2])
domain {[i0,i1,i2,i3,i4,i5,i6,i7]: 0 <= i0,i1,i2,i3,i4,i5,i6,i7 < 5}
out[0] = sum(i0, x[i0])
out[1] = product(i1, x[i1])
out[2] = min(i2, x[i2])
out[3] = max(i3, x[i3])
v[0], at[0] = argmin(i4, x[i4], i4)
v[1], at[1] = argmax(i5, x[i5], i5)
truth[0] = any(i6, x[i6] > 4)
truth[1] = all(i7, x[i7] > 4)
)");
  CHECK(out == std::vector<double>{9, 300, -2, 5, 0});
  CHECK(v == std::vector<double>{-2, 5});
  CHECK(at == std::vector<std::int32_t>{1, 2});  // of equal values the first
  CHECK(truth == std::vector<std::int32_t>{1, 0});
}

TEST_CASE("interpreter: sums that start anew and running maxima, over a triangle") {
  std::vector<double> x{3, -2, 5, 5, -7, 1}, s(6), m(6);
  std::vector<std::int32_t> flag{0, 0, 1, 0, 1, 0}, seen(6), at(6);
  Data()
      .scalar("n", 6)
      .array("x", Scalar::F64, x)
      .array("flag", Scalar::I32, flag)
      .array("s", Scalar::F64, s)
      .array("seen", Scalar::I32, seen)
      .array("m", Scalar::F64, m)
      .array("at", Scalar::I32, at)
      .run(R"(
kernel f(n: int32, x: float64[n], flag: int32[n], s: float64[n], seen: int32[n], m: float64[n],
         at: int32[n])
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j <= i}
domain {[k]: 0 <= k <= i}
s[i], seen[i] = reduce(segmented(sum), j, x[j], flag[j])
m[i], at[i] = argmax(k, abs(x[k]), k)
)");
  CHECK(s == std::vector<double>{3, 1, 5, 10, -7, -6});
  CHECK(seen == std::vector<std::int32_t>{0, 0, 1, 1, 1, 1});
  CHECK(m == std::vector<double>{3, 3, 5, 5, 7, 7});
  CHECK(at == std::vector<std::int32_t>{0, 0, 2, 2, 4, 4});
}

TEST_CASE("interpreter: rules, several assignees and layouts") {
  std::vector<double> f{1, 2, 3, 4, 5, 6}, a(2), b(2);
  Data()
      .array("f", Scalar::F64, f, {2, 3}, true)
      .array("a", Scalar::F64, a)
      .array("b", Scalar::F64, b)
      .run(R"(
kernel g(f: float64[2,3] order=F, a: float64[2], b: float64[2])
domain {[i,j]: 0 <= i < 2 and 0 <= j < 3}
twice(x) := 2*x
a[i] = twice(f[i,0]) + sum(j, f[i,j]) {id=A}
b[i] = f[i,2] {id=B}
a[i], b[i] = make_tuple(b[i], a[i]) {dep=A:B}
)");
  CHECK(b == std::vector<double>{11, 16});
  CHECK(a == std::vector<double>{5, 6});
}

TEST_CASE("interpreter: failures name the instance") {
  std::vector<std::int32_t> map{0, 7, 1};
  std::vector<double> x(3), y(3);
  const std::string gather = R"(
kernel g(n: int32, map: int32[n], x: float64[n], y: float64[n])
domain {[i]: 0 <= i < n}
assume n >= 2
y[i] = x[map[i]] {id=S}
)";
  const auto data = [&] {
    return Data()
        .array("map", Scalar::I32, map)
        .array("x", Scalar::F64, x)
        .array("y", Scalar::F64, y);
  };
  CHECK(failure([&] { data().scalar("n", 3).run(gather); }) ==
        "`x[map[i]]` reaches index 7 of axis 0, whose extent is 3, at S[i=1] [out-of-bounds]");
  CHECK(failure([&] { data().run(gather); }) ==
        "`g` has no value for the argument `n` [missing-argument]");
  CHECK(failure([&] {
          data().scalar("n", 1).run(gather);
        }).find("n = 1 contradicts the assumption") == 0);
  CHECK(failure([&] { data().scalar("n", 4).run(gather); }) ==
        "the data for `map` has shape (3), not (4) [argument-mismatch]");
  CHECK(failure([&] { evaluated("1 // k[i]", 0, 0); }).find("[division-by-zero]") !=
        std::string::npos);
  CHECK(failure([&] {
          std::vector<double> out(1);
          Data()
              .scalar("n", 4000000000)
              .array("out", Scalar::F64, out)
              .run(
                  "kernel f(n: int64, out: float64[1])\ndomain {[i,j]: 0 <= i,j < n}\nassume n >= "
                  "1\n<>t[i,j] = 1.0\nout[0] = t[0,0]\n");
        }).find("[size-overflow]") != std::string::npos);
}

TEST_CASE("interpreter: hardware tags do not matter") {
  Kernel k = parsed(R"(
kernel f(n: int32, a: float64[n], b: float64[n])
domain {[g,l]: 0 <= g < 4 and 0 <= l < 8}
assume n = 32
<>t = 2*a[8*g + l]
b[8*g + l] = t + 1
)");
  k.iname_tags["g"] = *parse_iname_tag("g.0");
  k.iname_tags["l"] = *parse_iname_tag("l.0");
  std::vector<double> a = iota(32), b(32);
  Data().scalar("n", 32).array("a", Scalar::F64, a).array("b", Scalar::F64, b).run(k);
  for (int i = 0; i < 32; ++i) CHECK(b[i] == 2 * i + 1);
}

TEST_CASE("interpreter: a team, where no single thread could nest the loops") {
  // Each tile is fetched by the whole team, and accumulators live across the tiles.
  Kernel k = parsed(R"(
kernel f(a: float64[4,16], c: float64[4])
domain {[i]: 0 <= i < 4}
domain {[t]: 0 <= t < 4}
domain {[fi,fj]: 0 <= fi < 4 and 0 <= fj < 4}
domain {[j]: 0 <= j < 4}
<>acc = 0.0 {id=zero, inames=i}
<float64>tile[fi,fj] = a[fi, 4*t + fj] {id=fetch, inames=t:fi:fj}
acc = acc + tile[i,j] {id=add, inames=t:i:j, dep=zero:fetch}
c[i] = acc {id=put, dep=add, inames=i}
)");
  k.iname_tags["i"] = *parse_iname_tag("l.0");
  k.iname_tags["fi"] = *parse_iname_tag("l.0");
  k.temporaries.at("tile").space = AddressSpace::Local;
  std::vector<double> a = iota(64), c(4);
  Data().array("a", Scalar::F64, a, {4, 16}).array("c", Scalar::F64, c).run(k);
  for (int i = 0; i < 4; ++i) CHECK(c[i] == 16 * (16 * i) + 120);
}

TEST_CASE(
    "interpreter: a scalar that a team and then a loop of its own use has copies in the team") {
  const Kernel k =
      parsed(R"(kernel k(n: int32, a: float64[n], b: float64[n], c: float64[n], d: float64[n])
domain {[i]: 0 <= i < n}
domain {[m]: i <= m < n}
temp t: float64 in private
tag m: l.0
t = c[m]  {id=set, inames=m}
b[m] = t  {id=get, inames=m, dep=set}
a[m] = 1.0  {id=nest, inames=i:m}
t = 2*c[i]  {id=again, inames=i, dep=get}
d[i] = t  {id=last, inames=i, dep=again}
)");
  std::vector<double> a(3), b(3), c = iota(3, 1), d(3);
  Data()
      .scalar("n", 3)
      .array("a", Scalar::F64, a)
      .array("b", Scalar::F64, b)
      .array("c", Scalar::F64, c)
      .array("d", Scalar::F64, d)
      .run(k);
  CHECK(b == std::vector<double>{1, 2, 3});
  CHECK(d == std::vector<double>{2, 4, 6});
}

TEST_CASE("interpreter: work-items run the loops whose bounds each read for itself") {
  // Found by the differential test: such kernels could not be run as references.
  const std::string text =
      "kernel f(m: int32[12], w: int64[12], p: int64[12, 8])\n"
      "domain {[i]: 0 <= i < 12}\n"
      "domain {[k]: low <= k < high and k mod 2 = 0}\ndomain {[l]: k <= l < high}\n"
      "<int32> low = m[i] % 3  {id=low, inames=i}\n"
      "<int32> high = m[i] % 7 - 1  {id=high, inames=i}\n"
      "w[i] = sum(k, k + 10*i)  {id=w, inames=i}\n"
      "p[i, l] = 100*i + 10*k + l  {id=p, inames=i:k:l}\n";
  const auto run = [&](const Kernel& k) {
    std::vector<std::int32_t> m{9, 2, 14, 6, 20, 13, 5, 41, 7, 12, 3, 27};
    std::vector<std::int64_t> w(12), p(96);
    Data()
        .array("m", Scalar::I32, m)
        .array("w", Scalar::I64, w)
        .array("p", Scalar::I64, p, {12, 8})
        .run(k);
    w.insert(w.end(), p.begin(), p.end());
    return w;
  };
  const std::vector<std::int64_t> wanted = run(parsed(text));
  CHECK(wanted[5] == 52 + 54);  // of 1 <= k < 5
  for (const char* tag : {"l.0", "l.1"}) {
    Kernel k = parsed(text);
    k.iname_tags["i"] = *parse_iname_tag(tag);
    CHECK(run(k) == wanted);
  }
}

// Differential test, seed 2310365: rename_iname of work-items onto a loop whose end is data.
TEST_CASE("interpreter: as many work-items as data says have copies of what each accumulates") {
  const std::string text =
      "kernel f(n: int32, m: int32[n], a: float64[4], u: float64[n, 8])\n"
      "domain {[k]: 0 <= k < n}\ndomain {[i]: 2 <= i < high}\ndomain {[j]: 0 <= j < 4}\n"
      "<int32> high = m[k] % 9  {id=high, inames=k}\n"
      "u[k, i] = sum(j, i*a[j]) + 0.5  {id=u, inames=k:i, dep=high}\n";
  Kernel k = parsed(text);
  k.iname_tags["i"] = *parse_iname_tag("l.0");
  std::vector<std::int32_t> m{4, 0, 8, 5};
  std::vector<double> a{1, 2, 3, 4}, u(32, -1);
  Data data;
  data.scalar("n", 4).array("m", Scalar::I32, m).array("a", Scalar::F64, a);
  data.array("u", Scalar::F64, u, {4, 8});
  data.run(k);
  for (int r = 0; r < 4; ++r)
    for (int i = 0; i < 8; ++i) CHECK(u[8 * r + i] == (2 <= i && i < m[r] ? 10 * i + 0.5 : -1));
}

TEST_CASE("interpreter: a read of what was never written shows as NaN") {
  std::vector<double> out(4, 0), on{1, 0, 1, 0};
  Data().array("on", Scalar::F64, on).array("out", Scalar::F64, out).run(R"(
kernel f(on: float64[4], out: float64[4])
domain {[i,j]: 0 <= i < 4 and 0 <= j < 4}
if on[i] > 0
  <>t[i] = 1.0 {id=T}
end
out[j] = t[j] {dep=T}
)");
  CHECK(out[0] == 1);
  CHECK(std::isnan(out[1]));
}
