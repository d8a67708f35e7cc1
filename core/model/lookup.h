#pragma once
#include <set>
#include <string>
#include <vector>

#include "core/model/kernel.h"
#include "core/model/match.h"

/// What every transform checks first: does the kernel have what the caller names?
namespace moonloop {

/// Fails `unknown-iname` and lists the kernel's inames unless `name` is one of them.
void require_iname(const Kernel& k, const std::string& name);
/// Fails `unknown-argument` and lists the kernel's arguments unless `name` is one of them.
void require_arg(const Kernel& k, const std::string& name);
/// Fails `unknown-instruction` and lists the kernel's instructions (the first ten) unless it has
/// `id`.
void require_insn(const Kernel& k, const std::string& id);
/// Fails `unknown-temporary` and lists the kernel's temporaries unless `name` is one of them.
void require_temporary(const Kernel& k, const std::string& name);
/// Fails `bad-name` unless `name` is an identifier: letters, digits and `_`, no digit first.
void require_identifier(const std::string& name, const Span& at);
/// Fails `bad-name` where the language has another use for the name, in an expression or in a set.
void require_no_word(const std::string& name, const Span& at);
/// Fails `bad-name` unless `name` is an identifier and no such word, `name-taken` unless it is new
/// in `k`.
void require_new_name(const Kernel& k, const std::string& name);

/// Inames other than these on which the values of one of these depend: parameters of its domain, or
/// dimensions beside it; those in `among`. Cost: for each pair of a domain that some constraint
/// joins, one equality of sets.
std::set<std::string> inames_bounding(const Kernel& k, const std::set<std::string>& inames,
                                      const std::set<std::string>* among = nullptr);

/// Instructions that `match` selects, in list order, by index. Linear.
std::vector<std::size_t> matching(const Kernel& k, const Match& match);
/// The same; fails `no-match` (the text is `what`, the caller's own words) when there is none.
std::vector<std::size_t> some_matching(const Kernel& k, const Match& match,
                                       const std::string& what);

/// Inames of `k` in domain order that one of the shell-style patterns matches. A name without
/// wildcards must be an iname (`unknown-iname`); a pattern that matches none fails `no-match`, both
/// unless `may_be_missing`.
std::vector<std::string> inames_like(const Kernel& k, const std::vector<std::string>& patterns,
                                     bool may_be_missing = false);

}  // namespace moonloop
