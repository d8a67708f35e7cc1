// The requests of Loo.py's own tests, done by Moonloop: each kernel and its steps, on C, OpenMP and
// the device, against the interpreter.
#include "tests/runtime/loopy_kit.h"

using namespace moonloop;
using test::kSequential;
using test::names;
using test::number;
using test::run_everywhere;
using test::split;
using test::step;
using test::word;

TEST_CASE("as in Loo.py: substitution rules are prefetched and stay rules") {
  const Kernel original = parsed(R"(
kernel st(n: int32, a: float32[n + 4], z: float32[n])
domain {[i]: 0 <= i < n}
a_offset(ii) := a[ii + 2]
z[i] = a_offset(i - 1) + a_offset(i + 1)
)");
  Kernel k = split(original, "i", 16, "", "");
  k = step(k, "add_prefetch", {word("a"), word("i_inner")}, kSequential);
  CHECK(k.find_rule("a_offset") != nullptr);
  run_everywhere(k, original, {{"n", "37"}});
  k = split(original, "i", 16, "g.0", "l.0");
  k = step(k, "add_prefetch", {word("a"), word("i_inner")});
  run_everywhere(k, original, {{"n", "37"}});
}

TEST_CASE("as in Loo.py: a tensor product of small matrices, rule by rule") {
  const Kernel original = parsed(R"(
kernel tim(K: int32, u: float32[K, 8, 8], D: float32[8, 8], lap: float32[K, 8, 8])
domain {[i, j, e, m, o]: 0 <= i, j, m, o < 8 and 0 <= e < K}
ur(a, b) := simul_reduce(sum, o, D[a, o]*u[e, o, b])
lap[e, i, j] = simul_reduce(sum, m, D[m, i]*ur(m, j))
)");
  Kernel k = step(original, "tag_inames", {word("i:l.0, j:l.1, e:g.0")});
  const ValueDict shared{{"default_tag", word("l.auto")}};
  ValueDict outside = shared;
  outside.emplace_back("fetch_outer_inames", word("e"));
  SUBCASE("the inner rule first") {
    k = step(k, "precompute", {word("ur"), names({"m", "j"})}, shared);
    k = step(k, "add_prefetch", {word("D[:, :]")}, outside);
    k = step(k, "add_prefetch", {word("u[e, :, :]")}, shared);
  }
  SUBCASE("the matrix first") {
    k = step(k, "add_prefetch", {word("D[:, :]")}, outside);
    CHECK(k.find_rule("ur") != nullptr);
    k = step(k, "precompute", {word("ur"), names({"m", "j"})}, shared);
  }
  run_everywhere(k, original, {{"K", "3"}});
}

TEST_CASE("as in Loo.py: bounds that are computed in a nest of two domains") {
  const Kernel k = parsed(R"(
kernel nested_domain(B: float64[10, 8], out: float64[10, 4])
domain {[i]: 0 <= i < 4}
domain {[j]: 0 <= j < 10}
domain {[a_count]: 0 <= a_count < a_end}
domain {[b_count]: 0 <= b_count < b_end}
temp if_val: int32[4] in private init=(-1, 0, 1, 2) read_only
temp vals: int32[8] in private init=(2, 3, 1, 2, 3, 4, 5, 6) read_only
temp num_vals: int32[4] in private init=(2, 4, 0, 2) read_only
temp offsets: int32[4] in private init=(0, 2, 6, 6) read_only
for j
  for i
    <> a_end = abs(if_val[i])
    <> b_end = num_vals[i]
    <> offset = offsets[i]
    <float64> b_sum = 0   {id=start}
    for b_count
      b_sum = b_sum + B[j, vals[offset + b_count]]   {id=add}
    end
    for a_count
      b_sum = 2*b_sum   {id=twice}
    end
    out[j, i] = b_sum
  end
end
)");
  run_everywhere(k, k, {});
}

TEST_CASE("as in Loo.py: a reduction over boxes and the particles in each") {
  const Kernel k = parsed(R"(
kernel multi(ntgts: int32, nboxes: int32, nparticles_per_box: int32[nboxes], a: int32[ntgts])
domain {[itgt]: 0 <= itgt < ntgts}
domain {[isrc_box]: 0 <= isrc_box < nboxes}
domain {[isrc]: 0 <= isrc < npart}
assume ntgts >= 1
for itgt
  for isrc_box
    <> npart = nparticles_per_box[isrc_box]
  end
  a[itgt] = sum((isrc_box, isrc), 1)
end
)");
  run_everywhere(k, k, {{"ntgts", "5"}, {"nboxes", "7"}});
}

TEST_CASE("as in Loo.py: rows of a sparse matrix, in groups") {
  const Kernel original = parsed(R"(
kernel rows(n: int32, starts: int32[n + 1], values: float64[n], sums: float64[n])
domain {[i]: 0 <= i < n}
domain {[jj]: 0 <= jj < row_len}
<> row_len = (starts[i + 1] + starts[i]) % 5
sums[i] = sum(jj, values[(i + jj) % n])
)");
  run_everywhere(original, original, {{"n", "37"}});
  run_everywhere(split(original, "i", 16, "g.0", "l.0"), original, {{"n", "37"}});
}

TEST_CASE("as in Loo.py: two domains that share the hardware's axes") {
  const Kernel original = parsed(R"(
kernel two(n: int32, a: float64[n], b: float64[n])
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j < n}
a[i] = 1
b[j] = 2
)");
  Kernel k = split(original, "i", 16, "g.0", "l.0");
  k = split(k, "j", 16, "g.0", "l.0");
  run_everywhere(k, original, {{"n", "50"}});
}

TEST_CASE("as in Loo.py: equality constraints tie one loop to another") {
  const Kernel original = parsed(R"(
kernel ties(n: int32, a: float64[n, n], b: float64[n, n])
domain {[i, j]: 0 <= i, j < n}
domain {[k]: k = i + 5 and k < n}
a[i, j] = 5
b[i, k] = 22
)");
  Kernel k = split(split(original, "i", 16, "g.0", "l.0"), "j", 16, "g.1", "l.1");
  run_everywhere(k, original, {{"n", "10"}});
}

TEST_CASE("as in Loo.py: tight bounds of a strided loop") {
  const Kernel original = parsed(R"(
kernel tight(out: int32[10])
domain {[i]: 0 <= i < 5}
domain {[j]: 2*i <= j < 2*i + 2 and 0 <= j < 10}
out[j] = j   {inames=i:j}
)");
  run_everywhere(split(original, "i", 5, "g.0", "l.0"), original, {});
}

TEST_CASE("as in Loo.py: slabs at both ends, at sizes that no split divides") {
  for (const auto& [low, high] : {std::pair("1", "4"), {"1", "5"}, {"4", "8"}}) {
    const Kernel original = parsed(R"(
kernel slabs(k: int32, n: int32, a: float64[n])
domain {[i]: k <= i < n}
assume 0 <= k < n
a[i] = a[i] + 1
)");
    const Kernel k =
        split(original, "i", 4, "", "", {{"slabs", Value{ValueList{number(1), number(1)}}}});
    run_everywhere(k, original, {{"k", low}, {"n", high}});
  }
}

TEST_CASE("as in Loo.py: an even division into three chunks") {
  const Kernel original = parsed(R"(
kernel chunks(n: int32, a: float64[n])
domain {[i]: 0 <= i < n}
a[i] = 2*a[i]
)");
  const Kernel k = step(original, "chunk_iname", {word("i"), number(3)});
  run_everywhere(k, original, {{"n", "130"}});
  run_everywhere(step(step(original, "fix_parameters", {Value{ValueDict{{"n", number(130)}}}}),
                      "chunk_iname", {word("i"), number(3)}, {{"inner_tag", word("l.0")}}),
                 original, {{"n", "130"}});
}

TEST_CASE("as in Loo.py: two statements whose loops are split one by one") {
  const Kernel original = parsed(R"(
kernel within(n: int32, x: float64[n, n], y: float64[n, n])
domain {[i, j]: 0 <= i, j < n}
x[i, j] = 3   {id=a}
y[i, j] = 4   {id=b}
)");
  Kernel k = step(original, "split_iname", {word("j"), number(4)}, {{"within", word("id:a")}});
  k = step(k, "split_iname", {word("i"), number(4)}, {{"within", word("id:b")}});
  run_everywhere(k, original, {{"n", "5"}});
}

TEST_CASE("as in Loo.py: loops that are there already fill two buffers") {
  const Kernel original = parsed(R"(
kernel shared(E: int32, u: float64[E, 13], v: float64[E, 13], w: float64[E, 13])
domain {[e, i, j]: 0 <= e < E and 0 <= i, j < 13}
f(x) := 2*u[e, x]
g(x) := v[e, x] + 1
w[e, i] = sum(j, f(j)*g(i))
)");
  Kernel k = step(original, "precompute", {word("f"), word("j")},
                  {{"precompute_inames", word("ii")}, {"default_tag", word("for")}});
  k = step(k, "precompute", {word("g"), word("i")},
           {{"precompute_inames", word("ii")}, {"default_tag", word("for")}});
  run_everywhere(k, original, {{"E", "20"}});
}

TEST_CASE("as in Loo.py: what one prefetch has copied is copied again") {
  const Kernel original = parsed(R"(
kernel again(n: int32, a: float64[n, 16], out: float64[n, 16])
domain {[i, j, k]: 0 <= i < n and 0 <= j, k < 16}
out[i, j] = sum(k, a[i, k])
)");
  Kernel k = split(original, "i", 16, "g.0", "l.0");
  k = step(k, "add_prefetch", {word("a"), names({"i_inner", "k"})},
           {{"default_tag", word("l.auto")}, {"temporary_address_space", word("local")}});
  k = step(k, "add_prefetch", {word("a_fetch"), word("k")},
           {{"temporary_address_space", word("private")}, {"default_tag", word("for")}});
  run_everywhere(k, original, {{"n", "37"}});
}

TEST_CASE("as in Loo.py: a transposition, a barrier of all groups, and what follows") {
  const Kernel original = parsed(R"(
kernel turn(n: int32, a: float64[n, n], out: inout float64[n, n])
domain {[i, j, ii, jj]: 0 <= i, j, ii, jj < n}
out[j, i] = a[i, j]          {id=transpose}
out[ii, jj] = 2*out[ii, jj]  {id=double}
)");
  Kernel k = step(original, "add_barrier", {word("id:transpose"), word("id:double")});
  for (const char* i : {"i", "ii"}) k = split(k, i, 2, "g.0", "l.0");
  for (const char* j : {"j", "jj"}) k = split(k, j, 2, "g.1", "l.1");
  run_everywhere(k, original, {{"n", "7"}});
}

TEST_CASE("as in Loo.py: a loop's reduction in the memory of work-items, of any length") {
  for (const char* n : {"128", "5", "67", "1"}) {
    const Kernel original = parsed(R"(
kernel total(n: int32, z: int32[3])
domain {[j, i]: 0 <= j < 3 and 0 <= i < n}
z[j] = sum(i, i + j)
)");
    const Kernel fixed =
        step(original, "fix_parameters", {Value{ValueDict{{"n", number(std::atoi(n))}}}});
    run_everywhere(step(fixed, "tag_inames", {word("i:l.0")}), original, {{"n", n}});
    run_everywhere(step(fixed, "tag_inames", {word("i:l.0, j:g.0")}), original, {{"n", n}});
  }
}

TEST_CASE("as in Loo.py: a reduction in two stages, in the memory of all groups") {
  const Kernel original = parsed(R"(
kernel stages(n: int32, a: float64[n], out: float64[1])
domain {[i]: 0 <= i < n}
out[0] = sum(i, a[i])
)");
  Kernel k = step(original, "split_iname", {word("i"), number(128)});
  k = step(k, "split_reduction_inward", {word("i_inner")});
  k = step(k, "reduction_arg_to_subst_rule", {word("i_outer")});
  REQUIRE(k.rules.size() == 1);
  k = step(k, "precompute", {word(k.rules[0].name), word("i_outer")},
           {{"temporary_address_space", word("global")}, {"default_tag", word("for")}});
  run_everywhere(k, original, {{"n", "1000"}});
}

TEST_CASE("as in Loo.py: a finite difference from two kernels, fused and precomputed") {
  const Kernel original = parsed(R"(
kernel flux(n: int32, u: float64[n + 2], f: float64[n + 2], out: float64[n])
domain {[j]: 0 <= j < n + 2}
domain {[i]: 0 <= i < n}
<float64> g[j] = u[j]**2/2   {id=f}
out[i] = -(g[i + 1] - g[i])  {id=out}
)");
  Kernel k = step(original, "assignment_to_subst", {word("g")});
  REQUIRE(k.rules.size() == 1);
  k = split(k, "i", 16, "g.0", "l.0");
  k = step(k, "precompute", {word(k.rules[0].name), word("i_inner")},
           {{"fetch_bounding_box", Value{true}}, {"default_tag", word("l.auto")}});
  run_everywhere(k, original, {{"n", "50"}});
}
