#include "transforms/add_barrier.h"

#include "tests/transforms/loop_kit.h"

using namespace moonloop;

namespace {

const char* const kTwo = R"(
kernel two(n: int32, x: float64[n], y: float64[n], z: float64[n])
domain [n] -> {[t]: 0 <= t < n}
domain [n] -> {[i]: 0 <= i < n}
domain [n] -> {[j]: 0 <= j < n}
for t
  y[i] = 2*x[i] + z[t]  {id=first}
  z[j] = 3*x[j] + t     {id=second}
end
)";

const Instruction& barrier(const Kernel& k) { return *k.instructions[1]; }

}  // namespace

TEST_CASE("add_barrier: stands between, in the loops that both share") {
  const Kernel k = apply(parsed(kTwo), "add_barrier", {text("first"), text("second")});
  REQUIRE(k.instructions.size() == 3);
  CHECK(barrier(k).kind == InsnKind::Barrier);
  CHECK(barrier(k).barrier == BarrierScope::Global);
  CHECK(barrier(k).inames == std::set<std::string>{"t"});
  CHECK(barrier(k).depends_on == std::vector<std::string>{"first"});
  CHECK(barrier(k).id == "barrier");
  const Kernel own = apply(parsed(kTwo), "add_barrier", {text("first"), text("second")},
                           {{"id_based_on", text("wait")},
                            {"synchronization_kind", text("local")},
                            {"mem_kind", text("global")},
                            {"tags", text("a,b")},
                            {"within_inames", text("t")}});
  CHECK(barrier(own).id == "wait");
  CHECK(barrier(own).barrier == BarrierScope::Local);
  CHECK(barrier(own).mem_kind == "global");
  CHECK(barrier(own).tags == std::set<std::string>{"a", "b"});
}

TEST_CASE("add_barrier: refuses what has no place for it") {
  const Kernel k = parsed(kTwo);
  CHECK(code_of([&] { apply(k, "add_barrier", {text("nothing"), text("second")}); }) == "no-match");
  CHECK(code_of([&] { apply(k, "add_barrier", {text("first"), text("nothing")}); }) == "no-match");
  const Kernel ordered = apply(k, "add_dependency", {text("second"), text("first")});
  CHECK(code_of([&] {
          apply(ordered, "add_barrier", {text("second"), text("first")});
        }) == "dependency-cycle");
  for (const char* option : {"synchronization_kind", "mem_kind"})
    CHECK(code_of([&] {
            apply(k, "add_barrier", {text("first"), text("second")}, {{option, text("private")}});
          }) == "bad-barrier");
}
