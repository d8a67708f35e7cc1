#include "frontends/fortran/in_turn.h"

#include "frontends/fortran/names.h"
#include "frontends/fortran/sections.h"
#include "frontends/fortran/uses.h"

namespace moonloop::fortran {
namespace {

class InTurn {
 public:
  InTurn(NaryOp op, Routine& routine, const Span& at, Body& out)
      : op_(op), r_(routine), at_(at), out_(out) {}

  /// Adds an operand, and what has to run before it.
  void add(const Expr& operand, Body before) {
    arrays_ = arrays_ || !axes_of(operand, r_).empty();
    if (!before.empty() && !so_far_.empty() && !arrays_)
      so_far_ = {decided(operand, std::move(before))};
    else {
      append(std::move(before), out_);
      so_far_.push_back(operand);
    }
  }

  Expr value(const Span& at) const {
    return so_far_.size() == 1 ? so_far_[0] : Expr(Nary{op_, so_far_}, at);
  }

 private:
  /// A variable that has the value of the operands so far and, where they leave it open, of this
  /// one.
  Expr decided(const Expr& operand, Body before) {
    const bool all = op_ == NaryOp::And;
    const Expr earlier = value(at_);
    const Expr out = new_scalar(r_, all ? "both" : "either", Scalar::Bool, at_);
    before.push_back({at_, Assignment{out, operand}});
    Body known{{at_, Assignment{out, Expr(BoolLit{!all}, at_)}}};
    Choice c;
    c.arms.push_back(
        {all ? earlier : negation(earlier), std::make_shared<Body>(std::move(before))});
    c.arms.push_back({Expr(), std::make_shared<Body>(std::move(known))});
    out_.push_back({at_, std::move(c)});
    return out;
  }

  NaryOp op_;
  Routine& r_;
  Span at_;
  Body& out_;
  Exprs so_far_;
  bool arrays_ = false;
};

}  // namespace

Expr operands_in_turn(const Expr& e, Routine& routine, const Span& at, Body& out,
                      const std::function<Expr(const Expr&, Body&)>& value) {
  const auto* n = e.as<Nary>();
  if (!n || (n->op != NaryOp::And && n->op != NaryOp::Or)) return {};
  InTurn all(n->op, routine, at, out);
  for (const Expr& term : n->terms) {
    Body before;
    const Expr operand = value(term, before);
    all.add(operand, std::move(before));
  }
  return all.value(e.at());
}

}  // namespace moonloop::fortran
