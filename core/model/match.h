#pragma once
#include <memory>
#include <string>
#include <vector>

#include "core/model/kernel.h"

/// Targeting: which instructions, and which calls of substitution rules, a transform acts on.
namespace moonloop {

/// One level of an expansion stack: an instruction (its id and tags) or a rule call (its name and
/// tag).
struct StackLevel {
  std::string name;
  std::set<std::string> tags;
};
/// Innermost level first; the last one is the instruction.
using Stack = std::vector<StackLevel>;

/// A compiled `within`: either the query language (`id:`, `tag:`, `reads:`, `writes:`, `iname:`,
/// bare word = id, globs, `and or not ( )`), or a stack pattern `name$tag < … < name$tag`
/// (innermost first) or `outer > … > inner` (Loo.py's direction), whose levels are `glob$glob` or
/// queries, with `...` for any number of levels. An empty text matches everything.
class Match {
 public:
  Match();  // matches everything
  /// Fails `bad-match` at the place in `text`.
  static Match parse(const std::string& text, const Span& at = {});
  bool everything() const;
  /// Matches an instruction as such: a stack of one level, or the outermost level of a pattern.
  bool operator()(const Kernel& k, const Instruction& insn) const;
  /// Matches the place of a rule call; `stack` is innermost first and ends with the instruction.
  bool operator()(const Kernel& k, const Instruction& insn, const Stack& stack) const;

 private:
  struct Impl;
  std::shared_ptr<const Impl> impl_;
};

/// Shell-style wildcards: `*`, `?`, `[abc]`, `[!abc]`.
bool glob_match(std::string_view pattern, std::string_view text);

}  // namespace moonloop
