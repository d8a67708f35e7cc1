#include <algorithm>

#include "core/model/memo.h"
#include "core/model/mixed_radix.h"
#include "core/order/legality.h"

/// Answers from the loops only: whether every two instances of a pair of statements that agree in
/// the inames `equal` keep their order, whatever they access. Sufficient, not necessary.
namespace moonloop {

bool Legality::loops_keep(const Pair& p) {
  // Loops do not determine the order in which parts are combined.
  if (parts_of(p, *present_, now(p.a)) || parts_of(p, ref_->order, p.a)) return false;
  PairInLoopsKey key{.nest_a = nests_[std::size_t(p.a)],
                     .nest_b = nests_[std::size_t(p.b)],
                     .one_statement = p.a == p.b,
                     .first_was = ref_->order.first(p.a, p.b),
                     .first_is = present_->first(now(p.a), now(p.b)),
                     .commutes = p.commutes,
                     .equal = p.equal};
  const auto known = known_.find(key);
  if (known != known_.end()) return known->second;
  const bool keeps = same_nest(p) || nest_keeps(p);
  known_.emplace(std::move(key), keeps);
  return keeps;
}

/// The shared loops are the same ones in the same order, sequential where they matter. Work-items
/// matter only within a statement: all of them run one statement before any runs the next.
bool Legality::same_nest(const Pair& p) const {
  const RunOrder &was = ref_->order, &is = *present_;
  const int a = now(p.a), b = now(p.b);
  const std::size_t n = was.common_loops(p.a, p.b);
  if (is.common_loops(a, b) != n || was.first(p.a, p.b) != is.first(a, b)) return false;
  if (p.a == p.b)
    for (const std::string& i : was.items(p.a))
      if (std::find(p.equal.begin(), p.equal.end(), i) == p.equal.end() && !is.trusts(i))
        return false;
  for (std::size_t i = 0; i < n; ++i) {
    const std::string& name = was.loops(p.a)[i];
    const Var* v = origin(p.a, name).as<Var>();
    const Var* w = origin(p.b, name).as<Var>();
    if (is.loops(a)[i] != name || !v || v->name != name || !w || w->name != name) return false;
    if (at_once(name, false) && std::find(p.equal.begin(), p.equal.end(), name) == p.equal.end())
      return false;
  }
  return true;
}

namespace {

/// Lexicographic order of the first `loops` of vectors of length `dims`, some components equal.
Map ordered(std::size_t loops, const std::vector<bool>& orders, Map equal_so_far, bool or_equal) {
  Map all = isl_map_empty(isl_map_get_space(equal_so_far.get()));
  for (std::size_t i = 0; i < loops; ++i) {
    if (orders[i]) all = isl_map_union(all.take(), order_lt(equal_so_far, i, i).take());
    equal_so_far = equate(std::move(equal_so_far), i, i);
  }
  if (or_equal) all = isl_map_union(all.take(), equal_so_far.take());
  return all;
}

}  // namespace

namespace {

/// The largest difference between values of iname `name` in `domain`; nothing when that is not
/// constant.
std::optional<std::int64_t> spread(const Set& domain, const std::string& name) {
  const int at = isl_set_find_dim_by_name(domain.get(), isl_dim_set, name.c_str());
  if (at < 0) return std::nullopt;  // a parameter of the value, such as the length of a piece
  Val least = isl_set_dim_min_val(domain.copy(), at), most = isl_set_dim_max_val(domain.copy(), at);
  if (!yes(isl_val_is_int(least.get())) || !yes(isl_val_is_int(most.get()))) return std::nullopt;
  return to_int(most) - to_int(least);
}

}  // namespace

const std::optional<std::vector<std::string>>& Legality::pieces_of(
    const Expr& value, const std::vector<std::string>& dims, const Set& domain) const {
  const auto [it, fresh] = pieces_.try_emplace(ValuesKey{dims, {{value}}});
  if (!fresh) return it->second;
  const Kernel& k = present_->kernel();
  const auto range = [&](const std::string& i) {
    const auto plain = plain_range(k, i);
    return plain ? plain : spread(domain, i);
  };
  it->second = digits(value, range);
  if (!it->second) it->second = piece_digits(k, value, domain, range);
  return it->second;
}

/// The common case without relations: each present iname is a digit of one reference iname, or
/// numbers its pieces. What agrees in the reference agrees in its digits; the other digits must be
/// sequential loops in their order.
bool Legality::pieces_keep(const Pair& p, const Exprs& values,
                           const std::vector<std::string>& shared, std::size_t loops,
                           const std::vector<std::string>& dims, std::size_t present_loops) const {
  const bool flipped = ref_->order.first(p.a, p.b) && !present_->first(now(p.a), now(p.b));
  if (flipped || shared.size() > loops) return false;
  const Set domain = domain_of(present_->kernel(), dims);
  std::set<std::string> seen;
  std::vector<std::string> moving;  // digits of what need not agree, in the order of the reference
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto& found = pieces_of(values[i], dims, domain);
    if (!found) return false;
    for (const std::string& d : *found)
      if (!seen.insert(d).second) return false;
    if (std::find(p.equal.begin(), p.equal.end(), shared[i]) == p.equal.end())
      moving.insert(moving.end(), found->begin(), found->end());
  }
  if (seen.size() != dims.size()) return false;
  std::vector<std::string> kept;
  for (std::size_t i = 0; i < present_loops; ++i)
    if (std::find(moving.begin(), moving.end(), dims[i]) != moving.end()) {
      if (at_once(dims[i], p.commutes)) return false;
      kept.push_back(dims[i]);
    }
  if (kept.size() != moving.size())  // some is a work-item's
    return p.commutes && combines_items(ref_->order.insn(p.a));
  return p.commutes || kept == moving;
}

Runs Legality::runs(const std::string& iname) const {
  if (present_->trusts(iname)) return Runs::Trusted;
  const InameTag* tag = k_.tag(iname);
  return is_parallel_not_shared(tag) ? Runs::AtOnce
         : is_parallel(tag)          ? Runs::Shared
                                     : Runs::InOrder;
}

NestKey Legality::nest_key(const Pair& p, const Exprs& values,
                           const std::vector<std::string>& shared, std::size_t shared_loops,
                           const std::vector<std::string>& dims, std::size_t present_loops) const {
  const Set domain = domain_of(present_->kernel(), dims);
  NestKey key{.domain = memo().hold(domain),
              .one_statement = p.a == p.b,
              .commutes = p.commutes,
              .combines = p.commutes && combines_items(ref_->order.insn(p.a)),
              .first_was = ref_->order.first(p.a, p.b),
              .first_is = present_->first(now(p.a), now(p.b)),
              .loops_was = shared_loops,
              .loops_is = present_loops,
              .values = keys_of(values),
              .equal = {},
              .runs = {},
              .computed = computed_params(present_->kernel(), domain)};
  for (const std::string& i : shared)
    key.equal.push_back(std::find(p.equal.begin(), p.equal.end(), i) != p.equal.end());
  for (const std::string& i : dims) key.runs.push_back(runs(i));
  return key;
}

bool Legality::nest_keeps(const Pair& p) const {
  const RunOrder &was = ref_->order, &is = *present_;
  const int a = now(p.a), b = now(p.b);
  // The shared reference inames as functions of the shared present ones.
  std::vector<std::string> shared(was.loops(p.a).begin(),
                                  was.loops(p.a).begin() + long(was.common_loops(p.a, p.b)));
  const std::size_t loops = shared.size();
  for (const std::string& i : was.common_items(p.a, p.b)) shared.push_back(i);
  std::vector<std::string> dims(is.loops(a).begin(),
                                is.loops(a).begin() + long(is.common_loops(a, b)));
  const std::size_t present_loops = dims.size();
  for (const std::string& i : is.common_items(a, b)) dims.push_back(i);

  Exprs values;
  for (const std::string& i : shared) {
    const Expr& e = origin(p.a, i);
    if (!equal(e, origin(p.b, i))) return false;
    std::set<std::string> used;
    collect_vars(e, used);
    for (const std::string& v : used)
      if (k_.has_iname(v) && std::find(dims.begin(), dims.end(), v) == dims.end()) return false;
    values.push_back(e);
  }
  if (pieces_keep(p, values, shared, loops, dims, present_loops)) return true;
  const NestKey key = nest_key(p, values, shared, loops, dims, present_loops);
  const auto known = memo().nests.find(key);
  const bool remembered = known != memo().nests.end();
  if (remembered && !memo().compares) return known->second;
  const auto answer = [&](bool keeps) {
    ensure(!remembered || known->second == keeps, "what is remembered of a nest holds");
    return memo().nests[key] = keeps;
  };

  const std::optional<Map> value = to_map(values, dims);
  if (!value) return answer(false);
  const Set domain = without_computed(is.kernel(), domain_of(is.kernel(), dims)).all;
  const std::optional<bool> plain =
      nest_plainly_keeps(p, values, shared, loops, dims, domain, present_loops);
  if (plain && !memo().compares) return answer(*plain);

  Map agree = universal_map(shared, shared);
  for (std::size_t i = 0; i < shared.size(); ++i)
    if (std::find(p.equal.begin(), p.equal.end(), shared[i]) != p.equal.end())
      agree = equate(std::move(agree), i, i);
  Map must;
  if (p.commutes) {
    Map same = agree;
    for (std::size_t i = 0; i < shared.size(); ++i) same = equate(std::move(same), i, i);
    must = isl_map_subtract(agree.take(), same.take());
  } else {
    must = ordered(loops, std::vector<bool>(loops, true), agree, was.first(p.a, p.b));
    if (p.a == p.b && shared.size() > loops) {  // work-items of one statement run at the same time
      Map items = agree;
      for (std::size_t i = 0; i < loops; ++i) items = equate(std::move(items), i, i);
      for (std::size_t i = loops; i < shared.size(); ++i) {
        must = isl_map_union(must.take(), order_lt(items, i, i).take());
        items = equate(std::move(items), i, i);
      }
    }
  }
  const Map restricted = isl_map_intersect_domain(value->copy(), domain.copy());
  Map pairs = isl_map_apply_range(restricted.copy(), must.take());
  pairs = isl_map_apply_range(pairs.take(), isl_map_reverse(restricted.copy()));

  std::vector<bool> orders;
  for (std::size_t i = 0; i < present_loops; ++i) {
    orders.push_back(!at_once(dims[i], p.commutes));
  }
  Map kept = ordered(present_loops, orders, universal_map(dims, dims), is.first(a, b));
  if (p.commutes) kept = isl_map_union(kept.copy(), isl_map_reverse(kept.copy()));
  if (p.commutes && combines_items(was.insn(p.a))) {
    Map items = universal_map(dims, dims);
    for (std::size_t i = 0; i < present_loops; ++i) items = equate(std::move(items), i, i);
    kept = isl_map_union(kept.take(), items.take());
  }
  const bool keeps = yes(isl_map_is_subset(pairs.get(), kept.get()));
  ensure(!plain || *plain == keeps, "a proof of a nest without isl holds");
  return answer(keeps);
}

}  // namespace moonloop
