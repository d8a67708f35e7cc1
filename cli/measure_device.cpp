#include <algorithm>
#include <chrono>

#include "cli/measure.h"
#include "frontends/text/parse.h"
#include "runtime/profiles.h"
#include "runtime/runner.h"
#include "transforms/registry.h"

/// Rates of a device, from kernels that take the way of all kernels.
namespace moonloop::cli {
namespace {

Kernel split_by(const Kernel& k, const std::string& iname, std::int64_t by,
                const std::string& outer, const std::string& inner) {
  return run_op(*find_op("split_iname"), k, {Value{iname}, Value{by}},
                {{"outer_tag", Value{outer}}, {"inner_tag", Value{inner}}});
}

Kernel kernel_of(const std::string& text) {
  return parse_kernels(add_source("<measure>", text)).front();
}

double clock_now() {
  using namespace std::chrono;
  return duration<double>(steady_clock::now().time_since_epoch()).count();
}

class DeviceMeter {
 public:
  DeviceMeter(Target target, int n) : target_(target), n_(n) {
    const auto device = open_device(target, n);
    has_double_ = device->limits().has_double;
    p_ = cost::default_profile(facts_of(*device));
    if (!p_.is_gpu) {  // the processor's memory
      const cost::MachineProfile host = measure_host();
      p_ = host;
      p_.device = device->name();
      p_.units = std::max(device->limits().compute_units, 1);
    }
    transfers(*device);
  }

  cost::MachineProfile profile() {
    p_.measured = true;
    launches();
    const double units = p_.units;
    p_.f32 = chains("float32") / units;
    p_.f64 = has_double_ ? chains("float64") / units : 0;
    // Each lane of a warp's instruction is two operations of a chain.
    if (p_.is_gpu) p_.issue = std::max(p_.issue, p_.f32 / (2 * 32 * p_.clock));
    p_.i32 = chains("int32") / units;
    if (!p_.is_gpu) return p_;
    for (cost::MemoryLevel& l : p_.levels) {
      l.all = &l == &p_.levels.back() ? copies() : l.name == "local" ? local_reads() : reads(l);
      l.one = l.all / units;
    }
    cost::MemoryLevel& memory = p_.levels.back();
    memory.scattered = std::min(scattered() / units, memory.one);
    for (cost::MemoryLevel& l : p_.levels) l.scattered = std::min(l.scattered, l.one);
    return p_;
  }

 private:
  /// Seconds of a run by the device's own clock, without what one launch takes.
  double seconds(const Kernel& k, const Kernel& original, GivenValues params = {}) const {
    const double least = call(k, original, std::move(params));
    return std::max(least - p_.start - p_.launch, least / 10);
  }
  /// Seconds of a run by the device's own clock.
  double call(const Kernel& k, const Kernel& original, GivenValues params = {}) const {
    RunRequest r;
    r.target = target_;
    r.device = n_;
    r.time = true;
    r.least_time = 0.1;
    r.most_runs = 50;
    r.params = std::move(params);
    return run_kernel(k, original, r).timing.value().least;
  }

  /// Each step of the host's loop launches two kernels: groups read what others wrote. A call with
  /// one step and one with many tell a launch from the start.
  void launches() {
    constexpr int steps = 200, items = 512;
    const Kernel k = kernel_of(fmt::format(
        "kernel launches(a: float32[{0}], b: float32[{0}])\n"
        "domain {{[t, i, j]: 0 <= t < {1} and 0 <= i < {0} and 0 <= j < {0}}}\n"
        "for t\n  for i\n    b[i] = a[{0} - 1 - i]\n  end\n  for j\n    a[j] = b[{0} - 1 - j]\n"
        "  end\nend\n",
        items, steps));
    p_.launch = call(split_by(split_by(k, "i", 256, "g.0", "l.0"), "j", 256, "g.0", "l.0"), k) /
                (2 * steps);
    const Kernel once =
        kernel_of(fmt::format("kernel start(a: in float32[{0}], b: float32[{0}])\n"
                              "domain {{[i]: 0 <= i < {0}}}\nb[i] = a[{0} - 1 - i]\n",
                              items));
    p_.start = std::max(call(split_by(once, "i", 256, "g.0", "l.0"), once) - p_.launch, 0.0);
  }

  /// Eight chains of multiply-and-add in each work-item: enough that none waits for another.
  double chains(const std::string& type) const {
    constexpr int chains = 8, steps = 4096;
    const int items = p_.is_gpu ? 1 << 18 : 1 << 13;
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
    const Kernel peak = kernel_of(text);
    const bool real = type.starts_with("float");
    const Kernel k = split_by(split_by(peak, "i", 256, "g.0", "l.0"), "k", 16, "for", "unr");
    return 2.0 * chains * steps * items /
           seconds(k, peak, {{"x", real ? "0.5" : "3"}, {"y", real ? "0.25" : "7"}});
  }

  double copies() const {
    std::int64_t elements = 1 << 26;
    const std::int64_t memory = p_.levels.back().bytes;
    while (elements > 1 << 20 && 64 * elements > memory) elements /= 2;
    const Kernel copy = kernel_of(R"(kernel copy(n: int32, a: in float32[n], b: out float32[n])
domain {[i]: 0 <= i < n}
b[i] = a[i]
)");
    const Kernel k = split_by(split_by(copy, "i", 4, "for", "vec"), "i_outer", 256, "g.0", "l.0");
    return 8.0 * static_cast<double>(elements) /
           seconds(k, copy, {{"n", std::to_string(elements)}});
  }

  /// Every work-item reads a line of its own.
  double scattered() const {
    constexpr std::int64_t elements = 1 << 20, stride = 37;
    const Kernel walk =
        kernel_of(fmt::format("kernel walk(a: in float32[{1}], b: out float32[{0}])\n"
                              "domain {{[i]: 0 <= i < {0}}}\nb[i] = a[{2}*i]\n",
                              elements, elements * stride, stride));
    return static_cast<double>((p_.levels.back().line + 4) * elements) /
           seconds(split_by(walk, "i", 256, "g.0", "l.0"), walk);
  }

  /// All groups read half of a cache, again and again.
  double reads(const cost::MemoryLevel& level) const {
    std::int64_t elements = 1 << 12;
    while (16 * elements <= level.bytes) elements *= 2;
    constexpr std::int64_t items = 1 << 18, steps = 64, stride = 65 * 256;
    const Kernel k = kernel_of(
        fmt::format("kernel reads(a: in float32[{0}], r: out float32[{1}])\n"
                    "domain {{[i]: 0 <= i < {1}}}\ndomain {{[k]: 0 <= k < {2}}}\n"
                    "for i\n  <float32> s = 0\n  for k\n    s = s + a[(i + {3}*k) % {0}]\n  end\n"
                    "  r[i] = s\nend\n",
                    elements, items, steps, stride));
    return 4.0 * items * steps / seconds(split_by(k, "i", 256, "g.0", "l.0"), k);
  }

  /// Work-items read neighbouring words, so many in a row that little else is done.
  double local_reads() const {
    constexpr std::int64_t items = 1 << 18, steps = 512, width = 256;
    const Kernel k = kernel_of(
        fmt::format("kernel local_reads(a: in float32[{0}], r: out float32[{0}])\n"
                    "domain {{[g, i, j]: 0 <= g < {1} and 0 <= i < {3} and 0 <= j < {4}}}\n"
                    "domain {{[k]: 0 <= k < {2}}}\n"
                    "temp t: float32[{3}] in local\n"
                    "for g\n  for i\n    t[i] = a[{4}*g + i % {4}]\n  end\n  for j\n    <float32> "
                    "s = 0\n    for k\n"
                    "      s = s + t[j + k]\n    end\n    r[{4}*g + j] = s\n  end\nend\n",
                    items, items / width, steps, steps + width, width));
    const Kernel split = split_by(split_by(k, "k", 32, "for", "unr"), "i", width, "for", "l.0");
    const Kernel tagged =
        run_op(*find_op("tag_inames"), split, {Value{std::string("g:g.0, j:l.0")}}, {});
    return 4.0 * items * steps / seconds(tagged, k);
  }

  /// At a size where it can pay to copy or not; far larger ones leave the host's caches.
  void transfers(Device& device) {
    const std::size_t bytes = std::size_t{1} << 22;
    std::vector<char> host(bytes, 1);
    const auto memory = device.allocate(bytes);
    const auto both_ways = [&](std::size_t n) {
      double least = 1e9;
      for (int i = 0; i < 20; ++i) {
        const double start = clock_now();
        memory->upload(host.data(), n);
        device.finish();
        memory->download(host.data(), n);
        least = std::min(least, clock_now() - start);
      }
      return least / 2;
    };
    p_.transfer_start = both_ways(16);
    const double took = both_ways(bytes);
    p_.transfer = static_cast<double>(bytes) / std::max(took - p_.transfer_start, took / 10);
  }

  Target target_;
  int n_;
  bool has_double_ = true;
  cost::MachineProfile p_;
};

}  // namespace

cost::MachineProfile measure_device(Target target, int n) {
  return DeviceMeter(target, n).profile();
}

}  // namespace moonloop::cli
