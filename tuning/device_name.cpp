#include "tuning/device_name.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/utsname.h>

#include <cstdlib>
#include <fstream>
#include <map>

#include "codegen/language.h"
#include "runtime/device.h"

namespace moonloop::tuning {
namespace {

/// `model name`, where the system tells it; on Arm the numbers of maker and part.
std::string processor_model() {
  std::ifstream in("/proc/cpuinfo");
  std::map<std::string, std::string> first;
  for (std::string line; std::getline(in, line);) {
    const auto colon = line.find(':');
    if (colon == std::string::npos || colon + 2 > line.size()) continue;
    first.emplace(line.substr(0, line.find_last_not_of(" \t", colon - 1) + 1),
                  line.substr(colon + 2));
  }
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
  cpu_set_t mine;
  CPU_ZERO(&mine);
  return ::sched_getaffinity(0, sizeof mine, &mine) == 0 ? CPU_COUNT(&mine) : 1;
}

}  // namespace

std::string device_name(Target target, int n) {
  if (is_device(target)) return open_device(target, n)->name();
  const std::string model = processor_model();
  if (target == Target::C) return model;
  const int threads = thread_count();
  return fmt::format("{}, {} thread{}", model, threads, threads == 1 ? "" : "s");
}

}  // namespace moonloop::tuning
