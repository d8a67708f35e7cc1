#include "core/model/closed_rules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <deque>
#include <unordered_map>

namespace moonloop {
namespace {

/// The latest one for each body, by its address, which the object keeps.
using ByBody = std::unordered_map<const void*, std::shared_ptr<const ClosedRule>>;
ByBody& latest_by_body() {
  constexpr std::size_t kMost = 20'000;
  thread_local ByBody all;
  if (all.size() > kMost) all.clear();
  return all;
}

bool same(const Rule& a, const Rule& b) {
  return &a == &b || (a.body.same_as(b.body) && a.name == b.name && a.params == b.params);
}

}  // namespace

std::shared_ptr<ClosedRules> ClosedRules::of(const Kernel& k) {
  constexpr std::size_t kMost = 4;
  thread_local std::deque<std::shared_ptr<ClosedRules>> latest;
  const auto known = std::find_if(latest.begin(), latest.end(),
                                  [&](const auto& c) { return c->list_.same_as(k.rules); });
  if (known != latest.end()) return *known;
  const std::shared_ptr<ClosedRules> made(new ClosedRules(k.rules));
  if (!latest.empty()) made->take_over(*latest.front());
  latest.push_front(made);
  if (latest.size() > kMost) latest.pop_back();
  return made;
}

ClosedRules::ClosedRules(const Shared<Rules>& rules)
    : list_(rules), rules_(list_), by_name_(rules_.size()), closed_(rules_.size()) {
  for (std::size_t i = 0; i < rules_.size(); ++i) by_name_.add(rules_[i].name, static_cast<int>(i));
}

/// Rules keep their meanings where none of them calls a name that now means something else.
void ClosedRules::take_over(const ClosedRules& before) {
  constexpr std::size_t kFew = 8;
  std::vector<std::string_view> others;  // names of rules that only one of the two has
  std::vector<int> was(rules_.size(), -1);
  std::size_t common = 0;
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    const Rule& r = rules_[i];
    const int p = i < before.rules_.size() && same(before.rules_[i], r)
                      ? static_cast<int>(i)
                      : before.by_name_.find(r.name);
    if (p >= 0 && same(before.rules_[std::size_t(p)], r)) {
      was[i] = p;
      ++common;
    } else {
      others.push_back(r.name);
    }
    if (others.size() > kFew) return;
  }
  if (common + kFew < before.rules_.size()) return;
  if (common < before.rules_.size())
    for (const Rule& r : before.rules_)
      if (const int i = by_name_.find(r.name); i < 0 || was[std::size_t(i)] < 0)
        others.push_back(r.name);
  if (std::any_of(others.begin(), others.end(),
                  [&](std::string_view name) { return before.calls(name); }))
    return;
  for (std::size_t i = 0; i < rules_.size(); ++i)
    if (was[i] >= 0) closed_[i] = before.closed_[std::size_t(was[i])];
}

/// Whether one of the rules that are closed calls the name by itself.
bool ClosedRules::calls(std::string_view name) const {
  return std::any_of(closed_.begin(), closed_.end(), [&, bit = name_bit(name)](const auto& c) {
    return c && (c->body.names() & bit) &&
           std::any_of(c->callees.begin(), c->callees.end(),
                       [&](const auto& callee) { return callee.first == name; });
  });
}

const Rule* ClosedRules::find(std::string_view name) const {
  const int n = by_name_.find(name);
  return n < 0 ? nullptr : &rules_[std::size_t(n)];
}

std::shared_ptr<const ClosedRule> ClosedRules::closed(std::string_view name) {
  const Rule* r = find(name);
  return r ? closed(*r) : nullptr;
}

const std::shared_ptr<const ClosedRule>& ClosedRules::closed(const Rule& r) {
  std::shared_ptr<const ClosedRule>& out = closed_[std::size_t(by_name_.find(r.name))];
  if (out) return out;
  if (std::find(open_.begin(), open_.end(), &r) != open_.end()) refuse_recursion(r);
  open_.push_back(&r);
  const struct Closing {
    std::vector<const Rule*>& open;
    ~Closing() { open.pop_back(); }
  } closing{open_};
  ByBody& latest = latest_by_body();
  if (const auto known = latest.find(r.body.identity()); known != latest.end())
    if (const auto c = known->second; c->params == r.params && hold(c->callees)) out = c;
  if (!out) {
    ClosedRule made{r.body, r.params, {}, {}, {}};
    collect_callees(r.body, made.callees);
    out = std::make_shared<const ClosedRule>(std::move(made));
    latest[r.body.identity()] = out;
  }
  return out;
}

void ClosedRules::collect_callees(const Expr& e, ClosedRule::Callees& out) {
  for_each_of<Call>(e, [&](const Call& c, const Expr&) {
    if (std::none_of(out.begin(), out.end(), [&](const auto& o) { return o.first == c.name; }))
      out.emplace_back(c.name, closed(c.name));
  });
}

bool ClosedRules::hold(const ClosedRule::Callees& callees) {
  return std::all_of(callees.begin(), callees.end(),
                     [&](const auto& c) { return closed(c.first) == c.second; });
}

void ClosedRules::refuse_recursion(const Rule& r) const {
  std::vector<std::string> stack;
  for (const Rule* o : open_) stack.push_back(o->name);
  stack.push_back(r.name);
  fail("recursive-rule", r.at, "rule `{}` calls itself ({})", r.name, fmt::join(stack, " -> "));
}

}  // namespace moonloop
