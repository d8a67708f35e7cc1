#include <algorithm>

#include "codegen/print/c_printer.h"
#include "core/model/external.h"

// Reads of a straight part of a block that come after slow operations, in front of them all. CUDA's
// compiler moves no read across an operation that may branch, as a division or a root in double
// precision does: each such read then waits for memory by itself. (On an H200, a kernel of 14
// quotients that reads 18 elements ran at 77% of the rate of a copy, and with all reads in front
// at 97%.)
namespace moonloop {
namespace {

/// Registers are few: more values than these stay where they are read.
constexpr std::size_t kMostAhead = 24;

/// Functions that are a few instructions without a branch.
bool is_quick(const std::string& function) {
  static const std::set<std::string> kQuick{"abs",  "fabs", "min",   "max",  "fmin",  "fmax",
                                            "sign", "fma",  "floor", "ceil", "trunc", "copysign"};
  return kQuick.contains(function);
}

/// Whether what comes after the block may not run, or waits for other work-items.
bool ends_part(const Block& block) {
  bool leaves = false;
  for_each_within(block,
                  [&](const Stmt& s) { leaves = leaves || std::holds_alternative<Leave>(s.op); });
  return leaves || waits_within(block);
}

}  // namespace

/// What a walk in the order of evaluation finds of reads.
struct CPrinter::ReadsAhead {
  const Kernel& k;
  const std::set<std::string>& written;
  CExpr& expr;
  bool slow = false;              // something slow came before
  std::set<std::string> early{};  // reads before, as text
  Exprs late{};                   // reads after it

  /// Whether the value is the same in all of the kernel, and a register's.
  bool eligible(const Expr& e, const Load& l) const {
    const Argument* a = k.find_arg(l.array);
    if (!a || !a->is_array || written.contains(l.array)) return false;
    std::set<std::string> names;
    for (const Expr& i : l.index) {
      if (i.holds<Load>() || i.holds<Select>() || i.holds<Field>()) return false;
      collect_vars(i, names);
    }
    const Type t = expr.type(e);
    return !t.is_record() && !is_complex(t.scalar) && size_of(t.scalar) >= 4 &&
           std::none_of(names.begin(), names.end(),
                        [&](const std::string& n) { return written.contains(n); });
  }

  bool is_slow(const Expr& e) const {
    if (const auto* b = e.as<Binary>()) {
      const Type t = expr.type(e);
      return (b->op == BinaryOp::Div || b->op == BinaryOp::Pow) && !t.is_record() &&
             is_real(t.scalar);
    }
    const auto* c = e.as<Call>();
    return c && !is_truncated(*c) && !is_quick(c->name);
  }

  /// `always`: whether it is evaluated whenever its statement runs.
  void look(const Expr& e, bool always) {
    if (const auto* l = e.as<Load>()) {
      for (const Expr& i : l->index) look(i, always);
      if (!always || !eligible(e, *l) || expr.stands_in(e)) return;
      if (!early.insert(to_string(e)).second || !slow) return;
      if (late.size() < kMostAhead) late.push_back(e);
      return;
    }
    const auto* s = e.as<Select>();
    const auto* n = e.as<Nary>();
    const bool lazy = s || (n && (n->op == NaryOp::And || n->op == NaryOp::Or));
    bool first = true;
    for_each_child(
        e, [&](const Expr& c) { look(c, always && (!lazy || std::exchange(first, false))); });
    slow = slow || is_slow(e);
  }
};

/// Prints, in front of statement `from` of the block, the reads of the straight part that begins
/// there which may as well be made at once. The part's end: what comes then may not run, or waits.
std::size_t CPrinter::read_ahead(const Block& b, std::size_t from) {
  if (!launch_writes_ || checks_) return b.size();
  ReadsAhead found{k_, *launch_writes_, expr_};
  std::size_t end = from;
  for (; end < b.size(); ++end) {
    const Stmt& s = b[end];
    if (std::holds_alternative<Declare>(s.op)) continue;
    if (const auto* x = std::get_if<If>(&s.op)) {
      if (ends_part(x->body) || ends_part(x->otherwise)) break;
      found.look(x->cond, true);
      found.slow = true;
      continue;
    }
    const auto* run = std::get_if<Run>(&s.op);
    if (!run) break;
    const Instruction& insn = *k_.instructions[static_cast<std::size_t>(run->insn)];
    if (!insn.rhs || plan_.copies_ahead.contains(run->insn) || called_kernel(k_, insn) ||
        external_call(k_, insn) || contains_reduction(insn.rhs))
      break;
    std::map<std::string, Expr> values;
    for (const auto& [iname, e] : run->values) values.emplace(iname, without_truncation(e));
    expr_.set_instruction(run->insn, values);
    expr_.within_domains(true);
    const std::size_t before = found.late.size();
    found.look(expr_.with_values(insn.rhs, values), true);
    for (const Expr& l : insn.lhs)
      if (const auto* place = l.as<Load>())
        for (const Expr& i : place->index) found.look(expr_.with_values(i, values), true);
    for (std::size_t i = before; i < found.late.size(); ++i) declare_ahead(found.late[i]);
    expr_.within_domains(false);
  }
  return end < b.size() ? end + 1 : end;
}

/// A constant with the value of the element, which stands for it until the block ends.
void CPrinter::declare_ahead(const Expr& e) {
  const std::string& array = e.as<Load>()->array;
  std::vector<std::string>& names = ahead_names_[array];
  std::size_t& used = ahead_used_[array];
  if (used == names.size()) names.push_back(names_.fresh(array + "_read"));
  const std::string& name = names[used++];
  const Type t = expr_.type(e);
  line(type_name(t) + " const " + name + " = " + expr_.value(e, t) + ";");
  expr_.stand_in(e, name);
}

}  // namespace moonloop
