#include "runtime/memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <set>

#include "core/base/diagnostic.h"
#include "core/model/layout.h"

namespace moonloop {
namespace {

std::optional<double> number_in(const std::string& path) {
  std::ifstream in(path);
  double v = 0;
  if (in >> v) return v;  // `max` is not a number
  return {};
}

/// A line of /proc in kB.
std::optional<double> line_of(const char* path, const std::string& key) {
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);)
    if (line.starts_with(key)) {
      double kilobytes = 0;
      if (std::sscanf(line.c_str() + key.size(), ": %lf", &kilobytes) == 1) return kilobytes * 1024;
    }
  return {};
}

/// The memory that the control group of this process may still take, including caches that the
/// system would drop.
std::optional<double> left_in_group() {
  std::ifstream in("/proc/self/cgroup");
  std::optional<double> least;
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("0::")) continue;
    for (std::string path = line.substr(3);; path = path.substr(0, path.rfind('/'))) {
      const std::string folder = "/sys/fs/cgroup" + path;
      const auto most = number_in(folder + "/memory.max");
      const auto now = number_in(folder + "/memory.current");
      if (most && now) {
        double cached = 0, bytes = 0;
        std::ifstream stat(folder + "/memory.stat");
        for (std::string key; stat >> key >> bytes;)
          if (key == "inactive_file") cached = bytes;
        const double left = *most - *now + cached;
        least = least ? std::min(*least, left) : left;
      }
      if (path.empty() || path == "/") break;
    }
  }
  return least;
}

double elements(const Exprs& shape, const Integers& values) {
  double n = 1;
  for (const Expr& e : shape)
    n *= static_cast<double>(std::max<std::int64_t>(0, evaluate(e, values, "an extent")));
  return n;
}

/// The bytes of a variable of this shape; 0 where not known yet.
double bytes_of(const std::optional<Exprs>& shape, const std::optional<Type>& type,
                const Integers& values) {
  if (!shape || !type) return 0;
  for (const Expr& e : *shape)
    if (as_int(e) == kUnknownExtent) return 0;  // reported elsewhere
  try {
    return elements(*shape, values) * type->size();
  } catch (const Error&) { return 0; }  // depends on data; or overflows, reported elsewhere
}

struct Sum {
  double arguments = 0, temporaries = 0, written_elements = 0;
};
Sum sum_of(const Kernel& k, const Integers& values, RunBytes* largest, bool on_device = false) {
  Sum out;
  std::set<std::string> written;
  for (const InsnPtr& i : k.instructions)
    for (const std::string& n : writes(*i)) written.insert(n);
  const auto add = [&](const std::string& name, double bytes, const std::optional<Type>& type,
                       double& to) {
    to += bytes;
    if (type && bytes > 0 && written.count(name)) out.written_elements += bytes / type->size();
    if (largest && bytes > largest->largest_bytes && (!on_device || k.find_arg(name))) {
      largest->largest_bytes = bytes;
      largest->largest = name;
    }
  };
  for (const Argument& a : k.args)
    if (a.is_array) add(a.name, bytes_of(a.shape, a.type, values), a.type, out.arguments);
  for (const auto& [name, t] : k.temporaries)
    add(name, bytes_of(t.shape, t.type, values), t.type, out.temporaries);
  return out;
}

}  // namespace

std::optional<double> available_memory() {
  std::optional<double> least = line_of("/proc/meminfo", "MemAvailable");
  if (least) *least += line_of("/proc/meminfo", "SwapFree").value_or(0);
  const auto bounded = [&](std::optional<double> left) {
    if (left) least = least ? std::min(*least, *left) : *left;
  };
  bounded(left_in_group());
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    const double used = line_of("/proc/self/status", "VmSize").value_or(0);
    bounded(static_cast<double>(limit.rlim_cur) - used);
  }
  if (getrlimit(RLIMIT_DATA, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    bounded(static_cast<double>(limit.rlim_cur) - private_memory());
  return least;
}

double private_memory() { return line_of("/proc/self/status", "VmData").value_or(0); }

RunBytes bytes_of_run(const Kernel& k, const Kernel& original, const Integers& values,
                      const RunKind& kind) {
  RunBytes out;
  const Sum run = sum_of(k, values, &out, kind.on_device);
  out.arguments = run.arguments;
  if (!kind.on_device) out.temporaries = run.temporaries;
  if (kind.verify || kind.time) out.copies += run.arguments;
  if (kind.time) out.copies += run.arguments;
  if (kind.verify) {
    const Sum other = sum_of(original, values, nullptr);
    out.verifying = other.arguments + other.temporaries + 8 * other.written_elements;
  }
  return out;
}

std::string bytes_text(double bytes) {
  if (bytes < 1e3) return fmt::format("{:.0f} B", bytes);
  if (bytes < 1e6) return fmt::format("{:.1f} kB", bytes / 1e3);
  if (bytes < 1e9) return fmt::format("{:.1f} MB", bytes / 1e6);
  return fmt::format("{:.2f} GB", bytes / 1e9);
}

}  // namespace moonloop
