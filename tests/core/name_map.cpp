#include "core/base/name_map.h"

#include <doctest/doctest.h>

#include <random>
#include <stdexcept>

using namespace moonloop;

TEST_CASE("name_map: what is left after elements were erased stays in order and is found") {
  std::mt19937 random(1);
  NameMap<int> map;
  std::vector<std::pair<std::string, int>> expected;
  for (int step = 0; step < 3000; ++step) {
    const std::string name = "t" + std::to_string(random() % 60);
    if (random() % 2) {
      const bool fresh = map.try_emplace(name, step).second;
      if (fresh) expected.emplace_back(name, step);
    } else {
      map.erase(name);
      std::erase_if(expected, [&](const auto& x) { return x.first == name; });
    }
    CHECK(std::equal(
        map.begin(), map.end(), expected.begin(), expected.end(),
        [](const auto& a, const auto& b) { return a.first == b.first && a.second == b.second; }));
    for (int n = 0; n < 60; ++n) {
      const std::string other = "t" + std::to_string(n);
      const auto at = std::find_if(expected.begin(), expected.end(),
                                   [&](const auto& x) { return x.first == other; });
      const auto found = map.find(other);
      REQUIRE((found == map.end()) == (at == expected.end()));
      if (at != expected.end()) REQUIRE(found->second == at->second);
    }
    if (step % 500 == 0) {
      const NameMap<int> copy = map;
      CHECK(copy.size() == map.size());
      CHECK(copy.contains("t1") == map.contains("t1"));
    }
  }
}

TEST_CASE("name_map: a copy has the elements until one of the two changes them") {
  NameMap<int> map;
  for (int i = 0; i < 5; ++i) map.emplace("t" + std::to_string(i), i);
  NameMap<int> copy = map;
  const NameMap<int>&seen = map, &other = copy;
  CHECK(&seen.at("t2") == &other.at("t2"));
  copy.at("t2") = 20;
  for (auto& [name, value] : copy)
    if (name == "t3") value = 30;
  copy.erase("t1");
  copy["t5"] = 50;
  CHECK(seen.at("t2") == 2);
  CHECK(seen.at("t3") == 3);
  CHECK(seen.contains("t1"));
  CHECK(!seen.contains("t5"));
  CHECK(other.at("t2") == 20);
  CHECK(other.at("t3") == 30);
  CHECK(!other.contains("t1"));
  map.at("t0") = 9;
  CHECK(other.at("t0") == 0);
  CHECK_THROWS_AS(seen.at("t9"), std::out_of_range);
}
