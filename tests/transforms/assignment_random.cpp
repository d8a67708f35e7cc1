// Random kernels: accepted assignment_to_subst leaves the same values.
#include <random>

#include "core/model/print.h"
#include "tests/transforms/loop_kit.h"
#include "tests/transforms/same_values.h"
#include "transforms/assignment_to_subst.h"

using namespace moonloop;

namespace {

/// A definition of `d`, a writer of `x` or `d`, and uses, in up to three loop nests.
class Statements {
 public:
  explicit Statements(unsigned seed) : random_(seed) {}

  std::string kernel() {
    std::string text =
        "kernel k(n: int32, x: float64[n+4], y: float64[n+4], m: int32[n])\n"
        "domain {[i, j, l]: 0 <= i < n and 0 <= j < n and 0 <= l < n}\nassume n >= 4\n";
    const bool scalar = one_of(3) == 0;
    const int count = 2 + one_of(3);
    std::string loop = pick({"i", "i", "j"});
    const auto d = [&](const std::string& at) { return scalar ? "d" : "d[" + at + "]"; };
    text += guard(loop,
                  "<float64> " + d(loop) + " = " + pick({"x", "y"}) + "[" + loop + shift() + "]*2");
    for (int s = 0; s < count; ++s) {
      loop = pick(scalar ? std::vector<std::string>{loop, loop, "l"}
                         : std::vector<std::string>{"i", "j", "l"});
      switch (one_of(5)) {
        case 0:
          text += guard(loop, pick({"x", "y"}) + "[" + loop + shift() + "] = 1.5*" + loop);
          break;
        case 1:
          if (!scalar || one_of(2)) {
            text += guard(loop, d(loop) + " = y[" + loop + shift() + "] + 1");
            break;
          }
          [[fallthrough]];
        default:
          text += guard(loop, pick({"x", "y"}) + "[" + loop + shift() +
                                  "] = " + d(pick({loop, loop, "n - 1 - " + loop})) + " + 1");
      }
    }
    return text;
  }

 private:
  int one_of(int n) { return static_cast<int>(random_() % unsigned(n)); }
  std::string pick(const std::vector<std::string>& from) {
    return from[std::size_t(one_of(int(from.size())))];
  }
  std::string shift() { return pick({"", "", " + 1", " + 3"}); }
  std::string guard(const std::string& loop, const std::string& statement) {
    switch (one_of(6)) {
      case 0: return "if " + loop + " > 1\n  " + statement + "\nend\n";
      case 1: return "if m[" + loop + "] > 1\n  " + statement + "\nend\n";
      default: return statement + "\n";
    }
  }

  std::mt19937 random_;
};

}  // namespace

TEST_CASE("assignment_to_subst: accepted on random kernels, it leaves the same values") {
  int accepted = 0, refused = 0, invalid = 0;
  for (unsigned seed = 1; seed <= 600; ++seed) {
    const std::string text = Statements(seed).kernel();
    Kernel k;
    std::map<std::string, std::vector<char>> before;
    try {
      k = parsed(text);
      before = values_of(k, {{"n", 5}});
    } catch (const Error&) {  // loops that cannot be ordered, undefined reads
      ++invalid;
      continue;
    }
    Kernel out;
    try {
      out = assignment_to_subst(k, "d");
    } catch (const Error&) {
      ++refused;
      continue;
    }
    ++accepted;
    CAPTURE(seed);
    CAPTURE(text);
    CAPTURE(print_kernel(out));
    CHECK(values_of(out, {{"n", 5}}) == before);
  }
  MESSAGE(accepted, " accepted, ", refused, " refused, ", invalid, " kernels without a meaning");
  CHECK(accepted > 30);
  CHECK(refused > 30);
}
