#pragma once
#include <string>

/// Pages that need nothing else: a template, which is part of the binary, with data in it.
namespace moonloop {

/// `page` with `json` in the place of its `/*DATA*/null`.
std::string with_data(std::string page, const std::string& json);

/// The page of `moonloop tune --report`. Its data is one JSON object:
///
///     kernel, target, sizes    of what was tuned
///     ending                   why the search ended, in words
///     devices                  device, default, best (seconds), speed_up, options, knobs, script
///     scripts                  name, text: what declares the knobs
///     trials                   in the order of their ends: at (seconds since the start), device,
///                              seconds (null unless it is ok), status, reason, knobs, known,
///                              predicted (seconds; null where there is no prediction)
std::string tune_page(const std::string& json);

}  // namespace moonloop
