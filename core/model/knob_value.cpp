#include "core/model/knob_value.h"

#include <algorithm>

namespace moonloop {

std::string knob_type(const Value& v) {
  return v.as<std::int64_t>()  ? "integer"
         : v.as<std::string>() ? "string"
         : v.as<bool>()        ? "boolean"
                               : "";
}

std::string knob_text(const Value& v) {
  const auto* s = v.as<std::string>();
  return s ? *s : to_lua(v);
}

bool same_knob_value(const Value& a, const Value& b) {
  return knob_type(a) == knob_type(b) && knob_text(a) == knob_text(b);
}

bool is_knob_name(const std::string& s) {
  const auto letter = [](char c) {
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  return !s.empty() && letter(s[0]) && std::all_of(s.begin(), s.end(), [&](char c) {
    return letter(c) || (c >= '0' && c <= '9');
  });
}

}  // namespace moonloop
