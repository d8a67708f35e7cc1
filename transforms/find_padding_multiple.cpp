#include "core/model/layout.h"
#include "transforms/array_layout.h"
#include "transforms/registry.h"

namespace moonloop {
namespace {

/// The least number of steps of `bytes` that is at most `allowed_waste` of itself short of a
/// multiple of `align_bytes`. There is one: `align_bytes` steps are a multiple.
std::int64_t padding_multiple(std::int64_t bytes, std::int64_t align_bytes, double allowed_waste) {
  for (std::int64_t multiple = 1;; ++multiple) {
    const std::int64_t size = multiple * bytes;
    const std::int64_t padded = (size + align_bytes - 1) / align_bytes * align_bytes;
    if (double(padded - size) <= allowed_waste * double(size)) return multiple;
  }
}

std::int64_t padding_multiple(const Kernel& k, const Args& a) {
  const std::string name = a.str("variable");
  const ArrayLayout layout = layout_of(k, name);
  const std::int64_t axis = a.integer("axis"), align = a.integer("align_bytes");
  if (axis < 0 || axis >= static_cast<std::int64_t>(layout.shape.size()))
    refuse("bad-axis", k.at, "`{}` has no axis {}; it has {}, counted from 0", name, axis,
           layout.shape.size());
  constexpr std::int64_t kMost = 1 << 20;
  if (align < 1 || align > kMost)
    refuse("bad-padding", k.at, "{} bytes are no alignment: it is from 1 to {}", align, kMost);
  const Value* given = a.raw("allowed_waste");
  const auto* whole = given ? given->as<std::int64_t>() : nullptr;
  const double waste = whole ? double(*whole) : given ? *given->as<double>() : 0.1;
  if (!(waste >= 0)) refuse("bad-padding", k.at, "`allowed_waste` is {}, which is below 0", waste);
  const Expr& stride = layout.strides[static_cast<std::size_t>(axis)];
  const auto elements = as_int(stride);
  if (!elements || *elements < 1)
    refuse("bad-strides", k.at, "the stride of axis {} of `{}` is `{}`, not a positive number",
           axis, name, to_string(stride));
  return padding_multiple(*elements * layout.type.size(), align, waste);
}

}  // namespace

extern const Op find_padding_multiple_op;
const Op find_padding_multiple_op{
    .name = "find_padding_multiple",
    .doc = R"(Tells how many elements along an axis fill aligned memory with little waste.

It is the least number for which padding the memory that these elements take to a multiple of `align_bytes`
adds at most the part `allowed_waste` of it: a good length for `split_array_axis`, before `add_padding`.

Refuses an axis whose stride is not a number.)",
    .params = {{.name = "variable",
                .kind = Kind::Str,
                .help = "the array",
                .required = true,
                .positional = true},
               {.name = "axis",
                .kind = Kind::Int,
                .help = "the axis, from 0",
                .required = true,
                .positional = true},
               {.name = "align_bytes",
                .kind = Kind::Int,
                .help = "the alignment",
                .required = true,
                .positional = true},
               {.name = "allowed_waste",
                .kind = Kind::Num,
                .help = "padding, as a part of what is padded",
                .fallback = "0.1",
                .positional = true}},
    .example_kernel = R"(kernel fill(n: int32, a: float64[n, 20])
domain {[i, j]: 0 <= i < n and 0 <= j < 20}
a[i, j] = 1
)",
    .example = R"(print(lp.find_padding_multiple(knl, "a", 0, 128)))",
    .run = {},
    .query = [](const Kernel& k, const Args& a) { return Value{padding_multiple(k, a)}; },
};

}  // namespace moonloop
