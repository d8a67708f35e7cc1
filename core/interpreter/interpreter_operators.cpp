#include <cmath>

#include "core/expr/integers.h"
#include "core/interpreter/interpreter_bounds.h"
#include "core/interpreter/interpreter_scalars.h"

namespace moonloop::interp {
namespace {

/// Calls `f` with the C++ type in which integers of type `s` are computed.
template <class F>
auto with_computed(Scalar s, bool wide, F f) {
  if (wide && !is_unsigned(s)) s = Scalar::I64;
  return with_int(s, f);
}

std::uint64_t bits(std::int64_t v) { return static_cast<std::uint64_t>(v); }

// ---- Integers.

template <class T>
std::int64_t floor_quotient(std::int64_t a, std::int64_t b) {
  if (b == 0) throw DivisionByZero{};
  if constexpr (std::is_unsigned_v<T>) {
    return static_cast<std::int64_t>(bits(a) / bits(b));
  } else {
    if (b == -1) return wrapped<T>(0 - bits(a));
    const std::int64_t q = a / b;
    return q - (a % b != 0 && (a < 0) != (b < 0));
  }
}

template <class T>
std::int64_t floor_rest(std::int64_t a, std::int64_t b) {
  if (b == 0) throw DivisionByZero{};
  if constexpr (std::is_unsigned_v<T>) {
    return static_cast<std::int64_t>(bits(a) % bits(b));
  } else {
    if (b == -1) return 0;
    const std::int64_t r = a % b;
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
  }
}

template <class T>
std::int64_t power(std::int64_t x, std::int64_t n) {
  if (!std::is_unsigned_v<T> && n < 0) {
    if (x == 0) throw DivisionByZero{};
    return x == 1 ? 1 : x == -1 ? (n % 2 != 0 ? -1 : 1) : 0;
  }
  std::uint64_t result = 1, base = bits(x);
  for (std::uint64_t e = bits(n); e != 0; e >>= 1) {
    if (e & 1) result *= base;
    base *= base;
  }
  return wrapped<T>(result);
}

/// A count beyond 63, or below 0, shifts all bits out; so does one beyond the type's width.
template <class T>
std::int64_t shifted(BinaryOp op, std::int64_t a, std::int64_t n) {
  if (op == BinaryOp::Shl) return n < 0 || n > 63 ? 0 : wrapped<T>(bits(a) << n);
  if constexpr (std::is_unsigned_v<T>) return n < 0 || n > 63 ? 0 : wrapped<T>(bits(a) >> n);
  return n < 0 || n > 63 ? (a < 0 ? -1 : 0) : a >> n;
}

template <class T>
Value int_binary(BinaryOp op, const Type& t, IntPtr a, IntPtr b) {
  const std::vector<const IntNode*> parts{a.get(), b.get()};
  const auto node = [&](auto f) {
    Value v =
        int_value(t, [f, a = std::move(a), b = std::move(b)] { return f(a->get(), b->get()); });
    return with_parts(std::move(v), parts, false);
  };
  switch (op) {
    case BinaryOp::FloorDiv: return node(floor_quotient<T>);
    case BinaryOp::Mod: return node(floor_rest<T>);
    case BinaryOp::Pow: return node(power<T>);
    case BinaryOp::Shl:
    case BinaryOp::Shr:
      return node([op](std::int64_t x, std::int64_t n) { return shifted<T>(op, x, n); });
    case BinaryOp::Div: break;
  }
  throw InternalError("interpreter: a division that gives an integer");
}

/// `f` folds from left to right.
template <class F, class Make>
Value fold(std::vector<IntPtr> terms, F f, Make make) {
  if (terms.size() == 2)
    return make(
        [f, a = std::move(terms[0]), b = std::move(terms[1])] { return f(a->get(), b->get()); });
  return make([f, terms = std::move(terms)] {
    auto v = terms[0]->get();
    for (std::size_t i = 1; i < terms.size(); ++i) v = f(v, terms[i]->get());
    return v;
  });
}

/// The same of numbers with bounds.
template <class Node, class F, class Rule>
struct Folded final : Node {
  using Number = typename Node::Number;
  std::vector<std::unique_ptr<Node>> terms;
  F f;
  Rule rule;
  Folded(std::vector<std::unique_ptr<Node>> t, F g, Rule r)
      : terms(std::move(t)), f(std::move(g)), rule(std::move(r)) {}
  Number get() const override {
    Number v = terms[0]->get();
    for (std::size_t i = 1; i < terms.size(); ++i) v = f(v, terms[i]->get());
    return v;
  }
  Bounded<Number> bounded(const Accuracy& a) const override {
    Bounded<Number> x = terms[0]->bounded(a);
    for (std::size_t i = 1; i < terms.size(); ++i) {
      const Bounded<Number> y = terms[i]->bounded(a);
      const Number z = f(x.v, y.v);
      x = {z, rule(a, z, x, y)};
    }
    return x;
  }
};

template <class Node, class F, class Rule>
Value fold(const Type& t, std::vector<std::unique_ptr<Node>> terms, F f, Rule rule) {
  if (terms.size() == 2)
    return value_of<Node>(t, std::make_unique<Operation<Node, F, Rule, Node, Node>>(
                                 f, rule, std::move(terms[0]), std::move(terms[1])));
  return value_of<Node>(t, std::make_unique<Folded<Node, F, Rule>>(std::move(terms), f, rule));
}

std::vector<const IntNode*> parts_of(const std::vector<IntPtr>& terms) {
  std::vector<const IntNode*> out;
  for (const IntPtr& t : terms) out.push_back(t.get());
  return out;
}

template <class T>
Value int_nary(NaryOp op, const Type& t, std::vector<IntPtr> terms) {
  using I = std::int64_t;
  const std::vector<const IntNode*> parts = parts_of(terms);
  const auto node = [&](auto f) {
    Value v = fold(std::move(terms), f, [&](auto g) { return int_value(t, std::move(g)); });
    return with_parts(std::move(v), parts, op == NaryOp::Add);
  };
  switch (op) {
    case NaryOp::Add: return node([](I a, I b) { return wrapped<T>(bits(a) + bits(b)); });
    case NaryOp::Mul: return node([](I a, I b) { return wrapped<T>(bits(a) * bits(b)); });
    case NaryOp::BitAnd: return node([](I a, I b) { return a & b; });
    case NaryOp::BitOr: return node([](I a, I b) { return a | b; });
    case NaryOp::BitXor: return node([](I a, I b) { return a ^ b; });
    case NaryOp::And:
    case NaryOp::Or: break;
  }
  throw InternalError("interpreter: not an integer operator");
}

// ---- Reals and complex numbers.

template <class R>
R real_power(R x, R y) {
  if (y == R{2}) return x * x;
  if (y == R{3}) return x * x * x;
  if (y == R{4}) return x * x * (x * x);
  return std::pow(x, y);
}

/// With the sign of `y`, a zero too.
template <class R>
R real_rest(R x, R y) {
  const R r = std::fmod(x, y);
  if (r == 0) return std::copysign(R{0}, y);
  return (r < 0) != (y < 0) ? r + y : r;
}

/// The exact quotient, rounded down: `x / y` may have been rounded up to an integer.
template <class R>
R real_quotient(R x, R y) {
  if (y == 0) return x / y;
  const R r = std::fmod(x, y);
  R q = (x - r) / y;
  if (r != 0 && (r < 0) != (y < 0)) q -= R{1};
  if (q == 0) return std::copysign(R{0}, x / y);
  const R whole = std::floor(q);
  return q - whole > R(0.5) ? whole + 1 : whole;
}

/// How far 1/p goes if p overflows, or is so small that a device may take it for 0.
template <class R>
double reciprocal_of_subnormal(const Accuracy& a, double size) {
  using L = std::numeric_limits<R>;
  if (size < static_cast<double>(L::min())) return size;
  return a.device && size * static_cast<double>(L::min()) >= 0.5 ? kUndecided : 0;
}

/// How far x**y goes when x and y do; `f` raises. Powers by whole numbers may be products of
/// squares, or one divided by them, which may be infinite, or subnormal and so of fewer digits.
template <class R, class F>
double power_bound(const Accuracy& a, double z, const BoundedReal& x, const BoundedReal& y, F f) {
  if (y.v == 2 && y.e == 0) return ProductRule<R>()(a, z, x, x);
  if (std::fabs(y.v) * kUnit<R> >= 1) return kUndecided;  // even or odd?
  const bool whole = y.v == std::trunc(y.v);
  const double ulps = (a.device ? 17.0 : 4.0) + (whole ? std::fabs(y.v) : 0);
  const double own = 2 * ulps * kUnit<R> * std::fabs(z) + underflow<R>(a, std::fabs(z)) +
                     (whole && y.v < 0 ? reciprocal_of_subnormal<R>(a, std::fabs(z)) : 0);
  if (x.e == 0 && y.e == 0) return !std::isfinite(z) || y.v == 0 || y.v == 1 || x.v == 1 ? 0 : own;
  const double size = std::fabs(x.v);
  if (y.e == 0 && y.v >= 1 && (whole || x.v >= x.e)) {  // |x'**y - x**y| <= (|x| + e)**y - |x|**y
    const double most = f(size + x.e, y.v);
    return checked(z, most - f(size, y.v) + own + 4 * ulps * kUnit<R> * most, x, y);
  }
  if (x.e >= size || (y.e > 0 && x.v < 0)) return kUndecided;
  const double change =
      (std::fabs(y.v) + y.e) * -std::log1p(-x.e / size) + y.e * std::fabs(std::log(size));
  return checked(z, std::fabs(z) * std::expm1(change) + 2 * own, x, y);
}

template <class R>
Value real_binary(BinaryOp op, const Type& t, RealPtr a, RealPtr b) {
  const auto node = [&](auto f, auto rule) {
    return real_value(
        t,
        [f](double x, double y) {
          return static_cast<double>(f(static_cast<R>(x), static_cast<R>(y)));
        },
        rule, std::move(a), std::move(b));
  };
  using B = const BoundedReal&;
  // The quotient's ends, rounded down.
  const auto floors = [](const Accuracy& acc, B x, B y) {
    const double q = x.v / y.v, e = QuotientRule<R>()(acc, q, x, y);
    return e < kUndecided ? std::pair(std::floor(q - e), std::floor(q + e))
                          : std::pair(-kUndecided, kUndecided);
  };
  switch (op) {
    case BinaryOp::Div: return node([](R x, R y) { return x / y; }, QuotientRule<R>());
    case BinaryOp::FloorDiv:
      return node(real_quotient<R>, [floors](const Accuracy& acc, double z, B x, B y) {
        if (x.e == 0 && y.e == 0 && !acc.device) return 0.0;
        const auto [low, high] = floors(acc, x, y);
        return low == high ? 0 : std::isnan(z) ? kUndecided : stepped(z, low, high);
      });
    case BinaryOp::Mod:
      return node(real_rest<R>, [floors](const Accuracy& acc, double z, B x, B y) {
        if (x.e == 0 && y.e == 0) return 0.0;
        const auto [low, high] = floors(acc, x, y);
        if (low != high) return std::fabs(y.v) + y.e + x.e;  // either end of the range
        return checked(z, x.e + std::fabs(low) * y.e + rounded_apart<R>(acc, std::fabs(z)), x, y);
      });
    case BinaryOp::Pow:
      return node(real_power<R>, [](const Accuracy& acc, double z, B x, B y) {
        return power_bound<R>(acc, z, x, y, [](double p, double q) { return std::pow(p, q); });
      });
    case BinaryOp::Shl:
    case BinaryOp::Shr: break;
  }
  throw InternalError("interpreter: a shift of reals");
}

template <class R>
Value complex_binary(BinaryOp op, const Type& t, ComplexPtr a, ComplexPtr b) {
  using C = std::complex<R>;
  const auto node = [&](auto f, auto rule) {
    return complex_value(
        t, [f](const Complex& x, const Complex& y) { return widen(f(narrow<R>(x), narrow<R>(y))); },
        rule, std::move(a), std::move(b));
  };
  if (op == BinaryOp::Div) return node([](C x, C y) { return x / y; }, QuotientRule<R>());
  if (op == BinaryOp::Pow)
    return node(
        [](C x, C y) {
          const C s = x * x, c = s * x;
          if (y == C{2}) return s;
          if (y == C{3}) return c;
          if (y == C{4}) return s * s;
          if (y == C{5}) return s * s * x;
          if (y == C{6}) return c * c;
          if (y == C{7}) return c * c * x;
          if (y == C{8}) return s * s * (s * s);
          return std::pow(x, y);
        },
        [](const Accuracy& acc, const Complex& z, const BoundedComplex& x,
           const BoundedComplex& y) {
          if (y.v == Complex(2) && y.e == 0) return ProductRule<R>()(acc, z, x, x);
          const double size = std::abs(x.v);
          const double own = 64 * (1 + std::abs(y.v)) * kUnit<R> * std::abs(z);
          if (x.e == 0 && y.e == 0) return finite(z) ? own : 0;
          if (x.e >= size) return kUndecided;
          const double change =
              (std::abs(y.v) + y.e) * -std::log1p(-x.e / size) + y.e * std::abs(std::log(x.v));
          return checked(z, std::abs(z) * std::expm1(change) + own, x, y);
        });
  throw InternalError("interpreter: not an operator on complex numbers");
}

template <class Node>
std::vector<std::unique_ptr<Node>> pointers(std::vector<Value>& values,
                                            std::unique_ptr<Node> Value::*p) {
  std::vector<std::unique_ptr<Node>> out;
  out.reserve(values.size());
  for (Value& v : values) out.push_back(std::move(v.*p));
  return out;
}

}  // namespace

Value negate(const Type& t, Value v, bool wide) {
  if (holds_int(t))
    return with_computed(t.scalar, wide, [&](auto zero) {
      const std::vector<const IntNode*> parts{v.i.get()};
      return with_parts(
          int_value(t,
                    [x = std::move(v.i)] { return wrapped<decltype(zero)>(0 - bits(x->get())); }),
          parts, true);
    });
  const auto as_before = [](const Accuracy&, const auto&, const auto& x) { return x.e; };
  if (holds_real(t))
    return real_value(
        t, [](double x) { return -x; }, as_before, std::move(v.r));
  return complex_value(
      t, [](const Complex& x) { return -x; }, as_before, std::move(v.c));
}

Value bit_not(const Type& t, Value v, bool wide) {
  if (t == Type(Scalar::Bool))
    return int_value(t, [x = std::move(v.i)] { return std::int64_t{x->get() == 0}; });
  return with_computed(t.scalar, wide, [&](auto zero) {
    const std::vector<const IntNode*> parts{v.i.get()};
    return with_parts(
        int_value(t, [x = std::move(v.i)] { return wrapped<decltype(zero)>(~bits(x->get())); }),
        parts, true);
  });
}

Value binary(BinaryOp op, const Type& t, Value a, Value b, bool wide) {
  if (holds_int(t))
    return with_computed(t.scalar, wide, [&](auto zero) {
      return int_binary<decltype(zero)>(op, t, std::move(a.i), std::move(b.i));
    });
  return with_real(t.scalar, [&](auto zero) {
    using R = decltype(zero);
    if (holds_real(t)) return real_binary<R>(op, t, std::move(a.r), std::move(b.r));
    return complex_binary<R>(op, t, std::move(a.c), std::move(b.c));
  });
}

namespace {

/// `and` (stop is false) and `or`. Where a term is open the later ones count too, as far as they
/// can be evaluated.
struct Connected final : IntNode {
  bool stop = false;
  std::vector<IntPtr> terms;
  std::int64_t get() const override {
    for (const IntPtr& x : terms)
      if ((x->get() != 0) == stop) return stop;
    return !stop;
  }
  bool varies() const override {
    return std::any_of(terms.begin(), terms.end(), [](const IntPtr& t) { return t->varies(); });
  }
  BoundedInt bounded(const Accuracy& a) const override {
    bool open = false, stopped = false;
    for (const IntPtr& x : terms) {
      BoundedInt b{};
      try {
        b = x->bounded(a);
      } catch (const OutOfBounds&) {
        if (!stopped) throw;
        return {stop, 1};
      } catch (const DivisionByZero&) {
        if (!stopped) throw;
        return {stop, 1};
      }
      const bool stops = (b.v != 0) == stop;
      if (stops && b.e == 0) return {stop, 0};
      open = open || b.e > 0;
      stopped = stopped || stops;
    }
    return {stopped ? stop : !stop, open ? 1.0 : 0.0};
  }
};

}  // namespace

Value nary(NaryOp op, const Type& t, std::vector<Value> terms, bool wide) {
  if (op == NaryOp::And || op == NaryOp::Or) {
    auto node = std::make_unique<Connected>();
    node->stop = op == NaryOp::Or;
    node->terms = pointers(terms, &Value::i);
    return value_of<IntNode>(t, std::move(node));
  }
  if (holds_int(t))
    return with_computed(t.scalar, wide, [&](auto zero) {
      return int_nary<decltype(zero)>(op, t, pointers(terms, &Value::i));
    });
  const bool sum = op == NaryOp::Add;
  return with_real(t.scalar, [&](auto zero) {
    using R = decltype(zero);
    if (holds_real(t)) {
      // A double has more than twice a float's digits, so that rounding twice is rounding once.
      const auto add = [](double x, double y) {
        return static_cast<double>(static_cast<R>(x + y));
      };
      const auto times = [](double x, double y) {
        return static_cast<double>(static_cast<R>(x * y));
      };
      return sum ? fold(t, pointers(terms, &Value::r), add, SumRule<R>())
                 : fold(t, pointers(terms, &Value::r), times, ProductRule<R>());
    }
    const auto add = [](const Complex& x, const Complex& y) {
      return widen(narrow<R>(x) + narrow<R>(y));
    };
    const auto times = [](const Complex& x, const Complex& y) {
      return widen(narrow<R>(x) * narrow<R>(y));
    };
    return sum ? fold(t, pointers(terms, &Value::c), add, SumRule<R>())
               : fold(t, pointers(terms, &Value::c), times, ProductRule<R>());
  });
}

namespace {

template <class R>
struct AnyOrder {
  bool half = false;  // rounded to float16
  template <class V>
  double operator()(const Accuracy& a, const V& z, const Bounded<V>& x) const {
    if (!finite(z)) return x.e;
    const double size = size_of_number(z);
    return x.e + (half ? 2 * kHalfUnit * size + kHalfUnderflow : rounded_apart<R>(a, size));
  }
};

}  // namespace

namespace {

/// Each partial sum is at most the sum of the sizes of all terms.
template <class Node, class R>
struct TermByTerm final : Node {
  std::unique_ptr<Node> all;
  std::vector<AddedSum> sums;
  TermByTerm(std::unique_ptr<Node> n, std::vector<AddedSum> s)
      : all(std::move(n)), sums(std::move(s)) {}
  typename Node::Number get() const override { return all->get(); }
  auto bounded(const Accuracy& a) const -> decltype(all->bounded(a)) override {
    auto out = all->bounded(a);
    double size = std::abs(out.v), count = 0;
    for (const AddedSum& s : sums) {
      const Shadow& shadow = *s.accumulator.shadow;
      const Shadow::Sum& own = shadow.sums[shadow.place(s.accumulator.bounded(a).at)];
      size += 2 * own.size;
      count += own.count;
    }
    const double steps = (a.device ? 4 : 2) * count;
    if (std::isfinite(size)) out.e += steps * kUnit<R> * size;
    return out;
  }
};

}  // namespace

Value term_by_term(Value v, std::vector<AddedSum> sums) {
  with_real(v.type.scalar, [&](auto zero) {
    using R = decltype(zero);
    if (v.r)
      v.r = std::make_unique<TermByTerm<RealNode, R>>(std::move(v.r), std::move(sums));
    else
      v.c = std::make_unique<TermByTerm<ComplexNode, R>>(std::move(v.c), std::move(sums));
  });
  return v;
}

Value in_any_order(Value v) {
  const Type t = v.type;
  if (v.i) return v;
  return with_real(t.scalar, [&](auto zero) {
    const AnyOrder<decltype(zero)> rule{t == Type(Scalar::F16)};
    if (v.r)
      return real_value(
          t, [](double x) { return x; }, rule, std::move(v.r));
    return complex_value(
        t, [](const Complex& x) { return x; }, rule, std::move(v.c));
  });
}

namespace {

template <class Node, class Convert>
Value compared(CompareOp op, std::unique_ptr<Node> a, std::unique_ptr<Node> b, Convert as) {
  const auto node = [&](auto f) {
    const auto both = [f, as](const auto& x, const auto& y) {
      return std::int64_t{f(as(x), as(y))};
    };
    if constexpr (std::is_same_v<Node, IntNode>)
      if (!a->varies() && !b->varies())
        return int_value(Scalar::Bool, [both, a = std::move(a), b = std::move(b)] {
          return both(a->get(), b->get());
        });
    return decided_int(
        Scalar::Bool, both,
        [](const Accuracy&, std::int64_t, const auto& x, const auto& y) {
          return comparison_bound(x, y);
        },
        std::move(a), std::move(b));
  };
  switch (op) {
    case CompareOp::Eq: return node([](auto x, auto y) { return x == y; });
    case CompareOp::Ne: return node([](auto x, auto y) { return x != y; });
    case CompareOp::Lt: return node([](auto x, auto y) { return x < y; });
    case CompareOp::Le: return node([](auto x, auto y) { return x <= y; });
    case CompareOp::Gt: return node([](auto x, auto y) { return x > y; });
    case CompareOp::Ge: return node([](auto x, auto y) { return x >= y; });
  }
  throw InternalError("interpreter: no such comparison");
}

}  // namespace

Value compare(CompareOp op, Value a, Value b) {
  if (a.i && !(a.type == b.type)) {  // signed and unsigned, of 64 bits both
    const bool left = a.type == Type(Scalar::U64);
    return int_value(Scalar::Bool, [op, left, x = std::move(a.i), y = std::move(b.i)] {
      const std::int64_t v = x->get(), w = y->get();
      const std::int64_t u = left ? v : w, s = left ? w : v;
      const int less = s < 0 || bits(s) < bits(u) ? -1 : bits(s) > bits(u);  // signed to unsigned
      return std::int64_t{holds(op, left ? -less : less, 0)};
    });
  }
  if (a.i && a.type == Type(Scalar::U64)) return compared(op, std::move(a.i), std::move(b.i), bits);
  if (a.i) return compared(op, std::move(a.i), std::move(b.i), [](std::int64_t v) { return v; });
  if (a.r) return compared(op, std::move(a.r), std::move(b.r), [](double v) { return v; });
  return decided_int(
      Scalar::Bool,
      [equal = op == CompareOp::Eq](const Complex& x, const Complex& y) {
        return std::int64_t{(x == y) == equal};
      },
      [](const Accuracy&, std::int64_t, const BoundedComplex& x, const BoundedComplex& y) {
        return comparison_bound(x, y);
      },
      std::move(a.c), std::move(b.c));
}

namespace {

/// One of two values. With an open condition its bound reaches the other one, as far as that can be
/// evaluated.
template <class Node>
struct Chosen final : Node {
  using Number = typename Node::Number;
  IntPtr condition;
  std::unique_ptr<Node> yes, no;
  bool fixed = false;  // an integer that does not vary
  Number get() const override { return condition->get() ? yes->get() : no->get(); }
  bool varies() const { return !fixed; }
  Bounded<Number> bounded(const Accuracy& a) const override {
    if (fixed) return {get(), 0};
    const BoundedInt c = condition->bounded(a);
    const Bounded<Number> x = (c.v ? yes : no)->bounded(a);
    if (c.e == 0) return x;
    double e = kUndecided;
    try {
      const Bounded<Number> y = (c.v ? no : yes)->bounded(a);
      const double apart = x.v == y.v ? 0 : apart_from(x.v, y.v);
      e = std::max(x.e, apart + y.e);
    } catch (const OutOfBounds&) {  // what the other execution would do is wrong: anything
    } catch (const DivisionByZero&) {}
    return {x.v, e < kUndecided ? e : kUndecided};
  }
  static double apart_from(const Number& x, const Number& y) {
    if constexpr (std::is_same_v<Number, std::int64_t>)
      return std::fabs(static_cast<double>(x) - static_cast<double>(y));
    else
      return size_of_number(x - y);
  }
};

struct ChosenAddress final : AddressNode {
  IntPtr condition;
  AddressPtr yes, no;
  char* get() const override { return condition->get() ? yes->get() : no->get(); }
  BoundedRecord bounded(const Accuracy& a) const override {
    const BoundedInt c = condition->bounded(a);
    BoundedRecord x = (c.v ? yes : no)->bounded(a);
    if (c.e > 0) x.address.sure = false;
    return x;
  }
};

template <class Node>
Value chosen(const Type& t, IntPtr condition, std::unique_ptr<Node> yes, std::unique_ptr<Node> no) {
  auto node = std::make_unique<Chosen<Node>>();
  if constexpr (std::is_same_v<Node, IntNode>)
    node->fixed = !condition->varies() && !yes->varies() && !no->varies();
  node->condition = std::move(condition);
  node->yes = std::move(yes);
  node->no = std::move(no);
  return value_of<Node>(t, std::move(node));
}

}  // namespace

Value select(IntPtr condition, Value yes, Value no) {
  const Type t = yes.type;
  if (yes.i) return chosen(t, std::move(condition), std::move(yes.i), std::move(no.i));
  if (yes.r) return chosen(t, std::move(condition), std::move(yes.r), std::move(no.r));
  if (yes.c) return chosen(t, std::move(condition), std::move(yes.c), std::move(no.c));
  auto node = std::make_unique<ChosenAddress>();
  node->condition = std::move(condition);
  node->yes = std::move(yes.a);
  node->no = std::move(no.a);
  Value v;
  v.type = t;
  v.a = std::move(node);
  return v;
}

}  // namespace moonloop::interp
