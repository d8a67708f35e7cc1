#include "tests/codegen/kit.h"

using namespace moonloop;

TEST_CASE("temporaries: declared where they are first written, constant where they stay") {
  CHECK_GOLDEN("scalars.c", code(R"(
kernel scalars(n: int32, a: float64[n], b: float64[n])
domain {[i]: 0 <= i < n}
<> once = 2*a[i] {inames=i}
<> twice = once + 1 {inames=i}
twice = 3*twice {inames=i}
b[i] = twice
)",
                                 Target::C));
}

TEST_CASE("temporaries: a table's values stand as its axes do in memory") {
  const auto table = [](const std::string& order) {
    return code(
        "kernel f(a: int32[2, 3])\ndomain {[i, j]: 0 <= i < 2 and 0 <= j < 3}\n"
        "temp t: int32[2, 3] " +
            order + " read_only init=(1, 2, 3, 4, 5, 6)\na[i, j] = t[i, j]\n",
        Target::C);
  };
  CHECK(table("order=F").find("t[6] = {1, 4, 2, 5, 3, 6};") != std::string::npos);
  CHECK(table("").find("{{1, 2, 3}, {4, 5, 6}};") != std::string::npos);
}

TEST_CASE("temporaries: a value that passes from iteration to iteration lives outside the loop") {
  CHECK_GOLDEN("carried.c", code(R"(
kernel prefix(n: int32, a: float64[n], b: float64[n])
domain {[i]: 0 <= i < n}
<> total = 0 {id=start, inames=}
total = total + a[i] {id=add, dep=start, inames=i}
b[i] = total {dep=add}
)",
                                 Target::C));
}

TEST_CASE("temporaries: set under a condition, in the loop where that stays") {
  const auto declared = [](const std::string& before, const std::string& condition,
                           const std::string& between) {
    const std::string text =
        function(code("kernel f(n: int32, c: int32[n], a: float64[n], b: float64[n])\n"
                      "domain {[i]: 0 <= i < n}\ntemp t: float64\nfor i\n" +
                          before + "if " + condition + "\n t = a[i]\nend\n" + between + "if " +
                          condition + "\n b[i] = t\nend\nend\n",
                      Target::C));
    return text.find("double t;") < text.find("for (") ? "outside" : "inside";
  };
  CHECK(declared("", "c[i] > 0", "") == std::string("inside"));
  CHECK(declared("", "c[i] > 0", "c[i] = 1\n") == std::string("outside"));
  CHECK(declared("<> p = c[i]\n", "p > 0", "") == std::string("inside"));
  CHECK(declared("<> p = c[i]\n", "p > 0", "p = 1\n") == std::string("outside"));
}

TEST_CASE("temporaries: arrays of truth values on the heap are as wide as an int32") {
  const auto all = [](const std::string& n) {
    return code("kernel f(n: int32, c: int32[" + n + "], b: float64[" + n +
                    "])\ndomain {[i]: 0 <= i < " + n + "}\ndomain {[j]: 0 <= j < " + n +
                    "}\ntemp t: bool[" + n +
                    "]\nfor i\n t[i] = c[i]\nend\nfor j\n if t[j]\n  b[j] = 0\n end\nend\n",
                Target::C);
  };
  const std::string heap = all("n"), stack = all("8");
  CAPTURE(heap);
  CHECK(heap.find("int32_t *t = allocate(sizeof(int32_t)*n);") != std::string::npos);
  CHECK(heap.find("t[i] = c[i] != 0;") != std::string::npos);  // 2 is as true as 1
  CAPTURE(stack);
  CHECK(stack.find("bool t[8];") != std::string::npos);
}

TEST_CASE("temporaries: arrays of constant size on the stack, others from the heap") {
  CHECK_GOLDEN("heap.c", code(R"(
kernel heap(n: int32, a: float64[n], b: float64[n])
domain {[i, j]: 0 <= i, j < n}
<> t[i] = 2*a[i]
b[j] = t[n - 1 - j]
)",
                              Target::C));
  CHECK_GOLDEN("stack.c", code(R"(
kernel stack(a: float64[8, 8])
domain {[i, j, k, l]: 0 <= i, j, k, l < 8}
<> t[i, j] = 2*a[i, j]
a[k, l] = t[l, k]
)",
                               Target::C));
}

TEST_CASE("temporaries: each iteration of a parallel loop has its own array") {
  CHECK_GOLDEN("private_array.c", code(R"(
kernel rows(n: int32, a: float64[n, 8])
domain {[i, j, k]: 0 <= i < n and 0 <= j, k < 8}
<> row[j] = a[i, j] {inames=i:j}
a[i, k] = row[7 - k]
)",
                                       Target::OpenMP, {{"i", "par"}}));
}

TEST_CASE("temporaries: what a subscript tells apart lives outside of the parallel loop") {
  const auto declared = [](const std::string& subscript, const std::string& other) {
    const std::string text = code(fmt::format(R"(
kernel k(n: int32, a: float64[n], b: float64[n])
domain {{[i]: 0 <= i < n}}
temp t: float64[n + 4]
t[{0}] = a[i]        {{id=w, inames=i}}
t[{1}] = 2*a[i]      {{id=v, inames=i, dep=w}}
b[i] = t[{0}]        {{id=r, inames=i, dep=v}}
)",
                                              subscript, other),
                                  Target::OpenMP, {{"i", "par"}});
    return text.find("t[") < text.find("#pragma") || text.find("*t =") < text.find("#pragma")
               ? "outside"
               : "inside";
  };
  CHECK(declared("i", "i") == std::string("outside"));
  CHECK(declared("n - 1 - i", "n - 1 - i") == std::string("outside"));
  for (const char* shared : {"i % 4", "i // 2"})
    CHECK(declared(shared, shared) == std::string("inside"));
  CHECK(declared("i", "i + 1") == std::string("inside"));  // the next one uses it too
}

TEST_CASE("reductions: two values, neutral elements") {
  CHECK_GOLDEN("argmin.c", code(R"(
kernel where(n: int32, a: float64[n], r: float64[1], q: int32[1])
domain {[i]: 0 <= i < n}
r[0], q[0] = argmin(i, a[i], i)
)",
                                Target::C));
}

TEST_CASE("reductions: several in one instruction, nested in larger expressions") {
  CHECK_GOLDEN("several_reductions.c", code(R"(
kernel several(n: int32, a: float32[n, n], r: float32[n])
domain {[i, j, k, l]: 0 <= i, j, k, l < n}
r[i] = 2*sum(j, a[i, j]) - max(k, a[k, i]*sum(l, a[k, l]))
)",
                                            Target::C));
}

TEST_CASE("reductions: a condition holds for all of it") {
  CHECK_GOLDEN("guarded_reduction.c", code(R"(
kernel guarded(n: int32, a: float64[n, n], r: float64[n])
domain {[i, j]: 0 <= i, j < n}
if i > 3
  r[i] = sum(j, a[i, j])
end
)",
                                           Target::C));
}

TEST_CASE("storage: copies for lanes lie as the loops over them nest, vec inside") {
  const std::string text = R"(
kernel rows(n: int32, a: float64[n, 4], c: float64[4, 16])
domain {[i, j]: 0 <= i < 4 and 0 <= j < 16}
domain {[k]: 0 <= k < n}
c[i, j] = sum(k, a[k, i]*j)
)";
  const auto extents = [&](const Tags& tags) {
    const std::string c = code(text, Target::OpenMP, tags);
    const std::size_t at = c.find("double acc_k[");
    return at == std::string::npos ? c : c.substr(at + 7, c.find(';', at) - at - 7);
  };
  CHECK(extents({{"i", "ilp"}, {"j", "vec"}}) == "acc_k[4][16]");
  CHECK(extents({{"i", "vec"}, {"j", "ilp"}}) == "acc_k[16][4]");
}

TEST_CASE("storage: a record of which an iteration writes some fields keeps the others") {
  // Found by the differential test: each iteration had a record of its own.
  const std::string c = code(R"(
record pair(x: float32, y: float32)
kernel rows(n: int32, r: in pair[n], s: out pair[n])
domain {[i]: 0 <= i < n}
temp t: pair
t.x = 2*r[i].x   {id=x}
t.y = 2*r[i].y   {id=y, if=i == 0}
s[i] = t         {id=s}
)",
                             Target::C);
  CHECK(c.find("  pair t;\n  for (") != std::string::npos);
}
