#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace moonloop {

/// One input text: a kernel file, a script, or a string given to `lp.parse`. Owned by the process
/// (see `add_source`), so that a `Span` is a plain value that never dangles.
struct Source {
  std::string name;  // as shown to the user: a path, or `<string>`
  std::string text;
  std::vector<std::size_t> line_starts;  // byte offset of each line

  /// Line `number` (1-based) without its line end; empty when there is no such line.
  std::string_view line(int number) const;
};

/// Where something was written: 1-based line, 1-based byte column, length in bytes.
struct Span {
  const Source* source = nullptr;
  int line = 0;
  int col = 0;
  int len = 0;
  explicit operator bool() const { return source != nullptr; }
  /// `file:line:col`, or the empty string without a source.
  std::string str() const;
};

/// Registers a text for the rest of the process.
const Source* add_source(std::string name, std::string text);

/// The span of `len` bytes from byte `offset` of `source`.
Span span_at(const Source* source, std::size_t offset, std::size_t len);

/// The smallest span from the start of `a` to the end of `b`; `a` if they are on different lines.
Span join(const Span& a, const Span& b);

}  // namespace moonloop
