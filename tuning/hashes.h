#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/model/kernel.h"

/// By what tuning knows a kernel and a script again: hashes of what they mean, as 64 hex digits.
namespace moonloop::tuning {

/// Of a kernel before any transform. It covers what the kernel computes and every name that a
/// script may use: the kernel's text as it is printed after parsing, types and shapes inferred
/// where they can be, and so its name, its arguments in their order, domains, assumptions,
/// temporaries, rules, instructions with their ids, tags and order, and the same of the kernels
/// that it calls. It does not cover comments, blanks, line breaks, how a domain or an expression is
/// spelled where its printed form is the same, whether a type or a shape is written or inferred,
/// the file's name, whether it is kernel text or Fortran.
///
/// Cost: the inference, and the printing of all of it.
std::string kernel_hash(const Kernel& k);

/// Of what transforms it: the texts of Lua in their order, and the settings (`lp.args`) by name. It
/// covers the words of the texts, but not comments, blanks and line breaks between them. Modules
/// that a script loads by `require` are not covered: values of knobs stay legal when these change,
/// but may no longer be the fastest.
std::string script_hash(const std::vector<std::string_view>& texts,
                        std::vector<std::pair<std::string, std::string>> settings);

/// Of the kernel of a script that makes its own: what it will be is not known before the script
/// runs, for which it needs its knobs. It covers the script's words and the settings.
std::string made_kernel_hash(std::string_view text,
                             const std::vector<std::pair<std::string, std::string>>& settings);

/// The words of a Lua text, one a line, without comments.
std::string lua_words(std::string_view text);

}  // namespace moonloop::tuning
