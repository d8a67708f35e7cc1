#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

#include "core/base/diagnostic.h"
#include "core/order/check_kernel.h"
#include "cost/acm.h"
#include "frontends/text/parse.h"
#include "tests/differential/pairs.h"
#include "tests/differential/random_kernel.h"
#include "transforms/registry.h"

/// Predicted times of random kernels, as written and after random steps: for every target there is
/// one, or an error of the kernel; its parts add up, and the same question has the same answer.
/// MOONLOOP_PAIRS says how many (120), MOONLOOP_SEED the first one.
namespace moonloop::differential {
namespace {

cost::MachineProfile assumed(bool gpu) {
  cost::MachineFacts f;
  f.device = "Example";
  f.is_gpu = gpu;
  f.units = 4;
  f.caches = {{1, 32 << 10, 64, false}, {2, 1 << 20, 64, true}};
  return cost::default_profile(f);
}

struct PredictedKernels {
  int predictions = 0, without = 0;
  std::vector<std::string> problems;
};

void check_cost(const Kernel& k, Target target, const std::string& about, PredictedKernels& out) {
  const auto problem = [&](const std::string& what) {
    out.problems.push_back(fmt::format("{}: {}\n{}", to_string(target), what, about));
  };
  const bool gpu = target == Target::OpenCL || target == Target::Cuda;
  cost::PredictOptions options;
  for (const std::string& i : k.inames()) options.trips[i] = 3;
  Integers params;
  for (const Argument& a : complete(k).args)
    if (!a.is_array && a.type && !a.type->is_record() && is_integer(a.type->scalar))
      params[a.name] = 40;
  try {
    const cost::Work work = cost::work_of(k, target);
    const cost::Prediction p = cost::predict(work, params, assumed(gpu), options);
    ++out.predictions;
    double sum = 0;
    for (const cost::Bound& b : p.bounds) {
      sum += b.binding;
      if (!(b.seconds >= 0) || !(b.binding >= 0) || b.binding > b.seconds * (1 + 1e-9))
        problem(fmt::format("{} takes {} s, of which {} s bind", b.name, b.seconds, b.binding));
    }
    if (!std::isfinite(p.seconds) || std::abs(sum - p.seconds) > 1e-9 * sum)
      problem(fmt::format("{} s, the parts {} s", p.seconds, sum));
    if (cost::predict(k, target, params, assumed(gpu), options).seconds != p.seconds)
      problem("another time at the second call");
    const cost::AcmMachine m = cost::acm_machine(assumed(false), assumed(true));
    if (!std::isfinite(cost::predict_acm(work, params, m, options).seconds))
      problem("no number from acm");
  } catch (const Error&) {
    ++out.without;  // what the target cannot express, sizes that overflow
  } catch (const std::exception& e) { problem(e.what()); }
}

void check_costs(std::uint64_t seed, PredictedKernels& out) {
  Random random(seed ^ 0x636f7374u);
  const std::string source = random_kernel(random, fmt::format("k{}", seed));
  const bool device = seed % 2 == 1;
  Kernel k;
  try {
    k = complete(parse_kernels(add_source(fmt::format("seed {}", seed), source)).at(0));
  } catch (const Error&) { return; }
  std::string about = fmt::format("seed {}\n{}", seed, source);
  for (int i = random.below(6); i > 0 && !k.inames().empty(); --i) {
    const Call c = random_step(random, k, device ? Flavour::Device : Flavour::Host);
    try {
      k = run_op(*find_op(c.name), k, c.positional, c.options, {}, Proof::Made);
      about += c.str() + "\n";
    } catch (const Error&) {}
  }
  for (const Target t : device ? std::vector{Target::C, Target::OpenCL, Target::Cuda}
                               : std::vector{Target::C, Target::OpenMP})
    check_cost(k, t, about, out);
}

}  // namespace

TEST_CASE("differential: predicted times are finite, made of their parts, and the same again") {
  const auto setting = [](const char* name, long otherwise) {
    const char* given = std::getenv(name);
    return given ? std::strtol(given, nullptr, 10) : otherwise;
  };
  const long wanted = setting("MOONLOOP_PAIRS", 120);
  const auto first = static_cast<std::uint64_t>(setting("MOONLOOP_SEED", 1));
  PredictedKernels all;
  for (long n = 0; n < wanted; ++n) check_costs(first + static_cast<std::uint64_t>(n), all);
  fmt::print("{} predictions, {} kernels without one\n", all.predictions, all.without);
  for (const std::string& p : all.problems) fmt::print("\n{}\n", p);
  CHECK(all.problems.empty());
  if (wanted >= 100) CHECK(all.predictions > wanted);
}

}  // namespace moonloop::differential
