#include <algorithm>

#include "codegen/print/c_printer.h"
#include "core/model/external.h"
#include "core/model/layout.h"

// What a program claims of itself, checked while it runs: subscripts are inside of their arrays,
// and no memory that the kernel writes is that of another argument.
namespace moonloop {
namespace {

Expr below(const Expr& a, const Expr& b) { return Expr(Compare{CompareOp::Lt, a, b}); }

/// A string of C.
std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

}  // namespace

std::string Helpers::outside() {
  include("stdint.h");
  include("stdio.h");
  include("stdlib.h");
  functions_["moonloop_outside"] =
      "static void moonloop_outside(const char *at, const char *array, int axis, int64_t i,\n"
      "                             int64_t n) {\n"
      "  fprintf(stderr, \"%s: error: subscript %d of `%s` is %lld, counted from 0, where its axis \"\n"
      "          \"has %lld elements [out-of-bounds]\\n\", at, axis, array, (long long)i, (long long)n);\n"
      "  exit(1);\n"
      "}\n";
  return "moonloop_outside";
}

std::string Helpers::apart() {
  include("stdint.h");
  include("stdio.h");
  include("stdlib.h");
  functions_["moonloop_apart"] =
      "static void moonloop_apart(const char *at, const char *one, const void *a, int64_t bytes_a,\n"
      "                           const char *other, const void *b, int64_t bytes_b) {\n"
      "  uintptr_t const from_a = (uintptr_t)a, from_b = (uintptr_t)b;\n"
      "  if (!a || !b || bytes_a <= 0 || bytes_b <= 0) return;\n"
      "  if (from_a + (uintptr_t)bytes_a <= from_b || from_b + (uintptr_t)bytes_b <= from_a) return;\n"
      "  fprintf(stderr, \"%s: error: `%s` and `%s` share memory, and the kernel writes to it \"\n"
      "          \"[shared-memory]\\n\", at, one, other);\n"
      "  exit(1);\n"
      "}\n";
  return "moonloop_apart";
}

void CPrinter::check_subscripts(const Expr& e, const Span& at, const Exprs& path,
                                std::set<std::string>& known) {
  if (!e || !e.holds<Load>()) return;
  const auto with = [&](const Expr& condition) {
    Exprs out = path;
    out.push_back(condition);
    return out;
  };
  if (const auto* s = e.as<Select>()) {
    check_subscripts(s->cond, at, path, known);
    check_subscripts(s->yes, at, with(s->cond), known);
    return check_subscripts(s->no, at, with(negation(s->cond)), known);
  }
  if (const auto* n = e.as<Nary>(); n && (n->op == NaryOp::And || n->op == NaryOp::Or)) {
    Exprs before = path;  // a term is evaluated where those before it decide nothing
    for (const Expr& t : n->terms) {
      check_subscripts(t, at, before, known);
      before.push_back(n->op == NaryOp::And ? t : negation(t));
    }
    return;
  }
  for_each_child(e, [&](const Expr& c) { check_subscripts(c, at, path, known); });
  const auto* l = e.as<Load>();
  if (!l || l->linear) return;
  const Argument* a = k_.find_arg(l->array);
  const Temporary* t = a ? nullptr : k_.find_temporary(l->array);
  const std::optional<Exprs>& shape = a ? a->shape : t ? t->shape : std::nullopt;
  if (!shape || shape->size() != l->index.size()) return;
  for (std::size_t i = 0; i < shape->size(); ++i) {
    const Expr &sub = l->index[i], &length = (*shape)[i];
    const auto constant = as_int(sub), elements = as_int(length);
    if (constant && elements && *constant >= 0 && *constant < *elements) continue;
    Exprs wrong = path;
    wrong.push_back(Expr(Nary{NaryOp::Or, {below(sub, lit(0)), negation(below(sub, length))}}));
    const std::string condition = expr_.condition(conjunction(wrong));
    if (!known.insert(l->array + " " + std::to_string(i) + " " + condition).second) continue;
    const Span& place = at ? at : e.at();
    line(fmt::format("if ({}) {}({}, {}, {}, {}, {});", condition, helpers_.outside(),
                     quoted(place ? place.str() : k_.name), quoted(l->array), i + 1,
                     expr_.value(sub, Scalar::I64), expr_.index(length, true)));
  }
}

void CPrinter::check_statement(const Instruction& insn, const Exprs& lhs, const Expr& rhs) {
  if (!checks_) return;
  std::set<std::string> known;
  if (const Call* c = external_call(k_, insn)) {
    for (const Expr& e : c->args)
      if (!as_address(e)) check_subscripts(e, insn.at, {}, known);
    return;
  }
  for (const Expr& e : lhs) check_subscripts(e, insn.at, {}, known);
  check_subscripts(rhs, insn.at, {}, known);
}

void CPrinter::check_condition(const Expr& e) {
  std::set<std::string> known;
  if (checks_ && e) check_subscripts(e, {}, {}, known);
}

void CPrinter::check_arguments() {
  if (!checks_) return;
  const std::set<std::string> written = this->written();
  const auto bytes = [&](const Argument& a) -> std::optional<std::string> {
    if (!a.shape) return std::nullopt;
    const Exprs strides = strides_of(*a.shape, a.order, a.strides);
    Expr last = a.offset ? a.offset : lit(0);
    for (std::size_t i = 0; i < strides.size(); ++i)
      last = index_add({last, index_mul(index_sub((*a.shape)[i], lit(1)), strides[i])});
    return fmt::format("(int64_t)sizeof({})*({})", type_name(expr_.type_of_name(a.name)),
                       expr_.index(index_add({last, lit(1)}), true));
  };
  for (std::size_t i = 0; i < k_.args.size(); ++i)
    for (std::size_t j = i + 1; j < k_.args.size(); ++j) {
      const Argument &a = k_.args[i], &b = k_.args[j];
      if (!a.is_array || !b.is_array || !(written.contains(a.name) || written.contains(b.name)))
        continue;
      const auto x = bytes(a), y = bytes(b);
      if (!x || !y) continue;
      line(fmt::format("{}({}, {}, {}, {}, {}, {}, {});", helpers_.apart(),
                       quoted(a.at ? a.at.str() : k_.name), quoted(a.name), names_.of(a.name), *x,
                       quoted(b.name), names_.of(b.name), *y));
    }
}

}  // namespace moonloop
