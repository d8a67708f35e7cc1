#include <unordered_set>

#include "core/expr/integers.h"
#include "core/model/domain.h"
#include "core/model/external.h"
#include "core/model/layout.h"
#include "core/order/check_uses.h"
#include "core/order/two_instances.h"
#include "core/sets/affine_constraints.h"
#include "core/sets/budget.h"

namespace moonloop {
namespace {

std::optional<std::int64_t> negative(std::int64_t a) {
  std::int64_t r;
  return __builtin_sub_overflow(std::int64_t{0}, a, &r) ? std::nullopt : std::optional(r);
}

/// The value of an expression at a point; nothing where it is not quasi-affine, or on overflow.
std::optional<std::int64_t> value_at(const Expr& e, const std::map<std::string, std::int64_t>& at) {
  using R = std::optional<std::int64_t>;
  const auto both = [&](const Expr& a, const Expr& b, auto f) -> R {
    const R x = value_at(a, at), y = value_at(b, at);
    return x && y ? R(f(*x, *y)) : R();
  };
  const auto fold = [&](const Exprs& es, auto f) -> R {
    R acc;
    for (const Expr& t : es) {
      const R v = value_at(t, at);
      if (!v) return {};
      acc = acc ? f(*acc, *v) : v;
      if (!acc) return {};
    }
    return acc;
  };
  return e.visit(overload{
      [](const IntLit& x) -> R { return x.value; }, [](const FloatLit&) -> R { return {}; },
      [](const ComplexLit&) -> R { return {}; }, [](const BoolLit& x) -> R { return x.value; },
      [&](const Var& x) -> R {
        const auto it = at.find(x.name);
        return it == at.end() ? R() : R(it->second);
      },
      [](const Load&) -> R { return {}; }, [](const Field&) -> R { return {}; },
      [&](const Unary& x) -> R {
        const R v = value_at(x.arg, at);
        if (!v) return {};
        return negated(e) ? negative(*v) : x.op == UnaryOp::Not ? !*v : ~*v;
      },
      [&](const Binary& x) -> R {
        const R a = value_at(x.left, at), b = value_at(x.right, at);
        if (!a || !b || *b == 0) return {};
        if (x.op == BinaryOp::FloorDiv) return *b == -1 ? negative(*a) : floor_div(*a, *b);
        if (x.op == BinaryOp::Mod) return *b == -1 ? 0 : floor_mod(*a, *b);
        return {};
      },
      [&](const Nary& x) -> R {
        if (x.op == NaryOp::Add)
          return fold(x.terms, [](std::int64_t a, std::int64_t b) -> R {
            std::int64_t r;
            return __builtin_add_overflow(a, b, &r) ? R() : R(r);
          });
        if (x.op == NaryOp::Mul)
          return fold(x.terms, [](std::int64_t a, std::int64_t b) -> R {
            std::int64_t r;
            return __builtin_mul_overflow(a, b, &r) ? R() : R(r);
          });
        if (x.op == NaryOp::And)
          return fold(x.terms, [](std::int64_t a, std::int64_t b) -> R { return a && b; });
        if (x.op == NaryOp::Or)
          return fold(x.terms, [](std::int64_t a, std::int64_t b) -> R { return a || b; });
        return {};
      },
      [&](const Compare& x) -> R {
        return both(x.left, x.right, [&](std::int64_t a, std::int64_t b) {
          return std::int64_t{holds(x.op, a, b)};
        });
      },
      [&](const Select& x) -> R {
        const R c = value_at(x.cond, at);
        return c ? value_at(*c ? x.yes : x.no, at) : R();
      },
      [&](const Call& x) -> R {
        if (x.name == "min")
          return fold(x.args, [](std::int64_t a, std::int64_t b) -> R { return std::min(a, b); });
        if (x.name == "max")
          return fold(x.args, [](std::int64_t a, std::int64_t b) -> R { return std::max(a, b); });
        if (x.name == "abs" && x.args.size() == 1) {
          const R v = value_at(x.args[0], at);
          return v && *v < 0 ? negative(*v) : v;
        }
        return {};
      },
      [](const Reduce&) -> R { return {}; },
      [&](const Cast& x) -> R { return value_at(x.arg, at); }, [](const Slice&) -> R { return {}; },
      [](const SubArray&) -> R { return {}; }});
}

std::string instance_of(const std::string& id, const Sample& s) {
  if (s.dims.empty()) return id;
  std::string out = id + "[";
  for (const auto& [n, v] : s.dims)
    out += fmt::format("{}{}={}", out.back() == '[' ? "" : ", ", n, v);
  return out + "]";
}

class BoundsCheck : public UseCheck {
 public:
  BoundsCheck(const Kernel& k, ProgramPoints& points, bool within)
      : k_(k), points_(points), in_bounds_(claimed_in_bounds(k)), within_(within) {
    for (const Argument& a : k.args)
      if (a.is_array && a.shape) {
        shapes_.emplace(a.name, shape_of(*a.shape, a.strides.has_value()));
      }
    for (const auto& [name, t] : k.temporaries)
      if (t.shape && !t.shape->empty()) {
        shapes_.emplace(name, shape_of(*t.shape, t.strides.has_value()));
      }
  }

  void see(const Use& u) override {
    const auto it = shapes_.find(*u.name);
    if (u.whole) {  // the element that it is passed from may be outside, but needs all axes
      const Exprs* a = u.write ? nullptr : as_address(*u.expr);
      if (!a || a->size() == 1 || it == shapes_.end()) return;
      const Exprs index(a->begin() + 1, a->end());
      Use element = u;
      element.index = &index;
      return check_rank(element, it->second.extents.size());
    }
    if (it == shapes_.end()) {
      if (u.index && k_.find_temporary(*u.name)) check_rank(u, 0);
      return;
    }
    const Shape& s = it->second;
    check_rank(u, s.extents.size());
    if (within_ || !u.index || in_bounds_.count(*u.name)) return;
    if (u.linear) {
      if (s.elements) axis(u, 0, u.index->at(0), s.elements, s.elements_text);
      return;
    }
    for (std::size_t d = 0; d < s.extents.size(); ++d)
      axis(u, d, (*u.index)[d], s.extents[d], s.texts[d]);
  }

 private:
  struct Shape {
    Exprs extents;
    std::vector<std::string> texts;
    Expr elements;
    std::string elements_text;
  };
  /// Of one with `gaps`, a flat index may reach these, and an axis may have no known end.
  static Shape shape_of(const Exprs& extents, bool gaps) {
    Shape s{extents, {}, gaps ? Expr() : lit(1), {}};
    for (const Expr& e : extents) {
      s.texts.push_back(to_string(e));
      if (!gaps) s.elements = index_mul(s.elements, e);
    }
    if (!gaps) s.elements_text = to_string(s.elements);
    return s;
  }

  void axis(const Use& u, std::size_t d, const Expr& index, const Expr& extent,
            const std::string& extent_text) {
    const auto constant = as_int(index), end = as_int(extent);
    if (constant && end && *constant >= 0 && *constant < *end) return;
    std::string key = std::to_string(u.point) + "|" + to_string(index) + "|" + extent_text;
    if (!checked_.insert(std::move(key)).second) return;
    questions_.ask([&] { judge(u, d, index, extent, extent_text); });
  }

  void judge(const Use& u, std::size_t d, const Expr& index, const Expr& extent,
             const std::string& extent_text) {
    if (is_within_joined(u.point, index, extent)) return;
    if (is_linearly_within(u.point, index, extent)) return;
    const auto value = points_.affine(u.point, index);
    if (!value) return;
    const auto size = points_.affine(u.point, extent);
    if (size && is_plainly_within(u.point, *value, *size)) return;
    const Set& instances = points_.instances(u.point);
    PwAff zero = isl_pw_aff_zero_on_domain(
        isl_local_space_from_space(isl_pw_aff_get_domain_space(value->get())));
    Set bad = isl_pw_aff_lt_set(value->copy(), zero.take());
    bad = isl_set_intersect(bad.take(), instances.copy());
    bool high = false;
    if (yes(isl_set_is_empty(bad.get()))) {
      if (!size || as_int(extent) == kUnknownExtent) return;
      bad = isl_pw_aff_ge_set(value->copy(), size->copy());
      bad = isl_set_intersect(bad.take(), instances.copy());
      if (yes(isl_set_is_empty(bad.get()))) return;
      high = true;
    }
    // Bounds that depend on data are not judged, except those that have no part in the subscript.
    const std::vector<std::string> data = points_.temporaries_in(instances);
    if (!data.empty()) {
      std::set<std::string> used;
      collect_vars(index, used);
      std::vector<std::string> mine;
      for (const std::string& i : points_.inames(u.point))
        if (used.count(i)) mine.push_back(i);
      if (!points_.temporaries_in(domain_of(k_, mine)).empty()) return;
      bad = drop_params(std::move(bad), data);
    }
    report(u, d, index, extent, extent_text, high, bad);
  }

  /// The same where loops of the point are joined.
  bool is_within_joined(int point, const Expr& index, const Expr& extent) {
    const auto joined = points_.joined(point, {index, extent});
    if (!joined) return false;
    const auto value = to_affine(joined->exprs[0], joined->inames);
    const auto size = to_affine(joined->exprs[1], joined->inames);
    if (!value || !size) return false;
    const auto none = [&](Set bad) {
      return yes(
          isl_set_is_empty(Set(isl_set_intersect(bad.take(), joined->instances.copy())).get()));
    };
    PwAff below = isl_pw_aff_neg(value->copy());
    below = isl_pw_aff_add_constant_val(below.take(), isl_val_negone(isl()));
    return none(isl_pw_aff_nonneg_set(below.take())) &&
           (as_int(extent) == kUnknownExtent ||
            none(isl_pw_aff_ge_set(value->copy(), size->copy())));
  }

  /// `0 <= index < extent`, as linear constraints show without isl.
  bool is_linearly_within(int point, const Expr& index, const Expr& extent) {
    const auto fixed = [&](const std::string& name) {
      const Argument* a = k_.find_arg(name);
      return !k_.find_temporary(name) && !k_.has_iname(name) && !(a && a->is_array);
    };
    TwoInstances one;
    if (!one.add(0, points_.inames(point), points_.instances(point))) return false;
    const auto value = one.value(index, one.values(0), fixed);
    const auto size = one.value(extent, one.values(0), fixed);
    if (!value || !size) return false;
    auto below = weighted_sum(-1, *value, 0, {}), beyond = weighted_sum(1, *value, -1, *size);
    if (!below || !beyond) return false;
    --below->constant;  // -1 - value >= 0
    one.take_in();
    LinearProof outside = one.proof;
    outside.not_negative(*below);
    if (!outside.impossible()) return false;
    if (as_int(extent) == kUnknownExtent) return true;
    one.proof.not_negative(*beyond);
    return one.proof.impossible();
  }

  /// `0 <= value < size`, as can be read off the bounds of the loops.
  bool is_plainly_within(int point, const PwAff& value, const PwAff& size) {
    const auto [it, fresh] = constraints_.try_emplace(point);
    if (fresh) it->second = AffineConstraints::of(points_.instances(point));
    if (!it->second || !yes(isl_pw_aff_isa_aff(value.get())) ||
        !yes(isl_pw_aff_isa_aff(size.get())))
      return false;
    const std::optional<AffineConstraint> low = constraint_of(Aff(isl_pw_aff_as_aff(value.copy())));
    PwAff left = isl_pw_aff_sub(size.copy(), value.copy());
    left = isl_pw_aff_add_constant_val(left.take(), isl_val_negone(isl()));
    const std::optional<AffineConstraint> high = constraint_of(Aff(isl_pw_aff_as_aff(left.take())));
    return low && high && it->second->show(*low) && it->second->show(*high);
  }

  [[noreturn]] void report(const Use& u, std::size_t d, const Expr& index, const Expr& extent,
                           const std::string& extent_text, bool high, const Set& bad) {
    // The instance where the subscript just leaves the array, where there is one, is the clearest.
    std::optional<Sample> s = sample(bad);
    ensure(s.has_value(), "an empty set of accesses out of bounds");
    std::map<std::string, std::int64_t> point = s->params;
    point.insert(s->dims.begin(), s->dims.end());
    const auto reached = value_at(index, point), size = value_at(extent, point);
    std::string text = fmt::format("`{}` reaches index {} of axis {}", to_string(*u.expr),
                                   reached ? std::to_string(*reached) : "?", d);
    std::set<std::string> named;
    if (high) {
      text += fmt::format(", whose extent is {}", extent_text);
      if (!as_int(extent) && size) text += fmt::format(" = {}", *size);
      collect_vars(extent, named);
      if (named.size() > 1 || !extent.as<Var>()) named.clear();
    }
    text += fmt::format(", at {}", instance_of(u.insn->id, *s));
    std::string with;
    for (const auto& [n, v] : s->params)
      if (!named.count(n)) with += fmt::format("{}{} = {}", with.empty() ? " for " : ", ", n, v);
    Diagnostic x;
    x.code = "out-of-bounds";
    x.text = text + with;
    x.where = {u.expr->at() ? u.expr->at() : u.insn->at, {}};
    if (!s->params.empty() && high) x.hint = "if such parameters never occur, say so with `assume`";
    throw Error(std::move(x));
  }

  const Kernel& k_;
  ProgramPoints& points_;
  std::unordered_map<std::string, Shape> shapes_;
  const std::set<std::string> in_bounds_;  // arrays whose accesses the user vouches for
  const bool within_;                      // all accesses are known to be inside
  std::unordered_set<std::string> checked_;
  QuestionBudget questions_{kQuestionOperations, kPhaseOperations / 4};
  std::unordered_map<int, std::optional<AffineConstraints>> constraints_;  // by point
};

}  // namespace

std::unique_ptr<UseCheck> bounds_check(const Kernel& k, ProgramPoints& points, bool within) {
  return std::make_unique<BoundsCheck>(k, points, within);
}

}  // namespace moonloop
