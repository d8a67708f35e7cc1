#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>

#include "core/base/diagnostic.h"
#include "core/base/source.h"
#include "frontends/text/parse.h"
#include "runtime/runner.h"
#include "scripts/script.h"
#include "tests/differential/random.h"

/// Reductions of random axes, types and operations through `lib.reduce`, and rows that random loops
/// read again through `lib.keep`, with random options: what they make computes what the interpreter
/// does. MOONLOOP_PAIRS says how many (12), MOONLOOP_SEED
/// the first one, MOONLOOP_DEVICE_TARGET `opencl` (unless set) or `cuda`.
namespace moonloop::differential {
namespace {

struct Form {
  std::string kernel, script;
  std::vector<GivenValues> sizes;
};

std::string term(Random& random, const std::string& type, const std::string& x,
                 const std::string& z) {
  const bool real = type.starts_with("float");
  if (random.chance(30)) return x;
  if (random.chance(40)) return x + "*" + z;
  return random.pick({"2*", "3 + ", "-"}) + (real && random.chance(50) ? "fabs(" + x + ")" : x);
}

Form random_form(std::uint64_t seed) {
  Random random(seed);
  const int axes = random.between(1, 4);
  std::vector<int> order, reduced, kept;
  for (int a = 0; a < axes; ++a) order.push_back(a);
  for (int a = axes - 1; a > 0; --a)  // of the array's axes
    if (random.chance(40))
      std::swap(order[static_cast<std::size_t>(a)],
                order[static_cast<std::size_t>(random.below(a + 1))]);
  for (int a = 0; a < axes; ++a) (random.chance(50) ? reduced : kept).push_back(a);
  if (reduced.empty()) std::swap(reduced, kept);
  const auto named = [](const char* letter, const std::vector<int>& which) {
    std::vector<std::string> out;
    for (const int a : which) out.push_back(fmt::format("{}{}", letter, a));
    return fmt::format("{}", fmt::join(out, ", "));
  };
  std::vector<int> all = order;
  std::sort(all.begin(), all.end());
  const bool triangle =
      axes > 1 && random.chance(20);  // the second axis is no longer than the first
  std::vector<std::string> bounds;
  for (const int a : all)
    bounds.push_back(triangle && a == 1 ? "0 <= i1 <= i0 and i1 < n1"
                                        : fmt::format("0 <= i{0} < n{0}", a));
  const std::string type = random.pick({"float32", "float64", "int32", "int64"});
  const std::string over =
      reduced.size() == 1 ? named("i", reduced) : "(" + named("i", reduced) + ")";
  const std::string x = "x[" + named("i", order) + "]";
  const std::string z =
      "z[" + fmt::format("i{}", all[static_cast<std::size_t>(random.below(axes))]) + "]";
  const std::string place = kept.empty() ? "0" : named("i", kept);
  const std::string op = random.pick({"sum", "sum", "max", "min"});
  const bool two = random.chance(35), after = random.chance(40);
  Form out;
  std::string sizes;
  for (const int a : all) sizes += fmt::format("n{}: int32, ", a);
  const std::string results = kept.empty() ? "1" : named("n", kept);
  out.kernel = fmt::format(
      "kernel form({}x: in {}[{}], z: in {}[100], y: {}[{}], w: {}[{}])\n"
      "domain {{[{}]: {}}}\n",
      sizes, type, named("n", order), type, type, results, type, results, named("i", all),
      fmt::join(bounds, " and "));
  for (const int a : all) out.kernel += fmt::format("assume 0 <= n{} <= 100\n", a);
  out.kernel +=
      fmt::format("y[{}] = {}({}, {})  {{id=first}}\n", place, op, over, term(random, type, x, z));
  if (two)
    out.kernel += fmt::format("w[{}] = {}({}, {})  {{id=second}}\n", place,
                              random.pick({"sum", "max"}), over, term(random, type, x, z));
  else if (after)
    out.kernel += fmt::format("w[{0}] = 2*y[{0}] + 1  {{id=last, dep=first}}\n", place);
  std::string options;
  const auto option = [&](const char* name, std::initializer_list<const char*> values, int chance) {
    if (random.chance(chance)) options += fmt::format("{} = {}, ", name, random.pick(values));
  };
  option("strategy", {"'group'", "'warp'", "'two_stage'", "'two_stage'"}, 80);
  option("size", {"1", "8", "32", "64", "128"}, 70);
  option("lanes", {"1", "4", "8", "32"}, 40);
  option("rows", {"1", "2", "3", "8"}, 40);
  option("chunk", {"1", "3", "8", "20"}, 60);
  if (random.chance(30)) {
    options += "params = {";
    for (const int a : all)
      options += fmt::format("n{} = {}, ", a, random.pick({"7", "300", "20000"}));
    options += "}, ";
  }
  out.script =
      fmt::format("local lib = require 'moonloop.lib'\nform = lib.reduce(form, {}, {{{}}})\n",
                  two ? "{'first', 'second'}" : "'first'", options);
  for (int n = random.chance(30) ? 0 : 1; n < 2; ++n) {
    GivenValues values;
    for (const int a : all)
      values.emplace_back(
          fmt::format("n{}", a),
          std::to_string(random.chance(10) ? 0 : random.between(1, axes > 2 ? 12 : 60)));
    out.sizes.push_back(values);
  }
  return out;
}

/// Loops over a row, sums and others, that read elements of `x`, the same in most of them.
Form random_rows(std::uint64_t seed) {
  Random random(seed);
  const std::string type = random.pick({"float32", "float64", "int32"});
  const int loops = random.between(2, 4);
  const int step = random.between(1, 2), begin = random.between(0, 1);
  std::string names, text, values, temps = "1";
  for (int n = 0; n < loops; ++n) {
    const std::string i = fmt::format("i{}", n);
    const bool other = random.chance(15);  // another element than in the other loops
    const std::string x = fmt::format("x[r, {}*{} + {}]", step, i, other ? 1 - begin : begin);
    names += fmt::format("{}{}", n ? ", " : "", i);
    const bool reduced = n + 1 < loops && random.chance(75);
    if (reduced) {
      const int sums = random.chance(30) ? 2 : 1;
      const std::vector<std::string> terms{x, "2*" + x, x + " + " + temps, x + "*g[" + i + "]"};
      for (int m = 0; m < sums; ++m) {
        const std::string t = fmt::format("t{}{}", n, m);
        text += fmt::format("  {} = {}({}, {})\n", t, random.pick({"sum", "max"}), i,
                            random.pick(terms));
        values += fmt::format("temp {}: {}\n", t, type);
        temps = t;
      }
    } else {
      text += fmt::format("  y{0}[r, {1}] = {2} + {3}\n", n, i, x, temps);
    }
  }
  std::string outputs;
  for (int n = 0; n < loops; ++n) outputs += fmt::format(", y{}: {}[m, n]", n, type);
  Form out;
  out.kernel = fmt::format(
      "kernel form(m: int32, n: int32, x: in {0}[m, 2*n + 2], g: in {0}[n]{1})\n"
      "domain {{[r, {2}]: 0 <= r < m and 0 <= {2} < n}}\nassume 0 <= n <= 100 and m >= 0\n{3}"
      "for r\n{4}end\n",
      type, outputs, names, values, text);
  const std::string tag = random.chance(60) ? "form = lp.tag_inames(form, {r = 'g.0'})"
                                            : "form = lp.split_iname(form, 'r', " +
                                                  std::string(random.pick({"2", "3"})) +
                                                  ", {outer_tag = 'g.0', inner_tag = 'l.1'})";
  out.script = fmt::format(
      "local lib = require 'moonloop.lib'\n"
      "form = lib.keep(form, 'x', '{}', {{lanes = {}, registers = {}, unroll = {}}})\n{}\n",
      names, random.pick({"1", "4", "8", "16"}), random.pick({"1", "2", "3", "8"}),
      random.pick({"1", "4"}), tag);
  for (int n = 0; n < 2; ++n)
    out.sizes.push_back({{"m", std::to_string(random.between(1, 5))},
                         {"n", std::to_string(random.chance(10) ? 0 : random.between(1, 70))}});
  return out;
}

long whole(const char* name, long otherwise) {
  const char* given = std::getenv(name);
  return given ? std::strtol(given, nullptr, 10) : otherwise;
}

/// `may`: what a refusal may say.
void compare(Form (*make)(std::uint64_t), const std::vector<std::string>& may) {
  ::setenv("POCL_WORK_GROUP_METHOD", "workitemrepl", 0);
  const char* device = std::getenv("MOONLOOP_DEVICE_TARGET");
  const long wanted = whole("MOONLOOP_PAIRS", 12), first = whole("MOONLOOP_SEED", 1);
  long made = 0;
  for (long n = 0; n < wanted; ++n) {
    const Form form = make(static_cast<std::uint64_t>(first + n));
    INFO("seed ", first + n, "\n", form.kernel, form.script);
    const Kernel original = parse_kernels(add_source("form.loop", form.kernel)).front();
    Kernel k = original;
    try {
      k = run_transform_script(add_source("form.lua", form.script), {original}, {}).front();
    } catch (const Error& e) {
      const std::string text = e.diagnostic().text;
      INFO(text);
      CHECK(std::any_of(may.begin(), may.end(), [&](const std::string& part) {
        return text.find(part) != std::string::npos;
      }));
      continue;
    }
    ++made;
    for (const GivenValues& sizes : form.sizes) {
      RunRequest request;
      request.target = parse_target(device ? device : "opencl").value();
      request.params = sizes;
      request.verify = true;
      std::string shown;
      for (const auto& [name, value] : sizes) shown += fmt::format("-p {}={} ", name, value);
      INFO(shown);
      CHECK_NOTHROW(CHECK(run_kernel(k, original, request).verification->equal()));
    }
  }
  fmt::print("{} of {} forms\n", made, wanted);
  if (wanted >= 10) CHECK(made > wanted / 2);
}

}  // namespace

TEST_CASE("differential: devices: reductions by their form compute the same") {
  compare(random_form, {"no rows along memory", "join"});
}

TEST_CASE("differential: devices: rows in registers compute the same") {
  compare(random_rows, {"no two of the loops read the same elements"});
}

}  // namespace moonloop::differential
