#include "core/infer/typing.h"

#include <algorithm>
#include <limits>

#include "core/infer/infer.h"
#include "core/model/external.h"

namespace moonloop {
namespace {

using Weak = Typed::Weak;

std::string shown(const Expr& e) {
  std::string s = to_string(e);
  if (s.size() > 60) s = s.substr(0, 57) + "...";
  return s;
}

[[noreturn]] void bad_operand(const Expr& e, const Type& t, std::string_view of,
                              const Expr& whole) {
  fail("bad-operand", e.at() ? e.at() : whole.at(), "`{}` of type {} cannot be an operand of {}",
       shown(e), t.str(), of);
}

void require_number(const Expr& e, const Typed& t, std::string_view of, const Expr& whole) {
  if (t.type.is_record()) bad_operand(e, t.type, of, whole);
}

const char* name_of(BinaryOp op) {
  switch (op) {
    case BinaryOp::Div: return "`/`";
    case BinaryOp::FloorDiv: return "`//`";
    case BinaryOp::Mod: return "`%`";
    case BinaryOp::Pow: return "`**`";
    case BinaryOp::Shl: return "`<<`";
    case BinaryOp::Shr: return "`>>`";
  }
  return "";
}

const char* name_of(NaryOp op) {
  switch (op) {
    case NaryOp::Add: return "`+`";
    case NaryOp::Mul: return "`*`";
    case NaryOp::BitAnd: return "`&`";
    case NaryOp::BitOr: return "`|`";
    case NaryOp::BitXor: return "`^`";
    case NaryOp::And: return "`and`";
    case NaryOp::Or: return "`or`";
  }
  return "";
}

[[noreturn]] void no_common_integer(const Expr& e, std::string_view of, const Typed& a,
                                    const Typed& b) {
  fail("bad-operand", e.at(),
       "{} and {} have no common integer type for {} in `{}`; cast one of them", a.type.str(),
       b.type.str(), of, shown(e));
}

}  // namespace

std::optional<Type> Typer::variable(const std::string& name, const Span& at) const {
  if (vars_) {
    const auto it = vars_->find(name);
    if (it == vars_->end()) {
      std::vector<std::string> known;
      if (vars_->size() < 200)
        for (const auto& [n, t] : *vars_) known.push_back(n);
      std::sort(known.begin(), known.end());
      fail_for(name, "unknown-name", at, "`{}` is not an argument, temporary, iname or parameter{}",
               name, did_you_mean(name, known));
    }
    return it->second;
  }
  if (const Temporary* t = k_.find_temporary(name)) return t->type;
  if (const Argument* a = k_.find_arg(name)) {
    if (!a->type && !a->is_array) return std::nullopt;
    return a->type;
  }
  return k_.index_type;
}

const Argument* Typer::argument(const std::string& name) const {
  if (!vars_) return k_.find_arg(name);
  const auto it = args_.find(name);
  return it == args_.end() ? nullptr : it->second;
}

std::optional<Typer::Operands> Typer::operands(const Exprs& es,
                                               const std::optional<Type>& wanted) const {
  Operands out;
  out.reserve(es.size());
  bool known = true;
  for (const Expr& e : es) {
    const auto t = type(e, wanted);
    if (t) {
      out.push_back(*t);
    } else {
      known = false;
    }
  }
  return known ? std::optional<Operands>(std::move(out)) : std::nullopt;
}

std::optional<Typed> Typer::binary(const Expr& e, const Binary& x,
                                   const std::optional<Type>& wanted) const {
  const bool ints_only = x.op == BinaryOp::Shl || x.op == BinaryOp::Shr;
  const bool maybe_ints = ints_only || x.op == BinaryOp::FloorDiv || x.op == BinaryOp::Mod;
  auto ops = operands({x.left, x.right}, maybe_ints ? integer_context(wanted) : wanted);
  if (!ops) return std::nullopt;
  const Exprs sides{x.left, x.right};
  for (std::size_t i = 0; i < 2; ++i) {
    const Type& t = (*ops)[i].type;
    const bool ok =
        !t.is_record() && (!ints_only || integral(t)) && (!maybe_ints || !is_complex(t.scalar));
    if (!ok) bad_operand(sides[i], t, name_of(x.op), e);
  }
  const auto t = promoted(x.op, (*ops)[0], (*ops)[1], wanted);
  if (!t) no_common_integer(e, name_of(x.op), (*ops)[0], (*ops)[1]);
  return t;
}

std::optional<Typed> Typer::nary(const Expr& e, const Nary& x, const std::optional<Type>& wanted,
                                 std::vector<Type>* steps) const {
  const bool logic = x.op == NaryOp::And || x.op == NaryOp::Or;
  const bool bits = x.op == NaryOp::BitAnd || x.op == NaryOp::BitOr || x.op == NaryOp::BitXor;
  auto ops = operands(x.terms, logic ? std::nullopt : bits ? integer_context(wanted) : wanted);
  if (!ops) return std::nullopt;
  for (std::size_t i = 0; i < ops->size(); ++i) {
    require_number(x.terms[i], (*ops)[i], name_of(x.op), e);
    if (bits && !integral((*ops)[i].type))
      bad_operand(x.terms[i], (*ops)[i].type, name_of(x.op), e);
  }
  Typed t = ops->front();
  for (std::size_t i = 1; i < ops->size(); ++i) {
    const auto step = promoted(x.op, t, (*ops)[i], wanted);
    if (!step) no_common_integer(e, name_of(x.op), t, (*ops)[i]);
    t = *step;
    if (steps) steps->push_back(t.type);
  }
  return t;
}

std::optional<Sides> Typer::sides(const Expr& e, const Compare& x) const {
  const auto ops = operands({x.left, x.right}, std::nullopt);
  if (!ops) return std::nullopt;
  require_number(x.left, (*ops)[0], "a comparison", e);
  require_number(x.right, (*ops)[1], "a comparison", e);
  if (x.op != CompareOp::Eq && x.op != CompareOp::Ne)
    for (std::size_t i = 0; i < 2; ++i)
      if (is_complex((*ops)[i].type.scalar))
        bad_operand(i == 0 ? x.left : x.right, (*ops)[i].type, "an ordering comparison", e);
  return compared((*ops)[0], (*ops)[1]);
}

namespace {

/// The context in which a function's arguments are evaluated where it is called in `wanted`.
std::optional<Type> context_of(const FnInfo& f, const std::optional<Type>& wanted) {
  if (f.cls == FnClass::Test) return std::nullopt;
  return f.cls == FnClass::Integer ? integer_context(wanted) : wanted;
}

}  // namespace

std::optional<Typed> Typer::called(const Expr& e, const Call& x,
                                   const std::optional<Type>& wanted) const {
  if (!k_.rules.empty())
    if (const Rule* rule = k_.find_rule(x.name)) return type(apply_rule(*rule, x.args), wanted);
  if (x.name == "if") {
    if (x.args.size() != 3)
      fail("wrong-arg-count", e.at(), "`if` takes 3 arguments, got {}", x.args.size());
    return type(Expr(Select{x.args[0], x.args[1], x.args[2]}, e.at()), wanted);
  }
  if (x.name == "indexof") {
    if (x.args.size() != 1 || !x.args[0].as<Load>())
      fail("bad-operand", e.at(), "`indexof` takes one argument, an element such as `a[i]`");
    return strong(k_.index_type);
  }
  if (x.name == "make_tuple")
    fail("bad-operand", e.at(),
         "`make_tuple` is allowed only as the whole right side of an assignment");
  if (as_text(e) || as_letters(e))
    fail("bad-operand", e.at(),
         "a text is allowed only among the arguments of an external function");
  if (as_text_length(e) && !find_function(x.name))
    fail(
        "bad-operand", e.at(),
        "`length(n)` is allowed only after an address among the arguments of an external function");
  if (x.name == "address" || x.name == "knows")
    fail("bad-operand", e.at(), "{} is allowed only among the arguments of an external function",
         x.name == "knows" ? "`knows(a)`" : "an address, as `address(a)` or `address(a[i])`,");
  if (k_.externals.count(x.name))
    fail("bad-operand", e.at(),
         "`{}` is external: its call is a statement of its own, as in `a, b = {}(a, 1)`, with what "
         "it may change "
         "on the left",
         x.name, x.name);
  if (x.name == "[]")
    fail("syntax", e.at(), "only an array's name can be subscripted here, not `{}`",
         to_string(x.args[0]));
  const FnInfo* f = find_function(x.name);
  if (!f && (x.name.starts_with("philox") || x.name.starts_with("threefry")))
    fail("unsupported", e.at(),
         "`{}` is a counter-based random function (Random123), which is not supported yet", x.name);
  if (!f)
    fail("unknown-function", e.at(), "no function or rule `{}`{}", x.name,
         did_you_mean(x.name, function_names()));
  if (f->args < 0 ? x.args.size() < 2 : static_cast<int>(x.args.size()) != f->args)
    fail("wrong-arg-count", e.at(), "`{}` takes {}{} argument{}, got {}", x.name,
         f->args < 0 ? "at least " : "", f->args < 0 ? 2 : f->args, f->args == 1 ? "" : "s",
         x.args.size());
  const std::optional<Type> context = context_of(*f, wanted);
  const auto ops = operands(x.args, context);
  if (!ops) return std::nullopt;
  const std::string of = "`" + x.name + "`";
  for (std::size_t i = 0; i < ops->size(); ++i) require_number(x.args[i], (*ops)[i], of, e);
  const bool literals =
      std::all_of(ops->begin(), ops->end(), [](const Typed& t) { return t.weak != Weak::No; });
  const auto result = [&](const std::vector<Type>& types) {
    const auto t = function_type(x.name, types);
    if (!t) {
      std::size_t worst = 0;  // the argument to blame: a complex one if there is any
      for (std::size_t i = 0; i < types.size(); ++i)
        if (is_complex((*ops)[i].type.scalar)) worst = i;
      bad_operand(x.args[worst], (*ops)[worst].type, of, e);
    }
    return *t;
  };
  if (f->cls == FnClass::Bessel) {
    Typed at = (*ops)[1];
    if (integral(at.type)) at = strong(Scalar::F64);
    const Typed& order = (*ops)[0];
    return strong(result({order.weak == Weak::Int ? Type(Scalar::I32) : order.type, at.type}));
  }
  const Typed common = combine(*ops, context);
  const Type t = result(std::vector<Type>(ops->size(), common.type));
  if (!literals || f->cls == FnClass::Test) return strong(t);
  if (is_complex(t.scalar)) return weak_real(true, common.fits_single, wanted);
  if (is_real(t.scalar) && common.weak != Weak::Int) {
    const bool plain = f->cls == FnClass::Promoting || f->cls == FnClass::Magnitude ||
                       f->cls == FnClass::Component;
    return weak_real(false, plain && common.fits_single, wanted);
  }
  if (f->cls == FnClass::Real || (f->cls == FnClass::RealOrComplex && x.name != "pow"))
    return weak_real(false, false, wanted);
  return weak_int(std::nullopt, context);
}

std::optional<Typed> Typer::reduce(const Reduce& x, const std::optional<Type>& wanted) const {
  const bool truth = x.op == ReduceOp::Any || x.op == ReduceOp::All;
  const auto t = type(x.args.at(0), truth ? std::nullopt : wanted);
  if (!t) return std::nullopt;
  if (t->type.is_record()) bad_operand(x.args[0], t->type, "`" + to_string(x.op) + "`", x.args[0]);
  const ReduceOp op = within_segments(x.op).value_or(x.op);
  const bool ordered = op != ReduceOp::Sum && op != ReduceOp::Product && !truth;
  if (ordered && is_complex(t->type.scalar))
    bad_operand(x.args[0], t->type, "`" + to_string(x.op) + "`", x.args[0]);
  return strong(x.inames.empty() && !truth ? computed_as(t->type) : reduced_type(x.op, 0, t->type));
}

std::optional<Typed> Typer::type(const Expr& e, const std::optional<Type>& wanted) const {
  if (!stay_ || !(e.as<Nary>() || e.as<Binary>())) return find_type(e, wanted);
  const auto [first, last] = known_.equal_range(e.identity());
  for (auto it = first; it != last; ++it)
    if (it->second.wanted == wanted) return it->second.type;
  std::optional<Typed> t = find_type(e, wanted);
  known_.emplace(e.identity(), Known{e, wanted, t});
  return t;
}

std::optional<Typed> Typer::find_type(const Expr& e, const std::optional<Type>& wanted) const {
  using R = std::optional<Typed>;
  const auto sized = [](std::optional<Type> t) { return t ? R(strong(*t)) : R(); };
  return e.visit(overload{
      [&](const IntLit& x) -> R { return x.type ? strong(*x.type) : weak_int(x.value, wanted); },
      [&](const FloatLit& x) -> R {
        return x.type ? strong(*x.type) : weak_real(false, exact_single(x.value), wanted);
      },
      [&](const ComplexLit& x) -> R {
        if (x.type) return strong(*x.type);
        return weak_real(true, exact_single(x.re) && exact_single(x.im), wanted);
      },
      [&](const BoolLit&) -> R { return strong(Scalar::Bool); },
      [&](const Var& x) -> R {
        if (!k_.rules.empty())
          if (const Rule* rule = k_.find_rule(x.name)) return type(rule->body, wanted);
        return sized(variable(x.name, e.at()));
      },
      [&](const Load& x) -> R { return sized(variable(x.array, e.at())); },
      [&](const Field& x) -> R {
        const R base = type(x.base);
        if (!base) return std::nullopt;
        const Record::Field* f = base->type.is_record() ? base->type.record->find(x.name) : nullptr;
        if (!f)
          fail("bad-operand", e.at(), "`{}` of type {} has no field `{}`", shown(x.base),
               base->type.str(), x.name);
        return strong(f->type);
      },
      [&](const Unary& x) -> R {
        const bool negates = x.op == UnaryOp::Neg || x.op == UnaryOp::Sub;
        const R t = type(x.arg, negates                   ? wanted
                                : x.op == UnaryOp::BitNot ? integer_context(wanted)
                                                          : std::nullopt);
        if (!t) return std::nullopt;
        const char* of = negates ? "`-`" : x.op == UnaryOp::Not ? "`not`" : "`~`";
        require_number(x.arg, *t, of, e);
        if (x.op == UnaryOp::BitNot && !integral(t->type)) bad_operand(x.arg, t->type, of, e);
        return promoted(x.op, *t, wanted);
      },
      [&](const Binary& x) -> R { return binary(e, x, wanted); },
      [&](const Nary& x) -> R { return nary(e, x, wanted); },
      [&](const Compare& x) -> R { return sides(e, x) ? R(strong(Scalar::Bool)) : R(); },
      [&](const Select& x) -> R {
        const R c = type(x.cond), y = type(x.yes, wanted), n = type(x.no, wanted);
        if (c) require_number(x.cond, *c, "a condition", e);
        if (!y || !n) return std::nullopt;
        if (!(y->type == n->type) && (y->type.is_record() || n->type.is_record()))
          fail("type-mismatch", e.at(), "`{}` is either {} or {}", shown(e), y->type.str(),
               n->type.str());
        return chosen(*y, *n, wanted);
      },
      [&](const Call& x) -> R { return called(e, x, wanted); },
      [&](const Reduce& x) -> R {
        if (arity(x.op) != 1)
          fail("wrong-value-count", e.at(),
               "`{}` gives two values and so must be the whole right side of an assignment to "
               "two",
               to_string(x.op));
        return reduce(x, wanted);
      },
      [&](const Cast& x) -> R {
        const R t = type(x.arg, x.type);
        if (!t) return strong(x.type);
        if (!(t->type == x.type) && (t->type.is_record() || x.type.is_record()))
          bad_operand(x.arg, t->type, "a cast to " + x.type.str(), e);
        return strong(x.type);
      },
      [&](const Slice&) -> R {
        fail("bad-operand", e.at(), "a slice is allowed only in an argument of a call");
      },
      [&](const SubArray&) -> R {
        fail("bad-operand", e.at(), "a part of an array is allowed only as an argument of a call");
      }});
}

std::optional<Computation> Typer::computation(const Expr& e,
                                              const std::optional<Type>& wanted) const {
  using R = std::optional<Computation>;
  const auto whole = type(e, wanted);
  if (!whole) return std::nullopt;
  const Type& t = whole->type;
  const auto none = [&](const auto&) -> R { return Computation{{}, t}; };
  return e.visit(overload{
      [&](const IntLit& x) { return none(x); }, [&](const FloatLit& x) { return none(x); },
      [&](const ComplexLit& x) { return none(x); }, [&](const BoolLit& x) { return none(x); },
      [&](const Var& x) { return none(x); }, [&](const Load& x) { return none(x); },
      [&](const Field& x) { return none(x); },
      [&](const Unary& x) -> R {
        return Computation{{x.op == UnaryOp::Not ? type(x.arg)->type : t}, t};
      },
      [&](const Binary& x) -> R {
        const bool shift = x.op == BinaryOp::Shl || x.op == BinaryOp::Shr;
        return Computation{{t, shift ? type(x.right)->type : t}, t};
      },
      [&](const Nary& x) -> R {
        Computation out{{}, t};
        if (x.op == NaryOp::And || x.op == NaryOp::Or) {
          for (const Expr& term : x.terms) out.operands.push_back(type(term)->type);
          return out;
        }
        std::vector<Type> steps;
        nary(e, x, t, &steps);  // operands are evaluated in the context of the whole
        steps.back() = t;
        out.operands.push_back(steps.front());
        out.operands.insert(out.operands.end(), steps.begin(), steps.end());
        // Of literals alone, beside integers: one of them, whatever the whole becomes later.
        for (std::size_t i = 0; i < x.terms.size(); ++i) {
          const Type& step = out.operands[i];
          const auto term = type(x.terms[i], t);
          const bool adapts = !integral(t) && integral(step) && term && term->weak == Weak::Int;
          out.contexts.push_back(adapts ? step : t);
        }
        return out;
      },
      [&](const Compare& x) -> R {
        const Sides s = *sides(e, x);
        return Computation{{s.left, s.right}, t};
      },
      [&](const Select& x) -> R { return Computation{{type(x.cond)->type, t, t}, t}; },
      [&](const Call& x) -> R {
        const FnInfo* f = find_function(x.name);
        if (!f) return Computation{{}, t};  // a rule, `if`, `indexof`
        Type of = t;
        if (f->cls == FnClass::Bessel) return Computation{{Scalar::I32, Scalar::F64}, t};
        if (f->cls == FnClass::Magnitude || f->cls == FnClass::Component ||
            f->cls == FnClass::Test) {
          const std::optional<Type> context =
              f->cls == FnClass::Test ? std::nullopt : std::optional(t);
          of = combine(*operands(x.args, context), context).type;
        }
        return Computation{std::vector<Type>(x.args.size(), of), t};
      },
      [&](const Reduce& x) -> R {
        const bool truth = x.op == ReduceOp::Any || x.op == ReduceOp::All;
        return Computation{{truth ? type(x.args[0])->type : t}, t};
      },
      [&](const Cast& x) -> R { return Computation{{x.type}, t}; },
      [&](const Slice& x) { return none(x); }, [&](const SubArray& x) { return none(x); }});
}

void Typer::for_each_part(const Expr& e, const std::optional<Type>& wanted,
                          const VisitPart& visit) const {
  if (!visit(e, wanted)) return;
  const auto all = [&](const Exprs& es, const std::optional<Type>& context) {
    for (const Expr& x : es) for_each_part(x, context, visit);
  };
  if (const auto* l = e.as<Load>()) return all(l->index, {});
  if (const auto* f = e.as<Field>()) return for_each_part(f->base, {}, visit);
  const auto* call = e.as<Call>();
  if (const auto* v = e.as<Var>(); v || call)
    if (const Rule* rule = k_.find_rule(v ? v->name : call->name))
      return for_each_part(v ? rule->body : apply_rule(*rule, call->args), wanted, visit);
  if (call && call->name == "indexof") return;
  if (call && call->name == "if" && call->args.size() == 3)
    return for_each_part(Expr(Select{call->args[0], call->args[1], call->args[2]}, e.at()), wanted,
                         visit);
  const auto c = computation(e, wanted);
  if (!c) return;
  const auto* sum = e.as<Nary>();
  if (sum && sum->op != NaryOp::And && sum->op != NaryOp::Or) {
    for (std::size_t i = 0; i < sum->terms.size(); ++i)
      for_each_part(sum->terms[i], c->contexts[i], visit);
    return;
  }
  std::size_t n = 0;
  for_each_child(e, [&](const Expr& child) {
    for_each_part(child, n < c->operands.size() ? std::optional(c->operands[n]) : std::nullopt,
                  visit);
    ++n;
  });
}

void Typer::check(const Expr& e, const std::optional<Type>& wanted) const {
  type(e, wanted);
  const auto subscripts = [&](const std::string& array, const Exprs& index) {
    for (const Expr& i : index) {
      const auto t = type(i);
      if (t && !integral(t->type))
        fail("bad-operand", i.at() ? i.at() : e.at(),
             "subscript `{}` of `{}` is {}, not an integer", shown(i), array, t->type.str());
    }
  };
  walk(e, [&](const Expr& x) {
    if (const auto* l = x.as<Load>()) {
      subscripts(l->array, l->index);
      const Argument* a = argument(l->array);
      const bool scalar_arg = a && !a->is_array;
      const bool name_only = !a && !k_.find_temporary(l->array);
      if (scalar_arg || name_only)
        fail("bad-operand", x.at(), "`{}` is {} and takes no subscript", l->array,
             scalar_arg ? "a scalar argument" : "no array");
    }
    if (const auto* v = x.as<Var>())
      if (const Argument* a = argument(v->name);
          a && a->is_array && !(a->shape && a->shape->empty()))
        fail("bad-operand", x.at(), "`{}` is an array and needs a subscript here", v->name);
    return true;
  });
}

}  // namespace moonloop
