#include <algorithm>

#include "core/diagnostic.h"
#include "frontends/text/create.h"

namespace moonloop::text {

Resolver::Resolver(const std::vector<Rule>& rules, const std::set<std::string>& inames)
    : inames_(inames) {
  for (const Rule& r : rules) rules_.emplace(r.name, &r);
}

Expr Resolver::resolve(const Expr& e, const std::set<std::string>& around) const {
  Context c{around, {}};
  return visit(e, c, false);
}

Expr Resolver::resolve_part(const Expr& e, const std::set<std::string>& around) const {
  Context c{around, {}};
  return visit(e, c, true);
}

namespace {

void check_count(const Rule& r, std::size_t given, const Span& at) {
  if (given != r.params.size())
    fail("wrong-arg-count", at, "the rule `{}` takes {} argument{}, got {}", r.name,
         r.params.size(), r.params.size() == 1 ? "" : "s", given);
}

}  // namespace

Expr Resolver::visit(const Expr& e, Context& c, bool slices) const {
  const auto below = [&] {
    return map_children(e, [&](const Expr& child) { return visit(child, c, false); });
  };
  // What a reduction binds is known inside it.
  const auto bind = [&](const std::vector<std::string>& names) {
    std::vector<std::string> added;
    for (const std::string& n : names)
      if (c.bound.insert(n).second) added.push_back(n);
    Expr out = below();
    for (const std::string& n : added) c.bound.erase(n);
    return out;
  };
  return e.visit(overload{
      [&](const IntLit&) { return e; }, [&](const FloatLit&) { return e; },
      [&](const ComplexLit&) { return e; }, [&](const BoolLit&) { return e; },
      [&](const Var& x) {
        const auto rule = rules_.find(x.name);
        if (rule == rules_.end()) return e;
        check_count(*rule->second, 0, e.at());
        return Expr(Call{x.name, {}, x.tag}, e.at());
      },
      [&](const Load& x) {
        if (rules_.contains(x.array))
          fail("bad-subscript", e.at(), "`{}` is a rule, not an array", x.array);
        if (slices)
          return map_children(e, [&](const Expr& i) {
            if (!i.as<Slice>()) return visit(i, c, false);
            return map_children(i, [&](const Expr& p) { return visit(p, c, false); });
          });
        return below();
      },
      [&](const Field&) { return below(); }, [&](const Unary&) { return below(); },
      [&](const Binary&) { return below(); }, [&](const Nary&) { return below(); },
      [&](const Compare&) { return below(); }, [&](const Select&) { return below(); },
      [&](const Call& x) {
        if (const auto rule = rules_.find(x.name); rule != rules_.end()) {
          check_count(*rule->second, x.args.size(), e.at());
          return below();
        }
        if ((x.name == "min" || x.name == "max") && x.args.size() == 2 && x.tag.empty()) {
          const auto* v = x.args[0].as<Var>();
          if (v && inames_.contains(v->name) && !c.around.contains(v->name) &&
              !c.bound.contains(v->name)) {
            const Reduce r{*parse_reduce_op(x.name), {v->name}, {x.args[1]}, false};
            return visit(Expr(r, e.at()), c, false);
          }
        }
        return map_children(e, [&](const Expr& a) { return visit(a, c, true); });
      },
      [&](const Reduce& x) { return bind(x.inames); }, [&](const Cast&) { return below(); },
      [&](const Slice&) -> Expr {
        fail("misplaced-slice", e.at(),
             "the slice `{}` stands outside of the arguments and results of a call", to_string(e));
      },
      [&](const SubArray& x) { return bind(x.inames); }});
}

// ---- Rules.

namespace {

class RuleCheck {
 public:
  explicit RuleCheck(const std::vector<Rule>& rules) {
    for (const Rule& r : rules) rules_.emplace(r.name, &r);
  }
  /// The length of the longest chain of calls from `r`.
  int depth(const Rule& r) {
    if (const auto it = depths_.find(r.name); it != depths_.end()) return it->second;
    if (std::find(stack_.begin(), stack_.end(), r.name) != stack_.end()) {
      stack_.push_back(r.name);
      fail("recursive-rule", r.at, "the rule `{}` calls itself ({})", r.name,
           fmt::join(stack_, " -> "));
    }
    stack_.push_back(r.name);
    if (stack_.size() > kMost)
      fail("too-deep", r.at, "rules call one another more than {} levels deep", kMost);
    int deepest = 0;
    walk(r.body, [&](const Expr& x) {
      const auto* c = x.as<Call>();
      const auto* v = x.as<Var>();
      if (!c && !v) return true;
      const auto it = rules_.find(c ? c->name : v->name);
      if (it != rules_.end() &&
          (c || std::find(r.params.begin(), r.params.end(), v->name) == r.params.end()))
        deepest = std::max(deepest, depth(*it->second));
      return true;
    });
    stack_.pop_back();
    if (deepest + 1 > static_cast<int>(kMost))
      fail("too-deep", r.at, "rules call one another more than {} levels deep", kMost);
    return depths_[r.name] = deepest + 1;
  }

 private:
  static constexpr std::size_t kMost = 200;
  std::map<std::string, const Rule*> rules_;
  std::map<std::string, int> depths_;
  std::vector<std::string> stack_;
};

}  // namespace

void check_rules(const std::vector<Rule>& rules) {
  RuleCheck check(rules);
  for (const Rule& r : rules) check.depth(r);
}

}  // namespace moonloop::text
