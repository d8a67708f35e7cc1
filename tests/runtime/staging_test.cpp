// Copies of inputs, as tiles on work-items: outer products, a convolution, padded batches.
#include "tests/runtime/device_kit.h"

using namespace moonloop;
using test::run;
using test::run_everywhere;
using test::Shape;
using test::split;
using test::step;
using test::word;

namespace {

Kernel fetch(const Kernel& k, const char* array, const char* sweep = "", ValueDict options = {}) {
  if (!*sweep) return step(k, "add_prefetch", {word(array)}, std::move(options));
  return step(k, "add_prefetch", {word(array), word(sweep)}, std::move(options));
}
Value number(std::int64_t n) { return Value{n}; }

const char* const kOuter = R"(
kernel outer(n: int32, a: float64[n], b: float64[n], c: float64[n, n])
domain {[i, j]: 0 <= i, j < n}
assume n >= 16
c[i, j] = a[i]*b[j]
)";

/// In tiles of `by`, each a group.
Kernel tiles(int by, const char* inner_i, const char* inner_j, const ValueDict& options = {}) {
  return split(split(parsed(kOuter), "i", by, "g.0", inner_i, options), "j", by, "g.1", inner_j,
               options);
}

}  // namespace

TEST_CASE("staging: an outer product keeps one factor, then the other, in a scalar") {
  const Kernel original = parsed(kOuter);
  Kernel k = fetch(fetch(original, "a"), "b");
  k = step(k, "prioritize_loops", {word("i, j")});
  run_everywhere(k, original, {{"n", "37"}});
  const std::string c = generate(k, Target::C).source;
  CHECK(c.find("  for (int32_t i = 0; i < n; ++i) {\n"
               "    double const a_fetch = a[i];\n"
               "    for (int32_t j = 0; j < n; ++j) {\n"
               "      double const b_fetch = b[j];\n") != std::string::npos);
}

TEST_CASE("staging: an outer product on work-items, each with its own two factors") {
  const Kernel k = fetch(fetch(tiles(8, "l.0", "l.1"), "a", ""), "b", "");
  CHECK(run(k, parsed(kOuter), {{"n", "37"}}) == Shape{1, 0});
}

TEST_CASE("staging: an outer product on work-items that share a strip of each factor") {
  const Kernel k = fetch(fetch(tiles(8, "l.0", "l.1"), "a", "i_inner"), "b", "j_inner");
  CHECK(run(k, parsed(kOuter), {{"n", "37"}}) == Shape{1, 1});
  run_everywhere(k, parsed(kOuter), {{"n", "16"}});
}

TEST_CASE("staging: an outer product with the last tiles apart and fetches split by hand") {
  Kernel k = tiles(32, "", "", {{"slabs", Value{ValueList{number(0), number(1)}}}});
  k = fetch(fetch(k, "a", "i_inner"), "b", "j_inner");
  k = split(split(k, "i_inner", 8, "", "l.0"), "j_inner", 8, "", "l.1");
  k = split(split(k, "a_dim_0", 8, "l.1", "l.0"), "b_dim_0", 8, "l.1", "l.0");
  for (const char* n : {"32", "64", "71"}) run_everywhere(k, parsed(kOuter), {{"n", n}});
}

TEST_CASE("staging: a convolution reads its images and its filter from copies") {
  const Kernel original =
      step(parsed(R"(
kernel convolve(images: int32, features: int32, colors: int32, w: int32, h: int32, r: int32,
                f: float32[features, 2*r + 1, 2*r + 1, colors],
                img: float32[images, w + 2*r, h + 2*r, colors],
                out: float32[images, features, w, h])
domain {[m, t, c, x, y, p, q]: -r <= p, q <= r and 0 <= x < w and 0 <= y < h and
                               0 <= m < images and 0 <= t < features and 0 <= c < colors}
assume r >= 0
out[m, t, x, y] = sum((p, q, c), img[m, r + x - p, r + y - q, c]*f[t, r + p, r + q, c])
)"),
           "fix_parameters", {Value{ValueDict{{"colors", number(3)}, {"r", number(2)}}}});
  const GivenValues sizes{{"images", "2"}, {"features", "2"}, {"w", "9"}, {"h", "11"}};
  Kernel k = split(original, "x", 4, "", "l.0");
  k = step(k, "prioritize_loops", {word("m, x_outer, y, t, p, q")});
  run_everywhere(k, original, sizes);

  k = split(split(original, "x", 4, "g.0", "l.0"), "y", 4, "g.1", "l.1");
  k = step(k, "tag_inames", {word("t:g.2")});
  k = fetch(k, "f[t, :, :, :]", "",
            {{"fetch_outer_inames", word("x_outer, y_outer, t")}, {"default_tag", word("l.auto")}});
  k = fetch(
      k, "img", "x_inner, y_inner, p, q",
      {{"fetch_outer_inames", word("m, x_outer, y_outer, t, c")}, {"default_tag", word("l.auto")}});
  CHECK(to_string(*k.find_temporary("f_fetch")->shape) == "5, 5, 3");
  CHECK(to_string(*k.find_temporary("img_fetch")->shape) == "8, 8");  // the tile and two on a side
  CHECK(run(k, original, sizes).kernels == 1);
  run_everywhere(k, original, sizes);
}

TEST_CASE("staging: small products of a batch, with padded rows") {
  const Kernel original = parsed(R"(
kernel batch(n: int32, d: float32[36, 36], f: float32[n, 36], result: float32[n, 36])
domain {[i, j, k]: 0 <= k < n and 0 <= i, j < 36}
assume n >= 1
result[k, i] = sum(j, d[i, j]*f[k, j])
)");
  const auto padded = [](const Kernel& k, const char* array, int bytes) {
    return step(k, "add_padding", {word(array), number(0), number(bytes)});
  };
  Kernel k = padded(padded(fetch(original, "d[:, :]"), "f", 64), "result", 64);
  CHECK(run_everywhere(k, original, {{"n", "21"}}).array("f").layout().strides ==
        std::vector<std::int64_t>{48, 1});

  k = step(split(original, "k", 4, "g.0", "l.1"), "tag_inames", {word("i:l.0")});
  k = padded(padded(fetch(k, "d[:, :]"), "d_fetch", 37 * 4), "f", 64);
  CHECK(run(k, original, {{"n", "21"}}) == Shape{1, 1});
  CHECK(generate(k, Target::OpenCL).source.find("__local float d_fetch[1331];") !=
        std::string::npos);
}

namespace {

const char* const kProduct = R"(
kernel matmul(n: int32, a: float32[n, n], b: float32[n, n], c: float32[n, n])
domain {[i, j, k]: 0 <= i, j, k < n}
c[i, j] = sum(k, a[i, k]*b[k, j])
)";

}  // namespace

TEST_CASE("staging: a product by tiles, the last ones apart, at any size") {
  const ValueDict last{{"slabs", Value{ValueList{number(0), number(1)}}}};
  const Kernel original = parsed(kProduct);
  Kernel k = split(original, "i", 8, "g.0", "l.1", last);
  k = split(k, "j", 8, "g.1", "l.0", last);
  k = split(k, "k", 8, "", "", last);
  k = fetch(k, "a", "k_inner, i_inner", {{"default_tag", word("l.auto")}});
  k = fetch(k, "b", "j_inner, k_inner", {{"default_tag", word("l.auto")}});
  // PoCL 3.1's loops over work-items end in an assertion of its ParallelRegion.cc, unless its
  // optimizer is off; its copies of the code do not.
  const test::Setting method("POCL_WORK_GROUP_METHOD", "workitemrepl");
  for (const char* n : {"16", "29"}) run_everywhere(k, original, {{"n", n}});
}

TEST_CASE("staging: a product whose elements are vectors") {
  const Kernel original = step(parsed(kProduct), "assume", {word("n mod 16 = 0 and n >= 16")});
  Kernel k = split(split(original, "i", 16, "g.0", "l.1"), "j", 4, "", "vec");
  k = split(k, "j_outer", 4, "g.1", "l.0");
  k = split(k, "k", 16, "", "");
  k = step(k, "split_array_axis", {word("b, c"), number(1), number(4)});
  k = step(k, "tag_array_axes", {word("b, c"), word("c,c,vec")});
  k = fetch(k, "a", "i_inner, k_inner", {{"default_tag", word("l.auto")}});
  k = fetch(k, "b", "k_inner, j_outer_inner, j_inner", {{"default_tag", word("l.auto")}});
  for (const char* n : {"16", "48"}) run_everywhere(k, original, {{"n", n}});
  CHECK(to_string(*k.find_arg("b")->shape) == "n, (n + 3) // 4, 4");
  CHECK(generate(k, Target::OpenCL).source.find("= *(__local float4 const *)&b_fetch[") !=
        std::string::npos);
}
