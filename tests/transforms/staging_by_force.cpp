#include <random>

#include "core/model/print.h"
#include "core/order/check_kernel.h"
#include "loop_kit.h"
#include "same_values.h"

/// Staging against brute force: random small nests, random requests. Accepted requests must compute
/// the same, run by the interpreter at several sizes, bit for bit.

using namespace moonloop;

namespace {

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  int upto(int n) { return static_cast<int>(engine_() % static_cast<unsigned>(n)); }
  bool one_in(int n) { return upto(n) == 0; }
  template <class T>
  const T& pick(const std::vector<T>& v) {
    return v[static_cast<std::size_t>(upto(static_cast<int>(v.size())))];
  }

 private:
  std::mt19937 engine_;
};

using Names = std::vector<std::string>;

/// A subscript between 0 and 19 for inames below 6.
std::string subscript(Random& r, const Names& inames) {
  const std::string i = inames.empty() ? "0" : r.pick(inames);
  switch (r.upto(8)) {
    case 0: return fmt::format("2*{} + {}", i, r.upto(5));
    case 1: return fmt::format("{} + {}", i, inames.empty() ? "1" : r.pick(inames));
    case 2: return fmt::format("9 - {}", i);
    case 3: return std::to_string(r.upto(4));
    case 4: return fmt::format("n - 1 - {} + 6", i);
    default: return fmt::format("{} + {}", i, r.upto(4));
  }
}

std::string element(Random& r, const std::string& array, const Names& inames) {
  return array == "a"
             ? fmt::format("a[{}]", subscript(r, inames))
             : fmt::format("{}[{}, {}]", array, subscript(r, inames), subscript(r, inames));
}

std::string random_kernel(Random& r) {
  static const std::vector<Names> kNests{{"t"}, {"t", "i"}, {"t", "i", "j"}, {"i"}, {"i", "j"}, {}};
  std::string out = "kernel r(n: int32, a: float64[20], b: float64[20, 20], c: float64[20, 20])\n";
  out += r.one_in(3) ? "domain {[t, i, j]: 0 <= t < 3 and 0 <= j <= i < n}\n"
                     : "domain {[t, i, j]: 0 <= t < 3 and 0 <= i, j < n}\n";
  out += "assume 1 <= n <= 6\n";
  if (r.one_in(2)) out += "f(x) := a[x]*2\n";
  const bool rule = out.find("f(x)") != std::string::npos;
  const int statements = 1 + r.upto(3);
  for (int s = 0; s < statements; ++s) {
    const Names& inames = r.pick(kNests);
    const std::string target = element(r, r.pick<std::string>({"a", "b", "c"}), inames);
    std::string value = element(r, r.pick<std::string>({"a", "b"}), inames) + "*0.5";
    if (rule) value += fmt::format(" + f({})", subscript(r, inames));
    if (r.one_in(2)) value += " + " + element(r, r.pick<std::string>({"a", "b", "c"}), inames);
    if (r.one_in(4))
      value = fmt::format("({} if {} < 2 else 1)", value, inames.empty() ? "n" : inames[0]);
    std::string options = fmt::format("id=s{}", s);
    if (!inames.empty()) options += fmt::format(", inames={}", fmt::join(inames, ":"));
    if (r.one_in(5) && !inames.empty()) options += fmt::format(", if={} > 1", r.pick(inames));
    out += fmt::format("{} = {}  {{{}}}\n", target, value, options);
  }
  return out;
}

struct Request {
  std::string op;
  ValueList positional;
  ValueDict options;
};

Request random_request(Random& r, const Kernel& k) {
  Names sweep;
  for (const std::string& i : r.pick(k.instructions)->inames)
    if (!r.one_in(3)) sweep.push_back(i);
  const Value swept = text(fmt::format("{}", fmt::join(sweep, ", ")));
  ValueDict options;
  if (r.one_in(4)) options.push_back({"fetch_bounding_box", flag(true)});
  if (r.one_in(4)) options.push_back({"within", text("id:s0")});
  if (k.find_rule("f") && r.one_in(2)) return {"precompute", {text("f"), swept}, options};
  const std::string array = r.pick<std::string>({"a", "b", "c"});
  if (r.one_in(2)) return {"buffer_array", {text(array), swept}, options};
  return {"add_prefetch", {text(array), swept}, options};
}

}  // namespace

TEST_CASE("staging that is accepted computes the same") {
  Random r(20240917);
  std::map<std::string, int> said, accepted;
  for (int n = 0; n < 300; ++n) {
    const std::string source = random_kernel(r);
    CAPTURE(n);
    CAPTURE(source);
    Kernel before;
    try {
      before = parsed(source);
      if (r.one_in(2)) before = apply(before, "split_iname", {text("i"), number(2 + r.upto(2))});
      complete(before);
    } catch (const Error& e) {
      ++said["no kernel: " + e.diagnostic().code];
      continue;
    }
    Kernel k = before;
    for (int step = 0; step < 2; ++step) {
      const Request q = random_request(r, k);
      CAPTURE(q.op);
      const std::string positional = to_lua(Value{q.positional}),
                        options = to_lua(Value{q.options});
      CAPTURE(positional);
      CAPTURE(options);
      try {
        k = apply(k, q.op, q.positional, q.options);
        ++accepted[q.op];
      } catch (const Error& e) {
        ++said[e.diagnostic().code];
        continue;
      }
      const std::string result = print_kernel(k);
      CAPTURE(result);
      for (const int size : {1, 2, 5}) {
        CAPTURE(size);
        CHECK(same_values(before, k, {{"n", size}}));
      }
    }
  }
  for (const auto& [code, times] : said) MESSAGE(code << ": " << times);
  for (const auto& [op, times] : accepted) {
    MESSAGE("accepted " << op << ": " << times);
    CHECK(times > 20);
  }
  CHECK(accepted.size() == 3);
  CHECK(said["stale-value"] > 20);
}
