#include "transforms/split_array_axis.h"

#include "core/model/domain.h"
#include "core/model/flat_subscripts.h"
#include "core/model/layout.h"
#include "core/model/lookup.h"
#include "core/model/original_layout.h"
#include "core/order/reference.h"
#include "transforms/array_layout.h"
#include "transforms/registry.h"

namespace moonloop {
namespace {

/// The integer expression made as simple as the domain permits of the statement's inames, and of
/// those of reductions that it mentions: outside of a reduction, which may have no terms, the
/// domain of its inames says nothing.
Expr simplified(const Kernel& k, const Instruction& insn, const Expr& e) {
  std::set<std::string> mentioned, here = insn.inames;
  collect_vars(e, mentioned);
  for (const std::string& i : all_inames(k, insn))
    if (mentioned.count(i)) here.insert(i);
  const std::vector<std::string> dims(here.begin(), here.end());
  const auto value = to_affine(e, dims);
  if (!value) return e;
  const Set domain = domain_of(k, dims);
  const PwAff simple =
      isl_pw_aff_gist(isl_pw_aff_intersect_domain(value->copy(), domain.copy()), domain.copy());
  return isl_pw_aff_n_piece(simple.get()) == 1 ? from_affine(simple) : e;
}

class AxisSplit {
 public:
  AxisSplit(const Kernel& k, const std::vector<std::string>& names, std::size_t axis,
            std::int64_t count, Order order)
      : k_(k), names_(names.begin(), names.end()), axis_(axis), count_(count), order_(order) {}

  Kernel run() const {
    Kernel out =
        map_expressions(without_rules_on(k_, names_),
                        [&](const Instruction& insn, const Expr& e) { return in(insn, e); });
    for (const std::string& name : names_) {
      const Exprs old = layout_of(k_, name).shape;
      const Expr quotient(
          Binary{BinaryOp::FloorDiv, index_add({old[axis_], lit(count_ - 1)}), lit(count_)});
      Exprs shape = old;
      const auto n = as_int(old[axis_]);
      const Expr outer = n ? lit((*n + count_ - 1) / count_) : quotient;
      put(shape, outer, lit(count_));
      if (out.find_temporary(name)) out.temporaries.at(name).shape = shape;
      for (Argument& a : out.args)
        if (a.name == name) split(a, old, shape);
    }
    return proved(rebase(std::move(out)));
  }

 private:
  void split(Argument& a, const Exprs& old, const Exprs& shape) const {
    a.shape = shape;
    const OriginalLayout c = original_layout_of(a, old.size());
    const std::string quotient = c.axes[axis_] + "q", rest = c.axes[axis_] + "r";
    std::vector<std::string> fresh{quotient, rest};
    if (order_ == Order::F) std::swap(fresh[0], fresh[1]);
    a.original_layout = std::make_shared<const OriginalLayout>(
        with_axis(c, axis_, index_add({index_mul(lit(count_), var(quotient)), var(rest)}), fresh,
                  as_int(old[axis_])));
  }

  Expr in(const Instruction& insn, const Expr& e) const {
    return rewrite(e, [&](const Expr& x) {
      const auto* l = x.as<Load>();
      if (!l || !names_.count(l->array)) return x;
      const Expr i = l->index.at(axis_);
      Exprs index = l->index;
      put(index, simplified(k_, insn, Expr(Binary{BinaryOp::FloorDiv, i, lit(count_)})),
          simplified(k_, insn, Expr(Binary{BinaryOp::Mod, i, lit(count_)})));
      return load(l->array, std::move(index), x.at());
    });
  }

  void put(Exprs& axes, const Expr& quotient, const Expr& remainder) const {
    const auto at = axes.begin() + static_cast<std::ptrdiff_t>(axis_);
    *at = order_ == Order::C ? remainder : quotient;
    axes.insert(at, order_ == Order::C ? quotient : remainder);
  }

  const Kernel& k_;
  std::set<std::string> names_;
  std::size_t axis_;
  std::int64_t count_;
  Order order_;
};

}  // namespace

Kernel split_array_axis(const Kernel& k, const std::vector<std::string>& names, std::int64_t axis,
                        std::int64_t count, Order order) {
  if (count < 1) refuse("bad-count", k.at, "an axis is not split by {}", count);
  for (const std::string& name : names) {
    const ArrayLayout layout = layout_of(k, name);
    require_no_flat_subscripts(k, name);
    const Temporary* t = k.find_temporary(name);
    if (t && t->initializer)
      refuse("unsupported", k.at, "`{}` has initial values; its axes are not split", name);
    if (t ? t->strides.has_value() : k.find_arg(name)->strides.has_value())
      refuse("unsupported", k.at, "`{}` has strides; split its axes before they are set", name);
    if (axis < 0 || axis >= static_cast<std::int64_t>(layout.shape.size()))
      refuse("bad-axis", k.at, "`{}` has no axis {}; it has {}, counted from 0", name, axis,
             layout.shape.size());
  }
  return AxisSplit(k, names, static_cast<std::size_t>(axis), count, order).run();
}

extern const Op split_array_axis_op;
const Op split_array_axis_op{
    .name = "split_array_axis",
    .doc =
        R"(Puts two axes in the place of one of arrays: subscript `i` becomes `i // count` and `i % count`.

`order` `"C"` puts the axis of the quotients first, `"F"` that of the remainders.

Of an argument this changes what the caller passes: an array with one axis more, and with elements
that nothing reads or writes at the end where `count` does not divide the extent.

Refuses arrays with initial values, strides or flat subscripts; an axis that is not there.)",
    .params = {{.name = "ary_names",
                .kind = Kind::Names,
                .help = "arguments or temporaries",
                .required = true,
                .positional = true},
               {.name = "axis_nr",
                .kind = Kind::Int,
                .help = "the axis, counted from 0",
                .required = true,
                .positional = true},
               {.name = "count",
                .kind = Kind::Int,
                .help = "the extent of the axis of the remainders",
                .required = true,
                .positional = true},
               {.name = "order",
                .kind = Kind::Str,
                .help = "`\"C\"` or `\"F\"`",
                .fallback = "\"C\"",
                .positional = true}},
    .example_kernel = R"(kernel rows(n, a: float32[n, 64], b: float32[n, 64])
domain [n] -> {[i]: 0 <= i < n}
domain {[p, q]: 0 <= p < 4 and 0 <= q < 16}
domain {[r]: 0 <= r < 64}
temp t: float32[64]
t[16*p + q] = a[i, 16*p + q]  {inames=i:p:q}
b[i, r] = t[63 - r]           {inames=i:r}
)",
    .example = R"(knl = lp.split_array_axis(knl, "t", 0, 16)
assert(tostring(knl):find("t[p, q] =", 1, true)))",
    .run =
        [](const Kernel& k, const Args& a) {
          const std::string order = a.str("order", "C");
          if (order != "C" && order != "F")
            refuse("bad-order", a.at(), "no order `{}`; there are \"C\" and \"F\"", order);
          return split_array_axis(k, a.names("ary_names"), a.integer("axis_nr"), a.integer("count"),
                                  order == "C" ? Order::C : Order::F);
        },
    .query = {},
};

}  // namespace moonloop
