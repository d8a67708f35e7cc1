#include "cost/machine_profile.h"

#include <doctest/doctest.h>

#include <string>

#include "core/base/diagnostic.h"

using namespace moonloop;        // NOLINT
using namespace moonloop::cost;  // NOLINT

namespace {

MachineFacts facts() {
  MachineFacts f;
  f.device = "Example";
  f.units = 4;
  f.clock = 3e9;
  f.vector_bytes = 32;
  f.caches = {{1, 32 << 10, 64, false}, {2, 1 << 20, 64, false}, {3, 16 << 20, 64, true}};
  return f;
}

std::string with(std::string json, const std::string& from, const std::string& to) {
  const auto at = json.find(from);
  REQUIRE(at != std::string::npos);
  return json.replace(at, from.size(), to);
}

std::string why_not(const std::string& json) {
  try {
    parse_profile(json, "p.json");
  } catch (const Error& e) { return std::string(e.what()) + " [" + e.diagnostic().code + "]"; }
  return "";
}

}  // namespace

TEST_CASE("profile: what is written reads back the same") {
  MachineProfile p = default_profile(facts());
  p.measured = true;
  p.transfer = 1.5e10;
  p.operations.power = 51.25;
  const std::string json = to_json(p);
  const MachineProfile back = parse_profile(json, "p.json");
  CHECK(to_json(back) == json);
  CHECK(back.device == "Example");
  CHECK(back.measured);
  CHECK(back.operations.power == 51.25);
  REQUIRE(back.levels.size() == 4);
  CHECK(back.levels[2].shared);
  CHECK(back.level("memory")->all == p.levels[3].all);
  CHECK(back.level("L4") == nullptr);
}

TEST_CASE("profile: a file that is none says what is wrong") {
  const std::string json = to_json(default_profile(facts()));
  CHECK(why_not("{") == "p.json: it is not JSON [bad-profile]");
  CHECK(why_not("[]") == "p.json: `the profile` is not an object [bad-profile]");
  CHECK(why_not(with(json, "\"version\": 2", "\"version\": 7")) ==
        "p.json: a profile of version 7, not 2; `moonloop devices --measure` makes it anew "
        "[bad-profile]");
  CHECK(why_not(with(json, "\"clock\"", "\"o'clock\"")) ==
        "p.json: `clock` is not there [bad-profile]");
  CHECK(why_not(with(json, "\"name\": \"L2\"", "\"name\": 2")) ==
        "p.json: `levels[1].name` is not a string [bad-profile]");
  CHECK(why_not(with(json, "\"units\": 4", "\"units\": -4")) ==
        "p.json: `units` is not a number from 0 to 1e18 [bad-profile]");
  CHECK(why_not(with(json, "\"units\": 4", "\"units\": 0")) ==
        "p.json: `units, clock, f32, i32, issue` is not positive [bad-profile]");
  CHECK(why_not(with(json, "\"gpu\": false", "\"gpu\": 0")) ==
        "p.json: `gpu` is not true or false [bad-profile]");
}

TEST_CASE("profile: without a measurement the system's facts count") {
  const MachineProfile p = default_profile(facts());
  CHECK(!p.measured);
  CHECK(p.units == 4);
  CHECK(p.rate(Scalar::F64) == 4 * 3e9 * 4);
  CHECK(p.rate(Scalar::F32) == 2 * p.rate(Scalar::F64));
  CHECK(p.rate(Scalar::C128) == p.rate(Scalar::F64));
  CHECK(p.rate(Scalar::I64) == p.i32);
  for (std::size_t i = 1; i < p.levels.size(); ++i) {
    CHECK(p.levels[i].one < p.levels[i - 1].one);
    CHECK(p.levels[i].scattered <= p.levels[i].one);
  }
  MachineFacts gpu = facts();
  gpu.is_gpu = true;
  gpu.caches = {{2, 4 << 20, 32, true}};
  const MachineProfile g = default_profile(gpu);
  CHECK(g.is_gpu);
  CHECK(g.levels.front().name == "local");
  CHECK(g.transfer > 0);
  CHECK(default_profile(MachineFacts{}).levels.size() == 2);  // a system that tells nothing
}
