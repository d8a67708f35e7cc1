#include <algorithm>
#include <unordered_set>

#include "core/infer/infer.h"
#include "core/infer/program_points.h"
#include "core/model/domain.h"
#include "core/model/external.h"
#include "core/model/layout.h"
#include "core/sets/bounded.h"
#include "core/sets/budget.h"
#include "core/sets/coalesce.h"

namespace moonloop {
namespace {

/// The most that the text of an extent may cost.
constexpr unsigned long kExtentOperations = 500'000;

/// The values that one subscript takes, as far as they matter for an extent.
struct Range {
  bool affine = true;
  bool data_dependent = false;  // its upper bound depends on a temporary
  bool data = false;            // some bound does
  bool empty = false;           // no instance for any parameter values
  bool bounded = true;
  PwAff end;                             // one more than the largest value, over parameters
  std::optional<std::int64_t> negative;  // some value below zero
};

/// The knowledge so far of an array without a shape.
struct Array {
  const Use* first = nullptr;
  std::size_t rank = 0;
  bool scalar = false;            // used by its bare name
  std::size_t strides = 0;        // how many are declared, so that it may go without extents
  bool whole = false;             // something external may reach all of it
  std::vector<PwAff> ends;        // per axis
  std::set<std::size_t> unknown;  // axes whose extents no footprint determines
  std::vector<std::unordered_set<std::string>> seen;
};

class ShapeInference {
 public:
  explicit ShapeInference(const Kernel& flat)
      : k_(flat), points_(flat), in_bounds_(claimed_in_bounds(flat)) {
    for (const Argument& a : k_.args)
      if (a.is_array) {
        if (a.shape)
          rank_.emplace(a.name, a.shape->size());
        else
          open_[a.name].strides = a.strides ? a.strides->size() : 0;
      }
    for (const auto& [name, t] : k_.temporaries)
      t.shape ? void(rank_.emplace(name, t.shape->size())) : void(open_[name]);
    context_ = context_of(k_);
  }

  bool anything_open() const { return !open_.empty(); }

  void collect() {
    points_.for_each_use([&](const Use& u) { use(u); });
  }

  std::optional<Exprs> shape(const std::string& name) {
    const auto it = open_.find(name);
    if (it == open_.end()) return std::nullopt;
    const Array& a = it->second;
    if (a.whole && a.strides > 0) return Exprs(a.strides, lit(kUnknownExtent));
    if (a.rank == 0 || a.scalar) return Exprs{};
    Exprs out;
    for (std::size_t d = 0; d < a.rank; ++d)
      out.push_back(a.unknown.count(d) ? lit(kUnknownExtent) : extent(a, d));
    return out;
  }

  bool used(const std::string& name) const {
    const auto it = open_.find(name);
    return it == open_.end() || it->second.first || it->second.scalar || it->second.whole;
  }

 private:
  void use(const Use& u) {
    if (u.whole) return whole(u);
    const std::size_t rank = u.index ? u.index->size() : 0;
    if (const auto r = rank_.find(*u.name); r != rank_.end()) {
      check_rank(u, r->second);
      return;
    }
    const auto it = open_.find(*u.name);
    if (it == open_.end()) return;
    Array& a = it->second;
    if (!u.index || rank == 0) {
      if (a.first) mismatch(u, 0, a.rank);
      a.scalar = true;
      return;
    }
    if (a.scalar) mismatch(u, rank, 0);
    if (!a.first) {
      uses_.push_back(std::make_unique<Use>(u));
      a.first = uses_.back().get();
      a.rank = rank;
      a.ends.resize(rank);
      a.seen.resize(rank);
    } else if (a.rank != rank) {
      mismatch(u, rank, a.rank);
    }
    const bool inside = in_bounds_.count(*u.name) != 0;
    for (std::size_t d = 0; d < rank; ++d) {
      std::string key = std::to_string(u.point) + (inside ? "+" : "|") + to_string((*u.index)[d]);
      if (a.seen[d].insert(key).second) add(u, d, a, std::move(key), inside);
    }
  }

  void whole(const Use& u) {
    const auto it = open_.find(*u.name);
    if (it == open_.end()) return;
    it->second.whole = true;
    if (it->second.strides > 0) return;
    Diagnostic x;
    x.code = "unknown-shape";
    x.text = fmt::format("no shape is declared for `{}`, which `{}` may reach as a whole", *u.name,
                         external_call(k_, *u.insn)->name);
    x.where = {at(u), {}};
    x.hint = fmt::format("declare it, as in `{}: float64[n]`", *u.name);
    throw Error(std::move(x));
  }

  [[noreturn]] static void mismatch(const Use& u, std::size_t here, std::size_t before) {
    fail("rank-mismatch", at(u), "`{}` is used with {} subscript{} here and with {} before",
         *u.name, here, here == 1 ? "" : "s", before);
  }

  static Span at(const Use& u) { return u.expr->at() ? u.expr->at() : u.insn->at; }

  /// `inside`: a claim says that no value is below zero.
  void add(const Use& u, std::size_t d, Array& a, std::string key, bool inside) {
    PwAff& end = a.ends[d];
    auto it = ranges_.find(key);
    if (it == ranges_.end())
      it = ranges_.emplace(std::move(key), range(u.point, (*u.index)[d], inside)).first;
    const Range& r = it->second;
    const auto open = [&](std::string why) {
      if (a.strides > 0) {
        a.unknown.insert(d);
        return;
      }
      Diagnostic x;
      x.code = "unknown-shape";
      x.text = fmt::format("no shape is declared for `{}`, and {}", *u.name, why);
      x.where = {at(u), {}};
      x.hint = fmt::format("declare it, as in `{}: float64[n]`", *u.name);
      throw Error(std::move(x));
    };
    const std::string index = to_string((*u.index)[d]);
    if (!r.affine)
      return open(fmt::format("subscript `{}` of `{}` is not affine", index, to_string(*u.expr)));
    if (r.data_dependent)
      return open(fmt::format("the bounds of subscript `{}` of `{}` depend on data", index,
                              to_string(*u.expr)));
    if (r.negative && r.data)
      return open(fmt::format("subscript `{}` of `{}` depends on data", index, to_string(*u.expr)));
    if (r.negative)
      fail("negative-index", at(u), "`{}` reaches index {} of axis {}", to_string(*u.expr),
           *r.negative, d);
    if (!r.bounded)
      return open(
          fmt::format("subscript `{}` of `{}` has no upper bound", index, to_string(*u.expr)));
    if (r.empty) return;
    end = end ? PwAff(isl_pw_aff_coalesce(isl_pw_aff_union_max(end.take(), r.end.copy()))) : r.end;
  }

  Range range(int point, const Expr& index, bool inside) {
    Range out;
    const auto value = points_.affine(point, index);
    if (!value) {
      out.affine = false;
      return out;
    }
    Set s = points_.instances(point);
    Set values = isl_set_apply(s.copy(), isl_map_from_pw_aff(value->copy()));
    if (inside) values = isl_set_lower_bound_si(values.take(), isl_dim_set, 0, 0);
    values = coalesce(values.take());
    const std::vector<std::string> data = points_.temporaries_in(values);
    out.data = !data.empty();
    // Bounds that only decide whether there is an instance at all do not matter.
    if (!data.empty()) {
      Set all = drop_params(values, data);
      if (!has_upper_bound(all, 0)) {
        out.data_dependent = true;
        return out;
      }
      values = std::move(all);
    }
    if (yes(isl_set_is_empty(values.get()))) {
      out.empty = true;
      return out;
    }
    Set below = isl_set_upper_bound_si(values.copy(), isl_dim_set, 0, -1);
    if (!yes(isl_set_is_empty(below.get()))) {
      below = isl_set_set_dim_name(below.take(), isl_dim_set, 0, "x");
      // The one nearest to zero is the likeliest slip.
      for (const std::int64_t v : {std::int64_t{-1}, std::int64_t{-2}}) {
        Set one = isl_set_fix_si(below.copy(), isl_dim_set, 0, static_cast<int>(v));
        if (!yes(isl_set_is_empty(one.get()))) out.negative = v;
        if (out.negative) break;
      }
      if (!out.negative) out.negative = sample(below)->dims.at("x");
      return out;
    }
    if (!has_upper_bound(values, 0)) {
      out.bounded = false;
      return out;
    }
    Val one = isl_val_one(isl());
    out.end = isl_pw_aff_add_constant_val(isl_set_dim_max(values.take(), 0), one.take());
    return out;
  }

  /// Unknown where it takes long and nothing has to know, such as for many choices of letters.
  Expr extent(const Array& a, std::size_t d) {
    if (!a.ends[d]) return lit(0);  // no instance ever
    if (a.strides == 0) return extent(a.ends[d]);
    try {
      const IslBudget budget(kExtentOperations);
      return extent(a.ends[d]);
    } catch (const IslQuota&) { return lit(kUnknownExtent); }
  }

  /// As an expression over parameters: one affine one where that is exact, else a maximum.
  Expr extent(const PwAff& end) {
    PwAff p = isl_pw_aff_gist(end.copy(), context_.copy());
    Set where = isl_pw_aff_domain(p.copy());
    p = isl_pw_aff_coalesce(isl_pw_aff_gist(p.take(), where.take()));
    return from_affine(p);
  }

  const Kernel& k_;
  ProgramPoints points_;
  const std::set<std::string> in_bounds_;  // see Claim::Kind::InBounds
  Set context_;
  std::unordered_map<std::string, std::size_t> rank_;  // of arrays with a shape
  std::unordered_map<std::string, Array> open_;
  std::unordered_map<std::string, Range> ranges_;  // by point, subscript, and whether it is inside
  std::vector<std::unique_ptr<Use>> uses_;
};

}  // namespace

Kernel infer_shapes(Kernel k) {
  const WithoutRules flat(k);
  ShapeInference shapes(*flat);
  if (!shapes.anything_open()) return k;
  shapes.collect();
  std::map<std::string, std::optional<Exprs>> found;  // none is set before all are
  for (const Argument& a : k.args) {
    if (!a.is_array || a.shape) continue;
    if (!shapes.used(a.name) && a.strides) {
      found[a.name] = Exprs(a.strides->size(), lit(0));
      continue;
    }
    if (!shapes.used(a.name))
      fail("unknown-shape", a.at ? a.at : k.at,
           "no shape is declared for `{}`, and nothing uses it", a.name);
    found[a.name] = shapes.shape(a.name);
  }
  for (const auto& [name, t] : k.temporaries) {
    if (t.shape) continue;
    if (t.initializer && !shapes.used(name))
      found[name] = Exprs{lit(static_cast<std::int64_t>(t.initializer->size()))};
    else
      found[name] = shapes.shape(name);
  }
  for (Argument& a : k.args)
    if (a.is_array && !a.shape) a.shape = found.at(a.name);
  for (auto& [name, t] : k.temporaries)
    if (!t.shape) t.shape = found.at(name);
  return k;
}

}  // namespace moonloop
