#include <cstdlib>

#include "reports/report.h"
#include "tests/differential/random.h"
#include "tests/scripts/with_library.h"

/// `lib.scan`, a scan by all groups of a device.

using namespace moonloop;        // NOLINT
using namespace moonloop::test;  // NOLINT

namespace {

/// The first block alone, a few blocks, and more than one group scans at a time.
const std::vector<GivenValues> kScanSizes{{{"n", "1"}, {"m", "2"}},
                                          {{"n", "12"}, {"m", "1"}},
                                          {{"n", "37"}, {"m", "2"}},
                                          {{"n", "301"}, {"m", "1"}}};
const char* const kScan = "lib.scan(scan, 'add', 'i', {items = 4, each = 3, start_items = 4})";

}  // namespace

TEST_CASE("library: scan runs on all groups, for each operation and type") {
  struct Row {
    const char *type, *value, *terms;
  };
  for (const auto& [type, value, terms] :
       std::vector<Row>{{"float32", "sum(j, x[j])", "j <= i"},
                        {"float64", "sum(j, x[j])", "j < i"},
                        {"int32", "sum(j, x[j])", "j <= i + 2"},
                        {"int64", "max(j, x[j])", "j <= i"},
                        {"float64", "min(j, x[j])", "j < i"},
                        {"float32", "1 + 2*product(j, 0.9 + 0.1*x[j]*x[j + 1])", "j <= i"}}) {
    CAPTURE(value);
    CAPTURE(terms);
    const std::string scan = std::string("kernel scan(n: int32, m: int32, x: in ") + type +
                             "[n + 3], y: out " + type +
                             "[n])\ndomain {[i]: 0 <= i < n}\ndomain {[j]: 0 <= j and " + terms +
                             "}\nassume m >= 0\ny[i] = " + value + "   {id=add}\n";
    const Kernel k = with_library(scan, std::string("scan = ") + kScan);
    CHECK(k.iname_tags.at("i_block").text == "g.0");
    CHECK(k.iname_tags.at("i_part").text == "g.0");
    CHECK(k.iname_tags.at("i_item_block").text == "l.0");
    CHECK(generate(k, Target::OpenCL).device->kernels.size() == 3);
    verify(scan, k, kScanSizes, {Target::OpenCL});
  }
}

TEST_CASE("library: scan of two values, such as sums that begin again where a flag is set") {
  struct Row {
    const char *type, *assigned, *value, *terms;
  };
  for (const auto& [type, assigned, value, terms] : std::vector<Row>{
           {"float32", "y[i], <> seen", "reduce(segmented(sum), j, x[j], b[j] % 9 == 0)", "j <= i"},
           {"float64", "y[i], f[i]", "reduce(segmented(max), j, x[j], b[j] % 9 == 0)", "j < i"},
           {"int32", "y[i], f[i]", "reduce(segmented(product), j, 1 - 2*(x[j] % 2), b[j] % 5 == 0)",
            "j <= i"},
           {"int64", "y[i], <> seen", "reduce(segmented(min), j, x[j], b[j] % 9 == 0)",
            "j <= i + 2"},
           {"float64", "y[i], q[i]", "argmax(j, x[j], j)", "j <= i"}}) {
    CAPTURE(std::string(value));
    const std::string scan =
        std::string("kernel scan(n: int32, m: int32, x: in ") + type + "[n + 3], y: out " + type +
        "[n], b: in int32[n + 3], q: inout int32[n], f: inout bool[n])\n"
        "domain {[i]: 0 <= i < n}\ndomain {[j]: 0 <= j and " +
        terms + "}\nassume m >= 0\n" + assigned + " = " + value + "   {id=add}\n";
    const Kernel k = with_library(scan, std::string("scan = ") + kScan);
    CHECK(k.iname_tags.at("i_block").text == "g.0");
    CHECK(k.iname_tags.at("i_part").text == "g.0");
    CHECK(generate(k, Target::OpenCL).device->kernels.size() == 3);
    verify(scan, k, kScanSizes, {Target::OpenCL});
    for (const std::string tag : {"par", "g.0"}) {
      const Kernel blocks = with_library(
          scan, "scan = lib.scan_in_blocks(scan, 'add', 'i', {size = 8, tag = '" + tag + "'})");
      verify(scan, blocks, kScanSizes,
             tag == "par" ? std::vector{Target::C, Target::OpenMP} : std::vector{Target::OpenCL});
    }
  }
}

TEST_CASE("library: scan in rows, backwards, and of terms read through an index") {
  const std::string rows =
      "kernel scan(n: int32, m: int32, x: in float32[m, n], y: out float32[m, n])\n"
      "domain {[r, i]: 0 <= i < n and 0 <= r < m}\ndomain {[j]: 0 <= j <= i}\n"
      "y[r, n - 1 - i] = sum(j, x[r, n - 1 - j])   {id=add}\n";
  verify(rows, with_library(rows, std::string("scan = ") + kScan), kScanSizes, {Target::OpenCL});
  const std::string indirect =
      "kernel scan(n: int32, m: int32, d: in int32[n], x: in float32[16], y: out float32[n])\n"
      "domain {[i]: 0 <= i < n}\ndomain {[j]: 0 <= j <= i}\nassume m >= 0\n"
      "y[i] = sum(j, x[d[j] % 16])   {id=add}\n";
  const Kernel k = with_library(indirect, std::string("scan = ") + kScan);
  CHECK(k.find_temporary("d_fetch")->space == AddressSpace::Local);
  CHECK(!k.find_temporary("x_fetch"));
  verify(indirect, k, kScanSizes, {Target::OpenCL});
}

TEST_CASE("library: terms and results of scan go through local memory, coalesced") {
  const std::string scan =
      "kernel scan(n: int32, x: in float32[n], y: out float32[n])\n"
      "domain {[i]: 0 <= i < n}\ndomain {[j]: 0 <= j <= i}\ny[i] = sum(j, x[j])   {id=add}\n";
  const Kernel k = with_library(scan, "scan = lib.scan(scan, 'add', 'i')");
  const std::string code = generate(k, Target::Cuda).source;
  CHECK(code.find("y[y_store_0_inner + 256*y_store_0_outer + 2304*i_block] =\n") !=
        std::string::npos);
  CHECK(code.find("x_fetch[x_dim_0_inner + 256*x_dim_0_outer] =\n"
                  "          x[x_dim_0_inner + 256*x_dim_0_outer + 2304*i_block];") !=
        std::string::npos);
  CHECK(code.find("add_results[i_item_item + 9*i_item_block] = ") != std::string::npos);
  CHECK(code.find("y_init") == std::string::npos);
}

TEST_CASE("library: what scan refuses") {
  const std::string scan =
      "kernel scan(n: int32, x: float64[n], y: float64[n], q: int32[n])\n"
      "domain {[i]: 0 <= i < n}\ndomain {[j, k]: 0 <= j, k <= i}\ndomain {[l]: i <= l < n}\n";
  const auto wrong = [&](const std::string& statement, const std::string& options = "") {
    return failure(scan + statement + "   {id=add}\n",
                   "local lib = require 'moonloop.lib'\nlib.scan(scan, 'add', 'i'" + options + ")");
  };
  CHECK(wrong("y[i] = 2*x[i]").text ==
        "bad argument #2 to 'scan' (instruction 'add' has reductions over 0 inames, not one)");
  CHECK(wrong("y[i] = sum(j, x[j])", ", {items = 1}").text ==
        "bad argument #4 to 'scan' (1 is less than 4)");
  CHECK_NOTHROW(wrong("y[i] = sum(l, x[l])"));
  CHECK_NOTHROW(wrong("y[i] = sum(j, x[i - j])"));
}

TEST_CASE("library: scans at random") {
  const char* const seed = std::getenv("MOONLOOP_SEED");
  const char* const pairs = std::getenv("MOONLOOP_PAIRS");
  for (int n = 0; n < (pairs ? std::atoi(pairs) : 3); ++n) {
    const auto number = static_cast<std::uint64_t>((seed ? std::atoll(seed) : 1) + n);
    differential::Random r(number);
    CAPTURE(number);
    const std::string type = r.pick({"int32", "int64", "float32", "float64"});
    const bool whole = type.starts_with("int");
    const std::string term = whole ? r.pick({"x[j]", "x[j + 2] - 3", "d[j % 5]*x[j]"})
                                   : r.pick({"x[j]", "0.5*x[j + 1]", "x[d[j] % 7]"});
    std::string assigned = "y[i]", value;
    switch (r.below(8)) {
      default: value = "sum(j, " + term + ")"; break;
      case 2: value = r.pick({"reduce(max, j, ", "reduce(min, j, "}) + term + ")"; break;
      case 3: value = whole ? "product(j, 1 - 2*(x[j] % 2))" : "product(j, 0.9 + 0.1*x[j])"; break;
      case 4: value = "1 + 2*sum(j, " + term + ")"; break;
      case 5:
        assigned += ", q[i]";
        value = r.pick({"argmin(j, ", "argmax(j, "}) + term + ", j)";
        break;
      case 6:
      case 7:
        assigned += r.pick({", <> seen", ", f[i]"});
        value = "reduce(segmented(" + r.pick({"sum", "max", "min"}) + "), j, " + term +
                ", d[j] % " + r.pick({"2", "7", "90"}) + " == 0)";
    }
    const std::string terms = r.pick({"j <= i", "j <= i", "j < i", "j <= i + 2"});
    const bool rows = r.chance(20);
    std::string scan = "kernel scan(n: int32, m: int32, d: in int32[n + 3], x: in " + type +
                       "[n + 9], y: out " + type + "[n], q: inout int32[n], f: inout bool[n])\n" +
                       "domain {[i]: 0 <= i < n}\ndomain {[j]: 0 <= j and " + terms + "}\n" +
                       "assume m >= 0\n" + assigned + " = " + value + "   {id=add}\n";
    if (rows && assigned == "y[i]") {
      for (const auto& [from, to] :
           {std::pair{"x: in " + type + "[n + 9]", "x: in " + type + "[n + 9]"},
            {"y: out " + type + "[n]", "y: out " + type + "[m, n]"},
            {std::string("{[i]: 0 <= i < n}"), std::string("{[r, i]: 0 <= r < m and 0 <= i < n}")},
            {std::string("y[i] ="), std::string("y[r, i] = r +")}})
        scan.replace(scan.find(from), from.size(), to);
    }
    CAPTURE(scan);
    const auto options = [&] {
      return "items = " + std::to_string(1 << r.between(2, 4)) +
             ", each = " + std::to_string(r.between(2, 6)) +
             ", start_items = " + std::to_string(1 << r.between(2, 3));
    };
    const std::string step =
        r.chance(70)
            ? "lib.scan(scan, 'add', 'i', {" + options() + "})"
            : "lib.scan_in_blocks(scan, 'add', 'i', {size = " + std::to_string(r.between(2, 9)) +
                  ", tag = '" + r.pick({"par", "g.0"}) + "'})";
    CAPTURE(step);
    const Kernel k = with_library(scan, "scan = " + step);
    const auto sized = [](int size, int m) {
      return GivenValues{{"n", std::to_string(size)}, {"m", std::to_string(m)}};
    };
    verify(scan, k, {sized(r.between(1, 12), 2), sized(r.between(13, 200), 1)},
           step.find("'par'") == std::string::npos
               ? std::vector{Target::C, Target::OpenMP, Target::OpenCL}
               : std::vector{Target::C, Target::OpenMP});
  }
}
