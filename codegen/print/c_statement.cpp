#include <algorithm>

#include "codegen/print/c_printer.h"
#include "codegen/print/declare.h"
#include "codegen/print/ispc_library.h"
#include "core/expr/reduction_steps.h"
#include "core/infer/typing.h"
#include "core/model/external.h"

// Instructions as C statements.
namespace moonloop {
namespace {

bool is_simple(const Expr& e) { return e.as<Var>() || e.as<IntLit>() || e.as<FloatLit>(); }

}  // namespace

void CPrinter::run(const Run& r) {
  const Instruction& insn = *k_.instructions[static_cast<std::size_t>(r.insn)];
  if (marks_) out_ += kStatementBegins + insn.id + "\n";
  assigned(r, insn);
  expr_.within_domains(false);
  if (marks_) out_ += std::string(1, kStatementEnds) + "\n";
}

void CPrinter::assigned(const Run& r, const Instruction& insn) {
  std::map<std::string, Expr> values;
  for (const auto& [iname, e] : r.values) values.emplace(iname, without_truncation(e));
  expr_.set_instruction(r.insn, values);
  expr_.within_domains(true);
  const auto put = [&](const Expr& e) { return expr_.with_values(e, values); };
  Exprs lhs;
  for (const Expr& e : insn.lhs) lhs.push_back(put(e));
  const Expr rhs = put(insn.rhs);
  declares_ = &r.declares;
  check_statement(insn, lhs, rhs, values);
  if (insn.role == ReductionRole::Init)
    reduction_init(insn, lhs);
  else if (insn.role == ReductionRole::Update)
    reduction_update(insn, lhs, rhs);
  else if (const std::int64_t bytes =
               plan_.copies_ahead.contains(r.insn) ? expr_.type(lhs[0]).size() : 0;
           bytes >= 4)  // what the hardware copies at least
    copy_ahead(lhs[0], rhs, bytes);
  else
    assign(insn, lhs, rhs);
  note_set(insn, lhs);
}

/// The place, as a declaration where this statement declares it.
std::string CPrinter::target(const Expr& lhs) {
  const auto it = declares_->find(written_name(lhs));
  if (it == declares_->end()) return expr_.place(lhs);
  if (in_lanes_) varying_.insert(it->first);
  return type_name(expr_.type_of_name(it->first)) + (it->second ? " const " : " ") +
         expr_.place(lhs);
}

void CPrinter::assign(const Instruction& insn, const Exprs& lhs, const Expr& rhs) {
  if (called_kernel(k_, insn)) return kernel_call(lhs, *rhs.as<Call>());
  if (external_call(k_, insn)) return external(insn, lhs, *rhs.as<Call>());
  const auto* values = rhs.as<Call>();
  const bool several = values && values->name == "make_tuple";
  if (several && values->args.size() != lhs.size())
    fail("wrong-value-count", insn.at, "instruction `{}` assigns {} values of {}", insn.id,
         lhs.size(), values->args.size());
  if (!several && lhs.size() != 1)
    fail("unsupported", insn.at,
         "instruction `{}`: calls that give {} values are not supported by target `{}`", insn.id,
         lhs.size(), to_string(plan_.target));
  if (insn.atomic == Atomicity::Init && !dialect_.atomic_write().empty())
    line("#pragma " + dialect_.atomic_write());
  const bool own = std::all_of(lhs.begin(), lhs.end(), [&](const Expr& l) {
    return plan_.lies_in(written_name(l), AddressSpace::Private);
  });
  if (insn.atomic == Atomicity::Update && (is_device(plan_.target) || at_once()) && !own) {
    if (several && has_gangs())
      fail("unsupported", insn.at,
           "instruction `{}`: atomic updates of several values are not supported by target `{}`",
           insn.id, to_string(plan_.target));
    if (!insn.combined || !dialect_.combines_updates()) return device_atomic(lhs, rhs);
    Instruction printed = insn;
    printed.lhs = lhs;
    printed.rhs = rhs;
    return combined_atomic(printed);
  }
  if (insn.atomic == Atomicity::Update && !is_device(plan_.target)) {
    const bool by_one = std::all_of(lhs.begin(), lhs.end(),
                                    [&](const Expr& l) { return own_.count(written_name(l)) > 0; });
    const bool simple = !critical_.count(written_name(lhs[0]));
    std::string pragma = by_one ? "" : dialect_.atomic_update(simple);
    if (plan_.called_by_threads && !by_one) {  // routines in Fortran update it at the same time
      if (!simple)
        fail("unsupported", insn.at,
             "instruction `{}`: this atomic update in a routine that threads call is not "
             "supported by target `{}`",
             insn.id, to_string(plan_.target));
      pragma = "omp atomic";
    }
    if (!pragma.empty()) line("#pragma " + pragma);
    if (several) return tuple(lhs, rhs, !pragma.empty());
  }
  if (several) return tuple(lhs, rhs, false);
  const Type to = expr_.type(lhs[0]);
  if (is_uniform_place(lhs[0])) return store(lhs[0], expr_.value(rhs, to));
  if (const auto c = declares_->empty() ? compound(lhs[0], rhs) : std::nullopt)
    return line(expr_.place(lhs[0]) + c->op + expr_.addend(c->other, to) + ";");
  if (!splat_.empty())
    return line(target(lhs[0]) + " = " + expr_.operand(rhs, to, Prec::Sum) + " - " + splat_ + ";");
  line(target(lhs[0]) + " = " + expr_.value(rhs, to) + ";");
}

/// `a = a + x` as `a += x`, where that means the same.
std::optional<CPrinter::Compound> CPrinter::compound(const Expr& lhs, const Expr& rhs) const {
  const auto* n = rhs.as<Nary>();
  if (!n || (n->op != NaryOp::Add && n->op != NaryOp::Mul) || n->terms.size() != 2) return {};
  const Type to = expr_.type(lhs);
  const bool pair = is_device(plan_.target) && !to.is_record() && is_complex(to.scalar);
  if (to.is_record() || pair || size_of(to.scalar) < 4 || !(expr_.type(rhs, to) == to)) return {};
  const std::size_t self = equal(n->terms[0], lhs) ? 0 : equal(n->terms[1], lhs) ? 1 : 2;
  if (self == 2) return {};
  const Expr& other = n->terms[1 - self];
  const auto* u = other.as<Unary>();
  const bool minus = n->op == NaryOp::Add && self == 0 && u && u->op == UnaryOp::Sub;
  return Compound{n->op == NaryOp::Mul ? " *= " : minus ? " -= " : " += ", minus ? u->arg : other};
}

/// Variables whose atomic updates are not all of a form that the hardware supports.
void CPrinter::find_critical() {
  for (const InsnPtr& insn : k_.instructions) {
    if (insn->atomic != Atomicity::Update || !insn->rhs) continue;
    for (const Expr& l : insn->lhs) {
      const Type t = expr_.type(l);
      const bool simple = !t.is_record() && !is_complex(t.scalar) && insn->lhs.size() == 1 &&
                          insn->role == ReductionRole::None && compound(l, insn->rhs);
      if (!simple) critical_.insert(written_name(l));
    }
  }
}

/// Puts the value into the place, which may be declared by that.
void CPrinter::store(const Expr& lhs, const std::string& value) {
  if (!is_uniform_place(lhs)) return line(target(lhs) + " = " + value + ";");
  // Of the lanes that run this, one after the other: the place is there once for all of them.
  const std::string lane = names_.fresh("lane");
  line("foreach_active (" + lane + ") " + expr_.place(lhs) + " = extract((varying " +
       helpers_.type(expr_.type(lhs)) + ")(" + value + "), " + lane + ");");
}

/// All values are computed before the first is assigned.
void CPrinter::tuple(const Exprs& lhs, const Expr& rhs, bool one_statement) {
  const Exprs& values = rhs.as<Call>()->args;
  if (!one_statement && assigns_in_turn(lhs, rhs)) {
    for (std::size_t i = 0; i < lhs.size(); ++i)
      store(lhs[i], expr_.value(values[i], expr_.type(lhs[i])));
    return;
  }
  line("{");
  ++depth_;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < lhs.size(); ++i) {
    const Type t = expr_.type(lhs[i]);
    names.push_back(names_.fresh("value"));
    line(type_name(t) + " const " + names.back() + " = " + expr_.value(values[i], t) + ";");
  }
  for (std::size_t i = 0; i < lhs.size(); ++i) store(lhs[i], names[i]);
  --depth_;
  line("}");
}

// ---- Reductions -------------------------------------------------------------------------------

/// The index of no value at all.
std::string CPrinter::unset(const Type& t) {
  return is_integer(t.scalar) && is_unsigned(t.scalar) ? "(" + helpers_.type(t) + ")-1"
                                                       : expr_.value(lit(-1), t);
}

std::string CPrinter::neutral(const Instruction& insn, std::size_t i, const Type& t) {
  const auto extreme = [&](bool least) -> std::string {
    if (is_real(t.scalar)) {
      helpers_.include("math.h");
      helpers_.use(Feature::Infinity);
      if (has_gangs()) return (least ? "-" : "") + ispc_special(true, t.scalar);
      return least ? "-INFINITY" : "INFINITY";
    }
    const bool named = helpers_.language() == Language::C && is_integer(t.scalar);
    if (!named || (least && is_unsigned(t.scalar))) return expr_.value(extreme_value(t, least), t);
    helpers_.include("stdint.h");
    const std::string bits = std::to_string(8 * size_of(t.scalar));
    return (is_unsigned(t.scalar) ? "UINT" : "INT") + bits + (least ? "_MIN" : "_MAX");
  };
  switch (insn.reduce_op) {
    case ReduceOp::Sum: return expr_.value(lit(0), t);
    case ReduceOp::Product: return expr_.value(lit(1), t);
    case ReduceOp::Min: return extreme(false);
    case ReduceOp::Max: return extreme(true);
    case ReduceOp::ArgMin: return i == 0 ? extreme(false) : unset(t);
    case ReduceOp::ArgMax: return i == 0 ? extreme(true) : unset(t);
    case ReduceOp::Any: return "false";
    case ReduceOp::All: return "true";
    case ReduceOp::SegmentedSum: return expr_.value(lit(0), t);
    case ReduceOp::SegmentedProduct: return expr_.value(lit(i == 0 ? 1 : 0), t);
    case ReduceOp::SegmentedMin:
    case ReduceOp::SegmentedMax:
      return i == 0 ? extreme(insn.reduce_op == ReduceOp::SegmentedMax) : expr_.value(lit(0), t);
  }
  throw InternalError("no such reduction");
}

void CPrinter::reduction_init(const Instruction& insn, const Exprs& lhs) {
  if (!splat_.empty() && insn.reduce_op == ReduceOp::Sum)
    return line(target(lhs[0]) + " = " + splat_ + ";");
  const std::string all = splat_.empty() ? "" : " - " + splat_;
  for (std::size_t i = 0; i < lhs.size(); ++i)
    store(lhs[i], neutral(insn, i, expr_.type(lhs[i])) + all);
}

void CPrinter::reduction_update(const Instruction& insn, const Exprs& lhs, const Expr& rhs) {
  const Type t = expr_.type(lhs[0]);
  const auto pair = [&]() -> const Exprs& { return rhs.as<Call>()->args; };
  switch (insn.reduce_op) {
    case ReduceOp::Sum:
    case ReduceOp::Product: {
      if (expr_.is_pair(t)) {
        const NaryOp op = insn.reduce_op == ReduceOp::Sum ? NaryOp::Add : NaryOp::Mul;
        return line(expr_.place(lhs[0]) + " = " + expr_.value(Expr(Nary{op, {lhs[0], rhs}}), t) +
                    ";");
      }
      // A value negated in the accumulator's own type may as well be subtracted.
      const Expr* of = insn.reduce_op == ReduceOp::Sum ? negated(rhs) : nullptr;
      const bool minus = of && expr_.type(*of, t) == t;
      const char* op = insn.reduce_op == ReduceOp::Product ? " *= " : minus ? " -= " : " += ";
      return line(expr_.place(lhs[0]) + op + expr_.addend(minus ? *of : rhs, t) + ";");
    }
    case ReduceOp::Any:
    case ReduceOp::All: {
      const std::string acc = expr_.place(lhs[0]);
      const bool any = insn.reduce_op == ReduceOp::Any;
      return line(acc + " = " + acc + (any ? " || " : " && ") +
                  expr_.operand(rhs, Scalar::Bool, any ? Prec::BitOr : Prec::And) + ";");
    }
    case ReduceOp::Min:
    case ReduceOp::Max: return extremum_update(insn, lhs[0], rhs);
    case ReduceOp::ArgMin:
    case ReduceOp::ArgMax: return indexed_extremum(insn, lhs, pair());
    case ReduceOp::SegmentedSum:
    case ReduceOp::SegmentedProduct:
    case ReduceOp::SegmentedMin:
    case ReduceOp::SegmentedMax: return segmented_update(insn, lhs, pair());
  }
}

void CPrinter::extremum_update(const Instruction& insn, const Expr& acc, const Expr& value) {
  const Type t = expr_.type(acc);
  const std::string place = expr_.place(acc);
  // The accumulator begins as a number and stays one.
  const std::string function = helpers_.extremum(insn.reduce_op == ReduceOp::Min, t.scalar, true);
  line(place + " = " + function + "(" + place + ", " + expr_.argument(value, t) + ");");
}

/// `if (value < acc) { acc = value; acc_index = index; }`; of equal values the one with the
/// smallest index wins, and index -1 says that there was none yet.
void CPrinter::indexed_extremum(const Instruction& insn, const Exprs& acc, const Exprs& values) {
  const Type t = expr_.type(acc[0]);
  const bool simple = is_simple(values[0]);
  std::string value = expr_.operand(values[0], t, Prec::Shift);
  if (!simple) {
    const std::string text = expr_.value(values[0], t);
    value = names_.fresh("value");
    line("{");
    ++depth_;
    line(type_name(t) + " const " + value + " = " + text + ";");
  }
  const char* op = insn.reduce_op == ReduceOp::ArgMin ? " < " : " > ";
  const std::string best = expr_.place(acc[0]), at = expr_.place(acc[1]);
  const std::string index = expr_.operand(values[1], expr_.type(acc[1]), Prec::Shift);
  // An index that may be -1 means, of equal values, that there is none.
  const std::string none = unset(expr_.type(acc[1]));
  const std::string some = expr_.not_negative(values[1]) ? "" : index + " != " + none + " && ";
  line("if (" + value + op + best + " || (" + value + " == " + best + " && " + some + "(" + index +
       " < " + at + " || " + at + " == " + none + "))) {");
  ++depth_;
  line(expr_.place(acc[0]) + " = " + value + ";");
  line(expr_.place(acc[1]) + " = " + expr_.value(values[1], expr_.type(acc[1])) + ";");
  --depth_;
  line("}");
  if (!simple) {
    --depth_;
    line("}");
  }
}

/// A flag that is set starts a new segment.
void CPrinter::segmented_update(const Instruction& insn, const Exprs& acc, const Exprs& values) {
  const Type t = expr_.type(acc[0]), flag = expr_.type(acc[1]);
  const std::string total = expr_.place(acc[0]), seen = expr_.place(acc[1]);
  const ReduceOp own = *within_segments(insn.reduce_op);
  const std::string op = own == ReduceOp::Sum ? " + " : " * ";
  line("{");
  ++depth_;
  const std::string value = names_.fresh("value"), starts = names_.fresh("starts");
  line(type_name(t) + " const " + value + " = " + expr_.value(values[0], t) + ";");
  line(type_name(flag) + " const " + starts + " = " + expr_.value(values[1], flag) + ";");
  std::string both = total + op + value;
  if (own == ReduceOp::Min || own == ReduceOp::Max)
    both = helpers_.extremum(own == ReduceOp::Min, t.scalar, has_nans_as_fortran(k_)) + "(" +
           total + ", " + value + ")";
  else if (expr_.is_pair(t))
    both =
        helpers_.complex(op == " + " ? "add" : "mul", t.scalar) + "(" + total + ", " + value + ")";
  line(total + " = " + starts + " ? " + value + " : " + both + ";");
  line(seen + " = " + seen + " || " + starts + ";");
  --depth_;
  line("}");
}

}  // namespace moonloop
