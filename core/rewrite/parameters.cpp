#include "core/rewrite/parameters.h"

#include <algorithm>

#include "core/base/half.h"
#include "core/model/domain.h"
#include "core/model/original_layout.h"
#include "core/order/order_reference.h"

namespace moonloop {
namespace {

/// Does `change` to the kernel and to its reference's.
template <class F>
Kernel in_both(const Kernel& k, F change) {
  Kernel out = k;
  change(out);
  if (k.reference) {
    Nested n{k.reference->order.kernel(), k.reference->order.tree()};
    change(n.kernel);
    out.reference = std::make_shared<const Reference>(std::move(n));
  }
  return out;
}

Set fixed(Set s, const std::string& name, std::int64_t value) {
  const int p = isl_set_find_dim_by_name(s.get(), isl_dim_param, name.c_str());
  if (p < 0) return s;
  s = isl_set_fix_val(s.take(), isl_dim_param, unsigned(p), isl_val_int_from_si(isl(), value));
  return drop_params(std::move(s), {name});
}

/// The value as a literal of a type that is not an integer's.
Expr real_literal(Scalar s, double value) {
  if (s == Scalar::F16)
    return Expr(FloatLit{double{half_value(half_bits(static_cast<float>(value)))}, Scalar::F32});
  if (s == Scalar::F32) value = double{static_cast<float>(value)};
  return is_complex(s) ? Expr(ComplexLit{value, 0, s}) : Expr(FloatLit{value, s});
}

/// The value as a literal of the argument's type.
Expr literal_for(const Argument* arg, std::int64_t value) {
  if (!arg || !arg->type || arg->type->is_record()) return lit(value);
  const Scalar s = arg->type->scalar;
  if (is_real(s) || is_complex(s)) return real_literal(s, double(value));
  return is_integer(s) ? Expr(IntLit{value, s}) : lit(value);
}

/// Gives an argument another name.
class Renamed {
 public:
  Renamed(const std::string& name, const std::string& fresh) : name_(name), fresh_(fresh) {}

  void operator()(Kernel& k) const {
    const std::map<std::string, std::string> names{{name_, fresh_}};
    const auto in = [&](const Expr& e) { return e ? rename(e, names) : e; };
    const auto all = [&](std::optional<Exprs>& es) {
      if (es)
        for (Expr& e : *es) e = in(e);
    };
    for (Domain& d : k.domains) d.set = in_set(std::move(d.set));
    if (k.assumptions) k.assumptions = in_set(std::move(k.assumptions));
    for (Rule& r : k.rules)
      if (std::find(r.params.begin(), r.params.end(), name_) == r.params.end()) r.body = in(r.body);
    k = map_expressions(k, [&](const Instruction&, const Expr& e) { return in(e); });
    for (InsnPtr& insn : k.instructions)
      if (!insn->origin.empty())
        insn = edit(insn, [&](Instruction& i) {
          for (auto& [iname, e] : i.origin) e = in(e);
        });
    for (Argument& a : k.args) {
      all(a.shape);
      all(a.strides);
      if (a.offset) a.offset = in(a.offset);
      if (a.name != name_) continue;
      if (a.is_array && a.shape)
        a.original_layout =
            std::make_shared<const OriginalLayout>(original_layout_of(a, a.shape->size()));
      a.name = fresh_;
    }
    for (auto& [n, t] : k.temporaries) all(t.shape), all(t.strides);
    for (Claim& c : k.claims) std::replace(c.names.begin(), c.names.end(), name_, fresh_);
  }

 private:
  Set in_set(Set s) const {
    const int p = isl_set_find_dim_by_name(s.get(), isl_dim_param, name_.c_str());
    if (p < 0) return s;
    return isl_set_set_dim_name(s.take(), isl_dim_param, unsigned(p), fresh_.c_str());
  }

  const std::string& name_;
  const std::string& fresh_;
};

class Fix {
 public:
  /// For an argument that is not an integer, and so is in no domain, shape or subscript.
  Fix(const std::string& name, double value, Scalar type)
      : name_(name), value_(0), by_{{name, real_literal(type, value)}}, plain_(by_) {}
  Fix(const std::string& name, std::int64_t value, const Argument* arg)
      : name_(name),
        value_(value),
        by_{{name, literal_for(arg, value)}},
        plain_{{name, lit(value)}} {}

  void operator()(Kernel& k) const {
    for (Domain& d : k.domains) d.set = fixed(std::move(d.set), name_, value_);
    if (k.assumptions) k.assumptions = fixed(std::move(k.assumptions), name_, value_);
    if (k.assumptions && yes(isl_set_plain_is_universe(k.assumptions.get()))) k.assumptions = {};
    for (Rule& r : k.rules)
      if (std::find(r.params.begin(), r.params.end(), name_) == r.params.end()) r.body = in(r.body);
    k = map_expressions(k, [&](const Instruction&, const Expr& e) { return in(e); });
    for (InsnPtr& insn : k.instructions)
      if (std::any_of(insn->origin.begin(), insn->origin.end(),
                      [&](const auto& o) { return mentions(o.second); }))
        insn = edit(insn, [&](Instruction& i) {
          for (auto& [iname, e] : i.origin) e = in_index(e);
        });
    const auto all = [&](std::optional<Exprs>& es) {
      if (!es) return;
      for (Expr& e : *es) e = in_index(e);
    };
    for (Argument& a : k.args) {
      all(a.shape);
      all(a.strides);
      if (a.offset) a.offset = in_index(a.offset);
    }
    for (auto& [n, t] : k.temporaries) all(t.shape), all(t.strides);
    erase_if(k.args, [&](const Argument& a) { return a.name == name_; });
  }

  /// A value of the argument's type; subscripts are folded.
  Expr in(const Expr& e) const {
    if (const auto* v = e.as<Var>()) return v->name == name_ ? by_.at(name_) : e;
    const bool subscripts = e.as<Load>() != nullptr;
    return map_children(e, [&](const Expr& c) { return subscripts ? in_index(c) : in(c); });
  }

 private:
  bool mentions(const Expr& e) const {
    std::set<std::string> names;
    collect_vars(e, names);
    return names.contains(name_);
  }
  Expr in_index(const Expr& e) const {
    return mentions(e) ? index_add({substitute(e, plain_)}) : e;
  }

  const std::string& name_;
  std::int64_t value_;
  std::map<std::string, Expr> by_, plain_;
};

}  // namespace

std::vector<std::string> parameters_of(const Kernel& k) {
  std::set<std::string> names;
  for (const Domain& d : k.domains)
    for (const std::string& p : d.params())
      if (!k.has_iname(p) && !k.find_temporary(p)) names.insert(p);
  for (const Argument& a : k.args)
    if (!a.is_array) names.insert(a.name);
  return {names.begin(), names.end()};
}

Kernel with_assumption(const Kernel& k, const Set& assumption) {
  return in_both(k, [&](Kernel& x) {
    x.assumptions = x.assumptions ? Set(isl_set_intersect(x.assumptions.take(), assumption.copy()))
                                  : assumption;
  });
}

Kernel with_parameter_fixed(const Kernel& k, const std::string& name, std::int64_t value) {
  return in_both(k, Fix(name, value, k.find_arg(name)));
}

Kernel with_parameter_fixed(const Kernel& k, const std::string& name, double value) {
  return in_both(k, Fix(name, value, k.find_arg(name)->type->scalar));
}

Kernel with_argument_renamed(const Kernel& k, const std::string& name, const std::string& fresh) {
  return in_both(k, Renamed(name, fresh));
}

Expr with_parameter_fixed(const Kernel& k, const Expr& e, const std::string& name,
                          std::int64_t value) {
  return Fix(name, value, k.find_arg(name)).in(e);
}

}  // namespace moonloop
