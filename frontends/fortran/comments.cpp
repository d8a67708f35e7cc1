#include "frontends/fortran/comments.h"

#include <cctype>

// Comments of Fortran.
namespace moonloop::fortran {

std::string_view trimmed(std::string_view s) {
  while (!s.empty() && std::isspace(static_cast<unsigned char>(s.front()))) s.remove_prefix(1);
  while (!s.empty() && std::isspace(static_cast<unsigned char>(s.back()))) s.remove_suffix(1);
  return s;
}

bool accept(std::string_view& s, std::string_view word) {
  if (s.size() < word.size()) return false;
  for (std::size_t i = 0; i < word.size(); ++i)
    if (std::tolower(static_cast<unsigned char>(s[i])) != word[i]) return false;
  s = trimmed(s.substr(word.size()));
  return true;
}

std::size_t comment_start(std::string_view line, bool fixed) {
  const std::size_t first = line.find_first_not_of(" \t");
  if (first == std::string_view::npos) return std::string_view::npos;
  if (line[first] == '!') return first + 1;
  if (fixed && std::string_view("cC*").find(line[0]) != std::string_view::npos) return 1;
  return std::string_view::npos;
}

std::optional<std::string_view> directive(std::string_view line, bool fixed) {
  const std::size_t start = comment_start(line, fixed);
  if (start == std::string_view::npos) return std::nullopt;
  std::string_view rest = line.substr(start);
  if (!rest.starts_with("$")) return std::nullopt;
  if (accept(rest, "$moonloop") || accept(rest, "$loopy")) return rest;
  return std::nullopt;
}

}  // namespace moonloop::fortran
