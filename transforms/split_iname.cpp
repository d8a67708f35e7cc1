#include "transforms/split_iname.h"

#include <limits>

#include "core/iname_rewrite.h"
#include "transforms/new_inames.h"
#include "transforms/registry.h"
#include "transforms/tag_inames.h"

namespace moonloop {
namespace {

/// { [iname, outer, inner] : iname = length*outer + inner and 0 <= inner < length }
Set split_relation(const std::string& iname, const std::string& outer, const std::string& inner,
                   std::int64_t length) {
  Set s = universe({iname, outer, inner});
  Constraint c =
      isl_constraint_alloc_equality(isl_local_space_from_space(isl_set_get_space(s.get())));
  c = isl_constraint_set_coefficient_si(c.take(), isl_dim_set, 0, -1);
  c = isl_constraint_set_coefficient_val(c.take(), isl_dim_set, 1,
                                         isl_val_int_from_si(isl(), length));
  c = isl_constraint_set_coefficient_si(c.take(), isl_dim_set, 2, 1);
  s = isl_set_add_constraint(s.take(), c.take());
  s = isl_set_lower_bound_si(s.take(), isl_dim_set, 2, 0);
  return isl_set_upper_bound_val(s.take(), isl_dim_set, 2, isl_val_int_from_si(isl(), length - 1));
}

/// A dimension or a parameter of a set.
struct Position {
  isl_dim_type type;
  int at;
};
std::optional<Position> find(const Set& s, const std::string& name) {
  for (const isl_dim_type type : {isl_dim_set, isl_dim_param})
    if (const int at = isl_set_find_dim_by_name(s.get(), type, name.c_str()); at >= 0)
      return Position{type, at};
  return {};
}

/// `length*outer + inner >= length*q` is `outer >= q`, and the same above, because of
/// `0 <= inner < length`: a bound of one iname in place of one of two.
Constraint on_outer_alone(Constraint c, const Position& outer, const Position& inner,
                          std::int64_t length) {
  const auto coefficient = [&](isl_dim_type type, int at) {
    return Val(isl_constraint_get_coefficient_val(c.get(), type, at));
  };
  const Val whole = isl_val_int_from_si(isl(), length), own = coefficient(inner.type, inner.at);
  const bool lower = yes(isl_val_is_one(own.get()));
  if ((!lower && !yes(isl_val_is_negone(own.get()))) || yes(isl_constraint_is_equality(c.get())))
    return c;
  const Val product = isl_val_mul(own.copy(), whole.copy());
  if (!yes(isl_val_eq(coefficient(outer.type, outer.at).get(), product.get()))) return c;
  for (const isl_dim_type type : {isl_dim_param, isl_dim_set})
    for (int i = 0; i < count(isl_constraint_dim(c.get(), type)); ++i)
      if (!(type == inner.type && i == inner.at) &&
          !yes(isl_val_is_divisible_by(coefficient(type, i).get(), whole.get())))
        return c;
  Val constant = isl_constraint_get_constant_val(c.get());
  if (!lower) constant = isl_val_sub(constant.take(), isl_val_sub_ui(whole.copy(), 1));
  if (!yes(isl_val_is_divisible_by(constant.get(), whole.get()))) return c;
  c = isl_constraint_set_coefficient_si(c.take(), inner.type, inner.at, 0);
  for (const isl_dim_type type : {isl_dim_param, isl_dim_set})
    for (int i = 0; i < count(isl_constraint_dim(c.get(), type)); ++i)
      c = isl_constraint_set_coefficient_val(
          c.copy(), type, i, isl_val_div(coefficient(type, i).take(), whole.copy()));
  return isl_constraint_set_constant_val(c.take(), isl_val_div(constant.take(), whole.copy()));
}

/// `s` with the bounds of whole pieces on the outer iname alone.
Set simplified(const Set& s, const std::string& outer, const std::string& inner,
               std::int64_t length) {
  const auto o = find(s, outer), i = find(s, inner);
  if (!o || !i) return s;
  Set all = isl_set_empty(isl_set_get_space(s.get()));
  for (const BasicSet& part : parts_of(s)) {
    if (count(isl_basic_set_dim(part.get(), isl_dim_div)) > 0) return s;
    Set points = isl_set_universe(isl_set_get_space(s.get()));
    for (const Constraint& c : constraints_of(part))
      points = isl_set_add_constraint(points.take(), on_outer_alone(c, *o, *i, length).take());
    all = isl_set_union(all.take(), points.take());
  }
  return all;
}

}  // namespace

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
  if (const InameTag* tag = k.tag(iname); tag && o.do_tagged_check)
    refuse("tagged-iname", k.at, "`{}` is tagged `{}`; split it first, then tag the parts", iname,
           tag->text);
  NewInames names(k);
  const std::string outer = names.take(o.outer_iname, iname + "_outer");
  const std::string inner = names.take(o.inner_iname, iname + "_inner");
  const auto outer_tag = tag_for(k, outer, o.outer_tag), inner_tag = tag_for(k, inner, o.inner_tag);

  InameRewrite rw;
  rw.old = {iname};
  rw.fresh = {outer, inner};
  rw.old_in_new[iname] = index_add({var(inner), index_mul(lit(inner_length), var(outer))});
  rw.bound[iname] = rw.fresh;
  rw.relation = split_relation(iname, outer, inner, inner_length);
  Kernel out = rewrite_inames(k, rw, o.within);
  for (Domain& d : out.domains) d.set = simplified(d.set, outer, inner, inner_length);
  if (outer_tag) out.iname_tags[outer] = *outer_tag;
  if (inner_tag) out.iname_tags[inner] = *inner_tag;
  if (o.slabs.first || o.slabs.second)
    out.slabs[outer] = {static_cast<int>(o.slabs.first), static_cast<int>(o.slabs.second)};
  require_distinct_axes(out);
  return reordered(k, std::move(out));
}

extern const Op split_iname_op;
const Op split_iname_op{
    .name = "split_iname",
    .doc = R"(Splits a loop into an outer loop and an inner loop of fixed length.

The loop's variable becomes inner + inner_length*outer with 0 <= inner < inner_length, whatever the
loop's bounds; a length that does not divide them is no problem. With `slabs = {h, t}` the first h and
the last t outer iterations are generated apart, so that those between run without guards.

Refuses a loop that has a tag (split first, then tag), names in use, a length below 1, and tags for
the parts that the kernel's dependences do not allow.)",
    .params = {{.name = "split_iname",
                .kind = Kind::Str,
                .help = "the loop to split",
                .required = true,
                .positional = true},
               {.name = "inner_length",
                .kind = Kind::Int,
                .help = "iterations of the inner loop, at least 1",
                .required = true,
                .positional = true},
               {.name = "outer_iname",
                .kind = Kind::Str,
                .help = "name of the outer loop",
                .fallback = "<iname>_outer"},
               {.name = "inner_iname",
                .kind = Kind::Str,
                .help = "name of the inner loop",
                .fallback = "<iname>_inner"},
               {.name = "outer_tag", .kind = Kind::Str, .help = "tag of the outer loop"},
               {.name = "inner_tag", .kind = Kind::Str, .help = "tag of the inner loop"},
               {.name = "slabs",
                .kind = Kind::IntPair,
                .help = "outer iterations generated apart at the start and the end",
                .fallback = "{0, 0}"},
               {.name = "do_tagged_check",
                .kind = Kind::Bool,
                .help = "refuses a loop with a tag; otherwise the tag is dropped",
                .fallback = "true"},
               {.name = "within",
                .kind = Kind::Match,
                .help = "splits the loop for these instructions only"},
               unsafe_option()},
    .example_kernel = R"(kernel scale(n: int32, a: float64[n], c: float64[n])
domain {[i]: 0 <= i < n}
c[i] = 2*a[i]
)",
    .example = R"(knl = lp.split_iname(knl, "i", 128, {outer_tag = "par", slabs = {0, 1}}))",
    .run =
        [](const Kernel& k, const Args& a) {
          return split_iname(k, a.str("split_iname"), a.integer("inner_length"),
                             {.outer_iname = a.str("outer_iname"),
                              .inner_iname = a.str("inner_iname"),
                              .outer_tag = a.str("outer_tag"),
                              .inner_tag = a.str("inner_tag"),
                              .slabs = a.int_pair("slabs"),
                              .do_tagged_check = a.boolean("do_tagged_check", true),
                              .within = Match::parse(a.str("within"), a.at())});
        },
    .query = {},
};

}  // namespace moonloop
