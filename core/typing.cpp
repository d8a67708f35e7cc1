#include "core/typing.h"

#include <algorithm>
#include <limits>

#include "core/external.h"
#include "core/infer.h"

namespace moonloop {
namespace {

using Weak = Typed::Weak;

bool is_numeric_context(const std::optional<Type>& wanted) {
  return wanted && !wanted->is_record() && (is_real(wanted->scalar) || is_complex(wanted->scalar));
}

bool fits(std::int64_t v, Scalar s) {
  const int bits = 8 * size_of(s);
  // A negative one wraps, as all unsigned arithmetic does: `u - 1` adds -1.
  if (is_unsigned(s))
    return bits == 64 || (v > -(std::int64_t{1} << bits) && v < (std::int64_t{1} << bits));
  return bits == 64 ||
         (v >= -(std::int64_t{1} << (bits - 1)) && v < (std::int64_t{1} << (bits - 1)));
}

Scalar int_literal_type(const std::optional<std::int64_t>& v) {
  return !v || fits(*v, Scalar::I32) ? Scalar::I32 : Scalar::I64;
}

Typed strong(Type t) { return {std::move(t), Weak::No, std::nullopt, true}; }

Typed weak_int(std::optional<std::int64_t> value, const std::optional<Type>& wanted) {
  Typed t{int_literal_type(value), Weak::Int, value, true};
  if (is_numeric_context(wanted)) {
    t.type = computed_as(real_part(wanted->scalar));
  } else if (wanted && !wanted->is_record() && is_integer(wanted->scalar) &&
             size_of(wanted->scalar) >= 4 && (!value || fits(*value, wanted->scalar))) {
    t.type = wanted->scalar;
  }
  return t;
}

Typed weak_real(bool complex, bool fits_single, const std::optional<Type>& wanted) {
  Scalar s = fits_single ? Scalar::F32 : Scalar::F64;
  if (is_numeric_context(wanted)) s = computed_as(real_part(wanted->scalar)).scalar;
  if (complex) s = single_or_double_complex(s);
  return {s, complex ? Weak::Complex : Weak::Float, std::nullopt, fits_single};
}

bool exact_single(double v) {
  return std::isnan(v) || static_cast<double>(static_cast<float>(v)) == v;
}

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

bool integral(const Type& t) {
  return !t.is_record() && (is_integer(t.scalar) || t.scalar == Scalar::Bool);
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

/// The value of an operation on integer literals, when it fits.
std::optional<std::int64_t> folded(NaryOp op, const std::vector<Typed>& terms) {
  std::int64_t v = op == NaryOp::Mul ? 1 : 0;
  for (const Typed& t : terms) {
    if (!t.value) return std::nullopt;
    const bool over = op == NaryOp::Mul ? __builtin_mul_overflow(v, *t.value, &v)
                                        : __builtin_add_overflow(v, *t.value, &v);
    if (over) return std::nullopt;
  }
  return v;
}

std::optional<Type> integer_context(const std::optional<Type>& wanted) {
  return wanted && !wanted->is_record() && is_integer(wanted->scalar) ? wanted : std::nullopt;
}

}  // namespace

Typed combine(const std::vector<Typed>& operands, const std::optional<Type>& wanted) {
  std::optional<Scalar> sized;
  bool weak_any = false, weak_float = false, weak_complex = false, fits_single = true;
  for (const Typed& t : operands) {
    if (t.weak == Weak::No) {
      if (t.type.is_record()) return t;
      sized = sized ? promote(*sized, t.type.scalar) : computed_as(t.type).scalar;
      continue;
    }
    weak_any = true;
    weak_float |= t.weak == Weak::Float || t.weak == Weak::Complex;
    weak_complex |= t.weak == Weak::Complex;
    if (t.weak != Weak::Int) fits_single &= t.fits_single;
  }
  if (!weak_any) return strong(*sized);
  if (!sized) {
    if (weak_float) return weak_real(weak_complex, fits_single, wanted);
    std::optional<std::int64_t> value;
    if (operands.size() == 1) value = operands[0].value;
    Typed t = weak_int(value, wanted);
    if (operands.size() > 1)  // the widest of them
      for (const Typed& o : operands)
        if (integral(t.type) && integral(o.type)) t.type = promote(t.type.scalar, o.type.scalar);
    return t;
  }
  Scalar s = *sized;
  if (weak_float) {
    const bool real_partner = !integral(s);
    if (real_partner && real_part(s) == Scalar::F64) {
      if (weak_complex) s = Scalar::C128;
    } else {
      const Scalar literal = weak_real(weak_complex, fits_single, wanted).type.scalar;
      s = promote(s, literal);
    }
    return strong(s);
  }
  if (!integral(s)) return strong(s);
  for (const Typed& t : operands)
    if (t.weak == Weak::Int) {
      const bool adapts = size_of(s) >= 4 && is_integer(s) && (!t.value || fits(*t.value, s));
      if (!adapts) s = promote(s, int_literal_type(t.value));
    }
  return strong(s);
}

std::optional<Type> Typer::variable(const std::string& name, const Span& at) const {
  if (vars_) {
    const auto it = vars_->find(name);
    if (it == vars_->end()) {
      std::vector<std::string> known;
      if (vars_->size() < 200)
        for (const auto& [n, t] : *vars_) known.push_back(n);
      std::sort(known.begin(), known.end());
      fail("unknown-name", at, "`{}` is no argument, temporary, iname or parameter{}", name,
           did_you_mean(name, known));
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
  const Typed &l = (*ops)[0], &r = (*ops)[1];
  const bool literals = l.weak == Weak::Int && r.weak == Weak::Int;
  if (x.op == BinaryOp::Div && literals) {
    const bool single = l.value && r.value && *r.value != 0 &&
                        exact_single(static_cast<double>(*l.value) / static_cast<double>(*r.value));
    return weak_real(false, single, wanted);
  }
  const bool negative_power =
      x.op == BinaryOp::Pow && r.weak == Weak::Int && r.value && *r.value < 0;
  Typed t = maybe_ints ? combine(*ops, integer_context(wanted)) : combine(*ops, wanted);
  t.value = std::nullopt;
  if (x.op == BinaryOp::Div || negative_power) {
    const bool ints =
        (l.weak == Weak::Int || integral(l.type)) && (r.weak == Weak::Int || integral(r.type));
    if (ints) return literals ? weak_real(false, false, wanted) : strong(Scalar::F64);
  }
  if (t.type == Type(Scalar::Bool)) t.type = Scalar::I32;
  if (maybe_ints && t.weak == Weak::Float) return weak_real(false, t.fits_single, wanted);
  return t;
}

std::optional<Typed> Typer::nary(const Expr& e, const Nary& x,
                                 const std::optional<Type>& wanted) const {
  const bool logic = x.op == NaryOp::And || x.op == NaryOp::Or;
  const bool bits = x.op == NaryOp::BitAnd || x.op == NaryOp::BitOr || x.op == NaryOp::BitXor;
  auto ops = operands(x.terms, logic ? std::nullopt : bits ? integer_context(wanted) : wanted);
  if (!ops) return std::nullopt;
  bool all_bool = true;
  for (std::size_t i = 0; i < ops->size(); ++i) {
    require_number(x.terms[i], (*ops)[i], name_of(x.op), e);
    if (bits && !integral((*ops)[i].type))
      bad_operand(x.terms[i], (*ops)[i].type, name_of(x.op), e);
    all_bool &= (*ops)[i].type == Type(Scalar::Bool);
  }
  if (logic) return strong(Scalar::Bool);
  if (bits && all_bool) return strong(Scalar::Bool);
  Typed t = combine(*ops, bits ? integer_context(wanted) : wanted);
  if (t.weak == Weak::Int && !bits) return weak_int(folded(x.op, *ops), wanted);
  return t;
}

std::optional<Typed> Typer::compare(const Expr& e, const Compare& x) const {
  const auto ops = operands({x.left, x.right}, std::nullopt);
  if (!ops) return std::nullopt;
  require_number(x.left, (*ops)[0], "a comparison", e);
  require_number(x.right, (*ops)[1], "a comparison", e);
  if (x.op != CompareOp::Eq && x.op != CompareOp::Ne)
    for (std::size_t i = 0; i < 2; ++i)
      if (is_complex((*ops)[i].type.scalar))
        bad_operand(i == 0 ? x.left : x.right, (*ops)[i].type, "an ordering comparison", e);
  return strong(Scalar::Bool);
}

namespace {

Typed chosen(const Expr& e, const Typed& yes, const Typed& no, const std::optional<Type>& wanted) {
  if (yes.weak == Weak::No && no.weak == Weak::No) {
    if (yes.type == no.type) return strong(computed_as(yes.type));
    if (yes.type.is_record() || no.type.is_record())
      fail("type-mismatch", e.at(), "`{}` is either {} or {}", shown(e), yes.type.str(),
           no.type.str());
  }
  return combine({yes, no}, wanted);
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
         "`make_tuple` stands only as the whole right side of an assignment");
  if (as_text(e))
    fail("bad-operand", e.at(), "a text stands only among the arguments of an external function");
  if (x.name == "address")
    fail("bad-operand", e.at(),
         "an address, as `address(a)` or `address(a[i])`, stands only among the arguments of an "
         "external function");
  if (k_.externals.count(x.name))
    fail(
        "bad-operand", e.at(),
        "`{}` is external: its call stands alone, as in `a, b = {}(a, 1)`, with what it may change "
        "on the left",
        x.name, x.name);
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
  const std::optional<Type> context = f->cls == FnClass::Test      ? std::nullopt
                                      : f->cls == FnClass::Integer ? integer_context(wanted)
                                                                   : wanted;
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
  return weak_int(std::nullopt, wanted);
}

std::optional<Typed> Typer::reduce(const Reduce& x, const std::optional<Type>& wanted) const {
  const bool truth = x.op == ReduceOp::Any || x.op == ReduceOp::All;
  const auto t = type(x.args.at(0), truth ? std::nullopt : wanted);
  if (!t) return std::nullopt;
  if (t->type.is_record()) bad_operand(x.args[0], t->type, "`" + to_string(x.op) + "`", x.args[0]);
  const bool ordered = x.op != ReduceOp::Sum && x.op != ReduceOp::Product && !truth &&
                       x.op != ReduceOp::SegmentedSum && x.op != ReduceOp::SegmentedProduct;
  if (ordered && is_complex(t->type.scalar))
    bad_operand(x.args[0], t->type, "`" + to_string(x.op) + "`", x.args[0]);
  return strong(x.inames.empty() && !truth ? computed_as(t->type) : reduced_type(x.op, 0, t->type));
}

std::optional<Typed> Typer::type(const Expr& e, const std::optional<Type>& wanted) const {
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
        R t = type(x.arg, x.op == UnaryOp::Neg      ? wanted
                          : x.op == UnaryOp::BitNot ? integer_context(wanted)
                                                    : std::nullopt);
        if (!t) return std::nullopt;
        const char* of = x.op == UnaryOp::Neg ? "`-`" : x.op == UnaryOp::Not ? "`not`" : "`~`";
        require_number(x.arg, *t, of, e);
        if (x.op == UnaryOp::Not) return strong(Scalar::Bool);
        if (x.op == UnaryOp::BitNot && !integral(t->type)) bad_operand(x.arg, t->type, of, e);
        t->type = t->type == Type(Scalar::Bool) ? Type(Scalar::I32) : computed_as(t->type);
        if (t->weak == Weak::Int) {
          std::optional<std::int64_t> v;
          if (t->value && *t->value != std::numeric_limits<std::int64_t>::min())
            v = x.op == UnaryOp::Neg ? -*t->value : ~*t->value;
          return weak_int(v, x.op == UnaryOp::Neg ? wanted : integer_context(wanted));
        }
        return t;
      },
      [&](const Binary& x) -> R { return binary(e, x, wanted); },
      [&](const Nary& x) -> R { return nary(e, x, wanted); },
      [&](const Compare& x) -> R { return compare(e, x); },
      [&](const Select& x) -> R {
        const R c = type(x.cond), y = type(x.yes, wanted), n = type(x.no, wanted);
        if (c) require_number(x.cond, *c, "a condition", e);
        if (!y || !n) return std::nullopt;
        return chosen(e, *y, *n, wanted);
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
        fail("bad-operand", e.at(), "a slice stands only in an argument of a call");
      },
      [&](const SubArray&) -> R {
        fail("bad-operand", e.at(), "a part of an array stands only as an argument of a call");
      }});
}

std::optional<Type> Typer::operand_type(const Expr& e, const std::optional<Type>& wanted) const {
  using R = std::optional<Type>;
  const auto own = [&]() -> R {
    const auto t = type(e, wanted);
    return t ? R(t->type) : R();
  };
  const auto common = [&](const Exprs& es, const std::optional<Type>& context) -> R {
    const auto ops = operands(es, context);
    if (!ops) return std::nullopt;
    return combine(*ops, context).type;
  };
  return e.visit(overload{
      [](const IntLit&) -> R { return {}; }, [](const FloatLit&) -> R { return {}; },
      [](const ComplexLit&) -> R { return {}; }, [](const BoolLit&) -> R { return {}; },
      [](const Var&) -> R { return {}; }, [](const Load&) -> R { return {}; },
      [](const Field&) -> R { return {}; },
      [&](const Unary& x) -> R { return x.op == UnaryOp::Not ? R() : own(); },
      [&](const Binary&) -> R { return own(); },
      [&](const Nary& x) -> R { return x.op == NaryOp::And || x.op == NaryOp::Or ? R() : own(); },
      [&](const Compare& x) -> R {
        return common({x.left, x.right}, {});
      },
      [&](const Select&) -> R { return own(); },
      [&](const Call& x) -> R {
        const FnInfo* f = find_function(x.name);
        if (!f || f->cls == FnClass::Bessel) return {};
        const R t = own();
        if (f->cls != FnClass::Magnitude && f->cls != FnClass::Component && f->cls != FnClass::Test)
          return t;
        return common(x.args, f->cls == FnClass::Test ? R() : t);
      },
      [&](const Reduce& x) -> R {
        const bool truth = x.op == ReduceOp::Any || x.op == ReduceOp::All;
        return truth || arity(x.op) != 1 ? R() : own();
      },
      [](const Cast& x) -> R { return x.type; }, [](const Slice&) -> R { return {}; },
      [](const SubArray&) -> R { return {}; }});
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
