#include <algorithm>
#include <cstdlib>
#include <memory>
#include <set>

#include "cli/commands.h"
#include "cli/peak_rates.h"
#include "runtime/c_compiler.h"
#include "runtime/device.h"
#include "runtime/process.h"

namespace moonloop::cli {
namespace {

/// The compilers that `$CC` and usual names give, each once.
std::string compilers() {
  std::string out;
  std::set<std::string> seen;
  const char* given = std::getenv("CC");
  bool is_default = true;
  for (const std::string& name : {std::string(given ? given : ""), std::string("cc"),
                                  std::string("gcc"), std::string("clang"), std::string("icx")}) {
    const auto cc = find_c_compiler(name);
    // `cc` and `gcc` are often one: the text after the name in the version decides.
    if (!cc || !seen.insert(cc->version.substr(std::min(cc->version.find(' '), cc->version.size())))
                    .second)
      continue;
    out += fmt::format("c        {}{}\n", cc->str(), is_default ? "  [default]" : "");
    out += supports_openmp(*cc) ? "openmp   the same, with -fopenmp\n"
                                : "openmp   not supported by it\n";
    is_default = false;
  }
  if (has_ispc_compiler()) out += fmt::format("ispc     {}\n", find_ispc_compiler().str());
  return out.empty() ? "c        none; install a C compiler, or name one with the variable CC\n"
                     : out;
}

std::string bytes_text(std::int64_t n) {
  return n >= 1 << 30   ? fmt::format("{:.1f} GiB", static_cast<double>(n) / (1 << 30))
         : n >= 1 << 20 ? fmt::format("{:.1f} MiB", static_cast<double>(n) / (1 << 20))
                        : fmt::format("{} KiB", n / 1024);
}

std::string peak_rates_text(const PeakRates& c) {
  std::string out = fmt::format("         measured: copies {:.1f} GB/s, {:.1f} GFLOP/s single",
                                c.copy / 1e9, c.single / 1e9);
  if (c.twice > 0) out += fmt::format(", {:.1f} GFLOP/s double precision", c.twice / 1e9);
  return out + "\n";
}

/// The devices of a target with the limits that generated code meets, and measured rates.
std::string devices(Target target, bool measure) {
  const std::string label = fmt::format("{:8} ", to_string(target));
  int n = 0;
  try {
    n = count_devices(target);
  } catch (const Error& e) { return label + "none: " + e.diagnostic().text + "\n"; }
  std::string out;
  for (int d = 0; d < n; ++d) {
    out += fmt::format("{}{}: ", label, d);
    try {
      const auto device = open_device(target, d);
      const DeviceLimits& l = device->limits();
      out += fmt::format(
          "{}\n         {} compute units, {} of memory, {} local; at most {} work-items "
          "in a group ({} x {} x {}){}\n",
          device->name(), l.compute_units, bytes_text(l.memory), bytes_text(l.local_bytes),
          l.items_in_group, l.items[0], l.items[1], l.items[2],
          l.has_double ? "" : "; no double precision");
      const auto rates =
          measure ? measure_peak_rates(target, d) : known_peak_rates(target, device->name());
      if (rates) out += peak_rates_text(*rates);
    } catch (const Error& e) { out += e.diagnostic().text + "\n"; }
  }
  return out.empty() ? label + "none: the library lists no device\n" : out;
}

}  // namespace

void add_devices(CLI::App& app, Common& common, std::function<int()>& action) {
  CLI::App* command =
      app.add_subcommand("devices", "List the compilers and the OpenCL and CUDA devices found");
  add_common_options(*command, common, false);
  auto measure = std::make_shared<bool>(false);
  command->add_flag("--measure", *measure,
                    "measure what each device copies and computes at best, and keep it");
  command->callback([&action, measure] {
    action = [measure] {
      write_output(
          "-", compilers() + devices(Target::OpenCL, *measure) + devices(Target::Cuda, *measure));
      return static_cast<int>(kDone);
    };
  });
}

}  // namespace moonloop::cli
