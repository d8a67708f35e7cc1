#include "cost/machine_profile.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/base/diagnostic.h"

namespace moonloop::cost {
namespace {

using ProfileJson = nlohmann::ordered_json;

/// Reads members of an object and remembers where it is, for messages.
class Members {
 public:
  Members(const ProfileJson& object, std::string of, const std::string& name)
      : object_(object), of_(std::move(of)), name_(name) {
    if (!object.is_object()) wrong(of_.empty() ? "the profile" : of_, "an object");
  }

  void read(const char* member, std::string& to) const {
    const ProfileJson& v = at(member);
    if (!v.is_string()) wrong(full(member), "a string");
    to = v.get<std::string>();
  }
  void read(const char* member, bool& to) const {
    const ProfileJson& v = at(member);
    if (!v.is_boolean()) wrong(full(member), "true or false");
    to = v.get<bool>();
  }
  template <class Number>
  void read(const char* member, Number& to) const {
    const ProfileJson& v = at(member);
    if (!v.is_number() || v.get<double>() < 0 || v.get<double>() > 1e18)
      wrong(full(member), "a number from 0 to 1e18");
    to = v.get<Number>();
  }
  const ProfileJson& at(const char* member) const {
    const auto it = object_.find(member);
    if (it == object_.end()) wrong(full(member), "there");
    return *it;
  }
  [[noreturn]] void wrong(const std::string& what, const std::string& expected) const {
    fail("bad-profile", {}, "{}: `{}` is not {}", name_, what, expected);
  }

 private:
  std::string full(const char* member) const { return of_.empty() ? member : of_ + "." + member; }
  const ProfileJson& object_;
  std::string of_;
  const std::string& name_;
};

/// Calls `member(name, field)` for each number, text and flag of a profile, in a fixed order.
template <class Profile, class F>
void each_member(Profile& p, F member) {
  member("device", p.device);
  member("gpu", p.is_gpu);
  member("measured", p.measured);
  member("units", p.units);
  member("clock", p.clock);
  member("vector_bytes", p.vector_bytes);
  member("registers", p.registers);
  member("together", p.together);
  member("issue", p.issue);
  member("latency", p.latency);
  member("f32", p.f32);
  member("f64", p.f64);
  member("i32", p.i32);
  member("launch", p.launch);
  member("start", p.start);
  member("handover", p.handover);
  member("handover_apart", p.handover_apart);
  member("barrier", p.barrier);
  member("transfer_start", p.transfer_start);
  member("transfer", p.transfer);
}
template <class Costs, class F>
void each_operation(Costs& o, F member) {
  member("division", o.division);
  member("function", o.function);
  member("power", o.power);
}
template <class Level, class F>
void each_of_level(Level& l, F member) {
  member("name", l.name);
  member("bytes", l.bytes);
  member("line", l.line);
  member("shared", l.shared);
  member("one", l.one);
  member("all", l.all);
  member("scattered", l.scattered);
}

MachineProfile profile_of(const ProfileJson& json, const std::string& name) {
  MachineProfile p;
  const Members all(json, "", name);
  int version = 0;
  all.read("version", version);
  if (version != MachineProfile::kVersion)
    fail("bad-profile", {},
         "{}: a profile of version {}, not {}; `moonloop devices --measure` "
         "makes it anew",
         name, version, MachineProfile::kVersion);
  each_member(p, [&](const char* member, auto& field) { all.read(member, field); });
  const Members operations(all.at("operations"), "operations", name);
  each_operation(p.operations,
                 [&](const char* member, auto& field) { operations.read(member, field); });
  const ProfileJson& levels = all.at("levels");
  if (!levels.is_array() || levels.empty()) all.wrong("levels", "a list with main memory");
  for (const ProfileJson& l : levels) {
    const Members level(l, fmt::format("levels[{}]", p.levels.size()), name);
    MemoryLevel& to = p.levels.emplace_back();
    each_of_level(to, [&](const char* member, auto& field) { level.read(member, field); });
    if (to.line < 1 || to.one <= 0 || to.all <= 0) level.wrong("levels", "made of positive rates");
  }
  if (p.units < 1 || p.clock <= 0 || p.f32 <= 0 || p.i32 <= 0 || p.issue <= 0)
    all.wrong("units, clock, f32, i32, issue", "positive");
  if (p.together <= 0 || p.together > 1) all.wrong("together", "from 0 to 1");
  if (!p.is_gpu && (p.handover <= 0 || p.handover_apart <= 0))
    all.wrong("handover, handover_apart", "positive");
  return p;
}

}  // namespace

double MachineProfile::rate(Scalar type) const {
  if (is_integer(type) || type == Scalar::Bool) return i32;
  const bool twice = type == Scalar::F64 || type == Scalar::C128;
  return twice && f64 > 0 ? f64 : f32;
}

const MemoryLevel* MachineProfile::level(const std::string& name) const {
  const auto it = std::find_if(levels.begin(), levels.end(),
                               [&](const MemoryLevel& l) { return l.name == name; });
  return it == levels.end() ? nullptr : &*it;
}

std::string to_json(const MachineProfile& p) {
  ProfileJson out{{"version", MachineProfile::kVersion}};
  each_member(p, [&](const char* member, const auto& field) { out[member] = field; });
  ProfileJson& operations = out["operations"] = ProfileJson::object();
  each_operation(p.operations,
                 [&](const char* member, const auto& field) { operations[member] = field; });
  ProfileJson& levels = out["levels"] = ProfileJson::array();
  for (const MemoryLevel& l : p.levels) {
    ProfileJson& level = levels.emplace_back(ProfileJson::object());
    each_of_level(l, [&](const char* member, const auto& field) { level[member] = field; });
  }
  return out.dump(2, ' ', false, ProfileJson::error_handler_t::replace) + "\n";
}

MachineProfile parse_profile(const std::string& text, const std::string& name) {
  const ProfileJson json = ProfileJson::parse(text, nullptr, false);
  if (json.is_discarded()) fail("bad-profile", {}, "{}: it is not JSON", name);
  return profile_of(json, name);
}

namespace {

MachineProfile default_gpu(const MachineFacts& f) {
  MachineProfile p;
  p.device = f.device;
  p.is_gpu = true;
  p.units = f.units;
  p.clock = f.clock > 0 ? f.clock : 1.2e9;
  p.vector_bytes = 128;
  p.registers = 255;
  p.issue = 2;
  p.latency = 6;
  p.f32 = 128 * p.clock;  // 64 multiply-adds in a cycle
  p.f64 = p.f32 / 4;
  p.i32 = p.f32 / 2;
  p.operations = {8, 16, 32};
  const double all = static_cast<double>(p.units) * p.clock;
  const auto level = [&](const char* name, std::int64_t bytes, std::int64_t line, bool shared,
                         double per_cycle) {
    p.levels.push_back(
        {name, bytes, line, shared, per_cycle * p.clock, per_cycle * all, per_cycle * p.clock});
  };
  level("local", f.local_bytes > 0 ? f.local_bytes : 32 << 10, 4, false, 64);
  for (const MachineFacts::Cache& c : f.caches) level("L2", c.bytes, 32, true, 16);
  if (f.caches.empty()) level("L2", std::int64_t{512} << 10, 32, true, 16);
  level("memory", f.memory, 32, true, 6);
  p.launch = 5e-6;
  p.barrier = 30 / p.clock;
  p.transfer_start = 1e-5;
  p.transfer = 6e9;
  return p;
}

MachineProfile default_cpu(const MachineFacts& f) {
  MachineProfile p;
  p.device = f.device;
  p.units = f.units;
  p.clock = f.clock > 0 ? f.clock : 2e9;
  p.vector_bytes = f.vector_bytes;
  p.registers = f.vector_bytes >= 64 ? 32 : 16;
  p.issue = 4;
  p.latency = 4;
  p.f32 = 4 * p.clock * f.vector_bytes / 4;  // two multiply-adds of vectors in a cycle
  p.f64 = p.f32 / 2;
  p.i32 = 2 * p.clock * f.vector_bytes / 4;
  const auto units = static_cast<double>(p.units);
  // Bytes in a cycle: two vectors of the first level, then what most machines reach.
  const double first = 2.0 * f.vector_bytes;
  for (const MachineFacts::Cache& c : f.caches) {
    const double per_cycle = c.level == 1 ? first : c.level == 2 ? 24 : 10;
    p.levels.push_back({fmt::format("L{}", c.level), c.bytes, c.line, c.shared, per_cycle * p.clock,
                        per_cycle * p.clock * (c.shared ? units * 0.6 : units),
                        (c.level == 1   ? 32
                         : c.level == 2 ? 16
                                        : 4) *
                            p.clock});
  }
  if (f.caches.empty())
    p.levels.push_back(
        {"L1", 32 << 10, 64, false, first * p.clock, first * p.clock * units, 32 * p.clock});
  const double one = 8e9;
  p.levels.push_back({"memory", 0, 64, true, one, std::min(one * units, 2 * one), 3e9});
  p.launch = 5e-6;
  p.handover = one;
  p.handover_apart = one / 4;
  return p;
}

}  // namespace

MachineProfile default_profile(const MachineFacts& facts) {
  return facts.is_gpu ? default_gpu(facts) : default_cpu(facts);
}

}  // namespace moonloop::cost
