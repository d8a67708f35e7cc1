#include <algorithm>
#include <cstdlib>
#include <memory>
#include <set>

#include "cli/commands.h"
#include "cli/measure.h"
#include "codegen/language.h"
#include "runtime/c_compiler.h"
#include "runtime/device.h"
#include "runtime/host.h"
#include "runtime/process.h"
#include "runtime/profiles.h"

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

std::string measure_text(const cost::MachineProfile& p) {
  const double units = p.units;
  std::string out = fmt::format("         measured: copies {:.1f} GB/s, {:.1f} GFLOP/s single",
                                p.levels.back().all / 1e9, p.f32 * units / 1e9);
  if (p.f64 > 0) out += fmt::format(", {:.1f} GFLOP/s double precision", p.f64 * units / 1e9);
  std::string levels;
  for (const cost::MemoryLevel& l : p.levels)
    levels += fmt::format("{}{} {:.0f}", levels.empty() ? "" : ", ", l.name, l.one / 1e9);
  out += fmt::format("\n         of one unit: {} GB/s", levels);
  if (p.launch > 0)
    out += fmt::format("; {} {:.1f} us", p.is_gpu ? "a launch" : "a start of threads or a kernel",
                       p.launch * 1e6);
  if (p.transfer > 0) out += fmt::format("; transfers {:.1f} GB/s", p.transfer / 1e9);
  return out + "\n";
}

/// The line about the profile of a machine: measured now, kept, or not there.
std::string profile_text(Target target, const std::string& name,
                         const std::function<cost::MachineProfile()>& measure) {
  try {
    if (measure) {
      const cost::MachineProfile p = measure();
      const std::string path = keep_profile(target, p);
      return measure_text(p) + "         profile: kept in " + path + "\n";
    }
    if (const auto kept = kept_profile(target, name))
      return measure_text(*kept) + "         profile: " + profile_path(target, name) + "\n";
    return "         profile: none; `moonloop devices --measure` makes one\n";
  } catch (const Error& e) { return "         " + e.diagnostic().text + "\n"; }
}

/// The processor, whose profile is that of all targets without a device.
std::string host(bool measure) {
  const cost::MachineFacts f = host_facts();
  std::string out =
      fmt::format("host     {}\n         {} core{}", f.device, f.units, f.units == 1 ? "" : "s");
  for (const auto& c : f.caches)
    out += fmt::format(", L{} {}{}", c.level, bytes_text(c.bytes), c.shared ? " shared" : "");
  out += "\n";
  return out + profile_text(Target::C, f.device,
                            measure ? measure_host : std::function<cost::MachineProfile()>());
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
      std::string name;
      {
        const auto device = open_device(target, d);
        const DeviceLimits& l = device->limits();
        name = device->name();
        out += fmt::format(
            "{}\n         {} compute units, {} of memory, {} local; at most {} work-items "
            "in a group ({} x {} x {}){}\n",
            name, l.compute_units, bytes_text(l.memory), bytes_text(l.local_bytes),
            l.items_in_group, l.items[0], l.items[1], l.items[2],
            l.has_double ? "" : "; no double precision");
      }
      out += profile_text(target, name,
                          measure ? [target, d] { return measure_device(target, d); }
                                  : std::function<cost::MachineProfile()>());
    } catch (const Error& e) { out += e.diagnostic().text + "\n"; }
  }
  return out.empty() ? label + "none: the library lists no device\n" : out;
}

}  // namespace

void add_devices(CLI::App& app, Common& common, std::function<int()>& action) {
  CLI::App* command = app.add_subcommand(
      "devices", "List the compilers and the machines found, and measure them for predictions");
  add_common_options(*command, common, false);
  auto measure = std::make_shared<bool>(false);
  command->add_flag("--measure", *measure,
                    "measure what the processor and each device copy and compute at best, and keep "
                    "it as the profile that predictions are made with");
  auto target = std::make_shared<std::string>();
  command
      ->add_option("--target", *target,
                   "measure only the machine that runs the code of " + target_list(" or "))
      ->type_name("TARGET")
      ->check(one_of(target_names()));
  command->callback([&action, measure, target] {
    action = [measure, target] {
      const auto wanted = [&](Target t) {
        if (!*measure || target->empty()) return *measure;
        const Target only = target_option(*target);
        return only == t || (!is_device(only) && !is_device(t));
      };
      write_output("-", compilers() + host(wanted(Target::C)) +
                            devices(Target::OpenCL, wanted(Target::OpenCL)) +
                            devices(Target::Cuda, wanted(Target::Cuda)));
      return static_cast<int>(kDone);
    };
  });
}

}  // namespace moonloop::cli
