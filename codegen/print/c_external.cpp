#include <algorithm>

#include "codegen/print/c_printer.h"
#include "core/model/external.h"

// Calls of external functions.
namespace moonloop {
namespace {

/// `void f_(int32_t *, size_t);`: up to the parenthesis, and the types.
struct Declared {
  std::string head;
  std::vector<std::string> types;
  std::string rest;  // after the parenthesis
};

std::optional<Declared> declared(const std::string& text) {
  const std::size_t open = text.find('('), close = text.find(");");
  if (open == std::string::npos || close == std::string::npos || open == 0 ||
      text[open - 1] != '_' || text.find_first_of("{#=") != std::string::npos)
    return std::nullopt;
  Declared out{text.substr(0, open + 1), {}, text.substr(close + 1)};
  for (std::size_t at = open + 1; at < close;) {
    const std::size_t end = std::min(text.find(',', at), close);
    const std::size_t first = text.find_first_not_of(" \n", at);
    out.types.push_back(text.substr(first, end - first));
    at = end + 1;
  }
  return out;
}

}  // namespace

std::optional<std::string> joined_declarations(const std::string& one, const std::string& other) {
  if (one == other) return one;
  std::optional<Declared> a = declared(one);
  const std::optional<Declared> b = declared(other);
  if (!a || !b || a->head != b->head || a->types.size() != b->types.size()) return std::nullopt;
  for (std::size_t i = 0; i < a->types.size(); ++i) {
    std::string& type = a->types[i];
    if (type == b->types[i]) continue;
    if (type.starts_with("char ") && b->types[i].starts_with("char ")) {
      type = "char const *";  // one of the calls leaves the text as it is
      continue;
    }
    if (!type.ends_with('*') || !b->types[i].ends_with('*')) return std::nullopt;
    const bool both =
        type.find("const") != std::string::npos && b->types[i].find("const") != std::string::npos;
    type = both ? "void const *" : "void *";
  }
  return a->head + parameter_list(a->types, a->head.size()) + ")" + a->rest;
}

/// As gfortran calls: by addresses, followed by the lengths of texts.
void CPrinter::external(const Instruction& insn, const Exprs& lhs, const Call& call) {
  const std::string function = call.name + "_";
  std::vector<std::string> types, arguments, lengths;
  bool text_changes = false;  // of the argument before its length
  const std::optional<Scalar>& gives = k_.externals.at(call.name);
  const auto rank = [&](const std::string& array) {
    const Argument* a = k_.find_arg(array);
    return (a ? a->shape : k_.find_temporary(array)->shape)->size();
  };
  line("{");
  ++depth_;
  for (const Expr& a : call.args) {
    if (const Expr* n = as_text_length(a)) {
      types.back() = text_changes ? "char *" : "char const *";
      arguments.back() = "(" + types.back() + ")" + arguments.back();
      lengths.push_back(expr_.value(*n, Type(Scalar::I64)));
      continue;
    }
    if (const auto text = as_text(a)) {
      types.emplace_back("char const *");
      arguments.push_back(to_string(a));  // in quotes, as C has it
      lengths.push_back(std::to_string(text->size()));
      continue;
    }
    if (const Exprs* codes = as_letters(a)) {
      types.emplace_back("char const *");
      lengths.push_back(std::to_string(codes->size()));
      if (std::any_of(lhs.begin() + (gives ? 1 : 0), lhs.end(), [&](const Expr& l) {
            return codes->size() == 1 && equal(l, codes->front());
          })) {
        types.back() = "char *";
        arguments.push_back("(char *)&" + expr_.place(codes->front()));
        continue;
      }
      std::vector<std::string> values;
      for (const Expr& c : *codes) values.push_back(expr_.value(c, Type(Scalar::I8)));
      const std::string copy = names_.fresh("argument");
      line(
          fmt::format("char const {}[{}] = {{{}}};", copy, codes->size(), fmt::join(values, ", ")));
      arguments.push_back(copy);
      continue;
    }
    if (is_known(a)) continue;
    if (const Exprs* passed = as_address(a)) {
      const std::string& name = (*passed)[0].as<Var>()->name;
      Exprs index(passed->begin() + 1, passed->end());
      if (index.empty()) index.assign(rank(name), lit(0));
      types.push_back(helpers_.element(expr_.type_of_name(name)) + " *");
      const bool changed = std::any_of(lhs.begin(), lhs.end(),
                                       [&](const Expr& l) { return equal(l, (*passed)[0]); });
      const std::string cast = changed ? "" : "(" + types.back() + ")";
      text_changes = changed;
      arguments.push_back(cast + "&" + expr_.place(load(name, index)));
      continue;
    }
    const Type t = expr_.type(a);
    types.push_back(helpers_.element(t) + " *");
    if (std::any_of(lhs.begin() + (gives ? 1 : 0), lhs.end(),
                    [&](const Expr& l) { return equal(l, a); })) {
      arguments.push_back("&" + expr_.place(a));
      continue;
    }
    const auto* scalar = a.as<Load>();  // of the caller, which may not be there
    const Argument* own = scalar ? k_.find_arg(scalar->array) : nullptr;
    if (const auto* v = a.as<Var>()) own = k_.find_arg(v->name);
    if (own && own->fortran.optional) {
      arguments.push_back("(" + types.back() + ")&" + expr_.place(a));
      continue;
    }
    const std::string copy = names_.fresh("argument");
    line(helpers_.element(t) + " " + copy + " = " + expr_.value(a, t) + ";");
    arguments.push_back("&" + copy);
  }
  types.insert(types.end(), lengths.size(), "size_t");
  arguments.insert(arguments.end(), lengths.begin(), lengths.end());
  if (types.empty()) types.emplace_back("void");
  helpers_.include("stddef.h");
  const std::string head = (gives ? helpers_.element(*gives) : "void") + " " + function + "(";
  if (!helpers_.external(function, head + parameter_list(types, head.size()) + ");\n"))
    fail("unsupported", insn.at, "two calls of `{}` have arguments of different types", call.name);
  line((gives ? expr_.place(lhs[0]) + " = " : "") + function + "(" +
       fmt::format("{}", fmt::join(arguments, ", ")) + ");");
  --depth_;
  line("}");
}

}  // namespace moonloop
