#include "scripts/automatic.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdlib>

#include "core/base/diagnostic.h"
#include "core/model/print.h"
#include "core/order/check_kernel.h"
#include "core/order/reference.h"
#include "frontends/text/parse.h"
#include "tests/differential/pairs.h"
#include "tests/differential/random_claims.h"
#include "tests/differential/random_kernel.h"
#include "tests/differential/random_memory.h"
#include "tests/differential/random_records.h"
#include "tests/differential/random_recurrences.h"
#include "tests/differential/random_reductions.h"
#include "tests/differential/random_scans.h"
#include "transforms/registry.h"

/// Random kernels with the schedules that `lp.auto` writes: they are legal, their scripts replay to
/// the same kernel, there is code for them, and it computes the same. MOONLOOP_PAIRS says how many
/// (150), MOONLOOP_SEED the first one.
namespace moonloop::differential {
namespace {

Opening random_opening(Random& random, std::uint64_t seed) {
  const std::string name = fmt::format("k{}", seed);
  Opening opening{random_kernel(random, name), {}};
  const int choice = random.below(100);
  if (choice < 10) opening.text = with_records(random, opening.text);
  if (choice >= 10 && choice < 20) opening = random_claims(random, name);
  if (choice >= 20 && choice < 30) opening = random_scans(random, name);
  if (choice >= 25 && choice < 30) opening.steps.clear();  // it is to find them
  if (choice >= 30 && choice < 50) opening.text = with_layouts(seed, opening.text);
  if (choice >= 50 && choice < 70) opening.text = random_reductions(random, name);
  if (choice >= 85) opening.text = random_recurrences(random, name);
  return opening;
}

Kernel replayed(const std::string& script, const Kernel& k) {
  return run_transform_script(add_source("script of " + k.name, script), {k}, {}).at(0);
}

/// Nothing where the seed gives no valid kernel. `steps` counts those of the schedule.
std::optional<Pair> scheduled(std::uint64_t seed, Target target, std::vector<Problem>& problems,
                              long& steps) {
  Random random(seed ^ 0x6175746fu);
  const Opening opening = random_opening(random, seed);
  Pair out{seed, opening.text, opening.steps, {}, {}, {}};
  bool has = false;
  try {
    out.original = parse_kernels(add_source(fmt::format("seed {}", seed), opening.text)).at(0);
    for (const Call& c : opening.steps)
      out.original = run_op(*find_op(c.name), out.original, c.positional, c.options);
    check_legal(complete(out.original));
    has = has_code(out.original, target);
    generate(out.original, target);
  } catch (const Error& e) {
    if (has)
      problems.push_back(
          {seed,
           fmt::format("{}: has_code() knows better: {}", to_string(target), e.diagnostic().text),
           opening.text, opening.steps});
    return std::nullopt;
  }
  std::map<std::string, std::int64_t> params;  // what `auto` is told, not what is run
  if (random.chance(50)) params["n"] = random.chance(50) ? 1000 : random.chance(50) ? 128 : 12;
  std::string script;
  try {
    Automatic a = automatic(out.original, target, {.params = params}, {});
    script = a.script;
    steps += static_cast<long>(a.kernel.trace.size() - out.original.trace.size());
    check_legal(a.kernel);
    if (automatic(out.original, target, {.params = params}, {}).script != script)
      throw std::runtime_error("another script the second time");
    if (generate(replayed(script, out.original), target).source !=
        generate(a.kernel, target).source)
      throw std::runtime_error("the script makes another kernel");
    out.result = std::move(a.kernel);
  } catch (const std::exception& e) {
    problems.push_back({seed, fmt::format("{}: {}\n{}", to_string(target), e.what(), script),
                        opening.text, opening.steps});
    return std::nullopt;
  }
  return out;
}

long given_number(const char* name, long otherwise) {
  const char* given = std::getenv(name);
  return given ? std::strtol(given, nullptr, 10) : otherwise;
}

/// `target_of(seed)`: what a kernel is scheduled for; `run`: compares what was made.
template <class TargetOf, class Run>
void schedule_kernels(long wanted, std::size_t batch, TargetOf target_of, Run run) {
  const auto first = static_cast<std::uint64_t>(given_number("MOONLOOP_SEED", 1));
  Statistics statistics;
  std::vector<Problem> problems;
  std::vector<Pair> pairs;
  long steps = 0, kernels = 0;
  for (long n = 0; n < wanted; ++n) {
    const std::uint64_t seed = first + static_cast<std::uint64_t>(n);
    if (std::getenv("MOONLOOP_VERBOSE")) fmt::print("seed {}\n", seed), std::fflush(stdout);
    if (auto p = scheduled(seed, target_of(seed), problems, steps)) pairs.push_back(std::move(*p));
    if (pairs.size() < batch && n + 1 < wanted) continue;
    kernels += static_cast<long>(pairs.size());
    run(pairs, statistics, problems);
    pairs.clear();
  }
  fmt::print("{} of {} kernels, {} steps\n{}", kernels, wanted, steps, statistics.str());
  for (const Problem& p : problems) fmt::print("\n{}", p.str());
  CHECK(problems.empty());
  if (wanted >= 50) {
    CHECK(kernels > wanted / 2);
    CHECK(steps > kernels);
  }
}

}  // namespace

TEST_CASE("differential: automatic schedules compute the same") {
  ::setenv("OMP_NUM_THREADS", "3", 1);
  schedule_kernels(
      given_number("MOONLOOP_PAIRS", 150), 50,
      [](std::uint64_t seed) { return seed % 2 == 0 ? Target::C : Target::OpenMP; }, run_pairs);
}

TEST_CASE("differential: devices: automatic schedules compute the same") {
  ::setenv("POCL_WORK_GROUP_METHOD", "workitemrepl", 0);
  const char* device = std::getenv("MOONLOOP_DEVICE_TARGET");
  const Target target = parse_target(device ? device : "opencl").value();
  schedule_kernels(
      given_number("MOONLOOP_PAIRS", 60), 1, [&](std::uint64_t) { return target; }, run_on_device);
}

}  // namespace moonloop::differential
