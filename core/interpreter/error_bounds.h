#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/interpreter/interpreter.h"

/// How far another correct execution of a kernel may be from the interpreter's, element by element.
///
/// The interpreter carries a bound e beside each value v: a target that computes the same thing
/// gets a value v' with |v - v'| <= e (for complex numbers the modulus). It is a running error
/// bound in the sense of Higham, Accuracy and Stability of Numerical Algorithms (2nd ed.), section
/// 3.3, with the standard model of section 2.2: each operation is exact but for a relative error of
/// u, half the distance from 1 to the next number of its type. Only these may differ:
///
///  * An operation on exact operands rounds alike everywhere: e = 0. So copies, negations, integers
///    and single operations must be equal bit for bit. On operands that differ, the two results are
///    rounded separately: the propagated bounds of the operands, and 2u|v|.
///  * Contraction: a product may reach a sum unrounded (a fused multiply-add), also by way of a
///    variable. So an inexact product has e = u|v|, less than its distance to the next number. So
///    have values rounded to float16, which compilers may keep in float32. Without `contract`
///    neither.
///  * Division by way of the reciprocal, where a step says so: that is rounded, and the product, so
///    that a quotient of exact operands has e = 3u|v|, one of others 2u|v| more.
///  * Sums that are declared or recognized as reductions, and updates `a = a + x`, may be added in
///    any order: with n terms t_i, bounds e_i, e = sum e_i + 2(n-1)u sum |t_i| (section 4.2, any
///    order, twice because both executions round); 4(n-1)u on devices, whose matrix units cut
///    instead of rounding: of a product of depth d with d >= 4 they align what they add, d exact
///    products and the sum so far, to the greatest and cut the others off there, then the result
///    (Fasi, Higham, Mikaitis and Pranesh, Numerical behavior of NVIDIA tensor cores, 2021), which
///    is at most 2u sum |t_i| for each of d + 1 cuts. Products, and updates `a = a*x` or `a = a/x`
///    that are atomic or go along a loop that the place lacks: 2u|v| for each factor.
///  * Factors of float32 products rounded to the 11 bits of tf32, where a loop has the tag
///    `mma.tf32`: either execution may, in any product of the kernel. A factor that has no more
///    bits loses nothing.
///  * Functions of the library: each execution may be wrong by the ulps of interpreter_bounds.cpp's
///    table: on the host glibc's (its manual, section 19.7), on devices OpenCL's (OpenCL C 1.2,
///    section 7.4, which CUDA's are within), division and square roots of float32 included. How a
///    function passes on its argument's bound is exact for monotonic functions, else first order,
///    doubled.
///  * Subnormal results: the smallest normal number where devices may flush to zero.
///
/// Where an inexact value decides something, both ways are followed:
///
///  * A comparison whose sides are closer than their bounds is open. `a if c else b` with an open c
///    has a bound that reaches the other value; a statement with an open predicate gets one that
///    reaches the element's value with and without it.
///  * Casts to integers, floors and the like are exact unless the bound reaches over a step; then
///    they have a bound of their own. A cast of what the integer type does not have is undecided.
///  * An element that is read at an open subscript is undecided (e is infinite); a store to one
///    makes the elements that it may hit undecided, and no others. Where a loop's bounds are open,
///    so is all that the loop writes.
///
/// Undecided elements equal anything; the comparison counts them. An infinity or a NaN made from
/// exact operands is exact.
namespace moonloop {

/// Allowed behaviour of the other execution.
struct Accuracy {
  bool contract = true;
  bool device = false;
  bool reciprocals = false;  // see Kernel::reciprocals
  bool unfolded = false;     // sums may be added term by term to what they are added to
  bool tf32 = false;         // factors of float32 products may be rounded to 11 bits
};

/// The bounds of one array, one for each place of its smallest part.
struct Shadow {
  struct Sum {                               // of an accumulator, since it was last set
    double passed = 0, size = 0, count = 0;  // sum of the terms' bounds, of their sizes; how many
  };
  const Accuracy* accuracy = nullptr;
  const char* origin = nullptr;
  int shift = 0;  // a place has 1 << shift bytes
  std::vector<double> bounds;
  std::vector<Sum> sums;  // of variables that are summed up, else empty

  std::size_t place(const char* p) const { return static_cast<std::size_t>(p - origin) >> shift; }
  double& at(const char* p) { return bounds[place(p)]; }
};

/// The bounds of all arrays that a run wrote.
struct ErrorBounds {
  Accuracy accuracy;
  std::map<std::string, Shadow> arrays;

  /// The bound of the scalar at `p` in an array; 0 for arrays that the run only read.
  double of(const std::string& array, const void* p) const;
};

/// interpret() with bounds: fills `out.arrays` according to out.accuracy. Takes about twice the
/// time and, for each number written, eight bytes.
void interpret(const Kernel& k, Bindings& data, ErrorBounds& out);

}  // namespace moonloop
