#include "runtime/profiles.h"

#include <sys/stat.h>

#include <filesystem>

#include "codegen/language.h"
#include "core/base/diagnostic.h"
#include "runtime/cache.h"
#include "runtime/file.h"
#include "runtime/host.h"

namespace moonloop {
namespace {

std::string profiles_folder() {
  const std::string folder = Cache::standard().folder();
  return folder.empty() ? folder : folder + "/profiles";
}

/// Letters, digits and dots of a name, `_` for each run of others.
std::string file_name(const std::string& name) {
  std::string out;
  for (char c : name) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '-';
    if (plain || out.empty() || out.back() != '_') out += plain ? c : '_';
  }
  return out;
}

cost::MachineProfile read_profile(const std::string& path) {
  std::string text;
  if (!read_whole(path, text)) fail("no-profile", {}, "cannot read the profile `{}`", path);
  return cost::parse_profile(text, path);
}

/// A small GPU, for targets of which this machine has no device.
cost::MachineFacts assumed_gpu() {
  cost::MachineFacts f;
  f.device = "a small GPU, as this machine has none";
  f.is_gpu = true;
  f.units = 20;
  f.clock = 1.4e9;
  f.caches = {{2, std::int64_t{2} << 20, 32, true}};
  f.memory = std::int64_t{4} << 30;
  f.local_bytes = 48 << 10;
  return f;
}

/// The processor of a usual computer, for what must not depend on this machine.
cost::MachineFacts assumed_host() {
  cost::MachineFacts f;
  f.device = "an assumed processor";
  f.units = 8;
  f.clock = 3e9;
  f.vector_bytes = 32;
  f.caches = {{1, 48 << 10, 64, false}, {2, 1 << 20, 64, false}, {3, 32 << 20, 64, true}};
  f.memory = std::int64_t{16} << 30;
  return f;
}

}  // namespace

std::string profile_name(Target target, int n) {
  return is_device(target) ? open_device(target, n)->name() : processor_model();
}

std::string profile_path(Target target, const std::string& name) {
  const std::string folder = profiles_folder();
  if (folder.empty()) return folder;
  const std::string kind = is_device(target) ? to_string(target) : "host";
  return fmt::format("{}/{}-{}-{}.json", folder, kind, file_name(name),
                     Cache::key(name).substr(0, 8));
}

std::optional<cost::MachineProfile> kept_profile(Target target, const std::string& name) {
  const std::string path = profile_path(target, name);
  std::string text;
  if (path.empty() || !read_whole(path, text)) return std::nullopt;
  return cost::parse_profile(text, path);
}

std::string keep_profile(Target target, const cost::MachineProfile& p) {
  const std::string path = profile_path(target, p.device);
  if (path.empty())
    fail("cannot-write", {},
         "there is no cache folder for the profile; set `XDG_CACHE_HOME` or `HOME`");
  std::error_code failed;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), failed);
  write_file(path, {cost::to_json(p)});
  return path;
}

cost::MachineFacts facts_of(const Device& device) {
  const DeviceLimits& l = device.limits();
  cost::MachineFacts out;
  if (!l.is_gpu) out = host_facts();  // a device of the processor
  out.device = device.name();
  out.is_gpu = l.is_gpu;
  out.units = std::max(l.compute_units, 1);
  if (l.is_gpu && l.cache_bytes > 0) out.caches = {{2, l.cache_bytes, 32, true}};
  if (l.clock > 0) out.clock = l.clock;
  out.memory = l.memory;
  out.local_bytes = l.local_bytes;
  return out;
}

cost::MachineProfile profile_for(Target target, int n, const std::string& machine) {
  if (machine.ends_with(".json")) return read_profile(machine);
  if (machine == "assumed") {
    cost::MachineProfile p =
        cost::default_profile(is_device(target) ? assumed_gpu() : assumed_host());
    p.handover = p.handover_apart = 1e15;  // who wrote the arguments is not known
    return p;
  }
  if (!machine.empty()) {
    if (auto kept = kept_profile(target, machine)) return *kept;
    fail("no-profile", {},
         "there is no profile of `{}` for target `{}`; `moonloop devices --measure` there makes "
         "one",
         machine, to_string(target));
  }
  if (!is_device(target)) {
    if (auto kept = kept_profile(target, processor_model())) return *kept;
    return cost::default_profile(host_facts());
  }
  std::unique_ptr<Device> device;
  try {
    if (n >= 0 || count_devices(target) > 0) device = open_device(target, n);
  } catch (const Error&) {
    if (n >= 0) throw;  // asked for by number
  }
  if (!device) return cost::default_profile(assumed_gpu());
  if (auto kept = kept_profile(target, device->name())) return *kept;
  return cost::default_profile(facts_of(*device));
}

}  // namespace moonloop
