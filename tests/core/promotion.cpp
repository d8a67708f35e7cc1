// The rules of promotion for sums, literals, comparisons and shifts.
#include "core/infer/promotion.h"

#include "core/infer/infer.h"
#include "core/infer/typing.h"
#include "core/model/print.h"
#include "tests/core/semantics_kit.h"

using namespace moonloop;

namespace {

/// A kernel that stores `e`, made of arrays with one letter's names.
Kernel storing(const std::string& e, const std::string& type = "") {
  return infer_types(
      parsed("kernel f(b: bool[8], u: uint8[8], v: uint32[8], w: uint64[8], s: int8[8], "
             "i: int32[8], l: int64[8], h: float16[8], x: float32[8], y: float64[8], r: out " +
             type + "[8])\ndomain {[n]: 0 <= n < 8}\nr[n] = " + e + "\n"));
}
std::string type_of_text(const std::string& e) {
  const Kernel k = storing(e);
  return type_of(k, k.instructions[0]->rhs).str();
}
std::string again(const std::string& e) { return to_string(storing(e).instructions[0]->rhs); }

}  // namespace

TEST_CASE("promotion: what is subtracted is converted, what is negated is not") {
  CHECK(type_of_text("w[n] - b[n]") == "uint64");
  CHECK(type_of_text("w[n] + (-b[n])") == "float64");
  CHECK(type_of_text("l[n] - v[n]") == "int64");
  CHECK(type_of_text("-u[n]") == "uint8");
  CHECK(type_of_text("-b[n]") == "int32");
  CHECK(type_of_text("b[n] - b[n]") == "int32");
}

TEST_CASE("promotion: a difference and a sum with a negative print and parse apart") {
  for (const char* e : {"y[n] - u[n]", "y[n] + (-u[n])", "-u[n] + y[n]", "y[n] - u[n] + (-b[n])",
                        "y[n] - (-u[n])", "y[n] - 5", "y[n]*(-u[n])"}) {
    CHECK(again(again(e)) == again(e));
  }
  CHECK(again("y[n] - u[n]") == "y[n] - u[n]");
  CHECK(again("y[n] + -u[n]") == "y[n] + (-u[n])");
  const auto rhs = [](const char* e) { return storing(e).instructions[0]->rhs; };
  CHECK_FALSE(equal(rhs("y[n] - u[n]"), rhs("y[n] + (-u[n])")));
  CHECK(equal(rhs("y[n] - 5"), rhs("y[n] + -5")));
}

TEST_CASE("promotion: each step of a sum has its own type") {
  const Kernel k = storing("s[n] + s[n] + x[n] + w[n]");
  const auto c = Typer(k).computation(k.instructions[0]->rhs);
  std::vector<std::string> steps;
  for (const Type& t : c->operands) steps.push_back(t.str());
  CHECK(steps == std::vector<std::string>{"int8", "int8", "float32", "float64"});
  CHECK(c->result.str() == "float64");
}

TEST_CASE("promotion: a negative literal wraps in sums and bits alone") {
  CHECK(type_of_text("v[n] + -1") == "uint32");
  CHECK(type_of_text("v[n] & -2") == "uint32");
  CHECK(type_of_text("max(v[n], -1)") == "int64");
  CHECK(type_of_text("v[n] // -1") == "int64");
  CHECK(type_of_text("v[n] if n < 2 else -1") == "int64");
}

TEST_CASE("promotion: bits of bools are bools") {
  CHECK(type_of_text("~b[n]") == "bool");
  CHECK(type_of_text("b[n] & b[n]") == "bool");
  CHECK(type_of_text("b[n] | b[n] | i[n]") == "int32");
}

TEST_CASE("promotion: integers without a common type are refused where bits are moved") {
  const auto error = [](const char* e) {
    try {
      storing(e);
    } catch (const Error& err) {
      return err.diagnostic().text + " [" + err.diagnostic().code + "]";
    }
    return std::string();
  };
  CHECK(error("l[n] << w[n]") ==
        "int64 and uint64 have no common integer type for `<<` in `l[n] << w[n]`; cast one of them "
        "[bad-operand]");
  CHECK(error("w[n] & l[n]") ==
        "uint64 and int64 have no common integer type for `&` in `w[n] & l[n]`; cast one of them "
        "[bad-operand]");
  CHECK(error("w[n] & l[n] & x[n]") ==
        "`x[n]` of type float32 cannot be an operand of `&` [bad-operand]");
  CHECK(error("l[n] << cast(int64, w[n])").empty());
  CHECK(error("w[n] & 7 << l[n]").ends_with("[bad-operand]"));
  CHECK(error("(w[n] & 7) + l[n] // 2").empty());
}
