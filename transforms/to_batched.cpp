#include "transforms/to_batched.h"

#include <algorithm>
#include <charconv>

#include "core/model/domain.h"
#include "core/model/flat_subscripts.h"
#include "core/model/lookup.h"
#include "core/model/read_set.h"
#include "core/order/check_kernel.h"
#include "core/order/reference.h"

namespace moonloop {
namespace {

std::optional<std::int64_t> number(const std::string& text) {
  std::int64_t n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return n;
}

/// The extent of the memory between the first and the last element, and one more.
Expr span_of(const Argument& a) {
  Exprs last;
  for (std::size_t n = 0; n < a.shape->size(); ++n)
    last.push_back(index_mul(index_sub((*a.shape)[n], lit(1)), (*a.strides)[n]));
  last.push_back(lit(1));
  return index_add(last);
}

Expr number_of_elements(const Argument& a) {
  Expr out = lit(1);
  for (const Expr& n : *a.shape) out = index_mul(out, n);
  return out;
}

template <class T>
std::vector<T> in_front_of(const std::vector<T>& all, const T& first) {
  std::vector<T> out{first};
  out.insert(out.end(), all.begin(), all.end());
  return out;
}

class Batched {
 public:
  Batched(const Kernel& k, const BatchOptions& o) : k_(rebase(complete(k))), o_(o) {}

  Kernel run() {
    k_.name = o_.name.empty() ? k_.name + "_batched" : o_.name;
    require_identifier(k_.name, k_.at);
    require_new_name(k_, o_.iname);
    choose();
    check();
    count_ = number_of_batches();
    give_own_parts();
    for (Argument& a : k_.args)
      if (varies(a.name)) give_axis(a);
    k_.domains.insert(k_.domains.begin(), {loop(), k_.at});
    k_.loop_order = in_front_of<std::string>(k_.loop_order, o_.iname);
    for (InsnPtr& insn : k_.instructions)
      insn = edit(insn, [&](Instruction& i) { i.inames.insert(o_.iname); });
    k_.family = std::make_shared<const char>();
    k_.trace = {};
    return proved(std::move(k_));
  }

 private:
  bool varies(const std::string& name) const { return args_.contains(name); }

  void choose() {
    if (o_.args) {
      for (const std::string& name : *o_.args) require_arg(k_, name);
      args_.insert(o_.args->begin(), o_.args->end());
    } else {
      for (const Argument& a : k_.args)
        if (a.is_array) args_.insert(a.name);
    }
  }

  void check() const {
    for (const InsnPtr& insn : k_.instructions)
      for (const std::string& name : writes(*insn))
        if (const Argument* a = k_.find_arg(name); a && !varies(name))
          refuse("same-output", insn->at,
                 "`{}` writes `{}`, which all batches would share; give it an axis, too", insn->id,
                 name);
    for (const auto& [name, t] : k_.temporaries)
      if (t.initializer && !t.read_only)
        refuse("initial-values", t.at,
               "`{}` has its first values only once, and each batch would need them", name);
    for (const Claim& c : k_.claims)
      for (const std::string& name : c.names)
        if (varies(name))
          refuse("claimed-values", k_.at,
                 "`{}` is claimed of one `{}`, which says nothing of those of several batches",
                 c.step, name);
    for (const std::string& name : args_)
      if (!k_.find_arg(name)->is_array) check_scalar(name);
    map_expressions(
        k_,
        [&](const Instruction&, const Expr& e) {
          for_each_of<Call>(e, [&](const Call&, const Expr& x) {
            const Expr* element = as_indexof(x);
            const auto* l = element ? element->as<Load>() : nullptr;
            if (element && (!l || varies(l->array)))
              refuse("unsupported", x.at(),
                     "`{}` is another number for the array of all batches than in its own",
                     to_string(x));
          });
          return e;
        },
        true);
  }

  void check_scalar(const std::string& name) const {
    const auto refuse_use = [&](const Span& at, const std::string& what) {
      refuse("bounds-loops", at, "{} depends on `{}`, so this cannot differ by batch", what, name);
    };
    for (const Domain& d : k_.domains) {
      const std::vector<std::string> params = d.params();
      if (std::find(params.begin(), params.end(), name) != params.end())
        refuse_use(d.at, fmt::format("the loop `{}`", fmt::join(d.inames(), ", ")));
    }
    const auto uses = [&](const Exprs& all) {
      std::set<std::string> names;
      for (const Expr& e : all)
        if (e) collect_vars(e, names);
      return names.contains(name);
    };
    for (const Argument& a : k_.args)
      if (uses(a.shape.value_or(Exprs{})) || uses(a.strides.value_or(Exprs{})) || uses({a.offset}))
        refuse_use(a.at, fmt::format("the memory of `{}`", a.name));
    for (const auto& [own, t] : k_.temporaries)
      if (uses(t.shape.value_or(Exprs{})) || uses(t.strides.value_or(Exprs{})))
        refuse_use(t.at, fmt::format("the memory of `{}`", own));
    if (!k_.assumptions) return;
    const int at = isl_set_find_dim_by_name(k_.assumptions.get(), isl_dim_param, name.c_str());
    if (at >= 0 && yes(isl_set_involves_dims(k_.assumptions.get(), isl_dim_param, unsigned(at), 1)))
      refuse_use(k_.at, "an assumption");
  }

  /// The parameter becomes an argument in front where it is new.
  Expr number_of_batches() {
    if (const auto n = number(o_.count)) {
      if (*n < 0) refuse("bad-count", k_.at, "there are no {} batches", *n);
      return lit(*n);
    }
    const Argument* known = k_.find_arg(o_.count);
    if (known && (known->is_array || !is_integer(known->type->scalar) || varies(o_.count)))
      refuse("name-taken", known->at, "`{}` is no number of batches", o_.count);
    if (!known) {
      require_new_name(k_, o_.count);
      Argument a;
      a.name = o_.count;
      a.type = k_.index_type;
      a.intent = Intent::In;
      a.at = k_.at;
      k_.args = in_front_of<Argument>(k_.args, a);
    }
    return var(o_.count);
  }

  Set loop() const {
    const std::string params = number(o_.count) ? "" : "[" + o_.count + "] -> ";
    return read_set(
        fmt::format("{}{{ [{}] : 0 <= {} < {} }}", params, o_.iname, o_.iname, o_.count));
  }

  /// Whether the new axis comes before the others.
  bool in_front(const Argument& a) const { return (a.order == Order::C) != o_.inside; }

  void give_axis(Argument& a) const {
    if (!a.is_array) {
      a.is_array = true;
      a.shape = Exprs{};
    }
    if (a.strides) {
      Exprs& all = *a.strides;
      const Expr own = o_.inside ? lit(1) : span_of(a);
      if (o_.inside)
        for (Expr& s : all) s = index_mul(s, count_);
      all.insert(in_front(a) ? all.begin() : all.end(), own);
      if (o_.inside && a.offset) a.offset = index_mul(a.offset, count_);
    }
    a.shape->insert(in_front(a) ? a.shape->begin() : a.shape->end(), count_);
    a.original_layout = nullptr;  // the arguments are those of a new kernel
    a.fortran = {};
  }

  void give_own_parts() {
    k_ = map_expressions(k_, [&](const Instruction&, const Expr& e) { return at_batch(e, {}); });
    Rules rules;
    for (Rule r : k_.rules) {
      r.body = at_batch(r.body, r.params);
      rules.push_back(std::move(r));
    }
    k_.rules = std::move(rules);
  }

  /// `params`: names that mean something else in `e`.
  Expr at_batch(const Expr& e, const std::vector<std::string>& params) const {
    return rewrite(e, [&](const Expr& x) {
      const auto* l = x.as<Load>();
      if (l && varies(l->array)) return own_part(*k_.find_arg(l->array), *l, x.at());
      const auto* v = x.as<Var>();
      if (!v || !varies(v->name) || std::count(params.begin(), params.end(), v->name) > 0) return x;
      const Argument& a = *k_.find_arg(v->name);  // a scalar, or the whole of an array
      const std::size_t axes = a.is_array ? a.shape->size() : 0;
      return own_part(a, Load{v->name, Exprs(axes, Expr(Slice{})), v->tag}, x.at());
    });
  }

  Expr own_part(const Argument& a, Load l, const Span& at) const {
    const Expr batch = var(o_.iname);
    if (l.linear) {
      Expr& i = l.index[0];
      i = o_.inside
              ? index_add({index_mul(i, count_), batch})
              : index_add({index_mul(batch, a.strides ? span_of(a) : number_of_elements(a)), i});
    } else {
      l.index.insert(in_front(a) ? l.index.begin() : l.index.end(), batch);
    }
    return Expr(std::move(l), at);
  }

  Kernel k_;
  const BatchOptions& o_;
  std::set<std::string> args_;
  Expr count_;
};

}  // namespace

Kernel to_batched(const Kernel& k, const BatchOptions& o) { return Batched(k, o).run(); }

}  // namespace moonloop
