#include <cmath>
#include <random>

#include "core/expr/parse_expr.h"
#include "tests/text/helpers.h"

using namespace moonloop;
using namespace moonloop::testing;

namespace {

std::string same(const std::string& text) {
  const Expr e = parse_expression(text);
  const std::string printed = to_string(e);
  CHECK(equal(parse_expression(printed), e));
  return printed;
}

/// "col code: message".
std::string error(const std::string& text) {
  try {
    parse_expression(text);
  } catch (const Error& e) {
    const Diagnostic& d = e.diagnostic();
    return fmt::format("{} {}: {}", d.where.at.col, d.code, d.text);
  }
  return "no error";
}

}  // namespace

TEST_CASE("expressions print with as few parentheses as mean the same") {
  CHECK(same("a + b*c") == "a + b*c");
  CHECK(same("(a + b)*c") == "(a + b)*c");
  CHECK(same("a - (b - c)") == "a - (b - c)");
  CHECK(same("a - b - c") == "a - b - c");
  CHECK(same("a + (b + c)") == "a + (b + c)");
  CHECK(same("(a + b) + c") == "a + b + c");
  CHECK(same("a/b*c") == "a / b*c");
  CHECK(same("a/(b*c)") == "a / (b*c)");
  CHECK(same("a // b % c") == "a // b % c");
  CHECK(same("a // (b % c)") == "a // (b % c)");
  CHECK(same("-a**2") == "-a**2");
  CHECK(same("(-a)**2") == "(-a)**2");
  CHECK(same("2**-i") == "2**-i");
  CHECK(same("a**b**c") == "a**b**c");
  CHECK(same("(a**b)**c") == "(a**b)**c");
  CHECK(same("-(a + b)") == "-(a + b)");
  CHECK(same("~a & b | c ^ d << 2 >> 1") == "~a & b | c ^ d << 2 >> 1");
  CHECK(same("not a == b and c or d") == "not a == b and c or d");
  CHECK(same("not (a and b)") == "not (a and b)");
  CHECK(same("a if b else c if d else e") == "a if b else c if d else e");
  CHECK(same("(a if b else c) if d else e") == "(a if b else c) if d else e");
  CHECK(same("(a if b else c) + 1") == "(a if b else c) + 1");
  CHECK(same("a if (b if c else d) else e") == "a if (b if c else d) else e");
  CHECK(same("if(a, b, c)") == "b if a else c");
}

TEST_CASE("a chain of comparisons is a conjunction") {
  CHECK(same("0 <= i < n") == "0 <= i and i < n");
  CHECK(same("a < b == c != d") == "a < b and b == c and c != d");
  CHECK(same("(a < b) == c") == "(a < b) == c");
}

TEST_CASE("names, subscripts, fields, calls") {
  CHECK(same("a$tag") == "a$tag");
  CHECK(same("a$tag[i, j]") == "a$tag[i, j]");
  CHECK(same("f$tag(x)") == "f$tag(x)");
  CHECK(same("a[(i, j)]") == "a[i, j]");
  CHECK(same("a[(i)]") == "a[i]");
  CHECK(same("a[i,]") == "a[i]");
  CHECK(same("a[()]") == "a[()]");
  CHECK(same("a[[i + 3*j]]") == "a[[i + 3*j]]");
  CHECK(same("r[i].pos.x") == "r[i].pos.x");
  CHECK(same("f()") == "f()");
  CHECK(same("f(a[:], a[1:n], a[:n:2], a[3:-1:-1], a[i, :, k])") ==
        "f(a[:], a[1:n], a[:n:2], a[3:-1:-1], a[i, :, k])");
  CHECK(same("f([i, j]: a[i, j, k], x)") == "f([i, j]: a[i, j, k], x)");
  CHECK(same("f([]: a[()])") == "f([]: a[()])");
  const Expr e = parse_expression("a$t[[i]]");
  CHECK(e.as<Load>()->linear);
  CHECK(e.as<Load>()->tag.str() == "t");
  CHECK(parse_expression("f([i]: a[i])").as<Call>()->args[0].as<SubArray>()->inames ==
        std::vector<std::string>{"i"});
}

TEST_CASE("literals keep their value and their size") {
  const auto real = [](const std::string& t) { return *parse_expression(t).as<FloatLit>(); };
  CHECK(real("2.5").value == 2.5);
  CHECK(!real("2.5").type);
  CHECK(real("5f").type == Scalar::F32);
  CHECK(real("5d").type == Scalar::F64);
  CHECK(real("1e3f").value == 1000);
  CHECK(real("1d-3").value == 0.001);
  CHECK(real("1d-3").type == Scalar::F64);
  CHECK(real(".5").value == 0.5);
  CHECK(real("3.").value == 3);
  CHECK(std::isnan(real("nan").value));
  CHECK(std::isinf(real("inf").value));
  CHECK(real("1e-400").value == 0);
  CHECK(parse_expression("5j").as<ComplexLit>()->im == 5);
  CHECK(parse_expression("5jf").as<ComplexLit>()->type == Scalar::C64);
  CHECK(parse_expression("True").as<BoolLit>()->value);
  CHECK(as_int(parse_expression("0xff")) == 255);
  CHECK(as_int(parse_expression("-7")) == -7);
  CHECK(as_int(parse_expression("9223372036854775807")) == INT64_MAX);
  CHECK(as_int(parse_expression("-9223372036854775808")) == INT64_MIN);
  CHECK(same("-9223372036854775808") == "-9223372036854775808");
  CHECK(same("2.5f + 3.0d + 1.0jf + 4.0j") == "2.5f + 3.0d + 1.0jf + 4.0j");
  CHECK(same("0.1") == "0.1");
  CHECK(same("1e300") == "1e+300");
}

TEST_CASE("reductions in each spelling") {
  const auto reduce = [](const std::string& t) {
    const Expr e = parse_expression(t);
    REQUIRE_MESSAGE(e.as<Reduce>(), t);
    return *e.as<Reduce>();
  };
  CHECK(reduce("sum(k, a[k])").op == ReduceOp::Sum);
  CHECK(reduce("sum((j, k), a[j, k])").inames == std::vector<std::string>{"j", "k"});
  CHECK(reduce("sum([j, k], a[j, k])").inames == std::vector<std::string>{"j", "k"});
  CHECK(reduce("reduce(product, k, a[k])").op == ReduceOp::Product);
  CHECK(reduce("reduce(max, (k, j), a[k])").op == ReduceOp::Max);
  CHECK(reduce("reduce(max, k, a[k])").inames.size() == 1);
  CHECK(reduce("any(k, a[k] > 0)").op == ReduceOp::Any);
  CHECK(reduce("all(k, a[k] > 0)").op == ReduceOp::All);
  CHECK(reduce("argmin(k, a[k], k)").args.size() == 2);
  CHECK(reduce("argmax(k, make_tuple(a[k], k))").args.size() == 2);
  CHECK(reduce("reduce(segmented(sum), k, a[k], f[k])").op == ReduceOp::SegmentedSum);
  CHECK(reduce("reduce(segmented(product), [k], a[k], f[k])").op == ReduceOp::SegmentedProduct);
  CHECK(reduce("reduce(segmented(max), k, a[k], f[k])").op == ReduceOp::SegmentedMax);
  CHECK(reduce("simul_reduce(sum, k, a[k])").simultaneous);
  CHECK(same("simul_reduce(argmax, (j, k), a[j, k], j)") ==
        "simul_reduce(argmax, (j, k), a[j, k], j)");
  CHECK(same("2*sum(k, sum(j, a[j, k])) + 1") == "2*sum(k, sum(j, a[j, k])) + 1");
  CHECK(same("max((j, k), a[j, k])") == "max((j, k), a[j, k])");
  CHECK(same("max(a, b)") == "max(a, b)");
  CHECK(same("reduce(max, k, a[k])") == "reduce(max, k, a[k])");
  // No iname: the operand itself.
  CHECK(same("reduce(any, [], 5)") == "5");
}

TEST_CASE("casts") {
  CHECK(same("cast(float64, x)") == "cast(float64, x)");
  CHECK(same("cast(f4, x)") == "cast(float32, x)");
  CHECK(same("cast(np:dtype('float64'), x)") == "cast(float64, x)");
  CHECK(same("cast(\"int8\", x)") == "cast(int8, x)");
  CHECK(same("cse(a + b, \"tag\", \"name\")") == "a + b");
}

TEST_CASE("errors in expressions point at what is wrong") {
  CHECK(error("a +") == "4 syntax: found the end, expected an expression");
  CHECK(error("a + )") == "5 unbalanced: `)` closes nothing");
  CHECK(error("a b") == "3 syntax: found `b` after the expression");
  CHECK(error("(a, b)") ==
        "3 syntax: found `,`, expected `)`; a tuple is not allowed in an expression");
  CHECK(error("a[i") == "2 unbalanced: `[` is never closed");
  CHECK(error("a[i)") == "4 unbalanced: found `)` where `]` is needed");
  CHECK(error("a if b") ==
        "7 syntax: found the end, expected `else` of `value if condition else value`");
  CHECK(error("a && b") == "3 syntax: `&&` is written `and` here");
  CHECK(error("a || b") == "3 syntax: `||` is written `or` here");
  CHECK(error("!a") == "1 syntax: `!` is written `not` here");
  CHECK(error("and a") == "1 syntax: found `and`, expected an expression");
  CHECK(error("f(x=3)") ==
        "3 unsupported: found the argument `x=`; arguments have no names here, only an order");
  CHECK(error("cast(float63, x)") == "6 unknown-type: no type `float63`");
  CHECK(error("reduce(summ, k, a)") ==
        "8 unknown-reduction: no reduction `summ`; there are sum, product, min, max, any, all, "
        "argmin, argmax, segmented(sum), segmented(product), segmented(min), segmented(max)");
  CHECK(error("argmin(k, a[k])") ==
        "1 wrong-arg-count: a reduction by `argmin` takes 2 expressions, got 1");
  CHECK(error("sum((k, k), a[k])") == "5 duplicate-iname: the reduction names `k` twice");
  CHECK(error("reduce(argmin, [], 5, 4)") == "1 syntax: a reduction by `argmin` needs an iname");
  CHECK(error("9223372036854775808") ==
        "1 integer-overflow: the integer `9223372036854775808` exceeds int64, which literals are; "
        "`cast(uint64, -1)` is the largest uint64");
  CHECK(error("x + 0xfffffffffffffffff") ==
        "5 integer-overflow: the integer `0xfffffffffffffffff` exceeds int64, which literals are; "
        "`cast(uint64, -1)` is the largest uint64");
  CHECK(error("1e999") == "1 bad-number: the number `1e999` exceeds float64");
  CHECK(error("1e39f") == "1 bad-number: the number `1e39f` exceeds float32");
  CHECK(error("3x") == "1 bad-number: `3x` is not a number");
  CHECK(error("\"text\"") == "1 syntax: a string is not allowed in an expression");
  CHECK(error("\"text") == "1 unbalanced: the string is never closed");
  CHECK(error("a ` b") == "3 bad-character: unexpected character ```");
  CHECK(error("a \x01") == "3 bad-character: unexpected byte 0x01");
  CHECK(error("a + \xff") == "5 not-utf8: byte 0xff is not UTF-8 text");
  CHECK(error("f(x)[3") == "5 unbalanced: `[` is never closed");
  CHECK(error("2.5[3]") == "4 syntax: found `[` after the expression");
  CHECK(error("") == "1 syntax: found the end, expected an expression");
}

TEST_CASE("nesting is limited, width is not") {
  const auto times = [](const std::string& s, int n) {
    std::string out;
    for (int i = 0; i < n; ++i) out += s;
    return out;
  };
  CHECK_NOTHROW(parse_expression(times("(", 150) + "1" + times(")", 150)));
  for (const std::string& s :
       {times("(", 100000) + "1" + times(")", 100000), times("-", 100000) + "1",
        times("not ", 100000) + "1", times("1/", 100000) + "1", times("2**", 100000) + "1",
        times("1 if x else ", 100000) + "1", "a" + times(".b", 100000),
        times("a[", 100000) + "1" + times("]", 100000),
        times("f(", 100000) + "1" + times(")", 100000), times("a*b/", 100000) + "1"})
    CHECK(error(s).find("too-deep: the expression is nested more than 200 levels deep") !=
          std::string::npos);
  const Expr sum = parse_expression("0" + times(" + a[i]*2 - b", 100000));
  CHECK(sum.as<Nary>()->terms.size() == 200001);
}

TEST_CASE("spans cover what was written") {
  const Expr e = parse_expression("foo[i, j] + bar(x)*3");
  CHECK(e.at().col == 1);
  CHECK(e.at().len == 20);
  const Expr product = e.as<Nary>()->terms[1];
  CHECK(product.at().col == 13);
  CHECK(product.at().len == 8);
}

namespace {

/// Random expressions in all forms, for the round trip through text.
class Random {
 public:
  explicit Random(unsigned seed) : rng_(seed) {}
  Tag tag(int one_in) { return pick(one_in) != 0 ? Tag() : Tag("t"); }
  Expr expr(int depth) {
    const auto e = [&] { return expr(depth - 1); };
    switch (depth == 0 ? pick(6) : pick(18)) {
      case 0: return lit(pick(9) - 4);
      case 1: return Expr(FloatLit{pick(5) - 2.25, {}});
      case 2: return Expr(FloatLit{1.5, pick(2) ? Scalar::F32 : Scalar::F64});
      case 3: return Expr(Var{name(), tag(4)});
      case 4: return Expr(BoolLit{pick(2) == 1});
      case 5: return Expr(ComplexLit{0, 2.5, {}});
      case 6: return Expr(Load{"arr", {e(), e()}, {}, false});
      case 7: return Expr(Load{"arr", {e()}, {}, pick(2) == 1});
      case 8: return Expr(Unary{static_cast<UnaryOp>(pick(3)), e()});
      case 9: return Expr(Binary{static_cast<BinaryOp>(pick(6)), e(), e()});
      case 10:
      case 11: {
        const NaryOp op = static_cast<NaryOp>(pick(7));
        Expr first = e();
        while (first.as<Nary>() && first.as<Nary>()->op == op) first = e();
        return Expr(Nary{op, {first, e(), e()}});
      }
      case 12: return Expr(Compare{static_cast<CompareOp>(pick(6)), e(), lit(3)});
      case 13: return Expr(Select{e(), e(), e()});
      case 14: return Expr(Call{"fn", {e(), e()}, tag(2)});
      case 15: return Expr(Reduce{static_cast<ReduceOp>(pick(4)), {"k"}, {e()}, pick(2) == 1});
      case 16: return Expr(Cast{Type(Scalar::F32), Expr(Var{"x", {}})});
      default: return Expr(Field{Expr(Load{"rec", {e()}, {}, false}), "part"});
    }
  }

 private:
  int pick(int n) { return static_cast<int>(rng_() % static_cast<unsigned>(n)); }
  std::string name() { return std::string(1, static_cast<char>('a' + pick(5))); }
  std::mt19937 rng_;
};

}  // namespace

TEST_CASE("any expression prints to text that parses back to it") {
  for (unsigned seed = 0; seed < 3000; ++seed) {
    const Expr e = Random(seed).expr(4);
    const std::string text = to_string(e);
    CAPTURE(text);
    const Expr back = parse_expression(text);
    CHECK(to_string(back) == text);
    CHECK(equal(back, e));
  }
}
