// get_global_barrier_order, find_most_recent_global_barrier.
#include "tests/transforms/loop_kit.h"
#include "transforms/get_global_barrier_order.h"

using namespace moonloop;

namespace {

const char* const kSteps = R"(
kernel steps(n: int32, m: int32, a: float64[n], b: float64[n], c: float64[n])
domain {[t]: 0 <= t < m}
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j < n}
domain {[p]: 0 <= p < n}
c[p] = 0                {id=before}
... gbarrier            {id=top, dep=before}
for t
  a[i] = b[i] + c[i]    {id=there}
  ... gbarrier          {id=yoink, dep=there}
  b[j] = a[n - 1 - j]   {id=back, dep=yoink}
  ... lbarrier          {id=near, dep=back}
end
... gbarrier            {id=postloop, dep=back}
)";

std::string recent(const char* id) {
  return find_most_recent_global_barrier(parsed(kSteps), id).value_or("none");
}

}  // namespace

TEST_CASE("global barriers: in the order in which they are reached") {
  CHECK(get_global_barrier_order(parsed(kSteps)) ==
        std::vector<std::string>{"top", "yoink", "postloop"});
  CHECK(get_global_barrier_order(
            parsed("kernel k(a: float64[4])\ndomain {[i]: 0 <= i < 4}\na[i] = 1\n"))
            .empty());
}

TEST_CASE("global barriers: the last before an instruction") {
  CHECK(recent("before") == "none");
  CHECK(recent("top") == "none");
  CHECK(recent("there") == "top");
  CHECK(recent("back") == "yoink");
  CHECK(recent("postloop") == "yoink");
  CHECK(code_of([] { recent("nowhere"); }) == "unknown-instruction");
}
