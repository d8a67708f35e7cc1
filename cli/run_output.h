#pragma once
#include <string>

#include "runtime/runner.h"

namespace moonloop::cli {

/// The result for people: each written array's checksum and first values, the comparison, the
/// times.
std::string run_text(const Kernel& k, Target target, const RunResult& result);

/// All of the result as one JSON object with a line end: kernel, target, scalars, arrays,
/// compile_seconds, and where asked for verify, time and work. What is no JSON number (complex
/// numbers, NaN, infinities) is a string. Times are in seconds.
std::string run_json(const Kernel& k, Target target, const RunResult& result);

}  // namespace moonloop::cli
