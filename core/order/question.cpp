#include "core/order/question.h"

#include <algorithm>

#include "core/model/flat_subscripts.h"

namespace moonloop {

void Question::statement(const RunOrder& o, int s) {
  for (const std::string& i : o.dims(s)) numbers_.emplace(i, fmt::format("#{}", numbers_.size()));
  const Set domain = domain_of(o.kernel(), o.dims(s));
  plain_ = plain_ && o.insn(s).predicates.empty();
  for (const std::string& n : param_names(domain))
    plain_ = plain_ && !o.kernel().has_iname(n) && !o.kernel().find_temporary(n);
  QuestionKey::Statement statement{
      memo().shape(domain), o.loops(s).size(), numbered(o.dims(s)), {}};
  for (const std::string& i : o.dims(s))
    statement.runs.push_back(!is_parallel(o.kernel().tag(i)) ? Runs::InOrder
                             : o.trusts(i)                   ? Runs::Trusted
                                                             : Runs::AtOnce);
  for (const std::string& i : o.dims(s))
    for (const std::string& l : o.loops(s))
      if (o.trusts_in(i, l)) statement.inside.emplace_back(numbers_.at(i), numbers_.at(l));
  key_.parts.emplace_back(std::move(statement));
}

void Question::pair(const RunOrder& o, int a, int b) {
  key_.parts.emplace_back(QuestionKey::Pair{a == b, o.first(a, b), o.common_loops(a, b)});
}

void Question::accesses(const Reference& r, const Access& a, int s, const Access& b, int t) {
  accesses(r, a, b);
  if (a.variable == b.variable) names(r.private_to(a.variable, s, t));
}

void Question::accesses(const Reference& r, const Access& a, const Access& b) {
  const bool flat = flat_of(a.index) || flat_of(b.index);
  access(r, a, flat), access(r, b, flat);
}

void Question::access(const Reference& r, const Access& a, bool flat) {
  const Kernel& k = r.order.kernel();
  QuestionKey::Place place;
  place.field = a.field;
  std::set<std::string> names;
  for (const Expr& e : a.index) {
    place.index.push_back({rename(e, numbers_)});
    collect_reads(e, names);
  }
  if (a.when) {
    place.when = ExprKey{rename(a.when, numbers_)};
    collect_reads(a.when, names);
  }
  for (const std::string& n : names)
    if (r.variables.has(n)) place.read.push_back(n);
  for (const Claim& c : k.claims) {
    place.claims.emplace_back(c.kind, c.names);
    if (std::find(c.names.begin(), c.names.end(), a.variable) != c.names.end())
      place.variable = a.variable;
  }
  if (flat)
    if (const auto at = place_in_memory(k, a.variable, a.index))
      place.in_memory = ExprKey{rename(*at, numbers_)};
  key_.parts.emplace_back(std::move(place));
}

void Question::relation(const Map& m) {
  for (int p = 0; p < count(isl_map_dim(m.get(), isl_dim_param)); ++p)
    plain_ = plain_ && !numbers_.count(isl_map_get_dim_name(m.get(), isl_dim_param, unsigned(p)));
  key_.parts.emplace_back(
      QuestionKey::Relation{count(isl_map_dim(m.get(), isl_dim_in)), memo().shape(m)});
}

void Question::names(const std::vector<std::string>& inames) {
  key_.parts.emplace_back(numbered(inames));
}

std::vector<std::string> Question::numbered(const std::vector<std::string>& inames) const {
  std::vector<std::string> out;
  out.reserve(inames.size());
  for (const std::string& i : inames) {
    const auto it = numbers_.find(i);
    out.push_back(it == numbers_.end() ? i : it->second);
  }
  return out;
}

}  // namespace moonloop
