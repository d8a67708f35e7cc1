#include <doctest/doctest.h>

#include <cstdlib>

#include "core/order/reference.h"
#include "frontends/text/parse.h"
#include "tests/batches.h"
#include "tests/differential/pairs.h"
#include "tests/differential/random_kernel.h"

/// Random kernels in batches are the kernels alone, once for each. MOONLOOP_PAIRS says how many
/// (150), MOONLOOP_SEED the first one.
namespace moonloop::differential {
namespace {

/// What differs by batch: all that is written, and some of what is only read.
std::vector<std::string> some_arguments(const Kernel& k, Random& random) {
  std::set<std::string> written;
  for (const InsnPtr& i : k.instructions) written.merge(writes(*i));
  std::vector<std::string> out;
  for (const Argument& a : k.args)
    if (a.is_array && (written.contains(a.name) || random.chance(60))) out.push_back(a.name);
  return out;
}

long number_from(const char* variable, long otherwise) {
  const char* const text = std::getenv(variable);
  return text ? std::strtol(text, nullptr, 10) : otherwise;
}

}  // namespace

TEST_CASE("differential: batches are what the kernel does for each alone") {
  const long first = number_from("MOONLOOP_SEED", 1), pairs = number_from("MOONLOOP_PAIRS", 150);
  int ran = 0;
  for (long seed = first; seed < first + pairs; ++seed) {
    Random random(static_cast<std::uint64_t>(seed));
    const std::string text = random_kernel(random, "k");
    CAPTURE(seed);
    CAPTURE(text);
    std::optional<Kernel> k;
    try {
      k = complete(parse_kernels(add_source("random.loop", text)).at(0));
      check_legal(*k);
    } catch (const Error&) { continue; }
    const BatchOptions how{.args = some_arguments(*k, random), .inside = random.chance(50)};
    for (const std::string& n : run_sizes(*k)) {
      CHECK(test::different_batch(*k, how, {{"n", std::atoi(n.c_str())}}) == "");
      ++ran;
    }
  }
  CHECK(ran >= pairs);
}

}  // namespace moonloop::differential
