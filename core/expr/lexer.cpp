#include "core/expr/lexer.h"

#include <algorithm>
#include <array>

namespace moonloop {
namespace {

// Longest first. `<` and `>` never join, so that `<>t` and `<f8>t` split as a declaration needs
// them.
constexpr std::array<std::string_view, 13> kLongPuncts{
    "...", ":=", "**", "//", "<<", ">>", "<=", ">=", "==", "!=", "->", "&&", "||"};
constexpr std::string_view kPuncts = "+-*/%<>=()[]{},.:;&|^~$@?!\\'";

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool starts_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool in_name(char c) { return starts_name(c) || is_digit(c); }

/// Length of the well-formed UTF-8 sequence at the start of `s`, or 0.
std::size_t utf8_length(std::string_view s) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(s[i]); };
  const unsigned char lead = byte(0);
  const std::size_t n = lead < 0x80   ? 1
                        : lead < 0xC2 ? 0
                        : lead < 0xE0 ? 2
                        : lead < 0xF0 ? 3
                        : lead < 0xF5 ? 4
                                      : 0;
  if (n == 0 || n > s.size()) return 0;
  for (std::size_t i = 1; i < n; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  if (lead == 0xE0 && byte(1) < 0xA0) return 0;  // overlong
  if (lead == 0xED && byte(1) > 0x9F) return 0;  // a surrogate
  if (lead == 0xF0 && byte(1) < 0x90) return 0;
  if (lead == 0xF4 && byte(1) > 0x8F) return 0;  // beyond U+10FFFF
  return n;
}

class Lexer {
 public:
  Lexer(const Source* source, std::size_t begin, std::size_t end)
      : source_(source), text_(std::string_view(source->text).substr(0, end)), i_(begin) {
    const auto& starts = source->line_starts;
    line_ = std::upper_bound(starts.begin(), starts.end(), begin) - starts.begin() - 1;
  }

  std::vector<Token> run() {
    while (i_ < text_.size()) step();
    if (!open_.empty()) {
      const Token& t = tokens_[open_.back()];
      fail("unbalanced", t.at, "`{}` is never closed", t.text);
    }
    tokens_.push_back({Tok::End, "", span(i_, 0)});
    return std::move(tokens_);
  }

 private:
  char peek(std::size_t ahead = 0) const {
    return i_ + ahead < text_.size() ? text_[i_ + ahead] : '\0';
  }
  Span span(std::size_t from, std::size_t len) {
    const auto& starts = source_->line_starts;
    while (line_ + 1 < starts.size() && starts[line_ + 1] <= from) ++line_;
    return {source_, static_cast<int>(line_ + 1), static_cast<int>(from - starts[line_] + 1),
            static_cast<int>(len)};
  }
  void push(Tok kind, std::size_t len) {
    tokens_.push_back({kind, std::string(text_.substr(i_, len)), span(i_, len)});
    i_ += len;
  }

  void step() {
    const char c = peek();
    if (c == '\n') {
      if (open_.empty() && !tokens_.empty() && tokens_.back().kind != Tok::Newline)
        tokens_.push_back({Tok::Newline, "", span(i_, 1)});
      ++i_;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
      ++i_;
    } else if (c == '#') {
      while (i_ < text_.size() && peek() != '\n') i_ += sequence();
    } else if (starts_name(c)) {
      std::size_t n = 1;
      while (in_name(peek(n))) ++n;
      push(Tok::Name, n);
    } else if (is_digit(c) || (c == '.' && is_digit(peek(1)))) {
      number();
    } else if (c == '"' || (c == '\'' && !after_name())) {
      string();
    } else {
      punct();
    }
  }

  /// isl primes its names (`i'`); such a quote does not start a string.
  bool after_name() const {
    return i_ > 0 && in_name(text_[i_ - 1]) && !tokens_.empty() && tokens_.back().kind == Tok::Name;
  }

  std::size_t sequence() {
    const std::size_t n = utf8_length(text_.substr(i_));
    if (n == 0)
      fail("not-utf8", span(i_, 1), "byte 0x{:02x} is not UTF-8 text",
           static_cast<unsigned char>(peek()));
    return n;
  }

  // Digits, a fraction, an exponent (`e`, or Fortran's `d`), then `j`, then the size `f` or `d`.
  void number() {
    std::size_t n = 0;
    const auto digits = [&] {
      const std::size_t before = n;
      while (is_digit(peek(n))) ++n;
      return n > before;
    };
    if (peek() == '0' && (peek(1) == 'x' || peek(1) == 'X') && is_hex(peek(2))) {
      n = 2;
      while (is_hex(peek(n))) ++n;
    } else {
      digits();
      // `0...` is a number before an ellipsis.
      if (peek(n) == '.' && !(peek(n + 1) == '.' && peek(n + 2) == '.')) {
        ++n;
        digits();
      }
      const char e = peek(n);
      if (e == 'e' || e == 'E' || e == 'd' || e == 'D') {
        const std::size_t sign = peek(n + 1) == '+' || peek(n + 1) == '-';
        if (is_digit(peek(n + 1 + sign))) {
          n += 1 + sign;
          digits();
        }
      }
      if (peek(n) == 'j') ++n;
      if (peek(n) == 'f' || peek(n) == 'd') ++n;
    }
    if (in_name(peek(n))) {
      while (in_name(peek(n))) ++n;
      fail("bad-number", span(i_, n), "`{}` is not a number", text_.substr(i_, n));
    }
    push(Tok::Number, n);
  }

  void string() {
    const char quote = peek();
    const std::size_t begin = i_;
    std::string text;
    for (++i_; peek() != quote;) {
      if (i_ >= text_.size() || peek() == '\n')
        fail("unbalanced", span(begin, 1), "the string is never closed");
      if (peek() == '\\' && i_ + 1 < text_.size() && peek(1) != '\n') {
        text += peek(1) == 'n' ? '\n' : peek(1);
        i_ += 2;
        continue;
      }
      const std::size_t n = sequence();
      text += text_.substr(i_, n);
      i_ += n;
    }
    ++i_;
    tokens_.push_back({Tok::String, std::move(text), span(begin, i_ - begin)});
  }

  void punct() {
    for (std::string_view p : kLongPuncts)
      if (text_.substr(i_, p.size()) == p) return push(Tok::Punct, p.size());
    const char c = peek();
    if (kPuncts.find(c) == std::string_view::npos || c == '\0') {
      const std::size_t n = sequence();
      const auto code = static_cast<unsigned char>(c);
      if (code < 0x20 || code == 0x7F)
        fail("bad-character", span(i_, 1), "unexpected byte 0x{:02x}", code);
      fail("bad-character", span(i_, n), "unexpected character `{}`", text_.substr(i_, n));
    }
    push(Tok::Punct, 1);
    if (c == '(' || c == '[' || c == '{') open_.push_back(tokens_.size() - 1);
    if (c == ')' || c == ']' || c == '}') close(c);
  }

  void close(char c) {
    const Token& t = tokens_.back();
    if (open_.empty()) fail("unbalanced", t.at, "`{}` closes nothing", t.text);
    const Token& opener = tokens_[open_.back()];
    const char wanted = opener.text == "(" ? ')' : opener.text == "[" ? ']' : '}';
    if (c != wanted)
      throw Error(Diagnostic{"unbalanced",
                             fmt::format("found `{}` where `{}` is needed", c, wanted),
                             {t.at, {}},
                             {{opener.at, fmt::format("to close this `{}`", opener.text)}},
                             {}});
    open_.pop_back();
  }

  const Source* source_;
  std::string_view text_;
  std::size_t i_;
  std::size_t line_ = 0;           // index into line_starts
  std::vector<std::size_t> open_;  // tokens that open a bracket
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokenize(const Source* source, std::size_t begin, std::size_t end) {
  return Lexer(source, begin, std::min(end, source->text.size())).run();
}

std::size_t find_not_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t n = utf8_length(text.substr(i));
    if (n == 0) return i;
    i += n;
  }
  return std::string_view::npos;
}

}  // namespace moonloop
