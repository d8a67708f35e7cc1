#pragma once
#include <complex>
#include <cstdint>
#include <memory>
#include <unordered_set>
#include <vector>

#include "core/expr/expr.h"
#include "core/expr/type.h"
#include "core/interpreter/error_bounds.h"

/// The interpreter's form of expressions: trees of small objects with one virtual call each.
///
/// Integers of all types travel as int64: signed ones as their value, unsigned ones as theirs,
/// 64-bit unsigned ones as their bits. Reals travel as double, single ones exactly; every operation
/// rounds to its type.
///
/// `get` returns a value; `bounded`, which runs that carry error bounds
/// (core/interpreter/error_bounds.h) call instead, returns the same value and its bound.
namespace moonloop::interp {

using Complex = std::complex<double>;

/// A value and how far another execution's may be from it: 0 for the same value, infinite for any.
template <class V>
struct Bounded {
  V v;
  double e;
};
using BoundedInt = Bounded<std::int64_t>;
using BoundedReal = Bounded<double>;
using BoundedComplex = Bounded<Complex>;

struct IntNode {
  using Number = std::int64_t;
  virtual ~IntNode() = default;
  virtual std::int64_t get() const = 0;
  /// Whether the bound may be anything but 0.
  virtual bool varies() const { return false; }
  virtual BoundedInt bounded(const Accuracy&) const { return {get(), 0}; }
};
struct RealNode {
  using Number = double;
  virtual ~RealNode() = default;
  virtual double get() const = 0;
  virtual BoundedReal bounded(const Accuracy&) const = 0;
};
struct ComplexNode {
  using Number = Complex;
  virtual ~ComplexNode() = default;
  virtual Complex get() const = 0;
  virtual BoundedComplex bounded(const Accuracy&) const = 0;
};
/// An address, and whether every other execution is sure to be there too.
struct BoundedAddress {
  char* at = nullptr;
  bool sure = true;
};
/// The same of a record, with its bounds: null for an exact one.
struct BoundedRecord {
  BoundedAddress address;
  Shadow* shadow = nullptr;
};
/// The address of a record.
struct AddressNode {
  virtual ~AddressNode() = default;
  virtual char* get() const = 0;
  virtual BoundedRecord bounded(const Accuracy&) const = 0;
};
using IntPtr = std::unique_ptr<IntNode>;
using RealPtr = std::unique_ptr<RealNode>;
using ComplexPtr = std::unique_ptr<ComplexNode>;
using AddressPtr = std::unique_ptr<AddressNode>;

/// A compiled expression: the pointer for its type is set.
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
  char* const* data = nullptr;  // where the array says that it begins: copies may move
  std::vector<Axis> axes;
  std::int64_t offset = 0;  // bytes: of a record's field
  Expr shown;
  std::unordered_set<std::ptrdiff_t>* touched = nullptr;  // elements, for a tally
  Shadow* shadow = nullptr;                               // bounds, where they are carried

  char* at() const {
    char* p = *data + offset;
    for (const Axis& x : axes) {
      const std::int64_t v = x.index.get() - x.base;
      if (static_cast<std::uint64_t>(v) >= static_cast<std::uint64_t>(x.extent)) [[unlikely]]
        leave(x, v);
      p += v * x.stride;
    }
    if (touched) [[unlikely]]
      touched->insert(p - offset - *data);
    return p;
  }
  [[noreturn]] void leave(const Axis& axis, std::int64_t index) const;
  /// Whether another execution may be at another element.
  bool varies() const;
  BoundedAddress bounded(const Accuracy& a) const;
  /// Makes all elements undecided that another execution may be at.
  void blur(const Accuracy& a) const;
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
  /// In place of `commit`, where another execution may do the opposite: writes if `taken`, and
  /// bounds the element's value with and without the store.
  virtual void commit_open(bool taken) {
    if (taken) commit();
  }
  /// The bounds of what it writes; null where that is exact.
  virtual Shadow* shadow() const { return nullptr; }
};
/// `value` has type `to`.
std::unique_ptr<Store> store(Access to, const Type& t, Value value);
/// The same with the bounds that the access has (interpreter_stores.cpp).
std::unique_ptr<Store> bounded_store(Access to, const Type& t, Value value);

/// The accumulator that a term is, or is the negative of.
struct AddedSum {
  std::size_t term = 0;
  Access accumulator;
};

/// One step of a sum: the variable becomes the sum of the terms, from left to right; the one at
/// `place` is the variable itself (terms[place] is empty). The terms count as added in any order
/// with those of the steps before. Where `restart` holds the sum starts anew with the term.
struct SumStep {
  std::size_t place = 0;
  std::vector<Value> terms;
  IntPtr restart = nullptr;
  bool wide = false;                // added up in double precision, kept in single precision
  std::vector<AddedSum> sums = {};  // whose own terms may be added one by one instead
};
/// `to` has bounds with sums; `t` is real or complex.
std::unique_ptr<Store> sum_store(Access to, const Type& t, SumStep step);

// ---- Operators (interpreter_operators.cpp, interpreter_functions.cpp) ---------------------------

/// Operands and the result have type `t`. With `wide`, signed integers keep 64 bits.
Value negate(const Type& t, Value v, bool wide);
Value bit_not(const Type& t, Value v, bool wide);
Value binary(BinaryOp op, const Type& t, Value a, Value b, bool wide);
Value nary(NaryOp op, const Type& t, std::vector<Value> terms, bool wide);
/// Operands have the same type, or are int64 and uint64.
Value compare(CompareOp op, Value a, Value b);
Value select(IntPtr condition, Value yes, Value no);
/// The product `v` of an accumulator and a factor: factors come in any order.
Value in_any_order(Value v);
/// The sum `v` of such accumulators and other terms, whose own terms may be added one by one.
Value term_by_term(Value v, std::vector<AddedSum> sums);
/// `args` as Typer::computation says.
Value function(const std::string& name, const Type& result, std::vector<Value> args);

}  // namespace moonloop::interp
