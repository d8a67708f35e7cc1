#pragma once
#include <map>
#include <string>

#include "core/model/value.h"

/// The values that knobs of scripts take (scripts/knobs.h), as tuning records them.
namespace moonloop {

/// Values by the names of knobs: integers, strings and booleans.
using KnobValues = std::map<std::string, Value>;

/// "integer", "string" or "boolean"; empty for what no knob takes.
std::string knob_type(const Value& v);
/// A value as the command line gives it: `64`, `rows`, `true`.
std::string knob_text(const Value& v);
bool same_knob_value(const Value& a, const Value& b);
/// Letters, digits and `_`, no digit first.
bool is_knob_name(const std::string& s);

}  // namespace moonloop
