#include "transforms/chunk_iname.h"

#include <algorithm>

#include "core/rewrite/iname_rewrite.h"
#include "core/sets/affine_extreme.h"
#include "transforms/split_parts.h"

namespace moonloop {
namespace {

/// The distance between iterations, where it is the same everywhere.
std::int64_t stride_of(const Set& points) {
  const Val stride = isl_set_get_stride(points.get(), 0);
  return yes(isl_val_is_int(stride.get())) ? std::max<std::int64_t>(to_int(stride), 1) : 1;
}

/// How many iterations there are.
Expr number_of(const Aff& first, const Aff& last, std::int64_t stride) {
  if (stride == 1) return index_add({index_sub(from_aff(last), from_aff(first)), lit(1)});
  Aff steps = isl_aff_scale_down_val(isl_aff_sub(last.copy(), first.copy()),
                                     isl_val_int_from_si(isl(), stride));
  return index_add({from_aff(steps), lit(1)});
}

/// The pieces of `n` iterations from `first` on, each `stride` after the one before.
struct Chunks {
  Expr first, n;
  std::int64_t stride, number;

  Expr quotient() const { return divided(BinaryOp::FloorDiv); }
  Expr rest() const { return divided(BinaryOp::Mod); }
  /// Where piece `c` begins.
  Expr start(std::int64_t c) const {
    if (c == 0) return first;
    return index_add({first, index_mul(lit(stride), index_add({index_mul(lit(c), quotient()),
                                                               least(lit(c), rest())}))});
  }
  /// The same, for the piece that a variable numbers.
  Expr start(const std::string& outer) const {
    if (as_int(n))
      return index_add(
          {first,
           index_mul(lit(stride),
                     index_add({index_mul(quotient(), var(outer)),
                                as_int(rest()) == 0 ? lit(0) : least(var(outer), rest())}))});
    Expr out = start(number - 1);
    for (std::int64_t c = number - 1; c-- > 0;)
      out = Expr(Select{Expr(Compare{CompareOp::Eq, var(outer), lit(c)}), start(c), out});
    return out;
  }
  /// Iteration `inner` of the piece that begins there.
  Expr iteration(const Expr& start, const std::string& inner) const {
    return index_add({start, index_mul(lit(stride), var(inner))});
  }

 private:
  Expr divided(BinaryOp op) const {
    if (const auto v = as_int(n)) return lit(op == BinaryOp::Mod ? *v % number : *v / number);
    return Expr(Binary{op, n, lit(number)});
  }
  static Expr least(const Expr& a, const Expr& b) {
    const auto x = as_int(a), y = as_int(b);
    return x && y ? lit(std::min(*x, *y)) : call("min", {a, b});
  }
};

/// The points where the comparison, an affine one, holds.
Set where(CompareOp op, const Expr& a, const Expr& b, const std::vector<std::string>& dims) {
  auto points = to_condition(Expr(Compare{op, a, b}), dims);
  ensure(points.has_value(), "the pieces of a loop are not affine");
  return std::move(*points);
}

/// { [dims] : piece `outer` has an iteration `inner` } exactly if number*inner + outer < n,
/// whatever the remainder.
Set numbered(const std::string& outer, const std::string& inner, const Chunks& chunks,
             const std::vector<std::string>& dims) {
  const Expr before = index_add({index_mul(lit(chunks.number), var(inner)), var(outer)});
  Set out = where(CompareOp::Ge, var(outer), lit(0), dims);
  for (const auto& [lesser, greater] :
       {std::pair(var(outer), lit(chunks.number - 1)), std::pair(lit(0), var(inner)),
        std::pair(index_add({before, lit(1)}), chunks.n)})
    out = isl_set_intersect(out.take(), where(CompareOp::Le, lesser, greater, dims).take());
  return out;
}

/// { [iname, outer, inner] : iname is number `inner` of piece `outer` }: one part for each piece.
Set relation_of(const std::string& iname, const std::string& outer, const std::string& inner,
                const Chunks& chunks) {
  const std::vector<std::string> dims{iname, outer, inner};
  Set starts;
  for (std::int64_t c = 0; c < chunks.number; ++c) {
    const Expr place = chunks.iteration(chunks.start(c), inner);
    const Set piece = isl_set_intersect(where(CompareOp::Eq, var(outer), lit(c), dims).take(),
                                        where(CompareOp::Eq, var(iname), place, dims).take());
    starts = starts ? Set(isl_set_union(starts.take(), piece.copy())) : piece;
  }
  return isl_set_intersect(starts.take(), numbered(outer, inner, chunks, dims).take());
}

/// `home` in the two fresh inames when `iname` has no gaps in it but those of its stride, whatever
/// the others are. Null when it has gaps.
Set box_of_pieces(const Kernel& k, const Domain& home, const std::string& iname,
                  const std::string& outer, const std::string& inner, const Chunks& chunks) {
  const std::vector<std::string> dims = home.inames();
  std::vector<std::string> others = dims, now = dims;
  std::erase(others, iname);
  const Set around = to_dims(home.set, others);

  const Expr steps = index_sub(var(iname), chunks.first);
  Set box = to_dims(around, dims);
  for (const Set& bound :
       {where(CompareOp::Le, chunks.first, var(iname), dims),
        where(CompareOp::Lt, steps, index_mul(lit(chunks.stride), chunks.n), dims),
        where(CompareOp::Eq, Expr(Binary{BinaryOp::Mod, steps, lit(chunks.stride)}), lit(0), dims)})
    box = isl_set_intersect(box.take(), bound.copy());
  if (k.assumptions) box = isl_set_intersect_params(box.take(), k.assumptions.copy());
  if (!yes(isl_set_is_subset(box.get(), home.set.get()))) return {};

  now.insert(now.erase(std::find(now.begin(), now.end(), iname)), {outer, inner});
  return tidy(
      isl_set_intersect(to_dims(around, now).take(), numbered(outer, inner, chunks, now).take()));
}

/// The loop's ends are written into its statements: where they depend on another iname, all of
/// these have to run in it.
void require_inside(const Kernel& k, const std::string& iname, const Chunks& chunks,
                    const Match& within) {
  std::set<std::string> names;
  collect_vars(chunks.first, names);
  collect_vars(chunks.n, names);
  std::erase_if(names, [&](const std::string& n) { return !k.has_iname(n); });
  if (names.empty()) return;
  for (const InsnPtr& i : k.instructions) {
    if (!within.everything() && !within(k, *i)) continue;
    const std::set<std::string> runs = all_inames(k, *i);
    if (!runs.contains(iname)) continue;
    for (const std::string& n : names)
      if (!runs.contains(n))
        refuse("not-inside", i->at,
               "`{}` runs in `{}` but not in `{}`, on which the ends of the pieces depend; "
               "split_iname(\"{}\", 32) makes pieces of one length",
               i->id, iname, n, iname);
  }
}

constexpr std::int64_t kMostPieces = 128;  // of bounds: what code can be made for in some seconds

void require_few(std::int64_t pieces, const std::vector<std::string>& inames, const Span& at,
                 const std::string& iname) {
  if (pieces <= kMostPieces) return;
  refuse(
      "too-complex", at,
      "the bounds of {} would be in {} pieces, but {} are the most; split_iname(\"{}\", 32) makes "
      "pieces of one length, of which bounds are in one",
      quoted_list(inames), pieces, kMostPieces, iname);
}

/// Bounds that depend on the loop are in as many pieces as it is, those of pieces of pieces in all
/// combinations.
void require_few_pieces(const Kernel& after, const std::string& iname) {
  std::vector<std::string> inames;
  std::int64_t all = 0;
  for (const Domain& d : after.domains) {
    const auto pieces = static_cast<std::int64_t>(count(isl_set_n_basic_set(d.set.get())));
    if (pieces < 2) continue;
    all += pieces;
    for (const std::string& i : d.inames()) inames.push_back(i);
  }
  require_few(all, inames, after.at, iname);
}

}  // namespace

Kernel chunk_iname(const Kernel& k, const std::string& iname, std::int64_t num_chunks,
                   const ChunkOptions& o) {
  require_iname(k, iname);
  constexpr std::int64_t kMost = 1000;
  if (num_chunks < 1 || num_chunks > kMost)
    refuse("bad-length", k.at, "`{}` cannot be split into {} pieces; there are 1 to {}", iname,
           num_chunks, kMost);
  const Domain* home = k.home_of(iname);
  Set points = to_dims(home->set, {iname});
  if (k.assumptions) points = isl_set_intersect_params(points.take(), k.assumptions.copy());
  const auto first = affine_extreme(points, false), last = affine_extreme(points, true);
  if (!first || !last)
    refuse("unbounded-iname", home->at,
           "`{}` has no {} iteration that one expression gives, which its pieces need", iname,
           first ? "last" : "first");
  const SplitParts parts(k, iname, o);

  const std::int64_t stride = stride_of(points);
  const Chunks chunks{from_aff(*first), number_of(*first, *last, stride), stride, num_chunks};
  require_inside(k, iname, chunks, o.within);
  InameRewrite rw;
  rw.old = {iname};
  rw.fresh = {parts.outer, parts.inner};
  rw.old_in_new[iname] = chunks.iteration(chunks.start(parts.outer), parts.inner);
  rw.bound[iname] = rw.fresh;
  rw.home = box_of_pieces(k, *home, iname, parts.outer, parts.inner, chunks);
  rw.range =
      isl_set_intersect(where(CompareOp::Ge, var(parts.outer), lit(0), rw.fresh).take(),
                        where(CompareOp::Lt, var(parts.outer), lit(num_chunks), rw.fresh).take());
  // If the number is known, there may be only one piece nevertheless.
  if (!rw.home && !as_int(chunks.n)) require_few(num_chunks, home->inames(), k.at, iname);
  if (!rw.home) rw.relation = relation_of(iname, parts.outer, parts.inner, chunks);
  Kernel out = rewrite_inames(k, rw, o.within);
  require_few_pieces(out, iname);
  return parts.tagged(k, std::move(out));
}

extern const Op chunk_iname_op;
const Op chunk_iname_op{
    .name = "chunk_iname",
    .doc = R"(Splits a loop into a fixed number of pieces, which the outer loop numbers.

The pieces have the same length or, where their number does not divide the iterations, two lengths
that differ by one, the longer pieces first, also of a loop with a stride. Where the number of
iterations is a parameter's, the beginning of each piece is chosen by its number.

Refuses a loop that has a tag (split first, then tag), names in use, less than one piece or more than
1000, a loop whose first or last iteration no single expression gives, statements that are not in a loop
on which these iterations depend, loops with bounds in more than 128 pieces in all, and tags for the
parts that the kernel's dependences do not allow.)",
    .params = split_params({.name = "num_chunks",
                            .kind = Kind::Int,
                            .help = "how many pieces, at least 1",
                            .required = true,
                            .positional = true}),
    .example_kernel = R"(kernel scale(n: int32, a: float64[n], c: float64[n])
domain {[i]: 0 <= i < n}
c[i] = 2*a[i]
)",
    .example = R"(knl = lp.chunk_iname(knl, "i", 4, {outer_tag = "par"}))",
    .run =
        [](const Kernel& k, const Args& a) {
          return chunk_iname(k, a.str("split_iname"), a.integer("num_chunks"),
                             split_options<ChunkOptions>(a));
        },
    .query = {},
};

}  // namespace moonloop
