#include <algorithm>
#include <map>

#include "codegen/print/c_printer.h"
#include "codegen/print/omp_teams.h"
#include "core/order/order.h"

// Loops of a team of threads in a function of their own. Compilers make one of what is below `omp
// parallel`, in which GCC 12 does not know any more that arrays are `restrict`: it compares
// addresses before each loop, copies rows by loops and not by `memcpy`, and gives up where there
// are many arrays. The parameters of a function say it again.
namespace moonloop {
namespace {

/// Whether no thread meets another one in an element that it writes, also between loops, of which
/// the last one may wait: what a function is told by `restrict` holds for each thread. And whether
/// some innermost loop is not in lanes, whose elements are apart anyway.
bool gains_from_restrict(const Block& team) {
  bool apart = true, plain = false, waited = false;
  for_each_within(team, [&](const Stmt& s) {
    const auto* x = std::get_if<Loop>(&s.op);
    if (!x) return;
    bool lanes = false, inner = true;
    for (const std::string& p : x->pragmas) {
      lanes = lanes || p.starts_with("omp simd");
      apart = apart && p.find("reduction(") == std::string::npos;
      if (!p.starts_with(kFor)) continue;
      apart = apart && !waited;
      waited = p.find("nowait") == std::string::npos;
    }
    for_each_within(x->body,
                    [&](const Stmt& t) { inner = inner && !std::holds_alternative<Loop>(t.op); });
    plain = plain || (inner && !lanes);
  });
  return apart && plain;
}

/// Whether an innermost loop reads an element that the same iteration has written, with writes to
/// other arrays in between: `b[i] = 2*a[i]; c[i] = a[i]; d[i] = b[i]`. A compiler that knows that
/// these are apart keeps the value and never loads from that array. Processors fetch ahead what
/// loads walk through and not what stores do: without the load, such a loop in TeaLeaf takes an
/// eighth longer (Sapphire Rapids, GCC 12).
bool reads_back(const Block& team, const Kernel& k) {
  const Variables variables(k);
  bool found = false;
  for_each_within(team, [&](const Stmt& s) {
    const auto* x = std::get_if<Loop>(&s.op);
    if (!x || found) return;
    std::map<std::string, std::vector<Exprs>> written;
    std::map<std::string, std::size_t> last;  // the number of writes up to the last one to it
    std::size_t writes = 0;
    bool inner = true, back = false;
    for_each_within(x->body, [&](const Stmt& t) {
      inner = inner && !std::holds_alternative<Loop>(t.op);
      const auto* run = std::get_if<Run>(&t.op);
      if (!run || !inner || back) return;
      const Instruction& insn = *k.instructions[std::size_t(run->insn)];
      for (const Access& a : statement_accesses(insn, variables)) {
        if (variables.is_temporary(a.variable) || a.index.empty()) continue;
        std::vector<Exprs>& at = written[a.variable];
        if (a.write) {
          at.push_back(a.index), last[a.variable] = ++writes;
        } else if (writes > last[a.variable]) {
          back = back || std::any_of(at.begin(), at.end(),
                                     [&](const Exprs& e) { return equal(e, a.index); });
        }
      }
    });
    found = inner && back;
  });
  return found;
}

}  // namespace

/// Prints the function and calls it, if it can be one that gains from it: all that the statements
/// use is theirs, an argument, or a number that they do not change.
bool CPrinter::team_function(const Scope& x) {
  if (checks_ || marks_ || cxx_ || !gains_from_restrict(x.body) || reads_back(x.body, k_))
    return false;
  std::set<std::string> declared, changed;
  collect_declared(x.body, declared), collect_writes(x.body, changed);

  const CNames names = names_;
  names_.record_uses();
  const std::string function = names_.fresh(name() + "_team");
  std::string before = std::exchange(out_, {});
  const int depth = std::exchange(depth_, 1);
  block(x.body);
  const std::string text = std::exchange(out_, std::move(before));
  depth_ = depth;
  std::set<std::string> used = names_.take_used();

  std::vector<std::string> parameters, passed;
  const std::set<std::string> written = this->written(), known = known_elsewhere();
  std::ptrdiff_t arrays = 0;
  for (const Argument& a : k_.args) {
    if (used.erase(a.name) == 0) continue;
    parameters.push_back(parameter(a, written, known));
    passed.push_back(names_.of(a.name));
    arrays += parameters.back().find("*restrict ") != std::string::npos ? 1 : 0;
  }
  bool fits = arrays > 1;
  for (const std::string& name : used) {
    if (declared.count(name)) continue;
    const Temporary* t = k_.find_temporary(name);
    fits = fits && !changed.count(name) && (!t || (!t->initializer && expr_.extents(*t).empty()));
    if (!fits) break;
    parameters.push_back(type_name(t ? expr_.type_of_name(name) : Type(k_.index_type)) + " " +
                         names_.of(name));
    passed.push_back(names_.of(name));
  }
  if (!fits) {
    names_ = names;
    return false;
  }
  const std::string head = "static void " + function + "(";
  tasks_ += head + parameter_list(parameters, head.size()) + ") {\n" + text + "}\n\n";
  line("#pragma omp parallel");
  const std::string call(static_cast<std::size_t>(2 * depth_), ' ');
  out_ +=
      call + function + "(" + parameter_list(passed, call.size() + function.size() + 1) + ");\n";
  return true;
}

}  // namespace moonloop
