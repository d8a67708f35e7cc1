#include <algorithm>

#include "codegen/c_printer.h"
#include "core/external.h"

// Calls of what stands outside of a kernel.
namespace moonloop {

/// As gfortran calls: by addresses, with the lengths of texts behind them.
void CPrinter::external(const Instruction& insn, const Exprs& lhs, const Call& call) {
  const std::string function = call.name + "_";
  std::vector<std::string> types, arguments, lengths;
  line("{");
  ++depth_;
  for (const Expr& a : call.args) {
    if (const auto text = as_text(a)) {
      types.emplace_back("char const *");
      arguments.push_back(to_string(a));  // in quotes, as C has it
      lengths.push_back(std::to_string(text->size()));
      continue;
    }
    const Type t = expr_.type(a);
    types.push_back(element_type(helpers_.language(), t) + " *");
    if (std::any_of(lhs.begin(), lhs.end(), [&](const Expr& l) { return equal(l, a); })) {
      arguments.push_back("&" + expr_.place(a));
      continue;
    }
    const std::string copy = names_.fresh("argument");
    line(element_type(helpers_.language(), t) + " " + copy + " = " + expr_.value(a, t) + ";");
    arguments.push_back("&" + copy);
  }
  types.insert(types.end(), lengths.size(), "size_t");
  arguments.insert(arguments.end(), lengths.begin(), lengths.end());
  if (types.empty()) types.emplace_back("void");
  helpers_.include("stddef.h");
  const std::string head = "void " + function + "(";
  if (!helpers_.external(function, head + parameter_list(types, head.size()) + ");\n"))
    fail("unsupported", insn.at, "two calls of `{}` have arguments of different types", call.name);
  line(function + "(" + fmt::format("{}", fmt::join(arguments, ", ")) + ");");
  --depth_;
  line("}");
}

}  // namespace moonloop
