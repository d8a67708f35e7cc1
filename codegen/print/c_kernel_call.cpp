#include <algorithm>

#include "codegen/print/c_printer.h"
#include "core/model/external.h"

// Calls of kernels, which are functions of their own.
namespace moonloop {

void CPrinter::kernel_call(const Exprs& lhs, const Call& call) {
  const Program& callee = plan_.callees.at(call.name);
  std::vector<std::string> arguments, before;
  for (std::size_t n = 0; n < call.args.size(); ++n) {
    const Expr& a = call.args[n];
    const Parameter& to = callee.params.at(n);
    if (const Exprs* passed = as_address(a)) {
      const std::string& name = (*passed)[0].as<Var>()->name;
      Exprs index(passed->begin() + 1, passed->end());
      if (index.empty()) {
        const Argument* array = k_.find_arg(name);
        index.assign((array ? array->shape : k_.find_temporary(name)->shape)->size(), lit(0));
      }
      arguments.push_back("&" + expr_.place(load(name, index)));
      continue;
    }
    if (!to.is_array) {
      arguments.push_back(expr_.value(a, to.type));
      continue;
    }
    const bool written =
        std::any_of(lhs.begin(), lhs.end(), [&](const Expr& l) { return equal(l, a); });
    if (written || a.as<Load>()) {
      arguments.push_back("&" + expr_.place(a));
      continue;
    }
    const std::string copy = names_.fresh("argument");
    before.push_back(helpers_.element(to.type) + " const " + copy + " = " +
                     expr_.value(a, to.type) + ";");
    arguments.push_back("&" + copy);
  }
  const std::string head = callee.name + "(";
  const std::string text = head + parameter_list(arguments, head.size() + 2 * depth_) + ");";
  if (before.empty()) return line(text);
  line("{");
  ++depth_;
  for (const std::string& b : before) line(b);
  line(text);
  --depth_;
  line("}");
}

}  // namespace moonloop
