#include "codegen/plan/isl_expr.h"

#include "codegen/plan/bounds.h"
#include "core/base/diagnostic.h"

namespace moonloop {
namespace {

AstExpr argument(const AstExpr& e, int i) { return isl_ast_expr_get_op_arg(e.get(), i); }

bool is_sum(const Expr& e) {
  const auto* n = e.as<Nary>();
  return n && n->op == NaryOp::Add;
}

/// isl's comparisons as a person writes them: `i < 10` for `i <= 9`, `4*i + 1 < n` for
/// `n >= 4*i + 2`.
Expr compare(CompareOp op, const Exprs& a) {
  Expr left = a[0], right = a[1];
  if ((op == CompareOp::Ge || op == CompareOp::Gt) && is_sum(right) && !is_sum(left)) {
    std::swap(left, right);
    op = op == CompareOp::Ge ? CompareOp::Le : CompareOp::Lt;
  }
  const auto constant = [](const Expr& e) -> std::int64_t {
    if (const auto n = as_int(e)) return *n;
    return is_sum(e) ? as_int(e.as<Nary>()->terms.back()).value_or(0) : 0;
  };
  if (op == CompareOp::Le && (constant(left) > 0 || constant(right) == -1 || as_int(right))) {
    op = CompareOp::Lt;
    if (constant(left) > 0) {
      left = index_sub(left, lit(1));
    } else {
      right = index_add({right, lit(1)});
    }
  }
  return Expr(Compare{op, left, right});
}

/// min(min(a, b), c) as min(a, b, c).
Expr extremum(const char* name, const Exprs& args) {
  Exprs all;
  for (const Expr& a : args) {
    const auto* c = a.as<Call>();
    if (c && c->name == name) {
      all.insert(all.end(), c->args.begin(), c->args.end());
    } else {
      all.push_back(a);
    }
  }
  return call(name, std::move(all));
}

/// isl writes `1 = 0` where one of the alternatives is left without instances.
bool never(const Expr& e) {
  const auto* c = e.as<Compare>();
  if (!c || c->op != CompareOp::Eq) return false;
  const auto left = as_int(c->left), right = as_int(c->right);
  return left && right && *left != *right;
}

/// (a or b) or c as a or b or c.
Expr disjunction(const Exprs& args) {
  Exprs all;
  for (const Expr& a : args) {
    const auto* n = a.as<Nary>();
    if (n && n->op == NaryOp::Or)
      all.insert(all.end(), n->terms.begin(), n->terms.end());
    else if (!never(a))
      all.push_back(a);
  }
  if (all.empty()) return args[0];
  return all.size() == 1 ? all[0] : Expr(Nary{NaryOp::Or, all});
}

Expr operation(const AstExpr& e) {
  Exprs a;
  const int n = count(isl_ast_expr_get_op_n_arg(e.get()));
  for (int i = 0; i < n; ++i) a.push_back(from_isl(argument(e, i)));
  switch (isl_ast_expr_get_op_type(e.get())) {
    case isl_ast_expr_op_and:
    case isl_ast_expr_op_and_then: return conjunction(a);
    case isl_ast_expr_op_or:
    case isl_ast_expr_op_or_else: return disjunction(a);
    case isl_ast_expr_op_max: return extremum("max", a);
    case isl_ast_expr_op_min: return extremum("min", a);
    case isl_ast_expr_op_minus: return index_mul(lit(-1), a[0]);
    case isl_ast_expr_op_add: return index_add(a);
    case isl_ast_expr_op_sub: return index_sub(a[0], a[1]);
    case isl_ast_expr_op_mul: return index_mul(a[0], a[1]);
    case isl_ast_expr_op_div:
    case isl_ast_expr_op_pdiv_q: return call(kTruncDiv, a);
    case isl_ast_expr_op_fdiv_q: return Expr(Binary{BinaryOp::FloorDiv, a[0], a[1]});
    case isl_ast_expr_op_pdiv_r:
    case isl_ast_expr_op_zdiv_r: return call(kTruncMod, a);
    case isl_ast_expr_op_cond:
    case isl_ast_expr_op_select: return Expr(Select{a[0], a[1], a[2]});
    case isl_ast_expr_op_eq: return compare(CompareOp::Eq, a);
    case isl_ast_expr_op_le: return compare(CompareOp::Le, a);
    case isl_ast_expr_op_lt: return compare(CompareOp::Lt, a);
    case isl_ast_expr_op_ge: return compare(CompareOp::Ge, a);
    case isl_ast_expr_op_gt: return compare(CompareOp::Gt, a);
    case isl_ast_expr_op_call:
    case isl_ast_expr_op_access:
    case isl_ast_expr_op_member:
    case isl_ast_expr_op_address_of:
    case isl_ast_expr_op_error: break;
  }
  throw InternalError("an unexpected operation from isl");
}

/// Where a condition on integers does not hold.
Expr otherwise(const Expr& cond) {
  const auto* c = cond.as<Compare>();
  if (!c) return negation(cond);
  const auto opposite = [](CompareOp op) {
    switch (op) {
      case CompareOp::Eq: return CompareOp::Ne;
      case CompareOp::Ne: return CompareOp::Eq;
      case CompareOp::Lt: return CompareOp::Ge;
      case CompareOp::Le: return CompareOp::Gt;
      case CompareOp::Gt: return CompareOp::Le;
      case CompareOp::Ge: return CompareOp::Lt;
    }
    throw InternalError("no such comparison");
  };
  return Expr(Compare{opposite(c->op), c->left, c->right});
}

Block with_value(const std::string& iname, const Expr& value, Block body, Scalar index) {
  if (body.empty()) return {};
  if (!as_int(value) && !value.as<Var>()) return {Stmt{Scope{iname, value, std::move(body)}}};
  substitute(body, iname, value, index);
  return body;
}

Block read(const AstNode& node, const std::string& iname, Scalar index,
           const std::function<Block()>& body, bool inside);

/// `inside`: of a loop over the iname; then the loop is over the one point of the schedule's value.
Block loop(const AstNode& node, const std::string& iname, Scalar index,
           const std::function<Block()>& body, bool inside) {
  AstExpr iterator = isl_ast_node_for_get_iterator(node.get());
  Loop out;
  out.iname = from_isl(iterator).as<Var>()->name;
  ensure(out.iname == iname, "a loop of isl over something else");
  out.lower = from_isl(AstExpr(isl_ast_node_for_get_init(node.get())));
  out.body = read(AstNode(isl_ast_node_for_get_body(node.get())), iname, index, body, true);
  if (out.body.empty() || inside) return std::move(out.body);
  if (yes(isl_ast_node_for_is_degenerate(node.get())))
    return with_value(out.iname, out.lower, std::move(out.body), index);
  AstExpr cond = isl_ast_node_for_get_cond(node.get());
  const isl_ast_expr_op_type op = isl_ast_expr_get_op_type(cond.get());
  ensure(op == isl_ast_expr_op_le || op == isl_ast_expr_op_lt,
         "a loop that ends at no upper bound");
  out.upper = from_isl(argument(cond, 1));
  out.inclusive = op == isl_ast_expr_op_le;
  polish_bounds(out);
  out.step = as_int(from_isl(AstExpr(isl_ast_node_for_get_inc(node.get())))).value();
  return {Stmt{std::move(out)}};
}

}  // namespace

Expr from_isl(const AstExpr& e) {
  switch (isl_ast_expr_get_type(e.get())) {
    case isl_ast_expr_op: return operation(e);
    case isl_ast_expr_id: {
      Id id = isl_ast_expr_id_get_id(e.get());
      return var(isl_id_get_name(id.get()));
    }
    case isl_ast_expr_int: return lit(to_int(Val(isl_ast_expr_int_get_val(e.get()))));
    case isl_ast_expr_error: break;
  }
  throw_isl();
}

namespace {

Block read(const AstNode& node, const std::string& iname, Scalar index,
           const std::function<Block()>& body, bool inside) {
  switch (isl_ast_node_get_type(node.get())) {
    case isl_ast_node_for: return loop(node, iname, index, body, inside);
    case isl_ast_node_if: {
      // isl distinguishes cases where parts of a range begin or end in another order. Nothing in
      // the loop changes the names in the condition.
      const Expr cond = from_isl(AstExpr(isl_ast_node_if_get_cond(node.get())));
      Block then = read(AstNode(isl_ast_node_if_get_then_node(node.get())), iname, index, body,
                        inside),
            out;
      if (!then.empty()) out.push_back(Stmt{If{cond, std::move(then)}});
      if (!yes(isl_ast_node_if_has_else_node(node.get()))) return out;
      Block other =
          read(AstNode(isl_ast_node_if_get_else_node(node.get())), iname, index, body, inside);
      if (!other.empty()) out.push_back(Stmt{If{otherwise(cond), std::move(other)}});
      return out;
    }
    case isl_ast_node_block: {
      isl_ast_node_list* list = isl_ast_node_block_get_children(node.get());
      const int n = count(isl_ast_node_list_n_ast_node(list));
      Block out;
      for (int i = 0; i < n; ++i) {
        Block part =
            read(AstNode(isl_ast_node_list_get_ast_node(list, i)), iname, index, body, inside);
        std::move(part.begin(), part.end(), std::back_inserter(out));
      }
      isl_ast_node_list_free(list);
      return out;
    }
    case isl_ast_node_mark:
      return read(AstNode(isl_ast_node_mark_get_node(node.get())), iname, index, body, inside);
    case isl_ast_node_user: {  // a call with the value of the iname
      AstExpr call = isl_ast_node_user_get_expr(node.get());
      const Expr value = from_isl(argument(call, 1));
      const auto* v = value.as<Var>();
      return v && v->name == iname ? body() : with_value(iname, value, body(), index);
    }
    case isl_ast_node_error: break;
  }
  throw_isl();
}

}  // namespace

AstBuild build_within(const Set& context, Space space) {
  return isl_ast_build_from_context(isl_set_align_params(context.copy(), space.take()));
}

Expr value_of(Aff a, const Set& context) {
  a = isl_aff_project_domain_on_params(a.take());
  if (yes(isl_aff_is_cst(a.get())))
    if (const Val v = isl_aff_get_constant_val(a.get()); yes(isl_val_is_int(v.get())))
      return lit(to_int(v));
  const AstBuild build = build_within(context, isl_aff_get_domain_space(a.get()));
  return from_isl(
      AstExpr(isl_ast_build_expr_from_pw_aff(build.get(), isl_pw_aff_from_aff(a.take()))));
}

isl_id_list* iterators_of(const std::string& iname) {
  isl_id_list* out = isl_id_list_alloc(isl(), 2);
  for (int i = 0; i < 2; ++i)
    out = isl_id_list_add(out, isl_id_alloc(isl(), iname.c_str(), nullptr));
  return out;
}

Block from_isl(const AstNode& node, const std::string& iname, Scalar index,
               const std::function<Block()>& body) {
  return read(node, iname, index, body, false);
}

}  // namespace moonloop
