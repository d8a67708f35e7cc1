#include <algorithm>
#include <map>

#include "core/model/affine.h"
#include "core/model/lookup.h"
#include "core/rewrite/loop_body.h"
#include "core/rewrite/loop_values.h"
#include "transforms/array_layout.h"
#include "transforms/distribute_loops.h"
#include "transforms/fold_storage.h"
#include "transforms/fuse_loops.h"
#include "transforms/map_domain.h"
#include "transforms/new_inames.h"
#include "transforms/privatize_temporaries_with_inames.h"
#include "transforms/registry.h"
#include "transforms/rename_iname.h"
#include "transforms/split_at.h"

namespace moonloop {
namespace {

using Names = std::vector<std::string>;

/// Moves the statements of a loop that write to some temporaries some iterations ahead. All is put
/// together from steps that prove themselves: with an element of the temporaries for each
/// iteration, these statements get a loop of their own before the other one; but for the first
/// iterations it is fused with the other one again, each of its iterations with an earlier one of
/// that; then the elements that are no longer needed give their memory to later ones.
class Pipeline {
 public:
  Pipeline(const Kernel& k, const std::string& iname, std::int64_t stages, Names temporaries)
      : k_(k), iname_(iname), stages_(stages), temporaries_(std::move(temporaries)) {
    require_iname(k, iname);
    if (stages < 2)
      refuse("bad-count", k.at, "a pipeline has at least 2 stages, and not {}", stages);
    if (const InameTag* tag = k.tag(iname))
      refuse("tagged-iname", k.at,
             "`{}` is tagged `{}`; its iterations are not one after the other", iname, tag->text);
    const LoopBody body(k, iname);
    if (body.members().empty())
      refuse("not-a-loop", k.at, "`{}` is no loop around an instruction of kernel `{}`", iname,
             k.name);
    for (const std::size_t n : body.members())
      if (!k.instructions[n]->inames.contains(iname))
        refuse("reduction-loop", k.instructions[n]->at,
               "`{}` is a loop of a reduction in instruction `{}`; realize_reduction(\"id:{}\") "
               "makes it one of statements",
               iname, k.instructions[n]->id, k.instructions[n]->id);
    if (temporaries_.empty()) find_temporaries(body);
    for (const std::string& name : temporaries_) require_temporary(k, name);
  }

  Kernel apply() const {
    Kernel k = privatize_temporaries_with_inames(k_, {iname_}, temporaries_);
    Names queries;
    for (const std::string& name : temporaries_) queries.push_back("writes:" + name);
    const Match fills = Match::parse(fmt::format("{}", fmt::join(queries, " or ")));
    const std::string suffix = free_suffix(k);
    k = distribute_loops(k, iname_, {fills}, {.suffixes = {suffix, ""}});
    const std::string ahead = iname_ + suffix, rest = loop_of_others(k, fills, ahead);
    const std::string later = NewInames(k).take("", ahead + "_later");
    // What fuse_loops proves is the order of all four.
    k = split_at(k, ahead, to_string(begin_of_later(k, ahead)), {"", later}, k_.at, Proof::LeftOut);
    const std::string moved = NewInames(k).take("", ahead + "_moved");
    k = map_domain(k,
                   fmt::format("{{ [{0}] -> [{1}] : {1} = {0} - {2} }}", later, moved, stages_ - 1),
                   k_.at, Proof::LeftOut);
    if (rest != iname_) k = rename_iname(k, rest, iname_, {.proof = Proof::LeftOut});
    k = fuse_loops(k, {iname_, moved}, "");
    std::map<std::int64_t, Names> by_axis;  // that of the stages
    for (const std::string& name : temporaries_)
      by_axis[std::ssize(*k.find_temporary(name)->shape) - 1].push_back(name);
    for (const auto& [axis, names] : by_axis) k = fold_storage(k, names, axis, stages_);
    for (const std::string& name : temporaries_) put_stages_apart(k, name);
    return k;
  }

 private:
  void find_temporaries(const LoopBody& body) {
    for (const auto& [name, t] : k_.temporaries) {
      if (t.space != AddressSpace::Local) continue;
      const bool is_filled =
          std::any_of(body.members().begin(), body.members().end(),
                      [&](std::size_t n) { return writes(*k_.instructions[n]).contains(name); });
      if (is_filled) temporaries_.push_back(name);
    }
    if (temporaries_.empty())
      refuse(
          "nothing-ahead", k_.at,
          "no statement in the loop over `{}` writes to a temporary that is declared `in local`; "
          "`temporaries` says what is made ahead",
          iname_);
  }

  /// Elements of one stage lie next to each other, as those of the temporary did.
  static void put_stages_apart(Kernel& k, const std::string& name) {
    if (k.find_temporary(name)->order == Order::F) return;  // the last axis is the slowest one
    const Exprs shape = *k.find_temporary(name)->shape;
    Exprs strides(shape.size());
    Expr next = lit(1);
    for (std::size_t i = shape.size() - 1; i-- > 0;) {
      strides[i] = next;
      next = index_mul(next, shape[i]);
    }
    strides.back() = next;
    set_layout(k, name, shape, strides);
  }

  /// Such that no loop with it at its end exists.
  std::string free_suffix(const Kernel& k) const {
    const Names inames = k.inames();
    for (int n = -1;; ++n) {
      std::string suffix = n < 0 ? "_ahead" : fmt::format("_ahead_{}", n);
      if (std::none_of(inames.begin(), inames.end(),
                       [&](const std::string& i) { return k.has_name(i + suffix); }))
        return suffix;
    }
  }

  /// The loop that the other statements are in now.
  std::string loop_of_others(const Kernel& k, const Match& fills, const std::string& ahead) const {
    const LoopBody before(k_, iname_);
    for (const std::size_t n : before.members()) {
      const Instruction& was = *k_.instructions[n];
      const Instruction& is = *k.find_insn(was.id);
      if (fills(k, is)) continue;
      for (const std::string& i : is.inames)
        if (i != ahead && (i == iname_ || !was.inames.contains(i)) && is_outermost(k, i, was, is))
          return i;
    }
    throw InternalError("distribute_loops leaves statements in a loop of their own");
  }
  /// Of the loops that are new, the one around the others.
  static bool is_outermost(const Kernel& k, const std::string& iname, const Instruction& was,
                           const Instruction& is) {
    const LoopBody body(k, iname);
    const std::set<std::string> own = body.own();
    return std::all_of(is.inames.begin(), is.inames.end(), [&](const std::string& i) {
      return was.inames.contains(i) || own.contains(i);
    });
  }

  /// The first iteration for which an earlier one makes its values.
  Expr begin_of_later(const Kernel& k, const std::string& ahead) const {
    const std::optional<Aff> first = first_value(k, ahead);
    if (!first)
      refuse("no-first", k_.home_of(iname_)->at,
             "`{}` has no first value that is one affine expression of parameters and of the loops "
             "around it",
             iname_);
    return index_add({from_affine(PwAff(isl_pw_aff_from_aff(first->copy()))), lit(stages_ - 1)});
  }

  const Kernel& k_;
  const std::string& iname_;
  std::int64_t stages_;
  Names temporaries_;
};

}  // namespace

extern const Op pipeline_op;
const Op pipeline_op{
    .name = "pipeline",
    .doc =
        R"(Makes what a loop's iterations fetch some iterations ahead, in stages of memory.

    for k: t[j] = a[k, j]        with 2 stages is    t[j, 0] = a[0, j]
           use(t)                                    for k: t[j, (k + 1) % 2] = a[k + 1, j]
                                                            use(t[.., k % 2])

While an iteration works with one stage, what the next ones need comes in. The temporaries get an
axis, the last one, over the stages, which lie one after the other in memory; the statements that write to them run `stages - 1` iterations
early, for the first ones before the loop. Those in the loop have the condition that there is such
an iteration.

Refuses a loop with a tag, loops of reductions, a temporary in which an iteration finds what another
one wrote, or that has strides or initial values; a loop without a first value, or in which all
statements write to the temporaries; and a loop of which an iteration changes what a later one
fetches, with the two instances.)",
    .params = {{.name = "iname",
                .kind = Kind::Str,
                .help = "the loop",
                .required = true,
                .positional = true},
               {.name = "stages",
                .kind = Kind::Int,
                .help = "for how many iterations there is memory",
                .fallback = "2"},
               {.name = "temporaries",
                .kind = Kind::Names,
                .help = "what is made ahead",
                .fallback = "all that are `in local` and written in the loop"}},
    .example_kernel = R"(kernel sums(n: int32, a: float32[n, 64], b: float32[64])
domain {[k, j, i]: 0 <= k < n and 0 <= j, i < 64}
temp t: float32[64] in local
t[j] = a[k, j]          {id=fetch, inames=k:j}
b[i] = b[i] + t[63 - i] {dep=fetch, inames=k:i}
)",
    .example = R"(knl = lp.pipeline(knl, "k", {stages = 3})
assert(tostring(knl):find("temp t: float32[64, 3]", 1, true)))",
    .run =
        [](const Kernel& k, const Args& a) {
          return Pipeline(k, a.str("iname"), a.integer("stages", 2), a.names("temporaries"))
              .apply();
        },
    .query = {},
};

}  // namespace moonloop
