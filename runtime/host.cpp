#include "runtime/host.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

namespace moonloop {
namespace {

/// The first value of each name in /proc/cpuinfo.
std::map<std::string, std::string> processor_facts() {
  std::ifstream in("/proc/cpuinfo");
  std::map<std::string, std::string> first;
  for (std::string line; std::getline(in, line);) {
    const auto colon = line.find(':');
    if (colon == std::string::npos || colon + 2 > line.size()) continue;
    first.emplace(line.substr(0, line.find_last_not_of(" \t", colon - 1) + 1),
                  line.substr(colon + 2));
  }
  return first;
}

int usable_processors() {
  cpu_set_t mine;
  CPU_ZERO(&mine);
  return ::sched_getaffinity(0, sizeof mine, &mine) == 0 ? CPU_COUNT(&mine) : 1;
}

/// The first line of a file; empty when it cannot be read.
std::string line_of(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

/// `48K`, `1024K`, `8M` in bytes.
std::int64_t size_text(const std::string& text) {
  char* end = nullptr;
  const long long n = std::strtoll(text.c_str(), &end, 10);
  return n * (*end == 'K' ? 1 << 10 : *end == 'M' ? 1 << 20 : 1);
}

/// Whether a list such as `0-1,4` names more than one processor.
bool names_several(const std::string& list) {
  return list.find_first_of(",-") != std::string::npos;
}

/// In hertz.
double clock_of(const std::map<std::string, std::string>& facts) {
  const std::string most = line_of("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq");
  if (!most.empty()) return 1e3 * std::strtod(most.c_str(), nullptr);
  const auto now = facts.find("cpu MHz");
  return now == facts.end() ? 0 : 1e6 * std::strtod(now->second.c_str(), nullptr);
}

/// Of the vectors that compilers use without being told: half of the longest of x86.
int vector_bytes_of(const std::map<std::string, std::string>& facts) {
  const auto flags = facts.find("flags");
  if (flags == facts.end()) return 16;
  std::istringstream words(flags->second);
  for (std::string w; words >> w;)
    if (w == "avx2") return 32;
  return 16;
}

}  // namespace

std::string processor_model() {
  auto first = processor_facts();
  if (const auto it = first.find("model name"); it != first.end() && !it->second.empty())
    return it->second;
  if (first.count("CPU implementer") && first.count("CPU part"))
    return fmt::format("processor {} {}", first["CPU implementer"], first["CPU part"]);
  utsname system{};
  return ::uname(&system) == 0 ? fmt::format("processor {}", system.machine) : "processor";
}

int thread_count() {
  if (const char* given = std::getenv("OMP_NUM_THREADS")) {
    const int n = std::atoi(given);
    if (n > 0) return n;
  }
  return usable_processors();
}

cost::MachineFacts host_facts() {
  const auto facts = processor_facts();
  cost::MachineFacts out;
  out.device = processor_model();
  out.units = usable_processors();
  out.clock = clock_of(facts);
  out.vector_bytes = vector_bytes_of(facts);
  const std::string folder = "/sys/devices/system/cpu/cpu0/cache/index";
  for (int i = 0;; ++i) {
    const std::string at = folder + std::to_string(i) + "/";
    const std::string type = line_of(at + "type");
    if (type.empty()) break;
    if (type == "Instruction") continue;
    const std::int64_t line = size_text(line_of(at + "coherency_line_size"));
    out.caches.push_back({static_cast<int>(size_text(line_of(at + "level"))),
                          size_text(line_of(at + "size")), line > 0 ? line : 64,
                          names_several(line_of(at + "shared_cpu_list"))});
  }
  const long pages = ::sysconf(_SC_PHYS_PAGES), page = ::sysconf(_SC_PAGESIZE);
  if (pages > 0 && page > 0) out.memory = static_cast<std::int64_t>(pages) * page;
  return out;
}

}  // namespace moonloop
