// Calls of external functions.
#include "core/model/print.h"
#include "tests/codegen/kit.h"

using namespace moonloop;

namespace {

const char* const kReport = R"(
kernel report(n: in int32, x: inout float64[n])
domain {[i]: 0 <= i < n}
temp info: int32
temp seen: int32
external xerbla
info = 0
info = 3                                               {if=n < 10}
info, seen = xerbla("RE\"PORT", info, 2*n, 1.5)       {if=info > 0}
x[i] = 1                                               {if=info == 0}
)";

}  // namespace

TEST_CASE("external calls: by addresses, as Fortran calls") {
  CHECK_GOLDEN("external.c", code(kReport, Target::C));
  const Kernel k = kernel(kReport);
  CHECK(print_kernel(kernel(print_kernel(k))) == print_kernel(k));
  CHECK(generate(k, Target::C).externals == std::vector<std::string>{"xerbla_"});
}

TEST_CASE("external calls: arrays by their addresses, and values") {
  const char* const text = R"(
kernel solve(n: in int32, m: in int32, x: in float64[n], y: inout float64[n, m] order=F,
             z: inout complex64[m], s: out float64)
domain {[j]: 0 <= j < m}
domain {[i]: 0 <= i < n}
temp t: float64[n]
temp outside: int32
external dcopy, ddot: float64, ztake
t, outside = dcopy(n, address(x), 1, address(t), 1)                {id=copy}
s, outside = ddot(n, address(t), 1, address(y[0, j]), 1)           {id=dot}
y[i, j] = s*t[i]                                                   {id=scale}
y, z, outside = ztake(address(y[1, j]), address(z))                {id=take}
)";
  CHECK_GOLDEN("external_arrays.c", code(text, Target::C));
  const Kernel k = kernel(text);
  CHECK(print_kernel(kernel(print_kernel(k))) == print_kernel(k));
}

TEST_CASE("external calls: pointers to several types") {
  const char* const text = R"(
kernel both(n: in int32, x: inout float64[n], k: inout int32[n])
temp outside: int32
external gather
x, outside = gather(address(x), n)
k, outside = gather(address(k), n)
)";
  const std::string one = "void gather_(void *, int32_t *);";
  CHECK(generate(kernel(text), Target::C).source.find(one) != std::string::npos);
  std::vector<Pieces> pieces;
  for (const char* type : {"float64", "int32"})
    pieces.push_back(
        generate(kernel("kernel " + std::string(type) + "_sum(n: in int32, x: inout " + type +
                        "[n])\ntemp outside: int32\nexternal gather\n"
                        "x, outside = gather(address(x), n)\n"),
                 Target::C)
            .pieces);
  const std::string unit = text_of(pieces);
  CHECK(unit.find(one) != std::string::npos);
  CHECK(unit.find("gather_(") == unit.find("gather_(void"));
}

TEST_CASE("external calls: letters in arrays, with how many they are") {
  const Kernel k = kernel(R"(
kernel title(n: in int32, name: inout int8[n])
temp outside: int32
external put
name, outside = put(address(name), length(n), "is", 3, address(name[1]), length(n - 1))
)");
  CHECK(print_kernel(kernel(print_kernel(k))) == print_kernel(k));
  const std::string text = generate(k, Target::C).source;
  CHECK(
      text.find("void put_(char *, char const *, int32_t *, char *, size_t, size_t,") !=
      std::string::npos);
  CHECK(text.find(
            "(char *)&name[0], \"is\", &argument, (char *)&name[1], n, 2, n - 1)") !=
        std::string::npos);
}

TEST_CASE("external calls: refused where they cannot be") {
  const auto why = [](const std::string& statement, Target target = Target::C) {
    std::string text = kReport;
    text.insert(text.find("x[i] = 1"), statement + "\n");
    const Diagnostic d = refusal(text, target);
    return d.code + ": " + d.text;
  };
  CHECK(
      why("", Target::OpenCL) ==
      "unsupported: instruction `insn_1`: target `opencl` cannot call `xerbla`, which is external");
  CHECK(why("info, seen = xerbla(info)") ==
        "unsupported: two calls of `xerbla` have arguments of different types");
  for (const char* statement : {"xerbla(n)", "x[i] = 2*xerbla(n)"})
    CHECK(why(statement) ==
          "bad-operand: `xerbla` is external: its call is a statement of its own, as in `a, b = "
          "xerbla(a, 1)`, "
          "with what it may change on the left");
  CHECK(why("x[i] = sin(\"a\")") ==
        "bad-operand: a text is allowed only among the arguments of an external function");
  CHECK(why("x[i] = xerbla(n)") ==
        "bad-operand: `xerbla` cannot change `x[i]`, which is not among its arguments");
  CHECK(why("x[i] = address(x)") ==
        "bad-operand: an address, as `address(a)` or `address(a[i])`, is allowed only among the "
        "arguments of an external function");
  CHECK(why("info = xerbla(address(n))") == "bad-operand: `n` is not an array that can be passed");
  CHECK(why("info = xerbla(address(x[i, 0]))").find("rank-mismatch: ") == 0);
  const std::string lonely = "bad-operand: `length(n)` follows no address of an array of int8";
  CHECK(why("info = xerbla(length(n))") == lonely);
  CHECK(why("info = xerbla(address(x), length(n))") == lonely);
  CHECK(why("x[i] = length(n)") ==
        "bad-operand: `length(n)` is allowed only after an address among the arguments of an "
        "external function");
  CHECK(why("external g: float64\nx = g(address(x))") ==
        "bad-operand: `x` is an array and needs a subscript here");
  CHECK(why("external g: float63").find("unknown-type: ") == 0);
  CHECK(why("external sin") == "name-taken: `sin` is a function of the language");
  CHECK(why("info, seen = other(n)").find("unknown-function: no function or rule `other`") == 0);
}
