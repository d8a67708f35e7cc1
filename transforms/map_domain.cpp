#include "transforms/map_domain.h"

#include <algorithm>

#include "core/model/lookup.h"
#include "core/order/order.h"
#include "core/order/reordered.h"
#include "core/rewrite/footprint.h"
#include "core/rewrite/iname_rewrite.h"
#include "core/sets/budget.h"
#include "transforms/registry.h"
#include "transforms/tag_inames.h"

namespace moonloop {
namespace {

using Names = std::vector<std::string>;

constexpr unsigned long kSimplifyOperations = 50'000;

bool contains(const Names& list, const std::string& name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

Names names_of(const Map& m, isl_dim_type side) {
  Names out;
  for (int i = 0; i < count(isl_map_dim(m.get(), side)); ++i)
    out.emplace_back(isl_map_get_dim_name(m.get(), side, static_cast<unsigned>(i)));
  return out;
}

/// A pair of `m` as values of its two sides; empty when it has none.
struct PairSample {
  std::map<std::string, std::int64_t> params, in, out;
};
std::optional<PairSample> sample_pair(const Map& m) {
  Set flat = isl_set_flatten(isl_map_wrap(m.copy()));
  const Names in = names_of(m, isl_dim_in), out = names_of(m, isl_dim_out);
  for (std::size_t i = 0; i < in.size() + out.size(); ++i)
    flat = isl_set_set_dim_name(flat.take(), isl_dim_set, static_cast<unsigned>(i),
                                fmt::format("_{}", i).c_str());
  const auto s = sample(flat);
  if (!s) return std::nullopt;
  PairSample p;
  p.params = s->params;
  for (std::size_t i = 0; i < in.size(); ++i) p.in[in[i]] = s->dims.at(fmt::format("_{}", i));
  for (std::size_t i = 0; i < out.size(); ++i)
    p.out[out[i]] = s->dims.at(fmt::format("_{}", in.size() + i));
  return p;
}

/// { x -> y : both have an image, or an origin, in common } without x = y.
Map without_identity(Map m) {
  const Map same = isl_map_identity(isl_map_get_space(m.get()));
  return isl_map_subtract(m.take(), same.copy());
}

/// The requested change of variables, checked.
class Change {
 public:
  Change(const Kernel& k, const std::string& text, const Span& at)
      : k_(k), text_(text), at_(at), map_(parse_map(text, at)) {
    in_ = names_of(map_, isl_dim_in);
    out_ = names_of(map_, isl_dim_out);
  }

  Kernel apply() {
    check_names();
    check_users();
    const Domain& home = *k_.home_of(in_.front());
    Set points = to_dims(domain_of(k_, home.inames()), in_);
    check_one_to_one(points);
    Kernel out = k_;
    if (const InameRewrite rw = rewrite(points); !rw.old.empty())
      out = rewrite_inames(k_, rw, Match());
    reorder(out);
    return out;
  }

 private:
  void check_names() {
    if (in_.empty()) refuse("bad-map", at_, "`{}` maps no iname", text_);
    for (const std::string& i : in_) require_iname(k_, i);
    const Domain* home = k_.home_of(in_.front());
    for (const std::string& i : in_)
      if (k_.home_of(i) != home)
        refuse(
            "no-common-domain", k_.home_of(i)->at,
            "the bounds of `{}` and `{}` are in different domains; only inames of one domain can "
            "be mapped together",
            in_.front(), i);
    for (std::size_t o = 0; o < out_.size(); ++o) {
      const auto it = std::find(in_.begin(), in_.end(), out_[o]);
      if (it == in_.end()) {
        require_new_name(k_, out_[o]);
        continue;
      }
      const Map same = isl_map_equate(map_.copy(), isl_dim_out, static_cast<int>(o), isl_dim_in,
                                      static_cast<int>(it - in_.begin()));
      if (!yes(isl_map_is_equal(same.get(), map_.get())))
        refuse("name-taken", at_, "the map changes `{}`; its new values need a new name", out_[o]);
    }
    for (const std::string& i : in_)
      if (const InameTag* tag = k_.tag(i); tag && !contains(out_, i))
        refuse("tagged-iname", k_.at, "`{}` is tagged `{}`; map the domain first, then tag", i,
               tag->text);
  }

  /// Instructions and reductions are in all loops that change and in those that the map uses, or in
  /// none that changes: loops that stay may hold other instructions too.
  void check_users() const {
    const std::string doing = "mapping " + quoted_list(in_);
    Names moved;
    for (const std::string& i : in_)
      if (!contains(out_, i)) moved.push_back(i);
    const auto split = [&](const auto& has) {
      std::pair<Names, Names> parts;
      for (const std::string& i : in_) (has(i) ? parts.first : parts.second).push_back(i);
      const bool any = std::any_of(moved.begin(), moved.end(), has);
      if (!any) parts.second.clear();
      return parts;
    };
    for (const InsnPtr& insn : k_.instructions) {
      const auto around = [&](const std::string& i) { return insn->inames.contains(i); };
      if (const auto [in, out] = split(around); !out.empty())
        refuse("some-not-all", insn->at,
               "{}: instruction `{}` is inside the loop over {} but not {}; "
               "`duplicate_inames(\"{}\", \"id:{}\")` gives it loops of its own",
               doing, insn->id, quoted_list(in), quoted_list(out), fmt::join(in, ", "), insn->id);
      const auto look = [&](const Expr& e) {
        if (!e) return;
        rewrite_places(expand_rules(k_, e), place_of(*insn), [&](const Expr& x, const Place& at) {
          if (const Reduce* r = x.as<Reduce>()) check_reduction(*r, x, at, moved, doing);
          return std::optional<Expr>();
        });
      };
      for (const Expr& e : insn->lhs) look(e);
      look(insn->rhs);
      for (const Expr& e : insn->predicates) look(e);
    }
  }

  void check_reduction(const Reduce& r, const Expr& e, const Place& at, const Names& moved,
                       const std::string& doing) const {
    const auto binds = [&](const std::string& i) { return contains(r.inames, i); };
    if (std::none_of(moved.begin(), moved.end(), binds)) return;
    Names in, out;
    for (const std::string& i : in_)
      if (binds(i))
        in.push_back(i);
      else if (contains(moved, i) || !contains(at.inames, i))
        out.push_back(i);
    if (!out.empty())
      refuse("partial-reduction", e.at(), "{}: the reduction `{}` is over {} but not over {}",
             doing, to_string(e), quoted_list(in), quoted_list(out));
  }

  /// `update[i=3]` of some instruction that is in the loops.
  std::string instance(const std::map<std::string, std::int64_t>& at) const {
    const auto users = users_of(k_, in_.front());
    return instance_text(users.empty() ? k_.name : k_.instructions[users.front()]->id, in_, at);
  }
  std::string point(const std::map<std::string, std::int64_t>& at) const {
    return instance_text("", out_, at);
  }
  static std::string where(const std::map<std::string, std::int64_t>& params) {
    std::string text;
    for (const auto& [name, v] : params)
      text += fmt::format("{}{} = {}", text.empty() ? " when " : ", ", name, v);
    return text;
  }

  /// A map that is one to one and total everywhere is so on the points, whose set may be involved.
  bool one_to_one_everywhere() const {
    const Set without =
        isl_set_subtract(isl_set_universe(isl_space_domain(isl_map_get_space(map_.get()))),
                         isl_map_domain(map_.copy()));
    return yes(isl_set_is_empty(without.get())) && yes(isl_map_is_bijective(map_.get()));
  }

  void check_one_to_one(const Set& points) {
    const IslBudget budget(kQuestionOperations);
    if (one_to_one_everywhere()) return;
    const Set covered = isl_map_domain(map_.copy());
    const Set lost = isl_set_subtract(points.copy(), covered.copy());
    if (const auto s = sample(lost))
      refuse("drops-instance", at_, "the map has no image of `{}`{}, which would be lost",
             instance(s->dims), where(s->params));
    const Map m = isl_map_intersect_domain(map_.copy(), points.copy());
    const Map back = isl_map_reverse(m.copy());
    const Map doubled = without_identity(isl_map_apply_range(back.copy(), m.copy()));
    if (const auto p = sample_pair(doubled)) {
      Map origin = m;
      for (std::size_t i = 0; i < out_.size(); ++i)
        origin = isl_map_fix_val(origin.take(), isl_dim_out, static_cast<unsigned>(i),
                                 isl_val_int_from_si(isl(), p->in.at(out_[i])));
      const auto from = sample_pair(origin);
      refuse("doubles-instance", at_, "`{}` has two images{}, `{}` and `{}`, and would run twice",
             instance(from->in), where(p->params), point(p->in), point(p->out));
    }
    const Map merged = without_identity(isl_map_apply_range(m.copy(), back.copy()));
    if (const auto p = sample_pair(merged)) {
      Map image = m;
      for (std::size_t i = 0; i < in_.size(); ++i)
        image = isl_map_fix_val(image.take(), isl_dim_in, static_cast<unsigned>(i),
                                isl_val_int_from_si(isl(), p->in.at(in_[i])));
      const auto to = sample_pair(image);
      refuse("merges-instances", at_, "`{}` and `{}` have the same image{}, `{}`", instance(p->in),
             instance(p->out), where(p->params), point(to->out));
    }
  }

  InameRewrite rewrite(const Set& points) const {
    InameRewrite rw;
    for (const std::string& i : in_)
      if (!contains(out_, i)) rw.old.push_back(i);
    for (const std::string& o : out_)
      if (!contains(in_, o)) rw.fresh.push_back(o);
    for (const std::string& i : rw.old) rw.bound[i] = {};
    if (!rw.old.empty()) rw.bound[rw.old.front()] = rw.fresh;
    rw.relation = relation();
    const Map m = isl_map_intersect_domain(map_.copy(), points.copy());
    const bool plain = yes(isl_map_is_injective(map_.get()));
    Map back = isl_map_reverse(plain ? map_.copy() : m.copy());
    const Set image = isl_map_range(m.copy());
    const PwMultiAff inverse = isl_pw_multi_aff_from_map(back.take());
    for (const std::string& i : rw.old) {
      const auto pos = std::find(in_.begin(), in_.end(), i) - in_.begin();
      PwAff e = isl_pw_multi_aff_get_pw_aff(inverse.get(), static_cast<int>(pos));
      const PwAff there = on(image, e);
      // For a loop that never runs as it is: any number would do, but not of any type.
      rw.old_in_new[i] = from_affine(count(isl_pw_aff_n_piece(there.get())) > 0 ? there : e);
    }
    return rw;
  }

  /// `e` as simple as it gets where the inames have values. On points with many cases that may take
  /// longer than it is worth; then where the map has images.
  PwAff on(const Set& image, const PwAff& e) const {
    const auto simple = [&](const Set& context) -> PwAff {
      return isl_pw_aff_coalesce(isl_pw_aff_gist(e.copy(), context.copy()));
    };
    try {
      const IslBudget budget(kSimplifyOperations);
      return simple(image);
    } catch (const IslQuota&) { return simple(isl_map_range(map_.copy())); }
  }

  /// { [in..., fresh...] }
  Set relation() const {
    Set s = isl_set_flatten(isl_map_wrap(map_.copy()));
    Names names = in_;
    for (const std::string& o : out_) names.push_back(contains(in_, o) ? "" : o);
    for (std::size_t i = names.size(); i-- > 0;)
      s = names[i].empty() ? isl_set_project_out(s.take(), isl_dim_set, static_cast<unsigned>(i), 1)
                           : isl_set_set_dim_name(s.take(), isl_dim_set, static_cast<unsigned>(i),
                                                  names[i].c_str());
    return isl_set_reset_tuple_id(s.take());
  }

  /// Puts the outputs in the map's order, in their places among other loops: in the loop order, in
  /// their domain and in priorities.
  void reorder(Kernel& out) const {
    const auto ordered = [&](const Names& list) {
      Names mapped;  // the outputs in this list
      for (const std::string& o : out_)
        if (contains(list, o)) mapped.push_back(o);
      Names result = list;
      auto next = mapped.begin();
      for (std::string& n : result)
        if (contains(out_, n)) n = *next++;
      return result;
    };
    out.loop_order = ordered(out.loop_order);
    for (Names& chain : out.priorities) chain = ordered(chain);
    for (Domain& d : out.domains)
      if (const Names dims = d.inames(); contains(dims, out_.front()))
        d.set = to_dims(d.set, ordered(dims));
  }

  const Kernel& k_;
  const std::string& text_;
  const Span& at_;
  Map map_;
  Names in_, out_;
};

}  // namespace

Kernel map_domain(const Kernel& k, const std::string& map, const Span& at, Proof proof) {
  return reordered(k, Change(k, map, at).apply(), proof);
}

extern const Op map_domain_op;
const Op map_domain_op{
    .name = "map_domain",
    .doc =
        R"(Changes the variables of a loop nest by a one-to-one map: skewing, reversal, interchange, tiling.

The map is isl text. Its inputs are inames of one domain; its outputs are new names, in the order in
which the new loops are to nest; an input may be among the outputs, and stays as it is, also for
instructions in that loop alone. In a priority the outputs take the inputs' places.

Refuses a map that is not one-to-one on the domain or does not cover it (with the instances that
would be lost, run twice or fall together), inames of several domains, inames that change and have a
tag, instructions and reductions that have some of the inputs that change but not all inputs, and a
new order that a dependence forbids, with two instances that would change places.)",
    .params = {{.name = "transform_map",
                .kind = Kind::Str,
                .help = "such as \"{ [i, j] -> [t, j] : t = i + j }\"",
                .required = true,
                .positional = true},
               unsafe_option()},
    .example_kernel = R"(kernel smooth(n: int32, a: float64[n, n])
domain {[i, j]: 1 <= i < n and 1 <= j < n}
a[i, j] = a[i, j - 1] + a[i - 1, j]
)",
    .example = R"(knl = lp.map_domain(knl, "{ [i, j] -> [t, j] : t = i + j }"))",
    .run = [](const Kernel& k,
              const Args& a) { return map_domain(k, a.str("transform_map"), a.at(), a.proof()); },
    .query = {},
};

}  // namespace moonloop
