#include "runtime/arguments.h"

#include "core/order/check_kernel.h"
#include "tests/runtime/device_kit.h"

using namespace moonloop;
using test::error_of;

namespace {

const char* const kScale = R"(kernel scale(n: int32, s: float64, a: float64[n, 3], c: float64[n, 3])
domain {[i, j]: 0 <= i < n and 0 <= j < 3}
assume n >= 2 and n mod 2 = 0
c[i, j] = s*a[i, j]
)";

std::string reading(const GivenValues& given) {
  return error_of([&] { read_scalars(complete(parsed(kScale)), given); });
}
std::string value_error(Scalar type, const std::string& text) {
  return error_of([&] { parse_value("x", type, text); });
}

}  // namespace

TEST_CASE("arguments: sizes have to be given, other scalars may be") {
  const Kernel k = complete(parsed(kScale));
  CHECK(size_parameters(k) == std::vector<std::string>{"n"});
  const auto scalars = read_scalars(k, {{"n", "4"}});
  REQUIRE(scalars.size() == 2);
  CHECK(scalars[0].value.i == 4);
  CHECK_FALSE(scalars[0].made_up);
  CHECK(scalars[1].made_up);
  CHECK(scalars[1].value.re >= 0);
  CHECK(scalars[1].value.re < 1);
  CHECK(read_scalars(k, {{"n", "4"}, {"s", "-2.5"}})[1].value.re == -2.5);
  CHECK(read_scalars(k, {{"n", "4"}, {"gone", "1"}}, {"gone"}).size() == 2);

  CHECK(reading({}) ==
        "kernel `scale` needs a value of `n`; give `-p n=VALUE` [missing-parameter]");
  CHECK(reading({{"n", "4"}, {"m", "4"}}) ==
        "kernel `scale` has no scalar `m`; it has `n`, `s` [unknown-parameter]");
  CHECK(reading({{"n", "4"}, {"a", "4"}}) ==
        "`a` is an array; read it with `--in a=FILE.npy` [unknown-parameter]");
  CHECK(reading({{"n", "4"}, {"n", "6"}}) == "`n` is given twice, as 4 and 6 [repeated-parameter]");
  CHECK(reading({{"n", "x"}}) == "`x` is not a value of `n`, which is of type int32 [bad-value]");
}

TEST_CASE("arguments: what the kernel assumes is checked") {
  const std::string odd = reading({{"n", "3"}});
  CHECK(odd.starts_with("with n = 3, what kernel `scale` assumes does not hold: "));
  CHECK(odd.ends_with(" [assumption-violated]"));
  CHECK(reading({{"n", "0"}}).ends_with(" [assumption-violated]"));
  CHECK(reading({{"n", "2"}}).empty());
}

TEST_CASE("arguments: values of every type") {
  CHECK(parse_value("x", Scalar::I8, "-128").i == -128);
  CHECK(parse_value("x", Scalar::I64, "-9223372036854775808").i == INT64_MIN);
  CHECK(parse_value("x", Scalar::U64, "18446744073709551615").i == -1);
  CHECK(parse_value("x", Scalar::I32, "0x10").i == 16);
  CHECK(parse_value("x", Scalar::I32, "+7").i == 7);
  CHECK(parse_value("x", Scalar::Bool, "true").i == 1);
  CHECK(parse_value("x", Scalar::F32, "0.1").re == static_cast<double>(0.1f));
  CHECK(parse_value("x", Scalar::F64, "1e-3").re == 1e-3);
  CHECK(parse_value("x", Scalar::F64, "-inf").re == -INFINITY);
  CHECK(parse_value("x", Scalar::C128, "1-2j").im == -2);
  CHECK(parse_value("x", Scalar::C128, "2j").im == 2);
  CHECK(parse_value("x", Scalar::C64, "3").re == 3);

  CHECK(value_error(Scalar::I8, "128") ==
        "`128` is not a value of `x`, which is of type int8 [bad-value]");
  CHECK(value_error(Scalar::U8, "-1") ==
        "`-1` is not a value of `x`, which is of type uint8 [bad-value]");
  CHECK(value_error(Scalar::I64, "9223372036854775808").ends_with("[bad-value]"));
  CHECK(value_error(Scalar::I32, "1.5").ends_with("[bad-value]"));
  CHECK(value_error(Scalar::I32, "").ends_with("[bad-value]"));
  CHECK(value_error(Scalar::I32, "4 ").ends_with("[bad-value]"));
  CHECK(value_error(Scalar::F64, "1.5x").ends_with("[bad-value]"));
  CHECK(value_error(Scalar::F64, " 1").ends_with("[bad-value]"));
  CHECK(value_error(Scalar::Bool, "2").ends_with("[bad-value]"));
  CHECK(value_error(Scalar::C64, "1+2").ends_with("[bad-value]"));
}

TEST_CASE("arguments: shapes, strides and offsets") {
  const Kernel k =
      complete(parsed(R"(kernel layouts(n: int32, f: float64[n, 2*n] order=F, c: float64[n, n])
domain {[i, j]: 0 <= i, j < n}
f[i, j] = c[i, j]
)"));
  const Integers values{{"n", 3}};
  const Layout f = layout_of(*k.find_arg("f"), values);
  CHECK(f.shape == std::vector<std::int64_t>{3, 6});
  CHECK(f.strides == std::vector<std::int64_t>{1, 3});
  CHECK(layout_of(*k.find_arg("c"), values).strides == std::vector<std::int64_t>{3, 1});
  CHECK(f.storage() == 18);

  Argument a = *k.find_arg("c");
  a.strides = Exprs{lit(10), lit(-1)};
  a.offset = var("n");
  const Layout s = layout_of(a, values);
  CHECK(s.offset == 3);
  CHECK(s.storage() == 24);
  a.offset = Expr();
  CHECK(error_of([&] { layout_of(a, values).storage(); }).ends_with(" [bad-layout]"));
}

TEST_CASE("arguments: sizes that overflow or are negative are refused") {
  const auto shape_error = [](const std::string& extent, std::int64_t n) {
    Kernel k =
        complete(parsed("kernel t(n: int64, m: int64, a: float64[n, n])\n"
                        "domain {[i]: 0 <= i < 1 and n >= 1}\na[i, 0] = 1\n"));
    Argument a = *k.find_arg("a");
    a.shape = Exprs{parsed("kernel x(n: int64, a: float64[" + extent + "])\na[0] = 1\n")
                        .find_arg("a")
                        ->shape->at(0),
                    var("n")};
    return error_of([&] { layout_of(a, {{"n", n}}); });
  };
  CHECK(shape_error("n", std::int64_t{1} << 32) ==
        "the number of elements of `a` overflows 64 bits: 4294967296 * 4294967296 [size-overflow]");
  CHECK(shape_error("n*n*n", std::int64_t{1} << 32).ends_with(" [size-overflow]"));
  CHECK(shape_error("n", -1) ==
        "array `a` of shape [-1, -1] has a negative extent [negative-extent]");
  CHECK(shape_error("n // (n - 4)", 4) ==
        "extent 0 of array `a` divides by zero: `n // (n - 4)` [division-by-zero]");
  CHECK(shape_error("m", 4) ==
        "extent 0 of array `a` needs a value of `m`; give `-p m=VALUE` [missing-parameter]");
}

TEST_CASE("arguments: values that lead inames or bounds beyond the index type are refused") {
  const auto at = [](const std::string& type, const std::string& bound, const char* n) {
    const Kernel k =
        complete(parsed("kernel t(n: " + type + ", a: float64[1])\ndomain {[i]: 0 <= i < " + bound +
                        "}\na[0] = 1 {inames=i}\n"));
    return error_of([&] { read_scalars(k, {{"n", n}}); });
  };
  CHECK(at("int32", "3*n", "1000000000") ==
        "iname `i` reaches 2999999999 with n = 1000000000: a loop over it leaves the index type "
        "int32 "
        "[size-overflow]");
  CHECK(at("int32", "3*n", "700000000").empty());
  CHECK(at("int32", "(3*n)//4", "1000000000") ==
        "a bound of `i` adds up to 3000000000 with n = 1000000000: it leaves the index type int32 "
        "[size-overflow]");
  CHECK(at("int64", "(3*n)//4", "1000000000").empty());
  CHECK(at("int64", "n", "4900000000") ==
        "iname `i` reaches 4899999999 with n = 4900000000: a loop over it leaves the index type "
        "int32 "
        "[size-overflow]");
}

TEST_CASE("evaluate: operators") {
  const auto value = [](const std::string& e) {
    const Kernel k = parsed("kernel x(n: int64, m: int64, a: float64[" + e + "])\na[0] = 1\n");
    return evaluate(k.find_arg("a")->shape->at(0), {{"n", 7}, {"m", -3}}, "it");
  };
  CHECK(value("n // 2 + n % 4") == 6);
  CHECK(value("m // 2") == -2);
  CHECK(value("m % 2") == 1);
  CHECK(value("n // m") == -3);
  CHECK(value("n % m") == -2);
  CHECK(value("min(n, m) + max(n, 9)") == 6);
  CHECK(value("n - 2*m") == 13);
  CHECK(value("n if m < 0 else 5") == 7);
  CHECK(value("n**2") == 49);
}

TEST_CASE("buffer: huge arrays are an error, not a crash") {
  CHECK(error_of([] {
          Buffer b(Layout{"a", Scalar::F64, {std::int64_t{1} << 50}, {1}, 0});
        }).ends_with(" [too-large]"));
  CHECK(error_of([] {
          Buffer b(Layout{"a", Scalar::F64, {std::int64_t{1} << 61}, {1}, 0});
        }).ends_with(" [size-overflow]"));
}

TEST_CASE("buffer: made-up values depend on the name and the index alone") {
  Buffer c(Layout{"a", Scalar::F64, {3, 4}, {4, 1}, 0}),
      f(Layout{"a", Scalar::F64, {3, 4}, {1, 3}, 0}),
      other(Layout{"b", Scalar::F64, {3, 4}, {4, 1}, 0});
  c.fill("a");
  f.fill("a");
  other.fill("b");
  CHECK(c.first(12) == f.first(12));
  CHECK(c.checksum().bytes == f.checksum().bytes);
  CHECK(c.first(12) != other.first(12));
  for (const std::string& s : c.first(12)) {
    CHECK(std::stod(s) >= 0);
    CHECK(std::stod(s) < 1);
  }
}

TEST_CASE(
    "arguments: arrays that a transform gave the caller other ones for are compared as before") {
  const char* const source = R"(
kernel layers(n: int32, u: in float64[3, n], v: inout float64[n, 3], w: out int32[n])
domain {[i]: 0 <= i < n}
domain {[c]: 0 <= c < 3}
v[i, c] = v[i, c] + u[c, i]*u[2 - c, i]  {id=add}
w[i] = i*i
)";
  const Kernel original = parsed(source);
  const auto axes = [](const Kernel& k, const char* name, const char* tags) {
    return test::step(k, "tag_array_axes", {test::word(name), test::word(tags)});
  };
  const auto split = [](const Kernel& k, const char* name, std::int64_t axis, std::int64_t count,
                        const char* order) {
    return test::step(k, "split_array_axis",
                      {test::word(name), Value{axis}, Value{count}, test::word(order)});
  };
  Kernel k = test::split(original, "i", 16, "g.0", "l.0");
  k = axes(k, "u", "sep,c");
  k = split(k, "v", 0, 7, "F");
  k = split(k, "w", 0, 10, "C");
  k = axes(k, "v", "c,c,sep");
  for (const char* n : {"1", "14", "50"}) test::run_everywhere(k, original, {{"n", n}});
  const RunResult result = test::run_on(Target::C, k, original, {{"n", "9"}});
  CHECK(result.array("v_s1").layout().str() == "float64[7, 2]");
  CHECK(result.array("w").layout().str() == "int32[1, 10]");

  // An axis of remainders that is split has padding, which is not an element of the whole.
  Kernel twice = split(original, "w", 0, 3, "F");
  twice = split(twice, "w", 0, 4, "C");
  for (const char* n : {"9", "14"}) test::run_everywhere(twice, original, {{"n", n}});

  // A wrong value in a part is a difference at the element of the whole.
  const Kernel wrong = parsed(std::string(source) + "v[i, 1] = 3  {dep=add}\n");
  Kernel other = axes(wrong, "v", "c,sep");
  RunRequest r;
  r.params = {{"n", "5"}};
  r.verify = true;
  const RunResult different = run_kernel(other, original, r);
  CHECK(!different.verification.value().equal());
  for (const Comparison& c : different.verification->arrays)
    if (c.array == "v") CHECK((c.different == 5 && c.index == "[0, 1]"));
}

TEST_CASE("arguments: batches whose elements a split puts side by side, and vectors along them") {
  // Matrices of some size applied to many vectors; 16 of these are adjacent.
  const char* const batch = R"(
kernel batch(count: int32, d: in float32[18, 18], u: in float32[count, 18], v: out float32[count, 18])
domain {[k]: 0 <= k < count}
domain {[i]: 0 <= i < 18}
domain {[j]: 0 <= j < 18}
v[k, i] = sum(j, d[i, j]*u[k, j])
)";
  const Kernel original = parsed(batch);
  Kernel k = test::step(original, "split_array_axis",
                        {test::word("u, v"), Value{std::int64_t{0}}, Value{std::int64_t{16}}});
  k = test::step(k, "tag_array_axes", {test::word("u, v"), test::word("N2, N0, N1(pad=512)")});
  k = test::split(k, "k", 16, "g.0", "l.0",
                  {{"slabs", Value{ValueList{Value{std::int64_t{0}}, Value{std::int64_t{1}}}}}});
  for (const char* count : {"32", "37"}) test::run_everywhere(k, original, {{"count", count}});

  const Kernel chain = parsed(R"(
kernel chain(n: int32, a: out float32[n], b: in float32[n])
domain {[i]: 0 <= i < n}
<> temp = 2*b[i]
a[i] = temp
)");
  Kernel wide =
      test::split(chain, "i", 4, "", "vec",
                  {{"slabs", Value{ValueList{Value{std::int64_t{0}}, Value{std::int64_t{1}}}}}});
  wide = test::step(wide, "split_array_axis",
                    {test::word("a, b"), Value{std::int64_t{0}}, Value{std::int64_t{4}}});
  wide = test::step(wide, "tag_array_axes", {test::word("a, b"), test::word("c,vec")});
  for (const char* n : {"30", "32", "3"}) test::run_everywhere(wide, chain, {{"n", n}});
  CHECK(generate(wide, Target::OpenCL)
            .source.find("float4 const v = *(__global float4 const *)&b[") != std::string::npos);
}
