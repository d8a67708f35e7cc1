#include <algorithm>
#include <charconv>

#include "core/base/diagnostic.h"
#include "frontends/text/syntax.h"

namespace moonloop::text {
namespace {

bool in_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/// The end of the string that starts at `i`: after its quote, or at the end of the line.
std::size_t skip_string(std::string_view s, std::size_t i) {
  const char quote = s[i];
  for (++i; i < s.size() && s[i] != '\n'; ++i) {
    if (s[i] == '\\' && i + 1 < s.size() && s[i + 1] != '\n') {
      ++i;
    } else if (s[i] == quote) {
      return i + 1;
    }
  }
  return i;
}

}  // namespace

std::vector<Line> split_lines(const Source* source) {
  const std::string_view s = source->text;
  std::vector<Line> out;
  bool joins = true;  // off once a bracket was found that nothing closes
  std::size_t i = s.starts_with("\xEF\xBB\xBF") ? 3 : 0;
  while (i < s.size()) {
    const std::size_t begin = i;
    std::size_t first_end = std::string_view::npos;  // of the first physical line
    int depth = 0;
    bool blank = true;
    while (i < s.size()) {
      const char c = s[i];
      if (c == '\n') {
        if (first_end == std::string_view::npos) first_end = i;
        if (depth <= 0 || !joins) break;
        ++i;
      } else if (c == '#') {
        i = std::min(s.find('\n', i), s.size());
      } else if (c == '"' || (c == '\'' && (i == 0 || !in_name(s[i - 1])))) {
        blank = false;
        i = skip_string(s, i);
      } else {
        if (c == '(' || c == '[' || c == '{') ++depth;
        if (c == ')' || c == ']' || c == '}') --depth;
        if (c != ' ' && c != '\t' && c != '\r') blank = false;
        ++i;
      }
    }
    if (depth > 0 && joins && i >= s.size() && first_end < s.size()) {
      joins = false;
      i = first_end;
    }
    if (!blank) out.push_back({begin, i});
    ++i;
  }
  return out;
}

std::size_t offset_of(const Span& at) {
  return at.source->line_starts[static_cast<std::size_t>(at.line - 1)] +
         static_cast<std::size_t>(at.col - 1);
}

Word text_between(const Span& from, const Span& to) {
  const std::size_t begin = offset_of(from), end = offset_of(to) + static_cast<std::size_t>(to.len);
  return {from.source->text.substr(begin, end - begin), join(from, to)};
}

void expect_end(TokenStream& in, std::string_view after) {
  const Token& t = in.peek();
  if (t.kind == Tok::End || t.kind == Tok::Newline) return;
  fail("syntax", t.at, "found `{}` {}", t.kind == Tok::String ? "\"" + t.text + "\"" : t.text,
       after);
}

int expect_int(TokenStream& in, std::string_view what) {
  const bool minus = in.accept("-");
  const Token& t = in.peek();
  int n = 0;
  const auto [end, error] = std::from_chars(t.text.data(), t.text.data() + t.text.size(), n);
  if (t.kind != Tok::Number || error != std::errc() || end != t.text.data() + t.text.size())
    fail("syntax", t.at, "found {}, expected {}",
         t.kind == Tok::End ? "the end" : "`" + t.text + "`", what);
  in.next();
  return minus ? -n : n;
}

std::vector<Word> name_list(TokenStream& in, std::string_view what) {
  std::vector<Word> out;
  do {
    const Token t = in.expect_name(what);
    out.push_back({t.text, t.at});
  } while (in.accept(","));
  return out;
}

}  // namespace moonloop::text
