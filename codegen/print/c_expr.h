#pragma once
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>

#include "codegen/plan/plan.h"
#include "codegen/print/c_names.h"
#include "core/infer/typing.h"

namespace moonloop {

/// Precedence of C operators, loosest first.
enum class Prec {
  Select,
  Or,
  And,
  BitOr,
  BitXor,
  BitAnd,
  Equal,
  Relation,
  Shift,
  Sum,
  Product,
  Unary,
  Postfix
};

/// Prints expressions of the kernel language as C, with the meaning of core/expr/expr.h: operands
/// are converted first where C would compute in another type, floor division where C would
/// truncate. Only parentheses that are needed or that compilers ask for.
class CExpr {
 public:
  CExpr(const Plan& plan, CNames& names, Helpers& helpers);

  /// A value of type `to`: the right side of `=` where `to` is the type on the left.
  std::string value(const Expr& e, const Type& to);
  /// The same as the argument of a function of the library: on devices these are overloaded, so
  /// that it has to be of the type.
  std::string argument(const Expr& e, const Type& to);
  /// As an operand of an operator of precedence `min`.
  std::string operand(const Expr& e, const Type& to, Prec min);
  /// The right side of `op=` where a place of type `to` is on the left.
  std::string addend(const Expr& e, const Type& to);
  std::string condition(const Expr& e);
  /// An expression of integers: loop bounds, subscripts, sizes. May hold calls of kTruncDiv and its
  /// kin. When `wide`, values that 32 bits may not hold are computed in 64.
  std::string index(const Expr& e, bool wide = false, Prec min = Prec::Select);
  /// A number of elements to make room for: 1 where an extent is 0 or below.
  std::string at_least_one(const Expr& elements);
  /// The storage that an assignee or a Load or Var names, as an lvalue. `insn` is the instruction.
  std::string place(const Expr& e);

  /// The instruction whose expressions are printed next: its work-item decides which copies of
  /// expanded temporaries it uses. `values` replace inames.
  void set_instruction(int insn, const std::map<std::string, Expr>& values) {
    insn_ = insn;
    values_ = values;
  }

  /// Names whose values change in the innermost loop that is printed, its iname among them; gives
  /// those of the loop around.
  std::optional<std::set<std::string>> set_changing(std::optional<std::set<std::string>> names) {
    return std::exchange(changing_, std::move(names));
  }

  /// `e` with `values` in the place of inames, of the type that inames have.
  Expr with_values(const Expr& e, const std::map<std::string, Expr>& values) const;

  /// Expressions printed next are evaluated only where inames have values of their domains:
  /// statements. Else, as in bounds and guards, an iname may have any value of its loop, which may
  /// begin below.
  void within_domains(bool yes) { within_domains_ = yes; }
  /// The loop, or the hardware, gives `iname` values from `first` on.
  void runs_from(const std::string& iname, const Expr& first);

  /// Until `end_stand_ins`, which leaves the first `kept` of them, `text` is printed where `what`
  /// is read; with `place`, also where it is written.
  void stand_in(Expr what, std::string text, bool place = false) {
    stand_ins_.push_back({std::move(what), std::move(text), place});
  }
  std::size_t stand_ins() const { return stand_ins_.size(); }
  bool stands_in(const Expr& what) const;
  void end_stand_ins(std::size_t kept) { stand_ins_.resize(kept); }

  /// The text in front of the `{` of a step of the host that is a loop or a guard; empty for
  /// neither.
  std::string host_head(const HostStep& s, const Type& iname);

  Type type(const Expr& e, const std::optional<Type>& wanted = {}) const;
  /// A constant as an initializer.
  std::string constant(const Expr& e, const Type& t);
  /// A complex type in a language that has none.
  bool is_pair(const Type& t) const;
  const Type& type_of_name(const std::string& name) const;

  /// The elements of a temporary, work-items' copies included, per axis.
  Exprs extents(const Temporary& t) const;
  /// Elements as an integer when known.
  std::optional<std::int64_t> elements(const Temporary& t) const;
  /// It is declared with one pair of brackets per axis.
  bool has_axes(const Temporary& t) const;
  bool not_negative(const Expr& e);

 private:
  struct Piece {
    std::string text;
    Prec prec;
    Type type;  // of the C expression as C sees it
  };
  static std::string wrap(const Piece& p, Prec min);
  Piece print(const Expr& e, const std::optional<Type>& wanted);
  Piece converted(const Expr& e, const Type& to, bool explicitly);
  Piece print_unary(const Expr& e, const Unary& x, const std::optional<Type>& wanted);
  Piece print_binary(const Expr& e, const Binary& x, const std::optional<Type>& wanted);
  bool is_slow_for_zeros(const Expr& e, const Binary& x, const Type& t) const;
  Piece print_nary(const Expr& e, const Nary& x, const std::optional<Type>& wanted);
  Piece print_shift(const Expr& e, const Binary& x, const std::optional<Type>& wanted);
  Piece print_compare(const Expr& e, const Compare& x);
  Piece truth(const Expr& e);
  Piece print_call(const Expr& e, const Call& x, const std::optional<Type>& wanted);
  /// Whether the power of a value of the type is a product, or one divided by one.
  bool is_product(int power, const Type& t) const;
  Piece print_power(const Expr& e, const Expr& base, const Expr& exponent,
                    const std::optional<Type>& wanted);
  Piece truncated(const Expr& left, const Expr& right, bool quotient, const Type& t);
  Piece division(const Expr& left, const Expr& right, bool quotient, const Type& t);
  Piece cast(const Piece& p, const Type& to) const;
  Type combined(const Type& x, const Type& y) const;
  bool in_ispc() const { return helpers_.language() == Language::Ispc; }
  bool is_real_beside(const Expr& e, const Type& t) const;
  Piece converted_pair(const Expr& e, const Type& to);
  Piece pair_as(const Piece& p, const Type& to) const;
  Piece pair_call(const std::string& function, const Type& t,
                  const std::vector<std::string>& arguments);
  Piece print_pairs(const Nary& x, const Computation& c);
  Piece print_pair_binary(const Binary& x, const Type& t);
  Piece loaded(const std::string& place, const Type& t);
  Piece stored_as_half(const Expr& e);
  Piece rounded_to_half(const Expr& e);
  Piece extremum(bool min, const Exprs& args, const Type& t);
  Piece literal(std::int64_t v, const Type& t) const;
  Piece real_literal(double v, const Type& t);
  Piece narrowed(const Piece& p, const Type& t) const;
  Computation computation(const Expr& e, const std::optional<Type>& wanted) const;
  std::string number_of(const Load& l);
  bool has_one_axis(const Argument& a) const;
  std::string element(const std::string& array, const Exprs& index, bool linear);
  std::string flat(const Exprs& index, const Exprs& strides, const Exprs& extents,
                   const Expr& offset, bool wide);
  bool may_be_large(const Exprs& extents);

  Piece print_index(const Expr& e, bool wide);
  Piece index_sum(const Expr& e, bool wide, bool in_64);
  Piece index_product(const Expr& e, bool wide, bool in_64);
  Piece widened(const Expr& e);
  Piece cast_to_64(const Piece& p) const;
  bool is_index(const Expr& e) const;
  Scalar index_width(const Expr& e) const;
  /// A choice among integers by a number as one sum, where the number's values allow it.
  std::optional<Expr> as_sum(const Expr& choice);

  // Ranges of integers: codegen/print/c_range.cpp.
  struct Range {
    double low, high;
  };
  bool positive(const Expr& e);
  std::optional<std::int64_t> extreme(const std::string& name, bool least);
  std::optional<std::int64_t> least_where_run(const std::string& name);
  std::optional<std::int64_t> lowest(const std::string& name);
  std::optional<std::int64_t> least(const Expr& e);
  Range range(const Expr& e, bool exactly);
  bool fits(const Expr& e, bool exactly);
  bool fits(const Expr& e);
  bool stays_small(const Expr& e);
  bool plainly_at_most(const Expr& e, std::int64_t most) const;
  std::optional<std::int64_t> greatest(const Expr& e) const;
  bool stays_within(const Expr& e, std::int64_t low, std::int64_t high);
  bool fits_below(const Expr& subscript, const Expr& extent);
  bool grows(const Expr& e);

  const Plan& plan_;
  const Kernel& k_;
  CNames& names_;
  Helpers& helpers_;
  VariableTypes types_;
  Typer typer_;
  std::unordered_map<std::string, const Argument*> args_;
  std::set<std::string> in_bounds_;  // arrays, by claims
  std::map<std::pair<std::string, bool>, std::optional<std::int64_t>> extremes_;
  struct Most {
    std::optional<std::int64_t> value;
    bool exact = false;  // else an expression has perhaps only less
  };
  std::map<std::string, Most> greatest_;  // by expression
  std::map<std::string, bool> stays_within_;
  std::map<std::string, std::optional<std::int64_t>> least_where_run_;
  std::set<std::string> inames_;
  std::map<std::string, std::optional<std::int64_t>> runs_from_;
  bool within_domains_ = false;
  std::set<std::string> linear_;  // temporaries that some subscript takes as flat
  int insn_ = -1;
  std::map<std::string, Expr> values_;
  std::optional<std::set<std::string>> changing_;  // none: outside of loops
  struct StandIn {
    Expr what;
    std::string text;
    bool place;
  };
  std::vector<StandIn> stand_ins_;
};

/// Fortran leaves open which value `min` and `max` give where one of them is no number: a kernel
/// with the claim of Fortran's guarantees does, if all its arrays are from there.
bool has_nans_as_fortran(const Kernel& k);

}  // namespace moonloop
