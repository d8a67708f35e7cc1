// add_inames_to_insn and remove_inames_from_insn on small kernels made at random: what is accepted
// computes the same.
#include <optional>
#include <random>

#include "tests/transforms/loop_kit.h"
#include "tests/transforms/same_values.h"
#include "transforms/add_inames_to_insn.h"
#include "transforms/remove_inames_from_insn.h"

using namespace moonloop;

namespace {

/// Three statements in some of two loops; most use fewer of them than they are in.
std::string small_kernel(std::mt19937& random) {
  const auto pick = [&](std::vector<std::string> from) { return from[random() % from.size()]; };
  std::string out =
      "kernel k(n: int32, a: inout int32[n + 1], b: inout int32[n + 1], c: inout int32[n + 1])\n";
  out += random() % 2 ? "domain {[i]: 0 <= i < n}\ndomain {[j]: 0 <= j < n}\n"
                      : "domain {[i, j]: 0 <= j <= i < n}\n";
  if (random() % 2) out += "assume n >= 1\n";
  const bool together = random() % 2;
  const std::string around = pick({"i", "i:j", "j"});
  for (int s = 0; s < 3; ++s) {
    const std::string loops = together ? around : pick({"i", "j", "i:j"});
    std::vector<std::string> places{"0", "1"};
    for (const char* name : {"i", "j"})
      if (loops.find(name) != std::string::npos) {
        places.emplace_back(name);
        places.push_back(std::string(name) + " + 1");
      }
    out += fmt::format("{}[{}] = {}[{}] + {}{}   {{id=s{}, inames={}}}\n", pick({"a", "b", "c"}),
                       pick(places), pick({"a", "b", "c"}), pick(places), s,
                       random() % 4 ? "" : fmt::format(" + {}", pick(places)), s, loops);
  }
  return out;
}

}  // namespace

TEST_CASE("loops around single statements at random: what is accepted computes the same") {
  std::mt19937 random(7);
  int added = 0, removed = 0, refused = 0;
  for (int n = 0; n < 250; ++n) {
    const std::string text = small_kernel(random);
    CAPTURE(text);
    std::optional<Kernel> k;
    try {
      k = parsed(text);
      nest(*k);
    } catch (const Error&) { continue; }
    for (const char* id : {"s0", "s1", "s2", "s0 or s1"})
      for (const char* iname : {"i", "j"})
        for (const bool adds : {true, false}) {
          std::optional<Kernel> out;
          try {
            out = adds ? add_inames_to_insn(*k, {iname}, Match::parse(id))
                       : remove_inames_from_insn(*k, {iname}, Match::parse(id), random() % 2 != 0);
          } catch (const Refused&) {
            ++refused;
            continue;
          }
          if (tree(*out) == tree(*k)) continue;  // they are in these loops already
          ++(adds ? added : removed);
          CAPTURE(id);
          CAPTURE(iname);
          CAPTURE(adds);
          for (const std::int64_t size : {0, 1, 2, 4}) {
            if (size == 0 && k->assumptions) continue;
            CAPTURE(size);
            CHECK(same_values(*k, *out, {{"n", size}}));
          }
        }
  }
  MESSAGE(added << " added, " << removed << " removed, " << refused << " refused");
  CHECK(added > 100);
  CHECK(removed > 50);
  CHECK(refused > 100);
}
