#include "reports/report.h"

#include "codegen/lower.h"
#include "core/infer/infer.h"
#include "core/model/lookup.h"
#include "core/order/check_kernel.h"
#include "core/order/order.h"
#include "core/order/reference.h"
#include "core/order/shared_storage.h"
#include "core/order/tree.h"

namespace moonloop {
namespace {

/// Operators and functions that a CPU computes; those in subscripts are left out.
int count_operations(const Kernel& k, const Expr& e) {
  int n = 0;
  walk(e, [&](const Expr& x) {
    return x.visit(overload{
        [&](const IntLit&) { return true; }, [&](const FloatLit&) { return true; },
        [&](const ComplexLit&) { return true; }, [&](const BoolLit&) { return true; },
        [&](const Var&) { return true; }, [&](const Load&) { return false; },
        [&](const Field&) { return true; }, [&](const Unary&) { return ++n, true; },
        [&](const Binary&) { return ++n, true; },
        [&](const Nary& y) { return n += static_cast<int>(y.terms.size()) - 1, true; },
        [&](const Compare&) { return ++n, true; }, [&](const Select&) { return ++n, true; },
        [&](const Call& y) { return n += k.find_rule(y.name) ? 0 : 1, true; },
        [&](const Reduce&) { return ++n, true; }, [&](const Cast&) { return true; },
        [&](const Slice&) { return true; }, [&](const SubArray&) { return false; }});
  });
  return n;
}

}  // namespace

std::string report_tree(const Kernel& k) {
  const Nested nested = nest(k);
  return print_tree(nested.kernel, nested.tree);
}

std::string report_dependences(const Kernel& k) { return report_dependences(k, {}, {}); }

std::string report_dependences(const Kernel& k, const std::string& a, const std::string& b) {
  const DependenceList list = dependences(k);
  for (const std::string& id : {a, b})
    if (!id.empty()) require_insn(list.kernel, id);
  std::string out;
  for (const Dependence& d : list.all) {
    const auto id = [&](int i) {
      return list.kernel.instructions[static_cast<std::size_t>(i)]->id;
    };
    const std::string from = id(d.from), to = id(d.to);
    const bool asked = (from == a && to == b) || (from == b && to == a);
    if (!a.empty() && !asked) continue;
    out += fmt::format("{} {}: {} -> {}: {}{}\n", to_string(d.kind), d.variable, from, to,
                       str(d.relation), d.exact ? "" : " (over-approximated)");
  }
  return out;
}

std::string report_schedule(const Kernel& k, Target target) {
  return print_plan(make_plan(merge_shared_storage(complete(k)), target, true));
}

std::string report_stats(const Kernel& k, const StatsOptions& options) {
  std::string out = fmt::format(
      "kernel {}\n"
      "  instructions  {}\n"
      "  inames        {}\n"
      "  domains       {}\n"
      "  rules         {}\n"
      "  arguments     {}\n"
      "  temporaries   {}\n"
      "  transforms    {}\n",
      k.name, k.instructions.size(), k.inames().size(), k.domains.size(), k.rules.size(),
      k.args.size(), k.temporaries.size(), k.trace.size());
  out += "per instance\n";
  const Kernel flat = expand_all_rules(k);
  const Variables variables(flat);
  for (const InsnPtr& insn : flat.instructions) {
    int operations = 0, reads = 0, writes = 0;
    if (insn->rhs) operations += count_operations(flat, insn->rhs);
    for (const Expr& p : insn->predicates) operations += count_operations(flat, p);
    for (const Access& a : statement_accesses(*insn, variables)) ++(a.write ? writes : reads);
    out += fmt::format("  {}  operations {}, reads {}, writes {}\n", insn->id, operations, reads,
                       writes);
  }
  return out + report_counts(k, options);
}

}  // namespace moonloop
