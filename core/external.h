#pragma once
#include <optional>
#include <string>

#include "core/kernel.h"

/// Calls of functions that stand outside of a kernel, `external f` in its text: `a, b = f("text",
/// a, 2*x)`. They are called as Fortran calls: every argument by its address, values as copies.
/// Such a call may change what stands on its left, no more.
namespace moonloop {

/// A constant of characters, which stands only among the arguments of such a call.
Expr text_literal(const std::string& text, Span at = {});
/// What it holds; nothing for other expressions.
std::optional<std::string> as_text(const Expr& e);

/// What ends the program that a kernel of Fortran stands in: `stop_in_f("text", status)`.
std::string stop_name(const std::string& kernel);

/// The call, where `insn` is one of something external; null otherwise.
const Call* external_call(const Kernel& k, const Instruction& insn);

}  // namespace moonloop
