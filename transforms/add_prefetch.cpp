#include "transforms/add_prefetch.h"

#include <algorithm>

#include "core/expr/parse_expr.h"
#include "core/infer/infer.h"
#include "core/model/lookup.h"
#include "core/order/reference.h"
#include "core/rewrite/rule_rewrite.h"
#include "core/rewrite/staging.h"
#include "transforms/expand_subst.h"
#include "transforms/extract_subst.h"
#include "transforms/registry.h"

namespace moonloop {
namespace {

/// Number of subscripts of `array`, which some instruction reads, itself or through a rule.
std::size_t rank_of(const Kernel& k, const std::string& array, const Span& at) {
  const Argument* arg = k.find_arg(array);
  const Temporary* temp = k.find_temporary(array);
  if (!arg && !temp) {
    std::vector<std::string> names;
    for (const Argument& a : k.args) names.push_back(a.name);
    for (const auto& [name, t] : k.temporaries) names.push_back(name);
    fail_for(array, "unknown-array", at ? at : k.at, "no array `{}` in kernel `{}`; it has {}",
             array, k.name, names.empty() ? "none" : quoted_list(names));
  }
  if (arg && !arg->is_array) {
    if (std::any_of(k.instructions.begin(), k.instructions.end(),
                    [&](const InsnPtr& i) { return reads(k, *i).count(array) > 0; }))
      return 0;
  }
  for (const InsnPtr& i : k.instructions) {
    if (!reads(k, *i).count(array)) continue;  // its loops' bounds may, which is not a fetch
    for (const Access& a : accesses_of(*i, k))
      if (!a.write && a.variable == array) return a.index.size();
  }
  for (const std::string& name : called_rules(k)) {
    const Rule& rule = *k.find_rule(name);
    std::optional<std::size_t> found;
    if (std::find(rule.params.begin(), rule.params.end(), array) == rule.params.end())
      walk(rule.body, [&](const Expr& e) {
        if (const auto* l = e.as<Load>(); l && l->array == array) found = l->index.size();
        return !found;
      });
    if (found) return *found;
  }
  refuse("no-match", at ? at : k.at, "no instruction of kernel `{}` reads `{}`", k.name, array);
}

/// The lengths of the array's axes, declared or inferred.
Exprs shape_of(const Kernel& k, const std::string& array, const Span& at) {
  const auto known = [&](const Kernel& of) -> std::optional<Exprs> {
    if (const Argument* a = of.find_arg(array)) return a->shape;
    return of.find_temporary(array)->shape;
  };
  if (const auto s = known(k)) return *s;
  if (const auto s = known(infer_shapes(k))) return *s;
  refuse("bad-footprint", at, "the shape of `{}` is not known; a whole axis of it is not either",
         array);
}

std::vector<FootprintSubscript> footprints(const Kernel& k, const std::string& array,
                                           const PrefetchOptions& o, std::size_t rank) {
  std::vector<FootprintSubscript> out;
  std::optional<Exprs> shape;
  for (const Exprs& index : o.footprint_subscripts) {
    if (index.size() != rank)
      refuse("bad-footprint", o.precompute.at, "`{}` has {} ax{}, but a footprint has {}", array,
             rank, rank == 1 ? "is" : "es", index.size());
    FootprintSubscript f{index, std::vector<std::optional<Expr>>(rank)};
    for (std::size_t d = 0; d < rank; ++d) {
      if (index[d]) continue;
      if (!shape) shape = shape_of(k, array, o.precompute.at);
      f.length[d] = (*shape)[d];
    }
    out.push_back(std::move(f));
  }
  return out;
}

}  // namespace

Kernel add_prefetch(const Kernel& k, const std::string& array, const PrefetchOptions& o) {
  PrecomputeOptions p = o.precompute;
  const std::size_t rank = rank_of(k, array, p.at);
  if (o.dim_arg_names.size() > rank)
    refuse("bad-inames", p.at, "{} names are given for the {} ax{} of `{}`", o.dim_arg_names.size(),
           rank, rank == 1 ? "is" : "es", array);
  for (const std::string& n : o.dim_arg_names)
    if (!n.empty()) require_identifier(n, p.at), require_no_word(n, p.at);
  p.footprints = footprints(k, array, o, rank);
  p.subject = array;

  Kernel bare = k;  // rules' parameters are names inside of the rules only
  for (Rule& r : bare.rules) r.params.clear();
  std::set<std::string> taken = bare.all_names();
  std::string rule = o.rule_name;
  if (rule.empty())
    rule = take_name(taken, array + "_fetch_rule");
  else
    require_new_name(k, rule);
  taken.insert(rule);
  if (p.temporary_name.empty()) p.temporary_name = take_name(taken, array + "_fetch");
  std::vector<std::string> params;
  for (std::size_t d = 0; d < rank; ++d)
    params.push_back(take_name(taken, d < o.dim_arg_names.size() && !o.dim_arg_names[d].empty()
                                          ? o.dim_arg_names[d]
                                          : fmt::format("{}_dim_{}", array, d)));
  Exprs index;
  for (const std::string& n : params) index.push_back(var(n));
  const Expr element = rank == 0 ? var(array) : load(array, index);
  const Expr pattern = rank == 0 ? Expr(Var{array, p.tag}) : Expr(Load{array, index, p.tag});
  Kernel extracted = extract_subst(k, rule, pattern, params);
  for (Rule& r : extracted.rules)
    if (r.name == rule) r.body = element;
  Kernel out = precompute(extracted, rule, p);
  if (out.find_rule(rule)) out = expand_subst(out, Match::parse(rule + " < ..."));
  erase_if(out.rules, [&](const Rule& r) { return r.name == rule; });
  return out;
}

namespace {

/// `i, :` as subscripts.
Exprs parse_subscripts(const std::string& text, const Args& a) {
  const Expr e = parse_expression("_[" + text + "]", a.at());
  const auto* l = e.as<Load>();
  Exprs out = l ? l->index : Exprs{};
  for (Expr& i : out)
    if (const auto* s = i.as<Slice>()) {
      if (s->start || s->stop || s->step)
        refuse("bad-footprint", a.at(), "`{}` is part of an axis; only `:` is a footprint",
               to_string(i));
      i = Expr();
    }
  return out;
}

Kernel run_add_prefetch(const Kernel& k, const Args& a) {
  const Expr name = parse_expression(a.str("var_name"), a.at());
  const auto* scalar = name.as<Var>();
  const auto* access = name.as<Load>();
  if (!scalar && !access)
    fail("bad-argument", a.at(), "`{}` is not an array `a`, `a$tag` or `a[i, :]`",
         a.str("var_name"));
  PrefetchOptions o;
  PrecomputeOptions& p = o.precompute;
  p.proof = a.proof();
  p.tag = (scalar ? scalar->tag : access->tag).str();
  if (access) {
    const std::string& text = a.str("var_name");
    const std::size_t from = text.find('['), to = text.rfind(']');
    o.footprint_subscripts.push_back(parse_subscripts(text.substr(from + 1, to - from - 1), a));
  }
  if (const Value* v = a.raw("footprint_subscripts")) {
    const auto add = [&](const Value& e) {
      if (const auto* s = e.as<std::string>()) {
        o.footprint_subscripts.push_back(parse_subscripts(*s, a));
        return;
      }
      fail("bad-argument", a.at(), "a footprint is written as its subscripts, `\"i, :\"`");
    };
    if (const auto* l = v->as<ValueList>())
      for (const Value& e : *l) add(e);
    else if (!a.is_false("footprint_subscripts"))
      add(*v);
  }
  p.sweep_inames = a.names("sweep_inames");
  o.dim_arg_names = a.names("dim_arg_names");
  if (a.has("default_tag")) p.default_tag = a.str("default_tag");
  o.rule_name = a.str("rule_name");
  p.temporary_name = a.str("temporary_name");
  p.temporary_address_space = parse_address_space(a.str("temporary_address_space", "auto"), a.at());
  p.fetch_bounding_box = a.boolean("fetch_bounding_box");
  if (a.has("fetch_outer_inames") && !a.is_false("fetch_outer_inames"))
    p.precompute_outer_inames = a.names("fetch_outer_inames");
  p.compute_insn_id = a.str("prefetch_insn_id");
  p.within = Match::parse(a.str("within"), a.at());
  p.at = a.at();
  return add_prefetch(k, scalar ? scalar->name : access->array, o);
}

}  // namespace

extern const Op add_prefetch_op;
const Op add_prefetch_op{
    .name = "add_prefetch",
    .doc = R"(Copies the elements of an array that are read into a temporary, ahead of the reads.

All reads of the array become calls of a rule, and precompute does the rest: the temporary holds what
is read while the swept inames run and all other inames stay as they are. Reads that `within` or the
tag of `a$tag` leaves out stay reads of the array. A subscript, `a[i, :]` or footprint_subscripts, says
what is copied in place of what the reads need (`:` is a whole axis); then reads that are not proved to
be inside of it stay as well.

Refuses what precompute refuses; above all an array that is written between the copy and a read.)",
    .params = {{.name = "var_name",
                .kind = Kind::Str,
                .help = "`a`, `a$tag` or `a[i, :]`",
                .required = true,
                .positional = true},
               {.name = "sweep_inames",
                .kind = Kind::Names,
                .help = "loops that are swept",
                .fallback = "{}",
                .positional = true},
               {.name = "dim_arg_names",
                .kind = Kind::Names,
                .help = "names of the new loops, by axis",
                .fallback = "<array>_dim_0, ...",
                .positional = true},
               {.name = "default_tag",
                .kind = Kind::Str,
                .help = "tag of the new loops; false for none, and so is `l.auto` where each "
                        "work-item has a copy",
                .fallback = "\"l.auto\" where work-items share the temporary"},
               {.name = "rule_name",
                .kind = Kind::Str,
                .help = "the rule in between",
                .fallback = "<array>_fetch_rule"},
               {.name = "temporary_name",
                .kind = Kind::Str,
                .help = "the temporary; one that is there is used and grows",
                .fallback = "<array>_fetch"},
               {.name = "temporary_address_space",
                .kind = Kind::Str,
                .help = "`private`, `local`, `global` or `auto`",
                .fallback = "\"auto\""},
               {.name = "footprint_subscripts",
                .kind = Kind::Any,
                .help = "what is copied: the subscripts `\"i, :\"`, or a list of those"},
               {.name = "fetch_bounding_box",
                .kind = Kind::Bool,
                .help = "copies the box around the footprint",
                .fallback = "false"},
               {.name = "fetch_outer_inames",
                .kind = Kind::Names,
                .help = "loops around the copy",
                .fallback = "chosen"},
               {.name = "prefetch_insn_id",
                .kind = Kind::Str,
                .help = "id of the new instruction",
                .fallback = "the rule's name"},
               {.name = "within", .kind = Kind::Match, .help = "which reads"},
               unsafe_option()},
    .example_kernel = R"(kernel fdiff(n: int32, u: float64[n+1], result: float64[n])
domain {[i]: 0 <= i < n}
result[i] = u[i+1] - u[i]
)",
    .example = R"(knl = lp.split_iname(knl, "i", 16)
knl = lp.add_prefetch(knl, "u", "i_inner"))",
    .run = run_add_prefetch,
    .query = {},
};

}  // namespace moonloop
