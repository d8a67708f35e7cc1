#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "core/base/diagnostic.h"

namespace moonloop {

enum class Tok { Name, Number, String, Punct, Newline, End };
struct Token {
  Tok kind;
  std::string text;  // of a String: its contents
  Span at;
};

/// Splits a piece of a source into tokens. `#` starts a comment. Line ends inside ()[]{} are
/// dropped. Names are ASCII `[A-Za-z_][A-Za-z0-9_]*`; the punctuation is the longest of the kernel
/// language's (`:=`, `**`, `//`, `<<`, `<=`, `...`, …). Fails `bad-character`, `bad-number`,
/// `unbalanced`, `not-utf8`.
std::vector<Token> tokenize(const Source* source, std::size_t begin, std::size_t end);

/// The first byte that is not part of UTF-8 text; npos when there is none.
std::size_t find_not_utf8(std::string_view text);

}  // namespace moonloop
