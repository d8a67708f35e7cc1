#include <algorithm>

#include "codegen/print/c_printer.h"
#include "codegen/print/declare.h"
#include "core/model/external.h"
#include "core/model/layout.h"

// What a program claims of itself, checked while it runs: subscripts are inside of their arrays,
// what is read of the kernel's own variables has a value, and no memory that the kernel writes is
// that of another argument.
namespace moonloop {
namespace {

const std::optional<Exprs> kNoShape;

Expr below(const Expr& a, const Expr& b) { return Expr(Compare{CompareOp::Lt, a, b}); }

}  // namespace

std::string Helpers::outside() {
  include("stdint.h");
  include("stdio.h");
  include("stdlib.h");
  functions_["moonloop_outside"] =
      "static void moonloop_outside(const char *at, const char *array, int axis, int64_t i,\n"
      "                             int64_t n) {\n"
      "  fprintf(stderr, \"%s: error: subscript %d of `%s` is %lld, counted from 0, where its axis "
      "\"\n"
      "          \"has %lld elements [out-of-bounds]\\n\", at, axis, array, (long long)i, (long "
      "long)n);\n"
      "  exit(1);\n"
      "}\n";
  return "moonloop_outside";
}

std::string Helpers::apart() {
  include("stdint.h");
  include("stdio.h");
  include("stdlib.h");
  functions_["moonloop_apart"] =
      "static void moonloop_apart(const char *at, const char *one, const void *a, int64_t "
      "bytes_a,\n"
      "                           const char *other, const void *b, int64_t bytes_b) {\n"
      "  uintptr_t const from_a = (uintptr_t)a, from_b = (uintptr_t)b;\n"
      "  if (!a || !b || bytes_a <= 0 || bytes_b <= 0) return;\n"
      "  if (from_a + (uintptr_t)bytes_a <= from_b || from_b + (uintptr_t)bytes_b <= from_a) "
      "return;\n"
      "  fprintf(stderr, \"%s: error: `%s` and `%s` share memory, and the kernel writes to it \"\n"
      "          \"[shared-memory]\\n\", at, one, other);\n"
      "  exit(1);\n"
      "}\n";
  return "moonloop_apart";
}

std::string Helpers::unset() {
  include("stdio.h");
  include("stdlib.h");
  functions_["moonloop_unset"] =
      "static void moonloop_unset(const char *at, const char *variable) {\n"
      "  fprintf(stderr, \"%s: error: `%s` is read where it has no value [undefined-read]\\n\", "
      "at,\n"
      "          variable);\n"
      "  exit(1);\n"
      "}\n";
  return "moonloop_unset";
}

// ---- Which elements of the kernel's own variables have a value: a byte for each, in a variable
// beside it.

std::string CPrinter::set_name(const std::string& temporary) const {
  return "moonloop_set_" + names_.of(temporary);
}

Expr CPrinter::room_of(const Temporary& t) const {
  Expr out = lit(1);
  for (const Expr& e : expr_.extents(t)) out = index_mul(out, e);
  return out;
}

void CPrinter::declare_set(const Temporary& t) {
  const std::string own = set_name(t.name);
  if (expr_.extents(t).empty()) {
    line("unsigned char " + own + " = 0;");
  } else if (on_heap(expr_, t)) {
    helpers_.include("stdlib.h");
    line("unsigned char *" + own + " = calloc(" + expr_.at_least_one(room_of(t)) + ", 1);");
  } else {
    line("unsigned char " + own + brackets(t) + " = {0};");
  }
  has_set_.insert(t.name);
}

/// Where it is noted whether the variable or element has a value; a field has one when some field
/// of the record has.
std::string CPrinter::set_place(const Expr& place) {
  const auto* f = place.as<Field>();
  if (f) return set_place(f->base);
  const std::string& name = names_.of(written_name(place));
  return set_name(written_name(place)) + expr_.place(place).substr(name.size());
}

void CPrinter::note_set(const Instruction& insn, const Exprs& lhs) {
  if (!checks_ || insn.role == ReductionRole::Update) return;
  for (const Expr& e : lhs) {
    const std::string& name = written_name(e);
    if (!has_set_.contains(name)) continue;
    const Temporary& t = *k_.find_temporary(name);
    if (!e.as<Var>() || expr_.extents(t).empty() || !t.shape || t.shape->empty()) {
      line(set_place(e) + " = 1;");
    } else {  // any element may have changed: a call was given the array
      helpers_.include("string.h");
      line("memset(" + set_name(name) + ", 1, " + expr_.at_least_one(room_of(t)) + ");");
    }
  }
}

/// One condition of the path to an expression, and what is wrong there.
std::string CPrinter::wrong(const Exprs& path, const std::string& condition) {
  if (path.empty()) return condition;
  const Expr all = conjunction(path);  // some hold anyway, so that it may be one of them
  const auto* terms = all.as<Nary>();
  const bool several = path.size() > 1 && terms && terms->op == NaryOp::And;
  const std::string before = expr_.condition(all);
  return (several ? before : "(" + before + ")") + " && " + condition;
}

void CPrinter::check_reads(const Expr& e, const Span& at, const Exprs& path,
                           std::set<std::string>& known) {
  if (!e) return;
  const auto with = [&](const Expr& condition) {
    Exprs out = path;
    out.push_back(condition);
    return out;
  };
  if (const auto* s = e.as<Select>()) {
    check_reads(s->cond, at, path, known);
    check_reads(s->yes, at, with(s->cond), known);
    return check_reads(s->no, at, with(negation(s->cond)), known);
  }
  if (const auto* n = e.as<Nary>(); n && (n->op == NaryOp::And || n->op == NaryOp::Or)) {
    Exprs before = path;  // a term is evaluated where those before it decide nothing
    for (const Expr& t : n->terms) {
      check_reads(t, at, before, known);
      before.push_back(n->op == NaryOp::And ? t : negation(t));
    }
    return;
  }
  const auto* l = e.as<Load>();
  if (l)
    check_subscripts(*l, at, path, known);
  else
    for_each_child(e, [&](const Expr& c) { check_reads(c, at, path, known); });
  const auto* v = e.as<Var>();
  const std::string name = l ? l->array : v ? v->name : "";
  if (in_guard_ || !has_set_.contains(name)) return;
  const std::string condition = wrong(path, "!" + set_place(e));
  if (known.insert(condition).second)
    line(fmt::format("if ({}) {}({}, {});", condition, helpers_.unset(), place_of(at ? at : e.at()),
                     c_string(name)));
}

/// Where in the source, as a string of C.
std::string CPrinter::place_of(const Span& at) const { return c_string(at ? at.str() : k_.name); }

void CPrinter::check_subscripts(const Load& l, const Span& at, const Exprs& path,
                                std::set<std::string>& known) {
  for (const Expr& i : l.index) check_reads(i, at, path, known);
  const Argument* a = k_.find_arg(l.array);
  const Temporary* t = a ? nullptr : k_.find_temporary(l.array);
  const std::optional<Exprs>& shape = a ? a->shape : t ? t->shape : kNoShape;
  if (l.linear || !shape || shape->size() != l.index.size()) return;
  for (std::size_t i = 0; i < shape->size(); ++i) {
    const Expr &sub = l.index[i], &length = (*shape)[i];
    const auto constant = as_int(sub), elements = as_int(length);
    if (constant && elements && *constant >= 0 && *constant < *elements) continue;
    const std::string condition = wrong(
        path, "(" +
                  expr_.condition(
                      Expr(Nary{NaryOp::Or, {below(sub, lit(0)), negation(below(sub, length))}})) +
                  ")");
    if (!known.insert(l.array + " " + condition).second) continue;
    line(fmt::format("if ({}) {}({}, {}, {}, {}, {});",
                     path.empty() ? condition.substr(1, condition.size() - 2) : condition,
                     helpers_.outside(), place_of(at), c_string(l.array), i + 1,
                     expr_.value(sub, Scalar::I64), expr_.index(length, true)));
  }
}

void CPrinter::check_statement(const Instruction& insn, const Exprs& lhs, const Expr& rhs,
                               const std::map<std::string, Expr>& values) {
  if (!checks_) return;
  std::set<std::string> known;
  Exprs holds;  // conditions come one after the other
  for (const Expr& p : insn.predicates) {
    const Expr e = expr_.with_values(p, values);
    check_reads(e, insn.at, holds, known);
    holds.push_back(e);
  }
  for (const Expr& e : lhs) {
    const Expr* place = &e;
    while (const auto* f = place->as<Field>()) place = &f->base;
    if (const auto* l = place->as<Load>()) check_subscripts(*l, insn.at, {}, known);
  }
  if (const Call* c = external_call(k_, insn)) {  // which may set first what it may change
    for (const Expr& e : c->args) {
      const bool set =
          std::any_of(lhs.begin(), lhs.end(), [&](const Expr& l) { return equal(l, e); });
      if (!as_address(e) && !set) check_reads(expr_.with_values(e, values), insn.at, {}, known);
    }
    return;
  }
  check_reads(rhs, insn.at, {}, known);
}

/// The place of the first statement in the block.
Span CPrinter::first_place(const Block& block) const {
  for (const Stmt& s : block) {
    const Span inner = std::visit(
        overload{
            [&](const Loop& x) { return first_place(x.body); },
            [&](const If& x) { return first_place(x.body); },
            [&](const Scope& x) { return first_place(x.body); },
            [&](const Run& x) { return k_.instructions[static_cast<std::size_t>(x.insn)]->at; },
            [](const auto&) { return Span(); }},
        s.op);
    if (inner) return inner;
  }
  return {};
}

/// A guard may be asked where what is inside has more conditions, under which alone its variables
/// have values: these are checked where the statements run.
void CPrinter::check_condition(const Expr& e, const Block& body) {
  if (!checks_ || !e) return;
  std::set<std::string> known;
  in_guard_ = true;
  check_reads(e, first_place(body), {}, known);
  in_guard_ = false;
}

void CPrinter::check_arguments() {
  if (!checks_) return;
  const std::set<std::string> written = this->written();
  const auto bytes = [&](const Argument& a) -> std::optional<std::string> {
    if (!a.shape || a.fortran.assumed_size) return std::nullopt;  // the accesses' may be too many
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
                       c_string(a.at ? a.at.str() : k_.name), c_string(a.name), names_.of(a.name),
                       *x, c_string(b.name), names_.of(b.name), *y));
    }
}

}  // namespace moonloop
