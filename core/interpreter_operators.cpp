#include <cmath>

#include "core/interpreter_scalars.h"

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

template <class T>
std::int64_t shifted(BinaryOp op, std::int64_t a, std::int64_t n) {
  if (op == BinaryOp::Shl) return n < 0 || n > 63 ? 0 : wrapped<T>(bits(a) << n);
  if constexpr (std::is_unsigned_v<T>) return n < 0 || n > 63 ? 0 : wrapped<T>(bits(a) >> n);
  return n < 0 || n > 63 ? (a < 0 ? -1 : 0) : a >> n;
}

template <class T>
Value int_binary(BinaryOp op, const Type& t, IntPtr a, IntPtr b) {
  const auto node = [&](auto f) {
    return int_value(t, [f, a = std::move(a), b = std::move(b)] { return f(a->get(), b->get()); });
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
template <class Node, class F, class Make>
Value fold(std::vector<std::unique_ptr<Node>> terms, F f, Make make) {
  if (terms.size() == 2)
    return make(
        [f, a = std::move(terms[0]), b = std::move(terms[1])] { return f(a->get(), b->get()); });
  return make([f, terms = std::move(terms)] {
    auto v = terms[0]->get();
    for (std::size_t i = 1; i < terms.size(); ++i) v = f(v, terms[i]->get());
    return v;
  });
}

template <class T>
Value int_nary(NaryOp op, const Type& t, std::vector<IntPtr> terms) {
  using I = std::int64_t;
  const auto node = [&](auto f) {
    return fold(std::move(terms), f, [&](auto g) { return int_value(t, std::move(g)); });
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
  return y == R{2} ? x * x : std::pow(x, y);
}

template <class R>
Value real_binary(BinaryOp op, const Type& t, RealPtr a, RealPtr b) {
  const auto node = [&](auto f) {
    return real_value(t, [f, a = std::move(a), b = std::move(b)] {
      return static_cast<double>(f(static_cast<R>(a->get()), static_cast<R>(b->get())));
    });
  };
  switch (op) {
    case BinaryOp::Div: return node([](R x, R y) { return x / y; });
    case BinaryOp::FloorDiv: return node([](R x, R y) { return std::floor(x / y); });
    case BinaryOp::Mod:
      return node([](R x, R y) {
        const R r = std::fmod(x, y);
        return r != 0 && (r < 0) != (y < 0) ? r + y : r;
      });
    case BinaryOp::Pow: return node(real_power<R>);
    case BinaryOp::Shl:
    case BinaryOp::Shr: break;
  }
  throw InternalError("interpreter: a shift of reals");
}

template <class R>
Value complex_binary(BinaryOp op, const Type& t, ComplexPtr a, ComplexPtr b) {
  using C = std::complex<R>;
  const auto node = [&](auto f) {
    return complex_value(t, [f, a = std::move(a), b = std::move(b)] {
      return widen(f(narrow<R>(a->get()), narrow<R>(b->get())));
    });
  };
  if (op == BinaryOp::Div) return node([](C x, C y) { return x / y; });
  if (op == BinaryOp::Pow) return node([](C x, C y) { return y == C{2} ? x * x : std::pow(x, y); });
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
      return int_value(
          t, [x = std::move(v.i)] { return wrapped<decltype(zero)>(0 - bits(x->get())); });
    });
  if (holds_real(t)) return real_value(t, [x = std::move(v.r)] { return -x->get(); });
  return complex_value(t, [x = std::move(v.c)] { return -x->get(); });
}

Value bit_not(const Type& t, Value v, bool wide) {
  return with_computed(t.scalar, wide, [&](auto zero) {
    return int_value(t, [x = std::move(v.i)] { return wrapped<decltype(zero)>(~bits(x->get())); });
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

Value nary(NaryOp op, const Type& t, std::vector<Value> terms, bool wide) {
  if (op == NaryOp::And || op == NaryOp::Or) {
    std::vector<IntPtr> all = pointers(terms, &Value::i);
    const bool stop = op == NaryOp::Or;
    return int_value(t, [stop, all = std::move(all)] {
      for (const IntPtr& x : all)
        if ((x->get() != 0) == stop) return std::int64_t{stop};
      return std::int64_t{!stop};
    });
  }
  if (holds_int(t))
    return with_computed(t.scalar, wide, [&](auto zero) {
      return int_nary<decltype(zero)>(op, t, pointers(terms, &Value::i));
    });
  const bool sum = op == NaryOp::Add;
  return with_real(t.scalar, [&](auto zero) {
    using R = decltype(zero);
    if (holds_real(t)) {
      const auto make = [&](auto g) { return real_value(t, std::move(g)); };
      // A double has more than twice a float's digits, so that rounding twice is rounding once.
      const auto add = [](double x, double y) {
        return static_cast<double>(static_cast<R>(x + y));
      };
      const auto times = [](double x, double y) {
        return static_cast<double>(static_cast<R>(x * y));
      };
      return sum ? fold(pointers(terms, &Value::r), add, make)
                 : fold(pointers(terms, &Value::r), times, make);
    }
    const auto make = [&](auto g) { return complex_value(t, std::move(g)); };
    const auto add = [](Complex x, Complex y) { return widen(narrow<R>(x) + narrow<R>(y)); };
    const auto times = [](Complex x, Complex y) { return widen(narrow<R>(x) * narrow<R>(y)); };
    return sum ? fold(pointers(terms, &Value::c), add, make)
               : fold(pointers(terms, &Value::c), times, make);
  });
}

namespace {

template <class Node, class Convert>
Value compared(CompareOp op, std::unique_ptr<Node> a, std::unique_ptr<Node> b, Convert as) {
  const auto node = [&](auto f) {
    return int_value(Scalar::Bool, [f, as, a = std::move(a), b = std::move(b)] {
      return std::int64_t{f(as(a->get()), as(b->get()))};
    });
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
  if (a.i && a.type == Type(Scalar::U64)) return compared(op, std::move(a.i), std::move(b.i), bits);
  if (a.i) return compared(op, std::move(a.i), std::move(b.i), [](std::int64_t v) { return v; });
  if (a.r) return compared(op, std::move(a.r), std::move(b.r), [](double v) { return v; });
  const bool equal = op == CompareOp::Eq;
  return int_value(Scalar::Bool, [equal, x = std::move(a.c), y = std::move(b.c)] {
    return std::int64_t{(x->get() == y->get()) == equal};
  });
}

namespace {

struct ChosenAddress final : AddressNode {
  IntPtr condition;
  AddressPtr yes, no;
  char* get() const override { return condition->get() ? yes->get() : no->get(); }
};

}  // namespace

Value select(IntPtr condition, Value yes, Value no) {
  const Type t = yes.type;
  if (yes.i)
    return int_value(t, [c = std::move(condition), y = std::move(yes.i), n = std::move(no.i)] {
      return c->get() ? y->get() : n->get();
    });
  if (yes.r)
    return real_value(t, [c = std::move(condition), y = std::move(yes.r), n = std::move(no.r)] {
      return c->get() ? y->get() : n->get();
    });
  if (yes.c)
    return complex_value(t, [c = std::move(condition), y = std::move(yes.c), n = std::move(no.c)] {
      return c->get() ? y->get() : n->get();
    });
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
