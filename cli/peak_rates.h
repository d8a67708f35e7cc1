#pragma once
#include <optional>
#include <string>

#include "codegen/codegen.h"

namespace moonloop::cli {

/// The best rates of a device, measured once and kept in the cache.
struct PeakRates {
  double copy = 0;               // bytes per second, read and written
  double single = 0, twice = 0;  // operations per second, in single and double precision; 0: none
};

/// The measured rates of the device with this name; nothing if it was never measured.
std::optional<PeakRates> known_peak_rates(Target target, const std::string& device);

/// Copies an array and runs chains of multiply-and-add on device number `n` of the target, for some
/// seconds, and keeps the result.
PeakRates measure_peak_rates(Target target, int n);

}  // namespace moonloop::cli
