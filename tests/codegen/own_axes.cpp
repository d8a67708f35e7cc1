#include "tests/codegen/kit.h"

/// Private arrays with an axis of work-items: each keeps its own part.

using namespace moonloop;

namespace {

std::string own_rows(const std::string& read, const std::string& shape = "[4, 8]",
                     const std::string& more = "") {
  return "kernel rows(m: int32, x: in float64[m, 4, 8], y: out float64[m, 4, 8])\n"
         "domain {[r, p, i, q, j]: 0 <= r < m and 0 <= p, q < 4 and 0 <= i, j < 8}\n"
         "temp row: float64" +
         shape +
         " in private\n"
         "tag r: g.0, i: l.0, j: l.0, p: unr, q: unr\n" +
         more + "for r\n  row[p, i] = 2*x[r, p, i]\n  y[r, q, j] = " + read + "\nend\n";
}

Diagnostic says_not(const std::string& text, Target t) {
  try {
    generate(parsed(text), t);
  } catch (const Error& e) { return e.diagnostic(); }
  FAIL("generated");
  return {};
}

}  // namespace

TEST_CASE("own axes: a work-item keeps what it reads again") {
  const std::string kernel = own_rows("row[q, j] + row[3 - q, j]");
  for (const Target t : {Target::Cuda, Target::OpenCL}) {
    const std::string source = code(kernel, t);
    CHECK(source.find("double row[4];") != std::string::npos);
    CHECK(source.find("__syncthreads") == std::string::npos);
    CHECK(source.find("barrier(") == std::string::npos);
  }
  CHECK(code(kernel, Target::C).find("row[8][4]") != std::string::npos);
}

TEST_CASE("own axes: what another work-item has is not private") {
  for (const char* read :
       {"row[q, 7 - j]", "row[q, q]", "row[q, j] + row[q, 0]", "row[j % 4, j % 8]"}) {
    CAPTURE(read);
    const Diagnostic d = says_not(own_rows(read), Target::Cuda);
    CHECK(d.code == "unsupported");
    CHECK(d.text.find("`row` is private, but written at the number of its work-item") !=
          std::string::npos);
  }
  // Counted from another first value, the element is another work-item's.
  std::string shifted = own_rows("row[q, j]", "[4, 9]");
  shifted.replace(shifted.find("0 <= i, j < 8"), 13, "0 <= i < 8 and 1 <= j < 9");
  shifted.replace(shifted.find("y[r, q, j]"), 10, "y[r, q, j - 1]");
  CHECK(says_not(shifted, Target::Cuda).code != "");
  // Along one axis of the group there is one axis of the array.
  std::string twice = own_rows("row[j, j]", "[8, 8]");
  twice.replace(twice.find("row[p, i] = 2*x[r, p, i]"), 24, "row[i, i] = 2*x[r, 0, i]");
  CHECK(says_not(twice, Target::OpenCL).code == "unsupported");
}
