#include "core/model/read_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/diagnostic.h"
#include "core/model/memo.h"

namespace moonloop {
namespace {

// Words that isl does not take for a name, in small or capital letters.
constexpr std::array<std::string_view, 19> kWords{
    "and",   "ceil", "ceild", "domain", "exists", "false", "floor", "floord", "implies", "infinity",
    "infty", "max",  "min",   "mod",    "nan",    "not",   "or",    "rat",    "true"};

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }

bool is_word(std::string name) {
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return std::find(kWords.begin(), kWords.end(), name) != kWords.end();
}

/// A set's text with its names numbered in order of appearance.
struct Numbered {
  std::string text;
  std::vector<std::string> names;
};

/// Nothing where names may have other characters than letters, digits and underscores.
std::optional<Numbered> numbered(const std::string& text) {
  if (text.find_first_of("\"'") != std::string::npos) return std::nullopt;
  Numbered out;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i + 1;
    if (!is_letter(text[i])) {
      out.text += text[i];
      i = end;
      continue;
    }
    while (end < text.size() && (is_letter(text[end]) || is_digit(text[end]))) ++end;
    std::string name = text.substr(i, end - i);
    i = end;
    if (is_word(name)) {
      out.text += name;
      continue;
    }
    const auto at = std::find(out.names.begin(), out.names.end(), name);
    out.text += fmt::format("_{}", at - out.names.begin());
    if (at == out.names.end()) out.names.push_back(std::move(name));
  }
  return out;
}

/// `s` with the names `to` in place of `from`.
Set renamed(const Set& s, const std::vector<std::string>& from,
            const std::vector<std::string>& to) {
  if (from == to) return s;
  Space space = isl_set_get_space(s.get());
  for (const isl_dim_type type : {isl_dim_param, isl_dim_set}) {
    if (type == isl_dim_set && yes(isl_space_is_params(space.get()))) continue;
    for (int d = 0; d < count(isl_space_dim(space.get(), type)); ++d) {
      const char* const old = isl_space_get_dim_name(space.get(), type, unsigned(d));
      if (!old) continue;
      const auto at = std::find(from.begin(), from.end(), old);
      if (at == from.end()) throw InternalError("read_set: a name that is not in the text");
      const std::string& name = to[std::size_t(at - from.begin())];
      space = isl_space_set_dim_name(space.take(), type, unsigned(d), name.c_str());
    }
  }
  return isl_set_reset_space(s.copy(), space.take());
}

/// Whether all its names are among these. isl may take a word for a name that is not seen as one.
bool has_only(const Set& s, const std::vector<std::string>& names) {
  const Space space = isl_set_get_space(s.get());
  for (const isl_dim_type type : {isl_dim_param, isl_dim_set}) {
    if (type == isl_dim_set && yes(isl_space_is_params(space.get()))) continue;
    for (int d = 0; d < count(isl_space_dim(space.get(), type)); ++d) {
      const char* const name = isl_space_get_dim_name(space.get(), type, unsigned(d));
      if (name && std::find(names.begin(), names.end(), name) == names.end()) return false;
    }
  }
  return true;
}

}  // namespace

Set read_set(const std::string& text) {
  std::optional<Numbered> key = numbered(text);
  if (!key) return isl_set_read_from_str(isl(), text.c_str());
  auto& known = memo().texts;
  if (const auto it = known.find(key->text); it != known.end())
    return renamed(it->second.first, it->second.second, key->names);
  Set s = isl_set_read_from_str(isl(), text.c_str());
  const bool has_tuple = !yes(isl_set_is_params(s.get())) &&
                         (yes(isl_set_has_tuple_id(s.get())) || yes(isl_set_is_wrapping(s.get())));
  if (!has_tuple && has_only(s, key->names))  // else not only dimensions have names
    known.emplace(std::move(key->text), std::pair(s, std::move(key->names)));
  return s;
}

}  // namespace moonloop
