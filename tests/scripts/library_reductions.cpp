#include "reports/report.h"
#include "tests/scripts/with_library.h"

/// `lib.reduce`, reductions by the form that they have.

using namespace moonloop;        // NOLINT
using namespace moonloop::test;  // NOLINT

namespace {

/// Sizes that no group, row of work-items or chunk divides, empty ones and single ones.
const std::vector<GivenValues> kReducedSizes{{{"a", "1"}, {"b", "1"}, {"c", "1"}},
                                             {{"a", "37"}, {"b", "3"}, {"c", "35"}},
                                             {{"a", "5"}, {"b", "70"}, {"c", "9"}},
                                             {{"a", "2"}, {"b", "0"}, {"c", "4"}}};

std::string sums(const std::string& place, const std::string& value,
                 const std::string& type = "float64") {
  return "kernel sums(a: int32, b: int32, c: int32, x: in " + type + "[a, b, c], y: out " + type +
         "[a + 1, b + 1, c + 1])\ndomain {[i, j, k]: 0 <= i < a and 0 <= j < b and 0 <= k < c}\n" +
         "assume a >= 0 and b >= 0 and c >= 0\ny[" + place + "] = " + value + "   {id=add}\n";
}

}  // namespace

TEST_CASE("library: reduce of each set of axes, by each strategy") {
  struct Row {
    const char *place, *value, *type;
    bool rows;
  };
  const std::vector<Row> rows{
      {"i, j, 0", "sum(k, x[i, j, k])", "float32", true},
      {"i, 0, k", "max(j, x[i, j, k])", "float64", false},
      {"0, j, k", "sum(i, x[i, j, k])", "int32", false},
      {"i, 0, 0", "min((j, k), x[i, j, k])", "int64", true},
      {"0, j, 0", "1 + 2*sum((i, k), x[i, j, k]*x[i, j, k])", "float64", true},
      {"0, 0, k", "product((i, j), 0.9 + 0.1*x[i, j, k])", "float32", false},
  };
  for (const Row& r : rows)
    for (const char* strategy : {"group", "warp", "two_stage"}) {
      if (!r.rows && strategy == std::string("warp")) continue;
      const std::string kernel = sums(r.place, r.value, r.type);
      CAPTURE(r.value);
      CAPTURE(strategy);
      const Kernel k = with_library(
          kernel, std::string("sums = lib.reduce(sums, 'add', {size = 32, lanes = 8, rows = 4, "
                              "chunk = 6, strategy = '") +
                      strategy + "'})");
      verify(kernel, k, kReducedSizes, {Target::OpenCL});
      CHECK(generate(k, Target::OpenCL).device->kernels.size() ==
            (strategy == std::string("two_stage") ? 2 : 1));
    }
  const std::string all = sums("0, 0, 0", "sum((i, j, k), x[i, j, k])");
  const Kernel k = with_library(all, "sums = lib.reduce(sums, 'add', {size = 16})");
  verify(all, k, kReducedSizes, {Target::OpenCL});
  CHECK(generate(k, Target::OpenCL).device->kernels.size() == 2);
}

TEST_CASE("library: reduce chooses the strategy by the sizes") {
  const auto tags = [&](const std::string& place, const std::string& value,
                        const std::string& params) {
    const Kernel k = with_library(sums(place, value),
                                  "sums = lib.reduce(sums, 'add', {params = {" + params + "}})");
    std::string out;
    for (const auto& [iname, tag] : k.iname_tags) out += iname + ":" + tag.text + " ";
    return out;
  };
  // many rows: a warp each, eight in a group; short ones: a part of a warp
  CHECK(tags("i, j, 0", "sum(k, x[i, j, k])", "a = 400, b = 400, c = 500") ==
        "i:g.1 j_inner:l.1 j_outer:g.0 k_inner:l.0 ");
  const Kernel part =
      with_library(sums("i, j, 0", "sum(k, x[i, j, k])"),
                   "sums = lib.reduce(sums, 'add', {params = {a = 400, b = 400, c = 60}})");
  CHECK(print_kernel(part).find("0 <= k_inner <= 7") != std::string::npos);
  // some rows: a group each; columns: 32 a group
  CHECK(tags("i, j, 0", "sum(k, x[i, j, k])", "a = 40, b = 40, c = 5000") ==
        "i:g.1 j:g.0 k_inner:l.0 ");
  CHECK(tags("i, 0, k", "sum(j, x[i, j, k])", "a = 100, b = 50, c = 300") ==
        "i:g.1 j_inner:l.1 k_inner:l.0 k_outer:g.0 ");
  // few rows, few columns, an axis between others: several groups share each
  CHECK(tags("i, 0, 0", "sum((j, k), x[i, j, k])", "a = 4, b = 4000, c = 500") ==
        "i:g.0 i_0_inner:l.0 i_0_outer:g.0 j_outer:g.1 j_outer_0_inner:l.1 k_inner:l.0 ");
  CHECK(
      tags("0, 0, k", "sum((i, j), x[i, j, k])", "a = 400, b = 400, c = 50").find("i_outer:g.1") !=
      std::string::npos);
}

TEST_CASE("library: several reductions with the same loops take one pass") {
  const std::string statistics =
      "kernel statistics(a: int32, b: int32, c: int32, x: in float64[a, b], y: out float64[2, b])\n"
      "domain {[i, r]: 0 <= i < b and 0 <= r < a}\nassume c >= 0\ntemp mean: float64\n"
      "temp squares: float64\nfor i\n  mean = sum(r, x[r, i] - x[0, i])/a   {id=first}\n"
      "  squares = sum(r, (x[r, i] - x[0, i])**2)/a   {id=second}\n"
      "  y[0, i] = x[0, i] + mean\n  y[1, i] = squares - mean**2\nend\n";
  for (const char* strategy : {"group", "two_stage"}) {
    const Kernel k = with_library(
        statistics, std::string("statistics = lib.reduce(statistics, {'first', 'second'}, "
                                "{size = 32, lanes = 8, chunk = 5, strategy = '") +
                        strategy + "'})");
    verify(statistics, k, kReducedSizes, {Target::OpenCL});
    const std::string code = generate(k, Target::OpenCL).source;
    std::size_t loops = 0;
    for (std::size_t at = 0; (at = code.find("for (int r_", at)) != std::string::npos; ++at)
      ++loops;
    CHECK(loops == (strategy == std::string("group") ? 1 : 2));
  }
}

TEST_CASE("library: what reduce refuses") {
  const std::string two =
      "kernel two(n: int32, x: in float64[n, n], y: out float64[n], z: out float64[n])\n"
      "domain {[i, j]: 0 <= i, j < n}\ny[i] = sum(j, x[i, j])   {id=rows}\n"
      "z[j] = sum(i, x[i, j])   {id=columns}\nz[j] = 2*z[j]   {id=last}\n";
  const auto wrong = [&](const std::string& arguments) {
    return refusal(two, "lib.reduce(two, " + arguments + ")").text;
  };
  CHECK(wrong("'row'") == "bad argument #2 to 'reduce' (the kernel has no instruction 'row')");
  CHECK(wrong("{}") == "bad argument #2 to 'reduce' (no instruction is given)");
  CHECK(wrong("{'rows', 'row'}") ==
        "bad argument #2 to 'reduce' (the kernel has no instruction 'row')");
  CHECK(wrong("'rows', {params = {m = 7}}") ==
        "bad argument #3 to 'reduce' (the kernel has no size 'm'; it has n)");
  CHECK(wrong("'rows', {params = 7}") ==
        "bad argument #3 to 'reduce' (table of sizes by name expected, got number)");
  CHECK(wrong("'last'") == "bad argument #2 to 'reduce' (instruction 'last' reduces nothing)");
  CHECK(wrong("{'rows', 'columns'}") ==
        "bad argument #2 to 'reduce' (instructions 'rows' and 'columns' have different loops)");
  CHECK(wrong("'rows', {strategy = 'tree'}") ==
        "bad argument #3 to 'reduce' (no strategy 'tree'; there are auto, group, two_stage, warp)");
  CHECK(wrong("'columns', {strategy = 'warp'}") ==
        "bad argument #3 to 'reduce' ('columns' has no rows along memory that warps could have)");
  CHECK(wrong("'rows', {size = 0}") == "bad argument #3 to 'reduce' (0 is less than 1)");
  // rows of which each reads the one before
  const Diagnostic d = refusal(
      "kernel two(n: int32, x: in float64[n, n], y: float64[n])\n"
      "domain {[i, j]: 1 <= i < n and 0 <= j < n}\ny[i] = sum(j, x[i, j]*y[i - 1])   {id=rows}\n",
      "lib.reduce(two, 'rows')");
  CHECK(d.code == "races");
  CHECK(d.notes.size() >= 2);
}
