#include "core/model/value.h"

#include <fmt/format.h>

#include <cctype>
#include <cmath>

#include "core/expr/expr.h"

namespace moonloop {
namespace {

std::string quote(const std::string& s) {
  std::string out = "\"";
  for (unsigned char c : s) {
    if (c == '"' || c == '\\')
      out += '\\', out += static_cast<char>(c);
    else if (c == '\n')
      out += "\\n";
    else if (c < 0x20 || c == 0x7f)
      out += fmt::format("\\{:03}", static_cast<int>(c));
    else
      out += static_cast<char>(c);
  }
  return out + '"';
}

bool is_name(const std::string& s) {
  static const std::set<std::string> kReserved{
      "and",      "break",  "do",   "else", "elseif", "end",  "false", "for",
      "function", "goto",   "if",   "in",   "local",  "nil",  "not",   "or",
      "repeat",   "return", "then", "true", "until",  "while"};
  if (s.empty() || std::isdigit(static_cast<unsigned char>(s[0])) || kReserved.count(s))
    return false;
  for (unsigned char c : s)
    if (!std::isalnum(c) && c != '_') return false;
  return true;
}

std::string number(double d) {
  if (std::isnan(d)) return "(0/0)";
  if (std::isinf(d)) return d > 0 ? "math.huge" : "-math.huge";
  std::string s = fmt::format("{}", d);
  return s.find_first_of(".e") == std::string::npos ? s + ".0" : s;
}

}  // namespace

std::string to_lua(const Value& value) {
  return std::visit(
      overload{[](std::monostate) { return std::string("nil"); },
               [](bool b) { return std::string(b ? "true" : "false"); },
               [](std::int64_t n) { return std::to_string(n); }, [](double d) { return number(d); },
               [](const std::string& s) { return quote(s); },
               [](const ValueList& l) {
                 std::string out = "{";
                 for (const Value& v : l) out += (out.size() > 1 ? ", " : "") + to_lua(v);
                 return out + "}";
               },
               [](const ValueDict& d) {
                 std::string out = "{";
                 for (const auto& [k, v] : d)
                   out += (out.size() > 1 ? ", " : "") + (is_name(k) ? k : "[" + quote(k) + "]") +
                          " = " + to_lua(v);
                 return out + "}";
               }},
      value.v);
}

}  // namespace moonloop
