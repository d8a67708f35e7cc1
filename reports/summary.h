#pragma once
#include <string>
#include <vector>

#include "core/model/kernel.h"

/// Short texts about kernels, for people at a terminal.
namespace moonloop {

/// Some lines: arguments, loops with their tags, instructions, how many transforms and claims.
std::string summary(const Kernel& k);
/// A table as a Lua expression, a line for each element where one line is too short.
std::string summary(const Value& v);

/// The effect of a step, as one line: the transforms, the changes to loops, tags, statements and
/// variables, and whether all of it is proved: `split_iname("i", 16); i -> i_outer, i_inner;
/// legal`.
std::string what_changed(const Kernel& before, const Kernel& after);

/// The lines of `before` and `after` as `diff -u` shows them, with two heads; nothing when they are
/// equal. `color` adds ANSI escapes. Cost: the product of the lengths of the differing parts.
std::string diff(const std::string& before, const std::string& after,
                 const std::string& before_head, const std::string& after_head, bool color);

}  // namespace moonloop
