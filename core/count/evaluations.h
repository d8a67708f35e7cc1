#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/count/count.h"
#include "core/infer/program_points.h"
#include "core/infer/typing.h"
#include "core/model/kernel.h"

namespace moonloop {

/// `a[i]` of `a[i].x.y`; other expressions themselves.
const Expr& innermost(const Expr& e);

/// One thing that a kernel evaluates: at each instance of its point, once.
struct Evaluation {
  enum Kind {
    Value,   // `expr` is evaluated: an operation, a load (or a field of one), a literal, …
    Write,   // `expr`, a Var, a Load or a Field of them, is written
    Update,  // a reduction takes in a value; `expr` is its accumulator
  } kind = Value;
  const Instruction* insn = nullptr;
  Expr expr;
  std::optional<Type> wanted;  // of the context, to which literals adapt
  int point = -1;
  bool aside = false;  // in a subscript or a predicate: not part of the statement's computation
};

/// All that a kernel evaluates, and how often: the basis of its counts.
///
/// Reductions count as what they become: a loop of updates, whose values are evaluated at each
/// point. Predicates are evaluated at each instance of their loops, one after the other until one
/// fails, but not again by a reduction in the statement. Of `a if c else b`, `and` and `or` only
/// what is needed counts. What external functions do, and what is passed to them, is not seen.
class Evaluations {
 public:
  explicit Evaluations(const Kernel& k);  // any kernel
  Evaluations(const Evaluations&) = delete;
  Evaluations& operator=(const Evaluations&) = delete;

  const Kernel& kernel() const { return kernel_; }  // completed, reductions realized
  const Typer& typer() const { return typer_; }
  ProgramPoints& program_points() { return program_points_; }

  /// Children before parents, statement by statement.
  void for_each(const std::function<void(const Evaluation&)>& visit);

  /// How often it is evaluated: a bound, not exact, where conditions depend on data. Fails
  /// `data-dependent-count` where loop bounds do, and as count_set() does. With `per_subgroup`, a
  /// group counts once per that many of its work-items, rounded up.
  const Count& instances(const Evaluation& e, std::optional<std::int64_t> per_subgroup = {});
  /// The instances themselves, whose parameters may be computed.
  const Set& points(const Evaluation& e) { return program_points_.instances(e.point); }
  /// Fails `data-dependent-count` where they are computed.
  void require_known(const Evaluation& e);

 private:
  using Frame = ProgramPoints::Frame;
  void statement(const Instruction& insn);
  void visit(const Expr& e, Frame& frame, const std::optional<Type>& wanted);
  void visit_aside(const Exprs& all, Frame& frame);
  void written(const Expr& target, Frame& frame);
  void report(Evaluation::Kind kind, const Expr& e, Frame& frame,
              const std::optional<Type>& wanted);
  Count subgroups(const Evaluation& e, const Set& points, std::int64_t size) const;

  Kernel kernel_;
  Typer typer_;
  ProgramPoints program_points_;
  const std::function<void(const Evaluation&)>* visit_ = nullptr;
  const Instruction* insn_ = nullptr;
  bool aside_ = false;
  std::map<std::pair<int, std::int64_t>, Count> counts_;
};

}  // namespace moonloop
