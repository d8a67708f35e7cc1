#include "transforms/tag_array_axes.h"

#include <charconv>
#include <map>

#include "core/expr/parse_expr.h"
#include "core/model/layout.h"
#include "transforms/array_layout.h"
#include "transforms/registry.h"
#include "transforms/separate_axis.h"

namespace moonloop {
namespace {

struct AxisTag {
  enum class Kind { C, F, Level, Stride, Vec, Sep } kind = Kind::C;
  std::int64_t level = 0;  // of Level
  std::int64_t pad = 1;    // elements
  Expr stride;             // of Stride
};

[[noreturn]] void bad_tag(const Kernel& k, const std::string& text) {
  refuse("bad-axis-tag", k.at,
         "no array axis tag `{}`; there are c, f, N0, N1, ... (each also with `(pad=k)`), vec, sep "
         "and stride:E",
         text);
}

std::optional<std::int64_t> number(std::string_view s) {
  std::int64_t out = 0;
  const auto [end, status] = std::from_chars(s.data(), s.data() + s.size(), out);
  if (s.empty() || status != std::errc() || end != s.data() + s.size()) return std::nullopt;
  return out;
}

AxisTag parse_tag(const Kernel& k, const std::string& text) {
  AxisTag out;
  if (text == "vec" || text == "sep") {
    out.kind = text == "vec" ? AxisTag::Kind::Vec : AxisTag::Kind::Sep;
    return out;
  }
  if (text.starts_with("stride:")) {
    out.kind = AxisTag::Kind::Stride;
    out.stride = parse_expression(text.substr(7));
    std::set<std::string> names;
    collect_reads(out.stride, names);
    for (const std::string& n : names)
      if (const Argument* a = k.find_arg(n); !a || a->is_array)
        refuse("bad-axis-tag", k.at,
               "`{}` names `{}`, which is not a scalar argument of kernel `{}`", text, n, k.name);
    return out;
  }
  std::string_view rest = text;
  if (const auto open = rest.find("(pad="); open != std::string_view::npos && rest.ends_with(")")) {
    const auto pad = number(rest.substr(open + 5, rest.size() - open - 6));
    if (!pad || *pad < 1) bad_tag(k, text);
    out.pad = *pad;
    rest = rest.substr(0, open);
  }
  if (rest == "c" || rest == "C") return out;
  if (rest == "f" || rest == "F") {
    out.kind = AxisTag::Kind::F;
    return out;
  }
  const auto level = rest.starts_with("N") ? number(rest.substr(1)) : std::nullopt;
  if (!level || *level < 0) bad_tag(k, text);
  out.kind = AxisTag::Kind::Level;
  out.level = *level;
  return out;
}

/// The axes that have no stride of their own, from the contiguous one outwards.
std::vector<std::size_t> nesting(const Kernel& k, const std::string& name,
                                 const std::vector<AxisTag>& tags) {
  std::vector<std::size_t> computed;
  for (std::size_t i = 0; i < tags.size(); ++i)
    if (tags[i].kind != AxisTag::Kind::Stride && tags[i].kind != AxisTag::Kind::Vec)
      computed.push_back(i);
  std::map<std::int64_t, std::size_t> by_level;
  for (const std::size_t i : computed) {
    const AxisTag& t = tags[i];
    if (t.kind != tags[computed[0]].kind)
      refuse("bad-axis-tag", k.at, "the tags of `{}` mix `c`, `f` and nesting levels", name);
    const auto at = static_cast<std::int64_t>(i);
    const std::int64_t level = t.kind == AxisTag::Kind::Level ? t.level
                               : t.kind == AxisTag::Kind::F   ? at
                                                              : -at;
    if (!by_level.emplace(level, i).second)
      refuse("bad-axis-tag", k.at, "two axes of `{}` have nesting level {}", name, level);
  }
  std::vector<std::size_t> out;
  for (const auto& [level, axis] : by_level) {
    if (tags[axis].kind == AxisTag::Kind::Level && level != static_cast<std::int64_t>(out.size()))
      refuse("bad-axis-tag", k.at, "no axis of `{}` has nesting level {}", name, out.size());
    out.push_back(axis);
  }
  return out;
}

/// Elements from one vector to the next, of the one axis tagged `vec`: a power of two, which OpenCL
/// and CUDA have types for. 1 without such an axis.
std::int64_t vector_length(const Kernel& k, const std::string& name, const Exprs& shape,
                           const std::vector<AxisTag>& tags) {
  std::optional<std::int64_t> out;
  for (std::size_t i = 0; i < tags.size(); ++i) {
    if (tags[i].kind != AxisTag::Kind::Vec) continue;
    if (out) refuse("bad-axis-tag", k.at, "two axes of `{}` are tagged `vec`", name);
    const auto n = as_int(shape[i]);
    if (!n || (*n != 2 && *n != 3 && *n != 4 && *n != 8 && *n != 16))
      refuse("bad-axis-tag", k.at,
             "axis {} of `{}` has length {}; vectors have 2, 3, 4, 8 or 16 elements", i, name,
             to_string(shape[i]));
    out = *n == 3 ? 4 : *n;
  }
  return out.value_or(1);
}

}  // namespace

namespace {

Kernel with_layout(const Kernel& k, const std::string& name, const std::vector<AxisTag>& all) {
  ArrayLayout layout = layout_of(k, name);
  Expr stride = lit(vector_length(k, name, layout.shape, all));
  for (const std::size_t i : nesting(k, name, all)) {
    layout.strides[i] = stride;
    stride = rounded_up(index_mul(layout.shape[i], stride), all[i].pad);
  }
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i].stride)
      layout.strides[i] = all[i].stride;
    else if (all[i].kind == AxisTag::Kind::Vec)
      layout.strides[i] = lit(1);
  Kernel out = k;
  set_layout(out, name, layout.shape, layout.strides);
  return out;
}

}  // namespace

Kernel tag_array_axes(const Kernel& k, const std::vector<std::string>& names,
                      const std::vector<std::string>& tags) {
  std::vector<AxisTag> given;
  for (const std::string& t : tags) given.push_back(parse_tag(k, t));
  Kernel out = k;
  for (const std::string& name : names) {
    const std::size_t axes = layout_of(k, name).shape.size();
    std::vector<AxisTag> all = given;
    const bool one = given.size() == 1 &&
                     (given[0].kind == AxisTag::Kind::C || given[0].kind == AxisTag::Kind::F);
    if (one) all.assign(axes, given[0]);
    if (all.size() != axes)
      refuse("bad-axis-tag", k.at, "`{}` has {} axes, but {} tags are given", name, axes,
             all.size());
    std::vector<std::string> parts{name};
    for (std::size_t i = all.size(); i-- > 0;) {
      if (all[i].kind != AxisTag::Kind::Sep) continue;
      all.erase(all.begin() + static_cast<std::ptrdiff_t>(i));
      std::vector<std::string> finer;
      for (const std::string& part : parts) {
        std::vector<std::string> made;
        out = separate_axis(out, part, i, made);
        finer.insert(finer.end(), made.begin(), made.end());
      }
      parts = std::move(finer);
    }
    if (!all.empty())
      for (const std::string& part : parts) out = with_layout(out, part, all);
  }
  return out;
}

extern const Op tag_array_axes_op;
const Op tag_array_axes_op{
    .name = "tag_array_axes",
    .doc = R"(Says how the axes of arrays are laid out in memory.

One tag for each axis, or one `c` or `f` for all of them:

- `c`, `f`: the last axis, or the first, is contiguous;
- `N0`, `N1`, ...: how far outside the axis is nested; `N0` is contiguous;
- `vec`: the elements of one vector, of a constant length of 2, 3, 4, 8 or 16 (3 take the room of 4); the
  other axes are around them. A `vec` loop along the axis loads and stores whole vectors;
- `stride:E`: `E` elements apart;
- `sep`: an array for each subscript along the axis, `a_s0`, `a_s1`, ..., whose other axes the other tags
  are for. Of an argument this changes what the caller passes; those that nothing writes of a temporary
  are left out.

`c`, `f` and `N` may end in `(pad=k)`: what the axis and those inside span is rounded up to a multiple
of `k` elements. Of an argument this changes what the caller has to pass.

Refuses tags of another form, too few or too many, levels that are missing or there twice, strides that
put two elements in one place, temporaries whose shape is not constant, `sep` on an axis whose length is
not constant, and another layout of an array of which `a[[i]]` or `indexof(a[i, j])` tells where elements
are.)",
    .params = {{.name = "ary_names",
                .kind = Kind::Names,
                .help = "arguments or temporaries",
                .required = true,
                .positional = true},
               {.name = "dim_tags",
                .kind = Kind::Names,
                .help = "the tags, one for each axis",
                .required = true,
                .positional = true}},
    .example_kernel = R"(kernel turn(n, a: float32[n, 8], b: float32[n, 8])
domain [n] -> {[i, j]: 0 <= i < n and 0 <= j < 8}
b[i, j] = 2*a[i, j]
)",
    .example = R"(knl = lp.tag_array_axes(knl, "a", "N0,N1")
knl = lp.tag_array_axes(knl, 'b', 'c,c(pad=10)')
assert(tostring(knl):find("order=F", 1, true) and tostring(knl):find("10, 1", 1, true)))",
    .run =
        [](const Kernel& k, const Args& a) {
          return tag_array_axes(k, a.names("ary_names"), a.names("dim_tags"));
        },
    .query = {},
};

}  // namespace moonloop
