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

TEST_CASE("add_barrier: other fields that are written in between do not hide one") {
  const Kernel k = parsed(R"(
record pair(x: float64, y: float64)
kernel k(n: int32, r: pair[n], s: pair[n])
domain {[i]: 0 <= i < n}
temp t: pair
t.x = 2*r[i].x  {id=x}
t.y = 2*r[i].y  {id=y}
s[i] = t        {id=both}
)");
  for (const char* field : {"x", "y"})
    CHECK(code_of([&] { apply(k, "add_barrier", {text("both"), text(field)}); }) == "breaks-order");
}

TEST_CASE("add_barrier: updates that commute do not hide one from what comes behind") {
  const auto order = [](const char* first, const char* then) {
    const Kernel k = parsed(R"(
kernel k(n: int32, x: float64[n], y: float64[n], a: inout float64[4], b: out float64[n])
domain {[i]: 0 <= i < n}
a[1] = a[1] + x[i]  {id=one, atomic}
a[1] = a[1] + y[i]  {id=two, atomic}
b[i] = a[1]         {id=read}
a[1] = 0.5          {id=store, inames=i}
)");
    return code_of([&] { apply(k, "add_barrier", {text(first), text(then)}); });
  };
  CHECK(order("two", "one") == "legal");
  for (const char* update : {"one", "two"}) {
    CHECK(order("read", update) == "breaks-order");
    CHECK(order("store", update) == "breaks-order");
  }
}
