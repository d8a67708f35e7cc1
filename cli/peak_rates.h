#pragma once
#include <optional>
#include <string>

#include "codegen/codegen.h"

namespace moonloop::cli {

/// The best rates of a device, from its kept profile.
struct PeakRates {
  double copy = 0;               // bytes per second, read and written
  double single = 0, twice = 0;  // operations per second, in single and double precision; 0: none
};

/// The measured rates of the device with this name; nothing if it was never measured. Fails
/// `bad-profile`.
std::optional<PeakRates> known_peak_rates(Target target, const std::string& device);

}  // namespace moonloop::cli
