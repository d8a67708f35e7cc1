// Matrix products and copies ahead of loops among Loo.py's own tests, done by Moonloop: each on C,
// OpenMP and the device, against the interpreter.
#include "tests/runtime/loopy_kit.h"

using namespace moonloop;
using namespace moonloop::test;

namespace {

const char* const kProduct = R"(
kernel product(n: int32, m: int32, l: int32, a: float64[n, m], b: float64[m, l],
               c: out float64[n, l])
domain {[i, j, k]: 0 <= i < n and 0 <= j < l and 0 <= k < m}
assume n >= 1 and m >= 1 and l >= 1
c[i, j] = sum(k, a[i, k]*b[k, j])
)";

ValueDict outside(const std::string& inames) {
  return with(kShared, "fetch_outer_inames", word(inames));
}

}  // namespace

TEST_CASE("as in Loo.py: a product whose work-items have four elements each") {
  const Kernel original = parsed(kProduct);
  Kernel k = split(original, "i", 8, "g.0", "");
  k = split(k, "i_inner", 2, "l.0", "ilp");
  k = split(k, "j", 8, "g.1", "");
  k = split(k, "j_inner", 2, "l.1", "ilp");
  k = split(k, "k", 4, "", "");
  SUBCASE("one factor in the memory of the group") {
    k = prefetch(k, "a", "k_inner, i_inner_inner, i_inner_outer",
                 outside("i_outer, j_outer, k_outer"));
  }
  SUBCASE("both factors, in any order of the loops") {
    k = prefetch(k, "a", "i_inner_inner, k_inner, i_inner_outer",
                 outside("i_outer, j_outer, k_outer"));
    k = prefetch(k, "b", "j_inner_inner, k_inner, j_inner_outer",
                 outside("i_outer, j_outer, k_outer"));
  }
  run_everywhere(k, original, {{"n", "11"}, {"m", "9"}, {"l", "17"}});
  run_everywhere(k, original, {{"n", "16"}, {"m", "8"}, {"l", "8"}});
}

TEST_CASE("as in Loo.py: a product of factors that are rules first") {
  const Kernel original = parsed(kProduct);
  Kernel k = split(original, "i", 8, "g.0", "l.1");
  k = split(split(k, "j", 4, "g.1", "l.0"), "k", 16, "", "");
  k = step(k, "extract_subst", {word("a_at"), word("a[p, q]"), word("p, q")});
  k = step(k, "extract_subst", {word("b_at"), word("b[p, q]"), word("p, q")});
  const ValueDict outer =
      with(kShared, "precompute_outer_inames", word("i_outer, j_outer, k_outer"));
  k = precompute(k, "a_at", "k_inner, i_inner", outer);
  k = precompute(k, "b_at", "j_inner, k_inner", outer);
  run_everywhere(k, original, {{"n", "10"}, {"m", "22"}, {"l", "34"}});
  run_everywhere(k, original, {{"n", "1"}, {"m", "1"}, {"l", "1"}});
}

TEST_CASE("as in Loo.py: copies of rectangular tiles, whose loops are split by hand") {
  const Kernel original = fix(parsed(kProduct), {{"n", 24}, {"l", 24}, {"m", 16}});
  Kernel k = split(original, "i", 4, "g.0", "l.0");
  k = split(split(k, "j", 7, "g.1", "l.1"), "k", 5, "", "");
  const auto copied = [&](const char* array, const char* sweep, const char* loops) {
    k = step(k, "add_prefetch", {word(array), word(sweep), word(loops)},
             {{"temporary_address_space", word("local")},
              {"fetch_outer_inames", word("i_outer, j_outer, k_outer")},
              {"default_tag", Value{false}}});
  };
  copied("a", "i_inner, k_inner", "a_row, a_column");
  copied("b", "k_inner, j_inner", "b_row, b_column");
  k = split(split(k, "a_column", 4, "", "l.0"), "a_row", 7, "", "l.1");
  k = split(split(k, "b_column", 4, "", "l.0"), "b_row", 7, "", "l.1");
  run_everywhere(k, original, {});
}

TEST_CASE("as in Loo.py: a product of three arrays, one index of which is no one's") {
  const Kernel original = parsed(R"(
kernel triple(n: int32, a: float64[n, n], b: float64[n, n], c: float64[n, n],
              out: out float64[n, n, n], diagonal: out float64[n], turned: out float64[n, n])
domain {[i, j, k, m]: 0 <= i, j, k, m < n}
out[i, j, k] = sum(m, a[i, m]*b[m, j]*c[k, m])
diagonal[i] = a[i, i]
turned[j, i] = a[i, j]
)");
  Kernel k = split(split(original, "i", 4, "g.0", "l.0"), "j", 4, "g.1", "l.1");
  run_everywhere(k, original, {{"n", "6"}});
  k = prefetch(fix(k, {{"n", 6}}), "c[k, :]", "", kSequential);
  run_everywhere(k, fix(original, {{"n", 6}}), {});
}

TEST_CASE("as in Loo.py: a table of any size is copied as a whole") {
  const Kernel original = parsed(R"(
kernel rows(n: int32, a: float64[n, n], out: out float64[n])
domain {[i, j]: 0 <= i, j < n}
out[i] = sum(j, a[i, j])
)");
  const Kernel k = prefetch(original, "a[:, :]", "", {{"default_tag", Value{false}}});
  for (const Target t : {Target::C, Target::OpenMP}) run_on(t, k, original, {{"n", "13"}});
  const Kernel shared =
      prefetch(original, "a[:, :]", "",
               {{"default_tag", Value{false}}, {"temporary_address_space", word("global")}});
  run_everywhere(shared, original, {{"n", "13"}});
}

TEST_CASE("as in Loo.py: a convolution around a point that is not zero") {
  const Kernel original = fix(parsed(R"(
kernel convolve(images: int32, features: int32, w: int32, h: int32, r: int32, colors: int32,
                f: float32[features, 2*r + 1, 2*r + 1, colors], img: float32[images, w, h, colors],
                out: float32[images, features, w - 2*r, h - 2*r])
domain {[m, t, c, x, y, p, q]: -r <= p, q <= r and r <= x < w - r and r <= y < h - r and
                               0 <= m < images and 0 <= t < features and 0 <= c < colors}
assume r >= 1 and w >= 2*r + 1 and h >= 2*r + 1 and features >= 1 and images >= 0
out[m, t, x - r, y - r] = sum((p, q, c), img[m, x - p, y - q, c]*f[t, r + p, r + q, c])
)"),
                              {{"colors", 3}});
  const GivenValues sizes{{"images", "2"}, {"features", "2"}, {"w", "13"}, {"h", "11"}, {"r", "2"}};
  run_everywhere(prioritize(original, "m, x, y, t, p, q"), original, sizes);
  Kernel k = prioritize(split(original, "x", 4, "", "l.0"), "m, x_outer, y, t, p, q");
  run_everywhere(k, original, sizes);
  k = fix(split(split(original, "x", 4, "g.0", "l.0"), "y", 4, "g.1", "l.1"), {{"r", 2}});
  k = prefetch(k, "img", "x_inner, y_inner, p, q", outside("m, x_outer, y_outer, t, c"));
  run_everywhere(k, fix(original, {{"r", 2}}),
                 {{"images", "2"}, {"features", "2"}, {"w", "13"}, {"h", "11"}});
}

TEST_CASE("as in Loo.py: a rule whose parameter has the name of a loop around its use") {
  const Kernel original = parsed(R"(
kernel names(n: int32, a: float32[n + 5], b: float32[n, 5])
domain {[i, j]: 0 <= i < n and 0 <= j < 5}
D(i) := a[i + 1] - a[i]
b[i, j] = D(j)
)");
  Kernel k = split(original, "i", 16, "g.0", "l.0");
  k = precompute(k, "D", "j", {{"precompute_outer_inames", word("i_inner, i_outer")}});
  run_everywhere(k, original, {{"n", "45"}});
}

TEST_CASE("as in Loo.py: a rule within a rule is computed for the loops of the copy") {
  const Kernel original = parsed(R"(
kernel nested(n: int32, a: float32[n], b: float32[n])
domain {[i]: 0 <= i < n}
E := a[i]
D := E*E
b[i] = D
)");
  Kernel k = split(original, "i", 16, "g.0", "l.0");
  k = precompute(k, "D", "i_inner", kShared);
  run_everywhere(k, original, {{"n", "45"}});
  const Kernel chain = parsed(R"(
kernel chain(f: out int32[10])
domain {[i]: 0 <= i < 10}
a(x) := 2*x
b(x) := x**2
c(x) := 7*x
f[i] = c(b(a(i)))
)");
  const Kernel expanded = step(chain, "expand_subst", {});
  CHECK(expanded.rules.empty());
  const auto f = values<std::int32_t>(run_everywhere(expanded, chain, {}), "f");
  for (int i = 0; i < 10; ++i) CHECK(f[i] == 28 * i * i);
}

TEST_CASE("as in Loo.py: the loops that copy a tile become one") {
  const Kernel original = parsed(R"(
kernel twice(a: float32[16, 16], b: float32[16, 16])
domain {[i, j]: 0 <= i, j < 16}
b[i, j] = 2*a[i, j]
)");
  Kernel k = prefetch(original, "a", "i, j", {{"default_tag", Value{false}}});
  k = step(k, "join_inames", {names({"a_dim_0", "a_dim_1"})});
  run_everywhere(k, original, {});
  k = tag(original, "i:l.0");
  k = prefetch(k, "a", "i, j", {{"default_tag", Value{false}}});
  k = step(k, "join_inames", {names({"a_dim_0", "a_dim_1"}), word("at")});
  k = split(k, "at", 16, "", "l.0");
  run_everywhere(k, original, {});
}

TEST_CASE("as in Loo.py: two loops keep their copies in one temporary, one after the other") {
  const Kernel original = parsed(R"(
kernel both(n: int32, A: float64[10], x0: float64[n, 10], x1: float64[n, 10], y0: float64[n],
            y1: float64[n])
domain {[i0, i1, j0, j1]: 0 <= i0, i1 < n and 0 <= j0, j1 < 10}
y0[i0] = sum(j0, A[j0]*x0[i0, j0])
y1[i1] = sum(j1, A[j1]*x1[i1, j1])
)");
  Kernel k = original;
  const auto copied = [&](const char* sweep, const char* within, const char* id) {
    k = prefetch(k, "A", sweep,
                 {{"within", word(within)},
                  {"temporary_name", word("A_copy")},
                  {"prefetch_insn_id", word(id)}});
  };
  copied("j0", "iname:i0", "first");
  copied("j1", "iname:i1", "second");
  k = step(k, "add_dependency", {word("writes:y1"), word("id:second or id:first")});
  run_everywhere(k, original, {{"n", "23"}});
}

TEST_CASE("as in Loo.py: temporaries of three rules share memory of a group") {
  const Kernel original = parsed(R"(
kernel three(n: int32, a: float32[n], x: float32[n], y: float32[n], z: float32[n])
domain {[i]: 0 <= i < n}
times2(i) := 2*a[i]
times3(i) := 3*a[i]
times4(i) := 4*a[i]
x[i] = times2(i)
y[i] = times3(i)
z[i] = times4(i)
)");
  Kernel k = split(original, "i", 16, "g.0", "l.0");
  std::vector<std::string> copies;
  for (const char* rule : {"times2", "times3", "times4"}) {
    k = precompute(k, rule, "i_inner", kShared);
    copies.push_back(std::string(rule) + "_0");
  }
  SUBCASE("computed where they are used") { k = step(k, "alias_temporaries", {names(copies)}); }
  SUBCASE("apart") {}
  run_everywhere(k, original, {{"n", "30"}});
}

TEST_CASE("as in Loo.py: a copy of what is read after a barrier of all groups") {
  const Kernel original = parsed(R"(
kernel parts(A: float64[100], x: float64[10], out0: out float64[100], out1: out float64[100])
domain {[i0, j0]: 0 <= i0 < 100 and 0 <= j0 < 10}
domain {[i1, j1]: 0 <= i1 < 100 and 0 <= j1 < 10}
out0[i0] = sum(j0, A[i0]*x[j0])  {id=one}
... gbarrier                     {id=all, dep=one}
out1[i1] = sum(j1, A[i1]*x[j1])  {id=two, dep=all}
)");
  Kernel k = original;
  SUBCASE("as a whole") {
    k = prefetch(k, "x", "j1",
                 {{"within", word("writes:out1")}, {"prefetch_insn_id", word("fetch")}});
  }
  SUBCASE("by groups") {
    k = split(split(k, "i0", 8, "g.0", "l.0"), "i1", 8, "g.0", "l.0");
    k = prefetch(k, "x", "j1", with(kShared, "within", word("writes:out1")));
  }
  SUBCASE("a buffer in front of the barrier") {
    k = split(split(k, "j0", 2, "", ""), "i0", 2, "g.0", "");
    k = step(k, "buffer_array", {word("out0"), word("i0_inner")},
             {{"within", word("writes:out0")}, {"default_tag", word("for")}});
  }
  run_everywhere(k, original, {});
}

TEST_CASE("as in Loo.py: a scalar of all instances, and one of each, on axes they do not have") {
  const Kernel original = parsed(R"(
kernel outer(n: int32, a: float32[n], b: float32[n], c: float32[n, n])
domain {[i, j]: 0 <= i, j < n}
assume n >= 8
<> alpha = 2.0
for i, j
  c[i, j] = alpha*a[i]*b[j]
end
)");
  Kernel k = split(split(original, "i", 8, "g.0", "l.0"), "j", 8, "g.1", "l.1");
  k = prefetch(prefetch(k, "a", ""), "b", "");
  run_everywhere(k, original, {{"n", "19"}});
}

TEST_CASE("as in Loo.py: a prefetch by a template that holds a loop of its place") {
  const Kernel original = parsed(R"(
kernel cubes(x: float64[20, 5, 5], y: float64[20, 5, 5])
domain {[i, j, k]: 0 <= i < 20 and 0 <= j, k < 5}
y[i, j, k] = x[i, j, k]
)");
  Kernel k = step(original, "extract_subst", {word("at"), word("x[i, p, q]"), word("p, q")});
  run_everywhere(k, original, {});
  k = precompute(k, "at", "j, k", kSequential);
  run_everywhere(k, original, {});
  run_everywhere(tag(k, "i:g.0"), original, {});
}
