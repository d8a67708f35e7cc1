#include "core/order/check_kernel.h"
#include "tests/core/semantics_kit.h"

using namespace kit;

namespace {

Kernel shaped(const std::string& text) { return infer_shapes(infer_types(parsed(text))); }

}  // namespace

TEST_CASE("shapes: the exact footprint, over parameters") {
  const Kernel k = shaped(R"(
kernel f(n: int32, m: int32, u: float64, a: float64[n,m], out)
domain {[i,j]: 0 <= i < n and 0 <= j < m}
out[i+1, 2*j] = a[i, j]
)");
  CHECK(shape_in(k, "out") == "n + 1, 2*m - 1");
}

TEST_CASE("shapes: the union of all accesses") {
  const Kernel k = shaped(R"(
kernel f(n: int32, x: float64[n+17], y)
domain {[i]: 0 <= i < n}
assume n >= 1
y[i] = x[i]
y[i+16] = x[i]
y[3] = x[i]
)");
  CHECK(shape_in(k, "y") == "n + 16");
}

TEST_CASE("shapes: two parameters give a maximum") {
  const Kernel k = shaped(R"(
kernel f(n: int32, m: int32, x: float64[n], y)
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j < m}
y[i] = x[i]
y[j] = 1.0
)");
  CHECK(shape_in(k, "y") == "max(m, n)");
}

TEST_CASE("shapes: triangles, guards and conditions narrow") {
  const Kernel k = shaped(R"(
kernel f(n: int32, x: float64[n], lower, odd, part)
domain {[i,j]: 0 <= j < i < n}
assume n >= 10
lower[j] = x[i]
if i < 5
  part[i] = x[j]
end
odd[j] = x[i - 1] if j < 7 else 0.0
)");
  CHECK(shape_in(k, "lower") == "n - 1");
  CHECK(shape_in(k, "part") == "5");
}

TEST_CASE("shapes: temporaries, scalars and arrays without axes") {
  const Kernel k = shaped(R"(
kernel f(n: int32, x: float64[n], y: float64[n])
domain {[i,j]: 0 <= i < n and 0 <= j < 4}
<>buf[j] = x[i]
<>s = 2*buf[0]
y[i] = s
)");
  CHECK(shape_in(k, "buf") == "4");
  CHECK(shape_in(k, "s") == "");
}

TEST_CASE("shapes: what cannot be inferred") {
  const auto shaping = [](const std::string& text) { return failure([&] { shaped(text); }); };
  CHECK(shaping("kernel f(n: int32, x: float64[n], map: int32[n], y)\ndomain {[i]: 0 <= i < n}\n"
                "y[map[i]] = x[i]\n") ==
        "no shape is declared for `y`, and subscript `map[i]` of `y[map[i]]` is not affine "
        "[unknown-shape]; declare it, as in `y: float64[n]`");
  CHECK(shaping("kernel f(n: int32, x: float64[n], y)\ndomain {[i]: 0 <= i < n}\n"
                "y[i - 1] = x[i]\n") == "`y[i - 1]` reaches index -1 of axis 0 [negative-index]");
  CHECK(failure([] {
          complete(
              parsed("kernel f(n: int32, x: float64[n], y: float64[n])\n"
                     "domain {[i]: 0 <= i < n}\ny[i, 0] = x[i]\n"));
        }) == "`y[i, 0]` has 2 subscripts, but `y` has 1 axis [rank-mismatch]");
  CHECK(shaping("kernel f(n: int32, x: float64[n], y)\ndomain {[i]: 0 <= i < n}\n"
                "y[i, 0] = x[i]\ny[i] = x[i]\n") ==
        "`y` is used with 1 subscript here and with 2 before [rank-mismatch]");
}

TEST_CASE("shapes: ten thousand alike statements cost isl once") {
  Kernel k =
      parsed("kernel f(n: int32, x: float32[n], y)\ndomain {[i]: 0 <= i < n}\ny[i+1] = x[i]\n");
  for (int i = 1; i < 10000; ++i)
    k.instructions.push_back(
        edit(k.instructions[0], [&](Instruction& s) { s.id = "s" + std::to_string(i); }));
  CHECK(shape_in(complete(k), "y") == "n + 1");
}
