#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/model/kernel.h"

/// Which names occur in an instruction, and in which loops an instruction therefore is.
namespace moonloop {

/// Names in an expression, rules looked through; names that a reduction or a sub-array binds are
/// not free inside it.
struct Names {
  std::set<std::string> vars;    // free variables: inames, parameters, scalars
  std::set<std::string> arrays;  // subscripted names
  std::set<std::string> bound;   // inames that reductions bind
  bool reads(const std::string& n) const { return vars.contains(n) || arrays.contains(n); }
};

/// Collects names; each rule is looked at once. The kernel's rules must not change meanwhile.
class NameCollector {
 public:
  explicit NameCollector(const Rules& rules);
  void add(const Expr& e, Names& out);
  /// Assignees, right side and predicates. Assignees count as read only in their subscripts.
  Names of(const Instruction& insn);
  /// The names in the subscripts of the assignees of `insn`.
  Names of_subscripts(const Instruction& insn);

 private:
  struct Summary {
    Names names;                  // without the rule's parameters
    std::set<std::size_t> bound;  // parameters that its reductions bind
  };
  void walk(const Expr& e, std::vector<std::string>& scope, Names& out);
  const Summary& summary(const Rule& r);

  std::map<std::string, const Rule*> rules_;
  std::map<std::string, Summary> summaries_;
};

/// Gives each instruction the loops around it. An instruction's `inames`, on entry those given for
/// it, come to include also, unless `exact` is set for it:
///  * the inames that occur free in it, through rules;
///  * the inames that the bounds of its loops and of its reductions need;
///  * the inames around the writer of a temporary that those bounds need;
///  * for each temporary that it reads, the inames that all its writers are in and that do not
///    occur in what they write.
/// The least sets with these properties. Cost: linear in names, and in inames that are added.
void infer_inames(Kernel& k, const std::vector<bool>& exact);

}  // namespace moonloop
