#include "cli/peak_rates.h"

#include "codegen/language.h"
#include "runtime/profiles.h"

namespace moonloop::cli {

std::optional<PeakRates> known_peak_rates(Target target, const std::string& device) {
  if (!is_device(target)) return std::nullopt;
  const auto p = kept_profile(target, device);
  if (!p) return std::nullopt;
  return PeakRates{p->levels.back().all, p->f32 * p->units, p->f64 * p->units};
}

}  // namespace moonloop::cli
