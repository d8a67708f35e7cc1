// Applications among Loo.py's own tests, done by Moonloop: each on C, OpenMP and the device,
// against the interpreter.
#include "tests/runtime/loopy_kit.h"
#include "transforms/fuse_kernels.h"

using namespace moonloop;
using namespace moonloop::test;

TEST_CASE("as in Loo.py: the potential of particles, by tiles of sources") {
  const Kernel original = parsed(R"(
kernel nbody(n: int32, x: float64[n, 3], pot: out float64[n])
domain {[i, j, k]: 0 <= i, j < n and 0 <= k < 3}
assume n >= 1
apart(axis) := x[i, axis] - x[j, axis]
inverse := rsqrt(sum(k, apart(k)**2))
pot[i] = sum(j, if(i != j, inverse, 0))
)");
  const ValueDict slabs{{"slabs", pair_of(0, 1)}};
  Kernel k = original;
  SUBCASE("the last tiles apart") {
    k = split(split(k, "i", 8, "g.0", "l.0", slabs), "j", 8, "", "", slabs);
  }
  SUBCASE("a target in the memory of each thread") {
    k = split(step(k, "expand_subst", {}), "i", 8, "g.0", "", slabs);
    k = prefetch(k, "x[i, k]", "k", {{"default_tag", Value{false}}});
  }
  SUBCASE("sources in the memory of a group") {
    k = split(split(step(k, "expand_subst", {}), "i", 8, "g.0", "l.0"), "j", 8, "", "");
    k = step(k, "add_prefetch",
             {word("x[j, k]"), names({"j_inner", "k"}), names({"source", "axis"})},
             {{"fetch_outer_inames", word("i_outer, j_outer")}, {"default_tag", Value{false}}});
    k = tag(k, "source:l.0, axis:unr");
    k = prefetch(k, "x[i, k]", "k", {{"default_tag", Value{false}}});
    k = prioritize(k, "j_outer, j_inner");
  }
  for (const char* n : {"1", "16", "29"}) run_everywhere(k, original, {{"n", n}});
}

TEST_CASE("as in Loo.py: an operator of two dimensions, rule in rule, with tagged reads") {
  const Kernel original = parsed(R"(
kernel lap2(K: int32, u: float32[K, 6, 6], G: float32[3, K, 6, 6], D: float32[6, 6],
            lap: out float32[K, 6, 6])
domain {[e, i, j, m, o, p]: 0 <= i, j, m, o, p < 6 and 0 <= e < K}
ur(a, b) := simul_reduce(sum, o, D[a, o]*u[e, o, b])
us(a, b) := simul_reduce(sum, p, D[b, p]*u[e, a, p])
gx(a, b) := G$x[0, e, a, b]*ur(a, b) + G$x[1, e, a, b]*us(a, b)
gy(a, b) := G$y[1, e, a, b]*ur(a, b) + G$y[2, e, a, b]*us(a, b)
lap[e, i, j] = simul_reduce(sum, m, D[m, i]*gx(m, j)) + simul_reduce(sum, m, D[m, j]*gy(i, m))
)");
  Kernel k = tag(original, "i:l.0, j:l.1, e:g.0");
  k = prefetch(k, "D[:, :]", "", with(kShared, "fetch_outer_inames", word("e")));
  k = prefetch(k, "u[e, :, :]", "", kShared);
  k = precompute(k, "ur(m, j)", "m, j", kShared);
  k = precompute(k, "us(i, m)", "i, m", kShared);
  k = precompute(k, "gx(m, j)", "m, j", kShared);
  k = precompute(k, "gy(i, m)", "i, m", kShared);
  k = prefetch(k, "G$x[:, e, :, :]", "", kShared);
  k = prefetch(k, "G$y[:, e, :, :]", "", kShared);
  k = tag(k, "o:unr, m:unr");
  run_everywhere(k, original, {{"K", "3"}});
}

namespace {

const char* const kVolume = R"(
kernel volume(K: int32, D: float32[10, 10, 4], gx: float32[K, 4], gy: float32[K, 4],
              u: float32[K, 10], v: float32[K, 10], p: float32[K, 10],
              fu: out float32[K, 10], fv: out float32[K, 10], fp: out float32[K, 10])
domain {[k, n, m]: 0 <= k < K and 0 <= n, m < 10}
domain {[c, d]: 0 <= c, d < 4}
<> du[c] = simul_reduce(sum, m, D[n, m, c]*u[k, m])
<> dv[c] = simul_reduce(sum, m, D[n, m, c]*v[k, m])
<> dp[c] = simul_reduce(sum, m, D[n, m, c]*p[k, m])
fu[k, n] = simul_reduce(sum, d, gx[k, d]*dp[d])
fv[k, n] = simul_reduce(sum, d, gy[k, d]*dp[d])
fp[k, n] = simul_reduce(sum, d, gx[k, d]*du[d]) + simul_reduce(sum, d, gy[k, d]*dv[d])
)";

}  // namespace

TEST_CASE("as in Loo.py: derivatives in the cells of a mesh, in many layouts") {
  const Kernel original = parsed(kVolume);
  const std::vector<std::string> fields{"u", "v", "p", "fu", "fv", "fp"};
  Kernel k = tag(original, "n:l.0");
  SUBCASE("a cell for each group") { k = tag(k, "k:g.0"); }
  SUBCASE("three cells for each group") { k = split(k, "k", 3, "g.0", "l.1"); }
  SUBCASE("the matrix in the memory of the group") {
    k = split(k, "k", 3, "g.0", "l.1");
    k = prefetch(k, "D[:, :, :]", "", with(kShared, "fetch_outer_inames", word("k_outer")));
  }
  SUBCASE("the fields in the memory of the group") {
    k = split(k, "k", 3, "g.0", "l.1");
    for (const char* f : {"u[k, :]", "v[k, :]", "p[k, :]"}) k = prefetch(k, f, "k_inner", kShared);
  }
  SUBCASE("three cells side by side in each work-item") {
    k = tag(split(k, "k", 3, "g.0", "ilp"), "m:unr");
  }
  SUBCASE("rows that begin at multiples of 32 bytes") {
    k = split(k, "k", 3, "g.0", "l.1");
    for (const std::string& f : fields)
      k = step(k, "add_padding", {word(f), number(0), number(32)});
    k = tag(k, "m:unr");
  }
  SUBCASE("eight cells of a batch side by side") {
    k = step(k, "split_array_axis", {names(fields), number(0), number(8)});
    k = step(k, "tag_array_axes", {names(fields), word("N2, N0, N1")});
    k = split(k, "k", 8, "g.0", "l.1");
  }
  SUBCASE("components as vectors") {
    k = tag(tag(k, "k:g.0"), "c:vec");
    k = step(k, "tag_array_axes", {word("D"), word("c, c, vec")});
  }
  for (const char* cells : {"1", "7"}) run_everywhere(k, original, {{"K", cells}});
}

TEST_CASE("as in Loo.py: polynomials by a recurrence, over a triangle that is unrolled") {
  const Kernel original = parsed(R"(
kernel bernstein(els: int32, coeffs: float32[15], points: float32[2, 7],
                 tmp: inout float32[els, 5, 7])
domain {[el, q]: 0 <= el < els and 0 <= q < 7}
domain {[a, b]: 0 <= a <= 4 and 0 <= b <= 4 - a}
assume els >= 1
for el, q
  <> xi = points[1, q]
  <> s = 1 - xi
  <> r = xi/s
  <> at = 0
  for a
    <> w = s**(4 - a)
    for b
      tmp[el, a, q] = tmp[el, a, q] + w*coeffs[at]
      w = w*r*(4 - a - b)/(1 + b)
      at = at + 1
    end
  end
end
)");
  Kernel k = original;
  SUBCASE("sequential triangle") { k = split(k, "el", 4, "g.0", "l.0"); }
  SUBCASE("two blocks of elements side by side, the triangle unrolled") {
    k = split(k, "el", 4, "", "l.0");
    k = split(k, "el_outer", 2, "g.0", "ilp", {{"slabs", pair_of(0, 1)}});
    k = tag(k, "q:l.1, a:unr, b:unr");
  }
  for (const char* els : {"1", "8", "13"}) run_everywhere(k, original, {{"els", els}});
}

TEST_CASE("as in Loo.py: both sweeps of a tensor evaluation, with a table between them") {
  const Kernel original = parsed(R"(
kernel sweeps(els: int32, coeffs: float32[els, 15], points: float32[2, 7],
              result: inout float32[els, 7, 7])
domain {[el, q]: 0 <= el < els and 0 <= q < 7}
domain {[a, b]: 0 <= a <= 4 and 0 <= b <= 4 - a}
domain {[z]: 0 <= z <= 4}
domain {[q1, a1, q2]: 0 <= q1, q2 < 7 and 0 <= a1 <= 4}
for el
  for q
    <> xi = points[1, q]
    <> s = 1 - xi
    <> r = xi/s
    <> at = 0
    for z
      <float32> tmp[z, q] = 0
    end
    for a
      <> w = s**(4 - a)
      for b
        tmp[a, q] = tmp[a, q] + w*coeffs[el, at]
        w = w*r*(4 - a - b)/(1 + b)
        at = at + 1
      end
    end
  end
  for q1
    <> xi2 = points[0, q1]
    <> s2 = 1 - xi2
    <> r2 = xi2/s2
    <> w2 = s2**4
    for a1
      for q2
        result[el, q1, q2] = result[el, q1, q2] + w2*tmp[a1, q2]
      end
      w2 = w2*r2*(4 - a1)/(1 + a1)
    end
  end
end
)");
  Kernel k = original;
  SUBCASE("elements on work-items") { k = split(k, "el", 4, "g.0", "l.0"); }
  SUBCASE("points on work-items, the table in the memory of the group") {
    k = step(k, "set_temporary_address_space", {word("tmp"), word("local")});
    k = tag(k, "el:g.0, q:l.0, q1:l.0");
  }
  SUBCASE("the second sweep in a buffer") {
    k = step(k, "buffer_array", {word("result"), names({"a1", "q2"})});
    k = tag(k, "el:g.0, a:unr, b:unr");
  }
  for (const char* els : {"1", "6"}) run_everywhere(k, original, {{"els", els}});
}

TEST_CASE("as in Loo.py: a star of nine points from a box in the memory of a group") {
  const Kernel original = parsed(R"(
kernel star(n: int32, a: float32[n + 4, n + 4], z: out float32[n, n])
domain {[i, j]: 0 <= i, j < n}
assume n >= 1
at(x, y) := a[x + 2, y + 2]
z[i, j] = (-2*at(i, j) + at(i, j - 1) + at(i, j + 1) + at(i - 1, j) + at(i + 1, j)
           + at(i, j - 2) + at(i, j + 2) + at(i - 2, j) + at(i + 2, j))
)");
  const auto staged = [&](const ValueDict& slabs) {
    Kernel k = split(original, "i", 6, "g.1", "l.1", slabs);
    k = split(k, "j", 6, "g.0", "l.0", slabs);
    return prefetch(k, "a", "i_inner, j_inner", with(kShared, "fetch_bounding_box", Value{true}));
  };
  const Kernel apart = staged({{"slabs", pair_of(1, 1)}});
  for (const char* n : {"1", "12", "19"}) {
    run_everywhere(staged({}), original, {{"n", n}});
    run_everywhere(apart, original, {{"n", n}});
  }
  cuda_programs().insert(generate(apart, Target::Cuda).source);
  const std::string device = generate(apart, Target::OpenCL).source;
  CHECK(device.find("barrier(") == device.rfind("barrier("));
}

TEST_CASE("as in Loo.py: moments of a lattice gas, whose scalars are read and written in turn") {
  const Kernel original = parsed(R"(
kernel gas(nx: int32, ny: int32, f: float32[nx, ny, 8], next: out float32[nx, ny, 8])
domain {[x, y]: 0 <= x < nx - 2 and 0 <= y < ny - 2}
assume nx >= 3 and ny >= 3
i := x + 1
j := y + 1
for x, y
  with {id_prefix=moment}
    <float32> m[0] = f[i - 1, j, 0] + f[i, j - 1, 1] + f[i + 1, j, 2] + f[i, j + 1, 3]
    m[1] = 4.*f[i - 1, j, 0] - 4.*f[i + 1, j, 2]
    m[2] = 4.*f[i, j - 1, 1] - 4.*f[i, j + 1, 3]
    m[3] = f[i - 1, j, 4] + f[i, j - 1, 5] + f[i + 1, j, 6] + f[i, j + 1, 7]
    m[4] = 4.*f[i - 1, j, 4] - 4.*f[i + 1, j, 6]
    m[5] = 4.*f[i, j - 1, 5] - 4.*f[i, j + 1, 7]
  end
  with {id_prefix=relax, dep=moment*}
    m[1] = m[1] + 2.*(m[3] - m[1])
    m[2] = m[2]*(1. - 1.5)
    m[4] = m[4] + 1.5*(0.5*(m[0]*m[0]) + (m[3]*m[3])/(1 + m[0]) - m[4])
    m[5] = m[5] + 1.5*(m[3]*m[2]/(1 + m[0]) - m[5])
  end
  with {dep=relax*}
    next[i, j, 0] = 0.25*m[0] + 0.125*m[1]
    next[i, j, 1] = 0.25*m[0] + 0.125*m[2]
    next[i, j, 2] = 0.25*m[0] - 0.125*m[1]
    next[i, j, 3] = 0.25*m[0] - 0.125*m[2]
    next[i, j, 4] = 0.25*m[3] + 0.125*m[4]
    next[i, j, 5] = 0.25*m[3] + 0.125*m[5]
    next[i, j, 6] = 0.25*m[3] - 0.125*m[4]
    next[i, j, 7] = 0.25*m[3] - 0.125*m[5]
  end
end
)");
  Kernel k = split(split(original, "x", 4, "g.1", "l.1"), "y", 4, "g.0", "l.0");
  k = step(k, "expand_subst", {});
  SUBCASE("cells in the memory of the group") {
    k = prefetch(k, "f", "x_inner, y_inner", with(kShared, "fetch_bounding_box", Value{true}));
  }
  SUBCASE("an array for each direction") {
    k = step(k, "tag_array_axes", {word("f, next"), word("c, c, sep")});
  }
  run_everywhere(k, original, {{"nx", "11"}, {"ny", "9"}});
}

TEST_CASE("as in Loo.py: element matrices, whose derivatives are computed ahead") {
  const Kernel original = parsed(R"(
kernel assembly(els: int32, J: float32[els], w: float32[4], inverse: float32[els, 3, 3],
                psi: float32[4, 4, 3], A: inout float32[els, 4, 4])
domain {[c, i, j, k]: 0 <= c < els and 0 <= i, j, k < 4}
domain {[l, l2]: 0 <= l, l2 < 3}
assume els >= 1
dpsi(f, q, d) := simul_reduce(sum, l2, inverse[c, l2, d]*psi[f, q, l2])
A[c, i, j] = A[c, i, j] + J[c]*w[k]*sum(l, dpsi(i, k, l)*dpsi(j, k, l))
)");
  Kernel k = original;
  SUBCASE("all of an element") {
    k = prioritize(precompute(k, "dpsi", "i, k, l", kSequential), "c, i, j");
  }
  SUBCASE("those of one point of the quadrature") {
    k = precompute(prioritize(k, "c, j, k, i"), "dpsi", "i, l", kSequential);
  }
  SUBCASE("an element for each group") {
    k = precompute(k, "dpsi", "i, j, k, l", kShared);
    k = tag(k, "c:g.0, i:l.0, j:l.1");
  }
  for (const char* els : {"1", "5"}) run_everywhere(k, original, {{"els", els}});
}

TEST_CASE("as in Loo.py: a flux of one kernel, the difference of another, and a box of fluxes") {
  const Kernel flux = parsed(R"(
kernel flux(n: int32, u: float64[n + 2], f: out float64[n + 2])
domain {[j]: 0 <= j <= n + 1}
f[j] = u[j]**2/2
)");
  const Kernel difference = parsed(R"(
kernel difference(n: int32, h: float64, f: in float64[2 + n], out: out float64[n + 2])
domain {[i]: 1 <= i <= n}
out[i] = -(f[i + 1] - f[i - 1])/h
)");
  const Kernel original = fuse_kernels({flux, difference}, {.data_flow = {{"f", 0, 1}}}).kernel;
  run_everywhere(original, original, {{"n", "37"}, {"h", "0.1"}});
  Kernel k = step(original, "assignment_to_subst", {word("f")});
  run_everywhere(k, original, {{"n", "37"}, {"h", "0.1"}});
  k = step(k, "map_domain", {word("{ [i] -> [inew] : inew + 1 = i }")});
  k = split(k, "inew", 8, "g.0", "l.0");
  REQUIRE(k.rules.size() == 1);
  k = precompute(k, k.rules[0].name, "inew_inner",
                 with(kShared, "fetch_bounding_box", Value{true}));
  for (const char* n : {"1", "37", "40"}) run_everywhere(k, original, {{"n", n}, {"h", "0.1"}});
}

TEST_CASE("as in Loo.py: blocks of a matrix, written by kernels that are fused") {
  const auto block = [](const std::string& part) {
    return parsed("kernel block" + part + "(n: int32, at" + part + ": int32, rows" + part +
                  ": int32, mat" + part + ": float64[rows" + part + ", rows" + part +
                  "], result: inout float64[n, n])\ndomain {[i" + part + ", j" + part +
                  "]: 0 <= i" + part + ", j" + part + " < rows" + part + "}\nassume at" + part +
                  " >= 0 and at" + part + " + rows" + part + " <= n\nresult[at" + part + " + i" +
                  part + ", at" + part + " + j" + part + "] = mat" + part + "[i" + part + ", j" +
                  part + "]\n");
  };
  const Kernel clear = parsed(R"(
kernel clear(n: int32, result: out float64[n, n])
domain {[i, j]: 0 <= i, j < n}
result[i, j] = 0
)");
  const Kernel original = fuse_kernels({clear, block("0"), block("1")},
                                       {.data_flow = {{"result", 0, 1}, {"result", 1, 2}}})
                              .kernel;
  Kernel k = original;
  SUBCASE("as they are") {}
  SUBCASE("rows in groups") { k = tag(k, "i:g.0, i0:g.0, i1:g.0"); }
  SUBCASE("tiles") {
    for (const char* i : {"i", "i0", "i1"}) k = split(k, i, 4, "g.0", "l.0");
  }
  const GivenValues sizes{{"n", "11"}, {"at0", "0"}, {"rows0", "5"}, {"at1", "5"}, {"rows1", "6"}};
  const auto result = values<double>(run_everywhere(k, original, sizes), "result");
  for (int i = 0; i < 11; ++i)
    for (int j = 0; j < 11; ++j)
      if ((i < 5) != (j < 5)) CHECK(result[11 * i + j] == 0);
}

TEST_CASE("as in Loo.py: boxes of particles, a bound from data and loops that an equality ties") {
  const Kernel original = parsed(R"(
kernel boxes(starts: int32[6], lists: int32[12], out: out int32[5, 32], last: out int32[5, 32])
domain {[box]: 0 <= box < 5}
domain {[inner]: 0 <= inner <= 31}
domain {[src]: 0 <= src < stop}
domain {[target]: target = 0}
domain {[source]: source = 0 and 0 <= inner <= 25}
for box, inner
  <> stop = starts[box + 1]
  <> offset = inner
  out[box, inner] = 0
  for src, source
    <> at = source*32 + inner + src
    out[box, inner] = out[box, inner] + at*lists[src]
  end
  for target
    last[box, inner] = offset + target
  end
end
)");
  run_everywhere(original, original, {});
  run_everywhere(tag(original, "box:g.0, inner:l.0"), original, {});
}
