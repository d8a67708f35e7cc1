#include "cli/tuned.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "codegen/language.h"
#include "core/order/check_kernel.h"
#include "runtime/sizes.h"
#include "tuning/database.h"
#include "tuning/device_name.h"
#include "tuning/hashes.h"

namespace moonloop::cli {
namespace {

/// `e` with a way on, unless it has one.
[[noreturn]] void fail_without_database(const Error& e) {
  std::vector<Diagnostic> all = e.diagnostics();
  if (all.front().hint.empty()) all.front().hint = "`--no-db` leaves the database out";
  throw Error(std::move(all));
}

/// The name of the device that times would be of; nothing where there is none.
std::optional<std::string> device_here(const Common& c) {
  try {
    return tuning::device_name(*c.tuned, c.device);
  } catch (const Error& e) {
    if (e.diagnostic().code != "no-device") throw;
    return std::nullopt;
  }
}

}  // namespace

void TunedValues::set_kernels(const std::vector<Kernel>& all) {
  std::vector<const Kernel*> meant;
  for (const Kernel& k : all)
    if (c_.means(k.name)) meant.push_back(&k);
  if (meant.size() == 1) kernel_ = *meant.front();
}

std::string TunedValues::kernel_hash() const {
  if (kernel_) return tuning::kernel_hash(*kernel_);
  return made_ ? tuning::made_kernel_hash(texts_.front(), c_.settings) : "";
}

std::string TunedValues::script_hash() const {
  return tuning::script_hash({texts_.begin(), texts_.end()}, c_.settings);
}

/// Integers that -p gives, and those that follow from the shapes of files.
tuning::Sizes TunedValues::sizes() const {
  GivenValues given = c_.params;
  if (kernel_ && !c_.inputs.empty())
    given = with_sizes_of_files(complete(*kernel_), given, c_.inputs);
  tuning::Sizes out;
  for (const auto& [name, text] : given) {
    std::int64_t n = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, n);
    if (stop == end && error == std::errc()) out[name] = n;
  }
  return out;
}

std::optional<KnobValues> TunedValues::find() {
  if (!c_.tuned || c_.no_database || (!kernel_ && !made_)) return std::nullopt;
  try {
    return look();
  } catch (const Error& e) { fail_without_database(e); }
}

std::optional<KnobValues> TunedValues::look() {
  const std::string path = c_.database.empty() ? tuning::standard_database() : c_.database;
  std::error_code none;
  if (c_.database.empty() && !std::filesystem::exists(path, none)) return std::nullopt;
  const tuning::Database db(path, tuning::Database::Mode::Read);
  tuning::Query q;
  q.kernel = kernel_hash();
  q.script = script_hash();
  if (!kernel_ && !c_.kernels.empty()) q.name = c_.kernels.front();
  q.target = to_string(*c_.tuned);
  const std::vector<std::string> devices = db.devices(q);
  if (devices.empty()) return std::nullopt;
  const auto here = c_.tuned_for.empty() ? device_here(c_) : c_.tuned_for;
  if (!here || std::find(devices.begin(), devices.end(), *here) == devices.end()) {
    here_ = here.value_or("");
    others_ = devices;
    return std::nullopt;
  }
  q.device = *here;
  q.sizes = sizes();
  for (const auto& [name, value] : c_.knobs) q.fixed[name] = value;
  trial_ = db.best(q);
  if (!trial_) return std::nullopt;
  return trial_->knobs;
}

void TunedValues::tell(const Knobs& knobs) const {
  if (c_.quiet) return;
  KnobValues tuned;
  std::string pins;
  for (const Knob& k : knobs.all()) {
    if (k.from == KnobOrigin::Database) tuned[k.name] = k.chosen;
    if (k.from == KnobOrigin::Database)
      pins += fmt::format("--knob {}={} ", k.name, knob_text(k.chosen));
  }
  if (!tuned.empty())
    fmt::print(stderr,
               "note: {} from the database, the fastest on {} for {}; `{}` keeps {}, `--no-db` "
               "leaves the database out\n",
               knobs_text(tuned) + (tuned.size() == 1 ? " is" : " are"), trial_->device,
               trial_->sizes.empty() ? "any size" : sizes_text(trial_->sizes),
               pins.substr(0, pins.size() - 1), tuned.size() == 1 ? "it" : "them");
  for (const auto& [name, value] : knobs.unlisted())
    for (const Knob& k : knobs.all())
      if (k.name == name)
        warn(c_, {"unlisted-tuned-value",
                  fmt::format("the tuned value {} of knob `{}` is not in its list; it has its "
                              "default {}",
                              knob_text(value), name, knob_text(k.fallback)),
                  {k.at, {}},
                  {},
                  "tune the kernel again"});
  if (!others_.empty())
    fmt::print(stderr,
               "note: the knobs have values that were tuned for {}, which are not taken: {}; "
               "`--tuned-for DEVICE` takes them\n",
               quoted_list(others_),
               here_.empty() ? fmt::format("there is no device for {} here", to_string(*c_.tuned))
                             : fmt::format("this is `{}`", here_));
}

std::string database_path(const Common& common) {
  const std::string path = common.database.empty() ? tuning::standard_database() : common.database;
  if (path.empty())
    throw Error(
        Diagnostic{"no-database",
                   "there is no folder for the database: neither XDG_CACHE_HOME nor HOME is set",
                   {},
                   {},
                   "name a file with --db"});
  return path;
}

void add_database_option(CLI::App& command, Common& c) {
  command
      .add_option("--db", c.database,
                  "the database of tuned values; one in the cache folder if not told")
      ->type_name("FILE");
}

void add_tuned_options(CLI::App& command, Common& c) {
  add_database_option(command, c);
  command
      .add_flag("--no-db", c.no_database,
                "knobs have their defaults, or the values of --knob; no tuned ones")
      ->excludes("--db");
  command
      .add_option("--tuned-for", c.tuned_for,
                  "take the values that were tuned on this device, as `moonloop db list` names it")
      ->type_name("DEVICE")
      ->excludes("--no-db");
}

std::string sizes_text(const tuning::Sizes& sizes) {
  std::vector<std::string> out;
  for (const auto& [name, n] : sizes) out.push_back(fmt::format("{} = {}", name, n));
  return fmt::format("{}", fmt::join(out, ", "));
}

std::string knobs_text(const KnobValues& knobs) {
  std::vector<std::string> out;
  for (const auto& [name, value] : knobs) out.push_back(name + "=" + knob_text(value));
  return fmt::format("{}", fmt::join(out, ", "));
}

}  // namespace moonloop::cli
