#include "transforms/split_iname.h"

#include <limits>

#include "core/rewrite/split_loop.h"
#include "transforms/split_parts.h"

namespace moonloop {

Kernel split_iname(const Kernel& k, const std::string& iname, std::int64_t inner_length,
                   const SplitOptions& o) {
  require_iname(k, iname);
  if (inner_length < 1)
    refuse("bad-length", k.at,
           "`{}` cannot be split into pieces of length {}; it must be at least 1", iname,
           inner_length);
  if (inner_length > std::numeric_limits<std::int32_t>::max() && k.index_type == Scalar::I32)
    refuse("bad-length", k.at, "`{}` cannot be split into pieces of length {}; inames are int32",
           iname, inner_length);
  constexpr std::int64_t kMostSlabs = 1000;
  if (std::min(o.slabs.first, o.slabs.second) < 0 ||
      std::max(o.slabs.first, o.slabs.second) > kMostSlabs)
    refuse("bad-slabs", k.at, "slabs ({}, {}) of `{}` are not between 0 and {}", o.slabs.first,
           o.slabs.second, iname, kMostSlabs);
  const SplitParts parts(k, iname, o);

  Kernel out = split_loop(k, iname, parts.outer, parts.inner, inner_length, o.within);
  if (o.slabs.first || o.slabs.second)
    out.slabs[parts.outer] = {static_cast<int>(o.slabs.first), static_cast<int>(o.slabs.second)};
  return o.within.everything() ? parts.tagged_in_place(k, std::move(out))
                               : parts.tagged(k, std::move(out));
}

extern const Op split_iname_op;
const Op split_iname_op{
    .name = "split_iname",
    .doc = R"(Splits a loop into an outer loop and an inner loop of fixed length.

The loop's variable becomes inner + inner_length*outer with 0 <= inner < inner_length, whatever the
loop's bounds; a length that does not divide them is not a problem. With `slabs = {h, t}` the first h and
the last t outer iterations are generated apart, so that those between run without guards.

Refuses a loop that has a tag (split first, then tag), names in use, a length below 1, and tags for
the parts that the kernel's dependences do not allow.)",
    .params = split_params({.name = "inner_length",
                            .kind = Kind::Int,
                            .help = "iterations of the inner loop, at least 1",
                            .required = true,
                            .positional = true},
                           {{.name = "slabs",
                             .kind = Kind::IntPair,
                             .help = "outer iterations generated apart at the start and the end",
                             .fallback = "{0, 0}"}}),
    .example_kernel = R"(kernel scale(n: int32, a: float64[n], c: float64[n])
domain {[i]: 0 <= i < n}
c[i] = 2*a[i]
)",
    .example = R"(knl = lp.split_iname(knl, "i", 128, {outer_tag = "par", slabs = {0, 1}}))",
    .run =
        [](const Kernel& k, const Args& a) {
          auto o = split_options<SplitOptions>(a);
          o.slabs = a.int_pair("slabs");
          return split_iname(k, a.str("split_iname"), a.integer("inner_length"), o);
        },
    .query = {},
};

}  // namespace moonloop
