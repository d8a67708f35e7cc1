#pragma once
#include <optional>
#include <string_view>

/// Comments of Fortran, and those that are for Moonloop.
namespace moonloop::fortran {

std::string_view trimmed(std::string_view s);

/// Takes a word, in any case, and the blanks behind it from the beginning of `s`, if it is there.
bool accept(std::string_view& s, std::string_view word);

/// Where the comment's text begins when the line is one: after `!`, or after `c` or `*` in the
/// first column of fixed form; else npos.
std::size_t comment_start(std::string_view line, bool fixed);

/// The text after the sentinel, `!$moonloop` or `!$loopy`; nothing on other lines.
std::optional<std::string_view> directive(std::string_view line, bool fixed);

}  // namespace moonloop::fortran
