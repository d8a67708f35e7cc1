#include "core/count/op_counts.h"

#include <algorithm>

namespace moonloop {
namespace {

std::optional<std::string> name_of(ReduceOp op) {
  switch (op) {
    case ReduceOp::Sum:
    case ReduceOp::SegmentedSum: return "add";
    case ReduceOp::Product:
    case ReduceOp::SegmentedProduct: return "mul";
    case ReduceOp::Min:
    case ReduceOp::Max:
    case ReduceOp::SegmentedMin:
    case ReduceOp::SegmentedMax:
    case ReduceOp::ArgMin:
    case ReduceOp::ArgMax: return "maxmin";
    case ReduceOp::Any:
    case ReduceOp::All: return {};
  }
  throw InternalError("unknown reduction");
}

std::optional<std::string> name_of(BinaryOp op) {
  switch (op) {
    case BinaryOp::Div:
    case BinaryOp::FloorDiv:
    case BinaryOp::Mod: return "div";
    case BinaryOp::Pow: return "pow";
    case BinaryOp::Shl:
    case BinaryOp::Shr: return "shift";
  }
  throw InternalError("unknown operator");
}

std::optional<std::string> name_of(NaryOp op) {
  switch (op) {
    case NaryOp::Add: return "add";
    case NaryOp::Mul: return "mul";
    case NaryOp::BitAnd:
    case NaryOp::BitOr:
    case NaryOp::BitXor: return "bw";
    case NaryOp::And:
    case NaryOp::Or: return {};
  }
  throw InternalError("unknown operator");
}

struct Named {
  std::optional<std::string> name;  // absent: no operation
  std::int64_t times = 1;
};

Named called(const Call& x) {
  if (x.name == "make_tuple" || x.name == "if" || x.name == "indexof" || x.name == "real" ||
      x.name == "imag")
    return {};
  if (x.name == "pow") return {"pow"};
  if (x.name == "min" || x.name == "max" || x.name == "minimum" || x.name == "maximum" ||
      x.name == "fmin" || x.name == "fmax")
    return {"maxmin", static_cast<std::int64_t>(x.args.size()) - 1};
  return {"func:" + x.name};
}

Named named(const Expr& e) {
  return e.visit(overload{
      [](const IntLit&) { return Named{}; }, [](const FloatLit&) { return Named{}; },
      [](const ComplexLit&) { return Named{}; }, [](const BoolLit&) { return Named{}; },
      [](const Var&) { return Named{}; }, [](const Load&) { return Named{}; },
      [](const Field&) { return Named{}; },
      [](const Unary& x) { return x.op == UnaryOp::BitNot ? Named{"bw"} : Named{}; },
      [](const Binary& x) { return Named{name_of(x.op)}; },
      [](const Nary& x) {
        const auto signs = x.op != NaryOp::Mul  // as negations
                               ? 0
                               : std::count_if(x.terms.begin(), x.terms.end(),
                                               [](const Expr& t) { return as_int(t) == -1; });
        return Named{name_of(x.op), static_cast<std::int64_t>(x.terms.size()) - 1 - signs};
      },
      [](const Compare&) { return Named{}; }, [](const Select&) { return Named{}; },
      [](const Call& x) { return called(x); }, [](const Reduce&) { return Named{}; },
      [](const Cast&) { return Named{}; }, [](const Slice&) { return Named{}; },
      [](const SubArray&) { return Named{}; }});
}

}  // namespace

std::optional<Operation> operation_of(const Typer& typer, const Evaluation& e) {
  if (e.kind == Evaluation::Write) return {};
  Named n;
  if (e.kind == Evaluation::Value)
    n = named(e.expr);
  else if (e.expr.same_as(e.insn->lhs[0]))  // of two accumulators the second takes what comes along
    n = {name_of(e.insn->reduce_op)};
  if (!n.name || n.times < 1) return {};
  const auto type = typer.type(e.expr, e.wanted);
  if (!type) throw InternalError("op_counts: an expression without a type");
  return Operation{*n.name, type->type, n.times};
}

CountMap op_counts(const Kernel& k, const CountOptions& options) {
  std::vector<std::string> fields{"dtype", "name", "granularity", "kernel"};
  if (options.by_instruction) fields.emplace_back("instruction");
  CountMap out("operations", std::move(fields));
  Evaluations all(k);
  all.for_each([&](const Evaluation& e) {
    const auto op = operation_of(all.typer(), e);
    if (!op) return;
    std::vector<std::string> key{op->type.str(), op->name,
                                 options.subgroup_size ? "subgroup" : "workitem", k.name};
    if (options.by_instruction) key.push_back(e.insn->id);
    out.add(std::move(key), all.instances(e, options.subgroup_size).times(op->times));
  });
  return out;
}

std::int64_t flops_of(Scalar type, std::string_view name) {
  if (is_real(type)) return 1;
  if (!is_complex(type)) return 0;
  return name == "add" ? 2 : name == "mul" ? 6 : name == "div" ? 11 : 1;
}

Count flops(const CountMap& op_counts) {
  Count out;
  const CountMap by_operation = op_counts.group({"dtype", "name"});
  for (const CountMap::Entry& e : by_operation.entries())
    if (const auto type = parse_scalar(e.key[0]))
      out = out + e.count.times(flops_of(*type, e.key[1]));
  return out;
}

}  // namespace moonloop
