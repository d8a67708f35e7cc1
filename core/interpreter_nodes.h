#pragma once
#include <complex>
#include <cstdint>
#include <memory>
#include <unordered_set>
#include <vector>

#include "core/expr.h"
#include "core/type.h"

/// What the interpreter compiles expressions to: trees of small objects with one virtual call each.
///
/// Integers of all types travel as int64: signed ones as their value, unsigned ones as theirs,
/// 64-bit unsigned ones as their bits. Reals travel as double, single ones exactly; every operation
/// rounds to its type.
namespace moonloop::interp {

using Complex = std::complex<double>;

struct IntNode {
  virtual ~IntNode() = default;
  virtual std::int64_t get() const = 0;
};
struct RealNode {
  virtual ~RealNode() = default;
  virtual double get() const = 0;
};
struct ComplexNode {
  virtual ~ComplexNode() = default;
  virtual Complex get() const = 0;
};
/// Where a record stands.
struct AddressNode {
  virtual ~AddressNode() = default;
  virtual char* get() const = 0;
};
using IntPtr = std::unique_ptr<IntNode>;
using RealPtr = std::unique_ptr<RealNode>;
using ComplexPtr = std::unique_ptr<ComplexNode>;
using AddressPtr = std::unique_ptr<AddressNode>;

/// A compiled expression: the pointer that its type asks for is set.
struct Value {
  Type type;
  IntPtr i;  // bool and integers
  RealPtr r;
  ComplexPtr c;
  AddressPtr a;
};

/// Thrown while a kernel runs; the interpreter adds the instance.
struct OutOfBounds {
  const Expr* access;
  std::size_t axis;
  std::int64_t index, extent;
};
struct DivisionByZero {};

/// A subscript: linear in loop variables, or any expression.
struct Subscript {
  struct Term {
    const std::int64_t* slot;
    std::int64_t factor;
  };
  std::int64_t constant = 0;
  std::vector<Term> terms;
  IntPtr general;

  std::int64_t get() const {
    if (general) return general->get();
    std::int64_t v = constant;
    for (const Term& t : terms) v += t.factor * *t.slot;
    return v;
  }
};

/// An element of an array. Every subscript is checked.
struct Access {
  struct Axis {
    Subscript index;
    std::int64_t extent, stride;  // elements; bytes
    std::int64_t base = 0;        // subtracted from the index
  };
  char* data = nullptr;
  std::vector<Axis> axes;
  std::int64_t offset = 0;  // bytes: of a record's field
  Expr shown;
  std::unordered_set<const char*>* touched = nullptr;  // elements, for a tally

  char* at() const {
    char* p = data + offset;
    for (const Axis& x : axes) {
      const std::int64_t v = x.index.get() - x.base;
      if (static_cast<std::uint64_t>(v) >= static_cast<std::uint64_t>(x.extent)) [[unlikely]]
        leave(x, v);
      p += v * x.stride;
    }
    if (touched) [[unlikely]]
      touched->insert(p - offset);
    return p;
  }
  [[noreturn]] void leave(const Axis& axis, std::int64_t index) const;
};

// ---- Building (interpreter_values.cpp) --------------------------------------------------------

Value constant(const Type& t, std::int64_t i);
Value constant(const Type& t, Complex c);
/// The value of a loop variable or of a parameter that changes.
Value slot(const Type& t, const std::int64_t* at);
Value load(const Type& t, Access a);
/// As C converts, but a complex number loses its imaginary part, and bool is "not zero".
Value convert(Value v, const Type& to);
/// 1 where the value is not zero.
IntPtr truth(Value v);

/// Stores a value. `prepare` evaluates the value and the address, `commit` writes.
struct Store {
  virtual ~Store() = default;
  virtual void prepare() = 0;
  virtual void commit() = 0;
};
/// `value` has type `to`.
std::unique_ptr<Store> store(Access to, const Type& t, Value value);

// ---- Operators (interpreter_operators.cpp, interpreter_functions.cpp) ---------------------------

/// Operands have type `t`, and so has the result. In `wide` signed integers keep 64 bits.
Value negate(const Type& t, Value v, bool wide);
Value bit_not(const Type& t, Value v, bool wide);
Value binary(BinaryOp op, const Type& t, Value a, Value b, bool wide);
Value nary(NaryOp op, const Type& t, std::vector<Value> terms, bool wide);
/// Operands have the same type.
Value compare(CompareOp op, Value a, Value b);
Value select(IntPtr condition, Value yes, Value no);
/// `args` as Typer::operand_type says.
Value function(const std::string& name, const Type& result, std::vector<Value> args);

}  // namespace moonloop::interp
