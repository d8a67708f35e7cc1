#include <algorithm>
#include <unordered_map>

#include "core/base/diagnostic.h"
#include "core/model/domain.h"
#include "frontends/text/create.h"

namespace moonloop::text {
namespace {

/// How a name that may be an argument is used.
struct Use {
  bool bound = false;  // by a domain, a shape, a stride: it is an integer scalar
  bool subscripted = false;
  bool written = false;
  Span at;
};

class Uses {
 public:
  explicit Uses(const Kernel& k) : k_(k) {
    for (std::string& n : k.inames()) inames_.insert(std::move(n));
    for (const Rule& r : k.rules) rules_.emplace(r.name, &r);
  }

  void collect() {
    for (const Domain& d : k_.domains)
      for (const std::string& p : d.params()) bound(p, d.at);
    if (k_.assumptions)
      for (const std::string& p : param_names(k_.assumptions)) bound(p, k_.at);
    const auto all_bound = [&](const std::optional<Exprs>& es, const Span& at) {
      if (!es) return;
      for (const Expr& e : *es) bounds(e, at);
    };
    for (const Argument& a : k_.args) {
      all_bound(a.shape, a.at);
      all_bound(a.strides, a.at);
      if (a.offset) bounds(a.offset, a.at);
    }
    for (const auto& [name, t] : k_.temporaries) all_bound(t.shape, t.at);
    for (const InsnPtr& i : k_.instructions) {
      for (const Expr& l : i->lhs) {
        read(l, {});
        use(written_name(l), l.at()).written = true;
      }
      if (i->rhs) read(i->rhs, {});
      for (const Expr& p : i->predicates) read(p, {});
    }
  }

  const std::vector<std::string>& order() const { return order_; }
  const std::unordered_map<std::string, Use>& all() const { return uses_; }

 private:
  Use& use(const std::string& name, const Span& at) {
    if (k_.temporaries.contains(name)) return temporary_;
    const auto [it, fresh] = uses_.try_emplace(name);
    if (fresh) order_.push_back(name), it->second.at = at;
    return it->second;
  }
  void bound(const std::string& name, const Span& at) {
    if (!inames_.contains(name)) use(name, at).bound = true;
  }
  void bounds(const Expr& e, const Span& at) {
    walk(e, [&](const Expr& x) {
      if (const auto* v = x.as<Var>()) bound(v->name, x.at() ? x.at() : at);
      return true;
    });
  }

  /// `hidden`: the parameters of the rule that `e` is the body of.
  void read(const Expr& e, const std::vector<std::string>& hidden) {
    const auto seen = [&](const std::string& n) {
      return inames_.contains(n) || std::find(hidden.begin(), hidden.end(), n) != hidden.end();
    };
    walk(e, [&](const Expr& x) {
      if (const auto* v = x.as<Var>(); v && !seen(v->name)) use(v->name, x.at());
      if (const auto* l = x.as<Load>(); l && !seen(l->array))
        use(l->array, x.at()).subscripted = true;
      if (const auto* c = x.as<Call>())
        if (const auto r = rules_.find(c->name); r != rules_.end() && done_.insert(c->name).second)
          read(r->second->body, r->second->params);
      return true;
    });
    // A parameter with subscripts makes its argument an array.
    if (rules_.empty()) return;
    walk(e, [&](const Expr& x) {
      const auto* c = x.as<Call>();
      const auto r = c ? rules_.find(c->name) : rules_.end();
      if (r == rules_.end()) return true;
      for (std::size_t i = 0; i < c->args.size(); ++i) {
        const auto* v = c->args[i].as<Var>();
        if (v && !seen(v->name) && subscripts(*r->second, i))
          use(v->name, x.at()).subscripted = true;
      }
      return true;
    });
  }

  bool subscripts(const Rule& r, std::size_t param) {
    const auto [it, fresh] = subscripted_params_.try_emplace(r.name);
    if (fresh) {
      it->second.assign(r.params.size(), false);
      walk(r.body, [&, &used = it->second](const Expr& x) {
        for (std::size_t i = 0; i < r.params.size(); ++i)
          if (const auto* l = x.as<Load>(); l && l->array == r.params[i]) used[i] = true;
        return true;
      });
    }
    return param < it->second.size() && it->second[param];
  }

  const Kernel& k_;
  std::set<std::string> inames_;
  std::map<std::string, const Rule*> rules_;
  std::set<std::string> done_;
  std::map<std::string, std::vector<bool>> subscripted_params_;
  std::unordered_map<std::string, Use> uses_;
  std::vector<std::string> order_;
  Use temporary_;  // of no interest
};

void complete_declared(Argument& a, const Use& use, Scalar index_type) {
  if (!a.is_array && (use.subscripted || use.written)) {
    a.is_array = true;
    if (!use.subscripted) a.shape.emplace();
  }
  if (!a.is_array && use.bound && !a.type) a.type = Type(index_type);
}

}  // namespace

void guess_arguments(Kernel& k, bool guess, Order default_order, Errors& errors) {
  Uses uses(k);
  uses.collect();
  std::unordered_map<std::string, std::size_t> declared;
  for (std::size_t n = 0; n < k.args.size(); ++n) declared.emplace(k.args[n].name, n);
  for (const std::string& name : uses.order()) {
    const Use& use = uses.all().at(name);
    if (const auto it = declared.find(name); it != declared.end()) {
      Argument& a = k.args[it->second];
      complete_declared(a, use, k.index_type);
      if (!a.is_array) a.order = Order::C;
      if (use.bound && use.written && !use.subscripted)
        errors.add({"writes-input",
                    fmt::format("`{}` bounds a loop or an array, and the kernel writes it", name),
                    {a.at, {}},
                    {},
                    "write to a temporary of another name"});
      else if (use.bound && a.is_array)
        errors.add({"bad-argument",
                    fmt::format("`{}` bounds a loop or an array and is an array itself", name),
                    {a.at, {}},
                    {},
                    {}});
      if (use.bound && a.type && (a.type->is_record() || !is_integer(a.type->scalar)))
        errors.add({"bad-argument",
                    fmt::format("`{}` bounds a loop or an array, so it must be an integer, not {}",
                                name, a.type->str()),
                    {a.at, {}},
                    {},
                    {}});
      continue;
    }
    if (!guess && !use.bound) {
      errors.add({"unknown-name",
                  fmt::format("`{}` is not declared", name),
                  {use.at, {}},
                  {},
                  "`...` among the arguments has the rest of them guessed"});
      continue;
    }
    Argument a;
    a.name = name;
    a.at = use.at;
    a.order = default_order;
    complete_declared(a, use, k.index_type);
    if (!a.is_array) a.order = Order::C;
    if (use.bound && a.is_array)
      errors.add({"bad-argument",
                  fmt::format("`{}` bounds a loop or an array and is written or "
                              "subscripted; only a temporary can do both",
                              name),
                  {use.at, {}},
                  {},
                  {}});
    k.args.push_back(std::move(a));
  }
}

}  // namespace moonloop::text
