#include "transforms/split_scan.h"

#include <algorithm>

#include "core/expr/parse_expr.h"
#include "core/expr/reduction_steps.h"
#include "core/infer/infer.h"
#include "core/infer/typing.h"
#include "core/model/domain.h"
#include "core/model/lookup.h"
#include "core/order/order.h"
#include "core/rewrite/iname_rewrite.h"
#include "core/rewrite/removal.h"
#include "core/rewrite/staging.h"
#include "core/sets/coalesce.h"
#include "core/sets/syntactic_gist.h"
#include "transforms/iname_values.h"
#include "transforms/new_inames.h"
#include "transforms/registry.h"

namespace moonloop {
namespace {

class ScanSplitter {
  using Names = std::vector<std::string>;

 public:
  ScanSplitter(const Kernel& k, const std::string& id, const std::string& block,
               const std::string& item, const std::string& first, std::int64_t size,
               const SplitScanOptions& o)
      : k_(rebase(proved(k))),
        typed_(infer_types(expand_all_rules(k_))),
        block_(block),
        item_(item),
        text_(first),
        size_(size),
        o_(o),
        names_(k_) {
    const Instruction* insn = k_.find_insn(id);
    if (!insn) refuse("no-match", at(), "no instruction `{}` in kernel `{}`", id, k.name);
    insn_ = *insn;
    for (const std::string& i : {block, item}) {
      require_iname(k, i);
      if (!insn_.inames.count(i))
        refuse("not-a-reduction-loop", insn_.at, "`{}` is no loop around instruction `{}`", i, id);
    }
    if (size < 1) fail("bad-argument", at(), "a block has {} terms, and it needs one", size);
    find_reduction();
    first_ = parse_expression(first, o.at);
    for (const std::string& i : insn_.inames)
      if (i != block && i != item) around_.push_back(i);
  }

  Kernel run() {
    find_terms();
    out_ = k_;
    make_loops();
    const Types types = types_of_values();
    const Names parts = temporaries(insn_.id + "_parts", part_, types),
                starts = temporaries(insn_.id + "_starts", start_, types);
    std::vector<InsnPtr> before, own;
    before.push_back(reduced(id(o_.part_id, "_part"), {part_}, at_number(parts, part_, part_),
                             terms_, with_term(index_add({first_of(part_), var(terms_)}))));
    before.push_back(reduced(id(o_.start_id, "_start"), {start_}, at_number(starts, start_, start_),
                             parts_, at_number(parts, part_, parts_)));
    Exprs values;
    for (const std::string& name : private_values(types)) values.push_back(var(name));
    own.push_back(
        reduced(id(o_.own_id, "_own"), {block_, item_}, values, own_, with_term(var(own_))));
    own.push_back(whole(at_number(starts, start_, block_), values, types));
    insert(before, own);
    stand_in(*before[0], {{index_add({first_of(part_), var(terms_)}), var(term_)}}, terms_);
    stand_in(*own[0],
             {{var(own_), var(term_)}, {var(block_), var(block_)}, {var(item_), var(item_)}}, own_);
    return staged(k_, without_idle_domains(std::move(out_), {term_}), stand_ins_, o_.proof);
  }

 private:
  using Types = std::vector<Type>;

  const Span& at() const { return o_.at ? o_.at : k_.at; }

  // ---- What is there.

  void find_reduction() {
    insn_.rhs = insn_.rhs ? expand_rules(k_, insn_.rhs) : insn_.rhs;
    int n = 0;
    if (insn_.rhs)
      walk(insn_.rhs, [&](const Expr& x) {
        if (const auto* r = x.as<Reduce>()) reduce_ = x, n += 1 + (r->inames.size() > 1);
        return true;
      });
    const auto* r = n == 1 ? reduce_.as<Reduce>() : nullptr;
    if (!r || !insn_.predicates.empty() || insn_.role != ReductionRole::None)
      refuse("no-reduction", insn_.at,
             "instruction `{}` is not one that has one reduction, over one iname, and always runs",
             insn_.id);
    op_ = r->op;
    term_ = r->inames[0];
    args_ = r->args;
    if (arity(op_) == 2 && !insn_.rhs.same_as(reduce_))
      throw InternalError("a reduction of two values inside of an expression");
    if (insn_.inames.count(term_))
      refuse("not-a-reduction-loop", insn_.at, "`{}` is a loop around instruction `{}`", term_,
             insn_.id);
  }

  Expr first_of(const std::string& block) const {
    return substitute(first_, {{block_, var(block)}});
  }
  static Expr compare(CompareOp op, const Expr& a, const Expr& b) {
    return Expr(Compare{op, a, b});
  }
  Set where(const Exprs& conditions, const Names& dims) const {
    const auto out = to_condition(conjunction(conditions), dims);
    if (!out)
      refuse("bad-place", at(),
             "`{}`, the first term of a block, is not affine in loops and "
             "parameters",
             text_);
    return *out;
  }
  Set over(const Set& s, const Names& dims) const { return to_dims(Set(s), dims); }
  /// { [dims] } of the reduction's terms or of the instances, inside of the loops around.
  Set instances(const Names& dims) const {
    Names all = around_;
    all.insert(all.end(), dims.begin(), dims.end());
    return to_dims(dims_to_params(domain_of(k_, all), around_), dims);
  }
  static Set both(const Set& a, const Set& b) { return join_by_name(Set(a), Set(b)); }
  static bool same(const Set& a, const Set& b) { return yes(isl_set_is_equal(a.get(), b.get())); }

  /// Which terms are in blocks before that of an iteration.
  void find_terms() {
    const std::string p = names_.take("", block_ + "_before"), q = block_;
    part_ = names_.take(o_.part_iname, block_ + "_part");
    terms_ = names_.take(o_.terms_iname, term_ + "_item");
    start_ = names_.take(o_.start_iname, block_ + "_start");
    parts_ = names_.take(o_.parts_iname, term_ + "_block");
    own_ = names_.take(o_.own_iname, term_ + "_own");
    const Expr term = var(term_), size = lit(size_);
    if (!yes(isl_set_is_empty(
            both(both(over(rename_dims(instances({block_}), {{block_, p}}), {p}),
                      instances({block_})),
                 where({compare(CompareOp::Lt, var(p), var(q)),
                        compare(CompareOp::Lt, first_of(q), index_add({first_of(p), size}))},
                       {p, q}))
                .get())))
      refuse("not-a-scan", at(), "blocks that begin at `{}` have less than {} terms", text_, size_);
    all_ = instances({block_, item_, term_});
    blocks_ = instances({block_});
    const Set early =
        both(all_, where({compare(CompareOp::Lt, term, first_of(block_))}, {block_, item_, term_}));
    const Names dims{block_, item_, p, term_};
    const Set block = where({compare(CompareOp::Le, first_of(p), term),
                             compare(CompareOp::Lt, term, index_add({first_of(p), size}))},
                            {p, term_});
    const Set in_blocks = over(both(early, block), dims);
    part_terms_ = coalesce(over(in_blocks, {p, term_}));
    // Where all blocks are full, their bounds are those of blocks.
    const Set full = over(both(coalesce(over(in_blocks, {p})), block), {p, term_});
    if (same(full, part_terms_)) part_terms_ = full;
    const Set all_have =
        over(both(both(instances({block_, item_}), part_terms_),
                  where({compare(CompareOp::Lt, var(p), var(block_))}, {p, block_})),
             dims);
    const Set left = isl_set_subtract(over(early, {block_, item_, term_}).take(),
                                      over(in_blocks, {block_, item_, term_}).take());
    if (const auto s = sample(left))
      refuse("not-a-scan", insn_.at, "a term of `{}` is in no block: {}={}, for {}={}, {}={}",
             insn_.id, term_, s->dims.at(term_), block_, s->dims.at(block_), item_,
             s->dims.at(item_));
    if (!same(in_blocks, all_have)) {
      const Set differ = isl_set_union(isl_set_subtract(all_have.copy(), in_blocks.copy()),
                                       isl_set_subtract(in_blocks.copy(), all_have.copy()));
      const auto s = sample(differ);
      refuse("not-a-scan", insn_.at,
             "the iterations of a block have the same terms before it in a scan, but not all of "
             "`{}` have {}={}; {}={}, {}={} is one",
             insn_.id, term_, s ? s->dims.at(term_) : 0, block_, s ? s->dims.at(block_) : 0, item_,
             s ? s->dims.at(item_) : 0);
    }
    if (yes(isl_set_is_empty(part_terms_.get())))
      refuse("one-block", insn_.at, "no term of `{}` is before the block of an iteration",
             insn_.id);
    part_terms_ = rename_dims(part_terms_, {{p, part_}});
  }

  // ---- What is made.

  /// A domain of its own for `dims`, with all others as parameters.
  void add_loops(const Set& points, const Names& dims, const Names& known) {
    Names outer = known;
    Set s = over(points, [&] {
      Names all = dims;
      all.insert(all.end(), outer.begin(), outer.end());
      return all;
    }());
    Names inside = around_;
    inside.insert(inside.end(), known.begin(), known.end());
    s = to_dims(dims_to_params(std::move(s), outer), dims);
    out_.domains.push_back(
        {tidy(gist_of_loops(coalesce(std::move(s)), all_to_params(domain_of(out_, inside)))),
         insn_.at});
    for (const std::string& d : dims) out_.loop_order.push_back(d);
  }

  void make_loops() {
    add_loops(
        both(part_terms_,
             where({compare(CompareOp::Eq, var(terms_), index_sub(var(term_), first_of(part_)))},
                   {part_, term_, terms_})),
        {part_, terms_}, {});
    add_loops(rename_dims(blocks_, {{block_, start_}}), {start_}, {});
    add_loops(both(both(rename_dims(over(part_terms_, {part_}), {{part_, parts_}}),
                        rename_dims(blocks_, {{block_, start_}})),
                   where({compare(CompareOp::Lt, var(parts_), var(start_))}, {parts_, start_})),
              {parts_}, {start_});
    add_loops(rename_dims(both(all_, where({compare(CompareOp::Ge, var(term_), first_of(block_))},
                                           {block_, item_, term_})),
                          {{term_, own_}}),
              {own_}, {block_, item_});
  }

  Types types_of_values() const {
    Types out;
    const Typer typer(typed_);
    for (std::size_t i = 0; i < args_.size(); ++i) {
      std::optional<Type> wanted;  // literals adapt to the assignee, as they do in one part
      if (const auto t = typer.type(insn_.lhs[arity(op_) == 2 ? i : 0])) wanted = t->type;
      const auto t = typer.type(args_[i], wanted);
      if (!t) refuse("not-proved", insn_.at, "the type of `{}` is not known", to_string(args_[i]));
      out.push_back(reduced_type(op_, i, t->type));
    }
    return out;
  }

  std::string temporary(const std::string& base, const Type& type, const Exprs& shape,
                        AddressSpace space) {
    Temporary t;
    t.name = out_.fresh_name(base);
    t.type = type;
    t.shape = shape;
    t.space = space;
    t.at = insn_.at;
    const std::string name = t.name;
    out_.temporaries.emplace(name, std::move(t));
    return name;
  }
  /// One for each value, with an element for each iteration of the loop.
  Names temporaries(const std::string& base, const std::string& loop, const Types& types) {
    Names out;
    const InameValues v = values_of(out_, loop);
    for (const Type& t : types) out.push_back(temporary(base, t, {v.number}, o_.space));
    return out;
  }
  Names private_values(const Types& types) {
    Names out;
    for (const Type& t : types)
      out.push_back(temporary(insn_.id + "_own", t, {}, AddressSpace::Auto));
    return out;
  }
  /// The elements for iteration `number` of `loop`.
  Exprs at_number(const Names& arrays, const std::string& loop, const std::string& number) const {
    Exprs out;
    const Expr place = index_sub(var(number), values_of(out_, loop).first);
    for (const std::string& a : arrays) out.push_back(load(a, {place}));
    return out;
  }
  Exprs with_term(const Expr& number) const {
    Exprs out;
    for (const Expr& a : args_) out.push_back(tidy_subscripts(substitute(a, {{term_, number}})));
    return out;
  }

  std::string id(const std::string& wanted, const char* suffix) {
    std::string out = wanted.empty() ? insn_.id + suffix : wanted;
    for (int n = 0; out_.find_insn(out) || !ids_.insert(out).second; ++n)
      out = insn_.id + suffix + "_" + std::to_string(n);
    return out;
  }

  InsnPtr reduced(const std::string& id, const Names& loops, const Exprs& to,
                  const std::string& over, const Exprs& args) const {
    Instruction out = insn_;
    out.id = id;
    out.inames = {around_.begin(), around_.end()};
    out.inames.insert(loops.begin(), loops.end());
    out.lhs = to;
    out.rhs = Expr(Reduce{op_, {over}, args, false}, insn_.at);
    out.origin.clear();
    out.origin_id.clear();
    out.atomic = Atomicity::None;
    return std::make_shared<const Instruction>(std::move(out));
  }

  InsnPtr whole(const Exprs& start, const Exprs& own, const Types& types) const {
    Instruction out = insn_;
    const Exprs values = combined(op_, start, own, types);
    if (values.size() == 2) {
      out.rhs = call("make_tuple", values, insn_.rhs.at());
      out.kind = InsnKind::Call;
    } else {
      out.rhs =
          rewrite(insn_.rhs, [&](const Expr& x) { return x.as<Reduce>() ? Expr(values[0]) : x; });
    }
    out.origin.clear();
    out.origin_id.clear();
    return std::make_shared<const Instruction>(std::move(out));
  }

  /// `before` ahead of all that is in the loop over blocks, `own` in the place of the instruction.
  void insert(const std::vector<InsnPtr>& before, const std::vector<InsnPtr>& own) {
    auto& all = out_.instructions;
    const auto place =
        std::find_if(all.begin(), all.end(), [&](const InsnPtr& i) { return i->id == insn_.id; });
    const auto after = all.insert(all.erase(place), own.begin(), own.end());
    const auto loop = std::find_if(all.begin(), after + 1,
                                   [&](const InsnPtr& i) { return i->inames.count(block_) > 0; });
    all.insert(loop, before.begin(), before.end());
  }

  /// It reads what the reduction did, of equal terms.
  void stand_in(const Instruction& insn, const std::vector<std::pair<Expr, Expr>>& equal,
                const std::string& over) {
    std::set<std::string> stage = insn.inames;
    stage.insert(over);
    Place served;
    served.inames.assign(insn_.inames.begin(), insn_.inames.end());
    served.inames.push_back(term_);
    Kernel with_both = out_;  // all inames
    const Map relation = stage_relation(with_both, stage, around_, served, equal);
    Instruction reads = insn;
    reads.lhs.clear();
    for (const Expr& a : insn.rhs.as<Reduce>()->args) {
      reads.rhs = a;
      stand_ins_.push_back({insn.id, insn_.id, relation, accesses_to(out_, reads, false, {})});
    }
  }

  const Kernel k_;
  const Kernel typed_;
  const std::string &block_, &item_, &text_;
  const std::int64_t size_;
  const SplitScanOptions& o_;
  NewInames names_;
  Instruction insn_;  // with its rules expanded
  Expr reduce_, first_;
  ReduceOp op_ = ReduceOp::Sum;
  std::string term_;
  Exprs args_;
  Names around_;
  std::string part_, terms_, start_, parts_, own_;  // the new loops
  Set all_, blocks_, part_terms_;
  Kernel out_;
  std::set<std::string> ids_;
  std::vector<StandIn> stand_ins_;
};

}  // namespace

Kernel split_scan(const Kernel& k, const std::string& id, const std::string& block,
                  const std::string& item, const std::string& first, std::int64_t size,
                  const SplitScanOptions& o) {
  return ScanSplitter(k, id, block, item, first, size, o).run();
}

namespace {

Kernel run_split_scan(const Kernel& k, const Args& a) {
  SplitScanOptions o;
  o.part_iname = a.str("part_iname");
  o.terms_iname = a.str("terms_iname");
  o.start_iname = a.str("start_iname");
  o.parts_iname = a.str("parts_iname");
  o.own_iname = a.str("own_iname");
  o.part_id = a.str("part_id");
  o.start_id = a.str("start_id");
  o.own_id = a.str("own_id");
  o.space = parse_address_space(a.str("temporary_address_space", "auto"), a.at());
  o.at = a.at();
  o.proof = a.proof();
  return split_scan(k, a.str("id"), a.str("block"), a.str("item"), a.str("first"),
                    a.integer("size"), o);
}

Param name_of(const char* name, const char* help, const char* fallback) {
  return {.name = name, .kind = Kind::Str, .help = help, .fallback = fallback};
}

}  // namespace

extern const Op split_scan_op;
const Op split_scan_op{
    .name = "split_scan",
    .doc = R"(Divides the terms of a scan at the beginnings of blocks.

A scan is a reduction whose terms grow with the loops around it. Its instruction becomes four: the
parts of all blocks, what is before each block, the terms of an iteration's own block, and what both
combine to. All but the second may run in parallel over blocks. The terms stay in their order, so
that segmented reductions, of two values, can be divided; `lib.scan` and `lib.scan_in_blocks` use it.

Refuses instructions without exactly one reduction that always runs, blocks that overlap, terms
before a block that not all of its iterations have, and, as staging does, arrays that are written in
between.)",
    .params = {{.name = "id",
                .kind = Kind::Str,
                .help = "the instruction",
                .required = true,
                .positional = true},
               {.name = "block",
                .kind = Kind::Str,
                .help = "the loop over blocks",
                .required = true,
                .positional = true},
               {.name = "item",
                .kind = Kind::Str,
                .help = "the loop over a block's iterations",
                .required = true,
                .positional = true},
               {.name = "first",
                .kind = Kind::Str,
                .help = "number of a block's first term, such as \"16*block\"",
                .required = true,
                .positional = true},
               {.name = "size",
                .kind = Kind::Int,
                .help = "terms of a block",
                .required = true,
                .positional = true},
               name_of("part_iname", "loop over the parts", "<block>_part"),
               name_of("terms_iname", "loop over the terms of a part", "<term>_item"),
               name_of("start_iname", "loop over what is before blocks", "<block>_start"),
               name_of("parts_iname", "loop over the parts before a block", "<term>_block"),
               name_of("own_iname", "loop over the own terms", "<term>_own"),
               name_of("part_id", "the instruction for parts", "<id>_part"),
               name_of("start_id", "the instruction for what is before blocks", "<id>_start"),
               name_of("own_id", "the instruction for own terms", "<id>_own"),
               name_of("temporary_address_space", "where parts and starts are", "\"auto\""),
               unsafe_option()},
    .example_kernel = R"(kernel sums(n: int32, x: float64[n], begins: int32[n], y: float64[n])
domain {[b, t]: 0 <= t < 16 and 0 <= 16*b + t < n}
domain {[j]: 0 <= j <= 16*b + t}
y[16*b + t], <> seen = reduce(segmented(sum), j, x[j], begins[j] != 0)   {id=add}
)",
    .example = R"(knl = lp.split_scan(knl, "add", "b", "t", "16*b", 16))",
    .run = run_split_scan,
    .query = {},
};

}  // namespace moonloop
