#include "cli/own_schedules.h"

#include <algorithm>
#include <filesystem>

#include "cli/commands.h"
#include "core/base/diagnostic.h"
#include "core/model/value.h"
#include "core/order/check_kernel.h"
#include "runtime/cache.h"
#include "runtime/file.h"
#include "runtime/in_child.h"
#include "scripts/automatic.h"
#include "scripts/library.h"
#include "tuning/hashes.h"

// `--auto`: schedules without a word in the source.
namespace moonloop::cli {
namespace {

namespace fs = std::filesystem;

/// What a search came to: a script, or the reason why there is none.
struct FoundSchedule {
  bool schedule = false, late = false;
  std::string text;
};

constexpr char kFoundScript = '+', kFoundReason = '-', kFoundLate = '!';

std::string written_schedule(const FoundSchedule& f) {
  return std::string(1, f.schedule ? kFoundScript : f.late ? kFoundLate : kFoundReason) + f.text;
}

FoundSchedule read_schedule(const std::string& text) {
  const char kind = text.empty() ? kFoundReason : text[0];
  return {kind == kFoundScript, kind == kFoundLate, text.empty() ? text : text.substr(1)};
}

/// By what a schedule is known again: all that it depends on but this program's code, of which its
/// version and the library's texts stand for the rest.
std::string schedule_key(const Kernel& k, Target target, const AutomaticOptions& how,
                         double seconds) {
  std::string all = fmt::format("{}\n{}\n{}\n{}\n{}\n", MOONLOOP_VERSION, to_string(target),
                                how.prefix, how.called, seconds);
  for (const auto& [name, value] : how.params) all += fmt::format("{}={}\n", name, value);
  all += tuning::kernel_hash(k) + "\n";
  for (const Step& s : k.trace)
    all += s.name + to_lua(Value{s.positional}) + to_lua(Value{s.options}) + "\n";
  for (const LibraryFile& f : library_files()) all += f.text;
  return Cache::key(all);
}

FoundSchedule search_schedule(const Common& c, const Kernel& k, Target target,
                              const AutomaticOptions& how) {
  const auto work = [&] {
    try {
      const Automatic a = automatic(k, target, how, script_options(c));
      const bool steps = a.kernel.trace.size() > k.trace.size();
      return written_schedule({steps, false, a.script});
    } catch (const Error& e) { return written_schedule({false, false, e.diagnostic().text}); }
  };
  const ChildResult r = run_in_child(work, {}, {.seconds = c.own->seconds});
  if (r.late)
    return {false, true, fmt::format("its schedule takes more than {} s to find", c.own->seconds)};
  if (r.stopped || r.ended || r.signal != 0)
    fail("cannot-start", k.at, "the search for a schedule of `{}` was stopped", k.name);
  return read_schedule(r.text);
}

/// As lines of comment where there is no script.
std::string explained_schedule(const Kernel& k, Target target, const FoundSchedule& f) {
  if (f.schedule) return f.text;
  if (!f.late && f.text.starts_with("--")) return f.text;  // a script without steps
  return fmt::format("-- `moonloop auto` for `{}` on {}: it stays as it is: {}\n", k.name,
                     to_string(target), f.text);
}

}  // namespace

void add_own_schedules(CLI::App& command, std::shared_ptr<OwnSchedules>& wanted) {
  const auto o = std::make_shared<OwnSchedules>();
  CLI::Option* all = command.add_flag_callback(
      "--auto", [&wanted, o] { wanted = o; },
      "kernels that no script changes get the schedule that `moonloop auto` writes");
  command
      .add_option("--auto-limit", o->seconds,
                  "with --auto: seconds after which a kernel keeps its own order")
      ->type_name("SECONDS")
      ->check(CLI::Range(1e-9, 1e9, "POSITIVE"))
      ->capture_default_str()
      ->needs(all);
  command
      .add_option("--schedules", o->folder,
                  "with --auto: a folder for the scripts, KERNEL.lua, each step with its reason")
      ->type_name("FOLDER")
      ->needs(all);
}

std::string own_schedule(const Common& c, const Kernel& k, bool called) {
  const Target target = c.target.value_or(Target::C);
  FoundSchedule found;
  std::optional<Kernel> full;
  try {
    full = complete(k);
  } catch (const Error& e) { found.text = e.diagnostic().text; }
  if (full) {
    std::vector<std::string> elsewhere;  // other kernels have these parameters
    for (const auto& [name, value] : c.params) elsewhere.push_back(name);
    const AutomaticOptions how{.params = given_integers(*full, c.params, elsewhere),
                               .prefix = k.name + "_",
                               .called = called};
    const Cache cache = Cache::standard();
    const std::string key = schedule_key(*full, target, how, c.own->seconds);
    if (const auto kept = cache.content(key, "schedule"))
      found = read_schedule(*kept);
    else
      cache.keep(key, "schedule", written_schedule(found = search_schedule(c, k, target, how)));
  }
  if (found.late)
    c.own->notes.push_back(fmt::format("`{}` keeps its order: {}", k.name, found.text));
  if (!c.own->folder.empty()) {
    std::error_code none;
    fs::create_directories(c.own->folder, none);
    write_file(c.own->folder + "/" + k.name + ".lua", {explained_schedule(k, target, found)});
  }
  return found.schedule ? found.text : "";
}

std::vector<Kernel> with_own_schedules(const Common& c, std::vector<Kernel> kernels,
                                       const std::set<std::string>& chosen,
                                       const ScriptOptions& options) {
  const std::vector<Kernel> all = kernels;
  for (const Kernel& k : all) {
    if (!chosen.contains(k.name)) continue;
    const bool called = std::any_of(all.begin(), all.end(), [&](const Kernel& other) {
      return other.callees.contains(k.name);
    });
    if (const std::string script = own_schedule(c, k, called); !script.empty())
      kernels = run_transform_script(add_source("auto of " + k.name, script), kernels, options);
  }
  return kernels;
}

}  // namespace moonloop::cli
