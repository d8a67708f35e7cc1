#include "core/interpreter/interpreter_compile.h"

#include <limits>

#include "core/infer/infer.h"
#include "core/interpreter/interpreter_bounds.h"
#include "core/interpreter/interpreter_scalars.h"
#include "core/interpreter/interpreter_tally.h"
#include "core/model/external.h"

namespace moonloop::interp {

std::int64_t* Memory::iname(const std::string& name) {
  auto& p = inames[name];
  if (!p) p = std::make_unique<std::int64_t>(0);
  return p.get();
}

Type Compiler::type(const Expr& e, const std::optional<Type>& wanted) const {
  const auto t = typer_.type(e, wanted);
  if (!t) throw InternalError("interpreter: no type for " + to_string(e));
  return t->type;
}

// ---- Elements.

bool Compiler::linear(const Expr& e, std::int64_t factor, Subscript& out) const {
  const auto add = [&](std::int64_t v) {
    std::int64_t product;
    return !__builtin_mul_overflow(v, factor, &product) &&
           !__builtin_add_overflow(out.constant, product, &out.constant);
  };
  if (const auto n = as_int(e)) return add(*n);
  if (const auto* v = e.as<Var>()) {
    if (const auto s = memory_.scalars.find(v->name); s != memory_.scalars.end())
      return holds_int(memory_.scalar_types.at(v->name)) && add(s->second.i);
    const auto it = memory_.inames.find(v->name);
    if (it == memory_.inames.end()) return false;
    for (Subscript::Term& t : out.terms)
      if (t.slot == it->second.get()) {
        t.factor += factor;
        return true;
      }
    out.terms.push_back({it->second.get(), factor});
    return true;
  }
  if (const Expr* x = negated(e)) return linear(*x, -factor, out);
  const auto* n = e.as<Nary>();
  if (!n) return false;
  if (n->op == NaryOp::Add) {
    for (const Expr& t : n->terms)
      if (!linear(t, factor, out)) return false;
    return true;
  }
  if (n->op != NaryOp::Mul) return false;
  const Expr* base = nullptr;
  for (const Expr& t : n->terms) {
    Subscript constant;
    if (linear(t, 1, constant) && constant.terms.empty()) {
      if (__builtin_mul_overflow(factor, constant.constant, &factor)) return false;
    } else if (base) {
      return false;
    } else {
      base = &t;
    }
  }
  return base ? linear(*base, factor, out) : add(1);
}

Subscript Compiler::subscript(const Expr& e) {
  Subscript s;
  if (!tally_ && linear(e, 1, s)) return s;
  Subscript general;
  general.general = index(e);
  return general;
}

IntPtr Compiler::index(const Expr& e) {
  const bool before = std::exchange(wide_, true);
  Value v = value(e);
  wide_ = before;
  if (!v.i) throw InternalError("interpreter: `" + to_string(e) + "` is not an integer");
  return std::move(v.i);
}

Access Compiler::element(const Expr& shown, const std::string& name, const Exprs& index,
                         bool linear) {
  const auto it = memory_.arrays.find(name);
  if (it == memory_.arrays.end()) throw InternalError("interpreter: no storage for `" + name + "`");
  const Storage& s = it->second;
  const std::int64_t size = s.type.size();
  Access a;
  if (tally_) a.touched = &tally_->touched[{name, "read"}];
  a.data = &s.data;
  a.shadow = s.shadow;
  a.shown = shown;
  if (linear) {
    std::int64_t extent = 1;  // elements of storage
    for (std::size_t d = 0; d < s.shape.size(); ++d) extent += (s.shape[d] - 1) * s.strides[d];
    for (const std::int64_t n : s.shape) extent = n <= 0 ? 0 : extent;
    a.axes.push_back({subscript(index[0]), extent, size});
  } else {
    for (std::size_t d = 0; d < index.size(); ++d)
      a.axes.push_back({subscript(index[d]), s.shape.at(d), s.strides[d] * size});
  }
  for (const Storage::Copies& c : s.copies) {
    Subscript sub;
    sub.terms.push_back({memory_.iname(c.iname), 1});
    a.axes.push_back({std::move(sub), c.most(), c.stride * size, c.first});
  }
  return a;
}

namespace {

std::int64_t alignment_of(const Type& t) {
  if (!t.is_record()) return is_complex(t.scalar) ? size_of(t.scalar) / 2 : size_of(t.scalar);
  std::int64_t a = 1;
  for (const auto& f : t.record->fields) a = std::max(a, alignment_of(f.type));
  return a;
}

std::int64_t field_offset(const Record& r, const std::string& name) {
  std::int64_t at = 0;
  for (const auto& f : r.fields) {
    const std::int64_t a = alignment_of(f.type);
    at = (at + a - 1) / a * a;
    if (f.name == name) return at;
    at += f.type.size();
  }
  throw InternalError("interpreter: no field `" + name + "`");
}

}  // namespace

Access Compiler::access(const Expr& e) {
  if (const auto* v = e.as<Var>()) return element(e, v->name, {}, false);
  if (const auto* l = e.as<Load>()) return element(e, l->array, l->index, l->linear);
  if (const auto* f = e.as<Field>()) {
    Access a = access(f->base);
    a.offset += field_offset(*type(f->base).record, f->name);
    return a;
  }
  throw InternalError("interpreter: `" + to_string(e) + "` is nowhere");
}

Access Compiler::target(const Expr& e) {
  Access a = access(e);
  if (tally_) a.touched = &tally_->touched[{written_name(e), "write"}];
  return a;
}

// ---- Values.

Value Compiler::variable(const Var& x, const Expr& e) {
  if (const auto s = memory_.scalars.find(x.name); s != memory_.scalars.end()) {
    const Type& t = memory_.scalar_types.at(x.name);
    if (holds_int(t)) return constant(t, s->second.i);
    return constant(t, Complex(s->second.re, s->second.im));
  }
  if (memory_.arrays.count(x.name)) return load(type(e), access(e));
  const auto i = memory_.inames.find(x.name);
  if (i == memory_.inames.end()) throw InternalError("interpreter: no value for `" + x.name + "`");
  return slot(k_.index_type, i->second.get());
}

Value Compiler::value(const Expr& e, const std::optional<Type>& wanted) {
  Value v = untold(e, wanted);
  if (!tally_) return v;
  if (const auto op = operation_name(e); op && op->times > 0) {
    auto* const count = &tally_->operations[{v.type.str(), op->name}];
    return counting(std::move(v), count, op->times);
  }
  const std::string* name = loaded_name(e);
  if (!name || !memory_.arrays.count(*name)) return v;
  return counting(std::move(v), &tally_->accesses[{*name, "load"}]);
}

Value Compiler::untold(const Expr& e, const std::optional<Type>& wanted) {
  return e.visit(overload{
      [&](const IntLit& x) { return constant(type(e, wanted), x.value); },
      [&](const FloatLit& x) { return constant(type(e, wanted), Complex(x.value, 0)); },
      [&](const ComplexLit& x) { return constant(type(e, wanted), Complex(x.re, x.im)); },
      [&](const BoolLit& x) { return constant(Scalar::Bool, std::int64_t{x.value}); },
      [&](const Var& x) { return variable(x, e); },
      [&](const Load&) { return load(type(e), access(e)); },
      [&](const Field& x) {
        if (x.base.as<Select>()) {  // (a if c else b).f
          const auto& s = *x.base.as<Select>();
          return select(condition(s.cond), value(Expr(Field{s.yes, x.name}, e.at())),
                        value(Expr(Field{s.no, x.name}, e.at())));
        }
        return load(type(e), access(e));
      },
      [&](const Unary& x) {
        if (x.op == UnaryOp::Not) {
          IntPtr c = condition(x.arg);
          const std::vector<const IntNode*> parts{c.get()};
          return with_parts(
              int_value(Scalar::Bool, [c = std::move(c)] { return std::int64_t{!c->get()}; }),
              parts, true);
        }
        const Type t = type(e, wanted);
        Value v = value_as(x.arg, t);
        return x.op == UnaryOp::BitNot ? bit_not(t, std::move(v), wide_)
                                       : negate(t, std::move(v), wide_);
      },
      [&](const Binary& x) {
        const Computation c = computation(e, wanted);
        const bool shift = x.op == BinaryOp::Shl || x.op == BinaryOp::Shr;
        Value l = value_as(x.left, c.operands[0]);
        Value r = shift ? value(x.right) : value_as(x.right, c.operands[1]);
        return binary(x.op, c.result, std::move(l), std::move(r), wide_);
      },
      [&](const Nary& x) {
        if (x.op != NaryOp::And && x.op != NaryOp::Or) return sum(e, x, wanted);
        std::vector<Value> terms;
        for (const Expr& term : x.terms) {
          Value v;
          v.type = Scalar::Bool;
          v.i = condition(term);
          terms.push_back(std::move(v));
        }
        return nary(x.op, Scalar::Bool, std::move(terms), false);
      },
      [&](const Compare& x) { return comparison(e, x); },
      [&](const Select& x) {
        const Type t = type(e, wanted);
        return select(condition(x.cond), value_as(x.yes, t), value_as(x.no, t));
      },
      [&](const Call& x) { return call(e, x, wanted); },
      [&](const Reduce&) -> Value { throw InternalError("interpreter: a reduction is left"); },
      [&](const Cast& x) { return x.type.is_record() ? value(x.arg) : value_as(x.arg, x.type); },
      [&](const Slice&) -> Value { throw InternalError("interpreter: a slice is left"); },
      [&](const SubArray&) -> Value { throw InternalError("interpreter: a sub-array is left"); }});
}

Computation Compiler::computation(const Expr& e, const std::optional<Type>& wanted) const {
  auto c = typer_.computation(e, wanted);
  if (!c) throw InternalError("interpreter: no type for " + to_string(e));
  return std::move(*c);
}

std::vector<AddedSum> Compiler::added_sums(const Exprs& terms) {
  if (!accumulators_) {
    accumulators_.emplace();
    for (const InsnPtr& i : k_.instructions)
      if (i->role == ReductionRole::Update && i->reduce_op == ReduceOp::Sum)
        accumulators_->insert(written_name(i->lhs[0]));
  }
  std::vector<AddedSum> out;
  for (std::size_t n = 0; n < terms.size(); ++n) {
    const auto* u = terms[n].as<Unary>();
    const Expr& e = u && u->op == UnaryOp::Sub ? u->arg : terms[n];
    const auto* v = e.as<Var>();
    const auto* l = e.as<Load>();
    if (!(v || l) || !accumulators_->contains(v ? v->name : l->array)) continue;
    Access to = access(e);
    if (to.shadow && to.shadow->accuracy->unfolded && !to.shadow->sums.empty())
      out.push_back({n, std::move(to)});
  }
  return out;
}

/// A sum, a product, or bits together: step by step, each in its own type.
Value Compiler::sum(const Expr& e, const Nary& x, const std::optional<Type>& wanted) {
  const Computation c = computation(e, wanted);
  std::vector<Value> terms;  // that are combined in `t`
  Type t = c.operands[0];
  for (std::size_t i = 0; i < x.terms.size(); ++i) {
    if (!(c.operands[i] == t)) {
      Value before =
          terms.size() == 1 ? std::move(terms[0]) : nary(x.op, t, std::move(terms), wide_);
      t = c.operands[i];
      terms.clear();
      terms.push_back(convert(std::move(before), t));
    }
    const auto* u = x.terms[i].as<Unary>();
    const bool less = u && u->op == UnaryOp::Sub;
    Value v = operand(less ? u->arg : x.terms[i], c.contexts[i], t);
    terms.push_back(less ? negate(t, std::move(v), wide_) : std::move(v));
  }
  Value all = nary(x.op, t, std::move(terms), wide_);
  if (x.op != NaryOp::Add || holds_int(t)) return all;
  std::vector<AddedSum> sums = added_sums(x.terms);
  return sums.empty() ? std::move(all) : term_by_term(std::move(all), std::move(sums));
}

Value Compiler::comparison(const Expr& e, const Compare& x) {
  const Computation c = computation(e, {});
  return compare(x.op, value_as(x.left, c.operands[0]), value_as(x.right, c.operands[1]));
}

Value Compiler::call(const Expr& e, const Call& x, const std::optional<Type>& wanted) {
  if (x.name == "if") return value(Expr(Select{x.args[0], x.args[1], x.args[2]}, e.at()), wanted);
  if (x.name == "indexof") {
    const auto* l = x.args[0].as<Load>();
    const Storage& s = memory_.arrays.at(l->array);
    if (l->linear) return value(l->index[0]);
    std::vector<std::pair<IntPtr, std::int64_t>> terms;
    std::vector<const IntNode*> parts;
    for (std::size_t d = 0; d < l->index.size(); ++d) {
      terms.emplace_back(index(l->index[d]), s.strides[d]);
      parts.push_back(terms.back().first.get());
    }
    Value v = int_value(k_.index_type, [terms = std::move(terms)] {
      std::int64_t sum = 0;
      for (const auto& [i, stride] : terms) sum += i->get() * stride;
      return sum;
    });
    return with_parts(std::move(v), std::move(parts), false);
  }
  const FnInfo* f = find_function(x.name);
  if (!f) throw InternalError("interpreter: no function `" + x.name + "`");
  const Computation c = computation(e, wanted);
  std::vector<Value> args;
  for (std::size_t i = 0; i < x.args.size(); ++i)
    args.push_back(value_as(x.args[i], c.operands[i]));
  return convert(function(x.name, c.result, std::move(args)), c.result);
}

// ---- Reductions.

Value neutral(ReduceOp op, std::size_t i, const Type& t) {
  if (const auto own = within_segments(op))
    return i == 0 ? neutral(*own, 0, t) : constant(t, std::int64_t{0});
  const bool min = op == ReduceOp::Min || op == ReduceOp::ArgMin;
  const bool max = op == ReduceOp::Max || op == ReduceOp::ArgMax;
  if (i == 1) return constant(t, std::int64_t{min || max ? -1 : 0});
  if (min || max) {
    if (!holds_int(t)) {
      const double inf = std::numeric_limits<double>::infinity();
      return constant(t, Complex(min ? inf : -inf, 0));
    }
    return with_int(t.scalar, [&](auto zero) {
      using L = std::numeric_limits<decltype(zero)>;
      return constant(t, static_cast<std::int64_t>(min ? L::max() : L::min()));
    });
  }
  const bool one = op == ReduceOp::Product || op == ReduceOp::All;
  return constant(t, std::int64_t{one});
}

/// The new value of the accumulator.
Value Compiler::reduced(ReduceOp op, const Expr& acc, const Expr& arg) {
  const Type t = type(acc);
  const auto both = [&] {
    std::vector<Value> v;
    v.push_back(value(acc));
    v.push_back(value_as(arg, t));
    return v;
  };
  const auto truths = [&] {
    std::vector<Value> v(2);
    for (std::size_t i = 0; i < 2; ++i) {
      v[i].type = Scalar::Bool;
      v[i].i = condition(i == 0 ? acc : arg);
    }
    return v;
  };
  switch (op) {
    case ReduceOp::Sum: return nary(NaryOp::Add, t, both(), false);
    case ReduceOp::Product: return in_any_order(nary(NaryOp::Mul, t, both(), false));
    case ReduceOp::Min: return function("min", t, both());
    case ReduceOp::Max: return function("max", t, both());
    case ReduceOp::Any: return convert(nary(NaryOp::Or, Scalar::Bool, truths(), false), t);
    case ReduceOp::All: return convert(nary(NaryOp::And, Scalar::Bool, truths(), false), t);
    case ReduceOp::ArgMin:
    case ReduceOp::ArgMax:
    case ReduceOp::SegmentedSum:
    case ReduceOp::SegmentedProduct:
    case ReduceOp::SegmentedMin:
    case ReduceOp::SegmentedMax: break;
  }
  throw InternalError("interpreter: not a reduction of one value");
}

void Compiler::arg_update(const Instruction& insn, std::vector<std::unique_ptr<Store>>& out) {
  const Expr &best = insn.lhs[0], &at = insn.lhs[1];
  const Exprs& args = insn.rhs.as<Call>()->args;
  const Type t = type(best), index_type = type(at);
  const auto is = [&](CompareOp op, const Expr& x, const Expr& y, const Type& as) {
    Value v;
    v = compare(op, value_as(x, as), value_as(y, as));
    return v;
  };
  // Of equal values the smallest index wins, so that the order of the loops does not matter.
  const auto better = [&] {
    const bool min = insn.reduce_op == ReduceOp::ArgMin;
    std::vector<Value> unset_or_smaller;
    unset_or_smaller.push_back(is(CompareOp::Lt, args[1], at, index_type));
    unset_or_smaller.push_back(
        compare(CompareOp::Eq, value(at), neutral(insn.reduce_op, 1, index_type)));
    std::vector<Value> tie;
    tie.push_back(is(CompareOp::Eq, args[0], best, t));
    tie.push_back(compare(CompareOp::Ne, value_as(args[1], index_type),
                          neutral(insn.reduce_op, 1, index_type)));
    tie.push_back(nary(NaryOp::Or, Scalar::Bool, std::move(unset_or_smaller), false));
    std::vector<Value> any;
    any.push_back(is(min ? CompareOp::Lt : CompareOp::Gt, args[0], best, t));
    any.push_back(nary(NaryOp::And, Scalar::Bool, std::move(tie), false));
    return std::move(nary(NaryOp::Or, Scalar::Bool, std::move(any), false).i);
  };
  out.push_back(store(target(best), t, select(better(), value_as(args[0], t), value(best))));
  out.push_back(
      store(target(at), index_type, select(better(), value_as(args[1], index_type), value(at))));
}

/// A flag that is set starts a new segment with the value.
void Compiler::segmented_update(const Instruction& insn, std::vector<std::unique_ptr<Store>>& out) {
  const Exprs& args = insn.rhs.as<Call>()->args;
  const Type t = type(insn.lhs[0]), flag = type(insn.lhs[1]);
  const ReduceOp own = *within_segments(insn.reduce_op);
  auto step = own == ReduceOp::Sum ? summed(insn.lhs[0], args[0], args[1]) : nullptr;
  if (step) {
    out.push_back(std::move(step));
    out.push_back(store(target(insn.lhs[1]), flag, either_flag(insn, flag)));
    return;
  }
  Value joined = reduced(own, insn.lhs[0], args[0]);
  out.push_back(store(target(insn.lhs[0]), t,
                      select(condition(args[1]), value_as(args[0], t), std::move(joined))));
  out.push_back(store(target(insn.lhs[1]), flag, either_flag(insn, flag)));
}

Value Compiler::either_flag(const Instruction& insn, const Type& flag) {
  const Exprs& args = insn.rhs.as<Call>()->args;
  std::vector<Value> flags(2);
  for (std::size_t i = 0; i < 2; ++i) {
    flags[i].type = Scalar::Bool;
    flags[i].i = condition(i == 0 ? insn.lhs[1] : args[1]);
  }
  return convert(nary(NaryOp::Or, Scalar::Bool, std::move(flags), false), flag);
}

// ---- Sums that carry their bound.

const Expr& assigned(const Instruction& insn, std::size_t i) {
  return insn.lhs.size() == 1 ? insn.rhs : insn.rhs.as<Call>()->args.at(i);
}

std::optional<std::size_t> place_in_sum(const Expr& lhs, const Expr& rhs) {
  const auto* sum = rhs ? rhs.as<Nary>() : nullptr;
  if (!sum || sum->op != NaryOp::Add) return {};
  std::optional<std::size_t> place;
  for (std::size_t i = 0; i < sum->terms.size(); ++i)
    if (!place && equal(sum->terms[i], lhs)) place = i;
  return place;
}

std::unique_ptr<Store> Compiler::summed(const Expr& lhs, const Expr& term, const Expr& restart) {
  const Type t = type(lhs);
  Access to = target(lhs);
  if (!to.shadow || to.shadow->sums.empty() || t.is_record() || holds_int(t)) return nullptr;
  SumStep step;
  step.terms.resize(2);
  step.terms[1] = value_as(term, t);
  if (restart) step.restart = condition(restart);
  return sum_store(std::move(to), t, std::move(step));
}

std::unique_ptr<Store> Compiler::summed(const Expr& lhs, const Expr& rhs) {
  const auto place = place_in_sum(lhs, rhs);
  const Type t = type(lhs);
  if (!place || t.is_record() || holds_int(t)) return nullptr;
  const Type computed = type(rhs, t);  // float32 for float16, to which each step rounds
  const bool wide = (t == Type(Scalar::F32) && computed == Type(Scalar::F64)) ||
                    (t == Type(Scalar::C64) && computed == Type(Scalar::C128));
  if (!(computed == t) && !(computed == computed_as(t)) && !wide) return nullptr;
  Access to = target(lhs);
  if (!to.shadow || to.shadow->sums.empty()) return nullptr;
  SumStep step;
  step.place = *place;
  step.wide = wide;
  for (const Expr& e : rhs.as<Nary>()->terms) {
    step.terms.emplace_back();
    if (step.terms.size() == *place + 1) continue;
    const auto* u = e.as<Unary>();  // a subtracted term is converted first: uint8 has no negatives
    const bool less = u && u->op == UnaryOp::Sub;
    Value v = value_as(less ? u->arg : e, computed);
    step.terms.back() = less ? negate(computed, std::move(v), wide_) : std::move(v);
  }
  step.sums = added_sums(rhs.as<Nary>()->terms);
  return sum_store(std::move(to), t, std::move(step));
}

namespace {

/// How many factors and divisors the place has beside it in `value`, as in `a = x*a/y`; nothing
/// where the value is not a product with it.
std::optional<int> factors_beside(const Expr& place, const Expr& value) {
  if (equal(value, place)) return 0;
  if (const auto* b = value.as<Binary>(); b && b->op == BinaryOp::Div) {
    const auto inner = factors_beside(place, b->left);
    return inner ? std::optional(*inner + 1) : std::nullopt;
  }
  const auto* product = value.as<Nary>();
  if (!product || product->op != NaryOp::Mul) return std::nullopt;
  std::optional<int> found;
  for (const Expr& t : product->terms)
    if (const auto inner = factors_beside(place, t)) {
      if (found) return std::nullopt;
      found = *inner + static_cast<int>(product->terms.size()) - 1;
    }
  return found;
}

/// Whether the instruction updates one place several times, along loops that its place lacks: for
/// `recognize_reduction` a reduction, whose factors come in any order like a sum's terms.
bool accumulates(const Instruction& insn) {
  if (insn.role != ReductionRole::None || insn.lhs.size() != 1) return false;
  std::set<std::string> place;
  collect_vars(insn.lhs[0], place);
  return std::any_of(insn.inames.begin(), insn.inames.end(),
                     [&](const std::string& i) { return !place.count(i); });
}

}  // namespace

// ---- Statements.

namespace {

/// Fails when reached: a call of an external function.
struct ExternalStore : Store {
  ExternalStore(std::string name, const Span& at) : name_(std::move(name)), at_(at) {}
  void prepare() override {
    fail("external-call", at_, "the interpreter reached a call of `{}`, which is external", name_);
  }
  void commit() override {}

 private:
  std::string name_;
  Span at_;
};

}  // namespace

std::vector<std::unique_ptr<Store>> Compiler::statement(const Instruction& insn) {
  std::vector<std::unique_ptr<Store>> out = stores(insn);
  if (!tally_) return out;
  for (std::size_t i = 0; i < insn.lhs.size(); ++i) {
    auto& s = out[out.size() - insn.lhs.size() + i];
    s = counting(std::move(s), &tally_->accesses[{written_name(insn.lhs[i]), "store"}]);
  }
  return out;
}

void Compiler::tell_arguments(const Instruction& insn, std::vector<std::unique_ptr<Store>>& out) {
  if (!tally_) return;
  const Exprs& args = insn.rhs.as<Call>()->args;
  for (std::size_t i = 0; i < args.size(); ++i) {
    Value v = value_as(args[i], type(insn.lhs[i]));
    if (const auto op = operation_name(insn.reduce_op); op && i == 0) {
      auto* const count = &tally_->operations[{v.type.str(), *op}];
      v = counting(std::move(v), count);
    }
    out.push_back(evaluation(std::move(v)));
  }
}

std::vector<std::unique_ptr<Store>> Compiler::stores(const Instruction& insn) {
  std::vector<std::unique_ptr<Store>> out;
  if (insn.role == ReductionRole::Init) {
    for (std::size_t i = 0; i < insn.lhs.size(); ++i) {
      const Type t = type(insn.lhs[i]);
      out.push_back(store(target(insn.lhs[i]), t, neutral(insn.reduce_op, i, t)));
    }
    return out;
  }
  if (insn.role == ReductionRole::Update && insn.lhs.size() == 1) {
    const Type t = type(insn.lhs[0]);
    if (insn.reduce_op == ReduceOp::Sum)
      if (auto step = summed(insn.lhs[0], insn.rhs, Expr())) {
        out.push_back(std::move(step));
        return out;
      }
    Value v = reduced(insn.reduce_op, insn.lhs[0], insn.rhs);
    const auto op = tally_ ? operation_name(insn.reduce_op) : std::nullopt;
    if (op) v = counting(std::move(v), &tally_->operations[{t.str(), *op}]);
    out.push_back(store(target(insn.lhs[0]), t, std::move(v)));
    return out;
  }
  if (insn.role == ReductionRole::Update) {
    tell_arguments(insn, out);  // below they are evaluated as it comes
    Tally* const tally = tell(nullptr);
    if (insn.reduce_op == ReduceOp::ArgMin || insn.reduce_op == ReduceOp::ArgMax)
      arg_update(insn, out);
    else
      segmented_update(insn, out);
    tell(tally);
    return out;
  }
  if (const Call* c = external_call(k_, insn)) {
    out.push_back(std::make_unique<ExternalStore>(c->name, insn.at));
    return out;
  }
  for (std::size_t i = 0; i < insn.lhs.size(); ++i) {
    const Expr& e = assigned(insn, i);
    if (auto step = summed(insn.lhs[i], e)) {
      out.push_back(std::move(step));
      continue;
    }
    const Type t = type(insn.lhs[i]);
    Value v = t.is_record() ? value(e) : value_as(e, t);
    if ((insn.atomic == Atomicity::Update || accumulates(insn)) && !t.is_record())
      for (int n = factors_beside(insn.lhs[i], e).value_or(0); n > 0; --n)
        v = in_any_order(std::move(v));
    out.push_back(store(target(insn.lhs[i]), t, std::move(v)));
  }
  return out;
}

}  // namespace moonloop::interp
