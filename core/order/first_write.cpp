#include "core/order/first_write.h"

#include <algorithm>

namespace moonloop {
namespace {

/// Whether the statement writes all of the scalar and reads nothing of it.
bool sets(const Instruction& insn, const Temporary& scalar, const Variables& variables) {
  bool written = false;
  for (const Access& a : statement_accesses(insn, variables)) {
    if (a.variable != scalar.name) continue;
    if (!a.write || !a.index.empty() || !a.field.empty()) return false;
    written = true;
  }
  return written;
}

}  // namespace

bool begins_with_write(const Kernel& k, const Temporary& scalar, const Variables& variables,
                       std::span<const int> uses,
                       const std::function<std::span<const int>()>& between) {
  const auto insn = [&](int s) -> const Instruction& { return *k.instructions[std::size_t(s)]; };
  if ((scalar.shape && !scalar.shape->empty()) || !sets(insn(uses[0]), scalar, variables))
    return false;
  const Exprs& wanted = insn(uses[0]).predicates;
  if (wanted.empty()) return true;
  std::set<std::string> read;
  for (const Expr& p : wanted) {
    collect_reads(p, read);
    for (const int s : uses) {
      const Exprs& has = insn(s).predicates;
      if (std::none_of(has.begin(), has.end(), [&](const Expr& q) { return equal(p, q); }))
        return false;
    }
  }
  const std::span<const int> all = between();
  return std::none_of(all.begin(), all.end(), [&](int s) {
    const std::set<std::string> changed = writes(insn(s));
    return std::any_of(changed.begin(), changed.end(),
                       [&](const std::string& n) { return read.count(n) > 0; });
  });
}

}  // namespace moonloop
