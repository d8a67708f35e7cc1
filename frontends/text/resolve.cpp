#include <algorithm>

#include "core/base/diagnostic.h"
#include "frontends/text/create.h"

namespace moonloop::text {

Resolver::Resolver(const Rules& rules, const std::set<std::string>& inames) : inames_(inames) {
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
  // The names that a reduction binds are known inside it.
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
             "the slice `{}` is outside of statements on arrays, and of calls", to_string(e));
      },
      [&](const SubArray& x) { return bind(x.inames); }});
}

// ---- Rules.

namespace {

class RuleCheck {
 public:
  explicit RuleCheck(const Rules& rules) {
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
    check_size(r);
    return depths_[r.name] = deepest + 1;
  }

 private:
  /// The number of nodes that a rule stands for once the rules that it calls are expanded: its own,
  /// and how often each parameter occurs.
  struct Size {
    double own = 0;
    std::map<std::string, double> uses;

    void add(const Size& o, double times) {
      own += times * o.own;
      for (const auto& [name, n] : o.uses) uses[name] += times * n;
    }
  };

  /// Where each of 40 rules names the next one twice, the first one would not fit in any memory.
  void check_size(const Rule& r) {
    const Size s = size_of(r.body, r);
    double all = s.own;
    for (const auto& [name, n] : s.uses) all += n;
    if (all > kMostNodes)
      fail(
          "too-complex", r.at,
          "the rule `{}` has more than {:.0f} operands and operations once the rules that it calls "
          "are put in",
          r.name, kMostNodes);
    sizes_[r.name] = s;
  }

  Size size_of(const Expr& e, const Rule& in) const {
    Size out;
    const auto* v = e.as<Var>();
    if (v && std::find(in.params.begin(), in.params.end(), v->name) != in.params.end()) {
      out.uses[v->name] = 1;
      return out;
    }
    const auto* c = e.as<Call>();
    const auto called = v || c ? sizes_.find(v ? v->name : c->name) : sizes_.end();
    if (called == sizes_.end()) {
      out.own = 1;
      for_each_child(e, [&](const Expr& x) { out.add(size_of(x, in), 1); });
      return out;
    }
    out.own = called->second.own;
    const Rule& rule = *rules_.at(called->first);
    for (std::size_t i = 0; c && i < c->args.size() && i < rule.params.size(); ++i)
      if (const auto n = called->second.uses.find(rule.params[i]); n != called->second.uses.end())
        out.add(size_of(c->args[i], in), n->second);
    return out;
  }

  static constexpr std::size_t kMost = 200;
  static constexpr double kMostNodes = 1e6;
  std::map<std::string, Size> sizes_;
  std::map<std::string, const Rule*> rules_;
  std::map<std::string, int> depths_;
  std::vector<std::string> stack_;
};

}  // namespace

void check_rules(const Rules& rules) {
  RuleCheck check(rules);
  for (const Rule& r : rules) check.depth(r);
}

}  // namespace moonloop::text
