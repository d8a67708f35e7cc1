#include <fmt/ranges.h>

#include <algorithm>

#include "codegen/lower.h"
#include "codegen/plan/loops.h"
#include "codegen/print/c_printer.h"
#include "codegen/print/declare.h"
#include "core/model/external.h"

// Calls of kernels, which are functions of their own.
namespace moonloop {

void CPrinter::kernel_call(const Exprs& lhs, const Call& call) {
  const Kernel& callee = *k_.callees.at(call.name)->meaning;
  std::vector<std::string> arguments, before, spaces;  // memory of the callee's arrays
  for (std::size_t n = 0; n < call.args.size(); ++n) {
    const Expr& a = call.args[n];
    const Argument& to = callee.args.at(n);
    const Type type = to.type.value();
    if (const Exprs* passed = as_address(a)) {
      const std::string& name = (*passed)[0].as<Var>()->name;
      Exprs index(passed->begin() + 1, passed->end());
      if (index.empty()) {
        const Argument* array = k_.find_arg(name);
        index.assign((array ? array->shape : k_.find_temporary(name)->shape)->size(), lit(0));
      }
      arguments.push_back("&" + expr_.place(load(name, index)));
      spaces.push_back(space_of(name));
      continue;
    }
    if (!to.is_array) {
      arguments.push_back(expr_.value(a, type));
      continue;
    }
    const bool written =
        std::any_of(lhs.begin(), lhs.end(), [&](const Expr& l) { return equal(l, a); });
    if (written || a.as<Load>()) {
      arguments.push_back("&" + expr_.place(a));
      spaces.push_back(space_of(written_name(a)));
      continue;
    }
    const std::string copy = names_.fresh("argument");
    before.push_back(helpers_.element(type) + " const " + copy + " = " + expr_.value(a, type) +
                     ";");
    arguments.push_back("&" + copy);
    spaces.emplace_back(helpers_.language() == Language::OpenCL ? "__private " : "");
  }
  const std::string function =
      is_device(plan_.target) ? device_function(call, spaces) : plan_.callees.at(call.name).name;
  const std::string text = fmt::format("{}({});", function, fmt::join(arguments, ", "));
  if (before.empty()) return line(text);
  line("{");
  ++depth_;
  for (const std::string& b : before) line(b);
  line(text);
  --depth_;
  line("}");
}

/// The name of the function that a work-item calls, for arrays in that memory.
std::string CPrinter::device_function(const Call& call, const std::vector<std::string>& spaces) {
  const std::string key = fmt::format("{}|{}", call.name, fmt::join(spaces, "|"));
  CPrinter& out = *outermost_;
  if (const auto it = out.device_functions_.find(key); it != out.device_functions_.end())
    return it->second;
  const CalledKernel& called = *k_.callees.at(call.name);
  Plan plan = lower(called.code ? *called.code : *called.meaning, Target::C).plan;
  for (const auto& [name, t] : plan.kernel.temporaries)
    if (t.initializer)
      fail("unsupported", t.at, "`{}` of `{}`, which target `{}` would call, has initial values",
           name, call.name, to_string(plan_.target));
  Block program = make_loops(plan);
  plan.target = plan_.target;  // its words, for the loops of one work-item
  CPrinter inner(plan, dialect_);
  inner.outermost_ = outermost_;
  // `call.name` is taken by nothing else; further versions are.
  const bool first =
      std::none_of(out.device_functions_.begin(), out.device_functions_.end(),
                   [&](const auto& f) { return f.first.starts_with(call.name + "|"); });
  const std::string function = first ? inner.name() : out.names_.fresh(inner.name() + "_elsewhere");
  std::string text = inner.device_callee(std::move(program), function, spaces);
  out.helpers_.add(inner.helpers_);
  out.device_texts_.push_back(std::move(text));
  return out.device_functions_[key] = function;
}

std::string CPrinter::device_callee(Block program, const std::string& function,
                                    const std::vector<std::string>& spaces) {
  for (const auto& [name, t] : k_.temporaries)
    if (on_heap(expr_, t))
      fail("unsupported", t.at ? t.at : k_.at,
           "each work-item that calls `{}` has its own `{}`, which takes a constant size", k_.name,
           name);
  std::size_t arrays = 0;
  for (const Argument& a : k_.args)
    if (a.is_array) spaces_[a.name] = spaces.at(arrays++);
  settle(program);
  dialect_.decorate(program, plan_, names_);
  depth_ = 1;
  block(program);
  const std::string body = std::move(out_);
  const std::set<std::string> written = this->written();
  std::vector<std::string> parameters;
  for (const Argument& a : k_.args) {
    const std::string type = helpers_.element(a.type.value_or(Type(k_.index_type)));
    parameters.push_back(a.is_array ? spaces_.at(a.name) + type +
                                          (written.count(a.name) ? " *" : " const *") +
                                          dialect_.restrict_word() + " " + names_.of(a.name)
                                    : type + " " + names_.of(a.name));
  }
  const std::string head =
      std::string(helpers_.language() == Language::Cuda ? "static __device__ void " : "void ") +
      function + "(";
  return head + parameter_list(parameters, head.size()) + ") {\n" + body + "}\n\n";
}

}  // namespace moonloop
