#include "cli/peak_rates.h"

#include <sstream>

#include "frontends/text/parse.h"
#include "runtime/cache.h"
#include "runtime/device.h"
#include "runtime/file.h"
#include "runtime/runner.h"
#include "transforms/registry.h"

namespace moonloop::cli {
namespace {

constexpr const char* kKind = "ceiling";

std::string key_of(Target target, const std::string& device) {
  return Cache::key(fmt::format("ceiling 1 {} {}", to_string(target), device));
}

Kernel split(const Kernel& k, const std::string& iname, std::int64_t by, const std::string& outer,
             const std::string& inner) {
  return run_op(*find_op("split_iname"), k, {Value{iname}, Value{by}},
                {{"outer_tag", Value{outer}}, {"inner_tag", Value{inner}}});
}

/// The rate of `amount` a run, by the device's own clock.
double rate(const Kernel& k, const Kernel& original, Target target, int device, double amount,
            GivenValues params) {
  RunRequest r;
  r.target = target;
  r.device = device;
  r.time = true;
  r.params = std::move(params);
  return amount / run_kernel(k, original, r).timing.value().median;
}

Kernel parsed(const std::string& text) {
  return parse_kernels(add_source("<ceiling>", text)).front();
}

double copy_rate(Target target, int device, std::int64_t elements) {
  const Kernel copy = parsed(R"(kernel copy(n: int32, a: in float32[n], b: out float32[n])
domain {[i]: 0 <= i < n}
b[i] = a[i]
)");
  Kernel k = split(copy, "i", 4, "for", "vec");
  k = split(k, "i_outer", 256, "g.0", "l.0");
  return rate(k, copy, target, device, 8.0 * static_cast<double>(elements),
              {{"n", std::to_string(elements)}});
}

/// Eight chains of multiply-and-add in each work-item: enough that none waits for another.
double peak_rate(Target target, int device, const std::string& type) {
  constexpr int chains = 8, steps = 4096, items = 1 << 18;
  std::string text = fmt::format(
      "kernel peak(x: {0}, y: {0}, r: out {0}[{1}])\n"
      "domain {{[i]: 0 <= i < {1}}}\ndomain {{[k]: 0 <= k < {2}}}\nfor i\n",
      type, items, steps);
  std::string sum;
  for (int c = 0; c < chains; ++c) {
    text += fmt::format("  <{}> a{} = i + {}\n", type, c, c);
    sum += fmt::format("{}a{}", c ? " + " : "", c);
  }
  text += "  for k\n";
  for (int c = 0; c < chains; ++c) text += fmt::format("    a{0} = a{0}*x + y\n", c);
  text += "  end\n  r[i] = " + sum + "\nend\n";
  const Kernel peak = parsed(text);
  Kernel k = split(peak, "i", 256, "g.0", "l.0");
  k = split(k, "k", 16, "for", "unr");
  return rate(k, peak, target, device, 2.0 * chains * steps * items, {{"x", "0.5"}, {"y", "0.25"}});
}

}  // namespace

std::optional<PeakRates> known_peak_rates(Target target, const std::string& device) {
  const std::string path = Cache::standard().find(key_of(target, device), kKind);
  std::string text;
  if (path.empty() || !read_whole(path, text)) return std::nullopt;
  std::istringstream in(text);
  PeakRates out;
  if (!(in >> out.copy >> out.single >> out.twice)) return std::nullopt;
  return out;
}

PeakRates measure_peak_rates(Target target, int n) {
  std::string name;
  bool has_double = true;
  std::int64_t memory = 0;
  {
    const auto device = open_device(target, n);
    name = device->name();
    has_double = device->limits().has_double;
    memory = device->limits().memory;
  }
  std::int64_t elements = 1 << 26;
  while (elements > 1 << 20 && 64 * elements > memory) elements /= 2;
  PeakRates out;
  out.copy = copy_rate(target, n, elements);
  out.single = peak_rate(target, n, "float32");
  if (has_double) out.twice = peak_rate(target, n, "float64");
  Cache::standard().keep(key_of(target, name), kKind,
                         fmt::format("{} {} {}\n", out.copy, out.single, out.twice));
  return out;
}

}  // namespace moonloop::cli
