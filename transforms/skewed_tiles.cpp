#include "transforms/skewed_tiles.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/expr/parse_expr.h"
#include "core/model/domain.h"
#include "core/model/lookup.h"
#include "core/rewrite/loop_body.h"
#include "core/rewrite/loop_bounds.h"
#include "core/sets/bounded.h"
#include "core/sets/coalesce.h"
#include "transforms/registry.h"

namespace moonloop {
namespace {

using Names = std::vector<std::string>;

bool has_name(const Names& list, const std::string& name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

/// An instruction in the loop.
struct Tiled {
  std::size_t insn = 0;
  Expr along;
  Names names;  // inames in `along`, those of the instruction
  Set tile;     // { [tile, names] : size*tile <= along < size*(tile + 1) }
};

class Tiles {
 public:
  Tiles(const Kernel& k, const std::string& iname, const AlongByInstruction& along,
        std::int64_t size, std::string tile, const Span& at)
      : k_(k), iname_(iname), tile_(std::move(tile)), size_(size), at_(at) {
    require_iname(k, iname);
    if (size < 1) refuse("bad-length", k.at, "tiles of size {}; it must be at least 1", size);
    if (const InameTag* tag = k.tag(iname))
      refuse("tagged-iname", k.at, "`{}` is tagged `{}`; tile first, then tag", iname, tag->text);
    if (tile_.empty()) tile_ = k.fresh_name(iname + "_tile");
    require_new_name(k, tile_);
    part_domain();
    read(along);
  }

  Kernel apply() {
    Kernel out = k_;
    const Domain& home = *k_.home_of(iname_);
    const std::size_t number = static_cast<std::size_t>(&home - k_.domains.data());
    std::map<std::size_t, const Tiled*> restricted;  // by domain
    for (const Tiled& t : all_) {
      const std::optional<std::size_t> at = domain_for(t);
      out.instructions[t.insn] = edit(k_.instructions[t.insn], [&](Instruction& i) {
        i.inames.insert(tile_);
        if (!at) i.predicates.insert(i.predicates.begin(), condition(t));
      });
      if (at) restricted.emplace(*at, &t);
    }
    out.domains[number].set = home_points(home);
    for (const auto& [d, t] : restricted) {
      Set& points = out.domains[d].set;
      points = intersected(points, t->tile);
    }
    const auto before = [&](Names list) {
      list.insert(std::find(list.begin(), list.end(), iname_), tile_);
      return list;
    };
    out.loop_order = before(out.loop_order);
    for (Names& chain : out.priorities)
      if (has_name(chain, iname_)) chain = before(chain);
    return out;
  }

 private:
  /// What bounds the loop gets a domain of its own where other instructions are in loops that share
  /// it.
  void part_domain() {
    const Names home = k_.home_of(iname_)->inames();
    const bool shared =
        std::any_of(k_.instructions.begin(), k_.instructions.end(), [&](const InsnPtr& insn) {
          const std::set<std::string> used = all_inames(k_, *insn);
          return !insn->inames.contains(iname_) &&
                 std::any_of(home.begin(), home.end(),
                             [&](const std::string& i) { return used.contains(i); });
        });
    if (!shared) return;
    const std::set<std::string> own = LoopBody(k_, iname_).own();
    if (own.contains(iname_)) detach_loop(k_, iname_, own);
  }

  // ---- What is asked for ------------------------------------------------------------------------

  void read(const AlongByInstruction& along) {
    std::map<std::string, std::string> by_id;
    for (const auto& [id, text] : along) {
      require_insn(k_, id);
      by_id[id] = text;
    }
    const Names home = k_.home_of(iname_)->inames();
    for (std::size_t n = 0; n < k_.instructions.size(); ++n) {
      const Instruction& insn = *k_.instructions[n];
      const auto given = by_id.find(insn.id);
      if (!insn.inames.contains(iname_)) {
        if (given != by_id.end())
          refuse("not-nested", insn.at, "instruction `{}` is not in the loop over `{}`", insn.id,
                 iname_);
        const std::set<std::string> used = all_inames(k_, insn);
        for (const std::string& i : home)
          if (used.contains(i))
            refuse("some-not-all", insn.at,
                   "instruction `{}` uses `{}`, whose bounds are in one domain with those of `{}`, "
                   "but is not in the loop over `{}`",
                   insn.id, i, iname_, iname_);
        continue;
      }
      if (given == by_id.end())
        refuse("some-not-all", insn.at,
               "instruction `{}` is in the loop over `{}`, but it is not said along what it is cut "
               "into tiles",
               insn.id, iname_);
      all_.push_back(tiled(n, given->second));
    }
    if (all_.empty())
      refuse("not-nested", k_.at, "no instruction is in the loop over `{}`, other than a reduction",
             iname_);
  }

  Tiled tiled(std::size_t n, const std::string& text) const {
    const Instruction& insn = *k_.instructions[n];
    if (insn.kind == InsnKind::Barrier)
      refuse("unsupported", insn.at, "`{}` is a barrier, which is in no tile", insn.id);
    Tiled out;
    out.insn = n;
    out.along = parse_expression(text, at_);
    std::set<std::string> used;
    collect_vars(out.along, used);
    for (const std::string& name : used) {
      const Argument* a = k_.find_arg(name);
      if (insn.inames.contains(name))
        out.names.push_back(name);
      else if (!(a && !a->is_array) && !is_parameter(name))
        refuse(
            "bad-direction", insn.at,
            "`{}`, along which instruction `{}` is cut, has `{}`, which is neither a loop around "
            "it nor a parameter of kernel `{}`",
            text, insn.id, name, k_.name);
    }
    Names dims{tile_};
    dims.insert(dims.end(), out.names.begin(), out.names.end());
    const auto set = to_condition(condition(out), dims);
    if (!set)
      refuse("bad-direction", insn.at, "`{}`, along which instruction `{}` is cut, is not affine",
             text, insn.id);
    out.tile = *set;
    return out;
  }

  bool is_parameter(const std::string& name) const {
    if (k_.has_iname(name) || k_.find_temporary(name)) return false;
    return std::any_of(k_.domains.begin(), k_.domains.end(),
                       [&](const Domain& d) { return has_name(d.params(), name); });
  }

  /// size*tile <= along < size*tile + size
  Expr condition(const Tiled& t) const {
    const Expr first = index_mul(lit(size_), var(tile_));
    return parse_expression(fmt::format("{0} <= {1} and {1} < {0} + {2}", to_string(first),
                                        "(" + to_string(t.along) + ")", size_),
                            at_);
  }

  // ---- Where it goes
  // ------------------------------------------------------------------------------

  /// The domain in which the condition of `t` can stand, as bounds of its loops: the innermost one
  /// whose inames it has, if all that uses these is in the loop and cut along the same.
  std::optional<std::size_t> domain_for(const Tiled& t) const {
    std::optional<std::size_t> innermost;
    const std::vector<int> parents = domain_parents(k_);
    const auto depth = [&](std::size_t d) {
      int n = 0;
      for (int at = parents[d]; at >= 0; at = parents[std::size_t(at)]) ++n;
      return n;
    };
    const std::size_t home = static_cast<std::size_t>(k_.home_of(iname_) - k_.domains.data());
    const auto around = [&](std::size_t d) {  // the loop's own domain, or one that it depends on
      int at = static_cast<int>(home);
      while (at >= 0 && std::size_t(at) != d) at = parents[std::size_t(at)];
      return at >= 0;
    };
    for (const std::string& name : t.names) {
      const auto d = static_cast<std::size_t>(k_.home_of(name) - k_.domains.data());
      // A domain that does not depend on the loop is inside of it all the same, unless the loop
      // depends on it.
      const auto rank = [&](std::size_t n) { return std::pair(!around(n), depth(n)); };
      if (!innermost || rank(d) > rank(*innermost)) innermost = d;
    }
    if (!innermost) return {};
    const Names inames = k_.domains[*innermost].inames();
    for (const InsnPtr& insn : k_.instructions) {
      const std::set<std::string> used = all_inames(k_, *insn);
      if (std::none_of(inames.begin(), inames.end(),
                       [&](const std::string& i) { return used.contains(i); }))
        continue;
      const auto it = std::find_if(all_.begin(), all_.end(), [&](const Tiled& other) {
        return k_.instructions[other.insn] == insn;
      });
      if (it == all_.end() || !equal(it->along, t.along)) return {};
      for (const std::string& name : t.names)
        if (!insn->inames.contains(name)) return {};
    }
    return innermost;
  }

  /// The points of the loop's domain with the tiles that something in it is in, or more of them.
  Set home_points(const Domain& home) const {
    const Names old = home.inames();
    Names dims = old;
    dims.insert(std::find(dims.begin(), dims.end(), iname_), tile_);
    Set tiles;
    for (const Tiled& t : all_) {
      const Instruction& insn = *k_.instructions[t.insn];
      const Names own(insn.inames.begin(), insn.inames.end());
      Set points = join_by_name(domain_of(k_, own), t.tile);
      Names outer;
      for (const std::string& p : home.params())
        if (k_.has_iname(p)) outer.push_back(p);
      points = to_dims(dims_to_params(points, outer), dims);
      tiles = tiles ? Set(isl_set_union(tiles.take(), points.take())) : points;
    }
    // More tiles do no harm, as long as they have ends.
    const Set hull = isl_set_from_basic_set(isl_set_simple_hull(tiles.copy()));
    const Set all = to_dims(home.set, dims);
    const Set with_hull = isl_set_intersect(hull.copy(), all.copy());
    const auto at = std::find(dims.begin(), dims.end(), tile_) - dims.begin();
    if (is_bounded(with_hull, static_cast<unsigned>(at))) return with_hull;
    return coalesce(isl_set_intersect(tiles.take(), all.copy()));
  }

  static Set intersected(const Set& points, const Set& with) {
    const Names dims = dim_names(points);
    Names others;
    for (const std::string& n : dim_names(with))
      if (!has_name(dims, n)) others.push_back(n);
    return isl_set_intersect(points.copy(), to_dims(dims_to_params(with, others), dims).take());
  }

  Kernel k_;
  const std::string& iname_;
  std::string tile_;
  std::int64_t size_;
  const Span& at_;
  std::vector<Tiled> all_;
};

}  // namespace

Kernel skewed_tiles(const Kernel& k, const std::string& iname, const AlongByInstruction& along,
                    std::int64_t size, const std::string& tile, const Span& at, Proof proof) {
  return reordered(k, Tiles(k, iname, along, size, tile, at).apply(), proof);
}

extern const Op skewed_tiles_op;
const Op skewed_tiles_op{
    .name = "skewed_tiles",
    .doc = R"(Cuts all that stands in a loop into tiles along a direction that the loop may move.

    for t: for i: s(t, i)    along {s = "i + t"}, by 32, becomes
    for t_tile: for t: for i of those with i + t in [32*t_tile, 32*t_tile + 32): s(t, i)

A new loop over tiles stands right outside of the loop; in each tile, all iterations of the loop run for
the instances of that tile. So a time loop around sweeps over space runs several sweeps on what the
cache holds. Statements may be cut along expressions of their own, of different loops: shifted ones,
such as "i + 2*t" and "p + 2*t + 1". To limit the time in a tile as well, split the loop afterwards, and
prioritize its outer part, the tiles, and its inner part.

Refuses loops that have tags, an expression that is not affine, statements in the loop for which none is
given, names in use, and an order in which some dependence would run backwards, with two instances.)",
    .params = {{.name = "iname",
                .kind = Kind::Str,
                .help = "the loop",
                .required = true,
                .positional = true},
               {.name = "along",
                .kind = Kind::Tags,
                .help = "by the id of each instruction in it, along what it is cut: "
                        "{s = \"i + t\"}",
                .required = true,
                .positional = true},
               {.name = "size",
                .kind = Kind::Int,
                .help = "how long a tile is",
                .required = true,
                .positional = true},
               {.name = "tile_iname",
                .kind = Kind::Str,
                .help = "name of the loop over tiles",
                .fallback = "<iname>_tile"},
               unsafe_option()},
    .example_kernel = R"(kernel sweeps(n: int32, m: int32, a: inout float64[n])
domain {[t]: 0 <= t < m}
domain {[i]: 1 <= i < n - 1}
for t, i
  a[i] = (a[i - 1] + a[i] + a[i + 1])/3  {id=mean}
end
)",
    .example = R"(knl = lp.skewed_tiles(knl, "t", {mean = "i + t"}, 64))",
    .run =
        [](const Kernel& k, const Args& a) {
          return skewed_tiles(k, a.str("iname"), a.pairs("along"), a.integer("size"),
                              a.str("tile_iname"), a.at(), a.proof());
        },
    .query = {},
};

}  // namespace moonloop
