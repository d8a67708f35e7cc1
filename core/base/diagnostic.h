#pragma once
#include <fmt/format.h>

#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/base/source.h"

namespace moonloop {

struct Label {
  Span at;
  std::string text;
};

/// One message to the user. Wording: lower case, names in backticks, no period at the end, the
/// finding first. `code` is a stable kebab-case name; every code is asserted by some test.
struct Diagnostic {
  std::string code;
  std::string text;
  Label where;
  std::vector<Label> notes;
  std::string hint;  // the nearest way that works; empty if none
  /// The name, or the text in a language of its own, that is wrong, where an argument may have it.
  std::string culprit = {};
};

/// Renders `d` as compilers do: `file:line:col: error: text [code]`, the source line with a caret,
/// a block per note, and the hint. Lines end in '\n'. `color` adds ANSI escapes.
std::string render(const Diagnostic& d, bool color = false);

/// An error of the user's input. `what()` is the message without source lines.
class Error : public std::exception {
 public:
  explicit Error(Diagnostic d);
  explicit Error(std::vector<Diagnostic> all);  // front ends report several at once
  const char* what() const noexcept override { return what_.c_str(); }
  const Diagnostic& diagnostic() const { return all_.front(); }
  const std::vector<Diagnostic>& diagnostics() const { return all_; }

 private:
  std::vector<Diagnostic> all_;
  std::string what_;
};

/// A transform or a tag that would change the kernel's meaning, or that cannot apply.
class Refused : public Error {
 public:
  using Error::Error;
};

/// A bug of Moonloop itself, never the user's fault.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// Throws Error{code, message} at `at`.
template <class... A>
[[noreturn]] void fail(std::string code, const Span& at, fmt::format_string<A...> f, A&&... a) {
  throw Error(Diagnostic{std::move(code), fmt::format(f, std::forward<A>(a)...), {at, {}}, {}, {}});
}

/// The same because of a name.
template <class... A>
[[noreturn]] void fail_for(const std::string& culprit, std::string code, const Span& at,
                           fmt::format_string<A...> f, A&&... a) {
  throw Error(Diagnostic{
      std::move(code), fmt::format(f, std::forward<A>(a)...), {at, {}}, {}, {}, culprit});
}

/// Throws Refused{code, message} at `at`.
template <class... A>
[[noreturn]] void refuse(std::string code, const Span& at, fmt::format_string<A...> f, A&&... a) {
  throw Refused(
      Diagnostic{std::move(code), fmt::format(f, std::forward<A>(a)...), {at, {}}, {}, {}});
}

/// The same because of a name.
template <class... A>
[[noreturn]] void refuse_for(const std::string& culprit, std::string code, const Span& at,
                             fmt::format_string<A...> f, A&&... a) {
  throw Refused(Diagnostic{
      std::move(code), fmt::format(f, std::forward<A>(a)...), {at, {}}, {}, {}, culprit});
}

/// Throws InternalError unless `condition`.
inline void ensure(bool condition, const char* what) {
  if (!condition) throw InternalError(what);
}

/// "`a`, `b`" for messages.
std::string quoted_list(const std::vector<std::string>& names);

/// "; did you mean `x`?" when some candidate is close to `name`, else "".
std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace moonloop
