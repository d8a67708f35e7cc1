#include "core/model/parametric_digits.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <random>

#include "core/expr/parse_expr.h"
#include "core/order/order.h"
#include "tests/one_kernel.h"

using namespace moonloop;

namespace {

using Integers = std::map<std::string, std::int64_t>;

struct Loops {
  const char* text;
  bool (*holds)(std::int64_t n, std::int64_t m, std::int64_t l, std::int64_t i, std::int64_t j,
                std::int64_t p);
};
#define LOOPS(condition)                                                                           \
  Loops {                                                                                          \
#condition, [](std::int64_t n, std::int64_t m, std::int64_t l, std::int64_t i, std::int64_t j, \
                   std::int64_t p) { return 0 <= l && (condition); }                               \
  }
const std::vector<Loops> kLoops{
    LOOPS(0 <= i and i < n and 0 <= j and j < m and 0 <= p and p < l),
    LOOPS(0 <= i and i < n and 0 <= j and j <= m and 0 <= p and p < l),
    LOOPS(0 <= i and i < n and 0 <= j and j < m - i and 0 <= p and p < 2),
    LOOPS(0 <= i and i < n and 1 <= j and j < m and -1 <= p and p < l - 1),
    LOOPS(0 <= i and i < n and 0 <= j and j < 2 * m + 1 and 0 <= p and p < l)};
#undef LOOPS

Kernel kernel_of(const Loops& loops) {
  return parsed(
      fmt::format("kernel k(n: int32, m: int32, l: int32, a: float64[1])\n"
                  "domain {{[i, j, p]: {}}}\nassume m >= 1 and l >= 1\n"
                  "a[0] = 1 {{inames=i:j:p}}\n",
                  loops.text));
}

const std::vector<std::string> kDims{"i", "j", "p"};

/// At each point, the values of the subscript and of its digits.
using Values = std::vector<std::pair<std::int64_t, std::vector<std::int64_t>>>;
Values values(const Loops& loops, const Expr& e, const Exprs& digits, std::int64_t m,
              std::int64_t l) {
  constexpr std::int64_t n = 2;
  Values out;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j <= 2 * m; ++j)
      for (std::int64_t p = -1; p <= std::max(l, std::int64_t{1}); ++p) {
        if (!loops.holds(n, m, l, i, j, p)) continue;
        const Integers at{{"n", n}, {"m", m}, {"l", l}, {"i", i}, {"j", j}, {"p", p}};
        std::vector<std::int64_t> all;
        for (const Expr& d : digits) all.push_back(evaluate(d, at).value());
        out.emplace_back(evaluate(e, at).value(), std::move(all));
      }
  return out;
}

/// The digits are equal where the subscripts are, and only there.
bool told_rightly(const Loops& loops, const Expr& x, const Expr& y, const CommonDigits& digits) {
  for (std::int64_t m = 1; m <= 3; ++m)
    for (std::int64_t l = 1; l <= 2; ++l)
      for (const auto& a : values(loops, x, digits.first, m, l))
        for (const auto& b : values(loops, y, digits.second, m, l))
          if ((a.first == b.first) != (a.second == b.second)) return false;
  return true;
}

}  // namespace

TEST_CASE("parametric digits: told apart as the numbers are, at random") {
  std::mt19937 random(20261125);
  const auto pick = [&](std::initializer_list<const char*> all) {
    return std::string(all.begin()[random() % all.size()]);
  };
  int told = 0, open = 0;
  for (int round = 0; round < 400; ++round) {
    const Loops& loops = kLoops[random() % kLoops.size()];
    const Kernel k = kernel_of(loops);
    const auto subscript = [&] {
      const std::string stride = pick({"m", "m", "m*l", "l*m", "(2*m + 1)", "(m + 1)", "2*m"}),
                        inner = pick({"j", "j", "j + 1", "m - 1 - j", "j*l + p", "2*j", "p", "-j"});
      switch (random() % 4) {
        case 0: return fmt::format("(i + {})*{} + {}", random() % 2, stride, inner);
        case 1: return fmt::format("(i*m + j)*l + {}", pick({"p", "l - 1 - p", "p + 1"}));
        case 2: return fmt::format("({} - i)*{} + {}", pick({"n", "1", "m"}), stride, inner);
        default: return fmt::format("i*{} + {}", stride, inner);
      }
    };
    const std::string first = subscript(), second = random() % 2 ? first : subscript();
    const Expr x = parse_expression(first), y = parse_expression(second);
    const auto digits = common_digits(k, x, kDims, y, kDims);
    digits ? ++told : ++open;
    if (digits)
      CHECK_MESSAGE(told_rightly(loops, x, y, *digits), first, " and ", second, " where ",
                    loops.text);
  }
  CHECK(told >= 80);
  CHECK(open >= 80);
}
