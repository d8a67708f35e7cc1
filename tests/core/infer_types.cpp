#include <algorithm>

#include "core/infer/typing.h"
#include "tests/core/semantics_kit.h"

using namespace kit;

namespace {

/// The type that `<>t = e` gets.
std::string inferred(const std::string& e) {
  const Kernel k = parsed(
      "kernel f(n: int32, b: bool[n], i1: int8[n], u1: uint8[n], i4: int32[n], u4: uint32[n], "
      "i8: int64[n], u8: uint64[n], h: float16[n], s: float32[n], d: float64[n], cs: complex64[n], "
      "cd: "
      "complex128[n])\n"
      "domain {[i]: 0 <= i < n}\ndomain {[k]: 0 <= k < 3}\n<>t = " +
      e + "\nd[i] = d[i] + real(t)\n");
  return type_in(infer_types(k), "t");
}

}  // namespace

TEST_CASE("types: numpy's promotion, except that int32 keeps float32") {
  CHECK(inferred("i4[i] + s[i]") == "float32");
  CHECK(inferred("i8[i] + s[i]") == "float64");
  CHECK(inferred("i1[i]*s[i]") == "float32");
  CHECK(inferred("i4[i] + i8[i]") == "int64");
  CHECK(inferred("i1[i] + u1[i]") == "int16");
  CHECK(inferred("u4[i] + i4[i]") == "int64");
  CHECK(inferred("u8[i] + i8[i]") == "float64");
  CHECK(inferred("s[i] + d[i]") == "float64");
  CHECK(inferred("s[i]*cs[i]") == "complex64");
  CHECK(inferred("d[i]*cs[i]") == "complex128");
  CHECK(inferred("b[i] + b[i]") == "int32");
  CHECK(inferred("i1[i] + i1[i]") == "int8");
}

TEST_CASE("types: float16 is kept in memory and computed with as float32") {
  CHECK(inferred("h[i]") == "float16");
  CHECK(inferred("cast(float16, d[i])") == "float16");
  for (const char* e : {"-h[i]", "h[i] + h[i]", "h[i]*i4[i]", "2*h[i]", "0.5*h[i]", "sqrt(h[i])",
                        "abs(h[i])", "min(h[i], h[i])", "h[i] if b[i] else h[i]", "sum(k, h[k])",
                        "max(k, h[k])", "real(h[i])", "cast(float16, h[i])*h[i]", "h[i] // h[i]"})
    CHECK_MESSAGE(inferred(e) == "float32", std::string(e));
  CHECK(inferred("h[i]*d[i]") == "float64");
  CHECK(inferred("h[i]*cs[i]") == "complex64");
}

TEST_CASE("types: divisions, comparisons and conditions") {
  CHECK(inferred("i4[i] / i4[i]") == "float64");
  CHECK(inferred("s[i] / i4[i]") == "float32");
  CHECK(inferred("i4[i] // i8[i]") == "int64");
  CHECK(inferred("s[i] < d[i]") == "bool");
  CHECK(inferred("i4[i] if b[i] else s[i]") == "float32");
  CHECK(inferred("not i4[i]") == "bool");
  CHECK(inferred("b[i] & b[i]") == "bool");
  CHECK(inferred("i4[i] << 3") == "int32");
  CHECK(inferred("i4[i]**2") == "int32");
  CHECK(inferred("s[i]**2") == "float32");
  CHECK(inferred("i4[i]**-1") == "float64");
}

TEST_CASE("types: each writer of a variable waits for what it reads, which later lines write") {
  const Kernel k = infer_types(parsed(R"(
kernel f(n: int32, s: float32[n], d: float64[n], out: float64[n])
domain {[i]: 0 <= i < n}
<>t = p {id=first}
t = t + q {id=second, dep=first}
out[i] = t {dep=second}
<>p = p_later
<>q = q_later
<>p_later = d[i]
<>q_later = s[i]
)"));
  CHECK(type_in(k, "t") == "float64");
  CHECK(type_in(k, "p") == "float64");
  CHECK(type_in(k, "q") == "float32");
}

TEST_CASE("types: literals adapt") {
  CHECK(inferred("1") == "int32");
  CHECK(inferred("5000000000") == "int64");
  CHECK(inferred("i8[i] + 1") == "int64");
  CHECK(inferred("u8[i] + 1") == "uint64");
  CHECK(inferred("u4[i] - 1") == "uint32");
  CHECK(inferred("s[i] + 1") == "float32");
  CHECK(inferred("2.5*s[i]") == "float32");
  CHECK(inferred("0.1*s[i]") == "float64");  // 0.1 is not exact in single precision
  CHECK(inferred("0.1f*s[i]") == "float32");
  CHECK(inferred("2.5d*s[i]") == "float64");
  CHECK(inferred("0.1*d[i]") == "float64");
  CHECK(inferred("1.0j*s[i]") == "complex64");
  CHECK(inferred("0.5*i4[i]") == "float32");
  CHECK(inferred("1/2*s[i]") == "float32");
}

TEST_CASE("types: functions") {
  CHECK(inferred("sqrt(s[i])") == "float32");
  CHECK(inferred("sqrt(i4[i])") == "float64");
  CHECK(inferred("exp(cs[i])") == "complex64");
  CHECK(inferred("abs(cd[i])") == "float64");
  CHECK(inferred("real(cs[i])") == "float32");
  CHECK(inferred("max(i4[i], i8[i])") == "int64");
  CHECK(inferred("isnan(d[i])") == "bool");
  CHECK(inferred("if(b[i], s[i], 0)") == "float32");
  CHECK(inferred("atan2(s[i], 2.0)") == "float32");
}

TEST_CASE("types: the context decides how a literal is rounded") {
  const Kernel k = infer_types(
      parsed("kernel f(n: int32, s: float32[n], d: float64[n])\ndomain {[i]: 0 <= i < n}\n"
             "s[i] = 0.1*s[i] {id=single}\nd[i] = 0.1*s[i] {id=double}\n"));
  const Expr single = k.instructions[0]->rhs;
  CHECK(type_of(k, single, Type(Scalar::F32)) == Type(Scalar::F32));
  CHECK(type_of(k, single, Type(Scalar::F64)) == Type(Scalar::F64));
  CHECK(Typer(k).computation(single, Type(Scalar::F32))->operands[0] == Type(Scalar::F32));
}

TEST_CASE("types: data flow through several writers and cycles") {
  const Kernel k = infer_types(parsed(R"(
kernel f(n: int32, x: float64[n], out)
domain {[i,j]: 0 <= i,j < n}
<>acc = 0 {id=zero}
for i
  acc = acc + x[i] {id=add, dep=zero}
end
<>half = acc / 2 {dep=add}
out[j] = half
)"));
  CHECK(type_in(k, "acc") == "float64");
  CHECK(type_in(k, "half") == "float64");
  CHECK(type_in(k, "out") == "float64");
}

TEST_CASE("types: reductions and rules") {
  const Kernel k = infer_types(parsed(R"(
kernel f(n: int32, x: float32[n], k8: int8[n], v, at, s, any_of)
domain {[i,j,k,l]: 0 <= i,j,k,l < n}
twice(a) := 2*a
v[0], at[0] = argmax(i, twice(x[i]), i)
s[0] = sum(j, k8[j])
any_of[0] = any(k, x[k] > 1)
)"));
  CHECK(type_in(k, "v") == "float32");
  CHECK(type_in(k, "at") == "int32");
  CHECK(type_in(k, "s") == "int8");
  CHECK(type_in(k, "any_of") == "bool");
  CHECK(k.rules.size() == 1);
}

TEST_CASE("types: a chain of ten thousand temporaries") {
  Kernel k = parsed(
      "kernel f(n: int32, x: float32[n], y: float32[n])\ndomain {[i]: 0 <= i < n}\n"
      "<>t0 = x[i] {id=s0}\n");
  const InsnPtr first = k.instructions[0];
  for (int i = 1; i < 10000; ++i) {
    Temporary t = k.temporaries.at("t0");
    t.name = "t" + std::to_string(i);
    k.temporaries.emplace(t.name, t);
    k.instructions.push_back(edit(first, [&](Instruction& s) {
      s.id = "s" + std::to_string(i);
      s.lhs = {var(t.name)};
      s.rhs = Expr(Nary{NaryOp::Add, {var("t" + std::to_string(i - 1)), lit(1)}});
    }));
  }
  std::reverse(k.instructions.begin(), k.instructions.end());
  CHECK(type_in(infer_types(k), "t9999") == "float32");
}

TEST_CASE("types: what cannot be") {
  const auto inferring = [](const std::string& text) {
    return failure([&] {
      infer_types(
          parsed("kernel f(n: int32, d: float64[n], c: complex128[n], "
                 "q: float64[n])\n"
                 "domain {[i,j]: 0 <= i,j < n}\n" +
                 text));
    });
  };
  CHECK(inferring("d[i] = d[i] & 3\n") ==
        "`d[i]` of type float64 cannot be an operand of `&` [bad-operand]");
  CHECK(inferring("d[i] = 1 if c[i] < 2 else 0\n") ==
        "`c[i]` of type complex128 cannot be an operand of an ordering comparison [bad-operand]");
  CHECK(
      inferring("d[i] = c[i] {id=S}\n") ==
      "`d[i]` is float64, but the value that `S` assigns to it is complex128 [type-mismatch]; take "
      "`real(...)` or `imag(...)`, or cast");
  CHECK(inferring("d[i] = sqr(d[i])\n").find("no function or rule `sqr`") == 0);
  CHECK(inferring("d[i] = sqrt(d[i], 1)\n") == "`sqrt` takes 1 argument, got 2 [wrong-arg-count]");
  CHECK(inferring("d[i] = d[d[i]]\n") ==
        "subscript `d[i]` of `d` is float64, not an integer [bad-operand]");
  CHECK(inferring("d[i] = floor(c[i])\n") ==
        "`c[i]` of type complex128 cannot be an operand of `floor` [bad-operand]");
  CHECK(inferring("d[i] = 2*argmin(j, q[j], j)\n").find("`argmin` gives two values") == 0);
  const std::string open = failure(
      [] { infer_types(parsed("kernel f(n: int32, a)\ndomain {[i]: 0 <= i < n}\n<>t = a[i]\n")); });
  CHECK(open ==
        "the type of `a` is neither declared nor given by an assignment [unknown-type]; declare "
        "it in the kernel's arguments, as in `a: float64`");
}

TEST_CASE("types: promotion is commutative") {
  for (int a = 0; a <= static_cast<int>(Scalar::C128); ++a)
    for (int b = 0; b <= static_cast<int>(Scalar::C128); ++b)
      CHECK(promote(static_cast<Scalar>(a), static_cast<Scalar>(b)) ==
            promote(static_cast<Scalar>(b), static_cast<Scalar>(a)));
}

TEST_CASE("types: a record is not an operand of a cast, nor a type to cast to") {
  const auto inferring = [](const std::string& statement) {
    return failure([&] {
      infer_types(
          parsed("record pair(x: float64, y: float64)\n"
                 "kernel f(n: int32, p: pair[n], q: pair[n], r: float64[n])\n"
                 "domain {[i]: 0 <= i < n}\n" +
                 statement + "\n"));
    });
  };
  CHECK(inferring("r[i] = cast(float64, p[i])") ==
        "`p[i]` of type pair cannot be an operand of a cast to float64 [bad-operand]");
  CHECK(inferring("q[i].x = cast(int32, p[i]) + 1") ==
        "`p[i]` of type pair cannot be an operand of a cast to int32 [bad-operand]");
  CHECK(inferring("r[i] = cast(pair, r[i])") == "no type `pair` [unknown-type]");
  CHECK(inferring("r[i] = cast(float32, p[i].x)") == "ok");
}
