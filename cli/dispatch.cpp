#include "cli/dispatch.h"

#include "cli/commands.h"
#include "cli/warnings.h"
#include "codegen/dispatch.h"
#include "codegen/language.h"
#include "codegen/reserved.h"
#include "core/base/diagnostic.h"
#include "core/order/check_kernel.h"
#include "cost/guard.h"
#include "runtime/profiles.h"
#include "scripts/automatic.h"

namespace moonloop::cli {
namespace {

/// One of the two versions.
struct DispatchSide {
  Target target;
  std::vector<std::string> scripts;
  cost::MachineProfile profile;
};

/// `TARGET:FILE.lua`, or `TARGET`.
std::pair<Target, std::vector<std::string>> device_of(const std::string& text) {
  const auto colon = text.find(':');
  const auto target = parse_target(text.substr(0, colon));
  if (!target)
    throw CLI::ValidationError("--dispatch", "`" + text.substr(0, colon) + "` is not a target");
  if (colon == std::string::npos) return {*target, {}};
  if (colon + 1 == text.size())
    throw CLI::ValidationError("--dispatch", "`" + text + "` is not TARGET or TARGET:FILE.lua");
  return {*target, {text.substr(colon + 1)}};
}

std::map<Target, std::string> profiles_of(const std::vector<std::string>& all, Target host,
                                          Target device) {
  std::map<Target, std::string> out;
  for (const std::string& text : all) {
    const auto equals = text.find('=');
    const auto target = parse_target(text.substr(0, equals));
    if (equals == std::string::npos || !target)
      throw CLI::ValidationError("--profile", "`" + text + "` is not TARGET=NAME or TARGET=FILE");
    if (*target != host && *target != device)
      throw CLI::ValidationError(
          "--profile", fmt::format("no version is for {}; they are for {} "
                                   "and {}",
                                   to_string(*target), to_string(host), to_string(device)));
    out[*target] = text.substr(equals + 1);
  }
  return out;
}

/// The kernels as one version has them.
std::vector<Kernel> kernels_of(Common c, const DispatchSide& side) {
  c.transforms = side.scripts;
  c.tuned = side.target;
  if (!side.scripts.empty()) c.target = side.target;
  std::set<std::string> marked;
  std::vector<Kernel> out = pick_kernels(c, load_kernels(c, {}, nullptr, nullptr, &marked));
  if (!side.scripts.empty()) return out;
  for (Kernel& k : out) {
    if (marked.count(k.name) && !is_device(side.target)) continue;
    const std::string prefix = out.size() > 1 ? k.name + "_" : "";
    std::vector<std::string> elsewhere;
    if (out.size() > 1)
      for (const auto& [name, value] : c.params) elsewhere.push_back(name);
    const Integers about = given_integers(complete(k), c.params, elsewhere);
    k = automatic(k, side.target, {.params = about, .prefix = prefix}, script_options(c)).kernel;
  }
  return out;
}

std::string machine_of(const cost::MachineProfile& p) {
  return p.device + (p.measured ? ", measured" : ", not measured");
}

DispatchGuard guard_of(const Kernel& original, const cost::Work& host, const cost::Work& device,
                       const DispatchSide& here, const DispatchSide& there,
                       const cost::PredictOptions& predict) {
  const cost::Guard fit =
      cost::fit_guard({host, here.profile}, {device, there.profile}, original.assumptions, predict);
  DispatchGuard out;
  out.condition = fit.c_condition();
  if (out.condition.empty()) {
    out.host = fit.host.c_body();
    out.device = fit.device.c_body();
  }
  out.parameters = fit.parameters;
  out.host_says = {"Host: " + machine_of(here.profile) + "."};
  out.device_says = {"Device: " + machine_of(there.profile) + ".",
                     predict.resident ? "Arrays are on the device: no copies count."
                                      : "With copies of the arrays to the device and back."};
  out.says = {fmt::format("Of {} sizes, the cost model itself chooses otherwise at {}{}", fit.sizes,
                          fit.differ, fit.differ == 0 ? "." : ",")};
  if (fit.differ > 0)
    out.says.push_back(
        fmt::format("and predicts that to be at most {:.2f} times as fast.", fit.worst));
  return out;
}

/// That of the function: the kernel's, unless C or CUDA has it.
std::string function_name(const std::string& kernel) {
  for (const Surroundings s : {Surroundings::C, Surroundings::Cuda, Surroundings::OpenCLHost})
    if (is_reserved(s, NameUse::Global, kernel)) return kernel + "_kernel";
  return kernel;
}

}  // namespace

Dispatched dispatch_kernels(const Common& common, Target host, const DispatchOptions& o) {
  const auto [device, scripts] = device_of(o.device);
  check_dispatch(host, device);
  if (o.resident && device != Target::Cuda)
    throw CLI::ValidationError("--resident", "with --dispatch it goes with cuda");
  const std::map<Target, std::string> machines = profiles_of(o.profiles, host, device);
  const auto profile = [&](Target t) {
    const auto it = machines.find(t);
    return it == machines.end() ? profile_for(t, common.device)
                                : profile_for(t, common.device, it->second);
  };
  const DispatchSide here{host, common.transforms, profile(host)},
      there{device, scripts, profile(device)};
  Common c = common;
  if (!c.knobs.empty()) c.all_knobs = std::make_shared<Knobs>(c.knobs);
  const std::vector<Kernel> on_host = kernels_of(c, here), on_device = kernels_of(c, there);
  if (c.all_knobs) c.all_knobs->require_declared();
  cost::PredictOptions predict;
  predict.trips = trips_option(o.trips);
  predict.resident = o.resident;
  Dispatched out;
  std::vector<Pieces> all;
  for (std::size_t i = 0; i < on_host.size(); ++i) {
    warn_of_unused_tags(common, on_host[i], host);
    warn_of_single_work_item(common, on_device[i], device);
    warn_of_unused_tags(common, on_device[i], device);
    Kernel k = on_host[i], d = on_device[i];
    const std::string name = function_name(k.name);
    const DispatchGuard guard =
        guard_of(k, cost::work_of(k, host), cost::work_of(d, device), here, there, predict);
    k.name = dispatch_name(name, host);
    d.name = dispatch_name(name, device);
    const Program one =
        generate(std::move(k), host, {.called = true, .cxx = device == Target::Cuda});
    const Program other =
        generate(std::move(d), device,
                 {.host_arrays = true, .resident = o.resident ? Residency::All : Residency::None});
    all.push_back(dispatch(name, one, other, guard));
    out.header = dispatch_header(name, one, guard);
  }
  out.code = text_of(all);
  return out;
}

void add_dispatch_options(CLI::App& command, DispatchOptions& o) {
  command
      .add_option("--dispatch", o.device,
                  "a version for a device, too, opencl or cuda, with its script: one function has "
                  "both, and runs the one that is predicted to be faster; without scripts they are "
                  "those of `auto`")
      ->type_name("TARGET[:FILE.lua]");
  command
      .add_option("--profile", o.profiles,
                  "with --dispatch: the machine of a version, by its kept profile's name or the "
                  "profile's file")
      ->type_name("TARGET=NAME|FILE");
  command
      .add_option(
          "--trips", o.trips,
          "with --dispatch: how many iterations a loop has whose bounds the kernel computes")
      ->type_name("INAME=NUMBER");
}

}  // namespace moonloop::cli
