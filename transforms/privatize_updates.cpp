#include "transforms/privatize_updates.h"

#include <algorithm>

#include "core/expr/reduction_steps.h"
#include "core/infer/infer.h"
#include "core/model/lookup.h"
#include "core/order/commuting.h"
#include "core/rewrite/staging.h"
#include "transforms/last_update.h"
#include "transforms/registry.h"

namespace moonloop {
namespace {

/// How copies begin, and how one is added to the array.
struct Combination {
  Expr neutral, combined;  // the second over `base` and `buffer`
};

std::optional<Combination> combination(const std::string& op, const Type& t) {
  const Expr base = var("base"), own = var("buffer");
  const auto reduction = [&](ReduceOp r) {
    return Combination{neutral_values(r, {t})[0], combined(r, {base}, {own}, {t})[0]};
  };
  const auto nary = [&](NaryOp n, const Expr& neutral) {
    return Combination{neutral, Expr(Nary{n, {base, own}})};
  };
  const auto chosen = [&](CompareOp c, ReduceOp r) {
    return Combination{neutral_values(r, {t})[0],
                       Expr(Select{Expr(Compare{c, own, base}), own, base})};
  };
  const bool truth = t.scalar == Scalar::Bool;
  if (op == "sum") return reduction(ReduceOp::Sum);
  if (op == "product") return reduction(ReduceOp::Product);
  if (!is_complex(t.scalar)) {
    if (op == "min") return reduction(ReduceOp::Min);
    if (op == "max") return reduction(ReduceOp::Max);
    if (op == "chosen min") return chosen(CompareOp::Lt, ReduceOp::Min);
    if (op == "chosen max") return chosen(CompareOp::Gt, ReduceOp::Max);
  }
  // A number that is not 0 would become 1, also where nothing is combined with it.
  if (op == "and" && truth) return reduction(ReduceOp::All);
  if (op == "or" && truth) return reduction(ReduceOp::Any);
  if (!is_integer(t.scalar)) return {};
  if (op == "&")
    return nary(NaryOp::BitAnd, is_unsigned(t.scalar) ? Expr(Cast{t, lit(-1)}) : lit(-1));
  if (op == "|") return nary(NaryOp::BitOr, lit(0));
  if (op == "^") return nary(NaryOp::BitXor, lit(0));
  return {};
}

class PrivatizeUpdates {
 public:
  PrivatizeUpdates(const Kernel& k, const std::string& array,
                   const std::vector<std::string>& inames, const PrivatizeOptions& o,
                   std::set<std::string>& used)
      : k_(k), plain_(expand_all_rules(k)), array_(array), inames_(inames), o_(o), used_(used) {}

  Kernel run() {
    if (!k_.find_arg(array_) && !k_.find_temporary(array_)) return buffer_array(k_, array_, {});
    for (const std::string& i : inames_) require_iname(k_, i);
    find_updates();
    typed_ = infer_types(plain_);
    BufferOptions b;
    b.buffer_inames = around();
    const Combination c = operation();
    b.init_expression = c.neutral;
    b.store_expression = c.combined;
    b.within = Match::parse(selected_, o_.at);
    b.default_tag = o_.default_tag;
    b.temporary_name =
        o_.temporary_name.empty() ? k_.fresh_name(array_ + "_own") : o_.temporary_name;
    b.temporary_scope = o_.temporary_scope;
    b.fetch_bounding_box = b.whole_axes = b.updates = true;
    b.at = o_.at;
    b.proof = o_.proof;
    const Kernel before = with_shape();
    if (!o_.last) return buffer_array(before, array_, b);
    b.temporary_scope = AddressSpace::Private;  // whoever makes the updates, one after the other
    return holding_last(before, buffer_array(before, array_, b), array_, b);
  }

 private:
  const Span& at() const { return o_.at ? o_.at : k_.at; }

  void find_updates() {
    for (std::size_t n = 0; n < plain_.instructions.size(); ++n) {
      const Instruction& insn = *k_.instructions[n];
      const Instruction& plain = *plain_.instructions[n];
      if (!writes(plain).count(array_) && !reads(plain_, plain).count(array_)) continue;
      const bool inside = std::any_of(inames_.begin(), inames_.end(), [&](const std::string& i) {
        return all_inames(k_, insn).count(i) > 0;
      });
      if (o_.within.everything() ? !inside : !o_.within(k_, insn)) continue;
      updates_.push_back(n);
      selected_ += (selected_.empty() ? "id:" : " or id:") + insn.id;
    }
    if (updates_.empty())
      refuse("no-match", at(), "no selected instruction of kernel `{}` accesses `{}`", k_.name,
             array_);
  }

  /// Of the inames those around some update: others are around the updates of another array.
  std::vector<std::string> around() {
    std::vector<std::string> out;
    for (const std::string& i : inames_)
      if (std::any_of(updates_.begin(), updates_.end(), [&](const std::size_t n) {
            return all_inames(k_, *k_.instructions[n]).count(i) > 0;
          }))
        out.push_back(i);
    used_.insert(out.begin(), out.end());
    return out;
  }

  Combination operation() {
    CommutingUpdates commuting(typed_);
    std::string first;
    for (const std::size_t n : updates_) {
      const Instruction& insn = *typed_.instructions[n];
      if (!commuting.in_any_order(insn, array_))
        refuse("not-an-update", insn.at,
               "`{}` accesses `{}`, but is not an update of it that commutes with itself, such as "
               "`{}[…] = {}[…] + x`; select the updates with `within`",
               insn.id, array_, array_, array_);
      const std::string op = commuting.operation_of(insn, array_);
      const Type t = type_of(typed_, insn.lhs[0]);
      if (op.empty() || insn.lhs.size() != 1 || t.is_record() || !combination(op, t))
        refuse("no-neutral-element", insn.at,
               "the operation that updates `{}` in `{}` has no neutral element that a copy could "
               "begin with; sums, products, `min`, `max`, `and`, `or` of truth values and `&`, "
               "`|`, `^` of integers have one",
               array_, insn.id);
      if (first.empty()) first = op;
      if (op != first)
        refuse("mixed-updates", insn.at,
               "`{}` updates `{}` by another operation than `{}`; one copy holds the results of "
               "one operation",
               insn.id, array_, typed_.instructions[updates_[0]]->id);
    }
    return *combination(first, type_of(typed_, typed_.instructions[updates_[0]]->lhs[0]));
  }

  /// The kernel, with the shape of the array where it follows from the accesses.
  Kernel with_shape() const {
    Kernel out = k_;
    if (k_.find_temporary(array_)) {
      if (!k_.find_temporary(array_)->shape)
        out.temporaries.at(array_).shape = infer_shapes(typed_).find_temporary(array_)->shape;
      return out;
    }
    if (!k_.find_arg(array_)->shape)
      for (Argument& a : out.args)
        if (a.name == array_) a.shape = infer_shapes(typed_).find_arg(array_)->shape;
    return out;
  }

  const Kernel& k_;
  const Kernel plain_;
  const std::string& array_;
  const std::vector<std::string>& inames_;
  const PrivatizeOptions& o_;
  std::set<std::string>& used_;  // of the inames
  Kernel typed_;
  std::vector<std::size_t> updates_;  // instructions
  std::string selected_;              // these, as a match
};

}  // namespace

Kernel privatize_updates(const Kernel& k, const std::vector<std::string>& arrays,
                         const std::vector<std::string>& inames, const PrivatizeOptions& o) {
  Kernel out = k;
  std::set<std::string> used;
  for (const std::string& a : arrays) out = PrivatizeUpdates(out, a, inames, o, used).run();
  for (const std::string& i : inames)
    if (!used.count(i))
      refuse("unused-sweep", o.at ? o.at : k.at, "no selected access of {} is in the loop `{}`",
             quoted_list(arrays), i);
  return out;
}

namespace {

Kernel run_privatize_updates(const Kernel& k, const Args& a) {
  PrivatizeOptions o;
  const std::vector<std::string> arrays = a.names("var_names");
  o.within = Match::parse(a.str("within"), a.at());
  if (a.has("default_tag")) o.default_tag = a.str("default_tag");
  o.temporary_name = a.str("temporary_name");
  if (!o.temporary_name.empty() && arrays.size() != 1)
    fail("bad-argument", a.at(), "temporary_name is the name of one copy, and there are {} arrays",
         arrays.size());
  o.temporary_scope = parse_address_space(a.str("temporary_scope", "auto"), a.at());
  const std::string holds = a.str("holds", "all");
  if (holds != "all" && holds != "last")
    fail("bad-argument", a.at(), "holds is `{}`; it can be `all` or `last`", holds);
  o.last = holds == "last";
  if (o.last && o.temporary_scope != AddressSpace::Auto &&
      o.temporary_scope != AddressSpace::Private)
    fail("bad-argument", a.at(), "a copy of the last element is private, not `{}`",
         a.str("temporary_scope"));
  o.at = a.at();
  o.proof = a.proof();
  return privatize_updates(k, arrays, a.names("inames"), o);
}

}  // namespace

extern const Op privatize_updates_op;
const Op privatize_updates_op{
    .name = "privatize_updates",
    .doc = R"(Lets updates of arrays work on copies, each of which is added to the array once.

Each iteration of the loops around the updates that are not named has its own copy: each group, with
local memory and the loops over its work-items and its elements named; each work-item or thread, with
these loops not named. A copy begins as the neutral element of the operation (0 for a sum), takes all
updates while the named loops run, and what it holds is then added to the array: atomically inside of
other loops, and only where the copy changed. Where work-items share a copy, its updates are atomic;
those of a private copy are plain.

The copy holds the box around what the updates touch; where a subscript is computed from data, all of
that axis. A copy in local memory has a constant size: fix the parameter or bound it with assume.

With holds = "last", a copy is one number: what the updates since the last change of the subscripts
make. It is added to its element when the next update has other subscripts, and at the end. So runs of
updates of one element, as in a sorted input, become one, however large the array is; where each
update is of another element, there are as many as before. `combine_updates` combines those of
neighbouring work-items.

Refuses operations without a neutral element, other accesses of the array inside of the named loops,
updates of two operations, and other instructions that meet the same elements in between.)",
    .params = {{.name = "var_names",
                .kind = Kind::Names,
                .help = "the arrays",
                .required = true,
                .positional = true},
               {.name = "inames",
                .kind = Kind::Names,
                .help = "loops over which a copy is kept",
                .required = true,
                .positional = true},
               {.name = "within",
                .kind = Kind::Match,
                .help = "the updates",
                .fallback = "all that access the array inside of the inames",
                .positional = true},
               {.name = "temporary_scope",
                .kind = Kind::Str,
                .help = "`private`, `local`, `global` or `auto`",
                .fallback = "\"auto\": `local` where work-items share a copy"},
               {.name = "holds",
                .kind = Kind::Str,
                .help = "`all`, or `last`: the element that was updated last",
                .fallback = "\"all\""},
               {.name = "temporary_name",
                .kind = Kind::Str,
                .help = "the copy",
                .fallback = "<array>_own"},
               {.name = "default_tag",
                .kind = Kind::Str,
                .help = "tag of the loops that fill and add copies; false for none",
                .fallback = "\"l.auto\" where work-items share the copy"},
               unsafe_option()},
    .example_kernel = R"(kernel histogram(n: int32, data: in int32[n], bins: inout int32[256])
domain {[i]: 0 <= i < n}
bins[data[i] % 256] = bins[data[i] % 256] + 1   {id=count, atomic}
)",
    .example = R"(knl = lp.split_iname(knl, "i", 4096, {outer_tag = "g.0"})
knl = lp.split_iname(knl, "i_inner", 128, {outer_iname = "step", inner_tag = "l.0"})
knl = lp.privatize_updates(knl, "bins", "step, i_inner_inner"))",
    .run = run_privatize_updates,
    .query = {},
};

}  // namespace moonloop
