#include "core/sets/budget.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "core/model/domain.h"
#include "core/order/check_kernel.h"
#include "core/order/reference.h"
#include "core/sets/compose.h"
#include "tests/core/semantics_kit.h"

using namespace moonloop;

namespace {

/// Costs isl some hundreds of operations.
void ask() {
  const Set s = isl_set_read_from_str(
      isl(), "[n] -> { [i, j] : 0 <= i < n and i <= 2*j < n + 3 and j mod 3 = 1 }");
  CHECK_FALSE(yes(isl_set_is_empty(s.get())));
}

}  // namespace

TEST_CASE("budget: every thread has a limit from the first question on") {
  unsigned long limit = 0;
  std::thread([&] { limit = isl_ctx_get_max_operations(isl()); }).join();
  CHECK(limit > 0);
  { const IslBudget budget(100); }
  CHECK(isl_ctx_get_max_operations(isl()) == limit);
}

TEST_CASE("budget: only one file sets limits and makes contexts") {
  int files = 0;
  const std::filesystem::path root = MOONLOOP_SOURCE_DIR;
  for (const char* floor :
       {"core", "frontends", "transforms", "codegen", "runtime", "scripts", "cli"})
    for (const auto& at : std::filesystem::recursive_directory_iterator(root / floor)) {
      const std::string name = std::filesystem::relative(at.path(), root).string();
      if ((!name.ends_with(".cpp") && !name.ends_with(".h")) || name == "core/sets/isl.cpp")
        continue;
      std::ostringstream text;
      text << std::ifstream(at.path()).rdbuf();
      CAPTURE(name);
      for (const char* call :
           {"isl_ctx_set_max_operations", "isl_ctx_reset_operations", "isl_ctx_alloc"})
        CHECK(text.str().find(call) == std::string::npos);
      ++files;
    }
  CHECK(files > 300);
}

TEST_CASE("budget: one within another is paid by both") {
  const IslBudget outer(1'000'000);
  unsigned long one = 0;
  {
    const IslBudget inner(1'000'000);
    ask();
    one = inner.used();
  }
  CHECK(one > 50);
  CHECK(outer.used() >= one);
  CHECK(outer.used() < 2 * one);
  ask();
  CHECK(outer.used() >= 2 * one - 100);

  const auto thrice = [&](unsigned long operations) {
    const IslBudget around(operations, "asking");
    for (int i = 0; i < 3; ++i) {
      const IslBudget each(2 * one);
      ask();
    }
  };
  thrice(5 * one);
  CHECK_THROWS_AS(thrice(2 * one), IslQuota);
}

// Differential test, seed 54800627: 840 parts with 45 quotients each took isl a minute for as many
// operations as others take a second for.
TEST_CASE("budget: large systems are charged before they are composed") {
  const auto shift = [](int quotients) {
    std::string in;
    for (int q = 3; q < 3 + quotients; ++q)
      in += " and x mod " + std::to_string(q) + " < " + std::to_string(q - 1);
    return Map(isl_map_read_from_str(
        isl(),
        ("[n] -> { [x] -> [y] : y = x + 1" + in + "; [x] -> [y] : y = x - n" + in + " }").c_str()));
  };
  const Map small = shift(2);
  const Map all = isl_map_apply_range(small.copy(), small.copy());
  CHECK(yes(isl_map_is_equal(compose(small, small).get(), all.get())));
  const Map large = shift(30);
  const IslBudget budget(500'000);
  CHECK_THROWS_AS(compose(large, large), IslQuota);
}

TEST_CASE("budget: the error says what was being done") {
  const auto asking = [](unsigned long operations, const char* what) {
    const IslBudget outer(1'000'000, "taking stock");
    const IslBudget budget(operations, what);
    ask();
  };
  CHECK(kit::failure([&] { asking(20, "counting sheep"); }) ==
        "counting sheep takes too many operations on its domains [too-complex]");
  CHECK(kit::failure([&] { asking(20, ""); }) ==
        "taking stock takes too many operations on its domains [too-complex]");
  CHECK(kit::failure([&] { asking(1'000'000, ""); }) == "ok");
}

TEST_CASE("budget: each phase ends where it would take too long") {
  const std::string text = R"(
kernel k(n: int32, x: in float64[2*n], y: inout float64[2*n])
domain {[i, j]: 0 <= i < n and 0 <= 2*j < n - i and j mod 3 = 1}
assume n >= 1
y[2*i] = y[2*i] + x[i + j]
y[2*i + 1] = sum(j, x[2*j + i]) {inames=i}
)";
  const auto within = [&](auto f) {
    return kit::failure([&] {
      const IslBudget budget(40);
      f();
    });
  };
  const std::string end = " kernel `k` takes too many operations on its domains [too-complex]";
  CHECK(within([&] { parsed(text); }) ==
        "reading `test.loop` takes too many operations on its domains [too-complex]");
  const std::string parts =
      "kernel k(n: int32, x: in float64[n + 1], y: out float64[n + 1])\n"
      "domain {[i]: 0 <= i < n and (i mod 2 = 0 or i mod 3 = 0)}\ny[i] = x[i + 1]\n";
  Kernel k = parsed(parts);
  CHECK(within([&] { complete(k); }) == "checking" + end);
  CHECK(within([&] { dependences(k); }) == "finding the dependences of" + end);
  kit::Data data;
  CHECK(within([&] {
          Bindings none;
          interpret(k, none);
        }).ends_with(end));
  k = parsed(
      "kernel k(n: int32, y: inout float64[3*n])\ndomain {[i]: 0 <= i < n}\n"
      "y[2*i] = y[i + n]\n");
  k.iname_tags["i"] = *parse_iname_tag("par");
  CHECK(within([&] { check_legal(k); }) == "proving the order of" + end);
}
