#pragma once
#include <string>

#include "runtime/runner.h"

namespace moonloop::cli {

/// The result for people: each written array's checksum and first values, the comparison, the times.
std::string run_text(const Kernel& k, Target target, const RunResult& result);

/// All of the result as one JSON object (docs/cli.md lists its keys), with a line end. What is no
/// JSON number (complex numbers, NaN, infinities) is a string.
std::string run_json(const Kernel& k, Target target, const RunResult& result);

}  // namespace moonloop::cli
