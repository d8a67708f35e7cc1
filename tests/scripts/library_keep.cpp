#include "tests/scripts/with_library.h"

/// `lib.keep`: what several loops read of an array, in registers of work-items.

using namespace moonloop;        // NOLINT
using namespace moonloop::test;  // NOLINT

namespace {

/// Rows shorter than what is kept, as long, and longer.
const std::vector<GivenValues> kKeptSizes{{{"n", "1"}, {"m", "1"}},  {{"n", "7"}, {"m", "3"}},
                                          {{"n", "16"}, {"m", "2"}}, {{"n", "41"}, {"m", "5"}},
                                          {{"n", "0"}, {"m", "3"}},  {{"n", "35"}, {"m", "9"}}};

const char* const kSoftmax =
    "kernel soft(m: int32, n: int32, x: in float32[m, n], y: out float32[m, n])\n"
    "domain {[r, j, k, l]: 0 <= r < m and 0 <= j, k, l < n}\nassume n >= 0\n"
    "temp most: float32\ntemp total: float32\n"
    "for r\n  most = max(j, x[r, j])\n  total = sum(k, exp(x[r, k] - most))\n"
    "  y[r, l] = exp(x[r, l] - most)/total\nend\n";

/// Two sums in one loop, elements that are apart, and an array that is read once.
const char* const kShares =
    "kernel share(m: int32, n: int32, x: in float64[m, 2*n + 1], g: in float64[n],\n"
    "             y: out float64[m, n])\n"
    "domain {[r, j, l]: 0 <= r < m and 0 <= j, l < n}\nassume n >= 0\n"
    "temp s: float64\ntemp t: float64\n"
    "for r\n  s = sum(j, x[r, 2*j + 1])\n  t = sum(j, x[r, 2*j + 1]*x[r, 2*j + 1] + x[r, 0])\n"
    "  y[r, l] = x[r, 2*l + 1]*s + t*g[l]\nend\n";

std::string cuda(const Kernel& k) { return generate(k, Target::Cuda).source; }

}  // namespace

TEST_CASE("library: keep has rows in registers") {
  struct Row {
    const char *kernel, *step, *kept;
  };
  const std::vector<Row> rows{
      {kSoftmax,
       "soft = lib.keep(soft, 'x', {'j', 'k', 'l'}, {lanes = 4, registers = 4})\n"
       "soft = lp.tag_inames(soft, {r = 'g.0'})",
       "float x_kept_0[4];"},
      {kSoftmax,
       "soft = lib.keep(soft, 'x', 'j, k, l', {lanes = 8, registers = 2, unroll = 4})\n"
       "soft = lp.split_iname(soft, 'r', 2, {outer_tag = 'g.0', inner_tag = 'l.1'})",
       "float x_kept_0[2];"},
      {kSoftmax,
       "soft = lib.keep(soft, 'x', 'l, j', {lanes = 16, registers = 1})\n"
       "soft = lp.split_iname(soft, 'k', 16, {inner_tag = 'l.0'})\n"
       "soft = lp.tag_inames(soft, {r = 'g.0'})",
       "float x_kept_0;"},
      {kShares,
       "share = lib.keep(share, 'x', 'j, l', {lanes = 4, registers = 3})\n"
       "share = lp.split_iname(share, 'r', 4, {outer_tag = 'g.0', inner_tag = 'l.1'})",
       "double x_kept_0[3];"},
  };
  for (const Row& r : rows) {
    CAPTURE(r.step);
    const Kernel k = with_library(r.kernel, r.step);
    CHECK(cuda(k).find(r.kept) != std::string::npos);
    verify(r.kernel, k, kKeptSizes, {Target::C, Target::OpenMP, Target::OpenCL});
  }
}

TEST_CASE("library: keep cuts no loops that fit, and sums of one loop stay in one") {
  std::string bounded = kSoftmax;
  bounded.replace(bounded.find("assume n >= 0"), 13, "assume 0 <= n <= 40");
  const Kernel k =
      with_library(bounded,
                   "soft = lib.keep(soft, 'x', 'j, k, l', {lanes = 8, registers = 5})\n"
                   "soft = lp.tag_inames(soft, {r = 'g.0'})");
  CHECK(cuda(k).find("for (int j") == std::string::npos);
  CHECK(!k.has_iname("l_from"));
  verify(bounded, k, {{{"n", "40"}, {"m", "3"}}, {{"n", "33"}, {"m", "2"}}}, {Target::OpenCL});
  const Kernel two = with_library(
      kShares, "share = lib.keep(share, 'x', 'j, l', {lanes = 4, registers = 3, unroll = 8})");
  CHECK(!two.has_iname("j_from_0"));
  CHECK(two.tag("j_from")->text == "unr_hint.8");
  CHECK(two.tag("l_from_outer")->text == "unr_hint.8");
}

TEST_CASE("library: keep refuses what has nothing to keep, or not at that place") {
  const auto says = [&](const char* kernel, const char* step, const char* text) {
    CHECK(refusal(kernel, step).text.find(text) != std::string::npos);
  };
  says(kSoftmax, "lib.keep(soft, 'z', 'j, k')", "the kernel has no array 'z'");
  says(kSoftmax, "lib.keep(soft, {}, 'j, k')", "no array is given");
  says(kSoftmax, "lib.keep(soft, 'x', 'j, j')", "loop 'j' is there twice");
  says(kSoftmax, "lib.keep(soft, 'x', 'j, q')", "kernel 'soft' has no iname 'q'");
  says(kSoftmax, "lib.keep(soft, 'x', 'j, r')",
       "no two of the loops read the same elements of 'x'");
  says(kSoftmax, "lib.keep(soft, 'x', 'j, k', {lanes = 0})", "0 is less than 1");
  says(kSoftmax, "lib.keep(soft, 'x', 'j, k', {width = 1})", "unknown option 'width'");
  says(kShares, "lib.keep(share, 'g', 'j, l')",
       "no two of the loops read the same elements of 'g'");
  // What is read a second time is something else by then.
  const Diagnostic stale = refusal(
      "kernel f(n: int32, x: inout float64[n], y: out float64[n])\n"
      "domain {[j, k, l]: 0 <= j, k, l < n}\ntemp s: float64\n"
      "s = sum(j, x[j])\nx[k] = s\ny[l] = x[l]\n",
      "lib.keep(f, 'x', 'j, l', {lanes = 4, registers = 2})");
  CHECK(stale.code == "stale-value");
  CHECK(stale.text.find("insn_0") != std::string::npos);
  // Work-items along the loop would race.
  const Diagnostic races = refusal(
      "kernel f(n: int32, x: in float64[n], y: inout float64[n + 1])\n"
      "domain {[j, k]: 0 <= j, k < n}\ntemp s: float64\n"
      "s = sum(j, x[j])\ny[k + 1] = y[k] + x[k]*s\n",
      "lib.keep(f, 'x', 'j, k', {lanes = 4, registers = 2})");
  CHECK(races.code == "races");
  CHECK(races.text.find("] writes y[") != std::string::npos);
}
