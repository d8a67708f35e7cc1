#include "transforms/add_padding.h"

#include <algorithm>

#include "core/model/layout.h"
#include "transforms/array_layout.h"
#include "transforms/registry.h"

namespace moonloop {
namespace {

/// The parts of a product.
Exprs factors(const Expr& e) {
  const auto* n = e.as<Nary>();
  return n && n->op == NaryOp::Mul ? n->terms : Exprs{e};
}

/// `e / by`, where that is a product again.
std::optional<Expr> quotient(const Expr& e, const Expr& by) {
  const auto n = as_int(e), d = as_int(by);
  if (n && d) return *n % *d == 0 ? std::optional<Expr>(lit(*n / *d)) : std::nullopt;
  Exprs left = factors(e);
  for (const Expr& f : factors(by)) {
    if (as_int(f) == 1) continue;
    const auto at =
        std::find_if(left.begin(), left.end(), [&](const Expr& x) { return equal(x, f); });
    if (at == left.end()) return std::nullopt;
    left.erase(at);
  }
  Expr out = lit(1);
  for (const Expr& f : left) out = index_mul(out, f);
  return out;
}

}  // namespace

Kernel add_padding(const Kernel& k, const std::string& variable, std::int64_t axis,
                   std::int64_t align_bytes) {
  ArrayLayout layout = layout_of(k, variable);
  if (axis < 0 || axis >= static_cast<std::int64_t>(layout.shape.size()))
    refuse("bad-axis", k.at, "`{}` has no axis {}; it has {}, counted from 0", variable, axis,
           layout.shape.size());
  const std::int64_t size = layout.type.size();
  if (align_bytes < 1 || align_bytes % size != 0)
    refuse("bad-padding", k.at, "{} bytes are not a multiple of the {} bytes of an element of `{}`",
           align_bytes, size, variable);
  const Expr old = layout.strides[static_cast<std::size_t>(axis)];
  const Expr now = rounded_up(old, align_bytes / size);
  for (std::size_t i = 0; i < layout.strides.size(); ++i) {
    if (static_cast<std::int64_t>(i) == axis) {
      layout.strides[i] = now;
    } else if (const auto times = quotient(layout.strides[i], old);
               times && as_int(layout.strides[i]) != 1) {
      layout.strides[i] = index_mul(*times, now);
    }
  }
  Kernel out = k;
  set_layout(out, variable, layout.shape, layout.strides);
  return out;
}

extern const Op add_padding_op;
const Op add_padding_op{
    .name = "add_padding",
    .doc =
        R"(Leaves gaps in an array's memory so that the stride of an axis is a multiple of some bytes.

Axes with larger strides are spread by the same factor. A stride of 33 words in local memory, for one,
keeps the work-items that walk down a column on different banks. Of an argument this changes what the
caller has to pass.

Refuses an array or an axis that is not there, bytes that are not a multiple of an element's, temporaries
whose shape is not constant, and arrays of which `a[[i]]` or `indexof(a[i, j])` tells where elements
are.)",
    .params = {{.name = "variable",
                .kind = Kind::Str,
                .help = "an argument or a temporary",
                .required = true,
                .positional = true},
               {.name = "axis",
                .kind = Kind::Int,
                .help = "its axis, counted from 0",
                .required = true,
                .positional = true},
               {.name = "align_bytes",
                .kind = Kind::Int,
                .help = "the axis' stride becomes a multiple of that",
                .required = true,
                .positional = true}},
    .example_kernel = R"(kernel turn(a: float32[32, 32], b: float32[32, 32])
domain {[i, j]: 0 <= i, j < 32}
domain {[p, q]: 0 <= p, q < 32}
temp t: float32[32, 32] in local
t[i, j] = a[i, j]
b[p, q] = t[q, p]
)",
    .example = R"(knl = lp.add_padding(knl, "t", 0, 33*4)
assert(tostring(knl):find("33, 1", 1, true)))",
    .run =
        [](const Kernel& k, const Args& a) {
          return add_padding(k, a.str("variable"), a.integer("axis"), a.integer("align_bytes"));
        },
    .query = {},
};

}  // namespace moonloop
