#include "core/count/strides.h"

#include <algorithm>
#include <set>

#include "core/infer/infer.h"
#include "core/model/layout.h"
#include "core/order/check_kernel.h"
#include "core/sets/budget.h"

namespace moonloop {
namespace {

/// The factor of `name` in sums of names, their products with one number, and quotients that do not
/// depend on it; nothing for others.
std::optional<std::int64_t> plain_factor(const Expr& e, const std::string& name) {
  if (e.as<IntLit>()) return 0;
  if (const auto* v = e.as<Var>()) return v->name == name ? 1 : 0;
  std::int64_t out = 0;
  if (const auto* u = e.as<Unary>(); u && (u->op == UnaryOp::Neg || u->op == UnaryOp::Sub)) {
    const auto f = plain_factor(u->arg, name);
    if (!f || __builtin_sub_overflow(0, *f, &out)) return {};
    return out;
  }
  if (const auto* b = e.as<Binary>(); b && (b->op == BinaryOp::FloorDiv || b->op == BinaryOp::Mod))
    return as_int(b->right).value_or(0) > 0 && plain_factor(b->left, name) == 0
               ? std::optional<std::int64_t>(0)
               : std::nullopt;
  const auto* n = e.as<Nary>();
  if (n && n->op == NaryOp::Add) {
    for (const Expr& t : n->terms) {
      const auto f = plain_factor(t, name);
      if (!f || __builtin_add_overflow(out, *f, &out)) return {};
    }
    return out;
  }
  if (n && n->op == NaryOp::Mul && n->terms.size() == 2)
    for (const std::size_t at : {0, 1})
      if (const auto by = as_int(n->terms[at])) {
        const auto f = plain_factor(n->terms[1 - at], name);
        if (!f || __builtin_mul_overflow(*by, *f, &out)) return {};
        return out;
      }
  return {};
}

/// The factor of `iname` in `e`, which is affine in it over all its values; nothing else.
std::optional<std::int64_t> factor_in(ProgramPoints& points, int point, const std::string& iname,
                                      const Expr& e) {
  if (points.static_integers(e))
    if (const auto plain = plain_factor(e, iname)) return plain;
  const auto f = points.affine(point, e);
  if (!f || !yes(isl_pw_aff_isa_aff(f->get()))) return {};
  const Aff a = isl_pw_aff_as_aff(f->copy());
  const int at = isl_aff_find_dim_by_name(a.get(), isl_dim_in, iname.c_str());
  for (int d = 0; d < count(isl_aff_dim(a.get(), isl_dim_div)); ++d) {
    const Aff quotient = isl_aff_get_div(a.get(), d);
    if (yes(isl_aff_involves_dims(quotient.get(), isl_dim_in, static_cast<unsigned>(at), 1)))
      return {};
  }
  const Val v = isl_aff_get_coefficient_val(a.get(), isl_dim_in, at);
  if (!yes(isl_val_is_int(v.get()))) return {};
  return to_int(v);
}

}  // namespace

std::optional<MemoryAccess> access_of(const Expr& e) {
  const Expr& base = innermost(e);
  static const Exprs kNone;
  if (const auto* v = base.as<Var>()) return MemoryAccess{&v->name, &kNone, &v->tag};
  if (const auto* l = base.as<Load>())
    return MemoryAccess{&l->array, &l->index, &l->tag, l->linear};
  return {};
}

const Exprs& array_shape(const Kernel& k, const std::string& array) {
  const Argument* a = k.find_arg(array);
  return a ? *a->shape : *k.find_temporary(array)->shape;
}

Exprs axis_strides(const Kernel& k, const std::string& array) {
  if (const Argument* a = k.find_arg(array)) return strides_of(*a->shape, a->order, a->strides);
  const Temporary& t = *k.find_temporary(array);
  return strides_of(*t.shape, t.order, t.strides);
}

Expr stride_along(ProgramPoints& points, int point, const std::string& iname,
                  const MemoryAccess& access, const Exprs& axes) {
  Exprs terms;
  for (std::size_t d = 0; d < access.index->size(); ++d) {
    const auto factor = factor_in(points, point, iname, (*access.index)[d]);
    if (!factor) return Expr();
    terms.push_back(index_mul(lit(*factor), access.linear ? lit(1) : axes[d]));
  }
  return index_add(terms);
}

std::vector<StridedAccess> strided_accesses(const Kernel& k, const std::string& within) {
  std::vector<StridedAccess> out;
  const IslBudget budget(kPhaseOperations, fmt::format("accesses of kernel `{}`", k.name), k.at);
  const Kernel done = expand_all_rules(infer_shapes(infer_types(k)));
  std::set<std::string> seen;
  std::set<std::string> out_of_it;
  for (const InsnPtr& i : done.instructions)
    if (!within.empty() && !all_inames(done, *i).contains(within)) out_of_it.insert(i->id);
  ProgramPoints points(done);
  points.for_each_use([&](const Use& use) {
    if (!use.index || use.index->empty() || out_of_it.contains(use.insn->id)) return;
    StridedAccess one;
    one.instruction = use.insn->id;
    one.variable = *use.name;
    one.write = use.write;
    one.index = *use.index;
    if (!seen.insert(fmt::format("{} {} {}", one.instruction, one.write, to_string(*use.expr)))
             .second)
      return;
    const Argument* a = done.find_arg(one.variable);
    one.type = a ? *a->type : *done.find_temporary(one.variable)->type;
    one.inames = points.inames(use.point);
    std::set<std::string> used;
    for (const Expr& i : one.index) collect_vars(i, used);
    const Exprs axes = axis_strides(done, one.variable);
    const MemoryAccess access{use.name, use.index, nullptr, use.linear};
    for (const std::string& iname : one.inames) {
      if (!used.contains(iname)) continue;
      const Expr stride = stride_along(points, use.point, iname, access, axes);
      if (!stride || as_int(stride) != 0) one.strides.emplace_back(iname, stride);
    }
    out.push_back(std::move(one));
  });
  return out;
}

}  // namespace moonloop
