#include "codegen/plan/plan.h"
#include "tests/codegen/kit.h"

using namespace moonloop;

namespace {

int times_in(const std::string& text, const std::string& part) {
  int n = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++n;
  return n;
}

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

/// A product of numbers of 8 or 16 bits by tiles of 16 x 8 with `depth` steps at once, whose rows
/// of `a` lie along them, and those of `b` along columns or, `b_along`, along the steps too.
std::string narrow(const std::string& type, const std::string& sum, int depth,
                   const std::string& term = "cast(SUM, LEFT)*cast(SUM, RIGHT)",
                   bool b_along = false, int rows = 16) {
  std::string text = R"(
kernel product(n: int32, a: TYPE[n, n], b: TYPE[n, n], c: SUM[n, n])
domain {[io, h, r, jo, q, p]: 0 <= h < HALVES and 0 <= r < 8 and 0 <= q < 4 and 0 <= p < 2 and
                              0 <= io and ROW < n and 0 <= jo and COLUMN < n}
domain {[ko, u]: 0 <= u < DEPTH and 0 <= ko and STEP < n}
assume n mod 64 = 0 and n >= 64
c[ROW, COLUMN] = sum((ko, u), TERM)
)";
  const std::string halves = std::to_string(rows / 8);
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"TERM", term},
           {"LEFT", "a[ROW, STEP]"},
           {"RIGHT", b_along ? "b[COLUMN, STEP]" : "b[STEP, COLUMN]"},
           {"ROW", std::to_string(rows) + "*io + 8*h + r"},
           {"COLUMN", "8*jo + 2*q + p"},
           {"STEP", "DEPTH*ko + u"},
           {"DEPTH", std::to_string(depth)},
           {"HALVES", halves},
           {"SUM", sum},
           {"TYPE", type}})
    for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
      text.replace(at, from.size(), to);
  return text;
}

/// With tiles of both factors in local memory.
std::string with_tiles(const std::string& type, const std::string& sum, int depth, bool b_along,
                       int gap = 8) {
  std::string text = R"(
kernel product(n: int32, a: TYPE[n, n], b: TYPE[n, n], c: SUM[n, n])
domain {[io, h, r, jo, jp, q, p]: 0 <= h < 2 and 0 <= r < 8 and 0 <= q < 4 and 0 <= p < 2 and
        0 <= jp < 2 and 0 <= io and 16*io + 8*h + r < n and 0 <= jo and 16*jo + 8*jp + 2*q + p < n}
domain {[ko]: 0 <= ko and DEPTH*ko < n}
domain {[u]: 0 <= u < DEPTH}
domain {[xo, xi, yo, yi]: 0 <= xo < 2 and 0 <= xi < 8 and 0 <= 4*yo < DEPTH and 0 <= yi < 4}
assume n mod 64 = 0 and n >= 64
temp t: SUM
temp s: TYPE[16, DEPTH] in local strides=(PITCH, 1)
temp w: TYPE[W] in local strides=(OTHER, 1)
t = 0 {inames=io:jo:h:r:jp:q:p}
s[8*xo + xi, 4*yo + yi] = a[16*io + 8*xo + xi, DEPTH*ko + 4*yo + yi] {id=fa, inames=io:jo:ko:xo:xi:yo:yi}
w[WRITE] = b[READ] {id=fb, inames=io:jo:ko:xo:xi:yo:yi}
t = t + cast(SUM, s[8*h + r, u])*cast(SUM, w[USE]) {id=up, inames=io:jo:h:r:jp:q:p:ko:u, dep=fa:fb}
c[16*io + 8*h + r, 16*jo + 8*jp + 2*q + p] = t {inames=io:jo:h:r:jp:q:p, dep=up}
)";
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"WRITE", b_along ? "8*xo + xi, 4*yo + yi" : "4*yo + yi, 8*xo + xi"},
           {"READ", b_along ? "16*jo + 8*xo + xi, DEPTH*ko + 4*yo + yi"
                            : "DEPTH*ko + 4*yo + yi, 16*jo + 8*xo + xi"},
           {"USE", b_along ? "8*jp + 2*q + p, u" : "u, 8*jp + 2*q + p"},
           {"[W]", b_along ? "[16, DEPTH]" : "[DEPTH, 16]"},
           {"PITCH", std::to_string(depth + gap)},
           {"OTHER", std::to_string((b_along ? depth : 16) + gap)},
           {"DEPTH", std::to_string(depth)},
           {"SUM", sum},
           {"TYPE", type}})
    for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
      text.replace(at, from.size(), to);
  return text;
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

TEST_CASE("matrix units: halves are added in single precision, 16 steps at once") {
  CHECK_GOLDEN("matrix_unit_halves.cu",
               code(narrow("float16", "float32", 16), Target::Cuda, kTags));
  // What promotion gives, a cast of the product, and values that are rounded to halves.
  for (const char* term : {"LEFT*RIGHT", "cast(float32, LEFT)*RIGHT", "cast(float32, LEFT*RIGHT)",
                           "cast(float16, LEFT + 1)*RIGHT", "RIGHT*LEFT"}) {
    CAPTURE(term);
    const std::string source = code(narrow("float16", "float32", 8, term), Target::Cuda, kTags);
    CHECK(times_in(source, "mma_16x8x8_f16(") == 2);
    CHECK(source.find("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32") != std::string::npos);
  }
  // Neighbours along the steps are one word where they begin at an even place.
  const std::string along =
      code(narrow("float16", "float32", 16, "LEFT*RIGHT", true), Target::Cuda, kTags);
  CHECK(times_in(along, "*(unsigned const *)&a[") == 4);
  CHECK(times_in(along, "*(unsigned const *)&b[") == 2);
  const std::string odd =
      narrow("float16", "float32", 16, "a[ROW, STEP + 1 if STEP + 1 < n else 0]*RIGHT", true);
  CHECK(times_in(code(odd, Target::Cuda, kTags), "pack_halves(a[") == 4);
}

TEST_CASE("matrix units: bytes are added in integers, 32 or 16 steps at once") {
  const std::pair<const char*, const char*> types[] = {{"int8", "s8"}, {"uint8", "u8"}};
  for (const auto& [type, name] : types)
    for (const int depth : {16, 32}) {
      const std::string source = code(narrow(type, "int32", depth), Target::Cuda, kTags);
      CHECK(times_in(source, "mma_16x8x" + std::to_string(depth) + "_" + name + "(") == 2);
      CHECK(times_in(source, "pack_bytes(b[") == depth / 16);
      CHECK(times_in(source, "*(unsigned const *)&a[") == depth / 8);
    }
  Tags eight = kTags;
  eight.erase("h");
  const std::string text = narrow("int8", "int32", 16, "cast(int32, LEFT)*RIGHT", false, 8);
  CHECK(times_in(code(text, Target::Cuda, eight), "mma_8x8x16_s8(") == 2);
}

TEST_CASE("matrix units: singles are rounded to tf32 where the tag says so") {
  const Tags tags = with(kTags, "u", "mma.tf32");
  for (const int depth : {4, 8}) {
    const std::string text = narrow("float32", "float32", depth);
    const std::string source = code(text, Target::Cuda, tags);
    CHECK(times_in(source, "mma_16x8x" + std::to_string(depth) + "_tf32(") == 2);
    CHECK(times_in(source, "round_to_tf32_" + std::to_string(depth / 2) + "(") == 2);
    CHECK(source.find("cvt.rna.tf32.f32") != std::string::npos);
    CHECK(code(text, Target::OpenCL, tags).find("tf32") == std::string::npos);
  }
}

TEST_CASE("matrix units: rows of 16 bytes in local memory are loaded by the warp together") {
  Tags tags = kTags;
  for (const auto& [iname, tag] : Tags{{"jp", "ilp"}, {"xi", "l.1"}, {"yi", "l.0"}})
    tags[iname] = tag;
  const auto source = [&](const std::string& type, const std::string& sum, int depth, bool b_along,
                          int gap = 8) {
    return code(with_tiles(type, sum, depth, b_along, gap), Target::Cuda, tags);
  };
  // Two products: the left factor once, the right factors of both at once.
  CHECK_GOLDEN("matrix_unit_tiles.cu", source("float16", "float32", 16, false));
  const std::string along = source("float16", "float32", 16, true);
  CHECK(times_in(along, "  load_matrices_4(left") == 1);
  CHECK(times_in(along, "  load_matrices_4(right") == 1);
  const std::string bytes = source("int8", "int32", 32, true, 16);
  CHECK(times_in(bytes, "  load_matrices_4(") == 2);
  CHECK(times_in(source("int8", "int32", 32, false, 16), "pack_bytes(w[") == 4);  // not of bytes
  const std::string eight = source("float16", "float32", 8, false);
  CHECK(times_in(eight, "  load_matrices_4(") == 0);
  CHECK(times_in(eight, "  load_matrices_2(left") == 1);
  CHECK(times_in(eight, "  load_matrices_2_transposed(right") == 1);
  // Rows that begin elsewhere, and neighbours in a column that are not along the steps.
  const std::string gaps = source("float16", "float32", 16, true, 2);
  CHECK(gaps.find("load_matrices") == std::string::npos);
  CHECK(times_in(gaps, "*(unsigned const *)&s[") == 4);
  CHECK(source("float16", "float32", 16, false, 1).find("*(unsigned const *)&") ==
        std::string::npos);
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

TEST_CASE("matrix units: types, depths and rows that no unit has") {
  const auto says = [](const std::string& text, const Tags& tags, const std::string& part) {
    const std::string message = refusal(text, tags);
    CAPTURE(message);
    CHECK(message.find(part) != std::string::npos);
  };
  Tags tags = kTags;
  CHECK(refusal(narrow("float16", "float32", 16), tags) == "accepted");
  says(narrow("float16", "float32", 4), tags, "its values are not 0 to 7 or 0 to 15");
  says(narrow("float16", "float32", 32), tags, "its values are not 0 to 7 or 0 to 15");
  says(narrow("int8", "int32", 8), tags, "its values are not 0 to 15 or 0 to 31");
  says(narrow("float16", "float32", 16, "2*LEFT*RIGHT"), tags,
       "adds products of float32 and float16 to float32");
  says(narrow("float16", "float32", 16, "(LEFT + 1)*RIGHT"), tags,
       "adds products of float32 and float16 to float32");
  says(narrow("float16", "float64", 16, "cast(float64, LEFT)*RIGHT"), tags,
       "its values are not 0 to 3");
  says(narrow("float32", "float32", 8), tags, "`mma.tf32` takes float32");
  says(narrow("float16", "float32", 8, "LEFT*RIGHT"), with(tags, "u", "mma.tf32"),
       "this unit takes float32");
  says(narrow("float32", "float32", 16), with(tags, "u", "mma.tf32"),
       "is tagged `mma.tf32`, but its values are not 0 to 3 or 0 to 7");
  says(narrow("int8", "int32", 16, "LEFT*RIGHT"), tags,
       "adds products of int8 and int8 to int8; the unit takes float64, float16 into float32, and "
       "int8 or uint8 into int32");
  says(narrow("int16", "int32", 16), tags, "adds products of int16 and int16 to int32");
  std::string wraps = narrow("int8", "int32", 16, "LEFT*RIGHT");
  const std::string reduction = "c[16*io + 8*h + r, 8*jo + 2*q + p] = sum((ko, u), ";
  wraps.replace(wraps.find(reduction), reduction.size(),
                "temp t: int32\nt = 0 {inames=io:jo:h:r:q:p}\nt = t + (");
  wraps += "c[16*io + 8*h + r, 8*jo + 2*q + p] = t\n";
  says(wraps, tags, "multiplies in int8, not in int32; convert a factor by `cast(int32, …)`");
  tags.erase("h");
  says(narrow("float16", "float32", 16, "LEFT*RIGHT", false, 8), tags,
       "no `ilp` or `vec` loop over the two rows");
}

TEST_CASE("matrix units: only where no work-item of the warp may be missing") {
  std::string text = product();
  const std::string known = "assume n mod 16 = 0 and n >= 16\n";
  text.replace(text.find(known), known.size(), "");
  const std::string message = refusal(text, kTags);
  CHECK(message.find("nowhere do all work-items of a warp run all") != std::string::npos);
}
