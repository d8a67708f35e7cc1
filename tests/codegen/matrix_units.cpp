#include "codegen/plan/plan.h"
#include "tests/codegen/kit.h"

using namespace moonloop;

namespace {

const Tags kTags{{"io", "g.1"}, {"jo", "g.0"}, {"h", "ilp"}, {"r", "l.1"},
                 {"q", "l.0"},  {"p", "vec"},  {"u", "mma"}};

/// A product by tiles of 16 x 8, with `sum` for the term, `more` after the assumption on n.
std::string product(
    const std::string& term = "a[16*io + 8*h + r, 4*ko + u]*b[4*ko + u, 8*jo + 2*q + p]",
    const std::string& more = "", const std::string& type = "float64") {
  return "kernel product(n: int32, a: " + type + "[n, n], b: " + type + "[n, n], c: " + type +
         R"([n, n])
domain {[io, h, r, jo, q, p]: 0 <= h < 2 and 0 <= r < 8 and 0 <= q < 4 and 0 <= p < 2 and
                              0 <= io and 16*io + 8*h + r < n and 0 <= jo and 8*jo + 2*q + p < n}
domain {[ko, u]: 0 <= u < 4 and 0 <= ko and 4*ko + u < n}
assume n mod 16 = 0 and n >= 16
)" + more +
         "c[16*io + 8*h + r, 8*jo + 2*q + p] = sum((ko, u), " + term + ")\n";
}

std::string refusal(const std::string& text, const Tags& tags) {
  try {
    generate(kernel(text, tags), Target::Cuda);
  } catch (const Error& e) {
    CHECK(e.diagnostic().code == "no-matrix-unit");
    return e.diagnostic().text;
  }
  return "accepted";
}
Tags with(Tags tags, const std::string& iname, const std::string& tag) {
  tags[iname] = tag;
  return tags;
}

}  // namespace

TEST_CASE("matrix units: CUDA's warps multiply small matrices, others unroll") {
  CHECK_GOLDEN("matrix_unit.cu", code(product(), Target::Cuda, kTags));
  for (const Target t : {Target::C, Target::OpenMP, Target::OpenCL})
    CHECK(code(product(), t, kTags).find("mma") == std::string::npos);
}

TEST_CASE("matrix units: eight rows, and a sum that a statement makes itself") {
  const std::string text = R"(
kernel product(n: int32, a: float64[n, n], b: float64[n, n], c: float64[n, n])
domain {[io, r, jo, q, p]: 0 <= r < 8 and 0 <= q < 4 and 0 <= p < 2 and
                           0 <= io and 8*io + r < n and 0 <= jo and 8*jo + 2*q + p < n}
domain {[ko, u]: 0 <= u < 4 and 0 <= ko and 4*ko + u < n}
assume n mod 8 = 0 and n >= 8
temp t: float64
t = 0 {inames=io:jo:r:q:p}
t = 3*a[8*io + r, 4*ko + u]*b[4*ko + u, 8*jo + 2*q + p] + t {inames=io:jo:r:q:p:ko:u}
c[8*io + r, 8*jo + 2*q + p] = t
)";
  Tags tags = kTags;
  tags.erase("h");
  const std::string source = code(text, Target::Cuda, tags);
  CHECK(source.find("mma_8x8x4(t[0], t[1], 3*a[") != std::string::npos);
  CHECK(source.find("mma_16x8x4") == std::string::npos);
}

TEST_CASE("matrix units: what does not fit is refused with the reason") {
  const auto says = [](const std::string& text, const Tags& tags, const std::string& part) {
    const std::string message = refusal(text, tags);
    CAPTURE(message);
    CHECK(message.find(part) != std::string::npos);
  };
  CHECK(refusal(product(), kTags) == "accepted");
  says(product("a[16*io + 8*h + r, 4*ko + u]*b[4*ko + u, 8*jo + 2*q + p]", "", "float32"), kTags,
       "takes float64");
  says(product("max(a[16*io + 8*h + r, 4*ko + u], b[4*ko + u, 8*jo + 2*q + p])"), kTags,
       "not a sum of products");
  says(product("a[16*io + 8*h + r, 4*ko + u]*b[4*ko + u, 8*jo + 2*q + p]*(r + q)"), kTags,
       "along both `l.0` and `l.1`");
  says(product("a[16*io + 8*h + r, 4*ko + u]*b[4*ko + u, 8*jo + q + 4*p]"), kTags,
       "no `ilp` or `vec` loop over the two columns");
  says(product(), with(kTags, "p", "ord"), "no `ilp` or `vec` loop over the two columns");
  says(product(), with(kTags, "ko", "mma"), "the loop `u` is inside of it");
  std::string longer = product();
  longer.replace(longer.find("0 <= u < 4"), 10, "0 <= u < 8");
  says(longer, kTags, "values are not 0 to 3");
  says(product(), with(with(kTags, "r", "l.0"), "q", "l.1"), "8 by 4 work-items");
  says(product(), with(kTags, "r", "l.2"), "4 by 1 work-items");
  says(product("a[16*io + 8*h + r, 4*ko + u]*b[4*ko + u, 8*jo + 2*q + p]", "if n > 3*io + r\n") +
           "end\n",
       kTags, "the condition");
}

TEST_CASE("matrix units: only where no work-item of the warp may be missing") {
  std::string text = product();
  const std::string known = "assume n mod 16 = 0 and n >= 16\n";
  text.replace(text.find(known), known.size(), "");
  const std::string message = refusal(text, kTags);
  CHECK(message.find("nowhere do all work-items of a warp run all") != std::string::npos);
}
