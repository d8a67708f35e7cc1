#pragma once
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/model/kernel.h"
#include "core/model/match.h"

/// Rewriting expressions by their place in the expansion of substitution rules.
namespace moonloop {

/// The further versions that rules get where calls of one rule change differently. Versions with
/// equal bodies are one.
class RuleVersions {
 public:
  /// `taken`: names that are in use and that versions may not have; those of versions are added.
  explicit RuleVersions(const Kernel& k, std::set<std::string>* taken = nullptr);
  RuleVersions(const RuleVersions&) = delete;
  RuleVersions& operator=(const RuleVersions&) = delete;

  /// The name of the version of `rule` that has this body; its own name if that is its body.
  std::string name_of(const Rule& rule, const Expr& body);
  /// The same for a body that says `$<first + i>` for the rule's parameter number i: where an
  /// expression put into it names something that a parameter hides, the version's parameter is
  /// renamed.
  std::string name_of(const Rule& rule, const Expr& body, std::size_t first);

  bool empty() const { return versions_.empty(); }
  /// Adds the versions after their rules, drops rules that are no longer called and were in the
  /// kernel that this was made for; the first version of a dropped rule takes its name.
  void settle(Kernel& out) const;

 private:
  std::string add(Rule version, const std::string& of);
  const Kernel& k_;
  std::set<std::string> own_;
  std::set<std::string>* taken_;
  std::map<std::string, std::vector<Rule>> versions_;  // by the rule's own name
};

/// `$<first>`, `$<first + 1>`, ...: stand-ins for the parameters of `rule` while its body changes.
Exprs placeholders(const Rule& rule, std::size_t first);

/// `e` with variables replaced, also in the rules that it calls, which get versions for that. A
/// parameter hides the variable of its name.
Expr substitute_through_rules(const Kernel& k, const Expr& e, const std::map<std::string, Expr>& by,
                              RuleVersions& versions);

/// The place of an expression: in an instruction, or in a rule that it calls, at any depth.
struct RulePlace {
  const Kernel& kernel;
  const Instruction& insn;
  const Stack& stack;                              // innermost first, ends with the instruction
  const std::function<Expr(const Expr&)>& inside;  // rewrites a part of this expression

  /// The rule whose body this is; null in the instruction itself.
  const Rule* rule() const {
    return stack.size() > 1 ? kernel.find_rule(stack.front().name) : nullptr;
  }
};

/// Where a kernel names a variable, rules looked through. A parameter of a rule that has the
/// variable's name counts. Cost of making one: linear in the bodies of the rules.
class Mentions {
 public:
  Mentions(const Kernel& k, std::string name);
  bool in(const Expr& e) const;
  /// False only where it is surely not, at constant cost.
  bool may_be_in(const Expr& e) const { return (e.names() & names_) != 0; }
  bool in_rule(const std::string& rule) const { return rules_.count(rule) > 0; }
  bool in_rules() const { return !rules_.empty(); }
  /// In the reads of the instruction.
  bool read_by(const Instruction& insn) const;

 private:
  std::string name_;
  std::uint32_t names_;                    // bits of its name and of the rules'
  std::unordered_set<std::string> rules_;  // those that name it, or call one that does
};

struct RuleRewrite {
  /// The replacement of an expression; nothing: its parts are visited. May be empty.
  std::function<std::optional<Expr>(const Expr&, const RulePlace&)> replace = {};
  /// Whether to put the rule's body in place of a call; the stack begins with the call. May be
  /// empty.
  std::function<bool(const RulePlace&)> expand = {};
  /// Names of rules that `replace` calls and the kernel does not have yet, and of new versions of
  /// others: no two have one name. May be null where `replace` calls no such rules.
  std::set<std::string>* taken = nullptr;
  /// The answers do not depend on the place: each rule is walked once.
  bool same_everywhere = false;
  /// Where the kernel names the variable to rewrite: other expressions stay as they are and are not
  /// walked. Null: all are walked.
  const Mentions* about = nullptr;
};

/// `k` with `rw` done to all expressions that instructions read: right sides, predicates and the
/// subscripts of assignees. The names of assignees and sub-arrays are left alone.
///
/// A rule whose calls all change alike changes; where calls change differently the rule gets
/// further versions, `h_0` and so on, which follow it:
///
///     h(x) := 1 + g(x)                     h(x) := 1 + g(x);  h_0(x) := 1 + (12 + f(x))
///     a[i] = h$one(i)*h$two(i)   becomes   a[i] = h$one(i)*h_0$two(i)
///
/// Rules that are no longer called, and were, are dropped. Rules that no instruction calls stay.
/// Fails `recursive-rule`. Cost: one walk over each rule for each chain of calls that leads to it.
Kernel rewrite_through_rules(const Kernel& k, const RuleRewrite& rw);

/// Names of the rules that instructions call, directly or not.
std::set<std::string> called_rules(const Kernel& k);

}  // namespace moonloop
