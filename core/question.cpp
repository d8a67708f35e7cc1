#include "core/question.h"

#include <algorithm>

#include "core/flat_subscripts.h"
#include "core/memo.h"

namespace moonloop {

void Question::statement(const RunOrder& o, int s) {
  for (const std::string& i : o.dims(s)) numbers_.emplace(i, fmt::format("#{}", numbers_.size()));
  const Set domain = domain_of(o.kernel(), o.dims(s));
  plain_ = plain_ && o.insn(s).predicates.empty();
  for (const std::string& n : param_names(domain))
    plain_ = plain_ && !o.kernel().has_iname(n) && !o.kernel().find_temporary(n);
  key_ += fmt::format("|{} {} ", memo().shape(domain), o.loops(s).size());
  names(o.dims(s));
  for (const std::string& i : o.dims(s))
    key_ += !is_parallel(o.kernel().tag(i)) ? 'o' : o.trusts(i) ? 't' : 'p';
}

void Question::pair(const RunOrder& o, int a, int b) {
  key_ += fmt::format(";{}{} {}", a == b, o.first(a, b), o.common_loops(a, b));
}

void Question::accesses(const Reference& r, const Access& a, int s, const Access& b, int t) {
  accesses(r, a, b);
  if (a.variable == b.variable) names(r.private_to(a.variable, s, t));
}

void Question::accesses(const Reference& r, const Access& a, const Access& b) {
  access(r, a), access(r, b);
  if (flat_of(a.index) || flat_of(b.index))
    for (const Access* x : {&a, &b})
      if (const auto place = place_in_memory(r.order.kernel(), x->variable, x->index))
        key_ += "@" + to_string(rename(*place, numbers_));
}

void Question::access(const Reference& r, const Access& a) {
  const Kernel& k = r.order.kernel();
  key_ += a.field + "[";
  std::set<std::string> names;
  for (const Expr& e : a.index) {
    key_ += to_string(rename(e, numbers_)) + ",";
    collect_reads(e, names);
  }
  key_ += "]";
  for (const std::string& n : names)
    if (r.variables.has(n)) key_ += n + " ";
  key_ += "/";
  for (const Claim& c : k.claims) {
    key_ += fmt::format("{}{};", int(c.kind), fmt::join(c.names, ","));
    if (std::find(c.names.begin(), c.names.end(), a.variable) != c.names.end())
      key_ += "=" + a.variable;
  }
}

void Question::relation(const Map& m) {
  for (int p = 0; p < count(isl_map_dim(m.get(), isl_dim_param)); ++p)
    plain_ = plain_ && !numbers_.count(isl_map_get_dim_name(m.get(), isl_dim_param, unsigned(p)));
  key_ += fmt::format("~{} {};", count(isl_map_dim(m.get(), isl_dim_in)), memo().shape(m));
}

void Question::names(const std::vector<std::string>& inames) {
  for (const std::string& i : inames) {
    const auto it = numbers_.find(i);
    key_ += (it == numbers_.end() ? i : it->second) + ",";
  }
  key_ += ";";
}

bool Question::settled() const { return plain_ && memo().proofs.count(key_) > 0; }

void Question::settle() {
  if (plain_) memo().proofs.insert(key_);
}

}  // namespace moonloop
