#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

/// Text that would take Flang's parser too long.
///
/// Where a block is not closed, or has a statement that ends it too early, Flang parses the block
/// once more without its first line: 2^n times for n blocks within one another, and it reports the
/// same errors as often. Nested calls, subscripts and array constructors take it twice the time for
/// each level, and brackets of any kind a part of the stack.
namespace moonloop::fortran {

/// Two places in the text; `other` has no length where there is only one.
struct TooDeep {
  struct Part {
    std::size_t at = 0, size = 0;
  };
  bool is_wrong = false;  // it is not Fortran, else it is only too much
  std::string what, hint;
  Part where;
  Part other;
  std::string of_other;
};

/// `text` is the output of Flang's prescanner: one statement, or several between semicolons, in
/// each line, in lower case and without comments. Linear in its length. Unclosed text that is cheap
/// to parse is left to Flang, whose messages are exact.
std::optional<TooDeep> too_deep(std::string_view text);

}  // namespace moonloop::fortran
