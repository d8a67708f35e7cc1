#pragma once
#include <functional>

#include "codegen/plan/ast.h"
#include "core/sets/isl.h"

namespace moonloop {

/// An expression of isl's AST as ours: identifiers by name; divisions whose dividend isl knows to
/// be nonnegative become calls of kTruncDiv and kTruncMod.
Expr from_isl(const AstExpr& e);

/// What writes expressions with the parameters of `space` for the points of `context`. isl reads
/// the constraints of a context that lacks some of these parameters at wrong places, and takes
/// remainders for what they are not.
AstBuild build_within(const Set& context, Space space);

/// The value of `a`, a function of parameters, at the points of `context`.
Expr value_of(Aff a, const Set& context);

/// The iterators to give isl for a schedule by one iname. Where isl does not see that a value of
/// the schedule has one point, it makes a loop over the points in that of the schedule.
isl_id_list* iterators_of(const std::string& iname);

/// The loop or loops of `iname` as isl built them, with `body` below. Where the iname has one value
/// only, there is no loop: the value is substituted, or named first when it is a longer expression.
/// `index`: the type of inames.
Block from_isl(const AstNode& node, const std::string& iname, Scalar index,
               const std::function<Block()>& body);

}  // namespace moonloop
