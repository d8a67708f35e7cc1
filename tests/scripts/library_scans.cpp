#include "reports/report.h"
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
        "bad argument #4 to 'scan' (1 is less than 2)");
  CHECK(wrong("y[i], q[i] = argmin(j, x[j], j)").code == "two-valued");
  CHECK_NOTHROW(wrong("y[i] = sum(l, x[l])"));
  CHECK_NOTHROW(wrong("y[i] = sum(j, x[i - j])"));
}
