#pragma once
#include <string>

#include "core/base/source.h"
#include "core/sets/isl.h"

/// Sets and maps as isl writes them.
namespace moonloop {

/// Parses isl set syntax; undeclared names become parameters. Fails with a diagnostic at `at`
/// (`bad-domain`) that shows isl's complaint.
Set parse_set(const std::string& text, const Span& at = {});
/// A parameter set from bare constraints such as `n >= 1 and n mod 16 = 0`.
Set parse_assumption(const std::string& text, const Span& at = {});

/// Parses isl map syntax in the same way, fails `bad-map`. Every dimension on both sides has a
/// name; an output that repeats an input's name is equal to it, and it is so named.
Map parse_map(const std::string& text, const Span& at = {});

}  // namespace moonloop
