#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdlib>

#include "tests/differential/pairs.h"
#include "tests/nvcc.h"

/// Random kernels times random chains of transforms.
///
/// Settings in the environment: MOONLOOP_PAIRS how many pairs (500 on hosts, 300 on a device; 0:
/// until one fails), MOONLOOP_DEVICE_TARGET `opencl` (unless set) or `cuda`, MOONLOOP_SEED the
/// first seed (1), MOONLOOP_SHRINK prints small cases, MOONLOOP_VERBOSE prints invalid kernels and
/// each trial or run beforehand.
using namespace moonloop::differential;

namespace {

long setting(const char* name, long otherwise) {
  const char* given = std::getenv(name);
  return given ? std::strtol(given, nullptr, 10) : otherwise;
}

}  // namespace

TEST_CASE("differential: what is accepted computes the same, and what is refused would not") {
  ::setenv("OMP_NUM_THREADS", "3", 1);
  const long wanted = setting("MOONLOOP_PAIRS", 500);
  auto seed = static_cast<std::uint64_t>(setting("MOONLOOP_SEED", 1));
  constexpr std::size_t batch = 50;
  Statistics statistics;
  std::vector<Problem> problems;
  long done = 0;
  while (wanted == 0 ? problems.empty() : done < wanted) {
    std::vector<Pair> pairs;
    for (; pairs.size() < batch && (wanted == 0 || done + static_cast<long>(pairs.size()) < wanted);
         ++seed)
      if (auto p = make_pair(seed, Flavour::Host, statistics, problems))
        pairs.push_back(std::move(*p));
    run_pairs(pairs, statistics, problems);
    done += static_cast<long>(pairs.size());
    if (wanted == 0) fmt::print("{} pairs, seed {}\n", done, seed);
  }
  fmt::print("{} pairs\n{}", done, statistics.str());
  for (const Problem& p : problems)
    fmt::print("\n{}", std::getenv("MOONLOOP_SHRINK") ? shrink(p).str() : p.str());
  CHECK(problems.empty());

  // A checker that refuses everything is not a checker.
  Tally all;
  for (const auto& [name, t] : statistics.by_transform) {
    all.accepted += t.accepted;
    all.refused += t.refused;
  }
  if (wanted >= 100) {
    CHECK(all.accepted > 2 * wanted);
    CHECK(all.refused > wanted / 10);
  }
}

TEST_CASE("differential: devices: what is accepted computes the same") {
  // PoCL 3.1's loops over work-items run some statements twice (seed 475 of 2026-11-23: an update
  // of an element by the first item along axis 1, before a barrier); its copies of the code do not.
  ::setenv("POCL_WORK_GROUP_METHOD", "workitemrepl", 0);
  const long wanted = setting("MOONLOOP_PAIRS", 300);
  auto seed = static_cast<std::uint64_t>(setting("MOONLOOP_SEED", 1));
  Statistics statistics;
  std::vector<Problem> problems;
  while (wanted == 0 ? problems.empty() : statistics.run < wanted) {
    if (auto p = make_pair(seed++, Flavour::Device, statistics, problems))
      run_on_device({std::move(*p)}, statistics, problems);
    if (wanted == 0 && seed % 50 == 0) fmt::print("{} ran, seed {}\n", statistics.run, seed);
  }
  fmt::print("{} ran of {} seeds, {} kernels, {} barriers\n{}", statistics.run, seed,
             statistics.launches, statistics.barriers, statistics.str());
  for (const Problem& p : problems)
    fmt::print("\n{}", std::getenv("MOONLOOP_SHRINK") ? shrink(p).str() : p.str());
  CHECK(problems.empty());
  const char* kind = std::getenv("MOONLOOP_KIND");
  if (wanted >= 100 && (!kind || !*kind)) {  // some kinds seldom have work-items that wait
    CHECK(statistics.launches > statistics.run);
    CHECK(statistics.barriers > statistics.run / 10);
  }
  const auto complaint = moonloop::test::nvcc_complaint(statistics.cuda);
  if (complaint)
    CHECK(*complaint == "");
  else
    MESSAGE("there is no nvcc: the CUDA code of the chains was not compiled");
}
