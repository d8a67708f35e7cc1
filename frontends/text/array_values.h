#pragma once
#include <functional>
#include <string>
#include <vector>

#include "core/expr/expr.h"
#include "core/model/kernel.h"

/// Expressions whose values are arrays, as NumPy has them: slices, whole arrays, broadcasting,
/// `sum(a, axis=1)`, `a @ b`, `a.T`, `where(c, x, y)`, `einsum("ij,j->i", a, x)`.
namespace moonloop::text {

/// A value with axes: how long these are, and the element at a position, counted from 0 along each.
/// Without axes it is a scalar.
struct ArrayValue {
  Exprs shape;
  std::function<Expr(const Exprs& position)> at;
};

/// What values need of the kernel that they are in.
class ArrayContext {
 public:
  virtual ~ArrayContext() = default;
  /// Null: not an array, or one whose shape is not known.
  virtual const Exprs* shape_of(const std::string& name) const = 0;
  virtual bool is_array(const std::string& name) const = 0;
  virtual const Rule* rule(const std::string& name) const = 0;
  /// Whether a function of that name is defined elsewhere.
  virtual bool is_external(const std::string& name) const = 0;
  /// A new loop `from <= i < to`.
  virtual std::string add_loop(const std::string& base, const Expr& from, const Expr& to,
                               const Span& at) = 0;
  /// Has a statement before this one keep the value in a temporary, whose name it returns.
  virtual std::string keep(const ArrayValue& value, const Span& at) = 0;
  /// Whether two lengths are equal, whatever values parameters have that the kernel assumes.
  virtual bool same_length(const Expr& a, const Expr& b) const = 0;
};

/// Gives expressions their values.
class ArrayValues {
 public:
  explicit ArrayValues(ArrayContext& context) : context_(context) {}

  /// Errors: `shape-mismatch`, `unknown-shape`, `bad-slice`, `bad-axis`, `bad-einsum`.
  ArrayValue of(const Expr& e);
  /// `e`, without axes: numbers below 0 as subscripts count from the end. Where the length of the
  /// axis is not known, that is an error if `strict`; else it stays.
  Expr counted(const Expr& e, bool strict) const;
  /// One axis of a part of an array: its subscripts are `start + step*position`.
  struct Section {
    Expr start, length;
    std::int64_t step = 1;
  };
  /// `length`: of the array's axis; null if that is not known.
  Section section(const Slice& s, const Expr& length, const std::string& array, std::size_t axis,
                  const Span& at) const;
  /// The values spread over one shape, axes aligned from the last.
  Exprs common_shape(const std::vector<const ArrayValue*>& values, const Span& at) const;
  /// The element of `v` that belongs to `position` of a shape that it is spread over.
  static Expr spread(const ArrayValue& v, const Exprs& position);

  /// The loops that an expression is computed in: a reduction that does not depend on all of them
  /// is computed before.
  std::vector<std::string>& scope() { return scope_; }

 private:
  ArrayValue elementwise(const Exprs& parts, std::function<Expr(Exprs)> make, const Span& at);
  ArrayValue part_of(const Load& l, const Span& at);
  /// The part that `index` selects of what has the lengths `declared` along its axes, null where
  /// these are not known; `make` gives its element at subscripts.
  ArrayValue selected(const Exprs& index, const Exprs* declared, const std::string& name,
                      std::function<Expr(Exprs)> make);
  ArrayValue called(const Call& c, const Expr& e);
  ArrayValue reduced(ReduceOp op, const Call& c, const Span& at);
  /// `(a + b)[1:]`
  ArrayValue subscripted(const Call& c, const Span& at);
  ArrayValue product(const Call& c, const Span& at);
  ArrayValue einsum(const Call& c, const Span& at);
  /// A sum of products: `labels` of each value's axes, and of the result's.
  ArrayValue contraction(std::vector<ArrayValue> values, std::vector<std::string> labels,
                         std::string result, const Span& at);
  /// A value that reductions compute, which is kept where it would be computed again, or `always`.
  ArrayValue computed_once(ArrayValue v, const Span& at, bool always = false);

  ArrayContext& context_;
  std::vector<std::string> scope_;
  std::vector<std::string> bound_;  // by reductions over inames around the element
};

/// Whether `e` has a part that only array values have: a slice, an array without subscripts, or one
/// of the functions of arrays. `rows`: fewer subscripts than axes count as well.
bool has_array_parts(const Expr& e, const ArrayContext& context, bool rows = true);
/// Whether the function takes arrays and no kernel, rule or external function has its name.
bool is_array_function(const std::string& name);
/// An index expression in isl's form, where it is affine; else as it is.
Expr simplified(const Expr& e);

/// The labels of `"ij,jk->ik"`; fails `bad-einsum`.
struct EinsumLabels {
  std::vector<std::string> operands;
  std::string result;
};
EinsumLabels einsum_labels(const std::string& text, std::size_t operands, const Span& at);
/// In which order pairs of operands are contracted, the earlier of a pair taking the place of both:
/// the cheapest by the number of products, with `length(label)` as an axis' length. Cost: 3^n for n
/// operands up to 10; from there on the cheapest pair at each step.
std::vector<std::pair<std::size_t, std::size_t>> einsum_order(
    const EinsumLabels& labels, const std::function<double(char)>& length);
/// The labels of the product of operands `a` and `b` that something else still needs.
std::string einsum_pair(const std::vector<std::string>& operands, std::size_t a, std::size_t b,
                        const std::string& result);

}  // namespace moonloop::text
