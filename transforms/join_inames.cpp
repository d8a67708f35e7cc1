#include "transforms/join_inames.h"

#include <algorithm>

#include "core/order/reordered.h"
#include "core/rewrite/iname_rewrite.h"
#include "transforms/new_inames.h"
#include "transforms/registry.h"
#include "transforms/tag_inames.h"

namespace moonloop {
namespace {

/// Where an iname's values begin, over parameters and slower inames, and how many there may be.
struct Box {
  Expr base;
  std::optional<std::int64_t> extent;
};

/// The affine expression that `p` is under the conditions of its domain, if it is one.
std::optional<Aff> single(PwAff p) {
  const Set where = isl_pw_aff_domain(p.copy());
  p = isl_pw_aff_gist(isl_pw_aff_coalesce(p.take()), where.copy());
  if (count(isl_pw_aff_n_piece(p.get())) != 1) return std::nullopt;
  return Aff(isl_pw_aff_as_aff(p.take()));
}

/// `s` holds `{ [iname] }`; all else are parameters.
std::optional<Box> box_of(const Set& s) {
  if (!yes(isl_set_dim_has_any_lower_bound(s.get(), isl_dim_set, 0))) return std::nullopt;
  std::optional<Aff> least;
  try {
    least = single(isl_set_dim_min(s.copy(), 0));
  } catch (const IslError&) {  // unbounded below for some parameters
    return std::nullopt;
  }
  if (!least) return std::nullopt;
  Box box{from_aff(*least), {}};
  // max(iname - base) over all parameters, as a set with the parameters as dimensions
  const std::string iname = dim_names(s).front();
  std::vector<std::string> dims = param_names(s);
  dims.insert(dims.begin(), iname);
  const auto distance = to_affine(index_sub(var(iname), box.base), dims);
  ensure(distance.has_value(), "a lower bound does not read back");
  const Set all = to_dims(s, dims);
  Val most = isl_val_infty(isl());
  if (count(isl_pw_aff_n_piece(distance->get())) == 1) {
    const Aff d = isl_pw_aff_as_aff(distance->copy());
    most = isl_set_max_val(all.get(), d.get());
  }
  if (yes(isl_val_is_int(most.get()))) box.extent = to_int(most) + 1;
  return box;
}

/// `home` is over `inames`, slowest first, in their order.
Box find_box(const Kernel& k, const Set& home, const std::vector<std::string>& inames,
             std::size_t n) {
  const std::string& iname = inames[n];
  std::vector<std::string> slower(inames.begin(), inames.begin() + std::ptrdiff_t(n));
  slower.push_back(iname);
  const std::optional<Box> plain = box_of(to_dims(home, {iname}));
  if (n == 0) return plain ? *plain : Box{lit(0), {}};  // any origin will do
  if (plain && plain->extent) return *plain;
  Set rest = to_dims(home, slower);
  slower.pop_back();
  const std::optional<Box> relative = box_of(dims_to_params(rest, slower));
  if (relative && relative->extent) return *relative;
  const Span& at = k.home_of(iname)->at;
  refuse("no-constant-extent", at,
         "`{}` has no constant number of values, which all but the first of {} need; give the "
         "slowest one first, fix the parameters of its bounds, or split it by a constant",
         iname, quoted_list(inames));
}

/// { [inames..., fresh] : fresh = sum of (iname - base)*stride, 0 <= iname - base < extent }
Set join_relation(const std::vector<std::string>& inames, const std::string& fresh,
                  const std::vector<Box>& boxes) {
  std::vector<std::string> dims = inames;
  dims.push_back(fresh);
  Exprs conditions, terms;
  std::int64_t stride = 1;
  for (std::size_t n = inames.size(); n-- > 0;) {
    const Expr offset = index_sub(var(inames[n]), boxes[n].base);
    terms.push_back(index_mul(lit(stride), offset));
    if (n == 0) break;
    conditions.push_back(Expr(Compare{CompareOp::Le, lit(0), offset}));
    conditions.push_back(Expr(Compare{CompareOp::Lt, offset, lit(*boxes[n].extent)}));
    stride *= *boxes[n].extent;
  }
  conditions.push_back(Expr(Compare{CompareOp::Eq, var(fresh), index_add(terms)}));
  Set s = universe(dims);
  for (const Expr& c : conditions) {
    const auto where = to_condition(c, dims);
    ensure(where.has_value(), "the join of inames is not affine");
    s = isl_set_intersect(s.take(), where->copy());
  }
  return s;
}

}  // namespace

Kernel join_inames(const Kernel& k, const std::vector<std::string>& inames, const JoinOptions& o) {
  std::set<std::string> seen;
  for (const std::string& i : inames) {
    require_iname(k, i);
    if (!seen.insert(i).second) refuse("twice", k.at, "`{}` occurs twice in the list of inames", i);
  }
  if (inames.size() < 2)
    refuse("too-few", k.at, "a join needs two inames or more, got {}", inames.size());
  const Domain* home = k.home_of(inames.front());
  for (const std::string& i : inames)
    if (k.home_of(i) != home)
      refuse("no-common-domain", k.home_of(i)->at,
             "the bounds of `{}` and `{}` are in different domains; only inames of one domain "
             "can be "
             "joined",
             inames.front(), i);
  for (const std::string& i : inames)
    if (const InameTag* t = k.tag(i))
      refuse("tagged-iname", k.at,
             "`{}` is tagged `{}`; join the loops first, then tag the new one", i, t->text);
  require_all_or_none(k, inames, o.within, "joining " + quoted_list(inames));

  NewInames names(k);
  const std::string fresh = names.take(o.new_iname, fmt::format("{}", fmt::join(inames, "_and_")));
  const auto tag = tag_for(k, fresh, o.tag);
  Set box = to_dims(home->set, inames);
  if (k.assumptions) box = isl_set_intersect_params(box.take(), k.assumptions.copy());
  std::vector<Box> boxes;
  for (std::size_t n = 0; n < inames.size(); ++n) boxes.push_back(find_box(k, box, inames, n));
  std::int64_t stride = 1, iterations = 1;  // the first one's extent need not be known
  for (std::size_t n = boxes.size(); n-- > 0;) {
    if (n == 0) stride = iterations;
    if (boxes[n].extent && (__builtin_mul_overflow(iterations, *boxes[n].extent, &iterations) ||
                            (k.index_type == Scalar::I32 && iterations > 0x7fffffff)))
      refuse("too-long", home->at, "the joined loop over {} has more iterations than {} counts",
             quoted_list(inames), k.index_type == Scalar::I32 ? "int32" : "int64");
  }

  InameRewrite rw;
  rw.old = inames;
  rw.fresh = {fresh};
  std::map<std::string, Expr> slower;
  for (std::size_t n = 0; n < inames.size(); ++n) {
    if (n > 0) stride /= *boxes[n].extent;  // iterations of the new loop per value of this iname
    Expr e = var(fresh);
    if (stride > 1) e = Expr(Binary{BinaryOp::FloorDiv, e, lit(stride)});
    if (n > 0)
      e = *boxes[n].extent == 1 ? lit(0) : Expr(Binary{BinaryOp::Mod, e, lit(*boxes[n].extent)});
    e = index_add({substitute(boxes[n].base, slower), e});
    slower[inames[n]] = e;
    rw.old_in_new[inames[n]] = e;
    rw.bound[inames[n]] = n == 0 ? rw.fresh : std::vector<std::string>{};
  }
  rw.relation = join_relation(inames, fresh, boxes);
  Kernel out = rewrite_inames(k, rw, o.within);
  if (tag) out.iname_tags[fresh] = *tag;
  return reordered(k, std::move(out), o.proof);
}

extern const Op join_inames_op;
const Op join_inames_op{
    .name = "join_inames",
    .doc =
        R"(Makes one loop of several, the last of which is the fastest; the inverse of split_iname.

The old inames are found again by division and remainder, and their lower bounds are added. All but
the first need a constant number of values; gaps in their domain stay gaps.

Refuses inames of different domains, extents that are not constant, instructions and reductions that
have some of the inames but not all, and a new order that a dependence forbids, with two instances
that would change places.)",
    .params = {{.name = "inames",
                .kind = Kind::Names,
                .help = "the loops to join, the slowest first",
                .required = true,
                .positional = true},
               {.name = "new_iname",
                .kind = Kind::Str,
                .help = "name of the one loop",
                .fallback = "<iname>_and_<iname>",
                .positional = true},
               {.name = "tag", .kind = Kind::Str, .help = "its tag", .positional = true},
               {.name = "within",
                .kind = Kind::Match,
                .help = "joins the loops for these instructions only",
                .positional = true},
               unsafe_option()},
    .example_kernel = R"(kernel clear(n: int32, c: float64[n, 8])
domain {[i, j]: 0 <= i < n and 0 <= j < 8}
c[i, j] = 0
)",
    .example = R"(knl = lp.join_inames(knl, "i, j", "ij", {tag = "par"}))",
    .run =
        [](const Kernel& k, const Args& a) {
          return join_inames(k, a.names("inames"),
                             {.new_iname = a.str("new_iname"),
                              .tag = a.str("tag"),
                              .within = Match::parse(a.str("within"), a.at()),
                              .proof = a.proof()});
        },
    .query = {},
};

}  // namespace moonloop
