#pragma once
#include <string>

#include "runtime/runner.h"

namespace moonloop::cli {

/// 0.00123 as `1.23 ms`.
std::string duration(double seconds);

/// A line about an array that was compared.
std::string comparison_text(const Comparison& c);

/// The result for people: each written array's checksum and first values, the comparison, the
/// times.
std::string run_text(const Kernel& k, Target target, const RunResult& result);

/// All of the result as one JSON object with a line end: kernel, target, scalars, arrays,
/// compile_seconds, and on request verify, time and work. Values that are not JSON numbers (complex
/// numbers, NaN, infinities) are strings. Times are in seconds.
std::string run_json(const Kernel& k, Target target, const RunResult& result);

}  // namespace moonloop::cli
